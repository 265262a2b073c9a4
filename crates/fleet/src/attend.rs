//! A step of an agent that carries no load itself but counts the processes that carry others': it lasts until the step ends.

use clock::Ns;
use engine::{IntervalTx, Output, Phases, Prepared, StepEdge, StepHandle, StepSpec, StepTimeline};
use record::{Fact, SourceId};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};

/// A step that is about to be attended.
pub(crate) struct Attendance(Phases);

impl Attendance {
    /// Of this step.
    pub fn of(step: &StepSpec) -> Attendance {
        Attendance(Phases::from(step))
    }
}

impl Prepared for Attendance {
    fn facts(&self) -> Vec<Fact> {
        Vec::new()
    }

    fn depths(&self) -> Vec<(SourceId, u32)> {
        Vec::new()
    }

    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let (orders, inbox) = mpsc::channel();
        let line = StepTimeline::new(epoch, at, self.0);
        let edge = StepEdge::default();
        let theirs = edge.clone();
        let stay = move || {
            stay(line, &theirs, &inbox);
            // The agent may have been given up.
            let _ = out.send(Output::Finished);
        };
        // Without a thread the step ends at once, which the coordinator notices.
        let thread = Builder::new().name("attendance".to_owned()).spawn(stay).ok();
        Box::new(Attending { line, edge, orders, thread })
    }
}

/// An order to the thread: to look at the edges, which have moved, or to stop.
enum Order {
    Look,
    Stop,
}

fn stay(mut line: StepTimeline, edge: &StepEdge, inbox: &Receiver<Order>) {
    loop {
        line.follow(edge);
        match inbox.recv_timeout(line.end().since(clock::now()).into()) {
            Ok(Order::Look) => {}
            _ => return,
        }
    }
}

struct Attending {
    line: StepTimeline,
    edge: StepEdge,
    orders: Sender<Order>,
    thread: Option<JoinHandle<()>>,
}

impl StepHandle for Attending {
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

impl Drop for Attending {
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
