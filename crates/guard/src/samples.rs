//! Samples a medium in a thousand places for anything but zeros. It finds data without a signature, such as a database on a
//! bare device or an encrypted volume.
//!
//! One block is drawn from each of a thousand equal parts, so that no large stretch stays unseen; the first and the last
//! block are always among them. A medium with few blocks is read whole. Data that fills the share `p` of a part is missed
//! there with the chance `1 - p`, and the parts are independent.

use crate::ReadableMedium;
use clock::Rng;
use sha2::{Digest, Sha256};
use std::io;

/// Blocks to sample.
const SAMPLES: u64 = 1000;

/// Bytes of one.
const BLOCK: u64 = 4096;

/// Which blocks are sampled: the same each time, so that a plan and a run see the same.
const SEED: u64 = 1;

/// Purpose of the random stream that draws the blocks.
const GUARDING: u64 = 0x6775_6172;

/// What the samples showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Survey {
    /// The offset of the first block that is neither all zeros nor ours.
    pub foreign: Option<u64>,
    /// The offset of the first block that is not ours, zeros included.
    pub unlike: Option<u64>,
    /// A digest of all foreign blocks and their places.
    pub digest: [u8; 32],
}

/// Reads all samples. An error names the unreadable place.
pub(crate) fn survey(
    medium: &dyn ReadableMedium,
    ours: impl Fn(&[u8]) -> bool,
) -> io::Result<Survey> {
    let (mut survey, mut digest) = (Survey::default(), Sha256::new());
    let mut block = [0; BLOCK as usize];
    for at in places(SEED, medium.size()) {
        // The last block may be a part of one.
        let there = &mut block[..(medium.size() - at).min(BLOCK) as usize];
        let told = |e: io::Error| io::Error::new(e.kind(), format!("byte {at}: {e}"));
        medium.read_at(at, there).map_err(told)?;
        if ours(there) {
            continue;
        }
        survey.unlike = survey.unlike.or(Some(at));
        if there.iter().any(|byte| *byte != 0) {
            survey.foreign = survey.foreign.or(Some(at));
            digest.update(at.to_le_bytes());
            digest.update(there);
        }
    }
    survey.digest = digest.finalize().into();
    Ok(survey)
}

/// Offsets of the blocks to look at, ascending.
fn places(seed: u64, size: u64) -> impl Iterator<Item = u64> {
    let blocks = size.div_ceil(BLOCK);
    let parts = SAMPLES.min(blocks);
    let mut rng = Rng::keyed(seed, &[GUARDING]);
    // At most `blocks`, since `part` is at most `parts`.
    let bound = move |part: u64| (u128::from(blocks) * u128::from(part) / u128::from(parts)) as u64;
    (0..parts).map(move |part| {
        let (from, to) = (bound(part), bound(part + 1));
        let drawn = from + rng.below(to - from);
        let block = match part {
            0 => 0,
            last if last == parts - 1 => blocks - 1,
            _ => drawn,
        };
        block * BLOCK
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signatures::ExampleMedium;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const MIB: u64 = 1 << 20;

    fn non_zero(medium: &dyn ReadableMedium) -> io::Result<Option<u64>> {
        Ok(survey(medium, |_| false)?.foreign)
    }

    #[test]
    fn what_is_ours_is_passed_over() {
        let made = ExampleMedium::zero(MIB).with(0, vec![7; 4096]).with(8192, vec![9]);
        let found = survey(&made, |block| block[0] == 7).expect("it reads");
        assert_eq!((found.foreign, found.unlike), (Some(8192), Some(4096)));
    }

    #[test]
    fn the_digest_is_that_of_foreign_blocks_and_their_places() {
        let digest =
            |made: ExampleMedium| survey(&made, |block| block[0] == 7).expect("it reads").digest;
        let with = |at, byte| digest(ExampleMedium::zero(MIB).with(at, vec![byte]));
        let blank = digest(ExampleMedium::zero(MIB));
        assert_eq!((with(0, 7), with(8192, 7)), (blank, blank), "ours is as good as blank");
        let seen = [blank, with(0, 9), with(0, 8), with(8192, 9)];
        assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), seen.len());
    }

    #[track_caller]
    fn check(size: u64, data: &[(u64, &[u8])], wanted: Option<u64>) {
        let made = data
            .iter()
            .fold(ExampleMedium::zero(size), |made, (at, bytes)| made.with(*at, bytes.to_vec()));
        assert_eq!(non_zero(&made).expect("every byte can be read"), wanted);
    }

    #[test]
    fn zeros_are_nothing() {
        for size in [0, 1, 4095, 4096, 4097, 5 * MIB + 3, 1 << 30, 1 << 50] {
            check(size, &[], None);
        }
    }

    #[test]
    fn one_byte_in_the_first_or_last_block_is_seen() {
        for size in [1, 4096, 4097, 12_288, MIB, 5 * MIB + 3, 1 << 30, (1 << 50) + 512] {
            check(size, &[(0, b"x")], Some(0));
            check(size, &[((size - 1).min(4095), b"x")], Some(0));
            check(size, &[(size - 1, b"x")], Some((size - 1) / BLOCK * BLOCK));
        }
    }

    #[test]
    fn a_medium_of_a_thousand_blocks_is_read_whole() {
        for size in [2 * BLOCK, 999 * BLOCK + 1, 1000 * BLOCK] {
            for at in (0..size).step_by(37 * BLOCK as usize) {
                assert_eq!(places(1, size).nth((at / BLOCK) as usize), Some(at));
                let made = ExampleMedium::zero(size).with(at, vec![1]);
                assert_eq!(non_zero(&made).expect("it reads"), Some(at));
            }
        }
    }

    #[test]
    fn data_that_covers_a_thousandth_wherever_it_lies_is_seen() {
        // As long as two parts less a block: it contains a whole part, whatever its beginning.
        let (size, part) = (40_000 * BLOCK, 40 * BLOCK);
        for at in (0..size - 2 * part).step_by(397 * BLOCK as usize + 1) {
            let made = ExampleMedium::zero(size).with(at, vec![1; (2 * part) as usize]);
            assert!(non_zero(&made).expect("it reads").is_some(), "{at}");
        }
    }

    #[test]
    fn every_block_is_as_likely_as_its_neighbours() {
        // 4,000 blocks in parts of four. Each block of the 998 inner parts is drawn with a chance of a quarter; of 400 draws
        // that is 100 with a standard deviation of 8.7.
        let mut drawn = [0_u32; 4000];
        for seed in 0..400 {
            places(seed, 4000 * BLOCK).for_each(|at| drawn[(at / BLOCK) as usize] += 1);
        }
        assert_eq!((drawn[0], drawn[3999]), (400, 400));
        assert_eq!((&drawn[1..4], &drawn[3996..3999]), (&[0; 3][..], &[0; 3][..]));
        let inner = &drawn[4..3996];
        assert!(inner.iter().all(|n| (50..=160).contains(n)), "{inner:?}");
        assert_eq!(inner.iter().sum::<u32>(), 998 * 400);
    }

    #[test]
    fn what_cannot_be_read_is_an_error_that_names_it() {
        let made = ExampleMedium { bad: Some(MIB - 1), ..ExampleMedium::zero(MIB) };
        let told = non_zero(&made).expect_err("the last block cannot be read").to_string();
        assert!(told.starts_with(&format!("byte {}: ", MIB - BLOCK)), "{told}");
        // Neither does anything else excuse it: what it holds is not known.
        assert!(non_zero(&made.with(9, vec![9])).is_err());
    }

    proptest! {
        #[test]
        fn one_block_of_each_part_is_looked_at(seed: u64, size in 1_u64..1 << 60) {
            let blocks = size.div_ceil(BLOCK);
            let all: Vec<u64> = places(seed, size).collect();
            prop_assert_eq!(all.len() as u64, blocks.min(SAMPLES));
            prop_assert_eq!((all[0], all[all.len() - 1]), (0, (blocks - 1) * BLOCK));
            prop_assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
            let parts = blocks.min(SAMPLES) as u128;
            for (part, at) in all.iter().enumerate() {
                let of = |part: u128| part * u128::from(blocks) / parts * u128::from(BLOCK);
                let within = of(part as u128)..of(part as u128 + 1);
                prop_assert!(within.contains(&u128::from(*at)), "{} of {:?}", at, within);
            }
        }

        #[test]
        fn the_same_seed_looks_at_the_same_places(seed: u64, size in 1_u64..1 << 60) {
            prop_assert!(places(seed, size).eq(places(seed, size)));
        }
    }
}
