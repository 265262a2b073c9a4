//! What hops count agrees with what workers saw: nothing is lost on the way, and Little's law holds at each.

use super::support::{PLAIN, counters, plant, run, text};
use record::{Phase, SourceKind};

const PLAN: &str = "warmup = \"500ms\"\nmeasure = \"2500ms\"\ncooldown = \"200ms\"";

/// Of a counter over all intervals of the step: the sum, or the mean over time of a level.
fn sum(record: &record::Record, hop: &str, name: &str) -> f64 {
    counters(record, 0, hop, name).iter().map(|(value, _)| value).sum()
}

fn area(record: &record::Record, hop: &str, name: &str) -> f64 {
    counters(record, 0, hop, name).iter().map(|(value, seconds)| value * seconds).sum()
}

#[test]
fn intervals_tile_the_step_at_seconds_and_edges() {
    let kept = run(&text(PLAN), &PLAIN, plant);
    let intervals = kept.record.intervals(0).expect("intervals");
    let of_first: Vec<(Phase, u64, u64)> = intervals
        .iter()
        .filter(|interval| interval.source.0 == 0)
        .map(|interval| (interval.phase, interval.from.0 / 1_000_000, interval.to.0 / 1_000_000))
        .collect();
    let expected = [
        (Phase::Warmup, 0, 500),
        (Phase::Measure, 500, 1000),
        (Phase::Measure, 1000, 2000),
        (Phase::Measure, 2000, 3000),
        (Phase::Cooldown, 3000, 3200),
    ];
    assert_eq!(of_first, expected);
    assert!(intervals.iter().all(|interval| interval.testimony.is_none()));
}

#[test]
fn hops_count_what_workers_did() {
    let kept = run(&text(PLAN), &PLAIN, plant);
    let record = &kept.record;
    let intervals = record.intervals(0).expect("intervals");
    let ops = |of: fn(&record::Interval) -> &Option<record::Completed>| {
        intervals.iter().flat_map(&of).map(|tally| tally.ops).sum::<u64>() as f64
    };
    let (reads, writes) = (ops(|i| &i.read), ops(|i| &i.write));
    assert!(reads > writes && writes > 100.0, "{reads} reads, {writes} writes");
    // Those under way at the end have passed the disk, or are on the wire: there, and at the workers, by the part that
    // has crossed, of which whole I/Os count.
    for (hop, slack) in [("disk", 8.0), ("wire", 2.0)] {
        for (name, ops) in [("read-ops", reads), ("write-ops", writes)] {
            let counted = sum(record, hop, name);
            let more = counted - ops;
            assert!(more >= -2.0 && more <= slack, "{hop} {name}: {counted} of {ops}");
        }
        for (name, of) in [("read-bytes", "read-ops"), ("write-bytes", "write-ops")] {
            let part = sum(record, hop, name) / 8192.0 - sum(record, hop, of);
            // A fraction of an I/O a cut at most.
            assert!((-5.0..=5.0).contains(&part), "{hop}: {part}");
        }
    }
}

#[test]
fn littles_law_holds_at_every_hop() {
    let kept = run(&text(PLAN), &PLAIN, plant);
    for hop in ["disk", "wire", "t1.queue"] {
        let record = &kept.record;
        let stayed = (sum(record, hop, "read-time") + sum(record, hop, "write-time")) / 1e9;
        let present = area(record, hop, "queue-depth-mean");
        // They differ by what those present at the end have stayed so far; those on both links of the wire are on two.
        let times = if hop == "wire" { 2.0 } else { 1.0 };
        let (low, high) = (present - stayed, 8.0 * 0.05 * times);
        assert!(low.abs() < high, "{hop}: {present} present, {stayed} stayed");
    }
}

#[test]
fn utilization_is_at_most_one_and_limits_hold() {
    let kept = run(&text(PLAN), &PLAIN, plant);
    let record = &kept.record;
    for hop in ["disk", "wire"] {
        let busy = counters(record, 0, hop, "busy");
        assert!(busy.iter().all(|(ns, seconds)| *ns <= seconds * 1e9), "{busy:?}");
    }
    let used = counters(record, 0, "t1.queue", "slots-used");
    assert!(used.iter().all(|(mean, _)| *mean > 0.0 && *mean <= 3.0), "{used:?}");
    let waiting = area(record, "t1.queue", "slots-waiting") / 3.2;
    assert!(waiting > 0.5 && waiting <= 1.0, "four of which three are let in: {waiting}");
    assert_eq!(counters(record, 0, "wire", "read-rate"), [(2e8, 2.5)]);
    assert_eq!(counters(record, 0, "wire", "servers"), [(1.0, 2.5)]);
    assert_eq!(counters(record, 0, "disk", "read-rate"), []);
}

#[test]
fn sources_and_facts_mark_the_record_as_simulated() {
    let kept = run(&text(PLAN), &PLAIN, plant);
    let record = &kept.record;
    assert!(record.sources().iter().all(|source| source.agent == "simulator"));
    let workers = record.sources().iter().filter(|source| source.kind == SourceKind::Worker);
    assert_eq!(workers.map(|worker| worker.name.as_str()).collect::<Vec<_>>(), ["t1", "t2"]);
    let fact = |subject: &str, key: &str| {
        let fact = record.facts().iter().find(|fact| fact.subject == subject && fact.key == key);
        fact.map(|fact| fact.value.as_str())
    };
    assert_eq!(fact("run", "simulated"), Some("yes"));
    assert_eq!(fact("wire", "wire-rate"), Some("200.000000 MB/s"));
    assert_eq!(fact("t1.queue", "wire-rate"), None);
    assert_eq!(fact("disk", "assumed/latency"), Some("400 us (made up)"));
    assert_eq!(record.steps()[0].workers.len(), 2);
}
