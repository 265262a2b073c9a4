//! How much of what comes to several disks comes to them at the same moment, over all loads. Waits at disks are alike as far as
//! these arrivals are the same, whoever issues them: beside many small reads those of whole stripes find unlike queues.

use super::lumped::{ItemKind, Lumped, LumpedLoad};

/// What comes to a spot a second: all; at once to another disk of its group; and to the other copy.
type Coming = [f64; 3];

/// Replaces each open load's own shares by those of all loads that come to the same disks. What a closed load issues follows
/// from what it waits for, so that its queues keep together more than arrivals say.
pub fn share(lumped: &mut Lumped) {
    let mut coming: Vec<Coming> = vec![[0.0; 3]; lumped.spots.len()];
    for load in &lumped.loads {
        let mut own = vec![[0.0; 2]; lumped.spots.len()];
        for join in load.classes.iter().flat_map(|class| &class.joins) {
            for item in &load.items[join.items.clone()] {
                own[item.touches[0].spot] = [join.overlap, join.common];
            }
        }
        let rate = rate(load);
        for item in load.items.iter().filter(|item| item.kind == ItemKind::Service) {
            let spot = item.touches[0].spot;
            let each = rate * item.visits;
            let all = [each, each * own[spot][0], each * own[spot][1]];
            coming[spot].iter_mut().zip(all).for_each(|(sum, of)| *sum += of);
        }
    }
    for load in lumped.loads.iter_mut().filter(|load| load.mix.rate.is_some()) {
        for join in load.classes.iter_mut().flat_map(|class| &mut class.joins) {
            let items = &load.items[join.items.clone()];
            let sum = |of: usize| items.iter().map(|i| coming[i.touches[0].spot][of]).sum::<f64>();
            let all = sum(0);
            if all > 0.0 {
                (join.overlap, join.common) = (sum(1) / all, sum(2) / all);
            }
        }
    }
}

/// I/Os a second of a load: of a closed one, whose rate is not known yet, as many as without any waits.
fn rate(load: &LumpedLoad) -> f64 {
    let waited = load.items.iter().filter(|item| !item.background);
    let alone: f64 = waited.map(|item| item.visits * item.time).sum();
    let closed = load.mix.customers / (load.mix.think + alone).max(1e-12);
    load.count * load.mix.rate.unwrap_or(closed)
}
