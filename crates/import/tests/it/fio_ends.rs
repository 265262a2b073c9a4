//! Where imported jobs end, beside fio itself: the bytes that all of its clones transfer, by its own count, and for one clone
//! how often it takes each block, by its log of I/Os.

use crate::imported;
use clock::{Ns, Rng};
use scenario::Source;
use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use workload::{Extent, Next, Placement, Stream, StreamKey};

/// The size of the file, and the block.
const SIZE: u64 = 1 << 20;
const BLOCK: u64 = 4096;

/// How many blocks were taken so often.
type Times = BTreeMap<u64, u64>;

fn times(offsets: impl Iterator<Item = u64>) -> Times {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    offsets.for_each(|offset| *counts.entry(offset).or_default() += 1);
    let mut times = Times::new();
    counts.into_values().for_each(|n| *times.entry(n).or_default() += 1);
    times
}

fn job(options: &str) -> String {
    format!(
        "[x]\nfilename=f\nsize={SIZE}\nbs={BLOCK}\nioengine=psync\n{}\n",
        options.replace(' ', "\n")
    )
}

/// What fio transfers, and how often it takes each block where one clone does so.
fn fio(options: &str) -> (u64, Option<Times>) {
    let dir = tempfile::tempdir().expect("a scratch directory");
    // Clones would write one log.
    let log = if options.contains("numjobs") { "" } else { "write_iolog=log\n" };
    fs::write(dir.path().join("job"), job(options) + log).expect("a job file");
    let run = Command::new("fio").args(["--output-format=json", "job"]).current_dir(&dir).output();
    let run = run.expect("fio runs");
    assert!(run.status.success(), "{options}: {}", String::from_utf8_lossy(&run.stderr));
    let told: serde_json::Value = serde_json::from_slice(&run.stdout).expect("JSON");
    let of = |job: &serde_json::Value| {
        let bytes = |way: &str| job[way]["io_bytes"].as_u64().unwrap_or(0);
        bytes("read") + bytes("write")
    };
    let jobs = told["jobs"].as_array().expect("jobs");
    let log = fs::read_to_string(dir.path().join("log")).unwrap_or_default();
    let offset = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [.., way, offset, _] = words[..] else { return None };
        ["read", "write"].contains(&way).then(|| offset.parse().ok())?
    };
    let taken = (jobs.len() == 1).then(|| times(log.lines().filter_map(offset)));
    (jobs.iter().map(of).sum(), taken)
}

/// The same of the imported job: what its workers issue before they end, whoever is faster.
fn ours(options: &str) -> (u64, Option<Times>) {
    let text = imported(None, &job(options)).scenario;
    let source = Source { name: "s".to_owned(), text: text.clone(), ..Source::default() };
    let scenario = scenario::load(&source).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let steps = scenario.steps();
    assert!(steps[0].ends_with_loads(), "{options}:\n{text}");
    let load = steps[0].disk_loads().next().expect("a load");
    let phase = load.phase.expect("an end");
    let workers = load.workload.workers;
    if let Some(amount) = phase.amount {
        return (amount.0, None);
    }
    let mut streams = Vec::new();
    for sharer in 0..workers {
        let targets = vec![Extent { size: SIZE, block: 512 }];
        let place = Placement { targets, sharer, sharers: workers, start: Ns::ZERO };
        let key = StreamKey { seed: 1, step: 0, worker: sharer, slot: 0 };
        streams.extend(Stream::slots(&load.workload.spec, &place, key).expect("streams"));
    }
    let (mut offsets, mut order) = (Vec::new(), Rng::keyed(1, &[]));
    while !streams.is_empty() {
        let next = order.below(streams.len() as u64) as usize;
        match streams[next].next(Ns::ZERO) {
            Next::Op(op) => {
                offsets.push(op.offset);
                streams[next].completed(Ns::ZERO);
            }
            _ => drop(streams.swap_remove(next)),
        }
    }
    let bytes = offsets.len() as u64 * BLOCK;
    (bytes, (workers == 1).then(|| times(offsets.into_iter())))
}

#[test]
fn imported_jobs_end_where_fios_end() {
    if Command::new("fio").arg("--version").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "fio is missing");
        return println!("skipped: fio is not installed");
    }
    for options in [
        "rw=read",
        "rw=read loops=2",
        "rw=randread",
        "rw=randread loops=3",
        "rw=randread norandommap",
        "rw=randread io_size=512k",
        "rw=read io_size=3m",
        "rw=read io_size=512k loops=2",
        "rw=read number_ios=100",
        "rw=randread numjobs=3 loops=2",
        "rw=read numjobs=2 io_size=256k",
        "rw=randread norandommap numjobs=2 number_ios=50",
    ] {
        let ((theirs, taken), (bytes, used)) = (fio(options), ours(options));
        assert_eq!(theirs, bytes, "{options}");
        if let (Some(taken), Some(used)) = (taken, used) {
            assert_eq!(taken, used, "{options}: blocks that are taken so often");
        }
    }
}
