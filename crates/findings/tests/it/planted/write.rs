//! What a simulated lab showed, as the record that the simulator would write.

use super::blueprint::{Blueprint, Crossing, Hidden, Part, Planted, WIRES};
use super::lab::{Lab, names};
use super::trial::Seen;
use clock::Ns;
use record::{
    Completed, Counter, CounterId, Interval, Loop, Phase, Producer, ProducerKind, Record, RunHead,
    ScenarioText, Source, SourceId, SourceKind, Status, StepHead, StepTimes, Testimony, WorkerLoad,
    Writer,
};
use sim::engine::Snapshot;
use sim::model::Station;
use sim::plant::{HopElement, HopLimits, PlantHop};
use std::path::Path;

/// A step of the record: a lab under one load.
pub struct Recorded<'a> {
    pub lab: &'a Lab,
    pub seen: &'a Seen,
}

/// Writes the steps of a lab, and opens what was written; it is gone with its directory.
pub fn record(of: &Blueprint, steps: &[Recorded<'_>]) -> (tempfile::TempDir, Record) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("lab.wsr");
    write(of, steps, &path);
    let record = Record::open(&path).expect("the record opens");
    (dir, record)
}

/// Number of the source of the first hop.
const HOPS: u32 = 100;

fn write(of: &Blueprint, steps: &[Recorded<'_>], path: &Path) {
    let head = RunHead {
        title: format!("{:?} of seed {}", of.planted, of.seed),
        producer: Producer::new(ProducerKind::Simulated, "wirespeed simulate"),
        scenario: ScenarioText { name: "lab.toml".into(), text: String::new(), overrides: vec![] },
        epoch: Ns::ZERO,
        wall_ns: 0,
        seed: of.seed,
    };
    let mut writer = Writer::create(path, &head).expect("a record");
    let source = |id, kind, name: &str, group: &str| Source {
        id: SourceId(id),
        kind,
        name: name.into(),
        group: group.into(),
        agent: "simulator".into(),
    };
    let plant = &steps[0].lab.plant;
    for (n, issuer) in (0..).zip(&plant.issuers) {
        let worker = source(n, SourceKind::Worker, &issuer.source, &issuer.group);
        writer.source(&worker).expect("a worker");
    }
    for (n, hop) in (HOPS..).zip(&plant.hops) {
        if !(hidden(of, &hop.name) && of.style.hidden == Hidden::Absent) {
            let hop = source(n, SourceKind::Hop(hop.kind), &hop.name, &hop.device);
            writer.source(&hop).expect("a hop");
        }
    }
    let mut start = Ns::ZERO;
    for (index, step) in (0..).zip(steps) {
        start = write_step(of, step, index, start, &mut writer);
    }
    writer.finish(Status::Complete).expect("a record");
}

/// Whether a hop is one whose counters are hidden.
fn hidden(of: &Blueprint, hop: &str) -> bool {
    let parts = || of.parts.iter().filter(|_| of.planted == Planted::HiddenCounter);
    parts().any(|part| names(of, *part).iter().any(|name| name == hop))
}

fn ns(cut: &Snapshot) -> Ns {
    cut.at.as_ns()
}

fn write_step(
    of: &Blueprint,
    step: &Recorded<'_>,
    index: u32,
    start: Ns,
    writer: &mut Writer,
) -> Ns {
    let plant = &step.lab.plant;
    let end = step.seen.cuts.iter().fold(start, |at, (cut, _)| at.plus(ns(cut)));
    let workers = (0..).zip(&plant.issuers).map(|(n, issuer)| WorkerLoad {
        source: SourceId(n),
        workload: issuer.workload.clone(),
        arrivals: issuer.arrivals,
        ops_per_transaction: 1,
    });
    let depth: u32 = plant.issuers.iter().fold(0, |sum, issuer| match issuer.arrivals {
        Loop::Closed { depth, .. } => sum + depth,
        Loop::Open { rate } => sum + rate as u32,
        Loop::Observed => sum,
    });
    writer
        .step(&StepHead {
            index,
            plan: "plan".into(),
            settings: vec![("depth".into(), depth.to_string())],
            repetition: 0,
            times: StepTimes { start, measure: start, cooldown: end, end },
            workers: workers.collect(),
            streams: vec![],
        })
        .expect("a step");
    let mut from = start;
    for (cut, carried) in &step.seen.cuts {
        let to = from.plus(ns(cut));
        for worker in 0..plant.issuers.len() {
            let interval = interval(of, step.lab, worker, cut, (index, from, to));
            writer.interval(&interval).expect("an interval");
        }
        for (n, hop) in (HOPS..).zip(&plant.hops) {
            let counters = counters(of, step.lab, hop, cut, carried);
            let left = counters.into_iter().filter(|(name, _)| shown(of, hop, name));
            for (name, value) in left {
                let kind = CounterId::of(name).expect("a counter of the registry").into();
                let (source, step, part) = (SourceId(n), Some(index), None);
                let counter = Counter { source, step, from, to, kind, part, value };
                writer.counter(&counter).expect("a counter");
            }
        }
        from = to;
    }
    writer.step_done(index).expect("a step");
    end
}

/// Whether a counter of a hop is written.
fn shown(of: &Blueprint, hop: &PlantHop, counter: &str) -> bool {
    !hidden(of, &hop.name)
        || (of.style.hidden == Hidden::Rateless
            && matches!(counter, "read-bytes" | "write-bytes" | "read-ops" | "write-ops"))
}

fn interval(
    of: &Blueprint,
    lab: &Lab,
    worker: usize,
    cut: &Snapshot,
    (step, from, to): (u32, Ns, Ns),
) -> Interval {
    let mine = cut.classes.iter().filter(|class| class.load as usize == worker);
    let (mut ops, mut bytes, mut responded, mut present) = ([0_u64; 2], [0_u64; 2], 0_u128, 0_u128);
    for class in mine {
        let write = usize::from(class.tally.bytes[1] > 0);
        ops[write] += class.tally.departures;
        bytes[write] += class.tally.bytes[write];
        responded += class.responded;
        present += class.tally.present;
    }
    let generator = &cut.stations[lab.generators[worker].0 as usize];
    let all: u64 = ops.iter().sum();
    let inside = (present - generator.present) as f64 / 1e12;
    // By Little's law, as operations in flight at the cuts are few beside those that ended.
    let service = Ns(((inside / all.max(1) as f64) * 1e9).max(1.0) as u64);
    let open = of.offered.is_some();
    let response = Ns((responded / u128::from(all.max(1)) / 1000).max(1) as u64);
    let tally = |way: usize| {
        (ops[way] > 0).then(|| {
            let mut tally = Completed::empty(open);
            let each = bytes[way] / ops[way];
            (0..ops[way]).for_each(|_| {
                tally.success(each, service, if open { response.max(service) } else { service });
            });
            tally
        })
    };
    let busy =
        Ns((generator.busy as f64 / 1e3 / f64::from(of.servers[Part::Generator as usize])) as u64);
    let testimony = of.style.testimony.then(|| Testimony {
        own: busy,
        cpu_user: busy,
        in_flight: Ns((inside * 1e9) as u64),
        ..Testimony::default()
    });
    let (source, phase) = (SourceId(worker as u32), Phase::Measure);
    Interval {
        others: Default::default(),
        source,
        step,
        phase,
        from,
        to,
        read: tally(0),
        write: tally(1),
        testimony,
    }
}

/// What a hop counts in an interval.
fn counters(
    of: &Blueprint,
    lab: &Lab,
    hop: &PlantHop,
    cut: &Snapshot,
    carried: &[Vec<f64>],
) -> Vec<(&'static str, f64)> {
    let span = cut.at.0 as f64;
    let network = &lab.plant.network;
    let mut out = Vec::new();
    let (mut queue, mut waiting, mut busy) = (0.0, None, None);
    let mut bytes = [0.0; 2];
    let mut crossing = None;
    for place in &hop.places {
        match place {
            HopElement::Station(station) => {
                let tally = &cut.stations[station.0 as usize];
                queue += tally.present as f64 / span;
                if let Station::Queue { servers, .. } = &network.stations()[station.0 as usize] {
                    waiting = Some((tally.present - tally.busy) as f64 / span);
                    busy = Some(tally.busy as f64 / f64::from(*servers));
                    bytes = tally.bytes.map(|bytes| bytes as f64);
                }
            }
            HopElement::Pool(pool) => {
                let tally = &cut.pools[pool.0 as usize];
                queue += tally.present as f64 / span;
                out.push(("slots-used", tally.busy as f64 / span));
                out.push(("slots-waiting", tally.present as f64 / span));
                if crossing.is_none() {
                    waiting = Some(tally.present as f64 / span);
                    bytes = tally.bytes.map(|bytes| bytes as f64);
                }
            }
            HopElement::ReadLink(station, link) | HopElement::WriteLink(station, link) => {
                let way = usize::from(matches!(place, HopElement::WriteLink(..)));
                bytes[way] = carried[station.0 as usize][usize::from(*link)];
                let Station::Links { rates } = &network.stations()[station.0 as usize] else {
                    continue;
                };
                let share = bytes[way] / rates[usize::from(*link)] as f64 * 1e12;
                busy = Some(busy.unwrap_or(0.0_f64).max(share));
                crossing = Some(*station);
            }
            HopElement::BothLink(..) => {}
        }
    }
    if let Some(station) = crossing {
        let there = cut.stations[station.0 as usize].present as f64 / span;
        match of.style.crossing {
            Crossing::Each => queue += there,
            Crossing::Fullest if slowest(of, &hop.name) => queue += there,
            _ => {}
        }
    }
    if crossing.is_none() || of.style.crossing != Crossing::None || queue > 0.0 {
        out.push(("queue-depth-mean", queue));
    }
    out.extend(waiting.map(|waiting| ("waiting", waiting)));
    out.extend(busy.map(|busy| ("busy", busy / 1e3)));
    let block = f64::from(of.bytes);
    let [read, write] = bytes;
    out.extend([("read-bytes", read), ("write-bytes", write)]);
    out.extend([("read-ops", read / block), ("write-ops", write / block)]);
    out.extend(known(&hop.limits));
    out
}

/// What a hop is known to carry.
fn known(limits: &HopLimits) -> Vec<(&'static str, f64)> {
    let mut out = Vec::new();
    out.extend(limits.servers.map(|servers| ("servers", f64::from(servers))));
    out.extend(limits.slots.map(|slots| ("slots", f64::from(slots))));
    out.extend(limits.read_rate.map(|rate| ("read-rate", rate)));
    out.extend(limits.write_rate.map(|rate| ("write-rate", rate)));
    out
}

/// Whether a wire is one of the slowest part of its path.
fn slowest(of: &Blueprint, hop: &str) -> bool {
    let rate = |part: &&Part| of.wire(**part);
    let slowest = WIRES.iter().min_by(|a, b| rate(a).total_cmp(&rate(b)));
    slowest.is_some_and(|part| names(of, *part).iter().any(|name| name == hop))
}
