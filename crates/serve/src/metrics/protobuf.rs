//! A sheet as Prometheus's own binary form, the only one that has native histograms:
//! <https://github.com/prometheus/client_model/blob/v0.6.1/io/prometheus/client/metrics.proto>. `prometheus-client` writes
//! OpenMetrics' binary form alone, which Prometheus does not read.

use super::times::{BOUNDS, NONE, SCHEMA, Times};
use super::{Labels, Metric, Value};

/// What an answer in this form is called.
pub(super) const CONTENT_TYPE: &str =
    "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";

/// Whether who asks would rather have this form than text, by its `Accept`.
pub(super) fn is_preferred(accept: &str) -> bool {
    let (mut ours, mut texts) = (0.0_f64, 0.0_f64);
    for offer in accept.split(',') {
        let mut words = offer.split(';').map(str::trim);
        let kind = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let q = words.iter().find_map(|word| word.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
        let has = |word: &str| words.iter().any(|one| one.eq_ignore_ascii_case(word));
        match kind {
            "application/vnd.google.protobuf"
                if has("proto=io.prometheus.client.MetricFamily") && has("encoding=delimited") =>
            {
                ours = ours.max(q);
            }
            "application/openmetrics-text" | "text/plain" | "*/*" => texts = texts.max(q),
            _ => {}
        }
    }
    ours > 0.0 && ours >= texts
}

/// Each metric as a message of its own behind its length.
pub(super) fn encode(metrics: &[Metric]) -> Vec<u8> {
    let mut out = Vec::new();
    for metric in metrics {
        let family = family(metric);
        varint(&mut out, family.len() as u64);
        out.extend(family);
    }
    out
}

fn family(metric: &Metric) -> Vec<u8> {
    let mut name = metric.name.to_owned();
    if let Some(unit) = metric.unit {
        name = format!("{name}_{unit}");
    }
    let kind = match metric.series.first() {
        Some((_, Value::Count(_))) => {
            name += "_total";
            0
        }
        Some((_, Value::Times(_))) => 4,
        _ => 1,
    };
    let mut out = Vec::new();
    bytes(&mut out, 1, name.as_bytes());
    bytes(&mut out, 2, metric.help.as_bytes());
    number(&mut out, 3, kind);
    for (labels, value) in &metric.series {
        bytes(&mut out, 4, &series(labels, value));
    }
    out
}

fn series(labels: &Labels, value: &Value) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in labels {
        let mut label = Vec::new();
        bytes(&mut label, 1, name.as_bytes());
        bytes(&mut label, 2, value.as_bytes());
        bytes(&mut out, 1, &label);
    }
    let (field, of) = match value {
        Value::Gauge(value) => (2, single(*value)),
        Value::Count(value) => (3, single(*value)),
        Value::Times(times) => (7, histogram(times)),
    };
    bytes(&mut out, field, &of);
    out
}

fn single(value: f64) -> Vec<u8> {
    let mut out = Vec::new();
    float(&mut out, 1, value);
    out
}

fn histogram(times: &Times) -> Vec<u8> {
    let mut out = Vec::new();
    number(&mut out, 1, times.all);
    float(&mut out, 2, times.sum);
    for (bound, upto) in BOUNDS.iter().zip(&times.upto) {
        let mut bucket = Vec::new();
        number(&mut bucket, 1, *upto);
        float(&mut bucket, 2, *bound as f64 / 1e9);
        bytes(&mut out, 3, &bucket);
    }
    number(&mut out, 5, zigzag(i64::from(SCHEMA)));
    float(&mut out, 6, NONE);
    number(&mut out, 7, times.none);
    // Runs of buckets that follow each other; each count as its difference to the one before.
    let mut spans: Vec<(i64, u64)> = Vec::new();
    let mut deltas = Vec::new();
    let (mut next, mut before) = (0_i64, 0_i64);
    for (bucket, count) in &times.native {
        let (bucket, count) = (i64::from(*bucket), i64::try_from(*count).unwrap_or(i64::MAX));
        match spans.last_mut().filter(|_| bucket == next) {
            Some((_, length)) => *length += 1,
            None => spans.push((bucket - next, 1)),
        }
        varint(&mut deltas, zigzag(count - before));
        (next, before) = (bucket + 1, count);
    }
    for (offset, length) in spans {
        let mut span = Vec::new();
        number(&mut span, 1, zigzag(offset));
        number(&mut span, 2, length);
        bytes(&mut out, 12, &span);
    }
    bytes(&mut out, 13, &deltas);
    out
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A signed number so that small ones are short, whatever their sign.
fn zigzag(value: i64) -> u64 {
    (value << 1 ^ value >> 63) as u64
}

fn number(out: &mut Vec<u8>, field: u64, value: u64) {
    varint(out, field << 3);
    varint(out, value);
}

fn float(out: &mut Vec<u8>, field: u64, value: f64) {
    varint(out, field << 3 | 1);
    out.extend(value.to_le_bytes());
}

fn bytes(out: &mut Vec<u8>, field: u64, value: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, value.len() as u64);
    out.extend(value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn who_cannot_read_it_is_told_in_words() {
        const OURS: &str = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";
        for (accept, preferred) in [
            (OURS.to_owned(), true),
            (format!("{OURS}, application/openmetrics-text;version=1.0.0;q=0.8, */*;q=0.1"), true),
            (format!("application/openmetrics-text;version=1.0.0, {OURS};q=0.5"), false),
            ("application/openmetrics-text;version=1.0.0;q=0.8,text/plain;q=0.5".to_owned(), false),
            ("application/vnd.google.protobuf;proto=other;encoding=delimited".to_owned(), false),
            (format!("{OURS};q=0"), false),
            ("*/*".to_owned(), false),
            (String::new(), false),
        ] {
            assert_eq!(is_preferred(&accept), preferred, "{accept}");
        }
    }

    #[test]
    fn a_family_is_spelled_as_the_format_says() {
        let labels: Labels = vec![("a", "b".to_owned())];
        let metric = |value| Metric {
            name: "x",
            help: "h",
            unit: Some("bytes"),
            series: vec![(labels.clone(), value)],
        };
        let counted = encode(&[metric(Value::Count(1.0))]);
        let expected = b"\x29\x0a\x0dx_bytes_total\x12\x01h\x18\x00\x22\x13\x0a\x06\x0a\x01a\x12\x01b\x1a\x09\x09";
        assert_eq!(counted[..expected.len()], expected[..]);
        assert_eq!(counted[expected.len()..], 1.0_f64.to_le_bytes());
        let native = BTreeMap::from([(-3, 4), (-2, 1), (5, 300)]);
        let times = Times { upto: vec![305; 19], all: 305, sum: 2.0, none: 0, native };
        let encoded = encode(&[metric(Value::Times(times))]);
        // Spans of two and of one, the second 6 buckets behind the first; 4, 4 - 3, 1 + 299.
        let spans = b"\x62\x04\x08\x05\x10\x02\x62\x04\x08\x0c\x10\x01\x6a\x04\x08\x05\xd6\x04";
        assert!(encoded.ends_with(spans), "{encoded:x?}");
    }
}
