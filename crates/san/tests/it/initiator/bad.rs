//! Targets that misbehave: between the initiator and a sound target stands somebody who changes what the target says, at
//! the first data of a worker. I/O must end with an error number in bounded time, or go on where that is legal.

use crate::initiator::peer::*;
use crate::prelude::*;
use iscsi::pdu::{
    AsyncEvent, AsyncMessage, Bhs, DataIn, LogoutOutcome, LogoutResponse, NopIn, RESERVED_TAG,
    Reject, RejectReason, Response, Sequence, Stage,
};
use std::io::{self, Read, Write};

/// A worker's blocks. What the control plane reads is shorter.
const BLOCK: u32 = 64 << 10;

/// What is sent in the place of a PDU, and how it goes on.
enum Act {
    Send(Vec<u8>),
    /// Beside the PDU, which comes after it: it has a status number of its own, so that all that follows has another.
    SendBefore(Vec<u8>, Vec<u8>),
    SendAndClose(Vec<u8>),
    SendAndFallSilent(Vec<u8>),
}

type Fault = fn(&DataIn, Vec<u8>) -> Act;

/// Stands before a target. It serves until the test's process ends.
fn between(target: SocketAddr, fault: Fault) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for near in listener.incoming().flatten() {
            let far = TcpStream::connect(target).expect("the target listens");
            let (mut up, mut down) =
                (near.try_clone().expect("one"), far.try_clone().expect("one"));
            thread::spawn(move || {
                let _ = io::copy(&mut up, &mut down);
                let _ = down.shutdown(Shutdown::Write);
            });
            thread::spawn(move || {
                let _ = relay(far, &near, fault);
                let _ = near.shutdown(Shutdown::Both);
            });
        }
    });
    address
}

/// Passes PDUs on, until the fault has its way.
fn relay(mut far: TcpStream, mut near: &TcpStream, fault: Fault) -> io::Result<()> {
    let (mut header_digest, mut data_digest) = (false, false);
    let mut more = 0;
    loop {
        let mut bhs: Bhs = [0; 48];
        far.read_exact(&mut bhs)?;
        let lengths = iscsi::pdu::Lengths::of(&bhs);
        let mut pdu = bhs.to_vec();
        pdu.resize(lengths.total(header_digest, data_digest), 0);
        far.read_exact(&mut pdu[48..])?;
        if let Ok(Response::Login(login)) = Response::parse(&bhs, &[]) {
            let text = String::from_utf8_lossy(&pdu[48..]);
            let whole = login.next == Some(Stage::FullFeature);
            // The last response may leave out what was answered before.
            header_digest |= whole && text.contains("HeaderDigest=CRC32C");
            data_digest |= whole && text.contains("DataDigest=CRC32C");
        }
        if more > 0 {
            renumber(&mut pdu, more);
        }
        let Ok(Response::DataIn(data)) = Response::parse(&bhs, &[]) else {
            near.write_all(&pdu)?;
            continue;
        };
        if data.data_len < BLOCK {
            near.write_all(&pdu)?;
            continue;
        }
        match fault(&data, pdu) {
            Act::Send(bytes) => near.write_all(&bytes)?,
            Act::SendBefore(mut bytes, mut pdu) => {
                renumber(&mut bytes, more);
                renumber(&mut pdu, 1);
                more += 1;
                near.write_all(&[bytes, pdu].concat())?;
            }
            Act::SendAndClose(bytes) => return near.write_all(&bytes),
            Act::SendAndFallSilent(bytes) => {
                near.write_all(&bytes)?;
                // Until the initiator gives up.
                return io::copy(&mut far, &mut io::sink()).map(drop);
            }
        }
    }
}

/// Adds to the status number of a PDU.
fn renumber(pdu: &mut [u8], more: u32) {
    let number = pdu[24..28].try_into().expect("four bytes");
    pdu[24..28].copy_from_slice(&u32::from_be_bytes(number).wrapping_add(more).to_be_bytes());
}

/// The same data with another header.
fn with(pdu: Vec<u8>, header: DataIn) -> Act {
    Act::Send([&header.encode()[..], &pdu[48..]].concat())
}

/// What a worker makes of it within so long.
#[track_caller]
fn outcome(fault: Fault, options: &str, measure: Ns) -> Outcome {
    let target = ours(&["ram:4MiB"]);
    let address = between(target.addresses()[0], fault);
    let lun = TargetSpec::new("lun", format!("{}{options}", url_at(address, 0)));
    let outcome = run(&step(vec![lun], 1, &mixed(BLOCK, 100.0, 4), measure));
    target.stop().expect("it stops");
    outcome.expect("a verdict")
}

/// All I/O of a worker fails with this error number, none succeeds, and the step ends.
#[track_caller]
fn check_with(errno: i32, options: &str, measure: Ns, fault: Fault) {
    let outcome = outcome(fault, options, measure);
    assert!(outcome.errors >= 4 && outcome.ops == 0, "{outcome:?}");
    let told = format!("(os error {errno})");
    assert!(outcome.events.iter().any(|(_, text)| text.contains(&told)), "{outcome:?}");
}

#[track_caller]
fn check(errno: i32, fault: Fault) {
    check_with(errno, "", Ns::millis(250), fault);
}

/// The same where the target says nothing: it takes as long as an initiator waits for a sign.
#[track_caller]
fn check_silent(fault: Fault) {
    check_with(libc::ETIMEDOUT, "", Ns::millis(700), fault);
}

/// What a target may say does no harm.
#[track_caller]
fn unharmed(fault: Fault) {
    let outcome = outcome(fault, "", Ns::millis(250));
    assert!(outcome.errors == 0 && outcome.ops > 0, "{outcome:?}");
}

#[test]
fn wrong_numbers_end_the_session() {
    check(libc::EPROTO, |data, pdu| with(pdu, DataIn { data_sn: data.data_sn + 1, ..*data }));
    check(libc::EPROTO, |data, pdu| {
        let sequence = Sequence {
            exp_cmd_sn: data.sequence.exp_cmd_sn + 99,
            max_cmd_sn: data.sequence.max_cmd_sn + 99,
            ..data.sequence
        };
        with(pdu, DataIn { sequence, ..*data })
    });
    check(libc::EPROTO, |data, pdu| {
        let sequence = Sequence { stat_sn: data.sequence.stat_sn + 1, ..data.sequence };
        let message = AsyncMessage { sequence, ..async_message(AsyncEvent::Vendor, data) };
        Act::Send([&message.encode()[..], &pdu].concat())
    });
}

#[test]
fn data_for_no_task_or_no_place_ends_the_session() {
    check(libc::EPROTO, |data, pdu| {
        with(pdu, DataIn { task_tag: data.task_tag ^ 0x1_0000, ..*data })
    });
    check(libc::EPROTO, |data, pdu| with(pdu, DataIn { task_tag: 0x7fff_fff0, ..*data }));
    check(libc::EPROTO, |data, pdu| with(pdu, DataIn { offset: 512, ..*data }));
    check(libc::EPROTO, |data, pdu| {
        let twice = DataIn { status: None, is_final: false, ..*data };
        let more = DataIn { data_sn: 1, offset: data.data_len, ..twice };
        Act::Send([&twice.encode()[..], &pdu[48..], &more.encode()[..], &pdu[48..]].concat())
    });
}

fn async_message(event: AsyncEvent, data: &DataIn) -> AsyncMessage {
    AsyncMessage {
        event,
        lun: data.lun,
        sequence: data.sequence,
        vendor_code: 0,
        parameters: [0, 2, 2],
        data_len: 0,
    }
}

#[test]
fn a_target_that_leaves_is_let_go() {
    check(libc::ECONNRESET, |data, _| {
        Act::Send(async_message(AsyncEvent::DropSession, data).encode().to_vec())
    });
    check(libc::ECONNRESET, |data, _| {
        Act::Send(async_message(AsyncEvent::RequestLogout, data).encode().to_vec())
    });
    check(libc::ECONNRESET, |data, _| {
        Act::Send(async_message(AsyncEvent::DropConnection, data).encode().to_vec())
    });
    check(libc::ECONNRESET, |data, _| {
        Act::Send(async_message(AsyncEvent::RequestNegotiation, data).encode().to_vec())
    });
    // Nobody has asked for a logout.
    check(libc::EPROTO, |data, _| {
        let response = LogoutResponse {
            outcome: LogoutOutcome::Closed,
            task_tag: data.task_tag,
            sequence: data.sequence,
            time2wait: 0,
            time2retain: 0,
        };
        Act::Send(response.encode().to_vec())
    });
    check(libc::ECONNRESET, |_, _| Act::SendAndClose(Vec::new()));
}

#[test]
fn what_a_target_may_say_at_any_time_does_no_harm() {
    let told: [Fault; 3] = [
        |data, pdu| Act::SendBefore(async_message(AsyncEvent::Scsi, data).encode().to_vec(), pdu),
        |data, pdu| {
            let message = async_message(AsyncEvent::TasksTerminated, data);
            Act::SendBefore(message.encode().to_vec(), pdu)
        },
        |data, pdu| Act::SendBefore(async_message(AsyncEvent::Vendor, data).encode().to_vec(), pdu),
    ];
    told.into_iter().for_each(unharmed);
    // A window that closes behind what was sent already is old news.
    unharmed(|data, pdu| {
        let Sequence { stat_sn, exp_cmd_sn, max_cmd_sn } = data.sequence;
        let less = if stat_sn.is_multiple_of(2) { max_cmd_sn } else { exp_cmd_sn.wrapping_sub(9) };
        let sequence = Sequence { max_cmd_sn: less, ..data.sequence };
        with(pdu, DataIn { sequence, ..*data })
    });
    unharmed(|data, pdu| {
        let ping = NopIn {
            lun: data.lun,
            task_tag: RESERVED_TAG,
            transfer_tag: 7,
            sequence: data.sequence,
            data_len: 0,
        };
        Act::Send([&ping.encode()[..], &pdu].concat())
    });
}

#[test]
fn wrong_digests_end_the_session() {
    let flip: [(&str, Fault); 2] = [
        ("?data_digest=crc32c", |_, mut pdu| {
            pdu[5000] ^= 1;
            Act::Send(pdu)
        }),
        // A residual that is none.
        ("?header_digest=crc32c", |_, mut pdu| {
            pdu[47] ^= 1;
            Act::Send(pdu)
        }),
    ];
    for (options, fault) in flip {
        check_with(libc::EPROTO, options, Ns::millis(250), fault);
    }
    for options in ["?data_digest=crc32c", "?header_digest=crc32c&data_digest=crc32c"] {
        let sound = outcome(|_, pdu| Act::Send(pdu), options, Ns::millis(250));
        assert!(sound.errors == 0 && sound.ops > 0, "{sound:?}");
    }
}

#[test]
fn a_refusal_without_a_command_ends_the_session() {
    check(libc::ECONNRESET, |data, _| {
        let reject = Reject {
            reason: RejectReason::ProtocolError,
            sequence: data.sequence,
            data_sn: 0,
            data_len: 48,
        };
        let mut refused = [0_u8; 48];
        refused[16..20].copy_from_slice(&RESERVED_TAG.to_be_bytes());
        Act::Send([reject.encode(), refused].concat())
    });
}

#[test]
fn half_a_pdu_and_silence_end_in_bounded_time() {
    check(libc::ECONNRESET, |_, pdu| Act::SendAndClose(pdu[..20].to_vec()));
    check(libc::ECONNRESET, |_, pdu| Act::SendAndClose(pdu[..5000].to_vec()));
    check_silent(|_, pdu| Act::SendAndFallSilent(pdu[..5000].to_vec()));
    check_silent(|_, _| Act::SendAndFallSilent(Vec::new()));
}

#[test]
fn bytes_that_mean_nothing_end_the_session() {
    check(libc::EPROTO, |_, _| Act::Send(vec![0xff; 4096]));
    check(libc::EPROTO, |_, _| Act::Send(vec![0x3e; 96]));
}

#[test]
fn a_peer_without_iscsi_fails_in_bounded_time() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    thread::spawn(move || {
        for mut peer in listener.incoming().flatten() {
            let _ = peer
                .write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n and so on, for more than a header");
        }
    });
    let fate = schemes().inspect(&TargetSpec::new("lun", url_at(address, 0)), false).fate;
    assert!(fate.expect_err("no target").to_string().contains("refuses the login"));
}
