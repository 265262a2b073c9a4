//! Results of sampling a target before it is read: the only formatter and parser of the fact [`Sampling::FACT`].

use std::fmt;
use std::str::FromStr;

/// Counts of a sampling. A block is counted once, as the first kind that fits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sampling {
    /// Blocks sampled.
    pub blocks: u32,
    /// Bytes per block.
    pub block: u32,
    /// Bytes from the target's start over which they are spread.
    pub over: u64,
    /// Blocks never written according to the file system: holes and unwritten extents.
    pub unwritten: u32,
    /// Blocks that read as zeros: trimmed, thin, or written as zeros.
    pub zero: u32,
    /// Blocks equal to another sampled block, or with all sectors equal.
    pub repeated: u32,
}

impl Sampling {
    /// The key of the fact that holds a sampling; its subject is the target.
    pub const FACT: &str = "sample";

    /// Blocks with unique data.
    pub fn sound(&self) -> u32 {
        let poor = self.unwritten.saturating_add(self.zero).saturating_add(self.repeated);
        self.blocks.saturating_sub(poor)
    }
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Sampling { blocks, block, over, unwritten, zero, repeated } = self;
        write!(
            f,
            "{unwritten} unwritten, {zero} zero, {repeated} repeated of {blocks} blocks of {block} B over {over} B"
        )
    }
}

/// The text is not a sampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "this is no sampling of a target; expected `0 unwritten, 0 zero, 0 repeated of 1000 blocks of …`"
)]
pub struct NoSampling;

impl FromStr for Sampling {
    type Err = NoSampling;

    fn from_str(text: &str) -> Result<Sampling, NoSampling> {
        let numbers = text.split([' ', ',']).filter_map(|word| word.parse::<u64>().ok());
        let numbers: Vec<u64> = numbers.collect();
        let &[unwritten, zero, repeated, blocks, block, over] = numbers.as_slice() else {
            return Err(NoSampling);
        };
        let short = |n: u64| u32::try_from(n).map_err(|_| NoSampling);
        let sampling = Sampling {
            blocks: short(blocks)?,
            block: short(block)?,
            over,
            unwritten: short(unwritten)?,
            zero: short(zero)?,
            repeated: short(repeated)?,
        };
        // Exactly this text, and no more poor blocks than blocks.
        let whole = unwritten.checked_add(zero).and_then(|n| n.checked_add(repeated));
        let sound = whole.is_some_and(|n| n <= blocks) && sampling.to_string() == text;
        sound.then_some(sampling).ok_or(NoSampling)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAMPLE: Sampling =
        Sampling { blocks: 1000, block: 4096, over: 1 << 40, unwritten: 1, zero: 2, repeated: 3 };

    #[test]
    fn a_sampling_is_read_as_it_was_written() {
        for sampling in [SAMPLE, Sampling::default(), Sampling { blocks: 6, ..SAMPLE }] {
            assert_eq!(sampling.to_string().parse(), Ok(sampling));
        }
        assert_eq!(SAMPLE.sound(), 994);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic_and_none_is_read_as_another(text in ".*|[0-9 ,a-zB]{0,120}") {
            if let Ok(sampling) = text.parse::<Sampling>() {
                proptest::prop_assert_eq!(sampling.to_string(), text);
            }
        }
    }

    #[test]
    fn anything_else_is_none() {
        let text = SAMPLE.to_string();
        for wrong in [
            "",
            "1000 blocks",
            &text.replace("1000", "5"),
            &text.replace("1000", "-1"),
            &text.replace("4096", "99999999999"),
            &text.replace("zero", "null"),
            &format!("{text} 7"),
            &text.replace("2 zero", "18446744073709551615 zero"),
        ] {
            assert_eq!(wrong.parse::<Sampling>(), Err(NoSampling), "{wrong}");
        }
    }
}
