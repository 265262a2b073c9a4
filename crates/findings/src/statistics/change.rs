//! Whether a series in time keeps its level: a step at any moment, the first and the last included, or a drift.
//!
//! Every moment is tried as a step, and a line as a drift, and the one that explains most is tested: R. E. Quandt's largest
//! F (*J. Am. Stat. Assoc.* 55, 1960; D. W. K. Andrews, *Econometrica* 61, 1993). Three things make that test lie, and
//! each is met:
//!
//! - **Neighbours are alike**, so that levels wander. Each shape is fitted with the first-order correlation of what it
//!   leaves over (generalised least squares). Estimated beside the shape, correlation is not taken for a step, nor a
//!   step for correlation, which would cost all power (T. J. Vogelsang, *J. Econometrics* 88, 1999).
//! - **The last moments are few**: no limit theorem holds for a step of three seconds. The critical value is that of
//!   series made of the residuals themselves with that correlation (a sieve bootstrap; P. Bühlmann, *Bernoulli* 3,
//!   1997), which need not be normal: where single seconds fail now and then, one at the end is nothing new (as
//!   in D. W. K. Andrews, *End-of-Sample Instability Tests*, Econometrica 71, 2003).
//! - **A long series shows what does not matter.** Shapes smaller than a tolerance do not count, in the series nor in those
//!   made up.
//!
//! The random numbers are keyed by the series' length alone: the same series has the same answer.

use super::student::quantile;
use clock::Rng;

/// The chance of calling a steady series unsteady that the critical value is chosen for. What is measured is stated in
/// `docs/steady.md`; correlations of higher order cost some of it.
pub const CHANGE_ALPHA: f64 = 0.03;
/// The smallest step that counts, of the mean: half of the 5% that is to be found, so that an estimate of it rarely falls
/// below.
pub const CHANGE_TOLERANCE: f64 = 0.025;
/// Fewer points are not judged.
pub const POINTS_MIN: usize = 10;
/// Made-up series, and those by which the correlation's bias is found.
const SERIES: u32 = 249;
const PILOTS: u32 = 60;
/// Values that a made-up series forgets its beginning in.
const FORGETTING: usize = 40;
/// Correlations beyond are a random walk, which has no level.
const CORRELATION: (f64, f64) = (-0.5, 0.95);
/// A level of fewer points at either end than one in so many, and one more, is no step: any outlier would be.
const EDGE: usize = 30;
/// Standard errors that the strongest of all shapes reaches by chance in 3% of steady series, and those that a power of
/// 80% takes beyond.
const CRITICAL: f64 = 3.5;

/// A shape that a series may have beside its level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Another level from this place on.
    Step(usize),
    /// A line over all of it.
    Drift,
}

/// What a series shows of its level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LevelCheck {
    /// The shape that explains most; `None` where none is as large as the tolerance.
    pub shape: Option<Shape>,
    /// By how much it rises, of the mean; negative where it falls.
    pub size: f64,
    /// The probability of a shape as strong in a steady series; 1 where it is at least [`CHANGE_ALPHA`].
    pub p: f64,
    /// Correlation of neighbours.
    pub correlation: f64,
    /// The smallest step in the middle, and in the last tenth, that is found with a power of 80%, of the mean.
    pub detectable: [f64; 2],
}

impl LevelCheck {
    /// Whether the series changed.
    pub fn changed(&self) -> bool {
        self.p < CHANGE_ALPHA
    }

    /// Checks a series for shapes of at least `tolerance` of its mean. `None` below [`POINTS_MIN`], or where there is no
    /// positive mean.
    pub fn of(series: &[f64], tolerance: f64) -> Option<LevelCheck> {
        let n = series.len();
        let mean = series.iter().sum::<f64>() / n as f64;
        if n < POINTS_MIN || !(mean > 0.0 && mean.is_finite()) {
            return None;
        }
        let series: Vec<f64> = series.iter().map(|y| y / mean - 1.0).collect();
        let fit = Fit::of(&series, tolerance);
        let rest = fit.innovations(&series);
        let noise = (rest.iter().map(|e| e * e).sum::<f64>() / (n as f64 - 3.0)).sqrt();
        let unbiased = fit.unbiased(&rest, tolerance);
        let white = Whitened::of(&series, unbiased);
        let beyond = CRITICAL + quantile(super::POWER, n as f64 - 3.0);
        let power = quantile(super::POWER, n as f64 - 3.0);
        let seen = |at: usize| {
            let error = noise / white.information(Shape::Step(at)).sqrt();
            (error * beyond).max(tolerance + error * power)
        };
        let p = fit.p_value(&rest, unbiased, tolerance);
        Some(LevelCheck {
            shape: fit.strongest.map(|found| found.shape),
            size: fit.strongest.map_or(0.0, |found| found.size),
            p,
            correlation: unbiased,
            detectable: [seen(n / 2), seen(n - (n / 10).max(1))],
        })
    }
}

/// A shape fitted to a series.
#[derive(Clone, Copy, Debug)]
struct Fitted {
    shape: Shape,
    size: f64,
    /// The squares that it explains.
    explains: f64,
}

/// The strongest shapes of a series, with the correlation of what they leave over.
struct Fit {
    correlation: f64,
    /// Of all shapes.
    best: Fitted,
    /// Of those that are no smaller than the tolerance.
    strongest: Option<Fitted>,
    /// How many standard errors the strongest is from nothing, squared.
    strength: f64,
}

impl Fit {
    fn of(series: &[f64], tolerance: f64) -> Fit {
        let mut correlation = 0.0;
        let mut white = Whitened::of(series, correlation);
        let mut best = white.strongest(0.0);
        for _ in 0..2 {
            correlation = best.map_or(0.0, |best| neighbours(&best.remove(series)));
            white = Whitened::of(series, correlation);
            best = white.strongest(0.0);
        }
        let best = best.unwrap_or(Fitted { shape: Shape::Drift, size: 0.0, explains: 0.0 });
        let strongest = white.strongest(tolerance);
        let left = (white.squares - best.explains).max(white.squares * 1e-12);
        let freedom = series.len() as f64 - 3.0;
        let strength = strongest.map_or(0.0, |s| s.explains / (left / freedom));
        Fit {
            correlation,
            best,
            strongest,
            strength: if strength.is_nan() { 0.0 } else { strength },
        }
    }

    /// What is new in each value, once shape, level and correlation are known.
    fn innovations(&self, series: &[f64]) -> Vec<f64> {
        let rest = self.best.remove(series);
        let new: Vec<f64> = rest.windows(2).map(|w| w[1] - self.correlation * w[0]).collect();
        let mean = new.iter().sum::<f64>() / new.len() as f64;
        new.iter().map(|e| e - mean).collect()
    }

    /// The correlation of which series without any shape come out with the one that was found: beside a shape it comes
    /// out too low.
    fn unbiased(&self, rest: &[f64], tolerance: f64) -> f64 {
        let mut made = Made::new(rest, 1);
        let mut guess = self.correlation.max(0.0);
        if self.strength == 0.0 && self.best.explains == 0.0 {
            return guess;
        }
        for _ in 0..2 {
            let found: f64 =
                (0..PILOTS).map(|_| Fit::of(&made.series(guess), tolerance).correlation).sum();
            guess =
                (guess + self.correlation - found / f64::from(PILOTS)).clamp(0.0, CORRELATION.1);
        }
        guess
    }

    /// How often a steady series shows a shape as strong; 1 as soon as that is too often.
    fn p_value(&self, rest: &[f64], correlation: f64, tolerance: f64) -> f64 {
        if self.strength == 0.0 {
            return 1.0;
        }
        let all = f64::from(SERIES + 1);
        let mut made = Made::new(rest, 2);
        let mut as_strong = 1.0;
        for _ in 0..SERIES {
            if Fit::of(&made.series(correlation), tolerance).strength >= self.strength {
                as_strong += 1.0;
                if as_strong >= CHANGE_ALPHA * all {
                    return 1.0;
                }
            }
        }
        as_strong / all
    }
}

impl Fitted {
    /// The series without the shape and without its level.
    fn remove(&self, series: &[f64]) -> Vec<f64> {
        let last = (series.len() - 1).max(1) as f64;
        let shape = |i: usize| match self.shape {
            Shape::Step(at) => f64::from(u8::from(i >= at)),
            Shape::Drift => i as f64 / last,
        };
        let flat: Vec<f64> =
            series.iter().enumerate().map(|(i, y)| y - self.size * shape(i)).collect();
        let mean = flat.iter().sum::<f64>() / flat.len() as f64;
        flat.iter().map(|y| y - mean).collect()
    }
}

/// Correlation of neighbours.
fn neighbours(rest: &[f64]) -> f64 {
    let squares: f64 = rest.iter().map(|r| r * r).sum();
    let products: f64 = rest.windows(2).map(|w| w[0] * w[1]).sum();
    let found = products / squares;
    if found.is_finite() { found.clamp(CORRELATION.0, CORRELATION.1) } else { 0.0 }
}

/// A series whose neighbours are no longer alike (Prais and Winsten's transform), without its level.
struct Whitened {
    /// Each value, and what remains of a constant there.
    y: Vec<f64>,
    correlation: f64,
    /// Sums of `y` times the constant, and of the constant's squares.
    level: f64,
    constants: f64,
    /// The squares that the level leaves over.
    squares: f64,
}

impl Whitened {
    fn of(series: &[f64], correlation: f64) -> Whitened {
        let first = (1.0 - correlation * correlation).sqrt();
        let rest = series.windows(2).map(|w| w[1] - correlation * w[0]);
        let y: Vec<f64> = std::iter::once(first * series[0]).chain(rest).collect();
        let later = 1.0 - correlation;
        let constants = first * first + later * later * (y.len() - 1) as f64;
        let level = first * y[0] + later * y[1..].iter().sum::<f64>();
        let squares = y.iter().map(|y| y * y).sum::<f64>() - level * level / constants;
        Whitened { y, correlation, level, constants, squares }
    }

    /// Sums of a shape's squares, of it times the constant, and of it times the series.
    fn sums(&self, shape: Shape, later: &[f64]) -> [f64; 3] {
        let n = self.y.len();
        let all = 1.0 - self.correlation;
        match shape {
            Shape::Step(at) => {
                let rest = (n - at - 1) as f64;
                let squares = 1.0 + all * all * rest;
                [squares, all + all * all * rest, self.y[at] + all * later[at + 1]]
            }
            Shape::Drift => {
                let last = (n - 1) as f64;
                let first = (1.0 - self.correlation * self.correlation).sqrt();
                let at = |i: usize| (i as f64 - self.correlation * (i as f64 - 1.0)) / last;
                let (mut xx, mut xc, mut xy) = (0.0, 0.0, 0.0);
                for (i, y) in self.y.iter().enumerate() {
                    let x = if i == 0 { 0.0 } else { at(i) };
                    xx += x * x;
                    xc += x * if i == 0 { first } else { all };
                    xy += x * y;
                }
                [xx, xc, xy]
            }
        }
    }

    /// How much is known of a shape's size where the noise is 1: one over its variance.
    fn information(&self, shape: Shape) -> f64 {
        let [xx, xc, _] = self.sums(shape, &vec![0.0; self.y.len() + 1]);
        xx - xc * xc / self.constants
    }

    /// The shape that explains most, of those that are no smaller than the tolerance: of drifts twice it, which is a step
    /// as large between the halves.
    fn strongest(&self, tolerance: f64) -> Option<Fitted> {
        let n = self.y.len();
        let mut later = vec![0.0; n + 1];
        for i in (0..n).rev() {
            later[i] = later[i + 1] + self.y[i];
        }
        let edge = 1 + n / EDGE;
        let steps = (edge..=n - edge).map(|at| (Shape::Step(at), tolerance));
        let fitted = |(shape, least): (Shape, f64)| {
            let [xx, xc, xy] = self.sums(shape, &later);
            let information = xx - xc * xc / self.constants;
            let size = (xy - xc * self.level / self.constants) / information;
            let fitted = Fitted { shape, size, explains: size * size * information };
            (information > 1e-9 && size.is_finite() && size.abs() >= least).then_some(fitted)
        };
        steps
            .chain([(Shape::Drift, 2.0 * tolerance)])
            .filter_map(fitted)
            .max_by(|a, b| a.explains.total_cmp(&b.explains))
    }
}

/// Steady series made of the innovations of another.
struct Made<'a> {
    rest: &'a [f64],
    /// What innovations were made smaller by, because shape, level and correlation were fitted to them.
    larger: f64,
    rng: Rng,
    length: usize,
}

impl Made<'_> {
    fn new(rest: &[f64], key: u64) -> Made<'_> {
        let n = rest.len() as f64;
        let length = rest.len() + 1;
        let rng = Rng::keyed(0x5eed, &[key, length as u64]);
        Made { rest, larger: (n / (n - 4.0)).sqrt(), rng, length }
    }

    fn series(&mut self, correlation: f64) -> Vec<f64> {
        let mut x = 0.0;
        let mut next = |_| {
            let drawn = self.rng.below(self.rest.len() as u64) as usize;
            x = correlation * x + self.larger * self.rest[drawn];
            x
        };
        let forget = if correlation > 0.05 { FORGETTING } else { 0 };
        (0..forget + self.length).map(&mut next).skip(forget).collect()
    }
}
