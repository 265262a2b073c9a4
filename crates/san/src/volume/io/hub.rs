//! What the commands of one thread share: memory, the ring, helpers, and the wait queues. Everything a command can wait for is
//! a function here; waiting never blocks the thread.

use super::IoConfig;
use super::helpers::Helpers;
use super::ring::Ring;
use super::slab::Slab;
use super::timer::Timer;
use crate::volume::buffer::{Buffer, BufferPool, LARGEST};
use crate::volume::gate::EntryMode;
use crate::volume::inbox::{Messages, VolumeInbox, Wake};
use crate::volume::slots::ThreadSlot;
use crate::volume::store::{Store, raw};
use crate::volume::syncing::{Lead, SyncTurn};
use crate::volume::{Handle, Volume};
use clock::Ns;
use rustix::event::epoll;
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::task::Poll;

/// Bytes of memory that a command copies, compares or fills before others have their turn.
const SLICE: usize = 1 << 20;

/// Bytes of the buffers that commands work in which move nothing between initiator and medium as it is.
pub(super) const CHUNK: usize = 256 << 10;

/// One thing for a store. Addresses are good until it is over.
#[derive(Clone, Copy, Debug)]
pub(super) enum StoreOp {
    Read { at: u64, to: *mut u8, len: usize },
    Write { at: u64, from: *const u8, len: usize, durable: bool },
    Sync,
    Zero { at: u64, len: u64, release: bool },
}

/// An operation at work.
struct PendingOp {
    task: u32,
    result: Option<i32>,
}

/// Memory that is waited for in order.
struct SharedPool {
    pool: BufferPool,
    queue: RefCell<VecDeque<u32>>,
    /// The pool's count of returned buffers at the last check.
    seen: Cell<u64>,
}

pub(super) struct Hub {
    payload: SharedPool,
    /// What commands work in.
    scratch: SharedPool,
    ring: RefCell<Option<Ring>>,
    helpers: RefCell<Option<Helpers>>,
    timer: RefCell<Timer>,
    mail: Arc<VolumeInbox>,
    poll: OwnedFd,
    /// The least time that SANITIZE takes.
    pub sanitize: Ns,
    pub place: ThreadSlot,
    pub volumes: Vec<([u8; 16], Handle)>,
    ops: RefCell<Slab<PendingOp>>,
    ready: RefCell<VecDeque<u32>>,
    current: Cell<u32>,
    budget: Cell<usize>,
    abandoned: Cell<bool>,
}

impl Hub {
    pub fn new(config: IoConfig) -> io::Result<Hub> {
        let ring = if config.ring { Ring::new().ok() } else { None };
        let mail = Arc::new(VolumeInbox::new()?);
        let poll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
        let readable = epoll::EventFlags::IN;
        epoll::add(&poll, &*mail, epoll::EventData::new_u64(0), readable)?;
        if let Some(ring) = &ring {
            epoll::add(&poll, ring, epoll::EventData::new_u64(1), readable)?;
        }
        let timer = Timer::new()?;
        epoll::add(&poll, &timer, epoll::EventData::new_u64(2), readable)?;
        let own = |(name, volume)| (name, Handle::new(volume));
        Ok(Hub {
            payload: SharedPool::new(config.memory)?,
            scratch: SharedPool::new(LARGEST)?,
            ring: RefCell::new(ring),
            helpers: RefCell::new(None),
            timer: RefCell::new(timer),
            mail,
            poll,
            sanitize: config.sanitize,
            place: ThreadSlot::take(),
            volumes: config.volumes.into_iter().map(own).collect(),
            ops: RefCell::new(Slab::new()),
            ready: RefCell::default(),
            current: Cell::new(0),
            budget: Cell::new(0),
            abandoned: Cell::new(false),
        })
    }

    pub fn poll_fd(&self) -> &OwnedFd {
        &self.poll
    }

    /// What carries operations, in words.
    pub fn how(&self) -> &'static str {
        if self.ring.borrow().is_some() { "io_uring" } else { "helper threads" }
    }

    /// A buffer at once, unless others wait for one.
    pub fn buffer_now(&self, len: usize) -> Option<Buffer> {
        if self.payload.queue.borrow().is_empty() { self.payload.pool.take(len) } else { None }
    }

    /// A buffer of at most [`LARGEST`] bytes for payload.
    pub async fn buffer(&self, len: usize) -> Buffer {
        self.wait(&self.payload, len).await
    }

    /// A buffer of [`CHUNK`] bytes to work in. To be taken before a gate is entered: who is inside waits for no memory, or
    /// those who have it could wait for the gate.
    pub async fn scratch(&self) -> Buffer {
        self.wait(&self.scratch, CHUNK).await
    }

    async fn wait(&self, payload: &SharedPool, len: usize) -> Buffer {
        let mut queued = false;
        poll_fn(|_| {
            let mut queue = payload.queue.borrow_mut();
            let turn =
                if queued { queue.front() == Some(&self.current.get()) } else { queue.is_empty() };
            match turn.then(|| payload.pool.take(len)).flatten() {
                Some(buffer) => {
                    if queued {
                        queue.pop_front();
                        self.ready.borrow_mut().extend(queue.front());
                    }
                    Poll::Ready(buffer)
                }
                None => {
                    if !queued {
                        queue.push_back(self.current.get());
                        queued = true;
                    }
                    Poll::Pending
                }
            }
        })
        .await
    }

    /// Lets others have their turn once a slice of memory has been worked on.
    pub async fn spend(&self, bytes: usize) {
        self.budget.set(self.budget.get().saturating_sub(bytes));
        if self.budget.get() == 0 {
            let mut yielded = false;
            poll_fn(|_| {
                if yielded {
                    return Poll::Ready(());
                }
                yielded = true;
                self.ready.borrow_mut().push_back(self.current.get());
                Poll::Pending
            })
            .await;
        }
    }

    /// Waits for a moment; not at all for one that is past.
    pub async fn until(&self, moment: Ns) {
        let mut waits = false;
        poll_fn(|_| {
            if clock::now() >= moment {
                return Poll::Ready(());
            }
            if !std::mem::replace(&mut waits, true) {
                self.timer.borrow_mut().add(moment, self.current.get());
            }
            Poll::Pending
        })
        .await;
    }

    /// Whether the command was cancelled.
    pub fn is_abandoned(&self) -> bool {
        self.abandoned.get()
    }

    /// Goes through the gate of a volume: with other writers, or alone.
    pub async fn enter<'a>(
        &'a self,
        volume: &'a Volume,
        bytes: Range<u64>,
        alone: bool,
    ) -> Pass<'a> {
        let way = if !alone && volume.gate.try_enter(&volume.slots, &self.place) {
            EntryMode::Open
        } else {
            let wake = Wake { mail: Arc::clone(&self.mail), task: self.current.get() };
            volume.gate.enlist(&volume.slots, bytes, alone, wake)
        };
        let pass = Pass { hub: self, volume, way };
        if let EntryMode::Listed(key) = way {
            poll_fn(|_| match volume.gate.is_inside(key) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
        pass
    }

    /// Waits for leave to sync a volume; `None` where another has done it meanwhile.
    pub async fn lead<'a>(&self, volume: &'a Volume) -> Option<Lead<'a>> {
        let ticket = volume.syncing.ticket();
        let wake = || Wake { mail: Arc::clone(&self.mail), task: self.current.get() };
        poll_fn(|_| match volume.syncing.turn(ticket, wake) {
            SyncTurn::Over => Poll::Ready(None),
            SyncTurn::Lead(lead) => Poll::Ready(Some(lead)),
            SyncTurn::Wait => Poll::Pending,
        })
        .await
    }

    /// Has a store do one thing: bytes, or the error. What is short stays short.
    pub async fn perform(&self, store: &Arc<dyn Store>, op: StoreOp) -> Result<usize, Errno> {
        let waiting = PendingOp { task: self.current.get(), result: None };
        let id = self.ops.borrow_mut().insert(waiting);
        if let Err(e) = self.order(id, store, op) {
            self.ops.borrow_mut().remove(id);
            return Err(e);
        }
        let result = poll_fn(|_| {
            let mut ops = self.ops.borrow_mut();
            match ops.get_mut(id).and_then(|op| op.result) {
                Some(result) => {
                    ops.remove(id);
                    Poll::Ready(result)
                }
                None => Poll::Pending,
            }
        })
        .await;
        usize::try_from(result).map_err(|_| Errno::from_raw_os_error(result.saturating_neg()))
    }

    /// Where other threads post their results.
    pub fn mail(&self) -> Arc<VolumeInbox> {
        Arc::clone(&self.mail)
    }

    /// Waits for another thread, which posts the number of the operation to the inbox when it is over.
    pub async fn elsewhere(&self, begin: impl FnOnce(u32)) {
        let waiting = PendingOp { task: self.current.get(), result: None };
        let id = self.ops.borrow_mut().insert(waiting);
        begin(id);
        poll_fn(|_| {
            let mut ops = self.ops.borrow_mut();
            match ops.get_mut(id).and_then(|op| op.result) {
                Some(_) => {
                    ops.remove(id);
                    Poll::Ready(())
                }
                None => Poll::Pending,
            }
        })
        .await;
    }

    fn order(&self, id: u32, store: &Arc<dyn Store>, op: StoreOp) -> Result<(), Errno> {
        if let (Some(ring), Some(fd)) = (&mut *self.ring.borrow_mut(), raw(&**store)) {
            ring.push(id, fd, op);
            return Ok(());
        }
        let mut helpers = self.helpers.borrow_mut();
        if helpers.is_none() {
            *helpers = Some(Helpers::start(&self.mail).map_err(|_| Errno::AGAIN)?);
        }
        if let Some(helpers) = &*helpers {
            helpers.push(id, Arc::clone(store), op);
        }
        Ok(())
    }

    /// Prepares the turn of a task.
    pub fn turn(&self, task: u32, abandoned: bool) {
        self.current.set(task);
        self.abandoned.set(abandoned);
        self.budget.set(SLICE);
    }

    /// Tells the kernel what there is to do, and calls on who can have memory now.
    pub fn submit(&self) {
        for payload in [&self.payload, &self.scratch] {
            let returned = payload.pool.returned();
            if payload.seen.replace(returned) != returned {
                self.ready.borrow_mut().extend(payload.queue.borrow().front());
            }
        }
        if let Some(ring) = &mut *self.ring.borrow_mut()
            && ring.is_behind()
        {
            ring.submit();
        }
        if !self.ready.borrow().is_empty() {
            self.mail.ring();
        }
    }

    /// Hears what is over; `wait` waits for something in the ring.
    pub fn hear(&self, messages: &mut Messages, wait: bool) {
        self.mail.collect(messages);
        for (id, result) in messages.results.drain(..) {
            self.over(id, result);
        }
        self.ready.borrow_mut().extend(messages.tasks.drain(..));
        self.timer.borrow_mut().due(&mut *self.ready.borrow_mut());
        if let Some(ring) = &mut *self.ring.borrow_mut() {
            ring.reap(wait, |id, result| self.over(id, result));
        }
    }

    fn over(&self, id: u32, result: i32) {
        if let Some(op) = self.ops.borrow_mut().get_mut(id) {
            op.result = Some(result);
            self.ready.borrow_mut().push_back(op.task);
        }
    }

    /// The tasks that can go on now, taken out.
    pub fn take_ready(&self, out: &mut VecDeque<u32>) {
        std::mem::swap(&mut *self.ready.borrow_mut(), out);
    }

    /// Waits until no operation is running: from then on only the tasks touch their memory.
    pub fn drain(&self) {
        let mut messages = Messages::default();
        let open = || {
            let mut ops = self.ops.borrow_mut();
            ops.iter_mut().filter(|op| op.result.is_none()).count()
        };
        while open() > 0 {
            self.submit();
            let in_ring = self.ring.borrow().as_ref().map_or(0, Ring::open);
            if in_ring < open() {
                // Some are with helpers: whichever comes first makes the descriptor readable.
                let mut fds =
                    [rustix::event::PollFd::new(&self.poll, rustix::event::PollFlags::IN)];
                let _ = rustix::event::poll(&mut fds, None);
            }
            self.hear(&mut messages, in_ring > 0 && in_ring == open());
        }
    }
}

impl SharedPool {
    fn new(bytes: usize) -> io::Result<SharedPool> {
        let pool = BufferPool::new(bytes)?;
        Ok(SharedPool { pool, queue: RefCell::default(), seen: Cell::new(0) })
    }
}

/// Permission to write a range, released on drop.
pub(super) struct Pass<'a> {
    hub: &'a Hub,
    volume: &'a Volume,
    way: EntryMode,
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.volume.gate.leave(&self.volume.slots, &self.hub.place, self.way);
    }
}
