//! Simulates a network until its figures can be trusted: warm-up discarded, runs as long as needed and replicated with
//! independent seeds on any number of threads.
//!
//! A run begins with a warm-up that is discarded; the rest is cut into [`CELLS`] spans of equal length, which form
//! [`BATCHES`] batches. With [`Length::Settled`] a pilot finds both lengths: it is doubled (its cells merged in pairs,
//! so that memory stays constant) until von Neumann's test finds no correlation within it and MSER-5 puts the end of
//! the warm-up in its first half. The pilot is the warm-up, and a span of the same length is measured. The measured
//! data thus has no influence on how much is measured: choosing a warm-up by the data that is kept cost 1% of coverage,
//! and choosing when to stop by it cost as much again.
//!
//! Each run is a function of the network and of (seed, run number) alone, and runs are merged in the order of their
//! numbers, so the number of threads changes nothing.

use crate::Ps;
use crate::engine::{Halt, SetUpError, Simulation, Snapshot};
use crate::model::{Network, StationId};
use crate::statistics::{ConfidenceInterval, TimeHistogram, mser5, ratio, von_neumann};
use clock::Rng;
use thiserror::Error;

/// Spans that a run is cut into.
pub const CELLS: usize = 320;
/// Batches that a run yields.
pub const BATCHES: usize = 32;
/// From this many runs on, each run is one batch.
const RUNS_AS_BATCHES: usize = 10;
/// Pairs of cells count as uncorrelated when von Neumann's test gives at least this probability.
const UNCORRELATED: f64 = 0.3;

/// How to study a network.
#[derive(Clone, Copy, Debug)]
pub struct StudyPlan {
    /// Seeds all randomness.
    pub seed: u64,
    /// How long each run is.
    pub length: Length,
    /// Replications with independent seeds, at least 1.
    pub runs: u32,
    /// Threads that share the runs, at least 1. Changes no result.
    pub threads: usize,
}

/// The length of a run, in simulated time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Length {
    /// Given.
    Fixed {
        /// Discarded.
        warmup: Ps,
        /// The span that figures are taken from.
        measured: Ps,
    },
    /// Found by a pilot.
    Settled {
        /// The pilot's initial length.
        first: Ps,
        /// The pilot's greatest length; a pilot that reaches it reports that it has not settled.
        most: Ps,
    },
}

/// Why a study has no result.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum StudyError {
    /// The simulation could not be set up.
    #[error(transparent)]
    SetUp(#[from] SetUpError),
    /// A run could not continue.
    #[error("run {run}: {halt}")]
    Halt {
        /// The run's number.
        run: u32,
        /// Why.
        halt: Halt,
    },
}

/// The result of one run.
#[derive(Clone, Debug)]
pub struct Replication {
    /// The counts of each cell after the warm-up, in order.
    pub cells: Vec<Snapshot>,
    /// Length of the warm-up.
    pub warmup: Ps,
    /// Whether the pilot settled; always true with [`Length::Fixed`].
    pub settled: bool,
    /// Events dispatched, warm-up included.
    pub events: u64,
    histograms: Histograms,
}

/// The results of all runs.
#[derive(Clone, Debug)]
pub struct Study {
    /// In the order of run numbers.
    pub runs: Vec<Replication>,
}

#[derive(Clone, Debug)]
struct Histograms {
    stations: Vec<TimeHistogram>,
    service: Vec<TimeHistogram>,
    response: Vec<TimeHistogram>,
}

/// Simulates `network` as `plan` says.
///
/// # Errors
/// The network cannot be simulated, or a run halts.
pub fn study(network: &Network, plan: &StudyPlan) -> Result<Study, StudyError> {
    let (runs, threads) = (plan.runs.max(1), plan.threads.max(1));
    let of_thread = |first: usize| {
        let numbers = (first as u32..runs).step_by(threads);
        numbers.map(|number| run(network, plan, number)).collect::<Vec<_>>()
    };
    let mut shares: Vec<_> = std::thread::scope(|scope| {
        let of_thread = &of_thread;
        let others: Vec<_> =
            (1..threads).map(|first| scope.spawn(move || of_thread(first))).collect();
        let mine = of_thread(0);
        let joined = others.into_iter().map(|other| match other.join() {
            Ok(share) => share,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        std::iter::once(mine).chain(joined).map(Vec::into_iter).collect()
    });
    let in_order = (0..runs as usize).filter_map(|number| shares[number % threads].next());
    Ok(Study { runs: in_order.collect::<Result<_, _>>()? })
}

/// Executes one run.
fn run(network: &Network, plan: &StudyPlan, number: u32) -> Result<Replication, StudyError> {
    let halted = |halt| StudyError::Halt { run: number, halt };
    let seed = Rng::keyed(plan.seed, &[u64::from(number)]).next_u64();
    let mut course = RunInProgress { simulation: Simulation::new(network, seed)?, cell: Ps(1) };
    let settled = match plan.length {
        Length::Fixed { warmup, measured } => {
            course.simulation.run_until(warmup).map_err(halted)?;
            course.cell = cell_of(measured);
            true
        }
        Length::Settled { first, most } => {
            course.cell = cell_of(first);
            course.pilot(most).map_err(halted)?
        }
    };
    let warmup = course.simulation.now();
    let before = course.histograms();
    let mut cells = Vec::with_capacity(CELLS);
    course.fill(&mut cells).map_err(halted)?;
    let mut histograms = course.histograms();
    histograms.subtract(&before);
    Ok(Replication { cells, warmup, settled, events: course.simulation.dispatched(), histograms })
}

/// The cell length for a span.
fn cell_of(span: Ps) -> Ps {
    Ps((span.0 / CELLS as u64).max(1))
}

/// A run in progress.
struct RunInProgress {
    simulation: Simulation,
    /// Length of a cell.
    cell: Ps,
}

impl RunInProgress {
    /// Simulates until all cells are there.
    fn fill(&mut self, cells: &mut Vec<Snapshot>) -> Result<(), Halt> {
        let mut before = self.simulation.snapshot();
        while cells.len() < CELLS {
            self.simulation.run_until(before.at.plus(self.cell))?;
            let now = self.simulation.snapshot();
            cells.push(now.since(&before));
            before = now;
        }
        Ok(())
    }

    /// Simulates until the run has settled, at most `most`; whether it settled.
    fn pilot(&mut self, most: Ps) -> Result<bool, Halt> {
        let mut cells = Vec::with_capacity(CELLS);
        loop {
            self.fill(&mut cells)?;
            if settled(&cells) {
                return Ok(true);
            }
            if self.simulation.now() >= Ps(most.0.div_ceil(2)) {
                return Ok(false);
            }
            self.cell = Ps(self.cell.0.saturating_mul(2));
            cells = cells.chunks_exact(2).map(|pair| pair[0].joined(&pair[1])).collect();
        }
    }

    fn histograms(&self) -> Histograms {
        let simulation = &self.simulation;
        let all = |of: &dyn Fn(u32) -> Option<TimeHistogram>| (0..).map_while(of).collect();
        Histograms {
            stations: all(&|number| simulation.latency(StationId(number)).cloned()),
            service: all(&|number| simulation.service(number).cloned()),
            response: all(&|number| simulation.response(number)),
        }
    }
}

impl Histograms {
    /// Subtracts the counts of `before`.
    fn subtract(&mut self, before: &Histograms) {
        let each = |ours: &mut [TimeHistogram], theirs: &[TimeHistogram]| {
            ours.iter_mut().zip(theirs).for_each(|(ours, theirs)| ours.subtract(theirs));
        };
        each(&mut self.stations, &before.stations);
        each(&mut self.service, &before.service);
        each(&mut self.response, &before.response);
    }
}

/// The sum of the response times of a span's I/Os, over all classes, and their number.
fn responses(span: &Snapshot) -> (f64, f64) {
    let responded: u128 = span.classes.iter().map(|class| class.responded).sum();
    let ended: u64 = span.classes.iter().map(|class| class.tally.departures).sum();
    (responded as f64, ended as f64)
}

/// Whether a pilot with these cells is long enough: pairs of cells show no correlation, so batches of five pairs each
/// have none that matters. Constant results have none.
fn settled(cells: &[Snapshot]) -> bool {
    let pairs: Vec<(f64, f64)> = cells.chunks_exact(2).map(|pair| sums(pair, &responses)).collect();
    if pairs.iter().any(|(_, ended)| *ended <= 0.0) {
        return false;
    }
    let means: Vec<f64> = pairs.iter().map(|(over, under)| over / under).collect();
    mser5(&means) < means.len() / 2
        && von_neumann(&pairs).is_none_or(|(_, probability)| probability >= UNCORRELATED)
}

/// Both sums of a figure for each batch of cells.
fn batches(cells: &[Snapshot], figure: &impl Fn(&Snapshot) -> (f64, f64)) -> Vec<(f64, f64)> {
    let size = (cells.len() / BATCHES).max(1);
    cells.chunks_exact(size).map(|batch| sums(batch, figure)).collect()
}

fn sums(cells: &[Snapshot], figure: &impl Fn(&Snapshot) -> (f64, f64)) -> (f64, f64) {
    let add = |sum: (f64, f64), (a, b): (f64, f64)| (sum.0 + a, sum.1 + b);
    cells.iter().map(figure).fold((0.0, 0.0), add)
}

impl Study {
    /// A figure that is the ratio of two sums over time (bytes over seconds, residence times over I/Os), with its
    /// confidence interval at level `confidence` (0 to 1). `figure` returns both sums for a span.
    ///
    /// `None` where the denominator is zero.
    pub fn estimate(
        &self,
        confidence: f64,
        figure: impl Fn(&Snapshot) -> (f64, f64),
    ) -> Option<ConfidenceInterval> {
        if self.runs.len() >= RUNS_AS_BATCHES {
            let runs: Vec<(f64, f64)> =
                self.runs.iter().map(|run| sums(&run.cells, &figure)).collect();
            return ratio(&runs, confidence, 0.0);
        }
        let mut all = Vec::new();
        let (mut products, mut counted) = (0.0, 0.0);
        for run in &self.runs {
            let batches = batches(&run.cells, &figure);
            if let Some((correlation, _)) = von_neumann(&batches) {
                products += correlation;
                counted += 1.0;
            }
            all.extend(batches);
        }
        let correlation: f64 = if counted > 0.0 { products / counted } else { 0.0 };
        ratio(&all, confidence, correlation.max(0.0))
    }

    /// Residence times at a station over all runs, warm-ups excluded; `None` for an unknown station.
    pub fn latency(&self, station: StationId) -> Option<TimeHistogram> {
        self.merged(|histograms| histograms.stations.get(station.0 as usize))
    }

    /// Times from issue to end of a class, numbered through all loads; `None` for an unknown class.
    pub fn service(&self, class: u32) -> Option<TimeHistogram> {
        self.merged(|histograms| histograms.service.get(class as usize))
    }

    /// Times from due to end of a class; `None` for an unknown class.
    pub fn response(&self, class: u32) -> Option<TimeHistogram> {
        self.merged(|histograms| histograms.response.get(class as usize))
    }

    fn merged(&self, of: impl Fn(&Histograms) -> Option<&TimeHistogram>) -> Option<TimeHistogram> {
        let mut all = self.runs.iter().map(|run| of(&run.histograms));
        let mut merged = all.next()??.clone();
        all.flatten().for_each(|histogram| merged.add(histogram));
        Some(merged)
    }

    /// Events dispatched in all runs, warm-ups included.
    pub fn events(&self) -> u64 {
        self.runs.iter().map(|run| run.events).sum()
    }
}
