//! Integration tests of `workload`.

mod allocations;
mod arbitrary;
mod arrivals;
mod common;
mod loops;
mod offsets;
mod operations;
mod order;
mod pass;
mod presets;
mod problems;
mod random;
mod replay;
mod sequential;
mod transactions;
