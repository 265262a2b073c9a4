//! A step's network load as an engine receives it: the receiver, the traffic, and the source numbers of its figures.

use record::SourceId;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use workload::{NetFrames, Network};

/// A network load between this host and one receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetSpec {
    /// Name of its hop in the scenario.
    pub name: String,
    /// The far end.
    pub receiver: ReceiverSpec,
    /// The traffic.
    pub network: Network,
    /// Interface settings of the step.
    pub frames: NetFrames,
    /// The source numbers of its figures.
    pub sources: NetSources,
}

impl NetSpec {
    /// The name under which the engine of network loads is registered.
    pub const ENGINE: &str = "net";
}

/// The far end of a network load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiverSpec {
    /// Name in the scenario.
    pub name: String,
    /// Its address.
    pub place: ReceiverAddress,
    /// Restricts addresses to one family: `true` for IPv6.
    pub ipv6: Option<bool>,
    /// The local address of all connections.
    pub source: Option<IpAddr>,
    /// The local port of the first stream; the others follow it.
    pub source_port: Option<u16>,
    /// Where its token is found. The token itself is never sent.
    pub token: Option<TokenSource>,
    /// The interface of this host that leads to it, if the scenario names one; steps may change its settings.
    pub adjust: Option<String>,
}

/// The address of a receiver.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReceiverAddress {
    /// A receiver that already listens there.
    At {
        /// Host name or address.
        host: String,
        /// TCP port.
        port: u16,
    },
    /// On this host's loopback, started for the run.
    Embedded,
}

/// Where a secret is found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenSource {
    /// A file.
    File(String),
    /// An environment variable.
    Env(String),
}

/// The source numbers under which a network load reports. Several loads of a step on one pair of hosts share the pair
/// and its machines: the pair's traffic is the sum of their reports; only the first reports the machines' counters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetSources {
    /// The hop between the two hosts: received bytes in each direction.
    pub hop: SourceId,
    /// The client machine.
    pub sender: SourceId,
    /// The server machine.
    pub receiver: SourceId,
    /// Both ends of each stream, sent and received; streams to the receiver come first.
    pub streams: Vec<(SourceId, SourceId)>,
    /// The latency probe beside the streams, if there is one.
    pub probe: Option<SourceId>,
}

impl NetSources {
    /// All source numbers.
    pub fn all(&self) -> impl Iterator<Item = SourceId> {
        let ends = self.streams.iter().flat_map(|(sent, received)| [*sent, *received]);
        [self.hop, self.sender, self.receiver].into_iter().chain(ends).chain(self.probe)
    }
}
