//! The payload of a command as the owner of the socket sees it: references to its bytes, never a copy.

use super::{Buffer, Handle};
use std::sync::atomic::AtomicU64;

/// What holes are sent from.
pub(super) static ZEROS: Zeros = Zeros([const { AtomicU64::new(0) }; 1 << 13]);

/// Zeros that direct I/O can write. What could change is not in the program's file: of constants it would hold 64 KiB.
#[repr(align(4096))]
pub(super) struct Zeros([AtomicU64; 1 << 13]);

impl Zeros {
    pub(super) fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    /// In bytes.
    pub(super) fn len(&self) -> usize {
        size_of_val(&self.0)
    }
}

/// Bytes that came from an initiator or go to one.
#[derive(Debug, Default)]
pub enum Data {
    /// None.
    #[default]
    None,
    /// A few, such as parameter data.
    Bytes(Box<[u8]>),
    /// In a buffer of the thread's pool.
    Buffer(Buffer),
    /// In the memory of a RAM volume itself.
    Ram(MemorySpan),
}

/// Part of a RAM volume's memory. It is not frozen: who writes there while it is being sent changes what is sent, as on a
/// disk whose blocks are read and written at the same time. With data digests on, copy it first ([`Data::copy_to`]).
#[derive(Debug)]
pub struct MemorySpan {
    pub(super) volume: Handle,
    pub(super) offset: u64,
    pub(super) len: usize,
}

impl Data {
    /// Bytes.
    pub fn len(&self) -> usize {
        match self {
            Data::None => 0,
            Data::Bytes(bytes) => bytes.len(),
            Data::Buffer(buffer) => buffer.len(),
            Data::Ram(span) => span.len,
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends where the bytes from `offset` on are, at most `len` of them, for `sendmsg`: at most one piece for every
    /// 4096 bytes and one more. They stay valid while this value lives.
    pub fn pieces(&self, offset: usize, len: usize, out: &mut Vec<libc::iovec>) {
        let len = len.min(self.len().saturating_sub(offset));
        match self {
            Data::None => {}
            Data::Bytes(bytes) => {
                out.extend(bytes.get(offset..).map(|rest| piece(rest.as_ptr(), len)))
            }
            Data::Buffer(buffer) => {
                out.extend(buffer.get(offset..).map(|rest| piece(rest.as_ptr(), len)));
            }
            Data::Ram(span) => span.each(offset, len, |at, len| match at {
                Some(at) => out.push(piece(at, len)),
                None => zeros(len, out),
            }),
        }
    }

    /// Copies the bytes from `offset` on; returns how many there were.
    pub fn copy_to(&self, offset: usize, out: &mut [u8]) -> usize {
        let len = out.len().min(self.len().saturating_sub(offset));
        let out = &mut out[..len];
        match self {
            Data::None => {}
            Data::Bytes(bytes) => out.copy_from_slice(&bytes[offset..offset + len]),
            Data::Buffer(buffer) => out.copy_from_slice(&buffer[offset..offset + len]),
            Data::Ram(span) => {
                let mut done = 0;
                span.each(offset, len, |at, len| {
                    let part = &mut out[done..done + len];
                    done += len;
                    match at {
                        // SAFETY: `len` bytes of the volume's mapping, which the span keeps; `part` is not in it. Others may
                        // write there meanwhile, as to any shared memory: bytes are copied, and nothing is inferred from
                        // them.
                        Some(at) => unsafe {
                            std::ptr::copy_nonoverlapping(at, part.as_mut_ptr(), len);
                        },
                        None => part.fill(0),
                    }
                });
            }
        }
        len
    }

    /// The bytes in one piece, where they are the thread's own.
    pub(super) fn as_slice(&self) -> Option<&[u8]> {
        match self {
            Data::None => Some(&[]),
            Data::Bytes(bytes) => Some(bytes),
            Data::Buffer(buffer) => Some(buffer),
            Data::Ram(_) => None,
        }
    }
}

impl MemorySpan {
    /// The runs of memory from `offset` on; `None` for a hole, which must be read from elsewhere: touching it would fill it.
    fn each(&self, offset: usize, len: usize, tell: impl FnMut(Option<*const u8>, usize)) {
        if let Some(ram) = self.volume.ram() {
            ram.runs(self.offset + offset as u64, len, tell);
        }
    }
}

fn zeros(mut len: usize, out: &mut Vec<libc::iovec>) {
    while len > 0 {
        let now = len.min(ZEROS.len());
        out.push(piece(ZEROS.as_ptr(), now));
        len -= now;
    }
}

fn piece(at: *const u8, len: usize) -> libc::iovec {
    libc::iovec { iov_base: at.cast_mut().cast(), iov_len: len }
}
