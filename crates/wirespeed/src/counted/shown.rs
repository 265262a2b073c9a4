//! What `plan` shows of counters: which hop gets which, by which identity, and what is left over.

use super::mapping::{HopMap, LabHops};
use super::sources::CountedSources;
use clock::Ns;
use scenario::Scenario;
use serde_json::{Value, json};
use std::collections::BTreeSet;

const PATIENCE: Ns = Ns::secs(10);
/// Names of unmapped places that are listed.
const LISTED: usize = 12;

struct Shown {
    device: String,
    from: String,
    hops: Vec<(String, String, String)>,
    lost: Vec<(String, String)>,
    unmapped: Vec<String>,
    troubles: Vec<String>,
}

/// Asks every source for its places; nothing is changed anywhere.
fn shown(scenario: &Scenario) -> Vec<Shown> {
    let Some(sources) = CountedSources::start(&scenario.lab.counters) else { return Vec::new() };
    let lab = LabHops::of(scenario);
    let until = clock::now().plus(PATIENCE);
    let used: BTreeSet<String> = scenario
        .lab
        .targets
        .iter()
        .flat_map(|target| probe::block::under(std::path::Path::new(&target.url)))
        .map(|device| device.name().to_owned())
        .collect();
    let device = |at: usize| {
        let (source, found) = sources.found(at, until);
        let map = HopMap::of(&source, &found.places, &lab, &used);
        let name = |place: usize| found.places[place].1.name.clone();
        Shown {
            hops: map
                .hops
                .iter()
                .map(|of| (of.name.clone(), name(of.place), of.by.clone()))
                .collect(),
            lost: map.lost.iter().map(|of| (of.hop.clone(), of.is.clone())).collect(),
            unmapped: map.unmapped.iter().map(|place| name(*place)).collect(),
            troubles: found.troubles.iter().map(|(name, why)| format!("{name}: {why}")).collect(),
            device: source.device,
            from: source.from.to_string(),
        }
    };
    (0..sources.all().len()).map(device).collect()
}

/// For people; nothing where the scenario names no source.
pub fn text(scenario: &Scenario) -> Vec<String> {
    let mut out = Vec::new();
    for of in shown(scenario) {
        out.push(format!("  {:<12} {}", of.device, of.from));
        for (hop, place, by) in &of.hops {
            let place = if place == by { place.clone() } else { format!("{place} ({by})") };
            out.push(format!("  {:<12}   {hop} ← {place}", ""));
        }
        for (hop, is) in &of.lost {
            out.push(format!("  {:<12}   {hop} HAS NO COUNTERS: nothing there is `{is}`", ""));
        }
        out.extend(of.troubles.iter().map(|why| format!("  {:<12}   NO COUNTERS: {why}", "")));
        if !of.unmapped.is_empty() {
            let names: Vec<&str> = of.unmapped.iter().take(LISTED).map(String::as_str).collect();
            let more = match of.unmapped.len().saturating_sub(LISTED) {
                0 => String::new(),
                more => format!(" and {more} more"),
            };
            out.push(format!("  {:<12}   no hop: {}{more}", "", names.join(", ")));
        }
    }
    out
}

/// For programs.
pub fn as_json(scenario: &Scenario) -> Vec<Value> {
    let hop = |(hop, place, by): &(String, String, String)| json!({ "hop": hop, "place": place, "identity": by });
    let lost = |(hop, is): &(String, String)| json!({ "hop": hop, "identity": is });
    let of = |of: &Shown| {
        json!({
            "device": of.device,
            "from": of.from,
            "hops": of.hops.iter().map(hop).collect::<Vec<_>>(),
            "without_counters": of.lost.iter().map(lost).collect::<Vec<_>>(),
            "unmapped": of.unmapped,
            "problems": of.troubles,
        })
    };
    shown(scenario).iter().map(of).collect()
}
