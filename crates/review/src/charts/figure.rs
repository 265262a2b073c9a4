//! What figures have in common: axes with their units, traces as JSON, and views of which one is shown at a time.

use super::palette::{INK, PAPER, RULE};
use findings::Loops;
use findings::evidence::LatencyKind;
use serde_json::{Value, json};

/// A trace with an attribute that the builder has no method for.
pub(super) fn with(mut trace: Value, key: &str, value: Value) -> Value {
    if let Value::Object(fields) = &mut trace {
        fields.insert(key.to_owned(), value);
    }
    trace
}

/// A number with four digits: more cannot be seen, and would make the page longer.
pub(super) fn short(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10_f64.powi(3 - value.abs().log10().floor() as i32);
    if scale.is_finite() && scale > 0.0 { (value * scale).round() / scale } else { value }
}

/// A row of numbers divided by a unit, gaps kept.
pub(super) fn scaled(values: &[Option<f64>], unit: f64) -> Vec<Option<f64>> {
    values.iter().map(|v| v.map(|v| short(v / unit))).collect()
}

/// The middles of equal bins.
pub(super) fn middles(from_s: f64, bin_s: f64, count: usize) -> Vec<f64> {
    // No bin distinguishes milliseconds.
    (0..count).map(|n| ((from_s + (n as f64 + 0.5) * bin_s) * 1e3).round() / 1e3).collect()
}

/// Seconds as short as they are shown.
pub(super) fn seconds(ns: u64) -> f64 {
    short(ns as f64 / 1e9)
}

/// How a latency is called, with the loop that it belongs to.
pub(super) fn latency_name(kind: LatencyKind) -> &'static str {
    match kind {
        LatencyKind::Service => "Service time",
        LatencyKind::Response => "Response time",
        LatencyKind::Mixed => "Latency",
    }
}

/// The loop behind a latency, as a sentence.
pub(super) fn loop_sentence(kind: LatencyKind) -> &'static str {
    match kind {
        LatencyKind::Service => {
            "Closed loop: service time, from submission to completion; a stall stops the load as well."
        }
        LatencyKind::Response => {
            "Open loop: response time, from the moment an operation was due to its completion."
        }
        LatencyKind::Mixed => {
            "Open and closed loops: response time of the open ones, service time of the closed ones."
        }
    }
}

/// The latency that is shown for some loops.
pub(super) fn kind_of(loops: impl Iterator<Item = Loops>) -> LatencyKind {
    let kinds = loops.map(|l| match l {
        Loops::Closed | Loops::Observed => LatencyKind::Service,
        Loops::Open => LatencyKind::Response,
        Loops::Mixed => LatencyKind::Mixed,
    });
    kinds.reduce(|a, b| if a == b { a } else { LatencyKind::Mixed }).unwrap_or(LatencyKind::Service)
}

/// A logarithmic axis of seconds, whose ticks read µs, ms and s at every zoom.
pub(super) fn latency_axis(kind: LatencyKind) -> Value {
    json!({
        "type": "log", "title": { "text": format!("{} (log scale, s)", latency_name(kind)) },
        "tickformat": "~s", "ticksuffix": "s", "labelalias": tick_names(), "hoverformat": ".3~s",
        "nticks": 4,
    })
}

/// Plotly leaves the unit away at the ticks between powers of ten; here it is for each that there can be.
fn tick_names() -> Value {
    let mut names = serde_json::Map::new();
    for prefix in ["n", "µ", "m", ""] {
        for number in [1, 10, 100].iter().flat_map(|power| (1..10).map(move |n| n * power)) {
            names.insert(format!("{number}{prefix}"), json!(format!("{number}{prefix}s")));
        }
    }
    Value::Object(names)
}

/// A legend below the plot, out of the way of a menu above it.
pub(super) fn legend_below() -> Value {
    json!({ "orientation": "h", "x": 0, "y": 0, "yanchor": "bottom", "yref": "container" })
}

/// The time axis of a run.
pub(super) fn time_axis() -> Value {
    json!({ "title": { "text": "Time since the run began (s)" }, "hoverformat": "~r", "ticksuffix": " s", "showgrid": false })
}

/// One of several views of a chart.
pub(super) struct View {
    /// What the reader chooses it by.
    pub label: String,
    pub traces: Vec<Value>,
    pub shapes: Vec<Value>,
    pub annotations: Vec<Value>,
}

impl View {
    /// Whether anything is drawn against an axis: one that nothing is drawn against would show numbers of nothing.
    fn uses(&self, axis: &str) -> bool {
        self.traces.iter().any(|t| t.get("yaxis").and_then(Value::as_str).unwrap_or("y") == axis)
    }
}

/// A figure that shows one view at a time, the first one at the beginning; a menu where there are several.
pub(super) fn figure(views: Vec<View>, mut layout: Value) -> Value {
    let total: usize = views.iter().map(|v| v.traces.len()).sum();
    let mut seen = 0;
    let mut buttons = Vec::new();
    for view in &views {
        let shown = seen..seen + view.traces.len();
        let visible: Vec<bool> = (0..total).map(|n| shown.contains(&n)).collect();
        seen = shown.end;
        buttons.push(json!({
            "label": view.label, "method": "update",
            "args": [{ "visible": visible }, {
                "shapes": view.shapes, "annotations": view.annotations,
                "xaxis.autorange": true, "yaxis.autorange": true, "yaxis2.autorange": true,
                "yaxis.visible": view.uses("y"), "yaxis2.visible": view.uses("y2"),
            }],
        }));
    }
    if let (Value::Object(fields), Some(first)) = (&mut layout, views.first()) {
        fields.insert("shapes".into(), json!(first.shapes));
        fields.insert("annotations".into(), json!(first.annotations));
        for (axis, name) in [("yaxis", "y"), ("yaxis2", "y2")] {
            if let Some(Value::Object(axis)) = fields.get_mut(axis) {
                axis.insert("visible".into(), json!(first.uses(name)));
            }
        }
        if views.len() > 1 {
            fields.insert("updatemenus".into(), json!([menu(buttons)]));
        }
    }
    let mut data = Vec::with_capacity(total);
    for (n, view) in views.into_iter().enumerate() {
        data.extend(view.traces.into_iter().map(|t| with(t, "visible", json!(n == 0))));
    }
    json!({ "data": data, "layout": layout })
}

fn menu(buttons: Vec<Value>) -> Value {
    json!({
        "type": "dropdown", "buttons": buttons, "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom",
        "pad": { "b": 8, "t": 0 }, "bgcolor": PAPER, "bordercolor": RULE, "font": { "color": INK },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits() {
        for (value, expected) in [
            (0.0, 0.0),
            (1234.5678, 1235.0),
            (0.000123456, 0.0001235),
            (-98765.4, -98770.0),
            (f64::INFINITY, f64::INFINITY),
            (1e300, 1e300),
            (5e-324, 5e-324),
        ] {
            assert!(
                (short(value) - expected).abs() <= expected.abs() * 1e-9
                    || short(value) == expected,
                "{value}"
            );
        }
        assert!(short(f64::NAN).is_nan());
    }

    #[test]
    fn one_view_is_shown_at_a_time() {
        let view = |label: &str, traces: usize| View {
            label: label.into(),
            traces: vec![json!({ "yaxis": if label == "a" { "y" } else { "y2" } }); traces],
            shapes: vec![json!(label)],
            annotations: vec![],
        };
        let one = figure(vec![view("a", 2)], json!({ "yaxis2": {} }));
        assert_eq!(one["layout"]["yaxis2"]["visible"], false, "nothing is drawn against it");
        assert_eq!(one["layout"]["updatemenus"], Value::Null);
        let two = figure(vec![view("a", 2), view("b", 1)], json!({}));
        let visible: Vec<_> =
            two["data"].as_array().unwrap().iter().map(|t| &t["visible"]).collect();
        assert_eq!(visible, [true, true, false]);
        let buttons = &two["layout"]["updatemenus"][0]["buttons"];
        assert_eq!(buttons[1]["args"][0]["visible"], json!([false, false, true]));
        assert_eq!(
            (&two["layout"]["shapes"], &buttons[1]["args"][1]["shapes"]),
            (&json!(["a"]), &json!(["b"]))
        );
        let shown = |n: usize, axis: &str| &buttons[n]["args"][1][format!("{axis}.visible")];
        assert_eq!([shown(0, "yaxis"), shown(0, "yaxis2")], [true, false]);
        assert_eq!([shown(1, "yaxis"), shown(1, "yaxis2")], [false, true]);
    }
}
