//! `wirespeed catalog`: the parts that scenarios can name, and what is known of each with its source.

use super::table::{self, WIDTH};
use crate::catalogs;
use crate::cli::{CatalogAction, CatalogArgs, Format};
use crate::exit::{Exit, Failure};
use crate::out;
use crate::present;
use scenario::{Figure, Part, PartKind, Shelf, Shelved, figures_of};
use serde_json::{Value, json};
use sim::lab::part_defaults::{PartDefault, part_defaults};
use std::fmt::Write;

/// The version of the JSON documents; a field that goes or changes its meaning raises it.
const VERSION: u32 = 1;

pub fn catalog(args: &CatalogArgs) -> Result<Exit, Failure> {
    let shelf = Shelf::read(catalogs::catalogs(args.files())?)?;
    let text = match &args.action {
        None => list(&shelf, None, None, args.output.format),
        Some(CatalogAction::Ls { kind, text, output, .. }) => {
            list(&shelf, kind.map(PartKind::from), text.as_deref(), output.format)
        }
        Some(CatalogAction::Show { part, output, .. }) => {
            let shelved = shelf.find(part).map_err(|none| {
                let none = none.to_string();
                let stop = if none.ends_with('?') { "" } else { ";" };
                Failure::usage(format!("{none}{stop} `wirespeed catalog ls` lists all"))
            })?;
            match output.format {
                Format::Text => page(shelved, width()),
                Format::Json => format!("{:#}\n", document(shelved)),
            }
        }
    };
    out::result(&text)?;
    Ok(Exit::Met)
}

/// As wide as the terminal, or else as a page.
fn width() -> usize {
    present::style().width.min(WIDTH)
}

fn list(shelf: &Shelf, kind: Option<PartKind>, text: Option<&str>, format: Format) -> String {
    let of_kind = |part: &Part| kind.is_none_or(|kind| part.kind == kind);
    let kinds = PartKind::ALL.into_iter();
    let sorted =
        kinds.flat_map(|kind| shelf.parts().iter().filter(move |one| one.part.kind == kind));
    let chosen: Vec<&Shelved> = sorted
        .filter(|one| of_kind(&one.part) && text.is_none_or(|text| says(&one.part, text)))
        .collect();
    if format == Format::Json {
        let parts: Vec<Value> = chosen.iter().map(|one| summary(one)).collect();
        return format!("{:#}\n", json!({ "version": VERSION, "parts": parts }));
    }
    if chosen.is_empty() {
        return "No part matches. `wirespeed catalog ls` lists all.\n".to_owned();
    }
    let row = |one: &&Shelved| {
        let part = &one.part;
        let figures = main_figures(part).join(", ");
        let model = part.model.clone().unwrap_or_default();
        let what = [model, figures].into_iter().filter(|text| !text.is_empty());
        let what = what.collect::<Vec<_>>().join(": ");
        vec![part.name.clone(), part.kind.word().to_owned(), what]
    };
    let rows: Vec<Vec<String>> = chosen.iter().map(row).collect();
    let mut page = table::rows(&rows, &[], width());
    page.push_str(
        "\nShow one: wirespeed catalog show PART. Use one: `part = \"PART\"` in a scenario.\n",
    );
    page
}

/// Whether a part's name, model or kind holds a text, in any case of letters.
fn says(part: &Part, text: &str) -> bool {
    let text = text.to_lowercase();
    let model = part.model.as_deref().unwrap_or_default();
    [part.name.as_str(), part.kind.word(), model]
        .iter()
        .any(|said| said.to_lowercase().contains(&text))
}

/// The figures that identify a part, in words.
fn main_figures(part: &Part) -> Vec<String> {
    let names: &[&str] = match part.kind {
        PartKind::Host => &["processors", "cores", "clock"],
        PartKind::Hypervisor => &["cpu_per_io"],
        PartKind::VirtualScsi => &["adapter_queue", "disk_queue"],
        PartKind::Hba | PartKind::Nic | PartKind::Switch => &["ports", "port_rate"],
        PartKind::Array => &["media", "ports", "port_rate", "iops_max", "rate_max"],
        PartKind::Disk => &["size", "seek_mean", "read_latency", "read_rate", "rate_outer"],
        PartKind::Tape => &["drives", "drive_rate"],
    };
    let said = |name: &&str| part.figure(name).map(|figure| format!("{name} {}", figure.value));
    names.iter().filter_map(said).collect()
}

/// Everything that is known of a part.
fn page(one: &Shelved, width: usize) -> String {
    let part = &one.part;
    let model = part.model.as_deref().unwrap_or("no full name is given");
    let mut page = format!("{} · {} · {model}\n", part.name, part.kind.word());
    if let Some(file) = &one.file {
        let _infallible = writeln!(page, "of the catalog {file}");
    }
    if let Some(like) = &part.like {
        let _infallible = writeln!(page, "like {like}, except for its own figures");
    }
    section(
        &mut page,
        "Figures",
        &part.figures.iter().map(|f| row(part, f)).collect::<Vec<_>>(),
        width,
    );
    let lacks = part_defaults(part);
    let lacking: Vec<Vec<String>> = lacks
        .iter()
        .map(|one| {
            let means = doc(part.kind, one.figure);
            let reason = one.reason.strip_prefix("not given; ").unwrap_or(one.reason);
            vec![one.figure.to_owned(), one.value.clone(), format!("{means} Assumed: {reason}.")]
        })
        .collect();
    section(&mut page, "Not given: a simulation takes", &lacking, width);
    let others: Vec<Vec<String>> = others(part, &lacks)
        .map(|def| vec![def.name.to_owned(), format!("{} Written as {}.", def.doc, def.dimension)])
        .collect();
    section(&mut page, "Other figures", &others, width);
    let figure = part.figures.first().map_or("FIGURE", |figure| figure.name.as_str());
    let _infallible = writeln!(page, "\nBend one: --set part.{}.{figure}=VALUE", part.name);
    page
}

fn section(page: &mut String, heading: &str, rows: &[Vec<String>], width: usize) {
    if !rows.is_empty() {
        let _infallible = write!(page, "\n{heading}\n\n{}", table::rows(rows, &[], width));
    }
}

/// A figure: name, value, kind, and what it means and where it comes from.
fn row(part: &Part, figure: &Figure) -> Vec<String> {
    let mut what = format!("{} {}", doc(part.kind, &figure.name), figure.source);
    if let Some(claim) = &figure.claim {
        let _infallible = write!(what, "; fitted on the claim {claim}");
    }
    if let Some(interval) = &figure.interval {
        let _infallible = write!(what, "; from {interval}");
    }
    let (name, value) = (figure.name.clone(), figure.value.clone());
    vec![name, value, figure.kind.word().to_owned(), what]
}

fn doc(kind: PartKind, figure: &str) -> &'static str {
    figures_of(kind).iter().find(|def| def.name == figure).map_or("", |def| def.doc)
}

/// Figures that the part could have, and for whose lack nothing is taken that could be said here.
fn others<'a>(
    part: &'a Part,
    lacks: &'a [PartDefault],
) -> impl Iterator<Item = &'static scenario::FigureDef> + 'a {
    figures_of(part.kind).iter().filter(|def| {
        part.figure(def.name).is_none() && lacks.iter().all(|taken| taken.figure != def.name)
    })
}

fn summary(one: &Shelved) -> Value {
    let Shelved { part, file } = one;
    let values: serde_json::Map<String, Value> =
        part.figures.iter().map(|f| (f.name.clone(), json!(f.value))).collect();
    json!({
        "name": part.name, "kind": part.kind.word(), "model": part.model, "like": part.like, "file": file,
        "figures": values,
    })
}

fn document(one: &Shelved) -> Value {
    let Shelved { part, file } = one;
    let figure = |f: &Figure| {
        json!({
            "name": f.name, "value": f.value, "number": part.number(&f.name), "source": f.source,
            "kind": f.kind.word(), "claim": f.claim, "interval": f.interval, "means": doc(part.kind, &f.name),
        })
    };
    let lacks = part_defaults(part);
    let lacking = |one: &PartDefault| {
        let means = doc(part.kind, one.figure);
        json!({ "name": one.figure, "value": one.value, "reason": one.reason, "means": means })
    };
    let other = |def: &scenario::FigureDef| json!({ "name": def.name, "expected": def.dimension.to_string(), "means": def.doc });
    json!({
        "version": VERSION,
        "name": part.name,
        "kind": part.kind.word(),
        "model": part.model,
        "like": part.like,
        "file": file,
        "figures": part.figures.iter().map(figure).collect::<Vec<_>>(),
        "taken": lacks.iter().map(lacking).collect::<Vec<_>>(),
        "others": others(part, &lacks).map(other).collect::<Vec<_>>(),
    })
}
