//! How skewed random accesses are, and over how many blocks: from how many distinct blocks are seen and how often accesses meet,
//! which are functions of Zipf's exponent and of the number of blocks.

use std::collections::BTreeMap;

/// Groups of blocks of which one at a time is left out, for the error.
const GROUPS: usize = 8;
/// Blocks that are counted; beyond it a part of all blocks, drawn by their numbers, stands for all.
const COUNTED: usize = 1 << 18;
/// Ranks at which sums over all ranks are taken.
const POINTS: usize = 400;

/// Counts of accesses by block, of a part of all blocks.
#[derive(Default)]
pub(crate) struct Popularity {
    counts: BTreeMap<u64, u32>,
    /// One of 2^shift blocks is counted.
    shift: u32,
    accesses: u64,
}

/// Zipf's exponent and the number of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ZipfFit {
    /// The exponent; 0 is uniform.
    pub theta: f64,
    /// Half of its 95% interval.
    pub theta_error: f64,
    /// Blocks among which is chosen.
    pub blocks: f64,
    /// Half of its 95% interval.
    pub blocks_error: f64,
}

/// A number that has nothing to do with a block's neighbours.
fn mixed(block: u64) -> u64 {
    let mut z = block.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

impl Popularity {
    pub fn add(&mut self, block: u64) {
        self.accesses += 1;
        if mixed(block).trailing_zeros() < self.shift {
            return;
        }
        *self.counts.entry(block).or_default() += 1;
        if self.counts.len() > COUNTED {
            self.shift += 1;
            let shift = self.shift;
            self.counts.retain(|block, _| mixed(*block).trailing_zeros() >= shift);
        }
    }

    /// The exponent and the number of blocks under which as many blocks would be seen and accesses meet as often; `None` where
    /// too few meet to tell.
    pub fn fit(&self) -> Option<ZipfFit> {
        let mut seen = [0.0; GROUPS];
        let mut meetings = [0.0; GROUPS];
        for (block, count) in &self.counts {
            let group = (mixed(*block) >> 60) as usize % GROUPS;
            seen[group] += 1.0;
            meetings[group] += f64::from(*count) * (f64::from(*count) - 1.0);
        }
        let part = 2f64.powi(self.shift as i32);
        let accesses = self.accesses as f64;
        let (all_seen, all_met): (f64, f64) = (seen.iter().sum(), meetings.iter().sum());
        if all_met < 200.0 {
            return None;
        }
        let solve = |seen: f64, met: f64| solved(accesses, seen * part, met * part);
        let (theta, blocks) = solve(all_seen, all_met);
        let more = GROUPS as f64 / (GROUPS as f64 - 1.0);
        let without: Vec<(f64, f64)> = (0..GROUPS)
            .map(|g| solve((all_seen - seen[g]) * more, (all_met - meetings[g]) * more))
            .collect();
        // The 97.5% point of Student's t with 7 degrees of freedom.
        let error = |of: fn(&(f64, f64)) -> f64| {
            let mean = without.iter().map(of).sum::<f64>() / GROUPS as f64;
            let squares: f64 = without.iter().map(|w| (of(w) - mean).powi(2)).sum();
            2.365 * (squares * (GROUPS as f64 - 1.0) / GROUPS as f64).sqrt()
        };
        let (theta_error, blocks_error) = (error(|w| w.0), error(|w| w.1));
        Some(ZipfFit { theta, theta_error, blocks, blocks_error })
    }
}

/// The exponent and the number of blocks that explain what was seen.
fn solved(accesses: f64, seen: f64, met: f64) -> (f64, f64) {
    let met = met / (accesses * (accesses - 1.0)).max(1.0);
    let miss = |theta: f64| {
        let blocks = blocks_for(theta, accesses, seen);
        meeting(theta, blocks) - met
    };
    let (mut low, mut high) = (0.0, 1.99);
    if miss(low) >= 0.0 {
        return (0.0, blocks_for(0.0, accesses, seen));
    }
    for _ in 0..26 {
        let middle = (low + high) / 2.0;
        if miss(middle) < 0.0 { low = middle } else { high = middle }
    }
    (low, blocks_for(low, accesses, seen))
}

/// The number of blocks of which so many are seen by so many accesses.
fn blocks_for(theta: f64, accesses: f64, seen: f64) -> f64 {
    let (mut low, mut high) = (seen.max(1.0), seen.max(1.0) * 1e4);
    for _ in 0..32 {
        let middle = (low * high).sqrt();
        if distinct(theta, middle, accesses) < seen { low = middle } else { high = middle }
    }
    low
}

/// Sums a function of probabilities over all ranks.
fn over_ranks(theta: f64, blocks: f64, of: impl Fn(f64) -> f64) -> f64 {
    let steps = ranks(blocks);
    let weight: f64 = steps.iter().map(|(rank, width)| rank.powf(-theta) * width).sum();
    steps.iter().map(|(rank, width)| of(rank.powf(-theta) / weight) * width).sum()
}

/// Ranks with the number of ranks that each stands for: one by one first, then further and further apart.
fn ranks(blocks: f64) -> Vec<(f64, f64)> {
    let single = blocks.min(200.0) as usize;
    let mut all: Vec<(f64, f64)> = (1..=single.max(1)).map(|rank| (rank as f64, 1.0)).collect();
    let (from, to) = (single as f64 + 0.5, blocks + 0.5);
    if to > from + 0.5 {
        let factor = (to / from).powf(1.0 / POINTS as f64);
        let mut edge = from;
        for _ in 0..POINTS {
            let next = edge * factor;
            all.push(((edge * next).sqrt(), next - edge));
            edge = next;
        }
    }
    all
}

fn distinct(theta: f64, blocks: f64, accesses: f64) -> f64 {
    over_ranks(theta, blocks, |p| -(accesses * (-p.min(0.999_999)).ln_1p()).exp_m1())
}

fn meeting(theta: f64, blocks: f64) -> f64 {
    over_ranks(theta, blocks, |p| p * p)
}
