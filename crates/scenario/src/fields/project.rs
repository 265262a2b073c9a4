//! Application requirements: the profiles of the catalog, and the projects of a scenario.

use super::part::FIGURE;
use super::{Conflict, KeyField, Need, PLAIN, SIZE, TableDef, Type, count, optional, required};

pub(super) static PROJECT: TableDef = TableDef {
    title: "[[project]]",
    id: "project",
    doc: "An application: the review shows how many of its mailboxes, desktops or transactions per second the \
          measured steps support. `wirespeed profiles` lists the catalog's profiles; the other keys override their \
          figures.",
    fields: &[
        required(
            "profile",
            Type::Ref("a profile such as `exchange-2010-150`"),
            "The application profile.",
        ),
        optional("iops_each", Type::Iops, "IOPS per unit (mailbox, desktop)."),
        optional("read", Type::Percent, "Share of reads, in percent."),
        optional("limit", Type::Time { zero: false }, "Latency limit."),
        optional("point", Type::Point, "The latency percentile that `limit` applies to."),
        optional("count", count(1, 1_000_000_000_000), "Number of units required."),
        optional("window", Type::Time { zero: false }, "Backup window."),
        optional("size", SIZE, "Data that a backup must read within its window."),
    ],
    conflicts: &[Conflict {
        key: "iops_each",
        others: &["window", "size"],
        why: "a backup window is filled with bytes, not with operations per second",
    }],
    ..PLAIN
};

static PROFILE: TableDef = TableDef {
    title: "[[profile]]",
    id: "profile",
    doc: "Storage requirements of an application.",
    fields: &[
        required("name", Type::Text, "The name that `profile` refers to."),
        required("title", Type::Text, "What it is."),
        required("unit", Type::Text, "The unit counted, singular."),
        required("units", Type::Text, "The unit counted, plural."),
        required("figures", Type::Tables(&FIGURE), "Its figures."),
    ],
    ..PLAIN
};

/// The file of profiles, which holds only profiles.
pub(crate) static PROFILES: TableDef = TableDef {
    title: "the profiles",
    id: "profiles",
    doc: "The catalog's file of profiles.",
    fields: &[KeyField {
        key: "profile",
        ty: Type::Tables(&PROFILE),
        need: Need::Required,
        doc: "Profiles.",
    }],
    ..PLAIN
};
