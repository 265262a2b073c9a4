//! The event loop.

use super::event::{EventKey, SimEvent, end_of, start_of};
use super::layout::RouteStep;
use super::station::Discipline;
use super::{Halt, Observer, SharedProgress, Simulation};
use crate::Ps;
use std::sync::Arc;

/// Events between two progress updates: some milliseconds.
const BETWEEN_REPORTS: u32 = 1 << 16;

impl<O: Observer> Simulation<O> {
    /// Dispatches all events up to and including `until`.
    ///
    /// # Errors
    /// I/Os are outstanding but no event is left, time does not advance, or [`SharedProgress::stop`] was called.
    pub fn run_until(&mut self, until: Ps) -> Result<(), Halt> {
        let end = end_of(until);
        while let Some((at, turn)) = self.scheduled.get(self.scheduled_done).copied()
            && start_of(at) < end
        {
            self.run_before(start_of(at))?;
            self.standing = 0;
            self.now = self.now.max(at);
            self.scheduled_done += 1;
            self.apply(turn);
        }
        self.run_before(end)?;
        let over = self.pending.is_empty() && self.alarms.is_empty();
        if over && self.scheduled_done == self.scheduled.len() && self.outstanding() > 0 {
            return Err(self.deadlock());
        }
        self.now = self.now.max(until);
        self.report()
    }

    /// Dispatches all events before `end`.
    fn run_before(&mut self, end: EventKey) -> Result<(), Halt> {
        loop {
            for _ in 0..BETWEEN_REPORTS {
                let alarm = self.alarms.first();
                let event = match self.pending.pop_before(end.min(alarm)) {
                    Some(event) => event,
                    // The handler sets the alarm again or clears it.
                    None if alarm < end => match self.alarms.ringing() {
                        Some(event) => event,
                        None => return Ok(()),
                    },
                    None => return Ok(()),
                };
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
                self.dispatch(event);
            }
            self.report()?;
        }
    }

    /// Publishes progress in `progress` from now on, and halts when that asks for it.
    pub fn report_to(&mut self, progress: Arc<SharedProgress>) {
        self.progress = Some(progress);
    }

    fn report(&self) -> Result<(), Halt> {
        match &self.progress {
            Some(progress) if progress.tell(self.now, self.dispatched) => {
                Err(Halt::Stopped(self.now))
            }
            _ => Ok(()),
        }
    }

    #[inline]
    fn dispatch(&mut self, event: SimEvent) {
        let place = event.place();
        match self.stations.get_mut(place as usize).map(|place| &mut place.kind) {
            Some(Discipline::Queue(_)) => self.served_in_line(place, event.who),
            Some(Discipline::Delay(_) | Discipline::Foreseen(_)) => {
                let hop = self.entities[event.who].hop as usize;
                if let RouteStep::Run { run, next, .. } = self.steps[hop] {
                    self.run_ends(run, next, event.who);
                    return self.walk_ready();
                }
                self.leave(place, event.who);
                self.go_on_first(event.who);
            }
            Some(Discipline::Fluid(fluid)) => {
                if let Some(who) = fluid.leave(event.time) {
                    self.leave(place, who);
                    self.set_alarm(place);
                    self.go_on_first(who);
                } else {
                    self.set_alarm(place);
                }
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
        self.walk_ready();
    }

    /// Adds an event `span` from now.
    #[inline]
    pub(super) fn schedule(&mut self, span: Ps, place: u32, who: u32) {
        self.schedule_at(self.now.plus(span), place, who);
    }

    /// Adds an event `span` from now, on this lane.
    #[inline]
    pub(super) fn schedule_on(&mut self, lane: u8, span: Ps, place: u32, who: u32) {
        let event = SimEvent::new(self.now.plus(span), place, self.sequence, who);
        self.pending.push_on(lane, event);
        self.sequence += 1;
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
        self.pending.len()
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
