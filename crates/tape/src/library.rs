//! A tape library: a directory of cartridges, drives, and the robot between them. Unit 0 is the changer, then come the
//! drives. Units are executed independently of each other; the changer waits for a drive only when it moves its cartridge.

use crate::changer::{CHANGER_COMMANDS, Changer, Inventory, lock};
use crate::drive::{DRIVE_COMMANDS, Drive, DriveSettings};
use crate::identify::Naming;
use crate::media::format::Identity;
use crate::shelf::{INVENTORY, Shelf};
use crate::{Answer, Generation, Pace};
use clock::Ns;
use iscsi::scsi::{CommandSpec, Nexus, PassedCommand};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// What a library is.
#[derive(Clone, Debug)]
pub struct LibrarySettings {
    /// Where its cartridges are; made if it is not there.
    pub directory: PathBuf,
    /// The generation of its drives and of new cartridges.
    pub generation: &'static Generation,
    /// Drives, at least one.
    pub drives: u16,
    /// Slots.
    pub slots: u16,
    /// Import and export elements.
    pub mailslots: u16,
    /// Cartridges that are made where the library is new.
    pub cartridges: u16,
    /// Bytes of a new cartridge; `None`: its generation's.
    pub capacity: Option<u64>,
    /// How the tape of a drive moves; `None`: as fast as the storage.
    pub pace: Option<Pace>,
    /// Drives compress unless they are told otherwise.
    pub compress: bool,
    /// The iSCSI name of the target.
    pub target: String,
}

/// Most elements of a kind.
const MOST: [(&str, u16, u16); 3] = [("drives", 1, 256), ("slots", 1, 8192), ("mailslots", 0, 64)];

/// Why a library cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// Something fails in its directory.
    #[error("{}: {why}", path.display())]
    Io {
        /// Where.
        path: PathBuf,
        /// What.
        why: io::Error,
    },
    /// The directory holds something else.
    #[error(
        "{} holds other files and no library; name an empty or a new directory", .0.display()
    )]
    Foreign(PathBuf),
    /// Another process serves it.
    #[error("{} is served by another process", .0.display())]
    Busy(PathBuf),
    /// More or fewer than can be.
    #[error("{what}: {given} is not between {least} and {most}")]
    Count {
        /// Of what.
        what: &'static str,
        /// As asked for.
        given: u16,
        /// The fewest.
        least: u16,
        /// The most.
        most: u16,
    },
}

/// A drive of a library in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryDrive {
    /// Its serial number.
    pub serial: String,
    /// Bytes of its cartridge.
    pub capacity: u64,
}

impl Generation {
    /// The barcode of a new cartridge, from 1.
    pub fn barcode(&self, number: usize) -> String {
        format!("WSP{number:03}L{}", self.number)
    }
}

/// A library that is open.
pub struct Library {
    changer: Mutex<Changer>,
    drives: Vec<Arc<Mutex<Drive>>>,
    serials: Vec<String>,
    /// Held as long as the library is open; nobody else finds one in memory.
    _lock: Option<File>,
}

impl std::fmt::Debug for Library {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Library").field("serials", &self.serials).finish_non_exhaustive()
    }
}

impl Library {
    /// Opens a library, or makes one. `designator`: the NAA designator of a serial number.
    /// # Errors
    /// The directory cannot be used, or the figures cannot be.
    pub fn open(
        settings: &LibrarySettings,
        serial: &str,
        designator: impl Fn(&str) -> [u8; 16],
    ) -> Result<Library, LibraryError> {
        let given = [settings.drives, settings.slots, settings.mailslots];
        for ((what, least, most), given) in MOST.into_iter().zip(given) {
            if !(least..=most).contains(&given) {
                return Err(LibraryError::Count { what, given, least, most });
            }
        }
        let directory = &settings.directory;
        let failed = |why: io::Error| LibraryError::Io { path: directory.clone(), why };
        fs::create_dir_all(directory).map_err(failed)?;
        let shelf = Arc::new(Shelf::Directory(directory.clone()));
        let fresh = !directory.join(INVENTORY).exists();
        if fresh && holds_others(directory).map_err(failed)? {
            return Err(LibraryError::Foreign(directory.clone()));
        }
        let guard = locked(directory)?;
        let mut inventory = Inventory::open(
            Arc::clone(&shelf),
            settings.slots,
            settings.mailslots,
            settings.drives,
        )
        .map_err(failed)?;
        if fresh {
            let capacity = settings.capacity.unwrap_or(settings.generation.capacity);
            let capacities = vec![capacity; usize::from(settings.cartridges)];
            stock(settings.generation, &capacities, &shelf, &mut inventory).map_err(failed)?;
            sync_directory(directory).map_err(failed)?;
            inventory.store().map_err(failed)?;
        } else {
            inventory.rescan(true).map_err(failed)?;
        }
        // Drives are counted from 0, as `mtx` and Linux count them.
        let drives = (0..settings.drives).map(|number| format!("{serial}-D{number:03}"));
        let serials = [format!("{serial}-C000")].into_iter().chain(drives).collect();
        Ok(Library::of(settings, serials, inventory, Some(guard), designator))
    }

    /// A library in memory whose drives are these. Each has a cartridge of its own in it. The
    /// directory of the settings, and their numbers of drives, slots and cartridges, are not used.
    /// # Errors
    /// There are too many drives.
    pub fn in_memory(
        settings: &LibrarySettings,
        serial: &str,
        drives: &[MemoryDrive],
        designator: impl Fn(&str) -> [u8; 16],
    ) -> Result<Library, LibraryError> {
        let (what, least, most) = MOST[0];
        let given = u16::try_from(drives.len()).unwrap_or(u16::MAX);
        if !(least..=most).contains(&given) {
            return Err(LibraryError::Count { what, given, least, most });
        }
        let failed = |why: io::Error| LibraryError::Io { path: "memory".into(), why };
        let shelf = Arc::new(Shelf::in_memory());
        let mut inventory = Inventory::open(Arc::clone(&shelf), given, 0, given).map_err(failed)?;
        let capacities: Vec<u64> = drives.iter().map(|drive| drive.capacity).collect();
        stock(settings.generation, &capacities, &shelf, &mut inventory).map_err(failed)?;
        inventory.load_all();
        let of_drives = drives.iter().map(|drive| drive.serial.clone());
        let serials = [format!("{serial}-C000")].into_iter().chain(of_drives).collect();
        Ok(Library::of(settings, serials, inventory, None, designator))
    }

    fn of(
        settings: &LibrarySettings,
        serials: Vec<String>,
        inventory: Inventory,
        lock: Option<File>,
        designator: impl Fn(&str) -> [u8; 16],
    ) -> Library {
        let drives: Vec<_> = serials[1..]
            .iter()
            .map(|serial| {
                Arc::new(Mutex::new(Drive::new(DriveSettings {
                    generation: settings.generation,
                    serial: serial.clone(),
                    target: settings.target.clone(),
                    designator: designator(serial),
                    pace: settings.pace,
                    compress: settings.compress,
                })))
            })
            .collect();
        let naming = Naming {
            kind: 0x08,
            product: "virtual library".to_owned(),
            serial: serials[0].clone(),
            versions: [0x0460, 0x0480, 0x0960],
            designator: designator(&serials[0]),
            target: settings.target.clone(),
        };
        let changer = Mutex::new(Changer::new(naming, inventory, drives.clone()));
        Library { changer, drives, serials, _lock: lock }
    }

    /// The serial numbers of the units, the changer's first.
    pub fn serials(&self) -> &[String] {
        &self.serials
    }

    /// The commands of a unit.
    pub fn commands(unit: usize) -> &'static [CommandSpec] {
        if unit == 0 { CHANGER_COMMANDS } else { DRIVE_COMMANDS }
    }

    /// What is where: element addresses with barcodes.
    pub fn inventory(&self) -> Vec<(u16, Option<String>)> {
        self.changer.lock().unwrap_or_else(PoisonError::into_inner).inventory()
    }

    /// Executes a command of a unit. Blocks as long as files do.
    pub fn execute(
        &self,
        unit: usize,
        now: Ns,
        command: &PassedCommand,
        data: &[u8],
        room: &mut [u8],
    ) -> Answer {
        match unit.checked_sub(1) {
            None => {
                let mut changer = self.changer.lock().unwrap_or_else(PoisonError::into_inner);
                changer.execute(command, data, room)
            }
            Some(number) => lock(&self.drives[number]).execute(now, command, data, room),
        }
    }

    /// A nexus of a unit is lost.
    pub fn leave(&self, unit: usize, nexus: &Nexus) {
        match unit.checked_sub(1) {
            None => self.changer.lock().unwrap_or_else(PoisonError::into_inner).leave(nexus),
            Some(number) => lock(&self.drives[number]).leave(nexus),
        }
    }

    /// A unit is reset.
    pub fn reset(&self, unit: usize) {
        match unit.checked_sub(1) {
            None => self.changer.lock().unwrap_or_else(PoisonError::into_inner).reset(),
            Some(number) => lock(&self.drives[number]).reset(),
        }
    }

    /// Has everything that a unit wrote on its storage; whether it is.
    pub fn flush(&self, unit: usize) -> bool {
        let drive = unit.checked_sub(1).and_then(|number| self.drives.get(number));
        drive.is_none_or(|drive| lock(drive).flush().is_ok())
    }
}

/// A directory that holds files of others is no place for a new library.
fn holds_others(directory: &Path) -> io::Result<bool> {
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        let ours = |name: &str| {
            name == "library.lock" || [".tape", ".index", ".mam"].iter().any(|e| name.ends_with(e))
        };
        if !name.to_str().is_some_and(ours) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn locked(directory: &Path) -> Result<File, LibraryError> {
    let path = directory.join("library.lock");
    let failed = |why: io::Error| LibraryError::Io { path: path.clone(), why };
    let options = &mut OpenOptions::new();
    let file = options.write(true).create(true).truncate(false).open(&path).map_err(failed)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LibraryError::Busy(directory.to_owned())),
        Err(TryLockError::Error(why)) => Err(failed(why)),
    }
}

/// Makes the cartridges of a new library; what is there already goes into slots.
fn stock(
    generation: &Generation,
    capacities: &[u64],
    shelf: &Shelf,
    inventory: &mut Inventory,
) -> io::Result<()> {
    let there = shelf.barcodes()?;
    for barcode in &there {
        inventory.shelve(barcode);
    }
    for (number, capacity) in (1..).zip(capacities) {
        let barcode = generation.barcode(number);
        if there.contains(&barcode) {
            continue;
        }
        let mut uuid = [0; 16];
        clock::unpredictable(&mut uuid)?;
        let generation = generation.number;
        let identity = Identity { uuid, barcode, generation, capacity: *capacity };
        shelf.make(&identity)?;
        inventory.shelve(&identity.barcode);
    }
    Ok(())
}

/// Replaces a file: whatever interrupts it, either the old or the new content is there.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    let mut file = File::create(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    path.parent().map_or(Ok(()), sync_directory)
}

fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory)?.sync_all()
}
