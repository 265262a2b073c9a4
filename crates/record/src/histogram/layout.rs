//! Which latencies share a bin, at two resolutions.
//!
//! With three digits the layout is that of HdrHistogram (Gil Tene): a bin for each value below 2,048, then 1,024 of
//! equal width for every doubling. With two digits bins are as wide as 1% allows: a bin is read as its middle, and may
//! be 2% wide. Both nest: a fine bin lies in one coarse bin, so that coarsening a histogram loses nothing else.

/// The longest latency: one hour. Longer ones are counted as one hour.
pub(super) const HIGHEST: u64 = 3_600_000_000_000;

/// A fine layout's bins for each doubling, as a power of two.
const FINE_BITS: u32 = 10;
/// A coarse layout divides doublings into this many parts, as a power of two.
const COARSE_BITS: u32 = 6;
/// The first parts that are bins of their own; above 1.5625 times the lowest value, two parts are one bin.
const NARROW: usize = 36;
/// Bins for each doubling.
const COARSE_STEP: usize = NARROW + (64 - NARROW) / 2;

/// A resolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BinLayout {
    /// Three significant digits; a bin is read as its largest value.
    Fine,
    /// Two; a bin is read as its middle.
    Coarse,
}

impl BinLayout {
    pub const fn digits(self) -> u8 {
        match self {
            BinLayout::Fine => 3,
            BinLayout::Coarse => 2,
        }
    }

    /// Number of bins: up to that of an hour.
    pub const fn bins(self) -> usize {
        self.index(HIGHEST) + 1
    }

    /// The bin of a value.
    #[inline]
    pub const fn index(self, value: u64) -> usize {
        match self {
            BinLayout::Fine => {
                let exponent = doubling(value, FINE_BITS);
                (value >> exponent) as usize + ((exponent as usize) << FINE_BITS)
            }
            BinLayout::Coarse if value < 1 << COARSE_BITS => value as usize,
            BinLayout::Coarse => {
                let exponent = doubling(value, COARSE_BITS);
                let part = (value >> exponent) as usize - (1 << COARSE_BITS);
                let step = if part < NARROW { part } else { (part + NARROW) / 2 };
                (1 << COARSE_BITS) + exponent as usize * COARSE_STEP + step
            }
        }
    }

    /// The smallest value of a bin, and how many values it holds.
    const fn span(self, index: usize) -> (u64, u64) {
        let lone = match self {
            BinLayout::Fine => 1 << FINE_BITS,
            BinLayout::Coarse => 1 << COARSE_BITS,
        };
        if index < lone {
            return (index as u64, 1);
        }
        match self {
            BinLayout::Fine => {
                let exponent = (index >> FINE_BITS) - 1;
                (((index - (exponent << FINE_BITS)) as u64) << exponent, 1 << exponent)
            }
            BinLayout::Coarse => {
                let (exponent, step) = ((index - lone) / COARSE_STEP, (index - lone) % COARSE_STEP);
                let (part, parts) = if step < NARROW { (step, 1) } else { (2 * step - NARROW, 2) };
                (((lone + part) as u64) << exponent, parts << exponent)
            }
        }
    }

    /// The smallest value of a bin.
    pub const fn lowest(self, index: usize) -> u64 {
        self.span(index).0
    }

    /// The value that a bin is read as.
    pub const fn value(self, index: usize) -> u64 {
        let (lowest, width) = self.span(index);
        let value = match self {
            BinLayout::Fine => lowest + width - 1,
            BinLayout::Coarse => lowest + (width - 1) / 2,
        };
        if value < HIGHEST { value } else { HIGHEST }
    }

    /// The middle of a bin, for means.
    pub const fn middle(self, index: usize) -> u64 {
        let (lowest, width) = self.span(index);
        lowest + width / 2
    }
}

/// Doublings of a value since 2^`bits`; 0 below that.
#[inline]
const fn doubling(value: u64, bits: u32) -> u32 {
    63 - (value | 1 << bits).leading_zeros() - bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn tiles(layout: BinLayout, worst: f64) {
        let mut next = 0;
        for index in 0..layout.bins() {
            let (lowest, width) = layout.span(index);
            assert_eq!(lowest, next, "bin {index}");
            let highest = lowest + width - 1;
            assert_eq!([layout.index(lowest), layout.index(highest)], [index; 2]);
            let read = layout.value(index);
            let off = read.abs_diff(lowest).max(read.abs_diff(highest.min(HIGHEST)));
            assert!(off as f64 <= worst * lowest as f64, "bin {index} from {lowest} read {read}");
            next = lowest + width;
        }
        assert!(next > HIGHEST);
    }

    #[test]
    fn bins_tile_the_range_and_keep_their_digits() {
        tiles(BinLayout::Fine, 0.001);
        tiles(BinLayout::Coarse, 0.01);
    }

    #[test]
    fn fine_bins_lie_in_one_coarse_bin() {
        for index in 0..BinLayout::Fine.bins() {
            let (lowest, width) = BinLayout::Fine.span(index);
            let coarse = BinLayout::Coarse.index(lowest);
            assert_eq!(BinLayout::Coarse.index(lowest + width - 1), coarse, "fine bin {index}");
        }
    }
}
