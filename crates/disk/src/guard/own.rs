//! Files that Wirespeed made for this purpose: the mark by which it knows them again, and what a run keeps open so that no
//! other file can take their place.

use super::{RemoteGrant, WriteGrant};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, Stat, XattrFlags, fgetxattr, fsetxattr, fstat};
use rustix::io::Errno;

/// The extended attribute that marks a file as Wirespeed's own.
const MARK: &str = "user.wirespeed";

/// The permission to write of a file's owner.
const OWNER_WRITES: u32 = 0o200;

/// What a run may write without being asked again: files that it made where the file system keeps no marks, and targets
/// that it was granted by token. All are held open, so that nothing else can get their identity, and so that nobody can
/// claim a device between two steps.
#[derive(Debug, Default)]
pub(crate) struct Keepsakes {
    made: Vec<(OwnedFd, Identity)>,
    granted: Vec<(WriteGrant, Identity)>,
    remote: Vec<(RemoteGrant, Identity)>,
}

/// The identity of a file or device while it exists: for a device, its number twice; of a remote target, a digest of what
/// it is.
pub(crate) type Identity = (u64, u64);

impl Keepsakes {
    /// Remembers a file that was made in this process and could not be marked.
    pub fn keep(&mut self, fd: OwnedFd) -> Result<(), Errno> {
        let identity = identity(&fstat(&fd)?);
        self.made.push((fd, identity));
        Ok(())
    }

    /// Remembers what was granted by token.
    pub fn keep_grant(&mut self, grant: &WriteGrant) -> Result<(), Errno> {
        let identity = identity(&fstat(grant)?);
        self.granted.push((grant.another()?, identity));
        Ok(())
    }

    /// The grant that was given for this before.
    pub fn granted(&self, stat: &Stat) -> Option<&WriteGrant> {
        let known = self.granted.iter().find(|(_, known)| *known == identity(stat));
        known.map(|(grant, _)| grant)
    }

    /// Remembers a remote target that was granted by token.
    pub fn keep_remote(&mut self, grant: &RemoteGrant, identity: Identity) {
        self.remote.push((grant.clone(), identity));
    }

    /// The grant that was given for a remote target before.
    pub fn granted_remote(&self, identity: Identity) -> Option<&RemoteGrant> {
        let known = self.remote.iter().find(|(_, known)| *known == identity);
        known.map(|(grant, _)| grant)
    }

    fn made(&self, stat: &Stat) -> bool {
        self.made.iter().any(|(_, known)| *known == identity(stat))
    }
}

fn identity(stat: &Stat) -> Identity {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::BlockDevice => (stat.st_rdev, stat.st_rdev),
        _ => (stat.st_dev, stat.st_ino),
    }
}

/// Whether an opened file is our own and not protected by its user.
pub(super) fn writable(fd: BorrowedFd<'_>, own: &Keepsakes) -> Result<(), String> {
    own_file(fd, own)?;
    not_protected(fd)
}

/// Whether the owner of a file lets it be written. Asked of the mode, because root may open what nobody should write.
pub(super) fn not_protected(fd: BorrowedFd<'_>) -> Result<(), String> {
    match fstat(fd) {
        Ok(stat) if stat.st_mode & OWNER_WRITES == 0 => {
            Err("it is marked read-only (`chmod u+w` it if that is not meant)".to_owned())
        }
        Ok(_) => Ok(()),
        Err(e) => Err(format!("it cannot be examined ({e})")),
    }
}

/// Whether an opened file is one that Wirespeed made, whole and unshared; otherwise why not.
pub(crate) fn own_file(fd: BorrowedFd<'_>, own: &Keepsakes) -> Result<(), String> {
    let stat = fstat(fd).map_err(|e| format!("it cannot be examined ({e})"))?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err("it is not a regular file".to_owned());
    }
    if stat.st_nlink != 1 {
        return Err(format!("it has {} names (hard links)", stat.st_nlink));
    }
    if own.made(&stat) {
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

/// Marks a finished file as Wirespeed's own. Where the file system keeps no extended attributes the error is
/// `EOPNOTSUPP`.
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
