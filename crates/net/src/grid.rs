//! When a test's phases begin and end, and where it is counted: at whole intervals of the asking end's time base, and at every
//! phase edge. Both ends have the same grid, each on its own clock, so sent and received intervals correspond.
//!
//! Pure arithmetic on moments; it reads no clock. The first whole cut is sent as a distance from the start, since the
//! time base's zero may be before the other host's boot.

use crate::TestSpec;
use crate::report::TestPhase;
use clock::Ns;
use serde::{Deserialize, Serialize};

/// The start of a test on one end's clock, as the sender reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TestStart {
    /// Load begins.
    pub at: Ns,
    /// How far the last whole cut lies behind.
    pub since: Ns,
}

/// A test's phases and cuts on one end's clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Grid {
    start: Ns,
    /// From the start to the first whole cut; from 1 ns to an interval.
    first: Ns,
    interval: Ns,
    /// From the start to the edges of the phases.
    measure: Ns,
    cooldown: Ns,
    end: Ns,
}

/// The time between two cuts: in one phase, and at most an interval long. Times are since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GridCut {
    pub index: u32,
    pub phase: TestPhase,
    pub from: Ns,
    pub to: Ns,
}

impl TestStart {
    /// A start at `at`, with whole cuts counted from `epoch`.
    pub(crate) fn new(at: Ns, epoch: Ns, interval: Ns) -> TestStart {
        TestStart { at, since: Ns(at.since(epoch).0 % interval.0.max(1)) }
    }

    /// The same moment on a clock that is ahead by so many nanoseconds.
    pub(crate) fn shifted(self, offset: i64) -> TestStart {
        TestStart { at: Ns(self.at.0.saturating_add_signed(offset)), ..self }
    }
}

impl Grid {
    pub(crate) fn new(start: TestStart, spec: &TestSpec) -> Grid {
        let cooldown = spec.warmup.plus(spec.measure);
        let interval = spec.interval.max(Ns(1));
        Grid {
            start: start.at,
            first: Ns(interval.0 - start.since.0 % interval.0),
            interval,
            measure: spec.warmup,
            cooldown,
            end: cooldown.plus(spec.cooldown),
        }
    }

    pub(crate) fn start(&self) -> Ns {
        self.start
    }

    /// The measured time, since the start.
    pub(crate) fn measured(&self) -> (Ns, Ns) {
        (self.measure, self.cooldown)
    }

    /// The phase at a moment on this end's clock; a moment outside belongs to the nearest one.
    pub(crate) fn phase_at(&self, at: Ns) -> TestPhase {
        match at.since(self.start) {
            t if t < self.measure => TestPhase::Warmup,
            t if t < self.cooldown => TestPhase::Measured,
            _ => TestPhase::Cooldown,
        }
    }

    /// The first cut after `at`, the end included; `None` from the end on. Both on this end's clock.
    pub(crate) fn cut_after(&self, at: Ns) -> Option<Ns> {
        self.next(at.since(self.start)).map(|next| self.start.plus(next))
    }

    /// The same, since the start.
    fn next(&self, from: Ns) -> Option<Ns> {
        if from >= self.end {
            return None;
        }
        let whole = match from.0.checked_sub(self.first.0) {
            None => self.first,
            Some(past) => self.first.plus(Ns((past / self.interval.0 + 1) * self.interval.0)),
        };
        let edges = [self.measure, self.cooldown, self.end].into_iter().filter(|edge| *edge > from);
        edges.chain([whole]).min()
    }

    /// All that lies between two cuts, in order and without gaps.
    pub(crate) fn cuts(&self) -> impl Iterator<Item = GridCut> + use<> {
        let (grid, mut from, mut index) = (*self, Ns::ZERO, 0);
        std::iter::from_fn(move || {
            let to = grid.next(from)?;
            let cut = GridCut { index, phase: grid.phase_at(grid.start.plus(from)), from, to };
            (from, index) = (to, index + 1);
            Some(cut)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Carriage;

    fn grid(start: TestStart, phases: [u64; 3], interval: u64) -> Grid {
        let [warmup, measure, cooldown] = phases.map(Ns);
        let interval = Ns(interval);
        Grid::new(
            start,
            &TestSpec { warmup, measure, cooldown, interval, ..TestSpec::new(Carriage::Tcp) },
        )
    }

    /// A start, an epoch, the phases: the cuts' ends, with the phases' initials.
    #[track_caller]
    fn check(start: u64, epoch: u64, phases: [u64; 3], expected: &[(u64, char)]) {
        let start = TestStart::new(Ns(start), Ns(epoch), Ns(100));
        let mut last = Ns::ZERO;
        let found: Vec<(u64, char)> = grid(start, phases, 100)
            .cuts()
            .enumerate()
            .map(|(index, cut)| {
                assert_eq!((cut.index as usize, cut.from), (index, last), "no gaps");
                assert!(cut.to > cut.from && cut.to.since(cut.from) <= Ns(100), "{cut:?}");
                last = cut.to;
                let phase = format!("{:?}", cut.phase).chars().next();
                (cut.to.0, phase.unwrap_or('?'))
            })
            .collect();
        assert_eq!(found, expected, "{start:?} {phases:?}");
    }

    #[test]
    fn cuts_are_whole_intervals_of_the_epoch_and_phase_edges() {
        check(1_000, 1_000, [100, 200, 100], &[(100, 'W'), (200, 'M'), (300, 'M'), (400, 'C')]);
        check(1_030, 1_000, [100, 50, 0], &[(70, 'W'), (100, 'W'), (150, 'M')]);
        check(1_030, 1_000, [0, 40, 0], &[(40, 'M')]);
        check(1_030, 1_000, [0, 40, 50], &[(40, 'M'), (70, 'C'), (90, 'C')]);
        check(1_000, 2_000, [0, 100, 0], &[(100, 'M')]);
        check(5, 0, [0, 0, 0], &[]);
    }

    #[test]
    fn another_clock_has_the_same_cuts() {
        let start = TestStart::new(Ns(1_030), Ns(40), Ns(100));
        let mine = grid(start, [130, 333, 50], 100);
        for offset in [0, 7_000, -1_000, -5_000, i64::MAX] {
            let theirs = grid(start.shifted(offset), [130, 333, 50], 100);
            assert!(theirs.cuts().eq(mine.cuts()), "{offset}");
        }
    }

    #[test]
    fn a_moment_finds_its_cut_and_its_phase() {
        let grid = grid(TestStart { at: Ns(1_030), since: Ns(30) }, [100, 100, 100], 100);
        for (at, cut, phase) in [
            (0, Some(1_100), TestPhase::Warmup),
            (1_099, Some(1_100), TestPhase::Warmup),
            (1_100, Some(1_130), TestPhase::Warmup),
            (1_130, Some(1_200), TestPhase::Measured),
            (1_329, Some(1_330), TestPhase::Cooldown),
            (1_330, None, TestPhase::Cooldown),
            (u64::MAX, None, TestPhase::Cooldown),
        ] {
            assert_eq!(
                (grid.cut_after(Ns(at)), grid.phase_at(Ns(at))),
                (cut.map(Ns), phase),
                "{at}"
            );
        }
    }
}
