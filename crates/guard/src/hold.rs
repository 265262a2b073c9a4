//! What a grant holds for as long as anything can be written through it: the exclusive open of a device, the locks of a
//! file, and the mark of a file that is Wirespeed's own. And the look, once a second in a run, whether others respect it:
//! a loop device takes no lock, and a FUSE server need not.

use crate::found::{MediumId, id, reopen};
use crate::locks;
use crate::ownership::{self, FilePurpose};
use crate::uses::System;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FallocateFlags, FileType, OFlags, SeekFrom, fallocate, fstat, ftruncate, seek};
use rustix::io::Errno;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How long the mark of a file is waited for in the end.
const LEAVING: std::time::Duration = std::time::Duration::from_secs(2);

/// One file or device in use by this process.
#[derive(Debug)]
pub(crate) struct Hold {
    /// An open file of its own, to which the locks belong.
    fd: OwnedFd,
    id: MediumId,
    size: Mutex<u64>,
    /// Set for a file whose mark is kept up to date.
    own: Option<FilePurpose>,
}

impl Hold {
    /// Takes the locks of a file; `own` is what a file of ours was made for.
    /// # Errors
    ///
    /// Another has one, or the file cannot be examined.
    pub fn file(fd: BorrowedFd<'_>, own: Option<FilePurpose>) -> Result<Hold, String> {
        let unopened = |e: Errno| format!("it cannot be opened ({e})");
        Hold::new(reopen(fd, OFlags::RDWR).map_err(unopened)?, own)
    }

    /// Takes the locks of a device that `fd` holds exclusively.
    /// # Errors
    ///
    /// Another has one, or the device cannot be examined.
    pub fn device(fd: OwnedFd) -> Result<Hold, String> {
        Hold::new(fd, None)
    }

    fn new(fd: OwnedFd, own: Option<FilePurpose>) -> Result<Hold, String> {
        let unexamined = |e: Errno| format!("it cannot be examined ({e})");
        locks::hold(fd.as_fd())?;
        let id = id(&fstat(&fd).map_err(unexamined)?);
        let size = seek(&fd, SeekFrom::End(0)).map_err(unexamined)?;
        Ok(Hold { fd, id, size: Mutex::new(size), own })
    }

    /// From here on the content of a file of ours tells whose it is, and no longer the time of its last write.
    /// # Errors
    ///
    /// The kernel's, where the mark cannot be changed.
    pub fn begin(&self) -> Result<(), Errno> {
        self.own.map_or(Ok(()), |purpose| ownership::taken(self.fd.as_fd(), purpose))
    }

    /// Whether it still is what was granted, and this process's alone.
    /// # Errors
    ///
    /// What happened to it, in words.
    pub fn still_held(&self) -> Result<(), String> {
        self.still_there()?;
        let system = System::default();
        let uses = match self.id {
            (u64::MAX, device) => system.uses_of_device(device),
            (device, inode) => system.uses_of_file(device, inode),
        };
        match uses.is_empty() {
            true => Ok(()),
            false => Err(uses.join("; ")),
        }
    }

    fn size(&self) -> MutexGuard<'_, u64> {
        self.size.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a file longer; `sparse`: the new part takes no space before it is written.
    /// # Errors
    ///
    /// What is in the way, in words; its size is as before.
    pub fn grow(&self, to: u64, sparse: bool) -> Result<(), String> {
        self.still_there()?;
        let mut size = self.size();
        let stat = fstat(&self.fd).map_err(|e| format!("it cannot be examined ({e})"))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile || to < *size {
            return Err("only a file can be made longer".to_owned());
        }
        let grown = match sparse {
            true => ftruncate(&self.fd, to),
            false => fallocate(&self.fd, FallocateFlags::empty(), *size, to - *size),
        };
        if let Err(e) = grown {
            // A file system that became full has made it longer as far as it could.
            let back = ftruncate(&self.fd, *size);
            let back = back.map_or_else(|e| format!(", nor as it was ({e})"), |()| String::new());
            return Err(format!("it cannot be made longer ({e}){back}"));
        }
        *size = to;
        // The mark names the size, too.
        self.begin().map_err(|e| format!("its mark cannot be changed ({e})"))
    }

    /// Whether it still has its name and its size.
    /// # Errors
    ///
    /// What happened to it, in words.
    pub fn still_there(&self) -> Result<(), String> {
        let stat = fstat(&self.fd).map_err(|e| format!("it cannot be examined ({e})"))?;
        if FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile && stat.st_nlink == 0 {
            return Err("it was removed: nothing that is written to it will be found".to_owned());
        }
        let known = self.size();
        match seek(&self.fd, SeekFrom::End(0)) {
            Ok(size) if size == *known => Ok(()),
            Ok(size) => Err(format!("its size was changed from {known} to {size} bytes")),
            Err(e) => Err(format!("it cannot be examined ({e})")),
        }
    }
}

impl AsFd for Hold {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some(purpose) = self.own else { return };
        let Ok(fd) = self.fd.try_clone() else { return };
        // On a thread of its own: a file system that is frozen, or gone, answers when it likes. Where this fails the content
        // decides, as after a run that was killed.
        let (done, left) = std::sync::mpsc::channel();
        let mark = move || {
            let _ = ownership::left(fd.as_fd(), purpose);
            drop(fd);
            let _ = done.send(());
        };
        if std::thread::Builder::new().name("file-mark".to_owned()).spawn(mark).is_ok() {
            let _ = left.recv_timeout(LEAVING);
        }
    }
}
