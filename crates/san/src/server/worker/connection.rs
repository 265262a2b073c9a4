//! One connection: its socket, unparsed input, queued output, and when it was last active.

use super::coalesce::ResponsePace;
use super::input::ReadAhead;
use super::output::{OutputPiece, SendQueue};
use crate::server::event::{DropReason, Peer};
use crate::server::messages::NewConnection;
use crate::server::pacing::Allowance;
use crate::server::port::Port;
use clock::Ns;
use iscsi::digest::RunningDigest;
use iscsi::target::{ConnId, TaskId};
use rustix::fd::OwnedFd;
use std::net::SocketAddr;
use std::sync::Arc;

/// One connection of a session.
pub(super) struct TargetConnection {
    /// Tells a line from an earlier one at the same place.
    pub serial: u32,
    pub conn: ConnId,
    pub socket: OwnedFd,
    pub peer: Peer,
    /// The address of this end.
    pub local: SocketAddr,
    pub port: Arc<Port>,
    pub input: ReadAhead,
    pub output: SendQueue<TaskId>,
    pub header_digest: bool,
    pub data_digest: bool,
    /// The digest of the data segment that is coming.
    pub digest: RunningDigest,
    /// The socket may have something to read.
    pub readable: bool,
    /// Nothing will come behind what the socket holds, so that no edge will tell of its end.
    pub ended: bool,
    /// The socket may have room.
    pub writable: bool,
    /// The session wants to read on after a pause.
    pub again: bool,
    /// To be closed once everything has been sent.
    pub closing: bool,
    /// Why it is closed; `None`: by a logout.
    pub end: Option<DropReason>,
    /// A look is due at these moments, when its turn at the paced port comes.
    pub alarm_in: bool,
    pub alarm_out: bool,
    /// The status after the last one that was handed out, and the one that the peer expected when it last sent something.
    pub stat_sn: u32,
    pub exp_stat_sn: u32,
    pub pace: ResponsePace,
    /// Requests that came since something was last sent.
    pub fresh: u32,
    /// SCSI data that was copied for its digest, and how much of it is data.
    pub copied: Option<(Vec<u8>, u32)>,
    pub allowed_in: Allowance,
    pub allowed_out: Allowance,
    /// Bytes moved in either direction when the ticker last looked, and when that was other than before.
    pub watch: ConnectionAge,
}

/// Identifies a connection on its thread; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ConnectionKey {
    /// The session's place; below 2^24.
    pub session: u32,
    /// Which connection of it; below 2^8.
    pub conn: u8,
    /// Distinguishes it from an earlier one in the same slot.
    pub serial: u32,
}

impl ConnectionKey {
    pub fn pack(self) -> u64 {
        u64::from(self.serial) << 32 | u64::from(self.conn) << 24 | u64::from(self.session)
    }

    pub fn unpack(key: u64) -> ConnectionKey {
        ConnectionKey {
            session: key as u32 & 0xff_ffff,
            conn: (key >> 24) as u8,
            serial: (key >> 32) as u32,
        }
    }
}

/// What the ticker knows of a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ConnectionAge {
    /// Bytes received so far.
    pub received: u64,
    /// Bytes sent so far.
    pub sent: u64,
    /// What they were at the last look.
    pub seen: (u64, u64),
    /// Since when nothing was received.
    pub quiet_in: Ns,
    /// Since when nothing was sent.
    pub quiet_out: Ns,
    /// When a sign of life was asked for.
    pub pinged: Option<Ns>,
    /// Headers received so far, and how many at the last look.
    pub headers: (u64, u64),
    /// A PDU has begun and is not complete.
    pub within: bool,
    /// Since when the same PDU waits for its peer alone.
    pub slow: Ns,
}

impl TargetConnection {
    pub fn new(serial: u32, conn: ConnId, new: NewConnection, now: Ns) -> TargetConnection {
        let mut output = SendQueue::new();
        if !new.unsent.is_empty() {
            output.push(OutputPiece::Bytes(new.unsent.into()));
        }
        TargetConnection {
            serial,
            conn,
            socket: new.socket,
            peer: new.peer,
            local: new.local,
            port: new.port,
            input: ReadAhead::new(&new.already),
            output,
            header_digest: new.params.header_digest,
            data_digest: new.params.data_digest,
            digest: RunningDigest::default(),
            readable: true,
            ended: false,
            writable: true,
            again: false,
            closing: false,
            end: Some(DropReason::Closed),
            alarm_in: false,
            alarm_out: false,
            stat_sn: new.params.stat_sn,
            exp_stat_sn: new.params.stat_sn,
            pace: ResponsePace::new(now),
            fresh: 0,
            copied: None,
            allowed_in: Allowance::default(),
            allowed_out: Allowance::default(),
            watch: ConnectionAge {
                quiet_in: now,
                quiet_out: now,
                slow: now,
                ..ConnectionAge::default()
            },
        }
    }

    /// Its name on its thread.
    pub fn key(&self, session: u32) -> ConnectionKey {
        ConnectionKey { session, conn: self.conn.index() as u8, serial: self.serial }
    }
}
