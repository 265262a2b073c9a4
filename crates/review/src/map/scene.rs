//! What is drawn: boxes (devices or stacks of them), rows within them (hops or stacks of them), links, and what is joined.
//! Whatever the lab, there are few enough to be read.

use super::natural;
use super::stack::{Loads, Stack, short, stacks};
use crate::text::clean;
use findings::map::{DeviceKind, LabMap, Role};
use std::collections::{BTreeMap, BTreeSet};

/// Hops of one role in a box that stand apart.
const ROWS_MAX: usize = 6;
/// Links that stand apart.
const LINKS_MAX: usize = 10;

/// What is drawn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Scene {
    pub boxes: Vec<Box>,
    pub rows: Vec<MapRow>,
    /// Rows that are joined, from the guest to the device, each pair once; none within a box or from a guest to its host.
    pub edges: Vec<(usize, usize)>,
}

/// A device, or several that are alike.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Box {
    pub title: String,
    /// Its model, if it has one.
    pub part: Option<String>,
    pub kind: DeviceKind,
    /// How many devices it represents.
    pub count: usize,
    /// The box of the host that these guests run on.
    pub host: Option<usize>,
}

/// A hop, or several that are alike.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MapRow {
    pub label: String,
    pub role: Role,
    /// The box that it lies in; a link lies in none.
    pub in_box: Option<usize>,
    /// Places in the map's hops, in the order of their names.
    pub hops: Vec<usize>,
    /// The full name of the hop, or what the stack is, for the table.
    pub name: String,
}

impl Scene {
    /// Rows of the table: those of the picture, and the members of stacks.
    pub fn rows_and_members(&self) -> usize {
        let members = |row: &MapRow| if row.hops.len() > 1 { row.hops.len() } else { 0 };
        self.rows.iter().map(|row| 1 + members(row)).sum()
    }

    /// The box that contains a box, or itself.
    pub fn outer(&self, at: usize) -> usize {
        self.boxes[at].host.unwrap_or(at)
    }

    /// The outer box of a row; none for a link.
    pub fn outer_of(&self, row: usize) -> Option<usize> {
        self.rows[row].in_box.map(|at| self.outer(at))
    }
}

/// The drawing of a map, given the loads that decide what is alike.
pub(crate) fn scene(map: &LabMap, loads: &Loads) -> Scene {
    let stacks = stacks(map, loads);
    let boxes = stacks.iter().map(|stack| boxed(map, stack)).collect();
    let mut scene = Scene { boxes, ..Scene::default() };
    // The row of each hop.
    let mut rows: Vec<Option<usize>> = vec![None; map.hops.len()];
    for (place, stack) in stacks.iter().enumerate() {
        for row in rows_of(map, stack, place) {
            row.hops.iter().for_each(|hop| rows[*hop] = Some(scene.rows.len()));
            scene.rows.push(row);
        }
    }
    for row in links(map, &scene, &rows) {
        row.hops.iter().for_each(|hop| rows[*hop] = Some(scene.rows.len()));
        scene.rows.push(row);
    }
    let mut edges = BTreeSet::new();
    for edge in &map.edges {
        let (Some(from), Some(to)) = (rows[edge.from as usize], rows[edge.to as usize]) else {
            continue;
        };
        let (a, b) = (scene.outer_of(from), scene.outer_of(to));
        if from != to && (a.is_none() || a != b) && !edges.contains(&(to, from)) {
            edges.insert((from, to));
        }
    }
    scene.edges = edges.into_iter().collect();
    scene
}

fn boxed(map: &LabMap, stack: &Stack) -> Box {
    let first = &map.devices[stack.members[0]];
    let parts: BTreeSet<_> = stack.members.iter().map(|m| &map.devices[*m].part).collect();
    let names: Vec<&str> = stack.members.iter().map(|m| map.devices[*m].name.as_str()).collect();
    Box {
        title: several(&names),
        part: first.part.as_deref().filter(|_| parts.len() == 1).map(clean),
        kind: stack.kind,
        count: stack.members.len(),
        host: stack.host,
    }
}

/// `vm1`, `vm1, vm2, vm4`, `vm1 … vm8`.
fn several(names: &[&str]) -> String {
    match names {
        [first, _, _, .., last] => format!("{} … {}", clean(first), clean(last)),
        few => few.iter().map(|name| clean(name)).collect::<Vec<_>>().join(", "),
    }
}

/// The hops of a stack of devices: those of the same name together, and where there are many of a role, all of it.
fn rows_of(map: &LabMap, stack: &Stack, place: usize) -> Vec<MapRow> {
    let mut by_role: BTreeMap<Role, BTreeMap<String, Vec<usize>>> = BTreeMap::new();
    for (at, hop) in map.hops.iter().enumerate() {
        let Some(device) = hop.device.map(|d| d as usize).filter(|d| stack.members.contains(d))
        else {
            continue;
        };
        let name = &map.devices[device].name;
        let name = if hop.name == *name { "" } else { short(hop, name) };
        by_role.entry(hop.role).or_default().entry(name.to_owned()).or_default().push(at);
    }
    let mut rows = Vec::new();
    for (role, names) in by_role {
        let mut names: Vec<_> = names.into_iter().collect();
        names.sort_by(|a, b| natural::compare(&a.0, &b.0));
        if names.len() > ROWS_MAX {
            let hops = names.into_iter().flat_map(|(_, hops)| hops).collect();
            rows.push(row(map, role, "", hops, Some(place)));
            continue;
        }
        for (name, hops) in names {
            rows.push(row(map, role, &name, hops, Some(place)));
        }
    }
    rows
}

fn row(map: &LabMap, role: Role, short: &str, hops: Vec<usize>, in_box: Option<usize>) -> MapRow {
    let stands: u64 = hops.iter().map(|hop| u64::from(map.hops[*hop].count)).sum();
    let many = hops.len() > 1;
    let mut label = match (role, short) {
        (Role::Guest, _) => "I/O".to_owned(),
        (Role::GuestCpu, "cpu") => "vCPU".to_owned(),
        (Role::HostCpu, "cpu") => "CPU".to_owned(),
        (Role::VirtualDisk, "") if many => format!("{} disks", hops.len()),
        (_, "") if many => format!("{} {}", hops.len(), plural(role)),
        (_, "") => word(role).to_owned(),
        (Role::Disks, short) => clean(short.strip_suffix(".disks").unwrap_or(short)),
        (Role::Datastore, short) => {
            format!("FS {}", clean(short.strip_suffix(".datastore").unwrap_or(short)))
        }
        (_, short) if short.bytes().all(|c| c.is_ascii_digit()) => format!("port {short}"),
        (_, short) => clean(short),
    };
    if stands > hops.len() as u64 || (many && !short.is_empty()) {
        label = format!("{label} ×{stands}");
    }
    let names: Vec<&str> = hops.iter().map(|hop| map.hops[*hop].name.as_str()).collect();
    let name = match many {
        true => format!("{} {}: {}", hops.len(), plural(role), several(&names)),
        false => several(&names),
    };
    MapRow { label, role, in_box, hops, name }
}

/// Links: each by itself, or those that join the same two boxes together where there are many.
fn links(map: &LabMap, scene: &Scene, rows: &[Option<usize>]) -> Vec<MapRow> {
    let mut ends: BTreeMap<usize, (BTreeSet<usize>, BTreeSet<usize>)> = BTreeMap::new();
    let alone = |hop: usize| map.hops[hop].device.is_none();
    for hop in (0..map.hops.len()).filter(|hop| alone(*hop)) {
        ends.entry(hop).or_default();
    }
    for edge in &map.edges {
        let (from, to) = (edge.from as usize, edge.to as usize);
        if let (true, Some(row)) = (alone(to), rows[from]) {
            ends.entry(to).or_default().0.insert(row);
        }
        if let (true, Some(row)) = (alone(from), rows[to]) {
            ends.entry(from).or_default().1.insert(row);
        }
    }
    let many = ends.len() > LINKS_MAX;
    let by_box = |rows: &BTreeSet<usize>| -> BTreeSet<usize> {
        rows.iter().filter_map(|row| scene.outer_of(*row)).collect()
    };
    type Ends = (BTreeSet<usize>, BTreeSet<usize>);
    let mut joined: Vec<(Ends, Vec<usize>)> = Vec::new();
    for (hop, (from, to)) in ends {
        let key = if many { (by_box(&from), by_box(&to)) } else { (from, to) };
        match joined.iter_mut().find(|(known, _)| *known == key) {
            Some((_, hops)) => hops.push(hop),
            None => joined.push((key, vec![hop])),
        }
    }
    // Labs that join everything to everything still have an end: what is left over becomes one.
    if joined.len() > 2 * LINKS_MAX {
        let rest = joined.split_off(2 * LINKS_MAX - 1);
        joined.push((Ends::default(), rest.into_iter().flat_map(|(_, hops)| hops).collect()));
    }
    let named = |hops: Vec<usize>| {
        let mut hops = hops;
        hops.sort_by(|a, b| natural::compare(&map.hops[*a].name, &map.hops[*b].name));
        let short = if hops.len() == 1 { map.hops[hops[0]].name.clone() } else { String::new() };
        row(map, map.hops[hops[0]].role, &short, hops, None)
    };
    joined.into_iter().map(|(_, hops)| named(hops)).collect()
}

/// What a hop is, in a word.
pub(crate) fn word(role: Role) -> &'static str {
    match role {
        Role::Guest => "all I/O",
        Role::GuestCpu => "vCPU",
        Role::VirtualAdapter => "virtual adapter",
        Role::VirtualDisk => "virtual disk",
        Role::HostCpu => "processors",
        Role::Datastore => "datastore",
        Role::LunQueue => "LUN queue",
        Role::Adapter => "adapter",
        Role::InitiatorPort => "initiator port",
        Role::Link => "link",
        Role::SwitchPort => "switch port",
        Role::Trunk => "inter-switch link",
        Role::TargetPort => "target port",
        Role::Controller => "controller",
        Role::Cache => "cache",
        Role::Backend => "back end",
        Role::Disks => "volume",
        Role::TapeDrive => "tape drive",
        Role::BlockDevice => "block device",
        Role::Machine => "machine",
        Role::Other => "hop",
    }
}

fn plural(role: Role) -> String {
    match role {
        Role::Guest => "guests".to_owned(),
        Role::GuestCpu => "vCPUs".to_owned(),
        Role::HostCpu => "hosts' processors".to_owned(),
        Role::Cache => "caches".to_owned(),
        other => format!("{}s", word(other)),
    }
}
