//! Creation of a target file: reserved, filled with incompressible data, synced, marked, and only then given its name, so
//! that a killed process leaves nothing behind. The file itself is the guard's to make ([`NewFile`]).

use crate::content::ContentMaker;
use crate::fill::{Broken, CHUNK, FillProgress, FillRange};
use crate::surface::WriteSurface;
use engine::{EngineError, Stop};
use guard::{FilePurpose, NewFile};
use rustix::fd::AsFd;
use rustix::fs::{CWD, Mode, OFlags, fstatvfs, fsync, openat};
use rustix::io::Errno;
use std::path::Path;

/// A file that has just been made.
pub(crate) struct CreatedFile {
    /// How much was filled, and how fast.
    pub filled: FillProgress,
    /// Set where the file system keeps no marks: the only proof that the file is ours.
    pub unmarked: Option<NewFile>,
}

/// Creates `path` with `bytes` of content, telling `tell` how far it has come, unless `stop` is asked for meanwhile.
pub(crate) fn create(
    target: &str,
    path: &Path,
    bytes: u64,
    content: ContentMaker,
    stop: &Stop,
    tell: &mut dyn FnMut(FillProgress),
) -> Result<CreatedFile, EngineError> {
    let failed = |problem: String| EngineError::Target { target: target.to_owned(), problem };
    let folder = folder_of(path);
    let file = NewFile::new(path).map_err(|e| match e {
        Errno::NOENT => {
            failed(format!("{} does not exist; create that directory first", folder.display()))
        }
        e => failed(format!("nothing can be created in {} ({e})", folder.display())),
    })?;
    let fill = FillRange {
        to: WriteSurface::Fd(file.as_fd()),
        content,
        range: 0..bytes,
        chunk: CHUNK,
        align: rustix::param::page_size() as u32,
        stop,
    };
    let failed_at = |e| failed(no_room(folder, bytes, e));
    file.reserve(bytes).map_err(failed_at)?;
    let filled = fill.run(tell).map_err(|e| match e {
        Broken::Failed(e, _) => failed_at(e),
        Broken::Stopped(_) => failed("its creation was stopped; nothing is left behind".to_owned()),
    })?;
    let marked = match file.mark(FilePurpose::Load) {
        Ok(()) => true,
        Err(Errno::OPNOTSUPP) => false,
        Err(e) => return Err(failed(format!("it cannot be marked as Wirespeed's own ({e})"))),
    };
    file.publish(path).map_err(|e| match e {
        Errno::EXIST => EngineError::Refused(format!(
            "{target}: something appeared at {} while the file was being filled; it is left alone",
            path.display()
        )),
        e => failed(format!("the finished file cannot be given its name ({e})")),
    })?;
    Ok(CreatedFile { filled, unmarked: (!marked).then_some(file) })
}

/// Creates `path` with `bytes` of zeros, which take no space before they are written (`sparse`) or take it at once, and
/// returns it open for reading and writing; otherwise the reason. Where the file system keeps no marks, the file cannot
/// be recognized as ours later.
pub(crate) fn create_empty(path: &str, bytes: u64, sparse: bool) -> Result<NewFile, String> {
    let path = Path::new(path);
    let folder = folder_of(path);
    let file = NewFile::new(path)
        .map_err(|e| format!("nothing can be created in {} ({e})", folder.display()))?;
    let failed_at = |e| no_room(folder, bytes, e);
    file.set_size(bytes).map_err(failed_at)?;
    if !sparse {
        file.reserve(bytes).map_err(failed_at)?;
    }
    match file.mark(FilePurpose::Volume) {
        Ok(()) | Err(Errno::OPNOTSUPP) => {}
        Err(e) => return Err(format!("it cannot be marked as Wirespeed's own ({e})")),
    }
    fsync(file.as_fd()).map_err(failed_at)?;
    file.publish(path).map_err(|e| format!("it cannot be given its name ({e})"))?;
    Ok(file)
}

/// Bytes that an unprivileged user may still write in `folder`; `None` where its file system does not say.
pub fn room_in(folder: &Path) -> Option<u64> {
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
