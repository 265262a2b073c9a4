//! The content of what is written: incompressible and non-repeating at memory speed, or as far reducible as was asked.
//!
//! A block of 4 KiB consists of sectors of 512 bytes. Each begins with a *stamp* of 16 bytes that no other sector has:
//! a number, and a seal by which a sampler knows a block of ours, and what ratios it was made for. After the stamp come
//! as many random bytes as the compression ratio leaves, and then zeros. Spreading both over every sector makes the
//! ratio hold for any chunk from 512 bytes on. Repeated blocks are whole blocks of 4 KiB, spread so that a compressor's
//! window does not reach from one to its equal.
//!
//! Nothing is written here: callers own the buffers. Compressible and repeated buffers follow fio and vdbench.

use clock::Rng;
use guard::stamp::{self, STAMP, code_of};
use workload::Reduction;

/// Bytes of a sector: no two that were meant to differ are alike.
pub const SECTOR: usize = 512;

/// Bytes of a block: what a compressor is given and what is repeated as a whole.
pub const BLOCK: usize = 4096;

/// Repeated blocks stand this many blocks apart or less, and most of them more than a hundred.
const WINDOW: u64 = 256;

/// Odd, so that multiplying by it permutes a window; near the golden ratio, so that neighbours end up far apart.
const SCATTER: u64 = 159;

/// Bytes that LZ4 adds to the random ones of a sector to describe itself and the zeros after them.
const OVERHEAD: f64 = 6.0;

/// Whose a block is, by its first sector's seal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockOrigin {
    /// Wirespeed made it, for the ratios that were asked about.
    Ours,
    /// Wirespeed made it, for others.
    OtherRatios,
    /// Data of another origin.
    Foreign,
}

/// Makes content of one kind. Equal `salt`s make equal content, different ones content that has no sector in common.
#[derive(Clone, Copy, Debug)]
pub struct ContentMaker {
    salt: u64,
    /// Random bytes of a sector, its stamp among them.
    noise: usize,
    /// Blocks for each different one.
    dedupe: f64,
    /// The ratios as the seal carries them.
    code: u32,
}

impl ContentMaker {
    /// Content with these ratios; both are at least 1.
    pub fn new(data: Reduction, salt: u64) -> ContentMaker {
        let noise = match data.compress > 1.0 {
            true => (SECTOR as f64 / data.compress - OVERHEAD).round() as usize,
            false => SECTOR,
        };
        let thousandths = |ratio: f64| (ratio * 1000.0).round() as u32 & 0xffff;
        ContentMaker {
            salt,
            noise: noise.clamp(STAMP, SECTOR),
            dedupe: data.dedupe.max(1.0),
            code: thousandths(data.compress) << 16 | thousandths(data.dedupe),
        }
    }

    /// Writes into `out` the content `at` this byte, a multiple of [`BLOCK`]. It depends on neither caller nor order.
    pub fn write(&self, at: u64, out: &mut [u8]) {
        let first = at / BLOCK as u64;
        for (number, block) in (first..).zip(out.chunks_mut(BLOCK)) {
            let source = self.source(number);
            self.noise(source, block);
            self.stamp(source.wrapping_mul((BLOCK / SECTOR) as u64), block);
        }
    }

    /// Fills one block with the random bytes of the stream `stream`, and with zeros as far as it is to be compressible.
    pub(crate) fn noise(&self, stream: u64, block: &mut [u8]) {
        let mut rng = Rng::keyed(self.salt, &[stream]);
        if self.noise == SECTOR {
            return rng.fill(block);
        }
        for sector in block.chunks_mut(SECTOR) {
            let (noise, rest) = sector.split_at_mut(self.noise.min(sector.len()));
            rng.fill(noise);
            rest.fill(0);
        }
    }

    /// Stamps the sectors of `data` with `first` and the numbers after it.
    #[inline]
    pub(crate) fn stamp(&self, first: u64, data: &mut [u8]) {
        let mut number = self.salt.wrapping_add(first);
        for sector in data.chunks_mut(SECTOR) {
            if let Some(head) = sector.first_chunk_mut::<STAMP>() {
                *head = stamp::sector(number, self.code);
            }
            number = number.wrapping_add(1);
        }
    }

    /// Whose a block is.
    pub(crate) fn origin(&self, block: &[u8]) -> BlockOrigin {
        match code_of(block) {
            None => BlockOrigin::Foreign,
            Some(code) if code == self.code => BlockOrigin::Ours,
            Some(_) => BlockOrigin::OtherRatios,
        }
    }

    /// Whether it is neither compressible nor repeated.
    pub(crate) fn is_plain(&self) -> bool {
        self.noise == SECTOR && !self.repeats()
    }

    /// Whether blocks are repeated on purpose.
    pub(crate) fn repeats(&self) -> bool {
        self.dedupe > 1.0
    }

    /// The block whose content stands in block `number`: each of the numbers below n / dedupe for `dedupe` blocks.
    fn source(&self, number: u64) -> u64 {
        if !self.repeats() {
            return number;
        }
        let scattered = number - number % WINDOW + (number % WINDOW).wrapping_mul(SCATTER) % WINDOW;
        (scattered as f64 / self.dedupe) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn content(compress: f64, dedupe: f64, salt: u64) -> ContentMaker {
        ContentMaker::new(Reduction { compress, dedupe }, salt)
    }

    fn made(content: &ContentMaker, at: u64, bytes: usize) -> Vec<u8> {
        let mut out = vec![0xaa; bytes];
        content.write(at, &mut out);
        out
    }

    #[test]
    fn content_depends_on_the_place_alone() {
        for c in [content(1.0, 1.0, 1), content(2.0, 1.5, 1)] {
            let whole = made(&c, 0, 64 * BLOCK);
            for first in [0, 1, 17, 63] {
                let alone = made(&c, (first * BLOCK) as u64, BLOCK);
                assert_eq!(alone, whole[first * BLOCK..][..BLOCK]);
            }
            assert_eq!(made(&c, 0, 3 * BLOCK - 7), whole[..3 * BLOCK - 7]);
        }
    }

    #[test]
    fn other_salts_have_no_sector_in_common() {
        let sectors = |salt| made(&content(8.0, 1.0, salt), 0, 256 * BLOCK);
        let (a, b) = (sectors(1), sectors(0x1234_5678_9abc_def0));
        let ours: HashSet<&[u8]> = a.chunks(SECTOR).collect();
        assert!(b.chunks(SECTOR).all(|sector| !ours.contains(sector)));
    }

    #[test]
    fn a_block_of_ours_is_known_with_its_ratios_and_one_of_others_is_not() {
        let (plain, reducible) = (content(1.0, 1.0, 7), content(2.0, 1.5, 7));
        let block = made(&plain, 1 << 40, BLOCK);
        for sector in block.chunks(SECTOR) {
            assert_eq!(plain.origin(sector), BlockOrigin::Ours);
            assert_eq!(reducible.origin(sector), BlockOrigin::OtherRatios);
        }
        let block = made(&reducible, 0, BLOCK);
        assert!(block.chunks(SECTOR).all(|s| reducible.origin(s) == BlockOrigin::Ours));
        let mut foreign = vec![0; 1 << 20];
        assert!(foreign.chunks(SECTOR).all(|s| code_of(s).is_none()));
        Rng::keyed(3, &[]).fill(&mut foreign);
        assert!(foreign.chunks(SECTOR).all(|s| code_of(s).is_none()));
        assert!(code_of(&[1; STAMP - 1]).is_none());
    }
}
