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

/// The same step, measured for the same time from `measure` on.
pub fn remeasured(times: &StepTimes, measure: Ns) -> StepTimes {
    let cooldown = measure.plus(times.measured());
    let end = cooldown.plus(times.end.since(times.cooldown));
    StepTimes { start: times.start, measure, cooldown, end }
}
