//! Work over the load, with the knee marked: throughput and operations a second, repetitions as dots.

use super::figure::{View, figure, short, with};
use super::palette::{MUTED, OPERATIONS, THROUGHPUT, ordered};
use super::trace::{ErrorBars, Line, Marker, MarkerSymbol, Mode, Trace};
use super::{Chart, word};
use crate::fabric;
use findings::evidence::{Mean, SweepPoint, SweepRun, SweepSeries};
use findings::knee::Answer;
use findings::{Analysis, Evidence, Sweep, Unit};
use serde_json::{Value, json};

/// From this ratio of the largest to the smallest load on the axis is logarithmic.
const LOG_FROM: f64 = 8.0;
/// Values that have room at the axis.
const TICKS_MAX: f64 = 14.0;
/// Curves that the menu of a chart offers.
const VIEWS_MAX: usize = 12;

/// A curve with the repetitions behind it.
type SweepCurve<'a> = (&'a Sweep, &'a SweepSeries);

/// A chart for every axis of every plan; what the other axes stood at is chosen by a menu.
pub(super) fn charts(analysis: &Analysis, evidence: &Evidence) -> Vec<Chart> {
    let mut axes: Vec<Vec<SweepCurve<'_>>> = Vec::new();
    for series in &evidence.sweeps {
        let Some(sweep) = analysis.sweeps.get(series.sweep) else { continue };
        if sweep.points.is_empty() {
            continue;
        }
        let same =
            |c: &&mut Vec<SweepCurve<'_>>| c[0].0.plan == sweep.plan && c[0].0.axis == sweep.axis;
        match axes.iter_mut().find(same) {
            Some(curves) => curves.push((sweep, series)),
            None => axes.push(vec![(sweep, series)]),
        }
    }
    axes.iter().map(|curves| chart(analysis, curves)).collect()
}

/// The chart that shows a curve, called by the first curve of its plan and axis.
pub(super) fn id(analysis: &Analysis, index: usize) -> Option<String> {
    let sweep = analysis.sweeps.get(index).filter(|s| !s.points.is_empty())?;
    let beside = |s: &Sweep| s.plan == sweep.plan && s.axis == sweep.axis && !s.points.is_empty();
    Some(format!("sweep-{}", analysis.sweeps.iter().position(beside)?))
}

fn chart(analysis: &Analysis, curves: &[SweepCurve<'_>]) -> Chart {
    let (first, series) = curves[0];
    let (plan, axis) = (word(&first.plan), word(&first.axis));
    let mut views = Vec::new();
    if curves.len() > 1 {
        views.push(all(analysis, curves));
    }
    views.extend(curves.iter().take(VIEWS_MAX).map(|curve| one(analysis, curve)));
    let mut note = match curves {
        [(sweep, _)] => knee_sentence(sweep),
        _ => "Stars mark the knees; the menu shows one curve with its repetitions.".to_owned(),
    };
    let repeated = curves.iter().any(|(_, s)| s.points.iter().any(|p| p.runs.len() > 1));
    if repeated {
        note.push_str(" Dots are the repetitions, bars the standard error of their mean.");
    }
    if curves.len() > VIEWS_MAX {
        note.push_str(&format!(
            " The menu offers the first {VIEWS_MAX} of {} curves; the tables have all.",
            curves.len()
        ));
    }
    let both = curves.len() == 1;
    let steps = curves.iter().flat_map(|(_, s)| &s.points).flat_map(|p| &p.runs).map(|r| r.step);
    Chart {
        id: format!("sweep-{}", series.sweep),
        title: format!("Work over {axis}: {plan}"),
        alt: format!("Throughput in MB/s and operations a second over {axis}. {note}"),
        note,
        height: 380,
        wide: !both,
        figure: figure(views, layout(analysis, curves, &axis)),
        steps: steps.collect(),
    }
}

/// One curve: throughput on the left, operations on the right.
fn one(analysis: &Analysis, (sweep, series): &SweepCurve<'_>) -> View {
    let points = &series.points;
    // Over anything but block sizes both curves are one and the same: dots let the other be seen beneath.
    let dotted = json!({ "color": OPERATIONS, "width": 2, "dash": "dot" });
    let iops = means(points, "Operations", "IOPS", OPERATIONS, 1.0, |p| p.iops);
    let mut traces = vec![
        means(points, "Throughput", "MB/s", THROUGHPUT, 1e6, |p| p.bytes_per_s),
        with(with(iops, "yaxis", json!("y2")), "line", dotted),
    ];
    if points.iter().any(|p| p.runs.len() > 1 || p.runs.iter().any(|r| !r.complete)) {
        let dots = |unit, color, scale, of| runs(points, unit, color, scale, of);
        traces.push(dots("MB/s", THROUGHPUT, 1e6, |r| r.bytes_per_s));
        let iops = dots("IOPS", OPERATIONS, 1.0, |r| r.iops);
        traces.push(with(iops, "yaxis", json!("y2")));
    }
    let knee = knee(sweep, points);
    let limit = ports_limit(analysis, series);
    let level = limit.iter().map(|l| level(l.bytes_per_s, THROUGHPUT));
    let named = limit.iter().map(level_name);
    View {
        label: fixed(sweep),
        traces,
        shapes: knee.iter().map(|(x, _)| upright(*x)).chain(level).collect(),
        annotations: knee.iter().map(|(x, value)| name(*x, value, points)).chain(named).collect(),
    }
}

/// Every curve in what it counts, with its knee.
fn all(analysis: &Analysis, curves: &[SweepCurve<'_>]) -> View {
    let mut traces = Vec::new();
    let (mut shapes, mut annotations) = (Vec::new(), Vec::new());
    let bytes = curves[0].0.unit == Unit::BytesPerS;
    for (n, (sweep, series)) in curves.iter().enumerate() {
        let color = ordered(n, curves.len());
        let (unit, scale) = if bytes { ("MB/s", 1e6) } else { ("IOPS", 1.0) };
        let of: fn(&SweepPoint) -> Option<Mean> =
            if bytes { |p| p.bytes_per_s } else { |p| p.iops };
        let label = fixed(sweep);
        if let Some(limit) = ports_limit(analysis, series).filter(|_| bytes) {
            shapes.push(level(limit.bytes_per_s, &color));
            annotations.push(level_name(&limit));
        }
        let line = means(&series.points, &label, unit, &color, scale, of);
        let line = with(line, "yaxis", json!(if bytes { "y" } else { "y2" }));
        traces.push(with(line, "legendgroup", json!(format!("c{n}"))));
        let at = knee(sweep, &series.points);
        let Some(point) = at.and_then(|(x, _)| series.points.iter().find(|p| p.load == x)) else {
            continue;
        };
        let y = of(point).map(|m| short(m.mean / scale));
        let star = Trace::scatter(vec![point.load], vec![y])
            .mode(Mode::Markers)
            .marker(Marker::new().color(color).symbol(MarkerSymbol::Star).size(14))
            .show_legend(false)
            .hover_template(format!("knee of {label}<extra></extra>"));
        let star = with(star.json(), "legendgroup", json!(format!("c{n}")));
        traces.push(with(star, "yaxis", json!(if bytes { "y" } else { "y2" })));
    }
    let label = "All curves".to_owned();
    View { label, traces, shapes, annotations }
}

/// What the ports that the work of a curve went through carry together.
struct PortsLimit {
    bytes_per_s: f64,
    name: String,
}

/// The limit of a curve whose steps used ports of equal speed: the sum of all ports in each loaded direction.
fn ports_limit(analysis: &Analysis, series: &SweepSeries) -> Option<PortsLimit> {
    let runs = series.points.iter().flat_map(|p| &p.runs);
    let mut limits = runs.map(|run| {
        let step = analysis.steps.iter().find(|s| s.index == run.step)?;
        let rates: Option<Vec<f64>> = step.ports.iter().map(|p| p.rate_bytes_per_s).collect();
        let rates = rates.filter(|rates| !rates.is_empty())?;
        let directions = [&step.total.read, &step.total.write];
        let ways = directions.iter().filter(|flow| flow.ops > 0).count();
        let bytes_per_s = rates.iter().sum::<f64>() * ways as f64;
        Some(PortsLimit { bytes_per_s, name: fabric::speeds(&step.ports, ways) })
    });
    let first = limits.next()??;
    let same = |limit: Option<PortsLimit>| limit.is_some_and(|l| l.name == first.name);
    limits.all(same).then_some(first)
}

/// A dotted line at what the ports carry.
fn level(bytes_per_s: f64, color: &str) -> Value {
    let y = short(bytes_per_s / 1e6);
    json!({ "type": "line", "xref": "paper", "yref": "y", "x0": 0, "x1": 1, "y0": y, "y1": y, "layer": "below",
            "line": { "color": color, "dash": "dot", "width": 1.5 } })
}

/// Its name; in the colour of words, since the faint end of the ramp is for lines.
fn level_name(limit: &PortsLimit) -> Value {
    json!({ "x": 0, "y": short(limit.bytes_per_s / 1e6), "xref": "paper", "yref": "y", "text": word(&limit.name),
            "showarrow": false, "yanchor": "bottom", "xanchor": "left", "xshift": 3, "font": { "color": MUTED } })
}

fn means(
    points: &[SweepPoint],
    name: &str,
    unit: &str,
    color: &str,
    scale: f64,
    of: fn(&SweepPoint) -> Option<Mean>,
) -> Value {
    let y: Vec<Option<f64>> = points.iter().map(|p| Some(short(of(p)?.mean / scale))).collect();
    let mut line = Trace::scatter(points.iter().map(|p| p.load).collect(), y)
        .name(name)
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(color.to_owned()).width(2.0))
        .marker(Marker::new().color(color.to_owned()).size(6))
        .hover_template(format!("%{{y:,.4~r}} {unit}<extra>{name}</extra>"));
    let errors: Vec<f64> =
        points.iter().map(|p| short(of(p).and_then(|m| m.error).unwrap_or(0.0) / scale)).collect();
    if errors.iter().any(|e| *e > 0.0) {
        let bars = ErrorBars::new().array(errors).color(color.to_owned());
        line = line.error_y(bars.thickness(1.0).width(4));
    }
    line.json()
}

/// Single repetitions; those that are incomplete are hollow.
fn runs(
    points: &[SweepPoint],
    unit: &str,
    color: &str,
    scale: f64,
    of: fn(&SweepRun) -> f64,
) -> Value {
    let all = || points.iter().flat_map(|p| p.runs.iter().map(move |r| (p.load, r)));
    let symbol = |complete| if complete { "circle" } else { "circle-open" };
    let marker = Marker::new().color(color.to_owned()).size(4).opacity(0.6);
    let dots = Trace::scatter(
        all().map(|(load, _)| load).collect(),
        all().map(|(_, r)| short(of(r) / scale)).collect(),
    )
    .mode(Mode::Markers)
    .marker(marker)
    .show_legend(false)
    .hover_text(
        all()
            .map(|(_, r)| if r.complete { "one run" } else { "one run, incomplete" })
            .collect::<Vec<_>>(),
    )
    .hover_template(format!("%{{y:,.4~r}} {unit}, %{{hovertext}}<extra></extra>"));
    let mut dots = dots.json();
    dots["marker"]["symbol"] = all().map(|(_, r)| symbol(r.complete)).collect();
    dots
}

/// The load of the knee, with its value as it is shown.
fn knee(sweep: &Sweep, points: &[SweepPoint]) -> Option<(f64, String)> {
    let Answer::At { value, .. } = &sweep.knee else { return None };
    let shown = match is_depth(&sweep.axis) {
        true => format!("{} {}", word(&sweep.axis), word(value)),
        false => word(value),
    };
    points.iter().find(|p| p.value == *value).map(|p| (p.load, shown))
}

fn knee_sentence(sweep: &Sweep) -> String {
    match &sweep.knee {
        Answer::At { value, .. } => format!("The dashed line marks the knee, at {}.", word(value)),
        Answer::StillScaling { .. } => "No knee: work still grows at the last point.".to_owned(),
        Answer::Flat { .. } => "Flat: the first point already does all the work.".to_owned(),
        Answer::Undecided { reason } => {
            format!("Whether there is a knee is undecided: {}.", word(reason))
        }
    }
}

/// What the other axes stood at.
fn fixed(sweep: &Sweep) -> String {
    let settings = sweep.fixed.iter().map(|(key, value)| format!("{key} {value}"));
    word(&settings.collect::<Vec<_>>().join(", "))
}

fn is_log(points: &[SweepPoint]) -> bool {
    match (points.first(), points.last()) {
        (Some(first), Some(last)) => first.load > 0.0 && last.load / first.load >= LOG_FROM,
        _ => false,
    }
}

fn upright(x: f64) -> Value {
    json!({ "type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1,
            "line": { "color": MUTED, "dash": "dash", "width": 1 } })
}

/// The name of the knee's line, at its foot: at the knee the work is high, and a name at the top would lie on it. On a
/// logarithmic axis an annotation, unlike a shape, is placed by its exponent.
fn name(x: f64, value: &str, points: &[SweepPoint]) -> Value {
    let x = if is_log(points) { x.log10() } else { x };
    json!({ "x": x, "y": 0, "xref": "x", "yref": "paper", "text": format!("knee: {value}"), "showarrow": false,
            "yanchor": "bottom", "xanchor": "left", "xshift": 3, "font": { "color": MUTED } })
}

fn layout(analysis: &Analysis, curves: &[SweepCurve<'_>], axis: &str) -> Value {
    let mut ticks: Vec<(f64, String)> = curves
        .iter()
        .flat_map(|(_, s)| s.points.iter().map(|p| (p.load, tick(analysis, axis, p))))
        .collect();
    ticks.sort_by(|a, b| a.0.total_cmp(&b.0));
    ticks.dedup_by(|a, b| a.0 == b.0);
    let log = curves.iter().all(|(_, s)| is_log(&s.points));
    let ticks = thinned(ticks, log);
    let y = |title: &str| json!({ "title": { "text": title }, "rangemode": "tozero", "tickformat": "~s" });
    let mut right = y("Operations (IOPS)");
    right["side"] = json!("right");
    right["overlaying"] = json!("y");
    right["showgrid"] = json!(false);
    let mut left = y("Throughput (MB/s)");
    left["tickformat"] = json!(",~r");
    json!({
        "xaxis": {
            "type": if log { "log" } else { "linear" }, "title": { "text": axis_title(axis) },
            "tickvals": ticks.iter().map(|t| t.0).collect::<Vec<_>>(),
            "ticktext": ticks.iter().map(|t| &t.1).collect::<Vec<_>>(),
        },
        "yaxis": left, "yaxis2": right, "hovermode": "x unified",
        "legend": { "orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom" },
    })
}

/// A value at the axis; a depth as what all workers together have in flight.
fn tick(analysis: &Analysis, axis: &str, point: &SweepPoint) -> String {
    let step =
        point.runs.first().and_then(|run| analysis.steps.iter().find(|s| s.index == run.step));
    match step.filter(|step| is_depth(axis) && step.depth > 0) {
        Some(step) => units::count(step.depth.into()),
        None => word(&point.value),
    }
}

fn is_depth(axis: &str) -> bool {
    axis.rsplit('.').next() == Some("depth")
}

/// Of many values those that are far enough apart to be read.
fn thinned(ticks: Vec<(f64, String)>, log: bool) -> Vec<(f64, String)> {
    let place = |load: f64| if log { load.log10() } else { load };
    let (Some(first), Some(last)) = (ticks.first(), ticks.last()) else { return ticks };
    let apart = (place(last.0) - place(first.0)) / TICKS_MAX;
    let mut reached = f64::NEG_INFINITY;
    let mut kept = ticks;
    kept.retain(|(load, _)| {
        let keep = place(*load) - reached >= apart;
        if keep {
            reached = place(*load);
        }
        keep
    });
    kept
}

/// The axis with what it counts; values such as `8KiB` bring their unit along.
fn axis_title(axis: &str) -> String {
    match axis.rsplit('.').next().unwrap_or(axis) {
        "depth" => format!("Operations in flight, all workers together ({axis} × workers)"),
        "workers" => format!("{axis} (number for each VM or target)"),
        "members" => format!("{axis} (number of VMs or targets, all together)"),
        "rate" => format!("{axis} (operations a second of each worker)"),
        "block" => format!("{axis} (bytes of an operation)"),
        _ => format!("{axis} (as set)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(loads: &[f64], log: bool, expected: &[f64]) {
        let ticks = loads.iter().map(|load| (*load, load.to_string())).collect();
        let kept: Vec<f64> = thinned(ticks, log).iter().map(|t| t.0).collect();
        assert_eq!(kept, expected);
    }

    #[test]
    fn few_values_are_all_named_and_of_many_those_with_room() {
        check(&[], true, &[]);
        check(&[5.0], false, &[5.0]);
        check(&[1.0, 2.0, 4.0, 8.0, 16.0], true, &[1.0, 2.0, 4.0, 8.0, 16.0]);
        check(&[1.0, 1.01, 2.0, 4.0], false, &[1.0, 2.0, 4.0]);
        let many: Vec<f64> = (0..=140).map(f64::from).collect();
        let every_tenth: Vec<f64> = (0..=14).map(|n| f64::from(n) * 10.0).collect();
        check(&many, false, &every_tenth);
    }
}
