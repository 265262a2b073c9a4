//! Scenarios that load: the whole language in use, and what comes out of it.

use crate::language::support::{bad, good};
use scenario::{
    Backing, Endpoint, FigureKind, Fill, LatencyPoint, LinkRate, Metric, Relation, Scenario, Scope,
    Steady, Value, Workload, steady,
};
use std::time::Duration;
use units::Percent;
use workload::{Arrivals, Process, Reduction, Regions, Skew, WorkingSet, WorkloadKind};

/// A scenario with one workload on one target, and more.
fn small(more: &str) -> String {
    let target = "[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n";
    format!("scenario.title = \"t\"\n{target}[workload.w]\nblock = \"8KiB\"\n{more}")
}

fn everything() -> Scenario {
    good(include_str!("../../good/everything.toml"))
}

#[test]
fn eight_vms_through_one_adapter() {
    let s = good(include_str!("../../good/eight-vms.toml"));
    assert_eq!(s.lab.vms.len(), 8);
    assert_eq!(s.lab.vms[7].disks[0].adapter.as_deref(), Some("esx.hba"));
    let names: Vec<String> = s.steps().iter().map(|step| step.name()).collect();
    assert_eq!(names, ["block=4KiB", "block=8KiB", "block=16KiB", "block=32KiB", "block=64KiB"]);
    assert_eq!(s.steps()[0].duration().as_secs(), 16);
    assert_eq!(s.goals[0].name, "read of hba at least 90% of wire");
    assert_eq!(s.goals[0].scope, Scope::Hop("esx.hba".into()));
    assert_eq!(s.goals[1].name, "balance over vm* within 5%");
    assert_eq!(s.claims[0].name, "read of hba 800 MB/s, block=32KiB");
    assert_eq!(s.claims[0].step, [("block".into(), "32KiB".into())]);
}

/// A lab of one target, with plans of one and of both halves, and a claim.
fn claimed(claim: &str) -> scenario::Claim {
    let plan = |name: &str| {
        format!(
            "[[plan]]\nname = \"{name}\"\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n\
             sweep = {{ block = [\"16KiB\", \"4KiB\"], depth = [1, 8] }}\n"
        )
    };
    let claim = format!("[[claim]]\nkind = \"held-out\"\n{claim}");
    let mut lab = good(&small(&format!("{}{}{claim}", plan("one"), plan("both"))));
    lab.claims.remove(0)
}

#[test]
fn claims_of_shapes() {
    let places = |claim: &scenario::Claim| -> Vec<(f64, String)> {
        let shape = claim.shape.as_ref().expect("a shape");
        shape
            .points
            .iter()
            .map(|p| (p.at, format!("{} {:?} {:?}", p.label, p.step, p.hop)))
            .collect()
    };
    let along = claimed("shape = { of = \"latency\", along = \"block\", is = \"rising\" }");
    let four = (4096.0, "4KiB [(\"block\", \"4KiB\")] None".to_owned());
    let sixteen = (16384.0, "16KiB [(\"block\", \"16KiB\")] None".to_owned());
    assert_eq!(places(&along), [four, sixteen], "in the order of their places");
    assert_eq!(along.name, "mean service time rising along block");
    assert_eq!(along.metric, Metric::Latency { point: LatencyPoint::Mean, response: false });
    let named = claimed(
        "shape = { of = \"iops\", points = [{ at = 2, plan = \"both\" }, { at = 1, plan = \"one\", hop = \"n\", step = { depth = 1 } }], is = \"linear\" }",
    );
    let one = "1 [(\"plan\", \"one\"), (\"depth\", \"1\")] Some(\"n\")".to_owned();
    assert_eq!(places(&named), [(1.0, one), (2.0, "2 [(\"plan\", \"both\")] None".to_owned())]);
    assert_eq!(named.name, "IOPS linear from 1 to 2");
    assert_eq!(named.hops().collect::<Vec<_>>(), ["n"]);
    let within = |claim: &scenario::Claim| claim.shape.as_ref().map(|shape| shape.within);
    assert_eq!((within(&along), within(&named)), (Some(0.0), Some(5.0)), "unless given");
}

#[test]
fn claims_of_ratios() {
    let plan =
        claimed("ratio = { to = { plan = \"one\" }, is = [2, 1.9] }\nstep = { plan = \"both\" }");
    assert_eq!(plan.to, [("plan".to_owned(), "one".to_owned())]);
    assert_eq!(plan.name, "total 2 × or 1.9 × that at plan=one, plan=both");
    let hop = claimed(
        "hop = \"n\"\nratio = { of = \"read\", to_hop = \"n\", is = 1 }\nrelation = \"over\"",
    );
    assert_eq!((hop.to.len(), hop.to_hop.as_deref(), hop.is_ratio()), (0, Some("n"), true));
    assert_eq!(hop.name, "read of n over 1 × that of n");
    let both = claimed("ratio = { of = \"latency\", to = { depth = 1 }, to_hop = \"n\", is = 1 }");
    assert_eq!(both.name, "mean service time 1 × that of n at depth=1");
}

#[test]
fn what_a_claim_says_besides() {
    let [published, ..] = &everything().claims[..] else { panic!("a claim") };
    assert_eq!(published.frames, Some(published.readings[1]));
    assert_eq!(published.note.as_deref(), Some("the unit is not said"));
    let twin = everything().claims.into_iter().find_map(|claim| claim.twin_of);
    assert_eq!(twin.as_deref(), Some("as published"));
}

#[test]
fn two_plans_on_files() {
    let s = good(include_str!("../../good/files.toml"));
    let names: Vec<String> = s.steps().iter().map(|step| step.name()).collect();
    assert_eq!(
        names[..4],
        ["daemons depth=1", "daemons depth=2", "daemons depth=4", "daemons depth=8"]
    );
    assert_eq!(names[4], "both stream.block=4KiB load.depth=1");
    assert_eq!(names[5], "both stream.block=4KiB load.depth=2", "the first axis varies slowest");
    assert_eq!(names[8], "both stream.block=4KiB load.depth=1 #2", "the whole sweep is repeated");
    assert_eq!(names.len(), 4 + 2 * 4);
    let on: Vec<&[String]> = s.steps()[4]
        .loads
        .iter()
        .map(|l| &l.on[..])
        .map(<[_]>::to_vec)
        .map(|v| &*v.leak())
        .collect();
    assert_eq!(on, [&["vm1".to_owned()][..], &["vm2".to_owned(), "null".to_owned()][..]]);
}

#[test]
fn what_is_not_given_has_its_default() {
    let s = good(&small("[plan]\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n"));
    assert_eq!(s.head.seed, 1);
    assert_eq!(s.plans[0].name, "plan");
    assert_eq!((s.plans[0].warmup.as_secs(), s.plans[0].cooldown.as_secs()), (2, 0));
    let workload = s.workloads[0].disk().expect("of disks");
    let WorkloadKind::Access(access) = &workload.spec.kind else {
        panic!("an access specification")
    };
    let row = access.rows[0];
    assert_eq!((row.size, row.share, row.read, row.random), (8192, 100.0, 100.0, 0.0));
    assert!(matches!(workload.spec.arrivals, Arrivals::Closed { depth: 1, .. }));
    assert_eq!(s.steps()[0].name(), "plan");
}

#[test]
fn steady_is_snias_rule_but_for_what_is_said() {
    let plan = "[plan]\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n";
    let rule = |line: &str| good(&small(&format!("{plan}{line}"))).steps()[0].steady;
    assert_eq!(rule(""), None);
    assert_eq!(rule("steady = \"snia\""), Some(Steady::SNIA));
    assert_eq!(rule("steady = {}"), Some(Steady::SNIA));
    let all = "steady = { within = \"20min\", rounds = 10, round = \"1min\", spread = 30, slope = \"5%\", metric = \"latency\" }";
    let expected = Steady {
        within: Duration::from_secs(1200),
        rounds: 10,
        round: Duration::from_secs(60),
        spread: Percent(30.0),
        slope: Percent(5.0),
        metric: steady::SteadyMetric::Latency,
    };
    assert_eq!(rule(all), Some(expected));
    let step = &good(&small(&format!("{plan}warmup = \"5s\"\nsteady = \"snia\""))).steps()[0];
    assert_eq!((step.warmup.as_secs(), step.warmup_max().as_secs()), (5, 60));
    assert_eq!(step.duration().as_secs(), 61);
}

#[test]
fn a_scenario_may_be_a_lab_only() {
    let s = good("scenario.title = \"t\"\n[[host]]\nname = \"esx\"\n");
    assert_eq!((s.lab.hosts.len(), s.steps().len()), (1, 0));
}

#[test]
fn disks_are_dealt_among_the_vms_of_a_range() {
    let s = everything();
    let disk = |vm: usize, disk: usize| s.lab.vms[vm].disks[disk].clone();
    let lun = |array: &str, volume: Option<&str>| Backing::Lun {
        array: array.into(),
        volume: volume.map(str::to_owned),
    };
    assert_eq!(disk(0, 0).backing, lun("ssd1", None));
    assert_eq!(disk(1, 0).backing, lun("ssd2", None));
    assert_eq!(disk(2, 0).backing, lun("ssd1", None), "a pattern is dealt round robin");
    assert_eq!(disk(1, 1).backing, lun("ssd1", Some("lun2")));
    assert_eq!(disk(3, 2).backing, Backing::Target("data1".into()), "one name is shared");
    let hosts: Vec<_> = s.lab.vms.iter().map(|vm| vm.host.as_deref()).collect();
    assert_eq!(hosts, [Some("esx01"), Some("esx02"), Some("esx01"), Some("esx02"), None]);
    assert_eq!(disk(1, 0).adapter.as_deref(), Some("esx02.hba1"));
}

#[test]
fn a_range_is_paired_with_a_range() {
    let text = "scenario.title = \"t\"\n[[target]]\nname = \"d{1..3}\"\nfile = \"d{1..3}.bin\"\n\
                [[vm]]\nname = \"vm{1..3}\"\ndisks = [{ target = \"d{1..3}\" }]\n";
    let s = good(text);
    assert_eq!(s.lab.targets[2].url, "d3.bin");
    assert_eq!(s.lab.vms[2].disks[0].backing, Backing::Target("d3".into()));
}

#[test]
fn braces_of_a_path_stay() {
    assert_eq!(everything().lab.targets[1].url, "/tmp/{a}/data2.bin");
}

#[test]
fn links_are_made_end_by_end() {
    let s = everything();
    let ends: Vec<String> =
        s.lab.links.iter().map(|l| format!("{}: {} {}", l.name, l.from, l.to)).collect();
    assert_eq!(ends[..2], ["up1: esx01.hba0 fabric:0", "up2: esx01.hba1 fabric:1"]);
    assert_eq!(ends[5], "ssd1:1-fabric:5: ssd1:1 fabric:5");
    assert_eq!(s.lab.links[0].rate, LinkRate::parse("8gfc").ok());
    assert!(matches!(s.lab.links[4].rate, Some(LinkRate::Rate(rate)) if rate.0 == 826.5e6));
    assert_eq!(s.lab.links[6].to, Endpoint { device: "esx02.nic".into(), port: None });
}

#[test]
fn references_become_full_names() {
    let s = everything();
    assert_eq!(s.lab.zones[0].members, ["esx01.hba0", "esx02.hba0", "ssd1", "ssd2", "vm1"]);
    assert_eq!(s.lab.volumes[1].mask, ["esx01.hba0", "esx01.hba1", "esx01.nic", "vm1"]);
    assert_eq!(s.lab.paths[0].via, ["esx01.hba0", "up1", "fabric:4", "ssd1:0"]);
    assert_eq!(s.lab.hosts[1].adapters.len(), 3);
}

#[test]
fn workloads_are_settled() {
    let s = everything();
    let all = || s.workloads.iter().filter_map(Workload::disk);
    let spec = |name: &str| &all().find(|w| w.name == name).expect("a workload").spec;
    assert!(
        matches!(&spec("rows").kind, WorkloadKind::Access(a) if a.rows.len() == 2 && a.rows[0].burst == 4)
    );
    assert!(
        matches!(&spec("climb").kind, WorkloadKind::Access(a) if a.ladder.is_some_and(|l| l.factor == 4))
    );
    assert!(matches!(&spec("shop").kind, WorkloadKind::Transaction(t) if t.page == 4096
        && t.index_skew == Skew::Zipf(0.99)
        && t.table_skew == Skew::HotSpot { accesses: 90.0, blocks: 10.0 }));
    assert!(
        matches!(spec("shop").arrivals, Arrivals::Closed { depth: 2, think } if think.0 == 5_000_000)
    );
    let users = Arrivals::Open { process: Process::Poisson { rate: 5000.0 }, limit: 64 };
    assert_eq!(spec("users").arrivals, users);
    assert_eq!(spec("users").working_set, Some(WorkingSet::Percent(20.0)));
    assert!(matches!(spec("rise").arrivals, Arrivals::Open { process: Process::Ramp { .. }, .. }));
    assert_eq!(all().map(|w| w.workers).collect::<Vec<_>>(), [1, 1, 1, 2, 1, 1]);
    let verified: Vec<&str> = all().filter(|w| w.verify).map(|w| w.name.as_str()).collect();
    assert_eq!((verified, spec("checked").regions), (vec!["checked"], Regions::Own));
    let states: Vec<_> = s.lab.targets.iter().filter_map(|t| t.verify_state.as_deref()).collect();
    assert_eq!(states, ["/mnt/{b}/kept1.state", "/mnt/{b}/kept2.state"]);
}

#[test]
fn targets_say_what_they_hold_and_plans_what_is_done_before() {
    let s = everything();
    let target = |name: &str| s.lab.targets.iter().find(|t| t.name == name).expect(name);
    let held = |name: &str| (target(name).data, target(name).fill);
    assert_eq!(held("data1"), (Reduction { compress: 2.0, dedupe: 1.5 }, Fill::Always));
    assert_eq!(held("data2"), held("data1"));
    assert_eq!(held("disk"), (Reduction::default(), Fill::Never));
    assert_eq!(held("kept1"), (Reduction::default(), Fill::Auto));
    // Once a plan, before its first step.
    let preconditioned: Vec<String> =
        s.steps().iter().filter(|step| step.precondition).map(|step| step.name()).collect();
    assert_eq!(preconditioned, ["verified"]);
    let steady = s.steps().iter().filter(|step| step.steady == Some(Steady::PTS)).count();
    assert_eq!(steady, 2, "every step of it warms up until it is steady");
}

#[test]
fn goals_and_claims_say_what_they_mean() {
    let s = everything();
    let names: Vec<&str> = s.goals.iter().map(|g| g.name.as_str()).collect();
    let expected = [
        "fast enough",
        "IOPS of each of vm{1..2} at least 60,000 IOPS",
        "total of fabric:4 at most 90% of wire",
        "errors at most 0",
        "balance within 5%",
    ];
    assert_eq!(names, expected);
    let step = [("plan", "grid"), ("users.rate", "2000 IOPS"), ("users.block", "8KiB")];
    assert_eq!(s.goals[0].step, step.map(|(k, v)| (k.to_owned(), v.to_owned())));
    assert_eq!(s.goals[0].scope, Scope::Over(vec!["vm1".into(), "data2".into()]));
    assert_eq!(s.goals[4].scope, Scope::Total);
    assert_eq!(s.claims[0].readings.len(), 2);
    let mean = Metric::Latency { point: LatencyPoint::Mean, response: false };
    assert_eq!((s.claims[1].metric, s.claims[1].relation), (mean, Relation::UpTo));
    assert_eq!(s.claims[2].readings, [Value::Iops(1000.0), Value::Iops(2000.0)]);
}

#[test]
fn parts_of_the_file_stand_beside_the_catalog() {
    let s = everything();
    assert_eq!(s.lab.parts[0].figures[0].source, "its box");
    for part in ["ramsan-400", "sanbox-5802v", "poweredge-6850", "qle2560"] {
        assert!(scenario::catalog().iter().any(|p| p.name == part), "{part}");
    }
    let own = "scenario.title = \"t\"\n[[part]]\nname = \"qle2560\"\nkind = \"switch\"\n\
               [[switch]]\nname = \"s\"\npart = \"qle2560\"\n";
    assert_eq!(
        good(own).lab.switches[0].part.as_deref(),
        Some("qle2560"),
        "its own part comes first"
    );
}

#[test]
fn names_of_the_catalog_are_unique() {
    let mut names: Vec<&str> = scenario::catalog().iter().map(|p| p.name.as_str()).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn sweeps_expand() {
    #[track_caller]
    fn check(sweep: &str, expected: &[&str]) {
        let plan = format!("[plan]\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n{sweep}\n");
        let names: Vec<String> = good(&small(&plan)).steps().iter().map(|s| s.name()).collect();
        assert_eq!(names, expected);
    }
    check("", &["plan"]);
    check("repeat = 2", &["plan", "plan #2"]);
    check("sweep = { depth = [4] }", &["depth=4"]);
    check("sweep = { depth = \"1..4\" }", &["depth=1", "depth=2", "depth=4"]);
    check("sweep = { depth = \"3..12\" }", &["depth=3", "depth=6", "depth=12"]);
    check("sweep = { block = \"4KiB..16KiB\" }", &["block=4KiB", "block=8KiB", "block=16KiB"]);
    check("sweep = { block = [\"1000B\"] }", &["block=1KB"]);
    check("sweep = { read = [0, 33.5, \"100%\"] }", &["read=0%", "read=33.5%", "read=100%"]);
    check("sweep = { rate = [500, \"1.5k IOPS\"] }", &["rate=500 IOPS", "rate=1500 IOPS"]);
    check(
        "sweep = { working_set = [\"20%\", \"1GiB\"] }",
        &["working_set=20%", "working_set=1GiB"],
    );
    check("sweep = { w.depth = [1, 2] }", &["w.depth=1", "w.depth=2"]);
    check("sweep = { \"w.depth\" = [1] }", &["w.depth=1"]);
    check(
        "sweep = { workers = [1, 2], random = [0, 100] }",
        &[
            "workers=1 random=0%",
            "workers=1 random=100%",
            "workers=2 random=0%",
            "workers=2 random=100%",
        ],
    );
    check("sweep.depth = [2]\nsweep.block = [\"4KiB\"]", &["depth=2 block=4KiB"]);
}

#[test]
fn a_step_has_the_settings_of_its_sweep() {
    let plan = "[plan]\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n\
                sweep = { block = [\"4KiB\"], read = [50], workers = [3], rate = [100], working_set = [\"1MiB\"] }\n";
    let s = good(&small(plan));
    let step = &s.steps()[0];
    let workload = step.loads[0].workload.disk().expect("of disks");
    let WorkloadKind::Access(access) = &workload.spec.kind else {
        panic!("an access specification")
    };
    assert_eq!((access.rows[0].size, access.rows[0].read, workload.workers), (4096, 50.0, 3));
    let open = Arrivals::Open { process: Process::Fixed { rate: 100.0 }, limit: 256 };
    assert_eq!(workload.spec.arrivals, open);
    assert_eq!(workload.spec.working_set, Some(WorkingSet::Bytes(1 << 20)));
    assert_eq!(
        s.workloads[0].disk().map(|w| w.workers),
        Some(1),
        "the workload itself is as it was"
    );
}

#[test]
fn a_step_is_run_by_the_first_of_its_members() {
    #[track_caller]
    fn check(loads: &str, sweep: &str, expected: &[&str]) {
        let text = format!(
            "[scenario]\ntitle = \"t\"\n[[target]]\nname = \"n{{1..4}}\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
             [workload.r]\nblock = \"8KiB\"\n[workload.w]\nblock = \"8KiB\"\n[[target]]\nname = \"m{{1..3}}\"\nurl = \"null:\"\n\
             size = \"1GiB\"\n[plan]\nmeasure = \"1s\"\n{loads}\n{sweep}\n"
        );
        let told = |step: &scenario::Step| {
            let on: Vec<String> = step.loads.iter().map(|load| load.on.join(" ")).collect();
            format!("{}: {}", step.name(), on.join(" + "))
        };
        let steps: Vec<String> = good(&text).steps().iter().map(told).collect();
        assert_eq!(steps, expected, "{sweep}");
    }
    let one = "workload = \"r\"\non = [\"n2\", \"n1\", \"n3\"]";
    check(
        one,
        "sweep = { members = [1, 3, 2] }",
        &["members=1: n2", "members=3: n2 n1 n3", "members=2: n2 n1"],
    );
    let two = "load = [{ workload = \"r\", on = \"n*\" }, { workload = \"w\", on = \"m*\" }]";
    check(
        two,
        "sweep = { members = \"1..2\" }",
        &["members=1: n1 + m1", "members=2: n1 n2 + m1 m2"],
    );
    check(two, "sweep = { r.members = [4] }", &["r.members=4: n1 n2 n3 n4 + m1 m2 m3"]);
    check(
        two,
        "sweep = { r.members = [1], w.members = [2] }",
        &["r.members=1 w.members=2: n1 + m1 m2"],
    );
}

#[test]
fn carriage_returns_and_other_alphabets_are_fine() {
    let s =
        good("# größer\r\n[scenario]\r\ntitle = \"日本 – ü\"\r\n[[host]]\r\nname = \"größe\"\r\n");
    assert_eq!((s.head.title.as_str(), s.lab.hosts[0].name.as_str()), ("日本 – ü", "größe"));
    let d = bad("scenario.title = \"ü\"\r\nfoo = \"日本\"\r\n");
    let place = &d.iter().next().expect("a mistake").place;
    assert_eq!((place.line, place.column), (2, 1));
}

/// A project is a profile of the catalog with the figures that the scenario changes.
#[test]
fn projects_change_their_profile() {
    let text = include_str!("../../good/everything.toml").to_owned()
        + "[[project]]\nprofile = \"backup\"\nwindow = \"6h\"\nsize = \"20TB\"\n";
    let projects = good(&text).projects;
    assert_eq!((projects.len(), projects[0].wanted), (1, Some(20.0)));
    assert_eq!(
        projects[0].profile.figure("window").map(|f| f.value.as_str()),
        Some("21600000000000ns")
    );
}

#[test]
fn wrong_projects_point_and_suggest() {
    for (project, expected) in [
        ("profile = \"exchange-2003-havy\"", "did you mean `exchange-2003-heavy`?"),
        ("profile = \"backup\"\nlimit = \"1ms\"", "limit: `backup` is a backup"),
        (
            "profile = \"vdi-boot-streamed\"\nwindow = \"1h\"",
            "window: `vdi-boot-streamed` has no backup window",
        ),
        ("profile = \"vdi-boot-streamed\"\niops_each = 0", "iops_each: expected more than 0 IOPS"),
        ("profile = \"vdi-boot-streamed\"\nlimit = \"0s\"", "limit:"),
        ("limit = \"1ms\"", "profile"),
    ] {
        let text =
            include_str!("../../good/everything.toml").to_owned() + "[[project]]\n" + project;
        let source = crate::language::support::source(&text, &[]);
        let mistakes = scenario::load(&source).expect_err(project).to_string();
        assert!(mistakes.contains(expected), "{project}:\n{mistakes}");
    }
}

#[test]
fn settings_say_where_they_come_from() {
    let s = everything();
    let paths = |n: usize| -> Vec<(&str, &str)> {
        let settings = s.assumed[n].settings.iter();
        settings.map(|setting| (setting.path.as_str(), setting.value.as_str())).collect()
    };
    assert_eq!(s.assumed[0].name, "workload.checked.block, vm.*.disks.0.lun");
    assert_eq!(s.assumed[0].kind, FigureKind::Assumed);
    assert!(paths(0).contains(&("workload.checked.block", "8KiB")), "{:?}", paths(0));
    assert_eq!(paths(1), [("plan.verified.measure", "1s")]);
    assert_eq!(s.assumed[1].claim.as_deref(), Some("as published"));
}

/// A share that may be meant as a fraction is never taken for a percentage, wherever it stands.
#[test]
fn a_share_below_one_percent_needs_its_sign() {
    let with = |line: &str| {
        format!(
            "scenario.title = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n[workload.w]\n{line}\n\
             [plan]\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n"
        )
    };
    for (line, meant) in [
        ("block = \"8KiB\"\nread = 0.7", "70%"),
        ("block = \"8KiB\"\nrandom = 0.57", "57%"),
        ("block = \"8KiB\"\nread = 1", "100%"),
        ("block = \"8KiB\"\nread = 1.0", "100%"),
        ("rows = [{ size = \"8KiB\", share = 0.5 }, { size = \"4KiB\", share = 50 }]", "50%"),
        ("block = \"8KiB\"\nskew = { hot = 20, accesses = 0.8 }", "80%"),
        ("block = \"8KiB\"\n[plan.sweep]\nread = [0, 0.3, 100]", "30%"),
    ] {
        let told = bad(&with(line)).to_string();
        assert!(told.contains(&format!("did you mean `\"{meant}\"`?")), "{line}: {told}");
    }
    let read = |value: &str| {
        let scenario = good(&with(&format!("block = \"8KiB\"\nread = {value}")));
        match &scenario.workloads[0].disk().expect("of disks").spec.kind {
            workload::WorkloadKind::Access(access) => access.rows[0].read,
            workload::WorkloadKind::Transaction(_) => f64::NAN,
        }
    };
    for (value, share) in
        [("0", 0.0), ("\"0.7%\"", 0.7), ("\"1%\"", 1.0), ("1.5", 1.5), ("70", 70.0), ("100", 100.0)]
    {
        assert_eq!(read(value), share, "{value}");
    }
}

/// What a dry run says of a load is all that it does.
#[test]
fn a_load_is_described_as_a_whole() {
    #[track_caller]
    fn check(lines: &str, expected: &str) {
        let text = format!(
            "scenario.title = \"t\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n[workload.w]\n{lines}\n\
             [plan]\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n"
        );
        assert_eq!(good(&text).steps()[0].loads[0].to_string(), format!("w on n: {expected}"));
    }
    check(
        "block = \"8KiB\"\nread = 70\nrandom = 100\ndepth = 4\nworkers = 2\nworking_set = \"200GB\"",
        "8KiB at 70% reads, 100% random; 2 workers each; closed loop, depth 4; on the first 200GB of each disk",
    );
    check(
        "block = \"64KiB\"\nread = 0\nthink = \"5ms\"",
        "64KiB sequential writes; 1 worker each; closed loop, depth 1, think time 5 ms; on all of each disk",
    );
    check(
        "rows = [{ size = \"4KiB\", share = 60, random = 100 }, { size = \"64KiB\", share = 40, burst = 8, delay = \"5ms\" }]\n\
         skew = { zipf = 1.1 }\nrate = \"500 IOPS\"\narrivals = \"poisson\"",
        "60% of 4KiB random reads + 40% of 64KiB sequential reads, bursts of 8 with pauses of 5 ms, Zipf 1.1; 1 worker each; \
         open loop, Poisson 500 IOPS a worker, at most 256 outstanding; on all of each disk",
    );
}
