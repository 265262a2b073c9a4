//! Shared by the tests: specs in one line, and drivers that replace an engine.
#![allow(dead_code)] // Each test file uses its own part.

use clock::{Ns, Rng};
use workload::*;

pub const KIB: u64 = 1024;
pub const MIB: u64 = 1024 * KIB;

pub fn row(size: u64, read: f64, random: f64) -> Row {
    Row::new(size as u32, read, random)
}

pub fn access(rows: Vec<Row>) -> Access {
    Access::new(rows)
}

/// A closed loop of `depth` over the whole of every target.
pub fn closed(access: Access, depth: u32) -> Spec {
    Spec {
        kind: WorkloadKind::Access(access),
        arrivals: Arrivals::closed(depth),
        working_set: None,
        regions: Regions::Shared,
        durability: Durability::default(),
        passes: 0,
        trace: None,
    }
}

/// An open loop over the whole of every target.
pub fn open(access: Access, process: Process) -> Spec {
    Spec { arrivals: Arrivals::Open { process, limit: 64 }, ..closed(access, 1) }
}

/// Targets of these sizes, with sectors of 512 bytes, for a worker of its own.
pub fn place(sizes: &[u64]) -> Placement {
    let targets = sizes.iter().map(|size| Extent { size: *size, block: 512 }).collect();
    Placement { targets, sharer: 0, sharers: 1, start: Ns::ZERO }
}

pub fn key(slot: u32) -> StreamKey {
    StreamKey { seed: 7, step: 0, worker: 0, slot }
}

/// The slots of one worker.
pub fn slots(spec: &Spec, place: &Placement) -> Vec<Stream> {
    let stream = |slot| Stream::new(spec, place, key(slot)).expect("the spec suits the place");
    (0..spec.streams()).map(stream).collect()
}

/// The next operation of a closed loop whose device takes no time.
#[track_caller]
pub fn op(stream: &mut Stream, now: Ns) -> Op {
    match stream.next(now) {
        Next::Op(op) => {
            stream.completed(now);
            op
        }
        other => panic!("expected an operation, got {other:?}"),
    }
}

/// The first `count` operations of slot 0 of a closed loop.
#[track_caller]
pub fn ops(spec: &Spec, place: &Placement, count: usize) -> Vec<Op> {
    let mut stream = slots(spec, place).swap_remove(0);
    (0..count).map(|_| op(&mut stream, Ns::ZERO)).collect()
}

/// The operations of each slot when `total` completions come in an order drawn from the seed `chance`.
pub fn shuffled(spec: &Spec, place: &Placement, total: usize, chance: u64) -> Vec<Vec<Op>> {
    let mut order = Rng::keyed(chance, &[]);
    let mut streams = slots(spec, place);
    let mut seen = vec![Vec::new(); streams.len()];
    for at in 0..total {
        let slot = order.below(streams.len() as u64) as usize;
        seen[slot].push(op(&mut streams[slot], Ns(at as u64)));
    }
    seen
}

/// The arrivals of an open loop until `until`, requested without delay.
pub fn arrivals(stream: &mut Stream, until: Ns) -> Vec<Ns> {
    let mut seen = Vec::new();
    let mut now = Ns::ZERO;
    while now < until {
        match stream.next(now) {
            Next::Op(op) => seen.push(op.due),
            Next::At(at) => now = at,
            Next::Done => break,
            Next::AwaitCompletion => panic!("an open loop never waits"),
        }
    }
    seen
}
