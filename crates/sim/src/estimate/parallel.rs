//! The mean time until the last of several parallel copies has ended: order statistics from three moments.
//!
//! Of n like times with mean m, deviation s and skewness g the largest is on average m + s·d, where d is that of n normal
//! times (Blom 1958), corrected for the skewness (Cornish and Fisher 1938) such that exponential times are exact. Times
//! that differ are combined two at a time (Clark 1961). Copies that arrive together meet queues that are long together, so
//! that waiting spreads them less than service does: as much less as at n alike queues to which every arrival forks
//! (Nelson and Tantawi 1988).

use super::lumped::LumpedLoad;
use statrs::distribution::{Continuous, ContinuousCDF, Normal};
use std::ops::Range;

/// Copies are alike if their moments differ by no more than this share.
const ALIKE: f64 = 1e-9;

/// Mean, variance and third central moment of a time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Moments {
    mean: f64,
    variance: f64,
    third: f64,
}

/// Mean seconds until the last of a group of copies has ended.
pub fn longest(load: &LumpedLoad, stays: &[f64], weights: &[f64], group: &[Range<usize>]) -> f64 {
    let copies = group.len() as f64;
    // By likeness, with their numbers.
    let mut kinds: Vec<(Moments, f64)> = Vec::new();
    for range in group {
        let of = moments(load, stays, weights, range, copies);
        let near = |a: f64, b: f64| (a - b).abs() <= ALIKE * a.abs().max(b.abs());
        let alike = |kind: &&mut (Moments, f64)| {
            near(kind.0.mean, of.mean) && near(kind.0.variance, of.variance)
        };
        match kinds.iter_mut().find(alike) {
            Some((_, count)) => *count += 1.0,
            None => kinds.push((of, 1.0)),
        }
    }
    let all = kinds.into_iter().map(|(of, count)| of_alike(of, count));
    all.reduce(later).map_or(0.0, |last| last.mean)
}

/// The moments of the time of one copy.
fn moments(
    load: &LumpedLoad,
    stays: &[f64],
    weights: &[f64],
    range: &Range<usize>,
    copies: f64,
) -> Moments {
    let mut sum = Moments::default();
    for item in range.clone().filter(|item| !load.items[*item].background) {
        let of = &load.items[item];
        let (stay, chance) = (stays[item] * weights[item], of.chance);
        let time = of.time.min(stay);
        let wait = stay - time;
        let served = time * time * of.scv;
        // M/G/1: an exponential wait has the variance of its square and of what is left of one service.
        let waited = wait * wait + wait * time * (2.0 / 3.0 + 4.0 / 3.0 * of.scv);
        // As many of the copies as there are stations per copy arrive together.
        let spread = of.touches.first().map_or(1.0, |touch| touch.spread);
        let together = if stay > 0.0 { wait / stay } else { 0.0 } * (copies / spread).min(1.0);
        let alone = 1.0 - together * (1.0 - (0.6 + 0.3 / copies));
        let waited = waited * alone * alone;
        let variance = served + waited;
        sum.mean += chance * stay;
        sum.variance += chance * variance + chance * (1.0 - chance).max(0.0) * stay * stay;
        sum.third += chance * (of.skew * served.powf(1.5) + 2.0 * waited.powf(1.5));
    }
    sum
}

/// The largest of `count` like times.
fn of_alike(of: Moments, count: f64) -> Moments {
    let deviation = of.variance.max(0.0).sqrt();
    if count <= 1.0 || deviation <= 0.0 {
        return of;
    }
    let skew = (of.third / deviation.powi(3)).clamp(-2.0, 4.0);
    let normal = Normal::standard().inverse_cdf((count - 0.375) / (count + 0.25));
    // Variance of the largest of n normal times.
    let spread = 1.0 / (1.0 + 0.83 * count.ln());
    let slope = (normal * normal + spread - 1.0) / 6.0;
    let exponential = harmonic(count) - 1.0;
    let curve = (normal + 2.0 * slope - exponential) / 4.0;
    let above = normal + skew * slope - skew * skew * curve;
    Moments {
        mean: of.mean + deviation * above.max(0.0),
        variance: of.variance * spread,
        third: 0.0,
    }
}

/// The later of two independent times, taken for normal.
fn later(a: Moments, b: Moments) -> Moments {
    let apart = (a.variance + b.variance).sqrt();
    if apart <= 0.0 {
        return if a.mean >= b.mean { a } else { b };
    }
    let by = (a.mean - b.mean) / apart;
    let normal = Normal::standard();
    let (first, second, density) = (normal.cdf(by), normal.cdf(-by), normal.pdf(by));
    let mean = a.mean * first + b.mean * second + apart * density;
    let square = (a.mean * a.mean + a.variance) * first
        + (b.mean * b.mean + b.variance) * second
        + (a.mean + b.mean) * apart * density;
    Moments {
        mean: mean.max(a.mean).max(b.mean),
        variance: (square - mean * mean).max(0.0),
        third: 0.0,
    }
}

/// 1 + 1/2 + … + 1/n, for whole n.
fn harmonic(count: f64) -> f64 {
    if count > 1e4 {
        return count.ln() + 0.577_215_664_9;
    }
    (1..=count.round() as u32).map(|n| 1.0 / f64::from(n)).sum()
}
