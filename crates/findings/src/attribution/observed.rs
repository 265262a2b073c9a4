//! One step as plain numbers: its load, and every hop with how full each of its limits was.
//!
//! What was not counted stays `None` and never becomes zero. A block device's `busy` is the time during which anything was in
//! flight, which does not suit a parallel device; it counts as utilization only where requests did not overlap.

use super::answer::{Gauge, HopLimit, HopLoad};
use super::experiment::{CARRIED, Experiments};
use super::sort::{Alike, HopRole};
use crate::counters::OfSource;
use crate::figures::{Loops, StepFigures};
use crate::generator::{Generator, Limit};
use crate::hop_signs::SOFTIRQ_BOUND;
use crate::samples::HopSamples;
use crate::step::StepData;
use record::{CounterId, Fact, HopKind, Loop, Meaning, Source, SourceKind};
use std::collections::BTreeSet;

/// Hops at most; a record that names more is not one of ours, and the rest is left out.
const HOPS_MAX: usize = 65_536;
/// Hops of one wire that are crossed at once show the same number of I/Os present, but for so much of it.
const SAME_CROSSING: f64 = 0.01;
/// I/Os that a wire which is shared evenly explains, over what the formula of processor sharing gives.
const EXPLAINED: f64 = 1.5;

/// What an I/O passes behind its host.
const LAYERS: [&[HopKind]; 3] = [
    &[HopKind::TargetPort],
    &[HopKind::Controller],
    &[HopKind::Disks, HopKind::Backend, HopKind::Volume],
];
/// Counters whose length is looked at.
const SAMPLES_MAX: usize = 10_000;
/// Gauges of a hop that differ by less show the same.
const AS_FULL: f64 = 0.99;
/// Up to this share of the time busy an observed device is not full.
const OFTEN_IDLE: f64 = 0.6;
/// Samples that hide little and that hide much, in seconds.
const BLUR: (f64, f64) = (20.0, 300.0);
/// An open loop is behind from this part of its rate on, where a hop is as full as this, and where so many standard deviations of
/// its number of arrivals are missing.
const BEHIND: f64 = 0.001;
const BEHIND_FULL: f64 = 0.99;
const BEHIND_SIGMAS: f64 = 3.0;
/// Up to so many requests at a time a block device served them one by one.
const SERIAL: f64 = 1.1;

/// A step.
pub(super) struct Observed {
    /// Its number in the run.
    pub index: u32,
    pub plan: String,
    pub settings: Vec<(String, String)>,
    /// Outstanding operations that closed loops were allowed.
    pub depth: f64,
    /// The share of that depth whose slots pause between operations.
    pub thinking: f64,
    /// Operations a second that open loops were asked for.
    pub offered: f64,
    /// What the open loops did.
    pub open_iops: f64,
    pub loops: Loops,
    pub iops: f64,
    pub bytes_per_s: f64,
    /// Mean operations in flight.
    pub in_flight: Option<f64>,
    /// Mean time of an operation.
    pub mean_ns: Option<f64>,
    pub generator: Generator,
    pub hops: Vec<ObservedHop>,
    /// Seconds that were measured, and that a sample of a hop covers.
    pub seconds: f64,
    pub resolution: f64,
    /// What throughput gains where something is doubled, if that was tried.
    pub experiments: Option<Experiments>,
}

pub(super) struct ObservedHop {
    pub load: HopLoad,
    /// The agent that counted it: of an embedded array, its own.
    pub agent: String,
    pub kind: HopKind,
    pub role: HopRole,
    pub alike: Alike,
    /// The fullest of its limits but the number of I/Os at once.
    pub served: Option<Utilization>,
    /// How full its queue limit was, with the limit.
    pub slots: Option<Utilization>,
    /// I/Os present as far as this hop explains them: of wires that are crossed at once only the fullest does, and only as
    /// many as wait at a wire that full. The others are held up by a wire that is not counted.
    pub present: Option<f64>,
    /// Whether it was announced and counted nothing.
    pub silent: bool,
    /// Its load was observed and much the same in all samples, none of which was nearly full.
    pub even: bool,
    /// And there are enough samples to say so.
    pub steady: bool,
    /// Whether its own limit is not missed: other hops of the record are what it sums up, or it is of another test.
    pub summed: bool,
    /// Its place in the record.
    pub order: usize,
}

/// How full a limit was.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Utilization {
    pub share: f64,
    pub gauge: Gauge,
    pub capacity: Option<f64>,
}

impl Observed {
    pub fn of(step: &StepData, figures: &StepFigures, sources: &[Source], facts: &[Fact]) -> Self {
        let closed = step.workers.iter().filter_map(|w| match w.load.arrivals {
            Loop::Closed { depth, think } => Some((f64::from(depth), think)),
            Loop::Open { .. } | Loop::Observed => None,
        });
        let pausing: f64 = closed.filter(|(_, think)| *think).map(|(depth, _)| depth).sum();
        let depth = f64::from(figures.depth);
        let both = &figures.total.both;
        let mean_ns = both.mean_ns;
        let little = mean_ns.map(|mean| both.iops * mean / 1e9);
        let in_flight = figures.total.in_flight.or(little).filter(|n| n.is_finite() && *n > 0.0);
        let silent = OfSource::over(step.integrals.seconds());
        let hops = sources.iter().filter_map(|source| Some((source, source.hop()?)));
        let of = |(order, hop): (usize, (&Source, HopKind))| {
            let counts = step.integrals.source(hop.0.id).unwrap_or(&silent);
            ObservedHop::of(order, hop, counts, (facts, figures.loops == Loops::Observed))
        };
        let mut seen: Vec<ObservedHop> = hops.take(HOPS_MAX).enumerate().map(of).collect();
        cross(&mut seen);
        sum_up(&mut seen);
        if figures.loops == Loops::Observed {
            let samples = HopSamples::of(step);
            for hop in &mut seen {
                let full = hop.served.filter(|full| full.share.is_finite());
                let of = samples.get(hop.load.hop.as_str());
                let of = of.and_then(|of| of.of_gauge(full.map(|full| full.gauge)));
                hop.even = of.zip(full).is_some_and(|(of, full)| of.is_even(full.share));
                hop.steady = hop.even && of.is_some_and(|of| of.is_many());
            }
        }
        if figures.is_test() {
            // Hops that counted nothing, of a file that has loads, are those of other tests.
            let loaded: BTreeSet<&str> = sources
                .iter()
                .filter(|source| source.kind == SourceKind::Worker)
                .map(|source| source.agent.as_str())
                .collect();
            let other = |hop: &ObservedHop| hop.silent && loaded.contains(hop.agent.as_str());
            seen.iter_mut().filter(|hop| other(hop)).for_each(|hop| hop.summed = true);
        }
        for hop in &mut seen {
            hop.load.latency_share =
                in_flight.zip(hop.load.queue).map(|(all, here)| (here / all).clamp(0.0, 1.0));
        }
        Observed {
            index: figures.index,
            plan: figures.plan.clone(),
            settings: figures.settings.clone(),
            depth,
            thinking: if depth > 0.0 { pausing / depth } else { 0.0 },
            offered: figures.offered_iops,
            open_iops: figures.open_iops,
            loops: figures.loops,
            iops: both.iops,
            bytes_per_s: both.bytes_per_s,
            in_flight,
            mean_ns,
            generator: figures.generator.clone(),
            hops: seen,
            seconds: step.integrals.seconds(),
            resolution: resolution(step),
            experiments: Experiments::of(step),
        }
    }

    /// Whether all that open loops were asked for was done, but for a little.
    pub fn is_carried(&self) -> bool {
        self.loops == Loops::Open && self.iops >= CARRIED * self.offered && !self.is_behind()
    }

    /// Whether open loops, beside closed ones or not, did clearly less than they were asked for: by more than a little, and by
    /// more than chance makes of arrivals.
    pub fn falls_short(&self) -> bool {
        let missing = self.offered - self.open_iops;
        let chance = BEHIND_SIGMAS * (self.offered / self.seconds.max(f64::MIN_POSITIVE)).sqrt();
        missing > (1.0 - CARRIED) * self.offered && missing > chance
    }

    /// Whether it is certain that open loops were asked for more than was done, however little more: a hop is full, and what
    /// is missing is more than chance makes of arrivals, or the analytic solver misses it, too.
    pub fn is_behind(&self) -> bool {
        if self.loops != Loops::Open || self.offered <= 0.0 {
            return false;
        }
        let is_full = |hop: &ObservedHop| hop.served.is_some_and(|of| of.share >= BEHIND_FULL);
        let missing = 1.0 - self.iops / self.offered;
        let chance = BEHIND_SIGMAS / (self.offered * self.seconds).sqrt();
        let solved = self.experiments.as_ref().and_then(Experiments::iops);
        let solver_misses = solved.is_some_and(|iops| iops < (1.0 - BEHIND) * self.offered);
        missing > BEHIND && (missing > chance || solver_misses) && self.hops.iter().any(is_full)
    }

    /// Whether the load was issued by others and only observed.
    pub fn is_observed(&self) -> bool {
        self.loops == Loops::Observed
    }

    /// How much of an observed load's time may have passed at a full place that was not seen to be full: where no limit is
    /// known, 0 to 1. A load that was issued here has none.
    pub fn unseen(&self) -> f64 {
        if !self.is_observed() {
            return 0.0;
        }
        let seen = |kinds: &[HopKind]| {
            self.hops.iter().any(|hop| hop.served.is_some() && kinds.contains(&hop.kind))
        };
        // Without a limit that is known of each layer behind the host, what waits may wait there.
        let told = LAYERS.iter().all(|layer| seen(layer));
        let dark = |hop: &ObservedHop| hop.role == HopRole::Device && hop.is_dark();
        if !told || self.hops.iter().any(dark) {
            return 1.0;
        }
        self.unexplained().map_or(0.5, |share| (share / 0.4).min(1.0))
    }

    /// How much may have been full between samples: a mean of 60% over 20 s may be 12 s at 100%.
    pub fn between(&self) -> f64 {
        let most = self.hops.iter().map(ObservedHop::share).fold(0.0, f64::max).min(1.0);
        let slots =
            self.hops.iter().filter_map(|hop| hop.slots.map(|full| full.share)).fold(0.0, f64::max);
        most.max(slots.min(1.0)) * (self.resolution / 20.0).min(1.0)
    }

    /// How long the samples of an observed load are, from 0 at 20 s to 1 at 300 s.
    pub fn blur(&self) -> f64 {
        if !self.is_observed() {
            return 0.0;
        }
        ((self.resolution / BLUR.0).ln() / (BLUR.1 / BLUR.0).ln()).clamp(0.0, 1.0)
    }

    /// In flight as a share of the depth, whether or not slots pause.
    pub fn present_share(&self) -> f64 {
        self.in_flight.map_or(1.0, |n| (n / self.depth).min(1.0))
    }

    /// In flight as a share of the depth, in closed loops that never pause.
    pub fn fill(&self) -> Option<f64> {
        let alone = self.loops == Loops::Closed && self.thinking == 0.0 && self.depth > 0.0;
        alone.then(|| self.in_flight.map(|n| (n / self.depth).min(1.0))).flatten()
    }

    /// Whether the generators reported on themselves.
    pub fn testified(&self) -> bool {
        self.generator.limit != Limit::NoTestimony
    }

    /// What part of the I/O goes through a hop, 0 to 1; `None` where it does not count I/O.
    pub fn traffic(&self, hop: &ObservedHop) -> Option<f64> {
        let bytes = match (hop.load.read_bytes_per_s, hop.load.write_bytes_per_s) {
            (None, None) => None,
            (read, write) => Some(read.unwrap_or(0.0) + write.unwrap_or(0.0)),
        };
        let share = |part: Option<f64>, whole: f64| part.filter(|_| whole > 0.0).map(|p| p / whole);
        share(bytes, self.bytes_per_s).or_else(|| share(hop.load.iops, self.iops))
    }

    /// In flight and not waiting for a queue limit: what is under way within the hops.
    pub fn inside(&self) -> Option<f64> {
        let outside: f64 = self.hops.iter().filter_map(|hop| hop.load.slots_waiting).sum();
        self.in_flight.map(|n| (n - outside).max(n * 0.01))
    }

    /// The share of an operation's time at no hop with a known utilization; `None` where no hop counts residence times.
    pub fn unexplained(&self) -> Option<f64> {
        let known = || self.hops.iter().filter(|hop| !hop.is_dark());
        // Hops with a utilization but no queue length explain no time and hide none.
        if known().next().is_some() && known().all(|hop| hop.load.queue.is_none()) {
            return None;
        }
        let there: f64 = known().filter_map(|hop| hop.present).sum();
        self.in_flight.map(|n| (1.0 - there / n).clamp(0.0, 1.0))
    }
}

/// The length that most samples of a step's hops have, in seconds.
fn resolution(step: &StepData) -> f64 {
    let counted = step.counters.iter().filter(|(_, c)| c.kind.meaning() != Some(Meaning::Setting));
    let mut lengths: Vec<u64> =
        counted.take(SAMPLES_MAX).map(|(_, c)| c.to.since(c.from).0).collect();
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).map_or(0.0, |ns| *ns as f64 / 1e9)
}

impl ObservedHop {
    fn of(
        order: usize,
        (source, kind): (&Source, HopKind),
        counts: &OfSource,
        (facts, observed): (&[Fact], bool),
    ) -> ObservedHop {
        let sum = |read: Option<f64>, write: Option<f64>| match (read, write) {
            (None, None) => None,
            (read, write) => Some(read.unwrap_or(0.0) + write.unwrap_or(0.0)),
        };
        let (read, write) = (counts.rate(CounterId::ReadBytes), counts.rate(CounterId::WriteBytes));
        let iops = sum(counts.rate(CounterId::ReadOps), counts.rate(CounterId::WriteOps));
        let queue = counts.queue();
        let busy_ns = sum(counts.rate(CounterId::ReadTime), counts.rate(CounterId::WriteTime));
        let mean_ns = busy_ns.zip(iops).filter(|(_, n)| *n > 0.0).map(|(time, n)| time / n);
        let by_little = || queue.zip(iops).filter(|(_, n)| *n > 0.0).map(|(q, n)| q / n * 1e9);
        let port = counts.capacity(CounterId::PortRate);
        let rates = (
            counts.capacity(CounterId::ReadRate).or(port),
            counts.capacity(CounterId::WriteRate).or(port),
            counts.capacity(CounterId::BothRate),
        );
        let served = fullest([
            gauge(read, rates.0, Gauge::Receive),
            gauge(write, rates.1, Gauge::Transmit),
            gauge(sum(read, write), rates.2, Gauge::Both),
            gauge(iops, counts.capacity(CounterId::OpsRate), Gauge::Ops),
            busy(counts, kind, queue, observed),
            processors(counts, &source.name, facts),
            quota(counts, &source.name, facts),
            machine(counts),
            softirq(counts),
        ]);
        let room = counts.capacity(CounterId::Slots);
        let slots = gauge(counts.level(CounterId::SlotsUsed), room, Gauge::Slots);
        let top = fullest([served, slots]);
        let load = HopLoad {
            hop: source.name.clone(),
            device: source.group.clone(),
            read_bytes_per_s: read,
            write_bytes_per_s: write,
            read_rate_bytes_per_s: rates.0,
            write_rate_bytes_per_s: rates.1,
            iops,
            utilization: top.map(|full| full.share),
            of: top.map(|full| full.gauge),
            capacity: top.and_then(|full| full.capacity),
            queue,
            waiting: counts.level(CounterId::Waiting),
            slots_waiting: counts.level(CounterId::SlotsWaiting),
            mean_ns: mean_ns.or_else(by_little),
            latency_share: None,
            headroom: top.filter(|full| full.share > 0.0).map(|full| 1.0 / full.share),
        };
        ObservedHop {
            load,
            agent: source.agent.clone(),
            kind,
            role: HopRole::of(kind),
            alike: Alike::of(source, kind),
            served,
            slots,
            present: queue,
            silent: counts.is_silent(),
            even: false,
            steady: false,
            summed: false,
            order,
        }
    }

    /// Which of its limits a gauge is of.
    pub fn why(&self, gauge: Gauge) -> HopLimit {
        match gauge {
            Gauge::Slots => HopLimit::Slots,
            Gauge::Receive | Gauge::Transmit | Gauge::Both => HopLimit::Rate,
            Gauge::Quota => HopLimit::Cpu,
            _ if self.role == HopRole::Cpu => HopLimit::Cpu,
            Gauge::Ops | Gauge::Busy => HopLimit::Ops,
        }
    }

    /// Those that wait there, for service or for a place.
    pub fn waits(&self) -> Option<f64> {
        match (self.load.waiting, self.load.slots_waiting) {
            (Some(served), Some(slots)) => Some(served.max(slots)),
            (served, slots) => served.or(slots),
        }
    }

    /// Whether it has no known limit that something else would have.
    pub fn is_dark(&self) -> bool {
        let load = &self.load;
        // What counts no I/O of its own, as the connections of a host, carries none that could be held up there.
        let aside = self.kind == HopKind::Other
            && !self.silent
            && load.iops.is_none()
            && load.read_bytes_per_s.or(load.write_bytes_per_s).or(load.queue).is_none();
        self.served.is_none() && self.slots.is_none() && !self.summed && !aside
    }

    pub fn name(&self) -> &str {
        &self.load.hop
    }

    /// Whether it was announced, counted nothing, and may be full: not a device below the one that is loaded.
    pub fn is_unseen(&self) -> bool {
        self.silent && !self.summed && self.kind != HopKind::BlockDevice
    }

    /// How full it is served, 0 where that is not known.
    pub fn share(&self) -> f64 {
        self.served.map_or(0.0, |full| full.share)
    }
}

/// Marks what hosts see behind them where the array's own hops are in the record with their limits.
fn sum_up(hops: &mut [ObservedHop]) {
    let told = LAYERS
        .iter()
        .all(|layer| hops.iter().any(|hop| hop.served.is_some() && layer.contains(&hop.kind)));
    for hop in hops.iter_mut().filter(|hop| hop.kind == HopKind::BehindHost) {
        hop.summed = told;
    }
}

/// Finds hops that are crossed at once, and leaves at them what they explain.
fn cross(hops: &mut [ObservedHop]) {
    let path = |hop: &ObservedHop| {
        hop.role == HopRole::Path && hop.slots.is_none() && hop.served.is_some()
    };
    let mut by_queue: Vec<(usize, f64)> = (0..hops.len())
        .filter(|place| path(&hops[*place]))
        .filter_map(|place| Some((place, hops[place].load.queue.filter(|queue| *queue > 0.0)?)))
        .collect();
    by_queue.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    for crossing in by_queue.chunk_by(|a, b| b.1 <= a.1 * (1.0 + SAME_CROSSING)) {
        if crossing.len() < 2 {
            continue;
        }
        let share = |place: usize| hops[place].share();
        let fullest = crossing.iter().map(|of| of.0).max_by(|a, b| share(*a).total_cmp(&share(*b)));
        for (place, queue) in crossing {
            let share = hops[*place].share();
            let explained = if share < 1.0 { EXPLAINED * share / (1.0 - share) } else { *queue };
            let present = if Some(*place) == fullest { explained.min(*queue) } else { 0.0 };
            hops[*place].present = Some(present);
        }
    }
}

fn gauge(value: Option<f64>, capacity: Option<f64>, gauge: Gauge) -> Option<Utilization> {
    let (value, capacity) = value.zip(capacity)?;
    Some(Utilization { share: value / capacity, gauge, capacity: Some(capacity) })
}

/// The time of its servers.
fn busy(
    counts: &OfSource,
    kind: HopKind,
    queue: Option<f64>,
    observed: bool,
) -> Option<Utilization> {
    let share = counts.rate(CounterId::Busy)? / 1e9;
    // One request after the other may be the load's doing. A device that is often idle is not full, however it works.
    let serial = match observed {
        true => share <= OFTEN_IDLE,
        false => queue.is_some_and(|queue| queue <= SERIAL),
    };
    (kind != HopKind::BlockDevice || serial).then_some(Utilization {
        share,
        gauge: Gauge::Busy,
        capacity: None,
    })
}

/// The processor time of an embedded array, of as many processors as it has threads.
fn processors(counts: &OfSource, hop: &str, facts: &[Fact]) -> Option<Utilization> {
    let cpu = counts.rate(CounterId::Cpu)? / 1e9;
    let threads = threads(hop, facts)?;
    Some(Utilization { share: cpu / threads, gauge: Gauge::Busy, capacity: None })
}

/// The threads that serve an embedded array.
fn threads(hop: &str, facts: &[Fact]) -> Option<f64> {
    let fact = facts.iter().find(|fact| fact.subject == hop && fact.key == "threads")?;
    fact.value.parse::<f64>().ok().filter(|threads| *threads > 0.0)
}

/// A quota of processor time. The kernel says how many periods ended with it used up. Threads that keep to it themselves rest for
/// all the time that it does not give them, once they have used it up.
fn quota(counts: &OfSource, hop: &str, facts: &[Fact]) -> Option<Utilization> {
    let quota = counts.capacity(CounterId::CpuQuota)?;
    let share = match counts.capacity(CounterId::CpuPeriod) {
        Some(period) => counts.rate(CounterId::CpuThrottles)? * period / 1e9,
        None => {
            let rest = threads(hop, facts)? - quota;
            counts.rate(CounterId::CpuThrottled).filter(|_| rest > 0.0)? / 1e9 / rest
        }
    };
    let share = share.min(1.0);
    Some(Utilization { share, gauge: Gauge::Quota, capacity: Some(quota) })
}

/// The processors of a machine, all that run on it together. Workers that look for answers would sleep if anybody needed their
/// processors.
fn machine(counts: &OfSource) -> Option<Utilization> {
    let polled = counts.rate(CounterId::CpuPolled).unwrap_or(0.0);
    let busy = (counts.rate(CounterId::CpuBusy)? - polled).max(0.0) / 1e9;
    let count = counts.capacity(CounterId::CpuCount)?;
    Some(Utilization { share: (busy / count).min(1.0), gauge: Gauge::Busy, capacity: None })
}

/// One processor that is full of interrupts and what they leave to be done: no other takes its work.
fn softirq(counts: &OfSource) -> Option<Utilization> {
    let most = counts.level(CounterId::CpuSoftirqMost).filter(|most| *most >= SOFTIRQ_BOUND)?;
    Some(Utilization { share: (most / 100.0).min(1.0), gauge: Gauge::Busy, capacity: None })
}

/// The fullest gauge. The time of a wire is that of its rate, so one with a rate goes before one that is as full.
fn fullest<const N: usize>(gauges: [Option<Utilization>; N]) -> Option<Utilization> {
    let most = gauges.iter().flatten().map(|full| full.share).reduce(f64::max)?;
    gauges.into_iter().flatten().find(|full| full.share >= most * AS_FULL)
}
