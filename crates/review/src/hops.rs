//! The hops that matter in each step: what limits it, and which hops are fullest. A simulated lab counts at hundreds of
//! hops; the page and the JSON have all of them.

use crate::limits;
use crate::number::percent;
use crate::paint::{Ink, ReviewPage};
use crate::steps::settings_of;
use crate::table::{self, TableColumn};
use crate::text::clean;
use findings::{Analysis, Attribution, HopLoad, Limiter, StepFigures};
use scenario::Plan;

/// The fullest hops that are named.
pub(crate) const NAMED: usize = 3;

/// A step with the figures of its hops.
pub(crate) struct StepHops<'a> {
    pub step: &'a StepFigures,
    pub judged: &'a Attribution,
    /// The fullest hops, the fullest first.
    pub fullest: Vec<(&'a HopLoad, f64)>,
}

/// The steps in which more than one hop has a known utilization; a single hop cannot be compared.
pub(crate) fn rows(steps: &[StepFigures]) -> Vec<StepHops<'_>> {
    let row = |step| row(step).filter(|row| row.fullest.len() > 1);
    steps.iter().filter_map(row).collect()
}

fn row(step: &StepFigures) -> Option<StepHops<'_>> {
    let judged = step.attribution.as_ref()?;
    let known = |load| Some((load, known(load)?));
    let mut fullest: Vec<(&HopLoad, f64)> = judged.hops.iter().filter_map(known).collect();
    // Stable: of equals the first of the record.
    fullest.sort_by(|a, b| b.1.total_cmp(&a.1));
    fullest.truncate(NAMED);
    Some(StepHops { step, judged, fullest })
}

fn known(load: &HopLoad) -> Option<f64> {
    // Rates are measured: a hop that is a little fuller than full is full.
    load.utilization.filter(|share| share.is_finite()).map(|share| share.min(1.0))
}

/// Whether an answer names a hop.
pub(crate) fn names(limit: &Limiter, hop: &str) -> bool {
    match limit {
        Limiter::Hop { hop: first, also, .. } => first == hop || also.iter().any(|h| h == hop),
        Limiter::Latency { hop: one } | Limiter::PathImbalance { hop: one, .. } => one == hop,
        Limiter::Two { first, second } => first == hop || second == hop,
        Limiter::SlowDrain { hop: port, drain } => port == hop || drain.as_deref() == Some(hop),
        Limiter::Depth
        | Limiter::Generator
        | Limiter::Rate
        | Limiter::Unknown { .. }
        | Limiter::None => false,
    }
}

pub(crate) fn write(page: &mut ReviewPage, analysis: &Analysis) {
    let plans = analysis.steps.chunk_by(|a, b| a.plan == b.plan).count();
    for steps in analysis.steps.chunk_by(|a, b| a.plan == b.plan) {
        let rows = rows(steps);
        if rows.is_empty() {
            continue;
        }
        let name = clean(&steps[0].plan);
        let named = plans > 1 && steps[0].plan != Plan::UNNAMED;
        page.heading(&if named { format!("Hops of {name}") } else { "Hops".to_owned() });
        let all: Vec<&StepFigures> = rows.iter().map(|row| row.step).collect();
        let mut columns = settings_of(&all);
        let limit = |row: &StepHops<'_>| limits::short(row.step, row.judged);
        columns.push(TableColumn::names("limited by").fill(rows.iter().map(limit)));
        let sure = |row: &StepHops<'_>| percent(row.judged.probability);
        columns.push(TableColumn::numbers("sure", "%").fill(rows.iter().map(sure)).rank(3));
        for place in 0..NAMED {
            columns.extend(place_of(&rows, place));
        }
        table::write(page, columns);
    }
}

/// The hops at one place of the order, and how full they are; that which limits is marked.
fn place_of(rows: &[StepHops<'_>], place: usize) -> [TableColumn; 2] {
    let rank = (NAMED - place) as u8;
    let name = |row: &StepHops<'_>| match row.fullest.get(place) {
        Some((load, _)) if names(&row.judged.limit, &load.hop) => {
            (Ink::Bold, format!("◆ {}", clean(&load.hop)))
        }
        Some((load, _)) => (Ink::Plain, format!("  {}", clean(&load.hop))),
        None => (Ink::Plain, String::new()),
    };
    let full =
        |row: &StepHops<'_>| row.fullest.get(place).map(|(_, f)| percent(*f)).unwrap_or_default();
    let heading = ["  fullest", "  second", "  third"][place.min(2)];
    let names = TableColumn::names(heading).fill_inked(rows.iter().map(name));
    let shares = TableColumn::numbers("", "%").fill(rows.iter().map(full));
    if place == 0 { [names, shares] } else { [names.rank(rank), shares.rank(rank)] }
}
