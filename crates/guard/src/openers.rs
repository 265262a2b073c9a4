//! Processes that have a file or a device open for writing, from `/proc`: servers of FUSE file systems, emulators, copies
//! under way. It names them; what it cannot see (other PID namespaces, `hidepid`) a lease tells of (`locks.rs`).

use crate::dying;
use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};
use std::fs;
use std::path::Path;

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted {
    File { device: u64, inode: u64 },
    Device(u64),
}

/// Access modes of an open file that write.
const ACCESS: u32 = 0o3;

/// Processes beside this one that have it open for writing: "PID 123 (qemu-nbd)", each once.
/// One that was killed, or ends, is waited for, and so is a child that is about to become another program.
pub(crate) fn writers(proc: &Path, wanted: Wanted) -> Vec<String> {
    let own = std::process::id();
    let process = |entry: fs::DirEntry| -> Option<(u32, String)> {
        let pid: u32 = entry.file_name().to_str()?.parse().ok()?;
        (pid != own && writes(&entry.path(), wanted)).then(|| {
            let name = fs::read_to_string(entry.path().join("comm")).unwrap_or_default();
            (pid, format!("PID {pid} ({})", name.trim()))
        })
    };
    let find = || fs::read_dir(proc).into_iter().flatten().flatten().filter_map(process).collect();
    let leaves = |pid: u32| dying::is_dying(proc, pid) || dying::is_starting(proc, pid);
    let found = dying::outwaited(find, |(pid, _)| leaves(*pid));
    found.into_iter().map(|(_, who)| who).collect()
}

/// Whether this process itself has it open for writing.
pub(crate) fn own_writer(proc: &Path, wanted: Wanted) -> bool {
    writes(&proc.join("self"), wanted)
}

fn writes(process: &Path, wanted: Wanted) -> bool {
    let Ok(open) = fs::read_dir(process.join("fd")) else { return false };
    open.flatten().any(|fd| {
        is(&fd.path(), wanted) && is_for_writing(&process.join("fdinfo").join(fd.file_name()))
    })
}

/// Whether an open file is what is looked for. A file system that hangs is not asked: what is known of it does.
fn is(fd: &Path, wanted: Wanted) -> bool {
    if !fs::read_link(fd).is_ok_and(|path| path.is_absolute()) {
        return false;
    }
    let flags = AtFlags::STATX_DONT_SYNC;
    let Ok(found) = statx(CWD, fd, flags, StatxFlags::TYPE | StatxFlags::INO) else { return false };
    let kind = FileType::from_raw_mode(found.stx_mode.into());
    match wanted {
        Wanted::File { device, inode } => {
            (makedev(found.stx_dev_major, found.stx_dev_minor), found.stx_ino) == (device, inode)
        }
        Wanted::Device(number) => {
            kind == FileType::BlockDevice
                && makedev(found.stx_rdev_major, found.stx_rdev_minor) == number
        }
    }
}

/// The flags of an open file, in octal, stand in a line of its own.
fn is_for_writing(info: &Path) -> bool {
    let text = fs::read_to_string(info).unwrap_or_default();
    let flags = text.lines().find_map(|line| line.strip_prefix("flags:"));
    let path_only = rustix::fs::OFlags::PATH.bits();
    flags
        .and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok())
        .is_some_and(|flags| flags & ACCESS != 0 && flags & path_only == 0)
}
