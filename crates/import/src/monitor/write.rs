//! Tables of several files as one record: hops with typed counters, loads at the outermost places that count operations,
//! windows as steps, and facts of provenance.
//!
//! What is counted in a file is observed; what follows from it by arithmetic is derived, and what was taken for granted is
//! assumed: facts say which. A latency of fewer than ten operations a second is left out.

use super::book::{Book, TEST};
use super::covered::Covered;
use super::join::Joined;
use super::model::{Feed, Measure, Span};
use super::places::{Written, chosen, left_out, level, number, time_line};
use super::topology::Topology;
use super::window::{INCIDENTS, NamedWindow, Window, of_tests, windows};
use clock::Ns;
use record::{
    Fact, HopKind, Level, Producer, ProducerKind, RecordError, RunHead, ScenarioText, Status,
    Writer,
};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Times before this are those of files without dates.
const DATED: i64 = 315_360_000_000_000_000;

/// What is written.
pub struct Order<'a> {
    /// The files' tables.
    pub feeds: &'a [Feed],
    /// Windows that the user names.
    pub windows: &'a [NamedWindow],
    /// Facts besides those of the files: digests, options.
    pub facts: Vec<Fact>,
    /// Limits, names and identities that no file says.
    pub topology: &'a Topology,
    /// The program with its version.
    pub producer: String,
    /// The record's title.
    pub title: String,
}

/// What was written.
#[derive(Clone, Debug, PartialEq)]
pub struct Explained {
    /// The windows, in the order of the record's steps.
    pub windows: Vec<Window>,
    /// Loads.
    pub loads: usize,
    /// Hops.
    pub hops: usize,
}

/// Why no record was written.
#[derive(Debug)]
pub enum WriteError {
    /// Files with and without dates cannot be put on one time line.
    Undated(String),
    /// No place of any file counts operations or bytes; what was left out of the files.
    NoLoad(Vec<String>),
    /// Places count them, and nothing went through any of them.
    Idle,
    /// A window in which nothing was counted.
    EmptyWindow(String),
    /// The record could not be written.
    Record(RecordError),
}

impl fmt::Display for WriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WriteError::Undated(file) => write!(
                f,
                "{file} has no dates, other files have: they cannot be put on one time line; explain it alone"
            ),
            WriteError::NoLoad(left_out) => {
                f.write_str("no file counts operations or bytes of a disk, a port or a volume: there is no load to explain; `wirespeed explain --collect` names commands that count them")?;
                left_out.iter().try_for_each(|note| write!(f, "; {note}"))
            }
            WriteError::Idle => f.write_str(
                "nothing was read, written or sent in any interval of the files: an idle system has no load to explain",
            ),
            WriteError::EmptyWindow(name) => {
                write!(f, "nothing was counted in the window {name}: the times of the files are elsewhere, or in another zone (`--tz`)")
            }
            WriteError::Record(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for WriteError {}

impl From<RecordError> for WriteError {
    fn from(error: RecordError) -> WriteError {
        WriteError::Record(error)
    }
}

/// Writes the record of some files.
/// # Errors
/// Where files do not go together, nothing in them is a load, or the record cannot be written.
pub fn write(path: &Path, order: &Order<'_>) -> Result<Explained, WriteError> {
    let dated = |feed: &&Feed| feed.rows.first().is_some_and(|row| row.from >= DATED);
    if let Some(undated) =
        order.feeds.iter().find(|f| !dated(f)).filter(|_| order.feeds.iter().any(|f| dated(&f)))
    {
        return Err(WriteError::Undated(undated.name.clone()));
    }
    let joined = Joined::of(order.feeds, order.topology);
    let chosen = chosen(order.feeds, &joined);
    let level = level(&chosen.kept).ok_or_else(|| unloaded(order.feeds))?;
    let left_out = left_out(&chosen, level);
    let mut places = chosen.kept;
    number(&mut places, level);
    let (rows, loads) = time_line(&places);
    if rows.is_empty() {
        return Err(no_load(order.feeds));
    }
    let (tests, all_tests) = of_tests(order.feeds);
    let named = if order.windows.is_empty() { &tests } else { order.windows };
    let (mut windows, incidents) = windows(&rows, &loads, named);
    let of_tests = order.windows.is_empty() && !tests.is_empty();
    let setting = if of_tests { TEST } else { "window" };
    for window in &windows {
        let touched = rows.iter().any(|row| row.from < window.span.to && row.to > window.span.from);
        if !touched {
            return Err(WriteError::EmptyWindow(window.name.clone()));
        }
    }
    let asked = if order.windows.is_empty() { Vec::new() } else { as_counted(&mut windows, &rows) };
    let zero =
        windows.iter().map(|w| w.span.from).chain(rows.iter().map(|r| r.from)).min().unwrap_or(0);
    let head = RunHead {
        title: order.title.clone(),
        producer: Producer::new(ProducerKind::Imported, order.producer.clone()),
        scenario: ScenarioText { name: String::new(), text: String::new(), overrides: Vec::new() },
        epoch: Ns::ZERO,
        wall_ns: u64::try_from(zero).unwrap_or(0),
        seed: 0,
    };
    let (writer, known) = (Writer::create(path, &head)?, &order.topology.hops);
    let (covered, unknown) = (Covered::default(), Vec::new());
    let rests = BTreeMap::new();
    let mut book = Book { writer, zero, known, covered, setting, unknown, rests };
    book.provenance(order, &rows)?;
    book.joins(&joined, &places)?;
    let shown = (!tests.is_empty() && order.windows.is_empty()).then_some((all_tests, tests.len()));
    told(&mut book, asked, left_out, shown)?;
    if incidents > INCIDENTS {
        let text = format!(
            "latency was at least three times the usual at {incidents} times: the {INCIDENTS} that cost most are windows"
        );
        book.event(Level::Info, "incidents-left-out", &text)?;
    }
    if let Some(text) = nested(&places) {
        book.event(Level::Warning, "loads-perhaps-twice", &text)?;
    }
    book.sources(&places)?;
    for (index, window) in (0..).zip(&windows) {
        book.step(index, window, &places)?;
    }
    book.counted(order.feeds, &places)?;
    book.strangers(&places)?;
    book.filled()?;
    book.writer.finish(Status::Complete)?;
    let loads = places.iter().filter(|p| p.load.is_some()).count();
    Ok(Explained { windows, loads, hops: places.iter().filter(|p| p.hop.is_some()).count() })
}

/// Says what is not as the files or the user have it: windows, places and tests that are left out.
fn told(
    book: &mut Book<'_>,
    windows: Vec<String>,
    places: Option<(usize, f64)>,
    tests: Option<(usize, usize)>,
) -> Result<(), RecordError> {
    for text in windows {
        book.event(Level::Warning, "window-as-counted", &text)?;
    }
    if let Some((count, share)) = places {
        let text = format!(
            "{count} places with {:.2}% of all that was read and written are left out: a record holds the busiest",
            share * 100.0
        );
        book.event(Level::Warning, "places-left-out", &text)?;
    }
    if let Some((all, shown)) = tests.filter(|(all, shown)| all > shown) {
        let text = format!("{all} tests are in the files: the first {shown} are shown");
        book.event(Level::Warning, "tests-left-out", &text)?;
    }
    Ok(())
}

/// That what a hypervisor's LUNs carry may be in the file of a guest as well: nothing in the files tells whose guest it is.
fn nested(places: &[Written<'_>]) -> Option<String> {
    let of = |kind: HopKind| places.iter().find(|place| place.load.is_some() && place.kind == kind);
    let (host, guest) = (of(HopKind::LunQueue)?, of(HopKind::BlockDevice)?);
    (host.file != guest.file).then(|| {
        format!(
            "{} and {} both have loads, which are added up: what a guest of that host does would count twice; explain its file \
             without the host's, or the host's without its",
            host.feed.name, guest.feed.name
        )
    })
}

/// Cuts windows to the time of which anything is known, so that no rate is of more; says so, and where a window is less than
/// a sample, of which only the mean is known.
fn as_counted(windows: &mut [Window], rows: &[Span]) -> Vec<String> {
    let Some((first, last)) = rows.first().zip(rows.last()) else { return Vec::new() };
    let mut said = Vec::new();
    for window in windows.iter_mut().skip(1) {
        let (asked, name) = (window.span, &window.name);
        window.span = Span { from: asked.from.max(first.from), to: asked.to.min(last.to) };
        let here = window.span;
        if here != asked {
            said.push(format!(
                "of the window {name}, {} s, the files cover {} s: figures are of these",
                asked.seconds().round(),
                here.seconds().round()
            ));
        }
        let within = rows.iter().find(|row| row.from <= here.from && row.to >= here.to);
        if let Some(sample) = within.filter(|row| row.seconds() > 1.5 * here.seconds()) {
            said.push(format!(
                "the window {name} is {} s of a sample of {} s: its figures are the means of that sample",
                here.seconds().round(),
                sample.seconds().round()
            ));
        }
    }
    said
}

/// Why there is no load.
fn unloaded(feeds: &[Feed]) -> WriteError {
    let counts = |measure: Measure| matches!(measure, Measure::Ops(_) | Measure::Bytes(_));
    let idle = feeds.iter().flat_map(|feed| &feed.columns).any(|of| counts(of.measure));
    if idle { WriteError::Idle } else { no_load(feeds) }
}

/// Nothing is counted; what was left out of the files may be why.
fn no_load(feeds: &[Feed]) -> WriteError {
    let warnings = feeds.iter().flat_map(|feed| &feed.notes);
    let warnings = warnings.filter(|note| note.level == Level::Warning);
    WriteError::NoLoad(warnings.map(|note| note.text.clone()).collect())
}
