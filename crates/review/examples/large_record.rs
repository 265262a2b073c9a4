//! Writes a record of realistic maximum size, to see how long its review takes and how large its page becomes:
//!
//! ```console
//! $ cargo run --release -p review --example large_record -- hour.wsr 64 1 3600
//! $ time wirespeed review hour.wsr -o hour.html
//! ```

use clock::{Ns, Rng};
use record::{
    Completed, Counter, CounterId, Event, HopKind, Interval, Level, Loop, Phase, Producer,
    ProducerKind, RunHead, ScenarioText, Source, SourceId, SourceKind, Status, StepHead, StepTimes,
    Testimony, WorkerLoad, Writer,
};
use std::error::Error;
use std::path::Path;

/// Different seconds, which repeat through the record.
const SECONDS: usize = 40;
/// Operations of a worker in a second, reads and writes.
const OPS: [u64; 2] = [700, 300];
/// Events of a run.
const EVENTS: u64 = 300;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, sources, steps, seconds] = arguments.as_slice() else {
        return Err("expected: FILE SOURCES STEPS SECONDS, such as `hour.wsr 64 1 3600`".into());
    };
    write(Path::new(path), sources.parse()?, steps.parse()?, seconds.parse()?)
}

/// Writes it, a second of the run at a time.
/// # Errors
/// The file cannot be written.
pub fn write(path: &Path, sources: u32, steps: u32, seconds: u64) -> Result<(), Box<dyn Error>> {
    let mut writer = Writer::create(path, &head(sources, steps, seconds))?;
    for id in 0..=sources {
        writer.source(&source(id, id == sources))?;
    }
    let mut rng = Rng::keyed(1, &[]);
    let mut made: Vec<[Completed; 2]> =
        (0..SECONDS).map(|_| OPS.map(|ops| tally(&mut rng, ops))).collect();
    let mut start = Ns::ZERO;
    for index in 0..steps {
        let step = step(index, sources, start, seconds);
        writer.step(&step)?;
        for second in 0..seconds {
            let from = start.plus(Ns::secs(second));
            for id in 0..sources {
                made.rotate_left(1);
                writer.interval(&interval(&step, id, from, &made[0]))?;
            }
            count(&mut writer, SourceId(sources), index, from, &mut rng)?;
            writer.commit()?;
        }
        writer.step_done(index)?;
        start = step.times.end.plus(Ns::secs(1));
    }
    let (whole, text) = (start.0, "Something happened, and this sentence says what to do next.");
    for n in 0..EVENTS {
        let (at, code) = (Ns(whole / EVENTS * n), "something-happened".to_owned());
        let level = if n % 10 == 0 { Level::Warning } else { Level::Info };
        writer.event(&Event { at, step: None, source: None, level, code, text: text.into() })?;
    }
    writer.finish(Status::Complete)?;
    Ok(())
}

fn head(sources: u32, steps: u32, seconds: u64) -> RunHead {
    let depths: Vec<String> = (1..=steps).map(|n| n.to_string()).collect();
    let text = format!(
        "[scenario]\ntitle = \"A large record\"\n[[target]]\nname = \"vm{{1..{sources}}}\"\nurl = \"null:\"\n\
         size = \"1GiB\"\n[workload.mix]\nblock = \"8KiB\"\nread = 70\n[plan]\nworkload = \"mix\"\non = \"vm*\"\n\
         warmup = \"0s\"\nmeasure = \"{seconds}s\"\ncooldown = \"0s\"\nsweep.depth = [{}]\n",
        depths.join(", ")
    );
    RunHead {
        title: "A large record".into(),
        producer: Producer::new(ProducerKind::Live, "by hand"),
        scenario: ScenarioText { name: "large.toml".into(), text, overrides: vec![] },
        epoch: Ns::ZERO,
        wall_ns: 1_780_000_000_000_000_000,
        seed: 1,
    }
}

fn source(id: u32, hop: bool) -> Source {
    let (kind, group) = match hop {
        true => (SourceKind::Hop(HopKind::BlockDevice), "sda".to_owned()),
        false => (SourceKind::Worker, format!("vm{}", id + 1)),
    };
    Source { id: SourceId(id), kind, name: format!("{group}/0"), group, agent: "by hand".into() }
}

fn step(index: u32, sources: u32, start: Ns, seconds: u64) -> StepHead {
    let warm_up = Ns::secs(seconds / 10);
    let load = |id| WorkerLoad {
        source: SourceId(id),
        workload: "mix".into(),
        arrivals: Loop::Closed { depth: index + 1, think: false },
        ops_per_transaction: 1,
    };
    let end = start.plus(Ns::secs(seconds));
    StepHead {
        index,
        plan: "plan".into(),
        settings: vec![("depth".into(), (index + 1).to_string())],
        repetition: 0,
        times: StepTimes { start, measure: start.plus(warm_up), cooldown: end, end },
        workers: (0..sources).map(load).collect(),
        streams: vec![],
    }
}

/// Log-normal latencies around half a millisecond, with a tail.
fn tally(rng: &mut Rng, ops: u64) -> Completed {
    let mut tally = Completed::empty(false);
    for _ in 0..ops {
        let normal: f64 = (0..12).map(|_| rng.unit()).sum::<f64>() - 6.0;
        let service_us = match rng.below(100) {
            0 => 500.0 * (10.0 + rng.exp(10.0)),
            _ => 500.0 * (0.5 * normal).exp(),
        };
        let service = Ns((service_us * 1e3) as u64);
        tally.success(8192, service, service);
    }
    tally
}

fn interval(step: &StepHead, source: u32, from: Ns, made: &[Completed; 2]) -> Interval {
    let in_flight = made[0].service_sum.plus(made[1].service_sum);
    Interval {
        others: Default::default(),
        source: SourceId(source),
        step: step.index,
        phase: step.times.phase_at(from).unwrap_or(Phase::Measure),
        from,
        to: from.plus(Ns::secs(1)),
        read: Some(made[0].clone()),
        write: Some(made[1].clone()),
        testimony: Some(Testimony { in_flight, ..Testimony::default() }),
    }
}

/// A second of a device's counters.
fn count(
    writer: &mut Writer,
    hop: SourceId,
    step: u32,
    from: Ns,
    rng: &mut Rng,
) -> Result<(), Box<dyn Error>> {
    for (id, most) in [
        (CounterId::ReadBytes, 4e8),
        (CounterId::WriteBytes, 2e8),
        (CounterId::Busy, 1e9),
        (CounterId::QueueTime, 6e10),
        (CounterId::QueueDepthEnd, 64.0),
        (CounterId::ReadOps, 5e4),
    ] {
        writer.counter(&Counter {
            source: hop,
            step: Some(step),
            from,
            to: from.plus(Ns::secs(1)),
            kind: id.into(),
            part: None,
            value: most * (0.8 + 0.2 * rng.unit()),
        })?;
    }
    Ok(())
}
