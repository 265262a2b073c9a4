//! `wirespeed plan FILE`: a dry run. Nothing is opened for writing and nothing is made.

mod arrays;
mod emulated;
mod guests;
mod nets;
mod prove;
mod simulated;
pub mod warnings;

use crate::cli::{Format, PlanArgs};
use crate::counted;
use crate::exit::{Exit, Failure};
use crate::files;
use crate::fleets;
use crate::out;
use crate::replays;
use crate::targets::{self, TargetUse};
use disk::{Filling, Use};
use fleet::AssignError;
use guard::Examined;
use scenario::topology::Topology;
use scenario::{Diagnostics, Hunt, Scenario, Stage, Step};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::time::Duration;

pub fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    let source = files::scenario_source(&args.scenario)?;
    let mut scenario = scenario::load(&source)?;
    replays::settle(&mut scenario)?;
    match &args.fleet.fleet {
        Some(_) => fleets::plan::show(&scenario, args),
        None => show(&scenario, args.output.format),
    }
}

/// What a run of this scenario would do, for people and for programs.
pub fn described(scenario: &Scenario) -> (String, Value) {
    let stages = scenario.stages();
    let targets = targets::asked(scenario, &stages);
    let lab = simulated::lab(scenario, &stages);
    (
        printed(scenario, &stages, &targets, lab.as_ref()),
        document(scenario, &stages, &targets, lab.as_ref()),
    )
}

/// What people are shown.
fn printed(
    scenario: &Scenario,
    stages: &[Stage],
    targets: &Result<Vec<TargetUse>, AssignError>,
    lab: SimulatedLab<'_>,
) -> String {
    let counters = counted::text(scenario).join("\n");
    let head = if counters.is_empty() { "" } else { "\ncounters\n" };
    let end = if counters.is_empty() { "" } else { "\n" };
    format!("{}{head}{counters}{end}", text(scenario, stages, targets, lab))
}

/// What programs are shown.
fn document(
    scenario: &Scenario,
    stages: &[Stage],
    targets: &Result<Vec<TargetUse>, AssignError>,
    lab: SimulatedLab<'_>,
) -> Value {
    let mut all = as_json(scenario, stages, targets, lab);
    all["counters"] = counted::as_json(scenario).into();
    all
}

/// Prints what a run of this scenario would do.
pub fn show(scenario: &Scenario, format: Format) -> Result<Exit, Failure> {
    let stages = scenario.stages();
    let targets = targets::asked(scenario, &stages);
    let lab = simulated::lab(scenario, &stages);
    out::result(&match format {
        Format::Text => printed(scenario, &stages, &targets, lab.as_ref()),
        Format::Json => format!("{:#}\n", document(scenario, &stages, &targets, lab.as_ref())),
    })?;
    Ok(match emulated::is_refused(scenario) {
        true => Exit::Usage,
        false => exit_of(&targets, lab.as_ref()),
    })
}

/// A lab that is not present, as the simulator would model it.
type SimulatedLab<'a> = Option<&'a Result<Topology, Diagnostics>>;

/// A plan that could not be run ends as the run would: refused, or unavailable. One for the simulator needs its lab.
fn exit_of(targets: &Result<Vec<TargetUse>, AssignError>, lab: SimulatedLab<'_>) -> Exit {
    match targets {
        _ if lab.is_some_and(Result::is_ok) => Exit::Met,
        _ if lab.is_some() => Exit::Usage,
        Err(_) => Exit::Usage,
        Ok(targets) => {
            let error = targets.iter().find_map(|t| t.report.fate.as_ref().err());
            error.map_or(Exit::Met, targets::exit_of)
        }
    }
}

fn text(
    scenario: &Scenario,
    stages: &[Stage],
    targets: &Result<Vec<TargetUse>, AssignError>,
    lab: SimulatedLab<'_>,
) -> String {
    let mut out = String::new();
    let mut line = |s: String| writeln!(out, "{s}").expect("a String takes every line");
    line(scenario.head.title.clone());
    line(format!("{}, seed {}", extent(scenario, stages), scenario.head.seed));
    line(String::new());
    let (mut last_phases, mut last_loads) = (String::new(), String::new());
    let (mut last_speeds, mut last_faults) = (String::new(), String::new());
    let (mut last_frames, mut last_rounds) = (String::new(), String::new());
    let mut number = Number::default();
    for stage in stages {
        let (number, name, step) = match stage {
            Stage::Step(step) => (number.step(), step.name(), step),
            Stage::Search(hunt) => (number.search(), hunt_name(hunt), &hunt.base),
        };
        // What did not change since the step before is not said again.
        let phases = changed(&mut last_phases, phases(step));
        let loads: Vec<String> = step.loads.iter().map(ToString::to_string).collect();
        let loads = loads.join("\n        ");
        let loads = changed(&mut last_loads, loads);
        line(format!("{number:>4}  {name:<34} {phases}").trim_end().to_owned());
        if let Stage::Search(hunt) = stage {
            line(format!("        {}", hunt_line(hunt)));
        }
        if !loads.is_empty() {
            line(format!("        {loads}"));
        }
        let speeds = arrays::speeds(scenario, step).join("\n        ");
        let faults = arrays::faults(scenario, step).into_iter().chain(simulated::incidents(step));
        let faults = faults.collect::<Vec<_>>().join("\n        ");
        let speeds = gone(&mut last_speeds, speeds, "every port at its own speed");
        let faults = gone(&mut last_faults, faults, "no faults");
        let frames = nets::frames(scenario, step).join("\n        ");
        let frames = gone(&mut last_frames, frames, "interfaces unchanged");
        let rounds = prove::text(scenario, step).join("\n        ");
        let rounds = changed(&mut last_rounds, rounds);
        for text in [speeds, faults, frames, rounds].iter().filter(|text| !text.is_empty()) {
            line(format!("        {text}"));
        }
    }
    arrays::text(scenario).into_iter().for_each(&mut line);
    emulated::text(scenario).into_iter().for_each(&mut line);
    guests::text(scenario).into_iter().for_each(&mut line);
    fleets::plan::wanted(scenario, stages).into_iter().for_each(&mut line);
    nets::text(scenario, stages).into_iter().for_each(&mut line);
    lab.map(|lab| simulated::refused(scenario, lab)).into_iter().flatten().for_each(&mut line);
    lab.map(simulated::text).into_iter().flatten().for_each(&mut line);
    let reached =
        stages.iter().any(|stage| !stage.examples().iter().all(|s| s.net_loads().next().is_none()));
    if !reached || !targets.as_ref().is_ok_and(Vec::is_empty) {
        line("\ntargets".to_owned());
    }
    match targets {
        Err(error) => line(format!("  {error}")),
        Ok(targets) => targets.iter().for_each(|t| line(target_lines(t))),
    }
    warnings::warnings(scenario, stages).iter().for_each(|text| line(format!("\nwarning: {text}")));
    line(format!("\n{}{}", summary(targets, lab), nets::summary(scenario, stages)));
    out
}

/// The numbers of the steps, as long as they are known: how many a search takes is not.
#[derive(Default)]
struct Number {
    steps: u32,
    searched: bool,
}

impl Number {
    fn step(&mut self) -> String {
        self.steps += 1;
        if self.searched { "-".to_owned() } else { self.steps.to_string() }
    }

    fn search(&mut self) -> String {
        self.searched = true;
        "?".to_owned()
    }
}

/// How many steps, and how long their load takes; with a search, at most.
fn extent(scenario: &Scenario, stages: &[Stage]) -> String {
    let steps: u64 = stages.iter().map(|stage| u64::from(stage.steps_max())).sum();
    let total = stages
        .iter()
        .fold(prove::time(scenario, stages), |sum, s| sum.saturating_add(s.duration_max()));
    let count = if steps == 1 { "1 step".to_owned() } else { format!("{steps} steps") };
    let at_most = |less: bool| if less { "at most " } else { "" };
    let searches = stages.iter().any(|s| matches!(s, Stage::Search(_)));
    let ends = |stage: &Stage| matches!(stage, Stage::Step(step) if step.ends_with_loads());
    let shorter = !searches && stages.iter().any(ends);
    let (most, time) = (at_most(searches), at_most(shorter));
    format!("{most}{count}, {time}{} of load", units::duration(total))
}

/// A search by what its steps have in common.
fn hunt_name(hunt: &Hunt) -> String {
    let name = hunt.base.name();
    match name == scenario::Plan::UNNAMED {
        true => "search".to_owned(),
        false => format!("{name}: search"),
    }
}

fn hunt_line(hunt: &Hunt) -> String {
    let search = &hunt.search;
    let (from, to) = (search.range.show(search.range.from), search.range.show(search.range.to));
    let load = hunt.base.duration().saturating_mul(search.steps);
    format!(
        "{}, from {from} to {to}: at most {} steps, {} of load",
        search.question(),
        search.steps,
        units::duration(load)
    )
}

/// The text, or nothing where it is the same as the last one.
fn changed(last: &mut String, text: String) -> String {
    if *last == text {
        return String::new();
    }
    last.clone_from(&text);
    text
}

/// As [`changed`]; that there is nothing any more is said once, in these words.
fn gone(last: &mut String, text: String, none: &str) -> String {
    if text.is_empty() && !last.is_empty() {
        return changed(last, none.to_owned());
    }
    changed(last, text)
}

fn phases(step: &Step) -> String {
    let part = |d: Duration, word: &str| match d.is_zero() {
        true => String::new(),
        false => format!("{} {word}", units::duration(d)),
    };
    let all = [
        match step.steady {
            None => part(step.warmup, "warm-up"),
            Some(_) => format!(
                "{} to {} warm-up until steady",
                units::duration(step.warmup),
                units::duration(step.warmup_max())
            ),
        },
        match step.ends_with_loads() {
            true => format!("until done, at most {}", units::duration(step.measure)),
            false => part(step.measure, "measured"),
        },
        part(step.cooldown, "cool-down"),
    ];
    all.into_iter().filter(|p| !p.is_empty()).collect::<Vec<_>>().join(" + ")
}

fn target_lines(asked: &TargetUse) -> String {
    let report = &asked.report;
    let size =
        report.size.map_or_else(|| "size not known".to_owned(), |b| units::Bytes(b).to_string());
    let ways = arrays::ways(&report.url);
    let place = match &ways {
        None => format!(" {}", report.url),
        // A disk that shares its volume with others is named after its ways.
        Some(_) if report.name.contains(" by ") => String::new(),
        Some(ways) => format!(" {ways}"),
    };
    let mut out = format!("  {:<12}{place}  ({}, {size})\n", report.name, report.what);
    let verdict = match &report.fate {
        Ok(done @ Use::Write) if ways.is_some() => {
            format!("{}: removed after the run, so no token is needed", done_to(*done, asked.reads))
        }
        Ok(done @ Use::Write) => {
            let why = match report.examined {
                Some(_) => "its token was given",
                None => "Wirespeed created it for this purpose",
            };
            format!("{}: {why}", done_to(*done, asked.reads))
        }
        Ok(done) => done_to(*done, asked.reads).to_owned(),
        Err(engine::EngineError::Refused(why)) => format!("REFUSED: {why}"),
        Err(error) => format!("NOT POSSIBLE: {error}"),
    };
    write!(out, "  {:<12} {verdict}", "").expect("a String takes every line");
    if let Some(Ok(examined)) = &report.examined {
        for text in examined_lines(examined) {
            write!(out, "\n  {:<12} {text}", "").expect("a String takes every line");
        }
    }
    if let Some(text) = filling_line(report.filling) {
        write!(out, "\n  {:<12} {text}", "").expect("a String takes every line");
    }
    for fact in report.facts.iter().filter(|f| f.key != "url" && f.key != "kind") {
        write!(out, "\n  {:<12} {}: {}", "", fact.key, fact.value)
            .expect("a String takes every line");
    }
    out
}

/// What the guard found at a target that Wirespeed did not make, and the token that would allow to write it.
fn examined_lines(examined: &Examined) -> Vec<String> {
    if !examined.uses.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![format!(
        "its token: {}  (`write_token = \"{0}\"` on the target, or `--write-token {0}`)",
        examined.token
    )];
    if !examined.carries.is_empty() {
        lines.push(format!(
            "it carries {}: that would be lost, so `overwrite` is also needed",
            examined.carries.join(", ")
        ));
    }
    lines
}

fn examined_json(examined: Option<&Result<Examined, String>>) -> Value {
    match examined {
        None => Value::Null,
        Some(Err(problem)) => json!({ "problem": problem }),
        Some(Ok(Examined { what, token, uses, carries, .. })) => {
            let token = uses.is_empty().then_some(token);
            json!({ "what": what, "token": token, "in_use": uses, "carries": carries })
        }
    }
}

/// What would be written before the load, and how long it may take.
fn filling_line(filling: Filling) -> Option<String> {
    let (bytes, text) = match filling {
        Filling::Nothing => return None,
        Filling::IfNeeded(bytes) => {
            (bytes, "before that, samples are read; where they show no data, {} would be WRITTEN")
        }
        Filling::Once(bytes) => (bytes, "before that, {} would be WRITTEN"),
        Filling::Twice(bytes) => (
            bytes,
            "before that, all its {} would be WRITTEN twice as SNIA PTS preconditions; it is not purged",
        ),
    };
    let times = if matches!(filling, Filling::Twice(_)) { 2 } else { 1 };
    let amount = match bytes >> 20 {
        0 => units::Bytes(bytes).to_string(),
        mib => format!("{} MiB", units::count(mib as f64)),
    };
    let text = text.replace("{}", &amount);
    Some(format!("{text} ({})", at_speeds(bytes.saturating_mul(times))))
}

/// How long writing takes on a slow and on a fast device: nothing was measured yet.
fn at_speeds(bytes: u64) -> String {
    let at = |rate: u64, name: &str| {
        let time = Duration::from_secs((bytes / rate).max(1));
        format!("{} at {name}", units::duration(time))
    };
    format!("{}, {}", at(200_000_000, "200 MB/s"), at(2_000_000_000, "2 GB/s"))
}

fn done_to(done: Use, reads: bool) -> &'static str {
    match (done, reads) {
        (Use::Null, _) => "would complete at once: measures the generator itself",
        (Use::Read, _) => "would be read; nothing is written",
        (Use::Write, true) => "would be read and WRITTEN",
        (Use::Write, false) => "would be WRITTEN",
        (Use::CreateAndRead, _) => "would be created and filled, then read",
        (Use::CreateAndWrite, true) => "would be created and filled, then read and WRITTEN",
        (Use::CreateAndWrite, false) => "would be created and filled, then WRITTEN",
    }
}

fn filling_json(filling: Filling) -> Value {
    let (when, bytes) = match filling {
        Filling::Nothing => return Value::Null,
        Filling::IfNeeded(bytes) => ("if-needed", bytes),
        Filling::Once(bytes) => ("once", bytes),
        Filling::Twice(bytes) => ("twice", bytes),
    };
    json!({ "when": when, "bytes": bytes })
}

fn summary(targets: &Result<Vec<TargetUse>, AssignError>, lab: SimulatedLab<'_>) -> String {
    match lab {
        Some(Ok(_)) => return "This cannot run on this machine, but can be simulated.".to_owned(),
        Some(Err(_)) => {
            return "This can neither run on this machine nor be simulated as it is.".to_owned();
        }
        None => {}
    }
    let Ok(targets) = targets else { return "This cannot run on this machine.".to_owned() };
    let failing = targets.iter().filter(|t| t.report.fate.is_err()).count();
    if failing > 0 {
        return format!(
            "A run would end here: {failing} of {} targets are not available.",
            targets.len()
        );
    }
    let written: Vec<&str> = targets
        .iter()
        .filter(|t| !matches!(t.report.fate, Ok(Use::Null | Use::Read)))
        .map(|t| t.report.url.as_str())
        .collect();
    // What an array holds is memory that the run itself makes.
    let lasting: Vec<&str> =
        written.iter().copied().filter(|url| arrays::ways(url).is_none()).collect();
    match (lasting.is_empty(), lasting.len() < written.len()) {
        (true, false) => "Nothing would be written.".to_owned(),
        (true, true) => "Nothing would be written except the run's own memory.".to_owned(),
        (false, _) => format!("Only {} would be written.", lasting.join(", ")),
    }
}

fn search_json(scenario: &Scenario, stage: &Stage) -> Option<Value> {
    let Stage::Search(hunt) = stage else { return None };
    let search = &hunt.search;
    Some(json!({
        "plan": hunt.base.plan,
        "settings": hunt.base.settings,
        "question": search.question(),
        "over": search.key,
        "from": search.setting(search.range.from).to_string(),
        "to": search.setting(search.range.to).to_string(),
        "steps_max": search.steps,
        "load_max_s": stage.duration_max().as_secs_f64(),
        "port": hunt.base.port.map(|rate| rate.to_string()),
        "faults": arrays::faults_json(scenario, &hunt.base),
    }))
}

fn as_json(
    scenario: &Scenario,
    stages: &[Stage],
    targets: &Result<Vec<TargetUse>, AssignError>,
    lab: SimulatedLab<'_>,
) -> Value {
    let steps = scenario.steps();
    let searches: Vec<Value> =
        stages.iter().filter_map(|stage| search_json(scenario, stage)).collect();
    let load = stages
        .iter()
        .fold(prove::time(scenario, stages), |sum, s| sum.saturating_add(s.duration_max()));
    let step = |s: &Step| {
        json!({
            "index": s.index,
            "plan": s.plan,
            "settings": s.settings,
            "repetition": s.repetition,
            "warmup_s": s.warmup.as_secs_f64(),
            "warmup_max_s": s.warmup_max().as_secs_f64(),
            "measure_s": s.measure.as_secs_f64(),
            "until_done": s.ends_with_loads(),
            "cooldown_s": s.cooldown.as_secs_f64(),
            "port": s.port.map(|rate| rate.to_string()),
            "faults": arrays::faults_json(scenario, s),
            "prove": prove::as_json(scenario, s),
            "copies": simulated::copies(s),
            "incidents": simulated::incidents(s),
            "nets": nets::step_json(scenario, s),
            "frames": nets::frames_json(scenario, s),
        })
    };
    let target = |t: &TargetUse| {
        let refused = t.report.fate.as_ref().err().map(ToString::to_string);
        json!({
            "name": t.report.name,
            "url": t.report.url,
            "what": t.report.what,
            "size_bytes": t.report.size,
            "reads": t.reads,
            "writes": t.writes,
            "creates": matches!(t.report.fate, Ok(Use::CreateAndRead | Use::CreateAndWrite)),
            "filling": filling_json(t.report.filling),
            "examined": examined_json(t.report.examined.as_ref()),
            "refused": refused,
        })
    };
    let (list, impossible) = match targets {
        Ok(targets) => (targets.iter().map(target).collect(), Value::Null),
        Err(error) => (Vec::new(), Value::from(error.to_string())),
    };
    json!({
        "version": 1,
        "title": scenario.head.title,
        "seed": scenario.head.seed,
        "load_s": load.as_secs_f64(),
        "searches": searches,
        "steps": steps.iter().map(step).collect::<Vec<_>>(),
        "arrays": arrays::as_json(scenario),
        "guests": guests::as_json(scenario),
        "receivers": nets::as_json(scenario, stages),
        "targets": list,
        "impossible": impossible,
        "lab": simulated::as_json(lab),
        "warnings": warnings::warnings(scenario, stages),
    })
}
