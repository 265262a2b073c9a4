//! Network loads: receivers, nics, workloads of kind `net`, what plans do with them, and what goals and claims say of
//! their hops. Mistakes are among the cases of `bad.rs`.

use crate::language::support::{good, good_with};
use scenario::{
    AddressFamily, GoalTest, LinkRate, Metric, NetLoad, NetWorkload, Receiver, ReceiverPlace,
    Relation, Scenario, Scope, Stage, Step, TokenFrom, Value, Workload,
};
use std::time::Duration;
use workload::{Carriage, Heading, NetFrames, Network, Sockets};

const NET: &str = include_str!("../../good/net.toml");

fn net() -> Scenario {
    good(NET)
}

fn set(key: &str, value: &str) -> Scenario {
    good_with(NET, &[(key, value)])
}

#[track_caller]
fn receiver<'s>(s: &'s Scenario, name: &str) -> &'s Receiver {
    s.lab.receiver(name).unwrap_or_else(|| panic!("no receiver {name}"))
}

#[track_caller]
fn first_net(step: &Step) -> NetLoad<'_> {
    step.net_loads().next().expect("a network load")
}

#[track_caller]
fn network(s: &Scenario, name: &str) -> Network {
    let found = s.workloads.iter().filter_map(Workload::net).find(|net| net.name == name);
    found.unwrap_or_else(|| panic!("no network workload {name}")).network.clone()
}

fn of_plan(s: &Scenario, plan: &str) -> Vec<Step> {
    s.steps().into_iter().filter(|step| step.plan == plan).collect()
}

#[test]
fn receivers_stand_where_they_are_said_to() {
    let s = net();
    let at = |host: &str, port| ReceiverPlace::At { host: host.to_owned(), port };
    let far = receiver(&s, "far2");
    let expected = Receiver {
        name: "far2".into(),
        place: at("192.0.2.2", 5301),
        family: None,
        source: "192.0.2.100".parse().ok(),
        source_port: Some(6000),
        token: Some(TokenFrom::File("token".into())),
        adjust: Some("eth2".into()),
        rate: LinkRate::parse("10gbe").ok(),
        site: None,
    };
    assert_eq!(*far, expected);
    let near = receiver(&s, "near");
    assert_eq!((&near.place, near.family), (&ReceiverPlace::Embedded, Some(AddressFamily::Ipv6)));
    let six = receiver(&s, "six");
    assert_eq!(six.place, at("2001:db8::6", 6001));
    assert_eq!(six.token, Some(TokenFrom::Env("SIX_TOKEN".into())));
    assert_eq!(receiver(&s, "local").place, at("localhost", 6002));
    let shown: Vec<String> = s.lab.receivers.iter().map(|r| r.place.to_string()).collect();
    let expected =
        ["192.0.2.1:5301", "192.0.2.2:5301", "embedded", "[2001:db8::6]:6001", "localhost:6002"];
    assert_eq!(shown, expected);
}

/// Off loopback a token is asked for, and nowhere else.
#[test]
fn loopback_is_known_by_its_address() {
    #[track_caller]
    fn check(address: &str, loopback: bool) {
        let text = format!(
            "scenario.title = \"t\"\n[[receiver]]\nname = \"far\"\naddress = \"{address}\"\n"
        );
        let loaded = scenario::load(&crate::language::support::source(&text, &[]));
        assert_eq!(loaded.is_ok(), loopback, "{address}");
        let known = format!("{text}token_file = \"t\"\n");
        assert_eq!(good(&known).lab.receivers[0].place.is_loopback(), loopback, "{address}");
    }
    check("127.0.0.1", true);
    check("127.9.9.9:6000", true);
    check("::1", true);
    check("[::1]:6000", true);
    check("LocalHost", true);
    check("::ffff:127.0.0.1", true);
    check("192.0.2.1", false);
    check("localhost.example", false);
    check("2001:db8::1", false);
    check("::ffff:192.0.2.1", false);
}

#[test]
fn workloads_are_settled() {
    let s = net();
    let plain = Network::plain;
    let wire = Network {
        message: 64 << 10,
        streams: 3,
        heading: Heading::Both,
        sockets: Sockets {
            congestion: Some("cubic".into()),
            dscp: Some(46),
            send_buffer: Some(4 << 20),
            receive_buffer: Some(4 << 20),
            ..Sockets::default()
        },
        ..plain()
    };
    assert_eq!(network(&s, "wire"), wire);
    let all = Sockets { no_delay: true, zero_copy: true, multipath: true, ..Sockets::default() };
    let loaded = Network {
        rate: Some(100_000_000),
        probe: true,
        discard: true,
        cpus: vec![1, 0],
        sockets: all,
        ..plain()
    };
    assert_eq!(network(&s, "plain"), loaded);
    let file = Network {
        message: 1 << 20,
        batch: 4,
        threads: 2,
        streams: 4,
        sockets: Sockets { sendfile: true, ..Sockets::default() },
        ..plain()
    };
    assert_eq!(network(&s, "file"), file);
    let carriage = Carriage::Udp { segmented: true };
    let grams = Network { carriage, message: 1_400, batch: 32, cpus: vec![1], ..plain() };
    assert_eq!(network(&s, "grams"), grams);
    let at_once = Sockets { no_delay: true, ..Sockets::default() };
    let carriage = Carriage::Exchange { response: 4096 };
    let asks = Network { carriage, message: 64, streams: 8, sockets: at_once.clone(), ..plain() };
    assert_eq!(network(&s, "asks"), asks);
    let carriage = Carriage::DatagramExchange { response: 64 };
    assert_eq!(network(&s, "pings"), Network { carriage, message: 128, ..plain() });
    let carriage = Carriage::Connects { response: 64 };
    let calls = Network { carriage, message: 64, sockets: at_once, ..plain() };
    assert_eq!(network(&s, "calls"), calls);
    assert_eq!(
        s.workloads.iter().filter_map(Workload::disk).map(|w| w.name.as_str()).collect::<Vec<_>>(),
        ["small"]
    );
}

#[test]
fn a_load_on_a_vm_goes_by_its_nics() {
    let s = net();
    let hops = |member: &str| -> Vec<String> {
        s.lab.net_hops(member).iter().map(scenario::NetHop::name).collect()
    };
    assert_eq!(hops("far1"), ["far1"]);
    assert_eq!(hops("vm1"), ["vm1.far1", "vm1.near"]);
    assert_eq!(hops("vm4"), ["vm4.far2", "vm4.near"]);
    assert_eq!(hops("diskless"), ["diskless.six"]);
    assert_eq!(hops("data"), [""; 0]);
    let step = &of_plan(&s, "rest")[0];
    let all: Vec<Vec<String>> = step
        .net_loads()
        .map(|net| net.hops(&s.lab).iter().map(scenario::NetHop::name).collect())
        .collect();
    let pings = vec!["vm1.far1", "vm1.near", "vm2.far2", "vm2.near"];
    assert_eq!(all, [vec!["local"], pings, vec!["six"], vec!["near"]]);
}

#[test]
fn the_preset_says_how_long_where_the_plan_does_not() {
    let s = net();
    let phases = |step: &Step| [step.warmup, step.measure, step.cooldown].map(|d| d.as_secs());
    assert_eq!(phases(&of_plan(&s, "calibration")[0]), [30, 60, 30]);
    assert_eq!(phases(&of_plan(&s, "frames")[0]), [5, 10, 30]);
    assert_eq!(phases(&of_plan(&s, "both")[0]), [2, 2, 0]);
}

#[test]
fn sweeps_settle_loads_and_interfaces() {
    let s = net();
    let calibration = of_plan(&s, "calibration");
    assert_eq!(calibration.len(), 10);
    assert_eq!(calibration[0].name(), "calibration message=4KiB offload=on");
    assert_eq!(calibration[1].frames, NetFrames { mtu: Some(9000), offload: Some(false) });
    assert_eq!(first_net(&calibration[9]).workload.network.message, 64 << 10);
    assert!(calibration.iter().all(|step| step.disk_loads().next().is_none()));
    let frames = of_plan(&s, "frames");
    assert_eq!(frames.len(), 12);
    assert_eq!(frames[11].name(), "frames mtu=9000 wire.streams=3 direction=both");
    assert_eq!(frames[1].frames, NetFrames { mtu: Some(1500), offload: None });
    let settled = |step: &Step| {
        let NetWorkload { network, .. } = first_net(step).workload;
        (network.streams, network.heading)
    };
    assert_eq!(settled(&frames[1]), (1, Heading::Receive));
    assert_eq!(settled(&frames[5]), (3, Heading::Both));
    assert_eq!(first_net(&frames[0]).on, ["far1", "far2"]);
    let adjusted: Vec<&str> = frames[0].adjusted(&s.lab).iter().map(|r| r.name.as_str()).collect();
    assert_eq!(adjusted, ["far1", "far2"]);
    assert!(of_plan(&s, "both")[0].adjusted(&s.lab).is_empty());
}

/// An axis without a workload is for the loads of the kind that has it.
#[test]
fn disk_and_network_loads_stand_in_one_step() {
    let s = net();
    let both = of_plan(&s, "both");
    assert_eq!(both.len(), 8);
    let first = &both[0];
    assert_eq!(first.name(), "both rate=1000 IOPS block=4KiB batch=1");
    let names: Vec<&str> = first.net_loads().map(|net| net.workload.name.as_str()).collect();
    assert_eq!((names, first.loads.len()), (vec!["plain"], 2));
    assert_eq!(first_net(first).workload.network.rate, Some(100_000_000), "its own");
    let fifth = &both[4];
    assert_eq!(fifth.name(), "both rate=50 MB/s block=4KiB batch=1");
    assert_eq!(first_net(fifth).workload.network.rate, Some(50_000_000));
    assert!(matches!(
        fifth.disk_loads().next().expect("a load of disks").workload.spec.arrivals,
        workload::Arrivals::Closed { depth: 4, .. }
    ));
}

#[test]
fn a_search_over_disk_loads_has_network_loads_beside_it() {
    let s = net();
    let stages = s.stages();
    let mut hunts = stages.iter().filter_map(|stage| match stage {
        Stage::Search(hunt) => Some(hunt.step(0, 8.0, 0, true)),
        Stage::Step(_) => None,
    });
    let step = hunts.next().expect("a search");
    assert_eq!((step.loads.len(), first_net(&step).on.len()), (2, 2));
    assert_eq!(hunts.next(), None);
}

#[test]
fn goals_speak_of_hops_machines_probes_and_streams() {
    let s = net();
    let shown: Vec<(&str, &Scope)> = s.goals.iter().map(|g| (g.name.as_str(), &g.scope)).collect();
    let hop = |name: &str| Scope::Hop(name.to_owned());
    let expected = [
        (
            "total of far1 at least 90% of wire, plan=calibration, message=64KiB, offload=on",
            hop("far1"),
        ),
        ("CPU of far1/sender at most 15%, mtu=9000, direction=send", hop("far1/sender")),
        ("balance over the streams of far1 within 0.30%", Scope::Streams("far1".into())),
        ("p99 service time of near at most 1 ms", hop("near")),
        ("p99 service time of diskless.six/probe at most 1 ms", hop("diskless.six/probe")),
        ("total of far2 1.9 × that at mtu=1500, within 10%, plan=frames, mtu=9000", hop("far2")),
        ("errors of vm2.near at most 0", hop("vm2.near")),
        ("IOPS over vm1 and data at least 1 IOPS", Scope::Over(vec!["vm1".into(), "data".into()])),
    ];
    let expected: Vec<(&str, &Scope)> = expected.iter().map(|(n, s)| (*n, s)).collect();
    assert_eq!(shown, expected);
    let GoalTest::Metric { metric, value, .. } = &s.goals[1].test else { panic!("a metric") };
    assert_eq!((*metric, *value), (Metric::Cpu, Value::Percent(15.0)));
}

#[test]
fn claims_state_ratios_balance_and_cpu() {
    let s = net();
    let names: Vec<&str> = s.claims.iter().map(|c| c.name.as_str()).collect();
    let expected = [
        "total of far1 1709 MB/s, plan=calibration, message=64KiB, offload=on",
        "CPU of far1/sender about 15% or 16%",
        "imbalance over the streams of far1 up to 0.30%",
        "write of far1 1.9 × or 1.16 × that at mtu=1500, plan=frames, mtu=9000",
        "CPU of far1/receiver 0.46 × that at offload=off, plan=calibration, offload=on",
    ];
    assert_eq!(names, expected);
    let balance = &s.claims[2];
    assert_eq!((balance.metric, balance.relation), (Metric::Imbalance, Relation::UpTo));
    assert_eq!(balance.readings, [Value::Percent(0.3)]);
    let ratio = &s.claims[3];
    assert_eq!(ratio.to, [("mtu".to_owned(), "1500".to_owned())]);
    assert_eq!(ratio.readings, [Value::Times(1.9), Value::Times(1.16)]);
    assert_eq!((ratio.metric, ratio.relation), (Metric::WriteRate, Relation::Equal));
    assert!(s.claims[0].to.is_empty());
}

#[test]
fn overrides_reach_receivers_loads_and_frames() {
    assert_eq!(network(&set("workload.wire.message", "4KiB"), "wire").message, 4096);
    assert_eq!(network(&set("workload.wire.streams", "7"), "wire").streams, 7);
    assert_eq!(network(&set("workload.plain.rate", "1 GB/s"), "plain").rate, Some(1_000_000_000));
    let moved = set("receiver.six.address", "198.51.100.7:7000");
    assert_eq!(receiver(&moved, "six").place.to_string(), "198.51.100.7:7000");
    let renamed = set("receiver.\"far{1..2}\".adjust", "eno{1..2}");
    assert_eq!(receiver(&renamed, "far2").adjust.as_deref(), Some("eno2"));
    let s = set("plan.calibration.mtu", "1500");
    assert_eq!(of_plan(&s, "calibration")[0].frames.mtu, Some(1500));
    let s = set("plan.calibration.measure", "1s");
    assert_eq!(of_plan(&s, "calibration")[0].measure, Duration::from_secs(1));
    let s = set("plan.rest.offload", "off");
    assert_eq!(of_plan(&s, "rest")[0].frames.offload, Some(false));
}
