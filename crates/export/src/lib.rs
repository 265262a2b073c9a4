//! A record in the formats of other programs: fio's JSON, Iometer's results, NTttcp's XML, CSV and Parquet.
//!
//! Pure functions of a record and its analysis; they judge nothing. They have a crate of their own because they need what
//! no other has together: the record's histograms, the scenario's workloads and the figures of `findings`. Where a format
//! asks for something that was not measured, it is left out, empty or null, never made up: `docs/exports.md` says which.

#![forbid(unsafe_code)]

mod civil;
pub mod csv;
mod fio;
mod fio_bins;
mod fio_options;
mod fio_shape;
mod influx;
mod iometer;
mod junit;
mod ntttcp;
mod parquet;
mod view;
mod xml;

pub use fio::fio_json;
pub use influx::influx;
pub use iometer::iometer;
pub use junit::junit;
pub use ntttcp::{NtttcpEnd, ntttcp};
pub use parquet::{Row, parquet};

use record::RecordError;
use thiserror::Error;

/// A moment in UTC as ISO 8601 has it, from nanoseconds since the Unix epoch: `2026-11-21T08:16:28`.
pub fn utc(wall_ns: u64) -> String {
    civil::Civil::of(wall_ns).iso()
}

/// Why a record could not be exported.
#[derive(Debug, Error)]
pub enum ExportError {
    /// The record could not be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// No network load where one was asked for.
    #[error(
        "there is no network load to export: NTttcp's form is of streams, and workers have fio's and Iometer's"
    )]
    NoNetwork,
    /// A step that the record does not hold.
    #[error("the record has no step {asked}; it holds {held}")]
    NoStep {
        /// What was asked for, counted from 1 as people do.
        asked: u64,
        /// The steps that are there.
        held: String,
    },
}

/// The error for a step that is not among those there, by number from 0.
pub(crate) fn no_step(asked: u32, held: &[u32]) -> ExportError {
    let person = |index: &u32| u64::from(*index) + 1;
    let held = match (held.first(), held.last()) {
        (Some(first), Some(last)) if first < last => {
            format!("steps {} to {}", person(first), person(last))
        }
        (Some(only), _) => format!("step {} alone", person(only)),
        _ => "none".to_owned(),
    };
    ExportError::NoStep { asked: person(&asked), held }
}
