//! A worker: keeps its queue full from its feed and counts what comes back.
//!
//! Batch of operations → stamp → submit → reap → stamp → account, over and over: one clock read a submitted batch and
//! one a reaped batch, never one for both. After the start it allocates nothing, locks nothing, and makes no system
//! call but those of its queue and its clock.

use crate::copy::Turn;
use crate::feed::{Feed, IoBatch, feed_until};
use crate::{Arena, Completions, OpenError, Opener, Payload, PayloadOpener, Queue};
use clock::{Ns, Rng};
use engine::{
    EngineError, EventNote, LoadChange, Opened, OpenedLoad, Reports, Spent, Stop, WorkerMeter,
    WorkerTask,
};
use record::{CounterId, Level};
use workload::{Arrivals, IoDemand, Placement, Spec, StreamKey};

/// Purpose of the random stream that fills the buffers, apart from those of operations.
const BUFFERS: u64 = 0x6275_6666;

/// A slot that no worker has.
const STRAY: u32 = u32::MAX;

/// A worker with real-time priority on a processor of its own looks at the clock while it waits no longer than this: a timer
/// wakes a thread some ten microseconds late, and at a million operations a second each of those delays ten.
const POLLED: Ns = Ns(50_000);
/// How often a worker that waits for others looks whether they have ended.
const LOOK: Ns = Ns::millis(1);

/// A worker before its thread exists.
pub struct DiskWorker {
    /// Its name, for messages.
    pub name: String,
    /// What it issues.
    pub spec: Spec,
    /// What it may touch; `start` is zero, since its streams count from the start of the step.
    pub place: Placement,
    /// The name of its randomness; slots are numbered by the worker.
    pub key: StreamKey,
    /// Where its I/O goes.
    pub opener: Box<dyn Opener>,
    /// Prepares and examines its buffers; `None` if their content does not matter.
    pub payload: Option<Box<dyn PayloadOpener>>,
    /// How long after the end it waits for what is in flight.
    pub grace: Ns,
    /// How its load changes after the measurement, in order of time.
    pub changes: Vec<LoadChange>,
    /// Bytes after which it ends, where an amount was given.
    pub limit: Option<u64>,
    /// When it may begin; its streams count from then on.
    pub turn: Turn,
}

impl WorkerTask for DiskWorker {
    fn open(mut self: Box<Self>) -> Result<Opened, EngineError> {
        let problem =
            |name: &str, problem: String| EngineError::Worker { worker: name.to_owned(), problem };
        let asked = self.spec.outstanding_max();
        let bytes = IoDemand::of(&self.spec).block_max;
        let arena = Arena::new(asked, bytes).map_err(|e| {
            problem(&self.name, format!("no memory for {asked} buffers of {bytes} bytes: {e}"))
        })?;
        let mut queue = self.opener.open(&arena).map_err(target_error)?;
        let depth = asked.min(queue.depth_max());
        let how = queue.how().to_owned();
        // Streams must know the real depth: the slots of a worker walk sequential runs together.
        match &mut self.spec.arrivals {
            Arrivals::Closed { depth: slots, .. } | Arrivals::Open { limit: slots, .. } => {
                *slots = depth
            }
        }
        let (feed, planned) = feed_until(&self.spec, &self.place, self.key, self.limit)
            .map_err(|e| problem(&self.name, e.to_string()))?;
        let StreamKey { seed, step, worker, .. } = self.key;
        arena.fill(depth, &mut Rng::keyed(seed, &[BUFFERS, step.into(), worker.into()]));
        let payload = self.payload.map(|payload| payload.open(&arena, depth));
        let mut payload = payload.transpose().map_err(target_error)?;
        let reports = payload.as_mut().and_then(|payload| payload.reports());
        let reports = both(reports, queue.reports());
        let planned_reports = planned.map(|bytes| Box::new(Planned(bytes)) as Box<dyn Reports>);
        let reports = both(reports, planned_reports);
        let issuer = DiskIssuer {
            queue,
            payload,
            feed,
            batch: IoBatch::with_capacity(depth),
            done: Vec::with_capacity(depth as usize),
            name: self.name,
            grace: self.grace,
            changes: self.changes,
            changed: 0,
            resting: planned.is_none(),
            turn: self.turn,
            strays: 0,
        };
        let notes = (depth < asked)
            .then(|| clamped(&issuer.name, asked, depth, &how))
            .into_iter()
            .collect();
        Ok(Opened { load: Box::new(issuer), slots: depth, notes, how, reports })
    }
}

/// The bytes that a worker was to move, for the record.
pub(crate) struct Planned(pub u64);

impl Reports for Planned {
    fn news(&mut self, _: &mut dyn FnMut(Ns, EventNote)) {}

    fn planned(&self) -> Option<u64> {
        Some(self.0)
    }

    fn counts(&mut self) -> Vec<(CounterId, u64)> {
        vec![(CounterId::PlannedBytes, self.0)]
    }
}

/// What a worker's payload and its queue report, as one.
struct Both(Box<dyn Reports>, Box<dyn Reports>);

impl Reports for Both {
    fn news(&mut self, say: &mut dyn FnMut(Ns, EventNote)) {
        self.0.news(say);
        self.1.news(say);
    }

    fn planned(&self) -> Option<u64> {
        self.0.planned().or(self.1.planned())
    }

    fn counts(&mut self) -> Vec<(CounterId, u64)> {
        let mut counts = self.0.counts();
        counts.extend(self.1.counts());
        counts
    }
}

fn both(
    payload: Option<Box<dyn Reports>>,
    queue: Option<Box<dyn Reports>>,
) -> Option<Box<dyn Reports>> {
    match (payload, queue) {
        (Some(payload), Some(queue)) => Some(Box::new(Both(payload, queue))),
        (one, other) => one.or(other),
    }
}

fn target_error(OpenError { target, problem }: OpenError) -> EngineError {
    EngineError::Target { target, problem }
}

fn clamped(name: &str, asked: u32, depth: u32, how: &str) -> EventNote {
    let text = format!(
        "{name}: depth {asked} was asked for, but its queue carries {depth} at a time ({how}); raise `workers` instead \
         of depth"
    );
    EventNote { level: Level::Warning, code: "depth-clamped", text }
}

/// The data plane of a worker.
struct DiskIssuer {
    queue: Box<dyn Queue>,
    payload: Option<Box<dyn Payload>>,
    feed: Box<dyn Feed>,
    batch: IoBatch,
    done: Completions,
    name: String,
    grace: Ns,
    changes: Vec<LoadChange>,
    /// The first so many changes have been made.
    changed: usize,
    /// All that it had to do is done, or it has no end.
    resting: bool,
    turn: Turn,
    /// Completions of what was not in flight.
    strays: u64,
}

impl OpenedLoad for DiskIssuer {
    fn run(&mut self, meter: &mut WorkerMeter, stop: &Stop) -> Result<(), EngineError> {
        let start = self.await_turn(meter, stop);
        let mut now = clock::now();
        meter.advance(now, Spent::Waiting);
        // The end may move forward at a cut, if the measurement begins sooner than planned.
        while now < meter.line().end() && !stop.asked() {
            self.change(meter, now);
            self.feed.fill(now.since(start), &mut self.batch);
            self.rest(meter);
            let ready = self.admit(now);
            if ready > 0 {
                now = clock::now();
                meter.advance(now, Spent::Own);
                if now >= meter.line().end() {
                    break;
                }
                self.submit(ready, meter, start, now)?;
            }
            now = self.wait(meter, start, now);
        }
        if stop.asked() {
            meter.finish(now);
        }
        self.wind_down(meter, start);
        if let Some(payload) = &mut self.payload {
            payload.ended(self.batch.admitted());
        }
        match self.strays {
            0 => Ok(()),
            n => Err(self.fault(format!("its queue completed {n} I/Os that were not in flight"))),
        }
    }
}

impl DiskIssuer {
    /// Waits for those before it; the moment from which its streams count.
    fn await_turn(&self, meter: &mut WorkerMeter, stop: &Stop) -> Ns {
        if self.turn.after.is_empty() {
            return meter.line().start();
        }
        let mut now = clock::now();
        while !self.turn.has_come() && now < meter.line().end() && !stop.asked() {
            meter.advance(now, Spent::Waiting);
            clock::sleep_until(now.plus(LOOK).min(meter.next_cut()));
            now = clock::now();
        }
        now.max(meter.line().start())
    }

    /// Lowers or restores the load where the moment has come, which is one of a cut.
    #[inline]
    fn change(&mut self, meter: &WorkerMeter, now: Ns) {
        while let Some(LoadChange { after, to }) = self.changes.get(self.changed)
            && now >= meter.line().cooldown().plus(*after)
        {
            self.feed.throttle(*to);
            self.changed += 1;
        }
    }

    /// Tells once that all that it had to do is done. It then waits from cut to cut.
    #[inline]
    fn rest(&mut self, meter: &WorkerMeter) {
        let idle = |of: &DiskIssuer| of.batch.ios.is_empty() && meter.in_flight() == 0;
        if !self.resting && self.feed.is_over() && idle(self) {
            self.resting = true;
            self.turn.is_over();
            meter.work_done();
        }
    }

    /// I/Os at the front of the batch that may go, their buffers prepared.
    fn admit(&mut self, now: Ns) -> usize {
        match &mut self.payload {
            None => self.batch.ios.len(),
            Some(payload) => payload.admit(&mut self.batch, now),
        }
    }

    fn fault(&self, what: String) -> EngineError {
        let problem = format!("{what}: a fault of the queue");
        EngineError::Worker { worker: self.name.clone(), problem }
    }

    /// Hands the first `ready` of the batch to the queue, as of the meter's present.
    fn submit(
        &mut self,
        ready: usize,
        meter: &mut WorkerMeter,
        start: Ns,
        at: Ns,
    ) -> Result<(), EngineError> {
        let taken = self.queue.submit(&self.batch.ios[..ready]).min(ready);
        if taken == 0 && meter.in_flight() == 0 {
            return Err(self.fault("its empty queue takes no I/O".to_owned()));
        }
        for (io, due) in self.batch.ios[..taken].iter().zip(&self.batch.dues) {
            // One that goes ahead of its moment is due when it goes.
            meter.submitted(io.slot, io.dir, start.plus(*due).min(at));
        }
        self.batch.taken(taken);
        Ok(())
    }

    /// Waits for a completion, the next arrival or the next cut, and accounts for what came back. Returns its stamp.
    fn wait(&mut self, meter: &mut WorkerMeter, start: Ns, now: Ns) -> Ns {
        let until = meter.next_cut().min(start.plus(self.feed.wake(now.since(start))));
        if meter.in_flight() == 0 && meter.may_poll() && until.since(now) <= POLLED {
            while clock::now() < until {
                std::hint::spin_loop();
            }
        } else if meter.in_flight() == 0 {
            clock::sleep_until(until);
        } else {
            self.queue.reap(1, until, &mut self.done);
        }
        self.account(meter, start)
    }

    fn account(&mut self, meter: &mut WorkerMeter, start: Ns) -> Ns {
        let now = clock::now();
        meter.advance(now, Spent::Waiting);
        if let Some(payload) = &mut self.payload {
            payload.completed(&mut self.done, now);
        }
        let before = self.strays;
        for completion in &mut self.done {
            if !meter.completed(completion.slot, completion.result) {
                completion.slot = STRAY;
                self.strays += 1;
            }
        }
        if self.strays > before {
            // No caller waits for them, and a slot must not be given out twice.
            self.done.retain(|completion| completion.slot != STRAY);
        }
        self.feed.completed(&self.done, now.since(start));
        self.done.clear();
        now
    }

    /// Takes back what is in flight after the end, for as long as the grace lasts.
    fn wind_down(&mut self, meter: &mut WorkerMeter, start: Ns) {
        let mut now = clock::now();
        let limit = now.plus(self.grace);
        while meter.in_flight() > 0 && now < limit {
            self.queue.reap(1, limit, &mut self.done);
            now = self.account(meter, start);
        }
    }
}
