//! Ledgers: parameters without a source, elasticities of claims, and which claims prove nothing.

use scenario::Source;
use score::{ClaimLedger, ParameterOrigin, rule};

/// Hosts with eight VMs that read 4 KiB through a port much faster than their host's one core.
const LAB: &str = r#"
scenario = { title = "t" }
array = [{ name = "ssd", part = "ram" }]
switch = [{ name = "fabric", part = "sanbox-5802v" }]
host = [{ name = "esx", part = "box", hypervisor = "visor", adapters = [{ name = "hba", part = "card" }] }]
vm = [{ name = "vm{1..8}", host = "esx", vcpus = 2, scsi = ["virtual"], disks = [{ lun = "ssd/auto", adapter = "hba" }] }]
workload.small = { block = "4KiB", depth = 8 }
workload.large = { block = "1MiB", depth = 8 }
plan = [
  { name = "small", workload = "small", on = "vm*", measure = "1s" },
  { name = "large", workload = "large", on = "vm*", measure = "1s" },
  { name = "one", workload = "small", on = "vm1", measure = "1s" },
]
part = [
  { name = "box", kind = "host", figures = [{ name = "cores", value = "1", source = "s", kind = "data-sheet" }] },
  { name = "visor", kind = "hypervisor", figures = [
    { name = "cpu_per_io", value = "40 us", source = "s", kind = "KIND" },
  ] },
  { name = "virtual", kind = "virtual-scsi", figures = [
    { name = "adapter_queue", value = "128", source = "s", kind = "published" },
    { name = "disk_queue", value = "32", source = "s", kind = "published" },
    { name = "cpu_per_io", value = "5 us", source = "s", kind = "published" },
  ] },
  { name = "card", kind = "hba", figures = [
    { name = "port_rate", value = "8gfc", source = "s", kind = "data-sheet" },
    { name = "ports", value = "1", source = "s", kind = "data-sheet" },
  ] },
  { name = "ram", kind = "array", figures = [
    { name = "ports", value = "8", source = "s", kind = "data-sheet" },
    { name = "port_rate", value = "4gfc", source = "s", kind = "data-sheet" },
  ] },
]
"#;

const CLAIMS: &str = r#"
[[claim]]
name = "small I/O"
step = { plan = "small" }
iops = 25000
kind = "held-out"
[[claim]]
name = "its data"
step = { plan = "small" }
read = "102 MB/s"
kind = "held-out"
twin_of = "small I/O"
[[claim]]
name = "large I/O"
step = { plan = "large" }
hop = "esx.hba"
read = "820 MB/s"
kind = "held-out"
[[claim]]
name = "how it scales"
step = { plan = "small" }
ratio = { of = "iops", to = { plan = "one" }, is = 1 }
kind = "held-out"
"#;

fn source(text: &str) -> Source {
    Source { name: "lab.toml".into(), text: text.into(), ..Source::default() }
}

fn ledger(text: &str) -> ClaimLedger {
    let quiet = |_, _| {};
    ClaimLedger::new("lab", &source(text), 2, &quiet).unwrap_or_else(|error| panic!("{error}"))
}

/// The lab with its claims, the host's cost per I/O of this kind, and more.
fn of_kind(kind: &str, more: &str) -> ClaimLedger {
    ledger(&format!("{}{CLAIMS}{more}", LAB.replace("KIND\"", kind)))
}

fn elasticity(ledger: &ClaimLedger, claim: &str, parameter: &str) -> f64 {
    let resting = ledger.claim(claim).expect("the claim");
    let found = resting.elasticities.iter().find(|of| of.parameter == parameter);
    found.map_or(0.0, |of| of.value)
}

const COST: &str = "part.visor.cpu_per_io";

#[test]
fn a_claim_depends_on_its_bottleneck_only() {
    let ledger = of_kind("assumed\"", "");
    let of = |claim: &str| elasticity(&ledger, claim, COST);
    assert!((of("small I/O") + 1.0).abs() < 0.15, "the host's core limits: {}", of("small I/O"));
    assert_eq!(of("small I/O"), of("its data"), "twins");
    assert!(of("large I/O").abs() < 0.1, "the wire limits: {}", of("large I/O"));
    assert!(of("how it scales").abs() < 0.5, "it limits both sides: {}", of("how it scales"));
    let depth = elasticity(&ledger, "small I/O", "workload.small.depth");
    assert!(depth.abs() < 0.3, "a full core does no more for more of it: {depth}");
}

#[test]
fn figures_without_a_source_are_parameters() {
    let ledger = of_kind("assumed\"", "");
    let kind = |name: &str| ledger.parameters.iter().find(|p| p.name == name).map(|p| p.kind);
    assert_eq!(kind(COST), Some(ParameterOrigin::Assumed));
    assert_eq!(kind("workload.small.depth"), Some(ParameterOrigin::Unexplained));
    assert_eq!(kind("part.card.lun_queue"), Some(ParameterOrigin::Default));
    assert_eq!(kind("part.ram.latency"), Some(ParameterOrigin::Default));
    for sourced in ["part.card.port_rate", "part.virtual.disk_queue", "part.box.cores"] {
        assert_eq!(kind(sourced), None, "{sourced}");
    }
    let explained = |kind: &str| {
        format!(
            "[[assume]]\nset = \"workload.*.depth\"\nsource = \"it says so\"\nkind = \"{kind}\"\n"
        )
    };
    let depths = |ledger: &ClaimLedger| {
        let names = ledger.parameters.iter().map(|parameter| parameter.name.clone());
        names.filter(|name| name.ends_with("depth")).collect::<Vec<_>>()
    };
    assert_eq!(depths(&of_kind("assumed\"", &explained("assumed"))), ["workload.*.depth"]);
    assert_eq!(depths(&of_kind("assumed\"", &explained("published"))), [""; 0]);
}

/// Which claims are calibration, by name.
#[track_caller]
fn check(kind: &str, expected: &[&str], why: &str) {
    let ledger = of_kind(kind, "");
    let found = ledger.claims.iter().filter(|claim| claim.calibration.is_some());
    let names: Vec<&str> = found.clone().map(|claim| claim.claim.as_str()).collect();
    assert_eq!(names, expected, "{kind}");
    for claim in found {
        let said = claim.calibration.as_deref().unwrap_or_default();
        assert!(said.contains(COST) && said.contains(why), "{said}");
    }
}

#[test]
fn a_claim_that_depends_on_an_assumption_is_calibration() {
    check("assumed\"", &["small I/O", "its data"], "assumed");
    check("published\"", &[], "");
}

#[test]
fn a_claim_that_depends_on_a_parameter_fitted_on_it_or_its_twin_is_calibration() {
    let both = ["small I/O", "its data"];
    check("calibrated\", claim = \"small I/O\"", &both, "fitted on");
    check("calibrated\", claim = \"lab: its data\"", &both, "fitted on");
    check("calibrated\", claim = \"large I/O\"", &[], "");
    check("calibrated\", claim = \"other: small I/O\"", &[], "");
}

#[test]
fn claims_declared_as_calibration_need_no_reason() {
    let text = format!("{}{CLAIMS}", LAB.replace("KIND", "assumed"));
    let ledger = ledger(&text.replace("kind = \"held-out\"", "kind = \"context\""));
    assert!(ledger.claims.iter().all(|claim| claim.calibration.is_none()));
    assert!(ledger.claims.iter().any(|claim| !claim.elasticities.is_empty()), "still shown");
}

#[test]
fn defaults_of_unnamed_adapters_are_varied() {
    let bare = LAB.replace("scsi = [\"virtual\"], ", "").replace("KIND", "published");
    // A guest takes longer for an I/O than its host does.
    let bare = bare.replace("\"40 us\"", "\"100 ns\"").replace("vcpus = 2", "vcpus = 1");
    let bare = bare.replace("block = \"4KiB\", depth = 8", "block = \"512B\", depth = 32");
    let alone =
        "[[claim]]\nname = \"alone\"\nstep = { plan = \"one\" }\niops = 1\nkind = \"held-out\"\n";
    let ledger = ledger(&format!("{bare}{alone}"));
    let found = |figure: &str| {
        let is = |p: &&score::Parameter| p.name.starts_with(figure) && p.name.contains("of vm1.");
        ledger.parameters.iter().find(is).unwrap_or_else(|| panic!("no {figure}"))
    };
    for (figure, value) in [("cpu_per_io", "5 us"), ("adapter_queue", "128"), ("disk_queue", "32")]
    {
        let parameter = found(figure);
        assert_eq!((parameter.kind, parameter.value.as_str()), (ParameterOrigin::Default, value));
        assert!(parameter.can_vary(), "{figure}");
    }
    assert!(!found("iops_max").can_vary(), "no limit is no number");
    let cost = elasticity(&ledger, "alone", &found("cpu_per_io").name);
    assert!((cost + 1.0).abs() < 0.3, "the guest's processor limits: {cost}");
    assert!(
        !score::ledger_page(&[ledger]).contains("scsi-not-given"),
        "what stands there is not shown"
    );
}

/// Two servers with a network load between them.
const NETWORK: &str = r#"
scenario = { title = "t" }
switch = [{ name = "net", part = "sw" }]
host = [{ name = "server{1..2}", part = "box", adapters = [{ name = "nic", part = "card" }] }]
receiver = [{ name = "far", host = "server2", from = "server1" }]
workload.send = { kind = "net", preset = "ntttcp", streams = 2 }
workload.one = { kind = "net", preset = "ntttcp" }
plan = [
  { name = "two", workload = "send", on = "far", measure = "1s", sweep = { message = ["64KiB"] } },
  { name = "one", workload = "one", on = "far", measure = "1s", sweep = { message = ["64KiB"] } },
]
part = [
  { name = "box", kind = "host", figures = [
    { name = "cores", value = "4", source = "s", kind = "data-sheet" },
    { name = "cpu_per_byte", value = "0.3 ns/B", source = "s", kind = "assumed" },
  ] },
  { name = "sw", kind = "switch", figures = [{ name = "port_rate", value = "10gbe", source = "s", kind = "data-sheet" }] },
  { name = "card", kind = "nic", figures = [
    { name = "port_rate", value = "10gbe", source = "s", kind = "data-sheet" },
    { name = "ports", value = "1", source = "s", kind = "data-sheet" },
  ] },
]
claim = [
  { name = "rate", step = { plan = "two" }, hop = "far", write = "1.2 GB/s", kind = "held-out" },
  { name = "messages", step = { plan = "two" }, hop = "far", iops = 18000, kind = "held-out" },
  { name = "sender", step = { plan = "two" }, hop = "far/sender", cpu = "10%", kind = "held-out" },
  { name = "receiver", step = { plan = "two" }, hop = "far/receiver", cpu = "10%", kind = "held-out" },
  { name = "balance", step = { plan = "two" }, balance = { streams = "far", within = "1%" }, kind = "held-out" },
  { name = "nothing back", step = { plan = "two" }, hop = "far", read = "1 MB/s", kind = "held-out" },
]
"#;

#[test]
fn claims_of_networks_follow_what_costs_their_machines() {
    let ledger = ledger(NETWORK);
    let byte = "part.box.cpu_per_byte";
    for claim in ["sender", "receiver"] {
        let of = elasticity(&ledger, claim, byte);
        assert!((0.5..=1.0).contains(&of), "bytes are most of its work: {of}");
        let why = ledger.claim(claim).and_then(|of| of.calibration.as_deref());
        assert!(why.is_some_and(|why| why.contains(byte)), "{claim}: {why:?}");
    }
    for claim in ["rate", "messages"] {
        let of = elasticity(&ledger, claim, byte);
        assert!(of.abs() < 0.05, "the wire limits: {of}");
        assert_eq!(ledger.claim(claim).and_then(|of| of.unknown.clone()), None, "{claim}");
    }
}

#[test]
fn claims_without_elasticity_say_why() {
    let net = ledger(NETWORK);
    let text = format!("{}{CLAIMS}", LAB.replace("KIND", "published"));
    let all = ledger(&format!(
        "{text}[[claim]]\nname = \"even\"\nstep = {{ plan = \"small\" }}\nkind = \"held-out\"\n\
         balance = {{ over = \"vm*\", within = \"5%\" }}\n"
    ));
    for (ledger, claim, why) in [
        (&net, "balance", "members are alike"),
        (&net, "nothing back", "0 in the estimate"),
        (&all, "even", "members are alike"),
    ] {
        let resting = ledger.claim(claim).expect("the claim");
        let said = resting.unknown.as_deref().unwrap_or_default();
        assert!(said.contains(why), "{claim}: {said}");
        assert!(resting.elasticities.is_empty() && resting.calibration.is_none(), "{claim}");
        let page = score::ledger_page(std::slice::from_ref(ledger));
        assert!(page.contains(&format!("- {claim} (held-out): **no elasticity**")), "{page}");
    }
    assert_eq!(all.claim("small I/O").and_then(|of| of.unknown.clone()), None);
}

#[test]
fn the_published_figure_changes_nothing() {
    let text = format!("{}{CLAIMS}", LAB.replace("KIND", "assumed"));
    let other = text.replace("iops = 25000", "iops = 1").replace("820 MB/s", "1 GB/s");
    let page = |text: &str| score::ledger_page(&[ledger(text)]);
    assert_eq!(page(&text), page(&other));
}

#[test]
fn results_do_not_depend_on_threads() {
    let text = format!("{}{CLAIMS}", LAB.replace("KIND", "assumed"));
    let quiet = |_: usize, _: usize| {};
    let of = |threads| ClaimLedger::new("lab", &source(&text), threads, &quiet).expect("a ledger");
    assert_eq!(of(1), of(5));
}

#[test]
fn a_bad_scenario_is_reported() {
    let quiet = |_: usize, _: usize| {};
    let error =
        ClaimLedger::new("lab", &source("scenario = 1"), 1, &quiet).expect_err("no scenario");
    assert!(error.to_string().contains("lab.toml:1"), "{error}");
}

#[test]
fn the_limit_is_that_of_the_rule() {
    let page = score::ledger_page(&[]);
    assert!(page.contains(&format!("more than {}", rule::LIMIT)));
}

/// By hand: eight 4Gb ports before one of 8Gb carry 800 MB/s by name, and at most 850 MB/s × 2,112 / 2,156.
#[test]
fn the_baseline_is_line_rates_and_data_sheets() {
    let ledger = of_kind("assumed\"", "");
    let of = |claim: &str| ledger.claim(claim).expect("the claim");
    #[track_caller]
    fn near(found: Option<f64>, expected: f64) {
        let found = found.expect("a figure");
        assert!((found / expected - 1.0).abs() < 0.002, "{found}, not {expected}");
    }
    near(of("large I/O").nominal, 800e6);
    near(of("large I/O").ceiling, 850e6 * 2112.0 / 2156.0);
    near(of("small I/O").nominal, 800e6 / 4096.0);
    near(of("its data").nominal, 800e6);
    // The one VM reads through one port of the array.
    near(of("how it scales").nominal, 2.0);
    let net = self::ledger(NETWORK);
    near(net.claim("rate").and_then(|claim| claim.nominal), 1.25e9);
    near(net.claim("rate").and_then(|claim| claim.ceiling), 1.25e9 * 8960.0 / 9038.0);
}

/// What a rival makes of a claim, over the model.
fn rival(ledger: &ClaimLedger, claim: &str, name: &str) -> Option<f64> {
    let rivals = &ledger.claim(claim).expect("the claim").rivals;
    rivals.iter().find(|rival| rival.name == name).map(|rival| rival.times)
}

/// One core at 40 us an I/O does 25,000; without that cost the wire limits, at 826.5 MB/s less commands.
#[test]
fn a_mechanism_can_be_taken_out() {
    let ledger = of_kind("assumed\"", "");
    let cpu = "without CPU time of hosts and guests";
    let of = |claim: &str, name: &str| rival(&ledger, claim, name);
    let freed = of("small I/O", cpu).expect("a rival");
    assert!((freed * 25_000.0 * 4096.0 / 826.5e6 - 1.0).abs() < 0.1, "{freed} times");
    assert!(of("large I/O", cpu).is_some_and(|times| (times - 1.0).abs() < 0.02));
    let frames = of("large I/O", "without frames and their overhead").expect("a rival");
    assert!((frames * 826.5 / 800.0 - 1.0).abs() < 0.01, "{frames} times");
    assert_eq!(of("small I/O", "without the thread of an iSCSI session"), None, "it has none");
}

#[test]
fn a_parameter_is_varied_over_its_plausible_range() {
    let text = |more: &str| format!("{}{CLAIMS}{more}", LAB.replace("KIND\"", "published\""));
    let ranged =
        "[[assume]]\nset = \"workload.*.depth\"\nsource = \"it says so\"\ninterval = \"2 to 64\"\n";
    let ledger = ledger(&text(ranged));
    for end in ["2", "64"] {
        let times = rival(&ledger, "large I/O", &format!("workload.*.depth at {end}"));
        assert!(times.is_some_and(|times| (times - 1.0).abs() < 0.05), "{end}: {times:?}");
    }
    // Without a range, a quarter to four times.
    let ledger = self::ledger(&text(""));
    let names = |claim: &str| {
        let rivals = ledger.claim(claim).expect("the claim").rivals.iter();
        rivals.map(|rival| rival.name.clone()).collect::<Vec<_>>()
    };
    for end in ["workload.small.depth at 2", "workload.small.depth at 32"] {
        assert!(names("small I/O").iter().any(|name| name == end), "{:?}", names("small I/O"));
    }
}

/// Eight outstanding I/Os fill a host's core, and so do seven; one does not: it waits for the guest and the wire as well.
#[test]
fn a_claim_that_rests_on_a_depth_is_calibration() {
    let few = LAB.replace("KIND\"", "published\"").replace("on = \"vm*\"", "on = \"vm1\"");
    let claim = "[[claim]]\nname = \"small\"\nstep = { plan = \"small\" }\niops = 25000\nkind = \"held-out\"\n";
    let of = |interval: &str| {
        let set = "set = \"workload.small.depth\"\nsource = \"it says so\"";
        let assume = format!("[[assume]]\n{set}\ninterval = \"{interval}\"\n");
        let ledger = ledger(&format!("{few}{claim}{assume}"));
        ledger.claim("small").and_then(|claim| claim.calibration.clone())
    };
    assert_eq!(of("7 to 9"), None);
    let why = of("1 to 32").unwrap_or_default();
    assert!(why.contains("workload.small.depth at 1") && why.contains("assumed"), "{why}");
}
