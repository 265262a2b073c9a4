//! The speed of ports over the time of the run.

use crate::figures::StepFigures;
use clock::Ns;
use record::StepHead;
use serde::Serialize;

/// Ports at most.
const PORTS_MAX: usize = 16;
/// Spans of a port at most.
const SPANS_MAX: usize = 2000;

/// The speed of one port over time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LimitSeries {
    /// The hop.
    pub hop: String,
    /// Its speeds in the order of time; between steps there is none.
    pub spans: Vec<LimitSpan>,
}

/// A time of one speed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LimitSpan {
    /// From, in seconds from the beginning of the record's time.
    pub from_s: f64,
    /// To.
    pub to_s: f64,
    /// Bytes a second and direction.
    pub bytes_per_s: f64,
}

/// The ports that have a speed, over all steps. A step begins with the first speed of its course and keeps the last.
pub(super) fn limits(heads: &[StepHead], steps: &[StepFigures]) -> Vec<LimitSeries> {
    let mut all: Vec<LimitSeries> = Vec::new();
    for head in heads {
        let Some(figures) = steps.iter().find(|s| s.index == head.index) else { continue };
        for port in &figures.ports {
            let place = all.iter().position(|l| l.hop == port.port);
            if place.is_none() && all.len() == PORTS_MAX {
                continue;
            }
            let place = place.unwrap_or_else(|| {
                all.push(LimitSeries { hop: port.port.clone(), spans: Vec::new() });
                all.len() - 1
            });
            let times = &head.times;
            let begins = port.course.iter().enumerate().map(|(n, speed)| match n {
                0 => times.start,
                _ => times.measure.plus(Ns(speed.from_ns)),
            });
            let ends = begins.clone().skip(1).chain([times.end]);
            let spans = begins.zip(ends).zip(&port.course).filter_map(|((from, to), speed)| {
                let (from_s, to_s) = (from.as_secs_f64(), to.as_secs_f64());
                let bytes_per_s = speed.bytes_per_s?;
                (to > from).then_some(LimitSpan { from_s, to_s, bytes_per_s })
            });
            let room = SPANS_MAX - all[place].spans.len().min(SPANS_MAX);
            all[place].spans.extend(spans.take(room));
        }
    }
    all.retain(|l| !l.spans.is_empty());
    all
}
