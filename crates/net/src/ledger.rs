//! One stream's books at the end that collects: what lies between two cuts is the difference of what its worker stood at, and
//! the measured time is the sum of its intervals.

use crate::figures::{StreamFigures, Times};
use crate::line::{Line, counts_of};
use crate::plane::{Count, Desk, Page, count_of};
use crate::report::{Counts, Phase};
use record::Histogram;

/// One stream's books.
pub(crate) struct Ledger {
    desk: Desk,
    /// A page that has arrived for a later cut than was asked for.
    held: Option<Page>,
    /// The first cut that is not settled.
    next: u32,
    /// What it stood at then.
    before: Counts,
    /// Over the intervals of the measured time.
    measured: Counts,
    latency: Option<Times>,
    /// Of pages whose cut was settled without them.
    late: Option<Times>,
    /// What its worker had left when it ended.
    rest: Option<Times>,
}

impl Ledger {
    pub(crate) fn new(desk: Desk) -> Ledger {
        let latency = desk.cleared.is_some().then(Times::none);
        let (before, measured) = (Counts::default(), Counts::default());
        Ledger { desk, held: None, next: 0, before, measured, latency, late: None, rest: None }
    }

    /// Cuts below this are settled.
    pub(crate) fn settled(&self) -> u32 {
        self.next
    }

    /// Settles a cut, if it is the next one and enough is known of it. Streams without times are read off their counters
    /// where no page has come: their thread is blocked, or has ended. With `over` the others are too.
    pub(crate) fn settle(
        &mut self,
        cut: u32,
        phase: Phase,
        line: &Line,
        over: bool,
        out: &mut StreamFigures,
    ) {
        if cut != self.next {
            return;
        }
        let timed = self.desk.cleared.is_some();
        let known = self.page_of(cut);
        if timed && !over && matches!(known, Known::Nothing) {
            return;
        }
        let mut times = timed.then(|| self.late.take().unwrap_or_else(Times::none));
        let now = match known {
            Known::Here(page) => {
                let counts = counts_of(|count| count_of(&page.counts, count));
                out.jitter = count_of(&page.counts, Count::Jitter);
                self.take_times(page, times.as_mut());
                counts
            }
            Known::Unchanged => self.before,
            Known::Nothing => {
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
        if phase == Phase::Measured {
            self.measured = self.measured.plus(out.counts);
            if let (Some(all), Some(times)) = (&mut self.latency, &times) {
                all.merge(times);
            }
        }
        out.times = times;
        (self.before, self.next) = (now, cut + 1);
    }

    fn page_of(&mut self, cut: u32) -> Known {
        loop {
            let Some(page) = self.held.take().or_else(|| self.desk.pages.pop().ok()) else {
                return Known::Nothing;
            };
            if page.cut == cut {
                return Known::Here(page);
            }
            if page.cut > cut {
                self.held = Some(page);
                return Known::Unchanged;
            }
            // Its cut was settled without it; its times are those of the next one.
            let mut late = self.late.take().unwrap_or_else(Times::none);
            self.take_times(page, Some(&mut late));
            self.late = Some(late);
        }
    }

    /// Takes a page's times, and sends the cleared ones back.
    fn take_times(&mut self, page: Page, into: Option<&mut Times>) {
        let Some(mut times) = page.times else { return };
        if let Some(into) = into {
            into.merge(&times);
        }
        times.clear();
        if let Some(cleared) = &mut self.desk.cleared {
            // Cannot fail: the ring holds all there are.
            let _ = cleared.push(times);
        }
    }

    /// What its worker had left when it ended.
    pub(crate) fn rest(&mut self, times: Times) {
        self.rest = Some(times);
    }

    /// What was counted in the measured time.
    pub(crate) fn measured(&self) -> Counts {
        self.measured
    }

    /// Times of its transactions in the measured time, where they are timed.
    pub(crate) fn latency(&self) -> Option<Histogram> {
        self.latency.as_ref().map(|times| times.histogram.clone())
    }
}

/// What is known of a stream at a cut.
enum Known {
    Here(Page),
    /// Its worker has handed over a later cut and not this one: nothing was done in between.
    Unchanged,
    Nothing,
}
