//! Network loads as the scenario plans them: what their streams carry, and the wires they use.

use super::wire::{SpeedFrom, WireSpeed};
use scenario::topology::{Hop, HopKind, NetRoute};
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
    /// The hops of the lab that a pair's data crosses, by the names of pairs; in a lab without receivers on its hosts there are
    /// none.
    pub routes: BTreeMap<String, Vec<CrossedHop>>,
}

/// A hop that a pair's data crosses.
#[derive(Clone, Debug)]
pub(crate) struct CrossedHop {
    /// Its name.
    pub name: String,
    /// Whether what goes to the receiver is read there.
    pub turned: bool,
    /// Its speed each way in the scenario, and what that is multiplied by.
    pub rate: Option<(units::LinkRate, f64)>,
}

impl CrossedHop {
    /// Payload that the scenario says it carries each way, in bytes a second, where frames hold such a share of it.
    pub fn payload(&self, share: Option<f64>) -> Option<f64> {
        let (rate, scale) = self.rate?;
        match rate.line() {
            Some(line) => Some(line.0 * share? * scale),
            None => Some(rate.payload().0 * scale),
        }
    }
}

impl PlannedLoads {
    /// Those of a step.
    pub fn of((scenario, step): (&Scenario, &Step)) -> PlannedLoads {
        let mut planned = PlannedLoads { routes: routes(scenario), ..PlannedLoads::default() };
        for net in step.net_loads() {
            planned.loads.insert(net.workload.name.clone(), net.workload.network.clone());
            let hops = net.hops(&scenario.lab).into_iter();
            planned.wires.extend(hops.filter_map(|hop| Some((hop.name(), hop.receiver.rate?))));
        }
        planned
    }

    /// The hops of the lab that a pair crosses.
    pub fn route(&self, pair: &str) -> &[CrossedHop] {
        self.routes.get(pair).map_or(&[], Vec::as_slice)
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

/// The ways of pairs between hosts of the lab, of the parts that a wire is plugged into and the wires themselves.
fn routes(scenario: &Scenario) -> BTreeMap<String, Vec<CrossedHop>> {
    if scenario.lab.receivers.iter().all(|receiver| receiver.site.is_none()) {
        return BTreeMap::new();
    }
    // A lab that is no graph was refused before anything ran.
    let Ok(topology) = scenario.topology() else { return BTreeMap::new() };
    let lab = &scenario.lab;
    let scale = if lab.is_emulated() { lab.link_scale().fraction() } else { 1.0 };
    let rate = |name: &str| {
        let rate = lab.links.iter().find(|link| link.name == name)?.rate?;
        Some((rate, scale))
    };
    let hops = |route: &NetRoute| {
        let legs = route.legs.iter().map(|leg| (topology.hop(leg.hop), leg.turned));
        let wires = legs.filter(|(hop, _)| matches!(hop.kind, HopKind::Link | HopKind::Trunk));
        let crossed = |(hop, turned): (&Hop, bool)| CrossedHop {
            name: hop.name.clone(),
            turned,
            rate: rate(&hop.name),
        };
        wires.map(crossed).collect()
    };
    topology.nets.iter().map(|route| (route.pair.clone(), hops(route))).collect()
}
