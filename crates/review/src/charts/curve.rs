//! Percentile curves, on the axis of HdrHistogram's plots: each further nine is as far as the one before.

use super::figure::{
    View, figure, latency_axis, latency_name, legend_below, loop_sentence, seconds, with,
};
use super::palette::{INK, READ, WRITE, ordered};
use super::trace::{DashType, Line, Mode, Trace};
use super::{Chart, left_out, step_name, word};
use findings::Evidence;
use findings::evidence::{CurveSubject, LatencyKind, Part, PercentileCurve, StepEvidence};
use serde_json::{Value, json};

/// Ticks: the percentile, and 1 / (1 − p).
const TICKS: [(&str, f64); 6] = [
    ("50%", 2.0),
    ("90%", 10.0),
    ("99%", 100.0),
    ("99.9%", 1e3),
    ("99.99%", 1e4),
    ("99.999%", 1e5),
];

/// The chart; `None` where nothing completed.
pub(super) fn chart(evidence: &Evidence) -> Option<Chart> {
    let steps: Vec<&StepEvidence> =
        evidence.steps.iter().filter(|s| !s.curves.is_empty()).collect();
    let kind = steps
        .iter()
        .flat_map(|s| s.curves.first())
        .map(|c| c.kind)
        .reduce(|a, b| if a == b { a } else { LatencyKind::Mixed })?;
    let mut views = Vec::new();
    if steps.len() > 1 {
        let line = |(n, step): (usize, &&StepEvidence)| {
            let curve = step.curves.first()?;
            // Neighbours have tones much alike.
            let dash = if n % 2 == 0 { DashType::Solid } else { DashType::Dash };
            Some(line(curve, &word(&step.label), &ordered(n, steps.len()), dash))
        };
        views.push(view("All of these steps", steps.iter().enumerate().filter_map(line).collect()));
    }
    views.extend(steps.iter().map(|step| {
        view(&step_name(step), step.curves.iter().map(|curve| single(step, curve)).collect())
    }));
    let note = format!(
        "The share of operations at least as fast; a curve ends where the number of operations supports no rarer \
         percentile. {}{}",
        loop_sentence(kind),
        left_out(evidence, Part::Steps)
    );
    let layout = json!({
        "xaxis": {
            "type": "log", "title": { "text": "Percentile (%)" },
            "tickvals": TICKS.map(|t| t.1), "ticktext": TICKS.map(|t| t.0),
        },
        "yaxis": latency_axis(kind), "hovermode": "closest",
        "legend": legend_below(),
    });
    Some(Chart {
        id: "percentiles".into(),
        title: "Percentile curves".into(),
        alt: format!("Latency over percentiles for {} steps. {note}", steps.len()),
        note,
        height: 460,
        wide: false,
        figure: figure(views, layout),
        steps: steps.iter().map(|s| s.index).collect(),
    })
}

fn view(label: &str, traces: Vec<Value>) -> View {
    View { label: label.to_owned(), traces, shapes: Vec::new(), annotations: Vec::new() }
}

/// A curve of a step that is shown alone: directions by colour, and dotted the service time of open loops.
fn single(step: &StepEvidence, curve: &PercentileCurve) -> Value {
    let (name, color) = match curve.of {
        CurveSubject::Read => ("reads", READ),
        CurveSubject::Write => ("writes", WRITE),
        CurveSubject::Both => ("reads and writes", INK),
    };
    let beside = step.curves.first().is_some_and(|c| c.kind != LatencyKind::Service);
    let (name, dash) = match curve.kind {
        LatencyKind::Service if beside => (format!("{name}, service time"), DashType::Dot),
        kind if beside => {
            (format!("{name}, {}", latency_name(kind).to_lowercase()), DashType::Solid)
        }
        _ => (name.to_owned(), DashType::Solid),
    };
    line(curve, &name, color, dash)
}

fn line(curve: &PercentileCurve, name: &str, color: &str, dash: DashType) -> Value {
    let x = curve.points.iter().map(|p| p.one_in).collect();
    let y = curve.points.iter().map(|p| seconds(p.latency_ns)).collect();
    let mode = if curve.points.len() < 3 { Mode::LinesMarkers } else { Mode::Lines };
    let percent: Vec<f64> = curve.points.iter().map(|p| (p.percent * 1e4).round() / 1e4).collect();
    let line = Trace::scatter(x, y)
        .name(name)
        .mode(mode)
        .line(Line::new().color(color.to_owned()).width(2.0).dash(dash))
        .hover_template(format!("%{{customdata}}%: %{{y:.3~s}}s<extra>{name}</extra>"));
    with(line.json(), "customdata", json!(percent))
}
