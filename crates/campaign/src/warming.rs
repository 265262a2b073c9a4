//! A warm-up that lasts until the load is steady.
//!
//! It applies the rule of [`scenario::steady`] to the record's rounds. The stepper tells workers and record.

use clock::Ns;
use record::{Interval, Level, Phase, Round, Rounds, StepTimes};
use scenario::Steady;
use scenario::steady::{SteadyMetric, SteadyWindow, WindowFigures};

/// A running step whose measurement has not started.
pub struct Warming {
    rule: Steady,
    rounds: Rounds,
    start: Ns,
    /// The earliest and the latest start of the measurement, on the record's time base.
    least: Ns,
    most: Ns,
}

/// The result of a warm-up, with its event.
#[derive(Clone, Debug, PartialEq)]
pub struct Warmed {
    /// Start of the measurement; `None` if the longest warm-up ended without a steady load.
    pub at: Option<Ns>,
    /// Level of the event.
    pub level: Level,
    /// The event: `steady` or `never-steady`.
    pub code: &'static str,
    /// Its figures.
    pub text: String,
}

impl Warming {
    /// Watches a step with these times, a warm-up of at least `least`, and this number of workers.
    pub fn new(rule: Steady, times: &StepTimes, least: Ns, workers: usize) -> Warming {
        Warming {
            rule,
            rounds: Rounds::new(times.start, rule.round.into(), workers),
            start: times.start,
            least: times.start.plus(least),
            most: times.measure,
        }
    }

    /// Adds an interval of a worker.
    pub fn add(&mut self, interval: &Interval) {
        if interval.phase == Phase::Warmup {
            self.rounds.add(interval);
        }
    }

    /// A process of the run did not run until `to`: the rounds begin again.
    pub fn void(&mut self, to: Ns, workers: usize) {
        self.rounds = Rounds::new(next_second(to), self.rule.round.into(), workers);
    }

    /// Checks the last window; `None` while there is nothing to decide. The measurement starts no sooner than `lead`
    /// from now, so that the order to measure arrives in time; a simulator needs no lead.
    pub fn look(&self, now: Ns, lead: Ns) -> Option<Warmed> {
        let reached = now.plus(lead);
        if reached < self.least.min(self.most) {
            return None;
        }
        let of = |round: &Round| match self.rule.metric {
            SteadyMetric::Iops => round.iops(),
            SteadyMetric::Throughput => round.bytes_per_s(),
            SteadyMetric::Latency => round.service_ns_per_op(),
        };
        let rounds: Vec<f64> = self.rounds.finished().iter().map(of).collect();
        let window = self.rule.window(&rounds);
        let at = next_second(reached.max(self.least));
        let load = |until: Ns| format!("{:.0} s of load", until.since(self.start).as_secs_f64());
        match window.filter(|window| self.rule.holds(window)) {
            Some(window) => {
                // The measurement starts at the latest moment in any case.
                let at = at.min(self.most);
                let (load, figures) = (load(now.min(at)), WindowFigures(&self.rule, &window));
                let text = format!("steady after {load}: {figures}");
                Some(Warmed { at: Some(at), level: Level::Info, code: "steady", text })
            }
            None if now >= self.most => {
                let (load, figures) = (load(self.most), self.figures(window));
                let text = format!("not steady after {load}, but measured anyway: {figures}");
                Some(Warmed { at: None, level: Level::Warning, code: "never-steady", text })
            }
            None => None,
        }
    }

    fn figures(&self, window: Option<SteadyWindow>) -> String {
        match window {
            Some(window) => WindowFigures(&self.rule, &window).to_string(),
            None => format!(
                "there were no {} rounds with completed operations to compare",
                self.rule.rounds
            ),
        }
    }
}

/// The first whole second not before `at`.
fn next_second(at: Ns) -> Ns {
    let second = Ns::secs(1).0;
    Ns(at.0.div_ceil(second).saturating_mul(second))
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{Completed, SourceId};

    /// Two workers that together do `ops` operations per second, from 300 ms on: the second in which the warm-up ends,
    /// and the start of the measurement. Warm-up is 2 s to 10 s.
    #[track_caller]
    fn check(ops: &[u64], lead: Ns, settled: Option<(u64, Option<u64>)>) {
        let start = Ns::millis(300);
        let measure = start.plus(Ns::secs(10));
        let cooldown = measure.plus(Ns::secs(5));
        let times = StepTimes { start, measure, cooldown, end: cooldown };
        let mut warming = Warming::new(Steady::SNIA, &times, Ns::secs(2), 2);
        for (second, ops) in (0..).zip(ops) {
            for source in 0..2 {
                warming.add(&interval(source, start, second, ops / 2));
            }
            let now = Ns::secs(second + 1).plus(Ns::millis(150));
            if let Some(warmed) = warming.look(now, lead) {
                let at = warmed.at.map(|at| at.0 / 1_000_000);
                assert_eq!(Some((second, at)), settled, "{warmed:?}");
                return;
            }
        }
        assert_eq!(None, settled);
    }

    fn interval(source: u32, start: Ns, second: u64, ops: u64) -> Interval {
        let mut read = Completed::empty(false);
        (0..ops).for_each(|_| read.success(8192, Ns(1000), Ns(1000)));
        Interval {
            others: Default::default(),
            source: SourceId(source),
            step: 0,
            phase: Phase::Warmup,
            from: Ns::secs(second).max(start),
            to: Ns::secs(second + 1),
            read: Some(read),
            write: None,
            testimony: None,
        }
    }

    #[test]
    fn the_measurement_begins_at_a_whole_second_once_the_load_is_steady() {
        const LEAD: Ns = Ns::secs(1);
        // The first interval is 700 ms long.
        let even = [70, 100, 100, 100, 100, 100];
        check(&even, LEAD, Some((4, Some(7000))));
        check(&even, Ns::millis(100), Some((4, Some(6000))));
        check(&even[..4], LEAD, None);
        let late = [700, 800, 600, 400, 200, 100, 100, 100, 100, 100];
        check(&late, Ns::millis(100), Some((9, Some(10_300))));
        let never: Vec<u64> = (1..=11).map(|n| n * n * 50).collect();
        check(&never, LEAD, Some((10, None)));
        check(&[0; 11], LEAD, Some((10, None)));
    }

    #[test]
    fn it_begins_not_before_the_least_warm_up() {
        let times = StepTimes {
            start: Ns::ZERO,
            measure: Ns::secs(60),
            cooldown: Ns::secs(70),
            end: Ns::secs(70),
        };
        let mut warming = Warming::new(Steady::SNIA, &times, Ns::secs(20), 1);
        let mut settled = None;
        for second in 0..30 {
            warming.add(&interval(0, Ns::ZERO, second, 100));
            let now = Ns::secs(second + 1).plus(Ns::millis(150));
            settled = settled.or(warming.look(now, Ns::secs(1)));
        }
        assert_eq!(settled.and_then(|warmed| warmed.at), Some(Ns::secs(21)));
    }

    #[test]
    fn what_is_said_has_its_figures() {
        let times = StepTimes {
            start: Ns::ZERO,
            measure: Ns::secs(6),
            cooldown: Ns::secs(7),
            end: Ns::secs(7),
        };
        let say = |ops: fn(u64) -> u64| {
            let mut warming = Warming::new(Steady::SNIA, &times, Ns::ZERO, 1);
            (0..6).for_each(|s| warming.add(&interval(0, Ns::ZERO, s, ops(s))));
            let warmed = warming.look(Ns::millis(6100), Ns::secs(1));
            warmed.map_or_else(String::new, |warmed| warmed.text)
        };
        let figures = |spread: &str, slope: &str| {
            format!(
                "over 5 rounds of 1 s the spread of IOPS was {spread} of its mean (at most 20%), and its line rose by \
                 {slope} (at most 10%)"
            )
        };
        assert_eq!(say(|_| 100), format!("steady after 6 s of load: {}", figures("0%", "0%")));
        let rising = "not steady after 6 s of load, but measured anyway: ";
        assert_eq!(say(|s| 100 * s), rising.to_owned() + &figures("133%", "133%"));
        let nothing = "there were no 5 rounds with completed operations to compare";
        assert_eq!(say(|_| 0), rising.to_owned() + nothing);
    }
}
