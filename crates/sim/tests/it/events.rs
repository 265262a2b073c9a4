//! Pending events are removed in the order of (time, station, sequence), whatever is inserted in between.

use proptest::prelude::*;
use sim::Ps;
use sim::engine::{EventKey, EventQueue, SimEvent, end_of};

#[derive(Clone, Copy, Debug)]
enum Act {
    /// Into a lane, or into the heap.
    Push(u64, u32, u8),
    Pop(u64),
    /// All events of a station.
    Remove(u32),
}

fn act() -> impl Strategy<Value = Act> {
    // Few times and stations, so that many events coincide.
    prop_oneof![
        3 => (0u64..20, 0u32..3, 0u8..5).prop_map(|(time, place, lane)| Act::Push(time, place, lane)),
        2 => (0u64..25).prop_map(Act::Pop),
        1 => (0u32..3).prop_map(Act::Remove),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: proptest::test_runner::RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn as_a_sorted_list(acts in proptest::collection::vec(act(), 0..400)) {
        let mut pending = EventQueue::with_capacity(8);
        let mut sorted: Vec<SimEvent> = Vec::new();
        for (sequence, act) in (0..).zip(acts) {
            match act {
                Act::Push(time, place, lane) => {
                    let event = SimEvent::new(Ps(time), place, sequence, sequence as u32);
                    pending.push_on(lane, event);
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
