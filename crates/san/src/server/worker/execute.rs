//! From a command to its end: what the device server decides, a volume carries out, and the session answers.

use super::bench::{Bench, Token};
use super::seat::{Phase, Place, Seat};
use crate::server::event::Drop;
use crate::server::letters::Waiter;
use crate::volume::{Data, Job};
use iscsi::pdu::LogoutReason;
use iscsi::scsi::{Action, BlockRange, Ending, Medium, Sense, SenseKey, Status, quick};
use iscsi::target::{CloseReason, Event, Request, TaskId};

/// More parameters no device server asks for.
const PARAMETERS: u32 = 64 << 10;

impl Seat {
    /// Carries out what the session has to tell.
    pub fn events(&mut self, bench: &mut Bench) {
        while let Some(event) = self.session.poll() {
            bench.mark(self);
            match event {
                Event::Command(task) => self.command(bench, task),
                Event::Data(task) => self.data_came(bench, task),
                Event::Gone(task) => self.gone(bench, task),
                Event::Manage(management) => self.manage(bench, management),
                Event::Text { conn, text } => {
                    let answer = self.answer_text(bench, conn, &text);
                    self.session.text(conn, answer);
                }
                Event::Pong(conn) => {
                    if let Some(line) = self.lines[conn.index()].as_deref_mut() {
                        line.watch.pinged = None;
                    }
                }
                Event::Resume(conn) => {
                    if let Some(line) = self.lines[conn.index()].as_deref_mut() {
                        line.again = true;
                    }
                }
                Event::Closed { conn, why } => {
                    // Whoever hears that the session is closed may rely on what it had reserved being free.
                    if why == CloseReason::Logout(LogoutReason::CloseSession) {
                        self.part(bench);
                    }
                    if let Some(line) = self.lines[conn.index()].as_deref_mut() {
                        line.end = match why {
                            CloseReason::Logout(_) => None,
                            CloseReason::Violation(violation) => {
                                Some(Drop::Protocol(violation.to_string()))
                            }
                            CloseReason::Lost => Some(Drop::Closed),
                            CloseReason::Target => Some(Drop::Reset),
                        };
                    }
                }
                Event::Over => self.over = true,
            }
        }
    }

    /// A command: its meaning, and the first step of it.
    fn command(&mut self, bench: &mut Bench, task: TaskId) {
        if self.discovery {
            // Nothing but text, pings and a logout belongs there (RFC 7143, 4.3).
            self.session.close_all();
            return self.session.finished(task);
        }
        let Some(request) = self.session.task(task) else { return };
        let cdb = short(request);
        let (lun, expected, ordered) =
            (request.lun, request.reads.max(request.writes), is_ordered(request));
        let unit = bench.shared.device.index(lun.0);
        let Some(port) = self.count_begin(bench, request) else {
            return self.session.finished(task);
        };
        let busy = bench.shared.ports[port].is_busy();
        let place = &mut self.tasks[task.slot()];
        *place = Place { id: Some(task), unit, port, ordered, ..Place::default() };
        self.ordered += usize::from(ordered);
        if busy {
            return self.end(bench, task, Ending::bare(Status::Busy));
        }
        if let Some(index) = unit {
            let unit = &bench.shared.device.units()[index];
            let view = &mut self.views[index];
            if view.generation != unit.generation() {
                *view = unit.view(&self.nexus);
            }
            if let Some(medium) = quick(&cdb, &unit.description().geometry, view) {
                return self.medium(bench, task, medium);
            }
        }
        let action = bench.shared.device.begin(lun.0, &self.nexus, &cdb, expected);
        self.act(bench, task, action);
    }

    /// Counts a command that begins, at the portal by which it came.
    fn count_begin(&self, bench: &Bench, request: &Request) -> Option<usize> {
        let line = self.lines[request.conn.index()].as_deref()?;
        let cell = line.port.cell(bench.thread);
        cell.begun.add(1);
        match (request.reads > 0, request.writes > 0) {
            (true, false) => cell.reads.add(1),
            (_, true) => cell.writes.add(1),
            (false, false) => cell.others.add(1),
        }
        Some(line.port.index)
    }

    /// Does what the device server says.
    fn act(&mut self, bench: &mut Bench, task: TaskId, action: Action) {
        let place = &mut self.tasks[task.slot()];
        match action {
            Action::End(ending) => self.end(bench, task, ending),
            Action::Reply(bytes) => {
                let len = bytes.len() as u32;
                place.data = Data::Bytes(bytes.into());
                self.reply(bench, task, len, len, Ending::GOOD);
            }
            Action::Parameters(len) => {
                let len = len.min(PARAMETERS);
                place.data = Data::Bytes(vec![0; len as usize].into());
                place.phase = Phase::Parameters;
                let coming = self.session.take(task, len);
                if let Data::Bytes(bytes) = &mut self.tasks[task.slot()].data
                    && coming < len
                {
                    *bytes = bytes[..coming as usize].into();
                }
            }
            Action::Medium(Medium::Sanitize { pattern }) => {
                self.sanitize(bench, task, pattern, false)
            }
            Action::Background(Medium::Sanitize { pattern }) => {
                self.sanitize(bench, task, pattern, true)
            }
            Action::Medium(medium) => self.medium(bench, task, medium),
            Action::Background(medium) => {
                let unit = place.unit;
                self.background(bench, unit, medium);
                self.end(bench, task, Ending::GOOD);
            }
            Action::Copy { list, segments } => {
                place.copy = Some(list);
                self.medium(bench, task, Medium::Copy(segments));
            }
            Action::Reserved { keep, abort } => self.reserved(bench, task, keep, abort),
        }
    }

    /// A volume is to do something: at once, or when the initiator's data for it has come.
    fn medium(&mut self, bench: &mut Bench, task: TaskId, medium: Medium) {
        let Some(request) = self.session.task(task) else { return };
        let place = &mut self.tasks[task.slot()];
        let Some(unit) = place.unit else { return };
        let block = bench.shared.device.units()[unit].description().geometry.block;
        let needs = medium.bytes_in(block);
        if needs == 0 {
            let (medium, wanted) = cut_read(medium, block, request.reads);
            place.wanted = wanted;
            return self.start(bench, task, medium);
        }
        let Ok(needs) = u32::try_from(needs) else {
            return self.end(
                bench,
                task,
                Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2400)),
            );
        };
        let coming = needs.min(request.writes);
        let Some(medium) = cut_write(medium, block, coming) else {
            return self.end(
                bench,
                task,
                Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2400)),
            );
        };
        if coming > 0 {
            let Some(buffer) = bench.io.buffer(coming as usize) else {
                return self.end(bench, task, Ending::bare(Status::TaskSetFull));
            };
            place.data = Data::Buffer(buffer);
        }
        place.phase = Phase::Taking(medium);
        self.session.take(task, needs);
    }

    /// All data that was asked for is in place.
    fn data_came(&mut self, bench: &mut Bench, task: TaskId) {
        let place = &mut self.tasks[task.slot()];
        match std::mem::take(&mut place.phase) {
            Phase::Taking(medium) => self.start(bench, task, medium),
            Phase::Parameters => {
                let bytes = match std::mem::take(&mut place.data) {
                    Data::Bytes(bytes) => bytes,
                    _ => Box::default(),
                };
                let Some(request) = self.session.task(task) else { return };
                let action = bench.shared.device.parameters(
                    request.lun.0,
                    &self.nexus,
                    &short(request),
                    &bytes,
                );
                self.act(bench, task, action);
            }
            phase => place.phase = phase,
        }
    }

    /// Has a volume do it, if it is the task's turn.
    fn start(&mut self, bench: &mut Bench, task: TaskId, medium: Medium) {
        if self.must_wait(task) {
            self.tasks[task.slot()].phase = Phase::Held(medium);
            self.held.push_back(task);
            return;
        }
        self.run(bench, task, medium);
    }

    /// Has a volume do it.
    pub fn run(&mut self, bench: &mut Bench, task: TaskId, medium: Medium) {
        let place = &mut self.tasks[task.slot()];
        let Some(unit) = place.unit else { return };
        let token = Token::Task { seat: self.key, slot: task.slot() as u16 }.pack();
        let volume = bench.volumes[unit].clone();
        let data = std::mem::take(&mut place.data);
        place.phase = Phase::Running;
        if let Some(done) = bench.io.start(Job { token, volume, medium, data }) {
            self.done(bench, task.slot() as u16, done.ending, done.data);
        }
    }

    /// A volume has done what it was asked for.
    pub fn done(&mut self, bench: &mut Bench, slot: u16, ending: Ending, data: Data) {
        let Some(place) = self.tasks.get_mut(usize::from(slot)) else { return };
        let Some(task) = place.id else { return };
        place.phase = Phase::Idle;
        if let (Some(list), Some(unit)) = (place.copy.take(), place.unit) {
            bench.shared.device.units()[unit].copied(&self.nexus, list, &ending);
        }
        if place.over {
            return self.free(bench, task);
        }
        let wanted = place.wanted;
        if wanted > 0 && ending.status == Status::Good {
            let len = data.len() as u32;
            place.data = data;
            return self.reply(bench, task, len, wanted.max(len), ending);
        }
        drop(data);
        self.end(bench, task, ending);
    }

    /// Work that goes on when its command has ended.
    fn background(&mut self, bench: &mut Bench, unit: Option<usize>, medium: Medium) {
        let Some(index) = unit else { return };
        let token = Token::Background { unit: index as u32, sanitize: false };
        let volume = bench.volumes[index].clone();
        bench.background += 1;
        if let Some(done) =
            bench.io.start(Job { token: token.pack(), volume, medium, data: Data::None })
        {
            bench.background_done(index as u32, false, &done);
        }
    }

    /// PERSISTENT RESERVE OUT took effect; what belongs to it comes before its end.
    fn reserved(
        &mut self,
        bench: &mut Bench,
        task: TaskId,
        keep: bool,
        abort: Vec<iscsi::scsi::Nexus>,
    ) {
        let Some(request) = self.session.task(task) else { return };
        let lun = request.lun;
        let place = &mut self.tasks[task.slot()];
        place.phase = Phase::Waiting;
        if !abort.is_empty() {
            let waiter = Waiter::Task { session: self.key, task, keep };
            bench.ask_sweep(waiter, Some(lun), Some(abort), self.tsih, false);
        } else {
            self.keep(bench, task, keep);
        }
    }

    /// The last step of PERSISTENT RESERVE OUT: what is kept over a restart is on its way to the backing store.
    pub fn keep(&mut self, bench: &mut Bench, task: TaskId, keep: bool) {
        let Some(unit) = self.place(task).and_then(|place| place.unit) else { return };
        let keeper = bench.shared.keeper.as_ref().filter(|_| keep);
        match keeper {
            Some(keeper) => keeper.keep(unit, bench.thread, self.key, task),
            None => self.kept(bench, task, true),
        }
    }

    /// What was to be kept over a restart is, or is not.
    pub fn kept(&mut self, bench: &mut Bench, task: TaskId, well: bool) {
        // Internal target failure: the reservation stands, but would not survive a restart.
        let failed = Ending::check(Sense::new(SenseKey::HardwareError, 0x4400));
        self.waited(bench, task, if well { Ending::GOOD } else { failed });
    }

    /// What a task waited for has come.
    pub fn waited(&mut self, bench: &mut Bench, task: TaskId, ending: Ending) {
        let Some(place) = self.place(task) else { return };
        place.phase = Phase::Idle;
        if place.over {
            return self.free(bench, task);
        }
        self.end(bench, task, ending);
        self.events(bench);
    }

    /// What is known of a task that is still there.
    pub fn place(&mut self, task: TaskId) -> Option<&mut Place> {
        self.tasks.get_mut(task.slot()).filter(|place| place.id == Some(task))
    }

    fn reply(&mut self, bench: &mut Bench, task: TaskId, len: u32, wanted: u32, ending: Ending) {
        let descriptor = self.answer(bench, task);
        self.session.reply(task, len, wanted, ending, descriptor);
        self.release_held(bench);
    }

    /// Ends a task without data for its initiator.
    pub fn end(&mut self, bench: &mut Bench, task: TaskId, ending: Ending) {
        let descriptor = self.answer(bench, task);
        self.session.end(task, ending, descriptor);
        self.release_held(bench);
    }

    /// A task is about to be answered. Whether sense data goes out in descriptor format.
    fn answer(&mut self, bench: &mut Bench, task: TaskId) -> bool {
        let place = &mut self.tasks[task.slot()];
        let unit = place.unit;
        place.phase = Phase::Idle;
        if std::mem::take(&mut place.ordered) {
            self.ordered -= 1;
        }
        bench.mark(self);
        unit.is_some_and(|unit| self.views[unit].descriptor_sense)
    }

    /// The task is over for its initiator.
    fn gone(&mut self, bench: &mut Bench, task: TaskId) {
        let Some(place) = self.place(task) else { return self.session.finished(task) };
        place.over = true;
        if !matches!(place.phase, Phase::Running | Phase::Waiting) {
            place.phase = Phase::Idle;
        }
        if std::mem::take(&mut place.ordered) {
            self.ordered -= 1;
        }
        self.free(bench, task);
        self.release_held(bench);
    }

    /// Gives a task's place back if nobody touches it any more.
    pub fn free(&mut self, bench: &mut Bench, task: TaskId) {
        let Some(place) = self.place(task) else { return };
        if !place.is_idle() {
            return;
        }
        let port = place.port;
        *place = Place::default();
        if let Some(port) = bench.shared.ports.get(port) {
            port.cell(bench.thread).ended.add(1);
        }
        self.session.finished(task);
        if !bench.sweeping.is_empty() {
            bench.recheck.push(self.key);
        }
        bench.mark(self);
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
        Medium::LbaStatus { lba, len } => (Medium::LbaStatus { lba, len }, len),
        other => (other, 0),
    }
}

/// Writes no more blocks than the initiator sends whole. `None`: with so little nothing sensible can be done.
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
