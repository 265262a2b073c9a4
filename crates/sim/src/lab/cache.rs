//! The hit share of an array's cache, from how much of the touched data fits and how skewed the accesses are.
//!
//! The cache is taken to be warm and to hold the most popular blocks, which a large least-recently-used cache
//! approximates (H. Che, Y. Tung and Z. Wang, *Hierarchical Web caching systems*, IEEE JSAC 20(7), 2002). Pure
//! arithmetic.

use workload::Skew;

/// The share of random accesses, 0 to 1, that goes to the most popular `share` (0 to 1) of `blocks` blocks.
pub fn hits(skew: Skew, share: f64, blocks: f64) -> f64 {
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    if share >= 1.0 {
        return 1.0;
    }
    let hits = match skew {
        Skew::Uniform => share,
        Skew::Zipf(theta) => {
            let blocks = blocks.max(1.0);
            popularity(theta, share * blocks) / popularity(theta, blocks)
        }
        // A share 1 - h of the accesses goes to a share h of the blocks, and so on within these.
        Skew::Pareto(h) => share.powf((1.0 - h).ln() / h.ln()),
        Skew::HotSpot { accesses, blocks: hot } => {
            let (accesses, hot) = (accesses / 100.0, hot / 100.0);
            if share < hot {
                accesses * share / hot
            } else if hot >= 1.0 {
                share
            } else {
                accesses + (1.0 - accesses) * (share - hot) / (1.0 - hot)
            }
        }
    };
    if hits.is_finite() { hits.clamp(0.0, 1.0) } else { share }
}

/// The sum of k^-θ for k from 1 to `n`, with each term replaced by an integral from k - ½ to k + ½.
fn popularity(theta: f64, n: f64) -> f64 {
    let (from, to) = (0.5_f64, n + 0.5);
    match (1.0 - theta).abs() < 1e-9 {
        true => (to / from).ln(),
        false => (to.powf(1.0 - theta) - from.powf(1.0 - theta)) / (1.0 - theta),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(skew: Skew, share: f64, expected: f64) {
        let found = hits(skew, share, 1e6);
        assert!((found - expected).abs() < 0.01, "{found}, not {expected}");
    }

    #[test]
    fn the_popular_part_is_hit() {
        check(Skew::Uniform, 0.25, 0.25);
        check(Skew::Uniform, 1.5, 1.0);
        check(Skew::Uniform, f64::NAN, 0.0);
        check(Skew::HotSpot { accesses: 80.0, blocks: 20.0 }, 0.1, 0.4);
        check(Skew::HotSpot { accesses: 80.0, blocks: 20.0 }, 0.2, 0.8);
        check(Skew::HotSpot { accesses: 80.0, blocks: 20.0 }, 0.6, 0.9);
        check(Skew::HotSpot { accesses: 80.0, blocks: 100.0 }, 0.99, 0.79);
        check(Skew::Pareto(0.2), 0.2, 0.8);
        check(Skew::Pareto(0.2), 0.04, 0.64);
        // By hand: the square root of 0.1, and ln(100,000.5 / 0.5) / ln(1,000,000.5 / 0.5).
        check(Skew::Zipf(0.5), 0.1, 0.3162);
        check(Skew::Zipf(1.0), 0.1, 12.206 / 14.509);
        assert!(hits(Skew::Zipf(1.5), 0.01, 1e6) > 0.98);
    }
}
