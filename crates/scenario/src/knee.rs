//! Where more load buys latency and no more work.
//!
//! The knee of a sweep is the point of greatest *generalised power* (A. Giessler et al., *Free buffer allocation*,
//! Computer Networks 2, 1978; L. Kleinrock, *Power and Deterministic Rules of Thumb*, ICC 1979): with the exponent 3 it
//! is work³ / latency, and in a closed loop, where latency = load / work by Little's law, that is work⁴ / load. So the
//! score of a point is work / load^¼: past the knee a doubling of load brings less than 2^¼ − 1 = 19% more work, up to
//! the end of the sweep. A maximum over all points does not stop at a single bad one, unlike a rule about neighbours,
//! and unlike Kneedle (Satopää et al., 2011) it does not move when the sweep is made longer. Gunther's universal
//! scalability law is what the tests plant; it is not fitted: three parameters want more points than most sweeps have.
//!
//! Pure arithmetic on numbers. It stands beside the language because a plan may ask for the knee: the coordinator looks
//! for it while the steps run, findings in any sweep that was recorded, and both must mean the same.

use serde::Serialize;

/// The exponent of the load in the score: the elasticity of work below which more load is not worth it.
pub const ELASTICITY: f64 = 0.25;
/// Relative standard error of a point that was run once: such a point is taken to repeat within twice this.
const ERROR_SINGLE: f64 = 0.01;
/// The least relative standard error believed of a point that was repeated.
const ERROR_LEAST: f64 = 0.002;
/// Latency must grow by this factor from the knee to the last point, or the added load did not arrive.
const LATENCY_RISE: f64 = 1.1;

/// One value of the axis with what its repetitions gave.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Point {
    /// The setting as it is shown (`"8KiB"`).
    pub value: String,
    /// The same as a number.
    pub load: f64,
    /// Work done at every repetition, in the unit of the series.
    pub work: Vec<f64>,
    /// Mean latency in nanoseconds: response time in open loops, service time in closed ones.
    pub latency_ns: f64,
}

/// What a sweep says about its knee.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Answer {
    /// The knee was found.
    At {
        /// At this value.
        value: String,
        /// The first value that could be the knee within the error of the points.
        earliest: String,
        /// The last one.
        latest: String,
        /// Work at the knee as a share of the most work of any point, 0 to 1.
        share_of_peak: f64,
        /// Work at the last point divided by work at the knee.
        work_after: f64,
        /// Latency at the last point divided by latency at the knee.
        latency_after: f64,
    },
    /// Work still grew with the load at the last point.
    StillScaling {
        /// Work at the last point divided by work at the previous one.
        work_last: f64,
        /// Load at the last point divided by load at the previous one.
        load_last: f64,
    },
    /// The first point already did all the work.
    Flat {
        /// Work at the last point divided by work at the first.
        work_after: f64,
        /// Latency at the last point divided by latency at the first.
        latency_after: f64,
    },
    /// The points do not tell.
    Undecided {
        /// Why not, and what would.
        reason: String,
    },
}

impl Point {
    /// Mean work over the repetitions.
    pub fn mean(&self) -> f64 {
        self.work.iter().sum::<f64>() / self.work.len().max(1) as f64
    }

    /// Relative standard error of the mean.
    fn error(&self) -> f64 {
        let n = self.work.len() as f64;
        if n < 2.0 {
            return ERROR_SINGLE;
        }
        let mean = self.mean();
        let variance = self.work.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / (n - 1.0);
        ((variance / n).sqrt() / mean).max(ERROR_LEAST)
    }

    fn score(&self) -> f64 {
        self.mean() / self.load.powf(ELASTICITY)
    }
}

/// The point with the best score, and the others that could be the knee within the error of the points, as positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidates {
    /// The first of them.
    pub earliest: usize,
    /// The best.
    pub best: usize,
    /// The last of them.
    pub latest: usize,
}

impl Candidates {
    /// Scores points in ascending order of load; `None` where there are none.
    pub fn of(points: &[Point]) -> Option<Candidates> {
        let score = |i: &usize| points[*i].score();
        let best = (0..points.len()).max_by(|a, b| score(a).total_cmp(&score(b)))?;
        let floor = score(&best) * (1.0 - 2.0 * points[best].error());
        let candidate = |p: &Point| p.score() * (1.0 + 2.0 * p.error()) >= floor;
        Some(Candidates {
            earliest: points.iter().position(candidate).unwrap_or(best),
            best,
            latest: points.iter().rposition(candidate).unwrap_or(best),
        })
    }
}

/// Finds the knee of points in ascending order of load. Points without load, work or latency must have been left out.
pub fn find(points: &[Point]) -> Answer {
    let (Some(first), Some(last), Some(Candidates { earliest, best, latest })) =
        (points.first(), points.last(), Candidates::of(points))
    else {
        return undecided("no point of this sweep completed an operation");
    };
    if points.len() < 3 {
        return undecided("fewer than three points; sweep at least three values");
    }
    let end = points.len() - 1;
    if (earliest, latest) == (0, end) {
        return undecided(
            "the points differ by less than their error; repeat the steps or widen the sweep",
        );
    }
    if best == end {
        let before = &points[end - 1];
        return Answer::StillScaling {
            work_last: last.mean() / before.mean(),
            load_last: last.load / before.load,
        };
    }
    if latest == end {
        return undecided("the knee is too close to the last point to tell; extend the sweep");
    }
    let knee = &points[best];
    let (work_after, latency_after) =
        (last.mean() / knee.mean(), last.latency_ns / knee.latency_ns);
    if latency_after < LATENCY_RISE {
        return undecided(&format!(
            "work stops growing at {} but latency does not rise after it: the added load did not arrive; look for a \
             clamped depth or a limited generator",
            knee.value
        ));
    }
    if best == 0 {
        return Answer::Flat { work_after, latency_after: last.latency_ns / first.latency_ns };
    }
    let peak = points.iter().fold(0.0_f64, |m, p| m.max(p.mean()));
    Answer::At {
        value: knee.value.clone(),
        earliest: points[earliest].value.clone(),
        latest: points[latest].value.clone(),
        share_of_peak: knee.mean() / peak,
        work_after,
        latency_after,
    }
}

fn undecided(reason: &str) -> Answer {
    Answer::Undecided { reason: reason.to_owned() }
}
