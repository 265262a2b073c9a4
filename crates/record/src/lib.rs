//! What a run leaves behind, and the one file it is kept in.
//!
//! Everything that measures writes a record; everything that judges reads only a record. A record made by the
//! simulator cannot be told from a measured one except by its provenance. This crate does not know how a record came
//! to be, and judges nothing.

mod histogram;
mod interval;
mod run;

pub use histogram::{Histogram, HistogramError};
pub use interval::{Counter, Event, Interval, Level, Phase, Tally, Testimony};
pub use run::{
    Fact, Loop, RunHead, ScenarioText, Source, SourceId, SourceKind, Status, StepHead, StepTimes,
    WorkerLoad,
};
