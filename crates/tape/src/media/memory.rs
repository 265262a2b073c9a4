//! A cartridge's bytes in the memory of this process, for a library that stands only as long as a run lasts. Whoever opens the
//! storage again finds what was written: all openings share it.

use super::Storage;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Memory is taken in pieces of this size, where something is written.
const PIECE: usize = 1 << 20;

/// Bytes of a page of memory at least.
const PAGE: usize = 4096;

/// Bytes in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage(Arc<Mutex<Pieces>>);

#[derive(Debug, Default)]
struct Pieces {
    /// `None`: zeroes.
    pieces: Vec<Option<Box<[u8]>>>,
    /// Zeroes that are taken from the system already, for pieces to come.
    spare: Vec<Box<[u8]>>,
    len: u64,
}

/// A piece, and where in it a byte is.
fn place(at: u64) -> (usize, usize) {
    ((at / PIECE as u64) as usize, (at % PIECE as u64) as usize)
}

impl MemoryStorage {
    /// An empty one that has taken memory for so many bytes beforehand: writing then costs no more than copying.
    pub fn with_room(bytes: u64) -> MemoryStorage {
        let pieces = bytes.div_ceil(PIECE as u64);
        let piece = |_| {
            let mut piece = vec![0; PIECE].into_boxed_slice();
            // A page is the process' own once it was written.
            piece.iter_mut().step_by(PAGE).for_each(|byte| *byte = std::hint::black_box(0));
            piece
        };
        let spare = (0..pieces).map(piece).collect();
        MemoryStorage(Arc::new(Mutex::new(Pieces { spare, ..Pieces::default() })))
    }

    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for MemoryStorage {
    fn read_at(&self, at: u64, out: &mut [u8]) -> io::Result<usize> {
        let held = self.pieces();
        let there = held.len.saturating_sub(at).min(out.len() as u64) as usize;
        let mut done = 0;
        while done < there {
            let (number, from) = place(at + done as u64);
            let len = (PIECE - from).min(there - done);
            let room = &mut out[done..done + len];
            match held.pieces.get(number) {
                Some(Some(piece)) => room.copy_from_slice(&piece[from..from + len]),
                _ => room.fill(0),
            }
            done += len;
        }
        Ok(there)
    }

    fn write_at(&mut self, mut at: u64, parts: &[&[u8]]) -> io::Result<()> {
        let mut held = self.pieces();
        let Pieces { pieces, spare, .. } = &mut *held;
        for part in parts {
            let mut rest = *part;
            while !rest.is_empty() {
                let (number, from) = place(at);
                if pieces.len() <= number {
                    pieces.resize(number + 1, None);
                }
                let fresh = || spare.pop().unwrap_or_else(|| vec![0; PIECE].into_boxed_slice());
                let piece = pieces[number].get_or_insert_with(fresh);
                let (now, later) = rest.split_at(rest.len().min(PIECE - from));
                piece[from..from + now.len()].copy_from_slice(now);
                at += now.len() as u64;
                rest = later;
            }
        }
        held.len = held.len.max(at);
        Ok(())
    }

    fn set_len(&mut self, len: u64) -> io::Result<()> {
        let mut held = self.pieces();
        let (whole, left) = place(len);
        held.pieces.truncate(whole + usize::from(left > 0));
        // What is cut off is not there when the storage grows again.
        if let Some(Some(piece)) = held.pieces.get_mut(whole) {
            piece[left..].fill(0);
        }
        held.len = len;
        Ok(())
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.pieces().len)
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against a vector of bytes.
    #[test]
    fn it_holds_what_a_vector_holds() {
        let (mut memory, mut vector) = (MemoryStorage::with_room(PIECE as u64 + 1), Vec::new());
        let mut draw = clock::Rng::keyed(7, &[]);
        let mut next = |below: u64| draw.below(below);
        for round in 0..100_u8 {
            let at = next(3 * PIECE as u64) as usize;
            if round % 5 == 4 {
                memory.set_len(at as u64).expect("memory");
                vector.resize(at, 0);
            } else {
                let part = vec![round + 1; next(PIECE as u64 / 2) as usize];
                memory.write_at(at as u64, &[&part, &[7]]).expect("memory");
                vector.resize(vector.len().max(at + part.len() + 1), 0);
                vector[at..at + part.len()].copy_from_slice(&part);
                vector[at + part.len()] = 7;
            }
            assert_eq!(memory.len().expect("memory"), vector.len() as u64);
            let (from, mut room) = (next(3 * PIECE as u64) as usize, vec![9; 5000]);
            let there = memory.clone().read_at(from as u64, &mut room).expect("memory");
            let same = vector.get(from..).unwrap_or_default();
            assert_eq!(there, same.len().min(5000));
            assert!(room[..there] == same[..there], "round {round}");
        }
    }
}
