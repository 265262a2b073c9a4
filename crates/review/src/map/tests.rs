//! What holds for every picture, whatever the lab.

use super::layout::{MapLayout, Rect, layout};
use super::scene::{Scene, scene};
use findings::HopLoad;
use findings::map::{DeviceKind, LabMap, MapDevice, MapEdge, MapHop, Role};
use proptest::prelude::*;
use std::collections::BTreeSet;

const ROLES: [Role; 21] = [
    Role::Guest,
    Role::GuestCpu,
    Role::VirtualAdapter,
    Role::VirtualDisk,
    Role::HostCpu,
    Role::Datastore,
    Role::LunQueue,
    Role::Adapter,
    Role::InitiatorPort,
    Role::Link,
    Role::SwitchPort,
    Role::Trunk,
    Role::TargetPort,
    Role::Controller,
    Role::Cache,
    Role::Backend,
    Role::Disks,
    Role::TapeDrive,
    Role::BlockDevice,
    Role::Machine,
    Role::Other,
];

const KINDS: [DeviceKind; 7] = [
    DeviceKind::Guest,
    DeviceKind::Host,
    DeviceKind::Switch,
    DeviceKind::Array,
    DeviceKind::Target,
    DeviceKind::Receiver,
    DeviceKind::Other,
];

fn device(name: &str, kind: DeviceKind, host: Option<u32>) -> MapDevice {
    MapDevice { name: name.into(), kind, part: None, host }
}

fn hop(name: &str, role: Role, device: Option<u32>) -> MapHop {
    let (name, count) = (name.to_owned(), 1);
    MapHop { name, role, device, part: None, count, rate: None, counted_as: None }
}

/// So many VMs of one host behind so many ports, each port with a cable to a switch, which has one to each array.
fn fabric(vms: u32, ports: u32, arrays: u32, luns: u32) -> LabMap {
    let mut map = LabMap { wired: true, ..LabMap::default() };
    map.devices.push(device("esx", DeviceKind::Host, None));
    map.devices.push(device("fabric", DeviceKind::Switch, None));
    let first_vm = map.devices.len() as u32;
    (1..=vms).for_each(|n| map.devices.push(device(&format!("vm{n}"), DeviceKind::Guest, Some(0))));
    let first_array = map.devices.len() as u32;
    (1..=arrays)
        .for_each(|n| map.devices.push(device(&format!("ssd{n}"), DeviceKind::Array, None)));
    let mut add = |hop: MapHop| {
        map.hops.push(hop);
        map.hops.len() as u32 - 1
    };
    let mut edges = Vec::new();
    let guests: Vec<u32> = (0..vms)
        .map(|n| add(hop(&format!("vm{}", n + 1), Role::Guest, Some(first_vm + n))))
        .collect();
    let cpu = add(hop("esx.cpu", Role::HostCpu, Some(0)));
    guests.iter().for_each(|guest| edges.push((*guest, cpu)));
    let mut near = Vec::new();
    for n in 0..ports {
        let port = add(hop(&format!("esx.hba:{n}"), Role::InitiatorPort, Some(0)));
        let cable = add(hop(&format!("up{n}"), Role::Link, None));
        let at = add(hop(&format!("fabric:{n}"), Role::SwitchPort, Some(1)));
        edges.extend([(cpu, port), (port, cable), (cable, at)]);
        near.push(at);
    }
    for n in 0..arrays {
        let at = add(hop(&format!("fabric:{}", ports + n), Role::SwitchPort, Some(1)));
        let cable = add(hop(&format!("down{n}"), Role::Link, None));
        let port = add(hop(&format!("ssd{}:0", n + 1), Role::TargetPort, Some(first_array + n)));
        near.iter().for_each(|near| edges.push((*near, at)));
        edges.extend([(at, cable), (cable, port)]);
        for lun in 0..luns {
            let name = format!("ssd{}/lun{lun}.disks", n + 1);
            let disks = add(hop(&name, Role::Disks, Some(first_array + n)));
            edges.push((port, disks));
        }
    }
    map.edges = edges.into_iter().map(|(from, to)| MapEdge { from, to, ways: 1 }).collect();
    map
}

/// Any lab at all, also one that cannot be.
fn any_map() -> impl Strategy<Value = LabMap> {
    let devices = prop::collection::vec((0..KINDS.len(), 0..40_u32), 1..30);
    let hops =
        prop::collection::vec((0..ROLES.len(), prop::option::of(0..30_u32), 1..3_u32), 1..120);
    let edges = prop::collection::vec((0..120_u32, 0..120_u32), 0..200);
    (devices, hops, edges).prop_map(|(devices, hops, edges)| {
        let kinds: Vec<DeviceKind> = devices.iter().map(|(kind, _)| KINDS[*kind]).collect();
        let is_host = |at: u32| kinds.get(at as usize) == Some(&DeviceKind::Host);
        let named = devices.iter().enumerate().map(|(n, (kind, host))| {
            let kind = KINDS[*kind];
            let host = Some(*host).filter(|at| kind == DeviceKind::Guest && is_host(*at));
            device(&format!("d{n}"), kind, host)
        });
        let of = |device: &Option<u32>| device.filter(|d| (*d as usize) < kinds.len());
        let made = hops.iter().enumerate().map(|(n, (role, device, count))| MapHop {
            count: *count,
            ..hop(&format!("h{n}"), ROLES[*role], of(device))
        });
        let count = hops.len() as u32;
        let edges: BTreeSet<(u32, u32)> =
            edges.into_iter().filter(|(a, b)| a != b && *a < count && *b < count).collect();
        let edges = edges.into_iter().map(|(from, to)| MapEdge { from, to, ways: 1 }).collect();
        let (devices, hops) = (named.collect(), made.collect());
        LabMap { wired: true, devices, hops, edges, ..LabMap::default() }
    })
}

fn apart(a: &Rect, b: &Rect) -> bool {
    a.right() <= b.x || b.right() <= a.x || a.bottom() <= b.y || b.bottom() <= a.y
}

fn inside(inner: &Rect, outer: &Rect) -> bool {
    inner.x >= outer.x
        && inner.y >= outer.y
        && inner.right() <= outer.right()
        && inner.bottom() <= outer.bottom()
}

/// Everything that is wrong with a picture.
fn faults(scene: &Scene, layout: &MapLayout) -> Vec<String> {
    let mut faults = Vec::new();
    let view = Rect { x: 0.0, y: 0.0, w: layout.width, h: layout.height };
    // What may not lie upon anything else: outer boxes and links.
    let outer = (0..scene.boxes.len()).filter(|at| scene.boxes[*at].host.is_none());
    let links = (0..scene.rows.len()).filter(|row| scene.rows[*row].in_box.is_none());
    let outer = outer.map(|at| layout.boxes[at]).chain(links.map(|row| layout.rows[row]));
    let outer: Vec<Rect> = outer.collect();
    for (n, a) in outer.iter().enumerate() {
        if !inside(a, &view) {
            faults.push(format!("{a:?} is beyond {view:?}"));
        }
        faults.extend(
            outer[..n].iter().filter(|b| !apart(a, b)).map(|b| format!("{a:?} lies on {b:?}")),
        );
    }
    for (row, it) in scene.rows.iter().enumerate() {
        let Some(at) = it.in_box else { continue };
        if !inside(&layout.rows[row], &layout.boxes[at]) {
            faults.push(format!("{} is not in its box", it.name));
        }
        let beside = (0..row).filter(|other| scene.rows[*other].in_box == Some(at));
        let on = beside.filter(|other| !apart(&layout.rows[row], &layout.rows[*other]));
        faults.extend(on.map(|other| format!("{} lies on {}", it.name, scene.rows[other].name)));
    }
    for (at, it) in scene.boxes.iter().enumerate() {
        if it.host.is_some_and(|host| !inside(&layout.boxes[at], &layout.boxes[host])) {
            faults.push(format!("{} is not in its host", it.title));
        }
    }
    for (line, (from, to)) in layout.lines.iter().zip(&scene.edges) {
        for (point, row) in [(line.points.first(), *from), (line.points.last(), *to)] {
            let ends = match scene.outer_of(row) {
                Some(at) => layout.boxes[at],
                None => layout.rows[row],
            };
            let right = point.is_some_and(|(x, y)| {
                (*x == ends.x || *x == ends.right()) && *y == layout.rows[row].middle()
            });
            if !right {
                faults.push(format!("{point:?} does not end at {}", scene.rows[row].name));
            }
        }
        let out = |(x, y): &&(f64, f64)| {
            !(0.0..=layout.width).contains(x) || !(0.0..=layout.height).contains(y)
        };
        faults.extend(line.points.iter().find(out).map(|p| format!("{p:?} is beyond {view:?}")));
    }
    faults
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn any_lab_is_drawn_well(map in any_map()) {
        let drawn = scene(&map, &[]);
        let placed = layout(&drawn);
        prop_assert_eq!(faults(&drawn, &placed), Vec::<String>::new());
        prop_assert_eq!(placed.lines.len(), drawn.edges.len());
        let hops: BTreeSet<usize> = drawn.rows.iter().flat_map(|row| row.hops.clone()).collect();
        let all: BTreeSet<usize> = (0..map.hops.len()).collect();
        prop_assert_eq!(hops, all, "every hop is somewhere");
        prop_assert_eq!(&placed, &layout(&scene(&map, &[])), "the same again");
    }
}

/// The checks can fail.
#[test]
fn what_is_wrong_with_a_picture_is_seen() {
    let map = fabric(2, 2, 2, 2);
    let drawn = scene(&map, &[]);
    let right = layout(&drawn);
    let wrong = |change: &dyn Fn(&mut MapLayout)| {
        let mut layout = right.clone();
        change(&mut layout);
        faults(&drawn, &layout)
    };
    assert_eq!(wrong(&|_| ()), [""; 0]);
    for change in [
        &(|l: &mut MapLayout| l.boxes[0].x += 500.0) as &dyn Fn(&mut MapLayout),
        &|l| l.width -= 9.0,
        &|l| l.rows[0].y += 500.0,
        &|l| l.rows[1] = l.rows[0],
        &|l| l.lines[0].points[0].0 += 1.0,
    ] {
        assert_ne!(wrong(change), [""; 0]);
    }
}

/// Titles and labels, box by box.
#[track_caller]
fn check_scene(map: &LabMap, loads: &[Vec<Option<HopLoad>>], expected: &[&str]) {
    let drawn = scene(map, loads);
    let rows = |at: Option<usize>| -> Vec<&str> {
        let mine = drawn.rows.iter().filter(|row| row.in_box == at);
        mine.map(|row| row.label.as_str()).collect()
    };
    let boxes = drawn.boxes.iter().enumerate();
    let lines =
        boxes.map(|(at, b)| format!("{} ×{}: {}", b.title, b.count, rows(Some(at)).join(", ")));
    let lines: Vec<String> = lines.chain([format!("links: {}", rows(None).join(", "))]).collect();
    assert_eq!(lines, expected);
}

#[test]
fn what_is_alike_is_one() {
    let small = fabric(2, 1, 1, 1);
    check_scene(
        &small,
        &[],
        &[
            "esx ×1: CPU, hba:0",
            "fabric ×1: port 0, port 1",
            "ssd1 ×1: port 0, lun0",
            "vm1, vm2 ×2: I/O",
            "links: up0, down0",
        ],
    );
    // 60 LUNs of an array, 8 VMs, 3 equal arrays.
    check_scene(
        &fabric(8, 2, 5, 60),
        &[],
        &[
            "esx ×1: CPU, hba:0, hba:1",
            "fabric ×1: 7 switch ports",
            "ssd1 … ssd5 ×5: port 0 ×5, 300 volumes",
            "vm1 … vm8 ×8: I/O",
            "links: up0, up1, 5 links",
        ],
    );
}

/// Loads of all hops, where a VM's is given.
fn carried(map: &LabMap, of: impl Fn(&str) -> f64) -> Vec<Option<HopLoad>> {
    let load = |hop: &MapHop| {
        let read_bytes_per_s = Some(of(&hop.name));
        Some(HopLoad { hop: hop.name.clone(), read_bytes_per_s, ..HopLoad::default() })
    };
    map.hops.iter().map(load).collect()
}

#[test]
fn guests_that_carry_something_else_stand_apart_while_there_is_room() {
    let map = fabric(4, 1, 1, 1);
    let titles = |loads: &[Vec<Option<HopLoad>>], map: &LabMap| -> Vec<String> {
        let guests = scene(map, loads).boxes.into_iter().filter(|b| b.kind == DeviceKind::Guest);
        guests.map(|b| b.title).collect()
    };
    let slow = |name: &str| if name == "vm3" { 50e6 } else { 100e6 };
    assert_eq!(titles(&[carried(&map, slow)], &map), ["vm1, vm2, vm4", "vm3"]);
    let nearly = |name: &str| if name == "vm3" { 91e6 } else { 100e6 };
    assert_eq!(titles(&[carried(&map, nearly)], &map), ["vm1 … vm4"]);
    // One step in which they differ is enough.
    assert_eq!(titles(&[carried(&map, nearly), carried(&map, slow)], &map).len(), 2);
    let many = fabric(20, 1, 1, 1);
    let all =
        |name: &str| name.trim_start_matches("vm").parse().map_or(1.0, |n: f64| 2.0_f64.powf(n));
    assert_eq!(titles(&[carried(&many, all)], &many), ["vm1 … vm20"], "no room for twenty");
}

#[test]
fn labs_of_thousands_of_hops_stay_small() {
    let map = fabric(300, 40, 30, 60);
    assert!(map.hops.len() > 2000);
    let drawn = scene(&map, &[]);
    let placed = layout(&drawn);
    assert_eq!(faults(&drawn, &placed), [""; 0]);
    assert!(
        drawn.rows.len() < 200 && placed.height < 2000.0,
        "{} {}",
        drawn.rows.len(),
        placed.height
    );
}

#[test]
fn lines_cross_only_where_they_must() {
    // Two arrays whose names come in the other order than the ports that they hang on.
    let mut map = fabric(1, 2, 2, 1);
    let at = |name: &str| map.hops.iter().position(|h| h.name == name).unwrap() as u32;
    let (down0, down1, ssd1, ssd2) = (at("down0"), at("down1"), at("ssd1:0"), at("ssd2:0"));
    for edge in &mut map.edges {
        edge.to = match (edge.from, edge.to) {
            (from, _) if from == down0 => ssd2,
            (from, _) if from == down1 => ssd1,
            (_, to) => to,
        };
    }
    let drawn = scene(&map, &[]);
    let placed = layout(&drawn);
    let ends: Vec<_> =
        placed.lines.iter().map(|l| (l.points[0], l.points[l.points.len() - 1])).collect();
    for (n, a) in ends.iter().enumerate() {
        for b in ends[..n].iter().filter(|b| b.0.0 == a.0.0 && b.1.0 == a.1.0) {
            assert!((a.0.1 - b.0.1) * (a.1.1 - b.1.1) >= 0.0, "{a:?} crosses {b:?}");
        }
    }
}
