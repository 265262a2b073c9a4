//! From the socket to the session: headers in batches, payload into its buffer.

use super::connection::TargetConnection;
use super::context::Context;
use super::input::Received;
use super::session::WorkerSession;
use crate::server::event::DropReason;
use crate::volume::Data;
use clock::Ns;
use iscsi::digest::RunningDigest;
use iscsi::target::{TaskId, Want};
use rustix::fd::AsFd;

/// System calls for one connection before others have their turn.
const RECEIVES: usize = 4;

/// Why no more can be parsed.
enum ParseStop {
    /// Bytes have to be received.
    Starved,
    /// So much payload may be received straight to its place.
    Payload { task: TaskId, offset: u32, len: u32 },
    /// So many bytes are unwanted: receive and discard them.
    Waste,
    /// The session, the peer's silence about what it is sent, or the speed of the port.
    Blocked,
}

impl WorkerSession {
    /// Reads a line until it is empty, blocked, or has had its share. Whether it has more to do at once.
    pub fn read(&mut self, ctx: &mut Context, at: u8) -> bool {
        let at = usize::from(at);
        for _ in 0..RECEIVES {
            let stop = self.digest_input(ctx, at);
            let Some(connection) = self.connections[at].as_deref_mut() else { return false };
            if matches!(stop, ParseStop::Blocked) || !connection.readable {
                return false;
            }
            if let Err(why) = self.receive(ctx, at, &stop) {
                self.drop_connection(ctx, at, Some(why));
                return false;
            }
        }
        true
    }

    /// One receive; payload for which there is a place goes there.
    fn receive(
        &mut self,
        ctx: &mut Context,
        at: usize,
        stop: &ParseStop,
    ) -> Result<(), DropReason> {
        let Some(connection) = self.connections[at].as_deref_mut() else { return Ok(()) };
        let places = &mut ctx.pieces;
        places.clear();
        if let ParseStop::Payload { task, offset, len } = *stop {
            let room = room(&mut self.tasks[task.slot()].data, offset, len);
            places.push(libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() });
        }
        // SAFETY: the place is in the buffer of a task of this session, which has no other user during the call.
        let got = unsafe { connection.input.receive(connection.socket.as_fd(), places) };
        let Received { placed, drained } = match got {
            Ok(Some(received)) => received,
            Ok(None) => return Err(DropReason::Closed),
            Err(error) => return Err(DropReason::Broken(error.to_string())),
        };
        // The end of the stream is what comes behind the last bytes, and has to be read as they are.
        if drained && !connection.ended {
            connection.readable = false;
            connection.allowed_in.idle(&connection.port.pace_in);
        }
        connection.watch.received += placed as u64;
        if let ParseStop::Payload { task, offset, .. } = *stop
            && placed > 0
        {
            if connection.data_digest {
                connection.digest = connection.digest.and(room(
                    &mut self.tasks[task.slot()].data,
                    offset,
                    placed as u32,
                ));
            }
            self.placed(ctx, at, placed as u32);
        }
        Ok(())
    }

    /// So many bytes of payload are in place.
    fn placed(&mut self, ctx: &mut Context, at: usize, len: u32) {
        let Some(connection) = self.connections[at].as_deref_mut() else { return };
        connection.allowed_in.spent(u64::from(len));
        connection.port.cell(ctx.thread).bytes_in.add(u64::from(len));
        self.protocol.received(connection.conn, len);
        self.events(ctx);
    }

    /// Puts what has been received of a data segment into its task's place, as far as the port's speed allows. A reason to
    /// stop, where there is one: the rest is received straight into that place, or the port is ahead of its time.
    fn payload(
        &mut self,
        ctx: &mut Context,
        at: usize,
        (task, offset, len): (TaskId, u32, u32),
    ) -> Option<ParseStop> {
        let key = self.key;
        let connection = self.connections[at].as_deref_mut()?;
        let allowed = connection.allowed_in.ask(&connection.port.pace_in, u64::from(len), ctx.now);
        let len = match allowed {
            Ok(allowed) => len.min(u32::try_from(allowed).unwrap_or(u32::MAX)),
            Err(moment) => {
                connection.alarm(ctx, moment, key);
                return Some(ParseStop::Blocked);
            }
        };
        let here = connection.input.bytes();
        if here.is_empty() {
            return Some(ParseStop::Payload { task, offset, len });
        }
        let len = len.min(here.len() as u32);
        let room = room(&mut self.tasks[task.slot()].data, offset, len);
        let fits = room.len().min(len as usize);
        room[..fits].copy_from_slice(&here[..fits]);
        connection.take_in(len as usize);
        self.placed(ctx, at, len);
        None
    }

    /// Understands what has been received, and carries it out.
    fn digest_input(&mut self, ctx: &mut Context, at: usize) -> ParseStop {
        let most = ctx.shared.limits.output_bytes;
        loop {
            let Some(connection) = self.connections[at].as_deref_mut() else {
                return ParseStop::Blocked;
            };
            if connection.closing || (!connection.writable && connection.output.bytes() >= most) {
                return ParseStop::Blocked;
            }
            let want = self.protocol.want(connection.conn);
            connection.watch.within = want != Want::Header || !connection.input.bytes().is_empty();
            match want {
                Want::Nothing => return ParseStop::Blocked,
                Want::Header => {
                    let bytes = connection.input.bytes();
                    let exp_stat_sn = bytes.get(28..32).and_then(|bytes| bytes.try_into().ok());
                    let used = self.protocol.header(connection.conn, bytes);
                    if used == 0 {
                        return ParseStop::Starved;
                    }
                    // ExpStatSN stands at one place in all that an initiator sends (RFC 7143, 11.2.1).
                    let exp_stat_sn =
                        exp_stat_sn.map_or(connection.exp_stat_sn, u32::from_be_bytes);
                    connection.pace.note(exp_stat_sn.wrapping_sub(connection.exp_stat_sn), ctx.now);
                    connection.exp_stat_sn = exp_stat_sn;
                    connection.fresh = connection.fresh.saturating_add(1);
                    connection.input.consume(used);
                    connection.digest = RunningDigest::default();
                    connection.watch.received += used as u64;
                    connection.watch.headers.0 += 1;
                    self.events(ctx);
                }
                Want::Into { task, offset, len } => {
                    if let Some(stop) = self.payload(ctx, at, (task, offset, len)) {
                        return stop;
                    }
                }
                Want::Discard { len } => {
                    let here = connection.input.bytes().len();
                    if here == 0 {
                        return ParseStop::Waste;
                    }
                    let len = len.min(here as u32);
                    connection.take_in(len as usize);
                    self.protocol.received(connection.conn, len);
                    self.events(ctx);
                }
                Want::Bytes { len } => {
                    let Some(bytes) = connection.input.bytes().get(..len as usize) else {
                        return ParseStop::Starved;
                    };
                    self.protocol.bytes(connection.conn, bytes);
                    connection.take_in(len as usize);
                    self.events(ctx);
                }
                Want::Trailer { pad, digest } => {
                    let (pad, size) =
                        (usize::from(pad), usize::from(pad) + if digest { 4 } else { 0 });
                    let Some(bytes) = connection.input.bytes().get(..size) else {
                        return ParseStop::Starved;
                    };
                    let well =
                        !digest || connection.digest.and(&bytes[..pad]).bytes() == bytes[pad..];
                    connection.input.consume(size);
                    self.protocol.trailer(connection.conn, well);
                    self.events(ctx);
                }
            }
        }
    }
}

impl TargetConnection {
    /// Takes bytes of a data segment from the read-ahead.
    fn take_in(&mut self, len: usize) {
        if self.data_digest {
            self.digest = self.digest.and(&self.input.bytes()[..len]);
        }
        self.input.consume(len);
        self.watch.received += len as u64;
    }

    /// Looks again when its turn at the port has come.
    fn alarm(&mut self, ctx: &mut Context, at: Ns, session: u32) {
        if !std::mem::replace(&mut self.alarm_in, true) {
            ctx.wake_at(at, self.key(session));
        }
    }
}

/// Where a task's data from an offset on belongs; none of it where the task has no such place.
fn room(data: &mut Data, offset: u32, len: u32) -> &mut [u8] {
    let whole: &mut [u8] = match data {
        Data::Bytes(bytes) => bytes,
        Data::Buffer(buffer) => buffer,
        Data::None | Data::Ram(_) => &mut [],
    };
    let from = (offset as usize).min(whole.len());
    let to = (offset as usize).saturating_add(len as usize).min(whole.len());
    &mut whole[from..to]
}
