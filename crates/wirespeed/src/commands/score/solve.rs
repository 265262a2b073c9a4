//! Claims by both solvers: two records of each scenario, their findings, reviews, and the page of it all.

use super::{Lab, ledger, threads};
use crate::cli::{Format, ResultFormat, ScoreArgs};
use crate::commands::{estimate, simulate};
use crate::exit::{Exit, Failure};
use crate::present::{self, Presentation};
use crate::{files, labs, live, out};
use campaign::Control;
use findings::Analysis;
use record::{Fact, Record, Writer};
use scenario::{Scenario, Stage};
use score::{ClaimLedger, Scored};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What `--format json` prints.
#[derive(Serialize)]
struct ScoreDocument<'a> {
    labs: &'a [Scored],
}

/// All scenarios, one after the other; then what they show together.
pub fn print(args: &ScoreArgs, labs: &[Lab]) -> Result<Exit, Failure> {
    let stop = live::control()?;
    let kept = OutputPaths::new(args.out.as_deref())?;
    let mut scored = Vec::new();
    for lab in labs {
        scored.push(one(args, lab, &kept, &stop)?);
        if stop.stopped() {
            return Err(Failure::incomplete(format!("interrupted while {} was scored", lab.name)));
        }
    }
    let page = score::labs_page(&scored);
    if let Some(path) = &args.page {
        let failed = |e| Failure::incomplete(format!("cannot write {}: {e}", path.display()));
        std::fs::write(path, &page).map_err(failed)?;
        if !args.output.quiet {
            out::note(format_args!("page written to {}", path.display()));
        }
    }
    match (args.output.format, &args.page) {
        (Format::Json, _) => {
            let json = serde_json::to_value(ScoreDocument { labs: &scored });
            out::result(&format!("{:#}\n", json.map_err(Failure::incomplete)?))?;
        }
        (Format::Text, None) => out::result(&super::readable(&page))?,
        (Format::Text, Some(_)) => {}
    }
    Ok(Exit::Met)
}

/// One scenario: its ledger, then both records with what the ledger says of its claims.
fn one(args: &ScoreArgs, lab: &Lab, kept: &OutputPaths, stop: &Control) -> Result<Scored, Failure> {
    let scenario = scenario::load(&lab.source)?;
    let ledger = match scenario.claims.is_empty() {
        true => None,
        false => Some(ledger::ledger(args, lab)?),
    };
    let facts = ledger.as_ref().map(facts).unwrap_or_default();
    let job = Job { args, lab, scenario: &scenario, stages: &scenario.stages(), facts: &facts };
    let estimated = job.estimate(&kept.place(&lab.name, "estimate")?)?;
    let simulated = match args.estimate {
        true => None,
        false => Some(job.simulate(&kept.place(&lab.name, "simulate")?, kept, stop)?),
    };
    Ok(Scored::new(&lab.name, &scenario, ledger.as_ref(), &estimated, simulated.as_ref()))
}

/// What the findings of a record are to know of its claims.
fn facts(ledger: &ClaimLedger) -> Vec<Fact> {
    let of = |resting: &score::ClaimDependence| {
        Some(Fact {
            subject: format!("claim/{}", resting.claim),
            key: "calibration".to_owned(),
            value: resting.calibration.clone()?,
        })
    };
    ledger.claims.iter().filter_map(of).collect()
}

struct Job<'a> {
    args: &'a ScoreArgs,
    lab: &'a Lab,
    scenario: &'a Scenario,
    stages: &'a [Stage],
    facts: &'a [Fact],
}

impl Job<'_> {
    fn estimate(&self, path: &Path) -> Result<Analysis, Failure> {
        let compiled = labs::CompiledLab::new(self.scenario, self.stages)?;
        let order = sim::estimate::Order {
            stages: self.stages,
            threads: threads(self.args),
            compile: &|step| compiled.plant(step).map_err(|error| error.to_string()),
        };
        let head = estimate::head(&self.lab.source, self.scenario);
        let mut writer = Writer::create(path, &head)?;
        writer.facts(&live::run_facts())?;
        writer.facts(self.facts)?;
        let failure = sim::estimate::record(&order, writer, &mut |_| {})?;
        self.complete(failure)?;
        findings::analyse(&Record::open(path)?).map_err(Failure::incomplete)
    }

    fn simulate(
        &self,
        path: &Path,
        kept: &OutputPaths,
        stop: &Control,
    ) -> Result<Analysis, Failure> {
        let compiled = labs::CompiledLab::new(self.scenario, self.stages)?;
        let order = sim::simulate::Order {
            stages: self.stages,
            named: &sim::simulate::Named::of(self.scenario),
            seed: self.scenario.head.seed,
            threads: threads(self.args),
            settle: false,
            compile: &|step| compiled.plant(step).map_err(|error| error.to_string()),
            stop,
        };
        let head = simulate::head(&self.lab.source, self.scenario);
        let mut writer = Writer::create(path, &head)?;
        writer.facts(&live::run_facts())?;
        writer.facts(self.facts)?;
        let outcome = simulate::carry_out(&order, writer, path, self.args.output.quiet)?;
        self.complete(outcome.failure)?;
        let record = Record::open(path)?;
        let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
        if let Some(page) = kept.review(&self.lab.name) {
            files::results_path(&page)?;
            present::write(&record, &analysis, Presentation::of(Some(ResultFormat::Html)), &page)?;
        }
        Ok(analysis)
    }

    fn complete(&self, failure: Option<(u32, String)>) -> Result<(), Failure> {
        match failure {
            Some((step, why)) => {
                Err(Failure::incomplete(format!("{}: step {}: {why}", self.lab.name, step + 1)))
            }
            None => Ok(()),
        }
    }
}

/// Where records and reviews go.
struct OutputPaths {
    dir: PathBuf,
    passing: bool,
}

impl OutputPaths {
    /// The directory that was asked for, or one that passes.
    fn new(asked: Option<&Path>) -> Result<OutputPaths, Failure> {
        let name = format!("wirespeed-score-{}-{}", std::process::id(), clock::now().0);
        let dir = asked.map_or_else(|| std::env::temp_dir().join(name), Path::to_owned);
        let failed = |e| Failure::incomplete(format!("cannot make {}: {e}", dir.display()));
        std::fs::create_dir_all(&dir).map_err(failed)?;
        Ok(OutputPaths { dir, passing: asked.is_none() })
    }

    /// Where the record of a solver goes; an older one of the same scenario is removed.
    fn place(&self, lab: &str, solver: &str) -> Result<PathBuf, Failure> {
        let path = self.dir.join(format!("{lab}.{solver}.wsr"));
        let log = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
        for old in [path.clone(), log("-wal"), log("-shm")].iter().filter(|old| old.is_file()) {
            let failed = |e| Failure::incomplete(format!("cannot replace {}: {e}", old.display()));
            std::fs::remove_file(old).map_err(failed)?;
        }
        Ok(path)
    }

    /// Where the review goes, where it is kept.
    fn review(&self, lab: &str) -> Option<PathBuf> {
        (!self.passing).then(|| self.dir.join(format!("{lab}.html")))
    }
}

impl Drop for OutputPaths {
    fn drop(&mut self) {
        if self.passing {
            // Where it cannot be removed, the system clears its temporary files.
            let _ = std::fs::remove_dir_all(&self.dir);
        }
    }
}
