//! What steps of network loads show beside each other: repetitions with their interval of confidence, what larger frames
//! bring, and what a missing offload costs.
//!
//! Compared are steps that differ in one setting alone; each side is the mean over its repetitions, with Student's interval
//! where there are two or more.

use super::{Direction, NetPair, Way};
use crate::figures::StepFigures;
use crate::select::same_key;
use crate::statistics::{CONFIDENCE, independent, quantile};
use crate::sweep::number;
use serde::Serialize;

/// The setting that changes the size of frames.
const MTU: &str = "mtu";
/// The setting that changes the offloads.
const OFFLOAD: &str = "offload";

/// What steps show beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Across {
    /// Directions that were measured more than once with the same settings.
    pub repeated: Vec<Repeated>,
    /// What each size of frames brought over the next smaller one.
    pub jumbo: Vec<FrameGain>,
    /// What going without offloads cost.
    pub offload: Vec<OffloadCost>,
}

/// A mean over repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// Half the width of its 95% interval (Student's t); `None` for a single run, and where it would be as wide as the
    /// mean: so few runs do not determine an interval.
    pub half_width: Option<f64>,
    /// The least and the most of the runs.
    pub range: [f64; 2],
    /// Runs.
    pub runs: usize,
}

/// Which direction of which load it is about, and under which settings.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DirectionKey {
    /// The plan.
    pub plan: String,
    /// The settings that both sides share.
    pub at: Vec<(String, String)>,
    /// The pair.
    pub pair: String,
    /// The workload.
    pub workload: String,
    /// Which way.
    pub way: Way,
}

/// A direction over its repetitions.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repeated {
    /// Where.
    pub place: DirectionKey,
    /// Bytes a second that were received.
    pub bytes_per_s: Estimate,
    /// Messages, datagrams or transactions a second.
    pub messages_per_s: Estimate,
    /// CPU seconds of the sender's process for a gigabyte; `None` where one run did not count it.
    pub sender_s_per_gb: Option<Estimate>,
    /// The same of the receiver.
    pub receiver_s_per_gb: Option<Estimate>,
}

/// What larger frames brought.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameGain {
    /// Where.
    pub place: DirectionKey,
    /// The smaller frames, as the setting has them.
    pub smaller: String,
    /// The larger ones.
    pub larger: String,
    /// Bytes a second with the smaller ones.
    pub smaller_bytes_per_s: Estimate,
    /// Bytes a second with the larger ones.
    pub larger_bytes_per_s: Estimate,
    /// The second by the first.
    pub ratio: f64,
    /// What the framing alone would bring: payload shares of the wire, the larger by the smaller.
    pub framing_ratio: Option<f64>,
    /// CPU seconds of the sender's process for a gigabyte with smaller frames.
    pub smaller_sender_s_per_gb: Option<f64>,
    /// The same with larger ones.
    pub larger_sender_s_per_gb: Option<f64>,
    /// CPU seconds of the receiver's process for a gigabyte with smaller frames.
    pub smaller_receiver_s_per_gb: Option<f64>,
    /// The same with larger ones.
    pub larger_receiver_s_per_gb: Option<f64>,
}

/// What going without offloads cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OffloadCost {
    /// Where.
    pub place: DirectionKey,
    /// Bytes a second with offloads.
    pub with_bytes_per_s: Estimate,
    /// Bytes a second without them.
    pub without_bytes_per_s: Estimate,
    /// The second by the first.
    pub ratio: f64,
    /// CPU seconds of the sender's host for a gigabyte with offloads.
    pub with_sender_s_per_gb: Option<f64>,
    /// The same without them.
    pub without_sender_s_per_gb: Option<f64>,
    /// CPU seconds of the receiver's host for a gigabyte with offloads.
    pub with_receiver_s_per_gb: Option<f64>,
    /// The same without them.
    pub without_receiver_s_per_gb: Option<f64>,
}

type Cost = fn(&NetPair) -> Option<f64>;

/// One direction in all repetitions of one setting.
struct SettingRepetitions<'a> {
    plan: &'a str,
    settings: &'a [(String, String)],
    runs: Vec<(&'a NetPair, &'a Direction)>,
}

impl SettingRepetitions<'_> {
    fn place(&self, without: &str) -> DirectionKey {
        let (pair, direction) = self.runs[0];
        let rest = self.settings.iter().filter(|(key, _)| !same_key(key, without));
        DirectionKey {
            plan: self.plan.to_owned(),
            at: rest.cloned().collect(),
            pair: pair.name.clone(),
            workload: direction.workload.clone(),
            way: direction.way,
        }
    }

    fn setting(&self, wanted: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(key, _)| same_key(key, wanted));
        found.map(|(_, value)| value.as_str())
    }

    fn rate(&self) -> Estimate {
        estimate(self.runs.iter().map(|(_, d)| d.received.bytes_per_s))
    }

    fn cost(&self, of: impl Fn(&NetPair) -> Option<f64>) -> Option<Estimate> {
        let all: Option<Vec<f64>> = self.runs.iter().map(|(pair, _)| of(pair)).collect();
        all.map(|all| estimate(all.into_iter()))
    }

    fn framing_share(&self) -> Option<f64> {
        self.runs[0].1.wire.framing.as_ref().map(|framing| framing.share)
    }
}

/// What the steps show beside each other. Pairs that are incomplete are left out: a mean over them would mean nothing.
pub(crate) fn across(steps: &[StepFigures]) -> Across {
    let groups = groups(steps);
    let repeated = groups.iter().filter(|group| group.runs.len() > 1).map(repeated);
    Across { repeated: repeated.collect(), jumbo: jumbo(&groups), offload: offload(&groups) }
}

fn groups(steps: &[StepFigures]) -> Vec<SettingRepetitions<'_>> {
    let mut groups: Vec<SettingRepetitions<'_>> = Vec::new();
    for step in steps {
        let pairs = step.network.iter().filter(|pair| pair.complete);
        for (pair, direction) in pairs.flat_map(|p| p.directions.iter().map(move |d| (p, d))) {
            let same = |group: &&mut SettingRepetitions<'_>| {
                let (other, its) = group.runs[0];
                group.plan == step.plan
                    && group.settings == step.settings
                    && other.name == pair.name
                    && (&its.workload, its.way) == (&direction.workload, direction.way)
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.runs.push((pair, direction)),
                None => groups.push(SettingRepetitions {
                    plan: &step.plan,
                    settings: &step.settings,
                    runs: vec![(pair, direction)],
                }),
            }
        }
    }
    groups
}

fn repeated(group: &SettingRepetitions<'_>) -> Repeated {
    Repeated {
        place: group.place(""),
        bytes_per_s: group.rate(),
        messages_per_s: estimate(group.runs.iter().map(|(_, d)| d.messages_per_s())),
        sender_s_per_gb: group.cost(|pair| pair.sender.process_s_per_gb),
        receiver_s_per_gb: group.cost(|pair| pair.receiver.process_s_per_gb),
    }
}

/// Groups that differ in one setting alone, in the order of the record, each set with its value.
fn apart<'a>(
    groups: &'a [SettingRepetitions<'a>],
    setting: &str,
) -> Vec<Vec<(&'a str, &'a SettingRepetitions<'a>)>> {
    let mut sets: Vec<(DirectionKey, Vec<(&str, &SettingRepetitions<'_>)>)> = Vec::new();
    for group in groups {
        let Some(value) = group.setting(setting) else { continue };
        let place = group.place(setting);
        match sets.iter_mut().find(|(known, _)| *known == place) {
            Some((_, set)) => set.push((value, group)),
            None => sets.push((place, vec![(value, group)])),
        }
    }
    sets.into_iter().map(|(_, set)| set).collect()
}

fn jumbo(groups: &[SettingRepetitions<'_>]) -> Vec<FrameGain> {
    let mut gains = Vec::new();
    for mut set in apart(groups, MTU) {
        set.retain(|(value, _)| number(value).is_some());
        set.sort_by(|a, b| {
            number(a.0).partial_cmp(&number(b.0)).unwrap_or(std::cmp::Ordering::Equal)
        });
        gains.extend(set.windows(2).filter_map(|two| frame_gain(two[0], two[1])));
    }
    gains
}

fn frame_gain(
    (smaller, small): (&str, &SettingRepetitions<'_>),
    (larger, large): (&str, &SettingRepetitions<'_>),
) -> Option<FrameGain> {
    let (less, more) = (small.rate(), large.rate());
    let cost = |group: &SettingRepetitions<'_>, of: Cost| group.cost(of).map(|e| e.mean);
    let (sender, receiver): (Cost, Cost) =
        (|pair| pair.sender.process_s_per_gb, |pair| pair.receiver.process_s_per_gb);
    (less.mean > 0.0).then(|| FrameGain {
        place: small.place(MTU),
        smaller: smaller.to_owned(),
        larger: larger.to_owned(),
        smaller_bytes_per_s: less,
        larger_bytes_per_s: more,
        ratio: more.mean / less.mean,
        framing_ratio: small.framing_share().zip(large.framing_share()).map(|(s, l)| l / s),
        smaller_sender_s_per_gb: cost(small, sender),
        larger_sender_s_per_gb: cost(large, sender),
        smaller_receiver_s_per_gb: cost(small, receiver),
        larger_receiver_s_per_gb: cost(large, receiver),
    })
}

fn offload(groups: &[SettingRepetitions<'_>]) -> Vec<OffloadCost> {
    let cost = |group: &SettingRepetitions<'_>, of: Cost| group.cost(of).map(|e| e.mean);
    let (sender, receiver): (Cost, Cost) =
        (|pair| pair.sender.host_s_per_gb, |pair| pair.receiver.host_s_per_gb);
    let of = |set: &Vec<(&str, &SettingRepetitions<'_>)>| {
        let with = set.iter().find(|(value, _)| *value == "on")?.1;
        let without = set.iter().find(|(value, _)| *value == "off")?.1;
        let (more, less) = (with.rate(), without.rate());
        (more.mean > 0.0).then(|| OffloadCost {
            place: with.place(OFFLOAD),
            with_bytes_per_s: more,
            without_bytes_per_s: less,
            ratio: less.mean / more.mean,
            with_sender_s_per_gb: cost(with, sender),
            without_sender_s_per_gb: cost(without, sender),
            with_receiver_s_per_gb: cost(with, receiver),
            without_receiver_s_per_gb: cost(without, receiver),
        })
    };
    apart(groups, OFFLOAD).iter().filter_map(of).collect()
}

/// The mean of independent runs with Student's interval.
fn estimate(values: impl Iterator<Item = f64>) -> Estimate {
    let values: Vec<f64> = values.collect();
    let mean = values.iter().sum::<f64>() / (values.len() as f64).max(1.0);
    let half_width = independent(&values)
        .map(|spread| quantile(f64::midpoint(1.0, CONFIDENCE), spread.dof) * spread.error)
        .filter(|half| *half < mean.abs() || *half == 0.0);
    let range = match values.is_empty() {
        true => [mean; 2],
        false => [
            values.iter().copied().fold(f64::INFINITY, f64::min),
            values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        ],
    };
    Estimate { mean, half_width, range, runs: values.len() }
}
