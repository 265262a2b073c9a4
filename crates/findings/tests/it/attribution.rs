//! What limits steps of measured records, whose hops count less than simulated ones.

use crate::support::{Sketch, Work};
use findings::attribution::{Attribution, HopLimit, Limiter, SURE};

const LAB: &str = r#"
scenario.title = "An array in small"
array = [{ name = "store", embedded = { ports = [{ name = "p1" }, { name = "p2" }] } }]
volume = [{ name = "data", array = "store", size = "64MiB" }]
vm = [{ name = "vm1", disks = [{ lun = "store/data" }] }]
workload.load = { block = "8KiB", depth = 2 }
[plan]
workload = "load"
on = "vm1"
measure = "10s"
"#;

/// What the worker moves in a second.
const MOVED: f64 = 8192.0 * 1000.0;

/// Hops with their counters.
type Hops<'a> = &'a [(&'a str, &'a [(&'static str, f64)])];

/// A run of which these hops counted so much a second, the last step of it.
fn last(scenario: &str, hops: Hops<'_>, work: impl Fn(u32) -> Work) -> Attribution {
    let sketch = hops.iter().fold(Sketch::of(scenario), |sketch, (hop, counters)| {
        // One counter spans the ten seconds, so that levels are given a tenth.
        let level = |name: &str| {
            let levels = ["rate", "queue-depth-end", "cpu-count", "cpu-quota", "cpu-period"];
            if levels.contains(&name) { 0.1 } else { 1.0 }
        };
        let told = counters.iter().map(|(name, value)| (*name, value * level(name)));
        sketch.hop(hop, &told.collect::<Vec<_>>())
    });
    let mut analysis = sketch.analyse(|step, _| work(step.index));
    let found = analysis.steps.pop().and_then(|step| step.attribution);
    found.expect("a storage step has an answer")
}

#[track_caller]
fn check(hops: Hops<'_>, service_ns: f64, expected: &Limiter) {
    let found = last(LAB, hops, |_| Work { service_ns, ..Work::default() });
    assert_eq!(found.limit, *expected, "{}", found.line());
    assert!((0.0..=SURE).contains(&found.probability), "{}", found.line());
}

fn hop(hop: &str, why: HopLimit, also: &[&str]) -> Limiter {
    let also = also.iter().map(|name| (*name).to_owned()).collect();
    Limiter::Hop { hop: hop.into(), why, also }
}

#[test]
fn a_port_at_its_speed_limits() {
    let port = |rate: f64| [("read-bytes", MOVED), ("rate", rate), ("queue-depth-end", 1.9)];
    check(&[("store.p1", &port(MOVED * 1.01))], 2e6, &hop("store.p1", HopLimit::Rate, &[]));
    let half = |rate: f64| [("read-bytes", MOVED / 2.0), ("rate", rate), ("queue-depth-end", 0.95)];
    let full = half(MOVED / 2.0 * 1.01);
    check(
        &[("store.p1", &full), ("store.p2", &full)],
        2e6,
        &hop("store.p2", HopLimit::Rate, &["store.p1"]),
    );
}

#[test]
fn a_full_port_beside_an_idle_one_is_an_imbalance() {
    let port = |part: f64, queue: f64| {
        [("read-bytes", MOVED * part), ("rate", MOVED * 0.91), ("queue-depth-end", queue)]
    };
    let (hop, idle) = ("store.p1".to_owned(), vec!["store.p2".to_owned()]);
    let expected = Limiter::PathImbalance { hop, idle };
    check(&[("store.p1", &port(0.9, 1.8)), ("store.p2", &port(0.1, 0.1))], 2e6, &expected);
}

#[test]
fn what_is_not_counted_is_named_and_not_guessed() {
    let missing = vec!["rate or utilization of vda".to_owned()];
    let busy = [("read-bytes", MOVED), ("read-ops", 1000.0), ("busy", 1e9), ("queue-time", 1.9e9)];
    check(&[("vda", &busy)], 2e6, &Limiter::Unknown { missing });
    check(&[], 2e6, &Limiter::Unknown { missing: vec!["counters of any hop".to_owned()] });
}

#[test]
fn a_quota_that_is_used_up_limits() {
    let port = [("read-bytes", MOVED), ("rate", MOVED * 8.0), ("queue-depth-end", 0.3)];
    // Of fifty periods a second, 49 ended without quota.
    let group = |throttles: f64| {
        let quota = [("cpu-quota", 0.05), ("cpu-period", 2e7), ("cpu-throttles", throttles)];
        [quota.as_slice(), &[("cpu-busy", 3e7), ("cpu-count", 0.05)]].concat()
    };
    let answer = |throttles: f64| {
        let hops = [("esx.cpu", &group(throttles)[..]), ("store.p1", &port)];
        last(LAB, &hops, |_| Work { service_ns: 2e6, ..Work::default() })
    };
    let found = answer(49.0);
    assert_eq!(found.limit, hop("esx.cpu", HopLimit::Cpu, &[]), "{}", found.line());
    assert!(found.probability >= 0.9, "{}", found.line());
    let text = "a quota of 0.05 processors used up 98% of the time";
    assert_eq!(found.clues[0].text, text);
    // One that is rarely used up limits nothing.
    let found = answer(5.0);
    assert!(!matches!(found.limit, Limiter::Hop { .. }), "{}", found.line());
}

#[test]
fn threads_that_rest_for_all_that_their_share_leaves_limit() {
    let port = [("read-bytes", MOVED), ("rate", MOVED * 8.0), ("queue-depth-end", 1.9)];
    // Two threads of a fiftieth each: they rest for 0.98 s of each second where all of it is used.
    let answer = |rested: f64| {
        let array = [("cpu-quota", 0.04 / 10.0), ("cpu", 9e7), ("cpu-throttled", rested)];
        let sketch = Sketch::of(LAB).fact("store", "threads", "2").hop("store", &array);
        let port = port.map(|(name, value)| match name {
            "rate" | "queue-depth-end" => (name, value / 10.0),
            _ => (name, value),
        });
        let work = |_: &_, _: &_| Work { service_ns: 2e6, ..Work::default() };
        let mut analysis = sketch.hop("store.p1", &port).analyse(work);
        analysis.steps.pop().and_then(|step| step.attribution).expect("an answer")
    };
    let found = answer(1.95e9);
    assert_eq!(found.limit, hop("store", HopLimit::Cpu, &[]), "{}", found.line());
    assert!(found.probability >= 0.9, "{}", found.line());
    let found = answer(0.2e9);
    assert!(!matches!(found.limit, Limiter::Hop { .. }), "{}", found.line());
}

#[test]
fn a_generator_without_time_limits() {
    let port = [("read-bytes", MOVED), ("rate", MOVED * 20.0), ("queue-depth-end", 0.3)];
    let found = last(LAB, &[("store.p1", &port)], |_| Work {
        service_ns: 3e5,
        own: 0.8,
        cpu_user: 0.8,
        ..Work::default()
    });
    assert_eq!(found.limit, Limiter::Generator, "{}", found.line());
}

#[test]
fn damaged_counters_are_no_reason_to_stop() {
    for value in [f64::NAN, f64::INFINITY, -1e300, 0.0, f64::MIN_POSITIVE] {
        let port =
            [("read-bytes", value), ("rate", value), ("queue-depth-end", value), ("slots", value)];
        let found = last(LAB, &[("store.p1", &port), ("vda", &port)], |_| Work::default());
        assert!((0.0..=SURE).contains(&found.probability), "{value}: {}", found.line());
    }
}

#[test]
fn every_line_says_how_sure_it_is() {
    let port = [("read-bytes", MOVED), ("rate", MOVED * 1.01), ("queue-depth-end", 1.9)];
    let found = last(LAB, &[("store.p1", &port)], |_| Work { service_ns: 2e6, ..Work::default() });
    let line = found.line();
    let start = "limited by store.p1 (receive 99% of 8.27 MB/s; probability 0.";
    assert!(line.starts_with(start), "{line}");
}

/// Drawn chains of ports, of which the slowest limits (closed form: what passes is the least capacity, and it is full).
#[test]
fn a_verdict_without_the_counters_of_a_hop_is_never_sure_and_wrong() {
    const PORTS: [&str; 4] = ["store.p1", "store.p2", "store.p3", "store.p4"];
    let (mut random, mut named) = (7_u64, 0);
    let mut next = |below: u64| {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % below
    };
    for case in 0..60 {
        let slow = next(4) as usize;
        let room: Vec<f64> = (0..4).map(|_| 1.05 + next(300) as f64 / 100.0).collect();
        let taken: Vec<usize> = (0..4).filter(|_| next(2) == 0).collect();
        let counters: Vec<Vec<(&str, f64)>> = (0..4)
            .map(|port| {
                let (rate, queue) = if port == slow { (1.01, 1.6) } else { (room[port], 0.1) };
                let all =
                    vec![("read-bytes", MOVED), ("rate", MOVED * rate), ("queue-depth-end", queue)];
                // A hop that nobody could read was announced all the same.
                if taken.contains(&port) { vec![("read-bytes", f64::NAN)] } else { all }
            })
            .collect();
        let hops: Vec<(&str, &[(&'static str, f64)])> =
            PORTS.iter().zip(&counters).map(|(port, of)| (*port, &of[..])).collect();
        let found = last(LAB, &hops, |_| Work { service_ns: 2e6, ..Work::default() });
        let truth = hop(PORTS[slow], HopLimit::Rate, &[]);
        if found.limit == truth {
            named += 1;
        }
        let undetermined = matches!(found.limit, Limiter::Unknown { .. });
        let sure = found.probability >= 0.9 && !undetermined;
        assert!(found.limit == truth || !sure, "{case}: {}", found.line());
        if taken.contains(&slow) {
            let told = found.clues.iter().any(|clue| clue.text.contains("not counted: "));
            assert!(found.limit != truth && told, "{case}: {}: {:?}", found.line(), found.clues);
        }
    }
    assert!(named >= 15, "{named}");
}
