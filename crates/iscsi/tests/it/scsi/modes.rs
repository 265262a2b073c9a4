//! MODE SENSE and MODE SELECT, START STOP UNIT, and other commands to the unit as a whole.

use iscsi::scsi::{BlockRange, Medium};

use crate::scsi::rig::{
    LARGE, READ_ONLY, Rig, THIN, bytes, code, field, good, medium, refused, reply,
};

const CONTROL: &str = "0a 0a 00 10 00 00 00 00 ff ff 00 00";

#[test]
fn headers_and_block_descriptors() {
    let rig = Rig::new();
    let six = reply(rig.run("1a 00 3f 00 ff 00"));
    assert_eq!(usize::from(six[0]), six.len() - 1);
    assert_eq!(six[2..12], [0x10, 8, 0, 2, 0, 0, 0, 0, 2, 0]);
    let bare = reply(rig.run("1a 08 3f 00 ff 00"));
    assert_eq!((bare[3], &bare[4..]), (0, &six[12..]));
    let long = reply(rig.run("5a 10 3f 00 00 00 00 0400 00"));
    assert_eq!(usize::from(u16::from_be_bytes([long[0], long[1]])), long.len() - 2);
    assert_eq!(long[2..24], bytes("00 10 01 00 0010 0000000000020000 00000000 00000200")[..]);
    assert_eq!(long[24..], six[12..]);
    let short = reply(rig.run("5a 00 3f ff 00 00 00 0400 00"));
    assert_eq!((short[4], short[7]), (0, 8));
    assert_eq!(reply(rig.on(READ_ONLY, &rig.a, "1a 00 3f 00 ff 00", &[]))[2], 0x90);
    for length in 0..64_usize {
        assert_eq!(
            reply(rig.run(&format!("1a 00 3f 00 {length:02x} 00"))).len(),
            length.min(six.len())
        );
    }
}

#[test]
fn pages_and_their_values() {
    let rig = Rig::new();
    let page = |cdb: &str| reply(rig.run(cdb))[4..].to_vec();
    assert_eq!(page("1a 08 0a 00 ff 00"), bytes(CONTROL));
    assert_eq!(
        page("1a 08 4a 00 ff 00"),
        bytes("0a 0a 04 00 08 40 00 00 00 00 00 00"),
        "changeable"
    );
    assert_eq!(page("1a 08 48 00 ff 00")[..4], [0x08, 0x12, 0x04, 0]);
    assert_eq!(page("1a 08 08 00 ff 00")[2], 0x04, "the write cache is on");
    assert_eq!(reply(rig.on(LARGE, &rig.a, "1a 08 08 00 ff 00", &[]))[6], 0, "and here off");
    let all = page("1a 08 3f 00 ff 00");
    let (mut at, mut codes) = (0, Vec::new());
    while at < all.len() {
        codes.push(all[at]);
        at += 2 + usize::from(all[at + 1]);
    }
    assert_eq!(codes, [0x01, 0x08, 0x0a, 0x1c]);
    refused(rig.run("1a 08 ff 00 ff 00"), 0x3900);
    refused(rig.run("1a 08 05 00 ff 00"), 0x2400);
    refused(rig.run("1a 08 0a 01 ff 00"), 0x2400);
}

#[test]
fn software_write_protection() {
    let rig = Rig::new();
    let protect = bytes("00 00 00 00 0a 0a 00 10 08 00 00 00 ff ff 00 00");
    good(rig.with("15 10 00 00 10 00", &protect));
    refused(rig.run("2a 00 00000000 00 0001 00"), 0x2702);
    medium(rig.run("28 00 00000000 00 0001 00"));
    assert_eq!(reply(rig.run("1a 08 0a 00 ff 00"))[2], 0x90);
    assert_eq!(reply(rig.run("1a 08 8a 00 ff 00"))[8], 0, "by default nothing is protected");
    refused(rig.on(THIN, &rig.b, "00", &[]), 0x2a01);
    refused(rig.on(THIN, &rig.b, "2a 00 00000000 00 0001 00", &[]), 0x2702);
    rig.device.unit(THIN).unwrap().reset(iscsi::scsi::UnitAttention::DeviceReset);
    refused(rig.run("00"), 0x2903);
    medium(rig.run("2a 00 00000000 00 0001 00"));
}

#[test]
fn the_view_follows_the_pages() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    let before = unit.view(&rig.a);
    assert!(!before.write_through && !before.descriptor_sense && !before.task_aborted);
    let list = bytes(
        "0000 00 00 00 00 0000 0a 0a 04 10 00 40 00 00 ff ff 00 00
         08 12 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00 00",
    );
    good(rig.with("55 10 00 00 00 00 00 0028 00", &list));
    assert_ne!(unit.generation(), before.generation);
    let after = unit.view(&rig.a);
    assert!(after.write_through && after.descriptor_sense && after.task_aborted);
    let write = medium(rig.run("2a 00 00000000 00 0001 00"));
    assert_eq!(write, Medium::Write { to: BlockRange { lba: 0, blocks: 1 }, durable: true });
}

#[test]
fn equal_values_change_nothing() {
    let rig = Rig::new();
    let list = bytes(&format!("00 00 00 00 {CONTROL}"));
    good(rig.with("15 10 00 00 10 00", &list));
    good(rig.on(THIN, &rig.b, "00", &[]));
}

#[test]
fn invalid_lists_change_nothing() {
    let rig = Rig::new();
    let generation = rig.device.unit(THIN).unwrap().generation();
    for (list, sense, at) in [
        ("00 00 00 00 0a 0a 00 10 08 00 00 00 ff ff 00", 0x1a00, None),
        ("00 00 00 08", 0x1a00, None),
        ("00 00", 0x1a00, None),
        ("00 00 00 00 0a 09 00 10 08 00 00 00 ff ff 00", 0x2600, Some(5)),
        ("00 00 00 00 05 0a 00 10 08 00 00 00 ff ff 00 00", 0x2600, Some(4)),
        ("00 00 00 00 4a 0a 00 10 08 00 00 00 ff ff 00 00", 0x2600, Some(4)),
        ("00 00 00 00 0a 0a 00 10 08 80 00 00 ff ff 00 00", 0x2600, Some(9)),
        ("00 00 00 00 0a 0a 00 10 08 00 00 00 ff ff 00 00 0a", 0x1a00, None),
        ("00 00 00 08 00020000 00001000", 0x2600, Some(4)),
        ("00 00 00 08 00020001 00000200", 0x2600, Some(4)),
        ("00 00 00 04 00020000", 0x2600, Some(4)),
    ] {
        let list = bytes(list);
        let action = rig.with(&format!("15 10 00 00 {:02x} 00", list.len()), &list);
        assert_eq!(field(&action), at.map(|at| (false, at)), "{list:x?}");
        refused(action, sense);
    }
    refused(rig.with("15 10 00 00 10 00", &[0; 4]), 0x1a00);
    refused(rig.with("15 11 00 00 10 00", &[0; 16]), 0x2400);
    refused(rig.with("15 00 00 00 10 00", &[0; 16]), 0x2400);
    good(rig.run("15 10 00 00 00 00"));
    good(rig.with("15 10 00 00 0c 00", &bytes("00 00 00 08 00020000 00000200")));
    good(rig.with(
        "55 10 00 00 00 00 00 0018 00",
        &bytes("0000 00 00 01 00 0010 ffffffffffffffff 00000000 00000200"),
    ));
    assert_eq!(rig.device.unit(THIN).unwrap().generation(), generation);
}

#[test]
fn a_stopped_unit_transfers_nothing_until_it_starts() {
    let rig = Rig::new();
    assert_eq!(medium(rig.run("1b 00 00 00 00 00")), Medium::Sync(BlockRange::default()));
    for cdb in ["00", "28 00 00000000 00 0001 00", "2a 00 00000000 00 0001 00"] {
        refused(rig.on(THIN, &rig.b, cdb, &[]), 0x0402);
    }
    assert!(!rig.device.unit(THIN).unwrap().view(&rig.b).reads);
    for cdb in ["12 00 00 00 24 00", "25", "1a 00 3f 00 ff 00"] {
        reply(rig.run(cdb));
    }
    good(rig.on(THIN, &rig.b, "1b 00 00 00 01 00", &[]));
    good(rig.run("00"));
    good(rig.run("1b 00 00 00 04 00"));
    refused(rig.run("00"), 0x0402);
    good(rig.run("1b 00 00 00 10 00"));
    good(rig.run("00"));
    refused(rig.run("1b 00 00 00 02 00"), 0x2400);
    refused(rig.run("1b 00 00 00 20 00"), 0x2400);
}

#[test]
fn minor_commands() {
    let rig = Rig::new();
    good(rig.run("1e 00 00 00 01 00"));
    good(rig.run("1e 00 00 00 00 00"));
    assert_eq!(reply(rig.run("37 00 18 00 00 00 00 0020 00")), [0, 0x18, 0, 0]);
    assert_eq!(reply(rig.run("b7 18 00000000 00000020 00 00")), [0, 0x18, 0, 0, 0, 0, 0, 0]);
    assert_eq!(reply(rig.run("4d 00 40 00 00 0000 00ff 00")), [0, 0, 0, 2, 0x00, 0x2f]);
    assert_eq!(reply(rig.run("4d 00 6f 00 00 0000 00ff 00"))[..4], [0x2f, 0, 0, 8]);
    assert_eq!(code(&rig.run("4d 00 41 00 00 0000 00ff 00")), Some(0x2400));
}
