//! What a parser must refuse, and must accept.

use iscsi::pdu::{
    Bhs, LoginStatus, Malformed, Opcode, RejectReason, Request, Response, Stage, TaskFunction,
};

/// A header of this opcode and second byte.
fn header(opcode: u8, flags: u8) -> Bhs {
    let mut bhs = [0; 48];
    (bhs[0], bhs[1]) = (opcode, flags);
    bhs
}

/// A header with some bytes changed.
fn with(mut bhs: Bhs, changes: &[(usize, u8)]) -> Bhs {
    for &(at, byte) in changes {
        bhs[at] = byte;
    }
    bhs
}

#[track_caller]
fn request(bhs: Bhs, field: &str) {
    match Request::parse(&bhs, &[]) {
        Err(Malformed::Field { field: found, .. }) => assert_eq!(found, field),
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn response(bhs: Bhs, field: &str) {
    match Response::parse(&bhs, &[]) {
        Err(Malformed::Field { field: found, .. }) => assert_eq!(found, field),
        other => panic!("{other:?}"),
    }
}

#[test]
fn undefined_opcodes_and_those_of_the_other_end() {
    let mut understood = [0, 0];
    for code in 0..=0x3f {
        for bhs in [header(code, 0x80), header(code | 0xc0, 0x80)] {
            let parsed = [Request::parse(&bhs, &[]).err(), Response::parse(&bhs, &[]).err()];
            for (end, error) in understood.iter_mut().zip(parsed) {
                *end += usize::from(error != Some(Malformed::Opcode(code)));
            }
        }
    }
    assert_eq!(understood, [16, 20], "eight requests and ten responses, each counted twice");
    assert_eq!(Malformed::Opcode(0x3e).reject_reason(), RejectReason::CommandNotSupported);
}

#[test]
fn fields_of_requests() {
    request(header(0x01, 0x00), "F without W");
    request(header(0x01, 0xc5), "ATTR");
    request(with(header(0x01, 0x80), &[(23, 1)]), "ExpectedDataTransferLength without R and W");
    request(with(header(0x01, 0xc0), &[(7, 1)]), "DataSegmentLength");
    request(with(header(0x02, 0x81), &[(7, 1)]), "DataSegmentLength");
    request(with(header(0x06, 0x80), &[(6, 1)]), "DataSegmentLength");
    request(header(0x06, 0x83), "ReasonCode");
    request(with(header(0x10, 0x80), &[(5, 1)]), "DataSegmentLength");
    request(header(0x10, 0x84), "Type");
    request(header(0x04, 0xc0), "F and C");
    let minus_one = [(40, 0xff), (41, 0xff), (42, 0xff), (43, 0xff), (7, 1)];
    request(with(header(0x05, 0x80), &minus_one), "BufferOffset");
    let no_tag = [(16, 0xff), (17, 0xff), (18, 0xff), (19, 0xff)];
    request(with(header(0x00, 0x80), &no_tag), "InitiatorTaskTag without I");
}

#[test]
fn stages_of_a_login() {
    // Transit bit, continuation bit, current stage, next stage.
    let flags = |t: u8, c: u8, current: u8, next: u8| t << 7 | c << 6 | current << 2 | next;
    request(header(0x43, flags(1, 1, 0, 1)), "T and C");
    request(header(0x43, flags(0, 0, 2, 0)), "CSG");
    request(header(0x43, flags(0, 0, 3, 0)), "CSG");
    request(header(0x43, flags(1, 0, 0, 2)), "NSG");
    request(header(0x43, flags(1, 0, 0, 0)), "NSG");
    request(header(0x43, flags(1, 0, 1, 0)), "NSG");
    request(header(0x43, flags(1, 0, 1, 1)), "NSG");
    response(header(0x23, flags(1, 0, 1, 1)), "NSG");
    let next = |bhs| match Request::parse(&bhs, &[]) {
        Ok(Request::Login(login)) => (login.stage, login.next),
        other => panic!("{other:?}"),
    };
    for (bhs, stages) in [
        (flags(1, 0, 0, 1), (Stage::Security, Some(Stage::Operational))),
        (flags(1, 0, 0, 3), (Stage::Security, Some(Stage::FullFeature))),
        (flags(1, 0, 1, 3), (Stage::Operational, Some(Stage::FullFeature))),
        // Without the T bit the next stage is a reserved field.
        (flags(0, 0, 1, 2), (Stage::Operational, None)),
    ] {
        assert_eq!(next(header(0x43, bhs)), stages);
    }
    // In a failure only the status is meaningful.
    let failed = with(header(0x23, flags(1, 1, 3, 3)), &[(36, 2), (37, 1)]);
    match Response::parse(&failed, &[]) {
        Ok(Response::Login(login)) => {
            assert_eq!(login.status, LoginStatus::AUTHENTICATION_FAILURE);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn fields_of_responses() {
    response(with(header(0x21, 0x80), &[(2, 2)]), "Response");
    response(header(0x21, 0x86), "O and U");
    response(header(0x21, 0x98), "O and U");
    response(with(header(0x22, 0x80), &[(2, 8)]), "Response");
    response(with(header(0x22, 0x80), &[(7, 8)]), "DataSegmentLength");
    response(header(0x25, 0x01), "S without F");
    response(header(0x25, 0x87), "O and U");
    response(with(header(0x26, 0x80), &[(2, 4)]), "Response");
    response(with(header(0x26, 0x80), &[(7, 4)]), "DataSegmentLength");
    response(header(0x31, 0x80), "DesiredDataTransferLength");
    response(with(header(0x31, 0x80), &[(7, 4)]), "DataSegmentLength");
    let past_the_end = [(40, 0xff), (41, 0xff), (42, 0xff), (43, 0xff), (47, 1)];
    response(with(header(0x31, 0x80), &past_the_end), "DesiredDataTransferLength");
    let no_tag = [(20, 0xff), (21, 0xff), (22, 0xff), (23, 0xff), (47, 1)];
    response(with(header(0x31, 0x80), &no_tag), "TargetTransferTag");
    response(with(header(0x32, 0x80), &[(36, 6)]), "AsyncEvent");
    response(with(header(0x3f, 0x80), &[(2, 0x0b)]), "Reason");
    response(header(0x24, 0xc0), "F and C");
}

/// Fields that RFC 7143 reserves are ignored.
#[test]
fn reserved_bits_are_ignored() {
    for opcode in [0x00, 0x02, 0x05] {
        let plain = header(opcode, 0x81);
        let noisy = with(plain, &[(0, opcode | 0x80), (2, 0xff), (3, 0xff)]);
        assert_eq!(Request::parse(&noisy, &[]), Request::parse(&plain, &[]));
        assert!(Request::parse(&plain, &[]).is_ok());
    }
    // An undefined function is answered, not rejected.
    match Request::parse(&header(0x42, 0x80 | 0x55), &[]) {
        Ok(Request::Task(task)) => assert_eq!(task.function, TaskFunction::Other(0x55)),
        other => panic!("{other:?}"),
    }
}

/// A write with these additional header segments.
#[track_caller]
fn segments(ahs: &[u8], expected: Result<(usize, Option<u32>), &str>) {
    let bhs = with(header(0x01, 0xe0), &[(4, (ahs.len() / 4) as u8)]);
    match Request::parse(&bhs, ahs) {
        Ok(Request::Command(command)) => {
            assert_eq!(Ok((command.cdb.bytes().len(), command.read_len)), expected);
        }
        Err(error @ Malformed::Ahs { opcode: Opcode::ScsiCommand, what }) => {
            assert_eq!(Err(what), expected);
            assert_eq!(error.reject_reason(), RejectReason::ProtocolError);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn additional_segments() {
    let extended = |tail: usize| {
        let mut ahs = ((tail + 1) as u16).to_be_bytes().to_vec();
        ahs.extend([1, 0]);
        ahs.resize(4 + tail.next_multiple_of(4), 0x77);
        ahs
    };
    let read_len = [0, 5, 2, 0, 0, 0, 1, 0];
    segments(&[], Ok((16, None)));
    segments(&extended(1), Ok((17, None)));
    segments(&extended(16), Ok((32, None)));
    segments(&extended(244), Ok((260, None)));
    segments(&read_len, Ok((16, Some(256))));
    segments(&[&extended(16)[..], &read_len].concat(), Ok((32, Some(256))));
    segments(&[&read_len[..], &extended(5)].concat(), Ok((21, Some(256))));
    segments(&extended(245), Err("an extended CDB that is empty or longer than 260 bytes"));
    segments(&[0, 1, 1, 0], Err("an extended CDB that is empty or longer than 260 bytes"));
    segments(&[0, 0, 1, 0], Err("a segment has no length"));
    segments(&[0, 2, 1, 0], Err("a segment is longer than all of them"));
    segments(&[0xff, 0xff, 1, 0, 0, 0, 0, 0], Err("a segment is longer than all of them"));
    segments(&[0, 4, 2, 0, 1, 2, 3, 0], Err("a read length not of 4 bytes"));
    segments(&[0, 1, 3, 0], Err("a segment of an unknown type"));
    segments(&[0, 1, 0, 0], Err("a segment of an unknown type"));
    segments(&[read_len, read_len].concat(), Err("two bidirectional read lengths"));
    segments(&[extended(4), extended(4)].concat(), Err("two extended CDBs"));
}

#[test]
fn segments_that_are_not_allowed() {
    let read = with(header(0x01, 0xc0), &[(4, 2)]);
    let ahs = [0, 5, 2, 0, 0, 0, 1, 0];
    let refused = |parsed: Result<Request, Malformed>| match parsed {
        Err(Malformed::Ahs { what, .. }) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(Request::parse(&read, &ahs)), "a bidirectional read length without R and W");
    assert_eq!(refused(Request::parse(&read, &ahs[..4])), "not as long as TotalAHSLength says");
    let nop = with(header(0x40, 0x80), &[(4, 2)]);
    assert_eq!(refused(Request::parse(&nop, &ahs)), "only a SCSI command has any");
}
