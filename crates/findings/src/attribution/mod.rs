//! Attribution: for each step, what limits it, with a probability, the runner-up, and what speaks for it.
//!
//! A pure function of a record: of what workers and hops counted in a step, and of what they counted in its neighbours of a
//! sweep. It never asks whether a record was measured or simulated; where a counter is missing it says which, rather than
//! guess. The idea is that of operational analysis (Denning and Buzen): where a resource is full, somebody waits before
//! it, and whatever is added to the load waits there too.

mod answer;

pub use answer::{Attribution, Clue, Gauge, HopLoad, Limiter, RunnerUp, Why};
