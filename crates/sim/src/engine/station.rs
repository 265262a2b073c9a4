//! What a station, a pool and a class know while I/Os go through them.

use super::entity::{Entities, Entity, Line};
use super::fluid::Fluid;
use crate::Ps;
use crate::model::{Full, PRIORITIES, Pool, Station};
use crate::statistics::{Histogram, Tally};
use clock::Rng;

/// A station at work.
#[derive(Clone, Debug)]
pub struct Place {
    pub kind: Kind,
    /// Draws the demands of its visits.
    pub rng: Rng,
    pub tally: Tally,
    /// Times from coming in to going on.
    pub latency: Histogram,
}

/// How it serves.
#[derive(Clone, Debug)]
pub enum Kind {
    Queue(Queue),
    Delay,
    Fluid(Fluid),
}

/// Lines before servers.
#[derive(Clone, Debug)]
pub struct Queue {
    pub servers: u32,
    pub capacity: u32,
    pub full: Full,
    /// One line a priority.
    lines: Box<[Line]>,
    /// A bit for each line that somebody stands in.
    standing: u32,
    /// Those who wait for room.
    pub door: Line,
    pub at_door: u32,
}

/// Tokens and those who wait for them.
#[derive(Clone, Debug)]
pub struct Tokens {
    pub free: u32,
    pub line: Line,
    /// Of the line: who asked, who was granted and how long they waited; `busy` is tokens in use.
    pub tally: Tally,
    pub waits: Histogram,
}

/// What became of the I/Os of a class.
#[derive(Clone, Debug)]
pub struct Account {
    /// Of I/Os between issue and end.
    pub tally: Tally,
    /// Sum of the times from when I/Os were due to their end, in picoseconds.
    pub responded: u128,
    /// From issue to end.
    pub service: Histogram,
    /// From when it was due to its end; none where both are the same.
    pub response: Option<Histogram>,
}

impl Place {
    pub fn new(station: &Station, rng: Rng, visitors: usize) -> Place {
        let kind = match station {
            Station::Delay | Station::Sorted { .. } | Station::Batch { .. } => Kind::Delay,
            Station::Sharing { servers } => Kind::Fluid(Fluid::servers(*servers, visitors)),
            Station::Links { rates } => Kind::Fluid(Fluid::links(rates)),
            Station::Queue { servers, capacity, full } => Kind::Queue(Queue {
                servers: *servers,
                capacity: capacity.unwrap_or(u32::MAX),
                full: *full,
                lines: vec![Line::EMPTY; usize::from(PRIORITIES)].into(),
                standing: 0,
                door: Line::EMPTY,
                at_door: 0,
            }),
        };
        Place { kind, rng, tally: Tally::default(), latency: Histogram::two_digits() }
    }

    /// Whether one who comes now would have to wait at the door.
    #[inline]
    pub fn makes_wait(&self) -> bool {
        let Kind::Queue(queue) = &self.kind else { return false };
        queue.full == Full::Block
            && (queue.at_door > 0 || self.tally.level.present >= queue.capacity)
    }
}

impl Queue {
    #[inline]
    pub fn wait(&mut self, entities: &mut Entities, who: u32) {
        let priority = entities[who].priority;
        self.lines[usize::from(priority)].push(entities, who);
        self.standing |= 1 << priority;
    }

    /// The next to be served.
    #[inline]
    pub fn call(&mut self, entities: &Entities) -> Option<u32> {
        if self.standing == 0 {
            return None;
        }
        let priority = self.standing.trailing_zeros();
        let line = &mut self.lines[priority as usize];
        let who = line.pop(entities);
        if line.is_empty() {
            self.standing &= !(1 << priority);
        }
        who
    }
}

impl Tokens {
    pub fn new(pool: &Pool) -> Tokens {
        Tokens {
            free: pool.tokens,
            line: Line::EMPTY,
            tally: Tally::default(),
            waits: Histogram::two_digits(),
        }
    }

    /// The I/O that asked for them gets its tokens.
    pub fn grant(&mut self, tokens: u32, now: Ps, entity: &Entity) {
        let waited = now.since(entity.entered);
        self.tally.depart(now, waited, entity.dir, entity.bytes);
        self.tally.level.busy += tokens;
        self.waits.record(waited);
        self.free -= tokens;
    }
}

impl Account {
    pub fn new(may_be_late: bool) -> Account {
        Account {
            tally: Tally::default(),
            responded: 0,
            service: Histogram::three_digits(),
            response: may_be_late.then(Histogram::three_digits),
        }
    }
}
