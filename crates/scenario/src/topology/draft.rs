//! A topology under construction: hops by their names, and the bounds on its size and work.

use super::{Hop, HopId, HopKind, Topology};
use crate::diagnostics::{Mistake, Sink, Span};
use std::collections::BTreeMap;

/// Hops of a lab, at most.
const HOPS_MAX: usize = 200_000;
/// Steps of the search for paths in all: each hop that a path goes through, or could have gone through, is one.
const WORK_MAX: u64 = 5_000_000;
/// Paths of one disk, at most. Hosts take far fewer: 8 to 32 a LUN.
pub(super) const PATHS_MAX: usize = 256;

/// A topology under construction.
#[derive(Default)]
pub(super) struct TopologyDraft {
    pub topology: Topology,
    by_name: BTreeMap<String, HopId>,
    work: u64,
    full: bool,
}

impl TopologyDraft {
    /// The hop of that name, created where it is missing. `None` once the lab is larger than allowed.
    pub fn hop(
        &mut self,
        name: String,
        kind: HopKind,
        device: &str,
        part: Option<&str>,
        count: u32,
    ) -> Option<HopId> {
        if let Some(known) = self.by_name.get(&name) {
            return Some(*known);
        }
        let id = HopId(u32::try_from(self.topology.hops.len()).ok()?);
        if self.topology.hops.len() >= HOPS_MAX {
            return None;
        }
        self.by_name.insert(name.clone(), id);
        let (device, part) = (device.to_owned(), part.map(str::to_owned));
        self.topology.hops.push(Hop { name, kind, device, part, count });
        Some(id)
    }

    /// Whether there is still room for so many steps of work; a lack is reported once, at `at`.
    pub fn afford(&mut self, steps: usize, at: Span, sink: &mut Sink) -> bool {
        self.work = self.work.saturating_add(steps as u64);
        let room = self.work <= WORK_MAX && self.topology.hops.len() < HOPS_MAX;
        // Once is enough: all later ones are short of room for the same reason.
        if !room && !std::mem::replace(&mut self.full, true) {
            sink.push(|| {
                let message = format!(
                    "the lab is larger than can be simulated: {HOPS_MAX} hops, and {WORK_MAX} steps on the ways through them"
                );
                Mistake::new(at, message).help("select the paths to use with [[path]], or remove what no disk uses")
            });
        }
        room
    }
}
