//! Models of hardware, in the catalog or in a scenario.

use super::{KeyWord, PLAIN, TableDef, Type, optional, required, word};

/// Kinds of parts, as written.
pub(crate) const PART_KINDS: &[KeyWord] = &[
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

pub(super) const FIGURE_KINDS: &[KeyWord] = &[
    word("data-sheet", "from a data sheet or a published description"),
    word("published", "from a named document, such as a vendor's guide that gives a default"),
    word("standard", "derived from a standard; `source` has the calculation"),
    word("assumed", "assumed; `source` begins with the reason"),
    word("calibrated", "fitted to the claim in `claim`, or to the run in `source`"),
];

pub(crate) static PART: TableDef = TableDef {
    title: "[[part]]",
    id: "part",
    doc: "A hardware model. It replaces a catalog part of the same name.",
    fields: &[
        required("name", Type::Text, "The name that `part` refers to."),
        optional("kind", Type::Word(PART_KINDS), "Kind of part; required unless `like` gives it."),
        optional(
            "like",
            Type::Ref("a part"),
            "Inherits the kind and figures of this part, except those given here.",
        ),
        optional("model", Type::Text, "The vendor's full name for it."),
        optional("figures", Type::Tables(&FIGURE), "Its figures."),
    ],
    ..PLAIN
};

pub(super) static FIGURE: TableDef = TableDef {
    title: "a figure",
    id: "figure",
    doc: "A figure of a part or of an application profile.",
    fields: &[
        required(
            "name",
            Type::Text,
            "The figure's name, such as `ports`, `port_rate` or `iops_max`.",
        ),
        required("value", Type::Text, "The value, with its unit."),
        required("source", Type::Text, "Where it comes from."),
        required("kind", Type::Word(FIGURE_KINDS), "How far it can be trusted."),
        optional(
            "claim",
            Type::Text,
            "The claim that a calibrated figure was fitted on: `SCENARIO: NAME OF THE CLAIM`.",
        ),
        optional(
            "interval",
            Type::Text,
            "The range of the value, with units: `9.1 us to 10.3 us`.",
        ),
    ],
    ..PLAIN
};

/// A catalog file, which holds only parts.
pub(crate) static CATALOG: TableDef = TableDef {
    title: "the catalog",
    id: "catalog",
    doc: "A file of the catalog.",
    fields: &[optional("part", Type::Tables(&PART), "Models.")],
    ..PLAIN
};

/// Catalog parts as a record keeps them.
pub(super) static KEPT: TableDef = TableDef {
    title: "[[catalog]]",
    id: "kept",
    doc: "Parts of a catalog that was read with the scenario, as records keep them. A `[[part]]` may replace one, or \
          be `like` it.",
    fields: &[
        optional("file", Type::Text, "The catalog's file."),
        required("part", Type::Tables(&PART), "Its parts."),
    ],
    ..PLAIN
};
