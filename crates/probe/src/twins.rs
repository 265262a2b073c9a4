//! What two tables of one source say of one counter of one place: compared, never added up.

use clock::Ns;
use record::CounterId;
use std::collections::BTreeMap;

/// Rates that differ by more contradict each other.
const APART: f64 = 0.1;
/// For so long both must have counted.
const COMPARED: Ns = Ns::secs(20);
/// By so much the moments may lie apart at which an agent refreshed the two.
const STALE: Ns = Ns::secs(10);
/// Less than this is too little to compare.
const ENOUGH: f64 = 1000.0;

/// Counters by place, as both tables had them when the comparison began; what was said is not said again.
#[derive(Debug, Default)]
pub struct Twins {
    began: BTreeMap<(usize, CounterId), (Ns, [f64; 2], bool)>,
}

impl Twins {
    /// Takes in both numbers of one moment; a contradiction is returned once.
    pub fn see(&mut self, of: (usize, CounterId), at: Ns, now: (f64, f64)) -> Option<String> {
        let now = [now.0, now.1];
        let (since, first, said) = self.began.entry(of).or_insert((at, now, false));
        let moved = [now[0] - first[0], now[1] - first[1]];
        // What went back was reset, or wrapped.
        if moved.iter().any(|moved| *moved < 0.0) {
            (*since, *first) = (at, now);
            return None;
        }
        let passed = at.since(*since);
        let most = moved[0].max(moved[1]);
        let slack = APART + STALE.as_secs_f64() / passed.as_secs_f64().max(1.0);
        let apart = (moved[0] - moved[1]).abs() > slack * most;
        if *said || passed < COMPARED || most < ENOUGH || !apart {
            return None;
        }
        *said = true;
        let rate = |moved: f64| moved / passed.as_secs_f64();
        Some(format!(
            "one table says {:.4e} and another {:.4e} of {} a second: the first is recorded",
            rate(moved[0]),
            rate(moved[1]),
            of.1.name()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CounterId::ReadBytes;

    fn said(rates: [f64; 2], length: u64) -> Vec<String> {
        let mut twins = Twins::default();
        let of = |second: u64, rate: f64| rate * second as f64;
        let see = |second| {
            twins.see(
                (0, ReadBytes),
                Ns::secs(second),
                (of(second, rates[0]), of(second / 5 * 5, rates[1])),
            )
        };
        (0..=length).filter_map(see).collect()
    }

    #[test]
    fn two_tables_that_contradict_each_other_are_said_once() {
        assert_eq!(said([1e6, 1e6], 120), Vec::<String>::new());
        assert_eq!(said([1e6, 3e5], 19), Vec::<String>::new(), "too short");
        let conflict = said([1e6, 2e5], 120);
        assert_eq!(conflict.len(), 1, "{conflict:?}");
        assert!(conflict[0].contains("1.0000e6"), "{conflict:?}");
        assert_eq!(said([3.0, 1.0], 120), Vec::<String>::new(), "too little");
    }

    #[test]
    fn what_went_back_begins_anew() {
        let mut twins = Twins::default();
        let mut see = |second, both| twins.see((0, ReadBytes), Ns::secs(second), both);
        assert_eq!(see(0, (9e9, 9e9)), None);
        assert_eq!(see(60, (0.0, 9e9)), None);
        assert_eq!(see(120, (1e9, 1e10)), None);
    }
}
