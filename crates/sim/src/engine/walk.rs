//! How I/Os come to stations, leave them, and go on.

use super::entity::{Entity, Line, NONE};
use super::layout::{Step, Strand};
use super::station::Kind;
use super::{Ended, Observer, Simulation};
use crate::Ps;
use crate::model::Full;
use clock::Rng;

impl<O: Observer> Simulation<O> {
    /// Lets all go on who are ready, and all who become so by that.
    #[inline]
    pub(super) fn walk_ready(&mut self) {
        while let Some(who) = self.ready.pop(&self.entities) {
            self.walk(who);
        }
    }

    /// `who`, whose event this is, goes on from the hop behind it, before all others who are ready by then.
    #[inline]
    pub(super) fn go_on_first(&mut self, who: u32) {
        self.entities[who].hop += 1;
        self.walk(who);
    }

    /// `who` goes on from the hop behind it.
    #[inline]
    fn go_on(&mut self, who: u32) {
        self.entities[who].hop += 1;
        self.ready.push(&mut self.entities, who);
    }

    /// `who` begins its hop, and every one after it that takes no time, until it comes to rest.
    #[inline]
    pub(super) fn walk(&mut self, who: u32) {
        loop {
            match self.steps[self.entities[who].hop as usize] {
                Step::Visit { station, .. } => return self.visit(station, who),
                Step::Spread { first, count, .. } => {
                    let station = first + self.chance_of(who).below(u64::from(count)) as u32;
                    return self.visit(station, who);
                }
                Step::Cross { station, path, scale, extra } => {
                    return self.cross(station, path, scale, extra, who);
                }
                Step::Take { pool, tokens } => {
                    if !self.take(pool, tokens, who) {
                        return;
                    }
                }
                Step::Give { pool, tokens } => self.give(pool, tokens),
                Step::Skip { chance, to } => {
                    if self.chance_of(who).chance(chance) {
                        self.entities[who].hop = to;
                        continue;
                    }
                }
                Step::As { dir } => self.entities[who].dir = dir,
                Step::Branch { selector, starts } => {
                    if !self.branch(selector, starts, who) {
                        return;
                    }
                    continue;
                }
                Step::Leave { selector, arm, to } => {
                    self.choosers[selector as usize].arms[arm as usize].inside -= 1;
                    self.entities[who].hop = to;
                    continue;
                }
                Step::Fork { next } => {
                    self.fork(who);
                    self.entities[who].hop = next;
                    continue;
                }
                Step::Run { last, total, lane, .. } => {
                    self.entities[who].entered = self.now;
                    return self.schedule_on(lane, total, last, who);
                }
                Step::Together { starts, count, .. } => return self.together(starts, count, who),
                Step::Joined => return self.joined(who, false),
                Step::Gone => return self.entities.give(who),
                Step::End => return self.end(who, false),
            }
            self.entities[who].hop += 1;
        }
    }

    /// What decides for `who` where its route leaves something to chance.
    #[inline]
    fn chance_of(&mut self, who: u32) -> &mut Rng {
        let load = self.classes[self.entities[who].class as usize].load;
        &mut self.origins[load as usize].chance
    }

    /// Decides every skip that `who` stands before.
    #[inline]
    fn leap(&mut self, who: u32) {
        let entity = &mut self.entities[who];
        while let Step::Skip { chance, to } = self.steps[entity.hop as usize] {
            let load = self.classes[entity.class as usize].load;
            let skipped = self.origins[load as usize].chance.chance(chance);
            entity.hop = if skipped { to } else { entity.hop + 1 };
        }
    }

    /// `who` comes to a station, where it may be turned away or have to wait at the door.
    #[inline]
    fn visit(&mut self, station: u32, who: u32) {
        let place = &mut self.places[station as usize];
        if let Kind::Queue(queue) = &mut place.kind
            && queue.capacity != u32::MAX
        {
            let full = place.tally.level.present >= queue.capacity;
            match queue.full {
                Full::Lose if full => {
                    place.tally.lost += 1;
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

    /// `who` comes in: is served at once, or stands in line.
    #[inline]
    fn enter(&mut self, station: u32, who: u32) {
        let place = &mut self.places[station as usize];
        let entity = &mut self.entities[who];
        place.tally.arrive(self.now);
        (entity.entered, entity.at) = (self.now, station);
        if let Step::Visit { demand, .. } | Step::Spread { demand, .. } =
            &self.steps[entity.hop as usize]
        {
            let mut time = demand.time.draw(&mut place.rng);
            if demand.per_byte > 0.0 {
                time = time.plus(Ps((demand.per_byte * f64::from(entity.bytes) + 0.5) as u64));
            }
            entity.demand = time;
        }
        match &mut place.kind {
            Kind::Queue(queue) => {
                let level = &mut place.tally.level;
                if level.busy + level.blocked < queue.servers {
                    level.busy += 1;
                    let time = queue.service(entity.demand, level.present);
                    let lane = place.lane;
                    self.schedule_on(lane, time, station, who);
                } else {
                    queue.wait(&mut self.entities, who);
                }
            }
            Kind::Delay(delay) => {
                if delay.stopped {
                    return delay.line.push(&mut self.entities, who);
                }
                place.tally.level.busy += 1;
                let (lane, demand) = (place.lane, entity.demand);
                self.schedule_on(lane, demand, station, who);
            }
            Kind::Batch(batch) => {
                batch.line.push(&mut self.entities, who);
                batch.here += 1;
                if batch.here == 1 {
                    batch.due = self.now.plus(batch.within);
                }
                if batch.here == 1 || batch.here >= batch.count {
                    self.gathered(station);
                }
            }
            Kind::Fluid(fluid) => {
                fluid.serve(self.now, who, entity.demand);
                place.tally.level.busy = fluid.at_work();
                self.set_alarm(station);
            }
        }
    }

    fn cross(&mut self, station: u32, path: u32, scale: f64, extra: u32, who: u32) {
        let place = &mut self.places[station as usize];
        let entity = &mut self.entities[who];
        place.tally.arrive(self.now);
        (entity.entered, entity.at) = (self.now, station);
        if let Kind::Fluid(fluid) = &mut place.kind {
            let bytes = (f64::from(entity.bytes) * scale + 0.5) as u64 + u64::from(extra);
            fluid.cross(self.now, path, who, bytes);
            if brings_payload(scale) {
                fluid.tally(path).arrive(self.now);
            }
            place.tally.level.busy = fluid.at_work();
        }
        self.set_alarm(station);
    }

    /// `who` is counted out of a station. Levels other than those present are the caller's.
    #[inline]
    pub(super) fn leave(&mut self, station: u32, who: u32) {
        let place = &mut self.places[station as usize];
        let entity = &self.entities[who];
        let stayed = self.now.since(entity.entered);
        place.tally.depart(self.now, stayed, entity.dir, entity.bytes);
        if O::TIMES {
            place.latency.record(stayed);
        }
        match &mut place.kind {
            Kind::Queue(_) | Kind::Batch(_) => {}
            Kind::Delay(_) => place.tally.level.busy -= 1,
            Kind::Fluid(fluid) => {
                place.tally.level.busy = fluid.at_work();
                if let Step::Cross { path, scale, .. } = self.steps[entity.hop as usize]
                    && brings_payload(scale)
                {
                    fluid.tally(path).depart(self.now, stayed, entity.dir, entity.bytes);
                }
            }
        }
        self.observer.served(station, entity.class, who, self.now);
    }

    /// A server of a queue is done with `who`, which goes on, or keeps the server while there is no room for it.
    #[inline]
    pub(super) fn served_in_line(&mut self, station: u32, who: u32) {
        self.entities[who].hop += 1;
        if self.doors
            && let Some(next) = self.closed_door(station, who)
        {
            return self.keep(station, next, who);
        }
        self.leave(station, who);
        self.places[station as usize].tally.level.busy -= 1;
        self.release(station);
        self.walk(who);
    }

    /// The station that `who` goes to from `station`, if there is no room for it. What its route leaves to chance before
    /// that is decided.
    fn closed_door(&mut self, station: u32, who: u32) -> Option<u32> {
        self.leap(who);
        let Step::Visit { station: next, .. } = self.steps[self.entities[who].hop as usize] else {
            return None;
        };
        (next != station && self.places[next as usize].makes_wait()).then_some(next)
    }

    /// `who` waits at the door of `next`, and keeps its server of `station` from serving others.
    #[cold]
    fn keep(&mut self, station: u32, next: u32, who: u32) {
        (self.entities[who].keeps, self.entities[who].at) = (station, next);
        if let Kind::Queue(queue) = &mut self.places[next as usize].kind {
            queue.at_door += 1;
            queue.door.push(&mut self.entities, who);
        }
        let tally = &mut self.places[station as usize].tally;
        tally.touch(self.now);
        tally.level.busy -= 1;
        tally.level.blocked += 1;
    }

    /// Who has gathered at a station goes on, if they are enough or have waited long enough; else their time is set.
    pub(super) fn gathered(&mut self, station: u32) {
        let Kind::Batch(batch) = &mut self.places[station as usize].kind else { return };
        if batch.stopped || batch.here == 0 {
            return self.alarms.clear(station);
        }
        if batch.here < batch.count && self.now < batch.due {
            return self.alarms.set(station, batch.due);
        }
        self.alarms.clear(station);
        let mut line = std::mem::replace(&mut batch.line, Line::EMPTY);
        batch.here = 0;
        while let Some(who) = line.pop(&self.entities) {
            self.leave(station, who);
            self.go_on(who);
        }
    }

    /// A server of `station` is free, and there is room for one more: the next is served, the door opens, and if that
    /// frees a server elsewhere, the same there.
    #[inline]
    fn release(&mut self, mut station: u32) {
        loop {
            self.call_next(station);
            let Some((entering, kept)) = self.let_in(station) else { return };
            if kept == NONE {
                return self.enter(station, entering);
            }
            self.leave(kept, entering);
            self.places[kept as usize].tally.level.blocked -= 1;
            self.enter(station, entering);
            station = kept;
        }
    }

    /// The next in line is served, if a server may serve and somebody waits; whether it is so.
    #[inline]
    fn call_next(&mut self, station: u32) -> bool {
        let place = &mut self.places[station as usize];
        let Kind::Queue(queue) = &mut place.kind else { return false };
        let level = &mut place.tally.level;
        if level.busy + level.blocked >= queue.servers {
            return false;
        }
        let Some(next) = queue.call(&self.entities) else { return false };
        level.busy += 1;
        let time = queue.service(self.entities[next].demand, level.present);
        let lane = place.lane;
        self.schedule_on(lane, time, station, next);
        true
    }

    /// The first at the door of `station` may come in, and the station whose server it keeps.
    #[inline]
    fn let_in(&mut self, station: u32) -> Option<(u32, u32)> {
        let Kind::Queue(queue) = &mut self.places[station as usize].kind else { return None };
        if queue.at_door == 0 {
            return None;
        }
        let entering = queue.door.pop(&self.entities)?;
        queue.at_door -= 1;
        Some((entering, std::mem::replace(&mut self.entities[entering].keeps, NONE)))
    }

    /// Servers and room have become free at `station`, however many: whoever can be served is, and the door opens.
    pub(super) fn refill(&mut self, station: u32) {
        loop {
            while self.call_next(station) {}
            let place = &self.places[station as usize];
            let Kind::Queue(queue) = &place.kind else { return };
            if place.tally.level.present >= queue.capacity {
                return;
            }
            let Some((entering, kept)) = self.let_in(station) else { return };
            if kept == NONE {
                self.enter(station, entering);
                continue;
            }
            self.leave(kept, entering);
            self.places[kept as usize].tally.level.blocked -= 1;
            self.enter(station, entering);
            self.release(kept);
        }
    }

    /// Whether `who` got its tokens at once; else it stands in line for them.
    #[inline]
    fn take(&mut self, pool: u32, tokens: u32, who: u32) -> bool {
        let pool = &mut self.pools[pool as usize];
        let entity = &mut self.entities[who];
        entity.entered = self.now;
        if pool.take(tokens, self.now, entity, O::TIMES) {
            return true;
        }
        pool.tally.arrive(self.now);
        pool.line.push(&mut self.entities, who);
        false
    }

    /// Tokens come back, and those who waited for them go on.
    fn give(&mut self, pool: u32, tokens: u32) {
        let of = &mut self.pools[pool as usize];
        of.tally.touch(self.now);
        of.free += tokens;
        of.tally.level.busy -= tokens;
        self.grant(pool);
    }

    /// The free tokens of a pool go to those who wait for them, in the order in which they stand.
    #[inline]
    pub(super) fn grant(&mut self, pool: u32) {
        let number = pool;
        let pool = &mut self.pools[pool as usize];
        loop {
            let first = pool.line.first();
            if first == NONE {
                return;
            }
            let entity = &mut self.entities[first];
            let Step::Take { pool: of, tokens } = self.steps[entity.hop as usize] else { return };
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

    /// `who` has come to the end of its route, or was turned away on it.
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
        let Entity { slot, due, issued, bytes, class: number, .. } = *entity;
        let class = &mut self.classes[entity.class as usize];
        let account = &mut class.account;
        if lost {
            account.tally.lose(now);
        } else {
            let (served, responded) = (now.since(issued), now.since(due));
            account.tally.depart(now, served, entity.dir, entity.bytes);
            account.responded += u128::from(responded.0);
            if O::TIMES {
                account.service.record(served);
                account.response.iter_mut().for_each(|response| response.record(responded));
            }
        }
        let load = class.load;
        self.observer.ended(&Ended { class: number, bytes, due, issued, now, lost });
        self.entities[who].hop = NONE;
        self.ended_at_source(load, slot, who);
    }

    /// `who` is lost: its tokens go back, and it is on no arm any more. Yields whose step it stood at.
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

/// Whether a transfer carries the I/O's bytes, rather than only speaks of them: commands, answers, acknowledgements.
#[inline]
pub(super) fn brings_payload(scale: f64) -> bool {
    scale >= 0.5
}
