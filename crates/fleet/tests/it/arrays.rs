//! Arrays that stand for the time of a run, served by agents whose arrays are made up: what is asked of their ports and when,
//! what is counted and told, and what happens when one is lost.

use crate::common;

use crate::common::*;
use crate::prelude::*;
use fleet::arrays::{
    ArrayPart, ArrayServer, ArraySpec, ArrayStep, ArrayTraffic, FaultSpec, PortFault, PortStep,
    ServedArray,
};
use fleet::{AgentLink, Assignment, EngineRegistry, HopReading, RunError, RunOutcome, ServeError};
use record::{CounterId, Event, Level, Lever, SourceId, Status};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

// ---------------------------------------------------------------------------------------------------- made up

/// What was done to the ports of all arrays of a test, in order; what changes nothing is left out.
pub type Diary = Arc<Mutex<Vec<String>>>;

/// Makes arrays of which it is known what is done to them.
pub struct Fake {
    pub diary: Diary,
    /// Ports that cannot be brought back.
    pub stuck: bool,
}

struct FakeArray {
    spec: ArraySpec,
    diary: Diary,
    stuck: bool,
    ports: Mutex<Vec<PortState>>,
    limits: Mutex<BTreeMap<(ArrayPart, Lever), f64>>,
    looks: AtomicU64,
}

#[derive(Clone, Copy, Default, PartialEq)]
struct PortState {
    speed: Option<u64>,
    down: bool,
    busy: bool,
}

impl ArrayServer for Fake {
    fn serve(&mut self, spec: &ArraySpec) -> Result<Box<dyn ServedArray>, EngineError> {
        if spec.volumes.iter().any(|volume| volume.size > 1 << 40) {
            let problem = "there is no memory for it".to_owned();
            return Err(EngineError::Target { target: spec.name.clone(), problem });
        }
        Ok(Box::new(FakeArray {
            spec: spec.clone(),
            diary: self.diary.clone(),
            stuck: self.stuck,
            ports: Mutex::new(vec![PortState::default(); spec.ports.len()]),
            limits: Mutex::default(),
            looks: AtomicU64::new(0),
        }))
    }
}

impl FakeArray {
    fn change(&self, port: usize, what: &str, change: impl FnOnce(&mut PortState)) {
        let mut ports = self.ports.lock().unwrap();
        let before = ports[port];
        change(&mut ports[port]);
        if ports[port] != before {
            let port = &self.spec.ports[port].name;
            self.diary.lock().unwrap().push(format!("{port} {what}"));
        }
    }

    fn traffic(&self) -> ArrayTraffic {
        let looks = self.looks.fetch_add(1, Ordering::Relaxed);
        ArrayTraffic { read_bytes: looks, connections: 2, queue: 3, ..ArrayTraffic::default() }
    }
}

impl ServedArray for FakeArray {
    fn target(&self) -> String {
        format!("iqn.{}", self.spec.name)
    }
    fn addresses(&self) -> Vec<SocketAddr> {
        let address = |n: usize| SocketAddr::from(([127, 0, 0, 1], 7001 + n as u16));
        (0..self.spec.ports.len()).map(address).collect()
    }
    fn port(&self, _: usize) -> ArrayTraffic {
        self.traffic()
    }
    fn volume(&self, _: usize) -> ArrayTraffic {
        self.traffic()
    }
    fn speed(&self, port: usize) -> Option<u64> {
        self.ports.lock().unwrap()[port].speed
    }
    fn process(&self) -> Option<Vec<HopReading>> {
        let value = self.looks.load(Ordering::Relaxed) as f64;
        (self.spec.threads > 0).then(|| vec![HopReading { counter: CounterId::Cpu, value }])
    }
    fn rested(&self) -> Ns {
        Ns::millis(self.looks.load(Ordering::Relaxed))
    }
    fn set_speed(&self, port: usize, bytes_per_s: Option<u64>) {
        let speed = bytes_per_s.map_or("free".to_owned(), |speed| speed.to_string());
        self.change(port, &speed, |port| port.speed = bytes_per_s);
    }
    fn kill(&self, port: usize) {
        self.change(port, "down", |port| port.down = true);
    }
    fn revive(&self, port: usize) -> Result<(), String> {
        let down = self.ports.lock().unwrap()[port].down;
        if self.stuck && down {
            return Err("somebody else listens there".to_owned());
        }
        self.change(port, "up", |port| port.down = false);
        Ok(())
    }
    fn set_busy(&self, port: usize, busy: bool) {
        self.change(port, if busy { "busy" } else { "ready" }, |port| port.busy = busy);
    }
    fn limit(&self, part: ArrayPart, lever: Lever, value: Option<f64>) {
        if let (ArrayPart::Port(port), Lever::Rate) = (part, lever) {
            return self.set_speed(port, value.map(|value| value.round() as u64));
        }
        let mut limits = self.limits.lock().unwrap();
        let before = match value {
            Some(value) => limits.insert((part, lever), value),
            None => limits.remove(&(part, lever)),
        };
        if before != value {
            let value = value.map_or("free".to_owned(), |value| format!("{value:.3}"));
            self.diary.lock().unwrap().push(format!("{part:?} {lever:?} {value}"));
        }
    }
}

// ---------------------------------------------------------------------------------------------------- scenarios

pub const LAB: &str = r#"
scenario.title = "arrays"
workload.w = { block = "8KiB", depth = 1 }
volume = [
  { name = "data", array = "store", size = "1MiB" },
  { name = "log", array = "store", size = "2MiB", block = 4096, thin = true },
]
[[array]]
name = "store"
embedded = { ports = [{ name = "p1", rate = "40 MB/s" }, { name = "p2" }], scale = "50%", threads = 2 }
[[vm]]
name = "vm1"
disks = [{ lun = "store/data" }]
"#;

const PLAN: &str = "[plan]\nworkload = \"w\"\non = \"vm*\"\nwarmup = \"0s\"\nmeasure = \"1s\"\ncooldown = \"0s\"\n";

pub fn load(text: &str) -> Scenario {
    let (name, text) = ("s.toml".to_owned(), text.to_owned());
    match scenario::load(&Source { name, text, ..Source::default() }) {
        Ok(scenario) => scenario,
        Err(mistakes) => panic!("{mistakes:?}"),
    }
}

/// A run of the laboratory with this plan, and what was done to its ports.
pub struct Played {
    pub outcome: Result<RunOutcome, RunError>,
    pub log: Log,
    pub diary: Vec<String>,
}

pub fn play(
    text: &str,
    worker: AgentLink,
    array: impl FnOnce(Diary) -> Option<AgentLink>,
) -> Played {
    let scenario = load(text);
    let stages: Vec<Stage> = scenario.stages();
    let diary = Diary::default();
    // The array first: the coordinator brings order into it.
    let agents = array(diary.clone()).into_iter().chain([worker]).collect();
    let trial = Trial { scenario, stages: Some(stages), ..Trial::new() };
    let (outcome, log) = trial.run(agents);
    let diary = diary.lock().unwrap().clone();
    Played { outcome, log, diary }
}

pub fn worker(script: &str) -> AgentLink {
    let engines = EngineRegistry::new().register(&["iscsi"], Box::new(common::Fake(script.into())));
    AgentLink::in_process(identity("local"), engines).unwrap()
}

pub fn array_of(fake: Fake) -> AgentLink {
    let engines = EngineRegistry::new().arrays(Box::new(fake));
    AgentLink::in_process(identity("store"), engines).unwrap().serving("store")
}

pub fn array(diary: Diary) -> Option<AgentLink> {
    Some(array_of(Fake { diary, stuck: false }))
}

// ---------------------------------------------------------------------------------------------------- tests

#[test]
fn ports_have_a_steps_speeds_and_faults_and_are_well_after_it() {
    let faults = r#"
sweep = { port = ["80 MB/s", "20 MB/s"] }
faults = [
  { at = "0s", kill = "store.p1" }, { at = "20ms", revive = "store.p1" },
  { at = "30ms", slow = "store.p2", to = "10 MB/s" }, { at = "40ms", busy = "store.p2" },
  { at = "50ms", ready = "store.p2" }, { at = "60ms", kill = "store.p1" }, { at = "61ms", busy = "store.p1" },
]
"#;
    let played = play(&format!("{LAB}{PLAN}{faults}"), worker("run"), array);
    assert_eq!(played.outcome.expect("a run").status, Status::Complete);
    let step = |speed: &str| {
        let mut all = vec![format!("p1 {speed}"), format!("p2 {speed}")];
        let rest = "p1 down|p1 up|p2 5000000|p2 busy|p2 ready|p1 down|p1 busy|p1 ready|p1 free|p1 up|p2 free";
        all.extend(rest.split('|').map(str::to_owned));
        all
    };
    assert_eq!(played.diary, [step("40000000"), step("10000000")].concat());
    let codes = ["kill", "revive", "slow", "busy", "ready", "kill", "busy"];
    let codes: Vec<String> = codes.iter().map(|code| format!("fault-{code}")).collect();
    let hop = |name: &str| played.log.sources.iter().find(|s| s.name == name).expect(name).id;
    for step in 0..2 {
        let of_step = |e: &&Event| e.step == Some(step) && e.code.starts_with("fault-");
        let events: Vec<&Event> = played.log.events.iter().filter(of_step).collect();
        assert_eq!(events.iter().map(|e| e.code.clone()).collect::<Vec<_>>(), codes);
        let times = played.log.steps[step as usize].times;
        let moments = [0, 20, 30, 40, 50, 60, 61];
        for (event, moment) in events.iter().zip(moments) {
            assert!(event.at >= times.measure.plus(Ns::millis(moment)), "{event:?} {times:?}");
            assert!(event.at < times.end && event.level == Level::Info, "{event:?}");
            let port = if event.text.starts_with("store.p1 ") { "store.p1" } else { "store.p2" };
            assert_eq!(event.source, Some(hop(port)));
        }
        assert_eq!(events[2].text, "store.p2 speed changed to 5 MB/s in each direction");
    }
}

#[test]
fn a_share_of_processors_is_counted_with_what_it_holds_back() {
    let text = format!("{LAB}{PLAN}").replace("threads = 2", "threads = 2, cpu = \"25%\"");
    // Also where the array's process is not counted.
    for text in [text.replace("threads = 2, ", "threads = 1, "), text] {
        let threads = if text.contains("threads = 2") { 2.0 } else { 1.0 };
        let played = play(&text, worker("run"), array);
        let hop = played.log.sources.iter().find(|s| s.name == "store").expect("a hop").id;
        let of = |id: CounterId| -> Vec<f64> {
            let mine = played.log.counters.iter().filter(|c| c.source == hop);
            mine.filter(|c| c.kind == id.into()).map(|c| c.value).collect()
        };
        let (quota, rested) = (of(CounterId::CpuQuota), of(CounterId::CpuThrottled));
        assert!(!quota.is_empty() && quota.iter().all(|q| *q == 0.25 * threads), "{quota:?}");
        assert!(!rested.is_empty() && rested.iter().all(|ns| *ns > 0.0), "{rested:?}");
    }
}

#[test]
fn every_port_and_volume_is_counted_at() {
    let played = play(&format!("{LAB}{PLAN}"), worker("run"), array);
    let log = &played.log;
    let hops: Vec<_> = log.sources.iter().filter(|s| s.hop().is_some()).collect();
    let names: Vec<&str> = hops.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["store", "store.p1", "store.p2", "store/data", "store/log"]);
    assert!(hops.iter().all(|hop| hop.agent == "store"));
    let counted = |hop: usize, name: &str| {
        let mine = |c: &&record::Counter| c.source == hops[hop].id && c.kind.name() == name;
        log.counters
            .iter()
            .filter(mine)
            .map(|c| (c.value, c.kind.unit().to_owned()))
            .collect::<Vec<_>>()
    };
    let all = |hop, name, check: fn(f64) -> bool, unit| {
        let counters = counted(hop, name);
        let fits = |(value, u): &(f64, String)| check(*value) && u == unit;
        assert!(!counters.is_empty() && counters.iter().all(fits), "{name}: {counters:?}");
    };
    all(0, "cpu", |v| v > 0.0, "ns");
    all(1, "read-bytes", |v| v > 0.0, "B");
    all(1, "queue-depth-end", |v| v == 3.0, "1");
    all(1, "connections", |v| v == 2.0, "1");
    all(1, "rate", |v| v == 2e7, "B/s");
    all(2, "rate", f64::is_nan, "B/s");
    all(3, "read-bytes", |v| v > 0.0, "B");
    assert!(counted(3, "connections").is_empty() && counted(3, "rate").is_empty());
    let fact = |subject: &str, key: &str| {
        let is = |f: &&record::Fact| f.subject == subject && f.key == key;
        log.facts.iter().find(is).map(|f| f.value.as_str())
    };
    assert_eq!(fact("store", "target"), Some("iqn.store"));
    assert_eq!(fact("store.p1", "rate"), Some("20000000 B/s"));
    assert_eq!(fact("store.p1", "rate-name"), Some("40 MB/s"));
    assert_eq!(fact("store.p2", "scale"), Some("50%"));
    assert_eq!(fact("store.p2", "rate"), None);
    assert_eq!(fact("store/log", "lun"), Some("1"));
}

#[test]
fn an_array_whose_process_does_other_things_has_no_cpu_time_of_its_own() {
    let text = format!("{}{PLAN}", LAB.replace(", threads = 2", ""));
    let log = play(&text, worker("run"), array).log;
    assert!(log.counters.iter().all(|c| c.kind.name() != "cpu"));
    let port = log.sources.iter().find(|s| s.name == "store.p2").expect("the port").id;
    assert!(log.counters.iter().any(|c| c.source == port && c.kind.name() == "connections"));
}

#[test]
fn a_port_that_cannot_be_brought_back_fails_the_step() {
    let text =
        format!("{LAB}{PLAN}faults = [{{ at = \"0s\", kill = \"store.p1\" }}]\nrepeat = 2\n");
    let played = play(&text, worker("run"), |diary| Some(array_of(Fake { diary, stuck: true })));
    let outcome = played.outcome.expect("a run");
    assert_eq!((outcome.status, played.log.steps.len()), (Status::Failed, 1));
    let failure = outcome.failure.expect("a failure");
    assert_eq!((failure.agent.as_str(), failure.step), ("store", 0));
    let told = failure.error.to_string();
    assert_eq!(told, "store.p1: the port cannot be brought back: somebody else listens there");
}

/// What an agent by hand does with the array of a run.
#[derive(Clone, Copy, PartialEq)]
enum Until {
    Serve,
    Arrange,
    Start,
    SecondArrange,
}

/// An agent that serves the array, and is gone when it is told to do the last of what it knows.
fn mortal(until: Until) -> AgentLink {
    let agent = by_hand("store", move |mut end| {
        introduce(&mut end, "store");
        let mut arranged = 0;
        while let Ok(message) = end.inbox.recv() {
            let answer = match message {
                ToAgent::Serve(_) if until == Until::Serve => return,
                ToAgent::Serve(specs) => {
                    let of = |spec: ArraySpec| fleet::arrays::Portals {
                        array: spec.name,
                        target: "iqn.x".into(),
                        addresses: vec![([127, 0, 0, 1], 1).into(); spec.ports.len()],
                    };
                    FromAgent::Serving(specs.into_iter().map(of).collect())
                }
                ToAgent::Arrange(_) if until == Until::Arrange => return,
                ToAgent::Arrange(_) if until == Until::SecondArrange && arranged == 1 => return,
                ToAgent::Arrange(step) => {
                    arranged += 1;
                    ready(step.index)
                }
                ToAgent::Start { .. } if until == Until::Start => return,
                ToAgent::Start { .. } => FromAgent::Finished { step: arranged - 1 },
                _ => return,
            };
            end.outbox.send(answer).unwrap();
        }
    });
    agent.serving("store")
}

#[test]
fn an_array_that_is_lost_ends_the_run_and_says_so() {
    let text = format!("{LAB}{PLAN}repeat = 3\n");
    for (until, steps) in [(Until::Arrange, 0), (Until::Start, 1), (Until::SecondArrange, 1)] {
        let played = play(&text, worker("run"), |_| Some(mortal(until)));
        let outcome = played.outcome.expect("a run");
        assert_eq!(
            (outcome.status, outcome.lost.as_slice()),
            (Status::Failed, &["store".into()][..])
        );
        assert_eq!(played.log.steps.len(), steps);
        assert_eq!(outcome.failure.expect("a failure").agent, "store");
        let told = &played.log.event("agent-lost").text;
        assert!(told.contains("Its array `store` is gone, which ends the run"), "{told}");
    }
}

#[track_caller]
fn cannot_begin(text: &str, array: impl FnOnce(Diary) -> Option<AgentLink>, why: &str) {
    let played = play(text, worker("run"), array);
    let error = played.outcome.expect_err("no run").to_string();
    assert!(error.contains(why), "{error}");
    assert_eq!(played.log.steps.len(), 0);
}

#[test]
fn a_run_whose_array_cannot_be_served_does_not_begin() {
    let text = format!("{LAB}{PLAN}");
    cannot_begin(&text, |_| None, "`store` cannot be used: no agent was started to serve");
    cannot_begin(
        &text,
        |_| Some(mortal(Until::Serve)),
        "`store` cannot be used: the other end closed",
    );
    let huge = text.replace("size = \"1MiB\"", "size = \"2TiB\"");
    cannot_begin(&huge, array, "there is no memory for it");
    let unable = |_| {
        let engines = EngineRegistry::new();
        Some(AgentLink::in_process(identity("store"), engines).unwrap().serving("store"))
    };
    cannot_begin(&text, unable, "this agent cannot serve arrays");
    let empty = "[[array]]\nname = \"bare\"\nembedded = { ports = [{ name = \"p\" }] }\n";
    cannot_begin(&format!("{LAB}{empty}{PLAN}"), array, "`bare` has no volumes");
}

#[test]
fn arrays_without_workers_are_no_load() {
    let gone = by_hand("local", |mut end| {
        introduce(&mut end, "local");
        let _ = end.inbox.recv();
    });
    let played = play(&format!("{LAB}{PLAN}"), gone, array);
    assert_eq!(played.outcome.expect("a run").status, Status::Failed);
    assert!(played.log.steps.is_empty() && played.log.done.is_empty());
}

// ---------------------------------------------------------------------------------------------------- the agent

/// An agent that can serve made-up arrays, greeted, with the test as its coordinator.
struct Held {
    end: common::CoordinatorEnd,
    thread: JoinHandle<Result<(), ServeError>>,
    diary: Diary,
}

fn held() -> Held {
    let diary = Diary::default();
    let fake = Fake { diary: diary.clone(), stuck: false };
    let engines = common::engines("wait").arrays(Box::new(fake));
    let (ours, theirs) = carrier::in_process();
    let mut end = common::plain(ours);
    let thread = thread::spawn(move || fleet::serve(theirs, engines, identity("store")));
    end.outbox.send(ToAgent::Hello { version: PROTOCOL, run: "a test".into() }).unwrap();
    assert!(matches!(end.inbox.recv(), Ok(FromAgent::Hello(_))));
    Held { end, thread, diary }
}

impl Held {
    fn tell(&mut self, message: ToAgent) -> FromAgent {
        self.end.outbox.send(message).unwrap();
        self.end.inbox.recv().unwrap()
    }

    /// The next message that is neither counters nor an event, and the events before it.
    fn end_of_step(&mut self) -> (FromAgent, Vec<Event>) {
        let mut events = Vec::new();
        loop {
            match self.end.inbox.recv().unwrap() {
                FromAgent::Counters(_) => {}
                FromAgent::Event(event) => events.push(event),
                other => return (other, events),
            }
        }
    }

    fn serve(&mut self) {
        assert!(matches!(self.tell(ToAgent::Serve(vec![one_port()])), FromAgent::Serving(_)));
    }

    fn diary(&self) -> Vec<String> {
        self.diary.lock().unwrap().clone()
    }
}

fn one_port() -> ArraySpec {
    let port = fleet::arrays::PortSpec { name: "p1".into(), speed: None };
    let (name, scale) = ("store".to_owned(), "100%".to_owned());
    let (volumes, limits) = (Vec::new(), Vec::new());
    ArraySpec {
        name,
        threads: 1,
        scale,
        ports: vec![port],
        volumes,
        library: None,
        limits,
        access: None,
    }
}

/// A step of ten minutes on that port, which warms up for as long.
fn long_step(port: &str, faults: &[(u64, PortFault)]) -> ToAgent {
    let fault =
        |(ms, action): &(u64, PortFault)| FaultSpec { at: Ns::millis(*ms), action: *action };
    let (array, port) = ("store".to_owned(), port.to_owned());
    let faults = faults.iter().map(fault).collect();
    ToAgent::Arrange(Box::new(ArrayStep {
        index: 0,
        warmup: Ns::secs(600),
        measure: Ns::secs(600),
        cooldown: Ns::ZERO,
        ports: vec![PortStep { array, port, bytes_per_s: Some(1000), faults }],
        proof: None,
    }))
}

fn start(hops: &[u32]) -> (ToAgent, Ns) {
    let now = clock::now();
    let hops = hops.iter().map(|id| SourceId(*id)).collect();
    (ToAgent::Start { epoch: now, at: now, hops }, now)
}

#[test]
fn what_makes_no_sense_is_refused() {
    #[track_caller]
    fn refused(serves: bool, message: ToAgent, why: &str) {
        let mut held = held();
        if serves {
            held.serve();
        }
        match held.tell(message) {
            FromAgent::Failed { step: None, error } => {
                assert!(error.to_string().contains(why), "{error}")
            }
            other => panic!("{other:?}"),
        }
        assert!(held.thread.join().unwrap().is_err());
    }
    refused(false, long_step("p1", &[]), "Arrange before Serve");
    refused(true, ToAgent::Serve(vec![one_port()]), "Serve while waiting for a step");
    let (message, _) = start(&[]);
    refused(true, message, "Start while waiting for a step");
    let workers = StepSpec {
        index: 0,
        seed: 1,
        warmup: Ns::ZERO,
        measure: Ns::secs(1),
        cooldown: Ns::ZERO,
        slice: Ns::ZERO,
        targets: Vec::new(),
        workers: Vec::new(),
        loads: Vec::new(),
        attended: Vec::new(),
        counted: None,
        lab: None,
    };
    refused(true, ToAgent::Prepare(Box::new(workers)), "Prepare while waiting for a step");
}

#[test]
fn an_unknown_port_fails_the_step_alone() {
    let mut held = held();
    held.serve();
    match held.tell(long_step("p7", &[])) {
        FromAgent::Failed { step: Some(0), error } => {
            assert_eq!(error.to_string(), "`store.p7` is no port of an array that is served here");
        }
        other => panic!("{other:?}"),
    }
    assert!(matches!(held.tell(long_step("p1", &[])), FromAgent::Ready { step: 0, .. }));
}

#[test]
fn a_step_that_is_stopped_leaves_its_ports_well() {
    let mut held = held();
    held.serve();
    // Before its start nothing has been done to ports.
    assert!(matches!(held.tell(long_step("p1", &[])), FromAgent::Ready { .. }));
    assert_eq!(held.tell(ToAgent::Stop), FromAgent::Finished { step: 0 });
    assert!(held.diary().is_empty());
    assert!(matches!(held.tell(long_step("p1", &[])), FromAgent::Ready { .. }));
    held.end.outbox.send(start(&[]).0).unwrap();
    held.end.outbox.send(ToAgent::Stop).unwrap();
    assert_eq!(held.end_of_step(), (FromAgent::Finished { step: 0 }, Vec::new()));
    assert_eq!(held.diary(), ["p1 1000", "p1 free"]);
}

#[test]
fn faults_are_counted_from_a_measurement_that_is_brought_forward() {
    let mut held = held();
    held.serve();
    let faults = [(0, PortFault::Kill), (1, PortFault::Revive), (599_999, PortFault::Busy)];
    assert!(matches!(held.tell(long_step("p1", &faults)), FromAgent::Ready { .. }));
    let (message, began) = start(&[4, 9]);
    held.end.outbox.send(message).unwrap();
    let at = began.plus(Ns::secs(2));
    held.end.outbox.send(ToAgent::Measure { step: 0, at }).unwrap();
    let mut events = Vec::new();
    while events.len() < 2 {
        match held.end.inbox.recv().unwrap() {
            FromAgent::Event(event) => events.push(event),
            FromAgent::Counters(_) => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(
        events.iter().map(|e| e.code.as_str()).collect::<Vec<_>>(),
        ["fault-kill", "fault-revive"]
    );
    assert!(events.iter().all(|e| e.at >= Ns::secs(2) && e.source == Some(SourceId(9))));
    held.end.outbox.send(ToAgent::Stop).unwrap();
    assert_eq!(held.end_of_step(), (FromAgent::Finished { step: 0 }, Vec::new()));
    assert_eq!(held.diary(), ["p1 1000", "p1 down", "p1 up", "p1 free"]);
}

#[test]
fn a_measurement_that_cannot_be_brought_forward_any_more_fails_the_step() {
    let mut held = held();
    held.serve();
    assert!(matches!(held.tell(long_step("p1", &[])), FromAgent::Ready { .. }));
    let (message, began) = start(&[]);
    held.end.outbox.send(message).unwrap();
    held.end.outbox.send(ToAgent::Measure { step: 0, at: began }).unwrap();
    assert!(matches!(held.end_of_step().0, FromAgent::Failed { step: Some(0), .. }));
}

#[test]
fn arrays_are_gone_with_their_coordinator() {
    let mut held = held();
    held.serve();
    assert!(matches!(held.tell(long_step("p1", &[])), FromAgent::Ready { .. }));
    held.end.outbox.send(start(&[]).0).unwrap();
    let Held { end, thread, diary } = held;
    drop(end);
    assert!(thread.join().unwrap().is_err());
    // Whatever looked at the arrays has let go of them, or is about to.
    while Arc::strong_count(&diary) > 1 {
        clock::sleep_until(clock::now().plus(Ns::millis(1)));
    }
}

// ---------------------------------------------------------------------------------------------------- assignment

/// Name and URL of the targets of `vm1`, before and after its arrays stand.
fn targets(disks: &str) -> Vec<String> {
    let text = format!("{LAB}{PLAN}").replace("[{ lun = \"store/data\" }]", disks);
    let scenario = load(&text);
    let steps: Vec<Step> = scenario.steps();
    let mut assignment = Assignment::new(&scenario, &steps, 1, &["local".into()]).unwrap();
    let list = |assignment: &Assignment| {
        let step = assignment.step(&steps[0]).unwrap();
        let targets = step.specs[0].as_ref().unwrap().targets.clone();
        targets.into_iter().map(|t| format!("{} {} {:?}", t.name, t.url, t.made_as))
    };
    let mut all: Vec<String> = list(&assignment).collect();
    let volume = |name: &str| fleet::arrays::ArrayVolume {
        name: name.into(),
        size: 1 << 20,
        block: 512,
        thin: false,
        serial: format!("S-{name}"),
    };
    let port = |name: &str| fleet::arrays::PortSpec { name: name.into(), speed: None };
    let spec = ArraySpec {
        name: "store".into(),
        threads: 0,
        scale: "100%".into(),
        ports: vec![port("p1"), port("p2")],
        volumes: vec![volume("data"), volume("log")],
        library: None,
        limits: Vec::new(),
        access: None,
    };
    let portals = fleet::arrays::Portals {
        array: "store".into(),
        target: "iqn.x".into(),
        addresses: vec![([127, 0, 0, 1], 1).into(), ([127, 0, 0, 1], 2).into()],
    };
    assignment.stand(vec![spec], vec![portals]).unwrap();
    all.extend(list(&assignment));
    all
}

#[track_caller]
fn check_targets(disks: &str, expected: &[&str]) {
    assert_eq!(targets(disks), expected, "{disks}");
}

#[test]
fn a_disk_is_reached_by_all_its_ports() {
    check_targets(
        r#"[{ lun = "store/log", ports = ["p2"] }]"#,
        &[
            "store/log array:store/log?ports=p2&policy=fixed None",
            r#"store/log iscsi://127.0.0.1:2/iqn.x/1 Some("S-log")"#,
        ],
    );
    check_targets(
        r#"[{ lun = "store/data" }]"#,
        &[
            "store/data array:store/data?ports=p1,p2&policy=round-robin None",
            r#"store/data iscsi://127.0.0.1:1,127.0.0.1:2/iqn.x/0?policy=round-robin Some("S-data")"#,
        ],
    );
    check_targets(
        r#"[{ lun = "store/data", ports = ["p2", "p1"], policy = "round-robin", switch_after = "1MiB" }]"#,
        &[
            "store/data array:store/data?ports=p2,p1&policy=round-robin&switch_after=1MiB None",
            r#"store/data iscsi://127.0.0.1:2,127.0.0.1:1/iqn.x/0?policy=round-robin&switch_after=1MiB Some("S-data")"#,
        ],
    );
}

#[test]
fn a_disk_keeps_the_patience_that_it_was_given() {
    check_targets(
        r#"[{ lun = "store/log", ports = "p2", path_timeout = "1500ms" }]"#,
        &[
            "store/log array:store/log?ports=p2&policy=fixed&path_timeout=1500ms None",
            r#"store/log iscsi://127.0.0.1:2/iqn.x/1?path_timeout=1500ms Some("S-log")"#,
        ],
    );
    check_targets(
        r#"[{ lun = "store/data", no_path_retry = "1m", path_timeout = "500000001ns", command_timeout = "5s" }]"#,
        &[
            "store/data array:store/data?ports=p1,p2&policy=round-robin&no_path_retry=60000ms&\
             path_timeout=500000001ns&command_timeout=5000ms None",
            r#"store/data iscsi://127.0.0.1:1,127.0.0.1:2/iqn.x/0?policy=round-robin&no_path_retry=60000ms&path_timeout=500000001ns&command_timeout=5000ms Some("S-data")"#,
        ],
    );
    // Each way is a target with a name of its own.
    let told = targets(
        r#"[{ lun = "store/data" }, { lun = "store/data", path_timeout = "1s" }, { lun = "store/data", path_timeout = "2s" }]"#,
    );
    let names: Vec<&str> = told[..3].iter().filter_map(|t| t.split(" array:").next()).collect();
    assert_eq!(
        names,
        [
            "store/data",
            "store/data by p1+p2, round-robin, path_timeout 1 s",
            "store/data by p1+p2, round-robin, path_timeout 2 s"
        ]
    );
}

#[test]
fn two_ways_to_a_volume_are_two_targets_of_one_medium() {
    let lab = LAB.replace(
        "disks = [{ lun = \"store/data\" }]",
        "disks = [{ lun = \"store/data\", ports = [\"p1\"] }]\n[[vm]]\nname = \"vm2\"\n\
         disks = [{ lun = \"store/data\", ports = [\"p2\"] }]\n[[vm]]\nname = \"vm3\"\n\
         disks = [{ lun = \"store/log\", ports = [\"p2\"] }]",
    );
    let scenario = load(&format!("{lab}{PLAN}"));
    let steps = scenario.steps();
    let agents = ["a".to_owned(), "b".to_owned()];
    let assignment = Assignment::new(&scenario, &steps, 1, &agents).unwrap();
    let specs = assignment.step(&steps[0]).unwrap().specs;
    let told = |agent: usize| {
        let spec = specs[agent].as_ref().unwrap();
        let of = |w: &engine::WorkerSpec| {
            let target = &spec.targets[usize::from(w.targets[0])].name;
            format!("{} on {target} {}/{}", w.name, w.sharer, w.sharers)
        };
        spec.workers.iter().map(of).collect::<Vec<_>>()
    };
    assert_eq!(told(0), ["vm1 on store/data 0/2", "vm2 on store/data by p2, fixed 1/2"]);
    assert_eq!(told(1), ["vm3 on store/log 0/1"]);
}

#[test]
fn an_array_that_is_served_otherwise_than_asked_is_refused() {
    let wrong = || {
        let agent = by_hand("store", |mut end| {
            introduce(&mut end, "store");
            let _ = end.inbox.recv();
            let portals = fleet::arrays::Portals {
                array: "store".into(),
                target: "iqn.x".into(),
                addresses: Vec::new(),
            };
            end.outbox.send(FromAgent::Serving(vec![portals])).unwrap();
            let _ = end.inbox.recv();
        });
        Some(agent.serving("store"))
    };
    cannot_begin(
        &format!("{LAB}{PLAN}"),
        |_| wrong(),
        "`store` is not served as the scenario has it",
    );
}
