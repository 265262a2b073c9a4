//! How I/Os enter stations, leave them and continue along their routes.

use super::entity::{Entity, Fifo, NONE, NOT_ISSUED};
use super::event::SimEvent;
use super::layout::{RouteStep, Strand};
use super::station::Discipline;
use super::{Ended, Observer, Simulation};
use crate::model::Full;
use clock::Rng;

impl<O: Observer> Simulation<O> {
    /// Continues all I/Os that are ready, and those that become ready thereby.
    #[inline]
    pub(super) fn walk_ready(&mut self) {
        while let Some(who) = self.ready.pop(&self.entities) {
            self.walk(who, self.entities[who].hop);
        }
    }

    /// Takes the first I/O that is ready, and where it continues.
    #[inline]
    pub(super) fn next_ready(&mut self) -> Option<(u32, u32)> {
        let first = self.ready.pop(&self.entities)?;
        Some((first, self.entities[first].hop))
    }

    /// Makes `who` ready to continue after its hop.
    #[inline]
    fn go_on(&mut self, who: u32) {
        self.entities[who].hop += 1;
        self.ready.push(&mut self.entities, who);
    }

    /// As [`Simulation::walk_here`], where that is seldom.
    #[inline(never)]
    fn walk(&mut self, who: u32, hop: u32) {
        self.walk_here(who, hop);
    }

    /// Starts this hop of `who` and every following one that takes no time, until it comes to rest.
    #[inline(always)]
    pub(super) fn walk_here(&mut self, who: u32, mut hop: u32) {
        let (station, demand) = loop {
            match self.steps[hop as usize] {
                RouteStep::Visit { station, demand } => break (station, demand),
                RouteStep::TakeVisit { pool, station, demand } => {
                    if !self.take(pool, 1, who) {
                        self.entities[who].hop = hop;
                        return;
                    }
                    hop += 1;
                    break (station, demand);
                }
                RouteStep::GiveVisit { pool, station, demand } => {
                    self.give(pool, 1);
                    hop += 1;
                    break (station, demand);
                }
                RouteStep::PassVisit { ahead, place, station, demand } => {
                    self.pass_tokens(place, who);
                    hop += u32::from(ahead);
                    break (station, demand);
                }
                RouteStep::Take { pool, tokens } => {
                    if !self.take(pool, tokens, who) {
                        self.entities[who].hop = hop;
                        return;
                    }
                    hop += 1;
                }
                RouteStep::Give { pool, tokens } => {
                    self.give(pool, tokens);
                    hop += 1;
                }
                RouteStep::Pass { place, to } => {
                    self.pass_tokens(place, who);
                    hop = to;
                }
                step => {
                    self.entities[who].hop = hop;
                    let Some(next) = self.rest_or_turn(step, hop + 1, who) else { return };
                    hop = next;
                }
            }
        };
        self.entities[who].hop = hop;
        if !self.queue_up(station, demand, who) {
            self.visit(station, who);
        }
    }

    /// Does a step of `who`; where it leads if `who` does not come to rest there.
    #[inline]
    fn rest_or_turn(&mut self, step: RouteStep, next: u32, who: u32) -> Option<u32> {
        match step {
            RouteStep::Spread { first, count, .. } => {
                let station = first + self.chance_of(who).below(u64::from(count)) as u32;
                self.visit(station, who);
            }
            RouteStep::Cross { station, path, size } => {
                self.cross(station, path, size, who);
                self.set_alarm(station);
            }
            RouteStep::Run { run, last, .. } => self.run_begins(run, last, who),
            RouteStep::End => self.end(who, false),
            RouteStep::PassEnd { place } => {
                self.pass_tokens(place, who);
                self.end(who, false);
            }
            step => return self.turn(step, next, who),
        }
        None
    }

    /// Does a step of `who` that takes no time and may lead elsewhere than to the `next` one; where it leads, if `who` does
    /// not come to rest there.
    fn turn(&mut self, step: RouteStep, next: u32, who: u32) -> Option<u32> {
        match step {
            RouteStep::Skip { chance, to } => {
                let chance = self.figures.chances[chance as usize];
                return Some(if self.chance_of(who).chance(chance) { to } else { next });
            }
            RouteStep::SkipHeld { pool, chances, to } => {
                let chances = &self.figures.held[chances as usize];
                let chance = self.pools[pool as usize].chance(chances);
                return Some(if self.chance_of(who).chance(chance) { to } else { next });
            }
            RouteStep::As { dir } => {
                self.entities[who].dir = dir;
                return Some(next);
            }
            RouteStep::Submit => {
                self.submit(who);
                return Some(next);
            }
            RouteStep::Branch { selector, starts } => {
                return self.branch(selector, starts, who).then(|| self.entities[who].hop);
            }
            RouteStep::Leave { selector, arm, to } => {
                self.choosers[selector as usize].arms[arm as usize].inside -= 1;
                return Some(to);
            }
            RouteStep::Fork { start, next } => {
                self.fork(start, who);
                return Some(next);
            }
            RouteStep::Raid { visit } => self.raid(visit, who),
            RouteStep::Together { starts, count, .. } => self.together(starts, count, who),
            RouteStep::Joined => self.joined(who, false),
            RouteStep::Gone => self.entities.give(who),
            // The disks of a RAID group are entered by the group as a whole; the other steps have been done.
            _ => {}
        }
        None
    }

    /// `who` counts as issued from now on.
    fn submit(&mut self, who: u32) {
        let entity = &mut self.entities[who];
        entity.issued = self.now;
        self.classes[entity.class as usize].account.tally.arrive(self.now);
    }

    /// The random stream for choices on the route of `who`.
    #[inline]
    pub(super) fn chance_of(&mut self, who: u32) -> &mut Rng {
        let load = self.classes[self.entities[who].class as usize].load;
        &mut self.origins[load as usize].chance
    }

    /// Decides every skip directly ahead of `who`.
    #[inline]
    fn decide_skips(&mut self, who: u32) {
        let entity = &mut self.entities[who];
        while let RouteStep::Skip { chance, to } = self.steps[entity.hop as usize] {
            let load = self.classes[entity.class as usize].load;
            let chance = self.figures.chances[chance as usize];
            let skipped = self.origins[load as usize].chance.chance(chance);
            entity.hop = if skipped { to } else { entity.hop + 1 };
        }
    }

    /// `who` comes to a queue without limits, which is nearly always where it comes to; whether it did.
    #[inline(always)]
    fn queue_up(&mut self, station: u32, demand: u32, who: u32) -> bool {
        let place = &mut self.stations[station as usize];
        let Discipline::Queue(queue) = &mut place.kind else { return false };
        if queue.capacity != u32::MAX {
            return false;
        }
        let entity = &mut self.entities[who];
        let demand = &self.figures.demands[demand as usize];
        (entity.entered, entity.at) = (self.now, station);
        entity.demand = demand.draw(&mut place.rng, entity.bytes);
        place.tally.arrive(self.now);
        let level = place.tally.level();
        if level.busy + level.blocked < queue.servers {
            place.tally.begin(self.now);
            let (time, hop) = (queue.service(entity.demand, level.present), entity.hop);
            self.schedule_end(time, station, who, hop);
        } else {
            queue.wait(&mut self.entities, who);
        }
        true
    }

    /// `who` comes to a station, where it may be rejected or blocked.
    #[inline(never)]
    pub(super) fn visit(&mut self, station: u32, who: u32) {
        let place = &mut self.stations[station as usize];
        if let Discipline::Queue(queue) = &mut place.kind
            && queue.capacity != u32::MAX
        {
            let full = place.tally.level().present >= queue.capacity;
            match queue.full {
                Full::Lose if full => {
                    place.tally.reject();
                    return self.end(who, true);
                }
                Full::Block if full || queue.at_door > 0 => {
                    (self.entities[who].keeps, self.entities[who].at) = (NONE, station);
                    queue.at_door += 1;
                    return queue.door.push(&mut self.entities, who);
                }
                _ => {}
            }
        }
        self.enter(station, who);
    }

    /// `who` enters: it is served at once or queued.
    fn enter(&mut self, station: u32, who: u32) {
        let place = &mut self.stations[station as usize];
        let entity = &mut self.entities[who];
        place.tally.arrive(self.now);
        (entity.entered, entity.at) = (self.now, station);
        let demand = match &self.steps[entity.hop as usize] {
            RouteStep::Visit { demand, .. } | RouteStep::Spread { demand, .. } => {
                Some(&self.figures.demands[*demand as usize])
            }
            RouteStep::RaidPart { visit, .. } => Some(&self.raids[*visit as usize].demand),
            _ => None,
        };
        if let Some(demand) = demand {
            entity.demand = demand.draw(&mut place.rng, entity.bytes);
        }
        match &mut place.kind {
            Discipline::Queue(queue) => {
                let level = place.tally.level();
                if level.busy + level.blocked < queue.servers {
                    place.tally.begin(self.now);
                    let (time, hop) = (queue.service(entity.demand, level.present), entity.hop);
                    self.schedule_end(time, station, who, hop);
                } else {
                    queue.wait(&mut self.entities, who);
                }
            }
            Discipline::Delay(delay) => {
                if delay.stopped {
                    return delay.line.push(&mut self.entities, who);
                }
                place.tally.begin(self.now);
                let (demand, apart) = (entity.demand, delay.apart);
                let event = SimEvent::new(self.now.plus(demand), station, self.sequence, who);
                self.schedule_apart(apart, event);
            }
            Discipline::Batch(batch) => {
                batch.line.push(&mut self.entities, who);
                batch.here += 1;
                if batch.here == 1 {
                    batch.due = self.now.plus(batch.within);
                }
                if batch.here == 1 || batch.here >= batch.count {
                    self.gathered(station);
                }
            }
            Discipline::Gated(_) => self.come_to_gate(station, who),
            // All come to it on fused sequences.
            Discipline::Processors(_) | Discipline::Foreseen(_) => {}
            Discipline::Fluid(fluid) => {
                fluid.serve(self.now, who, entity.demand);
                place.tally.set_busy(self.now, fluid.at_work());
                self.set_alarm(station);
            }
        }
    }

    /// `who` starts to cross links; the caller sets the station's alarm.
    pub(super) fn cross(&mut self, station: u32, path: u32, size: u32, who: u32) {
        let size = self.figures.sizes[size as usize];
        let place = &mut self.stations[station as usize];
        let entity = &mut self.entities[who];
        place.tally.arrive(self.now);
        (entity.entered, entity.at) = (self.now, station);
        if let Discipline::Fluid(fluid) = &mut place.kind {
            fluid.cross(self.now, path, who, size.of(entity.bytes));
            if size.brings_payload() {
                fluid.tally(path).arrive(self.now);
            }
            place.tally.set_busy(self.now, fluid.at_work());
        }
    }

    /// Counts `who` out of a station. The caller updates the levels of busy and blocked servers.
    pub(super) fn leave(&mut self, station: u32, who: u32) {
        let place = &mut self.stations[station as usize];
        let entity = &self.entities[who];
        let stayed = self.now.since(entity.entered);
        place.tally.depart(self.now, stayed, entity.dir, entity.bytes);
        if O::TIMES {
            place.latency.record(stayed);
        }
        match &mut place.kind {
            Discipline::Queue(_) | Discipline::Batch(_) => {}
            Discipline::Gated(_) | Discipline::Processors(_) | Discipline::Foreseen(_) => {}
            Discipline::Delay(_) => place.tally.end(self.now),
            Discipline::Fluid(fluid) => {
                place.tally.set_busy(self.now, fluid.at_work());
                if let RouteStep::Cross { path, size, .. } = self.steps[entity.hop as usize]
                    && self.figures.sizes[size as usize].brings_payload()
                {
                    fluid.tally(path).depart(self.now, stayed, entity.dir, entity.bytes);
                }
            }
        }
        self.observer.served(station, entity.class, who, self.now);
    }

    /// A server has finished `who`, which continues at a step, or keeps the server while the next station is full.
    #[inline]
    pub(super) fn served_in_line(
        &mut self,
        station: u32,
        who: u32,
        hop: u32,
    ) -> Option<(u32, u32)> {
        let mut hop = hop + 1;
        if self.doors {
            self.entities[who].hop = hop;
            if let Some(next) = self.closed_door(station, who) {
                self.keep(station, next, who);
                return self.next_ready();
            }
            hop = self.entities[who].hop;
        }
        let (now, place) = (self.now, &mut self.stations[station as usize]);
        let Discipline::Queue(queue) = &mut place.kind else { return None };
        let entity = &self.entities[who];
        let stayed = now.since(entity.entered);
        place.tally.depart(now, stayed, entity.dir, entity.bytes);
        if O::TIMES {
            place.latency.record(stayed);
        }
        self.observer.served(station, entity.class, who, now);
        let level = place.tally.level();
        let blocked = queue.at_door > 0;
        // The server that is free takes the next at once, unless its station has been stopped.
        let free = level.busy + level.blocked <= queue.servers;
        match if free { queue.call(&self.entities) } else { None } {
            Some(next) => {
                let Entity { demand, hop, .. } = self.entities[next];
                let time = queue.service(demand, level.present);
                self.schedule_end(time, station, next, hop);
            }
            None => place.tally.end(now),
        }
        if blocked {
            self.admit(station);
        }
        Some((who, hop))
    }

    /// The full station that blocks `who` at `station`, if there is one. Decides the skips before it.
    fn closed_door(&mut self, station: u32, who: u32) -> Option<u32> {
        self.decide_skips(who);
        let RouteStep::Visit { station: next, .. } = self.steps[self.entities[who].hop as usize]
        else {
            return None;
        };
        (next != station && self.stations[next as usize].makes_wait()).then_some(next)
    }

    /// `who` is blocked before `next` and keeps its server of `station`.
    #[cold]
    fn keep(&mut self, station: u32, next: u32, who: u32) {
        (self.entities[who].keeps, self.entities[who].at) = (station, next);
        if let Discipline::Queue(queue) = &mut self.stations[next as usize].kind {
            queue.at_door += 1;
            queue.door.push(&mut self.entities, who);
        }
        let tally = &mut self.stations[station as usize].tally;
        tally.end(self.now);
        tally.block(self.now);
    }

    /// I/Os gathered in a batch continue if they are enough or have waited long enough; otherwise sets their deadline.
    pub(super) fn gathered(&mut self, station: u32) {
        let Discipline::Batch(batch) = &mut self.stations[station as usize].kind else { return };
        if batch.stopped || batch.here == 0 {
            return self.alarms.clear(station);
        }
        if batch.here < batch.count && self.now < batch.due {
            return self.alarms.set(station, batch.due);
        }
        self.alarms.clear(station);
        let mut line = std::mem::replace(&mut batch.line, Fifo::EMPTY);
        batch.here = 0;
        while let Some(who) = line.pop(&self.entities) {
            self.leave(station, who);
            self.go_on(who);
        }
    }

    /// There is room for one more at `station`: admits a blocked I/O; where that frees another server, that serves the next
    /// in its queue, and so on.
    #[cold]
    fn admit(&mut self, mut station: u32) {
        loop {
            let Some((entering, kept)) = self.let_in(station) else { return };
            if kept == NONE {
                return self.enter(station, entering);
            }
            self.leave(kept, entering);
            self.stations[kept as usize].tally.unblock(self.now);
            self.enter(station, entering);
            station = kept;
            self.call_next(station);
        }
    }

    /// Serves the next in the queue, if a server is free; whether it did.
    fn call_next(&mut self, station: u32) -> bool {
        let place = &mut self.stations[station as usize];
        let Discipline::Queue(queue) = &mut place.kind else { return false };
        let level = place.tally.level();
        if level.busy + level.blocked >= queue.servers {
            return false;
        }
        let Some(next) = queue.call(&self.entities) else { return false };
        place.tally.begin(self.now);
        let Entity { demand, hop, .. } = self.entities[next];
        let time = queue.service(demand, level.present);
        self.schedule_end(time, station, next, hop);
        true
    }

    /// Admits the first I/O blocked before `station`; returns it and the station whose server it keeps.
    fn let_in(&mut self, station: u32) -> Option<(u32, u32)> {
        let Discipline::Queue(queue) = &mut self.stations[station as usize].kind else {
            return None;
        };
        if queue.at_door == 0 {
            return None;
        }
        let entering = queue.door.pop(&self.entities)?;
        queue.at_door -= 1;
        Some((entering, std::mem::replace(&mut self.entities[entering].keeps, NONE)))
    }

    /// Any number of servers and stations are free at `station`: serves and admits all I/Os possible.
    pub(super) fn refill(&mut self, station: u32) {
        loop {
            while self.call_next(station) {}
            let place = &self.stations[station as usize];
            let Discipline::Queue(queue) = &place.kind else { return };
            if place.tally.level().present >= queue.capacity {
                return;
            }
            let Some((entering, kept)) = self.let_in(station) else { return };
            if kept == NONE {
                self.enter(station, entering);
                continue;
            }
            self.leave(kept, entering);
            self.stations[kept as usize].tally.unblock(self.now);
            self.enter(station, entering);
            self.call_next(kept);
            self.admit(kept);
        }
    }

    /// Whether `who` gets its tokens at once; otherwise it is queued.
    #[inline]
    fn take(&mut self, pool: u32, tokens: u32, who: u32) -> bool {
        let pool = &mut self.pools[pool as usize];
        let entity = &mut self.entities[who];
        if pool.take(tokens, self.now, entity, O::TIMES) {
            return true;
        }
        entity.entered = self.now;
        pool.tally.arrive(self.now);
        pool.line.push(&mut self.entities, who);
        false
    }

    /// Returns tokens and continues the I/Os that waited for them.
    #[inline]
    fn give(&mut self, pool: u32, tokens: u32) {
        let of = &mut self.pools[pool as usize];
        of.give(tokens, self.now);
        if !of.line.is_empty() {
            self.grant(pool);
        }
    }

    /// Grants the free tokens of a pool to waiting I/Os, in order.
    pub(super) fn grant(&mut self, pool: u32) {
        let number = pool;
        let pool = &mut self.pools[pool as usize];
        loop {
            let first = pool.line.first();
            if first == NONE {
                return;
            }
            let entity = &mut self.entities[first];
            let (of, tokens) = match self.steps[entity.hop as usize] {
                RouteStep::Take { pool, tokens } => (pool, tokens),
                RouteStep::TakeVisit { pool, .. } => (pool, 1),
                _ => return,
            };
            debug_assert_eq!(of, number);
            if pool.free < tokens {
                return;
            }
            pool.grant(tokens, self.now, entity, O::TIMES);
            entity.hop += 1;
            pool.line.pop(&self.entities);
            self.ready.push(&mut self.entities, first);
        }
    }

    /// `who` has reached the end of its route, or was rejected on it.
    pub(super) fn end(&mut self, who: u32, lost: bool) {
        if lost {
            match self.let_go(who) {
                Strand::Main => {}
                Strand::Waited => return self.joined(who, true),
                Strand::Background => return self.entities.give(who),
            }
        }
        let entity = &self.entities[who];
        let now = self.now;
        let Entity { slot, due, mut issued, bytes, class: number, .. } = *entity;
        let class = &mut self.classes[entity.class as usize];
        let account = &mut class.account;
        if issued == NOT_ISSUED {
            // Lost before it was issued.
            issued = now;
            account.tally.arrive(now);
        }
        if lost {
            account.tally.lose(now);
        } else {
            let (served, responded) = (now.since(issued), now.since(due));
            account.tally.depart(now, served, entity.dir, entity.bytes);
            class.responded += u128::from(responded.0);
            if O::TIMES {
                account.service.record(served);
                if due != issued
                    && let Some([service, response]) = &mut account.late
                {
                    service.record(served);
                    response.record(responded);
                }
            }
        }
        let load = class.load;
        self.observer.ended(&Ended { class: number, bytes, due, issued, now, lost });
        self.entities[who].hop = NONE;
        self.ended_at_source(load, slot, who);
    }

    /// `who` is lost: returns its tokens and leaves its arms. Returns what its step belonged to.
    #[cold]
    fn let_go(&mut self, who: u32) -> Strand {
        let hop = self.entities[who].hop as usize;
        let scope = &self.scopes[hop];
        for within in &scope.arms[scope.inherited..] {
            self.choosers[within.selector as usize].arms[within.arm as usize].inside -= 1;
        }
        for at in 0..self.scopes[hop].held.len() {
            let (pool, tokens) = self.scopes[hop].held[at];
            self.give(pool, tokens);
        }
        self.scopes[hop].strand
    }
}
