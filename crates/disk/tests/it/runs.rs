//! Whole steps over `null:` and a real file.

use crate::common::*;
use crate::prelude::*;
use engine::{Engine, EngineError, Pinning, QueueKind, Stop, TargetSpec};
use record::{Level, Phase};

const MIB: u64 = 1 << 20;

#[track_caller]
fn check(step: &engine::StepSpec) -> Outcome {
    let outcome = run(step).expect("a step that can be prepared");
    assert_eq!(outcome.verdict, Ok(()));
    let from = outcome.intervals.iter().map(|i| i.from).min().expect("intervals");
    outcome.check_tiling(step.workers.len() as u32, from, from.plus(step.length()));
    assert!(outcome.ops() > 0);
    for interval in &outcome.intervals {
        for tally in [&interval.read, &interval.write].into_iter().flatten() {
            assert_eq!(tally.service.count(), tally.ops, "every success is in the histogram");
        }
    }
    outcome
}

#[test]
fn null_reads_at_depth() {
    let outcome = check(&step(null(), 1, random(8 * KIB, 100.0, closed(32)), Ns::millis(1200)));
    assert!(outcome.intervals.iter().all(|i| i.write.is_none()), "it never writes");
    let t = outcome.testimony();
    assert!(t.own > Ns::ZERO && t.in_flight > Ns::ZERO && t.cpu_user > Ns::ZERO);
}

#[test]
fn null_mixes_reads_and_writes() {
    let outcome = check(&step(null(), 2, random(8 * KIB, 67.0, closed(4)), Ns::millis(300)));
    for interval in outcome.intervals.iter().filter(|i| i.phase == Phase::Measure) {
        let (read, write) =
            (interval.read.as_ref().expect("reads"), interval.write.as_ref().expect("writes"));
        assert!(read.ops > write.ops && write.ops > 0);
    }
}

#[test]
fn an_open_loop_keeps_its_rate_and_its_response_times() {
    let outcome = check(&step(null(), 1, random(8 * KIB, 100.0, fixed(2_000.0, 8)), Ns::secs(1)));
    // Never more than fall due; fewer only where the machine had no time for the worker at the very end.
    assert!((1_300..=2_601).contains(&outcome.ops()), "{} operations", outcome.ops());
    let tally = outcome.intervals[0].read.as_ref().expect("reads");
    assert_eq!(tally.response.as_ref().map(|h| h.count()), Some(tally.ops));
}

#[test]
fn a_created_file_is_read_in_the_depth_that_pread_can_carry() {
    let folder = tempfile::tempdir().expect("a directory");
    let target = file(&folder.path().join("data"), Some(4 * MIB));
    let target = TargetSpec { queue: QueueKind::Pread, ..target };
    let outcome = check(&step(target, 2, random(8 * KIB, 100.0, closed(16)), Ns::millis(300)));
    assert_eq!(outcome.codes(), ["target-created", "depth-clamped", "depth-clamped"]);
    let clamped = &outcome.events[1];
    assert_eq!(clamped.level, Level::Warning);
    assert!(
        clamped.text.contains("depth 16") && clamped.text.contains("raise `workers`"),
        "{}",
        clamped.text
    );
    assert_eq!(outcome.errors(), 0);
}

#[test]
fn sixty_four_workers_are_over_subscribed_and_all_report() {
    let outcome = check(&step(null(), 64, random(4 * KIB, 100.0, closed(2)), Ns::secs(1)));
    // Beside other programs one of so many may not get a turn, and says so.
    let codes = outcome.codes().into_iter().filter(|code| *code != "nothing-completed");
    assert_eq!(codes.collect::<Vec<_>>(), ["over-subscribed"]);
    assert!(
        (0..64).all(|source| outcome.of_source(source).iter().any(|i| i.phase == Phase::Measure))
    );
}

#[test]
fn an_early_stop_ends_the_step_with_what_it_has() {
    let step = step(null(), 2, random(8 * KIB, 100.0, closed(4)), Ns::secs(3600));
    let (out, outputs) = mpsc::channel();
    let prepared = disk::DiskEngine::new(Pinning::Auto)
        .prepare(&step, &out, &Stop::default())
        .expect("null opens");
    let now = clock::now();
    let running = prepared.start(now, now, out);
    clock::sleep_until(now.plus(Ns::millis(500)));
    running.stop();
    let outcome = Outcome::of(&outputs);
    assert_eq!(outcome.verdict, Ok(()));
    assert!(outcome.ops() > 0);
    assert!(outcome.intervals.iter().all(|i| i.to > i.from));
}

#[test]
fn a_step_that_is_called_off_before_its_start_ends_empty() {
    let step = step(null(), 2, random(8 * KIB, 100.0, closed(4)), Ns::secs(1));
    let (out, outputs) = mpsc::channel();
    let prepared = disk::DiskEngine::new(Pinning::Auto)
        .prepare(&step, &out, &Stop::default())
        .expect("null opens");
    let now = clock::now();
    drop(prepared.start(now, now.plus(Ns::secs(3600)), out));
    let outcome = Outcome::of(&outputs);
    assert_eq!((outcome.ops(), outcome.intervals.len(), outcome.verdict), (0, 0, Ok(())));
}

#[test]
fn a_prepared_step_can_be_dropped() {
    let step = step(null(), 8, random(8 * KIB, 100.0, closed(4)), Ns::secs(1));
    let (out, _outputs) = mpsc::channel();
    drop(
        disk::DiskEngine::new(Pinning::Auto)
            .prepare(&step, &out, &Stop::default())
            .expect("null opens"),
    );
}

#[test]
fn facts_name_the_target_and_depths_are_the_real_ones() {
    let folder = tempfile::tempdir().expect("a directory");
    let target = file(&folder.path().join("data"), Some(MIB));
    let target = TargetSpec { queue: QueueKind::Uring, ..target };
    let step = step(target, 1, random(8 * KIB, 100.0, closed(16)), Ns::secs(1));
    let (out, _outputs) = mpsc::channel();
    let prepared =
        disk::DiskEngine::default().prepare(&step, &out, &Stop::default()).expect("a file");
    let facts = prepared.facts();
    let value = |subject: &str, key: &str| {
        facts.iter().find(|f| f.subject == subject && f.key == key).map(|f| f.value.as_str())
    };
    assert_eq!(value("data", "kind"), Some("a regular file"));
    assert!(value("data", "file-system").is_some());
    assert_eq!(prepared.depths(), [(step.workers[0].source, 16)]);
}

#[test]
fn what_cannot_be_prepared_says_why() {
    let block = random(8 * KIB, 100.0, closed(1));
    let tiny = engine::TargetSpec { size: Some(4096), ..null() };
    let cases = [
        (step(tiny, 1, block.clone(), Ns::secs(1)), "less than one block"),
        (
            step(file("/nowhere/at/all".as_ref(), None), 1, block.clone(), Ns::secs(1)),
            "does not exist",
        ),
        (
            step(file("iscsi://array/iqn/0".as_ref(), None), 1, block.clone(), Ns::secs(1)),
            "`iscsi:`",
        ),
        (step(file("/".as_ref(), None), 1, block.clone(), Ns::secs(1)), "a directory"),
        (
            step(file("/dev/null".as_ref(), None), 1, block.clone(), Ns::secs(1)),
            "a character device",
        ),
    ];
    for (step, words) in cases {
        let message = run(&step).expect_err(words).to_string();
        assert!(message.contains(words), "{message}");
    }
    let mut wrong = step(null(), 1, block, Ns::secs(1));
    wrong.workers[0].targets = vec![7];
    assert!(matches!(run(&wrong), Err(EngineError::Unsupported(_))));
}
