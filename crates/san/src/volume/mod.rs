//! What is served: memory, files and devices behind one face.
//!
//! A [`Volume`] is shared by all threads. Each thread has one [`VolumeExecutor`], the executor that carries out what the device server
//! decided ([`iscsi::scsi::Medium`]): a [`VolumeJob`] goes in, a [`FinishedCommand`] comes out, at once or later and in any order. Commands are
//! `async fn`s without a runtime: the compiler makes their state machines, and the executor goes on with one whenever the
//! kernel, a helper thread or another thread's command has finished what it waited for.
//!
//! What may be written is decided by the guard of `disk` when the volume is opened, never here.

mod buffer;
mod data;
mod gate;
mod inbox;
mod io;
mod memory;
mod ram;
mod slots;
mod spec;
mod store;
mod syncing;
mod tape_unit;

pub use buffer::Buffer;
pub use data::{Data, MemorySpan};
pub use io::{FinishedCommand, IoConfig, VolumeExecutor, VolumeJob};
pub use slots::Counters;
pub use spec::{SpecError, VolumeKind, VolumeSpec};
pub(crate) use tape_unit::{TapeUnit, UnitOrder};

pub use store::Store;
pub use tape::{GENERATIONS, Generation, LibrarySettings, MemoryDrive, Pace};

use clock::Ns;
use disk::{BackingError, BackingSpec, OpenedBacking};
use gate::CommandGate;
use ram::Ram;
use slots::Slots;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use syncing::Syncing;

/// The most bytes that one command moves: the largest buffer.
pub const MAX_TRANSFER: u32 = buffer::LARGEST as u32;
const _: () = assert!(MAX_TRANSFER == iscsi::scsi::LARGEST_TRANSFER);

/// The attributes of a volume, for the device server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeAttributes {
    /// Bytes a logical block: 512 or 4096.
    pub block: u32,
    /// Logical blocks.
    pub blocks: u64,
    /// Space is allocated by writes and freed by UNMAP.
    pub thin: bool,
    /// Nothing may be written.
    pub read_only: bool,
    /// Acknowledged before it is on the backing store, unless FUA or SYNCHRONIZE CACHE ask for it.
    pub write_back: bool,
    /// The unit serial number: names the volume on every path, and over restarts.
    pub serial: String,
    /// The allocation unit in blocks, aligned to multiples of itself.
    pub granularity: u32,
}

/// Why a volume cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VolumeError {
    /// The write guard forbids it. Exit code 4.
    #[error("refused: {0}")]
    Refused(String),
    /// It cannot be opened or made.
    #[error("{0}")]
    Unopened(String),
    /// There is no memory for it.
    #[error("a volume of {} MiB in memory cannot be made: {problem}", size >> 20)]
    Memory {
        /// Bytes that were asked for.
        size: u64,
        /// What is in the way, and what helps.
        problem: String,
    },
}

/// Something that is served block by block, by as many threads as there are.
#[derive(Debug)]
pub struct Volume {
    attributes: VolumeAttributes,
    /// Logical blocks: those of the attributes, and what has been added since.
    blocks: AtomicU64,
    /// Held while it grows.
    growing: Mutex<()>,
    kind: VolumeStore,
    read_only: Option<String>,
    gate: CommandGate,
    syncing: Syncing,
    slots: Slots,
    /// The error of the first failed sync; what was not on the backing store then may be lost, and no later sync can know.
    failed: AtomicI32,
    /// Operations that the store turned out not to support: freeing space, writing zeros.
    cannot: [AtomicBool; 2],
    /// Its store was removed or cut: nothing is written any more.
    gone: AtomicBool,
    /// It is no disk, but a unit of a tape library.
    tape: Option<TapeUnit>,
}

/// How often a volume's store is looked at beside the syncs, each of which looks for itself.
const LOOK: Ns = Ns::millis(100);

/// Looks at a volume's store for as long as the volume lasts, or until it is gone.
fn watch(volume: &Arc<Volume>) -> std::io::Result<()> {
    let volume = Arc::downgrade(volume);
    let look = move || {
        while volume.upgrade().is_some_and(|volume| volume.look().is_ok()) {
            clock::sleep_until(clock::now().plus(LOOK));
        }
    };
    std::thread::Builder::new().name("volume-watch".to_owned()).spawn(look).map(drop)
}

#[derive(Debug)]
enum VolumeStore {
    Ram(Ram),
    Stored(Arc<dyn Store>),
}

impl Volume {
    /// Opens or makes what the user named. `serial` is the unit serial number where the user gave none: it must be the same
    /// at every start, and no other volume's.
    /// # Errors
    /// The guard refuses it, it cannot be opened, or memory is short.
    pub fn open(spec: &VolumeSpec, serial: &str) -> Result<Arc<Volume>, VolumeError> {
        let mut attributes = VolumeAttributes {
            block: spec.block,
            blocks: 0,
            thin: spec.thin,
            read_only: false,
            write_back: !spec.write_through,
            serial: spec.serial.clone().unwrap_or_else(|| serial.to_owned()),
            granularity: (ram::PAGE as u32 / spec.block).max(1),
        };
        let (path, size, name) = match &spec.kind {
            VolumeKind::Ram { size } => {
                attributes.blocks = size / u64::from(spec.block);
                let kind = VolumeStore::Ram(Ram::new(*size, spec.thin)?);
                return Ok(Arc::new(Volume::of(attributes, kind, None)));
            }
            VolumeKind::File { path, size } => (path, *size, "file"),
            VolumeKind::Block { path } => (path, None, "block"),
        };
        let backing = OpenedBacking::open(&BackingSpec {
            name: format!("{name} volume"),
            path: path.clone(),
            size,
            sparse: spec.thin,
            read_only: spec.read_only,
            write_token: spec.write_token.clone(),
            overwrite: spec.overwrite,
            unit: spec.block,
        })?;
        if backing.is_device() != matches!(spec.kind, VolumeKind::Block { .. }) {
            let other = if backing.is_device() {
                "a block device; say `block:`"
            } else {
                "a file; say `file:`"
            };
            return Err(VolumeError::Unopened(format!("{path} is {other} instead")));
        }
        attributes.blocks = backing.size() / u64::from(spec.block);
        if attributes.blocks == 0 {
            return Err(VolumeError::Unopened(format!(
                "{path} is smaller than one block of {}",
                spec.block
            )));
        }
        let read_only = backing.read_only().map(str::to_owned);
        attributes.read_only = read_only.is_some();
        let kind = VolumeStore::Stored(Arc::new(backing));
        let volume = Arc::new(Volume::of(attributes, kind, read_only));
        watch(&volume)
            .map_err(|e| VolumeError::Unopened(format!("{path} cannot be watched ({e})")))?;
        Ok(volume)
    }

    /// A volume kept in something else than a file or a device.
    pub fn over(store: Arc<dyn Store>, attributes: VolumeAttributes) -> Arc<Volume> {
        Arc::new(Volume::of(attributes, VolumeStore::Stored(store), None))
    }

    fn of(attributes: VolumeAttributes, kind: VolumeStore, read_only: Option<String>) -> Volume {
        Volume {
            blocks: AtomicU64::new(attributes.blocks),
            growing: Mutex::default(),
            attributes,
            kind,
            read_only,
            gate: CommandGate::default(),
            syncing: Syncing::default(),
            slots: Slots::new(),
            failed: AtomicI32::new(0),
            cannot: Default::default(),
            gone: AtomicBool::new(false),
            tape: None,
        }
    }

    /// What it is now.
    pub fn attributes(&self) -> VolumeAttributes {
        VolumeAttributes { blocks: self.blocks(), ..self.attributes.clone() }
    }

    /// Logical blocks.
    fn blocks(&self) -> u64 {
        self.blocks.load(Ordering::Acquire)
    }

    /// Makes it larger, while it is served; returns its blocks.
    /// # Errors
    /// It cannot have that size: why, in words. It is as before.
    pub(crate) fn grow(&self, bytes: u64) -> Result<u64, String> {
        let _one_after_the_other = self.growing.lock().unwrap_or_else(PoisonError::into_inner);
        let block = u64::from(self.attributes.block);
        let (now, blocks) = (self.blocks(), bytes / block);
        if self.tape.is_some() {
            return Err("it is no disk".to_owned());
        }
        if !bytes.is_multiple_of(block) {
            return Err(format!("{bytes} bytes are no multiple of its blocks of {block}"));
        }
        if blocks < now {
            let has = units::Bytes(now * block);
            return Err(format!(
                "it has {has}, and its initiators may use all of it: it can only grow"
            ));
        }
        if let Some(why) = &self.read_only {
            return Err(format!("it is only read ({why})"));
        }
        if blocks > now {
            match &self.kind {
                VolumeStore::Ram(ram) => ram.grow(now * block, bytes)?,
                VolumeStore::Stored(store) => store.grow(bytes, self.attributes.thin)?,
            }
        }
        self.blocks.store(blocks, Ordering::Release);
        Ok(blocks)
    }

    /// Why it is served for reading only, for the one who asked for more; `None` where it may be written.
    pub fn why_read_only(&self) -> Option<&str> {
        self.read_only.as_deref()
    }

    /// The unit of a tape library that it is; `None` for a disk.
    pub(crate) fn tape(&self) -> Option<&TapeUnit> {
        self.tape.as_ref()
    }

    /// What it did since it was opened.
    pub fn counters(&self) -> Counters {
        self.slots.counters()
    }

    /// Bytes of memory or file system space in use; `None` if unknown.
    pub fn taken(&self) -> Option<u64> {
        match &self.kind {
            VolumeStore::Ram(ram) => Some(ram.taken()),
            VolumeStore::Stored(store) => store.taken(),
        }
    }

    /// The error of the first sync that failed, for good.
    pub fn sync_failure(&self) -> Option<std::io::Error> {
        match self.failed.load(Ordering::Acquire) {
            0 => None,
            errno => Some(std::io::Error::from_raw_os_error(errno)),
        }
    }

    /// Whether its store was found removed or cut.
    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Relaxed)
    }

    /// Looks at its store. What was acknowledged and not yet synced is lost with the store, and no later sync makes it good.
    fn look(&self) -> std::io::Result<()> {
        let VolumeStore::Stored(store) = &self.kind else { return Ok(()) };
        store.still_there().inspect_err(|_| {
            self.gone.store(true, Ordering::Relaxed);
            let errno = rustix::io::Errno::IO.raw_os_error();
            let order = (Ordering::AcqRel, Ordering::Acquire);
            // The first failure stays.
            let _ = self.failed.compare_exchange(0, errno, order.0, order.1);
        })
    }

    fn ram(&self) -> Option<&Ram> {
        match &self.kind {
            VolumeStore::Ram(ram) => Some(ram),
            VolumeStore::Stored(_) => None,
        }
    }
}

impl From<BackingError> for VolumeError {
    fn from(error: BackingError) -> VolumeError {
        match error {
            BackingError::Refused(why) => VolumeError::Refused(why),
            BackingError::Unopened(why) => VolumeError::Unopened(why),
        }
    }
}

/// A volume as one thread holds it: clones are counted where no other thread counts.
#[derive(Clone, Debug)]
pub struct Handle(Rc<VolumeHandle>);

#[derive(Debug)]
struct VolumeHandle {
    volume: Arc<Volume>,
}

impl Handle {
    /// The thread's own.
    pub fn new(volume: Arc<Volume>) -> Handle {
        Handle(Rc::new(VolumeHandle { volume }))
    }
}

impl Deref for Handle {
    type Target = Volume;

    fn deref(&self) -> &Volume {
        &self.0.volume
    }
}
