//! Which arm of a branch an I/O takes, and what happens when none is up.

use super::entity::{Fifo, NONE, PARKED};
use super::layout::RouteStep;
use super::{Observer, Simulation};
use crate::Ps;
use crate::model::{Policy, Selector};
use crate::statistics::RunningTally;

/// The state of a selector.
#[derive(Clone, Debug)]
pub struct Chooser {
    policy: Policy,
    pub patience: Ps,
    pub give_up: Ps,
    pub arms: Box<[ArmState]>,
    /// The arm whose turn it is, and what is left of that turn.
    current: usize,
    left: u64,
    /// I/Os that wait for an arm to recover.
    pub line: Fifo,
    /// I/Os that were pulled out or found no arm up, until they continue.
    pub tally: RunningTally,
}

/// The state of an arm.
#[derive(Clone, Copy, Debug)]
pub struct ArmState {
    pub alive: bool,
    /// I/Os on it.
    pub inside: u32,
}

impl Chooser {
    pub fn new(selector: &Selector, arms: u32) -> Chooser {
        Chooser {
            policy: selector.policy,
            patience: selector.patience,
            give_up: selector.give_up,
            arms: vec![ArmState { alive: true, inside: 0 }; arms as usize].into(),
            current: 0,
            left: turn(selector.policy),
            line: Fifo::EMPTY,
            tally: RunningTally::default(),
        }
    }

    /// The arm for an I/O of `bytes`; `None` where no arm is up.
    fn choose(&mut self, bytes: u32) -> Option<usize> {
        let first = self.arms.iter().position(|arm| arm.alive)?;
        match self.policy {
            Policy::Fixed => return Some(first),
            Policy::ActivePassive => {
                if !self.arms[self.current].alive {
                    self.current = first;
                }
            }
            Policy::RoundRobin { .. } | Policy::RoundRobinBytes { .. } => {
                if self.left == 0 || !self.arms[self.current].alive {
                    let behind = self.arms[self.current + 1..].iter().position(|arm| arm.alive);
                    self.current = behind.map_or(first, |by| self.current + 1 + by);
                    self.left = turn(self.policy);
                }
                let used = match self.policy {
                    Policy::RoundRobin { .. } => 1,
                    _ => u64::from(bytes),
                };
                self.left = self.left.saturating_sub(used);
            }
            Policy::LeastQueue => {
                let living = self.arms.iter().enumerate().filter(|(_, arm)| arm.alive);
                return living.min_by_key(|(number, arm)| (arm.inside, *number)).map(|(at, _)| at);
            }
        }
        Some(self.current)
    }
}

/// The length of a turn, in I/Os or bytes.
fn turn(policy: Policy) -> u64 {
    match policy {
        Policy::RoundRobin { ios } => u64::from(ios),
        Policy::RoundRobinBytes { bytes } => bytes,
        _ => 0,
    }
}

impl<O: Observer> Simulation<O> {
    /// The selector's position in the order of events: after all loads.
    pub(super) fn place_of_selector(&self, selector: u32) -> u32 {
        (self.stations.len() + self.origins.len()) as u32 + selector
    }

    /// Puts `who`, which is at a branch, on an arm. False where none is up: it waits.
    pub(super) fn branch(&mut self, selector: u32, starts: u32, who: u32) -> bool {
        let chooser = &mut self.choosers[selector as usize];
        let entity = &mut self.entities[who];
        if let Some(arm) = chooser.choose(entity.bytes) {
            chooser.arms[arm].inside += 1;
            entity.hop = self.starts[starts as usize + arm];
            return true;
        }
        chooser.tally.arrive(self.now);
        entity.entered = self.now;
        self.park(selector, who);
        false
    }

    /// `who` waits until an arm recovers or its patience ends.
    fn park(&mut self, selector: u32, who: u32) {
        self.entities[who].at = PARKED;
        let chooser = &mut self.choosers[selector as usize];
        chooser.line.push(&mut self.entities, who);
        let give_up = chooser.give_up;
        if give_up < Ps::MAX {
            let place = self.place_of_selector(selector);
            self.schedule(give_up, place, who);
        }
    }

    /// Handles a selector's event: `who` chooses again after it was pulled out, or gives up.
    #[cold]
    pub(super) fn selector_event(&mut self, selector: u32, who: u32) {
        if self.entities[who].at == PARKED {
            let chooser = &mut self.choosers[selector as usize];
            chooser.line.remove(&mut self.entities, who);
            chooser.tally.lose(self.now);
            self.entities[who].at = NONE;
            return self.end(who, true);
        }
        if !self.choosers[selector as usize].arms.iter().any(|arm| arm.alive) {
            return self.park(selector, who);
        }
        self.choose_again(selector, who);
    }

    /// `who` was waiting and an arm is up.
    fn choose_again(&mut self, selector: u32, who: u32) {
        let entity = &mut self.entities[who];
        entity.at = NONE;
        let waited = self.now.since(entity.entered);
        let chooser = &mut self.choosers[selector as usize];
        chooser.tally.depart(self.now, waited, entity.dir, entity.bytes);
        if let RouteStep::Branch { starts, .. } = self.steps[entity.hop as usize]
            && self.branch(selector, starts, who)
        {
            self.ready.push(&mut self.entities, who);
        }
    }

    /// An arm recovers and takes the I/Os that waited for one.
    pub(super) fn arm_up(&mut self, selector: u32, arm: u32) {
        let place = self.place_of_selector(selector);
        let chooser = &mut self.choosers[selector as usize];
        chooser.arms[arm as usize].alive = true;
        if chooser.line.is_empty() {
            return;
        }
        let entities = &self.entities;
        self.pending.remove(|event| event.place() == place && entities[event.who].at == PARKED);
        while let Some(who) = self.choosers[selector as usize].line.pop(&self.entities) {
            self.choose_again(selector, who);
        }
    }
}
