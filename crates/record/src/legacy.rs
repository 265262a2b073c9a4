//! Interprets names in records of versions before 6, which do not store the kinds of hops, counters and producers.
//! Names are interpreted nowhere else.

use crate::counter::{CounterId, CounterKind, Meaning};
use crate::{Fact, HopKind, Producer, ProducerKind, Source, SourceKind, StepHead};
use std::collections::BTreeSet;

/// Agent name of sources written by a simulator or an estimator.
const SIMULATOR: &str = "simulator";

/// The producer of an old record: from its facts, or for the oldest simulations and estimates from its name.
pub(crate) fn producer(name: String, facts: &[Fact]) -> Producer {
    let says = |key: &str| facts.iter().any(|f| f.subject == "run" && f.key == key);
    let kind = match () {
        () if says("estimated") || name.contains("estimate") => ProducerKind::Estimated,
        () if says("simulated") || name.contains("simulate") => ProducerKind::Simulated,
        () => ProducerKind::Live,
    };
    Producer { kind, name }
}

/// Sets the kinds of the hops of an old record.
pub(crate) fn hops(sources: &mut [Source], steps: &[StepHead], producer: &Producer) {
    let pairs: BTreeSet<_> = steps.iter().flat_map(|s| s.streams.iter().map(|s| s.hop)).collect();
    let ends: BTreeSet<String> = sources
        .iter()
        .filter(|source| pairs.contains(&source.id))
        .flat_map(|pair| ["sender", "receiver"].map(|end| format!("{}/{end}", pair.group)))
        .collect();
    let simulated = producer.kind != ProducerKind::Live;
    let arrays: BTreeSet<String> = sources
        .iter()
        .filter(|source| matches!(source.kind, SourceKind::Hop(_)))
        .filter_map(|source| source.group.split_once('.').map(|(array, _)| array.to_owned()))
        .collect();
    for source in sources {
        let SourceKind::Hop(kind) = &mut source.kind else { continue };
        *kind = match () {
            () if pairs.contains(&source.id) => HopKind::NetworkPair,
            () if ends.contains(&source.group) => HopKind::NetworkHost,
            () if simulated || source.agent == SIMULATOR => simulated_hop(&source.name),
            () => live_hop(&source.group, &arrays),
        };
    }
}

/// A hop of a live run, by its name: a port or a volume of an embedded array, the array itself, or a block device,
/// whose kernel name has neither dot nor slash.
fn live_hop(plain: &str, arrays: &BTreeSet<String>) -> HopKind {
    match () {
        () if plain.contains('/') => HopKind::Volume,
        () if plain.contains('.') => HopKind::TargetPort,
        () if arrays.contains(plain) => HopKind::ArrayCpu,
        () => HopKind::BlockDevice,
    }
}

/// A hop of a simulated lab, by the naming rules of the scenario language.
fn simulated_hop(name: &str) -> HopKind {
    let last = name.rsplit('.').next().unwrap_or(name);
    match last.trim_end_matches(|c: char| c.is_ascii_digit()) {
        _ if !name.contains('.') => {}
        "cpu" => return HopKind::HostCpu,
        "scsi" => return HopKind::VirtualAdapter,
        "disk" => return HopKind::VirtualDisk,
        "datastore" => return HopKind::Datastore,
        "controller" => return HopKind::Controller,
        "cache" => return HopKind::Cache,
        "backend" => return HopKind::Backend,
        "disks" => return HopKind::Disks,
        "drive" => return HopKind::TapeDrive,
        _ => {}
    }
    match (name.find('.'), name.find('/')) {
        (Some(dot), Some(slash)) if dot < slash => HopKind::LunQueue,
        (None, Some(_)) => HopKind::Volume,
        (Some(_), _) if name.contains('-') => HopKind::Link,
        (Some(_), _) if name.contains(':') => HopKind::InitiatorPort,
        (Some(_), _) => HopKind::Adapter,
        (None, None) if name.contains('-') => HopKind::Link,
        (None, None) if name.contains(':') => HopKind::SwitchPort,
        (None, None) => HopKind::Other,
    }
}

/// The counter of a name in an old record, and the part of the source in that name.
pub(crate) fn counter(
    name: &str,
    unit: &str,
    source: Option<SourceKind>,
    producer: ProducerKind,
) -> (CounterKind, Option<String>) {
    let (name, part) = match name.split_once('/') {
        Some((name, part)) => (name, Some(part.to_owned())),
        None => (name, None),
    };
    let id = match (name, source) {
        ("queue", _) if producer == ProducerKind::Live => Some(CounterId::QueueDepthEnd),
        ("queue", _) => Some(CounterId::QueueDepthMean),
        ("busy", Some(SourceKind::Stream)) => Some(CounterId::TcpBusy),
        _ => CounterId::of(name),
    };
    let kind = match id.filter(|id| id.info().unit == unit) {
        Some(id) => CounterKind::Known(id),
        None => CounterKind::stored(name, unit, meaning(unit)),
    };
    (kind, part)
}

/// The meaning that earlier readers assumed for an unknown counter, by its unit.
fn meaning(unit: &str) -> Option<Meaning> {
    match unit {
        "B" | "1" => Some(Meaning::Count),
        "ns" => Some(Meaning::Time),
        "%" | "B/s" => Some(Meaning::Mean),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_a_device_whatever_its_name() {
        let arrays = BTreeSet::from(["store".to_owned()]);
        for name in ["dm-0", "nvme0n1", "md127", "sda-part:1", "vda"] {
            assert_eq!(live_hop(name, &arrays), HopKind::BlockDevice, "{name}");
        }
        assert_eq!(live_hop("store.p1", &arrays), HopKind::TargetPort);
        assert_eq!(live_hop("store/data", &arrays), HopKind::Volume);
        assert_eq!(live_hop("store", &arrays), HopKind::ArrayCpu);
    }

    #[test]
    fn a_simulated_hop_is_what_its_name_says() {
        for (name, kind) in [
            ("vm12.cpu", HopKind::HostCpu),
            ("vm1.scsi0", HopKind::VirtualAdapter),
            ("vm1.disk0", HopKind::VirtualDisk),
            ("esx.hba.ssd1/lun0", HopKind::LunQueue),
            ("ssd1/lun0.datastore", HopKind::Datastore),
            ("ssd1/lun0.disks", HopKind::Disks),
            ("ssd1.controller1", HopKind::Controller),
            ("vtl.drive0", HopKind::TapeDrive),
            ("esx.hba", HopKind::Adapter),
            ("esx.hba:0", HopKind::InitiatorPort),
            ("esx.hba:0-fabric", HopKind::Link),
            ("fabric:12", HopKind::SwitchPort),
            ("store/data", HopKind::Volume),
        ] {
            assert_eq!(simulated_hop(name), kind, "{name}");
        }
    }

    #[test]
    fn a_queue_was_a_level_live_and_a_mean_simulated() {
        let queue = |producer| counter("queue", "1", None, producer).0.id();
        assert_eq!(queue(ProducerKind::Live), Some(CounterId::QueueDepthEnd));
        assert_eq!(queue(ProducerKind::Simulated), Some(CounterId::QueueDepthMean));
        assert_eq!(queue(ProducerKind::Estimated), Some(CounterId::QueueDepthMean));
        let (kind, part) = counter("thread-cpu/up-send-1", "ns", None, ProducerKind::Live);
        assert_eq!((kind.id(), part.as_deref()), (Some(CounterId::ThreadCpu), Some("up-send-1")));
    }
}
