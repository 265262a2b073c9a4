//! Once a second: who stalls is dropped, who is silent is asked for a sign of life.

use super::Worker;
use super::bench::Bench;
use super::seat::Seat;
use crate::server::event::Drop;
use crate::server::limits::Limits;
use clock::Ns;
use iscsi::target::ConnId;
use std::time::Duration;

/// How often lines are looked at: their time limits are kept to within this.
pub(super) const PERIOD: Ns = Ns(500_000_000);

impl Worker {
    /// Looks at every line.
    pub(super) fn tick(&mut self) {
        let now = self.bench.now;
        self.ticks_at = now.plus(PERIOD);
        if self.stops_at.is_some_and(|at| now >= at) {
            return self.each(|seat, bench| seat.drop_all(bench, &Drop::Stopping));
        }
        if self.stops_at.is_some() {
            self.ticks_at = now.plus(Ns::millis(20));
        }
        let patience = span(self.bench.shared.limits.discovery_time);
        self.each(|seat, bench| {
            if seat.discovery && now.since(seat.began) > patience {
                seat.drop_all(bench, &Drop::Stalled);
            }
            for at in 0..ConnId::MOST {
                if let Some(why) = seat.look_at(bench, at) {
                    seat.drop_line(bench, at, Some(why));
                }
            }
        });
    }
}

impl Seat {
    /// Why a line is to be dropped, if it is.
    fn look_at(&mut self, bench: &Bench, at: usize) -> Option<Drop> {
        let limits: &Limits = &bench.shared.limits;
        let line = self.lines[at].as_deref_mut()?;
        let (watch, now) = (&mut line.watch, bench.now);
        if watch.received != watch.seen.0 {
            watch.quiet_in = now;
        }
        // What the port's speed holds back is not the peer's fault.
        if watch.sent != watch.seen.1 || line.output.is_empty() || line.writable {
            watch.quiet_out = now;
        }
        watch.seen = (watch.received, watch.sent);
        if now.since(watch.quiet_out) > span(limits.stall_time) {
            return Some(Drop::Stalled);
        }
        // A connection that is not read cannot give a sign of life.
        if !line.readable && line.closing {
            return None;
        }
        if watch.pinged.is_some_and(|since| now.since(since) > span(limits.stall_time)) {
            let waits_for_data = self.session.tasks() > 0;
            return Some(if waits_for_data { Drop::Stalled } else { Drop::Silent });
        }
        if watch.pinged.is_none() && now.since(watch.quiet_in) > span(limits.idle_time) {
            let conn = line.conn;
            line.watch.pinged = self.session.ping(conn).is_ok().then_some(now);
        }
        None
    }
}

fn span(time: Duration) -> Ns {
    Ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}
