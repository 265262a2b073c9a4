//! Files in which one number is absurd: no reader may panic, and no interval may run backwards.

use import::monitor::{Detected, MonitorFormat, Options, detect, read};
use std::path::Path;

/// The places of all numbers of a text.
fn numbers(text: &[u8]) -> Vec<std::ops::Range<usize>> {
    let part = |at: usize| text[at].is_ascii_digit() || text[at] == b'.';
    let mut all = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let end = (at..text.len()).find(|end| !part(*end)).unwrap_or(text.len());
        if text[at].is_ascii_digit() {
            all.push(at..end);
        }
        at = end.max(at + 1);
    }
    all
}

fn check(format: MonitorFormat, text: &[u8]) {
    let Ok(feed) = read("file", format, text, &Options::default()) else { return };
    for row in &feed.rows {
        assert!(row.from < row.to, "{format:?}: {row:?} of {}", String::from_utf8_lossy(text));
    }
}

const ABSURD: [&str; 4] = ["99999999999999999999", "4999999999999999", "0.0000000001", "0"];

#[test]
fn numbers_may_be_anything() {
    let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/monitor");
    let mut tried = 0;
    for entry in std::fs::read_dir(seeds).expect("the seeds").flatten() {
        let seed = std::fs::read(entry.path()).expect("a seed");
        // The first byte names the format to the fuzzer.
        let text = &seed[1..];
        let Detected::Is(format) = detect(text) else { continue };
        let places = numbers(text);
        let pairs =
            places.iter().enumerate().flat_map(|(n, a)| places[n..].iter().map(move |b| (a, b)));
        for (first, second) in pairs {
            for of_first in ABSURD {
                // One alone, and both.
                let seconds: &[&str] = if first == second { &[""] } else { &ABSURD };
                for of_second in seconds {
                    let (between, behind) = match first == second {
                        true => (&[][..], &text[first.end..]),
                        false => (&text[first.end..second.start], &text[second.end..]),
                    };
                    let (a, b) = (of_first.as_bytes(), of_second.as_bytes());
                    check(format, &[&text[..first.start], a, between, b, behind].concat());
                    tried += 1;
                }
            }
        }
    }
    assert!(tried > 10_000, "only {tried} texts were tried");
}
