//! SANITIZE from start to end, and the refusals in the meantime.

use iscsi::scsi::{Action, Medium, UnitAttention};

use crate::scsi::rig::{Rig, THICK, THIN, bytes, conflict, field, good, medium, refused, reply};

fn overwrite(rig: &Rig, list: &[u8]) -> Action {
    rig.with(&format!("48 01 00 00 00 00 00 {:04x} 00", list.len()), list)
}

#[track_caller]
fn busy(rig: &Rig, sense: u16) {
    for cdb in ["00", "28 00 00000000 00 0001 00", "2a 00 00000000 00 0001 00"] {
        refused(rig.on(THIN, &rig.b, cdb, &[]), sense);
    }
    for cdb in ["12 00 00 00 24 00", "a0 00 00 000000 00000100", "a3 0a 00 00 00 00 00000100"] {
        reply(rig.on(THIN, &rig.b, cdb, &[]));
    }
    let [code, qualifier] = sense.to_be_bytes();
    assert_eq!(reply(rig.run("03 00 00 00 12 00"))[12..14], [code, qualifier]);
}

#[test]
fn an_overwrite_continues_through_resets() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    let pattern = overwrite(&rig, &bytes("01 00 0004 deadbeef"));
    assert_eq!(medium(pattern), Medium::Sanitize { pattern: vec![0xde, 0xad, 0xbe, 0xef] });
    busy(&rig, 0x041b);
    refused(rig.run("1b 00 00 00 01 00"), 0x041b);
    refused(overwrite(&rig, &bytes("01 00 0004 deadbeef")), 0x041b);
    refused(rig.run("48 1f 00 00 00 00 00 0000 00"), 0x041b);
    unit.reset(UnitAttention::DeviceReset);
    refused(rig.on(THIN, &rig.b, "00", &[]), 0x2903);
    refused(rig.on(THIN, &rig.b, "00", &[]), 0x041b);
    unit.sanitized(true);
    good(rig.on(THIN, &rig.b, "00", &[]));
}

#[test]
fn a_block_erase_in_the_background() {
    let rig = Rig::new();
    let action = rig.run("48 82 00 00 00 00 00 0000 00");
    assert_eq!(action, Action::Background(Medium::Sanitize { pattern: vec![] }));
    busy(&rig, 0x041b);
    refused(rig.on(THICK, &rig.a, "48 02 00 00 00 00 00 0000 00", &[]), 0x2400);
}

#[test]
fn failure_mode_ends_by_another_sanitize_or_if_allowed() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    medium(rig.run("48 02 00 00 00 00 00 0000 00"));
    unit.sanitized(false);
    busy(&rig, 0x3103);
    refused(rig.run("48 1f 00 00 00 00 00 0000 00"), 0x2400);
    medium(rig.run("48 22 00 00 00 00 00 0000 00"));
    unit.sanitized(false);
    busy(&rig, 0x3103);
    good(rig.run("48 1f 00 00 00 00 00 0000 00"));
    good(rig.run("00"));
    good(rig.run("48 1f 00 00 00 00 00 0000 00"));
}

#[test]
fn invalid_parameters_are_refused() {
    let rig = Rig::new();
    for length in [0_usize, 1, 4, 517, 65_535] {
        let action = rig.with(&format!("48 01 00 00 00 00 00 {length:04x} 00"), &vec![0; length]);
        assert_eq!(field(&action), Some((true, 7)));
        refused(action, 0x2400);
    }
    for list in [
        "00 00 0004 00000000",
        "01 00 0000 00000000",
        "01 00 0005 00000000",
        "01 00 0003 00000000",
        "81 00 0004 00000000",
    ] {
        refused(overwrite(&rig, &bytes(list)), 0x2600);
    }
    refused(rig.with("48 01 00 00 00 00 00 0008 00", &[1, 0, 0]), 0x1a00);
    for cdb in [
        "48 02 00 00 00 00 00 0008 00",
        "48 1f 00 00 00 00 00 0008 00",
        "48 41 00",
        "48 03 00",
        "48 00 00",
        "48 02 01",
    ] {
        refused(rig.with(cdb, &[0; 8]), 0x2400);
    }
    good(rig.on(THIN, &rig.b, "16", &[]));
    conflict(overwrite(&rig, &bytes("01 00 0004 deadbeef")));
}
