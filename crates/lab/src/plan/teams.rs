//! Teams of hosts' ports: what joins them where the kernel has a driver for that, at the host and at its switch.

use super::{Cable, LabPlan, NodeKind};
use crate::error::LabError;
use scenario::{Scenario, TeamMode};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A team of a host's ports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTeam {
    /// Its full name: `esx.both`.
    pub name: String,
    /// How the kernel's driver joins its ports.
    pub mode: BondMode,
    /// The position of its host.
    pub host: usize,
    /// The positions of its ports there, the first first.
    pub ports: Vec<usize>,
    /// The switch that its ports lead to and the ports there, which are joined as well: for modes in which both ends must.
    pub peer: Option<(usize, Vec<usize>)>,
    /// Why no driver can join them.
    pub apart: Option<String>,
}

/// A mode of the kernel's bonding driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BondMode {
    /// A hash of addresses and ports chooses a port for each conversation, at both ends.
    BalanceXor,
    /// The same, and the ends negotiate it.
    Ieee8023ad,
    /// Conversations are spread out by their peers; the switch knows nothing of it.
    BalanceAlb,
    /// The first port carries everything until it fails.
    ActiveBackup,
}

impl BondMode {
    fn of(mode: TeamMode) -> BondMode {
        match mode {
            TeamMode::Static => BondMode::BalanceXor,
            TeamMode::Dynamic => BondMode::Ieee8023ad,
            TeamMode::Adaptive => BondMode::BalanceAlb,
            TeamMode::Failover => BondMode::ActiveBackup,
        }
    }

    /// The driver's name of it.
    pub fn word(self) -> &'static str {
        match self {
            BondMode::BalanceXor => "balance-xor",
            BondMode::Ieee8023ad => "802.3ad",
            BondMode::BalanceAlb => "balance-alb",
            BondMode::ActiveBackup => "active-backup",
        }
    }

    /// What chooses the port of a conversation.
    pub fn chooses(self) -> &'static str {
        match self {
            BondMode::BalanceXor | BondMode::Ieee8023ad => "by a hash of addresses and ports",
            BondMode::BalanceAlb => "by peer",
            BondMode::ActiveBackup => "the first until it fails",
        }
    }

    /// Whether the switch joins its ports as well.
    fn at_both_ends(self) -> bool {
        matches!(self, BondMode::BalanceXor | BondMode::Ieee8023ad)
    }

    /// In the words of `ip`.
    pub(crate) fn options(self) -> &'static str {
        match self {
            BondMode::BalanceXor => "mode balance-xor miimon 100 xmit_hash_policy layer3+4",
            BondMode::Ieee8023ad => {
                "mode 802.3ad miimon 100 lacp_rate fast xmit_hash_policy layer3+4"
            }
            BondMode::BalanceAlb => "mode balance-alb miimon 100",
            BondMode::ActiveBackup => "mode active-backup miimon 100",
        }
    }
}

/// The teams of emulated hosts that have cables.
/// # Errors
/// One for failover that no driver can join.
pub(super) fn teams(scenario: &Scenario, plan: &LabPlan) -> Result<Vec<PlannedTeam>, LabError> {
    let mut all = Vec::new();
    for team in &scenario.lab.teams {
        let Some(host) = plan.node(&team.host) else { continue };
        let mut ports: Vec<(usize, &Cable)> = Vec::new();
        for member in &team.members {
            let of = |(port, label): (usize, &str)| {
                let named =
                    label == member || label.rsplit_once(':').is_some_and(|l| l.0 == member);
                let cable = plan.cable_at(host, port).filter(|_| named)?;
                Some((port, cable))
            };
            let labels = plan.nodes[host].ports.iter().map(|port| port.label.as_str());
            ports.extend(labels.enumerate().filter_map(of));
        }
        if ports.is_empty() {
            continue;
        }
        let mode = BondMode::of(team.mode);
        let apart = apart(plan, host, mode, &ports);
        if let Some(why) = apart.as_ref().filter(|_| mode == BondMode::ActiveBackup) {
            return Err(LabError::Plan(format!(
                "the team `{}` cannot fail over: {why}",
                team.full_name()
            )));
        }
        let far = |(_, cable): &(usize, &Cable)| other_end(cable, host);
        let switch = ports.first().map(far).map(|(node, _)| node);
        let peer = switch.filter(|_| mode.at_both_ends() && apart.is_none());
        let peer = peer.map(|node| (node, ports.iter().map(|port| far(port).1).collect()));
        let ports = ports.iter().map(|(port, _)| *port).collect();
        all.push(PlannedTeam { name: team.full_name(), mode, host, ports, peer, apart });
    }
    Ok(all)
}

/// The node and the port at the other end of a cable.
fn other_end(cable: &Cable, node: usize) -> (usize, usize) {
    let end = cable.ends.iter().find(|end| end.node != node).unwrap_or(&cable.ends[1]);
    (end.node, end.port)
}

/// Why a driver cannot join these ports of a host.
fn apart(plan: &LabPlan, host: usize, mode: BondMode, ports: &[(usize, &Cable)]) -> Option<String> {
    let ends: BTreeSet<usize> = ports.iter().map(|(_, cable)| other_end(cable, host).0).collect();
    let vlans: BTreeSet<&Vec<u16>> = ports.iter().map(|(_, cable)| &cable.vlans).collect();
    let switch = |node: &usize| plan.nodes[*node].kind == NodeKind::Switch;
    if !ends.iter().all(switch) {
        return Some("its members do not lead to a switch".to_owned());
    }
    if vlans.len() > 1 {
        return Some("its members are in different VLANs".to_owned());
    }
    if mode.at_both_ends() && ends.len() > 1 {
        return Some("its members lead to different switches".to_owned());
    }
    let first = *ends.first()?;
    let reached = joined(plan, first);
    let lost = ends.iter().any(|node| !reached.contains(node));
    lost.then(|| "its members lead to switches that are not joined".to_owned())
}

/// The switches that cables join to one.
fn joined(plan: &LabPlan, first: usize) -> BTreeSet<usize> {
    let mut known = BTreeSet::from([first]);
    let mut open = vec![first];
    while let Some(node) = open.pop() {
        let trunks = plan.cables.iter().filter(|cable| cable.trunk);
        for cable in trunks.filter(|cable| cable.ends.iter().any(|end| end.node == node)) {
            let (next, _) = other_end(cable, node);
            if known.insert(next) {
                open.push(next);
            }
        }
    }
    known
}
