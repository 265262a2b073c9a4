//! Results of network tests for programs: one document, whose field names are those of `net`'s report. Histograms become
//! percentiles, in nanoseconds.

use net::{Report, SideReport, Spec};
use record::Histogram;
use serde_json::{Value, json};

/// All tests of one call, oldest first.
pub fn reports(reports: &[Report]) -> String {
    let all: Vec<Value> = reports.iter().map(report).collect();
    let document =
        json!({ "program": concat!("wirespeed ", env!("CARGO_PKG_VERSION")), "tests": all });
    format!("{document:#}\n")
}

fn report(report: &Report) -> Value {
    let mut value = json!(report);
    for end in ["sender", "receiver"] {
        let side = if end == "sender" { &report.sender } else { &report.receiver };
        value[end] = side_of(side);
    }
    let directions: Vec<Value> = report
        .directions()
        .iter()
        .map(|direction| {
            let mut value = json!(direction);
            value["latency"] = latency(direction.latency.as_ref());
            value
        })
        .collect();
    value["directions"] = directions.into();
    value
}

/// What a receiver tells of a test.
pub fn received(peer: &str, spec: &Spec, side: &SideReport) -> Value {
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
