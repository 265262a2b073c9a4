//! The behaviour of `sim`, tested through its public interface.

mod allocations;
mod analytic;
mod behaviour;
mod closed;
mod estimate;
mod events;
mod fibre_labs;
mod full;
mod gated;
mod lab_front;
mod lab_storage;
mod mechanisms;
mod moves;
mod network;
mod operations;
mod part_defaults;
mod published;
mod reference;
mod refused;
mod simulate;
mod statistics;
mod study;
mod windows;
