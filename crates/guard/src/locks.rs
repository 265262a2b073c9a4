//! Locks: those of others on a file or a device, and the ones that a grant holds. Programs announce by them what they
//! have in use: QEMU and databases by record locks, partitioning tools by flock(2) on a device.
//!
//! A grant holds a record lock of the open file description (F_OFD_SETLK) on all of a file, and flock(2). Neither is lost
//! when another descriptor of this process is closed. A file system without locks has none to respect.

use crate::dying;
use clock::Ns;
use rustix::fd::{AsRawFd, BorrowedFd};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// How often a lock is tried that another has, and the pause between: a process that was just forked shares the locks of
/// its parent until it becomes another program, and udev locks a device while it looks at it.
const TRIES: u32 = 10;

/// The same of a file that somebody has open for writing who is not visible: on a busy machine the kernel takes seconds to give
/// back what a program had under way when it ended.
const TRIES_UNSEEN: u32 = 100;
const PAUSE: Ns = Ns::millis(30);

/// The command that chooses the signal for a broken lease (linux/fcntl.h).
const F_SETSIG: libc::c_int = 10;

/// What another's lock means.
const LOCKED: &str = "it is locked by another program";

/// Takes both locks for the description of `fd`, which is open for writing, until its last descriptor is closed.
/// # Errors
///
/// Another has one.
pub(crate) fn hold(fd: BorrowedFd<'_>) -> Result<(), String> {
    patiently(fd, TRIES, || {
        let record = record_lock(fd, libc::F_OFD_SETLK, libc::F_WRLCK).map(drop);
        let taken = record.and_then(|()| flock(fd, FlockOperation::NonBlockingLockExclusive));
        matches!(taken, Err(Errno::AGAIN | Errno::ACCESS))
    })
}

/// Whether another has a lock, found out without keeping one: the flock that is tried is given back at once.
/// # Errors
///
/// Another has one.
pub(crate) fn free(fd: BorrowedFd<'_>) -> Result<(), String> {
    patiently(fd, TRIES, || {
        let record = record_lock(fd, libc::F_OFD_GETLK, libc::F_WRLCK);
        let tried = flock(fd, FlockOperation::NonBlockingLockExclusive);
        if tried.is_ok() {
            let _ = flock(fd, FlockOperation::Unlock);
        }
        record.is_ok_and(|found| found != libc::F_UNLCK) || tried == Err(Errno::AGAIN)
    })
}

/// Whether a file is open for writing, asked by a read lease (F_SETLEASE), which the kernel gives only where it is not: by
/// processes of other namespaces, the kernel itself and this process included. `fd` can only read. `None` where there are
/// no leases.
fn has_writers(fd: BorrowedFd<'_>) -> Option<bool> {
    // A lease that is broken before it is given back sends a signal, which is to be one that is ignored.
    // SAFETY: all three change what belongs to an open descriptor; no memory is passed.
    let lease = unsafe {
        libc::fcntl(fd.as_raw_fd(), F_SETSIG, libc::SIGURG);
        let taken = libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, libc::F_RDLCK);
        let errno = Errno::from_io_error(&std::io::Error::last_os_error());
        if taken == 0 {
            libc::fcntl(fd.as_raw_fd(), libc::F_SETLEASE, libc::F_UNLCK);
            return Some(false);
        }
        errno
    };
    (lease == Some(Errno::AGAIN)).then_some(true)
}

/// Whether others go on having a file open for writing: a process that was just forked shares what its parent has open.
pub(crate) fn is_written(fd: BorrowedFd<'_>) -> bool {
    patiently(fd, TRIES_UNSEEN, || has_writers(fd) == Some(true)).is_err()
}

fn patiently(
    fd: BorrowedFd<'_>,
    tries: u32,
    mut is_locked: impl FnMut() -> bool,
) -> Result<(), String> {
    for _ in 0..tries {
        if !is_locked() {
            return Ok(());
        }
        clock::sleep_until(clock::now().plus(PAUSE));
    }
    let locked = || if is_locked() { vec![()] } else { Vec::new() };
    match dying::outwaited(locked, |()| dying::holders_are_dying(fd)).is_empty() {
        true => Ok(()),
        false => Err(LOCKED.to_owned()),
    }
}

/// Asks for a record lock on all of a file; the kind of lock that was found, where it is only asked about.
fn record_lock(fd: BorrowedFd<'_>, command: i32, kind: i32) -> Result<i32, Errno> {
    // SAFETY: a structure of numbers, for which zeros are valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = kind as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    // SAFETY: the commands take this structure, which lives until the call returns.
    let done = unsafe { libc::fcntl(fd.as_raw_fd(), command, &raw mut lock) };
    if done == 0 {
        return Ok(i32::from(lock.l_type));
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fd::AsFd;
    use std::fs::File;

    fn open(path: &std::path::Path) -> File {
        File::options().read(true).write(true).open(path).expect("ours")
    }

    /// Whether it is so, at once or soon: until it executes its program a process that another test starts keeps open what was
    /// open here, and with it the lock.
    fn soon(mut is_so: impl FnMut() -> bool) -> bool {
        (0..1000).any(|_| {
            let found = is_so();
            if !found {
                clock::sleep_until(clock::now().plus(clock::Ns::millis(10)));
            }
            found
        })
    }

    #[test]
    fn a_lock_of_another_description_is_seen_and_respected() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("data");
        std::fs::write(&path, [0; 4096]).expect("room");
        let (one, other) = (open(&path), open(&path));
        let check = |free_now: bool| {
            assert!(soon(|| free(other.as_fd()).is_ok() == free_now), "{free_now}");
            assert!(soon(|| hold(open(&path).as_fd()).is_ok() == free_now), "{free_now}");
        };
        check(true);
        assert!(soon(|| hold(one.as_fd()).is_ok()), "it is free");
        check(false);
        drop(one);
        check(true);
        let one = open(&path);
        let share = || flock(&one, FlockOperation::NonBlockingLockShared).is_ok();
        assert!(soon(share), "it is free");
        check(false);
        flock(&one, FlockOperation::Unlock).expect("ours");
        let read = || record_lock(one.as_fd(), libc::F_OFD_SETLK, libc::F_RDLCK).is_ok();
        assert!(soon(read), "it is free");
        check(false);
    }

    #[test]
    fn a_writer_is_seen_by_the_lease() {
        let folder = tempfile::tempdir().expect("a directory");
        let path = folder.path().join("data");
        std::fs::write(&path, [0; 4096]).expect("room");
        let reader = File::open(&path).expect("ours");
        if has_writers(reader.as_fd()).is_none() {
            return println!("skipped: no leases on this file system");
        }
        assert_eq!(has_writers(reader.as_fd()), Some(false));
        let writer = open(&path);
        assert_eq!(has_writers(reader.as_fd()), Some(true));
        drop(writer);
        assert_eq!(has_writers(reader.as_fd()), Some(false));
    }
}
