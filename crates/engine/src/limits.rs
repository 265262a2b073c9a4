//! Limits that this process was given: the size of files, memory, and the stack of its first thread. Each ends a command with
//! its exit code and a sentence, never with a signal.

use crate::EngineError;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::alloc::{GlobalAlloc, Layout, System};
use std::io;
use std::path::{Path, PathBuf};

/// The exit code of a run that could not be completed.
const INCOMPLETE: libc::c_int = 3;

/// What a worker takes besides its buffers: its stack, histograms, and what its thread's allocator sets aside.
const BESIDE: u64 = 8 << 20;

/// The stack that the first thread needs, with room to spare; all others have stacks of their own.
const STACK: u64 = 8 << 20;

/// Runs `body` on a stack of 8 MiB, whatever the limit of the first thread's is (RLIMIT_STACK, `ulimit -s`): the limit is
/// raised where that is allowed, and another thread carries `body` where it is not.
/// # Errors
/// The thread cannot be started.
pub fn with_stack<T: Send>(body: impl FnOnce() -> T + Send) -> io::Result<T> {
    let limit = getrlimit(Resource::Stack);
    let enough = |limit: Option<u64>| limit.is_none_or(|bytes| bytes >= STACK);
    let maximum = limit.maximum.map(|bytes| bytes.max(STACK));
    let raised = Rlimit { current: Some(STACK), maximum };
    if enough(limit.current) || setrlimit(Resource::Stack, raised).is_ok() {
        return Ok(body());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("main".to_owned());
        let thread = thread.stack_size(STACK as usize).spawn_scoped(scope, body)?;
        thread.join().map_err(|_| io::Error::other("it panicked; its message is above"))
    })
}

/// A write past the limit of file sizes (RLIMIT_FSIZE) fails with EFBIG from now on, where SIGXFSZ would end the process.
pub fn ignore_file_size_signal() {
    // SAFETY: the action is to ignore, so that no handler can run.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}

/// The system's allocator, where memory that is missing ends the process with its exit code and a sentence.
#[derive(Debug)]
pub struct Allocator;

// SAFETY: every call is passed on as it is; a call that fails does not return.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        present(unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        present(unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        present(unsafe { System.realloc(old, layout, size) })
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(old, layout) }
    }
}

#[inline]
fn present(memory: *mut u8) -> *mut u8 {
    if memory.is_null() {
        out_of_memory();
    }
    memory
}

#[cold]
fn out_of_memory() -> ! {
    let text = b"wirespeed: out of memory (RLIMIT_AS, RLIMIT_DATA, or the machine's): the run could not be completed\n";
    // SAFETY: the text is of this length. Nothing is allocated, and no destructor runs.
    unsafe {
        libc::write(2, text.as_ptr().cast(), text.len());
        libc::_exit(INCOMPLETE)
    }
}

/// Whether buffers of so many bytes, for so many workers, fit what this process may still take.
/// # Errors
/// They do not; the text says which limit it is.
pub fn check_memory(buffers: u64, workers: usize) -> Result<(), EngineError> {
    let needed = buffers.saturating_add(BESIDE.saturating_mul(workers as u64));
    let left = [address_space(), data(), cgroup(Path::new("/sys/fs/cgroup")), machine()];
    let Some((left, limit)) = left.into_iter().flatten().min_by_key(|(left, _)| *left) else {
        return Ok(());
    };
    if needed <= left {
        return Ok(());
    }
    let mib = |bytes: u64| bytes.div_ceil(1 << 20);
    Err(EngineError::Unsupported(format!(
        "the step needs {} MiB of memory for the buffers of its workers, and {} MiB are left by {limit}; use less depth, \
         smaller blocks or fewer workers, or raise that limit",
        mib(needed),
        left >> 20
    )))
}

/// What a limit still leaves, and its name.
type Left = Option<(u64, String)>;

fn address_space() -> Left {
    left_of(Resource::As, "VmSize:", "the limit of its address space (RLIMIT_AS, `ulimit -v`)")
}

fn data() -> Left {
    left_of(Resource::Data, "VmData:", "the limit of its data (RLIMIT_DATA, `ulimit -d`)")
}

fn left_of(resource: Resource, used: &str, name: &str) -> Left {
    let limit = getrlimit(resource).current?;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    Some((limit.saturating_sub(kib(&status, used)?), name.to_owned()))
}

fn machine() -> Left {
    let info = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    Some((kib(&info, "MemAvailable:")?, "this machine".to_owned()))
}

/// A figure in kB of a file of `/proc`, in bytes.
fn kib(text: &str, key: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

/// The least that this process's control group and those above it leave (version 2, or the memory controller of 1).
fn cgroup(root: &Path) -> Left {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let v2 = groups.lines().find_map(|line| line.strip_prefix("0::/"));
    let v1 = groups.lines().find_map(|line| line.split_once(":memory:/").map(|(_, path)| path));
    let (v2, v1) = (v2.map(|path| root.join(path)), v1.map(|p| root.join("memory").join(p)));
    let v2 = v2.into_iter().flat_map(|path| above(path, root));
    let v1 = v1.into_iter().flat_map(|path| above(path, root));
    let all = v2.filter_map(|group| left_in(&group, "memory.max", "memory.current"));
    all.chain(v1.filter_map(|g| left_in(&g, "memory.limit_in_bytes", "memory.usage_in_bytes")))
        .min_by_key(|(left, _)| *left)
}

/// A group and those above it, up to the root.
fn above(group: PathBuf, root: &Path) -> Vec<PathBuf> {
    group.ancestors().take_while(|path| path.starts_with(root)).map(Path::to_owned).collect()
}

/// What a group leaves: the page cache in it can be given back.
fn left_in(group: &Path, limit: &str, used: &str) -> Left {
    let number = |file: &str| std::fs::read_to_string(group.join(file)).ok()?.trim().parse().ok();
    let (limit, used): (u64, u64) = (number(limit)?, number(used)?);
    let stat = std::fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let part = |key: &str| {
        let line = stat.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' '));
        line.and_then(|n| n.trim().parse::<u64>().ok()).unwrap_or(0)
    };
    let cache = part("inactive_file").saturating_add(part("active_file"));
    let left = limit.saturating_sub(used.saturating_sub(cache));
    Some((left, format!("the memory limit of its control group ({})", group.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_control_group_leaves_its_limit_less_what_cannot_be_given_back() {
        let folder = tempfile::tempdir().expect("a directory");
        let of = |limit: &str, used: &str, stat: &str| {
            std::fs::write(folder.path().join("memory.max"), limit).expect("room");
            std::fs::write(folder.path().join("memory.current"), used).expect("room");
            std::fs::write(folder.path().join("memory.stat"), stat).expect("room");
            left_in(folder.path(), "memory.max", "memory.current").map(|(left, _)| left)
        };
        assert_eq!(of("max\n", "5\n", ""), None);
        assert_eq!(of("1000\n", "600\n", "anon 400\n"), Some(400));
        assert_eq!(
            of("1000\n", "600\n", "anon 400\ninactive_file 150\nactive_file 50\n"),
            Some(600)
        );
        assert_eq!(of("1000\n", "1600\n", "inactive_file_x 900\n"), Some(0));
        let root = Path::new("/r");
        assert_eq!(above("/r/a/b".into(), root), ["/r/a/b", "/r/a", "/r"].map(PathBuf::from));
    }

    #[test]
    fn what_cannot_fit_any_machine_is_refused_with_the_limit() {
        let why = check_memory(u64::MAX, 3).expect_err("no machine has that").to_string();
        assert!(why.contains("MiB are left by"), "{why}");
        assert_eq!(check_memory(0, 0), Ok(()));
        assert_eq!(kib("VmSize:\t  12 kB\nVmData: x", "VmSize:"), Some(12 << 10));
        assert_eq!(kib("VmSize:\t  12 kB\nVmData: x", "VmData:"), None);
    }
}
