//! What rounds that slow one hop at a time tell of a step's limit.
//!
//! The figures of [`locations_are_those_of_a_test_that_counts_every_assignment_of_signs`] were printed by `location.py` beside
//! this file. What rounds carry is made up by the laws of queueing: a closed loop carries the least of what its hops serve and what
//! its depth allows within their delays (Denning and Buzen's bounds), and never more.

use crate::support::{Sketch, Work};
use clock::{Ns, Rng};
use findings::attribution::{Attribution, HopLimit, Limiter, SURE};
use findings::statistics::location;
use findings::{Elasticity, LeverName, StepProof, elasticity};
use record::{Lever, Perturbation, Proof, Untouched};

#[test]
fn locations_are_those_of_a_test_that_counts_every_assignment_of_signs() {
    type Case = (&'static [f64], f64, Option<[f64; 3]>);
    let cases: [Case; 7] = [
        (&[0.1631, 0.0575, 0.1112, -0.0078, 0.0956], 0.95, None),
        (
            &[0.1709, 0.1839, 0.043, 0.0727, 0.0865, -0.0355],
            0.95,
            Some([0.07960, -0.03550, 0.18390]),
        ),
        (
            &[0.1842, 0.1349, 0.1265, 0.152, 0.0831, 0.1112, 0.1422],
            0.95,
            Some([0.13400, 0.10480, 0.16320]),
        ),
        (
            &[0.138, 0.0754, 0.0369, 0.131, 0.1199, 0.0453, 0.1569, 0.132],
            0.95,
            Some([0.10345, 0.05615, 0.14395]),
        ),
        (
            &[0.1217, 0.1049, 0.1282, 0.1715, 0.084, 0.1749, 0.113, 0.1214],
            0.9,
            Some([0.12325, 0.10490, 0.14830]),
        ),
        (
            &[0.1774, 0.1114, 0.1223, 0.0727, 0.1006, 0.1081, 0.074, 0.0666, 0.1471, 0.1547],
            0.95,
            Some([0.11140, 0.08730, 0.14275]),
        ),
        (
            &[
                0.0559, 0.0681, 0.1408, 0.1585, 0.05, 0.0817, 0.1587, 0.1988, 0.1499, 0.042,
                0.1659, 0.0983,
            ],
            0.99,
            Some([0.11227, 0.05905, 0.16230]),
        ),
    ];
    for (differences, confidence, expected) in cases {
        let found = location(differences, confidence);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-5;
        let same = match (found, expected) {
            (None, None) => true,
            (Some(found), Some([value, low, high])) => {
                near(found.value, value) && near(found.low, low) && near(found.high, high)
            }
            _ => false,
        };
        assert!(same, "{differences:?}: {found:?}, expected {expected:?}");
    }
    assert_eq!(location(&[1.0, 2.0, 3.0, 4.0, 5.0, f64::NAN, 6.0], 0.95), None);
}

/// A number of the standard normal distribution.
fn gauss(rng: &mut Rng) -> f64 {
    (-2.0 * (1.0 - rng.unit()).ln()).sqrt() * (std::f64::consts::TAU * rng.unit()).cos()
}

#[test]
fn intervals_cover_the_true_elasticity_as_often_as_stated() {
    // Eight differences allow 96.1%, sixty and more the normal approximation; stalls widen and do not shift.
    for (blocks, stalls) in [(8, 0.0), (8, 0.1), (80, 0.05)] {
        let mut rng = Rng::keyed(17, &[blocks as u64]);
        let runs = 4000;
        let covers = |rng: &mut Rng| {
            let true_value = rng.unit();
            let factor: f64 = 0.9;
            let mut figure = |of: f64| {
                let stalled = if rng.chance(stalls) { 0.5 } else { 1.0 };
                of * stalled * (1.0 + 0.01 * gauss(rng))
            };
            let pair = |_| [figure(100.0), figure(100.0 * factor.powf(true_value))];
            let pairs: Vec<[f64; 2]> = (0..blocks).map(pair).collect();
            let found = elasticity(&pairs, factor, 0.0).expect("enough pairs");
            (found.low..=found.high).contains(&true_value)
        };
        let covered = (0..runs).filter(|_| covers(&mut rng)).count() as f64 / f64::from(runs);
        assert!((0.94..0.985).contains(&covered), "{blocks} blocks, {stalls}: {covered}");
    }
}

#[test]
fn an_elasticity_is_a_ratio_of_logarithms() {
    let pairs = |slowed: f64| vec![[100.0, slowed]; 8];
    let check = |slowed: f64, factor: f64, expected: f64| {
        let Elasticity { value, low, high, change } =
            elasticity(&pairs(slowed), factor, 0.0).expect("pairs");
        assert!((value - expected).abs() < 1e-9 && low == value && high == value);
        assert!((change - (slowed / 100.0 - 1.0)).abs() < 1e-9);
    };
    check(90.0, 0.9, 1.0);
    check(100.0, 0.9, 0.0);
    check(87.5, 0.875, 1.0);
    check(111.0 + 1.0 / 9.0, 0.9, -1.0);
    // What each may be off by widens the interval: 1% of what 10% changes.
    let found = elasticity(&pairs(90.0), 0.9, 0.01).expect("pairs");
    assert!((found.high - 1.0 - 0.01 / -0.9_f64.ln()).abs() < 1e-9);
    assert_eq!(elasticity(&[[0.0, 0.0]; 8], 0.9, 0.0), None);
    // One round in which the machine stood still is one of eight.
    let mut stalled = pairs(90.0);
    (stalled[3], stalled[5]) = ([100.0, 0.0], [0.0, 90.0]);
    let found = elasticity(&stalled, 0.9, 0.0).expect("pairs");
    assert!((found.value - 1.0).abs() < 1e-9, "{found:?}");
    assert_eq!(elasticity(&pairs(90.0)[..5], 0.9, 0.0), None);
}

const LAB: &str = r#"
scenario.title = "An array in small"
array = [{ name = "store", embedded = { ports = [{ name = "p1" }, { name = "p2" }] } }]
volume = [{ name = "data", array = "store", size = "64MiB" }]
vm = [{ name = "vm1", disks = [{ lun = "store/data" }] }]
workload.load = { block = "8KiB", depth = 8 }
[plan]
workload = "load"
on = "vm1"
measure = "2s"
"#;

/// I/Os a round that hops serve, the delay at the volume in rounds, and the depth.
#[derive(Clone, Copy)]
struct Law {
    ports: [f64; 2],
    volume: f64,
    cpu: f64,
    delay: f64,
    depth: f64,
    think: f64,
}

const WIDE: Law = Law {
    ports: [900.0, 900.0],
    volume: 1600.0,
    cpu: 2500.0,
    delay: 0.001,
    depth: 8.0,
    think: 0.001,
};

/// What is slowed in the rounds, in the order of a plan.
const LEVERS: [(&str, Lever); 7] = [
    ("store.p1", Lever::Rate),
    ("store.p2", Lever::Rate),
    ("store", Lever::Cpu),
    ("store/data", Lever::Ops),
    ("store/data", Lever::Latency),
    ("load", Lever::Depth),
    ("load", Lever::Think),
];

impl Law {
    /// I/Os of a round: the two ports take turns, so that the slower one decides for both.
    fn carried(mut self, slowed: Option<&Perturbation>) -> f64 {
        if let Some(Perturbation { subject, lever, factor }) = slowed {
            match (subject.as_str(), lever) {
                ("store.p1", _) => self.ports[0] *= factor,
                ("store.p2", _) => self.ports[1] *= factor,
                ("store", _) => self.cpu *= factor,
                (_, Lever::Ops) => self.volume *= factor,
                (_, Lever::Latency) => self.delay /= factor,
                (_, Lever::Depth) => self.depth *= factor,
                (_, Lever::Think) => self.think /= factor,
                other => panic!("{other:?}"),
            }
        }
        let ports = 2.0 * self.ports[0].min(self.ports[1]);
        let load = self.depth / (self.delay + self.think);
        ports.min(self.volume).min(self.cpu).min(load)
    }
}

fn proof(blocks: usize) -> Proof {
    let slowed = |(subject, lever): (&str, Lever)| Perturbation {
        subject: subject.to_owned(),
        lever,
        factor: 0.9,
    };
    let mut rng = Rng::keyed(3, &[]);
    let mut rounds = Vec::new();
    for _ in 0..blocks {
        let mut block: Vec<Option<u32>> =
            (0..LEVERS.len() as u32).map(Some).chain([None]).collect();
        (1..block.len()).for_each(|n| block.swap(n, rng.below(n as u64 + 1) as usize));
        rounds.extend(block);
    }
    let why = "it has no speed".to_owned();
    Proof {
        round: Ns::millis(300),
        settle: Ns::millis(100),
        perturbations: LEVERS.map(slowed).to_vec(),
        untouched: vec![Untouched { subject: "the generator".to_owned(), why }],
        rounds,
    }
}

/// Hops with their counters.
type Hops<'a> = &'a [(&'a str, &'a [(&'static str, f64)])];

/// The proof of a step whose rounds follow a law, with half a percent of noise and a drift, and its answer.
fn proven(law: Law, hops: Hops<'_>) -> (StepProof, Attribution) {
    let carried = |n: usize, slowed: Option<&Perturbation>| {
        let mut rng = Rng::keyed(5, &[n as u64]);
        let drift = 1.0 + 0.001 * n as f64;
        let ops = law.carried(slowed) * drift * (1.0 + 0.005 * gauss(&mut rng));
        Some((ops.round() as u64, 1e6 * law.depth / ops))
    };
    let sketch = Sketch::of(LAB).rounds(proof(8), carried);
    let sketch = hops.iter().fold(sketch, |sketch, (hop, counters)| sketch.hop(hop, counters));
    let mut analysis = sketch.analyse(|_, _| Work { service_ns: 2e6, ..Work::default() });
    let step = analysis.steps.pop().expect("a step");
    (step.proof.expect("a proof"), step.attribution.expect("an answer"))
}

#[track_caller]
fn check(law: Law, most: &[(&str, LeverName)], limit: &Limiter) {
    let (proof, answer) = proven(law, &[]);
    assert_eq!((proof.rounds, proof.rounds_done), (64, 64));
    let (first, others) = proof.slowed.split_at(most.len());
    for of in first {
        assert!(most.contains(&(of.subject.as_str(), of.lever)), "{first:#?}");
        let found = of.throughput.expect("enough rounds");
        assert!(found.low <= 1.05 && found.high >= 0.95, "{of:?}");
    }
    let least = first.iter().map(|of| of.throughput.expect("rounds").low).fold(2.0, f64::min);
    for of in others {
        let found = of.throughput.expect("enough rounds");
        assert!(found.high < least && found.low <= 0.02 && found.high >= -0.02, "{of:?}");
    }
    assert_eq!(answer.limit, *limit, "{}", answer.line());
    assert!(answer.probability >= 0.9, "{}", answer.line());
}

fn hop(hop: &str, why: HopLimit) -> Limiter {
    Limiter::Hop { hop: hop.into(), why, also: vec![] }
}

#[test]
fn throughput_follows_what_limits_and_nothing_else() {
    use LeverName as L;
    let slow_path = Law { ports: [300.0, 900.0], ..WIDE };
    check(slow_path, &[("store.p1", L::Rate)], &hop("store.p1", HopLimit::Rate));
    let volume = Law { volume: 500.0, ..WIDE };
    check(volume, &[("store/data", L::Ops)], &hop("store/data", HopLimit::Ops));
    check(Law { cpu: 500.0, ..WIDE }, &[("store", L::Cpu)], &hop("store", HopLimit::Cpu));
    let delay = Law { delay: 0.02, think: 0.0, ..WIDE };
    let limit = Limiter::Latency { hop: "store/data".into() };
    check(delay, &[("store/data", L::Latency), ("load", L::Depth)], &limit);
    let think = Law { think: 0.02, delay: 0.0, ..WIDE };
    check(think, &[("load", L::Think), ("load", L::Depth)], &Limiter::None);
}

#[test]
fn ports_that_take_turns_limit_together() {
    let (proof, answer) = proven(Law { ports: [300.0, 300.0], ..WIDE }, &[]);
    let first: Vec<&str> = proof.slowed[..2].iter().map(|of| of.subject.as_str()).collect();
    assert!(first.contains(&"store.p1") && first.contains(&"store.p2"), "{first:?}");
    let Limiter::Hop { hop, also, .. } = &answer.limit else { panic!("{}", answer.line()) };
    assert_eq!(also.len(), 1);
    assert_ne!(also[0], *hop);
}

#[test]
fn an_answer_of_the_clues_that_throughput_does_not_follow_is_replaced() {
    // By its counters the port is full; the rounds say the volume.
    let moved = Work::default().ops as f64 * 8192.0;
    let full: &[(&str, f64)] = &[("read-bytes", moved), ("rate", moved * 1.01 * 0.5)];
    let (_, answer) = proven(Law { volume: 500.0, ..WIDE }, &[("store.p1", full)]);
    assert_eq!(answer.limit, hop("store/data", HopLimit::Ops), "{}", answer.line());
    let clue = &answer.clues[0];
    assert_eq!(clue.hop.as_deref(), Some("store/data"));
    assert!(clue.text.starts_with("slowed by 10%, throughput −"), "{}", clue.text);
    let next = answer.runner_up.expect("what the clues said");
    assert_eq!(next.limit, hop("store.p1", HopLimit::Rate));
    assert!(next.probability <= 0.1 + 1e-9);
    // The same where the port does limit.
    let (_, answer) = proven(Law { ports: [300.0, 900.0], ..WIDE }, &[("store.p1", full)]);
    assert_eq!(answer.limit, hop("store.p1", HopLimit::Rate), "{}", answer.line());
    assert_eq!(answer.probability, SURE);
}

#[test]
fn where_nothing_that_was_slowed_matters_a_denied_answer_is_withdrawn() {
    let moved = Work::default().ops as f64 * 8192.0;
    let full: &[(&str, f64)] = &[("read-bytes", moved), ("rate", moved * 1.01 * 0.5)];
    let sketch = Sketch::of(LAB).rounds(proof(8), |_, _| Some((500, 1e6))).hop("store.p1", full);
    let analysis = sketch.analyse(|_, _| Work { service_ns: 2e6, ..Work::default() });
    let answer = analysis.steps[0].attribution.clone().expect("an answer");
    assert_eq!(answer.limit, Limiter::Unknown { missing: vec![] }, "{}", answer.line());
    assert_eq!(answer.probability, 0.5);
}

#[test]
fn rounds_that_are_missing_leave_their_blocks_out() {
    // Stopped in the fourth block: what was not reported is said, and three blocks allow no interval.
    let carried = |n: usize, _: Option<&Perturbation>| (n < 30).then_some((500, 1e6));
    let analysis = Sketch::of(LAB).rounds(proof(8), carried).analyse(|_, _| Work::default());
    let proof = analysis.steps[0].proof.clone().expect("a proof");
    assert_eq!((proof.rounds, proof.rounds_done), (64, 30));
    assert!(proof.slowed.iter().all(|of| of.blocks <= 4 && of.throughput.is_none()));
    assert_eq!(proof.untouched[0].subject, "the generator");
    let figures = &analysis.steps[0].total.both;
    assert_eq!(figures.iops, Work::default().ops as f64, "the step's own figures are its own");
}
