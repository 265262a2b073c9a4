//! The faults of a step at an agent's arrays, injected at their times on a thread that runs until the step ends.
//!
//! Fault times count from the start of the measured time, which may move forward during the warm-up. Each fault is an event of
//! the record. The agent acts alone, without messages to the coordinator at the time of a fault.

use super::served::{ServedArrays, ServedPortId};
use super::{ArrayStep, PortFault, port_hop};
use clock::Ns;
use engine::{
    EngineError, IntervalTx, Output, Phases, StepHandle, StepMoments, StepThread, StepTimeline,
};
use record::{Event, Level, Lever, Perturbation, Proof, SourceId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// The speeds and faults of a step that is about to start.
pub(crate) struct FaultPlan {
    served: Arc<ServedArrays>,
    index: u32,
    phases: Phases,
    speeds: Vec<(ServedPortId, Option<u64>)>,
    faults: VecDeque<PendingFault>,
    rounds: Box<Rounds>,
}

/// The rounds of a proof, as far as they slow something here.
#[derive(Default)]
struct Rounds {
    proof: Proof,
    /// The usual value of whatever can be slowed here.
    usual: BTreeMap<(String, Lever), f64>,
    /// The next round; one after the last ends them.
    next: usize,
}

impl Rounds {
    /// When the next round begins, since the end of the measured time.
    fn due(&self) -> Option<Ns> {
        let some = !self.proof.rounds.is_empty() && self.next <= self.proof.rounds.len();
        some.then(|| self.proof.begin(self.next))
    }

    /// Begins the next round: restores what the one before slowed, and slows what is its turn.
    fn begin(&mut self, served: &ServedArrays) {
        let slowed = |round: Option<usize>| {
            let number = (*self.proof.rounds.get(round?)?)?;
            self.proof.perturbations.get(number as usize)
        };
        let (before, now) = (slowed(self.next.checked_sub(1)), slowed(Some(self.next)));
        if before != now {
            before.into_iter().for_each(|of| self.set(served, of, 1.0));
            now.into_iter().for_each(|of| self.set(served, of, of.factor));
        }
        self.next += 1;
    }

    /// Leaves so much of the usual capacity of a part.
    fn set(&self, served: &ServedArrays, of: &Perturbation, factor: f64) {
        let Some(usual) = self.usual.get(&(of.subject.clone(), of.lever)) else { return };
        let value = match of.lever {
            Lever::Latency => usual / factor,
            _ => usual * factor,
        };
        served.limit(&of.subject, of.lever, Some(value));
    }
}

/// A fault to come.
struct PendingFault {
    at: Ns,
    port: ServedPortId,
    hop: String,
    action: PortFault,
}

impl FaultPlan {
    /// Restores all ports and prepares the step's speeds and faults. Until the start ports are unlimited, so that filling is fast.
    pub fn new(served: Arc<ServedArrays>, step: &ArrayStep) -> Result<FaultPlan, EngineError> {
        served.heal()?;
        let (mut speeds, mut faults) = (Vec::new(), Vec::new());
        let mut usual: BTreeMap<_, _> =
            served.limits().map(|of| ((of.hop, of.lever), of.value)).collect();
        for wanted in &step.ports {
            let port = served.port(&wanted.array, &wanted.port)?;
            speeds.push((port, wanted.bytes_per_s));
            let hop = port_hop(&wanted.array, &wanted.port);
            usual.extend(wanted.bytes_per_s.map(|rate| ((hop, Lever::Rate), rate as f64)));
            faults.extend(wanted.faults.iter().map(|fault| PendingFault {
                at: fault.at,
                port,
                hop: port_hop(&wanted.array, &wanted.port),
                action: fault.action,
            }));
        }
        // Stable: what happens to one port at one moment keeps its order.
        faults.sort_by_key(|fault| fault.at);
        let ArrayStep { index, warmup, measure, cooldown, .. } = *step;
        let proof = step.proof.clone().unwrap_or_default();
        let phases = Phases { warmup, measure, cooldown, slice: proof.settle };
        let rounds = Box::new(Rounds { proof, usual, next: 0 });
        Ok(FaultPlan { served, index, phases, speeds, faults: faults.into(), rounds })
    }

    /// The lengths of the step's phases.
    pub fn phases(&self) -> Phases {
        self.phases
    }

    /// Starts: ports get their speeds at once; events and one end go to `out`, as from an engine. `hops` are the numbers of the
    /// arrays' hops in the record; without them events name no source.
    pub fn start(
        self,
        epoch: Ns,
        at: Ns,
        hops: Vec<SourceId>,
        out: IntervalTx,
    ) -> Box<dyn StepHandle> {
        for (port, speed) in &self.speeds {
            self.served.set_speed(*port, *speed);
        }
        self.served.hold();
        let line = StepTimeline::new(epoch, at, self.phases);
        let act = move |moments: &mut StepMoments, out: &IntervalTx| {
            FaultThread { plan: self, hops, out }.stay(moments)
        };
        Box::new(StepThread::spawn("array-faults", line, out, act))
    }
}

/// The thread's part.
struct FaultThread<'a> {
    plan: FaultPlan,
    hops: Vec<SourceId>,
    out: &'a IntervalTx,
}

impl FaultThread<'_> {
    /// Runs until the step ends or is stopped.
    fn stay(&mut self, moments: &mut StepMoments) -> Output {
        loop {
            let (fault, round) = (self.plan.faults.front(), self.plan.rounds.due());
            let fault = |line: &StepTimeline| fault.map(|fault| line.measure().plus(fault.at));
            let round = |line: &StepTimeline| round.map(|after| line.cooldown().plus(after));
            let first = |line: &StepTimeline| fault(line).into_iter().chain(round(line)).min();
            if !moments.wait(first) {
                return Output::Finished;
            }
            let line = moments.line();
            if round(line).is_some() && first(line) == round(line) {
                self.plan.rounds.begin(&self.plan.served);
                continue;
            }
            let Some(fault) = self.plan.faults.pop_front() else { return Output::Finished };
            if let Err(error) = self.carry_out(&fault, line) {
                return Output::Failed(error);
            }
        }
    }

    fn carry_out(&self, fault: &PendingFault, line: &StepTimeline) -> Result<(), EngineError> {
        // The moment before: what initiators notice comes after it.
        let at = line.on_record(clock::now());
        self.plan.served.do_to(fault.port, fault.action)?;
        let (code, what) = describe(fault.action);
        let _ = self.out.send(Output::Event(Event {
            at,
            step: Some(self.plan.index),
            source: self.hops.get(fault.port.hop).copied(),
            level: Level::Info,
            code: code.to_owned(),
            text: format!("{} {what}", fault.hop),
        }));
        Ok(())
    }
}

/// A fault's event code, and its text after the name of the port.
fn describe(action: PortFault) -> (&'static str, String) {
    match action {
        PortFault::Kill => (
            "fault-kill",
            "was killed: it accepts no connections, and those that it had were closed".to_owned(),
        ),
        PortFault::Revive => ("fault-revive", "was revived: it accepts connections".to_owned()),
        PortFault::Slow { bytes_per_s } => {
            let rate = units::rate(bytes_per_s as f64);
            ("fault-slow", format!("speed changed to {rate} in each direction"))
        }
        PortFault::Busy => ("fault-busy", "answers every command with BUSY".to_owned()),
        PortFault::Ready => ("fault-ready", "carries out commands again".to_owned()),
    }
}
