//! Queueing networks, solved twice: by discrete-event simulation and by formulas.
//!
//! A [`model::Network`] holds stations and token pools, and the loads whose I/Os follow routes through them.
//! [`engine::Simulation`] executes it event by event; [`study`] repeats that over seeds and threads and gives
//! confidence intervals. [`analytic`] solves the networks that have a known solution. A [`plant::Plant`] is such a
//! network with the names of a scenario's lab; [`lab`] compiles it. Nothing here knows devices, live engines or the
//! system's clock: time is simulated, and all randomness comes from a seed.

#![deny(clippy::disallowed_types)]
#![forbid(unsafe_code)]

pub mod analytic;
pub mod engine;
pub mod estimate;
pub mod lab;
pub mod model;
pub mod plant;
pub mod simulate;
pub mod statistics;
pub mod study;
mod time;

pub use time::Ps;
