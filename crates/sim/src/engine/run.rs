//! The loop.

use super::event::{Event, Key, end_of, start_of};
use super::layout::Step;
use super::station::Kind;
use super::{Halt, Observer, Progress, Simulation};
use crate::Ps;
use std::sync::Arc;

/// Events between two looks at who wants to know how far it is: some milliseconds.
const BETWEEN_REPORTS: u32 = 1 << 16;

impl<O: Observer> Simulation<O> {
    /// Lets everything happen that happens until `until`, that moment included.
    ///
    /// # Errors
    /// Nothing can happen any more although I/Os are outstanding, time does not pass, or [`Progress::stop`] was called.
    pub fn run_until(&mut self, until: Ps) -> Result<(), Halt> {
        let end = end_of(until);
        while let Some((at, turn)) = self.turns.get(self.turned).copied()
            && start_of(at) < end
        {
            self.run_before(start_of(at))?;
            self.standing = 0;
            self.now = self.now.max(at);
            self.turned += 1;
            self.turn(turn);
        }
        self.run_before(end)?;
        let over = self.pending.is_empty() && self.alarms.is_empty();
        if over && self.turned == self.turns.len() && self.outstanding() > 0 {
            return Err(self.deadlock());
        }
        self.now = self.now.max(until);
        self.report()
    }

    /// Dispatches all events before `end`.
    fn run_before(&mut self, end: Key) -> Result<(), Halt> {
        loop {
            for _ in 0..BETWEEN_REPORTS {
                let alarm = self.alarms.first();
                let event = match self.pending.pop_before(end.min(alarm)) {
                    Some(event) => event,
                    // Whoever answers it sets it anew, or clears it.
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

    /// From now on says in `progress` how far it is, and halts when that says so.
    pub fn report_to(&mut self, progress: Arc<Progress>) {
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
    fn dispatch(&mut self, event: Event) {
        let place = event.place();
        match self.places.get_mut(place as usize).map(|place| &mut place.kind) {
            Some(Kind::Queue(_)) => self.served_in_line(place, event.who),
            Some(Kind::Delay(_)) => {
                let hop = self.entities[event.who].hop as usize;
                if let Step::Run { run, next, .. } = self.steps[hop] {
                    self.run_ends(run, next, event.who);
                    return self.walk_ready();
                }
                self.leave(place, event.who);
                self.go_on_first(event.who);
            }
            Some(Kind::Fluid(fluid)) => {
                if let Some(who) = fluid.leave(event.time) {
                    self.leave(place, who);
                    self.set_alarm(place);
                    self.go_on_first(who);
                } else {
                    self.set_alarm(place);
                }
            }
            Some(Kind::Batch(_)) => self.gathered(place),
            None => {
                let load = place - self.places.len() as u32;
                match load.checked_sub(self.origins.len() as u32) {
                    None => self.issue_from(load, event.who),
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

    /// Adds an event `span` from now, as all that are pushed on this lane.
    #[inline]
    pub(super) fn schedule_on(&mut self, lane: u8, span: Ps, place: u32, who: u32) {
        let event = Event::new(self.now.plus(span), place, self.sequence, who);
        self.pending.push_on(lane, event);
        self.sequence += 1;
    }

    /// Adds an event.
    #[inline]
    pub(super) fn schedule_at(&mut self, time: Ps, place: u32, who: u32) {
        self.pending.push(Event::new(time, place, self.sequence, who));
        self.sequence += 1;
    }

    /// Sets the alarm of a station of links or shared servers to its next departure.
    pub(super) fn set_alarm(&mut self, place: u32) {
        let Kind::Fluid(fluid) = &self.places[place as usize].kind else { return };
        match fluid.next() {
            Some(time) => self.alarms.set(place, time),
            None => self.alarms.clear(place),
        }
    }

    /// I/Os between issue and end.
    pub fn outstanding(&self) -> u64 {
        self.classes.iter().map(|class| u64::from(class.account.tally.level.present)).sum()
    }

    /// The moment that it has come to.
    pub fn now(&self) -> Ps {
        self.now
    }

    /// Events dispatched so far.
    pub fn dispatched(&self) -> u64 {
        self.dispatched
    }

    /// Events that wait for their time.
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// Who was told of each I/O.
    pub fn observer(&self) -> &O {
        &self.observer
    }

    /// The same, to take out what it has heard.
    pub fn observer_mut(&mut self) -> &mut O {
        &mut self.observer
    }
}
