//! A stream: the operations of one issuing slot, one after the other.

use crate::{Dir, Spec, SpecError};
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
pub struct Stream {}

impl Stream {
    /// Builds the stream of slot `key.slot`, or says why the spec does not fit the targets.
    pub fn new(_spec: &Spec, _place: &Place, _key: Key) -> Result<Stream, SpecError> {
        Ok(Stream {})
    }

    /// What to do at `now`.
    pub fn next(&mut self, _now: Ns) -> Next {
        Next::Done
    }

    /// An operation of this slot completed at `now`.
    pub fn completed(&mut self, _now: Ns) {}
}
