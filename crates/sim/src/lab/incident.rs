//! Incidents during a step: parts that fail and recover, and VMs that move.
//!
//! When a part fails, so does every path through it: the selector of each way fails the path's arm, pulls out its I/Os,
//! and sends them over another path after the driver's timeout. A VM or a host that fails issues no more I/O. A VM that
//! moves stops for the stun time and continues over the paths from its new host, whatever happens to the old one; this
//! also restarts a VM elsewhere after its host has failed. Times count from the start of the measured time.

use super::LabError;
use super::defaults;
use super::draft::Draft;
use super::front::Front;
use crate::Ps;
use crate::model::{Change, Hop, LoadId, SelectorId};
use scenario::topology::{HopKind, Route, Topology, Way};
use scenario::{Change as Event, Scenario, Step};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The topology of a step: a VM that moves also has the paths from its new host.
pub fn with_moves<'a>(topology: &'a Topology, step: &Step) -> Cow<'a, Topology> {
    let mut all = Cow::Borrowed(topology);
    let moved = |vm: &str, to: &str| {
        step.incidents.iter().any(
            |incident| matches!(&incident.change, Event::Move { vm: of, to: host } if of == vm && host == to),
        )
    };
    for new in topology.moves.iter().filter(|new| moved(&new.vm, &new.to)) {
        for way in &new.ways {
            let same = |old: &&mut Way| old.member == way.member && old.disk == way.disk;
            if let Some(old) = all.to_mut().ways.iter_mut().find(same) {
                old.paths.extend(way.paths.iter().cloned());
            }
        }
    }
    all
}

/// Schedules the incidents of a step as changes of the network.
pub fn schedule<'a>(
    scenario: &'a Scenario,
    topology: &'a Topology,
    step: &'a Step,
    front: &'a Front,
    draft: &'a mut Draft,
) -> Result<(), LabError> {
    let (moved, failed) = Default::default();
    let asked = asked(draft);
    let mut stage = IncidentPlan { scenario, topology, front, draft, asked, moved, failed };
    stage.stand_by(step);
    for incident in &step.incidents {
        let at = Ps::from_secs_f64((step.warmup_max() + incident.at).as_secs_f64());
        match &incident.change {
            Event::Fail(name) | Event::Restore(name) => {
                let works = matches!(incident.change, Event::Restore(_));
                if !stage.part(at, name, works) {
                    let (name, change) = (name.clone(), incident.change.clone());
                    return Err(LabError::NoPart { name, change });
                }
            }
            Event::Move { vm, to } => stage.go(at, vm, to)?,
            Event::Hamper { .. } | Event::Kill(_) => {
                return Err(LabError::NoCable { change: incident.change.clone() });
            }
        }
    }
    Ok(())
}

/// The selectors that routes of the step's loads use. The front of a lab puts them at the top level of a route.
fn asked(draft: &mut Draft) -> BTreeSet<SelectorId> {
    let classes = draft.network().loads.iter().flat_map(|load| &load.classes);
    let hops = classes.flat_map(|class| &class.route);
    let selectors = hops.filter_map(|hop| match hop {
        Hop::Branch { selector, .. } => Some(*selector),
        _ => None,
    });
    selectors.collect()
}

struct IncidentPlan<'a> {
    scenario: &'a Scenario,
    topology: &'a Topology,
    front: &'a Front,
    draft: &'a mut Draft,
    /// Selectors that loads of the step use; paths of other disks are unused.
    asked: BTreeSet<SelectorId>,
    /// The current host of VMs that have moved.
    moved: BTreeMap<&'a str, &'a str>,
    /// VMs and hosts that are down.
    failed: BTreeSet<&'a str>,
}

impl<'a> IncidentPlan<'a> {
    /// Paths from hosts that a VM will move to are down until then.
    fn stand_by(&mut self, step: &Step) {
        let moves = step.incidents.iter().filter_map(|incident| match &incident.change {
            Event::Move { vm, .. } => Some(vm.as_str()),
            _ => None,
        });
        let moving: BTreeSet<&str> = moves.collect();
        for vm in moving {
            let home = self.host_of(vm);
            self.arms_of(vm, |host| Some(host) != home, Ps::ZERO, false);
        }
    }

    /// A part fails or recovers; whether it is one of the lab's on a path.
    fn part(&mut self, at: Ps, name: &'a str, works: bool) -> bool {
        let mut known = self.issuing(at, name, works);
        if !known {
            for (selector, arm) in self.front.through(self.topology, name) {
                known = true;
                self.arm(at, selector, arm, works);
            }
        }
        known
    }

    /// A VM or a host stops or resumes issuing; whether `name` is one.
    fn issuing(&mut self, at: Ps, name: &'a str, works: bool) -> bool {
        let lab = &self.scenario.lab;
        let is_member = lab.vms.iter().any(|vm| vm.name == name)
            || lab.hosts.iter().any(|host| host.name == name);
        if is_member {
            match works {
                true => self.failed.remove(name),
                false => self.failed.insert(name),
            };
            let stays = |group: &str| works && self.failed.contains(group);
            let on_it =
                |group: &str| (group == name || self.host_of(group) == Some(name)) && !stays(group);
            for load in self.loads(on_it) {
                let change = if works { Change::LoadStart(load) } else { Change::LoadStop(load) };
                self.draft.network().change(at, change);
            }
        }
        is_member
    }

    /// A VM stops and continues on another host.
    fn go(&mut self, at: Ps, vm: &'a str, to: &'a str) -> Result<(), LabError> {
        let stun = Ps::from_secs_f64(defaults::stun().noted(self.draft, vm));
        let (loads, then) = (self.loads(|group| group == vm), at.plus(stun));
        loads.iter().for_each(|load| self.draft.network().change(at, Change::LoadStop(*load)));
        self.arms_of(vm, |host| host != to, then, false);
        if !self.arms_of(vm, |host| host == to, then, true) {
            return Err(LabError::NoMove { vm: vm.to_owned(), to: to.to_owned() });
        }
        self.moved.insert(vm, to);
        if !self.failed.contains(vm) && !self.failed.contains(to) {
            loads
                .iter()
                .for_each(|load| self.draft.network().change(then, Change::LoadStart(*load)));
        }
        Ok(())
    }

    /// The paths of a VM from certain hosts fail or recover; whether there are any.
    fn arms_of(&mut self, vm: &str, from: impl Fn(&str) -> bool, at: Ps, works: bool) -> bool {
        let mut any = false;
        let ways = self.topology.ways.iter().enumerate().filter(|(_, way)| way.member == vm);
        for (way, of) in ways {
            let Some(Some(selector)) = self.front.selectors().get(way).copied() else { continue };
            for (arm, path) in (0..).zip(&of.paths) {
                if self.leaves_from(path).is_some_and(&from) {
                    any = true;
                    self.arm(at, selector, arm, works);
                }
            }
        }
        any
    }

    fn arm(&mut self, at: Ps, selector: SelectorId, arm: u32, works: bool) {
        if !self.asked.contains(&selector) {
            return;
        }
        let change = match works {
            true => Change::ArmUp { selector, arm },
            false => Change::ArmDown { selector, arm },
        };
        self.draft.network().change(at, change);
    }

    /// The host from which a path leaves.
    fn leaves_from(&self, path: &Route) -> Option<&'a str> {
        let mut hops = path.hops.iter().map(|hop| self.topology.hop(*hop));
        hops.find(|hop| hop.kind == HopKind::Adapter || hop.kind == HopKind::InitiatorPort)
            .map(|hop| hop.device.as_str())
    }

    /// The current host of a VM.
    fn host_of(&self, vm: &str) -> Option<&'a str> {
        if let Some(to) = self.moved.get(vm) {
            return Some(to);
        }
        let vm = self.scenario.lab.vms.iter().find(|known| known.name == vm)?;
        vm.host.as_deref()
    }

    fn loads(&self, on: impl Fn(&str) -> bool) -> Vec<LoadId> {
        let issuers = self.draft.issuers().iter();
        issuers.filter(|issuer| on(&issuer.group)).map(|issuer| issuer.load).collect()
    }
}
