//! A small run by hand, as a simulator would write it.

use clock::{Ns, Rng};
use record::*;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Seconds between the starts of two steps.
const STRIDE: u64 = 100;

/// A directory that is gone after the test, and a name for a record in it.
pub fn place() -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let path = dir.path().join("run.wsr");
    (dir, path)
}

pub fn head() -> RunHead {
    RunHead {
        title: "Two VMs read through one adapter".into(),
        producer: Producer::new(ProducerKind::Live, "by hand, in a test"),
        scenario: ScenarioText {
            name: "two.toml".into(),
            text: "[scenario]\ntitle = \"Two VMs\"\n".into(),
            overrides: vec![("plan.measure".into(), "3s".into())],
        },
        epoch: Ns(5_000),
        wall_ns: 1_700_000_000_000_000_000,
        seed: 42,
    }
}

pub fn source(id: u32, kind: SourceKind) -> Source {
    let name = match kind {
        SourceKind::Worker => format!("vm{id}"),
        SourceKind::Hop(_) => format!("hop{id}"),
        SourceKind::Stream => format!("stream{id}"),
    };
    Source { id: SourceId(id), kind, group: name.clone(), name, agent: "sim".into() }
}

/// A step of one second of warm-up, `seconds` measured, and one of cool-down, for workers `0..workers`.
pub fn step(index: u32, seconds: u64, workers: u32) -> StepHead {
    let start = u64::from(index) * STRIDE;
    StepHead {
        index,
        plan: "ladder".into(),
        settings: vec![
            ("block".into(), "8KiB".into()),
            ("depth".into(), format!("{}", 1 << index)),
        ],
        repetition: 0,
        times: StepTimes {
            start: Ns::secs(start),
            measure: Ns::secs(start + 1),
            cooldown: Ns::secs(start + 1 + seconds),
            end: Ns::secs(start + 2 + seconds),
        },
        workers: (0..workers)
            .map(|id| WorkerLoad {
                source: SourceId(id),
                workload: "stream".into(),
                arrivals: Loop::Closed { depth: 1 << index, think: false },
                ops_per_transaction: 1,
            })
            .collect(),
        streams: Vec::new(),
    }
}

/// `ops` operations of 8 KiB around 200 µs, with a long tail.
pub fn tally(rng: &mut Rng, ops: u64, open_loop: bool) -> Completed {
    let mut tally = Completed::empty(open_loop);
    for _ in 0..ops {
        let service = 80_000.0 + rng.exp(120_000.0);
        let waited = rng.exp(30_000.0);
        tally.success(8192, Ns(service as u64), Ns((service + waited) as u64));
    }
    tally
}

pub fn testimony(n: u64) -> Testimony {
    Testimony {
        cpu_user: Ns(1_000 + n),
        cpu_system: Ns(2_000 + n),
        own: Ns(300 + n),
        in_flight: Ns(900_000_000 + n),
        late: n,
        late_max: Ns(40 * n),
        overruns: n as u32 % 2,
        open: 5 + n as u32,
        open_age_max: Ns(70 * n),
    }
}

/// The interval of one second, counted from the start of its step, in its proper phase.
pub fn interval(step: &StepHead, source: u32, second: u64) -> Interval {
    let from = step.times.start.plus(Ns::secs(second));
    Interval {
        others: Default::default(),
        source: SourceId(source),
        step: step.index,
        phase: step.times.phase_at(from).expect("a second within the step"),
        from,
        to: from.plus(Ns::secs(1)),
        read: None,
        write: None,
        testimony: None,
    }
}

/// What comes back of an interval: the same with two digits.
pub fn as_stored(interval: &Interval) -> Interval {
    let coarse = |tally: &Completed| Completed {
        service: tally.service.to_two_digits(),
        response: tally.response.as_ref().map(Histogram::to_two_digits),
        ..tally.clone()
    };
    Interval {
        read: interval.read.as_ref().map(coarse),
        write: interval.write.as_ref().map(coarse),
        others: [0, 1, 2].map(|n| interval.others[n].as_ref().map(coarse)),
        ..interval.clone()
    }
}

/// The intervals of a whole step: reads from each of `sources`, and writes from the odd ones, which are open loops.
pub fn intervals(step: &StepHead, sources: u32) -> Vec<Interval> {
    let mut rng = Rng::keyed(7, &[step.index.into()]);
    let seconds = step.times.end.since(step.times.start).0 / Ns::secs(1).0;
    let mut all = Vec::new();
    for second in 0..seconds {
        for source in 0..sources {
            let odd = source % 2 == 1;
            all.push(Interval {
                read: Some(tally(&mut rng, 50, odd)),
                write: odd.then(|| tally(&mut rng, 20, true)),
                others: [odd, false, odd].map(|has| has.then(|| tally(&mut rng, 5, true))),
                testimony: Some(testimony(second)),
                ..interval(step, source, second)
            });
        }
    }
    all
}

/// A writer to which two workers, a hop and step 0 (three measured seconds) have been announced.
pub fn begun(path: &Path) -> Writer {
    let mut writer = Writer::create(path, &head()).expect("a new record");
    for (id, kind) in [
        (0, SourceKind::Worker),
        (1, SourceKind::Worker),
        (2, SourceKind::Hop(HopKind::BlockDevice)),
    ] {
        writer.source(&source(id, kind)).expect("a source");
    }
    writer.step(&step(0, 3, 2)).expect("a step");
    writer.commit().expect("a commit");
    writer
}

/// A complete record: two steps, two workers, one hop with counters, facts and an event.
pub fn complete(path: &Path) {
    let mut writer = begun(path);
    let fact = |subject: &str, key: &str, value: &str| Fact {
        subject: subject.into(),
        key: key.into(),
        value: value.into(),
    };
    writer
        .facts(&[fact("run", "version", "0.1.0"), fact("sim", "model", "two-vms")])
        .expect("facts");
    writer.step(&step(1, 3, 2)).expect("a step");
    for index in 0..2 {
        let step = step(index, 3, 2);
        for interval in intervals(&step, 2) {
            writer.interval(&interval).expect("an interval");
            writer.commit().expect("a commit");
        }
        writer.counter(&counter(Some(index), 1e6)).expect("a counter");
        writer.step_done(index).expect("the end of a step");
    }
    writer
        .event(&Event {
            at: Ns::secs(2),
            step: Some(0),
            source: Some(SourceId(1)),
            level: Level::Warning,
            code: "depth-clamped".into(),
            text: "The queue takes 64 at most; the step ran with 64.".into(),
        })
        .expect("an event");
    writer.finish(Status::Complete).expect("the end of the record");
}

pub fn counter(step: Option<u32>, value: f64) -> Counter {
    Counter {
        source: SourceId(2),
        step,
        from: Ns::secs(1),
        to: Ns::secs(2),
        kind: CounterId::ReadBytes.into(),
        part: None,
        value,
    }
}

/// The record's files beyond the one that a finished record is.
pub fn companions(path: &Path) -> Vec<String> {
    let dir = path.parent().expect("a record in a directory");
    let mut names: Vec<String> = std::fs::read_dir(dir)
        .expect("a directory")
        .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
        .filter(|name| Some(name.as_str()) != path.file_name().and_then(|n| n.to_str()))
        .collect();
    names.sort();
    names
}

/// Asserts that an error's message contains every one of `parts`.
#[track_caller]
pub fn says<T: std::fmt::Debug>(result: Result<T, RecordError>, parts: &[&str]) {
    let message = result.expect_err("an error").to_string();
    for part in parts {
        assert!(message.contains(part), "{message:?} does not say {part:?}");
    }
}
