//! The ways of network loads between hosts of a lab, what keeps them from having one, and what a live run says of them.

use crate::language::support::{good, source};

/// Three servers with a dual-port adapter each; a load on `far`, from `server1` to `server2`.
const LAB: &str = r#"
[scenario]
title = "t"

[[receiver]]
name = "far"
host = "server2"
from = "server1"

[[host]]
name = "server{1..3}"
adapters = [{ name = "nic", part = "qle3142", ports = 1 }]

[[switch]]
name = "sw"

[workload.w]
kind = "net"

[[plan]]
workload = "w"
on = "far"
warmup = "0s"
measure = "1s"
"#;

/// The way of the only network load, each hop with a `<` where it is met turned around.
#[track_caller]
fn way(text: &str) -> String {
    let scenario = good(text);
    let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let [way] = &topology.nets[..] else { panic!("{} ways", topology.nets.len()) };
    let leg = |leg: &scenario::topology::NetLeg| {
        let name = &topology.hop(leg.hop).name;
        format!("{name}{}", if leg.turned { "<" } else { "" })
    };
    way.legs.iter().map(leg).collect::<Vec<_>>().join(" ")
}

/// What is wrong with a lab, whether loaded, simulated or run.
#[track_caller]
fn wrong(text: &str, expected: &str) {
    let found = match scenario::load(&source(text, &[])) {
        Err(mistakes) => mistakes.to_string(),
        Ok(scenario) => match scenario.topology() {
            Err(mistakes) => mistakes.to_string(),
            Ok(_) => scenario.live().err().map(|m| m.to_string()).unwrap_or_default(),
        },
    };
    assert!(found.contains(expected), "{expected:?} is not in:\n{found}");
}

#[test]
fn between_two_hosts_of_one_switch() {
    assert_eq!(
        way(LAB),
        "server1.cpu server1.nic server1.nic:0-sw sw:0 sw:1< server2.nic:0-sw< server2.nic< server2.cpu<"
    );
}

#[test]
fn straight_from_adapter_to_adapter() {
    let text = LAB.replace("[[switch]]\nname = \"sw\"\n", "");
    assert_eq!(
        way(&text),
        "server1.cpu server1.nic server1.nic:0-server2.nic:0 server2.nic< server2.cpu<"
    );
    // A cable has one direction of its own, whoever sends.
    let cabled =
        format!("{text}\n[[link]]\nname = \"c\"\nfrom = \"server2.nic\"\nto = \"server1.nic\"\n");
    assert_eq!(way(&cabled), "server1.cpu server1.nic c< server2.nic< server2.cpu<");
}

#[test]
fn over_a_trunk() {
    let links = "[[link]]\nname = \"a\"\nfrom = \"server1.nic\"\nto = \"sw\"\n\
                 [[link]]\nname = \"b\"\nfrom = \"server2.nic\"\nto = \"two\"\n\
                 [[link]]\nname = \"t\"\nfrom = \"two\"\nto = \"sw\"\n[[switch]]\nname = \"two\"\n";
    assert_eq!(
        way(&format!("{LAB}{links}")),
        "server1.cpu server1.nic a sw:0 t< two:0< b< server2.nic< server2.cpu<"
    );
}

/// A conversation stays on one member of a team, whichever that is.
#[test]
fn a_conversation_keeps_to_one_link_of_a_team() {
    let team = "[[team]]\nname = \"all\"\nhost = \"server1\"\nmembers = [\"nic:0\", \"nic:1\", \"nic:2\", \"nic:3\"]\n";
    let text = LAB.replace("ports = 1", "ports = 4");
    let text = text.replace("from = \"server1\"", "from = \"server1\"\nfrom_adapter = \"all\"");
    let found = way(&format!("{text}{team}"));
    assert!(
        found.starts_with("server1.cpu server1.nic server1.nic:1 server1.nic:1-sw sw:1"),
        "{found}"
    );
}

#[test]
fn a_vm_goes_by_its_host() {
    let vm = "[[vm]]\nname = \"vm1\"\nhost = \"server3\"\nnics = [{ receiver = \"far\", adapter = \"nic\" }]\n";
    let text = format!("{LAB}{vm}").replace("on = \"far\"", "on = \"vm1\"");
    assert!(way(&text).starts_with("vm1.cpu server3.cpu server3.nic "), "{}", way(&text));
}

#[test]
fn what_keeps_a_load_from_its_way() {
    wrong(&LAB.replace("host = \"server2\"\n", "host = \"server9\"\n"), "server9");
    wrong(&LAB.replace("host = \"server2\"\n", ""), "it needs `host`, which names the host");
    wrong(
        &LAB.replace("host = \"server2\"\nfrom = \"server1\"\n", ""),
        "needs one of `address`, `embedded` or `host`",
    );
    wrong(
        &LAB.replace("from = \"server1\"", "from = \"server2\""),
        "the receiver itself runs on `server2`",
    );
    wrong(&LAB.replace("qle3142", "qle2462"), "it has no network adapter");
    wrong(
        &LAB.replace(
            "{ name = \"nic\", part = \"qle3142\", ports = 1 }",
            "{ name = \"nic{1..2}\", part = \"qle3142\", ports = 1 }",
        ),
        "has several network adapters",
    );
    let apart = "[[link]]\nname = \"a\"\nfrom = \"server1.nic\"\nto = \"sw\"\n\
                 [[link]]\nname = \"b\"\nfrom = \"server2.nic\"\nto = \"two\"\n[[switch]]\nname = \"two\"\n";
    wrong(&format!("{LAB}{apart}"), "nothing leads from the host `server1` to `server2`");
    wrong(&LAB.replace("\"sw\"\n", "\"sw\"\n[[switch]]\nname = \"two\"\n"), "no cable leads from");
    // What a live run cannot do is told by it alone.
    wrong(LAB, "a live run cannot reach `far`");
    let far = LAB.replace("host = \"server2\"", "host = \"server2\"\naddress = \"127.0.0.1\"");
    wrong(&far.replace("warmup", "mtu = 9000\nwarmup"), "would set an MTU or offloads");
    assert!(good(&far).live().is_ok());
}
