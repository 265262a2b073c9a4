//! One stream's totals at the collector: an interval is the difference of its worker's counters at two cuts, and the measured
//! time is the sum of its intervals.

use crate::figures::{StreamFigures, TransactionTimes};
use crate::plane::{Count, CutCounters, PageReader, count_of};
use crate::report::{StreamTotals, TestPhase};
use crate::test_stream::{TestStream, counts_of};
use record::Histogram;

/// One stream's totals.
pub(crate) struct StreamLedger {
    reader: PageReader,
    /// A page that has arrived for a later cut than was asked for.
    held: Option<CutCounters>,
    /// The first cut that is not settled.
    next: u32,
    /// What it stood at then.
    before: StreamTotals,
    /// Over the intervals of the measured time.
    measured: StreamTotals,
    latency: Option<TransactionTimes>,
    /// Of pages whose cut was settled without them.
    late: Option<TransactionTimes>,
    /// What its worker had left when it ended.
    rest: Option<TransactionTimes>,
}

impl StreamLedger {
    pub(crate) fn new(reader: PageReader) -> StreamLedger {
        let latency = reader.cleared.is_some().then(TransactionTimes::none);
        let (before, measured) = (StreamTotals::default(), StreamTotals::default());
        StreamLedger {
            reader,
            held: None,
            next: 0,
            before,
            measured,
            latency,
            late: None,
            rest: None,
        }
    }

    /// Cuts below this are settled.
    pub(crate) fn settled(&self) -> u32 {
        self.next
    }

    /// Settles a cut, if it is the next one and its page is there. Without a page (the thread is blocked or has ended) streams
    /// without times are read off their counters; with `over` the others are too.
    pub(crate) fn settle(
        &mut self,
        cut: u32,
        phase: TestPhase,
        line: &TestStream,
        over: bool,
        out: &mut StreamFigures,
    ) {
        if cut != self.next {
            return;
        }
        let timed = self.reader.cleared.is_some();
        let known = self.page_of(cut);
        if timed && !over && matches!(known, PageState::Nothing) {
            return;
        }
        let mut times = timed.then(|| self.late.take().unwrap_or_else(TransactionTimes::none));
        let now = match known {
            PageState::Here(page) => {
                let counts = counts_of(|count| count_of(&page.counts, count));
                out.jitter = count_of(&page.counts, Count::Jitter);
                self.take_times(page, times.as_mut());
                counts
            }
            PageState::Unchanged => self.before,
            PageState::Nothing => {
                if let (Some(times), Some(rest)) = (&mut times, self.rest.take()) {
                    times.merge(&rest);
                }
                out.jitter = line.meter.get(Count::Jitter);
                line.counts()
            }
        };
        out.counts = now.since(self.before);
        if line.is_datagrams() {
            out.packets = out.counts.items;
        }
        if phase == TestPhase::Measured {
            self.measured = self.measured.plus(out.counts);
            if let (Some(all), Some(times)) = (&mut self.latency, &times) {
                all.merge(times);
            }
        }
        out.times = times;
        (self.before, self.next) = (now, cut + 1);
    }

    fn page_of(&mut self, cut: u32) -> PageState {
        loop {
            let Some(page) = self.held.take().or_else(|| self.reader.pages.pop().ok()) else {
                return PageState::Nothing;
            };
            if page.cut == cut {
                return PageState::Here(page);
            }
            if page.cut > cut {
                self.held = Some(page);
                return PageState::Unchanged;
            }
            // Its cut was settled without it; its times are those of the next one.
            let mut late = self.late.take().unwrap_or_else(TransactionTimes::none);
            self.take_times(page, Some(&mut late));
            self.late = Some(late);
        }
    }

    /// Takes a page's times, and sends the cleared ones back.
    fn take_times(&mut self, page: CutCounters, into: Option<&mut TransactionTimes>) {
        let Some(mut times) = page.times else { return };
        if let Some(into) = into {
            into.merge(&times);
        }
        times.clear();
        if let Some(cleared) = &mut self.reader.cleared {
            // Cannot fail: the ring holds all there are.
            let _ = cleared.push(times);
        }
    }

    /// What its worker had left when it ended.
    pub(crate) fn rest(&mut self, times: TransactionTimes) {
        self.rest = Some(times);
    }

    /// What was counted in the measured time.
    pub(crate) fn measured(&self) -> StreamTotals {
        self.measured
    }

    /// Times of its transactions in the measured time, where they are timed.
    pub(crate) fn latency(&self) -> Option<Histogram> {
        self.latency.as_ref().map(|times| times.histogram.clone())
    }
}

/// What is known of a stream at a cut.
enum PageState {
    Here(CutCounters),
    /// Its worker has handed over a later cut and not this one: nothing was done in between.
    Unchanged,
    Nothing,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grid::{Grid, TestStart};
    use crate::plane::{Cutter, PageWriter};
    use crate::report::StreamDirection;
    use crate::test_stream::Socket;
    use crate::{Carriage, TestSpec};
    use clock::Ns;
    use std::net::UdpSocket;
    use std::sync::Arc;

    /// What happens between a worker and its ledger.
    #[derive(Clone, Copy, Debug)]
    enum LedgerEvent {
        /// The worker has the time.
        At(u64),
        /// It has done so many transactions.
        Did(u64),
        /// The collector settles the next cut; expected: transactions and times of it, or that it must wait.
        Settle(Option<(u64, u64)>),
        /// The same once the worker has ended.
        Last(u64, u64),
    }

    use LedgerEvent::{At, Did, Last, Settle};

    /// Cuts are at 1100, 1200, …; the measured time is from 1200 to 1400.
    #[track_caller]
    fn check(timed: bool, events: &[LedgerEvent], measured: u64) {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let line =
            TestStream::new(0, StreamDirection::Up, true, Socket::Udp(Arc::new(socket)), &[0; 16]);
        let (writer, reader) = PageWriter::open(Arc::clone(&line.meter), timed);
        let (mut cutter, mut ledger) = (Some(Cutter::new(vec![writer])), StreamLedger::new(reader));
        let spec = TestSpec {
            warmup: Ns(200),
            measure: Ns(200),
            cooldown: Ns(900),
            interval: Ns(100),
            ..TestSpec::new(Carriage::Tcp)
        };
        let grid = Grid::new(TestStart { at: Ns(1_000), since: Ns::ZERO }, &spec);
        let (mut cuts, mut again) = (grid.cuts(), None);
        cutter.as_mut().unwrap().start(grid);
        let mut all = 0;
        for (number, event) in events.iter().enumerate() {
            let (expected, over) = match *event {
                At(now) => {
                    cutter.as_mut().unwrap().at(Ns(now));
                    continue;
                }
                Did(count) => {
                    line.meter.add(Count::Items, count);
                    (0..count).for_each(|_| cutter.as_mut().unwrap().timed(Ns(5)));
                    all += count;
                    continue;
                }
                Settle(expected) => (expected, false),
                Last(items, times) => {
                    let rest = cutter.take().and_then(|mut cutter| cutter.rest());
                    rest.into_iter().for_each(|times| ledger.rest(*times));
                    (Some((items, times)), true)
                }
            };
            let cut = again.take().or_else(|| cuts.next()).unwrap();
            let mut out = StreamFigures::default();
            ledger.settle(cut.index, cut.phase, &line, over, &mut out);
            if ledger.settled() == cut.index {
                assert_eq!(expected, None, "{events:?} at {number}");
                // It is asked for again.
                again = Some(cut);
                continue;
            }
            let times = out.times.map_or(0, |times| times.histogram.count());
            assert_eq!(Some((out.counts.items, times)), expected, "{events:?} at {number}");
            all -= out.counts.items;
        }
        assert_eq!(all, 0, "nothing is left: {events:?}");
        assert_eq!(ledger.measured().items, measured, "{events:?}");
        if timed {
            assert_eq!(ledger.latency().map(|times| times.count()), Some(measured), "{events:?}");
        }
    }

    #[test]
    fn work_before_a_cut_is_settled_with_it() {
        let step = |at, done| [At(at), Did(done)];
        let events = [
            &[Did(3)][..],
            &step(1_100, 4),
            // The collector is late: what was done since is of the next one.
            &[Settle(Some((3, 3)))],
            &step(1_250, 5),
            &[Settle(Some((4, 4)))],
            &step(1_300, 6),
            &step(1_400, 7),
            &[Settle(Some((5, 5))), Settle(Some((6, 6))), Last(7, 7)],
        ];
        check(true, &events.concat(), 11);
    }

    #[test]
    fn a_blocked_worker_counts_nothing() {
        // With times it is waited for; its page says that nothing was done in the cuts that it slept through.
        let slept = [
            Did(2),
            Settle(None),
            At(1_350),
            Did(1),
            Settle(Some((2, 2))),
            Settle(None),
            At(1_400),
            Settle(Some((0, 0))),
            Settle(Some((0, 0))),
            Settle(Some((1, 1))),
        ];
        check(true, &slept, 1);
        // Without, its counters are read as they stand, and the page that comes later is of no more use.
        let events = [
            Did(2),
            Settle(Some((2, 0))),
            Settle(Some((0, 0))),
            At(1_250),
            Did(1),
            At(1_300),
            Did(4),
            Settle(Some((1, 0))),
            Settle(Some((4, 0))),
        ];
        check(false, &events, 5);
    }

    #[test]
    fn counts_survive_a_late_collector() {
        // Times are there for three cuts; later counts accumulate until there is room again.
        let events = [
            &[Did(1), At(1_100), Did(2), At(1_200), Did(3), At(1_300), Did(4)][..],
            &[At(1_400), Did(5), At(1_500), Did(6)],
            &[Settle(Some((1, 1))), Settle(Some((2, 2))), Settle(Some((3, 3)))],
            &[At(1_600), Settle(Some((0, 0))), Settle(Some((0, 0))), Settle(Some((15, 15)))],
        ];
        check(true, &events.concat(), 3);
    }

    #[test]
    fn the_last_cut_takes_a_worker_s_rest() {
        check(true, &[Did(2), At(1_100), Settle(Some((2, 2))), Did(3), Last(3, 3)], 0);
        check(true, &[Did(2), Last(2, 2)], 0);
    }
}
