//! Targets with several portals, loads while something happens to them, and queues in the hands of a test.

use crate::initiator::peer::{HANG, schemes};
use crate::prelude::*;
use disk::{
    Arena, Completion, Completions, DiskEngine, Io, Opener, Queue, RemoteAccess, Resolver, Schemes,
    Unreachable,
};
use engine::{Engine, EngineError, Output, Pinning, RunSecret, StepSpec, Stop, TargetSpec};
use guard::Remote;

pub const NAME: &str = "iqn.2026-11.example.wirespeed:paths";

/// A target with a portal for each group, and these volumes.
pub fn target(groups: &[u16], volumes: &[&str]) -> TargetServer {
    target_with(groups, volumes, |_| {})
}

pub fn target_with(
    groups: &[u16],
    volumes: &[&str],
    also: impl FnOnce(&mut TargetSettings),
) -> TargetServer {
    let loopback = "127.0.0.1:0".parse().expect("an address");
    let portal = |group: &u16| PortalConfig { group: *group, ..PortalConfig::new(loopback) };
    let volume = |(n, spec): (usize, &&str)| {
        let spec = spec.parse().expect("a volume");
        Volume::open(&spec, &format!("paths-{n}")).expect("room")
    };
    let volumes = volumes.iter().enumerate().map(volume).collect();
    let mut config = TargetSettings::new(NAME, groups.iter().map(portal).collect(), volumes);
    config.threads = 2;
    config.limits.stop_time = Duration::from_millis(200);
    also(&mut config);
    TargetServer::start(config).expect("it starts")
}

/// The URL of LUN 0 by these portals.
pub fn url(portals: &[SocketAddr], options: &str) -> String {
    let portals: Vec<String> = portals.iter().map(ToString::to_string).collect();
    format!("iscsi://{}/{NAME}/0?{options}", portals.join(","))
}

/// The URL of LUN 0 by all portals of a target.
pub fn url_of(target: &TargetServer, options: &str) -> String {
    url(&target.addresses(), options)
}

/// What came out of a step, all of it.
#[derive(Debug, Default)]
pub struct StepResult {
    pub ops: u64,
    pub errors: u64,
    /// Moment, code and text, in the order in which they came.
    pub events: Vec<(Ns, String, String)>,
    pub counters: Vec<(String, f64)>,
}

impl StepResult {
    /// How many events have a code.
    pub fn count(&self, code: &str) -> usize {
        self.events.iter().filter(|(_, other, _)| other == code).count()
    }

    /// The texts of the events with a code.
    pub fn texts(&self, code: &str) -> Vec<&str> {
        let of = self.events.iter().filter(|(_, other, _)| other == code);
        of.map(|(.., text)| text.as_str()).collect()
    }

    pub fn counter(&self, name: &str) -> f64 {
        self.counters.iter().filter(|(other, _)| other == name).map(|(_, value)| value).sum()
    }

    /// Everything went well for the workload.
    #[track_caller]
    pub fn sound(self) -> StepResult {
        let bad =
            |code: &str| code.starts_with("verify") || code == "io-error" || code == "left-open";
        let bad = self.events.iter().find(|(_, code, _)| bad(code));
        assert!(self.ops > 0 && self.errors == 0 && bad.is_none(), "{self:#?}");
        self
    }
}

/// Runs a step; `act` is called about a hundred times a second with the time since its start.
pub fn run(step: &StepSpec, mut act: impl FnMut(Ns)) -> Result<StepResult, EngineError> {
    run_until(step, |now, _| {
        act(now);
        false
    })
}

/// Runs a step until `act`, which sees what has come out so far, says that it is enough, or to its end.
pub fn run_until(
    step: &StepSpec,
    mut act: impl FnMut(Ns, &StepResult) -> bool,
) -> Result<StepResult, EngineError> {
    let (out, outputs) = mpsc::channel();
    let mut engine = DiskEngine::new(Pinning::Never).with(schemes());
    let prepared = engine.prepare(step, &out, &Stop::default())?;
    let now = clock::now();
    let running = prepared.start(now, now.plus(Ns::millis(20)), out);
    let mut story = StepResult::default();
    let limit = now.plus(Ns(HANG.as_nanos() as u64));
    loop {
        if act(clock::now().since(now), &story) {
            running.stop();
        }
        match outputs.recv_timeout(Duration::from_millis(10)) {
            Ok(Output::Interval(interval)) => {
                for tally in [&interval.read, &interval.write].into_iter().flatten() {
                    story.ops += tally.ops;
                    story.errors += tally.errors;
                }
            }
            Ok(Output::Event(event)) => story.events.push((event.at, event.code, event.text)),
            Ok(Output::Counter(counter)) => {
                story.counters.push((counter.kind.name().to_owned(), counter.value))
            }
            Ok(Output::Ended(..)) => {}
            Ok(Output::Finished) => return Ok(story),
            Ok(Output::Failed(e)) => return Err(e),
            Err(_) => assert!(clock::now() < limit, "no verdict: {story:#?}"),
        }
    }
}

/// Calls things at their moments.
pub fn at(mut faults: Vec<(u64, Box<dyn FnMut() + '_>)>) -> impl FnMut(Ns) {
    faults.reverse();
    move |now| {
        while faults.last().is_some_and(|(at, _)| now >= Ns::millis(*at)) {
            if let Some((_, mut fault)) = faults.pop() {
                fault();
            }
        }
    }
}

/// Finds LUNs as the initiator does, and keeps what the engine was granted.
struct Keeping {
    initiator: Initiator,
    kept: Arc<Mutex<Vec<RemoteAccess>>>,
}

impl Resolver for Keeping {
    fn find(&self, url: &str, secret: Option<&RunSecret>) -> Result<Arc<dyn Remote>, Unreachable> {
        self.initiator.find(url, secret)
    }

    fn opener(&self, targets: Vec<RemoteAccess>) -> Result<Box<dyn Opener>, Unreachable> {
        *self.kept.lock().expect("no panic") = targets.clone();
        self.initiator.opener(targets)
    }
}

/// A queue to a LUN, driven by the test itself.
pub struct Hand {
    queue: Box<dyn Queue>,
    arena: Arena,
    done: Completions,
    _engine: DiskEngine,
}

/// Bytes of an I/O of a hand.
pub const BLOCK: u32 = 4096;

impl Hand {
    /// Takes the LUN for writing, as the engine does, and opens a queue to it.
    pub fn to(url: &str) -> Hand {
        let initiator = || Initiator::named("iqn.2026-11.example.wirespeed:hand");
        let kept = Arc::new(Mutex::new(Vec::new()));
        let keeping = Keeping { initiator: initiator(), kept: kept.clone() };
        let schemes = Schemes::default().with(SCHEME, Arc::new(keeping));
        let plain = TargetSpec::new("lun", url);
        let examined = schemes.inspect(&plain, true).examined.expect("it can be written");
        let token = Some(examined.expect("it is examined").token);
        let target = TargetSpec { write_token: token, ..plain };
        let spec = crate::initiator::peer::mixed(BLOCK, 50.0, 1);
        let step = crate::initiator::peer::step(vec![target], 1, &spec, Ns::millis(10));
        let mut engine = DiskEngine::new(Pinning::Never).with(schemes);
        let (out, _outputs) = mpsc::channel();
        drop(engine.prepare(&step, &out, &Stop::default()).expect("it opens"));
        let access = std::mem::take(&mut *kept.lock().expect("no panic"));
        let arena = Arena::new(8, BLOCK).expect("memory");
        let queue = initiator().opener(access).expect("LUNs").open(&arena).expect("sessions");
        Hand { queue, arena, done: Vec::with_capacity(8), _engine: engine }
    }

    fn bytes(&mut self, slot: u32) -> &mut [u8] {
        let base = self.arena.slot(slot).expect("a slot");
        // SAFETY: the slot has so many bytes, and no I/O of it is under way where this is called.
        unsafe { std::slice::from_raw_parts_mut(base, BLOCK as usize) }
    }

    /// Begins to write a block full of `what`.
    pub fn write(&mut self, slot: u32, block: u64, what: u8) {
        self.bytes(slot).fill(what);
        self.submit(slot, block, Dir::Write);
    }

    fn submit(&mut self, slot: u32, block: u64, dir: Dir) {
        let offset = block * u64::from(BLOCK);
        let io = Io { fua: false, slot, dir, target: 0, offset, len: BLOCK };
        assert_eq!(self.queue.submit(&[io]), 1);
        // One turn, so that it is sent.
        self.turn(Ns::ZERO);
    }

    /// Drives the queue for a while; what has ended is kept.
    pub fn turn(&mut self, time: Ns) {
        let want = self.done.len() as u32 + 1;
        let mut new = Vec::with_capacity(8);
        self.queue.reap(want.min(1), clock::now().plus(time), &mut new);
        self.done.append(&mut new);
    }

    /// Drives the queue until a slot's I/O has ended.
    #[track_caller]
    pub fn finish(&mut self, slot: u32) -> Result<u32, i32> {
        let limit = clock::now().plus(Ns(HANG.as_nanos() as u64));
        while clock::now() < limit {
            if let Some(at) = self.done.iter().position(|done| done.slot == slot) {
                let Completion { result, .. } = self.done.swap_remove(at);
                return result;
            }
            self.turn(Ns::millis(20));
        }
        panic!("slot {slot} does not end");
    }

    /// What a block is full of.
    #[track_caller]
    pub fn read(&mut self, block: u64) -> u8 {
        self.submit(7, block, Dir::Read);
        assert_eq!(self.finish(7), Ok(BLOCK));
        let bytes = self.bytes(7);
        assert!(bytes.iter().all(|byte| *byte == bytes[0]), "it is torn");
        bytes[0]
    }

    /// Whether a slot's I/O has ended.
    pub fn is_over(&mut self, slot: u32) -> bool {
        self.turn(Ns::millis(20));
        self.done.iter().any(|done| done.slot == slot)
    }
}
