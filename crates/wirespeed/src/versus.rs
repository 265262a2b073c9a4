//! Two scenarios in turns: `run --against`. Every step of side A is followed or preceded by the same step of side B, and
//! from round to round their order changes (A B, B A, A B, …), so that a slow drift of the machine falls on both alike
//! (the ABBA design, as in R. A. Fisher, *The Design of Experiments*, 1935).
//!
//! Each side has its own agent, which is idle while the other's turn lasts, and its own record. Both records carry facts of
//! the subject `comparison`: `group`, which is the same on both, and `side`. A step's repetition is its round.

use crate::cli::{AgentKind, ResultFormat, Results, Run};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::live;
use crate::out;
use crate::present;
use crate::progress::Display;
use crate::targets::{self, Asked};
use findings::Analysis;
use findings::comparison::Options;
use fleet::{Control, Coordinator, Limits, Outcome, Progress, RunError, Session, StepEnd};
use record::{Fact, Level, Record, RunHead, Status, Writer};
use scenario::{Scenario, Source, Stage, Step};
use serde_json::json;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Rounds unless given: two turns in either order.
const ROUNDS: u32 = 4;
/// Steps that a message lists before it counts the rest.
const LISTED_MAX: usize = 8;
/// The event with which a side's record says that the other ended the comparison.
const ENDED: &str = "comparison-ended";

/// One of the two.
struct Side {
    name: &'static str,
    source: Source,
    scenario: Scenario,
    stages: Vec<Stage>,
    out: PathBuf,
    targets: Vec<Asked>,
}

/// How the sides' runs ended.
struct Ended {
    a: Outcome,
    b: Outcome,
}

/// Runs both sides, and says how they came out.
pub fn run(args: &Run) -> Result<Exit, Failure> {
    let format = args.output.format.unwrap_or(ResultFormat::Text);
    if ![ResultFormat::Text, ResultFormat::Json].contains(&format) {
        return Err(Failure::usage(
            "two sides are printed as text or JSON; `wirespeed review RUN --format …` exports each of their records",
        ));
    }
    let (source_a, source_b) = sources(args)?;
    let (scenario_a, scenario_b) = (scenario::load(&source_a)?, scenario::load(&source_b)?);
    scenario_a.live()?;
    scenario_b.live()?;
    let most = |scenario: &Scenario| scenario.plans.iter().map(|plan| plan.repeat).max();
    let planned = most(&scenario_a).max(most(&scenario_b)).unwrap_or(1);
    let rounds = args.against.rounds.unwrap_or(ROUNDS.max(planned));
    let (out_a, out_b) = records(args.recording.out.as_deref(), &files::stem(&source_a.name))?;
    let a = Side::new("A", source_a, &scenario_a, rounds, out_a)?;
    let b = Side::new("B", source_b, &scenario_b, rounds, out_b)?;
    let turns = pair(&a.stages, &b.stages)?;
    let ended = take_turns(&a, &b, &turns, args.recording.agent, &args.output)?;
    conclude(&a, &b, &ended, format, args.output.quiet)
}

/// Side A, and side B with what is set on it besides.
fn sources(args: &Run) -> Result<(Source, Source), Failure> {
    let a = files::scenario_source(&args.scenario)?;
    let mut b = match &args.against.against {
        None => a.clone(),
        Some(file) if file == Path::new("-") && args.scenario.file == Path::new("-") => {
            return Err(Failure::usage("stdin can be read once: give one of the two as a file"));
        }
        Some(file) => {
            let scenario = crate::cli::ScenarioArgs { file: file.clone(), ..args.scenario.clone() };
            files::scenario_source(&scenario)?
        }
    };
    b.overrides.extend(args.against.set_b.iter().cloned());
    Ok((a, b))
}

/// The records of both sides: where the user said and `-b` beside it, or the first free pair of names.
fn records(out: Option<&Path>, stem: &str) -> Result<(PathBuf, PathBuf), Failure> {
    let beside = |a: &Path| {
        let stem = a.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        match a.extension() {
            Some(ending) => a.with_file_name(format!("{stem}-b.{}", ending.to_string_lossy())),
            None => a.with_file_name(format!("{stem}-b")),
        }
    };
    if let Some(out) = out {
        let a = files::record_path(Some(out), stem)?;
        let b = files::record_path(Some(&beside(&a)), stem)?;
        return Ok((a, b));
    }
    let mut pairs = (1..100_000).map(|n| {
        let a = PathBuf::from(format!("{stem}-{n}.wsr"));
        let b = beside(&a);
        (a, b)
    });
    pairs
        .find(|(a, b)| !a.exists() && !b.exists())
        .ok_or_else(|| Failure::usage(format!("100,000 records named {stem}-N.wsr: use --out")))
}

impl Side {
    /// A side whose plans run every step once a round. The record says so by overrides, so that it is complete by its own
    /// scenario.
    fn new(
        name: &'static str,
        mut source: Source,
        scenario: &Scenario,
        rounds: u32,
        out: PathBuf,
    ) -> Result<Side, Failure> {
        if let Some(plan) = scenario.plans.iter().find(|plan| plan.search.is_some()) {
            return Err(Failure::usage(format!(
                "the plan `{}` of side {name} has a search, whose steps are not known beforehand and would not pair: \
                 compare fixed steps, such as the load that the search found",
                plan.name
            )));
        }
        match &scenario.plans[..] {
            [_] => source.overrides.push(("plan.repeat".to_owned(), rounds.to_string())),
            plans => source.overrides.extend(
                plans
                    .iter()
                    .map(|plan| (format!("plan.\"{}\".repeat", plan.name), rounds.to_string())),
            ),
        }
        let scenario = scenario::load(&source)?;
        let targets = targets::granted(&scenario)?;
        let stages = scenario.stages();
        Ok(Side { name, source, scenario, stages, out, targets })
    }

    fn head(&self, like: &RunHead) -> RunHead {
        let head = live::head(&self.source, &self.scenario);
        RunHead { epoch: like.epoch, wall_ns: like.wall_ns, ..head }
    }

    fn record(&self, head: &RunHead, group: &str) -> Result<Writer, Failure> {
        let mut writer = live::begin_record(&self.out, head, &self.targets)?;
        let fact = |key: &str, value: &str| Fact {
            subject: "comparison".to_owned(),
            key: key.to_owned(),
            value: value.to_owned(),
        };
        writer.facts(&[fact("group", group), fact("side", self.name)])?;
        Ok(writer)
    }
}

/// The same step on both sides, by position, and whether its round is one in which B begins.
struct Turn {
    a: usize,
    b: usize,
    odd: bool,
}

/// The steps of both sides in pairs, round by round.
fn pair(a: &[Stage], b: &[Stage]) -> Result<Vec<Turn>, Failure> {
    type Name<'a> = (&'a str, &'a [(String, String)], u32);
    let step = |stage: &'_ Stage| match stage {
        Stage::Step(step) => Some(step.clone()),
        Stage::Search(_) => None,
    };
    let (a, b): (Vec<Step>, Vec<Step>) =
        (a.iter().filter_map(step).collect(), b.iter().filter_map(step).collect());
    fn name(step: &Step) -> Name<'_> {
        (&step.plan, &step.settings, step.repetition)
    }
    let of_b: std::collections::BTreeMap<Name<'_>, usize> =
        b.iter().enumerate().map(|(n, step)| (name(step), n)).collect();
    let of_a: BTreeSet<Name<'_>> = a.iter().map(name).collect();
    let first = |step: &&Step| step.repetition == 0;
    let only_a = a.iter().filter(first).filter(|s| !of_b.contains_key(&name(s)));
    let only_b = b.iter().filter(first).filter(|s| !of_a.contains(&name(s)));
    let (only_a, only_b): (Vec<&Step>, Vec<&Step>) = (only_a.collect(), only_b.collect());
    if !only_a.is_empty() || !only_b.is_empty() {
        return Err(Failure::usage(format!(
            "the steps of the two sides do not pair{}{}; give both the same plans with the same settings",
            listed("A", &only_a),
            listed("B", &only_b)
        )));
    }
    let mut turns: Vec<(u32, Turn)> = Vec::with_capacity(a.len());
    for (n, step) in a.iter().enumerate() {
        let odd = step.repetition % 2 == 1;
        turns.extend(of_b.get(&name(step)).map(|b| (step.repetition, Turn { a: n, b: *b, odd })));
    }
    // Stable: within a round, the steps of all plans in their order.
    turns.sort_by_key(|(round, _)| *round);
    Ok(turns.into_iter().map(|(_, turn)| turn).collect())
}

fn listed(side: &str, steps: &[&Step]) -> String {
    if steps.is_empty() {
        return String::new();
    }
    let names: Vec<String> =
        steps.iter().take(LISTED_MAX).map(|step| format!("`{}`", step.name())).collect();
    let more = match steps.len() - names.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("; only {side} has {}{more}", names.join(", "))
}

/// Runs all turns, or those before the first that one of the sides cannot take, and closes both records.
fn take_turns(
    a: &Side,
    b: &Side,
    turns: &[Turn],
    kind: AgentKind,
    output: &Results,
) -> Result<Ended, Failure> {
    let control = Arc::new(Control::new());
    live::stop_on_signal(&control)?;
    let head_a = live::head(&a.source, &a.scenario);
    let head_b = b.head(&head_a);
    let group = format!("{:x}-{:x}", head_a.wall_ns, std::process::id());
    let (writer_a, writer_b) = (a.record(&head_a, &group)?, b.record(&head_b, &group)?);
    let total: Duration = a.stages.iter().chain(&b.stages).map(Stage::duration_max).sum();
    let display = RefCell::new(Display::new(output.quiet, total));
    let mut show_a = |progress: Progress| display.borrow_mut().show_side("A ", &progress);
    let mut show_b = |progress: Progress| display.borrow_mut().show_side("B ", &progress);
    let (of_a, of_b) = (coordinator(a, &head_a, &control), coordinator(b, &head_b, &control));
    let (agents_a, agents_b) = (agents(a, kind)?, agents(b, kind)?);
    let mut first = match of_a.begin(agents_a, writer_a, &mut show_a) {
        Ok(first) => first,
        Err(error) => {
            // The first error says why, also where this record takes no end.
            let _ = writer_b.finish(Status::Stopped);
            return Err(failure(a, error));
        }
    };
    let mut second = match of_b.begin(agents_b, writer_b, &mut show_b) {
        Ok(second) => second,
        Err(error) => {
            close(first, Status::Stopped, &format!("side B could not begin: {error}"));
            return Err(failure(b, error));
        }
    };
    let ended = alternate(&mut first, &mut second, a, b, turns);
    let (status_a, status_b) = match ended {
        Ok(statuses) => statuses,
        Err((side, error)) => {
            let of = |name: &str| if side.name == name { Status::Failed } else { Status::Stopped };
            let why = format!("the comparison ended with side {}: {error}", side.name);
            close(first, of("A"), &why);
            close(second, of("B"), &why);
            return Err(failure(side, error));
        }
    };
    let (ended_a, ended_b) = (first.finish(status_a), second.finish(status_b));
    display.into_inner().finish();
    Ok(Ended {
        a: ended_a.map_err(|error| failure(a, error))?,
        b: ended_b.map_err(|error| failure(b, error))?,
    })
}

fn coordinator<'a>(side: &'a Side, head: &'a RunHead, control: &'a Control) -> Coordinator<'a> {
    Coordinator {
        scenario: &side.scenario,
        stages: &side.stages,
        head,
        limits: Limits::default(),
        control,
    }
}

fn agents(side: &Side, kind: AgentKind) -> Result<Vec<fleet::AgentLink>, Failure> {
    live::agents(&side.scenario, kind).map_err(Failure::incomplete)
}

/// Takes the turns: in even rounds A before B, in odd ones B before A. Returns how the runs of A and of B ended, or the side
/// whose record takes nothing more.
fn alternate<'s>(
    first: &mut Session<'_, Writer>,
    second: &mut Session<'_, Writer>,
    a: &'s Side,
    b: &'s Side,
    turns: &[Turn],
) -> Result<(Status, Status), (&'s Side, RunError)> {
    for turn in turns {
        for is_a in [!turn.odd, turn.odd] {
            let end = match is_a {
                true => first.stage(&a.stages[turn.a]).map_err(|error| (a, error))?,
                false => second.stage(&b.stages[turn.b]).map_err(|error| (b, error))?,
            };
            let told = match (end, is_a) {
                (StepEnd::Done, _) => continue,
                (StepEnd::Stopped, _) => return Ok((Status::Stopped, Status::Stopped)),
                (StepEnd::Failed, true) => {
                    second.note(Level::Warning, ENDED, "side A failed").map_err(|e| (b, e))
                }
                (StepEnd::Failed, false) => {
                    first.note(Level::Warning, ENDED, "side B failed").map_err(|e| (a, e))
                }
            };
            told?;
            return Ok(match is_a {
                true => (Status::Failed, Status::Stopped),
                false => (Status::Stopped, Status::Failed),
            });
        }
    }
    Ok((Status::Complete, Status::Complete))
}

/// Closes a record because of the other side. Where it takes no more, the error that is told says why.
fn close(mut session: Session<'_, Writer>, status: Status, why: &str) {
    let _ = session.note(Level::Warning, ENDED, why);
    let _ = session.finish(status);
}

fn failure(side: &Side, error: RunError) -> Failure {
    match error {
        RunError::Assign(error) => Failure::usage(format!("side {}: {error}", side.name)),
        error => Failure::incomplete(format!(
            "side {}: {error} (record: {})",
            side.name,
            side.out.display()
        )),
    }
}

/// Prints how both sides came out, and where their records are.
fn conclude(
    a: &Side,
    b: &Side,
    ended: &Ended,
    format: ResultFormat,
    quiet: bool,
) -> Result<Exit, Failure> {
    let (record_a, record_b) = (Record::open(&a.out)?, Record::open(&b.out)?);
    let analysis = |record| findings::analyse(record).map_err(Failure::incomplete);
    let (of_a, of_b) = (analysis(&record_a)?, analysis(&record_b)?);
    let options = Options {
        names: [a, b].map(|side| side.out.display().to_string()).to_vec(),
        ..Options::default()
    };
    let runs = [(&record_a, &of_a), (&record_b, &of_b)];
    let comparison = findings::compare(&runs, &options).map_err(Failure::incomplete)?;
    out::result(&match format {
        ResultFormat::Json => {
            let side = |side: &Side, analysis: &Analysis| json!({ "record": side.out, "review": review::json(analysis) });
            let comparison = review::comparison_json(&comparison);
            let (a, b) = (side(a, &of_a), side(b, &of_b));
            format!("{:#}\n", json!({ "version": 1, "a": a, "b": b, "comparison": comparison }))
        }
        _ => {
            let text = review::comparison_text(&comparison, present::style());
            format!("{}{}\n{text}", told(a, &of_a), told(b, &of_b))
        }
    })?;
    if !quiet {
        eprintln!("records: {} and {}", a.out.display(), b.out.display());
    }
    for (side, outcome) in [(a, &ended.a), (b, &ended.b)] {
        if let Some(failure) = &outcome.failure {
            let text = format!("side {}, step {}: {}", side.name, failure.step + 1, failure.error);
            return Err(Failure::Other(live::exit_of_failure(failure), text));
        }
    }
    let exits = [live::exit_of(&of_a), live::exit_of(&of_b)];
    let worst = [Exit::Incomplete, Exit::GoalsNotMet].into_iter().find(|exit| exits.contains(exit));
    Ok(worst.unwrap_or(Exit::Met))
}

/// A side's title and verdict: the first lines of its review.
fn told(side: &Side, analysis: &Analysis) -> String {
    let text = review::terminal(analysis, present::style());
    let head = text.split("\n\n").next().unwrap_or_default();
    format!("Side {} ({}): {head}\n", side.name, side.out.display())
}
