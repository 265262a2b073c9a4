//! The map of a simulated or estimated record. A model counts everything that costs time in it, so nothing is missing: what
//! it never counts stands for no time and is left out, and what it did not count in a step did nothing there.

use super::{EDGES_MAX, LabMap, MapEdge, Role, loads};
use crate::attribution::HopLoad;
use crate::figures::StepFigures;
use std::collections::BTreeMap;

/// A map without the hops that no step of a model has a figure of; what led through them leads past them.
pub(crate) fn of_model(mut map: LabMap, steps: &[StepFigures]) -> LabMap {
    map.modelled = true;
    // Before any step there is nothing to judge by.
    let mut keep: Vec<bool> =
        map.hops.iter().map(|hop| steps.is_empty() || hop.role == Role::Guest).collect();
    for step in steps {
        let loads = loads::counted(&map, step);
        let known = |load: &Option<HopLoad>| load.as_ref().is_some_and(|load| !is_empty(load));
        keep.iter_mut().zip(&loads).for_each(|(keep, load)| *keep |= known(load));
    }
    if keep.iter().any(|keep| !keep) {
        map.edges = past(&map, &keep);
        leave_out(&mut map, &keep);
    }
    map
}

/// Whether a load has no figure of what passes or is present.
pub(super) fn is_empty(load: &HopLoad) -> bool {
    load.queue.is_none() && loads::is_silent(load)
}

/// The edges between hops that stay, those through hops that go among them.
fn past(map: &LabMap, keep: &[bool]) -> Vec<MapEdge> {
    let mut edges: BTreeMap<(u32, u32), u32> =
        map.edges.iter().map(|edge| ((edge.from, edge.to), edge.ways)).collect();
    for gone in (0..map.hops.len() as u32).filter(|hop| !keep[*hop as usize]) {
        let to: Vec<(u32, u32)> =
            edges.iter().filter(|(e, _)| e.1 == gone).map(|(e, ways)| (e.0, *ways)).collect();
        let from: Vec<(u32, u32)> =
            edges.iter().filter(|(e, _)| e.0 == gone).map(|(e, ways)| (e.1, *ways)).collect();
        edges.retain(|edge, _| edge.0 != gone && edge.1 != gone);
        for (a, ways) in &to {
            for (b, others) in &from {
                if a != b && edges.len() < EDGES_MAX {
                    *edges.entry((*a, *b)).or_default() += (*ways).min(*others);
                }
            }
        }
    }
    edges.into_iter().map(|((from, to), ways)| MapEdge { from, to, ways }).collect()
}

/// Takes hops out, and devices that have none left. A host stays for its guests' sake.
fn leave_out(map: &mut LabMap, keep: &[bool]) {
    let places = places(keep);
    let mut used = vec![false; map.devices.len()];
    let stays = map.hops.iter().zip(keep).filter(|(_, keep)| **keep);
    stays.filter_map(|(hop, _)| hop.device).for_each(|device| used[device as usize] = true);
    for place in 0..map.devices.len() {
        if let (true, Some(host)) = (used[place], map.devices[place].host) {
            used[host as usize] = true;
        }
    }
    let devices = self::places(&used);
    let moved = |place: Option<u32>| place.and_then(|place| devices[place as usize]);
    for edge in &mut map.edges {
        edge.from = places[edge.from as usize].unwrap_or_default();
        edge.to = places[edge.to as usize].unwrap_or_default();
    }
    let mut kept = keep.iter();
    map.hops.retain(|_| kept.next().copied().unwrap_or_default());
    map.hops.iter_mut().for_each(|hop| hop.device = moved(hop.device));
    map.devices.iter_mut().for_each(|device| device.host = moved(device.host));
    let mut kept = used.iter();
    map.devices.retain(|_| kept.next().copied().unwrap_or_default());
}

/// Where each that stays comes to stand.
fn places(keep: &[bool]) -> Vec<Option<u32>> {
    let mut next = 0;
    let place = |keep: &bool| {
        next += u32::from(*keep);
        keep.then(|| next - 1)
    };
    keep.iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceKind, build::MapBuilder};
    use super::*;

    #[test]
    fn what_is_left_out_is_led_past() {
        let mut builder = MapBuilder::default();
        let (vm, array) =
            (builder.device("vm", DeviceKind::Guest), builder.device("a", DeviceKind::Array));
        let far = builder.device("far", DeviceKind::Array);
        let hops = [("vm", vm), ("port", array), ("ctl", array), ("disks", array), ("gone", far)];
        let places: Vec<u32> = hops
            .iter()
            .map(|(name, device)| builder.hop(name, Role::Other, Some(*device)).unwrap())
            .collect();
        places.windows(2).for_each(|pair| builder.edge(pair[0], pair[1]));
        let mut map = builder.finish();
        let keep = [true, true, false, true, false];
        map.edges = past(&map, &keep);
        leave_out(&mut map, &keep);
        let names: Vec<&str> = map.hops.iter().map(|hop| hop.name.as_str()).collect();
        assert_eq!(names, ["vm", "port", "disks"]);
        let edges: Vec<(u32, u32)> = map.edges.iter().map(|edge| (edge.from, edge.to)).collect();
        assert_eq!(edges, [(0, 1), (1, 2)]);
        let devices: Vec<&str> = map.devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(devices, ["vm", "a"], "a device without hops goes");
    }
}
