//! State shared by all threads of a target. Nothing in here is locked on the data path.

use super::event::ServerListener;
use super::hold::Holds;
use super::latency::LatencyCells;
use super::limits::TargetLimits;
use super::mailbox::Address;
use super::messages::{ToAcceptor, ToWorker};
use super::persistence::ReservationStore;
use super::port::Port;
use crate::volume::Volume;
use iscsi::scsi::Device;
use std::sync::Arc;

/// What all threads have in common.
pub(super) struct ServerShared {
    /// Decides what commands mean.
    pub device: Device,
    /// What carries them out, in the order of the device's units.
    pub volumes: Vec<Arc<Volume>>,
    /// How long the commands of each unit took, by thread.
    pub latency: Vec<Box<[LatencyCells]>>,
    pub ports: Vec<Arc<Port>>,
    pub holds: Holds,
    pub limits: TargetLimits,
    pub listener: ServerListener,
    /// Threads may look again for a moment before they sleep.
    pub spin: bool,
    pub workers: Vec<Address<ToWorker>>,
    pub acceptor: Address<ToAcceptor>,
    /// Where reservations are kept over a restart, if anywhere.
    pub reservations: Option<ReservationStore>,
}
