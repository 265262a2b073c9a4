//! `wirespeed demo`: a tour on an embedded scenario, from nothing to a review in a browser.

use crate::cli::{AgentKind, Demo, ResultFormat};
use crate::exit::{Exit, Failure};
use crate::files;
use crate::live::{self, Job};
use crate::out;
use crate::present::{self, Choice};
use record::Record;
use scenario::Source;
use std::path::Path;

const SCENARIO: &str = include_str!("../../../../scenarios/demo.toml");

pub fn demo(args: &Demo) -> Result<Exit, Failure> {
    std::fs::create_dir_all(&args.dir)
        .map_err(|e| Failure::usage(format!("cannot make {}: {e}", args.dir.display())))?;
    let data = args.dir.join("data.bin");
    let mut overrides = vec![("target.data.file".to_owned(), data.display().to_string())];
    let direct = ::disk::direct_io(&args.dir).is_ok();
    if !direct {
        overrides.push(("target.data.buffered".to_owned(), "true".to_owned()));
    }
    let source = Source { name: "demo.toml".to_owned(), text: SCENARIO.to_owned(), overrides };
    let scenario = scenario::load(&source)?;
    let stem = args.dir.join("demo").display().to_string();
    let record = files::record_path(None, &stem)?;
    if !args.output.quiet {
        introduce(&scenario, &data, direct);
    }
    let exit = live::run_and_review(&Job {
        source,
        scenario,
        out: record.clone(),
        agent: AgentKind::Child,
        output: args.output.clone(),
    })?;
    if !args.output.quiet {
        eprintln!(
            "the data file is kept for the next demo; remove {} when done",
            args.dir.display()
        );
    }
    show_page(&record, args.output.format)?;
    Ok(exit)
}

/// Writes the review for a browser beside the record; its path is the last line that the tour prints.
fn show_page(record: &Path, format: Option<ResultFormat>) -> Result<(), Failure> {
    let page = record.with_extension("html");
    files::results_path(&page)?;
    let record = Record::open(record)?;
    let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
    present::write(&record, &analysis, Choice::of(Some(ResultFormat::Html)), &page)?;
    match format {
        None | Some(ResultFormat::Text) => out::result(&format!("{}\n", page.display())),
        // Another format is one document, to which nothing is added.
        Some(_) => {
            eprintln!("{}", page.display());
            Ok(())
        }
    }
}

fn introduce(scenario: &scenario::Scenario, data: &Path, direct: bool) {
    let steps = scenario.steps();
    let total: std::time::Duration = steps.iter().map(scenario::Step::duration).sum();
    eprintln!("{}", scenario.head.title);
    eprintln!(
        "{} steps, about {} of load, on {} (made and filled first). Only that file is written.",
        steps.len(),
        units::duration(total),
        data.display()
    );
    if !direct {
        eprintln!(
            "warning: the file system here refuses O_DIRECT, so the page cache will answer; \
             --dir DIR on another file system measures a device"
        );
    }
}
