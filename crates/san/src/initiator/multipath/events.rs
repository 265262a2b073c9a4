//! Events of a queue: paths lost and restored, stalls, busy targets, unit attentions. The worker's thread puts numbers into a
//! preallocated ring; the texts are made at its other end, off the data plane.
//!
//! Bounded: of frequent events (busy, unit attention) the first in a second is reported for each path and the others are
//! summed up in the next report; at most [`A_SECOND`] are reported a second. Events that find no room are counted.

use super::super::link::Lost;
use super::access::AccessState;
use clock::Ns;
use engine::{EventNote, Reports};
use record::{CounterId, Level};
use rtrb::{Consumer, Producer, RingBuffer};
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Maximum number of events that a queue reports in one second.
const A_SECOND: u32 = 64;

/// Occurrences that wait for the collector, which comes ten times a second.
const WAITING: usize = 256;

const SECOND: u64 = 1_000_000_000;

/// Why a path is lost, in a few bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::initiator) enum PathLossCause {
    /// The target closed the connection.
    Closed,
    /// The network failed with this error number.
    Network(i32),
    /// The target broke the protocol.
    Protocol,
    /// The target said that it ends the session.
    Ended(&'static str),
    /// Nothing came for so many seconds, and no answer to a ping.
    Silent(u64),
    /// A command was not answered within so many seconds, and neither was its abort.
    Overdue(u64),
    /// It could not be reached from the beginning.
    Unreached,
}

impl From<&Lost> for PathLossCause {
    fn from(lost: &Lost) -> PathLossCause {
        match lost {
            Lost::Closed => PathLossCause::Closed,
            Lost::Io(e) => PathLossCause::Network(e.raw_os_error().unwrap_or(libc::EIO)),
            Lost::Protocol(_) | Lost::Place => PathLossCause::Protocol,
            Lost::Ended(what) => PathLossCause::Ended(what),
            Lost::Silent(seconds) => PathLossCause::Silent(*seconds),
            Lost::Overdue(seconds) => PathLossCause::Overdue(*seconds),
        }
    }
}

impl fmt::Display for PathLossCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PathLossCause::Closed => f.write_str("the target closed the connection"),
            PathLossCause::Network(errno) => {
                write!(f, "the connection broke: {}", io::Error::from_raw_os_error(*errno))
            }
            PathLossCause::Protocol => f.write_str("the target broke the protocol"),
            PathLossCause::Ended(what) => write!(f, "the target ended the session: {what}"),
            PathLossCause::Silent(s) => {
                write!(f, "the target was silent for {s} s and did not answer a ping")
            }
            PathLossCause::Overdue(s) => {
                write!(f, "a command was not answered within {s} s, nor was its abort")
            }
            PathLossCause::Unreached => f.write_str("it could not be reached before the start"),
        }
    }
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::initiator) enum PathEvent {
    /// A path is lost: why, and what was under way on it.
    Lost {
        why: PathLossCause,
        /// I/Os that went to other paths at once.
        moved: u32,
        /// Writes that wait until the old session cannot carry them out any more.
        held: u32,
        /// It is tried again.
        tried: bool,
    },
    /// A lost path's session is fenced: so many writes are retried.
    Fenced { writes: u32, took: Ns },
    /// A path is back.
    Returned { away: Ns },
    /// A path leads to something else now, and is not used.
    Refused,
    /// All I/Os that a lost path had under way have ended.
    Stall { ios: u32, first: Ns, last: Ns },
    /// The target had no time: BUSY, TASK SET FULL, or it was becoming ready.
    Busy { status: u8 },
    /// The target reported a unit attention.
    Attention { code: u16 },
    /// The access state of a target's port has changed.
    Access { target: u16, state: AccessState },
    /// Commands took too long, and were aborted.
    Timeout { seconds: u64 },
    /// I/Os failed because no path was usable for so long.
    GivenUp { after: Ns, unfenced: bool },
}

/// Something that happened on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::initiator) struct QueuedEvent {
    pub at: Ns,
    pub kind: PathEvent,
    pub path: u16,
    /// How often, since its last report.
    pub count: u64,
}

/// What was counted from the start.
#[derive(Debug, Default)]
struct EventCounts {
    lost: AtomicU64,
    returned: AtomicU64,
    moved: AtomicU64,
    busy: AtomicU64,
    attentions: AtomicU64,
    timeouts: AtomicU64,
    given_up: AtomicU64,
    surplus: AtomicU64,
}

/// What happens often on a path, of one kind.
#[derive(Clone, Copy, Debug, Default)]
struct EventLimit {
    told: Option<Ns>,
    count: u64,
    last: Option<PathEvent>,
}

/// The worker's end.
#[derive(Debug)]
pub(in crate::initiator) struct EventSender {
    ring: Producer<QueuedEvent>,
    counts: Arc<EventCounts>,
    /// The current second, and the events reported in it.
    second: u64,
    told: u32,
    /// For each path: busy, unit attentions, aborts, failures for want of a path.
    frequent: Vec<[EventLimit; 4]>,
    /// Some of them wait to be reported.
    pending: bool,
}

/// What a path and a target are called.
#[derive(Clone, Debug)]
pub(in crate::initiator) struct PathNames {
    /// "127.0.0.1:3260 to iqn.…", by path.
    pub paths: Vec<String>,
    /// "LUN 0", by target.
    pub targets: Vec<String>,
}

/// The collector's end.
struct EventReceiver {
    ring: Consumer<QueuedEvent>,
    counts: Arc<EventCounts>,
    names: PathNames,
}

impl EventSender {
    /// Both ends.
    pub fn new(names: PathNames) -> (EventSender, Box<dyn Reports>) {
        let (ring, out) = RingBuffer::new(WAITING);
        let counts = Arc::<EventCounts>::default();
        let events = EventSender {
            ring,
            counts: counts.clone(),
            second: 0,
            told: 0,
            frequent: vec![[EventLimit::default(); 4]; names.paths.len()],
            pending: false,
        };
        (events, Box::new(EventReceiver { ring: out, counts, names }))
    }

    /// Tells of something.
    pub fn tell(&mut self, at: Ns, path: usize, kind: PathEvent) {
        self.count(kind);
        let frequent = match kind {
            PathEvent::Busy { .. } => 0,
            PathEvent::Attention { .. } => 1,
            PathEvent::Timeout { .. } => 2,
            PathEvent::GivenUp { .. } => 3,
            _ => return self.put(QueuedEvent { at, kind, path: path as u16, count: 1 }),
        };
        let Some(this) = self.frequent.get_mut(path).map(|path| &mut path[frequent]) else {
            return;
        };
        this.count += 1;
        this.last = Some(kind);
        if this.told.is_none_or(|told| at.since(told).0 >= SECOND) {
            let count = std::mem::take(&mut this.count);
            this.told = Some(at);
            self.put(QueuedEvent { at, kind, path: path as u16, count });
        } else {
            self.pending = true;
        }
    }

    /// Reports once a second how often frequent events have happened since their last report.
    pub fn tick(&mut self, now: Ns) {
        if !self.pending {
            return;
        }
        self.pending = false;
        for path in 0..self.frequent.len() {
            for n in 0..self.frequent[path].len() {
                let this = &mut self.frequent[path][n];
                let (Some(kind), true) = (this.last, this.count > 0) else { continue };
                if this.told.is_some_and(|told| now.since(told).0 < SECOND) {
                    self.pending = true;
                    continue;
                }
                let count = std::mem::take(&mut this.count);
                this.told = Some(now);
                self.put(QueuedEvent { at: now, kind, path: path as u16, count });
            }
        }
    }

    fn put(&mut self, occurrence: QueuedEvent) {
        let second = occurrence.at.0 / SECOND;
        if second != self.second {
            (self.second, self.told) = (second, 0);
        }
        if self.told < A_SECOND && self.ring.push(occurrence).is_ok() {
            self.told += 1;
        } else {
            add(&self.counts.surplus, 1);
        }
    }

    fn count(&self, kind: PathEvent) {
        let EventCounts { lost, returned, moved, busy, attentions, timeouts, given_up, .. } =
            &*self.counts;
        match kind {
            PathEvent::Lost { moved: at_once, held, .. } => {
                add(lost, 1);
                add(moved, u64::from(at_once) + u64::from(held));
            }
            PathEvent::Returned { .. } => add(returned, 1),
            PathEvent::Busy { .. } => add(busy, 1),
            PathEvent::Attention { .. } => add(attentions, 1),
            PathEvent::Timeout { .. } => add(timeouts, 1),
            PathEvent::GivenUp { .. } => add(given_up, 1),
            PathEvent::Fenced { .. }
            | PathEvent::Refused
            | PathEvent::Stall { .. }
            | PathEvent::Access { .. } => {}
        }
    }
}

/// Only the worker's thread adds.
fn add(to: &AtomicU64, n: u64) {
    to.store(to.load(Ordering::Relaxed) + n, Ordering::Relaxed);
}

impl Reports for EventReceiver {
    fn news(&mut self, say: &mut dyn FnMut(Ns, EventNote)) {
        while let Ok(occurrence) = self.ring.pop() {
            say(occurrence.at, self.names.note(&occurrence));
        }
    }

    fn counts(&mut self) -> Vec<(CounterId, u64)> {
        let EventCounts { lost, returned, moved, busy, attentions, timeouts, given_up, surplus } =
            &*self.counts;
        let all = [
            (CounterId::PathsLost, lost),
            (CounterId::PathsReturned, returned),
            (CounterId::PathIosMoved, moved),
            (CounterId::TargetBusy, busy),
            (CounterId::UnitAttentions, attentions),
            (CounterId::CommandsAborted, timeouts),
            (CounterId::PathIosGivenUp, given_up),
            (CounterId::PathEventsUntold, surplus),
        ];
        let counted = all.map(|(name, count)| (name, count.load(Ordering::Relaxed)));
        counted.into_iter().filter(|(_, count)| *count > 0).collect()
    }
}

impl PathNames {
    fn note(&self, occurrence: &QueuedEvent) -> EventNote {
        let QueuedEvent { kind, path, count, .. } = *occurrence;
        let path = self.paths.get(usize::from(path)).map_or("?", String::as_str);
        let times = if count == 1 { String::new() } else { format!(", {count} times") };
        let (level, code, what) = match kind {
            PathEvent::Lost { why, moved, held, tried } => {
                let after = if tried { "; reconnecting" } else { "" };
                let text = format!("lost ({why}){}{after}", under_way(moved, held));
                (Level::Warning, "path-lost", text)
            }
            PathEvent::Fenced { writes, took } => {
                let text =
                    format!("fenced {} after the loss; {writes} writes retried", duration(took));
                (Level::Info, "path-fenced", text)
            }
            PathEvent::Returned { away } => {
                (Level::Info, "path-returned", format!("restored after {}", duration(away)))
            }
            PathEvent::Refused => {
                let text =
                    "answers again, but leads to another unit or refuses the login; not used"
                        .to_owned();
                (Level::Error, "path-refused", text)
            }
            PathEvent::Stall { ios, first, last } => {
                let text = format!(
                    "lost with {ios} I/Os in flight: the first completed after {}, the last after {}",
                    duration(first),
                    duration(last)
                );
                (Level::Warning, "path-stall", text)
            }
            PathEvent::Busy { status } => {
                let text = format!("answers {}{times}; refused commands are retried", busy(status));
                (Level::Warning, "target-busy", text)
            }
            PathEvent::Attention { code } => {
                let text = format!("reported a unit attention: {}{times}", attention(code));
                (Level::Info, "unit-attention", text)
            }
            PathEvent::Access { target, state } => {
                let unit = self.targets.get(usize::from(target)).map_or("?", String::as_str);
                (Level::Info, "path-state", format!("is now {state} for {unit}"))
            }
            PathEvent::Timeout { seconds } => {
                let text =
                    format!("did not answer a command within {seconds} s{times}; it was aborted");
                (Level::Warning, "command-timeout", text)
            }
            PathEvent::GivenUp { after, unfenced } => {
                let why = match unfenced {
                    true => "its old session could not be fenced",
                    false => "no path was usable",
                };
                let text = format!("an I/O failed after {}: {why}{times}", duration(after));
                (Level::Error, "path-given-up", text)
            }
        };
        EventNote { level, code, text: format!("{path}: {what}") }
    }
}

/// "; 3 I/Os moved to other paths, 5 writes wait until its session is over".
fn under_way(moved: u32, held: u32) -> String {
    let moved = match moved {
        0 => String::new(),
        n => format!("; {n} I/Os moved to other paths"),
    };
    match held {
        0 => moved,
        n => format!("{moved}; {n} writes held until the old session is fenced"),
    }
}

fn duration(time: Ns) -> String {
    match time.0 {
        0..10_000_000 => format!("{:.1} ms", time.0 as f64 / 1e6),
        10_000_000..10_000_000_000 => format!("{:.0} ms", time.0 as f64 / 1e6),
        _ => format!("{:.1} s", time.0 as f64 / 1e9),
    }
}

fn busy(status: u8) -> &'static str {
    match status {
        0x08 => "BUSY",
        0x28 => "TASK SET FULL",
        _ => "NOT READY (becoming ready)",
    }
}

/// A unit attention's additional sense code in words, where it is a usual one.
fn attention(code: u16) -> String {
    let known = match code {
        0x2900..=0x2907 => "power on, reset, or a session was lost",
        0x2a01 | 0x2a09 => "parameters or the capacity changed",
        0x2a03..=0x2a05 => "reservations changed",
        0x2a06 => "asymmetric access state changed",
        0x2f00 => "commands were cleared by another initiator",
        0x3f0e => "the LUNs changed",
        0x3807 => "thin provisioning threshold reached",
        _ => "something happened",
    };
    format!("{known} ({:02x}h/{:02x}h)", code >> 8, code & 0xff)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> (EventSender, Box<dyn Reports>) {
        let names = PathNames {
            paths: vec!["one".to_owned(), "two".to_owned()],
            targets: vec!["LUN 0".to_owned()],
        };
        EventSender::new(names)
    }

    fn news(reports: &mut Box<dyn Reports>) -> Vec<(u64, &'static str, String)> {
        let mut all = Vec::new();
        reports.news(&mut |at, note| all.push((at.0 / 1_000_000, note.code, note.text)));
        all
    }

    #[test]
    fn frequent_events_are_summed_up_once_a_second() {
        let (mut events, mut reports) = both();
        for ms in [0, 1, 2, 999, 1000, 1500] {
            events.tell(Ns::millis(ms), 1, PathEvent::Busy { status: 8 });
        }
        events.tell(Ns::millis(3), 0, PathEvent::Busy { status: 0x28 });
        events.tick(Ns::millis(1900));
        events.tick(Ns::millis(2100));
        events.tick(Ns::millis(3200));
        let told: Vec<_> = news(&mut reports).into_iter().map(|(at, _, text)| (at, text)).collect();
        let refused = "refused commands are retried";
        assert_eq!(
            told,
            [
                (0, format!("two: answers BUSY; {refused}")),
                (1000, format!("two: answers BUSY, 4 times; {refused}")),
                (3, format!("one: answers TASK SET FULL; {refused}")),
                (2100, format!("two: answers BUSY; {refused}")),
            ]
        );
        assert_eq!(reports.counts(), [(CounterId::TargetBusy, 7)]);
    }

    #[test]
    fn a_second_has_a_bound_and_the_surplus_is_counted() {
        let (mut events, mut reports) = both();
        for _ in 0..A_SECOND + 5 {
            events.tell(Ns::secs(1), 0, PathEvent::Returned { away: Ns::secs(1) });
        }
        events.tell(Ns::secs(2), 0, PathEvent::Returned { away: Ns::millis(5) });
        let told = news(&mut reports);
        assert_eq!(told.len(), A_SECOND as usize + 1);
        assert_eq!(
            told[A_SECOND as usize],
            (2000, "path-returned", "one: restored after 5.0 ms".to_owned())
        );
        assert!(reports.counts().contains(&(CounterId::PathEventsUntold, 5)));
        for n in 0..2 * WAITING as u64 {
            events.tell(Ns::secs(10 + n), 0, PathEvent::Refused);
        }
        assert_eq!(news(&mut reports).len(), WAITING);
    }

    #[test]
    fn a_loss_says_what_was_under_way() {
        let (mut events, mut reports) = both();
        let lost = |why, moved, held, tried| PathEvent::Lost { why, moved, held, tried };
        events.tell(Ns::ZERO, 0, lost(PathLossCause::Closed, 12, 20, true));
        events.tell(Ns::ZERO, 1, lost(PathLossCause::Silent(10), 0, 0, false));
        let stall = PathEvent::Stall { ios: 32, first: Ns::millis(3), last: Ns::millis(2500) };
        events.tell(Ns::ZERO, 0, stall);
        let texts: Vec<_> = news(&mut reports).into_iter().map(|(.., text)| text).collect();
        assert_eq!(
            texts,
            [
                "one: lost (the target closed the connection); 12 I/Os moved to other paths; 20 writes held until the old \
                 session is fenced; reconnecting",
                "two: lost (the target was silent for 10 s and did not answer a ping)",
                "one: lost with 32 I/Os in flight: the first completed after 3.0 ms, the last after 2500 ms",
            ]
        );
        assert_eq!(reports.counts(), [(CounterId::PathsLost, 2), (CounterId::PathIosMoved, 32)]);
    }
}
