//! Commands that read, write, check and give back blocks: what they ask a volume to do (SBC-3, 5).
//!
//! Whatever comes out of here lies within the volume and moves no more than the largest transfer. Nothing is allocated
//! for READ and WRITE.

use super::cdb::{Cdb, field16, field32, field64};
use super::description::LARGEST_TRANSFER;
use super::table::invalid_field;
use super::unit::{Call, Outcome};
use super::{Action, Ending, Extent, Geometry, Medium, Sense, SenseKey};

/// READ and WRITE of every length.
pub(super) fn move_blocks(call: &mut Call<'_>) -> Outcome {
    let through = !call.description().write_back;
    transfer(call.cdb, &call.description().geometry, through).map(Action::Medium)
}

/// What a READ or WRITE asks for. `durable`: writes are so even without FUA.
pub(super) fn transfer(cdb: &Cdb, geometry: &Geometry, durable: bool) -> Result<Medium, Ending> {
    let extent = bounded(cdb, geometry)?;
    // Among the operation codes of READ and WRITE this bit tells them apart.
    if cdb[0] & 0x02 == 0 {
        return Ok(Medium::Read(extent));
    }
    Ok(Medium::Write { to: extent, durable: durable || forced(cdb) })
}

/// FUA, which the commands with six bytes do not have.
fn forced(cdb: &Cdb) -> bool {
    cdb[0] >> 5 != 0 && cdb[1] & 0x08 != 0
}

/// The extent of a command that moves all of it.
fn bounded(cdb: &Cdb, geometry: &Geometry) -> Result<Extent, Ending> {
    let extent = extent(cdb, geometry)?;
    if extent.blocks > u64::from(geometry.blocks_in(LARGEST_TRANSFER)) {
        return Err(invalid_field(length_at(cdb), None));
    }
    Ok(extent)
}

/// The extent of a command, which lies within the volume.
fn extent(cdb: &Cdb, geometry: &Geometry) -> Result<Extent, Ending> {
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

/// The byte of the transfer length.
fn length_at(cdb: &Cdb) -> u16 {
    match cdb[0] >> 5 {
        0 => 4,
        1 | 2 => 7,
        5 => 6,
        _ => 10,
    }
}

/// An extent, if it lies within the volume.
pub(super) fn within(lba: u64, blocks: u64, geometry: &Geometry) -> Result<Extent, Ending> {
    match lba.checked_add(blocks) {
        Some(end) if end <= geometry.blocks => Ok(Extent { lba, blocks }),
        _ => Err(OUT_OF_RANGE),
    }
}

/// LOGICAL BLOCK ADDRESS OUT OF RANGE.
pub(super) const OUT_OF_RANGE: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2100));

/// GET LBA STATUS: the volume knows.
pub(super) fn lba_status(call: &mut Call<'_>) -> Outcome {
    let lba = field64::<2>(call.cdb);
    if lba >= call.description().geometry.blocks {
        return Err(OUT_OF_RANGE);
    }
    Ok(Action::Medium(Medium::LbaStatus { lba, len: field32::<10>(call.cdb) }))
}
