//! Residuals: the initiator expects more or less data than the command transfers.

use iscsi::pdu::{Lun, Residual, Response, ScsiCommand, sense_segment};
use iscsi::target::SessionParams;

use super::initiator::{Initiator, blocks, cdb, command, pattern};
use super::rig::{Rig, Setup};

fn setups() -> [Setup; 4] {
    let with = |initial_r2t, immediate_data, first_burst| SessionParams {
        initial_r2t,
        immediate_data,
        first_burst,
        max_burst: 700,
        ..Setup::default().session
    };
    [(true, true, 65536), (true, false, 512), (false, false, 600), (false, true, 65536)].map(
        |(r2t, immediate, first)| Setup {
            session: with(r2t, immediate, first),
            max_receive: 512,
            ..Setup::default()
        },
    )
}

#[track_caller]
fn check_write(count: u16, expected: usize, residual: Residual) {
    for setup in setups() {
        let mut rig = Rig::new(setup);
        let mut initiator = Initiator::new(&rig);
        let data = pattern(expected, 5);
        let tag = initiator.write(&mut rig, 0, 0, count, &data);
        initiator.run(&mut rig);
        let end = initiator.outcome(tag);
        assert_eq!((end.status, end.residual), (0, residual), "{setup:?}");
        let written = blocks(count).min(expected);
        let memory = &rig.memory[&Lun::default()];
        assert_eq!(memory[..written], data[..written], "what was expected is written");
        assert!(memory[written..].iter().all(|&byte| byte == 0), "and nothing else");
    }
}

#[track_caller]
fn check_read(count: u16, expected: u32, residual: Residual) {
    let mut rig = Rig::new(Setup::default());
    let content = pattern(blocks(8), 9);
    rig.memory.insert(Lun::default(), content.clone());
    let mut initiator = Initiator::new(&rig);
    let tag = initiator.read(&mut rig, 0, 0, count, expected);
    initiator.run(&mut rig);
    let end = initiator.outcome(tag);
    assert_eq!((end.status, end.residual), (0, residual));
    assert_eq!(end.data, content[..blocks(count).min(expected as usize)]);
}

#[test]
fn writes() {
    check_write(2, 1024, Residual::None);
    check_write(1, 10_000, Residual::Underflow(10_000 - 512));
    check_write(2, 512, Residual::Overflow(512));
    check_write(1, 200, Residual::Overflow(312));
    check_write(2, 1023, Residual::Overflow(1));
    check_write(0, 512, Residual::Underflow(512));
    check_write(0, 3000, Residual::Underflow(3000));
    check_write(1, 0, Residual::Overflow(512));
}

#[test]
fn reads() {
    check_read(2, 1024, Residual::None);
    check_read(1, 10_000, Residual::Underflow(10_000 - 512));
    check_read(2, 512, Residual::Overflow(512));
    check_read(1, 200, Residual::Overflow(312));
    check_read(1, 0, Residual::Overflow(512));
    check_read(0, 512, Residual::Underflow(512));
}

#[test]
fn a_failed_command_transfers_nothing() {
    let mut rig = Rig::new(Setup::default());
    let mut initiator = Initiator::new(&rig);
    let beyond = 1 << 20;
    let read = initiator.read(&mut rig, 0, beyond, 2, 1024);
    let write = initiator.write(&mut rig, 0, beyond, 2, &pattern(1024, 1));
    initiator.run(&mut rig);
    let end = initiator.outcome(read);
    assert_eq!((end.status, end.residual, &end.data[..]), (2, Residual::Underflow(1024), &[][..]));
    let sense = sense_segment(&end.sense).expect("sense data");
    assert_eq!((sense[2], &sense[12..14]), (5, &[0x21, 0][..]));
    assert_eq!(initiator.outcome(write).status, 2);
    assert!(rig.memory.values().flatten().all(|&byte| byte == 0));
}

#[test]
fn a_read_that_fails_halfway_sends_its_data_and_then_the_sense() {
    for (expected, residual) in [
        (2048, Residual::Underflow(1024)),
        (1536, Residual::Underflow(512)),
        (512, Residual::Overflow(1536)),
    ] {
        let mut rig = Rig::new(Setup { max_send: 512, ..Setup::default() });
        let content = pattern(blocks(512), 9);
        rig.memory.insert(Lun::default(), content.clone());
        let mut initiator = Initiator::new(&rig);
        let tag = initiator.read(&mut rig, 0, 510, 4, expected);
        initiator.run(&mut rig);
        let end = initiator.outcome(tag);
        assert_eq!((end.status, end.residual), (2, residual), "{expected}");
        assert_eq!(end.data, content[blocks(510)..][..1024.min(expected as usize)]);
        let sense = sense_segment(&end.sense).expect("sense data");
        assert_eq!((sense[2], &sense[12..14]), (3, &[0x11, 0][..]));
    }
}

#[test]
fn a_read_announced_as_a_write_transfers_nothing() {
    let mut rig = Rig::new(Setup::default());
    let read = command((1, rig.setup.numbers.0), cdb(0x28, 0, 1), 512);
    rig.send(0, ScsiCommand { write: true, data_len: 512, ..read }, &[7; 512]);
    rig.run();
    let replies = rig.replies(0);
    let [Response::Command(end)] =
        &replies.iter().map(|reply| reply.pdu.clone()).collect::<Vec<_>>()[..]
    else {
        panic!("{replies:?}");
    };
    assert_eq!((end.status, end.residual), (0, Residual::Overflow(512)));
    assert_eq!(rig.session.tasks(), 0);
}

#[test]
fn bidirectional_data_is_refused() {
    for read_len in [None, Some(512)] {
        let mut rig = Rig::new(Setup::default());
        let both = command((1, rig.setup.numbers.0), cdb(0x2a, 0, 1), 512);
        rig.send(
            0,
            ScsiCommand { read: true, write: true, read_len, data_len: 512, ..both },
            &[7; 512],
        );
        rig.run();
        let replies = rig.replies(0);
        let [reply] = &replies[..] else { panic!("{replies:?}") };
        let Response::Command(end) = &reply.pdu else { panic!("{replies:?}") };
        let sense = sense_segment(&reply.data).expect("sense data");
        assert_eq!((end.status, sense[2], &sense[12..14]), (2, 5, &[0x0e, 3][..]));
        assert!(rig.memory.values().flatten().all(|&byte| byte == 0));
        assert_eq!(rig.session.tasks(), 0, "and nobody hears of it");
    }
}
