//! Data that means something, as users meet it: what is filled, what is found to hold nothing, what a plan would write,
//! and that filling can be called off.

use crate::prelude::*;
use crate::program::support::{Bench, ended, open};
use std::fs::{self, File};

const SCENARIO: &str = r#"
scenario.title = "data"
target = [{ name = "data", file = "data.bin", create = "8MiB", buffered = true }]
workload.w = { block = "4KiB", random = 100, read = 50 }
[plan]
workload = "w"
on       = "data"
warmup   = "0s"
measure  = "200ms"
"#;

const SHORT: [&str; 4] = ["--time", "500ms", "--warmup", "0s"];

fn disk(args: &[&str]) -> Vec<String> {
    [&["disk"], args, &SHORT].concat().iter().map(|arg| (*arg).to_owned()).collect()
}

#[track_caller]
fn run(bench: &Bench, code: i32, args: &[&str]) -> (String, String) {
    let args = disk(args);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ended = bench.expect(code, &args);
    (ended.stdout, ended.stderr)
}

/// Facts of the only target in a record.
fn fact(bench: &Bench, record: &str, key: &str) -> Option<String> {
    let record = open(&bench.path(record));
    record.facts().iter().find(|f| f.key == key).map(|f| f.value.clone())
}

#[test]
fn reading_what_was_never_written_is_said_in_the_first_lines() {
    let bench = Bench::new("");
    File::create(bench.path("sparse")).and_then(|f| f.set_len(64 << 20)).expect("a sparse file");
    let (review, _) = run(&bench, 0, &["sparse", "--buffered", "--random", "100"]);
    // Before the findings; where others read from the same device meanwhile, a word about the page cache comes first.
    let mut first = review.lines().take_while(|line| *line != "Findings");
    let said = "! 100% of target1 (99.6% to 100%) holds nothing";
    assert!(first.any(|line| line.starts_with(said)), "{review}");
    assert!(review.contains("they were never written"), "{review}");
    let json = bench.expect(0, &["review", "disk-1.wsr", "--format", "json"]).stdout;
    let json: Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["contents"][0]["target"], "target1");
    assert_eq!(json["contents"][0]["empty"]["share"], 1.0);
}

#[test]
fn a_target_is_filled_when_it_is_made_and_then_only_where_it_needs_it() {
    let bench = Bench::new("");
    let made = |name| fact(&bench, name, "fill").is_some();
    let looked = |name| fact(&bench, name, "sample").is_some();
    let base = ["d.bin", "--create", "8MiB", "--buffered", "--read", "50"];
    run(&bench, 0, &base);
    assert!(made("disk-1.wsr") && !looked("disk-1.wsr"));
    let (review, _) = run(&bench, 0, &base);
    assert!(!made("disk-2.wsr") && looked("disk-2.wsr"));
    assert!(review.contains("none of 1,000 sampled blocks of target1 is unwritten"), "{review}");
    // Other ratios need other data; once it is there it stays.
    for (record, args, fills) in [
        ("disk-3.wsr", &["--compress", "2"][..], true),
        ("disk-4.wsr", &["--compress", "2"], false),
        ("disk-5.wsr", &["--compress", "2", "--fill", "always"], true),
        ("disk-6.wsr", &["--fill", "never"], false),
    ] {
        run(&bench, 0, &[&base, args].concat());
        assert_eq!(made(record), fills, "{args:?}");
    }
}

#[test]
fn a_plan_names_what_would_be_written_first() {
    let bench = Bench::new(SCENARIO);
    let plan = |args: &[&str], format: &str| {
        bench.expect(0, &[&["plan", "s.toml", "--format", format], args].concat()).stdout
    };
    let set = |what| ["--set", what];
    let text = plan(&[], "text");
    assert!(text.contains("before that, 8 MiB would be WRITTEN (1 s at 200 MB/s"), "{text}");
    bench.expect(0, &["run", "s.toml", "--quiet"]);
    let before = fs::read(bench.path("data.bin")).expect("created");
    for (args, words, when, bytes) in [
        (&[][..], "where they show no data, 8 MiB would be WRITTEN", "if-needed", 8 << 20),
        (&set("workload.w.working_set=25%"), "no data, 2 MiB would be", "if-needed", 2 << 20),
        (&set("target.data.fill=always"), "before that, 8 MiB would be WRITTEN", "once", 8 << 20),
        (
            &set("plan.precondition=snia-pts"),
            "all its 8 MiB would be WRITTEN twice as SNIA PTS preconditions; it is not purged",
            "twice",
            8 << 20,
        ),
    ] {
        let text = plan(args, "text");
        assert!(text.contains(words), "{text}");
        let json: Value = serde_json::from_str(&plan(args, "json")).expect("JSON");
        let filling = &json["targets"][0]["filling"];
        assert_eq!(
            (filling["when"].as_str(), filling["bytes"].as_u64()),
            (Some(when), Some(bytes))
        );
    }
    let never = plan(&set("target.data.fill=never"), "json");
    let json: Value = serde_json::from_str(&never).expect("JSON");
    assert!(json["targets"][0]["filling"].is_null());
    assert!(before == fs::read(bench.path("data.bin")).expect("there"), "a plan writes nothing");
}

#[test]
fn preconditioning_is_recorded_with_what_it_left_out() {
    let steady = "steady = { within = \"3s\", rounds = 3, round = \"1s\" }";
    let bench = Bench::new(&format!("{SCENARIO}{steady}\n"));
    bench.expect(
        0,
        &["run", "s.toml", "-q", "--set", "plan.precondition=snia-pts", "--out", "r.wsr"],
    );
    let value = fact(&bench, "r.wsr", "precondition").expect("a fact");
    assert!(value.starts_with("16 MiB in ") && value.ends_with("as SNIA PTS does"), "{value}");
    let review = bench.expect(0, &["review", "r.wsr"]).stdout;
    assert!(review.contains("was not purged"), "{review}");
}

#[test]
fn preconditioning_what_may_not_be_written_is_refused() {
    let bench = Bench::new(&SCENARIO.replace("create = \"8MiB\", ", "").replace(", read = 50", ""));
    fs::write(bench.path("data.bin"), [7; 65536]).expect("a file of somebody's");
    bench.expect(0, &["plan", "s.toml"]);
    for command in ["plan", "run"] {
        let ended = bench.expect(4, &[command, "s.toml", "--set", "plan.precondition=snia-pts"]);
        assert!((ended.stdout + &ended.stderr).contains("not made by Wirespeed"));
    }
    assert_eq!(fs::read(bench.path("data.bin")).expect("there"), [7; 65536]);
}

#[test]
fn ratios_that_cannot_be_are_mistakes() {
    let bench = Bench::new("");
    for args in [["--compress", "0.5"], ["--dedupe", "51"], ["--fill", "maybe"]] {
        let (_, stderr) = run(&bench, 2, &[&["x"], &args[..]].concat());
        assert!(stderr.contains(args[0]), "{stderr}");
    }
    let (_, stderr) = run(&bench, 2, &["null:", "--precondition", "snia-pts"]);
    assert!(stderr.contains("holds nothing"), "{stderr}");
}

#[test]
fn filling_that_is_interrupted_ends_soon_and_leaves_nothing() {
    let bench = Bench::new("");
    // In memory where there is room: on a disk that others keep busy a write may wait for so long in the kernel that the
    // program leaves before its agent does. Twice as much as is filled before the first word of progress: what is allocated must
    // be given back as well.
    let memory = tempfile::tempdir_in("/dev/shm").ok();
    let memory = memory.filter(|dir| disk::free_space(dir.path()).unwrap_or(0) >= 4 << 30);
    let (folder, size) = match &memory {
        Some(dir) => (dir.path().to_owned(), "2GiB".to_owned()),
        None => {
            let room = disk::free_space(&bench.path("")).unwrap_or(0) >> 20;
            if room < 2 << 10 {
                return println!(
                    "skipped: no room for a file that takes long to fill ({room} MiB free)"
                );
            }
            (bench.path(""), format!("{}MiB", (room / 2).min(6 << 10)))
        }
    };
    let file = folder.join("d.bin");
    for agent in ["in-process", "child"] {
        let mut child = bench
            .command(&["disk", &file.to_string_lossy(), "--create", &size])
            .args(["--agent", agent, "--out", agent])
            .stderr(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("stderr is piped"));
        let mut line = String::new();
        while stderr.read_line(&mut line).expect("text") > 0 && !line.contains("MiB filled") {
            line.clear();
        }
        assert!(line.contains("left"), "progress says how long: {line}");
        let pid = rustix::process::Pid::from_child(&child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).expect("it runs");
        let mut rest = String::new();
        stderr.read_to_string(&mut rest).expect("text");
        let ended = ended(child.wait_with_output().expect("it ends"));
        assert_eq!(ended.code, 3, "{rest}");
        assert!(rest.contains("was stopped; nothing is left behind"), "{rest}");
        assert!(!file.exists());
        assert_eq!(open(&bench.path(agent)).status(), record::Status::Stopped);
    }
}
