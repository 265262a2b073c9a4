//! Network loads as the scenario plans them: what their streams carry, and the wires they use.

use super::wire::{SpeedFrom, WireSpeed};
use scenario::{Scenario, Step};
use serde::Serialize;
use std::collections::BTreeMap;
use workload::{Carriage, Network};

/// What the streams of a load carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Carries {
    /// TCP streams of messages.
    Tcp,
    /// UDP datagrams.
    Udp,
    /// Requests and responses on standing TCP connections.
    Requests,
    /// Requests and responses in datagrams.
    UdpRequests,
    /// Connect, request, response, close.
    Connects,
}

impl Carries {
    /// Whether it waits for answers, so that its times are measured.
    pub fn is_transactions(self) -> bool {
        !matches!(self, Carries::Tcp | Carries::Udp)
    }

    /// What a message is called.
    pub fn noun(self) -> &'static str {
        match self {
            Carries::Tcp => "messages",
            Carries::Udp => "datagrams",
            Carries::Requests | Carries::UdpRequests | Carries::Connects => "transactions",
        }
    }

    /// How the load is called.
    pub fn title(self) -> &'static str {
        match self {
            Carries::Tcp => "TCP",
            Carries::Udp => "UDP",
            Carries::Requests => "TCP requests",
            Carries::UdpRequests => "UDP requests",
            Carries::Connects => "TCP connects",
        }
    }
}

impl From<&Carriage> for Carries {
    fn from(carriage: &Carriage) -> Carries {
        match carriage {
            Carriage::Tcp => Carries::Tcp,
            Carriage::Udp { .. } => Carries::Udp,
            Carriage::Exchange { .. } => Carries::Requests,
            Carriage::DatagramExchange { .. } => Carries::UdpRequests,
            Carriage::Connects { .. } => Carries::Connects,
        }
    }
}

/// The planned network loads of one step. Empty where the scenario cannot be read: figures do not need it.
#[derive(Clone, Debug, Default)]
pub(crate) struct PlannedLoads {
    /// Loads by their workloads' names.
    pub loads: BTreeMap<String, Network>,
    /// Speeds of wires by the names of pairs.
    pub wires: BTreeMap<String, units::LinkRate>,
}

impl PlannedLoads {
    /// Those of a step.
    pub fn of((scenario, step): (&Scenario, &Step)) -> PlannedLoads {
        let mut planned = PlannedLoads::default();
        for net in step.net_loads() {
            planned.loads.insert(net.workload.name.clone(), net.workload.network.clone());
            let hops = net.hops(&scenario.lab).into_iter();
            planned.wires.extend(hops.filter_map(|hop| Some((hop.name(), hop.receiver.rate?))));
        }
        planned
    }

    /// The load of a workload.
    pub fn load(&self, workload: &str) -> Option<&Network> {
        self.loads.get(workload)
    }

    /// The speed of a pair's wire, where the scenario names it.
    pub fn wire(&self, pair: &str) -> Option<WireSpeed> {
        let rate = self.wires.get(pair)?;
        Some(match rate.line() {
            Some(line) => WireSpeed::Line(line.0, SpeedFrom::Scenario),
            None => WireSpeed::Payload(rate.payload().0),
        })
    }
}
