//! The event loop.

use super::event::{SimEvent, start_of};
use super::layout::RouteStep;
use super::station::Discipline;
use super::{Halt, Observer, SharedProgress, Simulation};
use crate::Ps;
use std::sync::Arc;

/// Events between two progress updates: some milliseconds.
pub(super) const BETWEEN_REPORTS: u32 = 1 << 16;

impl<O: Observer> Simulation<O> {
    /// Dispatches all events up to and including `until`.
    ///
    /// # Errors
    /// I/Os are outstanding but no event is left, time does not advance, or [`SharedProgress::stop`] was called.
    pub fn run_until(&mut self, until: Ps) -> Result<(), Halt> {
        let end = until.plus(Ps(1));
        while let Some((at, turn)) = self.scheduled.get(self.scheduled_done).copied()
            && at < end
        {
            self.run_before(at)?;
            self.standing = 0;
            self.now = self.now.max(at);
            self.scheduled_done += 1;
            self.apply(turn);
        }
        self.run_before(end)?;
        let over = self.first_due() == Ps::MAX;
        if over && self.scheduled_done == self.scheduled.len() && self.outstanding() > 0 {
            return Err(self.deadlock());
        }
        self.now = self.now.max(until);
        self.report()
    }

    /// Dispatches all events before `end`.
    fn run_before(&mut self, end: Ps) -> Result<(), Halt> {
        loop {
            let all = if self.apart.open { self.run_windows(end) } else { self.run_some(end) }?;
            if all {
                return Ok(());
            }
        }
    }

    /// Dispatches events before `end`, all of them or many; whether all, links apart left out.
    pub(super) fn run_some(&mut self, end: Ps) -> Result<bool, Halt> {
        let gap = self.pending.tune(self.now);
        if gap.is_some_and(|gap| self.apart.is_worth_it(gap)) && self.at_once.is_none() {
            self.open_apart();
            return Ok(false);
        }
        for _ in 0..BETWEEN_REPORTS {
            let Some(event) = self.next_before(end) else { return Ok(true) };
            if event.time == self.now {
                self.standing += 1;
                if self.standing > self.standing_max {
                    return Err(Halt::Livelock(self.now));
                }
            } else {
                self.now = event.time;
                self.standing = 0;
            }
            self.dispatched += 1;
            if let Some((who, hop)) = self.dispatch(event) {
                self.walk_here(who, hop);
                self.walk_ready();
            }
        }
        self.report()?;
        Ok(false)
    }

    /// Removes the first event before `end`; an alarm stays until its handler sets it again or clears it.
    #[inline]
    fn next_before(&mut self, end: Ps) -> Option<SimEvent> {
        let alarm = self.alarms.first();
        if let Some(due) = self.at_once.take() {
            // Events of this moment may come before it.
            let Some(first) = self.before(due, alarm) else { return Some(due) };
            self.at_once = Some(due);
            return Some(first);
        }
        let near = self.pending.pop_near(end.min(alarm));
        let first = near.or_else(|| self.pending.pop_before(start_of(end.min(alarm))));
        if first.is_some() || alarm >= end { first } else { self.ringing() }
    }

    /// The first event before `due`, which is now.
    #[inline]
    fn before(&mut self, due: SimEvent, alarm: Ps) -> Option<SimEvent> {
        let key = due.key();
        if alarm > self.now {
            return self.pending.pop_before(key);
        }
        let alarm = self.alarms.ringing()?.key();
        self.pending
            .pop_before(key.min(alarm))
            .or_else(|| self.alarms.ringing().filter(|_| alarm < key))
    }

    /// The first alarm, or an event of its moment that comes before it.
    #[inline]
    fn ringing(&mut self) -> Option<SimEvent> {
        let alarm = self.alarms.ringing()?;
        self.pending.pop_before(alarm.key()).or(Some(alarm))
    }

    /// Publishes progress in `progress` from now on, and halts when that asks for it.
    pub fn report_to(&mut self, progress: Arc<SharedProgress>) {
        self.progress = Some(progress);
    }

    pub(super) fn report(&self) -> Result<(), Halt> {
        match &self.progress {
            Some(progress) if progress.tell(self.now, self.dispatched) => {
                Err(Halt::Stopped(self.now))
            }
            _ => Ok(()),
        }
    }

    /// What an event does. Who continues first, and at which step: one place for all that continue, which nearly always
    /// somebody does, is all that the compiler puts into the loop.
    #[inline]
    fn dispatch(&mut self, event: SimEvent) -> Option<(u32, u32)> {
        let place = event.place();
        match self.stations.get_mut(place as usize).map(|place| &mut place.kind) {
            Some(Discipline::Queue(_)) => {
                return self.served_in_line(place, event.who, event.hop);
            }
            Some(Discipline::Delay(_) | Discipline::Foreseen(_)) => {
                let hop = self.entities[event.who].hop;
                if let RouteStep::Run { run, next, .. } = self.steps[hop as usize] {
                    self.run_ends(run, next, event.who);
                    return Some((event.who, next));
                }
                self.leave(place, event.who);
                return Some((event.who, hop + 1));
            }
            Some(Discipline::Fluid(fluid)) => {
                if fluid.apart {
                    return Some((event.who, event.hop + 1));
                }
                let left = fluid.leave(event.time);
                if let Some(who) = left {
                    self.leave(place, who);
                }
                self.set_alarm(place);
                return left.map(|who| (who, self.entities[who].hop + 1));
            }
            Some(Discipline::Batch(_)) => self.gathered(place),
            Some(Discipline::Gated(_)) => self.gate_alarm(place),
            // Processors have no events of their own.
            Some(Discipline::Processors(_)) => {}
            None => {
                let load = place - self.stations.len() as u32;
                match load.checked_sub(self.origins.len() as u32) {
                    None => self.issue_from(load, event.who),
                    Some(_) if place == self.place_of_releases() => {
                        self.release_processor(event.who);
                    }
                    Some(selector) => self.selector_event(selector, event.who),
                }
            }
        }
        self.next_ready()
    }

    /// Adds an event `span` from now.
    #[inline]
    pub(super) fn schedule(&mut self, span: Ps, place: u32, who: u32) {
        self.schedule_at(self.now.plus(span), place, who);
    }

    /// Adds the end of the service of `who`, which is at `hop`, in a queue.
    #[inline]
    pub(super) fn schedule_end(&mut self, span: Ps, place: u32, who: u32, hop: u32) {
        let event = SimEvent::new(self.now.plus(span), place, self.sequence, who).at_hop(hop);
        self.pending.push(event);
        self.sequence += 1;
    }

    /// Adds an event of this moment. It need not be queued if it is the only one, and nearly always it is.
    #[inline]
    pub(super) fn schedule_at_once(&mut self, place: u32, who: u32) {
        let event = SimEvent::new(self.now, place, self.sequence, who);
        self.sequence += 1;
        if let Some(other) = self.at_once.replace(event) {
            self.pending.push(other);
        }
    }

    /// Adds an event, of links apart where `apart` names some. It has been given the next sequence number.
    #[inline]
    pub(super) fn schedule_apart(&mut self, apart: u16, event: SimEvent) {
        self.sequence += 1;
        match self.apart.links.get_mut(usize::from(apart)) {
            Some(links) => links.due.push(event),
            None => self.pending.push(event),
        }
    }

    /// Adds an event.
    #[inline]
    pub(super) fn schedule_at(&mut self, time: Ps, place: u32, who: u32) {
        self.pending.push(SimEvent::new(time, place, self.sequence, who));
        self.sequence += 1;
    }

    /// Sets the alarm of a fluid station to its next departure.
    pub(super) fn set_alarm(&mut self, place: u32) {
        let Discipline::Fluid(fluid) = &self.stations[place as usize].kind else { return };
        match fluid.next() {
            Some(time) => self.alarms.set(place, time),
            None => self.alarms.clear(place),
        }
    }

    /// I/Os between issue and end.
    pub fn outstanding(&self) -> u64 {
        self.classes.iter().map(|class| u64::from(class.account.tally.level().present)).sum()
    }

    /// The simulated time reached.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// Events dispatched so far.
    pub fn dispatched(&self) -> u64 {
        self.dispatched
    }

    /// Events not yet dispatched.
    pub fn pending(&self) -> usize {
        self.pending.len() + self.apart.events().count()
    }

    /// The observer.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The observer, to take out what it recorded.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }
}
