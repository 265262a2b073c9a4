//! Plans against what a scenario says, worked out by hand here; nothing is made.

use lab::{Batch, BondMode, Kernel, LabError, LabPlan, NodeKind, Trouble, batches, plan};
use scenario::{Scenario, Source, load};

fn scenario(text: &str) -> Scenario {
    let source = Source {
        name: "lab.toml".to_owned(),
        text: text.to_owned(),
        overrides: Vec::new(),
        catalogs: Vec::new(),
    };
    load(&source).unwrap_or_else(|mistakes| panic!("{mistakes:?}"))
}

/// Two fabrics, the second with two switches, and an array with a port in each.
const FABRICS: &str = r#"
scenario.title = "two fabrics"
host = [{ name = "esx", emulate = true, cpus = 0.5, adapters = [{ name = "hba", ports = 2 }] }]
switch = [{ name = "a", emulate = true }, { name = "edge", emulate = true }, { name = "core", emulate = true }]
volume = [{ name = "v{1..2}", array = "store", size = "4MiB" }]
vm = [
  { name = "vm1", host = "esx", disks = [{ lun = "store/v1" }] },
  { name = "vm2", host = "esx", cpus = 0.25, disks = [{ lun = "store/v2", ports = ["p2"] }] },
]
link = [
  { name = "up-a", from = "esx.hba:0", to = "a", rate = "4gfc" },
  { name = "down-a", from = "a", to = "store:0", rate = "100 MB/s" },
  { name = "up-b", from = "esx.hba:1", to = "edge:0", rate = "10gbe", mtu = 9000 },
  { name = "isl", from = "core:5", to = "edge:5", rate = "50 MB/s", credits = 16, length_m = 10000 },
  { name = "down-b", from = "store:1", to = "core:0" },
]
workload.w = { block = "8KiB", depth = 1 }
plan = { workload = "w", on = "vm*", measure = "1s" }
[[array]]
name = "store"
emulate = true
embedded = { scale = "10%", ports = [{ name = "p1" }, { name = "p2" }] }
"#;

fn planned() -> LabPlan {
    plan(&scenario(FABRICS)).expect("it can be made")
}

#[test]
fn every_part_is_a_node_and_every_cable_has_two_interfaces() {
    let plan = planned();
    let nodes: Vec<_> =
        plan.nodes.iter().map(|n| (n.name.as_str(), n.kind, n.ports.len())).collect();
    let (host, switch, array) = (NodeKind::Host, NodeKind::Switch, NodeKind::Array);
    let expected = [
        ("esx", host, 2),
        ("a", switch, 2),
        ("edge", switch, 2),
        ("core", switch, 2),
        ("store", array, 2),
    ];
    assert_eq!(nodes, expected);
    assert_eq!((plan.cables.len(), plan.interfaces(), plan.scale), (5, 10, 10.0));
    assert_eq!(plan.digest(), planned().digest());
}

#[test]
fn ends_face_the_initiators_whichever_way_a_link_is_written() {
    let plan = planned();
    let near: Vec<_> = plan
        .cables
        .iter()
        .map(|cable| (cable.name.as_str(), plan.nodes[cable.ends[0].node].name.as_str()))
        .collect();
    let expected =
        [("up-a", "esx"), ("down-a", "a"), ("up-b", "esx"), ("isl", "edge"), ("down-b", "core")];
    assert_eq!(near, expected);
}

#[test]
fn speeds_are_scaled_payload_and_buckets_hold_frames_to_it() {
    let plan = planned();
    let cable = |name: &str| plan.cables.iter().find(|of| of.name == name).expect("a cable");
    // A 4GFC port carries 413.3 MB/s of payload; at an MTU of 1500 a frame is 1514 bytes with 1448 of payload.
    let up = cable("up-a");
    let payload = up.payload.expect("a speed");
    assert!((payload / 41.33e6 - 1.0).abs() < 0.001, "{payload}");
    let bits = up.shaping.expect("a bucket").bits_per_s as f64;
    assert!((bits / (payload * 8.0 * 1514.0 / 1448.0) - 1.0).abs() < 1e-6, "{bits}");
    // 10GbE in jumbo frames: 8,948 bytes of payload in 9,038 on the wire.
    let jumbo = cable("up-b").payload.expect("a speed");
    assert!((jumbo / (1.25e8 * 8948.0 / 9038.0) - 1.0).abs() < 1e-6, "{jumbo}");
    // 16 credits are 16 frames of 2,148 bytes.
    let isl = cable("isl");
    assert_eq!(isl.shaping.expect("a bucket").limit, 16 * 2148);
    assert_eq!(isl.delay.as_micros(), 50);
    assert_eq!((cable("down-b").payload, cable("down-b").shaping), (None, None));
}

#[test]
fn a_host_reaches_each_port_by_the_fabric_that_leads_there() {
    let plan = planned();
    let reaches: Vec<_> = plan
        .reaches
        .iter()
        .map(|of| (of.port.as_str(), of.from.as_str(), of.address.to_string()))
        .collect();
    let expected =
        [("p1", "esx.hba:0", "10.64.0.1".to_owned()), ("p2", "esx.hba:1", "10.64.1.1".to_owned())];
    assert_eq!(reaches, expected);
    let addresses = |node: usize, port: usize| -> Vec<String> {
        plan.nodes[node].ports[port].addresses.iter().map(ToString::to_string).collect()
    };
    assert_eq!(
        (addresses(0, 0), addresses(0, 1)),
        (vec!["10.64.0.2".into()], vec!["10.64.1.2".into()])
    );
    assert_eq!(
        (addresses(4, 0), addresses(4, 1)),
        (vec!["10.64.0.1".into()], vec!["10.64.1.1".into()])
    );
}

#[test]
fn a_vm_with_a_quota_has_a_group_within_its_hosts() {
    let plan = planned();
    let quotas: Vec<_> =
        plan.quotas.iter().map(|of| (of.name.as_str(), of.within.as_deref(), of.cpus)).collect();
    let expected =
        [("esx", None, Some(0.5)), ("vm2", Some("esx"), Some(0.25)), ("store", None, None)];
    assert_eq!(quotas, expected);
}

#[test]
fn a_vm_that_moves_has_ways_and_a_group_on_its_new_host() {
    let text = FABRICS.replace(
        "host = [{ name = \"esx\",",
        "host = [{ name = \"other\", emulate = true, adapters = [{ name = \"hba\" }] }, { name = \"esx\",",
    );
    let text = text.replace(
        "link = [",
        "link = [\n  { name = \"up-c\", from = \"other.hba\", to = \"core\" },",
    );
    let stays = plan(&scenario(&text)).expect("it can be made");
    let moves = text.replace(
        "measure = \"1s\"",
        "measure = \"1s\", faults = [{ at = \"500ms\", move = \"vm2\", to = \"other\" }]",
    );
    let moves = plan(&scenario(&moves)).expect("it can be made");
    // Nothing leads from a host on which no VM ever is.
    assert!(stays.reaches.iter().all(|of| of.host == "esx"));
    let others: Vec<_> = moves.reaches.iter().filter(|of| of.host == "other").collect();
    let [reach] = &others[..] else { panic!("one way: {others:?}") };
    assert_eq!((reach.from.as_str(), reach.port.as_str()), ("other.hba", "p2"));
    // The port has one address, for whoever comes.
    let first = moves.reaches.iter().find(|of| of.host == "esx" && of.port == "p2");
    assert_eq!(first.map(|of| of.address), Some(reach.address));
    let groups = |plan: &LabPlan| -> Vec<(String, Option<String>)> {
        let vms = plan.quotas.iter().filter(|of| of.within.is_some());
        vms.map(|of| (of.name.clone(), of.within.clone())).collect()
    };
    let at = |name: &str, host: &str| (name.to_owned(), Some(host.to_owned()));
    assert_eq!(groups(&stays), [at("vm2", "esx")]);
    assert_eq!(groups(&moves), [at("vm2 on other", "other"), at("vm2", "esx")]);
}

#[test]
fn orders_make_pairs_first_and_shape_both_ends() {
    let plan = planned();
    let all = batches(
        &plan,
        |node| 100 + node as u32,
        "wirespeed-tag",
        Kernel { netem: true, ..Kernel::default() },
    );
    let lines = |program: &str| -> Vec<String> {
        all.iter().filter(|of| of.program == program).flat_map(|of| of.lines.clone()).collect()
    };
    let ip = lines("ip");
    assert!(
        ip[0].starts_with("link add p0 mtu 1500 type veth peer name p0 mtu 1500 netns 101"),
        "{ip:?}"
    );
    assert_eq!(ip.iter().filter(|line| line.contains("type veth")).count(), 5);
    assert!(ip.iter().any(|line| line == "link set dev p0 alias \"wirespeed-tag esx.hba:0\""));
    let tc = lines("tc");
    assert_eq!(tc.iter().filter(|line| line.contains("tbf")).count(), 8);
    assert_eq!(tc.iter().filter(|line| line.contains("netem delay 50us")).count(), 2);
    let without = batches(&plan, |_| 1, "m", Kernel::default());
    assert!(!without.iter().flat_map(|of| &of.lines).any(|line| line.contains("netem")));
}

/// One host whose two ports are a team, on one switch with the array.
const TEAM: &str = r#"
scenario.title = "a team"
host = [{ name = "esx", emulate = true, adapters = [{ name = "nic{1..2}" }] }]
team = [{ name = "both", host = "esx", members = ["nic1", "nic2"] }]
switch = [{ name = "sw", emulate = true }]
array = [{ name = "store", emulate = true, embedded = { scale = "50%", ports = [{ name = "p1" }] } }]
volume = [{ name = "v", array = "store", size = "4MiB" }]
vm = [{ name = "vm", host = "esx", disks = [{ lun = "store/v", adapter = "esx.both" }] }]
link = [
  { name = "up{1..2}", from = "esx.nic{1..2}", to = "sw", rate = "10 MB/s" },
  { name = "down", from = "sw", to = "store", length_m = 1000 },
]
workload.w = { block = "8KiB", depth = 1 }
plan = { workload = "w", on = "vm", measure = "1s" }
"#;

#[test]
fn a_team_has_routes_of_one_cost_over_its_members_and_back() {
    let plan = plan(&scenario(TEAM)).expect("it can be made");
    let [reach] = &plan.reaches[..] else { panic!("one way: {:?}", plan.reaches) };
    assert_eq!((reach.from.as_str(), reach.address.to_string()), ("esx.both", "10.64.0.1".into()));
    let all = batches(&plan, |n| n as u32, "mark", Kernel::default());
    let lines: Vec<(usize, &str)> =
        all.iter().flat_map(|of| of.lines.iter().map(|line| (of.node, line.as_str()))).collect();
    for line in [
        (0, "address add 10.64.0.2/24 dev p0"),
        (0, "address add 10.64.0.3/24 dev p1"),
        (0, "address add 10.64.0.4/32 dev lo"),
        (0, "route add 10.64.0.1/32 src 10.64.0.4 nexthop dev p0 nexthop dev p1"),
        (2, "route add 10.64.0.4/32 nexthop via 10.64.0.2 dev p0 nexthop via 10.64.0.3 dev p0"),
    ] {
        assert!(lines.contains(&line), "{line:?} of {lines:#?}");
    }
}

const BONDING: Kernel = Kernel { netem: false, bonding: true, filtering: true };

/// The lines of orders for `ip` and `bridge` at a node.
fn lines_at(plan: &LabPlan, node: usize, kernel: Kernel) -> Vec<String> {
    let all = batches(plan, |n| n as u32, "m", kernel);
    let here = all.iter().filter(|of| of.node == node && of.program != "tc");
    here.flat_map(|of| of.lines.clone()).collect()
}

#[test]
fn a_team_is_a_bond_where_the_kernel_has_bonding() {
    for (mode, options, both) in [
        ("static", "mode balance-xor miimon 100 xmit_hash_policy layer3+4", true),
        ("dynamic", "mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4", true),
        ("adaptive", "mode balance-alb miimon 100", false),
        ("failover", "mode active-backup miimon 100", false),
    ] {
        let text = TEAM.replace("\"nic2\"] }", &format!("\"nic2\"], mode = \"{mode}\" }}"));
        let plan = plan(&scenario(&text)).expect("it can be made");
        let (host, switch) = (lines_at(&plan, 0, BONDING), lines_at(&plan, 1, BONDING));
        let has = |lines: &[String], line: &str| lines.iter().any(|of| of == line);
        assert!(has(&host, &format!("link add t0 mtu 1500 type bond {options}")), "{host:#?}");
        for line in [
            "link set dev p0 master t0",
            "link set dev p1 master t0",
            "address add 10.64.0.4/24 dev t0",
            "link set dev t0 up",
        ] {
            assert!(has(&host, line), "{mode}: {line} of {host:#?}");
        }
        // A port within a bond has no address, and nothing is routed.
        let others = host.iter().filter(|of| of.contains("address") && !of.ends_with(" t0"));
        assert_eq!(others.count() + host.iter().filter(|of| of.contains("route")).count(), 0);
        // The switch joins its ports where the mode asks for it.
        assert_eq!(has(&switch, "link set dev p0 master t0"), both, "{mode}: {switch:#?}");
        assert_eq!(has(&switch, "link set dev t0 master br0"), both, "{mode}");
        assert_eq!(has(&switch, "link set dev p0 master br0"), !both, "{mode}");
        let first = has(&host, "link set dev t0 type bond primary p0");
        assert_eq!(first, plan.teams[0].mode == BondMode::ActiveBackup);
    }
}

#[test]
fn what_no_driver_can_join_stays_routes_or_is_refused() {
    let apart = TEAM
        .replace("[{ name = \"sw\", emulate = true }]", "[{ name = \"sw{1..2}\", emulate = true }]")
        .replace("to = \"sw\", rate", "to = \"sw{1..2}\", rate")
        .replace("from = \"sw\"", "from = \"sw1\"")
        .replace(
            "  { name = \"down\"",
            "  { name = \"isl\", from = \"sw1\", to = \"sw2\" },\n  { name = \"down\"",
        );
    let routed = plan(&scenario(&apart)).expect("it can be made");
    let why = routed.teams[0].apart.as_deref();
    assert_eq!(why, Some("its members lead to different switches"));
    assert!(lines_at(&routed, 0, BONDING).iter().any(|line| line.starts_with("route add")));
    // One for failover may have its members at different switches, but not at none.
    let failover = |text: &str| text.replace("\"nic2\"] }", "\"nic2\"], mode = \"failover\" }");
    let over = plan(&scenario(&failover(&apart))).expect("it can be made");
    assert_eq!(over.teams[0].apart, None);
    let lost =
        failover(&apart).replace("  { name = \"isl\", from = \"sw1\", to = \"sw2\" },\n", "");
    let error = plan(&scenario(&lost)).expect_err("two fabrics").to_string();
    assert!(error.contains("`esx.both` cannot fail over"), "{error}");
}

/// Two VLANs, each with a host and a port of the array, over two switches.
const VLANS: &str = r#"
scenario.title = "vlans"
host = [{ name = "h{1..2}", emulate = true, adapters = [{ name = "nic" }] }]
switch = [{ name = "edge", emulate = true }, { name = "core", emulate = true }]
array = [{ name = "store", emulate = true, embedded = { ports = [{ name = "p{1..2}" }] } }]
volume = [{ name = "v{1..2}", array = "store", size = "4MiB" }]
vm = [{ name = "vm{1..2}", host = "h{1..2}", disks = [{ lun = "store/v{1..2}" }] }]
link = [
  { name = "up1", from = "h1.nic", to = "edge", vlan = 10 },
  { name = "up2", from = "h2.nic", to = "edge", vlan = 20 },
  { name = "isl", from = "edge", to = "core" },
  { name = "down1", from = "core", to = "store:0", vlan = 10 },
  { name = "down2", from = "core", to = "store:1", vlan = 20 },
]
workload.w = { block = "8KiB", depth = 1 }
plan = { workload = "w", on = "vm*", measure = "1s" }
"#;

#[test]
fn vlans_are_kept_apart_by_bridges() {
    let tagged = plan(&scenario(VLANS)).expect("it can be made");
    let edge = tagged.node("edge").expect("a switch");
    let lines = lines_at(&tagged, edge, BONDING);
    for line in [
        "link add br0 type bridge vlan_filtering 1 vlan_default_pvid 0",
        "vlan add dev p0 vid 10 pvid untagged",
        "vlan add dev p1 vid 20 pvid untagged",
        "vlan add dev p2 vid 10",
        "vlan add dev p2 vid 20",
    ] {
        assert!(lines.iter().any(|of| of == line), "{line} of {lines:#?}");
    }
    let reached: Vec<_> =
        tagged.reaches.iter().map(|of| (of.host.as_str(), of.port.as_str())).collect();
    assert_eq!(reached, [("h1", "p1"), ("h2", "p2")]);
    assert_eq!(tagged.shared().map(|cable| cable.name.as_str()), Some("isl"));
    // Without such bridges each VLAN has one of its own, where no cable carries both.
    let isl = "{ name = \"isl\", from = \"edge\", to = \"core\" }";
    let two = [10, 20].map(|vlan| {
        format!("{{ name = \"isl{vlan}\", from = \"edge\", to = \"core\", vlan = {vlan} }}")
    });
    let text = VLANS.replace(isl, &two.join(",\n  "));
    let apart = plan(&scenario(&text)).expect("it can be made");
    assert_eq!(apart.shared(), None);
    let lines = lines_at(&apart, edge, Kernel::default());
    for line in
        ["link add br10 type bridge", "link set dev p0 master br10", "link set dev p3 master br20"]
    {
        assert!(lines.iter().any(|of| of == line), "{line} of {lines:#?}");
    }
    assert!(!lines.iter().any(|of| of.contains("vlan")), "{lines:#?}");
    // Without VLANs there is nothing of all this.
    let plain = plan(&scenario(TEAM)).expect("it can be made");
    assert!(
        !plain.tagged()
            && lines_at(&plain, 1, BONDING).contains(&"link add br0 type bridge".to_owned())
    );
}

/// Two hosts that send to a third, one of them by a VM, and by a port of its own to each of two receivers.
const NET: &str = r#"
scenario.title = "streams"
host = [
  { name = "a", emulate = true, adapters = [{ name = "nic{1..2}" }] },
  { name = "b", emulate = true, adapters = [{ name = "nic" }] },
  { name = "rx", emulate = true, adapters = [{ name = "nic" }] },
]
switch = [{ name = "sw", emulate = true }]
link = [
  { name = "up{1..2}", from = "a.nic{1..2}", to = "sw" },
  { name = "side", from = "b.nic", to = "sw" },
  { name = "down", from = "rx.nic", to = "sw" },
]
receiver = [
  { name = "far", embedded = true, host = "rx", from = "b" },
  { name = "other", embedded = true, host = "rx" },
]
vm = [
  { name = "vm1", host = "a", nics = [{ receiver = "far", adapter = "nic1" }, { receiver = "other", adapter = "nic2" }] },
  { name = "vm2", host = "a", nics = [{ receiver = "far", adapter = "nic1" }] },
]
workload.w = { kind = "net", message = "64KiB" }
plan = { load = [{ workload = "w", on = ["vm1", "vm2", "far"] }], measure = "1s" }
"#;

#[test]
fn each_pair_of_ports_between_hosts_has_a_subnet() {
    let plan = plan(&scenario(NET)).expect("it can be made");
    let ways: Vec<String> = plan
        .nets
        .iter()
        .map(|of| {
            let by = of.vm.as_deref().unwrap_or(&of.host);
            format!("{by} {} to {} at {} of {}", of.from, of.receiver, of.address, of.port)
        })
        .collect();
    let expected = [
        "vm1 a.nic1 to far at 10.64.0.1 of rx.nic",
        "vm1 a.nic2 to other at 10.64.1.1 of rx.nic",
        "vm2 a.nic1 to far at 10.64.0.1 of rx.nic",
        "b b.nic to far at 10.64.2.1 of rx.nic",
    ];
    assert_eq!(ways, expected);
    let heard =
        |name: &str| -> Vec<String> { plan.hears(name).iter().map(ToString::to_string).collect() };
    assert_eq!(heard("far"), ["10.64.0.1", "10.64.2.1"]);
    assert_eq!(heard("other"), ["10.64.1.1"]);
    let addresses = |label: &str| -> Vec<String> {
        let ports = plan.nodes.iter().flat_map(|node| &node.ports);
        let port = ports.into_iter().find(|port| port.label == label).expect("a port");
        port.addresses.iter().map(ToString::to_string).collect()
    };
    assert_eq!(addresses("a.nic1:0"), ["10.64.0.2"]);
    assert_eq!(addresses("a.nic2:0"), ["10.64.1.2"]);
    assert_eq!(addresses("b.nic:0"), ["10.64.2.2"]);
    assert_eq!(addresses("rx.nic:0"), ["10.64.0.1", "10.64.1.1", "10.64.2.1"]);
}

#[test]
fn a_load_on_a_receiver_needs_a_host_that_sends() {
    let error = plan(&scenario(&NET.replace(", from = \"b\"", ""))).expect_err("nobody sends");
    let LabError::Scenario(mistakes) = error else { panic!("{error}") };
    let text = mistakes.to_string();
    assert!(text.contains("`far`") && text.contains("from = \"HOST\""), "{text}");
    // At its place.
    assert!(text.contains("lab.toml:15"), "{text}");
}

/// All lines of orders, with their nodes and programs.
fn told(orders: &[Batch]) -> Vec<String> {
    let line = |of: &Batch, line: &String| format!("{} {}: {line}", of.node, of.program);
    orders.iter().flat_map(|of| of.lines.iter().map(|text| line(of, text))).collect()
}

#[test]
fn a_cable_that_is_hampered_is_as_it_was_in_the_end() {
    let plan = plan(&scenario(TEAM)).expect("it can be made");
    let [up, _, down] = &plan.cables[..] else { panic!("three cables") };
    // 2 MB/s of the scenario are 1 MB/s here: 1514 bytes on the wire for 1448 of payload.
    let rate = units::LinkRate::parse("2 MB/s").expect("a rate");
    let orders = plan.trouble(up, Trouble::Slow(rate), false);
    let bucket = |bits: u64| format!("tbf rate {bits}bit burst 73728 limit 16777216");
    let set = |bits| {
        let line = |node, port| {
            format!("{node} tc: qdisc replace dev {port} root handle 2: {}", bucket(bits))
        };
        vec![line(0, "p0"), line(1, "p0")]
    };
    assert_eq!(told(&orders.bring), set(8_364_641));
    assert_eq!(told(&orders.end), set(41_823_204));
    // One that had no bucket has none again; with a delay the bucket is behind it.
    let orders = plan.trouble(down, Trouble::Stall, true);
    let stalled = "1 tc: qdisc replace dev p2 parent 1: handle 2: tbf rate 64000bit burst 3028 limit 16777216";
    assert_eq!(told(&orders.bring)[0], stalled);
    assert_eq!(told(&orders.end)[0], "1 tc: qdisc del dev p2 parent 1: handle 2:");
    // A quarter of all words of 32 bits is below 2^30; frames go one by one.
    let orders = plan.trouble(up, Trouble::Lose(0.25), false);
    let lines = told(&orders.bring);
    assert_eq!(lines[0], "0 ip: link set dev p0 gso_max_segs 1");
    let drop = "1 tc: filter add dev p0 ingress pref 1 protocol all bpf direct-action bytecode \
                \"4,32 0 0 4294963256,53 0 1 1073741824,6 0 0 4294967295,6 0 0 2\"";
    assert_eq!(lines.last().map(String::as_str), Some(drop));
    assert_eq!(told(&orders.end)[0], "0 tc: qdisc del dev p0 clsact");
    // The end at the switch takes less.
    let orders = plan.trouble(up, Trouble::Mismatch(1000), false);
    assert_eq!(told(&orders.bring)[2], "1 ip: link set dev p0 mtu 1000");
    assert!(
        told(&orders.bring)[4].ends_with("\"4,128 0 0 0,37 1 0 1014,6 0 0 4294967295,6 0 0 2\"")
    );
    assert_eq!(told(&orders.end)[1], "1 ip: link set dev p0 mtu 1500");
}
