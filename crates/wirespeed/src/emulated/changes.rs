//! What fails in an emulated lab, is hampered, and works again.
//!
//! A part fails as its cables do: the interface at one end of each is taken down, which its other end notices as the loss of the
//! carrier. Routes and addresses stay. After the step everything is up again and as fast as it was; but processes that were
//! killed stay dead.

use super::movers::Mover;
use super::stays::Whereabouts;
use crate::moments::{Changes, Site, Told};
use engine::{
    Engine, EngineError, IntervalTx, LabChange, LabEvent, LabStep, Prepared, StepSpec, Stop,
};
use lab::{Batch, Cable, Fabric, LabError, Orders, Trouble};
use record::Level;
use std::sync::Arc;
use units::LinkRate;

/// Changes the lab of a run.
pub struct LabChanges {
    pub fabric: Arc<Fabric>,
    /// The processes of hosts, by host.
    pub processes: Vec<(String, u32)>,
    /// Where those of VMs are.
    pub whereabouts: Whereabouts,
    pub movers: Vec<Mover>,
}

/// The lab of a step.
struct Labs {
    fabric: Arc<Fabric>,
    /// What brings back what has failed or is hampered, by part.
    down: Vec<(String, Vec<Batch>)>,
    whereabouts: Whereabouts,
    /// VMs that are away from home.
    away: Vec<Mover>,
}

/// A change with what carries it out.
struct PlannedChange {
    change: LabChange,
    orders: Orders,
    /// Processes to be killed, beside those of VMs that are there then.
    victims: Vec<u32>,
    mover: Option<Mover>,
}

impl Engine for LabChanges {
    fn prepare(
        &mut self,
        step: &StepSpec,
        _: &IntervalTx,
        _: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        let LabStep { changes } = step.lab.clone().unwrap_or_default();
        let planned = changes.iter().map(|change| {
            let comes = comes(&changes, change);
            Ok((change.at, self.plan(change.clone(), comes)?))
        });
        let changes = planned.collect::<Result<_, EngineError>>()?;
        let (fabric, whereabouts) = (Arc::clone(&self.fabric), self.whereabouts.clone());
        let site = Labs { fabric, down: Vec::new(), whereabouts, away: Vec::new() };
        Ok(Box::new(Changes::new(step, site, changes)))
    }
}

impl LabChanges {
    /// `comes` says whether a VM has moved to the part by then.
    fn plan(&self, change: LabChange, comes: bool) -> Result<PlannedChange, EngineError> {
        let none = |what: &str| {
            let problem = format!("the emulated lab has no {what} at `{}`", change.part);
            EngineError::Unsupported(problem)
        };
        if let LabEvent::Move(_) = change.event {
            let mover = self.movers.iter().find(|mover| mover.vm == change.part).cloned();
            let mover = Some(mover.ok_or_else(|| none("VM that moves"))?);
            let orders = Orders::default();
            return Ok(PlannedChange { change, orders, victims: Vec::new(), mover });
        }
        if change.event == LabEvent::Kill {
            let of = self.processes.iter().filter(|(host, _)| *host == change.part);
            let victims: Vec<u32> = of.map(|(_, process)| *process).collect();
            let vms = comes || !self.whereabouts.on(&change.part).is_empty();
            if victims.is_empty() && !vms {
                return Err(none("process"));
            }
            return Ok(PlannedChange { change, orders: Orders::default(), victims, mover: None });
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
        Ok(PlannedChange { change, orders, victims: Vec::new(), mover: None })
    }
}

/// Whether a VM has moved to the part of a change by then: a host may be killed that has processes, or that one has come to.
fn comes(changes: &[LabChange], to: &LabChange) -> bool {
    let moved = |of: &LabChange| matches!(&of.event, LabEvent::Move(host) if *host == to.part);
    changes.iter().any(|of| moved(of) && of.at <= to.at)
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
        LabEvent::Restore | LabEvent::Kill | LabEvent::Move(_) => return Ok(Orders::default()),
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

impl Site for Labs {
    type Change = PlannedChange;

    fn carry_out(&mut self, planned: PlannedChange) -> Result<Told, String> {
        let PlannedChange { change, orders, mut victims, mover } = planned;
        if let (LabEvent::Move(host), Some(mover)) = (&change.event, mover) {
            return Ok(self.moved(mover, host));
        }
        if change.event == LabEvent::Kill {
            victims.extend(self.whereabouts.on(&change.part));
        }
        let ends: Vec<Batch> = match self.down.iter().position(|(part, _)| *part == change.part) {
            Some(place) if change.event == LabEvent::Restore => self.down.remove(place).1,
            _ => Vec::new(),
        };
        for batch in ends.iter().chain(&orders.bring) {
            self.fabric.carry_out(batch).map_err(|error| error.to_string())?;
        }
        victims.into_iter().for_each(lab::kill);
        if !orders.end.is_empty() {
            self.down.push((change.part.clone(), orders.end));
        }
        let (code, what) = told(&change.event);
        Ok(Told { level: Level::Info, code, text: format!("{} {what}", change.part) })
    }

    fn mend(&mut self) {
        for mover in self.away.drain(..) {
            // It may have ended.
            let _ = mover.to(&mover.home, &self.fabric, &self.whereabouts);
        }
        for batch in self.down.iter().flat_map(|(_, batches)| batches) {
            // It fails only where the lab is gone, and then there is nothing to mend.
            let _ = self.fabric.carry_out(batch);
        }
    }
}

impl Labs {
    /// Moves a VM; it is brought home at the end of the step.
    fn moved(&mut self, mover: Mover, host: &str) -> Told {
        let done = mover.to(host, &self.fabric, &self.whereabouts);
        let vm = mover.vm.clone();
        self.away.retain(|known| known.vm != vm);
        self.away.push(mover);
        let (level, text) = match done {
            Ok(()) => (
                Level::Info,
                format!("{vm} moved to {host}: its sessions are made anew from there"),
            ),
            Err(why) => (Level::Error, format!("{vm} was to move to {host}, and did not: {why}")),
        };
        Told { level, code: "incident-move", text }
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
        LabEvent::Move(host) => ("incident-move", format!("moved to {host}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Ns;

    #[test]
    fn a_host_without_processes_has_some_once_a_vm_has_come() {
        let change = |seconds, part: &str, event| LabChange {
            at: Ns::secs(seconds),
            part: part.to_owned(),
            event,
        };
        let kill = |seconds, host| change(seconds, host, LabEvent::Kill);
        let all = [change(2, "vm", LabEvent::Move("b".to_owned()))];
        assert!(comes(&all, &kill(3, "b")));
        // Not before, and nowhere else.
        assert!(!comes(&all, &kill(1, "b")) && !comes(&all, &kill(3, "c")));
    }
}
