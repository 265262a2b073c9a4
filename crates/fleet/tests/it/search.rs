//! Searches: steps that are decided on the way, and runs that take turns.

#[path = "../../../campaign/tests/support/conformance.rs"]
mod conformance;

use crate::common::*;
use crate::prelude::*;
use fleet::{Coordinator, Progress, StepEnd};

/// A run that looks for the depth up to which p99 is at most 5 ms, and does one more step afterwards.
fn trial(search: &str) -> Trial {
    let text = format!(
        "scenario.title = \"t\"\n[workload.w]\nblock = \"8KiB\"\n[[target]]\nname = \"t0\"\nurl = \"null:\"\n\
         size = \"1GiB\"\n[[plan]]\nname = \"find\"\nworkload = \"w\"\non = \"t0\"\nwarmup = \"0s\"\nmeasure = \"2s\"\n\
         search = {search}\n[[plan]]\nname = \"after\"\nworkload = \"w\"\non = \"t0\"\nwarmup = \"0s\"\nmeasure = \"1s\"\n"
    );
    let source = Source { name: "t.toml".into(), text, ..Source::default() };
    let mut scenario: Scenario = scenario::load(&source).unwrap_or_else(|d| panic!("{d}"));
    let stages = scenario.stages();
    scenario.lab.targets[0].url = "fake:0".into();
    Trial { scenario, stages: Some(stages), ..Trial::new() }
}

const MOST: &str = "{ most = \"iops\", while = \"p99 <= 5 ms\" }";

fn steps(log: &Log) -> Vec<String> {
    let value = |settings: &[(String, String)]| {
        settings.last().map_or_else(|| "-".to_owned(), |(_, value)| value.clone())
    };
    log.steps
        .iter()
        .map(|s| format!("{} {}#{}", s.index, value(&s.settings), s.repetition))
        .collect()
}

#[test]
fn a_live_run_takes_the_steps_that_every_implementation_takes() {
    let mut scenario = conformance::scenario();
    let stages = scenario.stages();
    scenario.lab.targets[0].url = "fake:0".into();
    let trial = Trial { scenario, stages: Some(stages), ..Trial::new() };
    let (outcome, log) = trial.run(vec![threaded("local", "cliff")]);
    assert_eq!(outcome.unwrap().status, Status::Complete);
    conformance::check(&log.steps, &log.events);
}

#[test]
fn the_steps_of_a_search_follow_from_what_the_ones_before_measured() {
    let mut aims = Vec::new();
    let (mut last, mut searched) = ((0, true), None);
    let (outcome, log) =
        trial(MOST).run_watched(vec![threaded("local", "cliff")], &mut |p| match p {
            Progress::StepStarting { aim, of, at_most, .. } => {
                last = (of, at_most);
                aims.extend(aim);
            }
            Progress::Searched { text, unused } => searched = Some((text, unused)),
            _ => {}
        });
    assert_eq!(outcome.unwrap().status, Status::Complete);
    let expected = [
        "0 1#0", "1 2#0", "2 4#0", "3 8#0", "4 16#0", "5 11#0", "6 13#0", "7 12#0", "8 12#1",
        "9 11#1", "10 -#0",
    ];
    assert_eq!(steps(&log), expected);
    assert_eq!(log.done, (0..=10).collect::<Vec<u32>>(), "each ran to its end");
    assert_eq!(last, (11, false), "what the search did not need is not to come");
    let aim = "most IOPS while p99 ≤ 5 ms, over depth";
    assert_eq!(aims[0], aim);
    assert_eq!(aims[5], format!("{aim}: holds at 8, not at 16"));
    let (text, unused) = searched.expect("told");
    assert_eq!(Duration::from(unused), Duration::from_secs(2 * 20));
    assert!(
        text.contains(
            "at depth 11 (p99 1.00 ms in 2 runs); not at depth 12 (p99 9.00 ms in 2 runs)"
        ),
        "{text}"
    );
    assert!(
        text.ends_with("it holds at 11 and not at 12, and no load lies between them"),
        "{text}"
    );
    assert_eq!(
        (log.codes(), &log.events[0].text),
        (vec!["search-ended"], &text),
        "the record says the same"
    );
}

#[test]
fn a_queue_that_carries_less_is_no_larger_load() {
    // The other scripts carry one operation at a time, whatever they are asked for.
    let (_, log) = trial(MOST).run(vec![threaded("local", "run")]);
    assert_eq!(steps(&log), ["0 1#0", "1 2#0", "2 2#1", "3 1#1", "4 -#0"]);
    assert!(log.events[0].text.contains("50% of the load was carried"), "{}", log.events[0].text);
}

#[test]
fn workers_of_every_load_are_sources_from_the_beginning() {
    let search = "{ most = \"iops\", while = \"errors <= 0\", over = \"workers\", to = 4 }";
    let (outcome, log) = trial(search).run(vec![threaded("local", "run")]);
    assert_eq!(outcome.unwrap().status, Status::Complete);
    assert_eq!(steps(&log), ["0 1#0", "1 2#0", "2 4#0", "3 4#1", "4 -#0"]);
    let workers: Vec<usize> = log.steps.iter().map(|step| step.workers.len()).collect();
    assert_eq!(workers, [1, 2, 4, 4, 1]);
    assert!(log.events[0].text.contains("never violated up to 4"), "{}", log.events[0].text);
}

#[test]
fn a_search_ends_with_an_incomplete_step() {
    let (outcome, log) = trial(MOST).run(vec![threaded("local", "empty")]);
    assert_eq!(outcome.unwrap().status, Status::Complete, "the next plan is run all the same");
    assert_eq!(steps(&log), ["0 1#0", "1 -#0"]);
    assert!(log.events[0].text.ends_with("do not cover its whole load"), "{}", log.events[0].text);
}

#[test]
fn a_search_can_be_stopped() {
    let trial = trial(MOST);
    let control = trial.control.clone();
    let (outcome, log) = trial.run_watched(vec![threaded("local", "cliff, and wait")], &mut |p| {
        if matches!(p, Progress::StepStarting { index: 3, .. }) {
            control.stop();
        }
    });
    assert_eq!(outcome.unwrap().status, Status::Stopped);
    assert!(log.steps.len() <= 4 && log.codes().is_empty(), "{:?}", log.codes());
    assert_eq!(log.status, Some(Status::Stopped));
}

#[test]
fn two_runs_take_turns() {
    let (a, b) = (Trial::new(), Trial::new());
    let head = head();
    let stages: Vec<Stage> = a.steps.iter().cloned().map(Stage::Step).collect();
    let (mut silent_a, mut silent_b) = (|_| (), |_| ());
    let of = |trial| -> Coordinator<'_> {
        let trial: &Trial = trial;
        Coordinator {
            scenario: &trial.scenario,
            stages: &stages,
            head: &head,
            limits: trial.limits,
            control: &trial.control,
        }
    };
    let (on_a, on_b) = (of(&a), of(&b));
    let mut first =
        on_a.begin(vec![threaded("local", "run")], a.sink.clone(), &mut silent_a).unwrap();
    let mut second =
        on_b.begin(vec![threaded("local", "fail")], b.sink.clone(), &mut silent_b).unwrap();
    assert_eq!(first.stages(&stages[0..=0]).unwrap(), StepEnd::Done);
    assert_eq!(second.stages(&stages[0..=0]).unwrap(), StepEnd::Failed);
    // What became of the other is nothing to this one.
    assert_eq!(first.stages(&stages[1..=1]).unwrap(), StepEnd::Done);
    let (first, second) =
        (first.finish(Status::Stopped).unwrap(), second.finish(Status::Failed).unwrap());
    assert!(first.failure.is_none() && second.failure.is_some());
    let (a, b) = (a.sink.log.lock().unwrap(), b.sink.log.lock().unwrap());
    assert_eq!((a.steps.len(), b.steps.len()), (2, 1));
    assert_eq!((a.status, b.status), (Some(Status::Stopped), Some(Status::Failed)));
}
