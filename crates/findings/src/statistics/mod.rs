//! The statistics of comparison: how far a figure may be off, whether two figures differ, and how long one would have to
//! measure to see it. Pure arithmetic on numbers; it knows no record, and it never averages a percentile.
//!
//! **Every figure of a step is a ratio of two sums** over intervals: bytes over seconds, service time over operations,
//! operations below a latency over all operations. What an interval has more or less than the ratio says is its
//! *residual*, and the mean of the residuals has the figure's error (W. G. Cochran, *Sampling Techniques*, 1977, ch. 6).
//!
//! - **Within a run** residuals of neighbouring seconds are alike, so that a second is no observation of its own.
//!   [`autocorrelated`] takes batch means, non-overlapping, of a length that the data chooses, and corrects for what
//!   correlation is left between batches: the method of Skart (A. Tafazzoli, J. R. Wilson, E. K. Lada, N. M. Steiger:
//!   *Performance of Skart*, INFORMS J. on Computing 23, 2011), with the bias of the correlation removed (M. G. Kendall,
//!   *Biometrika* 41, 1954).
//! - **Between repetitions** residuals are independent, and carry what no single run can show: [`independent`].
//! - **A percentile** is read off the merged histogram. Its interval is R. S. Woodruff's (*J. Am. Stat. Assoc.* 47, 1952):
//!   the error of the share of operations below it is taken from the residuals, and the ends of the share's interval are
//!   read off the merged histogram again ([`Percentile`]). It needs no density and no resampling. A block bootstrap of
//!   percentiles was weighed and not taken: it covers less than it says where blocks are few.
//! - **A difference** of two figures has the interval that their own limits make (G. Y. Zou, A. Donner, *Statistics in
//!   Medicine* 27, 2008), with B. L. Welch's degrees of freedom (*Biometrika* 34, 1947): [`Difference`].
//! - **Many comparisons** are corrected by S. Holm's rule (*Scand. J. Statistics* 6, 1979): [`holm`].
//! - **How long to measure** ([`needed`]) uses the upper limit of the error, because it is itself only measured (M. Kieser,
//!   G. Wassmer, *Biometrical Journal* 38, 1996).
//!
//! What each covers is measured on made-up series in the tests, and stated in `docs/compare.md`.

mod change;
mod difference;
mod error;
mod figure;
mod holm;
mod paired;
mod power;
mod student;

pub use change::{CHANGE_ALPHA, CHANGE_TOLERANCE, LevelCheck, POINTS_MIN, Shape};
pub use difference::Difference;
pub use error::{BATCHES_MIN, CLUSTERS_MIN, Spread, autocorrelated, clusters, independent};
pub(crate) use figure::BEYOND_MIN;
pub use figure::{Element, FigureSample, Percentile, Scale};
pub use holm::holm;
pub use paired::{Location, location};
pub use power::{ALPHA, CONFIDENCE, POWER, detectable, needed};
pub use student::{quantile, two_sided};
