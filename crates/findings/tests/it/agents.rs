//! Agents of several machines: pace, stragglers, evenness and clocks, against values worked out by hand.

use crate::support::{Sketch, Work};
use findings::{AgentClock, AgentFigures, Analysis, Status};

const FOUR: &str = r#"
scenario.title = "Four machines"
target = [{ name = "a{1..4}", url = "null:", size = "1GiB" }]
workload.read.block = "8KiB"
[plan]
workload = "read"
on = "a*"
warmup = "0s"
measure = "2s"
cooldown = "0s"
"#;

/// Agents a1 and a2 are at site x, a3 and a4 at site y; a4 does half of what the others do.
fn four() -> Analysis {
    let mut sketch = Sketch::of(FOUR).agents();
    for (agent, site, host) in
        [("a1", "x", "h1"), ("a2", "x", "h2"), ("a3", "y", "h1"), ("a4", "y", "h2")]
    {
        sketch = sketch.fact(agent, "release", "1").fact(agent, "site", site);
        sketch = sketch.fact(agent, "host", host);
    }
    // A sketch writes so much for each of two seconds.
    let clock = [("clock-offset", -1e6), ("clock-bound", 5e4)];
    let drifts = [("clock-offset", 2.5e9), ("clock-bound", 1.5e5), ("clock-drift", 6.25)];
    let sketch = sketch.hop("a1.cpu", &clock).hop("a2.cpu", &drifts);
    let ops = |agent: &str| if agent == "a4" { 500 } else { 1000 };
    sketch.analyse(|_, agent| Work { ops: ops(agent), late: 3, ..Work::default() })
}

fn of<'a>(analysis: &'a Analysis, name: &str) -> &'a AgentFigures {
    let agents = &analysis.steps[0].agents.as_ref().expect("agents").agents;
    agents.iter().find(|agent| agent.agent == name).expect("the agent")
}

#[test]
fn one_that_lags_behind_is_named() {
    let analysis = four();
    let agents = analysis.steps[0].agents.as_ref().expect("agents");
    assert_eq!(agents.stragglers, ["a4"]);
    for (agent, iops, pace) in [("a1", 1000.0, 1.0), ("a3", 1000.0, 1.0), ("a4", 500.0, 0.5)] {
        let found = of(&analysis, agent);
        assert!((found.iops - iops).abs() < 1e-6, "{found:?}");
        assert_eq!((found.pace, found.groups, found.reported), (Some(pace), 1, 1.0));
        assert_eq!((found.late, found.done_ns), (6, Some(2_000_000_000)));
        // Two hundredths of a second each second, as the workers say.
        assert!(found.generator.is_some_and(|share| (share - 0.02).abs() < 1e-9), "{found:?}");
    }
}

/// Site x has 1000 a VM, site y 750; each host 1000 and 500 of a1 and a3, a2 and a4.
#[test]
fn sites_and_hosts_are_compared_by_the_mean_of_a_vm() {
    let analysis = four();
    let agents = analysis.steps[0].agents.as_ref().expect("agents");
    let rates = |of: &Option<findings::Balance>| -> Vec<(String, f64)> {
        let shares = &of.as_ref().expect("a balance").shares;
        shares.iter().map(|s| (s.group.clone(), (s.bytes_per_s / 8192.0).round())).collect()
    };
    assert_eq!(rates(&agents.sites), [("x".to_owned(), 1000.0), ("y".to_owned(), 750.0)]);
    assert_eq!(rates(&agents.hosts), [("h1".to_owned(), 1000.0), ("h2".to_owned(), 750.0)]);
    let spread = agents.sites.as_ref().map(|of| of.spread);
    assert!(spread.is_some_and(|spread| (spread - 250.0 / 875.0).abs() < 1e-9), "{spread:?}");
}

#[test]
fn clocks_are_those_of_the_agents_own_hops() {
    let analysis = four();
    let clock = |ahead_ns, within_ns, drift_ppm| {
        Some(AgentClock { ahead_ns, within_ns, drift_ppm, drift_within_ppm: None })
    };
    assert_eq!(of(&analysis, "a1").clock, clock(-2e6, 1e5, None));
    assert_eq!(of(&analysis, "a2").clock, clock(5e9, 3e5, Some(12.5)));
    assert_eq!(of(&analysis, "a3").clock, None);
}

#[test]
fn a_run_on_one_machine_has_none() {
    let analysis = Sketch::of(FOUR).analyse(|_, _| Work::default());
    assert_eq!(analysis.steps[0].agents, None);
    // Agents that are processes of this machine were not told of beforehand.
    let analysis = Sketch::of(FOUR).agents().analyse(|_, _| Work::default());
    assert_eq!(analysis.steps[0].agents, None);
}

/// Clocks that are known within 100 us: what a goal says depends on whether so much is allowed.
#[test]
fn where_clocks_are_known_too_little_nothing_is_decided() {
    let goal = format!("{FOUR}[[goal]]\niops = {{ at_least = 100 }}\n");
    let status = |allowed: &str| {
        let clock = [("clock-offset", 0.0), ("clock-bound", 5e4)];
        let sketch = Sketch::of(&goal).agents().hop("a1.cpu", &clock);
        let sketch = sketch.fact("run", "skew-threshold-ns", allowed);
        let analysis = sketch.analyse(|_, _| Work::default());
        (analysis.goals[0].status, analysis.goals[0].reason.clone(), analysis.verdict.exit_code())
    };
    assert_eq!(status("100000").0, Status::Met);
    let (undecided, why, code) = status("99999");
    assert_eq!((undecided, code), (Status::Undecided, 1));
    assert!(why.contains("the clock of a1.cpu is known within 0.1 ms"), "{why}");
}

/// The first and the last 12 ms of four seconds are not all agents' for certain: of the seconds at both edges nothing counts.
#[test]
fn a_step_is_cut_by_the_bounds_of_its_clocks() {
    let text = FOUR.replace("measure = \"2s\"", "measure = \"4s\"");
    let by_second: &[u64] = &[100, 1000, 1000, 100];
    let analysed = |ms: u64| {
        let sketch = Sketch::of(&text).agents().edge(0, ms).edge(4_000 - ms, 4_000);
        sketch.analyse(|_, _| Work { by_second, ..Work::default() })
    };
    let cut = analysed(12);
    let step = &cut.steps[0];
    assert_eq!((step.measured_ns, step.total.both.ops), (2_000_000_000, 8_000));
    assert_eq!(step.total.both.iops, 4_000.0);
    assert!(step.void.iter().all(|void| void.clocks) && step.void.len() == 2, "{:?}", step.void);
    let codes: Vec<&str> = cut.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert!(
        codes.contains(&"seconds-beyond-clocks") && !codes.contains(&"seconds-void"),
        "{codes:?}"
    );
    // A hundredth of a second more or less is none.
    let whole = analysed(10);
    assert_eq!((whole.steps[0].total.both.ops, whole.steps[0].void.len()), (8_800, 0));
}
