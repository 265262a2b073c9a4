//! A volume in memory: a `memfd` that cannot shrink, mapped once, with room to grow, and touched only through raw pointers and iovecs, because
//! several threads and the kernel access it at the same time, like the blocks of a disk.
//!
//! A full volume allocates its memory when it is made. A thin one allocates pages as they are written and tracks them in a
//! bitmap: reading a hole through the mapping would fill it. Lack of memory is an error of the command, never a signal: pages
//! are reserved before they are touched.

use super::VolumeError;
use rustix::fd::OwnedFd;
use rustix::fs::{FallocateFlags, MemfdFlags, SealFlags};
use rustix::fs::{fallocate, fcntl_add_seals, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a page: the granularity of thin volumes.
pub(crate) const PAGE: u64 = 4096;

/// A volume can grow to so many times the size that it begins with.
const GROWTH: usize = 16;

/// How far one look at the bitmap goes, in words of 64 pages: 64 GiB of the volume.
const LOOK: u64 = 1 << 18;

pub(crate) struct Ram {
    fd: OwnedFd,
    map: RamMapping,
    size: AtomicU64,
    /// Which pages a thin volume has.
    pages: Option<PageBits>,
}

/// Shared memory at a fixed place.
struct RamMapping {
    base: *mut c_void,
    len: usize,
}

// SAFETY: memory without an owner among threads. Every access goes through raw pointers or atomics, within `len`.
unsafe impl Send for RamMapping {}
// SAFETY: as above.
unsafe impl Sync for RamMapping {}

/// One bit a page, in memory that is itself taken as bits are set.
struct PageBits {
    bits: RamMapping,
    words: u64,
}

impl Ram {
    pub fn new(size: u64, thin: bool) -> Result<Ram, VolumeError> {
        let none = |e: Errno| VolumeError::Memory { size, problem: format!("({e})") };
        let len = usize::try_from(size).map_err(|_| none(Errno::NOMEM))?;
        if !thin {
            super::memory::suffices(size)?;
        }
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create("wirespeed-volume", flags).map_err(none)?;
        // Whole pages, so that the last one can be given back like any other.
        ftruncate(&fd, size.next_multiple_of(PAGE)).map_err(none)?;
        if !thin {
            fallocate(&fd, FallocateFlags::empty(), 0, size).map_err(none)?;
        }
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::SEAL).map_err(none)?;
        // Addresses beyond its end cost nothing, and no command leads there before it has grown.
        let len = len.next_multiple_of(PAGE as usize);
        let mapped = |room: usize| -> Result<_, Errno> {
            let pages = thin.then(|| PageBits::new(room as u64 / PAGE)).transpose()?;
            Ok((RamMapping::new(room, Some(&fd))?, pages))
        };
        let (map, pages) =
            mapped(len.saturating_mul(GROWTH)).or_else(|_| mapped(len)).map_err(none)?;
        Ok(Ram { fd, map, size: AtomicU64::new(size), pages })
    }

    /// Makes it larger. The caller sees to it that nobody else does, and that commands reach the new part only after it.
    pub fn grow(&self, from: u64, to: u64) -> Result<(), String> {
        if to > self.map.len as u64 {
            let most = units::Bytes(self.map.len as u64);
            return Err(format!("a volume in memory that began so small has at most {most}"));
        }
        let failed = |e: Errno| format!("there is no memory for it ({e})");
        if self.pages.is_none() {
            super::memory::suffices(to - from).map_err(|e| e.to_string())?;
        }
        ftruncate(&self.fd, to.next_multiple_of(PAGE)).map_err(failed)?;
        if self.pages.is_none() {
            fallocate(&self.fd, FallocateFlags::empty(), 0, to).map_err(failed)?;
        }
        self.size.store(to, Ordering::Release);
        Ok(())
    }

    /// Copies bytes out. The caller stays within the volume, and `to` has room for them.
    pub fn read(&self, at: u64, to: *mut u8, len: usize) {
        let mut done = 0;
        self.runs(at, len, |from, len| {
            let to = to.wrapping_add(done);
            match from {
                // SAFETY: `to` has `len` bytes of room by contract and is no part of the mapping; `from` is `len` bytes of
                // it.
                Some(from) => unsafe { std::ptr::copy_nonoverlapping(from, to, len) },
                // SAFETY: as above.
                None => unsafe { std::ptr::write_bytes(to, 0, len) },
            }
            done += len;
        });
    }

    /// Copies bytes in. On a thin volume the caller is inside the gate.
    pub fn write(&self, at: u64, from: *const u8, len: usize) -> Result<(), Errno> {
        self.have(at, len)?;
        // SAFETY: `from` is `len` readable bytes by contract; the target lies within the mapping and is backed by pages.
        unsafe { std::ptr::copy_nonoverlapping(from, self.at(at, len), len) };
        Ok(())
    }

    /// Writes zeros, and keeps or takes the pages. On a thin volume the caller is inside the gate.
    pub fn zero(&self, at: u64, len: usize) -> Result<(), Errno> {
        self.have(at, len)?;
        // SAFETY: within the mapping and backed by pages.
        unsafe { std::ptr::write_bytes(self.at(at, len), 0, len) };
        Ok(())
    }

    /// Frees whole pages and zeros the rest of existing ones. The caller owns the range: a writer would lose its page.
    pub fn release(&self, at: u64, len: u64) -> Result<(), Errno> {
        let Some(pages) = &self.pages else {
            return self.zero(at, len as usize);
        };
        let end = at + len;
        // The last page may be partial; nothing else uses the rest of it.
        let past =
            if end == self.size.load(Ordering::Acquire) { end.div_ceil(PAGE) } else { end / PAGE };
        let first = at.div_ceil(PAGE);
        if first >= past {
            return self.blank(pages, at, end);
        }
        self.blank(pages, at, first * PAGE)?;
        self.blank(pages, (past * PAGE).min(end), end)?;
        pages.clear(first..past);
        let how = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        fallocate(&self.fd, how, first * PAGE, (past - first) * PAGE)
    }

    /// Zeros in parts of pages, where there are pages.
    fn blank(&self, pages: &PageBits, from: u64, to: u64) -> Result<(), Errno> {
        let mut at = from;
        while at < to {
            let end = to.min((at / PAGE + 1) * PAGE);
            if pages.has(at / PAGE) {
                self.zero(at, (end - at) as usize)?;
            }
            at = end;
        }
        Ok(())
    }

    /// How many bytes from `at` on, at most `len`, hold at most `most` pages: how far one slice of a long release goes.
    pub fn slice(&self, at: u64, len: u64, most: u64) -> u64 {
        let Some(pages) = &self.pages else {
            return len.min(most * PAGE);
        };
        let mut found = 0;
        let mut end = at;
        let limit = at + len.min(LOOK * 64 * PAGE);
        while end < limit && found < most {
            found += u64::from(pages.word(end / PAGE / 64).count_ones());
            end = (end / PAGE / 64 + 1) * 64 * PAGE;
        }
        end.min(limit) - at
    }

    /// Whether the page at a byte is there, and up to which byte the same holds, as far as was looked.
    pub fn mapped(&self, at: u64, end: u64) -> (bool, u64) {
        let Some(pages) = &self.pages else {
            return (true, end);
        };
        let there = pages.has(at / PAGE);
        let limit = at.saturating_add(LOOK * 64 * PAGE).min(end);
        let mut page = at / PAGE + 1;
        while page * PAGE < limit && pages.has(page) == there {
            let same = if there { u64::MAX } else { 0 };
            page += if page.is_multiple_of(64) && pages.word(page / 64) == same { 64 } else { 1 };
        }
        (there, (page * PAGE).min(limit))
    }

    /// Tells the runs of memory that hold these bytes, `None` for a hole.
    pub fn runs(&self, at: u64, len: usize, mut tell: impl FnMut(Option<*const u8>, usize)) {
        let end = at + len as u64;
        let mut at = at;
        while at < end {
            let there = self.pages.as_ref().is_none_or(|pages| pages.has(at / PAGE));
            let mut to = if self.pages.is_none() { end } else { (at / PAGE + 1) * PAGE };
            while to < end && self.pages.as_ref().is_some_and(|p| p.has(to / PAGE) == there) {
                to += PAGE;
            }
            let len = (to.min(end) - at) as usize;
            tell(there.then(|| self.at(at, len).cast_const()), len);
            at += len as u64;
        }
    }

    /// Bytes of memory that the volume takes now.
    pub fn taken(&self) -> u64 {
        rustix::fs::fstat(&self.fd).map_or(0, |stat| stat.st_blocks as u64 * 512)
    }

    /// Sees to it that a range is backed by pages.
    fn have(&self, at: u64, len: usize) -> Result<(), Errno> {
        let Some(pages) = self.pages.as_ref().filter(|_| len > 0) else { return Ok(()) };
        let past = (at + len as u64).div_ceil(PAGE);
        let mut page = at / PAGE;
        while page < past {
            if pages.has(page) {
                page += 1;
                continue;
            }
            let mut end = page + 1;
            while end < past && !pages.has(end) {
                end += 1;
            }
            fallocate(&self.fd, FallocateFlags::empty(), page * PAGE, (end - page) * PAGE)?;
            pages.set(page..end);
            page = end;
        }
        Ok(())
    }

    fn at(&self, at: u64, len: usize) -> *mut u8 {
        // Extents are within the volume, which the command decoder ensures. A violation would touch other memory.
        assert!(at as usize <= self.map.len && len <= self.map.len - at as usize);
        self.map.base.cast::<u8>().wrapping_add(at as usize)
    }
}

impl std::fmt::Debug for Ram {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ram").field("bytes", &self.map.len).finish_non_exhaustive()
    }
}

impl RamMapping {
    /// Maps a file or anonymous memory.
    fn new(len: usize, fd: Option<&OwnedFd>) -> Result<RamMapping, Errno> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let null = std::ptr::null_mut();
        // SAFETY: a new mapping at an address of the kernel's choice aliases nothing in this process; the file cannot
        // shrink below it, being sealed.
        let base = unsafe {
            match fd {
                Some(fd) => mmap(null, len, protection, MapFlags::SHARED, fd, 0)?,
                None => rustix::mm::mmap_anonymous(
                    null,
                    len,
                    protection,
                    MapFlags::PRIVATE | MapFlags::NORESERVE,
                )?,
            }
        };
        Ok(RamMapping { base, len })
    }
}

impl Drop for RamMapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `RamMapping::new` with this length; spans hold the volume, so nothing refers to it.
        let _ = unsafe { munmap(self.base, self.len) };
    }
}

impl PageBits {
    fn new(pages: u64) -> Result<PageBits, Errno> {
        let words = pages.div_ceil(64);
        Ok(PageBits { bits: RamMapping::new(words as usize * 8, None)?, words })
    }

    fn atomic(&self, word: u64) -> Option<&AtomicU64> {
        let at = self.bits.base.cast::<AtomicU64>().wrapping_add(word as usize);
        // SAFETY: within the mapping, which is aligned to pages, zeroed by the kernel, and only used as such atomics.
        (word < self.words).then(|| unsafe { &*at })
    }

    fn word(&self, word: u64) -> u64 {
        self.atomic(word).map_or(0, |word| word.load(Ordering::Acquire))
    }

    fn has(&self, page: u64) -> bool {
        self.word(page / 64) >> (page % 64) & 1 == 1
    }

    fn set(&self, pages: std::ops::Range<u64>) {
        each_word(pages, |word, mask| {
            self.atomic(word).map(|word| word.fetch_or(mask, Ordering::AcqRel));
        });
    }

    fn clear(&self, pages: std::ops::Range<u64>) {
        each_word(pages, |word, mask| {
            if self.word(word) & mask != 0 {
                self.atomic(word).map(|word| word.fetch_and(!mask, Ordering::AcqRel));
            }
        });
    }
}

fn each_word(pages: std::ops::Range<u64>, mut tell: impl FnMut(u64, u64)) {
    let mut page = pages.start;
    while page < pages.end {
        let end = pages.end.min((page / 64 + 1) * 64);
        let ones = if end - page == 64 { u64::MAX } else { (1 << (end - page)) - 1 };
        tell(page / 64, ones << (page % 64));
        page = end;
    }
}
