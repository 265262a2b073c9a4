//! The control-plane side of a running step: drains the workers' rings ten times a second, checks their errors
//! against the budget, and reports how each thread ended. Never runs on a worker's thread.

use crate::buffers::IntervalDrain;
use crate::fault::{ErrorBudget, ErrorStreak};
use crate::hang::{Hang, HangWatch};
use crate::{
    EngineError, EventNote, IntervalTx, LeftOpen, Output, OwnStop, OwnStops, Reports, StepEdge,
    StepTimeline, Stop,
};
use clock::Ns;
use record::{Counter, CounterId, Event, Interval, Level, Phase, SourceId};
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often rings are drained.
const TICK: Duration = Duration::from_millis(100);

/// If the collector itself came later than this, it does not judge by the clock whether workers hang. It checks again at
/// the next tick.
const AWAY: Ns = Ns::secs(1);

/// A worker whose operations were in flight for the measured time completed none of them.
pub const NOTHING_COMPLETED: &str = "nothing-completed";

/// One worker, seen from the control plane.
pub(crate) struct WorkerState {
    pub source: SourceId,
    pub name: String,
    /// A description of its targets.
    targets: String,
    /// `None` until it has opened.
    pub drain: Option<IntervalDrain>,
    /// Most operations in flight; 0 until it has opened.
    pub depth: u32,
    /// The I/O interface; empty until it has opened.
    pub how: String,
    pub reports: Option<Box<dyn Reports>>,
    drought: ErrorStreak,
    watch: HangWatch,
    work: MeasuredWork,
    /// That it has done all that it had to do has been told.
    ended: bool,
    thread: Option<JoinHandle<Result<LeftOpen, EngineError>>>,
}

/// What a worker did in the measured time, as far as it matters whether it did anything.
#[derive(Clone, Copy, Debug, Default)]
struct MeasuredWork {
    time: Ns,
    ended: u64,
    /// Operations in flight at the end of the last interval.
    open: u32,
}

/// Gathers what a crew reports until its last thread has ended.
pub(crate) struct Collector {
    pub line: StepTimeline,
    pub step: u32,
    pub grace: Ns,
    pub members: Vec<WorkerState>,
    pub alive: Receiver<Infallible>,
    pub stop: Stop,
    pub edge: StepEdge,
    pub end: StepEdge,
    pub out: IntervalTx,
    pub budget: ErrorBudget,
    pub failure: Option<EngineError>,
}

impl WorkerState {
    pub fn new(
        source: SourceId,
        name: String,
        targets: String,
        watch: HangWatch,
        thread: JoinHandle<Result<LeftOpen, EngineError>>,
    ) -> WorkerState {
        WorkerState {
            source,
            name,
            targets,
            drain: None,
            depth: 0,
            how: String::new(),
            reports: None,
            drought: ErrorStreak::default(),
            watch,
            work: MeasuredWork::default(),
            ended: false,
            thread: Some(thread),
        }
    }

    /// Waits for the thread and returns how it ended; `None` if that is already known.
    pub fn join(&mut self) -> Option<Result<LeftOpen, EngineError>> {
        let ended = self.thread.take()?.join();
        Some(ended.unwrap_or_else(|_| {
            Err(self.error("its thread panicked; its message is on stderr".to_owned()))
        }))
    }

    fn gone(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    fn error(&self, problem: String) -> EngineError {
        EngineError::Worker { worker: self.name.clone(), problem }
    }
}

impl Collector {
    /// Runs until all threads have ended or are abandoned; sends the verdict last.
    pub fn run(mut self) {
        let (mut stopped_until, mut excused) = (Ns::MAX, Ns::ZERO);
        let mut looked = clock::now();
        let mut stops = OwnStops::begin();
        loop {
            let closed = self.alive.recv_timeout(TICK) == Err(RecvTimeoutError::Disconnected);
            let now = clock::now();
            if self.stop.asked() {
                stopped_until = stopped_until.min(now.plus(self.grace));
            }
            // Before the intervals that it concerns.
            if let Some(stop) = stops.woke(looked.plus(TICK.into()), now) {
                self.own_stop(&stop);
                excused = stop.to;
            }
            // Before the sheets are read: whatever follows the edge was counted after it had been settled.
            self.line.follow(&self.edge);
            self.line.follow_end(&self.end);
            self.collect_ended_threads(closed);
            self.drain();
            if now.since(looked) < AWAY || closed {
                self.check_hangs(now);
            }
            looked = now;
            let end = self.line.end();
            if closed || now >= given_up_at(end, stopped_until, excused, self.grace) {
                break;
            }
        }
        self.give_up_on_the_rest();
        self.count();
        self.idle();
        let verdict = self.failure.take().map_or(Output::Finished, Output::Failed);
        let _ = self.out.send(verdict);
    }

    /// Receives and checks what the rings hold.
    fn drain(&mut self) {
        let Collector { line, step, out, budget, failure, stop, members, .. } = self;
        for member in members {
            let WorkerState {
                source,
                name,
                targets,
                drain,
                drought,
                watch,
                reports,
                work,
                ended,
                ..
            } = member;
            if let Some(reports) = reports {
                reports.news(&mut |at, note| {
                    let event =
                        Event { at: line.on_record(at), ..note.event(*step, Some(*source)) };
                    let _ = out.send(Output::Event(event));
                });
            }
            let Some(drain) = drain else { continue };
            // Seen before the sheets are read, which then hold all that it did.
            let done = drain.done_at().filter(|_| !*ended);
            drain.collect(*source, *step, line, |interval, errnos| {
                let (mut events, over) = budget.weigh(name, drought, &interval, errnos);
                work.see(&interval);
                for hang in watch.on_interval(&interval).into_iter().flatten() {
                    let event = hung(name, targets, hang).event(*step, Some(*source));
                    events.push(Event { at: interval.to, ..event });
                }
                let _ = out.send(Output::Interval(Box::new(interval)));
                for event in events {
                    let _ = out.send(Output::Event(event));
                }
                if let Some(e) = over {
                    stop.ask();
                    failure.get_or_insert(e);
                }
            });
            if let Some(at) = done {
                *ended = true;
                let _ = out.send(Output::Ended(*source, line.on_record(at)));
            }
        }
    }

    /// This process did not run: what that covers is void, and no operation is older for it.
    fn own_stop(&mut self, stop: &OwnStop) {
        let Collector { line, step, out, members, .. } = self;
        let until = line.on_record(stop.to);
        members.iter_mut().for_each(|member| member.watch.excuse(until));
        if stop.from >= line.end() || stop.to <= line.start() {
            return;
        }
        if let Some(first) = members.first() {
            let counter = stop.counter(first.source, *step, |at| line.on_record(at));
            let _ = out.send(Output::Counter(counter));
        }
        let _ = out.send(Output::Event(stop.event("Wirespeed", *step, until)));
    }

    /// Reports the workers none of whose operations came back in the measured time.
    fn idle(&mut self) {
        let Collector { line, step, out, members, stop, failure, .. } = self;
        if failure.is_some() || stop.asked() {
            return;
        }
        for WorkerState { source, name, targets, work, .. } in members {
            if work.time == Ns::ZERO || work.ended > 0 || work.open == 0 {
                continue;
            }
            let text = format!(
                "{name}: {targets} completed nothing in the {:.1} s of measured time, with {} operations in flight at \
                 its end; look at the device and the path to it, or measure for longer than an operation takes",
                work.time.as_secs_f64(),
                work.open
            );
            let note = EventNote { level: Level::Error, code: NOTHING_COMPLETED, text };
            let event =
                Event { at: line.on_record(line.end()), ..note.event(*step, Some(*source)) };
            let _ = out.send(Output::Event(event));
        }
    }

    /// Sends the totals that loads report beside their intervals.
    fn count(&mut self) {
        let Collector { line, step, out, members, .. } = self;
        let to = clock::now().clamp(line.start(), line.end());
        for member in members {
            let done = member.drain.as_ref().and_then(IntervalDrain::done_at);
            for (id, value) in member.reports.iter_mut().flat_map(|r| r.counts()) {
                // What was planned says when it was done.
                let to = done.filter(|_| id == CounterId::PlannedBytes).unwrap_or(to);
                let counter = Counter {
                    source: member.source,
                    step: Some(*step),
                    from: line.on_record(line.start()),
                    to: line.on_record(to),
                    kind: id.into(),
                    part: None,
                    value: value as f64,
                };
                let _ = out.send(Output::Counter(counter));
            }
        }
    }

    /// Checks workers that send nothing for hangs.
    fn check_hangs(&mut self, now: Ns) {
        let Collector { line, step, out, members, .. } = self;
        for member in members.iter_mut() {
            let Some(seen) = member.drain.as_ref().and_then(IntervalDrain::last_seen) else {
                continue;
            };
            let seen = line.on_record(seen);
            let news = match member.thread {
                Some(_) => member.watch.check_blocked(line.on_record(now), seen),
                None => member.watch.ended(seen),
            };
            if let Some(hang) = news {
                let note = hung(&member.name, &member.targets, hang);
                let event = note.event(*step, Some(member.source));
                let _ = out.send(Output::Event(Event { at: line.on_record(now), ..event }));
            }
        }
    }

    /// Collects the results of threads that have ended, or of all threads once all have ended.
    fn collect_ended_threads(&mut self, all: bool) {
        for member in &mut self.members {
            if !(all || member.gone()) {
                continue;
            }
            match member.join() {
                None => {}
                Some(Ok(left)) if left.count == 0 => {}
                Some(Ok(left)) => {
                    member.watch.give_up();
                    let event = left_open(member, left, self.step, &self.line);
                    let _ = self.out.send(Output::Event(event));
                }
                Some(Err(e)) => {
                    member.watch.give_up();
                    self.stop.ask();
                    self.failure.get_or_insert(e);
                }
            }
        }
    }

    /// Hung threads are left behind: a blocked system call cannot be cancelled.
    fn give_up_on_the_rest(&mut self) {
        for member in self.members.iter_mut().filter(|m| !m.gone()) {
            let e = member.error(format!(
                "has not come back from an I/O {:.0} s after the end of the load; the device hangs (see dmesg)",
                self.grace.as_secs_f64()
            ));
            self.failure.get_or_insert(e);
            member.thread = None;
        }
    }
}

impl MeasuredWork {
    fn see(&mut self, interval: &Interval) {
        if interval.phase != Phase::Measure {
            return;
        }
        self.time = self.time.plus(interval.to.since(interval.from));
        self.ended += interval.tallies().map(|t| t.ops + t.errors).sum::<u64>();
        self.open = interval.testimony.map_or(0, |t| t.open);
    }
}

/// When a thread that has not ended is taken for hung. One that could not run until `excused` gets its whole grace from there.
fn given_up_at(end: Ns, stopped_until: Ns, excused: Ns, grace: Ns) -> Ns {
    let due = end.plus(grace).min(stopped_until);
    if excused == Ns::ZERO { due } else { due.max(excused.plus(grace)) }
}

fn hung(name: &str, targets: &str, hang: Hang) -> EventNote {
    let (code, text) = match hang {
        Hang::On { age } => {
            let age = age.as_secs_f64();
            let text = format!(
                "{name}: an I/O on {targets} has not come back for {age:.1} s; its device or the path to it may hang \
                 (see dmesg)"
            );
            ("hang", text)
        }
        Hang::Over { took } => {
            let took = took.as_secs_f64();
            ("hang-over", format!("{name}: the I/O on {targets} that hung ended after {took:.1} s"))
        }
    };
    EventNote { level: Level::Warning, code, text }
}

fn left_open(member: &WorkerState, left: LeftOpen, step: u32, line: &StepTimeline) -> Event {
    let text = format!(
        "{}: {} operations had not completed when the worker gave up on them, the oldest after {:.1} s; \
         the device may hang (see dmesg)",
        member.name,
        left.count,
        left.age_max.as_secs_f64()
    );
    let note = EventNote { level: Level::Error, code: "left-open", text };
    Event { at: line.on_record(line.end()), ..note.event(step, Some(member.source)) }
}

#[cfg(test)]
mod tests {
    use super::given_up_at;
    use clock::Ns;

    #[test]
    fn a_thread_that_could_not_run_gets_its_grace_afterwards() {
        let never = Ns::MAX;
        // The end of the load, the order to stop with its grace, the end of the last own stop; in seconds.
        for (end, stopped, excused, expected) in [
            (20, never, Ns::ZERO, 30),
            (20, Ns::secs(17), Ns::ZERO, 17),
            (20, never, Ns::secs(9), 30),
            (20, never, Ns::secs(45), 55),
            (20, Ns::secs(17), Ns::secs(45), 55),
        ] {
            let found = given_up_at(Ns::secs(end), stopped, excused, Ns::secs(10));
            assert_eq!(found, Ns::secs(expected), "{end} {stopped:?} {excused:?}");
        }
    }
}
