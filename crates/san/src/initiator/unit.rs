//! A target of a queue: one unit and its state on each path; and the bundle of paths that the units of a target share.

use super::multipath::{AccessState, Chooser, LunUse, Mask, PathOptions, PathTable, UnitPathState};
use super::operations::LunOperations;
use clock::Ns;
use disk::{Arena, Io};
use iscsi::initiator::{Cdb, Command, Transfer};
use iscsi::pdu::{Lun, TaskAttribute};
use std::sync::Arc;
use workload::Dir;

/// Units that share their sessions: a session for each portal of their URL.
pub(super) struct Bundle {
    /// Its first session in the queue.
    pub first: usize,
    /// How many sessions it has.
    pub paths: usize,
    /// The units.
    pub luns: Vec<LunUse>,
    /// The same as targets of the queue.
    pub targets: Vec<usize>,
    /// What is known of its paths to those who rescue one.
    pub table: Arc<PathTable>,
    /// How long an I/O waits while no path can carry it.
    pub wait: Ns,
    /// Why its last path was lost.
    pub errno: i32,
}

impl Bundle {
    /// Whether a lost path is reconnected. The only path of a unit without a retry time is not.
    pub fn tries(&self) -> bool {
        self.paths > 1 || self.wait > Ns::ZERO
    }
}

pub(super) struct TargetUnit {
    /// Its bundle.
    pub bundle: usize,
    /// The session of its first path.
    pub first: usize,
    /// What it said by each path.
    pub path_states: Vec<UnitPathState>,
    /// The paths that can be used, all in the best state.
    pub usable: Mask,
    pub chooser: Chooser,
    /// Its access states have to be read again.
    pub stale: bool,
    /// When they have to be read again; [`Ns::MAX`]: when something happens.
    pub recheck: Ns,
    lun: Lun,
    block: u32,
    blocks: u64,
    /// It is written to.
    pub writes: bool,
    operations: LunOperations,
}

impl TargetUnit {
    /// A unit of a bundle, no path of which has been probed.
    pub fn new(bundle: usize, first: usize, used: &LunUse, options: &PathOptions) -> TargetUnit {
        let facts = used.lun.facts();
        TargetUnit {
            bundle,
            first,
            path_states: vec![UnitPathState::default(); used.lun.url().portals.len()],
            usable: 0,
            chooser: Chooser::new(options),
            stale: false,
            recheck: Ns::MAX,
            lun: used.lun.address(),
            block: facts.block,
            blocks: facts.blocks,
            writes: used.writes,
            operations: facts.operations,
        }
    }

    /// Its address.
    pub fn address(&self) -> Lun {
        self.lun
    }

    /// The command of an I/O, with its data in the slot's buffer, or the error number of what cannot be.
    #[inline]
    pub fn command(&self, io: &Io, arena: &Arena) -> Result<Command, i32> {
        if !io.dir.moves_data() {
            return self.without_data(io, arena);
        }
        let room = arena.slot_bytes();
        let block = u64::from(self.block);
        let (lba, blocks) = (io.offset / block, u64::from(io.len) / block);
        let whole = io.offset.is_multiple_of(block)
            && u64::from(io.len).is_multiple_of(block)
            && io.len > 0;
        let end = lba.checked_add(blocks).ok_or(libc::EINVAL)?;
        if !whole || end > self.blocks || io.len as usize > room {
            return Err(libc::EINVAL);
        }
        let (cdb, transfer) = match io.dir {
            Dir::Read => (Cdb::read(lba, blocks as u32), Transfer::In(io.len)),
            _ if !self.writes => return Err(libc::EBADF),
            _ => {
                let cdb = Cdb::write(lba, blocks as u32);
                (if io.fua { cdb.forced() } else { cdb }, Transfer::Out(io.len))
            }
        };
        Ok(Command { lun: self.lun, cdb, transfer, attribute: TaskAttribute::Simple })
    }

    /// The command of a trim, of zeroes or of a flush.
    fn without_data(&self, io: &Io, arena: &Arena) -> Result<Command, i32> {
        if !self.writes {
            return Err(libc::EBADF);
        }
        let block = u64::from(self.block);
        let (lba, blocks) = (io.offset / block, u64::from(io.len) / block);
        let end = lba.checked_add(blocks).ok_or(libc::EINVAL)?;
        let whole = io.offset.is_multiple_of(block) && u64::from(io.len).is_multiple_of(block);
        if !whole || end > self.blocks || self.block as usize > arena.slot_bytes() {
            return Err(libc::EINVAL);
        }
        let base = arena.slot(io.slot).ok_or(libc::EINVAL)?;
        // SAFETY: the slot is mapped and at least a block long; its I/O, which alone may use it, has not been sent.
        let buffer = unsafe { std::slice::from_raw_parts_mut(base, self.block as usize) };
        let command = match io.dir {
            Dir::Trim => self.operations.trim(lba, blocks as u32, buffer),
            Dir::Zero => self.operations.zeroes(lba, blocks as u32, buffer),
            _ => Some((Cdb::SYNCHRONIZE, Transfer::None)),
        };
        let (cdb, transfer) = command.ok_or(libc::EINVAL)?;
        Ok(Command { lun: self.lun, cdb, transfer, attribute: TaskAttribute::Simple })
    }

    /// Determines the usable paths: open ones in the best state; busy ones are left out if the policy allows others.
    pub fn refresh(&mut self, open: Mask, busy: Mask) {
        let carrying = self
            .path_states
            .iter()
            .enumerate()
            .filter(|(path, look)| open & (1 << path) != 0 && look.state.carries());
        let best = carrying.clone().map(|(_, look)| look.state).min();
        self.usable = carrying
            .filter(|(_, look)| Some(look.state) == best)
            .fold(0, |mask: Mask, (path, _)| mask | 1 << path);
        let idle = self.usable & !busy;
        if self.chooser.avoids_busy() && idle != 0 {
            self.usable = idle;
        }
    }

    /// Takes in an answer to REPORT TARGET PORT GROUPS; `changed` is called for each path with its new state.
    pub fn report(&mut self, report: &[u8], mut changed: impl FnMut(usize, AccessState)) {
        for (path, look) in self.path_states.iter_mut().enumerate() {
            let found = look.port.and_then(|port| port.state(report));
            if let Some(state) = found.filter(|state| *state != look.state) {
                look.state = state;
                changed(path, state);
            }
        }
    }

    /// Whether a path may be better by itself after a while.
    pub fn is_unsettled(&self) -> bool {
        self.path_states.iter().any(|look| look.state == AccessState::Transitioning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The usable paths of a unit with these states, by policy.
    #[track_caller]
    fn check(policy: &str, states: &[AccessState], open: Mask, busy: Mask, wanted: Mask) {
        let mut options = PathOptions::default();
        assert_eq!(options.set("policy", policy), Some(Ok(())));
        let path_states =
            states.iter().map(|state| UnitPathState { state: *state, ..UnitPathState::default() });
        let mut target = TargetUnit {
            bundle: 0,
            first: 0,
            path_states: path_states.collect(),
            usable: 0,
            chooser: Chooser::new(&options),
            stale: false,
            recheck: Ns::MAX,
            lun: Lun::new(0),
            block: 512,
            blocks: 8,
            writes: false,
            operations: LunOperations::default(),
        };
        target.refresh(open, busy);
        assert_eq!(target.usable, wanted, "{policy} {states:?} {open:b} {busy:b}");
    }

    #[test]
    fn the_best_state_is_used_and_a_passive_one_never() {
        use AccessState::{NonOptimized, Optimized, Standby, Transitioning, Unavailable};
        check("fixed", &[Optimized, Optimized], 0b11, 0, 0b11);
        check("fixed", &[NonOptimized, Optimized], 0b11, 0, 0b10);
        check("fixed", &[NonOptimized, Optimized], 0b01, 0, 0b01);
        check("fixed", &[Standby, Unavailable], 0b11, 0, 0);
        check("fixed", &[Transitioning, NonOptimized], 0b11, 0, 0b10);
        check("fixed", &[Optimized, Optimized], 0b11, 0b01, 0b11);
        check("round-robin", &[Optimized, Optimized], 0b11, 0b01, 0b10);
        check("least-queue", &[Optimized, Optimized], 0b11, 0b11, 0b11);
        check("round-robin", &[Optimized, Optimized], 0, 0, 0);
    }
}
