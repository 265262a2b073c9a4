//! What holds a cartridge's bytes: a narrow trait with positional I/O, so that a test can run the same code over a storage that
//! fails, fills up, or loses what was not synced. A file is the ordinary one.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that outlive the process.
pub trait Storage: Send {
    /// Reads at a byte; returns how many bytes there were.
    /// # Errors
    /// The read failed.
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<usize>;

    /// Writes all of the parts at a byte, one after the other.
    /// # Errors
    /// The write failed; some of it may have happened.
    fn write_at(&mut self, at: u64, parts: &[&[u8]]) -> io::Result<()>;

    /// Cuts or extends.
    /// # Errors
    /// It failed.
    fn set_len(&mut self, len: u64) -> io::Result<()>;

    /// Bytes.
    /// # Errors
    /// They cannot be found out.
    fn len(&self) -> io::Result<u64>;

    /// Whether there are none.
    /// # Errors
    /// As [`Storage::len`].
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }

    /// Whatever was written is on the backing store when it returns.
    /// # Errors
    /// The sync failed; earlier writes may be lost.
    fn sync(&mut self) -> io::Result<()>;
}

/// A file.
#[derive(Debug)]
pub struct FileStorage(File);

impl FileStorage {
    /// Opens a file; `write`: for reading and writing.
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path, write: bool) -> io::Result<FileStorage> {
        Ok(FileStorage(OpenOptions::new().read(true).write(write).open(path)?))
    }

    /// Opens a file for reading and writing, and makes it if it is not there.
    /// # Errors
    /// It cannot be opened.
    pub fn open_or_make(path: &Path) -> io::Result<FileStorage> {
        let options = &mut OpenOptions::new();
        Ok(FileStorage(options.read(true).write(true).create(true).truncate(false).open(path)?))
    }
}

impl Storage for FileStorage {
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        let mut done = 0;
        while done < out.len() {
            match self.0.read_at(&mut out[done..], at + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    fn write_at(&mut self, mut at: u64, parts: &[&[u8]]) -> io::Result<()> {
        for part in parts.iter().filter(|part| !part.is_empty()) {
            self.0.write_all_at(part, at)?;
            at += part.len() as u64;
        }
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.0.sync_data()
    }
}
