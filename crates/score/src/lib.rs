//! Published claims held against both solvers, and how far that proves anything.
//!
//! A simulated figure that agrees with a published one proves something only where the figure did not decide the model's
//! parameters. So before anything is compared, a [`Ledger`] lists every [`Parameter`] that no document gives and how much each
//! claim follows it, by the estimator alone and without the published figure. A claim that follows what was fitted on it, or
//! what nobody published, is then shown as calibration ([`rule`]).
//!
//! This crate opens no file and runs no simulation: it is given a scenario, and the findings of two records of it.

#![forbid(unsafe_code)]

mod bend;
mod built;
mod elasticity;
mod figure;
mod labs_page;
mod ledger;
mod ledger_page;
mod pair;
mod parameter;
pub mod rule;
mod scored;
mod stand_in;

pub use built::BuildError;
pub use elasticity::Bench;
pub use figure::Lack;
pub use labs_page::{chapter, page as labs_page};
pub use ledger::{Elasticity, Ledger, Resting};
pub use ledger_page::page as ledger_page;
pub use parameter::{Origin, Parameter, UNPUBLISHED};
pub use scored::{Scored, ScoredClaim, ScoredStep, verdict_word};
