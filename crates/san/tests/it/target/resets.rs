//! Functions that reach beyond their session, while sessions live on different threads.

use crate::target::hand::{Hand, NO_TASK, pattern, transfer};
use crate::target::test_target::TestTarget;
use iscsi::pdu::{TaskFunction, TaskOutcome};
use std::sync::{Arc, Barrier};

/// One session has a write under way whose data does not come; another asks for a function. The first one's task is gone,
/// and it hears why with its next command.
#[track_caller]
fn check(function: TaskFunction, attention: u16) {
    let stand = TestTarget::new();
    let mut victim = Hand::ready(stand.address(), "victim");
    let mut other = Hand::ready(stand.address(), "other");
    victim.begin(&transfer(0x2a, 0, 4096), 0, 4096);
    let r2t = victim.r2t();
    other.manage(function, NO_TASK);
    assert_eq!(other.managed(), TaskOutcome::Complete);
    assert_eq!(victim.command(&[0; 6], 0, &[]).status, 2, "a unit attention");
    assert_eq!(victim.sense_code(), attention);
    // What comes late is for nobody.
    victim.feed(&r2t, &pattern(1, 4096));
    victim.calm();
    other.calm();
    assert_eq!(other.read(0, 4096).data, vec![0; 4096]);
    stand.settled("the task is gone", |counts| counts.queue == 0);
    stand.stop();
}

#[test]
fn tasks_of_other_sessions_are_aborted_and_their_initiators_hear_of_it() {
    check(TaskFunction::LogicalUnitReset, 0x2903);
    check(TaskFunction::TargetWarmReset, 0x2902);
    check(TaskFunction::ClearTaskSet, 0x2f00);
}

#[test]
fn aborting_own_tasks_leaves_other_sessions_alone() {
    let stand = TestTarget::new();
    let mut one = Hand::ready(stand.address(), "one");
    let mut other = Hand::ready(stand.address(), "other");
    other.begin(&transfer(0x2a, 8, 512), 0, 512);
    let r2t = other.r2t();
    let tag = one.begin(&transfer(0x2a, 0, 4096), 0, 4096);
    one.r2t();
    one.manage(TaskFunction::AbortTask, tag);
    assert_eq!(one.managed(), TaskOutcome::Complete);
    one.manage(TaskFunction::AbortTask, tag);
    assert_eq!(one.managed(), TaskOutcome::NoTask);
    one.begin(&transfer(0x2a, 0, 4096), 0, 4096);
    one.r2t();
    one.manage(TaskFunction::AbortTaskSet, NO_TASK);
    assert_eq!(one.managed(), TaskOutcome::Complete);
    other.feed(&r2t, &pattern(2, 512));
    assert_eq!(other.finish(r2t.task_tag, &[]).status, 0);
}

#[test]
fn sessions_that_reset_each_other_at_once_all_get_their_answer() {
    let stand = TestTarget::new();
    let address = stand.address();
    let begin = Arc::new(Barrier::new(4));
    let threads: Vec<_> = (0..4u8)
        .map(|me| {
            let begin = Arc::clone(&begin);
            std::thread::spawn(move || {
                let mut hand = Hand::ready(address, &format!("host-{me}"));
                begin.wait();
                for round in 0..25u8 {
                    hand.begin(&transfer(0x2a, me, 512), 0, 512);
                    let function = match (round + me) % 3 {
                        0 => TaskFunction::LogicalUnitReset,
                        1 => TaskFunction::TargetWarmReset,
                        _ => TaskFunction::ClearTaskSet,
                    };
                    hand.manage(function, NO_TASK);
                    // The R2T, or the attention, of a write that was quicker than the reset comes before.
                    loop {
                        match hand.receive().expect("an answer").0 {
                            iscsi::pdu::Response::Task(answer) => {
                                break assert_eq!(answer.outcome, TaskOutcome::Complete);
                            }
                            iscsi::pdu::Response::R2t(_) | iscsi::pdu::Response::Command(_) => {}
                            other => panic!("{other:?}"),
                        }
                    }
                }
                hand
            })
        })
        .collect();
    let mut hands: Vec<Hand> =
        threads.into_iter().map(|thread| thread.join().expect("no panic")).collect();
    for hand in &mut hands {
        hand.calm();
        assert_eq!(hand.read(0, 512).status, 0);
    }
    stand.settled("no task is left", |counts| counts.queue == 0);
    stand.stop();
}

#[test]
fn a_cold_reset_ends_all_sessions() {
    let stand = TestTarget::new();
    let mut one = Hand::ready(stand.address(), "one");
    let mut other = Hand::ready(stand.address(), "other");
    one.manage(TaskFunction::TargetColdReset, NO_TASK);
    assert_eq!(one.managed(), TaskOutcome::Complete);
    assert!(crate::target::hand::is_closed(&mut one.stream));
    assert!(crate::target::hand::is_closed(&mut other.stream));
    Hand::ready(stand.address(), "one").logout();
}
