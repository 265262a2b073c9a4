//! A running target as its operator sees and controls it, from any thread.
//!
//! What is counted is read off shared counters. Sessions are described by the threads that own them, as answers to
//! messages: a look at a target locks nothing that its data path waits for.

use super::latency::Latencies;
use super::messages::ToWorker;
use super::portal::ServedPortal;
use super::shared::ServerShared;
use crate::volume::Volume;
use clock::Ns;
use iscsi::scsi::ReservationStatus;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// The control of a running target.
#[derive(Clone)]
pub struct TargetControl {
    shared: Arc<ServerShared>,
}

/// The sessions and reservations of a target at a moment.
#[derive(Clone, Debug, Default)]
pub struct TargetSnapshot {
    /// The sessions, by handle.
    pub sessions: Vec<SessionStatus>,
    /// The reservations of the logical units, LUN 0 first; empty where the thread that was asked did not answer.
    pub reservations: Vec<ReservationStatus>,
    /// Threads that did not answer in time: their sessions are missing.
    pub silent: usize,
}

/// A session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionStatus {
    /// The initiator's iSCSI name.
    pub initiator: String,
    /// The session's identifier at the initiator, as `0x` and twelve digits.
    pub isid: String,
    /// The session's handle at the target.
    pub tsih: u16,
    /// It may only ask for targets.
    pub discovery: bool,
    /// How long it has lasted.
    pub age: Ns,
    /// Commands under way.
    pub commands: usize,
    /// Its connections.
    pub connections: Vec<ConnectionStatus>,
}

/// A connection of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionStatus {
    /// Its identifier within the session.
    pub cid: u16,
    /// The index of its portal in the configuration.
    pub portal: usize,
    /// Where it comes from.
    pub from: SocketAddr,
    /// HeaderDigest is CRC32C.
    pub header_digest: bool,
    /// DataDigest is CRC32C.
    pub data_digest: bool,
    /// Bytes received, headers included.
    pub received: u64,
    /// Bytes sent, headers included.
    pub sent: u64,
}

/// What one thread says.
pub(super) struct WorkerStatus {
    pub sessions: Vec<SessionStatus>,
    pub reservations: Option<Vec<ReservationStatus>>,
}

impl TargetControl {
    pub(super) fn new(shared: &Arc<ServerShared>) -> TargetControl {
        TargetControl { shared: Arc::clone(shared) }
    }

    /// The target's iSCSI name.
    pub fn name(&self) -> &str {
        self.shared.device.name()
    }

    /// Its portals, in the order of the configuration.
    pub fn portals(&self) -> impl Iterator<Item = ServedPortal<'_>> {
        self.shared.ports.iter().map(|port| ServedPortal { shared: &self.shared, port })
    }

    /// The volumes that it serves, LUN 0 first.
    pub fn volumes(&self) -> &[Arc<Volume>] {
        &self.shared.volumes
    }

    /// Makes the volume of a logical unit larger: its initiators hear that its capacity has changed. Whether it has.
    /// # Errors
    /// It cannot have that size: why, in words. It is as before.
    pub fn resize(&self, lun: usize, bytes: u64) -> Result<bool, String> {
        let units = self.shared.device.units();
        let (Some(volume), Some(unit)) = (self.shared.volumes.get(lun), units.get(lun)) else {
            return Err(format!("this target has no LUN {lun}"));
        };
        let before = unit.geometry().blocks;
        let blocks = volume.grow(bytes)?;
        unit.grow(blocks);
        Ok(blocks > before)
    }

    /// How long the commands of a logical unit took.
    pub fn latencies(&self, lun: usize) -> Latencies {
        self.shared.latency.get(lun).map(|cells| Latencies::total(cells)).unwrap_or_default()
    }

    /// The sessions and reservations. Waits at most `patience` for each thread.
    pub fn snapshot(&self, patience: Duration) -> TargetSnapshot {
        let ask = |(thread, worker): (usize, &super::mailbox::Address<ToWorker>)| {
            let (to, answer) = channel();
            worker.send(ToWorker::Describe { reservations: thread == 0, to });
            answer
        };
        let answers: Vec<_> = self.shared.workers.iter().enumerate().map(ask).collect();
        let mut snapshot = TargetSnapshot::default();
        for answer in answers {
            match answer.recv_timeout(patience) {
                Ok(status) => {
                    snapshot.sessions.extend(status.sessions);
                    snapshot.reservations.extend(status.reservations.into_iter().flatten());
                }
                Err(_) => snapshot.silent += 1,
            }
        }
        snapshot.sessions.sort_by_key(|session| session.tsih);
        snapshot
    }
}
