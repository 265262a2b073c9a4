//! Reads a record: a finished one, one that a killed run left behind, or one that is being written right now.
//!
//! The file is judged evidence and is never changed. Nothing in it is believed without a look: it may be cut off,
//! damaged, or made up. What is small is read once, in one transaction; intervals are read when they are asked for, each
//! time over a connection of its own, so that a reader that lingers never keeps a run from finishing its file.

use crate::columns::{Cells, RowError};
use crate::schema::{APPLICATION_ID, FIGURES, TABLES, VERSION};
use crate::total::StepTotal;
use crate::{
    Counter, Event, Fact, Histogram, Interval, Loop, RecordError, RunHead, ScenarioText, Source,
    SourceId, Status, StepHead, StepTimes, WorkerLoad,
};
use rusqlite::{Connection, ErrorCode, OpenFlags, Params};
use std::collections::BTreeMap;
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
}

impl Record {
    /// Opens a record and reads everything but its intervals, totals and counters, as it stands at this moment.
    ///
    /// # Errors
    /// Where the file cannot be read, is no record, is of a newer format version, is cut off or damaged; and where it
    /// was not finished and lies in a directory that cannot be written, so that SQLite cannot work on its log.
    pub fn open(path: &Path) -> Result<Record, RecordError> {
        let file = RecordFile::open(path)?;
        let record = file.query(|db| {
            // One transaction, so that a run that goes on meanwhile is seen at one moment.
            db.execute_batch("BEGIN")?;
            check_tables(db)?;
            let (head, status) = read_head(db)?;
            let facts = rows(db, "SELECT subject, key, value FROM fact ORDER BY seq", [], fact)?;
            let sources = rows(
                db,
                "SELECT source, kind, name, group_name, agent FROM source ORDER BY source",
                [],
                source,
            )?;
            let events = rows(
                db,
                "SELECT at_ns, step, source, level, code, text FROM event ORDER BY at_ns, seq",
                [],
                event,
            )?;
            Ok((head, status, facts, sources, read_steps(db)?, events))
        })?;
        let (head, status, facts, sources, steps, events) = record;
        Ok(Record { file, head, status, facts, sources, steps, events })
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

    /// The counters of a step, or those that belong to no step, in the order in which they were written.
    ///
    /// # Errors
    /// Where the file cannot be read or is damaged.
    pub fn counters(&self, step: Option<u32>) -> Result<Vec<Counter>, RecordError> {
        let sql = "SELECT source, step, from_ns, to_ns, name, value, unit FROM counter \
                   WHERE step IS ? ORDER BY seq";
        self.file.query(|db| rows(db, sql, [step], counter))
    }

    /// The intervals of a step, ordered by start and source, with histograms of two digits. Each histogram takes 17 kB:
    /// a long step of many sources is better taken through [`for_each_interval`](Record::for_each_interval).
    ///
    /// # Errors
    /// Where the step is unknown, or the file cannot be read or is damaged.
    pub fn intervals(&self, step: u32) -> Result<Vec<Interval>, RecordError> {
        let mut all = Vec::new();
        self.for_each_interval(step, &mut |interval| all.push(interval))?;
        Ok(all)
    }

    /// Hands the intervals of a step to `f` one by one, ordered by start and source.
    ///
    /// # Errors
    /// Where the step is unknown, or the file cannot be read or is damaged; `f` may have been called by then.
    pub fn for_each_interval(
        &self,
        step: u32,
        f: &mut dyn FnMut(Interval),
    ) -> Result<(), RecordError> {
        self.known_step(step)?;
        self.file.query(|db| each_interval(db, step, f))
    }

    /// What every source did in the measured time of a step, by source; a source without a measured interval is left
    /// out. Three digits where the run wrote its totals, two where they are merged here because it could not.
    ///
    /// # Errors
    /// Where the step is unknown, or the file cannot be read or is damaged.
    pub fn totals(&self, step: u32) -> Result<Vec<StepTotal>, RecordError> {
        self.known_step(step)?;
        self.file.query(|db| {
            let sql = format!(
                "SELECT t.source, t.measured_ns, s.done, {FIGURES} \
                 FROM total t JOIN step s ON s.step = t.step WHERE t.step = ? ORDER BY t.source"
            );
            let stored = rows(db, &sql, [step], total)?;
            if stored.is_empty() { merge_totals(db, step) } else { Ok(stored) }
        })
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
struct RecordFile {
    path: PathBuf,
    /// Whether it is in write-ahead mode: not finished, or not folded.
    logged: bool,
}

impl RecordFile {
    /// Looks at the file before SQLite does: what SQLite would find out later, or silently take as empty.
    fn open(path: &Path) -> Result<RecordFile, RecordError> {
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
        let logged = header[18] == 2 || header[19] == 2;
        let expected = stated_length(&header);
        if !logged && meta.len() < expected {
            let path = path.to_path_buf();
            return Err(RecordError::Truncated { path, found: meta.len(), expected });
        }
        Ok(RecordFile { path: path.to_path_buf(), logged })
    }

    /// Runs queries over a connection of their own.
    fn query<T>(
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
                // Nothing is outside the file, and nobody can be writing to it here.
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

/// All rows of a query, each read by `read`.
fn rows<T>(
    db: &Connection,
    sql: &str,
    params: impl Params,
    read: impl Fn(&mut Cells) -> Result<T, RowError>,
) -> Result<Vec<T>, RowError> {
    let mut all = Vec::new();
    each_row(db, sql, params, |cells| {
        all.push(read(cells)?);
        Ok(())
    })?;
    Ok(all)
}

fn each_row(
    db: &Connection,
    sql: &str,
    params: impl Params,
    mut f: impl FnMut(&mut Cells) -> Result<(), RowError>,
) -> Result<(), RowError> {
    let mut statement = db.prepare(sql)?;
    let mut rows = statement.query(params)?;
    while let Some(row) = rows.next()? {
        f(&mut Cells::new(row))?;
    }
    Ok(())
}

/// Our names must be plain tables: a view in their place could compute forever.
fn check_tables(db: &Connection) -> Result<(), RowError> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%'";
    let present = rows(db, sql, [], |cells| cells.text())?;
    match TABLES.iter().find(|table| !present.iter().any(|name| name == *table)) {
        Some(table) => Err(RowError::Bad(format!("the table {table} is missing"))),
        None => Ok(()),
    }
}

fn read_head(db: &Connection) -> Result<(RunHead, Status), RowError> {
    let sql = "SELECT key, value FROM scenario_override ORDER BY seq";
    let overrides = rows(db, sql, [], pair)?;
    let sql = "SELECT title, producer, scenario_name, scenario_text, epoch_ns, wall_ns, seed, status \
               FROM run WHERE id = 1";
    let head = rows(db, sql, [], |cells| {
        let (title, producer) = (cells.text()?, cells.text()?);
        let (name, text) = (cells.text()?, cells.text()?);
        let (epoch, wall_ns) = (cells.ns()?, cells.u64()?);
        let seed = cells.str()?;
        let seed =
            seed.parse().map_err(|_| RowError::Bad(format!("the seed {seed:?} is no number")))?;
        let scenario = ScenarioText { name, text, overrides: overrides.clone() };
        Ok((RunHead { title, producer, scenario, epoch, wall_ns, seed }, cells.word()?))
    })?;
    head.into_iter().next().ok_or_else(|| RowError::Bad("the table run is empty".into()))
}

fn read_steps(db: &Connection) -> Result<Vec<StepHead>, RowError> {
    let mut settings: BTreeMap<u32, Vec<(String, String)>> = BTreeMap::new();
    each_row(db, "SELECT step, key, value FROM step_setting ORDER BY step, seq", [], |cells| {
        settings.entry(cells.u32()?).or_default().push(pair(cells)?);
        Ok(())
    })?;
    let mut workers: BTreeMap<u32, Vec<WorkerLoad>> = BTreeMap::new();
    let sql = "SELECT step, source, workload, arrivals, depth, think, rate_per_s, ops_per_transaction \
               FROM worker_load ORDER BY step, seq";
    each_row(db, sql, [], |cells| {
        workers.entry(cells.u32()?).or_default().push(worker_load(cells)?);
        Ok(())
    })?;
    let sql = "SELECT step, plan, repetition, start_ns, measure_ns, cooldown_ns, end_ns \
               FROM step ORDER BY step";
    let mut steps = Vec::new();
    each_row(db, sql, [], |cells| {
        let index = cells.u32()?;
        steps.push(StepHead {
            index,
            plan: cells.text()?,
            repetition: cells.u32()?,
            times: StepTimes {
                start: cells.ns()?,
                measure: cells.ns()?,
                cooldown: cells.ns()?,
                end: cells.ns()?,
            },
            settings: settings.remove(&index).unwrap_or_default(),
            workers: workers.remove(&index).unwrap_or_default(),
        });
        Ok(())
    })?;
    Ok(steps)
}

fn each_interval(db: &Connection, step: u32, f: &mut dyn FnMut(Interval)) -> Result<(), RowError> {
    let sql = format!(
        "SELECT source, phase, from_ns, to_ns, {FIGURES} FROM interval \
         WHERE step = ? ORDER BY from_ns, source"
    );
    each_row(db, &sql, [step], |cells| {
        f(interval(step, cells)?);
        Ok(())
    })
}

/// The totals of a step that ended without writing any.
fn merge_totals(db: &Connection, step: u32) -> Result<Vec<StepTotal>, RowError> {
    let mut totals: BTreeMap<SourceId, StepTotal> = BTreeMap::new();
    each_interval(db, step, &mut |interval| {
        totals
            .entry(interval.source)
            .or_insert_with(|| StepTotal::new(interval.source))
            .add(&interval);
    })?;
    Ok(totals.into_values().filter(|t| t.measured.0 > 0).collect())
}

fn interval(step: u32, cells: &mut Cells) -> Result<Interval, RowError> {
    let source = SourceId(cells.u32()?);
    let phase = cells.word()?;
    let (from, to) = (cells.ns()?, cells.ns()?);
    let (read, write, testimony) = cells.figures(Histogram::coarse)?;
    Ok(Interval { source, step, phase, from, to, read, write, testimony })
}

fn total(cells: &mut Cells) -> Result<StepTotal, RowError> {
    let source = SourceId(cells.u32()?);
    let measured = cells.ns()?;
    let complete = cells.flag()?;
    let (read, write, testimony) = cells.figures(Histogram::new)?;
    Ok(StepTotal { source, read, write, testimony, measured, complete })
}

fn pair(cells: &mut Cells) -> Result<(String, String), RowError> {
    Ok((cells.text()?, cells.text()?))
}

fn fact(cells: &mut Cells) -> Result<Fact, RowError> {
    Ok(Fact { subject: cells.text()?, key: cells.text()?, value: cells.text()? })
}

fn source(cells: &mut Cells) -> Result<Source, RowError> {
    Ok(Source {
        id: SourceId(cells.u32()?),
        kind: cells.word()?,
        name: cells.text()?,
        group: cells.text()?,
        agent: cells.text()?,
    })
}

fn worker_load(cells: &mut Cells) -> Result<WorkerLoad, RowError> {
    let source = SourceId(cells.u32()?);
    let workload = cells.text()?;
    let arrivals = cells.str()?;
    let (depth, think, rate) = (cells.opt_u32()?, cells.opt_u64()?, cells.real()?);
    let arrivals = match (arrivals, depth) {
        ("closed", Some(depth)) => Loop::Closed { depth, think: think == Some(1) },
        ("open", _) => Loop::Open { rate },
        _ => return Err(RowError::Bad(format!("arrivals {arrivals:?} are of no known loop"))),
    };
    Ok(WorkerLoad { source, workload, arrivals, ops_per_transaction: cells.u32()? })
}

fn event(cells: &mut Cells) -> Result<Event, RowError> {
    Ok(Event {
        at: cells.ns()?,
        step: cells.opt_u32()?,
        source: cells.opt_u32()?.map(SourceId),
        level: cells.word()?,
        code: cells.text()?,
        text: cells.text()?,
    })
}

fn counter(cells: &mut Cells) -> Result<Counter, RowError> {
    Ok(Counter {
        source: SourceId(cells.u32()?),
        step: cells.opt_u32()?,
        from: cells.ns()?,
        to: cells.ns()?,
        name: cells.text()?,
        value: cells.real()?,
        unit: cells.text()?,
    })
}
