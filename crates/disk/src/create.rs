//! Creation of a target file: reserved, filled with incompressible data, synced, marked, and only then given its name.
//!
//! The file has no name while it is filled (`O_TMPFILE`), so that a killed process leaves nothing behind; where a file
//! system cannot do that, it has a temporary one. The final name is given by a link, which never replaces anything.

use crate::content::Content;
use crate::fill::{Broken, CHUNK, Fill, Progress};
use crate::guard;
use crate::surface::Sink;
use engine::{EngineError, Stop};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FallocateFlags, Mode, OFlags};
use rustix::fs::{fallocate, fstatvfs, fsync, linkat, openat};
use rustix::io::Errno;
use std::path::{Path, PathBuf};

/// A file that has just been made.
pub(crate) struct Made {
    /// How much was filled, and how fast.
    pub filled: Progress,
    /// Set where the file system keeps no marks: the only proof that the file is ours.
    pub unmarked: Option<OwnedFd>,
}

/// Creates `path` with `bytes` of content, telling `tell` how far it has come, unless `stop` is asked for meanwhile.
pub(crate) fn create(
    target: &str,
    path: &Path,
    bytes: u64,
    content: Content,
    stop: &Stop,
    tell: &mut dyn FnMut(Progress),
) -> Result<Made, EngineError> {
    let failed = |problem: String| EngineError::Target { target: target.to_owned(), problem };
    let folder = folder_of(path);
    let scratch = Scratch::new(path).map_err(|e| match e {
        Errno::NOENT => {
            failed(format!("{} does not exist; create that directory first", folder.display()))
        }
        e => failed(format!("nothing can be created in {} ({e})", folder.display())),
    })?;
    let fill = Fill {
        to: Sink::Fd(scratch.fd()),
        content,
        range: 0..bytes,
        chunk: CHUNK,
        align: rustix::param::page_size() as u32,
        stop,
    };
    let failed_at = |e| failed(no_room(folder, bytes, e));
    reserve(scratch.fd(), bytes).map_err(failed_at)?;
    let filled = fill.run(tell).map_err(|e| match e {
        Broken::Failed(e, _) => failed_at(e),
        Broken::Stopped(_) => failed("its creation was stopped; nothing is left behind".to_owned()),
    })?;
    let marked = match guard::mark(scratch.fd()) {
        Ok(()) => true,
        Err(Errno::OPNOTSUPP) => false,
        Err(e) => return Err(failed(format!("it cannot be marked as Wirespeed's own ({e})"))),
    };
    scratch.publish(path).map_err(|e| match e {
        Errno::EXIST => EngineError::Refused(format!(
            "{target}: something appeared at {} while the file was being filled; it is left alone",
            path.display()
        )),
        e => failed(format!("the finished file cannot be given its name ({e})")),
    })?;
    // The name, too, is to outlive a crash; a directory that cannot be synced costs no more than the file.
    if let Ok(folder) = openat(CWD, folder, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = fsync(folder);
    }
    Ok(Made { filled, unmarked: if marked { None } else { Some(scratch.into_fd()) } })
}

/// Creates `path` with `bytes` of zeros, which take no space before they are written (`sparse`) or take it at once, and
/// returns it open for reading and writing. Otherwise why not, in words. Where the file system keeps no marks, nobody will
/// know later that the file is ours.
pub(crate) fn create_empty(path: &str, bytes: u64, sparse: bool) -> Result<OwnedFd, String> {
    let path = Path::new(path);
    let folder = folder_of(path);
    let scratch = Scratch::new(path)
        .map_err(|e| format!("nothing can be created in {} ({e})", folder.display()))?;
    let failed_at = |e| no_room(folder, bytes, e);
    rustix::fs::ftruncate(scratch.fd(), bytes).map_err(failed_at)?;
    if !sparse {
        reserve(scratch.fd(), bytes).map_err(failed_at)?;
    }
    match guard::mark(scratch.fd()) {
        Ok(()) | Err(Errno::OPNOTSUPP) => {}
        Err(e) => return Err(format!("it cannot be marked as Wirespeed's own ({e})")),
    }
    fsync(scratch.fd()).map_err(failed_at)?;
    scratch.publish(path).map_err(|e| format!("it cannot be given its name ({e})"))?;
    if let Ok(folder) = openat(CWD, folder, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        // A directory that cannot be synced costs no more than the file.
        let _ = fsync(folder);
    }
    Ok(scratch.into_fd())
}

/// Bytes that an unprivileged user may still write in `folder`; `None` where its file system does not say.
pub(crate) fn room_in(folder: &Path) -> Option<u64> {
    let folder = openat(CWD, folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let vfs = fstatvfs(folder).ok()?;
    // File systems without a size (ramfs) report no blocks at all.
    (vfs.f_blocks > 0).then(|| vfs.f_bavail.saturating_mul(vfs.f_frsize))
}

/// The directory that a path lies in.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// The message for a file that does not fit.
pub(crate) fn short_of_room(folder: &Path, bytes: u64, room: u64) -> String {
    format!(
        "{bytes} bytes ({} MiB) are to be created, but {} has {room} bytes ({} MiB) free; make room, choose another \
         place or `create` less",
        bytes >> 20,
        folder.display(),
        room >> 20
    )
}

fn no_room(folder: &Path, bytes: u64, e: Errno) -> String {
    match (e, room_in(folder)) {
        (Errno::NOSPC | Errno::DQUOT, Some(room)) => short_of_room(folder, bytes, room),
        _ => format!("{bytes} bytes could not be created ({e}); nothing is left behind"),
    }
}

/// Takes the space before the data: a full disk shows at once.
fn reserve(fd: BorrowedFd<'_>, bytes: u64) -> Result<(), Errno> {
    match fallocate(fd, FallocateFlags::empty(), 0, bytes) {
        Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        other => other,
    }
}

/// A file that has not got its name yet. Dropped, it is gone.
struct Scratch {
    fd: OwnedFd,
    /// Held for what its end does.
    _temporary: Option<Temporary>,
}

/// A temporary name, which goes away with this value.
struct Temporary(PathBuf);

impl Scratch {
    fn new(path: &Path) -> Result<Scratch, Errno> {
        let folder = folder_of(path);
        match open_direct(folder, OFlags::TMPFILE) {
            Ok(fd) => Ok(Scratch { fd, _temporary: None }),
            Err(Errno::OPNOTSUPP | Errno::ISDIR) => Scratch::named(path),
            Err(e) => Err(e),
        }
    }

    /// For file systems without nameless files.
    fn named(path: &Path) -> Result<Scratch, Errno> {
        let mut name = std::ffi::OsString::from(".");
        name.push(path.file_name().ok_or(Errno::INVAL)?);
        name.push(format!(".wirespeed-{}", std::process::id()));
        let name = folder_of(path).join(name);
        let fd = open_direct(&name, OFlags::CREATE | OFlags::EXCL)?;
        Ok(Scratch { fd, _temporary: Some(Temporary(name)) })
    }

    fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Gives it its name; `EEXIST` where something stands there.
    fn publish(&self, path: &Path) -> Result<(), Errno> {
        let own = format!("/proc/self/fd/{}", self.fd.as_raw_fd());
        linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW)
    }

    fn into_fd(self) -> OwnedFd {
        self.fd
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = rustix::fs::unlink(&self.0);
    }
}

/// Opens past the page cache where the file system lets us: filling should not wash it out.
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
    fn a_named_scratch_leaves_the_file_alone_with_one_name() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("data");
        let scratch = Scratch::named(&path).expect("a scratch file");
        rustix::fs::ftruncate(scratch.fd(), MIB).expect("room for a MiB");
        scratch.publish(&path).expect("a free name");
        drop(scratch);
        assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1);
        assert_eq!(fs::metadata(&path).expect("there").len(), MIB);
    }

    #[test]
    fn an_interrupted_fill_leaves_nothing() {
        type Maker = fn(&Path) -> Result<Scratch, Errno>;
        for maker in [Scratch::new as Maker, Scratch::named] {
            let folder = tempfile::tempdir().expect("a directory");
            let scratch = maker(&folder.path().join("data")).expect("a scratch file");
            rustix::fs::ftruncate(scratch.fd(), MIB).expect("room for a MiB");
            drop(scratch);
            assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
        }
    }

    #[test]
    fn a_name_that_is_taken_is_never_replaced() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("data");
        let scratch = Scratch::new(&path).expect("a scratch file");
        fs::write(&path, "precious").expect("written");
        assert_eq!(scratch.publish(&path), Err(Errno::EXIST));
        assert_eq!(fs::read_to_string(&path).expect("there"), "precious");
    }
}
