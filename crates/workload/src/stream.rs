//! A stream: the operations of one issuing slot, one after the other.

use crate::access::Accesses;
use crate::arrival::Arrival;
use crate::draw::{Draw, Rngs};
use crate::transaction::Transactions;
use crate::{Arrivals, Dir, Kind, Spec, SpecError};
use clock::Ns;
use serde::{Deserialize, Serialize};

/// What a slot does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Issue this operation now.
    Op(Op),
    /// Nothing before that time: ask again then.
    At(Ns),
    /// Nothing before an operation of this slot has completed: ask again after `completed`.
    AwaitCompletion,
    /// Nothing any more.
    Done,
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Op {
    /// Read or write.
    pub dir: Dir,
    /// Index into the worker's targets.
    pub target: u16,
    /// Byte offset into the target.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// When the operation was due: in a closed loop the moment it was asked for, in an open loop its arrival.
    pub due: Ns,
}

/// The name of a stream's randomness: equal keys under equal seeds yield equal operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
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
    /// Bytes.
    pub size: u64,
    /// Logical block size in bytes: every offset and length is a multiple of it.
    pub block: u32,
}

/// Where a slot stands among those that share its targets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The worker's targets.
    pub targets: Vec<Extent>,
    /// This worker's number among the workers that share these targets with the same workload.
    pub sharer: u32,
    /// How many they are, at least 1.
    pub sharers: u32,
    /// When the step starts: the origin of arrivals.
    pub start: Ns,
}

/// A slot's stream of operations. Pure: no clock, no device; after `new`, nothing is allocated.
///
/// In a closed loop the stream alternates between one operation and waiting for its completion. In an open loop it
/// never waits: whoever drives it keeps count of what is outstanding, and asks again when there is room.
pub struct Stream {
    pacing: Pacing,
    operations: Operations,
}

/// What is drawn lies apart: a stream that draws nothing takes no more room than it needs.
enum Operations {
    Access(Box<Accesses>),
    Transaction(Box<Transactions>),
    /// All of them are this one.
    Same(Draw),
}

enum Pacing {
    /// `pause` follows the completion of what is outstanding; `ready` is when the next may be issued.
    Closed { think: Ns, pause: Ns, outstanding: bool, ready: Ns },
    /// `due` is the next arrival, `None` when there are no more.
    Open { arrival: Box<Arrival>, due: Option<Ns> },
}

impl Stream {
    /// Builds the stream of slot `key.slot`, or says why the spec does not fit the targets.
    ///
    /// A spec with problems of its own is refused with the first of [`Spec::problems`].
    pub fn new(spec: &Spec, place: &Place, key: Key) -> Result<Stream, SpecError> {
        if let Some(problem) = spec.problems().into_iter().next() {
            return Err(problem);
        }
        if key.slot >= spec.streams() {
            let problem = format!("slot {} is not one of the {}", key.slot, spec.streams());
            return Err(SpecError::Invalid { field: "slot", problem });
        }
        let operations = match &spec.kind {
            Kind::Access(access) => {
                Operations::Access(Box::new(Accesses::new(spec, access, place, key)?))
            }
            Kind::Transaction(transaction) => {
                Operations::Transaction(Box::new(Transactions::new(spec, transaction, place, key)?))
            }
        };
        let pacing = match spec.arrivals {
            Arrivals::Closed { think, .. } => {
                Pacing::Closed { think, pause: Ns::ZERO, outstanding: false, ready: place.start }
            }
            Arrivals::Open { process, .. } => {
                let mut arrival = Box::new(Arrival::new(process, place, Rngs::arrival(key)));
                let due = arrival.advance();
                Pacing::Open { arrival, due }
            }
        };
        Ok(Stream { pacing, operations })
    }

    /// The streams of all slots of a worker, in their order; `key.slot` says nothing. Each does what one made by itself
    /// does; they share what they only read, which takes less memory.
    ///
    /// # Errors
    /// As [`Stream::new`].
    pub fn slots(spec: &Spec, place: &Place, key: Key) -> Result<Vec<Stream>, SpecError> {
        let mut streams: Vec<Stream> = Vec::with_capacity(spec.streams() as usize);
        for slot in 0..spec.streams() {
            let key = Key { slot, ..key };
            let beside = streams.first().and_then(|first| first.beside(place, key));
            streams.push(match beside {
                Some(stream) => stream,
                None => Stream::new(spec, place, key)?,
            });
        }
        Ok(streams)
    }

    /// Another slot of the same worker's, that has not begun.
    fn beside(&self, place: &Place, key: Key) -> Option<Stream> {
        let (Pacing::Closed { think, .. }, Operations::Access(accesses)) =
            (&self.pacing, &self.operations)
        else {
            return None;
        };
        let (think, ready) = (*think, place.start);
        let pacing = Pacing::Closed { think, pause: Ns::ZERO, outstanding: false, ready };
        let operations = Operations::Access(Box::new(accesses.beside(key)?));
        Some(Stream { pacing, operations })
    }

    /// The same stream for whoever looks at no offset, as a simulator of networks: they mean nothing from now on, and what
    /// was drawn for them alone is not drawn. Everything else is as it would have been.
    pub fn without_offsets(self) -> Stream {
        let operations = match self.operations {
            Operations::Access(accesses) => {
                let accesses = accesses.without_offsets();
                match accesses.always() {
                    Some(same) => Operations::Same(same),
                    None => Operations::Access(Box::new(accesses)),
                }
            }
            other => other,
        };
        Stream { operations, ..self }
    }

    /// What to do at `now`. Nothing changes until an operation is returned.
    #[inline]
    pub fn next(&mut self, now: Ns) -> Next {
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
        }
    }

    /// When the next operation of an open loop is due; [`Ns::MAX`] after the last one, and in closed loops, which know
    /// only once they are asked.
    #[inline]
    pub fn arrival(&self) -> Ns {
        match &self.pacing {
            Pacing::Closed { .. } => Ns::MAX,
            Pacing::Open { due, .. } => due.unwrap_or(Ns::MAX),
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

impl Operations {
    #[inline]
    fn draw(&mut self) -> Draw {
        match self {
            Operations::Access(accesses) => accesses.draw(),
            Operations::Transaction(transactions) => transactions.draw(),
            Operations::Same(draw) => *draw,
        }
    }
}

impl Draw {
    #[inline]
    fn due(self, due: Ns) -> Op {
        Op { dir: self.dir, target: self.target, offset: self.offset, len: self.len, due }
    }
}
