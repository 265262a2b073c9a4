//! Single stations whose steady state is known: M/M/c, M/G/1 with and without priorities, M/M/c/K, and machines that
//! break down and are repaired. `None` where there is no steady state: more arrives than can be served.

/// A station in steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steady {
    /// Seconds from arrival to departure, on average, of those who are served.
    pub response: f64,
    /// Present, waiting or served, on average.
    pub present: f64,
    /// Served a second.
    pub throughput: f64,
    /// Share of the servers at work.
    pub utilization: f64,
    /// Share of the arrivals that is turned away.
    pub lost: f64,
}

/// M/G/1: `rate` arrivals a second, service of `mean` seconds with squared coefficient of variation `scv` (1 is
/// exponential, 0 constant). The formula of Pollaczek and Khinchine.
pub fn single_server(rate: f64, mean: f64, scv: f64) -> Option<Steady> {
    let load = rate * mean;
    if !(load < 1.0 && rate > 0.0) {
        return None;
    }
    let response = mean + load * mean * (1.0 + scv) / (2.0 * (1.0 - load));
    Some(Steady {
        response,
        present: rate * response,
        throughput: rate,
        utilization: load,
        lost: 0.0,
    })
}

/// M/M/c: `rate` arrivals a second, `servers` with exponential service of `mean` seconds. Erlang's C formula.
pub fn many_servers(rate: f64, mean: f64, servers: u32) -> Option<Steady> {
    let offered = rate * mean;
    let count = f64::from(servers);
    if !(offered < count && rate > 0.0) {
        return None;
    }
    // Erlang's B by its recursion, which neither overflows nor cancels, and C from it.
    let blocked = (1..=servers)
        .fold(1.0, |blocked, n| offered * blocked / (f64::from(n) + offered * blocked));
    let waits = blocked / (1.0 - offered / count * (1.0 - blocked));
    let response = mean + waits * mean / (count - offered);
    Some(Steady {
        response,
        present: rate * response,
        throughput: rate,
        utilization: offered / count,
        lost: 0.0,
    })
}

/// M/M/c/K: as [`many_servers`], with room for `room` (at least `servers`); who finds it full is lost.
pub fn finite(rate: f64, mean: f64, servers: u32, room: u32) -> Option<Steady> {
    if !(rate > 0.0 && mean > 0.0) || servers == 0 || room < servers {
        return None;
    }
    let offered = rate * mean;
    let births = (1..=room).map(|n| offered / f64::from(n.min(servers)));
    let (shares, levels) = birth_and_death(births);
    let busy: f64 = (0..).zip(&shares).map(|(n, share)| f64::from(servers.min(n)) * share).sum();
    let lost = shares[room as usize];
    let throughput = rate * (1.0 - lost);
    Some(Steady {
        response: levels / throughput,
        present: levels,
        throughput,
        utilization: busy / f64::from(servers),
        lost,
    })
}

/// `machines` that each work for `between` seconds and then wait for one of `servers` to repair them in `mean` seconds,
/// all exponential: a closed load with think time on one station.
pub fn repairman(machines: u32, between: f64, mean: f64, servers: u32) -> Option<Steady> {
    if !(between > 0.0 && mean > 0.0) || servers == 0 || machines == 0 {
        return None;
    }
    let births = (1..=machines)
        .map(|n| f64::from(machines - n + 1) / between * mean / f64::from(n.min(servers)));
    let (shares, present) = birth_and_death(births);
    let busy: f64 = (0..).zip(&shares).map(|(n, share)| f64::from(servers.min(n)) * share).sum();
    let throughput = busy / mean;
    Some(Steady {
        response: present / throughput,
        present,
        throughput,
        utilization: busy / f64::from(servers),
        lost: 0.0,
    })
}

/// Shares of the states of a birth-and-death process, from the ratios of neighbours, and the mean state.
fn birth_and_death(ratios: impl Iterator<Item = f64>) -> (Vec<f64>, f64) {
    let mut weights = vec![1.0];
    for ratio in ratios {
        let next = weights[weights.len() - 1] * ratio;
        weights.push(next);
        if next > 1e200 {
            weights.iter_mut().for_each(|weight| *weight /= next);
        }
    }
    let sum: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= sum);
    let mean = (0..).zip(&weights).map(|(n, share)| f64::from(n) * share).sum();
    (weights, mean)
}

/// M/G/1 whose classes have priorities, the first before all others, none interrupting another: mean response times in
/// seconds. Each class is (arrivals a second, mean service, its scv). Cobham's formula.
pub fn priorities(classes: &[(f64, f64, f64)]) -> Option<Vec<f64>> {
    let load: f64 = classes.iter().map(|(rate, mean, _)| rate * mean).sum();
    if load >= 1.0 {
        return None;
    }
    // What is left of the service that an arrival finds, on average.
    let rest: f64 =
        classes.iter().map(|(rate, mean, scv)| rate * mean * mean * (1.0 + scv) / 2.0).sum();
    let mut before = 0.0;
    let responses = classes.iter().map(|(rate, mean, _)| {
        let with = before + rate * mean;
        let response = mean + rest / ((1.0 - before) * (1.0 - with));
        before = with;
        response
    });
    Some(responses.collect())
}
