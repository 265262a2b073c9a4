//! Detects hung I/O while it hangs: which worker, and for how long.
//!
//! There are two sources, because either may be silent. A worker that wakes at every cut reports the age of its
//! oldest operation with each interval. A worker that is blocked in a system call reports nothing, but its
//! [heartbeat](crate::heartbeat) has stopped at the time it entered the call. Pure bookkeeping on times of the record,
//! one watch a worker, on the control plane; `khungtaskd` of the Linux kernel does the same for tasks.

use clock::Ns;
use record::Interval;

/// Age at which an operation counts as hung. Far above the latency of a loaded disk with a deep queue, and far below
/// the 30 s after which Linux times out a SCSI or NVMe command. It is reported again whenever its age has doubled.
pub const HANG_AFTER: Ns = Ns::secs(5);

/// A change in one worker's hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hang {
    /// Its oldest operation has been in flight for `age`.
    On {
        /// Since its submission.
        age: Ns,
    },
    /// The hang is over: the operation ended after about `took`.
    Over {
        /// From submission to end; if that was not counted, up to the end of the interval in which it ended.
        took: Ns,
    },
}

/// Watches one worker.
#[derive(Clone, Debug)]
pub(crate) struct HangWatch {
    after: Ns,
    /// Submission of the oldest operation in flight, as of the last interval.
    oldest: Option<Ns>,
    /// Up to here this process did not run: no operation is older for it.
    excused: Ns,
    /// The hang that has been reported.
    reported: Option<ReportedHang>,
}

#[derive(Clone, Copy, Debug)]
struct ReportedHang {
    since: Ns,
    /// The age at which to report it again.
    again: Ns,
}

impl HangWatch {
    /// Watches for operations older than `after`.
    pub fn new(after: Ns) -> HangWatch {
        HangWatch { after, oldest: None, excused: Ns::ZERO, reported: None }
    }

    /// This process did not run up to `until`.
    pub fn excuse(&mut self, until: Ns) {
        self.excused = self.excused.max(until);
    }

    /// Processes one interval of the worker. Returns a hang that is over, and one that continues, in this order.
    pub fn on_interval(&mut self, interval: &Interval) -> [Option<Hang>; 2] {
        let Some(testimony) = &interval.testimony else { return [None, None] };
        self.oldest = (testimony.open > 0).then(|| {
            // The age is exact; the computed time may precede the record's start if the interval was cut late.
            interval.to.since(testimony.open_age_max)
        });
        let over = match self.reported {
            Some(reported) if self.oldest.is_none_or(|oldest| oldest > reported.since) => {
                self.reported = None;
                Some(Hang::Over { took: took(interval, reported.since, self.after) })
            }
            _ => None,
        };
        [over, self.oldest.and_then(|since| self.report(since, interval.to))]
    }

    /// Checks a worker from outside: it was last seen at `seen`. Returns a hang if it must be reported.
    pub fn check_blocked(&mut self, now: Ns, seen: Ns) -> Option<Hang> {
        // A worker that wakes at its cuts has itself reported the age of its oldest operation.
        if now.since(seen) < self.after {
            return None;
        }
        self.report(self.oldest.map_or(seen, |oldest| oldest.min(seen)), now)
    }

    /// The worker ended with nothing in flight, and was last seen at `seen`.
    pub fn ended(&mut self, seen: Ns) -> Option<Hang> {
        self.reported.take().map(|reported| Hang::Over { took: seen.since(reported.since) })
    }

    /// The worker ended otherwise: the end of its hang is unknown.
    pub fn give_up(&mut self) {
        self.reported = None;
    }

    fn report(&mut self, since: Ns, now: Ns) -> Option<Hang> {
        let age = now.since(since.max(self.excused));
        if age < self.reported.map_or(self.after, |reported| reported.again) {
            return None;
        }
        let mut again = self.after;
        while again <= age && again < Ns::MAX {
            again = again.plus(again).max(Ns(1));
        }
        // The age that a worker reported is older than the time it was last seen: the same hang, more exact.
        let since = self.reported.map_or(since, |reported| reported.since.min(since));
        self.reported = Some(ReportedHang { since, again });
        Some(Hang::On { age })
    }
}

/// How long the operation took that was submitted at `since` and ended within `interval`: the longest service time in
/// the interval, unless it failed, because failed operations are in no histogram.
fn took(interval: &Interval, since: Ns, after: Ns) -> Ns {
    let longest = interval.tallies().filter_map(|tally| tally.service.max()).max();
    let until_end = interval.to.since(since);
    longest.filter(|longest| *longest >= after && *longest <= until_end).unwrap_or(until_end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Completed, Phase, SourceId, Testimony};

    const AFTER: Ns = Ns::secs(5);

    /// The interval from `second` on; the oldest operation in flight at its end is `age` seconds old, and the slowest
    /// that ended in it took `slowest` seconds.
    fn interval(second: u64, age: Option<u64>, slowest: Option<u64>) -> Interval {
        let mut read = Completed::empty(false);
        if let Some(seconds) = slowest {
            read.success(512, Ns::secs(seconds), Ns::secs(seconds));
        }
        let open_age_max = Ns::secs(age.unwrap_or(0));
        let testimony =
            Testimony { open: age.is_some().into(), open_age_max, ..Testimony::default() };
        Interval {
            others: Default::default(),
            source: SourceId(0),
            step: 0,
            phase: Phase::Measure,
            from: Ns::secs(second),
            to: Ns::secs(second + 1),
            read: Some(read),
            write: None,
            testimony: Some(testimony),
        }
    }

    fn on(seconds: u64) -> Option<Hang> {
        Some(Hang::On { age: Ns::secs(seconds) })
    }

    /// The seconds in the reported changes; those of a hang that continues are positive.
    fn seconds(news: impl IntoIterator<Item = Option<Hang>>) -> Vec<i64> {
        let whole = |ns: Ns| (ns.as_secs_f64()).round() as i64;
        let one = |hang| match hang {
            Hang::On { age } => whole(age),
            Hang::Over { took } => -whole(took),
        };
        news.into_iter().flatten().map(one).collect()
    }

    #[test]
    fn a_waking_worker_reports_its_oldest_operation_as_its_age_doubles() {
        let mut watch = HangWatch::new(AFTER);
        let hears = (0..45).flat_map(|s| watch.on_interval(&interval(s, Some(s + 1), None)));
        assert_eq!(seconds(hears), [5, 10, 20, 40]);
        assert_eq!(seconds(watch.on_interval(&interval(45, None, Some(45)))), [-45]);
        assert!(seconds(watch.on_interval(&interval(46, None, None))).is_empty(), "reported once");
    }

    #[test]
    fn the_time_in_which_this_process_did_not_run_makes_no_operation_older() {
        let mut watch = HangWatch::new(AFTER);
        assert!(seconds(watch.on_interval(&interval(0, Some(1), None))).is_empty());
        watch.excuse(Ns::secs(21));
        assert_eq!(watch.check_blocked(Ns::secs(21), Ns::millis(900)), None);
        // Open since the beginning; the device is judged from second 21 on.
        let hears = (1..35).flat_map(|s| watch.on_interval(&interval(s, Some(s + 1), None)));
        assert_eq!(seconds(hears), [5, 10]);
    }

    #[test]
    fn a_blocked_worker_is_detected_from_outside() {
        let mut watch = HangWatch::new(AFTER);
        let looks = (0..230).map(|tenth| watch.check_blocked(Ns::millis(tenth * 100), Ns::ZERO));
        assert_eq!(seconds(looks), [5, 10, 20]);
        // The worker's report on waking is known by then, and the end comes with the interval that counts it.
        let hears = (0..23).flat_map(|s| watch.on_interval(&interval(s, Some(s + 1), None)));
        assert!(seconds(hears).is_empty());
        assert_eq!(seconds(watch.on_interval(&interval(23, Some(0), Some(23)))), [-23]);
    }

    #[test]
    fn a_reported_age_refines_the_time_last_seen() {
        let mut watch = HangWatch::new(AFTER);
        assert!(seconds(watch.on_interval(&interval(0, Some(1), None))).is_empty());
        assert_eq!(watch.check_blocked(Ns::secs(6), Ns::millis(900)), on(6));
        assert_eq!(watch.check_blocked(Ns::secs(6), Ns::millis(900)), None);
    }

    #[test]
    fn slow_operations_below_the_threshold_are_not_hangs() {
        let mut watch = HangWatch::new(AFTER);
        for s in 0..100 {
            assert_eq!(watch.on_interval(&interval(s, Some(4), Some(4))), [None, None]);
            assert_eq!(watch.check_blocked(Ns::secs(s + 1), Ns::secs(s)), None);
        }
    }

    #[test]
    fn the_next_hang_is_reported_separately() {
        let mut watch = HangWatch::new(AFTER);
        assert_eq!(seconds(watch.on_interval(&interval(6, Some(7), None))), [7]);
        // The first ends; one that was submitted two seconds later is now the oldest, and hangs already.
        assert_eq!(seconds(watch.on_interval(&interval(7, Some(6), Some(8)))), [-8, 6]);
        assert_eq!(seconds(watch.on_interval(&interval(8, None, Some(7)))), [-7]);
    }

    #[test]
    fn a_hang_that_ends_in_an_error_is_over_by_the_end_of_its_interval() {
        let mut watch = HangWatch::new(AFTER);
        assert_eq!(seconds(watch.on_interval(&interval(29, Some(30), None))), [30]);
        assert_eq!(seconds(watch.on_interval(&interval(30, None, Some(1)))), [-31]);
    }

    #[test]
    fn a_hang_that_ends_after_the_load_is_over_when_the_worker_ends() {
        let mut watch = HangWatch::new(AFTER);
        assert_eq!(watch.ended(Ns::secs(3)), None);
        assert_eq!(watch.check_blocked(Ns::secs(8), Ns::secs(2)), on(6));
        let mut left = watch.clone();
        assert_eq!(watch.ended(Ns::secs(9)), Some(Hang::Over { took: Ns::secs(7) }));
        left.give_up();
        assert_eq!(left.ended(Ns::secs(9)), None);
    }

    #[test]
    fn extreme_ages_do_not_overflow() {
        let mut watch = HangWatch::new(AFTER);
        assert_eq!(watch.check_blocked(Ns::MAX, Ns::ZERO), Some(Hang::On { age: Ns::MAX }));
    }
}
