//! The catalog from the command line, and catalogs of the user: read, refused, and kept whole in records.

use crate::program::support::Bench;
use serde_json::Value;

const MINE: &str = r#"
[[part]]
name = "slow-hba"
model = "A slow adapter"
like = "qle2560"
figures = [{ name = "iops_max", value = "2k IOPS", source = "its box", kind = "data-sheet" }]
"#;
const LAB: &str = r#"
scenario.title = "a slow adapter"
array = [{ name = "ssd", part = "ramsan-400" }]
host = [{ name = "h", part = "poweredge-6850", adapters = [{ name = "hba", part = "slow-hba" }] }]
vm = [{ name = "vm", host = "h", disks = [{ lun = "ssd/auto", map = "rdm", adapter = "hba" }] }]
workload.w = { block = "4KiB", depth = 8 }
[plan]
workload = "w"
on = "vm"
measure = "1s"
"#;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("one JSON document")
}

#[test]
fn parts_are_listed_by_kind_and_by_text() {
    let bench = Bench::new("");
    let names = |args: &[&str]| {
        let args = [&["catalog", "ls", "--format", "json"], args].concat();
        let list = json(&bench.expect(0, &args).stdout);
        let parts = list["parts"].as_array().cloned().unwrap_or_default();
        parts.iter().map(|part| part["name"].as_str().unwrap_or("").to_owned()).collect::<Vec<_>>()
    };
    let all = names(&[]);
    assert!(all.len() > 60 && all.contains(&"qle2560".to_owned()), "{all:?}");
    let tapes = names(&["--kind", "tape"]);
    assert!(tapes.contains(&"lto-9".to_owned()) && !tapes.contains(&"qle2560".to_owned()));
    assert_eq!(names(&["QLE256"]), ["qle2560"]);
    assert_eq!(names(&["no such thing"]), [] as [String; 0]);
    let text = bench.expect(0, &["catalog"]).stdout;
    assert!(text.contains("qle2560  ") && text.contains("QLogic QLE2560: ports 1"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 96), "{text}");
    assert!(!text.contains('\u{1b}'), "no colour where there is no terminal");
    assert!(bench.expect(0, &["catalog", "ls", "no such thing"]).stdout.contains("No part"));
    bench.expect(2, &["catalog", "ls", "--kind", "hbaa"]);
}

#[test]
fn a_part_is_shown_with_every_source() {
    let bench = Bench::new("");
    let page = bench.expect(0, &["catalog", "show", "lpe16002"]).stdout;
    for said in [
        "Emulex LPe16002",
        "1M IOPS",
        "data-sheet",
        "Implementers",
        "credits",
        "no limit",
        "--set part.lpe16002.",
    ] {
        assert!(page.contains(said), "no `{said}` in\n{page}");
    }
    let document =
        json(&bench.expect(0, &["catalog", "show", "lpe16002", "--format", "json"]).stdout);
    assert_eq!(document["version"], 1);
    let figure =
        document["figures"].as_array().and_then(|all| all.iter().find(|f| f["name"] == "iops_max"));
    assert_eq!(figure.map(|f| f["number"].clone()), Some(Value::from(1e6)));
    let said = bench.expect(2, &["catalog", "show", "qle2650"]).stderr;
    assert!(said.contains("no part is named `qle2650`") && said.contains("`qle2560`"), "{said}");
}

#[test]
fn a_catalog_of_the_user_is_kept_in_the_record() {
    let bench = Bench::new(LAB);
    std::fs::write(bench.path("mine.toml"), MINE).expect("a file of the test's own");
    let page = bench.expect(0, &["catalog", "show", "slow-hba", "--catalog", "mine.toml"]).stdout;
    assert!(page.contains("of the catalog mine.toml") && page.contains("like qle2560"), "{page}");
    let said = bench.expect(2, &["plan", "s.toml"]).stderr;
    assert!(said.contains("no part is named `slow-hba`"), "{said}");
    bench.expect(0, &["plan", "s.toml", "--catalog", "mine.toml"]);
    bench.expect(0, &["estimate", "s.toml", "--catalog", "mine.toml"]);
    let simulate = ["simulate", "s.toml", "--catalog", "mine.toml", "--quiet", "--out", "r.wsr"];
    bench.expect(0, &simulate);
    std::fs::remove_file(bench.path("mine.toml")).expect("the catalog was there");
    let page = bench.expect(0, &["review", "r.wsr", "--format", "html"]).stdout;
    assert!(page.contains("A slow adapter"), "the record brings its part along");
    let bent = ["--set", "part.slow-hba.iops_max=1k/s"];
    std::fs::write(bench.path("mine.toml"), MINE).expect("a file of the test's own");
    let args = [&simulate[..5], &["--out", "bent.wsr"], &bent].concat();
    bench.expect(0, &args);
    std::fs::remove_file(bench.path("mine.toml")).expect("the catalog was there");
    let rate = |run: &str| {
        let review = json(&bench.expect(0, &["review", run, "--format", "json"]).stdout);
        review["steps"][0]["attribution"]["hops"][0]["iops"].as_f64()
    };
    let (plain, bent) = (rate("r.wsr"), rate("bent.wsr"));
    assert!(plain.is_some_and(|rate| (1900.0..2100.0).contains(&rate)), "{plain:?}");
    assert!(bent.is_some_and(|rate| (950.0..1050.0).contains(&rate)), "{bent:?}");
}

#[test]
fn what_is_no_catalog_is_refused_by_name() {
    let bench = Bench::new(LAB);
    #[track_caller]
    fn check(bench: &Bench, content: &[u8], expected: &str) {
        std::fs::write(bench.path("bad.toml"), content).expect("a file of the test's own");
        for args in [
            &["plan", "s.toml", "--catalog", "bad.toml"][..],
            &["catalog", "ls", "--catalog", "bad.toml"],
        ] {
            let said = bench.expect(2, args).stderr;
            assert!(said.contains("bad.toml") && said.contains(expected), "{args:?}: {said}");
        }
    }
    check(&bench, &[0xff, 0xfe, 0], "not UTF-8");
    check(&bench, &[b'#'; (4 << 20) + 1], "larger than 4 MiB");
    check(&bench, b"\0\x01]]", "bad.toml:1:");
    check(&bench, MINE.replace("slow-hba", "qle2560").as_bytes(), "own catalog has a part");
    check(&bench, format!("{MINE}{MINE}").as_bytes(), "given twice");
    check(&bench, MINE.replace("qle2560", "slow-hba").as_bytes(), "no part is named");
    let said = bench.expect(2, &["plan", "s.toml", "--catalog", "none.toml"]).stderr;
    assert!(said.contains("cannot read the catalog none.toml"), "{said}");
    let said = bench.expect(2, &["plan", "s.toml", "--catalog", "."]).stderr;
    assert!(said.contains("cannot read the catalog"), "{said}");
}
