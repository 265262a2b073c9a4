//! Functions that reach beyond their session: CLEAR TASK SET, the resets, and PREEMPT AND ABORT.
//!
//! The requesting worker sends a message to every thread, itself included, and goes on with its work. Each thread aborts its own
//! tasks and answers when no volume works on them; the function completes when all threads have answered. No thread waits in
//! between, so two sessions that reset each other both get their answer.

use super::Worker;
use super::context::{Context, Sweeping};
use super::session::WorkerSession;
use crate::server::event::DropReason;
use crate::server::messages::{AbortScope, SweepId, ToWorker, Waiter};
use crate::volume::UnitOrder;
use iscsi::pdu::{Lun, TaskFunction, TaskOutcome};
use iscsi::scsi::{Ending, Nexus, ScsiStatus, UnitAttention};
use iscsi::target::{Management, TaskScope};
use std::sync::Arc;

impl WorkerSession {
    /// A task management function; those of this session within its scope are gone already.
    pub fn manage(&mut self, ctx: &mut Context, management: Management) {
        let Management { handle, function, lun, .. } = management;
        let unit = ctx.shared.device.index(lun.0);
        let (session, tsih) = (self.key, self.tsih);
        let about_lun =
            !matches!(function, TaskFunction::TargetWarmReset | TaskFunction::TargetColdReset);
        if about_lun && unit.is_none() {
            return self.protocol.managed(handle, TaskOutcome::NoLun);
        }
        let attention = match function {
            TaskFunction::ClearTaskSet => Some((unit, UnitAttention::CommandsCleared)),
            TaskFunction::LogicalUnitReset => Some((unit, UnitAttention::DeviceReset)),
            TaskFunction::TargetWarmReset => Some((None, UnitAttention::BusReset)),
            TaskFunction::TargetColdReset => Some((None, UnitAttention::PowerOn)),
            // Those of this session are all there is to them.
            _ => return self.protocol.managed(handle, TaskOutcome::Complete),
        };
        let cold = function == TaskFunction::TargetColdReset;
        let waiter = Waiter::Function { session, tsih, handle, attention, cold };
        ctx.ask_sweep(waiter, about_lun.then_some(lun), None, tsih, cold);
    }

    /// Aborts tasks for another session. Their initiator is notified where the control mode page asks for it (TAS).
    fn abort(&mut self, ctx: &mut Context, lun: Option<Lun>) {
        let units = ctx.shared.device.units();
        let stat_sn = |lun: Lun, nexus: &Nexus| {
            let unit = ctx.shared.device.index(lun.0).and_then(|index| units.get(index));
            let stat_sn = unit.is_some_and(|unit| unit.view(nexus).task_aborted);
            stat_sn.then_some(Ending::bare(ScsiStatus::TaskAborted))
        };
        match lun {
            Some(lun) => {
                let ending = stat_sn(lun, &self.nexus);
                self.protocol.abort(TaskScope::Lun(lun), ending);
            }
            None => {
                for lun in (0..units.len() as u16).map(Lun::new) {
                    let ending = stat_sn(lun, &self.nexus);
                    self.protocol.abort(TaskScope::Lun(lun), ending);
                }
                // Those that address no unit.
                self.protocol.abort(TaskScope::All, None);
            }
        }
        self.events(ctx);
    }

    fn swept(&mut self, ctx: &mut Context, waiter: Waiter) {
        match waiter {
            Waiter::Function { tsih, handle, attention, cold, .. } => {
                if let Some((unit, attention)) = attention {
                    ctx.raise(unit, attention, &self.nexus);
                }
                if self.tsih == tsih {
                    self.protocol.managed(handle, TaskOutcome::Complete);
                    if cold {
                        // RFC 7143, 11.5.1: connections end, this one's too, which is notified first.
                        self.protocol.close_all();
                    }
                }
            }
            Waiter::Task { task, keep, .. } => self.keep(ctx, task, keep),
        }
        self.events(ctx);
    }
}

impl Context {
    /// Asks all threads to abort tasks.
    pub fn ask_sweep(
        &mut self,
        waiter: Waiter,
        lun: Option<Lun>,
        nexuses: Option<Vec<Nexus>>,
        except: u16,
        drop: bool,
    ) {
        let number = self.next_ticket;
        self.next_ticket += 1;
        let id = SweepId { worker: self.thread, number };
        let sweep = Arc::new(AbortScope { id, lun, nexuses, except, drop });
        self.asked.insert(number, (waiter, self.shared.workers.len()));
        for worker in &self.shared.workers {
            worker.send(ToWorker::Sweep(Arc::clone(&sweep)));
        }
    }

    /// Raises a unit attention on the paths that it is for.
    fn raise(&self, unit: Option<usize>, attention: UnitAttention, by: &Nexus) {
        let units = self.shared.device.units();
        let range = unit.map_or(0..units.len(), |unit| unit..unit + 1);
        for (unit, volume) in units[range.clone()].iter().zip(&self.shared.volumes[range]) {
            match attention {
                UnitAttention::CommandsCleared => unit.cleared(by),
                attention => {
                    unit.reset(attention);
                    if let Some(tape) = volume.tape() {
                        tape.order(UnitOrder::Reset);
                    }
                }
            }
        }
    }

    fn answer(&self, id: SweepId) {
        if let Some(worker) = self.shared.workers.get(id.worker) {
            worker.send(ToWorker::Swept(id));
        }
    }
}

impl Worker {
    /// Aborts this thread's part of a sweep.
    pub(super) fn sweep(&mut self, sweep: &AbortScope) {
        let scope = sweep.lun.map_or(TaskScope::All, TaskScope::Lun);
        let mut sessions = Vec::new();
        self.each(|session, ctx| {
            let meant =
                sweep.nexuses.as_ref().is_none_or(|nexuses| nexuses.contains(&session.nexus));
            if session.tsih == sweep.except || !meant {
                return;
            }
            if sweep.drop {
                session.drop_all(ctx, &DropReason::Reset);
            } else {
                session.abort(ctx, sweep.lun);
            }
            if session.protocol.running(scope) > 0 {
                sessions.push(session.key);
            }
        });
        if sessions.is_empty() {
            self.ctx.answer(sweep.id);
        } else {
            self.ctx.sweeping.push(Sweeping { id: sweep.id, scope, sessions });
        }
    }

    /// Looks again at sweeps whose sessions have finished tasks.
    pub(super) fn recheck(&mut self) {
        for key in std::mem::take(&mut self.ctx.recheck) {
            let sessions = &mut self.sessions;
            for sweeping in &mut self.ctx.sweeping {
                let scope = sweeping.scope;
                let works = sessions
                    .get_mut(key)
                    .is_some_and(|session| session.protocol.running(scope) > 0);
                if !works {
                    sweeping.sessions.retain(|session| *session != key);
                }
            }
        }
        let over: Vec<Sweeping> =
            self.ctx.sweeping.extract_if(.., |sweeping| sweeping.sessions.is_empty()).collect();
        for sweeping in over {
            self.ctx.answer(sweeping.id);
        }
    }

    /// A thread has done its part of what this one asked for.
    pub(super) fn swept(&mut self, id: SweepId) {
        let Some((_, left)) = self.ctx.asked.get_mut(&id.number) else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        let Some((waiter, _)) = self.ctx.asked.remove(&id.number) else { return };
        let (Waiter::Function { session, .. } | Waiter::Task { session, .. }) = waiter;
        match self.sessions.get_mut(session) {
            Some(session) => {
                session.swept(&mut self.ctx, waiter);
                self.ctx.mark(session);
            }
            // The requester is gone; the reset is reported nevertheless.
            None => {
                if let Waiter::Function { attention: Some((unit, attention)), .. } = waiter {
                    let nobody = Nexus::new("", [0; 6], 0);
                    self.ctx.raise(unit, attention, &nobody);
                }
            }
        }
    }
}
