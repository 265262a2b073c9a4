//! Charts of a comparison: every difference with its interval as a forest plot, and what each side did over its time.

use super::figure::{short, with};
use super::palette::MUTED;
use super::{Chart, word};
use crate::comparison::words::{self, change, letter};
use findings::Comparison;
use findings::Unit;
use findings::comparison::{Against, MetricPair, Opinion, Series, StepPair};
use serde_json::{Value, json};

/// Steps that are drawn; the tables have all.
const STEPS_MAX: usize = 24;
/// Height of a row of the forest, and of what is around it, in CSS pixels.
const ROW: u32 = 19;
const AROUND: u32 = 110;
/// The axis ends here, so that one wide interval does not squeeze the others; the reader may zoom out.
const PERCENT_MAX: f64 = 200.0;
/// An interval without an end is drawn this far.
const ENDLESS: f64 = 1e6;

pub(crate) fn comparison(comparison: &Comparison) -> Vec<Chart> {
    let mut charts = Vec::new();
    for against in &comparison.against {
        let drawn = || against.steps.iter().take(STEPS_MAX).enumerate();
        charts.extend(drawn().filter_map(|(i, step)| forest(comparison, against, i, step)));
        charts.extend(drawn().filter_map(|(i, step)| overlay(against, i, step)));
    }
    charts
}

/// The metrics of a step with their intervals, the first on top.
fn forest(comparison: &Comparison, against: &Against, at: usize, step: &StepPair) -> Option<Chart> {
    let rows: Vec<&MetricPair> =
        step.metrics.iter().filter(|m| m.interval.is_some() && m.unit != Unit::Percent).collect();
    if rows.is_empty() {
        return None;
    }
    let other = letter(against.run);
    let data: Vec<Value> = [Opinion::Better, Opinion::Worse, Opinion::Differs, Opinion::Undecided]
        .into_iter()
        .filter_map(|opinion| trace(&rows, opinion))
        .collect();
    // Named by its metrics, so that rows without a verdict keep their place.
    let names: Vec<&str> = rows.iter().rev().map(|m| m.metric.name()).collect();
    let line = |x: f64, dash: &str| {
        json!({ "type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1,
                "line": { "color": MUTED, "width": 1, "dash": dash } })
    };
    let sought = comparison.sought * 100.0;
    let note = format!(
        "{} against A: change with its {:.0}% interval. Dotted: the {sought}% that are sought. {}",
        other,
        comparison.confidence * 100.0,
        match step.evidence.is_observed() {
            true => "Nobody set the load: rates are what was asked for.".to_owned(),
            false => format!(
                "More is better of rates, less of latency ({}) and CPU time.",
                words::latency(step.latency)
            ),
        }
    );
    Some(Chart {
        id: format!("forest-{}-{at}", against.run),
        title: format!("Differences: {}", word(&step.label)),
        alt: format!("{note} The table of this step holds the numbers."),
        note,
        height: AROUND + ROW * u32::try_from(rows.len()).unwrap_or(ROW),
        wide: false,
        figure: json!({ "data": data, "layout": {
            "xaxis": { "title": { "text": "Change from A (%)" }, "zeroline": false, "range": range(&rows, sought), "hoverformat": ".3~g" },
            "yaxis": { "type": "category", "categoryorder": "array", "categoryarray": names, "automargin": true },
            "shapes": [line(0.0, "solid"), line(sought, "dot"), line(-sought, "dot")],
            "legend": { "orientation": "h" },
        }}),
        steps: step.baseline.clone(),
    })
}

/// What the axis shows at first: every interval, as far as it goes.
fn range(rows: &[&MetricPair], sought: f64) -> [f64; 2] {
    let ends = rows.iter().filter_map(|m| m.interval).flatten().map(|v| v * 100.0);
    let (low, high) = ends.fold((-sought, sought), |(l, h), v| (v.min(l), v.max(h)));
    let (low, high) = (low.max(-100.0), high.min(PERCENT_MAX));
    let margin = (high - low) * 0.05;
    [short(low - margin), short(high + margin)]
}

/// The rows that came out one way.
fn trace(rows: &[&MetricPair], wanted: Opinion) -> Option<Value> {
    let (title, color) = match wanted {
        Opinion::Better => ("better", "var(--good)"),
        Opinion::Worse => ("worse", "var(--bad)"),
        Opinion::Differs => ("differs", "var(--caution)"),
        Opinion::Undecided => ("undecided", MUTED),
    };
    let of = |m: &&&MetricPair| m.opinion == wanted;
    let percent = |v: f64| short((v * 100.0).clamp(-100.0, ENDLESS));
    let (mut x, mut y, mut up, mut down, mut text) = (vec![], vec![], vec![], vec![], vec![]);
    for m in rows.iter().filter(of) {
        let (Some(d), Some([low, high])) = (m.difference, m.interval) else { continue };
        let (d, low, high) = (percent(d), percent(low), percent(high));
        x.push(d);
        y.push(m.metric.name());
        up.push(short(high - d));
        down.push(short(d - low));
        text.push(m.interval.map_or(String::new(), |[l, h]| {
            format!("{} to {}", change(l, m.unit), change(h, m.unit))
        }));
    }
    (!x.is_empty()).then(|| {
        let trace = json!({ "type": "scatter", "mode": "markers", "name": title, "x": x, "y": y, "text": text,
            "marker": { "color": color, "size": 8 },
            "hovertemplate": "%{y}: %{x:.3~g}% (%{text})<extra></extra>" });
        let bars = json!({ "type": "data", "symmetric": false, "array": up, "arrayminus": down,
                           "color": color, "thickness": 1.5, "width": 4 });
        with(trace, "error_x", bars)
    })
}

/// What both sides did over their measured time, on one axis.
fn overlay(against: &Against, at: usize, step: &StepPair) -> Option<Chart> {
    if step.series.iter().any(|side| side.iter().all(|s| s.iops.len() < 2)) {
        return None;
    }
    let (unit, divisor) = time_unit(step);
    let observed = step.evidence.is_observed();
    let side = |n: usize, name: String| {
        let color = format!("var(--source-{})", n + 1);
        step.series[n]
            .iter()
            .enumerate()
            .map(move |(i, series)| curve((series, divisor), &name, &color, i == 0))
            .collect::<Vec<Value>>()
    };
    let data = [side(0, "A".to_owned()), side(1, letter(against.run))].concat();
    let note = format!(
        "Operations a second over the {}, {}.",
        if observed { "window" } else { "measured time" },
        if step.series.iter().any(|s| s.len() > 1) {
            "a line for each repetition"
        } else {
            "from its beginning"
        }
    );
    Some(Chart {
        id: format!("series-{}-{at}", against.run),
        title: format!("Over time: {}", word(&step.label)),
        alt: format!("{note} {}", words::step_name(step)),
        note,
        height: 300,
        wide: false,
        figure: json!({ "data": data, "layout": {
            "xaxis": { "title": { "text": format!("{} ({unit})", if observed { "Time" } else { "Measured time" }) }, "showgrid": false, "hoverformat": "~r" },
            "yaxis": { "title": { "text": "Operations (IOPS)" }, "rangemode": "tozero" },
            "legend": { "orientation": "h" },
        }}),
        steps: step.baseline.clone(),
    })
}

/// The unit of a time axis, and its seconds: hours and days for what is watched that long.
fn time_unit(step: &StepPair) -> (&'static str, f64) {
    let length = |series: &Series| series.seconds as f64 * series.iops.len() as f64;
    match step.series.iter().flatten().map(length).fold(0.0, f64::max) {
        s if s >= 2.0 * 86_400.0 => ("days", 86_400.0),
        s if s >= 7200.0 => ("h", 3600.0),
        _ => ("s", 1.0),
    }
}

fn curve((series, divisor): (&Series, f64), name: &str, color: &str, first: bool) -> Value {
    let x: Vec<f64> = (0..series.iops.len())
        .map(|i| (i as f64 + 0.5) * series.seconds as f64 / divisor)
        .collect();
    let y: Vec<f64> = series.iops.iter().copied().map(short).collect();
    json!({ "type": "scatter", "mode": "lines", "name": name, "legendgroup": name, "showlegend": first, "x": x, "y": y,
            "line": { "color": color, "width": 1.5 },
            "hovertemplate": format!("%{{y:,.4~r}} IOPS<extra>{name}</extra>") })
}
