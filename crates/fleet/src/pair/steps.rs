//! What simulated runs do: names, sources, arrays and steps.

use super::Weather;
use crate::arrays::{ArraySpec, ArrayStep, Portals};
use crate::assign::AssignedStep;
use clock::Ns;
use engine::{StepSpec, WorkerSpec};
use record::{Completed, Loop, RunHead, ScenarioText, Source, SourceId, SourceKind, WorkerLoad};
use scenario::{Change, Incident, Steady, Step};
use std::time::Duration;
use workload::{Arrivals, Regions, Row, Spec};

/// Workers of each agent.
const WORKERS: u32 = 2;

const WARMUP: Ns = Ns::millis(500);
const MEASURE: Ns = Ns::secs(2);
/// Where agents lose their power and come back.
const MEASURE_LONG: Ns = Ns::secs(20);
const COOLDOWN: Ns = Ns::millis(300);
const WARMUP_MAX: Ns = Ns::secs(30);

pub fn name(agent: usize) -> String {
    format!("agent{agent}")
}

pub fn array(agent: usize) -> String {
    format!("array{agent}")
}

pub fn array_spec(agent: usize) -> ArraySpec {
    let (ports, volumes, limits) = (Vec::new(), Vec::new(), Vec::new());
    let (name, scale) = (array(agent), "1".to_owned());
    ArraySpec { name, threads: 1, scale, ports, volumes, library: None, limits, access: None }
}

pub fn portals(spec: &ArraySpec) -> Portals {
    let (array, addresses) = (spec.name.clone(), Vec::new());
    Portals { array, target: "iqn.target".to_owned(), addresses }
}

pub fn head(epoch: Ns) -> RunHead {
    let (name, text) = ("a.toml".to_owned(), String::new());
    RunHead {
        title: "a test".to_owned(),
        producer: record::Producer::new(record::ProducerKind::Live, "wirespeed run"),
        scenario: ScenarioText { name, text, overrides: Vec::new() },
        epoch,
        wall_ns: 0,
        seed: 7,
    }
}

fn workers(agent: usize) -> impl Iterator<Item = SourceId> {
    let first = agent as u32 * WORKERS;
    (first..first + WORKERS).map(SourceId)
}

pub fn sources(agents: usize) -> Vec<Source> {
    let of = |agent| workers(agent).map(move |id| (agent, id));
    let source = |(agent, id): (usize, SourceId)| Source {
        id,
        kind: SourceKind::Worker,
        name: format!("w{}", id.0),
        group: String::new(),
        agent: name(agent),
    };
    (0..agents).flat_map(of).map(source).collect()
}

/// What a worker does in so much time.
pub fn work(time: Ns) -> Completed {
    let mut tally = Completed::empty(false);
    for _ in 0..time.0 / 100_000_000 {
        tally.success(8192, Ns(1000), Ns(1000));
    }
    tally
}

fn spec() -> Spec {
    Spec::access(vec![Row::new(8192, 100.0, 100.0)], Arrivals::closed(1), Regions::Own)
}

pub fn step(weather: &Weather, index: u32) -> (Step, AssignedStep) {
    let measure = if weather.power { MEASURE_LONG } else { MEASURE };
    let fails = Incident { at: Duration::ZERO, change: Change::Fail("host".to_owned()) };
    let steady = Steady { within: WARMUP_MAX.into(), ..Steady::SNIA };
    let warmup = if weather.steady { WARMUP_MAX } else { WARMUP };
    let step = Step {
        index,
        plan: "plan".to_owned(),
        settings: Vec::new(),
        repetition: 0,
        warmup: if weather.steady { Duration::ZERO } else { WARMUP.into() },
        steady: weather.steady.then_some(steady),
        measure: measure.into(),
        cooldown: COOLDOWN.into(),
        precondition: false,
        loads: Vec::new(),
        frames: workload::NetFrames::default(),
        port: None,
        faults: Vec::new(),
        incidents: weather.power.then_some(fails).into_iter().collect(),
        prove: None,
        window: None,
    };
    let worker = |SourceId(id)| WorkerSpec::new(id, format!("w{id}"), Vec::new(), spec());
    let spec = |agent| StepSpec {
        index,
        seed: 7,
        warmup,
        measure,
        cooldown: COOLDOWN,
        slice: Ns::ZERO,
        targets: Vec::new(),
        workers: workers(agent).map(worker).collect(),
        loads: Vec::new(),
        attended: Vec::new(),
        counted: None,
        lab: None,
    };
    let load = |source: SourceId| WorkerLoad {
        source,
        workload: "read".to_owned(),
        arrivals: Loop::Closed { depth: 1, think: false },
        ops_per_transaction: 1,
    };
    let (ports, proof) = (Vec::new(), None);
    let arrays = ArrayStep { index, warmup, measure, cooldown: COOLDOWN, ports, proof };
    let assigned = AssignedStep {
        loads: (0..weather.workers).flat_map(workers).map(load).collect(),
        streams: Vec::new(),
        specs: (0..weather.workers).map(|agent| Some(spec(agent))).collect(),
        arrays: (weather.arrays > 0).then_some(arrays),
        proof: None,
    };
    (step, assigned)
}
