//! `wirespeed review RUN`: the review of a record, whoever made it.

use crate::cli::{Format, Review};
use crate::exit::{Exit, Failure};
use crate::live;
use record::Record;
use std::path::Path;

pub fn review(args: &Review) -> Result<Exit, Failure> {
    let record = Record::open(&args.run)?;
    let analysis = findings::analyse(&record).map_err(Failure::incomplete)?;
    match &args.out {
        Some(out) => {
            let format = format_of(out)?;
            let text = live::render(&analysis, format);
            std::fs::write(out, text)
                .map_err(|e| Failure::incomplete(format!("cannot write {}: {e}", out.display())))?;
            if !args.output.quiet {
                eprintln!("review written to {}", out.display());
            }
        }
        None => live::print(&analysis, args.output.format)?,
    }
    Ok(live::exit_of(&analysis))
}

fn format_of(out: &Path) -> Result<Format, Failure> {
    match out.extension().and_then(|e| e.to_str()) {
        Some("json") => Ok(Format::Json),
        Some("txt") => Ok(Format::Text),
        _ => Err(Failure::usage(format!(
            "{}: a review is written as .json or .txt, by the file's ending",
            out.display()
        ))),
    }
}
