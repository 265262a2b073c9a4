//! How bursty arrivals are: the index of dispersion over scales, and the two-state Markov-modulated Poisson process that has it.
//!
//! The index of dispersion over scales tells how far the rate varies and how long it stays, but not for which share of the time it
//! is high: bursts that are rare and strong may have the same index as some that take half of the time. The third moment of the
//! counts tells that.

use clock::{Ns, Rng};
use std::collections::BTreeMap;

/// Lengths of windows in which arrivals are counted.
const SCALES: [u64; 6] =
    [100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 10_000_000_000];
/// Windows below which a scale says nothing.
const WINDOWS: u64 = 30;

/// Counts of arrivals in windows of one length.
#[derive(Clone, Default)]
struct Windows {
    number: u64,
    here: u64,
    squares: f64,
    sum: u64,
    counts: BTreeMap<u64, u64>,
}

/// Counts arrivals over scales.
#[derive(Clone, Default)]
pub(crate) struct Dispersion {
    windows: [Windows; SCALES.len()],
    last: Option<Ns>,
    /// Number, sum and sum of squares of the gaps between arrivals, in seconds.
    gaps: [f64; 3],
}

/// Squared variation of gaps below which arrivals are evenly spaced; Poisson's have 1.
const EVEN: f64 = 0.1;

/// The dispersion of arrivals at a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScaleFit {
    /// Length of the windows.
    pub window: Ns,
    /// Variance over mean of the arrivals in a window; 1 is Poisson.
    pub dispersion: f64,
    /// The same of the fitted process.
    pub fitted: f64,
    /// Arrivals that 1% of the windows exceed.
    pub p99: u64,
    /// The same of the fitted process, drawn.
    pub p99_fitted: u64,
    /// The same of a Poisson process of the mean rate, drawn.
    pub p99_poisson: u64,
}

/// A Poisson process whose rate changes between two states.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstFit {
    /// Arrivals a second in bursts.
    pub high: f64,
    /// Arrivals a second between them.
    pub low: f64,
    /// Mean length of a burst.
    pub burst: Ns,
    /// Mean time between bursts.
    pub pause: Ns,
}

impl Windows {
    fn close(&mut self, upto: u64) {
        // Windows without arrivals between count as well.
        let empty = upto - self.number - 1;
        self.sum += self.here;
        self.squares += (self.here * self.here) as f64;
        *self.counts.entry(self.here).or_default() += 1;
        if empty > 0 {
            *self.counts.entry(0).or_default() += empty;
        }
        (self.number, self.here) = (upto, 0);
    }

    fn dispersion(&self) -> Option<f64> {
        let windows = self.number as f64;
        let mean = self.sum as f64 / windows.max(1.0);
        (self.number >= WINDOWS && mean > 0.0)
            .then(|| (self.squares / windows - mean * mean) * windows / (windows - 1.0) / mean)
    }

    /// Variance and third central moment of the counts.
    fn moments(&self) -> (f64, f64) {
        let (windows, mean) = (self.number as f64, self.sum as f64 / self.number as f64);
        let of = |power: i32| {
            let one = |(count, windows): (&u64, &u64)| {
                (*count as f64 - mean).powi(power) * *windows as f64
            };
            self.counts.iter().map(one).sum::<f64>() / windows
        };
        (of(2), of(3))
    }

    fn p99(&self) -> u64 {
        let beyond = self.number / 100;
        let mut above = 0;
        for (count, windows) in self.counts.iter().rev() {
            above += windows;
            if above > beyond {
                return *count;
            }
        }
        0
    }
}

impl Dispersion {
    pub fn add(&mut self, at: Ns) {
        if let Some(last) = self.last.replace(at) {
            let gap = at.since(last).as_secs_f64();
            let [number, sum, squares] = &mut self.gaps;
            (*number, *sum, *squares) = (*number + 1.0, *sum + gap, *squares + gap * gap);
        }
        for (windows, scale) in self.windows.iter_mut().zip(SCALES) {
            let number = at.0 / scale;
            if number > windows.number {
                windows.close(number);
            }
            windows.here += 1;
        }
    }

    /// Whether arrivals are evenly spaced.
    pub fn is_even(&self) -> bool {
        let [number, sum, squares] = self.gaps;
        let mean = sum / number.max(1.0);
        number >= WINDOWS as f64 && squares / number - mean * mean < EVEN * mean * mean
    }

    /// The skewness of the rate of a process with this time constant: each scale tells it by the third moment of its counts, as
    /// reliably as it has windows, and as its counts vary more than Poisson's. `None` where no scale does.
    fn skewness(&self, known: &[Known], tau: f64) -> Option<f64> {
        let (mut sum, mut weights) = (0.0, 0.0);
        for of in known {
            let windows = &self.windows[of.place];
            let mean = windows.sum as f64 / windows.number as f64;
            let (variance, third) = windows.moments();
            // Cumulants of the rate over a window, without what Poisson's arrivals add.
            let (varies, leans) = (variance - mean, third - 3.0 * variance + 2.0 * mean);
            if varies <= 0.1 * variance {
                continue;
            }
            let blur = blur(of.seconds / tau);
            let independent = of.windows * of.seconds / of.seconds.max(2.0 * tau);
            let weight = blur * blur * independent * (varies / variance).powi(3);
            sum += weight * leans / varies.powf(1.5) / blur;
            weights += weight;
        }
        (weights > 0.0).then(|| sum / weights)
    }

    /// The process of this mean rate whose dispersion comes nearest over all scales, with how near it comes at each.
    pub fn fit(&self, rate: f64, seed: u64) -> (Option<BurstFit>, Vec<ScaleFit>) {
        let known: Vec<Known> = (0..SCALES.len())
            .filter_map(|place| {
                let dispersion = self.windows[place].dispersion()?;
                let windows = self.windows[place].number as f64;
                Some(Known { seconds: SCALES[place] as f64 / 1e9, dispersion, windows, place })
            })
            .collect();
        let found = nearest(&known, rate);
        let (limit, tau) = found.map_or((1.0, 1.0), |(limit, tau)| (limit, tau));
        let bursts =
            found.map(|(limit, tau)| BurstFit::of(rate, limit, tau, self.skewness(&known, tau)));
        let most = known.last().map_or(0, |known| known.place);
        let span = Ns(SCALES[most].saturating_mul(self.windows[most].number));
        let drawn = bursts.map(|bursts| bursts.drawn(span, rate, seed));
        let poisson = BurstFit { high: rate, low: rate, burst: Ns::secs(1), pause: Ns::secs(1) };
        let poisson = poisson.drawn(span, rate, seed);
        let of = |known: &Known| ScaleFit {
            window: Ns(SCALES[known.place]),
            dispersion: known.dispersion,
            fitted: curve(limit, tau, known.seconds),
            p99: self.windows[known.place].p99(),
            p99_fitted: drawn.as_ref().unwrap_or(&poisson).windows[known.place].p99(),
            p99_poisson: poisson.windows[known.place].p99(),
        };
        (bursts, known.iter().map(of).collect())
    }
}

/// The index of dispersion of a two-state process in windows of `t`, with its limit and its time constant.
fn curve(limit: f64, tau: f64, t: f64) -> f64 {
    1.0 + (limit - 1.0) * (1.0 - tau / t * (1.0 - (-t / tau).exp()))
}

/// The skewness of a two-state rate over a window, as a part of that of the rate itself; by the length of the window over the time
/// constant. The third moment of a rate of two values falls with the time between the first and the last of three moments.
fn blur(a: f64) -> f64 {
    if a < 0.01 {
        return 1.0;
    }
    let decay = (-a).exp();
    let third = 6.0 * (a * (1.0 - decay * (1.0 + a)) - 2.0 + decay * (a * a + 2.0 * a + 2.0));
    third / (2.0 * (a - 1.0 + decay)).powf(1.5)
}

/// A scale that says something.
struct Known {
    seconds: f64,
    dispersion: f64,
    windows: f64,
    place: usize,
}

/// Limit and time constant by least squares of logarithms; `None` where arrivals are no more bursty than Poisson's.
fn nearest(known: &[Known], rate: f64) -> Option<(f64, f64)> {
    // What chance makes of Poisson's arrivals: the variance of the index is 2 over the number of windows.
    if rate <= 0.0
        || known.iter().all(|known| known.dispersion < 1.2 + 3.5 * (2.0 / known.windows).sqrt())
    {
        return None;
    }
    let mut best = (f64::MAX, 1.0, 1.0);
    for step in 0..160 {
        let tau = 1e-5 * 10f64.powf(f64::from(step) / 20.0);
        for step in 0..240 {
            let limit = 1.0 + 0.05 * 10f64.powf(f64::from(step) / 30.0);
            let miss: f64 = known
                .iter()
                .map(|of| {
                    let fitted = curve(limit, tau, of.seconds).max(0.05);
                    (fitted.ln() - of.dispersion.max(0.05).ln()).powi(2)
                })
                .sum();
            if miss < best.0 {
                best = (miss, limit, tau);
            }
        }
    }
    Some((best.1, best.2))
}

impl BurstFit {
    /// The process of this mean rate, limit of dispersion, time constant, and skewness of the rate. Where the variance is larger
    /// than such bursts have, they take a smaller share of the time, and nothing arrives between them.
    fn of(rate: f64, limit: f64, tau: f64, skewness: Option<f64>) -> BurstFit {
        let variance = (limit - 1.0) * rate / (2.0 * tau);
        let most = rate * rate / (rate * rate + variance);
        let skewness = skewness.unwrap_or(0.0);
        let share = 0.5 * (1.0 - skewness / (4.0 + skewness * skewness).sqrt());
        let share = share.clamp(1e-4, most.min(1.0 - 1e-4));
        let deviation = variance.sqrt();
        let high = rate + deviation * ((1.0 - share) / share).sqrt();
        let low = (rate - deviation * (share / (1.0 - share)).sqrt()).max(0.0);
        let ns = |seconds: f64| Ns((seconds * 1e9).clamp(1.0, 1e18) as u64);
        BurstFit { high, low, burst: ns(tau / (1.0 - share)), pause: ns(tau / share) }
    }

    /// The dispersion of arrivals that are drawn from it, as long as the trace and no longer than ten million.
    fn drawn(&self, span: Ns, rate: f64, seed: u64) -> Dispersion {
        let mut rng = Rng::keyed(seed, &[0x6275_7273]);
        let end = (span.0 as f64).min(1e7 / rate.max(1e-9) * 1e9);
        let (mut at, mut high) = (0.0, rng.chance(0.5));
        let mut drawn = Dispersion::default();
        while at < end {
            let (rate, length) =
                if high { (self.high, self.burst) } else { (self.low, self.pause) };
            let until = (at + rng.exp(length.0 as f64)).min(end);
            if rate > 0.0 {
                let mut next = at + rng.exp(1e9 / rate);
                while next < until {
                    drawn.add(Ns(next as u64));
                    next += rng.exp(1e9 / rate);
                }
            }
            (at, high) = (until, !high);
        }
        drawn
    }
}
