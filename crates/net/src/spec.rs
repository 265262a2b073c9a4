//! A test: load, streams, sockets and phases. The sender makes it, the receiver gets it over the network, and both check the
//! same bounds: a [`TestSpec`] that has passed [`TestSpec::check`] needs no more memory, threads or time than named here.

use crate::NetError;
use crate::plane::HEADER;
use crate::report::StreamDirection;
use clock::Ns;
use serde::{Deserialize, Serialize};
use workload::{CONNECT_MIN, Carriage, DATAGRAM_MIN, Network, Sockets};

/// Bytes that name a test and a stream at the beginning of each connection.
pub const PREAMBLE: usize = 28;

// What begins every datagram and every connection is what the description of a load leaves room for.
const _: () = assert!(HEADER == DATAGRAM_MIN as usize && PREAMBLE == CONNECT_MIN as usize);

/// One test: a load, how long it lasts, and how often is counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestSpec {
    /// What is carried.
    pub network: Network,
    /// Load before the measurement.
    pub warmup: Ns,
    /// The measured time.
    pub measure: Ns,
    /// Load after the measurement.
    pub cooldown: Ns,
    /// How often is counted.
    pub interval: Ns,
}

impl TestSpec {
    /// One stream to the receiver with the usual messages (TCP 128 KiB, UDP 1,400 B, requests 64 B), ten seconds.
    pub fn new(carriage: Carriage) -> TestSpec {
        let message = match carriage {
            Carriage::Tcp => 128 << 10,
            Carriage::Udp { .. } => 1_400,
            _ => 64,
        };
        let sockets = Sockets { no_delay: carriage != Carriage::Tcp, ..Sockets::default() };
        TestSpec::of(Network { carriage, message, sockets, ..Network::plain() })
    }

    /// This load for ten seconds after one of warm-up, counted every second.
    pub fn of(network: Network) -> TestSpec {
        TestSpec {
            network,
            warmup: Ns::secs(1),
            measure: Ns::secs(10),
            cooldown: Ns::millis(500),
            interval: Ns::secs(1),
        }
    }

    /// Streams to the receiver.
    pub fn up(&self) -> u16 {
        self.network.ways().0
    }

    /// Streams from the receiver.
    pub fn down(&self) -> u16 {
        self.network.ways().1
    }

    /// Which way the stream of a number goes: those to the receiver come first.
    pub fn flow(&self, index: u16) -> StreamDirection {
        if index < self.up() { StreamDirection::Up } else { StreamDirection::Down }
    }

    /// Holds the test to the bounds.
    /// # Errors
    /// [`NetError::Spec`], naming what is out of bounds and what is within.
    pub fn check(&self) -> Result<(), NetError> {
        if let Some(problem) = self.network.problems().first() {
            return refuse(problem.to_string());
        }
        let second = |ns: Ns| ns.as_secs_f64();
        within(
            "the measured time",
            self.measure.0,
            100_000_000,
            Ns::secs(86_400).0,
            "0.1 s to a day",
        )?;
        within("the warm-up", self.warmup.0, 0, Ns::secs(3600).0, "at most an hour")?;
        within("the cool-down", self.cooldown.0, 0, Ns::secs(3600).0, "at most an hour")?;
        within("the interval", self.interval.0, 100_000_000, Ns::secs(60).0, "0.1 s to a minute")?;
        if second(self.measure) / second(self.interval) > 100_000.0 {
            return refuse("more than 100,000 intervals; choose a longer --interval".to_owned());
        }
        Ok(())
    }

    /// Streams of both directions together.
    pub(crate) fn streams(&self) -> u16 {
        self.up() + self.down()
    }

    /// The probe's socket options: untuned, in the traffic class of the streams.
    pub(crate) fn probe_sockets(&self) -> Sockets {
        let dscp = self.network.sockets.dscp;
        Sockets { no_delay: true, dscp, ..Sockets::default() }
    }

    /// Bytes of one submission.
    pub fn submission(&self) -> u64 {
        self.network.submission()
    }

    /// Bytes that a reader asks for at once.
    pub(crate) fn read_size(&self) -> usize {
        // At most 4 MiB, as the bounds have it.
        self.network.read_size() as usize
    }

    /// Threads for so many streams of a direction.
    pub(crate) fn threads_of(&self, streams: u16) -> u16 {
        if self.network.threads == 0 { streams } else { self.network.threads.min(streams) }
    }

    /// Whether transactions are counted, and their times.
    pub fn is_transactions(&self) -> bool {
        self.network.is_transactions()
    }

    /// Whether it goes in datagrams.
    pub fn is_udp(&self) -> bool {
        matches!(self.network.carriage, Carriage::Udp { .. } | Carriage::DatagramExchange { .. })
    }

    /// All phases together.
    pub fn whole(&self) -> Ns {
        self.warmup.plus(self.measure).plus(self.cooldown)
    }
}

fn refuse(why: String) -> Result<(), NetError> {
    Err(NetError::Spec(why))
}

fn within(what: &str, value: u64, least: u64, most: u64, bounds: &str) -> Result<(), NetError> {
    if (least..=most).contains(&value) {
        Ok(())
    } else {
        refuse(format!("{what}: {bounds}; not {value}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_neither_too_short_nor_too_many() {
        for (interval, measure, hint) in [
            (Ns(1), Ns::secs(1), "the interval"),
            (Ns::secs(61), Ns::secs(100), "the interval"),
            (Ns::millis(100), Ns::secs(86_400), "more than 100,000 intervals"),
        ] {
            let spec = TestSpec { interval, measure, ..TestSpec::new(Carriage::Tcp) };
            let error = spec.check().expect_err("it is out of bounds").to_string();
            assert!(error.contains(hint), "{hint:?} is not in {error:?}");
        }
    }
}
