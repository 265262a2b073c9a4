//! Which events go into lanes beside the heap: those always scheduled the same time ahead.
//!
//! Lane 0 is for immediate events: a slot that asks for its next operation. The others are for the constant times that
//! most steps use, at any station.

use super::event::LANES;
use super::fuse::FusedRun;
use super::layout::RouteStep;
use super::station::StationState;
use crate::Ps;
use crate::model::{Demand, Law};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// For immediate events.
pub const AT_ONCE: u8 = 0;
/// I/Os whose events make so flat a heap that lanes would cost more than they save.
const FEW: u32 = 64;
/// For events that may come in any order.
pub const NO_LANE: u8 = LANES as u8;

/// Gives each of the most common constant times a lane, and sets it at the stations and fused visits that use it. At
/// most `ios` I/Os exist at once.
pub fn assign(steps: &mut [RouteStep], runs: &[FusedRun], stations: &mut [StationState], ios: u32) {
    if ios <= FEW {
        return;
    }
    let mut asked: BTreeMap<Ps, usize> = BTreeMap::new();
    let mut at = 0;
    while let Some(step) = steps.get(at) {
        if let Some(time) = time_of(step, runs) {
            *asked.entry(time).or_insert(0) += 1;
        }
        // The visits that fused ones replaced are never reached.
        at = if let RouteStep::Run { next, .. } = step { *next as usize } else { at + 1 };
    }
    let mut times: Vec<(Ps, usize)> = asked.into_iter().collect();
    times.sort_by_key(|(time, steps)| (Reverse(*steps), *time));
    times.truncate(LANES - 1);
    for step in steps {
        let Some(time) = time_of(step, runs) else { continue };
        let Some(at) = times.iter().position(|(of, _)| *of == time) else { continue };
        let number = at as u8 + AT_ONCE + 1;
        match step {
            RouteStep::Visit { station, .. } => stations[*station as usize].lane = number,
            RouteStep::Run { lane, .. } => *lane = number,
            _ => {}
        }
    }
}

/// The constant time of a step, if it has one.
fn time_of(step: &RouteStep, runs: &[FusedRun]) -> Option<Ps> {
    match step {
        RouteStep::Visit {
            demand: Demand { time: Law::Constant(time), per_byte: 0.0 }, ..
        } => Some(*time),
        // That behind a queue is not constant.
        RouteStep::Run { run, .. } => {
            let run = &runs[*run as usize];
            run.queue.is_none().then_some(run.total)
        }
        _ => None,
    }
}
