//! The state of stations, pools and classes.

use super::apart::NOT_APART;
use super::entity::{Entities, Entity, Fifo};
use super::fluid::{Fluid, LinkTally};
use super::foreseen::ForeseenState;
use super::gated::{GatedState, ProcessorsState};
use crate::Ps;
use crate::model::{Full, PRIORITIES, Pool, Station};
use crate::statistics::{RunningTally, Tally, TimeHistogram};
use clock::Rng;
use workload::Dir;

/// The state of a station.
#[derive(Clone, Debug)]
pub struct StationState {
    pub kind: Discipline,
    /// Draws the service times of its visits.
    pub rng: Rng,
    pub tally: RunningTally,
    /// Residence times.
    pub latency: TimeHistogram,
}

/// Its queueing discipline.
#[derive(Clone, Debug)]
pub enum Discipline {
    Queue(QueueState),
    Delay(DelayState),
    Fluid(Fluid),
    Batch(BatchState),
    Processors(ProcessorsState),
    Gated(GatedState),
    Foreseen(ForeseenState),
}

/// Serves every I/O at once, unless it is stopped.
#[derive(Clone, Debug)]
pub struct DelayState {
    pub stopped: bool,
    /// The links apart that it leads to.
    pub apart: u16,
    /// I/Os that came while it was stopped.
    pub line: Fifo,
}

/// I/Os that wait to continue together.
#[derive(Clone, Debug)]
pub struct BatchState {
    pub count: u32,
    pub within: Ps,
    pub line: Fifo,
    pub here: u32,
    /// When the first of them has waited long enough.
    pub due: Ps,
    pub stopped: bool,
}

/// Queues before servers.
#[derive(Clone, Debug)]
pub struct QueueState {
    /// Servers that may serve; 0 while it is stopped.
    pub servers: u32,
    pub servers_all: u32,
    /// Divisors of service times by the number present when service begins, from 1 up; empty where times do not depend
    /// on it.
    gain: Box<[f64]>,
    pub capacity: u32,
    pub full: Full,
    /// One queue per priority.
    lines: [Fifo; PRIORITIES as usize],
    /// A bit per non-empty queue.
    standing: u32,
    /// I/Os blocked until there is room.
    pub door: Fifo,
    pub at_door: u32,
}

/// The tokens of a pool and the I/Os that wait for them. What an I/O changes that need not wait is on the first cache line.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct PoolState {
    /// The integral of the tokens in use, less their number × the current time, modulo 2^128.
    pub(super) busy: u128,
    /// Granted at once: reads, writes; and their bytes.
    pub(super) ios: [u64; 2],
    pub(super) bytes: [u64; 2],
    /// Tokens in use.
    pub held: u32,
    pub free: u32,
    pub line: Fifo,
    /// The I/Os that waited: requests, grants and waiting times.
    pub tally: RunningTally,
    pub waits: TimeHistogram,
}

/// The counts of a class.
#[derive(Clone, Debug)]
pub struct ClassCounts {
    /// I/Os between issue and end.
    pub tally: RunningTally,
    /// From issue to end.
    pub service: TimeHistogram,
    /// Of I/Os that were issued after they were due: from issue to end, and from due to end. `None` where none ever is.
    pub late: Option<[TimeHistogram; 2]>,
}

impl StationState {
    /// An idle station; `times` says whether to keep the histogram.
    pub fn new(station: &Station, rng: Rng, times: bool) -> StationState {
        let kind = match station {
            Station::Delay => Discipline::Delay(DelayState {
                stopped: false,
                apart: NOT_APART,
                line: Fifo::EMPTY,
            }),
            Station::Sharing { servers } => Discipline::Fluid(Fluid::servers(*servers)),
            Station::Links { rates } => Discipline::Fluid(Fluid::links(rates)),
            Station::Queue { servers, capacity, full } => {
                Discipline::Queue(QueueState::new(*servers, *capacity, *full, &[]))
            }
            Station::Sorted { servers, gain } => {
                Discipline::Queue(QueueState::new(*servers, None, Full::Lose, gain))
            }
            Station::Batch { count, within } => Discipline::Batch(BatchState {
                count: *count,
                within: *within,
                line: Fifo::EMPTY,
                here: 0,
                due: Ps::ZERO,
                stopped: false,
            }),
            Station::Processors { count, halt } => {
                Discipline::Processors(ProcessorsState::new(*count, *halt))
            }
            Station::Gated(of) => Discipline::Gated(GatedState::new(*of)),
        };
        let (tally, latency) = (RunningTally::default(), histogram(times));
        StationState { kind, rng, tally, latency }
    }

    /// The links apart that a delay leads to.
    pub fn apart(&self) -> u16 {
        match &self.kind {
            Discipline::Delay(delay) => delay.apart,
            _ => NOT_APART,
        }
    }

    /// What each link did up to `now`; empty for a station without links.
    pub fn links_until(&mut self, now: Ps) -> Vec<LinkTally> {
        match &mut self.kind {
            Discipline::Fluid(fluid) => fluid.links_until(now),
            _ => Vec::new(),
        }
    }

    /// Whether an I/O that comes now would be blocked before the station.
    #[inline]
    pub fn makes_wait(&self) -> bool {
        let Discipline::Queue(queue) = &self.kind else { return false };
        queue.full == Full::Block
            && (queue.at_door > 0 || self.tally.level().present >= queue.capacity)
    }
}

impl Discipline {
    /// Makes an idle queue one whose departures are known on arrival.
    pub fn foresee(&mut self) {
        if let Discipline::Queue(queue) = self {
            *self = Discipline::Foreseen(ForeseenState::new(queue.servers_all));
        }
    }
}

impl QueueState {
    fn new(servers: u32, capacity: Option<u32>, full: Full, gain: &[f64]) -> QueueState {
        QueueState {
            servers,
            servers_all: servers,
            gain: gain.into(),
            capacity: capacity.unwrap_or(u32::MAX),
            full,
            lines: [Fifo::EMPTY; PRIORITIES as usize],
            standing: 0,
            door: Fifo::EMPTY,
            at_door: 0,
        }
    }

    /// The service time for a `demand` that begins with `present` I/Os there.
    #[inline]
    pub fn service(&self, demand: Ps, present: u32) -> Ps {
        if self.gain.is_empty() {
            return demand;
        }
        let at = (present as usize).clamp(1, self.gain.len()) - 1;
        Ps((demand.0 as f64 / self.gain[at] + 0.5) as u64)
    }

    /// Removes `who` from its queue; false where it was in none.
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

    /// The next I/O to be served.
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

impl PoolState {
    /// All tokens free; `times` says whether to keep waiting times.
    pub fn new(pool: &Pool, times: bool) -> PoolState {
        PoolState {
            busy: 0,
            ios: [0; 2],
            bytes: [0; 2],
            held: 0,
            free: pool.tokens,
            line: Fifo::EMPTY,
            tally: RunningTally::default(),
            waits: histogram(times),
        }
    }

    /// The probability for the share of tokens that are held, of those given for equally spaced shares.
    pub fn chance(&self, chances: &[f64]) -> f64 {
        let held = f64::from(self.held);
        let share = held / (held + f64::from(self.free)).max(1.0) * (chances.len() - 1) as f64;
        let below = (share as usize).min(chances.len() - 2);
        chances[below] + (share - below as f64) * (chances[below + 1] - chances[below])
    }

    /// Grants tokens at once if enough are free and no I/O waits; whether it did.
    #[inline]
    pub fn take(&mut self, tokens: u32, now: Ps, entity: &Entity, times: bool) -> bool {
        if !self.line.is_empty() || self.free < tokens {
            return false;
        }
        self.hand(tokens, now, entity, times);
        true
    }

    /// Tokens that are always there were taken at `at`, which may be in the past.
    #[inline]
    pub fn hand(&mut self, tokens: u32, at: Ps, entity: &Entity, times: bool) {
        let writes = usize::from(entity.dir != Dir::Read);
        self.ios[writes] += 1;
        self.bytes[writes] += u64::from(entity.bytes);
        self.hold(tokens, at);
        if times {
            self.waits.record(Ps::ZERO);
        }
    }

    #[inline]
    fn hold(&mut self, tokens: u32, at: Ps) {
        // Of tokens that are always there some may not have been counted yet.
        self.held = self.held.wrapping_add(tokens);
        self.free = self.free.wrapping_sub(tokens);
        self.busy = self.busy.wrapping_sub(u128::from(at.0) * u128::from(tokens));
    }

    /// Takes tokens back.
    #[inline]
    pub fn give(&mut self, tokens: u32, now: Ps) {
        self.held = self.held.wrapping_sub(tokens);
        self.free = self.free.wrapping_add(tokens);
        self.busy = self.busy.wrapping_add(u128::from(now.0) * u128::from(tokens));
    }

    /// All counts up to `now`: the queue, and tokens in use as busy servers.
    pub fn until(&self, now: Ps) -> Tally {
        let held = u128::from(now.0).wrapping_mul(u128::from(self.held));
        self.tally.until(now).with_at_once(
            self.ios,
            self.bytes,
            (self.held, self.busy.wrapping_add(held)),
        )
    }

    /// Grants tokens to an I/O that waited for them.
    pub fn grant(&mut self, tokens: u32, now: Ps, entity: &Entity, times: bool) {
        let waited = now.since(entity.entered);
        self.tally.depart(now, waited, entity.dir, entity.bytes);
        self.hold(tokens, now);
        if times {
            self.waits.record(waited);
        }
    }
}

impl ClassCounts {
    /// Empty counts; `times` says whether to keep histograms.
    pub fn new(may_be_late: bool, times: bool) -> ClassCounts {
        let histogram =
            || if times { TimeHistogram::three_digits() } else { TimeHistogram::none() };
        ClassCounts {
            tally: RunningTally::default(),
            service: histogram(),
            late: may_be_late.then(|| [histogram(), histogram()]),
        }
    }
}

/// A histogram of two digits, or an empty one.
fn histogram(times: bool) -> TimeHistogram {
    if times { TimeHistogram::two_digits() } else { TimeHistogram::none() }
}
