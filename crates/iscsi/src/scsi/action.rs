//! The joint between the device server, which decides what a command means, and the volume, which carries it out.

use super::{Nexus, Sense};

/// Consecutive logical blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// The first block.
    pub lba: u64,
    /// How many; may be zero.
    pub blocks: u64,
}

/// A SCSI status (SAM-5, 5.3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Status {
    /// The command did what it says.
    Good = 0x00,
    /// Sense data tells what happened.
    CheckCondition = 0x02,
    /// PREFETCH with room in the cache.
    ConditionMet = 0x04,
    /// Try again later.
    Busy = 0x08,
    /// Another nexus holds a reservation that forbids it.
    ReservationConflict = 0x18,
    /// More commands than the logical unit takes.
    TaskSetFull = 0x28,
    /// The task was aborted by another nexus, and the control mode page asks to say so (TAS).
    TaskAborted = 0x40,
}

/// How a command ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ending {
    /// The status byte.
    pub status: Status,
    /// Present if, and only if, the status is CHECK CONDITION.
    pub sense: Option<Sense>,
}

impl Ending {
    /// The command did what it says.
    pub const GOOD: Ending = Ending { status: Status::Good, sense: None };

    /// CHECK CONDITION with its sense data.
    pub const fn check(sense: Sense) -> Ending {
        Ending { status: Status::CheckCondition, sense: Some(sense) }
    }

    /// A status that comes without sense data.
    pub const fn bare(status: Status) -> Ending {
        Ending { status, sense: None }
    }
}

/// What is to be done about a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Nothing moves.
    End(Ending),
    /// These bytes go to the initiator, already cut at the command's allocation length; the command ends in GOOD.
    Reply(Vec<u8>),
    /// The device server needs this many bytes of parameters from the initiator (never more than 64 KiB), and then
    /// decides again. Fewer, because the initiator expected to send less, are handed over as they are.
    Parameters(u32),
    /// A volume is to do this.
    Medium(Medium),
    /// The command ends in GOOD at once, and a volume is to do this afterwards, whatever becomes of the session (IMMED).
    Background(Medium),
    /// EXTENDED COPY: [`Medium::Copy`] is to be done, and [`super::Unit::copied`] is told how it ended.
    Copy {
        /// The list identifier, under which the initiator asks what it came to.
        list: u8,
        /// What is copied.
        segments: Vec<CopySegment>,
    },
    /// PERSISTENT RESERVE OUT took effect. Before the command ends in GOOD its owner does what is told here.
    Reserved {
        /// What is kept over a restart changed: [`super::Unit::kept`] yields it, empty if there is nothing to keep.
        keep: bool,
        /// The commands of these nexuses on this unit are aborted (PREEMPT AND ABORT).
        abort: Vec<Nexus>,
    },
}

/// What a volume is asked to do. Extents lie within the volume, and what may not be written is not asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Medium {
    /// Blocks go to the initiator.
    Read(Extent),
    /// Blocks come from the initiator. `durable` (FUA): on the backing store before the command ends.
    Write {
        /// Where to.
        to: Extent,
        /// FUA.
        durable: bool,
    },
    /// Blocks come from the initiator, are written, and compared with what is then read (WRITE AND VERIFY); `compare`
    /// is false where the blocks need only be readable. Always durable.
    WriteVerify {
        /// Where to.
        to: Extent,
        /// BYTCHK.
        compare: bool,
    },
    /// The blocks are readable; nothing moves.
    Verify(Extent),
    /// Blocks come from the initiator and are compared; a difference is MISCOMPARE with the offset in `information`.
    /// `one`: a single block comes, and every block of the extent is compared with it (BYTCHK 11b).
    Compare {
        /// What is compared.
        with: Extent,
        /// BYTCHK 11b.
        one: bool,
    },
    /// Twice the extent's blocks come: the first half is compared, and where it is equal the second half is written, with
    /// nothing in between (COMPARE AND WRITE).
    CompareAndWrite {
        /// Where.
        at: Extent,
        /// FUA.
        durable: bool,
    },
    /// Blocks come from the initiator and are or-ed into those of the volume (ORWRITE), with nothing in between.
    Or {
        /// Where.
        at: Extent,
        /// FUA.
        durable: bool,
    },
    /// One block comes, unless `zero`, and is written all over the extent (WRITE SAME). `unmap`, which is asked of thin
    /// volumes only: whatever came, the space is given back and reads as zeros. SBC-3 would have other data written;
    /// deployed targets do not, and initiators rely on it.
    Same {
        /// Where.
        to: Extent,
        /// No block comes; zeros are written (NDOB).
        zero: bool,
        /// UNMAP bit.
        unmap: bool,
        /// The volatile cache is off.
        durable: bool,
    },
    /// Space is given back; the blocks read as zeros afterwards (LBPRZ).
    Unmap(Vec<Extent>),
    /// What was written there is on the backing store before the command ends. An extent of no blocks: up to the end.
    Sync(Extent),
    /// The blocks will be wanted soon. Ends at once.
    Prefetch(Extent),
    /// The parameter data of GET LBA STATUS, starting at a block, at most so many bytes.
    LbaStatus {
        /// The first block that is asked about.
        lba: u64,
        /// The allocation length.
        len: u32,
    },
    /// Blocks are copied within this target (EXTENDED COPY), durably. Units are named by their designators.
    Copy(Vec<CopySegment>),
    /// Everything is overwritten with zeros, or given back on a thin volume (SANITIZE). No reset and no abort stops it, nor
    /// the end of the session; when it has ended, [`super::Unit::sanitized`] is told how. Initiators watch it for seconds,
    /// so overwriting is not hurried.
    Sanitize {
        /// The initiator's pattern, one block or less, repeated all over (OVERWRITE); empty: zeros.
        pattern: Vec<u8>,
    },
}

/// One block-to-block segment of EXTENDED COPY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySegment {
    /// The NAA designator of the unit that is read (VPD page 0x83).
    pub from: [u8; 16],
    /// What is read.
    pub source: Extent,
    /// The NAA designator of the unit that is written.
    pub to: [u8; 16],
    /// The first block that is written.
    pub lba: u64,
}

impl Medium {
    /// Bytes that come from the initiator before this can be done.
    pub fn bytes_in(&self, block: u32) -> u64 {
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
