//! What the estimator says of plants made by hand: against the exact solutions, against the event engine, against its own
//! bounds, and what it names as the limit.

mod labs;
mod limits;
mod simulated;
