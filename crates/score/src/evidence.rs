//! What a claim that came back proves.
//!
//! A claim discriminates where a plausible rival of the model ([`crate::rival`]) fails it: the baseline of nominal line
//! rates and data sheets, the model without a mechanism, or the model with an unpublished parameter at an end of its
//! range. What none of them fails, any model gives. All of it is computed; the scenario only says which figures its source
//! does not state, and which set a parameter.

use crate::ledger::ClaimDependence;
use crate::unit::SourceUnits;
use findings::{ClaimOutcome, Score, is_allowed};
use scenario::{Claim, ClaimKind, Form, LatencyPoint, Metric, Relation, Value};
use serde::Serialize;

/// Claims that a rival moves by factors closer than this move alike.
const ALIKE: f64 = 0.003;
/// Published figures of twins differ by no more than their rounding.
const TWINS: f64 = 0.01;
/// How the names of rivals begin that lack a mechanism.
const WITHOUT: &str = "without ";
/// "Just over" is over by at most this share.
const JUST: f64 = 0.05;

/// What a claim proves when it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// A plausible rival fails it.
    Discriminating,
    /// Every rival meets it: an input comes back, or a ratio that any model gives.
    ByConstruction,
    /// "Over" or "up to", and every rival is on the same side.
    OneSided,
    /// Another claim once more.
    Twin,
    /// It changes by more than 5% within the plausible range of an unpublished parameter.
    Assumption,
    /// It set a parameter, or follows from what did.
    Calibration,
    /// Its source does not state it.
    Inferred,
    /// Stated, but not testable.
    Context,
}

impl Evidence {
    /// As tables show it.
    pub fn word(self) -> &'static str {
        match self {
            Evidence::Discriminating => "discriminates",
            Evidence::ByConstruction => "by construction",
            Evidence::OneSided => "one-sided",
            Evidence::Twin => "twin",
            Evidence::Assumption => "rests on an assumption",
            Evidence::Calibration => "calibration",
            Evidence::Inferred => "not in the source",
            Evidence::Context => "context",
        }
    }
}

/// A claim with its answer, and what the ledger knows of it.
#[derive(Clone, Copy)]
pub struct Judged<'a> {
    /// What was published.
    pub claim: &'a Claim,
    /// What came out.
    pub outcome: &'a ClaimOutcome,
    /// What it depends on, and what rivals make of it.
    pub entry: Option<&'a ClaimDependence>,
    /// What the source means by a megabyte.
    pub units: &'a SourceUnits,
}

impl Judged<'_> {
    /// The verdict under the readings that the source's unit leaves, with calibration and context as they are.
    pub fn verdict(&self) -> Score {
        let outcome = self.outcome;
        let settled = matches!(outcome.score, Score::Calibration | Score::Context);
        let lacks = outcome.readings.iter().any(|reading| reading.agrees.is_none());
        if settled || lacks || outcome.readings.is_empty() || outcome.ours.is_none() {
            return outcome.score;
        }
        let agrees = self.admitted().map(|(n, _)| outcome.readings[n].agrees == Some(true));
        match combined(agrees) {
            Some(true) => Score::Met,
            Some(false) => Score::Missed,
            None => Score::Undecided,
        }
    }

    /// What it proves. `met` is its verdict.
    pub fn evidence(&self, verdict: Score) -> Evidence {
        match self.claim.kind {
            ClaimKind::Context => return Evidence::Context,
            ClaimKind::Inferred => return Evidence::Inferred,
            ClaimKind::Calibration => return Evidence::Calibration,
            ClaimKind::HeldOut => {}
        }
        if self.claim.twin_of.is_some() {
            return Evidence::Twin;
        }
        if verdict == Score::Calibration {
            let fitted = self.entry.is_some_and(|entry| entry.fitted);
            return if fitted { Evidence::Calibration } else { Evidence::Assumption };
        }
        // A plausible model fails what this one misses: this one.
        let failing = self.failing();
        match verdict == Score::Missed || !(failing.is_empty() || self.is_an_input(&failing)) {
            true => Evidence::Discriminating,
            false if self.is_one_sided() => Evidence::OneSided,
            false => Evidence::ByConstruction,
        }
    }

    /// The rivals that fail it, the baseline first.
    pub fn failing(&self) -> Vec<&str> {
        let Some(entry) = self.entry else { return Vec::new() };
        let Some(ours) = self.ours() else { return Vec::new() };
        let nominal = self.nominal().filter(|nominal| self.meets(*nominal) == Some(false));
        let baseline = nominal.map(|_| "line rates and data sheets");
        let fails = |times: f64| self.meets(ours * times) == Some(false);
        let rivals = entry.rivals.iter().filter(|rival| fails(rival.times));
        baseline.into_iter().chain(rivals.map(|rival| rival.name.as_str())).collect()
    }

    /// The baseline's figure in the unit of the claim's; none of CPU and balance, of which no data sheet speaks.
    pub fn nominal(&self) -> Option<f64> {
        let nominal = self.entry?.nominal?;
        if self.claim.is_ratio() || self.claim.shape.is_some() {
            return (self.claim.metric != Metric::Cpu).then_some(nominal);
        }
        match self.claim.metric {
            Metric::Cpu | Metric::Imbalance | Metric::Errors => None,
            Metric::Latency { .. } => Some(nominal * 1e9),
            _ => Some(nominal),
        }
    }

    /// The errors of this model and of the baseline, as logarithms; `None` where one has no figure, and of shapes.
    pub fn errors(&self) -> Option<(f64, f64)> {
        Some((self.error(self.ours()?)?, self.error(self.nominal()?)?))
    }

    /// Whether it is another claim once more: read off the same steps, moved alike by every rival, published alike, and no stricter.
    /// A mean latency is an earlier throughput once more where it moves the other way, as it does with so many outstanding
    /// (Little's law).
    pub fn repeats(&self, other: &Judged<'_>) -> bool {
        let (Some(mine), Some(theirs)) = (self.entry, other.entry) else { return false };
        let (Some(a), Some(b)) = (self.ours(), other.ours()) else { return false };
        let inverse = self.is_mean_latency() != other.is_mean_latency();
        let near = |a: f64, b: f64, within: f64| {
            let off = if inverse { a * b } else { a / b };
            off.ln().abs() < within
        };
        let rivals = mine.rivals.len() == theirs.rivals.len() && !mine.rivals.is_empty();
        let alike = mine.rivals.iter().zip(&theirs.rivals);
        let nominal = match (self.nominal(), other.nominal()) {
            (Some(mine), Some(theirs)) => near(mine / a, theirs / b, ALIKE),
            (mine, theirs) => mine.is_none() && theirs.is_none(),
        };
        let published = self.first().zip(other.first());
        mine.steps == theirs.steps
            && says_as_much(other.claim.relation, self.claim.relation)
            && published.is_some_and(|(mine, theirs)| near(mine / a, theirs / b, TWINS))
            && nominal
            && rivals
            && { alike }.all(|(mine, theirs)| near(mine.times, theirs.times, ALIKE))
    }

    fn is_mean_latency(&self) -> bool {
        let mean = LatencyPoint::Mean;
        matches!(self.claim.metric, Metric::Latency { point, .. } if point == mean)
    }

    /// Whether its figure is what the data sheets give, to the last digit, and nothing but a model without them fails it.
    fn is_an_input(&self, failing: &[&str]) -> bool {
        let same = self.nominal().zip(self.ours()).is_some_and(|(nominal, ours)| {
            (nominal / ours).ln().abs() < ALIKE && self.meets(nominal) == Some(true)
        });
        same && failing.iter().all(|rival| rival.starts_with(WITHOUT))
    }

    /// Readings in a unit that the source may mean, with their numbers.
    fn admitted(&self) -> impl Iterator<Item = (usize, &Value)> {
        let claim = self.claim;
        claim.readings.iter().enumerate().filter(|(_, of)| self.units.admits(claim, of))
    }

    fn first(&self) -> Option<f64> {
        self.admitted().find_map(|(n, _)| Some(self.outcome.readings.get(n)?.published.value))
    }

    /// Our figure; of a shape the last point over the first.
    pub fn ours(&self) -> Option<f64> {
        match &self.outcome.shape {
            None => Some(self.outcome.ours?.value),
            Some(shape) => {
                let mut known = shape.points.iter().filter_map(|point| point.value);
                let first = known.next()?.value;
                Some(known.next_back()?.value / first)
            }
        }
    }

    /// Whether a model with this figure would meet it; `None` where readings differ.
    fn meets(&self, figure: f64) -> Option<bool> {
        let Some(shape) = &self.claim.shape else {
            let relation = self.claim.relation;
            return combined(
                self.admitted().filter_map(|(_, of)| is_allowed(of, relation, figure)),
            );
        };
        let (first, last) = (shape.points.first()?.at, shape.points.last()?.at);
        let within = shape.within / 100.0 + 1e-9;
        Some(match shape.is {
            Form::Linear => (figure * first / last - 1.0).abs() <= within,
            Form::Constant => (figure - 1.0).abs() <= within,
            Form::Rising => figure > 1.0 - within,
            Form::Falling => figure < 1.0 + within,
        })
    }

    fn error(&self, figure: f64) -> Option<f64> {
        let of = |(n, reading): (usize, &Value)| {
            let published = self.outcome.readings.get(n)?.published.value;
            let comparable = !matches!(reading, Value::PercentOfWire(_)) && published > 0.0;
            let off = (figure / published).ln();
            let off = match self.claim.relation {
                Relation::Equal | Relation::About => off.abs(),
                Relation::Over => (-off).max(0.0),
                Relation::UpTo => off.max(0.0),
                Relation::JustOver => (-off).max(off - JUST.ln_1p()).max(0.0),
            };
            (comparable && off.is_finite()).then_some(off)
        };
        self.admitted().filter_map(of).reduce(f64::min)
    }

    /// A bound on one side; that like members are in balance is symmetry.
    fn is_one_sided(&self) -> bool {
        matches!(self.claim.relation, Relation::Over | Relation::UpTo)
            && self.claim.metric != Metric::Imbalance
    }
}

/// Whether a claim with the first relation says what one of the same figure with the second says.
fn says_as_much(first: Relation, second: Relation) -> bool {
    match first {
        Relation::Equal => true,
        Relation::About => second != Relation::Equal,
        Relation::JustOver => matches!(second, Relation::JustOver | Relation::Over),
        Relation::Over | Relation::UpTo => first == second,
    }
}

/// Whether all agree, or none does; `None` where some do, and where there are none.
fn combined(all: impl Iterator<Item = bool>) -> Option<bool> {
    let all: Vec<bool> = all.collect();
    match all.iter().filter(|agrees| **agrees).count() {
        _ if all.is_empty() => None,
        0 => Some(false),
        count => (count == all.len()).then_some(true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lower bound and an upper one are two claims, whatever their figures.
    #[test]
    fn a_looser_claim_says_no_more_and_another_side_does() {
        for second in [Relation::About, Relation::JustOver, Relation::Over, Relation::UpTo] {
            assert!(
                says_as_much(Relation::Equal, second) && !says_as_much(second, Relation::Equal)
            );
        }
        assert!(says_as_much(Relation::JustOver, Relation::Over));
        for (first, second) in [
            (Relation::Over, Relation::JustOver),
            (Relation::Over, Relation::UpTo),
            (Relation::UpTo, Relation::Over),
            (Relation::JustOver, Relation::UpTo),
        ] {
            assert!(!says_as_much(first, second), "{first:?} {second:?}");
        }
    }
}
