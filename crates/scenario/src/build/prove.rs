//! The key `prove` of a plan: a flag, or a table over the usual rounds.

use super::{complain, count_u32};
use crate::datum::{Datum, Decoded};
use crate::diagnostics::Sink;
use crate::load::Load;
use crate::prove::Prove;
use units::duration;

/// The rounds of a plan with these loads; `None` where it has none.
pub(super) fn prove(plan: &Decoded, loads: &[Load], sink: &mut Sink) -> Option<Prove> {
    let prove = match &plan.get("prove")?.value {
        Datum::Record(table) => rounds(table, sink),
        Datum::Flag(true) => Prove::USUAL,
        _ => return None,
    };
    let why = if plan.has("faults") {
        "a fault changes what limits a step, so its rounds would not tell; prove a plan without `faults`"
    } else if plan.has("search") {
        "a search has no steps that are known beforehand; prove the load that it finds in a plan of its own"
    } else if loads.iter().any(|load| load.phase.is_some()) {
        "the load of a job changes by itself, so its rounds would not tell"
    } else {
        return Some(prove);
    };
    complain(plan, "prove", why, sink);
    None
}

fn rounds(table: &Decoded, sink: &mut Sink) -> Prove {
    let round = table.time("round").map_or(Prove::USUAL.round, |at| at.value);
    if round < Prove::SHORTEST || round > Prove::LONGEST {
        let [from, to] = [Prove::SHORTEST, Prove::LONGEST].map(duration);
        complain(table, "round", format!("expected a time from {from} to {to}"), sink);
    }
    Prove { rounds: count_u32(table, "rounds").unwrap_or(Prove::USUAL.rounds), round }
}
