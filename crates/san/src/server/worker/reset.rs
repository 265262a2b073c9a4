//! Functions that reach beyond their session: CLEAR TASK SET, the resets, and PREEMPT AND ABORT.
//!
//! Who asks writes to every thread, itself among them, and goes on with its work. Each thread aborts what it owns, answers
//! when no volume works on any of it, and the function is answered when all have. Nobody waits in between, so two that
//! reset each other both get their answer.

use super::Worker;
use super::bench::{Bench, Sweeping};
use super::seat::Seat;
use crate::server::event::Drop;
use crate::server::letters::{Sweep, Ticket, ToWorker, Waiter};
use iscsi::pdu::{Lun, TaskFunction, TaskOutcome};
use iscsi::scsi::{Ending, Nexus, Status, UnitAttention};
use iscsi::target::{Management, TaskScope};
use std::sync::Arc;

impl Seat {
    /// A task management function; those of this session within its scope are gone already.
    pub fn manage(&mut self, bench: &mut Bench, management: Management) {
        let Management { handle, function, lun, .. } = management;
        let unit = bench.shared.device.index(lun.0);
        let (session, tsih) = (self.key, self.tsih);
        let about_lun =
            !matches!(function, TaskFunction::TargetWarmReset | TaskFunction::TargetColdReset);
        if about_lun && unit.is_none() {
            return self.session.managed(handle, TaskOutcome::NoLun);
        }
        let attention = match function {
            TaskFunction::ClearTaskSet => Some((unit, UnitAttention::CommandsCleared)),
            TaskFunction::LogicalUnitReset => Some((unit, UnitAttention::DeviceReset)),
            TaskFunction::TargetWarmReset => Some((None, UnitAttention::BusReset)),
            TaskFunction::TargetColdReset => Some((None, UnitAttention::PowerOn)),
            // Those of this session are all there is to them.
            _ => return self.session.managed(handle, TaskOutcome::Complete),
        };
        let cold = function == TaskFunction::TargetColdReset;
        let waiter = Waiter::Function { session, tsih, handle, attention, cold };
        bench.ask_sweep(waiter, about_lun.then_some(lun), None, tsih, cold);
    }

    /// Aborts tasks for another session. Their initiator is told so where the control mode page asks for it (TAS).
    fn abort(&mut self, bench: &mut Bench, lun: Option<Lun>) {
        let units = bench.shared.device.units();
        let told = |lun: Lun, nexus: &Nexus| {
            let unit = bench.shared.device.index(lun.0).and_then(|index| units.get(index));
            let told = unit.is_some_and(|unit| unit.view(nexus).task_aborted);
            told.then_some(Ending::bare(Status::TaskAborted))
        };
        match lun {
            Some(lun) => {
                let ending = told(lun, &self.nexus);
                self.session.abort(TaskScope::Lun(lun), ending);
            }
            None => {
                for lun in (0..units.len() as u16).map(Lun::new) {
                    let ending = told(lun, &self.nexus);
                    self.session.abort(TaskScope::Lun(lun), ending);
                }
                // Those that address no unit.
                self.session.abort(TaskScope::All, None);
            }
        }
        self.events(bench);
    }

    fn swept(&mut self, bench: &mut Bench, waiter: Waiter) {
        match waiter {
            Waiter::Function { tsih, handle, attention, cold, .. } => {
                if let Some((unit, attention)) = attention {
                    bench.raise(unit, attention, &self.nexus);
                }
                if self.tsih == tsih {
                    self.session.managed(handle, TaskOutcome::Complete);
                    if cold {
                        // RFC 7143, 11.5.1: connections end, this one's too, which hears of it first.
                        self.session.close_all();
                    }
                }
            }
            Waiter::Task { task, keep, .. } => self.keep(bench, task, keep),
        }
        self.events(bench);
    }
}

impl Bench {
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
        let ticket = Ticket { worker: self.thread, number };
        let sweep = Arc::new(Sweep { ticket, lun, nexuses, except, drop });
        self.asked.insert(number, (waiter, self.shared.workers.len()));
        for worker in &self.shared.workers {
            worker.send(ToWorker::Sweep(Arc::clone(&sweep)));
        }
    }

    /// Raises a unit attention on the paths that it is for.
    fn raise(&self, unit: Option<usize>, attention: UnitAttention, by: &Nexus) {
        let units = self.shared.device.units();
        let units = unit.map_or(units, |unit| &units[unit..=unit]);
        for unit in units {
            match attention {
                UnitAttention::CommandsCleared => unit.cleared(by),
                attention => unit.reset(attention),
            }
        }
    }

    fn answer(&self, ticket: Ticket) {
        if let Some(worker) = self.shared.workers.get(ticket.worker) {
            worker.send(ToWorker::Swept(ticket));
        }
    }
}

impl Worker {
    /// Aborts this thread's part of what somebody asked for.
    pub(super) fn sweep(&mut self, sweep: &Sweep) {
        let scope = sweep.lun.map_or(TaskScope::All, TaskScope::Lun);
        let mut seats = Vec::new();
        self.each(|seat, bench| {
            let meant = sweep.nexuses.as_ref().is_none_or(|nexuses| nexuses.contains(&seat.nexus));
            if seat.tsih == sweep.except || !meant {
                return;
            }
            if sweep.drop {
                seat.drop_all(bench, &Drop::Reset);
            } else {
                seat.abort(bench, sweep.lun);
            }
            if seat.session.running(scope) > 0 {
                seats.push(seat.key);
            }
        });
        if seats.is_empty() {
            self.bench.answer(sweep.ticket);
        } else {
            self.bench.sweeping.push(Sweeping { ticket: sweep.ticket, scope, seats });
        }
    }

    /// Looks again at sweeps whose sessions have finished tasks.
    pub(super) fn recheck(&mut self) {
        for key in std::mem::take(&mut self.bench.recheck) {
            let seats = &mut self.seats;
            for sweeping in &mut self.bench.sweeping {
                let scope = sweeping.scope;
                let works = seats.get_mut(key).is_some_and(|seat| seat.session.running(scope) > 0);
                if !works {
                    sweeping.seats.retain(|seat| *seat != key);
                }
            }
        }
        let over: Vec<Sweeping> =
            self.bench.sweeping.extract_if(.., |sweeping| sweeping.seats.is_empty()).collect();
        for sweeping in over {
            self.bench.answer(sweeping.ticket);
        }
    }

    /// A thread has done its part of what this one asked for.
    pub(super) fn swept(&mut self, ticket: Ticket) {
        let Some((_, left)) = self.bench.asked.get_mut(&ticket.number) else { return };
        *left -= 1;
        if *left > 0 {
            return;
        }
        let Some((waiter, _)) = self.bench.asked.remove(&ticket.number) else { return };
        let (Waiter::Function { session, .. } | Waiter::Task { session, .. }) = waiter;
        match self.seats.get_mut(session) {
            Some(seat) => {
                seat.swept(&mut self.bench, waiter);
                self.bench.mark(seat);
            }
            // Whoever asked is gone; what was reset is told nevertheless.
            None => {
                if let Waiter::Function { attention: Some((unit, attention)), .. } = waiter {
                    let nobody = Nexus::new("", [0; 6], 0);
                    self.bench.raise(unit, attention, &nobody);
                }
            }
        }
    }
}
