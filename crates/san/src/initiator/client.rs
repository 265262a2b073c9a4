//! Synchronous commands of the control plane to a LUN, one at a time. A unit attention is consumed and the command retried;
//! a busy target is retried for a while.

use super::dial::{Call, DialError};
use super::link::{Buffers, Link, Lost};
use clock::Ns;
use iscsi::initiator::{Cdb, Command, CommandEnd, Event, Refused, SenseData, Transfer};
use iscsi::pdu::{Lun, TaskAttribute};
use std::cell::Cell;
use std::io;
use thiserror::Error;

/// How long a command of the control plane may take.
const LIMIT: Ns = Ns::secs(30);

/// How often a command is sent again because of a unit attention: there may be one for each thing that happened.
const ATTENTIONS: u32 = 16;

/// How long a busy target is asked again, and how often.
const BUSY_PAUSE: Ns = Ns::millis(50);
const BUSY_TRIES: u32 = 100;

/// SCSI statuses.
pub(super) const GOOD: u8 = 0x00;
pub(super) const CHECK_CONDITION: u8 = 0x02;
pub(super) const BUSY: u8 = 0x08;
pub(super) const RESERVATION_CONFLICT: u8 = 0x18;
pub(super) const TASK_SET_FULL: u8 = 0x28;

/// Why a command did not do what it says.
#[derive(Debug, Error)]
pub enum CommandError {
    /// The connection is gone.
    #[error(transparent)]
    Lost(#[from] Lost),
    /// No connection can be made again.
    #[error(transparent)]
    Dial(#[from] DialError),
    /// The target says why.
    #[error("{0}")]
    Sense(SenseData),
    /// Another holds a reservation.
    #[error("another initiator holds a reservation")]
    Reserved,
    /// Another status.
    #[error("it answers with status {0:#04x}")]
    Status(u8),
    /// The target could not carry the command, or refused it.
    #[error("the target does not carry the command ({0})")]
    Failed(String),
    /// Nothing came in time.
    #[error("it did not answer within {} s", LIMIT.0 / 1_000_000_000)]
    Slow,
    /// The session takes no command.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// An answer makes no sense.
    #[error("its answer to {0} is invalid")]
    Nonsense(&'static str),
}

impl CommandError {
    /// Whether the target knows no such command, or not this way of it.
    pub fn is_unknown(&self) -> bool {
        // ILLEGAL REQUEST: invalid command operation code, or invalid field in CDB.
        matches!(self, CommandError::Sense(sense) if sense.key == 5 && matches!(sense.code, 0x2000 | 0x2400))
    }
}

impl From<CommandError> for io::Error {
    fn from(e: CommandError) -> io::Error {
        let kind = match &e {
            CommandError::Lost(Lost::Io(e)) => e.kind(),
            CommandError::Reserved => io::ErrorKind::ResourceBusy,
            CommandError::Slow => io::ErrorKind::TimedOut,
            _ => io::ErrorKind::Other,
        };
        io::Error::new(kind, e)
    }
}

/// Data of the one command that is under way.
pub(super) enum CommandData<'a> {
    None,
    In(&'a mut [u8]),
    Out(&'a [u8]),
}

/// A session whose commands are waited for.
pub(super) struct Client {
    /// There until it is taken out.
    link: Option<Link>,
}

/// The buffer of slot 0.
struct ClientBuffer(Cell<(*mut u8, usize)>);

impl Buffers for ClientBuffer {
    fn slot(&self, slot: u32) -> Option<(*mut u8, usize)> {
        (slot == 0).then(|| self.0.get())
    }
}

impl Client {
    /// Logs in.
    pub fn new(call: &Call) -> Result<Client, DialError> {
        Ok(Client::of(call.enter()?.0))
    }

    /// Over a session on which no command is under way.
    pub fn of(link: Link) -> Client {
        Client { link: Some(link) }
    }

    /// The session, for other uses.
    pub fn into_link(mut self) -> Result<Link, Lost> {
        self.link.take().ok_or(Lost::Closed)
    }

    fn link(&mut self) -> Result<&mut Link, Lost> {
        self.link.as_mut().ok_or(Lost::Closed)
    }

    /// Sends a command and waits for its end. Returns how many bytes were moved.
    pub fn execute(
        &mut self,
        lun: Lun,
        cdb: Cdb,
        mut data: CommandData,
    ) -> Result<u32, CommandError> {
        let (mut attentions, mut busy) = (0, 0);
        loop {
            match self.once(lun, cdb, &mut data)? {
                CommandEnd::Status { status: GOOD, moved, .. } => return Ok(moved),
                CommandEnd::Status { status: CHECK_CONDITION, sense, .. } => {
                    let sense = sense.unwrap_or_default();
                    attentions += 1;
                    if sense.key != SenseData::UNIT_ATTENTION || attentions > ATTENTIONS {
                        return Err(CommandError::Sense(sense));
                    }
                }
                CommandEnd::Status { status: RESERVATION_CONFLICT, .. } => {
                    return Err(CommandError::Reserved);
                }
                CommandEnd::Status { status: status @ (BUSY | TASK_SET_FULL), .. } => {
                    busy += 1;
                    if busy > BUSY_TRIES {
                        return Err(CommandError::Status(status));
                    }
                    clock::sleep_until(clock::now().plus(BUSY_PAUSE));
                }
                CommandEnd::Status { status, .. } => return Err(CommandError::Status(status)),
                other => return Err(CommandError::Failed(format!("{other:?}"))),
            }
        }
    }

    /// The answer to a command, as long as it is.
    pub fn ask(&mut self, lun: Lun, cdb: Cdb, len: usize) -> Result<Vec<u8>, CommandError> {
        let mut answer = vec![0; len];
        let moved = self.execute(lun, cdb, CommandData::In(&mut answer))?;
        answer.truncate(moved as usize);
        Ok(answer)
    }

    /// Sends a command once, and waits for its end, whatever that is.
    pub(super) fn once(
        &mut self,
        lun: Lun,
        cdb: Cdb,
        data: &mut CommandData,
    ) -> Result<CommandEnd, CommandError> {
        let (transfer, place) = match data {
            CommandData::None => (Transfer::None, (std::ptr::null_mut(), 0)),
            CommandData::In(buffer) => {
                (Transfer::In(buffer.len() as u32), (buffer.as_mut_ptr(), buffer.len()))
            }
            // Only sent from: a session puts data nowhere but where a command reads.
            CommandData::Out(bytes) => {
                (Transfer::Out(bytes.len() as u32), (bytes.as_ptr().cast_mut(), bytes.len()))
            }
        };
        let buffers = ClientBuffer(Cell::new(place));
        let command = Command { lun, cdb, transfer, attribute: TaskAttribute::Simple };
        let deadline = clock::now().plus(LIMIT);
        // What came since the last command, such as pings, is heard first.
        let mut ended = None;
        let mut hear = |event: Event| -> Option<Lost> {
            match event {
                Event::Done { slot: 0, ending } => ended = Some(ending),
                other => return super::ended(&other),
            }
            None
        };
        pump(self.link()?, &buffers, Ns::ZERO, &mut hear)?;
        self.link()?.session().command(0, &command)?;
        while ended.is_none() {
            if clock::now() >= deadline {
                return Err(CommandError::Slow);
            }
            let mut hear = |event: Event| match event {
                Event::Done { slot: 0, ending } => {
                    ended = Some(ending);
                    None
                }
                other => super::ended(&other),
            };
            pump(self.link()?, &buffers, deadline, &mut hear)?;
        }
        ended.ok_or(CommandError::Slow)
    }

    /// Begins a command in a slot, without waiting for its end; `false`: the target takes no more at the moment.
    pub(super) fn begin(&mut self, slot: u32, command: &Command) -> Result<bool, CommandError> {
        let session = self.link()?.session();
        if session.room() == 0 {
            return Ok(false);
        }
        session.command(slot, command)?;
        Ok(true)
    }

    /// Waits until at least one of the commands that were begun has ended; `buffers` has the data of all of them.
    pub(super) fn some_ended(
        &mut self,
        buffers: &impl Buffers,
        ended: &mut impl FnMut(u32, CommandEnd),
    ) -> Result<(), CommandError> {
        let deadline = clock::now().plus(LIMIT);
        let mut any = false;
        while !any {
            if clock::now() >= deadline {
                return Err(CommandError::Slow);
            }
            let mut hear = |event: Event| match event {
                Event::Done { slot, ending } => {
                    any = true;
                    ended(slot, ending);
                    None
                }
                other => super::ended(&other),
            };
            pump(self.link()?, buffers, deadline, &mut hear)?;
        }
        Ok(())
    }

    /// Sends text and waits for the answer.
    pub fn text(&mut self, text: &[u8]) -> Result<Vec<u8>, CommandError> {
        let deadline = clock::now().plus(LIMIT);
        let buffers = ClientBuffer(Cell::new((std::ptr::null_mut(), 0)));
        self.link()?.session().text(text)?;
        let mut answer = None;
        while answer.is_none() {
            if clock::now() >= deadline {
                return Err(CommandError::Slow);
            }
            let mut hear = |event: Event| match event {
                Event::Text(text) => {
                    answer = Some(text);
                    None
                }
                other => super::ended(&other),
            };
            pump(self.link()?, &buffers, deadline, &mut hear)?;
        }
        answer.ok_or(CommandError::Slow)
    }
}

impl Drop for Client {
    /// Says goodbye, and waits a moment for the answer.
    fn drop(&mut self) {
        if let Some(link) = &mut self.link {
            super::path_session::leave(link, &ClientBuffer(Cell::new((std::ptr::null_mut(), 0))));
        }
    }
}

/// Sends what there is to be sent, waits until something comes, and takes it in.
pub(super) fn pump(
    link: &mut Link,
    buffers: &impl Buffers,
    until: Ns,
    hear: &mut impl FnMut(Event) -> Option<Lost>,
) -> Result<(), Lost> {
    link.send(buffers)?;
    let mut polls: Vec<_> = link.polls().collect();
    let left = if until == Ns::ZERO { Ns::ZERO } else { until.since(clock::now()) };
    super::busy_poll::poll(&mut polls, left);
    let mut lost = None;
    let mut heard = |event| lost = lost.take().or(hear(event));
    while link.receive(buffers, &mut heard)? {}
    lost.map_or(Ok(()), Err)
}
