//! What claims and goals of a scenario name, so that its figures get intervals of confidence in the record.

use scenario::{Claim, Goal, Scenario, Scope};
use std::collections::BTreeSet;

/// Hops and sums of VMs or targets with intervals of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Named {
    /// Hops, by name.
    pub hops: BTreeSet<String>,
    /// VMs or targets that are summed, in the order in which they are named.
    pub sums: BTreeSet<Vec<String>>,
}

impl Named {
    /// What a scenario's goals and claims speak of.
    pub fn of(scenario: &Scenario) -> Named {
        let claimed = scenario.claims.iter().flat_map(Claim::hops);
        let goals = scenario.goals.iter().map(|goal: &Goal| &goal.scope);
        let required = goals.clone().filter_map(|scope| match scope {
            Scope::Hop(hop) => Some(hop.as_str()),
            _ => None,
        });
        let scopes = scenario.claims.iter().map(|claim| &claim.scope).chain(goals);
        let sums = scopes.filter_map(|scope| match scope {
            Scope::Over(names) if names.len() > 1 => Some(names.clone()),
            _ => None,
        });
        let hops = claimed.chain(required).map(str::to_owned).collect();
        Named { hops, sums: sums.collect() }
    }
}
