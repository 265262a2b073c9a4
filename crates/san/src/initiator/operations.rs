//! How a LUN trims and writes zeroes (SBC-3): from the pages Block Limits and Logical Block Provisioning, the report of
//! supported commands, and the mode parameter header; and the command of each.

use super::client::{Client, CommandError};
use super::inquiry::{body, page};
use guard::RemoteOperations;
use iscsi::initiator::{Cdb, Transfer, UNMAP_LIST, unmap_list};
use iscsi::pdu::Lun;

/// Block limits, and logical block provisioning.
const LIMITS: u8 = 0xb0;
const PROVISIONING: u8 = 0xb2;

/// What a LUN says of its operations besides reads and writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LunOperations {
    /// The most blocks of one trim; 0 where it has none.
    trim: u64,
    /// Trims are UNMAP; otherwise WRITE SAME (16) with its bit UNMAP.
    by_unmap: bool,
    /// Blocks of which trims should be multiples; 0 where it says nothing.
    granule: u32,
    /// What was trimmed reads as zeroes (LBPRZ).
    trim_zeroes: bool,
    /// The most blocks of one WRITE SAME (16); 0 where it has none.
    same: u64,
    /// WRITE SAME needs no block of zeroes (NDOB).
    no_data: bool,
    /// Writes may have FUA (DPOFUA).
    pub(super) fua: bool,
}

impl LunOperations {
    /// Asks a LUN; `thin` is what READ CAPACITY (16) says of provisioning (LBPME).
    pub(super) fn ask(client: &mut Client, lun: Lun, thin: bool) -> Result<Self, CommandError> {
        let limits = page(client, lun, LIMITS)?;
        let provisioning = if thin { page(client, lun, PROVISIONING)? } else { None };
        let same = match client.ask(lun, Cdb::supported_command(0x93, 64), 64) {
            Ok(answer) => Some(answer),
            // Where a reservation forbids to ask it is another's, or this process's own, which has asked before.
            Err(CommandError::Reserved) => None,
            Err(e) if e.is_unknown() => None,
            Err(e) => return Err(e),
        };
        Ok(Self::of(
            limits.as_deref().and_then(|answer| body(answer, LIMITS)),
            provisioning.as_deref().and_then(|answer| body(answer, PROVISIONING)),
            same.as_deref(),
        ))
    }

    /// From the bodies of both pages, and from what is reported of WRITE SAME (16).
    fn of(limits: Option<&[u8]>, provisioning: Option<&[u8]>, same: Option<&[u8]>) -> Self {
        let limit = |at: usize| {
            let bytes = limits.and_then(|body| body.get(at..)).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
        };
        let longest = limits.and_then(|body| body.get(32..)).and_then(<[u8]>::first_chunk);
        let longest = longest.map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let how = provisioning.and_then(|body| body.get(1)).copied().unwrap_or(0);
        // Its support field, and the bits of its second byte that it evaluates. Where a target reports no commands, a limit
        // of WRITE SAME shows that it has it.
        let (has_same, no_data) = match same {
            Some(answer) => {
                let supported = answer.get(1).is_some_and(|byte| matches!(byte & 0x07, 3 | 5));
                (supported, answer.get(5).is_some_and(|usage| usage & 0x01 != 0))
            }
            None => (longest > 0, false),
        };
        // No limit is reported as zero.
        let bounded = |limit: u64| if limit == 0 { u32::MAX.into() } else { limit };
        let (by_unmap, by_same) = (how & 0x80 != 0, how & 0x40 != 0);
        LunOperations {
            trim: match () {
                // An UNMAP of no blocks is none.
                () if by_unmap => limit(16).into(),
                () if by_same => bounded(longest),
                () => 0,
            },
            by_unmap,
            granule: limit(24),
            trim_zeroes: how & 0x1c != 0,
            same: if has_same { bounded(longest) } else { 0 },
            no_data,
            fua: false,
        }
    }

    /// The same in bytes, as the engine asks for it.
    pub(super) fn in_bytes(&self, block: u32) -> RemoteOperations {
        let block = u64::from(block);
        let bytes = |blocks: u64| (blocks > 0).then(|| blocks.saturating_mul(block));
        RemoteOperations {
            trim: bytes(self.trim),
            trim_zeroes: self.trim_zeroes,
            trim_granule: u64::from(self.granule) * block,
            zeroes: bytes(self.same),
            fua: self.fua,
        }
    }

    /// The command of a trim, and its data, which begin the buffer.
    pub(super) fn trim(&self, lba: u64, blocks: u32, buffer: &mut [u8]) -> Option<(Cdb, Transfer)> {
        if !self.by_unmap {
            return self.same(lba, blocks, true, buffer);
        }
        buffer.get_mut(..UNMAP_LIST)?.copy_from_slice(&unmap_list(lba, blocks));
        Some((Cdb::UNMAP, Transfer::Out(UNMAP_LIST as u32)))
    }

    /// The command of zeroes. They are written, and not deallocated.
    pub(super) fn zeroes(
        &self,
        lba: u64,
        blocks: u32,
        buffer: &mut [u8],
    ) -> Option<(Cdb, Transfer)> {
        self.same(lba, blocks, false, buffer)
    }

    /// WRITE SAME (16); `buffer` is as long as a block.
    fn same(
        &self,
        lba: u64,
        blocks: u32,
        unmap: bool,
        buffer: &mut [u8],
    ) -> Option<(Cdb, Transfer)> {
        let cdb = Cdb::write_same(lba, blocks, unmap, self.no_data);
        if self.no_data {
            return Some((cdb, Transfer::None));
        }
        buffer.fill(0);
        Some((cdb, Transfer::Out(u32::try_from(buffer.len()).ok()?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A body of Block Limits: the most blocks of an UNMAP, its granularity, the longest WRITE SAME.
    fn limits(unmap: u32, granule: u32, same: u64) -> Vec<u8> {
        let mut body = vec![0; 60];
        body[16..20].copy_from_slice(&unmap.to_be_bytes());
        body[24..28].copy_from_slice(&granule.to_be_bytes());
        body[32..40].copy_from_slice(&same.to_be_bytes());
        body
    }

    #[test]
    fn what_a_lun_says_is_what_is_sent() {
        let plain = LunOperations::of(None, None, None);
        assert_eq!(plain, LunOperations::default());
        assert_eq!(plain.in_bytes(512), RemoteOperations::default());
        // UNMAP, LBPRZ, WRITE SAME (16) with NDOB.
        let same = [0, 3, 0, 16, 0x93, 0x09, 0, 0];
        let thin = LunOperations::of(Some(&limits(8, 4, 100)), Some(&[0, 0xe4, 2, 0]), Some(&same));
        let bytes = thin.in_bytes(512);
        assert_eq!((bytes.trim, bytes.zeroes), (Some(8 * 512), Some(100 * 512)));
        assert!(bytes.trim_zeroes && bytes.trim_granule == 2048);
        let mut buffer = [0xaa; 512];
        let trim = thin.trim(5, 8, &mut buffer);
        assert_eq!(trim, Some((Cdb::UNMAP, Transfer::Out(24))));
        assert_eq!((buffer[15], buffer[19], buffer[24]), (5, 8, 0xaa));
        let zeroes = thin.zeroes(5, 8, &mut buffer);
        assert_eq!(zeroes, Some((Cdb::write_same(5, 8, false, true), Transfer::None)));
        // WRITE SAME (16) with its bit UNMAP alone, which must be sent a block, and no limit.
        let same = [0, 3, 0, 16, 0x93, 0x08, 0, 0];
        let other = LunOperations::of(Some(&limits(0, 0, 0)), Some(&[0, 0x40, 0, 0]), Some(&same));
        assert_eq!(other.in_bytes(512).trim, Some(u64::from(u32::MAX) * 512));
        let trim = other.trim(5, 8, &mut buffer);
        assert_eq!(trim, Some((Cdb::write_same(5, 8, true, false), Transfer::Out(512))));
        assert!(buffer.iter().all(|byte| *byte == 0));
        // A target that reports no commands, and one that reports not to have it.
        assert_eq!(LunOperations::of(Some(&limits(0, 0, 9)), None, None).same, 9);
        assert_eq!(LunOperations::of(Some(&limits(0, 0, 9)), None, Some(&[0, 1])).same, 0);
    }
}
