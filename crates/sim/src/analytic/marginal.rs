//! What an arriving customer sees at a centre whose speed depends on the number present, when only the mean number is
//! known: a birth-and-death process with that mean. Births come from the rest of the network, modelled as one centre
//! whose rate grows with its customers, and grows less as its slowest part fills up. So the centre is solved in a
//! network of two (Norton's theorem of Chandy, Herzog and Woo 1975), where two figures describe the other one.

use super::Service;

/// Greatest number of states of the process, per server and additional.
const STATES_A_SERVER: f64 = 16.0;
const STATES_MORE: f64 = 1024.0;
/// Greatest number of Newton steps.
const STEPS_MAX: usize = 40;

/// Weight, as a share of all states and times the squared number present, below which the remaining states are ignored.
const NOTHING: f64 = 1e-12;

/// What an arriving customer sees.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Met {
    /// Its residence time as a multiple of its service time, if all customers are alike.
    pub stretch: f64,
    /// Others in service at the same time: at most one fewer than servers.
    pub beside: f64,
    /// The mean time of a service under way beside the mean speed, both as multiples of those with one present: less than 1
    /// where services are the shorter the more are there.
    pub left: f64,
}

/// The other customers: how many there are, and how the rest of the network returns them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Others {
    /// At the centre, on average.
    pub mean: f64,
    /// In the network, at most.
    pub most: f64,
    /// From 0, where the rest of the network is a pure delay, to 1, where it is a single queue.
    pub queued: f64,
}

/// What a customer sees at a centre that serves at most `servers` at once. `births` carries the logarithm of the birth
/// rate from call to call, as the start of the next search.
pub(crate) fn met(
    service: &Service,
    servers: f64,
    others: Others,
    births: &mut Option<f64>,
) -> Met {
    // With more than it has speeds for a centre is no faster.
    let servers = match service {
        Service::Rates(rates) => servers.min(rates.len().max(1) as f64),
        _ => servers,
    };
    let saturated = STATES_A_SERVER / 2.0 * servers + STATES_MORE / 4.0;
    let most = others.most.max(0.0).ceil();
    let mean = others.mean.clamp(0.0, most);
    if mean <= 1e-12 {
        return Met { stretch: 1.0 / service.speed(1), beside: 0.0, left: 1.0 };
    }
    if mean > saturated || mean > most - 1e-6 {
        // A mean a rounding error below a whole number is that number.
        let alone = service.speed((mean + 1.0 + 1e-6).min(1e9) as u32);
        let beside = mean.min(servers - 1.0);
        return Met { stretch: (mean + 1.0) / alone, beside, left: 1.0 / (alone * alone) };
    }
    let states = most.min(STATES_A_SERVER * servers + STATES_MORE) as usize;
    // Newton's method on the logarithm of the birth rate: the derivative of the mean is the variance. The mean grows
    // with the rate, so a value too low and one too high bracket it.
    let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
    let mut rate: f64 = births.unwrap_or_else(|| (mean / most.max(1.0)).ln());
    let mut sums = StateSums::default();
    let mut known =
        States { service, servers, others: Others { most, ..others }, each: Vec::new() };
    for _ in 0..STEPS_MAX {
        sums = StateSums::of(&mut known, rate.exp(), states);
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
    let left = known.left(rate.exp(), states);
    Met { stretch: sums.stretch / sums.all, beside: sums.beside / sums.all, left }
}

/// What Poisson arrivals see at a centre that nothing else visits: `load` of them are in service on average where there
/// is one server for each, at `servers` at most. The states are those of a birth-and-death process, whose tail is
/// geometric from where its speed no longer changes.
pub(crate) fn arrivals(service: &Service, servers: f64, load: f64) -> Met {
    let last = match service {
        Service::Rates(rates) => rates.len() as u32,
        _ => servers as u32,
    };
    let mut weight = 1.0;
    let (mut all, mut first, mut beside) = (0.0, 0.0, 0.0);
    for present in 0..last {
        let n = f64::from(present);
        all += weight;
        first += weight * n;
        beside += weight * n.min(servers - 1.0);
        weight *= load / service.speed(present + 1);
        if weight > 1e100 {
            (all, first, beside, weight) = (all / weight, first / weight, beside / weight, 1.0);
        }
    }
    // From `last` on each state has the same share of the one before.
    let ratio = (load / service.speed(last + 1)).min(1.0 - 1e-9);
    let tail = weight / (1.0 - ratio);
    all += tail;
    first += tail * (f64::from(last) + ratio / (1.0 - ratio));
    beside += tail * f64::from(last).min(servers - 1.0);
    let stretch = (first / all / load).max(1.0 / service.fastest());
    // Only closed loads ask what is left.
    Met { stretch, beside: beside / all, left: 1.0 }
}

/// What the states of a process are like whatever the birth rate, as far as they were looked at: for each number present
/// the births for a rate of 1 beside the speed, and the stretch of one more.
struct States<'a> {
    service: &'a Service,
    servers: f64,
    others: Others,
    each: Vec<(f64, f64)>,
}

impl States<'_> {
    /// Looks at some more of them, up to `last`.
    #[inline(never)]
    fn more(&mut self, last: usize) {
        const SOME: usize = 64;
        let (from, most, queued) = (self.each.len(), self.others.most, self.others.queued);
        let to = (from + SOME).min(last + 1);
        self.each.extend((from..to).map(|present| {
            let n = present as f64;
            let speed = self.service.speed(present as u32 + 1);
            let elsewhere = most - n;
            let births = elsewhere / ((1.0 + (elsewhere - 1.0).max(0.0) * queued) * speed);
            (births, (n + 1.0) / speed)
        }));
    }

    /// The mean time of a service under way beside the mean speed.
    fn left(&self, rate: f64, last: usize) -> f64 {
        let Service::Rates(_) = self.service else { return 1.0 };
        let (mut weight, mut left, mut gained) = (1.0, 0.0, 0.0);
        for (present, (births, _)) in self.each.iter().enumerate().take(last + 1) {
            if present > 0 {
                let speed = self.service.speed(present as u32);
                left += weight / speed;
                gained += weight * speed;
            }
            weight *= rate * births;
            if weight > 1e100 {
                (left, gained, weight) = (left / weight, gained / weight, 1.0);
            }
        }
        if gained > 0.0 { left / gained } else { 1.0 }
    }
}

/// StateSums over the states, weighted.
#[derive(Default)]
struct StateSums {
    all: f64,
    first: f64,
    second: f64,
    stretch: f64,
    beside: f64,
}

impl StateSums {
    fn of(states: &mut States, rate: f64, last: usize) -> StateSums {
        // Not fields of the sums, and nothing is called within, so that all of them stay in registers.
        let [mut all, mut first, mut second, mut stretched, mut beside] = [0.0; 5];
        let (mut weight, mut n, mut from) = (1.0, 0.0, 0);
        let servers = states.servers;
        'all: while from <= last {
            if from == states.each.len() {
                states.more(last);
            }
            for (births, stretch) in &states.each[from..] {
                all += weight;
                first += weight * n;
                second += weight * n * n;
                stretched += weight * stretch;
                beside += weight * if n < servers - 1.0 { n } else { servers - 1.0 };
                let grows = rate * births;
                weight *= grows;
                // Beyond the servers births only decrease and speed is constant, so the rest is a geometric tail.
                let rest = weight * (n + 1.0) * (n + 1.0);
                if rest < NOTHING * all && n > servers && grows < 0.9 {
                    break 'all;
                }
                n += 1.0;
                if weight > 1e100 {
                    [all, first, second, stretched, beside] =
                        [all, first, second, stretched, beside].map(|sum| sum / weight);
                    weight = 1.0;
                }
            }
            from = states.each.len();
        }
        StateSums { all, first, second, stretch: stretched, beside }
    }

    fn mean(&self) -> f64 {
        self.first / self.all
    }

    fn variance(&self) -> f64 {
        self.second / self.all - self.mean().powi(2)
    }
}
