//! A row of a place as figures, and what stands for intervals of which they are not known.
//!
//! A load is a sum over a window, in which an interval that is not known would be none. It is taken as the mean of those
//! that are known, and that is said; a latency of which more than half is not known is none.

use super::format::MonitorFormat;
use super::model::{Flow, Leg, Measure, Span};
use super::places::Written;
use super::window::FEW;
use std::ops::Range;

/// The part of the operations of a window that may be without a latency: of samples, of results.
const UNTIMED_MOST: [f64; 2] = [0.5, 0.01];

/// A row of a place, as figures.
#[derive(Clone, Copy, Default)]
pub(super) struct Row {
    pub ops: [Option<f64>; 2],
    pub bytes: [Option<f64>; 2],
    /// Mean nanoseconds of an operation, of all that the place sees.
    pub time: [Option<f64>; 2],
}

impl Row {
    pub fn of(place: &Written<'_>, row: usize) -> Row {
        let at = |measure| place.feed.find(place.place, measure).and_then(|column| column.at(row));
        let mut bytes = [Flow::Read, Flow::Write].map(|f| at(Measure::Bytes(f)));
        let mut ops = [Flow::Read, Flow::Write].map(|f| at(Measure::Ops(f)));
        if let (true, Some(any)) = (bytes == [None, None], at(Measure::Bytes(Flow::Any))) {
            let read = match ops {
                [Some(read), Some(write)] if read + write > 0.0 => read / (read + write),
                _ => 0.5,
            };
            bytes = [Some(any * read), Some(any * (1.0 - read))];
        }
        if let (true, Some(any)) = (ops == [None, None], at(Measure::Ops(Flow::Any))) {
            let sum = bytes[0].unwrap_or(0.0) + bytes[1].unwrap_or(0.0);
            let read = if sum > 0.0 { bytes[0].unwrap_or(0.0) / sum } else { 1.0 };
            ops = [Some(any * read), Some(any * (1.0 - read))];
        }
        let time = [Flow::Read, Flow::Write].map(|flow| leg(place, row, flow));
        Row { ops, bytes, time }
    }

    /// The rows of a place in a window.
    pub fn within<'a>(
        place: &Written<'a>,
        window: Span,
    ) -> impl Iterator<Item = (usize, &'a Span)> + use<'a> {
        let rows = place.feed.rows.iter().enumerate();
        rows.filter(move |(_, span)| span.from < window.to && span.to > window.from)
    }

    /// Whether anything of a place was counted in a window.
    pub fn is_counted(place: &Written<'_>, window: Span) -> bool {
        Row::within(place, window).any(|(row, _)| Row::of(place, row).counts())
    }

    pub fn all(sides: [Option<f64>; 2]) -> Option<f64> {
        match sides {
            [None, None] => None,
            [a, b] => Some(a.unwrap_or(0.0) + b.unwrap_or(0.0)),
        }
    }

    /// Whether operations or bytes were counted.
    pub fn counts(&self) -> bool {
        Row::all(self.ops).or(Row::all(self.bytes)).is_some()
    }

    /// Operations in flight by Little's law, of some leg.
    pub fn little(&self, time: [Option<f64>; 2]) -> Option<f64> {
        let side = |at: usize| match (self.ops[at], time[at]) {
            (Some(ops), _) if ops <= 0.0 => Some(0.0),
            (Some(ops), Some(time)) => Some(ops * time / 1e9),
            _ => None,
        };
        match (side(0), side(1)) {
            (Some(a), Some(b)) => Some(a + b),
            (Some(a), None) if self.ops[1].is_none() => Some(a),
            (None, Some(b)) if self.ops[0].is_none() => Some(b),
            _ => None,
        }
    }
}

/// The time of a leg of a direction, or of any where directions are not told apart.
pub(super) fn of_leg(place: &Written<'_>, row: usize, leg: Leg, flow: Flow) -> Option<f64> {
    let at = |flow| {
        place.feed.find(place.place, Measure::Time(leg, flow)).and_then(|column| column.at(row))
    };
    at(flow).or_else(|| at(Flow::Any))
}

/// All that a place sees: as it says, or the kernel's time and the device's.
fn leg(place: &Written<'_>, row: usize, flow: Flow) -> Option<f64> {
    let of = |leg| of_leg(place, row, leg, flow);
    of(Leg::All).or_else(|| Some(of(Leg::Device)? + of(Leg::Kernel).unwrap_or(0.0)))
}

/// The means of a place over the intervals of a window in which it was counted.
pub(super) struct Usual {
    means: Row,
    /// From the first interval to the last in which it was counted.
    counted: Range<usize>,
}

impl Usual {
    pub fn of(place: &Written<'_>, window: Span) -> Usual {
        let rows = &place.feed.rows;
        let counts = |row: &usize| Row::of(place, *row).counts();
        let first = (0..rows.len()).find(counts).unwrap_or(rows.len());
        let end = (first..rows.len()).rfind(counts).map_or(first, |last| last + 1);
        let mut sums = Sums::default();
        for (row, span) in rows.iter().enumerate().take(end).skip(first) {
            let length = span.to.min(window.to) - span.from.max(window.from);
            if length > 0 {
                sums.add(&Row::of(place, row), length as f64 / 1e9);
            }
        }
        let result = is_result(place.feed.format);
        let counted = if result { 0..0 } else { first..end };
        Usual { means: sums.means(UNTIMED_MOST[usize::from(result)]), counted }
    }

    /// Whether the operations are enough to speak of their latency.
    pub fn is_known(&self) -> bool {
        Row::all(self.means.ops).is_some_and(|ops| ops >= FEW)
    }

    /// A row in which what is not known is the mean, and whether anything was.
    pub fn fill(&self, row: usize, of: &Row) -> (Row, bool) {
        let mut out = *of;
        let mut filled = false;
        let mut put = |known: &mut Option<f64>, mean: Option<f64>, told: bool| {
            filled |= told && known.is_none() && mean.is_some();
            *known = known.or(mean);
        };
        if self.counted.contains(&row) {
            for side in 0..2 {
                put(&mut out.ops[side], self.means.ops[side], true);
                put(&mut out.bytes[side], self.means.bytes[side], true);
            }
        }
        for side in 0..2 {
            match (self.means.time[side], out.ops[side]) {
                (Some(mean), Some(ops)) if ops > 0.0 => {
                    put(&mut out.time[side], Some(mean), ops >= FEW);
                }
                (Some(_), _) => {}
                (None, _) => out.time[side] = None,
            }
        }
        (out, filled)
    }
}

fn is_result(format: MonitorFormat) -> bool {
    use MonitorFormat as Of;
    matches!(
        format,
        Of::FioJson
            | Of::Iperf3
            | Of::Iometer
            | Of::Vdbench
            | Of::DiskspdXml
            | Of::NtttcpXml
            | Of::Hcibench
    )
}

/// Amounts of a window, with the seconds and operations that they are of.
#[derive(Default)]
struct Sums {
    ops: [(f64, f64); 2],
    bytes: [(f64, f64); 2],
    time: [(f64, f64); 2],
    untimed: [f64; 2],
}

impl Sums {
    fn add(&mut self, row: &Row, seconds: f64) {
        let add = |(sum, of): &mut (f64, f64), value: Option<f64>, weight: f64| {
            if let Some(value) = value {
                *sum += value * weight;
                *of += weight;
            }
        };
        for side in 0..2 {
            add(&mut self.ops[side], row.ops[side], seconds);
            add(&mut self.bytes[side], row.bytes[side], seconds);
            let ops = row.ops[side].unwrap_or(0.0) * seconds;
            add(&mut self.time[side], row.time[side], ops);
            if row.time[side].is_none() {
                self.untimed[side] += ops;
            }
        }
    }

    /// The means, without a latency where more than a part of the operations has none.
    fn means(&self, most: f64) -> Row {
        let mean = |(sum, of): (f64, f64)| (of > 0.0).then(|| sum / of);
        let time = [0, 1].map(|side| {
            let (untimed, timed) = (self.untimed[side], self.time[side].1);
            mean(self.time[side]).filter(|_| untimed <= most * (untimed + timed))
        });
        Row { ops: self.ops.map(mean), bytes: self.bytes.map(mean), time }
    }
}
