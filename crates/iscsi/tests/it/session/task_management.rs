//! Task management, logout and ends of connections: dropped tasks, notifications, and the time of the answer.

use iscsi::pdu::{
    LogoutOutcome, LogoutReason, LogoutRequest, Lun, RESERVED_TAG, Response, ScsiCommand,
    TaskFunction, TaskOutcome, TaskRequest,
};
use iscsi::scsi::{Ending, ScsiStatus};
use iscsi::target::{CloseReason, Event, Refused, SessionParams, TaskScope, Want};

use super::initiator::{cdb, command, pattern};
use super::rig::{Rig, Setup};

fn setup(connections: u16) -> Setup {
    let session = SessionParams { max_connections: 4, ..Setup::default().session };
    Setup { session, connections, ..Setup::default() }
}

/// A rig whose owner works only on request.
fn lazy(connections: u16) -> Rig {
    let mut rig = Rig::new(setup(connections));
    rig.lazy = true;
    rig
}

fn number(rig: &Rig, nth: u32) -> u32 {
    rig.setup.numbers.0.wrapping_add(nth)
}

fn read(rig: &Rig, nth: u32, lun: u16) -> ScsiCommand {
    let command = command((100 + nth, number(rig, nth)), cdb(0x28, 0, 1), 512);
    ScsiCommand { read: true, lun: Lun::new(lun), ..command }
}

/// A function that references the n-th command, sent before the command with number `at`.
fn function(rig: &Rig, function: TaskFunction, nth: u32, at: u32) -> TaskRequest {
    TaskRequest {
        immediate: true,
        function,
        lun: Lun::default(),
        task_tag: 0x1000,
        referenced_tag: 100 + nth,
        cmd_sn: number(rig, at),
        exp_stat_sn: 0,
        ref_cmd_sn: number(rig, nth),
        exp_data_sn: 0,
    }
}

/// The answers to task management and logout on a connection, and the number of other answers.
fn outcomes(rig: &mut Rig, link: usize) -> (Vec<TaskOutcome>, usize) {
    let (mut outcomes, mut others) = (Vec::new(), 0);
    for reply in rig.replies(link) {
        match reply.pdu {
            Response::Task(end) => {
                assert_eq!(end.task_tag, 0x1000);
                outcomes.push(end.outcome);
            }
            Response::R2t(_) => {}
            _ => others += 1,
        }
    }
    (outcomes, others)
}

fn gone(rig: &Rig) -> usize {
    rig.events.iter().filter(|event| matches!(event, Event::Gone(_))).count()
}

#[test]
fn an_aborted_task_is_not_answered_and_the_abort_waits_for_its_owner() {
    let mut rig = lazy(1);
    for nth in 0..3 {
        rig.send(0, read(&rig, nth, 0), &[]);
    }
    rig.send(0, function(&rig, TaskFunction::AbortTask, 1, 3), &[]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![], 0), "the owner still works on it");
    assert_eq!(gone(&rig), 1);
    rig.work_on(1);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::Complete], 0));
    rig.lazy = false;
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![], 2), "the others are answered");
    assert_eq!(rig.session.tasks(), 0);
}

#[test]
fn an_abort_waits_for_the_owners_answer_too() {
    let mut rig = lazy(1);
    rig.manual = true;
    rig.send(0, read(&rig, 0, 0), &[]);
    rig.send(0, function(&rig, TaskFunction::AbortTask, 0, 1), &[]);
    rig.run();
    rig.work_on(0);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![], 0));
    let handle = rig.events.iter().find_map(|event| match event {
        Event::Manage(what) => Some(what.handle),
        _ => None,
    });
    let handle = handle.expect("the owner is asked");
    rig.session.managed(handle, TaskOutcome::NotAuthorized);
    rig.session.managed(handle, TaskOutcome::Complete);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::NotAuthorized], 0), "once");
}

/// Aborts (RFC 7143, section 11.6.1) a task by its tag and number, after three commands of which one has ended.
#[track_caller]
fn check_abort(change: fn(&Rig, &mut TaskRequest), outcome: TaskOutcome) {
    let mut rig = lazy(1);
    for nth in 0..3 {
        rig.send(0, read(&rig, nth, 0), &[]);
    }
    rig.run();
    rig.work_on(0);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![], 1));
    let mut request = function(&rig, TaskFunction::AbortTask, 1, 3);
    change(&rig, &mut request);
    rig.send(0, request, &[]);
    rig.lazy = false;
    rig.run();
    let others =
        if request.referenced_tag == 101 && outcome == TaskOutcome::Complete { 1 } else { 2 };
    assert_eq!(outcomes(&mut rig, 0), (vec![outcome], others));
    rig.send(0, read(&rig, if request.immediate { 3 } else { 4 }, 0), &[]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![], 1), "the session goes on");
}

#[test]
fn aborts_of_one_task() {
    check_abort(|_, _| {}, TaskOutcome::Complete);
    check_abort(|_, request| request.immediate = false, TaskOutcome::Complete);
    // Already done: its number is outside the window.
    check_abort(
        |rig, request| (request.referenced_tag, request.ref_cmd_sn) = (100, number(rig, 0)),
        TaskOutcome::NoTask,
    );
    check_abort(|_, request| request.referenced_tag = RESERVED_TAG, TaskOutcome::NoTask);
    check_abort(|_, request| request.lun = Lun::new(1), TaskOutcome::NoTask);
    check_abort(
        |rig, request| (request.referenced_tag, request.ref_cmd_sn) = (7, number(rig, 200)),
        TaskOutcome::NoTask,
    );
    // Not before the function itself.
    check_abort(
        |rig, request| (request.referenced_tag, request.ref_cmd_sn) = (7, number(rig, 3)),
        TaskOutcome::NoTask,
    );
}

#[test]
fn a_command_aborted_before_its_arrival_never_runs() {
    let mut rig = lazy(2);
    // Command 0 is late on connection 1; the abort overtakes it on connection 0.
    rig.send(0, function(&rig, TaskFunction::AbortTask, 0, 1), &[]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::Complete], 0));
    assert_eq!(rig.session.exp_cmd_sn(), number(&rig, 1), "its number counts as come");
    rig.send(1, read(&rig, 0, 0), &[]);
    rig.send(0, read(&rig, 1, 0), &[]);
    rig.run();
    assert_eq!(rig.jobs.len(), 1, "only the second");
}

#[test]
fn an_aborted_number_is_skipped_in_its_turn() {
    let mut rig = lazy(2);
    // Commands 0 and 1 are late on connection 1, and 1 is aborted before either comes.
    rig.send(0, function(&rig, TaskFunction::AbortTask, 1, 2), &[]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::Complete], 0));
    assert_eq!(rig.session.exp_cmd_sn(), number(&rig, 0));
    rig.send(1, read(&rig, 1, 0), &[]);
    rig.send(1, read(&rig, 0, 0), &[]);
    rig.lazy = false;
    rig.run();
    assert_eq!(rig.session.exp_cmd_sn(), number(&rig, 2));
    assert_eq!(outcomes(&mut rig, 1), (vec![], 1), "only command 0 ran");
    // After the numbers have wrapped around the plugged range, it is an ordinary number again.
    for nth in 2..2 + 2 * 2048 {
        rig.send(0, read(&rig, nth, 0), &[]);
        rig.run();
    }
    assert_eq!(outcomes(&mut rig, 0), (vec![], 2 * 2048));
}

#[test]
fn a_function_beyond_the_window_consumes_no_numbers() {
    let mut rig = lazy(2);
    let window = u32::from(rig.setup.limits.window);
    rig.send(0, function(&rig, TaskFunction::TargetWarmReset, 0, window + 1), &[]);
    rig.send(0, function(&rig, TaskFunction::AbortTask, window, window + 1), &[]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::Complete, TaskOutcome::NoTask], 0));
    assert_eq!(rig.session.exp_cmd_sn(), number(&rig, 0));
    rig.send(1, read(&rig, 0, 0), &[]);
    rig.run();
    assert_eq!(rig.jobs.len(), 1, "it runs as if nothing had been");
}

#[test]
fn functions_that_affect_many_tasks() {
    use TaskFunction::{
        AbortTaskSet, ClearTaskSet, LogicalUnitReset, TargetColdReset, TargetWarmReset,
    };
    let cases = [
        (AbortTaskSet, 2),
        (ClearTaskSet, 2),
        (LogicalUnitReset, 2),
        (TargetWarmReset, 3),
        (TargetColdReset, 3),
    ];
    for (what, hit) in cases {
        let mut rig = lazy(2);
        for (nth, lun) in [(0, 0), (1, 1), (2, 0)] {
            rig.send(nth as usize % 2, read(&rig, nth, lun), &[]);
        }
        rig.run();
        rig.send(1, function(&rig, what, 0, 3), &[]);
        rig.run();
        assert_eq!((gone(&rig), outcomes(&mut rig, 1)), (hit, (vec![], 0)), "{what:?}");
        // A later command is not affected.
        rig.send(0, read(&rig, 3, 0), &[]);
        rig.lazy = false;
        rig.run();
        let (first, second) = (outcomes(&mut rig, 0), outcomes(&mut rig, 1));
        assert_eq!(second.0, [TaskOutcome::Complete]);
        assert_eq!(first.1 + second.1, 4 - hit, "{what:?}");
        assert_eq!(rig.session.tasks(), 0);
    }
}

#[test]
fn a_function_for_many_tasks_waits_for_commands_in_transit() {
    let mut rig = lazy(2);
    rig.send(0, function(&rig, TaskFunction::LogicalUnitReset, 0, 1), &[]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![], 0), "command 0 is on its way");
    rig.send(1, read(&rig, 0, 0), &[]);
    rig.run();
    assert_eq!(gone(&rig), 1);
    rig.lazy = false;
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::Complete], 0));
    assert_eq!(outcomes(&mut rig, 1), (vec![], 0));
}

#[test]
fn a_target_reset_does_not_wait_for_commands_in_transit() {
    let mut rig = lazy(2);
    rig.send(0, function(&rig, TaskFunction::TargetWarmReset, 0, 2), &[]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::Complete], 0));
    for nth in 0..3 {
        rig.send(1, read(&rig, nth, 0), &[]);
    }
    rig.run();
    assert_eq!(rig.jobs.len(), 1, "the first two were sent before it");
}

#[test]
fn unsupported_functions() {
    for (code, outcome) in [
        (3, TaskOutcome::NotSupported),
        (8, TaskOutcome::NoReassignment),
        (9, TaskOutcome::NotSupported),
        (12, TaskOutcome::NotSupported),
        (0, TaskOutcome::NotSupported),
        (99, TaskOutcome::NotSupported),
    ] {
        let mut rig = lazy(1);
        rig.send(0, read(&rig, 0, 0), &[]);
        rig.send(0, function(&rig, TaskFunction::from_code(code), 0, 1), &[]);
        rig.run();
        assert_eq!(outcomes(&mut rig, 0), (vec![outcome], 0));
        assert_eq!((gone(&rig), rig.jobs.len()), (0, 1), "nothing is dropped");
    }
}

#[test]
fn outstanding_functions_are_bounded() {
    let mut rig = lazy(1);
    rig.manual = true;
    for _ in 0..9 {
        rig.send(0, function(&rig, TaskFunction::LogicalUnitReset, 0, 0), &[]);
    }
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::Rejected], 0));
}

#[test]
fn a_write_that_is_aborted_in_the_middle_of_its_data_is_not_applied() {
    let mut rig = Rig::new(setup(1));
    let write =
        ScsiCommand { write: true, ..command((100, number(&rig, 0)), cdb(0x2a, 0, 2), 1024) };
    rig.send(0, write.clone(), &[]);
    rig.run();
    let Response::R2t(r2t) = rig.replies(0).remove(0).pdu else { panic!("an R2T") };
    let data = |data_sn, is_final| iscsi::pdu::DataOut {
        is_final,
        lun: r2t.lun,
        task_tag: r2t.task_tag,
        transfer_tag: r2t.transfer_tag,
        exp_stat_sn: 0,
        data_sn,
        offset: 512 * data_sn,
        data_len: 512,
    };
    rig.send(0, data(0, false), &pattern(512, 1));
    rig.send(0, function(&rig, TaskFunction::AbortTask, 0, 1), &[]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::Complete], 0));
    // Another write reuses the slot; late data of the old one must not get into it.
    let cmd_sn = number(&rig, 1);
    rig.send(0, ScsiCommand { cmd_sn, ..write }, &[]);
    rig.run();
    let Response::R2t(again) = rig.replies(0).remove(0).pdu else { panic!("an R2T") };
    assert_ne!(again.transfer_tag, r2t.transfer_tag);
    rig.send(0, data(1, true), &pattern(512, 2));
    let whole = pattern(1024, 3);
    let pdu =
        iscsi::pdu::DataOut { transfer_tag: again.transfer_tag, data_len: 1024, ..data(0, true) };
    rig.send(0, pdu, &whole);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![], 1));
    assert!(rig.memory[&Lun::default()].starts_with(&whole));
}

#[test]
fn an_abort_of_a_dropped_task_waits_for_the_same_work() {
    let mut rig = lazy(1);
    rig.send(0, read(&rig, 0, 0), &[]);
    rig.run();
    rig.session.abort(TaskScope::All, None);
    rig.look();
    rig.send(0, function(&rig, TaskFunction::AbortTask, 0, 1), &[]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![], 0), "it could still do something");
    rig.lazy = false;
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![TaskOutcome::Complete], 0));
}

#[test]
fn a_function_affects_earlier_immediate_commands() {
    let mut rig = lazy(1);
    rig.send(0, ScsiCommand { immediate: true, ..read(&rig, 0, 0) }, &[]);
    // It has the same number, since neither consumes one.
    rig.send(0, function(&rig, TaskFunction::AbortTaskSet, 0, 0), &[]);
    rig.lazy = false;
    rig.run();
    assert_eq!((gone(&rig), outcomes(&mut rig, 0)), (1, (vec![TaskOutcome::Complete], 0)));
}

#[test]
fn a_function_of_a_lost_connection_is_discarded() {
    let mut rig = lazy(2);
    for nth in 0..2 {
        rig.send(1, read(&rig, nth, 0), &[]);
    }
    rig.run();
    // More of them than slots, one connection after another.
    for cid in 0..9 {
        let link = rig.attach(10 + cid).expect("there is room");
        rig.send(link, function(&rig, TaskFunction::AbortTask, 0, 2), &[]);
        rig.run();
        assert_eq!(outcomes(&mut rig, link), (vec![], 0));
        rig.cut(link);
    }
    rig.send(1, function(&rig, TaskFunction::AbortTask, 1, 2), &[]);
    rig.run();
    rig.work_on(0);
    rig.run();
    assert_eq!(outcomes(&mut rig, 1), (vec![], 0), "that was the task of the forgotten ones");
    rig.work_on(0);
    rig.run();
    assert_eq!(outcomes(&mut rig, 1), (vec![TaskOutcome::Complete], 0));
}

#[test]
fn data_must_match_the_connection_and_tag_of_its_command() {
    let mut rig = Rig::new(setup(2));
    let write =
        ScsiCommand { write: true, ..command((100, number(&rig, 0)), cdb(0x2a, 0, 1), 512) };
    rig.send(0, write, &[]);
    rig.run();
    let Response::R2t(r2t) = rig.replies(0).remove(0).pdu else { panic!("an R2T") };
    let data = |task_tag| iscsi::pdu::DataOut {
        is_final: true,
        lun: r2t.lun,
        task_tag,
        transfer_tag: r2t.transfer_tag,
        exp_stat_sn: 0,
        data_sn: 0,
        offset: 0,
        data_len: 512,
    };
    rig.send(1, data(100), &[1; 512]);
    rig.send(0, data(101), &[2; 512]);
    rig.run();
    assert_eq!((outcomes(&mut rig, 0), outcomes(&mut rig, 1)), ((vec![], 0), (vec![], 0)));
    rig.send(0, data(100), &[3; 512]);
    rig.run();
    assert_eq!(outcomes(&mut rig, 0), (vec![], 1));
    assert!(rig.memory[&Lun::default()].starts_with(&[3; 512]));
}

#[test]
fn a_session_without_connections_accepts_no_new_one() {
    let mut rig = lazy(1);
    rig.send(0, read(&rig, 0, 0), &[]);
    rig.run();
    rig.cut(0);
    assert!(!rig.over, "the owner still works");
    assert_eq!(rig.attach(1), Err(Refused::Ending));
    rig.lazy = false;
    rig.run();
    assert!(rig.over);
}

#[test]
fn another_session_clears_tasks() {
    let mut rig = lazy(1);
    for (nth, lun) in [(0, 0), (1, 1)] {
        rig.send(0, read(&rig, nth, lun), &[]);
    }
    rig.run();
    assert_eq!(rig.session.abort(TaskScope::Lun(Lun::new(1)), None), 1);
    let aborted = Ending::bare(ScsiStatus::TaskAborted);
    assert_eq!(rig.session.abort(TaskScope::Lun(Lun::default()), Some(aborted)), 1);
    rig.look();
    assert_eq!((gone(&rig), rig.session.running(TaskScope::All)), (2, 2));
    rig.lazy = false;
    rig.run();
    assert_eq!(rig.session.running(TaskScope::All), 0);
    let replies = rig.replies(0);
    let [Response::Command(end)] =
        &replies.iter().map(|reply| reply.pdu.clone()).collect::<Vec<_>>()[..]
    else {
        panic!("{replies:?}");
    };
    assert_eq!((end.task_tag, end.status), (100, 0x40));
    assert_eq!(rig.session.tasks(), 0);
}

#[test]
fn a_connection_resumes_when_the_task_that_stalls_it_ends() {
    let failures: [fn(&mut Rig); 2] = [
        |rig| _ = rig.session.abort(TaskScope::All, None),
        |rig| _ = rig.session.abort(TaskScope::All, Some(Ending::bare(ScsiStatus::TaskAborted))),
    ];
    for fail in failures {
        let mut rig = lazy(1);
        // The owner has not decided about the data queued behind it.
        let undecided = command((100, number(&rig, 0)), cdb(0xff, 0, 1), 512);
        rig.send(0, ScsiCommand { write: true, data_len: 512, ..undecided }, &pattern(512, 1));
        rig.send(0, read(&rig, 1, 0), &[]);
        rig.run();
        let id = rig.links[0].id;
        assert_eq!((rig.session.want(id), rig.jobs.len()), (Want::Nothing, 1));
        fail(&mut rig);
        rig.look();
        assert!(rig.events.contains(&Event::Resume(id)), "it is told");
        rig.run();
        assert_eq!(rig.jobs.len(), 2, "and the next command is read");
    }
}

#[test]
fn a_closed_window_is_reopened_without_other_output() {
    let mut setup = setup(1);
    setup.limits.window = 2;
    let mut rig = Rig::new(setup);
    rig.lazy = true;
    for nth in 0..2 {
        rig.send(0, read(&rig, nth, 0), &[]);
    }
    rig.run();
    // The initiator sees the closed window, and then another session drops all its tasks.
    rig.session.ping(rig.links[0].id).expect("a ping can be sent");
    rig.run();
    rig.session.abort(TaskScope::All, None);
    rig.look();
    rig.replies(0);
    rig.lazy = false;
    rig.run();
    let replies = rig.replies(0);
    let [Response::NopIn(nop)] =
        &replies.iter().map(|reply| reply.pdu.clone()).collect::<Vec<_>>()[..]
    else {
        panic!("{replies:?}");
    };
    assert_eq!((nop.task_tag, nop.transfer_tag), (RESERVED_TAG, RESERVED_TAG));
    assert!(nop.sequence.max_cmd_sn.wrapping_sub(nop.sequence.exp_cmd_sn) < 2, "{nop:?}");
}

fn logout(rig: &Rig, reason: LogoutReason, cid: u16, at: u32) -> LogoutRequest {
    let (task_tag, cmd_sn) = (0x2000, number(rig, at));
    LogoutRequest { immediate: true, reason, task_tag, cid, cmd_sn, exp_stat_sn: 0 }
}

fn logged_out(rig: &mut Rig, link: usize) -> Vec<LogoutOutcome> {
    let outcome = |reply: super::rig::Reply| match reply.pdu {
        Response::Logout(end) => {
            assert_eq!(end.task_tag, 0x2000);
            Some(end.outcome)
        }
        _ => None,
    };
    rig.replies(link).into_iter().filter_map(outcome).collect()
}

#[test]
fn a_logout_of_the_session_waits_for_the_owner_and_closes_everything() {
    let mut rig = lazy(2);
    for nth in 0..2 {
        rig.send(nth as usize, read(&rig, nth, 0), &[]);
    }
    rig.run();
    rig.send(0, logout(&rig, LogoutReason::CloseSession, 0, 2), &[]);
    rig.run();
    assert_eq!(gone(&rig), 2);
    assert_eq!(logged_out(&mut rig, 0), [], "old commands could still do something");
    assert!(!rig.links[0].shut && rig.links[1].shut && !rig.over);
    rig.lazy = false;
    rig.run();
    assert_eq!(logged_out(&mut rig, 0), [LogoutOutcome::Closed]);
    assert!(rig.links[0].shut && rig.over);
    let why = Some(CloseReason::Logout(LogoutReason::CloseSession));
    assert_eq!((rig.links[0].closed, rig.links[1].closed), (why, why));
    let params = iscsi::target::ConnectionParams {
        cid: 9,
        header_digest: false,
        data_digest: false,
        max_receive: 8192,
        max_send: 8192,
        stat_sn: 0,
    };
    assert_eq!(rig.session.attach(params), Err(Refused::Ending));
}

#[test]
fn logouts_of_connections() {
    use LogoutReason::{CloseConnection, RemoveForRecovery};
    for (reason, cid, outcome, closed) in [
        (CloseConnection, 0, LogoutOutcome::Closed, [true, false]),
        (CloseConnection, 1, LogoutOutcome::Closed, [false, true]),
        (CloseConnection, 5, LogoutOutcome::NoConnection, [false, false]),
        (RemoveForRecovery, 1, LogoutOutcome::NoRecovery, [false, false]),
    ] {
        let mut rig = Rig::new(setup(2));
        rig.send(0, logout(&rig, reason, cid, 0), &[]);
        rig.run();
        assert_eq!(logged_out(&mut rig, 0), [outcome], "{reason:?} {cid}");
        assert_eq!([rig.links[0].shut, rig.links[1].shut], closed, "{reason:?} {cid}");
        assert!(!rig.over, "a connection is left");
        let link = if closed[0] { 1 } else { 0 };
        rig.send(link, read(&rig, 0, 0), &[]);
        rig.run();
        assert_eq!(rig.replies(link).len(), 1, "and works");
    }
}

#[test]
fn a_lost_connection_takes_its_tasks_with_it() {
    let mut rig = lazy(2);
    for nth in 0..4 {
        rig.send(nth as usize % 2, read(&rig, nth, 0), &[]);
    }
    rig.run();
    rig.cut(0);
    assert_eq!(gone(&rig), 2);
    assert_eq!(rig.links[0].closed, Some(CloseReason::Lost));
    rig.lazy = false;
    rig.run();
    assert_eq!(outcomes(&mut rig, 1), (vec![], 2));
    rig.cut(1);
    assert!(rig.over && rig.session.tasks() == 0);
}

#[test]
fn a_connection_is_lost_with_an_answer_half_sent() {
    let mut rig = lazy(1);
    let long = ScsiCommand { expected_len: 64 * 512, cdb: cdb(0x28, 0, 64), ..read(&rig, 0, 0) };
    rig.send(0, long, &[]);
    rig.run();
    rig.work_on(0);
    assert!(rig.drain(0, 1), "the first of four PDUs");
    rig.cut(0);
    assert_eq!(gone(&rig), 1, "the owner is told, since no end was handed out");
    assert!(rig.over);
}

#[test]
fn an_abort_of_a_half_sent_answer_ends_it_after_the_sent_part() {
    let mut rig = lazy(1);
    let long = ScsiCommand { expected_len: 64 * 512, cdb: cdb(0x28, 0, 64), ..read(&rig, 0, 0) };
    rig.send(0, long, &[]);
    rig.run();
    rig.work_on(0);
    rig.drain(0, 1);
    rig.send(0, function(&rig, TaskFunction::AbortTask, 0, 1), &[]);
    rig.run();
    let replies: Vec<_> = rig.replies(0).into_iter().map(|reply| reply.pdu).collect();
    let [Response::DataIn(first), Response::Task(end)] = &replies[..] else {
        panic!("{replies:?}")
    };
    assert_eq!((first.status, end.outcome), (None, TaskOutcome::Complete));
    assert_eq!((gone(&rig), rig.session.tasks()), (0, 0), "it ended by its end, not by being gone");
}

#[test]
fn the_target_closes_a_session() {
    let mut rig = lazy(2);
    rig.send(0, read(&rig, 0, 0), &[]);
    rig.run();
    rig.session.close_all();
    rig.run();
    assert!(rig.links.iter().all(|link| link.shut && link.closed == Some(CloseReason::Target)));
    assert!(!rig.over, "the owner still works");
    rig.lazy = false;
    rig.run();
    assert!(rig.over);
}

#[test]
fn connections_are_bounded_and_have_distinct_cids() {
    let mut rig = Rig::new(setup(4));
    let params = |cid| iscsi::target::ConnectionParams {
        cid,
        header_digest: false,
        data_digest: false,
        max_receive: 8192,
        max_send: 8192,
        stat_sn: 0,
    };
    assert_eq!(rig.session.attach(params(3)), Err(Refused::Cid(3)));
    assert_eq!(rig.session.attach(params(4)), Err(Refused::Connections(4)));
    rig.cut(2);
    assert_eq!(rig.session.attach(params(4)), Ok(rig.links[2].id), "its place is free again");
}
