//! Whether what was measured was steady, and what ended the warm-up.
//!
//! Two tests have to pass. The rule is the plan's own, SNIA's where it has none ([`scenario::steady`]), with the whole
//! measured time as the window: it is divided into as many equal rounds as the rule has, so that a long step is judged no
//! more strictly than a short one. Rounds shorter than an interval cannot be separated, so that a short step is not
//! judged. And the seconds must keep their level: no step at any moment, and no drift ([`LevelCheck`]), of more than
//! chance makes and the plan tolerates.

use crate::statistics::{CHANGE_TOLERANCE, LevelCheck, Shape};
use crate::step::{COMPLETE_SHARE, StepData};
use clock::Ns;
use record::{Event, Round};
use scenario::Steady;
use scenario::steady::{SteadyMetric, SteadyWindow, WindowFigures};
use serde::Serialize;

/// The event that a step was measured once its load was steady.
const STEADY: &str = "steady";
/// The event that a step was measured though its load had not become steady.
const NEVER_STEADY: &str = "never-steady";

/// Points of a series whose level is checked, at most.
const POINTS_MAX: u64 = 300;

/// The shortest round: an interval.
const ROUND_MIN: Ns = Ns::secs(1);

/// The rule where a plan has none: SNIA's, over bytes a second.
pub(crate) const RULE: Steady = Steady { metric: SteadyMetric::Throughput, ..Steady::SNIA };

/// Whether the measured time of a step was steady.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Steadiness {
    /// There are too few intervals to judge.
    TooShort,
    /// It was.
    Steady(Moved),
    /// It was not.
    NotSteady(Moved),
}

/// How much the rounds of a measured time moved, and how much they might have.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Moved {
    /// What was looked at: `IOPS`, `throughput`, `mean latency`.
    pub metric: String,
    /// Rounds that the measured time was divided into.
    pub rounds: u32,
    /// Length of each, in nanoseconds.
    pub round_ns: u64,
    /// (largest − smallest) / mean.
    pub spread: f64,
    /// The most allowed.
    pub spread_max: f64,
    /// What the line fitted to the rounds rises from the first to the last, by their mean.
    pub slope: f64,
    /// The most allowed, up or down.
    pub slope_max: f64,
    /// A change of level among the seconds that chance does not make; `None` where there is none.
    pub change: Option<LevelChange>,
    /// The smallest lasting change in the middle of the measured time, and in its last tenth, that is found with a power
    /// of 80%, of the mean; `None` where there are too few seconds.
    pub detectable: Option<[f64; 2]>,
    /// The same as a clause for people.
    pub text: String,
}

/// How the level of a measured time changed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelChange {
    /// Whether at one moment, or bit by bit.
    pub kind: LevelChangeKind,
    /// When, in nanoseconds of measured time: the moment of a step, and the beginning of a drift.
    pub at_ns: u64,
    /// By how much, of the mean; negative where it fell.
    pub size: f64,
    /// The probability of a change as strong in a steady load.
    pub p: f64,
}

/// How a level changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LevelChangeKind {
    /// At one moment.
    Step,
    /// Bit by bit over all of the time.
    Drift,
}

/// The warm-up of a step, as it came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WarmUp {
    /// How long it lasted, in nanoseconds.
    pub lasted_ns: u64,
    /// What ended it.
    pub ended: WarmUpEnd,
}

/// What ended a warm-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum WarmUpEnd {
    /// Its time.
    AsPlanned,
    /// The load was steady.
    Steady,
    /// Its longest time: the load was not steady.
    NeverSteady,
}

impl WarmUp {
    pub(crate) fn of(step: &StepData, events: &[Event]) -> WarmUp {
        let has_event =
            |code: &str| events.iter().any(|e| e.step == Some(step.head.index) && e.code == code);
        let ended = match () {
            () if has_event(NEVER_STEADY) => WarmUpEnd::NeverSteady,
            () if has_event(STEADY) => WarmUpEnd::Steady,
            () => WarmUpEnd::AsPlanned,
        };
        let times = &step.head.times;
        WarmUp { lasted_ns: times.measure.since(times.start).0, ended }
    }
}

/// The length of a step's rounds.
pub(crate) fn round(rule: &Steady, measured: Ns) -> Ns {
    Ns(measured.0.div_ceil(u64::from(rule.rounds.max(1)))).max(ROUND_MIN)
}

/// The length of a point of the series whose level is checked: a second, and more where there are too many.
pub(crate) fn second(measured: Ns) -> Ns {
    Ns(ROUND_MIN.0.saturating_mul((measured.0 / ROUND_MIN.0).div_ceil(POINTS_MAX).max(1)))
}

/// Whether a step was steady; `None` where nothing was done or a worker is missing, which alone the rounds would show.
pub(crate) fn steadiness(step: &StepData, rule: &Steady) -> Option<Steadiness> {
    let whole = step.workers.iter().all(|w| step.completeness(w) >= COMPLETE_SHARE);
    if !whole || step.workers.iter().all(|w| w.data_ops() == 0) {
        return None;
    }
    let of = |round: &Round| match rule.metric {
        SteadyMetric::Iops => round.iops(),
        SteadyMetric::Throughput => round.bytes_per_s(),
        SteadyMetric::Latency => round.service_ns_per_op(),
    };
    let rounds: Vec<f64> = step.rounds.all().iter().map(of).collect();
    if rounds.len() < rule.rounds as usize || step.too_little().is_some() {
        return Some(Steadiness::TooShort);
    }
    let window = SteadyWindow::of(&rounds)?;
    let seconds: Vec<f64> = step.seconds.all().iter().map(of).collect();
    let level = LevelCheck::of(&seconds, tolerance(rule));
    let round = round(rule, step.head.times.measured());
    let moved = moved(rule, round, &window, level, second(step.head.times.measured()));
    let steady = rule.holds(&window) && moved.change.is_none();
    let kind = if steady { Steadiness::Steady } else { Steadiness::NotSteady };
    Some(kind(moved))
}

/// The smallest change of level that counts: where a plan allows its rounds to differ by more than SNIA does, as much.
fn tolerance(rule: &Steady) -> f64 {
    if rule.spread.0 > Steady::SNIA.spread.0 { rule.spread.0 / 100.0 } else { CHANGE_TOLERANCE }
}

fn moved(
    rule: &Steady,
    round: Ns,
    window: &SteadyWindow,
    level: Option<LevelCheck>,
    second: Ns,
) -> Moved {
    let rule = Steady { round: round.into(), ..*rule };
    let change = level.filter(LevelCheck::changed).and_then(|level| {
        let (kind, at) = match level.shape? {
            Shape::Step(at) => (LevelChangeKind::Step, at as u64),
            Shape::Drift => (LevelChangeKind::Drift, 0),
        };
        let at_ns = at.saturating_mul(second.0);
        Some(LevelChange { kind, at_ns, size: level.size, p: level.p })
    });
    let mut text = WindowFigures(&rule, window).to_string();
    if let Some(change) = &change {
        text = format!("{}; {text}", change.clause(&rule.metric.to_string()));
    }
    Moved {
        metric: rule.metric.to_string(),
        rounds: rule.rounds,
        round_ns: round.0,
        spread: window.spread,
        spread_max: rule.spread.0 / 100.0,
        slope: window.slope,
        slope_max: rule.slope.0 / 100.0,
        change,
        detectable: level.map(|level| level.detectable),
        text,
    }
}

impl LevelChange {
    /// The change as a clause for people.
    fn clause(&self, metric: &str) -> String {
        let by = units::percent((self.size.abs() * 1000.0).round() / 10.0);
        let verb = if self.size < 0.0 { "fell" } else { "rose" };
        match self.kind {
            LevelChangeKind::Drift => format!("{metric} {verb} by {by} from beginning to end"),
            LevelChangeKind::Step => {
                let at = units::duration(Ns(self.at_ns).into());
                format!("{metric} {verb} by {by} of its mean after {at}")
            }
        }
    }
}
