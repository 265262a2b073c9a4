//! How values of a scenario are written: exactly where texts are compared, for people elsewhere.

use crate::claim::Form;
use crate::model::{Endpoint, LatencyPoint, Metric, Setting, Value};
use crate::network::heading_word;
use std::fmt;
use workload::WorkingSet;

impl fmt::Display for Setting {
    /// Exact, so that equal texts are equal settings: `8KiB`, `32`, `67%`, `5000 IOPS`, `4gfc`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Setting::Block(size) | Setting::Message(size) => write!(f, "{size}"),
            Setting::Depth(n)
            | Setting::Workers(n)
            | Setting::Members(n)
            | Setting::Batch(n)
            | Setting::Mtu(n) => write!(f, "{n}"),
            Setting::Streams(n) => write!(f, "{n}"),
            Setting::Direction(heading) => f.write_str(heading_word(*heading)),
            Setting::StreamRate(rate) => write!(f, "{}", units::LinkRate::Rate(*rate)),
            Setting::Offload(on) => f.write_str(if *on { "on" } else { "off" }),
            Setting::Read(share) | Setting::Random(share) => write!(f, "{}%", share.0),
            Setting::Rate(rate) => write!(f, "{} IOPS", rate.0),
            Setting::WorkingSet(WorkingSet::Bytes(bytes)) => write!(f, "{}", units::Bytes(*bytes)),
            Setting::WorkingSet(WorkingSet::Percent(share)) => write!(f, "{share}%"),
            Setting::Port(rate) => write!(f, "{rate}"),
        }
    }
}

impl fmt::Display for Endpoint {
    /// `esx.hba`, or `fabric:3` with its port.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.port {
            Some(port) => write!(f, "{}:{port}", self.device),
            None => f.write_str(&self.device),
        }
    }
}

impl fmt::Display for Metric {
    /// As in a goal's name: `read`, `p99 latency`, `mean response time`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Metric::ReadRate => f.write_str("read"),
            Metric::WriteRate => f.write_str("write"),
            Metric::TotalRate => f.write_str("total"),
            Metric::Iops => f.write_str("IOPS"),
            Metric::Errors => f.write_str("errors"),
            Metric::Cpu => f.write_str("CPU"),
            Metric::Imbalance => f.write_str("imbalance"),
            Metric::Latency { point, response } => {
                let what = if *response { "response time" } else { "service time" };
                write!(f, "{point} {what}")
            }
        }
    }
}

impl fmt::Display for LatencyPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LatencyPoint::Mean => f.write_str("mean"),
            LatencyPoint::Max => f.write_str("max"),
            LatencyPoint::Percentile(p) => write!(f, "p{p}"),
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Form::Linear => "linear",
            Form::Constant => "constant",
            Form::Rising => "rising",
            Form::Falling => "falling",
        })
    }
}

impl fmt::Display for Value {
    /// With its unit, as the review prints it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Rate(rate) => write!(f, "{rate}"),
            Value::PercentOfWire(share) => {
                write!(f, "{} of wire", units::percent(*share))
            }
            Value::Iops(iops) => write!(f, "{}", units::Iops(*iops)),
            Value::Time(time) => f.write_str(&units::duration(*time)),
            Value::Count(n) => write!(f, "{n}"),
            Value::Percent(share) => f.write_str(&units::percent(*share)),
            Value::Times(n) => write!(f, "{n} ×"),
        }
    }
}
