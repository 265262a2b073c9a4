//! A receiver's result of a test as JSON: one document, whose field names are those of `net`'s report. Histograms become
//! percentiles, in nanoseconds.

use net::{SideReport, TestSpec};
use record::Histogram;
use serde_json::{Value, json};

/// The result of a test.
pub fn received(peer: &str, spec: &TestSpec, side: &SideReport) -> Value {
    json!({ "peer": peer, "spec": spec, "receiver": side_of(side) })
}

fn side_of(side: &SideReport) -> Value {
    let mut value = json!(side);
    for (index, stream) in side.streams.iter().enumerate() {
        value["streams"][index]["rate"] = stream.rate().into();
        value["streams"][index]["latency"] = latency(stream.latency.as_ref());
    }
    value
}

fn latency(histogram: Option<&Histogram>) -> Value {
    let Some(histogram) = histogram.filter(|histogram| histogram.count() > 0) else {
        return Value::Null;
    };
    let at = |percentile| histogram.percentile(percentile).map(|ns| ns.0);
    json!({
        "count": histogram.count(),
        "min": histogram.min().map(|ns| ns.0),
        "mean": histogram.mean().map(|ns| ns.0),
        "p50": at(50.0),
        "p90": at(90.0),
        "p99": at(99.0),
        "p99.9": at(99.9),
        "max": histogram.max().map(|ns| ns.0),
    })
}
