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
    /// Nanoseconds for which threads have rested to keep to it.
    rested: AtomicU64,
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
            rested: AtomicU64::new(0),
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

    /// For how long threads have rested to keep to their share of a processor, all of them together.
    pub fn rested(&self) -> Ns {
        Ns(self.rested.load(Ordering::Relaxed))
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
        self.owes += owes(spent, parts);
        if self.owes >= REST.0 as i64 {
            let from = clock::now();
            clock::sleep_until(from.plus(Ns(self.owes as u64)));
            let slept = clock::now().since(from).0;
            holds.rested.fetch_add(slept, Ordering::Relaxed);
            self.owes = (self.owes - slept as i64).max(-CREDIT);
        }
    }
}

/// How long a thread rests for so many nanoseconds of work, to keep to so many millionths of a processor.
fn owes(spent: u64, parts: u32) -> i64 {
    (spent as f64 * f64::from(WHOLE - parts) / f64::from(parts)) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use iscsi::scsi::BlockRange;

    const MS: u64 = 1_000_000;

    fn read(blocks: u64) -> Medium {
        Medium::Read(BlockRange { lba: 0, blocks })
    }

    /// Until when commands of 8 KiB that come at these milliseconds are held up, in milliseconds.
    fn held(holds: &Holds, at: &[u64]) -> Vec<Option<u64>> {
        let until = |at: &u64| holds.until(0, 0, &read(16), 512, Ns::millis(*at));
        at.iter().map(|at| until(at).map(|until| until.0.div_ceil(MS))).collect()
    }

    #[test]
    fn a_volume_serves_one_after_the_other_at_its_rate() {
        let holds = Holds::none(1, 1);
        assert_eq!(held(&holds, &[1000, 1000]), [None, None]);
        // 10 ms each; what was idle is caught up with by a millisecond.
        holds.limit_volume(0, VolumeLimit::Ops(100.0));
        assert_eq!(held(&holds, &[2000, 2000, 2000]), [None, Some(2009), Some(2019)]);
        assert_eq!(held(&holds, &[2100]), [None]);
        // A tenth slower: what is held up stays so, and what follows takes 11.1 ms.
        holds.limit_volume(0, VolumeLimit::Ops(90.0));
        assert_eq!(held(&holds, &[3000, 3000, 3000]), [None, Some(3011), Some(3022)]);
        holds.limit_volume(0, VolumeLimit::Ops(0.0));
        // 8192 bytes at 819200 a second.
        holds.limit_volume(0, VolumeLimit::Rate(819_200.0));
        assert_eq!(held(&holds, &[4000, 4000, 4000]), [None, Some(4009), Some(4019)]);
        holds.limit_volume(0, VolumeLimit::Rate(0.0));
        assert_eq!(held(&holds, &[4000, 4000]), [None, None]);
    }

    #[test]
    fn delays_of_a_port_and_a_volume_add_up_and_hold_up_reads_and_writes_alone() {
        let holds = Holds::none(1, 1);
        holds.limit_volume(0, VolumeLimit::Latency(Ns::millis(5)));
        holds.delay_port(0, Ns::millis(2));
        assert_eq!(held(&holds, &[1000, 1001]), [Some(1007), Some(1008)]);
        let write = Medium::Write { to: BlockRange { lba: 0, blocks: 1 }, durable: false };
        assert_eq!(holds.until(0, 0, &write, 512, Ns::millis(9)), Some(Ns::millis(16)));
        let sync = Medium::Sync(BlockRange { lba: 0, blocks: 0 });
        assert_eq!(holds.until(0, 0, &sync, 512, Ns::millis(9)), None);
        holds.delay_port(0, Ns::ZERO);
        holds.limit_volume(0, VolumeLimit::Latency(Ns::ZERO));
        assert_eq!(held(&holds, &[1000]), [None]);
    }

    #[test]
    fn a_share_of_a_processor_is_kept_to() {
        for (share, owed) in [(0.2, 4_000_000), (0.5, 1_000_000), (0.9, 111_111), (1.0, 0)] {
            let parts = (share * f64::from(WHOLE)) as u32;
            assert_eq!(owes(MS, parts), owed, "a millisecond of work at {share}");
        }
        let holds = Holds::none(1, 1);
        let mut quota = Quota::default();
        for (share, is_set) in [(1.0, false), (0.2, true), (0.2, true), (1.0, false)] {
            holds.limit_cpu(share);
            quota.rest(&holds);
            assert_eq!(quota.is_set(), is_set);
        }
        // What it rests is counted; here for what a hundredth makes of a millisecond of work.
        holds.limit_cpu(0.01);
        quota.rest(&holds);
        let (from, before) = (clock::thread_time(), holds.rested());
        while clock::thread_time().since(from) < Ns::millis(1) {}
        quota.rest(&holds);
        assert!(holds.rested().since(before) >= Ns::millis(90), "{:?}", holds.rested());
    }
}
