//! Network loads: names and numbers of their sources, their recipients, and refusal of streams that were not announced.

use crate::common::*;
use crate::prelude::*;
use engine::{
    Engine, EngineError, IntervalTx, NetSpec, Output, Prepared, ReceiverAddress, StepHandle,
    StepSpec, Stop,
};
use fleet::{AgentLink, Assignment, EngineRegistry, Progress};
use record::{
    Completed, Counter, CounterId, Fact, Flow, HopKind, Interval, Phase, SourceId, SourceKind,
    Status, StreamEnd,
};
use scenario::{Load, NetWorkload, Receiver, Scenario, Step, VmNic, Workload};
use workload::{Heading, NetFrames, Network};

/// Receivers `far` and `near`, a VM `vm1` with a nic to each, and a target `t0`.
fn lab() -> Scenario {
    let mut scenario = scenario(1, &[("vm1", &["t0"]), ("bare", &["t0"])]);
    let receiver = |name: &str| Receiver {
        name: name.to_owned(),
        place: scenario::ReceiverPlace::Embedded,
        family: None,
        source: None,
        source_port: None,
        token: None,
        adjust: (name == "near").then(|| "eth1".to_owned()),
        rate: None,
        site: None,
    };
    scenario.lab.receivers = ["far", "near"].map(receiver).into();
    scenario.lab.vms[0].nics =
        ["far", "near"].map(|name| VmNic { receiver: name.to_owned(), adapter: None }).into();
    scenario
}

fn net(workload: &str, on: &[&str], network: Network) -> Load {
    let workload = Workload::Net(NetWorkload { name: workload.to_owned(), network, phases: None });
    Load { workload, on: on.iter().map(|&name| name.to_owned()).collect(), phase: None }
}

fn streams(streams: u16, heading: Heading) -> Network {
    Network { streams, heading, ..Network::plain() }
}

#[track_caller]
fn assigned<'a>(scenario: &'a Scenario, steps: &[Step]) -> Assignment<'a> {
    let agents = ["a".to_owned(), "b".to_owned()];
    Assignment::new(scenario, steps, 1, &agents).expect("it can be divided")
}

/// The names of the sources of one step, in their order.
#[track_caller]
fn check(nets: Vec<Load>, expected: &[&str]) {
    let (scenario, steps) = (lab(), [step(0, nets)]);
    let assignment = assigned(&scenario, &steps);
    let names: Vec<&str> = assignment.sources().iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, expected);
    let numbers = assignment.sources().iter().map(|s| s.id.0);
    assert!(numbers.eq(0..names.len() as u32), "a number is a position");
}

#[test]
fn sources_are_named_after_pair_workload_and_stream() {
    let one = || streams(1, Heading::Send);
    check(
        vec![net("wire", &["far"], streams(2, Heading::Send))],
        &[
            "far",
            "far/sender",
            "far/receiver",
            "far/up1/sent",
            "far/up1/received",
            "far/up2/sent",
            "far/up2/received",
        ],
    );
    check(
        vec![net("wire", &["near"], Network { probe: true, ..streams(1, Heading::Both) })],
        &[
            "near",
            "near/sender",
            "near/receiver",
            "near/up1/sent",
            "near/up1/received",
            "near/down1/sent",
            "near/down1/received",
            "near/probe",
        ],
    );
    check(
        vec![net("wire", &["vm1"], one())],
        &[
            "vm1.far",
            "vm1.far/sender",
            "vm1.far/receiver",
            "vm1.far/up1/sent",
            "vm1.far/up1/received",
            "vm1.near",
            "vm1.near/sender",
            "vm1.near/receiver",
            "vm1.near/up1/sent",
            "vm1.near/up1/received",
        ],
    );
    // Two workloads on a pair, and the same one twice; a pair has one probe.
    let probing = || Network { probe: true, ..one() };
    check(
        vec![net("wire", &["far"], probing()), net("bulk", &["far"], probing())],
        &[
            "far",
            "far/sender",
            "far/receiver",
            "far/wire/up1/sent",
            "far/wire/up1/received",
            "far/probe",
            "far/bulk/up1/sent",
            "far/bulk/up1/received",
        ],
    );
    check(
        vec![net("wire", &["far", "far"], streams(1, Heading::Receive))],
        &[
            "far",
            "far/sender",
            "far/receiver",
            "far/0/down1/sent",
            "far/0/down1/received",
            "far/1/down1/sent",
            "far/1/down1/received",
        ],
    );
}

#[test]
fn a_name_that_is_taken_goes_by_its_agent_as_well() {
    let mut scenario = lab();
    scenario.lab.targets[0].name = "vm1.far".to_owned();
    let wire = net("wire", &["vm1"], streams(1, Heading::Send));
    let steps = [step(0, vec![load("w", 1, &["vm1.far"]), wire])];
    let assignment = assigned(&scenario, &steps);
    let hop = &assignment.sources()[1];
    assert_eq!((hop.name.as_str(), hop.group.as_str()), ("a/vm1.far", "vm1.far"));
    let spec = assignment.step(&steps[0]).expect("it is assigned").specs[0].clone();
    assert_eq!(spec.expect("a load").nets().next().expect("a network load").sources.hop, hop.id);
}

#[test]
fn a_sweep_over_streams_numbers_each_stream_once() {
    let counts = [1, 3, 2];
    let steps: Vec<Step> = (0..)
        .zip(counts)
        .map(|(index, n)| step(index, vec![net("wire", &["far"], streams(n, Heading::Send))]))
        .collect();
    let scenario = lab();
    let assignment = assigned(&scenario, &steps);
    let kinds = |kind| assignment.sources().iter().filter(|s| s.kind == kind).count();
    assert_eq!(kinds(SourceKind::Hop(HopKind::NetworkPair)), 1);
    assert_eq!(kinds(SourceKind::Hop(HopKind::NetworkHost)), 2);
    assert_eq!(kinds(SourceKind::Stream), 6);
    for (step, n) in steps.iter().zip(counts) {
        let assigned = assignment.step(step).expect("it is assigned");
        let spec =
            &assigned.specs[0].as_ref().expect("a load").nets().next().expect("a network load");
        let name = |id: SourceId| assignment.sources()[id.0 as usize].name.as_str();
        assert_eq!(spec.sources.streams.len(), usize::from(n));
        let last = spec.sources.streams.last().map(|(sent, got)| (name(*sent), name(*got)));
        let [sent, got] = ["sent", "received"].map(|end| format!("far/up{n}/{end}"));
        assert_eq!(last, Some((&sent[..], &got[..])));
        let announced: Vec<_> =
            assigned.streams.iter().map(|s| (s.flow, s.end, s.number, s.hop.0)).collect();
        let expected = (0..n).flat_map(|number| {
            [StreamEnd::Sent, StreamEnd::Received].map(|end| (Flow::Up, end, number, 0))
        });
        assert!(announced.into_iter().eq(expected));
    }
}

#[test]
fn one_agent_is_told_what_the_step_says() {
    let mut scenario = lab();
    scenario.lab.receivers[0].place =
        scenario::ReceiverPlace::At { host: "192.0.2.2".into(), port: 5301 };
    scenario.lab.receivers[0].token = Some(scenario::TokenFrom::Env("TOKEN".into()));
    scenario.lab.receivers[0].family = Some(scenario::AddressFamily::Ipv6);
    let frames = NetFrames { mtu: Some(9000), offload: Some(true) };
    let nets = vec![net("wire", &["far", "near"], streams(1, Heading::Send))];
    let mut steps = [step(0, nets)];
    steps[0].frames = frames;
    steps[0].loads.push(load("w", 1, &["t0", "bare"]));
    let assigned = assigned(&scenario, &steps).step(&steps[0]).expect("it is assigned");
    let specs: Vec<&StepSpec> = assigned.specs.iter().flatten().collect();
    let told: Vec<&NetSpec> = specs.iter().flat_map(|spec| spec.nets()).collect();
    assert_eq!(specs[0].nets().count(), 2, "all are the first agent's");
    assert_eq!((told[0].name.as_str(), told[1].name.as_str()), ("far", "near"));
    let host = "192.0.2.2".to_owned();
    assert_eq!(told[0].receiver.place, ReceiverAddress::At { host, port: 5301 });
    assert_eq!(told[0].receiver.token, Some(engine::TokenSource::Env("TOKEN".into())));
    assert_eq!((told[0].receiver.ipv6, told[1].receiver.ipv6), (Some(true), None));
    // Only an interface that is named may be changed.
    assert_eq!((told[0].frames, told[1].frames), (NetFrames::default(), frames));
    assert_eq!(assigned.loads.len(), 2);
}

#[test]
fn a_member_without_a_receiver_is_refused_before_the_first_step() {
    let scenario = lab();
    for member in ["bare", "t0", "ghost"] {
        let nets = vec![net("wire", &[member], streams(1, Heading::Send))];
        let steps = [step(0, vec![load("w", 1, &["t0"])]), step(1, nets)];
        let refused = Assignment::new(&scenario, &steps, 1, &["a".to_owned()]).map(|_| ());
        let told = refused.expect_err("nobody to send to").to_string();
        assert!(told.starts_with(&format!("`{member}` leads to no receiver for `wire`")), "{told}");
    }
}

/// An engine that reports one second of every stream, a figure of every hop, and is done.
struct FakeNet;

struct FakeNetStep(StepSpec);

struct Nothing;

impl Engine for FakeNet {
    fn prepare(
        &mut self,
        step: &StepSpec,
        _: &IntervalTx,
        _: &Stop,
    ) -> Result<Box<dyn Prepared>, EngineError> {
        assert!(step.workers.is_empty() && step.targets.is_empty(), "another engine's");
        Ok(Box::new(FakeNetStep(step.clone())))
    }
}

impl Prepared for FakeNetStep {
    fn facts(&self) -> Vec<Fact> {
        let fact = |net: &NetSpec| Fact {
            subject: net.name.clone(),
            key: "congestion".into(),
            value: "cubic".into(),
        };
        self.0.nets().map(fact).collect()
    }

    fn depths(&self) -> Vec<(SourceId, u32)> {
        Vec::new()
    }

    fn start(self: Box<Self>, epoch: Ns, at: Ns, out: IntervalTx) -> Box<dyn StepHandle> {
        let step = self.0;
        let from = at.since(epoch).plus(step.warmup);
        for net in step.nets() {
            for (sent, received) in &net.sources.streams {
                for (source, writes) in [(*sent, true), (*received, false)] {
                    let interval = second(source, step.index, from, writes);
                    let _ = out.send(Output::Interval(Box::new(interval)));
                }
            }
            for source in [net.sources.hop, net.sources.sender, net.sources.receiver] {
                let _ = out.send(Output::Counter(counter(source, step.index, from)));
            }
        }
        let _ = out.send(Output::Finished);
        Box::new(Nothing)
    }
}

impl StepHandle for Nothing {
    fn stop(&self) {}

    fn measure(&self, _: Ns) -> bool {
        true
    }
}

fn second(source: SourceId, step: u32, from: Ns, writes: bool) -> Interval {
    let tally = Some(Completed { ops: 4, bytes: 4000, ..Completed::empty(false) });
    let (write, read) = if writes { (tally, None) } else { (None, tally) };
    let (phase, to) = (Phase::Measure, from.plus(Ns::secs(1)));
    Interval {
        others: Default::default(),
        source,
        step,
        phase,
        from,
        to,
        read,
        write,
        testimony: None,
    }
}

fn counter(source: SourceId, step: u32, from: Ns) -> Counter {
    let (kind, part, to) = (CounterId::WriteBytes.into(), None, from.plus(Ns::secs(1)));
    Counter { source, step: Some(step), from, to, kind, part, value: 4000.0 }
}

fn with_nets() -> AgentLink {
    let engines = engines("run").carries(NetSpec::ENGINE, Box::new(FakeNet));
    AgentLink::in_process(identity("local"), engines).expect("a thread")
}

/// A run of steps on the lab of these tests.
fn trial(steps: Vec<Step>) -> Trial {
    Trial { scenario: lab(), steps, ..Trial::new() }
}

fn mixed(index: u32, n: u16) -> Step {
    let wire = net("wire", &["far"], streams(n, Heading::Both));
    step(index, vec![load("read", 1, &["t0"]), wire])
}

#[test]
fn network_and_storage_run_in_one_step() {
    let trial = trial(vec![mixed(0, 1), mixed(1, 2), step(2, mixed(2, 1).loads.split_off(1))]);
    let (outcome, log) = trial.run(vec![with_nets()]);
    assert_eq!(outcome.expect("it runs").status, Status::Complete);
    assert_eq!(log.done, [0, 1, 2]);
    let shape: Vec<_> = log.steps.iter().map(|s| (s.workers.len(), s.streams.len())).collect();
    assert_eq!(shape, [(1, 4), (1, 8), (0, 4)]);
    let of_step = |index: u32| log.intervals.iter().filter(move |i| i.step == index).count();
    // Three seconds of one worker, and one of each end of a stream.
    assert_eq!([of_step(0), of_step(1), of_step(2)], [3 + 4, 3 + 8, 4]);
    assert_eq!(log.counters.len(), 9);
    let sources: Vec<&str> = log.sources.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(sources[..4], ["t0", "far", "far/sender", "far/receiver"]);
    assert!(log.facts.iter().any(|f| f.subject == "far" && f.key == "congestion"));
}

#[test]
fn who_watches_sees_what_was_received() {
    let (scenario, steps) = (lab(), vec![mixed(0, 2)]);
    let (mut net, mut disk, control) = (None, None, fleet::Control::new());
    let wait = engines("wait").carries(NetSpec::ENGINE, Box::new(FakeNet));
    let agent = AgentLink::in_process(identity("local"), wait).expect("a thread");
    let trial = Trial { scenario, steps, control: control.clone(), ..Trial::new() };
    let (_, _) = trial.run_watched(vec![agent], &mut |progress| {
        if let Progress::Second { rates, .. } = progress {
            (net, disk) = (net.or(rates.net), disk.or(rates.disk));
            if net.is_some() && disk.is_some() {
                control.stop();
            }
        }
    });
    let (net, disk) = (net.expect("streams reported"), disk.expect("a worker reported"));
    assert_eq!((net.up_bytes_per_s, net.down_bytes_per_s), (Some(8000.0), Some(8000.0)));
    assert!(disk.iops > 0.0, "{disk:?}");
}

#[test]
fn without_an_engine_for_networks_the_step_cannot_be_run() {
    let agent = AgentLink::in_process(identity("local"), engines("run")).expect("a thread");
    let (outcome, log) = trial(vec![mixed(0, 1)]).run(vec![agent]);
    let failure = outcome.expect("the record is whole").failure.expect("a failure");
    let told = failure.error.to_string();
    assert!(told.contains("far: no engine of this agent carries network loads"), "{told}");
    assert_eq!(log.status, Some(Status::Failed));
    // Nor does an engine for networks serve targets.
    let registry = EngineRegistry::new().carries(NetSpec::ENGINE, Box::new(FakeNet));
    let agent = AgentLink::in_process(identity("local"), registry).expect("a thread");
    let mut trial = Trial::new();
    trial.scenario.lab.targets[0].url = "net:1".to_owned();
    let (outcome, _) = trial.run(vec![agent]);
    let told = outcome.expect("a record").failure.expect("a failure").error.to_string();
    assert!(told.contains("no engine serves `net:1`"), "{told}");
}

/// An agent that reports as a source which the record knows, in a step that did not announce it.
#[track_caller]
fn check_unannounced(report: impl Fn(&StepSpec, Ns) -> FromAgent + Send + 'static, word: &str) {
    let agent = by_hand("local", move |mut end| {
        introduce(&mut end, "local");
        let Ok(ToAgent::Prepare(spec)) = end.inbox.recv() else { panic!("no step") };
        end.outbox.send(ready(0)).expect("it listens");
        let Ok(ToAgent::Start { epoch, at, .. }) = end.inbox.recv() else { panic!("no start") };
        // What was announced is taken.
        let known = spec.nets().next().expect("a network load").sources.streams[0].0;
        let from = at.since(epoch);
        let good = vec![second(known, 0, from, true)];
        end.outbox.send(FromAgent::Intervals(good)).expect("it listens");
        end.outbox.send(report(&spec, from)).expect("it listens");
        while end.inbox.recv().is_ok() {}
    });
    let (_, log) = trial(vec![mixed(0, 1), mixed(1, 2)]).run(vec![agent]);
    let told = &log.event("agent-lost").text;
    assert!(told.contains(&format!("broke the protocol with {word}")), "{told}");
    assert_eq!((log.intervals.len(), log.counters.len()), (1, 0));
}

#[test]
fn streams_report_only_where_they_were_announced() {
    // The second stream is one of the second step: its numbers follow those of the first.
    let later = |spec: &StepSpec| {
        let last = spec
            .nets()
            .next()
            .expect("a network load")
            .sources
            .all()
            .map(|id| id.0)
            .max()
            .expect("there are some");
        SourceId(last + 1)
    };
    check_unannounced(
        move |spec, from| FromAgent::Intervals(vec![second(later(spec), 0, from, true)]),
        "Intervals",
    );
    check_unannounced(
        move |spec, from| FromAgent::Counters(vec![counter(later(spec), 0, from)]),
        "Counters",
    );
    check_unannounced(
        |spec, from| {
            let (sent, _) = spec.nets().next().expect("a network load").sources.streams[0];
            FromAgent::Intervals(vec![second(sent, 1, from, true)])
        },
        "Intervals",
    );
}
