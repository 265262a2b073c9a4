//! Two scenarios in turns: `run --against`. Every step of side A is followed or preceded by the same step of side B, and
//! from round to round their order changes ([`campaign::take_turns`]).
//!
//! Each side has its own agent, which is idle while the other's turn lasts, and its own record. Both records carry facts of
//! the subject `comparison`: `group`, which is the same on both, and `side`. A step's repetition is its round.

use crate::cli::{AgentKind, ResultFormat, Results, RunArgs};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::live;
use crate::out;
use crate::present;
use crate::progress::Display;
use crate::replays;
use crate::targets::{self, TargetUse};
use campaign::{Campaign, Control, PairedStep, Progress, SIDES};
use findings::Analysis;
use findings::comparison::CompareOptions;
use fleet::{AgentSession, Coordinator, RunError, RunOutcome, WaitLimits};
use record::{Fact, Record, RunHead, Status, Writer};
use scenario::{Scenario, Source, Stage, Step};
use serde_json::json;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Rounds unless given: two turns in either order.
const ROUNDS: u32 = 4;
/// Steps that a message lists before it counts the rest.
const LISTED_MAX: usize = 8;

/// One of the two.
struct ComparedRun {
    name: &'static str,
    source: Source,
    scenario: Scenario,
    stages: Vec<Stage>,
    out: PathBuf,
    targets: Vec<TargetUse>,
}

/// Runs both sides, and says how they came out.
pub fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let format = args.output.format.unwrap_or(ResultFormat::Text);
    if ![ResultFormat::Text, ResultFormat::Json].contains(&format) {
        return Err(Failure::usage(
            "two sides are printed as text or JSON; `wirespeed review RUN --format …` exports each of their records",
        ));
    }
    let (source_a, source_b) = sources(args)?;
    let (scenario_a, scenario_b) = (load(&source_a)?, load(&source_b)?);
    scenario_a.live()?;
    scenario_b.live()?;
    let most = |scenario: &Scenario| scenario.plans.iter().map(|plan| plan.repeat).max();
    let planned = most(&scenario_a).max(most(&scenario_b)).unwrap_or(1);
    let rounds = args.against.rounds.unwrap_or(ROUNDS.max(planned));
    if args.recording.metrics.is_some() {
        return Err(Failure::usage(
            "--metrics tells of one run: leave it out with --against and --set-b",
        ));
    }
    let (out_a, out_b) = records(args.recording.out.as_deref(), &files::stem(&source_a.name))?;
    let a = ComparedRun::new(SIDES[0], source_a, &scenario_a, rounds, out_a)?;
    let b = ComparedRun::new(SIDES[1], source_b, &scenario_b, rounds, out_b)?;
    let turns = pair(&a.stages, &b.stages)?;
    let ended = take_turns(&a, &b, &turns, args.recording.agent, &args.output)?;
    conclude(&a, &b, &ended, format, args.output.quiet)
}

/// A scenario with what the traces that it replays hold.
fn load(source: &Source) -> Result<Scenario, Failure> {
    let mut scenario = scenario::load(source)?;
    replays::settle(&mut scenario)?;
    Ok(scenario)
}

/// Side A, and side B with what is set on it besides.
fn sources(args: &RunArgs) -> Result<(Source, Source), Failure> {
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

impl ComparedRun {
    /// A side whose plans run every step once a round. The record holds it as overrides, so that it is complete.
    fn new(
        name: &'static str,
        mut source: Source,
        scenario: &Scenario,
        rounds: u32,
        out: PathBuf,
    ) -> Result<ComparedRun, Failure> {
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
        let scenario = load(&source)?;
        let targets = targets::granted(&scenario)?;
        let stages = scenario.stages();
        Ok(ComparedRun { name, source, scenario, stages, out, targets })
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

/// The steps of both sides in pairs, round by round.
fn pair(a: &[Stage], b: &[Stage]) -> Result<Vec<PairedStep>, Failure> {
    campaign::pair([a, b]).map_err(|unpaired| {
        let [only_a, only_b] = &unpaired.only;
        Failure::usage(format!(
            "the steps of the two sides do not pair{}{}; give both the same plans with the same settings",
            listed(SIDES[0], only_a),
            listed(SIDES[1], only_b)
        ))
    })
}

fn listed(side: &str, steps: &[Step]) -> String {
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
    a: &ComparedRun,
    b: &ComparedRun,
    turns: &[PairedStep],
    kind: AgentKind,
    output: &Results,
) -> Result<[RunOutcome; 2], Failure> {
    let control = live::control()?;
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
    let first: Campaign<AgentSession<'_, Writer>> =
        match of_a.begin(agents_a, writer_a, &mut show_a) {
            Ok(first) => first,
            Err(error) => {
                // The first error says why, also where this record takes no end.
                let _ = writer_b.finish(Status::Stopped);
                return Err(failure(a, error));
            }
        };
    let second = match of_b.begin(agents_b, writer_b, &mut show_b) {
        Ok(second) => second,
        Err(error) => {
            first.abandon(Status::Stopped, &format!("side B could not begin: {error}"));
            return Err(failure(b, error));
        }
    };
    let ended = campaign::take_turns([first, second], [&a.stages, &b.stages], turns);
    drop(display);
    ended.map_err(|(side, error)| failure([a, b][side], error))
}

fn coordinator<'a>(
    side: &'a ComparedRun,
    head: &'a RunHead,
    control: &'a Control,
) -> Coordinator<'a> {
    Coordinator {
        scenario: &side.scenario,
        stages: &side.stages,
        head,
        limits: WaitLimits::default(),
        control,
    }
}

fn agents(side: &ComparedRun, kind: AgentKind) -> Result<Vec<fleet::AgentLink>, Failure> {
    live::agents(&side.scenario, kind)
}

fn failure(side: &ComparedRun, error: RunError) -> Failure {
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
    a: &ComparedRun,
    b: &ComparedRun,
    ended: &[RunOutcome; 2],
    format: ResultFormat,
    quiet: bool,
) -> Result<Exit, Failure> {
    let (record_a, record_b) = (Record::open(&a.out)?, Record::open(&b.out)?);
    let analysis = |record| findings::analyse(record).map_err(Failure::incomplete);
    let (of_a, of_b) = (analysis(&record_a)?, analysis(&record_b)?);
    let options = CompareOptions {
        names: [a, b].map(|side| side.out.display().to_string()).to_vec(),
        ..CompareOptions::default()
    };
    let runs = [(&record_a, &of_a), (&record_b, &of_b)];
    let comparison = findings::compare(&runs, &options).map_err(Failure::incomplete)?;
    out::coloured(&match format {
        ResultFormat::Json => {
            let side = |side: &ComparedRun, analysis: &Analysis| json!({ "record": side.out, "review": review::json(analysis) });
            let comparison = review::comparison_json(&comparison);
            let (a, b) = (side(a, &of_a), side(b, &of_b));
            format!("{:#}\n", json!({ "version": 1, "a": a, "b": b, "comparison": comparison }))
        }
        _ => {
            let text = review::comparison_text(&comparison, present::style());
            format!("{}{}\n{text}", heading(a, &of_a), heading(b, &of_b))
        }
    })?;
    if !quiet {
        out::note(format_args!("records: {} and {}", a.out.display(), b.out.display()));
    }
    for (side, outcome) in [a, b].into_iter().zip(ended) {
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
fn heading(side: &ComparedRun, analysis: &Analysis) -> String {
    let text = review::terminal(analysis, present::style());
    let head = text.split("\n\n").next().unwrap_or_default();
    format!("Side {} ({}): {head}\n", side.name, side.out.display())
}
