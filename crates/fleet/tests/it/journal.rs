//! A run that is gone through again by its journal leads to the same record, entry by entry, however much of the journal a dying
//! coordinator had written.

use crate::common::{Kept, Log, Trial, by_hand, head, threaded};
use crate::prelude::*;
use fleet::{Binding, Coordinator, Journal, JournalHead};
use std::path::Path;

fn journal_head(head: &record::RunHead) -> JournalHead {
    JournalHead {
        version: PROTOCOL,
        run: "r".to_owned(),
        boot: "b".to_owned(),
        place: Vec::new(),
        agents: vec![("a".to_owned(), 1)],
        bound: Vec::new(),
        silence: Ns::secs(1),
        facts: Vec::new(),
        head: head.clone(),
    }
}

fn run(
    trial: &Trial,
    head: &record::RunHead,
    agents: Vec<AgentLink>,
    journal: Journal,
) -> (Result<fleet::RunOutcome, RunError>, Log) {
    let stages: Vec<Stage> = trial.steps.iter().cloned().map(Stage::Step).collect();
    let coordinator = Coordinator {
        scenario: &trial.scenario,
        stages: &stages,
        head,
        limits: trial.limits,
        control: &trial.control,
    };
    let (sink, mut show) = (Kept::default(), |_| ());
    let outcome = coordinator
        .begin_bound(agents, sink.clone(), &mut show, &Binding::default(), journal)
        .and_then(|campaign| campaign.run(&stages));
    let log = sink.log.lock().unwrap().clone();
    (outcome, log)
}

/// An agent that says nothing and closes: all that it said before is in the journal.
fn gone() -> AgentLink {
    by_hand("a", drop)
}

fn recorded(path: &Path) -> (Trial, record::RunHead, Log) {
    let (trial, head) = (Trial::new(), head());
    let journal = Journal::create(path, &journal_head(&head)).expect("a journal");
    let (outcome, log) = run(&trial, &head, vec![threaded("a", "")], journal);
    assert_eq!(outcome.expect("it runs").status, Status::Complete);
    (trial, head, log)
}

#[test]
fn a_journal_leads_to_the_same_record() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (trial, head, log) = recorded(&path);
    let (kept, journal) = Journal::open(&path).expect("the journal");
    assert_eq!(kept, journal_head(&head));
    let (outcome, again) = run(&trial, &head, vec![gone()], journal);
    assert_eq!(outcome.expect("it ran").status, Status::Complete);
    assert_eq!(again, log);
    assert!(Journal::create(&path, &kept).is_err(), "a journal is never replaced");
    let heard = Journal::heard(&path).expect("readable");
    assert!(heard[&0] > 5, "{heard:?}");
}

#[test]
fn what_was_half_written_is_cut_off_and_the_run_goes_on_from_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (trial, head, log) = recorded(&path);
    let whole = std::fs::read(&path).unwrap();
    let first = u32::from_be_bytes(whole[..4].try_into().unwrap()) as usize + 4;
    let mut lengths: Vec<usize> = (1..40).map(|n| first + (whole.len() - first) * n / 40).collect();
    lengths.extend([first, whole.len() - 1]);
    for length in lengths {
        std::fs::write(&path, &whole[..length]).unwrap();
        let (_, journal) = Journal::open(&path).expect("the journal");
        // The one agent is gone: what it had said is there, and then it is lost.
        let (outcome, again) = run(&trial, &head, vec![gone()], journal);
        let count = again.intervals.len();
        assert_eq!(again.intervals, log.intervals[..count], "cut at {length}");
        assert!(again.sources == log.sources);
        let whole_run =
            outcome.as_ref().is_ok_and(|o| o.status == Status::Complete && o.lost.is_empty());
        let resumed = again.codes().contains(&"coordinator-resumed");
        assert!(whole_run || outcome.is_err() || resumed, "cut at {length}: {outcome:?}");
    }
}

#[test]
fn the_journal_of_another_run_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("journal");
    let (mut trial, head, _) = recorded(&path);
    trial.steps.truncate(1);
    let (_, journal) = Journal::open(&path).expect("the journal");
    let (outcome, _) = run(&trial, &head, vec![gone()], journal);
    // One step fewer: what the journal says next is of no use to this run.
    assert!(outcome.is_ok() || matches!(outcome, Err(RunError::Journal(_))), "{outcome:?}");
    std::fs::write(&path, b"\0\0\0\x03abc").unwrap();
    assert!(Journal::open(&path).is_err());
    std::fs::write(&path, b"").unwrap();
    assert!(Journal::open(&path).is_err());
}
