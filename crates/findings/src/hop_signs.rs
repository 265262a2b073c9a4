//! What counters of real hops show besides how full they are: errors, drops, ports without credit, a processor that is full of
//! interrupts, connections that send again. One warning a sort, with the worst hops and their numbers.

use crate::figures::StepFigures;
use crate::media::MediaSigns;
use crate::monitoring::Seen;
use crate::other_programs::{self, SharedCpu};
use crate::step::StepData;
use crate::warnings::{Severity, Warning};
use record::{CounterId, Fact, Source};
use std::collections::BTreeMap;
use units::{count, percent};

/// From this share of its time one processor is held up by interrupts, in percent.
pub(crate) const SOFTIRQ_BOUND: f64 = 80.0;
/// Hops that a warning names.
const NAMED: usize = 3;
/// Retransmissions below this many in a step happen.
const RETRANSMITS: f64 = 10.0;

/// A sort of sign: its code, what is counted, from how much on, and what to do.
struct Sort {
    code: &'static str,
    counter: CounterId,
    from: f64,
    what: &'static str,
    next: &'static str,
}

const SORTS: [Sort; 7] = [
    Sort {
        code: "hop-errors",
        counter: CounterId::Errors,
        from: 0.5,
        what: "errors",
        next: "look at cables, transceivers and cleanliness of the optics; figures of that path include what was sent again",
    },
    Sort {
        code: "hop-discards",
        counter: CounterId::Discards,
        from: 0.5,
        what: "frames or packets dropped",
        next: "look at flow control, buffers and MTU along that path",
    },
    Sort {
        code: "credit-zero",
        counter: CounterId::CreditZero,
        from: 0.5,
        what: "times with frames to send and no buffer credit",
        next: "look at the device behind that port (slow drain), and at the credits of its link",
    },
    Sort {
        code: "qdisc-drops",
        counter: CounterId::QdiscDrops,
        from: 0.5,
        what: "packets dropped by the queueing discipline",
        next: "see `tc -s qdisc show` there: its rate or its limit holds the traffic up",
    },
    Sort {
        code: "command-timeouts",
        counter: CounterId::Timeouts,
        from: 0.5,
        what: "commands that took longer than their time",
        next: "see the kernel's log: paths or the array did not answer",
    },
    Sort {
        code: "session-retransmits",
        counter: CounterId::SessionRetransmits,
        from: RETRANSMITS,
        what: "segments sent again",
        next: "something on the way drops packets: look at discards of its ports, and at MTU",
    },
    Sort {
        code: "softirq-bound",
        counter: CounterId::CpuSoftirqMost,
        from: SOFTIRQ_BOUND,
        what: "of one processor's time spent on interrupts",
        next: "spread the interrupts: more queues on the adapter, RPS, or irqbalance",
    },
];

/// Signs of a run.
#[derive(Default)]
pub(crate) struct HopSignsSeen {
    by_sort: BTreeMap<usize, Vec<(f64, String, u32)>>,
    /// What the monitoring of observed loads shows, which has words of its own.
    pub windows: Vec<Seen>,
    /// Signs of a cache in front of the media.
    pub media: MediaSigns,
    /// Hosts whose processors other programs used.
    shared: Vec<SharedCpu>,
}

impl HopSignsSeen {
    /// Takes in a step.
    pub fn see(
        &mut self,
        step: &StepData,
        figures: &StepFigures,
        (facts, sources): (&[Fact], &[Source]),
    ) {
        let index = figures.index;
        if let Some(window) = Seen::of(step, figures, sources) {
            self.windows.push(window);
            return;
        }
        self.shared.extend(SharedCpu::of(step, figures, (facts, sources)));
        for (sort, of) in SORTS.iter().enumerate() {
            for source in sources.iter().filter(|source| source.hop().is_some()) {
                let value = match of.counter.meaning().adds_up() {
                    true => step.integrals.amount(source.id, of.counter),
                    false => step.integrals.mean(source.id, of.counter),
                };
                if let Some(value) = value.filter(|value| *value >= of.from) {
                    self.by_sort.entry(sort).or_default().push((value, source.name.clone(), index));
                }
            }
        }
    }

    /// One warning a sort, with those of media and, first, of other programs, given what limits the steps.
    pub fn warnings(mut self, steps: &[StepFigures]) -> Vec<Warning> {
        let media = std::mem::take(&mut self.media);
        let mut all: Vec<Warning> =
            other_programs::warning(&self.shared, steps).into_iter().collect();
        all.extend(media.warnings());
        all.extend(self.of_hops());
        all
    }

    fn of_hops(self) -> Vec<Warning> {
        let warning = |(sort, mut seen): (usize, Vec<(f64, String, u32)>)| {
            let of = &SORTS[sort];
            let mut steps: Vec<u32> = seen.iter().map(|(_, _, index)| *index).collect();
            steps.sort_unstable();
            steps.dedup();
            seen.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
            // The worst step of each hop.
            let mut named: Vec<(f64, String)> = Vec::new();
            for (value, hop, _) in seen {
                if !named.iter().any(|(_, known)| *known == hop) {
                    named.push((value, hop));
                }
            }
            let show = |(value, hop): &(f64, String)| match of.counter == CounterId::CpuSoftirqMost
            {
                true => format!("{hop}: {} {}", percent(value.round()), of.what),
                false => format!("{hop}: {} {}", count(value.round()), of.what),
            };
            let all = named.iter().take(NAMED).map(show).collect::<Vec<_>>().join("; ");
            let more = match named.len().saturating_sub(NAMED) {
                0 => String::new(),
                more => format!("; and {more} more"),
            };
            Warning {
                code: of.code.to_owned(),
                severity: Severity::Warning,
                text: format!("{all}{more}"),
                next: of.next.to_owned(),
                steps,
            }
        };
        self.by_sort.into_iter().map(warning).collect()
    }
}
