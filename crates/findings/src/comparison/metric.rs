//! What is compared of a step, which way is better, and what each metric is made of.

use crate::figures::Loops;
use crate::quantity::Unit;
use crate::statistics::Scale;
use serde::Serialize;

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Operations a second.
    Iops,
    /// Bytes a second, both directions.
    Total,
    /// Bytes a second that were read.
    Read,
    /// Bytes a second that were written.
    Write,
    /// Mean latency.
    Mean,
    /// Median latency.
    P50,
    /// 95th percentile of latency.
    P95,
    /// 99th percentile of latency.
    P99,
    /// 99.9th percentile of latency.
    P999,
    /// Failed operations among all.
    Errors,
    /// CPU time that the generator spent on an operation, in both modes.
    CpuPerOp,
}

/// The percentiles, in the order in which a second's operations are counted below them.
pub(super) const PERCENTILES: [(Metric, f64); 4] =
    [(Metric::P50, 50.0), (Metric::P95, 95.0), (Metric::P99, 99.0), (Metric::P999, 99.9)];

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Better {
    /// More is.
    Higher,
    /// Less is.
    Lower,
}

/// Which latency is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LatencyOf {
    /// From submission: closed loops.
    Service,
    /// From the moment an operation was due: where there is an open loop.
    Response,
}

impl Metric {
    /// All, in the order in which they are shown.
    pub const ALL: [Metric; 11] = [
        Metric::Iops,
        Metric::Total,
        Metric::Read,
        Metric::Write,
        Metric::Mean,
        Metric::P50,
        Metric::P95,
        Metric::P99,
        Metric::P999,
        Metric::Errors,
        Metric::CpuPerOp,
    ];

    /// Its name for people; latencies without saying which.
    pub fn name(self) -> &'static str {
        match self {
            Metric::Iops => "IOPS",
            Metric::Total => "MB/s",
            Metric::Read => "MB/s read",
            Metric::Write => "MB/s written",
            Metric::Mean => "mean",
            Metric::P50 => "p50",
            Metric::P95 => "p95",
            Metric::P99 => "p99",
            Metric::P999 => "p99.9",
            Metric::Errors => "errors",
            Metric::CpuPerOp => "CPU per I/O",
        }
    }

    /// Its name in options and JSON.
    pub fn key(self) -> &'static str {
        match self {
            Metric::Iops => "iops",
            Metric::Total => "total",
            Metric::Read => "read",
            Metric::Write => "write",
            Metric::Mean => "mean",
            Metric::P50 => "p50",
            Metric::P95 => "p95",
            Metric::P99 => "p99",
            Metric::P999 => "p999",
            Metric::Errors => "errors",
            Metric::CpuPerOp => "cpu-per-op",
        }
    }

    /// Which way is better.
    pub fn better(self) -> Better {
        match self {
            Metric::Iops | Metric::Total | Metric::Read | Metric::Write => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// The unit of its value.
    pub fn unit(self) -> Unit {
        match self {
            Metric::Iops => Unit::Iops,
            Metric::Total | Metric::Read | Metric::Write => Unit::BytesPerS,
            Metric::Errors => Unit::Percent,
            _ => Unit::Ns,
        }
    }

    /// The scale on which it is subtracted: errors may be none at all, so that they have no ratio.
    pub(super) fn scale(self) -> Scale {
        if self == Metric::Errors { Scale::Plain } else { Scale::Ratio }
    }

    /// Whether it is a latency.
    pub fn is_latency(self) -> bool {
        matches!(self, Metric::Mean | Metric::P50 | Metric::P95 | Metric::P99 | Metric::P999)
    }
}

impl LatencyOf {
    /// What loops demand: response time as soon as one of them is open.
    pub(super) fn of(loops: Loops) -> LatencyOf {
        if loops == Loops::Closed { LatencyOf::Service } else { LatencyOf::Response }
    }
}
