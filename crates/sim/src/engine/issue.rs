//! How sources issue I/Os, and how an I/O's end affects its source.

use super::entity::{NONE, NOT_ISSUED};
use super::source::{AlwaysOp, SourceKind};
use super::{Observer, Simulation};
use crate::Ps;
use crate::model::Operations;
use crate::model::{Begin, Network};
use clock::Ns;
use workload::Next;

impl<O: Observer> Simulation<O> {
    /// Starts all sources that begin at time 0.
    pub(super) fn begin(&mut self, network: &Network) {
        for (number, load) in (0..).zip(&network.loads) {
            if load.begins == Begin::Now {
                self.start(number);
            }
        }
    }

    /// Schedules the first event of a source.
    pub(super) fn start(&mut self, load: u32) {
        let place = self.place_of(load);
        let origin = &mut self.origins[load as usize];
        origin.origin = self.now.as_ns();
        match &mut origin.kind {
            SourceKind::Closed { customers, .. } => {
                for _ in 0..*customers {
                    let Some(who) = self.entities.take() else { return };
                    let pause = self.origins[load as usize].pause();
                    self.schedule(pause, place, who);
                }
            }
            SourceKind::Open(_) => self.await_arrival(load),
            SourceKind::Operations(worker) => {
                for slot in 0..worker.streams.len() as u32 {
                    self.schedule(Ps::ZERO, place, slot);
                }
            }
        }
    }

    /// Starts the arrival clock.
    fn await_arrival(&mut self, load: u32) {
        let place = self.place_of(load);
        let now = self.now;
        let origin = &mut self.origins[load as usize];
        let SourceKind::Open(open) = &mut origin.kind else { return };
        open.due = now.plus(open.gap.draw(&mut origin.rng));
        let due = open.due;
        self.schedule_at(due, place, 0);
    }

    /// A stopped source issues again.
    pub(super) fn resume(&mut self, load: u32) {
        let place = self.place_of(load);
        let origin = &mut self.origins[load as usize];
        origin.stopped = false;
        let mut parked = std::mem::take(&mut origin.parked);
        let open = matches!(origin.kind, SourceKind::Open(_));
        for who in parked.drain(..) {
            if open {
                self.await_arrival(load);
            } else {
                self.schedule(Ps::ZERO, place, who);
            }
        }
        self.origins[load as usize].parked = parked;
    }

    /// When all loads had done what they had to do; `None` before that.
    pub fn over_at(&self) -> Option<Ps> {
        let over = self.origins.iter().all(|origin| origin.done);
        self.origins.iter().map(|origin| origin.done_at).max().filter(|_| over)
    }

    /// Whether all I/Os of a load have ended; if so, starts the loads that waited for it.
    fn is_done(&mut self, load: u32) {
        let first = self.origins[load as usize].first_class;
        let its = self.classes[first as usize..].iter().take_while(|class| class.load == load);
        let outstanding: u32 = its.map(|class| class.account.tally.level().present).sum();
        let origin = &mut self.origins[load as usize];
        if outstanding > 0 || std::mem::replace(&mut origin.done, true) {
            return;
        }
        origin.done_at = self.now;
        for number in 0..self.origins[load as usize].followers.len() {
            let follower = self.origins[load as usize].followers[number];
            let waits = &mut self.origins[follower as usize].waits;
            *waits -= 1;
            if *waits == 0 {
                self.start(follower);
            }
        }
    }

    /// The load's position in the order of events: after all stations.
    #[inline]
    fn place_of(&self, load: u32) -> u32 {
        self.stations.len() as u32 + load
    }

    /// Handles a source's event: a customer returns, an arrival is due, or a slot asks for an operation.
    #[inline]
    pub(super) fn issue_from(&mut self, load: u32, who: u32) {
        let origin = &mut self.origins[load as usize];
        match &mut origin.kind {
            SourceKind::Closed { .. } => {
                if !origin.may_issue(who) {
                    return;
                }
                let class = origin.choose();
                let now = self.now;
                self.issue(who, class, 0, now, None);
            }
            SourceKind::Open(open) if open.outstanding >= open.limit => open.late = true,
            SourceKind::Open(_) => self.arrival(load),
            SourceKind::Operations(_) => self.ask(load, who),
        }
    }

    /// Issues the arrival that is due and schedules the next one.
    fn arrival(&mut self, load: u32) {
        let place = self.place_of(load);
        let origin = &mut self.origins[load as usize];
        if !origin.may_issue(0) {
            if let SourceKind::Open(open) = &mut origin.kind {
                open.late = false;
            }
            return;
        }
        let class = origin.choose();
        let ended = origin.left == 0;
        let SourceKind::Open(open) = &mut origin.kind else { return };
        let due = open.due;
        open.due = due.plus(open.gap.draw(&mut origin.rng));
        open.outstanding += 1;
        // An arrival that is already overdue is found when an I/O ends: within the limit there is none.
        open.late = !ended && open.due <= self.now && open.outstanding >= open.limit;
        if !open.late && !ended {
            let next = open.due.max(self.now);
            self.schedule_at(next, place, 0);
        }
        let Some(who) = self.entities.take() else { return };
        self.issue(who, class, 0, due, None);
    }

    /// Asks a slot for its next operation; for an open loop, for all that are due.
    fn ask(&mut self, load: u32, slot: u32) {
        let place = self.place_of(load);
        let began = self.origins[load as usize].origin;
        let now = Ns(self.now.as_ns().0 - began.0);
        let later = |at: Ns| Ps::from(Ns(at.0.saturating_add(began.0)));
        loop {
            let origin = &mut self.origins[load as usize];
            if origin.left == 0 || origin.stopped {
                if origin.stopped {
                    origin.parked.push(slot);
                }
                return;
            }
            let SourceKind::Operations(worker) = &mut origin.kind else { return };
            if worker.outstanding >= worker.limit {
                worker.late = worker.open;
                return;
            }
            if let Some(AlwaysOp { class, bytes, offset }) = worker.always {
                worker.outstanding += 1;
                origin.left -= 1;
                let Some(who) = self.entities.take() else { return };
                return self.issue(who, class, slot, self.now, Some((offset, bytes)));
            }
            match worker.streams[slot as usize].next(now) {
                Next::Op(op) => {
                    worker.outstanding += 1;
                    // A flush is none of those that were counted.
                    origin.left -= u64::from(op.len > 0);
                    let class = origin.first_class
                        + worker.kinds * u32::from(op.target)
                        + Operations::place(op.dir, op.fua);
                    let bytes = if op.dir.moves_data() { op.len } else { 0 };
                    let Some(who) = self.entities.take() else { return };
                    let slot = worker.streams[slot as usize].token().unwrap_or(slot);
                    // A closed loop's operation is due when the slot asks, which is now to the picosecond.
                    let due = if op.due == now { self.now } else { later(op.due) };
                    self.issue(who, class, slot, due, Some((op.offset, bytes)));
                }
                Next::At(at) => return self.schedule_at(later(at), place, slot),
                Next::AwaitCompletion => return,
                Next::Done => {
                    worker.over += 1;
                    if worker.over == worker.streams.len() as u32 {
                        origin.left = 0;
                        self.is_done(load);
                    }
                    return;
                }
            }
        }
    }

    /// An I/O starts its route.
    #[inline]
    fn issue(&mut self, who: u32, class: u32, slot: u32, due: Ps, at: Option<(u64, u32)>) {
        let of = &mut self.classes[class as usize];
        // I/Os without addresses follow each other.
        let next = || (of.account.tally.arrivals().saturating_mul(u64::from(of.bytes)), of.bytes);
        let (offset, bytes) = at.unwrap_or_else(next);
        let entity = &mut self.entities[who];
        (entity.due, entity.issued) = (due, self.now);
        match of.submits {
            true => entity.issued = NOT_ISSUED,
            false => of.account.tally.arrive(self.now),
        }
        (entity.class, entity.slot, entity.hop) = (class, slot, of.first_step);
        (entity.dir, entity.priority) = (of.dir, of.priority);
        entity.bytes = bytes;
        self.begins(who, NONE, offset);
        self.ready.push(&mut self.entities, who);
    }

    /// An I/O has ended: its customer thinks, or the source issues what was waiting for it.
    #[inline]
    pub(super) fn ended_at_source(&mut self, load: u32, slot: u32, who: u32) {
        let place = self.place_of(load);
        let now = self.now;
        let origin = &mut self.origins[load as usize];
        let ended = origin.left == 0;
        match &mut origin.kind {
            SourceKind::Closed { think, .. } => {
                let pause = think.draw(&mut origin.rng);
                self.schedule(pause, place, who);
            }
            SourceKind::Open(open) => {
                open.outstanding -= 1;
                let late = open.late;
                self.entities.give(who);
                if late {
                    self.arrival(load);
                }
            }
            SourceKind::Operations(worker) => {
                let entry = slot;
                worker.outstanding -= 1;
                if worker.always.is_some() {
                    self.entities.give(who);
                    self.schedule_at_once(place, slot);
                    if ended {
                        self.is_done(load);
                    }
                    return;
                }
                let at = Ns(now.as_ns().0 - origin.origin.0);
                // The I/Os of a trace have numbers of their own in place of slots, and one stream.
                let (stream, slot) = match worker.replay {
                    true => (&mut worker.streams[0], 0),
                    false => (&mut worker.streams[slot as usize], slot),
                };
                stream.completed_one(entry, at);
                let again = !worker.open || std::mem::take(&mut worker.late);
                self.entities.give(who);
                if again {
                    self.schedule_at_once(place, slot);
                }
            }
        }
        if ended {
            self.is_done(load);
        }
    }
}
