//! What crosses the edge of a window counts on each side by the share of its transfer there: no wire carries more than it
//! can, whatever began together.

use super::support::{Kept, PLAIN, counters, run, text};
use record::{Loop, Phase};
use scenario::Step;
use scenario::topology::HopKind;
use sim::model::*;
use sim::plant::{HopElement, HopLimits, Issuer, Plant, PlantHop};

/// Bytes of an I/O, and of a second of the slow wire.
const BYTES: u32 = 65_536;
const RATE: u64 = 100_000_000;
/// I/Os that each worker keeps outstanding. All of both workers begin together, and end together 84 ms later.
const DEPTH: u32 = 64;

/// Two workers over a fast wire and then a slow one.
fn wires(_: &Step) -> Plant {
    let mut plant = Plant::default();
    let fast = plant.network.station(Station::Links { rates: vec![1000 * RATE] });
    let slow = plant.network.station(Station::Links { rates: vec![RATE, 4 * RATE, 4 * RATE] });
    for (number, group) in ["t1", "t2"].into_iter().enumerate() {
        let cross = |station, links: Vec<u16>| Hop::Cross {
            station,
            links: links.into(),
            scale: 1.0,
            extra: 0,
        };
        let route = vec![cross(fast, vec![0]), cross(slow, vec![0, 1 + number as u16])];
        let load = Load::closed(DEPTH, Law::ZERO, Class::read(BYTES, route));
        plant.issuers.push(Issuer {
            load: plant.network.load(load),
            source: group.to_owned(),
            group: group.to_owned(),
            workload: "w".to_owned(),
            arrivals: Loop::Closed { depth: DEPTH, think: false },
            ops_per_transaction: 1,
            planned: None,
        });
    }
    for (name, place) in
        [("fast", HopElement::ReadLink(fast, 0)), ("wire", HopElement::ReadLink(slow, 0))]
    {
        plant.hops.push(PlantHop {
            name: name.to_owned(),
            kind: HopKind::Link,
            device: "switch".to_owned(),
            part: None,
            places: vec![place],
            passed: Vec::new(),
            limits: HopLimits { read_rate: Some(RATE as f64), ..HopLimits::default() },
        });
    }
    plant
}

fn bytes(kept: &Kept, wanted: impl Fn(Phase) -> bool) -> f64 {
    let intervals = kept.record.intervals(0).expect("intervals");
    let of = intervals.iter().filter(|interval| wanted(interval.phase));
    of.flat_map(|interval| &interval.read).map(|tally| tally.bytes as f64).sum()
}

#[test]
fn no_window_holds_more_than_its_wires_carry() {
    // Windows that begin and end anywhere within the 84 ms of a round.
    for warmup in [10, 100, 125, 150, 167, 190] {
        for measure in [200, 250, 295, 330] {
            let plan =
                format!("warmup = \"{warmup}ms\"\nmeasure = \"{measure}ms\"\ncooldown = \"0s\"");
            let kept = run(&text(&plan), &PLAIN, wires);
            let carried = RATE as f64 * f64::from(measure) / 1e3;
            let counted = bytes(&kept, |phase| phase == Phase::Measure);
            let off = (counted - carried) / f64::from(BYTES);
            // Of each round the fast wire alone takes a thousandth.
            let late = if warmup > 20 { 2.0 } else { 160.0 };
            assert!(off <= 2.0 && off >= -late, "{warmup}, {measure}: off by {off} I/Os");
            for (bytes, seconds) in counters(&kept.record, 0, "wire", "read-bytes") {
                let most = RATE as f64 * seconds;
                assert!(bytes <= most + 1.0, "{warmup}, {measure}: {bytes} of {most}");
            }
        }
    }
}

#[test]
fn intervals_add_up_and_histograms_hold_each_once() {
    let plan = "warmup = \"130ms\"\nmeasure = \"2500ms\"\ncooldown = \"110ms\"";
    let kept = run(&text(plan), &PLAIN, wires);
    let intervals = kept.record.intervals(0).expect("intervals");
    let sum = |of: fn(&record::Completed) -> u64| -> u64 {
        intervals.iter().flat_map(|interval| &interval.read).map(of).sum()
    };
    let (ops, ended) = (sum(|tally| tally.ops), sum(|tally| tally.service.count()));
    // I/Os are whole; what is moved of one more counts in bytes.
    let bytes = sum(|tally| tally.bytes);
    assert!(bytes.abs_diff(ops * u64::from(BYTES)) <= 2 * u64::from(BYTES), "{bytes} in {ops}");
    assert!(ops >= ended && ops - ended <= u64::from(2 * DEPTH), "{ops} moved, {ended} ended");
    for interval in intervals.iter().filter(|interval| interval.phase == Phase::Measure) {
        let tally = interval.read.as_ref().expect("reads");
        let seconds = interval.to.since(interval.from).as_secs_f64();
        let share = tally.bytes as f64 / (RATE as f64 / 2.0 * seconds);
        assert!((share - 1.0).abs() < 0.005, "{share} of its half in {interval:?}");
        // Every I/O of a round takes as long as the round.
        let mean = tally.service_sum.0 as f64 / tally.ops as f64 / 1e6;
        assert!((80.0..90.0).contains(&mean), "{mean} ms");
    }
    let rate =
        kept.record.confidences(0).find(|one| one.source.is_none() && one.figure == "total-rate");
    let rate = rate.expect("an interval");
    assert!(rate.low <= 1.0001e8 && rate.high >= 0.998e8, "{rate:?}");
    assert!(rate.high - rate.low < 1e6, "every cell is as full as the wire: {rate:?}");
}

/// What is not measured is not cut as finely as what is: a moment that is measured after a long warm-up takes no longer than
/// both.
#[test]
fn a_moment_is_measured_after_a_long_warm_up() {
    for (warmup, rest) in [("20s", ""), ("1s", "cooldown = \"20s\"")] {
        let plan = format!("warmup = \"{warmup}\"\nmeasure = \"1us\"\n{rest}");
        let kept = run(&text(&plan), &PLAIN, wires);
        assert!(bytes(&kept, |phase| phase == Phase::Warmup) > 0.9 * RATE as f64, "{plan}");
    }
}
