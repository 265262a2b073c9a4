//! Labs at random: whatever is cabled, zoned and masked in whatever way, the graph is made or the mistakes are told.

use crate::language::support::source;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use scenario::load;

/// A name of one of a few things of a kind, sometimes of one that is not there.
fn one(prefix: &'static str, most: u32) -> impl Strategy<Value = String> {
    prop_oneof![30 => 1..=most, 1 => Just(9)].prop_map(move |n| format!("{prefix}{n}"))
}

/// An end of a cable.
fn end() -> impl Strategy<Value = String> {
    let device = prop_oneof![
        3 => (one("h", 2), one("hba", 2)).prop_map(|(host, adapter)| format!("{host}.{adapter}")),
        4 => one("s", 3),
        3 => one("a", 2),
    ];
    (device, prop::option::of(0..4u32)).prop_map(|(device, port)| match port {
        Some(port) => format!("{device}:{port}"),
        None => device,
    })
}

prop_compose! {
    fn link()(from in end(), to in end()) -> String {
        format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\n")
    }
}

prop_compose! {
    fn zone()(n in 0..1000u32, members in prop::collection::vec(end(), 1..4), vm in prop::option::of(one("v", 3))) -> String {
        let members: Vec<String> = members
            .into_iter()
            .filter(|member| !member.starts_with('s'))
            .chain(vm)
            .map(|member| format!("\"{member}\""))
            .collect();
        let members = if members.is_empty() { "\"a1\"".to_owned() } else { members.join(", ") };
        format!("[[zone]]\nname = \"z{n}\"\nmembers = [{members}]\n")
    }
}

prop_compose! {
    fn path()(
        n in 0..1000u32,
        from in prop_oneof![one("v", 3), one("h", 2)],
        to in one("a", 2),
        via in prop::collection::vec(end(), 0..3),
        policy in prop::sample::select(&["fixed", "round-robin", "least-queue", "active-passive"][..]),
    ) -> String {
        let via: Vec<String> = via.into_iter().map(|hop| format!("\"{hop}\"")).collect();
        let via = if via.is_empty() { String::new() } else { format!("via = [{}]\n", via.join(", ")) };
        format!("[[path]]\nname = \"way{n}\"\nfrom = \"{from}\"\nto = \"{to}\"\npolicy = \"{policy}\"\n{via}")
    }
}

prop_compose! {
    fn lab()(
        links in prop_oneof![2 => prop::collection::vec(link(), 0..7), 1 => Just(Vec::new())],
        zones in prop_oneof![1 => prop::collection::vec(zone(), 0..3), 1 => Just(Vec::new())],
        paths in prop_oneof![1 => prop::collection::vec(path(), 1..2), 1 => Just(Vec::new())],
        switches in 0..4u32,
        adapter in prop::option::weighted(0.9, prop_oneof![2 => one("hba", 2), 1 => Just("team".to_owned())]),
        mode in prop::sample::select(&["static", "dynamic", "adaptive", "failover"][..]),
        npiv in any::<bool>(),
        mask in prop::option::weighted(0.2, prop_oneof![one("v", 3), one("h", 2)]),
        incident in prop_oneof![
            (one("v", 3), one("h", 2)).prop_map(|(vm, to)| format!("move = \"{vm}\", to = \"{to}\"")),
            end().prop_map(|end| format!("fail = \"{end}\"")),
        ],
    ) -> String {
        let switches = if switches == 0 { String::new() } else { format!("[[switch]]\nname = \"s{{1..{switches}}}\"\n") };
        let adapter = adapter.map(|name| format!(", adapter = \"{name}\"")).unwrap_or_default();
        let mask = mask.map(|name| format!("mask = \"{name}\"\n")).unwrap_or_default();
        format!(
            "scenario.title = \"t\"\n{switches}[[array]]\nname = \"a{{1..2}}\"\nports = 4\n[[volume]]\nname = \"lun\"\narray = \"a1\"\n{mask}\
             [[host]]\nname = \"h{{1..2}}\"\nadapters = [{{ name = \"hba{{1..2}}\", ports = 4, npiv = {npiv} }}]\n\
             [[team]]\nname = \"team\"\nhost = \"h*\"\nmembers = \"hba1\"\nmode = \"{mode}\"\n\
             [[team]]\nname = \"team\"\nhost = \"h2\"\nmembers = \"hba2:1\"\n\
             [[vm]]\nname = \"v{{1..3}}\"\nhost = \"h*\"\nnpiv = {npiv}\ndisks = [{{ lun = \"a*/auto\"{adapter} }}, {{ lun = \"a1/lun\"{adapter} }}]\n\
             [workload.w]\nblock = \"4KiB\"\n[plan]\nworkload = \"w\"\non = \"v*\"\nmeasure = \"10s\"\nfaults = [{{ at = \"1s\", {incident} }}]\n\
             {}{}{}",
            links.concat(), zones.concat(), paths.concat(),
        )
        .replace("[[team]]\nname = \"team\"\nhost = \"h*\"", "[[team]]\nname = \"team\"\nhost = \"h1\"")
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn a_lab_is_refused_or_a_graph(text in lab()) {
        crate::language::robust::survive(&text, &[]);
    }
}

/// The property above would hold of nothing as well.
#[test]
fn some_labs_are_graphs_and_some_are_not() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut graphs, mut told) = (0, 0);
    for _ in 0..300 {
        let text = lab().new_tree(&mut runner).expect("a lab").current();
        let Ok(scenario) = load(&source(&text, &[])) else { continue };
        match scenario.topology() {
            Ok(_) => graphs += 1,
            Err(_) => told += 1,
        }
    }
    assert!(graphs > 5 && told > 5, "{graphs} graphs, {told} told");
}
