//! The loads of a step that workers do not carry, as their engines receive them.
//!
//! A family of such loads is a module beside this one, which holds the order to its engine, and a variant of [`EngineLoad`].

mod net;

pub use net::{NetSources, NetSpec, ReceiverAddress, ReceiverSpec, TokenSource};

use crate::StepSpec;
use record::SourceId;
use serde::{Deserialize, Serialize};

/// A load that an engine carries on threads of its own, without workers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EngineLoad {
    /// Streams, or requests, to a receiver.
    Net(NetSpec),
}

impl EngineLoad {
    /// Its name in messages.
    pub fn name(&self) -> &str {
        match self {
            EngineLoad::Net(net) => &net.name,
        }
    }

    /// Its family, in a word.
    pub fn family(&self) -> &'static str {
        match self {
            EngineLoad::Net(_) => "network",
        }
    }

    /// The name under which its engine is registered.
    pub fn engine(&self) -> &'static str {
        match self {
            EngineLoad::Net(_) => NetSpec::ENGINE,
        }
    }

    /// The source numbers of all its figures.
    pub fn sources(&self) -> Vec<SourceId> {
        match self {
            EngineLoad::Net(net) => net.sources.all().collect(),
        }
    }

    /// The source of its latencies, where its streams have none.
    pub fn probe(&self) -> Option<SourceId> {
        match self {
            EngineLoad::Net(net) => net.sources.probe,
        }
    }
}

impl StepSpec {
    /// Its network loads.
    pub fn nets(&self) -> impl Iterator<Item = &NetSpec> {
        self.loads.iter().map(|EngineLoad::Net(net)| net)
    }
}
