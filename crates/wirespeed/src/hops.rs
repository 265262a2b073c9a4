//! The hops of this machine, as an agent samples them: the block devices under the targets of a step.

use engine::StepSpec;
use fleet::{Hop, Reading, Sample, Sampler};
use probe::block::{self, Device, Look, Stat};
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
    Hop { name: device.name().to_owned(), facts: why.into_iter().collect() }
}

fn sample(look: Look) -> Sample {
    Sample { at: look.at, readings: look.stat.map(readings).unwrap_or_else(nothing) }
}

/// A device's counters as a record names them.
fn readings(stat: Stat) -> Vec<Reading> {
    let grows = |name, unit, value: u64| Reading { name, unit, grows: true, value: value as f64 };
    vec![
        grows("read-ops", "1", stat.reads),
        grows("read-bytes", "B", stat.read_bytes),
        grows("read-merges", "1", stat.reads_merged),
        grows("read-time", "ns", stat.read_time.0),
        grows("write-ops", "1", stat.writes),
        grows("write-bytes", "B", stat.write_bytes),
        grows("write-merges", "1", stat.writes_merged),
        grows("write-time", "ns", stat.write_time.0),
        grows("busy", "ns", stat.busy.0),
        grows("queue-time", "ns", stat.queued.0),
        Reading { name: "queue", unit: "1", grows: false, value: stat.in_flight as f64 },
    ]
}

/// A device that counts nothing has no number to give, which is not zero.
fn nothing() -> Vec<Reading> {
    let none = |reading: Reading| Reading { value: f64::NAN, ..reading };
    readings(Stat::default()).into_iter().map(none).collect()
}
