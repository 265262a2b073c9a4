//! Compiles a step of a scenario on its lab into a [`crate::plant::Plant`].
//!
//! The part from the guests to the arrays' ports is compiled separately ([`front`]) from the part behind these ports
//! ([`storage`]); both add stations, queue limits and wires to one [`draft::Draft`]. The issuers ([`crew`]) are those
//! of a live run: the same workers with the same numbers draw the same operations. Incidents during the step
//! ([`incident`]) are scheduled changes of the network. No figure is assumed silently: defaults are recorded as
//! assumptions with their reasons.

mod array;
mod cache;
mod cached;
mod crew;
mod defaults;
mod disk;
pub mod draft;
pub mod front;
mod incident;
mod issue;
mod network;
pub mod part_defaults;
mod raid;
mod sheet;
mod storage;
mod usage;
mod visits;
mod volume;

use crate::plant::Plant;
use crew::Disks;
use draft::{Draft, DraftError};
use front::Front;
use issue::Issue;
use scenario::topology::Topology;
use scenario::{About, Change, Scenario, Step};
use storage::Storage;
use thiserror::Error;
use workload::SpecError;

/// Why a step cannot be solved on its lab. [`LabError::subject`] gives the scenario's name that it concerns.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LabError {
    /// The step issues no load.
    #[error("step {step} issues nothing; give its plan a workload")]
    NothingToDo {
        /// The step's number.
        step: u32,
    },
    /// A receiver that is not part of the lab.
    #[error(
        "`{receiver}` is not in the lab; give the receiver a `host`, and `from` for the host that sends"
    )]
    NoPlace {
        /// The receiver.
        receiver: String,
    },
    /// No host is given that sends to a receiver.
    #[error(
        "no host is given that sends to `{receiver}`; give the receiver `from`, or let the load run on a VM with \
         `nics = [{{ receiver = \"{receiver}\" }}]`"
    )]
    NoSender {
        /// The receiver.
        receiver: String,
    },
    /// A VM with NICs that has no host.
    #[error("`{vm}` has no `host` with an adapter for its network load; give it one")]
    NoHost {
        /// The VM.
        vm: String,
    },
    /// A member without a disk on the lab.
    #[error(
        "`{member}` has no disk in the lab for `{workload}` to use; give it `disks = [{{ lun = \"ARRAY/auto\" }}]`"
    )]
    NoDisks {
        /// The member.
        member: String,
        /// The workload.
        workload: String,
    },
    /// A member that runs a copy without a disk on the copied volume.
    #[error(
        "`{member}` has no disk on `{volume}`, which `{workload}` copies; give it `disks = [{{ lun = \"{volume}\" }}]`"
    )]
    NoDisk {
        /// The member.
        member: String,
        /// The volume.
        volume: String,
        /// The workload.
        workload: String,
    },
    /// More disks than a worker can have.
    #[error("`{member}` has more than 65,536 disks; divide them among several")]
    TooManyDisks {
        /// The member.
        member: String,
    },
    /// A load that waits for one that never ends.
    #[error(
        "`{load}` waits for `{after}`, which is not a load of this step with an end; give it an `amount`"
    )]
    After {
        /// The load that waits.
        load: String,
        /// What it waits for.
        after: String,
    },
    /// An incident at something that the lab does not have.
    #[error(
        "`{name}` is not part of the lab on a path of this step; name a device, a port or a link of one"
    )]
    NoPart {
        /// The name.
        name: String,
        /// What was to happen to it.
        change: Change,
    },
    /// What hampers real cables and kills real processes.
    #[error("{}", not_modelled(change))]
    NoCable {
        /// What was to happen.
        change: Change,
    },
    /// A VM cannot move to the host.
    #[error(
        "`{vm}` has no path from `{to}`: give that host an adapter that reaches the VM's volumes"
    )]
    NoMove {
        /// The VM.
        vm: String,
        /// The host.
        to: String,
    },
    /// A workload does not fit its disks.
    #[error("`{worker}`: {problem}")]
    Operations {
        /// The worker.
        worker: String,
        /// What is wrong.
        problem: SpecError,
    },
    /// A part of an embedded array has a limit that is not modelled.
    #[error(
        "`{part}` is held to a limit that live runs alone keep (a volume's `rate`, `iops` or `latency`, a port's `latency`, \
         an array's `cpu`); leave it out, or run the scenario live"
    )]
    Held {
        /// The port, the volume or the array.
        part: String,
    },
    /// The resulting network cannot be solved.
    #[error(transparent)]
    Draft(#[from] DraftError),
}

impl LabError {
    /// What of the scenario it concerns.
    pub fn about(&self) -> About<'_> {
        match self {
            LabError::NothingToDo { .. } => About::Whole,
            LabError::Draft(error) => error.member().map_or(About::Whole, About::Name),
            LabError::NoPlace { receiver: name }
            | LabError::NoSender { receiver: name }
            | LabError::NoHost { vm: name } => About::Name(name),
            LabError::NoDisks { member, .. }
            | LabError::NoDisk { member, .. }
            | LabError::TooManyDisks { member } => About::Name(member),
            LabError::After { after: name, .. }
            | LabError::Held { part: name }
            | LabError::NoMove { vm: name, .. }
            | LabError::Operations { worker: name, .. } => About::Name(name),
            LabError::NoCable { change } | LabError::NoPart { change, .. } => {
                About::Incident(change)
            }
        }
    }
}

/// What to write instead of a change that the model does not have.
fn not_modelled(change: &Change) -> String {
    let emulated = "an emulated lab has that, by `wirespeed run`";
    match change {
        Change::Kill(host) => format!(
            "the model cannot {change}, since it has no processes: write `fail = \"{host}\"`, which stops all that runs \
             there; {emulated}"
        ),
        _ => format!(
            "the model cannot {change}: in a simulation parts `fail` and are restored, and VMs `move`; {emulated}"
        ),
    }
}

/// Compiles the plant of a step: `topology` is that of `scenario`, and `step` one of its steps.
///
/// # Errors
/// The step needs something that the lab cannot do.
pub fn compile(scenario: &Scenario, topology: &Topology, step: &Step) -> Result<Plant, LabError> {
    if step.loads.is_empty() {
        return Err(LabError::NothingToDo { step: step.index });
    }
    if let Some(part) = held(scenario) {
        return Err(LabError::Held { part });
    }
    let whole = front::with_nets(incident::with_moves(topology, step));
    let topology = &*whole;
    let disks = Disks::new(topology);
    let (workers, copiers) = (disks.workers(step)?, disks.copiers(step)?);
    let mut storage = Storage::new(scenario, topology);
    for worker in &workers {
        for way in &worker.targets {
            let way = &topology.ways[*way];
            let span = (step.warmup.into(), step.measure.into());
            storage.ask(way, worker.load.workload, worker.targets.len(), span);
        }
    }
    for copier in &copiers {
        let of = copier.copy.workload;
        storage.ask_stream(&topology.ways[copier.from], workload::Dir::Read, of.block, of.depth);
        storage.ask_stream(&topology.ways[copier.to], workload::Dir::Write, of.block, of.depth);
    }
    let mut draft = Draft::new(topology);
    let may_fail = !step.incidents.is_empty();
    let front = Front::new(scenario, topology, step, may_fail, &mut draft);
    let mut issue = Issue { topology, step, front: &front, storage, draft: &mut draft };
    issue.all(&workers, &copiers)?;
    network::add(scenario, topology, step, &front, &mut draft)?;
    incident::schedule(scenario, topology, step, &front, &mut draft)?;
    Ok(draft.finish()?)
}

/// The first part of an embedded array with a limit of live runs.
fn held(scenario: &Scenario) -> Option<String> {
    let lab = &scenario.lab;
    let of_array = |array: &scenario::Array| {
        let embedded = array.embedded.as_ref()?;
        let port = embedded.ports.iter().find(|port| !port.latency.is_zero());
        let port = port.map(|port| format!("{}.{}", array.name, port.name));
        port.or_else(|| embedded.cpu.map(|_| array.name.clone()))
    };
    let limited =
        |of: &&scenario::Volume| of.rate.is_some() || of.iops.is_some() || !of.latency.is_zero();
    let volume = lab.volumes.iter().find(limited).map(|of| format!("{}/{}", of.array, of.name));
    lab.arrays.iter().find_map(of_array).or(volume)
}
