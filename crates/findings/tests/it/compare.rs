//! Runs compared, from records written by hand: what is paired, what is decided, and what is said before any figure.

use crate::support::{Sketch, Work};
use findings::comparison::{Against, CompareOptions, Compared, Evidence, MetricPair, Opinion};
use findings::{Comparison, compare};
use record::{Record, Status};
use scenario::Step;
use tempfile::TempDir;

fn scenario(measure: &str, more: &str) -> String {
    format!(
        "[scenario]\ntitle = \"Compared\"\n[[target]]\nname = \"t\"\nfile = \"t.dat\"\n\
         [workload.w]\nblock = \"8KiB\"\nread = 70\ndepth = 4\n\
         [plan]\nworkload = \"w\"\non = \"t\"\nwarmup = \"0s\"\nmeasure = \"{measure}\"\n{more}\n"
    )
}

type Kept = (TempDir, Record);

fn run(scenario: &str, work: impl Fn(&Step, &str) -> Work) -> Kept {
    Sketch::of(scenario).record(work)
}

/// A simulated run: nothing but the system differs from one to the next.
fn simulated(scenario: &str, work: impl Fn(&Step, &str) -> Work) -> Kept {
    Sketch::of(scenario).fact("run", "simulated", "yes").record(work)
}

/// A measured run that began so many seconds after the first.
fn at(seconds: u64, scenario: &str, work: impl Fn(&Step, &str) -> Work) -> Kept {
    Sketch::of(scenario).later(seconds).record(work)
}

/// A load of so many operations a second that take so long.
fn load(ops: u64, service_ns: f64) -> Work {
    // Its slots are full, so that the generator had no part in it.
    Work { ops, service_ns, read: 70, in_flight: Some(4.0), ..Work::default() }
}

#[track_caller]
fn compared(runs: &[&Kept], options: &CompareOptions) -> Comparison {
    let analyses: Vec<_> =
        runs.iter().map(|(_, r)| findings::analyse(r).expect("it is analysed")).collect();
    let both: Vec<_> = runs.iter().map(|(_, r)| r).zip(&analyses).collect();
    compare(&both, options).expect("it is compared")
}

#[track_caller]
fn against(a: &Kept, b: &Kept) -> Against {
    compared(&[a, b], &CompareOptions::default()).against.remove(0)
}

#[track_caller]
fn metric(against: &Against, metric: Compared) -> &MetricPair {
    let found = against.steps[0].metrics.iter().find(|m| m.metric == metric);
    found.unwrap_or_else(|| panic!("no {metric:?}"))
}

fn codes(against: &Against) -> Vec<&str> {
    against.cautions.iter().map(|c| c.code).collect()
}

#[test]
fn equal_runs_are_undecided_everywhere() {
    let plan = scenario("30s", "");
    let (a, b) = (run(&plan, |_, _| load(100, 1e6)), run(&plan, |_, _| load(100, 1e6)));
    let found = against(&a, &b);
    assert_eq!((found.count.better, found.count.worse), (0, 0));
    assert!(found.family > 5 && found.count.undecided >= found.family, "{:?}", found.count);
    for m in &found.steps[0].metrics {
        // Of 3,000 operations there is no p99.9 to speak of.
        let told = m.reason.is_none() || m.metric == Compared::P999;
        assert!(told && m.opinion == Opinion::Undecided, "{m:?}");
    }
    assert!(metric(&found, Compared::Iops).within);
}

#[test]
fn a_tenth_more_is_better_and_a_tenth_longer_is_worse() {
    let plan = scenario("30s", "");
    let a = simulated(&plan, |_, _| load(100, 1e6));
    let b = simulated(&plan, |_, _| load(110, 1.1e6));
    let found = against(&a, &b);
    let check = |m: Compared, opinion: Opinion| {
        let m = metric(&found, m);
        assert_eq!(m.opinion, opinion, "{m:?}");
        let difference = m.difference.expect("it was tested");
        assert!((difference - 0.1).abs() < 0.005, "{m:?}");
        let [low, high] = m.interval.expect("it was tested");
        assert!(low <= difference && difference <= high, "{m:?}");
        assert!(m.p_adjusted >= m.p, "{m:?}");
    };
    check(Compared::Iops, Opinion::Better);
    check(Compared::Total, Opinion::Better);
    check(Compared::Read, Opinion::Better);
    check(Compared::Mean, Opinion::Worse);
    check(Compared::P50, Opinion::Worse);
    // Blocks are of one size, so that MB/s repeats what IOPS say.
    assert_eq!(metric(&found, Compared::Total).same_as, Some(Compared::Iops));
    let counted = found.steps[0].metrics.iter().filter(|m| m.same_as.is_none() && m.p.is_some());
    assert_eq!(counted.count(), found.family);
}

#[test]
fn the_first_of_several_runs_is_the_baseline_of_each() {
    let plan = scenario("30s", "");
    let runs = [100, 110, 90].map(|ops| simulated(&plan, move |_, _| load(ops, 1e6)));
    let [a, b, c] = &runs;
    let found = compared(&[a, b, c], &CompareOptions::default());
    let opinions: Vec<_> =
        found.against.iter().map(|x| (x.run, metric(x, Compared::Iops).opinion)).collect();
    assert_eq!(opinions, [(1, Opinion::Better), (2, Opinion::Worse)]);
    assert_eq!(found.runs.len(), 3);
}

#[test]
fn steps_are_paired_by_quantity_and_the_rest_is_listed() {
    let a =
        run(&scenario("20s", "sweep = { block = [\"8KiB\", \"16KiB\"] }"), |_, _| load(50, 1e6));
    let b =
        run(&scenario("20s", "sweep = { block = [\"64KiB\", \"8192B\"] }"), |_, _| load(50, 1e6));
    let found = against(&a, &b);
    let paired: Vec<_> =
        found.steps.iter().map(|s| (s.baseline.clone(), s.other.clone())).collect();
    assert_eq!(paired, [(vec![0], vec![1])]);
    let alone: Vec<_> = found.unpaired.iter().map(|u| (u.run, u.label.as_str())).collect();
    assert_eq!(alone, [(0, "block 16KiB"), (1, "block 64KiB")]);
    assert!(codes(&found).contains(&"unpaired"));
}

#[test]
fn nothing_in_common_is_said_first() {
    let a = run(&scenario("20s", "sweep = { block = [\"8KiB\"] }"), |_, _| load(50, 1e6));
    let b = run(&scenario("20s", "sweep = { block = [\"64KiB\"] }"), |_, _| load(50, 1e6));
    let found = against(&a, &b);
    assert_eq!((found.family, found.steps.len(), found.unpaired.len()), (0, 0, 2));
    assert_eq!(codes(&found)[0], "nothing-paired");
}

#[track_caller]
fn obstacle(a: &Kept, b: &Kept, words: &str) {
    let found = against(a, b);
    let told = found.steps[0].obstacle.as_deref().unwrap_or("none");
    assert!(told.contains(words), "{told}");
    assert_eq!((found.family, found.count.better, found.count.worse), (0, 0, 0));
    let reason = |m: &MetricPair| m.reason.is_some() && m.opinion == Opinion::Undecided;
    assert!(found.steps[0].metrics.iter().all(reason));
}

#[test]
fn what_cannot_be_judged_says_why() {
    let plan = scenario("30s", "");
    let good = run(&plan, |_, _| load(100, 1e6));
    let half = run(&plan, |_, _| Work { seconds: 15, ..load(100, 1e6) });
    obstacle(&good, &half, "the other run did not complete it");
    obstacle(&half, &good, "the baseline did not complete it");
    let limited = run(&plan, |_, _| Work { own: 0.9, ..load(100, 1e6) });
    obstacle(&limited, &good, "the generator limited the baseline");
    let short = scenario("10s", "");
    let [a, b] = [(); 2].map(|()| run(&short, |_, _| load(100, 1e6)));
    obstacle(&a, &b, "measured for 10 s, and at least 20 s are needed");
    let open = plan.replace("depth = 4", "rate = \"100 IOPS\"");
    let open = run(&open, |_, _| load(100, 1e6));
    obstacle(&good, &open, "the loops differ: closed against open");
    assert!(codes(&against(&good, &open)).contains(&"loops-differ"));
    assert!(codes(&against(&limited, &good)).contains(&"generator-limited"));
}

#[test]
fn no_operation_is_undecided_and_errors_are_judged() {
    let plan = scenario("30s", "");
    let good = simulated(&plan, |_, _| load(100, 1e6));
    let idle = run(&plan, |_, _| Work { ops: 0, ..load(0, 1e6) });
    let found = against(&good, &idle);
    let m = metric(&found, Compared::Iops);
    assert_eq!(m.opinion, Opinion::Undecided);
    assert_eq!(m.reason.as_deref(), Some("other run: no operation completed"));
    let failing = simulated(&plan, |_, _| Work { errors: 1_000_000, ..load(100, 1e6) });
    let m = metric(&against(&good, &failing), Compared::Errors).clone();
    assert_eq!((m.opinion, m.baseline), (Opinion::Worse, Some(0.0)), "{m:?}");
    let dead = simulated(&plan, |_, _| Work { ops: 0, errors: 50, ..load(0, 1e6) });
    assert_eq!(metric(&against(&good, &dead), Compared::Errors).opinion, Opinion::Worse);
}

#[test]
fn an_incomplete_run_is_said_first() {
    let plan = scenario("30s", "");
    let good = run(&plan, |_, _| load(100, 1e6));
    let killed = Sketch::of(&plan).status(Status::Running).record(|_, _| load(100, 1e6));
    let found = against(&good, &killed);
    assert_eq!(codes(&found)[0], "run-incomplete");
    // What it did complete is compared all the same.
    assert!(found.family > 0);
}

#[test]
fn one_run_twice_is_said_to_be_one() {
    let a = run(&scenario("30s", ""), |_, _| load(100, 1e6));
    let found = against(&a, &a);
    assert!(found.same && codes(&found)[0] == "same-run");
    assert_eq!((found.count.better, found.count.worse), (0, 0));
    assert!(found.differing.is_empty(), "{:?}", found.differing);
}

#[test]
fn repetitions_carry_what_one_run_cannot_show() {
    let plan = scenario("20s", "repeat = 4");
    // Runs differ by 10% among themselves, and seconds within a run not at all.
    let noisy =
        |shift: u64| move |s: &Step, _: &str| load(100 + shift + 5 * u64::from(s.repetition), 1e6);
    let (a, b) = (simulated(&plan, noisy(0)), simulated(&plan, noisy(3)));
    let found = against(&a, &b);
    let m = metric(&found, Compared::Iops);
    assert_eq!(m.opinion, Opinion::Undecided, "{m:?}");
    assert!(format!("{:?}", m.method).contains("Repetitions { count: [4, 4] }"), "{m:?}");
    assert!(!codes(&found).contains(&"single-run"));
}

#[test]
fn a_side_without_repetitions_borrows_the_scatter_of_the_other() {
    let several = simulated(&scenario("20s", "repeat = 4"), |s, _| {
        load(100 + 5 * u64::from(s.repetition), 1e6)
    });
    let single = simulated(&scenario("20s", ""), |_, _| load(104, 1e6));
    for (a, b, count) in [(&several, &single, "[4, 1]"), (&single, &several, "[1, 4]")] {
        let found = against(a, b);
        let m = metric(&found, Compared::Iops);
        assert!(format!("{:?}", m.method).contains(count), "{m:?}");
        assert_eq!(m.opinion, Opinion::Undecided, "{m:?}");
    }
}

/// Both sides drift by half; B does 2% more in each round.
#[test]
fn interleaved_rounds_cancel_drift() {
    let plan = scenario("20s", "repeat = 6");
    let side = |name: &str, ops: u64| {
        let sketch = Sketch::of(&plan).fact("comparison", "group", "c0ffee");
        let jitter = [0, 3, 1, 4, 2, 0];
        sketch.fact("comparison", "side", name).record(move |s, _| {
            let round = u64::from(s.repetition);
            load(ops + ops * round / 10 + jitter[round as usize % 6] % 2, 1e6)
        })
    };
    let (a, b) = (side("A", 500), side("B", 510));
    let found = against(&a, &b);
    let m = metric(&found, Compared::Iops);
    assert_eq!(found.interleaved.as_deref(), Some("c0ffee"));
    assert!(format!("{:?}", m.method).contains("Rounds { count: 6 }"), "{m:?}");
    assert_eq!(m.opinion, Opinion::Better, "{m:?}");
    // The same figures without the fact: the drift hides the difference.
    let apart = at(3600, &plan, |s, _| load(510 + 510 * u64::from(s.repetition) / 10, 1e6));
    let m = metric(&against(&a, &apart), Compared::Iops).clone();
    assert_eq!(m.opinion, Opinion::Undecided, "{m:?}");
}

/// A fifth more: what the design of the runs entitles to say of it.
#[track_caller]
fn entitled(a: &[&Kept], b: &[&Kept], evidence: Evidence, expected: Opinion) -> Against {
    let runs: Vec<&Kept> = a.iter().chain(b).copied().collect();
    let options = CompareOptions { baseline: Some(a.len()), ..CompareOptions::default() };
    let found = compared(&runs, &options).against.remove(0);
    assert_eq!(found.sides, [(0..a.len()).collect::<Vec<_>>(), (a.len()..runs.len()).collect()]);
    let m = metric(&found, Compared::Iops);
    assert_eq!((found.steps[0].evidence, m.opinion), (evidence, expected), "{m:?}");
    found
}

#[test]
fn one_after_the_other_differs_and_so_may_the_machine() {
    let once = scenario("30s", "");
    let (a, b) = (at(0, &once, |_, _| load(100, 1e6)), at(60, &once, |_, _| load(120, 1e6)));
    let found = entitled(&[&a], &[&b], Evidence::OneAfterTheOther, Opinion::Differs);
    assert!(codes(&found).contains(&"one-after-the-other"), "{:?}", codes(&found));
    assert_eq!((found.count.better, found.count.worse), (0, 0));
    assert!(found.count.differs > 0);
    // Repetitions without a pause replicate nothing.
    let five = scenario("20s", "repeat = 5");
    let side = |after: u64, ops: u64| {
        at(after, &five, move |s, _| load(ops + u64::from(s.repetition % 2), 1e6))
    };
    let (a, b) = (side(0, 100), side(200, 120));
    let found = entitled(&[&a], &[&b], Evidence::OneAfterTheOther, Opinion::Differs);
    assert!(format!("{:?}", metric(&found, Compared::Iops).method).contains("Draws"));
}

#[test]
fn records_made_in_turns_tell_better() {
    let once = scenario("20s", "");
    let side = |places: [u64; 4], ops: u64| {
        places.map(|place| at(60 * place, &once, move |_, _| load(ops + place % 3, 1e6)))
    };
    let (a, b) = (side([0, 3, 4, 7], 100), side([1, 2, 5, 6], 120));
    let found = entitled(&a.each_ref(), &b.each_ref(), Evidence::Turns, Opinion::Better);
    let m = metric(&found, Compared::Iops);
    assert!(format!("{:?}", m.method).contains("Rounds { count: 4 }"), "{m:?}");
    assert!(!codes(&found).contains(&"one-after-the-other"));
    // The same records, one side after the other, are no turns.
    let (a, b) = (side([0, 1, 2, 3], 100), side([4, 5, 6, 7], 120));
    entitled(&a.each_ref(), &b.each_ref(), Evidence::OneAfterTheOther, Opinion::Differs);
}

/// Always A first, on a machine that becomes faster: the drift of a turn is not taken for the system's.
#[test]
fn a_drift_falls_on_no_side() {
    let once = scenario("20s", "");
    let side = |first: u64, ops: u64| {
        [0, 2, 4, 6, 8, 10].map(|place| {
            let place = place + first;
            at(60 * place, &once, move |_, _| load(ops + 20 * place, 1e6))
        })
    };
    let (a, b) = (side(0, 1000), side(1, 1000));
    entitled(&a.each_ref(), &b.each_ref(), Evidence::Turns, Opinion::Undecided);
}

#[test]
fn repetitions_over_hours_are_draws_of_the_machine() {
    let once = scenario("20s", "");
    let side = |first: u64, ops: u64| {
        [0, 1, 2, 3]
            .map(|hour| at(3600 * (first + hour), &once, move |_, _| load(ops + hour % 2, 1e6)))
    };
    let (a, b, far) = (side(0, 100), side(4, 130), side(400, 130));
    let refs = a.each_ref();
    entitled(&refs, &b.each_ref(), Evidence::Spread, Opinion::Better);
    // Weeks lie between: the hours of each side say nothing of weeks.
    entitled(&refs, &far.each_ref(), Evidence::OneAfterTheOther, Opinion::Differs);
}

#[test]
fn what_differs_between_the_systems_is_listed() {
    let plan = scenario("20s", "");
    let a = Sketch::of(&plan)
        .fact("host", "kernel", "6.1")
        .fact("host", "cpu", "x")
        .record(|_, _| load(9, 1e6));
    let other = plan.replace("depth = 4", "depth = 8");
    let b = Sketch::of(&other)
        .fact("host", "kernel", "6.12")
        .fact("host", "cpu", "x")
        .record(|_, _| load(9, 1e6));
    let found = against(&a, &b);
    let told: Vec<_> = found
        .differing
        .iter()
        .map(|d| (d.key.as_str(), d.baseline.as_deref(), d.other.as_deref()))
        .collect();
    assert_eq!(
        told,
        [("kernel", Some("6.1"), Some("6.12")), ("line", Some("depth = 4"), Some("depth = 8"))]
    );
    assert!(codes(&found).contains(&"loads-differ"));
    let larger = run(&plan, |_, _| Work { block: 16_384, ..load(9, 1e6) });
    assert!(codes(&against(&a, &larger)).contains(&"loads-differ"));
    assert!(!codes(&against(&a, &a)).contains(&"loads-differ"));
}

#[test]
fn fewer_metrics_ask_for_less_correction() {
    let plan = scenario("30s", "");
    let (a, b) = (run(&plan, |_, _| load(100, 1e6)), run(&plan, |_, _| load(110, 1e6)));
    let options = CompareOptions {
        metrics: vec![Compared::Iops, Compared::P99],
        ..CompareOptions::default()
    };
    let found = compared(&[&a, &b], &options).against.remove(0);
    assert_eq!((found.family, found.steps[0].metrics.len()), (2, 2));
    let total = CompareOptions { metrics: vec![Compared::Total], ..CompareOptions::default() };
    assert_eq!(compared(&[&a, &b], &total).against[0].family, 1);
}

#[test]
fn a_comparison_needs_two_runs_and_a_difference() {
    let a = run(&scenario("20s", ""), |_, _| load(9, 1e6));
    let analysis = findings::analyse(&a.1).unwrap();
    let one = [(&a.1, &analysis)];
    assert!(compare(&one, &CompareOptions::default()).is_err());
    assert!(compare(&[], &CompareOptions::default()).is_err());
    for difference in [0.0, -0.1, f64::NAN, 11.0] {
        let options = CompareOptions { difference, ..CompareOptions::default() };
        assert!(compare(&[one[0], one[0]], &options).is_err(), "{difference}");
    }
}
