//! The keys of registrations: whose a key is, and whether the process that it is of is provably dead.
//!
//! A key is drawn at random for a process. While the process claims anything it holds a lock on a file of that name in a
//! directory of this machine that does not survive a boot. A key is that of a dead process only if its file is there and
//! its lock is free: a process that is hidden, in another PID namespace, on another machine or of another boot has no
//! such file here, and is left alone.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The first two bytes of every key of Wirespeed.
const MARK: u64 = 0x5753;

/// Bits of a key: the mark, the process, and the path of a worker.
const PROCESS_BITS: u32 = 36;
const PATH_BITS: u32 = 12;

/// Where the files are, in order of preference.
const FOLDERS: [&str; 2] = ["/run/lock", "/dev/shm"];

/// The file of this process, and how many claims need it.
static CLAIMS: Mutex<(Option<(File, PathBuf)>, usize)> = Mutex::new((None, 0));

/// The sign that this process lives, for as long as it claims something.
#[derive(Debug)]
pub(super) struct LifeSign {
    /// Set once nothing of this process is left at the target.
    released: bool,
}

/// The key of this process's claims.
pub(super) fn own_key() -> u64 {
    key_of(own_process(), 0)
}

/// A key for a worker's path. After some four thousand of them they begin again: a worker that is expelled in the place of
/// another one, because they share a key, finds its reservation gone, and says so.
pub(super) fn path_key() -> u64 {
    static COUNT: AtomicU16 = AtomicU16::new(0);
    let paths = (1_u16 << PATH_BITS) - 1;
    key_of(own_process(), 1 + COUNT.fetch_add(1, Ordering::Relaxed) % paths)
}

/// Whether a key is of any process of Wirespeed.
pub(super) fn is_of_wirespeed(key: u64) -> bool {
    key >> (PROCESS_BITS + PATH_BITS) == MARK
}

/// Whether a key is this process's.
pub(super) fn is_own(key: u64) -> bool {
    process_of(key) == Some(own_process())
}

/// Whether a key is this process's, or that of a process which is provably no more.
pub(super) fn is_ours(key: u64) -> bool {
    is_own(key) || is_left_behind(key)
}

/// Whether a key is that of a process of this machine which is provably no more.
pub(super) fn is_left_behind(key: u64) -> bool {
    process_of(key).is_some_and(|process| life(process) == Some(false))
}

/// Whether a key is that of a process of this machine which is alive.
pub(super) fn is_alive(key: u64) -> bool {
    process_of(key).is_some_and(|process| process == own_process() || life(process) == Some(true))
}

/// Removes the file of a dead process, of which nothing is left at a target.
pub(super) fn forget(key: u64) {
    if let Some(process) = process_of(key).filter(|process| life(*process) == Some(false)) {
        FOLDERS.iter().for_each(|folder| drop(fs::remove_file(file_in(folder, process))));
    }
}

impl LifeSign {
    /// Shows it. Without a directory for it a killed run's claims are not taken over, but have to be released by the user.
    pub fn show() -> LifeSign {
        let mut claims = claims();
        if claims.0.is_none() {
            claims.0 = FOLDERS.iter().find_map(|folder| locked(file_in(folder, own_process())));
        }
        claims.1 += 1;
        LifeSign { released: false }
    }

    /// Nothing of this claim is left at the target.
    pub fn released(&mut self) {
        self.released = true;
    }
}

impl Drop for LifeSign {
    fn drop(&mut self) {
        let mut claims = claims();
        claims.1 -= 1;
        if claims.1 == 0
            && self.released
            && let Some((file, path)) = claims.0.take()
        {
            let _ = fs::remove_file(path);
            drop(file);
        }
    }
}

fn claims() -> MutexGuard<'static, (Option<(File, PathBuf)>, usize)> {
    CLAIMS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn locked(path: PathBuf) -> Option<(File, PathBuf)> {
    let file = File::options().write(true).create_new(true).open(&path).ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    Some((file, path))
}

/// Whether a process lives, by its file; `None` where there is none that can be trusted.
fn life(process: u64) -> Option<bool> {
    let user = rustix::process::geteuid().as_raw();
    let file = FOLDERS.iter().find_map(|folder| File::open(file_in(folder, process)).ok())?;
    let owner = file.metadata().ok().filter(|meta| meta.is_file())?.uid();
    if owner != user && owner != 0 {
        return None;
    }
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => Some(false),
        Err(rustix::io::Errno::WOULDBLOCK) => Some(true),
        Err(_) => None,
    }
}

fn file_in(folder: &str, process: u64) -> PathBuf {
    format!("{folder}/wirespeed-{process:09x}.claim").into()
}

/// The number of this process: drawn once, since the kernel's is given again.
fn own_process() -> u64 {
    static OWN: OnceLock<u64> = OnceLock::new();
    *OWN.get_or_init(|| {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let words =
            boot.bytes().map(u64::from).chain([std::process::id().into(), clock::wall_ns()]);
        let words: Vec<u64> = words.collect();
        clock::Rng::keyed(1, &words).next_u64() & ((1 << PROCESS_BITS) - 1)
    })
}

fn key_of(process: u64, path: u16) -> u64 {
    (MARK << PROCESS_BITS | process) << PATH_BITS | u64::from(path)
}

/// The process that a key is of; `None` where it is none of Wirespeed's.
fn process_of(key: u64) -> Option<u64> {
    is_of_wirespeed(key).then_some(key >> PATH_BITS & ((1 << PROCESS_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_dead_only_where_that_is_proven() {
        assert!(is_ours(own_key()) && is_ours(path_key()) && is_alive(own_key()));
        assert!(!is_left_behind(own_key()) && !is_left_behind(path_key()));
        assert_ne!(path_key(), path_key());
        // Another machine's, another boot's, a hidden one: there is no file.
        let unknown = key_of(own_process() ^ 1, 7);
        assert!(!is_ours(unknown) && !is_alive(unknown));
        assert!(!is_ours(0xdead_beef) && !is_of_wirespeed(0xdead_beef));
        let process = own_process() ^ 2;
        let Some((file, path)) = FOLDERS.iter().find_map(|folder| locked(file_in(folder, process)))
        else {
            return println!("skipped: no directory for signs of life");
        };
        let other = key_of(process, 3);
        assert!(is_alive(other) && !is_ours(other));
        drop(file);
        assert!(is_left_behind(other) && is_ours(other) && !is_alive(other));
        forget(other);
        assert!(!path.exists() && !is_ours(other));
    }

    #[test]
    fn the_sign_lasts_as_long_as_the_claims() {
        let mut one = LifeSign::show();
        let two = LifeSign::show();
        let path = claims().0.as_ref().map(|(_, path)| path.clone());
        let Some(path) = path else { return println!("skipped: no directory for signs of life") };
        one.released();
        drop(one);
        assert!(path.exists());
        // Left at the target by the other one: the sign stays, and says that the process is dead once it is.
        drop(two);
        assert!(path.exists());
        let mut three = LifeSign::show();
        three.released();
        drop(three);
    }
}
