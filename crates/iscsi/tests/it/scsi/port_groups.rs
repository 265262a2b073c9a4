//! Target port groups: reports, changes, and the commands that each state allows.

use iscsi::scsi::PortState;

use crate::scsi::rig::{Rig, THIN, bytes, field, good, medium, refused, reply};

const REPORT: &str = "a3 0a 00 00 00 00 00000100 00 00";

fn set(rig: &Rig, list: &str) -> iscsi::scsi::Action {
    let list = bytes(list);
    rig.with(&format!("a4 0a 00 00 00 00 {:08x} 00 00", list.len()), &list)
}

#[test]
fn groups_are_reported_in_two_formats() {
    let rig = Rig::new();
    let groups = "00 0f 0001 00 00 00 01 0000 0001 00 0f 0002 00 00 00 01 0000 0002";
    assert_eq!(reply(rig.run(REPORT)), bytes(&format!("00000018 {groups}")));
    let extended = reply(rig.run("a3 2a 00 00 00 00 00000100 00 00"));
    assert_eq!(extended, bytes(&format!("0000001c 10 00 0000 {groups}")));
    assert_eq!(reply(rig.run("a3 0a 00 00 00 00 00000004 00 00")), [0, 0, 0, 24]);
    refused(rig.run("a3 4a 00 00 00 00 00000100 00 00"), 0x2400);
}

#[test]
fn a_change_is_reported_to_all_others() {
    let rig = Rig::new();
    good(set(&rig, "00000000 01 00 0002"));
    assert_eq!(reply(rig.run(REPORT))[16..22], [1, 0x0f, 0, 2, 0, 1]);
    refused(rig.on(THIN, &rig.b, "00", &[]), 0x2a06);
    good(rig.on(THIN, &rig.b, "00", &[]));
    good(rig.run("00"));
    assert!(rig.device.unit(THIN).unwrap().set_port(1, PortState::ActiveNonOptimized));
    assert!(!rig.device.unit(THIN).unwrap().set_port(3, PortState::Standby));
    refused(rig.run("00"), 0x2a06);
    assert_eq!(reply(rig.run(REPORT))[9], 2, "the administrator did it");
}

#[test]
fn states_decide_which_commands_are_allowed() {
    for (state, port, refusal) in [(2, "02", 0x040b), (3, "03", 0x040c)] {
        let rig = Rig::new();
        good(set(&rig, &format!("00000000 {port} 00 0002")));
        refused(rig.on(THIN, &rig.b, "00", &[]), 0x2a06);
        for cdb in ["00", "28 00 00000000 00 0001 00", "2a 00 00000000 00 0001 00", "25", "16"] {
            refused(rig.on(THIN, &rig.b, cdb, &[]), refusal);
        }
        let view = rig.device.unit(THIN).unwrap().view(&rig.b);
        assert!(!view.reads && !view.writes);
        for cdb in [REPORT, "12 00 00 00 24 00", "a0 00 00 000000 00000100", "03 00 00 00 12"] {
            reply(rig.on(THIN, &rig.b, cdb, &[]));
        }
        let settings = rig.on(THIN, &rig.b, "1a 00 3f 00 ff 00", &[]);
        if state == 2 {
            reply(settings);
        } else {
            refused(settings, refusal);
        }
        medium(rig.run("28 00 00000000 00 0001 00"));
    }
}

#[test]
fn invalid_lists_change_nothing() {
    let rig = Rig::new();
    for (list, at) in [
        ("00000000 00 00 0009", 6),
        ("00000000 05 00 0001", 4),
        ("00000000 01 00 0001 0e 00 0002", 8),
    ] {
        let action = set(&rig, list);
        assert_eq!(field(&action), Some((false, at)));
        refused(action, 0x2600);
    }
    refused(set(&rig, "00000000 0000"), 0x1a00);
    refused(set(&rig, "0000"), 0x1a00);
    refused(set(&rig, "00000000 00000001 00000001 00000001"), 0x1a00);
    refused(rig.with("a4 0a 00 00 00 00 00000008 00 00", &[0; 4]), 0x1a00);
    good(rig.run("a4 0a 00 00 00 00 00000000 00 00"));
    good(set(&rig, "00000000"));
    good(rig.on(THIN, &rig.b, "00", &[]));
}
