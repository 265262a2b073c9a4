//! Where I/Os come from: customers who come again, arrivals by a clock, or the operations of a worker.

use super::{Seeds, SetUpError};
use crate::Ps;
use crate::model::{Law, Load, Source};
use clock::{Ns, Rng};
use workload::{Stream, StreamKey};

/// A load at work.
pub struct Origin {
    pub kind: Kind,
    /// The number of its first class among those of all loads.
    pub first_class: u32,
    /// Draws gaps, think times and classes.
    pub rng: Rng,
    /// Draws what is skipped.
    pub chance: Rng,
    /// Sums of shares, each with those before it.
    shares: Box<[f64]>,
    /// I/Os that it may still issue; it has an end if it may issue less than [`u64::MAX`].
    pub left: u64,
    /// It issues nothing meanwhile.
    pub stopped: bool,
    /// Customers or slots that came meanwhile, or an arrival.
    pub parked: Vec<u32>,
    /// When it began, in whole nanoseconds: the origin of its streams' time.
    pub origin: Ns,
    /// Loads that it begins after, and that are not done yet.
    pub waits: u32,
    /// Loads that begin after it.
    pub followers: Vec<u32>,
    /// Its followers know that it is done.
    pub done: bool,
}

/// When it lets I/Os go.
pub enum Kind {
    /// A slot is a customer, who keeps the same place among the entities.
    Closed {
        think: Law,
        customers: u32,
    },
    Open(Open),
    Operations(Worker),
}

/// Arrivals by a clock.
pub struct Open {
    pub gap: Law,
    pub limit: u32,
    pub outstanding: u32,
    /// The next arrival.
    pub due: Ps,
    /// It is past, and waits for one of those outstanding to end.
    pub late: bool,
}

/// A worker's slots.
pub struct Worker {
    pub streams: Vec<Stream>,
    pub limit: u32,
    pub outstanding: u32,
    /// An open loop at its limit, to be asked again when an I/O ends.
    pub late: bool,
    /// One stream issues up to the limit; else each slot has its own.
    pub open: bool,
}

impl Origin {
    pub fn new(
        load: &Load,
        number: usize,
        first_class: u32,
        seeds: Seeds,
    ) -> Result<Origin, SetUpError> {
        let stream = |purpose| Rng::keyed(seeds.draws, &[super::LOAD, number as u64, purpose]);
        let (kind, shares) = match &load.source {
            Source::Closed { think, shares, customers } => {
                (Kind::Closed { think: think.clone(), customers: *customers }, shares.as_slice())
            }
            Source::Open { gap, limit, shares } => {
                let (gap, limit) = (gap.clone(), *limit);
                let open = Open { gap, limit, outstanding: 0, due: Ps::ZERO, late: false };
                (Kind::Open(open), shares.as_slice())
            }
            Source::Operations(of) => {
                let seed = seeds.operations;
                let key = StreamKey { seed, step: of.step, worker: of.worker, slot: 0 };
                let streams = Stream::slots(&of.spec, &of.place, key)
                    .map_err(|problem| SetUpError::Operations { load: number, problem })?;
                let limit = of.spec.outstanding_max();
                let open = matches!(of.spec.arrivals, workload::Arrivals::Open { .. });
                let streams = streams.into_iter().map(Stream::without_offsets).collect();
                let worker = Worker { streams, limit, outstanding: 0, late: false, open };
                (Kind::Operations(worker), &[][..])
            }
        };
        let mut sum = 0.0;
        let sums = shares.iter().map(|share| {
            sum += share;
            sum
        });
        let shares = sums.collect();
        let room = match &kind {
            Kind::Closed { customers, .. } => *customers as usize,
            Kind::Open(_) => 1,
            Kind::Operations(worker) => worker.streams.len(),
        };
        Ok(Origin {
            kind,
            first_class,
            rng: stream(0),
            chance: stream(1),
            shares,
            left: load.total.unwrap_or(u64::MAX),
            stopped: false,
            parked: Vec::with_capacity(room),
            origin: Ns::ZERO,
            waits: 0,
            followers: Vec::new(),
            done: false,
        })
    }

    /// How long a customer thinks; no time where there are none.
    pub fn pause(&mut self) -> Ps {
        match &self.kind {
            Kind::Closed { think, .. } => think.draw(&mut self.rng),
            Kind::Open(_) | Kind::Operations(_) => Ps::ZERO,
        }
    }

    /// Whether `who` may issue one now, which is counted. Who comes while it is stopped is parked.
    #[inline]
    pub fn may_issue(&mut self, who: u32) -> bool {
        if self.left == 0 || self.stopped {
            if self.stopped {
                self.parked.push(who);
            }
            return false;
        }
        // Of a load without an end there is no end in any time that can be simulated.
        self.left -= 1;
        true
    }

    /// The class of the next I/O, by the shares.
    #[inline]
    pub fn choose(&mut self) -> u32 {
        let last = self.shares.len().saturating_sub(1);
        if last == 0 {
            return self.first_class;
        }
        let at = self.rng.unit() * self.shares[last];
        let chosen = self.shares[..last].partition_point(|sum| *sum <= at);
        self.first_class + chosen as u32
    }
}
