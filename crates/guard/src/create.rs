//! Creation of a file: unnamed while it is filled (`O_TMPFILE`), so that a killed process leaves nothing behind; where a file
//! system does not support that, under a temporary name. A link gives the final name and never replaces anything. Files made
//! here are Wirespeed's own, so this is the one way to a writable file without further checks.

use crate::WriteGrant;
use crate::found::{past_cache, reopen};
use crate::grant::unopened;
use crate::ownership::{self, FilePurpose};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags};
use rustix::fs::{fallocate, fsync, ftruncate, linkat, openat, unlink};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// A file that has not got its name yet. Dropped, it is gone.
#[derive(Debug)]
pub struct NewFile {
    fd: OwnedFd,
    /// Held for what its end does.
    _temporary: Option<Temporary>,
}

/// A temporary name, which goes away with this value.
#[derive(Debug)]
struct Temporary(PathBuf);

impl NewFile {
    /// An empty file on the file system of `path`, opened past the page cache if possible, to spare the cache while
    /// filling.
    /// # Errors
    ///
    /// The kernel's; `ENOENT` where there is no such directory.
    pub fn new(path: &Path) -> Result<NewFile, Errno> {
        match open_direct(folder_of(path), OFlags::TMPFILE) {
            Ok(fd) => Ok(NewFile { fd, _temporary: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR) => NewFile::named(path),
            Err(e) => Err(e),
        }
    }

    /// An empty file in a directory that never gets a name, to find out what the file system can do.
    /// # Errors
    ///
    /// The kernel's, where no such file can be made.
    pub fn nameless(folder: &Path) -> Result<NewFile, Errno> {
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
        let fd = openat(CWD, folder, flags, Mode::RUSR | Mode::WUSR)?;
        Ok(NewFile { fd, _temporary: None })
    }

    /// For file systems without nameless files.
    fn named(path: &Path) -> Result<NewFile, Errno> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().ok_or(Errno::INVAL)?);
        name.push(format!(".wirespeed-{}", std::process::id()));
        let name = folder_of(path).join(name);
        let fd = open_direct(&name, OFlags::CREATE | OFlags::EXCL)?;
        Ok(NewFile { fd, _temporary: Some(Temporary(name)) })
    }

    /// Gives it a size: zeros that take no space before they are written.
    /// # Errors
    ///
    /// The kernel's.
    pub fn set_size(&self, bytes: u64) -> Result<(), Errno> {
        ftruncate(&self.fd, bytes)
    }

    /// Takes the space before the data: a full disk shows at once.
    /// # Errors
    ///
    /// The kernel's; a file system that cannot reserve space has none.
    pub fn reserve(&self, bytes: u64) -> Result<(), Errno> {
        match fallocate(&self.fd, FallocateFlags::empty(), 0, bytes) {
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => other,
        }
    }

    /// Marks it, finished, as Wirespeed's own, for a purpose.
    /// # Errors
    ///
    /// The kernel's; `EOPNOTSUPP` where the file system keeps no extended attributes.
    pub fn mark(&self, purpose: FilePurpose) -> Result<(), Errno> {
        ownership::mark(self.fd.as_fd(), purpose)
    }

    /// Gives it its name, which is to outlive a crash as the file does.
    /// # Errors
    ///
    /// The kernel's; `EEXIST` where something stands there.
    pub fn publish(&self, path: &Path) -> Result<(), Errno> {
        let own = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)?;
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        if let Ok(folder) = openat(CWD, folder_of(path), flags, Mode::empty()) {
            // A directory that cannot be synced costs no more than the file.
            let _ = fsync(folder);
        }
        Ok(())
    }

    /// The right to write it; past the page cache where requested and possible, which the second value says.
    /// # Errors
    ///
    /// Why it cannot be opened again, or locked.
    pub fn into_grant(self, direct: bool) -> Result<(WriteGrant, bool), String> {
        let open = |direct| reopen(self.fd.as_fd(), OFlags::RDWR | past_cache(direct));
        match direct.then(|| open(true)) {
            Some(Ok(fd)) => Ok((WriteGrant::made(fd, true)?, true)),
            _ => Ok((WriteGrant::made(open(false).map_err(unopened)?, false)?, false)),
        }
    }

    pub(crate) fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

impl AsFd for NewFile {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = unlink(&self.0);
    }
}

/// The directory that a path lies in.
fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

fn open_direct(path: &Path, how: OFlags) -> Result<OwnedFd, Errno> {
    let flags = how | OFlags::RDWR | OFlags::CLOEXEC;
    let mode = Mode::RUSR | Mode::WUSR;
    match openat(CWD, path, flags | OFlags::DIRECT, mode) {
        Err(Errno::INVAL) => openat(CWD, path, flags, mode),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const MIB: u64 = 1 << 20;

    #[test]
    fn a_temporary_name_leaves_the_file_alone_with_one_name() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("data");
        let file = NewFile::named(&path).expect("a new file");
        file.set_size(MIB).expect("room for a MiB");
        file.publish(&path).expect("a free name");
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
        assert_eq!(fs::metadata(&path).expect("there").len(), MIB);
    }

    #[test]
    fn an_interrupted_fill_leaves_nothing() {
        type Maker = fn(&Path) -> Result<NewFile, Errno>;
        for maker in [NewFile::new as Maker, NewFile::named] {
            let folder = tempfile::tempdir().expect("a directory");
            let file = maker(&folder.path().join("data")).expect("a new file");
            file.set_size(MIB).expect("room for a MiB");
            drop(file);
            assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
        }
    }

    #[test]
    fn a_name_that_is_taken_is_never_replaced() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("data");
        let file = NewFile::new(&path).expect("a new file");
        fs::write(&path, "precious").expect("written");
        assert_eq!(file.publish(&path), Err(Errno::EXIST));
        assert_eq!(fs::read_to_string(&path).expect("there"), "precious");
    }
}
