//! The conditions of each step: warm-up, steadiness, completeness, generator overhead, and whether a cache served.

use super::grid::{Column, table};
use super::steps::{named, titled};
use crate::highlights::loops;
use crate::number::{digits, latency, percent};
use crate::text::clean;
use findings::generator::Limit;
use findings::little::Little;
use findings::{Steadiness, StepFigures, Sweep, WarmUpEnd};
use maud::{Markup, html};

/// The table of some steps; the address of a row is `conduct-STEP`.
pub(super) fn table_of(
    steps: &[StepFigures],
    rows: &[&StepFigures],
    sweeps: &[&Sweep],
    plan: Option<&str>,
) -> Markup {
    let seconds = |ns: u64| digits(ns as f64 / 1e9);
    let mut columns = named(steps, sweeps);
    let generator = "generator overhead";
    let cpu = |s: &&StepFigures| if_judged(s, percent(s.generator.cpu_share));
    let own = |s: &&StepFigures| if_judged(s, percent(s.generator.own_share));
    columns.extend([
        Column::words("loop", |s: &&StepFigures| html! { (loops(s.loops)) }),
        Column::words("warm-up", |s: &&StepFigures| html! { (warm_up(s)) }),
        Column::numbers("measured", "s", move |s: &&StepFigures| seconds(s.measured_ns)),
        Column::numbers("planned", "s", move |s: &&StepFigures| seconds(s.planned_ns)),
        Column::words("steady", |s: &&StepFigures| html! { (steady(s)) }),
        Column::words("workers", |s: &&StepFigures| html! { (workers(s)) }),
        Column::words("first done, last done", |s: &&StepFigures| html! { (done(s)) }),
        Column::words("Little's law", |s: &&StepFigures| html! { (little(s)) }),
        Column::words("verdict", |s: &&StepFigures| html! { (limit(s)) }).under(generator),
        Column::numbers("time", "%", own).under(generator),
        Column::numbers("CPU", "%", cpu).under(generator),
    ]);
    let row = |s: &&StepFigures| (Some(format!("conduct-{}", s.index)), "");
    table(&titled("Conditions of each step", plan), &columns, rows, row)
}

/// A figure of the generator, where it reported any.
fn if_judged(step: &StepFigures, figure: String) -> String {
    if step.testimony.is_some() { figure } else { "–".to_owned() }
}

fn warm_up(step: &StepFigures) -> String {
    let lasted = latency(step.warm_up.lasted_ns as f64);
    match step.warm_up.ended {
        WarmUpEnd::AsPlanned => lasted,
        WarmUpEnd::Steady => format!("{lasted}, until steady"),
        WarmUpEnd::NeverSteady => format!("{lasted}, not steady"),
    }
}

fn steady(step: &StepFigures) -> String {
    let moved = |m: &findings::Moved| {
        format!(
            "spread {}% of at most {}%, slope {}% of at most ±{}%",
            percent(m.spread),
            percent(m.spread_max),
            percent(m.slope),
            percent(m.slope_max)
        )
    };
    match &step.steady {
        None => "–".to_owned(),
        Some(Steadiness::TooShort) => "too short to judge".to_owned(),
        Some(Steadiness::Steady(m)) => format!("yes: {}", moved(m)),
        Some(Steadiness::NotSteady(m)) => format!("no: {}", moved(m)),
    }
}

/// How many workers reported everything, and those that did not.
fn workers(step: &StepFigures) -> String {
    const NAMED_MAX: usize = 4;
    let missing: Vec<_> = step.completeness.iter().filter(|c| !c.is_full()).collect();
    let all = step.completeness.len();
    if missing.is_empty() {
        return format!("all {all}");
    }
    let named: Vec<String> = missing
        .iter()
        .take(NAMED_MAX)
        .map(|c| format!("{} {}%", clean(&c.worker), percent(c.share)))
        .collect();
    let more = match missing.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("{} of {all}; reported: {}{more}", all - missing.len(), named.join(", "))
}

fn done(step: &StepFigures) -> String {
    let Some(done) = &step.done else { return "–".to_owned() };
    let finish =
        |f: &findings::Finish| format!("{} {}", clean(&f.worker), latency(f.after_ns as f64));
    if !done.apart() {
        return "together".to_owned();
    }
    format!("{}, {}", finish(&done.first), finish(&done.last))
}

fn little(step: &StepFigures) -> String {
    match &step.little {
        Little::Agrees { worst, .. } => format!("agrees within {}%", percent(*worst)),
        Little::Contradicts { worker, worst, .. } => {
            format!("contradicted by {} ({}%)", clean(worker), percent(*worst))
        }
        Little::DepthExceeded { worker, depth, in_flight } => {
            format!("{}: {} in flight, depth {depth}", clean(worker), digits(*in_flight))
        }
        Little::NotApplicable => "–".to_owned(),
    }
}

fn limit(step: &StepFigures) -> String {
    let word = match step.generator.limit {
        Limit::NoTestimony => return "–".to_owned(),
        Limit::NotLimited => "had room",
        Limit::Suspect => "suspect",
        Limit::Limited => "limited the step",
        Limit::OwnCost => "own cost, as asked",
    };
    match step.generator.reasons.is_empty() {
        true => word.to_owned(),
        false => format!("{word}: {}", clean(&step.generator.reasons.join("; "))),
    }
}

/// What the devices moved, beside what workers requested.
pub(super) fn served(steps: &[StepFigures], plan: Option<&str>) -> Markup {
    struct ConditionRow<'a> {
        step: &'a StepFigures,
        served: &'a findings::Served,
        /// Whether it is the step's first row, which has the step's anchor.
        first: bool,
    }
    let rows: Vec<ConditionRow<'_>> = steps
        .iter()
        .flat_map(|step| {
            step.served.iter().enumerate().map(move |(i, served)| ConditionRow {
                step,
                served,
                first: i == 0,
            })
        })
        .collect();
    if rows.is_empty() {
        return html! {};
    }
    let traffic = |t: Option<findings::Traffic>| match t {
        None => "–".to_owned(),
        Some(t) => format!(
            "{} of {} bytes: {}%",
            digits(t.device_bytes),
            digits(t.asked_bytes),
            percent(t.ratio)
        ),
    };
    let columns = [
        Column::words(
            "step",
            |r: &ConditionRow<'_>| html! { (u64::from(r.step.index) + 1) " · " (clean(&r.step.label())) },
        ),
        Column::words(
            "devices",
            |r: &ConditionRow<'_>| html! { (clean(&r.served.devices.join(", "))) },
        ),
        Column::words(
            "under",
            |r: &ConditionRow<'_>| html! { (clean(&r.served.targets.join(", "))) },
        ),
        Column::words(
            "page cache",
            |r: &ConditionRow<'_>| html! { (if r.served.direct { "bypassed" } else { "in use" }) },
        ),
        Column::words(
            "read by the devices",
            move |r: &ConditionRow<'_>| html! { (traffic(r.served.read)) },
        ),
        Column::words(
            "written by the devices",
            move |r: &ConditionRow<'_>| html! { (traffic(r.served.write)) },
        ),
        Column::words(
            "unknown because",
            |r: &ConditionRow<'_>| html! { (r.served.unknown.as_deref().map(clean).unwrap_or_default()) },
        ),
    ];
    let row = |r: &ConditionRow<'_>| (r.first.then(|| format!("served-{}", r.step.index)), "");
    html! {
        details {
            summary { "Whether a cache or the devices served" }
            (table(&titled("What the devices moved, beside what workers requested", plan), &columns, &rows, row))
        }
    }
}
