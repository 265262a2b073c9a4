//! What reviews say of the load around the figures: how it became steady, and who served it.

use crate::support::{Sketch, Work};
use findings::Analysis;
use record::Level;
use review::{Style, terminal};

/// A record of random reads of 8 KiB from one file, to which facts, events and counters are added.
const SCENARIO: &str = r#"
scenario.title = "Random reads from one file"
target = [{ name = "data", file = "data.bin", create = "1GiB" }]
workload.reads = { block = "8KiB", random = 100 }
[plan]
workload = "reads"
on = "data"
measure = "10s"
"#;

fn rendered(analysis: &Analysis) -> String {
    terminal(analysis, Style { color: false, width: 100 })
}

#[test]
fn a_measurement_that_waited_for_a_steady_load() {
    for (code, drift, expected) in [
        ("steady", 1.0, "  • Steady after a warm-up of 2 s, and while it was measured.\n"),
        (
            "steady",
            0.5,
            "  • Steady after a warm-up of 2 s; see the warnings for the measured time.\n",
        ),
        ("never-steady", 1.0, "  • Not steady after a warm-up of 2 s; see the warnings.\n"),
    ] {
        let sketch = Sketch::of(SCENARIO).event(Level::Warning, code, "what it says");
        let text = rendered(&sketch.analyse(|_, _| Work { drift, ..Work::default() }));
        assert!(text.contains(expected), "{text}");
    }
}

/// What a review says of a target on `vda` whose device read and wrote so many times what its worker asked for.
#[track_caller]
fn check_served(cache: &str, read: u64, times: [f64; 2], expected: &str) {
    let moved = 8192.0 * 1000.0;
    let counters = [("read-bytes", times[0] * moved), ("write-bytes", times[1] * moved)];
    let sketch = Sketch::of(SCENARIO).hop("vda", &counters).fact("data", "cache", cache);
    let sketch = sketch.fact("data", "device", "vda").fact("data", "disk", "vda");
    let text = rendered(&sketch.analyse(|_, _| Work { read, ..Work::default() }));
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(expected), "{text}");
    assert_eq!(flat.contains("vda"), !expected.is_empty() || times == [1.0, 0.0], "{text}");
}

#[test]
fn a_cache_that_served_is_reported() {
    let first = "sets no goals. ! At least 98% of what was read came from the page cache, not from vda: these figures \
                 are not the device's. Findings";
    check_served("buffered", 100, [0.02, 0.0], first);
    let some = "• At least 30% of what was read came from the page cache, not from vda. •";
    check_served("buffered", 100, [0.7, 0.0], some);
    let stayed =
        "! At least 60% of what was written stayed in the page cache and did not reach vda: these";
    check_served("buffered", 0, [0.0, 0.4], stayed);
    let holes = "! At least 75% of what was read did not come from vda, though the page cache was bypassed: holes of a \
                 file, or another cache: these figures are not the device's.";
    check_served("direct", 100, [0.25, 0.0], holes);
    let more = "• vda read 1.30 × what the workers requested (10.6 MB/s of 8.19 MB/s): read-ahead, or other programs.";
    check_served("direct", 100, [1.3, 0.0], more);
    check_served("direct", 100, [1.0, 0.0], "");
}
