//! Persistent reservations that survive a restart of the target (APTPL; SPC-4, 5.13.5).
//!
//! One file a logical unit, named by the unit's designator, so that it follows the volume and not its number. The new file is
//! written, synced and renamed, and the directory synced, before the command is answered. It runs on a thread of its own,
//! because a sync may take long and workers do not wait.

use super::error::StartError;
use super::event::{ServerEvent, ServerListener};
use super::mailbox::Address;
use super::messages::ToWorker;
use iscsi::scsi::{Device, LogicalUnit};
use iscsi::target::TaskId;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// More than all registrations of a unit take.
const LARGEST: u64 = 1 << 20;

/// Where reservations are kept.
pub(super) struct ReservationStore {
    /// `None`: it takes no more orders.
    orders: Mutex<Option<Sender<SaveOrder>>>,
}

/// A unit whose state is to be kept, and who waits for it.
pub(super) struct SaveOrder {
    unit: usize,
    worker: usize,
    session: u32,
    task: TaskId,
}

impl ReservationStore {
    /// A store, and the orders for its thread.
    pub fn new() -> (ReservationStore, Receiver<SaveOrder>) {
        let (orders, taken) = channel();
        (ReservationStore { orders: Mutex::new(Some(orders)) }, taken)
    }

    /// Has the state of a unit kept. The worker gets a message when it is.
    pub fn keep(&self, unit: usize, worker: usize, session: u32, task: TaskId) {
        let orders = self.orders.lock().unwrap_or_else(PoisonError::into_inner);
        // The thread outlives all workers, so the order is received.
        if let Some(orders) = &*orders {
            let _ = orders.send(SaveOrder { unit, worker, session, task });
        }
    }

    /// Takes no more orders; its thread ends when it has carried out those that it has.
    pub fn close(&self) {
        *self.orders.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Carries out orders until all senders are gone.
pub(super) fn run(
    directory: &Path,
    device: &Device,
    orders: &Receiver<SaveOrder>,
    workers: &[Address<ToWorker>],
    listener: &ServerListener,
) {
    while let Ok(order) = orders.recv() {
        let Some(unit) = device.units().get(order.unit) else { continue };
        let path = place(directory, unit);
        let kept = write(&path, &unit.stored_reservations());
        if let Err(error) = &kept {
            listener.notify(ServerEvent::NotKept(format!("{}: {error}", path.display())));
        }
        if let Some(worker) = workers.get(order.worker) {
            let (session, task) = (order.session, order.task);
            worker.send(ToWorker::Kept { session, task, well: kept.is_ok() });
        }
    }
}

/// Reads what was kept of all units.
/// # Errors
/// There is a file that cannot be read, or is none of ours.
pub(super) fn restore(directory: &Path, device: &Device) -> Result<(), StartError> {
    for unit in device.units() {
        let path = place(directory, unit);
        let failed = |why: String| StartError::Kept { path: path.clone(), why };
        let bytes = match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(failed(error.to_string())),
            Ok(meta) if meta.len() > LARGEST => return Err(failed("it is too long".to_owned())),
            Ok(_) => fs::read(&path).map_err(|error| failed(error.to_string()))?,
        };
        unit.restore(&bytes).map_err(|error| failed(error.to_string()))?;
    }
    Ok(())
}

fn place(directory: &Path, unit: &LogicalUnit) -> PathBuf {
    let name: String = unit.designator().iter().map(|byte| format!("{byte:02x}")).collect();
    directory.join(format!("naa.{name}.reservations"))
}

/// Puts bytes in the place of a file, whole or not at all; no bytes: there is to be no file.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    if bytes.is_empty() {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => return File::open(directory)?.sync_all(),
        }
    }
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&beside, path)?;
    File::open(directory)?.sync_all()
}

/// What the keeper's thread needs.
pub(super) struct ReservationWriter {
    pub directory: PathBuf,
    pub orders: Receiver<SaveOrder>,
}

impl ReservationWriter {
    /// Carries out orders on a thread of its own.
    pub fn spawn(
        self,
        shared: &Arc<super::shared::ServerShared>,
    ) -> io::Result<std::thread::JoinHandle<()>> {
        let shared = Arc::clone(shared);
        let thread = std::thread::Builder::new().name("target-keeper".to_owned());
        thread.spawn(move || {
            run(&self.directory, &shared.device, &self.orders, &shared.workers, &shared.listener);
        })
    }
}
