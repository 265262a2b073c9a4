//! Control of a portal of a running target: its counters, and faults to inject.

use super::acceptor::listening;
use super::counters::TrafficCounts;
use super::error::StartError;
use super::latency::Latencies;
use super::messages::{ToAcceptor, ToWorker};
use super::pacing::PortRate;
use super::port::Port;
use super::shared::ServerShared;
use clock::Ns;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

/// A portal of a running target.
#[derive(Clone, Copy)]
pub struct ServedPortal<'a> {
    pub(super) shared: &'a ServerShared,
    pub(super) port: &'a Arc<Port>,
}

impl ServedPortal<'_> {
    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.port.address
    }

    /// The portal group tag.
    pub fn group(&self) -> u16 {
        self.port.group
    }

    /// What went through it so far.
    pub fn counts(&self) -> TrafficCounts {
        self.port.counts()
    }

    /// How long the commands that came by it took.
    pub fn latencies(&self) -> Latencies {
        self.port.latencies()
    }

    /// Whether it is down.
    pub fn is_down(&self) -> bool {
        self.port.is_down()
    }

    /// Holds up each read and write that comes by it for so long, from now on.
    pub fn set_delay(&self, time: Ns) {
        self.shared.holds.delay_port(self.port.index, time);
    }

    /// Takes it down: it listens no more, and connections that came by it are closed without a word.
    pub fn kill(&self) {
        if self.port.down.swap(true, Ordering::AcqRel) {
            return;
        }
        let (stat_sn, done) = channel();
        self.shared.acceptor.send(ToAcceptor::PortDown(self.port.index, stat_sn));
        for worker in &self.shared.workers {
            worker.send(ToWorker::PortDown(self.port.index));
        }
        // The acceptor never blocks. It is gone only when the target stops, and then nothing listens.
        let _ = done.recv();
    }

    /// Brings it back at the same address.
    /// # Errors
    /// Another process listens there by now.
    pub fn revive(&self) -> Result<(), StartError> {
        if !self.port.is_down() {
            return Ok(());
        }
        let address = self.port.address;
        let (listener, _) =
            listening::open(address).map_err(|why| StartError::Listen { address, why })?;
        self.port.down.store(false, Ordering::Release);
        self.shared.acceptor.send(ToAcceptor::PortUp(self.port.index, listener));
        Ok(())
    }

    /// Gives it another speed in each direction, at once; `None`: as fast as it goes.
    pub fn set_rate(&self, rate: Option<PortRate>) {
        let rate = rate.map_or(0, PortRate::bytes_per_s);
        self.port.pace_in.set_rate(rate);
        self.port.pace_out.set_rate(rate);
        for worker in &self.shared.workers {
            worker.send(ToWorker::PortChanged);
        }
    }

    /// Its speed in each direction.
    pub fn rate(&self) -> Option<PortRate> {
        PortRate::new(self.port.pace_out.rate())
    }

    /// Lets it answer every command with BUSY, or carry them out again.
    pub fn set_busy(&self, busy: bool) {
        self.port.busy.store(busy, Ordering::Relaxed);
    }
}
