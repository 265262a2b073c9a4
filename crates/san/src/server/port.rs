//! A portal as all threads see it: its address, speed, counters and injected faults.

use super::counters::{CounterCell, TrafficCounts, total};
use super::latency::{Latencies, LatencyCells};
use super::pacing::{Pacer, PortRate};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};

/// A portal: an address at which the target listens (RFC 7143, 3.1: network portal).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortalConfig {
    /// Where to listen. Port 0: any that is free. Off loopback the target must ask for CHAP.
    pub address: SocketAddr,
    /// The portal group tag, which is the relative target port identifier too: portals of one group are one port of the
    /// SCSI device, and one session may have connections by several of them.
    pub group: u16,
    /// How fast it is in each direction; `None`: as fast as it goes.
    pub rate: Option<PortRate>,
}

impl PortalConfig {
    /// A portal of group 1 that is as fast as it goes.
    pub fn new(address: SocketAddr) -> PortalConfig {
        PortalConfig { address, group: 1, rate: None }
    }
}

/// The shared part of a portal.
#[derive(Debug)]
pub(super) struct Port {
    /// Its place in the configuration.
    pub index: usize,
    /// Where it listens, with the port that was found.
    pub address: SocketAddr,
    /// The portal group tag.
    pub group: u16,
    /// SCSI data from initiators.
    pub pace_in: Pacer,
    /// SCSI data to initiators.
    pub pace_out: Pacer,
    /// Answers every command with BUSY.
    pub busy: AtomicBool,
    /// Takes no connections, and has none.
    pub down: AtomicBool,
    cells: Box<[CounterCell]>,
    /// How long its commands took, by thread.
    pub latency: Box<[LatencyCells]>,
}

impl Port {
    /// A portal that listens at `address`, counted by so many threads.
    pub fn new(index: usize, config: &PortalConfig, address: SocketAddr, threads: usize) -> Port {
        let rate = config.rate.map_or(0, PortRate::bytes_per_s);
        Port {
            index,
            address,
            group: config.group,
            pace_in: Pacer::new(rate),
            pace_out: Pacer::new(rate),
            busy: AtomicBool::new(false),
            down: AtomicBool::new(false),
            cells: (0..threads).map(|_| CounterCell::default()).collect(),
            latency: LatencyCells::of_threads(threads),
        }
    }

    /// Where a thread counts.
    pub fn cell(&self, thread: usize) -> &CounterCell {
        &self.cells[thread]
    }

    /// What went through it.
    pub fn counts(&self) -> TrafficCounts {
        total(self.cells.iter())
    }

    /// How long its commands took.
    pub fn latencies(&self) -> Latencies {
        Latencies::total(&self.latency)
    }

    /// Whether commands are to be answered with BUSY.
    pub fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed)
    }

    /// Whether it is away.
    pub fn is_down(&self) -> bool {
        self.down.load(Ordering::Acquire)
    }
}
