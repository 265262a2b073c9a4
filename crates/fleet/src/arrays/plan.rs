//! Derives the orders to array agents from a scenario's embedded arrays: before the first step, and for each.

use super::{
    ArrayAccess, ArrayLimit, ArrayPortSpeed, ArraySpec, ArrayStep, ArrayVolume, FaultSpec,
    PortFault, PortSpec, PortStep, TapeSpec, port_hop,
};
use crate::assign::AssignError;
use crate::message::BATCH_MAX;
use clock::Ns;
use record::{Lever, Proof};
use scenario::{Array, Embedded, EmbeddedPort, Fault, FaultAction, LinkRate, Scenario, Step};
use std::io;
use std::time::Duration;

/// Bytes of a volume's logical block where the scenario says nothing.
const BLOCK: u32 = 512;

/// Bytes of chance in a serial number: 30 digits.
const CHANCE: usize = 15;

/// The embedded arrays of a scenario, in its order.
fn embedded(scenario: &Scenario) -> impl Iterator<Item = (&Array, &Embedded)> {
    scenario.lab.arrays.iter().filter_map(|array| Some((array, array.embedded.as_ref()?)))
}

/// A random unit serial number.
pub(crate) fn draw_serial() -> io::Result<String> {
    let mut chance = [0; CHANCE];
    clock::unpredictable(&mut chance)?;
    let digits: String = chance.iter().map(|byte| format!("{byte:02X}")).collect();
    Ok(format!("WS{digits}"))
}

/// What is to be served, whose volumes have these serial numbers: as many as are asked for.
pub(crate) fn specs<E: From<AssignError>>(
    scenario: &Scenario,
    access: Option<&ArrayAccess>,
    mut serial: impl FnMut() -> Result<String, E>,
) -> Result<Vec<ArraySpec>, E> {
    embedded(scenario)
        .map(|(array, embedded)| {
            let spec = spec(scenario, array, embedded, &mut serial)?;
            Ok(ArraySpec { access: access.cloned(), ..spec })
        })
        .collect()
}

fn spec<E: From<AssignError>>(
    scenario: &Scenario,
    array: &Array,
    embedded: &Embedded,
    serial: &mut impl FnMut() -> Result<String, E>,
) -> Result<ArraySpec, E> {
    let port = |port: &EmbeddedPort| PortSpec {
        name: port.name.clone(),
        speed: port.rate.map(|rate| ArrayPortSpeed {
            bytes_per_s: scaled(embedded, rate),
            name: rate.to_string(),
        }),
    };
    let name = array.name.clone();
    let volumes = scenario.lab.volumes.iter().filter(|volume| volume.array == name);
    let volumes = volumes.map(|volume| {
        Ok(ArrayVolume {
            name: volume.name.clone(),
            size: volume.size.map_or(0, |size| size.0),
            block: volume.block.unwrap_or(BLOCK),
            thin: volume.thin,
            serial: serial()?,
        })
    });
    let volumes = volumes.collect::<Result<Vec<_>, E>>()?;
    if volumes.is_empty() {
        return Err(AssignError::NoVolume { array: name }.into());
    }
    // The process is a hop as well.
    let hops = 1 + embedded.ports.len() + volumes.len();
    if hops > BATCH_MAX {
        return Err(AssignError::TooManyHops { array: name, most: BATCH_MAX - 1 }.into());
    }
    Ok(ArraySpec {
        limits: limits(scenario, array, embedded),
        library: scenario.lab.is_library(&name).then(|| tape(scenario, array)),
        name,
        threads: embedded.threads.unwrap_or(0),
        scale: embedded.scale.to_string(),
        ports: embedded.ports.iter().map(port).collect(),
        volumes,
        access: None,
    })
}

/// The drives of a tape library.
fn tape(scenario: &Scenario, array: &Array) -> TapeSpec {
    let part = array.part.as_deref().and_then(|part| scenario.lab.part(part));
    let rate = part.and_then(|part| part.byte_rate("drive_rate"));
    TapeSpec { bytes_per_s: rate.map(|rate| rate.0.round() as u64) }
}

/// What an array is held to beside the speeds of its ports.
fn limits(scenario: &Scenario, array: &Array, embedded: &Embedded) -> Vec<ArrayLimit> {
    let limit = |hop: &str, lever, value: f64| ArrayLimit { hop: hop.to_owned(), lever, value };
    let delay = |hop: &str, time: Duration| {
        (time > Duration::ZERO).then(|| limit(hop, Lever::Latency, time.as_nanos() as f64))
    };
    let cpu = embedded.cpu.filter(|cpu| cpu.0 < 100.0);
    let mut all: Vec<ArrayLimit> =
        cpu.map(|cpu| limit(&array.name, Lever::Cpu, cpu.fraction())).into_iter().collect();
    for port in &embedded.ports {
        all.extend(delay(&port_hop(&array.name, &port.name), port.latency));
    }
    for volume in scenario.lab.volumes.iter().filter(|volume| volume.array == array.name) {
        let hop = scenario.lab.volume_hop(&array.name, &volume.name);
        all.extend(volume.rate.map(|rate| limit(&hop, Lever::Rate, rate.0)));
        all.extend(volume.iops.map(|iops| limit(&hop, Lever::Ops, iops.0)));
        all.extend(delay(&hop, volume.latency));
    }
    all
}

/// What a step asks of all embedded arrays; `None` where there are none.
pub(crate) fn step(scenario: &Scenario, step: &Step, proof: Option<&Proof>) -> Option<ArrayStep> {
    let ports: Vec<PortStep> = embedded(scenario)
        .flat_map(|(array, embedded)| {
            embedded.ports.iter().map(move |port| port_step(array, embedded, port, step))
        })
        .collect();
    (!ports.is_empty()).then(|| ArrayStep {
        index: step.index,
        warmup: step.warmup_max().into(),
        measure: step.measure.into(),
        cooldown: proof.map_or(Ns::ZERO, Proof::length).plus(step.cooldown.into()),
        ports,
        proof: proof.cloned(),
    })
}

fn port_step(array: &Array, embedded: &Embedded, port: &EmbeddedPort, step: &Step) -> PortStep {
    let mine = |fault: &&Fault| (&fault.array, &fault.port) == (&array.name, &port.name);
    PortStep {
        array: array.name.clone(),
        port: port.name.clone(),
        bytes_per_s: embedded.rate(port, step).map(|rate| scaled(embedded, rate)),
        faults: step.faults.iter().filter(mine).map(|fault| fault_spec(embedded, fault)).collect(),
    }
}

fn fault_spec(embedded: &Embedded, fault: &Fault) -> FaultSpec {
    let action = match fault.action {
        FaultAction::Kill => PortFault::Kill,
        FaultAction::Revive => PortFault::Revive,
        FaultAction::Slow(rate) => PortFault::Slow { bytes_per_s: scaled(embedded, rate) },
        FaultAction::Busy => PortFault::Busy,
        FaultAction::Ready => PortFault::Ready,
    };
    FaultSpec { at: Ns::from(fault.at), action }
}

/// Whole bytes a second.
fn scaled(embedded: &Embedded, rate: LinkRate) -> u64 {
    embedded.scaled(rate).0.round() as u64
}
