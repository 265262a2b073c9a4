//! The network loads of a step before they have numbers: their pairs, and the names of their sources.
//!
//! A pair of a member and its receiver is a hop, its two machines are hops as well, and each stream has two ends. All
//! of them are known before the first step, since the scenario gives the number of streams; reports under another
//! number are refused. Nothing is connected here.

use crate::assign::AssignError;
use engine::{NetSources, NetSpec, ReceiverAddress, ReceiverSpec, TokenSource};
use record::{Flow, HopKind, Source, SourceId, SourceKind, StreamEnd, StreamLoad};
use scenario::{AddressFamily, Lab, NetHop, NetLoad, Receiver, Scenario, Step};
use std::collections::{BTreeMap, BTreeSet};
use workload::{NetFrames, Network};

/// The agent that carries network loads outside an emulated lab: one alone starts embedded receivers and changes interfaces.
const NET_AGENT: usize = 0;

/// A network load of a step on one pair.
pub(crate) struct NetDraft<'a> {
    load: NetLoad<'a>,
    hop: NetHop<'a>,
    receiver: &'a Receiver,
    /// The pair's name.
    pair: String,
    /// What the names of its streams begin with.
    stem: String,
    /// Whether the pair's probe is this load's: a pair has one, however many loads ask for it.
    probe: bool,
}

/// A source by the name that the rules give it.
struct NamedSource {
    name: String,
    kind: SourceKind,
    group: String,
}

/// The numbers of all that network loads of a run report.
#[derive(Default)]
pub(crate) struct NetNumbers {
    by_name: BTreeMap<String, SourceId>,
}

/// The network loads of a step, in the order of its loads and their members.
pub(crate) fn draft<'a>(
    scenario: &'a Scenario,
    step: &'a Step,
) -> Result<Vec<NetDraft<'a>>, AssignError> {
    let mut drafts = Vec::new();
    let mut probed = BTreeSet::new();
    for load in step.net_loads() {
        for member in load.on {
            let hops = scenario.lab.net_hops(member);
            if hops.is_empty() {
                let (member, workload) = (member.clone(), load.workload.name.clone());
                return Err(AssignError::NoReceiver { member, workload });
            }
            drafts.extend(hops.into_iter().map(|hop| {
                let pair = hop.name();
                let receiver = hop.receiver;
                let probe = load.workload.network.probe && probed.insert(pair.clone());
                NetDraft { load, hop, receiver, stem: pair.clone(), pair, probe }
            }));
        }
    }
    name(&mut drafts);
    Ok(drafts)
}

/// Names loads after their pair; with the workload where several run on it, and with a number where the same one does.
fn name(drafts: &mut [NetDraft]) {
    let mut counts: BTreeMap<String, BTreeMap<&str, u32>> = BTreeMap::new();
    for draft in drafts.iter() {
        let on_pair = counts.entry(draft.pair.clone()).or_default();
        *on_pair.entry(&draft.load.workload.name).or_default() += 1;
    }
    let mut next: BTreeMap<(String, &str), u32> = BTreeMap::new();
    for draft in drafts.iter_mut() {
        let workload = draft.load.workload.name.as_str();
        let on_pair = &counts[&draft.pair];
        if on_pair.len() > 1 {
            draft.stem = format!("{}/{workload}", draft.stem);
        }
        if on_pair[workload] > 1 {
            let number = next.entry((draft.pair.clone(), workload)).or_default();
            draft.stem = format!("{}/{number}", draft.stem);
            *number += 1;
        }
    }
}

impl NetDraft<'_> {
    /// The agent that sends it: one on an emulated host, or else that of the machine itself.
    pub fn agent(&self, lab: &Lab, agents: &[String]) -> usize {
        let sender = lab.emulated_sender(&self.hop);
        let own = sender.and_then(|sender| agents.iter().position(|agent| agent == sender));
        own.unwrap_or(NET_AGENT)
    }

    fn network(&self) -> &Network {
        &self.load.workload.network
    }

    /// Its streams: those to the receiver first.
    fn streams(&self) -> impl Iterator<Item = (Flow, u16)> {
        let (up, down) = self.network().ways();
        (0..up).map(|n| (Flow::Up, n)).chain((0..down).map(|n| (Flow::Down, n)))
    }

    fn stream(&self, flow: Flow, number: u16, end: StreamEnd) -> String {
        let way = match flow {
            Flow::Up => "up",
            Flow::Down => "down",
        };
        let end = match end {
            StreamEnd::Sent => "sent",
            StreamEnd::Received => "received",
        };
        format!("{}/{way}{}/{end}", self.stem, u32::from(number) + 1)
    }

    fn machine(&self, which: &str) -> String {
        format!("{}/{which}", self.pair)
    }

    fn probe(&self) -> String {
        format!("{}/{}", self.pair, scenario::PROBE)
    }

    /// All that it reports.
    fn sources(&self) -> Vec<NamedSource> {
        // A hop's group is its plain name, which finds it where the name was taken.
        let hop = |(name, kind): (String, HopKind)| NamedSource {
            group: name.clone(),
            name,
            kind: SourceKind::Hop(kind),
        };
        let end = |name| NamedSource { name, kind: SourceKind::Stream, group: self.pair.clone() };
        let mut all: Vec<NamedSource> = [
            (self.pair.clone(), HopKind::NetworkPair),
            (self.machine(scenario::SENDER), HopKind::NetworkHost),
            (self.machine(scenario::RECEIVER), HopKind::NetworkHost),
        ]
        .map(hop)
        .into();
        for (flow, number) in self.streams() {
            let ends = [StreamEnd::Sent, StreamEnd::Received];
            all.extend(ends.map(|which| end(self.stream(flow, number, which))));
        }
        all.extend(self.probe.then(|| end(self.probe())));
        all
    }
}

impl NetNumbers {
    /// Numbers what is new in a load, after all that is in `sources`, and adds it there. Names are unique in a record:
    /// one that is taken gets its agent's name as well.
    pub fn take(
        &mut self,
        draft: &NetDraft,
        agent: &str,
        taken: &mut BTreeSet<String>,
        sources: &mut Vec<Source>,
    ) {
        for NamedSource { name: plain, kind, group } in draft.sources() {
            if self.by_name.contains_key(&plain) {
                continue;
            }
            let mut name = plain.clone();
            while !taken.insert(name.clone()) {
                name = format!("{agent}/{name}");
            }
            let id = SourceId(sources.len() as u32);
            self.by_name.insert(plain, id);
            sources.push(Source { id, kind, name, group, agent: agent.to_owned() });
        }
    }

    fn of(&self, name: &str) -> Result<SourceId, AssignError> {
        let unknown = || AssignError::Unknown { name: name.to_owned() };
        self.by_name.get(name).copied().ok_or_else(unknown)
    }

    /// The orders to an agent for a load, and its streams for the record.
    pub fn spec(
        &self,
        draft: &NetDraft,
        step: &Step,
    ) -> Result<(NetSpec, Vec<StreamLoad>), AssignError> {
        let hop = self.of(&draft.pair)?;
        let (mut streams, mut loads) = (Vec::new(), Vec::new());
        for (flow, number) in draft.streams() {
            let mut load = |end| {
                let source = self.of(&draft.stream(flow, number, end))?;
                let workload = draft.load.workload.name.clone();
                loads.push(StreamLoad { source, workload, hop, flow, end, number });
                Ok(source)
            };
            streams.push((load(StreamEnd::Sent)?, load(StreamEnd::Received)?));
        }
        let sources = NetSources {
            hop,
            sender: self.of(&draft.machine(scenario::SENDER))?,
            receiver: self.of(&draft.machine(scenario::RECEIVER))?,
            streams,
            probe: draft.probe.then(|| self.of(&draft.probe())).transpose()?,
        };
        // An interface that is not named must not be changed.
        let frames = match draft.receiver.adjust {
            Some(_) => step.frames,
            None => NetFrames::default(),
        };
        let network = Network { probe: draft.probe, ..draft.network().clone() };
        let name = draft.pair.clone();
        let receiver = receiver(draft.receiver)?;
        Ok((NetSpec { name, receiver, network, frames, sources }, loads))
    }
}

/// A receiver in an engine's terms.
fn receiver(receiver: &Receiver) -> Result<ReceiverSpec, AssignError> {
    let place = match &receiver.place {
        scenario::ReceiverPlace::At { host, port } => {
            ReceiverAddress::At { host: host.clone(), port: *port }
        }
        scenario::ReceiverPlace::Embedded => ReceiverAddress::Embedded,
        scenario::ReceiverPlace::Modelled => {
            return Err(AssignError::Modelled { receiver: receiver.name.clone() });
        }
    };
    let token = receiver.token.as_ref().map(|token| match token {
        scenario::TokenFrom::File(path) => TokenSource::File(path.clone()),
        scenario::TokenFrom::Env(name) => TokenSource::Env(name.clone()),
    });
    Ok(ReceiverSpec {
        name: receiver.name.clone(),
        place,
        ipv6: receiver.family.map(|family| family == AddressFamily::Ipv6),
        source: receiver.source,
        source_port: receiver.source_port,
        token,
        adjust: receiver.adjust.clone(),
    })
}
