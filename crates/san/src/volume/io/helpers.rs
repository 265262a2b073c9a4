//! Fallback without a ring (an old kernel, a policy, or a store that is not a file): a few threads of the executor that
//! call the store and post the result to the inbox.

use super::hub::StoreOp;
use crate::volume::inbox::VolumeInbox;
use crate::volume::store::Store;
use rustix::io::Errno;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;

/// Operations at work at once.
const THREADS: usize = 4;

pub(super) struct Helpers {
    desk: Arc<Desk>,
    threads: Vec<JoinHandle<()>>,
}

struct Desk {
    orders: Mutex<Orders>,
    come: Condvar,
    mail: Arc<VolumeInbox>,
}

#[derive(Default)]
struct Orders {
    open: VecDeque<HelperOrder>,
    closed: bool,
}

struct HelperOrder {
    id: u32,
    store: Arc<dyn Store>,
    op: StoreOp,
}

// SAFETY: the addresses in an operation are of buffers that belong to a task of the executor; it does not touch them, and
// is not dropped, before the answer is in its inbox.
unsafe impl Send for HelperOrder {}

impl Helpers {
    pub fn start(mail: &Arc<VolumeInbox>) -> io::Result<Helpers> {
        let desk = Arc::new(Desk {
            orders: Mutex::default(),
            come: Condvar::new(),
            mail: Arc::clone(mail),
        });
        let mut helpers = Helpers { desk, threads: Vec::new() };
        for _ in 0..THREADS {
            let desk = Arc::clone(&helpers.desk);
            let thread = std::thread::Builder::new().name("volume-io".to_owned());
            helpers.threads.push(thread.spawn(move || desk.serve())?);
        }
        Ok(helpers)
    }

    pub fn push(&self, id: u32, store: Arc<dyn Store>, op: StoreOp) {
        let mut orders = self.desk.orders.lock().unwrap_or_else(PoisonError::into_inner);
        orders.open.push_back(HelperOrder { id, store, op });
        drop(orders);
        self.desk.come.notify_one();
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        self.desk.orders.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.desk.come.notify_all();
        for thread in self.threads.drain(..) {
            // A panicked helper has no result.
            let _ = thread.join();
        }
    }
}

impl Desk {
    fn serve(&self) {
        while let Some(order) = self.next() {
            let result = call(&*order.store, order.op);
            // The store goes before the answer: who is answered may be the last to need it.
            let id = order.id;
            drop(order);
            self.mail.post(|messages| messages.results.push((id, result)));
        }
    }

    fn next(&self) -> Option<HelperOrder> {
        let mut orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(order) = orders.open.pop_front() {
                return Some(order);
            }
            if orders.closed {
                return None;
            }
            orders = self.come.wait(orders).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Bytes, or minus the error's number, as io_uring answers.
fn call(store: &dyn Store, op: StoreOp) -> i32 {
    let result = match op {
        StoreOp::Read { at, to, len } => {
            // SAFETY: `len` bytes of a buffer that is not touched until this is over (see `HelperOrder`).
            store.read(at, unsafe { std::slice::from_raw_parts_mut(to, len) })
        }
        StoreOp::Write { at, from, len, durable } => {
            // SAFETY: as above, and only read.
            store.write(at, unsafe { std::slice::from_raw_parts(from, len) }, durable)
        }
        StoreOp::Sync => store.sync().map(|()| 0),
        StoreOp::Zero { at, len, release } => store.zero(at, len, release).map(|()| 0),
    };
    result.map_or_else(|e| -errno(&e).raw_os_error(), |n| n.min(i32::MAX as usize) as i32)
}

fn errno(e: &io::Error) -> Errno {
    match (Errno::from_io_error(e), e.kind()) {
        (Some(errno), _) => errno,
        (None, io::ErrorKind::Unsupported) => Errno::OPNOTSUPP,
        (None, io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded) => Errno::NOSPC,
        (None, io::ErrorKind::ReadOnlyFilesystem) => Errno::ROFS,
        (None, io::ErrorKind::Interrupted) => Errno::INTR,
        (None, _) => Errno::IO,
    }
}
