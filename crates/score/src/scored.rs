//! A scenario with both solvers' answers: its claims beside what was published, or the figures of its steps.

use crate::ledger::kind_word;
use findings::{
    Analysis, ClaimOutcome, ClaimSummary, Quantity, Score, ShapeOutcome, StepFigures, Unit,
};
use scenario::Scenario;
use serde::Serialize;

/// A scenario, scored.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scored {
    /// The scenario's file, without its ending.
    pub lab: String,
    /// Its question.
    pub title: String,
    /// Who published the experiment.
    pub source: Option<String>,
    /// Its claims, in the scenario's order.
    pub claims: Vec<ScoredClaim>,
    /// How many of them came out how, by the simulator, or by the estimator where nothing was simulated.
    pub summary: ClaimSummary,
    /// Its steps, in order.
    pub steps: Vec<ScoredStep>,
    /// What its searches found, by whichever solver was asked last.
    pub searches: Vec<String>,
}

/// A claim with both answers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoredClaim {
    /// Its name.
    pub name: String,
    /// What the scenario says that it proves.
    pub kind: &'static str,
    /// What was published, every reading of it.
    pub published: String,
    /// By the estimator.
    pub estimated: String,
    /// By the simulator, with its interval of confidence.
    pub simulated: String,
    /// How far the simulated figure is from each reading.
    pub error: String,
    /// How it came out.
    pub verdict: Score,
    /// Of the limit of a wire: the reading that frames support, how far the figure is from it, and whether that is within 2%.
    pub frames: Option<(String, String, bool)>,
    /// What a reader must know besides.
    pub notes: Vec<String>,
}

/// A step by both solvers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScoredStep {
    /// Its settings.
    pub name: String,
    /// By the estimator: operations and bytes a second, and the mean service time.
    pub estimated: [String; 3],
    /// By the simulator.
    pub simulated: [String; 3],
}

/// Nothing to show.
const NONE: &str = "–";

impl Scored {
    /// Puts both solvers' findings together: of the estimator, and of the simulator where one was run.
    pub fn new(
        lab: &str,
        scenario: &Scenario,
        estimate: &Analysis,
        simulation: Option<&Analysis>,
    ) -> Scored {
        let judged = simulation.unwrap_or(estimate);
        let claims = scenario.claims.iter().zip(&judged.claims).zip(&estimate.claims);
        let claims = claims.map(|((claim, judged), estimated)| {
            of_claim(kind_word(claim.kind), judged, estimated, simulation.is_some())
        });
        let steps = judged.steps.iter().enumerate().map(|(n, step)| ScoredStep {
            name: named(step, scenario.plans.len() > 1),
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
            claims: claims.collect(),
            summary: ClaimSummary::of(&judged.claims),
            // A search has steps of its own in each solver.
            steps: if judged.searches.is_empty() { steps.collect() } else { Vec::new() },
            searches: judged.searches.iter().map(answer).collect(),
        }
    }
}

/// A step by its settings, and by its plan as well where there are several.
fn named(step: &StepFigures, several: bool) -> String {
    let label = step.label();
    if several && !step.settings.is_empty() { format!("{}: {label}", step.plan) } else { label }
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

fn of_claim(
    kind: &'static str,
    judged: &ClaimOutcome,
    estimated: &ClaimOutcome,
    simulated: bool,
) -> ScoredClaim {
    let frames = judged.frames.as_ref().map(|frames| {
        let error = frames.error_percent.map_or(NONE.to_owned(), signed);
        (reading(&frames.reading), error, frames.within == Some(true))
    });
    let reasons = [
        judged.because.as_ref().map(|why| format!("calibration: {why}")),
        (!judged.reason.is_empty()).then(|| judged.reason.clone()),
        judged.twin_of.as_ref().map(|twin| format!("the arithmetic twin of “{twin}”")),
        judged.note.clone(),
    ];
    ScoredClaim {
        name: judged.name.clone(),
        kind,
        published: published(judged),
        estimated: answer(estimated, false),
        simulated: if simulated { answer(judged, true) } else { NONE.to_owned() },
        error: if simulated { error(judged) } else { NONE.to_owned() },
        verdict: judged.score,
        frames,
        notes: reasons.into_iter().flatten().collect(),
    }
}

/// What was published, with its relation.
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

/// A published figure in the unit in which it was probably written.
fn reading(of: &Quantity) -> String {
    let mebi = of.value / f64::from(1 << 20);
    let is_whole = |value: f64| (value - value.round()).abs() < 1e-6;
    match of.unit == Unit::BytesPerS && is_whole(mebi) && !is_whole(of.value / 1e6) {
        true => format!("{} MiB/s", units::count(mebi.round())),
        false => of.to_string(),
    }
}

/// What a solver says, with its interval where it has one and is asked for it.
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

/// An interval, with its unit once where both ends have the same.
fn span(low: &Quantity, high: &Quantity) -> String {
    let (low, high) = (low.to_string(), high.to_string());
    match (low.rsplit_once(' '), high.rsplit_once(' ')) {
        (Some((number, unit)), Some((_, other))) if unit == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// A curve by its ends.
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

/// A verdict as it is shown.
pub fn verdict_word(score: Score) -> &'static str {
    match score {
        Score::Met => "met",
        Score::Missed => "missed",
        Score::Undecided => "undecided",
        Score::Calibration => "calibration",
        Score::Context => "context",
    }
}
