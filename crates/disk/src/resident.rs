//! How much of a file or device is in the page cache, by the kernel's word (cachestat, since Linux 6.5). Nothing is read.

use rustix::fd::{AsFd, AsRawFd};

/// The system call's number, the same on every architecture that Wirespeed builds for.
const CACHESTAT: libc::c_long = 451;

/// A range of bytes, as the system call takes it.
#[repr(C)]
struct CacheRange {
    offset: u64,
    len: u64,
}

/// What it answers, in pages.
#[repr(C)]
#[derive(Default)]
struct CacheCounts {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Bytes of the first `size` that are in the page cache; `None` where the kernel does not say.
pub(crate) fn resident(fd: impl AsFd, size: u64) -> Option<u64> {
    let range = CacheRange { offset: 0, len: size.max(1) };
    let mut counts = CacheCounts::default();
    // SAFETY: both structures are laid out as the system call has them, and live longer than it.
    let answer = unsafe {
        libc::syscall(CACHESTAT, fd.as_fd().as_raw_fd(), &raw const range, &raw mut counts, 0u32)
    };
    let page = rustix::param::page_size() as u64;
    (answer == 0).then(|| counts.cached.saturating_mul(page).min(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{Advice, fadvise};
    use std::io::Write;

    /// The same by mincore(2), which asks the page tables of a mapping.
    fn by_mincore(fd: impl AsFd, size: usize) -> u64 {
        let page = rustix::param::page_size();
        let mut pages = vec![0u8; size.div_ceil(page)];
        // SAFETY: a mapping of a file of the test's own, which is unmapped before anything can change it.
        unsafe {
            let fd = fd.as_fd().as_raw_fd();
            let at =
                libc::mmap(std::ptr::null_mut(), size, libc::PROT_READ, libc::MAP_SHARED, fd, 0);
            assert_ne!(at, libc::MAP_FAILED);
            assert_eq!(libc::mincore(at, size, pages.as_mut_ptr()), 0);
            libc::munmap(at, size);
        }
        pages.iter().filter(|page| **page & 1 == 1).count() as u64 * page as u64
    }

    #[test]
    fn what_was_written_is_there_until_it_is_dropped() {
        let mut file = tempfile::tempfile_in(".").expect("a scratch file");
        let size = 8 << 20;
        file.write_all(&vec![7; size]).expect("room");
        file.sync_all().expect("a disk");
        let Some(full) = resident(&file, size as u64) else {
            return println!("skipped: this kernel has no cachestat");
        };
        assert_eq!((full, by_mincore(&file, size)), (size as u64, size as u64));
        fadvise(&file, 0, None, Advice::DontNeed).expect("advice");
        let left = resident(&file, size as u64);
        assert_eq!(left, Some(by_mincore(&file, size)));
        assert!(left < Some(size as u64 / 10), "{left:?}");
    }
}
