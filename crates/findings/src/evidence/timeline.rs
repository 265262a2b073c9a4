//! Rates of the whole run over time, with the phases of its steps.
//!
//! A rate divides what completed in a bin by the time of the bin that intervals cover; where no step ran there is none,
//! which is not zero. A VM or target that reports nothing has no rate there either.

use super::bins::{Additive, TimeBins, middle};
use super::events::Mark;
use super::hops::HopSeries;
use super::limits::LimitSeries;
use super::network::NetSeries;
use super::{LeftOut, Part};
use crate::figures::StepFigures;
use clock::Ns;
use record::{Interval, StepHead};
use serde::Serialize;
use std::collections::BTreeMap;

/// Bins of the totals at most: an hour of seconds.
const TOTAL_BINS: usize = 3600;
/// Bins of each VM or target at most.
const GROUP_BINS: usize = 600;
/// VMs and targets with a line of their own at most.
const GROUPS_MAX: usize = 64;
/// Steps whose phases are shown at most.
const PHASES_MAX: usize = 1000;

/// A run on one time axis, in seconds from the beginning of the record's time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timeline {
    /// All workers together.
    pub total: Rates,
    /// Each VM or target, in longer bins where the run is long.
    pub groups: GroupSeries,
    /// What hops counted.
    pub hops: HopSeries,
    /// How fast the ports were that counted.
    pub limits: Vec<LimitSeries>,
    /// What network loads sent and received.
    pub network: NetSeries,
    /// When the phases of the steps began and ended.
    pub phases: Vec<PhaseSpan>,
    /// What happened.
    pub events: Vec<Mark>,
}

/// Rates of all workers together, in bins of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Rates {
    /// Start of the first bin.
    pub from_s: f64,
    /// Length of a bin.
    pub bin_s: f64,
    /// For each bin the time that intervals cover, the divisor of its rates; 0 where no step ran.
    pub covered_s: Vec<f64>,
    /// Bytes read a second.
    pub read_bytes_per_s: Vec<Option<f64>>,
    /// Bytes written a second.
    pub write_bytes_per_s: Vec<Option<f64>>,
    /// Reads a second.
    pub read_iops: Vec<Option<f64>>,
    /// Writes a second.
    pub write_iops: Vec<Option<f64>>,
    /// Failed operations a second.
    pub errors_per_s: Vec<Option<f64>>,
}

/// The rates of VMs and targets, in bins of time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupSeries {
    /// Start of the first bin.
    pub from_s: f64,
    /// Length of a bin.
    pub bin_s: f64,
    /// The VMs or targets shown, by their places in [`super::Evidence::groups`].
    pub shown: Vec<usize>,
    /// For each of them, bytes a second in both directions.
    pub bytes_per_s: Vec<Vec<Option<f64>>>,
    /// For each of them, operations a second in both directions.
    pub iops: Vec<Vec<Option<f64>>>,
}

/// The phases of one step, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PhaseSpan {
    /// The step.
    pub step: u32,
    /// What it is called, as in the analysis.
    pub label: String,
    /// Load starts.
    pub start_s: f64,
    /// The measured time begins.
    pub measure_s: f64,
    /// The measured time ends.
    pub cooldown_s: f64,
    /// Load ends; of a step that was cut off, the last moment that was reported.
    pub end_s: f64,
}

/// What completed in a bin.
#[derive(Clone, Copy, Default)]
struct Moment {
    covered: Ns,
    /// Reads and writes.
    ops: [u64; 2],
    bytes: [u64; 2],
    errors: u64,
}

impl Moment {
    /// What of it falls into a part of its time, as if it had come evenly; parts add up to the whole.
    fn part(&self, (from, to): (Ns, Ns), part: (Ns, Ns)) -> Moment {
        let length = u128::from(to.since(from).0.max(1));
        if part == (from, to) {
            return *self;
        }
        let of = |amount: u64| {
            let until = |at: Ns| u128::from(amount) * u128::from(at.since(from).0) / length;
            u64::try_from(until(part.1) - until(part.0)).unwrap_or(u64::MAX)
        };
        Moment {
            covered: Ns::ZERO,
            ops: self.ops.map(of),
            bytes: self.bytes.map(of),
            errors: of(self.errors),
        }
    }
}

impl Additive for Moment {
    fn merge(&mut self, other: Moment) {
        self.covered = self.covered.plus(other.covered);
        for dir in 0..2 {
            self.ops[dir] = self.ops[dir].saturating_add(other.ops[dir]);
            self.bytes[dir] = self.bytes[dir].saturating_add(other.bytes[dir]);
        }
        self.errors = self.errors.saturating_add(other.errors);
    }
}

/// What VMs and targets did in a bin; `None` for one that reported nothing.
#[derive(Default)]
struct Shares {
    covered: Ns,
    of: Vec<Option<Moment>>,
}

impl Shares {
    fn group(&mut self, place: usize) -> &mut Moment {
        if place >= self.of.len() {
            self.of.resize(place + 1, None);
        }
        self.of[place].get_or_insert_default()
    }
}

impl Additive for Shares {
    fn merge(&mut self, other: Shares) {
        self.covered = self.covered.plus(other.covered);
        for (place, moment) in other.of.into_iter().enumerate() {
            moment.into_iter().for_each(|moment| self.group(place).merge(moment));
        }
    }
}

/// A time line as it is gathered, step by step.
pub(super) struct GatherTimeline<'a> {
    total: TimeBins<Moment>,
    shares: TimeBins<Shares>,
    places: BTreeMap<&'a str, usize>,
    /// Up to where intervals have been seen in this step.
    reached: Ns,
    heads: Vec<(StepHead, Ns)>,
}

impl<'a> GatherTimeline<'a> {
    pub fn new(start: Ns, groups: &'a [String]) -> GatherTimeline<'a> {
        let shown = groups.iter().take(GROUPS_MAX);
        GatherTimeline {
            total: TimeBins::new(start, TOTAL_BINS),
            shares: TimeBins::new(start, GROUP_BINS),
            places: shown.enumerate().map(|(place, name)| (name.as_str(), place)).collect(),
            reached: Ns::ZERO,
            heads: Vec::new(),
        }
    }

    /// The intervals that follow are this step's.
    pub fn step(&mut self, head: &StepHead) {
        self.reached = Ns::ZERO;
        self.heads.push((head.clone(), Ns::ZERO));
    }

    /// Takes in an interval; those of a step come in the order of their beginnings.
    pub fn add(&mut self, interval: &Interval, group: &str) {
        let (from, to) = (interval.from, interval.to.max(interval.from));
        if to > self.reached {
            let fresh = from.max(self.reached);
            for (from, to) in self.total.parts(fresh, to) {
                let total = self.total.at(middle(from, to));
                total.covered = total.covered.plus(to.since(from));
            }
            for (from, to) in self.shares.parts(fresh, to) {
                let shares = self.shares.at(middle(from, to));
                shares.covered = shares.covered.plus(to.since(from));
            }
            self.reached = to;
        }
        let mut moment = Moment::default();
        for (dir, tally) in [&interval.read, &interval.write].into_iter().enumerate() {
            if let Some(tally) = tally {
                (moment.ops[dir], moment.bytes[dir]) = (tally.ops, tally.bytes);
                moment.errors = moment.errors.saturating_add(tally.errors);
            }
        }
        for part in self.total.parts(from, to) {
            self.total.at(middle(part.0, part.1)).merge(moment.part((from, to), part));
        }
        if let Some(place) = self.places.get(group) {
            for part in self.shares.parts(from, to) {
                let of = self.shares.at(middle(part.0, part.1)).group(*place);
                of.merge(moment.part((from, to), part));
            }
        }
        self.reach(interval);
    }

    /// Notes how far a step has come, by an interval of whatever it ran.
    pub fn reach(&mut self, interval: &Interval) {
        let to = interval.to.max(interval.from);
        self.heads.last_mut().into_iter().for_each(|(_, last)| *last = to.max(*last));
    }

    /// The time line, with what others gathered.
    pub fn finish(
        self,
        steps: &[StepFigures],
        hops: HopSeries,
        events: Vec<Mark>,
        left_out: &mut Vec<LeftOut>,
    ) -> Timeline {
        let groups = steps.iter().flat_map(|s| &s.groups).map(|g| g.group.as_str());
        let groups = groups.collect::<std::collections::BTreeSet<_>>().len();
        if groups > GROUPS_MAX {
            left_out.push(LeftOut::of(Part::Timeline, format!(
                "The time line shows the first {GROUPS_MAX} of {groups} VMs and targets. CSV has all of them."
            )));
        }
        if self.heads.len() > PHASES_MAX {
            left_out.push(LeftOut::of(
                Part::Timeline,
                format!(
                    "The time line shows the phases of the first {PHASES_MAX} of {} steps.",
                    self.heads.len()
                ),
            ));
        }
        let spans = self.heads.iter().take(PHASES_MAX);
        Timeline {
            total: rates(&self.total),
            groups: shares(&self.shares, self.places.len()),
            hops,
            limits: Vec::new(),
            network: NetSeries::default(),
            phases: spans.map(|(head, last)| span(head, *last, steps)).collect(),
            events,
        }
    }
}

fn rates(bins: &TimeBins<Moment>) -> Rates {
    let cells = bins.cells();
    let of =
        |amount: fn(&Moment) -> u64| cells.iter().map(|m| rate(amount(m), m.covered)).collect();
    Rates {
        from_s: bins.begin_s(),
        bin_s: bins.bin_s(),
        covered_s: cells.iter().map(|m| m.covered.as_secs_f64()).collect(),
        read_bytes_per_s: of(|m| m.bytes[0]),
        write_bytes_per_s: of(|m| m.bytes[1]),
        read_iops: of(|m| m.ops[0]),
        write_iops: of(|m| m.ops[1]),
        errors_per_s: of(|m| m.errors),
    }
}

fn shares(bins: &TimeBins<Shares>, groups: usize) -> GroupSeries {
    let of = |place: usize, amount: fn(&Moment) -> u64| {
        let moment = |s: &Shares| rate(amount(s.of.get(place)?.as_ref()?), s.covered);
        bins.cells().iter().map(moment).collect()
    };
    GroupSeries {
        from_s: bins.begin_s(),
        bin_s: bins.bin_s(),
        shown: (0..groups).collect(),
        bytes_per_s: (0..groups)
            .map(|g| of(g, |m| m.bytes[0].saturating_add(m.bytes[1])))
            .collect(),
        iops: (0..groups).map(|g| of(g, |m| m.ops[0].saturating_add(m.ops[1]))).collect(),
    }
}

/// An amount over the time that it took; none where there was no time.
fn rate(amount: u64, covered: Ns) -> Option<f64> {
    (covered > Ns::ZERO).then(|| amount as f64 / covered.as_secs_f64())
}

fn span(head: &StepHead, last: Ns, steps: &[StepFigures]) -> PhaseSpan {
    let times = &head.times;
    let figures = steps.iter().find(|s| s.index == head.index);
    // A step that was killed ends where it was killed, not where it was to end.
    let end = if last > Ns::ZERO { times.end.min(last) } else { times.start };
    let until = |edge: Ns| edge.min(end).max(times.start).as_secs_f64();
    PhaseSpan {
        step: head.index,
        label: figures.map(StepFigures::label).unwrap_or_default(),
        start_s: times.start.as_secs_f64(),
        measure_s: until(times.measure),
        cooldown_s: until(times.cooldown),
        end_s: until(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Completed, Loop, Phase, SourceId, StepTimes, WorkerLoad};

    fn head() -> StepHead {
        let [start, measure, cooldown, end] = [0, 1, 3, 4].map(Ns::secs);
        let arrivals = Loop::Closed { depth: 1, think: false };
        let load = |n| WorkerLoad {
            source: SourceId(n),
            workload: "w".into(),
            arrivals,
            ops_per_transaction: 1,
        };
        StepHead {
            index: 0,
            plan: "p".into(),
            settings: vec![],
            repetition: 0,
            times: StepTimes { start, measure, cooldown, end },
            workers: vec![load(0), load(1)],
            streams: vec![],
        }
    }

    fn interval(from_ms: u64, to_ms: u64, ops: u64) -> Interval {
        let (from, to) = (Ns::millis(from_ms), Ns::millis(to_ms));
        let read = Some(Completed { ops, bytes: ops * 512, ..Completed::empty(false) });
        let (source, phase) = (SourceId(0), Phase::Measure);
        Interval {
            others: Default::default(),
            source,
            step: 0,
            phase,
            from,
            to,
            read,
            write: None,
            testimony: None,
        }
    }

    fn gathered(intervals: &[(&str, Interval)]) -> Timeline {
        let groups = ["a".to_owned(), "b".to_owned()];
        let mut gather = GatherTimeline::new(Ns::ZERO, &groups);
        gather.step(&head());
        intervals.iter().for_each(|(group, interval)| gather.add(interval, group));
        gather.finish(&[], HopSeries::default(), Vec::new(), &mut Vec::new())
    }

    #[test]
    fn rates_divide_by_the_time_that_is_covered() {
        let of = |from, to, ops| ("a", interval(from, to, ops));
        let line = gathered(&[of(250, 1000, 75), of(1000, 2000, 10), of(3000, 3500, 1)]);
        let expected = [Some(100.0), Some(10.0), None, Some(2.0)];
        assert_eq!(line.total.read_iops, expected);
        assert_eq!(line.total.covered_s, [0.75, 1.0, 0.0, 0.5]);
        assert_eq!(line.total.write_iops[..2], [Some(0.0), Some(0.0)]);
    }

    #[test]
    fn time_that_two_workers_share_counts_once_and_who_is_silent_has_no_rate() {
        let of = |group, from, to, ops| (group, interval(from, to, ops));
        let line = gathered(&[of("a", 0, 1000, 30), of("b", 0, 1000, 12), of("a", 1000, 2000, 5)]);
        assert_eq!(line.total.read_iops, [Some(42.0), Some(5.0)]);
        assert_eq!(line.groups.iops, [[Some(30.0), Some(5.0)], [Some(12.0), None]]);
        assert_eq!(line.groups.bytes_per_s[1], [Some(12.0 * 512.0), None]);
    }

    #[test]
    fn a_sample_longer_than_a_bin_is_in_all_bins_of_its_time() {
        let of = |from, to, ops| ("a", interval(from, to, ops));
        let line = gathered(&[of(0, 20_000, 200), of(20_000, 40_000, 1000), of(60_000, 65_000, 7)]);
        let rates = &line.total.read_iops;
        assert_eq!(rates.len(), 65);
        assert!(rates[..20].iter().all(|rate| *rate == Some(10.0)), "{rates:?}");
        assert!(rates[20..40].iter().all(|rate| *rate == Some(50.0)), "{rates:?}");
        assert!(rates[40..60].iter().all(Option::is_none), "{rates:?}");
        assert_eq!(rates[60..].iter().flatten().sum::<f64>(), 7.0);
        assert_eq!(line.groups.iops[0][..60], rates[..60]);
        // Samples that begin anywhere, of a time whose bins have become wider than they.
        let minutes = |n: u64| of(n * 60_000 + 300, n * 60_000 + 60_300, 600);
        let day: Vec<_> = (0..1440).map(minutes).collect();
        let line = gathered(&day);
        let inner = &line.total.read_iops[1..line.total.read_iops.len() - 1];
        assert!(inner.iter().all(|rate| rate.is_some_and(|r| (r - 10.0).abs() < 0.5)), "{inner:?}");
    }

    #[test]
    fn a_step_ends_where_it_was_cut_off() {
        let line = gathered(&[("a", interval(0, 1000, 1)), ("a", interval(1000, 2500, 1))]);
        let phase = &line.phases[0];
        assert_eq!(
            [phase.start_s, phase.measure_s, phase.cooldown_s, phase.end_s],
            [0.0, 1.0, 2.5, 2.5]
        );
        let silent = gathered(&[]);
        assert_eq!(silent.phases[0].end_s, 0.0);
        assert!(silent.total.covered_s.is_empty());
    }

    #[test]
    fn no_times_make_it_panic() {
        let mut backwards = interval(2000, 3000, 1);
        backwards.to = Ns::ZERO;
        let mut endless = interval(0, 1, u64::MAX / 1024);
        endless.to = Ns::MAX;
        let line = gathered(&[("a", backwards), ("a", endless.clone()), ("a", endless)]);
        assert!(line.total.covered_s.len() <= TOTAL_BINS);
        // A run that says it began long after its intervals.
        let late = Ns::secs(1 << 33);
        let mut gather = GatherTimeline::new(late, &[]);
        gather.step(&head());
        let mut early = interval(0, 1, 5);
        early.to = late.plus(Ns::secs(1));
        gather.add(&early, "a");
        assert_eq!(gather.total.cells().len(), 1);
    }
}
