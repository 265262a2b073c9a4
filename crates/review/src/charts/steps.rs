//! One point a step, in the order of the run: latency percentiles, and reads against writes.

use super::figure::{kind_of, latency_axis, loop_sentence, seconds, short, with};
use super::palette::{READ, WRITE, ordered};
use super::trace::{Line, Marker, Mode, Trace};
use super::{Chart, word};
use findings::{Analysis, Latency, StepFigures};
use serde_json::{Value, json};

/// Steps whose names stand at the axis; more of them are numbered as in the tables.
const NAMED_MAX: usize = 12;
/// Numbers that have room at the axis.
const NUMBERS_MAX: usize = 20;

/// A point of a latency distribution.
type PercentileOf = fn(&Latency) -> u64;

const POINTS: [(&str, PercentileOf); 5] = [
    ("median", |l| l.p50_ns),
    ("95%", |l| l.p95_ns),
    ("99%", |l| l.p99_ns),
    ("99.9%", |l| l.p999_ns),
    ("max", |l| l.max_ns),
];

/// Percentiles of every step; `None` for fewer than two, which the percentile curve shows better.
pub(super) fn latency(analysis: &Analysis) -> Option<Chart> {
    let steps = &analysis.steps;
    let shown = steps.iter().filter(|s| of(s).is_some());
    if steps.len() < 2 || shown.clone().next().is_none() {
        return None;
    }
    let kind = kind_of(shown.clone().map(|s| s.loops));
    let line = |(n, (name, point)): (usize, &(&str, PercentileOf))| {
        let (x, y) = with_gaps(steps, |s| of(s).map(|l| seconds(point(&l))));
        let color = ordered(n, POINTS.len());
        let line = Trace::scatter(x, y)
            .name(*name)
            .mode(Mode::LinesMarkers)
            .line(Line::new().color(color.clone()).width(2.0))
            .marker(Marker::new().color(color).size(if steps.len() > 40 { 3 } else { 6 }))
            .hover_template(format!("%{{y:.3~s}}s<extra>{name}</extra>"));
        with(line.json(), "connectgaps", json!(false))
    };
    let note = format!("Percentiles of each step's merged histogram. {}", loop_sentence(kind));
    Some(Chart {
        id: "latency-of-steps".into(),
        title: "Latency percentiles of each step".into(),
        alt: format!(
            "Median, 95%, 99%, 99.9% and largest latency of {} steps. {note}",
            steps.len()
        ),
        note,
        height: 400,
        wide: steps.len() > 12,
        figure: json!({
            "data": POINTS.iter().enumerate().map(line).collect::<Vec<_>>(),
            "layout": { "xaxis": axis(steps), "yaxis": latency_axis(kind), "hovermode": "x unified",
                        "legend": { "traceorder": "reversed" } },
        }),
        steps: shown.map(|s| s.index).collect(),
    })
}

/// Reads and writes of every step, stacked; `None` where the run had but one of them.
pub(super) fn directions(analysis: &Analysis) -> Option<Chart> {
    let steps = &analysis.steps;
    let any = |of: fn(&StepFigures) -> u64| steps.iter().any(|s| of(s) > 0);
    if !any(|s| s.total.read.ops) || !any(|s| s.total.write.ops) {
        return None;
    }
    let bar = |name: &str, color: &str, of: fn(&StepFigures) -> f64| {
        let x: Vec<usize> = (1..=steps.len()).collect();
        let y: Vec<f64> = steps.iter().map(|s| short(of(s) / 1e6)).collect();
        Trace::bar(x, y)
            .name(name)
            .marker(Marker::new().color(color))
            .hover_template(format!("%{{y:,.4~r}} MB/s<extra>{name}</extra>"))
            .json()
    };
    let note = "Throughput of each step, reads and writes stacked to the total.".to_owned();
    Some(Chart {
        id: "read-write".into(),
        title: "Reads against writes".into(),
        alt: format!("Bars of MB/s read and written in {} steps.", steps.len()),
        note,
        height: 340,
        wide: steps.len() > 12,
        figure: json!({
            "data": [
                bar("reads", READ, |s| s.total.read.bytes_per_s),
                bar("writes", WRITE, |s| s.total.write.bytes_per_s),
            ],
            "layout": {
                "barmode": "stack", "bargap": 0.25, "xaxis": axis(steps), "hovermode": "x unified",
                "yaxis": { "title": { "text": "Throughput (MB/s)" }, "rangemode": "tozero", "tickformat": ",~r" },
            },
        }),
        steps: steps.iter().map(|s| s.index).collect(),
    })
}

/// The latency of a step that is shown: response time where there is one.
fn of(step: &StepFigures) -> Option<Latency> {
    step.total.both.response.or(step.total.both.service)
}

/// A value a step, with a gap where another plan begins: no line leads from one plan to the next.
fn with_gaps(
    steps: &[StepFigures],
    of: impl Fn(&StepFigures) -> Option<f64>,
) -> (Vec<f64>, Vec<Option<f64>>) {
    let (mut x, mut y) = (Vec::new(), Vec::new());
    for (n, step) in steps.iter().enumerate() {
        if n > 0 && steps[n - 1].plan != step.plan {
            x.push(n as f64 + 0.5);
            y.push(None);
        }
        x.push(n as f64 + 1.0);
        y.push(of(step));
    }
    (x, y)
}

/// Steps by number, with their names as ticks where there is room: two steps may have one name.
fn axis(steps: &[StepFigures]) -> Value {
    let named = steps.len() <= NAMED_MAX;
    let every = if named { 1 } else { steps.len().div_ceil(NUMBERS_MAX) };
    let ticks = || steps.iter().enumerate().step_by(every.max(1));
    let name = |(n, step): (usize, &StepFigures)| match named {
        true => word(&step.label()),
        false => (n + 1).to_string(),
    };
    json!({
        "title": { "text": if named { "Step (settings)" } else { "Step (numbered as in the tables)" } },
        "zeroline": false, "automargin": true,
        "tickvals": ticks().map(|(n, _)| n + 1).collect::<Vec<_>>(),
        "ticktext": ticks().map(name).collect::<Vec<_>>(),
    })
}
