//! Quantities as a table: what is parsed, printed and refused, with the exact messages.

use proptest::prelude::*;
use std::time::Duration;
use units::{ByteRate, Bytes, Iops, Percent, parse_duration};

#[track_caller]
fn bytes(text: &str, expected: u64) {
    assert_eq!(Bytes::parse(text), Ok(Bytes(expected)), "{text}");
}

#[track_caller]
fn rate(text: &str, expected: f64) {
    assert!((ByteRate::parse(text).unwrap().0 - expected).abs() < 1e-6, "{text}");
}

#[track_caller]
fn refused<T: std::fmt::Debug>(result: Result<T, units::UnitError>, expected: &str) {
    assert_eq!(result.unwrap_err().to_string(), expected);
}

#[test]
fn sizes() {
    bytes("512B", 512);
    bytes("8KiB", 8192);
    bytes("8 KiB", 8192);
    bytes(" 1.5KiB ", 1536);
    bytes("1MB", 1_000_000);
    bytes("64GiB", 64 << 30);
    bytes("1_000 B", 1000);
    bytes("0B", 0);
}

#[test]
fn rates_keep_bits_bytes_and_powers_apart() {
    rate("800 MB/s", 800e6);
    rate("788.2 MiB/s", 788.2 * 1048576.0);
    rate("13,674 Mb/s", 13674.0 * 125e3);
    rate("10Gb/s", 1.25e9);
}

#[test]
fn operations_and_shares() {
    assert_eq!(Iops::parse("60k IOPS"), Ok(Iops(60000.0)));
    assert_eq!(Iops::parse("5000/s"), Ok(Iops(5000.0)));
    assert_eq!(Percent::parse("0.3 %"), Ok(Percent(0.3)));
}

#[test]
fn durations() {
    assert_eq!(parse_duration("250 ms"), Ok(Duration::from_millis(250)));
    assert_eq!(parse_duration("1h30m"), Ok(Duration::from_secs(5400)));
    assert_eq!(parse_duration("1.5s"), Ok(Duration::from_millis(1500)));
    assert_eq!(parse_duration("100us"), Ok(Duration::from_micros(100)));
}

#[test]
fn refusals_give_a_valid_example() {
    refused(Bytes::parse("4"), "`4` has no unit; a size needs one, as in `8KiB`");
    refused(
        Bytes::parse("4 kib"),
        "`kib` is not a unit of a size; expected B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024)",
    );
    refused(
        Bytes::parse("0.3B"),
        "`0.3B` is out of range for a size: it must be a whole number of bytes below 2^63",
    );
    refused(
        Bytes::parse("99999PiB"),
        "`99999PiB` is out of range for a size: it must be a whole number of bytes below 2^63",
    );
    refused(
        Percent::parse("101%"),
        "`101%` is out of range for a share: a share is between 0% and 100%",
    );
    refused(
        parse_duration("soon"),
        "`soon` is not a duration; expected a number and a unit, as in `10s`",
    );
    refused(
        ByteRate::parse("-1 MB/s"),
        "`-1 MB/s` is not a data rate; expected a number and a unit, as in `800 MB/s`",
    );
    refused(parse_duration(""), "`` is not a duration; expected a number and a unit, as in `10s`");
}

#[test]
fn a_finite_number_may_overflow_when_it_is_scaled() {
    let text = format!("{} M IOPS", "9".repeat(308));
    refused(
        Iops::parse(&text),
        &format!("`{text}` is out of range for a rate of operations: it must be finite"),
    );
}

#[test]
fn printing() {
    assert_eq!(Bytes(8192).to_string(), "8KiB");
    assert_eq!(Bytes(1_000_000).to_string(), "1MB");
    assert_eq!(Bytes(1025).to_string(), "1025B");
    assert_eq!(units::rate(397_000_000.0), "397 MB/s");
    assert_eq!(units::rate(3_970_000.0), "3.97 MB/s");
    assert_eq!(units::count(61234.4), "61,234");
    assert_eq!(units::count(999.7), "1,000");
    assert_eq!(units::count(0.0), "0");
    assert_eq!(units::duration(Duration::from_nanos(412)), "412 ns");
    assert_eq!(units::duration(Duration::from_micros(26_040)), "26.0 ms");
    assert_eq!(units::duration(Duration::from_secs(125)), "2 min 5 s");
    assert_eq!(units::percent(0.312), "0.31%");
    assert_eq!(units::binary_bytes(25_200_000_000), "23.5 GiB");
}

proptest! {
    #[test]
    fn a_printed_size_reads_back_exactly(n in 0u64..(1 << 53)) {
        prop_assert_eq!(Bytes::parse(&Bytes(n).to_string()), Ok(Bytes(n)));
    }

    #[test]
    fn no_text_panics(text in ".{0,24}") {
        let _ = (Bytes::parse(&text), ByteRate::parse(&text), Iops::parse(&text), Percent::parse(&text));
        let _ = parse_duration(&text);
    }
}
