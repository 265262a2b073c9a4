//! The order of steps, their numbers, searches, and early ends.

use crate::conformance;
use crate::script::{At, Script, scenario};
use campaign::Progress;
use clock::Ns;
use record::{Level, Status};

const MOST: &str = "search = { most = \"iops\", while = \"p99 <= 5 ms\", over = \"depth\" }";

#[test]
fn the_record_has_the_steps_that_every_implementation_takes() {
    let script = Script::default();
    assert_eq!(script.run(&conformance::scenario()), Ok(Status::Complete));
    let log = script.log.borrow();
    conformance::check(&log.steps, &log.events);
    assert_eq!(log.status, Some(Status::Complete));
    let alone = (4..15).map(|n| vec![n]);
    let expected: Vec<Vec<u32>> = std::iter::once((0..4).collect()).chain(alone).collect();
    assert_eq!(log.ahead, expected, "steps of a search depend on each other");
}

#[test]
fn progress_has_every_step_and_how_many_there_may_be() {
    let script = Script::default();
    script.run(&conformance::scenario()).expect("a record");
    let log = script.log.borrow();
    let shown = log.shown.iter().map(|progress| match progress {
        Progress::StepStarting { index, of, at_most, name, duration, aim } => {
            assert_eq!(*duration, Ns::secs(1));
            let aim = aim.as_deref().unwrap_or("-");
            format!("{index} {}{of} {name}: {aim}", if *at_most { "≤" } else { "" })
        }
        Progress::StepDone { index } => format!("{index} done"),
        Progress::Searched { unused, .. } => format!("{} s unused", unused.as_secs_f64()),
        other => format!("{other:?}"),
    });
    let shown: Vec<String> = shown.collect();
    let expected = |n: usize, text: &str| assert_eq!(shown[n], text);
    expected(0, "0 ≤35 grid depth=2: -");
    expected(1, "0 done");
    expected(8, "4 ≤35 find depth=1: most IOPS while mean ≤ 5 ms, over depth");
    expected(
        18,
        "9 ≤35 find depth=11: most IOPS while mean ≤ 5 ms, over depth: holds at 8, not at 16",
    );
    expected(28, "20 s unused");
    expected(29, "14 15 after: -");
    assert_eq!(shown.len(), 31);
}

#[test]
fn a_run_ends_where_a_step_does_not() {
    for (at, status, steps) in [
        (At::Fails(1), Status::Failed, 2),
        (At::Fails(6), Status::Failed, 7),
        (At::Stops(2), Status::Stopped, 3),
        (At::Stops(7), Status::Stopped, 8),
        (At::StopsLate(2), Status::Stopped, 3),
        (At::StopsLate(7), Status::Stopped, 8),
        (At::StopsLate(14), Status::Complete, 15),
    ] {
        let script = Script::at(at);
        assert_eq!(script.run(&conformance::scenario()), Ok(status), "{at:?}");
        assert_eq!(script.steps(), (0..steps).collect::<Vec<_>>(), "{at:?}");
        let log = script.log.borrow();
        assert_eq!(log.status, Some(status), "{at:?}");
        let done = |progress: &&Progress| matches!(progress, Progress::StepDone { .. });
        let all = matches!(at, At::StopsLate(_));
        let done = log.shown.iter().filter(done).count();
        assert_eq!(done, (steps - u32::from(!all)) as usize, "{at:?}");
        let ended = log.events.len();
        assert_eq!(ended, usize::from(status == Status::Complete), "no answer of a search: {at:?}");
    }
}

#[test]
fn a_run_that_was_stopped_before_it_began_has_no_step() {
    let script = Script::default();
    script.control.stop();
    assert_eq!(script.run(&conformance::scenario()), Ok(Status::Stopped));
    assert!(script.steps().is_empty() && script.log.borrow().shown.is_empty());
}

#[test]
fn a_record_that_takes_nothing_more_is_closed_as_failed() {
    let script = Script::at(At::Breaks(5));
    assert_eq!(script.run(&conformance::scenario()), Err("no space left".to_owned()));
    assert_eq!(script.log.borrow().status, Some(Status::Failed));
    let script = Script { no_notes: true, ..Script::default() };
    assert_eq!(script.run(&conformance::scenario()), Err("no space for notes".to_owned()));
    assert_eq!(script.steps().len(), 14, "the answer of the search");
}

#[test]
fn a_search_ends_with_an_incomplete_step() {
    let script = Script::at(At::Loses(2));
    assert_eq!(script.run(&scenario(MOST)), Ok(Status::Complete));
    assert_eq!(script.steps(), [0, 1, 2]);
    let log = script.log.borrow();
    assert!(log.events[0].text.ends_with("do not cover its whole load"), "{}", log.events[0].text);
}

#[test]
fn percentiles_of_means_are_assumed_and_the_record_says_so() {
    let script = Script { means: true, ..Script::default() };
    assert_eq!(script.run(&scenario(MOST)), Ok(Status::Complete));
    let log = script.log.borrow();
    let codes: Vec<(Level, &str)> =
        log.events.iter().map(|event| (event.level, event.code.as_str())).collect();
    assert_eq!(codes, [(Level::Warning, "assumed-exponential"), (Level::Info, "search-ended")]);
    assert!(log.events[1].text.contains("p99 4.61 ms"), "1 ms × ln 100: {}", log.events[1].text);
}
