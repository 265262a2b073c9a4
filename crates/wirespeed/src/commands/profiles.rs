//! `wirespeed profiles`: what applications ask of their storage, by the catalog, with the source of every figure.

use super::table;
use crate::cli::{Format, Profiles, ProfilesAction};
use crate::exit::{Exit, Failure};
use crate::out;
use scenario::Profile;
use scenario::profile::Each;
use serde_json::{Value, json};
use std::fmt::Write;

pub fn profiles(args: &Profiles) -> Result<Exit, Failure> {
    let (output, shown) = match &args.action {
        None => (&args.output, None),
        Some(ProfilesAction::Ls { output }) => (output, None),
        Some(ProfilesAction::Show { profile, output }) => (output, Some(&**profile)),
    };
    let text = match (output.format, shown) {
        (Format::Text, None) => list(scenario::profiles()),
        (Format::Text, Some(profile)) => page(profile),
        (Format::Json, None) => {
            let all: Vec<Value> = scenario::profiles().iter().map(document).collect();
            format!("{:#}\n", json!({ "profiles": all }))
        }
        (Format::Json, Some(profile)) => format!("{:#}\n", document(profile)),
    };
    out::result(&text)?;
    Ok(Exit::Met)
}

/// A line each.
fn list(profiles: &[Profile]) -> String {
    let widest = profiles.iter().map(|p| p.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for profile in profiles {
        let Profile { name, title, .. } = profile;
        let _infallible = writeln!(text, "{name:widest$}  {title}: {}", asks(profile));
    }
    text.push_str(
        "\nShow one: wirespeed profiles show NAME. Use one: wirespeed review RUN --project NAME.\n",
    );
    text
}

/// `1.5 IOPS a mailbox, 4KiB, 67% read, 100% random, mean within 20 ms`.
fn asks(profile: &Profile) -> String {
    let amount = match profile.each {
        Each::Iops(iops) => format!("{} IOPS a {}", units::count(iops), profile.unit),
        Each::Window { window, .. } => {
            let size = profile.figure("size_each").map_or("", |f| f.value.as_str());
            format!("{size} in {}", units::duration(window))
        }
    };
    let limit = profile.limit.map_or_else(String::new, |limit| {
        format!(", {} within {}", limit.point, units::duration(limit.at_most))
    });
    let (read, random) = (units::percent(profile.read.0), units::percent(profile.random.0));
    format!("{amount}, {}, {read} read, {random} random{limit}", profile.block)
}

/// Every figure with its source.
fn page(profile: &Profile) -> String {
    let mut text = format!("{} · {}\n{}\n\n", profile.name, profile.title, asks(profile));
    let row = |f: &scenario::Figure| {
        vec![f.name.clone(), f.value.clone(), f.kind.word().to_owned(), f.source.clone()]
    };
    let rows: Vec<Vec<String>> = profile.figures.iter().map(row).collect();
    text.push_str(&table::rows(&rows, &[1], table::WIDTH));
    let _infallible = write!(
        text,
        "\nIn a scenario:\n\n[[project]]\nprofile = \"{}\"\n{}",
        profile.name,
        match profile.has_window() {
            true => "# window, size and read change it\n",
            false => "# iops_each, read, limit, point and count change it\n",
        }
    );
    text
}

fn document(profile: &Profile) -> Value {
    let figures: Vec<Value> = profile
        .figures
        .iter()
        .map(|f| json!({ "name": f.name, "value": f.value, "source": f.source, "kind": f.kind.word() }))
        .collect();
    json!({
        "name": profile.name,
        "title": profile.title,
        "unit": profile.unit,
        "units": profile.units,
        "figures": figures,
    })
}
