//! Sources of settings that the experiment's own source does not publish.

use super::part::FIGURE_KINDS;
use super::{PLAIN, TableDef, Type, default, optional, required};

pub(super) static ASSUME: TableDef = TableDef {
    title: "[[assume]]",
    id: "assume",
    doc: "The source of a setting that the experiment's own source does not publish, such as a queue depth. It does \
          not change the run; `wirespeed score` shows how much each claim depends on it. Figures of parts have a \
          `source` of their own.",
    fields: &[
        required(
            "set",
            Type::Refs("a setting such as `workload.stream.depth`"),
            "The setting's path, as for `--set`; `*` matches every name (`workload.*.depth`). Several settings form \
             one parameter.",
        ),
        required(
            "source",
            Type::Text,
            "Where the value comes from; for an assumption, its reason.",
        ),
        default("kind", Type::Word(FIGURE_KINDS), "assumed", "How far it can be trusted."),
        optional(
            "claim",
            Type::Text,
            "For a calibrated value, the claim it was fitted on: a claim's name in this file, or `LAB: NAME` for \
             another file.",
        ),
        optional(
            "interval",
            Type::Text,
            "The plausible range of the value, with units: `1 to 32`. `wirespeed score` varies it over this range.",
        ),
    ],
    ..PLAIN
};
