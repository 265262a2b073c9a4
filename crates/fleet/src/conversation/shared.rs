//! Hops that several agents count: one at its own machine, one by what it asks of others, or some on one machine. Of each counter one
//! agent's is recorded; what another says of it is compared, and never added.

use crate::hops::SharedHop;
use clock::Ns;
use record::{Counter, CounterId, SourceId};
use std::collections::BTreeMap;

/// Rates that differ by more contradict each other.
const APART: f64 = 0.1;
/// For so long both must have counted.
const COMPARED: Ns = Ns::secs(10);
/// And so much: a few errors more or less are none.
const ENOUGH: f64 = 1000.0;

/// What one agent has counted.
#[derive(Clone, Copy, Default)]
struct Sum {
    amount: f64,
    time: Ns,
    /// The longest interval: ends of the two agents' lie so far apart at most.
    longest: Ns,
}

impl Sum {
    fn add(&mut self, counter: &Counter) {
        let length = counter.to.since(counter.from);
        self.amount += counter.value;
        self.time = self.time.plus(length);
        self.longest = self.longest.max(length);
    }

    fn rate(&self) -> f64 {
        self.amount / self.time.as_secs_f64()
    }

    /// By how much its rate may be wrong since ends of intervals lie elsewhere.
    fn slack(&self) -> f64 {
        self.longest.as_secs_f64() / self.time.as_secs_f64()
    }
}

/// The shared hops of a step.
#[derive(Default)]
pub(crate) struct SharedHops {
    hops: Vec<SharedHop>,
    /// Of each counter what the agent says that is recorded, and what the other says, which is here by its place among the hops.
    sums: BTreeMap<(usize, CounterId), [Sum; 2]>,
}

impl SharedHops {
    pub fn add(&mut self, hops: Vec<SharedHop>) {
        self.hops.extend(hops);
    }

    /// What of an agent's counters is recorded.
    pub fn take(&mut self, agent: usize, list: Vec<Counter>) -> Vec<Counter> {
        if self.hops.is_empty() {
            return list;
        }
        let recorded = |counter: &Counter| {
            let Some(id) = counter.kind.id() else { return true };
            let here = |(_, hop): &(usize, &SharedHop)| {
                hop.source == counter.source && (hop.agent == agent || hop.witness == agent)
            };
            let mut kept = true;
            for (at, hop) in self.hops.iter().enumerate().filter(here) {
                let witness = hop.witness == agent;
                // That a process was stopped is of the machine that it is on.
                if id == CounterId::OwnStop {
                    kept &= !witness || hop.own.is_none();
                } else if hop.own.as_ref().is_none_or(|own| own.contains(&id)) {
                    if counter.value.is_finite() && id.meaning().adds_up() {
                        self.sums.entry((at, id)).or_default()[usize::from(witness)].add(counter);
                    }
                    kept &= !witness;
                }
            }
            kept
        };
        list.into_iter().filter(recorded).collect()
    }

    /// Whether what an agent counts at a hop of its machine is recorded as another's.
    pub fn is_other(&self, agent: usize, source: SourceId) -> bool {
        let of =
            |hop: &SharedHop| hop.source == source && hop.witness == agent && hop.own.is_none();
        self.hops.iter().any(of)
    }

    /// What contradicts itself, at the end of the step.
    pub fn conflicts<'a>(&self, name: impl Fn(usize) -> &'a str) -> Vec<(SourceId, String)> {
        let of = |((at, id), [own, other]): (&(usize, CounterId), &[Sum; 2])| {
            let hop = &self.hops[*at];
            let told = own.time >= COMPARED && other.time >= COMPARED;
            let (a, b) = (own.rate(), other.rate());
            let enough = own.amount.max(other.amount) >= ENOUGH;
            let apart = (a - b).abs() > (APART + own.slack() + other.slack()) * a.max(b);
            (told && enough && apart).then(|| {
                let (first, second) = match &hop.own {
                    Some(_) => (
                        "the machine's own agent".to_owned(),
                        "the source that the coordinator asks".to_owned(),
                    ),
                    None => (
                        format!("agent {}", name(hop.agent)),
                        format!("agent {}, of the same machine by its word,", name(hop.witness)),
                    ),
                };
                let text = format!(
                    "{first} says {a:.4e} and {second} {b:.4e} of {} a second: the first is recorded",
                    id.name()
                );
                (hop.source, text)
            })
        };
        self.sums.iter().filter_map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use CounterId::{CpuBusy, CpuSteal};

    fn counter(second: u64, id: CounterId, value: f64) -> Counter {
        let (from, to) = (Ns::secs(second), Ns::secs(second + 1));
        Counter { source: SourceId(3), step: Some(0), from, to, kind: id.into(), part: None, value }
    }

    /// Twenty seconds of an agent and of what the coordinator asks: how much is recorded of each, and what is said.
    fn run(rate: f64, own: Option<Vec<CounterId>>) -> ([usize; 2], Vec<String>) {
        let mut shared = SharedHops::default();
        shared.add(vec![SharedHop { source: SourceId(3), witness: 1, agent: 0, own }]);
        let mut recorded = [0; 2];
        for second in 0..20 {
            recorded[0] += shared.take(0, vec![counter(second, CpuBusy, 1e9)]).len();
            let theirs = vec![counter(second, CpuBusy, rate), counter(second, CpuSteal, 5e8)];
            recorded[1] += shared.take(1, theirs).len();
        }
        (recorded, shared.conflicts(|_| "a").into_iter().map(|(_, text)| text).collect())
    }

    #[test]
    fn a_counter_of_two_agents_is_recorded_once_and_contradictions_are_said() {
        let own = || Some(vec![CpuBusy]);
        assert_eq!(run(1.05e9, own()), ([20, 20], vec![]));
        let (recorded, said) = run(3e8, own());
        assert_eq!((recorded, said.len()), ([20, 20], 1));
        assert!(said[0].contains("1.0000e9"), "{said:?}");
    }

    #[test]
    fn of_two_agents_of_one_machine_the_first_is_recorded() {
        assert_eq!(run(1.05e9, None), ([20, 0], vec![]));
        let (recorded, said) = run(3e8, None);
        assert_eq!((recorded, said.len()), ([20, 0], 1));
        assert!(
            said[0].starts_with("agent a says 1.0000e9 and agent a, of the same machine"),
            "{said:?}"
        );
        // The first of them may be the one that a source of the coordinator's is compared with.
        let mut shared = SharedHops::default();
        let hop = |witness, own| SharedHop { source: SourceId(3), witness, agent: 0, own };
        shared.add(vec![hop(2, Some(vec![CpuBusy])), hop(1, None)]);
        let recorded = |shared: &mut SharedHops, agent, id| {
            shared.take(agent, vec![counter(0, id, 1e9)]).len()
        };
        let all = [(0, CpuBusy), (1, CpuBusy), (2, CpuBusy), (1, CpuSteal), (2, CpuSteal)];
        assert_eq!(all.map(|(agent, id)| recorded(&mut shared, agent, id)), [1, 0, 0, 0, 1]);
        assert!(shared.is_other(1, SourceId(3)) && !shared.is_other(2, SourceId(3)));
        // Each process is stopped by itself.
        assert_eq!([0, 1].map(|agent| recorded(&mut shared, agent, CounterId::OwnStop)), [1, 1]);
    }
}
