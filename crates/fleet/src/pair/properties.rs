//! Properties of every conversation under all fault settings, over many seeds.

use super::{Report, SimulatedRun, Weather, steps};
use crate::control::WaitLimits;
use crate::sink::RecordEntry;
use clock::Ns;
use record::{CounterId, Event, Interval, SourceId, Status, StepTimes};
use std::collections::{BTreeMap, BTreeSet};

/// Runs of each kind of weather.
const SEEDS: u64 = 400;

impl Report {
    fn events(&self) -> impl Iterator<Item = &Event> {
        self.record.iter().filter_map(|entry| match entry {
            RecordEntry::Event(event) => Some(event),
            _ => None,
        })
    }

    fn intervals(&self) -> impl Iterator<Item = &Interval> {
        let lists = self.record.iter().filter_map(|entry| match entry {
            RecordEntry::Intervals(list) => Some(list),
            _ => None,
        });
        lists.flatten()
    }

    /// By how much the record says that moments of an agent may be wrong in a step, in nanoseconds.
    fn clock_bounds(&self) -> BTreeMap<(String, u32), f64> {
        let mut agents = BTreeMap::new();
        let mut bounds = BTreeMap::new();
        for entry in &self.record {
            match entry {
                RecordEntry::Source(source) => drop(agents.insert(source.id, source.agent.clone())),
                RecordEntry::Counters(list) => {
                    for one in list.iter().filter(|c| c.kind.id() == Some(CounterId::ClockBound)) {
                        let key = (agents[&one.source].clone(), one.step.expect("a step"));
                        assert!(bounds.insert(key, one.value).is_none());
                    }
                }
                _ => {}
            }
        }
        bounds
    }

    /// The times of every step, as they stand at its end, and the steps that are done.
    fn steps(&self) -> (BTreeMap<u32, StepTimes>, BTreeSet<u32>) {
        let (mut times, mut done) = (BTreeMap::new(), BTreeSet::new());
        for entry in &self.record {
            match entry {
                RecordEntry::Step(head) => assert!(times.insert(head.index, head.times).is_none()),
                RecordEntry::StepTimes(step, moved) => {
                    assert!(times.insert(*step, *moved).is_some())
                }
                RecordEntry::StepDone(step) => assert!(done.insert(*step)),
                _ => {}
            }
        }
        (times, done)
    }
}

/// What identifies an interval.
type Key = (SourceId, u32, Ns, Ns);

fn key(interval: &Interval) -> Key {
    (interval.source, interval.step, interval.from, interval.to)
}

/// Checks one run.
#[track_caller]
fn check(weather: Weather, seed: u64) -> Report {
    let report = SimulatedRun::run(weather, seed);
    let context = || format!("seed {seed} of {weather:?}: {report:#?}");
    // It ends, for the coordinator and for every agent.
    assert!(report.status.is_some() != report.unusable.is_some(), "{}", context());
    assert_eq!(report.over, weather.workers + weather.arrays, "{}", context());
    let (times, done) = report.steps();
    // Nothing is in the record twice, outside its step, or made up.
    let put_out: BTreeMap<Key, (&Interval, Ns)> =
        report.put_out.iter().map(|(interval, at)| (key(interval), (interval, *at))).collect();
    let mut recorded = BTreeSet::new();
    for interval in report.intervals() {
        assert!(recorded.insert(key(interval)), "twice: {interval:?}\n{}", context());
        let of = times[&interval.step];
        assert!(of.start <= interval.from && interval.to <= of.end, "{interval:?}\n{}", context());
        assert_eq!(put_out.get(&key(interval)).map(|(one, _)| *one), Some(interval));
    }
    // A record's moment is the true one, as far as the clocks are known, where orders to start are in time.
    let may_err = match weather.measured {
        // Half of the way there and back, and what bounds widen between two exchanges.
        true => weather.delay.0 + weather.drift * 100_000 + 2_000_000,
        false => weather.within.0 + weather.drift * 100_000 + 10,
    };
    let bounds = report.clock_bounds();
    let epoch = weather.epoch(Ns::secs(1_000_000));
    let in_time =
        |_: &&_| weather.delay < WaitLimits::of_tests().lead && weather.cut + weather.away == 0.0;
    for (interval, at) in report.put_out.iter().filter(in_time) {
        let said = epoch.plus(interval.to);
        let err = said.0.abs_diff(at.0);
        assert!(err <= may_err, "{interval:?} at {at:?}\n{}", context());
        let name = steps::name(interval.source.0 as usize / 2);
        if let Some(bound) = bounds.get(&(name, interval.step)) {
            assert!(err as f64 <= bound + 1.0, "{interval:?} at {at:?}: {bound}\n{}", context());
        }
    }
    if weather.measured && report.status == Some(Status::Complete) && report.lost.is_empty() {
        assert_eq!(bounds.len(), weather.workers * weather.steps as usize, "{}", context());
    }
    for name in &report.lost {
        let named = |event: &Event| event.code == "agent-lost" && event.text.contains(name);
        assert!(report.events().any(named), "{name}\n{}", context());
    }
    // A complete run without losses has everything of every step.
    if report.status == Some(Status::Complete) {
        assert_eq!(done, (0..weather.steps).collect(), "{}", context());
        let kept = |source: &SourceId| {
            let name = steps::name(source.0 as usize / 2);
            !report.lost.contains(&name)
        };
        let sources = (0..weather.workers as u32 * 2).map(SourceId).filter(kept);
        for (source, (step, of)) in sources.flat_map(|s| times.iter().map(move |t| (s, t))) {
            let of_both = |key: &&Key| key.0 == source && key.1 == *step;
            let mut at = of.start;
            for key in recorded.iter().filter(of_both) {
                let (_, _, from, to) = key;
                let phase = put_out.get(key).map(|(interval, _)| interval.phase);
                assert_eq!(of.phase_at(*from), phase, "{}", context());
                assert_eq!(*from, at, "a gap in step {step} of {source:?}\n{}", context());
                at = *to;
            }
            assert_eq!(at, of.end, "step {step} of {source:?} ends early\n{}", context());
        }
    }
    report
}

/// Checks many runs; how many of them were complete without a loss.
#[track_caller]
fn check_all(weather: Weather) -> u64 {
    let whole = |report: &Report| report.status == Some(Status::Complete) && report.lost.is_empty();
    (0..SEEDS).filter(|seed| whole(&check(weather, *seed))).count() as u64
}

const ROUGH: Weather = Weather {
    workers: 3,
    delay: Ns::millis(150),
    reorder: true,
    repeat: 0.1,
    skew: Ns::secs(500_000),
    within: Ns::millis(3),
    drift: 50,
    ..Weather::FAIR
};

#[test]
fn all_goes_well_in_fair_weather() {
    assert_eq!(check_all(Weather::FAIR), SEEDS);
    assert_eq!(check_all(Weather { arrays: 1, ..Weather::FAIR }), SEEDS);
}

#[test]
fn delay_reordering_repetition_and_foreign_clocks_do_no_harm() {
    assert_eq!(check_all(ROUGH), SEEDS);
    assert_eq!(check_all(Weather { arrays: 2, ..ROUGH }), SEEDS);
    let report = check(Weather { repeat: 1.0, ..ROUGH }, 1);
    let repeated = report.events().filter(|event| event.code == "messages-repeated");
    assert!(repeated.count() >= 2, "counted in every step: {report:#?}");
}

#[test]
fn clocks_that_nobody_knows_are_measured_and_the_bounds_hold() {
    let measured = Weather { measured: true, ..ROUGH };
    assert_eq!(check_all(measured), SEEDS);
    assert_eq!(check_all(Weather { arrays: 1, drift: 900, ..measured }), SEEDS);
    assert_eq!(check_all(Weather { delay: Ns::millis(1), steps: 3, ..measured }), SEEDS);
    check_all(Weather { loss: 0.02, die: 0.1, stall: 0.1, arrays: 1, ..measured });
}

/// A fleet: unknown clocks, and carriers that lose nothing but may be cut off.
const FLEET: Weather = Weather {
    measured: true,
    delay: Ns::millis(20),
    skew: Ns::secs(500_000),
    drift: 200,
    ..Weather::FAIR
};

#[test]
fn agents_that_are_cut_off_for_a_while_deliver_everything_later() {
    assert_eq!(check_all(Weather { cut: 0.5, workers: 3, ..FLEET }), SEEDS);
    check_all(Weather { cut: 0.5, die: 0.1, stall: 0.1, fail: 0.05, stop: 0.1, ..FLEET });
}

#[test]
fn a_coordinator_that_comes_back_goes_on_and_misses_nothing() {
    assert_eq!(check_all(Weather { away: 1.0, workers: 3, ..FLEET }), SEEDS);
    assert_eq!(check_all(Weather { away: 1.0, arrays: 1, steps: 3, ..FLEET }), SEEDS);
    let seen = |seed: &u64| {
        let report = check(Weather { away: 1.0, ..FLEET }, *seed);
        report.events().any(|event| event.code == "coordinator-resumed")
    };
    assert!((0..SEEDS).filter(seen).count() as u64 > SEEDS / 2);
}

/// An agent that loses its power in a step comes back as one that knows of nothing: it carries its load from some moment on, or
/// comes too late. In between its workers did nothing; the record has no gap, and nobody is lost.
#[test]
fn agents_that_lose_their_power_come_back_into_the_step() {
    let weather = Weather { power: true, ..FLEET };
    let (mut returned, mut missed) = (0, 0);
    for seed in 0..SEEDS / 4 {
        let report = SimulatedRun::run(weather, seed);
        let context = || format!("seed {seed}: {report:#?}");
        assert_eq!(report.status, Some(Status::Complete), "{}", context());
        assert!(report.lost.is_empty(), "{}", context());
        let (times, done) = report.steps();
        assert_eq!(done.len() as u32, weather.steps, "{}", context());
        let back = report.events().filter(|event| event.code == "agent-returned");
        let (late, in_time): (Vec<_>, Vec<_>) =
            back.partition(|event| event.text.contains("too late"));
        (returned, missed) = (returned + in_time.len(), missed + late.len());
        let put_out: BTreeMap<Key, &Interval> =
            report.put_out.iter().map(|(interval, _)| (key(interval), interval)).collect();
        let recorded: BTreeMap<Key, &Interval> =
            report.intervals().map(|interval| (key(interval), interval)).collect();
        assert_eq!(recorded.len(), report.intervals().count(), "twice: {}", context());
        let steps =
            times.iter().flat_map(|of| (0..weather.workers as u32 * 2).map(move |n| (n, of)));
        for (source, (step, of)) in steps {
            let mut at = of.start;
            for (key, interval) in recorded.iter().filter(|(k, _)| k.0.0 == source && k.1 == *step)
            {
                assert_eq!(interval.from, at, "a gap in step {step} of {source}: {}", context());
                assert_eq!(Some(interval.phase), of.phase_at(interval.from), "{}", context());
                assert!(put_out.contains_key(key) || interval.read.is_none(), "made up");
                at = interval.to;
            }
            assert_eq!(at, of.end, "step {step} of {source} ends early: {}", context());
        }
    }
    assert!(returned > 20 && missed > 20, "{returned}, {missed}");
}

#[test]
fn many_runs_of_a_fleet_in_all_weathers_end_and_are_true() {
    let all =
        Weather { cut: 0.2, away: 0.3, repeat: 0.05, die: 0.05, stall: 0.05, stop: 0.1, ..FLEET };
    for seed in 0..3_000 {
        check(all, seed);
    }
}

#[test]
fn the_measurement_is_brought_forward_on_foreign_clocks() {
    let weather = Weather { steady: true, steps: 1, ..ROUGH };
    let measured = Weather { measured: true, ..weather };
    for (seed, weather) in (0..200).flat_map(|seed| [(seed, weather), (seed, measured)]) {
        let report = check(weather, seed);
        assert_eq!((report.status, report.lost.len()), (Some(Status::Complete), 0), "{report:#?}");
        let (times, _) = report.steps();
        assert!(times[&0].measure.since(times[&0].start) < Ns::secs(12), "{times:?}");
        assert!(report.events().any(|event| event.code == "steady"));
    }
}

#[test]
fn a_lost_message_is_never_lost_silently() {
    let weather = Weather { loss: 0.02, ..ROUGH };
    let whole = check_all(weather);
    assert!(whole > 0 && whole < SEEDS, "{whole}");
    check_all(Weather { loss: 0.2, arrays: 1, ..ROUGH });
    check_all(Weather { loss: 1.0, ..ROUGH });
    // Who lost what is in the record, and what was awaited.
    let report = (0..SEEDS).map(|seed| check(weather, seed)).find(|r| !r.lost.is_empty());
    let report = report.expect("a loss in a step");
    let lost = report.events().find(|event| event.code == "agent-lost").expect("an event");
    let words = ["was lost; ", "waited for its"];
    assert!(words.iter().any(|word| lost.text.contains(word)), "{}", lost.text);
}

#[test]
fn agents_that_die_or_fall_silent_are_named() {
    let weather = Weather { die: 0.2, stall: 0.2, arrays: 1, ..ROUGH };
    for seed in 0..SEEDS {
        let report = check(weather, seed);
        let Some(Status::Complete) = report.status else { continue };
        // One that went down before its last step was over cannot have finished it.
        for name in &report.lost {
            assert!(report.down.contains(name), "{name}: {report:#?}");
        }
    }
}

#[test]
fn whatever_happens_the_conversation_ends_and_the_record_is_true() {
    let all = Weather {
        arrays: 1,
        steps: 3,
        loss: 0.005,
        die: 0.05,
        stall: 0.05,
        refuse: 0.05,
        fail: 0.05,
        stop: 0.2,
        ..ROUGH
    };
    check_all(all);
    check_all(Weather { steady: true, steps: 1, ..all });
    check_all(Weather { delay: Ns::secs(4), ..all });
}

#[test]
fn an_order_to_start_that_comes_late_is_an_event() {
    let slow = Weather { delay: Ns::secs(3), ..Weather::FAIR };
    let late = |seed| check(slow, seed).events().any(|event| event.code == "started-late");
    assert!((0..50).all(|seed| late(seed) || check(slow, seed).status != Some(Status::Complete)));
}

#[test]
fn a_clock_that_is_not_as_it_is_said_to_be_is_refused() {
    // Known to a millisecond, and wrong by far more: what crosses would lie outside every step.
    let weather = Weather { within: Ns::secs(1), ..Weather::FAIR };
    let honest = check(weather, 1);
    assert_eq!(honest.status, Some(Status::Complete));
    let report = SimulatedRun::run_misjudged(Weather::FAIR, 1, Ns::millis(50));
    let (name, problem) = report.unusable.expect("an agent that cannot be used");
    assert!(problem.contains("its clock is not the coordinator's"), "{name}: {problem}");
}
