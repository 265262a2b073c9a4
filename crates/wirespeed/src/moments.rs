//! What happens to a lab in a step, carried out at its moments on a thread that stays until the step ends.
//!
//! What a lab is made of, and how a part of it fails and works again, is of its [`Site`]: an emulated fabric, or guests.

use clock::Ns;
use engine::{
    EngineError, IntervalTx, Output, Phases, Prepared, StepEdge, StepHandle, StepSpec, StepTimeline,
};
use record::{Event, Fact, Level, SourceId};
use std::collections::VecDeque;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};

/// Where changes are carried out.
pub trait Site: Send + 'static {
    /// A change that is known to be possible.
    type Change: Send;

    /// Carries one out; what is to be said of it.
    /// # Errors
    /// The step cannot go on.
    fn carry_out(&mut self, change: Self::Change) -> Result<Told, String>;

    /// Brings back what has failed and was not to work again.
    fn mend(&mut self);
}

/// What the record says of a change.
pub struct Told {
    pub level: Level,
    /// For programs.
    pub code: &'static str,
    /// For people.
    pub text: String,
}

/// A step that is about to start.
pub struct Changes<S: Site> {
    site: S,
    index: u32,
    phases: Phases,
    /// By their moments after the beginning of the measured time.
    changes: VecDeque<(Ns, S::Change)>,
}

impl<S: Site> Changes<S> {
    /// Of this step.
    pub fn new(step: &StepSpec, site: S, changes: VecDeque<(Ns, S::Change)>) -> Changes<S> {
        Changes { site, index: step.index, phases: Phases::from(step), changes }
    }
}

impl<S: Site> Prepared for Changes<S> {
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn depths(&self) -> Vec<(SourceId, u32)> {
        Vec::new()
    }

    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let (orders, inbox) = mpsc::channel();
        let line = StepTimeline::new(epoch, at, self.phases);
        let edge = StepEdge::default();
        let failed = out.clone();
        let (planned, edge_of_thread) = (*self, edge.clone());
        let mut thread = ChangeThread { planned, line, edge: edge_of_thread, out, inbox };
        let stay = move || {
            let end = thread.stay();
            thread.planned.site.mend();
            // The agent may have been given up.
            let _ = thread.out.send(end);
        };
        let thread = Builder::new().name("lab-changes".to_owned()).spawn(stay);
        let thread = thread.map_err(|e| {
            let problem = format!("the thread that changes the lab cannot be started ({e})");
            let _ = failed.send(Output::Failed(EngineError::Unsupported(problem)));
        });
        Box::new(Changing { line, edge, orders, thread: thread.ok() })
    }
}

/// An order to the thread.
enum Order {
    /// The edges have moved.
    Look,
    Stop,
}

struct ChangeThread<S: Site> {
    planned: Changes<S>,
    line: StepTimeline,
    edge: StepEdge,
    out: IntervalTx,
    inbox: Receiver<Order>,
}

impl<S: Site> ChangeThread<S> {
    fn stay(&mut self) -> Output {
        loop {
            self.line.follow(&self.edge);
            let end = self.line.end();
            let next = self.planned.changes.front();
            let due = next.map(|next| self.line.measure().plus(next.0));
            let due = due.filter(|due| *due < end);
            match self.inbox.recv_timeout(due.unwrap_or(end).since(clock::now()).into()) {
                Ok(Order::Look) => continue,
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return Output::Finished,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let change = self.planned.changes.pop_front().filter(|_| due.is_some());
            let Some((_, change)) = change else { return Output::Finished };
            if let Err(error) = self.carry_out(change) {
                return Output::Failed(EngineError::Unsupported(error));
            }
        }
    }

    fn carry_out(&mut self, change: S::Change) -> Result<(), String> {
        // The moment before: what initiators notice comes after it.
        let at = self.line.on_record(clock::now());
        let Told { level, code, text } = self.planned.site.carry_out(change)?;
        let step = Some(self.planned.index);
        let code = code.to_owned();
        // The agent may have been given up.
        let _ = self.out.send(Output::Event(Event { at, step, source: None, level, code, text }));
        Ok(())
    }
}

/// A step whose changes are carried out.
struct Changing {
    line: StepTimeline,
    edge: StepEdge,
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

impl StepHandle for Changing {
    fn stop(&self) {
        // One that has ended needs no order.
        let _ = self.orders.send(Order::Stop);
    }

    fn measure(&self, at: Ns) -> bool {
        let settled = self.line.may_measure_from(at) && self.edge.settle(at);
        let _ = self.orders.send(Order::Look);
        settled && clock::now() < at
    }
}

impl Drop for Changing {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
