//! Projects: profiles of the catalog with the figures that the scenario changes.

use super::complain;
use crate::datum::Decoded;
use crate::diagnostics::{Class, Mistake, Sink};
use crate::profile::{Each, Profile, Project, profile};
use std::time::Duration;

/// Every project of the file, in its order.
pub(super) fn projects(root: &Decoded, sink: &mut Sink) -> Vec<Project> {
    root.records("project").into_iter().filter_map(|record| project(record, sink)).collect()
}

fn project(record: &Decoded, sink: &mut Sink) -> Option<Project> {
    let name = record.text("profile")?;
    let plain = match profile(&name.value) {
        Ok(profile) => profile.clone(),
        Err(none) => {
            sink.push(|| {
                Mistake::new(name.at, format!("no profile is named `{}`", none.name))
                    .class(Class::Absence)
                    .maybe_help(none.help)
            });
            return None;
        }
    };
    check(record, &plain, sink);
    let profile = plain.with(changes(record));
    let wanted = match (record.size("size"), profile.each) {
        (Some(wanted), Each::Window { size, .. }) => Some(wanted.value.0 as f64 / size.0 as f64),
        _ => record.count("count").map(|at| at.value as f64),
    };
    Some(Project { profile, wanted })
}

/// Keys that do not apply to this profile, and amounts that cannot be divisors.
fn check(record: &Decoded, profile: &Profile, sink: &mut Sink) {
    let (foreign, why): (&[&str], _) = match profile.has_window() {
        true => (&["iops_each", "limit", "point", "count"], "is a backup; use `window` and `size`"),
        false => (&["window", "size"], "has no backup window; use `count`"),
    };
    for key in foreign.iter().filter(|key| record.has(key)) {
        complain(record, key, format!("`{}` {why}", profile.name), sink);
    }
    if record.iops("iops_each").is_some_and(|at| at.value.0 <= 0.0) {
        complain(record, "iops_each", "expected more than 0 IOPS", sink);
    }
}

/// The figures that the scenario gives, as texts like the catalog's.
fn changes(record: &Decoded) -> Vec<(&'static str, String)> {
    // In nanoseconds, which keep every duration exactly.
    let time = |time: Duration| format!("{}ns", time.as_nanos());
    let given = [
        ("iops_each", record.iops("iops_each").map(|at| format!("{} IOPS", at.value.0))),
        ("read", record.percent("read").map(|at| format!("{}%", at.value.0))),
        ("limit", record.time("limit").map(|at| time(at.value))),
        ("point", record.point("point").map(|at| at.value.to_string())),
        ("window", record.time("window").map(|at| time(at.value))),
    ];
    given.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}
