//! Ceremony: a receiver on a free port, and a short step against it, driven as an agent drives it.

use crate::prelude::*;
use engine::{
    Engine, EngineError, EngineLoad, NetSources, NetSpec, Output, Prepared, ReceiverAddress,
    ReceiverSpec, StepHandle, StepSpec, Stop, TokenSource,
};
use net::interface::Guardian;
use net::{
    Carriage, EmbeddedReceiver, Heading, NetEngine, NetError, Network, Receiver, ReceiverConfig,
    ReceiverEvent, ReceiverListener, Secret, SideReport, Surroundings, TestSpec,
};
use record::{Counter, Fact, Histogram, Interval, Phase, SourceId};

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(60);
/// The step's number in the record.
pub const STEP: u32 = 7;

/// Receivers and tokens as a test has them: a token is what the scenario calls its place.
pub struct Around;

impl Surroundings for Around {
    fn token(&mut self, from: &TokenSource) -> Result<Secret, NetError> {
        match from {
            TokenSource::Env(token) => Secret::new(token.as_bytes()),
            TokenSource::File(path) => Err(NetError::Spec(format!("{path}: no such token"))),
        }
    }

    fn embed(&mut self, receiver: &ReceiverSpec) -> Result<EmbeddedReceiver, NetError> {
        let token = Some(Secret::new(receiver.name.repeat(16).as_bytes())?);
        let stands = start("127.0.0.1:0", token.clone());
        let port = stands.addresses()[0].port();
        Ok(EmbeddedReceiver { host: "127.0.0.1".to_owned(), port, token, stands: Box::new(stands) })
    }

    fn guardian(&self) -> Option<Guardian> {
        Some(missing_guardian())
    }
}

/// A guardian that does not exist: a test that tried to change something would find out.
pub fn missing_guardian() -> Guardian {
    Guardian { program: "/no/such/program".into(), args: Vec::new() }
}

/// An engine that asks the test for what it needs.
pub fn engine() -> NetEngine {
    NetEngine::new(Box::new(Around))
}

/// A receiver that tells nobody.
pub fn start(address: &str, token: Option<Secret>) -> Receiver {
    let config = ReceiverConfig { token, ..receiver_config(address, listener().0) };
    Receiver::start(config).expect("loopback is there")
}

/// A receiver without a token at one address.
pub fn receiver_config(address: &str, listener: ReceiverListener) -> ReceiverConfig {
    let listen = vec![address.parse().expect("an address")];
    ReceiverConfig { listen, token: None, cpus: Vec::new(), adjust: None, listener }
}

/// A listener that forwards what it hears.
pub fn listener() -> (ReceiverListener, mpsc::Receiver<ReceiverEvent>) {
    let (tell, events) = mpsc::channel();
    let hear = move |event| {
        // A test that has ended hears no more.
        let _ = tell.send(event);
    };
    (ReceiverListener::new(hear), events)
}

/// Where a receiver of this process is.
pub fn at(receiver: &Receiver) -> ReceiverAddress {
    place(receiver.addresses()[0])
}

/// Where an address is.
pub fn place(address: SocketAddr) -> ReceiverAddress {
    ReceiverAddress::At { host: address.ip().to_string(), port: address.port() }
}

/// A port of this host.
pub fn port(port: u16) -> ReceiverAddress {
    ReceiverAddress::At { host: "127.0.0.1".to_owned(), port }
}

/// A load of so many streams under the numbers from `first` on: hop, sender, receiver, then the streams' ends.
pub fn net(name: &str, place: ReceiverAddress, network: Network, first: u32) -> NetSpec {
    let (up, down) = network.ways();
    let id = |n: u32| SourceId(first + n);
    let streams = u32::from(up) + u32::from(down);
    let probe = network.probe.then(|| id(3 + 2 * streams));
    let streams = (0..streams).map(|n| (id(3 + 2 * n), id(4 + 2 * n))).collect();
    NetSpec {
        name: name.to_owned(),
        receiver: ReceiverSpec {
            name: name.to_owned(),
            place,
            ipv6: None,
            source: None,
            source_port: None,
            token: None,
            adjust: None,
        },
        network,
        frames: NetFrames::default(),
        sources: NetSources { hop: id(0), sender: id(1), receiver: id(2), streams, probe },
    }
}

/// The one load of a step.
pub fn only(step: &mut StepSpec) -> &mut NetSpec {
    let [EngineLoad::Net(net)] = &mut step.loads[..] else { panic!("one load") };
    net
}

/// A step of these loads; its times in milliseconds.
pub fn step(nets: Vec<NetSpec>, [warmup, measure, cooldown]: [u64; 3]) -> StepSpec {
    StepSpec {
        index: STEP,
        seed: 1,
        warmup: Ns::millis(warmup),
        measure: Ns::millis(measure),
        cooldown: Ns::millis(cooldown),
        slice: Ns::ZERO,
        targets: Vec::new(),
        workers: Vec::new(),
        loads: nets.into_iter().map(EngineLoad::Net).collect(),
        attended: Vec::new(),
        counted: None,
        lab: None,
    }
}

/// A step of one load to a place, under the numbers from 10 on.
pub fn step_of(place: ReceiverAddress, spec: &TestSpec) -> StepSpec {
    let TestSpec { warmup, measure, cooldown, .. } = *spec;
    let nets = vec![net("far", place, spec.network.clone(), 10)];
    StepSpec { warmup, measure, cooldown, ..step(nets, [0; 3]) }
}

/// A step under way.
pub struct Under {
    pub handle: Box<dyn StepHandle>,
    pub outputs: mpsc::Receiver<Output>,
    nets: Vec<NetSpec>,
    facts: Vec<Fact>,
    pub edges: [Ns; 4],
}

pub fn prepare(engine: &mut NetEngine, step: &StepSpec) -> Result<Box<dyn Prepared>, EngineError> {
    let (notes, _) = mpsc::channel();
    engine.prepare(step, &notes, &Stop::default())
}

/// Starts a step at a moment that is no whole second of its time base.
pub fn try_begin(engine: &mut NetEngine, step: &StepSpec) -> Result<Under, EngineError> {
    let prepared = prepare(engine, step)?;
    let (out, outputs) = mpsc::channel();
    let facts = prepared.facts();
    let at = clock::now().plus(Ns::millis(50));
    let epoch = Ns(at.0 - 5_700_000_000);
    let start = at.since(epoch);
    let measure = start.plus(step.warmup);
    let cooldown = measure.plus(step.measure);
    let edges = [start, measure, cooldown, cooldown.plus(step.cooldown)];
    let nets = step.nets().cloned().collect();
    Ok(Under { handle: prepared.start(epoch, at, out), outputs, nets, facts, edges })
}

#[track_caller]
pub fn begin(engine: &mut NetEngine, step: &StepSpec) -> Under {
    try_begin(engine, step).unwrap_or_else(|e| panic!("{e}"))
}

impl Under {
    /// All that it says until it is over.
    pub fn end(self) -> Told {
        self.end_with(|_| {})
    }

    /// The same, each said to `hear` first.
    pub fn end_with(self, mut hear: impl FnMut(&Output)) -> Told {
        let mut outputs = Vec::new();
        loop {
            let said = self.outputs.recv_timeout(PATIENCE).expect("it ends");
            hear(&said);
            let last = matches!(said, Output::Finished | Output::Failed(_));
            outputs.push(said);
            if last {
                break;
            }
        }
        drop(self.handle);
        assert!(self.outputs.try_recv().is_err(), "nothing follows the end");
        Told { nets: self.nets, facts: self.facts, outputs, edges: self.edges }
    }
}

/// Whether an end of a stream has counted something: the load is under way.
pub fn counted(output: &Output) -> bool {
    matches!(output, Output::Interval(_))
}

/// What a step told, and the moments that it was given.
pub struct Told {
    nets: Vec<NetSpec>,
    pub facts: Vec<Fact>,
    pub outputs: Vec<Output>,
    /// Start and edges on the record's time base.
    pub edges: [Ns; 4],
}

/// What one end of a stream carried: the sum of its intervals.
#[derive(Default)]
pub struct Carried {
    pub bytes: u64,
    pub ops: u64,
    pub errors: u64,
    pub service: Histogram,
}

impl Told {
    /// The first load.
    pub fn net(&self) -> &NetSpec {
        &self.nets[0]
    }

    /// Both ends of the first load's streams: those that send, or ask, and those that receive.
    pub fn streams(&self) -> &[(SourceId, SourceId)] {
        &self.net().sources.streams
    }

    pub fn intervals(&self, source: SourceId) -> Vec<&Interval> {
        let intervals = self.outputs.iter().filter_map(|output| match output {
            Output::Interval(interval) => Some(&**interval),
            _ => None,
        });
        intervals.filter(|interval| interval.source == source).collect()
    }

    fn all_counters(&self, source: SourceId) -> impl Iterator<Item = &Counter> {
        let counters = self.outputs.iter().filter_map(|output| match output {
            Output::Counter(counter) => Some(counter),
            _ => None,
        });
        counters.filter(move |counter| counter.source == source)
    }

    pub fn counters(&self, source: SourceId, name: &str) -> Vec<&Counter> {
        self.all_counters(source).filter(|counter| counter.kind.name() == name).collect()
    }

    #[track_caller]
    pub fn sum(&self, source: SourceId, name: &str) -> u64 {
        let counters = self.counters(source, name);
        assert!(!counters.is_empty(), "{name} of {source:?}");
        counters.iter().map(|counter| counter.value as u64).sum()
    }

    /// The processor time of a machine's threads, by their names.
    pub fn threads(&self, machine: SourceId) -> Vec<(&str, Ns)> {
        let named = |counter: &'_ Counter| counter.kind.name() == "thread-cpu";
        let threads = self.all_counters(machine).filter(|counter| named(counter));
        threads.map(|c| (c.part.as_deref().unwrap_or_default(), Ns(c.value as u64))).collect()
    }

    /// What an end carried, over all its intervals or the measured ones.
    pub fn carried(&self, source: SourceId, measured: bool) -> Carried {
        let mut sum = Carried::default();
        for interval in self.intervals(source) {
            let tally = interval.read.as_ref().or(interval.write.as_ref()).expect("an end");
            if !measured || interval.phase == Phase::Measure {
                sum.bytes += tally.bytes;
                sum.ops += tally.ops;
                sum.errors += tally.errors;
                sum.service.merge(&tally.service);
            }
        }
        sum
    }

    /// The bytes that never arrived, both ways.
    pub fn undelivered(&self) -> u64 {
        let hop = self.net().sources.hop;
        self.sum(hop, "write-undelivered") + self.sum(hop, "read-undelivered")
    }

    /// The value of a fact of the first load.
    pub fn fact(&self, key: &str) -> Option<&str> {
        let of = |fact: &&Fact| fact.subject == self.net().name && fact.key == key;
        self.facts.iter().find(of).map(|fact| fact.value.as_str())
    }

    /// Why an end of a stream broke.
    pub fn broke(&self, source: SourceId) -> Option<&str> {
        self.outputs.iter().find_map(|output| match output {
            Output::Event(event) if event.source == Some(source) => {
                assert_eq!(event.code, "stream-broke");
                Some(event.text.as_str())
            }
            _ => None,
        })
    }

    #[track_caller]
    pub fn finished(&self) {
        assert_eq!(self.outputs.last(), Some(&Output::Finished));
        let events = self.outputs.iter().filter(|output| matches!(output, Output::Event(_)));
        assert_eq!(events.collect::<Vec<_>>(), Vec::<&Output>::new());
    }

    /// Why it failed.
    pub fn failure(&self) -> Option<String> {
        match self.outputs.last() {
            Some(Output::Failed(e)) => Some(e.to_string()),
            _ => None,
        }
    }
}

/// Runs a step; an error is why it could not be prepared, or why it failed.
pub fn try_run(step: &StepSpec) -> Result<Told, String> {
    let told = try_begin(&mut engine(), step).map_err(|e| e.to_string())?.end();
    match told.failure() {
        Some(why) => Err(why),
        None => Ok(told),
    }
}

#[track_caller]
pub fn refused(result: Result<Told, String>, hint: &str) {
    let error = result.err().expect("it cannot work");
    assert!(error.contains(hint), "{hint:?} is not in {error:?}");
}

/// A receiver on loopback, and what it told.
pub struct Bench {
    pub receiver: Receiver,
    pub events: mpsc::Receiver<ReceiverEvent>,
}

impl Bench {
    pub fn new() -> Bench {
        Bench::at("127.0.0.1:0")
    }

    pub fn at(address: &str) -> Bench {
        let (listener, events) = listener();
        let receiver = Receiver::start(receiver_config(address, listener));
        Bench { receiver: receiver.expect("loopback is there"), events }
    }

    pub fn address(&self) -> SocketAddr {
        self.receiver.addresses()[0]
    }

    pub fn place(&self) -> ReceiverAddress {
        at(&self.receiver)
    }

    pub fn try_run(&self, spec: &TestSpec) -> Result<Told, String> {
        try_run(&step_of(self.place(), spec))
    }

    /// Runs a test that must go well: what the engine told of both ends, and what the receiver told of its own. Where the
    /// machine had no time for a thread in the whole of it, once more and longer.
    #[track_caller]
    pub fn run(&self, spec: &TestSpec) -> (Told, SideReport) {
        let mut spec = spec.clone();
        loop {
            let told = self.try_run(&spec).unwrap_or_else(|e| panic!("{e}"));
            told.finished();
            let side = self.ended();
            let ends = told.streams().iter().flat_map(|(one, other)| [*one, *other]);
            if ends.clone().all(|end| told.carried(end, false).bytes > 0)
                || spec.measure > Ns::secs(5)
            {
                return (told, side);
            }
            spec.measure = Ns(spec.measure.0 * 2);
        }
    }

    /// What the receiver tells people of the next test that comes to its end.
    #[track_caller]
    pub fn ended(&self) -> SideReport {
        self.event(|event| match event {
            ReceiverEvent::Ended { side, .. } => Some((**side).clone()),
            _ => None,
        })
    }

    /// The reason of the next failure that the receiver tells.
    #[track_caller]
    pub fn failure(&self) -> String {
        self.event(|event| match event {
            ReceiverEvent::Failed { why, .. } => Some(why.clone()),
            _ => None,
        })
    }

    /// Waits for the next event of which `wanted` makes something.
    #[track_caller]
    pub fn event<T>(&self, wanted: impl Fn(&ReceiverEvent) -> Option<T>) -> T {
        loop {
            let event = self.events.recv_timeout(PATIENCE).expect("the receiver tells");
            if let Some(found) = wanted(&event) {
                return found;
            }
        }
    }
}

/// A test that is over soon.
pub fn short(load: Carriage) -> TestSpec {
    TestSpec {
        warmup: Ns::millis(60),
        measure: Ns::millis(250),
        cooldown: Ns::millis(40),
        ..TestSpec::new(load)
    }
}

/// The same test with another load.
pub fn with(mut spec: TestSpec, change: impl FnOnce(&mut Network)) -> TestSpec {
    change(&mut spec.network);
    spec
}

/// So many streams to the receiver, and from it: equal numbers, or none one way.
pub fn ways(network: &mut Network, up: u16, down: u16) {
    assert!(up == down || up == 0 || down == 0, "{up} and {down}");
    network.streams = up.max(down);
    network.heading = match (up, down) {
        (0, 1..) => Heading::Receive,
        (_, 0) => Heading::Send,
        _ => Heading::Both,
    };
}
