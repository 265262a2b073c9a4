//! The hops of this machine, as an agent samples them: a list of counter sources.

use crate::counted::{self, CountedHops};
use crate::fleets::facts;
use crate::guests::hops::GuestProcesses;
use engine::{CountedHosts, StepSpec};
use fleet::message::{MachinePlace, SameHop};
use fleet::{HopReading, Sample, SampledHop, Sampler, SamplerNews};
use probe::block::{self, BlockDevice, Look, Stat};
use probe::cpu;
use probe::process::ProcessLook;
use record::{CounterId, Fact, HopKind, Level, ScenarioText};
use scenario::{CounterSource, CountersFrom, Scenario, Source};
use std::path::Path;

/// The fact of a hop that says why its counters may mean nothing.
const COUNTERS: &str = "counters";

/// The sources of counters that an agent of this program samples. A new source is one more line.
pub fn sources() -> Sources {
    Sources(vec![
        Box::new(DiskSampler::default()),
        Box::new(CpuSampler::default()),
        Box::new(GuestProcesses::default()),
    ])
}

/// The same with those of a lab's real devices, which tell of this machine's processors and disks too.
pub fn sources_of(scenario: &Scenario) -> Sources {
    let Some(counted) = CountedHops::of(scenario) else { return sources() };
    Sources(vec![Box::new(GuestProcesses::default()), Box::new(counted)])
}

/// The two parts of these where the workers are in a process of their own: of that process, and of the one beside it that knows the
/// scenario.
pub fn sources_of_child() -> Sources {
    Sources(vec![Box::new(GuestProcesses::default())])
}

/// See [`sources_of_child`]; `None` where the lab names no counters.
pub fn sources_beside_child(scenario: &Scenario) -> Option<Sources> {
    Some(Sources(vec![Box::new(CountedHops::of(scenario)?)]))
}

/// The sources of a coordinator whose agents are on other machines: what a lab's real devices say over the network. `None` where it
/// names none. The machines of hosts are counted by the agents that stand for them.
pub fn sources_beside(scenario: &Scenario, names: &[String], facts: &[Fact]) -> Option<Sources> {
    let agents = counted::counting_agents(names.iter(), facts);
    let mut beside = scenario.clone();
    beside.lab.counters.retain(|source| source.from != CountersFrom::Local);
    let counted = CountedHops::beside(&beside, agents)?;
    Some(Sources(vec![Box::new(counted)]))
}

/// The sources of an agent of a fleet: those of its machine, and those of the hosts that its orders name.
pub fn sources_of_agent() -> impl Sampler {
    OrderedSources::default()
}

/// The sources of an agent of a fleet, as its orders say.
#[derive(Default)]
struct OrderedSources {
    orders: Option<CountedHosts>,
    sources: Option<Sources>,
    news: Vec<SamplerNews>,
}

impl OrderedSources {
    fn made(&mut self, orders: &CountedHosts) -> Sources {
        let ScenarioText { name, text, overrides } = orders.scenario.clone();
        let source = Source { name, text, overrides, catalogs: Vec::new() };
        match scenario::load(&source) {
            Ok(mut scenario) => {
                // Others are asked from nowhere but the coordinator's machine.
                let own = |of: &CounterSource| {
                    of.from == CountersFrom::Local && orders.hosts.contains(&of.device)
                };
                scenario.lab.counters.retain(own);
                sources_of(&scenario)
            }
            Err(_) => {
                let (at, level) = (clock::now(), Level::Warning);
                let text =
                    "the scenario of the run is none for this release: its hosts have no counters";
                let (code, text) = ("counters-lost".to_owned(), text.to_owned());
                self.news.push(SamplerNews { at, level, code, text });
                sources()
            }
        }
    }
}

impl Sampler for OrderedSources {
    fn hops(&mut self, step: &StepSpec) -> Vec<SampledHop> {
        if self.sources.is_none() || self.orders != step.counted {
            let made = step.counted.as_ref().map(|orders| self.made(orders));
            self.sources = Some(made.unwrap_or_else(sources));
            self.orders = step.counted.clone();
        }
        self.sources.iter_mut().flat_map(|sources| sources.hops(step)).collect()
    }

    fn sample(&mut self) -> Vec<Sample> {
        self.sources.iter_mut().flat_map(Sampler::sample).collect()
    }

    fn places(&self) -> Vec<MachinePlace> {
        self.sources
            .iter()
            .flat_map(|sources| sources.0.iter())
            .flat_map(|of| of.places())
            .collect()
    }

    fn news(&mut self) -> Vec<SamplerNews> {
        let mut news = std::mem::take(&mut self.news);
        news.extend(self.sources.iter_mut().flat_map(Sampler::news));
        news
    }
}

/// The sources of an agent that stands for a host of an emulated lab: what it shares with others is counted elsewhere.
pub fn sources_of_host() -> Sources {
    Sources(vec![Box::new(DiskSampler::default())])
}

/// The sources of a scenario's lab with one more.
pub fn sources_with(scenario: &Scenario, other: Box<dyn Sampler>) -> Sources {
    let mut all = sources_of(scenario);
    all.0.push(other);
    all
}

/// Several sources, sampled one after the other. Only an agent of a fleet says which places of its machine they are: agents of one
/// process, or of an emulated lab, share all of it.
pub struct Sources(Vec<Box<dyn Sampler>>);

impl Sampler for Sources {
    fn hops(&mut self, step: &StepSpec) -> Vec<SampledHop> {
        self.0.iter_mut().flat_map(|source| source.hops(step)).collect()
    }

    fn sample(&mut self) -> Vec<Sample> {
        self.0.iter_mut().flat_map(|source| source.sample()).collect()
    }

    fn same(&self) -> Vec<SameHop> {
        self.0.iter().flat_map(|source| source.same()).collect()
    }

    fn news(&mut self) -> Vec<SamplerNews> {
        self.0.iter_mut().flat_map(|source| source.news()).collect()
    }
}

/// The name of the hop that is this machine's processors.
pub(crate) const PROCESSORS: &str = "host.cpu";

/// What they are among the places of a machine.
pub(crate) const CPU: &str = "cpu";

/// What a disk is among the places of a machine.
pub(crate) fn disk_place(device: &str) -> String {
    format!("disk {device}")
}

/// Samples the processors of this machine, in steps that load storage: workers, embedded arrays and everything else share
/// them. Network loads count their machines themselves.
#[derive(Debug, Default)]
pub(crate) struct CpuSampler {
    loaded: bool,
}

impl Sampler for CpuSampler {
    fn hops(&mut self, step: &StepSpec) -> Vec<SampledHop> {
        let (name, kind) = (PROCESSORS.to_owned(), HopKind::HostCpu);
        let hop = SampledHop { name, kind, facts: Vec::new() };
        self.loaded = !(step.workers.is_empty() && step.attended.is_empty());
        if self.loaded { vec![hop] } else { Vec::new() }
    }

    fn places(&self) -> Vec<MachinePlace> {
        facts::place(PROCESSORS, CPU.to_owned()).filter(|_| self.loaded).into_iter().collect()
    }

    fn sample(&mut self) -> Vec<Sample> {
        if !self.loaded {
            return Vec::new();
        }
        let look = cpu::look();
        let reading =
            |counter, value: Option<f64>| HopReading { counter, value: value.unwrap_or(f64::NAN) };
        let readings = vec![
            reading(CounterId::CpuBusy, look.stat.map(|stat| stat.busy.0 as f64)),
            reading(CounterId::CpuPolled, Some(san::initiator::polled().0 as f64)),
            reading(CounterId::CpuCount, look.stat.map(|stat| f64::from(stat.processors))),
        ];
        vec![Sample { at: look.at, readings }]
    }
}

/// What a process has taken of its machine beside processor time, as a record names it.
pub(crate) fn taken(look: Option<ProcessLook>) -> Vec<HopReading> {
    let reading = |counter, value: Option<u64>| HopReading {
        counter,
        value: value.map_or(f64::NAN, |value| value as f64),
    };
    vec![
        reading(CounterId::CpuWait, look.and_then(|look| look.waited).map(|waited| waited.0)),
        reading(CounterId::Threads, look.map(|look| look.threads)),
        reading(CounterId::Memory, look.map(|look| look.memory)),
        reading(CounterId::MajorFaults, look.map(|look| look.major_faults)),
    ]
}

/// Samples the disks under the targets of a step, and the partitions that the targets are on.
#[derive(Debug, Default)]
pub(crate) struct DiskSampler {
    /// Those of the last step.
    pub devices: Vec<BlockDevice>,
}

impl Sampler for DiskSampler {
    fn hops(&mut self, step: &StepSpec) -> Vec<SampledHop> {
        let paths = step.targets.iter().filter(|t| fleet::scheme(&t.url).is_empty());
        self.devices.clear();
        for device in paths.flat_map(|target| block::under(Path::new(&target.url))) {
            if !self.devices.contains(&device) {
                self.devices.push(device);
            }
        }
        self.devices.iter().map(hop).collect()
    }

    fn places(&self) -> Vec<MachinePlace> {
        let place = |device: &BlockDevice| facts::place(device.name(), disk_place(device.name()));
        self.devices.iter().filter_map(place).collect()
    }

    fn sample(&mut self) -> Vec<Sample> {
        self.devices.iter().map(|device| sample(device.look())).collect()
    }
}

fn hop(device: &BlockDevice) -> SampledHop {
    let why = device.uncounted().map(|why| (COUNTERS.to_owned(), why.to_owned()));
    let (name, kind) = (device.name().to_owned(), HopKind::BlockDevice);
    SampledHop { name, kind, facts: why.into_iter().collect() }
}

fn sample(look: Look) -> Sample {
    Sample { at: look.at, readings: look.stat.map(readings).unwrap_or_else(nothing) }
}

/// A device's counters as a record names them.
pub(crate) fn readings(stat: Stat) -> Vec<HopReading> {
    let reading = |counter, value: u64| HopReading { counter, value: value as f64 };
    vec![
        reading(CounterId::ReadOps, stat.reads),
        reading(CounterId::ReadBytes, stat.read_bytes),
        reading(CounterId::ReadMerges, stat.reads_merged),
        reading(CounterId::ReadTime, stat.read_time.0),
        reading(CounterId::WriteOps, stat.writes),
        reading(CounterId::WriteBytes, stat.write_bytes),
        reading(CounterId::WriteMerges, stat.writes_merged),
        reading(CounterId::WriteTime, stat.write_time.0),
        reading(CounterId::Busy, stat.busy.0),
        reading(CounterId::QueueTime, stat.queued.0),
        reading(CounterId::QueueDepthEnd, stat.in_flight),
    ]
}

/// A device that counts nothing has no number to give, which is not zero.
pub(crate) fn nothing() -> Vec<HopReading> {
    let none = |reading: HopReading| HopReading { value: f64::NAN, ..reading };
    readings(Stat::default()).into_iter().map(none).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clock::Ns;

    struct CounterNames(&'static str, f64);

    impl Sampler for CounterNames {
        fn hops(&mut self, _: &StepSpec) -> Vec<SampledHop> {
            let (name, kind) = (self.0.to_owned(), HopKind::BlockDevice);
            vec![SampledHop { name, kind, facts: Vec::new() }]
        }

        fn sample(&mut self) -> Vec<Sample> {
            let readings = vec![HopReading { counter: CounterId::ReadOps, value: self.1 }];
            vec![Sample { at: Ns::secs(1), readings }]
        }
    }

    #[test]
    fn samples_follow_the_order_of_hops() {
        let mut sources =
            Sources(vec![Box::new(CounterNames("a", 1.0)), Box::new(CounterNames("b", 2.0))]);
        let step = StepSpec {
            index: 0,
            seed: 0,
            warmup: Ns::ZERO,
            measure: Ns::secs(1),
            cooldown: Ns::ZERO,
            slice: Ns::ZERO,
            targets: Vec::new(),
            workers: Vec::new(),
            loads: Vec::new(),
            attended: Vec::new(),
            counted: None,
            lab: None,
        };
        let names: Vec<String> = sources.hops(&step).into_iter().map(|hop| hop.name).collect();
        let values: Vec<f64> = sources.sample().iter().map(|s| s.readings[0].value).collect();
        assert_eq!((names, values), (vec!["a".to_owned(), "b".to_owned()], vec![1.0, 2.0]));
    }
}
