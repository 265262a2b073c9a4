//! Estimates, end to end: figures of a lab, what limits it, and a record that is judged as any other.

use crate::program::support::{Bench, open};
use serde_json::Value;

/// Four VMs read through one adapter and one switch.
const LAB: &str = r#"
scenario.title = "Four readers"
array = [{ name = "ssd", part = "ramsan-400" }]
switch = [{ name = "fabric", part = "sanbox-5802v" }]
host = [{ name = "esx", part = "poweredge-6850", adapters = [{ name = "hba", part = "qle2560" }] }]
vm = [{ name = "vm{1..4}", host = "esx", disks = [{ lun = "ssd/auto", map = "rdm", adapter = "hba" }] }]
workload.stream = { block = "32KiB", read = 100, random = 0, depth = 8 }
[plan]
workload = "stream"
on = "vm*"
measure = "1s"
"#;

fn json(bench: &Bench, code: i32, args: &[&str]) -> Value {
    let all: Vec<&str> =
        ["estimate", "s.toml", "--format", "json"].iter().chain(args).copied().collect();
    serde_json::from_str(&bench.expect(code, &all).stdout).expect("JSON")
}

#[test]
fn the_adapter_is_named_as_the_limit() {
    let bench = Bench::new(&format!("{LAB}sweep = {{ depth = [1, 8, 16] }}\n"));
    let found = json(&bench, 0, &[]);
    let steps = found["steps"].as_array().expect("steps");
    assert_eq!(steps.len(), 3);
    for step in steps {
        let (iops, most) = (step["iops"].as_f64().unwrap(), step["most_iops"].as_f64().unwrap());
        assert!(step["least_iops"].as_f64().unwrap() <= iops && iops <= most * 1.000_001);
        // An 8Gb port carries 826.5 MB/s of payload, or 832.7 with the least gap between frames.
        assert!(step["read_rate"].as_f64().unwrap() <= 833e6, "{step:#}");
        assert_eq!(step["workers"].as_array().map(Vec::len), Some(4));
    }
    let last = &steps[2];
    assert!(last["read_rate"].as_f64().unwrap() >= 780e6, "{last:#}");
    assert_eq!(last["limits"][0]["limit"], "hop");
    assert!(last["limits"][0]["hops"].to_string().contains("esx.hba"), "{last:#}");
    let alone = json(&bench, 0, &["--step", "3"]);
    assert_eq!(alone["steps"].as_array().map(Vec::len), Some(1));
    assert_eq!(alone["steps"][0]["iops"], last["iops"]);
}

/// A port carries 12,585 reads of 64 KiB a second. What is asked beyond is not carried, however little it is.
#[test]
fn a_load_just_above_a_full_port_is_limited_by_it() {
    let scenario = r#"
scenario = { title = "Open", seed = 1 }
host = [{ name = "h", adapters = [{ name = "hba", part = "lpe12002" }] }]
switch = [{ name = "fabric", part = "brocade-300" }]
array = [{ name = "a", ports = 1 }]
volume = [{ name = "v", array = "a", size = "100GB" }]
vm = [{ name = "vm1", host = "h", disks = [{ lun = "a/v" }] }]
workload.reads = { block = "64KiB", rate = "1 IOPS", arrivals = "poisson", limit = 4096 }
[plan]
workload = "reads"
on = "vm1"
warmup = "4s"
measure = "10s"
sweep.rate = ["12000 IOPS", "12500 IOPS", "12600 IOPS", "12700 IOPS", "12800 IOPS"]
"#;
    let bench = Bench::new(scenario);
    let found = json(&bench, 0, &[]);
    let limits: Vec<&str> = (0..5)
        .map(|step| found["steps"][step]["limits"][0]["limit"].as_str().expect("a limit"))
        .collect();
    assert_eq!(limits, ["rate", "rate", "hop", "hop", "hop"]);
    bench.expect(0, &["simulate", "s.toml", "--out", "s.wsr", "--quiet"]);
    let review = bench.expect(0, &["review", "s.wsr", "--format", "json"]).stdout;
    let review: Value = serde_json::from_str(&review).expect("JSON");
    for (step, carried) in [(0, true), (1, true), (3, false), (4, false)] {
        let found = &review["steps"][step]["attribution"]["limit"]["kind"];
        assert_eq!(found == "rate", carried, "{:#}", review["steps"][step]["attribution"]);
    }
}

#[test]
fn a_record_is_left_where_it_is_asked_for_and_can_be_reviewed() {
    let bench = Bench::new(LAB);
    let ended = bench.expect(0, &["estimate", "s.toml", "--out", "e.wsr"]);
    assert!(ended.stdout.contains("Estimated, not measured"), "{}", ended.stdout);
    assert!(ended.stderr.contains("record: e.wsr"), "{}", ended.stderr);
    let record = open(&bench.path("e.wsr"));
    let estimated = |key: &str| record.facts().iter().any(|f| f.key == key && f.value == "yes");
    assert!(estimated("estimated") && estimated("simulated"));
    let review = bench.expect(0, &["review", "e.wsr"]);
    let first = words(review.stdout.split("\n\n").next().unwrap_or_default());
    assert!(first.contains("Estimated, neither measured nor simulated: by wirespeed"), "{first}");
}

/// What limits, as an estimate and the JSON review of its record name it.
fn named(limit: &Value) -> (String, Vec<String>) {
    let text = |key: &str| limit[key].as_str().map(str::to_owned);
    let list = |key: &str| -> Vec<String> {
        let all = limit[key].as_array().into_iter().flatten();
        all.filter_map(|one| one.as_str().map(str::to_owned)).collect()
    };
    let kind = text("kind").expect("a kind");
    let hops = match kind.as_str() {
        "two" => [text("first"), text("second")].into_iter().flatten().collect(),
        _ => text("hop").into_iter().chain(list("also")).collect(),
    };
    let limit = match kind.as_str() {
        "hop" | "two" | "path-imbalance" | "slow-drain" => "hop",
        "depth" | "latency" => "depth",
        "rate" => "rate",
        _ => "unknown",
    };
    (limit.to_owned(), hops)
}

#[test]
fn an_estimate_and_its_review_name_the_same_limit() {
    for scenario in [
        include_str!("../../../../../scenarios/fabric.toml"),
        include_str!("../../../../../scenarios/lab1-xen-4gb.toml"),
        include_str!("../../../../../scenarios/lab2-esx-8gb.toml"),
        include_str!("../../../../../scenarios/lab3-lto9.toml"),
        include_str!("../../../../../scenarios/lab4-nvme.toml"),
        include_str!("../../../../../scenarios/lab5-iscsi.toml"),
        include_str!("../../../../../scenarios/lab5-network.toml"),
    ] {
        let bench = Bench::new(scenario);
        let run = |args: &[&str]| bench.run(args).stdout;
        let estimate = run(&["estimate", "s.toml", "--out", "e.wsr", "--format", "json"]);
        let estimate: Value = serde_json::from_str(&estimate).expect("JSON");
        let review: Value =
            serde_json::from_str(&run(&["review", "e.wsr", "--format", "json"])).expect("JSON");
        let (mine, theirs) = (&estimate["steps"], &review["steps"]);
        let (mine, theirs) = (mine.as_array().expect("steps"), theirs.as_array().expect("steps"));
        assert_eq!(mine.len(), theirs.len());
        let mut most = (0.0, "");
        for (mine, theirs) in mine.iter().zip(theirs) {
            let (first, found) = (&mine["limits"][0], &theirs["attribution"]["limit"]);
            if found.is_object() {
                let (limit, hops) = named(found);
                assert_eq!(first["limit"], limit.as_str(), "{found:#}");
                let same = hops.is_empty() || first["hops"] == serde_json::json!(hops);
                assert!(same, "{first:#} and {found:#}");
                let work = theirs["total"]["both"]["bytes_per_s"].as_f64().expect("a rate");
                let said = mine["limited"][0].as_str().expect("it is said");
                if work >= most.0 {
                    most = (work, said);
                }
            }
            for pair in theirs["network"].as_array().into_iter().flatten() {
                for way in pair["directions"].as_array().expect("directions") {
                    if ["not-found", "unknown"]
                        .map(|by| serde_json::json!(by))
                        .contains(&way["limit"]["by"])
                    {
                        // The review names none; the estimate's model may.
                        continue;
                    }
                    let said = way["limit"]["text"].as_str().expect("a text");
                    let said = said.strip_prefix("limited by ").unwrap_or(said);
                    let limited = mine["limited"].to_string();
                    assert!(limited.contains(said), "{said} is not in {limited}");
                }
            }
        }
        // The text says the same of the step of most work.
        let text = words(&run(&["estimate", "s.toml"]));
        assert!(text.contains(&format!("limit: {}", words(most.1))), "{} in {text}", most.1);
    }
}

/// Words of a text or a page, whatever its lines and tags.
fn words(text: &str) -> String {
    let bare = text.split('<').map(|part| part.split_once('>').map_or(part, |(_, rest)| rest));
    bare.collect::<String>().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_review_says_that_it_was_estimated_and_tells_means_alone() {
    let scenario = include_str!("../../../../../scenarios/fabric.toml");
    let bench = Bench::new(scenario);
    bench.expect(0, &["estimate", "s.toml", "--out", "e.wsr"]);
    let review = |format: &str| bench.expect(0, &["review", "e.wsr", "--format", format]).stdout;

    let says =
        ["Estimated, neither measured nor simulated: by wirespeed", "estimate;", "are assumed."];
    for format in ["text", "markdown", "html"] {
        let found = words(&review(format));
        for said in says.iter().chain(&["mean service time", "Means only: latency is service time"])
        {
            let (found, said) = (found.to_lowercase(), said.to_lowercase());
            assert!(found.contains(&said), "{said} in {format}: {found:.4000}");
        }
        for wrong in ["Simulated", "p99 0", "completed an operation", "Measured for"] {
            assert!(!found.contains(wrong), "{wrong} in {format}");
        }
    }
    assert!(review("html").contains("estimated</span>"));

    let json: Value = serde_json::from_str(&review("json")).expect("JSON");
    assert_eq!(json["run"]["estimated"], true);
    for step in json["steps"].as_array().expect("steps") {
        let both = &step["total"]["both"];
        assert!(both["mean_ns"].as_f64() > Some(1e3), "{both:#}");
        assert!(both["service"].is_null() && both["response"].is_null(), "{both:#}");
    }
    let sweep = &json["sweeps"][0];
    assert_eq!(sweep["points"].as_array().map(Vec::len), Some(5), "{sweep:#}");

    let csv = review("csv");
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let head = rows.next().expect("a header");
    let at = |name: &str| head.iter().position(|column| *column == name).expect("a column");
    for row in rows {
        assert!(row[at("service_mean_us")].parse::<f64>().expect("a mean") > 1.0, "{row:?}");
        assert_eq!(row[at("service_p99_us")], "", "{row:?}");
    }
}

/// A stream's jobs are no I/Os: what it delivers is told in bytes, as the review of the record does.
#[test]
fn a_network_load_is_told_in_bytes() {
    let bench = Bench::new(include_str!("../../../../../scenarios/lab5-network.toml"));
    let text = bench.run(&["estimate", "s.toml", "--step", "1", "--out", "e.wsr"]).stdout;
    let told = text.lines().find_map(|line| line.trim().strip_prefix("network: "));
    let told = told.and_then(|line| line.strip_suffix(" MB/s")).expect("its throughput");
    let told: f64 = told.replace(',', "").parse().expect("a number");
    assert!(!text.contains("% IOPS"), "{text}");
    let review = bench.run(&["review", "e.wsr", "--format", "json"]).stdout;
    let review: Value = serde_json::from_str(&review).expect("JSON");
    let directions = review["steps"][0]["network"][0]["directions"].as_array().expect("both");
    let rate = |way: &Value| way["received"]["bytes_per_s"].as_f64().expect("a rate");
    let received: f64 = directions.iter().map(rate).sum();
    assert!((told * 1e6 / received - 1.0).abs() < 0.01, "{told} and {received}");
}

#[test]
fn a_goal_on_a_percentile_is_undecided_and_one_on_a_mean_is_judged() {
    let goal = |point: &str| {
        format!("{LAB}[[goal]]\nlatency = {{ point = \"{point}\", at_most = \"1s\" }}\n")
    };
    let ended = Bench::new(&goal("p99")).expect(1, &["estimate", "s.toml", "--out", "e.wsr"]);
    assert!(ended.stdout.contains("undecided"), "{}", ended.stdout);
    Bench::new(&goal("mean")).expect(0, &["estimate", "s.toml"]);
}

#[test]
fn goals_are_judged() {
    let goal = |least: &str| format!("{LAB}[[goal]]\nread = {{ at_least = \"{least}\" }}\n");
    let bench = Bench::new(&goal("100 MB/s"));
    assert_eq!(json(&bench, 0, &[])["verdict"], "met");
    let bench = Bench::new(&goal("5 GB/s"));
    assert_eq!(json(&bench, 1, &[])["verdict"], "failed");
}

#[test]
fn what_cannot_be_estimated_is_said() {
    let bench = Bench::new(LAB);
    let ended = bench.expect(2, &["estimate", "s.toml", "--step", "7"]);
    assert!(ended.stderr.contains("there is no step 7"), "{}", ended.stderr);
    bench.expect(2, &["estimate", "absent.toml"]);
    // Nothing is asked of the lab: neither an answer nor a record.
    let (lab, _) = LAB.split_once("[plan]").expect("a plan");
    let bench = Bench::new(lab);
    for command in ["estimate", "simulate"] {
        let ended = bench.expect(2, &[command, "s.toml"]);
        assert!(ended.stderr.contains("add a [plan]"), "{}", ended.stderr);
        assert_eq!(ended.stdout, "");
    }
    assert_eq!(std::fs::read_dir(bench.path("")).expect("its folder").count(), 1);
}

/// What a part or a workload says and the model cannot use is noted beside the figures, once.
#[test]
fn what_changes_nothing_is_noted() {
    let figure = |name: &str, value: &str| {
        format!("{{ name = \"{name}\", value = \"{value}\", source = \"s\", kind = \"assumed\" }},")
    };
    let part = |name: &str, kind: &str, figures: &str| {
        format!("[[part]]\nname = \"{name}\"\nkind = \"{kind}\"\nfigures = [{figures}]\n")
    };
    let with = |lab: &str, tables: &str| lab.replace("[plan]", &format!("{tables}[plan]"));
    let ready = |rate: &str| {
        let figures = figure("port_rate", rate) + &figure("transfer_ready_time", "50 us");
        with(&LAB.replace("ramsan-400", "box"), &part("box", "array", &figures))
    };
    let ethernet = ready("10gbe").replace("qle2560", "qle3142").replace("sanbox-5802v", "eth");
    let ethernet = with(&ethernet, &part("eth", "switch", &figure("port_rate", "10gbe")));
    let on_volume = |keys: &str, load: &str| {
        let volume = format!("[[volume]]\nname = \"v\"\narray = \"ssd\"\n{keys}\n");
        let lab = LAB.replace("ssd/auto", "ssd/v").replace("depth = 8", load);
        with(&lab, &volume)
    };
    let touching =
        |size: &str| on_volume("size = \"1GB\"", &format!("depth = 8, working_set = \"{size}\""));
    let on_disks = |size: &str| {
        let disks = "disks = 4\nraid = \"raid-0\"\nmedia = \"disk-15k\"";
        on_volume(&format!("size = \"{size}\"\n{disks}"), "depth = 8")
    };
    for (scenario, said, times) in [
        (ethernet, "`transfer_ready_time` changes nothing", 1),
        (ready("8gfc"), "`transfer_ready_time` changes nothing", 0),
        (touching("1TB"), "the working set of 1 TB is larger than a disk of 1 GB", 1),
        (touching("1GB"), "the working set", 0),
        (on_disks("10TB"), "each of its disks would have to hold 2500 GB, and holds 450 GB", 1),
        (on_disks("500GB"), "would have to hold", 0),
    ] {
        let bench = Bench::new(&scenario);
        let text = bench.expect(0, &["estimate", "s.toml"]).stdout;
        assert_eq!(text.matches(said).count(), times, "{said}: {text}");
        let review = words(&bench.expect(0, &["simulate", "s.toml", "--out", "r.wsr"]).stdout);
        assert_eq!(review.contains(said), times > 0, "{said}: {review}");
    }
}

/// A VM reads over two ports, whose cables are the slowest; how it uses them is filled in.
fn two_ports(path: &str, block: &str) -> String {
    format!(
        r#"
scenario.title = "Two ports"
array = [{{ name = "ssd", part = "ramsan-400" }}]
switch = [{{ name = "fabric", part = "sanbox-5802v" }}]
host = [{{ name = "esx", hypervisor = "vsphere-5.0", adapters = [{{ name = "hba{{1..2}}", part = "qle2560" }}] }}]
link = [
  {{ name = "up{{1..2}}", from = "esx.hba{{1..2}}", to = "fabric" }},
  {{ name = "down1", from = "fabric", to = "ssd:0" }},
  {{ name = "down2", from = "fabric", to = "ssd:1" }},
]
volume = [{{ name = "lun", array = "ssd", size = "100GB" }}]
vm = [{{ name = "vm", host = "esx", disks = [{{ lun = "ssd/lun" }}] }}]
path = [{{ name = "way", from = "esx", to = "ssd/lun", {path} }}]
workload.reads = {{ block = "{block}", random = 100, depth = 16 }}
[plan]
workload = "reads"
on = "vm"
warmup = "500ms"
measure = "2s"
"#
    )
}

/// Of paths that take turns one works at a time: a port at half of its speed limits, and that is explained. Where both work,
/// something else limits or there is one path, nothing is said of turns.
#[test]
fn paths_in_turn_are_named_where_they_limit_and_nowhere_else() {
    let said = "round-robin sends 1,000 I/Os over one path before the next, so that one path works at a time; a smaller \
                `switch_after` would use more of them at once";
    let turns = "policy = \"round-robin\"";
    for (path, block, limits) in [
        // The default of the hypervisor.
        (turns.to_owned(), "64KiB", true),
        (format!("{turns}, switch_after = 1000"), "64KiB", true),
        (format!("{turns}, switch_after = 1"), "64KiB", false),
        // The processor of the VM limits.
        (turns.to_owned(), "512B", false),
        ("policy = \"fixed\"".to_owned(), "64KiB", false),
    ] {
        let bench = Bench::new(&two_ports(&path, block));
        let estimate = bench.expect(0, &["estimate", "s.toml"]).stdout;
        let ended = bench.expect(0, &["simulate", "s.toml", "--out", "r.wsr"]);
        let review = words(&ended.stdout);
        assert_eq!(estimate.contains(said), limits, "{path} {block}: {estimate}");
        assert_eq!(estimate.contains("of one path in use"), limits, "{path} {block}: {estimate}");
        let sentence = said.replacen("round", "Round", 1);
        assert_eq!(review.contains(&sentence), limits, "{path} {block}: {review}");
        let page = bench.expect(0, &["review", "r.wsr", "--format", "html"]).stdout;
        assert_eq!(words(&page).contains("1,000 I/Os over one path before the next"), limits);
        let caption =
            page.split_once("id=\"map-limit\"").and_then(|(_, rest)| rest.split_once("</p>"));
        assert!(caption.is_some_and(|(caption, _)| !caption.contains('`')), "{path} {block}");
    }
}

/// What is full again once it was doubled is said to be, and what would be next is something else.
#[test]
fn a_limit_is_not_its_own_next() {
    let bench = Bench::new(include_str!("../../../../../scenarios/fabric.toml"));
    let text = bench.expect(0, &["estimate", "s.toml"]).stdout;
    for line in text.lines().filter_map(|line| line.trim().strip_prefix("twice ")) {
        let (hops, then) = line.split_once(": ").expect("what it brings");
        let (_, then) = then.split_once("then ").expect("what is next");
        assert!(!then.starts_with(&format!("{hops} (")), "{line}");
    }
    assert!(text.contains("then again "), "{text}");
    // Processors that an experiment and their counters both name.
    let small = include_str!("../../../../../scenarios/predict-small.toml");
    let bench = Bench::new(small);
    let text = bench.run(&["estimate", "s.toml"]).stdout;
    let limits = text.lines().filter_map(|line| line.trim().strip_prefix("limit: "));
    for (limit, next) in limits.filter_map(|line| line.split_once("next: ")) {
        let name = limit.split(" (").next().unwrap_or_default();
        assert!(!next.starts_with(&format!("{name},")), "{limit} next: {next}");
    }
}

/// Of queue limits that are held all the time, and of a delay, no server is busy: what is told of them is what they are.
#[test]
fn queue_limits_are_held_and_not_busy() {
    let figure = |name: &str, value: &str| {
        format!("{{ name = \"{name}\", value = \"{value}\", source = \"s\", kind = \"assumed\" }},")
    };
    let parts = [
        ("box", "array", figure("port_rate", "8gfc") + &figure("latency", "1ms")),
        ("virtual", "virtual-scsi", figure("disk_queue", "4") + &figure("adapter_queue", "4")),
    ];
    let parts = parts.map(|(name, kind, figures)| {
        format!("[[part]]\nname = \"{name}\"\nkind = \"{kind}\"\nfigures = [{figures}]\n")
    });
    let lab = LAB.replace("ramsan-400", "box").replace("vm{1..4}", "vm");
    let lab = lab.replace("host = \"esx\"", "host = \"esx\", scsi = [\"virtual\"]");
    let lab = lab.replace("[plan]", &format!("{}[plan]", parts.concat()));
    let lab = lab.replace(", map = \"rdm\", adapter = \"hba\"", "");
    for (depth, held) in [(16, true), (4, false)] {
        let bench = Bench::new(&lab.replace("depth = 8", &format!("depth = {depth}")));
        let text = bench.expect(0, &["estimate", "s.toml"]).stdout;
        let limit = text.lines().find(|line| line.contains("limit: ")).expect("a limit");
        assert!(!limit.contains("busy 0%"), "{limit}");
        assert_eq!(
            limit.contains("vm.scsi0 and vm.disk0 at once (held 100% of 4 slots"),
            held,
            "{limit}"
        );
        if !held {
            assert!(limit.contains("against the latency of ssd.backend"), "{limit}");
        }
    }
}
