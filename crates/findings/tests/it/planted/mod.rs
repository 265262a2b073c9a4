//! Attribution names what was planted in simulated labs. `make attribution` tries a thousand; the tests here a few.

mod blueprint;
mod fit;
mod lab;
mod score;
mod trial;
mod write;

use blueprint::{Blueprint, PLANTED, Planted};
use findings::attribution::Attribution;
use score::Score;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use write::Recorded;

/// Labs of `make attribution`, half of fixed seeds and half of fresh ones.
const LABS: usize = 1_000;
/// The first seed of the fixed labs, and of those that weights are fitted on.
const FIXED: u64 = 1_000_000;
const FITTED: u64 = 5_000_000;
/// At least this part of the answers is right, and this much more than of "highest utilization wins".
const RIGHT: f64 = 0.95;
const BETTER: f64 = 0.20;

/// The record of a confirmed lab, with the directory that it lives in.
fn recorded(seed: u64, planted: Planted) -> (Blueprint, tempfile::TempDir, record::Record) {
    let (of, lab, seen) = trial::confirmed(seed, planted);
    let less = of.style.neighbour.then(|| trial::quarter(&of));
    let mut steps: Vec<Recorded<'_>> =
        less.iter().map(|(lab, seen)| Recorded { lab, seen }).collect();
    steps.push(Recorded { lab: &lab, seen: &seen });
    let (dir, record) = write::record(&of, &steps);
    (of, dir, record)
}

/// What is said of the last step of a lab.
fn attributed(seed: u64, planted: Planted) -> (Blueprint, Attribution) {
    let (of, _dir, record) = recorded(seed, planted);
    let mut analysis = findings::analyse(&record).expect("the record is analysed");
    let last = analysis.steps.pop().expect("a step");
    (of, last.attribution.expect("a storage step is attributed"))
}

/// Kinds in turn, so that each is met equally often.
fn planted(n: usize) -> Planted {
    PLANTED[n % PLANTED.len()]
}

/// What `work` makes of each of so many labs, in their order, on all processors.
fn each<T: Send>(labs: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= labs {
                        return;
                    }
                    let made = work(n);
                    done.lock().expect("no thread panics").push((n, made));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("no thread panics");
    done.sort_by_key(|(n, _)| *n);
    done.into_iter().map(|(_, made)| made).collect()
}

fn score(labs: usize, seed: impl Fn(usize) -> u64 + Sync) -> Score {
    let found = each(labs, |n| (seed(n), attributed(seed(n), planted(n))));
    let mut score = Score::default();
    found.iter().for_each(|(seed, (of, attribution))| score.add(*seed, of, attribution));
    score
}

#[test]
fn what_is_planted_in_a_few_labs_is_found() {
    let score = score(2 * PLANTED.len(), |n| FIXED + n as u64);
    score.wrong.iter().for_each(|wrong| println!("{wrong}"));
    assert!(score.accuracy() >= RIGHT - 0.02, "{} of the answers are right", score.accuracy());
    assert_eq!(score.sure_and_wrong(), 0);
}

/// `make attribution`.
#[test]
#[ignore = "minutes: make attribution"]
fn what_is_planted_in_a_thousand_labs_is_found() {
    let fresh = std::env::var("ATTRIBUTION_SEED").ok().and_then(|seed| seed.parse().ok());
    let fresh: u64 = fresh.unwrap_or_else(|| clock::now().0 >> 10);
    println!("fresh seeds from {fresh}: ATTRIBUTION_SEED={fresh} make attribution repeats them\n");
    let half = LABS / 2;
    let seed = |n: usize| if n < half { FIXED + n as u64 } else { fresh + n as u64 };
    let score = score(LABS, seed);
    score.print();
    println!();
    score.wrong.iter().for_each(|wrong| println!("wrong: {wrong}"));
    assert!(score.accuracy() >= RIGHT, "{} of the answers are right", score.accuracy());
    assert!(score.accuracy() - score.naive() >= BETTER, "no better than {}", score.naive());
    assert_eq!(score.sure_and_wrong(), 0, "an answer was sure, and wrong");
}
