//! Evidence: what a chart shows and an [`Analysis`] does not hold, as plain data within a budget.
//!
//! A record of an hour has hundreds of thousands of intervals; a page can show some thousand points. So time is cut into
//! as many bins as a screen can show, and bins are merged by adding counts: rates divide what was added by the
//! time that it took, and percentiles are read off merged histograms. Everything is taken in one pass over the intervals.
//! Where there is more than can be shown, a rule chooses, and [`Evidence::left_out`] says what it left.
//!
//! It never judges: verdicts, knees and limits are the analysis'. It holds no colours and no words for axes.

mod bins;
mod choose;
mod curve;
mod events;
mod heat;
mod hops;
mod limits;
mod network;
mod sweep;
mod timeline;
mod workers;

pub use choose::STEPS_MAX;
pub use curve::{CurvePoint, CurveSubject, PercentileCurve};
pub use events::{EventSeverity, Mark};
pub use heat::{HeatMap, LatencyKind};
pub use hops::{HopSeries, HopUnit, Series};
pub use limits::{LimitSeries, LimitSpan};
pub use network::{NetMachine, NetSeries, NetWay};
pub use sweep::{Mean, SweepPoint, SweepRun, SweepSeries};
pub use timeline::{GroupSeries, PhaseSpan, Rates, Timeline};
pub use workers::{WorkerRate, WorkerSet};

use crate::figures::{Loops, StepFigures};
use crate::{Analysis, FindingsError};
use heat::Heat;
use record::{Record, Source, SourceId, SourceKind, StepHead};
use serde::Serialize;
use std::collections::BTreeMap;

/// The data behind the charts of one record.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// VMs and targets in the order in which the steps name them; a colour belongs to a place in this list.
    pub groups: Vec<String>,
    /// The repetitions behind each sweep of the analysis.
    pub sweeps: Vec<SweepSeries>,
    /// Rates, counters and events of the whole run on one time axis.
    pub timeline: Timeline,
    /// Latency over the time of the whole run; `None` where nothing completed.
    pub latency: Option<HeatMap>,
    /// The steps that are shown in detail, at most [`STEPS_MAX`], in the order of the run.
    pub steps: Vec<StepEvidence>,
    /// What was left out.
    pub left_out: Vec<LeftOut>,
}

/// Something that is not shown.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// Where it is missing.
    pub from: Part,
    /// What and why, as a sentence.
    pub text: String,
}

/// A part of the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The steps in detail.
    Steps,
    /// The time line.
    Timeline,
}

impl LeftOut {
    fn of(from: Part, text: String) -> LeftOut {
        LeftOut { from, text }
    }
}

/// One step in detail.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StepEvidence {
    /// Its number in the run, from 0.
    pub index: u32,
    /// What it is called, as in the analysis.
    pub label: String,
    /// Why it was chosen (`knee`, `first`, …); empty where all steps are shown.
    pub why: Vec<String>,
    /// Which loops its workers ran.
    pub loops: Loops,
    /// Latency over its time, warm-up and cool-down included; `None` where nothing completed.
    pub latency: Option<HeatMap>,
    /// Percentile curves of its measured time.
    pub curves: Vec<PercentileCurve>,
    /// Its workers, those of one workload together.
    pub workers: Vec<WorkerSet>,
}

/// Gathers the evidence of a record that has been analysed.
/// # Errors
/// Only where the record cannot be read.
pub fn evidence(record: &Record, analysis: &Analysis) -> Result<Evidence, FindingsError> {
    let mut left_out = Vec::new();
    let groups = groups(analysis);
    let chosen = choose::choose(analysis, &mut left_out);
    let sources: BTreeMap<SourceId, &Source> = record.sources().iter().map(|s| (s.id, s)).collect();
    let start = record.steps().iter().map(|s| s.times.start).min().unwrap_or_default();
    let mut timeline = timeline::GatherTimeline::new(start, &groups);
    let mut network = network::GatherNetwork::new(start, record);
    let mut hops =
        hops::GatherHops::new(start, record.sources(), &analysis.steps, |s| network.has(s.id));
    let mut whole = Heat::run(start);
    let mut steps = Vec::new();
    for head in record.steps() {
        let choice = chosen.iter().find(|c| c.index == head.index);
        let mut heat = choice.map(|_| Heat::step(head.times.start));
        timeline.step(head);
        network.step(head);
        record.for_each_interval(head.index, &mut |interval| {
            let source = sources.get(&interval.source);
            // What goes over a network is no storage's: neither its rates nor its times.
            if network.add(&interval) || source.is_some_and(|s| s.kind == SourceKind::Stream) {
                timeline.reach(&interval);
                return;
            }
            timeline.add(&interval, source.map_or("", |s| s.group.as_str()));
            whole.add(&interval);
            heat.iter_mut().for_each(|heat| heat.add(&interval));
        })?;
        for counter in &record.counters(Some(head.index))? {
            hops.add(counter);
            network.count(counter);
        }
        let figures = analysis.steps.iter().find(|s| s.index == head.index);
        if let (Some(choice), Some(figures), Some(heat)) = (choice, figures, heat) {
            steps.push(detail(record, head, figures, choice, heat, &sources)?);
        }
    }
    record.counters(None)?.iter().for_each(|counter| hops.add(counter));
    let hops = hops.finish(&mut left_out);
    let named = crate::port_names::events(record.events(), record.facts());
    let events = events::marks(&named, &sources, &mut left_out);
    let mut timeline = timeline.finish(&analysis.steps, hops, events, &mut left_out);
    timeline.network = network.finish(&mut left_out);
    timeline.limits = limits::limits(record.steps(), &analysis.steps);
    let latency = whole.finish();
    Ok(Evidence { groups, sweeps: sweep::series(analysis), timeline, latency, steps, left_out })
}

/// What is shown of a chosen step.
fn detail(
    record: &Record,
    head: &StepHead,
    figures: &StepFigures,
    choice: &choose::ShownStep,
    heat: Heat,
    sources: &BTreeMap<SourceId, &Source>,
) -> Result<StepEvidence, FindingsError> {
    let totals = record.totals(head.index)?;
    Ok(StepEvidence {
        index: head.index,
        label: figures.label(),
        why: choice.why.clone(),
        loops: figures.loops,
        latency: heat.finish(),
        curves: curve::curves(head, &totals),
        workers: workers::sets(head, figures, &totals, sources),
    })
}

fn groups(analysis: &Analysis) -> Vec<String> {
    let mut seen = std::collections::BTreeSet::new();
    let named = analysis.steps.iter().flat_map(|s| &s.groups).map(|g| g.group.as_str());
    named.filter(|name| seen.insert(*name)).map(str::to_owned).collect()
}
