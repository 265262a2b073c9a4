//! What the user knows of places beside the files: small TOML files of limits and names, and labs of scenarios, whose
//! cables say which port leads where, and whose parts how fast they are.
//!
//! A hop of a lab is the place of the files that has its device's name and its own: `esx1.vmhba2` is `vmhba2` of `esx1`, and
//! `sw1:4` is `port 4` of `sw1`.

use crate::catalogs;
use crate::exit::Failure;
use crate::labs::CompiledLab;
use import::monitor::{self, KnownHop, Topology};
use record::CounterId;
use scenario::{Scenario, Source, Stage};
use sim::plant::PlantHop;
use std::path::{Path, PathBuf};

/// Everything that is known.
pub(super) fn known(paths: &[PathBuf]) -> Result<Topology, Failure> {
    let mut all = Topology::default();
    for path in paths {
        let of = one(path)?;
        all.hops.extend(of.hops);
        all.same.extend(of.same);
        all.devices.extend(of.devices);
    }
    Ok(all)
}

fn one(path: &Path) -> Result<Topology, Failure> {
    let name = path.display().to_string();
    let text = super::text(path, "topology")?;
    if is_scenario(&text) {
        return of_scenario(name, text);
    }
    let rate =
        |text: &str| units::ByteRate::parse(text).map(|rate| rate.0).map_err(|e| e.to_string());
    monitor::topology(&text, &rate).map_err(|why| Failure::usage(format!("{name}: {why}")))
}

/// Whether a text is a scenario's: it has a head.
fn is_scenario(text: &str) -> bool {
    text.lines().any(|line| line.trim_start().starts_with("[scenario]"))
}

fn of_scenario(name: String, text: String) -> Result<Topology, Failure> {
    let catalogs = catalogs::catalogs(&[])?;
    let scenario =
        scenario::load(&Source { name: name.clone(), text, overrides: Vec::new(), catalogs })?;
    let stages = scenario.stages();
    let lab = CompiledLab::new(&scenario, &stages)?;
    let fail = |why: String| Failure::usage(format!("{name}: {why}"));
    let step = stages.iter().flat_map(Stage::examples).next();
    let step = step.ok_or_else(|| fail("it has no step, whose lab would be known".to_owned()))?;
    let plant = lab.plant(&step).map_err(|error| fail(error.to_string()))?;
    let mut all = Topology::default();
    for hop in &plant.hops {
        let limits = limits(hop);
        let names = names(&hop.name, &hop.device);
        all.hops.extend(names.map(|name| of(name, limits.clone())));
    }
    cables(&scenario, &mut all)?;
    all.hops.retain(|hop| !hop.limits.is_empty());
    Ok(all)
}

/// The speed of each cable at the ports that it joins, which are one place.
fn cables(scenario: &Scenario, all: &mut Topology) -> Result<(), Failure> {
    for wire in scenario.wires()? {
        let ends = wire.ends.iter().filter_map(|end| Some((end.hop.as_ref()?, &end.device)));
        let ends: Vec<String> = ends.flat_map(|(hop, device)| names(hop, device)).collect();
        let rate = wire.rate.map(|rate| (CounterId::PortRate, rate.payload().0));
        let known = ends.iter().map(|end| of(end.clone(), rate.into_iter().collect()));
        all.hops.extend(known);
        all.same.push(ends);
    }
    Ok(())
}

fn of(name: String, limits: Vec<(CounterId, f64)>) -> KnownHop {
    KnownHop { name: Some(name), id: None, limits }
}

/// What a hop is called in the files: its device and what remains of its name; of a number, the port.
fn names(hop: &str, device: &str) -> impl Iterator<Item = String> {
    let rest = hop.strip_prefix(device).unwrap_or_default();
    let rest = rest.trim_start_matches(['.', ':', '/']).to_owned();
    let number = !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_digit());
    let port = number.then(|| format!("{device}/port {rest}"));
    let own = (!rest.is_empty()).then(|| format!("{device}/{rest}"));
    own.into_iter().chain(port)
}

fn limits(hop: &PlantHop) -> Vec<(CounterId, f64)> {
    let of = &hop.limits;
    let all = [
        (CounterId::ReadRate, of.read_rate),
        (CounterId::WriteRate, of.write_rate),
        (CounterId::BothRate, of.both_rate),
        (CounterId::OpsRate, of.ops_rate),
        (CounterId::Slots, of.slots.map(f64::from)),
    ];
    all.into_iter().filter_map(|(id, limit)| Some((id, limit?))).collect()
}
