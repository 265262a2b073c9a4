//! The figures: one table a plan, a step a row, and the balance of its VMs or targets.

use crate::highlights;
use crate::number::{TimeUnit, bar, digits, percent};
use crate::paint::{Ink, ReviewPage};
use crate::proof;
use crate::results;
use crate::table::{self, TableColumn};
use crate::text::clean;
use findings::knee::Answer;
use findings::{Analysis, IoFigures, Latency, Loops, StepFigures, Sweep, Unit};
use scenario::Plan;

/// Columns of the longest bar.
const BAR: usize = 8;

pub(crate) fn write(page: &mut ReviewPage, analysis: &Analysis) {
    for steps in analysis.steps.chunk_by(|a, b| a.plan == b.plan) {
        // The tables of network loads have them.
        if steps.iter().all(StepFigures::network_only) {
            continue;
        }
        let sweeps: Vec<&Sweep> =
            analysis.sweeps.iter().filter(|s| s.plan == steps[0].plan).collect();
        if steps.iter().all(StepFigures::is_job) {
            job(page, steps);
            continue;
        }
        plan(page, steps, &sweeps);
        ended(page, steps);
        faults(page, steps);
        proof(page, steps);
        balance(page, steps);
    }
}

/// The phases of a plan that is a job.
fn job(page: &mut ReviewPage, steps: &[StepFigures]) {
    let name = clean(&steps[0].plan);
    page.heading(if steps[0].plan == Plan::UNNAMED { "Job" } else { &name });
    let text = format!("a job of phases, which moved {}", results::moved(steps));
    page.hanging("  ", Ink::Plain, &text, Ink::Dim);
    results::write(page, &results::PHASES, &results::phases(steps));
}

/// The loads of a plan that end, below its figures.
fn ended(page: &mut ReviewPage, steps: &[StepFigures]) {
    let rows = results::phases(steps);
    if rows.is_empty() {
        return;
    }
    page.gap();
    page.hanging("  ", Ink::Plain, results::ENDED, Ink::Dim);
    results::write(page, &results::PHASES, &rows);
}

/// What the faults of a plan did.
fn faults(page: &mut ReviewPage, steps: &[StepFigures]) {
    let rows = results::faults(steps);
    if rows.is_empty() {
        return;
    }
    page.gap();
    page.hanging("  ", Ink::Plain, "Planned faults: the load before, during and after", Ink::Dim);
    results::write(page, &results::FAULTS, &rows);
    for line in results::times(steps) {
        page.hanging("  ", Ink::Plain, &line, Ink::Plain);
    }
}

/// What the rounds that prove the limits of a plan's steps changed.
fn proof(page: &mut ReviewPage, steps: &[StepFigures]) {
    let (rows, lines) = (proof::rows(steps), proof::lines(steps));
    if lines.is_empty() {
        return;
    }
    page.gap();
    page.hanging("  ", Ink::Plain, proof::HEADING, Ink::Dim);
    if !rows.is_empty() {
        results::write(page, &proof::COLUMNS, &rows);
    }
    for line in lines {
        page.hanging("  ", Ink::Plain, &line, Ink::Plain);
    }
}

/// The table of one plan.
fn plan(page: &mut ReviewPage, steps: &[StepFigures], sweeps: &[&Sweep]) {
    let name = clean(&steps[0].plan);
    page.heading(if steps[0].plan == Plan::UNNAMED { "Steps" } else { &name });
    page.hanging("  ", Ink::Plain, loops_told(steps), Ink::Dim);
    let mut columns = settings(steps);
    columns.extend(work(steps));
    columns.extend(latencies(steps));
    columns.extend(others(steps));
    columns.extend(load(steps));
    if steps.len() > 1 {
        columns.push(bars(steps, sweeps));
    }
    table::write(page, columns);
}

/// Which loops the steps ran, and which latency that makes.
pub(crate) fn loops_told(steps: &[StepFigures]) -> &'static str {
    let all = |loops: Loops| steps.iter().all(|s| s.loops == loops);
    match (all(Loops::Closed), all(Loops::Open)) {
        _ if all(Loops::Observed) => "observed load: latency is the mean that its source reports",
        _ if steps.iter().all(|s| s.total.both.means_only()) => {
            "means only: latency is service time, from submission to completion"
        }
        (true, _) => "closed loop: latency is service time, from submission to completion",
        (_, true) => "open loop: latency is response time, from the moment an operation was due",
        _ => {
            "closed and open loops: latency is response time where operations fall due, else service time"
        }
    }
}

fn settings(steps: &[StepFigures]) -> Vec<TableColumn> {
    settings_of(&steps.iter().collect::<Vec<_>>())
}

/// A column for each setting, and one for the repetition where there are any; a row for each step, which may come again.
pub(crate) fn settings_of(steps: &[&StepFigures]) -> Vec<TableColumn> {
    let mut keys: Vec<&str> = Vec::new();
    for (key, _) in steps.iter().flat_map(|s| &s.settings) {
        if !keys.contains(&key.as_str()) {
            keys.push(key);
        }
    }
    let mut columns: Vec<TableColumn> = keys
        .iter()
        .map(|key| {
            let value = |s: &StepFigures| {
                s.settings.iter().find(|(k, _)| k == key).map(|(_, v)| clean(v)).unwrap_or_default()
            };
            let amounts = steps.iter().all(|s| value(s).starts_with(|c: char| c.is_ascii_digit()));
            let key = clean(key);
            let column =
                if amounts { TableColumn::numbers(&key, "") } else { TableColumn::names(&key) };
            column.fill(steps.iter().map(|s| value(s)))
        })
        .collect();
    if steps.iter().any(|s| s.repetition > 0) || (keys.is_empty() && steps.len() > 1) {
        let run = |s: &&StepFigures| (u64::from(s.repetition) + 1).to_string();
        columns.push(TableColumn::numbers("run", "").fill(steps.iter().map(run)));
    }
    columns
}

fn work(steps: &[StepFigures]) -> Vec<TableColumn> {
    let numbers = |name: &str, unit: &str, of: &dyn Fn(&StepFigures) -> f64| {
        TableColumn::numbers(name, unit).fill(steps.iter().map(|s| digits(of(s))))
    };
    let mut columns = Vec::new();
    if steps.iter().any(|s| s.offered_iops > 0.0) {
        columns.push(numbers("offered", "1/s", &|s| s.offered_iops).rank(6));
    }
    let iops = |s: &StepFigures| highlights::iops(s).unwrap_or_else(|| "-".to_owned());
    columns.extend([
        TableColumn::numbers("IOPS", "1/s").fill(steps.iter().map(iops)),
        numbers("total", "MB/s", &|s| s.total.both.bytes_per_s / 1e6),
    ]);
    if steps.iter().any(|s| s.uncertainty().is_some()) {
        let share = |s: &StepFigures| s.uncertainty().map_or("-".to_owned(), percent);
        columns.push(TableColumn::numbers("±", "%").fill(steps.iter().map(share)).rank(6));
    }
    // Where one direction is idle in every step, the total says it all.
    let some = |of: &dyn Fn(&StepFigures) -> u64| steps.iter().any(|s| of(s) > 0);
    if some(&|s| s.total.read.bytes) && some(&|s| s.total.write.bytes) {
        columns
            .push(numbers("read", "MB/s", &|s| s.total.read.bytes_per_s / 1e6).rank(5).with_next());
        columns.push(numbers("write", "MB/s", &|s| s.total.write.bytes_per_s / 1e6).rank(5));
    }
    if steps.iter().any(|s| fullest(s).is_some()) {
        let share = |s: &StepFigures| fullest(s).map_or("-".to_owned(), percent);
        columns.push(TableColumn::numbers("of port", "%").fill(steps.iter().map(share)).rank(4));
    }
    if steps.iter().any(|s| s.total.transactions_per_s.is_some()) {
        columns
            .push(numbers("trans.", "1/s", &|s| s.total.transactions_per_s.unwrap_or(0.0)).rank(6));
    }
    if some(&|s| s.total.both.errors) {
        let errors = |s: &StepFigures| {
            let ink = if s.total.both.errors > 0 { Ink::Bad } else { Ink::Plain };
            (ink, digits(s.total.both.errors as f64))
        };
        columns.push(TableColumn::numbers("errors", "").fill_inked(steps.iter().map(errors)));
    }
    columns
}

/// The share of its speed that the fullest port of a step carried, in its fuller direction.
pub(crate) fn fullest(step: &StepFigures) -> Option<f64> {
    step.ports.iter().filter_map(findings::PortLoad::fullest).max_by(f64::total_cmp)
}

/// The unit of the latencies that `of` chooses: that of their medians, or of their means where no median is known.
pub(crate) fn time_unit<'a>(flows: impl Iterator<Item = &'a IoFigures>) -> TimeUnit {
    let middle =
        |f: &IoFigures| f.latency().map(|l| l.p50_ns).or(f.mean_ns.map(|mean| mean.round() as u64));
    TimeUnit::of(flows.filter_map(middle).collect())
}

fn latencies(steps: &[StepFigures]) -> Vec<TableColumn> {
    let of = |s: &StepFigures| s.total.both.latency();
    let unit = time_unit(steps.iter().map(|s| &s.total.both));
    let column = |name: &str, point: fn(&Latency) -> u64| {
        let cell = |s: &StepFigures| of(s).map_or("-".to_owned(), |l| unit.show(point(&l)));
        TableColumn::numbers(name, unit.name).fill(steps.iter().map(cell))
    };
    let mean = |s: &StepFigures| {
        s.total.both.mean_latency_ns().map_or("-".to_owned(), |ns| unit.show(ns.round() as u64))
    };
    let means = steps.iter().any(|s| s.total.both.means_only());
    let mut columns = Vec::new();
    // Where a step both reads and writes, each has its own latency beside the other's.
    let mixed = steps.iter().any(|s| s.total.read.ops > 0 && s.total.write.ops > 0);
    let side = |name: &str, of: fn(&StepFigures) -> &IoFigures| {
        let cell =
            move |s: &StepFigures| of(s).latency().map_or("-".to_owned(), |l| unit.show(l.p99_ns));
        TableColumn::numbers(name, unit.name).fill(steps.iter().map(cell))
    };
    columns.extend(
        means.then(|| TableColumn::numbers("mean", unit.name).fill(steps.iter().map(mean))),
    );
    columns.extend([
        column("p50", |l| l.p50_ns),
        column("p99", |l| l.p99_ns),
        column("p99.9", |l| l.p999_ns).rank(if mixed { 5 } else { 4 }),
        column("max", |l| l.max_ns),
    ]);
    if mixed {
        columns.push(side("read p99", |s| &s.total.read).rank(4).with_next());
        columns.push(side("write p99", |s| &s.total.write).rank(4));
    }
    columns
}

/// The kinds of operations that move no data: the name of each, and its figures in a step.
pub(crate) type OtherKind = (&'static str, fn(&StepFigures) -> Option<&IoFigures>);

/// Those that the steps have.
pub(crate) fn other_kinds(steps: &[StepFigures]) -> impl Iterator<Item = OtherKind> + '_ {
    let all: [OtherKind; 3] = [
        ("trim", |s| s.total.others.trim.as_ref()),
        ("zeroes", |s| s.total.others.zeroes.as_ref()),
        ("flush", |s| s.total.others.flush.as_ref()),
    ];
    all.into_iter().filter(|(_, of)| steps.iter().any(|step| of(step).is_some()))
}

/// Operations that move no data: how many, and the latency of each kind.
fn others(steps: &[StepFigures]) -> Vec<TableColumn> {
    let mut columns = Vec::new();
    for (name, of) in other_kinds(steps) {
        let unit = time_unit(steps.iter().filter_map(of));
        let rate = |s: &StepFigures| of(s).map_or("-".to_owned(), |f| digits(f.iops));
        let p99 = |s: &StepFigures| {
            let latency = of(s).and_then(IoFigures::latency);
            latency.map_or("-".to_owned(), |l| unit.show(l.p99_ns))
        };
        columns.push(TableColumn::numbers(name, "1/s").fill(steps.iter().map(rate)).rank(5));
        let title = format!("{name} p99");
        columns.push(TableColumn::numbers(&title, unit.name).fill(steps.iter().map(p99)).rank(5));
    }
    columns
}

/// Mean operations in flight, and the generator's own time.
fn load(steps: &[StepFigures]) -> Vec<TableColumn> {
    if steps.iter().all(|s| s.testimony.is_none()) {
        return Vec::new();
    }
    let flight = |s: &StepFigures| s.total.in_flight.map_or("-".to_owned(), digits);
    let own = |s: &StepFigures| match s.testimony {
        Some(_) => percent(s.generator.own_share),
        None => "-".to_owned(),
    };
    vec![
        TableColumn::numbers("in flight", "mean").fill(steps.iter().map(flight)).rank(2),
        TableColumn::numbers("gen", "%").fill(steps.iter().map(own)).rank(3),
    ]
}

/// The work of each step as a bar, with the knee where the plan has one curve.
fn bars(steps: &[StepFigures], sweeps: &[&Sweep]) -> TableColumn {
    let bytes = sweeps.first().is_some_and(|s| s.unit == Unit::BytesPerS);
    let work = |s: &StepFigures| if bytes { s.total.both.bytes_per_s } else { s.total.both.iops };
    let most = steps.iter().map(work).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let cell = |s: &StepFigures| {
        let bar = bar(work(s) / most, BAR);
        let text = if is_knee(s, sweeps) { format!("{bar} knee") } else { bar };
        (Ink::Accent, text)
    };
    let name = if bytes { "MB/s" } else { "IOPS" };
    TableColumn::names(name).fill_inked(steps.iter().map(cell)).rank(1)
}

/// Whether a step is the knee of a curve of its plan.
pub(crate) fn is_knee(step: &StepFigures, sweeps: &[&Sweep]) -> bool {
    let on_curve = |sweep: &&&Sweep| sweep.fixed.iter().all(|s| step.settings.contains(s));
    sweeps.iter().filter(on_curve).any(|sweep| match &sweep.knee {
        Answer::At { value, .. } => {
            step.settings.iter().any(|(k, v)| *k == sweep.axis && v == value)
        }
        _ => false,
    })
}

/// The balance of each step, where two or more VMs or targets did the same.
fn balance(page: &mut ReviewPage, steps: &[StepFigures]) {
    let rows: Vec<_> = steps.iter().flat_map(|s| s.balance.iter().map(move |b| (s, b))).collect();
    if rows.is_empty() {
        return;
    }
    page.gap();
    page.hanging(
        "  ",
        Ink::Plain,
        "Balance over VMs or targets that run the same workload",
        Ink::Dim,
    );
    let mut columns = settings(steps);
    if rows.len() != steps.len() {
        // Several workloads in a step: a row for each.
        columns = vec![
            TableColumn::names("step").fill(rows.iter().map(|(s, _)| clean(&s.settings_label()))),
        ];
        let workloads = rows.iter().map(|(_, b)| clean(&b.workloads.join("+")));
        columns.push(TableColumn::names("workload").fill(workloads));
    }
    let share = |most: bool| {
        rows.iter().map(move |(_, b)| {
            let by_rate = b.shares.iter().map(|s| (s.bytes_per_s, s.group.as_str()));
            let end = if most {
                by_rate.max_by(|x, y| x.0.total_cmp(&y.0))
            } else {
                by_rate.min_by(|x, y| x.0.total_cmp(&y.0))
            };
            end.unwrap_or((0.0, ""))
        })
    };
    let rate = |(bytes, _): (f64, &str)| digits(bytes / 1e6);
    let name = |(_, name): (f64, &str)| clean(name);
    columns.extend([
        TableColumn::numbers("n", "").fill(rows.iter().map(|(_, b)| b.shares.len().to_string())),
        TableColumn::numbers("mean", "MB/s")
            .fill(rows.iter().map(|(_, b)| digits(b.mean_bytes_per_s / 1e6))),
        TableColumn::numbers("least", "MB/s").fill(share(false).map(rate)),
        TableColumn::names("").fill(share(false).map(name)).rank(1),
        TableColumn::numbers("most", "MB/s").fill(share(true).map(rate)),
        TableColumn::names("").fill(share(true).map(name)).rank(1),
        TableColumn::numbers("spread", "%").fill(rows.iter().map(|(_, b)| percent(b.spread))),
        TableColumn::numbers("Jain", "").fill(rows.iter().map(|(_, b)| format!("{:.4}", b.jain))),
    ]);
    table::write(page, columns);
}
