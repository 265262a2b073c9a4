//! The model: the scenario of each record on its lab, estimated with varied figures of parts.
//!
//! An estimate knows only means and is a few percent off where queueing matters, so it is *aligned*: each step is
//! simulated once at the best values so far, and every later estimate is multiplied by the ratio of simulation to
//! estimate there (output space mapping: J. W. Bandler et al., *IEEE Trans. Microwave Theory and Techniques* 52, 2004).
//! What is fitted is thus what `wirespeed simulate` will report.

use crate::CalibrateError;
use crate::observed::UsableStep;
use crate::parameter::{FitParameter, blank};
use scenario::topology::Topology;
use scenario::{Figure, FigureKind, Scenario};
use sim::Ps;
use sim::estimate::{Estimate, estimate};
use sim::plant::Plant;
use sim::study::{Length, StudyPlan, study};
use std::collections::BTreeMap;

/// I/Os that a step is simulated for, so that its figures are accurate to a few thousandths.
const IOS: f64 = 60_000.0;
/// Greatest simulated time of a step, in seconds.
const SECONDS_MAX: f64 = 20.0;
/// The warm-up, as a share of the measured time.
const WARM_UP: f64 = 0.2;

/// Logarithms of operations a second and of mean latency in seconds.
pub(crate) type LogFigures = [f64; 2];

/// A run with the lab of its scenario.
pub(crate) struct CalibrationRun {
    pub name: String,
    /// The scenario's text and what was set over it: runs that agree in both are rounds.
    pub text: (String, Vec<String>),
    pub scenario: Scenario,
    pub topology: Topology,
    pub seen: Vec<UsableStep>,
}

/// VMs of a step that the model cannot tell apart: one observation.
#[derive(Clone, Debug)]
pub(crate) struct VmSet {
    pub run: usize,
    pub step: usize,
    /// Names of the VMs.
    pub groups: Vec<String>,
}

/// All runs, and the figures to vary.
pub(crate) struct LabModel {
    pub runs: Vec<CalibrationRun>,
    pub parameters: Vec<FitParameter>,
    pub sets: Vec<VmSet>,
    /// Simulation over estimate, as logarithms, by set.
    aligned: Vec<LogFigures>,
    seed: u64,
}

/// Per group of a step: operations a second, and the seconds that a second's operations take together.
type Flows = BTreeMap<String, [f64; 2]>;

impl LabModel {
    /// The model of these runs, with its sets at the starting values.
    pub fn new(
        runs: Vec<CalibrationRun>,
        parameters: Vec<FitParameter>,
        seed: u64,
    ) -> Result<LabModel, CalibrateError> {
        let mut model = LabModel { runs, parameters, sets: Vec::new(), aligned: Vec::new(), seed };
        let start: Vec<f64> = model.parameters.iter().map(|p| p.start).collect();
        let all = model.flows(&start)?;
        let mut at = 0;
        for (run, of) in (0..).zip(&model.runs) {
            for (step, seen) in (0..).zip(&of.seen) {
                model.sets.extend(sets(run, step, seen, &all[at]));
                at += 1;
            }
        }
        model.aligned = vec![[0.0; 2]; model.sets.len()];
        Ok(model)
    }

    /// The model's values for each set at these figures.
    pub fn predict(&mut self, values: &[f64]) -> Result<Vec<LogFigures>, CalibrateError> {
        let plain = self.between(values)?;
        let aligned = plain.iter().zip(&self.aligned);
        Ok(aligned.map(|(pair, by)| [pair[0] + by[0], pair[1] + by[1]]).collect())
    }

    /// The values before alignment. Whole numbers are interpolated between their neighbours, so that a fit has a slope.
    fn between(&mut self, values: &[f64]) -> Result<Vec<LogFigures>, CalibrateError> {
        let broken = self.parameters.iter().zip(values).position(|(parameter, value)| {
            parameter.is_whole() && (value.round() - value).abs() > 1e-9
        });
        let Some(j) = broken else {
            let flows = self.flows(values)?;
            return Ok(self.pairs(&flows));
        };
        let with = |value: f64| {
            let mut values = values.to_vec();
            values[j] = value;
            values
        };
        let (low, high) = (values[j].floor(), values[j].ceil());
        let share = values[j] - low;
        let (below, above) = (self.between(&with(low))?, self.between(&with(high))?);
        let mix = |a: f64, b: f64| a + share * (b - a);
        let both = below.iter().zip(&above);
        Ok(both.map(|(a, b)| [mix(a[0], b[0]), mix(a[1], b[1])]).collect())
    }

    /// Simulates every step at these figures, and aligns all later estimates with the result.
    pub fn align(&mut self, values: &[f64]) -> Result<(), CalibrateError> {
        let values: Vec<f64> = self
            .parameters
            .iter()
            .zip(values)
            .map(|(of, value)| if of.is_whole() { value.round() } else { *value })
            .collect();
        let seed = self.seed;
        let (mut estimated, mut simulated) = (Vec::new(), Vec::new());
        self.each(&values, &mut |plant| {
            let estimate = estimate(plant);
            simulated.push(simulate(plant, &estimate, seed)?);
            estimated.push(of_estimate(plant, &estimate));
            Ok(())
        })?;
        let (estimated, simulated) = (self.pairs(&estimated), self.pairs(&simulated));
        let difference = |(s, e): (&LogFigures, &LogFigures)| [s[0] - e[0], s[1] - e[1]];
        let by = simulated.iter().zip(&estimated).map(difference);
        // A step without results in the simulation keeps its estimate.
        self.aligned = by.map(|by| by.map(|x| if x.is_finite() { x } else { 0.0 })).collect();
        Ok(())
    }

    fn flows(&mut self, values: &[f64]) -> Result<Vec<Flows>, CalibrateError> {
        let mut all = Vec::new();
        self.each(values, &mut |plant| {
            all.push(of_estimate(plant, &estimate(plant)));
            Ok(())
        })?;
        Ok(all)
    }

    /// Passes the plant of every step to `f`, in order, with the figures set.
    fn each(
        &mut self,
        values: &[f64],
        f: &mut dyn FnMut(&Plant) -> Result<(), CalibrateError>,
    ) -> Result<(), CalibrateError> {
        for run in &mut self.runs {
            for (parameter, value) in self.parameters.iter().zip(values) {
                set_figure(&mut run.scenario, parameter, parameter.exact(*value));
            }
            for seen in &run.seen {
                let plant = sim::lab::compile(&run.scenario, &run.topology, &seen.step);
                let plant = plant.map_err(|why| CalibrateError::Lab {
                    run: run.name.clone(),
                    why: why.to_string(),
                })?;
                f(&plant)?;
            }
        }
        Ok(())
    }

    /// The values of all sets from the flows of all steps.
    fn pairs(&self, flows: &[Flows]) -> Vec<LogFigures> {
        let first: Vec<usize> = self
            .runs
            .iter()
            .scan(0, |at, run| {
                let first = *at;
                *at += run.seen.len();
                Some(first)
            })
            .collect();
        let pair = |set: &VmSet| {
            let of = &flows[first[set.run] + set.step];
            let sum = set.groups.iter().filter_map(|group| of.get(group));
            let [ops, time] = sum.fold([0.0; 2], |sum, flow| [sum[0] + flow[0], sum[1] + flow[1]]);
            [ops.ln(), (time / ops).ln()]
        };
        self.sets.iter().map(pair).collect()
    }
}

/// The sets of a step: VMs with the same workloads and equal estimates.
fn sets(run: usize, step: usize, seen: &UsableStep, flows: &Flows) -> Vec<VmSet> {
    let mut by_kind: BTreeMap<(Vec<String>, [i64; 2]), Vec<String>> = BTreeMap::new();
    for group in &seen.groups {
        let flow = flows.get(&group.name).copied().unwrap_or_default();
        let coarse = flow.map(|x| (x.max(1e-12).ln() * 1e4).round() as i64);
        by_kind.entry((group.workloads.clone(), coarse)).or_default().push(group.name.clone());
    }
    by_kind.into_values().map(|groups| VmSet { run, step, groups }).collect()
}

/// Sets a figure of a part: in the scenario's own parts, which take precedence over the catalog's.
pub(crate) fn set_figure(scenario: &mut Scenario, parameter: &FitParameter, value: String) {
    let parts = &mut scenario.lab.parts;
    let Some(part) = parts.iter_mut().find(|part| part.name == parameter.part) else { return };
    match part.figures.iter_mut().find(|figure| figure.name == parameter.figure) {
        Some(figure) => figure.value = value,
        None => {
            let (name, kind) = (parameter.figure.to_owned(), FigureKind::Calibrated);
            part.figures.push(Figure { name, value, kind, ..blank() });
        }
    }
}

fn of_estimate(plant: &Plant, estimate: &Estimate) -> Flows {
    let mut flows = Flows::new();
    for (issuer, of) in plant.issuers.iter().zip(&estimate.issuers) {
        let sum = flows.entry(issuer.group.clone()).or_default();
        for flow in &of.flows {
            *sum = [sum[0] + flow.ops, sum[1] + flow.time];
        }
    }
    flows
}

/// The simulated values of a step.
fn simulate(plant: &Plant, estimate: &Estimate, seed: u64) -> Result<Flows, CalibrateError> {
    let seconds = (IOS / estimate.iops.max(1.0)).min(SECONDS_MAX);
    let length = Length::Fixed {
        warmup: Ps::from_secs_f64(WARM_UP * seconds),
        measured: Ps::from_secs_f64(seconds),
    };
    let study = study(&plant.network, &StudyPlan { seed, length, runs: 1, threads: 1 })
        .map_err(|why| CalibrateError::Simulation(why.to_string()))?;
    let mut loads: BTreeMap<u32, [f64; 2]> = BTreeMap::new();
    let mut span = 0.0;
    for cell in study.runs.iter().flat_map(|run| &run.cells) {
        span += cell.at.as_secs_f64();
        for class in &cell.classes {
            let sum = loads.entry(class.load).or_default();
            sum[0] += class.tally.departures as f64;
            sum[1] += class.tally.stayed as f64 / 1e12;
        }
    }
    let mut flows = Flows::new();
    for issuer in &plant.issuers {
        let [ops, time] = loads.get(&issuer.load.0).copied().unwrap_or_default();
        let sum = flows.entry(issuer.group.clone()).or_default();
        *sum = [sum[0] + ops / span, sum[1] + time / span];
    }
    Ok(flows)
}
