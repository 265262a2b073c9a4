//! Writes a record during the run: rows into SQLite's write-ahead log, one transaction per second, no fsync until the
//! end. Committed data is with the kernel and outlives the process; `finish` folds the log into one plain file.
//!
//! The coordinator and the simulator are the only writers. A writer never reads a record, never overwrites one, and
//! never repairs one: after a failed write it accepts no more.

use crate::histogram::Encoder;
use crate::schema::{APPLICATION_ID, CREATE, StoredWord, VERSION};
use crate::total::StepTotal;
use crate::{
    Confidence, Counter, CounterKind, Event, Fact, Interval, Level, Proof, RecordError, RunHead,
    Source, SourceId, Status, StepHead, StepTimes, insert,
};
use clock::Ns;
use rusqlite::{Connection, ErrorCode, OpenFlags, params};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a write waits for another program that has locked the file.
const LOCK_PATIENCE: Duration = Duration::from_secs(5);

/// Attempts of `finish` to fold the log while another program reads it, and their spacing.
const FOLD_ATTEMPTS: u32 = 40;
const FOLD_PAUSE: Ns = Ns::millis(50);

/// Bytes of a page of the file. Rows are not split, so small pages would waste a fifth with rows of several hundred
/// bytes.
const PAGE_BYTES: u32 = 16_384;

/// What an empty record and its log take, generously.
const LEAST: u64 = 512 << 10;

/// See [`spare`].
const SPARE: u64 = 4 << 20;

/// A record that is being written.
///
/// Announce a source before what it reports and a step before its intervals. Dropping a writer without
/// [`finish`](Writer::finish) leaves an incomplete record up to the last [`commit`](Writer::commit).
///
/// ```
/// use clock::Ns;
/// use record::*;
/// # fn main() -> Result<(), RecordError> {
/// # let dir = tempfile::tempdir().unwrap();
/// # let path = dir.path().join("run.wsr");
/// let mut writer = Writer::create(&path, &RunHead {
///     title: "Two seconds by hand".into(),
///     producer: Producer::new(ProducerKind::Live, "an example"),
///     scenario: ScenarioText { name: "two.toml".into(), text: String::new(), overrides: vec![] },
///     epoch: Ns::ZERO,
///     wall_ns: 0,
///     seed: 1,
/// })?;
/// let source = SourceId(0);
/// let (name, group, agent) = ("vm1".into(), "vm1".into(), "sim".into());
/// writer.source(&Source { id: source, kind: SourceKind::Worker, name, group, agent })?;
/// writer.step(&StepHead {
///     index: 0,
///     plan: "plan".into(),
///     settings: vec![("block".into(), "8KiB".into())],
///     repetition: 0,
///     times: StepTimes {
///         start: Ns::ZERO, measure: Ns::ZERO, cooldown: Ns::secs(2), end: Ns::secs(2),
///     },
///     workers: vec![],
///     streams: vec![],
/// })?;
/// for second in 0..2 {
///     let mut reads = Completed::empty(false);
///     for _ in 0..1000 {
///         reads.success(8192, Ns(950_000), Ns(950_000));
///     }
///     writer.interval(&Interval {
///         others: Default::default(),
///         source,
///         step: 0,
///         phase: Phase::Measure,
///         from: Ns::secs(second),
///         to: Ns::secs(second + 1),
///         read: Some(reads),
///         write: None,
///         testimony: None,
///     })?;
///     writer.commit()?;
/// }
/// writer.step_done(0)?;
/// writer.finish(Status::Complete)?;
///
/// let record = Record::open(&path)?;
/// assert_eq!(record.totals(0)?[0].read.as_ref().map(|t| t.ops), Some(2000));
/// # Ok(())
/// # }
/// ```
pub struct Writer {
    path: PathBuf,
    db: Connection,
    sources: BTreeSet<SourceId>,
    /// Kinds of counters already described in the file.
    counters: BTreeSet<CounterKind>,
    /// Steps with their figures so far; `None` once their totals are written.
    steps: BTreeMap<u32, Option<BTreeMap<SourceId, StepTotal>>>,
    encoder: Encoder,
    /// The size that a file of this process may have.
    limit: Option<u64>,
    /// The same once the record has come near it: nothing more is accepted.
    full: Option<u64>,
    /// The end of what was reported.
    last: Ns,
    /// Why a write failed, so that file and memory may differ.
    broken: Option<String>,
}

impl Writer {
    /// A new record at `path`, with status *running* until [`finish`](Writer::finish).
    /// # Errors
    /// If the file already exists, or cannot be created or written.
    pub fn create(path: &Path, head: &RunHead) -> Result<Writer, RecordError> {
        // SQLite would take a path that begins with `file:` as a URI; an absolute one does not.
        let absolute = std::path::absolute(path).map_err(|e| create_error(path, e))?;
        if let Some(limit) = size_limit().filter(|limit| *limit < LEAST) {
            return Err(RecordError::SizeLimit { path: path.to_path_buf(), limit });
        }
        // Created exclusively, so that only one of two runs that race for a name succeeds.
        OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&absolute)
            .map_err(|e| create_error(path, e))?;
        set_up(&absolute, head)
            .map(|db| Writer {
                path: path.to_path_buf(),
                db,
                sources: BTreeSet::new(),
                counters: BTreeSet::new(),
                steps: BTreeMap::new(),
                encoder: Encoder::new(),
                limit: size_limit(),
                full: None,
                last: Ns::ZERO,
                broken: None,
            })
            .map_err(|e| {
                // An incomplete file would block the next attempt.
                let _ = std::fs::remove_file(&absolute);
                RecordError::from_sql(path, e)
            })
    }

    /// Adds facts of provenance.
    /// # Errors
    /// If the write fails.
    pub fn facts(&mut self, facts: &[Fact]) -> Result<(), RecordError> {
        self.write(|db| facts.iter().try_for_each(|fact| insert::fact(db, fact)))
    }

    /// Announces a source.
    /// # Errors
    /// If its number or name is taken, or the write fails.
    pub fn source(&mut self, source: &Source) -> Result<(), RecordError> {
        self.write_once(
            || format!("source {} ({})", source.id.0, source.name),
            |db| insert::source(db, source),
        )?;
        self.sources.insert(source.id);
        Ok(())
    }

    /// Announces a step.
    /// # Errors
    /// If it was announced before, one of its workers, streams or hops was not, or the write fails.
    pub fn step(&mut self, step: &StepHead) -> Result<(), RecordError> {
        if self.steps.contains_key(&step.index) {
            return Err(RecordError::Twice { what: format!("step {}", step.index) });
        }
        for worker in &step.workers {
            self.known_source(worker.source)?;
        }
        for stream in &step.streams {
            self.known_source(stream.source)?;
            self.known_source(stream.hop)?;
        }
        self.write(|db| insert::step(db, step))?;
        self.steps.insert(step.index, Some(BTreeMap::new()));
        Ok(())
    }

    /// Corrects the times of a step whose measurement started sooner than announced, to match its intervals.
    /// # Errors
    /// If the step was not announced or is done, or the write fails.
    pub fn step_times(&mut self, index: u32, times: &StepTimes) -> Result<(), RecordError> {
        self.open_step(index)?;
        self.write(|db| insert::step_times(db, index, times))
    }

    /// Adds an interval: its histograms with two digits to the file, with all their digits to the step's totals.
    /// # Errors
    /// If its step or source is unknown, the step is done, the source has already reported this moment, or writing
    /// fails.
    pub fn interval(&mut self, interval: &Interval) -> Result<(), RecordError> {
        self.known_source(interval.source)?;
        self.open_step(interval.step)?;
        let row = insert::interval_row(interval, &mut self.encoder);
        let others = insert::interval_others(interval, &mut self.encoder);
        self.write_once(
            || {
                let at = interval.from.as_secs_f64();
                format!("the interval of source {} from {at} s", interval.source.0)
            },
            |db| insert::interval(db, row),
        )?;
        if !others.is_empty() {
            self.write(|db| {
                others.into_iter().try_for_each(|row| insert::interval_other(db, row))
            })?;
        }
        self.last = self.last.max(interval.to);
        self.open_step(interval.step)?
            .entry(interval.source)
            .or_insert_with(|| StepTotal::new(interval.source))
            .add(interval);
        Ok(())
    }

    /// Adds an event. Its step and source need not have been announced: an event may report their absence.
    /// # Errors
    /// If the write fails.
    pub fn event(&mut self, event: &Event) -> Result<(), RecordError> {
        self.write(|db| insert::event(db, event))
    }

    /// Adds a hop's counter.
    /// # Errors
    /// If its source or step was not announced, or the write fails.
    pub fn counter(&mut self, counter: &Counter) -> Result<(), RecordError> {
        self.known_source(counter.source)?;
        if let Some(step) = counter.step.filter(|step| !self.steps.contains_key(step)) {
            return Err(RecordError::UnknownStep { step });
        }
        if !self.counters.contains(&counter.kind) {
            self.write_once(
                || format!("the counter {}", counter.kind.name()),
                |db| insert::counter_kind(db, &counter.kind),
            )?;
            self.counters.insert(counter.kind.clone());
        }
        self.write(|db| insert::counter(db, counter))
    }

    /// Adds the confidence interval of a figure.
    /// # Errors
    /// If its step was not announced, the figure of that source already has one, or the write fails.
    pub fn confidence(&mut self, confidence: &Confidence) -> Result<(), RecordError> {
        if !self.steps.contains_key(&confidence.step) {
            return Err(RecordError::UnknownStep { step: confidence.step });
        }
        self.write_once(
            || format!("the interval of confidence of {}", confidence.figure),
            |db| insert::confidence(db, confidence),
        )
    }

    /// Adds the rounds that follow the measured time of a step.
    /// # Errors
    /// If the step was not announced or has rounds already, or the write fails.
    pub fn proof(&mut self, step: u32, proof: &Proof) -> Result<(), RecordError> {
        self.open_step(step)?;
        self.write_once(|| format!("the proof of step {step}"), |db| insert::proof(db, step, proof))
    }

    /// Writes the totals of a step that ran to its end; it accepts no further intervals.
    /// # Errors
    /// If the step was not announced or is already done, or the write fails.
    pub fn step_done(&mut self, index: u32) -> Result<(), RecordError> {
        self.open_step(index)?;
        self.write_totals(index, true)
    }

    /// Hands everything written so far to the kernel, where a killed process cannot lose it.
    /// # Errors
    /// If the file system is full or fails. Earlier commits are kept.
    pub fn commit(&mut self) -> Result<(), RecordError> {
        self.write(|_| Ok(()))?;
        self.db.execute_batch("COMMIT").map_err(|e| self.fail(e))?;
        self.full = self.limit.filter(|limit| self.room(*limit) < spare(*limit));
        Ok(())
    }

    /// Bytes by which the file may still grow once its log is folded into it.
    fn room(&self, limit: u64) -> u64 {
        let mut log = self.path.as_os_str().to_owned();
        log.push("-wal");
        let size = |path: &Path| std::fs::metadata(path).map_or(0, |meta| meta.len());
        limit.saturating_sub(size(&self.path)).saturating_sub(size(Path::new(&log)))
    }

    /// Ends the record: totals of open steps, the status, one plain file, one fsync.
    ///
    /// Steps that are still open count as run to their end only under [`Status::Complete`].
    /// # Errors
    /// If the file system is full or fails; [`RecordError::HeldOpen`] if another reader prevents folding its log.
    pub fn finish(mut self, status: Status) -> Result<(), RecordError> {
        if let Some(why) = self.broken.take() {
            // Without its last intervals the file cannot support a total; a reader merges what is there.
            self.steps.clear();
            // What is folded leaves its log to this event. Without room for it the status matters more.
            let _ = self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
            let (level, code) = (Level::Error, "record-failed".to_owned());
            let event = Event { at: self.last, step: None, source: None, level, code, text: why };
            if self.event(&event).and_then(|()| self.commit()).is_err() {
                self.broken = None;
            }
            (self.limit, self.full) = (None, None);
        }
        let open: Vec<u32> =
            self.steps.iter().filter(|(_, totals)| totals.is_some()).map(|(i, _)| *i).collect();
        for index in open {
            self.write_totals(index, status == Status::Complete)?;
        }
        self.write(|db| db.execute("UPDATE run SET status = ?", [status.word()]))?;
        self.commit()?;
        self.fold()
    }

    /// Folds the log into the file, removes it, and makes the file durable.
    fn fold(self) -> Result<(), RecordError> {
        let Writer { path, db, .. } = self;
        let folded = fold_log(&db).map_err(|e| RecordError::from_sql(&path, e))?;
        db.close().map_err(|(_, e)| RecordError::from_sql(&path, e))?;
        // Opened for writing: some systems refuse fsync otherwise.
        OpenOptions::new()
            .write(true)
            .open(&path)
            .and_then(|file| file.sync_all())
            .map_err(|source| RecordError::Read { path: path.clone(), source })?;
        if folded { Ok(()) } else { Err(RecordError::HeldOpen { path }) }
    }

    fn write_totals(&mut self, index: u32, complete: bool) -> Result<(), RecordError> {
        let Some(totals) = self.steps.insert(index, None).flatten() else {
            return Ok(());
        };
        let encoder = &mut self.encoder;
        let (mut rows, mut others) = (Vec::new(), Vec::new());
        for total in totals.values().filter(|t| t.measured.0 > 0) {
            rows.push(insert::total_row(index, total, encoder));
            others.extend(insert::total_others(index, total, encoder));
        }
        self.write(|db| {
            rows.into_iter().try_for_each(|row| insert::total(db, row))?;
            others.into_iter().try_for_each(|row| insert::total_other(db, row))?;
            db.execute("UPDATE step SET done = ? WHERE step = ?", params![complete, index])?;
            Ok(())
        })
    }

    fn known_source(&self, id: SourceId) -> Result<(), RecordError> {
        if self.sources.contains(&id) {
            return Ok(());
        }
        Err(RecordError::UnknownSource { source_id: id.0 })
    }

    fn open_step(&mut self, step: u32) -> Result<&mut BTreeMap<SourceId, StepTotal>, RecordError> {
        match self.steps.get_mut(&step) {
            None => Err(RecordError::UnknownStep { step }),
            Some(None) => Err(RecordError::StepDone { step }),
            Some(Some(totals)) => Ok(totals),
        }
    }

    /// Writes within the current transaction; any failure is final.
    fn write<T>(
        &mut self,
        f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, RecordError> {
        self.begin()?;
        f(&self.db).map_err(|e| self.fail(e))
    }

    /// Like `write`, for a single row that may already exist.
    fn write_once<T>(
        &mut self,
        what: impl FnOnce() -> String,
        f: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, RecordError> {
        self.begin()?;
        f(&self.db).map_err(|e| match e.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => RecordError::Twice { what: what() },
            _ => self.fail(e),
        })
    }

    fn begin(&mut self) -> Result<(), RecordError> {
        if let Some(limit) = self.full.take() {
            let error = RecordError::SizeLimit { path: self.path.clone(), limit };
            self.broken = Some(error.to_string());
            return Err(error);
        }
        if self.broken.is_some() {
            return Err(RecordError::Broken { path: self.path.clone() });
        }
        if self.db.is_autocommit() {
            self.db.execute_batch("BEGIN IMMEDIATE").map_err(|e| self.fail(e))?;
        }
        Ok(())
    }

    /// Rolls back the open transaction, part of which may be lost.
    fn fail(&mut self, e: rusqlite::Error) -> RecordError {
        self.broken = Some(format!("the record could not be written: {e}"));
        if !self.db.is_autocommit() {
            // SQLite may have rolled it back itself, or this may fail too; the first error is reported.
            let _ = self.db.execute_batch("ROLLBACK");
        }
        RecordError::from_sql(&self.path, e)
    }
}

/// The size that a file of this process may have; `None` without a limit.
fn size_limit() -> Option<u64> {
    let limits = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max file size"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// Room that is kept for the end of a record and for what one second may bring.
fn spare(limit: u64) -> u64 {
    (limit / 4).min(SPARE)
}

/// Leaves write-ahead mode, which fails while another program has the file open; returns whether it succeeded.
fn fold_log(db: &Connection) -> rusqlite::Result<bool> {
    for _ in 0..FOLD_ATTEMPTS {
        // SQLite does not wait for a lock here, despite its busy timeout.
        match db.query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(())) {
            Err(e) if e.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => {
                clock::sleep_until(clock::now().plus(FOLD_PAUSE));
            }
            done => return done.map(|()| true),
        }
    }
    Ok(false)
}

fn create_error(path: &Path, source: std::io::Error) -> RecordError {
    let path = path.to_path_buf();
    match source.kind() {
        ErrorKind::AlreadyExists => RecordError::Exists { path },
        _ => RecordError::Create { path, source },
    }
}

/// Makes an empty file a record of a run that has just begun.
fn set_up(path: &Path, head: &RunHead) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let db = Connection::open_with_flags(path, flags)?;
    db.busy_timeout(LOCK_PATIENCE)?;
    // Schema and head go into the file itself, before there is a log, and so cannot be lost.
    db.execute_batch(&format!(
        "PRAGMA page_size = {PAGE_BYTES};
         PRAGMA synchronous = OFF;
         BEGIN EXCLUSIVE;
         PRAGMA application_id = {APPLICATION_ID};
         PRAGMA user_version = {VERSION};
         {CREATE}"
    ))?;
    insert::head(&db, head)?;
    db.execute_batch("COMMIT")?;
    db.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()))?;
    Ok(db)
}
