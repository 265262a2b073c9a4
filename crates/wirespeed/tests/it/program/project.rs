//! How many copies of a recorded workload a lab carries: answers that follow from a port's rate and the trace's moments.

use crate::program::support::Bench;
use serde_json::Value;
use std::fmt::Write;

const LAB: &str = include_str!("../../../../../scenarios/lab2-esx-8gb.toml");
const PAGE: &str = include_str!("../../../../../docs/project.md");

/// Reads of 1 MiB, one each 10 ms: 104.9 MB/s.
fn trace(bench: &Bench) {
    let mut text = String::new();
    for n in 0..1000_u64 {
        let (at, offset) = (128_166_372_016_382_155 + n * 100_000, n << 20);
        writeln!(text, "{at},hm,0,Read,{offset},1048576,20000").expect("a String takes every line");
    }
    std::fs::write(bench.path("t.csv"), text).expect("a file");
    bench.expect(0, &["import", "t.csv", "-o", "t.trace"]);
}

/// A port of 8GFC carries 826 MB/s towards the host: seven copies, and not eight, which fall behind further and further.
#[test]
fn as_many_copies_fit_as_the_port_carries() {
    let bench = Bench::new(LAB);
    std::fs::write(bench.path("lab.toml"), LAB).expect("a file");
    trace(&bench);
    let args = ["project", "--workload", "t.trace", "--lab", "lab.toml", "--on", "vm{1..8}"];
    let json: Value =
        serde_json::from_str(&bench.expect(0, &[&args[..], &["--format", "json"]].concat()).stdout)
            .expect("one JSON document");
    let answers = json["answers"].as_array().expect("three answers");
    let views: Vec<&str> = answers.iter().filter_map(|a| a["view"].as_str()).collect();
    assert_eq!(views, ["recorded", "bursts", "means"]);
    assert_eq!((&answers[0]["carried"], &answers[0]["breaks"]["copies"]), (&7.into(), &8.into()));
    let limit = answers[0]["breaks"]["limit"].as_str().unwrap_or_default();
    assert!(limit.contains("fabric:1"), "the port of the switch that the adapter is at: {limit}");
    for answer in answers {
        // Chance moves what arrives by itself: no view carries more than the port does, and none far less.
        let carried = answer["carried"].as_u64().unwrap_or(0);
        assert!((5..=7).contains(&carried), "{answer}");
        assert_eq!(answer["breaks"]["copies"], carried + 1, "{answer}");
        assert!(answer["breaks"]["limit"].is_string(), "{answer}");
    }
    let text = bench.expect(0, &[&args[..], &["--most", "4"]].concat()).stdout;
    assert!(text.contains("≥ 4") && text.contains("replayed as recorded"), "{text}");
    assert!(PAGE.contains("wirespeed project --workload"), "the page has the command");
}

#[test]
fn what_cannot_be_projected_is_said() {
    let bench = Bench::new(LAB);
    std::fs::write(bench.path("lab.toml"), LAB).expect("a file");
    trace(&bench);
    let refused = |args: &[&str], what: &str| {
        let said = bench.expect(2, &[&["project"][..], args].concat()).stderr;
        assert!(said.contains(what), "{said}");
    };
    refused(&["--workload", "t.csv", "--lab", "lab.toml"], "");
    refused(&["--workload", "t.trace", "--lab", "no.toml"], "cannot read the lab");
    refused(&["--workload", "t.trace", "--lab", "lab.toml", "--on", "vn1"], "vn1");
    refused(&["--workload", "t.trace", "--lab", "lab.toml", "--length", "1s"], "too few");
}
