//! Plans against what a scenario says, worked out by hand here; nothing is made.

use lab::{LabPlan, NodeKind, batches, plan};
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
fn orders_make_pairs_first_and_shape_both_ends() {
    let plan = planned();
    let all = batches(&plan, |node| 100 + node as u32, "wirespeed-tag", true);
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
    let without = batches(&plan, |_| 1, "m", false);
    assert!(!without.iter().flat_map(|of| &of.lines).any(|line| line.contains("netem")));
}
