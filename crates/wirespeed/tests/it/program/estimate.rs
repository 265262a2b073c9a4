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
}
