//! Histograms: a percentile of merged ones is the percentile of all, and bytes are not believed.

use clock::{Ns, Rng};
use proptest::prelude::*;
use record::{Completed, Histogram, Interval, Phase, SourceId};

fn of(values: &[u64]) -> Histogram {
    let mut histogram = Histogram::new();
    for value in values {
        histogram.record(Ns(*value));
    }
    histogram
}

/// The value at a percentile of a sorted list, by rank.
fn exact(sorted: &[u64], p: f64) -> u64 {
    let rank = (sorted.len() as f64 * p / 100.0).ceil().max(1.0) as usize;
    sorted[rank.min(sorted.len()) - 1]
}

/// Asserts that `read` is `exact` to so many digits: rounded up within a bin with three, to its middle with two.
#[track_caller]
fn check(read: Option<Ns>, exact: u64, digits: u8) {
    let read = read.expect("a value").0;
    let off = (exact as f64 / 10f64.powi(digits.into())).max(1.0);
    assert!(read.abs_diff(exact) as f64 <= off, "{read} for {exact}");
    assert!(digits == 2 || read >= exact, "{read} for {exact}");
}

fn latencies() -> impl Strategy<Value = Vec<u64>> {
    // From nanoseconds to an hour, evenly over the orders of magnitude.
    prop::collection::vec((0.0..12.5f64).prop_map(|e| 10f64.powf(e) as u64), 1..300)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn merged_percentiles_are_those_of_all_values(
        parts in prop::collection::vec(latencies(), 1..5),
        p in 0.0..=100.0f64,
    ) {
        let mut all: Vec<u64> = parts.concat();
        all.sort_unstable();
        let (mut fine, mut coarse) = (Histogram::new(), Histogram::new().to_two_digits());
        for part in &parts {
            fine.merge(&of(part));
            coarse.merge(&of(part).to_two_digits());
        }
        prop_assert_eq!(&fine, &of(&all));
        prop_assert_eq!(&coarse, &of(&all).to_two_digits());
        for p in [0.1, 50.0, 99.0, 99.9, 100.0, p.max(0.1)] {
            check(fine.percentile(p), exact(&all, p), 3);
            check(coarse.percentile(p), exact(&all, p), 2);
        }
    }

    #[test]
    fn coarse_ones_merged_into_fine_ones_keep_their_percentiles(
        values in latencies(), p in 0.1..=100.0f64,
    ) {
        let coarse = of(&values).to_two_digits();
        let mut fine = Histogram::new();
        fine.merge(&coarse);
        prop_assert_eq!(fine.percentile(p), coarse.percentile(p));
        prop_assert_eq!(fine.count(), coarse.count());
    }

    #[test]
    fn bytes_come_back(values in latencies()) {
        for histogram in [of(&values), of(&values).to_two_digits()] {
            prop_assert_eq!(&Histogram::from_bytes(&histogram.to_bytes()).unwrap(), &histogram);
        }
    }

    #[test]
    fn any_bytes_are_an_error_or_a_histogram(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Histogram::from_bytes(&bytes);
    }

    #[test]
    fn changed_bytes_are_an_error(values in latencies(), at: prop::sample::Index, flip in 1..=255u8) {
        let mut bytes = of(&values).to_bytes();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        // The zlib stream carries a checksum; three bits of its header alone decide nothing.
        if let Ok(histogram) = Histogram::from_bytes(&bytes) {
            prop_assert_eq!(histogram, of(&values));
        }
    }

    #[test]
    fn whatever_is_inside_is_an_error_or_a_histogram_that_can_be_used(
        deflated: bool, total in 0..128u8, counts in prop::collection::vec(any::<u8>(), 0..400),
    ) {
        let bytes = match deflated {
            true => deflated_of(&inner(3, 1, HOUR, &counts)),
            false => [&[2, total, 0][..], &counts].concat(),
        };
        if let Ok(histogram) = Histogram::from_bytes(&bytes) {
            let mut merged = of(&[1, 1_000_000]);
            merged.merge(&histogram);
            merged.merge(&merged.clone());
            let _ = (merged.percentile(99.0), merged.min(), merged.max(), merged.mean());
            let _ = (histogram.counts().count(), histogram.to_two_digits().to_bytes());
        }
    }
}

const HOUR: u64 = 3_600_000_000_000;

/// The inner form of a histogram by hand.
fn inner(digits: u32, low: u64, high: u64, counts: &[u8]) -> Vec<u8> {
    let mut bytes = 0x1c84_9313u32.to_be_bytes().to_vec();
    bytes.extend((counts.len() as u32).to_be_bytes());
    bytes.extend(0u32.to_be_bytes());
    bytes.extend(digits.to_be_bytes());
    bytes.extend(low.to_be_bytes());
    bytes.extend(high.to_be_bytes());
    bytes.extend(1f64.to_be_bytes());
    bytes.extend(counts);
    bytes
}

/// Deflated, as in a record.
fn deflated_of(inner: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut zlib = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    zlib.write_all(inner).expect("memory");
    let stream = zlib.finish().expect("memory");
    let mut bytes = 0x1c84_9314u32.to_be_bytes().to_vec();
    bytes.extend((stream.len() as u32).to_be_bytes());
    bytes.extend(stream);
    bytes
}

#[track_caller]
fn refused(bytes: &[u8], part: &str) {
    let message = Histogram::from_bytes(bytes).expect_err("an error").to_string();
    assert!(message.contains(part), "{message:?} does not say {part:?}");
}

#[test]
fn bytes_by_hand_are_read() {
    // Count 3 at 1 ns: zero at index 0, then zigzag(3).
    let histogram =
        Histogram::from_bytes(&deflated_of(&inner(3, 1, HOUR, &[0, 6]))).expect("three");
    assert_eq!((histogram.count(), histogram.max()), (3, Some(Ns(1))));
    assert_eq!(histogram.digits(), 3);
    // Two digits: 3 in all, from bin 1 on: no gap (a zero), 3 - 1 as two ones and a zero.
    let histogram = Histogram::from_bytes(&[2, 3, 1, 0b0110_0000]).expect("three");
    assert_eq!(histogram.counts().collect::<Vec<_>>(), [(Ns(1), 3)]);
    assert_eq!(histogram.digits(), 2);
}

#[test]
fn hostile_bytes_are_refused() {
    refused(b"", "cookie");
    refused(&0x1c84_9313u32.to_be_bytes(), "cookie");
    refused(&0x1c84_9314u32.to_be_bytes(), "length");
    refused(&[0x1c, 0x84, 0x93, 0x14, 0, 0, 0, 0], "inflate");
    refused(&deflated_of(b"something else"), "inside");
    refused(&deflated_of(&inner(5, 1, HOUR, &[])), "digits");
    refused(&deflated_of(&inner(0, 1, HOUR, &[])), "digits");
    refused(&deflated_of(&inner(3, 1, u64::MAX, &[])), "range");
    refused(&deflated_of(&inner(3, 1 << 40, HOUR, &[])), "range");
    refused(&deflated_of(&inner(3, 0, HOUR, &[])), "range");
    // The longest number of all, whose negation overflows.
    refused(&deflated_of(&inner(3, 1, HOUR, &[0xff; 9])), "32 bits");
    refused(&deflated_of(&inner(3, 1, HOUR, &[0x80, 0x80, 0x80, 0x80, 0x7f])), "count");
    let mut claims_more = inner(3, 1, HOUR, &[0, 6]);
    claims_more[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    refused(&deflated_of(&claims_more), "length of its counts");
    let mut shifted = inner(3, 1, HOUR, &[0, 6]);
    shifted[11] = 1;
    refused(&deflated_of(&shifted), "shifted");
    refused(&deflated_of(&inner(3, 1, HOUR, &[2; 40_000])), "range");
    refused(&deflated_of(&inner(3, 1, HOUR, &[0xff, 0xff, 0xff, 0xff, 0x0f, 2])), "range");
    refused(&deflated_of(&inner(3, 1, HOUR, &[6, 0x86])), "cut off");
}

#[test]
fn hostile_bytes_of_two_digits_are_refused() {
    refused(&[2], "cut off");
    refused(&[2, 3], "cut off");
    refused(&[2, 3, 1], "cut off");
    refused(&[2, 3, 1, 0b0111_1111], "cut off");
    refused(&[2, 2, 1, 0b0110_0000], "add up");
    refused(&[2, 3, 1, 0b0110_0001], "follows");
    refused(&[2, 3, 1, 0b0110_0000, 0], "follows");
    refused(&[2, 3, 0xff, 0x7f, 0b0110_0000], "range");
    refused(&[2, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1], "cut off");
    // A count of which it is said that it has 63 bits, and one that has 34.
    refused(&[2, 3, 1, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff], "cut off");
    refused(&[2, 3, 1, 0x7f, 0xff, 0xfc, 0x5f, 0xff, 0xff, 0xff, 0xff], "32 bits");
    // A bin beyond an hour, reached by a gap.
    refused(&[2, 3, 1, 0xff, 0xff, 0xf3, 0x3f, 0xfc], "range");
}

#[test]
fn two_digits_come_back_whatever_their_shape() {
    let mut rng = Rng::keyed(8, &[]);
    let mut shapes: Vec<Histogram> = vec![of(&[]), of(&[0]), of(&[HOUR]), of(&[1, HOUR])];
    for spread in [0.0, 0.01, 0.5, 3.0] {
        for ops in [1, 10, 1000, 100_000] {
            let latency = |_| (2e5 * (spread * 8.0 * (rng.unit() - 0.5)).exp()) as u64;
            shapes.push(of(&(0..ops).map(latency).collect::<Vec<_>>()));
        }
    }
    // As of a device with two speeds, and of one that never hesitates: some bins full, their neighbours empty.
    let mut spikes = of(&[70, 90, 100_000, 100_000, 9_000_000]);
    for _ in 0..31 {
        spikes.merge(&spikes.clone());
        shapes.push(spikes.clone());
    }
    for shape in shapes {
        let coarse = shape.to_two_digits();
        let bytes = coarse.to_bytes();
        let back = Histogram::from_bytes(&bytes).unwrap_or_else(|e| panic!("{e}: {bytes:?}"));
        assert_eq!(back, coarse);
        assert_eq!(back.count(), coarse.count());
        for cut in 0..bytes.len() {
            Histogram::from_bytes(&bytes[..cut]).expect_err("a histogram that is cut off");
        }
    }
}

#[test]
fn the_library_of_hdrhistogram_reads_three_digits_and_agrees() {
    use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};
    let mut rng = Rng::keyed(6, &[]);
    let values: Vec<u64> = (0..20_001).map(|_| 2f64.powf(41.0 * rng.unit()) as u64).collect();
    let ours = of(&values);
    let theirs: hdrhistogram::Histogram<u32> =
        Deserializer::new().deserialize(&mut &ours.to_bytes()[..]).expect("our bytes");
    assert_eq!(theirs.len(), ours.count());
    for p in [0.0, 1.0, 50.0, 99.0, 99.9, 100.0] {
        assert_eq!(ours.percentile(p), Some(Ns(theirs.value_at_percentile(p))), "{p}");
    }
    assert_eq!((ours.min(), ours.max()), (Some(Ns(theirs.min())), Some(Ns(theirs.max()))));
    let off = ours.mean().expect("a mean").0 as f64 / theirs.mean() - 1.0;
    assert!(off.abs() < 1e-9, "{off}");
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&theirs, &mut bytes).expect("memory");
    assert_eq!(Histogram::from_bytes(&bytes).expect("their bytes"), ours);
}

#[test]
fn a_reserved_histogram_is_any_other() {
    let mut reserved = Histogram::reserved();
    assert_eq!(reserved, Histogram::new());
    for round in 0..3 {
        let values: Vec<u64> = (0..42).rev().map(|e| (1 << e) + round).collect();
        values.iter().for_each(|v| reserved.record(Ns(*v)));
        assert_eq!(reserved, of(&values));
        reserved.clear();
        assert_eq!(reserved, Histogram::new());
    }
}

#[test]
fn a_bomb_is_not_inflated() {
    let bomb = deflated_of(&vec![0; 50_000_000]);
    assert!(bomb.len() < 100_000);
    refused(&bomb, "inflate to more than");
}

#[test]
fn the_largest_histogram_comes_back() {
    let mut rng = Rng::keyed(5, &[]);
    let mut histogram = Histogram::new();
    // Every bin in use, and each with a count that takes five bytes.
    for (value, _) in of(&(0..42).map(|e| 1u64 << e).collect::<Vec<_>>()).counts() {
        histogram.record(value);
    }
    for _ in 0..500_000 {
        histogram.record(Ns(2f64.powf(41.7 * rng.unit()) as u64));
    }
    for _ in 0..14 {
        histogram.merge(&histogram.clone());
    }
    assert_eq!(Histogram::from_bytes(&histogram.to_bytes()).expect("bytes"), histogram);
}

#[test]
fn the_ends_of_the_range() {
    for (value, counted) in [(0, 1), (1, 1), (HOUR, HOUR), (HOUR + 1, HOUR), (u64::MAX, HOUR)] {
        let histogram = of(&[value]);
        for read in [histogram.percentile(50.0), histogram.max(), histogram.percentile(100.0)] {
            check(read, counted, 3);
            assert!(read <= Some(Ns(HOUR)));
        }
        assert_eq!(histogram.counts().collect::<Vec<_>>().len(), 1);
    }
}

#[test]
fn odd_percentiles_have_answers() {
    let histogram = of(&[10, 20, 30]);
    for (p, value) in [(-5.0, 10), (0.0, 10), (f64::NAN, 10), (100.0, 30), (1e9, 30)] {
        assert_eq!(histogram.percentile(p), Some(Ns(value)), "{p}");
    }
}

#[test]
fn nothing_counted_is_nothing_read() {
    let mut histogram = of(&[5]);
    histogram.clear();
    assert_eq!(histogram, Histogram::new());
    assert_eq!((histogram.percentile(50.0), histogram.min(), histogram.max()), (None, None, None));
    assert_eq!((histogram.mean(), histogram.count()), (None, 0));
    assert_eq!(Histogram::from_bytes(&histogram.to_bytes()).expect("bytes"), histogram);
}

#[test]
fn full_bins_stay_full_and_percentiles_stay_among_them() {
    let mut histogram = of(&[100_000]);
    for _ in 0..33 {
        histogram.merge(&histogram.clone());
    }
    for _ in 0..1000 {
        histogram.record(Ns(5_000_000));
    }
    assert!(histogram.count() > u64::from(u32::MAX) + 1000);
    // 2^32 - 1 are kept of those at 100 µs; the thousand at 5 ms are still less than one in a million.
    for p in [50.0, 99.0, 99.99] {
        check(histogram.percentile(p), 100_000, 3);
    }
    check(histogram.percentile(100.0), 5_000_000, 3);
    let back = Histogram::from_bytes(&histogram.to_bytes()).expect("bytes");
    assert_eq!(back.count(), u64::from(u32::MAX) + 1000);
    assert_eq!(back.percentile(99.0), histogram.percentile(99.0));
}

#[test]
fn tallies_merge_response_times_where_only_one_side_keeps_them() {
    let (mut open, mut closed) = (Completed::empty(true), Completed::empty(false));
    open.success(1, Ns(10), Ns(100));
    closed.success(1, Ns(20), Ns(20));
    let expected = of(&[100, 20]);
    for (mut mine, theirs) in [(open.clone(), &closed), (closed.clone(), &open)] {
        mine.merge(theirs);
        assert_eq!((mine.response(), &mine.service), (&expected, &of(&[10, 20])));
    }
    let (from, to) = (Ns(0), Ns(1));
    let (step, phase, testimony) = (0, Phase::Measure, None);
    let interval = Interval {
        others: Default::default(),
        source: SourceId(0),
        step,
        phase,
        from,
        to,
        read: Some(closed),
        write: None,
        testimony,
    };
    assert_eq!(interval.read.as_ref().map(Completed::response), Some(&of(&[20])));
}
