//! Parts of a step that count neither for nor against anything, because a process of the run itself did not run: the load
//! was not offered, or an array of the lab did not answer.
//!
//! Void are all intervals that overlap such a stop, and those after it in which an operation ended, or was still open,
//! that was due before the stop was over: its latency is partly the stop's. An operation that stays open for longer than
//! [`AFTERMATH`] after it is the device's again.

use crate::Interval;
use clock::Ns;

/// How long after a stop an open operation is excused by it: the age at which an engine calls an operation hung.
const AFTERMATH: Ns = Ns::secs(5);

/// Disjoint times in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voids {
    spans: Vec<(Ns, Ns)>,
}

/// Finds them: stops first, then the intervals.
#[derive(Clone, Debug, Default)]
pub struct VoidSearch {
    stops: Vec<(Ns, Ns)>,
    found: Vec<(Ns, Ns)>,
}

impl VoidSearch {
    /// Looks for what these stops make void.
    pub fn new(stops: Vec<(Ns, Ns)>) -> VoidSearch {
        VoidSearch { stops: joined(stops), found: Vec::new() }
    }

    /// Whether there was no stop, and nothing is void.
    pub fn is_needless(&self) -> bool {
        self.stops.is_empty()
    }

    /// Looks at an interval of a worker.
    pub fn see(&mut self, interval: &Interval) {
        // Disjoint and in order: the first that ends later, and the last that ended before.
        let later = self.stops.partition_point(|(_, to)| *to <= interval.from);
        let near = &self.stops[later.saturating_sub(1)..self.stops.len().min(later + 1)];
        if near.iter().any(|stop| is_void(interval, *stop)) {
            self.found.push((interval.from, interval.to));
        }
    }

    /// What is void.
    pub fn finish(self) -> Voids {
        Voids { spans: joined(self.found) }
    }
}

/// The same times, disjoint and in order.
fn joined(mut all: Vec<(Ns, Ns)>) -> Vec<(Ns, Ns)> {
    all.sort_unstable();
    let mut spans: Vec<(Ns, Ns)> = Vec::new();
    for (from, to) in all.into_iter().filter(|(from, to)| from < to) {
        match spans.last_mut() {
            Some((_, end)) if from <= *end => *end = to.max(*end),
            _ => spans.push((from, to)),
        }
    }
    spans
}

fn is_void(interval: &Interval, (from, to): (Ns, Ns)) -> bool {
    if interval.to <= from || interval.from == interval.to {
        return false;
    }
    if interval.from < to {
        return true;
    }
    // Due before the stop was over, wherever in the interval it ended.
    let since = interval.from.since(to);
    let slowest = interval.tallies().filter_map(|tally| tally.response().max()).max();
    let open = interval.testimony.filter(|t| t.open > 0).map(|t| t.open_age_max);
    let after = interval.to.since(to);
    slowest.is_some_and(|slowest| slowest > since)
        || open.is_some_and(|age| age > after && after < AFTERMATH)
}

impl Voids {
    /// Whether nothing is void.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// Whether a part of this time is void.
    pub fn touch(&self, from: Ns, to: Ns) -> bool {
        self.spans.iter().any(|(start, end)| *start < to && from < *end)
    }

    /// How much of this time is void.
    pub fn within(&self, from: Ns, to: Ns) -> Ns {
        let inside = |(start, end): &(Ns, Ns)| (*end).min(to).since((*start).max(from));
        self.spans.iter().map(inside).fold(Ns::ZERO, Ns::plus)
    }

    /// The times.
    pub fn spans(&self) -> &[(Ns, Ns)] {
        &self.spans
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Completed, Phase, SourceId, Testimony};

    /// Seconds 10 to 20 of one worker. What ends or is open is given as (second in which, age in seconds).
    #[track_caller]
    fn check(stops: &[(u64, u64)], ends: &[(u64, u64)], open: &[(u64, u64)], void: &[(u64, u64)]) {
        let stop = |(from, to): &(u64, u64)| (Ns::millis(*from), Ns::millis(*to));
        let mut search = VoidSearch::new(stops.iter().map(stop).collect());
        for second in 10..20 {
            let mut read = Completed::empty(false);
            let of = |(at, age): &(u64, u64)| (*at == second).then_some(Ns::millis(*age));
            ends.iter().filter_map(of).for_each(|age| read.success(512, age, age));
            let age = open.iter().find_map(of);
            let testimony = Testimony {
                open: age.is_some().into(),
                open_age_max: age.unwrap_or(Ns::ZERO),
                ..Testimony::default()
            };
            search.see(&Interval {
                source: SourceId(0),
                step: 0,
                phase: Phase::Measure,
                from: Ns::secs(second),
                to: Ns::secs(second + 1),
                read: Some(read),
                write: None,
                others: Default::default(),
                testimony: Some(testimony),
            });
        }
        let found = search.finish();
        let void: Vec<_> = void.iter().map(|(a, b)| (Ns::secs(*a), Ns::secs(*b))).collect();
        assert_eq!(found.spans(), void);
        let sum = void.iter().fold(Ns::ZERO, |sum, (from, to)| sum.plus(to.since(*from)));
        assert_eq!(found.within(Ns::ZERO, Ns::MAX), sum);
    }

    #[test]
    fn the_seconds_of_a_stop_are_void_and_no_others() {
        check(&[], &[(12, 900)], &[(13, 9000)], &[]);
        check(&[(12_400, 14_600)], &[(11, 900), (15, 300)], &[(11, 900)], &[(12, 15)]);
        check(&[(12_000, 13_000), (15_999, 16_001)], &[], &[], &[(12, 13), (15, 17)]);
        check(&[(2_000, 9_000), (20_500, 30_000)], &[], &[], &[]);
    }

    #[test]
    fn what_was_due_before_the_end_of_a_stop_is_void_when_it_ends_or_is_open_later() {
        // It ended half a second after the beginning of second 16, submitted or due before 14.6 s.
        check(&[(12_400, 14_600)], &[(16, 2_000)], &[], &[(12, 15), (16, 17)]);
        check(&[(12_400, 14_600)], &[(16, 1_300)], &[], &[(12, 15)]);
        // Open since before the end of the stop: for five seconds more, then it is the device that hangs.
        let open: Vec<_> = (14..20).map(|s| (s, (s + 1) * 1000 - 14_000)).collect();
        check(&[(12_400, 14_600)], &[], &open, &[(12, 19)]);
    }
}
