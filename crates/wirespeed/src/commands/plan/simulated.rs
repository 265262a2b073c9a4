//! The dry run of a lab that is not present: what only the simulator carries out, and whether it could.

use crate::labs::CompiledLab;
use scenario::topology::Topology;
use scenario::{Diagnostics, Incident, Scenario, Stage, Step};
use serde_json::{Value, json};

/// The lab as the simulator would have it, where a live run cannot carry the scenario out: every step is compiled, as the
/// simulator does it first, so that both refuse the same.
pub fn lab(scenario: &Scenario, stages: &[Stage]) -> Option<Result<Topology, Diagnostics>> {
    scenario.live().err()?;
    Some(CompiledLab::new(scenario, stages).map(CompiledLab::into_topology))
}

/// The copies of a step, one a line.
pub fn copies(step: &Step) -> Vec<String> {
    step.loads
        .iter()
        .filter(|load| load.workload.copy().is_some())
        .map(ToString::to_string)
        .collect()
}

/// What goes wrong in a step's lab.
pub fn incidents(step: &Step) -> Vec<String> {
    let line =
        |incident: &Incident| format!("at {}: {}", units::duration(incident.at), incident.change);
    step.incidents.iter().map(line).collect()
}

/// What the simulator would have, or what it lacks.
pub fn text(lab: &Result<Topology, Diagnostics>) -> Vec<String> {
    match lab {
        Ok(topology) => {
            let paths: usize = topology.ways.iter().map(|way| way.paths.len()).sum();
            vec![
                "\nlab".to_owned(),
                format!(
                    "  {} by {} through {}: `wirespeed simulate` carries this out",
                    several(topology.ways.len(), "disk"),
                    several(paths, "path"),
                    several(topology.hops.len(), "hop")
                ),
            ]
        }
        Err(mistakes) => {
            let mut lines =
                vec!["\nlab, which is not described well enough to be simulated".to_owned()];
            lines.extend(told(mistakes));
            lines
        }
    }
}

/// `1 disk`, `1,200 disks`.
fn several(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        many if many < 100 => format!("{many} {what}s"),
        many => format!("{} {what}s", units::count(many as f64)),
    }
}

/// Why a run cannot carry out what cannot be simulated either.
pub fn refused(scenario: &Scenario, lab: &Result<Topology, Diagnostics>) -> Vec<String> {
    let (Err(_), Err(mistakes)) = (lab, scenario.live()) else { return Vec::new() };
    let mut lines = vec!["\nrun, which is refused".to_owned()];
    lines.extend(told(&mistakes));
    lines
}

/// A line for each mistake.
fn told(mistakes: &Diagnostics) -> impl Iterator<Item = String> {
    mistakes.iter().map(|mistake| {
        let name = mistakes.name(mistake.place.origin);
        let help = mistake.help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        format!("  {name}:{}: {}{help}", mistake.place.line, mistake.message)
    })
}

/// The same for programs.
pub fn as_json(lab: Option<&Result<Topology, Diagnostics>>) -> Value {
    match lab {
        None => Value::Null,
        Some(Ok(topology)) => json!({
            "hops": topology.hops.iter().map(|hop| &hop.name).collect::<Vec<_>>(),
            "ways": topology.ways.iter().map(|way| json!({
                "member": way.member,
                "disk": way.disk,
                "volume": way.volume,
                "policy": way.policy.to_string(),
                "paths": way.paths.len(),
            })).collect::<Vec<_>>(),
        }),
        Some(Err(mistakes)) => {
            json!({ "problems": mistakes.iter().map(|m| &m.message).collect::<Vec<_>>() })
        }
    }
}
