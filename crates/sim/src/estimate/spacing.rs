//! How far I/Os of closed loads come one by one to links that they cross in a row.
//!
//! Where transfers share a link evenly, throughput is that of exponential times whatever the times are (Baskett, Chandy, Muntz
//! and Palacios 1975): those that are there at once slow each other down, come to the next link together, and leave this one
//! idle together. But a server that takes one at a time, each for as long, lets them go so far apart, and where a transfer takes
//! no longer none finds another.
//!
//! In simulations that begins as soon as such a server takes a noticeable part of a transfer's time, so that few I/Os carry less
//! where it becomes faster (`links_in_a_row.py` in the tests). Here it begins where the server takes longer than a transfer, and
//! slowly, so that hardly any hop that becomes faster carries less.

use super::lumped::{ItemKind, Lumped, LumpedClass, LumpedItem, LumpedLoad, SiteKind};
use super::state::SolverState;
use workload::Dir;

/// I/Os that come so many times as far apart as each is there for do not meet.
const WIDE: f64 = 3.0;

/// I/Os that left a server one after the other.
#[derive(Clone, Copy, Default)]
struct Row {
    /// Seconds between them, at least.
    apart: f64,
}

/// Per spot that is shared evenly: how far I/Os of closed loads do not meet there because of other links, from 0 to 1. `served`
/// is how much services vary, by spot.
pub fn spaced(lumped: &Lumped, random: &SolverState, served: &[f64]) -> Vec<f64> {
    let mut met = vec![[0.0; 2]; lumped.spots.len()];
    for (number, load) in lumped.loads.iter().enumerate() {
        if load.mix.rate.is_none() {
            let rate = random.rates[number] * load.count;
            load.classes.iter().for_each(|class| {
                follow((lumped, served), (load, class), rate, &mut met);
            });
        }
    }
    met.into_iter().map(|[spaced, all]| if all > 0.0 { spaced / all } else { 0.0 }).collect()
}

/// Adds what a class brings to each spot: in all, and how much of it is spaced out. What it passed last is before what it
/// comes to first, since the next I/O follows.
fn follow(
    (lumped, served): (&Lumped, &[f64]),
    (load, class): (&LumpedLoad, &LumpedClass),
    rate: f64,
    met: &mut [[f64; 2]],
) {
    let items = || load.items[class.items.clone()].iter().filter(|item| !item.background);
    let others = in_a_row(load, class);
    let mut row = Row::default();
    for round in 0..2 {
        for item in items() {
            let spot = item.touches[0].spot;
            if let SiteKind::Queue(servers) = lumped.spots[spot].kind
                && servers <= 1.0
                && item.kind == ItemKind::Service
            {
                row.pass(item, served[spot]);
                continue;
            }
            for touch in item.touches.iter().filter(|_| round > 0) {
                let of = &lumped.spots[touch.spot];
                let time = match of.kind {
                    SiteKind::Link(rate) => item.wire / rate,
                    SiteKind::Sharing(servers) => item.time / servers.max(1.0),
                    _ => continue,
                };
                let each = rate * item.visits / of.count;
                let [spaced, all] = &mut met[touch.spot];
                *spaced += each * (1.0 - (1.0 - row.keeps(time)) * others);
                *all += each;
            }
            row.disturb(item.time, item.scv, item.chance);
        }
        row.disturb(load.mix.think, load.mix.scv, 1.0);
    }
}

/// How far an I/O of a class crosses links one after the other: 1 where it is on the second longest for half as long as on the
/// longest, or more. 0 for a copy: its read and its write are so far apart that, in simulations, they keep their distance.
fn in_a_row(load: &LumpedLoad, class: &LumpedClass) -> f64 {
    let items = &load.items[class.items.clone()];
    let goes = |dir: Dir| items.iter().any(|item| item.dir == dir && !item.background);
    if goes(Dir::Read) && goes(Dir::Write) {
        return 0.0;
    }
    let (mut most, mut second) = (0.0f64, 0.0f64);
    for item in items.iter().filter(|item| !item.background) {
        if let ItemKind::Transfer(_) = item.kind {
            let time = item.chance * item.time;
            second = second.max(most.min(time));
            most = most.max(time);
        }
    }
    if most > 0.0 { (2.0 * second / most).min(1.0) } else { 0.0 }
}

impl Row {
    /// Passes a server of one at a time, whose services vary so much.
    fn pass(&mut self, item: &LumpedItem, varies: f64) {
        let apart = item.time * (1.0 - varies.clamp(0.0, 1.0)) * item.chance.min(1.0);
        self.apart = self.apart.max(apart);
    }

    /// Takes a time that is not the same for all, or that only some take.
    fn disturb(&mut self, time: f64, scv: f64, chance: f64) {
        let chance = chance.min(1.0);
        let variance = chance * time * time * (scv + 1.0 - chance);
        self.apart = (self.apart - variance.max(0.0).sqrt()).max(0.0);
    }

    /// How far they do not meet where each is for so long alone.
    fn keeps(&self, time: f64) -> f64 {
        let times = if time > 0.0 { self.apart / time } else { WIDE };
        ((times - 1.0) / (WIDE - 1.0)).clamp(0.0, 1.0)
    }
}
