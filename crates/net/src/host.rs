//! Resource use of one end: CPU time of the process, its threads and the host, and packets that the host dropped. Figures
//! that the kernel does not report are omitted, never guessed.
//!
//! The kernel's tables (proc_stat(5), Documentation/scheduler/sched-stats.rst) are opened once and reread, which is
//! cheap.

use crate::report::HostReport;
use crate::sys::Cycles;
use clock::{CpuTime, Ns};
use std::fs::File;
use std::os::unix::fs::FileExt;

#[derive(Clone, Debug)]
pub(crate) struct HostSample {
    at: Ns,
    process: CpuTime,
    host: Option<CpuLine>,
    interrupts: Option<u64>,
    softnet: Option<(u64, u64)>,
    cycles: Option<u64>,
    /// CPU time of the threads asked for.
    threads: Vec<Option<Ns>>,
}

/// Samples the host.
pub(crate) struct HostSampler {
    stat: ProcTable,
    softnet: ProcTable,
    threads: Vec<ProcTable>,
    cycles: Option<Cycles>,
    tick: Ns,
    text: String,
}

/// One of the kernel's tables; without a file where this kernel has none of it.
struct ProcTable(Option<File>);

/// Bytes of a table at first, and at most: `/proc/stat` has a number for each interrupt of the machine.
const TABLE: usize = 16 << 10;
const TABLE_MAX: usize = 4 << 20;

impl ProcTable {
    fn open(path: &str) -> ProcTable {
        ProcTable(File::open(path).ok())
    }

    /// Its current text; the buffer grows to the table's size.
    fn read<'a>(&self, text: &'a mut String) -> Option<&'a str> {
        let file = self.0.as_ref()?;
        let mut bytes = std::mem::take(text).into_bytes();
        bytes.resize(bytes.capacity().max(TABLE), 0);
        let mut got = 0;
        // The kernel answers in parts of its own; the end is where it has no more.
        loop {
            if got == bytes.len() {
                if got >= TABLE_MAX {
                    return None;
                }
                bytes.resize(got * 2, 0);
            }
            match file.read_at(&mut bytes[got..], got as u64) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                // A thread that has ended has no table any more.
                Err(_) => return None,
            }
        }
        bytes.truncate(got);
        *text = String::from_utf8(bytes).ok()?;
        Some(text)
    }
}

/// The first line of `/proc/stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CpuLine {
    user: Ns,
    system: Ns,
    irq: Ns,
    softirq: Ns,
    /// Processors that the line sums up: all that are online, also those that this process may not use.
    processors: u32,
}

impl HostSampler {
    /// Opens the tables of the host and of these threads of the process.
    pub(crate) fn new(threads: &[i32]) -> HostSampler {
        let schedstat = |id: &i32| ProcTable::open(&format!("/proc/self/task/{id}/schedstat"));
        HostSampler {
            stat: ProcTable::open("/proc/stat"),
            softnet: ProcTable::open("/proc/thread-self/net/softnet_stat"),
            threads: threads.iter().map(schedstat).collect(),
            cycles: Cycles::of(threads),
            tick: Ns(1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)),
            text: String::new(),
        }
    }

    /// Samples everything.
    pub(crate) fn sample(&mut self) -> HostSample {
        let (at, process, tick) = (clock::now(), clock::process_cpu(), self.tick);
        let text = &mut self.text;
        let (host, interrupts) = match self.stat.read(text) {
            Some(text) => (stat(text, tick), interrupts(text)),
            None => (None, None),
        };
        let softnet = self.softnet.read(text).and_then(softnet);
        let threads = self.threads.iter().map(|table| table.read(text).and_then(schedstat));
        let threads = threads.collect();
        let cycles = self.cycles.as_ref().and_then(Cycles::total);
        HostSample { at, process, host, interrupts, softnet, cycles, threads }
    }
}

/// The name of this host, and its kernel.
pub(crate) fn names() -> (String, String) {
    let name = rustix::system::uname();
    let text = |part: &std::ffi::CStr| part.to_string_lossy().into_owned();
    (text(name.nodename()), format!("{} {}", text(name.sysname()), text(name.release())))
}

impl HostSample {
    /// Resources used from `before` to this sample.
    pub(crate) fn since(&self, before: &HostSample) -> HostReport {
        let process = self.process.since(before.process);
        let host = |of: fn(&CpuLine) -> Ns| Some(of(&self.host?).since(of(&before.host?)));
        let counted =
            |of: fn(&HostSample) -> Option<u64>| Some(of(self)?.saturating_sub(of(before)?));
        HostReport {
            wall: self.at.since(before.at),
            processors: self.host.map_or_else(usable, |host| host.processors),
            user: process.user,
            system: process.system,
            host_user: host(|host| host.user),
            host_system: host(|host| host.system),
            host_softirq: host(|host| host.softirq),
            host_irq: host(|host| host.irq),
            softnet_drops: counted(|sample| Some(sample.softnet?.0)),
            softnet_squeezes: counted(|sample| Some(sample.softnet?.1)),
            interrupts: counted(|sample| sample.interrupts),
            cycles: counted(|sample| sample.cycles),
        }
    }

    /// CPU time of a thread from `before` to this sample.
    pub(crate) fn thread_since(&self, before: &HostSample, index: usize) -> Option<Ns> {
        let of = |sample: &HostSample| sample.threads.get(index).copied().flatten();
        Some(of(self)?.since(of(before)?))
    }
}

/// user nice system idle iowait irq softirq, in ticks (proc_stat(5)).
fn stat(text: &str, tick: Ns) -> Option<CpuLine> {
    let line = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).map_while(|word| word.parse().ok()).collect();
    let of = |index: usize| ticks.get(index).map(|n| Ns(n.saturating_mul(tick.0)));
    let numbered = |line: &&str| {
        line.strip_prefix("cpu").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    let processors = u32::try_from(text.lines().filter(numbered).count()).ok()?.max(1);
    let (user, system) = (of(0)?.plus(of(1)?), of(2)?);
    Some(CpuLine { user, system, irq: of(5)?, softirq: of(6)?, processors })
}

/// Processors that this process may use.
fn usable() -> u32 {
    std::thread::available_parallelism().map_or(1, |n| n.get() as u32)
}

/// The sum over all interrupts comes first.
fn interrupts(text: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix("intr "))?.split(' ').next()?.parse().ok()
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

/// Nanoseconds on a processor come first.
fn schedstat(text: &str) -> Option<Ns> {
    text.split_whitespace().next()?.parse().ok().map(Ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_s_tables_are_read() {
        let tick = Ns::millis(10);
        let text = "cpu  10 1 20 300 5 2 7 0 0 0\ncpu0 1 1 1 1 1 1 1\ncpu1 0 0 0 0 0 0 0\nintr 99 0 9 90\nctxt 5\n";
        let host = CpuLine {
            user: Ns::millis(110),
            system: Ns::millis(200),
            irq: Ns::millis(20),
            softirq: Ns::millis(70),
            processors: 2,
        };
        assert_eq!(stat(text, tick), Some(host));
        assert_eq!(softnet("0a 01 ff 0\n0b 02 01 0\n"), Some((3, 256)));
        assert_eq!(schedstat("123456 78 9\n"), Some(Ns(123_456)));
        assert_eq!(interrupts(text), Some(99));
        for wrong in ["", "cpu 1 2", "cpu  x", "intr", "intr x"] {
            assert_eq!((stat(wrong, tick), interrupts(wrong)), (None, None), "{wrong:?}");
        }
        assert_eq!((softnet("zz"), softnet("0a"), schedstat("")), (None, None, None));
    }

    #[test]
    fn cpu_time_and_interrupts_are_sampled() {
        let id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut sampler = HostSampler::new(&[id, i32::MAX]);
        let before = sampler.sample();
        let mut rng = clock::Rng::keyed(1, &[]);
        while clock::thread_cpu().user < Ns::millis(30) {
            rng.next_u64();
        }
        let after = sampler.sample();
        let spent = after.since(&before);
        assert!(spent.user > Ns::ZERO && spent.wall > Ns::ZERO, "{spent:?}");
        assert!(after.thread_since(&before, 0).is_none_or(|used| used > Ns::ZERO));
        assert_eq!(after.thread_since(&before, 1), None, "there is no such thread");
        assert_eq!(after.thread_since(&before, 2), None, "it was not requested");
        assert!(spent.interrupts.is_none_or(|n| n > 0), "the clock's tick is one: {spent:?}");
        assert!(sampler.cycles.is_some() || spent.cycles.is_none(), "cycles need a counter");
    }

    /// A table longer than its buffer is read whole, and the buffer is there again for a shorter one.
    #[test]
    fn tables_are_read_whole_and_again() {
        let path = std::env::temp_dir().join(format!("net-table-{}", std::process::id()));
        let (mut text, long) = (String::new(), "x".repeat(3 * TABLE));
        std::fs::write(&path, &long).unwrap();
        let table = ProcTable::open(&path.to_string_lossy());
        assert_eq!(table.read(&mut text), Some(long.as_str()));
        std::fs::write(&path, "short").unwrap();
        assert_eq!(table.read(&mut text), Some("short"));
        std::fs::write(&path, [0xff]).unwrap();
        assert_eq!(table.read(&mut text), None, "no text");
        std::fs::write(&path, "again").unwrap();
        assert_eq!(table.read(&mut text), Some("again"));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(ProcTable::open("/proc/there/is/none").read(&mut text), None);
    }
}
