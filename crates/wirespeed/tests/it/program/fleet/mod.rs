//! Agents behind a NATS server: who is there, who obeys whom, what is bound, and that no interval is lost or counted twice
//! whatever happens to agents, the coordinator, the server and the wires between them.

mod arrays;
mod clocks;
mod counted;
mod faults;
mod many;
mod page;
mod people;
pub mod servers;
mod stand_ins;
mod update;

use crate::prelude::*;
use crate::program::support::{Bench, open};
use servers::{Keeper, NatsServer, agent};

/// Operations a second of each VM: open-loop, so that the record's counts are known beforehand.
const RATE: u64 = 200;

/// VMs on agents of their own, each with a fixed rate.
pub fn scenario(vms: usize, seconds: u64, agents: &str) -> String {
    format!(
        "[scenario]\ntitle = \"fleet\"\n[[target]]\nname = \"n\"\nurl = \"null:\"\nsize = \"1GiB\"\n\
         [[vm]]\nname = \"vm{{1..{vms}}}\"\nagents = \"{agents}\"\ndisks = [{{ target = \"n\" }}]\n\
         [workload.w]\nblock = \"4KiB\"\nrate = \"{RATE} IOPS\"\nlimit = 4\n\
         [plan]\nworkload = \"w\"\non = \"vm*\"\nwarmup = \"0s\"\nmeasure = \"{seconds}s\"\ncooldown = \"1s\"\n"
    )
}

/// Agents `a1`, `a2`, … of one server.
pub fn agents(bench: &Bench, server: &NatsServer, count: usize) -> Vec<Keeper> {
    (1..=count).map(|n| agent(bench, &server.url(), &format!("a{n}"), &[])).collect()
}

/// Every interval of every worker in the record, exactly once, from the step's first moment to its last; returns the
/// operations of all. `lost` workers may end early, but have no gap and nothing twice.
#[track_caller]
pub fn check_record(path: &Path, workers: usize, lost: &[String]) -> u64 {
    let record = open(path);
    let [step] = record.steps() else { panic!("{} steps", record.steps().len()) };
    let intervals = record.intervals(step.index).expect("intervals are readable");
    let mut at: BTreeMap<String, Ns> = BTreeMap::new();
    let mut sum = 0;
    for interval in &intervals {
        let source = record.sources().iter().find(|s| s.id == interval.source).expect("a source");
        let at = at.entry(source.name.clone()).or_insert(step.times.start);
        assert_eq!(interval.from, *at, "a gap, or an interval twice: {}", source.name);
        *at = interval.to;
        sum += [&interval.read, &interval.write]
            .into_iter()
            .flatten()
            .map(|done| done.ops)
            .sum::<u64>();
    }
    let expected = workers - lost.len();
    let whole = at.values().filter(|end| **end == step.times.end).count();
    assert!(whole >= expected, "{whole} of {expected} are whole: {at:?}, {:?}", step.times);
    sum
}

#[test]
fn a_run_on_three_agents_has_every_interval_once() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(&scenario(3, 3, "*"));
    let _agents = agents(&bench, &server, 3);
    let url = server.url();
    let run = bench
        .expect(0, &["run", "s.toml", "--fleet", &url, "--wait", "3 agents", "--out", "r.wsr"]);
    assert!(run.stdout.contains("fleet"), "{}", run.stdout);
    // Three VMs, four seconds under load: no more than is due in that time.
    let sum = check_record(&bench.path("r.wsr"), 3, &[]);
    assert!((1..=3 * (4 * RATE + 4)).contains(&sum), "{sum}");
    assert!(!bench.path("r.wsr.journal").exists());
    let record = open(&bench.path("r.wsr"));
    let carriers: BTreeSet<&str> = record
        .sources()
        .iter()
        .filter(|s| s.kind == record::SourceKind::Worker)
        .map(|s| s.agent.as_str())
        .collect();
    assert_eq!(carriers, BTreeSet::from(["a1", "a2", "a3"]));
    // The agents are free again, and the server keeps nothing.
    let list = bench.expect(0, &["fleet", "ls", "--fleet", &url, "--format", "json"]);
    let list: Value = serde_json::from_str(&list.stdout).expect("JSON");
    let busy: Vec<&Value> =
        list["agents"].as_array().expect("a list").iter().map(|a| &a["problem"]).collect();
    assert_eq!(busy, [&Value::Null; 3]);
    let doctor = bench.run(&["fleet", "doctor", "--fleet", &url]);
    assert!(!doctor.stdout.contains("run `"), "{}", doctor.stdout);
}

/// What an agent tells monitoring is what the record holds.
#[test]
fn an_agent_tells_what_it_did() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(&scenario(1, 2, "*"));
    let url = server.url();
    let refused = bench.expect(2, &["agent", "--join", &url, "--metrics", "0.0.0.0:0"]).stderr;
    assert!(refused.contains("loopback"), "{refused}");
    let _agent = agent(&bench, &url, "a1", &["--metrics", "127.0.0.1:0"]);
    let place = servers::wait_for("the address", || {
        let log = fs::read_to_string(bench.path("a1.log")).ok()?;
        let rest = log.split("metrics: http://").nth(1)?;
        Some(rest.split('/').next()?.to_owned())
    });
    let ask = || {
        let mut stream = TcpStream::connect(&place).expect("it listens");
        let request =
            format!("GET /metrics HTTP/1.1\r\nHost: {place}\r\nConnection: close\r\n\r\n");
        std::io::Write::write_all(&mut stream, request.as_bytes()).expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("an answer");
        text
    };
    let figure = |text: &str, name: &str| -> f64 {
        let line = text
            .lines()
            .find(|line| line.starts_with(name))
            .unwrap_or_else(|| panic!("{name}: {text}"));
        line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a figure")
    };
    let idle = servers::wait_for("the agent", || {
        let text = ask();
        text.contains("wirespeed_agent_engaged").then_some(text)
    });
    assert_eq!(figure(&idle, "wirespeed_agent_engaged{"), 0.0);
    let mut run = bench
        .command(&["run", "s.toml", "--fleet", &url, "--wait", "1 agents", "--out", "r.wsr", "-q"]);
    let mut run = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    let busy = servers::wait_for("the run", || {
        let text = ask();
        (figure(&text, "wirespeed_agent_operations_total{") > 0.0).then_some(text)
    });
    assert_eq!(figure(&busy, "wirespeed_agent_engaged{"), 1.0);
    let title = "wirespeed_agent_run{agent=\"a1\",group=\"default\",title=\"fleet (from ";
    assert!(busy.contains(title), "{busy}");
    assert_eq!(run.wait().expect("it ends").code(), Some(0));
    let ended = servers::wait_for("the end", || {
        let text = ask();
        (figure(&text, "wirespeed_agent_engaged{") == 0.0).then_some(text)
    });
    let sum = check_record(&bench.path("r.wsr"), 1, &[]) as f64;
    assert_eq!(figure(&ended, "wirespeed_agent_operations_total{"), sum);
    assert_eq!(figure(&ended, "wirespeed_agent_response_time_seconds_count{"), sum);
    assert_eq!(
        figure(
            &ended,
            "wirespeed_agent_transferred_bytes_total{agent=\"a1\",group=\"default\",direction=\"read\"}"
        ),
        sum * 4096.0
    );
    for (name, expected) in [("runs", 1.0), ("errors", 0.0), ("failures", 0.0)] {
        assert_eq!(figure(&ended, &format!("wirespeed_agent_{name}_total{{")), expected, "{name}");
    }
}
