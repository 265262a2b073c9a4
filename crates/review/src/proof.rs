//! The proof of a step's limit: a row for whatever was slowed, and a line for the rest. Terminal, page and Markdown show the
//! same cells.

use crate::headline::plural;
use crate::number::percent;
use crate::results::{ResultColumn, ResultRow};
use crate::text::clean;
use findings::{Elasticity, LeverName, Slowed, StepFigures, StepProof};
use std::collections::BTreeMap;

/// The columns of its table.
pub(crate) const COLUMNS: [ResultColumn; 7] = [
    ("step", "", false),
    ("slowed", "", false),
    ("by", "", true),
    ("MB/s", "", true),
    ("elasticity", "95%", true),
    ("p99", "", true),
    ("elasticity", "95%", true),
];

/// What was slowed in steps, that which throughput follows most first.
pub(crate) fn rows(steps: &[StepFigures]) -> Vec<ResultRow> {
    let of = |step: &'_ StepFigures| -> Vec<ResultRow> {
        let row = |(n, of): (usize, &Slowed)| {
            let label = if n == 0 { clean(&step.label()) } else { String::new() };
            ResultRow { step: step.index, cells: [label].into_iter().chain(cells(of)).collect() }
        };
        step.proof.iter().flat_map(|proof| &proof.slowed).enumerate().map(row).collect()
    };
    steps.iter().flat_map(of).collect()
}

/// What a table of rounds is called.
pub(crate) const HEADING: &str = "Proof: one thing at a time slower";

fn cells(of: &Slowed) -> [String; 6] {
    let dash = || "-".to_owned();
    let change = |of: Option<Elasticity>| of.map_or_else(dash, |of| signed(of.change));
    let elasticity = |of: Option<Elasticity>| {
        of.map_or_else(dash, |of| format!("{:.2} ({:.2} to {:.2})", of.value, of.low, of.high))
    };
    [
        format!("{}{}", clean(&of.subject), lever(of.lever)),
        format!("{}%", percent(1.0 - of.factor)),
        change(of.throughput),
        elasticity(of.throughput),
        change(of.p99),
        elasticity(of.p99),
    ]
}

/// What of it was lowered, after its name.
fn lever(lever: LeverName) -> &'static str {
    match lever {
        LeverName::Rate => ", rate",
        LeverName::Ops => ", I/Os a second",
        LeverName::Latency => ", delay",
        LeverName::Cpu => ", processors",
        LeverName::Depth => ", depth",
        LeverName::Think => ", pauses",
        LeverName::Arrivals => ", arrivals",
    }
}

/// A change with its sign.
fn signed(change: f64) -> String {
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{:.1}%", change.abs() * 100.0)
}

/// How many rounds there were, and what was not slowed and why.
pub(crate) fn lines(steps: &[StepFigures]) -> Vec<String> {
    let all: Vec<&StepProof> = steps.iter().filter_map(|step| step.proof.as_ref()).collect();
    let (planned, done) = all.iter().fold((0, 0), |sum, proof| {
        (sum.0 + proof.rounds as usize, sum.1 + proof.rounds_done as usize)
    });
    let mut lines = Vec::new();
    if planned > 0 {
        let told = match planned == done {
            true => plural(planned, "round"),
            false => format!("{done} of {}", plural(planned, "round")),
        };
        lines.push(format!("{told} after the measured time; its figures do not contain them."));
    }
    let mut whys: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for left in all.iter().flat_map(|proof| &proof.untouched) {
        let subjects = whys.entry(clean(&left.why)).or_default();
        let subject = clean(&left.subject);
        if !subjects.contains(&subject) {
            subjects.push(subject);
        }
    }
    let line = |(why, subjects): (String, Vec<String>)| {
        format!("Not slowed: {} ({why}).", subjects.join(", "))
    };
    lines.extend(whys.into_iter().map(line));
    lines
}
