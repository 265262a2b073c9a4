//! What holds I/O up beside the speed of ports: the speed, the operations a second and the delay of a volume, the delay of a
//! port, and the share of a processor that a serving thread may use. Each can be changed while I/O goes on.
//!
//! Reads and writes alone are held up, once all of their data has come; other commands pass.

use super::pacing::Pacer;
use clock::Ns;
use iscsi::scsi::Medium;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

/// Operations a second are paced in thousandths, so that few of them are exact.
const PARTS: u64 = 1000;

/// The whole of a processor.
const WHOLE: u32 = 1_000_000;

/// A thread rests once it owes so much, since a shorter sleep would cost more than it holds up.
const REST: Ns = Ns(200_000);

/// What a thread that overslept may have too much at most.
const CREDIT: i64 = 2_000_000;

/// What holds up the I/O of one volume.
#[derive(Debug)]
struct VolumeHold {
    rate: Pacer,
    ops: Pacer,
    latency: AtomicU64,
}

/// What holds up the I/O of a target. Without limits it costs one load of a shared word a command.
#[derive(Debug)]
pub(super) struct Holds {
    any: AtomicBool,
    volumes: Vec<VolumeHold>,
    ports: Vec<AtomicU64>,
    /// The share of a processor, in millionths; zero: all of it.
    cpu: AtomicU32,
}

/// What a volume can be held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum VolumeLimit {
    /// Bytes a second, both directions together; zero: no limit.
    Rate(f64),
    /// Reads and writes a second; zero: no limit.
    Ops(f64),
    /// A delay of each read and write.
    Latency(Ns),
}

impl Holds {
    /// No limits for so many volumes and ports.
    pub fn none(volumes: usize, ports: usize) -> Holds {
        let volume =
            || VolumeHold { rate: Pacer::new(0), ops: Pacer::new(0), latency: AtomicU64::new(0) };
        Holds {
            any: AtomicBool::new(false),
            volumes: std::iter::repeat_with(volume).take(volumes).collect(),
            ports: std::iter::repeat_with(|| AtomicU64::new(0)).take(ports).collect(),
            cpu: AtomicU32::new(0),
        }
    }

    /// Changes a limit of a volume; what is held up already stays so.
    pub fn limit_volume(&self, volume: usize, limit: VolumeLimit) {
        let Some(of) = self.volumes.get(volume) else { return };
        match limit {
            VolumeLimit::Rate(rate) => of.rate.retune(rate.round() as u64),
            VolumeLimit::Ops(ops) => of.ops.retune((ops * PARTS as f64).round() as u64),
            VolumeLimit::Latency(time) => of.latency.store(time.0, Ordering::Relaxed),
        }
        self.look();
    }

    /// Changes the delay of a port.
    pub fn delay_port(&self, port: usize, time: Ns) {
        if let Some(of) = self.ports.get(port) {
            of.store(time.0, Ordering::Relaxed);
        }
        self.look();
    }

    /// Changes the share of a processor that each thread may use; 1: all of it.
    pub fn limit_cpu(&self, share: f64) {
        let parts = (share * f64::from(WHOLE)).round() as u32;
        self.cpu.store(if parts < WHOLE { parts.max(1) } else { 0 }, Ordering::Relaxed);
    }

    fn look(&self) {
        let held = |of: &VolumeHold| {
            of.rate.is_paced() || of.ops.is_paced() || of.latency.load(Ordering::Relaxed) > 0
        };
        let delayed = self.ports.iter().any(|port| port.load(Ordering::Relaxed) > 0);
        self.any.store(delayed || self.volumes.iter().any(held), Ordering::Relaxed);
    }

    /// Until when a command is held up; `None`: it is not.
    #[inline]
    pub fn until(
        &self,
        volume: usize,
        port: usize,
        medium: &Medium,
        block: u32,
        now: Ns,
    ) -> Option<Ns> {
        if !self.any.load(Ordering::Relaxed) {
            return None;
        }
        let blocks = match medium {
            Medium::Read(at) => at.blocks,
            Medium::Write { to, .. } => to.blocks,
            _ => return None,
        };
        let of = self.volumes.get(volume)?;
        let delay = |of: &AtomicU64| Ns(of.load(Ordering::Relaxed));
        let turn = of.rate.reserve(blocks * u64::from(block), now, false);
        let turn = turn.max(of.ops.reserve(PARTS, now, false)).max(now);
        let port = self.ports.get(port).map_or(Ns::ZERO, delay);
        let at = turn.plus(delay(&of.latency)).plus(port);
        (at > now).then_some(at)
    }
}

/// How a thread keeps to its share of a processor: it rests in proportion to the time that it has used.
#[derive(Debug, Default)]
pub(super) struct Quota {
    used: Option<Ns>,
    owes: i64,
}

impl Quota {
    /// Whether there is a share to keep to.
    pub fn is_set(&self) -> bool {
        self.used.is_some()
    }

    /// Rests where it is time to, after some work.
    pub fn rest(&mut self, holds: &Holds) {
        let parts = holds.cpu.load(Ordering::Relaxed);
        if parts == 0 {
            *self = Quota::default();
            return;
        }
        let used = clock::thread_time();
        let spent = self.used.replace(used).map_or(0, |before| used.since(before).0);
        self.owes += (spent as f64 * f64::from(WHOLE - parts) / f64::from(parts)) as i64;
        if self.owes >= REST.0 as i64 {
            let from = clock::now();
            clock::sleep_until(from.plus(Ns(self.owes as u64)));
            let slept = clock::now().since(from).0 as i64;
            self.owes = (self.owes - slept).max(-CREDIT);
        }
    }
}
