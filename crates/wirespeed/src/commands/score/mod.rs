//! `wirespeed score FILE…`: the published claims of scenarios beside both solvers, with the ledger of what they rest on.

mod ledger;
mod solve;

use crate::cli::{ScenarioArgs, ScoreArgs};
use crate::exit::{Exit, Failure};
use crate::files;
use scenario::Source;
use std::collections::BTreeSet;

pub fn score(args: &ScoreArgs) -> Result<Exit, Failure> {
    let labs = labs(args)?;
    args.page.as_deref().map_or(Ok(()), files::results_path)?;
    match args.ledger {
        true => ledger::print(args, &labs),
        false => solve::print(args, &labs),
    }
}

/// A scenario that is to be scored.
struct Lab {
    /// Its file's name without the ending.
    name: String,
    source: Source,
}

/// The scenarios' texts, in the order that was asked for.
fn labs(args: &ScoreArgs) -> Result<Vec<Lab>, Failure> {
    let mut names = BTreeSet::new();
    let lab = |file: &std::path::PathBuf| {
        let source = files::scenario_source(&ScenarioArgs {
            file: file.clone(),
            set: args.set.clone(),
            catalog: args.catalog.clone(),
        })?;
        let name = files::stem(&source.name);
        match names.insert(name.clone()) {
            true => Ok(Lab { name, source }),
            false => Err(Failure::usage(format!(
                "two scenarios are named {name}; their records would have one name: rename one"
            ))),
        }
    };
    args.files.iter().map(lab).collect()
}

/// A page for a terminal: without the comments that say how its file is made.
fn readable(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    let mut dropped = false;
    for line in page.split_inclusive('\n') {
        let comment = line.starts_with("<!--");
        // The blank line behind a comment goes with it.
        if !(comment || dropped && line.trim().is_empty()) {
            out.push_str(line);
        }
        dropped = comment;
    }
    out
}

/// How many threads share the work.
fn threads(args: &ScoreArgs) -> usize {
    let processors = || std::thread::available_parallelism().map_or(1, usize::from);
    args.threads.map_or_else(processors, |n| n as usize)
}
