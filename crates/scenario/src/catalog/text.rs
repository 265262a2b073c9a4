//! Parts as text of the language.

use super::users::Used;
use crate::model::{Figure, FigureKind, Part, PartKind};
use std::fmt::Write;

/// A `[[catalog]]` with the parts that a scenario uses.
pub(super) fn catalog(used: &Used) -> String {
    let mut out = format!("[[catalog]]\nfile = {}\n", quoted(&used.file));
    for part in &used.parts {
        out.push('\n');
        out.push_str(&table(part, "[[catalog.part]]"));
    }
    out
}

impl Part {
    /// The part as a `[[part]]` of the language with all of its figures: itself whole, and like none.
    pub fn to_toml(&self) -> String {
        table(self, "[[part]]")
    }
}

fn table(part: &Part, header: &str) -> String {
    let mut out = format!("{header}\n");
    let mut line = |key: &str, value: &str| {
        let _infallible = writeln!(out, "{key} = {}", quoted(value));
    };
    line("name", &part.name);
    line("kind", part.kind.word());
    part.model.iter().for_each(|model| line("model", model));
    if !part.figures.is_empty() {
        out.push_str("figures = [\n");
        part.figures.iter().for_each(|one| out.push_str(&figure(one)));
        out.push_str("]\n");
    }
    out
}

/// A line `{ name = "ports", … },`.
fn figure(figure: &Figure) -> String {
    let Figure { name, value, source, kind, claim, interval } = figure;
    let always = [("name", &**name), ("value", value), ("source", source), ("kind", kind.word())];
    let maybe = [("claim", claim), ("interval", interval)];
    let maybe = maybe.iter().filter_map(|(key, value)| Some((*key, value.as_deref()?)));
    let pairs: Vec<String> = always
        .into_iter()
        .chain(maybe)
        .map(|(key, value)| format!("{key} = {}", quoted(value)))
        .collect();
    format!("  {{ {} }},\n", pairs.join(", "))
}

/// A text in quotes, on one line.
fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c.is_control() => {
                let _infallible = write!(out, "\\u{:04X}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

impl PartKind {
    /// All kinds, in the order of the language.
    pub const ALL: [PartKind; 9] = [
        PartKind::Host,
        PartKind::Hypervisor,
        PartKind::VirtualScsi,
        PartKind::Hba,
        PartKind::Nic,
        PartKind::Switch,
        PartKind::Array,
        PartKind::Disk,
        PartKind::Tape,
    ];

    /// Its word in the language.
    pub fn word(self) -> &'static str {
        match self {
            PartKind::Host => "host",
            PartKind::Hypervisor => "hypervisor",
            PartKind::VirtualScsi => "virtual-scsi",
            PartKind::Hba => "hba",
            PartKind::Nic => "nic",
            PartKind::Switch => "switch",
            PartKind::Array => "array",
            PartKind::Disk => "disk",
            PartKind::Tape => "tape",
        }
    }
}

impl FigureKind {
    /// Its word in the language.
    pub fn word(self) -> &'static str {
        match self {
            FigureKind::DataSheet => "data-sheet",
            FigureKind::Published => "published",
            FigureKind::Standard => "standard",
            FigureKind::Assumed => "assumed",
            FigureKind::Calibrated => "calibrated",
        }
    }
}
