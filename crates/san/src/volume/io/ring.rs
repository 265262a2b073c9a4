//! One thread's io_uring (io_uring_setup(2), io_uring_enter(2)): many operations a system call, in any order.

use super::hub::StoreOp;
use crate::volume::store::zeroing;
use io_uring::{IoUring, opcode, squeue, types};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::collections::VecDeque;
use std::io;

/// Operations submitted at once.
const ENTRIES: u32 = 256;

/// Operations at work at most; the others wait here. Never more than the kernel's queue of completions holds.
const AT_WORK: u32 = 2 * ENTRIES;

/// io_uring_enter(2): run what the kernel has put off for this thread.
const GET_EVENTS: u32 = 1;

pub(super) struct Ring {
    ring: IoUring,
    /// Readable when operations may be over. The ring's own descriptor does not wake all pollers in this mode.
    event: OwnedFd,
    backlog: VecDeque<squeue::Entry>,
    at_work: u32,
}

impl Ring {
    /// A ring of the calling thread. Kernels before 6.1 do not leave completions to the thread and use their own way.
    pub fn new() -> io::Result<Ring> {
        let mut builder = IoUring::builder();
        builder.dontfork().setup_cqsize(AT_WORK);
        let plain = builder.clone();
        let ring = builder
            .setup_single_issuer()
            .setup_defer_taskrun()
            .build(ENTRIES)
            .or_else(|_| plain.build(ENTRIES))?;
        let mut probe = io_uring::Probe::new();
        ring.submitter().register_probe(&mut probe)?;
        let needed =
            [opcode::Read::CODE, opcode::Write::CODE, opcode::Fsync::CODE, opcode::Fallocate::CODE];
        if !needed.iter().all(|code| probe.is_supported(*code)) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
        ring.submitter().register_eventfd(event.as_raw_fd())?;
        Ok(Ring { ring, event, backlog: VecDeque::new(), at_work: 0 })
    }

    /// Queues an operation; [`Ring::submit`] submits it.
    pub fn push(&mut self, id: u32, fd: RawFd, op: StoreOp) {
        self.backlog.push_back(entry(fd, op).user_data(u64::from(id)));
    }

    /// Tells the kernel of all operations that it has room for, in one system call; none where there is nothing to tell.
    pub fn submit(&mut self) {
        while !self.backlog.is_empty() && self.at_work < AT_WORK {
            let mut queue = self.ring.submission();
            while self.at_work < AT_WORK
                && let Some(entry) = self.backlog.pop_front()
            {
                // SAFETY: its buffer belongs to a task that is not dropped before the operation is over (`Io::drop` waits),
                // and its descriptor to a volume that the task holds.
                if unsafe { queue.push(&entry) }.is_err() {
                    self.backlog.push_front(entry);
                    break;
                }
                self.at_work += 1;
            }
            drop(queue);
            if !self.enter(0) {
                break;
            }
        }
        if !self.ring.submission().is_empty() {
            self.enter(0);
        }
    }

    /// Reports completions. `wait`: waits for one, if any operation is running.
    pub fn reap(&mut self, wait: bool, mut tell: impl FnMut(u32, i32)) {
        // Read before the kernel is asked, so that what comes later makes it readable again; and where nothing is at work too,
        // for what was over within the last call has made it readable after that was read.
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
        if self.at_work == 0 {
            return;
        }
        self.enter(u32::from(wait));
        for done in self.ring.completion() {
            self.at_work -= 1;
            tell(done.user_data() as u32, done.result());
        }
    }

    /// How many operations are not over.
    pub fn open(&self) -> usize {
        self.at_work as usize + self.backlog.len()
    }

    /// Whether operations are queued and not submitted.
    pub fn is_behind(&mut self) -> bool {
        !self.backlog.is_empty() || !self.ring.submission().is_empty()
    }

    /// The system call. What the kernel does not take now (EAGAIN, EBUSY, EINTR) stays in the queue for the next one.
    fn enter(&mut self, want: u32) -> bool {
        let submit = self.ring.submission().len() as u32;
        // SAFETY: no argument beside the numbers; the entries' memory is good as said in `submit`.
        let told = unsafe {
            self.ring.submitter().enter::<libc::sigset_t>(submit, want, GET_EVENTS, None)
        };
        told.is_ok()
    }
}

impl AsFd for Ring {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }
}

fn entry(fd: RawFd, op: StoreOp) -> squeue::Entry {
    let fd = types::Fd(fd);
    match op {
        StoreOp::Read { at, to, len } => opcode::Read::new(fd, to, len as u32).offset(at).build(),
        StoreOp::Write { at, from, len, durable } => opcode::Write::new(fd, from, len as u32)
            .offset(at)
            .rw_flags(if durable { libc::RWF_DSYNC } else { 0 })
            .build(),
        StoreOp::Sync => opcode::Fsync::new(fd).flags(types::FsyncFlags::DATASYNC).build(),
        StoreOp::Zero { at, len, release } => {
            opcode::Fallocate::new(fd, len).offset(at).mode(zeroing(release)).build()
        }
    }
}
