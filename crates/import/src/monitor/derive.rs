//! Counters of hops from what a row of a table observes: rates times the length of the interval, and times of operations from
//! their latency and number.

use super::model::{Flow, Leg, Measure, Span};
use super::places::Written;
use super::row::{Row, of_leg};
use record::{CounterId, HopKind};

/// How counters follow from what is observed.
pub(super) const DERIVED: &[(&str, &str)] = &[
    ("counts", "rates of the source times the length of its interval"),
    ("read-time", "mean latency of reads times reads"),
    ("write-time", "mean latency of writes times writes"),
    (
        "queue-time",
        "operations in flight times the length of the interval; of a device of a host, the kernel's latency times operations",
    ),
];

const SIDES: [(CounterId, CounterId, CounterId); 2] = [
    (CounterId::ReadOps, CounterId::ReadBytes, CounterId::ReadTime),
    (CounterId::WriteOps, CounterId::WriteBytes, CounterId::WriteTime),
];

/// Operations and bytes of a row, and the time of a leg.
fn flows(
    of: &Row,
    time: [Option<f64>; 2],
    seconds: f64,
    known: bool,
    out: &mut Vec<(CounterId, f64)>,
) {
    for (at, (ops_id, bytes_id, time_id)) in SIDES.into_iter().enumerate() {
        let ops = of.ops[at].map(|rate| rate * seconds);
        out.extend(ops.map(|ops| (ops_id, ops)));
        out.extend(of.bytes[at].map(|rate| (bytes_id, rate * seconds)));
        let spent = ops.and_then(|ops| if ops <= 0.0 { Some(0.0) } else { Some(ops * time[at]?) });
        out.extend(spent.filter(|_| known).map(|spent| (time_id, spent)));
    }
}

/// What a hop counted in a row.
pub(super) fn hop(
    place: &Written<'_>,
    row: usize,
    span: Span,
    of: &Row,
    known: bool,
) -> Vec<(CounterId, f64)> {
    let seconds = span.seconds();
    let at = |measure| place.feed.find(place.place, measure).and_then(|column| column.at(row));
    let mut out = Vec::new();
    let queue = place.of.kind == HopKind::LunQueue && place.storage.is_some();
    if queue {
        flows(of, [None, None], seconds, false, &mut out);
        lun_queue(place, row, seconds, of, &mut out);
    } else {
        flows(of, of.time, seconds, known, &mut out);
        out.extend(at(Measure::InFlight).map(|n| (CounterId::QueueTime, n * seconds * 1e9)));
        let little = of.little(of.time).filter(|_| known && at(Measure::InFlight).is_none());
        out.extend(little.map(|n| (CounterId::QueueTime, n * seconds * 1e9)));
        out.extend(place.saturated.map(|rate| (CounterId::OpsRate, rate)));
        out.extend(at(Measure::Slots).map(|n| (CounterId::Slots, n)));
    }
    out.extend(at(Measure::InFlightEnd).map(|n| (CounterId::QueueDepthEnd, n)));
    out.extend(at(Measure::Busy).map(|share| (CounterId::Busy, share * seconds * 1e9)));
    match (at(Measure::Cpu), at(Measure::Processors).filter(|n| *n > 0.0)) {
        (Some(share), Some(count)) => {
            out.push((CounterId::CpuBusy, share * count * seconds * 1e9));
            out.push((CounterId::CpuCount, count));
        }
        (Some(share), None) => out.push((CounterId::Busy, share * seconds * 1e9)),
        _ => {}
    }
    out.extend(at(Measure::Speed).filter(|s| *s > 0.0).map(|speed| (CounterId::PortRate, speed)));
    for (measure, id) in [
        (Measure::Errors, CounterId::Errors),
        (Measure::Discards, CounterId::Discards),
        (Measure::Aborts, CounterId::Aborts),
        (Measure::Merges(Flow::Read), CounterId::ReadMerges),
        (Measure::Merges(Flow::Write), CounterId::WriteMerges),
    ] {
        out.extend(at(measure).map(|rate| (id, rate * seconds)));
    }
    out.extend(at(Measure::CreditWait).map(|share| (CounterId::CreditWait, share * seconds * 1e9)));
    out
}

/// The queue of a device at its host: what waits in the kernel, and the slots that what is behind the adapter takes.
fn lun_queue(
    place: &Written<'_>,
    row: usize,
    seconds: f64,
    of: &Row,
    out: &mut Vec<(CounterId, f64)>,
) {
    let at = |measure| place.feed.find(place.place, measure).and_then(|column| column.at(row));
    let legs = |leg| of.little([Flow::Read, Flow::Write].map(|flow| of_leg(place, row, leg, flow)));
    let waiting = legs(Leg::Kernel);
    out.extend(waiting.map(|n| (CounterId::QueueTime, n * seconds * 1e9)));
    out.extend(at(Measure::Slots).filter(|n| *n > 0.0).map(|n| (CounterId::Slots, n)));
    let used = legs(Leg::Device).or_else(|| at(Measure::InFlightEnd));
    out.extend(used.map(|n| (CounterId::SlotsUsed, n)));
    let queued = legs(Leg::Queue).or(waiting).or_else(|| at(Measure::QueuedEnd));
    out.extend(queued.map(|n| (CounterId::SlotsWaiting, n)));
}

/// What is behind the adapter of a host: fabric and array.
pub(super) fn storage(
    place: &Written<'_>,
    row: usize,
    span: Span,
    of: &Row,
    known: bool,
) -> Vec<(CounterId, f64)> {
    let seconds = span.seconds();
    let time = [Flow::Read, Flow::Write].map(|flow| of_leg(place, row, Leg::Device, flow));
    let mut out = Vec::new();
    flows(of, time, seconds, known, &mut out);
    out.extend(of.little(time).filter(|_| known).map(|n| (CounterId::QueueDepthMean, n)));
    out.extend(place.saturated.map(|rate| (CounterId::OpsRate, rate)));
    out
}
