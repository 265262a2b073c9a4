//! The header of each datagram: its stream, its number, when it left and in which phase.

use super::PHASES;
use clock::Ns;

/// Bytes of it.
pub(crate) const HEADER: usize = 24;

/// A datagram's header. Numbers are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DatagramHeader {
    /// Its stream's own mark: who does not know it is no sender of this test.
    pub tag: u32,
    /// The phase that the sender was in.
    pub phase: u8,
    /// Counts a stream's datagrams from 0.
    pub number: u64,
    /// When it was handed to the kernel, on the sender's clock.
    pub left: Ns,
}

impl DatagramHeader {
    /// Writes it to the datagram's beginning, which must have room.
    #[inline]
    pub(crate) fn write(self, datagram: &mut [u8]) {
        datagram[..4].copy_from_slice(&self.tag.to_le_bytes());
        datagram[4..8].copy_from_slice(&[self.phase, 0, 0, 0]);
        datagram[8..16].copy_from_slice(&self.number.to_le_bytes());
        datagram[16..24].copy_from_slice(&self.left.0.to_le_bytes());
    }

    /// Reads one; `None` where the datagram is too short or names no phase.
    #[inline]
    pub(crate) fn read(datagram: &[u8]) -> Option<DatagramHeader> {
        let head: &[u8; HEADER] = datagram.first_chunk()?;
        let four = u32::from_le_bytes(std::array::from_fn(|i| head[i]));
        let eight = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let valid = usize::from(head[4]) < PHASES && head[5..8] == [0; 3];
        valid.then(|| DatagramHeader {
            tag: four,
            phase: head[4],
            number: eight(8),
            left: Ns(eight(16)),
        })
    }
}
