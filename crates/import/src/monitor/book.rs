//! The record of observed loads while it is written: facts of provenance, sources, steps with the intervals of loads, and
//! counters of hops.

use super::covered::Covered;
use super::derive::{DERIVED, hop, storage};
use super::gaps::{gaps, longest};
use super::join::{self, Joined};
use super::model::{Feed, Span};
use super::places::Written;
use super::row::{Row, Usual};
use super::topology::KnownHop;
use super::window::{KNOWN, Window};
use super::write::Order;
use clock::Ns;
use record::{
    Completed, Counter, CounterId, Event, Fact, Histogram, HopKind, Interval, Level, Loop,
    OtherTallies, Phase, RecordError, Source, SourceId, SourceKind, StepHead, StepTimes,
    WorkerLoad, Writer,
};
use std::collections::{BTreeMap, BTreeSet};

/// From this share of its intervals on that are not known, a load is warned of.
const MUCH_UNKNOWN: f64 = 0.1;
/// The plan of a record that has none, and the workload that observed loads run.
const PLAN: &str = "plan";
const OBSERVED: &str = "observed";
/// What steps differ in that are tests of a generator.
pub(super) const TEST: &str = "test";

/// The record that is being written.
pub(super) struct Book<'a> {
    pub writer: Writer,
    pub zero: i64,
    pub known: &'a [KnownHop],
    pub covered: Covered,
    /// What steps differ in: windows of one load, or tests, each of a load of its own.
    pub setting: &'static str,
    /// Loads of which some intervals are not known: whose, how many, and of how many.
    pub unknown: Vec<(String, usize, usize)>,
    /// Parts of operations, read and written, that intervals of a step and a load have left over.
    pub rests: BTreeMap<(u32, SourceId), [f64; 2]>,
}

impl Book<'_> {
    fn at(&self, moment: i64) -> Ns {
        Ns(u64::try_from(moment - self.zero).unwrap_or(0))
    }

    pub fn provenance(&mut self, order: &Order<'_>, rows: &[Span]) -> Result<(), RecordError> {
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
        let (first, end) = longest(rows, KNOWN);
        if end - first < whole {
            let text = format!(
                "the time line has gaps: the window `whole` is its longest part of which {}% are known, {} of {whole} intervals",
                KNOWN,
                end - first
            );
            self.event(Level::Warning, "longest-part", &text)?;
        }
        Ok(())
    }

    pub fn event(&mut self, level: Level, code: &str, text: &str) -> Result<(), RecordError> {
        let (code, text) = (code.to_owned(), text.to_owned());
        self.writer.event(&Event { at: Ns::ZERO, step: None, source: None, level, code, text })
    }

    /// Which places are of several files, by what, and what contradicts itself.
    pub fn joins(&mut self, joined: &Joined, places: &[Written<'_>]) -> Result<(), RecordError> {
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

    pub fn sources(&mut self, places: &[Written<'_>]) -> Result<(), RecordError> {
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

    pub fn step(
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
        let load = places.iter().find_map(|place| place.load);
        for gap in gaps(places, window.span) {
            let (from, to) = (self.at(gap.from), self.at(gap.to));
            if let Some(load) = load {
                let lasted = to.since(from).0 as f64;
                let id = CounterId::NotObserved;
                self.writer.counter(&counter(load, index, (from, to), id, lasted))?;
            }
        }
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
            let interval = self.interval(step, source, cut, of, usual.is_known());
            self.writer.interval(&interval)?;
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
            let is_it = |known: &&KnownHop| is_it(known, place);
            for (id, value) in self.known.iter().filter(is_it).flat_map(|known| &known.limits) {
                if !told.insert((source, *id)) {
                    continue;
                }
                self.writer.counter(&counter(source, index, (start, end), *id, *value))?;
            }
        }
        Ok(())
    }

    /// Says which entries of the topology are of no place.
    pub fn strangers(&mut self, places: &[Written<'_>]) -> Result<(), RecordError> {
        let here = |known: &&KnownHop| !places.iter().any(|place| is_it(known, place));
        let all: Vec<&KnownHop> = self.known.iter().filter(here).collect();
        let Some(first) = all.first() else { return Ok(()) };
        let name = first.name.as_ref().or(first.id.as_ref()).cloned().unwrap_or_default();
        let text = format!(
            "{} of {} entries of the topology are of no place in the files, such as {name}: names are as the review writes them",
            all.len(),
            self.known.len()
        );
        self.event(Level::Warning, "topology-unused", &text)
    }

    /// Which counters of a place that several files count are of which file.
    pub fn counted(&mut self, feeds: &[Feed], places: &[Written<'_>]) -> Result<(), RecordError> {
        let files: Vec<&str> = feeds.iter().map(|feed| feed.name.as_str()).collect();
        let names = places.iter().filter_map(|p| Some((p.hop?, p.name.clone()))).collect();
        self.writer.facts(&self.covered.facts(&files, &names))
    }

    /// That intervals which are not known were taken as the mean of the others.
    pub fn filled(&mut self) -> Result<(), RecordError> {
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

    /// An interval of a load. What is less than one operation is carried on to the next interval.
    fn interval(
        &mut self,
        step: u32,
        source: SourceId,
        span: Span,
        of: &Row,
        known: bool,
    ) -> Interval {
        let seconds = span.seconds();
        let rests = self.rests.entry((step, source)).or_default();
        let mut side = |at: usize| {
            let (ops, bytes) = (of.ops[at].map(|r| r * seconds), of.bytes[at].map(|r| r * seconds));
            (ops.is_some() || bytes.is_some()).then(|| {
                let all = ops.unwrap_or(0.0) + rests[at];
                let ops = all.round().max(0.0) as u64;
                rests[at] = (all - ops as f64).clamp(-1.0, 1.0);
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
        let (read, write) = (side(0), side(1));
        Interval {
            source,
            step,
            phase: Phase::Measure,
            from: self.at(span.from),
            to: self.at(span.to),
            read,
            write,
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

/// Whether an entry of the topology is of a place.
fn is_it(known: &KnownHop, place: &Written<'_>) -> bool {
    let named = |name: &String| *name == place.name || join::is(place.of, name);
    known.name.as_ref().is_some_and(named)
        || known.id.as_ref().is_some_and(|id| place.of.ids.contains(id))
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
