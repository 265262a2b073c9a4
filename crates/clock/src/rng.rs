//! Seeded random streams. A stream is named by a seed and a key (step, worker, slot, purpose); equal names yield
//! equal numbers on every machine, independent of other streams.

use crate::ziggurat::{self, Ziggurat};
use rand::{Rng as _, RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// One random stream (PCG XSL 128/64 MCG: fast, and with equidistribution beyond what address patterns need).
#[derive(Clone, Debug)]
pub struct Rng(Pcg64Mcg);

impl Rng {
    /// The stream named by `seed` and `key`. Streams of adjacent keys are uncorrelated.
    pub fn keyed(seed: u64, key: &[u64]) -> Rng {
        let mut state = mix(seed ^ 0x9e37_79b9_7f4a_7c15);
        for part in key {
            state = mix(state ^ mix(part.wrapping_add(0x2545_f491_4f6c_dd1d)));
        }
        let wide = u128::from(state) << 64 | u128::from(mix(state));
        Rng(Pcg64Mcg::from_seed(wide.to_le_bytes()))
    }

    /// A uniform `u64`.
    #[inline]
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0..n`, unbiased. `n` must not be zero.
    #[inline]
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.random_range(0..n)
    }

    /// Uniform in `[0, 1)` with 53 bits.
    #[inline]
    pub fn unit(&mut self) -> f64 {
        unit_of(self.next_u64())
    }

    /// True with probability `p` (0 to 1).
    #[inline]
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// Exponential with the given mean, by inversion: one uniform number a draw.
    #[inline]
    pub fn exp(&mut self, mean: f64) -> f64 {
        -(1.0 - self.unit()).ln() * mean
    }

    /// Exponential with mean 1, by the ziggurat: several times as fast as [`Rng::exp`], and of any number of uniform numbers.
    #[inline]
    pub fn exp_fast(&mut self) -> f64 {
        let tables = Ziggurat::get();
        let bits = self.next_u64();
        // The layer and the place in it are of different bits.
        let layer = (bits & 0xff) as usize;
        let x = unit_of(bits) * tables.x[layer];
        if x < tables.x[layer + 1] {
            return x;
        }
        self.exp_at_edge(tables, layer, x)
    }

    /// A draw that fell outside the part of its layer that is below the curve throughout: one in ninety.
    #[cold]
    fn exp_at_edge(&mut self, tables: &Ziggurat, mut layer: usize, mut x: f64) -> f64 {
        loop {
            if x < tables.x[layer + 1] {
                return x;
            }
            if layer == 0 {
                // Beyond the last layer the distribution is the same again.
                return ziggurat::TAIL + self.exp(1.0);
            }
            let (low, high) = (tables.y[layer], tables.y[layer + 1]);
            if low + (high - low) * self.unit() < (-x).exp() {
                return x;
            }
            let bits = self.next_u64();
            layer = (bits & 0xff) as usize;
            x = unit_of(bits) * tables.x[layer];
        }
    }

    /// Fills `out` with random bytes: incompressible, non-repeating data.
    pub fn fill(&mut self, out: &mut [u8]) {
        self.0.fill_bytes(out);
    }
}

/// The upper 53 bits as a number in `[0, 1)`.
#[inline]
fn unit_of(bits: u64) -> f64 {
    (bits >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}

/// SplitMix64's finalizer: every input bit reaches every output bit.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
