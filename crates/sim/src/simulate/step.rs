//! One step, simulated from its first I/O to its last: warm-up, measured time, cool-down, in simulated time.
//!
//! Intervals are cut at whole seconds and at phase edges, as a live engine cuts them. Between the cuts the step goes on in
//! cells, after each of which it may stop; the cells of the measured time yield its confidence intervals. Its events depend on
//! the plant and the seeds alone.

use super::batches::Batches;
use super::confidence;
use super::hops::HopReader;
use super::meter::{Cell, Meter};
use super::named::Named;
use super::step_event::{Cut, HopHead, Note, StepEvent, StepStart, machines, named};
use super::stocks::Stocks;
use crate::Ps;
use crate::engine::{Seeds, Simulation, UnderWay};
use crate::estimate::experiments;
use crate::plant::{MachinePair, Plant};
use crate::study::CELLS;
use campaign::{Control, Warming, planned, remeasured};
use clock::Ns;
use record::{Interval, Level, Phase, SourceId, StepTimes};
use scenario::{Change, Step};
use std::sync::atomic::{AtomicU64, Ordering};

/// A warm-up so many times as long as the measured time is not checked: the rule considers at most half of all cells.
const ASKED_MOST: u64 = 16;
/// A pilot is doubled so often at most.
const DOUBLINGS_MOST: u32 = 6;

/// What a step is simulated with besides its plant.
pub(super) struct StepTerms<'a> {
    pub named: &'a Named,
    pub seeds: Seeds,
    /// The warm-up goes on until it has settled.
    pub settle: bool,
    pub stop: &'a Control,
    /// Nanoseconds that all steps have been simulated for.
    pub advanced: &'a AtomicU64,
}

/// Why a step ended before its time.
enum EarlyEnd {
    /// The user ended it, or the listener is gone.
    Stopped,
    /// It cannot go on.
    Failed(String),
}

/// Simulates a step up to its end or a reported failure. `tell` returns false when the listener is gone.
pub(super) fn simulate(
    step: &Step,
    plant: Plant,
    terms: &StepTerms,
    tell: &mut dyn FnMut(StepEvent) -> bool,
) {
    let workers = names(&plant);
    let meter = Meter::new(&plant, &workers);
    let ended = match Simulation::observed(&plant.network, terms.seeds, meter) {
        Ok(simulation) => {
            let step_run = StepRun {
                step,
                hop_reader: HopReader::new(&plant),
                batches: Batches::new(&plant, terms.named),
                stocks: Stocks::new(&plant),
                pairs: plant.pairs.clone(),
                simulation,
                terms,
                workers: workers.len(),
                times: planned(step, Ns::ZERO),
                cut: Ns::ZERO,
                cells: Vec::new(),
                under_way: Vec::new(),
                warming: None,
                tell,
            };
            step_run.run(plant, workers)
        }
        Err(error) => Err(EarlyEnd::Failed(error.to_string())),
    };
    if let Err(EarlyEnd::Failed(why)) = ended {
        tell(StepEvent::Failed(why));
    }
}

/// The names of the workers, each once, in the order of the issuers.
fn names(plant: &Plant) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for issuer in &plant.issuers {
        if !names.contains(&issuer.source) {
            names.push(issuer.source.clone());
        }
    }
    names
}

struct StepRun<'a> {
    step: &'a Step,
    simulation: Simulation<Meter>,
    hop_reader: HopReader,
    batches: Batches,
    stocks: Stocks,
    pairs: Vec<MachinePair>,
    terms: &'a StepTerms<'a>,
    workers: usize,
    times: StepTimes,
    /// Until when intervals have been cut.
    cut: Ns,
    /// Cells of the phases so far that are asked for.
    cells: Vec<Cell>,
    /// I/Os under way at the last edge.
    under_way: Vec<UnderWay>,
    warming: Option<Warming>,
    tell: &'a mut dyn FnMut(StepEvent) -> bool,
}

impl StepRun<'_> {
    fn run(mut self, plant: Plant, workers: Vec<String>) -> Result<(), EarlyEnd> {
        let head = |hop: crate::plant::PlantHop| HopHead {
            name: hop.name,
            kind: hop.kind,
            device: hop.device,
            limits: hop.limits,
        };
        let begun = StepStart {
            experiments: named(&plant, experiments(&plant)),
            issuers: plant.issuers,
            workers,
            hops: plant.hops.into_iter().map(head).collect(),
            assumptions: plant.assumptions,
            pairs: plant.pairs,
            notes: plant.notes,
            times: self.times,
        };
        self.say(StepEvent::StepStart(Box::new(begun)))?;
        let cell = confidence::cell_of(self.times.measured().into());
        let warm = self.warm_up(cell)?;
        self.times = remeasured(&self.times, self.cut);
        self.simulation.choose_transfers();
        self.edge();
        self.simulation.observer_mut().restart();
        self.batches.begin(&mut self.simulation);
        self.advance(Phase::Measure, self.times.cooldown, cell)?;
        self.tell_incidents()?;
        self.tell_stocks()?;
        let measured = self.cells.get(warm..).unwrap_or_default();
        let measured = &measured[..measured.len().min(CELLS)];
        let (index, seconds) = (self.step.index, cell.as_secs_f64());
        // Streams have intervals by the names of their pairs.
        let mut intervals = match self.workers {
            0 => Vec::new(),
            _ => confidence::intervals(index, None, measured, seconds),
        };
        intervals.extend(self.batches.intervals(index, seconds));
        self.ask_of_warmup(warm, cell)?;
        self.cells.clear();
        let cooldown = Ns(self.times.end.0.saturating_sub(self.cut.0));
        self.advance(Phase::Cooldown, self.times.end, unkept(cooldown, cell))?;
        self.say(StepEvent::Done(intervals))
    }

    /// Load that is not measured; how many of the cells are its own.
    fn warm_up(&mut self, cell: Ps) -> Result<usize, EarlyEnd> {
        let planned: Ns = self.step.warmup.into();
        if !self.step.incidents.is_empty() {
            // Their moments are in the network already, and count from a measurement that begins as announced.
            self.advance(Phase::Warmup, self.times.measure, unkept(planned, cell))?;
            self.cells.clear();
            return Ok(0);
        }
        if let Some(rule) = self.step.steady {
            self.warming = Some(Warming::new(rule, &self.times, planned, self.workers));
            self.until_steady(cell)?;
            self.warming = None;
            self.cells.clear();
            return Ok(0);
        }
        if self.terms.settle && !self.step.ends_with_loads() {
            self.pilot(planned)?;
            self.cells.clear();
            return Ok(0);
        }
        let asked = planned.0 <= self.times.measured().0.saturating_mul(ASKED_MOST);
        let cell = if asked { cell } else { unkept(planned, cell) };
        self.advance(Phase::Warmup, self.times.measure, cell)?;
        if !asked {
            self.cells.clear();
        }
        Ok(self.cells.len())
    }

    /// Warms up until the plan's rule holds, for as long as the plan lets it at most.
    fn until_steady(&mut self, cell: Ps) -> Result<(), EarlyEnd> {
        let most = self.times.measure;
        loop {
            let until = next_second(self.cut).min(most);
            self.advance(Phase::Warmup, until, unkept(Ns::secs(1), cell))?;
            self.cells.clear();
            let Some(warming) = &self.warming else { return Ok(()) };
            let Some(warmed) = warming.look(self.cut, Ns::ZERO) else { continue };
            let (at, level, code, text) = (self.cut, warmed.level, warmed.code, warmed.text);
            self.say(StepEvent::Note(Note { at, level, code, text }))?;
            self.times = remeasured(&self.times, self.cut);
            return self.say(StepEvent::Times(self.times));
        }
    }

    /// Warms up until the figures have settled: a pilot as in [`crate::study`], doubled until then.
    fn pilot(&mut self, least: Ns) -> Result<(), EarlyEnd> {
        let first = if least > Ns::ZERO { least } else { self.times.measured() };
        let mut cell = Ps::nanos((first.0 / CELLS as u64).max(1));
        for doubled in 0..=DOUBLINGS_MOST {
            let until = self.cut.plus(Ns(cell.as_ns().0 * (CELLS - self.cells.len()) as u64));
            self.advance(Phase::Warmup, until, cell)?;
            let at = self.cut;
            let load = at.as_secs_f64();
            let note = if confidence::has_settled(&self.cells) {
                let text = format!(
                    "settled after {load:.3} s of load, by MSER-5 and a test of correlation"
                );
                Note { at, level: Level::Info, code: "settled", text }
            } else if doubled == DOUBLINGS_MOST {
                let text = format!(
                    "not settled after {load:.3} s of load, measured anyway: lengthen `warmup`, or the load \
                     grows without end"
                );
                Note { at, level: Level::Warning, code: "never-settled", text }
            } else {
                let pairs = self.cells.chunks_exact(2).map(|pair| pair[0].joined(&pair[1]));
                self.cells = pairs.collect();
                cell = Ps(cell.0.saturating_mul(2));
                continue;
            };
            self.say(StepEvent::Note(note))?;
            self.times = remeasured(&self.times, self.cut);
            return self.say(StepEvent::Times(self.times));
        }
        Ok(())
    }

    /// What failed, was restored or moved in the measured time.
    fn tell_incidents(&mut self) -> Result<(), EarlyEnd> {
        for incident in &self.step.incidents {
            let (code, text) = match &incident.change {
                Change::Fail(name) => ("incident-fail", format!("{name} failed")),
                Change::Restore(name) => ("incident-restore", format!("{name} works again")),
                Change::Move { vm, to } => ("incident-move", format!("{vm} moved to {to}")),
                // No plant is made of a step with these.
                other @ (Change::Hamper { .. } | Change::Kill(_)) => {
                    ("incident-fail", other.to_string())
                }
            };
            let at = self.times.measure.plus(incident.at.into());
            self.say(StepEvent::Note(Note { at, level: Level::Info, code, text }))?;
        }
        Ok(())
    }

    /// Warns of stocks that filled while the step was measured.
    fn tell_stocks(&mut self) -> Result<(), EarlyEnd> {
        let at = self.times.cooldown;
        for text in self.stocks.warnings(self.times.measured().as_secs_f64()) {
            self.say(StepEvent::Note(Note {
                at,
                level: Level::Warning,
                code: "stock-grows",
                text,
            }))?;
        }
        Ok(())
    }

    /// Warns of a warm-up that was too short.
    fn ask_of_warmup(&mut self, warm: usize, cell: Ps) -> Result<(), EarlyEnd> {
        let chosen = self.step.steady.is_some() || self.terms.settle;
        if chosen || self.step.ends_with_loads() || !self.step.incidents.is_empty() {
            return Ok(());
        }
        let Some(longer) = confidence::longer_warmup(&self.cells, warm) else { return Ok(()) };
        let seconds = |cells: usize| cells as f64 * cell.as_secs_f64();
        let text = format!(
            "the warm-up of {:.3} s was too short: MSER-5 leaves out {:.3} s; lengthen `warmup`, or let `--settle` do it",
            self.times.measure.as_secs_f64(),
            seconds(longer),
        );
        let at = self.times.cooldown;
        self.say(StepEvent::Note(Note { at, level: Level::Warning, code: "warmup-short", text }))
    }

    /// Simulates a phase until a moment, cutting intervals on the way and gathering its cells.
    fn advance(&mut self, phase: Phase, until: Ns, cell: Ps) -> Result<(), EarlyEnd> {
        let end = Ps::from(until);
        let mut next_cell = self.simulation.now().plus(cell);
        self.edge();
        self.simulation.observer_mut().take_cell();
        while self.simulation.now() < end {
            let second = Ps::from(next_second(self.simulation.now().as_ns()));
            let next = next_cell.min(second).min(end);
            let before = self.simulation.now();
            let halted = self.simulation.run_until(next).err();
            let passed = next.as_ns().since(before.as_ns());
            self.terms.advanced.fetch_add(passed.0, Ordering::Relaxed);
            if let Some(halt) = halted {
                return Err(EarlyEnd::Failed(halt.to_string()));
            }
            self.edge();
            if next == next_cell {
                self.cells.push(self.simulation.observer_mut().take_cell());
                if phase == Phase::Measure {
                    self.batches.look(&mut self.simulation);
                    self.stocks.look(&self.simulation);
                }
                next_cell = next_cell.plus(cell);
            }
            let stopped = self.terms.stop.stopped();
            if next == second || next == end || stopped {
                self.cut(phase)?;
            }
            if stopped {
                return Err(EarlyEnd::Stopped);
            }
            if phase != Phase::Warmup && (next == second || next == end) && self.is_over() {
                return self.say(StepEvent::Times(self.times));
            }
        }
        Ok(())
    }

    /// Whether the step ends here, at a whole second, because its loads are done; its times are then those.
    fn is_over(&mut self) -> bool {
        if !self.step.ends_with_loads() {
            return false;
        }
        let Some(done) = self.simulation.over_at() else { return false };
        // To the end of the nanosecond in which the last I/O ended.
        let times = campaign::finished(&self.times, done.as_ns().plus(Ns(1)), self.cut);
        let over = times.end == self.cut;
        if over {
            self.times = times;
        }
        over
    }

    /// Tells the meter how far the I/Os under way are.
    fn edge(&mut self) {
        self.simulation.under_way(&mut self.under_way);
        self.simulation.observer_mut().edge(&self.under_way);
    }

    fn cut(&mut self, phase: Phase) -> Result<(), EarlyEnd> {
        let (from, to) = (self.cut, self.simulation.now().as_ns());
        if to <= from {
            return Ok(());
        }
        self.cut = to;
        let workers = self.simulation.observer_mut().take();
        let others = self.simulation.observer_mut().take_others();
        let hops = self.hop_reader.readings(&mut self.simulation);
        let streams = self.simulation.observer_mut().take_streams();
        let machines = machines(&self.pairs, &hops);
        let mut cut = Cut { phase, from, to, workers, others, hops, streams, machines };
        self.warming.iter_mut().for_each(|warming| watch(warming, &mut cut));
        self.say(StepEvent::Cut(Box::new(cut)))
    }

    fn say(&mut self, step_event: StepEvent) -> Result<(), EarlyEnd> {
        if (self.tell)(step_event) { Ok(()) } else { Err(EarlyEnd::Stopped) }
    }
}

/// Adds a cut's worker intervals to the warm-up rule; the cut keeps them.
fn watch(warming: &mut Warming, cut: &mut Cut) {
    let (phase, from, to) = (cut.phase, cut.from, cut.to);
    for (number, tallies) in (0..).zip(&mut cut.workers) {
        let [read, write] = std::mem::take(tallies);
        let source = SourceId(number);
        let interval = Interval {
            others: Default::default(),
            source,
            step: 0,
            phase,
            from,
            to,
            read,
            write,
            testimony: None,
        };
        warming.add(&interval);
        *tallies = [interval.read, interval.write];
    }
}

/// The cells of a span of which none is kept: no shorter than needed, since each looks at the whole network.
fn unkept(span: Ns, cell: Ps) -> Ps {
    cell.max(Ps(Ps::from(span).0 / CELLS as u64))
}

/// The first whole second after `at`.
pub(super) fn next_second(at: Ns) -> Ns {
    Ns((at.0 / 1_000_000_000 + 1) * 1_000_000_000)
}
