//! Files and block devices: opened descriptors, and the choice of the cheapest queue for a device at the requested depth.

use crate::aio::AioQueue;
use crate::pread::PreadQueue;
use crate::uring::UringQueue;
use crate::{Arena, OpenError, Opener, Queue};
use engine::QueueKind;
use guard::WriteGrant;
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::io::{Errno, ReadWriteFlags, preadv2};
use std::io::IoSliceMut;

/// Enough for the logical block of any device.
const PAGE: usize = 4096;

/// One target of a file queue. What writes is a grant; there is no other way to a descriptor that can.
#[derive(Debug)]
pub enum FileAccess {
    /// A descriptor that can only read.
    Read(OwnedFd),
    /// A descriptor that the guard has checked for writing.
    Write(WriteGrant),
}

/// Opens queues over files and block devices.
#[derive(Debug)]
pub struct FileOpener {
    targets: Vec<FileAccess>,
    kind: QueueKind,
    polled: bool,
}

impl FileOpener {
    /// A queue over these targets, in the order that I/Os number them. `polled` completions are looked for instead of
    /// waited for, which only io_uring can do.
    pub fn new(targets: Vec<FileAccess>, kind: QueueKind, polled: bool) -> FileOpener {
        FileOpener { targets, kind, polled }
    }
}

impl Opener for FileOpener {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        let FileOpener { targets, kind, polled } = *self;
        let wanted = |name: &str, (_, problem): RefusedTargets| OpenError {
            target: name.to_owned(),
            problem,
        };
        match kind {
            QueueKind::Pread => Ok(Box::new(PreadQueue::new(arena, targets, None))),
            QueueKind::Uring => uring(arena, targets, polled).map_err(|e| wanted("io_uring", e)),
            QueueKind::Aio => aio(arena, targets, "Linux AIO").map_err(|e| wanted("Linux AIO", e)),
            QueueKind::Auto if polled => {
                uring(arena, targets, true).map_err(|e| wanted("io_uring", e))
            }
            QueueKind::Auto => Ok(best(arena, targets)),
        }
    }
}

/// Targets for which there was no queue of a kind, and the reason.
type RefusedTargets = (Vec<FileAccess>, String);

/// The fastest queue that carries these targets at their full depth; one at a time where there is none.
fn best(arena: &Arena, targets: Vec<FileAccess>) -> Box<dyn Queue> {
    let direct = targets.iter().all(is_direct_device);
    let targets = if direct && !targets.iter().all(|target| never_waits(target, arena)) {
        match aio(arena, targets, "Linux AIO: the device has no NOWAIT, which io_uring needs") {
            Ok(queue) => return queue,
            Err((targets, _)) => targets,
        }
    } else {
        targets
    };
    let (targets, why) = match uring(arena, targets, false) {
        Ok(queue) => return queue,
        Err(refused) => refused,
    };
    let targets = if direct {
        match aio(arena, targets, "Linux AIO: io_uring cannot be used here") {
            Ok(queue) => return queue,
            Err((targets, _)) => targets,
        }
    } else {
        targets
    };
    Box::new(PreadQueue::new(arena, targets, Some(why)))
}

fn uring(
    arena: &Arena,
    targets: Vec<FileAccess>,
    polled: bool,
) -> Result<Box<dyn Queue>, RefusedTargets> {
    UringQueue::open(arena, targets, polled).map(|queue| Box::new(queue) as Box<dyn Queue>)
}

fn aio(
    arena: &Arena,
    targets: Vec<FileAccess>,
    how: &'static str,
) -> Result<Box<dyn Queue>, RefusedTargets> {
    AioQueue::open(arena, targets, how).map(|queue| Box::new(queue) as Box<dyn Queue>)
}

/// Whether a target is a block device that is opened past the page cache: there Linux AIO never does an I/O itself.
fn is_direct_device(target: &FileAccess) -> bool {
    let fd = target.as_fd();
    let block_device =
        fstat(fd).is_ok_and(|s| FileType::from_raw_mode(s.st_mode).is_block_device());
    block_device && fcntl_getfl(fd).is_ok_and(|flags| flags.contains(OFlags::DIRECT))
}

/// Whether a device can promise not to wait when an I/O is submitted. Where it cannot, io_uring hands every I/O to a
/// thread of the kernel. Asked by one read before the start, since nothing else tells.
fn never_waits(target: &FileAccess, arena: &Arena) -> bool {
    let Some(base) = arena.slot(0) else { return true };
    // SAFETY: the slot is mapped and at least a page long, and no I/O is under way before the start.
    let page = unsafe { std::slice::from_raw_parts_mut(base, arena.slot_bytes().min(PAGE)) };
    let asked = preadv2(target.as_fd(), &mut [IoSliceMut::new(page)], 0, ReadWriteFlags::NOWAIT);
    asked != Err(Errno::OPNOTSUPP)
}

impl AsFd for FileAccess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            FileAccess::Read(fd) => fd.as_fd(),
            FileAccess::Write(grant) => grant.as_fd(),
        }
    }
}
