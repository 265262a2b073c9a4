//! Counts and what can be inferred from them: integer tallies, histograms, the end of a warm-up, confidence intervals.

mod histogram;
mod interval;
mod student;
mod tally;
mod warmup;

pub use histogram::TimeHistogram;
pub use interval::{ConfidenceInterval, mean, ratio, skew, von_neumann};
pub use student::{normal_quantile, student_quantile};
pub use tally::{RunningTally, Tally, TallyLevel};
pub use warmup::mser5;
