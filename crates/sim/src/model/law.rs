//! Distributions of times, drawn from a seeded random stream.

use crate::Ps;
use clock::Rng;
use std::sync::Arc;

/// A distribution of times.
#[derive(Clone, Debug, PartialEq)]
pub enum Law {
    /// Always the same.
    Constant(Ps),
    /// Exponential with this mean.
    Exponential(Ps),
    /// Uniform from the first (included) to the second (included).
    Uniform(Ps, Ps),
    /// The sum of `phases` exponential times, with this total mean: less variable than exponential.
    Erlang {
        /// How many, 1 to 64.
        phases: u32,
        /// Mean of the sum.
        mean: Ps,
    },
    /// Exponential with one of two means: more variable than exponential.
    Hyper {
        /// Probability of the first.
        first: f64,
        /// The two means.
        means: [Ps; 2],
    },
    /// Drawn from a table of observed times.
    Table(Table),
}

/// Observed times, all equally probable.
#[derive(Clone, Debug, PartialEq)]
pub struct Table(Arc<TableTimes>);

/// The times with their moments, apart, so that a law is no larger for them.
#[derive(Debug, PartialEq)]
struct TableTimes {
    times: Box<[Ps]>,
    /// The mean, and the second and third central moments, which estimates ask for often.
    mean: f64,
    variance: f64,
    third: f64,
}

impl Table {
    /// A table of these times; `None` for no times.
    pub fn new(times: &[Ps]) -> Option<Table> {
        if times.is_empty() {
            return None;
        }
        let count = times.len() as f64;
        let mean = times.iter().map(|time| time.0 as f64).sum::<f64>() / count;
        let moment = |n: i32| {
            let powers = times.iter().map(|time| (time.0 as f64 - mean).powi(n));
            powers.sum::<f64>() / count
        };
        let (variance, third) = (moment(2), moment(3));
        Some(Table(Arc::new(TableTimes { times: times.into(), mean, variance, third })))
    }
}

impl Law {
    /// Zero time.
    pub const ZERO: Law = Law::Constant(Ps::ZERO);

    /// The mean, in picoseconds.
    pub fn mean(&self) -> f64 {
        match self {
            Law::Constant(time) => time.0 as f64,
            Law::Exponential(mean) | Law::Erlang { mean, .. } => mean.0 as f64,
            Law::Uniform(low, high) => (low.0 as f64 + high.0 as f64) / 2.0,
            Law::Hyper { first, means } => {
                first * means[0].0 as f64 + (1.0 - first) * means[1].0 as f64
            }
            Law::Table(table) => table.0.mean,
        }
    }

    /// The squared coefficient of variation: variance over the square of the mean; zero where the mean is zero.
    pub fn scv(&self) -> f64 {
        let mean = self.mean();
        if mean <= 0.0 {
            return 0.0;
        }
        let variance = match self {
            Law::Constant(_) => 0.0,
            Law::Exponential(_) => mean * mean,
            Law::Uniform(low, high) => {
                let steps = (high.0 - low.0) as f64 + 1.0;
                (steps * steps - 1.0) / 12.0
            }
            Law::Erlang { phases, .. } => mean * mean / f64::from(*phases),
            Law::Hyper { first, means } => {
                let square = |mean: Ps| mean.0 as f64 * mean.0 as f64;
                2.0 * (first * square(means[0]) + (1.0 - first) * square(means[1])) - mean * mean
            }
            Law::Table(table) => table.0.variance,
        };
        variance / (mean * mean)
    }

    /// The skewness: the third central moment over the cube of the standard deviation; zero where nothing varies.
    pub fn skewness(&self) -> f64 {
        match self {
            Law::Constant(_) | Law::Uniform(..) => 0.0,
            Law::Exponential(_) => 2.0,
            Law::Erlang { phases, .. } => 2.0 / f64::from(*phases).sqrt(),
            Law::Hyper { first, means } => {
                let mean = self.mean();
                let moment = |n: i32, factorial: f64| {
                    let of = |mean: Ps| (mean.0 as f64).powi(n);
                    factorial * (first * of(means[0]) + (1.0 - first) * of(means[1]))
                };
                let variance = moment(2, 2.0) - mean * mean;
                let third = moment(3, 6.0) - 3.0 * mean * moment(2, 2.0) + 2.0 * mean.powi(3);
                if variance > 0.0 { third / variance.powf(1.5) } else { 0.0 }
            }
            Law::Table(Table(of)) => {
                if of.variance > 0.0 {
                    of.third / of.variance.powf(1.5)
                } else {
                    0.0
                }
            }
        }
    }

    /// Draws a time.
    #[inline(always)]
    pub fn draw(&self, rng: &mut Rng) -> Ps {
        match self {
            Law::Constant(time) => *time,
            Law::Exponential(mean) => exponential(rng, *mean),
            Law::Uniform(low, high) => match high.0 - low.0 {
                u64::MAX => Ps(rng.next_u64()),
                width => Ps(low.0 + rng.below(width + 1)),
            },
            _ => self.draw_other(rng),
        }
    }

    /// The same of the laws that take longer.
    #[inline(never)]
    fn draw_other(&self, rng: &mut Rng) -> Ps {
        match self {
            Law::Constant(_) | Law::Exponential(_) | Law::Uniform(..) => self.draw(rng),
            Law::Erlang { phases, mean } => {
                // The logarithm of a product would underflow with many phases; a sum of logarithms cannot.
                let sum: f64 = (0..*phases).map(|_| rng.exp_fast()).sum();
                round(sum / f64::from(*phases) * mean.0 as f64)
            }
            Law::Hyper { first, means } => {
                let mean = means[usize::from(!rng.chance(*first))];
                exponential(rng, mean)
            }
            Law::Table(Table(of)) => of.times[rng.below(of.times.len() as u64) as usize],
        }
    }
}

#[inline]
fn exponential(rng: &mut Rng, mean: Ps) -> Ps {
    round(rng.exp_fast() * mean.0 as f64)
}

/// Rounds to the nearest picosecond; saturates at a hundred days.
#[inline]
fn round(ps: f64) -> Ps {
    // As a signed number: the processor has an instruction for it.
    Ps((ps + 0.5) as i64 as u64)
}
