//! What fails in an emulated lab, is hampered, and works again, carried out at its moments on a thread that stays until the step
//! ends.
//!
//! A part fails as its cables do: the interface at one end of each is taken down, which its other end notices as the loss of the
//! carrier. Routes and addresses stay. After the step everything is up again and as fast as it was; but processes that were
//! killed stay dead.

use clock::Ns;
use engine::{
    Engine, EngineError, IntervalTx, LabChange, LabEvent, LabStep, Output, Phases, Prepared,
    StepEdge, StepHandle, StepSpec, StepTimeline, Stop,
};
use lab::{Batch, Cable, Fabric, LabError, Orders, Trouble};
use record::{Event, Fact, Level, SourceId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{Builder, JoinHandle};
use units::LinkRate;

/// Changes the lab of a run.
pub struct LabChanges {
    pub fabric: Arc<Fabric>,
    /// The processes of hosts and of their VMs, by host.
    pub processes: Vec<(String, u32)>,
}

/// A step that is about to start.
struct Planned {
    fabric: Arc<Fabric>,
    index: u32,
    phases: Phases,
    changes: VecDeque<PlannedChange>,
}

/// A change with what carries it out.
struct PlannedChange {
    change: LabChange,
    orders: Orders,
    /// Processes to be killed.
    victims: Vec<u32>,
}

impl Engine for LabChanges {
    fn prepare(
        &mut self,
        step: &StepSpec,
        _: &IntervalTx,
        _: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        let LabStep { changes } = step.lab.clone().unwrap_or_default();
        let planned = changes.into_iter().map(|change| self.plan(change));
        let changes = planned.collect::<Result<_, _>>()?;
        let fabric = Arc::clone(&self.fabric);
        Ok(Box::new(Planned { fabric, index: step.index, phases: Phases::from(step), changes }))
    }
}

impl LabChanges {
    fn plan(&self, change: LabChange) -> Result<PlannedChange, EngineError> {
        let none = |what: &str| {
            let problem = format!("the emulated lab has no {what} at `{}`", change.part);
            EngineError::Unsupported(problem)
        };
        if change.event == LabEvent::Kill {
            let of = self.processes.iter().filter(|(host, _)| *host == change.part);
            let victims: Vec<u32> = of.map(|(_, process)| *process).collect();
            if victims.is_empty() {
                return Err(none("process"));
            }
            return Ok(PlannedChange { change, orders: Orders::default(), victims });
        }
        let cables = cables(&self.fabric, &change.part);
        if cables.is_empty() {
            return Err(none("cable"));
        }
        let mut orders = Orders::default();
        for cable in cables {
            let of = orders_of(&self.fabric, cable, &change.event);
            let of = of.map_err(|error| EngineError::Unsupported(error.to_string()))?;
            orders.bring.extend(of.bring);
            orders.end.extend(of.end);
        }
        Ok(PlannedChange { change, orders, victims: Vec::new() })
    }
}

/// What a change orders at one cable.
fn orders_of(fabric: &Fabric, cable: usize, event: &LabEvent) -> Result<Orders, LabError> {
    let trouble = match event {
        LabEvent::Fail => {
            let (node, port) = fabric.plan().cut(&fabric.plan().cables[cable]);
            let link = |word| {
                let line = format!("link set dev {} {word}", lab::Node::interface(port));
                vec![Batch { node, program: "ip", lines: vec![line] }]
            };
            return Ok(Orders { bring: link("down"), end: link("up") });
        }
        // What ends is what was brought.
        LabEvent::Restore | LabEvent::Kill => return Ok(Orders::default()),
        LabEvent::Slow(rate) => {
            let rate = LinkRate::parse(rate).map_err(|e| LabError::Plan(e.to_string()))?;
            Trouble::Slow(rate)
        }
        LabEvent::Lose(parts) => Trouble::Lose(f64::from(*parts) / 1e6),
        LabEvent::Mismatch(mtu) => Trouble::Mismatch(*mtu),
        LabEvent::Stall => Trouble::Stall,
    };
    fabric.trouble(cable, trouble)
}

/// The cables of a part, by their places in the plan.
fn cables(fabric: &Fabric, part: &str) -> Vec<usize> {
    let plan = fabric.plan();
    // A port of an array has a name there, and an address here.
    let of_array = plan.reaches.iter().find(|of| format!("{}.{}", of.array, of.port) == part);
    let is_of = |cable: &Cable| {
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
    };
    (0..plan.cables.len()).filter(|place| is_of(&plan.cables[*place])).collect()
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
    /// What brings back what has failed or is hampered, by part.
    down: Vec<(String, Vec<Batch>)>,
}

impl ChangeThread {
    fn stay(&mut self) -> Output {
        loop {
            self.line.follow(&self.edge);
            let end = self.line.end();
            let next = self.planned.changes.front();
            let due = next.map(|next| self.line.measure().plus(next.change.at));
            let due = due.filter(|due| *due < end);
            match self.inbox.recv_timeout(due.unwrap_or(end).since(clock::now()).into()) {
                Ok(Order::Look) => continue,
                Ok(Order::Stop) | Err(RecvTimeoutError::Disconnected) => return Output::Finished,
                Err(RecvTimeoutError::Timeout) => {}
            }
            let change = self.planned.changes.pop_front().filter(|_| due.is_some());
            let Some(change) = change else { return Output::Finished };
            if let Err(error) = self.carry_out(change) {
                return Output::Failed(EngineError::Unsupported(error));
            }
        }
    }

    fn carry_out(&mut self, planned: PlannedChange) -> Result<(), String> {
        let PlannedChange { change, orders, victims } = planned;
        // The moment before: what initiators notice comes after it.
        let at = self.line.on_record(clock::now());
        let ends: Vec<Batch> = match self.down.iter().position(|(part, _)| *part == change.part) {
            Some(place) if change.event == LabEvent::Restore => self.down.remove(place).1,
            _ => Vec::new(),
        };
        for batch in ends.iter().chain(&orders.bring) {
            self.planned.fabric.carry_out(batch).map_err(|error| error.to_string())?;
        }
        victims.into_iter().for_each(lab::kill);
        if !orders.end.is_empty() {
            self.down.push((change.part.clone(), orders.end));
        }
        let (code, what) = told(&change.event);
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
        for batch in self.down.iter().flat_map(|(_, batches)| batches) {
            // It fails only where the lab is gone, and then there is nothing to mend.
            let _ = self.planned.fabric.carry_out(batch);
        }
    }
}

/// An event's code, and what it says of a part.
fn told(event: &LabEvent) -> (&'static str, String) {
    match event {
        LabEvent::Fail => ("incident-fail", "failed: its cables carry nothing".to_owned()),
        LabEvent::Restore => ("incident-restore", "works again".to_owned()),
        LabEvent::Slow(rate) => ("incident-slow", format!("is slowed to {rate}, before scaling")),
        LabEvent::Lose(parts) => {
            let share = units::percent(f64::from(*parts) / 1e4);
            ("incident-lose", format!("loses {share} of its packets in each direction"))
        }
        LabEvent::Mismatch(mtu) => {
            ("incident-mismatch", format!("takes packets up to {mtu} bytes alone at one end"))
        }
        LabEvent::Stall => {
            ("incident-stall", "is stalled: next to nothing is taken off it".to_owned())
        }
        LabEvent::Kill => ("incident-kill", "is killed: its processes are dead".to_owned()),
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
