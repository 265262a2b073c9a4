//! The receivers of an emulated lab: each is a process on its host, and senders on other hosts are told where it listens.
//!
//! They know a token, as every receiver off loopback does. It is made for the run, and goes to the processes of the lab by their
//! environment alone.

use super::command;
use crate::exit::Failure;
use crate::receivers::{LAB_TOKEN_ENV, Standing, TOKEN_ENV};
use lab::{Fabric, LabPlan, NetReach};
use scenario::Scenario;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};
use std::process::Command;

/// Bytes of chance in a token.
const CHANCE: usize = 16;

/// The receivers of a lab. Dropping them ends them.
pub struct LabReceivers {
    standing: Vec<StandingReceiver>,
    /// Where senders reach them: the process that sends, the receiver, its address there.
    known: Vec<(String, String, SocketAddr)>,
    token: String,
}

/// A receiver on a host.
struct StandingReceiver {
    host: String,
    process: Standing,
}

impl LabReceivers {
    /// Starts those that loads go to.
    pub fn start(scenario: &Scenario, fabric: &Fabric) -> Result<LabReceivers, Failure> {
        let senders = senders(scenario, fabric.plan())?;
        let mut all = LabReceivers { standing: Vec::new(), known: Vec::new(), token: token()? };
        for receiver in &scenario.lab.receivers {
            let addresses = fabric.plan().hears(&receiver.name);
            let Some(host) = scenario.lab.emulated_receiver(receiver) else { continue };
            if addresses.is_empty() {
                continue;
            }
            let mut command = command(fabric, &host.name, &host.name)?;
            command.env(TOKEN_ENV, &all.token);
            let listen: Vec<String> = addresses.iter().map(|ip| format!("{ip}:0")).collect();
            let (process, listening) = Standing::start(command, &listen).map_err(|error| {
                Failure::incomplete(format!(
                    "the receiver `{}` on `{}`: {error}",
                    receiver.name, host.name
                ))
            })?;
            all.standing.push(StandingReceiver { host: host.name.clone(), process });
            for (sender, reach) in senders.iter().filter(|(_, of)| of.receiver == receiver.name) {
                let at = listening.iter().find(|at| at.ip() == IpAddr::V4(reach.address));
                let known = at.map(|at| ((*sender).to_owned(), receiver.name.clone(), *at));
                all.known.extend(known);
            }
        }
        Ok(all)
    }

    /// Their processes, each with its host.
    pub fn processes(&self) -> Vec<(String, u32)> {
        self.standing.iter().map(|of| (of.host.clone(), of.process.process())).collect()
    }

    /// The command of an agent, with all that it sends to.
    pub fn known_to(&self, agent: &str, mut command: Command) -> Command {
        let own = self.known.iter().filter(|(sender, ..)| sender == agent);
        let own = own.map(|(_, name, address)| format!("--receiver={name}={address}"));
        command.args(own).env(LAB_TOKEN_ENV, &self.token);
        command
    }
}

/// The process that sends on each way to a receiver. One has one address of each.
fn senders<'a>(
    scenario: &'a Scenario,
    plan: &'a LabPlan,
) -> Result<Vec<(&'a str, &'a NetReach)>, Failure> {
    let carrier = |reach: &'a NetReach| match &reach.vm {
        Some(name) => scenario.lab.vms.iter().find(|vm| vm.name == *name)?.carrier(),
        None => Some(reach.host.as_str()),
    };
    let all: Vec<_> = plan.nets.iter().filter_map(|reach| Some((carrier(reach)?, reach))).collect();
    let mut known: BTreeMap<(&str, &str), &NetReach> = BTreeMap::new();
    for (sender, reach) in &all {
        let first = known.entry((*sender, reach.receiver.as_str())).or_insert(reach);
        if first.address != reach.address {
            return Err(Failure::usage(format!(
                "`{sender}` sends to the receiver `{}` by {} and by {}: in an emulated lab a host reaches a receiver by one \
                 of its ports; give the VMs `cpus`, so that each is a process of its own, or add a receiver",
                reach.receiver, first.from, reach.from
            )));
        }
    }
    Ok(all)
}

fn token() -> Result<String, Failure> {
    let mut chance = [0; CHANCE];
    clock::unpredictable(&mut chance).map_err(Failure::incomplete)?;
    Ok(chance.iter().map(|byte| format!("{byte:02x}")).collect())
}
