//! The throughput of a paced port, second by second: eight sessions that read, that write, and both at once, at rates
//! from 50 to 800 MB/s. A deviation is that of the worst second from the rate; a share is that of one session from an
//! eighth. A rate that the machine does not carry is reported as such.

use crate::target::{Server, call, words};
use crate::tools::Problem;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const RATES: [u32; 5] = [50, 100, 200, 400, 800];
/// Sessions in each direction.
const SESSIONS: usize = 8;
/// The tolerance of a second, and of a session's share.
const WITHIN: f64 = 0.01;
const SHARES_WITHIN: f64 = 0.02;

const BINARY: &str = env!("CARGO_BIN_EXE_wirespeed");

#[derive(Clone, Copy, PartialEq)]
enum Direction {
    Read,
    Write,
}

/// The throughput in one direction.
struct Seen {
    /// MB/s of every whole second.
    seconds: Vec<f64>,
    /// MB/s of every session over all of them.
    sessions: Vec<f64>,
}

/// Measures every rate and prints the results.
pub fn report(scratch: &Path) -> Result<(), Problem> {
    println!(
        "\n(i) paced ports: {SESSIONS} sessions in each direction, 64 KiB, 8 in flight each, the first second discarded\n  \
         rate MB/s  direction   mean MB/s  worst second  session from its share"
    );
    for rate in RATES {
        let portal = format!("127.0.0.1:0,rate={rate}MB/s");
        let server = Server::wirespeed(None, &["--portal", &portal, "--volume", "ram:256MiB"])?;
        let token = token(&server.url)?;
        for (name, directions) in [
            ("read", &[Direction::Read][..]),
            ("write", &[Direction::Write]),
            ("both", &[Direction::Read, Direction::Write]),
        ] {
            for (direction, seen) in
                directions.iter().zip(load(&server.url, &token, directions, scratch)?)
            {
                let shown = match (name, direction) {
                    ("both", Direction::Read) => "both: read",
                    ("both", Direction::Write) => "both: write",
                    (name, _) => name,
                };
                line(rate, shown, &seen);
            }
        }
    }
    Ok(())
}

fn line(rate: u32, name: &str, seen: &Seen) {
    let rate = f64::from(rate);
    let mean = seen.seconds.iter().sum::<f64>() / seen.seconds.len() as f64;
    let worst = worst(&seen.seconds, rate);
    let share = worst_share(&seen.sessions);
    let verdict = match () {
        () if worst.abs() > WITHIN => "  not carried here",
        () if share.abs() > SHARES_WITHIN => "  shares MISSED",
        () => "",
    };
    println!(
        "  {rate:>9}  {name:<11} {mean:>9.1}  {:>+11.2}%  {:>+21.2}%{verdict}",
        100.0 * worst,
        100.0 * share
    );
}

/// The greatest relative deviation from `wanted`, with its sign.
fn worst(values: &[f64], wanted: f64) -> f64 {
    let off = values.iter().map(|value| value / wanted - 1.0);
    off.max_by(|a, b| a.abs().total_cmp(&b.abs())).unwrap_or(f64::NAN)
}

fn worst_share(sessions: &[f64]) -> f64 {
    worst(sessions, sessions.iter().sum::<f64>() / sessions.len() as f64)
}

/// The token that permits writing a volume of the target.
fn token(url: &str) -> Result<String, Problem> {
    let mut plan = words(BINARY, &["disk", url, "--read", "0", "--plan", "--format", "json"]);
    // A plan that is still refused ends with an exit code for that.
    let output = plan.output();
    let output = output.map_err(|e| failed(&plan, e))?;
    let told: Value = serde_json::from_slice(&output.stdout).map_err(|e| failed(&plan, e))?;
    let token = told["targets"][0]["examined"]["token"].as_str();
    token.map(str::to_owned).ok_or_else(|| failed(&plan, "it names no token"))
}

fn failed(command: &Command, message: impl ToString) -> Problem {
    Problem::Failed { command: format!("{command:?}"), message: message.to_string() }
}

/// A load for each direction, all at once.
fn load(
    url: &str,
    token: &str,
    directions: &[Direction],
    scratch: &Path,
) -> Result<Vec<Seen>, Problem> {
    let records: Vec<PathBuf> =
        (0..directions.len()).map(|n| scratch.join(format!("pacing-{n}.wsr"))).collect();
    let mut running = Vec::new();
    for (direction, record) in directions.iter().zip(&records) {
        // A missing file need not be removed.
        let _ = std::fs::remove_file(record);
        let (workers, out) = (SESSIONS.to_string(), record.display().to_string());
        let mut command = words(
            BINARY,
            &["disk", url, "--block", "64KiB", "--depth", "8", "--workers", &workers],
        );
        // Two loads do not begin at once: each first examines the volume through the port.
        let warmup = if directions.len() > 1 { "4s" } else { "1500ms" };
        command.args(["--warmup", warmup, "--time", "6s", "--quiet", "--out", &out]);
        match direction {
            Direction::Read => command.args(["--read", "100"]),
            Direction::Write => {
                command.args(["--read", "0", "--fill", "never", "--write-token", token])
            }
        };
        command.stdout(std::process::Stdio::null());
        let child = command.spawn();
        let child = child.map_err(|e| failed(&command, e))?;
        running.push((command, child));
    }
    for (command, mut child) in running {
        let ended = child.wait().map_err(|e| failed(&command, e))?;
        if !ended.success() {
            return Err(failed(&command, ended));
        }
    }
    directions.iter().zip(&records).map(|(direction, record)| seen(*direction, record)).collect()
}

/// The whole seconds of a record's measured time.
fn seen(direction: Direction, record: &Path) -> Result<Seen, Problem> {
    let mut command = words(
        BINARY,
        &["review", &record.display().to_string(), "--format", "csv", "--rows", "interval"],
    );
    let (csv, _) = call(&mut command)?;
    let column = if direction == Direction::Read { "read_mb_per_s" } else { "write_mb_per_s" };
    figures(&csv, column)
        .ok_or_else(|| failed(&command, format!("no whole second with `{column}`")))
}

fn figures(csv: &str, column: &str) -> Option<Seen> {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next()?.split(',').collect();
    let at = |name: &str| names.iter().position(|known| *known == name);
    let [worker, phase, from, to, rate] =
        [at("worker")?, at("phase")?, at("from_s")?, at("to_s")?, at(column)?];
    let (mut seconds, mut sessions) = (BTreeMap::<u64, f64>::new(), BTreeMap::<String, f64>::new());
    for row in lines {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |place: usize| cells.get(place).and_then(|cell| cell.parse::<f64>().ok());
        let (begin, end) = (number(from)?, number(to)?);
        if *cells.get(phase)? != "measure" || end - begin < 0.99 {
            continue;
        }
        let moved = number(rate).unwrap_or_default();
        *seconds.entry(end as u64).or_default() += moved;
        *sessions.entry(cells[worker].to_owned()).or_default() += moved;
    }
    let count = seconds.len() as f64;
    let whole = Seen {
        seconds: seconds.into_values().collect(),
        sessions: sessions.into_values().map(|sum| sum / count).collect(),
    };
    (!whole.seconds.is_empty()).then_some(whole)
}
