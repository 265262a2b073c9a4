//! Network workloads: preset and keys to a settled load.

use super::{complain, count_u32, place, size_u32};
use crate::datum::{Datum, Decoded};
use crate::diagnostics::{At, Mistake, Sink};
use crate::load::NetWorkload;
use std::time::Duration;
use workload::{Carriage, Heading, Network, Sockets, SpecError};

/// Bytes of a message of TCP in the preset `ntttcp`.
const NTTTCP_MESSAGE: u32 = 64 << 10;
/// Bytes of a message of UDP unless given: what fits into a frame of 1,500 bytes.
const DATAGRAM_DEFAULT: u32 = 1_400;
/// Bytes of a request and of a response unless given.
const REQUEST_DEFAULT: u32 = 64;

/// The phases of the preset `ntttcp`: warm-up, measured time, cool-down.
const NTTTCP_PHASES: [Duration; 3] =
    [Duration::from_secs(30), Duration::from_secs(60), Duration::from_secs(30)];

pub(crate) fn network(name: &At<String>, record: &Decoded, sink: &mut Sink) -> NetWorkload {
    let carriage = carriage(record);
    let number = |key| count_u32(record, key);
    let narrow = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
    let flag = |key| record.flag(key).is_some_and(|at| at.value);
    let plain = Network::plain();
    let network = Network {
        carriage,
        streams: number("streams").map_or(plain.streams, narrow),
        heading: record.word("direction").map_or(plain.heading, |at| heading(at.value)),
        threads: number("threads").map_or(plain.threads, narrow),
        cpus: cpus(record),
        message: size_u32(record, "message").unwrap_or_else(|| message(record, carriage)),
        batch: number("batch").unwrap_or(plain.batch),
        rate: rate(record),
        discard: flag("discard"),
        probe: flag("probe"),
        sockets: sockets(record, carriage),
    };
    let stray = strays(record, &network, sink);
    for problem in network.problems() {
        let SpecError::Invalid { field, problem } = &problem else { continue };
        // A key that has been reported is not reported again in other words.
        if !stray.contains(field) {
            sink.push(|| Mistake::new(place(record, field), format!("{field}: {problem}")));
        }
    }
    let ntttcp = record.word("preset").is_some_and(|at| at.value == "ntttcp");
    NetWorkload { name: name.value.clone(), network, phases: ntttcp.then_some(NTTTCP_PHASES) }
}

fn carriage(record: &Decoded) -> Carriage {
    let response = size_u32(record, "response").unwrap_or(REQUEST_DEFAULT);
    match record.word("load").map(|at| at.value) {
        Some("udp") => {
            Carriage::Udp { segmented: record.flag("segmented").is_some_and(|at| at.value) }
        }
        Some("requests") => Carriage::Exchange { response },
        Some("udp-requests") => Carriage::DatagramExchange { response },
        Some("connects") => Carriage::Connects { response },
        _ => Carriage::Tcp,
    }
}

/// Bytes of a message by default.
fn message(record: &Decoded, carriage: Carriage) -> u32 {
    match carriage {
        Carriage::Tcp if record.has("preset") => NTTTCP_MESSAGE,
        Carriage::Tcp => Network::plain().message,
        Carriage::Udp { .. } => DATAGRAM_DEFAULT,
        Carriage::Exchange { .. }
        | Carriage::DatagramExchange { .. }
        | Carriage::Connects { .. } => REQUEST_DEFAULT,
    }
}

/// The direction that a word means.
pub(super) fn heading(word: &str) -> Heading {
    match word {
        "receive" => Heading::Receive,
        "both" => Heading::Both,
        _ => Heading::Send,
    }
}

fn rate(record: &Decoded) -> Option<u64> {
    match &record.get("rate")?.value {
        // A float beyond 64 bits saturates, and is then out of bounds.
        Datum::Rate(rate) => Some(rate.0.round() as u64),
        _ => None,
    }
}

fn cpus(record: &Decoded) -> Vec<usize> {
    let number = |item: &At<Datum>| match &item.value {
        Datum::Count(n) => usize::try_from(*n).ok(),
        _ => None,
    };
    record.items("cpus").into_iter().filter_map(number).collect()
}

fn sockets(record: &Decoded, carriage: Carriage) -> Sockets {
    let flag = |key| record.flag(key).is_some_and(|at| at.value);
    let requests = matches!(carriage, Carriage::Exchange { .. } | Carriage::Connects { .. });
    Sockets {
        no_delay: requests || flag("no_delay"),
        send_buffer: size_u32(record, "send_buffer"),
        receive_buffer: size_u32(record, "receive_buffer"),
        congestion: record.text("congestion").map(|at| at.value),
        dscp: count_u32(record, "dscp").and_then(|n| u8::try_from(n).ok()),
        zero_copy: flag("zero_copy"),
        sendfile: flag("sendfile"),
        multipath: flag("multipath"),
    }
}

/// Reports keys that do not apply to the kind of load.
fn strays(record: &Decoded, network: &Network, sink: &mut Sink) -> Vec<&'static str> {
    let asks = network.is_transactions();
    let segments = matches!(network.carriage, Carriage::Udp { .. });
    let datagrams = segments || matches!(network.carriage, Carriage::DatagramExchange { .. });
    let set = |key: &str| record.flag(key).is_some_and(|at| at.value);
    let unset = |key: &str| record.flag(key).is_some_and(|at| !at.value);
    let all = [
        (
            "response",
            record.has("response") && !asks,
            "only requests have it (`load = \"requests\"`)",
        ),
        (
            "segmented",
            set("segmented") && !segments,
            "only datagrams are segmented (`load = \"udp\"`)",
        ),
        (
            "probe",
            set("probe") && asks,
            "requests measure their own latency; a probe is for streams",
        ),
        ("no_delay", set("no_delay") && datagrams, "datagrams are always sent at once"),
        (
            "no_delay",
            unset("no_delay") && asks && !datagrams,
            "requests are always sent at once: with Nagle's algorithm their latency would be wrong",
        ),
        (
            "congestion",
            record.has("congestion") && datagrams,
            "it applies to TCP; datagrams have no congestion control",
        ),
    ];
    let mut keys = Vec::new();
    for (key, _, problem) in all.into_iter().filter(|(_, is, _)| *is) {
        complain(record, key, problem, sink);
        keys.push(key);
    }
    keys
}
