//! Balance: what each worker did beside those that were asked to do the same, and how long its operations took.

use super::figure::{
    View, figure, latency_axis, latency_name, legend_below, loop_sentence, seconds, short, with,
};
use super::palette::{self, MUTED, RULE, SHADE};
use super::trace::{Marker, Mode, Trace};
use super::{Chart, left_out, step_name, word};
use findings::Evidence;
use findings::evidence::{LatencyKind, Part, StepEvidence, WorkerRate, WorkerSet};
use serde_json::{Value, json};

/// The band around the mean that is shaded.
const BAND: f64 = 0.05;
/// Workers that have their names at the axis.
const NAMED_MAX: usize = 40;
/// VMs and targets that have a place in the legend.
const LEGEND_MAX: usize = 16;

/// The chart; `None` where no step had two workers.
pub(super) fn chart(evidence: &Evidence) -> Option<Chart> {
    let several =
        |s: &&StepEvidence| s.workers.iter().map(|set| set.workers.len()).sum::<usize>() > 1;
    let steps: Vec<&StepEvidence> = evidence.steps.iter().filter(several).collect();
    let workers = || steps.iter().flat_map(|s| &s.workers).flat_map(|set| &set.workers);
    let kind = workers()
        .filter(|w| w.p99_ns.is_some())
        .map(|w| w.kind)
        .reduce(|a, b| if a == b { a } else { LatencyKind::Mixed });
    let timed = kind.is_some();
    let views: Vec<View> = steps.iter().map(|step| view(evidence, step, timed)).collect();
    let named = workers().count() <= NAMED_MAX * steps.len();
    let mut note = "Each worker's throughput, with the mean of its workload (dashed) and the band of ±5% around it"
        .to_owned();
    match kind {
        Some(kind) => {
            note.push_str(&format!("; below, its 99th percentile. {}", loop_sentence(kind)))
        }
        None => note.push('.'),
    }
    if let Some(set) =
        steps.iter().flat_map(|s| &s.workers).find(|set| set.count > set.workers.len())
    {
        note.push_str(&format!(
            " Of {} workers the {} that did least and most are shown.",
            set.count,
            set.workers.len()
        ));
    }
    note.push_str(&left_out(evidence, Part::Steps));
    (!views.is_empty()).then(|| Chart {
        id: "workers".into(),
        title: "Balance of the workers".into(),
        alt: match timed {
            true => {
                format!(
                    "Bars of throughput and points of the 99th percentile, for each worker. {note}"
                )
            }
            false => format!("Bars of throughput, for each worker. {note}"),
        },
        note,
        height: if timed { 460 } else { 360 },
        wide: true,
        figure: figure(views, layout(kind, named)),
        steps: steps.iter().map(|s| s.index).collect(),
    })
}

fn view(evidence: &Evidence, step: &StepEvidence, timed: bool) -> View {
    let place = |group: &str| evidence.groups.iter().position(|g| g == group).unwrap_or(0);
    let mut groups: Vec<&str> = Vec::new();
    for worker in step.workers.iter().flat_map(|set| &set.workers) {
        if !groups.contains(&worker.group.as_str()) {
            groups.push(&worker.group);
        }
    }
    let legend = groups.len() <= LEGEND_MAX;
    let mut traces = Vec::new();
    for group in &groups {
        let members: Vec<&WorkerRate> = step
            .workers
            .iter()
            .flat_map(|set| &set.workers)
            .filter(|w| w.group == *group)
            .collect();
        let style = palette::source(place(group));
        let x = || members.iter().map(|w| word(&w.worker)).collect::<Vec<_>>();
        let says: Vec<&str> =
            members.iter().map(|w| if w.complete { "" } else { ", incomplete" }).collect();
        let bar = Trace::bar(x(), members.iter().map(|w| short(w.bytes_per_s / 1e6)).collect())
            .name(word(group))
            .legend_group(word(group))
            .show_legend(legend)
            .marker(Marker::new().color(style.color.clone()).hatched(style.pattern))
            .hover_template(
                "%{y:,.4~r} MB/s, %{customdata[0]} IOPS%{customdata[1]}<extra></extra>",
            );
        let custom: Vec<Value> =
            members.iter().zip(says).map(|(w, says)| json!([short(w.iops), says])).collect();
        traces.push(with(bar.json(), "customdata", json!(custom)));
        if !timed {
            continue;
        }
        let dot = Trace::scatter(x(), members.iter().map(|w| w.p99_ns.map(seconds)).collect())
            .mode(Mode::Markers)
            .legend_group(word(group))
            .show_legend(false)
            .marker(Marker::new().color(style.color).symbol(style.symbol).size(7))
            .y_axis("y2")
            .hover_template("99%: %{y:.3~s}s<extra></extra>");
        traces.push(dot.json());
    }
    View { label: step_name(step), traces, shapes: bands(&step.workers), annotations: Vec::new() }
}

/// The mean and the band of every set, as wide as its workers.
fn bands(sets: &[WorkerSet]) -> Vec<Value> {
    let mut shapes = Vec::new();
    let mut from = -0.5;
    for set in sets {
        let to = from + set.workers.len() as f64;
        let mean = set.mean_bytes_per_s / 1e6;
        if set.count > 1 && mean > 0.0 && mean.is_finite() {
            let at = |low: f64, high: f64| json!({ "xref": "x", "yref": "y", "x0": from, "x1": to, "y0": low, "y1": high });
            let mut band = at(mean * (1.0 - BAND), mean * (1.0 + BAND));
            band["type"] = json!("rect");
            band["fillcolor"] = json!(SHADE);
            band["line"] = json!({ "color": RULE, "width": 1 });
            let mut line = at(mean, mean);
            line["type"] = json!("line");
            line["line"] = json!({ "color": MUTED, "dash": "dash", "width": 1.5 });
            shapes.extend([band, line]);
        }
        from = to;
    }
    shapes
}

/// Throughput, and below it latencies where there are any.
fn layout(kind: Option<LatencyKind>, named: bool) -> Value {
    let (anchor, from) = if kind.is_some() { ("y2", 0.36) } else { ("y", 0.0) };
    let mut layout = json!({
        "xaxis": { "type": "category", "anchor": anchor, "showticklabels": named,
                   "title": { "text": "Worker (name)" } },
        "yaxis": { "title": { "text": "Throughput (MB/s)" }, "rangemode": "tozero", "domain": [from, 1.0],
                   "tickformat": ",~r" },
        "bargap": 0.25, "hovermode": "x", "barmode": "overlay",
        "legend": legend_below(),
    });
    if let Some(kind) = kind {
        let mut p99 = latency_axis(kind);
        p99["title"] = json!({ "text": format!("99% {} (s)", latency_name(kind).to_lowercase()) });
        p99["domain"] = json!([0.0, 0.27]);
        p99["nticks"] = json!(3);
        layout["yaxis2"] = p99;
    }
    layout
}
