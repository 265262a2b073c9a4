//! What limits the plans, in sentences: one a plan over its sweep, and one for all that is not determined.

use crate::headline::plural;
use crate::number::ratio;
use crate::sentence::{Section, Sentence, Tone};
use crate::text::clean;
use findings::attribution::{Attribution, HopLimit, Limiter};
use findings::network::NetLimit;
use findings::{
    Analysis, FaultOutcome, LimitRange, Loops, MissingCounter, PlanLimits, StepFigures,
};
use record::HopKind;
use scenario::Plan;
use units::rate;

/// Plans that get a sentence; the others are in the JSON.
const NAMED: usize = 6;
/// Curves of one plan in its sentence.
const CURVES: usize = 4;
/// From this probability an answer stands without its figure.
const SURE: f64 = 0.9;

/// What limits a step, where that was found: its storage loads together, and each direction of its network loads.
pub(crate) fn limits(step: &StepFigures) -> Vec<String> {
    let known = |found: &&Attribution| found.hops.iter().any(|hop| hop.utilization.is_some());
    let storage = step.attribution.as_ref().filter(known).map(|found| of_step(step, found));
    let directions = step.network.iter().flat_map(|pair| &pair.directions);
    let found =
        directions.filter(|way| !matches!(way.limit.by, NetLimit::NotFound | NetLimit::Unknown));
    let network = found.map(|direction| clean(&direction.limit.text));
    let bare = |text: String| text.strip_prefix("limited by ").unwrap_or(&text).to_owned();
    storage.into_iter().chain(network).map(bare).collect()
}

/// The limit of one step with its evidence. A path that a planned fault takes away is no imbalance.
pub(crate) fn of_step(step: &StepFigures, found: &Attribution) -> String {
    match (step.faults.as_slice(), &found.limit) {
        ([_, ..], Limiter::PathImbalance { .. }) => by_faults(&step.faults),
        _ => clean(&found.line()),
    }
}

/// The same without evidence, for tables.
pub(crate) fn short(step: &StepFigures, found: &Attribution) -> String {
    match (step.faults.as_slice(), &found.limit) {
        ([_, ..], Limiter::PathImbalance { .. }) => by_faults(&step.faults),
        _ => clean(&found.limit.to_string()),
    }
}

fn by_faults(faults: &[FaultOutcome]) -> String {
    let mut parts: Vec<String> = faults.iter().map(|fault| clean(&fault.part)).collect();
    parts.dedup();
    let plural = if parts.len() > 1 { "s" } else { "" };
    format!("the planned fault{plural} of {}", parts.join(", "))
}

/// What limits each plan; plans with the same single limit share a sentence. Where a table has the limits of their best
/// steps (`tabled`), those with one limit are left out.
pub(crate) fn sentences(analysis: &Analysis, tabled: bool) -> Vec<Sentence> {
    let mut lines: Vec<LimitLine> = Vec::new();
    for curves in analysis.plan_limits.chunk_by(|a, b| a.plan == b.plan) {
        let Some(line) = LimitLine::of(curves) else { continue };
        match lines.iter_mut().find(|known| line.is_single && known.text == line.text) {
            Some(known) => known.plans.extend(line.plans),
            None => lines.push(line),
        }
    }
    lines.retain(|line| !(tabled && line.is_single));
    let faulty = analysis.steps.iter().filter(|step| !step.faults.is_empty());
    lines.extend(faulty.filter_map(LimitLine::of_faults));
    let more = lines.len().saturating_sub(NAMED);
    let mut all: Vec<Sentence> = lines.into_iter().take(NAMED).map(LimitLine::sentence).collect();
    if more > 0 {
        let text = format!("What limits {} more is in the table of hops.", plural(more, "plan"));
        all.push(Sentence::new(Tone::Plain, text, None));
    }
    all
}

/// What limits some plans.
struct LimitLine {
    plans: Vec<String>,
    text: String,
    /// Why paths that have room limit; empty where none does.
    turns: String,
    /// Whether it is one limit for all of the plan.
    is_single: bool,
    step: u32,
}

impl LimitLine {
    /// The line of a plan; `None` where nothing was determined.
    fn of(curves: &[PlanLimits]) -> Option<LimitLine> {
        let ranges = || curves.iter().flat_map(|curve| &curve.ranges);
        let first = ranges().find(|range| !is_unknown(range))?;
        let texts: Vec<String> = curves.iter().take(CURVES).map(curve).collect();
        let same = texts.iter().all(|text| *text == texts[0]);
        let at = |curve: &PlanLimits| {
            let fixed = curve.fixed.iter().map(|(k, v)| format!("{} {}", clean(k), clean(v)));
            fixed.collect::<Vec<_>>().join(", ")
        };
        let text = match same {
            true => texts[0].clone(),
            false => {
                let each = curves.iter().zip(&texts);
                let each = each.map(|(curve, text)| format!("at {}: {text}", at(curve)));
                let more = curves.len().saturating_sub(CURVES);
                let more = (more > 0)
                    .then(|| format!("{} more in the table of hops", plural(more, "curve")));
                each.chain(more).collect::<Vec<_>>().join("; ")
            }
        };
        let is_single = same && curves[0].ranges.len() == 1;
        let plans = vec![curves[0].plan.clone()];
        Some(LimitLine { plans, text, turns: turns(curves), is_single, step: first.step })
    }

    /// The line of a step with faults.
    fn of_faults(step: &StepFigures) -> Option<LimitLine> {
        let found = step.attribution.as_ref()?;
        let text = match found.limit {
            Limiter::Unknown { .. } => by_faults(&step.faults),
            _ => short(step, found),
        };
        let (plans, turns) = (vec![step.plan.clone()], String::new());
        Some(LimitLine { plans, text, turns, is_single: true, step: step.index })
    }

    fn sentence(self) -> Sentence {
        let named: Vec<String> =
            self.plans.iter().filter(|plan| *plan != Plan::UNNAMED).map(|p| clean(p)).collect();
        let text = match named.is_empty() {
            true => format!("Limited by: {}.{}", self.text, self.turns),
            false => format!("{} limited by: {}.{}", named.join(", "), self.text, self.turns),
        };
        Sentence::new(Tone::Plain, text, Section::Step(self.step))
    }
}

/// Why paths with room limit, as a sentence after that of the limits; where turns differ along an axis, those of one value.
fn turns(curves: &[PlanLimits]) -> String {
    let all = || {
        let ranges = curves.iter().flat_map(|of| of.ranges.iter().map(move |range| (of, range)));
        ranges.filter_map(|(of, range)| Some((of, range, range.turns?)))
    };
    let Some((curve, range, first)) = all().next() else { return String::new() };
    let text = first.to_string();
    match &curve.axis {
        Some(axis) if all().any(|(_, _, turns)| turns.ios != first.ios) => {
            format!(" At {} {} {text}.", clean(axis), clean(&range.from))
        }
        _ => format!(" {}{}.", text[..1].to_uppercase(), &text[1..]),
    }
}

fn is_unknown(range: &LimitRange) -> bool {
    matches!(range.limit, Limiter::Unknown { .. })
}

/// `up to 2KiB the host's CPU (esx.cpu), from 8KiB the initiator port (esx.hba:0, 833 MB/s)`.
fn curve(curve: &PlanLimits) -> String {
    let last = curve.ranges.len().saturating_sub(1);
    let text = |(n, range): (usize, &LimitRange)| {
        let (from, to) = (clean(&range.from), clean(&range.to));
        let axis = match (n, &curve.axis) {
            (0, Some(axis)) => format!("{} ", clean(axis)),
            _ => String::new(),
        };
        let place = match n {
            _ if last == 0 => String::new(),
            _ if from == to && n > 0 && n < last => format!("at {from} "),
            0 => format!("up to {axis}{to} "),
            n if n == last => format!("from {from} "),
            _ => format!("from {from} to {to} "),
        };
        format!("{place}{}", phrase(range))
    };
    curve.ranges.iter().enumerate().map(text).collect::<Vec<_>>().join(", ")
}

/// What limits the step, in a few words, by the range that it is in.
pub(crate) fn in_short(analysis: &Analysis, step: u32) -> Option<String> {
    let ranges = analysis.plan_limits.iter().flat_map(|curve| &curve.ranges);
    let range = ranges.into_iter().find(|range| range.steps.contains(&step))?;
    (!is_unknown(range)).then(|| phrase(range))
}

/// The same as a part of a sentence.
pub(crate) fn clause(analysis: &Analysis, step: u32) -> Option<String> {
    in_short(analysis, step).map(|limit| format!("limited by {limit}"))
}

/// What an attribution of no sweep says, in a few words.
pub(crate) fn of_phase(found: &Attribution) -> String {
    match &found.limit {
        Limiter::Unknown { .. } => "not determined".to_owned(),
        limit => clean(&limit.to_string()),
    }
}

/// The same with its probability where it is not sure.
pub(crate) fn of_phase_with_odds(found: &Attribution) -> String {
    match found.probability {
        p if p < SURE => format!("{} (probability {p:.2})", of_phase(found)),
        _ => of_phase(found),
    }
}

/// A limit in a few words: what it is, its name, and what it carries.
fn phrase(range: &LimitRange) -> String {
    let many = range.alike > 1;
    let kind = range.hop_kind.as_deref().map_or(HopKind::Other, HopKind::of);
    let noun = || noun(kind, many);
    let sure = match range.probability {
        p if p < SURE => format!(", probability {p:.2}"),
        _ => String::new(),
    };
    let hop = |hop: &str| match range.alike {
        0 | 1 => clean(hop),
        n => format!("{} and {} more", clean(hop), n - 1),
    };
    let carries = match range.rate_bytes_per_s {
        Some(carries) if many => format!(", {} each", rate(carries)),
        Some(carries) => format!(", {}", rate(carries)),
        None => String::new(),
    };
    match &range.limit {
        Limiter::Hop { hop: name, why: HopLimit::Slots, .. } => {
            format!("the queue limit of {} ({}{sure})", noun(), hop(name))
        }
        Limiter::Hop { hop: name, .. } => format!("{} ({}{carries}{sure})", noun(), hop(name)),
        Limiter::Two { first, second } => {
            let kind = range.second_kind.as_deref().map_or(HopKind::Other, HopKind::of);
            let (one, other) = (noun(), self::noun(kind, false));
            let what = match one == other {
                true => self::noun(kind, true).to_owned(),
                false => format!("{one} and {other}"),
            };
            format!("{what} at once ({}, {}{sure})", clean(first), clean(second))
        }
        Limiter::Latency { hop: name } => {
            format!("the depth against the latency of {} ({}{sure})", noun(), hop(name))
        }
        Limiter::Depth => format!("the depth of the load{}", bracket(&sure)),
        Limiter::Generator => format!("the generator{}", bracket(&sure)),
        Limiter::Rate => "the requested rate, which was carried".to_owned(),
        Limiter::None => "nothing: the load asks for no more".to_owned(),
        Limiter::Unknown { .. } => "not determined".to_owned(),
        limit @ (Limiter::PathImbalance { .. } | Limiter::SlowDrain { .. }) => {
            format!("{}{}", clean(&limit.to_string()), bracket(&sure))
        }
    }
}

fn bracket(inside: &str) -> String {
    match inside.strip_prefix(", ") {
        Some(inside) => format!(" ({inside})"),
        None => String::new(),
    }
}

/// What a hop is, by the word of its kind in the record.
fn noun(kind: HopKind, many: bool) -> &'static str {
    let (one, several) = match kind {
        HopKind::VmCpu => ("the VM's CPU", "the VMs' CPUs"),
        HopKind::VirtualAdapter => ("the virtual adapter", "the virtual adapters"),
        HopKind::VirtualDisk => ("the virtual disk", "the virtual disks"),
        HopKind::HostCpu => ("the host's CPU", "the hosts' CPUs"),
        HopKind::Datastore => ("the datastore", "the datastores"),
        HopKind::LunQueue => ("the LUN queue", "the LUN queues"),
        HopKind::Adapter => ("the adapter", "the adapters"),
        HopKind::InitiatorPort | HopKind::SwitchPort | HopKind::TargetPort => {
            ("the port", "the ports")
        }
        HopKind::Link => ("the link", "the links"),
        HopKind::Trunk => ("the inter-switch link", "the inter-switch links"),
        HopKind::Controller => ("the controller", "the controllers"),
        HopKind::Cache => ("the cache", "the caches"),
        HopKind::Backend => ("the back end", "the back ends"),
        HopKind::Disks => ("the disks", "the disks"),
        HopKind::BehindHost => ("what is behind the host", "what is behind the hosts"),
        HopKind::TapeDrive => ("the tape drive", "the tape drives"),
        HopKind::Volume => ("the volume", "the volumes"),
        HopKind::ArrayCpu => ("the array's CPU", "the arrays' CPUs"),
        HopKind::BlockDevice => ("the block device", "the block devices"),
        HopKind::NetworkPair => ("the network path", "the network paths"),
        HopKind::NetworkHost => ("the machine", "the machines"),
        HopKind::Other => ("the hop", "the hops"),
    };
    if many { several } else { one }
}

/// One line for all steps whose limit is not determined: the counter that would tell, and how to get it.
pub(crate) fn undetermined(analysis: &Analysis) -> Option<Sentence> {
    let ranges = || analysis.plan_limits.iter().flat_map(|curve| &curve.ranges);
    let unknown = || ranges().filter(|range| is_unknown(range));
    let first = unknown().max_by_key(|range| range.steps.len())?;
    let steps: usize = unknown().map(|range| range.steps.len()).sum();
    let of = match analysis.steps.len() {
        1 => "What limits is not determined".to_owned(),
        all => format!("What limits is not determined in {steps} of {all} steps"),
    };
    let text = match &first.missing {
        Some(missing) => format!(
            "{of}: the {} would tell; {}.",
            clean(&missing.what).trim_start_matches("the "),
            how(missing, analysis)
        ),
        None => format!("{of}: no hop has a counter that would tell."),
    };
    Some(Sentence::new(Tone::Caution, text, Section::Step(first.step)))
}

/// How to get a counter.
fn how(missing: &MissingCounter, analysis: &Analysis) -> &'static str {
    let observed = analysis.steps.iter().all(|step| step.loops == Loops::Observed);
    match missing.hop_kind.as_deref() {
        _ if analysis.run.simulated => "give its part that figure in the scenario",
        Some("block-device" | "host-cpu" | "array-cpu" | "vm-cpu") if observed => {
            "collect it on the machine that has it, over the same time"
        }
        Some("block-device") => "run on the machine that has the device",
        Some("host-cpu" | "array-cpu" | "vm-cpu") => {
            "watch the CPU time there during a run, as with `mpstat 1`"
        }
        Some("volume" | "target-port" | "controller" | "disks") => {
            "take it from the array's own monitoring"
        }
        Some("switch-port" | "link" | "trunk") => "take it from the switch's port counters",
        _ if observed => "read it where it is counted, over the same time",
        _ => "read it where it is counted, during a run",
    }
}

/// `2.00 ×`.
pub(crate) fn times(value: f64) -> String {
    format!("{} ×", ratio(value))
}
