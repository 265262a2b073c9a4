//! A network load of a step, as an engine is asked to carry it out: whereto, what, and under which numbers it reports.

use record::SourceId;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use workload::{Frames, Network};

/// A network load between this host and one receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NetSpec {
    /// Its hop's name in the scenario.
    pub name: String,
    /// The far end.
    pub receiver: ReceiverSpec,
    /// What is carried.
    pub network: Network,
    /// What the step sets at the interface.
    pub frames: Frames,
    /// Under which numbers it reports.
    pub sources: NetSources,
}

/// The far end of a network load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiverSpec {
    /// Its name in the scenario.
    pub name: String,
    /// Where it is.
    pub place: ReceiverPlace,
    /// Only addresses of this family: `true` for IPv6.
    pub ipv6: Option<bool>,
    /// The address that everything leaves from.
    pub source: Option<IpAddr>,
    /// The port of the first stream; the others follow it.
    pub source_port: Option<u16>,
    /// Where its token is to be found. The token itself is never said.
    pub token: Option<TokenFrom>,
    /// The interface of this host by which it is reached, where the scenario names one; steps may change it.
    pub adjust: Option<String>,
}

/// Where a receiver is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReceiverPlace {
    /// It waits there.
    At {
        /// Its name or address.
        host: String,
        /// Its port.
        port: u16,
    },
    /// It stands on this host's loopback for the time of the run.
    Embedded,
}

/// Where a secret is to be found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum TokenFrom {
    /// A file.
    File(String),
    /// A variable of the environment.
    Env(String),
}

/// The numbers under which a network load reports. Several loads of a step on one pair have the pair and its machines in
/// common: what the pair carried is the sum of what they report, and what the machines counted is reported by the first of
/// them alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetSources {
    /// The hop between the two hosts: bytes as they were received, each way.
    pub hop: SourceId,
    /// The machine that asks.
    pub sender: SourceId,
    /// The machine that serves.
    pub receiver: SourceId,
    /// Both ends of each stream, sent and received; those to the receiver first.
    pub streams: Vec<(SourceId, SourceId)>,
    /// The probe beside the streams, where there is one.
    pub probe: Option<SourceId>,
}

impl NetSources {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = SourceId> {
        let ends = self.streams.iter().flat_map(|(sent, received)| [*sent, *received]);
        [self.hop, self.sender, self.receiver].into_iter().chain(ends).chain(self.probe)
    }
}
