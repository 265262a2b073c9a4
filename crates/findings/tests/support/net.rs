//! Records with network loads, written by hand under the names that the engine uses, from a few words about each pair.
#![allow(dead_code, reason = "each test program uses a part of it")]

use super::counter;
use clock::Ns;
use record::{
    Completed, Counter, Fact, Flow, HopKind, Interval, Phase, Producer, ProducerKind, Record,
    RunHead, ScenarioText, Source, SourceId, SourceKind, Status, StepHead, StepTimes, StreamEnd,
    StreamLoad, Writer,
};
use std::collections::BTreeMap;

/// Who counts something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum At {
    /// Each stream's writing end.
    Sent,
    /// Each stream's reading end.
    Received,
    /// The pair.
    Hop,
    /// The sender's machine.
    Sender,
    /// The receiver's machine.
    Receiver,
}

/// How a counter is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Much {
    /// So much a second, a row for each second of the measured time.
    Each(f64),
    /// So much, once, over the measured time.
    Once(f64),
}

/// A network load of one pair in one step.
#[derive(Clone, Debug)]
pub struct NetLoad {
    pub pair: &'static str,
    pub workload: &'static str,
    pub up: u16,
    pub down: u16,
    /// Bytes a second that each stream receives, by its number; the last one stands for all that follow.
    pub rates: Vec<f64>,
    /// How many times that each writing end sends.
    pub sent: f64,
    pub message: u64,
    /// The time of each transaction, where they are timed.
    pub takes: Option<Ns>,
    /// Failed operations of each writing end a second.
    pub errors: u64,
    /// Seconds that the reading ends report.
    pub seconds: u64,
    /// Measured seconds in which nothing is moved, from and to.
    pub idle: (u64, u64),
    /// The receiver itself does not run in them.
    pub stopped: bool,
    /// The time of each probe, and how many there are a second.
    pub probe: Option<(Ns, u64)>,
    pub counters: BTreeMap<(At, String), Much>,
}

/// Measured seconds of each step.
pub const SECONDS: u64 = 10;

impl NetLoad {
    /// One TCP stream of 64 KiB messages that fills a 10GbE wire with jumbo frames to 99%.
    pub fn tcp() -> NetLoad {
        NetLoad {
            pair: "far",
            workload: "wire",
            up: 1,
            down: 0,
            rates: vec![1226e6],
            sent: 1.0,
            message: 65536,
            takes: None,
            errors: 0,
            seconds: SECONDS,
            idle: (0, 0),
            stopped: false,
            probe: None,
            counters: BTreeMap::new(),
        }
        .each(At::Sent, &[("calls", 18_700.0), ("packets", 137_000.0), ("retransmits", 0.0)])
        .each(At::Sent, &[("back-bytes", 0.0)])
        .once(At::Sent, &[("mss", 8948.0), ("path-mtu", 9000.0), ("tcp-timestamps", 1.0)])
        .once(At::Sent, &[("multipath", 0.0), ("rtt", 250_000.0), ("rtt-min", 40_000.0)])
        .once(At::Sent, &[("rtt-deviation", 20_000.0), ("cwnd", 80.0), ("delivery-rate", 1.2e9)])
        .once(At::Sent, &[("tcp-busy", 9.9e9), ("receiver-limited", 0.0), ("buffer-limited", 1e8)])
        .once(At::Sent, &[("send-buffer", 4_194_304.0)])
        .once(At::Received, &[("receive-buffer", 6_291_456.0), ("out-of-order", 0.0)])
        .once(At::Hop, &[("clock-offset", -12_000.0), ("clock-bound", 45_000.0)])
        .once(At::Hop, &[("write-undelivered", 0.0), ("read-undelivered", 0.0)])
        .machine(At::Sender, 0.15)
        .machine(At::Receiver, 0.45)
        .once(At::Sender, &[("thread-cpu/up-0", 1.6e9), ("interface-mtu", 9000.0)])
        .once(At::Receiver, &[("thread-cpu/up-0", 4.5e9), ("interface-mtu", 9000.0)])
        .once(At::Sender, &[("interface-speed", 1.25e9), ("offload/tx-tcp-segmentation", 1.0)])
        .once(At::Receiver, &[("interface-speed", 1.25e9), ("offload/rx-gro", 1.0)])
    }

    /// One UDP stream of datagrams of 1,400 bytes at 490 MB/s.
    pub fn udp() -> NetLoad {
        let tcp_only = ["mss", "tcp-timestamps", "rtt", "tcp-busy", "path-mtu", "retransmits"];
        let load = tcp_only.iter().fold(NetLoad::tcp(), |load, name| load.without(name));
        let load = NetLoad { rates: vec![490e6], message: 1400, ..load };
        load.once(At::Sent, &[("datagrams-sent", 3_528_000.0)])
            .once(
                At::Received,
                &[("datagrams-received", 3_500_000.0), ("datagrams-lost", 28_000.0)],
            )
            .each(At::Received, &[("lost", 2800.0), ("reordered", 3.0), ("duplicates", 1.0)])
            .each(At::Received, &[("jitter", 5_000.0)])
            .once(At::Sender, &[("interface-mtu", 1500.0)])
            .once(At::Receiver, &[("interface-mtu", 1500.0)])
    }

    /// A machine of four processors of which so great a share is busy.
    fn machine(self, at: At, share: f64) -> NetLoad {
        let ns = share * 4.0 * 1e9;
        self.once(at, &[("processors", 4.0)])
            .each(at, &[("cpu-user", ns * 0.1), ("cpu-system", ns * 0.4)])
            .each(at, &[("host-user", ns * 0.1), ("host-system", ns * 0.5)])
            .each(at, &[("host-softirq", ns * 0.35), ("host-irq", ns * 0.05)])
            .each(
                at,
                &[("interrupts", 40_000.0), ("softnet-drops", 0.0), ("softnet-squeezes", 2.0)],
            )
    }

    /// Counters of so much a second.
    pub fn each(self, at: At, counters: &[(&str, f64)]) -> NetLoad {
        self.counting(at, counters, Much::Each)
    }

    /// Counters of so much, once.
    pub fn once(self, at: At, counters: &[(&str, f64)]) -> NetLoad {
        self.counting(at, counters, Much::Once)
    }

    fn counting(mut self, at: At, counters: &[(&str, f64)], much: fn(f64) -> Much) -> NetLoad {
        let rows = counters.iter().map(|(name, value)| ((at, (*name).to_owned()), much(*value)));
        self.counters.extend(rows);
        self
    }

    /// Without a counter, wherever it was.
    pub fn without(mut self, name: &str) -> NetLoad {
        self.counters.retain(|(_, counter), _| counter != name);
        self
    }

    fn rate(&self, number: u16) -> f64 {
        let last = self.rates.last().copied().unwrap_or(0.0);
        self.rates.get(usize::from(number)).copied().unwrap_or(last)
    }
}

/// A step: its settings, its repetition and what ran.
pub struct NetStep {
    pub settings: Vec<(String, String)>,
    pub repetition: u32,
    pub loads: Vec<NetLoad>,
}

/// A run of network loads to be written.
pub struct NetSketch<'a> {
    scenario: &'a str,
    pub facts: Vec<Fact>,
    steps: Vec<NetStep>,
    status: Status,
}

impl<'a> NetSketch<'a> {
    /// A run of a scenario, with the facts of two hosts on an IPv4 network.
    pub fn of(scenario: &'a str) -> NetSketch<'a> {
        let sketch =
            NetSketch { scenario, facts: Vec::new(), steps: Vec::new(), status: Status::Complete };
        sketch
            .fact("far", "ip-version", "ipv4")
            .fact("far", "congestion", "cubic")
            .fact("far", "sender-host", "alpha")
            .fact("far", "receiver-host", "beta")
            .fact("far", "sender-interface", "eth1")
            .fact("far", "receiver-interface", "eth2")
            .fact("far", "sender-kernel", "6.1.0")
            .fact("far", "receiver-kernel", "6.1.0")
    }

    pub fn fact(mut self, subject: &str, key: &str, value: &str) -> NetSketch<'a> {
        self.facts.retain(|fact| (fact.subject.as_str(), fact.key.as_str()) != (subject, key));
        let (subject, key, value) = (subject.to_owned(), key.to_owned(), value.to_owned());
        self.facts.push(Fact { subject, key, value });
        self
    }

    /// Another step.
    pub fn step(
        mut self,
        settings: &[(&str, &str)],
        repetition: u32,
        loads: &[NetLoad],
    ) -> NetSketch<'a> {
        let settings = settings.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        self.steps.push(NetStep { settings, repetition, loads: loads.to_vec() });
        self
    }

    /// How the run ended.
    pub fn status(mut self, status: Status) -> NetSketch<'a> {
        self.status = status;
        self
    }

    /// Writes the record and opens it; it is gone with its directory.
    #[track_caller]
    pub fn record(&self) -> (tempfile::TempDir, Record) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let path = dir.path().join("run.wsr");
        self.write(&path);
        let record = Record::open(&path).expect("the record opens");
        (dir, record)
    }

    /// Writes the record to a path.
    pub fn write(&self, path: &std::path::Path) {
        let head = RunHead {
            title: "Streams between two hosts".to_owned(),
            producer: Producer::new(ProducerKind::Live, "by hand, in a test"),
            scenario: ScenarioText {
                name: "net.toml".to_owned(),
                text: self.scenario.to_owned(),
                overrides: vec![],
            },
            epoch: Ns::ZERO,
            wall_ns: 1_780_000_000_000_000_000,
            seed: 1,
        };
        let mut writer = Writer::create(path, &head).expect("the record is created");
        writer.facts(&self.facts).expect("facts are written");
        let mut hand = Hand { writer, ids: BTreeMap::new(), step: 0, start: Ns::ZERO };
        for step in &self.steps {
            hand.step(step);
        }
        hand.writer.finish(self.status).expect("the record is finished");
    }
}

/// What writes a record.
struct Hand {
    writer: Writer,
    ids: BTreeMap<String, SourceId>,
    step: u32,
    start: Ns,
}

impl Hand {
    fn source(&mut self, name: &str, group: &str, kind: SourceKind) -> SourceId {
        if let Some(id) = self.ids.get(name) {
            return *id;
        }
        let id = SourceId(u32::try_from(self.ids.len()).expect("few sources"));
        let source =
            Source { id, kind, name: name.into(), group: group.into(), agent: "local".into() };
        self.writer.source(&source).expect("a source is announced");
        self.ids.insert(name.to_owned(), id);
        id
    }

    fn step(&mut self, step: &NetStep) {
        let measure = self.start.plus(Ns::secs(1));
        let cooldown = measure.plus(Ns::secs(SECONDS));
        let end = cooldown.plus(Ns::secs(1));
        let times = StepTimes { start: self.start, measure, cooldown, end };
        let mut streams = Vec::new();
        for load in &step.loads {
            streams.extend(self.streams(load));
        }
        let head = StepHead {
            index: self.step,
            plan: "plan".to_owned(),
            settings: step.settings.clone(),
            repetition: step.repetition,
            times,
            workers: Vec::new(),
            streams,
        };
        self.writer.step(&head).expect("the step is announced");
        for load in &step.loads {
            self.load(load, &head);
        }
        self.writer.step_done(self.step).expect("the step is done");
        self.step += 1;
        self.start = end;
    }

    fn streams(&mut self, load: &NetLoad) -> Vec<StreamLoad> {
        let mut all = Vec::new();
        let hop = self.source(load.pair, load.pair, SourceKind::Hop(HopKind::NetworkPair));
        for (flow, word, count) in [(Flow::Up, "up", load.up), (Flow::Down, "down", load.down)] {
            for number in 0..count {
                for (end, which) in [(StreamEnd::Sent, "sent"), (StreamEnd::Received, "received")] {
                    // A second load of a pair has its workload in the names.
                    let own = match load.workload {
                        "wire" => String::new(),
                        other => format!("/{other}"),
                    };
                    let name = format!("{}{own}/{word}{}/{which}", load.pair, number + 1);
                    let source = self.source(&name, load.pair, SourceKind::Stream);
                    let workload = load.workload.to_owned();
                    all.push(StreamLoad { source, workload, hop, flow, end, number });
                }
            }
        }
        all
    }

    fn load(&mut self, load: &NetLoad, head: &StepHead) {
        for stream in &head.streams {
            if self.ids.get(load.pair) != Some(&stream.hop) || stream.workload != load.workload {
                continue;
            }
            self.stream(load, head, stream);
            let at = if stream.end == StreamEnd::Sent { At::Sent } else { At::Received };
            self.counters(load, head, stream.source, at);
        }
        let hop = self.source(load.pair, load.pair, SourceKind::Hop(HopKind::NetworkPair));
        let all = |n: u16| (0..n).map(|i| load.rate(i)).sum::<f64>();
        for (name, of) in [("write", all(load.up)), ("read", all(load.down))] {
            let ops = of / load.message.max(1) as f64;
            for (what, value, unit) in [("bytes", of, "B"), ("ops", ops, "1")] {
                for second in 0..SECONDS {
                    let from = head.times.measure.plus(Ns::secs(second));
                    self.count(
                        head,
                        hop,
                        &format!("{name}-{what}"),
                        value,
                        unit,
                        (from, from.plus(Ns::secs(1))),
                    );
                }
            }
        }
        self.counters(load, head, hop, At::Hop);
        for (at, word) in [(At::Sender, "sender"), (At::Receiver, "receiver")] {
            let name = format!("{}/{word}", load.pair);
            let machine = self.source(&name, load.pair, SourceKind::Hop(HopKind::NetworkHost));
            self.counters(load, head, machine, at);
            if at == At::Receiver && load.stopped {
                let moment = |second: u64| head.times.measure.plus(Ns::secs(second));
                // All of these seconds but parts of the first and the last.
                let from = moment(load.idle.0).plus(Ns::millis(200));
                let to = Ns(moment(load.idle.1).0 - 200_000_000);
                let lasted = to.since(from).0 as f64;
                self.count(head, machine, "own-stop", lasted, "ns", (from, to));
            }
        }
        if let Some((takes, a_second)) = load.probe {
            let probe = self.source(&format!("{}/probe", load.pair), load.pair, SourceKind::Stream);
            for second in 0..SECONDS {
                let mut tally = Completed::empty(false);
                (0..a_second).for_each(|_| tally.success(64, takes, takes));
                let from = head.times.measure.plus(Ns::secs(second));
                self.interval(
                    head,
                    probe,
                    Phase::Measure,
                    (from, from.plus(Ns::secs(1))),
                    (None, Some(tally)),
                );
            }
        }
    }

    fn stream(&mut self, load: &NetLoad, head: &StepHead, stream: &StreamLoad) {
        let sent = stream.end == StreamEnd::Sent;
        let rate = load.rate(stream.number) * if sent { load.sent } else { 1.0 };
        let times = head.times;
        let seconds = times.end.since(times.start).0 / 1_000_000_000;
        for second in 0..seconds {
            let from = times.start.plus(Ns::secs(second));
            let phase = times.phase_at(from).expect("within the step");
            let measured = from.since(times.measure).0 / 1_000_000_000;
            if phase == Phase::Measure && !sent && measured >= load.seconds {
                continue;
            }
            let idle = phase == Phase::Measure && (load.idle.0..load.idle.1).contains(&measured);
            let rate = if idle { 0.0 } else { rate };
            let mut tally = Completed::empty(false);
            let ops = (rate / load.message.max(1) as f64).round() as u64;
            match load.takes.filter(|_| sent) {
                Some(takes) => (0..ops).for_each(|_| tally.success(load.message, takes, takes)),
                None => (tally.ops, tally.bytes) = (ops, rate as u64),
            }
            tally.errors = if sent { load.errors } else { 0 };
            let tallies = if sent { (None, Some(tally)) } else { (Some(tally), None) };
            self.interval(head, stream.source, phase, (from, from.plus(Ns::secs(1))), tallies);
        }
    }

    fn interval(
        &mut self,
        head: &StepHead,
        source: SourceId,
        phase: Phase,
        (from, to): (Ns, Ns),
        (read, write): (Option<Completed>, Option<Completed>),
    ) {
        let interval = Interval {
            others: Default::default(),
            source,
            step: head.index,
            phase,
            from,
            to,
            read,
            write,
            testimony: None,
        };
        self.writer.interval(&interval).expect("an interval is written");
    }

    fn counters(&mut self, load: &NetLoad, head: &StepHead, source: SourceId, at: At) {
        let (measure, cooldown) = (head.times.measure, head.times.cooldown);
        for ((_, name), much) in load.counters.iter().filter(|((place, _), _)| *place == at) {
            let unit = if name.contains("cpu") || name.contains("host") { "ns" } else { "1" };
            match much {
                Much::Once(value) => {
                    self.count(head, source, name, *value, unit, (measure, cooldown))
                }
                Much::Each(value) => {
                    for second in 0..SECONDS {
                        let from = measure.plus(Ns::secs(second));
                        self.count(
                            head,
                            source,
                            name,
                            *value,
                            unit,
                            (from, from.plus(Ns::secs(1))),
                        );
                    }
                }
            }
        }
    }

    fn count(
        &mut self,
        head: &StepHead,
        source: SourceId,
        name: &str,
        value: f64,
        unit: &str,
        (from, to): (Ns, Ns),
    ) {
        let (name, part) = match name.split_once('/') {
            Some((name, part)) => (name, Some(part)),
            None => (name, None),
        };
        let counter = Counter {
            source,
            step: Some(head.index),
            from,
            to,
            kind: counter(name, unit),
            part: part.map(str::to_owned),
            value,
        };
        self.writer.counter(&counter).expect("a counter is written");
    }
}
