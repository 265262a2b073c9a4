//! Hops that two agents count: one at its own machine, one by what it asks of others. Of each counter one agent's is recorded; what the
//! other says of it is compared, and never added.

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
    /// Of each counter what its machine's agent says, and what the other says.
    sums: BTreeMap<(SourceId, CounterId), [Sum; 2]>,
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
            let here = |hop: &&SharedHop| {
                hop.source == counter.source && (hop.agent == agent || hop.witness == agent)
            };
            let Some(hop) = self.hops.iter().find(here) else { return true };
            let witness = hop.witness == agent;
            if !hop.own.contains(&id) {
                // That a process was stopped is of the machine that it is on.
                return !(witness && id == CounterId::OwnStop);
            }
            if counter.value.is_finite() && id.meaning().adds_up() {
                let sums = self.sums.entry((counter.source, id)).or_default();
                sums[usize::from(witness)].add(counter);
            }
            !witness
        };
        list.into_iter().filter(recorded).collect()
    }

    /// What contradicts itself, at the end of the step.
    pub fn conflicts(&self) -> Vec<(SourceId, String)> {
        let of = |((source, id), [own, other]): (&(SourceId, CounterId), &[Sum; 2])| {
            let told = own.time >= COMPARED && other.time >= COMPARED;
            let (a, b) = (own.rate(), other.rate());
            let enough = own.amount.max(other.amount) >= ENOUGH;
            let apart = (a - b).abs() > (APART + own.slack() + other.slack()) * a.max(b);
            (told && enough && apart).then(|| {
                let text = format!(
                    "the machine's own agent says {a:.4e} and the source that the coordinator asks {b:.4e} of {} a second: the \
                     first is recorded",
                    id.name()
                );
                (*source, text)
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
    fn run(rate: f64) -> ([usize; 2], Vec<String>) {
        let mut shared = SharedHops::default();
        let own = vec![CpuBusy];
        shared.add(vec![SharedHop { source: SourceId(3), witness: 1, agent: 0, own }]);
        let mut recorded = [0; 2];
        for second in 0..20 {
            recorded[0] += shared.take(0, vec![counter(second, CpuBusy, 1e9)]).len();
            let theirs = vec![counter(second, CpuBusy, rate), counter(second, CpuSteal, 5e8)];
            recorded[1] += shared.take(1, theirs).len();
        }
        (recorded, shared.conflicts().into_iter().map(|(_, text)| text).collect())
    }

    #[test]
    fn a_counter_of_two_agents_is_recorded_once_and_contradictions_are_said() {
        assert_eq!(run(1.05e9), ([20, 20], vec![]));
        let (recorded, said) = run(3e8);
        assert_eq!((recorded, said.len()), ([20, 20], 1));
        assert!(said[0].contains("1.0000e9"), "{said:?}");
    }
}
