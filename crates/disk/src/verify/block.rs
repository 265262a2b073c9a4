//! A verified block: one logical block of the target with a header of 64 bytes and content that only its identity,
//! address and generation determine. Docs: `docs/verify.md`.
//!
//! The unit is the logical block, the smallest piece that a device writes as a whole: each carries its own header, so
//! that a write which arrived in part shows block by block, and what is torn within a block fails its checksum. Because
//! content can be made again, a damaged block can be compared with what it should hold, bit by bit.

use clock::Rng;
pub(crate) use guard::stamp::{BLOCK_MAX, BLOCK_MIN, is_marked, stored_sum, sum};
use guard::stamp::{MAGIC, is_verified};

/// Bytes of the header.
pub(crate) const HEADER: usize = 64;

/// Header fields up to here follow from identity, address and generation alone.
pub(crate) const KNOWN: std::ops::Range<usize> = 4..28;

/// Purpose of the random stream of contents.
const CONTENT: u64 = 0x7665_7269_6679;

/// What a block says of itself; the checksum comes on top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockHeader {
    /// The target, within the lifetime of its state.
    pub id: u64,
    /// Byte offset into the target.
    pub offset: u64,
    /// Which write of this block.
    pub generation: u32,
    /// The step that wrote it.
    pub step: u32,
    /// When it was prepared for writing, in nanoseconds since the Unix epoch.
    pub written: u64,
    /// The source number of the worker that wrote it.
    pub worker: u32,
    /// Its place among the blocks of its write, and how many they were.
    pub index: u32,
    pub count: u32,
}

/// What was read where a verified block is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockReading {
    /// Whole and with the right checksum.
    Whole(BlockHeader),
    /// Something else.
    Broken,
}

impl BlockHeader {
    /// Makes `block` the one that this header describes.
    pub fn stamp(&self, block: &mut [u8]) {
        content(self.id, self.offset, self.generation, block);
        self.write_fields(block);
        let sum = crc32c::crc32c(&block[4..]);
        block[..4].copy_from_slice(&sum.to_le_bytes());
    }

    /// Writes the header but for its checksum into the first [`HEADER`] bytes.
    pub fn write_fields(&self, block: &mut [u8]) {
        block[4..8].copy_from_slice(&MAGIC);
        block[8..16].copy_from_slice(&self.id.to_le_bytes());
        block[16..24].copy_from_slice(&self.offset.to_le_bytes());
        block[24..28].copy_from_slice(&self.generation.to_le_bytes());
        block[28..32].copy_from_slice(&self.step.to_le_bytes());
        block[32..40].copy_from_slice(&self.written.to_le_bytes());
        block[40..44].copy_from_slice(&self.worker.to_le_bytes());
        block[44..48].copy_from_slice(&self.index.to_le_bytes());
        block[48..52].copy_from_slice(&self.count.to_le_bytes());
        block[52..HEADER].fill(0);
    }

    /// What a header's bytes say, right or wrong.
    pub fn parse(block: &[u8]) -> BlockHeader {
        let u32_at = |at: usize| u32::from_le_bytes(array(block, at));
        let u64_at = |at: usize| u64::from_le_bytes(array(block, at));
        BlockHeader {
            id: u64_at(8),
            offset: u64_at(16),
            generation: u32_at(24),
            step: u32_at(28),
            written: u64_at(32),
            worker: u32_at(40),
            index: u32_at(44),
            count: u32_at(48),
        }
    }

    /// Bytes of the target that the block's write covered.
    pub fn extent(&self, block: u32) -> std::ops::Range<u64> {
        let block = u64::from(block);
        let start = self.offset.saturating_sub(u64::from(self.index).saturating_mul(block));
        start..start.saturating_add(u64::from(self.count).saturating_mul(block))
    }
}

impl BlockReading {
    /// Reads a block.
    #[inline]
    pub fn of(block: &[u8]) -> BlockReading {
        if is_verified(block) {
            BlockReading::Whole(BlockHeader::parse(block))
        } else {
            BlockReading::Broken
        }
    }
}

/// Makes a buffer fail as a block, so that a read which moves nothing cannot pass for one.
#[inline]
pub(crate) fn spoil(block: &mut [u8]) {
    if let Some(magic) = block.get_mut(4..8) {
        // Neither the magic number nor zeroes.
        magic.fill(0xff);
    }
}

/// Fills everything after the header with what this generation holds there.
pub(crate) fn content(id: u64, offset: u64, generation: u32, block: &mut [u8]) {
    if let Some(content) = block.get_mut(HEADER..) {
        Rng::keyed(id, &[CONTENT, offset, generation.into()]).fill(content);
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: BlockHeader = BlockHeader {
        id: 0x1234_5678_9abc_def0,
        offset: 40_960,
        generation: 7,
        step: 2,
        written: 1_700_000_000_123_456_789,
        worker: 5,
        index: 3,
        count: 8,
    };

    #[track_caller]
    fn check_any_bit(bytes: usize) {
        let mut block = vec![0xaa; bytes];
        HERE.stamp(&mut block);
        assert_eq!(BlockReading::of(&block), BlockReading::Whole(HERE));
        for bit in 0..bytes * 8 {
            block[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(BlockReading::of(&block), BlockReading::Broken, "bit {bit}");
            block[bit / 8] ^= 1 << (bit % 8);
        }
    }

    #[test]
    fn a_flipped_bit_breaks_a_block_wherever_it_is() {
        check_any_bit(512);
        check_any_bit(4096);
    }

    #[test]
    fn what_is_no_block_is_no_block() {
        for bytes in [&[][..], &[0; 3], &[0; 512], &[0xff; 4096], b"WSv1WSv1WSv1"] {
            assert_eq!(BlockReading::of(bytes), BlockReading::Broken);
        }
        let mut block = vec![0; 512];
        HERE.stamp(&mut block);
        spoil(&mut block);
        assert_eq!(BlockReading::of(&block), BlockReading::Broken);
    }

    #[test]
    fn contents_differ_in_every_generation_and_at_every_address() {
        let content_of = |id, offset, generation| {
            let mut block = vec![0; 512];
            content(id, offset, generation, &mut block);
            block
        };
        let one = content_of(1, 0, 1);
        assert_eq!(one, content_of(1, 0, 1));
        for other in [content_of(2, 0, 1), content_of(1, 512, 1), content_of(1, 0, 2)] {
            let same = one[HEADER..].iter().zip(&other[HEADER..]).filter(|(a, b)| a == b).count();
            assert!(same < 20, "{same} equal bytes");
        }
    }

    #[test]
    fn a_header_knows_what_its_write_covered() {
        assert_eq!(HERE.extent(4096), 40_960 - 3 * 4096..40_960 + 5 * 4096);
        let wild = BlockHeader { index: u32::MAX, count: u32::MAX, ..HERE };
        assert!(wild.extent(4096).start == 0);
    }
}
