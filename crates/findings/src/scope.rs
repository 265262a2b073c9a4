//! The subjects of goals and claims: a metric of the whole step, of some VMs or targets, or of a hop. Every answer says
//! whether something that it depends on is missing, so that nothing missing can pass.

use crate::balance::balance;
use crate::claims::span::{self, FigureBounds};
use crate::counters::CounterReading;
use crate::network;
use crate::pool::{Pool, per_second};
use crate::quantity::{Quantity, Unit};
use crate::step::{COMPLETE_SHARE, StepData, WorkerData};
use record::{Completed, CounterId, Fact};
use scenario::{Metric, Scope, Value};

/// The fact of a hop that says what its wire carries (`("hba", "wire-rate", "826.5 MB/s")`).
const WIRE_RATE: &str = "wire-rate";

/// Why a percentile of an estimate is not known.
const NO_DISTRIBUTION: &str =
    "the record knows a mean of latency and no distribution; simulate it or run it for percentiles";

/// What one step says of one metric, for one member of a scope.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MetricReading {
    /// The VM or target, where a scope asks for each.
    pub member: Option<String>,
    /// The value in the metric's base unit; `None` where there is none.
    pub value: Option<f64>,
    /// Why the value is not the whole truth.
    pub missing: Option<String>,
    /// Operations that completed or failed within the scope; `None` for hops, which count traffic.
    pub attempts: Option<u64>,
    /// Both directions merged, where the metric is a latency, for merging with other repetitions.
    pub tally: Option<Completed>,
    /// The interval of confidence of the value, where the record has one.
    pub interval: Option<FigureBounds>,
}

impl MetricReading {
    /// Why it has no value, or why that is not the whole truth.
    pub fn lack(&self) -> String {
        let worked = self.tally.as_ref().is_some_and(|tally| tally.ops > 0);
        match &self.missing {
            Some(why) => why.clone(),
            None if worked => NO_DISTRIBUTION.to_owned(),
            None => "no operation completed".to_owned(),
        }
    }
}

/// Reads a metric off a step; one reading for each member where the scope asks for each.
pub(crate) fn read(step: &StepData, scope: &Scope, metric: &Metric) -> Vec<MetricReading> {
    let mut readings = values(step, scope, metric);
    let too_little = step.too_little();
    for reading in &mut readings {
        if let Some(why) = &too_little {
            reading.missing.get_or_insert_with(|| why.clone());
        }
        let known = |source: Option<&str>| span::known(&step.confidences, source, metric);
        reading.interval = match source(step, scope, reading.member.as_deref()) {
            Ok(None) => known(None),
            Ok(Some(name)) => known(Some(&name)),
            Err(()) => None,
        };
    }
    readings
}

/// The record's name of the interval of a scope: `None` is that of all workers; `Err` where there is none such.
fn source(step: &StepData, scope: &Scope, member: Option<&str>) -> Result<Option<String>, ()> {
    let names = match (scope, member) {
        (_, Some(member)) => vec![member.to_owned()],
        (Scope::Total, None) => return Ok(None),
        (Scope::Hop(hop), None) => return Ok(Some(hop.clone())),
        (Scope::Over(names), None) => names.clone(),
        (Scope::Each(_) | Scope::Streams(_), None) => return Err(()),
    };
    // Where they are all that there are, they are the step.
    let all = step.workers.iter().all(|worker| names.contains(&worker.source.group));
    Ok((!all).then(|| names.join("+")))
}

fn values(step: &StepData, scope: &Scope, metric: &Metric) -> Vec<MetricReading> {
    if *metric == Metric::Imbalance {
        let (found, missing) = imbalance(step, scope);
        let value = found.map(|(_, percent)| percent);
        return vec![MetricReading {
            member: None,
            value,
            missing,
            attempts: None,
            tally: None,
            interval: None,
        }];
    }
    match scope {
        Scope::Total => vec![pooled(step, None, metric, |_| true)],
        Scope::Over(names) => {
            let mut reading = pooled(step, None, metric, |w| names.contains(&w.source.group));
            let silent = names.iter().find(|n| !step.workers.iter().any(|w| w.source.group == **n));
            reading.missing = reading.missing.or_else(|| silent.map(|n| idle(n)));
            vec![reading]
        }
        Scope::Each(names) => names
            .iter()
            .map(|name| pooled(step, Some(name), metric, |w| w.source.group == *name))
            .collect(),
        Scope::Hop(hop) => match network::judged::reading(step, hop, metric) {
            Some(reading) => vec![reading],
            None => vec![hop_reading(step, hop, metric)],
        },
        Scope::Streams(hop) => {
            vec![unread(format!("the streams of hop {hop} have balance alone"))]
        }
    }
}

/// The member furthest from the mean of a scope, and its distance in percent of it; and why that may be incomplete.
pub(crate) fn imbalance(step: &StepData, scope: &Scope) -> (Option<(String, f64)>, Option<String>) {
    if let Scope::Streams(hop) = scope {
        return match network::judged::imbalance(step, hop) {
            Ok(found) => (Some(found), None),
            Err(why) => (None, Some(why)),
        };
    }
    let (rates, missing) = rates(step, scope);
    let Some(found) = balance(Vec::new(), &rates) else {
        let why = match rates.len() {
            0 | 1 => "balance needs two VMs or targets",
            _ => "nothing was moved",
        };
        return (None, missing.or_else(|| Some(why.to_owned())));
    };
    let distance = |rate: &f64| (rate - found.mean_bytes_per_s).abs();
    let worst = rates.iter().max_by(|x, y| distance(&x.1).total_cmp(&distance(&y.1)));
    let name = worst.map(|(name, _)| name.clone()).unwrap_or_default();
    (Some((name, found.deviation * 100.0)), missing)
}

/// Rates of the groups of a balance, and what is missing of them.
fn rates(step: &StepData, scope: &Scope) -> (Vec<(String, f64)>, Option<String>) {
    let names: Vec<String> = match scope {
        Scope::Over(names) | Scope::Each(names) => names.clone(),
        Scope::Hop(hop) => {
            return (Vec::new(), Some(format!("balance over the hop {hop} is not defined")));
        }
        Scope::Streams(hop) => {
            return (Vec::new(), Some(format!("the streams of hop {hop} are no members")));
        }
        Scope::Total => {
            let mut names: Vec<String> =
                step.workers.iter().map(|w| w.source.group.clone()).collect();
            let mut seen = std::collections::HashSet::new();
            names.retain(|n| seen.insert(n.clone()));
            names
        }
    };
    let mut missing = None;
    let mut rates = Vec::new();
    for name in names {
        let reading = pooled(step, Some(&name), &Metric::TotalRate, |w| w.source.group == name);
        missing = missing.or(reading.missing);
        rates.push((name, reading.value.unwrap_or(0.0)));
    }
    (rates, missing.or_else(|| step.too_little()))
}

/// A required or published value in the metric's base unit, where the wire of the scope carries so many bytes a second.
/// `Err` says why it cannot be compared.
pub(crate) fn target(
    value: &Value,
    metric: &Metric,
    scope: &Scope,
    wire: &Result<f64, String>,
) -> Result<f64, String> {
    let quantity = Quantity::from_value(value);
    if let (Unit::Percent, Unit::BytesPerS, Scope::Hop(_)) =
        (quantity.unit, Unit::of(metric), scope)
    {
        return wire.clone().map(|wire| wire * quantity.value / 100.0);
    }
    if quantity.unit == Unit::of(metric) {
        Ok(quantity.value)
    } else {
        Err(format!("{quantity} cannot be compared with what was measured"))
    }
}

/// Capacity of a hop's wire in each direction in this step, in bytes a second: the port's speed, else the record's
/// fact.
pub(crate) fn wire(
    step: &StepData,
    scope: &Scope,
    metric: &Metric,
    facts: &[Fact],
) -> Result<f64, String> {
    let Scope::Hop(hop) = scope else { return Err(String::new()) };
    if let Some(known) = network::judged::wire(step, hop, metric) {
        return known;
    }
    of_port(step, hop, facts).ok_or_else(|| {
        format!(
            "the wire rate of hop {hop} is not known; it is no port with a speed, and the record has no fact \
             `{WIRE_RATE}` of it"
        )
    })
}

fn of_port(step: &StepData, hop: &str, facts: &[Fact]) -> Option<f64> {
    if let Some(port) = step.wires.iter().find(|w| w.hop == hop) {
        return port.mean(step.head.times.measured()).filter(|r| *r > 0.0);
    }
    let fact = facts.iter().find(|f| f.subject == hop && f.key == WIRE_RATE)?;
    units::ByteRate::parse(&fact.value).ok().map(|r| r.0).filter(|r| *r > 0.0)
}

fn pooled(
    step: &StepData,
    member: Option<&str>,
    metric: &Metric,
    wanted: impl Fn(&WorkerData) -> bool,
) -> MetricReading {
    let Some(pool) = Pool::of(step, &wanted) else {
        let missing = Some(idle(member.unwrap_or("what the goal names")));
        return MetricReading {
            member: member.map(str::to_owned),
            value: None,
            missing,
            attempts: Some(0),
            tally: None,
            interval: None,
        };
    };
    let tallies = [&pool.read, &pool.write];
    MetricReading {
        member: member.map(str::to_owned),
        value: pool.metric(metric),
        missing: step.workers.iter().filter(|w| wanted(w)).find_map(|w| shortfall(step, w)),
        attempts: Some(
            tallies.iter().fold(0, |n, t| n.saturating_add(t.ops).saturating_add(t.errors)),
        ),
        tally: matches!(metric, Metric::Latency { .. }).then(|| pool.both()),
        interval: None,
    }
}

fn idle(name: &str) -> String {
    format!("no worker ran for {name}")
}

/// Why a worker's figures are not those of the whole measured time.
fn shortfall(step: &StepData, worker: &WorkerData) -> Option<String> {
    let share = step.completeness(worker);
    (share < COMPLETE_SHARE).then(|| {
        let agent = match worker.source.agent.as_str() {
            "" => String::new(),
            agent => format!(" (agent {agent})"),
        };
        format!(
            "{}{agent} reported {:.0}% of the measured time",
            worker.source.name,
            (share * 100.0).floor()
        )
    })
}

/// A reading that there is not, and why.
fn unread(why: String) -> MetricReading {
    MetricReading {
        member: None,
        value: None,
        missing: Some(why),
        attempts: None,
        tally: None,
        interval: None,
    }
}

/// How busy the processors of a hop were, in percent of all of them: of a machine of the lab (`esx.cpu`).
fn busy_reading(step: &StepData, hop: &str) -> MetricReading {
    let span = step.head.times.measured().as_secs_f64() * 1e9;
    match step.integrals.counted(hop, CounterId::Busy) {
        CounterReading::Whole(busy) if span > 0.0 => MetricReading {
            member: None,
            value: Some(busy / span * 100.0),
            missing: None,
            attempts: None,
            tally: None,
            interval: None,
        },
        _ => unread(format!("hop {hop} did not count how busy its processors were")),
    }
}

fn hop_reading(step: &StepData, hop: &str, metric: &Metric) -> MetricReading {
    if !step.voids.is_empty() {
        return unread(format!(
            "hop {hop} counted on in the part of the measured time that is void"
        ));
    }
    if *metric == Metric::Cpu && step.has_processors(hop) {
        return busy_reading(step, hop);
    }
    let ids: &[CounterId] = match metric {
        Metric::ReadRate => &[CounterId::ReadBytes],
        Metric::WriteRate => &[CounterId::WriteBytes],
        Metric::TotalRate => &[CounterId::ReadBytes, CounterId::WriteBytes],
        Metric::Iops => &[CounterId::ReadOps, CounterId::WriteOps],
        Metric::Errors => &[CounterId::Errors],
        Metric::Latency { .. } | Metric::Cpu | Metric::Imbalance => &[],
    };
    if ids.is_empty() {
        let what = if *metric == Metric::Cpu { "CPU" } else { "latency" };
        return unread(format!("hop {hop} counts traffic, not {what}"));
    }
    let mut sum = 0.0;
    for id in ids {
        match step.integrals.counted(hop, *id) {
            CounterReading::Whole(value) => sum += value,
            CounterReading::Part(share) => {
                return unread(format!(
                    "hop {hop} counted `{}` for {:.0}% of the measured time",
                    id.name(),
                    (share * 100.0).floor()
                ));
            }
            CounterReading::NoNumber => {
                return unread(format!(
                    "hop {hop} counted `{}` for 0% of the measured time",
                    id.name()
                ));
            }
            CounterReading::Absent => {
                return unread(format!("hop {hop} has no counter `{}` in this step", id.name()));
            }
        }
    }
    let value =
        if *metric == Metric::Errors { sum } else { per_second(sum, step.head.times.measured()) };
    MetricReading {
        member: None,
        value: Some(value),
        missing: None,
        attempts: None,
        tally: None,
        interval: None,
    }
}
