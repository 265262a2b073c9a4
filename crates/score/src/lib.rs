//! Published claims compared with both solvers, and how much the comparison proves.
//!
//! A simulated figure that agrees with a published one proves something only where the figure did not determine the
//! model's parameters. So before anything is compared, a [`ClaimLedger`] lists every [`Parameter`] without a documented
//! source and the elasticity of each claim to it, by the estimator alone and without the published figure. A claim that
//! depends on a parameter that was fitted to it, or that nothing documents, is then shown as calibration ([`rule`]). The
//! ledger also has each claim's figure under every plausible rival of the model; a claim that came back proves something
//! only where one of them fails it ([`Evidence`]).
//!
//! This crate opens no file and runs no simulation: its input is a scenario, and the findings of two records of it.

#![forbid(unsafe_code)]

mod baseline;
mod built;
mod elasticity;
mod evidence;
mod figure;
mod labs_page;
mod ledger;
mod ledger_page;
mod pair;
mod parameter;
mod rival;
pub mod rule;
mod scored;
mod stand_in;
mod tally;
mod unit;
mod vary;

pub use built::BuildError;
pub use elasticity::ClaimEstimates;
pub use evidence::Evidence;
pub use figure::NoElasticity;
pub use labs_page::{chapter, page as labs_page};
pub use ledger::{ClaimDependence, ClaimLedger, Elasticity, Rival};
pub use ledger_page::page as ledger_page;
pub use parameter::{Parameter, ParameterOrigin, UNPUBLISHED};
pub use scored::{Scored, ScoredClaim, ScoredStep, verdict_word};
pub use tally::{EvidenceTally, Skill};
pub use unit::{ByteUnit, SourceUnits};
