//! Many agents on one machine: what coordinating them costs, how late their intervals come, and how closely they start. Two
//! hundred are processes of the program; up to a thousand are light stand-ins in this process, which speak the real messages
//! over connections of their own and load nothing. A machine that is full with all of them decides nothing about one.

use super::servers::{Keeper, NatsServer, agent, pause, wait_for};
use super::stand_ins::StandIns;
use super::{check_record, scenario};
use crate::prelude::*;
use crate::program::support::{Bench, open};
use record::CounterId;
use rusqlite::{Connection, OpenFlags};

/// Processors that are left over on a machine that is full.
const FULL: f64 = 0.05;

/// Seconds that a step measures.
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

/// Until when the record has the intervals of all workers; `None` before it has one of each.
fn known_to(path: &Path, workers: usize) -> Option<Ns> {
    let record = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let latest = "SELECT count(*), min(latest) FROM (SELECT max(to_ns) AS latest FROM interval GROUP BY source)";
    let (count, least): (i64, Option<i64>) =
        record.query_row(latest, [], |row| Ok((row.get(0)?, row.get(1)?))).ok()?;
    Some(Ns(u64::try_from(least?).ok()?)).filter(|_| count == workers as i64)
}

/// Processor time that the machine had left since it booted, of all its processors, in seconds.
fn left_over() -> f64 {
    let stat = fs::read_to_string("/proc/stat").expect("/proc/stat");
    let words = stat.lines().next().into_iter().flat_map(str::split_whitespace).skip(1);
    let ticks: Vec<f64> = words.map(|word| word.parse().expect("a number")).collect();
    (ticks[3] + ticks[4]) / 100.0
}

/// What a run on so many agents cost.
struct Cost {
    /// Of one processor, from the first second under load to the last.
    cpu: f64,
    memory: u64,
    /// How long after its end an interval of the slowest agent was in the record, at most.
    late: Ns,
    /// Processors that nobody used meanwhile.
    idle: f64,
    /// How well clocks were known, and how wrong they were: here all read one clock.
    bound: f64,
    error: f64,
}

/// What was seen of a run on so many agents.
struct Seen {
    code: Option<i32>,
    /// How late intervals were, each time when it was looked.
    lateness: Vec<Ns>,
    /// Of one processor: the coordinator, the server, this process, and what was left over.
    shares: [f64; 4],
    memory: u64,
}

/// Watches a run on `count` agents that are there already, to its end.
fn watched(bench: &Bench, server: &NatsServer, count: usize) -> Seen {
    let (log, out) = (File::create(bench.path("run.log")).expect("a log"), bench.path("r.wsr"));
    let wait = count.to_string();
    let mut command = bench.command(&["run", "s.toml", "--fleet", &server.url(), "--wait", &wait]);
    command.args(["--patience", "120s", "--out", "r.wsr"]);
    let mut run = Keeper(command.stdout(Stdio::null()).stderr(log).spawn().expect("it starts"));
    let process = run.0.id();
    let record = wait_for("the step", || Record::open(&out).ok().filter(|r| !r.steps().is_empty()));
    let (epoch, times) = (record.head().epoch, record.steps()[0].times);
    let mut lateness = Vec::new();
    let (server, own) = (server.process(), std::process::id());
    let (mut first, mut last) = (None, None);
    while run.0.try_wait().expect("it is ours").is_none() {
        let now = clock::now().since(epoch);
        if let Some(known) = known_to(&out, count).filter(|_| now < times.end) {
            // The interval that follows ends a second later, and is not there yet.
            lateness.push(now.since(known.plus(Ns::secs(1))));
            let all = [process, server, own].map(used);
            if let [Some((cpu, memory)), Some((server, _)), Some((own, _))] = all {
                let seen = [cpu, server, own, left_over()];
                first.get_or_insert((now, seen));
                last = Some((now, seen, memory));
            }
        }
        pause(Ns::millis(250));
    }
    let code = run.0.wait().expect("it ended").code();
    let (Some((from, before)), Some((to, after, memory))) = (first, last) else {
        panic!("no figures: {}", fs::read_to_string(bench.path("run.log")).unwrap_or_default())
    };
    let share = |n: usize| (after[n] - before[n]) / to.since(from).as_secs_f64();
    lateness.sort_unstable();
    Seen { code, lateness, shares: [0, 1, 2, 3].map(share), memory }
}

/// What a run on `count` agents cost that are there already; `None` where the machine cannot carry them.
fn coordinated(bench: &Bench, server: &NatsServer, count: usize) -> Option<Cost> {
    let Seen { code, lateness, shares: [cpu, of_server, own, idle], memory } =
        watched(bench, server, count);
    println!(
        "{count:>5} agents: processors used: coordinator {cpu:.2}, server {of_server:.2}, this process {own:.2}; left over {idle:.2}"
    );
    if code != Some(0) && idle < FULL {
        println!("      not determined: the machine was full");
        return None;
    }
    let log = fs::read_to_string(bench.path("run.log")).unwrap_or_default();
    assert_eq!(code, Some(0), "{log}");
    check_record(&bench.path("r.wsr"), count, &[]);
    let record = open(&bench.path("r.wsr"));
    let counters = record.counters(Some(0)).expect("readable");
    let of =
        |id: CounterId| counters.iter().filter(move |c| c.kind.id() == Some(id)).map(|c| c.value);
    let cost = Cost {
        cpu,
        memory,
        late: lateness.last().copied().unwrap_or_default(),
        idle,
        bound: of(CounterId::ClockBound).fold(0.0, f64::max),
        error: of(CounterId::ClockOffset).fold(0.0, |most, offset| most.max(offset.abs())),
    };
    println!(
        "      coordinator {:.2} of a processor, {:.0} MB; intervals at most {:.2} s late, half of the time {:.2} s; clocks known within {:.3} ms, wrong by {:.3} ms at most",
        cost.cpu,
        cost.memory as f64 / 1e6,
        cost.late.as_secs_f64(),
        lateness[lateness.len() / 2].as_secs_f64(),
        cost.bound / 1e6,
        cost.error / 1e6,
    );
    assert!(cost.error <= cost.bound, "{} ns do not hold: {} ns", cost.bound, cost.error);
    let late_starts = record.events().iter().filter(|event| event.code == "late-start").count();
    println!(
        "      {late_starts} workers began late: their machine did not wake them at the agreed moment"
    );
    for (what, kept) in [
        ("below half a processor", cost.cpu < 0.5),
        ("below 200 MB", cost.memory < 200_000_000),
        ("at most 2 s late", cost.late <= Ns::secs(2)),
    ] {
        let said = match kept {
            true => "kept",
            // Others may have had what it lacked.
            false if cost.idle < FULL => "not determined: the machine was full",
            false => "NOT KEPT",
        };
        println!("      {said}: {what}");
    }
    Some(cost)
}

/// A light load on each of so many agents; the more they are on one machine, the longer it lasts, so that each is seen under load.
fn light(agents: usize) -> Bench {
    let seconds = SECONDS * agents.div_ceil(500) as u64;
    Bench::new(&scenario(agents, seconds, "*").replace("200 IOPS", "10 IOPS"))
}

#[test]
#[ignore = "two hundred processes: make fleet"]
fn two_hundred_agents_cost_a_coordinator_little() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = light(200);
    let _agents: Vec<Keeper> =
        (0..200).map(|n| agent(&bench, &server.url(), &format!("a{n:03}"), &[])).collect();
    let Some(cost) = coordinated(&bench, &server, 200) else { return };
    assert!(cost.memory < 200_000_000, "{} bytes", cost.memory);
}

/// The same where each writes and checks a volume of an array that the coordinator serves in a process beside it.
#[test]
#[ignore = "two hundred processes: make fleet"]
fn two_hundred_agents_load_an_array_of_their_coordinator() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(&format!(
        "[scenario]\ntitle = \"array\"\n\
         [[array]]\nname = \"store\"\nembedded = {{ ports = [{{ name = \"p1\" }}] }}\n\
         [[volume]]\nname = \"v{{1..200}}\"\narray = \"store\"\nsize = \"1MiB\"\n\
         [[vm]]\nname = \"vm{{1..200}}\"\nagents = \"*\"\ndisks = [{{ lun = \"store/v{{1..200}}\" }}]\n\
         [workload.w]\nblock = \"4KiB\"\nread = 50\nrandom = 100\nverify = true\nrate = \"10 IOPS\"\nlimit = 4\n\
         [plan]\nworkload = \"w\"\non = \"vm*\"\nwarmup = \"0s\"\nmeasure = \"{SECONDS}s\"\ncooldown = \"1s\"\n"
    ));
    let _agents: Vec<Keeper> =
        (0..200).map(|n| agent(&bench, &server.url(), &format!("a{n:03}"), &[])).collect();
    let Some(cost) = coordinated(&bench, &server, 200) else { return };
    assert!(cost.memory < 200_000_000, "{} bytes", cost.memory);
    let review = bench.expect(0, &["review", "r.wsr", "--format", "json"]).stdout;
    let review: Value = serde_json::from_str(&review).expect("JSON");
    let verified = &review["verification"];
    assert_eq!(verified["wrong"], 0, "{verified}");
    assert!(verified["checked"].as_u64().is_some_and(|blocks| blocks > 0), "{verified}");
}

#[test]
#[ignore = "a thousand connections for minutes: make fleet"]
fn the_cost_of_a_thousand_stand_ins() {
    let Some(server) = NatsServer::start(None) else { return };
    for count in [200, 500, 1000] {
        let bench = light(count);
        let _stand_ins = StandIns::join(&server, count);
        coordinated(&bench, &server, count);
    }
}

/// The same in small: the stand-ins are agents to a coordinator.
#[test]
fn stand_ins_are_agents_to_a_coordinator() {
    let Some(server) = NatsServer::start(None) else { return };
    let bench = Bench::new(&scenario(20, 2, "*"));
    let _stand_ins = StandIns::join(&server, 20);
    let url = server.url();
    bench.expect(0, &["run", "s.toml", "--fleet", &url, "--wait", "20 agents", "--out", "r.wsr"]);
    check_record(&bench.path("r.wsr"), 20, &[]);
}
