//! `wirespeed score`, from the command line: what it prints and keeps, and what it says of what it cannot score.

use crate::program::support::Bench;
use serde_json::Value;

const LAB: &str = r#"
scenario.title = "Two readers"
array = [{ name = "ssd", part = "ramsan-400" }]
switch = [{ name = "fabric", part = "sanbox-5802v" }]
host = [{ name = "esx", part = "poweredge-6850", adapters = [{ name = "hba", part = "qle2560" }] }]
vm = [{ name = "vm{1..2}", host = "esx", disks = [{ lun = "ssd/auto", map = "rdm", adapter = "hba" }] }]
workload.stream = { block = "32KiB", read = 100, depth = 8 }
[plan]
workload = "stream"
on = "vm*"
warmup = "10ms"
measure = "100ms"
"#;

const CLAIM: &str = r#"
[[claim]]
name = "they read"
hop = "esx.hba"
read = "800 MB/s"
relation = "up to"
kind = "held-out"
"#;

fn bench() -> Bench {
    Bench::new(&format!("{LAB}{CLAIM}"))
}

/// What is wrong is said in these words, nothing is printed as a result, and the exit code is this.
#[track_caller]
fn refused(bench: &Bench, code: i32, args: &[&str], said: &[&str]) {
    let ended = bench.expect(code, &[&["score", "--quiet"], args].concat());
    assert_eq!(ended.stdout, "", "no result: {args:?}");
    for words in said {
        assert!(ended.stderr.contains(words), "{args:?}: {words} in {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[test]
fn a_lab_is_scored_and_what_was_asked_for_is_kept() {
    let bench = bench();
    let args = ["score", "s.toml", "--out", "kept", "--format", "json", "--quiet"];
    let page: Value = serde_json::from_str(&bench.expect(0, &args).stdout).expect("JSON");
    assert_eq!(page["labs"][0]["claims"][0]["verdict"], "met", "{page:#}");
    for name in ["s.estimate.wsr", "s.simulate.wsr", "s.html"] {
        assert!(bench.path("kept").join(name).is_file(), "{name}");
    }
    // A second time in the place of the first.
    assert_eq!(bench.expect(0, &args).stdout, format!("{page:#}\n"));
}

#[test]
fn what_is_missed_is_an_answer() {
    let missed = CLAIM.replace("800 MB/s", "1 MB/s");
    let bench = Bench::new(&format!("{LAB}{missed}"));
    let page = bench.expect(0, &["score", "s.toml", "--estimate", "--quiet"]).stdout;
    assert!(page.contains("missed"), "{page}");
}

#[test]
fn a_scenario_without_claims_shows_its_steps() {
    let bench = Bench::new(LAB);
    let json = ["score", "s.toml", "--estimate", "--format", "json", "--quiet"];
    let page: Value = serde_json::from_str(&bench.expect(0, &json).stdout).expect("JSON");
    assert_eq!(page["labs"][0]["claims"].as_array().map(Vec::len), Some(0), "{page:#}");
    assert_eq!(page["labs"][0]["steps"].as_array().map(Vec::len), Some(1), "{page:#}");
    let ledger = bench.expect(0, &["score", "s.toml", "--ledger", "--quiet"]).stdout;
    assert!(ledger.contains("It has no claims."), "{ledger}");
}

#[test]
fn files_that_are_none_are_refused() {
    let bench = bench();
    refused(&bench, 2, &[], &["<FILE>"]);
    refused(&bench, 2, &["absent.toml"], &["absent.toml"]);
    refused(&bench, 2, &["s.toml", "absent.toml"], &["absent.toml"]);
    refused(&bench, 2, &["s.toml", "./s.toml"], &["two scenarios are named s", "rename one"]);
    refused(&bench, 2, &["s.toml", "--catalog", "absent.toml"], &["absent.toml"]);
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    let bench = bench();
    refused(&bench, 2, &["s.toml", "--ledger", "--estimate"], &["cannot be used with"]);
    refused(&bench, 2, &["s.toml", "--ledger", "--out", "kept"], &["cannot be used with"]);
    refused(&bench, 2, &["s.toml", "--threads", "0"], &["--threads"]);
}

#[test]
fn mistakes_of_a_scenario_are_pointed_at() {
    let bench = Bench::new(&format!("{LAB}{CLAIM}").replace("esx.hba", "esx.hbb"));
    for way in [&["s.toml"][..], &["s.toml", "--ledger"], &["s.toml", "--estimate"]] {
        refused(&bench, 2, way, &["s.toml:", "esx.hbb"]);
    }
    let bench = Bench::new("[scenario]\ntitle = ");
    refused(&bench, 2, &["s.toml"], &["s.toml:2"]);
    refused(&self::bench(), 2, &["s.toml", "--set", "plan.measur=1s"], &["measur", "measure"]);
}

#[test]
fn a_scenario_without_a_lab_cannot_be_scored() {
    let bench = Bench::new(
        "[scenario]\ntitle = \"live\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
         [workload.w]\nblock = \"4KiB\"\n[plan]\nworkload = \"w\"\non = \"n\"\nmeasure = \"1s\"\n",
    );
    for way in [&["s.toml"][..], &["s.toml", "--ledger"], &["s.toml", "--estimate"]] {
        refused(&bench, 2, way, &["s.toml"]);
    }
}

#[test]
fn places_that_cannot_be_written_are_told() {
    let bench = bench();
    std::fs::write(bench.path("file"), "kept").expect("a file");
    refused(&bench, 3, &["s.toml", "--out", "file/kept", "--estimate"], &["cannot make file/kept"]);
    refused(&bench, 3, &["s.toml", "--out", "file", "--estimate"], &["cannot make file"]);
    let page = ["s.toml", "--page", "absent/page.md"];
    for way in ["--estimate", "--ledger"] {
        refused(&bench, 3, &[&page[..], &[way]].concat(), &["cannot write absent/page.md"]);
    }
    assert_eq!(std::fs::read_to_string(bench.path("file")).expect("the file"), "kept");
    // A page never takes the place of a record.
    bench.expect(0, &["estimate", "s.toml", "--out", "e.wsr", "--quiet"]);
    refused(&bench, 2, &["s.toml", "--page", "e.wsr", "--estimate"], &["never overwritten"]);
}

/// The claims of a lab with these further claims: by name, what each proves, its verdict, and the whole lab.
fn scored(claims: &str) -> (Vec<[String; 3]>, Value) {
    let bench = Bench::new(&format!("{LAB}{claims}"));
    let json = ["score", "s.toml", "--estimate", "--format", "json", "--quiet"];
    let page: Value = serde_json::from_str(&bench.expect(0, &json).stdout).expect("JSON");
    let lab = page["labs"][0].clone();
    let text = |claim: &Value, key: &str| claim[key].as_str().unwrap_or_default().to_owned();
    let claims = lab["claims"].as_array().cloned().unwrap_or_default();
    let of = |claim: &Value| ["name", "evidence", "verdict"].map(|key| text(claim, key));
    (claims.iter().map(of).collect(), lab)
}

fn claim(name: &str, what: &str) -> String {
    format!("[[claim]]\nname = \"{name}\"\nkind = \"held-out\"\n{what}\n")
}

/// Two VMs read what frames leave of 8.5 Gb/s: 826.5 MB/s. Nominal line rates say 800.
#[test]
fn claims_count_by_what_they_prove() {
    let hop = "hop = \"esx.hba\"\n";
    let assume = "[[assume]]\nset = \"workload.stream.depth\"\nsource = \"it says so\"\ninterval = \"6 to 32\"\n";
    let claims = [
        claim("by frames", &format!("{hop}read = \"820 MB/s\"\nrelation = \"about\"")),
        claim("once more", &format!("{hop}total = \"820 MB/s\"\nrelation = \"about\"")),
        claim("twin", "read = \"820 MB/s\"\ntwin_of = \"by frames\""),
        claim("any model", "balance = { over = \"vm*\", within = \"5%\" }"),
        claim("over", &format!("{hop}read = \"300 MB/s\"\nrelation = \"over\"")),
        claim("just over", &format!("{hop}read = \"300 MB/s\"\nrelation = \"just over\"")),
        claim("said", &format!("{hop}read = \"900 MB/s\"\nrelation = \"up to\""))
            .replace("held-out", "inferred"),
    ];
    let (found, lab) = scored(&[assume.to_owned(), claims.concat()].concat());
    let expected = [
        ["by frames", "discriminating", "met"],
        ["once more", "twin", "met"],
        ["twin", "twin", "undecided"],
        ["any model", "by-construction", "met"],
        ["over", "one-sided", "met"],
        ["just over", "discriminating", "missed"],
        ["said", "inferred", "context"],
    ];
    let differ: Vec<_> = found.iter().zip(expected).filter(|(a, b)| a[..2] != b[..2]).collect();
    assert!(differ.is_empty(), "{differ:?}");
    for (found, expected) in found.iter().zip(expected).filter(|(_, of)| of[0] != "twin") {
        assert_eq!(found[2], expected[2], "{found:?}");
    }
    let failing = lab["claims"][0]["failing"][0].as_str();
    assert_eq!(failing, Some("line rates and data sheets"), "{lab:#}");
    assert_eq!(lab["summary"]["discriminating"], serde_json::json!([1, 1, 0]));
}

/// A source means one thing by its MBps: what exceeds the wire is not it, nor what breaks its own arithmetic.
#[test]
fn a_source_has_one_unit() {
    let both = |value: u32| format!("read = [\"{value} MB/s\", \"{value} MiB/s\"]");
    let hop = "hop = \"esx.hba\"\n";
    let unit =
        |claims: &[String]| scored(&claims.concat()).1["unit"].as_str().unwrap_or("").to_owned();
    let plain = claim("plain", &format!("{hop}{}", both(780)));
    assert_eq!(unit(std::slice::from_ref(&plain)), "MB/s or MiB/s");
    // 810 MiB/s are 849 MB/s, and frames leave 832.7 at most.
    let beyond = claim("beyond", &format!("{hop}{}", both(810)));
    assert_eq!(unit(&[plain, beyond]), "MB/s: in MiB/s “beyond” would exceed the wire");
    // 25,216 reads of 32 KiB are 788 MiB/s.
    let sum = claim("sum", &format!("{hop}{}", both(788)));
    let counted = claim("counted", &format!("{hop}iops = 25216\ntwin_of = \"sum\""));
    assert_eq!(unit(&[sum, counted]), "MiB/s: in MB/s “counted” would not follow");
    assert_eq!(unit(&[claim("one", &format!("{hop}read = \"780 MB/s\""))]), "");
}

/// A controller's 20 us from its data sheet come back as 50,000 I/Os a second; "just over 49,900" is the same figure, and so is
/// the latency of 64 outstanding.
#[test]
fn an_input_that_comes_back_and_its_repetitions_prove_nothing() {
    let bench = Bench::new(include_str!("inputs.toml"));
    let said = bench.expect(0, &["score", "--quiet", "s.toml"]).stdout;
    assert!(said.contains("**0 of 0 discriminating claims are met**"), "{said}");
    assert!(said.contains("1 by construction or symmetry, 0 one-sided, 2 twins"), "{said}");
}
