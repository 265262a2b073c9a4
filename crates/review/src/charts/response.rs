//! Latency over throughput: the response time of every load of a sweep against the operations that it did. The curve is
//! flat while there is room and turns upwards where a limit is reached; what is added there only waits.

use super::figure::{View, figure, kind_of, latency_axis, loop_sentence, seconds, short, with};
use super::palette::{READ, WRITE, ordered};
use super::trace::{DashType, Line, Marker, Mode, Trace};
use super::{Chart, word};
use findings::{Analysis, IoFigures, StepFigures, Sweep};
use serde_json::{Value, json};

/// Curves of a chart; the tables have all.
const CURVES_MAX: usize = 8;
/// Points of a curve that bear their load; of more, only the first and the last.
const NAMED_MAX: usize = 12;
/// Parts of a chart's width and height by which names are apart, in one of the two.
const APART_ACROSS: f64 = 0.08;
const APART_UP: f64 = 0.07;
/// Decades of latency that a chart shows at least, as far as names go.
const LOG_HEIGHT_MIN: f64 = 0.1;

/// Chooses the operations whose latency is shown.
type FiguresOf = fn(&StepFigures) -> &IoFigures;

/// A chart for each plan and each axis of its that is an amount of load.
pub(super) fn charts(analysis: &Analysis) -> Vec<Chart> {
    let mut groups: Vec<(usize, Vec<&Sweep>)> = Vec::new();
    for (place, sweep) in analysis.sweeps.iter().enumerate().filter(|(_, sweep)| is_load(sweep)) {
        let same = |group: &&mut (usize, Vec<&Sweep>)| {
            group.1[0].plan == sweep.plan && group.1[0].axis == sweep.axis
        };
        match groups.iter_mut().find(same) {
            Some((_, sweeps)) => sweeps.push(sweep),
            None => groups.push((place, vec![sweep])),
        }
    }
    groups.iter().filter_map(|(place, sweeps)| chart(analysis, *place, sweeps)).collect()
}

/// A block size is no amount of load.
fn is_load(sweep: &Sweep) -> bool {
    !sweep.axis.ends_with("block") && sweep.points.len() > 1
}

/// The steps of a sweep in ascending order of load.
fn steps<'a>(analysis: &'a Analysis, sweep: &Sweep) -> Vec<(&'a StepFigures, String)> {
    let on = |step: &&StepFigures| {
        step.plan == sweep.plan && sweep.fixed.iter().all(|fixed| step.settings.contains(fixed))
    };
    let of = |value: &String| {
        let key = (sweep.axis.clone(), value.clone());
        let found = analysis.steps.iter().filter(on).filter(|s| s.settings.contains(&key));
        found.map(|step| (step, value.clone())).collect::<Vec<_>>()
    };
    sweep.points.iter().flat_map(|point| of(&point.value)).collect()
}

fn chart(analysis: &Analysis, place: usize, sweeps: &[&Sweep]) -> Option<Chart> {
    let shown: Vec<_> = sweeps.iter().take(CURVES_MAX).collect();
    let all: Vec<(&Sweep, Vec<(&StepFigures, String)>)> =
        shown.into_iter().map(|sweep| (*sweep, steps(analysis, sweep))).collect();
    let of = || all.iter().flat_map(|(_, steps)| steps).map(|(step, _)| *step);
    of().find(|step| step.total.both.mean_latency_ns().is_some())?;
    let (plan, axis) = (word(&sweeps[0].plan), word(&sweeps[0].axis));
    let kind = kind_of(of().map(|step| step.loops));
    let mut traces = Vec::new();
    for (n, (sweep, steps)) in all.iter().enumerate() {
        let fixed = sweep.fixed.iter().map(|(key, value)| format!("{key} {value}"));
        let name = word(&fixed.collect::<Vec<_>>().join(", "));
        let color = ordered(n, all.len());
        traces.push(curve(
            sweep,
            steps,
            (&label("mean", &name), &color, DashType::Solid),
            |s| &s.total.both,
            mean,
        ));
        traces.push(curve(
            sweep,
            steps,
            (&label("p99", &name), &color, DashType::Dash),
            |s| &s.total.both,
            p99,
        ));
        let mixed = steps.iter().any(|(s, _)| s.total.read.ops > 0 && s.total.write.ops > 0);
        if mixed && all.len() == 1 {
            traces.push(curve(
                sweep,
                steps,
                ("reads, p99", READ, DashType::Dot),
                |s| &s.total.read,
                p99,
            ));
            traces.push(curve(
                sweep,
                steps,
                ("writes, p99", WRITE, DashType::Dot),
                |s| &s.total.write,
                p99,
            ));
        }
    }
    let note = format!(
        "Each point is a load; where the curve turns upwards, more load only waits longer. {}",
        loop_sentence(kind)
    );
    let view = View { label: String::new(), traces, shapes: Vec::new(), annotations: Vec::new() };
    let layout = json!({
        "xaxis": { "title": { "text": "Operations of all workers together (IOPS)" }, "rangemode": "tozero", "tickformat": "~s" },
        "yaxis": latency_axis(kind), "hovermode": "closest",
        "legend": { "orientation": "h", "x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom" },
    });
    Some(Chart {
        id: format!("response-{place}"),
        title: format!("Latency over throughput: {plan}, by {axis}"),
        alt: format!("Latency against operations a second for each {axis} of {plan}. {note}"),
        note,
        height: 380,
        wide: false,
        figure: figure(vec![view], layout),
        steps: of().map(|step| step.index).collect(),
    })
}

fn label(what: &str, of: &str) -> String {
    if of.is_empty() { what.to_owned() } else { format!("{what}, {of}") }
}

fn mean(figures: &IoFigures) -> Option<f64> {
    figures.mean_latency_ns()
}

fn p99(figures: &IoFigures) -> Option<f64> {
    figures.latency().map(|latency| latency.p99_ns as f64)
}

/// What a point's load is: `depth 8 (32 in flight: 8 × 4 workers)`.
pub(super) fn load(step: &StepFigures, axis: &str, value: &str) -> String {
    let workers = step.completeness.len();
    let each = step.depth.checked_div(u32::try_from(workers).unwrap_or(0)).unwrap_or(0);
    let even = each > 0 && each as usize * workers == step.depth as usize;
    let total = match (step.depth, workers) {
        (0, _) => String::new(),
        (depth, n) if even && n > 1 => {
            format!(" ({} in flight: {each} × {n} workers)", units::count(depth.into()))
        }
        (depth, _) => format!(" ({} in flight)", units::count(depth.into())),
    };
    format!("{} {}{total}", word(axis), word(value))
}

/// Which points are named, so that no name lies on another: the first and the last of them, and those between that are far
/// enough from all that are.
fn named(places: &[Option<(f64, f64)>]) -> Vec<bool> {
    let known = || places.iter().flatten();
    let right = known().map(|(x, _)| *x).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    let (low, high) = known()
        .map(|(_, y)| y.max(f64::MIN_POSITIVE).log10())
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
    let height = (high - low).max(LOG_HEIGHT_MIN);
    let on_chart = |(x, y): (f64, f64)| (x / right, y.max(f64::MIN_POSITIVE).log10() / height);
    let mut named = vec![false; places.len()];
    let mut taken: Vec<(f64, f64)> = Vec::new();
    let ends = places.iter().rposition(Option::is_some).into_iter();
    let inner = (0..places.len()).filter(|_| places.len() <= NAMED_MAX);
    let first = places.iter().position(Option::is_some);
    for n in first.into_iter().chain(ends).chain(inner) {
        let Some((x, y)) = places[n].map(on_chart) else { continue };
        let near = |(a, b): &(f64, f64)| (a - x).abs() < APART_ACROSS && (b - y).abs() < APART_UP;
        if !named[n] && !taken.iter().any(near) {
            named[n] = true;
            taken.push((x, y));
        }
    }
    named
}

fn curve(
    sweep: &Sweep,
    steps: &[(&StepFigures, String)],
    (name, color, dash): (&str, &str, DashType),
    of: FiguresOf,
    point: fn(&IoFigures) -> Option<f64>,
) -> Value {
    let x = steps.iter().map(|(step, _)| short(step.total.both.iops)).collect();
    let y: Vec<Option<f64>> =
        steps.iter().map(|(step, _)| point(of(step)).map(|ns| seconds(ns as u64))).collect();
    let solid = matches!(dash, DashType::Solid);
    let places: Vec<Option<(f64, f64)>> =
        steps.iter().zip(&y).map(|((step, _), y)| Some((step.total.both.iops, (*y)?))).collect();
    let named = named(&places);
    let texts: Vec<String> = steps
        .iter()
        .enumerate()
        .map(|(n, (_, value))| if named[n] && solid { word(value) } else { String::new() })
        .collect();
    let loads: Vec<String> =
        steps.iter().map(|(step, value)| load(step, &sweep.axis, value)).collect();
    let line = Trace::scatter(x, y)
        .name(name)
        .mode(Mode::LinesMarkers)
        .line(Line::new().color(color.to_owned()).width(2.0).dash(dash))
        .marker(Marker::new().color(color.to_owned()).size(6))
        .hover_template(format!(
            "%{{customdata}}: %{{x:,.4~r}} IOPS, %{{y:.3~s}}s<extra>{name}</extra>"
        ));
    let mut line = with(line.json(), "customdata", json!(loads));
    if solid {
        // The mean is the lowest line and goes up to the right: below and right of a point there is none.
        line = with(with(line, "text", json!(texts)), "textposition", json!("bottom right"));
        line = with(with(line, "cliponaxis", json!(false)), "mode", json!("lines+markers+text"));
    }
    line
}

#[cfg(test)]
mod tests {
    use super::named;

    #[track_caller]
    fn check(places: &[(f64, f64)], expected: &[usize]) {
        let places: Vec<_> = places.iter().map(|place| Some(*place)).collect();
        let found: Vec<usize> = named(&places)
            .iter()
            .enumerate()
            .filter(|(_, named)| **named)
            .map(|(n, _)| n)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn names_are_apart() {
        check(&[(100.0, 1e-3), (200.0, 1e-3), (400.0, 1e-3)], &[0, 1, 2]);
        // More load brings nothing but latency: apart by their height.
        check(&[(100.0, 1e-3), (400.0, 2e-3), (400.0, 4e-3), (400.0, 8e-3)], &[0, 1, 2, 3]);
        // The second and third would lie on the last.
        check(&[(100.0, 1e-3), (398.0, 7.9e-3), (399.0, 8.0e-3), (400.0, 8.0e-3)], &[0, 3]);
        let many: Vec<(f64, f64)> = (1..=35).map(|n| (f64::from(n), 1e-3)).collect();
        check(&many, &[0, 34]);
        check(&[(1.0, 1e-3), (1.0, 1e-3)], &[0]);
        assert_eq!(named(&[None, Some((1.0, 1.0)), None]), [false, true, false]);
    }
}
