//! What an array's cache holds: the hit share of reads, and how many writes find their block dirty already.
//!
//! A block that is read or written stays in a least-recently-used cache until it has not been asked for during a
//! characteristic time, which is the same for all blocks: that in which as many different blocks are asked for as fit
//! (H. Che, Y. Tung and Z. Wang, *Hierarchical Web caching systems*, IEEE JSAC 20(7), 2002). Dirty blocks are destaged in
//! the order in which they became dirty, whether they were written again or not: a block written at the rate r is dirty
//! the share r·t / (1 + r·t) of the time (V. Martina, M. Garetto and E. Leonardi, *A unified approach to the performance
//! analysis of caching systems*, INFOCOM 2014). Pure arithmetic.
//!
//! Blocks of nearly the same popularity are taken together: a skew over 10⁹ blocks is some 900 classes.

use workload::Skew;

/// Ranks that are classes of their own, and the factor between the bounds of the classes of further ranks.
const EXACT: f64 = 128.0;
const WIDER: f64 = 1.02;
/// Steps of a bisection: more than the digits of a number.
const HALVINGS: usize = 60;
/// Shares of a room for which the chance of a coalesced write is computed, besides none.
const SHARES: usize = 64;
/// Times at which these are computed, and how far they reach beyond the rates.
const TIMES: usize = 256;
const REACH: f64 = 1e4;

/// Blocks that are accessed at random.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BlockSet {
    /// How the accesses are distributed.
    pub skew: Skew,
    /// Number of blocks.
    pub blocks: f64,
    /// Bytes of a block.
    pub bytes: f64,
    /// Accesses a second, in any unit.
    pub rate: f64,
}

/// Blocks of one popularity.
#[derive(Clone, Copy, Debug)]
struct BlockClass {
    blocks: f64,
    /// Accesses a second of each.
    rate: f64,
}

/// Sets that share a cache, with how many are equal, and one of them.
struct Sharing {
    all: Vec<(BlockSet, f64, Vec<BlockClass>)>,
    own: usize,
}

impl Sharing {
    fn of(sets: &[BlockSet], own: usize) -> Sharing {
        let mut all: Vec<(BlockSet, f64, Vec<BlockClass>)> = Vec::new();
        for set in sets {
            match all.iter_mut().find(|(known, ..)| known == set) {
                Some((_, count, _)) => *count += 1.0,
                None => all.push((*set, 1.0, set.classes())),
            }
        }
        let own = all.iter().position(|(set, ..)| *set == sets[own]).unwrap_or(0);
        Sharing { all, own }
    }

    /// Bytes of all blocks.
    fn touched(&self) -> f64 {
        self.all.iter().map(|(set, count, _)| count * set.blocks * set.bytes).sum()
    }

    /// Bytes of the blocks of which there is this share, by their rate.
    fn bytes(&self, there: impl Fn(f64) -> f64) -> f64 {
        let of = |(set, count, classes): &(BlockSet, f64, Vec<BlockClass>)| {
            count * set.bytes * sum(classes, |class| class.blocks * there(class.rate))
        };
        self.all.iter().map(of).sum()
    }

    /// The mean of a figure of the rate over all accesses to the one set.
    fn share(&self, of: impl Fn(f64) -> f64) -> f64 {
        share(&self.all[self.own].2, of)
    }

    /// Times in which almost nothing is asked for twice, and almost everything is.
    fn range(&self) -> (f64, f64) {
        let classes = || self.all.iter().flat_map(|(.., classes)| classes);
        let rates = || classes().map(|class| class.rate).filter(|rate| *rate > 0.0);
        let (least, most) = (rates().fold(f64::INFINITY, f64::min), rates().fold(0.0, f64::max));
        match most > 0.0 {
            true => (1.0 / most / REACH / REACH, REACH / least),
            false => (1.0, 2.0),
        }
    }
}

/// The hit share of one of some sets in a warm least-recently-used cache of `size` bytes that they share.
pub fn hits(sets: &[BlockSet], own: usize, size: f64) -> f64 {
    let sets = Sharing::of(sets, own);
    if size >= sets.touched() {
        return 1.0;
    }
    let there = |rate: f64, time: f64| -(-rate * time).exp_m1();
    let (mut low, mut high) = sets.range();
    for _ in 0..HALVINGS {
        let middle = (low * high).sqrt();
        let held = sets.bytes(|rate| there(rate, middle));
        if held < size { low = middle } else { high = middle }
    }
    sets.share(|rate| there(rate, high))
}

/// The chance that a write to one of some sets finds its block dirty, for equally spaced shares of a room of `room` bytes
/// that all of them fill with dirty blocks: from none to full.
pub fn coalesced(sets: &[BlockSet], own: usize, room: f64) -> Vec<f64> {
    let sets = Sharing::of(sets, own);
    let dirty = |rate: f64, time: f64| rate * time / (1.0 + rate * time);
    let (low, high) = sets.range();
    let step = (high / low).powf(1.0 / (TIMES - 1) as f64);
    // By time: bytes that are dirty, and the chance.
    let mut known = vec![(0.0, 0.0)];
    for at in 0..TIMES {
        let time = low * step.powi(at as i32);
        let bytes = sets.bytes(|rate| dirty(rate, time));
        known.push((bytes, sets.share(|rate| dirty(rate, time))));
    }
    known.push((sets.touched().max(known[TIMES].0), 1.0));
    let chance = |bytes: f64| {
        let next = known.partition_point(|(known, _)| *known <= bytes);
        let Some((above, high)) = known.get(next).copied() else { return 1.0 };
        let (below, low) = known[next.max(1) - 1];
        let share = if above > below { (bytes - below) / (above - below) } else { 0.0 };
        (low + share * (high - low)).clamp(0.0, 1.0)
    };
    (0..=SHARES).map(|at| chance(room * at as f64 / SHARES as f64)).collect()
}

impl BlockSet {
    /// Its blocks by popularity, the most popular first.
    fn classes(&self) -> Vec<BlockClass> {
        let blocks = self.blocks.max(1.0);
        let uniform = |blocks: f64, rate: f64| BlockClass { blocks, rate: rate / blocks };
        match self.skew {
            Skew::Uniform => vec![uniform(blocks, self.rate)],
            Skew::HotSpot { accesses, blocks: hot } => {
                let hot = (blocks * hot / 100.0).clamp(1.0, blocks);
                if blocks - hot < 1.0 {
                    return vec![uniform(blocks, self.rate)];
                }
                let to_hot = self.rate * accesses / 100.0;
                vec![uniform(hot, to_hot), uniform(blocks - hot, self.rate - to_hot)]
            }
            Skew::Zipf(theta) => {
                let whole = zipf(theta, 0.0, blocks);
                self.by_rank(blocks, |from, to| zipf(theta, from, to) / whole)
            }
            // A share 1 - h of the accesses goes to a share h of the blocks, and so on within these.
            Skew::Pareto(h) => {
                let power = (1.0 - h).ln() / h.ln();
                let until = |rank: f64| (rank / blocks).powf(power);
                self.by_rank(blocks, |from, to| until(to) - until(from))
            }
        }
    }

    /// Classes of ranks, where `part` is the share of the accesses that go to those from the first to the second.
    fn by_rank(&self, blocks: f64, part: impl Fn(f64, f64) -> f64) -> Vec<BlockClass> {
        let mut classes = Vec::new();
        let mut from = 0.0;
        while from < blocks {
            let to = if from < EXACT { from + 1.0 } else { (from * WIDER).floor() };
            let to = if to > blocks - 1.0 { blocks } else { to };
            classes.push(BlockClass {
                blocks: to - from,
                rate: self.rate * part(from, to) / (to - from),
            });
            from = to;
        }
        classes
    }
}

/// The sum of k^-θ over the ranks after `from` up to `to`: exactly for one rank, otherwise with each term replaced by an
/// integral from k - ½ to k + ½.
fn zipf(theta: f64, from: f64, to: f64) -> f64 {
    if to - from <= 1.0 {
        return to.powf(-theta);
    }
    let few = (EXACT - from).clamp(0.0, to - from).floor();
    let first: f64 = (0..few as u32).map(|at| (from + 1.0 + f64::from(at)).powf(-theta)).sum();
    let (low, high) = (from + few + 0.5, to + 0.5);
    let power = 1.0 - theta;
    let rest = match power.abs() < 1e-9 {
        true => (high / low).ln(),
        false => (high.powf(power) - low.powf(power)) / power,
    };
    first + rest
}

fn sum(classes: &[BlockClass], of: impl Fn(&BlockClass) -> f64) -> f64 {
    classes.iter().map(of).sum()
}

/// The mean of a figure of the rate over all accesses.
fn share(classes: &[BlockClass], of: impl Fn(f64) -> f64) -> f64 {
    let all = sum(classes, |class| class.blocks * class.rate);
    let met = sum(classes, |class| class.blocks * class.rate * of(class.rate));
    if all > 0.0 { (met / all).clamp(0.0, 1.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The hit share in a cache for this share of all blocks.
    fn hit(skew: Skew, share: f64, blocks: f64) -> f64 {
        hits(&[BlockSet { skew, blocks, bytes: 4096.0, rate: 1.0 }], 0, share * blocks * 4096.0)
    }

    #[track_caller]
    fn near(found: f64, expected: f64, within: f64) {
        assert!((found - expected).abs() <= within, "{found}, not {expected}");
    }

    /// What `cache_truth.py` counts in caches of 10% of 200,000 blocks, and of others as it says.
    #[test]
    fn hits_are_those_of_a_simulated_least_recently_used_cache() {
        for line in include_str!("../../tests/it/lab_storage/cache_truth.txt").lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [kind, a, b, blocks, share, misses] = words[..] else { panic!("{line}") };
            let number = |word: &str| word.parse::<f64>().expect("a number");
            let skew = match kind {
                "uniform" => Skew::Uniform,
                "zipf" => Skew::Zipf(number(a)),
                "pareto" => Skew::Pareto(number(a)),
                "hot-spot" => Skew::HotSpot { accesses: number(a), blocks: number(b) },
                _ => panic!("{line}"),
            };
            let found = (1.0 - hit(skew, number(share), number(blocks))) * 100.0;
            assert!((found - number(misses)).abs() < 1.0, "{line}: {found}");
        }
    }

    #[test]
    fn a_thousand_million_blocks_are_some_hundred_classes() {
        let set = BlockSet { skew: Skew::Zipf(0.99), blocks: 1e9, bytes: 4096.0, rate: 3.0 };
        let classes = set.classes();
        assert!(classes.len() < 1000, "{}", classes.len());
        near(sum(&classes, |class| class.blocks), 1e9, 1.0);
        near(sum(&classes, |class| class.blocks * class.rate), 3.0, 1e-6);
        assert!(classes.windows(2).all(|pair| pair[0].rate >= pair[1].rate));
        assert_eq!(hit(Skew::Zipf(0.99), 1.0, 1e9), 1.0);
        let some = [0.01, 0.1, 0.5].map(|share| hit(Skew::Zipf(0.99), share, 1e9));
        assert!(some[0] < some[1] && some[1] < some[2], "{some:?}");
    }

    /// Two volumes share a cache: the one asked ten times as often gets most of it. By hand, with the time t: 1 - e^-10t
    /// and 1 - e^-t of 100 blocks each are 100 together at t = 0.1663.
    #[test]
    fn volumes_share_a_cache_by_what_is_asked_of_them() {
        let set = |rate| BlockSet { skew: Skew::Uniform, blocks: 100.0, bytes: 1.0, rate };
        let sets = [set(1000.0), set(100.0)];
        let found = [0, 1].map(|own| hits(&sets, own, 100.0));
        near(found[0] + found[1], 1.0, 1e-6);
        near(found[0], 1.0 - (-10.0_f64 * 0.1800).exp(), 0.02);
    }

    /// Three like volumes are as one of three times as many blocks, asked for three times as often.
    #[test]
    fn like_volumes_share_a_cache_evenly() {
        let set = |blocks| BlockSet { skew: Skew::Uniform, blocks, bytes: 1.0, rate: blocks };
        let (three, one) = ([set(100.0); 3], [set(300.0)]);
        near(hits(&three, 2, 120.0), hits(&one, 0, 120.0), 1e-9);
        let of = coalesced(&three, 1, 150.0).into_iter().zip(coalesced(&one, 0, 150.0));
        of.for_each(|(three, one)| near(three, one, 1e-9));
    }

    /// Uniform writes find as many dirty blocks as there are of all; a skew finds more.
    #[test]
    fn writes_coalesce_with_what_is_dirty() {
        let set = |skew| [BlockSet { skew, blocks: 1000.0, bytes: 10.0, rate: 5.0 }];
        let of = coalesced(&set(Skew::Uniform), 0, 20_000.0);
        near(of[0], 0.0, 1e-9);
        near(of[16], 0.5, 1e-6);
        near(of[32], 1.0, 1e-3);
        near(of[SHARES], 1.0, 1e-9);
        let part = coalesced(&set(Skew::Uniform), 0, 2_000.0);
        near(part[SHARES], 0.2, 1e-6);
        let skewed = coalesced(&set(Skew::Zipf(0.99)), 0, 2_000.0);
        assert!(skewed[SHARES] > 0.4 && skewed[SHARES] < 0.8, "{}", skewed[SHARES]);
        assert!(skewed.windows(2).all(|pair| pair[0] <= pair[1]));
    }
}
