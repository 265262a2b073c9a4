//! What the monitoring of a system shows besides its limit: where latency passes, what waits for credit, errors, who takes
//! most, how much room is left, and what to collect next.
//!
//! Only for loads that were observed and not issued. A mean tells no percentile, a sample no order within it, and a window
//! nothing of the time outside of it; each statement says its window and its samples.

use crate::attribution::{Attribution, Gauge, HopLoad, Limiter};
use crate::figures::{Figures, Loops, StepFigures};
use crate::headroom;
use crate::pool::untimed;
use crate::samples::{HopSamples, Samples};
use crate::step::StepData;
use record::{CounterId, HopKind, Source};
use serde::Serialize;
use units::{count, percent, rate};

/// Operations a second below which the latency of a place says nothing.
const FEW: f64 = 10.0;
/// Twice the clients that would carry so much more are not held up by what is known, which says nothing of the rest.
const FREE: f64 = 0.95;
/// From this share of the time waited for credit on a port is held up.
const CREDIT: f64 = 0.02;
/// What is known for less of the window is said to be.
const KNOWN: f64 = 0.9;
/// Snapshots and Little's law differ by more than chance from here on.
const LITTLE: f64 = 0.3;
/// A group takes much from this share on.
const MUCH: f64 = 0.5;
/// Ports beside each other are uneven from this ratio on.
const UNEVEN: f64 = 1.5;
/// A latency is an incident from this multiple of that of the whole on.
const INCIDENT: f64 = 2.0;
/// Processors are full from this share on.
const CPU_FULL: f64 = 0.95;
/// From this part of the operations on nothing is said of those whose latency is not known.
const TIMED: f64 = 0.95;
/// A place is full from here on in a sample.
const FULL: f64 = 0.97;
/// Statements of one sort for a window.
const MOST: usize = 3;

/// A statement about a window of a monitored system.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MonitoringFinding {
    /// The window, by the number of its step.
    pub step: u32,
    /// What sort of statement it is: `latency-split`, `credit-wait`, `errors`, `noisy-neighbour`, `headroom`, …
    pub code: String,
    /// The hop or group that it is about.
    pub about: String,
    /// The statement.
    pub text: String,
    /// What to do next; empty where there is nothing.
    pub next: String,
}

/// What a window shows beside its figures.
pub(crate) struct Seen {
    step: u32,
    seconds: f64,
    /// The part of the operations whose latency is known; 1 where none is.
    timed: f64,
    hops: Vec<SeenHop>,
}

struct SeenHop {
    name: String,
    device: String,
    kind: HopKind,
    errors: [(&'static str, f64); 3],
    /// Nanoseconds waited for credit, and the seconds in which that was counted.
    credit: Option<(f64, f64)>,
    snapshot: Option<f64>,
    little: Option<f64>,
    bytes: Option<f64>,
    /// Bytes that a port of a switch sent, and the seconds in which they were counted.
    sent: Option<(f64, f64)>,
    samples: HopSamples,
}

impl Seen {
    /// Looks at a step; `None` where its load was issued here.
    pub fn of(step: &StepData, figures: &StepFigures, sources: &[Source]) -> Option<Seen> {
        if figures.loops != Loops::Observed {
            return None;
        }
        let samples = HopSamples::of(step);
        let amount = |source: &Source, id| step.integrals.amount(source.id, id);
        let hop = |source: &Source| {
            let kind = source.hop()?;
            // What was counted was counted, and no more, however little of the time is known.
            let seen = |id| step.integrals.seen(source.id, id);
            let of = |name, id| (name, seen(id).map_or(0.0, |(amount, _)| amount));
            let read = amount(source, CounterId::ReadBytes);
            let write = amount(source, CounterId::WriteBytes);
            Some(SeenHop {
                name: source.name.clone(),
                device: source.group.clone(),
                kind,
                errors: [
                    of("errors", CounterId::Errors),
                    of("frames or packets dropped or sent again", CounterId::Discards),
                    of("aborted commands", CounterId::Aborts),
                ],
                credit: seen(CounterId::CreditWait),
                snapshot: step.integrals.mean(source.id, CounterId::QueueDepthEnd),
                little: step.integrals.mean(source.id, CounterId::SlotsUsed),
                bytes: read.or(write).map(|_| read.unwrap_or(0.0) + write.unwrap_or(0.0)),
                sent: seen(CounterId::ReadBytes),
                samples: samples.get(source.name.as_str()).cloned().unwrap_or_default(),
            })
        };
        Some(Seen {
            step: figures.index,
            timed: timed(step),
            seconds: step.integrals.seconds(),
            hops: sources.iter().filter_map(hop).collect(),
        })
    }
}

/// The part of the operations of a step whose latency is known; 1 where none is.
fn timed(step: &StepData) -> f64 {
    let tallies = || step.workers.iter().flat_map(|worker| worker.tallies());
    let ops: u64 = tallies().map(|tally| tally.ops).sum();
    let without: u64 = tallies().map(untimed).sum();
    if without == ops { 1.0 } else { (ops - without) as f64 / ops as f64 }
}

/// All statements, by window.
pub(crate) fn findings(seen: &[Seen], steps: &[StepFigures]) -> Vec<MonitoringFinding> {
    let mut out = Vec::new();
    let whole = seen.first().and_then(|first| steps.iter().find(|s| s.index == first.step));
    for window in seen {
        let Some(step) = steps.iter().find(|step| step.index == window.step) else { continue };
        let mut about = Window { seen: window, step, whole: whole.unwrap_or(step), out: &mut out };
        // The load of a test is not that of the whole, to which it would be compared.
        if !step.is_test() {
            about.incident();
            about.neighbour();
        }
        about.some();
        about.latency();
        about.snapshots();
        about.credit();
        about.errors();
        about.balance();
        about.headroom();
        about.processors();
        about.collect();
    }
    out
}

/// What a group is compared by.
type Amount = fn(&Figures) -> f64;

struct Window<'a> {
    seen: &'a Seen,
    step: &'a StepFigures,
    whole: &'a StepFigures,
    out: &'a mut Vec<MonitoringFinding>,
}

impl Window<'_> {
    fn say(&mut self, code: &str, about: &str, text: String, next: &str) {
        let (code, about, next) = (code.to_owned(), about.to_owned(), next.to_owned());
        self.out.push(MonitoringFinding { step: self.step.index, code, about, text, next });
    }

    fn found(&self) -> Option<&Attribution> {
        self.step.attribution.as_ref()
    }

    fn hops(&self) -> &[HopLoad] {
        self.found().map(|found| found.hops.as_slice()).unwrap_or_default()
    }

    /// `20 s` or `5 min`: the samples of a hop.
    fn sample(&self, hop: &str) -> String {
        match self.samples(hop).map_or(0.0, |of| of.seconds) {
            s if s >= 120.0 => format!("{} min", count((s / 60.0).round())),
            s => format!("{} s", count((s * 10.0).round() / 10.0)),
        }
    }

    fn samples(&self, hop: &str) -> Option<Samples> {
        let of = self.hops().iter().find(|load| load.hop == hop).and_then(|load| load.of);
        self.seen.hops.iter().find(|seen| seen.name == hop)?.samples.of_gauge(of)
    }

    /// How full a hop was in its fullest sample.
    fn fullest(&self, hop: &str, mean: f64) -> f64 {
        (mean * self.samples(hop).map_or(1.0, |of| of.peak)).min(1.0).max(mean)
    }

    /// A window whose latency is far above that of the whole.
    fn incident(&mut self) {
        let of = |step: &StepFigures| step.total.both.mean_ns;
        let (Some(here), Some(usual)) = (of(self.step), of(self.whole)) else { return };
        if here < INCIDENT * usual {
            return;
        }
        let times = count((here / usual * 10.0).round() / 10.0);
        let text = format!(
            "mean latency was {}, {times} times that of the whole ({})",
            ms(here),
            ms(usual)
        );
        self.say("incident", "", text, "");
    }

    /// A mean latency that is not of all operations.
    fn some(&mut self) {
        let known = self.seen.timed;
        if let Some(mean) = self.step.total.both.mean_ns.filter(|_| known < TIMED) {
            let text = format!(
                "latency is known of {} of the operations: {} is the mean of these",
                part(known),
                ms(mean)
            );
            self.say("latency-of-some", "", text, "");
        }
    }

    /// Where the time of an I/O passes: in the host's kernel, and behind the host.
    fn latency(&mut self) {
        let behind = |hop: &HopLoad| {
            let name = format!("{} behind the host", hop.hop);
            self.hops().iter().find(|other| other.hop == name)?.mean_ns
        };
        let mut split: Vec<(f64, String, String)> = Vec::new();
        for hop in self.hops().iter().filter(|hop| hop.iops.is_some_and(|iops| iops >= FEW)) {
            let (Some(device), Some(queue), Some(iops)) = (behind(hop), hop.queue, hop.iops) else {
                continue;
            };
            let kernel = queue / iops * 1e9;
            let all = kernel + device;
            let text = format!(
                "{}: of {} an I/O spends {} in the host's kernel and its queue ({}) and {} behind the host, in fabric and array ({})",
                hop.hop,
                ms(all),
                ms(kernel),
                part(kernel / all),
                ms(device),
                part(device / all)
            );
            split.push((all * iops, hop.hop.clone(), text));
        }
        split.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, hop, text) in split.into_iter().take(MOST) {
            self.say("latency-split", &hop, text, "");
        }
    }

    /// Snapshots of what is in flight against Little's law.
    fn snapshots(&mut self) {
        let apart = |hop: &SeenHop| {
            let (a, b) = hop.snapshot.zip(hop.little)?;
            let apart = a.max(b) > 2.0 && (a - b).abs() > LITTLE * a.max(b);
            apart.then(|| (hop.name.clone(), a, b))
        };
        let found: Vec<_> = self.seen.hops.iter().filter_map(apart).take(MOST).collect();
        for (name, snapshot, little) in found {
            let text = format!(
                "{name}: its snapshots show {snapshot:.1} commands in flight, throughput times latency {little:.1}: between samples the load is not what it is at them"
            );
            self.say("snapshots-differ", &name, text, "take shorter samples");
        }
    }

    /// Ports that wait for buffer credit.
    fn credit(&mut self) {
        let share = |hop: &SeenHop| hop.credit.map(|(ns, seconds)| ns / 1e9 / seconds);
        let mut held: Vec<(f64, &SeenHop)> =
            self.seen.hops.iter().filter_map(|hop| Some((share(hop)?, hop))).collect();
        held.retain(|(share, _)| *share >= CREDIT);
        held.sort_by(|a, b| b.0.total_cmp(&a.0));
        // Without credit nothing is sent; what is received tells nothing of it.
        let sent = |hop: &SeenHop| {
            let speed = self.hops().iter().find(|load| load.hop == hop.name)?.capacity?;
            let (bytes, seconds) = hop.sent?;
            Some((bytes / seconds / speed).min(1.0))
        };
        let told: Vec<(String, String)> = held
            .iter()
            .take(MOST)
            .map(|(share, hop)| {
                let full = sent(hop).map_or("its speed is not known".to_owned(), |full| {
                    format!("it sent at {} of its speed", part(full))
                });
                let known = hop.credit.map_or(1.0, |(_, seconds)| seconds / self.seen.seconds);
                let time = match known < KNOWN {
                    true => format!("the {} of the window that its file covers", part(known)),
                    false => "the time".to_owned(),
                };
                let text = format!(
                    "{} waited for buffer credit for {} of {time} ({full}): consistent with slow drain of what is connected to it",
                    hop.name,
                    part(*share)
                );
                (hop.name.clone(), text)
            })
            .collect();
        for (hop, text) in told {
            self.say(
                "credit-wait",
                &hop,
                text,
                "look at the device behind that port, and at the credits of its link",
            );
        }
    }

    fn errors(&mut self) {
        let mut wrong: Vec<(f64, String, String)> = Vec::new();
        for hop in &self.seen.hops {
            let some: Vec<String> = hop
                .errors
                .iter()
                .filter(|(_, n)| *n >= 0.5)
                .map(|(what, n)| format!("{} {what}", count(n.round())))
                .collect();
            let sum: f64 = hop.errors.iter().map(|(_, n)| n).sum();
            if !some.is_empty() {
                wrong.push((sum, hop.name.clone(), format!("{}: {}", hop.name, some.join(", "))));
            }
        }
        wrong.sort_by(|a, b| b.0.total_cmp(&a.0));
        for (_, hop, text) in wrong.into_iter().take(MOST) {
            self.say("errors", &hop, text, "");
        }
    }

    /// Who takes most of the bytes, or of the operations, while the others are slow.
    fn neighbour(&mut self) {
        if self.step.groups.len() < 3 {
            return;
        }
        let bytes: Amount = |figures| figures.both.bytes_per_s;
        let operations: Amount = |figures| figures.both.iops;
        let told = [(bytes, "throughput"), (operations, "operations")]
            .into_iter()
            .find_map(|(amount, what)| Some((self.loudest(amount)?, what)));
        let Some(((name, here, usual), what)) = told else { return };
        let text = format!(
            "{name} takes {} of the {what} while the others are slower ({} over the whole): consistent with a noisy neighbour",
            part(here),
            part(usual)
        );
        self.say(
            "noisy-neighbour",
            &name,
            text,
            "limit it for a while and look at the latency of the others",
        );
    }

    /// The group with most of an amount, its share now and over the whole, where it took more than usual and the others were slower.
    fn loudest(&self, amount: Amount) -> Option<(String, f64, f64)> {
        let share = |step: &StepFigures, name: &str| {
            let of = step.groups.iter().find(|group| group.group == name)?;
            let all = amount(&step.total);
            (all > 0.0).then(|| amount(&of.figures) / all)
        };
        let groups = &self.step.groups;
        let most =
            groups.iter().max_by(|a, b| amount(&a.figures).total_cmp(&amount(&b.figures)))?;
        let name = &most.group;
        let (here, usual) = (share(self.step, name)?, share(self.whole, name)?);
        // The mean latency of all others.
        let others = |step: &StepFigures| {
            let of = step.groups.iter().filter(|group| group.group != *name);
            let known = of.filter_map(|g| Some((g.figures.both.iops, g.figures.both.mean_ns?)));
            let (ops, time) = known.fold((0.0, 0.0), |(n, t), (ops, ns)| (n + ops, t + ops * ns));
            (ops > 0.0).then(|| time / ops)
        };
        let slower = others(self.step)? > 1.2 * others(self.whole)?;
        let before = self.whole.groups.iter().find(|group| group.group == *name)?;
        let grew = amount(&most.figures) > 1.2 * amount(&before.figures);
        (slower && grew && here >= MUCH).then(|| (name.clone(), here, usual))
    }

    /// Adapters and ports of one device that carry unlike shares.
    fn balance(&mut self) {
        let kinds =
            [HopKind::Adapter, HopKind::InitiatorPort, HopKind::TargetPort, HopKind::Controller];
        let mut told: Vec<(String, String)> = Vec::new();
        for kind in kinds {
            let mut by_device: Vec<(&str, Vec<&SeenHop>)> = Vec::new();
            for hop in
                self.seen.hops.iter().filter(|h| h.kind == kind && h.bytes.is_some_and(|b| b > 0.0))
            {
                match by_device.iter_mut().find(|(device, _)| *device == hop.device) {
                    Some((_, hops)) => hops.push(hop),
                    None => by_device.push((&hop.device, vec![hop])),
                }
            }
            for (device, hops) in by_device.into_iter().filter(|(_, hops)| hops.len() > 1) {
                let sum: f64 = hops.iter().filter_map(|hop| hop.bytes).sum();
                let of = |hop: &&SeenHop| hop.bytes.unwrap_or(0.0);
                let Some(most) = hops.iter().max_by(|a, b| of(a).total_cmp(&of(b))) else {
                    continue;
                };
                if of(most) > UNEVEN * sum / hops.len() as f64 {
                    let text = format!(
                        "{} carries {} of what {} {} of {device} carry",
                        most.name,
                        part(of(most) / sum),
                        hops.len(),
                        if kind == HopKind::Adapter { "adapters" } else { "ports" }
                    );
                    told.push((most.name.clone(), text));
                }
            }
        }
        for (hop, text) in told.into_iter().take(MOST) {
            self.say(
                "uneven",
                &hop,
                text,
                "look at the multipath policy, and at what the other paths are for",
            );
        }
    }

    /// The room of the hop with the fullest sample.
    fn headroom(&mut self) {
        let known = self.hops().iter().filter_map(|hop| {
            let mean = hop.utilization?;
            Some((self.fullest(&hop.hop, mean), mean, hop))
        });
        let Some((full, mean, hop)) = known.max_by(|a, b| a.0.total_cmp(&b.0)) else { return };
        if !(0.01..0.97).contains(&mean) {
            return;
        }
        let of = match hop.capacity {
            Some(capacity) if capacity > 1e5 => format!(" of {}", rate(capacity)),
            _ => String::new(),
        };
        let (name, sample) = (hop.hop.clone(), self.sample(&hop.hop));
        // Samples that are much alike need no two figures.
        let over = match full - mean >= 0.02 {
            true => format!("in its fullest sample of {sample} ({} over the window)", part(mean)),
            false => format!("at means of {sample}"),
        };
        let what = match hop.of {
            Some(Gauge::Slots) => format!("the queue of {name}"),
            _ => name.clone(),
        };
        let text = match full >= FULL {
            true => {
                let of = of.replacen(" of ", ", at ", 1);
                format!("{what} was full{of}, {over}: no room is left then")
            }
            false => {
                let burst = (1.0 - 3.0 * full).max(0.0);
                let burst = if burst > 0.0 { part(burst) } else { "nothing".to_owned() };
                format!(
                    "{what} is the fullest that is known: {}{of} {over}, which leaves {}; if that sample's load falls into a third of its time, {burst}. {}",
                    part(full),
                    part(1.0 - full),
                    self.more(full, mean)
                )
            }
        };
        self.say("headroom", &name, text, "");
    }

    /// How much more of the load fits, of arrivals that wait for no answer and of clients that do.
    fn more(&self, full: f64, mean: f64) -> String {
        let both = &self.step.total.both;
        let in_flight = both.mean_ns.map(|mean| both.iops * mean / 1e9);
        let waiting = in_flight
            .and_then(|n| Some((n, headroom::closed(mean, n)?)))
            .filter(|(_, more)| *more < FREE);
        let waiting = waiting.map_or(String::new(), |(n, more)| {
            format!(
                "; twice as many clients that do ({} in flight now, without think time) would carry up to {} more, if nothing else holds them up",
                count((n * 10.0).round() / 10.0),
                part(more)
            )
        });
        let open = match headroom::open(full) {
            more if more < 2.0 => format!("grow by {}", part(more)),
            more => format!("become {} times as many", count((more + 1.0).round())),
        };
        format!("Arrivals that wait for no answer may {open} until it is full{waiting}")
    }

    /// Processors that were full, where nothing else is known to limit. Their limit is known; whose work filled them is not.
    fn processors(&mut self) {
        if !matches!(self.found().map(|found| &found.limit), Some(Limiter::Unknown { .. })) {
            return;
        }
        let kind =
            |name: &str| self.seen.hops.iter().find(|seen| seen.name == name).map(|seen| seen.kind);
        let is_cpu = |name: &str| matches!(kind(name), Some(HopKind::HostCpu | HopKind::VmCpu));
        let known = self.hops().iter().filter_map(|hop| Some((hop.utilization?, hop.hop.clone())));
        let peaks = known.map(|(share, name)| (self.fullest(&name, share), name));
        let full = peaks.filter(|(share, name)| *share >= CPU_FULL && is_cpu(name)).take(MOST);
        let full: Vec<(f64, String, bool)> = full
            .map(|(share, name)| (share, name.clone(), kind(&name) == Some(HopKind::VmCpu)))
            .collect();
        for (share, name, own) in full {
            if own {
                // A generator counts its own time, and no other program's.
                let text = format!(
                    "{name} was full, {} of a processor at means of {}: consistent with the generator's own thread as the limit",
                    part(share),
                    self.sample(&name)
                );
                let next =
                    "run more jobs or threads, or cheaper operations: if throughput grows, it was";
                self.say("processors-full", &name, text, next);
                continue;
            }
            let text = format!(
                "{name} was full, {} busy at means of {}: consistent with processors as the limit of this load, or with other programs that take them",
                part(share),
                self.sample(&name)
            );
            let next = "see whose work it is: `pidstat -u 5` on Linux, `%USED` by world in esxtop, `Process\\% Processor Time` in perfmon";
            self.say("processors-full", &name, text, next);
        }
    }

    /// The commands that would tell what is not determined.
    fn collect(&mut self) {
        let Some(Limiter::Unknown { missing }) = self.found().map(|found| &found.limit) else {
            return;
        };
        let mut told: Vec<(String, &'static str)> = Vec::new();
        for what in missing {
            let hop = what.split_once(" of ").map_or(what.as_str(), |(_, hop)| hop);
            let kind = self.seen.hops.iter().find(|seen| seen.name == hop).map(|seen| seen.kind);
            let command = command_of(kind);
            if !told.iter().any(|(_, known)| *known == command) && told.len() < MOST {
                told.push((what.clone(), command));
            }
        }
        for (what, command) in told {
            let text = format!("not determined without the {what}");
            self.say("collect", &what, text, command);
        }
    }
}

/// The command that counts what is missing, by the kind of the hop.
fn command_of(kind: Option<HopKind>) -> &'static str {
    match kind {
        Some(HopKind::BehindHost) => {
            "collect the array's own counters of that LUN and of its ports and controllers over the same time, and the switches' (`wirespeed explain --collect`)"
        }
        Some(HopKind::Volume | HopKind::Disks | HopKind::Controller) => {
            "collect utilization or limits from the array (`wirespeed explain --collect`)"
        }
        Some(
            HopKind::SwitchPort
            | HopKind::Trunk
            | HopKind::TargetPort
            | HopKind::InitiatorPort
            | HopKind::Adapter,
        ) => "name the port's speed in a file for `--topology`, or walk IF-MIB, which has it",
        Some(HopKind::BlockDevice) => {
            "a device that serves many requests at once has no limit that its own counters show: collect samples at two loads (`wirespeed explain --collect` has the commands), or name its limit in a file for `--topology`"
        }
        _ => "`wirespeed explain --collect` prints the commands for hosts, switches and arrays",
    }
}

/// A time in milliseconds.
fn ms(ns: f64) -> String {
    match ns / 1e6 {
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 1.0 => format!("{ms:.1} ms"),
        ms => format!("{ms:.2} ms"),
    }
}

fn part(share: f64) -> String {
    percent((share * 100.0).round())
}
