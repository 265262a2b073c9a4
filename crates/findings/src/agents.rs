//! The agents of a step that ran on several machines: what each carried, when it was done, how much of its time the generator
//! took, and how well its clock is known; which of them lag behind, and how even sites and hosts are.

use crate::balance::{Balance, balance};
use crate::figures::Figures;
use crate::pool::Pool;
use crate::step::StepData;
use record::{Counter, CounterId, Fact, Source};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// An agent lags behind from this share of the median pace downwards.
const LAGS: f64 = 0.8;

/// The agents of a step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepAgents {
    /// Each, by name.
    pub agents: Vec<AgentFigures>,
    /// Those that lag behind: their workers reach less than 80% of the median pace.
    pub stragglers: Vec<String>,
    /// The mean rate of a VM or target, by the agents' label `site`.
    pub sites: Option<Balance>,
    /// The same by the machine that agents run on.
    pub hosts: Option<Balance>,
}

/// One agent.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentFigures {
    /// Its name.
    pub agent: String,
    /// Its label `site`.
    pub site: Option<String>,
    /// The machine that it runs on.
    pub host: Option<String>,
    /// The VMs or targets that it carried.
    pub groups: u32,
    /// Operations a second of its workers together.
    pub iops: f64,
    /// Bytes a second of its workers together.
    pub bytes_per_s: f64,
    /// The rate of a worker as a share of the median agent's that ran the same workloads; `None` where it is alone with them.
    pub pace: Option<f64>,
    /// When the last of its workers was done, in nanoseconds since the load began.
    pub done_ns: Option<u64>,
    /// The generator's own share of the workers' time, 0 to 1.
    pub generator: Option<f64>,
    /// Operations that it issued late.
    pub late: u64,
    /// What of the measured time its workers reported, 0 to 1.
    pub reported: f64,
    /// Its clock, where that was measured.
    pub clock: Option<AgentClock>,
}

/// What is known of an agent's clock.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AgentClock {
    /// By how many nanoseconds it is ahead of the coordinator's.
    pub ahead_ns: f64,
    /// How far that may be wrong.
    pub within_ns: f64,
    /// By how many millionths it runs faster; `None` where it was not watched for long enough.
    pub drift_ppm: Option<f64>,
    /// How far that may be wrong.
    pub drift_within_ppm: Option<f64>,
}

/// The agents of a step; `None` where it ran on one machine.
pub(crate) fn agents(step: &StepData, facts: &[Fact], sources: &[Source]) -> Option<StepAgents> {
    // An agent that joined a fleet is known with its release before it says anything itself.
    let joined = |agent: &str| facts.iter().any(|f| f.subject == agent && f.key == "release");
    let names: BTreeSet<&str> = step.workers.iter().map(|w| w.source.agent.as_str()).collect();
    if names.is_empty() || !names.iter().all(|name| joined(name)) {
        return None;
    }
    let mut agents: Vec<AgentFigures> =
        names.iter().filter_map(|name| figures(step, (facts, sources), name)).collect();
    let paces = paces(step, &agents);
    for agent in &mut agents {
        agent.pace = paces.get(&agent.agent).copied();
    }
    let lags = |agent: &&AgentFigures| agent.pace.is_some_and(|pace| pace < LAGS);
    Some(StepAgents {
        stragglers: agents.iter().filter(lags).map(|agent| agent.agent.clone()).collect(),
        sites: by(&agents, |agent| agent.site.as_deref()),
        hosts: by(&agents, |agent| agent.host.as_deref()),
        agents,
    })
}

fn figures(
    step: &StepData,
    (facts, sources): (&[Fact], &[Source]),
    agent: &str,
) -> Option<AgentFigures> {
    let mine = || step.workers.iter().filter(|w| w.source.agent == agent);
    let pool = Pool::of(step, |w| w.source.agent == agent)?;
    let both = Figures::of(&pool).both;
    let fact = |key: &str| {
        let of = facts.iter().find(|f| f.subject == agent && f.key == key)?;
        (!of.value.is_empty()).then(|| of.value.clone())
    };
    let groups: BTreeSet<&str> = mine().map(|w| w.source.group.as_str()).collect();
    let done = mine().filter_map(|w| w.done).max();
    let time = mine().map(|w| w.covered.as_secs_f64()).sum::<f64>();
    let count = mine().count() as f64;
    Some(AgentFigures {
        agent: agent.to_owned(),
        site: fact("site"),
        host: fact("host"),
        groups: groups.len() as u32,
        iops: both.iops,
        bytes_per_s: both.bytes_per_s,
        pace: None,
        done_ns: done.map(|at| at.since(step.head.times.start).0),
        generator: pool.testimony.filter(|_| time > 0.0).map(|t| t.own.as_secs_f64() / time),
        late: pool.testimony.map_or(0, |t| t.late),
        reported: mine().map(|w| step.completeness(w)).sum::<f64>() / count,
        clock: clock(step, sources, agent),
    })
}

/// Each agent's rate a worker against the median of those that ran the same workloads with as many workers a kind.
fn paces(step: &StepData, agents: &[AgentFigures]) -> BTreeMap<String, f64> {
    let mut alike: BTreeMap<BTreeSet<&str>, Vec<(&str, f64)>> = BTreeMap::new();
    for agent in agents {
        let mine = || step.workers.iter().filter(|w| w.source.agent == agent.agent);
        let workloads = mine().map(|w| w.load.workload.as_str()).collect();
        let rate = agent.iops / mine().count().max(1) as f64;
        alike.entry(workloads).or_default().push((&agent.agent, rate));
    }
    let mut paces = BTreeMap::new();
    for (_, mut of) in alike.into_iter().filter(|(_, of)| of.len() > 1) {
        of.sort_by(|a, b| a.1.total_cmp(&b.1));
        let median = (of[(of.len() - 1) / 2].1 + of[of.len() / 2].1) / 2.0;
        if median > 0.0 {
            paces.extend(of.into_iter().map(|(agent, rate)| (agent.to_owned(), rate / median)));
        }
    }
    paces
}

/// The mean rate of a VM or target, over agents that share something.
fn by(agents: &[AgentFigures], key: impl Fn(&AgentFigures) -> Option<&str>) -> Option<Balance> {
    let mut sums: BTreeMap<&str, (f64, u32)> = BTreeMap::new();
    for agent in agents {
        let sum = sums.entry(key(agent)?).or_default();
        *sum = (sum.0 + agent.bytes_per_s, sum.1 + agent.groups);
    }
    let rates: Vec<(String, f64)> = sums
        .into_iter()
        .map(|(name, (bytes, groups))| (name.to_owned(), bytes / f64::from(groups.max(1))))
        .collect();
    balance(Vec::new(), &rates)
}

fn clock(step: &StepData, sources: &[Source], agent: &str) -> Option<AgentClock> {
    let mine = |counter: &Counter| {
        sources.iter().any(|source| source.id == counter.source && source.agent == agent)
    };
    let of = |id: CounterId| {
        let counters = step.counters.iter().map(|(_, counter)| counter);
        let mut known = counters.filter(|counter| counter.kind.id() == Some(id));
        known.find(|counter| mine(counter)).map(|counter| counter.value)
    };
    Some(AgentClock {
        ahead_ns: of(CounterId::ClockOffset)?,
        within_ns: of(CounterId::ClockBound)?,
        drift_ppm: of(CounterId::ClockDrift),
        drift_within_ppm: of(CounterId::ClockDriftBound),
    })
}
