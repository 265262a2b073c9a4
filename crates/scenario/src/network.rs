//! Network loads: the receivers that they go to, the nics by which VMs reach them, and what runs over them in a step.
//!
//! This opens no socket. What a load carries is [`workload::Network`], which the live engine and the simulator read.
//!
//! A pair of a member of a load and a receiver is a *hop*: named `far` where the load runs on the receiver itself, that is
//! from the machine that runs the scenario, and `vm1.far` where it runs on a VM. Its two machines are `far/sender` and
//! `far/receiver`, and its probe is `far/probe`: see [`NetHop`].

use crate::model::{Lab, Step, Vm};
use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use units::LinkRate;
use workload::Heading;

/// `[[receiver]]`: the far end of network loads.
#[derive(Clone, Debug, PartialEq)]
pub struct Receiver {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub place: ReceiverPlace,
    /// Only addresses of this family.
    pub family: Option<AddressFamily>,
    /// The address that everything leaves from.
    pub source: Option<IpAddr>,
    /// The port that the first stream leaves from; the others follow it.
    pub source_port: Option<u16>,
    /// Where its token is to be found; always given where it is not on this machine's loopback.
    pub token: Option<TokenFrom>,
    /// The interface of this machine on the route to it, which steps may change; never given where it is embedded.
    pub adjust: Option<String>,
    /// The wire between the two, where the interface does not tell.
    pub rate: Option<LinkRate>,
    /// Where it stands in a lab that is simulated; a live run leaves it alone.
    pub site: Option<ReceiverSite>,
}

/// A receiver as a part of a lab: the hosts at both ends of what goes to it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReceiverSite {
    /// The host that it stands on.
    pub host: String,
    /// Its adapter or team there, `HOST.NAME`; the host's only one for networks without it.
    pub adapter: Option<String>,
    /// The host that sends, where a load runs on the receiver itself.
    pub from: Option<String>,
    /// The adapter or team by which that host sends.
    pub from_adapter: Option<String>,
}

/// Where a receiver is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReceiverPlace {
    /// It waits there.
    At {
        /// Its name or address; an IPv6 address without brackets.
        host: String,
        /// Its port; [`Receiver::PORT`] unless given.
        port: u16,
    },
    /// It stands on this machine's loopback for the time of the run.
    Embedded,
    /// It is a host of the lab alone ([`Receiver::site`]), which no live run reaches.
    Modelled,
}

/// A family of addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressFamily {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// Where a secret is to be found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenFrom {
    /// A file.
    File(String),
    /// A variable of the environment.
    Env(String),
}

/// A nic of a VM: a network load on the VM uses each of its nics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VmNic {
    /// The receiver that it reaches. No two nics of a VM reach the same.
    pub receiver: String,
    /// The adapter or team of the VM's host in a lab that is simulated, `HOST.NAME`.
    pub adapter: Option<String>,
}

/// A member of a network load with one receiver.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NetHop<'a> {
    /// The VM; none where the load runs on the receiver itself.
    pub vm: Option<&'a str>,
    /// The far end.
    pub receiver: &'a Receiver,
}

/// The end of the name of a hop's sending machine.
pub const SENDER: &str = "sender";
/// The end of the name of a hop's receiving machine.
pub const RECEIVER: &str = "receiver";
/// The end of the name of a hop's probe.
pub const PROBE: &str = "probe";

impl Receiver {
    /// The port where a receiver waits unless the scenario says otherwise.
    pub const PORT: u16 = 5301;
}

impl ReceiverPlace {
    /// Whether no token is needed: on this machine's loopback (embedded, a loopback address, or `localhost`), or nowhere. Another
    /// name is not resolved, and counts as being off loopback.
    pub fn is_loopback(&self) -> bool {
        match self {
            ReceiverPlace::Embedded | ReceiverPlace::Modelled => true,
            ReceiverPlace::At { host, .. } => match host.parse::<IpAddr>() {
                Ok(address) => address.to_canonical().is_loopback(),
                Err(_) => host.eq_ignore_ascii_case("localhost"),
            },
        }
    }
}

impl fmt::Display for ReceiverPlace {
    /// `192.0.2.2:5301`, `[2001:db8::2]:5301`, `embedded`, or `a host of the lab`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReceiverPlace::Embedded => f.write_str("embedded"),
            ReceiverPlace::Modelled => f.write_str("a host of the lab"),
            ReceiverPlace::At { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            ReceiverPlace::At { host, port } => write!(f, "{host}:{port}"),
        }
    }
}

impl AddressFamily {
    /// Its name in scenarios.
    pub fn word(self) -> &'static str {
        match self {
            AddressFamily::Ipv4 => "ipv4",
            AddressFamily::Ipv6 => "ipv6",
        }
    }
}

impl NetHop<'_> {
    /// Its name: `far`, or `vm1.far`.
    pub fn name(&self) -> String {
        match self.vm {
            Some(vm) => format!("{vm}.{}", self.receiver.name),
            None => self.receiver.name.clone(),
        }
    }
}

impl Lab {
    /// The receiver of that name.
    pub fn receiver(&self, name: &str) -> Option<&Receiver> {
        self.receivers.iter().find(|receiver| receiver.name == name)
    }

    /// The hops of a member of a network load: the receiver itself, or each nic of the VM, in their order.
    pub fn net_hops(&self, member: &str) -> Vec<NetHop<'_>> {
        NetNames::of(self).hops(member)
    }
}

/// Receivers and VMs by their names, for looking up many.
struct NetNames<'a> {
    receivers: BTreeMap<&'a str, &'a Receiver>,
    vms: BTreeMap<&'a str, &'a Vm>,
}

impl<'a> NetNames<'a> {
    fn of(lab: &'a Lab) -> NetNames<'a> {
        NetNames {
            receivers: lab.receivers.iter().map(|known| (known.name.as_str(), known)).collect(),
            vms: lab.vms.iter().map(|vm| (vm.name.as_str(), vm)).collect(),
        }
    }

    fn hops(&self, member: &str) -> Vec<NetHop<'a>> {
        if let Some(receiver) = self.receivers.get(member) {
            return vec![NetHop { vm: None, receiver }];
        }
        let Some(vm) = self.vms.get(member) else { return Vec::new() };
        let hop = |nic: &VmNic| {
            let receiver = self.receivers.get(nic.receiver.as_str())?;
            Some(NetHop { vm: Some(&vm.name), receiver })
        };
        vm.nics.iter().filter_map(hop).collect()
    }
}

/// The hops of the members of a network load, in their order.
pub(crate) fn hops<'a>(lab: &'a Lab, members: &[String]) -> Vec<NetHop<'a>> {
    let ways = NetNames::of(lab);
    members.iter().flat_map(|member| ways.hops(member)).collect()
}

impl Step {
    /// The interfaces of this machine that it changes, by their receivers, each once; none without MTU or offloads.
    pub fn adjusted<'a>(&self, lab: &'a Lab) -> Vec<&'a Receiver> {
        let mut all: Vec<&Receiver> = Vec::new();
        if self.frames == workload::NetFrames::default() {
            return all;
        }
        for receiver in self.net_loads().flat_map(|net| net.hops(lab)).map(|hop| hop.receiver) {
            let known = all.iter().any(|other| other.name == receiver.name);
            if receiver.adjust.is_some() && !known {
                all.push(receiver);
            }
        }
        all
    }
}

/// The word for a direction in scenarios.
pub(crate) fn heading_word(heading: Heading) -> &'static str {
    match heading {
        Heading::Send => "send",
        Heading::Receive => "receive",
        Heading::Both => "both",
    }
}
