//! Threads that serve their queues in passes, and the processors that they share.
//!
//! An I/O that comes to a sleeping thread wakes it: on an idle processor at the cost of waking, on a polling thread's
//! processor without it, and otherwise in the order of readiness once a processor is free. I/Os that leave at the end
//! of a pass reach their next queues before the pass's processor is free, as a system call wakes its receiver before it
//! returns; a part of them leaves before that, where the pass has so much to send that it goes out at once.

use super::entity::{Entities, Fifo, NONE};
use super::layout::RouteStep;
use super::station::Discipline;
use super::{Observer, Simulation};
use crate::Ps;
use crate::model::{Gated, Halting};
use std::collections::VecDeque;

/// A pass takes what comes this soon after it has begun, or half of what every pass costs if that is sooner: it looks at its
/// queue only once its system call has begun. I/Os that a pass has sent together so stay together on ways of a nanosecond.
const LOOKS: Ps = Ps(20_000);
/// A mean wait counts a new one as one part in so many.
const RECENT: u64 = 8;
/// I/Os leave so long before the end of their pass at most: a thread still runs after it has woken its receivers, so that
/// they find its processor busy also where a path between two threads takes some nanoseconds.
const AHEAD: Ps = Ps(20_000);
/// A wait of many polling times counts as this many.
const LONGEST: u64 = 16;

/// What a thread does about one of its queues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// It sleeps.
    Asleep,
    /// It polls, and holds a processor.
    Polls,
    /// It is ready, and waits for a processor or for the end of the thread's pass over another queue.
    Ready,
    /// It has a processor, and begins its pass once it is awake.
    Wakes,
    /// A pass.
    Runs,
}

/// The state of a gated queue.
#[derive(Clone, Debug)]
pub struct GatedState {
    of: Gated,
    mode: Mode,
    /// I/Os that the next pass will take, and the demands of all of them.
    pub line: Fifo,
    pub work: Ps,
    /// Those that the current pass serves.
    pub batch: Fifo,
    /// How many of them leave next; all that are left leave when the pass ends.
    part: Option<u32>,
    /// Bytes that it has sent.
    sent: u64,
    ends: Ps,
    /// Mean wait for the next I/O, in picoseconds.
    wait: u64,
    /// Since when there is nothing to do.
    idle_since: Ps,
    /// It was asleep when its first I/O came, and does not run yet.
    woken: bool,
    /// From the departure of the pass's I/Os to its end.
    ahead: Ps,
    /// I/Os of open loops that its passes have issued, and answers that they have taken. An answer may come before the
    /// pass that issues its I/O has ended.
    issued: u64,
    answered: u64,
    stopped: bool,
}

impl GatedState {
    /// A thread that sleeps and has not polled yet.
    pub fn new(of: Gated) -> GatedState {
        GatedState {
            of,
            mode: Mode::Asleep,
            line: Fifo::EMPTY,
            work: Ps::ZERO,
            batch: Fifo::EMPTY,
            part: None,
            sent: 0,
            ends: Ps::ZERO,
            wait: LONGEST * of.spin.0,
            idle_since: Ps::ZERO,
            woken: false,
            ahead: Ps::ZERO,
            issued: 0,
            answered: 0,
            stopped: false,
        }
    }

    /// Whether it waits for an answer, as a closed loop always does. It polls for answers alone: until the next I/O is due
    /// it sleeps.
    fn expects(&self) -> bool {
        self.issued == 0 || self.issued > self.answered
    }

    /// The station of its processors, and its thread.
    pub fn runs_on(&self) -> (u32, u32) {
        (self.of.processors.0, self.of.thread)
    }

    /// Takes `who` out, of the queue or of the pass, which takes as long as it would have.
    pub fn pull(&mut self, entities: &mut Entities, who: u32) {
        if self.line.remove(entities, who) {
            self.work = self.work.since(entities[who].demand);
        } else {
            self.batch.remove(entities, who);
        }
    }

    /// The I/Os of the pass that leave before the others, and their demands; `None` where all leave together.
    fn first_part(&mut self, entities: &Entities) -> Option<(u32, Ps)> {
        let parts = self.of.parts?;
        let size = u64::from(parts.bytes);
        // The end of the part that brings the last bytes of the first I/O.
        let mut end = None;
        let (mut count, mut work) = (0, Ps::ZERO);
        let mut who = self.batch.first();
        while who != NONE {
            let io = &entities[who];
            if io.dir == parts.dir {
                let sent = self.sent + u64::from(io.bytes) + u64::from(parts.header);
                if sent > *end.get_or_insert(sent.next_multiple_of(size)) {
                    break;
                }
                self.sent = sent;
            }
            (count, work, who) = (count + 1, work.plus(io.demand), io.next);
        }
        (who != NONE).then_some((count, work))
    }

    /// From its beginning until it looks at its queue.
    fn looks(&self) -> Ps {
        LOOKS.min(Ps(self.of.pass.0 / 2))
    }

    /// Notes how long it waited for an answer until now. A thread that slept has waited until it runs: waking is a part of
    /// what it sees, so that it does not begin to poll for an answer that comes soon after it fell asleep.
    fn waited(&mut self, now: Ps) {
        if !self.expects() {
            return;
        }
        let span = now.since(self.idle_since).0.min(LONGEST * self.of.spin.0);
        self.wait = self.wait - self.wait / RECENT + span / RECENT;
    }
}

/// The state of processors.
#[derive(Clone, Debug)]
pub struct ProcessorsState {
    count: u32,
    busy: u32,
    /// Queues whose threads poll, those that have polled longest first.
    polling: VecDeque<u32>,
    /// Queues that are ready, in the order in which they became so.
    ready: VecDeque<u32>,
    /// By thread: it is in a pass.
    running: Vec<bool>,
    halt: Option<Halting>,
    /// Since when each idle processor is so, the one that was last at work last.
    idle: Vec<Ps>,
    stopped: bool,
}

impl ProcessorsState {
    /// So many idle processors.
    pub fn new(count: u32, halt: Option<Halting>) -> ProcessorsState {
        ProcessorsState {
            halt,
            idle: vec![Ps::ZERO; count as usize],
            count,
            busy: 0,
            polling: VecDeque::new(),
            ready: VecDeque::new(),
            running: Vec::new(),
            stopped: false,
        }
    }

    /// Makes room for one more queue, of this thread.
    pub fn admit(&mut self, thread: u32) {
        self.polling.reserve(self.polling.capacity() + 1);
        self.ready.reserve(self.ready.capacity() + 1);
        let threads = self.running.len().max(thread as usize + 1);
        self.running.resize(threads, false);
    }

    fn at_work(&self) -> u32 {
        self.busy + self.polling.len() as u32
    }

    /// Notes processors that have become idle, or are so no longer.
    fn note_idle(&mut self, now: Ps) {
        let idle = self.count.saturating_sub(self.at_work()) as usize;
        // Its capacity is that of all processors.
        self.idle.resize(idle, now);
    }

    /// What waking takes more than where a processor polls.
    fn halted(&self, now: Ps) -> Ps {
        match (self.halt, self.idle.last()) {
            (Some(halt), Some(since)) if now.since(*since) >= halt.after => halt.wake,
            _ => Ps::ZERO,
        }
    }

    fn runs(&self, thread: u32) -> bool {
        self.running.get(thread as usize).copied().unwrap_or(false)
    }
}

impl<O: Observer> Simulation<O> {
    /// Makes room for every thread at its processors.
    pub(super) fn admit_threads(&mut self) {
        for station in 0..self.stations.len() as u32 {
            let Some((on, thread)) = self.gated(station).map(|gated| gated.runs_on()) else {
                continue;
            };
            if let Some(processors) = self.processors(on) {
                processors.admit(thread);
            }
        }
    }

    fn gated(&mut self, station: u32) -> Option<&mut GatedState> {
        match self.stations.get_mut(station as usize).map(|place| &mut place.kind) {
            Some(Discipline::Gated(gated)) => Some(gated),
            _ => None,
        }
    }

    fn processors(&mut self, station: u32) -> Option<&mut ProcessorsState> {
        match self.stations.get_mut(station as usize).map(|place| &mut place.kind) {
            Some(Discipline::Processors(processors)) => Some(processors),
            _ => None,
        }
    }

    /// `who` comes to a gated queue.
    pub(super) fn come_to_gate(&mut self, station: u32, who: u32) {
        let place = &mut self.stations[station as usize];
        let Discipline::Gated(gated) = &mut place.kind else { return };
        gated.work = gated.work.plus(self.entities[who].demand);
        gated.line.push(&mut self.entities, who);
        if matches!(gated.mode, Mode::Asleep | Mode::Polls) && !gated.stopped {
            self.rouse(station);
        }
    }

    /// A thread that sleeps or polls has something to do.
    fn rouse(&mut self, station: u32) {
        let now = self.now;
        let Some(gated) = self.gated(station) else { return };
        let polled = gated.mode == Mode::Polls;
        match polled {
            true => gated.waited(now),
            false => gated.woken = true,
        }
        let (on, thread) = gated.runs_on();
        let Some(processors) = self.processors(on) else { return };
        if polled {
            processors.polling.retain(|of| *of != station);
            return self.pass(station, Ps::ZERO);
        }
        if processors.stopped || processors.runs(thread) {
            return self.stand_by(station, on);
        }
        if processors.at_work() < processors.count {
            let halted = processors.halted(now);
            let wake = self.gated(station).map_or(Ps::ZERO, |gated| gated.of.wake);
            return self.pass(station, wake.plus(halted));
        }
        match processors.polling.pop_front() {
            Some(poller) => {
                self.fall_asleep(poller);
                let switch = self.gated(station).map_or(Ps::ZERO, |gated| gated.of.switch);
                self.pass(station, switch);
            }
            None => self.stand_by(station, on),
        }
    }

    fn stand_by(&mut self, station: u32, on: u32) {
        if let Some(gated) = self.gated(station) {
            gated.mode = Mode::Ready;
        }
        if let Some(processors) = self.processors(on) {
            processors.ready.push_back(station);
        }
    }

    fn fall_asleep(&mut self, station: u32) {
        if let Some(gated) = self.gated(station) {
            gated.mode = Mode::Asleep;
        }
        self.alarms.clear(station);
    }

    /// A thread gets a free processor, and is awake after `wake`.
    fn pass(&mut self, station: u32, wake: Ps) {
        let now = self.now;
        let place = &mut self.stations[station as usize];
        let Discipline::Gated(gated) = &mut place.kind else { return };
        gated.mode = Mode::Wakes;
        let looks = now.plus(wake).plus(gated.looks());
        let (on, thread) = gated.runs_on();
        place.tally.set_busy(now, 1);
        if let Some(processors) = self.processors(on) {
            processors.busy += 1;
            processors.note_idle(now);
            if let Some(runs) = processors.running.get_mut(thread as usize) {
                *runs = true;
            }
        }
        self.count_busy(on);
        self.alarms.set(station, looks);
    }

    /// The pass has begun, and takes all I/Os that are there.
    fn begin_pass(&mut self, station: u32) {
        let now = self.now;
        let Some(gated) = self.gated(station) else { return };
        gated.mode = Mode::Runs;
        if std::mem::take(&mut gated.woken) {
            gated.waited(now);
        }
        gated.batch = std::mem::replace(&mut gated.line, Fifo::EMPTY);
        let work = std::mem::replace(&mut gated.work, Ps::ZERO);
        let pass = gated.of.pass.since(gated.looks());
        let span = pass.plus(work);
        gated.sent = 0;
        gated.ahead = AHEAD.min(span);
        gated.ends = now.plus(span.since(gated.ahead));
        let from = now.plus(pass);
        self.serve_part(station, from);
    }

    /// A pass serves the I/Os that leave next, from this moment on.
    fn serve_part(&mut self, station: u32, from: Ps) {
        let place = &mut self.stations[station as usize];
        let Discipline::Gated(gated) = &mut place.kind else { return };
        let part = gated.first_part(&self.entities);
        gated.part = part.map(|(count, _)| count);
        let leave = part.map_or(gated.ends, |(_, work)| from.plus(work).min(gated.ends));
        self.alarms.set(station, leave);
    }

    /// A part of a pass has been served: its I/Os leave, and the pass goes on.
    fn leave_in_parts(&mut self, station: u32, count: u32) {
        for _ in 0..count {
            let place = &mut self.stations[station as usize];
            let Discipline::Gated(gated) = &mut place.kind else { return };
            let Some(who) = gated.batch.pop(&self.entities) else { break };
            self.leave_pass(station, who);
        }
        self.walk_ready();
        self.serve_part(station, self.now);
    }

    /// Brings the tally of processors up to date.
    fn count_busy(&mut self, on: u32) {
        let now = self.now;
        let place = &mut self.stations[on as usize];
        let Discipline::Processors(processors) = &place.kind else { return };
        place.tally.set_busy(now, processors.busy);
    }

    /// The alarm of a gated queue: its thread is awake, or its pass or polling is over.
    pub(super) fn gate_alarm(&mut self, station: u32) {
        self.alarms.clear(station);
        let Some(gated) = self.gated(station) else { return };
        let on = gated.of.processors.0;
        match gated.mode {
            Mode::Wakes => self.begin_pass(station),
            Mode::Runs => match gated.part {
                Some(count) => self.leave_in_parts(station, count),
                None => self.end_pass(station),
            },
            Mode::Polls | Mode::Asleep | Mode::Ready => {
                self.fall_asleep(station);
                let now = self.now;
                if let Some(processors) = self.processors(on) {
                    processors.polling.retain(|of| *of != station);
                    processors.note_idle(now);
                }
            }
        }
    }

    /// The I/Os of a pass leave, then its processor is free.
    fn end_pass(&mut self, station: u32) {
        let Some(gated) = self.gated(station) else { return };
        let ahead = gated.ahead;
        let mut batch = std::mem::replace(&mut gated.batch, Fifo::EMPTY);
        while let Some(who) = batch.pop(&self.entities) {
            self.leave_pass(station, who);
        }
        self.walk_ready();
        // After all that the I/Os set off at this moment: what their sources issue belongs to the pass.
        let place = self.place_of_releases();
        self.schedule(ahead, place, station);
    }

    /// An I/O that a pass has served is ready to walk on.
    fn leave_pass(&mut self, station: u32, who: u32) {
        self.leave(station, who);
        let Some(gated) = self.gated(station) else { return };
        let (on, counted) = (gated.of.processors.0, gated.of.counted);
        self.entities[who].hop += 1;
        if counted {
            let next = &self.steps[self.entities[who].hop as usize];
            let issued = matches!(next, RouteStep::Submit);
            self.count_answer(station, on, who, issued);
        }
        self.ready.push(&mut self.entities, who);
    }

    /// Counts an I/O of an initiator's pass: one that it issues, or an answer.
    fn count_answer(&mut self, station: u32, on: u32, who: u32, issued: bool) {
        if let Some(gated) = self.gated(station) {
            match issued {
                true => gated.issued += 1,
                false => gated.answered += 1,
            }
        }
        if !issued {
            let entity = &self.entities[who];
            let (dir, bytes) = (entity.dir, entity.bytes);
            self.stations[on as usize].tally.pass_at_once(dir, bytes);
        }
    }

    /// The place of events that free processors: after all stations, sources and selectors.
    pub(super) fn place_of_releases(&self) -> u32 {
        (self.stations.len() + self.origins.len() + self.choosers.len()) as u32
    }

    /// The processor of a pass that has ended is free.
    pub(super) fn release_processor(&mut self, station: u32) {
        let Some((on, thread)) = self.gated(station).map(|gated| gated.runs_on()) else { return };
        let now = self.now;
        let tally = &mut self.stations[station as usize].tally;
        tally.set_busy(now, 0);
        if let Some(processors) = self.processors(on) {
            processors.busy -= 1;
            if let Some(runs) = processors.running.get_mut(thread as usize) {
                *runs = false;
            }
        }
        self.after_pass(station, on);
        if let Some(processors) = self.processors(on) {
            processors.note_idle(now);
        }
        self.assign_processors(on, Some(thread));
        self.count_busy(on);
    }

    /// What a thread does after a pass: it goes on with what has come, polls or sleeps.
    fn after_pass(&mut self, station: u32, on: u32) {
        let now = self.now;
        let wanted = self.processors(on).is_none_or(|processors| !processors.ready.is_empty());
        let Some(gated) = self.gated(station) else { return };
        (gated.mode, gated.idle_since) = (Mode::Asleep, now);
        if !gated.line.is_empty() && !gated.stopped {
            return self.stand_by(station, on);
        }
        let spin = gated.of.spin;
        if gated.wait < spin.0 && gated.expects() && !wanted && !gated.stopped {
            gated.mode = Mode::Polls;
            if let Some(processors) = self.processors(on) {
                processors.polling.push_back(station);
            }
            self.alarms.set(station, now.plus(spin));
        }
    }

    /// Gives free processors, one of which this thread has left, to threads that are ready.
    fn assign_processors(&mut self, on: u32, mut left: Option<u32>) {
        let mut at = 0;
        loop {
            let Some(processors) = self.processors(on) else { return };
            let next = processors.ready.get(at).copied();
            let free = processors.at_work() < processors.count && !processors.stopped;
            let Some(next) = next.filter(|_| free) else {
                return;
            };
            let Some((_, thread)) = self.gated(next).map(|gated| gated.runs_on()) else { return };
            let Some(processors) = self.processors(on) else { return };
            if processors.runs(thread) {
                at += 1;
                continue;
            }
            processors.ready.remove(at);
            let Some(gated) = self.gated(next) else { return };
            // What was there has been pulled out since.
            if gated.line.is_empty() || gated.stopped {
                gated.mode = Mode::Asleep;
                continue;
            }
            let goes_on = left.take() == Some(thread);
            let switch = if goes_on { Ps::ZERO } else { gated.of.switch };
            self.pass(next, switch);
        }
    }

    /// A thread, or all threads of processors, stops beginning passes, or resumes.
    pub(super) fn stop_gate(&mut self, station: u32, stopped: bool) {
        if let Some(processors) = self.processors(station) {
            processors.stopped = stopped;
            self.assign_processors(station, None);
            return self.count_busy(station);
        }
        let Some(gated) = self.gated(station) else { return };
        gated.stopped = stopped;
        if !stopped && gated.mode == Mode::Asleep && !gated.line.is_empty() {
            self.rouse(station);
        }
    }
}
