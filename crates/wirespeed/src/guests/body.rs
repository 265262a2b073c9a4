//! A running guest as its coordinator holds it: what happens to it is told, and its end is explained by its console.

use clock::Ns;
use disk::DiskEngine;
use fleet::{Body, BodyNews, PowerChange};
use guest::qmp::{BlockCounts, QmpEvent};
use guest::{Guest, Image, KeptMemory, Machine, Moved};
use record::{Fact, Level};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::thread::Builder;
use std::{fs, io};

/// How often QEMU is asked what has happened.
const LOOK: Ns = Ns::millis(500);

/// How long a guest may take to switch itself off.
const SWITCHES_OFF: Ns = Ns::secs(20);

/// How long a guest may take to move.
const MOVES: Ns = Ns::secs(60);

/// How long a guest that was given up may take to end by itself, as it does after a panic.
const ENDS: Ns = Ns::secs(2);

/// Something that a guest is to do.
pub struct Order {
    pub what: What,
    /// Where it is told what came of it.
    pub answer: Sender<Result<Done, String>>,
}

/// What a guest is to do.
#[derive(Clone, Copy)]
pub enum What {
    Stand,
    GoOn,
    Move,
    Count,
    /// Its machine loses its power.
    SwitchOff,
    /// It boots again.
    SwitchOn,
}

/// What a guest did.
pub enum Done {
    /// It stands still, or goes on, or has lost its power, or boots.
    Obeyed,
    /// It is at another QEMU.
    Moved(Moved),
    /// What its disks did at this QEMU, by their numbers in the VM.
    Counted(BTreeMap<usize, BlockCounts>),
}

/// All that another QEMU for a guest is started from.
pub struct Plan {
    pub machine: Machine,
    /// The numbers of its disks among those of its VM.
    pub disks: Vec<usize>,
    pub image: Arc<Image>,
    pub keeper: Vec<OsString>,
}

/// A guest that runs, for who knows the process that carried it at first.
struct Running {
    process: u32,
    orders: Sender<Order>,
}

static RUNNING: Mutex<BTreeMap<u32, Running>> = Mutex::new(BTreeMap::new());

fn running() -> MutexGuard<'static, BTreeMap<u32, Running>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process that carries a guest which this one carried at first.
pub fn process_now(first: u32) -> u32 {
    running().get(&first).map_or(first, |of| of.process)
}

/// Asks what the disks of a guest did, which this process carried at first; who asks is answered soon, or not at all.
pub fn ask_counts(first: u32) -> Option<Receiver<Result<Done, String>>> {
    let (answer, answered) = mpsc::channel();
    let orders = running().get(&first)?.orders.clone();
    orders.send(Order { what: What::Count, answer }).ok().map(|()| answered)
}

/// A guest, and what is held for its disks as long as it lives.
pub struct GuestBody {
    guest: Option<Arc<Mutex<Guest>>>,
    process: u32,
    orders: Sender<Order>,
    news: Receiver<BodyNews>,
    power: Receiver<PowerChange>,
    facts: Vec<Fact>,
    _held: Option<DiskEngine>,
}

impl GuestBody {
    pub fn new(
        guest: Guest,
        plan: Plan,
        held: Option<DiskEngine>,
        facts: Vec<Fact>,
    ) -> io::Result<GuestBody> {
        let process = guest.process();
        let guest = Arc::new(Mutex::new(guest));
        let (tx, news) = mpsc::channel();
        let (to_power, power) = mpsc::channel();
        let (orders, inbox) = mpsc::channel();
        let guest_there = Arc::downgrade(&guest);
        let mut watch =
            Watch { guest: guest_there, first: process, plan, power: to_power, off: false };
        let watch = move || watch.stay(&inbox, &tx);
        running().insert(process, Running { process, orders: orders.clone() });
        Builder::new().name("guest-watch".to_owned()).spawn(watch)?;
        Ok(GuestBody { guest: Some(guest), process, orders, news, power, facts, _held: held })
    }

    /// Where orders to the guest go.
    pub fn orders(&self) -> Sender<Order> {
        self.orders.clone()
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

    fn power(&mut self) -> Vec<PowerChange> {
        self.power.try_iter().collect()
    }

    fn process(&self) -> Option<u32> {
        Some(self.process)
    }

    fn facts(&self) -> Vec<Fact> {
        self.facts.clone()
    }
}

/// What watches a guest, and carries out the orders to it.
struct Watch {
    guest: Weak<Mutex<Guest>>,
    first: u32,
    plan: Plan,
    power: Sender<PowerChange>,
    /// Its machine has lost its power.
    off: bool,
}

impl Watch {
    /// Tells what happens to the guest until it is gone.
    fn stay(&mut self, orders: &Receiver<Order>, news: &Sender<BodyNews>) {
        loop {
            let order = match orders.recv_timeout(LOOK.into()) {
                Ok(order) => Some(order),
                Err(RecvTimeoutError::Timeout) => None,
                // Nobody can order any more, and the guest may go on for a while.
                Err(RecvTimeoutError::Disconnected) => {
                    clock::sleep_until(clock::now().plus(LOOK));
                    None
                }
            };
            let Some(guest) = self.guest.upgrade() else { break };
            let mut guest = lock(&guest);
            if let Some(Order { what, answer }) = order {
                let done = self.carry_out(&mut guest, what);
                // Who has asked may have been given up.
                let _ = answer.send(done);
            }
            if self.off {
                continue;
            }
            let Ok(events) = guest.control().events() else { break };
            let told = events.iter().filter_map(told);
            if !told.map(|one| news.send(one)).all(|sent| sent.is_ok()) {
                break;
            }
        }
        let process = process_now(self.first);
        running().remove(&self.first);
        // The kernel would end a QEMU that was started here with this thread: a guest switches itself off before.
        let deadline = clock::now().plus(SWITCHES_OFF);
        let here = || fs::exists(format!("/proc/{process}")).unwrap_or(false);
        while here() && clock::now() < deadline {
            clock::sleep_until(clock::now().plus(LOOK));
        }
    }

    fn carry_out(&mut self, guest: &mut Guest, what: What) -> Result<Done, String> {
        match what {
            What::SwitchOff if !self.off => return Ok(self.switch_off(guest)),
            What::SwitchOn if self.off => return self.switch_on(guest),
            What::SwitchOff | What::SwitchOn => return Ok(Done::Obeyed),
            _ if self.off => return Err("its machine has lost its power".to_owned()),
            _ => {}
        }
        let done = match what {
            What::Stand | What::GoOn => {
                let command = if matches!(what, What::Stand) { "stop" } else { "cont" };
                let done = guest.control().execute(command, Value::Null);
                done.map_err(|why| why.to_string())?;
                Done::Obeyed
            }
            What::Move => {
                let Plan { machine, image, keeper, .. } = &self.plan;
                let kept = machine.kept.as_ref().map(|kept| KeptMemory::new(kept.bytes()));
                let kept = kept.transpose().map_err(|why| why.to_string())?;
                let machine = Machine { kept, ..machine.clone() };
                let moved = guest.relocate(&machine, image, keeper, MOVES);
                let moved = moved.map_err(|why| why.to_string())?;
                self.plan.machine = machine;
                if let Some(running) = running().get_mut(&self.first) {
                    running.process = guest.process();
                }
                Done::Moved(moved)
            }
            What::Count => {
                let all = guest.control().block_counts().map_err(|why| why.to_string())?;
                let of = |(place, counts)| Some((*self.plan.disks.get(place)?, counts));
                return Ok(Done::Counted(all.into_iter().filter_map(of).collect()));
            }
            What::SwitchOff | What::SwitchOn => Done::Obeyed,
        };
        // What was ordered is no news.
        let _ = guest.control().events();
        Ok(done)
    }

    fn switch_off(&mut self, guest: &mut Guest) -> Done {
        // Before its carrier closes; who has given it up does not listen.
        let _ = self.power.send(PowerChange::Lost);
        self.off = true;
        guest.kill();
        Done::Obeyed
    }

    fn switch_on(&mut self, guest: &mut Guest) -> Result<Done, String> {
        let Plan { machine, image, keeper, .. } = &self.plan;
        let booted = guest.boot_again(machine, image, keeper).map_err(|why| why.to_string());
        let carrier = booted.and_then(|()| super::carrier(guest));
        self.off = false;
        match carrier {
            Ok(carrier) => {
                if let Some(running) = running().get_mut(&self.first) {
                    running.process = guest.process();
                }
                let _ = self.power.send(PowerChange::Back(carrier));
                Ok(Done::Obeyed)
            }
            Err(why) => {
                let problem = format!("it does not boot again: {why}");
                let _ = self.power.send(PowerChange::Dead(problem));
                Err(why)
            }
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
