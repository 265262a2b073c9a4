//! Findings: statements derived from a record, with the numbers that prove them.
//!
//! [`analyse`] is a pure function of a record; the scenario is the one inside it. It never asks where a record came
//! from: a measured one and a simulated one are judged alike. Percentiles are read off merged histograms only, nothing
//! that is missing passes, and every threshold is a named constant explained in `docs/review.md`. `review` renders.

#![forbid(unsafe_code)]

mod agents;
pub mod attribution;
mod balance;
mod cached;
mod claims;
pub mod comparison;
mod confidence;
mod content;
mod counters;
mod done;
pub mod evidence;
mod fabric;
mod faults;
mod figures;
mod gain;
pub mod generator;
mod goals;
mod headroom;
mod hop_signs;
mod hung_io;
mod jobs;
pub use scenario::knee;
mod counter_check;
pub mod little;
pub mod map;
mod media;
mod monitoring;
pub mod network;
mod other_programs;
mod plan_answers;
mod plan_comparison;
mod plan_limits;
mod pool;
mod port_names;
mod ports;
mod projection;
mod proof;
mod quantity;
mod ratio;
mod rounding;
mod run;
mod samples;
mod scaled;
#[cfg(feature = "schema")]
mod schema;
mod scope;
mod searches;
mod select;
mod served;
pub mod statistics;
mod steady;
mod step;
mod sweep;
mod sweep_end;
mod verification;
pub mod warnings;
mod wires;

pub use agents::{AgentClock, AgentFigures, StepAgents};
pub use attribution::{Attribution, HopLoad, Limiter};
pub use balance::{Balance, Share, balance};
pub use claims::{
    ClaimOutcome, ClaimSummary, ClaimUse, Frames, PointOutcome, ReadingOutcome, Score,
    ShapeOutcome, is_allowed,
};
pub use comparison::{CompareError, Comparison, compare};
pub use confidence::Confidence;
pub use content::{Content, POOR_SHARE, Proportion};
pub use counter_check::{ByteCounts, CounterCheck};
pub use done::{Done, Finish};
pub use evidence::{Evidence, evidence};
pub use faults::{FaultKind, FaultOutcome, FaultSpan, RECOVERED};
pub use figures::{Completeness, Figures, GroupFigures, Loops, OtherFigures, StepFigures};
pub use gain::PortGain;
pub use generator::Generator;
pub use goals::{GoalOutcome, Status};
pub use jobs::{JobPhase, JobWindow};
pub use little::Little;
pub use map::LabMap;
pub use monitoring::MonitoringFinding;
pub use plan_answers::PlanAnswer;
pub use plan_comparison::{ComparedPlan, PlanComparison, generation as link_generation};
pub use plan_limits::{LimitRange, MissingCounter, PlanLimits};
pub use pool::{IoFigures, Latency};
pub use ports::{PortFlow, PortLoad, PortSpeed, SATURATED_FROM};
pub use projection::{
    Access, Carried, CarryLimit, Extrapolation, Footprint, Measured, ProfileFigure, Projection,
};
pub use proof::{Elasticity, LeftAlone, LeverName, Slowed, StepProof, elasticity};
pub use quantity::{Quantity, Unit};
pub use run::{RunSummary, Verdict};
pub use scaled::{Scaled, ScaledRate};
#[cfg(feature = "schema")]
pub use schema::schema;
pub use searches::{SearchEnd, SearchOutcome, SearchPoint};
pub use select::{same_key, selects};
pub use served::{CACHED_BELOW, MORE_ABOVE, Served, ServedBy, Traffic};
pub use steady::{LevelChange, LevelChangeKind, Moved, Steadiness, WarmUp, WarmUpEnd};
pub use sweep::Sweep;
pub use sweep_end::{Reached, SweepEnd, SweepLoad};
pub use verification::{Coverage, Faults, Verification};
pub use warnings::Warning;

use attribution::GatherAttribution;
use fabric::KnownFabric;
use hop_signs::HopSignsSeen;
use projection::Projector;
use record::{Record, RecordError};
use scenario::{Course, Project, Scenario, Step};
use searches::Seekers;
use serde::Serialize;
use served::Places;
use std::collections::BTreeSet;
use step::StepData;
use thiserror::Error;

/// Version of an [`Analysis`]'s JSON. A field that goes or changes its meaning raises it; a new field does not.
pub const VERSION: u32 = 1;

/// Everything that a record shows, judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analysis {
    /// [`VERSION`]: raised when a field goes or changes its meaning.
    #[cfg_attr(feature = "schema", schemars(schema_with = "schema::version"))]
    pub version: u32,
    /// How the run came out.
    pub verdict: Verdict,
    /// The run as a whole.
    pub run: RunSummary,
    /// What targets held when they were first read, where it was looked at.
    pub contents: Vec<Content>,
    /// What verification found; `None` where nothing was verified.
    pub verification: Option<Verification>,
    /// Figures of every step, in the order of the run.
    pub steps: Vec<StepFigures>,
    /// Curves over the axes that are load, with their knees.
    pub sweeps: Vec<Sweep>,
    /// Where the sweeps over an amount of load end, in their order.
    pub sweep_ends: Vec<SweepEnd>,
    /// Plans of the same loads that differ in what carries them.
    pub plan_comparisons: Vec<PlanComparison>,
    /// What limits each plan over its sweep.
    pub plan_limits: Vec<PlanLimits>,
    /// What each of several plans does at its best, in the order of the run.
    pub plan_answers: Vec<PlanAnswer>,
    /// Arrays whose ports are slower than what they are named after, and why.
    pub scaled: Vec<Scaled>,
    /// What each speed of the ports brought over the next slower one, where a plan goes through several.
    pub port_gains: Vec<PortGain>,
    /// What steps of network loads show beside each other.
    pub network: network::Across,
    /// What the searches found, in the order of the plans.
    pub searches: Vec<SearchOutcome>,
    /// What had to hold, in the scenario's order.
    pub goals: Vec<GoalOutcome>,
    /// What was published, in the scenario's order.
    pub claims: Vec<ClaimOutcome>,
    /// How many of that came out how.
    pub claims_summary: ClaimSummary,
    /// How much of an application the steps carry: what the scenario asks for, then what the caller does.
    pub projections: Vec<Projection>,
    /// What to be careful about, the gravest first.
    pub warnings: Vec<Warning>,
    /// What the monitoring of an observed system shows besides its limits, window by window.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub monitoring: Vec<MonitoringFinding>,
    /// The lab and its connections, to be drawn; `None` where that is a single target.
    pub map: Option<LabMap>,
}

/// Why a record could not be analysed.
#[derive(Debug, Error)]
pub enum FindingsError {
    /// The record could not be read.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Analyses a record. A scenario that cannot be read leaves the figures and makes the verdict undecided.
/// # Errors
/// Only where the record cannot be read.
pub fn analyse(record: &Record) -> Result<Analysis, FindingsError> {
    analyse_for(record, &[])
}

/// The same, with applications that are projected besides those of the scenario.
/// # Errors
/// Only where the record cannot be read.
pub fn analyse_for(record: &Record, projects: &[Project]) -> Result<Analysis, FindingsError> {
    let text = &record.head().scenario;
    // What was observed was not planned: there is no scenario that could have mistakes.
    if text.text.is_empty() && record.head().producer.kind == record::ProducerKind::Imported {
        return judge(record, Err(""), projects);
    }
    let source = scenario::Source {
        name: text.name.clone(),
        text: text.text.clone(),
        overrides: text.overrides.clone(),
        ..scenario::Source::default()
    };
    match scenario::load(&source) {
        Ok(scenario) => judge(record, Ok(&scenario), projects),
        Err(mistakes) => judge(record, Err(&first_line(&mistakes.to_string())), projects),
    }
}

/// Judges a record. A lab that is described in part is no graph; then the map shows what counted.
fn judge(
    record: &Record,
    scenario: Result<&Scenario, &str>,
    projects: &[Project],
) -> Result<Analysis, FindingsError> {
    let (course, facts) = (scenario.map(Course::of).unwrap_or_default(), record.facts());
    let nulls = scenario.map(run::null_groups).unwrap_or_default();
    let (mut court, mut seekers) = (Court::of(scenario.ok(), facts), Seekers::new(&course));
    let places = Places::new(scenario.ok(), facts, record.sources());
    let asked = scenario.map(|s| &s.projects[..]).unwrap_or_default().iter().chain(projects);
    let (mut projector, mut signs) = (Projector::default(), HopSignsSeen::default());
    let (mut steps, mut verification) = (Vec::new(), None);
    let (mut fabric, mut attributed) = (KnownFabric::of(record), GatherAttribution::of(record));
    for head in record.steps() {
        let planned = course.step(head.index, &head.plan, &head.settings, head.repetition);
        let random = planned.as_ref().and_then(Step::random_percent);
        let rule = planned.as_ref().and_then(|p| p.steady).unwrap_or(steady::RULE);
        let mut step = StepData::read(record, head.clone(), record.sources(), &rule)?;
        let known = scenario.ok().zip(planned.as_ref());
        equip(&mut step, known, record);
        let mut figures = figured(record, &step, &rule, (&nulls, &places))?;
        planned.iter().try_for_each(|planned| results(record, head, planned, &mut figures))?;
        attributed.see(&step, &figures, record.sources(), facts);
        signs.see(&step, &figures, (facts, record.sources()));
        known.into_iter().for_each(|known| signs.media.see(record, &step, known));
        known.into_iter().for_each(|k| fabric.see(&step, k, &mut figures, facts));
        projector.see(&step, &figures, random, projection::footprint(known));
        steps.push(figures);
        Verification::see(&mut verification, &step.counters);
        court.see(&step);
        seekers.see(&step);
    }
    attributed.finish(&mut steps);
    figures::name(&mut steps);
    let planned = scenario.map(Scenario::steps).unwrap_or_default();
    missed(&planned, &steps).into_iter().for_each(|step| court.missed(step));
    let (searches, run) = concluded(record, scenario, (seekers, planned.len()), &steps);
    let (sweeps, contents) = (curves(&steps, &course), content::contents(facts));
    Verification::add_events(&mut verification, record.events());
    let (scaled, port_gains) = fabric.finish(&steps);
    let topology = scenario.ok().and_then(|s| s.topology().ok());
    let (goals, claims) = court.finish(&steps);
    let monitoring = monitoring::findings(&signs.windows, &steps);
    let limits = plan_limits::plan_limits(&steps, record.sources());
    let (events, signs) = (port_names::events(record.events(), facts), signs.warnings(&steps));
    Ok(Analysis {
        version: VERSION,
        verdict: Verdict::of(&run, &goals, verification.as_ref()),
        sweep_ends: sweep_end::ends(scenario.ok(), &sweeps, &steps),
        sweeps,
        plan_comparisons: compared(scenario.ok(), topology.as_ref(), &steps),
        plan_answers: plan_answers::plan_answers(&steps, &limits),
        plan_limits: limits,
        monitoring,
        scaled,
        port_gains,
        network: network::across(&steps),
        searches,
        warnings: warnings::warnings(&run, &steps, (&events, &contents, facts), signs),
        contents,
        verification,
        goals,
        projections: asked.map(|project| projector.project(project)).collect(),
        claims_summary: ClaimSummary::of(&claims),
        claims,
        map: mapped(record, scenario.ok(), topology.as_ref(), &steps),
        run,
        steps,
    })
}

/// What the searches found, and the run as a whole: how many steps there are is known once the searches are over.
fn concluded(
    record: &Record,
    scenario: Result<&Scenario, &str>,
    (seekers, planned): (Seekers<'_>, usize),
    steps: &[StepFigures],
) -> (Vec<SearchOutcome>, RunSummary) {
    let searches = seekers.finish(record.status(), steps);
    let count = scenario.ok().map(|_| searches::steps_planned(planned, &searches));
    let run = RunSummary::of(record, scenario, count, steps);
    (searches, run)
}

/// The map of a record.
fn mapped(
    record: &Record,
    scenario: Option<&Scenario>,
    topology: Option<&scenario::topology::Topology>,
    steps: &[StepFigures],
) -> Option<map::LabMap> {
    let map = map::lab_map(scenario, topology, record.sources(), record.facts(), steps)?;
    Some(if record.head().producer.is_model() { map::of_model(map, steps) } else { map })
}

/// All goals and claims of a scenario, before which its steps come one by one.
struct Court<'a> {
    goals: Vec<goals::GoalJudge<'a>>,
    claims: Vec<claims::ClaimJudge<'a>>,
}

impl<'a> Court<'a> {
    fn of(scenario: Option<&'a Scenario>, facts: &'a [record::Fact]) -> Court<'a> {
        let goals = scenario.map(|s| &s.goals[..]).unwrap_or_default();
        let claims = scenario.map(|s| &s.claims[..]).unwrap_or_default();
        Court {
            goals: goals.iter().map(|goal| goals::GoalJudge::new(goal, facts)).collect(),
            claims: claims.iter().map(|claim| claims::ClaimJudge::new(claim, facts)).collect(),
        }
    }

    fn see(&mut self, step: &StepData) {
        self.goals.iter_mut().for_each(|goal| goal.see(step));
        self.claims.iter_mut().for_each(|claim| claim.see(step));
    }

    fn missed(&mut self, step: &Step) {
        self.goals.iter_mut().for_each(|goal| goal.missed(step));
        self.claims.iter_mut().for_each(|claim| claim.missed(step));
    }

    /// The outcomes; the deciding steps have the names that they have everywhere, with their plan where there are several.
    fn finish(self, steps: &[StepFigures]) -> (Vec<GoalOutcome>, Vec<ClaimOutcome>) {
        let named = |judge: goals::GoalJudge<'_>| {
            let mut goal = judge.finish();
            let decided = steps.iter().find(|step| Some(step.index) == goal.step_index);
            goal.step = decided.map(|step| step.name.clone()).or(goal.step);
            goal
        };
        let claims = self.claims.into_iter().map(claims::ClaimJudge::finish);
        (self.goals.into_iter().map(named).collect(), claims.collect())
    }
}

/// Gives a step what the scenario says of it: its ports, and the wires and loads of its networks.
fn equip(step: &mut StepData, known: Option<(&Scenario, &Step)>, record: &Record) {
    known.into_iter().for_each(|known| fabric::equip(step, known));
    let planned = known.map(network::PlannedLoads::of).unwrap_or_default();
    step.pairs = network::pairs(step, &planned, record.facts(), record.sources());
}

/// The sweeps that are worth a curve.
fn curves(steps: &[StepFigures], course: &Course) -> Vec<Sweep> {
    let mut sweeps = sweep::sweeps(steps);
    sweeps.retain(|sweep| searches::is_curve(sweep, course));
    sweeps
}

/// Plans of the same loads beside each other; none without a scenario.
fn compared(
    scenario: Option<&Scenario>,
    topology: Option<&scenario::topology::Topology>,
    steps: &[StepFigures],
) -> Vec<PlanComparison> {
    scenario.map(|s| plan_comparison::comparisons(s, topology, steps)).unwrap_or_default()
}

/// The figures of a step, before anything of the scenario is applied.
fn figured(
    record: &Record,
    step: &StepData,
    rule: &scenario::Steady,
    (nulls, places): (&[&str], &Places<'_>),
) -> Result<StepFigures, RecordError> {
    let null = step.is_on_nothing_but(nulls);
    let mut figures = StepFigures::of(step, null, rule, record.events());
    figures.confidence = Confidence::of(record, step.head.index);
    figures.served = served::served(step, places);
    figures.agents = agents::agents(step, record.facts(), record.sources());
    figures.proof = proof::of_step(record, &step.head)?;
    Ok(figures)
}

/// What faults did in a step, and the phases of its job. Neither has a steady state, and a job no confidence in a mean.
fn results(
    record: &Record,
    head: &record::StepHead,
    planned: &Step,
    figures: &mut StepFigures,
) -> Result<(), RecordError> {
    figures.faults = faults::outcomes(record, head, planned)?;
    figures.job = jobs::phases(record, head, planned)?;
    figures.job_window = jobs::window(&figures.job, planned);
    if figures.ends() || !figures.faults.is_empty() {
        figures.steady = None;
        figures.drift = None;
    }
    if figures.ends() {
        figures.done = None;
        figures.confidence.clear();
    }
    Ok(())
}

/// Steps of the plan that were not run.
fn missed<'a>(planned: &'a [Step], steps: &[StepFigures]) -> Vec<&'a Step> {
    let run: BTreeSet<_> = steps.iter().map(|s| (&s.plan, &s.settings, s.repetition)).collect();
    planned.iter().filter(|p| !run.contains(&(&p.plan, &p.settings, p.repetition))).collect()
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}
