//! Where settings come from that the source of the experiment does not publish.

use super::part::FIGURE_KINDS;
use super::{PLAIN, TableDef, Type, default, optional, required};

pub(super) static ASSUME: TableDef = TableDef {
    title: "[[assume]]",
    id: "assume",
    doc: "Where a setting comes from that the experiment's source does not publish, such as the depth of a queue. It changes \
          nothing; `wirespeed score` says how much each claim rests on it. Figures of parts say that themselves.",
    fields: &[
        required(
            "set",
            Type::Refs("a setting such as `workload.stream.depth`"),
            "The setting, by its path as `--set` takes it; `*` stands for every name (`workload.*.depth`). Several are one \
             parameter.",
        ),
        required("source", Type::Text, "Where the value comes from; of an assumption, its reason."),
        default("kind", Type::Word(FIGURE_KINDS), "assumed", "How far it can be trusted."),
        optional(
            "claim",
            Type::Text,
            "What it was fitted on, where it is calibrated: the name of a claim of this file, or `LAB: NAME` of another.",
        ),
    ],
    ..PLAIN
};
