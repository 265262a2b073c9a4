//! A step of a scenario on its lab becomes a [`crate::plant::Plant`].
//!
//! What stands between a guest and an array's port is compiled apart ([`front`]) from what stands behind that port
//! ([`storage`]); both put their stations, queue limits and wires into one [`draft::Draft`]. Who issues ([`crew`]) is what a
//! live run would have: the same workers with the same numbers draw the same operations. What happens during the step
//! ([`incident`]) are changes of the network at their moments. No figure is invented silently: what no part gives is entered
//! as an assumption with its reason.

mod array;
mod cache;
mod crew;
mod defaults;
mod disk;
pub mod draft;
pub mod front;
mod incident;
mod issue;
mod network;
mod raid;
mod sheet;
mod storage;
pub mod taken;
mod usage;
mod volume;

use crate::plant::Plant;
use crew::Disks;
use draft::{Draft, DraftError};
use front::Front;
use issue::Issue;
use scenario::topology::Topology;
use scenario::{Scenario, Step};
use storage::Storage;
use thiserror::Error;
use workload::SpecError;

/// Why a step cannot be solved on its lab. What it speaks of is a name of the scenario ([`LabError::subject`]).
#[derive(Clone, Debug, Error, PartialEq)]
pub enum LabError {
    /// Nothing is issued.
    #[error("step {step} issues nothing; give its plan a workload")]
    NothingToDo {
        /// Its number.
        step: u32,
    },
    /// A receiver that is no part of the lab.
    #[error(
        "`{receiver}` stands nowhere in the lab; give the receiver a `host`, and `from` for the host that sends"
    )]
    NoPlace {
        /// The receiver.
        receiver: String,
    },
    /// Nobody is said to send to a receiver.
    #[error(
        "which host sends to `{receiver}` is not said; give the receiver `from`, or let the load run on a VM with \
         `nics = [{{ receiver = \"{receiver}\" }}]`"
    )]
    NoSender {
        /// The receiver.
        receiver: String,
    },
    /// A VM with nics that no host carries.
    #[error("`{vm}` has no `host` whose adapter its network load could leave by; give it one")]
    NoHost {
        /// The VM.
        vm: String,
    },
    /// A member that has no disk on the lab.
    #[error(
        "`{member}` has no disk in the lab for `{workload}` to use; give it `disks = [{{ lun = \"ARRAY/auto\" }}]`"
    )]
    NoDisks {
        /// The member.
        member: String,
        /// The workload.
        workload: String,
    },
    /// A member that runs a copy without a disk on what is copied.
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
    /// More disks than a worker can number.
    #[error("`{member}` has more than 65,536 disks; divide them among several")]
    TooManyDisks {
        /// The member.
        member: String,
    },
    /// A load that nothing can wait for.
    #[error(
        "`{load}` waits for `{after}`, which is no load of this step that ends; give that an `amount`"
    )]
    After {
        /// The load that waits.
        load: String,
        /// What it waits for.
        after: String,
    },
    /// Something happens to what the lab does not have.
    #[error(
        "`{name}` is no part of the lab that a path of this step uses; name a device, a port or a link of one"
    )]
    NoPart {
        /// The name.
        name: String,
    },
    /// A VM cannot go where it should.
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
        /// Why.
        problem: SpecError,
    },
    /// What came out cannot be solved.
    #[error(transparent)]
    Draft(#[from] DraftError),
}

impl LabError {
    /// The name of the scenario that it speaks of, where there is one.
    pub fn subject(&self) -> Option<&str> {
        match self {
            LabError::NothingToDo { .. } | LabError::Draft(_) => None,
            LabError::NoPlace { receiver: name }
            | LabError::NoSender { receiver: name }
            | LabError::NoHost { vm: name } => Some(name),
            LabError::NoDisks { member, .. }
            | LabError::NoDisk { member, .. }
            | LabError::TooManyDisks { member } => Some(member),
            LabError::After { after: name, .. }
            | LabError::NoPart { name }
            | LabError::NoMove { vm: name, .. }
            | LabError::Operations { worker: name, .. } => Some(name),
        }
    }
}

/// The plant of a step: `topology` is that of `scenario`, and `step` one of its steps.
///
/// # Errors
/// The step asks for what the lab cannot do.
pub fn compile(scenario: &Scenario, topology: &Topology, step: &Step) -> Result<Plant, LabError> {
    if step.loads.is_empty() {
        return Err(LabError::NothingToDo { step: step.index });
    }
    let whole = front::with_nets(incident::with_moves(topology, step));
    let topology = &*whole;
    let disks = Disks::new(topology);
    let (workers, copiers) = (disks.workers(step)?, disks.copiers(step)?);
    let mut storage = Storage::new(scenario, topology);
    for worker in &workers {
        for way in &worker.targets {
            let way = &topology.ways[*way];
            storage.ask(way, worker.load.workload, worker.targets.len());
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
