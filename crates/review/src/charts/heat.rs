//! Latency over time as a heat map: how many operations took how long, of the whole run and of the steps in detail.

use super::figure::{
    View, figure, latency_axis, latency_name, legend_below, loop_sentence, middles, seconds,
    time_axis, trace, with,
};
use super::palette::{INK, MUTED, OVER_HEAT, PAPER, ramp};
use super::{Chart, left_out, step_name, word};
use findings::Evidence;
use findings::evidence::{HeatMap, LatencyKind, Part, PhaseSpan};
use plotly::common::{DashType, Line, Mode};
use plotly::{HeatMap as Heat, Scatter};
use serde_json::{Value, json};

/// Steps whose beginnings are marked on the map of the run, and whose names stand above it.
const MARKED_MAX: usize = 60;
const NAMED_MAX: usize = 12;

/// The chart; `None` where nothing completed.
pub(super) fn chart(evidence: &Evidence) -> Option<Chart> {
    let whole = evidence.latency.as_ref()?;
    let phases = &evidence.timeline.phases;
    let mut views = Vec::new();
    if evidence.steps.len() != 1 {
        let (shapes, annotations) = beginnings(phases);
        views.push(View {
            label: "The whole run".into(),
            traces: traces(whole),
            shapes,
            annotations,
        });
    }
    let mut kinds = vec![whole.kind];
    for step in &evidence.steps {
        let Some(heat) = &step.latency else { continue };
        kinds.push(heat.kind);
        let phase = phases.iter().find(|p| p.step == step.index);
        views.push(View {
            label: step_name(step),
            traces: traces(heat),
            shapes: phase.map(edges).unwrap_or_default(),
            annotations: Vec::new(),
        });
    }
    let kind = kinds.into_iter().reduce(|a, b| if a == b { a } else { LatencyKind::Mixed })?;
    let mut layout = json!({
        "xaxis": time_axis(), "yaxis": latency_axis(kind), "hovermode": "closest",
        "legend": legend_below(),
    });
    layout["yaxis"]["showgrid"] = json!(false);
    let note = format!(
        "How many operations took how long, in every {} of the run, warm-up and cool-down included; lines are each \
         column's median and 99th percentile. {}{}",
        span(whole.bin_s),
        loop_sentence(kind),
        left_out(evidence, Part::Steps)
    );
    Some(Chart {
        id: "latency-over-time".into(),
        title: "Latency over time".into(),
        alt: format!("A heat map of latency over time. {note}"),
        note,
        height: 420,
        wide: true,
        figure: figure(views, layout),
        steps: evidence.steps.iter().map(|s| s.index).collect(),
    })
}

/// A length of time in words.
fn span(seconds: f64) -> String {
    if seconds <= 1.0 { "second".into() } else { format!("{seconds} seconds") }
}

/// The map, with the percentiles of its columns.
fn traces(heat: &HeatMap) -> Vec<Value> {
    let columns = heat.p50_ns.len();
    let x: Vec<f64> = (0..=columns).map(|n| heat.from_s + n as f64 * heat.bin_s).collect();
    let y: Vec<f64> = heat.edges_ns.iter().map(|ns| seconds(*ns)).collect();
    // A logarithmic scale of colours, or rare slow operations could not be seen beside many fast ones.
    let tone =
        |count: &u64| (*count > 0).then(|| ((*count as f64).log10() * 100.0).round() / 100.0);
    let z: Vec<Vec<Option<f64>>> =
        heat.counts.iter().map(|row| row.iter().map(tone).collect()).collect();
    let most = heat.counts.iter().flatten().max().copied().unwrap_or(1).max(10);
    let top = (most as f64).log10();
    let ticks: Vec<f64> = (0..=top as u32).map(f64::from).collect();
    let names: Vec<String> = ticks.iter().map(|t| power(*t as u32)).collect();
    let map = Heat::new(x, y, z)
        .color_scale(ramp())
        .zmin(0.0)
        .zmax(top)
        .hover_on_gaps(false)
        .hover_template(
            "%{customdata:,} operations<br>about %{y:.3~s}s, at %{x:~r} s<extra></extra>",
        );
    let map = with(trace(map), "customdata", json!(heat.counts));
    let bar = json!({
        "title": { "text": "operations", "side": "right" }, "tickvals": ticks, "ticktext": names,
        "thickness": 12, "outlinewidth": 0, "len": 1, "tickcolor": MUTED,
    });
    let map = with(map, "colorbar", bar);
    vec![
        map,
        line(heat, "median", DashType::Solid, &heat.p50_ns),
        line(heat, "99%", DashType::Dot, &heat.p99_ns),
    ]
}

fn line(heat: &HeatMap, name: &str, dash: DashType, values: &[Option<u64>]) -> Value {
    let x = middles(heat.from_s, heat.bin_s, values.len());
    let y: Vec<Option<f64>> = values.iter().map(|v| v.map(seconds)).collect();
    let mode = if values.len() < 3 { Mode::LinesMarkers } else { Mode::Lines };
    let what = latency_name(heat.kind).to_lowercase();
    trace(
        Scatter::new(x, y)
            .name(name)
            .mode(mode)
            .line(Line::new().color(OVER_HEAT).width(1.5).dash(dash))
            .hover_template(format!("%{{y:.3~s}}s {what}, {name}<extra></extra>")),
    )
}

/// 1, 10, 100, 1k, …
fn power(exponent: u32) -> String {
    let unit = ["", "k", "M", "G", "T", "P", "E"].get(exponent as usize / 3).copied().unwrap_or("");
    format!("{}{unit}", 10_u32.pow(exponent % 3))
}

/// Where steps begin, on the map of the run.
fn beginnings(phases: &[PhaseSpan]) -> (Vec<Value>, Vec<Value>) {
    if phases.len() > MARKED_MAX {
        return (Vec::new(), Vec::new());
    }
    let shapes = phases.iter().map(|p| upright(p.start_s, "dot")).collect();
    if phases.len() > NAMED_MAX {
        return (shapes, Vec::new());
    }
    let name = |p: &PhaseSpan| {
        json!({ "x": p.start_s, "xref": "x", "y": 1, "yref": "paper", "yanchor": "top", "xanchor": "left",
                "showarrow": false, "bgcolor": PAPER, "opacity": 0.85, "borderpad": 1, "text": word(&p.label), "textangle": -90,
                "font": { "size": 10, "color": INK } })
    };
    (shapes, phases.iter().map(name).collect())
}

/// Where a step's measured time begins and ends.
fn edges(phase: &PhaseSpan) -> Vec<Value> {
    [phase.measure_s, phase.cooldown_s].map(|at| upright(at, "dash")).to_vec()
}

fn upright(at_s: f64, dash: &str) -> Value {
    json!({ "type": "line", "xref": "x", "yref": "paper", "x0": at_s, "x1": at_s, "y0": 0, "y1": 1,
            "line": { "color": MUTED, "dash": dash, "width": 1 } })
}
