//! What the file system of a directory supports for targets, found out with an unnamed file.

use crate::create::room_in;
use crate::without_data::{HOLE, ZEROES};
use guard::{FilePurpose, NewFile, reopen_to_read};
use rustix::fd::AsFd;
use rustix::fs::fallocate;
use rustix::io::Errno;
use std::path::Path;
use thiserror::Error;
use workload::Dir;

/// What a file system cannot do.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub enum Unsupported {
    /// No file can be made there at all.
    #[error("nothing can be created there ({0})")]
    Create(Errno),
    /// `O_DIRECT` is refused.
    #[error("its file system refuses O_DIRECT ({0})")]
    Direct(Errno),
    /// There are no user extended attributes, so a file that Wirespeed made is not known again in a later run.
    #[error(
        "its file system keeps no marks ({0}): a created file can be written only in the run that made it"
    )]
    Marks(Errno),
    /// Trims or zeroes are refused.
    #[error("its file system refuses {0} ({1})")]
    Operation(&'static str, Errno),
    /// The free space is not known.
    #[error("its free space is not known")]
    Room,
}

/// Whether files in `dir` can be opened past the page cache.
/// # Errors
/// No file can be created there, or `O_DIRECT` is refused.
pub fn direct_io(dir: &Path) -> Result<(), Unsupported> {
    let file = NewFile::nameless(dir).map_err(Unsupported::Create)?;
    reopen_to_read(file.as_fd(), true).map_err(Unsupported::Direct).map(drop)
}

/// Whether files in `dir` can carry the write guard's mark.
/// # Errors
/// No file can be created there, or it cannot be marked.
pub fn marks(dir: &Path) -> Result<(), Unsupported> {
    let file = NewFile::nameless(dir).map_err(Unsupported::Create)?;
    file.mark(FilePurpose::Load).map_err(Unsupported::Marks)
}

/// Whether an operation without data is possible on files in `dir`.
/// # Errors
/// No file can be created there, or its file system refuses the operation.
pub fn operation(dir: &Path, kind: Dir) -> Result<(), Unsupported> {
    let mode = match kind {
        Dir::Trim => HOLE,
        Dir::Zero => ZEROES,
        Dir::Read | Dir::Write | Dir::Flush => return Ok(()),
    };
    let file = NewFile::nameless(dir).map_err(Unsupported::Create)?;
    file.set_size(PROBED).map_err(Unsupported::Create)?;
    fallocate(file.as_fd(), mode, 0, PROBED).map_err(|e| Unsupported::Operation(kind.name(), e))
}

/// Bytes of the file that an operation is tried on.
const PROBED: u64 = 1 << 16;

/// Bytes that an unprivileged user may still write in `dir`.
/// # Errors
/// The free space is unknown.
pub fn free_space(dir: &Path) -> Result<u64, Unsupported> {
    room_in(dir).ok_or(Unsupported::Room)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_directory_that_is_not_there_can_do_nothing_and_nothing_is_left_where_it_is() {
        let dir = tempfile::tempdir().expect("a scratch directory");
        let missing = dir.path().join("missing");
        assert_eq!(direct_io(&missing), Err(Unsupported::Create(Errno::NOENT)));
        assert_eq!(marks(&missing), Err(Unsupported::Create(Errno::NOENT)));
        assert_eq!(free_space(&missing), Err(Unsupported::Room));
        assert!(!matches!(marks(dir.path()), Err(Unsupported::Create(_))));
        assert!(free_space(dir.path()).is_ok());
        assert_eq!(std::fs::read_dir(dir.path()).expect("it is readable").count(), 0);
    }
}
