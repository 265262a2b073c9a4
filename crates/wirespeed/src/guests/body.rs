//! A running guest as its coordinator holds it: what happens to it is told, and its end is explained by its console.

use clock::Ns;
use disk::DiskEngine;
use fleet::{Body, BodyNews};
use guest::Guest;
use guest::qmp::QmpEvent;
use record::{Fact, Level};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Builder;
use std::{fs, io};

/// How often QEMU is asked what has happened.
const LOOK: Ns = Ns::millis(500);

/// How long a guest that was given up may take to end by itself, as it does after a panic.
const ENDS: Ns = Ns::secs(2);

/// A guest, and what is held for its disks as long as it lives.
pub struct GuestBody {
    guest: Option<Arc<Mutex<Guest>>>,
    process: u32,
    news: Receiver<BodyNews>,
    facts: Vec<Fact>,
    _held: Option<DiskEngine>,
}

impl GuestBody {
    pub fn new(guest: Guest, held: Option<DiskEngine>, facts: Vec<Fact>) -> io::Result<GuestBody> {
        let process = guest.process();
        let guest = Arc::new(Mutex::new(guest));
        let (tx, news) = mpsc::channel();
        let watched = Arc::downgrade(&guest);
        Builder::new().name("guest-watch".to_owned()).spawn(move || watch(&watched, &tx))?;
        Ok(GuestBody { guest: Some(guest), process, news, facts, _held: held })
    }
}

impl Body for GuestBody {
    fn await_end(&mut self) -> String {
        let Some(guest) = self.guest.take() else { return "its QEMU has ended".to_owned() };
        let mut guest = lock(&guest);
        let how = match guest.wait(ENDS) {
            Ok(Some(status)) => format!("its QEMU ended with {status}"),
            _ => "it did not end and was killed".to_owned(),
        };
        guest.kill();
        match guest.last_output().as_str() {
            "" => format!("{how}; its console shows nothing"),
            words => format!("{how}; its console: {words}"),
        }
    }

    fn news(&mut self) -> Vec<BodyNews> {
        self.news.try_iter().collect()
    }

    fn process(&self) -> Option<u32> {
        Some(self.process)
    }

    fn facts(&self) -> Vec<Fact> {
        self.facts.clone()
    }
}

/// Tells what happens to a guest until it is gone.
fn watch(guest: &Weak<Mutex<Guest>>, news: &Sender<BodyNews>) {
    loop {
        clock::sleep_until(clock::now().plus(LOOK));
        let Some(guest) = guest.upgrade() else { return };
        let Ok(events) = lock(&guest).control().events() else { return };
        let told = events.iter().filter_map(told);
        if !told.map(|one| news.send(one)).all(|sent| sent.is_ok()) {
            return;
        }
    }
}

fn told(event: &QmpEvent) -> Option<BodyNews> {
    let (level, code, text) = match event.name.as_str() {
        "STOP" => (Level::Warning, "guest-paused", "was paused: its processors stand still"),
        "RESUME" => (Level::Info, "guest-resumed", "goes on"),
        "RESET" => (Level::Error, "guest-reset", "was reset"),
        "BLOCK_IO_ERROR" => (Level::Error, "guest-io-error", "got an I/O error from its host"),
        _ => return None,
    };
    Some(BodyNews { level, code, text: text.to_owned() })
}

/// Bytes of memory that a process has taken, at most so far.
pub fn memory_of(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

fn lock(guest: &Mutex<Guest>) -> MutexGuard<'_, Guest> {
    guest.lock().unwrap_or_else(PoisonError::into_inner)
}
