//! What an agent has to say and the coordinator has not for good: in memory first, then in a file, and no more than both hold.
//!
//! A message stays until the coordinator has it in its journal, so that one that comes damaged can be sent again. Where room
//! is short, messages that the server keeps go first: those are safe there. What neither has is never dropped: then
//! [`Spool::push`] refuses, and the agent's part of the run is over, which the coordinator hears.

use bytes::Bytes;
use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// How much may wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes in memory.
    pub memory: usize,
    /// Bytes in the file.
    pub disk: u64,
    /// Where the file is.
    pub dir: PathBuf,
}

enum Held {
    Memory(Bytes),
    File { at: u64, len: usize },
}

struct Entry {
    number: u64,
    held: Held,
    /// The server has it.
    stored: bool,
}

/// The messages that wait.
pub struct Spool {
    room: Room,
    path: PathBuf,
    file: Option<File>,
    end: u64,
    entries: VecDeque<Entry>,
    in_memory: usize,
    /// The most that it held in memory and in the file.
    pub most: (usize, u64),
}

impl Spool {
    /// An empty one; its file, if it needs one, has this name.
    pub fn new(room: Room, name: &str) -> Spool {
        let path = room.dir.join(format!("{name}.spool"));
        let (file, entries) = (None, VecDeque::new());
        Spool { room, path, file, end: 0, entries, in_memory: 0, most: (0, 0) }
    }

    /// Takes a message, whose number follows the last one's.
    /// # Errors
    /// Where there is no room for it, or the file cannot be written.
    pub fn push(&mut self, number: u64, message: Bytes) -> io::Result<()> {
        let on_disk = self.entries.back().is_some_and(|e| matches!(e.held, Held::File { .. }));
        if on_disk || self.in_memory + message.len() > self.room.memory {
            self.make_room(message.len());
        }
        let on_disk = self.entries.back().is_some_and(|e| matches!(e.held, Held::File { .. }));
        let held = match !on_disk && self.in_memory + message.len() <= self.room.memory {
            true => {
                self.in_memory += message.len();
                Held::Memory(message)
            }
            false => self.write_out(&message)?,
        };
        self.entries.push_back(Entry { number, held, stored: false });
        self.most = (self.most.0.max(self.in_memory), self.most.1.max(self.end));
        Ok(())
    }

    /// Drops from the front what the server keeps, as far as is needed.
    fn make_room(&mut self, bytes: usize) {
        while self.in_memory + bytes > self.room.memory
            && self.entries.front().is_some_and(|entry| entry.stored)
        {
            self.drop_front();
        }
    }

    fn write_out(&mut self, message: &Bytes) -> io::Result<Held> {
        let (at, len) = (self.end, message.len());
        if at + len as u64 > self.room.disk {
            return Err(io::Error::other(format!(
                "{} messages wait for the coordinator and fill {} MB in {}",
                self.entries.len(),
                self.end / 1_000_000,
                self.room.dir.display()
            )));
        }
        if self.file.is_none() {
            fs::create_dir_all(&self.room.dir)?;
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(true).mode(0o600);
            self.file = Some(options.open(&self.path)?);
        }
        if let Some(file) = &self.file {
            file.write_all_at(message, at)?;
        }
        self.end = at + len as u64;
        Ok(Held::File { at, len })
    }

    /// The first message from this number on.
    /// # Errors
    /// Where the file cannot be read.
    pub fn from(&self, number: u64) -> io::Result<Option<(u64, Bytes)>> {
        let Some(entry) = self.entries.iter().find(|entry| entry.number >= number) else {
            return Ok(None);
        };
        let bytes = match (&entry.held, &self.file) {
            (Held::Memory(bytes), _) => bytes.clone(),
            (Held::File { at, len }, Some(file)) => {
                let mut bytes = vec![0; *len];
                file.read_exact_at(&mut bytes, *at)?;
                Bytes::from(bytes)
            }
            (Held::File { .. }, None) => return Err(io::Error::other("the spool is gone")),
        };
        Ok(Some((entry.number, bytes)))
    }

    /// The server keeps this message.
    pub fn stored(&mut self, number: u64) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.number == number) {
            entry.stored = true;
        }
    }

    /// The coordinator has all messages before this one.
    pub fn kept(&mut self, next: u64) {
        while self.entries.front().is_some_and(|entry| entry.number < next) {
            self.drop_front();
        }
    }

    fn drop_front(&mut self) {
        if let Some(Entry { held: Held::Memory(bytes), .. }) = self.entries.pop_front() {
            self.in_memory -= bytes.len();
        }
        let on_disk = self.entries.iter().any(|entry| matches!(entry.held, Held::File { .. }));
        if !on_disk && self.end > 0 {
            self.end = 0;
            // Room on the disk is given back; where that fails, it is used again.
            let _ = self.file.as_ref().map(|file| file.set_len(0));
        }
    }

    /// Messages that the server does not have yet.
    pub fn waiting(&self) -> usize {
        self.entries.iter().filter(|entry| !entry.stored).count()
    }

    /// Where its file is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        if self.file.take().is_some() {
            // What waits in it has no reader any more.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spool(dir: &Path, memory: usize, disk: u64) -> Spool {
        Spool::new(Room { memory, disk, dir: dir.to_owned() }, "a")
    }

    fn bytes(number: u64) -> Bytes {
        Bytes::from(vec![number as u8; 10])
    }

    #[test]
    fn what_waits_is_bounded_and_comes_back_in_order() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut spool = spool(dir.path(), 30, 40);
        for number in 0..7 {
            spool.push(number, bytes(number)).expect("room");
        }
        assert_eq!(spool.most, (30, 40));
        let full = spool.push(7, bytes(7)).expect_err("it is full");
        assert!(full.to_string().contains("7 messages wait"), "{full}");
        for number in 0..7 {
            assert_eq!(spool.from(number).expect("read"), Some((number, bytes(number))));
        }
        assert_eq!(spool.from(7).expect("read"), None);
        // What the coordinator has is dropped, and the file is emptied with its last message.
        spool.kept(5);
        assert_eq!(spool.from(0).expect("read"), Some((5, bytes(5))));
        spool.kept(7);
        assert_eq!(fs::metadata(spool.path()).expect("it is there").len(), 0);
        let path = spool.path().to_owned();
        drop(spool);
        assert!(!path.exists());
    }

    #[test]
    fn only_what_the_server_keeps_makes_room() {
        let dir = tempfile::tempdir().expect("a directory");
        let mut spool = spool(dir.path(), 30, 0);
        (0..3).for_each(|number| spool.push(number, bytes(number)).expect("room"));
        assert!(spool.push(3, bytes(3)).is_err());
        spool.stored(0);
        assert_eq!(spool.waiting(), 2);
        spool.push(3, bytes(3)).expect("room");
        assert!(spool.push(4, bytes(4)).is_err());
        assert_eq!(spool.from(0).expect("read"), Some((1, bytes(1))));
    }
}
