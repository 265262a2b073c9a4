//! What is counted, and what may be said of it: integer tallies, histograms, where a warm-up ends, intervals of confidence.

mod histogram;
mod interval;
mod student;
mod tally;
mod warmup;

pub use histogram::Histogram;
pub use interval::{Estimate, mean, ratio, skew, von_neumann};
pub use student::{normal_quantile, student_quantile};
pub use tally::{Level, Tally};
pub use warmup::mser5;
