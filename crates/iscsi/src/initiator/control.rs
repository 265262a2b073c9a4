//! PDUs of a session besides commands: pings, text, task management, logout.

use super::{Conn, Refused};
use crate::pdu::{Bhs, TaskFunction};

/// Most outstanding requests: some pings over all connections.
const REQUESTS: usize = 8 * Conn::MOST;

/// The bit that distinguishes the tags of requests from those of commands.
const MARK: u32 = 0x8000_0000;

/// The type of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ControlRequest {
    Ping,
    /// A text request, with the answer received so far.
    Text(Vec<u8>),
    Logout,
    /// The function, and the tag of the task or the unit that it concerns.
    Manage {
        function: TaskFunction,
        lun: crate::pdu::Lun,
        referenced: u32,
    },
}

/// A PDU that is queued for sending, with its data segment.
#[derive(Clone, Debug)]
pub(super) struct QueuedPdu {
    pub header: Bhs,
    pub data: Option<Box<[u8]>>,
}

/// Outstanding requests by tag.
#[derive(Clone, Debug, Default)]
pub(super) struct ControlRequests {
    open: Vec<(u32, Conn, ControlRequest)>,
    last: u32,
}

impl ControlRequests {
    /// Assigns a tag to a request on a connection.
    pub fn add(&mut self, conn: Conn, request: ControlRequest) -> Result<u32, Refused> {
        if self.open.len() >= REQUESTS {
            return Err(Refused::Requests);
        }
        // 0xffffffff is reserved, and no tag in use is assigned twice: there are far fewer requests than numbers.
        self.last = (self.last + 1) % (MARK - 1);
        let tag = MARK | self.last;
        self.open.push((tag, conn, request));
        Ok(tag)
    }

    /// An outstanding request on a connection.
    pub fn get(&mut self, conn: Conn, tag: u32) -> Option<&mut ControlRequest> {
        let mut open = self.open.iter_mut();
        open.find(|(open, on, _)| (*open, *on) == (tag, conn)).map(|(_, _, request)| request)
    }

    /// Ends a request on a connection.
    pub fn take(&mut self, conn: Conn, tag: u32) -> Option<ControlRequest> {
        let at = self.open.iter().position(|(open, on, _)| (*open, *on) == (tag, conn))?;
        Some(self.open.swap_remove(at).2)
    }
}
