//! Warnings of a comparison: what makes two runs incomparable, or the evidence weak.

use super::pairs::{PlanPoint, UnpairedPoint};
use super::{Evidence, Method, StepPair};
use crate::Analysis;
use crate::figures::StepFigures;
use crate::generator::Limit;
use crate::served::{ServedBy, Traffic};
use crate::steady::Steadiness;
use crate::warnings::Severity;
use record::{ProducerKind, Record};
use serde::Serialize;

/// Something to know.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ComparisonWarning {
    /// A stable, lower-case, hyphenated word.
    pub code: &'static str,
    /// How much it matters.
    pub severity: Severity,
    /// What is so, with numbers.
    pub text: String,
    /// What to do next; empty where there is nothing.
    pub next: &'static str,
}

type Run<'a> = (&'a Record, &'a Analysis);
type PointPair<'p, 'a> = &'p [PlanPoint<'a>; 2];

/// Everything to know, the gravest first.
pub(super) fn all_warnings(
    sides: [&[Run<'_>]; 2],
    pairs: &[[PlanPoint<'_>; 2]],
    steps: &[StepPair],
    unpaired: &[UnpairedPoint],
    interleaved: bool,
) -> Vec<ComparisonWarning> {
    let mut all = Vec::new();
    runs(sides, &mut all);
    if pairs.is_empty() {
        all.push(error(
            "nothing-paired",
            "the runs have no step in common: no plan and settings are on both sides".to_owned(),
            "run the same scenario on both systems",
        ));
    }
    loads(pairs, &mut all);
    trust(pairs, &mut all);
    evidence(steps, interleaved, &mut all);
    if !unpaired.is_empty() && !pairs.is_empty() {
        let text =
            format!("not compared, because only one side has them: {}", points(unpaired.len()));
        all.push(warning("unpaired", text, "see the list of steps without partner"));
    }
    all.sort_by_key(|c| c.severity);
    all
}

/// How the figures of a record came to be.
fn made(record: &Record) -> &'static str {
    match record.head().producer.kind {
        ProducerKind::Estimated => "estimated",
        ProducerKind::Simulated => "simulated",
        ProducerKind::Live | ProducerKind::Imported => "measured",
    }
}

/// Whether both sides are of the same run.
pub(super) fn same(a: &[Run<'_>], b: &[Run<'_>]) -> bool {
    let one = |a: &Run<'_>, b: &Run<'_>| {
        let (ha, hb) = (a.0.head(), b.0.head());
        (ha.wall_ns, ha.epoch, ha.seed, &ha.title) == (hb.wall_ns, hb.epoch, hb.seed, &hb.title)
            && (a.0.status(), a.0.facts()) == (b.0.status(), b.0.facts())
            && a.1.steps == b.1.steps
    };
    a.iter().any(|a| b.iter().any(|b| one(a, b)))
}

/// The runs as wholes.
fn runs(sides: [&[Run<'_>]; 2], all: &mut Vec<ComparisonWarning>) {
    if same(sides[0], sides[1]) {
        let text = "both sides have the same record: nothing can differ in it".to_owned();
        all.push(warning("same-run", text, "compare with the record of another run"));
    }
    for (name, side) in ["the baseline", "the other run"].into_iter().zip(sides) {
        for (_, analysis) in side {
            if let Some(how) = analysis.run.incomplete() {
                let text = format!("{name} {how}: steps that it did not complete are undecided");
                all.push(error("run-incomplete", text, "run it again to its end"));
            }
            if let Some(v) = analysis.verification.as_ref().filter(|v| v.wrong > 0) {
                let blocks = units::count(v.wrong as f64);
                let text = format!("{name} read wrong data: {blocks} blocks");
                all.push(error("wrong-data", text, "ignore performance until data is correct"));
            }
        }
    }
    let [Some(wa), Some(wb)] = sides.map(|side| side.first().map(|(record, _)| made(record)))
    else {
        return;
    };
    if wa != wb {
        let text = format!(
            "the baseline was {wa}, the other run {wb}: the difference shows the model's error as well"
        );
        all.push(warning("simulated", text, "compare like with like to compare systems"));
    }
}

/// Whether the same was asked of both sides.
fn loads(pairs: &[[PlanPoint<'_>; 2]], all: &mut Vec<ComparisonWarning>) {
    let loops = count(pairs, |[a, b]| a.first().loops != b.first().loops);
    if loops > 0 {
        let text = format!(
            "the loops differ in {}: a closed loop waits for its target and an open one does not, so that neither \
             rate nor latency can be compared",
            points(loops)
        );
        all.push(error("loops-differ", text, "run the same workload on both systems"));
    }
    let load = count(pairs, |[a, b]| {
        let (a, b) = (a.first(), b.first());
        let asked = |s: &StepFigures| (s.depth, s.offered_iops.to_bits(), s.completeness.len());
        a.loops == b.loops && (asked(a) != asked(b) || transfers_differ(a, b))
    });
    if load > 0 {
        let text = format!(
            "depth, rate, number of workers or size of transfers differ though settings are equal, in {}: not the same load",
            points(load)
        );
        all.push(warning("loads-differ", text, "run the same scenario on both systems"));
    }
}

/// Whether the mean transfer is another one; mixed sizes may scatter by a hundredth.
fn transfers_differ(a: &StepFigures, b: &StepFigures) -> bool {
    let size = |s: &StepFigures| s.total.both.bytes as f64 / s.total.both.ops as f64;
    (size(a) / size(b) - 1.0).abs() > 0.01
}

/// Whether figures are the targets'.
fn trust(pairs: &[[PlanPoint<'_>; 2]], all: &mut Vec<ComparisonWarning>) {
    let either = |of: fn(&StepFigures) -> bool| {
        count(pairs, |points| points.iter().flat_map(|p| &p.steps).any(|s| of(s.figures)))
    };
    let limited = either(|s| s.generator.limit == Limit::Limited);
    if limited > 0 {
        let text = format!("the generator limited {}: no verdict on the system", points(limited));
        let next = "more workers or larger blocks, or a faster machine to generate the load";
        all.push(error("generator-limited", text, next));
    }
    let suspect = either(|s| s.generator.limit == Limit::Suspect);
    if suspect > 0 {
        let text = format!("the generator may have held {} back", points(suspect));
        all.push(warning("generator-suspect", text, "see the review of each run"));
    }
    let served = count(pairs, |[a, b]| cached(a.first()) != cached(b.first()));
    if served > 0 {
        let text = format!("served from a cache on one side only: {}", points(served));
        let next = "use a working set larger than the cache, or warm up both sides alike";
        all.push(warning("cache-differs", text, next));
    }
    let unsteady = either(|s| matches!(s.steady, Some(Steadiness::NotSteady(_))));
    if unsteady > 0 {
        let text = format!(
            "not steady: {}; intervals hold for the time that was measured, not for the next",
            points(unsteady)
        );
        all.push(warning("not-steady", text, "warm up until steady (plan.warmup, plan.steady)"));
    }
}

/// How better and worse can be told.
const TURNS: &str = "take turns: `wirespeed run A.toml --against B.toml`, or records made as A B B A … and compared by \
                     `wirespeed compare A1 A2 A3 --against B1 B2 B3`";

/// How strong the evidence is.
fn evidence(steps: &[StepPair], interleaved: bool, all: &mut Vec<ComparisonWarning>) {
    let by = |wanted: fn(&Method) -> bool| {
        let has = |s: &&StepPair| s.metrics.iter().any(|m| m.method.as_ref().is_some_and(wanted));
        steps.iter().filter(has).count()
    };
    let tested = |s: &&StepPair| s.metrics.iter().any(|m| m.method.is_some());
    let after = |s: &&StepPair| s.evidence == Evidence::OneAfterTheOther && tested(s);
    let after = steps.iter().filter(after).count();
    if after > 0 {
        let text = format!(
            "one side was measured after the other in {}: what the machine did meanwhile looks like a difference of the \
             systems, however often a side was repeated without a pause",
            points(after)
        );
        all.push(warning("one-after-the-other", text, TURNS));
    } else if by(|m| matches!(m, Method::Batches { .. })) > 0 {
        let text =
            "simulated once on each side: intervals hold what varies within a run".to_owned();
        all.push(warning("single-run", text, "repeat steps (plan.repeat)"));
    }
    if interleaved && by(|m| matches!(m, Method::Rounds { .. })) < steps.len() {
        let text = "not every step has two rounds that both sides completed".to_owned();
        all.push(warning("few-rounds", text, "run more rounds (plan.repeat)"));
    }
}

/// Whether a cache served any of a step's targets.
fn cached(step: &StepFigures) -> bool {
    let by_cache = |t: &Option<Traffic>| t.is_some_and(|t| t.by == ServedBy::Cache);
    step.served.iter().any(|s| by_cache(&s.read) || by_cache(&s.write))
}

fn count(pairs: &[[PlanPoint<'_>; 2]], of: impl Fn(PointPair<'_, '_>) -> bool) -> usize {
    pairs.iter().filter(|pair| of(pair)).count()
}

/// `1 step`, `3 steps`: points of the plan, however often repeated.
fn points(n: usize) -> String {
    format!("{n} step{}", if n == 1 { "" } else { "s" })
}

fn error(code: &'static str, text: String, next: &'static str) -> ComparisonWarning {
    ComparisonWarning { code, severity: Severity::Error, text, next }
}

fn warning(code: &'static str, text: String, next: &'static str) -> ComparisonWarning {
    ComparisonWarning { code, severity: Severity::Warning, text, next }
}
