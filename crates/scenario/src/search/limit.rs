//! A limit of a search: `p99 <= 5 ms`, `errors <= 0`, `read >= 100 MB/s`.

use crate::model::{Bound, LatencyPoint, Metric, Value};
use std::fmt;
use units::{ByteRate, Iops};

/// Something that must hold at a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// What.
    pub metric: Metric,
    /// On which side.
    pub bound: Bound,
    /// Of which value, of the metric's kind.
    pub value: Value,
}

impl Limit {
    /// Reads a limit; the error says what would have been right. A latency without a word before it is response time: what
    /// an application waits, which in a closed loop is service time.
    /// # Errors
    /// What was expected, if the text is not a limit.
    pub fn parse(text: &str) -> Result<Limit, String> {
        let (name, bound, value) = [("<=", Bound::AtMost), (">=", Bound::AtLeast)]
            .into_iter()
            .find_map(|(sign, bound)| {
                let (name, value) = text.split_once(sign)?;
                Some((name.trim(), bound, value.trim()))
            })
            .ok_or_else(|| {
                let wanted = "a limit such as `p99 <= 5 ms` or `iops >= 20k IOPS`";
                format!("expected {wanted}, with `<=` or `>=`")
            })?;
        let metric = metric(name)?;
        let value = value_of(&metric, value)?;
        if metric == Metric::Errors && bound == Bound::AtLeast {
            return Err("errors can only have an upper limit: `errors <= 0`".to_owned());
        }
        Ok(Limit { metric, bound, value })
    }

    /// The bound in the metric's base unit: bytes a second, operations a second, nanoseconds, a count.
    pub fn base(&self) -> f64 {
        match self.value {
            Value::Rate(rate) => rate.0,
            Value::PercentOfWire(share) => share,
            Value::Iops(iops) => iops,
            Value::Time(time) => time.as_nanos() as f64,
            Value::Count(n) => n as f64,
            Value::Percent(n) | Value::Times(n) => n,
        }
    }

    /// Whether a reading in the base unit keeps the limit.
    pub fn holds(&self, reading: f64) -> bool {
        match self.bound {
            Bound::AtMost => reading <= self.base(),
            Bound::AtLeast => reading >= self.base(),
        }
    }

    /// The metric in the words of a limit: `p99`, `service p99`, `IOPS`.
    pub fn name(&self) -> String {
        match self.metric {
            Metric::Latency { point, response } => {
                let service = if response { "" } else { "service " };
                match point {
                    LatencyPoint::Mean => format!("{service}mean"),
                    LatencyPoint::Max => format!("{service}max"),
                    LatencyPoint::Percentile(p) => format!("{service}p{p}"),
                }
            }
            other => other.to_string(),
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.bound == Bound::AtMost { "≤" } else { "≥" };
        write!(f, "{} {sign} {}", self.name(), self.value)
    }
}

fn metric(name: &str) -> Result<Metric, String> {
    let (response, latency) = match name.split_once(' ') {
        Some(("service", rest)) => (false, rest.trim()),
        Some(("response", rest)) => (true, rest.trim()),
        _ => (true, name),
    };
    let latency = match latency {
        "mean" => Some(LatencyPoint::Mean),
        "max" => Some(LatencyPoint::Max),
        _ => latency.strip_prefix('p').and_then(percentile),
    };
    if let Some(point) = latency {
        return Ok(Metric::Latency { point, response });
    }
    Ok(match name {
        "iops" => Metric::Iops,
        "read" => Metric::ReadRate,
        "write" => Metric::WriteRate,
        "total" => Metric::TotalRate,
        "errors" => Metric::Errors,
        _ => {
            return Err(format!(
                "`{}` cannot be limited; expected a latency (`mean`, `max`, `p99`, `service p99`), `iops`, `read`, \
                 `write`, `total` or `errors`",
                crate::tree::clip(name)
            ));
        }
    })
}

fn percentile(digits: &str) -> Option<LatencyPoint> {
    let plain = digits.replace('_', ".");
    let p = plain.parse::<f64>().ok()?;
    let digits_only = plain.chars().all(|c| c.is_ascii_digit() || c == '.');
    (digits_only && p > 0.0 && p < 100.0).then_some(LatencyPoint::Percentile(p))
}

fn value_of(metric: &Metric, text: &str) -> Result<Value, String> {
    let shown = crate::tree::clip(text);
    match metric {
        Metric::Latency { .. } => match units::parse_duration(text) {
            Ok(time) if !time.is_zero() => Ok(Value::Time(time)),
            Ok(_) => Err("a latency cannot be 0; give one such as `5 ms`".to_owned()),
            Err(_) => Err(format!("expected a latency such as `5 ms`, found `{shown}`")),
        },
        Metric::Errors => text
            .parse()
            .map(Value::Count)
            .map_err(|_| format!("expected a number of errors, found `{shown}`")),
        Metric::Iops => {
            let plain = text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
            let iops = plain.or_else(|| Iops::parse(text).ok().map(|iops| iops.0));
            iops.map(Value::Iops)
                .ok_or_else(|| format!("expected a rate such as `5000 IOPS`, found `{shown}`"))
        }
        Metric::ReadRate | Metric::WriteRate | Metric::TotalRate => ByteRate::parse(text)
            .map(Value::Rate)
            .map_err(|_| format!("expected a data rate such as `800 MB/s`, found `{shown}`")),
        // These have no name of a limit.
        Metric::Cpu | Metric::Imbalance => Err(format!("`{metric}` cannot be limited")),
    }
}
