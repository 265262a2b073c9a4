//! Wirespeed's own data: files that it created, recognized by a mark in an extended attribute and by what they hold, and
//! blocks that it wrote, recognized by their stamps (`stamp.rs`).
//!
//! The mark names one file: size, inode, time of birth and Btrfs subvolume, so that no copy carries its own mark. It says
//! what the file was made for, and when it was last written under a grant: a file written since by others is not ours,
//! however little was written. After a run that was killed only the content can tell.

pub mod stamp;

use crate::Grants;
use crate::media::OpenedMedium;
use crate::{samples, signatures};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use rustix::fs::{AtFlags, FileType, Stat, StatxFlags, XattrFlags};
use rustix::fs::{fgetxattr, fsetxattr, fstat, statx};
use rustix::io::Errno;

/// The extended attribute that marks a file as Wirespeed's own.
const MARK: &str = "user.wirespeed";

/// What stands in the place of the last write's time while a file is granted.
const OPEN: &str = "open";

/// The permission to write of a file's owner.
const OWNER_WRITES: u32 = 0o200;

/// What a file was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilePurpose {
    /// To be loaded: every block of it is Wirespeed's.
    Load,
    /// To be served as a volume: its blocks are its initiators'.
    Volume,
}

/// Whether a file that Wirespeed made is still what it left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ownership {
    /// Made by this process, on a file system that keeps no marks, or granted to it before.
    Made,
    /// Marked for this purpose.
    Marked(FilePurpose),
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

/// Whether an opened file is one that Wirespeed made, whole, unshared, and with nothing in it that others wrote. A volume
/// holds what its initiators wrote: it is ours to serve (`serves`), and not to be overwritten.
/// # Errors
///
/// Why it is not, in words.
pub fn own_file(fd: BorrowedFd<'_>, grants: &Grants, serves: bool) -> Result<(), String> {
    match (marked_file(fd, grants)?, serves) {
        (Ownership::Made, _) | (Ownership::Marked(FilePurpose::Volume), true) => Ok(()),
        (Ownership::Marked(FilePurpose::Load), _) => {
            unwritten(fd)?;
            own_content(fd)
        }
        (Ownership::Marked(FilePurpose::Volume), false) => {
            Err("it was made as a volume: its content is its initiators'".to_owned())
        }
    }
}

/// Whether an opened file is one that Wirespeed made, whatever it holds by now.
pub(crate) fn marked_file(fd: BorrowedFd<'_>, grants: &Grants) -> Result<Ownership, String> {
    let stat = fstat(fd).map_err(unexamined)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("it is not a regular file".to_owned());
    }
    if stat.st_nlink != 1 {
        return Err(format!("it has {} names (hard links)", stat.st_nlink));
    }
    if grants.made(&stat) || grants.granted(&stat).is_some() {
        return Ok(Ownership::Made);
    }
    let Some(mark) = read_mark(fd) else {
        return Err("it was not made by Wirespeed".to_owned());
    };
    let (known, _) = parted(&mark);
    let purposes = [FilePurpose::Load, FilePurpose::Volume];
    let fits = |purpose: &FilePurpose| identity(fd, *purpose).is_ok_and(|text| text == known);
    let Some(purpose) = purposes.into_iter().find(fits) else {
        let why = "it is a copy of a file that Wirespeed made, or was changed in size since";
        return Err(why.to_owned());
    };
    Ok(Ownership::Marked(purpose))
}

/// Whether an opened file is one that Wirespeed made, whatever it holds by now: enough to read it as such.
/// # Errors
///
/// Why it is not, in words.
pub fn made_file(fd: BorrowedFd<'_>, grants: &Grants) -> Result<(), String> {
    marked_file(fd, grants).map(drop)
}

/// Whether no other program has written to a marked file since the last run left it, as far as that is known.
fn unwritten(fd: BorrowedFd<'_>) -> Result<(), String> {
    let mark = read_mark(fd).unwrap_or_default();
    match parted(&mark).1 {
        OPEN => Ok(()),
        left if left == modified(&fstat(fd).map_err(unexamined)?) => Ok(()),
        _ => Err("it was made by Wirespeed and written by another program since".to_owned()),
    }
}

/// The identity in a mark, and when the file was last written under a grant.
fn parted(mark: &str) -> (&str, &str) {
    mark.rsplit_once(" left=").unwrap_or((mark, ""))
}

/// Whether every sampled block of a file is Wirespeed's. Zeros are not: a file that was made to be loaded has none.
fn own_content(fd: BorrowedFd<'_>) -> Result<(), String> {
    let size = fstat(fd).map_err(unexamined)?.st_size as u64;
    let medium = OpenedMedium::new(&fd, size);
    let unread = |e: std::io::Error| format!("it cannot be examined ({e})");
    if let [first, ..] = signatures::signatures(&medium).map_err(unread)?.as_slice() {
        return Err(format!("it was made by Wirespeed and carries {first} now"));
    }
    let ours = |block: &[u8]| block.len() < stamp::STAMP || stamp::is_ours(block);
    match samples::survey(&medium, ours).map_err(unread)?.unlike {
        None => Ok(()),
        Some(at) => {
            Err(format!("it was made by Wirespeed and holds other data now, at byte {at} for one"))
        }
    }
}

/// Marks a finished file as Wirespeed's own; `EOPNOTSUPP` where the file system has no extended attributes.
pub(crate) fn mark(fd: BorrowedFd<'_>, purpose: FilePurpose) -> Result<(), Errno> {
    set_mark(fd, purpose, &modified(&fstat(fd)?), XattrFlags::CREATE)
}

/// A marked file is about to be written: from here on its content alone tells whose it is.
pub(crate) fn taken(fd: BorrowedFd<'_>, purpose: FilePurpose) -> Result<(), Errno> {
    set_mark(fd, purpose, OPEN, XattrFlags::REPLACE)
}

/// A marked file was written for the last time.
pub(crate) fn left(fd: BorrowedFd<'_>, purpose: FilePurpose) -> Result<(), Errno> {
    set_mark(fd, purpose, &modified(&fstat(fd)?), XattrFlags::REPLACE)
}

fn set_mark(
    fd: BorrowedFd<'_>,
    purpose: FilePurpose,
    left: &str,
    how: XattrFlags,
) -> Result<(), Errno> {
    let text = format!("{} left={left}", identity(fd, purpose)?);
    fsetxattr(fd, MARK, text.as_bytes(), how)
}

/// What makes a file this one: a file that was resized or copied with its attributes no longer carries its own mark.
fn identity(fd: BorrowedFd<'_>, purpose: FilePurpose) -> Result<String, Errno> {
    let stat = fstat(fd)?;
    let born = statx(fd, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME)?.stx_btime;
    let purpose = match purpose {
        FilePurpose::Load => "load",
        FilePurpose::Volume => "volume",
    };
    let (size, inode, subvolume) = (stat.st_size, stat.st_ino, subvolume(fd));
    let (seconds, fraction) = (born.tv_sec, born.tv_nsec);
    Ok(format!(
        "v2 {purpose} size={size} inode={inode} born={seconds}.{fraction:09} subvolume={subvolume}"
    ))
}

fn modified(stat: &Stat) -> String {
    format!("{}.{:09}", stat.st_mtime, stat.st_mtime_nsec)
}

fn unexamined(e: Errno) -> String {
    format!("it cannot be examined ({e})")
}

/// The number of a file's Btrfs subvolume, which differs between a subvolume and its snapshots; 0 on other file systems.
fn subvolume(fd: BorrowedFd<'_>) -> u64 {
    /// `BTRFS_IOC_INO_LOOKUP`, and the object that stands for a subvolume's root.
    const INO_LOOKUP: libc::Ioctl = 0xd000_9412_u32 as libc::Ioctl;
    const FIRST_FREE_OBJECT: u64 = 256;
    #[repr(C)]
    struct Lookup {
        tree: u64,
        object: u64,
        name: [u8; 4080],
    }
    if !rustix::fs::fstatfs(fd).is_ok_and(|fs| fs.f_type as u64 == 0x9123_683e) {
        return 0;
    }
    let mut lookup = Lookup { tree: 0, object: FIRST_FREE_OBJECT, name: [0; 4080] };
    // SAFETY: the request takes a structure of this layout, which lives until it returns.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), INO_LOOKUP, &raw mut lookup) };
    if done == 0 { lookup.tree } else { 0 }
}

fn read_mark(fd: BorrowedFd<'_>) -> Option<String> {
    let mut buffer = [0u8; 256];
    let n = fgetxattr(fd, MARK, &mut buffer[..]).ok()?;
    String::from_utf8(buffer[..n].to_vec()).ok()
}

/// Opened files whose marks are kept up to date while they are granted.
pub(crate) fn purpose_of(fd: BorrowedFd<'_>, grants: &Grants) -> Option<FilePurpose> {
    match marked_file(fd.as_fd(), grants) {
        Ok(Ownership::Marked(purpose)) => Some(purpose),
        _ => None,
    }
}
