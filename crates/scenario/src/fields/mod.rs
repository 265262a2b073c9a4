//! The grammar of a scenario: each table is described once, by a static list of fields.
//!
//! The same lists drive decoding with its diagnostics, the JSON Schema, the reference in `docs/scenario.md`, and the
//! hints for a key in the wrong table, so these cannot disagree. `build` has the rules on names and workloads.

mod assume;
mod copy;
mod counted;
mod embedded;
mod fabric;
mod lab;
mod network;
mod part;
mod project;
mod trace;
mod verdict;
mod work;

use assume::ASSUME;
pub(crate) use copy::COPY;
use embedded::*;
use fabric::*;
pub(crate) use lab::WAYS;
use lab::*;
pub(crate) use network::NET;
use network::*;
use part::KEPT;
pub(crate) use part::{CATALOG, PART, PART_KINDS};
pub(crate) use project::PROFILES;
use project::PROJECT;
pub(crate) use trace::TRACE;
use verdict::*;
pub(crate) use work::WORKLOAD;
use work::*;

use crate::load::{KINDS, WORKLOADS};

/// A table of the language.
#[derive(Debug)]
pub(crate) struct TableDef {
    /// Name in messages: `[plan]`, `[[vm]]`, `a disk`.
    pub title: &'static str,
    /// Name in the schema, and the anchor in the reference.
    pub id: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// Its keys.
    pub fields: &'static [KeyField],
    /// Groups of keys that exclude each other.
    pub choices: &'static [ExclusiveKeys],
    /// Keys that make no sense beside others.
    pub conflicts: &'static [Conflict],
    /// Whether a key may be written `WORKLOAD.key`.
    pub prefixed: bool,
}

#[derive(Debug)]
pub(crate) struct KeyField {
    pub key: &'static str,
    pub ty: Type,
    pub need: Need,
    pub doc: &'static str,
}

/// Whether a key must be given.
#[derive(Debug)]
pub(crate) enum Need {
    Required,
    Optional,
    /// Optional, with this default, as the user would write it.
    Default(&'static str),
}

/// Keys that exclude each other.
#[derive(Debug)]
pub(crate) struct ExclusiveKeys {
    pub keys: &'static [&'static str],
    /// One of them must be given.
    pub required: bool,
}

/// A key that makes no sense beside others.
#[derive(Debug)]
pub(crate) struct Conflict {
    pub key: &'static str,
    pub others: &'static [&'static str],
    /// The reason, appended to the message.
    pub why: &'static str,
}

/// What a value must look like.
#[derive(Debug)]
pub(crate) enum Type {
    /// Any text.
    Text,
    /// A name of something defined here; ranges are allowed.
    Name,
    /// A reference to something else, in words; ranges and `*` are allowed.
    Ref(&'static str),
    /// One reference or a list of them.
    Refs(&'static str),
    Flag,
    Count {
        min: u64,
        max: u64,
    },
    Number {
        min: f64,
        max: f64,
    },
    /// Bytes.
    Size {
        min: u64,
        max: u64,
    },
    Time {
        zero: bool,
    },
    /// A number, or a text such as `60k IOPS`.
    Iops,
    /// A number from 0 to 100, or a text such as `67%`.
    Percent,
    SizeOrPercent,
    /// A value of the setting that a search goes through: a count, a rate or a size.
    Amount,
    /// A data rate.
    Rate,
    /// A rate of operations or of data: each kind of workload takes one of them.
    IopsOrRate,
    /// A data rate, or `90% of wire`.
    RateOrWire,
    /// The name of a standard such as `8gfc`, or a data rate.
    LinkRate,
    /// A link speed, or a reference in words; other keys decide which.
    LinkRateOrRef(&'static str),
    /// Bytes of a logical block: 512 or 4096, as a number or a size.
    Sector,
    /// A number of I/Os, or a size.
    CountOrSize,
    /// A latency's point: `mean`, `max`, `p50`, `p99`, `p99.9`.
    Point,
    Word(&'static [KeyWord]),
    Table(&'static TableDef),
    /// Any number of tables: `[[x]]`, or an inline list.
    Tables(&'static TableDef),
    /// One table or several: `[plan]` or `[[plan]]`.
    TableOrTables(&'static TableDef),
    /// Tables by name, of several kinds: `[workload.NAME]`. The key `kind` of each says which; the first unless given.
    Map(&'static [TableKind]),
    WordOrTable(&'static [KeyWord], &'static TableDef),
    FlagOrTable(&'static TableDef),
    OneOrMany(&'static Type),
    /// The values of a sweep: a list, or a doubling ladder `4KiB..1MiB`.
    Axis(&'static Type),
}

/// One of the kinds of tables under one key.
#[derive(Debug)]
pub(crate) struct TableKind {
    /// The value of its key `kind`.
    pub word: &'static str,
    /// Plural, for messages.
    pub plural: &'static str,
    pub def: &'static TableDef,
}

/// One of the words that a key takes.
#[derive(Debug)]
pub(crate) struct KeyWord {
    pub word: &'static str,
    pub doc: &'static str,
}

impl KeyField {
    /// Whether the key may be written `WORKLOAD.key` where its table takes that. Not for plans, arrays and interfaces.
    pub fn of_workload(&self) -> bool {
        !matches!(self.key, "plan" | "port" | "mtu" | "offload")
    }
}

impl TableDef {
    pub fn field(&self, key: &str) -> Option<&'static KeyField> {
        self.fields.iter().find(|f| f.key == key)
    }
}

/// A table without rules between its keys; the base of the other definitions.
const PLAIN: TableDef = TableDef {
    title: "",
    id: "",
    doc: "",
    fields: &[],
    choices: &[],
    conflicts: &[],
    prefixed: false,
};

const fn required(key: &'static str, ty: Type, doc: &'static str) -> KeyField {
    KeyField { key, ty, need: Need::Required, doc }
}

const fn optional(key: &'static str, ty: Type, doc: &'static str) -> KeyField {
    KeyField { key, ty, need: Need::Optional, doc }
}

const fn default(key: &'static str, ty: Type, value: &'static str, doc: &'static str) -> KeyField {
    KeyField { key, ty, need: Need::Default(value), doc }
}

pub(crate) const fn word(word: &'static str, doc: &'static str) -> KeyWord {
    KeyWord { word, doc }
}

const fn count(min: u64, max: u64) -> Type {
    Type::Count { min, max }
}

/// Any size but zero.
const SIZE: Type = Type::Size { min: 1, max: u64::MAX };
/// The size of one operation.
const BLOCK: Type = Type::Size { min: 1, max: 64 << 20 };
const TIME: Type = Type::Time { zero: true };

/// The whole file.
pub(crate) static ROOT: TableDef = TableDef {
    title: "the scenario",
    id: "root",
    doc: "A scenario is one TOML file.",
    fields: &[
        required("scenario", Type::Table(&HEAD), "The title, and where the experiment comes from."),
        optional("target", Type::Tables(&TARGET), "What I/O can be issued to on this machine."),
        optional("receiver", Type::Tables(&RECEIVER), "Remote ends of network loads."),
        optional("host", Type::Tables(&HOST), "Physical hosts with their adapters."),
        optional("vm", Type::Tables(&VM), "Virtual machines with their disks."),
        optional("switch", Type::Tables(&SWITCH), "Switches."),
        optional("array", Type::Tables(&ARRAY), "Arrays, and servers that export volumes."),
        optional("volume", Type::Tables(&VOLUME), "Volumes on arrays."),
        optional("link", Type::Tables(&LINK), "Cables between ports."),
        optional("team", Type::Tables(&TEAM), "Network adapters that act as one."),
        optional("zone", Type::Tables(&ZONE), "Ports that may communicate."),
        optional("path", Type::Tables(&PATH), "Explicit paths to volumes."),
        optional("part", Type::Tables(&PART), "Hardware models beside those of the catalog."),
        optional("catalog", Type::Tables(&KEPT), "Parts of catalogs that were read with the file."),
        optional("workload", Type::Map(WORKLOADS), "Workloads, by name."),
        optional("plan", Type::TableOrTables(&PLAN), "Order and duration of the steps."),
        optional("goal", Type::Tables(&GOAL), "What must hold."),
        optional("claim", Type::Tables(&CLAIM), "What was published."),
        optional(
            "project",
            Type::Tables(&PROJECT),
            "Applications to project onto the measured results.",
        ),
        optional("assume", Type::Tables(&ASSUME), "Sources of settings that were not published."),
    ],
    ..PLAIN
};

/// `[scenario]`.
static HEAD: TableDef = TableDef {
    title: "[scenario]",
    id: "scenario",
    doc: "Title and origin of the experiment.",
    fields: &[
        required("title", Type::Text, "The question, in one line."),
        optional("source", Type::Text, "Who published the experiment, where and when."),
        optional("description", Type::Text, "Anything a reader should know."),
        default("seed", count(0, i64::MAX as u64), "1", "Seed of every random stream."),
    ],
    ..PLAIN
};
