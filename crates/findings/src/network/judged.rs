//! What goals and claims read off a network load: a pair by what it received, one of its machines by its processors, its
//! probe by its times. What was not reported whole is missing, and nothing missing passes.

use super::{NetPair, Way};
use crate::balance::balance;
use crate::pool::{latency_point, per_second};
use crate::scope::MetricReading;
use crate::step::StepData;
use record::Completed;
use scenario::Metric;

/// A metric of a pair, of one of its machines or of its probe; `None` where the hop is none of them.
pub(crate) fn reading(step: &StepData, hop: &str, metric: &Metric) -> Option<MetricReading> {
    if let Some(pair) = step.pairs.iter().find(|pair| pair.name == hop) {
        return Some(of_pair(step, pair, metric));
    }
    let (name, part) = hop.rsplit_once('/')?;
    let pair = step.pairs.iter().find(|pair| pair.name == name)?;
    let found = match part {
        "sender" => busy(pair, &pair.sender, metric),
        "receiver" => busy(pair, &pair.receiver, metric),
        "probe" => probe(step, pair, metric),
        _ => return None,
    };
    Some(found)
}

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

fn of_pair(step: &StepData, pair: &NetPair, metric: &Metric) -> MetricReading {
    let going = |way: Way| -> Result<f64, String> {
        let mut all = pair.going(way).peekable();
        if all.peek().is_none() {
            let word = if way == Way::Up { "to" } else { "from" };
            return Err(format!("no stream went {word} {}", pair.name));
        }
        Ok(all.map(|direction| direction.received.bytes_per_s).sum())
    };
    let value = match metric {
        Metric::ReadRate => going(Way::Down),
        Metric::WriteRate => going(Way::Up),
        Metric::TotalRate => Ok(pair.bytes_per_s()),
        Metric::Iops => Ok(pair.directions.iter().map(|d| d.messages_per_s()).sum()),
        Metric::Errors => Ok(pair.directions.iter().map(|d| d.sent.errors as f64).sum()),
        Metric::Latency { .. } => return times(step, pair, metric),
        Metric::Cpu => Err(format!(
            "{} is a hop between two machines; name `{}/sender` or `{}/receiver`",
            pair.name, pair.name, pair.name
        )),
        Metric::Imbalance => Err(format!("balance over the hop {} is not defined", pair.name)),
    };
    match value {
        Ok(value) => {
            MetricReading { value: Some(value), missing: shortfall(pair), ..unread(String::new()) }
        }
        Err(why) => unread(why),
    }
}

/// Why a pair's figures are not those of the whole measured time.
fn shortfall(pair: &NetPair) -> Option<String> {
    pair.missing.first().cloned()
}

/// The times of a pair's transactions.
fn times(step: &StepData, pair: &NetPair, metric: &Metric) -> MetricReading {
    let mut merged = Completed::empty(false);
    let asking = step.streams.iter().filter(|end| end.load.end == record::StreamEnd::Sent);
    let mine = asking.filter(|end| end.hop == pair.name).filter_map(|end| end.tally.as_ref());
    mine.for_each(|tally| merged.merge(tally));
    if merged.service.count() == 0 {
        let name = &pair.name;
        return unread(format!(
            "hop {name} timed no transactions; a probe beside streams is `{name}/probe`"
        ));
    }
    of_tally(merged, metric, shortfall(pair))
}

/// What the probe beside the streams of a pair did.
fn probe(step: &StepData, pair: &NetPair, metric: &Metric) -> MetricReading {
    let Some(tally) = step.probe(&pair.name) else {
        return unread(format!("no probe ran beside the streams of {}", pair.name));
    };
    let span = step.span;
    match metric {
        Metric::Iops => {
            let value = Some(per_second(tally.ops as f64, span));
            MetricReading { value, missing: shortfall(pair), ..unread(String::new()) }
        }
        _ => of_tally(tally.clone(), metric, shortfall(pair)),
    }
}

fn of_tally(tally: Completed, metric: &Metric, missing: Option<String>) -> MetricReading {
    let attempts = Some(tally.ops.saturating_add(tally.errors));
    match metric {
        Metric::Latency { point, response } => {
            let value = latency_point(&tally, *point, *response);
            MetricReading {
                member: None,
                value,
                missing,
                attempts,
                tally: Some(tally),
                interval: None,
            }
        }
        Metric::Errors => {
            let value = Some(tally.errors as f64);
            MetricReading { member: None, value, missing, attempts, tally: None, interval: None }
        }
        _ => unread("a probe has latency, operations and errors alone".to_owned()),
    }
}

/// How busy a machine's processors were, in percent of all of them.
fn busy(pair: &NetPair, machine: &super::Machine, metric: &Metric) -> MetricReading {
    if *metric != Metric::Cpu {
        return unread(format!("{} is a machine, which has `cpu` alone", machine.hop));
    }
    match machine.host_share {
        Some(share) => MetricReading {
            value: Some(share * 100.0),
            missing: shortfall(pair),
            ..unread(String::new())
        },
        None => unread(format!(
            "{} did not count its processors over the whole measured time (counters `host-…`)",
            machine.hop
        )),
    }
}

/// The payload capacity of a pair's wire in each direction of a metric, in bytes a second; `None` where the hop is no
/// pair, `Err` where it is not known.
pub(crate) fn wire(step: &StepData, hop: &str, metric: &Metric) -> Option<Result<f64, String>> {
    let pair = step.pairs.iter().find(|pair| pair.name == hop)?;
    let ways: &[Way] = match metric {
        Metric::ReadRate => &[Way::Down],
        Metric::WriteRate => &[Way::Up],
        _ => &[Way::Up, Way::Down],
    };
    let mut sum = 0.0;
    for way in ways {
        // Loads that share a way have one wire, and nearly one framing: the first one's.
        let Some(direction) = pair.going(*way).next() else { continue };
        match (direction.wire.payload_bytes_per_s, &direction.wire.unknown) {
            (Some(payload), _) => sum += payload,
            (None, why) => {
                let why = why.clone().unwrap_or_else(|| "the wire is not known".to_owned());
                return Some(Err(format!("the wire rate of hop {hop} is not known: {why}")));
            }
        }
    }
    match sum > 0.0 {
        true => Some(Ok(sum)),
        false => Some(Err(format!("the wire rate of hop {hop} is not known: no stream used it"))),
    }
}

/// The stream that is furthest from the mean of those that go its way, and how far, in percent.
pub(crate) fn imbalance(step: &StepData, hop: &str) -> Result<(String, f64), String> {
    let found = step.pairs.iter().find(|pair| pair.name == hop);
    let pair = found.ok_or_else(|| format!("no stream ran on hop {hop} in this step"))?;
    if let Some(why) = shortfall(pair) {
        return Err(why);
    }
    let mut worst: Option<(String, f64)> = None;
    for way in [Way::Up, Way::Down] {
        let streams = pair.going(way).flat_map(|direction| &direction.streams);
        let rates: Vec<(String, f64)> =
            streams.map(|s| (s.name.clone(), s.received.bytes_per_s)).collect();
        if rates.len() == 1 {
            continue;
        }
        let Some(found) = balance(Vec::new(), &rates) else {
            if rates.is_empty() {
                continue;
            }
            return Err("nothing was moved".to_owned());
        };
        let distance = |rate: &f64| (rate - found.mean_bytes_per_s).abs();
        let furthest = rates.iter().max_by(|a, b| distance(&a.1).total_cmp(&distance(&b.1)));
        let percent = found.deviation * 100.0;
        if worst.as_ref().is_none_or(|(_, known)| percent > *known) {
            worst = furthest.map(|(name, _)| (name.clone(), percent));
        }
    }
    worst.ok_or_else(|| "balance needs two streams that go one way".to_owned())
}
