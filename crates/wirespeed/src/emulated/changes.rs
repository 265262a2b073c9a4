//! What fails in an emulated lab and works again, carried out at its moments on a thread that stays until the step ends.
//!
//! A part fails as its cables do: the interface at one end of each is taken down, which its other end notices as the loss of the
//! carrier. Routes and addresses stay. After the step everything is up again.

use clock::Ns;
use engine::{
    Engine, EngineError, IntervalTx, LabChange, LabStep, Output, Phases, Prepared, StepEdge,
    StepHandle, StepSpec, StepTimeline, Stop,
};
use lab::{Batch, Fabric, NodeKind};
use record::{Event, Fact, Level, SourceId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};

/// Changes the lab of a run.
pub struct LabChanges(pub Arc<Fabric>);

/// A step that is about to start.
struct Planned {
    fabric: Arc<Fabric>,
    index: u32,
    phases: Phases,
    changes: VecDeque<(LabChange, Vec<Batch>)>,
}

impl Engine for LabChanges {
    fn prepare(
        &mut self,
        step: &StepSpec,
        _: &IntervalTx,
        _: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        let LabStep { changes } = step.lab.clone().unwrap_or_default();
        let planned = changes.into_iter().map(|change| {
            let ends = ends(&self.0, &change.part);
            if ends.is_empty() {
                let problem = format!("the emulated lab has no cable at `{}`", change.part);
                return Err(EngineError::Unsupported(problem));
            }
            let batches = ends.into_iter().map(|end| batch(end, change.works)).collect();
            Ok((change, batches))
        });
        let changes = planned.collect::<Result<_, _>>()?;
        let fabric = Arc::clone(&self.0);
        Ok(Box::new(Planned { fabric, index: step.index, phases: Phases::from(step), changes }))
    }
}

/// The ends at which the cables of a part are cut, each a node and an interface: at a switch where there is one, since a host
/// and an array have routes.
fn ends(fabric: &Fabric, part: &str) -> Vec<(usize, usize)> {
    let plan = fabric.plan();
    // A port of an array has a name there, and an address here.
    let of_array = plan.reaches.iter().find(|of| format!("{}.{}", of.array, of.port) == part);
    let cables = plan.cables.iter().filter(|cable| {
        let labels = cable.ends.iter().map(|end| {
            let node = &plan.nodes[end.node];
            (&node.name, &node.ports[end.port], end.hop.as_ref())
        });
        let at = |(node, port, hop): (&String, &lab::NodePort, Option<&String>)| {
            let device = port.label.rsplit_once(':').map_or("", |(device, _)| device);
            let address = of_array.is_some_and(|of| port.addresses.contains(&of.address));
            let named = [node, &port.label].contains(&&part.to_owned()) || device == part;
            named || address || hop.is_some_and(|hop| hop == part)
        };
        cable.name == part || labels.into_iter().any(at)
    });
    let end = |cable: &lab::Cable| {
        let switch = |end: &&lab::CableEnd| plan.nodes[end.node].kind == NodeKind::Switch;
        let end = cable.ends.iter().find(switch).unwrap_or(&cable.ends[0]);
        (end.node, end.port)
    };
    cables.map(end).collect()
}

fn batch((node, port): (usize, usize), works: bool) -> Batch {
    let word = if works { "up" } else { "down" };
    let line = format!("link set dev {} {word}", lab::Node::interface(port));
    Batch { node, program: "ip", lines: vec![line] }
}

/// The lines that undo those of a failure.
fn up(batch: &Batch) -> Vec<String> {
    let turned =
        |line: &String| line.strip_suffix("down").map_or(line.clone(), |of| format!("{of}up"));
    batch.lines.iter().map(turned).collect()
}

impl Prepared for Planned {
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
        let (planned, edge_of_thread, down) = (*self, edge.clone(), Vec::new());
        let mut thread = ChangeThread { planned, line, edge: edge_of_thread, out, inbox, down };
        let stay = move || {
            let end = thread.stay();
            thread.mend();
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

struct ChangeThread {
    planned: Planned,
    line: StepTimeline,
    edge: StepEdge,
    out: IntervalTx,
    inbox: Receiver<Order>,
    /// What brings back what has failed.
    down: Vec<Batch>,
}

impl ChangeThread {
    fn stay(&mut self) -> Output {
        loop {
            self.line.follow(&self.edge);
            let end = self.line.end();
            let next = self.planned.changes.front();
            let due = next.map(|(change, _)| self.line.measure().plus(change.at));
            let due = due.filter(|due| *due < end);
            match self.inbox.recv_timeout(due.unwrap_or(end).since(clock::now()).into()) {
                Ok(Order::Look) => continue,
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return Output::Finished,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let change = self.planned.changes.pop_front().filter(|_| due.is_some());
            let Some((change, batches)) = change else { return Output::Finished };
            if let Err(error) = self.carry_out(&change, &batches) {
                return Output::Failed(EngineError::Unsupported(error));
            }
        }
    }

    fn carry_out(&mut self, change: &LabChange, batches: &[Batch]) -> Result<(), String> {
        // The moment before: what initiators notice comes after it.
        let at = self.line.on_record(clock::now());
        for batch in batches {
            self.planned.fabric.carry_out(batch).map_err(|error| error.to_string())?;
        }
        let mended = |batch: &Batch| Batch { lines: up(batch), ..batch.clone() };
        match change.works {
            false => self.down.extend(batches.iter().map(mended)),
            true => self.down.retain(|batch| !batches.contains(batch)),
        }
        let (code, what) = match change.works {
            false => ("incident-fail", "failed: its cables carry nothing"),
            true => ("incident-restore", "works again"),
        };
        let _ = self.out.send(Output::Event(Event {
            at,
            step: Some(self.planned.index),
            source: None,
            level: Level::Info,
            code: code.to_owned(),
            text: format!("{} {what}", change.part),
        }));
        Ok(())
    }

    /// Brings back what has failed and was not to work again.
    fn mend(&self) {
        for batch in &self.down {
            // It fails only where the lab is gone, and then there is nothing to mend.
            let _ = self.planned.fabric.carry_out(batch);
        }
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
