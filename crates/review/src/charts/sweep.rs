//! Work over the load, with the knee marked: throughput and operations a second on two axes.

use super::{Chart, word};
use findings::knee::Answer;
use findings::{Analysis, StepFigures, Sweep};
use plotly::common::{Line, Marker, Mode};
use plotly::{Scatter, Trace};
use serde_json::{Value, json};

/// The chart of one curve, the `index`-th of the review; `None` where no point could be used.
pub(super) fn chart(index: usize, sweep: &Sweep, analysis: &Analysis) -> Option<Chart> {
    let steps: Vec<&StepFigures> =
        analysis.steps.iter().filter(|step| on_curve(step, sweep)).collect();
    if sweep.points.is_empty() || steps.is_empty() {
        return None;
    }
    let (plan, axis) = (word(&sweep.plan), word(&sweep.axis));
    let values = || steps.iter().map(|step| value(step, sweep));
    let series = |name: &str, unit: &str, color: &str, of: fn(&StepFigures) -> f64| {
        Scatter::new(values().collect(), steps.iter().map(|s| of(s)).collect())
            .name(name)
            .mode(Mode::LinesMarkers)
            .line(Line::new().color(color.to_owned()).width(2.0))
            .marker(Marker::new().color(color.to_owned()).size(7))
            .hover_template(format!("%{{y:,.4~g}} {unit}<extra>{name}</extra>"))
    };
    let rate = series("Throughput", "MB/s", "var(--series-1)", |s| s.total.both.bytes_per_s / 1e6);
    let iops = series("Operations", "IOPS", "var(--series-2)", |s| s.total.both.iops).y_axis("y2");
    let traces: [Box<dyn Trace>; 2] = [rate, iops];
    let data: Vec<Value> =
        traces.iter().map(|t| serde_json::to_value(t).unwrap_or_default()).collect();
    Some(Chart {
        id: format!("sweep-{index}"),
        title: format!("Work over {axis}: {plan}"),
        note: note(sweep),
        alt: format!("Throughput in MB/s and operations a second over {axis}. {}", note(sweep)),
        height: 360,
        wide: false,
        figure: json!({ "data": data, "layout": layout(sweep, &axis) }),
        steps: steps.iter().map(|step| step.index).collect(),
    })
}

fn on_curve(step: &StepFigures, sweep: &Sweep) -> bool {
    let has = |setting: &(String, String)| step.settings.contains(setting);
    step.plan == sweep.plan
        && sweep.fixed.iter().all(has)
        && step.settings.iter().any(|(key, _)| *key == sweep.axis)
}

fn value(step: &StepFigures, sweep: &Sweep) -> String {
    let of_axis = step.settings.iter().find(|(key, _)| *key == sweep.axis);
    of_axis.map(|(_, value)| word(value)).unwrap_or_default()
}

fn note(sweep: &Sweep) -> String {
    match &sweep.knee {
        Answer::At { value, .. } => format!("The dashed line marks the knee, at {}.", word(value)),
        Answer::StillScaling { .. } => "No knee: work still grows at the last point.".to_owned(),
        Answer::Flat { .. } => "Flat: the first point already does all the work.".to_owned(),
        Answer::Undecided { reason } => {
            format!("Whether there is a knee is undecided: {}.", word(reason))
        }
    }
}

fn layout(sweep: &Sweep, axis: &str) -> Value {
    let knee = match &sweep.knee {
        Answer::At { value, .. } => Some(word(value)),
        _ => None,
    };
    let line = |x: &String| {
        json!({ "type": "line", "xref": "x", "yref": "paper", "x0": x, "x1": x, "y0": 0, "y1": 1,
                "line": { "color": "var(--muted)", "dash": "dash", "width": 1 } })
    };
    let name = |x: &String| {
        json!({ "x": x, "y": 1, "xref": "x", "yref": "paper", "text": "knee", "showarrow": false,
                "yanchor": "bottom", "font": { "color": "var(--muted)" } })
    };
    json!({
        "xaxis": { "type": "category", "title": { "text": axis } },
        "yaxis": { "title": { "text": "Throughput (MB/s)" }, "rangemode": "tozero" },
        "yaxis2": { "title": { "text": "Operations (IOPS)" }, "rangemode": "tozero", "overlaying": "y",
                    "side": "right", "showgrid": false },
        "shapes": knee.iter().map(line).collect::<Vec<_>>(),
        "annotations": knee.iter().map(name).collect::<Vec<_>>(),
    })
}
