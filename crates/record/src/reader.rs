//! Reads a record: a finished one, one that a killed run left behind, or one that is being written right now.
//!
//! The file is judged evidence and is never changed. Nothing in it is believed without a look: it may be cut off,
//! damaged, or made up. What is small is read once, in one transaction; intervals are read when they are asked for, each
//! time over a connection of its own, so that a reader that lingers never keeps a run from finishing its file.

use crate::columns::RowError;
use crate::schema::{APPLICATION_ID, OLDEST, TYPED_SINCE, VERSION};
use crate::total::StepTotal;
use crate::{
    Confidence, Counter, CounterId, Event, Fact, Interval, Proof, RecordError, RunHead, Source,
    SourceId, Status, StepHead, VoidSearch, Voids, legacy, select,
};
use rusqlite::{Connection, ErrorCode, OpenFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a query waits for a writer that is just folding its log.
const PATIENCE: Duration = Duration::from_secs(5);

/// A record that is being read.
#[derive(Debug)]
pub struct Record {
    file: RecordFile,
    head: RunHead,
    status: Status,
    facts: Vec<Fact>,
    sources: Vec<Source>,
    steps: Vec<StepHead>,
    events: Vec<Event>,
    confidences: Vec<Confidence>,
    proofs: BTreeMap<u32, Proof>,
}

impl Record {
    /// Opens a record and reads everything but its intervals, totals and counters, as it stands at this moment.
    /// # Errors
    /// Where the file cannot be read, is no record, is of another format version, is cut off or damaged; and where it
    /// was not finished and lies in a directory that cannot be written, so that SQLite cannot work on its log.
    pub fn open(path: &Path) -> Result<Record, RecordError> {
        let file = RecordFile::open(path)?;
        let record = file.query(|db| {
            // One transaction, so that a run that goes on meanwhile is seen at one moment.
            db.execute_batch("BEGIN")?;
            select::check_tables(db, file.version)?;
            let facts = select::facts(db)?;
            let (head, status) = select::head(db, file.version, &facts)?;
            let mut sources = select::sources(db, file.version)?;
            let steps = select::steps(db, file.version)?;
            if file.version < TYPED_SINCE {
                legacy::hops(&mut sources, &steps, &head.producer);
            }
            let events = select::events(db)?;
            let confidences = select::confidences(db, file.version)?;
            let proofs = select::proofs(db, file.version)?;
            Ok((head, status, facts, sources, steps, events, confidences, proofs))
        })?;
        let (head, status, facts, sources, steps, events, confidences, proofs) = record;
        Ok(Record { file, head, status, facts, sources, steps, events, confidences, proofs })
    }

    /// How the run began.
    pub fn head(&self) -> &RunHead {
        &self.head
    }

    /// How the run ended; [`Status::Running`] also where it was killed.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Provenance, in the order in which it was written.
    pub fn facts(&self) -> &[Fact] {
        &self.facts
    }

    /// Everybody who reports, by number.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The steps that were announced, by number.
    pub fn steps(&self) -> &[StepHead] {
        &self.steps
    }

    /// What happened, in the order of time.
    pub fn events(&self) -> &[Event] {
        &self.events
    }

    /// The confidence intervals of a step's figures, by source and figure, those over all workers first; possibly none.
    pub fn confidences(&self, step: u32) -> impl Iterator<Item = &Confidence> {
        self.confidences.iter().filter(move |confidence| confidence.step == step)
    }

    /// The rounds that follow the measured time of a step, if it has some.
    pub fn proof(&self, step: u32) -> Option<&Proof> {
        self.proofs.get(&step)
    }

    /// The counters of a step, or those that belong to no step, in the order in which they were written.
    /// # Errors
    /// Where the file cannot be read or is damaged.
    pub fn counters(&self, step: Option<u32>) -> Result<Vec<Counter>, RecordError> {
        if self.file.version >= TYPED_SINCE {
            return self.file.query(|db| select::counters(db, step));
        }
        let known = (self.sources.as_slice(), self.head.producer.kind);
        self.file.query(|db| select::old_counters(db, step, known))
    }

    /// The intervals of a step, ordered by start and source, with histograms of two digits. Each histogram takes some 8 kB:
    /// a long step of many sources is better taken through [`for_each_interval`](Record::for_each_interval).
    /// # Errors
    /// Where the step is unknown, or the file cannot be read or is damaged.
    pub fn intervals(&self, step: u32) -> Result<Vec<Interval>, RecordError> {
        let mut all = Vec::new();
        self.for_each_interval(step, &mut |interval| all.push(interval))?;
        Ok(all)
    }

    /// Hands the intervals of a step to `f` one by one, ordered by start and source.
    /// # Errors
    /// Where the step is unknown, or the file cannot be read or is damaged; `f` may have been called by then.
    pub fn for_each_interval(
        &self,
        step: u32,
        f: &mut dyn FnMut(Interval),
    ) -> Result<(), RecordError> {
        self.known_step(step)?;
        let version = self.file.version;
        self.file.query(|db| select::each_interval(db, version, step, f))
    }

    /// What every source did in the measured time of a step, by source; a source without a measured interval is left
    /// out. Three digits where the run wrote its totals, two where they are merged here because it could not, or because
    /// parts of the step are void.
    /// # Errors
    /// Where the step is unknown, or the file cannot be read or is damaged.
    pub fn totals(&self, step: u32) -> Result<Vec<StepTotal>, RecordError> {
        let voids = self.voids(step)?;
        let version = self.file.version;
        self.file.query(|db| {
            let stored = select::totals(db, version, step)?;
            if stored.is_empty() || !voids.is_empty() {
                merge_totals(db, version, step, &voids)
            } else {
                Ok(stored)
            }
        })
    }

    /// What counts neither for nor against anything in a step: for its workers, and for its network streams.
    /// # Errors
    /// Where the step is unknown, or the file cannot be read or is damaged.
    pub fn voids(&self, step: u32) -> Result<Voids, RecordError> {
        self.known_step(step)?;
        if self.file.version < TYPED_SINCE {
            return Ok(Voids::default());
        }
        let times = |id| self.file.query(|db| select::counted_times(db, step, id));
        let (stops, edges) = (times(CounterId::OwnStop)?, times(CounterId::ClockEdge)?);
        let gaps = times(CounterId::NotObserved)?;
        let mut search = VoidSearch::new(stops).with_edges(edges).with_gaps(gaps);
        let heads = self.steps.iter().filter(|head| head.index == step);
        let of = |head: &StepHead| -> Vec<SourceId> {
            let workers = head.workers.iter().map(|load| load.source);
            workers.chain(head.streams.iter().map(|load| load.source)).collect()
        };
        let loads: BTreeSet<SourceId> = heads.flat_map(of).collect();
        if !search.is_needless() {
            self.for_each_interval(step, &mut |interval| {
                if loads.contains(&interval.source) {
                    search.see(&interval);
                }
            })?;
        }
        Ok(search.finish())
    }

    fn known_step(&self, step: u32) -> Result<(), RecordError> {
        if self.steps.iter().any(|s| s.index == step) {
            return Ok(());
        }
        Err(RecordError::UnknownStep { step })
    }
}

/// A file that has been looked at, and how SQLite may open it.
#[derive(Debug)]
pub(crate) struct RecordFile {
    path: PathBuf,
    /// The version of its format.
    pub(crate) version: u32,
    /// Whether it is in write-ahead mode: not finished, or not folded.
    logged: bool,
}

impl RecordFile {
    /// Looks at the file before SQLite does: what SQLite would find out later, or silently take as empty.
    pub(crate) fn open(path: &Path) -> Result<RecordFile, RecordError> {
        let unreadable = |source| RecordError::Read { path: path.to_path_buf(), source };
        let foreign = |why: &str| {
            Err(RecordError::NotARecord { path: path.to_path_buf(), why: why.to_string() })
        };
        let meta = std::fs::metadata(path).map_err(unreadable)?;
        if !meta.is_file() {
            return foreign("it is not a regular file");
        }
        if meta.len() == 0 {
            return foreign("it is empty; if a run was killed as it began, delete it");
        }
        let mut header = [0; 100];
        let mut file = File::open(path).map_err(unreadable)?;
        if let Err(e) = file.read_exact(&mut header) {
            return match e.kind() {
                std::io::ErrorKind::UnexpectedEof => foreign("it is too short"),
                _ => Err(unreadable(e)),
            };
        }
        if &header[..16] != b"SQLite format 3\0" {
            return foreign("it is not an SQLite file");
        }
        if word(&header, 68) != APPLICATION_ID {
            return foreign("it is an SQLite file of another program");
        }
        let found = word(&header, 60);
        if found > VERSION {
            return Err(RecordError::TooNew { path: path.to_path_buf(), found });
        }
        if found < OLDEST {
            return Err(RecordError::TooOld { path: path.to_path_buf(), found });
        }
        let logged = header[18] == 2 || header[19] == 2;
        let expected = stated_length(&header);
        if !logged && meta.len() < expected {
            let path = path.to_path_buf();
            return Err(RecordError::Truncated { path, found: meta.len(), expected });
        }
        Ok(RecordFile { path: path.to_path_buf(), version: found, logged })
    }

    /// Runs queries over a connection of their own.
    pub(crate) fn query<T>(
        &self,
        f: impl FnOnce(&Connection) -> Result<T, RowError>,
    ) -> Result<T, RecordError> {
        let db = self.connect()?;
        f(&db).map_err(|e| match e {
            RowError::Sql(e) => RecordError::from_sql(&self.path, e),
            RowError::Bad(what) => RecordError::Damaged { path: self.path.clone(), what },
        })
    }

    fn connect(&self) -> Result<Connection, RecordError> {
        let error = |e| RecordError::from_sql(&self.path, e);
        match self.connect_as(false) {
            Ok(db) => Ok(db),
            Err(e) if self.logged && is_locked_out(&e) => {
                if log_holds_something(&self.path) {
                    return Err(RecordError::NeedsWritableDirectory { path: self.path.clone() });
                }
                // Nothing is outside the file, and it has no writer here.
                self.connect_as(true).map_err(error)
            }
            Err(e) => Err(error(e)),
        }
    }

    fn connect_as(&self, immutable: bool) -> rusqlite::Result<Connection> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        // An absolute path is never taken as a URI, whatever its name.
        let path = std::path::absolute(&self.path).unwrap_or_else(|_| self.path.clone());
        let db = if immutable {
            let flags = flags | OpenFlags::SQLITE_OPEN_URI;
            Connection::open_with_flags(immutable_uri(&path), flags)?
        } else {
            Connection::open_with_flags(path, flags)?
        };
        db.busy_timeout(PATIENCE)?;
        // A made-up file may carry views and functions of its own; none of them is to run.
        db.execute_batch("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;")?;
        // The first look at the file, so that it is this that fails where SQLite may not work here.
        db.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        Ok(db)
    }
}

/// The file's length as its SQLite header states it; 0 where the header does not know.
fn stated_length(header: &[u8; 100]) -> u64 {
    let page = match u16::from_be_bytes([header[16], header[17]]) {
        1 => 65_536,
        size => u64::from(size),
    };
    // The page count is valid only where it was written together with the change counter.
    if word(header, 24) == word(header, 92) { page * u64::from(word(header, 28)) } else { 0 }
}

fn word(header: &[u8; 100], at: usize) -> u32 {
    u32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
}

/// Whether SQLite could not set up its shared memory beside the file.
fn is_locked_out(e: &rusqlite::Error) -> bool {
    matches!(e.sqlite_error_code(), Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly))
}

fn log_holds_something(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|meta| meta.len() > 0)
}

/// The file as a URI that tells SQLite to look for no log and no lock.
fn immutable_uri(path: &Path) -> String {
    let mut uri = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'/' | b'.' | b'-' | b'_' => uri.push(char::from(*byte)),
            b if b.is_ascii_alphanumeric() => uri.push(char::from(*b)),
            b => uri.push_str(&format!("%{b:02X}")),
        }
    }
    uri + "?immutable=1"
}

/// The totals of a step that ended without writing any, or of which parts are void.
fn merge_totals(
    db: &Connection,
    version: u32,
    step: u32,
    voids: &Voids,
) -> Result<Vec<StepTotal>, RowError> {
    let mut totals: BTreeMap<SourceId, StepTotal> = BTreeMap::new();
    select::each_interval(db, version, step, &mut |interval| {
        if !voids.touch(interval.from, interval.to) {
            totals
                .entry(interval.source)
                .or_insert_with(|| StepTotal::new(interval.source))
                .add(&interval);
        }
    })?;
    Ok(totals.into_values().filter(|t| t.measured.0 > 0).collect())
}
