//! The record of a run, and its file.
//!
//! Everything that measures writes a record; everything that judges reads only a record. A record made by the simulator
//! differs from a measured one only in its provenance. This crate neither produces nor judges figures. `docs/record.md`
//! describes the file format for other readers.

#![forbid(unsafe_code)]

mod columns;
mod counter;
mod error;
mod follow;
mod histogram;
mod insert;
mod interval;
mod legacy;
mod proof;
mod reader;
mod rounds;
mod run;
mod sampling;
mod schema;
mod select;
mod total;
mod voids;
mod writer;

pub use error::RecordError;
pub use follow::{Follower, News};

pub use counter::{Counter, CounterId, CounterInfo, CounterKind, Meaning, Scope, UnknownCounter};
pub use histogram::{Histogram, HistogramError};
pub use hop::HopKind;
pub use interval::{Completed, Confidence, Event, Interval, Level, OtherTallies, Phase, Testimony};
pub use proof::{Lever, Perturbation, Proof, ProofRound, Untouched};
pub use reader::Record;
pub use rounds::{Round, Rounds};
pub use run::{
    Fact, Flow, Loop, Producer, ProducerKind, RunHead, ScenarioText, Source, SourceId, SourceKind,
    Status, StepHead, StepTimes, StreamEnd, StreamLoad, WorkerLoad,
};
pub use sampling::{NoSampling, Sampling};
pub use total::StepTotal;
pub use voids::{VoidSearch, Voids};
pub use writer::Writer;
