//! Time in bins of equal length, whose number is bounded: where time runs on, neighbours are merged two by two.

use clock::Ns;

/// The shortest bin: an interval.
const SHORTEST: Ns = Ns::secs(1);

/// What a bin holds: amounts that can be added.
pub(super) trait Additive: Default {
    /// Adds another bin's amounts.
    fn merge(&mut self, other: Self);
}

/// Amounts over time.
pub(super) struct TimeBins<T> {
    start: Ns,
    width: Ns,
    most: usize,
    cells: Vec<T>,
}

impl<T: Additive> TimeBins<T> {
    /// Empty, and never more than `most` bins. They begin at the whole second before `start`, as intervals do.
    pub fn new(start: Ns, most: usize) -> TimeBins<T> {
        let start = Ns(start.0 - start.0 % SHORTEST.0);
        TimeBins { start, width: SHORTEST, most: most.max(2), cells: Vec::new() }
    }

    /// The bin of a moment; what is before the first is taken as in it.
    pub fn at(&mut self, moment: Ns) -> &mut T {
        while self.number(moment) >= self.most as u64 {
            self.halve();
        }
        let number = self.number(moment) as usize;
        if number >= self.cells.len() {
            self.cells.resize_with(number + 1, T::default);
        }
        &mut self.cells[number]
    }

    /// The parts of a time that is longer than a bin, as samples of monitoring are: each has its middle in a bin, and no bin
    /// between them is left out. A time of about a bin is one part.
    pub fn parts(&mut self, from: Ns, to: Ns) -> impl Iterator<Item = (Ns, Ns)> + use<T> {
        let length = to.since(from).0;
        if length > self.width.0 {
            // The bins become as wide as the end of it asks for before it is divided.
            self.at(Ns(to.0 - self.width.0 / 2));
        }
        // What began long before the first bin is not divided: all of that time would be in the one bin.
        let several = length > self.width.0 + self.width.0 / 2;
        let fits = length / self.width.0 <= self.most as u64 + 1;
        let width = if several && fits { self.width.0 } else { length };
        let count = if width > 0 { length.div_ceil(width) } else { 1 };
        (0..count).map(move |part| {
            let begin = from.0 + part * width;
            (Ns(begin), Ns(begin.saturating_add(width).min(to.0)))
        })
    }

    fn number(&self, moment: Ns) -> u64 {
        moment.since(self.start).0 / self.width.0
    }

    fn halve(&mut self) {
        let mut cells = std::mem::take(&mut self.cells).into_iter();
        while let Some(mut even) = cells.next() {
            cells.next().into_iter().for_each(|odd| even.merge(odd));
            self.cells.push(even);
        }
        self.width = Ns(self.width.0.saturating_mul(2));
    }

    /// Start of the first bin, in seconds.
    pub fn begin_s(&self) -> f64 {
        self.start.as_secs_f64()
    }

    /// Length of a bin, in seconds.
    pub fn bin_s(&self) -> f64 {
        self.width.as_secs_f64()
    }

    /// What the bins hold, in order.
    pub fn cells(&self) -> &[T] {
        &self.cells
    }
}

/// The middle of a span of time.
pub(super) fn middle(from: Ns, to: Ns) -> Ns {
    from.plus(Ns(to.since(from).0 / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Additive for u64 {
        fn merge(&mut self, other: u64) {
            *self += other;
        }
    }

    /// Counts one at each of these seconds; the bins that come of it.
    #[track_caller]
    fn check(start: u64, seconds: &[u64], width: f64, expected: &[u64]) {
        let mut bins = TimeBins::new(Ns::secs(start), 4);
        for second in seconds {
            *bins.at(Ns::secs(*second)) += 1;
        }
        assert_eq!((bins.bin_s(), bins.cells()), (width, expected));
    }

    #[test]
    fn bins_grow_and_are_merged_by_adding() {
        check(0, &[], 1.0, &[]);
        check(0, &[0, 1, 1, 3], 1.0, &[1, 2, 0, 1]);
        check(10, &[10, 13], 1.0, &[1, 0, 0, 1]);
        check(0, &[0, 1, 2, 3, 4], 2.0, &[2, 2, 1]);
        check(0, &[0, 1, 2, 3, 4, 15], 4.0, &[4, 1, 0, 1]);
    }

    #[test]
    fn any_moment_has_a_bin() {
        check(5, &[0, 5], 1.0, &[2]);
        let mut bins = TimeBins::new(Ns::ZERO, 4);
        for moment in [Ns::ZERO, Ns::MAX, Ns::secs(1)] {
            *bins.at(moment) += 1_u64;
        }
        assert_eq!(bins.cells().iter().sum::<u64>(), 3);
        assert!(bins.cells().len() <= 4);
    }
}
