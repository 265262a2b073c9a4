//! Tables of several files as one record: hops with typed counters, loads at the outermost places that count operations,
//! windows as steps, and facts of provenance.
//!
//! What is counted in a file is observed; what follows from it by arithmetic is derived, and what was taken for granted is
//! assumed: facts say which. A latency of fewer than ten operations a second is left out.

use super::covered::Covered;
use super::derive::{DERIVED, hop, storage};
use super::join::{self, Joined};
use super::model::{Feed, Flow, Leg, Measure, Place, Span};
use super::row::{Row, Usual, of_leg};
use super::topology::{KnownHop, Topology};
use super::window::{FEW, Load, NamedWindow, Window, of_tests, windows};
use clock::Ns;
use record::{
    Completed, Counter, CounterId, Event, Fact, Histogram, HopKind, Interval, Level, Loop,
    OtherTallies, Phase, Producer, ProducerKind, RecordError, RunHead, ScenarioText, Source,
    SourceId, SourceKind, Status, StepHead, StepTimes, WorkerLoad, Writer,
};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

/// Hops and loads that a record holds at most: the busiest.
const PLACES_MAX: usize = 512;
/// Counters that a record holds at most for all of its places and steps.
const COUNTERS_MAX: usize = 1_200_000;
/// Times before this are those of files without dates.
const DATED: i64 = 315_360_000_000_000_000;
/// From this share of its intervals on that are not known, a load is warned of.
const MUCH_UNKNOWN: f64 = 0.1;
/// The plan of a record that has none, and the workload that observed loads run.
const PLAN: &str = "plan";
const OBSERVED: &str = "observed";
/// What steps differ in that are tests of a generator.
const TEST: &str = "test";

/// Kinds at which a load is looked at, the outermost first; kinds of one row are of one level.
pub(super) const LEVELS: &[&[HopKind]] = &[
    &[HopKind::VirtualDisk],
    &[HopKind::LunQueue, HopKind::BlockDevice],
    &[HopKind::Volume, HopKind::Disks],
    &[HopKind::InitiatorPort, HopKind::Adapter],
    &[HopKind::TargetPort],
    &[HopKind::Controller],
    &[HopKind::SwitchPort, HopKind::Trunk],
    &[HopKind::NetworkPair],
];

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
    /// No place of any file counts operations or bytes.
    NoLoad,
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
            WriteError::NoLoad => f.write_str(
                "no file counts operations or bytes of a disk, a port or a volume: there is no load to explain; `wirespeed explain --collect` names commands that count them",
            ),
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

/// A place of a feed that is written.
pub(super) struct Written<'a> {
    pub feed: &'a Feed,
    pub place: usize,
    pub of: &'a Place,
    name: String,
    /// The number of the place that it is, of whichever file.
    group: usize,
    /// Whose it is, and of which kind, as the first file of it says.
    device: String,
    kind: HopKind,
    /// The number of its file.
    file: usize,
    hop: Option<SourceId>,
    /// What lies behind the adapter of a device, where it is told apart.
    pub storage: Option<SourceId>,
    load: Option<SourceId>,
    /// Throughput at which it was seen saturated, in operations a second.
    pub saturated: Option<f64>,
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
    let mut places = chosen(order.feeds, &joined);
    let level = level(&places).ok_or_else(|| unloaded(order.feeds))?;
    number(&mut places, level);
    let (rows, loads) = time_line(&places);
    if rows.is_empty() {
        return Err(WriteError::NoLoad);
    }
    let tests = of_tests(order.feeds);
    let named = if order.windows.is_empty() { &tests } else { order.windows };
    let windows = windows(&rows, &loads, named);
    let of_tests = order.windows.is_empty() && !tests.is_empty();
    let setting = if of_tests { TEST } else { "window" };
    for window in &windows {
        let touched = rows.iter().any(|row| row.from < window.span.to && row.to > window.span.from);
        if !touched {
            return Err(WriteError::EmptyWindow(window.name.clone()));
        }
    }
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
    let mut book = Book { writer, zero, known, covered, setting, unknown };
    book.provenance(order, &rows)?;
    book.joins(&joined, &places)?;
    book.sources(&places)?;
    for (index, window) in (0..).zip(&windows) {
        book.step(index, window, &places)?;
    }
    book.counted(order.feeds, &places)?;
    book.filled()?;
    book.writer.finish(Status::Complete)?;
    let loads = places.iter().filter(|p| p.load.is_some()).count();
    Ok(Explained { windows, loads, hops: places.iter().filter(|p| p.hop.is_some()).count() })
}

/// Why there is no load.
fn unloaded(feeds: &[Feed]) -> WriteError {
    let counts = |measure: Measure| matches!(measure, Measure::Ops(_) | Measure::Bytes(_));
    let idle = feeds.iter().flat_map(|feed| &feed.columns).any(|of| counts(of.measure));
    if idle { WriteError::Idle } else { WriteError::NoLoad }
}

/// The places that are written: all, or the busiest of each kind where there are too many.
fn chosen<'a>(feeds: &'a [Feed], joined: &Joined) -> Vec<Written<'a>> {
    let hosts: BTreeSet<String> =
        feeds.iter().flat_map(|f| f.places.iter().map(|p| joined.device(&p.device))).collect();
    let several = hosts.iter().filter(|host| !host.is_empty()).count() > 1;
    let rows: usize = feeds.iter().map(|f| f.rows.len()).max().unwrap_or(1);
    // About eight counters a place, in about two windows as long as the file.
    let most = (COUNTERS_MAX / (rows * 16).max(1)).clamp(24, PLACES_MAX);
    let mut all: Vec<(f64, Written<'_>)> = Vec::new();
    // A place of several files has the name that the first of them gives it; no other place of its kind has that.
    let mut names: BTreeMap<usize, (String, String, HopKind)> = BTreeMap::new();
    let mut taken: BTreeSet<(HopKind, String)> = BTreeSet::new();
    for (file, feed) in feeds.iter().enumerate() {
        for (place, of) in feed.places.iter().enumerate() {
            let group = joined.place(file, place);
            let named = names.entry(group).or_insert_with(|| {
                let own = match several && !of.device.is_empty() {
                    true => format!("{}/{}", of.device, of.name),
                    false => of.name.clone(),
                };
                let name = match taken.insert((of.kind, own.clone())) {
                    true => own,
                    false => format!("{own} of {}", feed.name),
                };
                taken.insert((of.kind, name.clone()));
                (name, of.device.clone(), of.kind)
            });
            let written = Written {
                feed,
                place,
                of,
                name: named.0.clone(),
                group,
                device: named.1.clone(),
                kind: named.2,
                file,
                hop: None,
                storage: None,
                load: None,
                saturated: None,
            };
            let weight = weight(&written);
            // A disk that does nothing explains nothing; a processor or a port does even then.
            let idle_disk =
                matches!(of.kind, HopKind::BlockDevice | HopKind::LunQueue | HopKind::VirtualDisk);
            if weight > 0.0 || !idle_disk {
                all.push((weight, written));
            }
        }
    }
    all.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
    let mut of_kind: BTreeMap<HopKind, usize> = BTreeMap::new();
    let mut kept: Vec<Written<'_>> = Vec::new();
    for (_, written) in all {
        let count = of_kind.entry(written.of.kind).or_default();
        *count += 1;
        if *count <= most / 2 && kept.len() < most {
            kept.push(written);
        }
    }
    kept.sort_by(|a, b| {
        let of = |p: &Written<'_>| (order_of(p.kind), p.group, p.file);
        order_of(a.kind)
            .cmp(&order_of(b.kind))
            .then_with(|| a.name.cmp(&b.name))
            .then(of(a).cmp(&of(b)))
    });
    kept
}

/// Kinds in the order of a path, from the guest to the device.
fn order_of(kind: HopKind) -> usize {
    HopKind::ALL.iter().position(|k| *k == kind).unwrap_or(usize::MAX)
}

/// How much goes through a place: bytes, and operations where no bytes are counted.
fn weight(of: &Written<'_>) -> f64 {
    let all = 0..of.feed.rows.len();
    let mean = |measure| of.feed.mean(of.place, measure, all.clone()).unwrap_or(0.0);
    let bytes: f64 =
        [Flow::Read, Flow::Write, Flow::Any].map(|f| mean(Measure::Bytes(f))).iter().sum();
    let ops: f64 = [Flow::Read, Flow::Write, Flow::Any].map(|f| mean(Measure::Ops(f))).iter().sum();
    bytes + ops * 512.0
}

/// The outermost level at which operations or bytes are counted.
fn level(places: &[Written<'_>]) -> Option<&'static [HopKind]> {
    let loaded =
        |kinds: &&&[HopKind]| places.iter().any(|p| kinds.contains(&p.of.kind) && weight(p) > 0.0);
    LEVELS.iter().find(loaded).copied()
}

/// Gives places their sources.
fn number(places: &mut [Written<'_>], level: &[HopKind]) {
    let at_level = |p: &Written<'_>| level.contains(&p.of.kind) && weight(p) > 0.0;
    // What is stacked on other devices is a load only where these are not counted.
    let beside: BTreeSet<String> = places
        .iter()
        .filter(|p| at_level(p) && !p.of.within)
        .map(|p| p.of.device.clone())
        .collect();
    let mut known: BTreeMap<usize, [Option<SourceId>; 3]> = BTreeMap::new();
    let mut next = 0;
    let mut id = || {
        next += 1;
        SourceId(next - 1)
    };
    for place in places {
        let is_load = at_level(place) && !(place.of.within && beside.contains(&place.of.device));
        // A virtual disk that is the load is no place behind it.
        let is_hop = place.of.kind != HopKind::VirtualDisk || !is_load;
        let legs = place.feed.find(place.place, Measure::Time(Leg::Device, Flow::Any)).is_some()
            || place.feed.find(place.place, Measure::Time(Leg::Device, Flow::Read)).is_some();
        let behind = place.of.kind == HopKind::LunQueue && legs;
        let [hop, load, storage] = known.entry(place.group).or_default();
        for (source, wanted) in
            [(&mut *hop, is_hop), (&mut *load, is_load), (&mut *storage, behind)]
        {
            if wanted && source.is_none() {
                *source = Some(id());
            }
        }
        (place.hop, place.load) = (hop.filter(|_| is_hop), load.filter(|_| is_load));
        place.storage = storage.filter(|_| behind);
        place.saturated = saturated(place);
    }
}

/// Loads of all places on the intervals of the file with the most of them.
fn time_line(places: &[Written<'_>]) -> (Vec<Span>, Vec<Load>) {
    let loads: Vec<&Written<'_>> = places.iter().filter(|p| p.load.is_some()).collect();
    let Some(first) = loads.iter().max_by_key(|p| p.feed.rows.len()) else {
        return (Vec::new(), Vec::new());
    };
    let mut rows = first.feed.rows.clone();
    // A file of other times altogether is on the time line too.
    for place in &loads {
        let own = &place.feed.rows;
        let Some((begins, ends)) = own.first().zip(own.last()) else { continue };
        let next = rows.partition_point(|of| of.to <= begins.from);
        if rows.get(next).is_none_or(|of| of.from >= ends.to) {
            rows.splice(next..next, own.iter().copied());
        }
    }
    let mut out = vec![(Load::default(), 0.0); rows.len()];
    let mut known = vec![false; rows.len()];
    for place in loads {
        let usual = Usual::of(place, Span { from: i64::MIN, to: i64::MAX });
        let mut at = 0;
        for (row, span) in place.feed.rows.iter().enumerate() {
            while at < rows.len() && rows[at].to <= span.from {
                at += 1;
            }
            let counted = Row::of(place, row);
            let (figures, _) = usual.fill(row, &counted);
            let ops = Row::all(figures.ops).unwrap_or(0.0);
            let amount = Row::all(figures.bytes).unwrap_or(ops * 512.0);
            let in_flight = figures.little(figures.time).unwrap_or(0.0);
            let grid = rows[at..].iter().zip(&mut out[at..]).zip(&mut known[at..]);
            for ((grid, (load, sum)), known) in grid.take_while(|((g, _), _)| g.from < span.to) {
                *known |= counted.counts();
                let share = (span.to.min(grid.to) - span.from.max(grid.from)).max(0) as f64
                    / (grid.to - grid.from) as f64;
                load.amount += amount * share;
                load.ops += ops * share;
                *sum += in_flight * share;
            }
        }
    }
    let mean = |(load, sum): (Load, f64)| Load {
        latency: (load.ops > 0.0 && sum > 0.0).then(|| sum / load.ops * 1e9),
        ..load
    };
    // Where no load is known there is a gap.
    let all = rows.into_iter().zip(out.into_iter().map(mean)).zip(known);
    all.filter(|(_, known)| *known).map(|(row, _)| row).unzip()
}

/// Whether throughput stood still while the queue grew: at two load levels of one mix the same operations a second. Then what
/// is behind the place is saturated at that rate.
fn saturated(place: &Written<'_>) -> Option<f64> {
    if !matches!(place.of.kind, HopKind::BlockDevice | HopKind::LunQueue | HopKind::Volume) {
        return None;
    }
    let mut seen: Vec<(f64, f64, f64, f64)> = Vec::new();
    for row in 0..place.feed.rows.len() {
        let of = Row::of(place, row);
        let time = if place.storage.is_some() {
            [Flow::Read, Flow::Write].map(|f| of_leg(place, row, Leg::Device, f))
        } else {
            of.time
        };
        let (Some(ops), Some(queue)) =
            (Row::all(of.ops).filter(|ops| *ops >= FEW), of.little(time))
        else {
            continue;
        };
        let size = Row::all(of.bytes)? / ops;
        seen.push((queue, ops, size, of.ops[0].unwrap_or(0.0) / ops));
    }
    if seen.len() < 6 {
        return None;
    }
    seen.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The longest stretch of growing queues at whose ends throughput and mix are the same.
    let third = seen.len() / 3;
    let high = &seen[seen.len() - third..];
    let median = |rows: &[(f64, f64, f64, f64)], of: fn(&(f64, f64, f64, f64)) -> f64| {
        let mut values: Vec<f64> = rows.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    };
    let near = |a: f64, b: f64, by: f64| (a - b).abs() <= by * a.max(b);
    for low in
        seen[..seen.len() - third].chunks(third.max(1)).rev().chain(std::iter::once(&seen[..third]))
    {
        let (a, b) = (low, high);
        let grew = median(b, |r| r.0) >= 1.5 * median(a, |r| r.0) && median(a, |r| r.0) >= 2.0;
        let still = near(median(a, |r| r.1), median(b, |r| r.1), 0.03);
        let same = near(median(a, |r| r.2), median(b, |r| r.2), 0.1)
            && (median(a, |r| r.3) - median(b, |r| r.3)).abs() <= 0.05;
        if grew && still && same {
            return Some(median(b, |r| r.1));
        }
    }
    None
}

/// The record that is being written.
struct Book<'a> {
    writer: Writer,
    zero: i64,
    known: &'a [KnownHop],
    covered: Covered,
    /// What steps differ in: windows of one load, or tests, each of a load of its own.
    setting: &'static str,
    /// Loads of which some intervals are not known: whose, how many, and of how many.
    unknown: Vec<(String, usize, usize)>,
}

impl Book<'_> {
    fn at(&self, moment: i64) -> Ns {
        Ns(u64::try_from(moment - self.zero).unwrap_or(0))
    }

    fn provenance(&mut self, order: &Order<'_>, rows: &[Span]) -> Result<(), RecordError> {
        let mut facts = order.facts.clone();
        let fact = |subject: &str, key: &str, value: String| Fact {
            subject: subject.to_owned(),
            key: key.to_owned(),
            value,
        };
        for feed in order.feeds {
            facts.push(fact(&feed.name, "format", feed.format.to_string()));
            facts.push(fact(&feed.name, "intervals", feed.rows.len().to_string()));
            let mut lengths: Vec<i64> = feed.rows.iter().map(|r| r.to - r.from).collect();
            lengths.sort_unstable();
            let usual = lengths.get(lengths.len() / 2).copied().unwrap_or(0);
            facts.push(fact(&feed.name, "interval", format!("{} s", usual as f64 / 1e9)));
            facts.push(fact(&feed.name, "places", feed.places.len().to_string()));
            facts.extend(
                feed.assumed
                    .iter()
                    .map(|(what, why)| fact(&feed.name, &format!("assumed/{what}"), why.clone())),
            );
        }
        for feed in order.feeds.iter().filter(|feed| feed.is_divided()) {
            let why =
                "operations of both directions together are divided as their bytes are".to_owned();
            facts.push(fact(&feed.name, "assumed/directions", why));
        }
        for feed in order.feeds.iter().filter(|feed| feed.is_summed()) {
            let why =
                "bytes of both directions together are divided as their operations are, or by half"
                    .to_owned();
            facts.push(fact(&feed.name, "assumed/directions-of-bytes", why));
        }
        for (key, how) in DERIVED {
            facts.push(fact("run", &format!("derived/{key}"), (*how).to_owned()));
        }
        self.writer.facts(&facts)?;
        let whole = rows.len();
        for feed in order.feeds {
            for note in &feed.notes {
                self.event(note.level, note.code, &note.text)?;
            }
        }
        let (first, end) = super::window::longest(rows);
        if end - first < whole {
            let text = format!(
                "the time line has gaps: the window `whole` is its longest part without one, {} of {whole} intervals",
                end - first
            );
            self.event(Level::Warning, "longest-part", &text)?;
        }
        Ok(())
    }

    fn event(&mut self, level: Level, code: &str, text: &str) -> Result<(), RecordError> {
        let (code, text) = (code.to_owned(), text.to_owned());
        self.writer.event(&Event { at: Ns::ZERO, step: None, source: None, level, code, text })
    }

    /// Which places are of several files, by what, and what contradicts itself.
    fn joins(&mut self, joined: &Joined, places: &[Written<'_>]) -> Result<(), RecordError> {
        let mut facts: BTreeMap<usize, Fact> = BTreeMap::new();
        for place in places {
            if let Some(by) = joined.why.get(&place.group) {
                let files: Vec<&str> = places
                    .iter()
                    .filter(|other| other.group == place.group)
                    .map(|other| other.feed.name.as_str())
                    .collect();
                let value = format!("{}, by {by}", files.join(" and "));
                let (subject, key) = (place.name.clone(), "joined".to_owned());
                facts.insert(place.group, Fact { subject, key, value });
            }
        }
        self.writer.facts(&facts.into_values().collect::<Vec<Fact>>())?;
        for said in &joined.said {
            self.event(said.level, said.code, &said.text)?;
        }
        Ok(())
    }

    fn sources(&mut self, places: &[Written<'_>]) -> Result<(), RecordError> {
        let mut told = BTreeSet::new();
        let mut facts = Vec::new();
        for place in places {
            let device =
                if place.device.is_empty() { place.name.clone() } else { place.device.clone() };
            let of = |id: SourceId, kind: SourceKind, name: String, group: String| Source {
                id,
                kind,
                name,
                group,
                agent: place.feed.name.clone(),
            };
            let hop = place
                .hop
                .map(|id| of(id, SourceKind::Hop(place.kind), place.name.clone(), device.clone()));
            let storage = place.storage.map(|id| {
                of(
                    id,
                    SourceKind::Hop(HopKind::BehindHost),
                    format!("{} behind the host", place.name),
                    device.clone(),
                )
            });
            let group =
                if place.of.guest.is_empty() { place.name.clone() } else { place.of.guest.clone() };
            let load = place
                .load
                .map(|id| of(id, SourceKind::Worker, format!("load of {}", place.name), group));
            for source in [hop, storage, load].into_iter().flatten() {
                if told.insert(source.id) {
                    self.writer.source(&source)?;
                }
            }
            let fact = |key: &str, value: String| Fact {
                subject: place.name.clone(),
                key: key.to_owned(),
                value,
            };
            facts.extend(place.of.ids.iter().map(|id| fact("identity", id.clone())));
            if let Some(rate) = place.saturated {
                let why = format!(
                    "{rate:.0} I/Os a second: at two load levels of one mix throughput was the same while more waited"
                );
                facts.push(fact("derived/ops-rate", why));
            }
        }
        self.writer.facts(&facts)
    }

    fn step(
        &mut self,
        index: u32,
        window: &Window,
        places: &[Written<'_>],
    ) -> Result<(), RecordError> {
        let (start, end) = (self.at(window.span.from), self.at(window.span.to));
        let mut loads: BTreeMap<SourceId, WorkerLoad> = BTreeMap::new();
        // The load of one test is none of another.
        let is_here = |of: &&Written<'_>| self.setting != TEST || Row::is_counted(of, window.span);
        for place in places.iter().filter(is_here) {
            if let Some(source) = place.load {
                let workload = format!("{OBSERVED} {}", place.name);
                loads.insert(
                    source,
                    WorkerLoad {
                        source,
                        workload,
                        arrivals: Loop::Observed,
                        ops_per_transaction: 1,
                    },
                );
            }
        }
        self.writer.step(&StepHead {
            index,
            plan: PLAN.to_owned(),
            settings: vec![(self.setting.to_owned(), window.name.clone())],
            repetition: 0,
            times: StepTimes { start, measure: start, cooldown: end, end },
            workers: loads.into_values().collect(),
            streams: Vec::new(),
        })?;
        self.covered.again();
        for place in places {
            self.place(index, window.span, place)?;
        }
        // What no file counted is filled last.
        for place in places.iter().filter(|place| place.load.is_some()) {
            self.fill(index, window.span, place)?;
        }
        self.limits(index, (start, end), places)?;
        self.writer.commit()?;
        self.writer.step_done(index)
    }

    /// What a place counted in a window.
    fn place(&mut self, index: u32, window: Span, place: &Written<'_>) -> Result<(), RecordError> {
        let usual = Usual::of(place, window);
        let mut unknown = 0;
        for (row, span) in Row::within(place, window) {
            let figures = Row::of(place, row);
            if let Some(source) = place.load.filter(|_| figures.counts()) {
                let (load, filled) = usual.fill(row, &figures);
                let cut = (*span, span.within(window));
                unknown += usize::from(filled);
                self.load(index, source, cut, (&load, &usual), place.file)?;
            }
            self.counters(index, (place, row, *span), (&figures, usual.is_known()))?;
        }
        self.told((index, window), place, unknown);
        Ok(())
    }

    /// The intervals in which no file counted a load.
    fn fill(&mut self, index: u32, window: Span, place: &Written<'_>) -> Result<(), RecordError> {
        let usual = Usual::of(place, window);
        let mut unknown = 0;
        for (row, span) in Row::within(place, window) {
            let figures = Row::of(place, row);
            let (load, _) = usual.fill(row, &figures);
            if let Some(source) = place.load.filter(|_| !figures.counts() && load.counts()) {
                let cut = (*span, span.within(window));
                let written = self.load(index, source, cut, (&load, &usual), place.file)?;
                unknown += usize::from(written);
            }
        }
        self.told((index, window), place, unknown);
        Ok(())
    }

    /// Writes an interval of a load, unless a file before did; whether it was written.
    fn load(
        &mut self,
        step: u32,
        source: SourceId,
        (span, cut): (Span, Span),
        (of, usual): (&Row, &Usual),
        file: usize,
    ) -> Result<bool, RecordError> {
        let free = self.covered.free((source, None), span, file);
        if free {
            self.writer.interval(&self.interval(step, source, cut, of, usual.is_known()))?;
        }
        Ok(free)
    }

    /// Keeps in mind that intervals of a load are not known, of the whole.
    fn told(&mut self, (step, window): (u32, Span), place: &Written<'_>, unknown: usize) {
        if step == 0 && unknown > 0 {
            let of = Row::within(place, window).count();
            match self.unknown.iter_mut().find(|(name, ..)| *name == place.name) {
                Some((_, so_far, most)) => (*so_far, *most) = (*so_far + unknown, of.max(*most)),
                None => self.unknown.push((place.name.clone(), unknown, of)),
            }
        }
    }

    /// What the user knows of hops.
    fn limits(
        &mut self,
        index: u32,
        (start, end): (Ns, Ns),
        places: &[Written<'_>],
    ) -> Result<(), RecordError> {
        let mut told = BTreeSet::new();
        for place in places {
            let Some(source) = place.hop else { continue };
            let is_it = |known: &&KnownHop| {
                let named = |name: &String| *name == place.name || join::is(place.of, name);
                known.name.as_ref().is_some_and(named)
                    || known.id.as_ref().is_some_and(|id| place.of.ids.contains(id))
            };
            for (id, value) in self.known.iter().filter(is_it).flat_map(|known| &known.limits) {
                if !told.insert((source, *id)) {
                    continue;
                }
                self.writer.counter(&counter(source, index, (start, end), *id, *value))?;
            }
        }
        Ok(())
    }

    /// Which counters of a place that several files count are of which file.
    fn counted(&mut self, feeds: &[Feed], places: &[Written<'_>]) -> Result<(), RecordError> {
        let files: Vec<&str> = feeds.iter().map(|feed| feed.name.as_str()).collect();
        let names = places.iter().filter_map(|p| Some((p.hop?, p.name.clone()))).collect();
        self.writer.facts(&self.covered.facts(&files, &names))
    }

    /// That intervals which are not known were taken as the mean of the others.
    fn filled(&mut self) -> Result<(), RecordError> {
        let share = |(_, unknown, of): &(String, usize, usize)| *unknown as f64 / *of as f64;
        let worst = self.unknown.iter().max_by(|a, b| share(a).total_cmp(&share(b)));
        let Some(worst) = worst else { return Ok(()) };
        let level = if share(worst) > MUCH_UNKNOWN { Level::Warning } else { Level::Info };
        let (name, unknown, of) = worst;
        let more = match self.unknown.len() - 1 {
            0 => String::new(),
            others => format!("; so are fewer of {others} more"),
        };
        let text = format!(
            "{unknown} of {of} intervals of the load of {name} are not known, and are taken as the mean of the others{more}"
        );
        let value = "the mean of the others, where a load is not known".to_owned();
        let (subject, key) = ("run".to_owned(), "assumed/intervals".to_owned());
        self.writer.facts(&[Fact { subject, key, value }])?;
        self.event(level, "intervals-unknown", &text)
    }

    fn interval(&self, step: u32, source: SourceId, span: Span, of: &Row, known: bool) -> Interval {
        let seconds = span.seconds();
        let side = |at: usize| {
            let (ops, bytes) = (of.ops[at].map(|r| r * seconds), of.bytes[at].map(|r| r * seconds));
            (ops.is_some() || bytes.is_some()).then(|| {
                let ops = ops.unwrap_or(0.0).round() as u64;
                let time = of.time[at].filter(|_| known).unwrap_or(0.0);
                Completed {
                    ops,
                    bytes: bytes.unwrap_or(0.0).round() as u64,
                    errors: 0,
                    service_sum: Ns((ops as f64 * time) as u64),
                    service: Histogram::new(),
                    response: None,
                }
            })
        };
        Interval {
            source,
            step,
            phase: Phase::Measure,
            from: self.at(span.from),
            to: self.at(span.to),
            read: side(0),
            write: side(1),
            others: OtherTallies::default(),
            testimony: None,
        }
    }

    fn counters(
        &mut self,
        step: u32,
        (place, row, span): (&Written<'_>, usize, Span),
        (of, known): (&Row, bool),
    ) -> Result<(), RecordError> {
        let times = (self.at(span.from), self.at(span.to));
        if times.0 >= times.1 {
            return Ok(());
        }
        let at_hop = place.hop.map(|source| (source, hop(place, row, span, of, known)));
        let behind = place.storage.map(|source| (source, storage(place, row, span, of, known)));
        for (source, all) in [at_hop, behind].into_iter().flatten() {
            for (id, value) in all {
                if self.covered.free((source, Some(id)), span, place.file) {
                    self.writer.counter(&counter(source, step, times, id, value))?;
                }
            }
        }
        Ok(())
    }
}

fn counter(
    source: SourceId,
    step: u32,
    (from, to): (Ns, Ns),
    id: CounterId,
    value: f64,
) -> Counter {
    Counter { source, step: Some(step), from, to, kind: id.into(), part: None, value }
}
