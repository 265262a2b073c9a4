//! Discrete events: I/Os walk through a network, one event after the other.
//!
//! Events are ordered by (time, place, sequence), so that a seed determines all that happens. The loop allocates nothing
//! and calls nothing through a table: stations are an enum, I/Os live in places made beforehand, lines are links through
//! them. Each station and each load draws from a random stream of its own, so that a change at one does not change what
//! another draws.
//!
//! What happens within one event, in this order: who has been served is counted out; the freed server takes the next in
//! line; the freed room lets in the first at the door, which may free a server further up, and so on; then the served
//! I/O goes on to its next hop, and after it all who were granted tokens, in the order of the grants.

mod alarm;
mod build;
mod change;
mod choose;
mod entity;
mod event;
mod fluid;
mod fuse;
mod halt;
mod issue;
mod kin;
mod lane;
mod layout;
mod progress;
mod run;
mod source;
mod station;
mod view;
mod walk;

pub use event::{Event, Key, Pending, end_of};
pub use fluid::LinkTally;
pub use halt::{At, Halt, Waits};
pub use progress::Progress;
pub use view::{ClassTally, Snapshot};

use crate::Ps;
use crate::model::{Change, NetworkError};
use alarm::Alarms;
use choose::Chooser;
use entity::{Entities, Line};
use fuse::Run;
use kin::Kin;
use layout::{Scope, Step};
use source::Origin;
use station::{Account, Place, Tokens};
use std::sync::Arc;
use thiserror::Error;
use workload::SpecError;

/// Names of random streams: those of stations, and those of loads.
const STATION: u64 = 1;
const LOAD: u64 = 2;

/// Why a simulation could not be set up.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum SetUpError {
    /// The network cannot be simulated.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// A worker's operations do not fit its targets.
    #[error("load {load}: {problem}")]
    Operations {
        /// Its number.
        load: usize,
        /// Why.
        problem: SpecError,
    },
}

/// What wants to hear of each I/O; what it does not ask for costs nothing.
pub trait Observer {
    /// Whether the histograms of stations, pools and classes are kept.
    const TIMES: bool = true;

    /// I/O number `io` of `class` has been served at `station`, at `now`.
    #[inline]
    fn served(&mut self, _station: u32, _class: u32, _io: u32, _now: Ps) {}

    /// An I/O ended, or was lost.
    #[inline]
    fn ended(&mut self, _io: &Ended) {}
}

/// An I/O whose way is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its class, numbered through all loads.
    pub class: u32,
    /// Its size in bytes.
    pub bytes: u32,
    /// When it was due.
    pub due: Ps,
    /// When its source let it go.
    pub issued: Ps,
    /// When it ended.
    pub now: Ps,
    /// It did not come to the end of its route.
    pub lost: bool,
}

/// Names of all randomness. One number names all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Operations of workers, which are those of a live engine with the same seed.
    pub operations: u64,
    /// Everything else that is drawn: times, gaps, what is skipped.
    pub draws: u64,
}

impl From<u64> for Seeds {
    fn from(seed: u64) -> Seeds {
        Seeds { operations: seed, draws: seed }
    }
}

impl Observer for () {}

/// Something that happens at a moment known beforehand.
#[derive(Clone, Copy, Debug)]
enum Turn {
    /// A load begins.
    Begin(u32),
    Change(Change),
}

/// A network at work.
pub struct Simulation<O: Observer = ()> {
    now: Ps,
    /// Of the next event.
    sequence: u64,
    /// Events dispatched.
    dispatched: u64,
    /// Events since time last passed, and how many of them can be right.
    standing: u64,
    standing_max: u64,
    pending: Pending,
    alarms: Alarms,
    entities: Entities,
    /// Of each I/O, where anything of it is asked.
    kin: Box<[Kin]>,
    /// I/Os and copies that have begun, where that is counted.
    issued: u64,
    /// I/Os that go on within the event that is being dispatched.
    ready: Line,
    /// All routes, one after the other.
    steps: Box<[Step]>,
    /// What is known of whoever is at a step, for each.
    scopes: Box<[Scope]>,
    /// First steps of arms and copies.
    starts: Box<[u32]>,
    /// Visits that are fused.
    runs: Box<[Run]>,
    places: Vec<Place>,
    pools: Vec<Tokens>,
    choosers: Vec<Chooser>,
    origins: Vec<Origin>,
    /// For each class: its load, its first step, and what became of its I/Os.
    classes: Vec<Class>,
    /// What happens at moments known beforehand, and how much of it has.
    turns: Box<[(Ps, Turn)]>,
    turned: usize,
    /// Room to gather those who are pulled out.
    pulled: Vec<u32>,
    /// Whether some station lets I/Os wait at its door.
    doors: bool,
    progress: Option<Arc<Progress>>,
    observer: O,
}

/// A class at work.
struct Class {
    load: u32,
    first_step: u32,
    bytes: u32,
    priority: u8,
    dir: workload::Dir,
    account: Account,
}
