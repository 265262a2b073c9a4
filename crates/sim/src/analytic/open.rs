//! Single stations with a known steady state: M/M/c, M/G/1 with and without priorities, M/M/c/K, and machine repair.
//! `None` where there is no steady state, because arrivals exceed capacity.

/// A station in steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SteadyState {
    /// Mean seconds from arrival to departure of served customers.
    pub response: f64,
    /// Mean number present, waiting or in service.
    pub present: f64,
    /// Served customers a second.
    pub throughput: f64,
    /// Share of the servers that is busy.
    pub utilization: f64,
    /// Share of the arrivals that is rejected.
    pub lost: f64,
}

/// M/G/1: `rate` arrivals a second, service of `mean` seconds with squared coefficient of variation `scv` (1 is
/// exponential, 0 constant). The Pollaczek-Khinchine formula.
pub fn single_server(rate: f64, mean: f64, scv: f64) -> Option<SteadyState> {
    let load = rate * mean;
    if !(load < 1.0 && rate > 0.0) {
        return None;
    }
    let response = mean + load * mean * (1.0 + scv) / (2.0 * (1.0 - load));
    Some(SteadyState {
        response,
        present: rate * response,
        throughput: rate,
        utilization: load,
        lost: 0.0,
    })
}

/// M/M/c: `rate` arrivals a second, `servers` with exponential service of `mean` seconds. Erlang's C formula.
pub fn many_servers(rate: f64, mean: f64, servers: u32) -> Option<SteadyState> {
    let offered = rate * mean;
    let count = f64::from(servers);
    if !(offered < count && rate > 0.0) {
        return None;
    }
    // Erlang B by its recursion, which neither overflows nor cancels, and Erlang C from it.
    let blocked = (1..=servers)
        .fold(1.0, |blocked, n| offered * blocked / (f64::from(n) + offered * blocked));
    let waits = blocked / (1.0 - offered / count * (1.0 - blocked));
    let response = mean + waits * mean / (count - offered);
    Some(SteadyState {
        response,
        present: rate * response,
        throughput: rate,
        utilization: offered / count,
        lost: 0.0,
    })
}

/// M/M/c/K: as [`many_servers`], with room for `room` (at least `servers`); arrivals that find it full are lost.
pub fn finite(rate: f64, mean: f64, servers: u32, room: u32) -> Option<SteadyState> {
    if !(rate > 0.0 && mean > 0.0) || servers == 0 || room < servers {
        return None;
    }
    let offered = rate * mean;
    let births = (1..=room).map(|n| offered / f64::from(n.min(servers)));
    let (shares, levels) = birth_and_death(births);
    let busy: f64 = (0..).zip(&shares).map(|(n, share)| f64::from(servers.min(n)) * share).sum();
    let lost = shares[room as usize];
    let throughput = rate * (1.0 - lost);
    Some(SteadyState {
        response: levels / throughput,
        present: levels,
        throughput,
        utilization: busy / f64::from(servers),
        lost,
    })
}

/// `machines` that each run for `between` seconds and then wait for one of `servers` repairers, who take `mean`
/// seconds, all exponential: a closed load with think time on one station.
pub fn repairman(machines: u32, between: f64, mean: f64, servers: u32) -> Option<SteadyState> {
    if !(between > 0.0 && mean > 0.0) || servers == 0 || machines == 0 {
        return None;
    }
    let births = (1..=machines)
        .map(|n| f64::from(machines - n + 1) / between * mean / f64::from(n.min(servers)));
    let (shares, present) = birth_and_death(births);
    let busy: f64 = (0..).zip(&shares).map(|(n, share)| f64::from(servers.min(n)) * share).sum();
    let throughput = busy / mean;
    Some(SteadyState {
        response: present / throughput,
        present,
        throughput,
        utilization: busy / f64::from(servers),
        lost: 0.0,
    })
}

/// State probabilities of a birth-and-death process, from the ratios of neighbouring states, and the mean state.
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

/// M/G/1 with non-preemptive priorities, the first class highest: mean response times in seconds. Each class is
/// (arrivals a second, mean service, its scv). Cobham's formula.
pub fn priorities(classes: &[(f64, f64, f64)]) -> Option<Vec<f64>> {
    let load: f64 = classes.iter().map(|(rate, mean, _)| rate * mean).sum();
    if load >= 1.0 {
        return None;
    }
    // Mean residual service that an arrival finds.
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
