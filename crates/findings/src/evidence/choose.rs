//! Which steps are shown in detail, where there are more than a page can hold.
//!
//! First those that a reader will ask for: where the knees are, the first and the last, the one that did most, the one
//! with the worst latency, those that decided a goal. Then others at equal distances, so that the run is seen throughout.

use super::{LeftOut, Part};
use crate::Analysis;
use crate::figures::{Loops, StepFigures};
use crate::goals::Status;
use crate::knee::Answer;

/// Steps shown in detail.
pub const STEPS_MAX: usize = 8;

pub(super) struct ShownStep {
    pub index: u32,
    /// Why; empty where all are shown.
    pub why: Vec<String>,
}

/// The steps that are shown, in the order of the run; what is left out is said.
pub(super) fn choose(analysis: &Analysis, left_out: &mut Vec<LeftOut>) -> Vec<ShownStep> {
    let steps = &analysis.steps;
    let mut chosen: Vec<ShownStep> = Vec::new();
    for (index, why) in asked_for(analysis) {
        add(&mut chosen, index, why);
    }
    // A power of two of equal parts, so that those already chosen come again.
    let mut parts = 1;
    while parts < steps.len() * 2 && parts <= 1 << 16 {
        for part in 0..=parts {
            let at = part * steps.len().saturating_sub(1) / parts;
            steps.get(at).into_iter().for_each(|step| add(&mut chosen, step.index, ""));
        }
        parts *= 2;
    }
    chosen.sort_by_key(|c| c.index);
    if steps.len() > chosen.len() {
        left_out.push(LeftOut::of(
            Part::Steps,
            format!("{} of {} steps are shown one by one; CSV has all.", chosen.len(), steps.len()),
        ));
    }
    chosen
}

/// Adds a step, if there is room, or another reason for one that is there.
fn add(chosen: &mut Vec<ShownStep>, index: u32, why: &str) {
    let why = (!why.is_empty()).then(|| why.to_owned());
    match chosen.iter().position(|c| c.index == index) {
        Some(at) => {
            let known = &mut chosen[at].why;
            known.extend(why.filter(|w| !known.contains(w)));
        }
        None if chosen.len() < STEPS_MAX => {
            chosen.push(ShownStep { index, why: why.into_iter().collect() });
        }
        None => {}
    }
}

/// The steps that a reader will ask for, the most important first.
fn asked_for(analysis: &Analysis) -> Vec<(u32, &'static str)> {
    let steps = &analysis.steps;
    let mut asked = Vec::new();
    let most = |of: fn(&StepFigures) -> f64| {
        let best = steps.iter().filter(|s| of(s) > 0.0).max_by(|a, b| of(a).total_cmp(&of(b)));
        best.map(|s| s.index)
    };
    for goal in analysis.goals.iter().filter(|g| g.status == Status::Failed) {
        let at = steps.iter().find(|s| Some(s.label()) == goal.step);
        asked.extend(at.map(|s| (s.index, "failed a goal")));
    }
    for sweep in &analysis.sweeps {
        let Answer::At { value, .. } = &sweep.knee else { continue };
        let at = steps.iter().find(|s| {
            let is =
                |key: &str, value: &str| s.settings.iter().any(|(k, v)| k == key && v == value);
            s.plan == sweep.plan
                && is(&sweep.axis, value)
                && sweep.fixed.iter().all(|(key, value)| is(key, value))
        });
        // Of a grid with many knees the first three; they must not fill the page.
        if asked.iter().filter(|(_, why)| *why == "knee").count() < 3 {
            asked.extend(at.map(|s| (s.index, "knee")));
        }
    }
    // Room for the five that follow.
    asked.truncate(STEPS_MAX - 5);
    asked.extend(most(|s| s.total.both.iops).map(|index| (index, "most IOPS")));
    asked.extend(most(|s| s.total.both.bytes_per_s).map(|index| (index, "most MB/s")));
    asked.extend(most(p99).map(|index| (index, "highest p99")));
    asked.extend(steps.first().map(|s| (s.index, "first")));
    asked.extend(steps.last().map(|s| (s.index, "last")));
    asked
}

fn p99(step: &StepFigures) -> f64 {
    let both = &step.total.both;
    let latency =
        both.response.filter(|_| matches!(step.loops, Loops::Open | Loops::Mixed)).or(both.service);
    latency.map_or(0.0, |l| l.p99_ns as f64)
}
