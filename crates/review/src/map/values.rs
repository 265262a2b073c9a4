//! What a map shows of a step: of every row, and of every member of a stack, how full it is and what passes it; which hop
//! limits; and the step itself in words. The picture, the table beside it and the page's script all take these.

use super::scene::Scene;
use crate::highlights;
use crate::limits;
use crate::number::{digits, latency, percent};
use crate::text::clean;
use findings::attribution::{Gauge, Limiter};
use findings::map::{LabMap, Role, loads};
use findings::{Attribution, HopLoad, StepFigures};

/// Shares from which a hop is drawn as half full, nearly full and full.
const STAGES: [f64; 3] = [0.50, 0.80, 0.95];

/// The figures of a row, as columns of the table: name, unit, and the heading above.
pub(crate) const COLUMNS: [(&str, &str, &str); 9] = [
    ("full", "%", ""),
    ("read", "MB/s", "read"),
    ("of rate", "%", "read"),
    ("written", "MB/s", "write"),
    ("of rate", "%", "write"),
    ("present", "mean", "queue"),
    ("waiting", "mean", "queue"),
    ("of the time", "%", "latency"),
    ("mean", "", "latency"),
];

/// What one step shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct StepValues {
    /// The settings.
    pub label: String,
    /// Throughput of all loads.
    pub total: String,
    /// What limits it, in words.
    pub limit: String,
    /// By row of the table ([`Scene::table`]).
    pub rows: Vec<HopValue>,
    /// Rows of the scene that limit.
    pub first: Vec<usize>,
    /// Rows of the scene that would be next.
    pub second: Vec<usize>,
}

/// What is shown of a hop, or of several.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HopValue {
    /// Utilization, in total and of reads and writes: 0 = not counted, 1 to 4 = by level, 5 = counted, limit unknown.
    pub classes: [u8; 3],
    /// The same as widths, in percent.
    pub widths: [u8; 3],
    /// The figure that stands beside its name.
    pub text: String,
    /// By [`COLUMNS`]; empty where it is not known.
    pub cells: [String; COLUMNS.len()],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TableRow {
    /// The row of the scene.
    pub row: usize,
    /// The hop of the map, where it is one member of a stack.
    pub member: Option<usize>,
}

impl Scene {
    /// The rows of the table: those of the picture, each stack followed by its members.
    pub fn table(&self) -> Vec<TableRow> {
        let mut table = Vec::with_capacity(self.rows_and_members());
        for (row, it) in self.rows.iter().enumerate() {
            table.push(TableRow { row, member: None });
            let members = it.hops.iter().filter(|_| it.hops.len() > 1);
            table.extend(members.map(|hop| TableRow { row, member: Some(*hop) }));
        }
        table
    }
}

pub(crate) fn class_words(class: u8) -> &'static str {
    match class {
        0 => "not counted",
        1 => "below 50%",
        2 => "50 to 80%",
        3 => "80 to 95%",
        4 => "95% and more",
        _ => "counted, limit not known",
    }
}

/// What these loads, by hop of the map, show on the rows of a scene.
pub(crate) fn row_values(scene: &Scene, loads: &[Option<HopLoad>]) -> Vec<HopValue> {
    let value = |hops: &[usize]| {
        let all: Vec<&HopLoad> = hops.iter().filter_map(|hop| loads[*hop].as_ref()).collect();
        HopValue::of(&together(&all), !all.is_empty())
    };
    let rows = scene.table().into_iter().map(|at| match at.member {
        Some(hop) => value(&[hop]),
        None => value(&scene.rows[at.row].hops),
    });
    rows.collect()
}

/// What a step shows on a scene of a map.
pub(crate) fn values(map: &LabMap, scene: &Scene, step: &StepFigures) -> StepValues {
    let loads = loads(map, step);
    let judged = step.attribution.as_ref();
    let first = judged.map(|j| marked(map, scene, &loads, &j.limit)).unwrap_or_default();
    let next = judged.and_then(|j| j.runner_up.as_ref());
    let second = next.map(|next| marked(map, scene, &loads, &next.limit)).unwrap_or_default();
    StepValues {
        label: clean(&step.label()),
        total: total(step),
        // A picture and a script show it as it is.
        limit: step
            .attribution
            .as_ref()
            .map(|found| limit_words(step, found).replace('`', ""))
            .unwrap_or_default(),
        rows: row_values(scene, &loads),
        second: second.into_iter().filter(|row| !first.contains(row)).collect(),
        first,
    }
}

fn total(step: &StepFigures) -> String {
    let mut parts = Vec::new();
    if step.has_storage() {
        let both = &step.total.both;
        let rate = units::rate(both.bytes_per_s);
        parts.push(highlights::iops(step).map_or(rate.clone(), |n| format!("{rate}, {n} IOPS")));
        let p99 = both.latency().map(|l| format!("p99 {}", latency(l.p99_ns as f64)));
        let mean = both.mean_latency_ns().map(|ns| format!("mean {}", latency(ns)));
        parts.extend(p99.or(mean));
    }
    if step.has_network() {
        let rate: f64 = step.network.iter().map(findings::network::NetPair::bytes_per_s).sum();
        parts.push(format!("{} over the network", units::rate(rate)));
    }
    parts.join(", ")
}

/// What limits a step, as a sentence.
pub(crate) fn limit_words(step: &StepFigures, judged: &Attribution) -> String {
    let text = limits::of_step(step, judged);
    let mut letters = text.chars();
    letters
        .next()
        .map(|c| c.to_uppercase().chain(letters).chain(['.']).collect())
        .unwrap_or_default()
}

/// The rows that an answer names. Where the load is the limit, it is what the guests issue that are at work.
fn marked(map: &LabMap, scene: &Scene, loads: &[Option<HopLoad>], limit: &Limiter) -> Vec<usize> {
    let names: Vec<&str> = match limit {
        Limiter::Hop { hop, .. }
        | Limiter::Latency { hop }
        | Limiter::PathImbalance { hop, .. } => {
            vec![hop]
        }
        Limiter::Two { first, second } => vec![first, second],
        Limiter::SlowDrain { hop, drain } => {
            std::iter::once(hop).chain(drain).map(String::as_str).collect()
        }
        Limiter::Depth | Limiter::Generator => {
            let guests = (0..scene.rows.len()).filter(|r| scene.rows[*r].role == Role::Guest);
            let issues = |hop: &usize| loads[*hop].as_ref().is_some_and(|of| of.iops > Some(0.0));
            let works = |row: &usize| scene.rows[*row].hops.iter().any(issues);
            let (at_work, idle): (Vec<usize>, Vec<usize>) = guests.partition(works);
            return if at_work.is_empty() { idle } else { at_work };
        }
        Limiter::Rate | Limiter::Unknown { .. } | Limiter::None => return Vec::new(),
    };
    let is_named = |hop: &usize| {
        let hop = &map.hops[*hop];
        names.contains(&hop.name.as_str())
            || hop.counted_as.as_deref().is_some_and(|name| names.contains(&name))
    };
    (0..scene.rows.len()).filter(|row| scene.rows[*row].hops.iter().any(is_named)).collect()
}

/// Hops as one: what passes them is added, and the fullest says how full they are.
fn together(all: &[&HopLoad]) -> HopLoad {
    if let [one] = all {
        return (*one).clone();
    }
    let sum =
        |of: fn(&HopLoad) -> Option<f64>| all.iter().filter_map(|l| of(l)).reduce(|a, b| a + b);
    let fullest = all.iter().filter(|l| l.utilization.is_some());
    let fullest = fullest
        .max_by(|a, b| a.utilization.unwrap_or(0.0).total_cmp(&b.utilization.unwrap_or(0.0)));
    let ops = sum(|l| l.iops).unwrap_or(0.0);
    let time: f64 = all.iter().filter_map(|l| Some(l.iops? * l.mean_ns?)).sum();
    // A rate of all is known where that of each is.
    let rate = |of: fn(&HopLoad) -> Option<f64>| {
        all.iter().map(|l| of(l)).try_fold(0.0, |sum, rate| Some(sum + rate?)).filter(|r| *r > 0.0)
    };
    HopLoad {
        read_bytes_per_s: sum(|l| l.read_bytes_per_s),
        write_bytes_per_s: sum(|l| l.write_bytes_per_s),
        read_rate_bytes_per_s: rate(|l| l.read_rate_bytes_per_s),
        write_rate_bytes_per_s: rate(|l| l.write_rate_bytes_per_s),
        iops: sum(|l| l.iops),
        utilization: fullest.and_then(|l| l.utilization),
        of: fullest.and_then(|l| l.of),
        capacity: fullest.and_then(|l| l.capacity),
        queue: sum(|l| l.queue),
        waiting: sum(|l| l.waiting),
        slots_waiting: sum(|l| l.slots_waiting),
        mean_ns: (ops > 0.0 && time > 0.0).then(|| time / ops),
        latency_share: sum(|l| l.latency_share).map(|share| share.min(1.0)),
        ..HopLoad::default()
    }
}

impl HopValue {
    fn of(load: &HopLoad, counted: bool) -> HopValue {
        let finite = |value: Option<f64>| value.filter(|v| v.is_finite() && *v >= 0.0);
        let [read, write] = [load.read_bytes_per_s, load.write_bytes_per_s].map(finite);
        let shares = [
            finite(load.utilization),
            share(load, read, load.read_rate_bytes_per_s, Gauge::Receive),
            share(load, write, load.write_rate_bytes_per_s, Gauge::Transmit),
        ];
        let class = |share: Option<f64>, counted: bool| match share {
            Some(share) => 1 + STAGES.iter().filter(|from| share >= **from).count() as u8,
            None if counted => 5,
            None => 0,
        };
        let whole = |share: Option<f64>| (share.unwrap_or(0.0).min(1.0) * 100.0).round() as u8;
        let shown = |value: Option<f64>, show: fn(f64) -> String| {
            finite(value).map(show).unwrap_or_default()
        };
        let mega = |bytes: f64| digits(bytes / 1e6);
        let waiting = [load.waiting, load.slots_waiting].into_iter().flatten().reduce(|a, b| a + b);
        let text = match (shares[0], read, write) {
            (Some(share), ..) => format!("{}%", percent(share)),
            (None, None, None) => match finite(load.queue) {
                Some(queue) => format!("{} I/Os", digits(queue)),
                None => "–".to_owned(),
            },
            (None, read, write) => {
                let both = read.unwrap_or(0.0) + write.unwrap_or(0.0);
                format!("{} MB/s", mega(both))
            }
        };
        // Where both directions share a limit, both are as full as it is.
        let shared = shares[0].filter(|_| load.of == Some(Gauge::Both));
        HopValue {
            classes: [
                class(shares[0], counted),
                class(shares[1].or(shared), read.is_some()),
                class(shares[2].or(shared), write.is_some()),
            ],
            widths: shares.map(whole),
            text,
            cells: [
                shown(shares[0], percent),
                read.map(mega).unwrap_or_default(),
                shown(shares[1], percent),
                write.map(mega).unwrap_or_default(),
                shown(shares[2], percent),
                shown(load.queue, digits),
                shown(waiting, digits),
                shown(load.latency_share, percent),
                shown(load.mean_ns, latency),
            ],
        }
    }
}

/// A direction's share of its rate: what the hop knows of it, or what the fullest limit says of both directions alike.
fn share(load: &HopLoad, bytes: Option<f64>, rate: Option<f64>, mine: Gauge) -> Option<f64> {
    let full_duplex = matches!(load.of, Some(Gauge::Receive | Gauge::Transmit));
    let rate = rate.or(load.capacity.filter(|_| full_duplex && load.of == Some(mine)));
    let rate = rate.filter(|rate| *rate > 0.0 && rate.is_finite())?;
    Some(bytes? / rate)
}
