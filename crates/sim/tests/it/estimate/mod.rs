//! The estimator on hand-made plants: against exact solutions, against the event engine, against its own bounds, and
//! its bottlenecks.

pub mod labs;
mod limits;
mod simulated;
