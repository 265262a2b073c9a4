//! Invariants of the device server for any input, for tests and for fuzzing: no panic, extents within the volume,
//! parameters and replies within their bounds, and a fast path that agrees with the slow one.

use iscsi::scsi::{
    Action, BlockRange, CdbBytes, CopySegment, Device, Geometry, LARGEST_TRANSFER, Medium, Nexus,
    quick,
};

/// Executes a command, continues with `bytes` if it wants parameters, and checks the result.
pub fn hold(device: &Device, lun: u64, nexus: &Nexus, cdb: &CdbBytes, expected: u32, bytes: &[u8]) {
    let unit = device.unit(lun);
    let before = unit.map(|unit| (unit.view(nexus), unit.description().geometry));
    let quickly = before.and_then(|(view, geometry)| quick(cdb, &geometry, &view));
    let action = device.begin(lun, nexus, cdb, expected);
    if let Some(medium) = quickly {
        assert_eq!(action, Action::Medium(medium), "the quick path differs");
    }
    let action = match action {
        Action::Parameters(len) => {
            assert!(len <= 65_536, "{len} bytes of parameters");
            device.parameters(lun, nexus, cdb, &bytes[..bytes.len().min(len as usize)])
        }
        action => action,
    };
    match &action {
        Action::Parameters(_) if bytes.is_empty() => {}
        Action::Parameters(_) => panic!("parameters are asked for twice"),
        Action::Reply(reply) => {
            assert!(reply.len() as u64 <= allocation(cdb), "{cdb:x?}: {} bytes", reply.len())
        }
        Action::Medium(medium) | Action::Background(medium) => {
            check(medium, &unit.unwrap().description().geometry)
        }
        Action::Copy { segments, .. } => {
            segments.iter().for_each(|segment| check_copy(device, segment))
        }
        Action::End(ending) => {
            if let Some(sense) = ending.sense {
                assert!([false, true].iter().all(|format| sense.encode(*format).len() <= 28));
            }
        }
        Action::Reserved { .. } => {}
    }
    settle(unit, &action);
}

/// Ends background work, so that the next command has an effect.
fn settle(unit: Option<&iscsi::scsi::LogicalUnit>, action: &Action) {
    if let Action::Medium(Medium::Sanitize { .. }) | Action::Background(Medium::Sanitize { .. }) =
        action
    {
        unit.unwrap().sanitized(true);
    }
    if let Action::Reserved { .. } = action {
        let kept = unit.unwrap().stored_reservations();
        if !kept.is_empty() {
            unit.unwrap().restore(&kept).expect("what is kept can be restored");
            assert_eq!(unit.unwrap().stored_reservations(), kept);
        }
    }
}

/// The allocation length; for commands without one, the fixed length of their reply.
fn allocation(cdb: &CdbBytes) -> u64 {
    let be = |range: std::ops::Range<usize>| {
        cdb[range].iter().fold(0, |all, byte| all << 8 | u64::from(*byte))
    };
    match cdb[0] {
        0x03 | 0x1a => be(4..5),
        0x12 => be(3..5),
        0x25 => 8,
        0x37 | 0x4d | 0x5a | 0x5e => be(7..9),
        0xa0 | 0xa3 | 0xb7 => be(6..10),
        _ => be(10..14),
    }
}

fn within(extent: &BlockRange, geometry: &Geometry) {
    let end = extent.lba.checked_add(extent.blocks);
    assert!(end.is_some_and(|end| end <= geometry.blocks), "{extent:?}");
}

fn check(medium: &Medium, geometry: &Geometry) {
    assert!(medium.bytes_in(geometry.block) <= 2 * u64::from(LARGEST_TRANSFER));
    match medium {
        Medium::Read(extent) => {
            within(extent, geometry);
            assert!(extent.blocks * u64::from(geometry.block) <= u64::from(LARGEST_TRANSFER));
        }
        Medium::Write { to, .. } | Medium::WriteVerify { to, .. } | Medium::Same { to, .. } => {
            within(to, geometry)
        }
        Medium::Verify(extent) | Medium::Sync(extent) | Medium::Prefetch(extent) => {
            within(extent, geometry)
        }
        Medium::Compare { with, .. } => within(with, geometry),
        Medium::CompareAndWrite { at, .. } | Medium::Or { at, .. } => within(at, geometry),
        Medium::Unmap(extents) => {
            assert!(extents.len() <= 256);
            extents.iter().for_each(|extent| within(extent, geometry));
        }
        Medium::LbaStatus { lba, .. } => assert!(*lba < geometry.blocks),
        Medium::Sanitize { pattern } => assert!(pattern.len() <= geometry.block as usize),
        Medium::Copy(_) => panic!("copies are an action of their own"),
        Medium::Pass(_) => panic!("a disk has a device server of its own here"),
    }
}

fn check_copy(device: &Device, segment: &CopySegment) {
    let named =
        |name: &[u8; 16]| device.units().iter().find(|unit| unit.designator() == name).unwrap();
    let (from, to) = (named(&segment.from), named(&segment.to));
    within(&segment.source, &from.description().geometry);
    let bytes = segment.source.blocks * u64::from(from.description().geometry.block);
    let geometry = to.description().geometry;
    within(&BlockRange { lba: segment.lba, blocks: bytes / u64::from(geometry.block) }, &geometry);
}
