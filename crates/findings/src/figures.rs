//! The figures of a step: requested load, work done, latency, and workers.

use crate::agents::StepAgents;
use crate::attribution::{Attribution, HopLoad};
use crate::balance::{Balance, balance};
use crate::confidence::Confidence;
use crate::counter_check::CounterCheck;
use crate::done::{self, Done};
use crate::faults::FaultOutcome;
use crate::generator::{self, Generator};
use crate::jobs::{JobPhase, JobWindow};
use crate::little::{self, Little};
use crate::network;
use crate::pool::{IoFigures, Pool};
use crate::ports::PortLoad;
use crate::proof::StepProof;
use crate::served::Served;
use crate::steady::{self, Steadiness, WarmUp};
use crate::step::{COMPLETE_SHARE, StepData, WorkerData};
use record::{CounterId, Event, Loop, Testimony};
use scenario::{Plan, Steady};
use serde::Serialize;

/// Everything that is known about one step. Rates divide by [`measured_ns`](Self::measured_ns) for every worker, also
/// for one that finished early, so that the figures of the workers sum to the figures of the step.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StepFigures {
    /// Its number in the run, from 0.
    pub index: u32,
    /// The plan it belongs to.
    pub plan: String,
    /// How sentences call it: its settings, with its plan where the run has several.
    pub name: String,
    /// What the sweep settled, in the order of its axes.
    pub settings: Vec<(String, String)>,
    /// Which repetition of these settings, from 0.
    pub repetition: u32,
    /// Which loops its workers ran.
    pub loops: Loops,
    /// Outstanding operations that the closed loops were allowed, summed over the workers.
    pub depth: u32,
    /// Operations a second that the open loops were asked for, summed over the workers.
    pub offered_iops: f64,
    /// Operations a second that the open loops did.
    pub open_iops: f64,
    /// The measured time that was planned, in nanoseconds.
    pub planned_ns: u64,
    /// The measured time that any worker reported: what every rate of the step divides by.
    pub measured_ns: u64,
    /// What of the step counts neither for nor against anything, because Wirespeed itself did not run.
    pub void: Vec<VoidTime>,
    /// All workers together.
    pub total: Figures,
    /// Each VM or target, in the order in which the step names them.
    pub groups: Vec<GroupFigures>,
    /// The generators' reports on themselves, summed; `None` without any.
    pub testimony: Option<Testimony>,
    /// Each worker's part of the expected measured intervals.
    pub completeness: Vec<Completeness>,
    /// Balance over the groups that were asked to do the same, for each such set of two or more.
    pub balance: Vec<Balance>,
    /// Whether the generator limited the step.
    pub generator: Generator,
    /// Whether the record agrees with itself.
    pub little: Little,
    /// (second half − first half) / mean of the throughput; `None` where nothing was done or a worker is missing.
    pub drift: Option<f64>,
    /// Whether the measured time was steady, by the plan's rule or SNIA's; `None` without work or with a worker
    /// missing.
    pub steady: Option<Steadiness>,
    /// How long the load was on before the measurement, and what ended that.
    pub warm_up: WarmUp,
    /// Whether a cache or the devices under the targets served, for each separable set of devices.
    pub served: Vec<Served>,
    /// What went through the ports of embedded arrays, against what they can carry.
    pub ports: Vec<PortLoad>,
    /// Whether the workers and each embedded array count the same.
    #[serde(rename = "stories")]
    pub counter_checks: Vec<CounterCheck>,
    /// What its network loads did, pair by pair.
    pub network: Vec<network::NetPair>,
    /// When the first and the last of its workers were done; `None` where nothing was.
    pub done: Option<Done>,
    /// The agents that carried it; `None` where they were all on the coordinator's machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agents: Option<StepAgents>,
    /// What limits it; `None` where nothing was issued to disks.
    pub attribution: Option<Attribution>,
    /// The hops of the lab in a step of network loads alone, whose limit stands with its pairs; else those of `attribution`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hops: Vec<HopLoad>,
    /// What was slowed after its measured time, and what that changed; `None` where its plan asks for no proof.
    pub proof: Option<StepProof>,
    /// Confidence intervals of its figures, where a simulation recorded them; of a job there are none.
    pub confidence: Vec<Confidence>,
    /// What the faults of its plan did, in the order of their moments.
    pub faults: Vec<FaultOutcome>,
    /// The phases of its job; empty where its loads do not end.
    pub job: Vec<JobPhase>,
    /// How long its job takes as a whole, and how much fits into the plan's window; `None` where it has no end.
    pub job_window: Option<JobWindow>,
}

/// A time that does not count, on the record's time base.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VoidTime {
    /// Its beginning, in nanoseconds.
    pub from_ns: u64,
    /// Its end, exclusive.
    pub to_ns: u64,
    /// Clocks leave it open whether all agents were under load; else a process of the run did not run.
    pub clocks: bool,
}

/// What some workers did in the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Figures {
    /// Reads.
    pub read: IoFigures,
    /// Writes.
    pub write: IoFigures,
    /// Both; latencies are of the merged histogram.
    pub both: IoFigures,
    /// Operations that move no data, which are in none of the above.
    #[serde(skip_serializing_if = "OtherFigures::is_empty")]
    pub others: OtherFigures,
    /// Transactions a second, where the workload has them.
    pub transactions_per_s: Option<f64>,
    /// Mean operations in flight, where the generators testify.
    pub in_flight: Option<f64>,
}

/// Operations that move no data. Bytes are those of their ranges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OtherFigures {
    /// Trims: TRIM, UNMAP, discards, punched holes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trim: Option<IoFigures>,
    /// Zeroes written without their data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub zeroes: Option<IoFigures>,
    /// Flushes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flush: Option<IoFigures>,
}

impl OtherFigures {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.each().next().is_none()
    }

    /// Those that there are, each with its name.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, &IoFigures)> {
        let all = [("trim", &self.trim), ("zeroes", &self.zeroes), ("flush", &self.flush)];
        all.into_iter().filter_map(|(name, figures)| Some((name, figures.as_ref()?)))
    }
}

/// One VM or target.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupFigures {
    /// Its name.
    pub group: String,
    /// The workloads that its workers ran.
    pub workloads: Vec<String>,
    /// What they did.
    pub figures: Figures,
    /// Whether all its workers reported the whole measured time.
    pub complete: bool,
}

/// How much of the measured time one worker reported.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Completeness {
    /// The worker.
    pub worker: String,
    /// The VM or target that it works for.
    pub group: String,
    /// The agent that carried it.
    pub agent: String,
    /// Covered part of the planned measured time, 0 to 1.
    pub share: f64,
}

/// Which loops the workers of a step ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Loops {
    /// Closed ones only: latency is service time, and a stalled device stalls its load.
    Closed,
    /// Open ones only: response time counts from the moment an operation was due.
    Open,
    /// Both.
    Mixed,
    /// Issued by others: nothing is known of what they wait for.
    Observed,
}

/// What the open loops of a step did.
fn open_iops(step: &StepData) -> f64 {
    let open = |worker: &WorkerData| matches!(worker.load.arrivals, Loop::Open { .. });
    Pool::of(step, open).map_or(0.0, |pool| Figures::of(&pool).both.iops)
}

impl StepFigures {
    /// The figures of a step; `null` is whether all its targets complete at once, `events` are those of the run.
    pub(crate) fn of(step: &StepData, null: bool, rule: &Steady, events: &[Event]) -> StepFigures {
        let groups = groups(step);
        let (mut depth, mut offered) = (0_u32, 0.0);
        for worker in &step.workers {
            match worker.load.arrivals {
                Loop::Closed { depth: d, .. } => depth = depth.saturating_add(d),
                Loop::Open { rate } => offered += rate,
                Loop::Observed => {}
            }
        }
        let is_observed = loops(&step.workers) == Loops::Observed;
        let pool = Pool::of(step, |_| true).unwrap_or_else(|| Pool::empty(step.span));
        StepFigures {
            index: step.head.index,
            plan: step.head.plan.clone(),
            name: label(&step.head.plan, &step.head.settings, step.head.repetition),
            settings: step.head.settings.clone(),
            repetition: step.head.repetition,
            loops: loops(&step.workers),
            depth,
            offered_iops: offered,
            open_iops: open_iops(step),
            planned_ns: step.head.times.measured().0,
            measured_ns: step.span.0,
            void: step
                .voids
                .spans()
                .iter()
                .map(|&(a, b)| VoidTime {
                    from_ns: a.0,
                    to_ns: b.0,
                    clocks: step.voids.at_edges(a, b),
                })
                .collect(),
            total: Figures::of(&pool),
            balance: balances(&groups),
            groups,
            testimony: pool.testimony,
            completeness: step.workers.iter().map(|w| completeness(step, w)).collect(),
            generator: generator::judge(
                step,
                null,
                step.integrals.total(CounterId::CpuPolled) / 1e9,
            ),
            little: little::check(step),
            drift: drift(step).filter(|_| !is_observed),
            // What others issue is under no obligation to be steady.
            steady: steady::steadiness(step, rule).filter(|_| !is_observed),
            warm_up: WarmUp::of(step, events),
            served: Vec::new(),
            ports: Vec::new(),
            counter_checks: Vec::new(),
            network: step.pairs.clone(),
            done: done::done(step).filter(|_| !is_observed),
            agents: None,
            attribution: None,
            hops: Vec::new(),
            confidence: Vec::new(),
            faults: Vec::new(),
            job: Vec::new(),
            job_window: None,
            proof: None,
        }
    }

    /// Whether it is a job of copies, or of loads that wait for each other: its figures over the whole time mean little.
    pub fn is_job(&self) -> bool {
        self.job.iter().any(|phase| phase.copies || !phase.after.is_empty())
    }

    /// Whether it is a test of a generator whose results were read: of its loads and hops other tests know nothing.
    pub(crate) fn is_test(&self) -> bool {
        let first = self.settings.first();
        self.loops == Loops::Observed && first.is_some_and(|(setting, _)| setting == "test")
    }

    /// Whether some of its loads end; then it has no steady state.
    pub fn ends(&self) -> bool {
        !self.job.is_empty()
    }

    /// Whether all that the step announced, workers and both ends of streams, reported the whole measured time.
    pub fn complete(&self) -> bool {
        let announced = self.has_storage() || self.has_network();
        let streams = self.network.iter().all(|pair| pair.complete);
        announced && streams && self.completeness.iter().all(Completeness::is_full)
    }

    /// Whether nothing of the measured time counts.
    pub fn all_void(&self) -> bool {
        self.measured_ns == 0 && !self.void.is_empty()
    }

    /// Whether anything was issued to disks. A step of network loads alone has zeros for storage figures.
    pub fn has_storage(&self) -> bool {
        !self.completeness.is_empty()
    }

    /// Whether anything was carried over networks.
    pub fn has_network(&self) -> bool {
        !self.network.is_empty()
    }

    /// Whether it is of network loads alone.
    pub fn network_only(&self) -> bool {
        self.has_network() && !self.has_storage()
    }

    /// Half the interval of confidence of its operations a second, as a share of them; `None` where there is none.
    pub fn uncertainty(&self) -> Option<f64> {
        let iops = self.confidence.iter().find(|one| one.figure == "iops")?;
        (self.total.both.iops > 0.0).then(|| iops.half() / self.total.both.iops)
    }

    /// How sentences call it: `block 8KiB, depth 32`, with the repetition from the second on, and before that the plan where
    /// the run has several; the plan's name when nothing was settled, or `the step` when the plan has none.
    pub fn label(&self) -> String {
        self.name.clone()
    }

    /// The same without the plan, for tables of one plan.
    pub fn settings_label(&self) -> String {
        label(&self.plan, &self.settings, self.repetition)
    }
}

/// Puts the plan before the settings in the names of steps, where there are several plans.
pub(crate) fn name(steps: &mut [StepFigures]) {
    let several = steps.windows(2).any(|pair| pair[0].plan != pair[1].plan);
    let swept = |step: &&mut StepFigures| several && !step.settings.is_empty();
    for step in steps.iter_mut().filter(swept) {
        step.name = format!("{}, {}", step.plan, step.name);
    }
}

/// How a step is called in sentences.
pub(crate) fn label(plan: &str, settings: &[(String, String)], repetition: u32) -> String {
    let mut text = settings.iter().map(|(k, v)| format!("{k} {v}")).collect::<Vec<_>>().join(", ");
    if text.is_empty() {
        text = if plan == Plan::UNNAMED { "the step".to_owned() } else { plan.to_owned() };
    }
    if repetition > 0 {
        text.push_str(&format!(" (run {})", u64::from(repetition) + 1));
    }
    text
}

impl Completeness {
    /// Whether the worker reported the whole measured time.
    pub fn is_full(&self) -> bool {
        self.share >= COMPLETE_SHARE
    }
}

impl Figures {
    pub(crate) fn of(pool: &Pool) -> Figures {
        let of = |kind: usize| pool.others[kind].as_ref().map(|tally| pool.flow(tally, 0));
        Figures {
            read: pool.flow(&pool.read, pool.untimed[0]),
            write: pool.flow(&pool.write, pool.untimed[1]),
            both: pool.flow(&pool.both(), pool.untimed.iter().sum()),
            others: OtherFigures { trim: of(0), zeroes: of(1), flush: of(2) },
            transactions_per_s: pool.transactions_per_s,
            in_flight: pool.in_flight,
        }
    }
}

fn groups(step: &StepData) -> Vec<GroupFigures> {
    let mut names: Vec<&str> = Vec::new();
    for w in &step.workers {
        if !names.contains(&w.source.group.as_str()) {
            names.push(&w.source.group);
        }
    }
    names.into_iter().filter_map(|name| group(step, name)).collect()
}

fn group(step: &StepData, name: &str) -> Option<GroupFigures> {
    let members = || step.workers.iter().filter(|w| w.source.group == name);
    let mut workloads: Vec<String> = members().map(|w| w.load.workload.clone()).collect();
    workloads.sort();
    workloads.dedup();
    Some(GroupFigures {
        group: name.to_owned(),
        workloads,
        figures: Figures::of(&Pool::of(step, |w| w.source.group == name)?),
        complete: members().all(|w| completeness(step, w).is_full()),
    })
}

/// Readers and writers are not expected to be even: only groups with the same workloads are compared.
fn balances(groups: &[GroupFigures]) -> Vec<Balance> {
    let mut kinds: Vec<&[String]> = Vec::new();
    for g in groups {
        if !kinds.contains(&g.workloads.as_slice()) {
            kinds.push(&g.workloads);
        }
    }
    kinds
        .into_iter()
        .filter_map(|kind| {
            let rates: Vec<(String, f64)> = groups
                .iter()
                .filter(|g| g.workloads == kind)
                .map(|g| (g.group.clone(), g.figures.both.bytes_per_s))
                .collect();
            balance(kind.to_vec(), &rates)
        })
        .collect()
}

fn completeness(step: &StepData, worker: &WorkerData) -> Completeness {
    Completeness {
        worker: worker.source.name.clone(),
        group: worker.source.group.clone(),
        agent: worker.source.agent.clone(),
        share: step.completeness(worker),
    }
}

fn loops(workers: &[WorkerData]) -> Loops {
    let open = workers.iter().filter(|w| matches!(w.load.arrivals, Loop::Open { .. })).count();
    match open {
        0 if workers.iter().any(|w| w.load.arrivals == Loop::Observed) => Loops::Observed,
        0 => Loops::Closed,
        n if n == workers.len() => Loops::Open,
        _ => Loops::Mixed,
    }
}

/// Steady state in its simplest form: the two halves of the measured time compared. Where a worker is missing, the halves
/// differ by its absence, so there is nothing to compare.
fn drift(step: &StepData) -> Option<f64> {
    let whole = step.voids.is_empty()
        && step.workers.iter().all(|w| step.completeness(w) >= COMPLETE_SHARE);
    let sum = |half: usize| step.workers.iter().map(|w| w.halves[half]).sum::<f64>();
    let (first, second) = (sum(0), sum(1));
    (whole && first + second > 0.0).then(|| (second - first) / ((first + second) / 2.0))
}
