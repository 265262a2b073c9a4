//! The processors of a machine one by one, their interrupts, and pressure (PSI), from `/proc`.
//!
//! A sum over processors hides the one that is full: network work of one queue is done by one processor. So the busiest and
//! the one with most interrupt work are told too, each as a share of the time since the last look.

use crate::source::{Amount, Look, Place, Source, Trouble};
use crate::sysfs;
use clock::Ns;
use hop::HopKind;
use record::CounterId;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Where a machine says which one it is: the UUID of its firmware, which only root may read, and that of its installation.
const IDENTITIES: [(&str, &str); 2] =
    [("uuid", "/sys/class/dmi/id/product_uuid"), ("machine-id", "/etc/machine-id")];

/// Time of one processor, or of all together, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTicks {
    /// All but idle and waiting for I/O.
    pub busy: u64,
    /// Of that: interrupts, soft ones included.
    pub interrupts: u64,
    /// Of that: taken by the hypervisor.
    pub stolen: u64,
    /// Idle, and waiting for I/O.
    pub idle: u64,
}

/// What `/proc/stat` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcStat {
    /// All processors together.
    pub all: CpuTicks,
    /// Each that is online, by its number.
    pub each: BTreeMap<u32, CpuTicks>,
    /// Interrupts.
    pub interrupts: Option<u64>,
}

/// Reads `/proc/stat`; `None` where the text is none.
pub fn proc_stat(text: &str) -> Option<ProcStat> {
    let mut out = ProcStat::default();
    let mut found = false;
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let key = words.next().unwrap_or_default();
        if key == "intr" {
            out.interrupts = words.next().and_then(|word| word.parse().ok());
        }
        let Some(number) = key.strip_prefix("cpu") else { continue };
        let ticks: Vec<u64> = words.map_while(|word| word.parse().ok()).collect();
        if ticks.len() < 4 {
            return None;
        }
        let sum = |of: &[usize]| -> u64 {
            of.iter().filter_map(|n| ticks.get(*n)).fold(0, |sum, n| sum.saturating_add(*n))
        };
        // user, nice, system, idle, iowait, irq, softirq, steal; the guests' are within the first two.
        let of = CpuTicks {
            busy: sum(&[0, 1, 2, 5, 6, 7]),
            interrupts: sum(&[5, 6]),
            stolen: sum(&[7]),
            idle: sum(&[3, 4]),
        };
        if number.is_empty() {
            (out.all, found) = (of, true);
        } else {
            out.each.insert(number.parse().ok()?, of);
        }
    }
    (found && !out.each.is_empty()).then_some(out)
}

/// The total of a pressure file in microseconds: how long some task waited.
pub fn pressure(text: &str) -> Option<u64> {
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_ascii_whitespace().find_map(|word| word.strip_prefix("total=")?.parse().ok())
}

/// Processors, interrupts and pressure of a machine as one place.
pub struct Host {
    proc: PathBuf,
    /// The folder with pressure files, where it is a control group's and not the machine's.
    group: Option<PathBuf>,
    ticks_per_s: u64,
    last: Option<ProcStat>,
}

impl Host {
    /// With the tree at this root in the place of `/proc`; pressure of a control group where its folder is given.
    pub fn new(proc: &Path, group: Option<&Path>) -> Host {
        Host {
            proc: proc.to_owned(),
            group: group.map(Path::to_owned),
            ticks_per_s: rustix::param::clock_ticks_per_second().max(1),
            last: None,
        }
    }

    fn stat(&self) -> Result<ProcStat, Trouble> {
        let path = self.proc.join("stat");
        let text = fs::read_to_string(&path)
            .map_err(|e| Trouble::Silent(format!("{}: {e}", path.display())))?;
        let known = proc_stat(&text);
        known.ok_or_else(|| Trouble::Garbage(format!("{} is not as expected", path.display())))
    }

    fn pressure_of(&self, what: &str) -> Option<u64> {
        let file = match &self.group {
            Some(group) => group.join(format!("{what}.pressure")),
            None => self.proc.join("pressure").join(what),
        };
        pressure(&sysfs::text(&file)?)
    }
}

/// The largest share of a processor's time since the last look, in percent.
fn most(now: &ProcStat, before: &ProcStat, of: fn(&CpuTicks) -> u64) -> Option<f64> {
    let share = |(number, now): (&u32, &CpuTicks)| {
        let before = before.each.get(number)?;
        let all = (now.busy + now.idle).checked_sub(before.busy + before.idle)?;
        let part = of(now).checked_sub(of(before))?;
        (all > 0).then(|| 100.0 * (part as f64 / all as f64).min(1.0))
    };
    now.each.iter().filter_map(share).reduce(f64::max)
}

impl Source for Host {
    fn discover(&mut self) -> Result<Vec<Place>, Trouble> {
        let stat = self.stat()?;
        self.last = Some(stat);
        let missing = ["cpu", "io", "memory"].iter().all(|what| self.pressure_of(what).is_none());
        let mut place = Place::new(HopKind::HostCpu, "cpu");
        for (kind, path) in IDENTITIES {
            let id = sysfs::text(Path::new(path)).unwrap_or_default();
            if !id.is_empty() {
                place = place.known_as(&format!("{kind}.{id}"));
            }
        }
        Ok(vec![place.fact("pressure", if missing { "not counted by this kernel" } else { "" })])
    }

    fn look(&mut self) -> Result<Option<Look>, Trouble> {
        let stat = self.stat()?;
        let at = clock::now();
        let tick = Ns::secs(1).0 as f64 / self.ticks_per_s as f64;
        let time = |ticks| Amount::Grows { raw: ticks, bits: 0, unit: tick };
        let mut out = vec![
            (CounterId::CpuBusy, time(stat.all.busy)),
            (CounterId::CpuSteal, time(stat.all.stolen)),
            (CounterId::CpuSoftirq, time(stat.all.interrupts)),
            (CounterId::CpuCount, Amount::Level(stat.each.len() as f64)),
        ];
        out.extend(stat.interrupts.map(|n| (CounterId::CpuInterrupts, Amount::wide(n))));
        if let Some(last) = &self.last {
            let level = |id, value: Option<f64>| Some((id, Amount::Level(value?)));
            out.extend(level(CounterId::CpuMost, most(&stat, last, |cpu| cpu.busy)));
            out.extend(level(CounterId::CpuSoftirqMost, most(&stat, last, |cpu| cpu.interrupts)));
        }
        self.last = Some(stat);
        for (what, id) in [
            ("cpu", CounterId::PressureCpu),
            ("io", CounterId::PressureIo),
            ("memory", CounterId::PressureMemory),
        ] {
            let micros = self.pressure_of(what);
            let time = |raw| Amount::Grows { raw, bits: 64, unit: 1_000.0 };
            out.extend(micros.map(|raw| (id, time(raw))));
        }
        Ok(Some(Look { at, life: 0, places: vec![out] }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  300 0 100 1000 0 10 190 0 0 0\ncpu0 200 0 50 500 0 0 0 0 0 0\n\
                        cpu3 100 0 50 500 0 10 190 0 0 0\nintr 4242 1 2\nctxt 5\n";

    #[test]
    fn the_processor_with_most_interrupt_work_is_told() {
        let before = proc_stat(STAT).expect("a stat");
        assert_eq!(before.interrupts, Some(4242));
        assert_eq!(before.each.keys().copied().collect::<Vec<_>>(), [0, 3]);
        // A hundred ticks on: processor 3 spends 90 of them on interrupts, processor 0 is idle.
        let now = STAT
            .replace("cpu0 200 0 50 500", "cpu0 200 0 50 600")
            .replace("cpu3 100 0 50 500 0 10 190", "cpu3 100 0 50 510 0 10 280");
        let now = proc_stat(&now).expect("a stat");
        assert_eq!(most(&now, &before, |cpu| cpu.interrupts), Some(90.0));
        assert_eq!(most(&before, &before, |cpu| cpu.busy), None);
    }

    #[test]
    fn broken_texts_are_none() {
        for text in ["", "cpu\n", "cpu 1 2 3 4\n", "cpu 1 2 3 4\ncpux 1 2 3 4\n", "intr 3\n"] {
            assert_eq!(proc_stat(text), None, "{text:?}");
        }
        let text = "some avg10=0.00 avg60=1.50 avg300=0.00 total=81532\nfull avg10=0.00 total=7\n";
        assert_eq!(pressure(text), Some(81_532));
        for text in ["", "some", "some total=", "full total=3"] {
            assert_eq!(pressure(text), None, "{text:?}");
        }
    }

    #[test]
    fn a_machine_without_pressure_says_so_and_counts_nothing_for_it() {
        let dir = tempfile::tempdir().expect("a directory");
        fs::write(dir.path().join("stat"), STAT).expect("a stat");
        let mut host = Host::new(dir.path(), None);
        assert_eq!(host.discover().expect("one place")[0].facts.len(), 1);
        let of = |look: Look| look.places[0].iter().map(|(id, _)| *id).collect::<Vec<_>>();
        let counted = of(host.look().expect("a look").expect("news"));
        assert!(counted.contains(&CounterId::CpuInterrupts));
        assert!(
            !counted.contains(&CounterId::PressureIo) && !counted.contains(&CounterId::CpuMost)
        );
    }
}
