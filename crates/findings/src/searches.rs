//! What the searches of a run found: the rule of [`scenario::search`] applied once more, to what the record holds.

use crate::generator::Limit;
use crate::knee::Answer;
use crate::pool::Pool;
use crate::quantity::{Quantity, Unit};
use crate::step::{COMPLETE_SHARE, StepData};
use crate::{StepFigures, Sweep};
use record::{Completed, Loop, Status};
use scenario::search::{
    DirectionSums, Search, SearchAnswer, SearchNext, SearchStop, Seen, StepSums, Tried,
};
use scenario::{Course, Hunt, Metric};
use serde::Serialize;

/// A search with its answer, its bracket, and why it stopped.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchOutcome {
    /// The plan.
    pub plan: String,
    /// The setting that was searched.
    pub over: String,
    /// What the sweep had settled besides.
    pub fixed: Vec<(String, String)>,
    /// What was looked for, in words.
    pub question: String,
    /// How it ended.
    pub end: SearchEnd,
    /// Whether there is an answer with both its ends.
    pub bracketed: bool,
    /// The answer, or why there is none, in a sentence with its figures, without its full stop.
    pub answer: String,
    /// Why it stopped, as a clause.
    pub reason: String,
    /// The point with the most work within the limit, or the knee.
    pub best: Option<SearchPoint>,
    /// The largest load that held, below every load that did not; or the first that could be the knee within error.
    pub lower: Option<SearchPoint>,
    /// The least load that did not hold; or the last that could be the knee within error.
    pub upper: Option<SearchPoint>,
    /// Loads above `upper` that held all the same: the response is not monotone.
    pub irregular: Vec<String>,
    /// What the curve says of its knee, where that was looked for.
    pub knee: Option<Answer>,
    /// Every load that was tried, in ascending order.
    pub points: Vec<SearchPoint>,
    /// Its steps, in the order in which they ran.
    pub steps: Vec<u32>,
    /// Steps that it could have taken.
    pub steps_max: u32,
    /// Steps at the answer and the ends of its bracket that the generator limited: the answer is then its own.
    pub generator_limited: Vec<u32>,
    /// Whether the record's steps are those of the rule. Where not, the answer rests on the steps that there are.
    pub as_the_rule_asks: bool,
}

/// How a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SearchEnd {
    /// The limit holds at one load and not at its neighbour, each by a majority of its runs.
    Bracketed,
    /// The limit still held at the end of the range.
    NeverViolated,
    /// The limit was violated at the first load.
    NeverHeld,
    /// The knee was looked at closely enough.
    Knee,
    /// No knee was found up to the end of the range.
    NoKnee,
    /// It ran as many steps as it may.
    StepsSpent,
    /// A step's figures are not those of its whole load.
    Incomplete,
    /// The run ended before it.
    Unfinished,
}

/// A load that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SearchPoint {
    /// The setting as it is shown (`"8KiB"`).
    pub value: String,
    /// The same as a number.
    pub load: f64,
    /// How often it was run.
    pub runs: u32,
    /// Runs in which the limit held; all of them where the knee was looked for.
    pub held: u32,
    /// Work of every run.
    pub work: Vec<Quantity>,
    /// The figure of each limit over the runs: least and largest; `null` where a run had no such figure.
    pub readings: Vec<Option<(Quantity, Quantity)>>,
    /// The least share of the load that was there, 0 to 1.
    pub carried: f64,
}

/// Judges a search step by step.
pub(crate) struct Seeker<'a> {
    hunt: &'a Hunt,
    seen: Vec<Seen>,
    steps: Vec<u32>,
    as_the_rule_asks: bool,
}

/// The searches of a run.
pub(crate) struct Seekers<'a>(Vec<Seeker<'a>>);

impl<'a> Seekers<'a> {
    pub fn new(course: &'a Course) -> Seekers<'a> {
        let seeker = |hunt| Seeker { hunt, seen: vec![], steps: vec![], as_the_rule_asks: true };
        Seekers(course.hunts().map(seeker).collect())
    }

    /// Takes in a step, if it is one of a search.
    pub fn see(&mut self, step: &StepData) {
        let head = &step.head;
        for seeker in &mut self.0 {
            if let Some(load) = seeker.hunt.load_of(&head.plan, &head.settings) {
                return seeker.see(step, load);
            }
        }
    }

    /// Closes the searches of a run that ended so.
    pub fn finish(self, end: Status, steps: &[StepFigures]) -> Vec<SearchOutcome> {
        self.0.into_iter().map(|seeker| seeker.finish(end, steps)).collect()
    }
}

impl Seeker<'_> {
    fn see(&mut self, step: &StepData, load: f64) {
        let search = &self.hunt.search;
        let asked = match search.next(&self.seen) {
            SearchNext::Run { load, repetition, .. } => Some((load, repetition)),
            SearchNext::Stop(_) => None,
        };
        self.as_the_rule_asks &= asked == Some((load, step.head.repetition));
        let planned = self.hunt.step(step.head.index, load, step.head.repetition, false);
        self.seen.push(seen(search, step, load, planned.depth_asked()));
        self.steps.push(step.head.index);
    }

    fn finish(mut self, end: Status, steps: &[StepFigures]) -> SearchOutcome {
        let Hunt { search, base } = self.hunt;
        // What the end of the run cut off is not a step that the search has seen.
        if end != Status::Complete && self.seen.last().is_some_and(|last| !last.complete) {
            self.seen.pop();
        }
        let found = search.so_far(&self.seen);
        let points = |one: &Option<Tried>| one.as_ref().map(|one| point(search, one));
        SearchOutcome {
            plan: base.plan.clone(),
            over: search.key.clone(),
            fixed: base.settings.clone(),
            question: search.question(),
            end: end_of(&found),
            bracketed: found.is_bracketed(),
            answer: search.answer(&found),
            reason: search.reason(&found),
            best: points(&found.best),
            lower: points(&found.lower),
            upper: points(&found.upper),
            irregular: found.irregular.iter().map(|load| search.range.show(*load)).collect(),
            generator_limited: self.limited(&found, steps),
            points: found.tried.iter().map(|one| point(search, one)).collect(),
            knee: found.knee,
            steps: self.steps,
            steps_max: search.steps,
            as_the_rule_asks: self.as_the_rule_asks,
        }
    }

    /// Steps that the answer rests on and that the generator limited.
    fn limited(&self, found: &SearchAnswer, steps: &[StepFigures]) -> Vec<u32> {
        let decisive = [&found.best, &found.lower, &found.upper];
        let rests_on =
            |load: f64| decisive.iter().any(|one| one.as_ref().is_some_and(|one| one.load == load));
        let limited = |index: &u32| {
            let step = steps.iter().find(|step| step.index == *index);
            step.is_some_and(|s| matches!(s.generator.limit, Limit::Limited | Limit::OwnCost))
        };
        let loads = self.seen.iter().zip(&self.steps);
        loads
            .filter(|(seen, _)| rests_on(seen.load))
            .map(|(_, step)| *step)
            .filter(limited)
            .collect()
    }
}

/// Steps of a plan with searches: the known ones, those of its searches, and one for each that has not ended.
pub(crate) fn steps_planned(known: usize, searches: &[SearchOutcome]) -> u32 {
    let of = |search: &SearchOutcome| {
        search.steps.len() + usize::from(search.end == SearchEnd::Unfinished)
    };
    u32::try_from(known + searches.iter().map(of).sum::<usize>()).unwrap_or(u32::MAX)
}

/// Whether a curve is worth showing: with a search, only along its axis. Along others it leaves single points.
pub(crate) fn is_curve(sweep: &Sweep, course: &Course) -> bool {
    let mut hunts = course.hunts().filter(|hunt| hunt.base.plan == sweep.plan).peekable();
    hunts.peek().is_none() || hunts.any(|hunt| hunt.search.key == sweep.axis)
}

fn end_of(found: &SearchAnswer) -> SearchEnd {
    match found.end {
        None => SearchEnd::Unfinished,
        Some(SearchStop::Bracketed) => SearchEnd::Bracketed,
        Some(SearchStop::NeverViolated) => SearchEnd::NeverViolated,
        Some(SearchStop::NeverHeld) => SearchEnd::NeverHeld,
        Some(SearchStop::Knee) => SearchEnd::Knee,
        Some(SearchStop::NoKnee) => SearchEnd::NoKnee,
        Some(SearchStop::StepsSpent) => SearchEnd::StepsSpent,
        Some(SearchStop::Incomplete) => SearchEnd::Incomplete,
    }
}

fn point(search: &Search, one: &Tried) -> SearchPoint {
    let quantity = |metric: &Metric, value: f64| Quantity { value, unit: Unit::of(metric) };
    let work = search.metric();
    let readings = search.limits().iter().zip(&one.readings).map(|(limit, reading)| {
        reading.map(|(low, high)| (quantity(&limit.metric, low), quantity(&limit.metric, high)))
    });
    SearchPoint {
        value: search.range.show(one.load),
        load: one.load,
        runs: one.runs(),
        held: one.held,
        work: one.work.iter().map(|value| quantity(&work, *value)).collect(),
        readings: readings.collect(),
        carried: one.carried,
    }
}

/// A step of a record as the rule sees it. `campaign::Gauge` hands in the same sums, of the same intervals.
fn seen(search: &Search, step: &StepData, load: f64, depth_asked: f64) -> Seen {
    let pool = Pool::of(step, |_| true).unwrap_or_else(|| Pool::empty(step.span));
    let seconds = step.head.times.measured().as_secs_f64();
    let (mut due, mut done, mut depth_carried) = (0.0, 0.0, 0.0);
    for worker in &step.workers {
        match worker.load.arrivals {
            Loop::Closed { depth, .. } => depth_carried += f64::from(depth),
            Loop::Observed => {}
            Loop::Open { rate } => {
                due += rate * seconds;
                done += worker.ops() as f64;
            }
        }
    }
    let complete = !step.workers.is_empty()
        && step.workers.iter().all(|worker| step.completeness(worker) >= COMPLETE_SHARE);
    let latency = |point, response| pool.metric(&Metric::Latency { point, response });
    search.see(&StepSums {
        load,
        seconds,
        read: side(&pool.read),
        write: side(&pool.write),
        latency: &latency,
        open: pool.open_loop,
        due,
        done,
        depth_asked,
        depth_carried,
        complete,
    })
}

fn side(tally: &Completed) -> DirectionSums {
    DirectionSums { ops: tally.ops, bytes: tally.bytes, errors: tally.errors }
}
