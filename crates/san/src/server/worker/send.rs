//! From the session to the socket: what is to be sent is fetched as the socket takes it.

use super::bench::Bench;
use super::line::{Line, LineKey};
use super::output::{Piece, Sent};
use super::seat::Seat;
use crate::server::event::Drop;
use iscsi::digest::RunningDigest;
use iscsi::target::{Out, TaskId};
use rustix::fd::AsFd;

/// System calls for one connection before others have their turn.
const SENDS: usize = 4;

/// How one send went.
enum Went {
    /// There may be more to do.
    On,
    /// Nothing more can be done now.
    Waits,
}

impl Seat {
    /// Sends what may be sent on all lines, and hears what happened by it. Lines that may be read again become active.
    pub fn flush(&mut self, bench: &mut Bench, active: &mut Vec<LineKey>) {
        for at in 0..self.lines.len() {
            if self.lines[at].is_none() {
                continue;
            }
            self.flush_line(bench, at);
            let key = self.key;
            let Some(line) = self.lines[at].as_deref_mut() else { continue };
            if std::mem::take(&mut line.again) {
                active.push(line.key(key));
            }
        }
    }

    fn flush_line(&mut self, bench: &mut Bench, at: usize) {
        for _ in 0..SENDS {
            self.fetch(bench, at);
            let went = match self.send(bench, at) {
                Ok(went) => went,
                Err(why) => return self.drop_line(bench, at, Some(why)),
            };
            self.events(bench);
            let Some(line) = self.lines[at].as_deref() else { return };
            if line.closing && line.output.is_empty() {
                let why = line.end.clone();
                return self.drop_line(bench, at, why);
            }
            if matches!(went, Went::Waits) {
                return;
            }
        }
        bench.mark(self);
    }

    /// Fetches from the session as much as may be kept ready.
    fn fetch(&mut self, bench: &mut Bench, at: usize) {
        let Some(line) = self.lines[at].as_deref_mut() else { return };
        let room = bench.shared.limits.output_bytes.saturating_sub(line.output.bytes());
        if room == 0 || line.closing {
            return;
        }
        let mut outs = std::mem::take(&mut bench.outs);
        self.session.pull(line.conn, room, &mut outs);
        for out in outs.drain(..) {
            self.queue(at, out);
        }
        bench.outs = outs;
    }

    /// Puts one piece into a line's queue.
    fn queue(&mut self, at: usize, out: Out) {
        let Some(line) = self.lines[at].as_deref_mut() else { return };
        match out {
            Out::Header { bytes, len } => {
                line.note_status(&bytes);
                line.output.push(Piece::Header(bytes, len));
            }
            Out::Bytes(bytes) if line.data_digest => line.copied = Some((bytes.into_vec(), 0)),
            Out::Bytes(bytes) => line.output.push(Piece::Bytes(bytes)),
            Out::Data { task, offset, len } if line.data_digest => {
                let mut bytes = vec![0; len as usize];
                self.tasks[task.slot()].data.copy_to(offset as usize, &mut bytes);
                line.copied = Some((bytes, len));
            }
            Out::Data { task, offset, len } => {
                self.tasks[task.slot()].queued += 1;
                line.output.push(Piece::Data { task, offset, len });
            }
            Out::Trailer { pad, digest } => line.queue_trailer(pad, digest),
            Out::End(task) => line.output.push(Piece::End(task)),
            Out::Close => line.closing = true,
        }
    }

    /// One system call, with as much as the socket and the speed of the port let through.
    fn send(&mut self, bench: &mut Bench, at: usize) -> Result<Went, Drop> {
        let (thread, now, key) = (bench.thread, bench.now, self.key);
        let Some(line) = self.lines[at].as_deref_mut() else { return Ok(Went::Waits) };
        if line.output.is_empty() || !line.writable {
            return Ok(Went::Waits);
        }
        let mut allowance = u64::MAX;
        if line.output.data() > 0 && line.port.pace_out.is_paced() {
            allowance =
                match line.allowed_out.ask(&line.port.pace_out, line.output.data() as u64, now) {
                    Ok(bytes) => bytes,
                    Err(moment) => {
                        line.alarm_out(bench, moment, key);
                        0
                    }
                };
        }
        let mut gone = std::mem::take(&mut bench.gone);
        let tasks = &self.tasks;
        // SAFETY: the memory is that of tasks' data, which live until their last piece has left the queue.
        let sent = unsafe {
            line.output.send(
                line.socket.as_fd(),
                allowance,
                &mut bench.pieces,
                |task, offset, len, out| {
                    tasks[task.slot()].data.pieces(offset as usize, len as usize, out)
                },
                |piece| {
                    if let Piece::Data { task, .. } | Piece::End(task) = piece {
                        gone.push((task, matches!(piece, Piece::End(_))));
                    }
                },
            )
        };
        let result = sent.map_err(|error| Drop::Broken(error.to_string()));
        if let Ok(sent) = &result {
            line.allowed_out.spent(sent.data as u64);
            line.watch.sent += sent.bytes as u64;
            line.fresh = 0;
            line.port.cell(thread).bytes_out.add(sent.data as u64);
            line.writable = !sent.full;
            if sent.full || line.output.data() == 0 {
                // The peer, or a lack of commands, holds it up, and not the port.
                line.allowed_out.idle(&line.port.pace_out);
            }
        }
        for (task, ended) in gone.drain(..) {
            self.left(bench, task, ended);
        }
        bench.gone = gone;
        let Sent { bytes, full, .. } = result?;
        Ok(if full || (bytes == 0 && allowance == 0) { Went::Waits } else { Went::On })
    }

    /// A piece has been sent, or never will be.
    pub fn unqueue(&mut self, bench: &mut Bench, piece: Piece<TaskId>) {
        match piece {
            Piece::Data { task, .. } => self.left(bench, task, false),
            Piece::End(task) => self.left(bench, task, true),
            Piece::Header(..) | Piece::Bytes(_) | Piece::Copied { .. } => {}
        }
    }

    /// A piece of a task's data, or the mark behind the last of them, has left the queue.
    fn left(&mut self, bench: &mut Bench, task: TaskId, ended: bool) {
        let Some(place) = self.tasks.get_mut(task.slot()).filter(|place| place.id == Some(task))
        else {
            return;
        };
        if ended {
            place.over = true;
        } else {
            place.queued = place.queued.saturating_sub(1);
        }
        self.free(bench, task);
    }
}

impl Line {
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
            self.told = stat_sn.wrapping_add(1);
        }
    }

    /// Padding and digest, behind what was copied or by themselves.
    fn queue_trailer(&mut self, pad: u8, digest: bool) {
        let Some((mut bytes, data)) = self.copied.take() else {
            return self.output.push(Piece::Header([0; 52], pad));
        };
        bytes.resize(bytes.len() + usize::from(pad), 0);
        if digest {
            let digest = RunningDigest::default().and(&bytes).bytes();
            bytes.extend_from_slice(&digest);
        }
        self.output.push(Piece::Copied { bytes: bytes.into(), data });
    }

    /// Looks again when its turn at the port has come.
    fn alarm_out(&mut self, bench: &mut Bench, at: clock::Ns, seat: u32) {
        if !std::mem::replace(&mut self.alarm_out, true) {
            bench.wake_at(at, self.key(seat));
        }
    }
}
