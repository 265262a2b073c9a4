//! Which process writes a record, and how it is told to stop.
//!
//! The kernel knows: a run has its record open for writing from its first to its last moment, and readers never do. So
//! nothing has to be written down that could go stale, and a number that was given to another process meanwhile is not
//! signalled: the process is pinned by a descriptor before it is looked at again.

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// A record that a process is writing now.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Written {
    pub path: PathBuf,
    pub pid: u32,
}

/// Every record that a process of this program is writing on this machine, as far as this user may see.
pub(crate) fn written() -> Vec<Written> {
    let Ok(all) = std::fs::read_dir("/proc") else { return Vec::new() };
    let pids = all.flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let mut found: Vec<Written> = pids.filter(|pid| is_ours(*pid)).flat_map(records_of).collect();
    found.sort();
    found.dedup();
    found
}

/// Asks the process that writes this record to end its run; whether it was found and asked.
pub(crate) fn stop(record: &Written) -> io::Result<bool> {
    let Some(pid) = i32::try_from(record.pid).ok().and_then(Pid::from_raw) else {
        return Ok(false);
    };
    let pinned = match pidfd_open(pid, PidfdFlags::empty()) {
        Ok(pinned) => pinned,
        Err(rustix::io::Errno::SRCH) => return Ok(false),
        Err(error) => return Err(error.into()),
    };
    // Pinned: from here on the number means this process, and none that came after it.
    if !is_ours(record.pid) || !records_of(record.pid).contains(record) {
        return Ok(false);
    }
    pidfd_send_signal(&pinned, Signal::TERM)?;
    Ok(true)
}

/// Whether a process is this program, in this version or another.
fn is_ours(pid: u32) -> bool {
    let exe = |pid: &str| std::fs::read_link(format!("/proc/{pid}/exe")).ok();
    let name = |path: PathBuf| {
        let name = path.file_name()?.to_str()?.to_owned();
        // What the kernel adds to the name of a program that was replaced while it runs.
        Some(name.trim_end_matches(" (deleted)").to_owned())
    };
    let (own, other) = (exe("self").and_then(name), exe(&pid.to_string()).and_then(name));
    own.is_some() && (own == other || other.as_deref() == Some("wirespeed"))
}

/// The records that a process has open for writing.
fn records_of(pid: u32) -> Vec<Written> {
    let Ok(all) = std::fs::read_dir(format!("/proc/{pid}/fd")) else { return Vec::new() };
    let record = |entry: std::fs::DirEntry| {
        let path = std::fs::read_link(entry.path()).ok()?;
        if !path.is_absolute() || path.extension().is_some_and(|e| e == "wsr-wal" || e == "wsr-shm")
        {
            return None;
        }
        let flags =
            std::fs::read_to_string(format!("/proc/{pid}/fdinfo/{}", entry.file_name().to_str()?));
        (is_writable(&flags.ok()?) && is_record(&path)).then_some(Written { path, pid })
    };
    all.flatten().filter_map(record).collect()
}

/// Whether `flags:` of a descriptor's information, in octal, say that it may be written through.
fn is_writable(info: &str) -> bool {
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|text| u32::from_str_radix(text.trim(), 8).ok());
    flags.is_some_and(|flags| flags & 0o3 != 0)
}

/// Whether a file has the head of a record.
pub(crate) fn is_record(path: &Path) -> bool {
    use std::io::Read as _;
    let Ok(meta) = std::fs::symlink_metadata(path) else { return false };
    if !meta.is_file() || meta.size() < 100 {
        return false;
    }
    let mut head = [0; 100];
    let read = std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head));
    read.is_ok() && &head[..16] == b"SQLite format 3\0" && &head[68..72] == b"WSPD"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_octal() {
        for (info, expected) in [
            ("pos:\t0\nflags:\t0100002\nmnt_id:\t1\n", true),
            ("pos:\t0\nflags:\t0100001\n", true),
            ("pos:\t0\nflags:\t0100000\n", false),
            ("flags: 8\n", false),
            ("", false),
        ] {
            assert_eq!(is_writable(info), expected, "{info:?}");
        }
    }

    #[test]
    fn this_process_writes_no_record_and_is_not_stopped() {
        let dir = tempfile::tempdir().expect("a scratch directory");
        let path = dir.path().join("run.wsr");
        std::fs::write(&path, [0; 200]).expect("a file");
        let open = std::fs::OpenOptions::new().write(true).open(&path).expect("it is ours");
        assert_eq!(records_of(std::process::id()), []);
        let record = Written { path, pid: std::process::id() };
        assert!(!stop(&record).expect("nothing is signalled"));
        drop(open);
    }
}
