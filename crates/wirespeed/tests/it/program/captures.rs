//! The I/O of a loop device captured, in both ways that the kernel has: it is the trace that was replayed, and the log of fio.

use crate::program::devices::Loop;
use crate::program::support::Bench;
use crate::program::traces::{REPLAY, table};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStderr, Command, Stdio};
use trace::TraceIo;

/// A file system of the kernel that is mounted for a test.
struct Mounted(tempfile::TempDir);

impl Mounted {
    fn new(kind: &str) -> Option<Mounted> {
        let place = tempfile::tempdir().ok()?;
        let mut mount = Command::new("mount");
        let status = mount.args(["-t", kind, "none"]).arg(place.path()).status().ok()?;
        status.success().then_some(Mounted(place))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0.path()).status();
    }
}

/// The ways to capture, with the file system that each needs and the flag that names where it is mounted.
const WAYS: [(&str, &str, &str); 2] =
    [("events", "tracefs", "--tracing"), ("blktrace", "debugfs", "--debug")];

/// A capture that records.
struct Capturing {
    child: Child,
    file: String,
    _said: BufReader<ChildStderr>,
    _mounted: Mounted,
}

impl Capturing {
    /// Begins, and returns once it records; `None` where this machine has not that way.
    fn begin(
        bench: &Bench,
        device: &Loop,
        (by, system, flag): (&str, &str, &str),
    ) -> Option<Capturing> {
        let Some(mounted) = Mounted::new(system) else {
            eprintln!("skipped: {system} cannot be mounted here");
            return None;
        };
        let file = format!("{by}.trace");
        let place = mounted.0.path().to_str().expect("a path");
        let args = ["capture", device.path(), "--time", "5m", "-o", &file, "--by", by, flag, place];
        let mut child = bench.command(&args).stderr(Stdio::piped()).spawn().expect("it starts");
        let mut said = String::new();
        let mut errors = BufReader::new(child.stderr.take().expect("a pipe"));
        errors.read_line(&mut said).expect("it says that it records");
        if said.contains("locked down") {
            child.wait().expect("it ended");
            println!(
                "this kernel is locked down, which closes blktrace: a guest of the tests tries it"
            );
            return None;
        }
        assert!(said.starts_with("recording loop"), "{said}");
        Some(Capturing { child, file, _said: errors, _mounted: mounted })
    }

    /// Ends it; what was recorded.
    fn end(mut self, bench: &Bench) -> Vec<TraceIo> {
        let stopped = Command::new("kill").args(["-INT", &self.child.id().to_string()]).status();
        assert!(stopped.expect("kill runs").success());
        assert!(self.child.wait().expect("it ends").success());
        let file = std::fs::File::open(bench.path(&self.file)).expect("a trace");
        let mut reader = trace::OwnReader::new(file).expect("it");
        let mut ios = Vec::new();
        while let Some(io) = trace::TraceReader::next(&mut reader).expect("it reads") {
            ios.push(io);
        }
        ios
    }
}

/// A loop device over 16 MiB of zeroes.
fn device(bench: &Bench) -> Option<Loop> {
    std::fs::write(bench.path("data"), vec![0; 16 << 20]).expect("a file");
    Loop::over(&bench.path("data"))
}

#[test]
fn a_replay_that_is_captured_is_the_trace() {
    let bench = Bench::new("");
    std::fs::write(bench.path("t.csv"), table(1500)).expect("a file");
    let Some(device) = device(&bench) else {
        return;
    };
    let text = REPLAY
        .replace("url = \"null:\"\nsize = \"4GiB\"", &format!("device = \"{}\"", device.path()));
    std::fs::write(bench.path("loop.toml"), text).expect("a scenario");
    bench.expect(0, &["import", "t.csv", "-o", "t.trace", "--quiet"]);
    let Some(capturing) = Capturing::begin(&bench, &device, WAYS[0]) else {
        return;
    };
    bench.expect(0, &["run", "loop.toml", "--quiet", "--out", "loop.wsr"]);
    let reads: Vec<(u64, u32)> =
        capturing.end(&bench).iter().map(|io| (io.offset, io.len)).collect();
    // In the order of their times: each fiftieth lies before its predecessor.
    let mut numbers: Vec<u64> = (0..1500).filter(|n| n % 4 != 3).collect();
    numbers.sort_by_key(|n| n * 10_000 - if n % 50 == 49 { 15_000 } else { 0 });
    let expected: Vec<(u64, u32)> = numbers.iter().map(|n| (n * 4096, 4096)).collect();
    // The run looks at the device before its load begins, and so may others whenever they like: of each place the last read counts.
    let mut last: BTreeMap<(u64, u32), usize> = reads.iter().copied().zip(0..).collect();
    let wanted: BTreeSet<(u64, u32)> = expected.iter().copied().collect();
    last.retain(|place, _| wanted.contains(place));
    assert_eq!(last.len(), expected.len(), "places of the trace among {} reads", reads.len());
    let mut found: Vec<(u64, u32)> = last.keys().copied().collect();
    found.sort_by_key(|place| last[place]);
    // I/Os that are late on a busy machine are submitted at once, and may then pass each other below the queue.
    let elsewhere = found.iter().zip(&expected).filter(|(one, other)| one != other).count();
    assert!(elsewhere * 5 < expected.len(), "{elsewhere} of {} are out of order", expected.len());
}

/// An I/O as fio's log has it: its moment in microseconds, whether it writes, its place and its length.
type Logged = (u64, bool, u64, u32);

fn logged(text: &str) -> Vec<Logged> {
    let io = |line: &str| {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        let [at, _, action @ ("read" | "write"), offset, len] = words[..] else { return None };
        let numbers = "a number of fio";
        let (at, offset) = (at.parse().expect(numbers), offset.parse().expect(numbers));
        Some((at, action == "write", offset, len.parse().expect(numbers)))
    };
    assert!(text.starts_with("fio version 3 iolog"), "{text}");
    text.lines().filter_map(io).collect()
}

/// Two processes of fio, each with half of the device, for so many I/Os each; their logs.
fn fio(bench: &Bench, device: &Loop, ios: u64, prefix: &[&str]) -> Option<Vec<Vec<Logged>>> {
    let job = |name: &str, offset: &str| {
        format!("[{name}]\noffset={offset}\nsize=8m\nwrite_iolog={name}.log\n")
    };
    let jobs = format!(
        "[global]\nfilename={}\nioengine=psync\ndirect=1\nrw=randrw\nbsrange=4k-64k\nblockalign=4k\nnorandommap\n\
         number_ios={ios}\nio_size=1g\nrate_iops=2000\nrate_process=poisson\n{}{}",
        device.path(),
        job("one", "0"),
        job("two", "8m")
    );
    std::fs::write(bench.path("jobs.fio"), jobs).expect("a file");
    let words: Vec<&str> = prefix.iter().copied().chain(["fio", "--minimal", "jobs.fio"]).collect();
    let mut command = Command::new(words[0]);
    let ran = command.args(&words[1..]).current_dir(bench.path("")).output().ok()?;
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let log = |name: &str| {
        logged(&std::fs::read_to_string(bench.path(&format!("{name}.log"))).expect("a log"))
    };
    Some(vec![log("one"), log("two")])
}

/// Each log is what its process is seen to do, in order. Returns by how much the times differ, in microseconds, smallest first:
/// from fio's stamp before its system call to the kernel's when it queues the request, less what they differ at the median.
#[track_caller]
fn is_captured(seen: &[TraceIo], logs: &[Vec<Logged>]) -> Vec<f64> {
    let mut apart = Vec::new();
    for log in logs {
        let of = |io: &TraceIo| (io.dir == workload::Dir::Write, io.offset, io.len);
        let within = |io: &&TraceIo| log.iter().any(|l| l.2 == io.offset && l.3 == io.len);
        let mut by_process: BTreeMap<u32, u64> = BTreeMap::new();
        seen.iter().filter(within).for_each(|io| *by_process.entry(io.issuer).or_default() += 1);
        let process = by_process.iter().max_by_key(|(_, ios)| **ios).map(|(process, _)| *process);
        let own: Vec<&TraceIo> = seen.iter().filter(|io| Some(io.issuer) == process).collect();
        // fio opens the device, which may read of it, before its first I/O.
        let own = &own[own.len().saturating_sub(log.len())..];
        assert_eq!(
            own.iter().map(|io| of(io)).collect::<Vec<_>>(),
            log.iter().map(|l| (l.1, l.2, l.3)).collect::<Vec<_>>()
        );
        let times = own.iter().zip(log).map(|(io, l)| io.at.0 as f64 / 1e3 - l.0 as f64);
        let mut times: Vec<f64> = times.collect();
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        apart.extend(times.iter().map(|time| (time - median).abs()));
        assert!(own.iter().all(|io| io.latency.is_some()), "all were seen to complete");
    }
    apart.sort_by(f64::total_cmp);
    apart
}

/// In each way that there is, so many I/Os; by how much times differ.
fn captured_beside_fio(ios: u64, prefix: &[&str]) -> Vec<(&'static str, Vec<f64>)> {
    let bench = Bench::new("");
    let Some(device) = device(&bench) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for way in WAYS {
        let Some(capturing) = Capturing::begin(&bench, &device, way) else {
            continue;
        };
        let Some(logs) = fio(&bench, &device, ios, prefix) else {
            capturing.end(&bench);
            eprintln!("skipped: fio is not installed");
            return found;
        };
        let seen = capturing.end(&bench);
        assert!(logs.iter().all(|log| log.len() as u64 == ios), "fio did all");
        found.push((way.0, is_captured(&seen, &logs)));
    }
    found
}

#[test]
fn what_is_captured_is_the_log_of_fio() {
    for (way, apart) in captured_beside_fio(400, &[]) {
        // How far a busy machine takes times apart is no matter of this test: half of them say that the clock is the same.
        let median = apart[apart.len() / 2];
        assert!(median < 50.0, "{way}: times are {median} us apart at the median");
    }
}

#[test]
#[ignore = "times under load; `make replay`"]
fn captured_times_are_those_of_fio() {
    for (way, apart) in captured_beside_fio(10_000, &["chrt", "-f", "50"]) {
        let at = |share: f64| apart[((apart.len() - 1) as f64 * share) as usize];
        let [p50, p99, most] = [0.5, 0.99, 1.0].map(at);
        println!(
            "{way}: {} I/Os, times apart: p50 {p50:.1} us, p99 {p99:.1} us, at most {most:.1} us",
            apart.len()
        );
        assert!(p99 < 50.0, "{way}: {p99} us");
    }
}
