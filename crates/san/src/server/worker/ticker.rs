//! Once a second: stalled peers are dropped, silent ones pinged.

use super::Worker;
use super::context::Context;
use super::session::WorkerSession;
use crate::server::event::DropReason;
use crate::server::limits::TargetLimits;
use clock::Ns;
use iscsi::target::ConnId;
use std::time::Duration;

/// How often connections are checked: the precision of their time limits.
pub(super) const PERIOD: Ns = Ns(500_000_000);

impl Worker {
    /// Looks at every line.
    pub(super) fn tick(&mut self) {
        let now = self.ctx.now;
        self.ticks_at = now.plus(PERIOD);
        if self.stops_at.is_some_and(|at| now >= at) {
            return self.each(|session, ctx| session.drop_all(ctx, &DropReason::Stopping));
        }
        if self.stops_at.is_some() {
            self.ticks_at = now.plus(Ns::millis(20));
        }
        let patience = span(self.ctx.shared.limits.discovery_time);
        self.each(|session, ctx| {
            if session.discovery && now.since(session.began) > patience {
                session.drop_all(ctx, &DropReason::Stalled);
            }
            for at in 0..ConnId::MOST {
                if let Some(why) = session.look_at(ctx, at) {
                    session.drop_connection(ctx, at, Some(why));
                }
            }
        });
    }
}

impl WorkerSession {
    /// Why a line is to be dropped, if it is.
    fn look_at(&mut self, ctx: &Context, at: usize) -> Option<DropReason> {
        let limits: &TargetLimits = &ctx.shared.limits;
        let connection = self.connections[at].as_deref_mut()?;
        let (watch, now) = (&mut connection.watch, ctx.now);
        if watch.received != watch.seen.0 {
            watch.quiet_in = now;
        }
        // What the port's speed holds back is not the peer's fault.
        if watch.sent != watch.seen.1 || connection.output.is_empty() || connection.writable {
            watch.quiet_out = now;
        }
        // A PDU that is held back here, by the port's speed or by what is under way, does not wait for the peer.
        let waits = watch.within && !connection.readable && !connection.alarm_in;
        if !waits || watch.headers.0 != watch.headers.1 {
            watch.slow = now;
        }
        (watch.seen, watch.headers.1) = ((watch.received, watch.sent), watch.headers.0);
        if now.since(watch.slow) > span(limits.stall_time) {
            return Some(DropReason::Stalled);
        }
        if now.since(watch.quiet_out) > span(limits.stall_time) {
            return Some(DropReason::Stalled);
        }
        // A connection that is not read cannot give a sign of life.
        if !connection.readable && connection.closing {
            return None;
        }
        if watch.pinged.is_some_and(|since| now.since(since) > span(limits.stall_time)) {
            let waits_for_data = self.protocol.tasks() > 0;
            return Some(if waits_for_data { DropReason::Stalled } else { DropReason::Silent });
        }
        if watch.pinged.is_none() && now.since(watch.quiet_in) > span(limits.idle_time) {
            let conn = connection.conn;
            connection.watch.pinged = self.protocol.ping(conn).is_ok().then_some(now);
        }
        None
    }
}

fn span(time: Duration) -> Ns {
    Ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
