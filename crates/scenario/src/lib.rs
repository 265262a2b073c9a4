//! The scenario language: one TOML file with five parts: what stands there (the lab), what the virtual machines do
//! (workloads), in which order (plans), what must hold (goals) and what was published (claims).
//!
//! [`load`] turns text into a [`Scenario`] whose names and references have been checked, or into every mistake of the
//! file at once. [`Scenario::steps`] expands the plans. This crate knows no engine, opens no socket and no file other
//! than the one it reads.

mod model;
mod source;

pub use model::*;
pub use source::Source;
