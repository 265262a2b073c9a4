//! Execution of a command: the device server decides, a volume carries out, and the session answers.

use super::context::{Context, JobToken, TimedCommand};
use super::session::{TaskSlot, TaskStage, WorkerSession};
use crate::server::event::DropReason;
use crate::server::latency::TimedWay;
use crate::server::messages::Waiter;
use crate::volume::{Data, TapeUnit, VolumeJob};
use clock::Ns;
use iscsi::pdu::LogoutReason;
use iscsi::scsi::{Action, BlockRange, Ending, Medium, ScsiStatus, Sense, SenseKey, quick};
use iscsi::target::{CloseReason, Event, Request, TaskId};

/// More parameters no device server asks for.
const PARAMETERS: u32 = 64 << 10;

impl WorkerSession {
    /// Handles the events of the session.
    pub fn events(&mut self, ctx: &mut Context) {
        while let Some(event) = self.protocol.poll() {
            ctx.mark(self);
            match event {
                Event::Command(task) => self.command(ctx, task),
                Event::Data(task) => self.data_came(ctx, task),
                Event::Gone(task) => self.gone(ctx, task),
                Event::Manage(management) => self.manage(ctx, management),
                Event::Text { conn, text } => self.answer_text(ctx, conn, &text),
                Event::Pong(conn) => {
                    if let Some(connection) = self.connections[conn.index()].as_deref_mut() {
                        connection.watch.pinged = None;
                    }
                }
                Event::Resume(conn) => {
                    if let Some(connection) = self.connections[conn.index()].as_deref_mut() {
                        connection.again = true;
                    }
                }
                Event::Closed { conn, why } => {
                    // After the session is reported closed, its reservations must be free.
                    if why == CloseReason::Logout(LogoutReason::CloseSession) {
                        self.part(ctx);
                    }
                    if let Some(connection) = self.connections[conn.index()].as_deref_mut() {
                        connection.end = match why {
                            CloseReason::Logout(_) => None,
                            CloseReason::Violation(violation) => {
                                Some(DropReason::Protocol(violation.to_string()))
                            }
                            CloseReason::Lost => Some(DropReason::Closed),
                            CloseReason::Target => Some(DropReason::Reset),
                        };
                    }
                }
                Event::Over => self.over = true,
            }
        }
    }

    /// A command: its meaning, and the first step of it.
    fn command(&mut self, ctx: &mut Context, task: TaskId) {
        if self.discovery {
            // Nothing but text, pings and a logout belongs there (RFC 7143, 4.3).
            self.protocol.close_all();
            return self.protocol.finished(task);
        }
        let Some(request) = self.protocol.task(task) else { return };
        let cdb = short(request);
        let (lun, expected) = (request.lun, request.reads.max(request.writes));
        let unit = ctx.shared.device.index(lun.0);
        // A tape is written in the order of its commands.
        let in_order = |unit: usize| ctx.shared.device.units()[unit].is_passing();
        let ordered = is_ordered(request) || unit.is_some_and(in_order);
        let Some(port) = self.count_begin(ctx, request) else {
            return self.protocol.finished(task);
        };
        let busy = ctx.shared.ports[port].is_busy();
        let place = &mut self.tasks[task.slot()];
        let began = ctx.now;
        *place = TaskSlot { id: Some(task), unit, port, ordered, began, ..TaskSlot::default() };
        self.ordered += usize::from(ordered);
        if busy {
            return self.end(ctx, task, Ending::bare(ScsiStatus::Busy));
        }
        if let Some(index) = unit {
            let unit = &ctx.shared.device.units()[index];
            let view = &mut self.views[index];
            if view.generation != unit.generation() {
                *view = unit.view(&self.nexus);
            }
            if let Some(medium) = quick(&cdb, &unit.geometry(), view) {
                return self.medium(ctx, task, medium);
            }
        }
        let action = ctx.shared.device.begin(lun.0, &self.nexus, &cdb, expected);
        self.act(ctx, task, action);
    }

    /// Counts a command at its start, on the portal it arrived at.
    fn count_begin(&self, ctx: &Context, request: &Request) -> Option<usize> {
        let connection = self.connections[request.conn.index()].as_deref()?;
        let cell = connection.port.cell(ctx.thread);
        cell.begun.add(1);
        match (request.reads > 0, request.writes > 0) {
            (true, false) => cell.reads.add(1),
            (_, true) => cell.writes.add(1),
            (false, false) => cell.others.add(1),
        }
        Some(connection.port.index)
    }

    /// Does what the device server says.
    fn act(&mut self, ctx: &mut Context, task: TaskId, action: Action) {
        let place = &mut self.tasks[task.slot()];
        match action {
            Action::End(ending) => self.end(ctx, task, ending),
            Action::Reply(bytes) => {
                let len = bytes.len() as u32;
                place.data = Data::Bytes(bytes.into());
                self.reply(ctx, task, len, len, Ending::GOOD);
            }
            Action::Parameters(len) => {
                let len = len.min(PARAMETERS);
                place.data = Data::Bytes(vec![0; len as usize].into());
                place.phase = TaskStage::Parameters;
                let coming = self.protocol.take(task, len);
                if let Data::Bytes(bytes) = &mut self.tasks[task.slot()].data
                    && coming < len
                {
                    *bytes = bytes[..coming as usize].into();
                }
            }
            Action::Medium(Medium::Sanitize { pattern }) => {
                self.sanitize(ctx, task, pattern, false)
            }
            Action::Background(Medium::Sanitize { pattern }) => {
                self.sanitize(ctx, task, pattern, true)
            }
            Action::Medium(medium) => self.medium(ctx, task, medium),
            Action::Background(medium) => {
                let unit = place.unit;
                self.background(ctx, unit, medium);
                self.end(ctx, task, Ending::GOOD);
            }
            Action::Copy { list, segments } => {
                place.copy = Some(list);
                self.medium(ctx, task, Medium::Copy(segments));
            }
            Action::Reserved { keep, abort } => self.reserved(ctx, task, keep, abort),
        }
    }

    /// A volume is to do something: at once, or when the initiator's data for it has come.
    fn medium(&mut self, ctx: &mut Context, task: TaskId, medium: Medium) {
        let Some(request) = self.protocol.task(task) else { return };
        let place = &mut self.tasks[task.slot()];
        let Some(unit) = place.unit else { return };
        let block = ctx.shared.device.units()[unit].description().geometry.block;
        let needs = medium.bytes_in(block);
        if needs == 0 {
            let (medium, wanted) = cut_read(medium, block, request.reads);
            place.wanted = wanted;
            return self.start(ctx, task, medium);
        }
        let Ok(needs) = u32::try_from(needs) else {
            return self.end(
                ctx,
                task,
                Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2400)),
            );
        };
        let coming = needs.min(request.writes);
        let Some(medium) = cut_write(medium, block, coming) else {
            return self.end(
                ctx,
                task,
                Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2400)),
            );
        };
        if coming > 0 {
            let Some(buffer) = ctx.io.buffer(coming as usize) else {
                return self.end(ctx, task, Ending::bare(ScsiStatus::TaskSetFull));
            };
            place.data = Data::Buffer(buffer);
        }
        place.phase = match coming.is_multiple_of(block) {
            true => TaskStage::Taking(medium),
            false => TaskStage::Refusing,
        };
        self.protocol.take(task, needs);
    }

    /// All data that was asked for is in place.
    fn data_came(&mut self, ctx: &mut Context, task: TaskId) {
        let place = &mut self.tasks[task.slot()];
        match std::mem::take(&mut place.phase) {
            TaskStage::Taking(medium) => self.start(ctx, task, medium),
            TaskStage::Refusing => self.end(ctx, task, PART_OF_A_BLOCK),
            TaskStage::Parameters => {
                let bytes = match std::mem::take(&mut place.data) {
                    Data::Bytes(bytes) => bytes,
                    _ => Box::default(),
                };
                let Some(request) = self.protocol.task(task) else { return };
                let action = ctx.shared.device.parameters(
                    request.lun.0,
                    &self.nexus,
                    &short(request),
                    &bytes,
                );
                self.act(ctx, task, action);
            }
            phase => place.phase = phase,
        }
    }

    /// Has a volume do it, if it is the task's turn.
    fn start(&mut self, ctx: &mut Context, task: TaskId, medium: Medium) {
        if self.must_wait(task) {
            self.tasks[task.slot()].phase = TaskStage::Held(medium);
            self.held.push_back(task);
            return;
        }
        self.run(ctx, task, medium);
    }

    /// Has a volume do it, at once or when the limits of its way allow it.
    pub fn run(&mut self, ctx: &mut Context, task: TaskId, medium: Medium) {
        let place = &mut self.tasks[task.slot()];
        let Some(unit) = place.unit else { return };
        let block = ctx.shared.device.units()[unit].description().geometry.block;
        match ctx.shared.holds.until(unit, place.port, &medium, block, ctx.now) {
            None => self.carry_out(ctx, task, medium),
            Some(at) => {
                place.phase = TaskStage::Delayed(medium, at);
                ctx.delay(at, self.key, task);
            }
        }
    }

    /// A limit has held up a task long enough.
    pub fn release_delayed(&mut self, ctx: &mut Context, task: TaskId, at: Ns) {
        let Some(place) = self.place(task) else { return };
        match std::mem::take(&mut place.phase) {
            TaskStage::Delayed(medium, until) if until == at => self.carry_out(ctx, task, medium),
            other => place.phase = other,
        }
    }

    /// Has a volume do it.
    fn carry_out(&mut self, ctx: &mut Context, task: TaskId, medium: Medium) {
        let place = &mut self.tasks[task.slot()];
        let Some(unit) = place.unit else { return };
        let token = JobToken::Task { session: self.key, slot: task.slot() as u16 }.pack();
        let volume = ctx.volumes[unit].clone();
        let data = std::mem::take(&mut place.data);
        place.phase = TaskStage::Running;
        place.way = match &medium {
            Medium::Pass(command) if command.cdb[0] == 0x08 => Some(TimedWay::Read),
            Medium::Pass(command) if command.cdb[0] == 0x0a => Some(TimedWay::Write),
            Medium::Read(_) => Some(TimedWay::Read),
            Medium::Write { .. } => Some(TimedWay::Write),
            _ => None,
        };
        if let Some(done) = ctx.io.start(VolumeJob { token, volume, medium, data }) {
            self.done(ctx, task.slot() as u16, done.ending, done.data);
        }
    }

    /// A volume has done what it was asked for.
    pub fn done(&mut self, ctx: &mut Context, slot: u16, ending: Ending, data: Data) {
        let Some(place) = self.tasks.get_mut(usize::from(slot)) else { return };
        let Some(task) = place.id else { return };
        place.phase = TaskStage::Idle;
        if let (Some(list), Some(unit)) = (place.copy.take(), place.unit) {
            ctx.shared.device.units()[unit].copied(&self.nexus, list, &ending);
        }
        if place.over {
            return self.free(ctx, task);
        }
        let wanted = place.wanted;
        if let Some(unit) = place.unit.filter(|unit| ctx.volumes[*unit].tape().is_some()) {
            return self.passed(ctx, task, unit, ending, data);
        }
        if wanted > 0 && ending.status == ScsiStatus::Good {
            let len = data.len() as u32;
            place.data = data;
            return self.reply(ctx, task, len, wanted.max(len), ending);
        }
        drop(data);
        self.end(ctx, task, ending);
    }

    /// A unit of a library has executed a command: what it raised comes before its end. A tape that stops at a filemark, or
    /// reads a shorter block, moves data and has sense data too.
    fn passed(&mut self, ctx: &mut Context, task: TaskId, unit: usize, ending: Ending, data: Data) {
        let units = ctx.shared.device.units();
        for raised in ctx.volumes[unit].tape().into_iter().flat_map(TapeUnit::take_raised) {
            match (raised.distance, units.get(unit + raised.distance)) {
                (0, _) => units[unit].raise_for_others(raised.attention, &self.nexus),
                (_, Some(other)) => other.raise(raised.attention),
                (_, None) => {}
            }
        }
        let place = &mut self.tasks[task.slot()];
        if place.wanted == 0 || data.is_empty() {
            drop(data);
            return self.end(ctx, task, ending);
        }
        let len = data.len() as u32;
        place.data = data;
        self.reply(ctx, task, len, len, ending);
    }

    /// Work that goes on when its command has ended.
    fn background(&mut self, ctx: &mut Context, unit: Option<usize>, medium: Medium) {
        let Some(index) = unit else { return };
        let token = JobToken::Background { unit: index as u32, sanitize: false };
        let volume = ctx.volumes[index].clone();
        ctx.background += 1;
        if let Some(done) =
            ctx.io.start(VolumeJob { token: token.pack(), volume, medium, data: Data::None })
        {
            ctx.background_done(index as u32, false, &done);
        }
    }

    /// PERSISTENT RESERVE OUT took effect; what belongs to it comes before its end.
    fn reserved(
        &mut self,
        ctx: &mut Context,
        task: TaskId,
        keep: bool,
        abort: Vec<iscsi::scsi::Nexus>,
    ) {
        let Some(request) = self.protocol.task(task) else { return };
        let lun = request.lun;
        let place = &mut self.tasks[task.slot()];
        place.phase = TaskStage::Waiting;
        if !abort.is_empty() {
            let waiter = Waiter::Task { session: self.key, task, keep };
            ctx.ask_sweep(waiter, Some(lun), Some(abort), self.tsih, false);
        } else {
            self.keep(ctx, task, keep);
        }
    }

    /// The last step of PERSISTENT RESERVE OUT: what is kept over a restart is on its way to the backing store.
    pub fn keep(&mut self, ctx: &mut Context, task: TaskId, keep: bool) {
        let Some(unit) = self.place(task).and_then(|place| place.unit) else { return };
        let reservations = ctx.shared.reservations.as_ref().filter(|_| keep);
        match reservations {
            Some(reservations) => reservations.keep(unit, ctx.thread, self.key, task),
            None => self.kept(ctx, task, true),
        }
    }

    /// What was to be kept over a restart is, or is not.
    pub fn kept(&mut self, ctx: &mut Context, task: TaskId, well: bool) {
        // Internal target failure: the reservation stands, but would not survive a restart.
        let failed = Ending::check(Sense::new(SenseKey::HardwareError, 0x4400));
        self.waited(ctx, task, if well { Ending::GOOD } else { failed });
    }

    /// What a task waited for has come.
    pub fn waited(&mut self, ctx: &mut Context, task: TaskId, ending: Ending) {
        let Some(place) = self.place(task) else { return };
        place.phase = TaskStage::Idle;
        if place.over {
            return self.free(ctx, task);
        }
        self.end(ctx, task, ending);
        self.events(ctx);
    }

    /// What is known of a task that is still there.
    pub fn place(&mut self, task: TaskId) -> Option<&mut TaskSlot> {
        self.tasks.get_mut(task.slot()).filter(|place| place.id == Some(task))
    }

    fn reply(&mut self, ctx: &mut Context, task: TaskId, len: u32, wanted: u32, ending: Ending) {
        let descriptor = self.answer(ctx, task);
        self.protocol.reply(task, len, wanted, ending, descriptor);
        self.release_held(ctx);
    }

    /// Ends a task without data for its initiator.
    pub fn end(&mut self, ctx: &mut Context, task: TaskId, ending: Ending) {
        let descriptor = self.answer(ctx, task);
        self.protocol.end(task, ending, descriptor);
        self.release_held(ctx);
    }

    /// A task is about to be answered. Whether sense data goes out in descriptor format.
    fn answer(&mut self, ctx: &mut Context, task: TaskId) -> bool {
        let place = &mut self.tasks[task.slot()];
        let unit = place.unit;
        place.phase = TaskStage::Idle;
        place.answered = true;
        if std::mem::take(&mut place.ordered) {
            self.ordered -= 1;
        }
        ctx.mark(self);
        unit.is_some_and(|unit| self.views[unit].descriptor_sense)
    }

    /// The task is over for its initiator.
    fn gone(&mut self, ctx: &mut Context, task: TaskId) {
        let Some(place) = self.place(task) else { return self.protocol.finished(task) };
        place.over = true;
        if !matches!(place.phase, TaskStage::Running | TaskStage::Waiting) {
            place.phase = TaskStage::Idle;
        }
        if std::mem::take(&mut place.ordered) {
            self.ordered -= 1;
        }
        self.free(ctx, task);
        self.release_held(ctx);
    }

    /// Frees a task's slot if it is unused.
    pub fn free(&mut self, ctx: &mut Context, task: TaskId) {
        let Some(place) = self.place(task) else { return };
        if !place.is_idle() {
            return;
        }
        let port = place.port;
        if let (true, Some(way), Some(unit)) = (place.answered, place.way, place.unit) {
            ctx.timed.push(TimedCommand { began: place.began, way, port, unit });
        }
        *place = TaskSlot::default();
        if let Some(port) = ctx.shared.ports.get(port) {
            port.cell(ctx.thread).ended.add(1);
        }
        self.protocol.finished(task);
        if !ctx.sweeping.is_empty() {
            ctx.recheck.push(self.key);
        }
        ctx.mark(self);
    }
}

/// The first sixteen bytes of a command.
fn short(request: &Request) -> iscsi::scsi::CdbBytes {
    let mut cdb = [0; 16];
    let bytes = request.cdb.bytes();
    let len = bytes.len().min(16);
    cdb[..len].copy_from_slice(&bytes[..len]);
    cdb
}

fn is_ordered(request: &Request) -> bool {
    request.attribute == iscsi::pdu::TaskAttribute::Ordered
}

/// Reads no more blocks than the initiator has room for; and how many bytes SCSI would move.
fn cut_read(medium: Medium, block: u32, room: u32) -> (Medium, u32) {
    match medium {
        Medium::Read(BlockRange { lba, blocks }) => {
            let wanted = u32::try_from(blocks * u64::from(block)).unwrap_or(u32::MAX);
            let blocks = blocks.min(u64::from(room.div_ceil(block)));
            (Medium::Read(BlockRange { lba, blocks }), wanted)
        }
        Medium::Pass(command) => {
            let wanted = command.data_in;
            (Medium::Pass(command), wanted)
        }
        Medium::LbaStatus { lba, len } => (Medium::LbaStatus { lba, len }, len),
        other => (other, 0),
    }
}

/// The initiator sends a part of a block. None of its data is written: INVALID FIELD IN COMMAND INFORMATION UNIT, as
/// FCP-4 has it for lengths that differ.
const PART_OF_A_BLOCK: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x0e03));

/// Writes no more blocks than the initiator sends. `None`: with so little nothing sensible can be done.
fn cut_write(medium: Medium, block: u32, coming: u32) -> Option<Medium> {
    let cut = |extent: BlockRange| BlockRange {
        blocks: extent.blocks.min(u64::from(coming / block)),
        ..extent
    };
    Some(match medium {
        Medium::Write { to, durable } => Medium::Write { to: cut(to), durable },
        Medium::WriteVerify { to, compare } => Medium::WriteVerify { to: cut(to), compare },
        Medium::Or { at, durable } => Medium::Or { at: cut(at), durable },
        Medium::Compare { with, one: false } => Medium::Compare { with: cut(with), one: false },
        whole if whole.bytes_in(block) == u64::from(coming) => whole,
        _ => return None,
    })
}
