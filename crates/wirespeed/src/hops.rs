//! The hops of this machine, as an agent samples them: the block devices under the targets of a step.

use engine::StepSpec;
use fleet::{Hop, Reading, Sample, Sampler};
use probe::block::{self, Device, Look, Stat};
use record::{CounterId, HopKind};
use std::path::Path;

/// The fact of a hop that says why its counters may mean nothing.
const COUNTERS: &str = "counters";

/// Samples the disks under the targets of a step, and the partitions that the targets are on.
#[derive(Debug, Default)]
pub struct Disks {
    devices: Vec<Device>,
}

impl Sampler for Disks {
    fn hops(&mut self, step: &StepSpec) -> Vec<Hop> {
        let paths = step.targets.iter().filter(|t| fleet::scheme(&t.url).is_empty());
        self.devices.clear();
        for device in paths.flat_map(|target| block::under(Path::new(&target.url))) {
            if !self.devices.contains(&device) {
                self.devices.push(device);
            }
        }
        self.devices.iter().map(hop).collect()
    }

    fn sample(&mut self) -> Vec<Sample> {
        self.devices.iter().map(|device| sample(device.look())).collect()
    }
}

fn hop(device: &Device) -> Hop {
    let why = device.uncounted().map(|why| (COUNTERS.to_owned(), why.to_owned()));
    let (name, kind) = (device.name().to_owned(), HopKind::BlockDevice);
    Hop { name, kind, facts: why.into_iter().collect() }
}

fn sample(look: Look) -> Sample {
    Sample { at: look.at, readings: look.stat.map(readings).unwrap_or_else(nothing) }
}

/// A device's counters as a record names them.
fn readings(stat: Stat) -> Vec<Reading> {
    let reading = |counter, value: u64| Reading { counter, value: value as f64 };
    vec![
        reading(CounterId::ReadOps, stat.reads),
        reading(CounterId::ReadBytes, stat.read_bytes),
        reading(CounterId::ReadMerges, stat.reads_merged),
        reading(CounterId::ReadTime, stat.read_time.0),
        reading(CounterId::WriteOps, stat.writes),
        reading(CounterId::WriteBytes, stat.write_bytes),
        reading(CounterId::WriteMerges, stat.writes_merged),
        reading(CounterId::WriteTime, stat.write_time.0),
        reading(CounterId::Busy, stat.busy.0),
        reading(CounterId::QueueTime, stat.queued.0),
        reading(CounterId::QueueDepthEnd, stat.in_flight),
    ]
}

/// A device that counts nothing has no number to give, which is not zero.
fn nothing() -> Vec<Reading> {
    let none = |reading: Reading| Reading { value: f64::NAN, ..reading };
    readings(Stat::default()).into_iter().map(none).collect()
}
