//! The time line: rates, counters, phases and events of the whole run, on one axis of time with one cursor.

use super::figure::{middles, scaled, time_axis, with};
use super::palette::{self, ERRORS, MUTED, READ, SHADE, WRITE};
use super::trace::{DashType, Line, Marker, MarkerSymbol, Mode, Trace};
use super::{Chart, left_out, network, ports, word};
use findings::Evidence;
use findings::evidence::{EventSeverity, HopUnit, Mark, Part, PhaseSpan, Rates, Series};
use serde_json::{Value, json};

/// CSS pixels of a row, and of the lane of phases and events.
const ROW: u32 = 130;
const LANE: u32 = 56;
/// What is around the rows.
const MARGINS: u32 = 110;
/// Steps whose measured time is shaded.
const SHADED_MAX: usize = 60;
/// Lines of a row that the cursor names; of more, none.
const HOVERED_MAX: usize = 12;
/// Hops with places in the legend; of more, none.
const HOPS_NAMED_MAX: usize = 6;
/// Lines of a row in the legend.
const LEGEND_MAX: usize = 16;

/// Phases with their colours in the lane.
const PHASES: [(&str, &str); 3] = [
    ("warm-up", "var(--warm-up)"),
    ("measured", "var(--measured)"),
    ("cool-down", "var(--cool-down)"),
];

/// A row of the chart.
pub(super) struct TimelineRow {
    pub title: String,
    pub traces: Vec<Value>,
}

/// The chart; `None` where no interval was reported.
pub(super) fn chart(evidence: &Evidence) -> Option<Chart> {
    let timeline = &evidence.timeline;
    let carried = network::rows(evidence);
    let nothing_issued = timeline.total.covered_s.is_empty();
    if nothing_issued && carried.is_empty() {
        return None;
    }
    let mut rows = if nothing_issued { Vec::new() } else { totals(&timeline.total) };
    rows.extend(groups(evidence));
    rows.extend(ports::row(evidence));
    rows.extend(carried);
    rows.extend(hops(evidence));
    let bin_s = match nothing_issued {
        true => timeline.network.bin_s,
        false => timeline.total.bin_s,
    };
    let note = format!(
        "The whole run, warm-up and cool-down included, in bins of {bin_s} s; one cursor goes through all rows. Measured \
         time is shaded.{}",
        left_out(evidence, Part::Timeline)
    );
    let height = rows.len() as u32 * ROW + LANE + MARGINS;
    Some(Chart {
        id: "time-line".into(),
        title: "Time line".into(),
        alt: format!(
            "{} of the run over time, with {} steps and {} events. {note}",
            rows.iter().map(|r| r.title.as_str()).collect::<Vec<_>>().join(", "),
            timeline.phases.len(),
            timeline.events.len()
        ),
        note,
        height,
        wide: true,
        figure: drawn(rows, &timeline.phases, &timeline.events, height),
        steps: timeline.phases.iter().map(|p| p.step).collect(),
    })
}

fn totals(total: &Rates) -> Vec<TimelineRow> {
    let line = |name: &str, unit: &str, color: &str, values: &[Option<f64>], scale: f64| {
        let y = scaled(values, scale);
        line(total.from_s, total.bin_s, y, name, unit, Line::new().color(color.to_owned()))
    };
    let any = |values: &[Option<f64>]| values.iter().flatten().any(|v| *v > 0.0);
    let directions = |unit: &str, read: &[Option<f64>], write: &[Option<f64>], scale: f64| {
        let mut traces = Vec::new();
        if any(read) || !any(write) {
            traces.push(line("reads", unit, READ, read, scale));
        }
        if any(write) {
            traces.push(line("writes", unit, WRITE, write, scale));
        }
        traces
    };
    let mut rows = vec![
        TimelineRow {
            title: "Throughput (MB/s)".into(),
            traces: directions("MB/s", &total.read_bytes_per_s, &total.write_bytes_per_s, 1e6),
        },
        TimelineRow {
            title: "Operations (IOPS)".into(),
            traces: directions("IOPS", &total.read_iops, &total.write_iops, 1.0)
                .into_iter()
                .map(|t| with(t, "showlegend", json!(false)))
                .collect(),
        },
    ];
    if any(&total.errors_per_s) {
        let errors = line("errors", "errors/s", ERRORS, &total.errors_per_s, 1.0);
        rows.push(TimelineRow { title: "Errors (1/s)".into(), traces: vec![errors] });
    }
    rows
}

/// VMs and targets, where there are two or more.
fn groups(evidence: &Evidence) -> Option<TimelineRow> {
    let series = &evidence.timeline.groups;
    let many = series.shown.len();
    let traces = series.shown.iter().zip(&series.bytes_per_s).map(|(place, rates)| {
        let style = palette::source(*place);
        let name = evidence.groups.get(*place).map(|g| word(g)).unwrap_or_default();
        let pen = Line::new().color(style.color).dash(style.dash);
        let line = line(series.from_s, series.bin_s, scaled(rates, 1e6), &name, "MB/s", pen);
        crowded(line, many)
    });
    (many > 1).then(|| TimelineRow { title: "By source (MB/s)".into(), traces: traces.collect() })
}

/// A row for each kind of counter.
fn hops(evidence: &Evidence) -> Vec<TimelineRow> {
    let hops = &evidence.timeline.hops;
    let elsewhere = |s: &&Series| !ports::shows(evidence, s);
    let mut names: Vec<&str> =
        hops.series.iter().filter(elsewhere).map(|s| s.hop.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    let mut named: Vec<String> = Vec::new();
    let row = |(unit, title, symbol, scale): &(HopUnit, &str, &str, f64)| {
        let of: Vec<&Series> =
            hops.series.iter().filter(elsewhere).filter(|s| s.unit == *unit).collect();
        let mut traces = Vec::new();
        for series in &of {
            let (role, pen) = pen(evidence, &names, series);
            let name = word(&format!("{} {}", series.hop, series.counter));
            let values = scaled(&series.values, *scale);
            let drawn =
                crowded(line(hops.from_s, hops.bin_s, values, &name, symbol, pen), of.len());
            // What is drawn in one way has one place in the legend.
            let first =
                names.len() <= HOPS_NAMED_MAX && !named.contains(&role) && named.len() < LEGEND_MAX;
            let drawn = with(drawn, "legendgroup", json!(role));
            traces.push(with(drawn, "showlegend", json!(first)));
            if first {
                let last = traces.len() - 1;
                traces[last]["name"] = json!(role);
                named.push(role);
            }
        }
        (!of.is_empty()).then(|| TimelineRow { title: (*title).to_owned(), traces })
    };
    [
        (HopUnit::Percent, "Utilization (%)", "%", 1.0),
        (HopUnit::BytesPerS, "Devices (MB/s)", "MB/s", 1e6),
        (HopUnit::InFlight, "In flight (requests)", "requests", 1.0),
        (HopUnit::PerS, "Devices (1/s)", "a second", 1.0),
    ]
    .iter()
    .filter_map(row)
    .collect()
}

/// What a counter is drawn as, and how: a hop by its colour, its writes dashed. Of a single hop reads and writes have the
/// colours that they have elsewhere.
fn pen(evidence: &Evidence, hops: &[&str], series: &Series) -> (String, Line) {
    let hop = word(&series.hop);
    let place = hops.iter().position(|name| *name == series.hop).unwrap_or(0);
    // Hops are no sources of load: their colours begin where those of the sources end.
    let color = palette::source(evidence.groups.len() + place).color;
    let of = |word: &str| series.counter.starts_with(word);
    match (of("read"), of("write"), hops.len()) {
        (true, _, 1) => (format!("{hop}: reads"), Line::new().color(READ).dash(DashType::Dash)),
        (_, true, 1) => (format!("{hop}: writes"), Line::new().color(WRITE).dash(DashType::Dash)),
        (_, true, _) => (format!("{hop}: writes"), Line::new().color(color).dash(DashType::Dot)),
        _ => (hop, Line::new().color(color)),
    }
}

/// Of many lines the cursor names none, or its box would hide them all.
fn crowded(line: Value, many: usize) -> Value {
    let line = if many > HOVERED_MAX { with(line, "hoverinfo", json!("skip")) } else { line };
    with(line, "showlegend", json!(many <= LEGEND_MAX))
}

pub(super) fn line(
    from_s: f64,
    bin_s: f64,
    y: Vec<Option<f64>>,
    name: &str,
    unit: &str,
    pen: Line,
) -> Value {
    let x = middles(from_s, bin_s, y.len());
    let mode = if y.len() <= 30 { Mode::LinesMarkers } else { Mode::Lines };
    let line = Trace::scatter(x, y)
        .name(name)
        .mode(mode)
        .line(pen.width(1.5))
        .hover_template(format!("%{{y:,.4~r}} {unit}<extra>{name}</extra>"));
    with(with(line.json(), "connectgaps", json!(false)), "marker", json!({ "size": 4 }))
}

/// The figure: rows from top to bottom, the lane of phases and events at the bottom.
fn drawn(rows: Vec<TimelineRow>, phases: &[PhaseSpan], events: &[Mark], height: u32) -> Value {
    let inner = f64::from(height - MARGINS);
    let lane_top = f64::from(LANE - 12) / inner;
    let row_height = (1.0 - f64::from(LANE) / inner) / rows.len().max(1) as f64;
    let mut x = time_axis();
    for (key, value) in [
        ("anchor", json!("y")),
        ("showspikes", json!(true)),
        ("spikemode", json!("across")),
        ("spikesnap", json!("cursor")),
        ("spikethickness", json!(1)),
        ("spikedash", json!("solid")),
        ("spikecolor", json!(MUTED)),
    ] {
        x[key] = value;
    }
    let mut layout = json!({
        "xaxis": x, "hovermode": "x unified", "hoversubplots": "axis",
        "yaxis": { "domain": [0, lane_top], "range": [0, 2], "showgrid": false, "zeroline": false, "fixedrange": true,
                   "tickvals": [0.5, 1.5], "ticktext": ["phase", "event"], "ticks": "" },
        "shapes": shades(phases),
        // In rows, although some entries are groups, which would stand below each other.
        "legend": { "orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom", "traceorder": "normal" },
    });
    let mut data = lane(phases, events);
    for (n, row) in rows.into_iter().enumerate() {
        let top = 1.0 - n as f64 * row_height;
        layout[format!("yaxis{}", n + 2)] = json!({
            "title": { "text": row.title, "font": { "size": 11 } }, "domain": [top - row_height + 0.25 * row_height.min(0.12), top],
            "rangemode": "tozero", "tickformat": "~s", "nticks": 5, "anchor": "x",
        });
        data.extend(row.traces.into_iter().map(|t| with(t, "yaxis", json!(format!("y{}", n + 2)))));
    }
    json!({ "data": data, "layout": layout })
}

/// Phases as coloured stretches and events as marks.
fn lane(phases: &[PhaseSpan], events: &[Mark]) -> Vec<Value> {
    let mut traces = Vec::new();
    let (edges, tones, names) = stretches(phases);
    if !tones.is_empty() {
        let colors = json!([
            [0.0, "var(--warm-up)"],
            [0.33, "var(--warm-up)"],
            [0.34, "var(--measured)"],
            [0.66, "var(--measured)"],
            [0.67, "var(--cool-down)"],
            [1.0, "var(--cool-down)"],
        ]);
        let map = Trace::heat_map(edges, vec![0.0, 1.0], vec![tones])
            .zmin(0.0)
            .zmax(2.0)
            .show_scale(false)
            .hover_on_gaps(false)
            .hover_template("%{text}<extra></extra>");
        let map = with(with(map.json(), "colorscale", colors), "text", json!([names]));
        traces.push(map);
    }
    for (name, color) in PHASES {
        let key = Trace::scatter(vec![0.0], vec![None::<f64>])
            .name(name)
            .mode(Mode::Markers)
            .marker(Marker::new().color(color).symbol(MarkerSymbol::Square).size(10));
        traces.push(with(key.json(), "hoverinfo", json!("skip")));
    }
    for (severity, name, color, symbol) in [
        (EventSeverity::Info, "info", "var(--event-info)", MarkerSymbol::Circle),
        (EventSeverity::Warning, "warning", "var(--event-warning)", MarkerSymbol::TriangleUp),
        (EventSeverity::Error, "error", "var(--event-error)", MarkerSymbol::X),
    ] {
        let of: Vec<&Mark> = events.iter().filter(|e| e.severity == severity).collect();
        if of.is_empty() {
            continue;
        }
        let marks = Trace::scatter(of.iter().map(|e| e.at_s).collect(), vec![1.5; of.len()])
            .name(format!("event: {name}"))
            .mode(Mode::Markers)
            .marker(Marker::new().color(color).symbol(symbol).size(9))
            .hover_text(of.iter().map(|e| hover(e)).collect::<Vec<_>>())
            .hover_template("%{hovertext}<extra></extra>");
        traces.push(marks.json());
    }
    traces
}

/// An event in words, broken into lines that a hover box can hold.
fn hover(event: &Mark) -> String {
    let who = event.source.as_deref().map(|s| format!("{s}: ")).unwrap_or_default();
    let text = word(&format!("{who}{}", event.text));
    let mut lines = vec![String::new()];
    for piece in text.split(' ') {
        match lines.last_mut() {
            Some(line) if line.chars().count() + piece.chars().count() < 60 => {
                line.push(' ');
                line.push_str(piece);
            }
            _ => lines.push(piece.to_owned()),
        }
    }
    format!("<b>{}</b><br>{}", word(&event.code), lines.join("<br>"))
}

/// Edges, tones (a gap between steps has none) and names of the phases, one after the other.
fn stretches(phases: &[PhaseSpan]) -> (Vec<f64>, Vec<Option<f64>>, Vec<String>) {
    let (mut edges, mut tones, mut names) = (Vec::new(), Vec::new(), Vec::new());
    let mut reached = f64::NEG_INFINITY;
    for phase in phases {
        let label = word(&phase.label);
        let [warm_up, measured, cool_down] = PHASES.map(|(name, _)| name);
        let parts = [
            (phase.start_s, phase.measure_s, 0.0, warm_up),
            (phase.measure_s, phase.cooldown_s, 1.0, measured),
            (phase.cooldown_s, phase.end_s, 2.0, cool_down),
        ];
        for (from, to, tone, name) in parts {
            // Steps of a made-up record may overlap; edges must rise.
            if !(from.is_finite() && to.is_finite() && to > from && from >= reached) {
                continue;
            }
            if edges.is_empty() {
                edges.push(from);
            } else if from > reached {
                edges.push(from);
                tones.push(None);
                names.push(String::new());
            }
            edges.push(to);
            tones.push(Some(tone));
            names.push(format!("{label}: {name}"));
            reached = to;
        }
    }
    (edges, tones, names)
}

/// The measured time of each step, over all rows.
fn shades(phases: &[PhaseSpan]) -> Vec<Value> {
    if phases.len() > SHADED_MAX {
        return Vec::new();
    }
    let shade = |p: &PhaseSpan| {
        json!({ "type": "rect", "xref": "x", "yref": "paper", "x0": p.measure_s, "x1": p.cooldown_s, "y0": 0, "y1": 1,
                "fillcolor": SHADE, "line": { "width": 0 }, "layer": "below" })
    };
    phases.iter().map(shade).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(step: u32, edges: [f64; 4]) -> PhaseSpan {
        let [start_s, measure_s, cooldown_s, end_s] = edges;
        PhaseSpan { step, label: format!("s{step}"), start_s, measure_s, cooldown_s, end_s }
    }

    #[track_caller]
    fn check(phases: &[[f64; 4]], edges: &[f64], tones: &[Option<f64>]) {
        let phases: Vec<PhaseSpan> = (0..).zip(phases).map(|(n, e)| phase(n, *e)).collect();
        let (found, colors, names) = stretches(&phases);
        assert_eq!((found.as_slice(), colors.as_slice()), (edges, tones));
        assert_eq!(names.len(), tones.len());
    }

    #[test]
    fn phases_follow_each_other_with_gaps_between_steps() {
        let (w, m, c) = (Some(0.0), Some(1.0), Some(2.0));
        check(&[], &[], &[]);
        check(&[[0.0, 1.0, 3.0, 4.0]], &[0.0, 1.0, 3.0, 4.0], &[w, m, c]);
        check(&[[0.0, 0.0, 2.0, 2.0], [3.0, 3.0, 5.0, 5.0]], &[0.0, 2.0, 3.0, 5.0], &[m, None, m]);
        // The second did not report; the third overlaps the first.
        check(&[[0.0, 1.0, 2.0, 2.0], [3.0; 4], [1.0, 1.5, 2.5, 2.5]], &[0.0, 1.0, 2.0], &[w, m]);
        check(&[[f64::NAN, 1.0, 2.0, 3.0]], &[1.0, 2.0, 3.0], &[m, c]);
    }

    #[test]
    fn an_event_is_told_in_short_lines_and_is_no_markup() {
        let mark = Mark {
            at_s: 0.0,
            step: None,
            source: Some("<b>vm</b>".into()),
            severity: EventSeverity::Info,
            code: "c".into(),
            text: "word ".repeat(40),
        };
        let text = hover(&mark);
        assert!(text.contains("&lt;b&gt;vm&lt;/b&gt;: word"), "{text}");
        assert!(text.split("<br>").all(|line| line.chars().count() < 75), "{text}");
    }
}
