//! Network loads of scenarios as a whole program: records, and failures. All traffic stays on loopback.

use crate::prelude::*;
use crate::program::support::{Bench, Ended, ended, open};
use record::{Flow, HopKind, Record, SourceKind, Status, StreamEnd};

const TOKEN: &str = "correct horse battery";

/// How long what must come is waited for: a guard against hanging, not a measure.
const PATIENCE: Ns = Ns::secs(60);

/// A scenario with an embedded receiver `far`, a target `n`, a small network load `wire` and a small load of reads `disk`.
fn scenario(plan: &str) -> String {
    format!(
        "[scenario]\ntitle = \"networks\"\n\
         [[receiver]]\nname = \"far\"\nembedded = true\n\
         [[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
         [workload.wire]\nkind = \"net\"\nmessage = \"16KiB\"\nrate = \"2 MB/s\"\nprobe = true\n\
         [workload.disk]\nblock = \"4KiB\"\nrate = \"200 IOPS\"\nlimit = 4\n\
         [plan]\nwarmup = \"200ms\"\ncooldown = \"100ms\"\n{plan}\n"
    )
}

/// The same with a network load alone, for so long.
fn alone(measure: &str) -> String {
    scenario(&format!("workload = \"wire\"\non = \"far\"\nmeasure = \"{measure}\""))
}

/// A run that is under way: it has shown a second of its load.
struct Running {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    said: String,
}

impl Running {
    fn start(bench: &Bench, args: &[&str]) -> Running {
        let mut command = bench.command(args);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
        let stderr = BufReader::new(child.stderr.take().expect("it is a pipe"));
        let mut running = Running { child, stderr, said: String::new() };
        while !running.said.contains(" s  ") {
            let n = running.stderr.read_line(&mut running.said).expect("it writes text");
            assert!(n > 0, "it shows a second: {}", running.said);
        }
        running
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, signal).expect("it is there");
    }

    /// Waits for its end.
    fn ended(mut self) -> Ended {
        self.stderr.read_to_string(&mut self.said).expect("it writes text");
        let mut ended = ended(self.child.wait_with_output().expect("it is reaped"));
        ended.stderr = self.said;
        ended
    }

    /// The processes that it has started.
    fn children(&self) -> Vec<PathBuf> {
        let own = self.child.id().to_string();
        let parent =
            |stat: &str| stat.rsplit(')').next()?.split_whitespace().nth(1).map(str::to_owned);
        let all = std::fs::read_dir("/proc").expect("there is a /proc").flatten();
        all.map(|entry| entry.path().join("stat"))
            .filter(|stat| {
                std::fs::read_to_string(stat).ok().and_then(|s| parent(&s)).as_ref() == Some(&own)
            })
            .collect()
    }
}

/// Waits until a process is gone, or is but waiting to be reaped.
#[track_caller]
fn gone(stat: &PathBuf) {
    let until = clock::now().plus(PATIENCE);
    let is_there = || {
        let text = std::fs::read_to_string(stat).unwrap_or_default();
        text.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
    };
    while is_there() {
        assert!(clock::now() < until, "{} is still there", stat.display());
        clock::sleep_until(clock::now().plus(Ns::millis(20)));
    }
}

/// Asserts that every end of every stream reported a step from its start to its end without a gap.
#[track_caller]
fn whole(record: &Record, step: u32) {
    let head = &record.steps()[step as usize];
    let intervals = record.intervals(step).expect("readable");
    for stream in &head.streams {
        let mut at = head.times.start;
        for interval in intervals.iter().filter(|i| i.source == stream.source) {
            assert_eq!(interval.from, at, "a gap of {stream:?}");
            at = interval.to;
        }
        assert_eq!(at, head.times.end, "the end of {stream:?}");
    }
}

#[test]
fn storage_and_network_stand_on_one_time_line() {
    let loads =
        "load = [{ workload = \"wire\", on = \"far\" }, { workload = \"disk\", on = \"n\" }]";
    let bench = Bench::new(&scenario(&format!(
        "{loads}\nmeasure = \"1200ms\"\nsweep = {{ \"wire.streams\" = [1, 2] }}"
    )));
    bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "-q"]);
    let record = open(&bench.path("r.wsr"));
    assert_eq!(record.status(), Status::Complete);
    for (step, streams) in [(0, 1), (1, 2)] {
        whole(&record, step);
        let head = &record.steps()[step as usize];
        assert_eq!((head.workers.len(), head.streams.len()), (1, 2 * streams));
        let intervals = record.intervals(step).expect("readable");
        let cuts = |source| -> BTreeSet<(Ns, Ns)> {
            let own = intervals.iter().filter(|i| i.source == source);
            own.map(|i| (i.from, i.to)).collect()
        };
        let worker = cuts(head.workers[0].source);
        for stream in &head.streams {
            assert_eq!(cuts(stream.source), worker, "{stream:?} is cut where the worker is");
        }
    }
    let name =
        |kind| record.sources().iter().filter(move |s| s.kind == kind).map(|s| s.name.as_str());
    let streams: BTreeSet<&str> = name(SourceKind::Stream).collect();
    assert!(streams.contains("far/up2/received") && streams.contains("far/probe"), "{streams:?}");
    let kinds = [HopKind::NetworkPair, HopKind::NetworkHost];
    let hops: BTreeSet<&str> =
        kinds.into_iter().flat_map(|kind| name(SourceKind::Hop(kind))).collect();
    assert!(["far", "far/sender", "far/receiver"].iter().all(|hop| hops.contains(hop)), "{hops:?}");
    // The embedded receiver left with the run, and the review knows both kinds of load.
    let review = bench.expect(0, &["review", "r.wsr"]);
    assert!(review.stdout.contains("far"), "{}", review.stdout);
}

#[test]
fn two_loads_on_a_pair_tell_of_its_machines_once() {
    let load =
        "load = [{ workload = \"wire\", on = \"far\" }, { workload = \"more\", on = \"far\" }]";
    let more = "[workload.more]\nkind = \"net\"\nload = \"requests\"\n[plan]";
    let bench =
        Bench::new(&scenario(&format!("{load}\nmeasure = \"1200ms\"")).replace("[plan]", more));
    bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "-q"]);
    let record = open(&bench.path("r.wsr"));
    let id = |name: &str| {
        let found = record.sources().iter().find(|source| source.name == name);
        found.unwrap_or_else(|| panic!("no {name}")).id
    };
    for stream in ["far/wire/up1/sent", "far/more/up1/received", "far/probe"] {
        id(stream);
    }
    let counters = record.counters(Some(0)).expect("readable");
    for machine in ["far/sender", "far/receiver"].map(id) {
        let own = counters.iter().filter(|c| c.source == machine && c.kind.name() == "cpu-user");
        let from: Vec<Ns> = own.map(|c| c.from).collect();
        let once: BTreeSet<Ns> = from.iter().copied().collect();
        assert!(!from.is_empty() && from.len() == once.len(), "{from:?}");
    }
}

#[test]
fn an_agent_in_a_process_of_its_own_has_receivers_too() {
    let bench = Bench::new(&alone("500ms"));
    bench.expect(0, &["run", "s.toml", "--out", "r.wsr", "-q", "--agent", "child"]);
    whole(&open(&bench.path("r.wsr")), 0);
}

#[test]
fn a_load_without_a_scenario_leaves_a_record_that_reviews() {
    let bench = Bench::new("");
    let args = ["net", "send", "--embedded", "--both", "--probe", "--repeat", "2"];
    let times = ["--rate", "2MB/s", "--warmup", "100ms", "--time", "500ms", "--cooldown", "50ms"];
    let sent = bench.expect(0, &[&args[..], &times, &["--out", "net.wsr"]].concat());
    assert!(sent.stderr.contains("record: net.wsr"), "{}", sent.stderr);
    assert!(sent.stdout.contains("the mean of 2"), "{}", sent.stdout);
    let record = open(&bench.path("net.wsr"));
    assert_eq!(record.steps().len(), 2);
    let ends: Vec<_> = record.steps()[0].streams.iter().map(|s| (s.flow, s.end)).collect();
    let both = [StreamEnd::Sent, StreamEnd::Received];
    assert_eq!(ends, [Flow::Up, Flow::Down].map(|flow| both.map(|end| (flow, end))).concat());
    let review = bench.expect(0, &["review", "net.wsr", "--format", "json"]);
    let review: serde_json::Value = serde_json::from_str(&review.stdout).expect("one document");
    let pair = &review["steps"][0]["network"][0];
    assert_eq!(pair["directions"].as_array().map(Vec::len), Some(2), "{pair}");
    assert!(pair["probe"]["count"].as_u64() > Some(0), "{pair}");
    // The scenario in the record can be kept and run again.
    let text = &record.head().scenario.text;
    std::fs::write(bench.path("again.toml"), text).expect("a scratch file");
    let plan = bench.expect(0, &["plan", "again.toml"]);
    assert!(plan.stdout.contains("2 steps"), "{}", plan.stdout);
}

#[test]
fn a_killed_run_leaves_a_record_that_reviews_as_incomplete() {
    let bench = Bench::new(&alone("60s"));
    let mut running = Running::start(&bench, &["run", "s.toml", "--out", "r.wsr"]);
    let children = running.children();
    assert!(!children.is_empty(), "its receiver is a process");
    running.child.kill().expect("it is there");
    running.ended();
    children.iter().for_each(gone);
    let record = open(&bench.path("r.wsr"));
    assert_eq!(record.status(), Status::Running);
    assert!(!record.intervals(0).expect("readable").is_empty());
    let review = bench.expect(3, &["review", "r.wsr"]);
    assert!(review.stdout.to_lowercase().contains("incomplete"), "{}", review.stdout);
}

#[test]
fn ctrl_c_ends_a_run_in_order() {
    let bench = Bench::new(&alone("60s"));
    let running = Running::start(&bench, &["run", "s.toml", "--out", "r.wsr"]);
    let children = running.children();
    running.signal(rustix::process::Signal::INT);
    let ended = running.ended();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    children.iter().for_each(gone);
    assert_eq!(open(&bench.path("r.wsr")).status(), Status::Stopped);
    bench.expect(3, &["review", "r.wsr"]);
}

/// A receiver that is asked for a token, and what it listens on.
fn receiver(bench: &Bench) -> (Child, String) {
    bench.secret("token", TOKEN);
    let args =
        ["net", "receive", "--listen", "127.0.0.1:0", "--format", "json", "--token-file", "token"];
    let mut command = bench.command(&args);
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
    let mut line = String::new();
    let stdout = child.stdout.as_mut().expect("it is a pipe");
    BufReader::new(stdout).read_line(&mut line).expect("it writes");
    let told: serde_json::Value = serde_json::from_str(&line).expect("one document");
    let address = told["listening"][0].as_str().expect("an address").to_owned();
    (child, address)
}

/// The scenario with a receiver that is there already.
fn with_receiver(address: &str, token: &str, measure: &str) -> String {
    alone(measure).replace("embedded = true", &format!("address = \"{address}\"\n{token}"))
}

#[test]
fn a_receiver_that_dies_ends_the_run_with_a_record() {
    let bench = Bench::new("");
    let (mut receiver, address) = receiver(&bench);
    let text = with_receiver(&address, "token_file = \"token\"", "60s");
    std::fs::write(bench.path("s.toml"), text).expect("a scratch file");
    let running = Running::start(&bench, &["run", "s.toml", "--out", "r.wsr"]);
    receiver.kill().expect("it is there");
    receiver.wait().expect("it is reaped");
    let ended = running.ended();
    assert_eq!(ended.code, 3, "{}", ended.stderr);
    assert!(ended.stderr.contains("was lost"), "{}", ended.stderr);
    let record = open(&bench.path("r.wsr"));
    assert_eq!(record.status(), Status::Failed);
    assert!(!record.intervals(0).expect("readable").is_empty(), "what was measured is kept");
    assert!(record.events().iter().any(|e| e.text.contains("was lost")));
    bench.expect(3, &["review", "r.wsr"]);
}

#[test]
fn a_token_is_read_where_it_lies_and_is_in_no_record() {
    let bench = Bench::new("");
    let (mut receiver, address) = receiver(&bench);
    for (token, code, says) in [
        ("", 3, "requires a token"),
        (
            "token_env = \"WIRESPEED_TEST_TOKEN\"",
            3,
            "the variable WIRESPEED_TEST_TOKEN of the environment is not set",
        ),
        ("token_file = \"missing\"", 3, "the token cannot be read: missing"),
        ("token_file = \"token\"", 0, ""),
    ] {
        std::fs::write(bench.path("s.toml"), with_receiver(&address, token, "300ms"))
            .expect("a file");
        let out = format!("{}.wsr", token.len());
        let ended = bench.expect(code, &["run", "s.toml", "--out", &out]);
        assert!(ended.stderr.contains(says), "{says:?} is not in {}", ended.stderr);
        let record = std::fs::read(bench.path(&out)).expect("a record");
        let shown = [ended.stdout.as_bytes(), ended.stderr.as_bytes(), &record].concat();
        let token = TOKEN.as_bytes();
        assert!(!shown.windows(token.len()).any(|part| part == token), "a token is never shown");
    }
    receiver.kill().expect("it is there");
    receiver.wait().expect("it is reaped");
}

#[test]
fn a_mistake_in_a_scenario_is_told_before_anybody_is_asked() {
    for (plan, says) in [
        ("workload = \"wire\"\non = \"fra\"\nmeasure = \"1s\"", "far"),
        ("workload = \"wire\"\non = \"n\"\nmeasure = \"1s\"", "receiver"),
        ("workload = \"wire\"\non = \"far\"\nmeasure = \"1s\"\nsteady = true", "steady"),
        ("workload = \"wire\"\non = \"far\"\nmeasure = \"1s\"\nmtu = 9000", "adjust"),
    ] {
        let bench = Bench::new(&scenario(plan));
        let ended = bench.expect(2, &["run", "s.toml", "--out", "r.wsr"]);
        assert!(ended.stderr.contains(says), "{says:?} is not in {}", ended.stderr);
        assert!(!bench.path("r.wsr").exists(), "nothing was begun");
    }
}
