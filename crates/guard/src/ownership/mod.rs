//! Wirespeed's own data: files that it created, recognized by a mark in an extended attribute, and blocks that it wrote,
//! recognized by their stamps (`stamp.rs`).

pub mod stamp;

use crate::Grants;
use rustix::fd::{AsFd, BorrowedFd};
use rustix::fs::{FileType, Stat, XattrFlags, fgetxattr, fsetxattr, fstat};
use rustix::io::Errno;

/// The extended attribute that marks a file as Wirespeed's own.
const MARK: &str = "user.wirespeed";

/// The permission to write of a file's owner.
const OWNER_WRITES: u32 = 0o200;

/// Whether an opened file is our own and not protected by its user.
pub(crate) fn writable(fd: BorrowedFd<'_>, grants: &Grants) -> Result<(), String> {
    own_file(fd, grants)?;
    not_protected(fd)
}

/// Whether the mode of a file allows writing: root could open it regardless.
pub(crate) fn not_protected(fd: BorrowedFd<'_>) -> Result<(), String> {
    match fstat(fd) {
        Ok(stat) if stat.st_mode & OWNER_WRITES == 0 => {
            Err("it is marked read-only (`chmod u+w` it if that is not meant)".to_owned())
        }
        Ok(_) => Ok(()),
        Err(e) => Err(format!("it cannot be examined ({e})")),
    }
}

/// Whether an opened file is one that Wirespeed made, whole and unshared.
/// # Errors
///
/// Why it is not, in words.
pub fn own_file(fd: BorrowedFd<'_>, grants: &Grants) -> Result<(), String> {
    let stat = fstat(fd).map_err(|e| format!("it cannot be examined ({e})"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("it is not a regular file".to_owned());
    }
    if stat.st_nlink != 1 {
        return Err(format!("it has {} names (hard links)", stat.st_nlink));
    }
    if grants.made(&stat) {
        return Ok(());
    }
    match read_mark(fd) {
        Some(mark) if mark == mark_for(&stat) => Ok(()),
        Some(_) => {
            Err("it is a copy of a file that Wirespeed made, or was changed in size since"
                .to_owned())
        }
        None => Err("it was not made by Wirespeed".to_owned()),
    }
}

/// Marks a finished file as Wirespeed's own; `EOPNOTSUPP` where the file system has no extended attributes.
pub(crate) fn mark(fd: BorrowedFd<'_>) -> Result<(), Errno> {
    let text = mark_for(&fstat(fd)?);
    fsetxattr(fd.as_fd(), MARK, text.as_bytes(), XattrFlags::CREATE)
}

/// Version, size and inode: a file that was resized or copied with its attributes no longer carries its own mark.
fn mark_for(stat: &Stat) -> String {
    format!("v1 size={} inode={}", stat.st_size, stat.st_ino)
}

fn read_mark(fd: BorrowedFd<'_>) -> Option<String> {
    let mut buffer = [0u8; 128];
    let n = fgetxattr(fd, MARK, &mut buffer[..]).ok()?;
    String::from_utf8(buffer[..n].to_vec()).ok()
}
