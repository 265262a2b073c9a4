//! The evidence for an answer, in words: each clue is a number from the record.

use super::answer::{Clue, Gauge, Limiter};
use super::candidates::Candidate;
use super::neighbours::NeighbourResponse;
use super::observed::{Observed, ObservedHop};
use super::signs::Signs;
use crate::figures::Loops;
use crate::generator::Limit;
use units::{count, percent, rate};

const MOST: usize = 6;
/// Parts below this are not worth a clue.
const WORTH: f64 = 0.05;

/// The clues for an answer, the weightiest first.
pub(super) fn clues(
    step: &Observed,
    response: &NeighbourResponse,
    answer: &Candidate,
) -> Vec<Clue> {
    let mut out = Vec::new();
    for place in answer.about.iter().take(2) {
        of_hop(step, &step.hops[*place], answer.signs, &mut out);
        grew(step, response, *place, &mut out);
    }
    of_load(step, answer, &mut out);
    if let Some(experiments) = &step.experiments {
        let at = out.len().min(1);
        out.splice(at..at, experiments.clues(step, answer));
    }
    if let Some(elasticity) = response.elasticity {
        out.push(whole(carried(elasticity)));
    }
    if let Limiter::Unknown { missing } = &answer.limit {
        if let Some(share) = step.unexplained().filter(|share| *share >= WORTH) {
            let text =
                format!("{} of an I/O's time passes at no hop that was counted", part(share));
            out.push(whole(text));
        }
        out.extend(missing.iter().map(|what| whole(format!("not counted: {what}"))));
    } else {
        let unseen = step.hops.iter().filter(|hop| hop.is_unseen()).take(2);
        let at = out.len().min(1);
        out.splice(at..at, unseen.map(|hop| whole(format!("not counted: {}", hop.name()))));
    }
    out.truncate(MOST);
    out
}

pub(super) fn whole(text: String) -> Clue {
    Clue { hop: None, text }
}

pub(super) fn at(hop: &ObservedHop, text: String) -> Clue {
    Clue { hop: Some(hop.name().to_owned()), text }
}

/// A share as a percentage with one decimal.
pub(super) fn part(share: f64) -> String {
    percent((share * 1000.0).round() / 10.0)
}

/// `transmit 99.2% of 826 MB/s`.
pub(super) fn fullness(gauge: Gauge, share: f64, capacity: Option<f64>) -> String {
    let share = part(share);
    let of = |unit: &dyn Fn(f64) -> String| {
        capacity.map_or(String::new(), |capacity| format!(" of {}", unit(capacity)))
    };
    match gauge {
        Gauge::Receive => format!("receive {share}{}", of(&rate)),
        Gauge::Transmit => format!("transmit {share}{}", of(&rate)),
        Gauge::Both => format!("both directions {share}{}", of(&rate)),
        Gauge::Ops => format!("{share}{}", of(&|ops| format!("{} IOPS", count(ops)))),
        Gauge::Busy => format!("busy {share}"),
        Gauge::Quota => {
            let of = of(&|cpus| format!("{} processors", count(cpus)));
            format!("a quota{of} used up {share} of the time")
        }
        Gauge::Slots => format!("held {share}{}", of(&|slots| format!("{slots:.0} slots"))),
    }
}

fn of_hop(step: &Observed, hop: &ObservedHop, signs: Signs, out: &mut Vec<Clue>) {
    let held = hop.slots.filter(|slots| slots.share > hop.share());
    let full = match signs {
        Signs::Slots(_) | Signs::Drain(_) => hop.slots.or(hop.served),
        // Either of two may be a queue limit.
        Signs::Two(_) => held.or(hop.served),
        // A delay has no capacity of which a share could be in use.
        Signs::Latency(_) => None,
        _ => hop.served,
    };
    out.extend(full.map(|full| at(hop, fullness(full.gauge, full.share, full.capacity))));
    let n = step.in_flight.unwrap_or(f64::INFINITY);
    let mut share = |of: Option<f64>, text: &str| {
        let share = of.map_or(0.0, |of| of / n);
        if share >= WORTH {
            out.push(at(hop, format!("{} of the I/Os in flight {text}", part(share.min(1.0)))));
        }
    };
    share(hop.load.slots_waiting, "wait for its queue limit");
    match hop.load.waiting.filter(|waiting| Some(*waiting) != hop.load.slots_waiting) {
        Some(waiting) => share(Some(waiting), "wait there"),
        None => share(hop.load.queue, "are there"),
    }
}

fn grew(step: &Observed, response: &NeighbourResponse, place: usize, out: &mut Vec<Clue>) {
    let share = response.grew.get(place).copied().flatten().unwrap_or(0.0);
    if share >= WORTH {
        let text = format!("{} of the added latency compared with less load", part(share));
        out.push(at(&step.hops[place], text));
    }
}

fn carried(elasticity: f64) -> String {
    match elasticity {
        e if e <= WORTH => "more load brings no more throughput".to_owned(),
        e => format!("{} of added load is carried", part(e.min(1.0))),
    }
}

fn of_load(step: &Observed, answer: &Candidate, out: &mut Vec<Clue>) {
    let fullest = step.hops.iter().max_by(|a, b| a.share().total_cmp(&b.share()));
    let room = |out: &mut Vec<Clue>| {
        if let Some((hop, full)) = fullest.and_then(|hop| Some((hop, hop.served?))) {
            let text = fullness(full.gauge, full.share, full.capacity);
            out.push(at(hop, format!("the fullest hop: {text}")));
        }
    };
    match &answer.limit {
        Limiter::Depth | Limiter::Latency { .. } => {
            if let Some(fill) = step.fill() {
                let depth = count(step.depth);
                out.push(whole(format!("{} of the depth of {depth} is in flight", part(fill))));
            }
            room(out);
        }
        Limiter::Generator => generator(step, out),
        Limiter::Rate => {
            let requested = format!("the requested {} IOPS", count(step.offered));
            out.push(whole(match step.loops {
                Loops::Open => format!("{} of {requested}", part(step.iops / step.offered)),
                // What each of them did is not told apart.
                _ => format!("{requested}, beside closed loops"),
            }));
            room(out);
        }
        Limiter::None => {
            out.push(whole("the workers pause between I/Os".to_owned()));
            room(out);
        }
        _ => {}
    }
}

fn generator(step: &Observed, out: &mut Vec<Clue>) {
    let generator = &step.generator;
    if generator.limit == Limit::OwnCost {
        out.push(whole("its targets complete at once".to_owned()));
    }
    out.extend(generator.reasons.iter().map(|reason| whole(reason.clone())));
    if generator.reasons.is_empty() {
        out.push(whole(format!("overhead {} of its time", part(generator.own_share))));
    }
}
