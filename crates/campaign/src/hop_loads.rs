//! How full each hop was in the last second, for live display. A review judges by the whole record.

use clock::Ns;
use record::{Counter, CounterId, Source, SourceId};
use std::collections::BTreeMap;

/// How full a hop was.
#[derive(Clone, Debug, PartialEq)]
pub struct HopLoad {
    /// Its name in the record.
    pub name: String,
    /// The share of what it can carry, 0 to 1; a little more where counters and speed are of different moments.
    pub share: f64,
    /// What that is a share of.
    pub of: LoadOf,
}

/// What a hop's share is a share of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LoadOf {
    /// Its speed in one direction.
    Speed {
        /// To the initiators.
        read: bool,
        /// Bytes a second.
        bytes_per_s: f64,
    },
    /// The time of so many processors.
    Processors(f64),
    /// The time in which at least one request was there. A device that serves several at once can do more.
    Busy,
    /// The time in which all that it has was at work.
    Capacity,
}

/// Gathers hop counters until it is read.
#[derive(Default)]
pub struct HopMeter {
    names: BTreeMap<SourceId, String>,
    sums: BTreeMap<SourceId, HopSum>,
    simulated: bool,
}

#[derive(Default)]
struct HopSum {
    busy: f64,
    cpu: f64,
    processors: f64,
    bytes: [f64; 2],
    rate: f64,
    /// Time covered, by what is counted: read and written bytes, busy time, time of processors.
    covered: [Ns; 4],
}

impl HopMeter {
    /// A meter of simulated hops, whose busy time is that in which all they have was at work.
    pub fn simulated() -> HopMeter {
        HopMeter { simulated: true, ..HopMeter::default() }
    }

    /// A hop that will be counted.
    pub fn hop(&mut self, source: &Source) {
        self.names.insert(source.id, source.name.clone());
    }

    /// Another step is next: what was counted before belongs to the last one.
    pub fn begin_step(&mut self) {
        self.sums.clear();
    }

    /// Adds what a hop counted.
    pub fn add(&mut self, counter: &Counter) {
        let Some(id) = counter.kind.id().filter(|_| counter.value.is_finite()) else { return };
        if !self.names.contains_key(&counter.source) {
            return;
        }
        let sum = self.sums.entry(counter.source).or_default();
        let mut covered = |n: usize| {
            sum.covered[n] = sum.covered[n].plus(counter.to.since(counter.from));
        };
        match id {
            CounterId::ReadBytes => covered(0),
            CounterId::WriteBytes => covered(1),
            CounterId::Busy => covered(2),
            CounterId::CpuBusy => covered(3),
            _ => {}
        }
        match id {
            CounterId::ReadBytes => sum.bytes[0] += counter.value,
            CounterId::WriteBytes => sum.bytes[1] += counter.value,
            CounterId::Busy => sum.busy += counter.value,
            CounterId::CpuBusy => sum.cpu += counter.value,
            CounterId::CpuPolled => sum.cpu -= counter.value,
            CounterId::CpuCount => sum.processors = counter.value,
            CounterId::PortRate => sum.rate = counter.value,
            _ => {}
        }
    }

    /// The hops that were counted since the last call, the fullest first.
    pub fn take(&mut self) -> Vec<HopLoad> {
        let sums = std::mem::take(&mut self.sums);
        let named = |(id, sum): (SourceId, HopSum)| {
            let name = self.names.get(&id)?.clone();
            let (share, of) = sum.load(self.simulated)?;
            Some(HopLoad { name, share, of })
        };
        let mut loads: Vec<HopLoad> = sums.into_iter().filter_map(named).collect();
        loads.sort_by(|a, b| b.share.total_cmp(&a.share));
        loads
    }
}

impl HopSum {
    /// The share of the fuller direction of a port with a speed; else that of processors; else busy time.
    fn load(&self, simulated: bool) -> Option<(f64, LoadOf)> {
        let seconds = |n: usize| Some(self.covered[n].as_secs_f64()).filter(|s| *s > 0.0);
        let speed = |way: usize| {
            let share = self.bytes[way] / seconds(way)? / self.rate;
            Some((share, LoadOf::Speed { read: way == 0, bytes_per_s: self.rate }))
        };
        if self.rate > 0.0 {
            let ways = [speed(0), speed(1)].into_iter().flatten();
            return ways.max_by(|a, b| a.0.total_cmp(&b.0));
        }
        if let (true, Some(seconds)) = (self.processors > 0.0, seconds(3)) {
            let share = (self.cpu / 1e9 / seconds / self.processors).max(0.0);
            return Some((share, LoadOf::Processors(self.processors)));
        }
        let of = if simulated { LoadOf::Capacity } else { LoadOf::Busy };
        Some((self.busy / 1e9 / seconds(2)?, of))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use record::{HopKind, SourceKind};

    fn meter(simulated: bool, counters: &[(u32, CounterId, f64)]) -> Vec<(String, f64, LoadOf)> {
        let mut meter = if simulated { HopMeter::simulated() } else { HopMeter::default() };
        for id in 0..3 {
            let (name, group, agent) = (format!("hop{id}"), String::new(), String::new());
            let kind = SourceKind::Hop(HopKind::Other);
            meter.hop(&Source { id: SourceId(id), kind, name, group, agent });
        }
        // Two halves of a second.
        for half in [0, 500] {
            for (id, kind, value) in counters {
                let (from, to) = (Ns::millis(half), Ns::millis(half + 500));
                let (source, kind) = (SourceId(*id), (*kind).into());
                meter.add(&Counter {
                    source,
                    step: None,
                    from,
                    to,
                    kind,
                    part: None,
                    value: *value,
                });
            }
        }
        let loads = meter.take();
        assert!(meter.take().is_empty(), "it was taken");
        loads.into_iter().map(|load| (load.name, load.share, load.of)).collect()
    }

    #[test]
    fn a_port_is_as_full_as_its_fuller_direction() {
        use CounterId::{PortRate, ReadBytes, WriteBytes};
        let loads = meter(
            false,
            &[
                (0, ReadBytes, 20e6),
                (0, WriteBytes, 45e6),
                (0, PortRate, 100e6),
                (1, ReadBytes, 1e6),
                (2, CounterId::Busy, f64::NAN),
                (9, CounterId::Busy, 5e8),
            ],
        );
        let of = LoadOf::Speed { read: false, bytes_per_s: 100e6 };
        assert_eq!(loads, [("hop0".to_owned(), 0.9, of)], "without a speed there is no share");
    }

    #[test]
    fn time_is_shared_among_processors_and_the_fullest_comes_first() {
        use CounterId::{Busy, CpuBusy, CpuCount};
        let counters = [(0, Busy, 1e8), (1, CpuBusy, 7.5e8), (1, CpuCount, 2.0), (2, Busy, 5e8)];
        let named = |n: u32, share, of| (format!("hop{n}"), share, of);
        let cpu = named(1, 0.75, LoadOf::Processors(2.0));
        assert_eq!(
            meter(false, &counters),
            [named(2, 1.0, LoadOf::Busy), cpu.clone(), named(0, 0.2, LoadOf::Busy)]
        );
        assert_eq!(meter(true, &counters)[0], named(2, 1.0, LoadOf::Capacity));
    }
}
