//! Confidence intervals of a simulated step's figures, as recorded.
//!
//! They are the simulator's own statement about its scatter, taken over as it is, whether or not the model is right.

use record::Record;
use serde::Serialize;

/// Between which values a figure lies.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Confidence {
    /// The figure, over all workers: `iops`, `total-rate`, `read-rate`, `write-rate`, `service-mean`, `response-mean`.
    pub figure: String,
    /// The lower end, in `unit`.
    pub low: f64,
    /// The upper end, in `unit`.
    pub high: f64,
    /// `1/s`, `B/s` or `ns`.
    pub unit: String,
    /// The probability with which the true figure lies between them, 0 to 1.
    pub level: f64,
    /// Parts of the measured time that it was taken from.
    pub batches: u32,
}

impl Confidence {
    /// Those of a step over all workers; what is no interval is left out.
    pub(crate) fn of(record: &Record, step: u32) -> Vec<Confidence> {
        let of_all = |c: &&record::Confidence| c.source.is_none();
        let taken = |c: &record::Confidence| Confidence {
            figure: c.figure.clone(),
            low: c.low,
            high: c.high,
            unit: c.unit.clone(),
            level: c.level,
            batches: c.batches,
        };
        sound(record, step).filter(of_all).map(taken).collect()
    }

    /// Half its width, in its unit.
    pub fn half(&self) -> f64 {
        (self.high - self.low) / 2.0
    }
}

/// What a record has of a step and its parts; what is no interval is left out.
pub(crate) fn sound(record: &Record, step: u32) -> impl Iterator<Item = &record::Confidence> {
    let is_finite = |c: &record::Confidence| c.low.is_finite() && c.high.is_finite();
    let all = record.confidences(step);
    all.filter(move |c| is_finite(c) && c.low <= c.high && (0.0..1.0).contains(&c.level))
}
