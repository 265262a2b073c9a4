//! A thread's executor of commands on volumes: [`VolumeJob`]s in, [`FinishedCommand`]s out.
//!
//! It never blocks. What cannot be done at once waits in io_uring, with a helper thread where there is no ring, at the gate
//! of a volume, or for memory; long work in memory is sliced. The descriptor is readable when [`VolumeExecutor::reap`]
//! has work.

mod commands;
mod helpers;
mod hub;
mod ring;
mod slab;
mod timer;

use super::inbox::Messages;
use super::{Buffer, Data, Handle, Volume};
use clock::Ns;
use hub::Hub;
use iscsi::scsi::{Ending, Medium};
use rustix::fd::{AsFd, BorrowedFd};
use slab::Slab;
use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// One command for a volume.
#[derive(Debug)]
pub struct VolumeJob {
    /// Handed back with the answer.
    pub token: u64,
    /// Where.
    pub volume: Handle,
    /// What.
    pub medium: Medium,
    /// What the initiator sent for it. Where it sent less than the command wants, the whole blocks of it are used.
    pub data: Data,
}

/// A command that is over.
#[derive(Debug)]
pub struct FinishedCommand {
    /// The job's.
    pub token: u64,
    /// How it ended.
    pub ending: Ending,
    /// What goes to the initiator; for what came from it, the memory given back.
    pub data: Data,
}

/// How a thread's executor is set up.
#[derive(Clone, Debug)]
pub struct IoConfig {
    /// Bytes of buffers, at most.
    pub memory: usize,
    /// The volumes that commands name by designator (EXTENDED COPY).
    pub volumes: Vec<([u8; 16], Arc<Volume>)>,
    /// The least time that SANITIZE takes: initiators poll every few seconds, and some fail if they never see it.
    pub sanitize: Ns,
    /// Use io_uring where the kernel lets us.
    pub ring: bool,
}

/// Eight seconds.
const SANITIZE: Ns = Ns(8_000_000_000);

impl Default for IoConfig {
    fn default() -> IoConfig {
        IoConfig { memory: 64 << 20, volumes: Vec::new(), sanitize: SANITIZE, ring: true }
    }
}

/// The executor of the thread that made it.
pub struct VolumeExecutor {
    hub: Rc<Hub>,
    tasks: Slab<VolumeTask>,
    ready: VecDeque<u32>,
    messages: Messages,
}

/// A command that is not over.
struct VolumeTask {
    token: u64,
    abandoned: bool,
    /// Taken out while it is polled.
    future: Option<Pin<Box<dyn Future<Output = FinishedCommand>>>>,
}

impl VolumeExecutor {
    /// An executor for the calling thread.
    /// # Errors
    /// Memory or descriptors are short.
    pub fn new(config: IoConfig) -> io::Result<VolumeExecutor> {
        let hub = Rc::new(Hub::new(config)?);
        let (tasks, ready, messages) = (Slab::new(), VecDeque::new(), Messages::default());
        Ok(VolumeExecutor { hub, tasks, ready, messages })
    }

    /// What carries its operations: `io_uring`, or `helper threads` where the kernel or a policy has none for us.
    pub fn how(&self) -> &'static str {
        self.hub.how()
    }

    /// Memory for what an initiator sends, at most [`super::MAX_TRANSFER`] bytes; it still holds bytes of earlier
    /// commands. `None`: the bound is reached, or commands in progress wait for memory already. The caller then ends
    /// the command in BUSY or TASK SET FULL, or does not read on; the latter only where the connection itself owes no
    /// data to a buffer, which would never come free.
    pub fn buffer(&self, len: usize) -> Option<Buffer> {
        self.hub.buffer_now(len)
    }

    /// Begins a command. `Some`: it is over. Otherwise [`VolumeExecutor::reap`] reports it after
    /// [`VolumeExecutor::submit`].
    pub fn start(&mut self, job: VolumeJob) -> Option<FinishedCommand> {
        let job = match commands::at_once(&self.hub, job) {
            Ok(done) => return Some(done),
            Err(job) => job,
        };
        let token = job.token;
        let future = Box::pin(commands::run(Rc::clone(&self.hub), job));
        let task = self.tasks.insert(VolumeTask { token, abandoned: false, future: Some(future) });
        self.turn(task)
    }

    /// Abandons a command. Long ones end early; [`VolumeExecutor::reap`] still reports all, because until then the
    /// kernel may use their memory.
    pub fn abandon(&mut self, token: u64) {
        for task in self.tasks.iter_mut().filter(|task| task.token == token) {
            task.abandoned = true;
        }
    }

    /// Commands that are not over.
    pub fn open(&self) -> usize {
        self.tasks.len()
    }

    /// Readable when [`VolumeExecutor::reap`] has something to do.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.hub.poll_fd().as_fd()
    }

    /// Tells the kernel what there is to do, in one system call, and none where there is nothing. To be called once a loop,
    /// after commands were begun and buffers given back, before the thread waits.
    pub fn submit(&mut self) {
        self.hub.submit();
    }

    /// Resumes ready commands, each at most once, and reports completions. Never waits.
    pub fn reap(&mut self, done: &mut Vec<FinishedCommand>) {
        self.hub.hear(&mut self.messages, false);
        let mut ready = std::mem::take(&mut self.ready);
        self.hub.take_ready(&mut ready);
        for task in ready.drain(..) {
            done.extend(self.turn(task));
        }
        self.ready = ready;
        self.hub.submit();
    }

    fn turn(&mut self, id: u32) -> Option<FinishedCommand> {
        // A call may come late, for a task that is over, or for another one in its place, which then finds nothing.
        let task = self.tasks.get_mut(id)?;
        let mut future = task.future.take()?;
        self.hub.turn(id, task.abandoned);
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => {
                self.tasks.remove(id);
                Some(done)
            }
            Poll::Pending => {
                self.tasks.get_mut(id)?.future = Some(future);
                None
            }
        }
    }
}

impl Drop for VolumeExecutor {
    fn drop(&mut self) {
        // The kernel and the helpers work on the memory of tasks until they say that they do not.
        self.hub.drain();
    }
}

impl std::fmt::Debug for VolumeExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Io").field("open", &self.open()).finish_non_exhaustive()
    }
}
