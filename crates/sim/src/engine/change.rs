//! Scheduled changes: arms fail and recover, link rates change, stations stop and resume.
//!
//! When an arm fails: all I/Os on it are removed from where they are, with their tokens; the stations they were at
//! serve the next in their queues, in order of number; tokens are granted again, pool by pool; then the removed I/Os
//! wait, in the order of issue, until they choose an arm again. Background copies have left the arm and continue.

use super::entity::{Fifo, NONE};
use super::layout::RouteStep;
use super::station::Discipline;
use super::{Observer, Scheduled, Simulation};
use crate::model::Change;

impl<O: Observer> Simulation<O> {
    /// Carries out a scheduled begin or change.
    #[cold]
    pub(super) fn apply(&mut self, turn: Scheduled) {
        match turn {
            Scheduled::Begin(load) => self.start(load),
            Scheduled::Change(Change::ArmDown { selector, arm }) => self.arm_down(selector.0, arm),
            Scheduled::Change(Change::ArmUp { selector, arm }) => self.arm_up(selector.0, arm),
            Scheduled::Change(Change::LinkRate { station, link, rate }) => {
                let place = &mut self.stations[station.0 as usize];
                if let Discipline::Fluid(fluid) = &mut place.kind {
                    fluid.set_rate(self.now, link, rate);
                }
                self.set_alarm(station.0);
            }
            Scheduled::Change(Change::Stop(station)) => self.stop(station.0, true),
            Scheduled::Change(Change::Go(station)) => self.stop(station.0, false),
            Scheduled::Change(Change::LoadStop(load)) => {
                self.origins[load.0 as usize].stopped = true
            }
            Scheduled::Change(Change::LoadStart(load)) => self.resume(load.0),
        }
        self.walk_ready();
    }

    /// A station stops serving new I/Os, or resumes.
    fn stop(&mut self, station: u32, stopped: bool) {
        let now = self.now;
        let place = &mut self.stations[station as usize];
        match &mut place.kind {
            Discipline::Queue(queue) => {
                queue.servers = if stopped { 0 } else { queue.servers_all };
                self.refill(station);
            }
            Discipline::Delay(delay) => {
                delay.stopped = stopped;
                if !stopped {
                    let mut line = std::mem::replace(&mut delay.line, Fifo::EMPTY);
                    while let Some(who) = line.pop(&self.entities) {
                        self.stations[station as usize].tally.begin(now);
                        let demand = self.entities[who].demand;
                        self.schedule_end(demand, station, who, self.entities[who].hop);
                    }
                }
            }
            Discipline::Fluid(fluid) => {
                fluid.stop(now, stopped);
                place.tally.set_busy(now, fluid.at_work());
                self.set_alarm(station);
            }
            Discipline::Batch(batch) => {
                batch.stopped = stopped;
                self.gathered(station);
            }
            Discipline::Gated(_) | Discipline::Processors(_) => self.stop_gate(station, stopped),
            // There is none in a network that changes.
            Discipline::Foreseen(_) => {}
        }
    }

    /// An arm fails.
    fn arm_down(&mut self, selector: u32, arm: u32) {
        if !std::mem::take(&mut self.choosers[selector as usize].arms[arm as usize].alive) {
            return;
        }
        let mut pulled = std::mem::take(&mut self.pulled);
        pulled.extend(
            (0..self.entities.count()).filter(|who| self.on(*who, selector, arm).is_some()),
        );
        self.unschedule(selector, arm);
        for who in &pulled {
            self.pull(*who);
            self.give_back(*who, selector, arm);
        }
        (0..self.stations.len() as u32).for_each(|station| self.refill(station));
        (0..self.pools.len() as u32).for_each(|pool| self.grant(pool));
        pulled.retain(|who| self.belongs(*who, selector, arm));
        pulled.sort_unstable_by_key(|who| self.copies[*who as usize].number);
        let patience = self.choosers[selector as usize].patience;
        let place = self.place_of_selector(selector);
        for who in pulled.drain(..) {
            self.send_back(selector, arm, who);
            self.schedule(patience, place, who);
        }
        self.pulled = pulled;
    }

    /// Where `who` is on its way within this arm: the arm's level at its step.
    fn on(&self, who: u32, selector: u32, arm: u32) -> Option<usize> {
        self.scopes.get(self.entities[who].hop as usize)?.level(selector, arm)
    }

    /// Cancels the events of all I/Os within an arm: ends of service, of patience, and of waiting for an arm.
    fn unschedule(&mut self, selector: u32, arm: u32) {
        let (entities, scopes) = (&self.entities, &self.scopes);
        let stations = self.stations.len() as u32;
        let sources = stations..stations + self.origins.len() as u32;
        let releases = self.place_of_releases();
        self.pending.remove(|event| {
            let of_source = sources.contains(&event.place()) || event.place() == releases;
            let scope = || scopes.get(entities[event.who].hop as usize);
            !of_source && scope().is_some_and(|of| of.level(selector, arm).is_some())
        });
    }

    /// Takes `who` off the arm and the arms within it, and returns the tokens it took there without granting them yet.
    fn give_back(&mut self, who: u32, selector: u32, arm: u32) {
        let scope = &self.scopes[self.entities[who].hop as usize];
        let Some(level) = scope.level(selector, arm) else { return };
        let own = level.max(scope.inherited);
        for within in &scope.arms[own..] {
            self.choosers[within.selector as usize].arms[within.arm as usize].inside -= 1;
        }
        // A copy of an I/O within the arm held nothing when it began.
        let copy = level < scope.inherited;
        let before: &[(u32, u32)] =
            if copy { &[] } else { &self.scopes[scope.arms[level].branch as usize].held };
        for (number, held) in &scope.held {
            let kept = before.iter().find(|(of, _)| of == number).map_or(0, |(_, kept)| *kept);
            let pool = &mut self.pools[*number as usize];
            pool.give(held - kept, self.now);
        }
    }

    /// Whether `who` itself is within the arm; if not, it is a copy whose I/O is within it, and is discarded.
    fn belongs(&mut self, who: u32, selector: u32, arm: u32) -> bool {
        let scope = &self.scopes[self.entities[who].hop as usize];
        let belongs = scope.level(selector, arm).is_some_and(|level| level >= scope.inherited);
        if !belongs {
            self.entities.give(who);
        }
        belongs
    }

    /// Returns `who` to the branch.
    fn send_back(&mut self, selector: u32, arm: u32, who: u32) {
        let scope = &self.scopes[self.entities[who].hop as usize];
        let Some(level) = scope.level(selector, arm) else { return };
        let entity = &mut self.entities[who];
        entity.hop = scope.arms[level].branch;
        (entity.at, entity.entered) = (NONE, self.now);
        self.choosers[selector as usize].tally.arrive(self.now);
    }

    /// Removes `who` from where it is. Its events are already cancelled.
    fn pull(&mut self, who: u32) {
        let entity = &self.entities[who];
        let stayed = self.now.since(entity.entered);
        match self.steps[entity.hop as usize] {
            RouteStep::Visit { .. }
            | RouteStep::Spread { .. }
            | RouteStep::RaidPart { .. }
            | RouteStep::Cross { .. } => {
                self.pull_from_station(entity.at, who);
            }
            RouteStep::Take { pool, .. } => {
                let pool = &mut self.pools[pool as usize];
                pool.line.remove(&mut self.entities, who);
                pool.tally.pull(self.now, stayed);
            }
            // It waits at a branch within the arm, for the end of its patience or for an arm to recover.
            RouteStep::Branch { selector, .. } => {
                let chooser = &mut self.choosers[selector as usize];
                chooser.line.remove(&mut self.entities, who);
                chooser.tally.pull(self.now, stayed);
            }
            // An I/O that waits for copies is in no queue.
            _ => {}
        }
    }

    /// Removes `who` from a station: from its queue, from before it, or from service.
    fn pull_from_station(&mut self, station: u32, who: u32) {
        let now = self.now;
        let Some(place) = self.stations.get_mut(station as usize) else { return };
        let stayed = now.since(self.entities[who].entered);
        match &mut place.kind {
            Discipline::Queue(queue) => {
                if queue.door.remove(&mut self.entities, who) {
                    queue.at_door -= 1;
                    let kept = std::mem::replace(&mut self.entities[who].keeps, NONE);
                    if let Some(before) = self.stations.get_mut(kept as usize) {
                        before.tally.pull(now, stayed);
                        before.tally.unblock(now);
                    }
                    return;
                }
                let waited = queue.remove(&mut self.entities, who);
                place.tally.pull(now, stayed);
                if !waited {
                    place.tally.end(now);
                }
            }
            Discipline::Delay(delay) => {
                let waited = delay.line.remove(&mut self.entities, who);
                place.tally.pull(now, stayed);
                if !waited {
                    place.tally.end(now);
                }
            }
            Discipline::Fluid(fluid) => {
                place.tally.pull(now, stayed);
                let hop = self.entities[who].hop as usize;
                if let RouteStep::Cross { path, size, .. } = self.steps[hop]
                    && self.figures.sizes[size as usize].brings_payload()
                {
                    fluid.tally(path).pull(now, stayed);
                }
                fluid.remove(now, who);
                place.tally.set_busy(now, fluid.at_work());
                self.set_alarm(station);
            }
            Discipline::Gated(gated) => {
                place.tally.pull(now, stayed);
                gated.pull(&mut self.entities, who);
            }
            Discipline::Processors(_) | Discipline::Foreseen(_) => {}
            Discipline::Batch(batch) => {
                place.tally.pull(now, stayed);
                batch.line.remove(&mut self.entities, who);
                batch.here -= 1;
                if batch.here == 0 {
                    self.alarms.clear(station);
                }
            }
        }
    }
}
