//! The ports of embedded arrays on the time line: what passed in each direction, under the speed that the port had.

use super::palette::{self, MUTED, READ, WRITE};
use super::timeline::{TimelineRow, line};
use super::trace::{DashType, Line, Mode, Trace};
use super::{figure, word};
use findings::Evidence;
use findings::evidence::{HopUnit, LimitSeries, Series};
use serde_json::{Value, json};

/// Ports whose lines have a place in the legend.
const LEGEND_MAX: usize = 4;

/// Whether a counter belongs into the row of ports.
pub(super) fn shows(evidence: &Evidence, series: &Series) -> bool {
    let ports = &evidence.timeline.limits;
    series.unit == HopUnit::BytesPerS && ports.iter().any(|port| port.hop == series.hop)
}

/// The row; `None` where no port with a speed counted.
pub(super) fn row(evidence: &Evidence) -> Option<TimelineRow> {
    let hops = &evidence.timeline.hops;
    let ports = &evidence.timeline.limits;
    let mut traces = Vec::new();
    for (place, port) in ports.iter().enumerate() {
        let mine = hops.series.iter().filter(|s| s.hop == port.hop && shows(evidence, s));
        // The speed is drawn as steps, exact to the moment.
        let mine = mine.filter(|s| s.counter != "rate");
        for series in mine {
            let (name, pen) = pen(evidence, place, ports.len(), series);
            let values = figure::scaled(&series.values, 1e6);
            let drawn = line(hops.from_s, hops.bin_s, values, &name, "MB/s", pen);
            traces.push(figure::with(drawn, "showlegend", json!(ports.len() <= LEGEND_MAX)));
        }
    }
    if traces.is_empty() {
        return None;
    }
    traces.extend(speeds(ports));
    Some(TimelineRow { title: "Ports (MB/s)".to_owned(), traces })
}

/// A single port's reads and writes have their usual colours; of several each has its own, with dotted writes.
fn pen(evidence: &Evidence, place: usize, ports: usize, series: &Series) -> (String, Line) {
    let writes = series.counter.starts_with("write");
    let name = format!("{} {}", word(&series.hop), if writes { "writes" } else { "reads" });
    let pen = match (ports, writes) {
        (1, false) => Line::new().color(READ),
        (1, true) => Line::new().color(WRITE),
        // Ports are no sources of load: their colours begin where those of the sources end.
        (_, writes) => {
            let pen = Line::new().color(palette::source(evidence.groups.len() + place).color);
            if writes { pen.dash(DashType::Dot) } else { pen }
        }
    };
    (name, pen)
}

/// The speeds as dashed steps; ports of one speed throughout are drawn once.
fn speeds(ports: &[LimitSeries]) -> Vec<Value> {
    let mut drawn: Vec<&LimitSeries> = Vec::new();
    let mut traces = Vec::new();
    for port in ports {
        if drawn.iter().any(|other| other.spans == port.spans) {
            continue;
        }
        drawn.push(port);
        let (mut x, mut y) = (Vec::new(), Vec::new());
        for span in &port.spans {
            let rate = figure::short(span.bytes_per_s / 1e6);
            // A gap, so that no line leads from one step to the next.
            x.extend([span.from_s, span.to_s, span.to_s]);
            y.extend([Some(rate), Some(rate), None]);
        }
        let same = ports.iter().filter(|p| p.spans == port.spans).count();
        let name = match same {
            1 => format!("speed of {}", word(&port.hop)),
            _ => format!("speed of {} and {} more", word(&port.hop), same - 1),
        };
        let pen = Line::new().color(MUTED).dash(DashType::Dash).width(1.5).shape("linear");
        let speed = Trace::scatter(x, y)
            .name(&name)
            .mode(Mode::Lines)
            .line(pen)
            .hover_template(format!("%{{y:,.4~r}} MB/s<extra>{name}</extra>"));
        traces.push(figure::with(speed.json(), "connectgaps", json!(false)));
    }
    traces
}
