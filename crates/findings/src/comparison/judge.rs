//! One pair of points judged: figures, differences and p-values first, verdicts when the family is known.

use super::metric::{Better, Compared, LatencyOf, PERCENTILES};
use super::observed::{self, Course, OddDays};
use super::pairs::{PlanPoint, PointStep};
use super::seconds::{Samples, Second};
use super::turns::{Arranged, Evidence};
use super::{SECONDS_MIN, Series};
use crate::figures::Loops;
use crate::generator::Limit;
use crate::quantity::Unit;
use crate::statistics::{
    ALPHA, CLUSTERS_MIN, CONFIDENCE, Difference, Element, FigureSample, Scale, Spread,
    autocorrelated, clusters, detectable, independent, needed,
};
use record::{Record, RecordError};
use serde::Serialize;

/// Longest measured time (a week) and most repetitions that are recommended.
const NEEDED_SECONDS_MAX: f64 = 7.0 * 86_400.0;
/// Of what is observed and not measured a year.
const NEEDED_OBSERVED_MAX: f64 = 366.0 * 86_400.0;
const NEEDED_TIMES_MAX: f64 = 1000.0;

/// Parts of the operations whose latency is known differ from here on.
const UNLIKE: f64 = 0.05;

/// What a metric came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Opinion {
    /// Better than the baseline.
    Better,
    /// Worse than the baseline.
    Worse,
    /// Not the same; but the sides were measured one after the other, so that it may be the machine's doing, or nobody set
    /// their loads, so that it may be the load's.
    Differs,
    /// Not known.
    Undecided,
}

/// Where an interval comes from.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Method {
    /// The seconds of one run each, in batches: baseline, other.
    Batches {
        /// Batches on each side.
        batches: [usize; 2],
        /// Seconds in each.
        length: [usize; 2],
        /// Correlation of neighbouring batches that was corrected for.
        correlation: [f64; 2],
    },
    /// The scatter between repetitions. A side that has but one borrows the other's.
    Repetitions {
        /// Repetitions on each side.
        count: [usize; 2],
    },
    /// The same of measurements that are spread over time, or made one after the other: what lasts as long as a side
    /// cannot be averaged out, so that each side counts as one draw.
    Draws {
        /// Repetitions, or occasions, on each side.
        count: [usize; 2],
    },
    /// Differences turn by turn of sides that were measured in turns.
    Rounds {
        /// Rounds.
        count: usize,
    },
    /// Differences sample by sample of the same hours, in batches.
    SameHours {
        /// Samples on each side.
        samples: usize,
        /// Seconds in each.
        sample: f64,
        /// Batches of differences.
        batches: usize,
        /// Seconds in each.
        length: usize,
    },
}

/// How much would be needed to see the difference that is sought.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(tag = "of", content = "amount", rename_all = "kebab-case")]
pub enum Needed {
    /// Measured time on each side.
    Seconds(u64),
    /// Repetitions on each side.
    Repetitions(u64),
    /// Rounds.
    Rounds(u64),
}

/// One metric of one pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MetricPair {
    /// The metric.
    pub metric: Compared,
    /// Which way is better.
    pub better: Better,
    /// The unit of both values.
    pub unit: Unit,
    /// The baseline's value; `None` where there is none.
    pub baseline: Option<f64>,
    /// The other's value.
    pub other: Option<f64>,
    /// The other less the baseline, as a fraction of the baseline; for errors a difference of shares.
    pub difference: Option<f64>,
    /// The interval of that difference, at the comparison's confidence, for this metric alone.
    pub interval: Option<[f64; 2]>,
    /// The interval at the confidence that the whole family asks for (Bonferroni's).
    pub interval_family: Option<[f64; 2]>,
    /// The probability of a difference as large if there was none.
    pub p: Option<f64>,
    /// The same corrected for the family.
    pub p_adjusted: Option<f64>,
    /// What it comes to.
    pub opinion: Opinion,
    /// Why it could not be tested.
    pub reason: Option<String>,
    /// The metric that says the same, where this one is not counted among the family.
    pub same_as: Option<Compared>,
    /// Whether the interval excludes a difference of the sought size, either way.
    pub within: bool,
    /// Where the interval comes from.
    pub method: Option<Method>,
    /// Degrees of freedom of the difference.
    pub dof: Option<f64>,
    /// The smallest difference that would have been seen.
    pub detectable: Option<f64>,
    /// What it takes to see the difference that is sought; `None` where nothing within reason does.
    pub needed: Option<Needed>,
}

/// A pair of points while the family is not yet known.
pub(super) struct PairJudge {
    evidence: Evidence,
    obstacle: Option<String>,
    /// The longest measured time of a side, in seconds.
    time: f64,
    rows: Vec<ComparisonRow>,
    series: [Vec<Series>; 2],
    /// How much of each side the other has at the same hours, and days that are not as the others.
    hours: Hours,
}

struct ComparisonRow {
    metric: Compared,
    values: [Option<f64>; 2],
    tested: Result<Test, String>,
    same_as: Option<Compared>,
}

struct Test {
    difference: Difference,
    p: f64,
    method: Method,
    /// Seconds of an element.
    sample: f64,
}

impl PairJudge {
    pub fn new(
        records: [&[&Record]; 2],
        points: &[PlanPoint<'_>; 2],
        wanted: &[Compared],
    ) -> Result<PairJudge, RecordError> {
        let latency = LatencyOf::of(points[0].first().loops);
        let usable = [0, 1].map(|side| complete(&points[side]));
        let arranged = Arranged::of(records, [&usable[0], &usable[1]]);
        let [a, b] = [0, 1].map(|side| Samples::read(&arranged.sides[side], latency));
        let design = Design {
            evidence: arranged.evidence,
            at: [0, 1].map(|side| arranged.sides[side].iter().map(|m| m.middle()).collect()),
        };
        let (sides, design, hours) = design.of_observed([a?, b?], latency);
        let obstacle = obstacle(points, &usable).or_else(|| too_short(&sides));
        let sums = [sides[0].sum(), sides[1].sum()];
        let asked = !wanted.is_empty();
        let wanted = |m: &Compared| wanted.is_empty() || wanted.contains(m);
        let shown = shown(&sums, &sides, (design.evidence, asked));
        let rows = shown.into_iter().filter(wanted).map(|metric| {
            let same_as = same_as(metric, &sums).filter(wanted);
            row(metric, &sides, &sums, &design, obstacle.as_deref(), same_as)
        });
        let rows = rows.collect();
        let time = sides[0].time().max(sides[1].time());
        let series = [sides[0].series(), sides[1].series()];
        Ok(PairJudge { evidence: design.evidence, time, obstacle, rows, series, hours })
    }

    pub fn evidence(&self) -> Evidence {
        self.evidence
    }

    /// How much of each side the other has at the same hours, and days that are not as the others.
    pub fn hours(&mut self) -> Hours {
        self.hours.take()
    }

    pub fn obstacle(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    /// What both sides did over their measured time.
    pub fn series(&mut self) -> [Vec<Series>; 2] {
        std::mem::take(&mut self.series)
    }

    /// Those of the tests that count, in order.
    pub fn p_values(&self) -> impl Iterator<Item = f64> + '_ {
        self.rows
            .iter()
            .filter(|r| r.same_as.is_none())
            .filter_map(|r| Some(r.tested.as_ref().ok()?.p))
    }

    /// The verdicts. `adjusted` yields the corrected p-values in the order of [`Self::p_values`].
    pub fn finish(
        self,
        family: usize,
        adjusted: &mut impl Iterator<Item = f64>,
        sought: f64,
    ) -> Vec<MetricPair> {
        let mut done: Vec<MetricPair> = Vec::new();
        for row in &self.rows {
            let corrected = match (&row.tested, row.same_as) {
                (Ok(_), None) => adjusted.next(),
                (Ok(_), Some(twin)) => {
                    done.iter().find(|m| m.metric == twin).and_then(|m| m.p_adjusted)
                }
                (Err(_), _) => None,
            };
            let mut metric =
                row.finish(family, corrected, sought, (self.time, self.evidence.is_observed()));
            if metric.opinion != Opinion::Undecided && !self.evidence.is_sound() {
                metric.opinion = Opinion::Differs;
            }
            done.push(metric);
        }
        done
    }
}

/// How the measurements of both sides lie in time.
struct Design {
    evidence: Evidence,
    /// The middle of each measurement, in seconds.
    at: [Vec<f64>; 2],
}

/// How much of each side is matched, and the days that are not as the others.
type Hours = Option<([f64; 2], Option<OddDays>)>;

impl Design {
    /// The sides of an observed load: their samples of the same hours, where they have them.
    fn of_observed(
        mut self,
        sides: [Samples; 2],
        latency: LatencyOf,
    ) -> ([Samples; 2], Design, Hours) {
        if latency != LatencyOf::Reported {
            return (sides, self, None);
        }
        let Some(found) = observed::matched(&sides) else {
            self.evidence = Evidence::OtherHours;
            return (sides, self, None);
        };
        self.evidence = match found.course {
            Course::Week => Evidence::SameHoursOfWeek,
            Course::Day => Evidence::SameHoursOfDay,
        };
        let odd = observed::odd_days(&found.sides);
        (found.sides, self, Some((found.share, odd)))
    }
}

/// The complete repetitions of a side. What others load has gaps, which are left out by themselves.
fn complete<'a>(point: &PlanPoint<'a>) -> Vec<PointStep<'a>> {
    let observed = |s: &PointStep<'a>| s.figures.loops == Loops::Observed;
    point.steps.iter().copied().filter(|s| observed(s) || s.figures.complete()).collect()
}

/// What keeps a pair from being judged at all.
fn obstacle(points: &[PlanPoint<'_>; 2], usable: &[Vec<PointStep<'_>>; 2]) -> Option<String> {
    const NAMES: [&str; 2] = ["the baseline", "the other run"];
    let [a, b] = points;
    if a.first().loops != b.first().loops {
        let loops = |p: &PlanPoint<'_>| format!("{:?}", p.first().loops).to_lowercase();
        return Some(format!("the loops differ: {} against {}", loops(a), loops(b)));
    }
    for (steps, name) in usable.iter().zip(NAMES) {
        if steps.is_empty() {
            return Some(format!("{name} did not complete it"));
        }
    }
    for (steps, name) in usable.iter().zip(NAMES) {
        let limited = |s: &PointStep<'_>| s.figures.generator.limit == Limit::Limited;
        if steps.iter().any(limited) {
            return Some(format!("the generator limited {name}: its figures are not the target's"));
        }
    }
    None
}

/// One run each needs seconds enough.
fn too_short(sides: &[Samples; 2]) -> Option<String> {
    if sides.iter().any(|s| s.repetitions.len() > 1) {
        return None;
    }
    let seconds = sides.iter().map(Samples::shortest).min().unwrap_or(0);
    (seconds < SECONDS_MIN).then(|| match sides.iter().any(|side| side.length > 1.0) {
        true if seconds <= 1 => format!(
            "one mean tells nothing of how it scatters: at least {SECONDS_MIN} samples are needed, or the same by `wirespeed run`"
        ),
        true => format!("{seconds} samples, and at least {SECONDS_MIN} are needed"),
        false => format!(
            "measured for {seconds} s, and at least {SECONDS_MIN} s are needed (or three repetitions)"
        ),
    })
}

/// The metrics that say anything of a pair. Where one direction is idle on both sides, the total says it all.
fn shown(
    sums: &[Second; 2],
    sides: &[Samples; 2],
    (evidence, asked): (Evidence, bool),
) -> Vec<Compared> {
    let observed = evidence.is_observed();
    let spread = sides.iter().any(|side| side.merged.count() > 0);
    let any = |m: Compared| sums.iter().any(|s| s.has(m));
    let both = sums.iter().all(|s| s.has(Compared::CpuPerOp));
    let says = |m: &Compared| match m {
        Compared::Read | Compared::Write => any(Compared::Read) && any(Compared::Write),
        Compared::CpuPerOp => both,
        // Some sources count bytes alone, or operations alone.
        Compared::Total if observed => sums.iter().any(|s| s.bytes() > 0.0),
        Compared::Iops | Compared::Mean if observed => sums.iter().any(Second::worked),
        Compared::MeanAtRate => observed && sums.iter().all(|s| s.has(Compared::Mean)),
        // Monitoring has means: that each of its percentiles is missing says nothing.
        Compared::P50 | Compared::P95 | Compared::P99 | Compared::P999 if observed => {
            spread || asked
        }
        other => any(*other),
    };
    Compared::ALL.into_iter().filter(says).collect()
}

/// With transfers of one size on both sides MB/s and IOPS are one metric.
fn same_as(metric: Compared, sums: &[Second; 2]) -> Option<Compared> {
    let [a, b] = sums.map(|s| s.transfer());
    let same = a > 0.0 && (a - b).abs() <= a * 1e-9;
    (metric == Compared::Total && same).then_some(Compared::Iops)
}

fn row(
    metric: Compared,
    sides: &[Samples; 2],
    sums: &[Second; 2],
    design: &Design,
    obstacle: Option<&str>,
    same_as: Option<Compared>,
) -> ComparisonRow {
    let [a, b] = match metric {
        Compared::MeanAtRate => match observed::at_equal_rates(sides) {
            Ok(figures) => figures.map(Ok),
            Err(why) => {
                return ComparisonRow { metric, values: [None; 2], tested: Err(why), same_as };
            }
        },
        _ => [0, 1].map(|i| figure(metric, &sides[i], &sums[i])),
    };
    let value = |f: &Result<FigureSample, String>| f.as_ref().ok().map(|f| f.value);
    let values = [value(&a), value(&b)];
    let unlike = design.evidence.is_observed().then(|| unlike(metric, sums)).flatten();
    let tested = match (obstacle, a, b) {
        (Some(why), _, _) => Err(why.to_owned()),
        (None, Ok(_), Ok(_)) if unlike.is_some() => Err(unlike.unwrap_or_default()),
        (None, Ok(a), Ok(b)) => {
            let inner = [0, 1].map(|i| within(metric, &sides[i]));
            test(a, b, sides, design, inner)
        }
        (None, Err(why), _) => Err(format!("baseline: {why}")),
        (None, _, Err(why)) => Err(format!("other run: {why}")),
    };
    ComparisonRow { metric, values, tested, same_as }
}

/// Why means of two sides are of unlike operations: latency is known of other parts of them.
fn unlike(metric: Compared, sums: &[Second; 2]) -> Option<String> {
    let mean = matches!(metric, Compared::Mean | Compared::MeanAtRate);
    let [a, b] = sums.map(|s| s.timed / s.ops);
    let percent = |share: f64| units::percent((share * 100.0).round());
    (mean && (a - b).abs() > UNLIKE).then(|| {
        format!(
            "latency is known of {} of the operations of the baseline and of {} of the other's: not the same operations",
            percent(a),
            percent(b)
        )
    })
}

/// A metric with what each of these elements adds to its error.
fn sample(metric: Compared, side: &Samples, elements: &[Element]) -> Option<FigureSample> {
    match PERCENTILES.iter().find(|(m, _)| *m == metric) {
        Some((_, p)) => FigureSample::percentile(&side.merged, *p, elements),
        None => FigureSample::ratio(elements, metric.scale()),
    }
}

/// A side's figure, or why it has none.
fn figure(metric: Compared, side: &Samples, sum: &Second) -> Result<FigureSample, String> {
    let percentile = PERCENTILES.iter().find(|(m, _)| *m == metric);
    let figure = sample(metric, side, &side.elements(metric));
    if let (Some(_), Some((_, p))) = (&figure, percentile) {
        determined(metric, *p, side)?;
    }
    figure.ok_or_else(|| match percentile {
        _ if !sum.worked() => "no operation completed".to_owned(),
        Some(_) if side.merged.count() == 0 => {
            "the record has a mean of latency and no distribution".to_owned()
        }
        Some((_, p)) => {
            let least = crate::statistics::BEYOND_MIN / (1.0 - p / 100.0);
            format!(
                "too few operations for {}: {} are needed",
                metric.name(),
                units::count(least.round())
            )
        }
        None if metric == Compared::Mean && sum.timed == 0.0 => "no latency is known".to_owned(),
        None => format!("{} is zero", metric.name()),
    })
}

/// A high percentile is determined by how often, and not by how long, latencies lie beyond it.
fn determined(metric: Compared, p: f64, side: &Samples) -> Result<(), String> {
    let found = clusters(&side.by_second(metric), 1.0 - p / 100.0);
    if p <= 50.0 || found >= CLUSTERS_MIN {
        return Ok(());
    }
    let times = units::count((CLUSTERS_MIN / found.max(0.1)).ceil());
    Err(format!(
        "not determined: {} came in no more than {found:.1} independent clusters, and {CLUSTERS_MIN} are needed; \
         measure about {times} times as long",
        format_args!("latencies beyond {}", metric.name())
    ))
}

/// Tests two figures by the best evidence that there is.
fn test(
    a: FigureSample,
    b: FigureSample,
    sides: &[Samples; 2],
    design: &Design,
    inner: [Option<Spread>; 2],
) -> Result<Test, String> {
    let count = [sides[0].repetitions.len(), sides[1].repetitions.len()];
    let few = || "too few seconds".to_owned();
    let (difference, method) = if design.evidence == Evidence::Turns {
        let at = [&design.at[0][..], &design.at[1][..]];
        let difference = Difference::paired(&a, &b, at, inner).ok_or_else(few)?;
        (difference, Method::Rounds { count: count[0] })
    } else if design.evidence.is_of_same_hours() {
        let (difference, spread) = Difference::matched(&a, &b).ok_or_else(few)?;
        let [side, _] = sides;
        let method = Method::SameHours {
            samples: a.residuals.len(),
            sample: side.length,
            batches: spread.batches,
            length: side.seconds(spread.length),
        };
        (difference, method)
    } else if count.iter().any(|n| *n > 1) {
        let [sa, sb] = between([&a, &b], count).ok_or_else(few)?;
        if design.evidence == Evidence::Simulated {
            let sides = [(a, no_less(sa, inner[0])), (b, no_less(sb, inner[1]))];
            (Difference::apart(sides), Method::Repetitions { count })
        } else {
            let sides = [(a, single(sa)), (b, single(sb))];
            (Difference::apart(sides), Method::Draws { count })
        }
    } else {
        let sa = autocorrelated(&a.residuals).ok_or_else(few)?;
        let sb = autocorrelated(&b.residuals).ok_or_else(few)?;
        let method = Method::Batches {
            batches: [sa.batches, sb.batches],
            length: [sides[0].seconds(sa.length), sides[1].seconds(sb.length)],
            correlation: [sa.correlation, sb.correlation],
        };
        (Difference::apart([(a, sa), (b, sb)]), method)
    };
    let p = difference.p_value();
    let sample = sides[0].length.max(sides[1].length);
    Ok(Test { difference, p, method, sample })
}

/// The scatter between repetitions. A side that has but one is taken to scatter as the other does.
fn between([a, b]: [&FigureSample; 2], count: [usize; 2]) -> Option<[Spread; 2]> {
    Some(match count {
        [1, _] => independent(&b.residuals).map(|s| [single(s), s])?,
        [_, 1] => independent(&a.residuals).map(|s| [s, single(s)])?,
        _ => [independent(&a.residuals)?, independent(&b.residuals)?],
    })
}

/// How far a side may be off by what its seconds tell.
fn within(metric: Compared, side: &Samples) -> Option<Spread> {
    let runs = side.by_second(metric);
    let sample = sample(metric, side, &runs.concat())?;
    let (mut from, mut variance, mut dof) = (0, 0.0, 0.0);
    for run in &runs {
        let spread = autocorrelated(sample.residuals.get(from..from + run.len())?)?;
        variance += (run.len() as f64 * spread.error).powi(2);
        dof += spread.dof;
        from += run.len();
    }
    let error = variance.sqrt() / from as f64;
    Some(Spread { error, dof, batches: from, length: 1, correlation: 0.0 })
}

/// Few repetitions may lie close together by chance: a side is known no better than its seconds tell.
fn no_less(between: Spread, within: Option<Spread>) -> Spread {
    within.filter(|within| within.error > between.error).unwrap_or(between)
}

/// The error of one draw of what scatters so.
fn single(of: Spread) -> Spread {
    Spread { error: of.error * (of.batches as f64).sqrt(), batches: 1, ..of }
}

impl ComparisonRow {
    fn finish(
        &self,
        family: usize,
        adjusted: Option<f64>,
        sought: f64,
        time: (f64, bool),
    ) -> MetricPair {
        let scale = self.metric.scale();
        let shown = |d: f64| if scale == Scale::Ratio { d.exp_m1() } else { d };
        let test = self.tested.as_ref().ok();
        let interval = |confidence: f64| {
            test.map(|t| t.difference.interval(confidence))
                .map(|(low, high)| [shown(low), shown(high)])
        };
        let bonferroni = 1.0 - ALPHA / family.max(1) as f64;
        let narrow = interval(CONFIDENCE);
        let percent = |v: f64| if self.metric.unit() == Unit::Percent { v * 100.0 } else { v };
        MetricPair {
            metric: self.metric,
            better: self.metric.better(),
            unit: self.metric.unit(),
            baseline: self.values[0].map(percent),
            other: self.values[1].map(percent),
            difference: test.map(|t| shown(t.difference.value)),
            interval: narrow,
            interval_family: interval(bonferroni),
            p: test.map(|t| t.p),
            p_adjusted: adjusted,
            opinion: self.opinion(adjusted),
            reason: self.tested.as_ref().err().cloned(),
            same_as: self.same_as,
            within: narrow.is_some_and(|[low, high]| low > -sought && high < sought),
            method: test.map(|t| t.method.clone()),
            dof: test.map(|t| t.difference.dof),
            detectable: test
                .map(|t| shown(detectable(t.difference.error, t.difference.dof, family))),
            needed: test.and_then(|t| t.needed(scale, family, sought, time)),
        }
    }

    /// Better or worse where the corrected p-value is below α.
    fn opinion(&self, adjusted: Option<f64>) -> Opinion {
        match (&self.tested, adjusted) {
            (Ok(test), Some(p)) if p < ALPHA && test.difference.value != 0.0 => {
                let more = test.difference.value > 0.0;
                let good = more == (self.metric.better() == Better::Higher);
                if good { Opinion::Better } else { Opinion::Worse }
            }
            _ => Opinion::Undecided,
        }
    }
}

impl Test {
    /// What it takes to see the difference that is sought: of the kind that the interval came from, rounded up.
    fn needed(
        &self,
        scale: Scale,
        family: usize,
        sought: f64,
        (time, observed): (f64, bool),
    ) -> Option<Needed> {
        let sought = if scale == Scale::Ratio { sought.ln_1p() } else { sought };
        let Difference { error, dof, .. } = self.difference;
        let factor = needed(sought, error, dof, family)?;
        let times = |now: usize, least: f64| {
            let all = (now as f64 * factor).ceil().max(least);
            (all <= NEEDED_TIMES_MAX).then_some(all as u64)
        };
        match self.method {
            Method::Batches { .. } | Method::SameHours { .. } => {
                let least = SECONDS_MIN as f64 * self.sample;
                let seconds = (time * factor).ceil().max(least);
                let most = if observed { NEEDED_OBSERVED_MAX } else { NEEDED_SECONDS_MAX };
                (seconds <= most).then_some(Needed::Seconds(seconds as u64))
            }
            Method::Repetitions { count: [a, b] } => times(a.max(b), 3.0).map(Needed::Repetitions),
            // More draws of one stretch of time bring nothing: turns do.
            Method::Draws { .. } => None,
            Method::Rounds { count } => times(count, 3.0).map(Needed::Rounds),
        }
    }
}
