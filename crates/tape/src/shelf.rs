//! Where a library keeps its cartridges, their memories and its inventory: a directory, or the memory of this process.

use crate::media::format::Identity;
use crate::media::{Attributes, Cartridge, FileStorage, MemoryStorage, Storage};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::{fs, io};

/// Bytes of a cartridge beside its records: what stands before them, and filemarks behind its capacity.
const MARGIN: u64 = 1 << 20;

/// The file of the inventory.
pub(crate) const INVENTORY: &str = "library.state";

/// A place for cartridges.
#[derive(Debug)]
pub(crate) enum Shelf {
    Directory(PathBuf),
    /// By their barcodes.
    Memory(Mutex<BTreeMap<String, InMemory>>),
}

/// A cartridge in memory. It needs no index: nobody opens it after a crash.
#[derive(Clone, Debug)]
pub(crate) struct InMemory {
    data: MemoryStorage,
    attributes: Attributes,
}

/// A cartridge on its shelf.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub shelf: Arc<Shelf>,
    pub barcode: String,
}

/// A cartridge that is open.
pub(crate) struct OpenCase {
    pub data: Box<dyn Storage>,
    pub index: Option<Box<dyn Storage>>,
    /// Its write-protect tab is set.
    pub tab: bool,
}

impl Shelf {
    /// In memory, with nothing on it.
    pub fn in_memory() -> Shelf {
        Shelf::Memory(Mutex::default())
    }

    /// The inventory as it was kept; `None`: there is none.
    pub fn inventory(&self) -> io::Result<Option<String>> {
        match self {
            Shelf::Directory(directory) => match fs::read_to_string(directory.join(INVENTORY)) {
                Ok(text) => Ok(Some(text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
                Err(error) => Err(error),
            },
            Shelf::Memory(_) => Ok(None),
        }
    }

    /// Keeps an inventory. What is in memory has one reader, who knows it.
    pub fn keep_inventory(&self, text: &str) -> io::Result<()> {
        match self {
            Shelf::Directory(directory) => {
                crate::library::replace(&directory.join(INVENTORY), text.as_bytes())
            }
            Shelf::Memory(_) => Ok(()),
        }
    }

    /// The barcodes of its cartridges.
    pub fn barcodes(&self) -> io::Result<BTreeSet<String>> {
        let directory = match self {
            Shelf::Directory(directory) => directory,
            Shelf::Memory(all) => return Ok(held(all).keys().cloned().collect()),
        };
        let mut found = BTreeSet::new();
        for entry in fs::read_dir(directory)? {
            let path = entry?.path();
            let barcode = path.file_stem().and_then(|stem| stem.to_str());
            if let Some(barcode) = barcode.filter(|_| path.extension().is_some_and(|e| e == "tape"))
                && barcode.len() <= 32
                && barcode.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c))
            {
                found.insert(barcode.to_owned());
            }
        }
        Ok(found)
    }

    /// Makes an empty cartridge where there is none of its barcode.
    pub fn make(&self, identity: &Identity) -> io::Result<()> {
        match self {
            Shelf::Directory(directory) => {
                let path = file(directory, &identity.barcode);
                if path.exists() {
                    return Ok(());
                }
                // Made beside, so that a cartridge is there whole or not at all.
                let beside = path.with_extension("new");
                Cartridge::make(&mut FileStorage::open_or_make(&beside)?, identity)?;
                fs::rename(&beside, &path)
            }
            Shelf::Memory(all) => {
                let mut all = held(all);
                if !all.contains_key(&identity.barcode) {
                    let mut data = MemoryStorage::with_room(identity.capacity + MARGIN);
                    Cartridge::make(&mut data, identity)?;
                    let attributes = Attributes::default();
                    all.insert(identity.barcode.clone(), InMemory { data, attributes });
                }
                Ok(())
            }
        }
    }
}

impl Case {
    /// Opens it.
    pub fn open(&self) -> io::Result<OpenCase> {
        let directory = match &*self.shelf {
            Shelf::Directory(directory) => directory,
            Shelf::Memory(all) => {
                let found = held(all).get(&self.barcode).map(|one| one.data.clone());
                let data = found.ok_or(io::ErrorKind::NotFound)?;
                return Ok(OpenCase { data: Box::new(data), index: None, tab: false });
            }
        };
        let path = file(directory, &self.barcode);
        // The write-protect tab of a cartridge is its file's permission to be written.
        let tab = fs::metadata(&path)?.permissions().readonly();
        let data = FileStorage::open(&path, !tab)?;
        let index = path.with_extension("index");
        let index = if tab {
            FileStorage::open(&index, false).ok()
        } else {
            FileStorage::open_or_make(&index).ok()
        };
        let index = index.map(|index| Box::new(index) as Box<dyn Storage>);
        Ok(OpenCase { data: Box::new(data), index, tab })
    }

    /// Its memory; an empty one where it cannot be read.
    pub fn attributes(&self) -> Attributes {
        match &*self.shelf {
            Shelf::Directory(directory) => Attributes::load(&memory(directory, &self.barcode)),
            Shelf::Memory(all) => {
                held(all).get(&self.barcode).map(|one| one.attributes.clone()).unwrap_or_default()
            }
        }
    }

    /// Keeps its memory.
    pub fn keep_attributes(&self, attributes: &Attributes) -> io::Result<()> {
        match &*self.shelf {
            Shelf::Directory(directory) => attributes.store(&memory(directory, &self.barcode)),
            Shelf::Memory(all) => {
                if let Some(one) = held(all).get_mut(&self.barcode) {
                    one.attributes = attributes.clone();
                }
                Ok(())
            }
        }
    }
}

fn held(all: &Mutex<BTreeMap<String, InMemory>>) -> MutexGuard<'_, BTreeMap<String, InMemory>> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

fn file(directory: &Path, barcode: &str) -> PathBuf {
    directory.join(format!("{barcode}.tape"))
}

fn memory(directory: &Path, barcode: &str) -> PathBuf {
    directory.join(format!("{barcode}.mam"))
}
