//! Models of hardware, in the catalog or in a scenario.

use super::{Field, Need, PLAIN, TableDef, Type, Word, optional, required, word};

/// Kinds of parts, as written.
pub(crate) const PART_KINDS: &[Word] = &[
    word("host", "a server"),
    word("hypervisor", "a hypervisor"),
    word("virtual-scsi", "a virtual SCSI adapter"),
    word("hba", "a Fibre Channel host bus adapter"),
    word("nic", "a network adapter"),
    word("switch", "a switch"),
    word("array", "an array or a storage server"),
    word("disk", "a disk or an SSD"),
    word("tape", "a tape drive or library"),
];

const FIGURE_KINDS: &[Word] = &[
    word("data-sheet", "from a data sheet or a published description"),
    word("published", "measured, or recommended, by somebody who is not its maker"),
    word("standard", "derived from a standard"),
    word("assumed", "assumed; `source` says why"),
    word("calibrated", "calibrated on a claim; `source` names it"),
];

pub(crate) static PART: TableDef = TableDef {
    title: "[[part]]",
    id: "part",
    doc: "A model of hardware. One with the name of a catalog part takes its place.",
    fields: &[
        required("name", Type::Text, "The name that `part` refers to."),
        optional("kind", Type::Word(PART_KINDS), "What it is; required unless `like` says it."),
        optional(
            "like",
            Type::Ref("a part"),
            "The part that it is like: it has that part's kind and figures, but for its own.",
        ),
        optional("model", Type::Text, "The maker's full name for it."),
        optional("figures", Type::Tables(&FIGURE), "Its figures."),
    ],
    ..PLAIN
};

pub(super) static FIGURE: TableDef = TableDef {
    title: "a figure",
    id: "figure",
    doc: "A figure of a part, or of a profile of an application.",
    fields: &[
        required(
            "name",
            Type::Text,
            "What it measures, such as `ports`, `port_rate` or `iops_max`.",
        ),
        required("value", Type::Text, "The value, with its unit."),
        required("source", Type::Text, "Where it comes from."),
        required("kind", Type::Word(FIGURE_KINDS), "How far it can be trusted."),
    ],
    ..PLAIN
};

/// Catalog files hold parts and nothing else.
pub(crate) static CATALOG: TableDef = TableDef {
    title: "the catalog",
    id: "catalog",
    doc: "A file of the catalog.",
    fields: &[Field { key: "part", ty: Type::Tables(&PART), need: Need::Required, doc: "Models." }],
    ..PLAIN
};
