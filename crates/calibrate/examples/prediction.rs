//! The page of `scripts/predict`: predictions, later measurements, and the errors.
//!
//! `prediction DIR NAME…` reads `NAME.predicted.wsr`, `NAME.low.wsr`, `NAME.high.wsr` and `NAME.measured.wsr`,
//! `digests` and `calibration.txt` of a directory, and prints the page. It fails where a prediction is not older than
//! every measurement, and where the median error of throughput is above 10%.

use findings::{Analysis, StepFigures, analyse};
use record::Record;
use std::error::Error;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Greatest median error of throughput that is accepted.
const MEDIAN_MAX: f64 = 0.10;
/// The page explains errors from this on.
const FAR: f64 = 0.10;

/// What the model lacks in a run: printed where its steps have large errors.
const REASONS: [(&str, &str); 4] = [
    (
        "alone",
        "A paced port is a token bucket that passes 1 ms worth of bytes at once, so that a single read often does not wait \
         at all, and the port's time and the machine's overlap. The model has a wire, where they follow each other.",
    ),
    (
        "machine",
        "Only the machine limits. The cost of an I/O falls with the number outstanding: a busy thread is not woken for each \
         I/O, and answers several with one system call. The model has one cost per I/O and one per byte, fitted to one VM \
         with at most eight outstanding.",
    ),
    (
        "open",
        "Reads of an open loop find the array's threads asleep. Waking them is part of the latency and depends on the \
         governor and on other load; a fit to closed loops, which keep them awake, does not include it.",
    ),
    ("", "The port is full, and its rate is known; the rest is the machine's processors."),
];

fn main() -> ExitCode {
    let mut args = std::env::args_os().skip(1);
    let Some(dir) = args.next().map(PathBuf::from) else {
        eprintln!("prediction: name the directory and the runs");
        return ExitCode::from(2);
    };
    let names: Vec<String> = args.map(|name| name.to_string_lossy().into_owned()).collect();
    match page(&dir, &names) {
        Ok((text, median)) => {
            print!("{text}");
            match median <= MEDIAN_MAX {
                true => ExitCode::SUCCESS,
                false => {
                    eprintln!("prediction: the median error is {:.1}%", 100.0 * median);
                    ExitCode::FAILURE
                }
            }
        }
        Err(error) => {
            eprintln!("prediction: {error}");
            ExitCode::from(3)
        }
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
    measured: Run,
}

impl Pair {
    fn open(dir: &Path, name: &str) -> Outcome<Pair> {
        let of = |kind: &str| Run::open(&dir.join(format!("{name}.{kind}.wsr")));
        let ends = [of("low")?, of("high")?];
        Ok(Pair {
            name: name.to_owned(),
            predicted: of("predicted")?,
            ends,
            measured: of("measured")?,
        })
    }
}

/// A step: its prediction with range, and its measurement.
struct Row<'a> {
    run: &'a str,
    title: &'a str,
    step: String,
    iops: Figure,
    latency: Figure,
    rate: f64,
}

struct Figure {
    predicted: f64,
    from: f64,
    to: f64,
    measured: f64,
}

impl Figure {
    fn error(&self) -> f64 {
        self.predicted / self.measured - 1.0
    }
}

fn page(dir: &Path, names: &[String]) -> Outcome<(String, f64)> {
    let pairs: Vec<Pair> =
        names.iter().map(|name| Pair::open(dir, name)).collect::<Outcome<_>>()?;
    let last = pairs.iter().map(|pair| pair.predicted.wall_ns()).max().unwrap_or(0);
    let first = pairs.iter().map(|pair| pair.measured.wall_ns()).min().unwrap_or(0);
    if last >= first {
        return Err(
            "a prediction is not older than every measurement: run scripts/predict anew".into()
        );
    }
    let mut rows = Vec::new();
    for pair in &pairs {
        rows.extend(rows_of(pair)?);
    }
    let median = median(rows.iter().map(|row| row.iops.error().abs()));
    let of_latency = self::median(rows.iter().map(|row| row.latency.error().abs()));
    let mut text = String::new();
    head(&mut text, &pairs, rows.len(), [median, of_latency])?;
    table(&mut text, &rows)?;
    reasons(&mut text, &rows)?;
    fitted(&mut text, dir)?;
    order(&mut text, dir, (last, first))?;
    Ok((text, median))
}

fn rows_of(pair: &Pair) -> Outcome<Vec<Row<'_>>> {
    let steps = |run: &'_ Run| run.analysis.steps.len();
    let of = [&pair.predicted, &pair.ends[0], &pair.ends[1], &pair.measured];
    if of.iter().any(|run| steps(run) != steps(&pair.measured)) || steps(&pair.measured) == 0 {
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
        let (predicted, measured) = (at(&pair.predicted)?, at(&pair.measured)?);
        let ends = [at(&pair.ends[0])?, at(&pair.ends[1])?];
        let step = &pair.predicted.analysis.steps[n];
        let own = [interval(step, "iops"), interval(step, "service-mean")];
        let figure = |of: fn((f64, f64)) -> f64, own: Option<(f64, f64)>| {
            let all = [of(predicted), of(ends[0]), of(ends[1])];
            let all = || all.into_iter().chain(own.into_iter().flat_map(|(a, b)| [a, b]));
            Figure {
                predicted: of(predicted),
                from: all().fold(f64::INFINITY, f64::min),
                to: all().fold(0.0, f64::max),
                measured: of(measured),
            }
        };
        let settings = &step.settings;
        let settings: Vec<String> =
            settings.iter().map(|(key, value)| format!("{key} {value}")).collect();
        Ok(Row {
            run: &pair.name,
            title: &pair.measured.record.head().title,
            step: settings.join(", "),
            iops: figure(|f| f.0, own[0]),
            latency: figure(|f| f.1, own[1].map(|(a, b)| (a / 1e9, b / 1e9))),
            rate: pair.measured.analysis.steps[n].total.both.bytes_per_s,
        })
    };
    (0..steps(&pair.measured)).map(row).collect()
}

fn interval(step: &StepFigures, figure: &str) -> Option<(f64, f64)> {
    let of = step.confidence.iter().find(|one| one.figure == figure)?;
    Some((of.low, of.high))
}

fn head(text: &mut String, pairs: &[Pair], steps: usize, medians: [f64; 2]) -> Outcome<()> {
    let Some(pair) = pairs.first() else { return Err("no run is named".into()) };
    let fact = |key: &str| pair.measured.fact(key).unwrap_or("not known").to_owned();
    writeln!(
        text,
        "# Predicted, then measured\n\n\
         <!-- Written by scripts/predict. -->\n\n\
         `make predict` measures a small lab on an embedded SAN, fits this machine's figures to it with\n\
         [`wirespeed calibrate`](calibrate.md), and predicts {} other runs with `wirespeed simulate` **before** they are\n\
         measured with `wirespeed run`. Both use the same scenario. The script writes this page.\n\n\
         | | |\n|---|---|\n\
         | steps predicted | {steps} in {} runs |\n\
         | median error of throughput | **{:.1}%** |\n\
         | median error of mean latency | **{:.1}%** |\n\
         | machine | {}, {} processors, Linux {} |\n",
        pairs.len(),
        pairs.len(),
        100.0 * medians[0],
        100.0 * medians[1],
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
         The range in brackets comes from the simulator's own scatter and the intervals of the fitted figures.\n\n\
         | run | step | predicted IOPS | measured | error | MB/s | predicted latency | measured | error |\n\
         |---|---|---|---|---|---|---|---|---|"
    )?;
    for row in rows {
        let (iops, latency) = (&row.iops, &row.latency);
        writeln!(
            text,
            "| {} | {} | {} ({} to {}) | {} | {:+.1}% | {} | {} ({} to {}) | {} | {:+.1}% |",
            row.title,
            if row.step.is_empty() { "–" } else { &row.step },
            count(iops.predicted),
            count(iops.from),
            count(iops.to),
            count(iops.measured),
            100.0 * iops.error(),
            count(row.rate / 1e6),
            time(latency.predicted),
            time(latency.from),
            time(latency.to),
            time(latency.measured),
            100.0 * latency.error(),
        )?;
    }
    text.push('\n');
    Ok(())
}

fn reasons(text: &mut String, rows: &[Row]) -> Outcome<()> {
    let far = |row: &&Row| row.iops.error().abs().max(row.latency.error().abs()) > FAR;
    let far: Vec<&Row> = rows.iter().filter(far).collect();
    writeln!(text, "## What is not predicted well\n")?;
    if far.is_empty() {
        writeln!(text, "No step is off by more than {:.0}%.\n", 100.0 * FAR)?;
        return Ok(());
    }
    let mut explained: Vec<&str> = Vec::new();
    for row in far {
        if explained.contains(&row.run) {
            continue;
        }
        explained.push(row.run);
        let reason = REASONS.iter().find(|(run, _)| *run == row.run || run.is_empty());
        let why = format!("- **{}** {}", row.title, reason.map_or("", |(_, why)| why));
        writeln!(text, "{}", wrapped(&why))?;
    }
    text.push('\n');
    Ok(())
}

/// Wraps a text to 118 characters; continuation lines are indented for a list item.
fn wrapped(text: &str) -> String {
    let (mut all, mut column) = (String::new(), 0);
    for word in text.split_whitespace() {
        let long = word.chars().count();
        if column > 0 && column + 1 + long > 118 {
            all.push_str("\n  ");
            column = 2;
        } else if column > 0 {
            all.push(' ');
            column += 1;
        }
        all.push_str(word);
        column += long;
    }
    all
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
