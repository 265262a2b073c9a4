//! The ledger of parameters: made, told on stderr while it is made, and printed.

use super::{Lab, threads};
use crate::cli::{Format, ScoreArgs};
use crate::exit::{Exit, Failure};
use crate::out;
use score::{BuildError, ClaimLedger};
use serde::Serialize;

/// What `--format json` prints.
#[derive(Serialize)]
struct LedgerDocument<'a> {
    labs: &'a [ClaimLedger],
}

/// Only the ledger: to the page that was asked for, or to stdout.
pub fn print(args: &ScoreArgs, labs: &[Lab]) -> Result<Exit, Failure> {
    let ledgers = labs.iter().map(|lab| ledger(args, lab)).collect::<Result<Vec<_>, _>>()?;
    let page = score::ledger_page(&ledgers);
    if let Some(path) = &args.page {
        let failed = |e| Failure::incomplete(format!("cannot write {}: {e}", path.display()));
        std::fs::write(path, &page).map_err(failed)?;
        if !args.output.quiet {
            out::note(format_args!("ledger written to {}", path.display()));
        }
    }
    match (args.output.format, &args.page) {
        (Format::Json, _) => {
            let json = serde_json::to_value(LedgerDocument { labs: &ledgers });
            out::result(&format!("{:#}\n", json.map_err(Failure::incomplete)?))?;
        }
        (Format::Text, None) => out::result(&super::readable(&page))?,
        (Format::Text, Some(_)) => {}
    }
    Ok(Exit::Met)
}

/// The ledger of one scenario.
pub fn ledger(args: &ScoreArgs, lab: &Lab) -> Result<ClaimLedger, Failure> {
    let shown = !args.output.quiet && out::notes_are_seen();
    let tell = |done: usize, of: usize| {
        if shown {
            out::begin_line();
            out::part(format_args!("{}: parameter {done} of {of} ", lab.name));
        }
    };
    let ledger = ClaimLedger::new(&lab.name, &lab.source, threads(args), &tell);
    if shown {
        out::note("");
    }
    let ledger = ledger.map_err(|error| failure(lab, error))?;
    if !args.output.quiet {
        let (parameters, claims) = (ledger.parameters.len(), ledger.claims.len());
        out::note(format_args!("{}: {parameters} parameters, {claims} claims", lab.name));
    }
    Ok(ledger)
}

fn failure(lab: &Lab, error: BuildError) -> Failure {
    match error {
        BuildError::Scenario(mistakes) => Failure::Scenario(mistakes),
        step @ BuildError::Step { .. } => Failure::usage(format!("{}: {step}", lab.source.name)),
    }
}
