//! The connections of a lab: cables, teams, zones and paths.

use super::embedded::turn;
use super::lab::{LabBuilder, expanded};
use super::{complain, count_u32, place};
use crate::datum::{Datum, Decoded};
use crate::diagnostics::{At, Mistake, Span};
use crate::directory::{NameKind, deal};
use crate::embedded::SwitchAfter;
use crate::model::{Endpoint, Link, Path, Zone};
use crate::simulated::{Team, TeamMode};
use crate::spots::Spot;
use std::collections::BTreeSet;
use units::LinkRate;

const PORTED: &[NameKind] = &[NameKind::Adapter, NameKind::Switch, NameKind::Array];
/// Hops that one path may name, at most.
const VIA_MAX: usize = 256;

impl LabBuilder<'_> {
    /// Declares the teams, and resolves their members, which have been declared with their hosts.
    pub(super) fn teams(&mut self, root: &Decoded) -> Vec<Team> {
        let mut teams = Vec::new();
        for record in root.records("team") {
            let names = if self.directory.is_full() { Vec::new() } else { expanded(record) };
            let hosts = self.dealt(record, "host", &[NameKind::Host], names.len());
            for (name, host) in names.into_iter().zip(hosts) {
                let Some(host) = host else { continue };
                let full = format!("{host}.{name}");
                self.directory.declare(full, NameKind::Team, place(record, "name"), self.sink);
                let members = self.team_members(record, &host);
                let mode = match record.word("mode").map(|at| at.value) {
                    Some("dynamic") => TeamMode::Dynamic,
                    Some("adaptive") => TeamMode::Adaptive,
                    Some("failover") => TeamMode::Failover,
                    _ => TeamMode::Static,
                };
                teams.push(Team { name, host, members, mode });
            }
        }
        teams
    }

    fn team_members(&mut self, record: &Decoded, host: &str) -> Vec<String> {
        let prefix = format!("{host}.");
        let mut members: Vec<String> = Vec::new();
        for text in record.texts("members") {
            let full = match text.value.starts_with(&prefix) {
                true => text.value.clone(),
                false => format!("{prefix}{}", text.value),
            };
            let text = At::new(text.at, full);
            let found = self.directory.find_ports(&text, &[NameKind::Adapter], self.sink);
            for (device, port) in found.unwrap_or_default() {
                let member = Endpoint { device, port }.to_string();
                if members.contains(&member) {
                    let message = format!("members: `{member}` is named twice");
                    self.sink.push(|| Mistake::new(text.at, message));
                } else if self.directory.afford(1, text.at, self.sink) {
                    members.push(member);
                }
            }
        }
        members
    }

    /// When a path with a policy that takes turns hands over to the next.
    fn path_turn(&mut self, record: &Decoded, policy: Option<&str>) -> Option<SwitchAfter> {
        if record.has("switch_after") && policy != Some("round-robin") {
            let problem = "only `policy = \"round-robin\"` switches in turn";
            complain(record, "switch_after", problem, self.sink);
        }
        turn(record)
    }

    pub(super) fn links(&mut self, root: &Decoded) -> Vec<Link> {
        let mut links: Vec<Link> = Vec::new();
        for record in root.records("link") {
            for link in self.link(record) {
                let number = u32::try_from(links.len()).unwrap_or(u32::MAX);
                for (first, key) in [(true, "from"), (false, "to")] {
                    let spot = Spot::End(number, first);
                    self.directory.spots.insert(spot, place(record, key));
                }
                links.push(link);
            }
        }
        links
    }

    /// The cables of one definition: as many as its names, or else its ends.
    fn link(&mut self, record: &Decoded) -> Vec<Link> {
        let mut end = |key| {
            let found = self.directory.find_ports(&record.text(key)?, PORTED, self.sink)?;
            let endpoint = |(device, port)| Endpoint { device, port };
            Some(found.into_iter().map(endpoint).collect::<Vec<_>>())
        };
        let (from, to) = (end("from"), end("to"));
        let (Some(from), Some(to)) = (from, to) else { return Vec::new() };
        let names = expanded(record);
        let n = match names.len() {
            0 => from.len().max(to.len()),
            n => n,
        };
        let mut ends = |key, found: &[Endpoint]| {
            deal(found, false, n).map_err(|problem| complain(record, key, problem, self.sink)).ok()
        };
        let (Some(from), Some(to)) = (ends("from", &from), ends("to", &to)) else {
            return Vec::new();
        };
        let rate = self.link_rate(record);
        let length_m = record.number("length_m").map(|at| at.value);
        let (mtu, credits) = (count_u32(record, "mtu"), count_u32(record, "credits"));
        let vlans = self.vlans(record, from.iter().chain(&to));
        let mut links = Vec::with_capacity(n);
        for (i, (from, to)) in from.into_iter().zip(to).enumerate() {
            let name = names.get(i).cloned().unwrap_or_else(|| format!("{from}-{to}"));
            self.directory.declare(name.clone(), NameKind::Link, place(record, "name"), self.sink);
            let vlans = vlans.clone();
            links.push(Link { name, from, to, rate, length_m, mtu, credits, vlans });
        }
        links
    }

    /// The VLANs of a cable: one where an end is no switch.
    fn vlans<'e>(
        &mut self,
        record: &Decoded,
        mut ends: impl Iterator<Item = &'e Endpoint>,
    ) -> Vec<u16> {
        let of = |item: &At<Datum>| match item.value {
            Datum::Count(vlan) => u16::try_from(vlan).ok(),
            _ => None,
        };
        let vlans: BTreeSet<u16> = record.items("vlan").into_iter().filter_map(of).collect();
        let switch = |end: &Endpoint| self.directory.is(&end.device, NameKind::Switch);
        if vlans.len() > 1 && !ends.all(switch) {
            let problem = "the cable of a host or an array is in one VLAN; a cable between switches carries several";
            complain(record, "vlan", problem, self.sink);
        }
        vlans.into_iter().collect()
    }

    /// The speed of a cable, or of the way to a receiver, whose MTU is defined elsewhere.
    pub(super) fn link_rate(&mut self, record: &Decoded) -> Option<LinkRate> {
        let rate = record.link("rate")?.value;
        if let LinkRate::Standard(standard) = rate
            && let Some(mtu) = standard.jumbo()
        {
            let beside =
                if record.def.field("mtu").is_some() { "beside it" } else { "in the plan" };
            let problem = format!("say `{}` here, and `mtu = {mtu}` {beside}", standard.name());
            complain(record, "rate", problem, self.sink);
        }
        Some(rate)
    }

    pub(super) fn zones(&mut self, record: &Decoded, names: &[String]) -> Vec<Zone> {
        let mut members: Vec<String> = Vec::new();
        let mut seen = BTreeSet::new();
        for text in record.texts("members") {
            let kinds: &[NameKind] = match text.value.contains(':') {
                true => &[NameKind::Adapter, NameKind::Array],
                false => &[NameKind::Adapter, NameKind::Array, NameKind::Vm],
            };
            let found = self.directory.find_ports(&text, kinds, self.sink).unwrap_or_default();
            let names =
                found.into_iter().map(|(device, port)| Endpoint { device, port }.to_string());
            members.extend(names.filter(|name| seen.insert(name.clone())));
        }
        if !self.directory.afford(names.len() * members.len(), record.at, self.sink) {
            return Vec::new();
        }
        names.iter().map(|name| Zone { name: name.clone(), members: members.clone() }).collect()
    }

    pub(super) fn paths(&mut self, record: &Decoded, names: &[String]) -> Vec<Path> {
        let n = names.len();
        let from = self.dealt(record, "from", &[NameKind::Vm, NameKind::Host], n);
        let to = self.dealt(record, "to", &[NameKind::Array, NameKind::Volume], n);
        let hops = [NameKind::Adapter, NameKind::Switch, NameKind::Link, NameKind::Array];
        let mut via: Vec<(String, Span)> = Vec::new();
        for text in record.texts("via") {
            let found = self.directory.find_ports(&text, &hops, self.sink).unwrap_or_default();
            for (device, port) in found {
                let hop = Endpoint { device, port }.to_string();
                if via.iter().any(|(known, _)| *known == hop) {
                    self.sink.push(|| {
                        let message = format!("via: the path is a loop: it passes `{hop}` twice");
                        Mistake::new(text.at, message).help("name each hop once, in path order")
                    });
                }
                via.push((hop, text.at));
            }
        }
        if via.len() > VIA_MAX {
            let problem = format!("a path names at most {VIA_MAX} hops");
            complain(record, "via", problem, self.sink);
            return Vec::new();
        }
        if !self.directory.afford(n * via.len(), record.at, self.sink) {
            return Vec::new();
        }
        let policy = record.word("policy").map(|at| at.value.to_owned());
        let switch_after = self.path_turn(record, policy.as_deref());
        for name in names {
            for (n, (_, at)) in (0..).zip(&via) {
                self.directory.spots.insert(Spot::Via(name.clone(), n), *at);
            }
        }
        names
            .iter()
            .zip(from.into_iter().zip(to))
            .filter_map(|(name, (from, to))| {
                let via = via.iter().map(|(hop, _)| hop.clone()).collect();
                let (name, policy) = (name.clone(), policy.clone());
                Some(Path { name, from: from?, to: to?, via, policy, switch_after })
            })
            .collect()
    }
}
