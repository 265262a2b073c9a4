//! What this machine carries through an embedded array when nothing slows the port: a run of two seconds of the scenario
//! `capacity.toml`, with the workers that the demo has, half of them reading and half writing.

use crate::cli::{AgentKind, Results};
use crate::exit::Failure;
use crate::live::{self, LiveJob};
use campaign::Control;
use record::{Record, Status};
use scenario::Source;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use units::duration;

const SCENARIO: &str = include_str!("../../../../../scenarios/capacity.toml");

/// What was carried.
#[derive(Clone, Debug, PartialEq)]
pub struct Capacity {
    /// Bytes a second, both directions together.
    pub bytes_per_s: f64,
    /// How it was measured, in a few words.
    pub how: String,
}

/// A temporary record: it is removed with everything beside it once it has been read.
struct Passing(PathBuf);

impl Drop for Passing {
    fn drop(&mut self) {
        for ending in ["", "-wal", "-shm"] {
            let mut path = self.0.clone().into_os_string();
            path.push(ending);
            // A file that is missing or cannot be removed does no harm.
            let _gone = std::fs::remove_file(path);
        }
    }
}

/// Runs the scenario, with a record in `dir` for as long as it takes.
pub fn measure(dir: &Path, output: &Results, control: &Arc<Control>) -> Result<Capacity, Failure> {
    let passing = Passing(dir.join(format!(".capacity-{}.wsr", std::process::id())));
    let source =
        Source { name: "capacity.toml".into(), text: SCENARIO.into(), ..Source::default() };
    let outcome = live::run(&LiveJob {
        scenario: scenario::load(&source)?,
        source,
        out: passing.0.clone(),
        agent: AgentKind::Child,
        metrics: None,
        output: output.clone(),
        kept: None,
        facts: Vec::new(),
        control: Arc::clone(control),
    })?;
    if let Some(failure) = &outcome.failure {
        let text = format!("what this machine carries could not be measured: {}", failure.error);
        return Err(Failure::Other(live::exit_of_failure(failure), text));
    }
    let record = Record::open(&passing.0)?;
    if record.status() == Status::Stopped {
        return Err(Failure::incomplete("stopped before anything was measured"));
    }
    read(&record)
}

fn read(record: &Record) -> Result<Capacity, Failure> {
    let analysis = findings::analyse(record).map_err(Failure::incomplete)?;
    let step = analysis.steps.first().filter(|step| step.total.both.bytes > 0);
    let step = step.ok_or_else(|| {
        Failure::incomplete("nothing was carried while this machine was measured")
    })?;
    let how = format!(
        "{} workers, half of them reading and half writing, {}",
        step.completeness.len(),
        duration(std::time::Duration::from_nanos(step.measured_ns))
    );
    Ok(Capacity { bytes_per_s: step.total.both.bytes_per_s, how })
}
