//! What the page asks of the program that it is part of: to plan, to estimate, to say what limits, and to be started again
//! for a run. The binary wires it, so that this crate knows no engine and no solver.

use campaign::HopLoad;
use review::estimate::Estimated;
use scenario::{Diagnostics, Scenario, Source, Step};
use serde_json::Value;
use std::io;
use std::process::Command;

/// What a dry run says.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// For people, as `wirespeed plan` prints it.
    pub text: String,
    /// For programs, as `wirespeed plan --format json` prints it.
    pub document: Value,
}

/// The program around the page.
pub trait Program: Send + Sync + 'static {
    /// A scenario's text with what the user's catalogs add to it.
    fn source(&self, name: &str, text: String, overrides: Vec<(String, String)>) -> Source;

    /// A dry run: nothing is opened for writing and nothing is made.
    fn plan(&self, scenario: &Scenario) -> Plan;

    /// What the lab of a scenario will carry in these steps.
    /// # Errors
    /// The lab is not described, or not whole; or the estimator has no answer.
    fn estimate(&self, scenario: &Scenario, steps: &[Step]) -> Result<Vec<Estimated>, Unsolved>;

    /// What limits a run at the moment, as its display says it.
    fn limit(&self, hops: &[HopLoad]) -> Vec<String>;

    /// This program, ready to be given arguments.
    /// # Errors
    /// Its file is not known.
    fn command(&self) -> io::Result<Command>;

    /// Scenarios that the program carries: name and text.
    fn scenarios(&self) -> &'static [(&'static str, &'static str)];
}

/// Why there is no estimate.
#[derive(Clone, Debug, PartialEq)]
pub enum Unsolved {
    /// Mistakes of the lab, each at its place.
    Lab(Diagnostics),
    /// Anything else, as a sentence.
    Other(String),
}
