//! What an application asks for: the profiles of the catalog, and the projects of a scenario.

use super::part::FIGURE;
use super::{Conflict, Field, Need, PLAIN, SIZE, TableDef, Type, count, optional, required};

pub(super) static PROJECT: TableDef = TableDef {
    title: "[[project]]",
    id: "project",
    doc: "An application: the review says how many mailboxes, desktops or transactions a second of it the measured steps \
          carry. The profile is one of the catalog, which `wirespeed profiles` lists; the other keys change its figures.",
    fields: &[
        required(
            "profile",
            Type::Ref("a profile such as `exchange-2010-150`"),
            "What is projected.",
        ),
        optional("iops_each", Type::Iops, "Operations a second that each asks for."),
        optional("read", Type::Percent, "Reads among the operations, in percent."),
        optional("limit", Type::Time { zero: false }, "The latency within which it works."),
        optional(
            "point",
            Type::Point,
            "The point of the latency distribution that `limit` bounds.",
        ),
        optional("count", count(1, 1_000_000_000_000), "How many are needed."),
        optional("window", Type::Time { zero: false }, "The time that there is for a backup."),
        optional("size", SIZE, "How much data a backup must read within its window."),
    ],
    conflicts: &[Conflict {
        key: "iops_each",
        others: &["window", "size"],
        why: "a window is filled with bytes, not with operations a second",
    }],
    ..PLAIN
};

static PROFILE: TableDef = TableDef {
    title: "[[profile]]",
    id: "profile",
    doc: "What an application asks of its storage.",
    fields: &[
        required("name", Type::Text, "The name that `profile` refers to."),
        required("title", Type::Text, "What it is."),
        required("unit", Type::Text, "What is counted, one of it."),
        required("units", Type::Text, "What is counted, several of it."),
        required("figures", Type::Tables(&FIGURE), "Its figures."),
    ],
    ..PLAIN
};

/// The file of profiles holds profiles and nothing else.
pub(crate) static PROFILES: TableDef = TableDef {
    title: "the profiles",
    id: "profiles",
    doc: "The catalog's file of profiles.",
    fields: &[Field {
        key: "profile",
        ty: Type::Tables(&PROFILE),
        need: Need::Required,
        doc: "Profiles.",
    }],
    ..PLAIN
};
