//! GET LBA STATUS (SBC-3, 5.5): which blocks are mapped.

use super::{CommandContext, CommandOutcome, Data, sense};
use crate::volume::VolumeStore;

/// Bytes before the descriptors, and bytes of one.
const HEADER: usize = 8;
const DESCRIPTOR: usize = 16;

/// The most descriptors of one answer: each costs a look at the store.
const MOST: usize = 256;

/// PROVISIONING STATUS.
const MAPPED: u8 = 0;
const DEALLOCATED: u8 = 1;

impl CommandContext<'_> {
    /// The parameter data from a block on, cut at the allocation length. The ranges are adjacent, up to a limit.
    pub(super) fn lba_status(&self, lba: u64, len: u32) -> CommandOutcome<Data> {
        let blocks = self.volume.blocks();
        if lba >= blocks {
            return Err(sense::OUT_OF_RANGE);
        }
        let room = (len as usize).saturating_sub(HEADER) / DESCRIPTOR;
        let mut out = vec![0; HEADER];
        let mut at = lba;
        for _ in 0..room.clamp(1, MOST) {
            if at == blocks {
                break;
            }
            let (mapped, until) = self.status_of(at);
            let run = (until - at).min(u64::from(u32::MAX)) as u32;
            out.extend(at.to_be_bytes());
            out.extend(run.to_be_bytes());
            out.extend([if mapped { MAPPED } else { DEALLOCATED }, 0, 0, 0]);
            at += u64::from(run);
        }
        // Bytes that follow the length itself.
        let follow = (out.len() - 4) as u32;
        out[..4].copy_from_slice(&follow.to_be_bytes());
        out.truncate(len as usize);
        Ok(Data::Bytes(out.into()))
    }

    /// Whether a block has space, and up to which one that holds.
    fn status_of(&self, lba: u64) -> (bool, u64) {
        let (block, blocks) = (self.block(), self.volume.blocks());
        if !self.volume.attributes.thin {
            return (true, blocks);
        }
        let (at, end) = (lba * block, blocks * block);
        let (mapped, until) = match &self.volume.kind {
            VolumeStore::Ram(ram) => ram.mapped(at, end),
            // Where it is unknown, count it as mapped.
            VolumeStore::Stored(store) => store.mapped(at, end).unwrap_or((true, end)),
        };
        if until < at + block {
            // Space for a part of a block is space for it.
            return (true, lba + 1);
        }
        (mapped, until / block)
    }
}
