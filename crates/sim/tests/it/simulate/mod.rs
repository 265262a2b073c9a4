//! Scenarios simulated over plants made by hand: what the record holds, and that it depends on nothing but the seed.

mod conformance;
mod edges;
mod hops;
mod rules;
pub mod support;
mod threads;
