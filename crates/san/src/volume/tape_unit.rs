//! The units of a tape library, its changer and its drives, among the volumes of a target. Their commands are executed one after
//! the other by a thread of each unit, because files and paced tapes block, and the threads that serve disks never wait.

use super::inbox::VolumeInbox;
use super::store::Store;
use super::{Volume, VolumeAttributes, VolumeError, VolumeStore};
use iscsi::scsi::{CommandSpec, Geometry, Nexus, PassedCommand, UnitAttention, UnitDescription};
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use tape::{Answer, Library, LibrarySettings, MemoryDrive, NoticeTo};

/// A unit of a library, as its volume holds it.
#[derive(Debug)]
pub(crate) struct TapeUnit {
    /// `None`: it ends.
    orders: Option<Sender<UnitOrder>>,
    thread: Option<JoinHandle<()>>,
    /// 0: the changer.
    number: usize,
    /// Commands are executed where they arrive, since none of them waits: cartridges are memory, and tapes are not paced.
    at_once: Option<Arc<Library>>,
    /// Unit attentions that the workers have not raised yet.
    raised: Mutex<Vec<Raised>>,
}

/// A unit attention that a command caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raised {
    pub attention: UnitAttention,
    /// How far the unit that raises it is from the one that the command was for; zero: that one, for others than the sender.
    pub distance: usize,
}

/// What the thread of a unit is to do.
pub(crate) enum UnitOrder {
    Execute(UnitCommand),
    /// A nexus is lost.
    Leave(Nexus),
    Reset,
}

/// A command with the memory that it works on.
pub(crate) struct UnitCommand {
    /// The operation of the executor that waits for it.
    pub id: u32,
    pub mail: Arc<VolumeInbox>,
    pub command: PassedCommand,
    pub data: (*const u8, usize),
    pub room: (*mut u8, usize),
    pub answer: Arc<Mutex<Option<Answer>>>,
}

// SAFETY: the addresses are of buffers that belong to a task of the executor; it does not touch them, and is not dropped,
// before the answer is in its inbox.
unsafe impl Send for UnitCommand {}

/// What holds the records of a drive, for those who sync volumes. It has no blocks.
#[derive(Debug)]
struct NoBlocks {
    library: Arc<Library>,
    unit: usize,
}

impl Store for NoBlocks {
    fn read(&self, _: u64, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn write(&self, _: u64, _: &[u8], _: bool) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn sync(&self) -> io::Result<()> {
        let flushed = self.library.flush(self.unit);
        if flushed { Ok(()) } else { Err(io::Error::other("a cartridge could not be synced")) }
    }

    fn zero(&self, _: u64, _: u64, _: bool) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn mapped(&self, _: u64, _: u64) -> io::Result<(bool, u64)> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Volume {
    /// Opens a tape library, or makes one: its changer, and then its drives. `serial`: what names it.
    /// # Errors
    /// Its directory cannot be used.
    pub fn open_library(
        settings: &LibrarySettings,
        serial: &str,
    ) -> Result<Vec<Arc<Volume>>, VolumeError> {
        let failed = |error: &dyn std::fmt::Display| VolumeError::Unopened(error.to_string());
        let designator = |serial: &str| described(serial).designator();
        let library = Library::open(settings, serial, designator).map_err(|e| failed(&e))?;
        Volume::units(library, false)
    }

    /// The units of a library in memory with these drives, each of which has a cartridge of its own: it leaves nothing behind.
    /// # Errors
    /// There are too many drives, or memory is short.
    pub fn open_library_in_memory(
        settings: &LibrarySettings,
        serial: &str,
        drives: &[MemoryDrive],
    ) -> Result<Vec<Arc<Volume>>, VolumeError> {
        super::memory::suffices(drives.iter().map(|drive| drive.capacity).sum())?;
        let designator = |serial: &str| described(serial).designator();
        let library = Library::in_memory(settings, serial, drives, designator);
        let library = library.map_err(|e| VolumeError::Unopened(e.to_string()))?;
        Volume::units(library, settings.pace.is_none())
    }

    fn units(library: Library, at_once: bool) -> Result<Vec<Arc<Volume>>, VolumeError> {
        let failed = |error: &dyn std::fmt::Display| VolumeError::Unopened(error.to_string());
        let library = Arc::new(library);
        let mut volumes = Vec::new();
        for (number, serial) in library.serials().iter().enumerate() {
            let (orders, taken) = channel();
            let served = Arc::clone(&library);
            let name = format!("tape-{number}");
            let thread = std::thread::Builder::new()
                .name(name)
                .spawn(move || serve(&served, number, &taken))
                .map_err(|e| failed(&e))?;
            let store = NoBlocks { library: Arc::clone(&library), unit: number };
            let attributes = VolumeAttributes {
                block: 1,
                blocks: 1,
                thin: false,
                read_only: false,
                write_back: true,
                serial: serial.clone(),
                granularity: 1,
            };
            let mut volume = Volume::of(attributes, VolumeStore::Stored(Arc::new(store)), None);
            volume.tape = Some(TapeUnit {
                orders: Some(orders),
                thread: Some(thread),
                number,
                at_once: at_once.then(|| Arc::clone(&library)),
                raised: Mutex::default(),
            });
            volumes.push(Arc::new(volume));
        }
        Ok(volumes)
    }

    /// The commands of a unit that is no disk.
    pub(crate) fn commands(&self) -> Option<&'static [CommandSpec]> {
        self.tape.as_ref().map(|unit| Library::commands(unit.number))
    }
}

impl TapeUnit {
    /// Executes a command here, where the unit's commands wait for nothing; otherwise it comes back.
    pub fn at_once(&self, mut command: UnitCommand) -> Result<Answer, UnitCommand> {
        match &self.at_once {
            Some(library) => Ok(command.execute(library, self.number)),
            None => Err(command),
        }
    }

    /// Has the unit's thread do something, or does it here.
    pub fn order(&self, order: UnitOrder) {
        match (&self.at_once, &order) {
            (Some(library), UnitOrder::Leave(nexus)) => return library.leave(self.number, nexus),
            (Some(library), UnitOrder::Reset) => return library.reset(self.number),
            _ => {}
        }
        // The thread lives as long as its sender.
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }

    /// Notes what a command caused.
    pub fn note(&self, answer: &Answer) {
        let raised = answer.notices.iter().map(|notice| Raised {
            attention: notice.attention,
            distance: match notice.to {
                NoticeTo::Others => 0,
                NoticeTo::Drive(number) => number + 1 - self.number.min(number + 1),
            },
        });
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).extend(raised);
    }

    /// What is to be raised, taken out.
    pub fn take_raised(&self) -> Vec<Raised> {
        std::mem::take(&mut *self.raised.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Drop for TapeUnit {
    /// Lets go of the library: who opens it next finds it free.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has no result.
            let _ = thread.join();
        }
    }
}

/// What names a unit.
fn described(serial: &str) -> UnitDescription {
    UnitDescription {
        geometry: Geometry { block: 1, blocks: 1 },
        thin: false,
        read_only: false,
        write_back: true,
        keeps_reservations: false,
        serial: serial.to_owned(),
        product: String::new(),
        revision: String::new(),
    }
}

/// Executes the commands of a unit until its volume is gone.
fn serve(library: &Library, unit: usize, orders: &Receiver<UnitOrder>) {
    while let Ok(order) = orders.recv() {
        let mut command = match order {
            UnitOrder::Execute(command) => command,
            UnitOrder::Leave(nexus) => {
                library.leave(unit, &nexus);
                continue;
            }
            UnitOrder::Reset => {
                library.reset(unit);
                continue;
            }
        };
        let answer = command.execute(library, unit);
        if answer.at > clock::Ns::ZERO {
            clock::sleep_until(answer.at);
        }
        let UnitCommand { id, mail, .. } = command;
        *command.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        mail.post(|messages| messages.results.push((id, 0)));
    }
}

impl UnitCommand {
    fn execute(&mut self, library: &Library, unit: usize) -> Answer {
        let (data, room) = (self.data, self.room);
        let data = match data.1 {
            0 => &[],
            // SAFETY: this many bytes of a buffer that is only read until the answer is there (see above).
            len => unsafe { std::slice::from_raw_parts(data.0, len) },
        };
        let room = match room.1 {
            0 => &mut [],
            // SAFETY: the same of a buffer that nothing else touches.
            len => unsafe { std::slice::from_raw_parts_mut(room.0, len) },
        };
        library.execute(unit, clock::now(), &self.command, data, room)
    }
}
