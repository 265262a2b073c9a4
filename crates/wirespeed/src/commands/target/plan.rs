//! `wirespeed target serve --plan`: what would be served, with the tokens of what Wirespeed did not make. Nothing is opened
//! for writing, made, or listened on.

use super::LibrarySpec;
use super::show::named;
use crate::cli::{Format, Serve};
use crate::exit::{Exit, Failure};
use crate::out;
use crate::targets;
use disk::{TargetReport, Use};
use engine::{EngineError, TargetSpec};
use guard::Examined;
use san::volume::{VolumeKind, VolumeSpec};
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Prints the plan; ends as the target would.
pub fn plan(args: &Serve) -> Result<Exit, Failure> {
    let looked: Vec<Looked> = args.volumes.iter().map(look).collect();
    out::result(&match args.output.format {
        Format::Text => text(&looked) + &args.library.as_ref().map_or(String::new(), tapes),
        Format::Json => {
            let volumes: Vec<Value> = looked.iter().enumerate().map(document).collect();
            let library = args
                .library
                .as_ref()
                .map(|library| json!({ "units": library.names(), "fate": library.fate() }));
            let mut plan = json!({ "version": 1, "iqn": args.iqn, "volumes": volumes });
            if let (Some(plan), Some(library)) = (plan.as_object_mut(), library) {
                plan.insert("library".to_owned(), library);
            }
            format!("{plan:#}\n")
        }
    })?;
    let error = looked.iter().find_map(|l| l.report.as_ref()?.fate.as_ref().err());
    Ok(error.map_or(Exit::Met, targets::exit_of))
}

/// A volume, and what its path holds now; memory has none yet.
struct Looked {
    volume: String,
    size: Option<u64>,
    report: Option<TargetReport>,
    /// What the guard would say to writing, where the volume is served read-only for want of a token.
    examined: Option<Result<Examined, String>>,
}

fn look(spec: &VolumeSpec) -> Looked {
    let (path, create) = match &spec.kind {
        VolumeKind::Ram { size } => {
            return Looked { volume: named(spec), size: Some(*size), report: None, examined: None };
        }
        VolumeKind::File { path, size } => (path, *size),
        VolumeKind::Block { path } => (path, None),
    };
    let target = TargetSpec {
        create,
        buffered: true,
        write_token: spec.write_token.clone(),
        overwrite: spec.overwrite,
        ..TargetSpec::new("volume", path)
    };
    let mut report = disk::inspect_served(&target, !spec.read_only);
    let examined = report.examined.take();
    // Without a token what Wirespeed did not make is served read-only, which is no refusal.
    if spec.write_token.is_none() && matches!(report.fate, Err(EngineError::Refused(_))) {
        report = disk::inspect_served(&target, false);
    }
    Looked { volume: named(spec), size: report.size, report: Some(report), examined }
}

impl Looked {
    /// What would be done with it.
    fn fate(&self) -> String {
        match self.report.as_ref().map(|report| &report.fate) {
            None => "made in memory".to_owned(),
            Some(Ok(Use::CreateAndRead | Use::CreateAndWrite)) => {
                "created, and served for reading and writing".to_owned()
            }
            Some(Ok(Use::Write)) => "served for reading and writing".to_owned(),
            Some(Ok(_)) => match &self.examined {
                Some(_) => "served read-only: Wirespeed did not create it".to_owned(),
                None => "served read-only".to_owned(),
            },
            Some(Err(EngineError::Refused(why))) => format!("REFUSED: {why}"),
            Some(Err(error)) => format!("NOT POSSIBLE: {error}"),
        }
    }
}

fn text(looked: &[Looked]) -> String {
    let mut out = String::new();
    for (lun, looked) in looked.iter().enumerate() {
        let what = looked.report.as_ref().map_or("memory", |report| &report.what);
        let size = looked
            .size
            .map_or_else(|| "size not known".to_owned(), |bytes| units::Bytes(bytes).to_string());
        writeln!(out, "lun {lun:<3} {}  ({what}, {size})", looked.volume)
            .expect("a String takes every line");
        writeln!(out, "        {}", looked.fate()).expect("a String takes every line");
        for line in looked.examined.iter().flat_map(examined_lines) {
            writeln!(out, "        {line}").expect("a String takes every line");
        }
    }
    out
}

fn tapes(library: &LibrarySpec) -> String {
    format!("library {}\n        {}\n", library.directory.display(), library.fate())
}

/// What the guard found, and what would open it.
fn examined_lines(examined: &Result<Examined, String>) -> Vec<String> {
    let found = match examined {
        Ok(found) => found,
        Err(problem) => return vec![problem.clone()],
    };
    if !found.uses.is_empty() {
        return vec![format!(
            "it is {}; {}: no token opens that for writing",
            found.what,
            found.uses.join("; ")
        )];
    }
    let mut lines = vec![format!("to allow writing, append: ,write-token={}", found.token)];
    if !found.carries.is_empty() {
        lines.push(format!(
            "it carries {}: if that may be lost, append ,overwrite too",
            found.carries.join(", ")
        ));
    }
    lines
}

fn document((lun, looked): (usize, &Looked)) -> Value {
    let examined = match &looked.examined {
        None => Value::Null,
        Some(Err(problem)) => json!({ "problem": problem }),
        Some(Ok(Examined { what, token, uses, carries, .. })) => {
            let token = uses.is_empty().then_some(token);
            json!({ "what": what, "token": token, "in_use": uses, "carries": carries })
        }
    };
    json!({ "lun": lun, "volume": looked.volume, "bytes": looked.size, "fate": looked.fate(), "examined": examined })
}
