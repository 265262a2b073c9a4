//! Rounds that prove the limit of a step: what is planned to be slowed, that each thing is slowed in its turn and restored, and
//! what is left where the user ends the run among them.

use crate::arrays::{Diary, LAB, Played, array, array_of, load, play, worker};
use crate::common::*;
use crate::prelude::*;
use fleet::prove;
use record::{Lever, Proof};

const PLAN: &str = "
plan = [{ workload = \"w\", on = \"vm*\", warmup = \"0s\", measure = \"1s\", \
          prove = { rounds = 6, round = \"120ms\" } }]
";

/// The laboratory with a volume of 500 IOPS and these keys of its workload.
fn lab(workload: &str) -> String {
    let volume = "name = \"data\", array = \"store\", size = \"1MiB\"";
    let lab = LAB.replace(volume, &format!("{volume}, iops = 500"));
    let lab = lab.replace("depth = 1", workload);
    assert!(lab.contains("iops = 500") && lab.contains(workload));
    format!("{PLAN}{lab}")
}

/// What would be slowed, and what would not.
fn planned(text: &str) -> (Vec<(String, Lever, f64)>, Vec<String>, Proof) {
    let scenario = load(text);
    let step = scenario.steps().remove(0);
    let proof = prove::planned(&scenario, &step, 1).unwrap().expect("rounds");
    let slowed = proof.perturbations.iter().map(|of| (of.subject.clone(), of.lever, of.factor));
    let left = proof.untouched.iter().map(|of| of.subject.clone());
    (slowed.collect(), left.collect(), proof.clone())
}

fn slowed(subject: &str, lever: Lever, factor: f64) -> (String, Lever, f64) {
    (subject.to_owned(), lever, factor)
}

#[test]
fn what_has_a_limit_of_its_own_is_slowed_and_the_rest_is_named() {
    let always = || {
        vec![
            slowed("store.p1", Lever::Rate, 0.9),
            slowed("store", Lever::Cpu, 0.9),
            slowed("store/data", Lever::Ops, 0.9),
        ]
    };
    let with = |more: &[(String, Lever, f64)]| [always(), more.to_vec()].concat();
    // A port without a speed, one I/O at a time, and what issues the load.
    let (found, left, proof) = planned(&lab("depth = 1"));
    assert_eq!(
        (found, left),
        (always(), vec!["store.p2".to_owned(), "w".to_owned(), "the generator".to_owned()])
    );
    assert_eq!(
        (proof.round, proof.settle, proof.rounds.len()),
        (Ns::millis(120), Ns::millis(40), 24)
    );
    // Each block has a round of each kind.
    for block in proof.rounds.chunks(4) {
        let mut sorted = block.to_vec();
        sorted.sort();
        assert_eq!(sorted, [None, Some(0), Some(1), Some(2)]);
    }
    assert_ne!(proof.rounds[..4], proof.rounds[4..8], "blocks are not all alike");
    let depth = |n: u32, left: u32| slowed("w", Lever::Depth, f64::from(left) / f64::from(n));
    assert_eq!(planned(&lab("depth = 8")).0, with(&[depth(8, 7)]));
    assert_eq!(planned(&lab("depth = 5, workers = 4")).0, with(&[depth(20, 18)]));
    let think = slowed("w", Lever::Think, 0.9);
    assert_eq!(planned(&lab("depth = 2, think = \"5ms\"")).0, with(&[depth(2, 1), think]));
    let arrivals = slowed("w", Lever::Arrivals, 0.9);
    assert_eq!(planned(&lab("rate = \"100 IOPS\"")).0, with(&[arrivals]));
}

#[test]
fn the_load_of_workers_changes_with_the_rounds() {
    let scenario = load(&lab("depth = 5, workers = 4, think = \"9ms\""));
    let steps = scenario.steps();
    let assignment = Assignment::new(&scenario, &steps, 1, &["local".into()]).unwrap();
    let step = assignment.step(&steps[0]).unwrap();
    let proof = step.proof.expect("rounds");
    let orders = step.specs[0].as_ref().expect("workers");
    assert_eq!((orders.slice, orders.cooldown), (Ns::millis(40), proof.length()));
    let idle: Vec<u32> = orders
        .workers
        .iter()
        .map(|w| w.changes.iter().map(|c| c.to.idle_slots).max().unwrap_or(0))
        .collect();
    assert_eq!(idle.iter().sum::<u32>(), 2, "a tenth of twenty: {idle:?}");
    for worker in &orders.workers {
        // As of each round, what the last change before it has left.
        for (n, of) in proof.rounds.iter().enumerate() {
            let now = worker.changes.iter().rfind(|c| c.after <= proof.begin(n));
            let to = now.map(|change| change.to).unwrap_or_default();
            let lever = of.map(|of| proof.perturbations[of as usize].lever);
            assert_eq!(to.more_think, Ns::millis(u64::from(lever == Some(Lever::Think))));
            let mine = lever == Some(Lever::Depth);
            assert!(to.idle_slots == 0 || mine, "{n}: {to:?}");
        }
        let last = worker.changes.last().expect("changes");
        assert_eq!(last.to, engine::Throttle::default());
        assert!(last.after <= proof.length());
    }
}

/// What is done to the parts of the array in these rounds, in order.
fn expected(proof: &Proof) -> Vec<String> {
    let set = |of: u32, factor: f64| match proof.perturbations[of as usize].lever {
        Lever::Rate => format!("p1 {:.0}", 20e6 * factor),
        Lever::Cpu => format!("Threads Cpu {factor:.3}"),
        Lever::Ops => format!("Volume(0) Ops {:.3}", 500.0 * factor),
        other => panic!("{other:?}"),
    };
    let mut all = vec!["p1 20000000".to_owned(), "Volume(0) Ops 500.000".to_owned()];
    let mut before = None;
    // The step ends with the last round, and what that slowed is brought back as after any step.
    for now in proof.rounds.iter().copied() {
        if now != before {
            all.extend(before.map(|of| set(of, 1.0)));
            all.extend(now.map(|of| set(of, 0.9)));
        }
        before = now;
    }
    all
}

/// What becomes of the parts after the step.
const HEALED: [&str; 3] = ["Threads Cpu free", "Volume(0) Ops free", "p1 free"];

#[test]
fn one_part_at_a_time_is_slowed_and_restored() {
    let Played { outcome, log, diary } = play(&lab("depth = 1"), worker("run"), array);
    assert_eq!(outcome.expect("a run").status, Status::Complete);
    let [(0, proof)] = log.proofs.as_slice() else { panic!("{:?}", log.proofs) };
    let healed = HEALED.map(str::to_owned).to_vec();
    assert_eq!(diary, [expected(proof), healed].concat());
    let times = log.steps[0].times;
    assert_eq!(times.end.since(times.cooldown), proof.length());
    assert_eq!(log.done, [0]);
}

#[test]
fn an_end_among_the_rounds_leaves_the_step_complete_and_the_array_as_it_was() {
    let scenario = load(&lab("depth = 1"));
    let stages: Vec<Stage> = scenario.stages();
    let trial = Trial { scenario, stages: Some(stages), ..Trial::new() };
    let (control, log) = (trial.control.clone(), std::sync::Arc::clone(&trial.sink.log));
    let diary = Diary::default();
    let (watched, done) = (diary.clone(), diary.clone());
    std::thread::spawn(move || {
        // Something is slower than it was: the measured time is over.
        while watched.lock().unwrap().len() < 4 && log.lock().unwrap().status.is_none() {
            std::thread::yield_now();
        }
        control.stop();
    });
    let agents = vec![array_of(crate::arrays::Fake { diary, stuck: false }), worker("run")];
    let (outcome, log) = trial.run(agents);
    assert_eq!(outcome.expect("a run").status, Status::Stopped);
    assert_eq!(log.done, [0], "its own figures are whole");
    assert!(log.codes().contains(&"proof-incomplete"), "{:?}", log.codes());
    let diary = done.lock().unwrap().clone();
    let usual = ["p1 free", "Volume(0) Ops free"];
    assert!(usual.iter().all(|what| diary[diary.len() - 3..].contains(&(*what).to_owned())));
    let planned = expected(&log.proofs[0].1);
    assert!(diary.len() < planned.len(), "not all rounds were run");
}
