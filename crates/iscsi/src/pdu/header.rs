//! Common parts of all headers (RFC 7143, section 11.2): 48 bytes, lengths, padding, tags, logical unit numbers.

use super::{Malformed, Opcode};

/// Bytes of a basic header segment.
pub const BHS_LEN: usize = 48;
/// Most bytes of additional header segments in one PDU: 255 words.
pub const MAX_AHS: usize = 255 * 4;
/// Most bytes of a data segment: its length has 24 bits.
pub const MAX_DATA: u32 = 0x00ff_ffff;
/// The reserved tag, which matches no task.
pub const RESERVED_TAG: u32 = 0xffff_ffff;

/// A basic header segment in wire format.
pub type Bhs = [u8; BHS_LEN];

/// The bit of the first byte that requests immediate delivery.
pub(super) const IMMEDIATE: u8 = 0x40;
/// The bit of the second byte that ends a sequence (F).
pub(super) const FINAL: u8 = 0x80;
/// The bit of the second byte for text that continues in the next PDU (C).
pub(super) const CONTINUE: u8 = 0x40;

/// The lengths of a PDU's parts after the basic header, available before the header is parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lengths {
    /// Bytes of additional header segments; a multiple of 4, at most [`MAX_AHS`].
    pub ahs: usize,
    /// Bytes of data, without padding; at most [`MAX_DATA`].
    pub data: u32,
}

impl Lengths {
    /// Reads them from a header.
    pub fn of(bhs: &Bhs) -> Lengths {
        Lengths { ahs: usize::from(bhs[4]) * 4, data: be32(bhs, 4) & MAX_DATA }
    }

    /// Bytes of the whole PDU: headers, data, padding and digests.
    pub fn total(self, header_digest: bool, data_digest: bool) -> usize {
        let data = self.data as usize;
        let data_digest = if data_digest && data > 0 { 4 } else { 0 };
        let header_digest = if header_digest { 4 } else { 0 };
        BHS_LEN + self.ahs + header_digest + data + usize::from(pad(self.data)) + data_digest
    }
}

/// Bytes of padding after `len` bytes up to a whole word: 0 to 3.
pub const fn pad(len: u32) -> u8 {
    (len.wrapping_neg() & 3) as u8
}

/// The opcode of a header.
/// # Errors
/// RFC 7143 does not define the opcode.
pub fn opcode(bhs: &Bhs) -> Result<Opcode, Malformed> {
    let code = bhs[0] & 0x3f;
    Opcode::from_code(code).ok_or(Malformed::Opcode(code))
}

/// The initiator task tag, which has the same offset in every header, so a Reject needs no further parsing.
pub fn task_tag(bhs: &Bhs) -> u32 {
    be32(bhs, 16)
}

/// A logical unit number in the eight-byte format of SAM-5.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Lun(pub u64);

impl Lun {
    /// The LUN of a unit below 16,384: peripheral addressing up to 255, flat addressing above.
    pub const fn new(number: u16) -> Lun {
        let number = number & 0x3fff;
        let method = if number < 256 { 0 } else { 0x4000 };
        Lun(((method | number) as u64) << 48)
    }

    /// The number of the unit; `None` for an addressing method, level or bus other than a single-level target's.
    pub const fn number(self) -> Option<u16> {
        let (first, rest) = ((self.0 >> 48) as u16, self.0 << 16);
        match (first >> 14, rest) {
            (0, 0) if first < 256 => Some(first),
            (1, 0) => Some(first & 0x3fff),
            _ => None,
        }
    }
}

/// The sequence numbers in every response of a target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sequence {
    /// StatSN of this status; of the next one if the PDU carries none.
    pub stat_sn: u32,
    /// ExpCmdSN.
    pub exp_cmd_sn: u32,
    /// MaxCmdSN.
    pub max_cmd_sn: u32,
}

impl Sequence {
    pub(super) fn parse(bhs: &Bhs) -> Sequence {
        let (stat_sn, exp_cmd_sn, max_cmd_sn) = (be32(bhs, 24), be32(bhs, 28), be32(bhs, 32));
        Sequence { stat_sn, exp_cmd_sn, max_cmd_sn }
    }

    pub(super) fn put(self, bhs: &mut Bhs) {
        put32(bhs, 24, self.stat_sn);
        put32(bhs, 28, self.exp_cmd_sn);
        put32(bhs, 32, self.max_cmd_sn);
    }
}

/// Whether `a` comes before `b` in serial number arithmetic of 32 bits (RFC 1982, used by RFC 7143, section 4.2.2.1).
pub const fn precedes(a: u32, b: u32) -> bool {
    (b.wrapping_sub(a) as i32) > 0
}

pub(super) fn be16(bhs: &Bhs, at: usize) -> u16 {
    u16::from_be_bytes([bhs[at], bhs[at + 1]])
}

pub(super) fn be32(bhs: &Bhs, at: usize) -> u32 {
    u32::from_be_bytes([bhs[at], bhs[at + 1], bhs[at + 2], bhs[at + 3]])
}

pub(super) fn lun(bhs: &Bhs) -> Lun {
    Lun(u64::from(be32(bhs, 8)) << 32 | u64::from(be32(bhs, 12)))
}

pub(super) fn put16(bhs: &mut Bhs, at: usize, value: u16) {
    bhs[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

pub(super) fn put32(bhs: &mut Bhs, at: usize, value: u32) {
    bhs[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

pub(super) fn put_lun(bhs: &mut Bhs, lun: Lun) {
    bhs[8..16].copy_from_slice(&lun.0.to_be_bytes());
}

/// A header with its opcode, its second byte and the length of its data (truncated to 24 bits).
pub(super) fn begin(opcode: Opcode, immediate: bool, flags: u8, data_len: u32) -> Bhs {
    debug_assert!(data_len <= MAX_DATA, "a data segment of {data_len} bytes");
    let mut bhs = [0; BHS_LEN];
    put32(&mut bhs, 4, data_len & MAX_DATA);
    bhs[0] = opcode.code() | if immediate { IMMEDIATE } else { 0 };
    bhs[1] = flags;
    bhs
}

/// `mask` if the flag is set, otherwise 0.
pub(super) const fn bit(mask: u8, set: bool) -> u8 {
    if set { mask } else { 0 }
}
