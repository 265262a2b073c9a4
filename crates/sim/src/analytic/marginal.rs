//! What an arriving customer meets at a centre whose speed depends on how many are there, when only their mean is known: a
//! birth-and-death process with that mean. Births come from the rest of the network, which is taken for a centre of its own
//! whose rate grows with those who are in it, the less so the nearer its slowest part is to being full. So the centre is
//! solved as in a network of two (Norton's theorem of Chandy, Herzog and Woo 1975), with the second one known by two figures.

use super::Service;

/// States of the process at most, for each server and besides.
const STATES_A_SERVER: f64 = 16.0;
const STATES_MORE: f64 = 1024.0;
/// Steps of Newton's method at most.
const STEPS_MAX: usize = 40;

/// Share of all states, counting those present squared, below which the rest are not summed.
const NOTHING: f64 = 1e-12;

/// What an arriving customer meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Met {
    /// How many times as long as its service alone it stays, if all customers are alike.
    pub stretch: f64,
    /// Others that are served while it is: one fewer than servers, at most.
    pub beside: f64,
}

/// The others: how many there can be, and how the rest of the network hands them on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Others {
    /// At the centre, on average.
    pub mean: f64,
    /// In the network.
    pub most: f64,
    /// 0: the rest of the network hands each on by itself; 1: one after the other.
    pub queued: f64,
}

/// What a customer meets that comes to a centre of at most `servers` at once. Who asks again and again leaves in `births`
/// what was found, the logarithm of their rate, so that the next search begins there.
pub(crate) fn met(
    service: &Service,
    servers: f64,
    others: Others,
    births: &mut Option<f64>,
) -> Met {
    let saturated = STATES_A_SERVER / 2.0 * servers + STATES_MORE / 4.0;
    let most = others.most.max(0.0).ceil();
    let mean = others.mean.clamp(0.0, most);
    if mean <= 1e-12 {
        return Met { stretch: 1.0 / service.speed(1), beside: 0.0 };
    }
    if mean > saturated || mean > most - 1e-6 {
        let alone = service.speed((mean + 1.0).min(1e9) as u32);
        return Met { stretch: (mean + 1.0) / alone, beside: mean.min(servers - 1.0) };
    }
    let states = most.min(STATES_A_SERVER * servers + STATES_MORE) as u32;
    // Newton's method in the logarithm of the rate of births: the derivative of the mean is the variance. The mean grows with
    // the rate, so that what is too low and what is too high hold it.
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut rate: f64 = births.unwrap_or_else(|| (mean / most.max(1.0)).ln());
    let mut sums = Sums::default();
    for _ in 0..STEPS_MAX {
        sums = Sums::of(service, servers, rate.exp(), states, Others { most, ..others });
        let off = mean - sums.mean();
        if off.abs() <= 1e-7 * (1.0 + mean) {
            break;
        }
        if off > 0.0 {
            low = rate;
        } else {
            high = rate;
        }
        let next = rate + (off / sums.variance().max(1e-9)).clamp(-1.5, 1.5);
        rate = if next > low && next < high { next } else { (low + high) / 2.0 };
    }
    *births = rate.is_finite().then_some(rate);
    Met { stretch: sums.stretch / sums.all, beside: sums.beside / sums.all }
}

/// Sums over the states, each times its weight.
#[derive(Default)]
struct Sums {
    all: f64,
    first: f64,
    second: f64,
    stretch: f64,
    beside: f64,
}

impl Sums {
    fn of(service: &Service, servers: f64, rate: f64, states: u32, others: Others) -> Sums {
        let mut sums = Sums::default();
        let mut weight = 1.0;
        for present in 0..=states {
            let n = f64::from(present);
            let speed = service.speed(present + 1);
            sums.all += weight;
            sums.first += weight * n;
            sums.second += weight * n * n;
            sums.stretch += weight * (n + 1.0) / speed;
            sums.beside += weight * n.min(servers - 1.0);
            let elsewhere = others.most - n;
            let births = elsewhere / (1.0 + (elsewhere - 1.0).max(0.0) * others.queued);
            let grows = rate * births / speed;
            weight *= grows;
            // Beyond the servers there are ever fewer births and no more speed, so that what follows is a geometric tail.
            if n > servers && grows < 0.9 && weight * (n + 1.0) * (n + 1.0) < NOTHING * sums.all {
                break;
            }
            if weight > 1e100 {
                sums.scale(1.0 / weight);
                weight = 1.0;
            }
        }
        sums
    }

    fn scale(&mut self, by: f64) {
        for sum in
            [&mut self.all, &mut self.first, &mut self.second, &mut self.stretch, &mut self.beside]
        {
            *sum *= by;
        }
    }

    fn mean(&self) -> f64 {
        self.first / self.all
    }

    fn variance(&self) -> f64 {
        self.second / self.all - self.mean().powi(2)
    }
}
