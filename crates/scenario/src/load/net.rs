//! Workloads of networks: streams and requests from VMs and from the machine itself to receivers.

use super::{Load, LoadFamily, LoadOf, Uses};
use crate::directory::NameKind;
use crate::live::SIMULATE;
use crate::model::{Axis, Lab, Plan, Scenario, Setting};
use crate::network::{NetHop, ReceiverPlace, hops};
use std::time::Duration;
use units::{ByteRate, Bytes, LinkRate};
use workload::{Carriage, Heading, NetFrames, Network, SpecError};

/// `[workload.NAME]` of kind `net`.
#[derive(Clone, Debug, PartialEq)]
pub struct NetWorkload {
    /// Its name.
    pub name: String,
    /// What it carries; without problems.
    pub network: Network,
    /// Warm-up, measured time and cool-down of its preset, which hold where the plan does not say them.
    pub phases: Option<[Duration; 3]>,
}

/// A network load on receivers and VMs, each of which has at least one hop.
pub type NetLoad<'a> = LoadOf<'a, NetWorkload>;

impl NetLoad<'_> {
    /// The hops that it runs on, in the order of its members.
    pub fn hops<'a>(&self, lab: &'a Lab) -> Vec<NetHop<'a>> {
        hops(lab, self.on)
    }
}

impl LoadFamily for NetWorkload {
    fn name(&self) -> &str {
        &self.name
    }

    fn uses(&self) -> Uses {
        Uses::Nics
    }

    fn members(&self) -> &'static [NameKind] {
        &[NameKind::Vm, NameKind::Receiver]
    }

    /// What does not go together is a problem of the settled load.
    fn apply(&mut self, setting: &Setting) -> Result<(), String> {
        let network = &mut self.network;
        match *setting {
            // Those of arrays and of interfaces, whatever the workload is.
            Setting::Members(_) | Setting::Port(_) | Setting::Mtu(_) | Setting::Offload(_) => {}
            Setting::Message(size) => {
                network.message = u32::try_from(size.0)
                    .map_err(|_| format!("{size} is more than the maximum of one message"))?;
            }
            Setting::Batch(n) => network.batch = n,
            Setting::Streams(n) => network.streams = n,
            Setting::Direction(heading)
                if network.is_transactions() && heading != Heading::Send =>
            {
                return Err("requests have one direction: from the sender to the receiver".into());
            }
            Setting::Direction(heading) => network.heading = heading,
            Setting::StreamRate(rate) => network.rate = Some(rate.0 as u64),
            Setting::Rate(rate) => {
                return Err(format!(
                    "a network workload has a data rate per stream, such as `100 MB/s`, not {} IOPS",
                    rate.0
                ));
            }
            Setting::Block(_)
            | Setting::Depth(_)
            | Setting::Workers(_)
            | Setting::Read(_)
            | Setting::Random(_)
            | Setting::WorkingSet(_) => {
                return Err("it belongs to disk workloads, and this is a network workload".into());
            }
        }
        Ok(())
    }

    fn problems(&self, settings: &[(&str, &Setting)]) -> Vec<(String, String)> {
        let mut all = Vec::new();
        if !self.network.problems().is_empty() {
            return all;
        }
        let mut settled = self.clone();
        for (key, setting) in settings {
            all.extend(settled.apply(setting).err().map(|problem| ((*key).to_owned(), problem)));
        }
        // Settings are judged together: a smaller message may make room for a larger batch.
        let Some(last) = settings.last().filter(|_| all.is_empty()) else { return all };
        for problem in settled.network.problems() {
            let SpecError::Invalid { field, problem } = &problem else { continue };
            let own = settings.iter().find(|(key, _)| key.rsplit('.').next() == Some(*field));
            all.push(match own {
                Some((key, setting)) => ((*key).to_owned(), format!("{setting}: {problem}")),
                None => (last.0.to_owned(), format!("{field}: {problem}")),
            });
        }
        all
    }

    fn phases(&self) -> Option<[Duration; 3]> {
        self.phases
    }

    fn no_phase(&self) -> Option<&'static str> {
        Some("a network load cannot be a phase of a job")
    }

    /// It goes to hosts of the lab alone, or its steps would change an interface that the user has not named.
    fn not_live(&self, load: &Load, plan: &Plan, scenario: &Scenario) -> Vec<(String, String)> {
        let axis = |axis: &Axis| matches!(axis.key.as_str(), "mtu" | "offload");
        let adjusts = plan.frames != NetFrames::default() || plan.sweep.iter().any(axis);
        let hops = hops(&scenario.lab, &load.on);
        let modelled = hops.iter().find(|hop| hop.receiver.place == ReceiverPlace::Modelled);
        let (what, help) = if let Some(hop) = modelled {
            (
                format!(
                    "a live run cannot reach `{}`, which is a lab host without an address",
                    hop.receiver.name
                ),
                "give the receiver an `address`, or run it on this machine (`embedded = true`)",
            )
        } else if adjusts && !hops.iter().any(|hop| hop.receiver.adjust.is_some()) {
            (
                format!(
                    "a live run of `{}` would set an MTU or offloads, and no receiver permits changes to an interface",
                    self.name
                ),
                "add `adjust = \"eth1\"` to the [[receiver]]: this permits changes to that interface of this machine",
            )
        } else {
            return Vec::new();
        };
        vec![(what, format!("{SIMULATE}; to measure, {help}"))]
    }

    fn describe(&self) -> String {
        words(&self.network)
    }
}

/// What is carried, in words: `3 TCP streams each way, messages of 64KiB`.
fn words(network: &Network) -> String {
    let message = Bytes(network.message.into());
    let answered =
        |response: u32| format!("requests of {message}, responses of {}", Bytes(response.into()));
    let streams = |what: &str| match network.streams {
        1 => format!("1 {what} stream"),
        n => format!("{n} {what} streams"),
    };
    let way = match network.heading {
        Heading::Send => "to the receiver",
        Heading::Receive => "from the receiver",
        Heading::Both => "each way",
    };
    let mut parts = match network.carriage {
        Carriage::Tcp => {
            vec![format!("{} {way}", streams("TCP")), format!("messages of {message}")]
        }
        Carriage::Udp { .. } => {
            vec![format!("{} {way}", streams("UDP")), format!("datagrams of {message}")]
        }
        Carriage::Exchange { response } => vec![streams("TCP"), answered(response)],
        Carriage::DatagramExchange { response } => vec![streams("UDP"), answered(response)],
        Carriage::Connects { response } => {
            vec![streams("TCP"), format!("a connection for each of its {}", answered(response))]
        }
    };
    if network.batch > 1 {
        parts.push(format!("{} a submission", network.batch));
    }
    let sockets = &network.sockets;
    let more = [
        (network.carriage == Carriage::Udp { segmented: true }, "cut by the kernel"),
        (sockets.zero_copy, "zero-copy"),
        (sockets.sendfile, "sent from a file in memory"),
        (network.discard, "dropped by the reading kernel"),
        (sockets.multipath, "Multipath TCP"),
        (network.probe, "with a probe"),
    ];
    parts.extend(more.into_iter().filter(|(is, _)| *is).map(|(_, words)| words.to_owned()));
    if let Some(rate) = network.rate {
        parts.push(format!("at {} each", LinkRate::Rate(ByteRate(rate as f64))));
    }
    parts.extend(sockets.congestion.clone());
    parts.join(", ")
}
