//! SCSI commands and responses (RFC 7143, sections 11.2.2, 11.3 and 11.4), and additional header segments, which only
//! commands have: long CDBs, and the read length of a bidirectional command.

use super::header::{FINAL, IMMEDIATE, be32, begin, bit, lun, put_lun, put32};
use super::{Bhs, Lun, Malformed, Opcode, Sequence, ServiceResponse, TaskAttribute};

const READ: u8 = 0x40;
const WRITE: u8 = 0x20;
const ATTRIBUTE: u8 = 0x07;
const AHS_EXTENDED_CDB: u8 = 1;
const AHS_READ_LENGTH: u8 = 2;

/// The longest CDB: variable length (SPC-4).
pub const MAX_CDB: usize = 260;

/// A command descriptor block: 16 bytes in the header, up to [`MAX_CDB`] with an additional header segment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cdb {
    short: [u8; 16],
    /// The complete CDB, if it is longer than 16 bytes.
    long: Option<Box<[u8]>>,
}

impl From<[u8; 16]> for Cdb {
    fn from(short: [u8; 16]) -> Cdb {
        Cdb { short, long: None }
    }
}

impl Cdb {
    /// A CDB of these bytes, zero-padded to 16; `None` if there are more than [`MAX_CDB`].
    pub fn new(bytes: &[u8]) -> Option<Cdb> {
        if bytes.len() > MAX_CDB {
            return None;
        }
        let mut short = [0; 16];
        let head = bytes.len().min(16);
        short[..head].copy_from_slice(&bytes[..head]);
        Some(Cdb { short, long: (bytes.len() > 16).then(|| bytes.into()) })
    }

    /// The complete CDB, at least 16 bytes.
    pub fn bytes(&self) -> &[u8] {
        self.long.as_deref().unwrap_or(&self.short)
    }

    /// The bytes beyond the header.
    fn tail(&self) -> &[u8] {
        self.long.as_deref().map_or(&[], |long| &long[16..])
    }
}

/// The difference between a transfer and the length that the initiator expected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Residual {
    /// None.
    #[default]
    None,
    /// Underflow: this many bytes of the expected length were not transferred.
    Underflow(u32),
    /// Overflow: this many more bytes would have been transferred.
    Overflow(u32),
}

impl Residual {
    pub(super) fn parse(
        over: bool,
        under: bool,
        count: u32,
        opcode: Opcode,
    ) -> Result<Residual, Malformed> {
        match (over, under) {
            (false, false) => Ok(Residual::None),
            (false, true) => Ok(Residual::Underflow(count)),
            (true, false) => Ok(Residual::Overflow(count)),
            (true, true) => Err(Malformed::field(opcode, "O and U", 3)),
        }
    }

    /// The two flags, shifted to their position, and the count.
    pub(super) fn parts(self, over: u8, under: u8) -> (u8, u32) {
        match self {
            Residual::None => (0, 0),
            Residual::Underflow(count) => (under, count),
            Residual::Overflow(count) => (over, count),
        }
    }
}

/// A SCSI command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScsiCommand {
    /// Immediate delivery.
    pub immediate: bool,
    /// No unsolicited Data-Out PDU follows.
    pub is_final: bool,
    /// The command reads: data goes to the initiator.
    pub read: bool,
    /// The command writes: data comes from the initiator.
    pub write: bool,
    /// The task attribute.
    pub attribute: TaskAttribute,
    /// The logical unit.
    pub lun: Lun,
    /// The initiator task tag.
    pub task_tag: u32,
    /// Expected transfer length in bytes; of the write, for a bidirectional command.
    pub expected_len: u32,
    /// Expected read length in bytes, for a bidirectional command.
    pub read_len: Option<u32>,
    /// CmdSN.
    pub cmd_sn: u32,
    /// ExpStatSN on this connection.
    pub exp_stat_sn: u32,
    /// The CDB.
    pub cdb: Cdb,
    /// Bytes of immediate data.
    pub data_len: u32,
}

impl ScsiCommand {
    pub(super) const OPCODE: Opcode = Opcode::ScsiCommand;

    pub(super) fn parse(bhs: &Bhs, ahs: &[u8]) -> Result<ScsiCommand, Malformed> {
        let wrong = |field, value: u32| Malformed::field(Self::OPCODE, field, value);
        let flags = bhs[1];
        let (read, write) = (flags & READ != 0, flags & WRITE != 0);
        let is_final = flags & FINAL != 0;
        let (expected_len, data_len) = (be32(bhs, 20), super::Lengths::of(bhs).data);
        let attribute = TaskAttribute::from_code(flags & ATTRIBUTE)
            .ok_or_else(|| wrong("ATTR", u32::from(flags & ATTRIBUTE)))?;
        if !write && !is_final {
            return Err(wrong("F without W", 0));
        }
        if !write && !read && expected_len != 0 {
            return Err(wrong("ExpectedDataTransferLength without R and W", expected_len));
        }
        if data_len > 0 && !write {
            return Err(wrong("DataSegmentLength", data_len));
        }
        let segments = Segments::parse(ahs)?;
        if segments.read_len.is_some() && !(read && write) {
            return Err(Malformed::Ahs {
                opcode: Self::OPCODE,
                what: "a bidirectional read length without R and W",
            });
        }
        let mut cdb = [0; MAX_CDB];
        cdb[..16].copy_from_slice(&bhs[32..48]);
        let len = 16 + segments.cdb_tail.len();
        cdb[16..len].copy_from_slice(segments.cdb_tail);
        Ok(ScsiCommand {
            immediate: bhs[0] & IMMEDIATE != 0,
            is_final,
            read,
            write,
            attribute,
            lun: lun(bhs),
            task_tag: be32(bhs, 16),
            expected_len,
            read_len: segments.read_len,
            cmd_sn: be32(bhs, 24),
            exp_stat_sn: be32(bhs, 28),
            cdb: Cdb::new(&cdb[..len]).ok_or_else(|| wrong("CDB", len as u32))?,
            data_len,
        })
    }

    /// The basic header. [`ScsiCommand::put_ahs`] writes its additional segments.
    pub fn encode(&self) -> Bhs {
        let flags = bit(FINAL, self.is_final)
            | bit(READ, self.read)
            | bit(WRITE, self.write)
            | self.attribute.code();
        let mut bhs = begin(Self::OPCODE, self.immediate, flags, self.data_len);
        bhs[4] = (self.ahs_len() / 4) as u8;
        put_lun(&mut bhs, self.lun);
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.expected_len);
        put32(&mut bhs, 24, self.cmd_sn);
        put32(&mut bhs, 28, self.exp_stat_sn);
        bhs[32..48].copy_from_slice(&self.cdb.short);
        bhs
    }

    /// Bytes of additional header segments; a multiple of 4.
    pub fn ahs_len(&self) -> usize {
        let tail = self.cdb.tail().len();
        let cdb = if tail > 0 { (4 + tail).next_multiple_of(4) } else { 0 };
        cdb + if self.read_len.is_some() { 8 } else { 0 }
    }

    /// Appends the additional header segments.
    pub fn put_ahs(&self, out: &mut Vec<u8>) {
        let tail = self.cdb.tail();
        if !tail.is_empty() {
            // The length includes the reserved byte, which is in the segment's first word.
            out.extend((tail.len() as u16 + 1).to_be_bytes());
            out.extend([AHS_EXTENDED_CDB, 0]);
            out.extend(tail);
            out.extend(&[0; 3][..tail.len().next_multiple_of(4) - tail.len()]);
        }
        if let Some(read_len) = self.read_len {
            out.extend([0, 5, AHS_READ_LENGTH, 0]);
            out.extend(read_len.to_be_bytes());
        }
    }
}

/// The content of the additional header segments.
#[derive(Default)]
struct Segments<'a> {
    cdb_tail: &'a [u8],
    read_len: Option<u32>,
}

impl<'a> Segments<'a> {
    fn parse(mut ahs: &'a [u8]) -> Result<Segments<'a>, Malformed> {
        let wrong = |what| Malformed::Ahs { opcode: Opcode::ScsiCommand, what };
        let mut found = Segments::default();
        while !ahs.is_empty() {
            let [high, low, kind, _reserved, rest @ ..] = ahs else {
                return Err(wrong("a segment is cut off"));
            };
            let len = usize::from(u16::from_be_bytes([*high, *low]));
            let body = len.checked_sub(1).ok_or_else(|| wrong("a segment has no length"))?;
            let (body, rest) = rest
                .split_at_checked(body.next_multiple_of(4))
                .map(|(padded, rest)| (&padded[..body], rest))
                .ok_or_else(|| wrong("a segment is longer than all of them"))?;
            match kind & 0x3f {
                AHS_EXTENDED_CDB if !found.cdb_tail.is_empty() => {
                    return Err(wrong("two extended CDBs"));
                }
                AHS_EXTENDED_CDB if body.is_empty() || body.len() > MAX_CDB - 16 => {
                    return Err(wrong("an extended CDB that is empty or longer than 260 bytes"));
                }
                AHS_EXTENDED_CDB => found.cdb_tail = body,
                AHS_READ_LENGTH if found.read_len.is_some() => {
                    return Err(wrong("two bidirectional read lengths"));
                }
                AHS_READ_LENGTH => {
                    let len = body.try_into().map_err(|_| wrong("a read length not of 4 bytes"))?;
                    found.read_len = Some(u32::from_be_bytes(len));
                }
                _ => return Err(wrong("a segment of an unknown type")),
            }
            ahs = rest;
        }
        Ok(found)
    }
}

const READ_OVER: u8 = 0x10;
const READ_UNDER: u8 = 0x08;
const OVER: u8 = 0x04;
const UNDER: u8 = 0x02;

/// The response to a SCSI command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScsiResponse {
    /// Whether the device server has answered.
    pub response: ServiceResponse,
    /// The SCSI status; only meaningful after an answer of the device server.
    pub status: u8,
    /// The initiator task tag.
    pub task_tag: u32,
    /// The tag for a data SNACK; 0 at error recovery level 0.
    pub snack_tag: u32,
    /// The usual numbers.
    pub sequence: Sequence,
    /// ExpDataSN: the number of the task's R2T and Data-In PDUs.
    pub exp_data_sn: u32,
    /// The residual of a bidirectional command's read.
    pub read_residual: Residual,
    /// The residual.
    pub residual: Residual,
    /// Bytes of the data segment: [`sense_segment`] and more.
    pub data_len: u32,
}

impl ScsiResponse {
    pub(super) const OPCODE: Opcode = Opcode::ScsiResponse;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<ScsiResponse, Malformed> {
        let has = |mask| bhs[1] & mask != 0;
        Ok(ScsiResponse {
            response: ServiceResponse::from_code(bhs[2]).ok_or(Malformed::field(
                Self::OPCODE,
                "Response",
                u32::from(bhs[2]),
            ))?,
            status: bhs[3],
            task_tag: be32(bhs, 16),
            snack_tag: be32(bhs, 20),
            sequence: Sequence::parse(bhs),
            exp_data_sn: be32(bhs, 36),
            read_residual: Residual::parse(
                has(READ_OVER),
                has(READ_UNDER),
                be32(bhs, 40),
                Self::OPCODE,
            )?,
            residual: Residual::parse(has(OVER), has(UNDER), be32(bhs, 44), Self::OPCODE)?,
            data_len: super::Lengths::of(bhs).data,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let (read_flags, read_count) = self.read_residual.parts(READ_OVER, READ_UNDER);
        let (flags, count) = self.residual.parts(OVER, UNDER);
        let mut bhs = begin(Self::OPCODE, false, FINAL | read_flags | flags, self.data_len);
        bhs[2] = self.response.code();
        bhs[3] = self.status;
        put32(&mut bhs, 16, self.task_tag);
        put32(&mut bhs, 20, self.snack_tag);
        self.sequence.put(&mut bhs);
        put32(&mut bhs, 36, self.exp_data_sn);
        put32(&mut bhs, 40, read_count);
        put32(&mut bhs, 44, count);
        bhs
    }
}

/// The sense data in the data segment of a response or asynchronous message, where its length in two bytes precedes
/// it (section 11.4.7.2). `None` if the segment is truncated.
pub fn sense_segment(segment: &[u8]) -> Option<&[u8]> {
    let (len, rest) = segment.split_first_chunk::<2>()?;
    rest.get(..usize::from(u16::from_be_bytes(*len)))
}
