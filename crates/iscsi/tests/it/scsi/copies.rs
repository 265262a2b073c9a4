//! EXTENDED COPY and RECEIVE COPY RESULTS.

use iscsi::scsi::{Action, BlockRange, CopySegment, Ending, Sense, SenseKey};

use crate::scsi::rig::{BLOCKS, LARGE, READ_ONLY, Rig, THICK, THIN, field, good, refused, reply};

fn target(rig: &Rig, index: usize) -> Vec<u8> {
    let unit = &rig.device.units()[index];
    let mut bytes = vec![0xe4, 0, 0, 0, 1, 3, 0, 16];
    bytes.extend(unit.designator());
    bytes.resize(28, 0);
    bytes.extend(unit.description().geometry.block.to_be_bytes());
    bytes
}

fn blocks(from: u16, to: u16, blocks: u16, lba: u64, to_lba: u64) -> Vec<u8> {
    let mut bytes = vec![0x02, 0, 0, 0x18];
    bytes.extend([from.to_be_bytes(), to.to_be_bytes(), [0, 0], blocks.to_be_bytes()].concat());
    bytes.extend([lba.to_be_bytes(), to_lba.to_be_bytes()].concat());
    bytes
}

fn octets(from: u16, to: u16, octets: u32, lba: u64, to_lba: u64) -> Vec<u8> {
    let mut bytes = vec![0x0a, 0, 0, 0x1c];
    bytes.extend([from.to_be_bytes(), to.to_be_bytes()].concat());
    bytes.extend(octets.to_be_bytes());
    bytes.extend([lba.to_be_bytes(), to_lba.to_be_bytes()].concat());
    bytes.extend([0; 4]);
    bytes
}

fn list(id: u8, usage: u8, targets: &[Vec<u8>], segments: &[Vec<u8>]) -> Vec<u8> {
    let (targets, segments) = (targets.concat(), segments.concat());
    let mut bytes = vec![id, usage << 3];
    bytes.extend((targets.len() as u16).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend((segments.len() as u32).to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(targets);
    bytes.extend(segments);
    bytes
}

fn copy(rig: &Rig, list: &[u8]) -> Action {
    on(rig, THIN, list)
}

fn on(rig: &Rig, lun: u64, list: &[u8]) -> Action {
    rig.on(lun, &rig.a, &format!("83 00 0000000000000000 {:08x} 00 00", list.len()), list)
}

#[track_caller]
fn aborted(action: Action, code: u16) {
    assert_eq!(action, Action::End(Ending::check(Sense::new(SenseKey::CopyAborted, code))));
}

#[test]
fn within_one_unit_and_between_two() {
    let rig = Rig::new();
    let names = |index: usize| *rig.device.units()[index].designator();
    let segments = [
        blocks(0, 0, 2048, 0, BLOCKS - 2048),
        blocks(0, 1, 8, 16, 24),
        octets(1, 2, 8192, 8, 2),
        blocks(0xffff, 0, 0, 0, 0),
    ];
    let action =
        copy(&rig, &list(1, 0, &[target(&rig, 0), target(&rig, 1), target(&rig, 3)], &segments));
    let segment = |from: usize, lba, blocks, to: usize, to_lba| CopySegment {
        from: names(from),
        source: BlockRange { lba, blocks },
        to: names(to),
        lba: to_lba,
    };
    let wanted = vec![
        segment(0, 0, 2048, 0, BLOCKS - 2048),
        segment(0, 16, 8, 1, 24),
        segment(1, 8, 16, 3, 2),
    ];
    assert_eq!(action, Action::Copy { list: 1, segments: wanted });
    let mut counted_there = blocks(0, 1, 2, 0, 0);
    counted_there[1] = 0x02;
    let action = copy(&rig, &list(1, 0, &[target(&rig, 0), target(&rig, 3)], &[counted_there]));
    assert_eq!(action, Action::Copy { list: 1, segments: vec![segment(0, 0, 16, 3, 0)] });
    good(copy(&rig, &[]));
}

#[test]
fn lists_have_limits() {
    let rig = Rig::new();
    let (one, segment) = (target(&rig, 0), blocks(0, 0, 8, 0, 8));
    let parameters = reply(rig.run("84 03 0000000000000000 00000100 00 00"));
    assert_eq!(parameters.len(), 4 + parameters[3] as usize);
    let most = |at: usize| usize::from(u16::from_be_bytes([parameters[at], parameters[at + 1]]));
    let (targets, segments, bytes) = (most(8), most(10), most(14));
    refused(
        copy(&rig, &list(1, 0, &vec![one.clone(); targets + 1], std::slice::from_ref(&segment))),
        0x2606,
    );
    refused(
        copy(&rig, &list(1, 0, std::slice::from_ref(&one), &vec![segment.clone(); segments + 1])),
        0x2608,
    );
    let long = list(1, 0, &vec![one.clone(); targets + 1], &vec![segment.clone(); segments + 1]);
    assert!(long.len() > 16 + bytes);
    refused(copy(&rig, &long), 0x1a00);
    let whole = list(1, 0, &[one], &[segment]);
    for cut in 1..whole.len() {
        refused(copy(&rig, &whole[..cut]), 0x1a00);
    }
    refused(
        rig.with(&format!("83 00 0000000000000000 {:08x} 00 00", whole.len()), &whole[..20]),
        0x1a00,
    );
}

#[test]
fn invalid_descriptors() {
    let rig = Rig::new();
    let one = || target(&rig, 0);
    let changed = |mut bytes: Vec<u8>, at: usize, to: u8| {
        bytes[at] = to;
        bytes
    };
    let segment = || blocks(0, 0, 8, 0, 8);
    refused(copy(&rig, &list(1, 0, &[changed(one(), 0, 0xe0)], &[segment()])), 0x2607);
    refused(copy(&rig, &list(1, 0, &[one()], &[changed(segment(), 0, 0x03)])), 0x2609);
    refused(copy(&rig, &changed(list(1, 0, &[one()], &[segment()]), 15, 1)), 0x260b);
    refused(copy(&rig, &list(1, 0, &[changed(one(), 30, 0x10)], &[segment()])), 0x2600);
    refused(copy(&rig, &list(1, 0, &[changed(one(), 7, 25)], &[segment()])), 0x2600);
    refused(copy(&rig, &list(1, 3, &[one()], &[segment()])), 0x2600);
    refused(copy(&rig, &list(1, 0, &[one()], &[octets(0, 0, 513, 0, 8)])), 0x2600);
    refused(copy(&rig, &list(1, 0, &[one()], &[octets(0, 0, 1 << 30, 0, 8)])), 0x2600);
    refused(copy(&rig, &list(1, 0, &[one()], &[changed(octets(0, 0, 512, 0, 8), 29, 1)])), 0x2600);
    aborted(copy(&rig, &list(1, 0, &[one()], &[blocks(0, 1, 8, 0, 8)])), 0x0804);
    aborted(copy(&rig, &list(1, 0, &[changed(one(), 20, 0x77)], &[segment()])), 0x0804);
    aborted(copy(&rig, &list(1, 0, &[one()], &[blocks(0, 0, 8, 0, BLOCKS - 1)])), 0);
    aborted(copy(&rig, &list(1, 0, &[one()], &[blocks(0, 0, 8, u64::MAX, 0)])), 0);
    let luid = copy(&rig, &list(1, 0, &[changed(one(), 1, 0xc0)], &[segment()]));
    assert!(matches!(luid, Action::Copy { .. }), "LU ID TYPE is ignored since SPC-4");
}

#[test]
fn every_unit_must_admit_the_copy() {
    let rig = Rig::new();
    let copy = |lun, from, to| {
        on(
            &rig,
            lun,
            &list(1, 0, &[target(&rig, from), target(&rig, to)], &[blocks(0, 1, 8, 0, 8)]),
        )
    };
    refused(copy(THIN, 0, 2), 0x2700);
    refused(copy(READ_ONLY, 0, 2), 0x2700);
    assert!(matches!(copy(READ_ONLY, 2, 0), Action::Copy { .. }));
    assert!(matches!(copy(LARGE, 0, 1), Action::Copy { .. }), "a third party");
    good(rig.on(THICK, &rig.b, "16", &[]));
    aborted(copy(THIN, 0, 1), 0x0d02);
    aborted(copy(THIN, 1, 0), 0x0d02);
    let status = reply(rig.run("84 00 01 00000000000000 00000100 00 00"));
    assert_eq!(status[4], 2, "it is reported as failed");
}

#[test]
fn results_of_a_copy() {
    let rig = Rig::new();
    let unit = rig.device.unit(THIN).unwrap();
    let status = |id: u8| rig.run(&format!("84 00 {id:02x} 00000000000000 00000100 00 00"));
    let details = |id: u8| rig.run(&format!("84 04 {id:02x} 00000000000000 00000100 00 00"));
    let run = |id: u8| copy(&rig, &list(id, 0, &[target(&rig, 0)], &[blocks(0, 0, 8, 0, 8)]));
    assert_eq!(field(&status(7)), Some((true, 2)));
    refused(status(7), 0x2400);
    run(7);
    assert_eq!(reply(status(7))[4], 0, "in progress");
    unit.copied(&rig.a, 7, &Ending::GOOD);
    assert_eq!(reply(status(7)), [0, 0, 0, 8, 1, 0, 1, 0, 0, 0, 0, 0]);
    assert_eq!(reply(details(7)), [0; 4]);
    run(8);
    unit.copied(&rig.a, 8, &Ending::check(Sense::new(SenseKey::MediumError, 0x1100)));
    assert_eq!(reply(status(8))[4], 2);
    let failed = reply(details(8));
    assert_eq!((failed[3], failed[56], failed[59], failed[62]), (74, 2, 18, 3));
    refused(rig.on(THIN, &rig.b, "84 00 07 00000000000000 00000100 00 00", &[]), 0x2400);
    for id in 0..40 {
        run(id);
    }
    refused(status(7), 0x2400);
    reply(status(39));
    rig.device.leave(&rig.a);
    rig.join(&rig.a);
    refused(status(39), 0x2400);
    copy(&rig, &list(0, 3, &[target(&rig, 0)], &[blocks(0, 0, 8, 0, 8)]));
    refused(status(0), 0x2400);
}

#[test]
fn the_third_party_copy_page_lists_supported_commands() {
    let rig = Rig::new();
    let page = reply(rig.run("12 01 8f 04 00 00"));
    let (mut at, mut kinds) = (4, Vec::new());
    while at < page.len() {
        kinds.push(u16::from_be_bytes([page[at], page[at + 1]]));
        at += 4 + usize::from(u16::from_be_bytes([page[at + 2], page[at + 3]]));
    }
    assert_eq!((at, &kinds[..]), (page.len(), &[0x0001, 0x0004, 0x0008, 0x000c, 0x8001][..]));
    assert_eq!(page[8..17], [8, 0x83, 1, 0, 0x84, 3, 0, 3, 4]);
}
