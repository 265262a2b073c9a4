//! What the library shows of a record: computed once from its findings, and kept as long as the file does not change.

use findings::{Analysis, Verdict};
use record::{Record, RecordError, Status};
use review::clean;
use scenario::Scenario;
use serde::{Deserialize, Serialize};

/// Points of the course that a card shows.
const COURSE: usize = 48;
/// Words that a summary keeps of each kind.
const WORDS: usize = 12;

/// A record in short.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Summary {
    pub title: String,
    /// What made it: `live`, `simulated`, `estimated`, `imported`.
    pub producer: String,
    /// Arrays, hosts and switches of its lab, by part and by name.
    pub lab: Vec<String>,
    pub workloads: Vec<String>,
    pub wall_unix_s: i64,
    /// The verdict's kind, as in the JSON of a review; `unreadable` where there is none.
    pub verdict: String,
    /// `running` also where it was killed.
    pub status: String,
    pub steps: u32,
    pub goals: [u32; 3],
    /// Of the step that carried the most.
    pub best_iops: f64,
    pub best_bytes_per_s: f64,
    pub best_p99_ns: Option<u64>,
    /// Bytes a second over the steps, or the seconds of a single one.
    pub course: Vec<f32>,
    /// Why it cannot be read.
    pub failure: Option<String>,
}

impl Summary {
    /// A record that cannot be read.
    pub fn failed(why: String) -> Summary {
        Summary {
            verdict: "unreadable".to_owned(),
            status: "unreadable".to_owned(),
            failure: Some(clean(&why)),
            ..Summary::default()
        }
    }

    /// The summary of a record, for which all of it is judged.
    pub fn of(record: &Record) -> Summary {
        match findings::analyse(record) {
            Ok(analysis) => Summary::judged(record, &analysis),
            Err(error) => Summary::failed(error.to_string()),
        }
    }

    fn judged(record: &Record, analysis: &Analysis) -> Summary {
        let head = record.head();
        let best = analysis
            .steps
            .iter()
            .max_by(|a, b| a.total.both.bytes_per_s.total_cmp(&b.total.both.bytes_per_s));
        let source = scenario::Source {
            name: head.scenario.name.clone(),
            text: head.scenario.text.clone(),
            overrides: head.scenario.overrides.clone(),
            ..scenario::Source::default()
        };
        let scenario = scenario::load(&source).ok();
        Summary {
            title: clean(&head.title),
            producer: format!("{:?}", head.producer.kind).to_lowercase(),
            lab: scenario.as_ref().map(lab).unwrap_or_default(),
            workloads: workloads(record),
            wall_unix_s: i64::try_from(head.wall_ns / 1_000_000_000).unwrap_or(i64::MAX),
            verdict: kind(&analysis.verdict).to_owned(),
            status: status(record.status()).to_owned(),
            steps: analysis.run.steps_recorded,
            goals: goals(analysis),
            best_iops: best.map_or(0.0, |step| finite(step.total.both.iops)),
            best_bytes_per_s: best.map_or(0.0, |step| finite(step.total.both.bytes_per_s)),
            best_p99_ns: best.and_then(|step| step.total.both.latency()).map(|l| l.p99_ns),
            course: course(record, analysis).unwrap_or_default(),
            failure: None,
        }
    }

    /// Everything that a search looks at, in small letters.
    pub fn words(&self) -> String {
        let mut all = vec![self.title.clone(), self.producer.clone(), self.verdict.clone()];
        all.extend(self.lab.iter().cloned());
        all.extend(self.workloads.iter().cloned());
        all.push(crate::pages::figures::moment(self.wall_unix_s));
        all.join(" ").to_lowercase()
    }
}

fn finite(value: f64) -> f64 {
    if value.is_finite() { value } else { 0.0 }
}

/// The kind of a verdict, as JSON names it.
fn kind(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Met { .. } => "met",
        Verdict::Failed { .. } => "failed",
        Verdict::Wrong { .. } => "wrong",
        Verdict::Undecided { .. } => "undecided",
        Verdict::NoGoals => "no-goals",
        Verdict::Incomplete { .. } => "incomplete",
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Running => "running",
        Status::Complete => "complete",
        Status::Stopped => "stopped",
        Status::Failed => "failed",
    }
}

fn goals(analysis: &Analysis) -> [u32; 3] {
    let count = |status: findings::Status| {
        let found = analysis.goals.iter().filter(|goal| goal.status == status).count();
        u32::try_from(found).unwrap_or(u32::MAX)
    };
    [findings::Status::Met, findings::Status::Failed, findings::Status::Undecided].map(count)
}

fn lab(scenario: &Scenario) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let lab = &scenario.lab;
    words.extend(lab.arrays.iter().map(|array| array.name.clone()));
    words.extend(lab.hosts.iter().map(|host| host.name.clone()));
    words.extend(scenario.head.source.clone());
    words.iter_mut().for_each(|word| *word = clean(word));
    words.dedup();
    words.truncate(WORDS);
    words
}

fn workloads(record: &Record) -> Vec<String> {
    let workers = record.steps().iter().flat_map(|step| &step.workers).map(|load| &load.workload);
    let streams = record.steps().iter().flat_map(|step| &step.streams).map(|load| &load.workload);
    let mut words: Vec<String> = workers.chain(streams).map(|name| clean(name)).collect();
    words.sort_unstable();
    words.dedup();
    words.truncate(WORDS);
    words
}

/// Throughput by step; of a single step by second.
fn course(record: &Record, analysis: &Analysis) -> Result<Vec<f32>, RecordError> {
    let by_step = |step: &findings::StepFigures| {
        let net: f64 = step.network.iter().map(findings::network::NetPair::bytes_per_s).sum();
        finite(step.total.both.bytes_per_s) + finite(net)
    };
    let mut values: Vec<f64> = analysis.steps.iter().map(by_step).collect();
    if let [only] = &analysis.steps[..] {
        let mut seconds = std::collections::BTreeMap::<u64, f64>::new();
        record.for_each_interval(only.index, &mut |interval| {
            let bytes: u64 = interval.tallies().map(|tally| tally.bytes).sum();
            *seconds.entry(interval.from.0 / 1_000_000_000).or_default() += bytes as f64;
        })?;
        values = seconds.into_values().collect();
    }
    let each = values.len().div_ceil(COURSE).max(1);
    let mean = |part: &[f64]| (part.iter().sum::<f64>() / part.len() as f64) as f32;
    Ok(values.chunks(each).map(mean).collect())
}
