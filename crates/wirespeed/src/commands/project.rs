//! `wirespeed project --workload TRACE --lab FILE`: how many copies of a recorded workload a lab carries before a latency is exceeded.
//!
//! The same question three times, since each answer leaves out something: the trace as it was recorded, a workload that is like
//! it with its bursts, and one that knows no more than means of 20 s, as monitoring has them. Copies are added to the lab's
//! members in turn and simulated; nothing is loaded.

use super::traces::{self, drain};
use super::{simulate, table};
use crate::cli::{Format, ImportFormat, ProjectArgs, TraceArgs, TraceLayer};
use crate::exit::{Exit, Failure};
use crate::labs::CompiledLab;
use crate::{catalogs, files, live, out, replays};
use campaign::Control;
use clock::Ns;
use findings::{Limiter, Status, StepFigures};
use record::{Record, Writer};
use scenario::{Scenario, Source};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;
use toml::{Table, Value as Toml};
use trace::{Fit, Fitter, Summary, TraceIo};

/// Means of this length are what monitoring has.
const MEANS: Ns = Ns(20_000_000_000);
/// I/Os that a fit needs.
const FEW: u64 = 1000;
/// What of a scenario says what is run, and not where.
const RUNS: [&str; 6] = ["plan", "goal", "claim", "project", "workload", "assume"];

/// A way to look at the workload.
#[derive(Clone, Copy, PartialEq)]
enum View {
    Recorded,
    Bursts,
    Means,
}

impl View {
    const ALL: [View; 3] = [View::Recorded, View::Bursts, View::Means];

    fn word(self) -> &'static str {
        match self {
            View::Recorded => "recorded",
            View::Bursts => "bursts",
            View::Means => "means",
        }
    }

    fn about(self) -> &'static str {
        match self {
            View::Recorded => "replayed as recorded",
            View::Bursts => "at the trace's burstiness",
            View::Means => "at means of 20 s",
        }
    }
}

/// What so many copies did.
#[derive(Clone)]
struct Tried {
    copies: u32,
    held: bool,
    /// The latency that was asked for, and what limited, with its probability.
    latency: String,
    limit: Option<(String, Option<f64>)>,
}

/// What limited a step, with its probability. Where all that was asked for was carried, and too late, it is what was fullest.
fn limited(step: &StepFigures) -> Option<(String, Option<f64>)> {
    let found = step.attribution.as_ref()?;
    if found.limit != Limiter::Rate {
        return Some((found.limit.to_string(), Some(found.probability)));
    }
    let known = found.hops.iter().filter_map(|hop| Some((hop.utilization?, &hop.hop)));
    let (share, hop) = known.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some((format!("waiting; {hop} was fullest, {:.0}%", 100.0 * share), None))
}

/// The answer to one view.
struct Answer {
    view: View,
    carried: Option<Tried>,
    /// The least that broke the latency; none up to the most that was tried.
    broke: Option<Tried>,
}

pub fn project(args: &ProjectArgs) -> Result<Exit, Failure> {
    let trace = Observed::read(args)?;
    let lab = Lab::read(args)?;
    let folder = Passing::new()?;
    let stop = live::control()?;
    let mut answers = Vec::new();
    for view in View::ALL {
        let mut tried = |copies: u32| {
            if !args.output.quiet {
                out::note(format_args!("{}: {copies} copies", view.about()));
            }
            lab.carries(args, (view, copies), &trace, (&folder, &stop))
        };
        let (carried, broke) = searched(args.most, &mut tried)?;
        answers.push(Answer { view, carried, broke });
    }
    match args.output.format {
        Format::Json => out::result(&format!("{:#}\n", document(args, &trace, &answers)))?,
        Format::Text => out::result(&report(args, &trace, &lab, &answers))?,
    }
    let carries = answers.iter().all(|answer| answer.carried.is_some());
    Ok(if carries { Exit::Met } else { Exit::GoalsNotMet })
}

/// The most copies that hold and the least that do not: doubled, then halved between both.
fn searched(
    most: u32,
    tried: &mut dyn FnMut(u32) -> Result<Tried, Failure>,
) -> Result<(Option<Tried>, Option<Tried>), Failure> {
    let (mut held, mut broke): (Option<Tried>, Option<Tried>) = (None, None);
    loop {
        let low = held.as_ref().map_or(0, |of| of.copies);
        let next = match &broke {
            None if low >= most => break,
            None => (low * 2).clamp(1, most),
            Some(of) if of.copies <= low + 1 => break,
            Some(of) => low + (of.copies - low) / 2,
        };
        let found = tried(next)?;
        if found.held { held = Some(found) } else { broke = Some(found) }
    }
    Ok((held, broke))
}

/// What is known of the trace.
struct Observed {
    file: String,
    fit: Fit,
    span: Ns,
    ios: u64,
    /// I/Os a second in the busiest time of 20 s.
    busiest: f64,
}

impl Observed {
    fn read(args: &ProjectArgs) -> Result<Observed, Failure> {
        let whole = TraceArgs { layer: TraceLayer::Queue, map: None };
        let name = args.workload.display();
        let open = || {
            let own = Some(ImportFormat::Trace);
            traces::open(&args.workload, own, &whole)?.ok_or_else(|| {
                Failure::usage(format!(
                    "{name} is no trace in Wirespeed's own form: `wirespeed import {name} -o x.trace` makes one of another program's"
                ))
            })
        };
        let length =
            args.length.map(|length| Ns(u64::try_from(length.as_nanos()).unwrap_or(u64::MAX)));
        let mut first = None;
        let mut within = |io: &TraceIo| {
            let began = *first.get_or_insert(io.at);
            length.is_none_or(|length| io.at.since(began) < length)
        };
        let mut summary = Summary::default();
        let mut busy = Means::default();
        let (devices, tally) = drain(&mut open()?, |io| {
            if within(&io) {
                summary.add(&io);
                busy.add(io.at);
            }
            Ok(())
        })?;
        let facts = summary.finish(&devices, &tally);
        if facts.ios < FEW {
            let (ios, few) = (facts.ios, units::count(FEW as f64));
            return Err(Failure::usage(format!(
                "{name}: {ios} I/Os are too few to project: {few} are needed"
            )));
        }
        let (ios, span) = (facts.ios, facts.span);
        let mut fitter = Fitter::new(facts);
        drain(&mut open()?, |io| {
            if within(&io) {
                fitter.add(&io);
            }
            Ok(())
        })?;
        let fit = fitter.finish();
        let mean = ios as f64 / span.as_secs_f64().max(1e-9);
        let file = std::fs::canonicalize(&args.workload)
            .map_err(|e| Failure::usage(format!("cannot read {name}: {e}")))?;
        Ok(Observed {
            file: file.display().to_string(),
            fit,
            span,
            ios,
            busiest: busy.busiest().unwrap_or(mean),
        })
    }

    /// The workload of a view, as a table of the language.
    fn workload(&self, args: &ProjectArgs, view: View) -> Result<Table, Failure> {
        if view == View::Recorded {
            let mut table = Table::new();
            let text = |text: &str| Toml::String(text.to_owned());
            table.insert("kind".into(), text("trace"));
            table.insert("file".into(), text(&self.file));
            table.insert("writes".into(), Toml::Boolean(true));
            table.insert("round".into(), Toml::Boolean(true));
            if let Some(length) = args.length {
                table.insert("length".into(), text(&format!("{}ns", length.as_nanos())));
            }
            return Ok(table);
        }
        let broken = || Failure::incomplete("the fitted workload is no workload");
        let all: Table = self.fit.scenario("trace").parse().map_err(|_| broken())?;
        let fitted = all.get("workload").and_then(|all| all.get("fitted")).and_then(Toml::as_table);
        let mut table = fitted.cloned().ok_or_else(broken)?;
        if view == View::Means {
            table.remove("bursts");
            table.insert("rate".into(), Toml::Float(self.busiest.max(0.001)));
            table.insert("arrivals".into(), Toml::String("poisson".into()));
        }
        Ok(table)
    }
}

/// Counts I/Os in times of 20 s.
#[derive(Default)]
struct Means {
    began: Option<Ns>,
    number: u64,
    here: u64,
    most: Option<u64>,
}

impl Means {
    fn add(&mut self, at: Ns) {
        let began = *self.began.get_or_insert(at);
        let number = at.since(began).0 / MEANS.0;
        if number > self.number {
            // A time that is over counts whole.
            self.most = self.most.max(Some(self.here));
            (self.number, self.here) = (number, 0);
        }
        self.here += 1;
    }

    fn busiest(&self) -> Option<f64> {
        self.most.map(|most| most as f64 / MEANS.as_secs_f64())
    }
}

/// The lab without what was run on it.
struct Lab {
    source: Source,
    table: Table,
    members: Vec<String>,
}

impl Lab {
    fn read(args: &ProjectArgs) -> Result<Lab, Failure> {
        let name = args.lab.display().to_string();
        let file = std::fs::File::open(&args.lab)
            .map_err(|e| Failure::usage(format!("cannot read the lab {name}: {e}")))?;
        let text = files::read_limited(file, "scenario", &name)?;
        let catalogs = catalogs::catalogs(&args.catalog)?;
        let source = Source { name, text, overrides: Vec::new(), catalogs };
        let known = scenario::load(&source)?;
        let mut table: Table = source
            .text
            .parse()
            .map_err(|e: toml::de::Error| Failure::usage(format!("{}: {e}", source.name)))?;
        RUNS.iter().for_each(|key| {
            table.remove(*key);
        });
        let vms: Vec<String> = known.lab.vms.iter().map(|vm| vm.name.clone()).collect();
        let targets = || known.lab.targets.iter().map(|target| target.name.clone()).collect();
        let mut lab = Lab { source, table, members: if vms.is_empty() { targets() } else { vms } };
        if !args.on.is_empty() {
            lab.members = lab.named(&args.on)?;
        }
        match lab.members.is_empty() {
            true => Err(Failure::usage(format!(
                "{} has neither VMs nor targets that could run the workload: name its hosts by `--on`",
                lab.source.name
            ))),
            false => Ok(lab),
        }
    }

    /// The members that patterns stand for, as a plan has them.
    fn named(&self, patterns: &[String]) -> Result<Vec<String>, Failure> {
        let on = patterns.iter().cloned().map(Toml::String).collect();
        let any = Table::from_iter([("block".to_owned(), Toml::String("4KiB".into()))]);
        let load = Table::from_iter([
            ("workload".to_owned(), Toml::String("copy".into())),
            ("on".to_owned(), Toml::Array(on)),
        ]);
        let scenario = self.scenario(&any, vec![load], Duration::from_secs(1), None)?.1;
        let first = scenario.plans.first().and_then(|plan| plan.loads.first());
        Ok(first.map(|load| load.on.clone()).unwrap_or_default())
    }

    /// The lab with one plan: these loads of the workload `copy`, and what must hold.
    fn scenario(
        &self,
        workload: &Table,
        loads: Vec<Table>,
        measure: Duration,
        goal: Option<(&str, Duration)>,
    ) -> Result<(Source, Scenario), Failure> {
        let mut table = self.table.clone();
        let text = |text: String| Toml::String(text);
        let workloads = Table::from_iter([("copy".to_owned(), Toml::Table(workload.clone()))]);
        let loads = loads.into_iter().map(Toml::Table).collect();
        let plan = Table::from_iter([
            ("load".to_owned(), Toml::Array(loads)),
            ("warmup".to_owned(), text("0s".into())),
            ("measure".to_owned(), text(format!("{}ns", measure.as_nanos().max(1)))),
            ("cooldown".to_owned(), text("0s".into())),
        ]);
        table.insert("workload".into(), Toml::Table(workloads));
        table.insert("plan".into(), Toml::Table(plan));
        if let Some((point, within)) = goal {
            let latency = Table::from_iter([
                ("point".to_owned(), text(point.to_owned())),
                ("of".to_owned(), text("response".into())),
                ("at_most".to_owned(), text(format!("{}ns", within.as_nanos()))),
            ]);
            let goal = Table::from_iter([("latency".to_owned(), Toml::Table(latency))]);
            table.insert("goal".into(), Toml::Array(vec![Toml::Table(goal)]));
        }
        let written = toml::to_string(&table)
            .map_err(|e| Failure::incomplete(format!("the lab cannot be written: {e}")))?;
        let source = Source { text: written, ..self.source.clone() };
        let mut scenario = scenario::load(&source)?;
        replays::settle(&mut scenario)?;
        Ok((source, scenario))
    }

    /// So many copies, dealt to the members in turn.
    fn loads(&self, copies: u32) -> Vec<Table> {
        let members = self.members.len();
        let copies = copies as usize;
        let rounds = copies.div_ceil(members);
        let of = |round: usize| {
            let on = &self.members[..members.min(copies - round * members)];
            let on = on.iter().cloned().map(Toml::String).collect();
            Table::from_iter([
                ("workload".to_owned(), Toml::String("copy".into())),
                ("on".to_owned(), Toml::Array(on)),
            ])
        };
        (0..rounds).map(of).collect()
    }

    /// Simulates so many copies.
    fn carries(
        &self,
        args: &ProjectArgs,
        (view, copies): (View, u32),
        trace: &Observed,
        (folder, stop): (&Passing, &Control),
    ) -> Result<Tried, Failure> {
        let workload = trace.workload(args, view)?;
        let measure = Duration::from_nanos(trace.span.0).max(Duration::from_millis(1));
        let goal = Some((&*args.point, args.within));
        let (source, scenario) = self.scenario(&workload, self.loads(copies), measure, goal)?;
        let stages = scenario.stages();
        let compiled = CompiledLab::new(&scenario, &stages)?;
        let order = sim::simulate::Order {
            stages: &stages,
            named: &sim::simulate::Named::of(&scenario),
            seed: scenario.head.seed,
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            settle: false,
            compile: &|step| compiled.plant(step).map_err(|error| error.to_string()),
            stop,
        };
        let path = folder.place(&format!("{}-{copies}.wsr", view.word()));
        let writer = Writer::create(&path, &simulate::head(&source, &scenario))?;
        let outcome = simulate::carry_out(&order, writer, &path, true)?;
        if stop.stopped() {
            return Err(Failure::incomplete("stopped before the answer was found"));
        }
        if let Some((_, why)) = outcome.failure {
            return Err(Failure::incomplete(format!("{}, {copies} copies: {why}", view.about())));
        }
        let analysis = findings::analyse(&Record::open(&path)?).map_err(Failure::incomplete)?;
        let goal = analysis.goals.first();
        let latency = goal.map(|goal| match &goal.observed {
            Some(observed) => observed.to_string(),
            None => goal.reason.clone(),
        });
        Ok(Tried {
            copies,
            held: goal.is_some_and(|goal| goal.status == Status::Met),
            latency: latency.unwrap_or_else(|| "nothing completed".to_owned()),
            limit: analysis.steps.first().and_then(limited),
        })
    }
}

/// A folder that is removed in the end.
struct Passing(PathBuf);

impl Passing {
    fn new() -> Result<Passing, Failure> {
        let name = format!("wirespeed-project-{}-{}", std::process::id(), clock::now().0);
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder)
            .map_err(|e| Failure::incomplete(format!("cannot make {}: {e}", folder.display())))?;
        Ok(Passing(folder))
    }

    fn place(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Passing {
    fn drop(&mut self) {
        // Where it cannot be removed, the system clears its temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn limit(tried: &Tried) -> (String, String) {
    match &tried.limit {
        Some((limit, sure)) => {
            let sure = sure.map_or("-".to_owned(), |sure| format!("{:.0}%", sure * 100.0));
            (limit.clone(), sure)
        }
        None => ("not determined".to_owned(), "-".to_owned()),
    }
}

fn report(args: &ProjectArgs, trace: &Observed, lab: &Lab, answers: &[Answer]) -> String {
    let (what, where_) = (file_name(&args.workload), file_name(&args.lab));
    let within = units::duration(args.within);
    let mut text = format!(
        "How many copies of {what} {where_} carries while {} ≤ {within}\n\
         One copy: {} I/Os in {}, {} a second on average, {} in its busiest 20 s\n\
         Copies are dealt to {} in turn and begin together.\n\n",
        args.point,
        units::count(trace.ios as f64),
        units::duration(Duration::from_nanos(trace.span.0)),
        units::count((trace.ios as f64 / trace.span.as_secs_f64().max(1e-9)).round()),
        units::count(trace.busiest.round()),
        match &lab.members[..] {
            [one] => one.clone(),
            [first, .., last] => format!("{first} to {last} ({})", lab.members.len()),
            [] => String::new(),
        },
    );
    let head = ["", "carries", &args.point, "breaks at", &args.point, "limited by", "sure"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    for answer in answers {
        let most = answer.broke.is_none();
        let carried = answer.carried.as_ref();
        let count = carried.map_or(0, |of| of.copies);
        let (by, sure) = answer.broke.as_ref().map(limit).unwrap_or_default();
        let latency = |of: Option<&Tried>| of.map_or("-".to_owned(), |of| of.latency.clone());
        rows.push(vec![
            answer.view.about().to_owned(),
            if most { format!("≥ {count}") } else { count.to_string() },
            latency(carried),
            answer.broke.as_ref().map_or("-".to_owned(), |of| of.copies.to_string()),
            latency(answer.broke.as_ref()),
            by,
            sure,
        ]);
    }
    text += &table::rows(&rows, &[1, 2, 3, 4, 6], 100);
    text += "\nReplayed copies burst at the same moments, fitted ones each at its own; means of 20 s know of no burst. What the\n\
             old storage delayed is in the trace's arrivals.\n";
    text
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

fn document(args: &ProjectArgs, trace: &Observed, answers: &[Answer]) -> Value {
    let tried = |of: &Option<Tried>| {
        of.as_ref().map(|of| {
            json!({
                "copies": of.copies,
                "latency": of.latency,
                "limit": of.limit.as_ref().map(|(limit, _)| limit),
                "probability": of.limit.as_ref().and_then(|(_, sure)| *sure),
            })
        })
    };
    let all: Vec<Value> = answers
        .iter()
        .map(|answer| {
            json!({
                "view": answer.view.word(),
                "carried": answer.carried.as_ref().map_or(0, |of| of.copies),
                "at_most_tried": answer.broke.is_none(),
                "holds": tried(&answer.carried),
                "breaks": tried(&answer.broke),
            })
        })
        .collect();
    json!({
        "workload": args.workload.display().to_string(),
        "lab": args.lab.display().to_string(),
        "point": args.point,
        "within_ns": u64::try_from(args.within.as_nanos()).unwrap_or(u64::MAX),
        "ios": trace.ios,
        "span_ns": trace.span.0,
        "busiest_rate": trace.busiest,
        "answers": all,
    })
}
