//! The hops of a run: agents name them, the coordinator numbers them.
//!
//! A hop that an agent names in several steps is one source. Names of sources are unique in a record, and those of two
//! machines are not, so a hop whose name is taken gets its agent's name as well; its group is its plain name.

use record::{HopKind, Source, SourceId, SourceKind};
use std::collections::{BTreeMap, BTreeSet};

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
