//! INQUIRY, READ CAPACITY, REPORT LUNS, REQUEST SENSE, and LUNs that do not exist.

use iscsi::scsi::{Ending, Sense, SenseKey};

use crate::scsi::rig::{LARGE, READ_ONLY, Rig, THICK, THIN, field, good, refused, reply};

const NOWHERE: u64 = 9 << 48;
const REPORTER: u64 = 0xc101 << 48;

#[track_caller]
fn page(rig: &Rig, lun: u64, code: u8) -> Vec<u8> {
    let page = reply(rig.on(lun, &rig.a, &format!("12 01 {code:02x} 04 00 00"), &[]));
    assert_eq!(page[1], code);
    assert_eq!(
        usize::from(u16::from_be_bytes([page[2], page[3]])),
        page.len() - 4,
        "page {code:02x}"
    );
    page
}

#[test]
fn standard_data() {
    let rig = Rig::new();
    let data = reply(rig.run("12 00 00 01 00 00"));
    assert_eq!(data.len(), usize::from(data[4]) + 5);
    assert_eq!((data[0], data[2], data[3] & 0x0f), (0, 6, 2));
    assert_eq!(&data[8..36], b"WIRESPEDvolume          1   ");
    let versions: Vec<u16> =
        data[58..].chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    assert!(versions.contains(&0x0460) && versions.contains(&0x04c0) && versions.contains(&0x0960));
    assert_eq!(data[6] & 0x20 | data[3] & 0x20 | data[5] & 0x01, 0, "no ACA, no protection");
}

#[test]
fn a_short_allocation_length_only_truncates() {
    let rig = Rig::new();
    let whole = reply(rig.run("12 00 00 01 00 00"));
    for length in 0..=255 {
        let cut = reply(rig.run(&format!("12 00 00 00 {length:02x} 00")));
        assert_eq!(cut, whole[..whole.len().min(length)]);
    }
}

#[test]
fn every_listed_page_exists() {
    let rig = Rig::new();
    for lun in [THIN, THICK, READ_ONLY, LARGE] {
        let list = page(&rig, lun, 0x00);
        assert!(list[4..].is_sorted());
        list[4..].iter().for_each(|code| drop(page(&rig, lun, *code)));
    }
    let unknown = rig.run("12 01 c0 00 ff 00");
    assert_eq!(field(&unknown), Some((true, 2)));
    refused(unknown, 0x2400);
    refused(rig.run("12 00 80 00 ff 00"), 0x2400);
}

#[test]
fn all_paths_show_one_designator_of_the_unit() {
    let rig = Rig::new();
    let of = |nexus| {
        let bytes = reply(rig.on(THIN, nexus, "12 01 83 04 00 00", &[]));
        let (mut at, mut unit, mut other) = (4, Vec::new(), Vec::new());
        while at < bytes.len() {
            let end = at + 4 + usize::from(bytes[at + 3]);
            let list = if bytes[at + 1] & 0x30 == 0 { &mut unit } else { &mut other };
            list.push(bytes[at..end].to_vec());
            at = end;
        }
        (unit, other)
    };
    let ((unit, ports), (unit_too, ports_too)) = (of(&rig.a), of(&rig.b));
    assert_eq!(unit, unit_too);
    assert_ne!(ports, ports_too);
    let naa = unit.iter().find(|designator| designator[1] & 0x0f == 3).unwrap();
    assert_eq!(&naa[4..], rig.device.units()[0].designator());
    assert_eq!(naa[4] >> 4, 6);
    let kinds: Vec<u8> = ports.iter().map(|designator| designator[1] & 0x3f).collect();
    assert_eq!(kinds, [0x14, 0x15, 0x18, 0x28]);
    assert!(ports[2][4..].starts_with(b"iqn.2026-01.example:target,t,0x0001\0"));
}

#[test]
fn designators_of_units_differ() {
    let rig = Rig::new();
    let mut all: Vec<_> = rig.device.units().iter().map(|unit| *unit.designator()).collect();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), rig.device.units().len());
}

#[test]
fn thin_units_report_provisioning_everywhere() {
    let rig = Rig::new();
    for (lun, thin) in [(THIN, true), (THICK, false), (LARGE, true)] {
        let capacity = reply(rig.on(lun, &rig.a, "9e 10 0000000000000000 00000020 00 00", &[]));
        assert_eq!(capacity[14] == 0xc0, thin);
        let provisioning = page(&rig, lun, 0xb2);
        assert_eq!(provisioning[5] == 0xe4, thin);
        let limits = page(&rig, lun, 0xb0);
        assert_eq!(limits.len(), 64);
        assert_eq!(limits[20..28].iter().any(|byte| *byte != 0), thin);
        assert_eq!(page(&rig, lun, 0xb1)[7] >> 6 == 1, thin);
    }
}

#[test]
fn capacity() {
    let rig = Rig::new();
    let data = reply(rig.run("25 00 00000000 0000 00 00"));
    assert_eq!(data, [0, 1, 0xff, 0xff, 0, 0, 2, 0]);
    let data = reply(rig.on(LARGE, &rig.a, "9e 10 0000000000000000 00000020 00 00", &[]));
    assert_eq!((&data[..12], data[13]), (&[0, 0, 0, 0, 0, 0, 0x3f, 0xff, 0, 0, 0x10, 0][..], 0));
    assert_eq!(
        reply(rig.run("9e 10 0000000000000000 00000020 00 00"))[13],
        0,
        "a physical block is a block"
    );
    for length in 0..16_usize {
        let data = reply(rig.run(&format!("9e 10 0000000000000000 {length:08x} 00 00")));
        assert_eq!(data.len(), length);
    }
    refused(rig.run("25 00 00000001 0000 00 00"), 0x2400);
    refused(rig.run("9e 10 0000000000000001 00000020 00 00"), 0x2400);
}

#[test]
fn luns_are_reported_by_kind() {
    let rig = Rig::new();
    for (select, count) in [(0, 4), (1, 1), (2, 5), (0x10, 0)] {
        let list = reply(rig.run(&format!("a0 00 {select:02x} 000000 00000100 00 00")));
        assert_eq!(list.len(), 8 + 8 * count, "{select}");
        assert_eq!(usize::from(list[3]), 8 * count);
    }
    let list = reply(rig.run("a0 00 02 000000 00000100 00 00"));
    assert_eq!(list[8..24], [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(list[40..], [0xc1, 1, 0, 0, 0, 0, 0, 0]);
    refused(rig.run("a0 00 03 000000 00000100 00 00"), 0x2400);
    refused(rig.run("a0 00 00 000000 0000000f 00 00"), 0x2400);
}

#[test]
fn luns_have_two_address_formats() {
    let rig = Rig::new();
    for (lun, index) in [(0, Some(0)), (3 << 48, Some(3)), (0x4003 << 48, Some(3)), (4 << 48, None)]
    {
        assert_eq!(rig.device.index(lun), index, "{lun:x}");
    }
    for lun in [1, 1 << 32, 0x0101 << 48, 0x8000 << 48, REPORTER] {
        assert_eq!(rig.device.index(lun), None, "{lun:x}");
    }
}

#[test]
fn a_missing_lun_is_reported() {
    let rig = Rig::new();
    for lun in [NOWHERE, 1, 0x0100 << 48] {
        assert_eq!(reply(rig.on(lun, &rig.a, "12 00 00 00 24 00", &[]))[0], 0x7f);
        refused(rig.on(lun, &rig.a, "12 01 83 00 ff 00", &[]), 0x2400);
        for cdb in ["00", "28 00 00000000 00 0001 00", "25", "a0 00 00 000000 00000100", "ff"] {
            refused(rig.on(lun, &rig.a, cdb, &[]), 0x2500);
        }
        let sense = reply(rig.on(lun, &rig.a, "03 00 00 00 12 00", &[]));
        assert_eq!((sense[2], sense[12]), (5, 0x25));
    }
}

#[test]
fn the_well_known_unit_only_reports() {
    let rig = Rig::new();
    let list = reply(rig.on(REPORTER, &rig.a, "a0 00 01 000000 00000100 00 00", &[]));
    assert_eq!(list[8..], [0xc1, 1, 0, 0, 0, 0, 0, 0]);
    assert_eq!(reply(rig.on(REPORTER, &rig.a, "12 00 00 00 24 00", &[]))[0], 0x1e);
    good(rig.on(REPORTER, &rig.a, "00", &[]));
    refused(rig.on(REPORTER, &rig.a, "28 00 00000000 00 0001 00", &[]), 0x2000);
}

#[test]
fn sense_data_has_two_formats() {
    let plain = Sense::new(SenseKey::IllegalRequest, 0x2400).at_cdb(2, Some(5));
    let fixed = plain.encode(false);
    assert_eq!((fixed.len(), fixed[0], fixed[2], fixed[7]), (18, 0x70, 5, 10));
    assert_eq!(fixed[12..], [0x24, 0, 0, 0xcd, 0, 2]);
    let informed = plain.with_information(0x1_0000_0000);
    assert_eq!(informed.encode(false)[0], 0x70, "too large for the fixed format");
    let described = informed.encode(true);
    assert_eq!(described[..8], [0x72, 5, 0x24, 0, 0, 0, 0, 20]);
    assert_eq!(described[8..20], [0, 10, 0x80, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    assert_eq!(described[20..], [2, 6, 0, 0, 0xcd, 0, 2, 0]);
    let filemark = informed.with_stream(0x80).encode(true);
    assert_eq!(filemark[28..], [4, 2, 0, 0x80], "the descriptor of a sequential medium");
    assert_eq!(filemark.len(), Sense::LONGEST);
    let small = Sense::new(SenseKey::Miscompare, 0x1d00).with_information(7).encode(false);
    assert_eq!(small[..8], [0xf0, 0, 0x0e, 0, 0, 0, 7, 10]);
    assert_eq!(Ending::check(plain).sense, Some(plain));
}

#[test]
fn request_sense_without_a_condition() {
    let rig = Rig::new();
    assert_eq!(reply(rig.run("03 00 00 00 ff 00"))[..3], [0x70, 0, 0]);
    assert_eq!(reply(rig.run("03 01 00 00 ff 00"))[..4], [0x72, 0, 0, 0]);
    assert_eq!(reply(rig.run("03 01 00 00 02 00")).len(), 2);
}
