//! Headers encoded by hand from the figures of RFC 7143, section 11, and digests from RFC 3720, appendix B.4.

use iscsi::digest;
use iscsi::pdu::{
    AsyncEvent, AsyncMessage, Bhs, Cdb, DataIn, DataInStatus, DataOut, Isid, Lengths, LoginRequest,
    LoginResponse, LoginStatus, LogoutOutcome, LogoutReason, LogoutRequest, LogoutResponse, Lun,
    NopIn, NopOut, R2t, RESERVED_TAG, Reject, RejectReason, Request, Residual, Response,
    ScsiCommand, ScsiResponse, Sequence, ServiceResponse, Snack, SnackType, Stage, TaskAttribute,
    TaskFunction, TaskOutcome, TaskRequest, TaskResponse, TextRequest, TextResponse, pad, precedes,
};

/// Twelve words of four bytes, as the RFC's figures have them.
fn bhs(words: [u32; 12]) -> Bhs {
    let mut bhs = [0; 48];
    for (place, word) in bhs.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_be_bytes());
    }
    bhs
}

#[track_caller]
fn request(pdu: impl Into<Request>, words: [u32; 12]) {
    let (pdu, bhs) = (pdu.into(), bhs(words));
    assert_eq!(pdu.encode(), bhs, "written");
    assert_eq!(Request::parse(&bhs, &[]), Ok(pdu), "read");
}

#[track_caller]
fn response(pdu: impl Into<Response>, words: [u32; 12]) {
    let (pdu, bhs) = (pdu.into(), bhs(words));
    assert_eq!(pdu.encode(), bhs, "written");
    assert_eq!(Response::parse(&bhs, &[]), Ok(pdu), "read");
}

const SEQUENCE: Sequence = Sequence { stat_sn: 0x51, exp_cmd_sn: 0x52, max_cmd_sn: 0x53 };

#[test]
fn command_and_data_requests() {
    let command = ScsiCommand {
        immediate: false,
        is_final: false,
        read: false,
        write: true,
        attribute: TaskAttribute::Simple,
        lun: Lun::new(3),
        task_tag: 0x1111_2222,
        expected_len: 0x2_0000,
        read_len: None,
        cmd_sn: 7,
        exp_stat_sn: 9,
        cdb: Cdb::new(&[0x2a, 0, 0, 0, 1, 0, 0, 1, 0, 0]).expect("short"),
        data_len: 0x2000,
    };
    let cdb = [0x2a00_0000, 0x0100_0001, 0, 0];
    let [a, b, c, d] = cdb;
    request(
        command,
        [0x0121_0000, 0x2000, 0x0003_0000, 0, 0x1111_2222, 0x2_0000, 7, 9, a, b, c, d],
    );
    request(
        DataOut {
            is_final: true,
            lun: Lun::new(3),
            task_tag: 1,
            transfer_tag: 2,
            exp_stat_sn: 3,
            data_sn: 4,
            offset: 5,
            data_len: 6,
        },
        [0x0580_0000, 6, 0x0003_0000, 0, 1, 2, 0, 3, 0, 4, 5, 0],
    );
    request(
        TaskRequest {
            immediate: true,
            function: TaskFunction::LogicalUnitReset,
            lun: Lun::new(300),
            task_tag: 1,
            referenced_tag: RESERVED_TAG,
            cmd_sn: 2,
            exp_stat_sn: 3,
            ref_cmd_sn: 4,
            exp_data_sn: 5,
        },
        [0x4285_0000, 0, 0x412c_0000, 0, 1, RESERVED_TAG, 2, 3, 4, 5, 0, 0],
    );
    request(
        Snack {
            kind: SnackType::DataAck,
            lun: Lun(1),
            task_tag: 1,
            transfer_tag: 2,
            exp_stat_sn: 3,
            begin: 4,
            run: 5,
        },
        [0x1082_0000, 0, 0, 1, 1, 2, 0, 3, 0, 0, 4, 5],
    );
}

#[test]
fn connection_requests() {
    request(
        NopOut {
            immediate: true,
            lun: Lun::new(0),
            task_tag: RESERVED_TAG,
            transfer_tag: 8,
            cmd_sn: 1,
            exp_stat_sn: 2,
            data_len: 3,
        },
        [0x4080_0000, 3, 0, 0, RESERVED_TAG, 8, 1, 2, 0, 0, 0, 0],
    );
    request(
        LoginRequest {
            goes_on: false,
            stage: Stage::Operational,
            next: Some(Stage::FullFeature),
            version_max: 0,
            version_min: 0,
            isid: Isid([0x80, 1, 2, 3, 4, 5]),
            tsih: 0x0607,
            task_tag: 9,
            cid: 1,
            cmd_sn: 10,
            exp_stat_sn: 11,
            data_len: 12,
        },
        [0x4387_0000, 12, 0x8001_0203, 0x0405_0607, 9, 0x0001_0000, 10, 11, 0, 0, 0, 0],
    );
    request(
        TextRequest {
            immediate: false,
            is_final: false,
            goes_on: true,
            lun: Lun(0),
            task_tag: 1,
            transfer_tag: RESERVED_TAG,
            cmd_sn: 2,
            exp_stat_sn: 3,
            data_len: 4,
        },
        [0x0440_0000, 4, 0, 0, 1, RESERVED_TAG, 2, 3, 0, 0, 0, 0],
    );
    request(
        LogoutRequest {
            immediate: true,
            reason: LogoutReason::RemoveForRecovery,
            task_tag: 1,
            cid: 2,
            cmd_sn: 3,
            exp_stat_sn: 4,
        },
        [0x4682_0000, 0, 0, 0, 1, 0x0002_0000, 3, 4, 0, 0, 0, 0],
    );
}

#[test]
fn command_and_data_responses() {
    response(
        ScsiResponse {
            response: ServiceResponse::Completed,
            status: 2,
            task_tag: 1,
            snack_tag: 2,
            sequence: SEQUENCE,
            exp_data_sn: 3,
            read_residual: Residual::Overflow(4),
            residual: Residual::Underflow(5),
            data_len: 6,
        },
        [0x2192_0002, 6, 0, 0, 1, 2, 0x51, 0x52, 0x53, 3, 4, 5],
    );
    let data = DataIn {
        is_final: true,
        acknowledge: false,
        status: Some(DataInStatus { status: 0, residual: Residual::Overflow(7) }),
        lun: Lun(0),
        task_tag: 1,
        transfer_tag: RESERVED_TAG,
        sequence: SEQUENCE,
        data_sn: 2,
        offset: 3,
        data_len: 4,
    };
    response(data, [0x2585_0000, 4, 0, 0, 1, RESERVED_TAG, 0x51, 0x52, 0x53, 2, 3, 7]);
    let data = DataIn { is_final: false, acknowledge: true, status: None, transfer_tag: 9, ..data };
    response(data, [0x2540_0000, 4, 0, 0, 1, 9, 0x51, 0x52, 0x53, 2, 3, 0]);
    response(
        R2t {
            lun: Lun::new(1),
            task_tag: 1,
            transfer_tag: 2,
            sequence: SEQUENCE,
            r2t_sn: 3,
            offset: 4,
            desired_len: 5,
        },
        [0x3180_0000, 0, 0x0001_0000, 0, 1, 2, 0x51, 0x52, 0x53, 3, 4, 5],
    );
    response(
        TaskResponse { outcome: TaskOutcome::Rejected, task_tag: 1, sequence: SEQUENCE },
        [0x2280_ff00, 0, 0, 0, 1, 0, 0x51, 0x52, 0x53, 0, 0, 0],
    );
    response(
        Reject {
            reason: RejectReason::ProtocolError,
            sequence: SEQUENCE,
            data_sn: 1,
            data_len: 48,
        },
        [0x3f80_0400, 48, 0, 0, RESERVED_TAG, 0, 0x51, 0x52, 0x53, 1, 0, 0],
    );
}

#[test]
fn connection_responses() {
    response(
        NopIn {
            lun: Lun::new(2),
            task_tag: RESERVED_TAG,
            transfer_tag: 2,
            sequence: SEQUENCE,
            data_len: 3,
        },
        [0x2080_0000, 3, 0x0002_0000, 0, RESERVED_TAG, 2, 0x51, 0x52, 0x53, 0, 0, 0],
    );
    response(
        LoginResponse {
            goes_on: false,
            stage: Stage::Security,
            next: None,
            version_max: 0,
            version_active: 0,
            isid: Isid([0, 2, 0x3d, 0, 0, 1]),
            tsih: 0,
            task_tag: 1,
            sequence: SEQUENCE,
            status: LoginStatus::AUTHENTICATION_FAILURE,
            data_len: 0,
        },
        [0x2300_0000, 0, 0x0002_3d00, 0x0001_0000, 1, 0, 0x51, 0x52, 0x53, 0x0201_0000, 0, 0],
    );
    response(
        TextResponse {
            is_final: true,
            goes_on: false,
            lun: Lun(0),
            task_tag: 1,
            transfer_tag: RESERVED_TAG,
            sequence: SEQUENCE,
            data_len: 2,
        },
        [0x2480_0000, 2, 0, 0, 1, RESERVED_TAG, 0x51, 0x52, 0x53, 0, 0, 0],
    );
    response(
        LogoutResponse {
            outcome: LogoutOutcome::NoConnection,
            task_tag: 1,
            sequence: SEQUENCE,
            time2wait: 2,
            time2retain: 20,
        },
        [0x2680_0100, 0, 0, 0, 1, 0, 0x51, 0x52, 0x53, 0, 0x0002_0014, 0],
    );
    response(
        AsyncMessage {
            event: AsyncEvent::DropConnection,
            lun: Lun(0),
            sequence: SEQUENCE,
            vendor_code: 0,
            parameters: [1, 2, 3],
            data_len: 0,
        },
        [0x3280_0000, 0, 0, 0, RESERVED_TAG, 0, 0x51, 0x52, 0x53, 0x0200_0001, 0x0002_0003, 0],
    );
}

/// RFC 3720, appendix B.4: bytes in wire order.
#[test]
fn digests() {
    let rising: Vec<u8> = (0..32).collect();
    let falling: Vec<u8> = (0..32).rev().collect();
    let command =
        bhs([0x01c0_0000, 0, 0, 0, 0x1400_0000, 0x400, 0x14, 0x18, 0x2800_0000, 0, 0x0200_0000, 0]);
    for (bytes, digest) in [
        (&[0; 32][..], [0xaa, 0x36, 0x91, 0x8a]),
        (&[0xff; 32], [0x43, 0xab, 0xa8, 0x62]),
        (&rising, [0x4e, 0x79, 0xdd, 0x46]),
        (&falling, [0x5c, 0xdb, 0x3f, 0x11]),
        (&command, [0x56, 0x3a, 0x96, 0xd9]),
    ] {
        assert_eq!(digest::of(bytes), digest);
        let (head, tail) = bytes.split_at(13);
        assert_eq!(digest::RunningDigest::default().and(head).and(tail).bytes(), digest);
    }
    assert_eq!(digest::seal(&command)[48..], [0x56, 0x3a, 0x96, 0xd9]);
}

#[test]
fn lengths_and_padding() {
    let mut header = [0; 48];
    header[4..8].copy_from_slice(&[2, 0, 0, 5]);
    let lengths = Lengths::of(&header);
    assert_eq!(lengths, Lengths { ahs: 8, data: 5 });
    for (digests, total) in
        [((false, false), 64), ((true, false), 68), ((false, true), 68), ((true, true), 72)]
    {
        assert_eq!(lengths.total(digests.0, digests.1), total);
    }
    // No data, no digest of data.
    assert_eq!(Lengths { ahs: 0, data: 0 }.total(true, true), 52);
    assert_eq!([0, 1, 2, 3, 4, 5].map(pad), [0, 3, 2, 1, 0, 3]);
}

#[test]
fn logical_unit_numbers() {
    for (number, wire) in
        [(0, 0), (1, 1 << 48), (255, 255 << 48), (256, 0x4100 << 48), (0x3fff, 0x7fff << 48)]
    {
        assert_eq!(Lun::new(number), Lun(wire));
        assert_eq!(Lun(wire).number(), Some(number));
    }
    // Flat addressing of a small number is equivalent.
    assert_eq!(Lun(0x4001 << 48).number(), Some(1));
    // Unsupported: another bus, another level, logical unit and extended addressing.
    for foreign in [0x0101 << 48, 1 << 48 | 1 << 32, 0x8001 << 48, 0xc101 << 48, 1] {
        assert_eq!(Lun(foreign).number(), None, "{foreign:#x}");
    }
}

#[test]
fn serial_numbers_wrap() {
    assert!(precedes(1, 2) && precedes(u32::MAX, 0) && precedes(0, 0x7fff_ffff));
    assert!(!precedes(2, 1) && !precedes(0, u32::MAX) && !precedes(5, 5));
}
