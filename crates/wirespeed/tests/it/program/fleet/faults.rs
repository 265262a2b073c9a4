//! What may happen to a fleet under load, at random moments. After each the record holds every interval of every agent that
//! lived, once, and says who was lost.

use super::servers::{Keeper, NatsServer, Wire, agent, agent_by, pause, wait_for};
use super::{RATE, check_record, scenario};
use crate::prelude::*;
use crate::program::support::{Bench, open};
use clock::Rng;

/// Agents of a run, each with one VM.
const AGENTS: usize = 3;
/// Seconds that a step measures; one of cool-down follows.
const SECONDS: u64 = 6;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    AgentKilled,
    AgentPaused,
    AgentRestarted,
    CoordinatorKilled,
    ServerRestarted,
    Partition,
    DiskFull,
    Damage,
    TwoCoordinators,
}

const FAULTS: [Fault; 9] = [
    Fault::AgentKilled,
    Fault::AgentPaused,
    Fault::AgentRestarted,
    Fault::CoordinatorKilled,
    Fault::ServerRestarted,
    Fault::Partition,
    Fault::DiskFull,
    Fault::Damage,
    Fault::TwoCoordinators,
];

/// A run under way, and what it runs on.
struct Field {
    bench: Bench,
    server: NatsServer,
    /// Between the server and the first two agents.
    wire: Wire,
    agents: Vec<Keeper>,
    coordinator: Keeper,
    rng: Rng,
}

impl Field {
    fn new(fault: Fault, seed: u64) -> Option<Field> {
        let server = NatsServer::start(None)?;
        let bench = Bench::new(&scenario(AGENTS, SECONDS, "*"));
        let wire = Wire::to(server.port);
        let agents = (1..=AGENTS).map(|n| {
            let url = if n < AGENTS { wire.url() } else { server.url() };
            match (fault, n) {
                (Fault::DiskFull, 1) => on_a_tiny_disk(&bench, &url, "a1"),
                _ => agent(&bench, &url, &format!("a{n}"), &[]),
            }
        });
        let agents = agents.collect();
        let log = File::create(bench.path("run.log")).expect("a log");
        let mut command = bench.command(&["run", "s.toml", "--fleet", &server.url()]);
        // Who is killed is waited for so long; who is cut off needs some time on a busy machine until it is back.
        let silence = if fault == Fault::AgentKilled { "12s" } else { "40s" };
        command.args(["--wait", "3", "--silence", silence, "--out", "r.wsr"]);
        let run = command.stdout(Stdio::null()).stderr(log).spawn().expect("the program starts");
        let field = Field {
            bench,
            server,
            wire,
            agents,
            coordinator: Keeper(run),
            rng: Rng::keyed(seed, &[]),
        };
        Some(field)
    }

    /// The same, under load since some time. A busy machine may have carried the whole run before it showed a second of it: then
    /// once more.
    #[track_caller]
    fn under_load(fault: Fault, seed: u64) -> Option<Field> {
        let mut log = String::new();
        for _ in 0..5 {
            let mut field = Field::new(fault, seed)?;
            wait_for("a second under load", || {
                let on = field.log().lines().any(|line| line.contains(" s  "));
                let over = field.coordinator.0.try_wait().expect("it is ours").is_some();
                (on || over).then_some(())
            });
            field.some_time(Ns::secs(3));
            if field.coordinator.0.try_wait().expect("it is ours").is_none() {
                return Some(field);
            }
            log = field.log();
        }
        panic!("{fault:?}: no run could be caught under load: {log}")
    }

    fn log(&self) -> String {
        fs::read_to_string(self.bench.path("run.log")).unwrap_or_default()
    }

    fn some_time(&mut self, most: Ns) {
        pause(Ns(self.rng.below(most.0)));
    }

    fn ended(&mut self) -> i32 {
        let status =
            wait_for("the end of the run", || self.coordinator.0.try_wait().expect("it is ours"));
        status.code().unwrap_or(-1)
    }

    /// Codes of the events in the record.
    fn events(&self) -> Vec<(String, String)> {
        let record = open(&self.bench.path("r.wsr"));
        let events = record.events();
        events.iter().map(|event| (event.code.clone(), event.text.clone())).collect()
    }
}

/// An agent with a disk of 4 KiB, and next to no memory, for what waits.
fn on_a_tiny_disk(bench: &Bench, url: &str, name: &str) -> Keeper {
    fs::create_dir(bench.path("tiny")).expect("a scratch directory");
    let mut command = Command::new("unshare");
    let script = "mount -t tmpfs -o size=4k tiny tiny && exec \"$@\"";
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh"]);
    agent_by(command, bench, url, name, &["--spool", "tiny", "--spool-memory", "1KiB"])
}

/// Lets a fault happen; the exit code of the run, and the agents that are lost.
#[track_caller]
fn happen(fault: Fault, field: &mut Field) -> (i32, Vec<String>) {
    let mut lost = Vec::new();
    let code = match fault {
        Fault::AgentKilled => {
            field.agents.remove(1);
            lost.push("a2".to_owned());
            field.ended()
        }
        Fault::AgentRestarted => {
            field.agents.remove(1);
            let again = agent(&field.bench, &field.wire.url(), "a2", &[]);
            field.agents.push(again);
            lost.push("a2".to_owned());
            field.ended()
        }
        Fault::AgentPaused => {
            field.agents[0].signal("STOP");
            pause(Ns::secs(3));
            field.agents[0].signal("CONT");
            field.ended()
        }
        Fault::CoordinatorKilled => {
            field.coordinator.0.kill().expect("it runs");
            field.ended();
            field.some_time(Ns::secs(4));
            let resumed = field.bench.run(&["fleet", "resume", "r.wsr"]);
            assert!(resumed.stderr.contains("resuming"), "{}", resumed.stderr);
            resumed.code
        }
        Fault::ServerRestarted => {
            field.server.down();
            field.some_time(Ns::secs(2));
            field.server.up();
            field.ended()
        }
        Fault::Partition => {
            field.wire.cut();
            pause(Ns::secs(3));
            field.wire.mend();
            field.ended()
        }
        Fault::DiskFull => {
            // It is full before the step ends.
            field.wire.cut();
            pause(Ns::secs(SECONDS));
            field.wire.mend();
            lost.push("a1".to_owned());
            let code = field.ended();
            let why = "cannot be kept until it is sent: No space left on device";
            assert!(field.events().iter().any(|(_, text)| text.contains(why)), "{}", field.log());
            code
        }
        Fault::Damage => {
            field.wire.damage(3);
            let code = field.ended();
            assert!(field.wire.damage_left() < 3, "nothing was damaged");
            code
        }
        Fault::TwoCoordinators => {
            let url = field.server.url();
            let other = ["run", "s.toml", "--fleet", &url, "--patience", "1s", "--out", "o.wsr"];
            let other = field.bench.run(&other);
            assert_eq!(other.code, 3, "{}", other.stderr);
            assert!(other.stderr.contains("is engaged in `fleet (from "), "{}", other.stderr);
            assert!(!field.bench.path("o.wsr").exists());
            field.ended()
        }
    };
    (code, lost)
}

/// One fault in one run, at a moment that the seed decides.
#[track_caller]
fn check(fault: Fault, seed: u64) {
    let Some(mut field) = Field::under_load(fault, seed) else { return };
    let (code, lost) = happen(fault, &mut field);
    let context = format!("{fault:?}, seed {seed}:\n{}\n{:?}", field.log(), field.events());
    assert_eq!(code, if lost.is_empty() { 0 } else { 3 }, "{context}");
    let sum = check_record(&field.bench.path("r.wsr"), AGENTS, &lost);
    // No more than was due: a busy machine drops what it cannot issue, and nothing counts twice.
    assert!(sum > 0 && sum <= AGENTS as u64 * ((SECONDS + 1) * RATE + 4), "{sum}: {context}");
    let named: Vec<String> = field
        .events()
        .into_iter()
        .filter(|(code, _)| code == "agent-lost")
        .map(|(_, text)| text)
        .collect();
    assert_eq!(named.len(), lost.len(), "{context}");
    assert!(named.iter().zip(&lost).all(|(text, name)| text.contains(name)), "{context}");
    if fault == Fault::CoordinatorKilled {
        let resumed =
            field.events().iter().filter(|(code, _)| code == "coordinator-resumed").count();
        assert_eq!(resumed, 1, "{context}");
    }
}

/// Each fault so many times, some at a time.
fn check_all(rounds: u64, at_once: usize) {
    let all: Vec<(Fault, u64)> =
        (0..rounds).flat_map(|round| FAULTS.map(|fault| (fault, round))).collect();
    for some in all.chunks(at_once) {
        let threads: Vec<_> = some
            .iter()
            .map(|&(fault, seed)| std::thread::spawn(move || check(fault, seed)))
            .collect();
        let ended: Vec<_> = threads.into_iter().map(std::thread::JoinHandle::join).collect();
        for (end, what) in ended.into_iter().zip(some) {
            assert!(end.is_ok(), "{what:?} failed; see above");
        }
    }
}

#[test]
fn no_fault_loses_or_doubles_an_interval() {
    check_all(1, FAULTS.len());
}
