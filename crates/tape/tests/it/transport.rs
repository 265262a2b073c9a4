//! Streaming, and what a drive does that is fed too slowly, against closed forms.

use clock::Ns;
use tape::{Generation, Pace, Transport};

fn lto4() -> (Transport, &'static Generation) {
    let generation = Generation::named("LTO-4").expect("a generation");
    (Transport::new(generation, None), generation)
}

/// Writes at a steady rate for some time; the moment at which the last write had room, and the backhitches.
fn feed(rate: u64, seconds: u64) -> (f64, u64) {
    let (mut transport, _) = lto4();
    let piece = 1 << 20;
    let pieces = rate * seconds / piece;
    let (mut now, mut done) = (Ns::ZERO, Ns::ZERO);
    for number in 0..pieces {
        let due = Ns((number as f64 * piece as f64 / rate as f64 * 1e9) as u64);
        // A host that waits for room is late from then on.
        now = due.max(done);
        done = transport.write(now, piece);
    }
    (now.max(done).as_secs_f64(), transport.backhitches())
}

#[test]
fn a_host_within_the_range_of_rates_streams() {
    for rate in [41_000_000, 80_000_000, 119_000_000] {
        let (took, backhitches) = feed(rate, 60);
        assert_eq!(backhitches, 0, "{rate}");
        assert!((took - 60.0).abs() < 0.2, "{rate}: {took} s");
    }
}

#[test]
fn a_faster_host_is_held_to_the_native_rate() {
    // 240 MB/s for 20 s is 4800 MB: the buffer takes 268 MB of them, 120 MB/s the rest; the tape starts with half a buffer.
    let (took, backhitches) = feed(240_000_000, 20);
    let expected = (4800.0 - 268.4) / 120.0 + 134.2 / 240.0;
    assert!((took - expected).abs() < 0.1, "{took} s, expected {expected} s");
    assert_eq!(backhitches, 0);
}

#[test]
fn a_slower_host_makes_it_stop_and_start() {
    // At 10 MB/s half a buffer (134.2 MB) is full after 13.42 s, and empties at 40 - 10 MB/s in 4.47 s: one backhitch in 17.9 s.
    let (took, backhitches) = feed(10_000_000, 600);
    assert!((took - 600.0).abs() < 0.5, "the host does not notice: {took} s");
    let expected = 600.0 / (134.2 / 10.0 + 134.2 / 30.0);
    assert!((backhitches as f64 - expected).abs() <= 2.0, "{backhitches}, expected {expected}");
}

#[test]
fn a_flush_waits_until_the_buffer_is_empty() {
    let (mut transport, _) = lto4();
    let wrote = transport.write(Ns::secs(1), 120_000_000);
    assert_eq!(wrote, Ns::secs(1), "there is room");
    let flushed = transport.flush(Ns::secs(1));
    assert!((flushed.as_secs_f64() - 2.0).abs() < 1e-6, "120 MB at 120 MB/s: {flushed:?}");
    assert_eq!(transport.flush(Ns::secs(9)), Ns::secs(9), "nothing is left");
    assert_eq!(transport.backhitches(), 0, "a flush is asked for");
}

/// A virtual tape: whoever feeds it, and however often it is flushed, so many bytes take so long.
#[test]
fn an_even_tape_never_stops() {
    let generation = Generation::named("LTO-6").expect("a generation");
    for (piece, pause) in [(1_000_000, 0), (250_000, 3), (10_000_000, 0)] {
        let mut transport = Transport::paced(generation, Pace::Even(50_000_000));
        let mut now = Ns::secs(1);
        for number in 0..100_000_000 / piece {
            now = transport.write(now.plus(Ns::millis(pause)), piece);
            if number % 7 == 0 {
                now = transport.flush(now);
            }
        }
        let took = transport.flush(now).since(Ns::secs(1)).as_secs_f64();
        // What comes while the tape moves waits in the buffer; after a flush nothing is there for one pause.
        let idle = 1e-3 * pause as f64 * (1.0 + (100_000_000.0 / piece as f64 / 7.0).ceil());
        assert!((2.0 - 1e-6..=2.0 + idle + 1e-6).contains(&took), "{piece}: {took} s");
        assert_eq!(transport.backhitches(), 0);
    }
}
