//! Messages survive their frames, and nothing that is no message survives as one.

use crate::common::spec;
use clock::Ns;
use engine::{
    AttendedProcess, EngineError, EngineLoad, LoadChange, NetSources, NetSpec, QueueKind,
    ReceiverAddress, ReceiverSpec, StepSpec, TargetSpec, Throttle, TokenSource, WorkerSpec,
};
use fleet::arrays::{
    ArrayLimit, ArrayPortSpeed, ArraySpec, ArrayStep, ArrayVolume, FaultSpec, PortFault, PortSpec,
    PortStep, Portals, TapeSpec,
};
use fleet::frame::{self, FRAME_MAX, FrameError};
use fleet::message::{
    AgentFailure, BATCH_MAX, FromAgent, Greeting, MachinePlace, PROTOCOL, SameHop, ToAgent,
};
use fleet::sequence::Numbered;
use proptest::prelude::*;
use record::{
    Completed, Counter, CounterId, CounterKind, Event, Fact, HopKind, Interval, Level, Lever,
    Meaning, Perturbation, Phase, Proof, SourceId, Testimony, Untouched,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::net::{SocketAddr, SocketAddrV4};
use workload::{NetFrames, Network};

fn bytes_of<M: Serialize>(message: &M) -> Vec<u8> {
    let mut out = Vec::new();
    frame::write(&mut out, message, &mut Vec::new()).unwrap();
    out
}

fn read<M: DeserializeOwned>(mut bytes: &[u8]) -> Result<Option<M>, FrameError> {
    frame::read(&mut bytes)
}

fn ns() -> impl Strategy<Value = Ns> {
    any::<u64>().prop_map(Ns)
}

fn fact() -> impl Strategy<Value = Fact> {
    (".*", "[a-z-]+", ".*").prop_map(|(subject, key, value)| Fact { subject, key, value })
}

fn tally() -> impl Strategy<Value = Option<Completed>> {
    let latencies = prop::collection::vec(1..3_600_000_000_000u64, 0..20);
    prop::option::of((latencies, any::<bool>()).prop_map(|(latencies, open_loop)| {
        let mut tally = Completed::empty(open_loop);
        latencies.iter().for_each(|&l| tally.success(8192, Ns(l), Ns(l)));
        tally
    }))
}

fn interval() -> impl Strategy<Value = Interval> {
    let phase = prop::sample::select(vec![Phase::Warmup, Phase::Measure, Phase::Cooldown]);
    let testimony =
        prop::option::of((ns(), ns(), any::<u32>()).prop_map(|(own, late_max, open)| Testimony {
            own,
            late_max,
            open,
            ..Testimony::default()
        }));
    (any::<u32>(), any::<u32>(), phase, ns(), ns(), tally(), tally(), testimony).prop_map(
        |(source, step, phase, from, to, read, write, testimony)| {
            let source = SourceId(source);
            Interval {
                others: Default::default(),
                source,
                step,
                phase,
                from,
                to,
                read,
                write,
                testimony,
            }
        },
    )
}

fn event() -> impl Strategy<Value = Event> {
    let level = prop::sample::select(vec![Level::Info, Level::Warning, Level::Error]);
    let source = prop::option::of(any::<u32>().prop_map(SourceId));
    (ns(), prop::option::of(any::<u32>()), source, level, "[a-z-]+", ".*").prop_map(
        |(at, step, source, level, code, text)| Event { at, step, source, level, code, text },
    )
}

fn counter() -> impl Strategy<Value = Counter> {
    (any::<u32>(), prop::option::of(any::<u32>()), ns(), ns(), "[a-z-]+", -1e18..1e18).prop_map(
        |(source, step, from, to, name, value)| Counter {
            source: SourceId(source),
            step,
            from,
            to,
            kind: CounterKind::stored(&name, "B", Some(Meaning::Count)),
            part: step.map(|step| step.to_string()),
            value,
        },
    )
}

fn failure() -> impl Strategy<Value = AgentFailure> {
    prop_oneof![
        ".*".prop_map(AgentFailure::Protocol),
        ".*".prop_map(|t| EngineError::Refused(t).into()),
        ".*".prop_map(|t| EngineError::Unsupported(t).into()),
        (".*", ".*").prop_map(|(target, problem)| EngineError::Target { target, problem }.into()),
        (".*", ".*").prop_map(|(worker, problem)| EngineError::Worker { worker, problem }.into()),
    ]
}

fn step() -> impl Strategy<Value = StepSpec> {
    let (create, size) = (prop::option::of(any::<u64>()), prop::option::of(any::<u64>()));
    let queue = prop_oneof![Just(QueueKind::Auto), Just(QueueKind::Uring), Just(QueueKind::Pread)];
    let target = (".*", ".*", create, size, any::<bool>(), queue, any::<bool>()).prop_map(
        |(name, url, create, size, buffered, queue, polled)| TargetSpec {
            create,
            size,
            buffered,
            queue,
            polled,
            ..TargetSpec::new(name, url)
        },
    );
    let indices = prop::collection::vec(any::<u16>(), 0..4);
    let worker = (any::<u32>(), ".*", indices, any::<u32>(), 1..64u32).prop_map(
        |(source, name, targets, sharer, depth)| WorkerSpec {
            source: SourceId(source),
            name,
            key: source,
            targets,
            sharer,
            sharers: 9,
            workload: spec(depth),
            verify: depth % 2 == 0,
            limit: (depth % 4 == 2).then_some(u64::from(depth) << 20),
            changes: (0..depth % 3).map(change).collect(),
            copy: (depth % 5 == 1).then(|| engine::CopySpec {
                block: 4096,
                depth,
                reads: 1,
                writes: depth,
                blocks: (depth % 2 == 0).then_some(u64::from(source)),
                after: vec![SourceId(sharer)],
                from_share: (sharer, 9),
                to_share: (0, 1),
                verify: sharer % 2 == 0,
                retry: Ns::millis(u64::from(source)),
            }),
            after: (0..depth % 3).map(SourceId).collect(),
        },
    );
    let targets = prop::collection::vec(target, 0..4);
    let workers = prop::collection::vec(worker, 0..4);
    let loads = prop::collection::vec(net().prop_map(EngineLoad::Net), 0..3);
    (any::<u32>(), any::<u64>(), ns(), targets, workers, loads).prop_map(
        |(index, seed, measure, targets, workers, loads)| StepSpec {
            index,
            seed,
            warmup: Ns::ZERO,
            measure,
            cooldown: Ns::ZERO,
            slice: Ns::ZERO,
            targets,
            workers,
            loads,
            attended: (0..index % 3).map(attended).collect(),
            counted: None,
            lab: None,
        },
    )
}

fn attended(process: u32) -> AttendedProcess {
    AttendedProcess { name: format!("vm{process}"), process }
}

fn net() -> impl Strategy<Value = NetSpec> {
    let place = prop_oneof![
        Just(ReceiverAddress::Embedded),
        (".*", any::<u16>()).prop_map(|(host, port)| ReceiverAddress::At { host, port }),
    ];
    let token = prop_oneof![".*".prop_map(TokenSource::File), ".*".prop_map(TokenSource::Env)];
    let receiver = (".*", place, prop::option::of(token), prop::option::of(any::<bool>()), ".*")
        .prop_map(|(name, place, token, ipv6, adjust)| ReceiverSpec {
            name,
            place,
            ipv6,
            source: ipv6.map(|_| [192, 0, 2, 1].into()),
            source_port: None,
            token,
            adjust: ipv6.map(|_| adjust),
        });
    let streams = prop::collection::vec((any::<u32>(), any::<u32>()), 0..4);
    let frames = (prop::option::of(any::<u32>()), prop::option::of(any::<bool>()));
    (".*", receiver, any::<u16>(), frames, streams).prop_map(
        |(name, receiver, n, (mtu, offload), streams)| NetSpec {
            name,
            receiver,
            network: Network { streams: n, rate: mtu.map(u64::from), ..Network::plain() },
            frames: NetFrames { mtu, offload },
            sources: NetSources {
                hop: SourceId(n.into()),
                sender: SourceId(1),
                receiver: SourceId(2),
                streams: streams.into_iter().map(|(s, r)| (SourceId(s), SourceId(r))).collect(),
                probe: offload.map(|_| SourceId(3)),
            },
        },
    )
}

fn array() -> impl Strategy<Value = ArraySpec> {
    let speed = prop::option::of(
        (any::<u64>(), ".*").prop_map(|(bytes_per_s, name)| ArrayPortSpeed { bytes_per_s, name }),
    );
    let port = (".*", speed).prop_map(|(name, speed)| PortSpec { name, speed });
    let volume = (".*", any::<u64>(), any::<u32>(), any::<bool>(), ".*").prop_map(
        |(name, size, block, thin, serial)| ArrayVolume { name, size, block, thin, serial },
    );
    let limit = (".*", 0..1_000_000_u32).prop_map(|(hop, value)| ArrayLimit {
        hop,
        lever: Lever::Ops,
        value: value.into(),
    });
    let ports = prop::collection::vec(port, 0..3);
    let limits = prop::collection::vec(limit, 0..3);
    let volumes = prop::collection::vec(volume, 0..3);
    let library = prop::option::of(
        prop::option::of(any::<u64>()).prop_map(|bytes_per_s| TapeSpec { bytes_per_s }),
    );
    (".*", any::<u32>(), ".*", ports, volumes, limits, library).prop_map(
        |(name, threads, scale, ports, volumes, limits, library)| ArraySpec {
            name,
            threads,
            scale,
            ports,
            volumes,
            library,
            limits,
            access: None,
        },
    )
}

fn array_step() -> impl Strategy<Value = ArrayStep> {
    let action = prop_oneof![
        Just(PortFault::Kill),
        Just(PortFault::Revive),
        any::<u64>().prop_map(|bytes_per_s| PortFault::Slow { bytes_per_s }),
        Just(PortFault::Busy),
        Just(PortFault::Ready),
    ];
    let fault = (ns(), action).prop_map(|(at, action)| FaultSpec { at, action });
    let faults = prop::collection::vec(fault, 0..4);
    let port = (".*", ".*", prop::option::of(any::<u64>()), faults).prop_map(
        |(array, port, bytes_per_s, faults)| PortStep { array, port, bytes_per_s, faults },
    );
    let ports = prop::collection::vec(port, 0..4);
    let slowed = |subject| Perturbation { subject, lever: Lever::Latency, factor: 0.9 };
    let proof = (".*", ns(), prop::collection::vec(prop::option::of(any::<u32>()), 0..4)).prop_map(
        move |(name, round, rounds)| Proof {
            round,
            settle: Ns(round.0 / 3),
            perturbations: vec![slowed(name.clone())],
            untouched: vec![Untouched { subject: name.clone(), why: name }],
            rounds,
        },
    );
    (any::<u32>(), ns(), ns(), ns(), ports, prop::option::of(proof)).prop_map(
        |(index, warmup, measure, cooldown, ports, proof)| ArrayStep {
            index,
            warmup,
            measure,
            cooldown,
            ports,
            proof,
        },
    )
}

fn change(n: u32) -> LoadChange {
    let to = Throttle { idle_slots: n, more_think: Ns(n.into()), skip_every: n + 1 };
    LoadChange { after: Ns::millis(n.into()), to }
}

fn portals() -> impl Strategy<Value = Portals> {
    let addresses = prop::collection::vec(any::<SocketAddrV4>().prop_map(SocketAddr::from), 0..3);
    (".*", ".*", addresses).prop_map(|(array, target, addresses)| Portals {
        array,
        target,
        addresses,
    })
}

pub fn to_agent() -> impl Strategy<Value = ToAgent> {
    prop_oneof![
        (any::<u32>(), ".*").prop_map(|(version, run)| ToAgent::Hello { version, run }),
        any::<u64>().prop_map(|number| ToAgent::Clock { number }),
        prop::collection::vec(array(), 0..3).prop_map(ToAgent::Serve),
        array_step().prop_map(|step| ToAgent::Arrange(Box::new(step))),
        step().prop_map(|step| ToAgent::Prepare(Box::new(step))),
        (ns(), ns()).prop_map(|(epoch, at)| ToAgent::Start { epoch, at, hops: vec![SourceId(3)] }),
        (any::<u32>(), ns()).prop_map(|(step, at)| ToAgent::Measure { step, at }),
        (any::<u32>(), ns()).prop_map(|(step, at)| ToAgent::Finish { step, at }),
        Just(ToAgent::Stop),
        Just(ToAgent::Bye),
    ]
}

fn same() -> SameHop {
    let own = vec![CounterId::CpuBusy, CounterId::CpuCount];
    SameHop { hop: "esx.cpu".into(), agent: "a1".into(), at: "host.cpu".into(), own }
}

fn place() -> MachinePlace {
    MachinePlace { hop: "host.cpu".into(), machine: "5e2c".into(), place: "cpu".into() }
}

pub fn from_agent() -> impl Strategy<Value = FromAgent> {
    let facts = || prop::collection::vec(fact(), 0..4);
    let greeting = (any::<u32>(), ".*", facts(), ns())
        .prop_map(|(version, name, facts, now)| Greeting { version, name, facts, now });
    prop_oneof![
        greeting.prop_map(FromAgent::Hello),
        prop::collection::vec(portals(), 0..3).prop_map(FromAgent::Serving),
        (any::<u32>(), facts(), any::<u32>()).prop_map(|(step, facts, depth)| {
            let depths = vec![(SourceId(step), depth)];
            // None where it says nothing.
            let planned = (depth % 2 == 0).then_some((SourceId(step), u64::from(depth) << 20));
            FromAgent::Ready {
                step,
                facts,
                depths,
                planned: planned.into_iter().collect(),
                hops: vec![("vda".into(), HopKind::BlockDevice)],
                // As an agent that counts for the coordinator.
                same: (depth % 4 == 1).then(same).into_iter().collect(),
                places: (depth % 4 == 3).then(place).into_iter().collect(),
            }
        }),
        prop::collection::vec(interval(), 0..4).prop_map(FromAgent::Intervals),
        prop::collection::vec(counter(), 0..4).prop_map(FromAgent::Counters),
        event().prop_map(FromAgent::Event),
        (any::<u32>(), any::<u32>(), ns()).prop_map(|(step, source, at)| FromAgent::Ended {
            step,
            source: SourceId(source),
            at
        }),
        (any::<u64>(), ns()).prop_map(|(number, now)| FromAgent::Clock { number, now }),
        any::<u32>().prop_map(|step| FromAgent::Finished { step }),
        (prop::option::of(any::<u32>()), failure())
            .prop_map(|(step, error)| FromAgent::Failed { step, error }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_a_coordinator_says_arrives(message in to_agent()) {
        prop_assert_eq!(read(&bytes_of(&message)).unwrap(), Some(message));
    }

    #[test]
    fn what_an_agent_says_arrives(message in from_agent()) {
        prop_assert_eq!(read(&bytes_of(&message)).unwrap(), Some(message));
    }

    #[test]
    fn a_frame_that_is_cut_off_is_no_message(message in from_agent(), cut: prop::sample::Index) {
        let bytes = bytes_of(&message);
        let cut = cut.index(bytes.len());
        match read::<FromAgent>(&bytes[..cut]) {
            Ok(None) => prop_assert_eq!(cut, 0),
            other => prop_assert!(matches!(other, Err(FrameError::Truncated { .. })), "{:?}", other),
        }
    }

    #[test]
    fn bytes_that_were_changed_do_no_harm(
        message in from_agent(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let mut bytes = bytes_of(&message);
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read::<FromAgent>(&bytes);
    }

    #[test]
    fn any_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        let _ = read::<FromAgent>(&bytes);
        let _ = read::<ToAgent>(&bytes);
        let framed = [&(bytes.len() as u32).to_be_bytes()[..], &bytes].concat();
        let _ = read::<FromAgent>(&framed);
        let _ = read::<ToAgent>(&framed);
    }
}

/// A frame around bytes.
fn framed(body: &[u8]) -> Vec<u8> {
    [&(body.len() as u32).to_be_bytes()[..], body].concat()
}

#[track_caller]
fn check_refused(bytes: &[u8], expected: &str) {
    let error = read::<ToAgent>(bytes).expect_err("no message").to_string();
    assert!(error.contains(expected), "{error:?} lacks {expected:?}");
}

#[test]
fn what_is_no_message_is_refused_with_a_reason() {
    let stop = bytes_of(&ToAgent::Stop);
    check_refused(&[0, 0], "after 2 of 4 bytes");
    check_refused(&[0, 0, 0, 9, 1], "after 5 of 13 bytes");
    check_refused(&(FRAME_MAX as u32 + 1).to_be_bytes(), "exceeds the limit");
    check_refused(&[255; 64], "exceeds the limit");
    check_refused(&framed(&[]), "not a message of this protocol");
    check_refused(&framed(&[0xc1]), "not a message of this protocol");
    check_refused(&framed(b"\xa4Halt"), "not a message of this protocol");
    check_refused(&framed(&[&stop[4..], b"x"].concat()), "1 bytes follow the message");
    // A map that contains itself to the depth of a thousand.
    check_refused(&framed(&[0x81; 2000]), "not a message of this protocol");
    // A list that claims four thousand million elements.
    check_refused(
        &framed(b"\x81\xa7Prepare\xdd\xff\xff\xff\xff"),
        "not a message of this protocol",
    );
}

#[test]
fn an_end_between_messages_is_no_error() {
    let two = [bytes_of(&ToAgent::Stop), bytes_of(&ToAgent::Bye)].concat();
    let mut rest = two.as_slice();
    assert_eq!(frame::read(&mut rest).unwrap(), Some(ToAgent::Stop));
    assert_eq!(frame::read(&mut rest).unwrap(), Some(ToAgent::Bye));
    assert_eq!(frame::read::<ToAgent>(&mut rest).unwrap(), None);
}

#[test]
fn a_batch_is_bounded() {
    let counter = Counter {
        source: SourceId(0),
        step: None,
        from: Ns::ZERO,
        to: Ns::ZERO,
        kind: CounterId::QueueDepthEnd.into(),
        part: None,
        value: 1.0,
    };
    let batch = |n| bytes_of(&FromAgent::Counters(vec![counter.clone(); n]));
    assert!(read::<FromAgent>(&batch(BATCH_MAX)).is_ok());
    let error = read::<FromAgent>(&batch(BATCH_MAX + 1)).unwrap_err().to_string();
    assert!(error.contains("more than 256 in one batch"), "{error}");
}

#[test]
fn a_message_beyond_the_limit_is_not_sent() {
    let run = "x".repeat(FRAME_MAX);
    let mut out = Vec::new();
    let sent = frame::write(&mut out, &ToAgent::Hello { version: 1, run }, &mut Vec::new());
    assert!(matches!(sent, Err(FrameError::TooLong { .. })));
    assert!(out.is_empty());
}

#[test]
fn a_hello_of_another_version_can_be_read() {
    // As a later version may send it: with a field that this one does not know.
    #[derive(Serialize)]
    enum Later {
        Hello { version: u32, name: &'static str, now: u64, colour: &'static str },
    }
    let bytes = bytes_of(&Later::Hello { version: 9, name: "a", now: 5, colour: "red" });
    let greeting = Greeting { version: 9, name: "a".into(), facts: Vec::new(), now: Ns(5) };
    assert_eq!(read(&bytes).unwrap(), Some(FromAgent::Hello(greeting)));
}

#[test]
fn the_first_message_is_written_without_its_number() {
    // As versions before numbering wrote it and read it, so that two versions refuse each other by name.
    let hello = ToAgent::Hello { version: PROTOCOL, run: "a run".into() };
    let greeting = Greeting { version: 5, name: "a".into(), facts: Vec::new(), now: Ns(7) };
    let greeting = FromAgent::Hello(greeting);
    check_first(&hello);
    check_first(&ToAgent::Bye);
    check_first(&greeting);
    check_first(&FromAgent::Intervals(Vec::new()));
}

#[track_caller]
fn check_first<M>(message: &M)
where
    M: Serialize + DeserializeOwned + Clone + PartialEq + std::fmt::Debug,
{
    let first = Numbered { number: 0, message: message.clone() };
    assert_eq!(bytes_of(&first), bytes_of(message));
    assert_eq!(read(&bytes_of(message)).unwrap(), Some(first));
    let later = Numbered { number: 1 << 40, message: message.clone() };
    assert_eq!(read(&bytes_of(&later)).unwrap(), Some(later));
}

#[test]
fn a_number_is_the_first_of_a_pair() {
    let complaint = |bytes: Vec<u8>| read::<Numbered<ToAgent>>(&bytes).unwrap_err().to_string();
    assert!(complaint(bytes_of(&(0, "Stop"))).contains("without its number"));
    assert!(complaint(bytes_of(&(7,))).contains("invalid length"));
    assert!(complaint(bytes_of(&(7, "Stop", 8))).contains("not a message of this protocol"));
    assert!(complaint(bytes_of(&(-1, "Stop"))).contains("not a message of this protocol"));
    assert!(complaint(bytes_of(&"Halt")).contains("not a message of this protocol"));
    assert!(complaint(bytes_of(&7)).contains("a pair of its number and itself"));
}
