//! A client of tape drives and medium changers, without the kernel: one session, one command at a time but for writes, and sense
//! data with FILEMARK, EOM, ILI and the residue as the drive sent them.

use super::client::{
    CHECK_CONDITION, Client, CommandData, CommandError, GOOD, RESERVATION_CONFLICT,
};
use super::dial::Call;
use super::link::Buffers;
use super::lun::fresh_isid;
use super::url::Url;
use super::{fresh_call, initiator_name};
use disk::Unreachable;
use iscsi::initiator::{Cdb, Command, CommandEnd, SenseData, Transfer};
use iscsi::pdu::{Isid, Lun, TaskAttribute};

/// Writes that may be under way at once.
pub(super) const WRITES: usize = 4;

/// The blocks of the writes that are under way, by their slots.
pub(super) type BlocksUnderWay<'a> = [Option<&'a [u8]>; WRITES];

/// Data of a command.
#[derive(Debug)]
pub enum TapeData<'a> {
    /// None.
    None,
    /// Room for what comes.
    In(&'a mut [u8]),
    /// What is sent.
    Out(&'a [u8]),
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TapeReply {
    /// Bytes that were moved.
    pub moved: usize,
    /// Sense data; `None`: GOOD.
    pub sense: Option<SenseData>,
}

/// What a read found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapeRead {
    /// A block with this many bytes, all of which were read.
    Block(usize),
    /// A filemark.
    Filemark,
    /// The end of the recorded data.
    End,
}

/// A session with one unit.
pub struct TapeClient {
    client: Client,
    lun: Lun,
}

impl TapeClient {
    /// Logs in to the unit of a URL (`iscsi://HOST/TARGET/LUN`).
    /// # Errors
    /// The URL is invalid, or the target cannot be reached.
    pub fn open(url: &str) -> Result<TapeClient, Unreachable> {
        TapeClient::open_as(url, &initiator_name())
    }

    /// The same as an initiator with a name of its own.
    /// # Errors
    /// As [`TapeClient::open`].
    pub fn open_as(url: &str, initiator: &str) -> Result<TapeClient, Unreachable> {
        TapeClient::open_again(url, initiator, fresh_isid())
    }

    /// The same as the initiator port with this number: a session that it had is over, at once, as the target sees it.
    pub(super) fn open_again(
        url: &str,
        initiator: &str,
        isid: Isid,
    ) -> Result<TapeClient, Unreachable> {
        let url = Url::lun(url).map_err(|e| Unreachable::Url(e.to_string()))?;
        let (Some(target), Some(number)) = (url.target.clone(), url.lun) else {
            return Err(Unreachable::Url("the target's name or the LUN is missing".to_owned()));
        };
        let call = fresh_call(&url, Some(&target), initiator);
        let call = Call { slots: WRITES as u32, isid, ..call };
        let client = Client::new(&call).map_err(|e| Unreachable::Target(e.to_string()))?;
        Ok(TapeClient { client, lun: Lun::new(number) })
    }

    /// Sends any command; a unit attention is an answer like others.
    /// # Errors
    /// The session is lost, or the status is neither GOOD nor CHECK CONDITION.
    pub fn command(&mut self, cdb: &[u8], data: TapeData<'_>) -> Result<TapeReply, CommandError> {
        let mut bytes = [0; 16];
        let len = cdb.len().min(16);
        bytes[..len].copy_from_slice(&cdb[..len]);
        let mut data = match data {
            TapeData::None => CommandData::None,
            TapeData::In([]) | TapeData::Out([]) => CommandData::None,
            TapeData::In(room) => CommandData::In(room),
            TapeData::Out(bytes) => CommandData::Out(bytes),
        };
        TapeReply::of(self.client.once(self.lun, Cdb(bytes), &mut data)?)
    }

    /// Begins to write a block of variable length; `false`: the target takes no more at the moment. The drive executes what is
    /// begun in this order.
    pub(super) fn begin_write(&mut self, slot: usize, len: usize) -> Result<bool, CommandError> {
        let mut cdb = [0; 16];
        cdb[..6].copy_from_slice(&write_of(len));
        let command = Command {
            lun: self.lun,
            cdb: Cdb(cdb),
            transfer: Transfer::Out(len as u32),
            attribute: TaskAttribute::Ordered,
        };
        self.client.begin(slot as u32, &command)
    }

    /// Waits until at least one of the writes that were begun has ended, as [`TapeClient::write`] ends.
    pub(super) fn writes_ended(
        &mut self,
        blocks: &BlocksUnderWay,
        ended: &mut impl FnMut(usize, Result<bool, CommandError>),
    ) -> Result<(), CommandError> {
        self.client.some_ended(blocks, &mut |slot, end| {
            ended(slot as usize, TapeReply::of(end).and_then(TapeReply::written));
        })
    }

    /// Hears all unit attentions that are pending; what they were.
    /// # Errors
    /// As [`TapeClient::command`].
    pub fn attentions(&mut self) -> Result<Vec<u16>, CommandError> {
        let mut heard = Vec::new();
        loop {
            match self.command(&[0; 6], TapeData::None)?.sense {
                Some(sense) if sense.key == SenseData::UNIT_ATTENTION => heard.push(sense.code),
                _ => return Ok(heard),
            }
        }
    }

    /// Writes a block of variable length. With early warning it is written, and the answer is `false`.
    /// # Errors
    /// It is not written.
    pub fn write(&mut self, block: &[u8]) -> Result<bool, CommandError> {
        self.command(&write_of(block.len()), TapeData::Out(block))?.written()
    }

    /// Writes filemarks; with `flush` everything written is durable when it returns. With early warning the answer is `false`.
    /// # Errors
    /// They are not written, or not durable.
    pub fn filemarks(&mut self, count: u32, flush: bool) -> Result<bool, CommandError> {
        let [_, a, b, c] = count.to_be_bytes();
        self.command(&[0x10, u8::from(!flush), a, b, c, 0], TapeData::None)?.written()
    }

    /// Reads the next object. A block longer than `room` is an error.
    /// # Errors
    /// It cannot be read.
    pub fn read(&mut self, room: &mut [u8]) -> Result<TapeRead, CommandError> {
        let [_, a, b, c] = (room.len() as u32).to_be_bytes();
        let reply = self.command(&[0x08, 0, a, b, c, 0], TapeData::In(room))?;
        match reply.sense {
            None => Ok(TapeRead::Block(reply.moved)),
            Some(sense) if sense.stream & 0x80 != 0 => Ok(TapeRead::Filemark),
            Some(sense) if (sense.key, sense.code) == (8, 0x0005) => Ok(TapeRead::End),
            Some(sense) if sense.stream & 0x20 != 0 && sense.key == 0 => {
                let missing = sense.information.map_or(0, |figure| figure as u32 as i32);
                if missing < 0 {
                    return Err(CommandError::Sense(sense));
                }
                Ok(TapeRead::Block(reply.moved))
            }
            Some(sense) => Err(CommandError::Sense(sense)),
        }
    }

    /// Rewinds.
    /// # Errors
    /// There is no medium, or it fails.
    pub fn rewind(&mut self) -> Result<(), CommandError> {
        self.done(&[0x01, 0, 0, 0, 0, 0])
    }

    /// Spaces over blocks (`code` 0), filemarks (1) or to the end of data (3).
    /// # Errors
    /// It ends early, which the sense data describes.
    pub fn space(&mut self, code: u8, count: i64) -> Result<(), CommandError> {
        let mut cdb = [0; 16];
        (cdb[0], cdb[1]) = (0x91, code);
        cdb[4..12].copy_from_slice(&count.to_be_bytes());
        self.done(&cdb)
    }

    /// Goes to an object.
    /// # Errors
    /// There are not so many.
    pub fn locate(&mut self, object: u64) -> Result<(), CommandError> {
        let mut cdb = [0; 16];
        cdb[0] = 0x92;
        cdb[4..12].copy_from_slice(&object.to_be_bytes());
        self.done(&cdb)
    }

    /// Objects and filemarks before the position.
    /// # Errors
    /// There is no medium.
    pub fn position(&mut self) -> Result<(u64, u64), CommandError> {
        let mut bytes = [0; 32];
        let reply = self.command(&[0x34, 6, 0, 0, 0, 0, 0, 0, 0, 0], TapeData::In(&mut bytes))?;
        reply.checked()?;
        let figure = |at: usize| u64::from_be_bytes(std::array::from_fn(|index| bytes[at + index]));
        Ok((figure(8), figure(16)))
    }

    /// Reserves the unit for this session (RESERVE(6)), or gives it back.
    /// # Errors
    /// Another initiator has it.
    pub fn reserve(&mut self, take: bool) -> Result<(), CommandError> {
        self.done(&[if take { 0x16 } else { 0x17 }, 0, 0, 0, 0, 0])
    }

    /// Moves a cartridge from one element of a library to another.
    /// # Errors
    /// It is not moved.
    pub fn move_medium(&mut self, from: u16, to: u16) -> Result<(), CommandError> {
        let ([a, b], [c, d]) = (from.to_be_bytes(), to.to_be_bytes());
        self.done(&[0xa5, 0, 0, 0, a, b, c, d, 0, 0, 0, 0])
    }

    /// A command without data that has to succeed.
    fn done(&mut self, cdb: &[u8]) -> Result<(), CommandError> {
        self.command(cdb, TapeData::None)?.checked()
    }

    /// Keeps robots and others from taking the cartridge out, or lets them (PREVENT ALLOW MEDIUM REMOVAL).
    /// # Errors
    /// The drive does not do it.
    pub fn hold(&mut self, keep: bool) -> Result<(), CommandError> {
        self.done(&[0x1e, 0, 0, 0, u8::from(keep), 0])
    }

    /// What names the cartridge for ever; nothing where the drive does not say.
    /// # Errors
    /// There is no medium.
    pub fn medium(&mut self) -> Result<Vec<u8>, CommandError> {
        let mut bytes = [0; 255];
        let reply =
            self.command(&[0xab, 1, 0, 0, 0, 0, 0, 0, 0, 255, 0, 0], TapeData::In(&mut bytes))?;
        match reply.checked() {
            Ok(()) => Ok(bytes.get(4..reply.moved).unwrap_or_default().to_vec()),
            Err(e) if e.is_unknown() => Ok(Vec::new()),
            Err(e) => Err(e),
        }
    }
}

impl Buffers for BlocksUnderWay<'_> {
    fn slot(&self, slot: u32) -> Option<(*mut u8, usize)> {
        // Only sent from: a session puts data nowhere but where a command reads.
        let block = (*self.get(slot as usize)?)?;
        Some((block.as_ptr().cast_mut(), block.len()))
    }
}

/// WRITE(6) of a block of variable length.
fn write_of(len: usize) -> [u8; 6] {
    let [_, a, b, c] = (len as u32).to_be_bytes();
    [0x0a, 0, a, b, c, 0]
}

impl TapeReply {
    fn of(end: CommandEnd) -> Result<TapeReply, CommandError> {
        match end {
            CommandEnd::Status { status: GOOD, moved, .. } => {
                Ok(TapeReply { moved: moved as usize, sense: None })
            }
            CommandEnd::Status { status: CHECK_CONDITION, moved, sense, .. } => {
                let sense = Some(sense.unwrap_or_default());
                Ok(TapeReply { moved: moved as usize, sense })
            }
            CommandEnd::Status { status: RESERVATION_CONFLICT, .. } => Err(CommandError::Reserved),
            CommandEnd::Status { status, .. } => Err(CommandError::Status(status)),
            other => Err(CommandError::Failed(format!("{other:?}"))),
        }
    }

    /// Whether it is written with room behind it (`true`), or beyond early warning.
    fn written(self) -> Result<bool, CommandError> {
        match self.sense {
            None => Ok(true),
            Some(sense) if sense.key == 0 && sense.stream & 0x40 != 0 => Ok(false),
            Some(sense) => Err(CommandError::Sense(sense)),
        }
    }

    /// GOOD, or the reason why not.
    fn checked(self) -> Result<(), CommandError> {
        self.sense.map_or(Ok(()), |sense| Err(CommandError::Sense(sense)))
    }
}
