//! A figure with its unit, for people and for JSON.

use scenario::{Metric, Value};
use serde::Serialize;
use std::fmt;
use std::time::Duration;

/// A value and what it counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantity {
    /// The value, in its unit.
    pub value: f64,
    /// The unit.
    pub unit: Unit,
}

/// What a quantity counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Unit {
    /// Bytes a second.
    #[serde(rename = "B/s")]
    BytesPerS,
    /// Operations a second.
    #[serde(rename = "IOPS")]
    Iops,
    /// Nanoseconds.
    #[serde(rename = "ns")]
    Ns,
    /// A plain number.
    #[serde(rename = "1")]
    Count,
    /// Percent.
    #[serde(rename = "%")]
    Percent,
    /// So many times something else.
    #[serde(rename = "times")]
    Times,
}

impl Unit {
    /// The base unit of a metric.
    pub(crate) fn of(metric: &Metric) -> Unit {
        match metric {
            Metric::ReadRate | Metric::WriteRate | Metric::TotalRate => Unit::BytesPerS,
            Metric::Iops => Unit::Iops,
            Metric::Latency { .. } => Unit::Ns,
            Metric::Errors => Unit::Count,
            Metric::Cpu | Metric::Imbalance => Unit::Percent,
        }
    }
}

impl Quantity {
    /// A scenario's value; percent of wire stays percent, because only the hop knows the rest.
    pub(crate) fn from_value(value: &Value) -> Quantity {
        let (value, unit) = match value {
            Value::Rate(rate) => (rate.0, Unit::BytesPerS),
            Value::PercentOfWire(percent) => (*percent, Unit::Percent),
            Value::Iops(iops) => (*iops, Unit::Iops),
            Value::Time(time) => (time.as_nanos() as f64, Unit::Ns),
            Value::Count(count) => (*count as f64, Unit::Count),
            Value::Percent(percent) => (*percent, Unit::Percent),
            Value::Times(times) => (*times, Unit::Times),
        };
        Quantity { value, unit }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.unit {
            Unit::BytesPerS => f.write_str(&units::rate(self.value)),
            Unit::Iops => write!(f, "{} IOPS", units::count(self.value.round())),
            // A float beyond 2^64 saturates; it would be six centuries.
            Unit::Ns => {
                f.write_str(&units::duration(Duration::from_nanos(self.value.round() as u64)))
            }
            Unit::Count => f.write_str(&units::count(self.value)),
            Unit::Times => write!(f, "{:.2} ×", self.value),
            Unit::Percent => f.write_str(&units::percent(self.value)),
        }
    }
}
