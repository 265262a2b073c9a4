//! The arrays that an agent serves: their ports by name, set for a step, restored after it, and sampled as hops.

use super::{
    ArrayLimit, ArrayPart, ArrayServer, ArraySpec, ArrayTraffic, ArrayVolume, PortFault, PortOrder,
    PortSpec, Portals, ServedArray, port_hop,
};
use crate::sampling::{HopReading, Sample, SampledHop, Sampler, SamplerNews};
use engine::{EngineError, StepSpec};
use record::{CounterId, Fact, HopKind, Level, Lever};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread::available_parallelism;

/// The lifetime of ports and volumes, for the record: port addresses do not distinguish runs.
const LIFETIME: &str = "this run";

/// The arrays of an agent.
pub(crate) struct ServedArrays {
    arrays: Vec<ServedEntry>,
    /// Ports by array and name, with their places among the hops.
    ports: BTreeMap<(String, String), ServedPortId>,
    /// Parts by the names of their hops, with the numbers of their arrays.
    parts: BTreeMap<String, (usize, ArrayPart)>,
}

struct ServedEntry {
    spec: ArraySpec,
    array: Box<dyn ServedArray>,
}

/// A port: which array, which of its ports, and which hop it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ServedPortId {
    array: usize,
    port: usize,
    /// Its place in [`ServedArrays::hops`].
    pub hop: usize,
}

impl ServedArrays {
    /// Makes and serves arrays; if one fails, the others are dropped.
    pub fn serve(
        server: &mut dyn ArrayServer,
        specs: Vec<ArraySpec>,
    ) -> Result<ServedArrays, EngineError> {
        let mut served = ServedArrays {
            arrays: Vec::with_capacity(specs.len()),
            ports: BTreeMap::new(),
            parts: BTreeMap::new(),
        };
        let mut hop = 0;
        for spec in specs {
            let array = server.serve(&spec)?;
            if array.addresses().len() != spec.ports.len() {
                return Err(EngineError::Unsupported(format!(
                    "the array `{}` was served with {} ports, where {} were asked for",
                    spec.name,
                    array.addresses().len(),
                    spec.ports.len()
                )));
            }
            hop += usize::from(counts_itself(&spec, &*array));
            for (number, port) in spec.ports.iter().enumerate() {
                let key = (spec.name.clone(), port.name.clone());
                let port = ServedPortId { array: served.arrays.len(), port: number, hop };
                served.ports.insert(key, port);
                hop += 1;
            }
            hop += spec.volumes.len();
            let number = served.arrays.len();
            served.parts.extend(parts(&spec).map(|(hop, part)| (hop, (number, part))));
            served.arrays.push(ServedEntry { spec, array });
        }
        Ok(served)
    }

    /// Where the arrays are served.
    pub fn portals(&self) -> Vec<Portals> {
        let of = |entry: &ServedEntry| Portals {
            array: entry.spec.name.clone(),
            target: entry.array.target(),
            addresses: entry.array.addresses(),
        };
        self.arrays.iter().map(of).collect()
    }

    /// A port by its array's name and its own.
    pub fn port(&self, array: &str, port: &str) -> Result<ServedPortId, EngineError> {
        let key = (array.to_owned(), port.to_owned());
        self.ports.get(&key).copied().ok_or_else(|| {
            EngineError::Unsupported(format!(
                "`{}` is no port of an array that is served here",
                port_hop(array, port)
            ))
        })
    }

    fn array(&self, port: ServedPortId) -> &dyn ServedArray {
        &*self.arrays[port.array].array
    }

    /// Applies a fault to a port.
    pub fn do_to(&self, port: ServedPortId, action: PortFault) -> Result<(), EngineError> {
        let (array, number) = (self.array(port), port.port);
        match action {
            PortFault::Kill => array.kill(number),
            PortFault::Revive => return self.revive(port),
            PortFault::Slow { bytes_per_s } => array.set_speed(number, Some(bytes_per_s)),
            PortFault::Busy => array.set_busy(number, true),
            PortFault::Ready => array.set_busy(number, false),
        }
        Ok(())
    }

    fn revive(&self, port: ServedPortId) -> Result<(), EngineError> {
        let entry = &self.arrays[port.array];
        entry.array.revive(port.port).map_err(|problem| EngineError::Target {
            target: port_hop(&entry.spec.name, &entry.spec.ports[port.port].name),
            problem: format!("the port cannot be brought back: {problem}"),
        })
    }

    /// What the parts of the arrays are held to while a step runs: those with limits, and all processors.
    pub fn limits(&self) -> impl Iterator<Item = ArrayLimit> {
        let of = |entry: &ServedEntry| {
            let cpu = ArrayLimit { hop: entry.spec.name.clone(), lever: Lever::Cpu, value: 1.0 };
            // What the specification says of processors replaces the whole of them.
            [cpu].into_iter().chain(entry.spec.limits.clone())
        };
        self.arrays.iter().flat_map(of)
    }

    /// Holds every part that has a limit to it.
    pub fn hold(&self) {
        let limits = self.arrays.iter().flat_map(|entry| &entry.spec.limits);
        limits.for_each(|of| self.limit(&of.hop, of.lever, Some(of.value)));
    }

    /// Holds a part to a limit; `None`: to nothing. One of another agent's arrays is left alone.
    pub fn limit(&self, hop: &str, lever: Lever, value: Option<f64>) {
        if let Some((array, part)) = self.parts.get(hop) {
            self.arrays[*array].array.limit(*part, lever, value);
        }
    }

    /// Makes every port reachable, ready and unlimited, and every other part unlimited. Tries all of them, even if one
    /// cannot be brought back.
    pub fn heal(&self) -> Result<(), EngineError> {
        let mut healed = Ok(());
        self.limits().for_each(|of| self.limit(&of.hop, of.lever, None));
        for port in self.ports.values() {
            let array = self.array(*port);
            array.set_busy(port.port, false);
            array.set_speed(port.port, None);
            healed = healed.and(self.revive(*port));
        }
        healed
    }

    /// Gives a port its speed in a step; `None`: as fast as it goes.
    pub fn set_speed(&self, port: ServedPortId, bytes_per_s: Option<u64>) {
        self.array(port).set_speed(port.port, bytes_per_s);
    }

    /// The hops, array by array: its process where that is counted, then ports, then volumes.
    pub fn hops(&self) -> Vec<SampledHop> {
        self.arrays.iter().flat_map(hops_of).collect()
    }

    /// Facts of the arrays.
    pub fn facts(&self) -> Vec<Fact> {
        let of = |entry: &ServedEntry| {
            let pairs = [
                ("target", entry.array.target()),
                ("threads", threads(&entry.spec).to_string()),
                ("scale", entry.spec.scale.clone()),
            ];
            let subject = entry.spec.name.clone();
            pairs.map(|(key, value)| Fact { subject: subject.clone(), key: key.to_owned(), value })
        };
        self.arrays.iter().flat_map(of).collect()
    }
}

/// The parts of an array, by the names of their hops.
fn parts(spec: &ArraySpec) -> impl Iterator<Item = (String, ArrayPart)> {
    let port =
        |(n, port): (usize, &PortSpec)| (port_hop(&spec.name, &port.name), ArrayPart::Port(n));
    let volume = |(n, of): (usize, &ArrayVolume)| (spec.hop_of(of), ArrayPart::Volume(n));
    let ports = spec.ports.iter().enumerate().map(port);
    let volumes = spec.volumes.iter().enumerate().map(volume);
    let parts: Vec<_> = ports.chain(volumes).collect();
    [(spec.name.clone(), ArrayPart::Threads)].into_iter().chain(parts)
}

fn hops_of(entry: &ServedEntry) -> Vec<SampledHop> {
    let ServedEntry { spec, array } = entry;
    let hop = |name, kind, facts: Vec<(&str, String)>| SampledHop {
        name,
        kind,
        facts: facts.into_iter().map(|(key, value)| (key.to_owned(), value)).collect(),
    };
    let process = counts_itself(spec, &**array)
        .then(|| hop(spec.name.clone(), HopKind::ArrayCpu, Vec::new()));
    let addresses = array.addresses();
    let ports = spec.ports.iter().zip(addresses).map(|(port, address)| {
        let mut facts = vec![
            ("portal", address.to_string()),
            ("lifetime", LIFETIME.to_owned()),
            ("scale", spec.scale.clone()),
        ];
        if let Some(speed) = &port.speed {
            facts.push(("rate", format!("{} B/s", speed.bytes_per_s)));
            facts.push(("rate-name", speed.name.clone()));
        }
        hop(port_hop(&spec.name, &port.name), HopKind::TargetPort, facts)
    });
    let volumes = spec.volumes.iter().enumerate().map(|(lun, volume)| {
        let facts = vec![
            ("lun", (lun + usize::from(spec.library.is_some())).to_string()),
            ("size", format!("{} B", volume.size)),
            ("held-in", "memory".to_owned()),
            ("lifetime", LIFETIME.to_owned()),
        ];
        match spec.library {
            Some(drives) => {
                let rate = drives.bytes_per_s.map(|rate| ("rate", format!("{rate} B/s")));
                let facts = facts.into_iter().chain(rate).collect();
                hop(spec.hop_of(volume), HopKind::TapeDrive, facts)
            }
            None => hop(spec.hop_of(volume), HopKind::Volume, facts),
        }
    });
    process.into_iter().chain(ports).chain(volumes).collect()
}

/// Samples the hops of served arrays.
pub(crate) struct ArraySampler(pub Arc<ServedArrays>);

impl Sampler for ArraySampler {
    fn hops(&mut self, _: &StepSpec) -> Vec<SampledHop> {
        self.0.hops()
    }

    fn sample(&mut self) -> Vec<Sample> {
        self.0.arrays.iter().flat_map(samples_of).collect()
    }

    fn news(&mut self) -> Vec<SamplerNews> {
        self.0.arrays.iter().flat_map(orders_of).collect()
    }
}

/// What the user has told an array by hand.
fn orders_of(entry: &ServedEntry) -> Vec<SamplerNews> {
    let news = |order: PortOrder| {
        let port = entry.spec.ports.get(order.port)?;
        let (code, what) = match order.stopped {
            true => (
                "port-stopped",
                "stopped: it accepts no connections, and those that it had were closed",
            ),
            false => ("port-started", "started again: it accepts connections"),
        };
        let hop = port_hop(&entry.spec.name, &port.name);
        let text = format!("{hop} was {what} (`wirespeed target`, by hand)");
        Some(SamplerNews { at: order.at, level: Level::Warning, code: code.to_owned(), text })
    };
    entry.array.orders().into_iter().filter_map(news).collect()
}

fn samples_of(entry: &ServedEntry) -> Vec<Sample> {
    let ServedEntry { spec, array } = entry;
    let sample = |readings| Sample { at: clock::now(), readings };
    let process = counts_itself(spec, &**array).then(|| {
        let mut readings = array.process().unwrap_or_default();
        readings.extend(quota(spec, &**array));
        sample(readings)
    });
    let ports = (0..spec.ports.len()).map(|port| {
        let traffic = array.port(port);
        let mut readings = readings(traffic);
        readings.push(reading(CounterId::Connections, traffic.connections as f64));
        // A port without a speed has no number to give.
        let speed = array.speed(port).map_or(f64::NAN, |speed| speed as f64);
        readings.push(reading(CounterId::PortRate, speed));
        sample(readings)
    });
    let volumes = spec.volumes.iter().enumerate().map(|(lun, volume)| {
        let mut readings = readings(array.volume(lun));
        let hop = spec.hop_of(volume);
        let limit = |lever| spec.limits.iter().find(|of| of.hop == hop && of.lever == lever);
        let rate = |counter, lever| Some(reading(counter, limit(lever)?.value));
        readings.extend(rate(CounterId::BothRate, Lever::Rate));
        let drive = spec.library.and_then(|drives| drives.bytes_per_s);
        readings.extend(drive.map(|rate| reading(CounterId::BothRate, rate as f64)));
        readings.extend(rate(CounterId::OpsRate, Lever::Ops));
        sample(readings)
    });
    process.into_iter().chain(ports).chain(volumes).collect()
}

/// Whether an array is a hop itself: its process serves nothing else, or its threads have a share of a processor.
fn counts_itself(spec: &ArraySpec, array: &dyn ServedArray) -> bool {
    array.process().is_some() || cpu_share(spec).is_some()
}

/// The share of a processor that each thread of an array may use, where it has one.
fn cpu_share(spec: &ArraySpec) -> Option<f64> {
    Some(spec.limits.iter().find(|of| of.hop == spec.name && of.lever == Lever::Cpu)?.value)
}

/// How far the threads of an array are held to their share.
fn quota(spec: &ArraySpec, array: &dyn ServedArray) -> Vec<HopReading> {
    let Some(share) = cpu_share(spec) else { return Vec::new() };
    vec![
        reading(CounterId::CpuQuota, share * threads(spec) as f64),
        reading(CounterId::CpuThrottled, array.rested().0 as f64),
    ]
}

/// How many threads serve an array: one a processor where nothing is said, as the server starts them.
fn threads(spec: &ArraySpec) -> usize {
    match spec.threads {
        0 => available_parallelism().map_or(1, usize::from),
        threads => threads as usize,
    }
}

fn readings(traffic: ArrayTraffic) -> Vec<HopReading> {
    vec![
        reading(CounterId::ReadOps, traffic.read_ops as f64),
        reading(CounterId::ReadBytes, traffic.read_bytes as f64),
        reading(CounterId::WriteOps, traffic.write_ops as f64),
        reading(CounterId::WriteBytes, traffic.write_bytes as f64),
        reading(CounterId::QueueDepthEnd, traffic.queue as f64),
    ]
}

fn reading(counter: CounterId, value: f64) -> HopReading {
    HopReading { counter, value }
}
