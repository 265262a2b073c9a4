//! The hops of a run: agents name them, the coordinator numbers them.
//!
//! A hop that an agent names in several steps is one source. Names of sources are unique in a record, and those of two
//! machines are not, so a hop whose name is taken gets its agent's name as well; its group is its plain name.

use crate::message::SameHop;
use record::{CounterId, HopKind, Source, SourceId, SourceKind};
use std::collections::{BTreeMap, BTreeSet};

/// A hop that an agent counts at its machine, and another by what it asks of others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedHop {
    pub source: SourceId,
    /// Who asks others.
    pub witness: usize,
    /// Whose machine it is of.
    pub agent: usize,
    /// What that agent counts there itself.
    pub own: Vec<CounterId>,
}

/// Hops by agent and name.
pub(crate) struct AgentHops {
    taken: BTreeSet<String>,
    next: u32,
    known: BTreeMap<(usize, String), SourceId>,
    /// Those of the step under way, by agent, in the order in which they were named.
    of_step: BTreeMap<usize, Vec<SourceId>>,
}

impl AgentHops {
    /// No hops yet, beside these workers.
    pub fn after(workers: &[Source]) -> AgentHops {
        let next = workers.iter().map(|w| w.id.0).max().map_or(0, |last| last.saturating_add(1));
        let taken = workers.iter().map(|w| w.name.clone()).collect();
        AgentHops { taken, next, known: BTreeMap::new(), of_step: BTreeMap::new() }
    }

    /// Another step is next.
    pub fn begin_step(&mut self) {
        self.of_step.clear();
    }

    /// Takes in what an agent named for the step; returns the sources that are new.
    pub fn ready(
        &mut self,
        agent: usize,
        agent_name: &str,
        named: Vec<(String, HopKind)>,
    ) -> Vec<Source> {
        let mut new = Vec::new();
        let mut numbers = Vec::with_capacity(named.len());
        for (name, kind) in named {
            let key = (agent, name);
            let id = self.known.get(&key).copied().unwrap_or_else(|| {
                let source = self.source(agent_name, &key.1, kind);
                let id = source.id;
                new.push(source);
                self.known.insert(key, id);
                id
            });
            numbers.push(id);
        }
        self.of_step.insert(agent, numbers);
        new
    }

    /// Takes in that hops of one agent are those of another, where the other counts them in this step; before either has its
    /// numbers. Returns the sources that are new, and each of these hops with what its own agent counts there.
    pub fn same(
        &mut self,
        (witness, agents): (usize, &[String]),
        all: &[SameHop],
        named: &BTreeMap<usize, Vec<(String, HopKind)>>,
    ) -> (Vec<Source>, Vec<SharedHop>) {
        let (mut new, mut shared) = (Vec::new(), Vec::new());
        // Of two agents on one machine the first counts for it.
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        for same in all {
            let Some(agent) = agents.iter().position(|name| *name == same.agent) else { continue };
            let of_step = named.get(&agent).into_iter().flatten();
            // An agent that stands for the host calls its hops as the lab does.
            let is_it = |(name, _): &&(String, HopKind)| [&same.at, &same.hop].contains(&name);
            let Some((at, kind)) = of_step.into_iter().find(is_it) else { continue };
            if !taken.insert(&same.hop) {
                continue;
            }
            let keys = [(agent, at.clone()), (witness, same.hop.clone())];
            let id = keys.iter().find_map(|key| self.known.get(key).copied());
            let id = id.unwrap_or_else(|| {
                let source = self.source(&same.agent, &same.hop, *kind);
                let id = source.id;
                new.push(source);
                id
            });
            // One that has had numbers of its own in an earlier step keeps them.
            let one = keys.into_iter().all(|key| *self.known.entry(key).or_insert(id) == id);
            if one {
                shared.push(SharedHop { source: id, witness, agent, own: same.own.clone() });
            }
        }
        (new, shared)
    }

    /// The numbers of an agent's hops in the step under way.
    pub fn of_step(&self, agent: usize) -> Vec<SourceId> {
        self.of_step.get(&agent).cloned().unwrap_or_default()
    }

    fn source(&mut self, agent: &str, plain: &str, kind: HopKind) -> Source {
        let mut name = plain.to_owned();
        while !self.taken.insert(name.clone()) {
            name = format!("{agent}/{name}");
        }
        let id = SourceId(self.next);
        self.next = self.next.saturating_add(1);
        Source {
            id,
            kind: SourceKind::Hop(kind),
            name,
            group: plain.to_owned(),
            agent: agent.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn worker(id: u32, name: &str) -> Source {
        let (name, group, agent) = (name.to_owned(), String::new(), String::new());
        Source { id: SourceId(id), kind: SourceKind::Worker, name, group, agent }
    }

    #[test]
    fn a_hop_that_another_agent_counts_as_well_is_one_source() {
        let mut hops = AgentHops::after(&[]);
        let agents = ["a", "b", "coordinator"].map(str::to_owned);
        let cpu = |name: &str| vec![(name.to_owned(), HopKind::HostCpu)];
        let same = |agent: &str, at: &str| SameHop {
            hop: "esx.cpu".to_owned(),
            agent: agent.to_owned(),
            at: at.to_owned(),
            own: vec![CounterId::CpuBusy],
        };
        let named =
            BTreeMap::from([(0, cpu("host.cpu")), (1, cpu("host.cpu")), (2, cpu("esx.cpu"))]);
        let all =
            [same("b", "vda"), same("c", "host.cpu"), same("b", "host.cpu"), same("a", "host.cpu")];
        let (new, shared) = hops.same((2, &agents), &all, &named);
        let of = |s: &Source| (s.id.0, s.name.clone(), s.agent.clone());
        let own = (0, "esx.cpu".to_owned(), "b".to_owned());
        assert_eq!(new.iter().map(of).collect::<Vec<_>>(), [own]);
        let own = vec![CounterId::CpuBusy];
        assert_eq!(shared, [SharedHop { source: SourceId(0), witness: 2, agent: 1, own }]);
        let mut ids = |agent: usize, name: &str| {
            hops.ready(agent, &agents[agent], cpu(name));
            hops.of_step(agent)[0].0
        };
        assert_eq!([ids(0, "host.cpu"), ids(1, "host.cpu"), ids(2, "esx.cpu")], [1, 0, 0]);
    }

    #[test]
    fn a_hop_is_one_source_however_often_it_is_named() {
        let mut hops = AgentHops::after(&[worker(0, "w"), worker(4, "vdb")]);
        let mut ready = |agent: usize, names: &[&str]| -> Vec<(u32, String)> {
            let names = names.iter().map(|n| ((*n).to_owned(), HopKind::BlockDevice)).collect();
            let new = hops.ready(agent, ["a", "b"][agent], names);
            new.into_iter().map(|s| (s.id.0, s.name)).collect()
        };
        let source = |id, name: &str| (id, name.to_owned());
        assert_eq!(ready(0, &["vda1", "vda"]), [source(5, "vda1"), source(6, "vda")]);
        assert_eq!(ready(1, &["vda", "vdb"]), [source(7, "b/vda"), source(8, "b/vdb")]);
        assert_eq!(ready(0, &["vda", "vda"]), []);
        assert_eq!(hops.of_step(0), [SourceId(6), SourceId(6)]);
        hops.begin_step();
        assert_eq!(hops.of_step(0), []);
    }
}
