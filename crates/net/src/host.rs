//! What the machine of one end spends: CPU time of the process, of its threads and of the whole host, and packets that the
//! host could not take. A kernel that does not tell a figure leaves it out; nothing is guessed.

use crate::report::HostReport;
use clock::{CpuTime, Ns};
use std::fs;

/// One look.
#[derive(Clone, Debug)]
pub(crate) struct Look {
    at: Ns,
    process: CpuTime,
    host: Option<Host>,
    softnet: Option<(u64, u64)>,
    /// CPU time of the threads asked for.
    threads: Vec<Option<Ns>>,
}

/// The first line of `/proc/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Host {
    user: Ns,
    system: Ns,
    irq: Ns,
    softirq: Ns,
}

/// Looks at everything, with the CPU time of these threads of the process.
pub(crate) fn look(threads: &[i32]) -> Look {
    let read = |path: &str| fs::read_to_string(path).ok();
    Look {
        at: clock::now(),
        process: clock::process_cpu(),
        host: read("/proc/stat").as_deref().and_then(|text| stat(text, tick())),
        softnet: read("/proc/thread-self/net/softnet_stat").as_deref().and_then(softnet),
        threads: threads
            .iter()
            .map(|id| {
                read(&format!("/proc/self/task/{id}/schedstat")).as_deref().and_then(schedstat)
            })
            .collect(),
    }
}

/// The name of this host, and its kernel.
pub(crate) fn names() -> (String, String) {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    (text(name.nodename()), format!("{} {}", text(name.sysname()), text(name.release())))
}

impl Look {
    /// What was spent from `before` to this look.
    pub(crate) fn since(&self, before: &Look) -> HostReport {
        let process = self.process.since(before.process);
        let host = |of: fn(&Host) -> Ns| Some(of(&self.host?).since(of(&before.host?)));
        let softnet = |of: fn(&(u64, u64)) -> u64| {
            Some(of(&self.softnet?).saturating_sub(of(&before.softnet?)))
        };
        HostReport {
            wall: self.at.since(before.at),
            processors: std::thread::available_parallelism().map_or(1, |n| n.get() as u32),
            user: process.user,
            system: process.system,
            host_user: host(|host| host.user),
            host_system: host(|host| host.system),
            host_softirq: host(|host| host.softirq),
            host_irq: host(|host| host.irq),
            softnet_drops: softnet(|both| both.0),
            softnet_squeezes: softnet(|both| both.1),
        }
    }

    /// CPU time of a thread from `before` to this look.
    pub(crate) fn thread_since(&self, before: &Look, index: usize) -> Option<Ns> {
        let of = |look: &Look| look.threads.get(index).copied().flatten();
        Some(of(self)?.since(of(before)?))
    }
}

fn tick() -> Ns {
    Ns(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1))
}

/// user nice system idle iowait irq softirq, in ticks (proc_stat(5)).
fn stat(text: &str, tick: Ns) -> Option<Host> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    let of = |index: usize| ticks.get(index).map(|n| Ns(n.saturating_mul(tick.0)));
    Some(Host { user: of(0)?.plus(of(1)?), system: of(2)?, irq: of(5)?, softirq: of(6)? })
}

/// A line a processor, hexadecimal: packets, dropped, squeezed, …
fn softnet(text: &str) -> Option<(u64, u64)> {
    let mut sum = (0u64, 0u64);
    for line in text.lines() {
        let mut words = line.split_whitespace().skip(1);
        let mut next = || words.next().and_then(|word| u64::from_str_radix(word, 16).ok());
        let (dropped, squeezed) = (next()?, next()?);
        sum = (sum.0.saturating_add(dropped), sum.1.saturating_add(squeezed));
    }
    Some(sum)
}

/// Nanoseconds on a processor come first (Documentation/scheduler/sched-stats.rst).
fn schedstat(text: &str) -> Option<Ns> {
    text.split_whitespace().next()?.parse().ok().map(Ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_tables_are_read() {
        let tick = Ns::millis(10);
        let text = "cpu  10 1 20 300 5 2 7 0 0 0\ncpu0 1 1 1 1 1 1 1\n";
        let host = Host {
            user: Ns::millis(110),
            system: Ns::millis(200),
            irq: Ns::millis(20),
            softirq: Ns::millis(70),
        };
        assert_eq!(stat(text, tick), Some(host));
        assert_eq!(softnet("0a 01 ff 0\n0b 02 01 0\n"), Some((3, 256)));
        assert_eq!(schedstat("123456 78 9\n"), Some(Ns(123_456)));
        for wrong in ["", "cpu 1 2", "cpu  x"] {
            assert_eq!(stat(wrong, tick), None, "{wrong:?}");
        }
        assert_eq!((softnet("zz"), softnet("0a"), schedstat("")), (None, None, None));
    }

    #[test]
    fn work_is_seen() {
        let id = rustix::thread::gettid().as_raw_nonzero().get();
        let before = look(&[id]);
        let mut rng = clock::Rng::keyed(1, &[]);
        while clock::thread_cpu().user < Ns::millis(30) {
            rng.next_u64();
        }
        let after = look(&[id]);
        let spent = after.since(&before);
        assert!(spent.user > Ns::ZERO && spent.wall > Ns::ZERO, "{spent:?}");
        assert!(after.thread_since(&before, 0).is_none_or(|used| used > Ns::ZERO));
        assert_eq!(after.thread_since(&before, 1), None);
    }
}
