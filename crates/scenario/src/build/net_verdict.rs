//! Goals and claims on network loads: which hops there are, and which metrics each has.

use super::complain;
use super::net_plan::ReceiverReach;
use super::verdict::VerdictBuilder;
use crate::datum::Decoded;
use crate::diagnostics::{At, Class, Mistake};
use crate::directory::NameKind;
use crate::load::NetWorkload;
use crate::model::{GoalTest, Metric, Plan, Scope};
use crate::nearest::suggestion;
use crate::network::{PROBE, RECEIVER, SENDER};
use crate::tree::clip;
use std::collections::BTreeMap;

/// The loads of each hop, by the hop's name, in any plan.
pub(super) type HopLoads<'a> = BTreeMap<String, Vec<&'a NetWorkload>>;

/// The part of a hop in its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HopPart {
    /// The way between the two machines.
    Pair,
    /// One of the machines.
    Machine,
    /// The probe beside the streams.
    Probe,
}

/// Every hop that a network load of a plan runs on.
pub(super) fn hops<'a>(plans: &'a [Plan], reach: &ReceiverReach<'_>) -> HopLoads<'a> {
    let mut hops = HopLoads::new();
    for net in plans.iter().flat_map(Plan::net_loads) {
        for member in net.on {
            for receiver in reach.get(member.as_str()).into_iter().flatten() {
                let name = match receiver.name == *member {
                    true => member.clone(),
                    false => format!("{member}.{}", receiver.name),
                };
                let all = hops.entry(name).or_default();
                if !all.iter().any(|known| known.name == net.workload.name) {
                    all.push(net.workload);
                }
            }
        }
    }
    hops
}

impl VerdictBuilder<'_> {
    /// The hop that `far/sender`, `far/receiver` or `far/probe` names, if any. A wrong ending of the name is reported.
    pub(super) fn part_of_hop(&mut self, text: &At<String>) -> Option<Option<String>> {
        let (base, end) = text.value.rsplit_once('/')?;
        if !self.is_net_hop(base) {
            return None;
        }
        let ends = [SENDER, RECEIVER, PROBE];
        if ends.contains(&end) {
            return Some(Some(text.value.clone()));
        }
        self.sink.push(|| {
            let message = format!("the hop `{}` has no `{}`", clip(base), clip(end));
            Mistake::new(text.at, message).maybe_help(suggestion(end, ends))
        });
        Some(None)
    }

    fn is_net_hop(&self, name: &str) -> bool {
        self.directory.is(name, NameKind::Receiver) || self.directory.is(name, NameKind::NetHop)
    }

    /// The streams of a balance; none where they do not exist, which is reported.
    pub(super) fn streams(&mut self, balance: &Decoded) -> Option<Scope> {
        let text = balance.text("streams")?;
        let kinds = [NameKind::Receiver, NameKind::NetHop];
        let found = self.directory.find(&text, &kinds, self.sink)?.names;
        let [hop] = &found[..] else {
            let problem = format!("it matches {} hops; name one", found.len());
            complain(balance, "streams", problem, self.sink);
            return None;
        };
        self.runs(balance, "streams", hop).then(|| Scope::Streams(hop.clone()))
    }

    /// Whether a network load runs on a hop; otherwise that is reported.
    fn runs(&mut self, record: &Decoded, key: &str, hop: &str) -> bool {
        if self.hops.contains_key(hop) {
            return true;
        }
        let at = super::place(record, key);
        let by_vm = self
            .hops
            .keys()
            .find(|known| known.rsplit_once('.').is_some_and(|(_, receiver)| receiver == hop));
        let help = match by_vm {
            Some(vm) => Some(format!("loads on VMs have their own hops, such as `{vm}`")),
            None => suggestion(hop, self.hops.keys().map(String::as_str)),
        };
        self.sink.push(|| {
            Mistake::new(at, format!("{key}: no plan runs a network load on `{}`", clip(hop)))
                .class(Class::Absence)
                .maybe_help(help)
        });
        false
    }

    /// Reports a metric that its hop does not have: those of machines, probes and streams differ.
    pub(super) fn check_metric(
        &mut self,
        record: &Decoded,
        key: &str,
        scope: &Scope,
        metric: Metric,
    ) {
        let Scope::Hop(hop) = scope else {
            if metric == Metric::Cpu {
                self.no_machine(record, key);
            } else if *scope == Scope::Total && self.running.is_empty() && !self.hops.is_empty() {
                self.no_workers(record, key);
            }
            return;
        };
        let part = self.part(hop);
        let pair = match part {
            Some(HopPart::Pair) => hop.as_str(),
            Some(_) => hop.rsplit_once('/').map_or(hop.as_str(), |(pair, _)| pair),
            // The processors of a host or a VM of a simulated lab are a hop of their own.
            None if metric == Metric::Cpu && hop.ends_with(".cpu") => return,
            None if metric == Metric::Cpu => return self.no_machine(record, key),
            None => return,
        };
        if !self.runs(record, "hop", pair) {
            return;
        }
        let loads = self.hops.get(pair).map(Vec::as_slice).unwrap_or_default();
        let asks = loads.iter().any(|net| net.network.is_transactions());
        let probed = loads.iter().any(|net| net.network.probe);
        let problem = match (part, metric) {
            (Some(HopPart::Machine), Metric::Cpu) => return,
            (Some(HopPart::Machine), _) => {
                format!("`{hop}` is a machine, which has `cpu`; its traffic is at the hop `{pair}`")
            }
            (_, Metric::Cpu) => format!(
                "`{hop}` is not a machine; its ends are `{pair}/{SENDER}` and `{pair}/{RECEIVER}`"
            ),
            (Some(HopPart::Probe), _) if !probed => {
                format!("no load on `{pair}` has a probe; add `probe = true` to its workload")
            }
            (Some(HopPart::Probe), Metric::ReadRate | Metric::WriteRate | Metric::TotalRate) => {
                format!(
                    "a probe has `latency`, `iops` and `errors`; data rates are at the hop `{pair}`"
                )
            }
            (Some(HopPart::Pair), Metric::Latency { .. }) if !asks && probed => {
                format!("streams have no latency; use their probe: `hop = \"{pair}/{PROBE}\"`")
            }
            (Some(HopPart::Pair), Metric::Latency { .. }) if !asks => format!(
                "streams have no latency; add `probe = true` to the workload, and write `hop = \"{pair}/{PROBE}\"`"
            ),
            _ => return,
        };
        complain(record, key, problem, self.sink);
    }

    /// A share of the processors needs a machine that has some.
    fn no_machine(&mut self, record: &Decoded, key: &str) {
        let at = super::place(record, key);
        let hop = self.hops.keys().next().map_or("far", String::as_str);
        let help = format!("name the machine, as in `hop = \"{hop}/{SENDER}\"`");
        self.sink.push(|| {
            let message = format!("{key}: only machines of network loads have it");
            Mistake::new(at, message).class(Class::Absence).help(help)
        });
    }

    /// The sum over all workers, where there are none.
    fn no_workers(&mut self, record: &Decoded, key: &str) {
        let at = super::place(record, key);
        let hop = self.hops.keys().next().cloned().unwrap_or_default();
        self.sink.push(|| {
            let message =
                format!("{key}: without a hop it applies to disk workloads, and no plan runs one");
            Mistake::new(at, message)
                .class(Class::Absence)
                .help(format!("name the hop, as in `hop = \"{}\"`", clip(&hop)))
        });
    }

    /// Reports members that are hops of network loads.
    pub(super) fn check_members(&mut self, record: &Decoded, key: &str) -> bool {
        let hop = record.texts(key).into_iter().find(|text| self.is_net_hop(&text.value));
        let Some(hop) = hop else { return true };
        let name = clip(&hop.value);
        let balance = record.def.field("streams").is_some();
        self.sink.push(|| {
            let message =
                format!("{key}: `{name}` is a hop of a network load, not a VM or a target");
            Mistake::new(hop.at, message).help(match balance {
                true => format!("for the streams of the hop, write `streams = \"{name}\"`"),
                false => format!("write `hop = \"{name}\"`"),
            })
        });
        false
    }

    /// Why a member has no figures of workers.
    pub(super) fn idle(&self, member: &str) -> String {
        let prefix = format!("{member}.");
        match self.hops.keys().find(|hop| hop.starts_with(&prefix)) {
            Some(hop) => {
                format!("only network loads run on `{member}`; name a hop, as in `hop = \"{hop}\"`")
            }
            None => format!("no plan runs anything on `{member}`"),
        }
    }

    fn part(&self, hop: &str) -> Option<HopPart> {
        if self.is_net_hop(hop) {
            return Some(HopPart::Pair);
        }
        let (base, end) = hop.rsplit_once('/').filter(|(base, _)| self.is_net_hop(base))?;
        debug_assert!([SENDER, RECEIVER, PROBE].contains(&end), "{base} has been looked up");
        Some(if end == PROBE { HopPart::Probe } else { HopPart::Machine })
    }
}

/// The metric of a test, with the key that states it, where it is one.
pub(super) fn metric_of(test: &GoalTest) -> Option<Metric> {
    match test {
        GoalTest::Metric { metric, .. } | GoalTest::Ratio { metric, .. } => Some(*metric),
        GoalTest::Balance { .. } => None,
    }
}
