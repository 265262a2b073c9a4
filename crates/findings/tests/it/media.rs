//! Reads that a cache in front of the media answered, by what the scenario says of the media.

use crate::support::{Sketch, Work};
use std::collections::BTreeSet;

const SCENARIO: &str = r#"
scenario.title = "One disk"
target = [{ name = "t", url = "null:", size = "SIZE", part = "PART" }]
workload.load.block = "8KiB"
workload.load.read = "100%"
workload.load.random = "RANDOM"
[plan]
workload = "load"
on = "t"
measure = "4s"
"#;

/// What the model of the target's media is, and how the target is used.
#[derive(Clone, Copy)]
struct Case {
    part: &'static str,
    size: &'static str,
    random: &'static str,
    /// Reads and service times of each second in turn.
    seconds: [(u64, f64); 2],
    simulated: bool,
}

const DISK: Case = Case {
    part: "savvio-10k",
    size: "600GB",
    random: "100%",
    seconds: [(400, 8e6); 2],
    simulated: false,
};

#[track_caller]
fn check(case: &Case, expected: &[&str]) {
    let scenario = SCENARIO.replace("SIZE", case.size).replace("PART", case.part);
    let scenario = scenario.replace("RANDOM", case.random);
    let mut sketch = Sketch::of(&scenario);
    if case.simulated {
        sketch = sketch.fact("run", "simulated", "yes");
    }
    let sketch = sketch.each_second(|_, _, second| {
        let (ops, service_ns) = case.seconds[(second % 2) as usize];
        Work { ops, service_ns, ..Work::default() }
    });
    let analysis = sketch.analyse(|_, _| Work::default());
    let codes = ["fits-cache", "faster-than-media", "two-kinds-of-reads"];
    let found: BTreeSet<&str> = analysis.warnings.iter().map(|w| w.code.as_str()).collect();
    let found: Vec<&str> = codes.into_iter().filter(|code| found.contains(code)).collect();
    assert_eq!(found, expected, "{:?}", analysis.warnings);
}

/// 3.8 ms to seek and 3 ms to turn: 147 reads a second without a queue, 588 with any order. On a hundredth of the disk a seek
/// takes 0.72 ms: 269 and 1,075.
#[test]
fn more_random_reads_than_a_disk_can_turn_are_of_a_cache() {
    check(&DISK, &[]);
    let at = |ops| [(ops, 8e6); 2];
    check(&Case { seconds: at(580), ..DISK }, &[]);
    check(&Case { seconds: at(600), ..DISK }, &["faster-than-media"]);
    check(&Case { seconds: at(1_000), size: "6GB", ..DISK }, &[]);
    check(&Case { seconds: at(1_100), size: "6GB", ..DISK }, &["faster-than-media"]);
    // Reads in sequence need no seek, and a simulation has no cache that it does not know of.
    check(&Case { seconds: at(9_000), random: "0%", ..DISK }, &[]);
    check(&Case { seconds: at(9_000), simulated: true, ..DISK }, &[]);
}

/// The array's cache holds 256 GB.
#[test]
fn what_fits_the_cache_of_an_array_is_said() {
    let array = Case { part: "all-flash", ..DISK };
    check(&array, &[]);
    check(&Case { size: "200GB", ..array }, &["fits-cache"]);
    check(&Case { size: "200GB", simulated: true, ..array }, &[]);
    check(&Case { part: "savvio-10k", size: "200GB", ..array }, &[]);
}

#[test]
fn fast_and_slow_reads_are_two_kinds() {
    let two = [(200, 2e5), (200, 2e7)];
    check(&Case { seconds: two, ..DISK }, &[]);
    let two = [(580, 2e5), (580, 2e7)];
    check(&Case { seconds: two, ..DISK }, &["two-kinds-of-reads"]);
    // In sequence it may be read-ahead.
    check(&Case { seconds: two, random: "0%", ..DISK }, &["two-kinds-of-reads"]);
    check(&Case { seconds: two, random: "0%", simulated: true, ..DISK }, &[]);
    check(&Case { seconds: [(580, 2e7); 2], ..DISK }, &[]);
}

/// What the warnings say of two kinds of reads, where these VMs each read so on disks like `disks`.
fn told(array: &str, disks: &str) -> Vec<String> {
    let scenario = format!(
        "scenario.title = \"Many\"\n{array}\nvm = [{{ name = \"vm{{1..8}}\", disks = [{{ {disks} }}] }}]\n\
         workload.load = {{ block = \"8KiB\", read = \"100%\", depth = 4 }}\n\
         [plan]\nworkload = \"load\"\non = \"vm*\"\nmeasure = \"4s\"\nrepeat = 2\n"
    );
    let sketch = Sketch::of(&scenario).each_second(|_, group, second| {
        let service_ns = if second % 2 == 0 { 2e5 } else { 2e7 };
        let ops = if second % 2 == 0 && group == "vm3" { 800 } else { 580 };
        Work { ops, service_ns, ..Work::default() }
    });
    let analysis = sketch.analyse(|_, _| Work::default());
    let of = analysis.warnings.into_iter().filter(|w| w.code == "two-kinds-of-reads");
    of.map(|w| format!("{:?} {}", w.steps, w.text)).collect()
}

#[test]
fn many_that_read_so_are_one_line_and_an_embedded_array_has_no_media() {
    let target = "target = [{ name = \"t{1..8}\", url = \"null:\", size = \"600GB\" }]";
    let lines = told(target, "target = \"t{1..8}\"");
    let [line] = &lines[..] else { panic!("{lines:?}") };
    assert!(line.starts_with("[0, 1] vm1 (and 7 more like it): 50% of its sequential"), "{line}");
    let array = "array = [{ name = \"a\", embedded = { ports = [{ name = \"p\" }] } }]\n\
                 volume = [{ name = \"d\", array = \"a\", size = \"64MiB\" }]";
    assert_eq!(told(array, "lun = \"a/d\""), Vec::<String>::new());
}
