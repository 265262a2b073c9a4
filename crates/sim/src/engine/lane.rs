//! Which events go on lanes beside the heap: those that are scheduled always the same time ahead.
//!
//! Lane 0 is for what happens at once: a slot that asks for its next operation. The others are for the constant times that
//! most steps ask for, at whichever stations.

use super::event::LANES;
use super::layout::Step;
use super::station::Place;
use crate::Ps;
use crate::model::{Demand, Law};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// For what happens at once.
pub const AT_ONCE: u8 = 0;
/// I/Os whose events fit a heap so flat that to look at lanes besides costs more than they save.
const FEW: u32 = 64;
/// For what is not known to come in order.
pub const NO_LANE: u8 = LANES as u8;

/// Gives the constant times that are asked for most a lane each, and tells the stations and runs that take them; of no more
/// than `ios` at once.
pub fn assign(steps: &mut [Step], places: &mut [Place], ios: u32) {
    if ios <= FEW {
        return;
    }
    let mut asked: BTreeMap<Ps, usize> = BTreeMap::new();
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        if let Some(time) = time_of(step) {
            *asked.entry(time).or_insert(0) += 1;
        }
        // Nobody comes to the visits that a run has taken the place of.
        at = if let Step::Run { next, .. } = step { *next as usize } else { at + 1 };
    }
    let mut times: Vec<(Ps, usize)> = asked.into_iter().collect();
    times.sort_by_key(|(time, steps)| (Reverse(*steps), *time));
    times.truncate(LANES - 1);
    for step in steps {
        let Some(time) = time_of(step) else { continue };
        let Some(at) = times.iter().position(|(of, _)| *of == time) else { continue };
        let number = at as u8 + AT_ONCE + 1;
        match step {
            Step::Visit { station, .. } => places[*station as usize].lane = number,
            Step::Run { lane, .. } => *lane = number,
            _ => {}
        }
    }
}

/// The time that a step takes always.
fn time_of(step: &Step) -> Option<Ps> {
    match step {
        Step::Visit { demand: Demand { time: Law::Constant(time), per_byte: 0.0 }, .. } => {
            Some(*time)
        }
        Step::Run { total, .. } => Some(*total),
        _ => None,
    }
}
