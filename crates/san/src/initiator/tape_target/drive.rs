//! A drive with the cartridges of its changer, as one long medium: blocks are written one behind the other, from cartridge to
//! cartridge, and what was acknowledged is found again after the target was lost.

use super::append::Appending;
use super::changer::{Changer, Element};
use crate::initiator::CommandError;
use crate::initiator::client::{BUSY, TASK_SET_FULL};
use crate::initiator::lun::fresh_isid;
use crate::initiator::tape::{TapeClient, TapeData, TapeRead};
use clock::Ns;
use guard::stamp;
use iscsi::initiator::SenseData;
use iscsi::pdu::Isid;
use thiserror::Error;

/// How long a lost target is asked again before the next try.
const PAUSE: Ns = Ns::millis(200);

/// Unit attentions and reconnections within one command, at most.
const TRIES: u32 = 32;

/// Sense keys and codes.
const VOLUME_OVERFLOW: u8 = 0xd;
const NO_MEDIUM: [u16; 3] = [0x3a00, 0x3a01, 0x3a02];

/// A medium that fails, in words, with the error number for its I/O.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{text}")]
pub struct TapeTrouble {
    /// What happened and what to do next.
    pub text: String,
    /// The operating system's number for it.
    pub errno: i32,
}

/// Where a block stands, and what it is.
#[derive(Clone, Copy, Debug)]
pub struct TapePlace {
    cartridge: usize,
    object: u64,
    sum: u32,
}

/// What a drive is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Use {
    Idle,
    Writes,
    Reads,
}

/// How a drive and its cartridges are reached.
#[derive(Clone, Debug)]
pub struct TapeAddress {
    /// The drive.
    pub drive: String,
    /// The changer, and the drive's element in it.
    pub changer: Option<(String, u16)>,
    /// Barcodes in the order of their use; none: the cartridge that is loaded, or the first that there is.
    pub cartridges: Vec<String>,
    /// For how long a lost target is looked for.
    pub retry: Ns,
    /// The initiator's name.
    pub initiator: String,
}

/// A drive.
pub struct TapeDrive {
    address: TapeAddress,
    client: Option<TapeClient>,
    /// The number of its initiator port, the same after each login: what a lost session held is free for the next.
    isid: Isid,
    /// Barcodes, as they were used; empty where there is no changer.
    used: Vec<String>,
    current: usize,
    /// Objects of the loaded cartridge before the position.
    object: u64,
    /// Early warning: the next block goes to the next cartridge.
    warned: bool,
    using: Use,
    /// It is reserved for this process, again after each login, and nobody else takes its cartridge out.
    reserved: bool,
    /// What names the cartridge for ever, where the drive says it.
    medium: Vec<u8>,
    /// What is worth telling.
    pub news: Vec<String>,
}

/// Why a drive is not where it is to go on.
enum PlaceFault {
    /// A command failed: what it was for, and how.
    Command(&'static str, CommandError),
    /// What was written is not there.
    Gone(TapeTrouble),
}

/// What going to an object is for.
const GO_ON: &str = "the place to go on cannot be found";

fn trouble(errno: i32, text: impl Into<String>) -> TapeTrouble {
    TapeTrouble { text: text.into(), errno }
}

fn failed(what: &str, error: &CommandError) -> TapeTrouble {
    trouble(libc::EIO, format!("{what}: {error}"))
}

/// Sees to it that nobody takes the cartridge out, or gives that up; there are drives that do not know it.
fn hold(client: &mut TapeClient, keep: bool) -> Result<(), CommandError> {
    match client.hold(keep) {
        Err(e) if !e.is_unknown() => Err(e),
        _ => Ok(()),
    }
}

/// Whether the session is gone.
fn is_lost(error: &CommandError) -> bool {
    matches!(error, CommandError::Lost(_) | CommandError::Dial(_) | CommandError::Slow)
}

impl TapeDrive {
    /// Reaches the drive and sees to it that a cartridge is loaded.
    pub fn open(address: TapeAddress) -> Result<TapeDrive, TapeTrouble> {
        let mut drive = TapeDrive {
            address,
            client: None,
            isid: fresh_isid(),
            used: Vec::new(),
            current: 0,
            object: 0,
            warned: false,
            using: Use::Idle,
            reserved: false,
            medium: Vec::new(),
            news: Vec::new(),
        };
        drive.connect(drive.retries_until())?;
        match drive.address.cartridges.first().cloned() {
            Some(first) => drive.load(&first)?,
            None => drive.load_any()?,
        }
        Ok(drive)
    }

    /// The cartridge that is loaded.
    pub fn cartridge(&self) -> &str {
        self.used.get(self.current).map_or("the cartridge", String::as_str)
    }

    /// The drive's answers to a command of the control plane.
    pub fn ask(&mut self, cdb: &[u8], room: &mut [u8]) -> Result<usize, CommandError> {
        for _ in 0..TRIES {
            let reply = self.client()?.command(cdb, TapeData::In(&mut *room))?;
            match reply.sense {
                None => return Ok(reply.moved),
                Some(sense) if sense.key == SenseData::UNIT_ATTENTION => {}
                Some(sense) => return Err(CommandError::Sense(sense)),
            }
        }
        Err(CommandError::Nonsense("unit attentions without end"))
    }

    /// Commands that are repeated as long as unit attentions come between.
    fn through<T>(
        &mut self,
        mut commands: impl FnMut(&mut TapeClient) -> Result<T, CommandError>,
    ) -> Result<T, CommandError> {
        for _ in 0..TRIES {
            match commands(self.client()?) {
                Err(CommandError::Sense(sense)) if sense.key == SenseData::UNIT_ATTENTION => {}
                ended => return ended,
            }
        }
        Err(CommandError::Nonsense("unit attentions without end"))
    }

    fn client(&mut self) -> Result<&mut TapeClient, CommandError> {
        self.client.as_mut().ok_or(CommandError::Nonsense("no session"))
    }

    /// Until when a target that is lost now is looked for.
    fn retries_until(&self) -> Ns {
        clock::now().plus(self.address.retry)
    }

    /// Logs in, for as long as the target may be away.
    fn connect(&mut self, until: Ns) -> Result<(), TapeTrouble> {
        loop {
            self.client = None;
            let opened =
                TapeClient::open_again(&self.address.drive, &self.address.initiator, self.isid);
            let heard = opened.map_err(|e| e.to_string()).and_then(|mut client| {
                client.attentions().map_err(|e| e.to_string())?;
                if self.reserved {
                    client.reserve(true).map_err(|e| e.to_string())?;
                    hold(&mut client, true).map_err(|e| e.to_string())?;
                }
                Ok(client)
            });
            match heard {
                Ok(client) => {
                    self.client = Some(client);
                    return Ok(());
                }
                Err(why) if clock::now() >= until => {
                    let text = format!("the drive cannot be reached: {why}");
                    return Err(trouble(libc::ENOLINK, text));
                }
                Err(_) => clock::sleep_until(clock::now().plus(PAUSE)),
            }
        }
    }

    /// Keeps other initiators and robots away until the session ends or [`TapeDrive::release`].
    pub fn reserve(&mut self) -> Result<(), TapeTrouble> {
        let reserved = self.client().and_then(|client| {
            client.reserve(true)?;
            hold(client, true)
        });
        reserved.map_err(|e| failed("the drive cannot be reserved", &e))?;
        self.reserved = true;
        Ok(())
    }

    /// Whether it is reserved for this process.
    pub fn is_reserved(&self) -> bool {
        self.reserved
    }

    /// Gives the reservation back.
    pub fn release(&mut self) {
        self.reserved = false;
        let _ended_with_the_session_otherwise = self.client().and_then(|client| {
            hold(client, false)?;
            client.reserve(false)
        });
    }

    fn changer(&self) -> Result<(Changer, u16), TapeTrouble> {
        let none = || trouble(libc::ENOSPC, "there is no changer; name one (`changer=LUN`)");
        let (url, element) = self.address.changer.as_ref().ok_or_else(none)?;
        Ok((Changer::open(url, &self.address.initiator)?, *element))
    }

    /// Loads a cartridge, after what is in the drive is back in a slot.
    fn load(&mut self, barcode: &str) -> Result<(), TapeTrouble> {
        let (mut changer, drive) = self.changer()?;
        let elements = changer.elements()?;
        let inside = elements.iter().find(|one| one.address == drive);
        let inside = inside.and_then(|one| one.barcode.as_deref());
        if inside != Some(barcode) {
            if inside.is_some() {
                if self.reserved {
                    let let_go = self.through(|client| hold(client, false));
                    let_go.map_err(|e| failed("the cartridge cannot be released", &e))?;
                }
                changer.put_back(&elements, drive)?;
            }
            let missing = || {
                let text = format!("the library has no cartridge {barcode} in a slot");
                trouble(libc::ENOMEDIUM, text)
            };
            let is_it = |one: &&Element| one.barcode.as_deref() == Some(barcode) && one.is_slot;
            let from = elements.iter().find(is_it).ok_or_else(missing)?;
            changer.move_medium(from.address, drive)?;
        }
        self.used.retain(|used| used != barcode);
        self.used.push(barcode.to_owned());
        self.current = self.used.len() - 1;
        self.settle()
    }

    /// What is loaded, or else the first cartridge in a slot.
    fn load_any(&mut self) -> Result<(), TapeTrouble> {
        if self.address.changer.is_none() {
            return self.settle();
        }
        let (mut changer, drive) = self.changer()?;
        let elements = changer.elements()?;
        let inside = elements.iter().find(|one| one.address == drive && one.barcode.is_some());
        let found =
            inside.or_else(|| elements.iter().find(|one| one.is_slot && one.barcode.is_some()));
        let none = || trouble(libc::ENOMEDIUM, "the library has no cartridge");
        let barcode = found.and_then(|one| one.barcode.clone()).ok_or_else(none)?;
        self.load(&barcode)
    }

    /// Hears that the medium has changed, and goes to its beginning.
    fn settle(&mut self) -> Result<(), TapeTrouble> {
        let reserved = self.reserved;
        let rewound = self.through(|client| {
            client.attentions()?;
            client.rewind()?;
            if reserved {
                hold(client, true)?;
            }
            client.medium()
        });
        let rewound = rewound.map(|medium| self.medium = medium);
        (self.object, self.warned) = (0, false);
        rewound.map_err(|e| match &e {
            CommandError::Sense(sense) if NO_MEDIUM.contains(&sense.code) => trouble(
                libc::ENOMEDIUM,
                "no cartridge is in the drive; load one, or name its `changer`",
            ),
            e => failed("the cartridge cannot be used", e),
        })
    }

    /// The first bytes of the cartridge; nothing where it is blank. It is rewound before and after.
    pub fn beginning(&mut self) -> Result<Vec<u8>, TapeTrouble> {
        self.settle()?;
        let mut room = vec![0; 8 << 20];
        let read = self.client().and_then(|client| client.read(&mut room));
        let len = match read {
            Ok(TapeRead::Block(len)) => len,
            Ok(TapeRead::Filemark) => 1,
            Ok(TapeRead::End) => 0,
            Err(e) => return Err(failed("the cartridge cannot be read", &e)),
        };
        room.truncate(len);
        self.settle()?;
        Ok(room)
    }

    /// Goes on with the next cartridge, which must be blank or hold what Wirespeed wrote.
    fn next(&mut self) -> Result<(), TapeTrouble> {
        let full = self.cartridge().to_owned();
        self.mark()?;
        let named = self.address.cartridges.iter().position(|one| *one == full);
        let next = named.and_then(|at| self.address.cartridges.get(at + 1)).cloned();
        let Some(next) = next else {
            let text =
                format!("{full} is full, and no cartridge is named after it (`cartridges=A+B`)");
            return Err(trouble(libc::ENOSPC, text));
        };
        let blocks = self.object;
        self.load(&next)?;
        let first = self.beginning()?;
        if !first.is_empty() && stamp::code_of(&first).is_none() {
            let text =
                format!("{next} holds data that Wirespeed did not write; name a blank cartridge");
            return Err(trouble(libc::EEXIST, text));
        }
        self.news.push(format!("{full} is full after {blocks} objects: {next} is loaded"));
        Ok(())
    }

    /// Appends the blocks that `next` yields, several of them under way at once, until it yields none and all are written. `done`
    /// hears of each in its order: `None` where no checksum was asked for. Where it fails, all that `done` did not hear of are
    /// not written.
    pub fn append<'a>(
        &mut self,
        next: &mut dyn FnMut() -> Option<(&'a [u8], bool)>,
        done: &mut dyn FnMut(Option<TapePlace>),
    ) -> Result<(), TapeTrouble> {
        if self.using == Use::Reads {
            return Err(trouble(libc::EINVAL, "a drive that is read from is not written to"));
        }
        self.using = Use::Writes;
        let (mut appending, mut tries) = (Appending::default(), 0);
        while appending.take(self.warned, next) {
            if self.warned && appending.is_idle() {
                self.next()?;
            }
            let failed = match self.client().and_then(|client| appending.exchange(client)) {
                Ok(()) => None,
                Err(e) => Some((e, false)),
            };
            while let Some((block, verify, room)) = appending.written() {
                self.warned |= !room;
                tries = 0;
                let sum = if verify { crc32c::crc32c(block) } else { 0 };
                let place = TapePlace { cartridge: self.current, object: self.object, sum };
                self.object += 1;
                done(verify.then_some(place));
            }
            let failed = match failed {
                None => self.client().and_then(|client| appending.failure(client)).transpose(),
                lost => lost.map(Ok),
            };
            let Some(failed) = failed else { continue };
            tries += 1;
            if tries > TRIES {
                return Err(trouble(libc::EIO, "the drive does not take a block, without end"));
            }
            match failed {
                Ok((CommandError::Sense(sense), overtaken)) if sense.key == VOLUME_OVERFLOW => {
                    if overtaken {
                        self.go_to(self.object)?;
                    }
                    self.next()?;
                }
                Ok((e, _)) | Err(e) => {
                    appending.forget();
                    self.recover("a block could not be written", e)?;
                }
            }
        }
        Ok(())
    }

    /// Writes a filemark behind what was written, and waits until all of it is on the medium.
    fn mark(&mut self) -> Result<(), TapeTrouble> {
        for _ in 0..TRIES {
            let marked = self.client().and_then(|client| client.filemarks(1, true));
            match marked {
                Ok(_) => {
                    self.object += 1;
                    return Ok(());
                }
                Err(e) => self.recover("a filemark could not be written", e)?,
            }
        }
        Err(trouble(libc::EIO, "the drive answers with unit attentions without end"))
    }

    /// Makes durable what was written, and ends it with a filemark.
    pub fn flush(&mut self) -> Result<(), TapeTrouble> {
        if self.using == Use::Writes { self.mark() } else { Ok(()) }
    }

    /// After a failure: the command may be sent again where this returns. What the drive acknowledged must be there. A target that
    /// is lost once more meanwhile is looked for again, until the time for all of it is over.
    fn recover(&mut self, what: &str, error: CommandError) -> Result<(), TapeTrouble> {
        let (until, mut error) = (self.retries_until(), error);
        loop {
            self.reach_again(what, error, until)?;
            error = match self.find_place() {
                Ok(()) => return Ok(()),
                Err(PlaceFault::Command(_, again)) if is_lost(&again) && clock::now() < until => {
                    again
                }
                Err(PlaceFault::Command(aim, e)) => return Err(failed(aim, &e)),
                Err(PlaceFault::Gone(trouble)) => return Err(trouble),
            };
        }
    }

    /// After a failure: there is a session, and what failed is worth another try.
    fn reach_again(
        &mut self,
        what: &str,
        error: CommandError,
        until: Ns,
    ) -> Result<(), TapeTrouble> {
        match &error {
            CommandError::Sense(sense) if sense.key == SenseData::UNIT_ATTENTION => {}
            CommandError::Sense(sense) if NO_MEDIUM.contains(&sense.code) => {
                let text = format!(
                    "{} was taken out of the drive while it was in use, after {} objects; load it again and run it again",
                    self.cartridge(),
                    self.object
                );
                return Err(trouble(libc::ENOMEDIUM, text));
            }
            CommandError::Status(BUSY | TASK_SET_FULL) => {
                clock::sleep_until(clock::now().plus(PAUSE));
            }
            e if is_lost(e) && self.address.retry > Ns::ZERO => {
                self.connect(until)?;
                self.news.push(format!(
                    "the drive was lost ({error}) and is back: {}",
                    self.cartridge()
                ));
            }
            e => return Err(failed(&format!("{what} on {}", self.cartridge()), e)),
        }
        Ok(())
    }

    /// Sees to it that everything acknowledged is there, and goes behind it.
    fn find_place(&mut self) -> Result<(), PlaceFault> {
        let (wanted, reserved) = (self.object, self.reserved);
        let found = self.through(|client| {
            client.attentions()?;
            if reserved {
                hold(client, true)?;
            }
            let medium = client.medium()?;
            client.space(3, 0)?;
            Ok((medium, client.position()?.0))
        });
        let gone = |errno: i32, text: String| Err(PlaceFault::Gone(trouble(errno, text)));
        let name = self.cartridge();
        let (medium, end) = match found {
            Ok(found) => found,
            Err(CommandError::Sense(sense)) if NO_MEDIUM.contains(&sense.code) => {
                let text = format!("{name} was taken out of the drive while it was in use");
                return gone(libc::ENOMEDIUM, text);
            }
            Err(e) => return Err(PlaceFault::Command("the end of the data cannot be found", e)),
        };
        if medium != self.medium {
            let text = format!("another cartridge is in the drive than {name}, which was in use");
            return gone(libc::ENOMEDIUM, text);
        }
        if end < wanted {
            let text = format!(
                "{name} has {end} objects, and {wanted} were acknowledged: the drive has lost some of them"
            );
            return gone(libc::EIO, text);
        }
        let located = self.through(|client| client.locate(wanted));
        located.map_err(|e| PlaceFault::Command(GO_ON, e))
    }

    /// Goes to an object from where it goes on.
    fn go_to(&mut self, object: u64) -> Result<(), TapeTrouble> {
        let located = self.through(|client| client.locate(object));
        located.map_err(|e| failed(GO_ON, &e))
    }

    /// Reads the next block into `room`, which it fills; filemarks are passed over.
    pub fn read(&mut self, room: &mut [u8]) -> Result<(), TapeTrouble> {
        if self.using == Use::Writes {
            return Err(trouble(libc::EINVAL, "a drive that is written to is not read from"));
        }
        self.using = Use::Reads;
        loop {
            let read = self.client().and_then(|client| client.read(room));
            match read {
                Ok(TapeRead::Block(len)) if len == room.len() => {
                    self.object += 1;
                    return Ok(());
                }
                Ok(TapeRead::Block(len)) => {
                    let text = format!("{} has a block of {len} bytes", self.cartridge());
                    return Err(trouble(libc::EIO, text));
                }
                Ok(TapeRead::Filemark) => self.object += 1,
                Ok(TapeRead::End) => {
                    let at = self.address.cartridges.iter().position(|one| one == self.cartridge());
                    let next = at.and_then(|at| self.address.cartridges.get(at + 1)).cloned();
                    let Some(next) = next else {
                        return Err(trouble(libc::ENODATA, "the recorded data ends here"));
                    };
                    self.load(&next)?;
                }
                Err(e) => self.recover("a block could not be read", e)?,
            }
        }
    }

    /// The checksum of the block that stands where one was written.
    fn sum_at(&mut self, place: &TapePlace, room: &mut [u8]) -> Result<u32, TapeTrouble> {
        for _ in 0..TRIES {
            let read = self.client().and_then(|client| {
                if client.position()?.0 != place.object {
                    client.locate(place.object)?;
                }
                client.read(room)
            });
            match read {
                Ok(TapeRead::Block(len)) => return Ok(crc32c::crc32c(&room[..len])),
                Ok(_) => return Ok(!place.sum),
                Err(e) => self.recover("a block could not be read back", e)?,
            }
        }
        Err(trouble(libc::EIO, "the drive answers with unit attentions without end"))
    }

    /// Reads blocks back and compares them; then the drive is behind its last block again.
    pub fn verify(&mut self, places: &[TapePlace], block: usize) -> Result<(), TapeTrouble> {
        let (last, behind) = (self.current, self.object);
        let names = self.used.clone();
        let mut room = vec![0; block];
        for place in places {
            let name = names.get(place.cartridge).map_or("the cartridge", String::as_str);
            if names.len() > 1 && self.cartridge() != name {
                self.load(name)?;
            }
            let sum = self.sum_at(place, &mut room)?;
            if sum != place.sum {
                let text = format!("object {} of {name} is not what was written", place.object);
                return Err(trouble(libc::EILSEQ, text));
            }
        }
        if let Some(name) = names.get(last).filter(|name| *name != self.cartridge()) {
            self.load(&name.clone())?;
        }
        (self.used, self.current, self.object) = (names, last, behind);
        // The target may be lost here as well.
        match self.through(|client| client.locate(behind)) {
            Ok(()) => Ok(()),
            Err(e) => self.recover("the end of the data cannot be found", e),
        }
    }
}
