//! Defaults for the figures that a part lacks: the same values and reasons that become assumptions of a plant, for
//! commands that explain a part.

use super::defaults::{self, DISK, Given};
use super::front::defaults::{self as front, FigureDefault};
use scenario::{Medium, Part, PartKind};

/// A figure that a part lacks, with its default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartDefault {
    /// The figure.
    pub figure: &'static str,
    /// The value with its unit; `no limit` where a missing figure means no limit.
    pub value: String,
    /// Why this value.
    pub reason: &'static str,
}

/// Defaults for the figures that a part lacks, as far as they do not depend on the lab.
pub fn part_defaults(part: &Part) -> Vec<PartDefault> {
    let mut all = match part.kind {
        PartKind::Host => vec![of(&front::CORES)],
        PartKind::Hypervisor => vec![
            of(&front::HYPERVISOR_IO),
            of(&front::HOST_BYTE),
            of(&front::LOCK),
            of(&front::SOFTWARE_QUEUE),
        ],
        PartKind::VirtualScsi => vec![
            of(&front::ADAPTER_QUEUE),
            of(&front::DISK_QUEUE),
            of(&front::GUEST_IO),
            none("iops_max"),
        ],
        PartKind::Hba => {
            let limits = ["port_rate", "iops_max", "throttle", "duplex_rate", "bus"].map(none);
            [of(&front::LUN_QUEUE), of(&front::CREDITS)].into_iter().chain(limits).collect()
        }
        PartKind::Nic => {
            let limits = ["port_rate", "iops_max", "duplex_rate", "bus"].map(none);
            let times = [
                of(&front::LUN_QUEUE),
                of(&front::PACKET),
                of(&front::PACKET_OFFLOAD),
                of(&front::TCP_BYTE),
            ];
            times.into_iter().chain(limits).collect()
        }
        PartKind::Switch => vec![of(&front::SWITCH), none("port_rate")],
        PartKind::Array => of_array(part),
        PartKind::Disk => of_disk(part),
        PartKind::Tape => vec![given(defaults::tape_rate())],
    };
    // Cores of a host follow from its processors where only these are given.
    let derived = |figure: &str| figure == "cores" && part.figure("processors").is_some();
    all.retain(|one| part.figure(one.figure).is_none() && !derived(one.figure));
    all
}

fn of_array(part: &Part) -> Vec<PartDefault> {
    let medium = match part.word("media") {
        None | Some("ram") => Medium::Ram,
        Some(_) => Medium::Ssd,
    };
    let always = [
        given(defaults::medium()),
        given(defaults::array_latency(&medium)),
        given(defaults::controller_time()),
    ];
    let cached = [
        given(defaults::cache_hit_time()),
        given(defaults::write_back()),
        given(defaults::cache_mirrored()),
    ];
    let cached = cached.into_iter().filter(|_| part.figure("cache").is_some());
    always.into_iter().chain(cached).collect()
}

/// A part with the latency of an SSD is one; every other disk rotates.
fn of_disk(part: &Part) -> Vec<PartDefault> {
    if ["read_latency", "write_latency", "channels"].iter().any(|name| part.figure(name).is_some())
    {
        let rates = ["read_rate", "write_rate"].map(|name| given(defaults::ssd_rate(name)));
        let times = ["read_latency", "write_latency"].map(|name| given(defaults::ssd_time(name)));
        return times.into_iter().chain(rates).chain([given(defaults::ssd_channels())]).collect();
    }
    vec![
        given(defaults::disk_time("seek_mean", DISK.seek)),
        given(defaults::disk_time("rotation_half", DISK.half_turn)),
        given(defaults::disk_rate("rate_outer", DISK.rate_outer)),
        given(defaults::disk_rate("rate_inner", DISK.rate_inner)),
        given(defaults::disk_size()),
        given(defaults::disk_queue()),
        given(defaults::disk_reorder()),
    ]
}

fn given<T>(of: Given<T>) -> PartDefault {
    let (figure, value, reason) = of.assumption();
    PartDefault { figure, value, reason }
}

fn of<T: Copy>(of: &FigureDefault<T>) -> PartDefault {
    let (figure, value, reason) = of.assumption();
    PartDefault { figure, value: value.to_owned(), reason }
}

fn none(figure: &'static str) -> PartDefault {
    PartDefault { figure, value: "no limit".to_owned(), reason: front::UNLIMITED }
}
