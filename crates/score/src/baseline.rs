//! The baseline that a model must beat: nominal line rates, and what data sheets say besides, on the same lab.
//!
//! It is the lab with every port at the rate of its name (an 8Gb port of Fibre Channel carries 800 MB/s, 10Gb Ethernet
//! 1,250), with the limits that sources state, and without anything that a model adds: frames, software, queues, caches,
//! media. It is what a reader with the data sheets at hand would expect. [`PortRates::Ceiling`] takes instead the most that
//! frames leave of a port's line rate, which nothing measured can exceed.

use crate::parameter::named;
use crate::rival::without_series;
use scenario::{Figure, FigureKind, Medium, Part, PartKind, Scenario, figures_of};
use std::collections::BTreeSet;
use units::LinkRate;

/// A time that is none beside any of a lab: figures have no zero.
pub const NO_TIME: &str = "1 ns";
/// The same for each byte.
pub const NO_TIME_A_BYTE: &str = "0.000001 ns/B";
/// The longest queue that a figure may state.
pub const NO_QUEUE_LIMIT: &str = "65535";

/// The part of a host without a hypervisor.
const BARE: &str = "no-hypervisor";
/// More processors than any VM of a lab needs.
const MANY_PROCESSORS: u32 = 1024;
/// Payload of a full frame of Fibre Channel, and the same with its header, checks and the two words that must follow it.
const FC_SHARE: f64 = 2112.0 / 2156.0;
/// Payload of the largest frame of Ethernet in use, and all that it takes on the wire.
const ETHERNET_SHARE: f64 = 8960.0 / 9038.0;

/// What a port carries in a baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PortRates {
    /// The rate in its name.
    Nominal,
    /// The most that frames leave.
    Ceiling,
}

/// The scenario as data sheets describe it.
pub fn baseline(scenario: &Scenario, rates: PortRates) -> Scenario {
    let mut bare = without_series(scenario);
    let lab = &mut bare.lab;
    for host in &mut lab.hosts {
        host.hypervisor.get_or_insert_with(|| BARE.to_owned());
        host.disks.iter_mut().for_each(|disk| disk.queue = None);
    }
    for vm in &mut lab.vms {
        vm.vcpus = Some(MANY_PROCESSORS);
        vm.disks.iter_mut().for_each(|disk| disk.queue = None);
    }
    for array in &mut lab.arrays {
        (array.cache, array.hit_share, array.media) = (None, None, Some(Medium::Ram));
    }
    for volume in &mut lab.volumes {
        (volume.raid, volume.disks, volume.luns) = (None, None, None);
        (volume.media, volume.cache, volume.hit_share) = (None, None, None);
    }
    for link in &mut lab.links {
        (link.length_m, link.credits) = (None, None);
    }
    let names: BTreeSet<&str> = named(&scenario.lab).into_iter().collect();
    let known = names.into_iter().filter_map(|name| scenario.lab.part(name));
    let stripped = known.map(|part| stripped(part, rates));
    let mut parts: Vec<Part> = stripped.collect();
    let none = Part {
        name: BARE.to_owned(),
        kind: PartKind::Hypervisor,
        model: None,
        like: None,
        figures: Vec::new(),
    };
    parts.push(stripped_of(none, rates));
    parts.append(&mut bare.lab.parts);
    bare.lab.parts = parts;
    bare
}

fn stripped(part: &Part, rates: PortRates) -> Part {
    stripped_of(part.clone(), rates)
}

/// A part with what sources say of it, and without anything that a model adds.
fn stripped_of(mut part: Part, rates: PortRates) -> Part {
    let sourced = |figure: &Figure| {
        matches!(figure.kind, FigureKind::DataSheet | FigureKind::Published | FigureKind::Standard)
    };
    part.figures.retain(|figure| sourced(figure) && !MODELLED.contains(&figure.name.as_str()));
    for figure in &mut part.figures {
        if figure.name.ends_with("port_rate") || figure.name == "stacking_rate" {
            figure.value = port_rate(&figure.value, rates);
        }
    }
    for (name, value) in NEUTRAL {
        set(&mut part, name, value);
    }
    if part.kind == PartKind::Array {
        set(&mut part, "media", "ram");
    }
    if part.kind == PartKind::Tape && part.figure("drive_rate").is_none() {
        set(&mut part, "drive_rate", "1 TB/s");
    }
    part
}

/// Figures of the model, of any source.
const MODELLED: &[&str] = &["cache", "hit_share", "fill_words", "guests_share_cores"];

/// Figures without effect.
const NEUTRAL: &[(&str, &str)] = &[
    ("cpu_per_io", NO_TIME),
    ("cpu_per_message", NO_TIME),
    ("cpu_per_packet", NO_TIME),
    ("cpu_per_packet_offload", NO_TIME),
    ("cpu_per_byte", NO_TIME_A_BYTE),
    ("cpu_per_byte_apart", NO_TIME_A_BYTE),
    ("file_cpu_per_io", NO_TIME),
    ("file_cpu_per_byte", NO_TIME_A_BYTE),
    ("latency", NO_TIME),
    ("adapter_queue", NO_QUEUE_LIMIT),
    ("disk_queue", NO_QUEUE_LIMIT),
    ("lun_queue", NO_QUEUE_LIMIT),
    ("software_iscsi_queue", NO_QUEUE_LIMIT),
];

/// Gives a part a figure, where its kind has such a figure.
pub fn set(part: &mut Part, name: &str, value: &str) {
    if !figures_of(part.kind).iter().any(|def| def.name == name) {
        return;
    }
    part.figures.retain(|figure| figure.name != name);
    part.figures.push(Figure {
        name: name.to_owned(),
        value: value.to_owned(),
        source: "a rival of the model".to_owned(),
        kind: FigureKind::Assumed,
        claim: None,
        interval: None,
    });
}

/// The rate of a port as data, without frames; a text that is none is kept.
pub fn port_rate(text: &str, rates: PortRates) -> String {
    let Ok(LinkRate::Standard(standard)) = LinkRate::parse(text) else { return text.to_owned() };
    let name = standard.name();
    let digits: String = name.chars().take_while(char::is_ascii_digit).collect();
    let gigabits: f64 = digits.parse().unwrap_or(1.0);
    let fibre = name.ends_with("gfc");
    let line = LinkRate::parse(text).ok().and_then(LinkRate::line).map_or(0.0, |line| line.0);
    let bytes = match (rates, fibre) {
        (PortRates::Nominal, true) => gigabits * 100e6,
        (PortRates::Nominal, false) => gigabits * 125e6,
        (PortRates::Ceiling, true) => line * FC_SHARE,
        (PortRates::Ceiling, false) => line * ETHERNET_SHARE,
    };
    format!("{} B/s", bytes.round())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_carry_what_their_names_say() {
        for (name, nominal) in [
            ("4gfc", 400e6),
            ("8gfc", 800e6),
            ("16gfc", 1600e6),
            ("10gbe", 1250e6),
            ("1gbe", 125e6),
        ] {
            let rate = LinkRate::parse(&port_rate(name, PortRates::Nominal)).expect("a rate");
            assert_eq!(rate.payload().0, nominal, "{name}");
        }
        // 425 MB/s × 2,112 / 2,156 = 397.04 MiB/s.
        let most = LinkRate::parse(&port_rate("4gfc", PortRates::Ceiling)).expect("a rate");
        assert!((most.payload().0 / 1_048_576.0 - 397.04).abs() < 0.01, "{most:?}");
        assert_eq!(port_rate("650 MB/s", PortRates::Nominal), "650 MB/s");
    }
}
