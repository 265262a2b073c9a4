//! The phase times of a step: as planned, and with another start of the measurement.

use clock::Ns;
use record::StepTimes;
use scenario::Step;

/// The times of a step that starts at `start`, with its longest warm-up.
pub fn planned(step: &Step, start: Ns) -> StepTimes {
    let measure = start.plus(step.warmup_max().into());
    let cooldown = measure.plus(step.measure.into());
    StepTimes { start, measure, cooldown, end: cooldown.plus(step.cooldown.into()) }
}

/// The same step, whose loads were done at `done`, which is known at `known`: it is measured until then, and over at the next
/// whole second, unless it ends before. Where its loads were done in the warm-up a second is measured.
pub fn finished(times: &StepTimes, done: Ns, known: Ns) -> StepTimes {
    let second = Ns::secs(1).0;
    let least = known.max(done).max(times.measure.plus(Ns(second)));
    let end = Ns(least.0.div_ceil(second).saturating_mul(second)).min(times.end);
    let measured = if done > times.measure { done } else { end };
    StepTimes { cooldown: times.cooldown.min(measured), end, ..*times }
}

/// The same step, measured for the same time from `measure` on.
pub fn remeasured(times: &StepTimes, measure: Ns) -> StepTimes {
    let cooldown = measure.plus(times.measured());
    let end = cooldown.plus(times.end.since(times.cooldown));
    StepTimes { start: times.start, measure, cooldown, end }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A step of 1.5 s of warm-up, 100 s and 2 s of cool-down, whose loads are done; what is known so many milliseconds later.
    #[track_caller]
    fn check(done: u64, later: u64, [cooldown, end]: [u64; 2]) {
        let ms = Ns::millis;
        let times = StepTimes {
            start: Ns::ZERO,
            measure: ms(1500),
            cooldown: ms(101_500),
            end: ms(103_500),
        };
        let found = finished(&times, ms(done), ms(done + later));
        assert_eq!((found.start, found.measure), (times.start, times.measure));
        assert_eq!((found.cooldown, found.end), (ms(cooldown), ms(end)), "done at {done} ms");
    }

    #[test]
    fn a_step_is_measured_until_its_loads_are_done_and_over_at_the_next_second() {
        check(4100, 300, [4100, 5000]);
        check(4100, 1000, [4100, 6000]);
        check(5000, 0, [5000, 5000]);
        // Done in the warm-up: a second is measured, of nothing.
        check(700, 100, [3000, 3000]);
        // In the cool-down, and too late to end it sooner.
        check(102_200, 100, [101_500, 103_000]);
        check(101_400, 2500, [101_400, 103_500]);
    }
}
