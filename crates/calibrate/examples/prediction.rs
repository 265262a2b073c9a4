//! The page of `scripts/predict`: predictions, later measurements, and the errors.
//!
//! `prediction DIR NAME…` reads `NAME.predicted.wsr`, `NAME.low.wsr`, `NAME.high.wsr` and the rounds
//! `NAME.measured-1.wsr`, `NAME.measured-2.wsr` …, those of the control, `control.before-1.wsr` and `control.after-1.wsr` …,
//! `digests` and `calibration.txt` of a directory, and prints the page.
//! What was measured is the median of the rounds. It fails where a prediction is not older than every measurement, and
//! where errors are too large or too few ranges hold.
//!
//! `prediction --peak RECORD PLAN BLOCK` prints the most operations a second in the steps of a plan with that block.

use findings::{Analysis, StepFigures, analyse};
use record::Record;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Greatest median error that is accepted, greatest error, and least share of the ranges that hold what was measured; of
/// throughput and mean latency together.
const MEDIAN_MAX: f64 = 0.05;
const WORST_MAX: f64 = 0.15;
const COVERED_MIN: f64 = 0.90;
/// How exactly a paced port keeps its rate: it makes up for what late threads lose, by at most this share more in a second
/// (`san::server::pacing`). No range is narrower.
const PORT: f64 = 0.01;
/// The page lists errors from this on.
const FAR: f64 = 0.10;

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(dir) = args.next().map(PathBuf::from) else {
        eprintln!("prediction: name the directory and the runs");
        return ExitCode::from(2);
    };
    let names: Vec<String> = args.map(|name| name.to_string_lossy().into_owned()).collect();
    if dir.as_os_str() == "--peak" {
        return match peak(&names) {
            Ok(peak) => {
                println!("{peak:.0}");
                ExitCode::SUCCESS
            }
            Err(error) => failed(&*error),
        };
    }
    match page(&dir, &names) {
        Ok((text, score)) => {
            print!("{text}");
            match score.is_met() {
                true => ExitCode::SUCCESS,
                false => {
                    eprintln!("prediction: {}", score.text());
                    ExitCode::FAILURE
                }
            }
        }
        Err(error) => failed(&*error),
    }
}

fn failed(error: &dyn Error) -> ExitCode {
    eprintln!("prediction: {error}");
    ExitCode::from(3)
}

/// The most operations a second in the steps of a plan with a block.
fn peak(args: &[String]) -> Outcome<f64> {
    let [path, plan, block] = args else { return Err("name a record, a plan and a block".into()) };
    let run = Run::open(Path::new(path))?;
    let has = |step: &&StepFigures| {
        step.plan == *plan
            && step.settings.iter().any(|(key, value)| key == "block" && value == block)
    };
    let steps = run.analysis.steps.iter().filter(has);
    let peak = steps.map(|step| step.total.both.iops).fold(0.0, f64::max);
    if peak > 0.0 { Ok(peak) } else { Err(format!("{path} has no such step").into()) }
}

/// How well the predictions did.
struct Score {
    /// Of throughput and of mean latency.
    medians: [f64; 2],
    median: f64,
    worst: f64,
    /// Ranges that hold what was measured, and all.
    covered: (usize, usize),
}

impl Score {
    fn of(rows: &[Row]) -> Score {
        let figures = || rows.iter().flat_map(|row| [&row.iops, &row.latency]);
        let error = |figure: &Figure| figure.error().abs();
        Score {
            medians: [
                median(rows.iter().map(|row| error(&row.iops))),
                median(rows.iter().map(|row| error(&row.latency))),
            ],
            median: median(figures().map(error)),
            worst: figures().map(error).fold(0.0, f64::max),
            covered: (figures().filter(|figure| figure.is_covered()).count(), 2 * rows.len()),
        }
    }

    fn share(&self) -> f64 {
        self.covered.0 as f64 / self.covered.1.max(1) as f64
    }

    fn is_met(&self) -> bool {
        self.median <= MEDIAN_MAX && self.worst <= WORST_MAX && self.share() >= COVERED_MIN
    }

    fn text(&self) -> String {
        format!(
            "a median error of {:.1}%, at most {:.1}%; {} of {} ranges hold",
            100.0 * self.median,
            100.0 * self.worst,
            self.covered.0,
            self.covered.1
        )
    }
}

/// A record with its analysis.
struct Run {
    record: Record,
    analysis: Analysis,
}

impl Run {
    fn open(path: &Path) -> Outcome<Run> {
        let record = Record::open(path)?;
        let analysis = analyse(&record)?;
        Ok(Run { record, analysis })
    }

    fn wall_ns(&self) -> u64 {
        self.record.head().wall_ns
    }

    fn fact(&self, key: &str) -> Option<&str> {
        let known = self.record.facts().iter().find(|fact| fact.key == key);
        known.map(|fact| fact.value.as_str())
    }
}

/// The prediction and the measurement of a run.
struct Pair {
    name: String,
    predicted: Run,
    ends: [Run; 2],
    measured: Vec<Run>,
}

impl Pair {
    fn open(dir: &Path, name: &str) -> Outcome<Pair> {
        let of = |kind: &str| Run::open(&dir.join(format!("{name}.{kind}.wsr")));
        let ends = [of("low")?, of("high")?];
        let measured = rounds(dir, &format!("{name}.measured"))?;
        Ok(Pair { name: name.to_owned(), predicted: of("predicted")?, ends, measured })
    }
}

/// The runs `NAME-1.wsr`, `NAME-2.wsr` …, at least one.
fn rounds(dir: &Path, name: &str) -> Outcome<Vec<Run>> {
    let path = |round: usize| dir.join(format!("{name}-{round}.wsr"));
    let mut runs = vec![Run::open(&path(1))?];
    while path(runs.len() + 1).exists() {
        runs.push(Run::open(&path(runs.len() + 1))?);
    }
    Ok(runs)
}

/// A step of the control: its I/Os a second in each round of the two halves.
struct Control {
    step: String,
    halves: [Vec<f64>; 2],
}

impl Control {
    fn all(dir: &Path) -> Outcome<Vec<Control>> {
        let [before, after] = [rounds(dir, "control.before")?, rounds(dir, "control.after")?];
        let steps = before[0].analysis.steps.len();
        if before.iter().chain(&after).any(|run| run.analysis.steps.len() != steps) {
            return Err("the records of the control have different steps".into());
        }
        let of = |n: usize| {
            let rates = |runs: &[Run]| {
                runs.iter().map(|run| run.analysis.steps[n].total.both.iops).collect()
            };
            let step = named(&before[0].analysis.steps[n].settings);
            Control { step, halves: [rates(&before), rates(&after)] }
        };
        Ok((0..steps).map(of).collect())
    }

    /// By how much the second half differs from the first.
    fn moved(&self) -> f64 {
        let [before, after] = self.halves.each_ref().map(|half| median(half.iter().copied()));
        after / before - 1.0
    }
}

/// The settings of a step.
fn named(settings: &[(String, String)]) -> String {
    let settings: Vec<String> =
        settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
    settings.join(", ")
}

/// The least and the greatest.
fn extremes(all: impl Iterator<Item = f64>) -> (f64, f64) {
    all.fold((f64::INFINITY, 0.0), |(low, high), one| (low.min(one), high.max(one)))
}

/// A step: its prediction with range, and its measurement.
struct Row<'a> {
    title: &'a str,
    step: String,
    iops: Figure,
    latency: Figure,
    rate: f64,
    /// What the prediction extrapolates.
    beyond: Vec<String>,
}

struct Figure {
    predicted: f64,
    from: f64,
    to: f64,
    measured: f64,
    /// The least and the greatest of its rounds.
    rounds: (f64, f64),
}

impl Figure {
    fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }

    fn is_covered(&self) -> bool {
        (self.from..=self.to).contains(&self.measured)
    }
}

fn page(dir: &Path, names: &[String]) -> Outcome<(String, Score)> {
    let pairs: Vec<Pair> =
        names.iter().map(|name| Pair::open(dir, name)).collect::<Outcome<_>>()?;
    let last = pairs.iter().map(|pair| pair.predicted.wall_ns()).max().unwrap_or(0);
    let measured = pairs.iter().flat_map(|pair| &pair.measured);
    let first = measured.map(Run::wall_ns).min().unwrap_or(0);
    if last >= first {
        return Err(
            "a prediction is not older than every measurement: run scripts/predict anew".into()
        );
    }
    let mut rows = Vec::new();
    for pair in &pairs {
        rows.extend(rows_of(pair)?);
    }
    let score = Score::of(&rows);
    let control = Control::all(dir)?;
    let mut text = String::new();
    head(&mut text, &pairs, &control, &score)?;
    table(&mut text, &rows)?;
    moved(&mut text, &control)?;
    reasons(&mut text, &rows)?;
    fitted(&mut text, dir)?;
    order(&mut text, dir, (last, first))?;
    Ok((text, score))
}

fn rows_of(pair: &Pair) -> Outcome<Vec<Row<'_>>> {
    let steps = pair.predicted.analysis.steps.len();
    let others = pair.ends.iter().chain(&pair.measured);
    if steps == 0 || others.into_iter().any(|run| run.analysis.steps.len() != steps) {
        return Err(format!("{}: the records have different steps", pair.name).into());
    }
    let row = |n: usize| {
        let at = |run: &Run| -> Outcome<(f64, f64)> {
            let both = &run.analysis.steps[n].total.both;
            let latency = both.mean_ns.filter(|_| both.iops > 0.0);
            Ok((
                both.iops,
                latency.ok_or_else(|| format!("{}: nothing was done", pair.name))? / 1e9,
            ))
        };
        let predicted = at(&pair.predicted)?;
        let rounds: Vec<(f64, f64)> = pair.measured.iter().map(at).collect::<Outcome<_>>()?;
        let rates = pair.measured.iter().map(|run| run.analysis.steps[n].total.both.bytes_per_s);
        let ends = [at(&pair.ends[0])?, at(&pair.ends[1])?];
        let step = &pair.predicted.analysis.steps[n];
        let own = [interval(step, "iops"), interval(step, "service-mean")];
        let figure = |of: fn((f64, f64)) -> f64, own: Option<(f64, f64)>| {
            let all = [of(predicted), of(ends[0]), of(ends[1])];
            let all = || all.into_iter().chain(own.into_iter().flat_map(|(a, b)| [a, b]));
            Figure {
                predicted: of(predicted),
                from: all().fold(f64::INFINITY, f64::min) * (1.0 - PORT),
                to: all().fold(0.0, f64::max) * (1.0 + PORT),
                measured: median(rounds.iter().map(|round| of(*round))),
                rounds: extremes(rounds.iter().map(|round| of(*round))),
            }
        };
        Ok(Row {
            title: &pair.predicted.record.head().title,
            step: named(&step.settings),
            iops: figure(|f| f.0, own[0]),
            latency: figure(|f| f.1, own[1].map(|(a, b)| (a / 1e9, b / 1e9))),
            rate: median(rates),
            beyond: beyond(&pair.predicted.record, step.index),
        })
    };
    (0..steps).map(row).collect()
}

/// What a step's prediction says that it extrapolates.
fn beyond(record: &Record, step: u32) -> Vec<String> {
    let events = record.events().iter().filter(|event| event.step.is_none_or(|of| of == step));
    let what = events.filter_map(|event| {
        let (what, _) = event.text.strip_prefix("extrapolated: a ")?.split_once(" is ")?;
        Some(what.rsplit_once(" of ")?.0.to_owned())
    });
    let mut all: Vec<String> = what.collect();
    all.sort_unstable();
    all.dedup();
    all
}

fn interval(step: &StepFigures, figure: &str) -> Option<(f64, f64)> {
    let of = step.confidence.iter().find(|one| one.figure == figure)?;
    Some((of.low, of.high))
}

fn head(text: &mut String, pairs: &[Pair], control: &[Control], score: &Score) -> Outcome<()> {
    let Some(pair) = pairs.first() else { return Err("no run is named".into()) };
    let steps = score.covered.1 / 2;
    let moved = control.iter().map(|step| step.moved().abs()).fold(0.0, f64::max);
    let fact = |key: &str| pair.measured[0].fact(key).unwrap_or("not known").to_owned();
    writeln!(
        text,
        "# Predicted, then measured\n\n\
         <!-- Written by scripts/predict. -->\n\n\
         `make predict` measures a small lab on an embedded SAN in rounds, fits this machine's figures to it with\n\
         [`wirespeed calibrate`](calibrate.md), and predicts {} other runs with `wirespeed simulate` **before** they are\n\
         measured with `wirespeed run`, {} times. Both use the same scenario. What was measured is the median of the rounds.\n\
         The script writes this page.\n\n\
         | | | goal |\n|---|---|---|\n\
         | steps predicted | {steps} in {} runs | |\n\
         | median error | **{:.1}%**: throughput {:.1}%, mean latency {:.1}% | at most {:.0}% |\n\
         | greatest error | **{:.1}%** | at most {:.0}% |\n\
         | 95% ranges that hold what was measured | **{} of {}** | at least {:.0}% |\n\
         | a control, used for nothing else, moved by, from the fit to the measurements | {:.1}% | |\n\
         | machine | {}, {} processors, Linux {} | |\n",
        pairs.len(),
        pair.measured.len(),
        pairs.len(),
        100.0 * score.median,
        100.0 * score.medians[0],
        100.0 * score.medians[1],
        100.0 * MEDIAN_MAX,
        100.0 * score.worst,
        100.0 * WORST_MAX,
        score.covered.0,
        score.covered.1,
        100.0 * COVERED_MIN,
        100.0 * moved,
        fact("cpu-model"),
        fact("cpu-count"),
        fact("kernel"),
    )?;
    Ok(())
}

fn table(text: &mut String, rows: &[Row]) -> Outcome<()> {
    writeln!(
        text,
        "## Every step\n\n\
         The range in brackets comes from the simulator's own scatter and the intervals of the fitted figures, which\n\
         include the machine's drift and how far the model itself was off in the fit; and a port keeps its rate within 1%.\n\
         *Beyond the fit* is what the prediction itself says it extrapolates. In brackets behind what was measured are the\n\
         least and the greatest of the rounds, where they differ by more than 2%.\n\n\
         | run | step | predicted IOPS | measured | error | MB/s | predicted latency | measured | error | beyond the fit |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    )?;
    for row in rows {
        let (iops, latency) = (&row.iops, &row.latency);
        writeln!(
            text,
            "| {} | {} | {} ({} to {}) | {} | {:+.1}% | {} | {} ({} to {}) | {} | {:+.1}% | {} |",
            row.title,
            if row.step.is_empty() { "–" } else { &row.step },
            count(iops.predicted),
            count(iops.from),
            count(iops.to),
            spread(iops, count),
            100.0 * iops.error(),
            count(row.rate / 1e6),
            time(latency.predicted),
            time(latency.from),
            time(latency.to),
            spread(latency, time),
            100.0 * latency.error(),
            if row.beyond.is_empty() { "–".to_owned() } else { row.beyond.join(", ") },
        )?;
    }
    text.push('\n');
    Ok(())
}

/// What was measured, with its rounds where they differ.
fn spread(figure: &Figure, text: fn(f64) -> String) -> String {
    let ((low, high), measured) = (figure.rounds, text(figure.measured));
    match high > low * 1.02 {
        true => format!("{measured} ({} to {})", text(low), text(high)),
        false => measured,
    }
}

/// How far the machine itself moved.
fn moved(text: &mut String, control: &[Control]) -> Outcome<()> {
    writeln!(
        text,
        "## How far the machine itself moved\n\n\
         Two VMs with 8 reads each, a processor for each VM, were measured in every round of the fit and in every later one.\n\
         These records are used for nothing else:\n\n\
         | step | median IOPS during the fit | later | change |\n|---|---|---|---|"
    )?;
    for step in control {
        let half = |half: &[f64]| {
            let (low, high) = extremes(half.iter().copied());
            let median = count(median(half.iter().copied()));
            format!("{median} ({} to {})", count(low), count(high))
        };
        let [before, after] = step.halves.each_ref().map(|rates| half(rates));
        writeln!(text, "| {} | {before} | {after} | {:+.1}% |", step.step, 100.0 * step.moved())?;
    }
    text.push('\n');
    Ok(())
}

fn reasons(text: &mut String, rows: &[Row]) -> Outcome<()> {
    let error = |row: &Row| row.iops.error().abs().max(row.latency.error().abs());
    writeln!(text, "## What is not predicted well\n")?;
    let mut any = false;
    for row in rows.iter().filter(|row| error(row) > FAR) {
        any = true;
        let step = if row.step.is_empty() { String::new() } else { format!(", {}", row.step) };
        writeln!(text, "- **{}**{step}: {:.1}%.", row.title, 100.0 * error(row))?;
    }
    match any {
        false => writeln!(text, "No step is off by more than {:.0}%.\n", 100.0 * FAR)?,
        true => writeln!(
            text,
            "\nThe model has threads that serve passes, processors that they share first come, first served and that halt, and\n\
             caches of one size. It has no other load on the machine, and no hypervisor that stops it for milliseconds or moves\n\
             its processors; the drift between rounds shows how much these matter here. Where VMs share processors a run of\n\
             theirs is in one of two states, as if their threads had been put together in two ways, and the model has the mean\n\
             of both.\n"
        )?,
    }
    Ok(())
}

fn fitted(text: &mut String, dir: &Path) -> Outcome<()> {
    let calibration = std::fs::read_to_string(dir.join("calibration.txt"))?;
    writeln!(text, "## The fit\n\n```text\n{}\n```\n", calibration.trim_end())?;
    Ok(())
}

fn order(text: &mut String, dir: &Path, (last, first): (u64, u64)) -> Outcome<()> {
    let digests = std::fs::read_to_string(dir.join("digests"))?;
    writeln!(
        text,
        "## The order\n\n\
         The last prediction started {} before the first measurement. The script writes the digests of all predictions\n\
         before it measures anything, and checks them afterwards. SHA-256 of the records, first 16 digits:\n\n\
         | record | digest |\n|---|---|",
        units::duration(Duration::from_nanos(first - last)),
    )?;
    for line in digests.lines() {
        let (digest, name) = line.split_once("  ").ok_or("an invalid line of digests")?;
        let digest = digest.get(..16).ok_or("a digest that is too short")?;
        writeln!(text, "| `{}` | `{digest}` |", name.trim_start_matches("./"))?;
    }
    Ok(())
}

fn median(all: impl Iterator<Item = f64>) -> f64 {
    let mut all: Vec<f64> = all.collect();
    all.sort_by(f64::total_cmp);
    match all.len() {
        0 => f64::INFINITY,
        n if n % 2 == 1 => all[n / 2],
        n => (all[n / 2 - 1] + all[n / 2]) / 2.0,
    }
}

fn count(value: f64) -> String {
    units::count(value.round())
}

fn time(seconds: f64) -> String {
    units::duration(Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
}
