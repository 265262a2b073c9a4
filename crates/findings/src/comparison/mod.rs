//! Two systems compared: for each metric of each step of both, better, worse or undecided, with a confidence interval.
//!
//! The first run is the baseline of each of the others. Steps are paired by their settings; a step without a partner is
//! listed. What is compared are merged seconds: rates divide sums, and percentiles are read off merged histograms
//! ([`crate::statistics`] says how, and where it comes from). How the measurements of both sides lie in time decides what
//! may be said ([`Evidence`]): better or worse where they were made in turns, where each side is spread over time, or
//! where both were simulated; otherwise a difference may be the machine's, and is said to be one and no more.
//!
//! It is a pure function of records and their analyses, and renders nothing. Where it cannot know, it says undecided and
//! why: that is the answer to begin from.

mod judge;
mod members;
mod metric;
mod observed;
mod pairs;
mod places;
mod seconds;
mod systems;
mod turns;
mod warnings;

pub use judge::{Method, MetricPair, Needed, Opinion};
pub use metric::{Better, Compared, LatencyOf};
pub use observed::OddDays;
pub use pairs::UnpairedPoint;
pub use places::{FoundLimit, PlacePair};
pub use systems::Differing;
pub use turns::Evidence;
pub use warnings::ComparisonWarning;

use crate::statistics::{ALPHA, CONFIDENCE, POWER, holm};
use crate::{Analysis, StepFigures};
use judge::PairJudge;
use pairs::PlanPoint;
use record::{Record, RecordError};
use serde::Serialize;
use systems::InterleavedPair;
use thiserror::Error;

/// Version of a [`Comparison`]'s JSON. A field that goes or changes its meaning raises it; a new field does not.
pub const VERSION: u32 = 2;

/// Seconds that one run needs on each side, where there are no repetitions.
pub const SECONDS_MIN: usize = 20;

/// The difference for which a length is recommended, unless another is asked for.
pub const DIFFERENCE: f64 = 0.03;

/// What is asked of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct CompareOptions {
    /// The difference that one would like to see, as a fraction: 0.03.
    pub difference: f64,
    /// The metrics that are compared; all where there are none. Fewer ask for less correction.
    pub metrics: Vec<Compared>,
    /// What the runs are called, in their order; their titles where there is nothing.
    pub names: Vec<String>,
    /// How many of the runs, the first ones, are the baseline, and the rest the other side; each run after the first
    /// is a side of its own where there is nothing.
    pub baseline: Option<usize>,
}

impl Default for CompareOptions {
    fn default() -> CompareOptions {
        CompareOptions {
            difference: DIFFERENCE,
            metrics: Vec::new(),
            names: Vec::new(),
            baseline: None,
        }
    }
}

/// Why runs could not be compared.
#[derive(Debug, Error)]
pub enum CompareError {
    /// There is nothing to compare with.
    #[error("a comparison needs at least two runs, and there is {0}")]
    TooFew(usize),
    /// The difference asked for is none.
    #[error("a difference must be more than 0% and at most 1000%")]
    Difference,
    /// A record could not be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// A baseline and what it was compared with.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// [`VERSION`].
    pub version: u32,
    /// Confidence of every interval.
    pub confidence: f64,
    /// The chance of calling anything of a family different that is not.
    pub alpha: f64,
    /// The chance with which a smallest difference, or a recommended length, sees what is there.
    pub power: f64,
    /// The difference for which a length is recommended.
    pub sought: f64,
    /// The runs; the first is the baseline.
    pub runs: Vec<Party>,
    /// One for each run after the first.
    pub against: Vec<Against>,
}

/// One run of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Party {
    /// What the user calls it: its file.
    pub name: String,
    /// The scenario's title.
    pub title: String,
    /// What made the record.
    pub producer: String,
    /// Its beginning in nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// Steps that the record holds.
    pub steps: usize,
}

/// One run against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Against {
    /// Which other side it is, from 1: the run, by its place on the command line, where each run is a side.
    pub run: usize,
    /// The runs of both sides, by their places on the command line, from 0.
    pub sides: [Vec<usize>; 2],
    /// Whether both sides are the same records, so that nothing can differ.
    pub same: bool,
    /// Comparisons that came out better, worse, different and undecided.
    pub count: OutcomeCounts,
    /// The group of two runs that were interleaved; `None` where they were run apart.
    pub interleaved: Option<String>,
    /// Comparisons that are corrected for together: every metric of every pair that could be tested, counted once.
    pub family: usize,
    /// What to know before a figure is believed, the gravest first.
    pub cautions: Vec<ComparisonWarning>,
    /// The steps that both have, in the baseline's order.
    pub steps: Vec<StepPair>,
    /// The steps that only one has.
    pub unpaired: Vec<UnpairedPoint>,
    /// What differs beside the figures.
    pub differing: Vec<Differing>,
}

/// How many comparisons came out how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OutcomeCounts {
    /// Better than the baseline.
    pub better: usize,
    /// Worse than the baseline.
    pub worse: usize,
    /// Different, where it may be the machine's doing.
    pub differs: usize,
    /// Not decided.
    pub undecided: usize,
}

/// Steps of equal settings on both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepPair {
    /// What it is called.
    pub label: String,
    /// Its plan.
    pub plan: String,
    /// Its settings, as the baseline writes them.
    pub settings: Vec<(String, String)>,
    /// The baseline's steps, by number from 0: its repetitions.
    pub baseline: Vec<u32>,
    /// The other's.
    pub other: Vec<u32>,
    /// Which latency was compared.
    pub latency: LatencyOf,
    /// What the measurements entitle to say.
    pub evidence: Evidence,
    /// Why nothing of it could be decided.
    pub obstacle: Option<String>,
    /// Its metrics.
    pub metrics: Vec<MetricPair>,
    /// What each side did over its measured time: the baseline's repetitions, then the other's.
    pub series: [Vec<Series>; 2],
    /// How much of each side the other has at the same hours, of observed loads that have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours: Option<[f64; 2]>,
    /// Days whose load changed otherwise than that of the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub odd_days: Option<OddDays>,
    /// What limited each side, of observed loads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<[FoundLimit; 2]>,
    /// The places that are known on both sides, of observed loads: the fullest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub places: Vec<PlacePair>,
}

/// One repetition over its measured time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Series {
    /// Seconds that a point covers.
    pub seconds: usize,
    /// Operations a second.
    pub iops: Vec<f64>,
}

/// Compares runs with the first of them.
/// # Errors
/// Where there are fewer than two runs, the difference sought is no difference, or a record cannot be read.
pub fn compare(
    runs: &[(&Record, &Analysis)],
    options: &CompareOptions,
) -> Result<Comparison, CompareError> {
    if runs.len() < 2 {
        return Err(CompareError::TooFew(runs.len()));
    }
    if !(options.difference > 0.0 && options.difference <= 10.0) {
        return Err(CompareError::Difference);
    }
    let party = |(at, (_, analysis)): (usize, &(&Record, &Analysis))| Party {
        name: options.names.get(at).unwrap_or(&analysis.run.title).clone(),
        title: analysis.run.title.clone(),
        producer: analysis.run.producer.clone(),
        wall_ns: analysis.run.wall_ns,
        steps: analysis.steps.len(),
    };
    let sides: Vec<[Vec<usize>; 2]> = match options.baseline {
        Some(first) if first == 0 || first >= runs.len() => return Err(CompareError::TooFew(1)),
        Some(first) => vec![[(0..first).collect(), (first..runs.len()).collect()]],
        None => (1..runs.len()).map(|other| [vec![0], vec![other]]).collect(),
    };
    let against: Result<Vec<Against>, CompareError> =
        (1..).zip(sides).map(|(run, sides)| one(runs, sides, run, options)).collect();
    Ok(Comparison {
        version: VERSION,
        confidence: CONFIDENCE,
        alpha: ALPHA,
        power: POWER,
        sought: options.difference,
        runs: runs.iter().enumerate().map(party).collect(),
        against: against?,
    })
}

/// One side against the baseline.
fn one(
    runs: &[(&Record, &Analysis)],
    sides: [Vec<usize>; 2],
    run: usize,
    options: &CompareOptions,
) -> Result<Against, CompareError> {
    let of = |side: &Vec<usize>| -> Vec<(&Record, &Analysis)> {
        side.iter().filter_map(|at| runs.get(*at).copied()).collect()
    };
    let [a, b] = [of(&sides[0]), of(&sides[1])];
    let records = [&a, &b].map(|side| side.iter().map(|(r, _)| *r).collect::<Vec<&Record>>());
    let [points_a, points_b] = [&a, &b].map(|side| {
        let steps: Vec<&[StepFigures]> = side.iter().map(|(_, a)| &a.steps[..]).collect();
        PlanPoint::all(&steps)
    });
    let (pairs, unpaired) = pairs::pair(points_a, points_b, run);
    let interleaved = interleaved(&records);
    let mut steps = Vec::new();
    let mut judges = Vec::new();
    for pair in &pairs {
        let judge = PairJudge::new([&records[0], &records[1]], pair, &options.metrics)?;
        steps.push(step(pair, judge.evidence()));
        judges.push(judge);
    }
    let p_values: Vec<f64> = judges.iter().flat_map(PairJudge::p_values).collect();
    let mut adjusted = holm(&p_values).into_iter();
    for (step, mut judge) in steps.iter_mut().zip(judges) {
        step.obstacle = judge.obstacle().map(str::to_owned);
        step.series = judge.series();
        if let Some((share, odd)) = judge.hours() {
            (step.hours, step.odd_days) = (Some(share), odd);
        }
        step.metrics = judge.finish(p_values.len(), &mut adjusted, options.difference);
    }
    let mut count = OutcomeCounts::default();
    for metric in steps.iter().flat_map(|s| &s.metrics).filter(|m| m.same_as.is_none()) {
        match metric.opinion {
            Opinion::Better => count.better += 1,
            Opinion::Worse => count.worse += 1,
            Opinion::Differs => count.differs += 1,
            Opinion::Undecided => count.undecided += 1,
        }
    }
    Ok(Against {
        run,
        count,
        family: p_values.len(),
        same: a.iter().all(|run| warnings::same(&[*run], &b)),
        cautions: warnings::all_warnings(
            [&a, &b],
            &pairs,
            &steps,
            &unpaired,
            interleaved.is_some(),
        ),
        interleaved,
        steps,
        unpaired,
        differing: match (a.first(), b.first()) {
            (Some(a), Some(b)) => systems::differing(*a, *b),
            _ => Vec::new(),
        },
        sides,
    })
}

/// The group of two records that were run interleaved, as its two sides.
fn interleaved(records: &[Vec<&Record>; 2]) -> Option<String> {
    let [[a], [b]] = records.each_ref().map(Vec::as_slice) else { return None };
    let (a, b) = (InterleavedPair::of(a.facts())?, InterleavedPair::of(b.facts())?);
    (a.id == b.id && a.side != b.side).then_some(a.id)
}

fn step([a, b]: &[PlanPoint<'_>; 2], evidence: Evidence) -> StepPair {
    let first: &StepFigures = a.first();
    StepPair {
        label: a.label(),
        plan: first.plan.clone(),
        settings: first.settings.clone(),
        baseline: a.numbers(),
        other: b.numbers(),
        latency: LatencyOf::of(first.loops),
        evidence,
        obstacle: None,
        metrics: Vec::new(),
        series: Default::default(),
        hours: None,
        odd_days: None,
        limits: places::limits([first, b.first()]),
        places: places::places([first, b.first()]),
    }
}
