//! Tables of what happened within steps: the phases of jobs, and the faults of plans. Terminal, page and Markdown show the
//! same cells.

use crate::answers::{event, gigabytes, seconds};
use crate::limits;
use crate::number::digits;
use crate::paint::ReviewPage;
use crate::table::{self, TableColumn};
use crate::text::clean;
use findings::{FaultOutcome, FaultSpan, JobPhase, StepFigures};

/// A column: its name, its unit, and whether it holds numbers.
pub(crate) type ResultColumn = (&'static str, &'static str, bool);

/// Columns of the phases of a job.
pub(crate) const PHASES: [ResultColumn; 10] = [
    ("phase", "", false),
    ("began", "", true),
    ("took", "", true),
    ("moved", "GB", true),
    ("rate", "MB/s", true),
    ("read", "GB", true),
    ("written", "GB", true),
    ("left", "GB", true),
    ("end", "", true),
    ("limited by", "", false),
];

/// The heading of the loads that end, where they are no job.
pub(crate) const ENDED: &str = "Loads that end: what each moved, and how long it took";

/// Columns of faults: each is three rows, before, during and after.
pub(crate) const FAULTS: [ResultColumn; 8] = [
    ("fault", "", false),
    ("when", "", false),
    ("for", "", true),
    ("throughput", "MB/s", true),
    ("IOPS", "1/s", true),
    ("p99", "", true),
    ("longest", "", true),
    ("errors", "", true),
];

/// A row of cells with the step that it is of.
pub(crate) struct ResultRow {
    pub step: u32,
    pub cells: Vec<String>,
}

/// The phases of the jobs among steps.
pub(crate) fn phases(steps: &[StepFigures]) -> Vec<ResultRow> {
    // Of a sweep the settings tell the steps apart.
    let several = steps.len() > 1;
    let of = |step: &'_ StepFigures| -> Vec<ResultRow> {
        let row = |phase: &JobPhase| {
            let mut cells = phase_cells(phase);
            if several {
                cells[0] = format!("{}: {}", clean(&step.label()), cells[0]);
            }
            ResultRow { step: step.index, cells }
        };
        step.job.iter().map(row).collect()
    };
    steps.iter().flat_map(of).collect()
}

fn phase_cells(phase: &JobPhase) -> Vec<String> {
    let dash = || "-".to_owned();
    let gb = |bytes: u64| digits(bytes as f64 / 1e9);
    let end = match (phase.finished, phase.projected_end_ns) {
        (true, _) => seconds(phase.began_ns.unwrap_or_default() + phase.lasted_ns),
        (false, Some(at)) => format!("{} projected", seconds(at)),
        (false, None) => dash(),
    };
    vec![
        clean(&phase.name),
        phase.began_ns.map_or_else(dash, seconds),
        seconds(phase.lasted_ns),
        match phase.amount {
            Some(amount) => format!("{} of {}", gb(phase.moved), gb(amount)),
            None => gb(phase.moved),
        },
        digits(phase.bytes_per_s / 1e6),
        gb(phase.read),
        gb(phase.written),
        gb(phase.left),
        end,
        phase.attribution.as_ref().map_or_else(dash, limits::of_phase),
    ]
}

/// The faults of steps.
pub(crate) fn faults(steps: &[StepFigures]) -> Vec<ResultRow> {
    let all = steps.iter().flat_map(|step| step.faults.iter().map(move |f| (step.index, f)));
    all.flat_map(|(step, fault)| fault_rows(step, fault)).collect()
}

fn fault_rows(step: u32, fault: &FaultOutcome) -> Vec<ResultRow> {
    let spans = [("before", Some(&fault.before)), ("during", Some(&fault.during))];
    let all = spans.into_iter().chain([("after", fault.after.as_ref())]);
    let known = all.filter_map(|(when, span)| Some((when, span?)));
    let row = |(n, (when, span)): (usize, (&str, &FaultSpan))| {
        let named = if n == 0 { event(fault) } else { String::new() };
        let time = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), seconds);
        let cells = vec![
            named,
            when.to_owned(),
            seconds(span.length_ns),
            digits(span.bytes_per_s / 1e6),
            digits(span.iops),
            time(span.p99_ns),
            time(span.max_ns),
            units::count(span.errors as f64),
        ];
        ResultRow { step, cells }
    };
    known.enumerate().map(row).collect()
}

/// A line for each fault with its times to fail over and to recover.
pub(crate) fn times(steps: &[StepFigures]) -> Vec<String> {
    let shown = |ns: Option<u64>| ns.map_or_else(|| "not in this time".to_owned(), seconds);
    let line = |fault: &FaultOutcome| {
        let recover = match fault.until_ns {
            Some(_) => format!("; to recover after its end: {}", shown(fault.recovered_ns)),
            None => String::new(),
        };
        let longest = fault.fail_over_ns.map_or_else(|| "none waited".to_owned(), seconds);
        let longest = match fault.clock_stood_ns {
            Some(ns) => {
                format!("{longest} by its own clock, which stood still for up to {}", seconds(ns))
            }
            None => longest,
        };
        format!(
            "{}: longest I/O while it lasted: {longest}; to throughput again: {}{recover}.",
            clean(&fault.part),
            shown(fault.resumed_ns)
        )
    };
    steps.iter().flat_map(|step| &step.faults).map(line).collect()
}

/// A table for a terminal; gigabytes and errors that are nowhere anything are left out.
pub(crate) fn write(page: &mut ReviewPage, columns: &[ResultColumn], rows: &[ResultRow]) {
    let column = |(n, (name, unit, number)): (usize, &ResultColumn)| {
        let cells = rows.iter().map(|row| row.cells[n].clone());
        let column = match number {
            true => TableColumn::numbers(name, unit),
            false => TableColumn::names(name),
        };
        let column = column.fill(cells);
        // What the others say already goes first where there is no room.
        if matches!(*name, "read" | "written" | "IOPS" | "began") { column.rank(3) } else { column }
    };
    table::write(page, columns.iter().enumerate().map(column).collect());
}

/// The decimal size of all that jobs moved, for headings.
pub(crate) fn moved(steps: &[StepFigures]) -> String {
    gigabytes(steps.iter().flat_map(|step| &step.job).map(|phase| phase.moved).sum())
}
