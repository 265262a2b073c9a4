//! Who does what: names, numbers, shares and places of workers.

use crate::common::*;
use crate::prelude::*;
use engine::Fill;
use record::Loop;
use scenario::{Backing, Load, Scenario, Step, Workload};
use workload::{
    Arrivals, IoDemand, Process, Reduction, Skew, Spec, Transaction, WorkingSet, WorkloadKind,
};

/// The assignment of steps to agents `a`, `b`, …: for each step and agent, every worker as
/// `NAME:TARGETS SHARER/SHARERS`.
fn assigned(scenario: &Scenario, steps: &[Step], agents: usize) -> Result<Vec<String>, String> {
    let names: Vec<String> = ["a", "b", "c"][..agents].iter().map(|&n| n.to_owned()).collect();
    let assignment =
        Assignment::new(scenario, steps, 1, &names).map_err(|error| error.to_string())?;
    let mut out = Vec::new();
    for step in steps {
        let assigned = assignment.step(step).unwrap();
        for (agent, spec) in names.iter().zip(&assigned.specs) {
            let Some(spec) = spec else { continue };
            let worker = |w: &engine::WorkerSpec| {
                let targets: Vec<&str> =
                    w.targets.iter().map(|&t| spec.targets[usize::from(t)].name.as_str()).collect();
                assert_eq!(assignment.sources()[w.source.0 as usize].name, w.name);
                assert_eq!(&assignment.sources()[w.source.0 as usize].agent, agent);
                format!("{}:{} {}/{}", w.name, targets.join("+"), w.sharer, w.sharers)
            };
            let workers: Vec<String> = spec.workers.iter().map(worker).collect();
            out.push(format!("{}{agent}: {}", step.index, workers.join(", ")));
        }
    }
    Ok(out)
}

fn spec_of(load: &mut Load) -> &mut Spec {
    match &mut load.workload {
        Workload::Disk(workload) => &mut workload.spec,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn check(scenario: &Scenario, loads: Vec<Load>, expected: &str) {
    let workers = assigned(scenario, &[step(0, loads)], 1).unwrap();
    assert_eq!(workers, [format!("0a: {expected}")]);
}

#[test]
fn workers_are_named_after_what_they_work_for() {
    let lab = scenario(3, &[("vm1", &["t0"]), ("vm2", &["t1", "t2"])]);
    check(&lab, vec![load("w", 1, &["t0"])], "t0:t0 0/1");
    check(&lab, vec![load("w", 1, &["vm2", "t0"])], "vm2:t1+t2 0/1, t0:t0 0/1");
    check(&lab, vec![load("w", 2, &["vm1"])], "vm1/0:t0 0/2, vm1/1:t0 1/2");
    check(
        &lab,
        vec![load("w", 1, &["vm1"]), load("x", 2, &["vm1"])],
        "vm1/w:t0 0/1, vm1/x/0:t0 0/2, vm1/x/1:t0 1/2",
    );
    check(
        &lab,
        vec![load("w", 1, &["vm1", "vm2"]), load("x", 1, &["vm2"])],
        "vm1:t0 0/1, vm2/w:t1+t2 0/1, vm2/x:t1+t2 0/1",
    );
    // The same load twice is two workers.
    check(&lab, vec![load("w", 1, &["t0"]), load("w", 1, &["t0"])], "t0/0:t0 0/1, t0/1:t0 0/1");
    check(&lab, vec![load("w", 1, &["t0", "t0"])], "t0/0:t0 0/2, t0/1:t0 1/2");
}

#[test]
fn a_target_knows_what_all_steps_ask_of_it_and_what_is_done_to_it_first() {
    let mut lab = scenario(2, &[]);
    lab.lab.targets[0].fill = scenario::Fill::Never;
    lab.lab.targets[1].data.compress = 2.0;
    let mut writes = load("w", 1, &["t0"]);
    spec_of(&mut writes).working_set = Some(WorkingSet::Bytes(4096));
    let WorkloadKind::Access(access) = &mut spec_of(&mut writes).kind else { panic!("rows") };
    (access.rows[0].read, access.rows[0].size) = (0.0, 512);
    let mut steps = [step(0, vec![load("x", 1, &["t0", "t1"])]), step(1, vec![writes])];
    steps[1].precondition = true;
    let agents = ["a".to_owned()];
    let assignment = Assignment::new(&lab, &steps, 1, &agents).unwrap();
    let targets = |n: usize| assignment.step(&steps[n]).unwrap().specs[0].clone().unwrap().targets;
    let (first, second) = (targets(0), targets(1));
    assert_eq!(first[0].demand, second[0].demand);
    let IoDemand { reads, writes, reach, .. } = first[0].demand;
    assert_eq!((reads, writes, reach.within(1 << 30)), (true, true, 1 << 30));
    assert!(!first[1].demand.writes);
    assert_eq!((first[0].fill, first[1].fill), (Fill::Never, Fill::Auto));
    assert_eq!((first[0].data, first[1].data.compress), (Reduction::default(), 2.0));
    assert_eq!(second[0].fill, Fill::SniaPts);
}

#[test]
fn workers_that_share_targets_are_numbered() {
    let lab = scenario(
        4,
        &[("vm1", &["t0"]), ("vm2", &["t0"]), ("vm3", &["t1"]), ("vm4", &["t1", "t2"])],
    );
    check(&lab, vec![load("w", 1, &["vm1", "vm2", "vm3"])], "vm1:t0 0/2, vm2:t0 1/2, vm3:t1 0/1");
    // Sets that merely overlap share too, or their regions would.
    check(
        &lab,
        vec![load("w", 1, &["vm3", "vm4", "t2", "t3"])],
        "vm3:t1 0/3, vm4:t1+t2 1/3, t2:t2 2/3, t3:t3 0/1",
    );
    // Two sets that are joined by a later one.
    check(&lab, vec![load("w", 1, &["t1", "t2", "vm4"])], "t1:t1 0/3, t2:t2 1/3, vm4:t1+t2 2/3");
}

#[test]
fn a_name_is_one_source_in_all_steps() {
    let lab = scenario(2, &[]);
    let steps = [
        step(0, vec![load("w", 1, &["t1"])]),
        step(1, vec![load("w", 1, &["t0", "t1"])]),
        step(2, vec![load("w", 2, &["t1"])]),
    ];
    let assignment = Assignment::new(&lab, &steps, 1, &["a".to_owned()]).unwrap();
    let names: Vec<_> = assignment.sources().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["t1", "t0", "t1/0", "t1/1"]);
    let groups: Vec<_> = assignment.sources().iter().map(|s| s.group.as_str()).collect();
    assert_eq!(groups, ["t1", "t0", "t1", "t1"]);
    let ids: Vec<_> = assignment.sources().iter().map(|s| s.id.0).collect();
    assert_eq!(ids, [0, 1, 2, 3]);
}

#[test]
fn workers_that_share_a_target_are_on_one_agent() {
    let lab = scenario(4, &[("vm1", &["t0"]), ("vm2", &["t1"]), ("vm3", &["t0", "t2"])]);
    let steps = [
        step(0, vec![load("w", 1, &["vm1", "vm2", "t3"])]),
        // `vm3` shares with `vm1`, in another step.
        step(1, vec![load("w", 1, &["vm3", "vm2"])]),
        step(2, vec![load("w", 1, &["t3"])]),
    ];
    assert_eq!(
        assigned(&lab, &steps, 2).unwrap(),
        [
            "0a: vm1:t0 0/1, t3:t3 0/1",
            "0b: vm2:t1 0/1",
            "1a: vm3:t0+t2 0/1",
            "1b: vm2:t1 0/1",
            "2a: t3:t3 0/1",
        ]
    );
}

#[test]
fn keys_are_unique_over_agents() {
    let lab = scenario(3, &[]);
    let steps = [step(0, vec![load("w", 2, &["t0", "t1", "t2"])])];
    let names = ["a".to_owned(), "b".to_owned()];
    let assigned = Assignment::new(&lab, &steps, 9, &names).unwrap().step(&steps[0]).unwrap();
    let specs: Vec<_> = assigned.specs.iter().flatten().collect();
    let mut keys: Vec<u32> = specs.iter().flat_map(|s| &s.workers).map(|w| w.key).collect();
    keys.sort_unstable();
    assert_eq!(keys, [0, 1, 2, 3, 4, 5]);
    assert!(specs.iter().all(|s| s.seed == 9 && s.length() == Ns::secs(3)));
    assert_eq!(assigned.loads.len(), 6);
}

#[track_caller]
fn check_refused(scenario: &Scenario, on: &str, expected: &str) {
    // A mistake in the last step is found before the first.
    let steps = [step(0, vec![load("w", 1, &["t0"])]), step(1, vec![load("w", 1, &[on])])];
    let error = assigned(scenario, &steps, 1).expect_err("a refusal");
    assert!(error.contains(expected), "{error:?} lacks {expected:?}");
}

#[test]
fn what_is_not_at_hand_is_refused_with_a_way_out() {
    let mut lab =
        scenario(1, &[("vm1", &["t0"]), ("vm2", &["t0"]), ("bare", &[]), ("vm3", &["t9"])]);
    lab.lab.vms[0].disks[0].backing = Backing::Lun { array: "ssd1".into(), volume: None };
    lab.lab.vms[1].disks[0].size = lab.lab.targets[0].create.or(Some(Default::default()));
    check_refused(&lab, "vm1", "`vm1` has a disk on the array `ssd1`, which is not present");
    check_refused(&lab, "vm1", "`wirespeed simulate`");
    check_refused(&lab, "vm2", "a disk of `vm2` is smaller than its target");
    check_refused(&lab, "bare", "`bare` has no disks for `w` to use");
    check_refused(&lab, "vm3", "`t9` is neither a VM nor a target");
    check_refused(&lab, "ghost", "`ghost` is neither a VM nor a target");
}

/// The loop and the operations of a transaction that the record announces.
fn announced(change: impl FnOnce(&mut workload::Spec)) -> (Loop, u32) {
    let mut one = load("w", 1, &["t0"]);
    change(spec_of(&mut one));
    let (lab, steps) = (scenario(1, &[]), [step(0, vec![one])]);
    let assignment = Assignment::new(&lab, &steps, 1, &["a".to_owned()]).unwrap();
    let load = assignment.step(&steps[0]).unwrap().loads.remove(0);
    assert_eq!(load.workload, "w");
    (load.arrivals, load.ops_per_transaction)
}

#[test]
fn loops_are_announced() {
    let closed = |think| Loop::Closed { depth: 4, think };
    assert_eq!(announced(|_| ()), (closed(false), 1));
    let think = |spec: &mut workload::Spec| {
        spec.arrivals = Arrivals::Closed { depth: 4, think: Ns(1) };
    };
    assert_eq!(announced(think).0, closed(true));
    let transaction = |spec: &mut workload::Spec| {
        spec.kind = WorkloadKind::Transaction(Transaction {
            page: 8192,
            index: 1.0,
            index_pages: 3,
            table_pages: 2,
            index_skew: Skew::Uniform,
            table_skew: Skew::Uniform,
            read: 70.0,
        });
    };
    assert_eq!(announced(transaction), (closed(false), 5));
}

#[track_caller]
fn check_rate(process: Process, expected: f64) {
    let open = |spec: &mut workload::Spec| spec.arrivals = Arrivals::Open { process, limit: 9 };
    assert_eq!(announced(open).0, Loop::Open { rate: expected });
}

#[test]
fn the_rate_of_an_open_loop_is_its_mean_over_the_measured_time() {
    // The step warms up for one second and measures for two.
    let ramp = |to, over| Process::Ramp { from: 0.0, to, over: Ns::secs(over) };
    check_rate(Process::Fixed { rate: 50.0 }, 50.0);
    check_rate(Process::Poisson { rate: 50.0 }, 50.0);
    check_rate(ramp(300.0, 3), 200.0);
    check_rate(ramp(100.0, 1), 100.0);
    check_rate(ramp(200.0, 2), 175.0);
    check_rate(ramp(100.0, 0), 100.0);
}

#[test]
fn a_step_of_no_length_has_a_rate() {
    let mut one = load("w", 1, &["t0"]);
    let process = Process::Ramp { from: 1.0, to: 2.0, over: Ns(1) };
    spec_of(&mut one).arrivals = Arrivals::Open { process, limit: 1 };
    let mut short = step(0, vec![one]);
    (short.warmup, short.measure) = (Duration::ZERO, Duration::ZERO);
    let (lab, steps) = (scenario(1, &[]), [short]);
    let assignment = Assignment::new(&lab, &steps, 1, &["a".to_owned()]).unwrap();
    let load = assignment.step(&steps[0]).unwrap().loads.remove(0);
    assert_eq!(load.arrivals, Loop::Open { rate: 0.0 });
}

/// A sweep over members of a real scenario: each step has the workers of the smaller ones, with the same names and numbers.
#[test]
fn a_step_of_fewer_members_has_the_first_workers() {
    let text = "scenario.title = \"t\"\n[workload.w]\nblock = \"8KiB\"\n[[target]]\nname = \"t{0..2}\"\nurl = \"null:\"\n\
                size = \"1GiB\"\n[plan]\nworkload = \"w\"\non = \"t*\"\nmeasure = \"1s\"\nsweep = { members = [1, 3] }\n";
    let source = scenario::Source {
        name: "t.toml".into(),
        text: text.into(),
        ..scenario::Source::default()
    };
    let scenario = scenario::load(&source).unwrap_or_else(|d| panic!("{d}"));
    assert_eq!(
        assigned(&scenario, &scenario.steps(), 1).unwrap(),
        ["0a: t0:t0 0/1", "1a: t0:t0 0/1, t1:t1 0/1, t2:t2 0/1"]
    );
}
