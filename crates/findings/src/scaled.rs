//! Speeds of ports that are scaled down: the factor, the resulting speeds, and the reason.
//!
//! A machine that cannot carry a wire's rate can carry a share of it, with all proportions kept. Readers must know that
//! share first, so the analysis has it apart.

use crate::wires::PortTraffic;
use record::Fact;
use serde::Serialize;

/// The fact of an array that says why its speeds have the scale that they have.
const REASON: &str = "scale-reason";

/// An array whose ports are slower than what they are named after.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Scaled {
    /// The array.
    pub array: String,
    /// What all its speeds are multiplied by, 0 to 1.
    pub scale: f64,
    /// The speeds that its ports have in the run.
    pub rates: Vec<ScaledRate>,
    /// The reason given for the scale; `None` where the scenario set it without one.
    pub reason: Option<String>,
}

/// A speed and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ScaledRate {
    /// How the scenario calls it.
    pub name: String,
    /// In bytes a second and direction, before scaling.
    pub nominal_bytes_per_s: f64,
    /// The same after scaling.
    pub bytes_per_s: f64,
}

/// Takes in the ports of a step.
pub(crate) fn see(all: &mut Vec<Scaled>, wires: &[PortTraffic], facts: &[Fact]) {
    for wire in wires.iter().filter(|w| w.scale != 1.0) {
        let (Some(name), Some(nominal)) = (&wire.name, wire.nominal) else { continue };
        let place = all.iter().position(|s| s.array == wire.array).unwrap_or_else(|| {
            let reason = facts.iter().find(|f| f.subject == wire.array && f.key == REASON);
            all.push(Scaled {
                array: wire.array.clone(),
                scale: wire.scale,
                rates: Vec::new(),
                reason: reason.map(|f| f.value.clone()),
            });
            all.len() - 1
        });
        let rates = &mut all[place].rates;
        if !rates.iter().any(|r| r.name == *name) {
            let bytes_per_s = nominal * wire.scale;
            rates.push(ScaledRate {
                name: name.clone(),
                nominal_bytes_per_s: nominal,
                bytes_per_s,
            });
        }
    }
}
