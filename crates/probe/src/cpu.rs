//! The processors of this machine: how long all of them together were busy, from `/proc/stat` (`proc_stat(5)`).
//!
//! Busy is all time but idle time and waiting for I/O. Stolen time counts as busy: the machine could not use it. Guest time
//! is part of user time already.

use clock::Ns;
use std::fs;

/// One look at all processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuLook {
    /// When, on the monotonic clock.
    pub at: Ns,
    /// What they had done by then; `None` where the kernel does not say.
    pub stat: Option<CpuStat>,
}

/// What all processors together have done since the machine started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuStat {
    /// Time that was not idle, summed over them.
    pub busy: Ns,
    /// Of that, time that was stolen: a hypervisor ran something else.
    pub stolen: Ns,
    /// Of that, time spent on interrupts, soft ones included.
    pub interrupts: Ns,
    /// How many there are.
    pub processors: u32,
}

/// Looks at the processors.
pub fn look() -> CpuLook {
    let ticks = rustix::param::clock_ticks_per_second();
    let stat = fs::read_to_string("/proc/stat").ok().and_then(|text| parse(&text, ticks));
    CpuLook { at: clock::now(), stat }
}

/// The text of `/proc/stat`, with so many ticks a second.
fn parse(text: &str, ticks_per_s: u64) -> Option<CpuStat> {
    let mut lines = text.lines().map(str::split_ascii_whitespace);
    let all = lines.find_map(|mut words| (words.next() == Some("cpu")).then_some(words))?;
    let ticks: Vec<u64> = all.map_while(|word| word.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; the guests' follow.
    let sum = |of: &[usize]| -> Ns {
        let ticks: u64 = of.iter().filter_map(|n| ticks.get(*n)).sum();
        let ns = u128::from(ticks) * 1_000_000_000 / u128::from(ticks_per_s.max(1));
        Ns(u64::try_from(ns).unwrap_or(u64::MAX))
    };
    let busy = sum(&[0, 1, 2, 5, 6, 7]);
    let numbered = |line: &&str| {
        let number = line.strip_prefix("cpu").unwrap_or_default();
        number.starts_with(|c: char| c.is_ascii_digit())
    };
    let processors = u32::try_from(text.lines().filter(numbered).count()).ok()?;
    let (interrupts, stolen) = (sum(&[5, 6]), sum(&[7]));
    (ticks.len() >= 4 && processors > 0).then_some(CpuStat { busy, stolen, interrupts, processors })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_and_waiting_for_io_are_not_busy() {
        let text = "cpu  100 10 50 1000 200 5 15 20 30 0\ncpu0 50 5 25 500 100 2 8 10 15 0\n\
                    cpu1 50 5 25 500 100 3 7 10 15 0\nintr 12 0\nctxt 1\n";
        // 100 + 10 + 50 + 5 + 15 + 20 ticks of a hundredth of a second.
        let stat = parse(text, 100).expect("a stat");
        let (stolen, interrupts) = (Ns::millis(200), Ns::millis(200));
        assert_eq!(stat, CpuStat { busy: Ns::secs(2), stolen, interrupts, processors: 2 });
    }

    #[test]
    fn an_old_kernel_without_stolen_time_is_read() {
        let stat = parse("cpu 1 2 3 4\ncpu0 1 2 3 4\n", 100).expect("a stat");
        assert_eq!(stat.busy, Ns::millis(60));
        for text in ["", "cpu\n", "cpu 1 2 3 4\n", "intr 5\n"] {
            assert_eq!(parse(text, 100), None, "{text:?}");
        }
    }

    #[test]
    fn this_machine_counts() {
        let (before, after) = (look(), look());
        let (Some(before), Some(after)) = (before.stat, after.stat) else { return };
        assert!(after.busy >= before.busy && after.processors == before.processors);
    }
}
