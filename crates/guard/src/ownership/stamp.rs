//! The stamps by which a block that Wirespeed wrote is known: one at the start of each sector of filled content, and the
//! magic and checksum of a verified block. What else such a block holds is its writer's business.

/// Bytes of a sector's stamp.
pub const STAMP: usize = 16;

/// What a verified block holds behind its checksum.
pub const MAGIC: [u8; 4] = *b"WSv1";

/// Bytes of the smallest and the largest verified block.
pub const BLOCK_MIN: u32 = 512;
/// See [`BLOCK_MIN`].
pub const BLOCK_MAX: u32 = 1 << 16;

/// Whether `data` begins with a sector or a block that Wirespeed wrote, for whatever purpose.
pub fn is_ours(data: &[u8]) -> bool {
    code_of(data).is_some() || begins_verified(data)
}

/// The stamp of a sector: its number, and a seal on that, with a code of the writer's choice.
#[inline]
pub fn sector(number: u64, code: u32) -> [u8; STAMP] {
    let seal = seal(number) ^ u64::from(code);
    (u128::from(seal) << 64 | u128::from(number)).to_le_bytes()
}

/// The code in a sector's stamp; `None` for a sector of others.
pub fn code_of(sector: &[u8]) -> Option<u32> {
    let stamp = u128::from_le_bytes(*sector.first_chunk::<STAMP>()?);
    let difference = seal(stamp as u64) ^ (stamp >> 64) as u64;
    u32::try_from(difference).ok()
}

/// A fast one-to-one scrambling of a stamp's number: 32 bits of it say whose the stamp is, the others carry the code.
#[inline]
fn seal(number: u64) -> u64 {
    let z = (!number ^ number >> 32).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (z ^ z >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Whether something begins like a verified block.
#[inline]
pub fn is_marked(block: &[u8]) -> bool {
    block.get(4..8) == Some(&MAGIC)
}

/// Whether something is a verified block, whole and with the right checksum.
#[inline]
pub fn is_verified(block: &[u8]) -> bool {
    is_marked(block) && stored_sum(block) == sum(block)
}

/// The checksum that a verified block carries.
pub fn stored_sum(block: &[u8]) -> u32 {
    block.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// The checksum that it should carry.
pub fn sum(block: &[u8]) -> u32 {
    crc32c::crc32c(block.get(4..).unwrap_or_default())
}

/// Whether `data` begins with a verified block, of whatever size.
fn begins_verified(data: &[u8]) -> bool {
    let sizes = std::iter::successors(Some(BLOCK_MIN as usize), |size| Some(size * 2));
    let mut sizes = sizes.take_while(|size| *size <= data.len());
    is_marked(data) && sizes.any(|size| is_verified(&data[..size]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Rng;

    /// A verified block of so many bytes, with noise for its header and content.
    fn verified(bytes: usize) -> Vec<u8> {
        let mut block = vec![0; bytes];
        Rng::keyed(1, &[]).fill(&mut block);
        block[4..8].copy_from_slice(&MAGIC);
        let sum = sum(&block);
        block[..4].copy_from_slice(&sum.to_le_bytes());
        block
    }

    #[test]
    fn what_was_stamped_is_ours_with_its_code() {
        for (number, code) in [(0, 0), (1, 1000 << 16 | 1000), (u64::MAX, u32::MAX)] {
            let stamp = sector(number, code);
            assert_eq!((code_of(&stamp), is_ours(&stamp)), (Some(code), true));
        }
        for size in [BLOCK_MIN, 4096, BLOCK_MAX] {
            let mut block = verified(size as usize);
            assert!(is_ours(&block), "{size}");
            block.extend([0; 4096]);
            assert!(is_ours(&block), "{size} and zeros");
        }
    }

    #[test]
    fn what_was_not_is_not() {
        let mut noise = vec![0; 1 << 20];
        assert!(noise.chunks(512).all(|sector| !is_ours(sector)));
        Rng::keyed(3, &[]).fill(&mut noise);
        assert!(noise.chunks(512).all(|sector| !is_ours(sector)));
        assert!(!is_ours(&[]) && !is_ours(&sector(7, 7)[..STAMP - 1]));
        let mut damaged = verified(4096);
        damaged[4000] ^= 1;
        assert!(is_marked(&damaged) && !is_ours(&damaged));
    }
}
