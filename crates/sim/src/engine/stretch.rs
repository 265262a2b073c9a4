//! Steps between two stations that are done as one.
//!
//! Tokens of a pool in which there are always enough ([`super::fuse`]) keep nobody waiting: they are not taken and given
//! one by one, but counted where an I/O passes, and a snapshot adds them. One token that is taken or given before a visit is one
//! step with it. The steps replaced stay where they are, behind the step that stands for them, so that an I/O rests at the same ones.

use super::entity::Entity;
use super::fuse::Foreseeable;
use super::layout::RouteStep;
use super::station::PoolState;
use super::{Observer, Simulation};
use crate::Ps;
use std::collections::BTreeSet;
use workload::Dir;

/// I/Os that passed a place where tokens are taken or given that are always there.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub struct PassedTokens {
    /// Reads, writes; and their bytes.
    ios: [u64; 2],
    bytes: [u64; 2],
    /// The sum of the moments.
    moments: u128,
}

impl PassedTokens {
    /// An I/O passes.
    #[inline]
    pub fn pass(&mut self, now: Ps, entity: &Entity) {
        let writes = usize::from(entity.dir != Dir::Read);
        self.ios[writes] += 1;
        self.bytes[writes] += u64::from(entity.bytes);
        self.moments += u128::from(now.0);
    }
}

/// Places that I/Os pass, and what each takes and gives there.
#[derive(Debug, Default)]
pub struct Passes {
    pub counts: Vec<PassedTokens>,
    /// By place: pools and tokens, less than 0 where they are given.
    tokens: Vec<Box<[(u32, i64)]>>,
}

/// Puts one step in the place of several where they can be done as one: `steps` are those of all routes, and `entered` those
/// that are reached from elsewhere than the step before. The places where tokens are counted.
pub fn shorten(steps: &mut [RouteStep], entered: &BTreeSet<u32>, known: &Foreseeable) -> Passes {
    let from: Vec<RouteStep> = steps.to_vec();
    let always = |at: usize| match from.get(at) {
        Some(RouteStep::Take { pool, tokens }) if known.has_enough(*pool) => {
            Some((*pool, i64::from(*tokens)))
        }
        Some(RouteStep::Give { pool, tokens }) if known.has_enough(*pool) => {
            Some((*pool, -i64::from(*tokens)))
        }
        _ => None,
    };
    let mut passes = Passes::default();
    for at in 0..steps.len() {
        let tokens: Vec<(u32, i64)> = (at..).map_while(always).collect();
        if tokens.is_empty() {
            steps[at] = joined(from[at], from.get(at + 1));
        } else if at == 0 || always(at - 1).is_none() || entered.contains(&(at as u32)) {
            let (place, to) = (passes.counts.len() as u32, at + tokens.len());
            steps[at] = match (from.get(to), u8::try_from(tokens.len())) {
                (Some(RouteStep::Visit { station, demand }), Ok(ahead)) => {
                    RouteStep::PassVisit { ahead, place, station: *station, demand: *demand }
                }
                (Some(RouteStep::End), _) => RouteStep::PassEnd { place },
                _ => RouteStep::Pass { place, to: to as u32 },
            };
            passes.counts.push(PassedTokens::default());
            passes.tokens.push(tokens.into());
        }
    }
    passes
}

/// A step and the next one as one, if they can be.
fn joined(step: RouteStep, next: Option<&RouteStep>) -> RouteStep {
    let Some(RouteStep::Visit { station, demand }) = next else { return step };
    let (station, demand) = (*station, *demand);
    match step {
        RouteStep::Take { pool, tokens: 1 } => RouteStep::TakeVisit { pool, station, demand },
        RouteStep::Give { pool, tokens: 1 } => RouteStep::GiveVisit { pool, station, demand },
        _ => step,
    }
}

impl<O: Observer> Simulation<O> {
    /// `who` passes a place.
    #[inline]
    pub(super) fn pass_tokens(&mut self, place: u32, who: u32) {
        self.passes.counts[place as usize].pass(self.now, &self.entities[who]);
        if O::TIMES {
            for (pool, tokens) in &self.passes.tokens[place as usize] {
                if *tokens > 0 {
                    self.pools[*pool as usize].waits.record(Ps::ZERO);
                }
            }
        }
    }

    /// Adds what has been counted to the pools.
    pub(super) fn add_passes(&mut self) {
        for (count, tokens) in self.passes.counts.iter_mut().zip(&self.passes.tokens) {
            let count = std::mem::take(count);
            for (pool, tokens) in tokens {
                self.pools[*pool as usize].pass(*tokens, (count.ios, count.bytes), count.moments);
            }
        }
    }

    /// Adds to the tokens of each pool that are held what has been counted.
    pub(super) fn hold_passed(&self, held: &mut [u32]) {
        for (count, tokens) in self.passes.counts.iter().zip(&self.passes.tokens) {
            for (pool, tokens) in tokens {
                let by = tokens.wrapping_mul((count.ios[0] + count.ios[1]) as i64);
                held[*pool as usize] = held[*pool as usize].wrapping_add(by as u32);
            }
        }
    }
}

impl PoolState {
    /// Tokens that are always there were taken, or given where they are less than 0, by each of so many reads and writes.
    /// What is held is right when all who passed have been added.
    fn pass(&mut self, tokens: i64, (ios, bytes): ([u64; 2], [u64; 2]), moments: u128) {
        let by = tokens.wrapping_mul((ios[0] + ios[1]) as i64) as u32;
        self.held = self.held.wrapping_add(by);
        self.free = self.free.wrapping_sub(by);
        self.busy = self.busy.wrapping_sub(moments.wrapping_mul(tokens as u128));
        if tokens > 0 {
            for dir in 0..2 {
                self.ios[dir] += ios[dir];
                self.bytes[dir] += bytes[dir];
            }
        }
    }
}
