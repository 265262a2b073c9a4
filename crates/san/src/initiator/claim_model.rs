//! A model of the claim, explored breadth first: two runs of Wirespeed on one machine, another initiator, clears, preemptions,
//! restarts, lost sessions and kills, in every order up to a depth. The device server and the rules of the claim are the
//! real ones, driven in memory; [`Model`] is SPC-4 (5.13, table 66) written down again, without them.
//!
//! States that agree in all that the model and the runs know are explored once. After every step the registrations and the
//! holder that the device server reports are those of the model, and a write ends as the model says. Besides:
//!
//! * no run writes while the other one holds the reservation;
//! * a run whose reservation is gone has no write acknowledged after that, unless the target tells its writer nothing (its
//!   own key was preempted, and not that of its writer): then none after the next look;
//! * nothing of a run is registered after its orderly end.

use super::claim::{ClaimState, registration};
use super::claim_rules::{self, ClaimPort, KeyOwner};
use super::client::CommandError;
use super::disposition::{Disposition, verdict};
use super::queue::TAKEN_AWAY;
use disk::Io;
use iscsi::initiator::{CommandEnd, SenseData};
use iscsi::pdu::Residual;
use iscsi::scsi::{Action, CdbBytes, Device, Geometry, Nexus, ScsiStatus, UnitDescription};
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::io;
use workload::Dir;

/// Steps from the beginning: in every test run, and where there is time.
const DEPTH: usize = 7;
const DEEPER: usize = 11;

/// Keys: of two runs, of their writers, and of another initiator.
const RUNS: [u64; 2] = [0x5753_0000_0000_1000, 0x5753_0000_0000_2000];
const FOREIGN: u64 = 0xbeef;
/// The key that a run's writer registers: of the same process, for one path.
const PATH: u64 = 1;

/// What can happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Step {
    Claim(usize),
    Attach(usize),
    Write(usize),
    Look(usize),
    Drop(usize),
    End(usize),
    Kill(usize),
    Register,
    Reserve,
    Preempt,
    Clear,
    Unregister,
    ForeignWrite,
    Restart,
}

impl Step {
    fn all() -> Vec<Step> {
        let of = |run| {
            [
                Step::Claim(run),
                Step::Attach(run),
                Step::Write(run),
                Step::Look(run),
                Step::Drop(run),
                Step::End(run),
                Step::Kill(run),
            ]
        };
        let others = [
            Step::Register,
            Step::Reserve,
            Step::Preempt,
            Step::Clear,
            Step::Unregister,
            Step::ForeignWrite,
            Step::Restart,
        ];
        of(0).into_iter().chain(of(1)).chain(others).collect()
    }
}

/// Ends of sessions, in a fixed order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Who {
    Control(usize),
    Writer(usize),
    Foreign,
}

impl Who {
    fn nexus(self) -> Nexus {
        let (name, isid) = match self {
            Who::Control(run) => (format!("iqn.2026-01.example:run{run}"), 1),
            Who::Writer(run) => (format!("iqn.2026-01.example:run{run}"), 2),
            Who::Foreign => ("iqn.2026-01.example:other".to_owned(), 1),
        };
        Nexus::new(&name, [0x40, 0, 0, 0, 0, isid], 1)
    }
}

/// SPC-4 for one unit that knows only "write exclusive, registrants only": who is registered, who holds it, and what each
/// is to be told before its next command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Model {
    keys: BTreeMap<Who, u64>,
    holder: Option<Who>,
    told: BTreeMap<Who, BTreeSet<u16>>,
}

impl Model {
    fn tell(&mut self, whom: impl IntoIterator<Item = Who>, code: u16) {
        whom.into_iter().for_each(|who| {
            self.told.entry(who).or_default().insert(code);
        });
    }

    fn others(&self, but: Who) -> Vec<Who> {
        self.keys.keys().copied().filter(|who| *who != but).collect()
    }

    /// 5.13.7: a key, or none any more. What an unregistered holder held is released (5.13.11.2.3).
    fn register(&mut self, who: Who, key: u64) {
        if key > 0 {
            self.keys.insert(who, key);
        } else if self.keys.remove(&who).is_some() && self.holder == Some(who) {
            self.holder = None;
            self.tell(self.others(who), 0x2a04);
        }
    }

    /// 5.13.9: without a holder, or again; otherwise a conflict.
    fn reserve(&mut self, who: Who) -> bool {
        let free = self.keys.contains_key(&who) && self.holder.is_none_or(|holder| holder == who);
        if free {
            self.holder = Some(who);
        }
        free
    }

    /// 5.13.11.2.4 and .5: all with the key lose their registration; with the holder's, the reservation goes over.
    fn preempt(&mut self, who: Who, victim: u64) -> bool {
        let gone: Vec<Who> =
            self.keys.iter().filter(|(_, key)| **key == victim).map(|(who, _)| *who).collect();
        if !self.keys.contains_key(&who) || gone.is_empty() {
            return false;
        }
        let takes = self.holder.is_some_and(|holder| gone.contains(&holder));
        gone.iter().filter(|one| !takes || **one != who).for_each(|one| {
            self.keys.remove(one);
        });
        self.tell(gone.into_iter().filter(|one| *one != who), 0x2a05);
        if takes {
            self.holder = Some(who);
        } else if self.keys.is_empty() {
            self.holder = None;
        }
        true
    }

    /// 5.13.11.2.7.
    fn clear(&mut self, who: Who) {
        self.tell(self.others(who), 0x2a03);
        self.keys.clear();
        self.holder = None;
    }

    /// Table 66: a write of one who is not registered conflicts with a reservation.
    fn may_write(&self, who: Who) -> bool {
        self.holder.is_none() || self.keys.contains_key(&who)
    }
}

/// A run of Wirespeed.
#[derive(Debug, Default)]
struct Run {
    claim: ClaimState,
    /// It has claimed the unit, and has not ended.
    runs: bool,
    dead: bool,
    /// The control plane's session, and how many there were.
    connected: Cell<bool>,
    sessions: Cell<u64>,
    /// Its writer's session stands, and is registered.
    attached: bool,
    /// The look has found that the unit is not its own any more.
    stopped: bool,
    /// It lost the reservation; whether the target told its writer.
    lost: bool,
    told: bool,
}

/// Everything, after some steps.
struct World {
    device: Device,
    runs: [Run; 2],
    /// Those of the device server, as the model has them.
    model: RefCell<Model>,
}

/// One run's view of the unit.
struct Port<'a> {
    world: &'a World,
    run: usize,
}

fn cdb(bytes: &[u8]) -> CdbBytes {
    let mut cdb = [0; 16];
    cdb[..bytes.len()].copy_from_slice(bytes);
    cdb
}

/// PERSISTENT RESERVE OUT for registrants only, and its parameters.
fn reserve_out(action: u8, key: u64, service_key: u64) -> (CdbBytes, [u8; 24]) {
    let mut list = [0; 24];
    list[..8].copy_from_slice(&key.to_be_bytes());
    list[8..16].copy_from_slice(&service_key.to_be_bytes());
    (cdb(&[0x5f, action, 5, 0, 0, 0, 0, 0, 24, 0]), list)
}

impl World {
    fn new() -> World {
        let world = World { device: device(), runs: Default::default(), model: RefCell::default() };
        world.join(Who::Foreign);
        world
    }

    /// A command, with its parameters; its status and what a reader of it gets.
    fn command(&self, who: Who, cdb: &CdbBytes, list: &[u8]) -> Action {
        match self.device.begin(0, &who.nexus(), cdb, list.len() as u32) {
            Action::Parameters(_) => self.device.parameters(0, &who.nexus(), cdb, list),
            action => action,
        }
    }

    /// A new session in the place of an old one; what it is told first is taken in, as a client does.
    fn join(&self, who: Who) {
        self.device.leave(&who.nexus());
        self.device.join(&who.nexus());
        self.settle(who);
    }

    /// Takes in all unit attentions.
    fn settle(&self, who: Who) {
        for _ in 0..8 {
            if sense(&self.command(who, &cdb(&[0]), &[])).is_none() {
                self.model.borrow_mut().told.remove(&who);
                return;
            }
        }
        panic!("{who:?} is told the same for ever");
    }

    /// PERSISTENT RESERVE OUT by someone with a session, after what it is told; whether it was done.
    fn out(&self, who: Who, action: u8, key: u64, service_key: u64) -> bool {
        self.settle(who);
        let (cdb, list) = reserve_out(action, key, service_key);
        let done = match self.command(who, &cdb, &list) {
            Action::End(end) => end.status == ScsiStatus::Good,
            Action::Reserved { .. } => true,
            other => panic!("{other:?}"),
        };
        let mut model = self.model.borrow_mut();
        let known = model.keys.get(&who).copied();
        let expected = match action {
            6 => {
                model.register(who, service_key);
                true
            }
            _ if key != known.unwrap_or(0) => false,
            0 => {
                model.register(who, service_key);
                true
            }
            1 => model.reserve(who),
            3 => {
                model.clear(who);
                true
            }
            _ => model.preempt(who, service_key),
        };
        assert_eq!(done, expected, "{who:?} {action} {key:#x} {service_key:#x} {model:?}");
        done
    }

    /// An answer to PERSISTENT RESERVE IN.
    fn read(&self, who: Who, action: u8) -> Vec<u8> {
        self.settle(who);
        match self.command(who, &cdb(&[0x5e, action, 0, 0, 0, 0, 0, 8, 0, 0]), &[]) {
            Action::Reply(bytes) => bytes,
            other => panic!("{other:?}"),
        }
    }

    fn keys(&self, who: Who) -> Vec<u64> {
        let words = self.read(who, 0)[8..].as_chunks::<8>().0.to_vec();
        words.into_iter().map(u64::from_be_bytes).collect()
    }

    fn holder(&self, who: Who) -> Option<u64> {
        let answer = self.read(who, 1);
        answer.get(8..16).map(|key| u64::from_be_bytes(key.try_into().expect("eight")))
    }

    /// What the device server reports is what the model has.
    fn conforms(&self) {
        let mut found = self.keys(Who::Foreign);
        found.sort_unstable();
        let held = self.holder(Who::Foreign);
        let model = self.model.borrow();
        let mut keys: Vec<u64> = model.keys.values().copied().collect();
        keys.sort_unstable();
        assert_eq!(found, keys, "{model:?}");
        assert_eq!(held, model.holder.map(|who| model.keys[&who]), "{model:?}");
    }

    /// A write, sent once: what becomes of its I/O, by the rules of a queue.
    fn write(&self, who: Who) -> Disposition {
        let mut model = self.model.borrow_mut();
        let ending = match self.command(who, &cdb(&[0x2a, 0, 0, 0, 0, 0, 0, 0, 1, 0]), &[0; 512]) {
            Action::Medium(_) => end(0, None),
            Action::End(ending) => {
                let sense = ending.sense.map(|sense| {
                    let (key, code) = (sense.key as u8, sense.code);
                    SenseData { key, code, ..SenseData::default() }
                });
                end(ending.status as u8, sense)
            }
            other => panic!("{other:?}"),
        };
        let (dir, fua) = (Dir::Write, false);
        let found = verdict(ending, &Io { slot: 0, dir, target: 0, offset: 0, len: 512, fua });
        let told = model.told.get_mut(&who).filter(|told| !told.is_empty());
        match (found, told) {
            (Disposition::Attention(code), Some(told)) => {
                assert!(told.remove(&code), "{who:?} is told {code:#x}");
            }
            (found, told) => {
                assert!(told.is_none(), "{who:?} is not told, but {found:?}: {model:?}");
                let carried = found == Disposition::Over(Ok(512));
                assert_eq!(carried, model.may_write(who), "{who:?} {found:?} {model:?}");
            }
        }
        found
    }

    fn port(&self, run: usize) -> Port<'_> {
        Port { world: self, run }
    }
}

fn device() -> Device {
    let unit = UnitDescription {
        geometry: Geometry { block: 512, blocks: 8 },
        thin: false,
        read_only: false,
        write_back: true,
        keeps_reservations: false,
        serial: "model".to_owned(),
        product: "volume".to_owned(),
        revision: "1".to_owned(),
    };
    Device::new("iqn.2026-01.example:target", &[1], vec![unit])
}

fn end(status: u8, sense: Option<SenseData>) -> CommandEnd {
    let moved = if status == 0 { 512 } else { 0 };
    CommandEnd::Status { status, moved, residual: Residual::None, sense }
}

fn sense(action: &Action) -> Option<u16> {
    match action {
        Action::End(end) => end.sense.map(|sense| sense.code),
        _ => None,
    }
}

impl Port<'_> {
    fn of(&self) -> &Run {
        &self.world.runs[self.run]
    }

    /// The control plane's session, made where there is none.
    fn reach(&self) -> Who {
        let who = Who::Control(self.run);
        if !self.of().connected.replace(true) {
            self.world.join(who);
            self.of().sessions.set(self.of().sessions.get() + 1);
        }
        who
    }
}

impl ClaimPort for Port<'_> {
    fn state(&self) -> &ClaimState {
        &self.of().claim
    }

    fn own_key(&self) -> u64 {
        RUNS[self.run]
    }

    fn owner(&self, key: u64) -> KeyOwner {
        let is_of = |run: usize| key & !0xfff == RUNS[run];
        match () {
            () if is_of(self.run) => KeyOwner::Own,
            () if is_of(1 - self.run) && self.world.runs[1 - self.run].dead => KeyOwner::Dead,
            () => KeyOwner::Other,
        }
    }

    fn forget(&self, _key: u64) {}

    fn out(&self, action: u8, key: u64, service_key: u64) -> Result<(), CommandError> {
        let done = self.world.out(self.reach(), action, key, service_key);
        done.then_some(()).ok_or(CommandError::Reserved)
    }

    fn keys(&self) -> Result<Vec<u64>, CommandError> {
        Ok(self.world.keys(self.reach()))
    }

    fn holder(&self) -> Result<Option<u64>, CommandError> {
        Ok(self.world.holder(self.reach()))
    }

    fn generation(&self) -> u64 {
        self.of().sessions.get()
    }

    /// The guard's look at uses: a reservation or a registration of another.
    fn examined_again(&self) -> Result<(), String> {
        let who = self.reach();
        let all = self.world.keys(who).into_iter().chain(self.world.holder(who));
        match all.into_iter().find(|key| self.owner(*key) == KeyOwner::Other) {
            None => Ok(()),
            Some(key) => Err(format!("reserved by another ({key:#x})")),
        }
    }

    fn one_unit(&self) -> io::Result<()> {
        Ok(())
    }

    fn equal_content(&self) -> io::Result<()> {
        unreachable!("the device server knows reservations")
    }
}

impl World {
    /// Takes a step; `false` where it cannot be taken now.
    fn take(&mut self, step: Step) -> bool {
        match step {
            Step::Claim(run) => return self.claim(run),
            Step::Attach(run) => return self.attach(run),
            Step::Write(run) => return self.run_writes(run),
            Step::Look(run) => {
                if !self.runs[run].runs || self.runs[run].stopped {
                    return false;
                }
                self.runs[run].stopped = claim_rules::still_held(&self.port(run)).is_err();
            }
            Step::Drop(run) => {
                if !std::mem::take(&mut self.runs[run].attached) {
                    return false;
                }
                self.device.leave(&Who::Writer(run).nexus());
                self.model.borrow_mut().told.remove(&Who::Writer(run));
            }
            Step::End(run) => return self.end(run),
            Step::Kill(run) => {
                let one = &mut self.runs[run];
                if !one.runs || one.dead {
                    return false;
                }
                (one.dead, one.runs, one.attached) = (true, false, false);
                one.connected.set(false);
                for who in [Who::Control(run), Who::Writer(run)] {
                    self.device.leave(&who.nexus());
                    self.model.borrow_mut().told.remove(&who);
                }
            }
            Step::Restart => self.restart(),
            other => return self.foreign(other),
        }
        true
    }

    /// What the guard does before and after a claim, around the real one.
    fn claim(&mut self, run: usize) -> bool {
        if self.runs[run].runs || self.runs[run].dead || self.runs[run].sessions.get() > 3 {
            return false;
        }
        let port = self.port(run);
        let free = |port: &Port<'_>| port.examined_again().is_ok();
        let taken = free(&port) && {
            let claimed = claim_rules::take(&port).is_ok() && free(&port);
            if !claimed && port.state().is_reserved() {
                claim_rules::give_back(&port).expect("the target is there");
            }
            claimed
        };
        let one = &mut self.runs[run];
        (one.runs, one.stopped, one.lost, one.told) = (taken, false, false, false);
        true
    }

    /// A writer's session: it is made, the claim is asked for by it, and its path is registered.
    fn attach(&mut self, run: usize) -> bool {
        if !self.runs[run].runs || self.runs[run].attached || self.runs[run].stopped {
            return false;
        }
        let who = Who::Writer(run);
        self.join(who);
        let asked = || Ok(self.keys(who).contains(&RUNS[run]));
        let claimed = claim_rules::claimed_by(&self.port(run), asked).is_ok();
        if claimed {
            let (_, list) = registration(0, RUNS[run] | PATH);
            let key = u64::from_be_bytes(list[8..16].try_into().expect("eight"));
            assert!(self.out(who, 6, 0, key));
            // It may have been taken again: what was lost is there again.
            self.runs[run].lost &= self.model.borrow().holder != Some(Who::Control(run));
        } else {
            self.device.leave(&who.nexus());
        }
        self.runs[run].attached = claimed;
        true
    }

    /// A write of a run, sent again as a queue does until it has ended.
    fn run_writes(&mut self, run: usize) -> bool {
        if !self.runs[run].attached || self.runs[run].stopped {
            return false;
        }
        let who = Who::Writer(run);
        for _ in 0..8 {
            match self.write(who) {
                Disposition::Attention(code) if TAKEN_AWAY.contains(&code) => {
                    self.device.leave(&who.nexus());
                    self.model.borrow_mut().told.remove(&who);
                    self.runs[run].attached = false;
                    return true;
                }
                Disposition::Attention(_) => {}
                Disposition::Over(Ok(_)) => {
                    self.acknowledged(run);
                    return true;
                }
                _ => return true,
            }
        }
        panic!("a write is told the same for ever");
    }

    fn acknowledged(&self, run: usize) {
        let holder = self.model.borrow().holder;
        assert_ne!(holder, Some(Who::Control(1 - run)), "two runs write");
        let one = &self.runs[run];
        assert!(!one.lost || !one.told, "run {run} writes on without its reservation");
    }

    /// An orderly end: the writer takes its registration back, then the claim does.
    fn end(&mut self, run: usize) -> bool {
        if !self.runs[run].runs {
            return false;
        }
        if std::mem::take(&mut self.runs[run].attached) {
            let who = Who::Writer(run);
            self.out(who, 0, RUNS[run] | PATH, 0);
            self.device.leave(&who.nexus());
            self.model.borrow_mut().told.remove(&who);
        }
        if self.runs[run].claim.is_reserved() {
            claim_rules::give_back(&self.port(run)).expect("the target is there");
        }
        self.runs[run].runs = false;
        let left = self.keys(Who::Foreign).into_iter().filter(|key| key & !0xfff == RUNS[run]);
        assert_eq!(left.count(), 0, "run {run} leaves something behind");
        true
    }

    /// The target forgets all reservations and sessions.
    fn restart(&mut self) {
        self.device = device();
        *self.model.borrow_mut() = Model::default();
        for run in &mut self.runs {
            run.connected.set(false);
            run.attached = false;
        }
        self.join(Who::Foreign);
    }

    /// What another initiator does.
    fn foreign(&mut self, step: Step) -> bool {
        let who = Who::Foreign;
        let registered = self.model.borrow().keys.contains_key(&who);
        match step {
            Step::Register if !registered => self.out(who, 6, 0, FOREIGN),
            Step::ForeignWrite => {
                self.settle(who);
                self.write(who);
                true
            }
            _ if !registered => return false,
            Step::Reserve => self.out(who, 1, FOREIGN, 0),
            Step::Clear => self.out(who, 3, FOREIGN, 0),
            Step::Unregister => self.out(who, 0, FOREIGN, 0),
            Step::Preempt => {
                let Some(victim) = self.holder(who).filter(|key| *key != FOREIGN) else {
                    return false;
                };
                self.out(who, 4, FOREIGN, victim)
            }
            _ => return false,
        };
        true
    }

    /// After each step: which runs have lost their reservation, and whether their writers are told.
    fn follow(&mut self, step: Step) {
        let model = self.model.borrow();
        for (run, one) in self.runs.iter_mut().enumerate().filter(|(_, one)| one.runs) {
            if model.holder != Some(Who::Control(run)) {
                let silent = one.lost && !matches!(step, Step::Clear | Step::Restart);
                one.told |= !silent && step != Step::Preempt || one.stopped;
                one.lost = true;
            } else {
                (one.lost, one.told) = (false, false);
            }
        }
    }

    /// All that decides what can follow.
    fn signature(&self) -> String {
        let runs = self.runs.each_ref().map(|run| {
            let taken = run.claim.taken_over.load(std::sync::atomic::Ordering::Relaxed);
            (
                (run.runs, run.dead, run.attached, run.stopped, run.lost, run.told),
                (run.connected.get(), run.claim.is_reserved(), taken == run.sessions.get()),
                run.sessions.get() > 3,
            )
        });
        format!("{runs:?} {:?}", self.model.borrow())
    }
}

/// Explores all orders of steps; how many states there are.
fn explore(depth: usize) -> usize {
    let steps = Step::all();
    let mut seen: HashSet<String> = HashSet::from([World::new().signature()]);
    let mut next = VecDeque::from([Vec::<Step>::new()]);
    while let Some(path) = next.pop_front() {
        for step in &steps {
            let mut world = World::new();
            for step in &path {
                world.take(*step);
                world.follow(*step);
            }
            let taken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let taken = world.take(*step);
                if taken {
                    world.follow(*step);
                    world.conforms();
                }
                taken
            }));
            let taken = taken.unwrap_or_else(|why| {
                println!("after {path:?}, {step:?}");
                std::panic::resume_unwind(why)
            });
            if taken && path.len() < depth && seen.insert(world.signature()) {
                next.push_back(path.iter().copied().chain([*step]).collect());
            }
        }
    }
    seen.len()
}

#[test]
fn every_order_of_steps_keeps_the_claims_promises() {
    let states = explore(DEPTH);
    println!("{states} states to depth {DEPTH}");
    assert!(states > 1000, "{states}: steps are missing");
}

#[test]
#[ignore = "minutes"]
fn every_order_of_more_steps_keeps_the_claims_promises() {
    println!("{} states to depth {DEEPER}", explore(DEEPER));
}
