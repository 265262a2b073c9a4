//! The emulated fabric: what of a scenario says `emulate = true`, made of this machine's kernel.
//!
//! Every host, switch and array is a network namespace; a cable is a pair of virtual Ethernet interfaces with a token bucket
//! (`tbf`) at each end, so that each direction has its own speed; a switch is a bridge. [`plan`] derives all of it from a
//! checked scenario, without touching anything. [`Fabric`] makes it.
//!
//! **No namespace has a name.** Each lives as long as a process of ours is in it, and its interfaces live as long as it does.
//! A guardian process holds these processes; it ends when the pipe to its owner closes, which the kernel does even where the
//! owner is killed. So death at any moment removes interfaces and namespaces without anybody's help, and nothing that others
//! named can be touched. What the kernel does not remove by itself, control groups and the state file, the guardian removes;
//! where the guardian was killed as well, [`sweep`] does at the next start.
//!
//! Teams are bonds, and bridges keep VLANs apart, where the kernel has both ([`Kernel`]); [`batches`] says what is made otherwise.
//!
//! Changes are made by `ip`, `tc` and `bridge`, run inside a namespace as batches: their language is stable, they know every queueing
//! discipline, and their refusals name what the kernel lacks. Counters are read from `/proc/PID/net/dev`, without processes.

#![forbid(unsafe_code)]

mod address;
pub mod cgroup;
pub mod counters;
mod error;
mod fabric;
mod guardian;
mod plan;
mod process;
mod script;
mod state;
mod trouble;

pub use error::LabError;
pub use fabric::{Built, Fabric, Program};
pub use guardian::guard;
pub use plan::{
    BondMode, Cable, CableEnd, Kernel, LabPlan, NetReach, Node, NodeKind, NodePort, PlannedTeam,
    Quota, Reach, Shaping, TeamReach, plan,
};
pub use process::{cut, enter, kill, node, regroup};
pub use script::{Batch, batches};
pub use state::{Standing, State, find, list, stop, sweep};
pub use trouble::{Orders, Trouble};
