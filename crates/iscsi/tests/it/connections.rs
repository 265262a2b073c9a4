//! A session of the initiator with several connections: the connection, numbers and lifetime of each PDU.

use iscsi::digest;
use iscsi::initiator::{
    Cdb, Command, Conn, Error, LoginNumbers, Out, Refused, Session, Settings, Transfer, Want,
};
use iscsi::pdu::*;

const SETTINGS: Settings = Settings {
    send_segment: 8192,
    receive_segment: 8192,
    first_burst: 8192,
    max_burst: 16384,
    initial_r2t: false,
    immediate_data: true,
    max_outstanding_r2t: 2,
    header_digest: false,
    data_digest: false,
};

const LUN: Lun = Lun::new(3);

/// A session of two connections; the second uses digests.
fn two() -> (Session, Conn) {
    let start = LoginNumbers { cmd_sn: 7, max_cmd_sn: 10, stat_sn: 100, cid: 0 };
    let mut session = Session::new(SETTINGS, start, 8);
    assert_eq!(session.next_cmd_sn(), 7);
    let settings = Settings { header_digest: true, first_burst: 1, ..SETTINGS };
    let start = LoginNumbers { cmd_sn: 99, max_cmd_sn: 99, stat_sn: 500, cid: 1 };
    let conn = session.join(settings, start).expect("there is room");
    (session, conn)
}

fn read(session: &mut Session, slot: u32) {
    let (transfer, attribute) = (Transfer::In(512), TaskAttribute::Simple);
    let command = Command { lun: LUN, cdb: Cdb::read(1, 1), transfer, attribute };
    session.command(slot, &command).expect("there is room");
}

/// The PDUs to send on a connection.
fn sent_on(session: &mut Session, conn: Conn) -> Vec<Request> {
    let mut out = Vec::new();
    session.pull(conn, u32::MAX, &mut out);
    let heads = out.iter().filter_map(|out| match out {
        Out::Header { bytes, len } => Some((bytes, *len)),
        _ => None,
    });
    let header = usize::from(session.settings_of(conn).header_digest) * 4 + 48;
    heads
        .map(|(bytes, len)| {
            assert_eq!(usize::from(len), header);
            Request::parse(bytes[..48].try_into().expect("48 bytes"), &[]).expect("a request")
        })
        .collect()
}

/// The answer to a read, on a connection.
fn answer(session: &mut Session, conn: Conn, tag: u32, stat_sn: u32) -> Result<(), Error> {
    let pdu = ScsiResponse {
        response: ServiceResponse::Completed,
        status: 0,
        task_tag: tag,
        snack_tag: 0,
        sequence: Sequence { stat_sn, exp_cmd_sn: 7, max_cmd_sn: 10 },
        exp_data_sn: 0,
        read_residual: Residual::None,
        residual: Residual::Underflow(512),
        data_len: 0,
    };
    let header = Response::Command(pdu).encode();
    let sum = digest::of(&header);
    let digested = session.settings_of(conn).header_digest;
    let bytes = [&header[..], if digested { &sum } else { &[] }].concat();
    session.header(conn, &bytes)
}

fn tags(sent: &[Request]) -> Vec<(u32, u32)> {
    let pair = |pdu: &Request| match pdu {
        Request::Command(pdu) => (pdu.task_tag & 0xffff, pdu.cmd_sn),
        other => panic!("{other:?}"),
    };
    sent.iter().map(pair).collect()
}

#[test]
fn commands_are_numbered_by_the_session_and_statuses_by_each_connection() {
    let (mut session, second) = two();
    assert_eq!(session.settings_of(second).first_burst, SETTINGS.first_burst, "the session's");
    assert_eq!(session.connections().collect::<Vec<_>>(), [Conn::LEAD, second]);
    (0..4).for_each(|slot| read(&mut session, slot));
    assert_eq!((session.under_way(Conn::LEAD), session.under_way(second)), (2, 2));
    let (on_lead, on_second) = (sent_on(&mut session, Conn::LEAD), sent_on(&mut session, second));
    assert_eq!(tags(&on_lead), [(0, 7), (2, 9)]);
    assert_eq!(tags(&on_second), [(1, 8), (3, 10)]);
    let tag = |pdu: &Request| match pdu {
        Request::Command(pdu) => pdu.task_tag,
        other => panic!("{other:?}"),
    };
    assert_eq!(answer(&mut session, second, tag(&on_second[0]), 500), Ok(()));
    assert_eq!(answer(&mut session, Conn::LEAD, tag(&on_lead[0]), 100), Ok(()));
    assert_eq!((session.under_way(Conn::LEAD), session.under_way(second)), (1, 1));
    // All PDUs of a command use its connection.
    let strange = answer(&mut session, second, tag(&on_lead[1]), 501);
    assert!(matches!(strange, Err(Error::UnknownTask { .. })), "{strange:?}");
    assert_eq!((session.want(Conn::LEAD), session.room()), (Want::Nothing, 0), "all is over");
}

#[test]
fn an_idle_connection_gets_the_next_command() {
    let (mut session, second) = two();
    (0..2).for_each(|slot| read(&mut session, slot));
    let first = sent_on(&mut session, second);
    let Request::Command(command) = &first[0] else { panic!("{first:?}") };
    assert_eq!(answer(&mut session, second, command.task_tag, 500), Ok(()));
    read(&mut session, 5);
    assert_eq!(tags(&sent_on(&mut session, second)), [(5, 9)]);
}

#[test]
fn pings_use_all_connections_and_a_logout_ends_all() {
    let (mut session, second) = two();
    session.ping().expect("there is room");
    for conn in [Conn::LEAD, second] {
        let sent = sent_on(&mut session, conn);
        assert!(matches!(sent.as_slice(), [Request::NopOut(_)]), "{sent:?}");
    }
    let start = LoginNumbers { cmd_sn: 7, max_cmd_sn: 10, stat_sn: 1, cid: 2 };
    let more = (0..99).filter(|_| session.join(SETTINGS, start).is_ok()).count();
    assert_eq!(more + 2, Conn::MOST);
    assert_eq!(session.join(SETTINGS, start), Err(Refused::Connections));
    session.logout().expect("it is open");
    assert_eq!(session.join(SETTINGS, start), Err(Refused::Over));
    let sent = sent_on(&mut session, Conn::LEAD);
    let [Request::Logout(pdu)] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!(pdu.reason, LogoutReason::CloseSession);
    assert_eq!(sent_on(&mut session, second), []);
}

#[test]
fn a_task_function_uses_the_connection_of_its_task() {
    let (mut session, second) = two();
    (0..2).for_each(|slot| read(&mut session, slot));
    for conn in [Conn::LEAD, second] {
        sent_on(&mut session, conn);
    }
    session.manage(TaskFunction::AbortTask, LUN, Some(1)).expect("there is room");
    assert_eq!(sent_on(&mut session, Conn::LEAD), []);
    let sent = sent_on(&mut session, second);
    assert!(matches!(sent.as_slice(), [Request::Task(_)]), "{sent:?}");
}
