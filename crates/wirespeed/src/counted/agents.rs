//! Agents of other machines beside the sources that a coordinator asks: what they count themselves, and which of it the sources count too.

use super::joined::{JoinedHop, OneSource, of_disk};
use super::mapping::MappedHop;
use crate::fleets::facts::MACHINE;
use crate::hops::{self, PROCESSORS};
use fleet::message::SameHop;
use record::{CounterId, Fact, HopKind};
use telemetry::Machine;

/// What the agents of a run count by themselves, from what they say of their machines.
pub fn counting_agents<'a>(
    names: impl Iterator<Item = &'a String>,
    facts: &[Fact],
) -> Vec<OneSource> {
    names.map(|name| counting(name, facts)).collect()
}

fn counting(name: &str, facts: &[Fact]) -> OneSource {
    let mut machine = Machine::default();
    let own = facts.iter().filter(|fact| fact.subject == name);
    for fact in own {
        match fact.key.as_str() {
            MACHINE => fact.value.split(' ').for_each(|id| machine.known_as(id)),
            "machine-id" => machine.identify("machine-id", &fact.value),
            _ => {}
        }
    }
    let hop = |(place, (name, kind)): (usize, &(String, HopKind))| {
        let (name, kind, by) = (name.clone(), *kind, String::new());
        MappedHop { name, kind, place, at_source: place, by, flipped: false }
    };
    let mut counted = vec![(PROCESSORS.to_owned(), HopKind::HostCpu)];
    let mut known_as = vec![[].into()];
    for fact in facts.iter().filter(|fact| fact.key == "size") {
        let device = fact.subject.strip_prefix(name).and_then(|rest| rest.strip_prefix('/'));
        let Some(device) = device else { continue };
        let id = |fact: &&Fact| fact.key == "identity";
        let ids = facts.iter().filter(|of| of.subject == fact.subject).filter(id);
        known_as.push(of_disk(device, ids.map(|of| of.value.clone())));
        counted.push((device.to_owned(), HopKind::BlockDevice));
    }
    OneSource {
        // No device of the lab is called so.
        device: format!("agent {name}"),
        from: name.to_owned(),
        rank: 0,
        own: true,
        machine,
        hops: counted.iter().enumerate().map(hop).collect(),
        known_as,
    }
}

/// What the record says of a hop that an agent counts as well.
pub fn facts(same: &[SameHop], hop: &str, from: &str) -> Vec<(String, String)> {
    let Some(same) = same.iter().find(|same| same.hop == hop) else { return Vec::new() };
    let own: Vec<&str> = same.own.iter().map(|id| id.name()).collect();
    let by = format!("{} of agent {}, one machine", same.at, same.agent);
    let shares = format!("agent {}: {}; else {from}", same.agent, own.join(", "));
    let mut out = vec![("counters-from".to_owned(), shares), ("joined".to_owned(), by)];
    if same.at != PROCESSORS {
        out.push(("block-device".to_owned(), same.at.clone()));
    }
    out
}

/// Which hops of the first sources are those of agents, which follow them.
pub fn same(all: &[OneSource], hops: &[JoinedHop], first: usize) -> Vec<SameHop> {
    let of_agents = hops.iter().filter(|hop| hop.source >= first && hop.by.is_some());
    let of = |hop: &JoinedHop| {
        let (agent, mapped) = (&all[hop.source], &all[hop.source].hops[hop.hop]);
        let here = |of: &&JoinedHop| of.source < first && of.name == hop.name;
        hops.iter().find(here)?;
        let own = match mapped.kind {
            HopKind::HostCpu => vec![CounterId::CpuBusy, CounterId::CpuCount],
            _ => hops::nothing().into_iter().map(|reading| reading.counter).collect(),
        };
        let (hop, agent, at) = (hop.name.clone(), agent.from.clone(), mapped.name.clone());
        Some(SameHop { hop, agent, at, own })
    };
    of_agents.filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use super::super::joined::joined;
    use super::*;

    const UUID: &str = "uuid.4c4c4544004235108051b4c04f564433";

    fn fact(subject: &str, key: &str, value: &str) -> Fact {
        Fact { subject: subject.to_owned(), key: key.to_owned(), value: value.to_owned() }
    }

    /// An exporter of a machine, of which the lab names the disk.
    fn exporter(uuid: &str) -> OneSource {
        let mut machine = Machine::default();
        machine.known_as(uuid);
        let hop = |(place, (name, kind)): (usize, (&str, HopKind))| MappedHop {
            name: name.to_owned(),
            kind,
            place,
            at_source: place,
            by: String::new(),
            flipped: false,
        };
        let hops = [("esx.cpu", HopKind::HostCpu), ("esx.disk", HopKind::BlockDevice)];
        OneSource {
            device: "esx".to_owned(),
            from: "prometheus://10.0.0.2:9100".to_owned(),
            rank: 1,
            own: false,
            machine,
            hops: hops.into_iter().enumerate().map(hop).collect(),
            known_as: vec![[].into(), of_disk("sdb", ["dev.8:16".to_owned()])],
        }
    }

    #[test]
    fn what_an_exporter_counts_of_an_agents_machine_is_the_agents() {
        let facts = [
            fact("a1", MACHINE, "uuid.00000000004235108051b4c04f564433 mac.525400000009"),
            fact("a2", MACHINE, &format!("{UUID} mac.525400000001")),
            fact("a2/sdb", "size", "1000 bytes"),
            fact("a2/sdb", "identity", "naa.600140512345678900000000000000aa"),
            fact("a2/sdc", "size", "1000 bytes"),
        ];
        let names = ["a1".to_owned(), "a2".to_owned()];
        let told = |uuid: &str| {
            let mut all = vec![exporter(uuid)];
            all.extend(counting_agents(names.iter(), &facts));
            let (hops, said) = joined(&all);
            assert_eq!(said, []);
            same(&all, &hops, 1)
        };
        let of = |same: &SameHop| (same.hop.clone(), same.agent.clone(), same.at.clone());
        let word = str::to_owned;
        let both: Vec<_> = told(UUID).iter().map(of).collect();
        assert_eq!(
            both,
            [
                (word("esx.cpu"), word("a2"), word("host.cpu")),
                (word("esx.disk"), word("a2"), word("sdb"))
            ]
        );
        assert_eq!(told(UUID)[0].own, [CounterId::CpuBusy, CounterId::CpuCount]);
        assert!(told(UUID)[1].own.contains(&CounterId::ReadBytes));
        let known = super::facts(&told(UUID), "esx.disk", "prometheus://a");
        assert!(known[0].1.ends_with("queue-depth-end; else prometheus://a"), "{known:?}");
        assert_eq!(known[2], (word("block-device"), word("sdb")));
        assert_eq!(super::facts(&told(UUID), "esx.hba:0", "prometheus://a"), []);
        assert_eq!(told("uuid.4c4c4544004235108051b4c04f564439"), []);
    }
}
