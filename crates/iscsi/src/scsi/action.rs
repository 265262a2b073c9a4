//! The interface between the device server, which decodes commands, and the volume, which executes them.

use super::{Nexus, PassedCommand, Sense};

/// Consecutive logical blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockRange {
    /// The first block.
    pub lba: u64,
    /// Number of blocks; may be zero.
    pub blocks: u64,
}

/// A SCSI status (SAM-5, 5.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ScsiStatus {
    /// GOOD.
    Good = 0x00,
    /// CHECK CONDITION: sense data has the reason.
    CheckCondition = 0x02,
    /// CONDITION MET: PRE-FETCH with room in the cache.
    ConditionMet = 0x04,
    /// BUSY: try again later.
    Busy = 0x08,
    /// RESERVATION CONFLICT: another nexus holds a reservation that forbids the command.
    ReservationConflict = 0x18,
    /// TASK SET FULL: too many commands for the logical unit.
    TaskSetFull = 0x28,
    /// TASK ABORTED: another nexus aborted the task, and the control mode page requests this status (TAS).
    TaskAborted = 0x40,
}

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The status byte.
    pub status: ScsiStatus,
    /// Present if and only if the status is CHECK CONDITION.
    pub sense: Option<Sense>,
}

impl Ending {
    /// Success.
    pub const GOOD: Ending = Ending { status: ScsiStatus::Good, sense: None };

    /// CHECK CONDITION with its sense data.
    pub const fn check(sense: Sense) -> Ending {
        Ending { status: ScsiStatus::CheckCondition, sense: Some(sense) }
    }

    /// A status without sense data.
    pub const fn bare(status: ScsiStatus) -> Ending {
        Ending { status, sense: None }
    }
}

/// What the target must do for a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing is transferred.
    End(Ending),
    /// Send these bytes, already truncated to the command's allocation length; the command ends in GOOD.
    Reply(Vec<u8>),
    /// The device server needs this many bytes of parameters from the initiator (at most 64 KiB), and then decides
    /// again. If the initiator sends fewer, these are passed on as they are.
    Parameters(u32),
    /// The volume must do this.
    Medium(Medium),
    /// The command ends in GOOD at once, and the volume does this afterwards, even if the session ends (IMMED).
    Background(Medium),
    /// EXTENDED COPY: do [`Medium::Copy`], and report its end to [`super::LogicalUnit::copied`].
    Copy {
        /// The list identifier with which the initiator queries the result.
        list: u8,
        /// The segments.
        segments: Vec<CopySegment>,
    },
    /// PERSISTENT RESERVE OUT took effect. Before the command ends in GOOD its owner does the following.
    Reserved {
        /// The persistent state changed: store [`super::LogicalUnit::stored_reservations`], which is empty if there is nothing to store.
        keep: bool,
        /// Abort the commands of these nexuses on this unit (PREEMPT AND ABORT).
        abort: Vec<Nexus>,
    },
}

/// A request to a volume. Extents are within the volume, and write protection has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Read: blocks go to the initiator.
    Read(BlockRange),
    /// Write: blocks come from the initiator. `durable` (FUA): on the backing store before the command ends.
    Write {
        /// The blocks to write.
        to: BlockRange,
        /// FUA.
        durable: bool,
    },
    /// WRITE AND VERIFY: blocks come from the initiator, are written, and are compared with what is then read. If
    /// `compare` is false, the blocks need only be readable. Always durable.
    WriteVerify {
        /// The blocks to write.
        to: BlockRange,
        /// BYTCHK.
        compare: bool,
    },
    /// VERIFY: check that the blocks are readable, without a transfer.
    Verify(BlockRange),
    /// VERIFY with data: blocks come from the initiator and are compared; a difference is MISCOMPARE with the offset
    /// in `information`. `one`: a single block comes, and every block of the extent is compared with it (BYTCHK 11b).
    Compare {
        /// The blocks to compare.
        with: BlockRange,
        /// BYTCHK 11b.
        one: bool,
    },
    /// COMPARE AND WRITE: twice the extent's blocks come; if the first half matches, the second is written, atomically.
    CompareAndWrite {
        /// The blocks.
        at: BlockRange,
        /// FUA.
        durable: bool,
    },
    /// ORWRITE: blocks come from the initiator and are or-ed into those of the volume, atomically.
    Or {
        /// The blocks.
        at: BlockRange,
        /// FUA.
        durable: bool,
    },
    /// WRITE SAME: one block comes, unless `zero`, and is written to the whole extent. With `unmap`, which is
    /// requested of thin volumes only, the blocks are deallocated and read as zeros whatever data came. SBC-3
    /// requires other data to be written; deployed targets do not do that, and initiators rely on it.
    Same {
        /// The blocks.
        to: BlockRange,
        /// No block comes; zeros are written (NDOB).
        zero: bool,
        /// UNMAP bit.
        unmap: bool,
        /// The volatile cache is off.
        durable: bool,
    },
    /// Deallocates blocks, which then read as zeros (LBPRZ).
    Unmap(Vec<BlockRange>),
    /// SYNCHRONIZE CACHE: makes earlier writes durable before the command ends. An empty extent extends to the end.
    Sync(BlockRange),
    /// PRE-FETCH: a hint that the blocks will be read soon. Ends at once.
    Prefetch(BlockRange),
    /// The parameter data of GET LBA STATUS from a block on, truncated to the allocation length.
    LbaStatus {
        /// The first block of the query.
        lba: u64,
        /// The allocation length in bytes.
        len: u32,
    },
    /// Copies blocks within this target (EXTENDED COPY), durably. Units are named by their designators.
    Copy(Vec<CopySegment>),
    /// SANITIZE: overwrites everything with zeros, or deallocates it on a thin volume. No reset, abort or end of the
    /// session stops it; report its end to [`super::LogicalUnit::sanitized`]. Throttled, as initiators poll for
    /// seconds.
    Sanitize {
        /// The initiator's pattern, one block or less, repeated (OVERWRITE); empty: zeros.
        pattern: Vec<u8>,
    },
    /// A command that only the unit's own device server understands (a tape drive's, a medium changer's). It is admitted:
    /// unit attentions, reservations and reserved bits have been checked.
    Pass(PassedCommand),
}

/// One block-to-block segment of EXTENDED COPY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySegment {
    /// The NAA designator of the source unit (VPD page 0x83).
    pub from: [u8; 16],
    /// The source blocks.
    pub source: BlockRange,
    /// The NAA designator of the destination unit.
    pub to: [u8; 16],
    /// The first destination block.
    pub lba: u64,
}

impl Medium {
    /// Bytes that the initiator must send first.
    pub fn bytes_in(&self, block: u32) -> u64 {
        if let Medium::Pass(passed) = self {
            return u64::from(passed.data_out);
        }
        let blocks = match self {
            Medium::Write { to, .. } | Medium::WriteVerify { to, .. } => to.blocks,
            Medium::Compare { one: true, .. } | Medium::Same { zero: false, .. } => 1,
            Medium::Compare { with, .. } => with.blocks,
            Medium::CompareAndWrite { at, .. } => 2 * at.blocks,
            Medium::Or { at, .. } => at.blocks,
            _ => 0,
        };
        blocks * u64::from(block)
    }
}
