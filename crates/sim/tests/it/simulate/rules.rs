//! Warm-ups, searches, failures and early ends go by the rules of the plan.

use super::support::{Asked, PLAIN, counters, plant, plant_with, run, run_until, text};
use campaign::Progress;
use clock::Ns;
use record::{Level, Status};
use sim::Ps;
use sim::model::{Class, Hop, Law, Load, Network, Station, StationId, Table};
use sim::plant::Plant;

const SHORT: &str = "warmup = \"100ms\"\nmeasure = \"1s\"\ncooldown = \"0s\"";

fn codes(kept: &super::support::Kept) -> Vec<&str> {
    kept.record.events().iter().map(|event| event.code.as_str()).collect()
}

#[test]
fn figures_lie_within_their_confidence_intervals() {
    let kept = run(&text(SHORT), &PLAIN, plant);
    let totals = kept.record.totals(0).expect("totals");
    let ops: u64 = totals
        .iter()
        .flat_map(|total| total.read.iter().chain(&total.write))
        .map(|tally| tally.ops)
        .sum();
    let all: Vec<_> = kept.record.confidences(0).filter(|one| one.source.is_none()).collect();
    assert_eq!(all.len(), 6, "{all:?}");
    let iops = all.iter().find(|one| one.figure == "iops").expect("of IOPS");
    assert!(iops.low < ops as f64 && (ops as f64) < iops.high, "{ops} in {iops:?}");
    assert!(iops.high - iops.low < 0.2 * ops as f64, "{iops:?}");
    assert_eq!((iops.level, iops.batches, iops.unit.as_str()), (0.95, 16, "1/s"));
}

#[test]
fn parts_of_a_step_have_intervals_of_their_own() {
    let kept = run(&text(SHORT), &PLAIN, plant);
    let interval = |source: Option<&str>, figure: &str| {
        let found = kept
            .record
            .confidences(0)
            .find(|one| one.source.as_deref() == source && one.figure == figure);
        let found = found.unwrap_or_else(|| panic!("no {figure} of {source:?}"));
        (found.low, found.high, found.batches)
    };
    let holds = |source: Option<&str>, figure: &str, value: f64| {
        let (low, high, batches) = interval(source, figure);
        assert!(
            low <= value && value <= high,
            "{value} in {low} to {high}: {figure} of {source:?}"
        );
        assert!(high - low < 0.4 * value, "{low} to {high}: {figure} of {source:?}");
        assert_eq!(batches, 16);
    };
    let totals = kept.record.totals(0).expect("totals");
    let bytes = |of: &record::StepTotal| of.read.as_ref().map_or(0.0, |tally| tally.bytes as f64);
    for (source, total) in ["t1", "t2"].into_iter().zip(&totals) {
        holds(Some(source), "read-rate", bytes(total));
    }
    let read: f64 = totals.iter().map(bytes).sum();
    holds(Some("t1+t2"), "read-rate", read);
    let (all, sum) = (interval(None, "read-rate"), interval(Some("t1+t2"), "read-rate"));
    assert!((all.0 - sum.0).abs() < 1e-6 * all.0, "the sum of all is all: {all:?} {sum:?}");
    let wire: f64 = counters(&kept.record, 0, "wire", "read-bytes")
        .iter()
        .skip(1)
        .map(|(value, _)| value)
        .sum();
    holds(Some("wire"), "read-rate", wire);
    let of_hop = kept.record.confidences(0).filter(|one| one.source.as_deref() == Some("wire"));
    let figures: Vec<&str> = of_hop.map(|one| one.figure.as_str()).collect();
    assert_eq!(figures, ["iops", "read-rate", "total-rate", "write-rate"], "a hop has rates alone");
}

#[test]
fn a_steady_load_is_measured_at_once_when_steady() {
    let plan =
        "warmup = \"2s\"\nsteady = { within = \"20s\" }\nmeasure = \"1s\"\ncooldown = \"0s\"";
    let kept = run(&text(plan), &PLAIN, plant);
    assert_eq!(kept.outcome.status, Status::Complete);
    let times = kept.record.steps()[0].times;
    assert_eq!(times.measure, Ns::secs(5), "after five rounds");
    assert_eq!(times.end, Ns::secs(6));
    assert_eq!(codes(&kept), ["steady"]);
}

#[test]
fn a_load_that_never_settles_is_measured_at_the_limit() {
    let plan = "warmup = \"0s\"\nsteady = { within = \"6s\", spread = \"0.001%\" }\nmeasure = \"1s\"\ncooldown = \"0s\"";
    let kept = run(&text(plan), &PLAIN, plant);
    assert_eq!(kept.record.steps()[0].times.measure, Ns::secs(6));
    assert_eq!(codes(&kept), ["never-steady"]);
}

/// A crowd stands before the disk at the beginning; each of it comes ten times on average before it is gone.
#[test]
fn a_warm_up_that_is_too_short_is_reported() {
    let slow = |step: &scenario::Step| {
        let mut plant = plant_with(step, Law::Constant(Ps::micros(400)));
        let disk = Hop::visit(StationId(0), Law::Constant(Ps::millis(1)));
        let gone =
            Table::new(&[&[Ps::ZERO; 9][..], &[Ps::secs(10_000)]].concat()).expect("a table");
        plant.network.load(Load::closed(60, Law::Table(gone), Class::read(0, vec![disk])));
        plant
    };
    let kept = run(&text(SHORT), &PLAIN, slow);
    assert_eq!(kept.outcome.status, Status::Complete);
    assert_eq!(codes(&kept), ["warmup-short"]);
    let kept = run(&text(SHORT), &Asked { threads: 1, settle: true }, slow);
    assert_eq!(codes(&kept), ["settled"]);
    assert!(kept.record.steps()[0].times.measure > Ns::millis(250));
}

#[test]
fn a_sufficient_warm_up_is_not_reported() {
    for seed in 0..8 {
        let text = text(SHORT).replace("seed = 7", &format!("seed = {seed}"));
        let kept = run(&text, &PLAIN, plant);
        assert_eq!(codes(&kept), [""; 0], "seed {seed}");
    }
}

#[test]
fn a_search_finds_its_answer_and_says_so() {
    let plan = "warmup = \"100ms\"\nmeasure = \"1s\"\ncooldown = \"0s\"\n\
                search = { over = \"depth\", most = \"iops\", while = \"mean <= 3 ms\", to = 64 }";
    let kept = run(&text(plan), &PLAIN, plant);
    assert_eq!(kept.outcome.status, Status::Complete);
    assert_eq!(codes(&kept).last(), Some(&"search-ended"));
    let text = &kept.record.events().last().expect("an event").text;
    assert!(text.contains("depth"), "{text}");
    assert!(kept.told.iter().any(|told| told.starts_with("Searched")), "{:?}", kept.told.last());
    let steps = kept.record.steps();
    assert!((3..30).contains(&steps.len()));
    assert!(steps.iter().zip(0..).all(|(step, number)| step.index == number));
}

#[test]
fn a_halt_leaves_a_failed_record_with_the_reason() {
    let sweep = format!("{SHORT}\nsweep = {{ depth = [1, 2, 4] }}");
    let bad = |step: &scenario::Step| match step.index {
        1 => Err("there is no such lab".to_owned()),
        _ => Ok(plant(step)),
    };
    let kept = run_until(&text(&sweep), &PLAIN, &bad, |_| false);
    assert_eq!(kept.outcome.status, Status::Failed);
    assert_eq!(kept.outcome.failure, Some((1, "there is no such lab".to_owned())));
    assert_eq!(kept.record.status(), Status::Failed);
    assert_eq!(kept.record.steps().len(), 1);
    let event = kept.record.events().last().expect("an event");
    assert_eq!((event.level, event.code.as_str()), (Level::Error, "step-failed"));
}

#[test]
fn an_engine_that_halts_is_a_failure_too() {
    let broken = |step: &scenario::Step| {
        let mut plant = plant(step);
        plant.network = Network::new();
        plant.network.station(Station::many(0));
        plant
    };
    let kept = run(&text(SHORT), &PLAIN, broken);
    assert_eq!(kept.outcome.status, Status::Failed);
    let (step, why) = kept.outcome.failure.clone().expect("a reason");
    assert!(step == 0 && why.contains("no server"), "{why}");
}

#[test]
fn an_early_end_keeps_the_partial_record() {
    let plan = "warmup = \"0s\"\nmeasure = \"1000s\"\ncooldown = \"0s\"";
    let compile = |step: &scenario::Step| -> Result<Plant, String> { Ok(plant(step)) };
    let kept = run_until(&text(plan), &PLAIN, &compile, |progress| {
        matches!(progress, Progress::StepStarting { .. })
    });
    assert_eq!((kept.outcome.status, kept.record.status()), (Status::Stopped, Status::Stopped));
    assert_eq!(kept.record.steps().len(), 1);
    let totals = kept.record.totals(0).expect("totals");
    assert!(totals.iter().all(|total| !total.complete && total.measured < Ns::secs(1000)));
}
