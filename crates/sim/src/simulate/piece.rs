//! What a step that is being simulated tells of itself, in order: the joint between the thread that simulates it and the
//! one that writes the record.
//!
//! Times are those of the step, from its beginning. Nothing of it depends on when, or beside which others, it is simulated:
//! so the number of threads changes nothing.

use super::meter::Tallies;
use crate::plant::{Assumption, Issuer, Limits};
use clock::Ns;
use record::{Confidence, Level, Phase, StepTimes};

/// A part of a step's story.
pub(crate) enum Piece {
    /// It begins.
    Begun(Box<Begun>),
    /// Its measurement begins sooner than announced, or later.
    Times(StepTimes),
    /// What happened between two cuts.
    Cut(Box<Cut>),
    /// Something to be known.
    Note(Note),
    /// It has come to its end.
    Done(Vec<Confidence>),
    /// It cannot go on.
    Failed(String),
}

/// Who takes part in a step.
pub(crate) struct Begun {
    pub issuers: Vec<Issuer>,
    /// Names of the workers: those of the issuers, each once.
    pub workers: Vec<String>,
    pub hops: Vec<HopHead>,
    pub assumptions: Vec<Assumption>,
    pub times: StepTimes,
}

/// A hop as the record names it.
pub(crate) struct HopHead {
    pub name: String,
    pub device: String,
    pub limits: Limits,
}

/// What everybody did between two cuts.
pub(crate) struct Cut {
    pub phase: Phase,
    pub from: Ns,
    pub to: Ns,
    /// Of each worker.
    pub workers: Vec<Tallies>,
    /// Of each hop: counters by name and unit.
    pub hops: Vec<Vec<Reading>>,
}

/// A counter: its name, its value and its unit.
pub(crate) type Reading = (&'static str, f64, &'static str);

/// An event of a step.
pub(crate) struct Note {
    pub at: Ns,
    pub level: Level,
    pub code: &'static str,
    pub text: String,
}
