//! An access specification that is like a trace, with the error of each of its figures and what it leaves out.

mod bursts;
mod popularity;
mod text;

pub use bursts::{BurstFit, ScaleFit};
pub use popularity::ZipfFit;

use crate::{Summary, Tally, TraceFacts, TraceIo};
use bursts::Dispersion;
use clock::Ns;
use popularity::Popularity;
use std::collections::{BTreeMap, VecDeque};
use workload::Dir;

/// Parts of a trace whose figures are compared for their error.
const BATCHES: usize = 20;
/// The 97.5% point of Student's t with 19 degrees of freedom.
const T: f64 = 2.093;
/// Units behind the end of a run where I/Os are by chance alone.
const DECOY: u64 = 1009;
/// Runs that are followed on a device.
const RUNS: usize = 64;

/// A figure with half of its 95% interval.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Figure {
    /// The estimate.
    pub value: f64,
    /// Half of its interval.
    pub error: f64,
}

/// Sums over a part of a trace.
#[derive(Clone, Copy, Default)]
struct Batch {
    ios: f64,
    reads: f64,
    bytes: f64,
    /// I/Os that follow no run, by direction, and all of the direction.
    random: [f64; 2],
    moved: [f64; 2],
    latency: f64,
    timed: f64,
    from: Ns,
    to: Ns,
}

/// Looks at a trace as it passes: twice, since the length of its parts and its usual size must be known.
pub struct Fitter {
    facts: TraceFacts,
    unit: u64,
    batches: Vec<Batch>,
    runs: BTreeMap<(u16, Dir), VecDeque<u64>>,
    /// For how many I/Os a run was found at which place of the list: how many streams there are.
    depth: [u64; RUNS],
    popularity: Popularity,
    dispersion: Dispersion,
    seen: u64,
    /// Of each direction and size the offsets joined bit by bit, and their number.
    aligned: BTreeMap<(Dir, u32), (u64, u64)>,
}

/// Sizes whose alignment is looked at, at most.
const SIZES: usize = 4096;
/// So many offsets tell an alignment: by chance one in 2^16 sets of them would be aligned twice as well.
const OFFSETS: u64 = 16;

/// The largest power of two that divides all offsets of a size, up to the size itself.
fn alignment(
    ((dir, len), (offsets, number)): ((Dir, u32), (u64, u64)),
) -> Option<((Dir, u32), u64)> {
    let most = u64::from(len).checked_next_power_of_two()?;
    let align = 1_u64.checked_shl(offsets.trailing_zeros()).unwrap_or(most).min(most);
    (number >= OFFSETS && align >= 512).then_some(((dir, len), align))
}

/// A trace as an access specification.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// What the trace holds.
    pub facts: TraceFacts,
    /// Share of reads, in percent.
    pub read: Figure,
    /// Random I/Os among reads and among writes, in percent.
    pub random: [Figure; 2],
    /// Mean size of an I/O.
    pub size: Figure,
    /// I/Os a second.
    pub rate: Figure,
    /// Sequential streams at once: those of 95% of the I/Os that follow one.
    pub streams: u32,
    /// The unit in which addresses were counted.
    pub unit: u64,
    /// Skew and number of blocks of random I/Os, where they tell.
    pub zipf: Option<ZipfFit>,
    /// The arrivals' states, where they are more bursty than Poisson's.
    pub bursts: Option<BurstFit>,
    /// Arrivals are evenly spaced.
    pub even: bool,
    /// The arrivals' dispersion over scales.
    pub scales: Vec<ScaleFit>,
    /// Mean latency in seconds, where the trace has latencies.
    pub latency: Option<Figure>,
    /// Of I/Os of a direction and size the power of two that all their offsets are multiples of, where enough were seen.
    pub align: BTreeMap<(Dir, u32), u64>,
}

impl Fitter {
    /// A fitter of a trace that has been counted.
    pub fn new(facts: TraceFacts) -> Fitter {
        let usual = facts.sizes.iter().find(|size| size.dir.moves_data() && size.len > 0);
        Fitter {
            unit: usual.map_or(4096, |size| u64::from(size.len)),
            facts,
            batches: vec![Batch::default(); BATCHES],
            runs: BTreeMap::new(),
            depth: [0; RUNS],
            popularity: Popularity::default(),
            dispersion: Dispersion::default(),
            seen: 0,
            aligned: BTreeMap::new(),
        }
    }

    /// A fitter of I/Os that are in memory.
    pub fn of(ios: &[TraceIo]) -> Fitter {
        let mut summary = Summary::default();
        ios.iter().for_each(|io| summary.add(io));
        let mut fitter = Fitter::new(summary.finish(&[], &Tally::default()));
        ios.iter().for_each(|io| fitter.add(io));
        fitter
    }

    /// Looks at an I/O; they come in order of issue.
    pub fn add(&mut self, io: &TraceIo) {
        self.dispersion.add(io.at);
        let part = (self.seen * BATCHES as u64 / self.facts.ios.max(1)).min(BATCHES as u64 - 1);
        self.seen += 1;
        let batch = &mut self.batches[part as usize];
        if batch.ios == 0.0 {
            batch.from = io.at;
        }
        batch.to = io.at;
        batch.ios += 1.0;
        if let Some(latency) = io.latency {
            batch.latency += latency.as_secs_f64();
            batch.timed += 1.0;
        }
        if !io.dir.moves_data() {
            return;
        }
        if self.aligned.len() < SIZES || self.aligned.contains_key(&(io.dir, io.len)) {
            let seen = self.aligned.entry((io.dir, io.len)).or_insert((0, 0));
            *seen = (seen.0 | io.offset, seen.1 + 1);
        }
        let dir = usize::from(io.dir == Dir::Write);
        batch.reads += f64::from(u8::from(dir == 0));
        batch.bytes += f64::from(io.len);
        batch.moved[dir] += 1.0;
        let runs = self.runs.entry((io.device, io.dir)).or_default();
        match runs.iter().position(|end| *end == io.offset) {
            Some(place) => {
                self.depth[place] += 1;
                runs.remove(place);
            }
            None => {
                batch.random[dir] += 1.0;
                // As many random I/Os follow a run by chance as fall just so far behind one: too far for a stride.
                let decoy = |end: &u64| end.saturating_add(DECOY * self.unit) == io.offset;
                batch.random[dir] += runs.iter().filter(|end| decoy(end)).count() as f64;
                self.popularity
                    .add(u64::from(io.device) << 48 | (io.offset / self.unit) & 0xffff_ffff_ffff);
                if runs.len() == RUNS {
                    runs.pop_back();
                }
            }
        }
        runs.push_front(io.end());
    }

    /// The specification.
    pub fn finish(self) -> Fit {
        let batches: Vec<Batch> =
            self.batches.into_iter().filter(|batch| batch.ios > 0.0).collect();
        let over = |of: &dyn Fn(&Batch) -> Option<f64>, whole: f64| {
            let all: Vec<f64> = batches.iter().filter_map(of).collect();
            let mean = all.iter().sum::<f64>() / all.len().max(1) as f64;
            let squares: f64 = all.iter().map(|x| (x - mean).powi(2)).sum();
            let error = match all.len() {
                0 | 1 => f64::INFINITY,
                n => T * (squares / (n as f64 - 1.0) / n as f64).sqrt(),
            };
            Figure { value: whole, error }
        };
        let sum = |of: &dyn Fn(&Batch) -> f64| batches.iter().map(of).sum::<f64>();
        let ratio = |above: &dyn Fn(&Batch) -> f64, below: &dyn Fn(&Batch) -> f64| {
            let one = |b: &Batch| (below(b) > 0.0).then(|| above(b) / below(b));
            let whole = sum(below);
            over(&one, if whole > 0.0 { sum(above) / whole } else { 0.0 })
        };
        let percent =
            |figure: Figure| Figure { value: figure.value * 100.0, error: figure.error * 100.0 };
        let moved = |b: &Batch| b.moved[0] + b.moved[1];
        let seconds = |b: &Batch| b.to.since(b.from).as_secs_f64();
        let rate = over(
            &|b| (seconds(b) > 0.0).then(|| (b.ios - 1.0) / seconds(b)),
            self.facts.ios as f64 / self.facts.span.as_secs_f64().max(1e-9),
        );
        let latency = (self.facts.timed > 0).then(|| ratio(&|b| b.latency, &|b| b.timed));
        let followed: u64 = self.depth.iter().sum();
        let mut upto = 0;
        let streams = self.depth.iter().position(|n| {
            upto += n;
            upto * 20 >= followed * 19
        });
        let even = self.dispersion.is_even();
        let (bursts, scales) = self.dispersion.fit(rate.value, 1);
        Fit {
            read: percent(ratio(&|b| b.reads, &moved)),
            random: [
                percent(ratio(&|b| b.random[0], &|b| b.moved[0])),
                percent(ratio(&|b| b.random[1], &|b| b.moved[1])),
            ],
            size: ratio(&|b| b.bytes, &moved),
            rate,
            streams: if followed > 0 { streams.map_or(1, |n| n as u32 + 1) } else { 0 },
            unit: self.unit,
            zipf: self.popularity.fit(),
            bursts,
            even,
            scales,
            latency,
            align: self.aligned.into_iter().filter_map(alignment).collect(),
            facts: self.facts,
        }
    }
}
