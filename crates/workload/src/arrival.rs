//! When operations fall due: arrival processes of an open loop.
//!
//! Arrivals are a function of their number (or, for Poisson, of the gaps before) and have their own random stream, so
//! that another rate never changes an address. Times are computed from the step's start, so that a rate does not drift.

use crate::{Placement, Process};
use clock::{Ns, Rng};

const NS: f64 = 1e9;

/// The arrivals of one worker.
pub(crate) struct ArrivalTimes {
    start: Ns,
    process: Timing,
}

enum Timing {
    /// `number` counts periods and starts with the worker's phase.
    Fixed {
        gap: f64,
        number: f64,
    },
    Poisson {
        gap: f64,
        elapsed: f64,
        rng: Rng,
    },
    Ramp {
        ramp: Ramp,
        number: f64,
    },
    Bursts {
        states: [State; 2],
        /// Which of them it is in, until when.
        state: usize,
        until: f64,
        elapsed: f64,
        rng: Rng,
    },
}

/// A state of a process that has two: its mean gap and its mean length, in nanoseconds.
#[derive(Clone, Copy)]
struct State {
    gap: f64,
    length: f64,
}

/// A rate that changes linearly; rates in operations a nanosecond, times in nanoseconds.
struct Ramp {
    from: f64,
    to: f64,
    over: f64,
    slope: f64,
    /// Operations that arrive during the change.
    during: f64,
}

impl ArrivalTimes {
    /// The process of the worker at `place`, drawing its gaps from `rng`.
    pub fn new(process: Process, place: &Placement, rng: Rng) -> ArrivalTimes {
        // Workers with one rate take turns, so that together they are evenly spaced.
        let phase = f64::from(place.sharer) / f64::from(place.sharers.max(1));
        let process = match process {
            Process::Fixed { rate } => Timing::Fixed { gap: NS / rate, number: phase },
            Process::Poisson { rate } => Timing::Poisson { gap: NS / rate, elapsed: 0.0, rng },
            Process::Ramp { from, to, over } => {
                Timing::Ramp { ramp: Ramp::new(from / NS, to / NS, over.0 as f64), number: phase }
            }
            Process::Bursts { high, low, burst, pause } => {
                let states = [(high, burst), (low, pause)];
                let states = states.map(|(rate, of)| State { gap: NS / rate, length: of.0 as f64 });
                bursts(states, rng)
            }
        };
        ArrivalTimes { start: place.start, process }
    }

    /// The next arrival; `None` after the last.
    pub fn advance(&mut self) -> Option<Ns> {
        let after = match &mut self.process {
            Timing::Fixed { gap, number } => {
                let after = *number * *gap;
                *number += 1.0;
                after
            }
            Timing::Poisson { gap, elapsed, rng } => {
                *elapsed += rng.exp(*gap);
                *elapsed
            }
            Timing::Ramp { ramp, number } => {
                let after = ramp.time_of(*number)?;
                *number += 1.0;
                after
            }
            Timing::Bursts { states, state, until, elapsed, rng } => loop {
                // Exponential times have no memory: a gap that ends behind its state is drawn anew in the next one.
                let next = *elapsed + rng.exp(1.0) * states[*state].gap;
                if next <= *until {
                    *elapsed = next;
                    break next;
                }
                *elapsed = *until;
                *state = 1 - *state;
                *until += rng.exp(states[*state].length);
            },
        };
        // A float beyond u64 saturates: such an arrival never comes.
        Some(self.start.plus(Ns(after as u64)))
    }
}

/// A process of two states, which begins in either as often as it is in it.
fn bursts(states: [State; 2], mut rng: Rng) -> Timing {
    let share = states[0].length / (states[0].length + states[1].length);
    let state = usize::from(!rng.chance(share));
    let until = rng.exp(states[state].length);
    Timing::Bursts { states, state, until, elapsed: 0.0, rng }
}

impl Ramp {
    fn new(from: f64, to: f64, over: f64) -> Ramp {
        let slope = if over > 0.0 { (to - from) / over } else { 0.0 };
        Ramp { from, to, over, slope, during: (from + to) / 2.0 * over }
    }

    /// When the integral of the rate reaches `number`; `None` if never.
    fn time_of(&self, number: f64) -> Option<f64> {
        if number <= 0.0 {
            return Some(0.0);
        }
        if number <= self.during {
            // The root of slope/2 t² + from t = number, in the form that neither divides by a slope of zero nor
            // cancels; the discriminant is the square of the rate then, and rounding may carry it below zero.
            let rate = (self.from * self.from + 2.0 * self.slope * number).max(0.0).sqrt();
            return Some(2.0 * number / (self.from + rate));
        }
        (self.to > 0.0).then(|| self.over + (number - self.during) / self.to)
    }
}
