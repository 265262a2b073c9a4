//! Which place of a device is which hop of the lab: by identity, and never by a similar name.
//!
//! A place is a hop because the scenario gives the hop that identity; because the device says what is at the other end of its
//! cable, and the scenario knows that end and the cable; or because there is only one such place, as a machine's processors.

use super::is_array;
use probe::source::Place;
use record::HopKind;
use scenario::{CountedDevice, CounterSource, HopIdentity, Scenario};
use std::collections::{BTreeMap, BTreeSet};

/// What the lab says of its hops.
#[derive(Default)]
pub struct LabHops {
    kinds: BTreeMap<String, HopKind>,
    /// Hops by their identity, over all devices.
    by_id: BTreeMap<String, String>,
    /// Cables: pairs of ends, `DEVICE:PORT`.
    cables: Vec<[String; 2]>,
    arrays: BTreeSet<String>,
}

/// A place that is a hop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedHop {
    /// The hop.
    pub name: String,
    /// What it is.
    pub kind: HopKind,
    /// The place, by its position in the list.
    pub place: usize,
    /// The same within its source.
    pub at_source: usize,
    /// By which identity.
    pub by: String,
    /// Whether what it receives is written by the load.
    pub flipped: bool,
}

/// What became of the places of a device.
#[derive(Debug, Default)]
pub struct HopMap {
    /// Those that are hops.
    pub hops: Vec<MappedHop>,
    /// Hops that no place counts for.
    pub lost: Vec<HopIdentity>,
    /// Places that are no hop, by their positions.
    pub unmapped: Vec<usize>,
}

/// The kind of a device's port.
pub fn port_of(kind: CountedDevice) -> HopKind {
    match kind {
        CountedDevice::Host => HopKind::InitiatorPort,
        CountedDevice::Switch => HopKind::SwitchPort,
        CountedDevice::Array => HopKind::TargetPort,
    }
}

fn spelled(id: &str) -> String {
    telemetry::canonical(id).unwrap_or_else(|| id.to_owned())
}

impl LabHops {
    /// Of a scenario's lab.
    pub fn of(scenario: &Scenario) -> LabHops {
        let lab = &scenario.lab;
        let topology = scenario.topology().unwrap_or_default();
        let ids = lab.counters.iter().flat_map(|source| &source.identities);
        let end = |of: &scenario::Endpoint| format!("{}:{}", of.device, of.port.unwrap_or(0));
        LabHops {
            kinds: topology.hops.into_iter().map(|hop| (hop.name, hop.kind)).collect(),
            by_id: ids.map(|of| (spelled(&of.is), of.hop.clone())).collect(),
            cables: lab.links.iter().map(|link| [end(&link.from), end(&link.to)]).collect(),
            arrays: lab.arrays.iter().map(|array| array.name.clone()).collect(),
        }
    }

    /// What a hop is, where the lab's graph has it.
    pub fn kind(&self, hop: &str) -> Option<HopKind> {
        self.kinds.get(hop).copied()
    }

    /// The other ends of the cables at a port.
    fn across<'a>(&'a self, hop: &'a str) -> impl Iterator<Item = &'a String> {
        self.cables.iter().filter_map(move |[a, b]| match (a == hop, b == hop) {
            (true, _) => Some(b),
            (_, true) => Some(a),
            _ => None,
        })
    }

    /// Whether the cable at a port leads to an array.
    fn faces_array(&self, hop: &str) -> bool {
        let device =
            |end: &str| end.rsplit_once(':').map_or(end.to_owned(), |(of, _)| of.to_owned());
        self.across(hop).any(|end| self.arrays.contains(&device(end)))
    }
}

impl HopMap {
    /// Maps the places of a device. `used` are the disks that the step's targets lie on.
    pub fn of(
        source: &CounterSource,
        places: &[(usize, Place)],
        lab: &LabHops,
        used: &BTreeSet<String>,
    ) -> HopMap {
        let mut out = HopMap::default();
        let mut taken = BTreeSet::new();
        let (mut last, mut within) = (usize::MAX, 0);
        let mut found = Vec::new();
        for (number, (watch, place)) in places.iter().enumerate() {
            within = if *watch == last { within + 1 } else { 0 };
            last = *watch;
            let Some(kind) = place.kind else { continue };
            found.push((number, within, kind, place));
        }
        for (number, within, kind, place) in found {
            match known(source, place, kind, lab, used)
                .filter(|(name, _)| taken.insert(name.clone()))
            {
                Some((name, by)) => {
                    let flipped = flipped(source.kind, kind, &name, lab);
                    let kind = lab.kind(&name).unwrap_or_else(|| of_device(source.kind, kind));
                    out.hops.push(MappedHop {
                        name,
                        kind,
                        place: number,
                        at_source: within,
                        by,
                        flipped,
                    });
                }
                None => out.unmapped.push(number),
            }
        }
        let lost = source.identities.iter().filter(|of| !taken.contains(&of.hop));
        out.lost = lost.cloned().collect();
        out
    }
}

/// The hop that a place is, and by which identity.
fn known(
    source: &CounterSource,
    place: &Place,
    kind: HopKind,
    lab: &LabHops,
    used: &BTreeSet<String>,
) -> Option<(String, String)> {
    let device = &source.device;
    if let Some(of) = source.identities.iter().find(|of| place.is(&of.is)) {
        return Some((of.hop.clone(), of.is.clone()));
    }
    match kind {
        HopKind::HostCpu if source.kind != CountedDevice::Switch => {
            return Some((format!("{device}.cpu"), "its only processors".to_owned()));
        }
        HopKind::LunQueue => {
            let disk = used.iter().find(|disk| place.is(disk))?;
            return Some((
                format!("{device}.{disk}.queue"),
                format!("the disk {disk} of this machine"),
            ));
        }
        _ => {}
    }
    // What the device knows of the other end of the cable, and the scenario of that end.
    place.beyond.iter().find_map(|id| {
        let there = lab.by_id.get(id)?;
        let own = lab.across(there).find(|end| {
            end.strip_prefix(device.as_str()).is_some_and(|rest| rest.starts_with(':'))
        })?;
        Some((own.clone(), format!("cabled to {there}, which is {id}")))
    })
}

/// A kind of its source, at a device of this kind.
fn of_device(device: CountedDevice, kind: HopKind) -> HopKind {
    match kind {
        HopKind::InitiatorPort | HopKind::SwitchPort => port_of(device),
        HopKind::HostCpu if is_array(device) => HopKind::ArrayCpu,
        other => other,
    }
}

/// Sources tell of a port what it receives as read. So it is at a host, and at a switch towards an array.
fn flipped(device: CountedDevice, kind: HopKind, hop: &str, lab: &LabHops) -> bool {
    let as_port = matches!(kind, HopKind::InitiatorPort | HopKind::SwitchPort);
    as_port
        && match device {
            CountedDevice::Host => false,
            CountedDevice::Array => true,
            CountedDevice::Switch => !lab.faces_array(hop),
        }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::CountersFrom;

    fn place(name: &str, ids: &[&str], beyond: &[&str]) -> (usize, Place) {
        let mut place = Place::new(HopKind::SwitchPort, name);
        for id in ids {
            place = place.known_as(id);
        }
        place.beyond = beyond.iter().map(|id| spelled(id)).collect();
        (0, place)
    }

    fn source(kind: CountedDevice, device: &str, identities: &[(&str, &str)]) -> CounterSource {
        let identity =
            |(hop, is): &(&str, &str)| HopIdentity { hop: (*hop).to_owned(), is: (*is).to_owned() };
        CounterSource {
            device: device.to_owned(),
            kind,
            from: CountersFrom::Snmp("switch1".to_owned()),
            credentials: None,
            identities: identities.iter().map(identity).collect(),
        }
    }

    fn names(map: &HopMap) -> Vec<(&str, bool)> {
        map.hops.iter().map(|hop| (hop.name.as_str(), hop.flipped)).collect()
    }

    #[test]
    fn a_similar_name_is_no_identity() {
        let source = source(
            CountedDevice::Switch,
            "fabric",
            &[("fabric:1", "eth1/1"), ("fabric:2", "ETH1/2")],
        );
        let places = [
            place("eth1/10", &[], &[]),
            place("eth1/1", &[], &[]),
            place("eth1/2", &["eth1/1x"], &[]),
        ];
        let map = HopMap::of(&source, &places, &LabHops::default(), &BTreeSet::new());
        assert_eq!(names(&map), [("fabric:1", true)]);
        assert_eq!(map.unmapped, [0, 2]);
        assert_eq!(map.lost[0].hop, "fabric:2");
    }

    #[test]
    fn the_other_end_of_a_cable_tells_which_port_it_is() {
        let lab = LabHops {
            by_id: [("wwn.10000000c9010203", "esx.hba:0"), ("wwn.5006016012345678", "ssd1:0")]
                .map(|(id, hop)| (id.to_owned(), hop.to_owned()))
                .into(),
            cables: [["esx.hba:0", "fabric:4"], ["fabric:7", "ssd1:0"]]
                .map(|ends| ends.map(str::to_owned))
                .into(),
            arrays: ["ssd1".to_owned()].into(),
            ..LabHops::default()
        };
        let places = [
            place("port 4", &[], &["10:00:00:00:c9:01:02:03"]),
            place("port 7", &[], &["50:06:01:60:12:34:56:78"]),
            place("port 9", &[], &["10:00:00:00:c9:09:09:09"]),
        ];
        let source = source(CountedDevice::Switch, "fabric", &[]);
        let map = HopMap::of(&source, &places, &lab, &BTreeSet::new());
        // Towards the host the switch sends what is read, from the array it receives it.
        assert_eq!(names(&map), [("fabric:4", true), ("fabric:7", false)]);
        assert_eq!(map.unmapped, [2]);
    }

    #[test]
    fn places_keep_their_positions_within_their_sources() {
        let source =
            source(CountedDevice::Host, "esx", &[("esx.nic:0", "eth0"), ("esx.hba:0", "host4")]);
        let places = [
            (3, place("eth9", &[], &[]).1),
            (3, place("eth0", &[], &[]).1),
            (4, place("host4", &[], &[]).1),
        ];
        let map = HopMap::of(&source, &places, &LabHops::default(), &BTreeSet::new());
        let at: Vec<(usize, usize)> =
            map.hops.iter().map(|hop| (hop.place, hop.at_source)).collect();
        assert_eq!(at, [(1, 1), (2, 0)]);
        assert_eq!(map.hops[0].kind, HopKind::InitiatorPort);
    }
}
