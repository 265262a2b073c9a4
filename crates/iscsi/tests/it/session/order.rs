//! The order of commands: the window, several connections, and immediate commands.

use iscsi::pdu::{Response, ScsiCommand};
use iscsi::target::{Event, Limits, SessionParams, Want};

use super::initiator::{Initiator, cdb, command};
use super::rig::{Job, Rig, Setup};

fn setup(connections: u16, window: u16) -> Setup {
    let session = SessionParams { max_connections: connections, ..Setup::default().session };
    let limits = Limits { window, ..Limits::default() };
    Setup { session, limits, connections, ..Setup::default() }
}

/// TEST UNIT READY with the n-th number.
fn nth(rig: &Rig, nth: u32) -> ScsiCommand {
    command((100 + nth, rig.setup.numbers.0.wrapping_add(nth)), cdb(0, 0, 0), 0)
}

/// The numbers of the commands in progress, relative to the first.
fn at_work(rig: &Rig) -> Vec<u32> {
    let number = |job: &Job| {
        let task = rig.session.task(job.task()).expect("a task at work");
        task.cmd_sn.wrapping_sub(rig.setup.numbers.0)
    };
    rig.jobs.iter().map(number).collect()
}

#[test]
fn commands_of_several_connections_are_ordered() {
    let mut rig = Rig::new(setup(3, 128));
    rig.lazy = true;
    for (link, number) in [(2, 2), (1, 1), (1, 3), (2, 5), (0, 4), (0, 6)] {
        let command = nth(&rig, number);
        rig.send(link, command, &[]);
    }
    rig.run();
    assert_eq!(at_work(&rig), [], "the first is missing");
    for link in 1..3 {
        let id = rig.links[link].id;
        assert_eq!(rig.session.want(id), Want::Nothing, "not read until its turn");
    }
    rig.replies(0);
    let command = nth(&rig, 0);
    // Connection 0 also waits at an early command, so the missing one arrives on another connection that joins.
    rig.cut(0);
    assert_eq!(at_work(&rig), []);
    let link = rig.attach(7).expect("there is room for another");
    rig.send(link, command, &[]);
    rig.run();
    assert_eq!(at_work(&rig), [0, 1, 2, 3], "4 was lost with its connection");
    let again = nth(&rig, 4);
    rig.send(link, again, &[]);
    rig.run();
    assert_eq!(at_work(&rig), [0, 1, 2, 3, 4, 5]);
    assert_eq!(rig.events.iter().filter(|event| matches!(event, Event::Resume(_))).count(), 3);
}

#[test]
fn an_immediate_command_overtakes() {
    let mut rig = Rig::new(setup(1, 1));
    rig.lazy = true;
    let first = nth(&rig, 0);
    rig.send(0, first, &[]);
    let overtaking = ScsiCommand { immediate: true, ..nth(&rig, 1) };
    rig.send(0, overtaking, &[]);
    rig.run();
    assert_eq!(at_work(&rig), [0, 1], "although the window is closed");
    assert_eq!(rig.session.exp_cmd_sn(), rig.setup.numbers.0.wrapping_add(1));
    rig.lazy = false;
    rig.run();
    assert_eq!(rig.replies(0).len(), 2);
}

#[test]
fn the_window_shrinks_while_tasks_run_and_opens_with_their_answers() {
    for window in [1, 2, 128, 2048] {
        let mut rig = Rig::new(setup(1, window));
        rig.lazy = true;
        let first = rig.setup.numbers.0;
        for number in 0..u32::from(window) {
            let command = nth(&rig, number);
            rig.send(0, command, &[]);
        }
        rig.run();
        assert_eq!(rig.jobs.len(), usize::from(window));
        assert_eq!(rig.session.max_cmd_sn(), rig.session.exp_cmd_sn().wrapping_sub(1), "closed");
        // Further commands are out of the window, and ignored.
        let beyond = nth(&rig, u32::from(window));
        rig.send(0, beyond, &[]);
        rig.run();
        assert_eq!(rig.jobs.len(), usize::from(window));
        rig.work_on(0);
        rig.run();
        let replies = rig.replies(0);
        let [Response::Command(end)] =
            &replies.iter().map(|reply| reply.pdu.clone()).collect::<Vec<_>>()[..]
        else {
            panic!("{replies:?}");
        };
        assert_eq!(
            end.sequence.max_cmd_sn,
            first.wrapping_add(u32::from(window)),
            "its own answer opens the window"
        );
        let beyond = nth(&rig, u32::from(window));
        rig.send(0, beyond, &[]);
        rig.run();
        assert_eq!(rig.jobs.len(), usize::from(window), "and the next one is taken");
    }
}

#[test]
fn the_default_window_is_at_least_128() {
    let rig = Rig::new(Setup::default());
    let open = rig.session.max_cmd_sn().wrapping_sub(rig.session.exp_cmd_sn()).wrapping_add(1);
    assert!(open >= 128, "{open}");
}

#[test]
fn numbers_wrap_around() {
    let mut rig = Rig::new(setup(1, 4));
    let mut initiator = Initiator::new(&rig);
    for _ in 0..40 {
        let tag = initiator.read(&mut rig, 0, 0, 1, 512);
        initiator.run(&mut rig);
        assert_eq!(initiator.outcome(tag).status, 0);
    }
    assert!(initiator.cmd_sn < 100, "the numbers have wrapped");
}

#[test]
fn reading_stops_while_answers_are_not_read() {
    let mut rig = Rig::new(setup(1, 8));
    let numbers = rig.setup.numbers.0;
    // Its answers are made and not sent, so its send queue is full.
    for number in 0..200u32 {
        let ping = iscsi::pdu::NopOut {
            immediate: true,
            lun: Default::default(),
            task_tag: number,
            transfer_tag: iscsi::pdu::RESERVED_TAG,
            cmd_sn: numbers,
            exp_stat_sn: 0,
            data_len: 0,
        };
        rig.send(0, ping, &[]);
    }
    rig.feed(0);
    assert_eq!(rig.session.want(rig.links[0].id), Want::Nothing);
    assert_eq!(rig.unread(0), (200 - 64) * 48, "64 answers wait at most");
    rig.run();
    assert_eq!(rig.replies(0).len(), 200, "and all are there in the end");
    assert!(rig.events.contains(&Event::Resume(rig.links[0].id)));
}

#[test]
fn a_tag_identifies_one_task_at_a_time() {
    let mut rig = Rig::new(setup(1, 128));
    rig.lazy = true;
    // Unordered tags, so that many of them share a hash chain.
    let mut tags = (0u32..).map(|nth| nth.wrapping_mul(0x85eb_ca6b) ^ nth.rotate_left(13));
    let (mut numbers, mut running) = (0.., Vec::new());
    let mut send = |rig: &mut Rig, tag: u32| {
        let command = ScsiCommand { task_tag: tag, ..nth(rig, numbers.next().unwrap_or(0)) };
        rig.send(0, command, &[]);
        rig.run();
        rig.replies(0)
    };
    for round in 0..20 {
        while rig.jobs.len() < 100 {
            let tag = tags.next().unwrap_or(0);
            assert_eq!(send(&mut rig, tag), [], "a fresh tag is taken");
            running.push(tag);
        }
        for &tag in &running {
            let refused = send(&mut rig, tag);
            assert!(
                matches!(refused[..], [super::rig::Reply { pdu: Response::Reject(_), .. }]),
                "{refused:?}"
            );
        }
        for step in 0..50 {
            rig.work_on((step * 37 + round) % rig.jobs.len());
        }
        rig.run();
        for reply in rig.replies(0) {
            let Response::Command(end) = reply.pdu else { panic!("{reply:?}") };
            running.retain(|&tag| tag != end.task_tag);
        }
        assert_eq!(running.len(), 50);
    }
}

#[test]
fn reading_stops_while_all_slots_have_unsent_output() {
    let mut setup = setup(1, 2);
    setup.limits.immediate = 0;
    let mut rig = Rig::new(setup);
    assert_eq!(rig.session.slots(), 3, "the window, and half of it again");
    rig.stuck = true;
    for number in 0..4 {
        let command = nth(&rig, number);
        rig.send(0, command, &[]);
        rig.run();
    }
    let id = rig.links[0].id;
    assert_eq!((rig.replies(0).len(), rig.session.want(id)), (3, Want::Nothing));
    rig.unstick();
    assert!(rig.events.contains(&Event::Resume(id)));
    rig.run();
    assert_eq!(rig.replies(0).len(), 1);
    rig.stuck = false;
    while rig.session.tasks() > 0 {
        rig.unstick();
    }
}
