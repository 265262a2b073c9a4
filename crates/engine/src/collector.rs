//! The control-plane side of a running step: empties the workers' rings ten times a second, weighs their errors, and
//! tells how each thread ended. Never on a worker's thread.

use crate::fault::{Budget, Drought};
use crate::sheet::Drain;
use crate::{EngineError, IntervalTx, LeftOpen, Note, Output, Reports, Stop, Timeline};
use clock::Ns;
use record::{Counter, Event, Level, SourceId};
use std::convert::Infallible;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often rings are emptied.
const TICK: Duration = Duration::from_millis(100);

/// One worker, seen from the control plane.
pub(crate) struct Member {
    pub source: SourceId,
    pub name: String,
    /// `None` until it has opened.
    pub drain: Option<Drain>,
    /// Operations that it can have in flight; 0 until it has opened.
    pub depth: u32,
    /// What carries its operations; empty until it has opened.
    pub how: String,
    pub reports: Option<Box<dyn Reports>>,
    drought: Drought,
    thread: Option<JoinHandle<Result<LeftOpen, EngineError>>>,
}

/// Gathers what a crew reports until its last thread is gone.
pub(crate) struct Collector {
    pub line: Timeline,
    pub step: u32,
    pub grace: Ns,
    pub members: Vec<Member>,
    pub alive: Receiver<Infallible>,
    pub stop: Stop,
    pub out: IntervalTx,
    pub budget: Budget,
    pub failure: Option<EngineError>,
}

impl Member {
    pub fn new(
        source: SourceId,
        name: String,
        thread: JoinHandle<Result<LeftOpen, EngineError>>,
    ) -> Member {
        let (drought, thread) = (Drought::default(), Some(thread));
        let (how, reports) = (String::new(), None);
        Member { source, name, drain: None, depth: 0, how, reports, drought, thread }
    }

    /// Waits for the thread and says how it ended; `None` where that is known already.
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
    /// Runs until all threads have gone or are given up; sends the verdict last.
    pub fn run(mut self) {
        let mut given_up_at = self.line.end().plus(self.grace);
        loop {
            let closed = self.alive.recv_timeout(TICK) == Err(RecvTimeoutError::Disconnected);
            let now = clock::now();
            if self.stop.asked() {
                given_up_at = given_up_at.min(now.plus(self.grace));
            }
            self.bury(closed);
            self.drain();
            if closed || now >= given_up_at {
                break;
            }
        }
        self.give_up_on_the_rest();
        self.count();
        let verdict = self.failure.take().map_or(Output::Finished, Output::Failed);
        let _ = self.out.send(verdict);
    }

    /// Takes in what the rings hold, and judges it.
    fn drain(&mut self) {
        let Collector { line, step, out, budget, failure, stop, members, .. } = self;
        for member in members {
            let Member { source, name, drain, drought, reports, .. } = member;
            if let Some(reports) = reports {
                reports.news(&mut |at, note| {
                    let event =
                        Event { at: line.on_record(at), ..note.event(*step, Some(*source)) };
                    let _ = out.send(Output::Event(event));
                });
            }
            let Some(drain) = drain else { continue };
            drain.collect(*source, *step, line, |interval, errnos| {
                let (events, over) = budget.weigh(name, drought, &interval, errnos);
                let _ = out.send(Output::Interval(Box::new(interval)));
                for event in events {
                    let _ = out.send(Output::Event(event));
                }
                if let Some(e) = over {
                    stop.ask();
                    failure.get_or_insert(e);
                }
            });
        }
    }

    /// Sends what loads have counted beside their intervals.
    fn count(&mut self) {
        let Collector { line, step, out, members, .. } = self;
        let to = clock::now().clamp(line.start(), line.end());
        for member in members {
            for (name, value) in member.reports.iter_mut().flat_map(|r| r.counts()) {
                let counter = Counter {
                    source: member.source,
                    step: Some(*step),
                    from: line.on_record(line.start()),
                    to: line.on_record(to),
                    name: name.to_owned(),
                    value: value as f64,
                    unit: "1".to_owned(),
                };
                let _ = out.send(Output::Counter(counter));
            }
        }
    }

    /// Takes in how threads ended: those that have, or all of them once it is known that they all have.
    fn bury(&mut self, all: bool) {
        for member in &mut self.members {
            if !(all || member.gone()) {
                continue;
            }
            match member.join() {
                None => {}
                Some(Ok(left)) if left.count == 0 => {}
                Some(Ok(left)) => {
                    let event = left_open(member, left, self.step, &self.line);
                    let _ = self.out.send(Output::Event(event));
                }
                Some(Err(e)) => {
                    self.stop.ask();
                    self.failure.get_or_insert(e);
                }
            }
        }
    }

    /// Threads that have not come back are left behind: a blocked system call cannot be called off.
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

fn left_open(member: &Member, left: LeftOpen, step: u32, line: &Timeline) -> Event {
    let text = format!(
        "{}: {} operations had not completed when the worker gave up on them, the oldest after {:.1} s; \
         the device may hang (see dmesg)",
        member.name,
        left.count,
        left.age_max.as_secs_f64()
    );
    let note = Note { level: Level::Error, code: "left-open", text };
    Event { at: line.on_record(line.end()), ..note.event(step, Some(member.source)) }
}
