//! The loop.

use super::event::{Event, end_of};
use super::station::Kind;
use super::{Halt, Observer, Simulation};
use crate::Ps;

impl<O: Observer> Simulation<O> {
    /// Lets everything happen that happens until `until`, that moment included.
    ///
    /// # Errors
    /// Nothing can happen any more although I/Os are outstanding, or time does not pass.
    pub fn run_until(&mut self, until: Ps) -> Result<(), Halt> {
        let end = end_of(until);
        loop {
            let alarm = self.alarms.first();
            let event = match self.pending.pop_before(end.min(alarm)) {
                Some(event) => event,
                None if alarm < end => match self.alarms.pop() {
                    Some(event) => event,
                    None => break,
                },
                None => break,
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
        if self.pending.is_empty() && self.alarms.is_empty() && self.outstanding() > 0 {
            return Err(Halt::Deadlock(self.now));
        }
        self.now = self.now.max(until);
        Ok(())
    }

    #[inline]
    fn dispatch(&mut self, event: Event) {
        let place = event.place();
        match self.places.get_mut(place as usize).map(|place| &mut place.kind) {
            Some(Kind::Queue(_)) => self.served_in_line(place, event.who),
            Some(Kind::Delay) => {
                self.leave(place, event.who);
                self.go_on(event.who);
            }
            Some(Kind::Fluid(fluid)) => {
                if let Some(who) = fluid.leave(event.time) {
                    self.leave(place, who);
                    self.go_on(who);
                }
                self.set_alarm(place);
            }
            None => self.issue_from(place - self.places.len() as u32, event.who),
        }
        self.walk_ready();
    }

    /// Adds an event `span` from now.
    #[inline]
    pub(super) fn schedule(&mut self, span: Ps, place: u32, who: u32) {
        self.schedule_at(self.now.plus(span), place, who);
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
            Some(time) => {
                self.alarms.set(Event::new(time, place, self.sequence, 0));
                self.sequence += 1;
            }
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
