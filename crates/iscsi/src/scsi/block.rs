//! Block commands (read, write, verify, unmap) decoded into requests to a volume (SBC-3, 5).
//!
//! Every request is within the volume and moves no more than the largest transfer. READ and WRITE allocate nothing.

use super::cdb::{CdbBytes, be16, be32, be64, field16, field32, field64};
use super::command_table::{SHORT_LIST, invalid_field, invalid_parameter};
use super::description::{LARGEST_TRANSFER, LONGEST_SAME, MOST_UNMAP_DESCRIPTORS, MOST_UNMAPPED};
use super::unit::{CommandCall, CommandResult};
use super::{Action, BlockRange, Ending, Geometry, Medium, Sense, SenseKey};

/// READ and WRITE of all CDB lengths.
pub(super) fn move_blocks(call: &mut CommandCall<'_>) -> CommandResult {
    let through = !call.state().modes.write_cache();
    transfer(call.cdb, &call.geometry(), through).map(Action::Medium)
}

/// Decodes a READ or WRITE. `durable`: writes are durable even without FUA.
pub(super) fn transfer(
    cdb: &CdbBytes,
    geometry: &Geometry,
    durable: bool,
) -> Result<Medium, Ending> {
    let extent = bounded(cdb, geometry)?;
    // This bit distinguishes the operation codes of READ and WRITE.
    if cdb[0] & 0x02 == 0 {
        return Ok(Medium::Read(extent));
    }
    Ok(Medium::Write { to: extent, durable: durable || forced(cdb) })
}

/// FUA is set, or the volatile cache is off.
fn durable(call: &CommandCall<'_>) -> bool {
    forced(call.cdb) || !call.state().modes.write_cache()
}

/// FUA, which the six-byte commands lack.
fn forced(cdb: &CdbBytes) -> bool {
    cdb[0] >> 5 != 0 && cdb[1] & 0x08 != 0
}

/// The extent of a command that transfers or reads all of it.
fn bounded(cdb: &CdbBytes, geometry: &Geometry) -> Result<BlockRange, Ending> {
    let extent = extent(cdb, geometry)?;
    if extent.blocks > u64::from(geometry.blocks_in(LARGEST_TRANSFER)) {
        return Err(invalid_field(length_at(cdb), None));
    }
    Ok(extent)
}

/// The extent of a command, checked against the volume's size.
fn extent(cdb: &CdbBytes, geometry: &Geometry) -> Result<BlockRange, Ending> {
    let (lba, blocks) = match cdb[0] >> 5 {
        0 => {
            let lba = field32::<0>(cdb) & 0x1f_ffff;
            (u64::from(lba), if cdb[4] == 0 { 256 } else { u64::from(cdb[4]) })
        }
        1 | 2 => (u64::from(field32::<2>(cdb)), u64::from(field16::<7>(cdb))),
        5 => (u64::from(field32::<2>(cdb)), u64::from(field32::<6>(cdb))),
        _ => (field64::<2>(cdb), u64::from(field32::<10>(cdb))),
    };
    within(lba, blocks, geometry)
}

/// The offset of the transfer length in the CDB.
fn length_at(cdb: &CdbBytes) -> u16 {
    match cdb[0] >> 5 {
        0 => 4,
        1 | 2 => 7,
        5 => 6,
        _ => 10,
    }
}

/// An extent, if it is within the volume.
pub(super) fn within(lba: u64, blocks: u64, geometry: &Geometry) -> Result<BlockRange, Ending> {
    match lba.checked_add(blocks) {
        Some(end) if end <= geometry.blocks => Ok(BlockRange { lba, blocks }),
        _ => Err(OUT_OF_RANGE),
    }
}

/// LOGICAL BLOCK ADDRESS OUT OF RANGE.
pub(super) const OUT_OF_RANGE: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2100));

/// GET LBA STATUS: answered by the volume.
pub(super) fn lba_status(call: &mut CommandCall<'_>) -> CommandResult {
    let lba = field64::<2>(call.cdb);
    if lba >= call.geometry().blocks {
        return Err(OUT_OF_RANGE);
    }
    Ok(Action::Medium(Medium::LbaStatus { lba, len: field32::<10>(call.cdb) }))
}

/// BYTCHK.
fn byte_check(cdb: &CdbBytes) -> u8 {
    cdb[1] >> 1 & 3
}

/// VERIFY of all CDB lengths.
pub(super) fn verify(call: &mut CommandCall<'_>) -> CommandResult {
    let with = bounded(call.cdb, &call.geometry())?;
    Ok(Action::Medium(match byte_check(call.cdb) {
        0 => Medium::Verify(with),
        1 => Medium::Compare { with, one: false },
        3 if with.blocks == 0 => Medium::Verify(with),
        3 => Medium::Compare { with, one: true },
        _ => return Err(invalid_field(1, Some(2))),
    }))
}

/// WRITE AND VERIFY of all CDB lengths.
pub(super) fn write_verify(call: &mut CommandCall<'_>) -> CommandResult {
    let to = bounded(call.cdb, &call.geometry())?;
    match byte_check(call.cdb) {
        check @ (0 | 1) => Ok(Action::Medium(Medium::WriteVerify { to, compare: check == 1 })),
        _ => Err(invalid_field(1, Some(2))),
    }
}

/// COMPARE AND WRITE: the initiator must send exactly both halves.
pub(super) fn compare_and_write(call: &mut CommandCall<'_>) -> CommandResult {
    let geometry = &call.geometry();
    let blocks = u64::from(call.cdb[13]);
    let at = within(field64::<2>(call.cdb), blocks, geometry)?;
    if u64::from(call.expected) != 2 * blocks * u64::from(geometry.block) {
        return Err(invalid_field(13, None));
    }
    if blocks == 0 {
        return Ok(Action::End(Ending::GOOD));
    }
    Ok(Action::Medium(Medium::CompareAndWrite { at, durable: durable(call) }))
}

/// ORWRITE (16).
pub(super) fn or_write(call: &mut CommandCall<'_>) -> CommandResult {
    let at = bounded(call.cdb, &call.geometry())?;
    Ok(Action::Medium(Medium::Or { at, durable: durable(call) }))
}

/// SYNCHRONIZE CACHE: zero blocks mean up to the end.
pub(super) fn synchronize(call: &mut CommandCall<'_>) -> CommandResult {
    let medium = Medium::Sync(extent(call.cdb, &call.geometry())?);
    Ok(if call.cdb[1] & 0x02 != 0 { Action::Background(medium) } else { Action::Medium(medium) })
}

/// PRE-FETCH: zero blocks mean up to the end.
pub(super) fn prefetch(call: &mut CommandCall<'_>) -> CommandResult {
    let geometry = &call.geometry();
    Ok(Action::Medium(Medium::Prefetch(or_rest(extent(call.cdb, geometry)?, geometry))))
}

/// The extent, or everything from its start if it has no blocks.
fn or_rest(extent: BlockRange, geometry: &Geometry) -> BlockRange {
    let rest = geometry.blocks - extent.lba;
    BlockRange { blocks: if extent.blocks == 0 { rest } else { extent.blocks }, ..extent }
}

/// WRITE SAME (10) and (16).
///
/// The initiator must send exactly one block; none with NDOB, and optionally none with UNMAP, as in SBC-2.
pub(super) fn write_same(call: &mut CommandCall<'_>) -> CommandResult {
    let geometry = &call.geometry();
    let to = or_rest(extent(call.cdb, geometry)?, geometry);
    if to.blocks > u64::from(geometry.blocks_in(LONGEST_SAME)) {
        return Err(invalid_field(length_at(call.cdb), None));
    }
    let unmap = call.cdb[1] & 0x08 != 0;
    let without = call.cdb[0] == 0x93 && call.cdb[1] & 0x01 != 0;
    let zero = without || (unmap && call.expected == 0);
    if !zero && call.expected != geometry.block {
        return Err(invalid_field(length_at(call.cdb), None));
    }
    if to.blocks == 0 {
        return Ok(Action::End(Ending::GOOD));
    }
    // There is no FUA: its bit is UNMAP here.
    let durable = !call.state().modes.write_cache();
    Ok(Action::Medium(Medium::Same { to, zero, unmap, durable }))
}

/// UNMAP: all extents of its list, or none.
pub(super) fn unmap(call: &mut CommandCall<'_>) -> CommandResult {
    let length = u32::from(field16::<7>(call.cdb));
    if length == 0 {
        return Ok(Action::End(Ending::GOOD));
    }
    if length < 8 {
        return Err(SHORT_LIST);
    }
    let Some(list) = call.parameters else { return Ok(Action::Parameters(length)) };
    let list = list.get(..length as usize).ok_or(SHORT_LIST)?;
    let named = usize::from(be16(list, 2).ok_or(SHORT_LIST)?);
    let descriptors = list.get(8..8 + named).ok_or(SHORT_LIST)?;
    if named / 16 > MOST_UNMAP_DESCRIPTORS as usize {
        return Err(invalid_parameter(2));
    }
    let mut extents = Vec::with_capacity(named / 16);
    let mut total = 0;
    for (index, descriptor) in descriptors.chunks_exact(16).enumerate() {
        let lba = be64(descriptor, 0).ok_or(SHORT_LIST)?;
        let blocks = u64::from(be32(descriptor, 8).ok_or(SHORT_LIST)?);
        let extent = within(lba, blocks, &call.geometry())?;
        total += blocks;
        if total > u64::from(MOST_UNMAPPED) {
            return Err(invalid_parameter(16 + 16 * index as u16));
        }
        if blocks > 0 {
            extents.push(extent);
        }
    }
    if extents.is_empty() {
        return Ok(Action::End(Ending::GOOD));
    }
    Ok(Action::Medium(Medium::Unmap(extents)))
}
