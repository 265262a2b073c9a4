//! The index of a cartridge: where every 64th object stands, or one every 64 MiB. It only saves a search: each entry is checked
//! against the record it names before it is used, and the whole is made again from the records where it is missing or wrong.

use super::storage::Storage;
use std::io;

/// Objects and bytes between two entries.
const EVERY: (u64, u64) = (64, 64 << 20);
const MAGIC: [u8; 16] = *b"WIRESPEED TIDX\0\x01";
const HEAD: u64 = 32;
const ENTRY: usize = 32;

/// Where an object stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub object: u64,
    pub offset: u64,
    /// Filemarks before it.
    pub filemarks: u64,
    /// The CRC of its header.
    pub header: u32,
}

/// The entries, in memory and in a file beside the cartridge.
pub(super) struct Index {
    pub entries: Vec<Entry>,
    file: Option<Box<dyn Storage>>,
}

impl Entry {
    fn encode(&self) -> [u8; ENTRY] {
        let mut bytes = [0; ENTRY];
        bytes[0..8].copy_from_slice(&self.object.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.offset.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.filemarks.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.header.to_le_bytes());
        let crc = crc32c::crc32c(&bytes[..28]);
        bytes[28..].copy_from_slice(&crc.to_le_bytes());
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Entry> {
        let figure = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let small = |at: usize| u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        (crc32c::crc32c(&bytes[..28]) == small(28)).then(|| Entry {
            object: figure(0),
            offset: figure(8),
            filemarks: figure(16),
            header: small(24),
        })
    }
}

impl Index {
    /// The entries of a file that belong to the cartridge, up to the first that is out of order.
    pub fn load(uuid: [u8; 16], file: Option<Box<dyn Storage>>) -> Index {
        let mut index = Index { entries: Vec::new(), file };
        if index.read(uuid).is_err() {
            index.entries.clear();
        }
        if index.entries.is_empty() {
            index.begin(uuid);
        }
        index
    }

    fn read(&mut self, uuid: [u8; 16]) -> io::Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        let mut head = [0; HEAD as usize];
        if file.read_at(0, &mut head)? < head.len() || head[..16] != MAGIC || head[16..] != uuid {
            return Ok(());
        }
        let mut bytes = vec![0; 4096 * ENTRY];
        let mut at = HEAD;
        loop {
            let len = file.read_at(at, &mut bytes)?;
            for bytes in bytes[..len].chunks_exact(ENTRY) {
                let last = self.entries.last();
                let follows = |one: &Entry| {
                    last.is_none_or(|last| {
                        one.object > last.object
                            && one.offset > last.offset
                            && one.filemarks >= last.filemarks
                    })
                };
                let Some(entry) = Entry::decode(bytes).filter(follows) else { return Ok(()) };
                self.entries.push(entry);
            }
            if len < bytes.len() {
                return Ok(());
            }
            at += len as u64;
        }
    }

    /// An empty file. A file that cannot be written only costs a search at the next load.
    fn begin(&mut self, uuid: [u8; 16]) {
        let Some(file) = &mut self.file else { return };
        let begun = file.set_len(0).and_then(|()| file.write_at(0, &[&MAGIC, &uuid]));
        if begun.is_err() {
            self.file = None;
        }
    }

    /// Notes an object if it is time for an entry.
    pub fn note(&mut self, entry: Entry) {
        let due = self.entries.last().is_none_or(|last| {
            entry.object >= last.object + EVERY.0 || entry.offset >= last.offset + EVERY.1
        });
        if !due {
            return;
        }
        let at = HEAD + (self.entries.len() * ENTRY) as u64;
        self.entries.push(entry);
        if let Some(file) = &mut self.file
            && file.write_at(at, &[&entry.encode()]).is_err()
        {
            self.file = None;
        }
    }

    /// Forgets every entry from one on.
    pub fn cut(&mut self, entries: usize) {
        self.entries.truncate(entries);
        let len = HEAD + (self.entries.len() * ENTRY) as u64;
        if let Some(file) = &mut self.file
            && file.set_len(len).is_err()
        {
            self.file = None;
        }
    }

    /// Forgets the objects from one on.
    pub fn cut_objects(&mut self, object: u64) {
        self.cut(self.entries.partition_point(|entry| entry.object < object));
    }
}
