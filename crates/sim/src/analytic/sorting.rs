//! A queue that serves in an order of its choice, so that a service is the shorter the more wait when it begins: M/G/1 with
//! service times by the number left behind, from the Markov chain embedded at departures (C. M. Harris, *Queues with state
//! dependent stochastic service rates*, Operations Research 15, 1967).

/// Beyond this share arrivals of a service are not counted, nor states whose ratio has settled.
const NOTHING: f64 = 1e-12;
const SETTLED: f64 = 1e-9;
/// Greatest number of states, and of arrivals during one service.
const STATES_MAX: usize = 4096;
const ARRIVALS_MAX: usize = 256;

/// The mean number present where `load` I/Os come during one service without choice, whose squared coefficient of variation is
/// `scv`. A service that begins with n present is the n-th of `gains` times as fast; the last holds for more. `None` where
/// more comes than is served.
pub(crate) fn sorting(load: f64, scv: f64, gains: &[f64]) -> Option<f64> {
    let fastest = gains.last().copied().unwrap_or(1.0);
    if !(load > 0.0 && load < fastest) {
        return None;
    }
    let each: Vec<Vec<f64>> = gains.iter().map(|gain| beyond(load / gain, scv)).collect();
    let last = each.len().checked_sub(1)?;
    let of = |begun: usize, more: usize| {
        each[begun.clamp(1, last + 1) - 1].get(more).copied().unwrap_or(0.0)
    };
    // Each departure leaves at most one fewer than the one before: what goes up across a state comes down again.
    let mut shares = vec![1.0];
    let (mut all, mut first, mut before) = (1.0, 0.0, 0.0);
    for state in 0..STATES_MAX {
        // After a departure that leaves nobody, the next service begins with one.
        let mut up = shares[0] * of(1, state);
        for (begun, share) in shares.iter().enumerate().skip(1).rev().take(ARRIVALS_MAX) {
            up += share * of(begun, state + 1 - begun);
        }
        let down = 1.0 - of(state + 1, 0);
        let next = up / down.max(f64::MIN_POSITIVE);
        let ratio = next / shares[state].max(f64::MIN_POSITIVE);
        let n = (state + 1) as f64;
        if state > last && (ratio - before).abs() <= SETTLED || next <= NOTHING * all {
            // From here on each state has the same share of the one before.
            let rest = next / (1.0 - ratio.min(1.0 - NOTHING));
            let mean = n + ratio / (1.0 - ratio.min(1.0 - NOTHING));
            return Some((first + rest * mean) / (all + rest));
        }
        before = ratio;
        all += next;
        first += next * n;
        shares.push(next);
    }
    Some(first / all)
}

/// The probabilities that more than 0, 1, 2 … come during a service, `mean` on average: of one whose time has a gamma
/// distribution they are those of a negative binomial one, and of a constant one those of Poisson's.
fn beyond(mean: f64, scv: f64) -> Vec<f64> {
    let scv = scv.max(NOTHING);
    let mut chance = (-(mean * scv).ln_1p() / scv).exp();
    let mut rest = 1.0 - chance;
    let mut all = vec![rest];
    for n in 1..ARRIVALS_MAX {
        let before = (n - 1) as f64;
        chance *= mean * (1.0 + before * scv) / (n as f64 * (1.0 + mean * scv));
        rest = (rest - chance).max(0.0);
        if rest <= NOTHING {
            break;
        }
        all.push(rest);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::super::single_server;
    use super::*;

    /// Without choice it is the formula of Pollaczek and Khinchine.
    #[test]
    fn one_speed_is_a_plain_queue() {
        for load in [0.05, 0.5, 0.9, 0.99, 0.995] {
            for scv in [0.0, 0.1, 1.0, 3.0] {
                let found = sorting(load, scv, &[1.0]).expect("a steady state");
                let exact = single_server(load, 1.0, scv).expect("a steady state").present;
                assert!((found / exact - 1.0).abs() < 2e-3, "{load} {scv}: {found}, not {exact}");
            }
        }
    }

    /// More than is served without choice, and too much.
    #[test]
    fn choice_carries_more() {
        let gains: Vec<f64> = (1..=32).map(|n| f64::from(n).powf(0.215)).collect();
        let found = [1.0, 1.5, 2.0, 2.1].map(|load| sorting(load, 0.1, &gains));
        assert!(found.windows(2).all(|pair| pair[0] < pair[1]), "{found:?}");
        assert_eq!(sorting(2.2, 0.1, &gains), None);
    }
}
