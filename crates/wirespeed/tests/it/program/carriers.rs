//! One scenario through the in-process agent and a child process: records differ only in provenance and timing.

use crate::prelude::*;
use crate::program::support::{Bench, open};

/// Two VMs on a made file and one worker on `null:`, three steps, an open loop at a fixed rate: reproducible.
const SCENARIO: &str = r#"
scenario = { title = "the same, twice", seed = 42 }
target = [{ name = "data", file = "data.bin", create = "1MiB" }, { name = "n", url = "null:", size = "1MiB" }]
vm = [{ name = "vm{1..2}", disks = [{ target = "data" }] }]
[workload.w]
rows  = [{ size = "4KiB", share = 80, read = 100, random = 50 }, { size = "8KiB", share = 20, read = 50, random = 100 }]
rate  = "500 IOPS"
limit = 8
[plan]
workload = "w"
on       = ["vm*", "n"]
warmup   = "200ms"
measure  = "1s"
cooldown = "200ms"
sweep    = { rate = ["100 IOPS", "300 IOPS", "500 IOPS"] }
[[goal]]
errors = { at_most = 0 }
"#;

#[test]
fn both_carriers_leave_the_same_record() {
    let [(_here, a), (_there, b)] = ["in-process", "child"].map(|agent| {
        let bench = Bench::new(SCENARIO);
        bench.expect(0, &["run", "s.toml", "--agent", agent, "--out", "r.wsr"]);
        let record = open(&bench.path("r.wsr"));
        (bench, record)
    });

    assert_eq!((a.status(), b.status()), (Status::Complete, Status::Complete));
    assert_eq!(a.sources(), b.sources());
    let heads = |r: &Record| (r.head().title.clone(), r.head().scenario.clone(), r.head().seed);
    assert_eq!(heads(&a), heads(&b));
    assert_eq!(timeless_steps(&a), timeless_steps(&b));
    assert_eq!(fact_keys(&a), fact_keys(&b));
    assert_eq!(event_codes(&a), event_codes(&b));
    for step in 0..3 {
        assert_eq!(phases(&a, step), phases(&b, step), "step {step}");
        same_work(&a, &b, step);
    }
}

/// Steps without their moments: settings, lengths of phases, what each worker was asked to do.
fn timeless_steps(record: &Record) -> Vec<String> {
    let lengths = |t: &record::StepTimes| {
        (t.measure.since(t.start), t.cooldown.since(t.measure), t.end.since(t.cooldown))
    };
    record
        .steps()
        .iter()
        .map(|s| {
            format!(
                "{} {:?} {} {:?} {:?}",
                s.plan,
                s.settings,
                s.repetition,
                lengths(&s.times),
                s.workers
            )
        })
        .collect()
}

fn fact_keys(record: &Record) -> Vec<(String, String)> {
    let mut keys: Vec<_> =
        record.facts().iter().map(|f| (f.subject.clone(), f.key.clone())).collect();
    keys.sort();
    keys
}

fn event_codes(record: &Record) -> Vec<String> {
    record.events().iter().map(|e| e.code.clone()).collect()
}

/// Which sources reported which phases: the time base differs, so the cuts at whole seconds do too.
fn phases(record: &Record, step: u32) -> Vec<(u32, record::Phase)> {
    let mut seen: Vec<_> = record
        .intervals(step)
        .expect("intervals are readable")
        .iter()
        .map(|i| (i.source.0, i.phase))
        .collect();
    seen.sort();
    seen.dedup();
    seen
}

/// Both did some of the work, and neither more than was offered. How much of it completes depends on the machine.
fn same_work(a: &Record, b: &Record, step: u32) {
    let ops = |r: &Record| -> BTreeMap<u32, u64> {
        let sum = |x: &Option<record::Completed>| x.as_ref().map_or(0, |t| t.ops);
        let totals = r.totals(step).expect("totals are readable");
        totals.iter().map(|t| (t.source.0, sum(&t.read) + sum(&t.write))).collect()
    };
    let (ours, theirs) = (ops(a), ops(b));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    let offered = [100, 300, 500][step as usize];
    for n in ours.values().chain(theirs.values()) {
        // What was due before the measurement and in flight at its edge completes within it; so does what was late then.
        assert!((1..=offered + offered / 5 + 8).contains(n), "step {step}: {n} of {offered}");
    }
}
