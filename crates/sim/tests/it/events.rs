//! Pending events are removed in the order of (time, station, sequence), whatever is inserted in between.

use proptest::prelude::*;
use sim::Ps;
use sim::engine::{EventKey, EventQueue, SimEvent, end_of};

#[derive(Clone, Copy, Debug)]
enum Act {
    Push(u64, u32),
    Pop(u64),
    /// All events of a station.
    Remove(u32),
}

fn act() -> impl Strategy<Value = Act> {
    // Few stations and short times, so that many events coincide, and times of all lengths.
    let time = prop_oneof![3 => 0u64..20, 2 => (0u64..50, 0u32..58).prop_map(|(n, by)| n << by)];
    prop_oneof![
        60 => (time.clone(), 0u32..3).prop_map(|(time, place)| Act::Push(time, place)),
        40 => time.prop_map(Act::Pop),
        1 => (0u32..3).prop_map(Act::Remove),
    ]
}

/// As the queue follows their pace, events that each cause one or two others up to `ahead` times `gap` later, and a few of them ten times as late.
fn moving(gap: &[u64], ahead: u64, most: usize) {
    let mut rng = clock::Rng::keyed(gap[0], &[ahead]);
    let mut pending = EventQueue::with_capacity(most);
    let mut sorted = std::collections::BTreeMap::new();
    let (mut now, mut sequence) = (0, 0);
    for gap in gap {
        for _ in 0..20_000 {
            let more = if sorted.len() < most / 2 { 2 } else { 1 + u64::from(rng.chance(0.1)) };
            for _ in 0..more.min((most - sorted.len()) as u64) {
                let span = rng.below(ahead) * gap * (1 + 9 * u64::from(rng.chance(0.01)));
                let event = SimEvent::new(Ps(now + span), rng.below(5) as u32, sequence, 7);
                pending.push(event);
                sorted.insert(event.key(), event);
                sequence += 1;
            }
            let first = sorted.pop_first().unwrap().1;
            assert_eq!(pending.pop_before(first.key()), None);
            assert_eq!(pending.pop_before(EventKey::MAX), Some(first));
            now = first.time.0;
            pending.tune(first.time);
        }
        assert_eq!(pending.len(), sorted.len());
        let mut all: Vec<EventKey> = pending.iter().map(|event| event.key()).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(sorted.keys().copied()));
    }
}

#[test]
fn at_any_pace() {
    moving(&[1_000, 1_000_000, 3, 50_000], 100, 64);
    moving(&[1_000, 1_000_000_000, 7], 1_000, 2_000);
    moving(&[1_000, 0, 10], 1_000_000, 500);
    moving(&[40], 3, 10);
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn as_a_sorted_list(acts in proptest::collection::vec(act(), 0..600)) {
        let mut pending = EventQueue::with_capacity(600);
        let mut sorted: Vec<SimEvent> = Vec::new();
        for (sequence, act) in (0..).zip(acts) {
            match act {
                Act::Push(time, place) => {
                    let event = SimEvent::new(Ps(time), place, sequence, sequence as u32);
                    pending.push(event);
                    sorted.push(event);
                    sorted.sort_by_key(SimEvent::key);
                }
                Act::Remove(place) => {
                    pending.remove(|event| event.place() == place);
                    sorted.retain(|event| event.place() != place);
                }
                Act::Pop(until) => {
                    let due = sorted.first().is_some_and(|first| first.time <= Ps(until));
                    let expected = due.then(|| sorted.remove(0));
                    prop_assert_eq!(pending.pop_before(end_of(Ps(until))), expected);
                }
            }
            prop_assert_eq!(pending.len(), sorted.len());
            prop_assert_eq!(pending.is_empty(), sorted.is_empty());
        }
        let rest: Vec<SimEvent> = std::iter::from_fn(|| pending.pop_before(EventKey::MAX)).collect();
        prop_assert_eq!(rest, sorted);
    }
}

#[test]
fn a_key_orders_time_before_station_before_sequence() {
    let key = |time, place, sequence| SimEvent::new(Ps(time), place, sequence, 0).key();
    let ordered = [key(1, 9, 9), key(2, 0, 9), key(2, 1, 0), key(2, 1, 1), key(3, 0, 0)];
    assert!(ordered.is_sorted());
    assert!(key(2, (1 << 20) - 1, (1 << 44) - 1) < end_of(Ps(2)));
    assert!(end_of(Ps(2)) <= key(3, 0, 0));
    assert_eq!(SimEvent::new(Ps(1), 77, 5, 8).place(), 77);
}
