//! The back end of an array's port: its controller, its cache, and the devices of a volume.

use super::draft::TopologyDraft;
use super::fabric::FabricNode;
use super::{HopId, HopKind};
use crate::embedded::drive_hop;
use crate::model::{Array, Lab, Part, PartKind, Volume};
use crate::simulated::{CacheMode, Medium};

/// Controllers of one array, at most: what its description allows.
const CONTROLLERS_MAX: u32 = 4096;

/// An array, with the parts of its hops.
pub(super) struct Behind<'a> {
    pub array: &'a Array,
    part: Option<&'a Part>,
    controllers: u32,
}

impl<'a> Behind<'a> {
    pub fn of(lab: &'a Lab, array: &'a Array) -> Behind<'a> {
        let part = array.part.as_deref().and_then(|name| lab.part(name));
        let figure = |name| part.and_then(|part| part.count(name));
        let controllers = figure("controllers").or_else(|| figure("engines"));
        let controllers = controllers.and_then(|n| u32::try_from(n).ok());
        let controllers = array.controllers.or(controllers).unwrap_or(1).clamp(1, CONTROLLERS_MAX);
        Behind { array, part, controllers }
    }

    /// The hops of the array itself, whether any way uses them or not.
    pub fn own(&self, draft: &mut TopologyDraft) -> Option<()> {
        for n in 0..self.controllers {
            self.controller(n, draft)?;
        }
        if self.has_cache() {
            self.cache(draft)?;
        }
        self.backend(draft);
        Some(())
    }

    /// The hops behind a port of the array, down to the devices of a volume; the `lun`-th of the array.
    pub fn way(
        &self,
        node: &FabricNode<'_>,
        port: u32,
        lun: &BackendLun<'_>,
        draft: &mut TopologyDraft,
    ) -> Option<Vec<HopId>> {
        // Ports are dealt to controllers in order: the first ones to the first.
        let ports = node.ports.unwrap_or(self.controllers).max(1);
        let controller = u64::from(port) * u64::from(self.controllers) / u64::from(ports);
        let controller = u32::try_from(controller).ok()?.min(self.controllers - 1);
        let mut hops = vec![self.controller(controller, draft)?];
        if self.is_tape() {
            hops.push(self.drive(lun, draft)?);
            return Some(hops);
        }
        let wanted = lun.volume.and_then(|volume| volume.cache);
        if wanted.map_or(self.has_cache(), |mode| mode != CacheMode::None) {
            hops.push(self.cache(draft)?);
        }
        hops.extend(self.backend(draft));
        hops.push(self.disks(lun, draft)?);
        Some(hops)
    }

    /// Drives of a tape library, where their number is known; `None` where it is none.
    pub fn drives(&self) -> Option<u64> {
        self.part.filter(|_| self.is_tape())?.count("drives")
    }

    pub fn is_tape(&self) -> bool {
        self.part.is_some_and(|part| part.kind == PartKind::Tape)
    }

    fn controller(&self, n: u32, draft: &mut TopologyDraft) -> Option<HopId> {
        let name = format!("{}.controller{n}", self.array.name);
        draft.hop(name, HopKind::Controller, &self.array.name, self.array.part.as_deref(), 1)
    }

    fn has_cache(&self) -> bool {
        let figures = ["cache", "hit_share", "cache_hit_time", "write_back"];
        let given = self.array.cache.is_some() || self.array.hit_share.is_some();
        given
            || self.part.is_some_and(|part| figures.iter().any(|name| part.figure(name).is_some()))
    }

    fn cache(&self, draft: &mut TopologyDraft) -> Option<HopId> {
        let name = format!("{}.cache", self.array.name);
        draft.hop(name, HopKind::Cache, &self.array.name, self.array.part.as_deref(), 1)
    }

    /// The connection of controllers and disks, where it is known.
    fn backend(&self, draft: &mut TopologyDraft) -> Option<HopId> {
        let part = self.part?;
        let known =
            ["backend_ports", "backend_port_rate"].iter().any(|name| part.figure(name).is_some());
        let ports = part.count("backend_ports").and_then(|n| u32::try_from(n).ok());
        let name = format!("{}.backend", self.array.name);
        let of = self.array.part.as_deref();
        known
            .then(|| draft.hop(name, HopKind::Backend, &self.array.name, of, ports.unwrap_or(1)))?
    }

    fn drive(&self, lun: &BackendLun<'_>, draft: &mut TopologyDraft) -> Option<HopId> {
        let drive = lun.name.rsplit_once('/').map_or(lun.name.as_str(), |(_, drive)| drive);
        let name = drive_hop(&self.array.name, drive);
        draft.hop(name, HopKind::TapeDrive, &self.array.name, self.array.part.as_deref(), 1)
    }

    /// The devices of a volume.
    pub fn disks(&self, lun: &BackendLun<'_>, draft: &mut TopologyDraft) -> Option<HopId> {
        let of_volume = lun.volume.and_then(|volume| volume.media.as_ref());
        let part = match of_volume.or(self.array.media.as_ref()) {
            Some(Medium::Part(part)) => Some(part.as_str()),
            _ => None,
        };
        let count = lun.volume.and_then(|volume| volume.disks).unwrap_or(1);
        let name = format!("{}.disks", lun.name);
        draft.hop(name, HopKind::Disks, &self.array.name, part, count)
    }
}

/// A volume of an array, defined or provided by it.
pub(super) struct BackendLun<'a> {
    /// `ARRAY/NAME`.
    pub name: String,
    pub volume: Option<&'a Volume>,
    /// Which of its array, from 0: those that are defined come first.
    pub number: u32,
}
