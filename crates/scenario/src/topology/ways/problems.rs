//! Why a disk has no way to its volume, or several where it can only use one: reported at the disk, with help.

use super::super::fabric::NodeId;
use super::routes::{MissingPairs, Trip};
use super::{BackendLun, Owner, WayBuilder};
use crate::diagnostics::{Mistake, Span};
use crate::model::{Host, Path};
use crate::nearest::join;
use crate::spots::Spot;
use std::collections::BTreeSet;

/// Names that a message lists, at most.
const LISTED_MAX: usize = 8;

impl<'a> WayBuilder<'a, '_> {
    pub(super) fn no_host<T>(&mut self, owner: &Owner<'a>, array: &str, at: Span) -> Option<T> {
        self.sink.push(|| {
            let message =
                format!("nothing leads from `{}` to `{array}`: the VM has no `host`", owner.name);
            let help = match self.lab.hosts.first() {
                Some(host) => format!("add `host = \"{}\"` to the VM", host.name),
                None => "define a [[host]] with adapters, and name it in the VM".to_owned(),
            };
            Mistake::new(at, message).help(help)
        });
        None
    }

    pub(super) fn no_adapters<T>(&mut self, host: &Host, at: Span) -> Option<T> {
        let place = self.scenario.spots.name(&host.name);
        self.sink.push(|| {
            let message =
                format!("nothing leads out of the host `{}`: it has no adapters", host.name);
            Mistake::new(at, message)
                .related(place, "the host")
                .help("add `adapters = [{ name = \"hba\" }]` to the host, with a `part`")
        });
        None
    }

    /// No pair of ports is permitted: for lack of cables, of a zone, or because of the mask.
    pub(super) fn no_way(
        &mut self,
        trip: &Trip<'a, '_>,
        initiators: &[(NodeId, Option<u32>)],
        tally: &MissingPairs,
    ) {
        let names: Vec<String> =
            initiators.iter().map(|(node, _)| self.fabric.nodes[*node].name.clone()).collect();
        let from = listed(&names, "or");
        let mistake = match (tally.joined, tally.zoned) {
            (false, _) => self.not_joined(trip, initiators, &from),
            (true, _) if !tally.together => self.not_together(trip, initiators, &from),
            (true, false) => self.not_zoned(trip, initiators, &from),
            (true, true) => self.masked(trip, &names, &from),
        };
        self.sink.push(|| mistake);
    }

    fn not_joined(
        &self,
        trip: &Trip<'a, '_>,
        initiators: &[(NodeId, Option<u32>)],
        from: &str,
    ) -> Mistake {
        let array = &self.fabric.nodes[trip.array];
        let message = format!("no cable leads from {from} to `{}`", array.name);
        let mistake = Mistake::new(trip.at, message);
        let switches = self.lab.switches.len();
        let mut devices = initiators.iter().map(|(node, _)| *node).chain([trip.array]);
        if let Some(without) = devices.find(|node| self.portless.contains(node)) {
            let switch = self.lab.switches.first().map_or("", |switch| &switch.name);
            return mistake.help(format!(
                "the switch `{switch}` has no port left for `{}`: give the arrays fewer `ports`, or the switch a larger part",
                self.fabric.nodes[without].name
            ));
        }
        let bare = |node: &&NodeId| self.fabric.nodes[**node].cabled.is_empty();
        let loose: Vec<NodeId> =
            initiators.iter().map(|(node, _)| *node).chain([trip.array]).collect();
        mistake.help(match loose.iter().find(bare) {
            Some(node) if switches > 1 => format!(
                "`{}` has no cable, and there are several switches: add a [[link]]",
                self.fabric.nodes[*node].name
            ),
            // Without links each adapter has a port of the array to itself, as long as there are any.
            Some(node) if self.lab.links.is_empty() && switches == 0 => {
                let name = &self.fabric.nodes[*node].name;
                let other = if *node == trip.array { from } else { &format!("`{}`", array.name) };
                format!(
                    "`{name}` finds no free port at {other}: give that one more `ports`, or put a [[switch]] between them"
                )
            }
            Some(node) => {
                let name = &self.fabric.nodes[*node].name;
                format!("`{name}` has no cable: add a [[link]] with `from = \"{name}\"`, or remove all links")
            }
            None => "add a [[link]] between their switches".to_owned(),
        })
    }

    fn not_together(
        &self,
        trip: &Trip<'a, '_>,
        initiators: &[(NodeId, Option<u32>)],
        from: &str,
    ) -> Mistake {
        let vlans = |node: NodeId| -> Vec<String> {
            let cables = self.fabric.nodes[node].cabled.values();
            let cables = cables.filter_map(|cable| self.fabric.cables.get(*cable));
            let all: BTreeSet<u16> = cables.map(|cable| cable.vlan()).collect();
            all.iter().map(u16::to_string).collect()
        };
        let array = &self.fabric.nodes[trip.array].name;
        let ours: BTreeSet<String> = initiators.iter().flat_map(|(node, _)| vlans(*node)).collect();
        let ours = join(&ours.into_iter().collect::<Vec<_>>(), "and");
        let theirs = join(&vlans(trip.array), "and");
        let message = format!("no VLAN joins {from} and `{array}`");
        Mistake::new(trip.at, message).help(format!(
            "the links of {from} are in VLAN {ours}, and those of `{array}` in VLAN {theirs}: give both links one `vlan`, and \
             links between switches all that cross them"
        ))
    }

    fn not_zoned(
        &self,
        trip: &Trip<'a, '_>,
        initiators: &[(NodeId, Option<u32>)],
        from: &str,
    ) -> Mistake {
        let array = &self.fabric.nodes[trip.array].name;
        let message = format!("no zone lets {from} reach `{array}`");
        let mistake = Mistake::new(trip.at, message);
        let mut ours: Vec<String> = Vec::new();
        for (node, port) in initiators.iter().take(LISTED_MAX) {
            let port = port.or(self.fabric.nodes[*node].cabled.keys().next().copied());
            ours.extend(self.names(trip, *node, port.unwrap_or(0)));
        }
        let ours: Vec<&str> = ours.iter().map(String::as_str).collect();
        if let Some(vm) = trip.owner.vm.filter(|vm| self.access.zone_of(&[&vm.name]).is_some())
            && !ours.contains(&vm.name.as_str())
        {
            let zone = self.access.zone_of(&[&vm.name]).unwrap_or_default();
            return mistake.related(self.scenario.spots.name(zone), "this zone names the VM").help(format!(
                "only a VM with `npiv = true`, at an adapter with `npiv = true`, can be a zone member: add both, or \
                 put the adapter into `{zone}`"
            ));
        }
        let theirs = self.access.zone_of(&[array]);
        let (zone, label, lacking) = match (self.access.zone_of(&ours), theirs) {
            (Some(zone), _) => {
                (zone, format!("`{zone}` has {from} but not `{array}`"), array.clone())
            }
            (None, Some(zone)) => {
                let first = ours.first().copied().unwrap_or_default();
                (zone, format!("`{zone}` has `{array}` but not {from}"), first.to_owned())
            }
            (None, None) => {
                return mistake
                    .help(format!("add a [[zone]] with {from} and `{array}` as members"));
            }
        };
        mistake
            .related(self.scenario.spots.name(zone), label)
            .help(format!("add `{lacking}` to the `members` of `{zone}`"))
    }

    fn masked(&self, trip: &Trip<'a, '_>, names: &[String], from: &str) -> Mistake {
        let BackendLun { name, volume, .. } = trip.lun;
        let mask = volume.map_or(&[][..], |volume| &volume.mask[..]);
        let message = format!("the mask of `{name}` hides it from {from}");
        let first = names.first().map_or("", String::as_str);
        Mistake::new(trip.at, message)
            .related(
                self.scenario.spots.name(name),
                format!("it is shown to {}", listed(mask, "and")),
            )
            .help(format!("add `{first}` to its `mask`"))
    }

    pub(super) fn ambiguous<T>(
        &mut self,
        trip: &Trip<'a, '_>,
        adapters: &BTreeSet<NodeId>,
    ) -> Option<T> {
        let array = &self.fabric.nodes[trip.array].name;
        self.sink.push(|| {
            let names: Vec<String> =
                adapters.iter().map(|node| self.fabric.nodes[*node].name.clone()).collect();
            let first = names.first().map_or("", String::as_str);
            let short = first.rsplit_once('.').map_or(first, |(_, short)| short);
            let message = format!(
                "several adapters of `{}` reach `{array}`, and the disk does not name one: {}",
                trip.host.name,
                listed(&names, "or")
            );
            Mistake::new(trip.at, message).help(format!(
                "add `adapter = \"{short}\"`; or, to use all of them, a [[path]] from `{}` to `{array}` with a `policy`",
                trip.owner.name
            ))
        });
        None
    }

    pub(super) fn too_many<T>(&mut self, trip: &Trip<'a, '_>, paths: usize) -> Option<T> {
        let most = super::super::draft::PATHS_MAX;
        self.sink.push(|| {
            let message =
                format!("the disk has {paths} paths to `{}`, more than {most}", trip.lun.name);
            Mistake::new(trip.at, message)
                .help("select the paths to use with [[path]], or zone the ports")
        });
        None
    }

    /// An explicit path through something that is on no way.
    pub(super) fn leads_nowhere(&mut self, trip: &Trip<'a, '_>, path: &Path, reached: usize) {
        let number = u32::try_from(reached).unwrap_or(u32::MAX);
        let at = self.scenario.spots.at(&Spot::Via(path.name.clone(), number));
        self.sink.push(|| {
            let (owner, lun) = (trip.owner.name, &trip.lun.name);
            let wrong = path.via.get(reached).map_or("", String::as_str);
            let after = match reached.checked_sub(1).and_then(|n| path.via.get(n)) {
                Some(before) => format!(" after `{before}`"),
                None => String::new(),
            };
            let message =
                format!("the path `{}`: no way from `{owner}` to `{lun}` goes through `{wrong}`{after}", path.name);
            Mistake::new(at, message)
                .related(trip.at, "the disk")
                .help("a path lists its hops in order, from the adapter to the array; check links and zones")
        });
    }

    /// A tape library whose drives do not suffice.
    pub(super) fn check_drive(
        &mut self,
        array: &str,
        lun: &BackendLun<'a>,
        at: Span,
    ) -> Option<()> {
        let drives = self.arrays.get(array)?.drives().filter(|n| u64::from(lun.number) >= *n);
        let Some(drives) = drives else { return Some(()) };
        self.sink.push(|| {
            let message = format!(
                "the library `{array}` has {drives} drive{}, and `{}` needs another",
                if drives == 1 { "" } else { "s" },
                lun.name
            );
            Mistake::new(at, message).help("each volume is a drive; define fewer")
        });
        None
    }
}

/// Names in a message.
fn listed(names: &[String], last: &str) -> String {
    let shown: Vec<String> =
        names.iter().take(LISTED_MAX).map(|name| format!("`{name}`")).collect();
    match names.len().checked_sub(LISTED_MAX) {
        None | Some(0) => join(&shown, last),
        Some(more) => format!("{} and {more} more", shown.join(", ")),
    }
}
