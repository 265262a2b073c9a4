//! Many agents on one machine: what coordinating them costs, how late their intervals come, and how closely they start.

use super::servers::{Keeper, NatsServer, agent, pause, wait_for};
use super::{check_record, scenario};
use crate::prelude::*;
use crate::program::support::{Bench, open};
use record::CounterId;

/// Agents.
const MANY: usize = 200;
/// Seconds that the step measures.
const SECONDS: u64 = 20;

/// What a process has used: seconds of processor time, and the most memory in bytes.
fn used(process: u32) -> Option<(f64, u64)> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let words: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks: u64 = words.get(11)?.parse::<u64>().ok()? + words.get(12)?.parse::<u64>().ok()?;
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: u64 = peak.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some((ticks as f64 / 100.0, kib * 1024))
}

#[test]
#[ignore = "two hundred processes: make fleet"]
fn two_hundred_agents_cost_a_coordinator_little() {
    let Some(server) = NatsServer::start(None) else { return };
    let slow = scenario(MANY, SECONDS, "*").replace("200 IOPS", "10 IOPS");
    let bench = Bench::new(&slow);
    let _agents: Vec<Keeper> =
        (0..MANY).map(|n| agent(&bench, &server.url(), &format!("a{n:03}"), &[])).collect();
    let log = File::create(bench.path("run.log")).expect("a log");
    let mut command = bench.command(&["run", "s.toml", "--fleet", &server.url(), "--wait", "200"]);
    command.args(["--patience", "120s", "--out", "r.wsr"]);
    let mut run = Keeper(command.stdout(Stdio::null()).stderr(log).spawn().expect("it starts"));
    let process = run.0.id();
    wait_for("the step", || {
        Record::open(&bench.path("r.wsr")).ok().filter(|r| !r.steps().is_empty())
    });
    let mut late = Ns::ZERO;
    let (mut first, mut last) = (None, None);
    while run.0.try_wait().expect("it is ours").is_none() {
        if let Some((cpu, memory)) = used(process) {
            first.get_or_insert((clock::now(), cpu));
            last = Some((clock::now(), cpu, memory));
        }
        if let Ok(record) = Record::open(&bench.path("r.wsr"))
            && let Some(step) = record.steps().first()
        {
            let now = clock::now().since(record.head().epoch);
            let mut latest: BTreeMap<record::SourceId, Ns> = BTreeMap::new();
            for interval in record.intervals(step.index).expect("readable") {
                let at = latest.entry(interval.source).or_default();
                *at = interval.to.max(*at);
            }
            // A second is in the record of all when the slowest has reported it: that which follows is over a second later.
            let slowest = latest.values().copied().min().unwrap_or_default();
            if latest.len() == MANY && slowest < step.times.end && now < step.times.end {
                late = late.max(now.since(slowest.plus(Ns::secs(1))));
            }
        }
        pause(Ns::millis(200));
    }
    let code = run.0.wait().expect("it ended").code();
    assert_eq!(code, Some(0), "{}", fs::read_to_string(bench.path("run.log")).unwrap_or_default());
    check_record(&bench.path("r.wsr"), MANY, &[]);
    let record = open(&bench.path("r.wsr"));
    let step = &record.steps()[0];
    let counters = record.counters(Some(step.index)).expect("readable");
    let of =
        |id: CounterId| counters.iter().filter(move |c| c.kind.id() == Some(id)).map(|c| c.value);
    let bound = of(CounterId::ClockBound).fold(0.0, f64::max);
    let offsets: Vec<f64> = of(CounterId::ClockOffset).collect();
    // All agents read one clock here, so that what they are found to be apart is the error of the measurement.
    let error = offsets.iter().fold(0.0, |most: f64, offset| most.max(offset.abs()));
    let (Some((from, cpu)), Some((to, cpu_after, memory))) = (first, last) else {
        panic!("no figures")
    };
    let share = (cpu_after - cpu) / to.since(from).as_secs_f64();
    println!(
        "{MANY} agents: coordinator {share:.2} of a processor, {:.0} MB; intervals at most {:.2} s late; clocks known within {:.3} ms, wrong by {:.3} ms at most",
        memory as f64 / 1e6,
        late.as_secs_f64(),
        bound / 1e6,
        error / 1e6,
    );
    assert!(error <= bound, "a bound of {bound} ns does not hold: {error} ns");
}
