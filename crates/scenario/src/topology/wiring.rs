//! The cables of a lab with both of their ends, implicit ones among them: what an emulated fabric is built of.

use super::fabric::{Cabling, NodeId, NodeRole};
use super::ways::WayBuilder;
use crate::diagnostics::{Diagnostics, Sink};
use crate::model::{Link, Part, Scenario};
use units::LinkRate;

/// A cable.
#[derive(Clone, Debug, PartialEq)]
pub struct Wire {
    /// Its name: that of its hop.
    pub name: String,
    /// Its two ends; the first is nearer the initiators where it is known which is.
    pub ends: [WireEnd; 2],
    /// The slowest of the link's own rate and those of the parts at its ends, before it is scaled; `None`: unlimited.
    pub rate: Option<LinkRate>,
    /// The link of the scenario, where it has one.
    pub link: Option<Link>,
}

/// One end of a cable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireEnd {
    /// What it is plugged into.
    pub role: WireRole,
    /// The host, the switch or the array.
    pub device: String,
    /// The adapter by its full name, the switch or the array.
    pub node: String,
    /// The port, counted from 0.
    pub port: u32,
    /// The hop of that port: of the only port of an adapter in use, the adapter. `None` at the ends of a trunk.
    pub hop: Option<String>,
}

/// What a cable is plugged into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WireRole {
    /// An adapter of a host.
    Host,
    /// A switch.
    Switch,
    /// An array.
    Array,
}

impl Scenario {
    /// The cables of the lab, in the order in which they are laid: those of the scenario, then implicit ones.
    /// # Errors
    /// As [`Scenario::topology`].
    pub fn wires(&self) -> Result<Vec<Wire>, Diagnostics> {
        self.topology()?;
        let mut sink = Sink::default();
        let builder = WayBuilder::new(self, &mut sink);
        let fabric = &builder.fabric;
        Ok((0..fabric.cables.len()).map(|cable| self.wire(fabric, cable)).collect())
    }

    fn wire(&self, fabric: &Cabling<'_>, cable: usize) -> Wire {
        let cable = &fabric.cables[cable];
        let trunk = fabric.is_trunk(cable);
        let mut ends = cable.ends.map(|(node, port)| end(fabric, node, port, trunk));
        if rank(ends[0].role) > rank(ends[1].role) {
            ends.reverse();
        }
        let link = self.lab.links.iter().find(|link| link.name == cable.name);
        let parts = cable.ends.iter().filter_map(|(node, _)| {
            let node = &fabric.nodes[*node];
            // The port of an embedded array has its own speed, which its server keeps.
            node.part.filter(|_| node.embedded.is_none()).and_then(|part| port_rate(part, trunk))
        });
        let own = link.and_then(|link| link.rate);
        let rate =
            own.into_iter().chain(parts).min_by(|a, b| a.payload().0.total_cmp(&b.payload().0));
        Wire { name: cable.name.clone(), ends, rate, link: link.cloned() }
    }
}

fn end(fabric: &Cabling<'_>, node: NodeId, port: u32, trunk: bool) -> WireEnd {
    let of = &fabric.nodes[node];
    let only = of.role == NodeRole::Adapter && of.cabled.len() < 2;
    let hop = if only { of.name.clone() } else { of.port_name(port) };
    let role = match of.role {
        NodeRole::Adapter => WireRole::Host,
        NodeRole::Switch => WireRole::Switch,
        NodeRole::Array => WireRole::Array,
    };
    let (device, name) = (of.device.to_owned(), of.name.clone());
    WireEnd { role, device, node: name, port, hop: (!trunk).then_some(hop) }
}

/// Hosts, then switches, then arrays.
fn rank(role: WireRole) -> u8 {
    match role {
        WireRole::Host => 0,
        WireRole::Switch => 1,
        WireRole::Array => 2,
    }
}

/// The speed of a part's ports; of stacking ports, where the cable joins switches.
fn port_rate(part: &Part, trunk: bool) -> Option<LinkRate> {
    let stacking = trunk.then(|| part.link_rate("stacking_rate")).flatten();
    stacking.or_else(|| part.link_rate("port_rate"))
}
