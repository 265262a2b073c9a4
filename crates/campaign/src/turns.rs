//! Two alternating runs: each step of the first next to the same step of the second, in an order that changes from
//! round to round (A B, B A, A B, …), so that slow drift of the machine affects both equally (the ABBA design, as in
//! R. A. Fisher, *The Design of Experiments*, 1935). A step's repetition is its round.

use crate::{Campaign, StepEnd, Stepper};
use record::{Level, Status};
use scenario::{Stage, Step};
use std::collections::BTreeMap;

/// Names of the two sides.
pub const SIDES: [&str; 2] = ["A", "B"];

/// Code of the event in one side's record when the other side ended the comparison.
pub const COMPARISON_ENDED: &str = "comparison-ended";

/// A step that both sides have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairedStep {
    /// Its positions among the stages of each side.
    pub stages: [usize; 2],
    /// The side that runs first: 0, or 1 in odd rounds.
    pub first: usize,
}

/// Steps that only one side has, in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct UnpairedSteps {
    /// The steps of each side.
    pub only: [Vec<Step>; 2],
}

/// Pairs the steps of both sides, round by round; searches are skipped, since their steps are not known beforehand.
/// # Errors
/// If one side has a step that the other lacks.
pub fn pair(sides: [&[Stage]; 2]) -> Result<Vec<PairedStep>, UnpairedSteps> {
    type Name<'a> = (&'a str, &'a [(String, String)], u32);
    fn name(step: &Step) -> Name<'_> {
        (&step.plan, &step.settings, step.repetition)
    }
    let steps = |stages: &'_ [Stage]| -> Vec<(usize, Step)> {
        let step = |(n, stage): (usize, &Stage)| match stage {
            Stage::Step(step) => Some((n, step.clone())),
            Stage::Search(_) => None,
        };
        stages.iter().enumerate().filter_map(step).collect()
    };
    let sides = sides.map(steps);
    let named = [0, 1].map(|side: usize| -> BTreeMap<Name<'_>, usize> {
        sides[side].iter().map(|(n, step)| (name(step), *n)).collect()
    });
    let only = [0, 1].map(|side: usize| -> Vec<Step> {
        let missing = |step: &&Step| !named[1 - side].contains_key(&name(step));
        let first_round = sides[side].iter().map(|(_, step)| step).filter(|s| s.repetition == 0);
        first_round.filter(missing).cloned().collect()
    });
    if only.iter().any(|steps| !steps.is_empty()) {
        return Err(UnpairedSteps { only });
    }
    let turn = |(a, step): &(usize, Step)| {
        let b = *named[1].get(&name(step))?;
        let first = (step.repetition % 2) as usize;
        Some((step.repetition, PairedStep { stages: [*a, b], first }))
    };
    let mut turns: Vec<(u32, PairedStep)> = sides[0].iter().filter_map(turn).collect();
    // Stable: within a round, the steps of all plans in their order.
    turns.sort_by_key(|(round, _)| *round);
    Ok(turns.into_iter().map(|(_, turn)| turn).collect())
}

/// Runs all turns of two runs, or up to the first step that one of them cannot run, and closes both records.
/// # Errors
/// The number of the side whose record cannot be written, with its error.
pub fn take_turns<S: Stepper>(
    mut sides: [Campaign<S>; 2],
    stages: [&[Stage]; 2],
    turns: &[PairedStep],
) -> Result<[S::Outcome; 2], (usize, S::Error)>
where
    S::Error: std::fmt::Display,
{
    let ended = alternate(&mut sides, stages, turns);
    let [a, b] = sides;
    match ended {
        Ok([status_a, status_b]) => {
            let (a, b) = (a.finish(status_a), b.finish(status_b));
            Ok([a.map_err(|error| (0, error))?, b.map_err(|error| (1, error))?])
        }
        Err((side, error)) => {
            let why = format!("the comparison ended with side {}: {error}", SIDES[side]);
            for (number, campaign) in [a, b].into_iter().enumerate() {
                let failed = number == side;
                campaign.abandon(if failed { Status::Failed } else { Status::Stopped }, &why);
            }
            Err((side, error))
        }
    }
}

/// Runs the turns. Returns how the runs ended, or the side whose record cannot be written.
fn alternate<S: Stepper>(
    sides: &mut [Campaign<S>; 2],
    stages: [&[Stage]; 2],
    turns: &[PairedStep],
) -> Result<[Status; 2], (usize, S::Error)> {
    for turn in turns {
        for side in [turn.first, 1 - turn.first] {
            let stage = &stages[side][turn.stages[side]];
            match sides[side].stages(std::slice::from_ref(stage)).map_err(|error| (side, error))? {
                StepEnd::Done => {}
                StepEnd::Stopped => return Ok([Status::Stopped; 2]),
                StepEnd::Failed => {
                    let (other, text) = (1 - side, format!("side {} failed", SIDES[side]));
                    let noted = sides[other].note(Level::Warning, COMPARISON_ENDED, &text);
                    noted.map_err(|error| (other, error))?;
                    let status = |n| if n == side { Status::Failed } else { Status::Stopped };
                    return Ok([0, 1].map(status));
                }
            }
        }
    }
    Ok([Status::Complete; 2])
}

impl<S: Stepper> Campaign<S> {
    /// Closes the record because of the other side. Write errors are ignored: the first error ended the comparison.
    pub fn abandon(mut self, status: Status, why: &str) {
        let _ = self.note(Level::Warning, COMPARISON_ENDED, why);
        let _ = self.finish(status);
    }
}
