//! Queueing networks, solved twice: by discrete events, and by formulas.
//!
//! A [`model::Network`] says what stands there (stations, pools of tokens) and which I/O goes through it (loads, classes,
//! routes). [`engine::Simulation`] lets I/Os walk through it, one event after the other; [`study`] repeats that over
//! seeds and threads and says how far its figures can be trusted. [`analytic`] answers at once, for the networks whose
//! answer is known. A [`plant::Plant`] is such a network with the names of a scenario's lab; [`lab`] makes it. No device,
//! no engine that moves data and no clock of the system is known here: time is simulated, and everything random comes from
//! a seed.

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
