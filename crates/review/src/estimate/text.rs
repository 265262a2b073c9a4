//! An estimate as text: one line for each step, what limits it, what would limit next, and the assumptions.

use super::{Document, Estimated, LimitKind, Limited};
use crate::text::clean;
use std::collections::BTreeSet;
use std::time::Duration;

/// Names of equal hops that are written out.
const NAMES_MAX: usize = 2;
/// Assumptions that are listed; the others are counted.
const ASSUMED_MAX: usize = 40;
/// A hop matters from this elasticity on.
const MATTERS: f64 = 0.05;

pub(super) fn render(document: &Document) -> String {
    let mut out = String::new();
    let mut line = |text: &str| {
        out.push_str(text.trim_end());
        out.push('\n');
    };
    line(&document.title);
    line("Estimated, not measured: means of a model of the lab, without percentiles.");
    line(&format!("Goals: {}.", document.verdict.replace("no-goals", "the scenario sets none")));
    for goal in document.goals.iter().filter(|goal| goal.reason.is_some()) {
        let mark = if goal.status == "failed" { "✘" } else { "?" };
        let reason = goal.reason.as_deref().unwrap_or_default();
        let place =
            if goal.place.is_empty() { String::new() } else { format!(" ({})", goal.place) };
        line(&format!("  {mark} {}: {reason}{place}", clean(&goal.name)));
    }
    let mut plan: Option<&str> = None;
    let width = document.steps.iter().map(|step| step.name.chars().count()).max().unwrap_or(0);
    let width = width.clamp(4, 44);
    let mut last_chain = String::new();
    let mut said = BTreeSet::new();
    for (number, step) in (1..).zip(&document.steps) {
        if plan != Some(&step.plan) {
            plan = Some(&step.plan);
            last_chain.clear();
            line("");
            line(&format!(
                "{:>4}  {:<width$} {:>11} {:>10} {:>10} {:>9} {:>11}",
                "step", "", "IOPS", "read MB/s", "write MB/s", "mean", "at most"
            ));
        }
        line(&row(number, width, step));
        if let Some(rate) = step.network_rate {
            line(&format!("        network: {} MB/s", mega(rate)));
        }
        let chain = chain(step);
        // Every step says what limits it; what would be next, only where it is not the same as before.
        let shown = if chain == last_chain { 1 } else { usize::MAX };
        chain.lines().take(shown).for_each(|text| line(&format!("        {text}")));
        last_chain = chain;
        for text in &step.left_out {
            line(&format!("        left out: {text}"));
        }
        // Of notes that differ in numbers alone the first stands for all.
        for text in step.notes.iter().filter(|text| said.insert(shape(text))) {
            line(&format!("        note: {}", clean(text)));
        }
    }
    matters(document).iter().chain(&assumptions(document)).for_each(|text| line(text));
    out
}

fn row(number: u32, width: usize, step: &Estimated) -> String {
    // Jobs of network loads are no I/Os.
    let is_network = step.network_rate.is_some() && step.workers.is_empty();
    let of_storage = |text: String| if is_network { "-".to_owned() } else { text };
    format!(
        "{number:>4}  {:<width$} {:>11} {:>10} {:>10} {:>9} {:>11}",
        step.name,
        of_storage(units::count(step.iops.round())),
        of_storage(mega(step.read_rate)),
        of_storage(mega(step.write_rate)),
        step.latency.map_or_else(|| "-".to_owned(), time),
        of_storage(units::count(step.most_iops.round())),
    )
}

/// Megabytes of a rate in bytes.
fn mega(rate: f64) -> String {
    units::count((rate / 1e5).round() / 10.0)
}

fn time(seconds: f64) -> String {
    units::duration(Duration::from_secs_f64(seconds.clamp(0.0, 1e9)))
}

/// The chain of limits, one line each; the first in the words of the record's review.
fn chain(step: &Estimated) -> String {
    let mut out: Vec<String> = step.limited.iter().map(|text| format!("limit: {text}")).collect();
    let limits = &step.limits;
    if out.is_empty() {
        out.extend(limits.first().map(|first| format!("limit: {}", describe(first))));
    }
    out.extend(limits.iter().zip(limits.iter().skip(1)).map(|(before, limited)| {
        let gain = limited.iops / before.iops.max(1e-9) - 1.0;
        let doubled = match limited.doubled.as_slice() {
            [] => "the load".to_owned(),
            hops => named(hops),
        };
        let again = limited.limit == LimitKind::Hop && named(&limited.hops) == doubled;
        let again = if again { "again " } else { "" };
        // `+ 0.0` makes a zero of a negative one.
        let percent = (gain * 100.0).round() + 0.0;
        let what = if step.network_rate.is_some() { "throughput" } else { "IOPS" };
        format!("twice {doubled}: {percent:+.0}% {what}, then {again}{}", describe(limited))
    }));
    out.join("\n")
}

fn describe(limited: &Limited) -> String {
    let used = units::percent(limited.utilization * 100.0);
    let hops = named(&limited.hops);
    let room = limited
        .headroom
        .map_or_else(String::new, |more| format!(", full with {:.0}% more", more * 100.0));
    let fullest = match limited.hops.as_slice() {
        [] => String::new(),
        _ => format!("; fullest {hops} ({used} in use{room})"),
    };
    match limited.limit {
        LimitKind::Hop if limited.turn_ios.is_some() => {
            format!("{hops} ({used} of one path in use)")
        }
        LimitKind::Hop => format!("{hops} ({used} in use)"),
        LimitKind::Rate => format!("nothing, the whole offered load is carried{fullest}"),
        LimitKind::Depth => format!("the load's queue depth{fullest}"),
        LimitKind::Unknown => format!("not determined{fullest}"),
    }
}

/// The names of hops, in their order, so that one wire has the name that its review gives it; those that differ in a number
/// alone as the first and the last of them.
pub(super) fn named(hops: &[String]) -> String {
    let mut kinds: Vec<(String, Vec<&str>)> = Vec::new();
    for hop in hops {
        let shape = shape(hop);
        match kinds.iter_mut().find(|(known, _)| *known == shape) {
            Some((_, alike)) => alike.push(hop),
            None => kinds.push((shape, vec![hop])),
        }
    }
    kinds.iter_mut().for_each(|(_, alike)| alike.sort_by_key(|hop| (hop.len(), *hop)));
    let one = |(_, alike): &(String, Vec<&str>)| match alike.as_slice() {
        [first, .., last] => format!("{first} … {last} ({} alike)", alike.len()),
        alike => alike.concat(),
    };
    let shown: Vec<String> = kinds.iter().take(NAMES_MAX).map(one).collect();
    let more: usize = kinds.iter().skip(NAMES_MAX).map(|(_, alike)| alike.len()).sum();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// A text without its numbers.
fn shape(text: &str) -> String {
    text.chars().filter(|c| !c.is_ascii_digit()).collect()
}

/// Which hops' speeds matter in the first step.
fn matters(document: &Document) -> Vec<String> {
    let Some(first) = document.steps.first() else { return Vec::new() };
    let mut all: Vec<_> =
        first.sensitivities.iter().filter(|one| one.elasticity >= MATTERS).collect();
    all.sort_by(|a, b| b.elasticity.total_cmp(&a.elasticity));
    if all.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![
        String::new(),
        "Sensitivity of step 1: share of a hop's speedup that reaches throughput".to_owned(),
    ];
    lines.extend(all.iter().map(|one| {
        format!("  {:>5}%  {}", format!("{:.0}", one.elasticity * 100.0), named(&one.hops))
    }));
    lines
}

fn assumptions(document: &Document) -> Vec<String> {
    // The same figure of several subjects is listed once.
    let mut all: Vec<(&super::Assumed, Vec<String>)> = Vec::new();
    for one in document.steps.iter().flat_map(|step| &step.assumptions) {
        let same = all.iter_mut().find(|(known, _)| {
            (&known.figure, &known.value, &known.reason) == (&one.figure, &one.value, &one.reason)
        });
        match same {
            Some((_, subjects)) if subjects.contains(&one.subject) => {}
            Some((_, subjects)) => subjects.push(one.subject.clone()),
            None => all.push((one, vec![one.subject.clone()])),
        }
    }
    if all.is_empty() {
        return Vec::new();
    }
    let mut lines = vec![String::new(), "Assumed, because no source gives it:".to_owned()];
    lines.extend(all.iter().take(ASSUMED_MAX).map(|(one, subjects)| {
        format!("  {} {}: {} ({})", named(subjects), one.figure, one.value, one.reason)
    }));
    if let Some(more) = all.len().checked_sub(ASSUMED_MAX).filter(|more| *more > 0) {
        lines.push(format!("  and {more} more; --format json has all of them"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::named;

    #[track_caller]
    fn check(hops: &[&str], expected: &str) {
        let hops: Vec<String> = hops.iter().map(|hop| (*hop).to_owned()).collect();
        assert_eq!(named(&hops), expected);
    }

    #[test]
    fn the_hop_that_is_named_first_stays_first() {
        check(&["esx.hba8:0", "host-0", "fabric:1"], "esx.hba8:0, host-0 and 1 more");
        check(&["ssd:10", "ssd:9", "ssd:1"], "ssd:1 … ssd:10 (3 alike)");
    }
}
