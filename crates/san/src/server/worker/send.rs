//! From the session to the socket: output is generated as the socket takes it.

use super::connection::{ConnectionKey, TargetConnection};
use super::context::Context;
use super::output::{OutputPiece, Sent};
use super::session::WorkerSession;
use crate::server::event::DropReason;
use iscsi::digest::RunningDigest;
use iscsi::target::{Out, TaskId};
use rustix::fd::AsFd;

/// System calls for one connection before others have their turn.
const SENDS: usize = 4;

/// How one send went.
enum SendOutcome {
    /// There may be more to do.
    On,
    /// Nothing more can be done now.
    Waits,
}

impl WorkerSession {
    /// Sends what may be sent on all lines, and handles the results. Lines that may be read again become active.
    pub fn flush(&mut self, ctx: &mut Context, active: &mut Vec<ConnectionKey>) {
        for at in 0..self.connections.len() {
            if self.connections[at].is_none() {
                continue;
            }
            self.flush_line(ctx, at);
            let key = self.key;
            let Some(connection) = self.connections[at].as_deref_mut() else { continue };
            if std::mem::take(&mut connection.again) {
                active.push(connection.key(key));
            }
        }
        // Without a connection, too, what was under way ends, and with the last of it the session.
        self.events(ctx);
    }

    fn flush_line(&mut self, ctx: &mut Context, at: usize) {
        for _ in 0..SENDS {
            self.fetch(ctx, at);
            let went = match self.send(ctx, at) {
                Ok(went) => went,
                Err(why) => return self.drop_connection(ctx, at, Some(why)),
            };
            self.events(ctx);
            let Some(connection) = self.connections[at].as_deref() else { return };
            if connection.closing && connection.output.is_empty() {
                let why = connection.end.clone();
                return self.drop_connection(ctx, at, why);
            }
            if matches!(went, SendOutcome::Waits) {
                return;
            }
        }
        ctx.mark(self);
    }

    /// Fetches from the session as much as may be kept ready.
    fn fetch(&mut self, ctx: &mut Context, at: usize) {
        let Some(connection) = self.connections[at].as_deref_mut() else { return };
        let room = ctx.shared.limits.output_bytes.saturating_sub(connection.output.bytes());
        if room == 0 || connection.closing {
            return;
        }
        let mut outs = std::mem::take(&mut ctx.outs);
        self.protocol.pull(connection.conn, room, &mut outs);
        for out in outs.drain(..) {
            self.queue(at, out);
        }
        ctx.outs = outs;
    }

    /// Puts one piece into a line's queue.
    fn queue(&mut self, at: usize, out: Out) {
        let Some(connection) = self.connections[at].as_deref_mut() else { return };
        match out {
            Out::Header { bytes, len } => {
                connection.note_status(&bytes);
                connection.output.push(OutputPiece::Header(bytes, len));
            }
            Out::Bytes(bytes) if connection.data_digest => {
                connection.copied = Some((bytes.into_vec(), 0))
            }
            Out::Bytes(bytes) => connection.output.push(OutputPiece::Bytes(bytes)),
            Out::Data { task, offset, len } if connection.data_digest => {
                let mut bytes = vec![0; len as usize];
                self.tasks[task.slot()].data.copy_to(offset as usize, &mut bytes);
                connection.copied = Some((bytes, len));
            }
            Out::Data { task, offset, len } => {
                self.tasks[task.slot()].queued += 1;
                connection.output.push(OutputPiece::Data { task, offset, len });
            }
            Out::Trailer { pad, digest } => connection.queue_trailer(pad, digest),
            Out::End(task) => connection.output.push(OutputPiece::End(task)),
            Out::Close => connection.closing = true,
        }
    }

    /// One system call, with as much as the socket and the speed of the port let through.
    fn send(&mut self, ctx: &mut Context, at: usize) -> Result<SendOutcome, DropReason> {
        let (thread, now, key) = (ctx.thread, ctx.now, self.key);
        let Some(connection) = self.connections[at].as_deref_mut() else {
            return Ok(SendOutcome::Waits);
        };
        if connection.output.is_empty() || !connection.writable {
            return Ok(SendOutcome::Waits);
        }
        let mut allowance = u64::MAX;
        if connection.output.data() > 0 && connection.port.pace_out.is_paced() {
            allowance = match connection.allowed_out.ask(
                &connection.port.pace_out,
                connection.output.data() as u64,
                now,
            ) {
                Ok(bytes) => bytes,
                Err(moment) => {
                    connection.alarm_out(ctx, moment, key);
                    0
                }
            };
        }
        let mut gone = std::mem::take(&mut ctx.gone);
        let tasks = &self.tasks;
        // SAFETY: the memory is that of tasks' data, which live until their last piece has left the queue.
        let sent = unsafe {
            connection.output.send(
                connection.socket.as_fd(),
                allowance,
                &mut ctx.pieces,
                |task, offset, len, out| {
                    tasks[task.slot()].data.pieces(offset as usize, len as usize, out)
                },
                |piece| {
                    if let OutputPiece::Data { task, .. } | OutputPiece::End(task) = piece {
                        gone.push((task, matches!(piece, OutputPiece::End(_))));
                    }
                },
            )
        };
        let result = sent.map_err(|error| DropReason::Broken(error.to_string()));
        if let Ok(sent) = &result {
            connection.allowed_out.spent(sent.data as u64);
            connection.watch.sent += sent.bytes as u64;
            connection.fresh = 0;
            connection.port.cell(thread).bytes_out.add(sent.data as u64);
            connection.writable = !sent.full;
            if sent.full || connection.output.data() == 0 {
                // The peer, or a lack of commands, holds it up, and not the port.
                connection.allowed_out.idle(&connection.port.pace_out);
            }
        }
        for (task, ended) in gone.drain(..) {
            self.left(ctx, task, ended);
        }
        ctx.gone = gone;
        let Sent { bytes, full, .. } = result?;
        Ok(if full || (bytes == 0 && allowance == 0) {
            SendOutcome::Waits
        } else {
            SendOutcome::On
        })
    }

    /// A piece has been sent, or never will be.
    pub fn unqueue(&mut self, ctx: &mut Context, piece: OutputPiece<TaskId>) {
        match piece {
            OutputPiece::Data { task, .. } => self.left(ctx, task, false),
            OutputPiece::End(task) => self.left(ctx, task, true),
            OutputPiece::Header(..) | OutputPiece::Bytes(_) | OutputPiece::Copied { .. } => {}
        }
    }

    /// A piece of a task's data, or the mark behind the last of them, has left the queue.
    fn left(&mut self, ctx: &mut Context, task: TaskId, ended: bool) {
        let Some(place) = self.tasks.get_mut(task.slot()).filter(|place| place.id == Some(task))
        else {
            return;
        };
        if ended {
            place.over = true;
        } else {
            place.queued = place.queued.saturating_sub(1);
        }
        self.free(ctx, task);
    }
}

impl TargetConnection {
    /// Remembers the last status that was handed out. StatSN stands at one place (RFC 7143, 11.4 and 11.7); of Data-In PDUs
    /// only those with the S bit have one.
    fn note_status(&mut self, bhs: &[u8; 52]) {
        let has_status = match bhs[0] & 0x3f {
            0x21 => true,
            0x25 => bhs[1] & 1 != 0,
            _ => false,
        };
        if has_status {
            let stat_sn = u32::from_be_bytes([bhs[24], bhs[25], bhs[26], bhs[27]]);
            self.stat_sn = stat_sn.wrapping_add(1);
        }
    }

    /// Padding and digest, behind what was copied or by themselves.
    fn queue_trailer(&mut self, pad: u8, digest: bool) {
        let Some((mut bytes, data)) = self.copied.take() else {
            return self.output.push(OutputPiece::Header([0; 52], pad));
        };
        bytes.resize(bytes.len() + usize::from(pad), 0);
        if digest {
            let digest = RunningDigest::default().and(&bytes).bytes();
            bytes.extend_from_slice(&digest);
        }
        self.output.push(OutputPiece::Copied { bytes: bytes.into(), data });
    }

    /// Looks again when its turn at the port has come.
    fn alarm_out(&mut self, ctx: &mut Context, at: clock::Ns, session: u32) {
        if !std::mem::replace(&mut self.alarm_out, true) {
            ctx.wake_at(at, self.key(session));
        }
    }
}
