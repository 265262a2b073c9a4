//! A run in progress as one document for programs: what is known now, and the seconds behind it. The page is made of the
//! same figures.

use super::state::{Measured, Second, State, percentiles};
use campaign::{HopLoad, LoadOf};
use clock::Ns;
use record::{Level, Phase, Status, StepHead};
use review::clean;
use serde::Serialize;
use std::collections::BTreeMap;

/// Groups that a document names; of more, those with the most throughput.
const GROUPS: usize = 512;
/// Events that a document has, the latest.
const EVENTS: usize = 50;

/// What is known of a run now.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Live {
    pub version: u32,
    pub id: String,
    pub title: String,
    /// `running`, `complete`, `stopped`, `failed`, or `ended` where it was killed.
    pub state: &'static str,
    pub producer: String,
    pub started_unix_s: f64,
    pub elapsed_s: f64,
    pub step: Option<StepNow>,
    pub now: Option<Now>,
    pub groups: Vec<GroupNow>,
    pub hops: Vec<HopNow>,
    pub limit: Vec<String>,
    pub steps: Vec<StepSoFar>,
    pub events: Vec<EventNow>,
    pub warnings: u64,
    pub errors: u64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct StepNow {
    pub index: u32,
    /// Steps that are planned; an upper bound where some are searched for, and nothing where the scenario cannot be read.
    pub of_at_most: Option<u32>,
    pub name: String,
    pub phase: Option<&'static str>,
    pub elapsed_s: f64,
    pub length_s: f64,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct Now {
    /// Since the run began.
    pub at_s: u64,
    pub iops: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    pub net_bytes_per_s: f64,
    pub errors: u64,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p999_ns: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct GroupNow {
    pub name: String,
    pub iops: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    pub p99_ns: Option<u64>,
    pub errors: u64,
    #[serde(skip)]
    pub course: Vec<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct HopNow {
    pub name: String,
    /// 0 to 1.
    pub share: f64,
    /// What that is a share of.
    pub of: String,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct StepSoFar {
    pub index: u32,
    pub name: String,
    pub measured_s: f64,
    pub iops: f64,
    pub read_bytes_per_s: f64,
    pub write_bytes_per_s: f64,
    pub p50_ns: Option<u64>,
    pub p99_ns: Option<u64>,
    pub p999_ns: Option<u64>,
}

#[derive(Clone, Debug, Serialize)]
pub(crate) struct EventNow {
    pub at_s: f64,
    pub level: &'static str,
    pub code: String,
    pub text: String,
}

/// What a document says besides what the record does.
pub(crate) struct Around<'a> {
    pub id: &'a str,
    pub alive: bool,
    pub steps_max: Option<u32>,
    pub limit: Vec<String>,
}

impl Live {
    pub fn of(state: &State, around: Around<'_>) -> Live {
        let last = state.latest();
        let began = first(state);
        let elapsed = last.map_or(0, |(at, _)| (at + 1).saturating_sub(began));
        Live {
            version: 1,
            id: around.id.to_owned(),
            title: clean(&state.head.title),
            state: word(state.status, around.alive),
            producer: clean(&state.head.producer.name),
            started_unix_s: state.head.wall_ns as f64 / 1e9,
            elapsed_s: elapsed as f64,
            step: state.step().map(|step| StepNow::of(step, state, around.steps_max)),
            now: last.map(|(at, second)| Now::of(at - began.min(at), second)),
            groups: groups(state),
            hops: state.hops.iter().map(HopNow::of).collect(),
            limit: around.limit.iter().map(|part| clean(part)).collect(),
            steps: steps(state),
            events: events(state),
            warnings: state.event_counts[1],
            errors: state.event_counts[2],
        }
    }
}

/// The second in which load began.
pub(crate) fn first(state: &State) -> u64 {
    state.seconds.first_key_value().map_or(0, |(at, _)| *at)
}

fn word(status: Status, alive: bool) -> &'static str {
    match status {
        Status::Running if alive => "running",
        Status::Running => "ended",
        Status::Complete => "complete",
        Status::Stopped => "stopped",
        Status::Failed => "failed",
    }
}

/// A step by its settings, or its plan's name where it has none.
pub(crate) fn name(step: &StepHead) -> String {
    let settings: Vec<String> = step.settings.iter().map(|(k, v)| format!("{k} {v}")).collect();
    let name = if settings.is_empty() { step.plan.clone() } else { settings.join(", ") };
    clean(&name)
}

impl StepNow {
    fn of(step: &StepHead, state: &State, of_at_most: Option<u32>) -> StepNow {
        let at = state.latest().map_or(Ns::ZERO, |(at, _)| Ns::secs(at + 1));
        let times = &step.times;
        let phase = times.phase_at(Ns(at.0.saturating_sub(1)).max(times.start));
        StepNow {
            index: step.index,
            of_at_most,
            name: name(step),
            phase: phase.map(|phase| match phase {
                Phase::Warmup => "warm-up",
                Phase::Measure => "measured",
                Phase::Cooldown => "cool-down",
            }),
            elapsed_s: at.min(times.end).since(times.start.min(at)).as_secs_f64(),
            length_s: times.end.since(times.start).as_secs_f64(),
        }
    }
}

impl Now {
    pub fn of(at_s: u64, second: &Second) -> Now {
        let [p50, p99, p999] = split(second.latency);
        Now {
            at_s,
            iops: second.iops,
            read_bytes_per_s: second.read,
            write_bytes_per_s: second.write,
            net_bytes_per_s: second.net,
            errors: second.errors,
            p50_ns: p50,
            p99_ns: p99,
            p999_ns: p999,
        }
    }
}

fn split(latency: Option<[Ns; 3]>) -> [Option<u64>; 3] {
    [0, 1, 2].map(|n| latency.map(|all| all[n].0))
}

fn groups(state: &State) -> Vec<GroupNow> {
    let mut all: Vec<GroupNow> = state
        .groups
        .iter()
        .map(|(name, group)| GroupNow {
            name: clean(name),
            iops: group.iops,
            read_bytes_per_s: group.read,
            write_bytes_per_s: group.write,
            p99_ns: group.p99.map(|p99| p99.0),
            errors: group.errors,
            course: group.course.iter().map(|(_, value)| *value).collect(),
        })
        .collect();
    if all.len() > GROUPS {
        let load = |group: &GroupNow| group.read_bytes_per_s + group.write_bytes_per_s;
        all.sort_by(|a, b| load(b).total_cmp(&load(a)));
        all.truncate(GROUPS);
    }
    // `vm2` before `vm10`.
    all.sort_by_cached_key(|group| natural(&group.name));
    all
}

/// A name in parts that are compared as people count.
fn natural(name: &str) -> Vec<(u64, String)> {
    let mut parts = Vec::new();
    let mut rest = name;
    while !rest.is_empty() {
        let word = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (before, after) = rest.split_at(word);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        parts.push((0, before.to_owned()));
        parts.push((after[..digits].parse().unwrap_or(u64::MAX), String::new()));
        rest = &after[digits..];
    }
    parts
}

impl HopNow {
    fn of(load: &HopLoad) -> HopNow {
        HopNow {
            name: clean(&load.name),
            share: if load.share.is_finite() { load.share.clamp(0.0, 1.0) } else { 0.0 },
            of: match load.of {
                LoadOf::Speed { read: true, bytes_per_s } => {
                    format!("{}, read", units::rate(bytes_per_s))
                }
                LoadOf::Speed { read: false, bytes_per_s } => {
                    format!("{}, written", units::rate(bytes_per_s))
                }
                LoadOf::Processors(n) => format!("{n:.0} CPUs"),
                LoadOf::Busy => "the time, busy".to_owned(),
                LoadOf::Capacity => "what it can carry".to_owned(),
            },
        }
    }
}

fn steps(state: &State) -> Vec<StepSoFar> {
    let names: BTreeMap<u32, String> =
        state.steps.iter().map(|step| (step.index, name(step))).collect();
    let one = |(index, measured): (&u32, &Measured)| {
        let [iops, read, written] = measured.rates();
        let [p50, p99, p999] = split(percentiles(&measured.latency));
        StepSoFar {
            index: *index,
            name: names.get(index).cloned().unwrap_or_default(),
            measured_s: measured.seconds(),
            iops,
            read_bytes_per_s: read,
            write_bytes_per_s: written,
            p50_ns: p50,
            p99_ns: p99,
            p999_ns: p999,
        }
    };
    state.measured.iter().map(one).collect()
}

fn events(state: &State) -> Vec<EventNow> {
    let began = Ns::secs(first(state));
    let latest = state.events.iter().rev().take(EVENTS);
    latest
        .map(|event| EventNow {
            at_s: event.at.0.saturating_sub(began.0) as f64 / 1e9,
            level: match event.level {
                Level::Info => "info",
                Level::Warning => "warning",
                Level::Error => "error",
            },
            code: clean(&event.code),
            text: clean(&event.text),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::natural;

    #[test]
    fn names_are_in_the_order_in_which_people_count() {
        let mut names = vec!["vm10", "vm2", "db", "vm1", "vm2b", "9", "10"];
        names.sort_by_key(|name| natural(name));
        assert_eq!(names, ["9", "10", "db", "vm1", "vm2", "vm2b", "vm10"]);
    }
}
