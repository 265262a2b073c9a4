//! What happened within steps: planned faults and jobs. Rates are planted second by second, so that moments and spans
//! follow from arithmetic.

use crate::support::{Sketch, Work};
use clock::Ns;
use findings::{Analysis, FaultKind, JobPhase};

const FAULTS: &str = r#"
scenario.title = "A port that dies"
[[array]]
name = "store"
embedded = { ports = [{ name = "p1" }, { name = "p2" }] }
[[volume]]
name = "disk"
array = "store"
size = "64MiB"
[[vm]]
name = "vm"
disks = [{ lun = "store/disk" }]
[workload.load]
block = "64KiB"
[plan]
workload = "load"
on = "vm"
warmup = "0s"
measure = "12s"
faults = [{ at = "4s", kill = "store.p1" }, { at = "8s", revive = "store.p1" }]
"#;

/// 1,000 operations a second, none in the second after the fault, half until the port is back, and 950 from then on.
fn dying(second: u64) -> Work {
    let ops = match second {
        0..4 => 1000,
        4 => 0,
        5..8 => 500,
        8 => 700,
        _ => 950,
    };
    let service_ns = if second == 5 { 4e6 } else { 1e6 };
    Work { ops, service_ns, block: 65_536, ..Work::default() }
}

fn killed() -> Analysis {
    Sketch::of(FAULTS)
        .event_at(Ns::secs(4), "fault-kill", "store.p1 was killed")
        .event_at(Ns::secs(8), "fault-revive", "store.p1 was revived")
        .each_second(|_, _, second| dying(second))
        .analyse(|_, _| Work::default())
}

#[test]
fn a_fault_has_work_before_during_and_after() {
    let analysis = killed();
    let [fault] = &analysis.steps[0].faults[..] else { panic!("one fault") };
    assert_eq!((fault.part.as_str(), fault.kind), ("store.p1", FaultKind::Killed));
    assert!(fault.carried_out);
    assert_eq!((fault.at_ns, fault.until_ns), (4_000_000_000, Some(8_000_000_000)));
    // 1500 operations in four seconds; 700 + 3 × 950 in four.
    let iops = [fault.before.iops, fault.during.iops, fault.after.unwrap().iops];
    assert_eq!(iops, [1000.0, 375.0, 887.5]);
    assert_eq!(fault.before.bytes_per_s, 1000.0 * 65_536.0);
    let lengths = [fault.before.length_ns, fault.during.length_ns, fault.after.unwrap().length_ns];
    assert_eq!(lengths, [4_000_000_000; 3]);
}

#[test]
fn a_fault_has_times_to_fail_over_and_to_recover() {
    let analysis = killed();
    let fault = &analysis.steps[0].faults[0];
    // The longest of the latencies around 4 ms is five times that, and around 1 ms none exceeds 5 ms.
    let longest = fault.fail_over_ns.expect("an I/O waited");
    assert!((19_000_000..21_500_000).contains(&longest), "{longest}");
    // Half of the throughput is not 90%; 950 of 1,000 is, in the second that begins one after the port was back.
    assert_eq!((fault.resumed_ns, fault.recovered_ns), (None, Some(2_000_000_000)));
}

#[test]
fn a_fault_without_an_event_is_planned_only() {
    let analysis = Sketch::of(FAULTS)
        .each_second(|_, _, second| dying(second))
        .analyse(|_, _| Work::default());
    let fault = &analysis.steps[0].faults[0];
    assert!(!fault.carried_out);
    assert_eq!(fault.at_ns, 4_000_000_000, "as planned");
}

#[test]
fn a_plan_without_faults_has_none() {
    let (before, _) = FAULTS.split_once("faults").unwrap();
    let analysis = Sketch::of(before).analyse(|_, _| Work::default());
    assert_eq!(analysis.steps[0].faults, []);
}

const JOB: &str = r#"
scenario.title = "Collect, then archive"
target = [{ name = "data", file = "data.bin", create = "1GiB" }]
workload.collect = { block = "1MB", read = 100 }
workload.archive = { block = "1MB", read = 0 }
[plan]
name = "backup"
warmup = "0s"
measure = "20s"
load = [
  { name = "collect", workload = "collect", on = "data", amount = "4 GB" },
  { name = "archive", workload = "archive", on = "data", amount = "4 GB", after = "collect" },
]
"#;

/// Collects 300 MB/s until 4 GB are read, after 13⅓ s; then archives 200 MB/s.
fn job() -> Vec<JobPhase> {
    let work = |workload: &str, second: u64| {
        let collects = workload == "collect";
        let ops = match (collects, second) {
            (true, 0..13) => 300,
            (true, 13) => 100,
            (false, 13) => 133,
            (false, 14..) => 200,
            _ => 0,
        };
        Work { ops, block: 1_000_000, read: if collects { 100 } else { 0 }, ..Work::default() }
    };
    let mut analysis = Sketch::of(JOB)
        .each_second(move |_, workload, second| work(workload, second))
        .confidence("iops", 0.0, 1e6)
        .analyse(|_, _| Work::default());
    let step = analysis.steps.remove(0);
    assert!(step.is_job() && step.steady.is_none() && step.uncertainty().is_none());
    step.job
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

#[test]
fn a_finished_phase_has_its_duration_and_rate() {
    let phases = job();
    let collect = &phases[0];
    assert_eq!((collect.name.as_str(), collect.finished, collect.left), ("collect", true, 0));
    assert_eq!((collect.moved, collect.read, collect.written), (4_000_000_000, 4_000_000_000, 0));
    assert_eq!((collect.began_ns, collect.projected_end_ns), (Some(0), None));
    assert!((seconds(collect.lasted_ns) - 40.0 / 3.0).abs() < 1e-6, "{}", collect.lasted_ns);
    assert!((collect.bytes_per_s - 300e6).abs() < 1.0, "{}", collect.bytes_per_s);
}

#[test]
fn an_unfinished_phase_has_what_is_left_and_its_projected_end() {
    let phases = job();
    let archive = &phases[1];
    assert_eq!((archive.after.as_slice(), archive.finished), (&["collect".to_owned()][..], false));
    // 133 + 6 × 200 MB of 4 GB; it began when 133 of 200 MB of its first second were still to come.
    assert_eq!((archive.moved, archive.written, archive.read), (1_333_000_000, 1_333_000_000, 0));
    assert_eq!(archive.left, 2_667_000_000);
    assert!((seconds(archive.began_ns.unwrap()) - 13.335).abs() < 1e-6);
    assert!((archive.bytes_per_s - 200e6).abs() < 1.0, "{}", archive.bytes_per_s);
    let ends = seconds(archive.projected_end_ns.expect("it would end"));
    assert!((ends - (20.0 + 2667.0 / 200.0)).abs() < 1e-6, "{ends}");
}

#[test]
fn a_phase_that_did_not_begin_says_so() {
    let mut analysis = Sketch::of(JOB)
        .each_second(|_, _, _| Work { ops: 0, ..Work::default() })
        .analyse(|_, _| Work::default());
    let phases = analysis.steps.remove(0).job;
    let told: Vec<_> = phases.iter().map(|p| (p.began_ns, p.moved, p.finished, p.left)).collect();
    assert_eq!(told, [(None, 0, false, 4_000_000_000); 2]);
}
