//! Captured block I/O: readers of other programs' traces, a compact form of its own, and what a trace holds.
//!
//! Every reader is a [`TraceReader`]: I/Os in order of issue, in constant memory, from any input; a mistake points at its line
//! or byte. Nothing is opened here but what the caller hands in.

#![forbid(unsafe_code)]

mod blkparse;
mod blktrace;
pub mod block;
mod csv;
mod error;
mod fio;
mod fit;
mod form;
mod format;
mod ftrace;
mod histogram;
mod io;
mod lines;
mod map;
mod numbers;
mod order;
mod own;
mod replay;
mod summary;
mod vscsi;

pub use blktrace::blktrace_events;
pub use block::Layer;
pub use error::{Place, TraceError};
pub use fit::{BurstFit, Figure, Fit, Fitter, ScaleFit, ZipfFit};
pub use form::Origin;
pub use format::{TraceFormat, TraceOptions, detect, open};
pub use ftrace::{ftrace_event, ftrace_lost};
pub use histogram::{Histogram, Histograms};
pub use io::{Tally, TraceIo, TraceReader};
pub use map::CsvMap;
pub use own::{OwnReader, TraceWriter};
pub use replay::{OPS_MAX, facts_by, load_ops, settle};
pub use summary::{DeviceExtent, SizeCount, Summary, TraceFacts};

/// What a trace of the compact form holds, from its end alone; `None` where it has none, or is no such trace.
/// # Errors
/// Where the input cannot be read.
pub fn facts_of<R: std::io::Read + std::io::Seek>(
    input: &mut R,
) -> std::io::Result<Option<TraceFacts>> {
    own::facts_of(input)
}
