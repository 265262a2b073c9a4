//! A lab tried out: what was planted is what limits, or the lab is drawn again.
//!
//! The truth of a lab does not rest on how it was drawn: each is simulated three to four times. Twice as much of what was
//! planted must bring clearly more, and twice as much of everything else must not. More of a part means more servers, more
//! tokens, or a faster wire; none of them makes an I/O that is alone much faster.

use super::blueprint::{Blueprint, Part, Planted};
use super::lab::{Lab, Times, all_parts, build};
use sim::Ps;
use sim::engine::{Simulation, Snapshot};

/// What doubling must bring, and what it must not.
const MORE: f64 = 1.15;
const SAME: f64 = 1.07;
/// I/Os of a trial, and of a lab that is recorded.
const TRIED: f64 = 3_000.0;
pub const RECORDED: f64 = 6_000.0;
/// Cuts of what is recorded.
pub const CUTS: usize = 4;
/// A load that is the limit brings this much more when it doubles.
const CARRIED: f64 = 1.6;
/// A delay is the limit from this share of an I/O's time on, and none is up to that.
const DOMINANT: (f64, f64) = (0.72, 0.5);

/// What a simulation showed: the counts of each cut and the bytes that each wire carried in it.
pub struct Seen {
    pub cuts: Vec<(Snapshot, Vec<Vec<f64>>)>,
}

impl Seen {
    pub fn seconds(&self) -> f64 {
        self.cuts.iter().map(|(cut, _)| cut.at.as_secs_f64()).sum()
    }

    pub fn ended(&self) -> f64 {
        let ended = |cut: &Snapshot| cut.classes.iter().map(|c| c.tally.departures).sum::<u64>();
        self.cuts.iter().map(|(cut, _)| ended(cut) as f64).sum()
    }

    pub fn iops(&self) -> f64 {
        self.ended() / self.seconds()
    }
}

/// Simulates a lab for as long as about so many I/Os take, after a third of that as warm-up.
pub fn simulate(lab: &Lab, seed: u64, expected: f64, ios: f64, cuts: usize) -> Seen {
    let network = &lab.plant.network;
    let mut simulation = Simulation::new(network, seed).expect("the lab can be simulated");
    let outstanding: u32 = network
        .loads()
        .iter()
        .map(|load| match load.source {
            sim::model::Source::Closed { customers, .. } => customers,
            _ => 0,
        })
        .sum();
    let warm = Ps::from_secs_f64((ios / 3.0 + 3.0 * f64::from(outstanding)) / expected);
    simulation.run_until(warm).expect("it runs");
    let span = Ps::from_secs_f64(ios / expected / cuts as f64);
    // Records count in nanoseconds.
    let span = Ps::nanos(span.as_ns().0.max(1));
    let links = |simulation: &mut Simulation| -> Vec<Vec<f64>> {
        (0..network.stations().len() as u32)
            .map(|station| simulation.carried(sim::model::StationId(station)))
            .collect()
    };
    let mut before = (simulation.snapshot(), links(&mut simulation));
    let mut out = Vec::new();
    for _ in 0..cuts {
        simulation.run_until(before.0.at.plus(span)).expect("it runs");
        let now = (simulation.snapshot(), links(&mut simulation));
        let carried = now
            .1
            .iter()
            .zip(&before.1)
            .map(|(now, then)| now.iter().zip(then).map(|(now, then)| now - then).collect());
        out.push((now.0.since(&before.0), carried.collect()));
        before = now;
    }
    Seen { cuts: out }
}

/// I/Os a second, as a guess for how long to simulate.
fn expected(of: &Blueprint, times: Times) -> f64 {
    let most = of.capacity.iter().copied().fold(f64::INFINITY, f64::min);
    let depth = f64::from(of.depth) * of.vms as f64 * times.load;
    let alone = of.alone_ns() + of.think_ns;
    of.offered.unwrap_or_else(|| most.min(depth / alone * 1e9))
}

fn throughput(of: &Blueprint, times: Times) -> f64 {
    simulate(&build(of, times), of.seed, expected(of, times), TRIED, 1).iops()
}

/// A lab of this seed with this bottleneck, confirmed, with what it showed.
pub fn confirmed(seed: u64, planted: Planted) -> (Blueprint, Lab, Seen) {
    for attempt in 0_u64.. {
        let of = Blueprint::draw(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ attempt, planted);
        let lab = build(&of, Times::ONCE);
        let seen = simulate(&lab, of.seed, expected(&of, Times::ONCE), RECORDED, CUTS);
        if is_confirmed(&of, &lab, &seen) {
            return (of, lab, seen);
        }
        assert!(attempt < 200, "seed {seed}: no lab has {planted:?} as its limit");
    }
    unreachable!("the loop has no end but those above")
}

/// The same lab with a quarter of its load.
pub fn quarter(of: &Blueprint) -> (Lab, Seen) {
    let times = Times { load: 0.25, ..Times::ONCE };
    let lab = build(of, times);
    let offered = of.offered.map(|rate| rate * times.load);
    let seen = simulate(&lab, of.seed ^ 1, offered.unwrap_or(expected(of, times)), RECORDED, CUTS);
    (lab, seen)
}

fn is_confirmed(of: &Blueprint, lab: &Lab, seen: &Seen) -> bool {
    let once = seen.iops();
    let gain = |times: Times| throughput(of, times) / once;
    let others = all_parts().filter(|part| !of.parts.contains(part));
    let rest = others.fold(Times::ONCE, |times, part| times.part(part, 2));
    let planted = of.parts.iter().fold(Times::ONCE, |times, part| times.part(*part, 2));
    match of.planted {
        Planted::Depth => {
            let dominant = dominant(lab, seen, once);
            let deeper = Times { load: 2.0, ..Times::ONCE };
            dominant <= DOMINANT.1 && gain(rest) <= SAME && gain(deeper) >= CARRIED
        }
        Planted::HighLatency => {
            let deeper = Times { load: 2.0, ..Times::ONCE };
            let nearer = Times { delay: 0.5, ..Times::ONCE };
            dominant(lab, seen, once) >= DOMINANT.0
                && gain(rest) <= SAME
                && gain(deeper) >= CARRIED
                && gain(nearer) >= MORE
        }
        Planted::Nothing => {
            let more = Times { load: 1.5, ..Times::ONCE };
            let scale = if of.offered.is_some() { 1.5 } else { 1.0 };
            let carried = of.offered.is_none_or(|offered| once >= 0.97 * offered);
            let gain_more = match of.offered {
                // The guess of the length knows the offered rate only.
                Some(_) => throughput(of, more) / once / scale,
                None => gain(more) / 1.5,
            };
            carried && gain(rest) <= SAME && gain_more >= 0.93
        }
        Planted::SlowDrain => {
            let faster = Times { drain: 2, ..Times::ONCE };
            gain(faster) >= MORE && gain(rest) <= SAME
        }
        Planted::PathImbalance => {
            let even = Times { even: true, ..Times::ONCE };
            gain(planted) >= MORE && gain(even) >= MORE && gain(rest) <= SAME
        }
        Planted::TwoAtOnce => {
            let alone = |part: Part| gain(Times::ONCE.part(part, 2)) <= SAME;
            of.parts.iter().all(|part| alone(*part)) && gain(planted) >= MORE && gain(rest) <= SAME
        }
        _ => gain(planted) >= MORE && gain(rest) <= SAME,
    }
}

/// The largest share of an I/O's time that passes at one hop without waiting.
fn dominant(lab: &Lab, seen: &Seen, iops: f64) -> f64 {
    let seconds = seen.seconds();
    let stations = lab.plant.network.stations().len();
    let sum = |station: usize| -> f64 {
        let at = |cut: &Snapshot| cut.stations[station].stayed as f64 / 1e12;
        seen.cuts.iter().map(|(cut, _)| at(cut)).sum()
    };
    let in_flight: f64 = seen
        .cuts
        .iter()
        .flat_map(|(cut, _)| &cut.classes)
        .map(|class| class.tally.present as f64 / 1e12)
        .sum::<f64>()
        / seconds;
    let residence = in_flight / iops;
    let sums = lab.plant.hops.iter().map(|hop| {
        let places = hop.places.iter().filter_map(|place| match place {
            sim::plant::HopElement::Station(station) => Some(sum(station.0 as usize)),
            _ => None,
        });
        places.sum::<f64>()
    });
    let wires: f64 = (0..stations)
        .filter(|n| matches!(lab.plant.network.stations()[*n], sim::model::Station::Links { .. }))
        .map(sum)
        .sum();
    // The disks of all VMs are one place as far as an I/O is concerned, and so are their processors.
    let mut by_sort: std::collections::BTreeMap<String, f64> = std::collections::BTreeMap::new();
    for (hop, time) in lab.plant.hops.iter().zip(sums) {
        let sort: String = hop.name.chars().filter(|c| !c.is_ascii_digit()).collect();
        *by_sort.entry(sort).or_default() += time;
    }
    let most = by_sort.into_values().chain([wires]).fold(0.0, f64::max);
    most / (seen.ended() * residence)
}
