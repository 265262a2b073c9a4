//! Published shapes: the points of this record with their intervals, against where the shape would have them.

use super::figure::{View, figure, short, trace};
use super::palette::{MUTED, OPERATIONS, THROUGHPUT};
use super::{Chart, word};
use crate::published::{form, score};
use findings::{Analysis, ClaimOutcome, PointOutcome, Quantity, ShapeOutcome, Unit};
use plotly::Scatter;
use plotly::common::{DashType, ErrorData, ErrorType, Line, Marker, Mode};
use serde_json::{Value, json};

/// Charts of shapes, at most; the table has all points of all of them.
const CHARTS_MAX: usize = 24;
/// From this ratio of the last place to the first on the axis is logarithmic.
const LOG_FROM: f64 = 8.0;

/// The chart of a claim, by the claim's number.
pub(crate) fn id(number: usize) -> String {
    format!("shape-{number}")
}

/// A chart for every shape of which a point is known.
pub(super) fn charts(analysis: &Analysis) -> Vec<Chart> {
    let claims = analysis.claims.iter().enumerate();
    let shapes = claims.filter_map(|(number, claim)| Some((number, claim, claim.shape.as_ref()?)));
    let known = shapes.filter(|(_, _, shape)| shape.points.iter().any(|p| p.value.is_some()));
    known.take(CHARTS_MAX).map(|(number, claim, shape)| chart(number, claim, shape)).collect()
}

fn chart(number: usize, claim: &ClaimOutcome, shape: &ShapeOutcome) -> Chart {
    let (unit, scale) = unit(shape);
    let verdict = score(claim.score).1;
    let line = match shape.is {
        "rising" | "falling" => "The dashed line is what the point before has.",
        _ => "The dashed line goes through the first point.",
    };
    let bars = match shape.points.iter().any(|p| p.interval.is_some()) {
        true => " Bars are 95% intervals.",
        false => "",
    };
    let note = format!("Published as {}: {verdict}. {line}{bars}", form(shape));
    let title = word(&claim.name);
    let metric = word(&claim.metric);
    let view = View {
        label: String::new(),
        traces: vec![expected(shape, scale), measured(shape, unit, scale)],
        shapes: Vec::new(),
        annotations: Vec::new(),
    };
    Chart {
        id: id(number),
        alt: format!("{title}: {metric} in {unit} at {} points. {note}", shape.points.len()),
        title,
        note,
        height: 300,
        wide: false,
        figure: figure(vec![view], layout(shape, &format!("{metric} ({unit})"))),
        steps: Vec::new(),
    }
}

/// The unit of the points, and what of their base unit it is.
fn unit(shape: &ShapeOutcome) -> (&'static str, f64) {
    match shape.points.iter().find_map(|point| point.value).map(|value| value.unit) {
        Some(Unit::BytesPerS) => ("MB/s", 1e6),
        Some(Unit::Iops) => ("IOPS", 1.0),
        Some(Unit::Ns) => ("µs", 1e3),
        Some(Unit::Percent) => ("%", 1.0),
        Some(Unit::Times) => ("×", 1.0),
        Some(Unit::Count) | None => ("number", 1.0),
    }
}

fn places(shape: &ShapeOutcome) -> Vec<f64> {
    shape.points.iter().map(|point| point.at).collect()
}

/// Where the shape would have the points. A line that begins at the first point is drawn from it.
fn expected(shape: &ShapeOutcome, scale: f64) -> Value {
    let own = |point: &PointOutcome| match shape.is {
        "rising" | "falling" => point.expected,
        _ => point.expected.or(point.value),
    };
    let y = shape.points.iter().map(|point| own(point).map(|q| short(q.value / scale)));
    let line = Scatter::new(places(shape), y.collect::<Vec<Option<f64>>>())
        .name("by the shape")
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(MUTED).width(1.5).dash(DashType::Dash))
        .marker(Marker::new().color(MUTED).size(4))
        .hover_template("%{y:,.4~r}<extra>by the shape</extra>");
    trace(line)
}

/// The points of the record.
fn measured(shape: &ShapeOutcome, unit: &str, scale: f64) -> Value {
    let color = if unit == "MB/s" { THROUGHPUT } else { OPERATIONS };
    let of = |q: Option<Quantity>| q.map(|q| short(q.value / scale));
    let y: Vec<Option<f64>> = shape.points.iter().map(|point| of(point.value)).collect();
    let mut line = Scatter::new(places(shape), y)
        .name("this record")
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(color).width(2.0))
        .marker(Marker::new().color(color).size(7))
        .hover_template(format!("%{{y:,.4~r}} {unit}<extra>this record</extra>"));
    let end = |of: fn(&(Quantity, Quantity), f64) -> f64| -> Vec<f64> {
        let half = |point: &PointOutcome| match (&point.interval, point.value) {
            (Some(interval), Some(value)) => short(of(interval, value.value).max(0.0) / scale),
            _ => 0.0,
        };
        shape.points.iter().map(half).collect()
    };
    if shape.points.iter().any(|point| point.interval.is_some()) {
        let (above, below) = (end(|i, v| i.1.value - v), end(|i, v| v - i.0.value));
        let bars = ErrorData::new(ErrorType::Data).array(above).array_minus(below);
        line = line.error_y(bars.symmetric(false).color(color).thickness(1.0).width(4));
    }
    trace(line)
}

fn layout(shape: &ShapeOutcome, title: &str) -> Value {
    let axis = shape.along.as_deref().map(word).unwrap_or_default();
    let (first, last) = (shape.points.first(), shape.points.last());
    let wide = |first: &PointOutcome, last: &PointOutcome| {
        first.at > 0.0 && last.at / first.at >= LOG_FROM
    };
    let log = first.zip(last).is_some_and(|(first, last)| wide(first, last));
    json!({
        "xaxis": {
            "type": if log { "log" } else { "linear" }, "title": { "text": axis },
            "tickvals": places(shape),
            "ticktext": shape.points.iter().map(|point| word(&point.label)).collect::<Vec<_>>(),
        },
        "yaxis": { "title": { "text": title }, "rangemode": "tozero", "tickformat": ",~r" },
        "hovermode": "x unified",
        "legend": { "orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom" },
    })
}
