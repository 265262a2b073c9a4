//! From measured steps to a number of mailboxes.
//!
//! Steps that differ in their load alone are a *series*, in the order of their load. Of the series whose operations are
//! nearest to the application's, the one that carries most answers; within a series, the steps before the first that is
//! beyond the latency limit count. Where the block size differs, the truth is between equal operations a second and
//! equal bytes a second, since an operation has a fixed cost and a cost for each byte.

use super::{
    Access, Carried, CarryLimit, Extrapolation, Footprint, Measured, ProfileFigure, Projection,
};
use crate::figures::{Loops, StepFigures, label};
use crate::generator::Limit;
use crate::little::Little;
use crate::pool::latency_point;
use crate::quantity::{Quantity, Unit};
use crate::served::{Served, ServedBy};
use crate::steady::Steadiness;
use crate::step::StepData;
use record::{Completed, Loop};
use scenario::profile::{Each, LatencyLimit};
use scenario::{FigureKind, Profile, Project};

/// Settings that are load: steps that differ in nothing else are one series.
const LOAD: [&str; 4] = ["depth", "workers", "members", "rate"];
/// How far apart two distances may lie and be one: shares of reads are drawn, and scatter.
const DISTANCE_SLACK: f64 = 0.1;

/// What is kept of each step for the judgement.
#[derive(Default)]
pub(crate) struct Projector {
    cells: Vec<PointRepetitions>,
    /// Steps that could not be used, because no operation completed or workers were missing.
    unusable: usize,
}

/// Repetitions of one point of a plan.
struct PointRepetitions {
    plan: String,
    settings: Vec<(String, String)>,
    index: u32,
    /// What it offers or allows: operations a second in open loops, operations in flight in closed ones.
    load: f64,
    iops: Vec<f64>,
    bytes_per_s: Vec<f64>,
    read: Completed,
    write: Completed,
    open_loop: bool,
    random: Option<f64>,
    footprint: Footprint,
    generator: Limit,
    cached: bool,
    unsteady: bool,
}

/// A cell beside an application.
struct Near<'a> {
    cell: &'a PointRepetitions,
    measured: Measured,
    extrapolation: Extrapolation,
    within: bool,
}

impl Projector {
    /// Takes in a step. Of its scenario, where it can be read: `random` are the random ones among its operations in percent,
    /// `places` its capacity and its working set in bytes.
    pub fn see(
        &mut self,
        step: &StepData,
        figures: &StepFigures,
        random: Option<f64>,
        places: (Option<u64>, Option<u64>),
    ) {
        let both = &figures.total.both;
        let sound = matches!(figures.little, Little::Agrees { .. } | Little::NotApplicable);
        if !figures.complete() || !sound || both.errors > 0 || both.ops == 0 || both.bytes == 0 {
            self.unusable += 1;
            return;
        }
        let head = &step.head;
        let same = |c: &&mut PointRepetitions| c.plan == head.plan && c.settings == head.settings;
        let cell = match self.cells.iter_mut().find(same) {
            Some(cell) => cell,
            None => {
                self.cells.push(PointRepetitions::new(figures, random, places));
                self.cells.last_mut().expect("just pushed")
            }
        };
        cell.footprint.measured_s += figures.measured_ns as f64 / 1e9;
        cell.iops.push(both.iops);
        cell.bytes_per_s.push(both.bytes_per_s);
        for worker in &step.workers {
            worker.read.iter().for_each(|t| cell.read.merge(t));
            worker.write.iter().for_each(|t| cell.write.merge(t));
            cell.open_loop |= matches!(worker.load.arrivals, Loop::Open { .. });
        }
        cell.generator = cell.generator.max(figures.generator.limit);
        cell.cached |= figures.served.iter().any(is_cached);
        cell.unsteady |= matches!(figures.steady, Some(Steadiness::NotSteady(_)));
    }

    /// How much of an application the steps carry.
    pub fn project(&self, project: &Project) -> Projection {
        let profile = &project.profile;
        let answer = self.answer(profile);
        Projection {
            profile: profile.name.clone(),
            title: profile.title.clone(),
            units: profile.units.clone(),
            each: Quantity { value: each(profile), unit: unit(profile) },
            access: Access::of(profile),
            point: profile.limit.map(|limit| limit.point.to_string()),
            limit_ns: profile.limit.map(|limit| ns(limit.at_most)),
            window_ns: match profile.each {
                Each::Window { window, .. } => Some(ns(window)),
                Each::Iops(_) => None,
            },
            wanted: project.wanted,
            enough: project.wanted.and_then(|wanted| enough(&answer, wanted)),
            answer,
            figures: profile.figures.iter().map(ProfileFigure::of).collect(),
        }
    }

    fn answer(&self, profile: &Profile) -> Carried {
        let asked = Access::of(profile);
        let mut near: Vec<Near<'_>> = Vec::new();
        let mut nearest: Option<(f64, Measured)> = None;
        for cell in &self.cells {
            let Some(measured) = cell.measured(profile.limit) else { continue };
            let extrapolation = measured.access.beside(&asked);
            if extrapolation.is_near() {
                let within = profile.limit.is_none_or(|limit| {
                    measured.latency_ns.is_some_and(|l| l <= limit.at_most.as_nanos() as f64)
                });
                near.push(Near { cell, measured, extrapolation, within });
            } else if nearest.as_ref().is_none_or(|(d, _)| extrapolation.distance() < *d) {
                nearest = Some((extrapolation.distance(), measured));
            }
        }
        let least = near.iter().map(|n| n.extrapolation.distance()).fold(f64::INFINITY, f64::min);
        near.retain(|n| n.extrapolation.distance() <= least + DISTANCE_SLACK);
        if near.is_empty() {
            return self.nothing_near(&asked, nearest.map(|(_, measured)| measured));
        }
        let best = series(near).into_iter().map(|s| carried(profile, s)).reduce(better);
        best.unwrap_or_else(|| self.nothing_near(&asked, None))
    }

    /// Why no step is like the application, and which would be.
    fn nothing_near(&self, asked: &Access, nearest: Option<Measured>) -> Carried {
        let Access { block_bytes, read_percent, random_percent } = *asked;
        let block = units::Bytes(block_bytes as u64);
        let next = format!(
            "add steps with block = \"{block}\", read = {read_percent}, random = {random_percent}, and several depths"
        );
        let reason = match nearest {
            Some(m) => {
                format!("no step is like it; the nearest, {}, did {}", m.label, words(&m.access))
            }
            None if self.cells.iter().any(|c| c.random.is_none()) => {
                "the scenario in the record does not say which addresses were random"
                    .to_owned()
            }
            None if self.cells.is_empty() && self.unusable > 0 => {
                "no step completed operations without errors, with all its workers and in agreement with itself".to_owned()
            }
            None => "there is no step".to_owned(),
        };
        Carried::Undecided { reason, next }
    }
}

/// Cells that differ in their load alone, each series in the order of its load.
fn series(near: Vec<Near<'_>>) -> Vec<Vec<Near<'_>>> {
    let mut all: Vec<Vec<Near<'_>>> = Vec::new();
    for one in near {
        match all.iter_mut().find(|s| s[0].cell.series() == one.cell.series()) {
            Some(series) => series.push(one),
            None => all.push(vec![one]),
        }
    }
    // Stable: equal loads stay in the order of the run.
    all.iter_mut().for_each(|s| s.sort_by(|a, b| a.cell.load.total_cmp(&b.cell.load)));
    all
}

/// How much a series carries.
fn carried(profile: &Profile, series: Vec<Near<'_>>) -> Carried {
    let beyond = series.iter().position(|n| !n.within);
    let within = &series[..beyond.unwrap_or(series.len())];
    let range = |n: &Near<'_>| range(profile, &n.measured);
    // Reversed, so that of equals the one with the least load is named.
    let order = |a: &&Near<'_>, b: &&Near<'_>| range(a).0.total_cmp(&range(b).0);
    let Some(best) = within.iter().rev().max_by(order) else {
        return too_slow(profile, &series[0].measured);
    };
    if best.cell.generator == Limit::OwnCost {
        return Carried::Undecided {
            reason: format!(
                "the target of {} completes at once: the figures are generator overhead",
                best.measured.label
            ),
            next: "name a file or a device to measure storage".to_owned(),
        };
    }
    let heavier = within.iter().find(|n| n.cell.load > best.cell.load);
    let of = |n: &Near<'_>| Box::new(n.measured.clone());
    let limit = match (best.cell.generator, beyond, heavier) {
        (Limit::Limited | Limit::Suspect, ..) => CarryLimit::Generator,
        (_, Some(beyond), _) => CarryLimit::Latency { step: of(&series[beyond]) },
        (_, None, Some(heavier)) => CarryLimit::Work { step: of(heavier) },
        (_, None, None) => CarryLimit::Steps,
    };
    let (least, mut most) = range(best);
    if let CarryLimit::Latency { step } = &limit {
        most = most.max(self::range(profile, step).1);
    }
    let open_end = matches!(limit, CarryLimit::Generator | CarryLimit::Steps);
    Carried::Known {
        least: rounded(profile, least),
        most: (!open_end).then(|| rounded(profile, most)),
        step: best.measured.clone(),
        limit,
        extrapolated: Some(best.extrapolation).filter(|e| !e.is_none()),
        caveats: best.cell.caveats(),
    }
}

fn too_slow(profile: &Profile, lightest: &Measured) -> Carried {
    let limit = profile.limit.map_or_else(String::new, |l| units::duration(l.at_most));
    let latency = lightest.latency_ns.unwrap_or_default();
    let reason = format!(
        "{}, the step with the least load that is like it, is already at {}, beyond {limit}",
        lightest.label,
        Quantity { value: latency, unit: Unit::Ns }
    );
    let next =
        "add steps with less load: a smaller depth, fewer workers, or a lower rate".to_owned();
    Carried::Undecided { reason, next }
}

/// How many units a step carries, by equal operations and by equal bytes a second, whichever is less first.
fn range(profile: &Profile, measured: &Measured) -> (f64, f64) {
    let block = profile.block.0 as f64;
    let (by_ops, by_bytes) = match profile.each {
        Each::Iops(_) => (measured.iops, measured.bytes_per_s / block),
        Each::Window { .. } => (measured.iops * block, measured.bytes_per_s),
    };
    let each = each(profile);
    // Without another block size the two are one, apart from scatter.
    let alike = (measured.access.block_bytes / block - 1.0).abs() < 0.1;
    match (alike, profile.each) {
        (true, Each::Iops(_)) => (by_ops / each, by_ops / each),
        (true, Each::Window { .. }) => (by_bytes / each, by_bytes / each),
        _ => (by_ops.min(by_bytes) / each, by_ops.max(by_bytes) / each),
    }
}

/// Of two answers the one that is known, and of those the greater.
fn better(a: Carried, b: Carried) -> Carried {
    let least = |c: &Carried| match c {
        Carried::Known { least, .. } => Some(*least),
        Carried::Undecided { .. } => None,
    };
    if least(&b) > least(&a) { b } else { a }
}

fn enough(answer: &Carried, wanted: f64) -> Option<bool> {
    match answer {
        Carried::Known { least, .. } if *least >= wanted => Some(true),
        Carried::Known { most: Some(most), .. } if *most < wanted => Some(false),
        _ => None,
    }
}

/// Rounded down: half a mailbox cannot be promised.
fn rounded(profile: &Profile, units: f64) -> f64 {
    two_digits(if profile.has_window() { units } else { units.floor() })
}

/// Down to two digits: an estimate has no more of them.
fn two_digits(value: f64) -> f64 {
    if !value.is_finite() || value <= 0.0 {
        return value.max(0.0);
    }
    let scale = 10_f64.powi(value.log10().floor() as i32 - 1);
    // Binary fractions: 4.8 / 0.1 is not to become 47.
    (value / scale + 1e-9).floor() * scale
}

/// What one unit asks for, in operations or bytes a second.
fn each(profile: &Profile) -> f64 {
    match profile.each {
        Each::Iops(iops) => iops,
        Each::Window { size, window } => size.0 as f64 / window.as_secs_f64(),
    }
}

fn unit(profile: &Profile) -> Unit {
    if profile.has_window() { Unit::BytesPerS } else { Unit::Iops }
}

fn ns(time: std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// `8KiB, 100% read, 100% random`.
fn words(access: &Access) -> String {
    format!(
        "{} an operation, {} read, {} random",
        units::binary_bytes(access.block_bytes as u64),
        units::percent(access.read_percent.round()),
        units::percent(access.random_percent.round())
    )
}

fn is_cached(served: &Served) -> bool {
    [served.read, served.write].into_iter().flatten().any(|t| t.by == ServedBy::Cache)
}

impl PointRepetitions {
    fn new(
        figures: &StepFigures,
        random: Option<f64>,
        (capacity_bytes, accessed_bytes): (Option<u64>, Option<u64>),
    ) -> PointRepetitions {
        PointRepetitions {
            plan: figures.plan.clone(),
            settings: figures.settings.clone(),
            index: figures.index,
            load: match figures.loops {
                Loops::Open => figures.offered_iops,
                Loops::Closed | Loops::Mixed | Loops::Observed => f64::from(figures.depth),
            },
            iops: Vec::new(),
            bytes_per_s: Vec::new(),
            read: Completed::empty(false),
            write: Completed::empty(false),
            open_loop: false,
            random,
            footprint: Footprint { measured_s: 0.0, capacity_bytes, accessed_bytes },
            generator: figures.generator.limit,
            cached: false,
            unsteady: false,
        }
    }

    /// What names its series: the plan, and the settings that are no load.
    fn series(&self) -> (&str, Vec<&(String, String)>) {
        let setting = |key: &str| LOAD.contains(&key.rsplit('.').next().unwrap_or(key));
        (&self.plan, self.settings.iter().filter(|(key, _)| !setting(key)).collect())
    }

    /// `None` where it is not known which of its addresses were random.
    fn measured(&self, limit: Option<LatencyLimit>) -> Option<Measured> {
        let ops = self.read.ops as f64 + self.write.ops as f64;
        let bytes = self.read.bytes as f64 + self.write.bytes as f64;
        let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len().max(1) as f64;
        let latency = |limit: LatencyLimit| {
            let at = |tally: &Completed| latency_point(tally, limit.point, self.open_loop);
            [at(&self.read), at(&self.write)].into_iter().flatten().reduce(f64::max)
        };
        Some(Measured {
            index: self.index,
            label: label(&self.plan, &self.settings, 0),
            iops: mean(&self.iops),
            bytes_per_s: mean(&self.bytes_per_s),
            latency_ns: limit.and_then(latency),
            access: Access {
                block_bytes: bytes / ops,
                read_percent: self.read.ops as f64 / ops * 100.0,
                random_percent: self.random?,
            },
            footprint: self.footprint,
        })
    }

    fn caveats(&self) -> Vec<String> {
        let notes =
            [(self.cached, "a cache served some of it"), (self.unsteady, "it was not steady")];
        notes.into_iter().filter(|(is, _)| *is).map(|(_, text)| text.to_owned()).collect()
    }
}

impl ProfileFigure {
    fn of(figure: &scenario::Figure) -> ProfileFigure {
        ProfileFigure {
            name: figure.name.clone(),
            value: figure.value.clone(),
            source: figure.source.clone(),
            assumed: figure.kind == FigureKind::Assumed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_are_kept_and_nothing_is_rounded_up() {
        for (value, expected) in [
            (5466.7, 5400.0),
            (999.9, 990.0),
            (100.0, 100.0),
            (12.9, 12.0),
            (4.8, 4.8),
            (7.55, 7.5),
            (0.0123, 0.012),
            (0.0, 0.0),
            (-1.0, 0.0),
            (f64::INFINITY, f64::INFINITY),
        ] {
            assert!(
                (two_digits(value) - expected).abs() < 1e-9 || two_digits(value) == expected,
                "{value}"
            );
        }
        assert_eq!(two_digits(f64::NAN), 0.0);
    }
}
