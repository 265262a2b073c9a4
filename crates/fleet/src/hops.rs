//! The hops of a run: agents name them, the coordinator numbers them.
//!
//! A hop that an agent names in several steps is one source. Names of sources are unique in a record, and those of two
//! machines are not, so a hop whose name is taken gets its agent's name as well; its group is its plain name.

use crate::message::{MachinePlace, SameHop};
use record::{CounterId, HopKind, Source, SourceId, SourceKind};
use std::collections::{BTreeMap, BTreeSet};

/// What an agent has named for a step.
pub(crate) struct NamedHops {
    pub agent: usize,
    pub hops: Vec<(String, HopKind)>,
    /// Those that other agents count as well.
    pub same: Vec<SameHop>,
    /// Which of them are what places of its machine.
    pub places: Vec<MachinePlace>,
}

impl NamedHops {
    /// The place of a machine that a hop is.
    fn place(&self, hop: &str) -> Option<Place> {
        let found = self.places.iter().find(|of| of.hop == hop)?;
        Some((found.machine.clone(), found.place.clone()))
    }
}

/// A machine, and a place there.
type Place = (String, String);

/// A hop that an agent counts at its machine, and another by what it asks of others, or at the same machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SharedHop {
    pub source: SourceId,
    /// Who asks others.
    pub witness: usize,
    /// Whose machine it is of.
    pub agent: usize,
    /// What that agent counts there itself; `None` where both count alike, at one machine.
    pub own: Option<Vec<CounterId>>,
}

/// Hops by agent and name.
pub(crate) struct AgentHops {
    taken: BTreeSet<String>,
    next: u32,
    known: BTreeMap<(usize, String), SourceId>,
    places: BTreeMap<Place, SourceId>,
    /// Those of the step under way, by agent, in the order in which they were named.
    of_step: BTreeMap<usize, Vec<SourceId>>,
}

impl AgentHops {
    /// No hops yet, beside these workers.
    pub fn after(workers: &[Source]) -> AgentHops {
        let next = workers.iter().map(|w| w.id.0).max().map_or(0, |last| last.saturating_add(1));
        let taken = workers.iter().map(|w| w.name.clone()).collect();
        let (known, places, of_step) = Default::default();
        AgentHops { taken, next, known, places, of_step }
    }

    /// Another step is next.
    pub fn begin_step(&mut self) {
        self.of_step.clear();
    }

    /// Takes in what an agent named for the step; returns the sources that are new. What another agent of its machine has named
    /// is the other's source.
    pub fn ready(&mut self, agent_name: &str, named: &NamedHops) -> Vec<Source> {
        let mut new = Vec::new();
        let mut numbers = Vec::with_capacity(named.hops.len());
        for (name, kind) in &named.hops {
            let (key, place) = ((named.agent, name.clone()), named.place(name));
            let known = self.known.get(&key).or_else(|| self.places.get(place.as_ref()?)).copied();
            let id = known.unwrap_or_else(|| {
                let source = self.source(agent_name, name, *kind);
                let id = source.id;
                new.push(source);
                id
            });
            self.known.insert(key, id);
            self.keep_place(place, id);
            numbers.push(id);
        }
        self.of_step.insert(named.agent, numbers);
        new
    }

    fn keep_place(&mut self, place: Option<Place>, id: SourceId) {
        if let Some(place) = place {
            self.places.entry(place).or_insert(id);
        }
    }

    /// The hops that several agents of one machine count in this step, once all have their numbers: the agent that another counts
    /// with by what it asks, or the first of them, counts there, and what the rest say is compared.
    pub fn of_one_machine(&self, all: &[NamedHops], shared: &[SharedHop]) -> Vec<SharedHop> {
        let mut agents: BTreeMap<SourceId, Vec<usize>> = BTreeMap::new();
        for named in all {
            for ((name, _), id) in named.hops.iter().zip(self.of_step(named.agent)) {
                let here = agents.entry(id).or_default();
                if named.place(name).is_some() && !here.contains(&named.agent) {
                    here.push(named.agent);
                }
            }
        }
        let of = |(source, agents): (SourceId, Vec<usize>)| -> Vec<SharedHop> {
            let asked = shared.iter().find(|of| of.source == source).map(|of| of.agent);
            let Some(agent) = asked.or(agents.first().copied()) else { return Vec::new() };
            let rest = agents.into_iter().filter(|other| *other != agent);
            rest.map(|witness| SharedHop { source, witness, agent, own: None }).collect()
        };
        agents.into_iter().flat_map(of).collect()
    }

    /// Takes in that hops of one agent are those of another, where the other counts them in this step; before either has its
    /// numbers. Returns the sources that are new, and each of these hops with what its own agent counts there.
    pub fn same(
        &mut self,
        (witness, agents): (usize, &[String]),
        all: &[SameHop],
        named: &[NamedHops],
    ) -> (Vec<Source>, Vec<SharedHop>) {
        let (mut new, mut shared) = (Vec::new(), Vec::new());
        // Of two agents on one machine the first counts for it.
        let mut taken: BTreeSet<&str> = BTreeSet::new();
        for same in all {
            let Some(agent) = agents.iter().position(|name| *name == same.agent) else { continue };
            let Some(theirs) = named.iter().find(|of| of.agent == agent) else { continue };
            let mut of_step = theirs.hops.iter();
            // An agent that stands for the host calls its hops as the lab does.
            let is_it = |(name, _): &&(String, HopKind)| [&same.at, &same.hop].contains(&name);
            let Some((at, kind)) = of_step.find(is_it) else { continue };
            if !taken.insert(&same.hop) {
                continue;
            }
            let keys = [(agent, at.clone()), (witness, same.hop.clone())];
            let place = theirs.place(at);
            let known = keys.iter().find_map(|key| self.known.get(key));
            let id = known.or_else(|| self.places.get(place.as_ref()?)).copied();
            let id = id.unwrap_or_else(|| {
                let source = self.source(&same.agent, &same.hop, *kind);
                let id = source.id;
                new.push(source);
                id
            });
            // One that has had numbers of its own in an earlier step keeps them.
            let one = keys.into_iter().all(|key| *self.known.entry(key).or_insert(id) == id);
            self.keep_place(place, id);
            if one {
                let own = Some(same.own.clone());
                shared.push(SharedHop { source: id, witness, agent, own });
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

    fn named(agent: usize, hops: Vec<(String, HopKind)>) -> NamedHops {
        NamedHops { agent, hops, same: Vec::new(), places: Vec::new() }
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
            [named(0, cpu("host.cpu")), named(1, cpu("host.cpu")), named(2, cpu("esx.cpu"))];
        let all =
            [same("b", "vda"), same("c", "host.cpu"), same("b", "host.cpu"), same("a", "host.cpu")];
        let (new, shared) = hops.same((2, &agents), &all, &named);
        let of = |s: &Source| (s.id.0, s.name.clone(), s.agent.clone());
        let own = (0, "esx.cpu".to_owned(), "b".to_owned());
        assert_eq!(new.iter().map(of).collect::<Vec<_>>(), [own]);
        let own = Some(vec![CounterId::CpuBusy]);
        assert_eq!(shared, [SharedHop { source: SourceId(0), witness: 2, agent: 1, own }]);
        let mut ids = |of: &NamedHops| {
            hops.ready(&agents[of.agent], of);
            hops.of_step(of.agent)[0].0
        };
        assert_eq!(named.each_ref().map(&mut ids), [1, 0, 0]);
    }

    /// An agent that counts the processors and a disk of a machine, under these names.
    fn counting(agent: usize, machine: &str, names: [&str; 2]) -> NamedHops {
        let kinds = [HopKind::HostCpu, HopKind::BlockDevice];
        let hops = names.map(str::to_owned).into_iter().zip(kinds).collect();
        let place = |(hop, place): (&str, &str)| MachinePlace {
            hop: hop.to_owned(),
            machine: machine.to_owned(),
            place: place.to_owned(),
        };
        let places = names.into_iter().zip(["cpu", "disk sda"]).map(place).collect();
        NamedHops { agent, hops, same: Vec::new(), places }
    }

    #[test]
    fn a_place_that_several_agents_of_one_machine_count_is_one_source() {
        let agents = ["a", "b", "c", "coordinator"].map(str::to_owned);
        let plain = ["host.cpu", "sda"];
        let named = [
            counting(0, "m", plain),
            counting(1, "n", plain),
            counting(2, "m", ["esx.cpu", "sda"]),
        ];
        let mut hops = AgentHops::after(&[]);
        let numbered = |hops: &mut AgentHops, of: &NamedHops| {
            let new = hops.ready(&agents[of.agent], of);
            let names: Vec<String> = new.into_iter().map(|source| source.name).collect();
            (names, hops.of_step(of.agent).iter().map(|id| id.0).collect::<Vec<_>>())
        };
        let word = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(numbered(&mut hops, &named[0]), (word(&plain), vec![0, 1]));
        let other = word(&["b/host.cpu", "b/sda"]);
        assert_eq!(numbered(&mut hops, &named[1]), (other, vec![2, 3]), "another machine");
        assert_eq!(numbered(&mut hops, &named[2]), (vec![], vec![0, 1]));
        let of = |source, witness, agent| SharedHop {
            source: SourceId(source),
            witness,
            agent,
            own: None,
        };
        assert_eq!(hops.of_one_machine(&named, &[]), [of(0, 2, 0), of(1, 2, 0)]);
        let asked = SharedHop { own: Some(Vec::new()), ..of(0, 3, 2) };
        assert_eq!(hops.of_one_machine(&named, &[asked]), [of(0, 0, 2), of(1, 2, 0)]);
        // In a later step one of them counts alone, and then one whose name was not heard before.
        hops.begin_step();
        assert_eq!(numbered(&mut hops, &named[2]), (vec![], vec![0, 1]));
        assert_eq!(hops.of_one_machine(&named, &[]), []);
        assert_eq!(numbered(&mut hops, &counting(3, "m", plain)), (vec![], vec![0, 1]));
        // What a source of the coordinator's is named for, one of them has counted before.
        let same = SameHop {
            hop: "lab.cpu".to_owned(),
            agent: "a".to_owned(),
            at: "host.cpu".to_owned(),
            own: Vec::new(),
        };
        let mut hops = AgentHops::after(&[]);
        numbered(&mut hops, &named[2]);
        let (new, shared) = hops.same((3, &agents), &[same], &named);
        assert_eq!((new, shared[0].source), (vec![], SourceId(0)));
    }

    #[test]
    fn a_hop_is_one_source_however_often_it_is_named() {
        let mut hops = AgentHops::after(&[worker(0, "w"), worker(4, "vdb")]);
        let mut ready = |agent: usize, names: &[&str]| -> Vec<(u32, String)> {
            let names = names.iter().map(|n| ((*n).to_owned(), HopKind::BlockDevice)).collect();
            let new = hops.ready(["a", "b"][agent], &named(agent, names));
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
