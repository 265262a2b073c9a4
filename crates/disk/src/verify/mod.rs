//! Verification: every block that is written says which it is, and every block that is read is held against what is known
//! of it, so that a lost, torn, misplaced or undone write is found and named. `docs/verify.md` has the guarantees.
//!
//! A worker's thread stamps and checks ([`verifier`]); what each block must hold is a word in memory or in a file
//! ([`word`], [`ledger`], [`state`]); faults leave the data plane as numbers and become words beyond it ([`report`]).
//! The idea of self-describing blocks is that of fio's `verify` and of vdbench's data validation.

mod block;
mod checkpoints;
mod examiner;
mod fault;
mod gate;
mod ledger;
mod memory;
mod pass;
mod report;
mod state;
mod state_file;
#[cfg(test)]
mod trial;
mod verifier;
mod watch;
mod word;
pub use memory::StateMemory;
pub use verifier::VerifierSpec;

pub(crate) use state::TargetState;
pub(crate) use watch::{VerifyPlan, VerifyStates};
