//! A worker's I/O buffers: one page-aligned buffer a slot, taken before the start, never moved.
//!
//! Buffers are touched through raw pointers only: a device may write to one at any moment between submission and
//! completion, and no reference could promise otherwise.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ffi::c_void;
use std::io;
use std::rc::Rc;

/// The buffers of one worker. A clone is the same memory: a queue keeps one for as long as its I/Os may touch it.
#[derive(Clone, Debug)]
pub struct Arena {
    mapping: Rc<ArenaMapping>,
    slots: u32,
    /// Distance between two slots: the largest block, rounded up to whole pages.
    stride: usize,
}

#[derive(Debug)]
struct ArenaMapping {
    base: *mut c_void,
    len: usize,
}

impl Arena {
    /// Maps `slots` buffers of at least `bytes` each. Memory is taken when it is first touched.
    /// # Errors
    /// The memory cannot be mapped.
    pub fn new(slots: u32, bytes: u32) -> io::Result<Arena> {
        let page = rustix::param::page_size();
        let too_much =
            || io::Error::new(io::ErrorKind::OutOfMemory, "buffers exceed the address space");
        let stride = (bytes.max(1) as usize).checked_next_multiple_of(page).ok_or_else(too_much)?;
        let len = stride.checked_mul(slots.max(1) as usize).ok_or_else(too_much)?;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice aliases nothing.
        let base =
            unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE)? };
        Ok(Arena { mapping: Rc::new(ArenaMapping { base, len }), slots, stride })
    }

    /// Number of buffers.
    pub fn slots(&self) -> u32 {
        self.slots
    }

    /// Bytes of one buffer.
    pub fn slot_bytes(&self) -> usize {
        self.stride
    }

    /// The buffer of a slot; `None` where there is no such slot. The caller lets one I/O at a time use it.
    pub fn slot(&self, slot: u32) -> Option<*mut u8> {
        // Within the mapping, because slot < slots and len = stride * slots.
        (slot < self.slots)
            .then(|| self.mapping.base.cast::<u8>().wrapping_add(slot as usize * self.stride))
    }

    /// Fills the first `slots` buffers with random bytes, which also takes their memory. Before the start only.
    pub fn fill(&self, slots: u32, rng: &mut clock::Rng) {
        for base in (0..slots).filter_map(|slot| self.slot(slot)) {
            // SAFETY: the buffer is mapped, writable and `stride` long, and no I/O is under way before the start.
            rng.fill(unsafe { std::slice::from_raw_parts_mut(base, self.stride) });
        }
    }
}

impl Drop for ArenaMapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `Arena::new` with this length; the last clone is gone, so nothing refers to it.
        let _ = unsafe { munmap(self.base, self.len) };
    }
}
