//! Every warning: when it is given, and when not.

use crate::support::{Sketch, Work, one_target};
use clock::Ns;
use findings::Analysis;
use findings::attribution::Limiter;
use findings::warnings::Severity;
use record::{Level, Status};

fn codes(analysis: &Analysis) -> Vec<&str> {
    analysis.warnings.iter().map(|w| w.code.as_str()).collect()
}

/// The codes that a worker's doing gives rise to, and a part of the first one's text.
#[track_caller]
fn check(workload: &str, work: Work, expected: &[&str], text: &str) {
    let analysis = Sketch::of(&one_target("5s", workload)).analyse(|_, _| work.clone());
    assert_eq!(codes(&analysis), expected, "{:?}", analysis.warnings);
    let first = analysis.warnings.first().map_or("", |w| w.text.as_str());
    assert!(first.contains(text), "{first}");
    assert!(analysis.warnings.iter().all(|w| !w.next.is_empty()), "{:?}", analysis.warnings);
}

const OPEN: &str = "rate = \"1000 IOPS\"";

#[test]
fn a_clean_open_loop_has_none() {
    check(OPEN, Work::default(), &[], "");
}

#[test]
fn a_closed_loop_says_so() {
    check("depth = 1", Work::default(), &["closed-loop"], "latency is service time");
}

#[test]
fn an_open_loop_that_was_not_carried_says_so() {
    let behind = Work { ops: 900, ..Work::default() };
    let text = "of 1,000 operations a second 900 were done (90%)";
    check(OPEN, behind, &["not-carried"], text);
    check(OPEN, Work { ops: 960, ..Work::default() }, &[], "");
}

/// Beside closed loops as well, and then the rate is not what limited.
#[test]
fn an_open_loop_beside_a_closed_one_that_was_not_carried_says_so() {
    let lab = r#"
scenario.title = "Two targets"
target = [{ name = "a", file = "a.bin", create = "1GiB" }, { name = "b", file = "b.bin", create = "1GiB" }]
workload.open = { block = "8KiB", rate = "1000 IOPS" }
workload.closed = { block = "8KiB", depth = 1 }
[plan]
load = [{ workload = "open", on = "a" }, { workload = "closed", on = "b" }]
measure = "5s"
"#;
    let of = |open: u64| {
        let ops = move |target: &str| if target == "a" { open } else { 1000 };
        Sketch::of(lab).analyse(|_, target| Work { ops: ops(target), ..Work::default() })
    };
    let behind = of(150);
    assert_eq!(codes(&behind), ["not-carried", "closed-loop"]);
    let text = &behind.warnings[0].text;
    assert!(text.contains("of 1,000 operations a second 150 were done (15%)"), "{text}");
    assert_eq!(behind.steps[0].open_iops, 150.0);
    let limit = |analysis: &Analysis| {
        analysis.steps[0].attribution.as_ref().map(|found| found.limit.clone())
    };
    assert_ne!(limit(&behind), Some(Limiter::Rate));
    assert_eq!(codes(&of(1000)), ["closed-loop"]);
}

#[test]
fn operations() {
    let errors = Work { errors: 1000, ..Work::default() };
    check(OPEN, errors, &["errors"], "5,000 of 10,000 operations failed (50%) in the step");
    let idle = Work { ops: 0, ..Work::default() };
    check(OPEN, idle, &["zero-ios"], "no operation completed");
    let few = Work { ops: 10, ..Work::default() };
    check("rate = \"10 IOPS\"", few, &["few-operations"], "only 50 operations completed");
    let hung = Work { open: 2, open_age: Ns::secs(4), ..Work::default() };
    check(OPEN, hung, &["stalled"], "in flight for up to 4 s");
    let slow = Work { open: 2, open_age: Ns::millis(900), ..Work::default() };
    check(OPEN, slow, &[], "");
}

#[test]
fn time() {
    let early = Work { seconds: 4, ..Work::default() };
    let text = "1 worker did not report the whole measured time in the step; the worst, data/load/0, 80% of it";
    check(OPEN, early, &["workers-incomplete"], text);
    let slowing = Work { ops: 1300, drift: 0.8, ..Work::default() };
    check(OPEN, slowing, &["not-steady"], "spread of throughput was 21.7% of its mean");
    let growing = Work { drift: 1.5, ..Work::default() };
    check(OPEN, growing, &["not-steady"], "and its line rose by 50% (at most 10%)");
    check(OPEN, Work { drift: 0.95, ..Work::default() }, &[], "");
}

#[test]
fn a_short_step() {
    let short = one_target("2s", OPEN);
    let analysis = Sketch::of(&short).analyse(|_, _| Work::default());
    assert_eq!(codes(&analysis), ["too-short"]);
    assert!(
        analysis.warnings[0].text.starts_with("measured for only 2 s"),
        "{:?}",
        analysis.warnings
    );
}

#[test]
fn the_generator() {
    let own = Work { own: 0.6, ..Work::default() };
    check(OPEN, own, &["generator-limited"], "overhead 60% of its time");
    let late = Work { late: 1, ..Work::default() };
    check(
        OPEN,
        late,
        &["late-starts"],
        "5 operations started more than 1 ms late in the step, by up to 3 ms",
    );
    let overrun = Work { overruns: 2, ..Work::default() };
    check(OPEN, overrun, &["generator-suspect", "overruns"], "10 cuts");
}

#[test]
fn the_record_itself() {
    let contradiction = Work { in_flight: Some(3.0), ..Work::default() };
    let codes = &["little-contradiction", "generator-suspect", "closed-loop"];
    check(
        "depth = 4",
        contradiction,
        codes,
        "had 3.00 operations in flight, but throughput × service time is 1.00",
    );
    let exceeded = Work { open: 5, ..Work::default() };
    let codes = &["depth-exceeded", "generator-limited", "closed-loop"];
    check("depth = 4", exceeded, codes, "5 operations in flight at depth 4");
}

#[test]
fn events_are_told_once_a_code_and_the_gravest_first() {
    let scenario = one_target("5s", OPEN);
    let analysis = Sketch::of(&scenario)
        .event(Level::Info, "note", "nothing to see")
        .event(Level::Warning, "depth-clamped", "t1: depth 32 was clamped to 1; name a device")
        .event(Level::Warning, "depth-clamped", "t2: depth 32 was clamped to 1; name a device")
        .event(Level::Error, "io-error", "first EIO of the step")
        .analyse(|_, _| Work::default());
    assert_eq!(codes(&analysis), ["io-error", "depth-clamped"]);
    let clamped = &analysis.warnings[1];
    assert_eq!(
        clamped.text,
        "t1: depth 32 was clamped to 1; name a device (and 1 more of the kind)"
    );
    assert_eq!((clamped.severity, clamped.steps.as_slice()), (Severity::Warning, &[0][..]));
}

/// The text of the one warning about hangs, told of these events: worker, second, code and text.
#[track_caller]
fn check_hangs(events: &[(u32, u64, &str, &str)], expected: &str) {
    let scenario = one_target("5s", OPEN);
    let mut sketch = Sketch::of(&scenario);
    for (source, second, code, text) in events {
        sketch = sketch.event_of(*source, *second, code, text);
    }
    let analysis = sketch.analyse(|_, _| Work::default());
    assert_eq!(codes(&analysis), ["hang"]);
    assert_eq!(analysis.warnings[0].text, expected);
    assert_eq!(analysis.warnings[0].steps, [0]);
}

#[test]
fn hangs_are_one_warning_in_the_words_of_the_longest() {
    check_hangs(&[(0, 5, "hang", "w0: 5 s")], "w0: 5 s");
    check_hangs(&[(0, 5, "hang", "w0: 5 s"), (0, 10, "hang", "w0: 10 s")], "w0: 10 s");
    let over = [(0, 5, "hang", "w0: 5 s"), (0, 7, "hang-over", "w0: ended after 7 s")];
    check_hangs(&over, "w0: ended after 7 s");
    let two = [
        (0, 5, "hang", "w0: 5 s"),
        (1, 5, "hang", "w1: 5 s"),
        (1, 10, "hang", "w1: 10 s"),
        (0, 11, "hang-over", "w0: ended after 11 s"),
        (1, 11, "hang-over", "w1: ended after 11 s"),
    ];
    check_hangs(&two, "w1: ended after 11 s (and 1 more of the kind)");
    let again =
        [(0, 5, "hang", "first"), (0, 6, "hang-over", "first, over"), (0, 20, "hang", "second")];
    check_hangs(&again, "first, over (and 1 more of the kind)");
    check_hangs(&[(0, 6, "hang-over", "whose beginning was lost")], "whose beginning was lost");
}

#[test]
fn runs_that_were_not_completed() {
    let scenario = one_target("5s", OPEN);
    let cut =
        Sketch::of(&scenario).status(Status::Stopped).steps(0).analyse(|_, _| Work::default());
    assert_eq!(codes(&cut), ["run-incomplete"]);
    assert_eq!(cut.warnings[0].text, "the run was stopped early: 0 of 1 steps are in the record");
}

#[test]
fn many_steps_are_counted_and_a_few_named() {
    let sweep = one_target("5s", "depth = 1") + "sweep = { depth = [1, 2, 3, 4, 5, 6] }\n";
    let analysis = Sketch::of(&sweep).analyse(|step, _| {
        let depth: f64 = step.settings[0].1.parse().unwrap();
        let errors = u64::from(step.index > 0);
        Work { ops: 100, errors, service_ns: depth * 1e7, ..Work::default() }
    });
    let errors = analysis.warnings.iter().find(|w| w.code == "errors").unwrap();
    assert_eq!(errors.steps, [1, 2, 3, 4, 5]);
    assert!(
        errors.text.contains("in 5 of 6 steps (depth 2; depth 3; depth 4; …)"),
        "{}",
        errors.text
    );
}

#[test]
fn what_ports_and_processors_show_besides_their_load_is_said() {
    let counted = [("errors", 0.3), ("qdisc-drops", 12.0), ("credit-zero", 0.0)];
    let analysis = Sketch::of(&one_target("10s", "depth = 1"))
        .hop("switch.1", &counted)
        .analyse(|_, _| Work::default());
    let of = |code: &str| analysis.warnings.iter().find(|warning| warning.code == code);
    assert!(of("hop-errors").is_some_and(|warning| warning.text.starts_with("switch.1: 3 errors")));
    assert!(of("qdisc-drops").is_some_and(|warning| warning.text.contains("120 packets dropped")));
    assert!(of("credit-zero").is_none() && of("softirq-bound").is_none());
}

/// The warning about other programs of a machine with two processors, of which so much was busy, 15% of one with a worker.
#[track_caller]
fn check_shared(busy: f64, more: &[&str], expected: Option<&str>) {
    // A sketch multiplies every figure by the ten seconds of the step, also a setting.
    let cpu = [("cpu-busy", busy * 1e9), ("cpu-count", 0.2)];
    let scenario = one_target("10s", "depth = 4");
    let mut sketch = Sketch::of(&scenario).hop("host.cpu", &cpu);
    for name in more {
        sketch = sketch.hop(name, &cpu);
    }
    let analysis = sketch.analyse(|_, _| Work::default());
    let told = analysis.warnings.iter().find(|warning| warning.code == "other-programs");
    let said = told.map(|warning| warning.text.as_str());
    match expected {
        Some(expected) => assert!(said.is_some_and(|text| text.contains(expected)), "{said:?}"),
        None => assert_eq!(said, None, "{busy} {more:?}"),
    }
    if told.is_some() {
        assert_eq!(analysis.warnings[0].code, "other-programs", "the first of its severity");
    }
}

#[test]
fn other_programs_that_keep_the_limiting_processors_busy_are_named() {
    // 1.99 of 2, less 0.15: 92%.
    check_shared(
        1.99,
        &[],
        Some("other programs used 92% of this host's CPU (host.cpu), Wirespeed 8%"),
    );
    // Nothing is said where the processors do not limit, or where another host counts as well.
    check_shared(1.0, &[], None);
    check_shared(1.99, &["far.cpu"], None);
}

#[test]
fn the_same_event_of_several_steps_is_one_thing() {
    let scenario = one_target("5s", "").replace("[plan]", "[plan]\nsweep = { depth = [1, 2] }");
    let analysis = Sketch::of(&scenario)
        .event_in(0, "cache-holds-all", "the cache holds all")
        .event_in(1, "cache-holds-all", "the cache holds all")
        .analyse(|_, _| Work::default());
    let told = analysis.warnings.iter().find(|warning| warning.code == "cache-holds-all").unwrap();
    assert_eq!(told.text, "the cache holds all (in 2 of 2 steps)");
}
