//! A stream: the operations of one issuing slot, one after the other.

use crate::access::Accesses;
use crate::arrival::ArrivalTimes;
use crate::draw::{Draw, ReadShare, Rngs};
use crate::transaction::Transactions;
use crate::{Arrivals, Dir, Durability, Replay, Spec, SpecError, WorkloadKind};
use clock::{Ns, Rng};
use serde::{Deserialize, Serialize};

/// What a slot does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Issue this operation now.
    Op(Op),
    /// Nothing is due before that time: ask again then.
    At(Ns),
    /// Nothing is due before an operation of this slot completes: ask again after `completed`.
    AwaitCompletion,
    /// No more operations.
    Done,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// What it does.
    pub dir: Dir,
    /// Index into the worker's targets.
    pub target: u16,
    /// Byte offset into the target.
    pub offset: u64,
    /// Length in bytes; 0 for a flush, which covers the target.
    pub len: u32,
    /// A write that is acknowledged once it is on the medium (force unit access).
    pub fua: bool,
    /// When the operation was due: in a closed loop the time of the request, in an open loop its arrival.
    pub due: Ns,
}

/// Names a stream's randomness: equal keys with equal seeds yield equal operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamKey {
    /// The run's seed.
    pub seed: u64,
    /// The step's number.
    pub step: u32,
    /// The worker's number within the step.
    pub worker: u32,
    /// The slot's number within the worker.
    pub slot: u32,
}

/// A target as a stream sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extent {
    /// Size in bytes.
    pub size: u64,
    /// Logical block size in bytes: every offset and length is a multiple of it.
    pub block: u32,
}

/// The targets of a worker, and its position among the workers that share them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    /// The worker's targets.
    pub targets: Vec<Extent>,
    /// This worker's number among the workers that share these targets with the same workload.
    pub sharer: u32,
    /// Number of workers that share the targets, at least 1.
    pub sharers: u32,
    /// When the step starts: the origin of arrivals.
    pub start: Ns,
}

/// A slot's stream of operations. Pure: no clock, no device; allocates nothing after `new`.
///
/// In a closed loop the stream alternates between one operation and waiting for its completion. In an open loop it
/// never waits: the caller counts what is outstanding, and asks again when there is room.
pub struct Stream {
    pacing: Pacing,
    operations: OpSource,
    /// Operations on addresses that it may still issue; [`u64::MAX`] without an end.
    left: u64,
}

/// Boxed, so that a stream that draws nothing stays small.
enum OpSource {
    Access(Box<Accesses>),
    Transaction(Box<Transactions>),
    /// Every operation is this one.
    Same(Draw),
    /// Flushes follow, and some writes wait for the medium.
    Durable(Box<Durable>),
}

/// The operations of a slot with flushes among them, and with FUA on some writes. What it adds has random bits of its own:
/// nothing else changes with it.
struct Durable {
    operations: OpSource,
    flush_every: u32,
    /// Writes before the next flush.
    writes_left: u32,
    /// A flush of this target is next.
    flush: Option<u16>,
    fua: ReadShare,
    rng: Rng,
}

enum Pacing {
    /// `pause` follows the completion of the outstanding operation; `ready` is when the next one may be issued.
    Closed { think: Ns, pause: Ns, outstanding: bool, ready: Ns },
    /// `due` is the next arrival, `None` after the last.
    Open { arrival: Box<ArrivalTimes>, due: Option<Ns> },
    /// The I/Os of a trace, which are not drawn.
    Replay(Box<Replay>),
}

impl Stream {
    /// Builds the stream of slot `key.slot`.
    /// # Errors
    /// The first of [`Spec::problems`], or why the spec does not fit the targets.
    pub fn new(spec: &Spec, place: &Placement, key: StreamKey) -> Result<Stream, SpecError> {
        if let Some(problem) = spec.problems().into_iter().next() {
            return Err(problem);
        }
        if key.slot >= spec.streams() {
            let problem = format!("slot {} is not one of the {}", key.slot, spec.streams());
            return Err(SpecError::Invalid { field: "slot", problem });
        }
        if let Some(trace) = &spec.trace {
            let pacing = Pacing::Replay(Box::new(Replay::new(trace, place)?));
            let operations = OpSource::Same(Draw::NONE);
            return Ok(Stream { pacing, operations, left: u64::MAX });
        }
        let operations = match &spec.kind {
            WorkloadKind::Access(access) => {
                OpSource::Access(Box::new(Accesses::new(spec, access, place, key)?))
            }
            WorkloadKind::Transaction(transaction) => {
                OpSource::Transaction(Box::new(Transactions::new(spec, transaction, place, key)?))
            }
        };
        let pacing = match spec.arrivals {
            Arrivals::Closed { think, .. } => {
                Pacing::Closed { think, pause: Ns::ZERO, outstanding: false, ready: place.start }
            }
            Arrivals::Open { process, .. } => {
                let mut arrival = Box::new(ArrivalTimes::new(process, place, Rngs::arrival(key)));
                let due = arrival.advance();
                Pacing::Open { arrival, due }
            }
        };
        let left = match &operations {
            OpSource::Access(accesses) => accesses.left(),
            _ => u64::MAX,
        };
        let operations = Durable::around(operations, spec, key);
        Ok(Stream { pacing, operations, left })
    }

    /// The streams of all slots of a worker, in order; `key.slot` is ignored. Each behaves like one made by
    /// [`Stream::new`]; they share their read-only parts to save memory.
    /// # Errors
    /// As [`Stream::new`].
    pub fn slots(spec: &Spec, place: &Placement, key: StreamKey) -> Result<Vec<Stream>, SpecError> {
        let mut streams: Vec<Stream> = Vec::with_capacity(spec.streams() as usize);
        for slot in 0..spec.streams() {
            let key = StreamKey { slot, ..key };
            let beside = streams.first().and_then(|first| first.beside(place, key));
            streams.push(match beside {
                Some(stream) => stream,
                None => Stream::new(spec, place, key)?,
            });
        }
        Ok(streams)
    }

    /// A fresh stream for another slot of the same worker.
    fn beside(&self, place: &Placement, key: StreamKey) -> Option<Stream> {
        let (Pacing::Closed { think, .. }, OpSource::Access(accesses)) =
            (&self.pacing, &self.operations)
        else {
            return None;
        };
        let (think, ready) = (*think, place.start);
        let pacing = Pacing::Closed { think, pause: Ns::ZERO, outstanding: false, ready };
        let operations = OpSource::Access(Box::new(accesses.beside(key)?));
        Some(Stream { pacing, operations, left: u64::MAX })
    }

    /// The same stream for callers that ignore offsets, such as a simulator of networks. Offsets become meaningless,
    /// and nothing is drawn for them; everything else is unchanged.
    pub fn without_offsets(self) -> Stream {
        if matches!(self.pacing, Pacing::Replay(_)) {
            return self;
        }
        let operations = self.operations.without_offsets();
        Stream { operations, ..self }
    }

    /// The operation that it issues again and again, each as soon as the one before has completed, if nothing is drawn for
    /// it and there is no end. Who knows it need not ask.
    pub fn always(&self) -> Option<Op> {
        match (&self.pacing, &self.operations) {
            (Pacing::Closed { think: Ns::ZERO, ready: Ns::ZERO, .. }, OpSource::Same(draw))
                if self.left == u64::MAX && draw.pause == Ns::ZERO =>
            {
                Some(draw.due(Ns::ZERO))
            }
            _ => None,
        }
    }

    /// Operations on addresses that it may still issue; `None` without an end.
    pub fn left(&self) -> Option<u64> {
        (self.left < u64::MAX).then_some(self.left)
    }

    /// What to do at `now`. The state changes only when an operation is returned.
    #[inline(always)]
    pub fn next(&mut self, now: Ns) -> Next {
        match &mut self.pacing {
            // A closed loop without end, which most are.
            Pacing::Closed { pause, outstanding: outstanding @ false, ready, .. }
                if *ready <= now && self.left == u64::MAX =>
            {
                let draw = self.operations.draw();
                (*pause, *outstanding) = (draw.pause, true);
                Next::Op(draw.due(now))
            }
            _ => self.next_of_any(now),
        }
    }

    /// The same for any stream.
    #[inline(never)]
    fn next_of_any(&mut self, now: Ns) -> Next {
        if self.left == 0 && !self.operations.flushes_next() {
            return Next::Done;
        }
        let next = self.ask(now);
        if let Next::Op(op) = &next
            && op.len > 0
            && self.left < u64::MAX
        {
            self.left -= 1;
        }
        next
    }

    fn ask(&mut self, now: Ns) -> Next {
        match &mut self.pacing {
            Pacing::Closed { outstanding: true, .. } => Next::AwaitCompletion,
            Pacing::Closed { ready, .. } if *ready > now => Next::At(*ready),
            Pacing::Closed { pause, outstanding, .. } => {
                let draw = self.operations.draw();
                (*pause, *outstanding) = (draw.pause, true);
                Next::Op(draw.due(now))
            }
            Pacing::Open { arrival, due } => match *due {
                None => Next::Done,
                Some(at) if at > now => Next::At(at),
                Some(at) => {
                    *due = arrival.advance();
                    Next::Op(self.operations.draw().due(at))
                }
            },
            Pacing::Replay(replay) => replay.ask(now),
        }
    }

    /// When the next operation of an open loop is due; [`Ns::MAX`] after the last one, and always in a closed loop.
    #[inline]
    pub fn arrival(&self) -> Ns {
        match &self.pacing {
            Pacing::Closed { .. } | Pacing::Replay(_) => Ns::MAX,
            Pacing::Open { due, .. } => due.unwrap_or(Ns::MAX),
        }
    }

    /// The number of the operation that was given last, where each has one: its completion is reported by
    /// [`Stream::completed_one`].
    #[inline]
    pub fn token(&self) -> Option<u32> {
        match &self.pacing {
            Pacing::Replay(replay) => Some(replay.token()),
            _ => None,
        }
    }

    /// The operation of this number completed at `now`.
    #[inline]
    pub fn completed_one(&mut self, token: u32, now: Ns) {
        match &mut self.pacing {
            Pacing::Replay(replay) => replay.completed(token, now),
            _ => self.completed(now),
        }
    }

    /// How a trace was laid onto its targets.
    pub fn laid(&self) -> Option<&str> {
        match &self.pacing {
            Pacing::Replay(replay) => Some(replay.how()),
            _ => None,
        }
    }

    /// An operation of this slot completed at `now`.
    #[inline]
    pub fn completed(&mut self, now: Ns) {
        if let Pacing::Closed { think, pause, outstanding, ready } = &mut self.pacing {
            *outstanding = false;
            *ready = now.plus(*think).plus(*pause);
        }
    }
}

impl OpSource {
    fn without_offsets(self) -> OpSource {
        match self {
            OpSource::Access(accesses) => {
                let accesses = accesses.without_offsets();
                match accesses.always() {
                    Some(same) => OpSource::Same(same),
                    None => OpSource::Access(Box::new(accesses)),
                }
            }
            OpSource::Durable(durable) => OpSource::Durable(Box::new(durable.without_offsets())),
            other => other,
        }
    }

    /// Whether a flush is next.
    fn flushes_next(&self) -> bool {
        matches!(self, OpSource::Durable(durable) if durable.flush.is_some())
    }

    #[inline(always)]
    fn draw(&mut self) -> Draw {
        match self {
            OpSource::Access(accesses) => accesses.draw(),
            OpSource::Same(draw) => *draw,
            other => other.draw_other(),
        }
    }

    #[inline(never)]
    fn draw_other(&mut self) -> Draw {
        match self {
            OpSource::Access(accesses) => accesses.draw(),
            OpSource::Transaction(transactions) => transactions.draw(),
            OpSource::Same(draw) => *draw,
            OpSource::Durable(durable) => durable.draw(),
        }
    }
}

impl Durable {
    /// These operations with what the spec asks for; the same where it asks for nothing.
    fn around(operations: OpSource, spec: &Spec, key: StreamKey) -> OpSource {
        let Durability { flush_every, fua } = spec.durability;
        if flush_every == 0 && fua <= 0.0 {
            return operations;
        }
        // Slots take turns, so that a worker's flushes are apart.
        let (slot, slots) = (u64::from(key.slot), u64::from(spec.streams().max(1)));
        let ahead = (u64::from(flush_every) * slot / slots) as u32;
        OpSource::Durable(Box::new(Durable {
            operations,
            flush_every,
            writes_left: flush_every - ahead,
            flush: None,
            fua: ReadShare::percent(fua),
            rng: Rngs::durable(key),
        }))
    }

    fn without_offsets(self) -> Durable {
        Durable { operations: self.operations.without_offsets(), ..self }
    }

    fn draw(&mut self) -> Draw {
        if let Some(target) = self.flush.take() {
            let (dir, pause) = (Dir::Flush, Ns::ZERO);
            return Draw { dir, target, offset: 0, len: 0, fua: false, pause };
        }
        let mut draw = self.operations.draw();
        if draw.dir == Dir::Write {
            draw.fua = self.fua.has(self.rng.next_u64() as u32);
            if self.flush_every > 0 {
                self.writes_left -= 1;
                if self.writes_left == 0 {
                    (self.writes_left, self.flush) = (self.flush_every, Some(draw.target));
                }
            }
        }
        draw
    }
}

impl Draw {
    #[inline]
    fn due(self, due: Ns) -> Op {
        let Draw { dir, target, offset, len, fua, .. } = self;
        Op { dir, target, offset, len, fua, due }
    }
}
