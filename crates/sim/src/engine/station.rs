//! What a station, a pool and a class know while I/Os go through them.

use super::entity::{Entities, Entity, Line};
use super::fluid::{Fluid, LinkTally};
use super::lane::NO_LANE;
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
    /// On which the ends of its services are pushed.
    pub lane: u8,
    /// Times from coming in to going on.
    pub latency: Histogram,
}

/// How it serves.
#[derive(Clone, Debug)]
pub enum Kind {
    Queue(Queue),
    Delay(Delay),
    Fluid(Fluid),
    Batch(Batch),
}

/// Everybody is served at once, unless it is stopped.
#[derive(Clone, Debug)]
pub struct Delay {
    pub stopped: bool,
    /// Those who came while it was.
    pub line: Line,
}

/// Those who wait to go on together.
#[derive(Clone, Debug)]
pub struct Batch {
    pub count: u32,
    pub within: Ps,
    pub line: Line,
    pub here: u32,
    /// When the first that came has waited long enough.
    pub due: Ps,
    pub stopped: bool,
}

/// Lines before servers.
#[derive(Clone, Debug)]
pub struct Queue {
    /// Servers that may serve: none while it is stopped.
    pub servers: u32,
    pub servers_all: u32,
    /// What times are divided by as service begins, for one present and more; nothing where they are not.
    gain: Box<[f64]>,
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
    /// A station that nobody has come to; `times` says whether their histogram is kept.
    pub fn new(station: &Station, rng: Rng, times: bool) -> Place {
        let kind = match station {
            Station::Delay => Kind::Delay(Delay { stopped: false, line: Line::EMPTY }),
            Station::Sharing { servers } => Kind::Fluid(Fluid::servers(*servers)),
            Station::Links { rates } => Kind::Fluid(Fluid::links(rates)),
            Station::Queue { servers, capacity, full } => {
                Kind::Queue(Queue::new(*servers, *capacity, *full, &[]))
            }
            Station::Sorted { servers, gain } => {
                Kind::Queue(Queue::new(*servers, None, Full::Lose, gain))
            }
            Station::Batch { count, within } => Kind::Batch(Batch {
                count: *count,
                within: *within,
                line: Line::EMPTY,
                here: 0,
                due: Ps::ZERO,
                stopped: false,
            }),
        };
        Place { kind, rng, tally: Tally::default(), lane: NO_LANE, latency: histogram(times) }
    }

    /// What each link did until `now`; none where there are none.
    pub fn links_until(&mut self, now: Ps) -> Vec<LinkTally> {
        match &mut self.kind {
            Kind::Fluid(fluid) => fluid.links_until(now),
            Kind::Queue(_) | Kind::Delay(_) | Kind::Batch(_) => Vec::new(),
        }
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
    fn new(servers: u32, capacity: Option<u32>, full: Full, gain: &[f64]) -> Queue {
        Queue {
            servers,
            servers_all: servers,
            gain: gain.into(),
            capacity: capacity.unwrap_or(u32::MAX),
            full,
            lines: vec![Line::EMPTY; usize::from(PRIORITIES)].into(),
            standing: 0,
            door: Line::EMPTY,
            at_door: 0,
        }
    }

    /// How long the service of a `demand` takes that begins with so many `present`.
    #[inline]
    pub fn service(&self, demand: Ps, present: u32) -> Ps {
        if self.gain.is_empty() {
            return demand;
        }
        let at = (present as usize).clamp(1, self.gain.len()) - 1;
        Ps((demand.0 as f64 / self.gain[at] + 0.5) as u64)
    }

    /// `who` leaves the line; whether it stood in one.
    pub fn remove(&mut self, entities: &mut Entities, who: u32) -> bool {
        let priority = entities[who].priority;
        let line = &mut self.lines[usize::from(priority)];
        let stood = line.remove(entities, who);
        if line.is_empty() {
            self.standing &= !(1 << priority);
        }
        stood
    }

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
    /// All of them free; `times` says whether waits are kept.
    pub fn new(pool: &Pool, times: bool) -> Tokens {
        Tokens {
            free: pool.tokens,
            line: Line::EMPTY,
            tally: Tally::default(),
            waits: histogram(times),
        }
    }

    /// An I/O that asks for tokens gets them at once, if there are enough and nobody waits; whether it is so.
    #[inline]
    pub fn take(&mut self, tokens: u32, now: Ps, entity: &Entity, times: bool) -> bool {
        if !self.line.is_empty() || self.free < tokens {
            return false;
        }
        self.tally.pass_at_once(now, entity.dir, entity.bytes);
        self.tally.level.busy += tokens;
        if times {
            self.waits.record(Ps::ZERO);
        }
        self.free -= tokens;
        true
    }

    /// The I/O that waited for them gets its tokens.
    pub fn grant(&mut self, tokens: u32, now: Ps, entity: &Entity, times: bool) {
        let waited = now.since(entity.entered);
        self.tally.depart(now, waited, entity.dir, entity.bytes);
        self.tally.level.busy += tokens;
        if times {
            self.waits.record(waited);
        }
        self.free -= tokens;
    }
}

impl Account {
    /// No I/O yet; `times` says whether theirs are kept.
    pub fn new(may_be_late: bool, times: bool) -> Account {
        let histogram = || if times { Histogram::three_digits() } else { Histogram::none() };
        Account {
            tally: Tally::default(),
            responded: 0,
            service: histogram(),
            response: may_be_late.then(histogram),
        }
    }
}

/// Of two digits, or none.
fn histogram(times: bool) -> Histogram {
    if times { Histogram::two_digits() } else { Histogram::none() }
}
