//! PERSISTENT RESERVE IN and OUT, RESERVE and RELEASE, and reservations across a restart.

use iscsi::scsi::{Action, Device, Nexus, StoredReservationsError};

use crate::scsi::rig::{
    Rig, THICK, THIN, bytes, conflict, description, field, good, medium, refused, reply,
};

/// A parameter list of PERSISTENT RESERVE OUT.
fn list(key: u64, service_key: u64, flags: u8) -> Vec<u8> {
    let mut list = key.to_be_bytes().to_vec();
    list.extend(service_key.to_be_bytes());
    list.extend([0, 0, 0, 0, flags, 0, 0, 0]);
    list
}

fn out(rig: &Rig, nexus: &Nexus, action: u8, kind: u8, list: &[u8]) -> Action {
    rig.on(THIN, nexus, &format!("5f {action:02x} {kind:02x} 00 00 {:08x} 00", list.len()), list)
}

fn query(rig: &Rig, action: u8) -> Vec<u8> {
    reply(rig.on(THIN, &rig.a, &format!("5e {action:02x} 00 00 00 00 00 4000 00"), &[]))
}

#[track_caller]
fn register(rig: &Rig, nexus: &Nexus, key: u64) {
    good(out(rig, nexus, 6, 0, &list(0, key, 0)));
}

#[test]
fn keys_are_read_whatever_the_allocation_length() {
    let rig = Rig::new();
    assert_eq!(query(&rig, 0), [0; 8]);
    register(&rig, &rig.a, 0xa);
    register(&rig, &rig.b, 0xb);
    let keys = query(&rig, 0);
    assert_eq!(keys, bytes("00000002 00000010 000000000000000a 000000000000000b"));
    let cut = reply(rig.run("5e 00 00 00 00 00 00 0008 00"));
    assert_eq!(cut, keys[..8]);
    for action in 4..0x20 {
        refused(rig.run(&format!("5e {action:02x} 00 00 00 00 00 4000 00")), 0x2400);
    }
}

#[test]
fn capabilities_report_persistence() {
    let rig = Rig::new();
    assert_eq!(query(&rig, 2), [0, 8, 0x1d, 0x80, 0xea, 1, 0, 0]);
    let device = Device::new(
        "iqn.x",
        &[1],
        vec![iscsi::scsi::UnitDescription { keeps_reservations: false, ..description("x") }],
    );
    let nexus = Nexus::new("iqn.a", [0; 6], 1);
    let cdb = crate::scsi::rig::parse("5e 02 00 00 00 00 00 4000 00");
    assert_eq!(reply(device.begin(0, &nexus, &cdb, 0))[2] & 1, 0);
    let cdb = crate::scsi::rig::parse("5f 00 00 00 00 00000018 00");
    let refusal = device.parameters(0, &nexus, &cdb, &list(0, 5, 1));
    assert_eq!(field(&refusal), Some((false, 20)));
}

#[test]
fn full_status_names_initiator_ports() {
    let rig = Rig::new();
    register(&rig, &rig.a, 0xa);
    good(out(&rig, &rig.a, 1, 3, &list(0xa, 0, 0)));
    let status = query(&rig, 3);
    assert_eq!(status[8..16], 0xa_u64.to_be_bytes());
    assert_eq!(status[20..22], [1, 3], "it holds exclusive access");
    assert_eq!(status[26..28], [0, 1], "through port 1");
    let length = usize::from(status[31]);
    let id = &status[32..32 + length];
    assert_eq!((id[0], usize::from(id[3])), (0x45, length - 4));
    assert!(
        length.is_multiple_of(4)
            && id[4..].starts_with(b"iqn.2026-01.example:a,i,0x400000000001\0")
    );
}

#[test]
fn lists_of_the_wrong_length() {
    let rig = Rig::new();
    for length in [0_usize, 8, 23, 25, 28, 8193, 1 << 30] {
        let cdb = format!("5f 00 00 00 00 {length:08x} 00");
        refused(rig.with(&cdb, &vec![0; length.min(64)]), 0x1a00);
    }
    refused(rig.with("5f 00 00 00 00 00000018 00", &[0; 12]), 0x1a00);
}

#[test]
fn additional_initiator_ports_are_registered_too() {
    let rig = Rig::new();
    let mut other = b"iqn.2026-01.example:B,i,0x400000000002".to_vec();
    other.resize(40, 0);
    let mut list = list(0, 7, 0x08);
    list.extend([0, 0, 0, 44, 0x45, 0, 0, 40]);
    list.extend(&other);
    good(out(&rig, &rig.a, 0, 0, &list));
    let keys = query(&rig, 0);
    assert_eq!(keys[7], 16, "two registrations");
    // Its name is compared in lower case, and its target port is the one that received the command.
    let through = Nexus::new("iqn.2026-01.example:b", [0x40, 0, 0, 0, 0, 2], 1);
    rig.join(&through);
    good(out(&rig, &through, 1, 1, &self::list(7, 0, 0)));
    refused(
        out(&rig, &rig.a, 0, 0, &{
            let mut l = list.clone();
            l[7] = 7;
            l
        }),
        0x2600,
    );
    list[27] = 45;
    refused(out(&rig, &rig.b, 0, 0, &list), 0x1a00);
    list[27] = 44;
    list[28] = 0x05;
    refused(out(&rig, &rig.b, 0, 0, &list), 0x2600);
    refused(out(&rig, &rig.b, 6, 0, &list), 0x2600);
}

#[test]
fn all_target_ports() {
    let rig = Rig::new();
    good(out(&rig, &rig.a, 6, 0, &list(0, 9, 0x04)));
    let status = query(&rig, 3);
    assert_eq!(status[7], 2 * (24 + 44));
    assert_eq!(status[20] & 2, 2);
    let twin = Nexus { port: 2, ..rig.a.clone() };
    rig.join(&twin);
    good(out(&rig, &twin, 1, 3, &list(9, 0, 0)));
    good(out(&rig, &twin, 0, 0, &list(9, 0, 0x04)));
    assert_eq!(query(&rig, 0)[4..], [0, 0, 0, 0]);
}

#[test]
fn moving_a_reservation() {
    let rig = Rig::new();
    register(&rig, &rig.a, 0xa);
    let mut list = 0xa_u64.to_be_bytes().to_vec();
    list.extend(0xb_u64.to_be_bytes());
    list.extend([0, 2, 0, 2, 0, 0, 0, 44, 0x45, 0, 0, 40]);
    let mut name = rig.b.initiator.as_bytes().to_vec();
    name.resize(40, 0);
    list.extend(name);
    conflict(out(&rig, &rig.a, 7, 0, &list));
    good(out(&rig, &rig.a, 1, 1, &self::list(0xa, 0, 0)));
    let mut nowhere = list.clone();
    nowhere[19] = 7;
    refused(out(&rig, &rig.a, 7, 0, &nowhere), 0x2600);
    good(out(&rig, &rig.a, 7, 0, &list));
    assert_eq!(
        query(&rig, 0)[4..],
        bytes("00000008 000000000000000b"),
        "the old holder is unregistered"
    );
    conflict(rig.run("2a 00 00000000 00 0001 00"));
    medium(rig.on(THIN, &rig.b, "2a 00 00000000 00 0001 00", &[]));
}

#[test]
fn preempt_and_abort_names_the_victims() {
    let rig = Rig::new();
    register(&rig, &rig.a, 0xa);
    register(&rig, &rig.b, 0xb);
    good(out(&rig, &rig.b, 1, 3, &list(0xb, 0, 0)));
    let action = out(&rig, &rig.a, 5, 1, &list(0xa, 0xb, 0));
    assert_eq!(action, Action::Reserved { keep: false, abort: vec![rig.b.clone()] });
    refused(rig.on(THIN, &rig.b, "00", &[]), 0x2a05);
    conflict(rig.on(THIN, &rig.b, "2a 00 00000000 00 0001 00", &[]));
    medium(rig.on(THIN, &rig.b, "28 00 00000000 00 0001 00", &[]));
}

#[test]
fn reservations_outlive_sessions_and_resets() {
    let rig = Rig::new();
    register(&rig, &rig.a, 0xa);
    good(out(&rig, &rig.a, 1, 3, &list(0xa, 0, 0)));
    rig.device.leave(&rig.a);
    rig.device.reset();
    refused(rig.on(THIN, &rig.b, "00", &[]), 0x2902);
    conflict(rig.on(THIN, &rig.b, "28 00 00000000 00 0001 00", &[]));
    rig.device.join(&rig.a);
    refused(rig.run("00"), 0x2900);
    medium(rig.run("28 00 00000000 00 0001 00"));
}

#[test]
fn aptpl_reservations_survive_a_restart() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    assert_eq!(unit.stored_reservations(), []);
    register(&rig, &rig.b, 0xb);
    assert_eq!(unit.stored_reservations(), []);
    let kept = Action::Reserved { keep: true, abort: vec![] };
    assert_eq!(out(&rig, &rig.a, 6, 0, &list(0, 0xa, 1)), kept);
    assert_eq!(out(&rig, &rig.a, 1, 8, &list(0xa, 0, 0)), kept);
    let bytes = unit.stored_reservations();
    let again = Rig::new();
    again.device.unit(THIN).unwrap().restore(&bytes).unwrap();
    assert_eq!(query(&again, 0)[4..], query(&rig, 0)[4..]);
    assert_eq!(query(&again, 1)[8..], query(&rig, 1)[8..]);
    assert_eq!(query(&again, 3)[8..], query(&rig, 3)[8..]);
    assert_eq!(again.device.unit(THIN).unwrap().stored_reservations(), bytes);
    let stranger = Nexus::new("iqn.c", [0; 6], 1);
    again.join_thin(&stranger);
    conflict(again.on(THIN, &stranger, "28 00 00000000 00 0001 00", &[]));
    assert_eq!(out(&rig, &rig.a, 0, 0, &list(0xa, 0xc, 0)), kept, "to be forgotten");
    assert_eq!(unit.stored_reservations(), []);
}

#[test]
fn damaged_bytes_are_refused_whole() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    out(&rig, &rig.a, 6, 0, &list(0, 0xa, 1));
    out(&rig, &rig.b, 6, 0, &list(0, 0xb, 1));
    out(&rig, &rig.a, 1, 1, &list(0xa, 0, 0));
    let bytes = unit.stored_reservations();
    let other = Rig::new();
    let fresh = other.device.unit(THIN).unwrap();
    for cut in 1..bytes.len() {
        assert!(fresh.restore(&bytes[..cut]).is_err(), "{cut}");
    }
    assert_eq!(fresh.restore(b"hello"), Err(StoredReservationsError::Foreign));
    let mut long = bytes.clone();
    long.push(0);
    assert_eq!(fresh.restore(&long), Err(StoredReservationsError::Damaged(bytes.len())));
    assert_eq!(fresh.stored_reservations(), []);
    fresh.restore(&[]).unwrap();
    fresh.restore(&bytes).unwrap();
}

#[test]
fn registrations_are_bounded() {
    let rig = Rig::new();
    for index in 0..1024_u32 {
        let [_, b, c, d] = index.to_be_bytes();
        let nexus = Nexus::new("iqn.many", [0, 0, 0, b, c, d], 1);
        good(out(&rig, &nexus, 6, 0, &list(0, 1 + u64::from(index), 0)));
    }
    refused(out(&rig, &rig.a, 6, 0, &list(0, 5, 0)), 0x5504);
}

#[test]
fn reserve_excludes_all_others() {
    let rig = Rig::new();
    let (a, b) = (&rig.a, &rig.b);
    for (reserve, release) in [("16 00 00 00 00 00", "17"), ("56 00 00 00 00 00 00 0000 00", "57")]
    {
        good(rig.on(THIN, a, reserve, &[]));
        good(rig.on(THIN, a, reserve, &[]));
        conflict(rig.on(THIN, b, reserve, &[]));
        good(rig.on(THIN, b, release, &[]));
        for cdb in [
            "00",
            "1a 00 3f 00 ff 00",
            "28 00 00000000 00 0001 00",
            "2a 00 00000000 00 0001 00",
            "5e",
        ] {
            conflict(rig.on(THIN, b, cdb, &[]));
        }
        conflict(rig.run("5e 00 00 00 00 00 00 0020 00"));
        for cdb in [
            "12 00 00 00 24 00",
            "a0 00 00 000000 00000100",
            "03 00 00 00 12",
            "4d 00 40 00 00 0000 0010",
        ] {
            reply(rig.on(THIN, b, cdb, &[]));
        }
        reply(rig.run("1a 00 3f 00 ff 00"));
        medium(rig.on(THICK, b, "28 00 00000000 00 0001 00", &[]));
        good(rig.on(THIN, a, release, &[]));
        good(rig.on(THIN, b, "00", &[]));
    }
}

#[test]
fn reserve_ends_with_session_and_reset() {
    let rig = Rig::new();
    good(rig.run("16"));
    rig.device.leave(&rig.a);
    good(rig.on(THIN, &rig.b, "16", &[]));
    rig.device.unit(THIN).unwrap().reset(iscsi::scsi::UnitAttention::DeviceReset);
    rig.device.join(&rig.a);
    refused(rig.run("16"), 0x2900);
    good(rig.run("16"));
}

#[test]
fn reserve_beside_persistent_reservations() {
    let rig = Rig::new();
    register(&rig, &rig.a, 0xa);
    conflict(rig.run("16"));
    conflict(rig.on(THIN, &rig.b, "16", &[]));
    good(out(&rig, &rig.a, 1, 5, &list(0xa, 0, 0)));
    good(rig.run("16"));
    conflict(rig.on(THIN, &rig.b, "17", &[]));
    register(&rig, &rig.b, 0xb);
    good(rig.on(THIN, &rig.b, "16", &[]));
    medium(rig.run("2a 00 00000000 00 0001 00"));
    good(out(&rig, &rig.a, 3, 0, &list(0xa, 0, 0)));
    refused(rig.on(THIN, &rig.b, "00", &[]), 0x2a03);
    good(rig.on(THIN, &rig.b, "16", &[]));
}
