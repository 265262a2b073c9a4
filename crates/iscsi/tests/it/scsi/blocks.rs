//! Block commands: requests to the volume, and refusals before it.

use iscsi::scsi::{Action, BlockRange, Medium, NexusView, quick};

use crate::scsi::rig::{
    BLOCKS, LARGE, READ_ONLY, Rig, THICK, THIN, bytes, field, good, medium, parse, refused, reply,
};

#[track_caller]
fn check(cdb: &str, wanted: Medium) {
    let rig = Rig::new();
    let block = vec![0; 512];
    assert_eq!(medium(rig.with(cdb, &block)), wanted, "{cdb}");
}

const fn at(lba: u64, blocks: u64) -> BlockRange {
    BlockRange { lba, blocks }
}

#[test]
fn reads_and_writes_of_every_length() {
    check("08 01 02 03 04 00", Medium::Read(at(0x1_0203, 4)));
    check("08 00 00 00 00 00", Medium::Read(at(0, 256)));
    check("28 00 00010000 00 0010 00", Medium::Read(at(0x1_0000, 16)));
    check("28 1a 00000000 3f 0001 00", Medium::Read(at(0, 1)));
    check("a8 00 00000005 00000007 00 00", Medium::Read(at(5, 7)));
    check("88 00 0000000000000005 00000007 00 00", Medium::Read(at(5, 7)));
    let write = |lba, blocks, durable| Medium::Write { to: at(lba, blocks), durable };
    check("0a 00 00 09 01 00", write(9, 1, false));
    check("2a 00 00000009 00 0001 00", write(9, 1, false));
    check("2a 08 00000009 00 0001 00", write(9, 1, true));
    check("2a 12 00000009 00 0001 00", write(9, 1, false));
    check("aa 08 00000009 00000001 00 00", write(9, 1, true));
    check("8a 00 0000000000000009 00000001 00 00", write(9, 1, false));
}

#[test]
fn checks_and_comparisons() {
    check("2f 00 00000001 00 0002 00", Medium::Verify(at(1, 2)));
    check("2f 12 00000001 00 0002 00", Medium::Compare { with: at(1, 2), one: false });
    check("af 06 00000001 00000002 00 00", Medium::Compare { with: at(1, 2), one: true });
    check("8f 02 0000000000000001 00000002 00 00", Medium::Compare { with: at(1, 2), one: false });
    check("2e 02 00000001 00 0002 00", Medium::WriteVerify { to: at(1, 2), compare: true });
    check("ae 10 00000001 00000002 00 00", Medium::WriteVerify { to: at(1, 2), compare: false });
    check(
        "8e 00 0000000000000001 00000002 00 00",
        Medium::WriteVerify { to: at(1, 2), compare: false },
    );
    check("8b 08 0000000000000001 00000002 00 00", Medium::Or { at: at(1, 2), durable: true });
    let rig = Rig::new();
    for cdb in
        ["2f 04 00000001 00 0002 00", "2e 04 00000001 00 0002 00", "2e 06 00000001 00 0002 00"]
    {
        let action = rig.run(cdb);
        assert_eq!(field(&action), Some((true, 1)));
        refused(action, 0x2400);
    }
}

#[test]
fn the_cache_and_provisioning() {
    check("35 00 00000000 00 0000 00", Medium::Sync(at(0, 0)));
    check("91 04 0000000000000008 00000010 00 00", Medium::Sync(at(8, 16)));
    check("34 02 00000000 03 0000 00", Medium::Prefetch(at(0, BLOCKS)));
    check("90 00 0000000000000004 00000001 00 00", Medium::Prefetch(at(4, 1)));
    check("9e 12 0000000000000007 00000018 00 00", Medium::LbaStatus { lba: 7, len: 24 });
    let same = |to, zero, unmap| Medium::Same { to, zero, unmap, durable: false };
    check("41 00 00000003 00 0002 00", same(at(3, 2), false, false));
    check("41 08 00000003 00 0002 00", same(at(3, 2), false, true));
    check("93 09 0000000000000003 00000002 00 00", same(at(3, 2), true, true));
    check("41 00 0001fff0 00 0000 00", same(at(BLOCKS - 16, 16), false, false));
    let rig = Rig::new();
    let immediate = rig.run("35 02 00000000 00 0000 00");
    assert_eq!(immediate, Action::Background(Medium::Sync(at(0, 0))));
}

#[test]
fn extents_stay_within_the_volume() {
    let rig = Rig::new();
    let last = BLOCKS - 1;
    let codes10 = ["28", "2a", "2e", "2f", "34", "35", "41"];
    for code in codes10 {
        for (lba, blocks) in
            [(last, 2), (BLOCKS + 1, 0), (BLOCKS, 1), (0x8000_0000, 0), (u64::from(u32::MAX), 1)]
        {
            let cdb = format!("{code} 00 {lba:08x} 00 {blocks:04x} 00");
            refused(rig.with(&cdb, &[0; 512]), 0x2100);
        }
    }
    for code in ["88", "8a", "8b", "8e", "8f", "90", "91", "93"] {
        for (lba, blocks) in
            [(last, 2), (BLOCKS + 1, 0), (1 << 63, 0), (u64::MAX, 0), (u64::MAX, u32::MAX)]
        {
            let cdb = format!("{code} 00 {lba:016x} {blocks:08x} 00 00");
            refused(rig.with(&cdb, &[0; 512]), 0x2100);
        }
    }
    for code in ["a8", "aa", "ae", "af"] {
        refused(rig.run(&format!("{code} 00 ffffffff ffffffff 00 00")), 0x2100);
    }
    refused(rig.run(&format!("89 00 {last:016x} 000000 02 00 00")), 0x2100);
    refused(rig.run(&format!("9e 12 {BLOCKS:016x} 00000018 00 00")), 0x2100);
}

#[test]
fn zero_blocks_are_allowed() {
    check("28 00 00000000 00 0000 00", Medium::Read(at(0, 0)));
    check("88 00 0000000000020000 00000000 00 00", Medium::Read(at(BLOCKS, 0)));
    check("8a 00 0000000000000000 00000000 00 00", Medium::Write { to: at(0, 0), durable: false });
    check("2f 06 00000000 00 0000 00", Medium::Verify(at(0, 0)));
    let rig = Rig::new();
    good(rig.run("89 00 0000000000000000 000000 00 00 00"));
}

#[test]
fn protection_information_is_refused_everywhere() {
    let rig = Rig::new();
    for protect in 1..8_u8 {
        let flags = protect << 5;
        let ten = ["28", "2a", "2e", "2f", "41"]
            .map(|code| format!("{code} {flags:02x} 00000000 00 0001 00"));
        let twelve = ["a8", "aa", "ae", "af"]
            .map(|code| format!("{code} {flags:02x} 00000000 00000001 00 00"));
        let sixteen = ["88", "8a", "8b", "8e", "8f", "93"];
        let sixteen =
            sixteen.map(|code| format!("{code} {flags:02x} 0000000000000000 00000001 00 00"));
        for cdb in ten.iter().chain(&twelve).chain(&sixteen) {
            let action = rig.with(cdb, &[0; 512]);
            assert_eq!(field(&action), Some((true, 1)), "{cdb}");
            refused(action, 0x2400);
        }
    }
}

#[test]
fn reserved_bits_naca_and_link_are_refused() {
    let rig = Rig::new();
    for cdb in [
        "00 00 00 00 00 04",
        "00 00 00 00 00 01",
        "00 01",
        "28 01 00000000 00 0001 00",
        "28 00 00000000 40 0001 00",
    ] {
        refused(rig.run(cdb), 0x2400);
    }
    let action = rig.run("28 00 00000000 00 0001 04");
    assert_eq!(field(&action), Some((true, 9)));
}

#[test]
fn a_transfer_has_a_limit() {
    let rig = Rig::new();
    let page = reply(rig.run("12 01 b0 00 40 00"));
    let most = u32::from_be_bytes([page[8], page[9], page[10], page[11]]);
    medium(rig.run(&format!("88 00 0000000000000000 {most:08x} 00 00")));
    for code in ["88", "8a", "8b", "8e", "8f"] {
        let action = rig.run(&format!("{code} 00 0000000000000000 {:08x} 00 00", most + 1));
        assert_eq!(field(&action), Some((true, 10)));
        refused(action, 0x2400);
    }
    let same = u64::from_be_bytes(page[36..44].try_into().unwrap());
    assert!(
        (256..65_536).contains(&same),
        "the peers' suite writes 65536 blocks at once where WRITE SAME allows it"
    );
    refused(rig.with("41 00 00000000 00 0000 00", &[0; 512]), 0x2400);
    medium(rig.with(&format!("41 00 {:08x} 00 0000 00", BLOCKS - same), &[0; 512]));
    refused(rig.with(&format!("41 00 {:08x} 00 0000 00", BLOCKS - same - 1), &[0; 512]), 0x2400);
}

#[test]
fn write_same_takes_one_block() {
    let rig = Rig::new();
    for size in [1, 256, 511, 513, 1024] {
        refused(rig.with("41 08 00000000 00 0001 00", &vec![0; size]), 0x2400);
        refused(rig.with("93 00 0000000000000000 00000001 00 00", &vec![0; size]), 0x2400);
    }
    refused(rig.run("41 00 00000000 00 0001 00"), 0x2400);
    let unmap = medium(rig.run("93 08 0000000000000001 00000001 00 00"));
    assert_eq!(unmap, Medium::Same { to: at(1, 1), zero: true, unmap: true, durable: false });
    refused(rig.with("41 10 00000000 00 0001 00", &[0; 512]), 0x2400);
    refused(rig.with("41 18 00000000 00 0001 00", &[0; 512]), 0x2400);
    refused(rig.on(THICK, &rig.a, "41 08 00000000 00 0001 00", &[0; 512]), 0x2400);
}

#[test]
fn compare_and_write_takes_both_halves() {
    let rig = Rig::new();
    let action = rig.with("89 08 0000000000000005 000000 02 00 00", &[0; 2048]);
    assert_eq!(medium(action), Medium::CompareAndWrite { at: at(5, 2), durable: true });
    for size in [0, 1024, 2047, 4096] {
        refused(rig.with("89 00 0000000000000005 000000 02 00 00", &vec![0; size]), 0x2400);
    }
}

#[track_caller]
fn unmap(descriptors: &[(u64, u32)]) -> Action {
    let rig = Rig::new();
    let length = 16 * descriptors.len();
    let mut list = ((length + 6) as u16).to_be_bytes().to_vec();
    list.extend((length as u16).to_be_bytes());
    list.extend([0; 4]);
    for (lba, blocks) in descriptors {
        list.extend(lba.to_be_bytes());
        list.extend(blocks.to_be_bytes());
        list.extend([0; 4]);
    }
    rig.with(&format!("42 00 00 00 00 00 00 {:04x} 00", list.len()), &list)
}

#[test]
fn unmap_deallocates_its_list() {
    assert_eq!(medium(unmap(&[(1, 2), (5, 0), (9, 1)])), Medium::Unmap(vec![at(1, 2), at(9, 1)]));
    good(unmap(&[]));
    good(unmap(&[(BLOCKS, 0)]));
    good(unmap(&[(0, 0); 256]));
    refused(unmap(&[(0, 0); 257]), 0x2600);
    refused(unmap(&[(BLOCKS, 1)]), 0x2100);
    refused(unmap(&[(0, 1), (u64::MAX, u32::MAX)]), 0x2100);
    refused(unmap(&[(0, 131_072); 9]), 0x2600);
    let rig = Rig::new();
    good(rig.run("42 00 00 00 00 00 00 0000 00"));
    refused(rig.run("42 00 00 00 00 00 00 0007 00"), 0x1a00);
    refused(rig.with("42 00 00 00 00 00 00 0018 00", &bytes("0016 0020 00000000")), 0x1a00);
    refused(rig.with("42 00 00 00 00 00 00 0008 00", &bytes("0016 0020 00000000")), 0x1a00);
    refused(rig.run("42 01 00 00 00 00 00 0008 00"), 0x2400);
    refused(rig.on(THICK, &rig.a, "42 00 00 00 00 00 00 0000 00", &[]), 0x2000);
}

#[test]
fn a_read_only_unit_reads() {
    let rig = Rig::new();
    let run = |cdb: &str| rig.on(READ_ONLY, &rig.a, cdb, &[0; 512]);
    for cdb in [
        "0a 00 00 00 01 00",
        "2a 00 00000000 00 0001 00",
        "aa 00 00000000 00000001 00 00",
        "8a 00 0000000000000000 00000001 00 00",
        "2e 02 00000000 00 0001 00",
        "41 00 00000000 00 0001 00",
        "41 08 00000000 00 0001 00",
        "93 08 0000000000000000 00000001 00 00",
        "8b 00 0000000000000000 00000001 00 00",
        "89 00 0000000000000000 000000 01 00 00",
        "48 01 00 00 00 00 00 0204 00",
    ] {
        refused(run(cdb), 0x2700);
    }
    medium(run("28 00 00000000 00 0001 00"));
    medium(run("35 00 00000000 00 0000 00"));
}

#[test]
fn without_a_write_cache_everything_is_durable() {
    let rig = Rig::new();
    let run = |cdb: &str, data: &[u8]| medium(rig.on(LARGE, &rig.a, cdb, data));
    for (cdb, size) in [
        ("2a 00 00000000 00 0001 00", 4096),
        ("8b 00 0000000000000000 00000001 00 00", 4096),
        ("89 00 0000000000000000 000000 01 00 00", 8192),
        ("41 00 00000000 00 0001 00", 4096),
    ] {
        match run(cdb, &vec![0; size]) {
            Medium::Write { durable, .. }
            | Medium::Or { durable, .. }
            | Medium::CompareAndWrite { durable, .. }
            | Medium::Same { durable, .. } => assert!(durable, "{cdb}"),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn the_fast_path_agrees_with_the_slow_one() {
    let rig = Rig::new();
    for lun in [THIN, THICK, READ_ONLY, LARGE] {
        let unit = rig.device.unit(lun).unwrap();
        let view = unit.view(&rig.a);
        let mut taken = 0;
        for code in 0..=0xff_u32 {
            for rest in [
                "00 00000001 00 0001 00",
                "08 00000000 00 0000 00",
                "20 00000000 00 0001 00",
                "00 ffffffff 00 ffff 00",
            ] {
                let cdb = parse(&format!("{code:02x} {rest}"));
                if let Some(quickly) = quick(&cdb, &unit.description().geometry, &view) {
                    taken += 1;
                    assert_eq!(rig.device.begin(lun, &rig.a, &cdb, 0), Action::Medium(quickly));
                }
            }
        }
        assert!(taken >= 5, "{taken}");
    }
}

#[test]
fn the_fast_path_leaves_the_rest_to_the_slow_one() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    let geometry = unit.description().geometry;
    let open = unit.view(&rig.a);
    let read = parse("28 00 00000000 00 0001 00");
    let write = parse("2a 00 00000000 00 0001 00");
    assert!(quick(&read, &geometry, &open).is_some() && quick(&write, &geometry, &open).is_some());
    let read_only = NexusView { writes: false, ..open };
    assert!(
        quick(&read, &geometry, &read_only).is_some()
            && quick(&write, &geometry, &read_only).is_none()
    );
    assert!(quick(&read, &geometry, &NexusView { reads: false, ..open }).is_none());
    for cdb in [
        "28 00 00000000 00 0001 04",
        "28 00 ffffffff 00 0001 00",
        "2f 00 00000000 00 0001 00",
        "00",
    ] {
        assert!(quick(&parse(cdb), &geometry, &open).is_none(), "{cdb}");
    }
    let generation = unit.generation();
    assert_eq!(generation, open.generation);
    good(rig.run("16 00 00 00 00 00"));
    assert_ne!(unit.generation(), generation);
    assert!(unit.view(&rig.a).writes && !unit.view(&rig.b).reads);
}
