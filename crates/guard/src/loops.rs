//! What stands behind a loop device, as the kernel knows it: device and inode (`LOOP_GET_STATUS64`), whatever path led to
//! it, in whichever namespace, and whatever stands at that path now.

use rustix::fd::AsRawFd;
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, makedev, mknodat, openat, unlink};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

/// `LOOP_GET_STATUS64` (linux/loop.h).
const GET_STATUS: libc::Ioctl = 0x4c05;

/// `struct loop_info64`.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    real_device: u64,
    offset: u64,
    size_limit: u64,
    number: u32,
    encryption: u32,
    key_size: u32,
    flags: u32,
    file_name: [u8; 64],
    crypt_name: [u8; 64],
    key: [u8; 32],
    init: [u64; 2],
}

/// What is behind a loop device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Backing {
    /// A file by its device and inode; the third number is that of the block device that it is, and else 0.
    Known { device: u64, inode: u64, real_device: u64 },
    /// The kernel could not be asked: the path that it was set up by.
    Named(PathBuf),
}

impl Backing {
    /// What is behind the loop device of this name and number; `path` is what `/sys` says of it.
    pub fn of(name: &str, number: u64, path: &str) -> Backing {
        status(name, number).unwrap_or_else(|| Backing::Named(PathBuf::from(path)))
    }

    /// The block device that it is.
    pub fn device(&self) -> Option<u64> {
        match self {
            Backing::Known { real_device, .. } => Some(*real_device).filter(|number| *number != 0),
            Backing::Named(path) => block_device_at(path),
        }
    }

    /// The file that it is: device and inode.
    pub fn file(&self) -> Option<(u64, u64)> {
        match self {
            _ if self.device().is_some() => None,
            Backing::Known { device, inode, .. } => Some((*device, *inode)),
            Backing::Named(path) => fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino())),
        }
    }
}

/// The number of the block device at a path.
fn block_device_at(path: &Path) -> Option<u64> {
    let meta = fs::metadata(path).ok()?;
    meta.file_type().is_block_device().then(|| meta.rdev())
}

/// Asks the kernel; by a node of our own where there is none of this number any more.
fn status(name: &str, number: u64) -> Option<Backing> {
    let node = Path::new("/dev").join(name);
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let right = |fd: &rustix::fd::OwnedFd| {
        fstat(fd).is_ok_and(|stat| {
            FileType::from_raw_mode(stat.st_mode) == FileType::BlockDevice && stat.st_rdev == number
        })
    };
    let found = openat(CWD, &node, flags, Mode::empty()).ok().filter(right);
    let fd = found.or_else(|| {
        let own = format!("/dev/.wirespeed-{}-{name}", std::process::id());
        mknodat(CWD, &own, FileType::BlockDevice, Mode::RUSR, number).ok()?;
        let opened = openat(CWD, &own, flags, Mode::empty());
        let _ = unlink(&own);
        opened.ok().filter(right)
    })?;
    // SAFETY: a structure of numbers, for which zeros are valid.
    let mut info: LoopInfo = unsafe { std::mem::zeroed() };
    // SAFETY: the request fills a structure of this layout, which lives until it returns.
    let done = unsafe { libc::ioctl(fd.as_raw_fd(), GET_STATUS, &raw mut info) };
    let decoded = |packed: u64| {
        let (major, minor) = ((packed >> 8) & 0xfff, (packed & 0xff) | ((packed >> 12) & 0xf_ff00));
        makedev(major as u32, minor as u32)
    };
    (done == 0).then(|| Backing::Known {
        device: decoded(info.device),
        inode: info.inode,
        real_device: decoded(info.real_device),
    })
}
