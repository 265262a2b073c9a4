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
