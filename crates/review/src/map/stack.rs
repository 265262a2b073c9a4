//! What is alike becomes one: devices of the same make that carry the same are drawn as a stack with a count.

use super::natural;
use findings::HopLoad;
use findings::map::{DeviceKind, LabMap, MapHop, Role};
use std::collections::{BTreeMap, BTreeSet};

/// Loads of two hops are alike where they differ by no more than this share of the larger one.
const ALIKE: f64 = 0.10;
/// Guests of one host, and guests without a host, that stand apart.
const GUESTS_MAX: usize = 6;
/// Hosts, switches and arrays that stand apart, each kind by itself.
const DEVICES_MAX: usize = 4;

/// Devices that are drawn as one, by the names of their members in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stack {
    pub kind: DeviceKind,
    /// Places in the map's devices.
    pub members: Vec<usize>,
    /// The stack that these guests run on.
    pub host: Option<usize>,
}

/// Loads by step and hop.
pub(super) type Loads = [Vec<Option<HopLoad>>];

/// All devices of a map in stacks, hosts before guests.
pub(super) fn stacks(map: &LabMap, loads: &Loads) -> Vec<Stack> {
    let view = DeviceView::of(map, loads);
    let of_kind = |kind: DeviceKind| -> Vec<usize> {
        let all = map.devices.iter().enumerate().filter(|(_, d)| d.kind == kind);
        let mut all: Vec<usize> = all.map(|(place, _)| place).collect();
        all.sort_by(|a, b| natural::compare(&map.devices[*a].name, &map.devices[*b].name));
        all
    };
    let mut stacks = Vec::new();
    for kind in [
        DeviceKind::Host,
        DeviceKind::Switch,
        DeviceKind::Array,
        DeviceKind::Target,
        DeviceKind::Receiver,
        DeviceKind::Other,
    ] {
        let joined = view.few(of_kind(kind), DEVICES_MAX);
        stacks.extend(joined.into_iter().map(|members| Stack { kind, members, host: None }));
    }
    let host = |device: usize| {
        let host = map.devices[device].host? as usize;
        stacks.iter().position(|stack| stack.members.contains(&host))
    };
    let mut guests: BTreeMap<Option<usize>, Vec<usize>> = BTreeMap::new();
    for guest in of_kind(DeviceKind::Guest) {
        guests.entry(host(guest)).or_default().push(guest);
    }
    for (host, guests) in guests {
        let joined = view.guests(guests);
        let stack = |members| Stack { kind: DeviceKind::Guest, members, host };
        stacks.extend(joined.into_iter().map(stack));
    }
    stacks
}

/// A hop's name without that of its device.
pub(super) fn short<'a>(hop: &'a MapHop, device: &str) -> &'a str {
    let rest = hop.name.strip_prefix(device);
    match rest.map(|rest| rest.trim_start_matches(['.', ':', '/'])) {
        Some("") | None => &hop.name,
        Some(rest) => rest,
    }
}

/// What devices are like.
struct DeviceView<'a> {
    map: &'a LabMap,
    loads: &'a Loads,
    /// The hops of each device by what they are and how they are called.
    hops: Vec<BTreeMap<(Role, &'a str), usize>>,
    /// The devices that each leads to or comes from, links left out.
    beside: Vec<BTreeSet<usize>>,
}

impl<'a> DeviceView<'a> {
    fn of(map: &'a LabMap, loads: &'a Loads) -> DeviceView<'a> {
        let mut hops = vec![BTreeMap::new(); map.devices.len()];
        for (place, hop) in map.hops.iter().enumerate() {
            if let Some(device) = hop.device {
                let device = device as usize;
                // What a guest issues is called after it; so is a plain target's only hop.
                let name = match hop.name == map.devices[device].name {
                    true => "",
                    false => short(hop, &map.devices[device].name),
                };
                hops[device].entry((hop.role, name)).or_insert(place);
            }
        }
        let mut beside = vec![BTreeSet::new(); map.devices.len()];
        for edge in &map.edges {
            let device = |hop: u32| map.hops[hop as usize].device.map(|d| d as usize);
            if let (Some(from), Some(to)) = (device(edge.from), device(edge.to)) {
                beside[from].insert(to);
                beside[to].insert(from);
            }
        }
        DeviceView { map, loads, hops, beside }
    }

    /// Guests: those that do the same are one; where too many are left, those of the same make; at last the others.
    fn guests(&self, guests: Vec<usize>) -> Vec<Vec<usize>> {
        let alike = join(guests.clone(), |a, b| self.same_make(a, b) && self.same_load(a, b));
        if alike.len() <= GUESTS_MAX { alike } else { self.few(guests, GUESTS_MAX) }
    }

    /// Each by itself where there is room; otherwise those of the same make together; at last the others.
    fn few(&self, devices: Vec<usize>, room: usize) -> Vec<Vec<usize>> {
        if devices.len() <= room {
            return devices.into_iter().map(|device| vec![device]).collect();
        }
        let mut joined = join(devices, |a, b| self.same_make(a, b));
        if joined.len() > room {
            let rest: Vec<usize> = joined.split_off(room - 1).into_iter().flatten().collect();
            joined.push(rest);
        }
        joined
    }

    fn same_make(&self, a: usize, b: usize) -> bool {
        let (left, right) = (&self.map.devices[a], &self.map.devices[b]);
        let like = |device: usize| self.beside[device].iter().filter(|d| **d != a && **d != b);
        left.part == right.part
            && self.hops[a].len() == self.hops[b].len()
            && self.hops[a].keys().eq(self.hops[b].keys())
            && like(a).eq(like(b))
    }

    fn same_load(&self, a: usize, b: usize) -> bool {
        let pairs = self.hops[a].values().zip(self.hops[b].values());
        pairs.into_iter().all(|(a, b)| {
            self.loads.iter().all(|step| match (&step[*a], &step[*b]) {
                (None, None) => true,
                (Some(a), Some(b)) => alike(a, b),
                _ => false,
            })
        })
    }
}

/// Whether two loads would be drawn alike.
fn alike(a: &HopLoad, b: &HopLoad) -> bool {
    let near = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (None, None) => true,
        (Some(a), Some(b)) => (a - b).abs() <= ALIKE * a.abs().max(b.abs()),
        _ => false,
    };
    near(a.read_bytes_per_s, b.read_bytes_per_s)
        && near(a.write_bytes_per_s, b.write_bytes_per_s)
        && near(a.utilization, b.utilization)
}

/// Puts each with the first that it is like.
fn join(all: Vec<usize>, like: impl Fn(usize, usize) -> bool) -> Vec<Vec<usize>> {
    let mut joined: Vec<Vec<usize>> = Vec::new();
    for one in all {
        match joined.iter_mut().find(|members| like(members[0], one)) {
            Some(members) => members.push(one),
            None => joined.push(vec![one]),
        }
    }
    joined
}
