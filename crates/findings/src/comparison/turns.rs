//! How the measurements of two sides lie in time, and what that entitles to say.
//!
//! What differs between two sides that were measured one after the other is the system, or what the machine did
//! meanwhile: repetitions without a pause between them share that, and replicate nothing. Two designs separate the two.
//! Where the sides took **turns**, each measurement is paired with its neighbour in time, and what drifts more slowly
//! than a turn cancels. Where the repetitions of each side are **spread** over time, their scatter holds what the
//! machine does; a side then counts as one draw of it, because what lasts as long as a side cannot be averaged out.
//! The recorded start of every repetition tells which design it was. Simulated systems have no such past: each seed
//! draws its own times, and nothing else changes.

use super::pairs::PointStep;
use super::systems::InterleavedPair;
use record::{ProducerKind, Record, StepHead};
use serde::Serialize;

/// Pairs of turns from which a difference is judged.
const PAIRS_MIN: usize = 2;
/// Occasions on each side from which their scatter is taken for that of the machine.
const OCCASIONS_MIN: usize = 3;
/// What begins sooner after its predecessor (in nanoseconds) belongs to the same occasion.
const OCCASION_NS: u64 = 5 * 60 * 1_000_000_000;

/// What the measurements of a step entitle to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Evidence {
    /// Both sides took turns: neighbours in time are compared.
    Turns,
    /// Each side was repeated over a longer time.
    Spread,
    /// Both were simulated: nothing but the systems differs.
    Simulated,
    /// One side was measured after the other: a difference may be the machine's.
    OneAfterTheOther,
    /// Loads that were observed, at the same hours of the week: what every week brings cancels.
    SameHoursOfWeek,
    /// The same of the hours of the day.
    SameHoursOfDay,
    /// Loads that were observed, at other hours: their course over the day is in the difference.
    OtherHours,
}

impl Evidence {
    /// Whether a difference can only be the systems'.
    pub fn is_sound(self) -> bool {
        matches!(self, Evidence::Turns | Evidence::Spread | Evidence::Simulated)
    }

    /// Whether nobody set the loads, so that a difference is of what was asked for as well.
    pub fn is_observed(self) -> bool {
        self.is_of_same_hours() || self == Evidence::OtherHours
    }

    /// Whether elements of both sides belong together by their time.
    pub fn is_of_same_hours(self) -> bool {
        matches!(self, Evidence::SameHoursOfWeek | Evidence::SameHoursOfDay)
    }
}

/// One measurement of one side: a repetition, or several that nothing of the other side lies between.
pub(super) struct Measurement<'r> {
    pub steps: Vec<(&'r Record, &'r StepHead)>,
    record: usize,
    side: usize,
    /// When it began and when it ended, in nanoseconds since the Unix epoch.
    start: u64,
    end: u64,
    /// Whether it is a round of a run in turns, which stays apart from its neighbours.
    round: bool,
}

/// The measurements of both sides, arranged as they are to be compared.
pub(super) struct Arranged<'r> {
    pub evidence: Evidence,
    /// The measurements of each side in the order of time; in turns, those of one place belong together.
    pub sides: [Vec<Measurement<'r>>; 2],
}

impl Measurement<'_> {
    /// Its middle in seconds since the Unix epoch.
    pub fn middle(&self) -> f64 {
        (self.start as f64 + self.end as f64) / 2e9
    }
}

impl<'r> Arranged<'r> {
    /// Arranges the repetitions of a step. `records` are those of each side.
    pub fn of(records: [&[&'r Record]; 2], points: [&[PointStep<'_>]; 2]) -> Arranged<'r> {
        let both = || records.iter().flat_map(|side| side.iter());
        let simulated = |r: &&Record| r.head().producer.kind == ProducerKind::Simulated;
        let each = [0, 1].map(|side| measurements(side, records[side], points[side]));
        if both().all(simulated) {
            return Arranged { evidence: Evidence::Simulated, sides: each };
        }
        let turns = turns(each.iter().flatten().collect());
        if turns.len() >= PAIRS_MIN {
            let place = |side: usize| turns.iter().map(|pair| pair[side].clone()).collect();
            return Arranged { evidence: Evidence::Turns, sides: [place(0), place(1)] };
        }
        let occasions = [0, 1].map(|side| occasions(&each[side]));
        if spread(&occasions) {
            return Arranged { evidence: Evidence::Spread, sides: occasions };
        }
        Arranged { evidence: Evidence::OneAfterTheOther, sides: each }
    }
}

impl Clone for Measurement<'_> {
    fn clone(&self) -> Self {
        Measurement { steps: self.steps.clone(), ..*self }
    }
}

/// The repetitions of a side, in the order of time.
fn measurements<'r>(
    side: usize,
    records: &[&'r Record],
    steps: &[PointStep<'_>],
) -> Vec<Measurement<'r>> {
    let measurement = |step: &PointStep<'_>| {
        let record = records.get(step.record)?;
        let head = record.steps().iter().find(|head| head.index == step.figures.index)?;
        let wall = |at: clock::Ns| record.head().wall_ns.saturating_add(at.0);
        Some(Measurement {
            steps: vec![(record, head)],
            record: step.record,
            side,
            start: wall(head.times.start),
            end: wall(head.times.end),
            round: InterleavedPair::of(record.facts()).is_some(),
        })
    };
    let mut all: Vec<_> = steps.iter().filter_map(measurement).collect();
    all.sort_by_key(|m| m.start);
    all
}

/// Measurements of both sides as pairs of neighbours in time, each in one pair. Repetitions of one record that nothing
/// of the other side lies between are one measurement.
fn turns<'r>(mut all: Vec<&Measurement<'r>>) -> Vec<[Measurement<'r>; 2]> {
    all.sort_by_key(|m| (m.start, m.side));
    let mut units: Vec<Measurement<'r>> = Vec::new();
    for m in all {
        match units.last_mut() {
            Some(last) if !m.round && (last.side, last.record) == (m.side, m.record) => {
                last.join(m)
            }
            _ => units.push(m.clone()),
        }
    }
    let mut pairs = Vec::new();
    let mut units = units.into_iter().peekable();
    while let Some(one) = units.next() {
        if let Some(other) = units.next_if(|next| next.side != one.side) {
            pairs.push(if one.side == 0 { [one, other] } else { [other, one] });
        }
    }
    pairs
}

impl<'r> Measurement<'r> {
    fn join(&mut self, other: &Measurement<'r>) {
        self.steps.extend(&other.steps);
        self.end = self.end.max(other.end);
    }
}

/// A side's measurements, those of one occasion together.
fn occasions<'r>(side: &[Measurement<'r>]) -> Vec<Measurement<'r>> {
    let mut occasions: Vec<Measurement<'r>> = Vec::new();
    let mut began = 0;
    for m in side {
        match occasions.last_mut() {
            Some(last) if m.start.saturating_sub(began) < OCCASION_NS => last.join(m),
            _ => occasions.push(m.clone()),
        }
        began = m.start;
    }
    occasions
}

/// Whether both sides are spread over time, and no further apart than either is long.
fn spread([a, b]: &[Vec<Measurement<'_>>; 2]) -> bool {
    let extent = |side: &[Measurement<'_>]| Some((side.first()?.start, side.last()?.start));
    let (Some(a_lies), Some(b_lies)) = (extent(a), extent(b)) else { return false };
    let length = |(first, last): (u64, u64)| last.saturating_sub(first);
    let apart = b_lies.0.saturating_sub(a_lies.1).max(a_lies.0.saturating_sub(b_lies.1));
    let enough = a.len().min(b.len()) >= OCCASIONS_MIN;
    enough && apart <= length(a_lies).min(length(b_lies))
}
