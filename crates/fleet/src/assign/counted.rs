//! Which agents of a fleet count which hosts.

use super::Assignment;
use engine::CountedHosts;
use record::ScenarioText;
use scenario::{CountedDevice, CountersFrom};
use std::collections::BTreeSet;

impl Assignment<'_> {
    /// Has agents of other machines count the hosts that they stand for: all loaded VMs of such a host are on one agent. One
    /// sentence for each source of counters that nobody asks.
    pub(crate) fn count(&mut self, text: &ScenarioText) -> Vec<String> {
        let lab = &self.lab.scenario.lab;
        let mut problems = Vec::new();
        for source in &lab.counters {
            let device = &source.device;
            // The coordinator asks those of other machines.
            if source.from != CountersFrom::Local {
                continue;
            }
            if source.kind != CountedDevice::Host {
                problems.push(format!(
                    "no agent stands for `{device}`, whose counters are `local`: its hops have none in this run"
                ));
                continue;
            }
            let vms = lab.vms.iter().filter(|vm| vm.host.as_ref() == Some(device));
            let agents: BTreeSet<usize> =
                vms.filter_map(|vm| self.places.get(&vm.name).copied()).collect();
            let first = agents.first().copied();
            match (first, agents.len()) {
                (Some(agent), 1) => {
                    let none = || CountedHosts { scenario: text.clone(), hosts: Vec::new() };
                    self.counted.entry(agent).or_insert_with(none).hosts.push(device.clone());
                }
                (Some(_), several) => problems.push(format!(
                    "the VMs of `{device}` are on {several} agents, none of which stands for it: its hops have no counters; \
                     give the `[[host]]` its `agents`"
                )),
                (None, _) => {}
            }
        }
        problems
    }
}
