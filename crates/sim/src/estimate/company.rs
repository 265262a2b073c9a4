//! The wait of I/Os that go on in company: until there are so many, or until a time has passed since the first.

use super::lumped::{Lumped, SiteKind};
use super::state::{SolverState, largest_of};

/// Mean seconds until `count` I/Os have arrived at random, `rate` a second, or `within` has passed since the first.
pub fn wait(count: f64, within: f64, rate: f64, most: f64) -> f64 {
    let by_time = within * (1.0 + rate * within / 2.0) / (1.0 + rate * within);
    if most < count || rate <= 0.0 { by_time } else { by_time.min((count - 1.0) / (2.0 * rate)) }
}

/// The same where a closed load is alone and has fewer outstanding than would be a company, at least: they go on together when
/// the time has passed, come back one soon after the other, and wait again from the first of them on. What is left of the time
/// for one that is not the first is less by how much longer it was on its way.
pub fn together(lumped: &Lumped, state: &SolverState, (number, at): (usize, usize)) -> f64 {
    let load = &lumped.loads[number];
    let (item, customers) = (&load.items[at], load.mix.customers);
    let Some(touch) = item.touches.first() else { return 0.0 };
    let spot = &lumped.spots[touch.spot];
    let SiteKind::Batch(count, within) = spot.kind else { return 0.0 };
    let alone = load.mix.rate.is_none() && !item.background;
    let own = touch.spread <= 1.0 && load.count >= spot.count && spot.most <= customers;
    if !alone || !own || customers >= count {
        return 0.0;
    }
    let (mut least, mut variance) = (0.0, (load.mix.think * load.mix.think) * load.mix.scv);
    let mut here = 0.0;
    for (number_of, other) in load.items.iter().enumerate().filter(|(_, item)| !item.background) {
        let weight = other.visits * state.weights[number][number_of];
        if other.touches.iter().any(|of| of.spot == touch.spot) {
            here += weight * state.stays[number][number_of];
            continue;
        }
        let time = other.time.min(state.stays[number][number_of]);
        least += weight * time;
        variance += other.visits * time * time * other.scv;
    }
    let rest = (state.cycle(number, load) - here - least).max(0.0);
    // By how much the first of them is ahead of the mean: between that of normal times and of exponential ones.
    let [normal, _] = largest_of(customers.max(1.0) as u32);
    let (deviation, exponential) = (variance.sqrt(), 1.0 - 1.0 / customers.max(1.0));
    let varies = (deviation / (least + load.mix.think).max(f64::MIN_POSITIVE)).min(1.0);
    let ahead = deviation * (normal + (exponential - normal) * varies);
    (within - rest - ahead).max(0.0)
}
