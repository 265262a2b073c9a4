//! A worker's sessions, described for the target's operator: by the thread that owns them, so that nothing is locked.

use super::Worker;
use super::connection::TargetConnection;
use super::session::WorkerSession;
use crate::server::status::{ConnectionStatus, SessionStatus, WorkerStatus};
use clock::Ns;

impl Worker {
    /// What this thread carries; with `reservations`, who has reserved what.
    pub(super) fn describe(&self, reservations: bool) -> WorkerStatus {
        let units = self.ctx.shared.device.units();
        WorkerStatus {
            sessions: self.sessions.iter().map(|(_, one)| one.describe(self.ctx.now)).collect(),
            reservations: reservations
                .then(|| units.iter().map(|unit| unit.reservation_status()).collect()),
        }
    }
}

impl WorkerSession {
    fn describe(&self, now: Ns) -> SessionStatus {
        let isid = self.nexus.initiator.rsplit_once(",i,").map_or("", |(_, isid)| isid);
        SessionStatus {
            initiator: self.nexus.initiator_name().to_owned(),
            isid: isid.to_owned(),
            tsih: self.tsih,
            discovery: self.discovery,
            age: now.since(self.began),
            commands: self.protocol.tasks(),
            connections: self.connections.iter().flatten().map(|one| one.describe()).collect(),
        }
    }
}

impl TargetConnection {
    fn describe(&self) -> ConnectionStatus {
        ConnectionStatus {
            cid: self.peer.cid,
            portal: self.port.index,
            from: self.peer.address,
            header_digest: self.header_digest,
            data_digest: self.data_digest,
            received: self.watch.received,
            sent: self.watch.sent,
        }
    }
}
