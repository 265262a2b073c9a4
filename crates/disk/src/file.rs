//! The way to files and block devices: opened descriptors, and the queue that carries I/O to them, which is io_uring
//! wherever it may be used.

use crate::pread::PreadQueue;
use crate::uring::UringQueue;
use crate::{Arena, OpenError, Opener, Queue, WriteGrant};
use engine::QueueKind;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

/// One target of a file queue. What writes is a grant; there is no other way to a descriptor that can.
#[derive(Debug)]
pub enum Access {
    /// A descriptor that can only read.
    Read(OwnedFd),
    /// A descriptor that the guard has checked for writing.
    Write(WriteGrant),
}

/// Opens queues over files and block devices.
#[derive(Debug)]
pub struct FileOpener {
    targets: Vec<Access>,
    kind: QueueKind,
    polled: bool,
}

impl FileOpener {
    /// A queue over these targets, in the order that I/Os number them. `polled` completions are looked for instead of
    /// waited for, which only io_uring can do.
    pub fn new(targets: Vec<Access>, kind: QueueKind, polled: bool) -> FileOpener {
        FileOpener { targets, kind, polled }
    }
}

impl Opener for FileOpener {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        let FileOpener { targets, kind, polled } = *self;
        if kind == QueueKind::Pread {
            return Ok(Box::new(PreadQueue::new(arena, targets, None)));
        }
        match UringQueue::open(arena, targets, polled) {
            Ok(queue) => Ok(Box::new(queue)),
            Err((targets, why)) if kind == QueueKind::Auto && !polled => {
                Ok(Box::new(PreadQueue::new(arena, targets, Some(why))))
            }
            Err((_, why)) => Err(OpenError { target: "io_uring".to_owned(), problem: why }),
        }
    }
}

impl AsFd for Access {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Access::Read(fd) => fd.as_fd(),
            Access::Write(grant) => grant.as_fd(),
        }
    }
}
