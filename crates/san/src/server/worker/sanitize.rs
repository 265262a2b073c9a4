//! SANITIZE: an operation that no abort, reset or end of a session stops (SBC-3, 4.11). It is a job of the thread; the
//! command only waits for it, and may be gone by then.

use super::Worker;
use super::context::{Context, JobToken};
use super::session::{TaskStage, WorkerSession};
use crate::volume::{Data, VolumeJob};
use clock::Ns;
use iscsi::scsi::{Ending, Medium, Sense, SenseKey};
use iscsi::target::TaskId;

/// An overwrite takes at least so long. Memory would be done at once, but initiators that started one look seconds later
/// whether it goes on, and take one that does not for one that never began.
const OVERWRITE: Ns = Ns::secs(8);

/// One that is under way.
pub(super) struct Sanitizing {
    unit: usize,
    not_before: Ns,
    /// The session and the task that wait for it.
    waiter: Option<(u32, TaskId)>,
    /// How the volume ended it.
    ended: Option<bool>,
}

impl WorkerSession {
    /// Starts one. `immediate`: its command ends now.
    pub fn sanitize(&mut self, ctx: &mut Context, task: TaskId, pattern: Vec<u8>, immediate: bool) {
        let Some(place) = self.place(task) else { return };
        let Some(unit) = place.unit else { return };
        place.phase = TaskStage::Sanitizing;
        let now = ctx.now;
        let not_before = if pattern.is_empty() { now } else { now.plus(OVERWRITE) };
        let waiter = (!immediate).then_some((self.key, task));
        ctx.sanitizing.push(Sanitizing { unit, not_before, waiter, ended: None });
        let token = JobToken::Background { unit: unit as u32, sanitize: true }.pack();
        let volume = ctx.volumes[unit].clone();
        let medium = Medium::Sanitize { pattern };
        ctx.background += 1;
        if let Some(done) = ctx.io.start(VolumeJob { token, volume, medium, data: Data::None }) {
            ctx.background_done(unit as u32, true, &done);
        }
        if immediate {
            self.end(ctx, task, Ending::GOOD);
        }
    }
}

impl Context {
    /// A volume has ended one; it is over when its time has elapsed too. There is one a unit.
    pub fn sanitize_ended(&mut self, unit: u32, well: bool) {
        let unit = unit as usize;
        if let Some(one) = self.sanitizing.iter_mut().find(|one| one.unit == unit) {
            one.ended = Some(well);
        }
    }
}

impl Worker {
    /// Tells of those that are over. Called every turn, and a turn is never longer than a tick.
    pub(super) fn sanitized(&mut self) {
        let now = self.ctx.now;
        let over = |one: &mut Sanitizing| one.ended.is_some() && one.not_before <= now;
        let done: Vec<Sanitizing> = self.ctx.sanitizing.extract_if(.., over).collect();
        for Sanitizing { unit, waiter, ended, .. } in done {
            let well = ended == Some(true);
            self.ctx.shared.device.units()[unit].sanitized(well);
            let failed = Ending::check(Sense::new(SenseKey::MediumError, 0x3103));
            let Some((session, task)) = waiter else { continue };
            if let Some(session) = self.sessions.get_mut(session) {
                session.waited(&mut self.ctx, task, if well { Ending::GOOD } else { failed });
            }
        }
    }
}
