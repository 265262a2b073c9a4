//! Served from a cache or by the device.

use crate::support::{Sketch, Work};
use findings::{Analysis, Served, Traffic};

const SCENARIO: &str = r#"
scenario.title = "Three targets"
target = [{ name = "t{1..3}", file = "t{1..3}" }]
vm = [{ name = "vm", disks = [{ target = "t1" }, { target = "t2" }] }]
workload.load.block = "8KiB"
[plan]
workload = "load"
on = ON
measure = "5s"
"#;

/// Bytes that a worker moves in a second.
const MOVED: f64 = 8192.0 * 1000.0;

/// A run on some VMs and targets; facts and counters are added by the test.
fn analyse(on: &str, read: u64, make: impl FnOnce(Sketch<'_>) -> Sketch<'_>) -> Analysis {
    let scenario = SCENARIO.replace("ON", on);
    make(Sketch::of(&scenario)).analyse(|_, _| Work { read, ..Work::default() })
}

/// A target's device, and how it is opened.
fn at<'a>(sketch: Sketch<'a>, target: &str, device: &str, disk: &str, cache: &str) -> Sketch<'a> {
    let sketch = sketch.fact(target, "cache", cache);
    sketch.fact(target, "device", device).fact(target, "disk", disk)
}

fn word(served: &Served) -> String {
    let traffic = |name: &str, t: &Option<Traffic>| {
        t.map(|t| format!("; {name} {:.2} by {:?}", t.ratio, t.by)).unwrap_or_default()
    };
    let unknown = served.unknown.as_ref().map(|u| format!("; {u}")).unwrap_or_default();
    let (read, write) = (traffic("read", &served.read), traffic("write", &served.write));
    format!("{} for {}{read}{write}{unknown}", served.devices.join("+"), served.targets.join("+"))
}

/// What is said of a worker of `t1` on `vda1`, in a run that reads `read` percent, when the device counted so many
/// times what was asked for in each direction.
#[track_caller]
fn check(cache: &str, read: u64, counted: [f64; 2], expected: &str) {
    let analysis = analyse("\"t1\"", read, |sketch| {
        let sketch = at(sketch, "t1", "vda1", "vda", cache);
        let [r, w] = counted.map(|times| times * MOVED);
        sketch.hop("vda1", &[("read-bytes", r), ("write-bytes", w)])
    });
    let served: Vec<String> = analysis.steps[0].served.iter().map(word).collect();
    assert_eq!(served, [expected]);
    let unknown = analysis.warnings.iter().any(|w| w.code == "served-unknown");
    assert_eq!(unknown, analysis.steps[0].served[0].unknown.is_some());
}

#[test]
fn reads_missing_at_the_device_came_from_a_cache() {
    check("buffered", 100, [0.02, 0.0], "vda1 for t1; read 0.02 by Cache");
    check("buffered", 100, [0.0, 0.0], "vda1 for t1; read 0.00 by Cache");
    check("buffered", 100, [0.89, 0.0], "vda1 for t1; read 0.89 by Cache");
    check("direct", 100, [0.5, 0.0], "vda1 for t1; read 0.50 by Cache");
    check("buffered", 0, [0.0, 0.4], "vda1 for t1; write 0.40 by Cache");
}

#[test]
fn other_device_traffic_is_reported() {
    check("direct", 100, [1.0, 5.0], "vda1 for t1; read 1.00 by Device");
    check("direct", 100, [0.91, 0.0], "vda1 for t1; read 0.91 by Device");
    check("buffered", 100, [1.3, 0.0], "vda1 for t1; read 1.30 by DeviceAndMore");
    check(
        "direct",
        50,
        [0.5, 1.0],
        "vda1 for t1; read 1.00 by Device; write 2.00 by DeviceAndMore",
    );
}

#[test]
fn counters_that_stand_still_are_no_cache() {
    check("direct", 100, [0.0, 0.0], "vda1 for t1; the counters of vda1 did not change");
    let nan = f64::NAN;
    check("buffered", 100, [nan, nan], "vda1 for t1; no counters from vda1");
    let told = analyse("\"t1\"", 100, |sketch| {
        let sketch = at(sketch, "t1", "zram0", "zram0", "buffered");
        let sketch = sketch.fact("zram0", "counters", "its queue/iostats is 0");
        sketch.hop("zram0", &[("read-bytes", nan), ("write-bytes", nan)])
    });
    let expected = "zram0 for t1; no counters from zram0: its queue/iostats is 0";
    assert_eq!(word(&told.steps[0].served[0]), expected);
    let warning = told.warnings.iter().find(|w| w.code == "served-unknown").expect("a warning");
    assert!(
        warning.text.ends_with("no counters from zram0: its queue/iostats is 0"),
        "{warning:?}"
    );
}

/// What is said of a run on these VMs and targets, where `t1` lies on `vda1`, `t2` and `t3` as told.
#[track_caller]
fn check_places(
    on: &str,
    t2: (&str, &str),
    t3: (&str, &str),
    hops: &[&'static str],
    expected: &[&str],
) {
    let analysis = analyse(on, 100, |sketch| {
        let mut sketch = at(sketch, "t1", "vda1", "vda", "direct");
        for (target, (device, disk)) in [("t2", t2), ("t3", t3)] {
            sketch = match device {
                "" => sketch.fact(target, "cache", "direct"),
                _ => at(sketch, target, device, disk, "direct"),
            };
        }
        let counters = [("read-bytes", MOVED), ("write-bytes", 0.0)];
        hops.iter().fold(sketch, |sketch, hop| sketch.hop(hop, &counters))
    });
    let mut served: Vec<String> = analysis.steps[0].served.iter().map(word).collect();
    served.sort();
    assert_eq!(served, expected);
}

#[test]
fn inseparable_targets_are_compared_together() {
    let (vdb, vdc) = (("vdb", "vdb"), ("vdc", "vdc"));
    let all = ["vda1", "vda", "vdb", "vdc"];
    let each = [
        "vda1 for t1; read 1.00 by Device",
        "vdb for t2; read 1.00 by Device",
        "vdc for t3; read 1.00 by Device",
    ];
    check_places("\"t*\"", vdb, vdc, &all, &each);
    // Two targets on one partition, and two partitions of one disk.
    let shared = ["vda1 for t1+t2; read 0.50 by Cache", "vda2 for t3; read 1.00 by Device"];
    check_places("\"t*\"", ("vda1", "vda"), ("vda2", "vda"), &["vda1", "vda2"], &shared);
    // A disk and a partition of it.
    let whole = ["vda for t1+t2; read 0.50 by Cache", "vdc for t3; read 1.00 by Device"];
    check_places("\"t*\"", ("vda", "vda"), vdc, &all, &whole);
    // A VM on two disks.
    check_places("\"vm\"", vdb, vdc, &all, &["vda1+vdb for t1+t2; read 2.00 by DeviceAndMore"]);
}

#[test]
fn unknown_service_has_a_reason() {
    let (vdb, none) = (("vdb", "vdb"), ("", ""));
    let nowhere = ["vda1 for t1+t2; no block device is known under t2"];
    check_places("\"vm\"", none, vdb, &["vda1"], &nowhere);
    check_places("\"t3\"", vdb, none, &[], &[" for t3; no block device is known under t3"]);
    check_places("\"t1\"", vdb, vdb, &[], &["vda1 for t1; the record has no counters of vda1"]);
}

#[test]
fn a_record_that_was_not_measured_on_a_machine_says_nothing() {
    let analysis = analyse("\"t1\"", 100, |sketch| sketch);
    assert!(analysis.steps[0].served.is_empty());
    assert!(analysis.warnings.iter().all(|w| w.code != "served-unknown"));
}
