//! What hops counted within the measured time of a step. A counter's interval that lies across an edge of it is divided in
//! proportion to its time.

use crate::step::StepData;
use clock::Ns;
use record::Counter;

fn of<'a>(step: &'a StepData, hop: &'a str, name: &'a str) -> impl Iterator<Item = &'a Counter> {
    let counters = step.counters.iter();
    counters.filter(move |(source, c)| source == hop && c.name == name).map(|(_, c)| c)
}

/// The part of a counter's interval that lies in the measured time, and its whole length, in seconds.
pub(crate) fn within(step: &StepData, counter: &Counter) -> (f64, f64) {
    let times = step.head.times;
    let inside = counter.to.min(times.cooldown).since(counter.from.max(times.measure));
    (inside.as_secs_f64(), counter.to.since(counter.from).as_secs_f64())
}

/// A hop's counter over the measured time, and the share of it that the counter covers.
pub(crate) fn counted(step: &StepData, hop: &str, name: &str) -> Option<(f64, f64)> {
    let planned = step.head.times.measured().as_secs_f64();
    let (mut sum, mut covered, mut any) = (0.0, 0.0, false);
    for counter in of(step, hop, name) {
        any = true;
        let (inside, length) = within(step, counter);
        if length > 0.0 {
            sum += counter.value * inside / length;
            covered += inside;
        }
    }
    (any && planned > 0.0).then(|| (sum, covered / planned))
}

/// The mean of a hop's level over the measured time, as far as it was looked at.
pub(crate) fn level(step: &StepData, hop: &str, name: &str) -> Option<f64> {
    let (mut sum, mut seconds) = (0.0, 0.0);
    for counter in of(step, hop, name).filter(|c| c.value.is_finite()) {
        let (inside, _) = within(step, counter);
        sum += counter.value * inside;
        seconds += inside;
    }
    (seconds > 0.0).then(|| sum / seconds)
}

/// How far a hop's cuts lie from the edges of the measured time, both together, in seconds.
pub(crate) fn beside_the_edges(step: &StepData, hop: &str, name: &str) -> f64 {
    let times = step.head.times;
    let nearest = |edge: Ns| {
        let cuts = of(step, hop, name).flat_map(|c| [c.from, c.to]);
        cuts.map(|cut| cut.since(edge).max(edge.since(cut))).min().unwrap_or(times.measured())
    };
    nearest(times.measure).plus(nearest(times.cooldown)).as_secs_f64()
}
