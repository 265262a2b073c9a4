//! What a worker issues next, and in which slot: one stream a slot in a closed loop; one stream and a pool of free
//! slots in an open loop. Moments are counted from the start of the step, so that streams are built before it is known.

use crate::replay::ReplayFeed;
use crate::{Completion, Io};
use clock::Ns;
use engine::Throttle;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use workload::{
    Arrivals, Next, Op, Placement, Replay, Spec, SpecError, Stream, StreamKey, pass_bytes,
};

/// I/Os that wait for submission, with the moments at which they were due. Never grows beyond its depth.
pub struct IoBatch {
    pub(crate) ios: Vec<Io>,
    pub(crate) dues: Vec<Ns>,
    /// The first so many have been admitted by the worker's payload.
    admitted: usize,
}

/// The source of a worker's operations; one virtual call a batch.
pub(crate) trait Feed {
    /// Appends everything that is to be issued at `now`.
    fn fill(&mut self, now: Ns, batch: &mut IoBatch);

    /// Takes back the slots of completed operations.
    fn completed(&mut self, done: &[Completion], now: Ns);

    /// When, as of `now`, there is something to issue though nothing completes; [`Ns::MAX`] where there is not.
    fn wake(&self, now: Ns) -> Ns;

    /// Lowers the load from now on, or restores it.
    fn throttle(&mut self, to: Throttle);

    /// Whether nothing will be issued any more.
    fn is_over(&self) -> bool;
}

/// Builds the feed of a worker whose arrivals are already clamped to the depth that its queue can carry, and the bytes that it
/// issues where it ends: `limit`, or as its passes take.
pub(crate) fn feed_until(
    spec: &Spec,
    place: &Placement,
    key: StreamKey,
    limit: Option<u64>,
) -> Result<(Box<dyn Feed>, Option<u64>), SpecError> {
    let feed = feed(spec, place, key)?;
    match limit {
        Some(left) => Ok((Box::new(LimitedFeed { feed, left }), limit)),
        None => Ok((feed, pass_bytes(spec, place, key)?)),
    }
}

/// Builds the feed of a worker that does not end by an amount.
pub(crate) fn feed(
    spec: &Spec,
    place: &Placement,
    key: StreamKey,
) -> Result<Box<dyn Feed>, SpecError> {
    let depth = spec.outstanding_max();
    if let Some(trace) = &spec.trace {
        return Ok(Box::new(ReplayFeed::new(Replay::new(trace, place)?, depth)));
    }
    Ok(match spec.arrivals {
        // Its streams share what they only read, so that more of them fit a cache.
        Arrivals::Closed { .. } => Box::new(Closed {
            streams: Stream::slots(spec, place, key)?,
            ready: (0..depth).collect(),
            asleep: BinaryHeap::with_capacity(depth as usize),
            parked: Vec::with_capacity(depth as usize),
            over: 0,
            active: depth,
            more_think: Ns::ZERO,
        }),
        Arrivals::Open { .. } => Box::new(OpenFeed {
            stream: Stream::new(spec, place, StreamKey { slot: 0, ..key })?,
            // The lowest slot last, so that few buffers stay warm while few are in flight.
            free: (0..depth).rev().collect(),
            skip_every: 0,
            arrivals: 0,
            over: false,
        }),
    })
}

/// A load that ends after so many bytes. Operations are issued until they are reached, whatever slot they are of.
struct LimitedFeed {
    feed: Box<dyn Feed>,
    left: u64,
}

impl Feed for LimitedFeed {
    fn fill(&mut self, now: Ns, batch: &mut IoBatch) {
        if self.left == 0 {
            return;
        }
        let mut kept = batch.ios.len();
        self.feed.fill(now, batch);
        while kept < batch.ios.len() && self.left > 0 {
            self.left = self.left.saturating_sub(batch.ios[kept].len.into());
            kept += 1;
        }
        // The slots of what is left over are asked no more.
        batch.ios.truncate(kept);
        batch.dues.truncate(kept);
    }

    fn completed(&mut self, done: &[Completion], now: Ns) {
        self.feed.completed(done, now);
    }

    fn wake(&self, now: Ns) -> Ns {
        if self.left == 0 { Ns::MAX } else { self.feed.wake(now) }
    }

    fn throttle(&mut self, to: Throttle) {
        self.feed.throttle(to);
    }

    fn is_over(&self) -> bool {
        self.left == 0 || self.feed.is_over()
    }
}

impl IoBatch {
    pub(crate) fn with_capacity(depth: u32) -> IoBatch {
        let depth = depth as usize;
        let (ios, dues) = (Vec::with_capacity(depth), Vec::with_capacity(depth));
        IoBatch { ios, dues, admitted: 0 }
    }

    /// Shows `may_go` every I/O that has not been admitted yet, once, and moves those for which it says so behind the
    /// ones that have. Returns how many are admitted now, from the front.
    pub fn admit(&mut self, mut may_go: impl FnMut(&Io) -> bool) -> usize {
        for i in self.admitted..self.ios.len() {
            if may_go(&self.ios[i]) {
                self.ios.swap(self.admitted, i);
                self.dues.swap(self.admitted, i);
                self.admitted += 1;
            }
        }
        self.admitted
    }

    /// As [`IoBatch::admit`], where every I/O may go.
    pub fn admit_all(&mut self, mut prepare: impl FnMut(&Io)) -> usize {
        self.ios[self.admitted..].iter().for_each(&mut prepare);
        self.admitted = self.ios.len();
        self.admitted
    }

    /// I/Os that were admitted and have not been taken.
    pub(crate) fn admitted(&self) -> &[Io] {
        &self.ios[..self.admitted]
    }

    #[cfg(test)]
    pub(crate) fn of(io: Io) -> IoBatch {
        IoBatch { ios: vec![io], dues: vec![Ns::ZERO], admitted: 0 }
    }

    pub(crate) fn push(&mut self, slot: u32, op: Op) {
        let Op { dir, target, offset, len, fua, due } = op;
        self.ios.push(Io { slot, dir, target, offset, len, fua });
        self.dues.push(due);
    }

    /// Forgets the first `n`, which a queue has taken.
    pub(crate) fn taken(&mut self, n: usize) {
        if n == self.ios.len() {
            // The common case, in which nothing is left to move up.
            self.ios.clear();
            self.dues.clear();
        } else {
            self.ios.drain(..n);
            self.dues.drain(..n);
        }
        self.admitted = self.admitted.saturating_sub(n);
    }
}

struct Closed {
    streams: Vec<Stream>,
    /// Slots that are to be asked. A slot is here, asleep, parked or in flight, so none of the lists outgrows the depth.
    ready: Vec<u32>,
    asleep: BinaryHeap<Reverse<(Ns, u32)>>,
    /// Slots that issue nothing while the load is lowered.
    parked: Vec<u32>,
    /// Slots that have issued all of theirs.
    over: u32,
    /// The first so many slots issue.
    active: u32,
    more_think: Ns,
}

impl Feed for Closed {
    fn fill(&mut self, now: Ns, batch: &mut IoBatch) {
        while let Some(Reverse((at, slot))) = self.asleep.peek().copied()
            && at <= now
        {
            self.asleep.pop();
            self.ready.push(slot);
        }
        for slot in self.ready.drain(..) {
            if slot >= self.active {
                self.parked.push(slot);
                continue;
            }
            match self.streams[slot as usize].next(now) {
                Next::Op(op) => batch.push(slot, op),
                Next::At(at) => self.asleep.push(Reverse((at, slot))),
                Next::Done => self.over += 1,
                Next::AwaitCompletion => {}
            }
        }
    }

    fn completed(&mut self, done: &[Completion], now: Ns) {
        for completion in done {
            self.streams[completion.slot as usize].completed(now.plus(self.more_think));
            self.ready.push(completion.slot);
        }
    }

    fn throttle(&mut self, to: Throttle) {
        self.active = (self.streams.len() as u32).saturating_sub(to.idle_slots);
        self.more_think = to.more_think;
        self.ready.append(&mut self.parked);
    }

    fn wake(&self, _: Ns) -> Ns {
        self.asleep.peek().map_or(Ns::MAX, |Reverse((at, _))| *at)
    }

    fn is_over(&self) -> bool {
        self.over as usize == self.streams.len()
    }
}

/// A worker that is awake this short before an arrival issues the I/O now: sleeping and waking would cost more than the
/// I/O and delay it as much. It is submitted separately, because the I/O before it would wait for it where a device
/// carries out I/O at submission. Its latency counts from its start, so this never looks faster.
pub(crate) const AHEAD: Ns = Ns(20_000);

/// What became due while the worker was late goes in batches of this size: on a device that carries out I/O as it is
/// submitted, each waits for all of its batch.
pub(crate) const CATCH_UP: usize = 4;

struct OpenFeed {
    stream: Stream,
    free: Vec<u32>,
    /// Of so many arrivals one is left out; zero: none is.
    skip_every: u32,
    arrivals: u32,
    /// All of its operations are issued.
    over: bool,
}

impl OpenFeed {
    /// Issues what is due at `moment`: no more than asked for, and than there are slots.
    fn issue(&mut self, moment: Ns, most: usize, batch: &mut IoBatch) {
        for _ in 0..most {
            let Some(slot) = self.free.last().copied() else { return };
            let op = match self.stream.next(moment) {
                Next::Op(op) => op,
                next => {
                    self.over = next == Next::Done;
                    return;
                }
            };
            if self.skip_every > 0 {
                self.arrivals += 1;
                if self.arrivals.is_multiple_of(self.skip_every) {
                    continue;
                }
            }
            self.free.pop();
            batch.push(slot, op);
        }
    }
}

impl Feed for OpenFeed {
    fn fill(&mut self, now: Ns, batch: &mut IoBatch) {
        if self.stream.arrival() <= now {
            self.issue(now, CATCH_UP, batch);
        } else {
            self.issue(now.plus(AHEAD), 1, batch);
        }
    }

    fn completed(&mut self, done: &[Completion], now: Ns) {
        for completion in done {
            self.stream.completed(now);
            self.free.push(completion.slot);
        }
    }

    fn throttle(&mut self, to: Throttle) {
        (self.skip_every, self.arrivals) = (to.skip_every, 0);
    }

    fn wake(&self, now: Ns) -> Ns {
        match self.stream.arrival() {
            _ if self.free.is_empty() || self.over => Ns::MAX,
            arrival if arrival <= now.plus(AHEAD) => now,
            arrival => arrival,
        }
    }

    fn is_over(&self) -> bool {
        self.over
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::{Dir, Extent, Process, Regions, Row};

    #[track_caller]
    fn check(batch: &mut IoBatch, odd_go: bool, admitted: usize, slots: &[u32]) {
        assert_eq!(batch.admit(|io| odd_go || io.slot % 2 == 0), admitted);
        assert_eq!(batch.ios.iter().map(|io| io.slot).collect::<Vec<_>>(), slots);
        assert!(batch.ios.iter().zip(&batch.dues).all(|(io, due)| u64::from(io.slot) == due.0));
    }

    #[test]
    fn what_is_held_back_stays_behind_what_was_admitted_and_keeps_its_moment() {
        let mut batch = IoBatch::with_capacity(8);
        let op = |slot: u32| Op {
            dir: Dir::Write,
            target: 0,
            offset: 0,
            len: 512,
            fua: false,
            due: Ns(slot.into()),
        };
        (0..5).for_each(|slot| batch.push(slot, op(slot)));
        check(&mut batch, false, 3, &[0, 2, 4, 3, 1]);
        batch.taken(2);
        batch.push(6, op(6));
        check(&mut batch, false, 2, &[4, 6, 1, 3]);
        assert_eq!(batch.admitted().len(), 2);
        check(&mut batch, true, 4, &[4, 6, 1, 3]);
        batch.taken(4);
        assert!(batch.ios.is_empty() && batch.admitted().is_empty());
    }

    /// How many operations an open loop of `rate` a second issues at each of these moments, in microseconds.
    #[track_caller]
    fn check_arrivals(rate: f64, limit: u32, moments_us: &[u64], expected: &[usize]) {
        let spec = Spec::access(
            vec![Row::new(4096, 100.0, 100.0)],
            Arrivals::Open { process: Process::Fixed { rate }, limit },
            Regions::Shared,
        );
        let targets = vec![Extent { size: 1 << 30, block: 512 }];
        let place = Placement { targets, sharer: 0, sharers: 1, start: Ns::ZERO };
        let key = StreamKey { seed: 1, step: 0, worker: 0, slot: 0 };
        let mut feed = feed(&spec, &place, key).expect("a sound spec");
        let mut issued = Vec::new();
        for moment in moments_us {
            let mut batch = IoBatch::with_capacity(limit);
            feed.fill(Ns(moment * 1000), &mut batch);
            issued.push(batch.ios.len());
        }
        assert_eq!(issued, expected);
    }

    /// The feed of a closed loop, or of an open one of 1000 a second.
    fn feed_of(arrivals: Arrivals) -> Box<dyn Feed> {
        let spec = Spec::access(vec![Row::new(4096, 100.0, 100.0)], arrivals, Regions::Shared);
        let targets = vec![Extent { size: 1 << 30, block: 512 }];
        let place = Placement { targets, sharer: 0, sharers: 1, start: Ns::ZERO };
        feed(&spec, &place, StreamKey { seed: 1, step: 0, worker: 0, slot: 0 }).expect("sound")
    }

    /// Fills at a moment in microseconds; the slots that issue.
    fn issued(feed: &mut dyn Feed, us: u64) -> Vec<u32> {
        let mut batch = IoBatch::with_capacity(64);
        feed.fill(Ns(us * 1000), &mut batch);
        batch.ios.iter().map(|io| io.slot).collect()
    }

    fn complete(feed: &mut dyn Feed, us: u64, slots: &[u32]) {
        let done: Vec<Completion> =
            slots.iter().map(|slot| Completion { slot: *slot, result: Ok(4096) }).collect();
        feed.completed(&done, Ns(us * 1000));
    }

    #[test]
    fn a_closed_loop_that_is_lowered_leaves_slots_idle_and_takes_them_back() {
        let mut feed = feed_of(Arrivals::closed(4));
        assert_eq!(issued(&mut *feed, 0), [0, 1, 2, 3]);
        feed.throttle(Throttle { idle_slots: 1, ..Throttle::default() });
        complete(&mut *feed, 10, &[3, 0]);
        assert_eq!(issued(&mut *feed, 10), [0], "the last slot is idle");
        complete(&mut *feed, 20, &[1]);
        assert_eq!(issued(&mut *feed, 20), [1]);
        feed.throttle(Throttle { more_think: Ns(5000), ..Throttle::default() });
        assert_eq!(issued(&mut *feed, 30), [3], "it issues again");
        complete(&mut *feed, 40, &[2]);
        assert_eq!((issued(&mut *feed, 44), feed.wake(Ns(44_000))), (vec![], Ns(45_000)));
        assert_eq!(issued(&mut *feed, 45), [2]);
        feed.throttle(Throttle::default());
        complete(&mut *feed, 50, &[0, 1, 2, 3]);
        assert_eq!(issued(&mut *feed, 50).len(), 4);
    }

    #[test]
    fn an_open_loop_that_is_lowered_leaves_arrivals_out() {
        let process = Process::Fixed { rate: 1000.0 };
        let mut feed = feed_of(Arrivals::Open { process, limit: 8 });
        let count = |feed: &mut dyn Feed, from: u64, to: u64| {
            let mut all = 0;
            for us in (from..to).step_by(500) {
                let slots = issued(feed, us);
                all += slots.len();
                complete(feed, us, &slots);
            }
            all
        };
        assert_eq!(count(&mut *feed, 0, 100_000), 100);
        feed.throttle(Throttle { skip_every: 10, ..Throttle::default() });
        assert_eq!(count(&mut *feed, 100_000, 200_000), 90);
        feed.throttle(Throttle::default());
        assert_eq!(count(&mut *feed, 200_000, 300_000), 100);
    }

    #[test]
    fn an_arrival_that_is_close_goes_ahead_by_itself() {
        // Every 10 us: what is due goes together, what is close one by one.
        check_arrivals(100_000.0, 64, &[0, 1, 2, 9, 10, 35, 36], &[1, 1, 1, 0, 1, 1, 1]);
        // Every 100 us: none goes sooner than that.
        check_arrivals(10_000.0, 64, &[0, 79, 80, 81, 350], &[1, 0, 1, 0, 2]);
        // Never more than there are slots.
        check_arrivals(100_000.0, 2, &[0, 1000], &[1, 1]);
    }
}
