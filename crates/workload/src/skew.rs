//! Which blocks are hot: index samplers over `0..n` in constant memory and constant set-up time for any `n`.
//!
//! - Zipf by rejection-inversion: W. Hörmann and G. Derflinger, "Rejection-inversion to generate variates from
//!   monotone discrete distributions", ACM TOMACS 6(3), 1996. Ranks are scattered over the blocks by a keyed
//!   permutation with cycle walking: J. Black and P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002.
//! - Pareto as the self-similar distribution of J. Gray et al., "Quickly generating billion-record synthetic
//!   databases", SIGMOD 1994.
//!
//! Zipf and Pareto use the platform's `exp`, `ln` and `pow`. A machine whose mathematics library rounds the last
//! digit differently may pick an adjacent block once in many millions of draws.

use crate::Skew;
use clock::Rng;

/// Draws indices below `n`.
#[derive(Clone, Debug)]
pub(crate) enum IndexSampler {
    Uniform { n: u64 },
    Zipf { ranks: Zipf, scatter: Permutation },
    Pareto { n: u64, exponent: f64 },
    HotSpot { accesses: f64, hot: u64, cold: u64 },
}

impl IndexSampler {
    /// A sampler over `0..n` (`n` at least 1). `scatter` seeds the permutation of Zipf's popular blocks.
    pub fn new(skew: Skew, n: u64, scatter: &Rng) -> IndexSampler {
        match skew {
            Skew::Uniform => IndexSampler::Uniform { n },
            Skew::Zipf(theta) => IndexSampler::Zipf {
                ranks: Zipf::new(n, theta),
                scatter: Permutation::new(n, scatter),
            },
            Skew::Pareto(h) => IndexSampler::Pareto { n, exponent: h.ln() / (1.0 - h).ln() },
            Skew::HotSpot { accesses, blocks } => {
                let hot = ((n as f64 * (blocks / 100.0)).round() as u64).clamp(1, n);
                if hot == n {
                    return IndexSampler::Uniform { n };
                }
                IndexSampler::HotSpot { accesses: accesses / 100.0, hot, cold: n - hot }
            }
        }
    }

    /// The next index.
    #[inline]
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        match self {
            IndexSampler::Uniform { n } => rng.below(*n),
            IndexSampler::Zipf { ranks, scatter } => scatter.place(ranks.draw(rng) - 1),
            IndexSampler::Pareto { n, exponent } => {
                let share = rng.unit().powf(*exponent);
                ((*n as f64 * share) as u64).min(n - 1)
            }
            IndexSampler::HotSpot { accesses, hot, cold } => {
                if rng.chance(*accesses) {
                    rng.below(*hot)
                } else {
                    hot + rng.below(*cold)
                }
            }
        }
    }
}

/// Ranks `1..=n` with probability proportional to `rank^-theta`.
///
/// The density `x^-theta` is inverted over `[1/2, n + 1/2]`, where its integral over the unit interval around a rank is
/// at least the rank's weight (it is convex); the excess is rejected. More than 80% of draws succeed at once.
#[derive(Clone, Debug)]
pub(crate) struct Zipf {
    n: u64,
    /// `1 - theta`.
    q: f64,
    /// The integral at the start of rank 1's share and at the end of rank `n`'s.
    low: f64,
    high: f64,
    /// A point at most this far below its rank is accepted without evaluating the density.
    sure: f64,
}

impl Zipf {
    fn new(n: u64, theta: f64) -> Zipf {
        let q = 1.0 - theta;
        // Rank 1 takes exactly its weight, 1, below 3/2; so it is never rejected.
        let low = integral(1.5, q) - 1.0;
        let high = integral(n as f64 + 0.5, q);
        let sure = 2.0 - inverse(integral(2.5, q) - 2f64.powf(-theta), q);
        Zipf { n, q, low, high, sure }
    }

    fn draw(&self, rng: &mut Rng) -> u64 {
        loop {
            let area = self.low + rng.unit() * (self.high - self.low);
            let x = inverse(area, self.q);
            let rank = (x.round() as u64).clamp(1, self.n);
            let at = rank as f64;
            let weight = (at.ln() * (self.q - 1.0)).exp();
            if at - x <= self.sure || area >= integral(at + 0.5, self.q) - weight {
                return rank;
            }
        }
    }
}

/// The integral of `t^(q-1)` from 1 to `x`: `(x^q - 1) / q`, which is `ln x` at `q = 0`.
fn integral(x: f64, q: f64) -> f64 {
    let ln = x.ln();
    let t = q * ln;
    // Near zero the quotient loses all digits; its series does not.
    let growth = if t.abs() > 1e-8 { t.exp_m1() / t } else { 1.0 + t / 2.0 };
    ln * growth
}

/// The `x` whose integral is `area`.
fn inverse(area: f64, q: f64) -> f64 {
    // Rounding may carry t past -1, where the integral of theta > 1 has its limit.
    let t = (area * q).max(-1.0);
    let shrink = if t.abs() > 1e-8 { t.ln_1p() / t } else { 1.0 - t / 2.0 };
    (area * shrink).exp()
}

/// A keyed permutation of `0..n`, so that hot ranks are not adjacent.
///
/// Rounds of "add, multiply by an odd number, fold the upper half onto the lower" permute the next power of two. A
/// result out of range is permuted again until it is in range: on average fewer than two times.
#[derive(Clone, Debug)]
pub(crate) struct Permutation {
    n: u64,
    mask: u64,
    fold: u32,
    rounds: [(u64, u64); 4],
}

impl Permutation {
    /// A permutation of `0..n`, with `n` at least 1.
    pub fn new(n: u64, seed: &Rng) -> Permutation {
        let bits = u64::BITS - (n - 1).leading_zeros();
        let mut rng = seed.clone();
        Permutation {
            n,
            mask: u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0),
            fold: bits.div_ceil(2).max(1),
            rounds: std::array::from_fn(|_| (rng.next_u64(), rng.next_u64() | 1)),
        }
    }

    /// Where an index below `n` goes.
    pub fn place(&self, index: u64) -> u64 {
        let mut at = index;
        loop {
            for (add, multiply) in self.rounds {
                at = at.wrapping_add(add).wrapping_mul(multiply) & self.mask;
                at ^= at >> self.fold;
            }
            if at < self.n {
                return at;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DRAWS: u64 = 200_000;

    fn rng() -> Rng {
        Rng::keyed(3, &[])
    }

    /// The frequencies of the ranks agree with the probabilities of the definition (Pearson's test at 0.1%).
    #[track_caller]
    fn check_zipf(n: u64, theta: f64) {
        let (zipf, mut rng) = (Zipf::new(n, theta), rng());
        let mut seen = vec![0u64; n as usize];
        (0..DRAWS).for_each(|_| seen[zipf.draw(&mut rng) as usize - 1] += 1);
        let weight = |rank: usize| ((rank + 1) as f64).powf(-theta);
        let sum: f64 = (0..seen.len()).map(weight).sum();
        let distance = |(rank, count): (usize, &u64)| {
            let expected = weight(rank) / sum * DRAWS as f64;
            (*count as f64 - expected).powi(2) / expected
        };
        let chi2: f64 = seen.iter().enumerate().map(distance).sum();
        // Wilson and Hilferty's approximation of the quantile.
        let degrees = (n - 1).max(1) as f64;
        let spread = 2.0 / (9.0 * degrees);
        let limit = degrees * (1.0 - spread + 3.09 * spread.sqrt()).powi(3);
        assert!(chi2 < limit, "chi² {chi2} of n {n}, theta {theta} exceeds {limit}");
    }

    #[test]
    fn zipf_agrees_with_its_definition() {
        for theta in [0.01, 0.5, 0.99, 1.0, 1.01, 1.5, 1.99] {
            for n in [1, 2, 3, 10, 100] {
                check_zipf(n, theta);
            }
        }
    }

    /// The share of the first ten ranks, compared with the sum of all weights by Euler and Maclaurin.
    #[test]
    fn zipf_holds_for_billions() {
        for theta in [0.5, 0.9, 1.0, 1.2, 1.9] {
            let n = 4_000_000_000u64;
            let head: f64 = (1..1000).map(|rank| f64::from(rank).powf(-theta)).sum();
            let (from, to) = (1000f64, n as f64);
            let q = 1.0 - theta;
            let ends = (from.powf(-theta) + to.powf(-theta)) / 2.0;
            let sum = head + integral(to, q) - integral(from, q) + ends;
            let (zipf, mut rng) = (Zipf::new(n, theta), rng());
            let ones = (0..DRAWS).filter(|_| zipf.draw(&mut rng) <= 10).count() as f64;
            let p = (1..=10).map(|rank| f64::from(rank).powf(-theta)).sum::<f64>() / sum;
            let slack = 5.0 * (p * (1.0 - p) * DRAWS as f64).sqrt() + 1.0;
            assert!((ones - p * DRAWS as f64).abs() < slack, "{ones} of theta {theta}, p {p}");
        }
    }

    #[test]
    fn scatter_is_a_permutation() {
        for n in (1..300).chain([1023, 1024, 1025, 4097]) {
            let scatter = Permutation::new(n, &rng());
            let mut places: Vec<u64> = (0..n).map(|index| scatter.place(index)).collect();
            places.sort_unstable();
            assert_eq!(places, (0..n).collect::<Vec<u64>>());
        }
    }

    #[test]
    fn scatter_leaves_no_neighbours() {
        let n = 1_000_000;
        let scatter = Permutation::new(n, &rng());
        let near = |index: &u64| scatter.place(*index).abs_diff(scatter.place(index + 1)) < 1000;
        let neighbours = (0..10_000).filter(near).count();
        // Two independent positions are that close with a probability of 0.2%.
        assert!(neighbours < 60, "{neighbours}");
    }

    #[test]
    fn every_sampler_stays_below_its_bound() {
        let skews = [
            Skew::Uniform,
            Skew::Zipf(0.01),
            Skew::Zipf(1.0),
            Skew::Zipf(1.99),
            Skew::Pareto(0.001),
            Skew::Pareto(0.999),
            Skew::HotSpot { accesses: 0.0, blocks: 1e-9 },
            Skew::HotSpot { accesses: 100.0, blocks: 100.0 },
        ];
        for skew in skews {
            for n in [1, 2, 3, 1000, 1 << 53, (1 << 53) + 1, i64::MAX as u64, u64::MAX] {
                let (sampler, mut rng) = (IndexSampler::new(skew, n, &rng()), rng());
                assert!((0..1000).all(|_| sampler.draw(&mut rng) < n), "{skew:?} below {n}");
            }
        }
    }
}
