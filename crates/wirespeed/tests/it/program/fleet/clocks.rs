//! Agents whose clocks are set apart and drift. The kernel sets them apart (a namespace of time), a library of this test makes
//! one run at another speed and notes, by a clock that all share, when threads were to wake: when each load really began.

use super::servers::{Keeper, NatsServer, agent_by};
use super::{check_record, scenario};
use crate::prelude::*;
use crate::program::support::{Bench, open};
use record::CounterId;

/// Runs the monotonic clock of a process at another speed, and notes every moment until which a thread sleeps, as the
/// wall clock will show it.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <sys/syscall.h>
static double rate = 1, base;
static FILE *out;
static double get(clockid_t id) {
    struct timespec t;
    syscall(SYS_clock_gettime, id, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}
static void put(double at, struct timespec *t) {
    t->tv_sec = (time_t)at;
    t->tv_nsec = (long)((at - t->tv_sec) * 1e9);
}
__attribute__((constructor)) static void begin(void) {
    base = get(CLOCK_MONOTONIC);
    rate = 1 + atof(getenv("CLOCK_PPM")) / 1e6;
    out = fopen(getenv("CLOCK_LOG"), "a");
}
int clock_gettime(clockid_t id, struct timespec *t) {
    long result = syscall(SYS_clock_gettime, id, t);
    if (id == CLOCK_MONOTONIC && rate != 1) put(base + (t->tv_sec + t->tv_nsec / 1e9 - base) * rate, t);
    return result;
}
int clock_nanosleep(clockid_t id, int flags, const struct timespec *t, struct timespec *rest) {
    struct timespec until = *t;
    if (id == CLOCK_MONOTONIC && flags == TIMER_ABSTIME) {
        double at = base + (t->tv_sec + t->tv_nsec / 1e9 - base) / rate;
        if (rate != 1) put(at, &until);
        if (out) { fprintf(out, "%.6f\n", get(CLOCK_REALTIME) + at - get(CLOCK_MONOTONIC)); fflush(out); }
    }
    return syscall(SYS_clock_nanosleep, id, flags, &until, rest) == -1 ? 4 : 0;
}
"#;

/// Whether this machine has what sets clocks apart.
fn shim(bench: &Bench) -> Option<PathBuf> {
    let (source, library) = (bench.path("clock.c"), bench.path("clock.so"));
    fs::write(&source, SHIM).expect("a scratch file");
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-O1", "-o"]).arg(&library).arg(&source);
    let compiled = compiler.status().is_ok_and(|status| status.success());
    let apart = Command::new("unshare").args(["--time", "--fork", "true"]).status();
    let missing = match (compiled, apart.is_ok_and(|status| status.success())) {
        (true, true) => return Some(library),
        (false, _) => "a C compiler",
        (true, false) => "the right to make namespaces of time",
    };
    assert!(std::env::var_os("CI").is_none(), "there is no {missing} here");
    println!("skipped: there is no {missing} here");
    None
}

/// An agent whose clock is so many seconds ahead and runs so many millionths faster.
fn agent(bench: &Bench, url: &str, name: &str, shim: &Path, (ahead, ppm): (i64, i64)) -> Keeper {
    let mut command = Command::new("unshare");
    command.args(["--time", "--fork", "--kill-child", "--monotonic", &ahead.to_string(), "env"]);
    command.arg(format!("LD_PRELOAD={}", shim.display())).arg(format!("CLOCK_PPM={ppm}"));
    command.arg(format!("CLOCK_LOG={}", bench.path(&format!("{name}.wakes")).display()));
    agent_by(command, bench, url, name, &[])
}

/// By how much the wall clock is ahead of the monotonic one.
fn wall() -> f64 {
    let tries = (0..50).map(|_| {
        let (before, wall, after) = (clock::now(), clock::wall_ns(), clock::now());
        (
            after.since(before),
            wall as f64 / 1e9 - (before.as_secs_f64() + after.as_secs_f64()) / 2.0,
        )
    });
    tries.min_by_key(|(took, _)| *took).map(|(_, ahead)| ahead).expect("some")
}

/// A counter of each agent in the first step.
fn counted(record: &Record, id: CounterId) -> BTreeMap<String, f64> {
    let counters = record.counters(Some(0)).expect("readable");
    let of = counters.iter().filter(|counter| counter.kind.id() == Some(id));
    of.map(|counter| {
        let source = record.sources().iter().find(|s| s.id == counter.source).expect("a source");
        (source.agent.clone(), counter.value)
    })
    .collect()
}

#[test]
fn clocks_that_are_apart_and_drift_are_known_within_their_bounds() {
    let bench = Bench::new(&format!(
        "{}[[goal]]\niops = {{ at_least = 1 }}\n",
        scenario(3, 7, "*").replace("200 IOPS", "2 IOPS")
    ));
    let (Some(server), Some(shim)) = (NatsServer::start(None), shim(&bench)) else { return };
    let (url, behind) = (server.url(), -(clock::now().as_secs_f64() / 2.0) as i64);
    // Ahead; behind, so that it began before this machine; as it is, but faster.
    let clocks = [("a1", (5_000, 0)), ("a2", (behind, -150)), ("a3", (0, 400))];
    let _agents = clocks.map(|(name, clock)| agent(&bench, &url, name, &shim, clock));
    let run = ["run", "s.toml", "--fleet", &url, "--wait", "3", "--skew", "5s", "--out", "r.wsr"];
    bench.expect(0, &run);
    check_record(&bench.path("r.wsr"), 3, &[]);
    let record = open(&bench.path("r.wsr"));
    let [offsets, bounds, drifts, within] = [
        CounterId::ClockOffset,
        CounterId::ClockBound,
        CounterId::ClockDrift,
        CounterId::ClockDriftBound,
    ]
    .map(|id| counted(&record, id));
    let began = record.head().epoch.as_secs_f64() + record.steps()[0].times.start.as_secs_f64();
    let began = began + wall();
    for (name, (ahead, ppm)) in clocks {
        let bound = bounds[name] / 1e9;
        // A clock that drifts was that far off since its process began, some seconds before.
        let drifted = f64::from(i32::from(ppm != 0)) * 0.05;
        let error = (offsets[name] / 1e9 - ahead as f64).abs();
        assert!(error <= bound + drifted, "{name}: {} ± {bound}", offsets[name] / 1e9);
        let (drift, within) = (drifts[name], within[name]);
        assert!((drift - ppm as f64).abs() <= within + 0.1, "{name}: {drift} ± {within}");
        // All begin at one instant, whatever their clocks show.
        let wakes = fs::read_to_string(bench.path(&format!("{name}.wakes"))).expect("a log");
        let wakes = wakes.lines().filter_map(|line| line.parse::<f64>().ok());
        let nearest = wakes.map(|wake| (wake - began).abs()).fold(f64::MAX, f64::min);
        assert!(nearest <= bound + 50e-6, "{name} began {nearest} s off, and {bound} s are said");
    }
    // Without a warm-up the first moments are not all agents' for certain, which the record says.
    let edges = counted(&record, CounterId::ClockEdge);
    let widest = bounds.values().fold(0.0, |most: f64, bound| most.max(*bound));
    assert_eq!(edges.values().copied().collect::<Vec<_>>(), [widest]);
    // Where less is allowed, nothing is decided.
    let strict = ["run", "s.toml", "--fleet", &url, "--wait", "3", "--skew", "1us"];
    let strict = bench.expect(1, &[&strict[..], &["--set", "plan.measure=1s"]].concat()).stdout;
    assert!(strict.contains("undecided") && strict.contains("is known within"), "{strict}");
}
