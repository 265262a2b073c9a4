//! What is compared of a step, which way is better, and what each metric is made of.

use crate::figures::Loops;
use crate::quantity::Unit;
use crate::statistics::Scale;
use serde::Serialize;

/// A figure that is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Compared {
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
    /// Mean latency of times in which both sides had the same rate of operations, of observed loads.
    MeanAtRate,
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
pub(super) const PERCENTILES: [(Compared, f64); 4] =
    [(Compared::P50, 50.0), (Compared::P95, 95.0), (Compared::P99, 99.0), (Compared::P999, 99.9)];

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
    /// As the sources of an observed load report it.
    Reported,
}

impl Compared {
    /// All, in the order in which they are shown.
    pub const ALL: [Compared; 12] = [
        Compared::Iops,
        Compared::Total,
        Compared::Read,
        Compared::Write,
        Compared::Mean,
        Compared::MeanAtRate,
        Compared::P50,
        Compared::P95,
        Compared::P99,
        Compared::P999,
        Compared::Errors,
        Compared::CpuPerOp,
    ];

    /// Its name for people; latencies without saying which.
    pub fn name(self) -> &'static str {
        match self {
            Compared::Iops => "IOPS",
            Compared::Total => "MB/s",
            Compared::Read => "MB/s read",
            Compared::Write => "MB/s written",
            Compared::Mean => "mean",
            Compared::MeanAtRate => "mean at equal IOPS",
            Compared::P50 => "p50",
            Compared::P95 => "p95",
            Compared::P99 => "p99",
            Compared::P999 => "p99.9",
            Compared::Errors => "errors",
            Compared::CpuPerOp => "CPU per I/O",
        }
    }

    /// Its name in options and JSON.
    pub fn key(self) -> &'static str {
        match self {
            Compared::Iops => "iops",
            Compared::Total => "total",
            Compared::Read => "read",
            Compared::Write => "write",
            Compared::Mean => "mean",
            Compared::MeanAtRate => "mean-at-rate",
            Compared::P50 => "p50",
            Compared::P95 => "p95",
            Compared::P99 => "p99",
            Compared::P999 => "p999",
            Compared::Errors => "errors",
            Compared::CpuPerOp => "cpu-per-op",
        }
    }

    /// Which way is better.
    pub fn better(self) -> Better {
        match self {
            Compared::Iops | Compared::Total | Compared::Read | Compared::Write => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// The unit of its value.
    pub fn unit(self) -> Unit {
        match self {
            Compared::Iops => Unit::Iops,
            Compared::Total | Compared::Read | Compared::Write => Unit::BytesPerS,
            Compared::Errors => Unit::Percent,
            _ => Unit::Ns,
        }
    }

    /// The scale on which it is subtracted: errors may be none at all, so that they have no ratio.
    pub(super) fn scale(self) -> Scale {
        if self == Compared::Errors { Scale::Plain } else { Scale::Ratio }
    }

    /// Whether it is a latency.
    pub fn is_latency(self) -> bool {
        matches!(
            self,
            Compared::Mean
                | Compared::MeanAtRate
                | Compared::P50
                | Compared::P95
                | Compared::P99
                | Compared::P999
        )
    }
}

impl LatencyOf {
    /// What loops demand: response time as soon as one of them is open.
    pub(super) fn of(loops: Loops) -> LatencyOf {
        match loops {
            Loops::Closed => LatencyOf::Service,
            Loops::Observed => LatencyOf::Reported,
            _ => LatencyOf::Response,
        }
    }
}
