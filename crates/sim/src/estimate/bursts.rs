//! The queue of arrivals at one of two rates, between which they change by chance.
//!
//! Where a phase is much longer than a queue takes to settle, each phase has a queue of its own, as of arrivals at random at
//! its rate. Where it is much shorter, or where bursts bring more than is served, what counts is how much arrives in a long
//! time. Between these the queue with exponential times is exact (Yechiali and Naor 1971), and
//! says how far it is like the one or the other.

use super::lumped::{Lumped, LumpedLoad};
use super::state::SiteSums;
use workload::{Arrivals, Process, Spec};

/// Rates and phases of a load's bursts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Arrivals a second: in a burst and between bursts.
    pub rates: [f64; 2],
    /// Mean seconds of a burst and between bursts.
    pub lengths: [f64; 2],
}

/// A queue that bursts come to.
#[derive(Clone, Copy, Debug)]
pub struct Burdened {
    /// I/Os that are served a second, where there are enough.
    pub serves: f64,
    /// The share of that which comes: from the load, and in all.
    pub own: f64,
    pub busy: f64,
    /// Squared coefficient of variation of the service.
    pub varies: f64,
}

/// Halvings of an interval until a root is known.
const HALVED: usize = 60;
/// As busy as this a queue is full.
const FULL: f64 = 0.9999;
/// As idle as this none waits.
const IDLE: f64 = 1e-5;

impl Bursts {
    /// The bursts of a workload, if it has such.
    pub fn of(spec: &Spec) -> Option<Bursts> {
        match spec.arrivals {
            Arrivals::Open { process: Process::Bursts { high, low, burst, pause }, .. } => {
                Some(Bursts {
                    rates: [high, low],
                    lengths: [burst.as_secs_f64(), pause.as_secs_f64()],
                })
            }
            _ => None,
        }
    }

    /// The squared coefficient of variation that gaps would have for the wait of this queue. `most`: that of what arrives
    /// in a long time.
    pub fn scv(&self, at: &Burdened, most: f64) -> f64 {
        let mean = self.mean();
        if at.busy >= FULL || at.busy <= IDLE || mean <= 0.0 || at.own <= 0.0 {
            return most;
        }
        // With what else comes, which comes at random.
        let others = (at.busy - at.own).max(0.0);
        let busy = self.rates.map(|rate| others + at.own * rate / mean);
        let leaves = self.lengths.map(|length| 1.0 / (length * at.serves).max(f64::MIN_POSITIVE));
        let random = at.busy / (1.0 - at.busy);
        let exact = (present(busy, leaves) - at.busy) / (random - at.busy);
        // The same where phases are long: each as if it lasted.
        let weights = [0, 1].map(|phase| self.lengths[phase] * busy[phase]);
        let waits = busy.map(|busy| if busy < FULL { busy / (1.0 - busy) } else { f64::INFINITY });
        let sum: f64 = weights.iter().sum();
        let apart: f64 = weights.iter().zip(waits).map(|(weight, wait)| weight * wait).sum();
        let long = apart / sum / random;
        // How much of the wait is of phases as they are alone, which grows with the variation of service as a whole, rather
        // than of what changes between them, which is added.
        let like = if long.is_finite() { (exact / long).clamp(0.0, 1.0) } else { 0.0 };
        let whole = exact * (1.0 + at.varies) - at.varies;
        let added = 2.0 * exact - 1.0;
        let all = like * whole + (1.0 - like) * added;
        // Of the load's part of what comes.
        let own = 1.0 + (all - 1.0) * at.busy / at.own;
        if own.is_finite() { own.clamp(0.0, most.max(1.0)) } else { most }
    }

    fn mean(&self) -> f64 {
        let [burst, pause] = self.lengths;
        (self.rates[0] * burst + self.rates[1] * pause) / (burst + pause).max(f64::MIN_POSITIVE)
    }
}

/// Per spot: the squared coefficient of variation of a load's arrivals there, for the wait, if it has bursts. `served`: that of
/// services.
pub fn at_spots(
    lumped: &Lumped,
    (load, rate): (&LumpedLoad, f64),
    sums: &SiteSums,
    served: &[f64],
) -> Option<Vec<f64>> {
    let bursts = load.mix.bursts?;
    let mut own = vec![0.0; lumped.spots.len()];
    for item in &load.items {
        for touch in item.touches.iter() {
            own[touch.spot] += rate * item.visits / touch.spread;
        }
    }
    let scv = |(spot, own): (usize, f64)| {
        let busy = sums.utilization(lumped, spot).min(1.0);
        let serves = sums.rates[spot] / busy.max(f64::MIN_POSITIVE);
        let own = (own / serves.max(f64::MIN_POSITIVE)).min(busy);
        bursts.scv(&Burdened { serves, own, busy, varies: served[spot] }, load.mix.scv)
    };
    Some(own.into_iter().enumerate().map(scv).collect())
}

/// Mean number at a server of exponential times that takes 1 on average, where arrivals come at one of two rates and phases
/// end at these rates: by its generating function, whose root between 0 and 1 says how often each phase finds it empty.
fn present(rates: [f64; 2], leaves: [f64; 2]) -> f64 {
    let ([high, low], [end, begin]) = (rates, leaves);
    let shares = [begin / (end + begin), end / (end + begin)];
    let busy = shares[0] * high + shares[1] * low;
    let (mut from, mut to) = (0.0, 1.0);
    for _ in 0..HALVED {
        let z = f64::midpoint(from, to);
        let (of_high, of_low) = (1.0 - high * z, 1.0 - low * z);
        let value = (1.0 - z) * of_high * of_low - z * (begin * of_high + end * of_low);
        *(if value > 0.0 { &mut from } else { &mut to }) = z;
    }
    let z = f64::midpoint(from, to);
    let null = [end * z, end * z - (1.0 - z) * (1.0 - high * z)];
    let empty = (1.0 - busy) * null[1] / (null[1] - null[0]);
    let [idle_high, idle_low] = rates.map(|rate| 1.0 - rate);
    let flow = shares[0] * idle_high - empty;
    let whole = idle_high * begin + end * idle_low;
    (busy * begin - flow * idle_low + flow * idle_high + end * busy) / whole
}
