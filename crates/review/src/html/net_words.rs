//! Network loads of a scenario in words: the receivers, what is carried, and what is set at interfaces.

use super::words::listed;
use scenario::{NetWorkload, Plan, Receiver, Vm};
use units::{ByteRate, Bytes};
use workload::{Carriage, Heading, Network};

/// Where a receiver is, and what is known of the wire to it.
pub(super) fn receiver(receiver: &Receiver) -> String {
    let place = match &receiver.place {
        scenario::ReceiverPlace::Embedded => "on this machine's loopback, for the run".to_owned(),
        scenario::ReceiverPlace::Modelled => String::new(),
        place => format!("at {place}"),
    };
    let site = receiver.site.as_ref().map(|site| format!("on the host {}", site.host));
    let place = match (place.is_empty(), site) {
        (true, site) => site.unwrap_or_default(),
        (false, Some(site)) => format!("{place}; simulated {site}"),
        (false, None) => place,
    };
    let parts = [
        Some(format!("receiver {place}")),
        receiver.rate.map(|rate| format!("the wire is {rate}")),
        receiver.adjust.as_ref().map(|name| format!("{name} may be set")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The receivers that a VM's nics reach; nothing without nics.
pub(super) fn nics(vm: &Vm) -> Option<String> {
    let names: Vec<String> = vm.nics.iter().map(|nic| nic.receiver.clone()).collect();
    let word = if names.len() == 1 { "nic" } else { "nics" };
    (!names.is_empty()).then(|| format!("its {word} to {}", listed(&names)))
}

/// What a workload carries.
pub(super) fn workload(workload: &NetWorkload) -> String {
    let network = &workload.network;
    let message = Bytes(u64::from(network.message));
    let what = match network.carriage {
        Carriage::Tcp => format!("messages of {message} over TCP"),
        Carriage::Udp { segmented: false } => format!("datagrams of {message} over UDP"),
        Carriage::Udp { segmented: true } => {
            format!("datagrams of {message} over UDP, cut by the kernel or the adapter")
        }
        Carriage::Exchange { response } => requests(message, response, "standing TCP connections"),
        Carriage::DatagramExchange { response } => requests(message, response, "datagrams"),
        Carriage::Connects { response } => requests(message, response, "a TCP connection for each"),
    };
    let mut parts = vec![what, streams(network)];
    parts.extend((network.batch > 1).then(|| format!("{} messages a submission", network.batch)));
    parts.extend(network.rate.map(|rate| format!("at most {} each", ByteRate(rate as f64))));
    parts.extend(sockets(network));
    parts.extend(network.probe.then(|| "a probe beside them".to_owned()));
    parts.join("; ")
}

fn requests(message: Bytes, response: u32, over: &str) -> String {
    format!("requests of {message} and responses of {} over {over}", Bytes(u64::from(response)))
}

fn streams(network: &Network) -> String {
    let (up, down) = network.ways();
    let word = |n: u16| if n == 1 { "stream" } else { "streams" };
    match network.heading {
        Heading::Send => format!("{up} {} to the receiver", word(up)),
        Heading::Receive => format!("{down} {} from the receiver", word(down)),
        Heading::Both => format!("{up} {} each way", word(up)),
    }
}

/// How sockets are set, where it is not as usual.
fn sockets(network: &Network) -> Vec<String> {
    let sockets = &network.sockets;
    let buffer = |size: Option<u32>, which: &str| {
        size.map(|size| format!("{which} buffer {}", Bytes(u64::from(size))))
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(sockets.congestion.as_ref().map(|name| format!("congestion control {name}")));
    parts.extend(sockets.no_delay.then(|| "no delay".to_owned()));
    parts.extend(buffer(sockets.send_buffer, "send"));
    parts.extend(buffer(sockets.receive_buffer, "receive"));
    parts.extend(sockets.dscp.map(|dscp| format!("DSCP {dscp}")));
    parts.extend(sockets.zero_copy.then(|| "zero copy".to_owned()));
    parts.extend(sockets.multipath.then(|| "Multipath TCP".to_owned()));
    parts.extend(sockets.sendfile.then(|| "sent from a file in memory".to_owned()));
    parts.extend(network.discard.then(|| "what arrives is dropped in the kernel".to_owned()));
    parts
}

/// What every step of a plan sets at interfaces.
pub(super) fn frames(plan: &Plan) -> String {
    let mtu = plan.frames.mtu.map(|mtu| format!("; MTU {mtu}"));
    let offload = plan.frames.offload.map(|on| match on {
        true => "; offloads on",
        false => "; offloads off",
    });
    format!("{}{}", mtu.unwrap_or_default(), offload.unwrap_or_default())
}
