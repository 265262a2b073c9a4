//! A warm-up that ends when the load is steady, by the rule that a live run applies (`scenario::steady`).

use super::meter::Tallies;
use super::piece::{Cut, Note};
use clock::Ns;
use record::{Interval, Level, Phase, Round, Rounds, SourceId};
use scenario::Steady;
use scenario::steady::{Figures, Metric};

/// Watches the cuts of a warm-up.
pub(super) struct Warming {
    rule: Steady,
    rounds: Rounds,
}

impl Warming {
    /// A step of so many workers.
    pub fn new(rule: Steady, workers: usize) -> Warming {
        Warming { rule, rounds: Rounds::new(Ns::ZERO, rule.round.into(), workers) }
    }

    /// Takes in what the workers did.
    pub fn add(&mut self, cut: &Cut) {
        for (number, [read, write]) in cut.workers.iter().enumerate() {
            self.rounds.add(&interval(number as u32, cut, read, write));
        }
    }

    /// What is to be said once the load is steady; `None` while it is not.
    pub fn steady(&self, at: Ns) -> Option<Note> {
        let window = self.rule.window(&self.figures())?;
        let text = format!(
            "steady after {:.0} s of load: {}",
            at.as_secs_f64(),
            Figures(&self.rule, &window)
        );
        self.rule.holds(&window).then_some(Note { at, level: Level::Info, code: "steady", text })
    }

    /// What is to be said where the longest warm-up is over, and the load is not steady.
    pub fn never(&self, at: Ns) -> Note {
        let figures = match self.rule.window(&self.figures()) {
            Some(window) => Figures(&self.rule, &window).to_string(),
            None => format!(
                "no {} rounds in which anything was done could be compared",
                self.rule.rounds
            ),
        };
        let load = at.as_secs_f64();
        let text =
            format!("not steady after {load:.0} s of load, but measured all the same: {figures}");
        Note { at, level: Level::Warning, code: "never-steady", text }
    }

    fn figures(&self) -> Vec<f64> {
        let of = |round: &Round| match self.rule.metric {
            Metric::Iops => round.iops(),
            Metric::Throughput => round.bytes_per_s(),
            Metric::Latency => round.service_ns_per_op(),
        };
        self.rounds.finished().iter().map(of).collect()
    }
}

/// The sums of a worker's interval: of its histograms no round takes notice.
fn interval(number: u32, cut: &Cut, read: &Tallies1, write: &Tallies1) -> Interval {
    let sums = |tally: &Tallies1| {
        tally.as_ref().map(|tally| record::Tally {
            ops: tally.ops,
            bytes: tally.bytes,
            service_sum: tally.service_sum,
            ..record::Tally::empty(false)
        })
    };
    Interval {
        source: SourceId(number),
        step: 0,
        phase: Phase::Warmup,
        from: cut.from,
        to: cut.to,
        read: sums(read),
        write: sums(write),
        testimony: None,
    }
}

type Tallies1 = <Tallies as IntoIterator>::Item;
