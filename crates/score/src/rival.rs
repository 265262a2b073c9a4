//! Rivals: plausible models that a claim is held against, to see whether it could tell the model from them.
//!
//! A rival is the baseline, the model without one of its mechanisms, or the model with one unpublished parameter at an end
//! of its plausible range. A claim that all of them meet proves nothing about this model, whatever it says.

use crate::baseline::{NO_QUEUE_LIMIT, NO_TIME, NO_TIME_A_BYTE, PortRates, port_rate, set};
use crate::parameter::named;
use scenario::{Part, PartKind, Scenario, Workload};
use std::collections::BTreeSet;

/// A mechanism of the model, as the figures that it consists of.
pub struct Mechanism {
    /// What the model has without it: `frames and their overhead`.
    pub name: &'static str,
    /// The kinds of parts; all where there are none.
    kinds: &'static [PartKind],
    /// Figures, each with the value that takes its effect away; `None` where that is its absence.
    figures: &'static [(&'static str, Option<&'static str>)],
}

/// What can be taken out of the model, one at a time.
pub const MECHANISMS: &[Mechanism] = &[
    Mechanism { name: "gaps shrunk by the fabric", kinds: &[], figures: &[("fill_words", None)] },
    Mechanism {
        name: "limits of an adapter on its directions",
        kinds: &[PartKind::Hba, PartKind::Nic],
        figures: &[("duplex_rate", None), ("read_rate", None), ("write_rate", None)],
    },
    Mechanism {
        name: "limits of the array",
        kinds: &[PartKind::Array, PartKind::Tape],
        figures: &[
            ("iops_max", None),
            ("rate_max", None),
            ("read_rate", None),
            ("write_rate", None),
            ("backend_port_rate", None),
        ],
    },
    Mechanism {
        name: "transfer ready of writes",
        kinds: &[],
        figures: &[("transfer_ready_time", None)],
    },
    Mechanism {
        name: "time of an array's controllers",
        kinds: &[],
        figures: &[("controller_time_per_io", None)],
    },
    Mechanism {
        name: "the thread of an iSCSI session",
        kinds: &[],
        figures: &[
            ("session_time_per_io", None),
            ("session_time_per_packet", None),
            ("session_time_per_byte", None),
        ],
    },
    Mechanism {
        name: "interrupts on few cores",
        kinds: &[],
        figures: &[("interrupt_cores", None)],
    },
    Mechanism {
        name: "CPU time of hosts and guests",
        kinds: &[PartKind::Hypervisor, PartKind::VirtualScsi],
        figures: &[
            ("cpu_per_io", Some(NO_TIME)),
            ("host_cpu_per_io", None),
            ("program_cpu_per_io", None),
        ],
    },
    Mechanism {
        name: "CPU time of messages, packets and bytes",
        kinds: &[PartKind::Host, PartKind::Nic],
        figures: &[
            ("cpu_per_message", Some(NO_TIME)),
            ("cpu_per_packet", Some(NO_TIME)),
            ("cpu_per_packet_offload", Some(NO_TIME)),
            ("cpu_per_byte", Some(NO_TIME_A_BYTE)),
        ],
    },
    Mechanism {
        name: "CPU time of file systems",
        kinds: &[PartKind::Host],
        figures: &[("file_cpu_per_io", Some(NO_TIME)), ("file_cpu_per_byte", Some(NO_TIME_A_BYTE))],
    },
    Mechanism {
        name: "rings and interrupts of virtual adapters",
        kinds: &[PartKind::VirtualScsi],
        figures: &[("iops_max", None)],
    },
    Mechanism {
        name: "queue limits",
        kinds: &[],
        figures: &[
            ("adapter_queue", Some(NO_QUEUE_LIMIT)),
            ("disk_queue", Some(NO_QUEUE_LIMIT)),
            ("lun_queue", Some(NO_QUEUE_LIMIT)),
            ("software_iscsi_queue", Some(NO_QUEUE_LIMIT)),
        ],
    },
    Mechanism { name: "read-ahead", kinds: &[], figures: &[("read_ahead", None)] },
    Mechanism { name: "the array's cache", kinds: &[], figures: &[("cache", None)] },
];

/// What the model has without the frames of its wires: only their nominal rates.
pub const FRAMES: &str = "frames and their overhead";
/// What it has with blocks of a copy that are read and written at the same time.
pub const SERIES: &str = "copies in series";

/// The scenario without a mechanism; the same where it has none of it.
pub fn without(scenario: &Scenario, mechanism: &Mechanism) -> Scenario {
    let takes = |part: &Part| mechanism.kinds.is_empty() || mechanism.kinds.contains(&part.kind);
    let mut bare = changed(scenario, |part| {
        if !takes(part) {
            return;
        }
        for (name, neutral) in mechanism.figures {
            match neutral {
                Some(value) => set(part, name, value),
                None => part.figures.retain(|figure| figure.name != *name),
            }
        }
    });
    if mechanism.figures.iter().any(|(name, _)| *name == "cache") {
        bare.lab.arrays.iter_mut().for_each(|array| array.cache = None);
    }
    bare
}

/// The scenario with ports at their nominal rates, and no frames.
pub fn without_frames(scenario: &Scenario) -> Scenario {
    changed(scenario, |part| {
        for figure in part.figures.iter_mut().filter(|figure| figure.name == "port_rate") {
            figure.value = port_rate(&figure.value, PortRates::Nominal);
        }
    })
}

/// The scenario with two blocks of each copy under way where there was one.
pub fn without_series(scenario: &Scenario) -> Scenario {
    let mut bare = scenario.clone();
    for plan in &mut bare.plans {
        for load in &mut plan.loads {
            if let Workload::Copy(copy) = &mut load.workload
                && copy.depth == 1
            {
                copy.depth = 2;
            }
        }
    }
    bare
}

/// The scenario with its parts changed, those of the catalog among them.
fn changed(scenario: &Scenario, change: impl Fn(&mut Part)) -> Scenario {
    let mut bare = scenario.clone();
    let names: BTreeSet<&str> = named(&scenario.lab).into_iter().collect();
    let parts = names.into_iter().filter_map(|name| scenario.lab.part(name).cloned());
    let mut parts: Vec<Part> = parts.collect();
    parts.iter_mut().for_each(change);
    parts.append(&mut bare.lab.parts);
    bare.lab.parts = parts;
    bare
}
