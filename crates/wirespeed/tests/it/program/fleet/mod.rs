//! Agents behind a NATS server: who is there, who obeys whom, what is bound, and that no interval is lost or counted twice
//! whatever happens to agents, the coordinator, the server and the wires between them.

mod clocks;
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
