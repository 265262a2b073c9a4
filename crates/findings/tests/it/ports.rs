//! Ports of embedded arrays: their shares, their goals, the gain of faster ones, and agreement with the workers.

use crate::support::{Sketch, Work};
use findings::{Analysis, CounterCheck, Status};

const LAB: &str = r#"
scenario.title = "An array in small"
array = [{ name = "store", embedded = { ports = [{ name = "p1"RATE }], scale = "SCALE" } }]
volume = [{ name = "data", array = "store", size = "64MiB" }]
target = [{ name = "elsewhere", file = "elsewhere.bin" }]
vm = [{ name = "vm{1..2}", disks = [{ lun = "store/data" }MORE] }]
workload.load = { block = "8KiB", depth = 2 }
[plan]
workload = "load"
on = "vm*"
measure = "10s"
"#;

/// What both workers move in a second.
const MOVED: f64 = 2.0 * 8192.0 * 1000.0;

/// A scenario with a port of a speed, an array with a scale, and what follows.
fn lab(rate: &str, scale: &str, rest: &str) -> String {
    let rate = if rate.is_empty() { String::new() } else { format!(", rate = \"{rate}\"") };
    LAB.replace("RATE", &rate).replace("SCALE", scale).replace("MORE", "") + rest
}

/// A run of that scenario in which the port counted so many bytes a second in each direction.
fn run(scenario: &str, counted: [f64; 2]) -> Analysis {
    let counters =
        [("read-bytes", counted[0]), ("write-bytes", counted[1]), ("queue-depth-end", 0.4)];
    Sketch::of(scenario).hop("store.p1", &counters).analyse(|_, _| Work::default())
}

/// The shares of a port of that speed which carried so many MB/s each way, and whether it was full.
#[track_caller]
fn check(port: (&str, &str), rest: &str, counted: [f64; 2], expected: ([Option<f64>; 2], bool)) {
    let analysis = run(&lab(port.0, port.1, rest), counted.map(|mb| mb * 1e6));
    let load = &analysis.steps[0].ports[0];
    let close = |share: f64| (share * 1000.0).round() / 1000.0;
    let shares = [load.read, load.write].map(|flow| flow.and_then(|f| f.share).map(close));
    assert_eq!((shares, load.saturated), expected, "{load:?}");
    assert_eq!(load.port, "store.p1");
}

#[test]
fn each_direction_has_the_whole_speed() {
    let some = |a, b| [Some(a), Some(b)];
    check(("100 MB/s", "100%"), "", [50.0, 0.0], (some(0.5, 0.0), false));
    check(("100 MB/s", "100%"), "", [94.0, 94.0], (some(0.94, 0.94), false));
    check(("100 MB/s", "100%"), "", [20.0, 96.0], (some(0.2, 0.96), true));
    check(("100 MB/s", "25%"), "", [25.0, 5.0], (some(1.0, 0.2), true));
    check(("8gfc", "100%"), "", [826.519_337, 0.0], (some(1.0, 0.0), true));
    check(("", "100%"), "", [900.0, 900.0], ([None, None], false));
}

#[test]
fn faults_lower_what_a_port_could_carry() {
    let some = |share| [Some(share), Some(0.0)];
    let slow = "faults = [{ at = \"5s\", slow = \"store.p1\", to = \"50 MB/s\" }]";
    check(("100 MB/s", "100%"), slow, [75.0, 0.0], (some(1.0), true));
    // Scaled like the array.
    check(("100 MB/s", "50%"), slow, [37.5, 0.0], (some(1.0), true));
    let away =
        "faults = [{ at = \"2s\", kill = \"store.p1\" }, { at = \"6s\", revive = \"store.p1\" }]";
    check(("100 MB/s", "100%"), away, [30.0, 0.0], (some(0.5), false));
    let busy =
        "faults = [{ at = \"2s\", busy = \"store.p1\" }, { at = \"4s\", ready = \"store.p1\" }]";
    check(("100 MB/s", "100%"), busy, [40.0, 0.0], (some(0.5), false));
}

#[test]
fn a_port_without_counters_is_left_out() {
    let analysis = Sketch::of(&lab("8gfc", "100%", "")).analyse(|_, _| Work::default());
    assert!(analysis.steps[0].ports.is_empty());
    let why = analysis.steps[0].counter_checks[0].unknown.as_deref();
    assert_eq!(why, Some("the record has no counter `read-bytes` of store.p1"));
}

#[test]
fn a_share_of_the_wire_is_that_of_the_step() {
    let rest = "sweep = { port = [\"4gfc\", \"8gfc\"] }
        [[goal]]\nhop = \"store.p1\"\nread = { at_least = \"90% of wire\" }
        [[goal]]\nstep = { port = \"4gfc\" }\nhop = \"store.p1\"\nread = { at_least = \"90% of wire\" }
        [[claim]]\nstep = { port = \"8gfc\" }\nhop = \"store.p1\"\nread = \"50% of wire\"\nkind = \"held-out\"";
    let analysis = run(&lab("16gfc", "50%", rest), [206.6e6, 0.0]);
    let [every, slower] = &analysis.goals[..] else { panic!("two goals") };
    assert_eq!((every.status, every.cells_not_met), (Status::Failed, 1));
    assert_eq!(every.step.as_deref(), Some("port 8gfc"));
    let required = every.required.map(|q| (q.value / 1e5).round() / 10.0);
    assert_eq!(required, Some(371.9), "90% of half of 826.5 MB/s");
    assert_eq!(slower.status, Status::Met);
    assert_eq!(analysis.claims[0].score, findings::Score::Met, "{:?}", analysis.claims[0]);
}

#[test]
fn the_wire_of_a_port_without_a_speed_is_not_known() {
    let rest = "[[goal]]\nhop = \"store.p1\"\nread = { at_least = \"90% of wire\" }";
    let goal = &run(&lab("", "100%", rest), [1e9, 0.0]).goals[0];
    assert_eq!(goal.status, Status::Undecided);
    assert!(goal.reason.contains("the wire rate of hop store.p1 is not known"), "{goal:?}");
}

#[test]
fn scaled_speeds_have_a_reason() {
    let rest = "sweep = { port = [\"4gfc\", \"8gfc\", \"100 MB/s\"] }";
    let scenario = lab("16gfc", "25%", rest);
    let sketch = Sketch::of(&scenario).fact("store", "scale-reason", "It is small.");
    let analysis = sketch.analyse(|_, _| Work::default());
    let [scaled] = &analysis.scaled[..] else { panic!("one array") };
    let rates: Vec<(&str, f64)> =
        scaled.rates.iter().map(|r| (r.name.as_str(), r.bytes_per_s.round())).collect();
    assert_eq!(
        rates,
        [("4gfc", 103_314_917.0), ("8gfc", 206_629_834.0), ("100 MB/s", 25_000_000.0)]
    );
    assert_eq!((scaled.scale, scaled.reason.as_deref()), (0.25, Some("It is small.")));
    assert!(run(&lab("16gfc", "100%", rest), [0.0; 2]).scaled.is_empty());
    assert!(run(&lab("", "25%", ""), [0.0; 2]).scaled.is_empty(), "no speed, nothing to scale");
}

/// What a sweep over ports and blocks finds, where `work` says how many operations a worker does.
#[track_caller]
fn check_gain(work: impl Fn(bool, bool) -> u64, expected: &[&str]) {
    let rest = "sweep = { port = [\"8gfc\", \"4gfc\"], block = [\"8KiB\", \"64KiB\"] }\nrepeat = 2";
    let scenario = lab("16gfc", "100%", rest);
    let analysis = Sketch::of(&scenario).analyse(|step, _| {
        let is = |key: &str, value: &str| step.settings.contains(&(key.into(), value.into()));
        let ops = work(is("port", "8gfc"), is("block", "64KiB"));
        Work { ops, block: if is("block", "64KiB") { 65536 } else { 8192 }, ..Work::default() }
    });
    let told: Vec<String> = analysis
        .port_gains
        .iter()
        .map(|g| {
            format!("{}/{} {:.2} of {:.2} at {}", g.faster, g.slower, g.ratio, g.rates, g.at[0].1)
        })
        .collect();
    assert_eq!(told, expected);
    assert!(analysis.sweeps.iter().all(|s| s.axis == "block"), "a speed is no load");
}

#[test]
fn a_faster_port_is_held_against_the_next_slower_one() {
    let twice = |fast: bool, large: bool| if fast && large { 2000 } else { 1000 };
    check_gain(twice, &["8gfc/4gfc 2.00 of 2.00 at 64KiB"]);
    let limited = |fast: bool, large: bool| if fast && large { 1200 } else { 1000 };
    check_gain(limited, &["8gfc/4gfc 1.20 of 2.00 at 64KiB"]);
    check_gain(|fast, _| u64::from(fast) * 1000, &[]);
}

fn word(check: &CounterCheck) -> String {
    let counts = |name: &str, counts: Option<findings::ByteCounts>| match counts {
        Some(t) => format!("{name} {} apart {:.0} of {:.0}; ", t.agrees, t.apart(), t.edge_bytes),
        None => String::new(),
    };
    let unknown = check.unknown.clone().unwrap_or_default();
    format!("{}{}{unknown}", counts("read", check.read), counts("write", check.write))
}

/// The check when port and volume counted so many times what the workers moved in ten seconds.
#[track_caller]
fn check_counters(work: Work, counted: [f64; 2], expected: &str) {
    check_counters_of(work, 0.0, counted, expected);
}

/// The same, when each worker sends so many operations a second to another path.
#[track_caller]
fn check_counters_of(work: Work, again: f64, counted: [f64; 2], expected: &str) {
    let scenario = lab("8gfc", "100%", "");
    let [port, volume] = counted.map(|times| times * MOVED);
    let of = |bytes: f64| {
        let read = bytes * work.read as f64 / 100.0;
        [("read-bytes", read), ("write-bytes", bytes - read)]
    };
    let sketch = Sketch::of(&scenario).hop("store.p1", &of(port)).hop("store/data", &of(volume));
    let sketch = if again > 0.0 { sketch.counts(&[("path-ios-moved", again)]) } else { sketch };
    let analysis = sketch.analyse(|_, _| work.clone());
    let [check] = &analysis.steps[0].counter_checks[..] else { panic!("one array") };
    assert_eq!(word(check), expected);
    assert_eq!((check.ports.len(), check.volumes.len()), (1, 1));
}

#[test]
fn counters_agree_within_the_bytes_in_flight() {
    let all = Work::default;
    // Two workers with two operations of 8 KiB each in flight: 32 KiB of 160 MB.
    check_counters(all(), [1.0, 1.0], "read true apart 0 of 32768; ");
    check_counters(all(), [1.0001, 1.0], "read true apart 16384 of 32768; ");
    check_counters(all(), [1.0, 0.9999], "read true apart 16384 of 32768; ");
    check_counters(all(), [1.0003, 1.0], "read false apart 49152 of 32768; ");
    check_counters(all(), [0.5, 0.5], "read false apart 81920000 of 32768; ");
    let mixed = Work { read: 50, ..Work::default() };
    check_counters(mixed, [1.0, 1.0], "read true apart 0 of 32768; write true apart 0 of 32768; ");
}

#[test]
fn edges_lie_elsewhere_by_a_guests_clock() {
    let scenario = lab("8gfc", "100%", "");
    let told = |bound: f64| {
        // The workers moved a hundredth more than what the port counted.
        let counted = [("read-bytes", MOVED * 0.99), ("write-bytes", 0.0)];
        let sketch = Sketch::of(&scenario).hop("store.p1", &counted).hop("store/data", &counted);
        let analysis =
            sketch.hop("vm1.cpu", &[("clock-bound", bound)]).analyse(|_, _| Work::default());
        word(&analysis.steps[0].counter_checks[0])
    };
    assert_eq!(told(0.0), "read false apart 1638400 of 32768; ");
    // One of two VMs, of 8,192,000 bytes a second each, a tenth of a second at both edges.
    assert_eq!(told(0.01e9), "read true apart 1638400 of 1671168; ");
    assert_eq!(told(0.2e9), "the clock of vm1 may have been wrong by 2.0 s");
}

#[test]
fn moved_operations_may_be_counted_twice() {
    // Two workers, ten seconds, one operation of 8 KiB a second: 160 KiB more.
    let all = Work::default;
    check_counters_of(all(), 1.0, [1.0003, 1.0], "read true apart 49152 of 196608; ");
    check_counters_of(all(), 1.0, [1.002, 1.0], "read false apart 327680 of 196608; ");
}

#[test]
fn incomparable_counters_are_not_determined() {
    let short = Work { seconds: 5, ..Work::default() };
    check_counters(short, [1.0, 1.0], "vm1/load/0 did not report the whole measured time");
    check_counters(Work::default(), [f64::NAN, 1.0], "no counters from store.p1");
    let scenario = LAB.replace("RATE", "").replace("SCALE", "100%");
    let scenario = scenario.replace("MORE", ", { target = \"elsewhere\" }");
    let analysis = run(&scenario, [1.0, 0.0]);
    assert_eq!(word(&analysis.steps[0].counter_checks[0]), "vm1 has disks elsewhere as well");
    // A VM without an array has no check.
    let plain = lab("8gfc", "100%", "").replace("on = \"vm*\"", "on = \"elsewhere\"");
    assert!(run(&plain, [1.0, 0.0]).steps[0].counter_checks.is_empty());
}
