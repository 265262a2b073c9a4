//! The key `steady` of a plan: a word, or a table over SNIA's values.

use super::{complain, count_u32};
use crate::datum::{Datum, Decoded};
use crate::diagnostics::Sink;
use crate::steady::{Steady, SteadyMetric};
use std::time::Duration;
use units::duration;

/// Intervals of a record are a second long: shorter rounds could not be distinguished.
const ROUND_MIN: Duration = Duration::from_secs(1);

/// The rule of a plan whose warm-up takes at least `warmup`; `None` where it has none.
pub(super) fn steady(plan: &Decoded, warmup: Duration, sink: &mut Sink) -> Option<Steady> {
    let rule = match &plan.get("steady")?.value {
        Datum::Record(table) => rule(table, sink),
        _ => Steady::SNIA,
    };
    let window = rule.round.saturating_mul(rule.rounds);
    if rule.within < warmup {
        let (within, warmup) = (duration(rule.within), duration(warmup));
        let problem =
            format!("{within} is shorter than the warm-up of {warmup}; increase `within`");
        complain(plan, "steady", problem, sink);
    } else if rule.within < window {
        let (within, window) = (duration(rule.within), duration(window));
        let problem = format!("a window of {window} does not fit in {within}; increase `within`");
        complain(plan, "steady", problem, sink);
    }
    Some(rule)
}

fn rule(table: &Decoded, sink: &mut Sink) -> Steady {
    let snia = Steady::SNIA;
    let time = |key| table.time(key).map(|at| at.value);
    let percent = |key| table.percent(key).map(|at| at.value);
    let round = time("round").unwrap_or(snia.round);
    if round < ROUND_MIN {
        complain(table, "round", "a round is at least 1 s, the length of an interval", sink);
    }
    Steady {
        within: time("within").unwrap_or(snia.within),
        rounds: count_u32(table, "rounds").unwrap_or(snia.rounds),
        round,
        spread: percent("spread").unwrap_or(snia.spread),
        slope: percent("slope").unwrap_or(snia.slope),
        metric: match table.word("metric").map(|at| at.value) {
            Some("throughput") => SteadyMetric::Throughput,
            Some("latency") => SteadyMetric::Latency,
            _ => snia.metric,
        },
    }
}
