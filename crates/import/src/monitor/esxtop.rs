//! Counters of `esxtop -b`: disks, adapters, virtual disks, network ports and processors.
//!
//! A device has two places: its queue at the host (QAVG, KAVG, slots) and all that is behind the adapter (DAVG). Latencies of
//! `/Read` and `/Write` are preferred, since `/Command` includes commands that are neither. `Virtual Disk(vm)` is the sum of its
//! `Virtual Disk(vm:scsi0:0)` and is used only where these are missing.

use super::model::{Feed, Flow, Leg, Measure, Place};
use super::pdh::{CounterName, Meaning};
use record::HopKind;
use std::collections::{BTreeMap, BTreeSet};

const MS: f64 = 1e6;
const MB: f64 = 1e6;
/// esxtop's megabytes are binary.
const MIB: f64 = 1024.0 * 1024.0;

/// The share of the time in which processors were in use.
const IN_USE: &str = "% Util Time";

/// What a header says of its hosts as a whole.
#[derive(Default)]
pub(super) struct Inventory {
    /// VMs whose virtual disks are counted one by one.
    by_disk: BTreeSet<(String, String)>,
    /// Processors of each host.
    processors: BTreeMap<String, BTreeSet<String>>,
    /// Hosts that say how long processors were in use, at whatever frequency.
    in_use: BTreeSet<String>,
}

impl Inventory {
    pub fn of(names: &[&CounterName<'_>]) -> Inventory {
        let mut all = Inventory::default();
        for name in names {
            match name.object {
                "Virtual Disk" => {
                    let (vm, disk) = of_guest(name.instance);
                    if !disk.is_empty() {
                        all.by_disk.insert((name.host.to_owned(), vm.to_owned()));
                    }
                }
                "Physical Cpu" if name.instance.bytes().all(|b| b.is_ascii_digit()) => {
                    let of = all.processors.entry(name.host.to_owned()).or_default();
                    of.insert(name.instance.to_owned());
                }
                "Physical Cpu" if name.counter == IN_USE => {
                    all.in_use.insert(name.host.to_owned());
                }
                _ => {}
            }
        }
        all
    }

    /// Columns with one value for all rows: the number of processors.
    pub fn constants(&self, feed: &mut Feed) -> Vec<(usize, f64)> {
        let of = |(host, numbers): (&String, &BTreeSet<String>)| {
            let place = feed.place(Place::new(HopKind::HostCpu, "host.cpu", host.clone()));
            (feed.column(place, Measure::Processors), numbers.len() as f64)
        };
        self.processors.iter().map(of).collect()
    }

    /// What a column is; `None` for one that explains nothing.
    pub fn meaning(&self, name: &CounterName<'_>) -> Option<Meaning> {
        match name.object {
            "Physical Disk SCSI Device"
            | "Physical Disk"
            | "Physical Disk Adapter"
            | "Disk Adapter" => disk(name),
            "Physical Disk NFS Volume" => share(name),
            "Virtual Disk" => self.virtual_disk(name),
            "Physical Cpu" if name.instance == "_Total" => self.cpu(name),
            "Network Port" => port(name),
            _ => None,
        }
    }

    /// Of both counters the one that is 100% where no time is left: `% Processor Time` is scaled by the frequency.
    fn cpu(&self, name: &CounterName<'_>) -> Option<Meaning> {
        let scaled = name.counter == "% Processor Time" && !self.in_use.contains(name.host);
        let place = Place::new(HopKind::HostCpu, "host.cpu", name.host);
        (name.counter == IN_USE || scaled).then(|| Meaning::new(place, Measure::Cpu, 0.01))
    }

    fn virtual_disk(&self, name: &CounterName<'_>) -> Option<Meaning> {
        let (vm, disk) = of_guest(name.instance);
        let whole = disk.is_empty();
        if whole && self.by_disk.contains(&(name.host.to_owned(), vm.to_owned())) {
            return None;
        }
        let (measure, factor) = match name.counter {
            "Average MilliSec/Read" => (Measure::Time(Leg::All, Flow::Read), MS),
            "Average MilliSec/Write" => (Measure::Time(Leg::All, Flow::Write), MS),
            counter => rates(counter)?,
        };
        let mut place = Place::new(HopKind::VirtualDisk, name.instance, name.host);
        place.guest = vm.to_owned();
        Some(Meaning::new(place, measure, factor))
    }
}

/// The VM and its disk, `db:prod` and `scsi0:0`: a name may have colons too.
fn of_guest(instance: &str) -> (&str, &str) {
    let buses = [":scsi", ":nvme", ":sata", ":ide"];
    let at = buses.iter().filter_map(|bus| instance.rfind(bus)).max();
    at.map_or((instance, ""), |at| (&instance[..at], &instance[at + 1..]))
}

/// Rates that all objects of disks have.
fn rates(counter: &str) -> Option<(Measure, f64)> {
    Some(match counter {
        "Commands/sec" => (Measure::Ops(Flow::Any), 1.0),
        "Reads/sec" => (Measure::Ops(Flow::Read), 1.0),
        "Writes/sec" => (Measure::Ops(Flow::Write), 1.0),
        "MBytes Read/sec" => (Measure::Bytes(Flow::Read), MIB),
        "MBytes Written/sec" => (Measure::Bytes(Flow::Write), MIB),
        "Failed Commands/sec" => (Measure::Errors, 1.0),
        "Aborts/sec" => (Measure::Aborts, 1.0),
        _ => return None,
    })
}

/// `Average Driver MilliSec/Command` and its relatives.
fn latency(counter: &str) -> Option<(Measure, f64)> {
    let rest = counter.strip_prefix("Average ")?;
    let (leg, flow) = rest.split_once(" MilliSec/")?;
    let leg = match leg {
        "Driver" | "Device" => Leg::Device,
        "Kernel" => Leg::Kernel,
        "Guest" => Leg::All,
        "Queue" => Leg::Queue,
        _ => return None,
    };
    let flow = match flow {
        "Command" => Flow::Any,
        "Read" => Flow::Read,
        "Write" => Flow::Write,
        _ => return None,
    };
    Some((Measure::Time(leg, flow), MS))
}

/// A device, or an adapter with all of its devices.
fn disk(name: &CounterName<'_>) -> Option<Meaning> {
    let instance = name.instance;
    let is_device =
        ["naa.", "eui.", "t10.", "mpx.", "vml."].iter().any(|p| instance.starts_with(p));
    let paths = instance.matches(':').count();
    // `vmhba1:0:3` is a device of old versions; longer ones are its partitions and the worlds that use it.
    let device =
        name.object == "Physical Disk SCSI Device" || is_device && paths <= 3 || paths == 2;
    let adapter = !device && paths == 0 && instance.starts_with("vmhba");
    let place = match (device, adapter) {
        (true, _) => Place::new(HopKind::LunQueue, instance, name.host).known_as(instance),
        (_, true) => {
            let mut place = Place::new(HopKind::Adapter, instance, name.host);
            place.within = true;
            place
        }
        _ => return None,
    };
    let (measure, factor) = match name.counter {
        "Active Commands" => (Measure::InFlightEnd, 1.0),
        "Queued Commands" => (Measure::QueuedEnd, 1.0),
        "Device Q Depth" | "Queue Depth" | "Adapter Q Depth" => (Measure::Slots, 1.0),
        counter => rates(counter).or_else(|| latency(counter))?,
    };
    let adapters = name.counter == "Adapter Q Depth";
    (adapter || !adapters).then(|| Meaning::new(place, measure, factor))
}

/// A share of NFS that a host has mounted: the host sees the whole way to it as one latency.
fn share(name: &CounterName<'_>) -> Option<Meaning> {
    let place = Place::new(HopKind::BlockDevice, name.instance, name.host);
    let (measure, factor) = match name.counter {
        "Active Commands" => (Measure::InFlightEnd, 1.0),
        counter => rates(counter).or_else(|| latency(counter))?,
    };
    Some(Meaning::new(place, measure, factor))
}

/// A physical port: those of VMs and of the kernel count the same packets once more.
fn port(name: &CounterName<'_>) -> Option<Meaning> {
    let nic = name.instance.rsplit(':').next()?;
    let number = nic.strip_prefix("vmnic").filter(|number| !number.is_empty())?;
    if !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let (measure, factor) = match name.counter {
        "MBits Received/sec" => (Measure::Bytes(Flow::Read), MB / 8.0),
        "MBits Transmitted/sec" => (Measure::Bytes(Flow::Write), MB / 8.0),
        counter if counter.starts_with("Link Speed") => (Measure::Speed, MB / 8.0),
        _ => return None,
    };
    Some(Meaning::new(Place::new(HopKind::InitiatorPort, nic, name.host), measure, factor))
}
