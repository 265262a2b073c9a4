//! What a fuzzer drives, and tests with it: control messages of any bytes at both ends. No part of the product.

use crate::control::{FrameBuffer, FromReceiver, FromSender, frame};
use crate::figures::EndFigures;
use crate::grid::GridCut;
use crate::report::SideReport;
use crate::{TestSpec, engine};
use serde::Serialize;
use serde::de::DeserializeOwned;
use workload::{Carriage, Heading, Network};
use workload::{STREAMS_MAX, SUBMISSION_MAX};

/// Bytes of buffers that any test may ask for at one end, whatever it is.
const BUFFERS_MAX: u64 = 256 << 20;

/// Hears the bytes as a receiver and as a sender would, each of a stranger and of a peer that is known, and does with the
/// messages what is done with them before anything is opened or spent.
/// # Panics
/// Where a message does what it must not: that is what is looked for.
pub fn control(bytes: &[u8]) {
    // Most bytes announce a message that does not come: as the body of one they reach further.
    let framed = [&(bytes.len() as u32).to_le_bytes()[..], bytes].concat();
    for bytes in [bytes, &framed] {
        for known in [false, true] {
            hear(bytes, known).into_iter().for_each(from_sender);
            hear(bytes, known).into_iter().for_each(from_receiver);
        }
    }
}

/// All messages up to the first that is none, taken in as they may arrive.
fn hear<M: DeserializeOwned + Serialize>(bytes: &[u8], known: bool) -> Vec<M> {
    let (mut frames, mut messages) = (FrameBuffer::new(), Vec::new());
    if known {
        frames.trust();
    }
    for part in bytes.chunks(1_000) {
        frames.arrived(part);
        loop {
            match frames.next() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(_) => return messages,
            }
        }
    }
    messages
}

fn from_sender(message: FromSender) {
    let again = hear::<FromSender>(&frame(&message).expect("it is data"), true);
    assert_eq!(again, std::slice::from_ref(&message), "what is said is heard as it was meant");
    if let FromSender::Prepare(spec) = message
        && spec.check().is_ok()
    {
        bounded(&spec);
    }
}

/// A test that passes the check asks for no more than the bounds, whichever way they are looked at.
fn bounded(spec: &TestSpec) {
    let (up, down) = (spec.up(), spec.down());
    assert!(up <= STREAMS_MAX && down <= STREAMS_MAX && up + down > 0);
    assert!(spec.submission() > 0 && spec.submission() <= SUBMISSION_MAX);
    let threads = u64::from(spec.threads_of(up)) + u64::from(spec.threads_of(down));
    assert!(threads > 0 && threads <= 2 * u64::from(STREAMS_MAX));
    assert!(threads * spec.submission().max(spec.read_size() as u64) <= BUFFERS_MAX);
    assert!(spec.whole().as_secs_f64() <= 2.0 * 3600.0 + 86_400.0);
    assert!(spec.measure.0 / spec.interval.0 <= 100_000);
}

fn from_receiver(message: FromReceiver) {
    if let FromReceiver::Interval(figures) = &message {
        let EndFigures { index, phase, from, to, .. } = **figures;
        let cut = Some(GridCut { index, phase, from, to });
        assert_eq!(figures.problem(cut, figures.streams.len()).is_some(), to < from);
        assert!(figures.problem(None, figures.streams.len()).is_some());
        for heading in [Heading::Send, Heading::Receive, Heading::Both] {
            let network = Network { heading, ..Network::plain() };
            engine::tell_interval(&TestSpec::of(network), figures);
        }
    }
    // What it counted is believed as it is, and counted up without harm.
    if let FromReceiver::Adjusted(adjusted) = &message {
        let adjusted = adjusted.as_ref().clone().cleaned();
        let texts = adjusted.changed.iter().chain(&adjusted.held);
        assert!(texts.clone().count() < 1_000 && texts.clone().all(|text| text.len() < 1_000));
    }
    if let FromReceiver::Finished(side) = message {
        let streams = side.streams.len();
        assert!(side.clone().believed(streams + 1).is_err());
        if let Ok(side) = side.clone().believed(streams) {
            assert!(side.host.chars().all(|c| !c.is_control()));
        }
        for carriage in [Carriage::Tcp, Carriage::Udp { segmented: false }] {
            let mut spec = TestSpec::new(carriage);
            spec.network.heading = Heading::Both;
            let nothing = SideReport { streams: Vec::new(), ..(*side).clone() };
            for (one, other) in [(&*side, &*side), (&*side, &nothing), (&nothing, &*side)] {
                engine::tell_end(&spec, one, other);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// Each seed of the fuzzer is a message of one end, whole; so it gets past the first bytes.
    #[test]
    fn seeds_are_messages_and_do_no_harm() {
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/control");
        let mut finished = 0;
        for seed in std::fs::read_dir(seeds).expect("there are seeds").flatten() {
            let bytes = std::fs::read(seed.path()).expect("it is a file");
            let name = seed.file_name().to_string_lossy().into_owned();
            match name.split_once('-') {
                Some(("sender", _)) => serde_json::from_slice::<FromSender>(&bytes).map(drop),
                Some(("receiver", _)) => {
                    serde_json::from_slice::<FromReceiver>(&bytes).map(|message| {
                        finished += u32::from(matches!(message, FromReceiver::Finished(_)));
                    })
                }
                _ => panic!("{name}: whose message is it?"),
            }
            .unwrap_or_else(|e| panic!("{name}: {e}"));
            control(&bytes);
        }
        assert!(finished > 0);
    }

    /// Figures at their limits, as no honest receiver has them.
    #[test]
    fn figures_that_cannot_be_are_added_up_without_harm() {
        let report = std::fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR"))
                .join("../../fuzz/seeds/control/receiver-finished"),
        );
        let report = report.expect("there is one");
        for most in [u64::MAX, u64::MAX / 2, 1 << 63] {
            let mut value: serde_json::Value = serde_json::from_str(&report).expect("it is JSON");
            let streams = value["finished"]["streams"].as_array_mut().expect("they are listed");
            let mut stream = streams[0].clone();
            for key in ["measured", "total", "tcp"] {
                let counts = stream[key].as_object_mut().expect("they are counts");
                let counts = counts.values_mut().filter(|count| count.as_u64().is_some());
                counts.for_each(|count| *count = most.into());
            }
            for key in ["mss", "pmtu", "cwnd"] {
                stream["tcp"][key] = u32::MAX.into();
            }
            stream["datagrams"] = serde_json::json!([most, most, most]);
            streams.resize(3, stream);
            let message = serde_json::from_value::<FromReceiver>(value.clone());
            assert!(matches!(message, Ok(FromReceiver::Finished(_))), "{message:?}");
            control(value.to_string().as_bytes());
        }
    }
}
