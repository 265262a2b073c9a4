//! Targets that a resolver finds: the guard's rules hold for them, and nothing writes to one without its warrant.

use crate::common::{closed, random, run_on, step};
use crate::prelude::*;
use disk::{
    Arena, Completion, Completions, DiskEngine, Io, OpenError, Opener, Queue, RemoteAccess,
    Resolver, Schemes, Unreachable,
};
use engine::{EngineError, Pinning, RunSecret, StepSpec, TargetSpec, WorkerSpec};
use guard::{ReadableMedium, Remote, Warrant, WriteClaim};
use std::any::Any;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use workload::{Dir, IoDemand};

const SIZE: usize = 4 << 20;

/// A target in memory, with whatever a test wants it to be.
#[derive(Debug, Default)]
struct Fake {
    data: Mutex<Vec<u8>>,
    forbids: Option<&'static str>,
    reservation: Option<u64>,
    serial: &'static str,
    claims: AtomicUsize,
    /// I/Os of workers that came by it.
    ios: AtomicUsize,
}

impl ReadableMedium for Fake {
    fn size(&self) -> u64 {
        SIZE as u64
    }

    fn read_at(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let data = self.data.lock().expect("no panic holds it");
        out.copy_from_slice(&data[offset as usize..][..out.len()]);
        Ok(())
    }
}

impl Remote for Fake {
    fn what(&self) -> String {
        format!("the fake {} of {SIZE} bytes", self.serial)
    }

    fn block(&self) -> u32 {
        512
    }

    fn identity(&self) -> Vec<(&'static str, String)> {
        vec![("serial", self.serial.to_owned())]
    }

    fn serial(&self) -> Option<&str> {
        Some(self.serial)
    }

    fn is_made_for_a_run(&self) -> bool {
        true
    }

    fn forbids(&self) -> Vec<String> {
        self.forbids.iter().map(|&why| why.to_owned()).collect()
    }

    fn facts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    fn persistent_reserve_in(&self, command: &[u8; 10]) -> io::Result<Option<Vec<u8>>> {
        let Some(key) = self.reservation.filter(|_| command[1] == 1) else {
            return Ok(Some(vec![0; 8]));
        };
        let mut answer = vec![0, 0, 0, 1, 0, 0, 0, 16];
        answer.extend(key.to_be_bytes());
        answer.extend([0, 0, 0, 0, 0, 1, 0, 0]);
        Ok(Some(answer))
    }

    fn is_ours(&self, key: u64) -> bool {
        key == 7
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }

    fn claim(self: Arc<Self>, _warrant: Warrant) -> io::Result<Arc<dyn WriteClaim>> {
        self.claims.fetch_add(1, Ordering::Relaxed);
        Ok(Arc::new(Taken(self)))
    }
}

#[derive(Debug)]
struct Taken(Arc<Fake>);

impl WriteClaim for Taken {
    fn write_at(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.data.lock().expect("no panic holds it")[offset as usize..][..data.len()]
            .copy_from_slice(data);
        Ok(())
    }

    fn still_held(&self) -> Result<(), String> {
        Ok(())
    }

    fn describe(&self) -> String {
        "alone".to_owned()
    }
}

/// Several ways to one target, by their URLs.
struct Ways(Vec<(&'static str, Arc<Fake>)>);

impl Resolver for Ways {
    fn find(&self, url: &str, _: Option<&RunSecret>) -> Result<Arc<dyn Remote>, Unreachable> {
        let (_, found) = self.0.iter().find(|(way, _)| *way == url).expect("a known way");
        Ok(found.clone())
    }

    fn opener(&self, targets: Vec<RemoteAccess>) -> Result<Box<dyn Opener>, Unreachable> {
        Ok(Box::new(FakeOpener(targets)))
    }
}

struct Fakes(Vec<Arc<Fake>>);

impl Resolver for Fakes {
    fn find(&self, url: &str, _: Option<&RunSecret>) -> Result<Arc<dyn Remote>, Unreachable> {
        let name = url.strip_prefix("fake:").ok_or(Unreachable::Url("no fake".to_owned()))?;
        let found = self.0.iter().find(|fake| name.starts_with(fake.serial));
        let found = found.ok_or(Unreachable::Target(format!("there is no {name}")))?;
        Ok(found.clone())
    }

    fn opener(&self, targets: Vec<RemoteAccess>) -> Result<Box<dyn Opener>, Unreachable> {
        Ok(Box::new(FakeOpener(targets)))
    }
}

struct FakeOpener(Vec<RemoteAccess>);

impl Opener for FakeOpener {
    fn open(self: Box<Self>, arena: &Arena) -> Result<Box<dyn Queue>, OpenError> {
        Ok(Box::new(FakeQueue { targets: self.0, arena: arena.clone(), done: Vec::new() }))
    }
}

struct FakeQueue {
    targets: Vec<RemoteAccess>,
    arena: Arena,
    done: Vec<Completion>,
}

impl FakeQueue {
    fn carry(&self, io: &Io) -> Result<u32, i32> {
        let base = self.arena.slot(io.slot).ok_or(22)?;
        // SAFETY: the slot is mapped, long enough for the I/O, and used by it alone.
        let buffer = unsafe { std::slice::from_raw_parts_mut(base, io.len as usize) };
        let access = &self.targets[usize::from(io.target)];
        let way: &dyn Any = &**access.remote();
        if let Some(fake) = way.downcast_ref::<Fake>() {
            fake.ios.fetch_add(1, Ordering::Relaxed);
        }
        let done = match (io.dir, access) {
            (Dir::Read, access) => access.remote().read_at(io.offset, buffer),
            (Dir::Write, RemoteAccess::Write(grant)) => grant.claim().write_at(io.offset, buffer),
            (Dir::Flush, access) => access.remote().flush(),
            (_, RemoteAccess::Read(_)) => return Err(9),
            (Dir::Trim | Dir::Zero, RemoteAccess::Write(_)) => return Err(95),
        };
        done.map(|()| io.len).map_err(|_| 5)
    }
}

impl Queue for FakeQueue {
    fn depth_max(&self) -> u32 {
        self.arena.slots()
    }

    fn how(&self) -> &str {
        "fake"
    }

    fn submit(&mut self, ios: &[Io]) -> usize {
        for io in ios {
            let result = self.carry(io);
            self.done.push(Completion { slot: io.slot, result });
        }
        ios.len()
    }

    fn reap(&mut self, _min: u32, _until: Ns, out: &mut Completions) {
        let room = out.capacity() - out.len();
        let taken = room.min(self.done.len());
        out.extend(self.done.drain(..taken));
    }
}

fn fake(serial: &'static str) -> Fake {
    Fake { data: Mutex::new(vec![0; SIZE]), serial, ..Fake::default() }
}

fn schemes(fakes: Vec<Arc<Fake>>) -> Schemes {
    Schemes::default().with("fake", Arc::new(Fakes(fakes)))
}

fn token(schemes: &Schemes, url: &str) -> String {
    let report = schemes.inspect(&TargetSpec::new("t", url), true);
    report.examined.expect("examined").expect("readable").token
}

fn granted(schemes: &Schemes, url: &str) -> TargetSpec {
    TargetSpec { write_token: Some(token(schemes, url)), ..TargetSpec::new("t", url) }
}

fn step_on(target: TargetSpec, read: f64) -> StepSpec {
    let spec = random(4096, read, closed(4));
    let target = TargetSpec { demand: IoDemand::of(&spec), ..target };
    let mut step = step(target, 1, spec, Ns::millis(200));
    step.workers.iter_mut().for_each(|w| w.verify = read < 100.0);
    step
}

fn engine_of(schemes: &Schemes) -> DiskEngine {
    DiskEngine::new(Pinning::Never).with(schemes.clone())
}

/// Why a target may not be written, by the plan and by the engine alike.
#[track_caller]
fn refused(fake: Fake, target: impl Fn(&Schemes) -> TargetSpec, why: &str) {
    let fake = Arc::new(fake);
    let schemes = schemes(vec![fake.clone()]);
    let target = target(&schemes);
    let planned = schemes.inspect(&target, true).fate.map(drop);
    let ran = run_on(&mut engine_of(&schemes), &step_on(target, 50.0)).map(drop);
    for result in [planned, ran] {
        match result {
            Err(EngineError::Refused(told)) => assert!(told.contains(why), "{told}"),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(fake.claims.load(Ordering::Relaxed), 0, "it was claimed all the same");
}

#[test]
fn a_remote_target_is_written_with_its_token_alone() {
    refused(fake("a"), |_| TargetSpec::new("t", "fake:a"), "the fake a of");
    let mistyped = |_: &Schemes| TargetSpec {
        write_token: Some("ws-nonsense".to_owned()),
        ..TargetSpec::new("t", "fake:a")
    };
    refused(fake("a"), mistyped, "is no token");
    let other = token(&schemes(vec![Arc::new(fake("b"))]), "fake:b");
    let stale = move |_: &Schemes| TargetSpec {
        write_token: Some(other.clone()),
        ..TargetSpec::new("t", "fake:a")
    };
    refused(fake("a"), stale, "is stale");
}

#[test]
fn no_token_helps_against_a_use_by_another() {
    let granted = |schemes: &Schemes| granted(schemes, "fake:a");
    refused(Fake { forbids: Some("it is read-only"), ..fake("a") }, granted, "it is read-only");
    let reserved = Fake { reservation: Some(0xbeef), ..fake("a") };
    refused(reserved, granted, "reserved by another: write exclusive; key 0x000000000000beef");
    let carrying = fake("a");
    carrying.data.lock().expect("nobody else has it")[..3].copy_from_slice(b"abc");
    refused(carrying, granted, "data that Wirespeed did not write");
}

#[test]
fn a_verified_load_claims_it_once_and_is_carried() {
    let fake = Arc::new(Fake { reservation: Some(7), ..fake("a") });
    let schemes = schemes(vec![fake.clone()]);
    let target = granted(&schemes, "fake:a");
    let mut engine = engine_of(&schemes);
    for _ in 0..2 {
        let outcome = run_on(&mut engine, &step_on(target.clone(), 50.0)).expect("granted");
        assert_eq!(outcome.verdict, Ok(()));
        assert!(outcome.ops() > 0 && outcome.errors() == 0, "{:?}", outcome.codes());
    }
    assert_eq!(fake.claims.load(Ordering::Relaxed), 1);
    let holds = |data: &[u8]| data.iter().any(|byte| *byte != 0);
    assert!(holds(&fake.data.lock().expect("nobody else has it")));
}

#[test]
fn one_that_is_only_read_is_neither_claimed_nor_changed() {
    let fake = Arc::new(fake("a"));
    let schemes = schemes(vec![fake.clone()]);
    let step = step_on(TargetSpec::new("t", "fake:a"), 100.0);
    let outcome = run_on(&mut engine_of(&schemes), &step).expect("readable");
    assert!(outcome.ops() > 0 && outcome.errors() == 0);
    assert_eq!(fake.claims.load(Ordering::Relaxed), 0);
}

#[test]
fn unreachable_and_invalid_targets_are_reported() {
    let schemes = schemes(vec![Arc::new(fake("a"))]);
    let fate = |target: TargetSpec| schemes.inspect(&target, false).fate;
    let plain = || TargetSpec::new("t", "fake:a");
    assert!(fate(plain()).is_ok());
    assert!(matches!(fate(TargetSpec::new("t", "fake:z")), Err(EngineError::Target { .. })));
    for odd in [
        TargetSpec { create: Some(1 << 20), ..plain() },
        TargetSpec { buffered: true, ..plain() },
        TargetSpec::new("t", "other:a"),
    ] {
        assert!(matches!(fate(odd), Err(EngineError::Unsupported(_))));
    }
}

#[test]
fn one_target_under_two_names_cannot_be_verified() {
    let schemes = schemes(vec![Arc::new(fake("a"))]);
    let mut step = step_on(granted(&schemes, "fake:a"), 50.0);
    step.targets.push(TargetSpec { name: "other".to_owned(), ..granted(&schemes, "fake:a?again") });
    step.workers.push(WorkerSpec { targets: vec![1], ..step.workers[0].clone() });
    match run_on(&mut engine_of(&schemes), &step) {
        Err(EngineError::Unsupported(told)) => assert!(told.contains("are the same"), "{told}"),
        other => panic!("{other:?}"),
    }
}

/// A target that claims to have been made for this run under a serial number.
fn made_as(url: &str, serial: &str) -> TargetSpec {
    TargetSpec { made_as: Some(serial.to_owned()), ..TargetSpec::new("t", url) }
}

#[test]
fn what_was_made_for_this_run_is_written_without_a_token_whatever_it_holds() {
    let fake = Arc::new(fake("a"));
    fake.data.lock().expect("nobody else has it")[..3].copy_from_slice(b"abc");
    let schemes = schemes(vec![fake.clone()]);
    let step = step_on(made_as("fake:a", "a"), 50.0);
    let outcome = run_on(&mut engine_of(&schemes), &step).expect("granted");
    assert_eq!(outcome.verdict, Ok(()));
    assert_eq!(fake.claims.load(Ordering::Relaxed), 1);
}

#[test]
fn nothing_else_is_taken_for_what_was_made_for_this_run() {
    refused(fake("a"), |_| made_as("fake:a", "b"), "not the volume that was made for this run");
    refused(fake(""), |_| made_as("fake:", "b"), "not the volume that was made for this run");
    let forbidden = Fake { forbids: Some("it is read-only"), ..fake("a") };
    refused(forbidden, |_| made_as("fake:a", "a"), "it is read-only");
    let reserved = Fake { reservation: Some(0xbeef), ..fake("a") };
    refused(reserved, |_| made_as("fake:a", "a"), "reserved by another");
}

#[test]
fn two_ways_to_one_target_share_the_claim_and_keep_their_ways() {
    let (one, other) = (Arc::new(fake("a")), Arc::new(fake("a")));
    let ways = Ways(vec![("fake:1", one.clone()), ("fake:2", other.clone())]);
    let schemes = Schemes::default().with("fake", Arc::new(ways));
    let mut step = step_on(made_as("fake:1", "a"), 0.0);
    step.targets.push(TargetSpec { name: "u".to_owned(), ..made_as("fake:2", "a") });
    step.workers[0].verify = false;
    step.workers.push(WorkerSpec { targets: vec![1], key: 1, ..step.workers[0].clone() });
    let outcome = run_on(&mut engine_of(&schemes), &step).expect("granted");
    assert_eq!(outcome.verdict, Ok(()));
    assert_eq!((one.claims.load(Ordering::Relaxed), other.claims.load(Ordering::Relaxed)), (1, 0));
    assert!(one.ios.load(Ordering::Relaxed) > 0 && other.ios.load(Ordering::Relaxed) > 0);
}
