//! Both ends of the carrier without a server: a network that delays, repeats, reorders, damages and loses parts, and a
//! receiver that dies and comes back with what it has kept. Every message arrives once and in order.

use bytes::Bytes;
use clock::Rng;
use nats::spool::{Room, Spool};
use nats::wire::{Assembler, PART_MAX, Taken, part, parts};

/// Runs, each with its own seed.
const SEEDS: u64 = 800;
/// Messages of a run.
const MESSAGES: u64 = 30;
/// Turns after which a run is held for endless.
const TURNS: u64 = 20_000;

#[derive(Clone, Copy, Debug)]
struct Faults {
    lose: f64,
    repeat: f64,
    damage: f64,
    die: f64,
}

fn message(number: u64, seed: u64) -> Bytes {
    let mut rng = Rng::keyed(seed, &[number]);
    // A few are longer than one part.
    let len = if rng.chance(0.002) { PART_MAX + 7 } else { rng.below(200) as usize };
    let mut bytes = vec![number as u8; len];
    bytes.extend_from_slice(&number.to_be_bytes());
    Bytes::from(bytes)
}

fn check(faults: Faults, seed: u64) {
    let mut rng = Rng::keyed(seed, &[1]);
    let room = Room { memory: 64 << 20, disk: 0, dir: std::env::temp_dir() };
    let mut spool = Spool::new(room, "unused");
    let (mut said, mut cursor) = (0, 0);
    let (mut assembler, mut kept) = (Assembler::default(), 0);
    let mut way: Vec<Bytes> = Vec::new();
    let mut arrived: Vec<(u64, Vec<u8>)> = Vec::new();
    for turn in 0.. {
        assert!(turn < TURNS, "seed {seed} of {faults:?} does not end at {kept}");
        if kept == MESSAGES {
            break;
        }
        if said < MESSAGES && rng.chance(0.5) {
            spool.push(said, message(said, seed)).expect("room");
            said += 1;
        }
        if let Some((number, bytes)) = spool.from(cursor).expect("memory") {
            for bytes in parts(number, &bytes) {
                let copies = if rng.chance(faults.repeat) { 2 } else { 1 };
                for _ in 0..copies {
                    let mut bytes = bytes.to_vec();
                    if rng.chance(faults.lose) {
                        continue;
                    }
                    if rng.chance(faults.damage) {
                        let at = rng.below(bytes.len() as u64) as usize;
                        bytes[at] ^= 1 << rng.below(8);
                    }
                    way.push(Bytes::from(bytes));
                }
            }
            cursor = number + 1;
        }
        // Any part that is on its way may be the next to arrive.
        if !way.is_empty() && rng.chance(0.7) {
            let bytes = way.swap_remove(rng.below(way.len() as u64) as usize);
            if let Some(part) = part(&bytes) {
                // What is asked for again may have been on its way: then it comes twice, in any weather.
                assert_ne!(assembler.take(part), Taken::NoRoom);
            }
            while let Some(message) = assembler.pop() {
                arrived.push(message);
            }
        }
        // Now and then the receiver says what it has for good, and asks again for what it waits for.
        if rng.chance(0.2) {
            kept = arrived.len() as u64;
            spool.kept(kept);
        }
        if rng.chance(0.02) || (way.is_empty() && said == MESSAGES) {
            cursor = cursor.min(assembler.next());
        }
        // It dies: what it had not kept is gone, and so is what it held.
        if rng.chance(faults.die) {
            arrived.truncate(kept as usize);
            assembler = Assembler::starting_at(kept);
            cursor = cursor.min(kept);
        }
    }
    let expected: Vec<(u64, Vec<u8>)> =
        (0..MESSAGES).map(|number| (number, message(number, seed).to_vec())).collect();
    assert!(arrived == expected, "seed {seed} of {faults:?}");
    assert_eq!(spool.from(0).expect("memory"), None, "all that is kept is forgotten");
}

#[test]
fn every_message_arrives_once_and_in_order() {
    let calm = Faults { lose: 0.0, repeat: 0.0, damage: 0.0, die: 0.0 };
    for seed in 0..SEEDS {
        check(calm, seed);
        check(Faults { repeat: 0.2, ..calm }, seed);
        check(Faults { damage: 0.05, die: 0.01, ..calm }, seed);
        check(Faults { lose: 0.2, repeat: 0.1, damage: 0.05, die: 0.01 }, seed);
    }
}
