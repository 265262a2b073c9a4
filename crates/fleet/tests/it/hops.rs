//! Hops that are sampled beside a step.

use crate::common::*;
use crate::prelude::*;
use fleet::{AgentLink, HopReading, Sample, SampledHop, Sampler};
use record::{CounterId, HopKind, SourceKind, Status};

/// Two hops, of which one has a number that grows by seven a look and a level, and the other says nothing but once.
struct Fake {
    looks: u64,
}

impl Sampler for Fake {
    fn hops(&mut self, step: &StepSpec) -> Vec<SampledHop> {
        assert!(!step.targets.is_empty());
        let hop = |name: &str, facts: &[(&str, &str)]| SampledHop {
            name: name.to_owned(),
            kind: HopKind::BlockDevice,
            facts: facts.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect(),
        };
        vec![hop("disk", &[("counters", "good ones")]), hop("t0", &[])]
    }

    fn sample(&mut self) -> Vec<Sample> {
        self.looks += 1;
        let reading = |counter, value: u64| HopReading { counter, value: value as f64 };
        let disk = vec![
            reading(CounterId::ReadBytes, self.looks * 7),
            reading(CounterId::QueueDepthEnd, 3),
        ];
        let odd = match self.looks % 3 {
            0 => vec![reading(CounterId::ReadBytes, 1000 - self.looks)],
            _ => vec![],
        };
        let at = clock::now();
        vec![Sample { at, readings: disk }, Sample { at, readings: odd }]
    }
}

/// A run of two steps by an agent that follows a script, sampled.
fn run(script: &str) -> Log {
    let registry = engines(script).sampler(Box::new(Fake { looks: 0 }));
    let trial = Trial::new();
    let control = trial.control.clone();
    let agent = AgentLink::in_process(identity("local"), registry).expect("a thread");
    let (outcome, log) = trial.run_watched(vec![agent], &mut |progress| {
        if let fleet::Progress::Second { .. } = progress
            && script == "wait"
        {
            control.stop();
        }
    });
    assert!(matches!(outcome.expect("an outcome").status, Status::Complete | Status::Stopped));
    log
}

#[test]
fn hops_are_sources_and_their_counters_are_contiguous() {
    // On a busy machine a short step may be over before the sampler first wakes.
    let sampled = |log: &Log| {
        let of = |step| log.counters.iter().any(|counter| counter.step == Some(step));
        of(0) && of(1)
    };
    let log = (0..20).map(|_| run("run")).find(sampled).expect("both steps are sampled in time");
    let hops: Vec<_> = log.sources.iter().filter(|s| s.hop().is_some()).collect();
    let names: Vec<_> = hops.iter().map(|s| (s.name.as_str(), s.group.as_str())).collect();
    assert_eq!(names, [("disk", "disk"), ("local/t0", "t0")], "once, and a worker is called t0");
    assert!(log.facts.iter().any(|f| f.subject == "disk" && f.value == "good ones"));
    for step in 0..2 {
        let of = |name: &str| {
            let mine = |c: &&record::Counter| {
                c.source == hops[0].id && c.step == Some(step) && c.kind.name() == name
            };
            log.counters.iter().filter(mine).cloned().collect::<Vec<_>>()
        };
        let (grew, levels) = (of("read-bytes"), of("queue-depth-end"));
        assert!(!grew.is_empty() && grew.len() == levels.len(), "{step}: {grew:?} {levels:?}");
        assert!(grew.iter().all(|c| c.value == 7.0 && c.kind.unit() == "B"), "{grew:?}");
        assert!(levels.iter().all(|c| c.value == 3.0));
        assert!(grew.windows(2).all(|w| w[0].to == w[1].from && w[0].from < w[0].to));
        let start = log.steps[step as usize].times.start;
        assert!(grew[0].from >= start, "{:?} {start:?}", grew[0]);
    }
}

#[test]
fn a_hop_that_says_nothing_or_begins_anew_has_no_number() {
    let log = run("run");
    let odd = log.sources.iter().find(|s| s.group == "t0" && s.hop().is_some());
    let odd = odd.expect("the other hop").id;
    assert!(log.counters.iter().filter(|c| c.source == odd).all(|c| c.value.is_nan()));
}

#[test]
fn a_step_that_is_stopped_is_sampled_to_its_end() {
    let log = run("wait");
    let last = log.counters.iter().map(|c| c.to).max().expect("counters");
    assert!(last > log.steps[0].times.start && last <= log.steps[0].times.end.plus(Ns::secs(60)));
}

#[test]
fn an_agent_without_a_sampler_names_no_hops() {
    let (_, log) = Trial::new().run(vec![threaded("local", "run")]);
    assert!(log.counters.is_empty() && log.sources.iter().all(|s| s.kind == SourceKind::Worker));
}

/// The processors and a disk of a machine, of which one second has so much.
struct OfMachine {
    machine: &'static str,
    looks: u64,
}

impl Sampler for OfMachine {
    fn hops(&mut self, _: &StepSpec) -> Vec<SampledHop> {
        let of = [("host.cpu", HopKind::HostCpu), ("sda", HopKind::BlockDevice)];
        let hop =
            |(name, kind): (&str, _)| SampledHop { name: name.to_owned(), kind, facts: Vec::new() };
        of.map(hop).into()
    }

    fn places(&self) -> Vec<fleet::message::MachinePlace> {
        let place = |(hop, place): (&str, &str)| fleet::message::MachinePlace {
            hop: hop.to_owned(),
            machine: self.machine.to_owned(),
            place: place.to_owned(),
        };
        [("host.cpu", "cpu"), ("sda", "disk sda")].map(place).into()
    }

    fn sample(&mut self) -> Vec<Sample> {
        self.looks += 1;
        let of = |counter| {
            let readings = vec![HopReading { counter, value: self.looks as f64 }];
            Sample { at: clock::now(), readings }
        };
        vec![of(CounterId::CpuBusy), of(CounterId::ReadBytes)]
    }
}

/// The hops of a run by two agents on these machines, whether a counter of one is told twice for a moment, and what is said of it.
fn on_machines(machines: [&'static str; 2]) -> (Vec<String>, bool, Vec<String>) {
    let agent = |(name, machine): (&str, &'static str)| {
        let registry = engines("run").sampler(Box::new(OfMachine { machine, looks: 0 }));
        AgentLink::in_process(identity(name), registry).expect("a thread")
    };
    let agents = [("a", machines[0]), ("b", machines[1])].map(agent);
    let (_, log) = Trial::new().run(agents.into());
    let hops = log.sources.iter().filter(|source| source.hop().is_some());
    let own = |c: &&record::Counter| c.kind.id() != Some(CounterId::OwnStop);
    let counters: Vec<_> = log.counters.iter().filter(own).collect();
    let twice = counters.iter().enumerate().any(|(at, one)| {
        counters[..at].iter().any(|other| {
            let same = (one.source, &one.kind, one.step) == (other.source, &other.kind, other.step);
            same && one.from < other.to && other.from < one.to
        })
    });
    let joined = log.events.iter().filter(|event| event.code == "counters-joined");
    let names = hops.map(|source| source.name.clone()).collect();
    (names, twice, joined.map(|event| event.text.clone()).collect())
}

#[test]
fn what_two_agents_of_one_machine_count_is_one_hop() {
    let (names, twice, said) = on_machines(["m", "m"]);
    assert_eq!((names, twice), (vec!["host.cpu".to_owned(), "sda".to_owned()], false));
    let expected = "agents a, b run on one machine: a counts host.cpu, sda for all of them; what the others count there is compared \
                    with that";
    assert_eq!(said, [expected], "once in two steps");
    let (names, twice, said) = on_machines(["m", "n"]);
    assert_eq!(names, ["host.cpu", "sda", "b/host.cpu", "b/sda"]);
    assert_eq!((twice, said), (false, vec![]));
}
