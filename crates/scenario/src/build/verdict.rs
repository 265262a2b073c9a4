//! Goals and claims: their subjects must exist, and the steps that they select must be run.

use super::net_verdict::{HopLoads, metric_of};
use super::work::setting_of;
use super::{complain, text_of};
use crate::claim::Claim;
use crate::datum::{Datum, DatumKey, Decoded};
use crate::diagnostics::{Class, Mistake, Sink};
use crate::directory::{Directory, NameKind};
use crate::load::Uses;
use crate::model::*;
use crate::nearest::{join, suggestion};
use crate::settle::concerns;
use crate::tree::clip;
use std::collections::BTreeSet;

const MEMBERS: &[NameKind] = &[NameKind::Vm, NameKind::Host, NameKind::Target];
const HOPS: &[NameKind] = &[
    NameKind::Adapter,
    NameKind::Switch,
    NameKind::Link,
    NameKind::Array,
    NameKind::Port,
    NameKind::Volume,
    NameKind::Target,
    NameKind::Host,
    NameKind::Vm,
    NameKind::Receiver,
    NameKind::NetHop,
];
/// Keys of goals that state a metric against a bound.
const GOAL_METRICS: &[&str] = &["read", "write", "total", "iops", "latency", "errors", "cpu"];

/// Every goal and every claim of the file, in their order.
pub(super) fn verdicts(
    root: &Decoded,
    judged: Judged<'_>,
    directory: &mut Directory,
    sink: &mut Sink,
) -> (Vec<Goal>, Vec<Claim>) {
    let Judged { plans, hops, of_lab } = judged;
    let mut judge =
        VerdictBuilder { plans, running: running(plans), hops, of_lab, directory, sink };
    let goals = root.records("goal").into_iter().filter_map(|record| judge.goal(record)).collect();
    (goals, judge.claims(&root.records("claim")))
}

/// The possible subjects of goals and claims.
pub(super) struct Judged<'a> {
    pub plans: &'a [Plan],
    /// Hops that some plan runs a network load on.
    pub hops: &'a HopLoads<'a>,
    /// Hops of the lab as a graph, which have no definition of their own (`esx.cpu`, `ssd1.controller0`).
    pub of_lab: BTreeSet<String>,
}

/// The hops of the lab as a graph, where some goal or claim names something that is defined nowhere.
pub(super) fn hops_of_lab(
    root: &Decoded,
    scenario: &Scenario,
    directory: &Directory,
) -> BTreeSet<String> {
    let goals = root.records("goal").into_iter().filter_map(|goal| goal.text("hop"));
    let claims = root.records("claim").into_iter().flat_map(super::claim::hops_of);
    let mut hops = goals.chain(claims);
    let made = |hop: &str| hop.contains(['.', '/', '-', ':']) && !directory.knows(hop);
    match hops.any(|hop| made(&hop.value)) {
        true => crate::topology::names(scenario),
        false => BTreeSet::new(),
    }
}

/// What a pair of `step` asks for.
enum Wanted {
    Plan(String),
    Setting(Setting),
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wanted::Plan(name) => f.write_str(name),
            Wanted::Setting(setting) => setting.fmt(f),
        }
    }
}

pub(super) struct VerdictBuilder<'a> {
    pub plans: &'a [Plan],
    /// VMs and targets that some plan runs a disk workload on.
    pub running: BTreeSet<&'a str>,
    /// Hops that some plan runs a network load on.
    pub hops: &'a HopLoads<'a>,
    /// Hops of the lab as a graph.
    of_lab: BTreeSet<String>,
    pub directory: &'a mut Directory,
    pub sink: &'a mut Sink,
}

/// VMs and targets that some plan runs a disk workload on.
fn running(plans: &[Plan]) -> BTreeSet<&str> {
    let loads = plans.iter().flat_map(|plan| &plan.loads);
    let of_disks = loads.filter(|load| load.workload.family().uses() == Uses::Disks);
    let members = of_disks.flat_map(|load| &load.on);
    members.map(String::as_str).collect()
}

impl VerdictBuilder<'_> {
    fn goal(&mut self, record: &Decoded) -> Option<Goal> {
        let step = self.selection(record, "step");
        let (scope, test) = match (record.record("balance"), record.record("ratio")) {
            (Some(balance), _) => {
                let scope = self.balanced(balance)?;
                (scope, GoalTest::Balance { within: balance.percent("within")?.value.0 })
            }
            (None, Some(ratio)) => (self.scope(record)?, self.ratio_test(ratio)?),
            (None, None) => (self.scope(record)?, self.metric_test(record)?),
        };
        if let Some(metric) = metric_of(&test) {
            let key = GOAL_METRICS.iter().chain(&["ratio"]).find(|key| record.has(key));
            self.check_metric(record, key.copied().unwrap_or("hop"), &scope, metric);
        }
        let name = record.text("name").map(|at| at.value);
        let name = name.unwrap_or_else(|| goal_name(record, &test, &step));
        Some(Goal { name, step, scope, test })
    }

    fn metric_test(&mut self, record: &Decoded) -> Option<GoalTest> {
        let (key, metric) = metric(record, GOAL_METRICS)?;
        let table = record.record(key)?;
        let (bound_key, bound) = match table.may_say("at_least") {
            true => ("at_least", Bound::AtLeast),
            false => ("at_most", Bound::AtMost),
        };
        let datum = table.get(bound_key)?;
        self.check_wire(record, table, bound_key, &datum.value);
        Some(GoalTest::Metric { metric, bound, value: value(&datum.value)? })
    }

    fn ratio_test(&mut self, ratio: &Decoded) -> Option<GoalTest> {
        let (metric, to) = self.against(ratio);
        let is = ratio.number("is")?.value;
        let within = ratio.percent("within")?.value.0;
        (!to.is_empty()).then_some(GoalTest::Ratio { metric, to, is, within })
    }

    /// What a ratio is of, and what differs in the step that it is held against.
    pub(super) fn against(&mut self, ratio: &Decoded) -> (Metric, Vec<(String, String)>) {
        let to = self.selection(ratio, "to");
        let metric = of_word(ratio);
        if ratio.record("to").is_some_and(|to| to.fields.is_empty()) {
            let problem = "it has no differing setting, such as `to = { port = \"4gfc\" }`";
            complain(ratio, "to", problem, self.sink);
        }
        (metric, to)
    }

    /// The members of a balance.
    pub(super) fn balanced(&mut self, balance: &Decoded) -> Option<Scope> {
        if balance.has("streams") {
            return self.streams(balance);
        }
        if !balance.has("over") && self.running.is_empty() && !self.hops.is_empty() {
            let problem =
                "no plan runs a disk workload; for the streams of a hop, add `streams = \"far\"`";
            complain(balance, "within", problem, self.sink);
            return None;
        }
        self.scope(balance)
    }

    /// A share of the wire needs a hop that has one.
    pub(super) fn check_wire(
        &mut self,
        record: &Decoded,
        holder: &Decoded,
        key: &str,
        datum: &Datum,
    ) {
        if matches!(datum, Datum::Wire(_)) && !record.has("hop") {
            let problem = "`of wire` needs a hop; add `hop = \"…\"`, or give a rate";
            complain(holder, key, problem, self.sink);
        }
    }

    /// The subject of a goal, a claim or a balance; `None` when a reference in it is wrong.
    pub(super) fn scope(&mut self, record: &Decoded) -> Option<Scope> {
        for (key, scope) in
            [("over", Scope::Over as fn(Vec<String>) -> Scope), ("each", Scope::Each)]
        {
            if record.may_say(key) {
                if !self.check_members(record, key) {
                    return None;
                }
                let members = self.directory.find_all(&record.texts(key), MEMBERS, self.sink);
                if let Some(idle) =
                    members.iter().find(|name| !self.running.contains(name.as_str()))
                {
                    let problem = self.idle(idle);
                    complain(record, key, problem, self.sink);
                }
                return (!members.is_empty()).then(|| scope(members));
            }
        }
        if !record.may_say("hop") {
            return Some(Scope::Total);
        }
        self.hop(record, "hop").map(Scope::Hop)
    }

    /// The hop that a key names; `None` when there is none such, which is reported.
    pub(super) fn hop(&mut self, record: &Decoded, key: &str) -> Option<String> {
        let text = record.text(key)?;
        if let Some(part) = self.part_of_hop(&text) {
            return part;
        }
        if self.of_lab.contains(&text.value) {
            return Some(text.value);
        }
        let found = self.directory.find_ports(&text, HOPS, self.sink)?;
        if let [(device, port)] = &found[..] {
            let hop = Endpoint { device: device.clone(), port: *port };
            return Some(hop.to_string());
        }
        let problem = format!("it matches {} hops; name one", found.len());
        complain(record, key, problem, self.sink);
        None
    }

    /// The settings that `step`, or another key, asks for, by the keys of the axes; each must select something.
    pub(super) fn selection(&mut self, record: &Decoded, key: &str) -> Vec<(String, String)> {
        let Some(table) = record.record(key) else { return Vec::new() };
        let pairs: Vec<Option<(String, Wanted)>> =
            table.fields.iter().map(|slot| self.pair(slot)).collect();
        let complete = pairs.iter().all(Option::is_some);
        let pairs: Vec<(String, Wanted)> = pairs.into_iter().flatten().collect();
        let selects = |plan: &Plan| {
            pairs.iter().all(|(key, wanted)| match wanted {
                Wanted::Plan(name) => plan.name == *name,
                Wanted::Setting(value) => {
                    plan.sweep.iter().any(|a| a.key == *key && a.values.contains(value))
                        || plan.search.as_ref().is_some_and(|s| s.key == *key && s.can_try(value))
                }
            })
        };
        if complete && pairs.len() > 1 && !self.plans.iter().any(selects) {
            complain(record, key, "no step has all of these settings", self.sink);
        }
        pairs.into_iter().map(|(key, wanted)| (key, wanted.to_string())).collect()
    }

    fn pair(&mut self, slot: &DatumKey) -> Option<(String, Wanted)> {
        let key = &slot.key.value;
        let datum = slot.value.as_ref()?;
        if key == "plan" {
            let name = text_of(datum)?.value;
            if !self.plans.iter().any(|plan| plan.name == name) {
                self.sink.push(|| {
                    let names = self.plans.iter().map(|plan| plan.name.as_str());
                    Mistake::new(datum.at, format!("no plan is named `{}`", clip(&name)))
                        .class(Class::Absence)
                        .maybe_help(suggestion(&name, names))
                });
                return None;
            }
            return Some((key.clone(), Wanted::Plan(name)));
        }
        let setting = key.rsplit_once('.').map_or(key.as_str(), |(_, setting)| setting);
        let value = setting_of(setting, &datum.value)?;
        let axes: Vec<&Axis> = self
            .plans
            .iter()
            .flat_map(|plan| plan.sweep.iter())
            .filter(|a| means(key, &a.key))
            .collect();
        // A search may reach this load; whether it did is known when it is over.
        let searches = self.plans.iter().filter_map(|plan| plan.search.as_ref());
        if let Some(search) = searches.filter(|s| means(key, &s.key)).find(|s| s.can_try(&value)) {
            return Some((search.key.clone(), Wanted::Setting(value)));
        }
        if let Some(axis) = axes.iter().find(|axis| axis.values.contains(&value)) {
            return Some((axis.key.clone(), Wanted::Setting(value)));
        }
        self.sink.push(|| match axes.first() {
            Some(axis) => {
                let values: Vec<String> =
                    axis.values.iter().take(16).map(|v| format!("`{v}`")).collect();
                Mistake::new(datum.at, format!("no step has {key} = {value}"))
                    .class(Class::Absence)
                    .help(format!("the sweep goes through {}", join(&values, "and")))
            }
            None => {
                let keys = self.plans.iter().flat_map(|p| p.sweep.iter()).map(|a| a.key.as_str());
                Mistake::new(slot.key.at, format!("no plan sweeps `{key}`"))
                    .class(Class::Absence)
                    .maybe_help(suggestion(key, keys))
            }
        });
        None
    }
}

/// Whether a key of `step` means an axis: `block` of `stream.block` too, and `stream.block` of a common `block`.
pub(super) fn means(key: &str, axis: &str) -> bool {
    let bare = |key: &str| key.rsplit_once('.').map_or(key.to_owned(), |(_, s)| s.to_owned());
    let same_workload = match key.rsplit_once('.') {
        Some((workload, _)) => concerns(axis, workload),
        None => true,
    };
    bare(key) == bare(axis) && same_workload
}

/// The metric that a goal or claim names, with its key.
pub(super) fn metric(record: &Decoded, keys: &[&'static str]) -> Option<(&'static str, Metric)> {
    let key = keys.iter().copied().find(|key| record.has(key))?;
    let metric = match key {
        "read" => Metric::ReadRate,
        "write" => Metric::WriteRate,
        "total" => Metric::TotalRate,
        "iops" => Metric::Iops,
        "errors" => Metric::Errors,
        "cpu" => Metric::Cpu,
        _ => {
            let table = record.record(key)?;
            let point = table.point("point").map_or(LatencyPoint::Mean, |at| at.value);
            let response = table.word("of").is_some_and(|at| at.value == "response");
            Metric::Latency { point, response }
        }
    };
    Some((key, metric))
}

pub(super) fn value(datum: &Datum) -> Option<Value> {
    match datum {
        Datum::Rate(rate) => Some(Value::Rate(*rate)),
        Datum::Wire(share) => Some(Value::PercentOfWire(share.0)),
        Datum::Iops(iops) => Some(Value::Iops(iops.0)),
        Datum::Time(time) => Some(Value::Time(*time)),
        Datum::Count(n) => Some(Value::Count(*n)),
        Datum::Percent(share) => Some(Value::Percent(share.0)),
        Datum::Number(times) => Some(Value::Times(*times)),
        _ => None,
    }
}

/// The subject of a ratio or a shape.
pub(super) fn of_word(table: &Decoded) -> Metric {
    match table.word("of").map_or("total", |at| at.value) {
        "read" => Metric::ReadRate,
        "write" => Metric::WriteRate,
        "iops" => Metric::Iops,
        "cpu" => Metric::Cpu,
        "latency" => Metric::Latency { point: LatencyPoint::Mean, response: false },
        _ => Metric::TotalRate,
    }
}

/// `read of hba at least 90% of wire, block=32KiB`.
fn goal_name(record: &Decoded, test: &GoalTest, step: &[(String, String)]) -> String {
    let words = match test {
        GoalTest::Metric { metric, bound, value } => {
            let side = match bound {
                Bound::AtLeast => "at least",
                Bound::AtMost => "at most",
            };
            format!("{metric}{} {side} {value}", whose(record))
        }
        GoalTest::Balance { within } => {
            let members = record.record("balance").map(whose).unwrap_or_default();
            format!("balance{members} within {}", units::percent(*within))
        }
        GoalTest::Ratio { metric, to, is, within } => {
            let (to, within) = (held_against(to), units::percent(*within));
            format!("{metric}{} {is} ×{to}, within {within}", whose(record))
        }
    };
    format!("{words}{}", selected(step))
}

/// ` that at mtu=1500`, of a ratio.
pub(super) fn held_against(to: &[(String, String)]) -> String {
    if to.is_empty() {
        return String::new();
    }
    let to: Vec<String> = to.iter().map(|(key, value)| format!("{key}={value}")).collect();
    format!(" that at {}", join(&to, "and"))
}

/// ` of hba`, ` over vm*`, ` of each of vm*`: the scope in the user's own words.
pub(super) fn whose(record: &Decoded) -> String {
    let words = [
        ("over", " over "),
        ("each", " of each of "),
        ("hop", " of "),
        ("streams", " over the streams of "),
    ];
    for (key, words) in words {
        if record.may_say(key) {
            let texts: Vec<String> =
                record.texts(key).into_iter().map(|at| clip(&at.value)).collect();
            return format!("{words}{}", join(&texts, "and"));
        }
    }
    String::new()
}

pub(super) fn selected(step: &[(String, String)]) -> String {
    step.iter().map(|(key, value)| format!(", {key}={value}")).collect()
}
