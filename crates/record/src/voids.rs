//! Parts of a step that count neither for nor against anything, because a process of the run itself did not run: the load
//! was not offered, or an array of the lab did not answer.
//!
//! Void are all intervals that overlap such a stop, and those after it in which an operation ended, or was still open,
//! that was due before the stop was over: its latency is partly the stop's. An operation that stays open for longer than
//! [`AFTERMATH`] after it is the device's again.
//!
//! At the edges of a step on several machines, clocks may leave it open whether all agents were under load. Void are intervals
//! of which more than one part in [`EDGE_SHARE`] lies in such a time.
//!
//! Of a load that was observed the time is void that no monitoring file covers.

use crate::Interval;
use clock::Ns;

/// How long after a stop an open operation is excused by it: the age at which an engine calls an operation hung.
const AFTERMATH: Ns = Ns::secs(5);

/// An interval counts whose share beyond the common window is at most one in this: intervals cannot be divided.
const EDGE_SHARE: u64 = 100;

/// Disjoint times in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Voids {
    spans: Vec<(Ns, Ns)>,
    /// Those of them that the clocks of agents leave open.
    edges: Vec<(Ns, Ns)>,
}

/// Finds them: stops first, then the intervals.
#[derive(Clone, Debug, Default)]
pub struct VoidSearch {
    stops: Vec<(Ns, Ns)>,
    edges: Vec<(Ns, Ns)>,
    gaps: Vec<(Ns, Ns)>,
    found: Vec<(Ns, Ns)>,
    found_at_edges: Vec<(Ns, Ns)>,
}

impl VoidSearch {
    /// Looks for what these stops make void.
    pub fn new(stops: Vec<(Ns, Ns)>) -> VoidSearch {
        VoidSearch { stops: joined(stops), ..VoidSearch::default() }
    }

    /// The same, where these times at edges of the step are beyond the common window of its agents.
    #[must_use]
    pub fn with_edges(self, edges: Vec<(Ns, Ns)>) -> VoidSearch {
        VoidSearch { edges: joined(edges), ..self }
    }

    /// The same, where these times are void as they are: no load is known in them.
    #[must_use]
    pub fn with_gaps(self, gaps: Vec<(Ns, Ns)>) -> VoidSearch {
        VoidSearch { gaps, ..self }
    }

    /// Whether there was no stop and no such edge, so that intervals need not be seen.
    pub fn is_needless(&self) -> bool {
        self.stops.is_empty() && self.edges.is_empty()
    }

    /// Looks at an interval of a worker.
    pub fn see(&mut self, interval: &Interval) {
        // Disjoint and in order: the first that ends later, and the last that ended before.
        let later = self.stops.partition_point(|(_, to)| *to <= interval.from);
        let near = &self.stops[later.saturating_sub(1)..self.stops.len().min(later + 1)];
        if near.iter().any(|stop| is_void(interval, *stop)) {
            self.found.push((interval.from, interval.to));
        }
        let length = interval.to.since(interval.from).0;
        let beyond =
            |(from, to): &(Ns, Ns)| (*to).min(interval.to).since((*from).max(interval.from));
        if self.edges.iter().any(|edge| beyond(edge).0 > length / EDGE_SHARE) {
            self.found_at_edges.push((interval.from, interval.to));
        }
    }

    /// What is void.
    pub fn finish(self) -> Voids {
        let edges = joined(self.found_at_edges);
        Voids { spans: joined([self.found, edges.clone(), self.gaps].concat()), edges }
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
        let first = self.spans.partition_point(|(_, end)| *end <= from);
        self.spans.get(first).is_some_and(|(start, end)| *start < to && from < *end)
    }

    /// How much of this time is void.
    pub fn within(&self, from: Ns, to: Ns) -> Ns {
        let inside = |(start, end): &(Ns, Ns)| (*end).min(to).since((*start).max(from));
        // There may be thousands, and thousands who ask.
        let first = self.spans.partition_point(|(_, end)| *end <= from);
        let near = self.spans[first..].iter().take_while(|(start, _)| *start < to);
        near.map(inside).fold(Ns::ZERO, Ns::plus)
    }

    /// Whether the clocks of agents make a part of this time void.
    pub fn at_edges(&self, from: Ns, to: Ns) -> bool {
        self.edges.iter().any(|(start, end)| *start < to && from < *end)
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

    #[test]
    fn at_the_edges_an_interval_is_void_once_more_than_a_hundredth_is_open() {
        for (edges, void) in [
            (vec![(10_000, 10_010)], vec![]),
            (vec![(10_000, 10_011)], vec![(10, 11)]),
            (vec![(9_000, 10_300), (19_700, 20_000)], vec![(10, 11), (19, 20)]),
            (vec![(10_000, 11_200)], vec![(10, 12)]),
        ] {
            let edges = edges.iter().map(|(a, b)| (Ns::millis(*a), Ns::millis(*b))).collect();
            let mut search = VoidSearch::default().with_edges(edges);
            assert!(!search.is_needless());
            for second in 10..20 {
                search.see(&Interval {
                    source: SourceId(0),
                    step: 0,
                    phase: Phase::Measure,
                    from: Ns::secs(second),
                    to: Ns::secs(second + 1),
                    // What was due in such a time and ended later is the load's: nothing stood still.
                    read: Some(Completed::empty(false)),
                    write: None,
                    others: Default::default(),
                    testimony: None,
                });
            }
            let found = search.finish();
            let void: Vec<_> = void.iter().map(|(a, b)| (Ns::secs(*a), Ns::secs(*b))).collect();
            assert_eq!(found.spans(), void);
            assert!(void.iter().all(|(from, to)| found.at_edges(*from, *to)));
            assert!(!found.at_edges(Ns::secs(14), Ns::secs(15)));
        }
    }
}
