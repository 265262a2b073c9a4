//! Every parser of quantities on any text: none panics, and what is printed exactly is read back exactly.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::time::Duration;
use units::{ByteRate, Bytes, Iops, Percent, parse_duration};

/// Above it neighbouring whole numbers share one `f64`, through which the parser goes.
const EXACT_MAX: u64 = 1 << 53;

fuzz_target!(|text: &str| {
    if let Ok(size) = Bytes::parse(text) {
        let read_back = Bytes::parse(&size.to_string());
        assert!(size.0 > EXACT_MAX || read_back == Ok(size), "{size} read back as {read_back:?}");
    }
    if let Ok(ByteRate(rate)) = ByteRate::parse(text) {
        assert!(rate.is_finite() && rate >= 0.0, "a data rate of {rate}");
        print(&units::rate(rate));
    }
    if let Ok(Iops(rate)) = Iops::parse(text) {
        assert!(rate.is_finite() && rate >= 0.0, "{rate} operations a second");
        print(&Iops(rate).to_string());
    }
    if let Ok(Percent(share)) = Percent::parse(text) {
        assert!((0.0..=100.0).contains(&share), "a share of {share}%");
        print(&units::percent(share));
    }
    if let Ok(span) = parse_duration(text) {
        assert!(span <= Duration::from_nanos(i64::MAX as u64), "a duration of {span:?}");
        print(&units::duration(span));
    }
});

/// A printed quantity ends in its unit, never in a bare number.
#[track_caller]
fn print(text: &str) {
    assert!(!text.ends_with(|c: char| c.is_ascii_digit()), "`{text}` has no unit");
}
