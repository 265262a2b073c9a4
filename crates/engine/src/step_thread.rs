//! A thread that acts at moments of a step beside its load: it follows the step's edges, which move, and ends with the step.

use crate::{EngineError, IntervalTx, Output, StepEdge, StepHandle, StepTimeline};
use clock::Ns;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};

/// A step whose thread acts.
pub struct StepThread {
    line: StepTimeline,
    edge: StepEdge,
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

/// The thread's side: the step's times as they are at the moment.
pub struct StepMoments {
    line: StepTimeline,
    edge: StepEdge,
    inbox: Receiver<Order>,
}

/// An order to the thread.
enum Order {
    /// The edges have moved.
    Look,
    Stop,
}

impl StepThread {
    /// Starts a thread for a step with these times. What `act` returns goes to `out` as the last; so does the failure where there
    /// is no thread.
    pub fn spawn(
        name: &str,
        line: StepTimeline,
        out: IntervalTx,
        act: impl FnOnce(&mut StepMoments, &IntervalTx) -> Output + Send + 'static,
    ) -> StepThread {
        let (orders, inbox) = mpsc::channel();
        let edge = StepEdge::default();
        let mut moments = StepMoments { line, edge: edge.clone(), inbox };
        let failed = out.clone();
        let run = move || {
            let end = act(&mut moments, &out);
            // The agent may have been given up.
            let _ = out.send(end);
        };
        let thread = Builder::new().name(name.to_owned()).spawn(run).map_err(|e| {
            let problem = format!("the thread `{name}` of a step cannot be started ({e})");
            let _ = failed.send(Output::Failed(EngineError::Unsupported(problem)));
        });
        StepThread { line, edge, orders, thread: thread.ok() }
    }
}

impl StepMoments {
    /// The step's times.
    pub fn line(&self) -> &StepTimeline {
        &self.line
    }

    /// Waits for the next moment, which is asked for anew whenever the edges move. Returns whether it has come; if not, the step
    /// is over or stopped.
    pub fn wait(&mut self, next: impl Fn(&StepTimeline) -> Option<Ns>) -> bool {
        loop {
            self.line.follow(&self.edge);
            let end = self.line.end();
            let due = next(&self.line).filter(|due| *due < end);
            match self.inbox.recv_timeout(due.unwrap_or(end).since(clock::now()).into()) {
                Ok(Order::Look) => {}
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return false,
                Err(RecvTimeoutError::Timeout) => return due.is_some(),
            }
        }
    }
}

impl StepHandle for StepThread {
    fn stop(&self) {
        // One that has ended needs no order.
        let _ = self.orders.send(Order::Stop);
    }

    fn measure(&self, at: Ns) -> bool {
        // Moments are counted from one that is still to come; nothing that was due is overlooked.
        let settled = self.line.may_measure_from(at) && self.edge.settle(at);
        let _ = self.orders.send(Order::Look);
        settled && clock::now() < at
    }
}

impl Drop for StepThread {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
