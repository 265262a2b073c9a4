//! Any text at all: no panic, places within the text, and a bounded answer.

use crate::language::support::{bad, source};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use scenario::topology::{HopKind, Topology};
use scenario::{Diagnostics, load};
use std::time::Duration;

const GOOD: [&str; 6] = [
    include_str!("../../good/eight-vms.toml"),
    include_str!("../../good/files.toml"),
    include_str!("../../good/everything.toml"),
    include_str!("../../good/san.toml"),
    include_str!("../../good/net.toml"),
    include_str!("../../good/lab.toml"),
];

/// Loads and, if refused, looks at every place and renders.
pub fn survive(text: &str, overrides: &[(&str, &str)]) {
    match load(&source(text, overrides)) {
        Ok(scenario) => {
            let steps = scenario.steps();
            let mut loads = steps.iter().flat_map(|step| step.disk_loads());
            assert!(loads.all(|load| load.workload.spec.problems().is_empty()));
            let mut nets = steps.iter().flat_map(|step| step.net_loads());
            assert!(nets.all(|net| net.workload.network.problems().is_empty()));
            let _ = scenario.live().map_err(|diagnostics| inspect(&diagnostics));
            match scenario.topology() {
                Ok(topology) => sound(&topology),
                Err(diagnostics) => inspect(&diagnostics),
            }
        }
        Err(diagnostics) => inspect(&diagnostics),
    }
}

/// Names are unique, and every path leads somewhere.
fn sound(topology: &Topology) {
    let names: std::collections::BTreeSet<&str> =
        topology.hops.iter().map(|hop| hop.name.as_str()).collect();
    assert_eq!(names.len(), topology.hops.len());
    let moved = topology.moves.iter().flat_map(|moved| &moved.ways);
    for way in topology.ways.iter().chain(moved) {
        assert!(!way.paths.is_empty() && way.paths.len() <= 256, "{way:?}");
        for path in &way.paths {
            let last = path.hops.last().expect("a hop");
            let kind = topology.hop(*last).kind;
            assert!(matches!(kind, HopKind::Disks | HopKind::TapeDrive), "{kind:?}");
            let once: std::collections::BTreeSet<_> = path.hops.iter().collect();
            assert_eq!(once.len(), path.hops.len(), "no hop twice");
        }
    }
}

fn inspect(diagnostics: &Diagnostics) {
    assert!(!diagnostics.is_empty());
    let mut last = None;
    for d in diagnostics {
        let related = d.related.iter().map(|(place, _)| place);
        for place in related.chain([&d.place]) {
            let text = diagnostics.text(place.origin);
            assert!(
                text.get(place.span.clone()).is_some(),
                "{:?} of {} bytes",
                place.span,
                text.len()
            );
            assert!(place.line >= 1 && place.column >= 1);
        }
        let key = (d.place.origin, d.place.span.start);
        assert!(last <= Some(key), "sorted by place");
        last = Some(key);
        assert!(!d.message.chars().any(char::is_control), "{:?}", d.message);
        assert!(d.message.len() < 2000, "{} bytes", d.message.len());
    }
    let rendered = diagnostics.to_string();
    assert!(!rendered.chars().any(|c| c.is_control() && c != '\n'));
}

/// Pieces of the language, whole and broken, to be strung together.
const PIECES: &[&str] = &[
    "[scenario]\n",
    "title = \"t\"\n",
    "[[vm]]\n",
    "[[target]]\n",
    "[workload.w]\n",
    "[plan]\n",
    "[[plan]]\n",
    "[[goal]]\n",
    "[[claim]]\n",
    "name = ",
    "\"vm{1..8}\"\n",
    "\"vm*\"\n",
    "on = ",
    "block = ",
    "\"8KiB\"\n",
    "sweep = { depth = \"1..8\" }\n",
    "measure = \"1s\"\n",
    "workload = \"w\"\n",
    "rows = [{ size = \"4KiB\" }]\n",
    "preset = \"oblload\"\n",
    "[[array]]\nname = \"store\"\n",
    "[[volume]]\nname = \"data\"\narray = \"store\"\n",
    "embedded = { ports = [{ name = \"p{1..2}\", rate = \"4gfc\" }], scale = \"1%\" }\n",
    "disks = [{ lun = \"store/data\", ports = [\"p1\", \"p*\"], policy = \"fixed\" }]\n",
    "faults = [{ at = \"0s\", kill = \"store.*\" }, { at = \"0s\", slow = \"*\", to = \"1 KB/s\" }]\n",
    "sweep = { port = [\"8gfc\", \"1 KB/s\"] }\n",
    "[[part]]\nname = \"p\"\nlike = \"p\"\n",
    "[[team]]\nname = \"t\"\nhost = \"esx\"\nmembers = \"*\"\n",
    "raid = \"raid-5\"\ndisks = 5\nluns = 2\n",
    "faults = [{ at = \"0s\", fail = \"*\" }, { at = \"1s\", move = \"vm*\", to = \"esx*\" }]\n",
    "[workload.c]\nkind = \"copy\"\nfrom = \"*\"\nto = \"*/auto\"\n",
    "after = \"x\"\namount = \"1GB\"\n",
    "[[receiver]]\nname = \"far{1..2}\"\n",
    "address = \"[::1]:1\"\nadjust = \"eth{1..2}\"\n",
    "embedded = true\nrate = \"10gbe\"\nsource_port = 65535\n",
    "nics = [{ receiver = \"far*\" }]\n",
    "[workload.wire]\nkind = \"net\"\n",
    "load = \"udp\"\nbatch = 64\nsegmented = true\n",
    "workload = \"wire\"\non = \"far*\"\nmeasure = \"1s\"\n",
    "sweep = { message = \"1KiB..64KiB\", mtu = [576], offload = [\"on\"], rate = [1, \"1 MB/s\"] }\n",
    "balance = { streams = \"far1\", within = 0 }\n",
    "hop = \"far1/sender\"\ncpu = { at_most = 1 }\n",
    "rate = 1e308\n",
    "seed = 0xffffffffffffffff\n",
    "{",
    "}",
    "[",
    "]",
    "\"",
    "'",
    "=",
    ".",
    ",",
    "\n",
    "\r\n",
    "\t",
    "ü",
    "日",
    "\u{0}",
    "\u{feff}",
    "1..2",
    "nan",
    "-1",
    "1979-05-27",
    "#",
];

proptest! {
    #[test]
    fn any_text(text in "\\PC*") {
        survive(&text, &[]);
    }

    #[test]
    fn pieces_of_the_language(chosen in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        survive(&chosen.concat(), &[]);
    }

    #[test]
    fn a_good_scenario_with_a_hole(
        which in 0..GOOD.len(),
        from in 0.0..1.0,
        length in 0..40usize,
        piece in prop::sample::select(PIECES),
    ) {
        let mut chars: Vec<char> = GOOD[which].chars().collect();
        let from = (from * chars.len() as f64) as usize;
        let to = (from + length).min(chars.len());
        chars.splice(from..to, piece.chars());
        survive(&chars.into_iter().collect::<String>(), &[]);
    }

    #[test]
    fn any_override(key in "[a-z.\"*{}]{0,20}|(plan|target|workload|vm)\\.[a-z0-9.\"]{0,12}", value in "\\PC{0,20}") {
        survive(GOOD[1], &[(&key, &value)]);
    }
}

/// A file of about a megabyte that is bad or large in one respect.
#[track_caller]
fn large(piece: &str) {
    let count = (1 << 20) / piece.len();
    let text = format!("scenario.title = \"t\"\n{}", piece.repeat(count));
    inspect(&bad(&text));
}

#[test]
fn a_megabyte_of_syntax_errors() {
    large("=\n");
    large("] ");
}

#[test]
fn a_megabyte_of_nesting() {
    large("[");
    large("x = { y = ");
    large("a.");
}

#[test]
fn a_megabyte_of_one_text() {
    large("title = \"");
    let name = "x".repeat(1 << 20);
    inspect(&bad(&format!("[[host]]\nname = \"{name}\"\n")));
    inspect(&bad(&format!("[{name}]\n")));
    inspect(&bad(&format!(
        "[plan]\nmeasure = \"{name}\"\nworkload = \"{name}\"\non = \"{name}*\"\n"
    )));
}

#[test]
fn a_megabyte_of_vms() {
    large("[[vm]]\nname = \"vm{1..9999}\"\nhost = \"esx*\"\ndisks = [{ lun = \"s*/auto\" }]\n");
}

#[test]
fn a_megabyte_of_goals() {
    large("[[goal]]\nstep = { depth = 1 }\nover = \"vm*\"\n");
}

#[test]
fn a_megabyte_of_plans() {
    large("[[plan]]\nworkload = \"w\"\non = \"n*\"\nsweep = { depth = \"1..4096\" }\n");
}

#[test]
fn a_megabyte_of_keys() {
    let keys: String = (0..60_000).map(|n| format!("k{n} = {n}\n")).collect();
    let d = bad(&format!("[scenario]\ntitle = \"t\"\n{keys}"));
    assert_eq!((d.len(), d.omitted()), (500, 59_500));
    inspect(&d);
    let axes: String = (0..40_000).map(|n| format!("w{n}.depth = [1]\n")).collect();
    inspect(&bad(&format!("[plan.sweep]\n{axes}")));
}

#[test]
fn a_megabyte_of_references() {
    let hosts = "[[host]]\nname = \"h{1..100}\"\nadapters = [{ name = \"a{1..90}\" }]\n";
    let zones = "[[zone]]\nname = \"z\"\nmembers = [\"h*\", \"a*\", \"h1.a{1..90}\"]\n".repeat(900);
    inspect(&bad(&format!("scenario.title = \"t\"\n{hosts}{zones}")));
    let vms = format!(
        "[[vm]]\nname = \"v{{1..9000}}\"\ndisks = [{}]\n",
        "{ target = \"t\" },".repeat(900)
    );
    let target = "[[target]]\nname = \"t\"\nurl = \"null:\"\nsize = \"1GiB\"\n";
    inspect(&bad(&format!("scenario.title = \"t\"\n{target}{vms}")));
}

#[test]
fn more_than_a_scenario_can_be() {
    let d = bad(&"#\n".repeat(3 << 20));
    assert_eq!(
        d.iter().next().expect("a mistake").message,
        "the file is larger than 4 MiB: this is not a scenario"
    );
}

#[test]
fn a_megabyte_of_embedded_arrays() {
    large(
        "[[array]]\nname = \"a{1..9999}\"\nembedded = { ports = [{ name = \"p{1..64}\", rate = \"8gfc\" }] }\n",
    );
    let ports = "{ name = \"p{1..9999}\" },".repeat(30_000);
    inspect(&bad(&format!("[[array]]\nname = \"a\"\nembedded = {{ ports = [{ports}] }}\n")));
}

#[test]
fn a_megabyte_of_volumes() {
    large("[[volume]]\nname = \"v{1..9999}\"\narray = \"a*\"\nsize = \"1MiB\"\nblock = 4096\n");
}

#[test]
fn a_megabyte_of_faults() {
    let array = "scenario.title = \"t\"\n[[array]]\nname = \"a\"\nembedded = { ports = [{ name = \"p{1..64}\" }] }\n\
                 [[target]]\nname = \"t\"\nfile = \"f\"\n[workload.w]\nblock = \"8KiB\"\n";
    let plan = "[[plan]]\nname = \"n\"\nworkload = \"w\"\non = \"t\"\nmeasure = \"1h\"\n";
    let faults = "{ at = \"1s\", kill = \"a.*\" },".repeat(30_000);
    inspect(&bad(&format!("{array}{plan}faults = [{faults}]\n")));
    // Right in itself, but 64 faults in each of 10,000 steps, again and again.
    let all = "sweep = { depth = \"1..512\" }\nrepeat = 900\nfaults = [{ at = \"1s\", kill = \"a.*\" }, { at = \"2s\", revive = \"a.*\" }]\n";
    let d = bad(&format!("{array}{plan}{all}"));
    assert!(d.to_string().contains("pairs of a step and a fault, more than 1000000"), "{d}");
}

#[test]
fn many_disks_with_many_ways() {
    let text = "scenario.title = \"t\"\n[[array]]\nname = \"a\"\nembedded = { ports = [{ name = \"p{1..64}\" }] }\n\
                [[volume]]\nname = \"v\"\narray = \"a\"\nsize = \"1MiB\"\n\
                [[vm]]\nname = \"v{1..9000}\"\ndisks = [{ lun = \"a/v\", ports = \"p*\" }, { lun = \"a/v\" }]\n";
    let d = bad(text);
    assert!(d.to_string().contains("references match more than 100000 names"), "{d}");
    inspect(&d);
}

/// A value of a key: nearly always one that can be right, so that whole scenarios are.
fn value(
    right: &'static [&'static str],
    wrong: &'static [&'static str],
) -> impl Strategy<Value = &'static str> {
    prop_oneof![20 => prop::sample::select(right), 1 => prop::sample::select(wrong)]
}

fn speed() -> impl Strategy<Value = &'static str> {
    value(
        &["\"4gfc\"", "\"10GbE:9000\"", "\"50 MB/s\"", "\"10 KB/s\"", "\"1 TB/s\""],
        &["\"9gfc\"", "8", "\"\"", "\"10gbe:\"", "\"999 B/s\""],
    )
}

prop_compose! {
    fn port()(
        name in value(&["p1", "p2", "p3", "p{4..6}"], &["", "p*", "a b", "{1..99}", "p{2..1}"]),
        rate in prop::option::of(speed()),
    ) -> String {
        let rate = rate.map(|rate| format!(", rate = {rate}")).unwrap_or_default();
        format!("{{ name = \"{name}\"{rate} }}")
    }
}

prop_compose! {
    fn fault()(
        at in 0..10_100u64,
        action in value(&["kill", "revive", "slow", "slow", "busy", "ready"], &["kil", "to"]),
        hop in value(
            &["\"store.*\"", "\"*\"", "\"store.p1\"", "[\"store.p1\", \"store.*\"]"],
            &["\"store\"", "\"ssd.p1\"", "\"p1\"", "[]", "\"*.\"", "\"store.p{1..9}\""],
        ),
        to in speed(),
        stray in 0..20u8,
    ) -> String {
        let given = (action == "slow") != (stray == 0);
        let to = if given { format!(", to = {to}") } else { String::new() };
        format!("{{ at = \"{at}ms\", {action} = {hop}{to} }}")
    }
}

prop_compose! {
    fn san()(
        ports in prop::collection::vec(port(), 1..3),
        scale in value(&["\"50%\"", "20", "100", "\"12.5%\""], &["0", "\"0.001%\"", "\"101%\"", "nan", "\"x\""]),
        block in value(&["512", "4096", "\"4KiB\"", "\"512B\""], &["1024", "0", "\"1MiB\""]),
        ways in value(&["\"p*\"", "\"*\""], &["[\"p1\", \"p1\"]", "\"q\"", "\"\"", "[]"]),
        policy in value(
            &["\"fixed\"", "\"round-robin\"", "\"least-queue\"", "\"active-passive\""],
            &["\"none\"", "1"],
        ),
        turn in value(&["1", "4294967295", "\"1MiB\""], &["0", "\"0B\"", "4294967296", "-1"]),
        given in 0..8u8,
        sweep in prop::collection::vec(speed(), 1..3),
        faults in prop::collection::vec(fault(), 0..4),
    ) -> String {
        let key = |bit: u8, text: String| if given & bit > 0 { text } else { String::new() };
        format!(
            "scenario.title = \"t\"\n[[array]]\nname = \"store\"\nembedded = {{ ports = [{}], scale = {scale} }}\n\
             [[array]]\nname = \"ssd\"\n[[volume]]\nname = \"data\"\narray = \"store\"\nsize = \"64KiB\"\nblock = {block}\n\
             [[vm]]\nname = \"vm{{1..3}}\"\ndisks = [{{ lun = \"store/data\"{}{}{} }}]\n[workload.w]\nblock = \"4KiB\"\n\
             [plan]\nworkload = \"w\"\non = \"vm*\"\nmeasure = \"10s\"\nsweep = {{ port = [{}] }}\nfaults = [{}]\n",
            ports.join(", "),
            key(1, format!(", ports = {ways}")),
            key(2, format!(", policy = {policy}")),
            key(4, format!(", switch_after = {turn}")),
            sweep.join(", "),
            faults.join(", "),
        )
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Whatever is accepted is fit to be carried out: ports with speeds that a port can have, ways that exist, and faults
    /// within the measured time, each a change.
    #[test]
    fn an_embedded_array_is_refused_or_sound(text in san()) {
        let scenario = match load(&source(&text, &[])) {
            Ok(scenario) => scenario,
            Err(mistakes) => return { inspect(&mistakes); Ok(()) },
        };
        let store = scenario.lab.embedded("store").expect("it was accepted");
        prop_assert!(!store.ports.is_empty() && store.scale.0 > 0.0 && store.scale.0 <= 100.0);
        for step in scenario.steps() {
            let speeds = store.ports.iter().filter_map(|port| store.rate(port, &step));
            let slow = step.faults.iter().filter_map(|fault| match fault.action {
                scenario::FaultAction::Slow(rate) => Some(rate),
                _ => None,
            });
            for rate in speeds.chain(slow) {
                prop_assert!((1e3..=1e12).contains(&store.scaled(rate).0), "{rate}");
            }
            let mut before = Duration::ZERO;
            let mut dead = std::collections::BTreeSet::new();
            for fault in &step.faults {
                prop_assert!(before <= fault.at && fault.at < step.measure);
                prop_assert!(store.port(&fault.port).is_some() && fault.array == "store");
                before = fault.at;
                match fault.action {
                    scenario::FaultAction::Kill => prop_assert!(dead.insert(&fault.port)),
                    scenario::FaultAction::Revive => prop_assert!(dead.remove(&fault.port)),
                    _ => {}
                }
            }
        }
        for disk in scenario.lab.vms.iter().flat_map(|vm| &vm.disks) {
            prop_assert!(!disk.ports.is_empty() && disk.ports.iter().all(|port| store.port(port).is_some()));
            let several = disk.ports.len() > 1;
            prop_assert!(several || disk.policy == Some(scenario::Policy::Fixed));
        }
    }
}

/// The property above would hold of nothing as well.
#[test]
fn some_embedded_arrays_are_sound() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let texts = (0..500).map(|_| san().new_tree(&mut runner).expect("a scenario").current());
    let sound = texts.filter(|text| load(&source(text, &[])).is_ok()).count();
    assert!(sound > 20, "{sound} of 500");
}
