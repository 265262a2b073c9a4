//! Sources of I/Os: closed customers, open arrivals, or the operations of a worker.

use super::build::any_of;
use super::{Seeds, SetUpError};
use crate::Ps;
use crate::model::{Hop, Law, Load, Operations, Source};
use clock::{Ns, Rng};
use workload::{Stream, StreamKey};

/// The state of a load. What every I/O needs comes first.
#[repr(C, align(64))]
pub struct SourceState {
    /// I/Os that it may still issue; [`u64::MAX`] for a load without end.
    pub left: u64,
    /// The number of its first class, counted through all loads.
    pub first_class: u32,
    /// It issues nothing for now.
    pub stopped: bool,
    /// Its followers have been started.
    pub done: bool,
    pub kind: SourceKind,
    /// Draws gaps, think times and classes.
    pub rng: Rng,
    /// Draws which hops are skipped.
    pub chance: Rng,
    /// Running sums of the classes' shares.
    shares: Box<[f64]>,
    /// Customers or slots that came back while it was stopped, or an arrival.
    pub parked: Vec<u32>,
    /// When it began, in whole nanoseconds: time 0 of its streams.
    pub origin: Ns,
    /// Loads that must finish before it begins.
    pub waits: u32,
    /// Loads that begin after it.
    pub followers: Vec<u32>,
    /// When all its I/Os had ended.
    pub done_at: Ps,
}

/// What makes it issue I/Os.
pub enum SourceKind {
    /// A slot is a customer and keeps its entry in the table of I/Os.
    Closed {
        think: Law,
        customers: u32,
    },
    Open(OpenArrivals),
    Operations(WorkerSlots),
}

/// An arrival process.
pub struct OpenArrivals {
    pub gap: Law,
    pub limit: u32,
    pub outstanding: u32,
    /// When the next arrival is due.
    pub due: Ps,
    /// That arrival is overdue and waits for an outstanding I/O to end.
    pub late: bool,
}

/// A worker's slots. What every I/O needs comes first.
#[repr(C)]
pub struct WorkerSlots {
    pub outstanding: u32,
    pub limit: u32,
    /// All that every slot issues, where its streams need not be asked.
    pub always: Option<AlwaysOp>,
    pub streams: Vec<Stream>,
    /// Classes of each target.
    pub kinds: u32,
    /// Streams without further operations.
    pub over: u32,
    /// An open loop at its limit, asked again when an I/O ends.
    pub late: bool,
    /// One stream issues up to the limit; otherwise each slot has its own.
    pub open: bool,
    /// The one stream is that of a trace.
    pub replay: bool,
}

/// An operation that is issued again and again.
#[derive(Clone, Copy, Debug)]
pub struct AlwaysOp {
    pub class: u32,
    pub bytes: u32,
    pub offset: u64,
}

impl WorkerSlots {
    fn new(
        of: &Operations,
        load: &Load,
        (number, first_class): (usize, u32),
        seeds: Seeds,
    ) -> Result<WorkerSlots, SetUpError> {
        let seed = seeds.operations;
        let key = StreamKey { seed, step: of.step, worker: of.worker, slot: 0 };
        let streams = Stream::slots(&of.spec, &of.place, key)
            .map_err(|problem| SetUpError::Operations { load: number, problem })?;
        let limit = of.spec.outstanding_max();
        let open = matches!(of.spec.arrivals, workload::Arrivals::Open { .. });
        // Only the layout of a RAID group asks where an I/O is.
        let raid = |hop: &Hop| matches!(hop, Hop::Raid { .. });
        let placed = load.classes.iter().any(|class| any_of(&class.route, &raid));
        let streams = match placed {
            true => streams,
            false => streams.into_iter().map(Stream::without_offsets).collect(),
        };
        let kinds = Operations::kinds(&of.spec).len() as u32;
        let mut always = streams.iter().map(Stream::always);
        let first = always.next().flatten().filter(|first| always.all(|of| of == Some(*first)));
        let always = first.filter(|op| op.dir.moves_data() && op.len > 0).map(|op| AlwaysOp {
            class: first_class + kinds * u32::from(op.target) + Operations::place(op.dir, op.fua),
            bytes: op.len,
            offset: op.offset,
        });
        Ok(WorkerSlots {
            outstanding: 0,
            limit,
            always,
            streams,
            kinds,
            over: 0,
            late: false,
            open,
            replay: of.spec.trace.is_some(),
        })
    }
}

impl SourceState {
    pub fn new(
        load: &Load,
        number: usize,
        first_class: u32,
        seeds: Seeds,
    ) -> Result<SourceState, SetUpError> {
        let stream = |purpose| Rng::keyed(seeds.draws, &[super::LOAD, number as u64, purpose]);
        let (kind, shares) = match &load.source {
            Source::Closed { think, shares, customers } => (
                SourceKind::Closed { think: think.clone(), customers: *customers },
                shares.as_slice(),
            ),
            Source::Open { gap, limit, shares } => {
                let (gap, limit) = (gap.clone(), *limit);
                let open = OpenArrivals { gap, limit, outstanding: 0, due: Ps::ZERO, late: false };
                (SourceKind::Open(open), shares.as_slice())
            }
            Source::Operations(of) => {
                let worker = WorkerSlots::new(of, load, (number, first_class), seeds)?;
                (SourceKind::Operations(worker), &[][..])
            }
        };
        let mut sum = 0.0;
        let sums = shares.iter().map(|share| {
            sum += share;
            sum
        });
        let shares = sums.collect();
        let room = match &kind {
            SourceKind::Closed { customers, .. } => *customers as usize,
            SourceKind::Open(_) => 1,
            SourceKind::Operations(worker) => worker.streams.len(),
        };
        Ok(SourceState {
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
            done_at: Ps::ZERO,
        })
    }

    /// A customer's think time; zero for other sources.
    pub fn pause(&mut self) -> Ps {
        match &self.kind {
            SourceKind::Closed { think, .. } => think.draw(&mut self.rng),
            SourceKind::Open(_) | SourceKind::Operations(_) => Ps::ZERO,
        }
    }

    /// Whether `who` may issue an I/O now, which is then counted. While stopped, `who` is parked.
    #[inline]
    pub fn may_issue(&mut self, who: u32) -> bool {
        if self.left == 0 || self.stopped {
            if self.stopped {
                self.parked.push(who);
            }
            return false;
        }
        // A load without end cannot use up its count in any simulated time.
        self.left -= 1;
        true
    }

    /// Draws the class of the next I/O by the shares.
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
