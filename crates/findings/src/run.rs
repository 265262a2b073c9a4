//! What a record says of the run as a whole, and how the run came out.

use crate::figures::StepFigures;
use crate::goals::{GoalOutcome, Status};
use crate::verification::Verification;
use record::{Event, Fact, ProducerKind, Record};
use scenario::{Backing, Scenario};
use serde::Serialize;

/// The event with which a coordinator says that an agent is gone.
const AGENT_LOST: &str = "agent-lost";
/// The event with which an engine says that a worker's operations did not come back.
const NOTHING_COMPLETED: &str = "nothing-completed";

/// The run: its question, its maker, its end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    /// The scenario's title.
    pub title: String,
    /// The publisher of the experiment, if the scenario names one.
    pub source: Option<String>,
    /// What made the record: `wirespeed run`, `wirespeed simulate`, …
    pub producer: String,
    /// Whether it was simulated or estimated on a model of the lab, and nothing was measured.
    pub simulated: bool,
    /// Whether it was estimated: means that follow from the model, without a simulation. Then it is `simulated`, too.
    pub estimated: bool,
    /// Figures that were not given and that the model assumed.
    pub assumed: u32,
    /// The scenario's file name.
    pub scenario: String,
    /// Why the scenario inside the record could not be read.
    pub scenario_error: Option<String>,
    /// How the run ended.
    pub end: record::Status,
    /// Its beginning in nanoseconds since the Unix epoch.
    pub wall_ns: u64,
    /// Seed of all random streams.
    pub seed: u64,
    /// Steps of the plan; of a search those taken, and one more if it did not end. `None` if the scenario is
    /// unreadable.
    pub steps_planned: Option<u32>,
    /// Steps that the record holds.
    pub steps_recorded: u32,
    /// Agents that were lost.
    pub agents_lost: u32,
    /// Workers whose target completed nothing in the measured time of a step without faults.
    pub idle_workers: u32,
    /// Steps of whose measured time nothing counts, because Wirespeed itself did not run.
    pub void_steps: u32,
    /// Provenance.
    pub facts: Vec<Fact>,
}

/// How the run came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Verdict {
    /// All goals are met.
    Met {
        /// How many.
        met: usize,
    },
    /// At least one goal failed.
    Failed {
        /// Goals met.
        met: usize,
        /// Goals failed.
        failed: usize,
        /// Goals undecided.
        undecided: usize,
    },
    /// Data was read that is not what was written, whatever the goals.
    Wrong {
        /// Blocks that were wrong.
        blocks: u64,
        /// Goals met.
        met: usize,
        /// Goals failed.
        failed: usize,
        /// Goals undecided.
        undecided: usize,
    },
    /// No goal failed, but it is not known whether all are met.
    Undecided {
        /// Goals met.
        met: usize,
        /// Goals undecided; 0 where the scenario could not be read.
        undecided: usize,
    },
    /// The scenario has no goals.
    NoGoals,
    /// The run was not completed, whatever its goals.
    Incomplete {
        /// Goals met by what there is.
        met: usize,
        /// Goals failed.
        failed: usize,
        /// Goals undecided.
        undecided: usize,
    },
}

impl RunSummary {
    /// What a record says of its run.
    pub(crate) fn of(
        record: &Record,
        scenario: Result<&Scenario, &str>,
        steps_planned: Option<u32>,
        steps: &[StepFigures],
    ) -> RunSummary {
        let head = record.head();
        let lost = |e: &&Event| e.code == AGENT_LOST;
        let of = |e: &Event| steps.iter().find(|s| Some(s.index) == e.step);
        let idle = |e: &&Event| {
            let excused = |s: &StepFigures| !s.faults.is_empty() || !s.void.is_empty();
            e.code == NOTHING_COMPLETED && !of(e).is_some_and(excused)
        };
        let events = |of: &dyn Fn(&&Event) -> bool| {
            u32::try_from(record.events().iter().filter(of).count()).unwrap_or(u32::MAX)
        };
        RunSummary {
            title: head.title.clone(),
            source: scenario.ok().and_then(|s| s.head.source.clone()),
            producer: head.producer.name.clone(),
            simulated: head.producer.is_model(),
            estimated: head.producer.kind == ProducerKind::Estimated,
            assumed: u32::try_from(record.facts().iter().filter(|f| is_assumed(f)).count())
                .unwrap_or(u32::MAX),
            scenario: head.scenario.name.clone(),
            scenario_error: scenario.err().filter(|why| !why.is_empty()).map(str::to_owned),
            end: record.status(),
            wall_ns: head.wall_ns,
            seed: head.seed,
            steps_planned,
            steps_recorded: u32::try_from(record.steps().len()).unwrap_or(u32::MAX),
            agents_lost: events(&lost),
            idle_workers: events(&idle),
            void_steps: steps.iter().filter(|s| s.all_void()).count() as u32,
            facts: record.facts().to_vec(),
        }
    }

    /// How the run fell short of its plan, as the rest of a sentence that begins with "the run"; `None` when it did not.
    pub fn incomplete(&self) -> Option<&'static str> {
        match self.end {
            record::Status::Running => {
                Some("did not end properly (it was killed, or is still going on)")
            }
            record::Status::Stopped => Some("was stopped early"),
            record::Status::Failed => Some("failed"),
            record::Status::Complete if self.agents_lost > 0 => Some("lost an agent"),
            record::Status::Complete if self.idle_workers > 0 => {
                Some("had a target that completed nothing in the measured time")
            }
            record::Status::Complete if self.void_steps > 0 => {
                Some("did not itself run in the measured time of a step")
            }
            record::Status::Complete
                if self.steps_planned.is_some_and(|n| n > self.steps_recorded) =>
            {
                Some("left out steps of its plan")
            }
            record::Status::Complete => None,
        }
    }
}

impl Verdict {
    pub(crate) fn of(
        run: &RunSummary,
        goals: &[GoalOutcome],
        verification: Option<&Verification>,
    ) -> Verdict {
        let blocks = verification.map_or(0, |v| v.wrong);
        let count = |status| goals.iter().filter(|g| g.status == status).count();
        let (met, failed, undecided) =
            (count(Status::Met), count(Status::Failed), count(Status::Undecided));
        match () {
            () if run.incomplete().is_some() => Verdict::Incomplete { met, failed, undecided },
            () if blocks > 0 => Verdict::Wrong { blocks, met, failed, undecided },
            () if failed > 0 => Verdict::Failed { met, failed, undecided },
            () if undecided > 0 || run.scenario_error.is_some() => {
                Verdict::Undecided { met, undecided }
            }
            () if goals.is_empty() => Verdict::NoGoals,
            () => Verdict::Met { met },
        }
    }

    /// The exit code that the command line promises: 0 all goals met (or none set), 1 a goal failed or is undecided, or
    /// data was wrong, 3 the run could not be completed.
    pub fn exit_code(&self) -> u8 {
        match self {
            Verdict::Met { .. } | Verdict::NoGoals => 0,
            Verdict::Failed { .. } | Verdict::Wrong { .. } | Verdict::Undecided { .. } => 1,
            Verdict::Incomplete { .. } => 3,
        }
    }
}

/// A figure of the lab that was assumed.
fn is_assumed(fact: &Fact) -> bool {
    fact.key.starts_with("assumed/")
}

/// VMs and targets behind which there is nothing but `null:`.
pub(crate) fn null_groups(scenario: &Scenario) -> Vec<&str> {
    let null = |name: &str| scenario.lab.targets.iter().any(|t| t.name == name && t.is_null());
    let targets = scenario.lab.targets.iter().map(|t| t.name.as_str()).filter(|n| null(n));
    let vms = scenario.lab.vms.iter().filter(|vm| {
        let on_null = |d: &scenario::VmDisk| matches!(&d.backing, Backing::Target(t) if null(t));
        !vm.disks.is_empty() && vm.disks.iter().all(on_null)
    });
    targets.chain(vms.map(|vm| vm.name.as_str())).collect()
}
