//! Discrete-event simulation of a queueing network.
//!
//! Events are ordered by (time, station, sequence), so a seed determines everything that happens. Where links can be
//! simulated apart from the rest ([`apart`]), events of different stations are dispatched in another order, which changes
//! nothing at any of them. The event loop allocates nothing and has no dynamic dispatch: stations are an enum, I/Os live in a preallocated table, and queues
//! are linked lists through that table. Each station and each load has a random stream of its own, so changing one does
//! not change what another draws.
//!
//! Within one event the order is: the served I/O is counted out; the freed server takes the next in its queue; the
//! freed room admits the first I/O blocked before the station, which may free a server upstream, and so on; then the
//! served I/O continues to its next hop, followed by the I/Os that were granted tokens, in the order of the grants.

mod alarm;
mod apart;
mod build;
mod calendar;
mod change;
mod choose;
mod copies;
mod entity;
mod event;
mod fluid;
mod foreseen;
mod fuse;
mod gated;
mod halt;
mod heap;
mod issue;
mod layout;
mod progress;
mod raid;
mod run;
mod source;
mod station;
mod stretch;
mod tournament;
mod transfer;
mod view;
mod walk;
mod window;

pub use event::{EventKey, EventQueue, SimEvent, end_of};
pub use fluid::LinkTally;
pub use halt::{Halt, WaitPoint, Waiting};
pub use progress::SharedProgress;
pub use transfer::{PartTransfers, UnderWay};
pub use view::{ClassTally, Snapshot};

use crate::Ps;
use crate::model::{Change, DiskParts, NetworkError, RaidVisit};
use alarm::Alarms;
use apart::Apart;
use choose::Chooser;
use copies::CopyState;
use entity::{Entities, Fifo};
use fuse::FusedRun;
use layout::{RouteStep, StepFigures, StepScope};
use source::SourceState;
use station::{ClassCounts, PoolState, StationState};
use std::sync::Arc;
use stretch::Passes;
use thiserror::Error;
use workload::SpecError;

/// Keys of random streams: stations and loads.
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
        /// The load's number.
        load: usize,
        /// What is wrong with them.
        problem: SpecError,
    },
}

/// Receives an I/O's services and its end; an event that is not overridden costs nothing.
pub trait Observer {
    /// Whether the histograms of stations, pools and classes are kept.
    const TIMES: bool = true;
    /// Whether [`Observer::served`] is told every service, in the order of time: then nothing is simulated apart.
    const SERVICES: bool = false;

    /// I/O number `io` of `class` has been served at `station`, at `now`.
    #[inline]
    fn served(&mut self, _station: u32, _class: u32, _io: u32, _now: Ps) {}

    /// An I/O ended, or was lost.
    #[inline]
    fn ended(&mut self, _io: &Ended) {}
}

/// An I/O that has left the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Its class, numbered through all loads.
    pub class: u32,
    /// Its size in bytes.
    pub bytes: u32,
    /// When it was due.
    pub due: Ps,
    /// When its source issued it.
    pub issued: Ps,
    /// When it left.
    pub now: Ps,
    /// It did not reach the end of its route.
    pub lost: bool,
}

/// Seeds of all randomness.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seeds {
    /// Seeds the workers' operations; a live engine with the same seed issues the same ones.
    pub operations: u64,
    /// Seeds everything else: service times, gaps, skipped hops.
    pub draws: u64,
}

impl From<u64> for Seeds {
    fn from(seed: u64) -> Seeds {
        Seeds { operations: seed, draws: seed }
    }
}

impl Observer for () {}

/// Something scheduled before the simulation starts.
#[derive(Clone, Copy, Debug)]
enum Scheduled {
    /// A load begins.
    Begin(u32),
    Change(Change),
}

/// A network being simulated.
pub struct Simulation<O: Observer = ()> {
    now: Ps,
    /// Sequence number of the next event.
    sequence: u64,
    /// Events dispatched so far.
    dispatched: u64,
    /// Events since time last advanced, and the limit beyond which that is a livelock.
    standing: u64,
    standing_max: u64,
    pending: EventQueue,
    /// One that happens now.
    at_once: Option<SimEvent>,
    alarms: Alarms,
    entities: Entities,
    /// Per I/O; empty where the network makes no copies and fails no arms.
    copies: Box<[CopyState]>,
    /// I/Os and copies begun, counted where `copies` is kept.
    issued: u64,
    /// I/Os that continue within the current event.
    ready: Fifo,
    /// All routes, one after the other.
    steps: Box<[RouteStep]>,
    /// What an I/O at each step holds.
    scopes: Box<[StepScope]>,
    /// First steps of arms and copies.
    starts: Box<[u32]>,
    /// Demands, sizes and chances that steps refer to.
    figures: StepFigures,
    /// Visits to RAID groups, and scratch space for the disks of one.
    raids: Box<[RaidVisit]>,
    parts: DiskParts,
    /// Tokens that are counted where I/Os pass.
    passes: Passes,
    /// Sequences of visits that are one event each.
    runs: Box<[FusedRun]>,
    /// Links that are simulated ahead of the rest, or behind it.
    apart: Apart,
    stations: Vec<StationState>,
    pools: Vec<PoolState>,
    choosers: Vec<Chooser>,
    origins: Vec<SourceState>,
    /// Per class: its load, first step and counts.
    classes: Vec<ClassState>,
    /// Scheduled begins and changes, and how many of them have happened.
    scheduled: Box<[(Ps, Scheduled)]>,
    scheduled_done: usize,
    /// Scratch space for the I/Os pulled out of a failed arm.
    pulled: Vec<u32>,
    /// Whether any station blocks I/Os before it when it is full.
    doors: bool,
    progress: Option<Arc<SharedProgress>>,
    /// Which transfers say how far an I/O is; chosen when that is first asked.
    transfers: transfer::Transfers,
    observer: O,
}

/// A class being simulated. What every I/O needs comes first.
#[repr(C)]
struct ClassState {
    /// Sum of the times from due to end, in picoseconds.
    responded: u128,
    load: u32,
    first_step: u32,
    bytes: u32,
    priority: u8,
    dir: workload::Dir,
    /// A step of its route issues it.
    submits: bool,
    account: ClassCounts,
}
