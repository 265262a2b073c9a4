//! Puts a map together: every device and every hop once, by name, within the bounds of a map.

use super::{DeviceKind, EDGES_MAX, HOPS_MAX, LabMap, MapDevice, MapEdge, MapHop, Role};
use std::collections::BTreeMap;

/// A map that grows.
#[derive(Default)]
pub(super) struct MapBuilder {
    map: LabMap,
    devices: BTreeMap<String, u32>,
    hops: BTreeMap<String, u32>,
    edges: BTreeMap<(u32, u32), u32>,
}

impl MapBuilder {
    /// The ways that follow are those of the scenario.
    pub fn wired(&mut self) {
        self.map.wired = true;
    }

    /// The device of that name, made where there is none yet. What it is stays as it was said first.
    pub fn device(&mut self, name: &str, kind: DeviceKind) -> u32 {
        if let Some(known) = self.devices.get(name) {
            return *known;
        }
        let place = self.map.devices.len() as u32;
        let (name, part, host) = (name.to_owned(), None, None);
        self.devices.insert(name.clone(), place);
        self.map.devices.push(MapDevice { name, kind, part, host });
        place
    }

    /// What a device is by its catalog.
    pub fn part(&mut self, device: u32, part: Option<&str>) {
        self.map.devices[device as usize].part = part.map(str::to_owned);
    }

    /// A guest runs on a host.
    pub fn runs_on(&mut self, guest: u32, host: u32) {
        if guest != host {
            self.map.devices[guest as usize].host = Some(host);
        }
    }

    /// The device of that name, if there is one.
    pub fn find_device(&self, name: &str) -> Option<u32> {
        self.devices.get(name).copied()
    }

    /// The hop of that name, if there is one.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.hops.get(name).copied()
    }

    /// The hop of that name, made where there is none yet; `None` where there is no room for it.
    pub fn hop(&mut self, name: &str, role: Role, device: Option<u32>) -> Option<u32> {
        if let Some(known) = self.find(name) {
            return Some(known);
        }
        // A device has at least one hop, so that devices are bounded as well.
        if self.map.hops.len() >= HOPS_MAX {
            self.map.left_out += 1;
            return None;
        }
        let place = self.map.hops.len() as u32;
        self.hops.insert(name.to_owned(), place);
        self.map.hops.push(MapHop {
            name: name.to_owned(),
            role,
            device,
            part: None,
            count: 1,
            rate: None,
            counted_as: None,
        });
        Some(place)
    }

    /// A hop that can be changed.
    pub fn at(&mut self, hop: u32) -> &mut MapHop {
        &mut self.map.hops[hop as usize]
    }

    /// A hop counts under another name.
    pub fn counts_as(&mut self, hop: u32, name: &str) {
        self.map.hops[hop as usize].counted_as = Some(name.to_owned());
        self.hops.entry(name.to_owned()).or_insert(hop);
    }

    /// One hop leads to another; each time is another way.
    pub fn edge(&mut self, from: u32, to: u32) {
        if from == to || (self.edges.len() >= EDGES_MAX && !self.edges.contains_key(&(from, to))) {
            return;
        }
        *self.edges.entry((from, to)).or_default() += 1;
    }

    /// What has been put together. Devices without a hop are left out.
    pub fn finish(self) -> LabMap {
        let mut map = self.map;
        map.edges =
            self.edges.into_iter().map(|((from, to), ways)| MapEdge { from, to, ways }).collect();
        let mut used = vec![false; map.devices.len()];
        map.hops.iter().filter_map(|hop| hop.device).for_each(|d| used[d as usize] = true);
        // A host stays for its guests' sake.
        for place in 0..map.devices.len() {
            if let (true, Some(host)) = (used[place], map.devices[place].host) {
                used[host as usize] = true;
            }
        }
        let mut next = 0;
        let places: Vec<Option<u32>> = used
            .iter()
            .map(|used| {
                next += u32::from(*used);
                used.then(|| next - 1)
            })
            .collect();
        let moved = |place: &mut Option<u32>| *place = place.and_then(|p| places[p as usize]);
        map.hops.iter_mut().for_each(|hop| moved(&mut hop.device));
        map.devices.iter_mut().for_each(|device| moved(&mut device.host));
        let mut keep = used.iter();
        map.devices.retain(|_| keep.next().copied().unwrap_or_default());
        map
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_stands_once_and_what_has_no_hop_is_left_out() {
        let mut builder = MapBuilder::default();
        let bare = builder.device("bare", DeviceKind::Switch);
        let host = builder.device("esx", DeviceKind::Host);
        let vm = builder.device("vm", DeviceKind::Guest);
        builder.runs_on(vm, host);
        let a = builder.hop("vm", Role::Guest, Some(vm)).unwrap();
        let b = builder.hop("link", Role::Link, None).unwrap();
        assert_eq!(builder.hop("vm", Role::Other, Some(bare)), Some(a), "known");
        [(a, b), (a, b), (b, b)].into_iter().for_each(|(from, to)| builder.edge(from, to));
        let map = builder.finish();
        let names: Vec<_> = map.devices.iter().map(|d| (d.name.as_str(), d.host)).collect();
        assert_eq!(names, [("esx", None), ("vm", Some(0))]);
        assert_eq!(map.hops[0].device, Some(1));
        assert_eq!(map.edges, [MapEdge { from: a, to: b, ways: 2 }]);
    }

    #[test]
    fn there_is_an_end_to_hops() {
        let mut builder = MapBuilder::default();
        for n in 0..HOPS_MAX + 7 {
            builder.hop(&n.to_string(), Role::Other, None);
        }
        let map = builder.finish();
        assert_eq!((map.hops.len(), map.left_out), (HOPS_MAX, 7));
    }
}
