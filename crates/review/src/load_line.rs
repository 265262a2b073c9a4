//! What a network load is, in a line for people: the same words at both ends of it, during a run and after it.

use units::{Bytes, rate};
use workload::{Carriage, Network};

/// What a load carries, and over how many streams.
pub fn load_line(network: &Network) -> String {
    let streams = |n: u16, way: &str| match n {
        0 => None,
        1 => Some(format!("1 stream {way}")),
        n => Some(format!("{n} streams {way}")),
    };
    let (up, down) = network.ways();
    let ways = [streams(up, "to the receiver"), streams(down, "to the sender")];
    let ways: Vec<String> = ways.into_iter().flatten().collect();
    let message = Bytes(network.message.into());
    let what = match network.carriage {
        Carriage::Tcp => format!("TCP, messages of {message}, {}", submissions(network)),
        Carriage::Udp { segmented } => {
            let how = if segmented { "cut by the kernel" } else { "by system call" };
            format!("UDP, datagrams of {message}, {} {how}", network.batch)
        }
        Carriage::Exchange { response } => {
            format!("requests of {message}, responses of {}", Bytes(response.into()))
        }
        Carriage::DatagramExchange { response } => {
            format!("requests of {message} in datagrams, responses of {}", Bytes(response.into()))
        }
        Carriage::Connects { response } => {
            format!("connections, requests of {message}, responses of {}", Bytes(response.into()))
        }
    };
    let paced = network.rate.map_or(String::new(), |r| format!(", {} a stream", rate(r as f64)));
    let probe = if network.probe { ", and a probe" } else { "" };
    format!("{what}; {}{paced}{probe}", ways.join(", "))
}

fn submissions(network: &Network) -> String {
    match network.batch {
        1 => "each one submission".to_owned(),
        n => format!("batched: {n} a submission"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::Heading;

    #[test]
    fn loads_are_told_in_a_line() {
        let plain = Network::plain();
        let udp =
            Network { carriage: Carriage::Udp { segmented: true }, batch: 8, ..plain.clone() };
        let both = Network { heading: Heading::Both, streams: 3, probe: true, ..plain.clone() };
        for (load, expected) in [
            (&plain, "TCP, messages of 128KiB, each one submission; 1 stream to the receiver"),
            (&udp, "UDP, datagrams of 128KiB, 8 cut by the kernel; 1 stream to the receiver"),
            (
                &both,
                "TCP, messages of 128KiB, each one submission; 3 streams to the receiver, 3 streams to the sender, and a probe",
            ),
            (
                &Network { rate: Some(1_000_000), batch: 4, ..plain.clone() },
                "TCP, messages of 128KiB, batched: 4 a submission; 1 stream to the receiver, 1 MB/s a stream",
            ),
        ] {
            assert_eq!(load_line(load), expected);
        }
    }
}
