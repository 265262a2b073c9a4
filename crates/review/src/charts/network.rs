//! Network loads drawn: each stream and the mean of its direction, throughput by message size, and the time line.

use super::figure::{View, figure, legend_below, scaled, short, with};
use super::palette::{self, MUTED, RULE, SHADE};
use super::timeline::{TimelineRow, line};
use super::trace::{DashType, Line, Marker, MarkerSymbol, Mode, Trace};
use super::{Chart, word};
use crate::network::direction_label;
use findings::evidence::{NetMachine, NetWay};
use findings::network::Direction;
use findings::{Analysis, Evidence, StepFigures};
use serde_json::{Value, json};

/// The band around the mean that is shaded.
const BAND: f64 = 0.05;
/// Steps whose streams can be chosen.
const STEPS_MAX: usize = 24;
/// Streams of a step that are drawn.
const STREAMS_MAX: usize = 128;
/// The axis of message sizes.
const MESSAGE: &str = "message";

/// The charts of network loads; those that would show nothing are left out.
pub(super) fn charts(analysis: &Analysis) -> Vec<Chart> {
    sizes(analysis).into_iter().chain(streams(analysis)).collect()
}

/// Throughput of each stream, a view a step.
fn streams(analysis: &Analysis) -> Option<Chart> {
    let several = |s: &&StepFigures| {
        s.network.iter().flat_map(|p| &p.directions).any(|d| d.streams.len() > 1)
    };
    let all: Vec<&StepFigures> = analysis.steps.iter().filter(several).collect();
    let shown = &all[..all.len().min(STEPS_MAX)];
    let mut note = "What each stream received, with the mean of its direction (dashed) and the band of ±5% around it. \
                    A mark is what its sending end sent."
        .to_owned();
    if all.len() > shown.len() {
        note.push_str(&format!(" The first {STEPS_MAX} of {} steps can be chosen.", all.len()));
    }
    let views: Vec<View> = shown.iter().map(|step| view(step)).collect();
    (!views.is_empty()).then(|| Chart {
        id: "streams".into(),
        title: "Balance of the streams".into(),
        alt: format!("Bars of throughput for each stream. {note}"),
        note,
        height: 400,
        wide: true,
        figure: figure(
            views,
            json!({
                "xaxis": { "type": "category", "title": { "text": "Stream (name)" } },
                "yaxis": { "title": { "text": "Throughput (MB/s)" }, "rangemode": "tozero", "tickformat": ",~r" },
                "bargap": 0.25, "hovermode": "x", "barmode": "overlay", "legend": legend_below(),
            }),
        ),
        steps: shown.iter().map(|s| s.index).collect(),
    })
}

fn view(step: &StepFigures) -> View {
    let (mut traces, mut shapes) = (Vec::new(), Vec::new());
    let mut from = -0.5;
    let directions = step.network.iter().flat_map(|p| p.directions.iter().map(move |d| (p, d)));
    for (place, (pair, direction)) in directions.enumerate() {
        let shown = &direction.streams[..direction.streams.len().min(STREAMS_MAX)];
        let name = word(&direction_label(pair, direction.way));
        let style = palette::source(place);
        let x = || shown.iter().map(|s| word(&s.name)).collect::<Vec<_>>();
        let rates = |of: fn(&findings::network::Stream) -> f64| {
            shown.iter().map(|s| short(of(s) / 1e6)).collect::<Vec<_>>()
        };
        let bar = Trace::bar(x(), rates(|s| s.received.bytes_per_s))
            .name(&name)
            .marker(Marker::new().color(style.color.clone()).hatched(style.pattern))
            .hover_template("received %{y:,.4~r} MB/s<extra></extra>");
        traces.push(bar.json());
        let sent = Trace::scatter(x(), rates(|s| s.sent.bytes_per_s))
            .mode(Mode::Markers)
            .show_legend(false)
            .marker(Marker::new().color(palette::INK).symbol(MarkerSymbol::LineEwOpen).size(16))
            .hover_template("sent %{y:,.4~r} MB/s<extra></extra>");
        traces.push(sent.json());
        let to = from + shown.len() as f64;
        shapes.extend(band(direction, from, to));
        from = to;
    }
    View { label: word(&step.label()), traces, shapes, annotations: Vec::new() }
}

/// The mean and the band of a direction, as wide as its streams.
fn band(direction: &Direction, from: f64, to: f64) -> Vec<Value> {
    let Some(mean) = direction.balance.as_ref().map(|b| b.mean_bytes_per_s / 1e6) else {
        return Vec::new();
    };
    let at = |low: f64, high: f64| json!({ "xref": "x", "yref": "y", "x0": from, "x1": to, "y0": low, "y1": high });
    let mut band = at(mean * (1.0 - BAND), mean * (1.0 + BAND));
    band["type"] = json!("rect");
    band["fillcolor"] = json!(SHADE);
    band["line"] = json!({ "color": RULE, "width": 1 });
    let mut line = at(mean, mean);
    line["type"] = json!("line");
    line["line"] = json!({ "color": MUTED, "dash": "dash", "width": 1.5 });
    vec![band, line]
}

/// One line over the sizes of messages: a plan, the other settings, a pair, a workload and a way.
struct SizeCurve {
    name: String,
    points: Vec<(String, f64)>,
}

/// Throughput over the size of messages; `None` where no plan goes through sizes.
fn sizes(analysis: &Analysis) -> Option<Chart> {
    let mut curves: Vec<SizeCurve> = Vec::new();
    let mut steps = Vec::new();
    for step in &analysis.steps {
        let is =
            |(key, _): &&(String, String)| key == MESSAGE || key.ends_with(&format!(".{MESSAGE}"));
        let Some((_, size)) = step.settings.iter().find(is) else { continue };
        steps.push(step.index);
        for (pair, direction) in
            step.network.iter().flat_map(|p| p.directions.iter().map(move |d| (p, d)))
        {
            let others = step.settings.iter().filter(|setting| !is(setting));
            let mut parts: Vec<String> = others.map(|(k, v)| format!("{k} {v}")).collect();
            parts.push(direction_label(pair, direction.way));
            let name = word(&parts.join(", "));
            let point = (word(size), direction.received.bytes_per_s / 1e6);
            match curves.iter_mut().find(|curve| curve.name == name) {
                Some(curve) => curve.points.push(point),
                None => curves.push(SizeCurve { name, points: vec![point] }),
            }
        }
    }
    let several =
        |curve: &SizeCurve| curve.points.iter().any(|(size, _)| *size != curve.points[0].0);
    curves.retain(several);
    let draw = |(place, curve): (usize, &SizeCurve)| {
        let style = palette::source(place);
        let (x, y) = curve.points.iter().map(|(size, rate)| (size.clone(), short(*rate))).unzip();
        let line = Trace::scatter(x, y)
            .name(&curve.name)
            .mode(Mode::LinesMarkers)
            .line(Line::new().color(style.color.clone()).dash(style.dash))
            .marker(Marker::new().color(style.color).symbol(style.symbol).size(7))
            .hover_template(format!("%{{y:,.4~r}} MB/s<extra>{}</extra>", curve.name));
        line.json()
    };
    let note = "What was received over the size of a message, a line for each use case and way.";
    (!curves.is_empty()).then(|| Chart {
        id: "message-sizes".into(),
        title: "Throughput over the size of messages".into(),
        note: note.into(),
        alt: format!("{} lines. {note}", curves.len()),
        height: 400,
        wide: false,
        figure: json!({
            "data": curves.iter().enumerate().map(draw).collect::<Vec<_>>(),
            "layout": {
                "xaxis": { "type": "category", "title": { "text": "Message (bytes)" } },
                "yaxis": { "title": { "text": "Throughput (MB/s)" }, "rangemode": "tozero", "tickformat": ",~r" },
                "hovermode": "x unified", "legend": legend_below(),
            },
        }),
        steps,
    })
}

/// The rows of the time line: what was sent and received each way, and how busy both ends were.
pub(super) fn rows(evidence: &Evidence) -> Vec<TimelineRow> {
    let network = &evidence.timeline.network;
    let carried: Vec<Value> = network
        .ways
        .iter()
        .enumerate()
        .flat_map(|(place, way)| lines(evidence, place, way))
        .collect();
    let busy: Vec<Value> = network
        .machines
        .iter()
        .enumerate()
        .filter(|(_, machine)| machine.busy.iter().any(Option::is_some))
        .map(|(place, machine)| busy(evidence, place, machine))
        .collect();
    [("Network (MB/s)", carried), ("Both ends (processors)", busy)]
        .into_iter()
        .filter(|(_, traces)| !traces.is_empty())
        .map(|(title, traces)| TimelineRow { title: title.to_owned(), traces })
        .collect()
}

fn lines(evidence: &Evidence, place: usize, way: &NetWay) -> Vec<Value> {
    let network = &evidence.timeline.network;
    let preposition = if way.up { "to" } else { "from" };
    // Pairs are no sources of load: their colours begin where those of the sources end.
    let color = palette::source(evidence.groups.len() + place).color;
    let ends = [
        ("received", &way.received_bytes_per_s, DashType::Solid),
        ("sent", &way.sent_bytes_per_s, DashType::Dot),
    ];
    let drawn = ends.map(|(end, values, dash)| {
        let name = format!("{preposition} {}: {end}", word(&way.pair));
        let pen = Line::new().color(color.clone()).dash(dash);
        line(network.from_s, network.bin_s, scaled(values, 1e6), &name, "MB/s", pen)
    });
    drawn.into()
}

fn busy(evidence: &Evidence, place: usize, machine: &NetMachine) -> Value {
    let network = &evidence.timeline.network;
    let color = palette::source(evidence.groups.len() + network.ways.len() + place).color;
    let pen = Line::new().color(color);
    let name = format!("{}: busy", word(&machine.hop));
    let drawn =
        line(network.from_s, network.bin_s, scaled(&machine.busy, 1.0), &name, "processors", pen);
    with(drawn, "showlegend", json!(true))
}
