//! What a command of a drive or of the changer ends in.

use clock::Ns;
use iscsi::scsi::{Ending, Sense, SenseKey, UnitAttention};

/// The end of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Status and sense data.
    pub ending: Ending,
    /// Bytes that were put into the initiator's room; with sense data, too.
    pub moved: usize,
    /// The moment at which a real drive would have ended it; zero: at once.
    pub at: Ns,
    /// Unit attentions that it causes.
    pub notices: Vec<Notice>,
}

/// A unit attention for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Notice {
    /// What happened.
    pub attention: UnitAttention,
    /// Who is to hear of it.
    pub to: NoticeTo,
}

/// Who hears of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeTo {
    /// The other nexuses of the same unit.
    Others,
    /// All nexuses of a drive, by its number.
    Drive(usize),
}

/// What a command's function returns: bytes moved, or how it failed.
pub(crate) type Outcome = Result<usize, Failed>;

/// A failure, perhaps after bytes were moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub sense: Sense,
    pub moved: usize,
}

impl From<Sense> for Failed {
    fn from(sense: Sense) -> Failed {
        Failed { sense, moved: 0 }
    }
}

impl Answer {
    /// The answer of an outcome.
    pub(crate) fn of(outcome: Outcome, at: Ns, notices: Vec<Notice>) -> Answer {
        let (ending, moved) = match outcome {
            Ok(moved) => (Ending::GOOD, moved),
            Err(failed) => (Ending::check(failed.sense), failed.moved),
        };
        Answer { ending, moved, at, notices }
    }
}

/// Puts an answer into the initiator's room, cut to the allocation length.
pub(crate) fn reply(bytes: &[u8], allocation: usize, room: &mut [u8]) -> Outcome {
    let len = bytes.len().min(allocation).min(room.len());
    room[..len].copy_from_slice(&bytes[..len]);
    Ok(len)
}

/// ILLEGAL REQUEST with a code.
pub(crate) const fn illegal(code: u16) -> Sense {
    Sense::new(SenseKey::IllegalRequest, code)
}

/// INVALID FIELD IN CDB.
pub(crate) const fn invalid_field(byte: u16) -> Sense {
    illegal(0x2400).at_cdb(byte, None)
}

/// INVALID FIELD IN PARAMETER LIST.
pub(crate) const fn invalid_parameter(byte: u16) -> Sense {
    illegal(0x2600).at_parameter(byte)
}

/// PARAMETER LIST LENGTH ERROR.
pub(crate) const SHORT_LIST: Sense = illegal(0x1a00);

/// Two bytes, most significant first.
pub(crate) fn be16(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |b| u16::from_be_bytes([b[0], b[1]]))
}

/// Three bytes, most significant first.
pub(crate) fn be24(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 3).map_or(0, |b| u32::from_be_bytes([0, b[0], b[1], b[2]]))
}

/// Four bytes, most significant first.
pub(crate) fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from(be16(bytes, at)) << 16 | u32::from(be16(bytes, at + 2))
}

/// Eight bytes, most significant first.
pub(crate) fn be64(bytes: &[u8], at: usize) -> u64 {
    u64::from(be32(bytes, at)) << 32 | u64::from(be32(bytes, at + 4))
}
