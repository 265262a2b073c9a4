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
    let left = known.left(rate.exp(), sums.states);
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
/// the births for a rate of 1 beside the speed, and the speed with one more.
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
            let speed = self.service.speed(present as u32 + 1);
            let elsewhere = most - present as f64;
            let births = elsewhere / ((1.0 + (elsewhere - 1.0).max(0.0) * queued) * speed);
            (births, speed)
        }));
    }

    /// From how many present on one more makes it no faster, and no more are served.
    fn constant(&self) -> usize {
        let steps = match self.service {
            Service::Rates(rates) => rates.len(),
            _ => 0,
        };
        steps.max(self.servers as usize)
    }

    /// The mean time of a service under way beside the mean speed, over so many states.
    fn left(&self, rate: f64, states: usize) -> f64 {
        let Service::Rates(_) = self.service else { return 1.0 };
        let (mut weight, mut left, mut gained, mut speed) = (1.0, 0.0, 0.0, 0.0);
        for (present, (births, next)) in self.each.iter().enumerate().take(states) {
            if present > 0 {
                left += weight / speed;
                gained += weight * speed;
            }
            speed = *next;
            weight *= rate * births;
            if weight > 1e100 {
                (left, gained, weight) = (left / weight, gained / weight, 1.0);
            }
        }
        if gained > 0.0 { left / gained } else { 1.0 }
    }
}

/// What is nothing where each further state is at most so likely beside the one before: beyond the servers births only
/// decrease and no speed does, so that the rest is a geometric tail, whose second moment grows with the third power of its
/// length.
fn nothing(more: f64) -> f64 {
    let fades = (10.0 * (1.0 - more)).min(1.0);
    NOTHING * fades * fades * fades
}

/// Sums over the states, weighted.
#[derive(Default)]
struct StateSums {
    all: f64,
    first: f64,
    second: f64,
    stretch: f64,
    beside: f64,
    /// How many states they are over: the others weigh nothing.
    states: usize,
}

impl StateSums {
    fn of(states: &mut States, rate: f64, last: usize) -> StateSums {
        let mut sums = StateSums::default();
        let constant = states.constant();
        let mut weight = 1.0;
        while sums.states <= last && sums.states < constant {
            if sums.states == states.each.len() {
                states.more(last);
            }
            let to = states.each.len().min(constant);
            let some = &states.each[sums.states..to];
            if sums.add_each(some, states.servers, rate, &mut weight) {
                return sums;
            }
        }
        if sums.states <= last {
            sums.add_constant(states, rate, last, weight);
        }
        sums
    }

    /// Adds states in which the speed depends on how many are there; whether what is left weighs nothing.
    fn add_each(&mut self, each: &[(f64, f64)], servers: f64, rate: f64, weight: &mut f64) -> bool {
        for (births, speed) in each {
            let (n, more) = (self.states as f64, rate * births);
            self.all += *weight;
            self.first += *weight * n;
            self.second += *weight * n * n;
            self.stretch += *weight * (n + 1.0) / speed;
            self.beside += *weight * n.min(servers - 1.0);
            *weight *= more;
            self.states += 1;
            if n > servers && self.ends(*weight * (n + 1.0) * (n + 1.0), more) {
                return true;
            }
            if *weight > 1e100 {
                self.scale(*weight);
                *weight = 1.0;
            }
        }
        false
    }

    /// Whether what is left weighs nothing.
    fn ends(&self, rest: f64, more: f64) -> bool {
        more < 1.0 && rest < nothing(more) * self.all
    }

    /// Adds those in which it does not, up to `last`, or until what is left weighs nothing.
    fn add_constant(&mut self, states: &mut States, rate: f64, last: usize, mut weight: f64) {
        // Not fields of the sums, and nothing is called within, so that all of them stay in registers.
        let [mut all, mut first, mut second] = [0.0; 3];
        let (mut at, servers) = (self.states, states.servers);
        let mut n = at as f64;
        'all: while at <= last {
            if at == states.each.len() {
                states.more(last);
            }
            for (births, _) in &states.each[at..] {
                let (some, more) = (weight * n, rate * births);
                all += weight;
                first += some;
                second += some * n;
                weight *= more;
                at += 1;
                let rest = weight * (n + 1.0) * (n + 1.0);
                if more < 1.0 && n > servers && rest < nothing(more) * (self.all + all) {
                    break 'all;
                }
                n += 1.0;
                if weight > 1e100 {
                    [all, first, second] = [all, first, second].map(|sum| sum / weight);
                    self.scale(weight);
                    weight = 1.0;
                }
            }
        }
        let speed = states.each[at - 1].1;
        self.all += all;
        self.first += first;
        self.second += second;
        self.stretch += (first + all) / speed;
        self.beside += all * (servers - 1.0);
        self.states = at;
    }

    fn scale(&mut self, by: f64) {
        let sums = [&mut self.all, &mut self.first, &mut self.second];
        sums.into_iter().chain([&mut self.stretch, &mut self.beside]).for_each(|sum| *sum /= by);
    }

    fn mean(&self) -> f64 {
        self.first / self.all
    }

    fn variance(&self) -> f64 {
        self.second / self.all - self.mean().powi(2)
    }
}
