//! Access: zones in the fabric, and masks at the arrays.

use crate::model::Lab;
use std::collections::{BTreeMap, BTreeSet};

/// The zones of a lab by their members.
pub(super) struct Zoning<'a> {
    lab: &'a Lab,
    zones: BTreeMap<&'a str, BTreeSet<usize>>,
}

impl<'a> Zoning<'a> {
    pub fn of(lab: &'a Lab) -> Zoning<'a> {
        let mut zones: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
        for (n, zone) in lab.zones.iter().enumerate() {
            for member in &zone.members {
                zones.entry(member).or_default().insert(n);
            }
        }
        Zoning { lab, zones }
    }

    /// Whether some zone holds both, or there are no zones.
    pub fn zoned(&self, initiator: &[&str], target: &[&str]) -> bool {
        if self.lab.zones.is_empty() {
            return true;
        }
        let ours = initiator.iter().filter_map(|name| self.zones.get(name));
        let mut pairs = ours.flat_map(|a| target.iter().map(move |name| (a, name)));
        pairs.any(|(a, name)| self.zones.get(name).is_some_and(|b| !a.is_disjoint(b)))
    }

    /// The first zone that has one of the names.
    pub fn zone_of(&self, names: &[&str]) -> Option<&'a str> {
        let found = names.iter().filter_map(|name| self.zones.get(name)?.first()).min()?;
        self.lab.zones.get(*found).map(|zone| zone.name.as_str())
    }
}
