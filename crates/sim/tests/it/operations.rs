//! Workloads as sources: the simulator issues the same operations as a live engine.

use clock::Ns;
use sim::Ps;
use sim::engine::{Ended, Observer, Seeds, SetUpError, Simulation};
use sim::model::*;
use workload::{Arrivals, Dir, Extent, Next, Placement, Process, Spec, Stream, StreamKey, preset};

const TARGETS: u16 = 2;

fn place() -> Placement {
    let target = Extent { size: 1 << 30, block: 512 };
    Placement { targets: vec![target; TARGETS.into()], sharer: 0, sharers: 1, start: Ns::ZERO }
}

fn spec(arrivals: Arrivals) -> Spec {
    Spec { arrivals, ..preset("file-server").expect("a preset").spec() }
}

fn network(spec: &Spec, law: Law) -> Network {
    let mut network = Network::new();
    let station = network.station(Station::many(4));
    let route = vec![Hop::Visit { station, demand: Demand { time: law, per_byte: 100.0 } }];
    let both = [Class::read(0, route.clone()), Class::write(0, route)];
    let operations = Operations { spec: spec.clone(), place: place(), step: 2, worker: 1 };
    network.load(Load::of(
        Source::Operations(Box::new(operations)),
        vec![both; TARGETS.into()].concat(),
    ));
    network
}

/// Ends of I/Os: class, due time, end time.
#[derive(Default)]
struct Ends(Vec<(u32, Ps, Ps)>);

impl Observer for Ends {
    fn ended(&mut self, io: &Ended) {
        self.0.push((io.class, io.due, io.now));
    }
}

#[track_caller]
fn run(spec: &Spec, law: Law, until: Ps) -> Simulation<Ends> {
    let network = network(spec, law);
    let mut simulation = Simulation::observed(&network, 9, Ends::default()).unwrap();
    simulation.run_until(until).unwrap();
    simulation
}

/// The classes and bytes of a slot's first operations, drawn by hand.
fn by_hand(spec: &Spec, slot: u32, count: usize) -> Vec<(u32, u64)> {
    let key = StreamKey { seed: 9, step: 2, worker: 1, slot };
    let mut stream = Stream::new(spec, &place(), key).unwrap();
    let mut operations = Vec::new();
    let mut now = Ns::ZERO;
    while operations.len() < count {
        match stream.next(now) {
            Next::Op(op) => {
                let class = 2 * u32::from(op.target) + u32::from(op.dir == Dir::Write);
                operations.push((class, u64::from(op.len)));
            }
            Next::At(at) => now = at,
            Next::AwaitCompletion => stream.completed(now),
            Next::Done => break,
        }
    }
    operations
}

#[test]
fn one_slot_issues_the_operations_of_its_stream() {
    let spec = spec(Arrivals::Closed { depth: 1, think: Ns(700) });
    let mut simulation = run(&spec, Law::Exponential(Ps::micros(3)), Ps::millis(2));
    let classes: Vec<u32> = simulation.observer().0.iter().map(|(class, ..)| *class).collect();
    assert!(classes.len() > 100);
    let expected = by_hand(&spec, 0, classes.len());
    assert_eq!(classes, expected.iter().map(|(class, _)| *class).collect::<Vec<_>>());
    let bytes: u64 = expected.iter().map(|(_, bytes)| bytes).sum();
    let snapshot = simulation.snapshot();
    assert_eq!(snapshot.stations[0].bytes.iter().sum::<u64>(), bytes);
    assert!(snapshot.classes[1].tally.bytes[1] > 0 && snapshot.classes[1].tally.bytes[0] == 0);
}

#[test]
fn a_closed_loop_keeps_its_depth_and_thinks() {
    let spec = spec(Arrivals::Closed { depth: 8, think: Ns::ZERO });
    let mut simulation = run(&spec, Law::Constant(Ps::micros(3)), Ps::millis(2));
    assert_eq!(simulation.outstanding(), 8);
    let snapshot = simulation.snapshot();
    assert_eq!(snapshot.stations[0].level.busy, 4);
    for class in &snapshot.classes {
        assert_eq!(class.responded, class.tally.stayed, "a closed loop is never late");
    }
}

#[test]
fn an_open_loop_is_due_by_its_clock() {
    let process = Process::Fixed { rate: 100_000.0 };
    let spec = spec(Arrivals::Open { process, limit: 64 });
    let simulation = run(&spec, Law::Constant(Ps::micros(3)), Ps::millis(1));
    for (number, (_, due, _)) in simulation.observer().0.iter().enumerate() {
        assert_eq!(due.0 % Ps::micros(10).0, 0, "arrival {number}");
    }
    assert_eq!(simulation.observer().0.len(), 100);
}

#[test]
fn a_limit_makes_operations_late() {
    let process = Process::Fixed { rate: 1_000_000.0 };
    let spec = spec(Arrivals::Open { process, limit: 2 });
    let mut simulation = run(&spec, Law::Constant(Ps::micros(10)), Ps::millis(1));
    assert_eq!(simulation.outstanding(), 2);
    let (_, due, ended) = *simulation.observer().0.last().unwrap();
    assert!(ended.since(due) > Ps::micros(700), "{due:?} {ended:?}");
    let snapshot = simulation.snapshot();
    let responded: u128 = snapshot.classes.iter().map(|class| class.responded).sum();
    let served: u128 = snapshot.classes.iter().map(|class| class.tally.stayed).sum();
    assert!(responded > 10 * served);
    let class = (0..4).find(|class| simulation.service(*class).unwrap().count() > 0).unwrap();
    let p50 = |histogram: &sim::statistics::TimeHistogram| histogram.quantile(0.5).unwrap();
    let (response, service) =
        (simulation.response(class).unwrap(), simulation.service(class).unwrap());
    assert!(p50(&response).0 > 10 * p50(service).0);
}

#[test]
fn a_worker_that_does_not_fit_its_targets_is_refused() {
    let spec = Spec {
        working_set: Some(workload::WorkingSet::Bytes(512)),
        ..spec(Arrivals::Closed { depth: 1, think: Ns::ZERO })
    };
    let error = Simulation::new(&network(&spec, Law::ZERO), 1).err();
    assert!(matches!(error, Some(SetUpError::Operations { load: 0, .. })), "{error:?}");
}

/// Operations are seeded by one seed, the draws of stations by the other.
#[test]
fn operations_keep_their_seed_when_stations_have_another() {
    let law = Law::Exponential(Ps::micros(50));
    let network = network(&spec(Arrivals::Closed { depth: 64, think: Ns::ZERO }), law);
    let story = |operations, draws| {
        let seeds = Seeds { operations, draws };
        let mut simulation = Simulation::observed(&network, seeds, Ends::default()).unwrap();
        simulation.run_until(Ps(1)).unwrap();
        let classes = simulation.snapshot().classes;
        let first: Vec<u64> = classes.iter().map(|class| class.tally.arrivals).collect();
        simulation.run_until(Ps::millis(5)).unwrap();
        (first, simulation.observer().0.clone())
    };
    let (first, ends) = story(9, 9);
    assert_eq!(story(9, 10).0, first);
    assert_ne!(story(9, 10).1, ends);
    assert_ne!(story(10, 9).0, first);
}
