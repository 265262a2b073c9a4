//! A scenario with the answers of both solvers: its claims beside the published figures, or the figures of its steps.

use crate::evidence::{Evidence, Judged};
use crate::ledger::{ClaimLedger, kind_word};
use crate::tally::EvidenceTally;
use crate::unit::SourceUnits;
use findings::{Analysis, ClaimOutcome, Quantity, Score, ShapeOutcome, Unit};
use scenario::Scenario;
use serde::Serialize;

/// A scored scenario.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// Name of the scenario's file, without extension.
    pub lab: String,
    /// The scenario's title.
    pub title: String,
    /// Who published the experiment.
    pub source: Option<String>,
    /// The claims, in the scenario's order.
    pub claims: Vec<ScoredClaim>,
    /// What its source means by a megabyte, and why; empty where its claims leave no choice.
    pub unit: String,
    /// Its claims by what they prove, from the simulator, or from the estimator where nothing was simulated.
    pub summary: EvidenceTally,
    /// The steps, in order.
    pub steps: Vec<ScoredStep>,
    /// Results of its searches, from the last solver used.
    pub searches: Vec<String>,
}

/// A claim with the answers of both solvers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoredClaim {
    /// Its name.
    pub name: String,
    /// What the scenario says that it proves.
    pub kind: &'static str,
    /// The published figure, in every reading.
    pub published: String,
    /// The estimator's figure.
    pub estimated: String,
    /// The simulator's figure, with its confidence interval.
    pub simulated: String,
    /// The deviation of the simulated figure from each reading.
    pub error: String,
    /// At nominal line rates, else data sheets.
    pub baseline: String,
    /// The errors of the model and of the baseline, as logarithms, where both have a figure.
    pub errors: Option<(f64, f64)>,
    /// The verdict.
    pub verdict: Score,
    /// What it proves.
    pub evidence: Evidence,
    /// The rivals of the model that fail it.
    pub failing: Vec<String>,
    /// For the limit of a wire: the reading that frame overhead supports, the deviation from it, and whether that is
    /// within 2%.
    pub frames: Option<(String, String, bool)>,
    /// Further remarks for readers.
    pub notes: Vec<String>,
}

/// A step by both solvers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoredStep {
    /// Its settings.
    pub name: String,
    /// By the estimator: operations and bytes a second, and mean service time.
    pub estimated: [String; 3],
    /// By the simulator, in the same order.
    pub simulated: [String; 3],
}

/// Shown where a figure is missing.
const NONE: &str = "–";

impl Scored {
    /// Merges the findings of both solvers: the estimator's, and the simulator's where there was a simulation. Without a
    /// ledger no claim discriminates.
    pub fn new(
        lab: &str,
        scenario: &Scenario,
        ledger: Option<&ClaimLedger>,
        estimate: &Analysis,
        simulation: Option<&Analysis>,
    ) -> Scored {
        let judged = simulation.unwrap_or(estimate);
        let units = SourceUnits::new(&scenario.claims, ledger);
        let all: Vec<Judged> = scenario
            .claims
            .iter()
            .zip(&judged.claims)
            .map(|(claim, outcome)| {
                let entry = ledger.and_then(|ledger| ledger.claim(&claim.name));
                Judged { claim, outcome, entry, units: &units }
            })
            .collect();
        let claims = all.iter().zip(&estimate.claims).enumerate();
        let claims = claims.map(|(n, (claim, estimated))| {
            of_claim(claim, &all[..n], estimated, simulation.is_some())
        });
        let claims: Vec<ScoredClaim> = claims.collect();
        let steps = judged.steps.iter().enumerate().map(|(n, step)| ScoredStep {
            name: step.label(),
            estimated: estimate.steps.get(n).map_or_else(nothing, figures),
            simulated: simulation.map_or_else(nothing, |_| figures(step)),
        });
        let answer = |search: &findings::SearchOutcome| {
            let fixed: Vec<String> =
                search.fixed.iter().map(|(key, value)| format!(", {key} {value}")).collect();
            format!("{}{}: {}", search.plan, fixed.concat(), search.answer)
        };
        Scored {
            lab: lab.to_owned(),
            title: scenario.head.title.clone(),
            source: scenario.head.source.clone(),
            unit: of_units(&units),
            summary: EvidenceTally::of(&claims),
            claims,
            // A search has steps of its own in each solver.
            steps: if judged.searches.is_empty() { steps.collect() } else { Vec::new() },
            searches: judged.searches.iter().map(answer).collect(),
        }
    }
}

fn nothing() -> [String; 3] {
    [NONE; 3].map(str::to_owned)
}

fn figures(step: &findings::StepFigures) -> [String; 3] {
    let both = &step.total.both;
    let shown = |value: f64, unit| Quantity { value, unit }.to_string();
    [
        units::count(both.iops.round()),
        shown(both.bytes_per_s, Unit::BytesPerS),
        both.mean_ns.map_or(NONE.to_owned(), |mean| shown(mean, Unit::Ns)),
    ]
}

/// `MiB/s: in MB/s “…” would not follow`.
fn of_units(units: &SourceUnits) -> String {
    let words: Vec<&str> = units.left.iter().map(|unit| unit.word()).collect();
    let why = units.why.as_ref().map(|why| format!(": {why}"));
    format!("{}{}", words.join(" or "), why.unwrap_or_default())
}

/// A claim, and the earlier ones of its scenario.
fn of_claim(
    of: &Judged<'_>,
    earlier: &[Judged<'_>],
    estimated: &ClaimOutcome,
    simulated: bool,
) -> ScoredClaim {
    let (claim, judged) = (of.claim, of.outcome);
    let verdict = of.verdict();
    let is_twin = |other: &&Judged<'_>| of.repeats(other);
    let twin = earlier.iter().filter(|_| claim.twin_of.is_none()).find(is_twin);
    let evidence = match of.evidence(verdict) {
        Evidence::Discriminating | Evidence::ByConstruction | Evidence::OneSided
            if twin.is_some() =>
        {
            Evidence::Twin
        }
        found => found,
    };
    let admitted = |frames: &&findings::Frames| {
        let mut readings = claim.readings.iter().zip(&judged.readings);
        let same = readings.find(|(_, of)| of.published == frames.reading);
        same.is_none_or(|(reading, _)| of.units.admits(claim, reading))
    };
    let frames = judged.frames.as_ref().filter(admitted).map(|frames| {
        let error = frames.error_percent.map_or(NONE.to_owned(), signed);
        (reading(&frames.reading), error, frames.within == Some(true))
    });
    let reasons = [
        judged.because.as_ref().map(|why| format!("calibration: {why}")),
        (!judged.reason.is_empty() && verdict == Score::Undecided).then(|| judged.reason.clone()),
        twin.map(|twin| {
            format!("the same run as “{}”, moved alike by every rival", twin.claim.name)
        }),
        judged.twin_of.as_ref().map(|twin| format!("the arithmetic twin of “{twin}”")),
        judged.note.clone(),
    ];
    ScoredClaim {
        name: judged.name.clone(),
        kind: kind_word(claim.kind),
        published: published(judged),
        estimated: answer(estimated, false),
        simulated: if simulated { answer(judged, true) } else { NONE.to_owned() },
        error: if simulated { error(judged) } else { NONE.to_owned() },
        baseline: baseline(of),
        errors: of.errors(),
        verdict,
        evidence,
        failing: of.failing().into_iter().map(str::to_owned).collect(),
        frames,
        notes: reasons.into_iter().flatten().collect(),
    }
}

/// The baseline's figure, in the unit of ours.
fn baseline(of: &Judged<'_>) -> String {
    let value = of.nominal();
    let unit = of.outcome.ours.map_or(Unit::Times, |ours| ours.unit);
    value.map_or(NONE.to_owned(), |value| Quantity { value, unit }.to_string())
}

/// The published figure, with its relation.
fn published(claim: &ClaimOutcome) -> String {
    if let Some(shape) = &claim.shape {
        let along = shape.along.as_ref().map(|axis| format!(" along {axis}"));
        let within = match shape.within_percent > 0.0 {
            true => format!(", within {}", units::percent(shape.within_percent)),
            false => String::new(),
        };
        return format!("{}{}{within}", shape.is, along.unwrap_or_default());
    }
    let readings: Vec<String> = claim.readings.iter().map(|of| reading(&of.published)).collect();
    match claim.relation {
        "equal" => readings.join(" or "),
        relation => format!("{relation} {}", readings.join(" or ")),
    }
}

/// A published figure in the unit in which it was probably stated.
fn reading(of: &Quantity) -> String {
    let mebi = of.value / f64::from(1 << 20);
    let is_whole = |value: f64| (value - value.round()).abs() < 1e-6;
    match of.unit == Unit::BytesPerS && is_whole(mebi) && !is_whole(of.value / 1e6) {
        true => format!("{} MiB/s", units::count(mebi.round())),
        false => of.to_string(),
    }
}

/// A solver's figure, with its interval where it has one and `spanned` asks for it.
fn answer(claim: &ClaimOutcome, spanned: bool) -> String {
    if let Some(shape) = &claim.shape {
        return curve(shape);
    }
    let Some(ours) = &claim.ours else { return NONE.to_owned() };
    match &claim.interval {
        Some((low, high)) if spanned => format!("{ours} ({})", span(low, high)),
        _ => ours.to_string(),
    }
}

/// An interval, with the unit only once where both ends have the same.
fn span(low: &Quantity, high: &Quantity) -> String {
    let (low, high) = (low.to_string(), high.to_string());
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// A curve by its two ends.
fn curve(shape: &ShapeOutcome) -> String {
    let point = |point: &findings::PointOutcome| {
        let value = point.value.map_or(NONE.to_owned(), |value| value.to_string());
        format!("{value} at {}", point.label)
    };
    match (shape.points.first(), shape.points.last()) {
        (Some(first), Some(last)) => format!("{} … {}", point(first), point(last)),
        _ => NONE.to_owned(),
    }
}

fn error(claim: &ClaimOutcome) -> String {
    if let Some(shape) = &claim.shape {
        return shape.furthest_percent.map_or(NONE.to_owned(), signed);
    }
    let errors = claim.readings.iter().map(|of| of.error_percent.map(signed));
    let errors: Vec<String> = errors.map(|of| of.unwrap_or(NONE.to_owned())).collect();
    if errors.is_empty() { NONE.to_owned() } else { errors.join(" or ") }
}

fn signed(percent: f64) -> String {
    let text = format!("{percent:+.1}%");
    if text == "-0.0%" { "+0.0%".to_owned() } else { text.replace('-', "−") }
}

/// The word for a verdict.
pub fn verdict_word(score: Score) -> &'static str {
    match score {
        Score::Met => "met",
        Score::Missed => "missed",
        Score::Undecided => "undecided",
        Score::Calibration => "calibration",
        Score::Context => "context",
    }
}
