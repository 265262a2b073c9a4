//! Data comes back as it went, whatever was negotiated; figures tell what moved.

use crate::target::hand::{Hand, pattern, transfer, who};
use crate::target::test_target::{TestTarget, config};
use iscsi::login::InitiatorConfig;
use iscsi::params::{DesiredParams, Digest};
use iscsi::pdu::TaskAttribute;
use san::server::ServerEvent;

#[test]
fn what_is_written_is_read_and_counted() {
    let stand = TestTarget::new();
    let mut hand = Hand::ready(stand.address(), "a");
    for (seed, len) in [(1u8, 512usize), (2, 8192), (3, 1 << 20), (4, 3 << 19)] {
        let data = pattern(seed, len);
        assert_eq!(hand.write(8, &data).status, 0);
        let answer = hand.read(8, len);
        assert!(answer.status == 0 && answer.data == data, "{len} bytes");
    }
    let moved = 512 + 8192 + (1 << 20) + (3 << 19);
    let counts = stand.settled("all commands end", |counts| counts.queue == 0);
    assert_eq!(
        (counts.bytes_in, counts.bytes_out, counts.reads, counts.writes),
        (moved, moved, 4, 4)
    );
    hand.logout();
    stand.event("the logout", |event| matches!(event, ServerEvent::Logout(_)));
    stand.settled("the connection ends", |counts| counts.connections == 0);
    stand.stop();
}

#[test]
fn many_commands_in_one_segment_are_answered_in_one_go() {
    let stand = TestTarget::new();
    let mut hand = Hand::ready(stand.address(), "a");
    let data = pattern(9, 64 << 10);
    assert_eq!(hand.write(0, &data).status, 0);
    let tags: Vec<u32> = (0..64).map(|at| hand.begin(&transfer(0x28, at, 512), 512, 0)).collect();
    for (at, tag) in tags.into_iter().enumerate() {
        let answer = hand.finish(tag, &[]);
        assert_eq!(
            (answer.status, &answer.data[..]),
            (0, &data[at * 512..][..512]),
            "command {at}"
        );
    }
}

/// Blocks come back under one combination of what can be negotiated, without digests (`tests/initiator` has those).
#[track_caller]
fn check(wishes: DesiredParams) {
    let stand = TestTarget::with(config());
    let mut hand = Hand::enter(
        stand.address(),
        iscsi::login::InitiatorConfig { wishes: wishes.clone(), ..who("a") },
    )
    .expect("a login");
    hand.calm();
    let data = pattern(5, 300 << 10);
    assert_eq!(hand.write(3, &data).status, 0, "{wishes:?}");
    assert!(hand.read(3, data.len()).data == data, "{wishes:?}");
}

#[test]
fn small_segments_and_bursts_carry_as_well() {
    let small = DesiredParams {
        initial_r2t: true,
        immediate_data: false,
        header_digest: Digest::Never,
        ..DesiredParams::default()
    };
    for (max_recv, max_burst, max_outstanding_r2t) in
        [(512, 512, 1), (4096, 16 << 10, 4), (1 << 20, 1 << 20, 64)]
    {
        check(DesiredParams {
            max_recv,
            max_burst,
            first_burst: 512,
            max_outstanding_r2t,
            ..small.clone()
        });
    }
}

#[test]
fn an_ordered_command_waits_for_what_came_before() {
    let stand = TestTarget::new();
    let mut hand = Hand::ready(stand.address(), "a");
    let (old, new) = (pattern(1, 512), pattern(2, 512));
    let slow = hand.begin(&transfer(0x2a, 0, 512), 0, 512);
    let r2t = hand.r2t();
    // The read may not overtake the write, whose data has not come yet; the one behind it may not overtake the read.
    let ordered = hand.begin_as(&transfer(0x28, 0, 512), 512, 0, TaskAttribute::Ordered);
    let behind = hand.begin(&transfer(0x28, 0, 512), 512, 0);
    hand.feed(&r2t, &old);
    assert_eq!(hand.finish(slow, &[]).status, 0);
    assert_eq!(hand.finish(ordered, &[]).data, old);
    assert_eq!(hand.finish(behind, &[]).data, old);
    assert_eq!(hand.write(0, &new).status, 0);
    assert_eq!(hand.read(0, 512).data, new);
}

/// A write of which a part of a block comes is refused; it is never answered GOOD and dropped. Whole blocks are written.
#[test]
fn a_part_of_a_block_is_refused_and_nothing_is_written() {
    for wishes in [
        DesiredParams::default(),
        DesiredParams { initial_r2t: true, immediate_data: false, ..DesiredParams::default() },
    ] {
        let stand = TestTarget::new();
        let config = InitiatorConfig { wishes, ..who("a") };
        let mut hand = Hand::enter(stand.address(), config).expect("it gets in");
        hand.calm();
        let (old, new) = (pattern(1, 2048), pattern(2, 2048));
        assert_eq!(hand.write(0, &old).status, 0);
        // WRITE (10), and WRITE AND VERIFY (10) that compares.
        for (code, check) in [(0x2a, 0), (0x2e, 0), (0x2e, 2)] {
            for (blocks, sent) in [(1, 200), (1, 511), (3, 513), (4, 1900)] {
                let mut cdb = transfer(code, 0, blocks * 512);
                cdb[1] = check;
                let answer = hand.command(&cdb, 0, &new[..sent]);
                assert_eq!(
                    (answer.status, hand.sense_code()),
                    (2, 0x0e03),
                    "{code:x} {blocks} {sent}"
                );
                assert_eq!(hand.read(0, 2048).data, old, "{code:x} {blocks} {sent}");
            }
        }
        assert_eq!(hand.command(&transfer(0x2a, 0, 2048), 0, &new[..1024]).status, 0);
        let found = hand.read(0, 2048).data;
        assert_eq!((&found[..1024], &found[1024..]), (&new[..1024], &old[1024..]));
    }
}
