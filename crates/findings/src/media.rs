//! Reads that a cache in front of the media answered, where no counter behind it shows that: a working set that fits the cache
//! of an array whose model the scenario names, random reads faster than its disks can turn, and response times of two
//! kinds far apart.
//!
//! Each is a sign with its evidence, of measured runs alone; what a device's own counters prove is `served`'s.

use crate::step::StepData;
use crate::warnings::{Severity, Warning};
use record::{Completed, Histogram, ProducerKind, Record};
use scenario::{Part, PartKind, Scenario, Step};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use units::{binary_bytes, count, percent};
use workload::WorkingSet;

/// Random reads, in percent of the operations, from which a step shows how the media answers random reads.
const RANDOM_FROM: f64 = 90.0;

/// A disk serves so many times its random reads without a queue, at most, whatever it reorders.
const REORDERED_MOST: f64 = 4.0;

/// The shortest seek as a part of the mean one, at most.
const SHORTEST_SEEK: f64 = 0.1;

/// Reads that are needed to tell two kinds of response times apart.
const READS_MIN: u64 = 1_000;

/// Least share of the reads of either kind.
const KIND_MIN: f64 = 0.05;

/// How far the medians of the two kinds are apart at least.
const APART: f64 = 8.0;

/// The valley between two kinds is at most this part of the lower of their peaks.
const VALLEY: f64 = 0.2;

/// Bins for each doubling of the response time.
const BINS: f64 = 2.0;

/// Response times of two kinds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct TwoKinds {
    /// Share of the fast ones.
    fast: f64,
    /// Median of the fast ones in nanoseconds.
    fast_ns: u64,
    /// Median of the slow ones.
    slow_ns: u64,
}

/// What was seen of the steps so far: for each code and text the steps.
#[derive(Default)]
pub(crate) struct MediaSigns {
    seen: BTreeMap<(&'static str, String), Vec<u32>>,
    /// Reads of two kinds, in sequence and at random.
    two_kinds: [TwoKindsSeen; 2],
}

/// Whose reads were of two kinds, and where.
#[derive(Default)]
struct TwoKindsSeen {
    groups: BTreeSet<String>,
    steps: Vec<u32>,
    /// The clearest case: that whose rarer kind is most.
    clearest: Option<(String, TwoKinds)>,
}

impl MediaSigns {
    /// Looks at a step, where it was measured by a run.
    pub fn see(
        &mut self,
        record: &Record,
        step: &StepData,
        (scenario, planned): (&Scenario, &Step),
    ) {
        if record.head().producer.kind != ProducerKind::Live {
            return;
        }
        let groups = random_groups(planned);
        let texts = targets(scenario, planned)
            .into_iter()
            .filter_map(|of| of.fits_cache())
            .chain(groups.iter().filter_map(|group| too_fast(scenario, step, *group)));
        for text in texts {
            self.seen.entry(text).or_default().push(step.head.index);
        }
        // What an embedded array holds is memory; what its limits do to response times is no cache.
        let on_media = read_groups(planned).filter(|(group, _)| !on_embedded(scenario, group));
        for (group, random) in on_media {
            if let Some(kinds) = of_two_kinds(step, group) {
                self.two_kinds[usize::from(random)].add(group, kinds, step.head.index);
            }
        }
    }

    /// One warning for each sign.
    pub fn warnings(self) -> impl Iterator<Item = Warning> {
        const NEXT: &str = "read more than the cache holds, at random over all of it, for longer than it takes to \
                            fill it";
        let warning = |((code, text), steps): ((&'static str, String), Vec<u32>)| {
            let (code, next) = (code.to_owned(), NEXT.to_owned());
            Warning { code, severity: Severity::Warning, text, next, steps }
        };
        let two = [false, true].into_iter().zip(self.two_kinds);
        let two = two.filter_map(|(random, seen)| {
            Some((("two-kinds-of-reads", seen.text(random)?), seen.steps))
        });
        self.seen.into_iter().chain(two).map(warning)
    }
}

impl TwoKindsSeen {
    fn add(&mut self, group: &str, kinds: TwoKinds, step: u32) {
        self.groups.insert(group.to_owned());
        if self.steps.last() != Some(&step) {
            self.steps.push(step);
        }
        let rarer = |of: &TwoKinds| of.fast.min(1.0 - of.fast);
        if self.clearest.as_ref().is_none_or(|(_, known)| rarer(&kinds) > rarer(known)) {
            self.clearest = Some((group.to_owned(), kinds));
        }
    }

    /// The clearest case, and how many others there are.
    fn text(&self, random: bool) -> Option<String> {
        let (group, of) = self.clearest.as_ref()?;
        // To two digits.
        let ms = |ns: u64| {
            let unit = 10_u64.pow(ns.max(10).ilog10() - 1);
            units::duration(Duration::from_nanos(ns / unit * unit))
        };
        let (how, as_of) = match random {
            true => ("random", "a cache"),
            false => ("sequential", "read-ahead or a cache"),
        };
        let others = match self.groups.len() - 1 {
            0 => String::new(),
            others => format!(" (and {others} more like it)"),
        };
        Some(format!(
            "{group}{others}: {} of its {how} reads took about {}, the others about {}: two kinds of answers, as of {as_of} and \
             of the media behind it, or of a limit that lets bursts pass",
            percent((of.fast * 100.0).round()),
            ms(of.fast_ns),
            ms(of.slow_ns)
        ))
    }
}

/// The targets of a step on one array whose model has a cache.
struct CachedTargets<'a> {
    array: &'a Part,
    names: Vec<&'a str>,
    /// Bytes of them that are accessed; `None` where that is not known of one.
    working_set: Option<u64>,
}

impl CachedTargets<'_> {
    fn fits_cache(&self) -> Option<(&'static str, String)> {
        let (cache, used) = (self.array.bytes("cache")?.0, self.working_set?);
        if used == 0 || used > cache || self.array.word("media") == Some("ram") {
            return None;
        }
        let text = format!(
            "{} of {} are accessed, and {} has {} of cache: what was read once is answered from there, not from its disks",
            binary_bytes(used),
            self.names.join(", "),
            self.array.name,
            binary_bytes(cache)
        );
        Some(("fits-cache", text))
    }
}

/// The targets that a step reads, by the model of what they lie on.
fn targets<'a>(scenario: &'a Scenario, planned: &Step) -> Vec<CachedTargets<'a>> {
    let mut all: Vec<CachedTargets<'a>> = Vec::new();
    for load in planned.disk_loads() {
        let reads =
            |load: &scenario::DiskLoad<'_>| workload::IoDemand::of(&load.workload.spec).reads;
        if !reads(&load) {
            continue;
        }
        for target in load.on.iter().flat_map(|group| targets_of(scenario, group)) {
            let part = target.part.as_deref().and_then(|name| scenario.lab.part(name));
            let Some(array) = part.filter(|part| part.kind == PartKind::Array) else { continue };
            let used = accessed(target, load.workload.spec.working_set);
            let known = all.iter().position(|of| of.array.name == array.name);
            let at = known.unwrap_or_else(|| {
                all.push(CachedTargets { array, names: Vec::new(), working_set: Some(0) });
                all.len() - 1
            });
            if !all[at].names.contains(&target.name.as_str()) {
                all[at].names.push(&target.name);
                all[at].working_set = all[at].working_set.zip(used).map(|(sum, of)| sum + of);
            }
        }
    }
    all
}

/// Bytes of a target that are accessed, where that is known.
fn accessed(target: &scenario::Target, working_set: Option<WorkingSet>) -> Option<u64> {
    let size = target.create.or(target.size).map(|bytes| bytes.0);
    match working_set {
        None => size,
        Some(WorkingSet::Bytes(bytes)) => Some(size.map_or(bytes, |size| bytes.min(size))),
        Some(WorkingSet::Percent(share)) => size.map(|size| (size as f64 * share / 100.0) as u64),
    }
}

/// The targets of a VM, or one by its own name.
fn targets_of<'a>(scenario: &'a Scenario, group: &str) -> Vec<&'a scenario::Target> {
    let vm = scenario.lab.vms.iter().find(|vm| vm.name == group);
    let on = |name: &str| scenario.lab.targets.iter().find(|target| target.name == name);
    match vm {
        None => on(group).into_iter().collect(),
        Some(vm) => vm
            .disks
            .iter()
            .filter_map(|disk| match &disk.backing {
                scenario::Backing::Target(name) => on(name),
                scenario::Backing::Lun { .. } => None,
            })
            .collect(),
    }
}

/// The VMs and targets whose load is random reads, each with its working set.
fn random_groups<'a>(planned: &'a Step) -> Vec<(&'a str, Option<WorkingSet>)> {
    let random = |spec: &workload::Spec| match &spec.kind {
        workload::WorkloadKind::Access(access) => {
            access.rows.iter().all(|row| row.random >= RANDOM_FROM && row.read >= RANDOM_FROM)
        }
        workload::WorkloadKind::Transaction(_) => false,
    };
    let loads = planned.disk_loads().filter(|load| random(&load.workload.spec));
    let groups = |load: scenario::DiskLoad<'a>| {
        load.on.iter().map(move |name| (name.as_str(), load.workload.spec.working_set))
    };
    loads.flat_map(groups).collect()
}

/// The VMs and targets that are read, or hardly anything else, each with whether at random.
fn read_groups(planned: &Step) -> impl Iterator<Item = (&str, bool)> {
    let reads = |spec: &workload::Spec| match &spec.kind {
        workload::WorkloadKind::Access(access) if spec.trace.is_none() => {
            let all = |from: fn(&workload::Row) -> f64| {
                access.rows.iter().all(|row| from(row) >= RANDOM_FROM)
            };
            all(|row| row.read).then(|| all(|row| row.random))
        }
        _ => None,
    };
    let loads =
        planned.disk_loads().filter_map(move |load| Some((reads(&load.workload.spec)?, load)));
    loads.flat_map(|(random, load)| load.on.iter().map(move |name| (name.as_str(), random)))
}

/// More random reads than the disk that a target is said to be can serve.
fn too_fast(
    scenario: &Scenario,
    step: &StepData,
    (group, working_set): (&str, Option<WorkingSet>),
) -> Option<(&'static str, String)> {
    let [target] = targets_of(scenario, group)[..] else { return None };
    let part = scenario.lab.part(target.part.as_deref()?)?;
    let turn = part.time("rotation_half").filter(|_| part.kind == PartKind::Disk)?;
    // Seeks over a part of the disk are shorter, about as the square root of it; over an unknown part they may be shortest.
    let share = accessed(target, working_set).zip(part.bytes("size"));
    let share = share.map_or(0.0, |(used, size)| used as f64 / size.0.max(1) as f64).min(1.0);
    let seek = SHORTEST_SEEK + (1.0 - SHORTEST_SEEK) * share.sqrt();
    let one = part.time("seek_mean")?.as_secs_f64() * seek + turn.as_secs_f64();
    let reads: u64 = read_tallies(step, group).map(|tally| tally.ops).sum();
    let rate = reads as f64 / step.span.as_secs_f64();
    let most = REORDERED_MOST / one;
    (one > 0.0 && rate > most).then(|| {
        let text = format!(
            "{}: {} random reads a second are more than a {} can serve there (at most {} a second, by its turn and its seeks): \
             a cache answers",
            target.name,
            count(rate.round()),
            part.name,
            count(most.round())
        );
        ("faster-than-media", text)
    })
}

/// Whether a VM has disks on an embedded array.
fn on_embedded(scenario: &Scenario, group: &str) -> bool {
    let mine = scenario.lab.vms.iter().filter(|vm| vm.name == group);
    mine.flat_map(|vm| &vm.disks).any(|disk| match &disk.backing {
        scenario::Backing::Lun { array, .. } => scenario.lab.embedded(array).is_some(),
        scenario::Backing::Target(_) => false,
    })
}

/// The two kinds of a group's reads.
fn of_two_kinds(step: &StepData, group: &str) -> Option<TwoKinds> {
    let mut all = Histogram::new();
    read_tallies(step, group).for_each(|tally| all.merge(&tally.service));
    two_kinds(&all)
}

fn read_tallies<'a>(step: &'a StepData, group: &'a str) -> impl Iterator<Item = &'a Completed> {
    let mine = step.workers.iter().filter(move |worker| worker.source.group == group);
    mine.filter_map(|worker| worker.read.as_ref())
}

/// The two kinds of a histogram: two peaks with a valley between them, each with its share of the reads.
fn two_kinds(of: &Histogram) -> Option<TwoKinds> {
    let all = of.count();
    if all < READS_MIN {
        return None;
    }
    let bin = |ns: u64| ((ns.max(1) as f64).log2() * BINS) as usize;
    let mut bins = vec![0_u64; 64 * BINS as usize];
    for (at, n) in of.counts() {
        bins[bin(at.0)] += n;
    }
    let peak = |range: std::ops::Range<usize>| bins[range].iter().copied().max().unwrap_or(0);
    let best = (1..bins.len() - 1)
        .filter(|at| {
            let lower = peak(0..*at).min(peak(at + 1..bins.len()));
            lower > 0 && bins[*at] as f64 <= VALLEY * lower as f64
        })
        // The deepest valley; of equals the one with the most beyond it on either side.
        .max_by_key(|at| peak(0..*at).min(peak(at + 1..bins.len())).saturating_sub(bins[*at]))?;
    let edge = |ns: u64| bin(ns) <= best;
    let fast: u64 = of.counts().filter(|(at, _)| edge(at.0)).map(|(_, n)| n).sum();
    let share = fast as f64 / all as f64;
    let median = |fast_side: bool| {
        let mine = || of.counts().filter(|(at, _)| edge(at.0) == fast_side);
        let half = mine().map(|(_, n)| n).sum::<u64>() / 2;
        let mut seen = 0;
        mine().find_map(|(at, n)| {
            seen += n;
            (seen > half).then_some(at.0)
        })
    };
    let (fast_ns, slow_ns) = (median(true)?, median(false)?);
    let sure = (KIND_MIN..=1.0 - KIND_MIN).contains(&share);
    let apart = slow_ns as f64 >= APART * fast_ns.max(1) as f64;
    (sure && apart).then_some(TwoKinds { fast: share, fast_ns, slow_ns })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::{Ns, Rng};

    /// A histogram of draws: so many around each median, spread by a factor either way.
    fn histogram(kinds: &[(u64, u64, f64)]) -> Histogram {
        let (mut all, mut rng) = (Histogram::new(), Rng::keyed(5, &[]));
        for (n, median, spread) in kinds {
            for _ in 0..*n {
                let factor = spread.powf(2.0 * rng.unit() - 1.0);
                all.record(Ns((*median as f64 * factor) as u64));
            }
        }
        all
    }

    #[track_caller]
    fn check(kinds: &[(u64, u64, f64)], expected: Option<(f64, u64, u64)>) {
        let found = two_kinds(&histogram(kinds));
        match (found, expected) {
            (None, None) => {}
            (Some(found), Some((fast, fast_ns, slow_ns))) => {
                let near = |a: u64, b: u64| (a as f64 / b as f64 - 1.0).abs() < 0.2;
                assert!((found.fast - fast).abs() < 0.02, "{found:?}");
                assert!(near(found.fast_ns, fast_ns) && near(found.slow_ns, slow_ns), "{found:?}");
            }
            other => panic!("{kinds:?}: {other:?}"),
        }
    }

    #[test]
    fn a_cache_and_disks_behind_it_are_two_kinds_and_a_wide_spread_is_one() {
        check(&[(3000, 200_000, 1.5), (7000, 8_000_000, 2.0)], Some((0.3, 200_000, 8_000_000)));
        check(&[(9000, 100_000, 2.0), (1000, 5_000_000, 1.3)], Some((0.9, 100_000, 5_000_000)));
        check(&[(10_000, 300_000, 1.3)], None);
        check(&[(10_000, 2_000_000, 30.0)], None);
        // Too near, too few of one kind, too few at all.
        check(&[(5000, 500_000, 1.2), (5000, 2_000_000, 1.2)], None);
        check(&[(9900, 200_000, 1.5), (100, 9_000_000, 1.5)], None);
        check(&[(300, 200_000, 1.5), (600, 8_000_000, 1.5)], None);
    }

    /// A histogram of 10,000 draws of a distribution in microseconds, by its inverse or from two uniform draws.
    fn drawn(seed: u64, of: impl Fn(f64, f64) -> f64) -> Histogram {
        let (mut all, mut rng) = (Histogram::new(), Rng::keyed(seed, &[]));
        for _ in 0..10_000 {
            let (a, b) = (1.0 - rng.unit(), rng.unit());
            all.record(Ns((of(a, b) * 1e3).clamp(100.0, 1e12) as u64));
        }
        all
    }

    /// Shapes of one peak, however skewed or wide, over many seeds; none is two kinds of answers.
    #[test]
    fn no_shape_of_one_peak_is_two_kinds() {
        let normal = |a: f64, b: f64| (-2.0 * a.ln()).sqrt() * (std::f64::consts::TAU * b).cos();
        for seed in 0..40 {
            for (name, histogram) in [
                ("exponential", drawn(seed, |a, _| -a.ln() * 500.0)),
                (
                    "two exponentials in turn",
                    drawn(seed, |a, b| -(a.ln() + (1.0 - b).ln()) * 500.0),
                ),
                ("uniform", drawn(seed, |a, _| 100.0 + 9_900.0 * a)),
                ("uniform from nothing", drawn(seed, |a, _| 10_000.0 * a)),
                ("normal", drawn(seed, |a, b| 5_000.0 + 1_000.0 * normal(a, b))),
                ("narrow log-normal", drawn(seed, |a, b| (6.0 + 0.3 * normal(a, b)).exp())),
                ("log-normal", drawn(seed, |a, b| (6.0 + normal(a, b)).exp())),
                ("wide log-normal", drawn(seed, |a, b| (6.0 + 2.5 * normal(a, b)).exp())),
                ("pareto", drawn(seed, |a, _| 100.0 * a.powf(-1.0 / 1.2))),
                ("weibull", drawn(seed, |a, _| 500.0 * (-a.ln()).powf(2.0))),
            ] {
                assert_eq!(two_kinds(&histogram), None, "{name}, seed {seed}");
            }
        }
    }
}
