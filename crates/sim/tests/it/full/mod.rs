//! No hop is more than full, in any window: labs drawn at random, with loads that fill them, in windows of odd lengths.
//!
//! What a lab can carry is worked out here from the text that was drawn, by the standards, and not by what the simulator
//! says of its hops.

mod draw;

use crate::simulate::support::writer;
use campaign::Control;
use draw::Drawn;
use record::{Completed, Counter, CounterId, Record};
use scenario::{Scenario, Source};
use sim::simulate::{Named, Order, simulate};
use std::collections::BTreeMap;

/// Labs that are drawn.
const LABS: u64 = 32;

fn scenario(text: &str) -> Scenario {
    let source =
        Source { name: "drawn.toml".to_owned(), text: text.to_owned(), ..Source::default() };
    scenario::load(&source).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"))
}

/// Simulates a lab as the program does.
fn record(text: &str, dir: &std::path::Path) -> Record {
    let scenario = scenario(text);
    let topology = scenario.topology().unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
    let compile = |step: &scenario::Step| {
        sim::lab::compile(&scenario, &topology, step).map_err(|wrong| wrong.to_string())
    };
    let path = dir.join("run.wsr");
    let stop = Control::new();
    let order = Order {
        stages: &scenario.stages(),
        named: &Named { hops: Default::default(), sums: Default::default() },
        seed: scenario.head.seed,
        threads: 2,
        settle: false,
        compile: &compile,
        stop: &stop,
    };
    let outcome = simulate(&order, writer(&path, text), &mut |_| {}).expect("a record");
    assert_eq!(outcome.failure, None, "{text}");
    Record::open(&path).expect("a record")
}

/// How much of something was counted, and how much there can be at most; `None` where either is not known.
type Gauge = (&'static str, Option<f64>, Option<f64>);

/// Checks what every hop counted in every window against its limits; how many figures there were.
#[track_caller]
fn check_hops(record: &Record, text: &str) -> usize {
    use CounterId::{BothRate, Busy, OpsRate, ReadBytes, ReadOps, ReadRate};
    use CounterId::{Slots, SlotsUsed, WriteBytes, WriteOps, WriteRate};
    let names: BTreeMap<_, _> = record.sources().iter().map(|of| (of.id, &of.name)).collect();
    let counters = record.counters(Some(0)).expect("counters");
    let limit = |source, wanted: CounterId| {
        let is = |c: &&Counter| c.source == source && c.kind.id() == Some(wanted);
        counters.iter().find(is).map(|found| found.value)
    };
    let mut windows: BTreeMap<_, BTreeMap<CounterId, f64>> = BTreeMap::new();
    for counter in &counters {
        let Some(id) = counter.kind.id() else { continue };
        let of = windows.entry((counter.source, counter.from, counter.to)).or_default();
        of.insert(id, counter.value);
    }
    let mut checked = 0;
    for ((source, from, to), of) in &windows {
        let seconds = to.since(*from).as_secs_f64();
        let sum =
            |ids: &[CounterId]| -> Option<f64> { ids.iter().map(|id| of.get(id).copied()).sum() };
        let most = |id, more: f64| limit(*source, id).map(|rate| rate * seconds + more);
        // What is left of a byte, and an I/O of each server, may be of what began before.
        let gauges: [Gauge; 6] = [
            ("read", sum(&[ReadBytes]), most(ReadRate, 1.0)),
            ("written", sum(&[WriteBytes]), most(WriteRate, 1.0)),
            ("in both directions", sum(&[ReadBytes, WriteBytes]), most(BothRate, 2.0)),
            ("I/Os", sum(&[ReadOps, WriteOps]), most(OpsRate, 64.0)),
            ("busy", sum(&[Busy]), Some(seconds * 1e9 + 1.0)),
            ("slots", sum(&[SlotsUsed]), limit(*source, Slots).map(|slots| slots * 1.000_001)),
        ];
        for (what, counted, most) in gauges {
            let Some((counted, most)) = counted.zip(most) else { continue };
            checked += 1;
            let hop = names[source];
            assert!(
                counted <= most,
                "{hop}: {counted} {what} of {most} from {from:?} to {to:?}\n{text}"
            );
        }
    }
    checked
}

/// What the workers moved in every window is no more than the ways into their host carry.
#[track_caller]
fn check_workers(record: &Record, lab: &Drawn) {
    let mut windows: BTreeMap<_, [f64; 2]> = BTreeMap::new();
    let intervals = record.intervals(0).expect("intervals");
    for of in &intervals {
        let bytes = |of: &Option<Completed>| of.as_ref().map_or(0.0, |of| of.bytes as f64);
        let sum = windows.entry((of.from, of.to)).or_default();
        *sum = [sum[0] + bytes(&of.read), sum[1] + bytes(&of.write)];
    }
    for ((from, to), moved) in windows {
        for (moved, rate) in moved.into_iter().zip(lab.carries) {
            // What is left of a byte at each worker.
            let most = rate * to.since(from).as_secs_f64() + 16.0;
            assert!(moved <= most, "{moved} of {most} from {from:?} to {to:?}\n{}", lab.text);
        }
    }
}

#[test]
fn no_hop_is_more_than_full_in_any_window() {
    let mut checked = 0;
    for seed in 0..LABS {
        let lab = Drawn::new(seed);
        let dir = tempfile::tempdir().expect("a directory");
        let record = record(&lab.text, dir.path());
        checked += check_hops(&record, &lab.text);
        check_workers(&record, &lab);
    }
    assert!(checked > 1000, "only {checked} figures had a limit");
}

#[test]
fn no_hop_is_estimated_to_be_more_than_full() {
    for seed in 0..4 * LABS {
        let lab = Drawn::new(seed);
        let scenario = scenario(&lab.text);
        let topology = scenario.topology().unwrap_or_else(|wrong| panic!("{wrong}"));
        let step = scenario.steps().into_iter().next().expect("a step");
        let plant = sim::lab::compile(&scenario, &topology, &step).expect("a plant");
        let found = sim::estimate::estimate(&plant);
        for (hop, of) in plant.hops.iter().zip(&found.hops) {
            let (limits, [read, written]) = (&hop.limits, of.flows.map(|flow| flow.bytes));
            let gauges: [Gauge; 4] = [
                ("read", Some(read), limits.read_rate),
                ("written", Some(written), limits.write_rate),
                ("in both directions", Some(read + written), limits.both_rate),
                ("busy", Some(of.utilization), Some(1.0)),
            ];
            for (what, found, most) in gauges {
                let (found, most) = (found.unwrap_or(0.0), most.unwrap_or(f64::INFINITY));
                let name = &hop.name;
                assert!(found <= 1.000_01 * most, "{name}: {found} {what} of {most}\n{}", lab.text);
            }
        }
    }
}
