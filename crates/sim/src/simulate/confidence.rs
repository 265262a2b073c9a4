//! Confidence intervals of a step's figures, and whether the warm-up was long enough.
//!
//! The measured time is cut into [`CELLS`] cells of equal length, which make [`BATCHES`] batches, joined to [`SPANS`] for
//! an interval; a figure is a ratio of two sums over them. Its interval is that of [`crate::statistics`], corrected for skewness and for what correlation is
//! left between neighbours. A warm-up that was too short is found by MSER-5 (White, Cobb and Spratt 2000), over the
//! whole of it and the measured time. That rule alone leaves something out of most series by chance, so that it is
//! believed only where what it leaves out differs from the rest by more than noise.

use super::meter::Cell;
use crate::Ps;
use crate::statistics::{mser5, ratio, von_neumann};
use crate::study::{BATCHES, CELLS};
use record::Confidence;

/// The probability with which an interval holds the true figure.
pub const CONFIDENCE: f64 = 0.95;

/// Batches of an interval at most. With twice as many, those of closed networks of disks were so correlated that of 200
/// intervals for mirrored disks 89% held the true throughput; with these 93%.
const SPANS: usize = 16;

/// The certainty with which a warm-up is called too short: MSER-5 looks for the cut that differs most, and so finds one that
/// looks like something more often than chance would in one place.
const CERTAIN: f64 = 0.9999;

/// What the first part of the measured time must differ by from the rest, as a share of it, to be held for warm-up.
const MATTERS: f64 = 0.01;

/// Pairs of cells are taken for uncorrelated when von Neumann's test gives at least this probability.
const UNCORRELATED: f64 = 0.3;

/// A figure of a step: its name and unit, and both sums of a cell of so many seconds.
type Figure = (&'static str, &'static str, fn(&Cell, f64) -> (f64, f64));

const FIGURES: [Figure; 6] = [
    ("iops", "1/s", |cell, s| (cell.ops[0] + cell.ops[1], s)),
    ("total-rate", "B/s", |cell, s| (cell.bytes[0] + cell.bytes[1], s)),
    ("read-rate", "B/s", |cell, s| (cell.bytes[0], s)),
    ("write-rate", "B/s", |cell, s| (cell.bytes[1], s)),
    ("service-mean", "ns", |cell, _| (cell.served as f64 / 1e3, cell.ended as f64)),
    ("response-mean", "ns", |cell, _| (cell.responded as f64 / 1e3, cell.ended as f64)),
];

/// The intervals of the figures of a step, or of a part of it that has a name, from the cells of its measured time, each
/// `seconds` long. What was not done at all has none.
pub(super) fn intervals(
    step: u32,
    source: Option<&str>,
    cells: &[Cell],
    seconds: f64,
) -> Vec<Confidence> {
    let size = (cells.len() / BATCHES).max(1);
    FIGURES
        .iter()
        .filter_map(|(figure, unit, of)| {
            let batch = |cells: &[Cell]| {
                let sums = cells.iter().map(|cell| of(cell, seconds));
                sums.fold((0.0, 0.0), |sum, (over, under)| (sum.0 + over, sum.1 + under))
            };
            let batches: Vec<(f64, f64)> = cells.chunks_exact(size).map(batch).collect();
            interval(step, source, (figure, unit), &batches)
        })
        .collect()
}

/// The interval of a figure with its unit, from batches of two sums; none where it is nothing.
pub(super) fn interval(
    step: u32,
    source: Option<&str>,
    (figure, unit): (&str, &str),
    batches: &[(f64, f64)],
) -> Option<Confidence> {
    let mut batches = batches.to_vec();
    while batches.len() > SPANS {
        let sum = |pair: &[(f64, f64)]| (pair[0].0 + pair[1].0, pair[0].1 + pair[1].1);
        batches = batches.chunks_exact(2).map(sum).collect();
    }
    // A correlation found in few batches is too low, by about three times their inverse where there is some.
    let bias = 3.0 / batches.len().max(1) as f64;
    let correlation = von_neumann(&batches).map_or(0.0, |(correlation, _)| correlation + bias);
    let estimate = ratio(&batches, CONFIDENCE, correlation)?;
    (estimate.value > 0.0).then(|| Confidence {
        step,
        source: source.map(str::to_owned),
        figure: figure.to_owned(),
        low: estimate.low.max(0.0),
        high: estimate.high,
        unit: unit.to_owned(),
        level: CONFIDENCE,
        batches: batches.len() as u32,
    })
}

/// How much of the series from the load's start to the end of the measured time is warm-up, where that is more than the
/// first `left_out` cells, which were left out: in cells.
pub(super) fn longer_warmup(cells: &[Cell], left_out: usize) -> Option<usize> {
    let whole = |cells: &[Cell]| cells.iter().fold(Cell::default(), |sum, cell| sum.joined(cell));
    let response = |cell: &Cell| cell.responded as f64 / cell.ended as f64;
    // Pairs at least, so that neighbours depend on each other less; more where little ends in one.
    let grouped = |size: usize| -> Vec<Cell> { cells.chunks_exact(size).map(whole).collect() };
    let (size, groups) = [2, 4, 8]
        .map(|size| (size, grouped(size)))
        .into_iter()
        .find(|(_, groups)| groups.iter().all(|group| group.ended > 0))?;
    let means: Vec<f64> = groups.iter().map(response).collect();
    let cut = mser5(&means) * size;
    if cut <= left_out {
        return None;
    }
    let (early, rest) = (whole(&cells[left_out..cut]), &cells[cut..]);
    let usual = response(&whole(rest));
    let batches: Vec<(f64, f64)> = rest
        .chunks_exact((rest.len() / BATCHES).max(1))
        .map(whole)
        .map(|batch| (batch.responded as f64, batch.ended as f64))
        .collect();
    let noise = ratio(&batches, CERTAIN, 0.0).map_or(0.0, |e| (e.high - e.low) / 2.0);
    // The early part is shorter than the rest, and its mean as much more uncertain.
    let wider = (rest.len() as f64 / (cut - left_out) as f64).sqrt().max(1.0);
    let apart = (response(&early) - usual).abs();
    (apart > (noise * wider).max(MATTERS * usual)).then_some(cut)
}

/// Whether a warm-up of these cells has come to rest: MSER-5 leaves out less than half of it, and what it keeps shows no
/// correlation from one pair of cells to the next. Where nothing varies there is none.
pub(super) fn has_settled(cells: &[Cell]) -> bool {
    let sums = |pair: &[Cell]| {
        let both = pair[0].joined(&pair[1]);
        (both.responded as f64, both.ended as f64)
    };
    let pairs: Vec<(f64, f64)> = cells.chunks_exact(2).map(sums).collect();
    if pairs.iter().any(|(_, ended)| *ended <= 0.0) {
        return false;
    }
    let means: Vec<f64> = pairs.iter().map(|(over, under)| over / under).collect();
    let cut = mser5(&means);
    cut < means.len() / 2
        && von_neumann(&pairs[cut..]).is_none_or(|(_, chance)| chance >= UNCORRELATED)
}

/// The length of the cells of a span; at least a picosecond.
pub(super) fn cell_of(span: Ps) -> Ps {
    Ps((span.0 / CELLS as u64).max(1))
}
