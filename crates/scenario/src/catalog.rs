//! The catalog: models of hardware with their figures, embedded from `catalog/*.toml`.
//!
//! Its files are written in the scenario's own language (`[[part]]`) and read by the same decoder.

use crate::datum::Record;
use crate::decode;
use crate::diagnostics::{Mistake, Origin, Sink, Span};
use crate::fields::CATALOG;
use crate::figures;
use crate::model::{Figure, FigureKind, Part, PartKind};
use crate::tree::{self, clip};
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// The catalog's files, embedded.
const FILES: &[&str] = &[
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/adapters.toml")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/arrays.toml")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/disks.toml")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/hosts.toml")),
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/switches.toml")),
];

/// Every part of the catalog, by file and then in the order of the file.
pub fn catalog() -> &'static [Part] {
    static PARTS: LazyLock<Vec<Part>> =
        LazyLock::new(|| FILES.iter().flat_map(|text| read(text, &mut Sink::default())).collect());
    &PARTS
}

fn read(text: &str, sink: &mut Sink) -> Vec<Part> {
    let table = tree::parse(text, sink);
    let at = Span::new(Origin::File, 0..0);
    let root = decode::record(&table, at, &CATALOG, CATALOG.title, sink);
    let records = root.records("part").into_iter();
    let checked = |record| {
        let part = part(record);
        check(record, part.kind, sink);
        part
    };
    records.map(checked).collect()
}

/// A decoded `[[part]]`.
pub(crate) fn part(record: &Record) -> Part {
    let text = |record: &Record, key| record.text(key).map(|at| at.value);
    Part {
        name: text(record, "name").unwrap_or_default(),
        kind: record.word("kind").map_or(PartKind::Host, |at| part_kind(at.value)),
        model: text(record, "model"),
        like: text(record, "like"),
        figures: figures(record),
    }
}

/// Reports the figures that a part of this kind cannot have, and those that it has twice.
pub(crate) fn check(record: &Record, kind: PartKind, sink: &mut Sink) {
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
        }
    }
}

/// The decoded figures of a part or of a profile.
pub(crate) fn figures(record: &Record) -> Vec<Figure> {
    let text = |record: &Record, key| record.text(key).map(|at| at.value);
    let figure = |figure: &Record| Figure {
        name: text(figure, "name").unwrap_or_default(),
        value: text(figure, "value").unwrap_or_default(),
        source: text(figure, "source").unwrap_or_default(),
        kind: figure.word("kind").map_or(FigureKind::Assumed, |at| figure_kind(at.value)),
    };
    record.records("figures").into_iter().map(figure).collect()
}

/// The kind of parts that a word names.
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

fn figure_kind(word: &str) -> FigureKind {
    match word {
        "data-sheet" => FigureKind::DataSheet,
        "published" => FigureKind::Published,
        "standard" => FigureKind::Standard,
        "calibrated" => FigureKind::Calibrated,
        _ => FigureKind::Assumed,
    }
}

impl PartKind {
    /// What it is, in words.
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
        for text in FILES {
            let mut sink = Sink::default();
            let parts = read(text, &mut sink);
            assert!(parts.iter().all(|part| part.like.is_none()), "the catalog stands by itself");
            assert!(sink.is_empty(), "{sink:?}");
        }
    }
}
