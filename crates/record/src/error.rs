//! Errors of writing and reading a record; each message names the next action.

use crate::schema::{OLDEST, VERSION};
use rusqlite::ErrorCode;
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a record could not be written or read.
#[derive(Debug, Error)]
pub enum RecordError {
    /// The file already exists; records never overwrite a file.
    #[error(
        "{path} already exists; choose another name for the record, or move that file away first"
    )]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file may not grow: this process may make none that is larger.
    #[error(
        "the record {path} has come near the size that a file may have ({limit} bytes; RLIMIT_FSIZE, `ulimit -f`); raise \
         that limit, or run fewer or shorter steps"
    )]
    SizeLimit {
        /// The file.
        path: PathBuf,
        /// The limit in bytes.
        limit: u64,
    },
    /// The file could not be created.
    #[error(
        "cannot create the record {path}: {source}; check that its directory exists and is writable"
    )]
    Create {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file could not be read.
    #[error("cannot read the record {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file is not a record.
    #[error("{path} is not a record: {why}")]
    NotARecord {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// A later version of the format.
    #[error(
        "{path} is a record of format version {found}, and this program reads versions {OLDEST} to {VERSION}; open it with \
         a newer one"
    )]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// An earlier version of the format.
    #[error(
        "{path} is a record of format version {found}, and this program reads versions {OLDEST} to {VERSION}; review it with \
         the version of Wirespeed that made it (its `producer`), or run its scenario again"
    )]
    TooOld {
        /// The file.
        path: PathBuf,
        /// Its version.
        found: u32,
    },
    /// The file ends too early.
    #[error(
        "{path} is cut off: it holds {found} of {expected} bytes; copy it again from where it was written"
    )]
    Truncated {
        /// The file.
        path: PathBuf,
        /// Bytes that are there.
        found: u64,
        /// Bytes that its header states.
        expected: u64,
    },
    /// The file is inconsistent or violates the format.
    #[error("{path} is damaged: {what}; copy it again from where it was written")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where and how.
        what: String,
    },
    /// An unfinished record in a directory where SQLite cannot write its log.
    #[error(
        "{path} was not finished, and its directory is not writable; copy it together with {path}-wal to a writable \
         directory, and open it there"
    )]
    NeedsWritableDirectory {
        /// The file.
        path: PathBuf,
    },
    /// The file system is full.
    #[error("no space left for the record {path}; committed data is kept, nothing more is written")]
    Full {
        /// The file.
        path: PathBuf,
    },
    /// An earlier write failed; the record keeps what was committed before and accepts no more.
    #[error("the record {path} accepts no more data after a failed write")]
    Broken {
        /// The file.
        path: PathBuf,
    },
    /// The record is complete, but not yet one plain file.
    #[error(
        "the record {path} is complete, but another program holds it open: keep {path}-wal beside it, or close that \
         program and run: sqlite3 {path} 'PRAGMA journal_mode = DELETE'"
    )]
    HeldOpen {
        /// The file.
        path: PathBuf,
    },
    /// A row refers to a step that was not announced.
    #[error("step {step} is not in the record; announce a step before what belongs to it")]
    UnknownStep {
        /// Its number.
        step: u32,
    },
    /// A row refers to a source that was not announced.
    #[error("source {source_id} is not in the record; announce a source before what it reports")]
    UnknownSource {
        /// Its number.
        source_id: u32,
    },
    /// A source, step or interval was written a second time.
    #[error("{what} is already in the record")]
    Twice {
        /// Which.
        what: String,
    },
    /// The step's totals are already written.
    #[error("step {step} is done; its intervals and its end come before that, and once")]
    StepDone {
        /// Its number.
        step: u32,
    },
    /// Any other refusal of SQLite.
    #[error("the record {path} failed: {source}")]
    Sql {
        /// The file.
        path: PathBuf,
        /// SQLite's reason.
        source: rusqlite::Error,
    },
}

impl RecordError {
    /// Converts SQLite's error about the record at `path`.
    pub(crate) fn from_sql(path: &Path, source: rusqlite::Error) -> RecordError {
        let path = path.to_path_buf();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => RecordError::Full { path },
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                RecordError::Damaged { path, what: source.to_string() }
            }
            _ => RecordError::Sql { path, source },
        }
    }
}
