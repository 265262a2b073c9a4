//! A thread's memory for payload: page-aligned buffers from one mapping of fixed size, allocated and freed without a system
//! call. When it is exhausted, callers wait or decline.
//!
//! A buddy allocator (Knuth, The Art of Computer Programming, volume 1, 2.5): blocks of a power of two pages, so that
//! freed small buffers merge into large ones again.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::io;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

/// Bytes of the smallest buffer, and what all are aligned to.
const PAGE: usize = 4096;

/// The largest buffer is this many doublings of a page.
const ORDERS: usize = 12;

/// Bytes of the largest buffer, which hold the largest transfer of a command: 8 MiB.
pub(crate) const LARGEST: usize = PAGE << (ORDERS - 1);

/// No neighbour in a list.
const NONE: u32 = u32::MAX;

/// The buffers of one thread. A clone is the same memory.
#[derive(Clone, Debug)]
pub(crate) struct BufferPool(Rc<BufferInner>);

#[derive(Debug)]
struct BufferInner {
    base: *mut c_void,
    len: usize,
    blocks: RefCell<Blocks>,
    /// Counts returned buffers, so that waiters know when to retry.
    returned: Cell<u64>,
}

impl BufferPool {
    /// At most `bytes` of buffers, rounded up to one of the largest size. Memory is taken when it is first touched.
    pub fn new(bytes: usize) -> io::Result<BufferPool> {
        let chunks = bytes.div_ceil(LARGEST).clamp(1, u32::MAX as usize >> ORDERS);
        let len = chunks * LARGEST;
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice aliases nothing.
        let base =
            unsafe { mmap_anonymous(std::ptr::null_mut(), len, protection, MapFlags::PRIVATE)? };
        let blocks = RefCell::new(Blocks::new(chunks));
        Ok(BufferPool(Rc::new(BufferInner { base, len, blocks, returned: Cell::new(0) })))
    }

    /// A buffer of `len` bytes of old data; `None` while there is none, and always for more than [`LARGEST`].
    pub fn take(&self, len: usize) -> Option<Buffer> {
        let order = order_of(len)?;
        let page = self.0.blocks.borrow_mut().take(order)?;
        Some(Buffer { pool: Rc::clone(&self.0), page, order: order as u8, len })
    }

    /// How many buffers were returned so far.
    pub fn returned(&self) -> u64 {
        self.0.returned.get()
    }
}

impl Drop for BufferInner {
    fn drop(&mut self) {
        // SAFETY: mapped by `BufferPool::new` with this length; buffers hold the pool, so none is left.
        let _ = unsafe { munmap(self.base, self.len) };
    }
}

/// A part of a thread's memory, returned on drop. It is aligned to 4096 bytes.
#[derive(Debug)]
pub struct Buffer {
    pool: Rc<BufferInner>,
    page: u32,
    order: u8,
    len: usize,
}

impl Buffer {
    /// Cuts what is beyond `len` bytes; does nothing where there are no more.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The address of its first byte. The kernel may move what is behind it while there is no reference to it.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.base()
    }

    fn base(&self) -> *mut u8 {
        self.pool.base.cast::<u8>().wrapping_add(self.page as usize * PAGE)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the block is mapped, zeroed by the kernel at first, `len` does not exceed it, and it belongs to this
        // buffer alone; the executor keeps buffers that the kernel works on to itself.
        unsafe { std::slice::from_raw_parts(self.base(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.base(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        self.pool.blocks.borrow_mut().give(self.page, usize::from(self.order));
        self.pool.returned.set(self.pool.returned.get() + 1);
    }
}

/// Doublings of a page that hold so many bytes.
fn order_of(len: usize) -> Option<usize> {
    let pages = len.div_ceil(PAGE).max(1).checked_next_power_of_two()?;
    let order = pages.trailing_zeros() as usize;
    (order < ORDERS).then_some(order)
}

/// Which pages are free: doubly linked lists of free blocks, one an order, kept in an array beside the memory.
#[derive(Debug)]
struct Blocks {
    heads: [u32; ORDERS],
    pages: Vec<BufferPage>,
}

#[derive(Clone, Copy, Debug)]
struct BufferPage {
    before: u32,
    after: u32,
    /// The order of the free block that begins here.
    free: Option<u8>,
}

impl Blocks {
    fn new(chunks: usize) -> Blocks {
        let page = BufferPage { before: NONE, after: NONE, free: None };
        let mut blocks =
            Blocks { heads: [NONE; ORDERS], pages: vec![page; chunks << (ORDERS - 1)] };
        for chunk in (0..chunks).rev() {
            blocks.push((chunk << (ORDERS - 1)) as u32, ORDERS - 1);
        }
        blocks
    }

    fn take(&mut self, order: usize) -> Option<u32> {
        let found = (order..ORDERS).find(|o| self.heads[*o] != NONE)?;
        let page = self.heads[found];
        self.unlink(page, found);
        for half in (order..found).rev() {
            self.push(page + (1 << half), half);
        }
        Some(page)
    }

    fn give(&mut self, mut page: u32, mut order: usize) {
        while order < ORDERS - 1 {
            let buddy = page ^ (1 << order);
            if self.pages[buddy as usize].free != Some(order as u8) {
                break;
            }
            self.unlink(buddy, order);
            page = page.min(buddy);
            order += 1;
        }
        self.push(page, order);
    }

    fn push(&mut self, page: u32, order: usize) {
        let after = self.heads[order];
        self.pages[page as usize] = BufferPage { before: NONE, after, free: Some(order as u8) };
        if after != NONE {
            self.pages[after as usize].before = page;
        }
        self.heads[order] = page;
    }

    fn unlink(&mut self, page: u32, order: usize) {
        let BufferPage { before, after, .. } = self.pages[page as usize];
        match before {
            NONE => self.heads[order] = after,
            before => self.pages[before as usize].after = after,
        }
        if after != NONE {
            self.pages[after as usize].before = before;
        }
        self.pages[page as usize].free = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_holds_and_what_is_given_back_grows_together() {
        let pool = BufferPool::new(LARGEST + 1).expect("memory");
        assert!(pool.take(LARGEST + 1).is_none());
        for len in [1, PAGE, PAGE + 1, 65536, LARGEST] {
            let each = len.div_ceil(PAGE).next_power_of_two() * PAGE;
            let mut all: Vec<Buffer> = std::iter::from_fn(|| pool.take(len)).collect();
            assert_eq!(all.len(), 2 * LARGEST / each, "buffers of {len} bytes");
            let mut places: Vec<usize> = all.iter().map(|b| b.as_ptr() as usize).collect();
            places.sort_unstable();
            assert!(places.windows(2).all(|pair| pair[1] - pair[0] >= each), "they overlap");
            assert!(places.iter().all(|place| place % PAGE == 0));
            // In an order that is neither first-in first-out nor the other way round.
            let mut rng = clock::Rng::keyed(1, &[len as u64]);
            while !all.is_empty() {
                all.swap_remove(rng.below(all.len() as u64) as usize);
            }
        }
    }

    #[test]
    fn any_order_of_taking_and_giving_keeps_buffers_apart() {
        let pool = BufferPool::new(2 * LARGEST).expect("memory");
        let mut rng = clock::Rng::keyed(7, &[]);
        let mut held: Vec<(Buffer, u8)> = Vec::new();
        for round in 0..4000u32 {
            if rng.chance(0.55) {
                let len = 1usize << rng.below(21);
                if let Some(mut buffer) = pool.take(len) {
                    let mark = round as u8;
                    (buffer[0], buffer[len - 1]) = (mark, mark);
                    held.push((buffer, mark));
                }
            } else if !held.is_empty() {
                let (buffer, mark) = held.swap_remove(rng.below(held.len() as u64) as usize);
                assert_eq!((buffer[0], buffer[buffer.len() - 1]), (mark, mark));
            }
        }
        held.clear();
        assert!(pool.take(LARGEST).is_some_and(|_first| pool.take(LARGEST).is_some()));
    }
}
