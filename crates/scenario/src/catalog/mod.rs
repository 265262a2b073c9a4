//! The catalog: models of hardware with their figures, embedded from `catalog/*.toml`.
//!
//! Its files are written in the scenario's own language (`[[part]]`) and read by the same decoder.

mod like;
mod shelf;
mod text;
mod users;

pub use shelf::{Shelf, Shelved};
pub use users::Used;
pub(crate) use users::{UserCatalogs, kept};

use crate::build::place;
use crate::datum::Decoded;
use crate::decode;
use crate::diagnostics::{Mistake, Origin, Sink, Span};
use crate::fields::CATALOG;
use crate::figures;
use crate::model::{Figure, FigureKind, Part, PartKind};
use crate::tree::{self, clip};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// A file of the catalog, embedded.
macro_rules! file {
    ($name:literal) => {
        ($name, include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/", $name)))
    };
}

/// The catalog's files by name: parts of the labs, then current ones.
const FILES: &[(&str, &str)] = &[
    file!("adapters.toml"),
    file!("arrays.toml"),
    file!("disks.toml"),
    file!("hosts.toml"),
    file!("switches.toml"),
    file!("labs.toml"),
    file!("local.toml"),
    file!("current-fc.toml"),
    file!("current-ethernet.toml"),
    file!("current-hosts.toml"),
    file!("current-drives.toml"),
    file!("current-arrays.toml"),
];

/// Every part of the catalog, by file and then in the order of the file.
pub fn catalog() -> &'static [Part] {
    static PARTS: LazyLock<Vec<Part>> = LazyLock::new(|| read(FILES, &mut Sink::default()));
    &PARTS
}

/// The parts of files that may be like each other's.
fn read(files: &[(&str, &str)], sink: &mut Sink) -> Vec<Part> {
    let at = Span::new(Origin::File, 0..0);
    let root = |(_, text): &(&str, &str)| {
        let table = tree::parse(text, sink);
        decode::record(&table, at, &CATALOG, CATALOG.title, sink)
    };
    let roots: Vec<Decoded> = files.iter().map(root).collect();
    let records: Vec<&Decoded> = roots.iter().flat_map(|root| root.records("part")).collect();
    parts_of(&records, &[], sink)
}

/// Decoded `[[part]]`s, each with the figures of the one that it is like, which is one of them or of the others.
pub(crate) fn parts_of(records: &[&Decoded], others: &[&[Part]], sink: &mut Sink) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::with_capacity(records.len());
    let mut places = BTreeMap::new();
    for record in records {
        let part = part(record);
        let at = place(record, "name");
        if let Some(first) = places.insert(part.name.clone(), at).filter(|_| record.has("name")) {
            sink.push(|| {
                Mistake::new(at, format!("the part `{}` is given twice", clip(&part.name)))
                    .label("the second")
                    .related(first, "first given here")
            });
        }
        parts.push(part);
    }
    like::likened(records, &mut parts, others, sink);
    for (record, part) in records.iter().zip(&parts) {
        check(record, part.kind, sink);
    }
    parts
}

fn part(record: &Decoded) -> Part {
    let text = |record: &Decoded, key| record.text(key).map(|at| at.value);
    Part {
        name: text(record, "name").unwrap_or_default(),
        kind: record.word("kind").map_or(PartKind::Host, |at| part_kind(at.value)),
        model: text(record, "model"),
        like: text(record, "like"),
        figures: figures(record),
    }
}

/// Reports the figures that a part of this kind cannot have, and those that it has twice.
fn check(record: &Decoded, kind: PartKind, sink: &mut Sink) {
    let mut seen: BTreeMap<String, Span> = BTreeMap::new();
    for figure in record.records("figures") {
        let (Some(name), Some(value)) = (figure.text("name"), figure.text("value")) else {
            continue;
        };
        if let Some(first) = seen.insert(name.value.clone(), name.at) {
            sink.push(|| {
                Mistake::new(name.at, format!("the figure `{}` is given twice", clip(&name.value)))
                    .label("the second")
                    .related(first, "first given here")
            });
        }
        // Where the kind is wrong or missing, which has been reported, nothing can be said.
        let judged = record.get("kind").is_some() || record.get("like").is_some();
        if let (true, Err(refusal)) = (judged, figures::check(kind, &name.value, &value.value)) {
            let at = if refusal.name { name.at } else { value.at };
            sink.push(|| Mistake::new(at, refusal.message).maybe_help(refusal.help));
        } else if let (true, Some(interval)) = (judged, figure.text("interval"))
            && let Err(problem) =
                figures::interval(kind, &name.value, &value.value, &interval.value)
        {
            sink.push(|| {
                Mistake::new(interval.at, format!("interval: {problem}"))
                    .help("write two values with units, as in `9.1 us to 10.3 us`")
            });
        }
        fitted(figure, sink);
    }
}

/// A figure that was fitted says on what, and no other names a claim.
fn fitted(figure: &Decoded, sink: &mut Sink) {
    let Some(kind) = figure.word("kind") else { return };
    let calibrated = kind.value == "calibrated";
    if let (false, Some(claim)) = (calibrated, figure.slot("claim")) {
        sink.push(|| {
            Mistake::new(claim.key.at, "only a figure of the kind `calibrated` has a claim")
                .related(kind.at, "its kind is given here")
        });
    } else if calibrated && !figure.has("claim") && !figure.has("interval") {
        sink.push(|| {
            Mistake::new(kind.at, "a calibrated figure needs `claim` or `interval`").help(
                "add the claim it was fitted on (`claim = \"SCENARIO: NAME OF THE CLAIM\"`), or name the run in \
                 `source` and give its range (`interval = \"9.1 us to 10.3 us\"`)",
            )
        });
    }
}

/// The decoded figures of a part or of a profile.
pub(crate) fn figures(record: &Decoded) -> Vec<Figure> {
    let text = |record: &Decoded, key| record.text(key).map(|at| at.value);
    let figure = |figure: &Decoded| Figure {
        name: text(figure, "name").unwrap_or_default(),
        value: text(figure, "value").unwrap_or_default(),
        source: text(figure, "source").unwrap_or_default(),
        kind: figure.word("kind").map_or(FigureKind::Assumed, |at| figure_kind(at.value)),
        claim: text(figure, "claim"),
        interval: text(figure, "interval"),
    };
    record.records("figures").into_iter().map(figure).collect()
}

pub(crate) fn part_kind(word: &str) -> PartKind {
    match word {
        "hypervisor" => PartKind::Hypervisor,
        "virtual-scsi" => PartKind::VirtualScsi,
        "hba" => PartKind::Hba,
        "nic" => PartKind::Nic,
        "switch" => PartKind::Switch,
        "array" => PartKind::Array,
        "disk" => PartKind::Disk,
        "tape" => PartKind::Tape,
        _ => PartKind::Host,
    }
}

pub(crate) fn figure_kind(word: &str) -> FigureKind {
    match word {
        "data-sheet" => FigureKind::DataSheet,
        "published" => FigureKind::Published,
        "standard" => FigureKind::Standard,
        "calibrated" => FigureKind::Calibrated,
        _ => FigureKind::Assumed,
    }
}

impl PartKind {
    pub(crate) fn words(self) -> &'static str {
        match self {
            PartKind::Host => "a server",
            PartKind::Hypervisor => "a hypervisor",
            PartKind::VirtualScsi => "a virtual SCSI adapter",
            PartKind::Hba => "an HBA",
            PartKind::Nic => "a network adapter",
            PartKind::Switch => "a switch",
            PartKind::Array => "an array",
            PartKind::Disk => "a disk",
            PartKind::Tape => "a tape library",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_without_mistakes() {
        for (name, text) in FILES {
            let mut sink = Sink::default();
            let table = tree::parse(text, &mut sink);
            decode::record(&table, Span::new(Origin::File, 0..0), &CATALOG, name, &mut sink);
            assert!(sink.is_empty(), "{name}: {sink:?}");
        }
        let mut sink = Sink::default();
        read(FILES, &mut sink);
        assert!(sink.is_empty(), "{sink:?}");
    }

    /// A limit that only one of several parts states makes that part lose in a comparison that its hardware does not lose.
    /// `iops_max` is left to those whose maker publishes it: it is above what their ports carry of blocks from 1 KiB on.
    #[test]
    fn parts_of_a_family_state_the_same_limits() {
        const LIMITS: &[&str] = &[
            "lun_queue",
            "throttle",
            "mtu_max",
            "adapter_queue",
            "disk_queue",
            "channels",
            "controller_time_per_io",
            "seek_mean",
            "drive_rate",
        ];
        let family = |part: &Part| {
            let letters: String = part.name.chars().take_while(|c| !c.is_ascii_digit()).collect();
            (part.kind as u8, letters)
        };
        let mut wrong = Vec::new();
        for one in catalog() {
            for other in catalog().iter().filter(|other| family(other) == family(one)) {
                let lacks = LIMITS
                    .iter()
                    .filter(|limit| other.figure(limit).is_some() && one.figure(limit).is_none());
                wrong
                    .extend(lacks.map(|limit| format!("{}: {limit}, as {}", one.name, other.name)));
            }
        }
        for part in catalog() {
            let needed: &[&str] = match part.kind {
                PartKind::Hba => &["ports", "port_rate", "lun_queue"],
                PartKind::Nic => &["ports", "port_rate", "mtu_max"],
                PartKind::VirtualScsi => &["adapter_queue", "disk_queue"],
                PartKind::Tape => &["drives", "drive_rate"],
                PartKind::Disk => &["size"],
                PartKind::Switch => &["port_rate"],
                PartKind::Host | PartKind::Hypervisor | PartKind::Array => &[],
            };
            let lacks = needed.iter().filter(|figure| part.figure(figure).is_none());
            wrong.extend(lacks.map(|figure| format!("{}: {figure}", part.name)));
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn every_file_is_embedded() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog");
        let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        for name in files.filter(|name| name != "profiles.toml") {
            assert!(
                FILES.iter().any(|(embedded, _)| name == *embedded),
                "{name:?} is not embedded"
            );
        }
    }
}
