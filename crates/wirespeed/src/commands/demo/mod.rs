//! `wirespeed demo`: a tour on an embedded scenario, a SAN in small, from nothing to a review in a browser.
//!
//! First it measures what this machine carries through such a SAN when nothing slows it, and scales the speeds of the ports
//! where they would be more than a safe share of that.

mod capacity;
mod scale;

use crate::cli::{AgentKind, Demo, ResultFormat};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::live::{self, LiveJob};
use crate::out;
use crate::present::{self, Presentation};
use campaign::Control;
use record::Record;
use scale::Chosen;
use scenario::{Scenario, Source};
use std::path::Path;
use std::sync::Arc;

const SCENARIO: &str = include_str!("../../../../../scenarios/demo.toml");
/// The array whose ports are scaled.
const ARRAY: &str = "store";

pub fn demo(args: &Demo) -> Result<Exit, Failure> {
    std::fs::create_dir_all(&args.dir)
        .map_err(|e| Failure::usage(format!("cannot make {}: {e}", args.dir.display())))?;
    let source = |overrides| Source {
        name: "demo.toml".to_owned(),
        text: SCENARIO.to_owned(),
        overrides,
        ..Source::default()
    };
    let scenario = scenario::load(&source(args.set.clone()))?;
    let record = files::record_path(None, &args.dir.join("demo").display().to_string())?;
    let control = live::control()?;
    let chosen = chosen(args, &scenario, &control)?;
    // What the user sets comes last, and so has the last word.
    let overrides = chosen.iter().map(Chosen::set).chain(args.set.clone()).collect();
    let source = source(overrides);
    let scenario = scenario::load(&source)?;
    if !args.output.quiet {
        introduce(&scenario, &record);
    }
    let exit = live::run_and_review(&LiveJob {
        source,
        scenario,
        out: record.clone(),
        agent: AgentKind::Child,
        metrics: None,
        output: args.output.clone(),
        kept: None,
        facts: chosen.iter().flat_map(Chosen::facts).collect(),
        control,
    })?;
    show_page(&record, args.output.format)?;
    Ok(exit)
}

/// The scale that this machine asks for; `None` where the user has set one.
fn chosen(
    args: &Demo,
    scenario: &Scenario,
    control: &Arc<Control>,
) -> Result<Option<Chosen>, Failure> {
    if args.set.iter().any(|(key, _)| *key == scale::key(ARRAY)) {
        return Ok(None);
    }
    if !args.output.quiet {
        out::note(format_args!(
            "measuring what this machine carries through an array without rate limits"
        ));
    }
    let capacity = capacity::measure(&args.dir, &args.output, control)?;
    let chosen = Chosen::of(ARRAY, scenario, &capacity);
    if !args.output.quiet {
        out::note(chosen.told());
    }
    Ok(Some(chosen))
}

/// Writes the review for a browser beside the record; its path is the last line that the tour prints.
fn show_page(record: &Path, format: Option<ResultFormat>) -> Result<(), Failure> {
    let page = record.with_extension("html");
    files::results_path(&page)?;
    let record = Record::open(record)?;
    let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
    present::write(&record, &analysis, Presentation::of(Some(ResultFormat::Html)), &page)?;
    match format {
        None | Some(ResultFormat::Text) => out::result(&format!("{}\n", page.display())),
        // Another format is one document, to which nothing is added.
        Some(_) => {
            out::note(page.display());
            Ok(())
        }
    }
}

fn introduce(scenario: &Scenario, record: &Path) {
    let steps = scenario.steps();
    let total: std::time::Duration = steps.iter().map(scenario::Step::duration).sum();
    out::note(&scenario.head.title);
    out::note(format_args!(
        "{} steps, about {} of load, in memory: nothing is written but the record, {}.",
        steps.len(),
        units::duration(total),
        record.display()
    ));
}
