//! The calibration session: reads what can be used of the records, fits it, checks which figures are determined, and
//! collects the results.

use crate::fit::{Fit, Fitter, MATTERS};
use crate::identifiability::{self, Undetermined};
use crate::model::{CalibrationRun, LabModel};
use crate::observed::{self, UsableStep};
use crate::outcome::{
    Calibration, CalibrationWarning, Closeness, Fitted, RunUsed, Skipped, StepResidual,
    UndeterminedFigure, VERSION,
};
use crate::parameter::{FitParameter, usual};
use crate::range::FittedRange;
use crate::rounds::{self, Drift};
use crate::{CalibrateError, Calibrated, CalibrationRequest, structure};
use findings::generator::Limit;
use findings::statistics::quantile;
use findings::{Analysis, Steadiness};
use record::{Record, Status};
use scenario::{Dimension, Medium, Part, Scenario, Source};
use sim::plant::Assumption;
use std::collections::{BTreeMap, BTreeSet};

/// A figure with a greater standard error of its logarithm is not even known roughly.
const ROUGH: f64 = 1.0;
/// Confidence level of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Steps that a warning lists.
const NAMED: usize = 3;
/// A residual of so many standard errors is named: it is not one of the others.
const OUTLYING: f64 = 5.0;
/// Residuals beyond this share mean that the model is wrong somewhere.
const FAR: f64 = 0.1;

pub(crate) fn calibrate(
    records: &[(String, Record)],
    order: &CalibrationRequest,
) -> Result<Calibrated, CalibrateError> {
    let mut cautions = Vec::new();
    let mut skipped = Vec::new();
    let (mut runs, mut used) = (Vec::new(), Vec::new());
    for (name, record) in records {
        let run = read(name, record, order, &mut skipped, &mut cautions)?;
        used.push(run_used(&run, record));
        runs.push(run);
    }
    if runs.iter().all(|run| run.seen.is_empty()) {
        return Err(no_steps(&runs, &skipped));
    }
    let range = FittedRange::of(&runs);
    let drift = rounds::merge(&mut runs);
    let parts = parts(&mut runs, order)?;
    let parameters = parameters(&runs, &parts, order)?;
    let mut fitter = Fitter::new(LabModel::new(runs, parameters, order.seed)?);
    let found = search(&mut fitter)?;
    let basis = Basis { runs: used, skipped, range, drift };
    let outcome = outcome(&mut fitter, &found, basis, cautions)?;
    Ok(Calibrated { calibration: outcome, parts })
}

/// Reads a record with its lab and the steps that can be used.
fn read(
    name: &str,
    record: &Record,
    order: &CalibrationRequest,
    skipped: &mut Vec<Skipped>,
    cautions: &mut Vec<CalibrationWarning>,
) -> Result<CalibrationRun, CalibrateError> {
    let how = match record.status() {
        Status::Complete => None,
        Status::Running => Some("it is running, or was killed"),
        Status::Stopped => Some("it was stopped"),
        Status::Failed => Some("it failed"),
    };
    if let Some(how) = how {
        return Err(CalibrateError::Incomplete { run: name.to_owned(), how });
    }
    let of = &record.head().scenario;
    let source = Source {
        name: of.name.clone(),
        text: of.text.clone(),
        overrides: of.overrides.clone(),
        ..Source::default()
    };
    let lab = |why: String| CalibrateError::Lab { run: name.to_owned(), why };
    let first = |text: String| text.lines().next().unwrap_or_default().to_owned();
    let scenario = scenario::load(&source).map_err(|why| lab(first(why.to_string())))?;
    check_used(name, &scenario, &order.parts)?;
    let topology = scenario.topology().map_err(|why| lab(first(why.to_string())))?;
    let analysis = findings::analyse(record).map_err(|why| match why {
        findings::FindingsError::Record(error) => CalibrateError::Record(error),
    })?;
    let mut seen = observed::steps(name, record, &scenario, &analysis, skipped)?;
    seen.retain(|seen| match sim::lab::compile(&scenario, &topology, &seen.step) {
        Ok(_) => true,
        Err(why) => {
            skipped.push(Skipped { step: seen.label.clone(), why: why.to_string() });
            false
        }
    });
    measurement_warnings(&analysis, &seen, cautions);
    let text = (of.text.clone(), of.overrides.iter().map(|set| format!("{set:?}")).collect());
    Ok(CalibrationRun { name: name.to_owned(), text, scenario, topology, seen })
}

/// Checks that each run's lab uses at least one of the parts.
fn check_used(run: &str, scenario: &Scenario, parts: &[String]) -> Result<(), CalibrateError> {
    let used = parts_used(scenario);
    if parts.iter().any(|part| used.contains(part.as_str())) {
        return Ok(());
    }
    let names: Vec<String> = used.iter().map(|name| format!("`{name}`")).collect();
    let has = match names.is_empty() {
        true => "it uses no parts: give its hosts, adapters or arrays a `part`".to_owned(),
        false => format!("it uses {}", names.join(", ")),
    };
    let part = parts.first().cloned().unwrap_or_default();
    Err(CalibrateError::Unused { run: run.to_owned(), part, has })
}

/// The parts that a lab refers to.
fn parts_used(scenario: &Scenario) -> BTreeSet<&str> {
    let lab = &scenario.lab;
    let mut used: Vec<&str> = Vec::new();
    for host in &lab.hosts {
        used.extend(host.part.as_deref());
        used.extend(host.hypervisor.as_deref());
        used.extend(host.adapters.iter().filter_map(|adapter| adapter.part.as_deref()));
    }
    used.extend(lab.vms.iter().flat_map(|vm| vm.scsi.iter().map(String::as_str)));
    used.extend(lab.switches.iter().filter_map(|switch| switch.part.as_deref()));
    used.extend(lab.arrays.iter().filter_map(|array| array.part.as_deref()));
    used.extend(lab.targets.iter().filter_map(|target| target.part.as_deref()));
    let media = lab.arrays.iter().map(|array| &array.media);
    for medium in media.chain(lab.volumes.iter().map(|volume| &volume.media)).flatten() {
        if let Medium::Part(name) = medium {
            used.push(name);
        }
    }
    used.into_iter().collect()
}

fn no_steps(runs: &[CalibrationRun], skipped: &[Skipped]) -> CalibrateError {
    let names: Vec<&str> = runs.iter().map(|run| run.name.as_str()).collect();
    let mut why: Vec<String> =
        skipped.iter().take(NAMED).map(|of| format!("{}: {}", of.step, of.why)).collect();
    if why.is_empty() {
        why.push("there is none".to_owned());
    }
    CalibrateError::NoSteps { runs: names.join(", "), why: why.join("; ") }
}

/// The parts as in the first run; every run gets its own copy, to be varied.
fn parts(
    runs: &mut [CalibrationRun],
    order: &CalibrationRequest,
) -> Result<Vec<Part>, CalibrateError> {
    let mut all: Vec<Part> = Vec::new();
    for name in &order.parts {
        let mut first: Option<Part> = None;
        for run in runs.iter_mut() {
            if !parts_used(&run.scenario).contains(name.as_str()) {
                continue;
            }
            let lab = &mut run.scenario.lab;
            let Some(part) = lab.part(name).cloned() else { continue };
            if lab.parts.iter().all(|own| own.name != *name) {
                lab.parts.push(part.clone());
            }
            match &first {
                Some(known) if known.kind != part.kind => {
                    let (run, part) = (run.name.clone(), name.clone());
                    return Err(CalibrateError::Kinds { run, part });
                }
                Some(_) => {}
                None => first = Some(part),
            }
        }
        match first {
            Some(part) => all.push(part),
            None => {
                let run = runs.first().map(|run| run.name.clone()).unwrap_or_default();
                let has = "no run of these does".to_owned();
                return Err(CalibrateError::Unused { run, part: name.clone(), has });
            }
        }
    }
    Ok(all)
}

/// The figures asked for, or the usual ones.
fn parameters(
    runs: &[CalibrationRun],
    parts: &[Part],
    order: &CalibrationRequest,
) -> Result<Vec<FitParameter>, CalibrateError> {
    let assumed = assumptions(runs);
    let of = |part: &Part, name: &str| {
        FitParameter::new(part, name, assumed.get(name).map(String::as_str))
    };
    let mut all: Vec<FitParameter> = Vec::new();
    for asked in &order.figures {
        let found = parts.iter().filter_map(|part| {
            let own =
                asked.strip_prefix(part.name.as_str()).and_then(|rest| rest.strip_prefix('.'));
            of(part, own.unwrap_or(asked))
        });
        let before = all.len();
        for parameter in found {
            if all.iter().all(|known| known.name() != parameter.name()) {
                all.push(parameter);
            }
        }
        if all.len() == before
            && all.iter().all(|known| known.figure != asked && known.name() != *asked)
        {
            return Err(unknown(parts, asked));
        }
    }
    if order.figures.is_empty() {
        let usual = |part: &Part| -> Vec<FitParameter> {
            usual(part.kind).iter().filter_map(|name| of(part, name)).collect()
        };
        all = parts.iter().flat_map(usual).collect();
    }
    Ok(all)
}

fn unknown(parts: &[Part], asked: &str) -> CalibrateError {
    let known: Vec<&str> = parts
        .iter()
        .flat_map(|part| {
            let all = scenario::figures_of(part.kind).iter();
            all.filter(|def| FitParameter::new(part, def.name, None).is_some()).map(|def| def.name)
        })
        .collect();
    CalibrateError::Figure { figure: asked.to_owned(), known: known.join(", ") }
}

/// The model's defaults for figures that are not given, by figure.
fn assumptions(runs: &[CalibrationRun]) -> BTreeMap<String, String> {
    let first = runs.iter().filter_map(|run| Some((run, run.seen.first()?)));
    let plants = first
        .filter_map(|(run, seen)| sim::lab::compile(&run.scenario, &run.topology, &seen.step).ok());
    let all = plants.flat_map(|plant| plant.assumptions);
    all.map(|Assumption { figure, value, .. }| (figure, value)).collect()
}

/// The result of a search.
struct SearchResult {
    fit: Fit,
    /// Figures that are not determined, with the reason.
    undetermined: Vec<(usize, Undetermined)>,
    /// Figures with an effect on one side of a value only: logarithms of the ends of their intervals.
    one_sided: BTreeMap<usize, (f64, f64)>,
    /// Figures that are known roughly, but not as they were: the same.
    rough: BTreeMap<usize, (f64, f64)>,
}

/// Fits all figures, then drops the least determined one and fits again until all that are left are determined.
fn search(fitter: &mut Fitter) -> Result<SearchResult, CalibrateError> {
    let mut found = SearchResult {
        fit: fitter.fit(&[], None)?,
        undetermined: Vec::new(),
        one_sided: BTreeMap::new(),
        rough: BTreeMap::new(),
    };
    let mut free: Vec<usize> = (0..fitter.model.parameters.len()).collect();
    for aligned in [false, true] {
        loop {
            // Once aligned, the search continues from its last result.
            found.fit = match aligned {
                false => fitter.fit(&free, None)?,
                true => {
                    let near = fitter.fit(&free, Some(&found.fit.at))?;
                    fitter.fit_aligned(near)?
                }
            };
            let Some((j, why)) =
                identifiability::undetermined(&found.fit, &fitter.model.parameters)
            else {
                break;
            };
            let why = match why {
                Undetermined::Nothing(_) => identifiability::reconsider(fitter, &found.fit, j)?,
                other => other,
            };
            let (one_sided, rough) = match one_sided(fitter, &found.fit, j, &why)? {
                Some(ends) => (Some(ends), None),
                None => (None, rough(fitter, &found.fit, j, &why)?),
            };
            // Either stays where the fit drives it, so that it does not affect the others.
            if one_sided.or(rough).is_some() {
                fitter.rest[j] = found.fit.at[j];
            } else {
                found.undetermined.push((j, why));
            }
            found.one_sided.extend(one_sided.map(|ends| (j, ends)));
            found.rough.extend(rough.map(|ends| (j, ends)));
            free.retain(|k| *k != j);
        }
    }
    Ok(found)
}

/// The ends of the interval of a figure without effect where the fit drives it, but with one at its starting value: a
/// cost of zero, a limit that is not reached. `None` where it has no effect there either.
fn one_sided(
    fitter: &mut Fitter,
    fit: &Fit,
    j: usize,
    why: &Undetermined,
) -> Result<Option<(f64, f64)>, CalibrateError> {
    if matches!(why, Undetermined::Together(_) | Undetermined::AtBound(_)) {
        return Ok(None);
    }
    let variance = fit.variance().unwrap_or(1.0).max(1e-6);
    let t = quantile(CONFIDENCE, fit.freedom().max(1.0));
    let most = fit.cost + t * t * variance;
    let (start, end) = (fitter.rest[j], fit.at[j]);
    let (low, high) = fitter.bounds(j);
    let beyond = if start > end { low } else { high };
    // One that shows beyond as well has two ends.
    if (start - end).abs() < 0.05
        || fitter.cost_with(fit, j, start)? <= most
        || fitter.cost_with(fit, j, beyond)? > most
    {
        return Ok(None);
    }
    let (mut outside, mut inside) = (start, end);
    for _ in 0..30 {
        let middle = (outside + inside) / 2.0;
        match fitter.cost_with(fit, j, middle)? > most {
            true => outside = middle,
            false => inside = middle,
        }
    }
    Ok(Some(if start > end { (low, inside) } else { (inside, high) }))
}

/// The ends of the interval of a figure that the runs determine roughly, but well enough to refute its starting value, with
/// which no other figures fit as well.
fn rough(
    fitter: &mut Fitter,
    fit: &Fit,
    j: usize,
    why: &Undetermined,
) -> Result<Option<(f64, f64)>, CalibrateError> {
    let Undetermined::Vague(error) = *why else { return Ok(None) };
    let variance = fit.variance().unwrap_or(1.0).max(1e-6);
    let t = quantile(0.5 + CONFIDENCE / 2.0, fit.freedom().max(1.0));
    if error > ROUGH || fitter.cost_without(fit, j)? <= fit.cost + t * t * variance {
        return Ok(None);
    }
    let (low, high) = fitter.bounds(j);
    let ends = (fit.at[j] - t * error, fit.at[j] + t * error);
    Ok(Some((ends.0.max(low), ends.1.min(high))))
}

/// What a fit rests on.
struct Basis {
    runs: Vec<RunUsed>,
    skipped: Vec<Skipped>,
    range: FittedRange,
    drift: Option<Drift>,
}

fn outcome(
    fitter: &mut Fitter,
    found: &SearchResult,
    basis: Basis,
    mut warnings: Vec<CalibrationWarning>,
) -> Result<Calibration, CalibrateError> {
    let Basis { runs, skipped, range, drift } = basis;
    let residuals = residuals(fitter, &found.fit);
    let fit = closeness(&found.fit, &residuals, fitter.misfit);
    let figures = figures(fitter, found, drift);
    warnings.extend(structure::trends(&residuals));
    warnings.extend(outlying(&residuals, fitter.misfit));
    warnings.extend(fit_warnings(&fit, &figures, &runs));
    let left_out = found.undetermined.iter().map(|(j, why)| left_out(fitter, *j, why)).collect();
    let drift = drift.map(|drift| drift.share);
    Ok(Calibration {
        version: VERSION,
        runs,
        figures,
        left_out,
        residuals,
        skipped,
        fit,
        range,
        drift,
        warnings,
    })
}

fn figures(fitter: &Fitter, found: &SearchResult, drift: Option<Drift>) -> Vec<Fitted> {
    let fit = &found.fit;
    let covariance = fit.covariance();
    let freedom = fit.freedom();
    let t = match freedom >= 1.0 {
        true => quantile(0.5 + CONFIDENCE / 2.0, freedom),
        false => quantile(0.5 + CONFIDENCE / 2.0, 1e6),
    };
    let mut all = Vec::new();
    for (j, parameter) in fitter.model.parameters.iter().enumerate() {
        let (ends, matters, one_sided) = match fit.free.iter().position(|k| *k == j) {
            Some(n) => {
                let error = covariance.as_ref().map_or(f64::INFINITY, |c| c[n][n].max(0.0).sqrt());
                // A cost differs from time to time as much as the machine, and from load to load as much as the
                // model is off: what is predicted with it is a new observation.
                let (drifts, misfit) = match parameter.dimension {
                    Dimension::Time | Dimension::PerByte => {
                        let drift = drift.map_or(0.0, |drift| {
                            quantile(0.5 + CONFIDENCE / 2.0, drift.rounds as f64 - 1.0)
                                * drift.share
                        });
                        (drift, t * fitter.misfit)
                    }
                    _ => (0.0, 0.0),
                };
                let reach = (t * error).hypot(drifts).hypot(misfit);
                ((fit.at[j] - reach, fit.at[j] + reach), fit.matters(n), false)
            }
            None => match (found.one_sided.get(&j), found.rough.get(&j)) {
                (Some(ends), _) => (*ends, 0.0, true),
                (None, Some(ends)) => (*ends, 0.0, false),
                (None, None) => continue,
            },
        };
        let ends = (ends.0.exp(), ends.1.exp());
        let of = fitted(parameter, fit.at[j].exp(), ends, matters, one_sided);
        all.push(Fitted { only_with: only_with(fitter, found, j), ..of });
    }
    all
}

/// What was left out because the runs determine it only together with a figure.
fn only_with(fitter: &Fitter, found: &SearchResult, j: usize) -> Vec<String> {
    let with = found.undetermined.iter().filter(|(_, why)| match why {
        Undetermined::Together(others) => others.contains(&j),
        _ => false,
    });
    let shown = |(k, _): &(usize, Undetermined)| {
        let of = &fitter.model.parameters[*k];
        format!("{}.{} = {}", of.part, of.figure, of.shown(of.start))
    };
    with.map(shown).collect()
}

fn fitted(
    parameter: &FitParameter,
    value: f64,
    (low, high): (f64, f64),
    matters: f64,
    one_sided: bool,
) -> Fitted {
    let (least, most) = parameter.bounds();
    let whole = parameter.is_whole();
    let base = if whole { value.round() } else { value };
    let (low, high) = match whole {
        true => (low.floor().min(base), high.ceil().max(base)),
        false => (low, high),
    };
    let (low, high) = (low.clamp(least, most), high.clamp(least, most));
    Fitted {
        part: parameter.part.clone(),
        figure: parameter.figure.to_owned(),
        value: parameter.shown(base),
        base,
        low,
        high,
        interval: format!("{} to {}", parameter.shown(low), parameter.shown(high)),
        before: parameter.given.as_ref().map(|given| given.value.clone()),
        matters,
        one_sided,
        only_with: Vec::new(),
    }
}

fn left_out(fitter: &Fitter, j: usize, why: &Undetermined) -> UndeterminedFigure {
    let parameter = &fitter.model.parameters[j];
    UndeterminedFigure {
        part: parameter.part.clone(),
        figure: parameter.figure.to_owned(),
        why: identifiability::reason(why, parameter, &fitter.model.parameters),
        taken: parameter.shown(parameter.start),
        given: parameter.given.is_some(),
        next: identifiability::advice(parameter).to_owned(),
    }
}

fn residuals(fitter: &Fitter, fit: &Fit) -> Vec<StepResidual> {
    let rows = fit.elasticity.chunks(2);
    let sets = fitter.model.sets.iter().zip(&fitter.seen).zip(&fit.fitted).zip(rows);
    sets.map(|(((set, seen), fitted), rows)| {
        let step = &fitter.model.runs[set.run].seen[set.step];
        let groups = || step.groups.iter().filter(|group| set.groups.contains(&group.name));
        let rate: f64 = groups().map(|group| group.rate).sum();
        let [iops, latency] = seen.seen.map(f64::exp);
        let [iops_fitted, latency_fitted] = fitted.map(f64::exp);
        StepResidual {
            step: step.label.clone(),
            vms: set.groups.clone(),
            block: rate / iops,
            in_flight: iops * latency,
            iops,
            iops_fitted,
            iops_error: iops_fitted / iops - 1.0,
            latency,
            latency_fitted,
            latency_error: latency_fitted / latency - 1.0,
            scatter: seen.error,
            informs: rows.iter().flatten().any(|e| e.abs() >= MATTERS),
        }
    })
    .collect()
}

fn closeness(fit: &Fit, residuals: &[StepResidual], misfit: f64) -> Closeness {
    let root = |of: fn(&StepResidual) -> f64| {
        let all: Vec<f64> = residuals.iter().filter(|r| r.informs).map(of).collect();
        (all.iter().map(|e| e * e).sum::<f64>() / (all.len().max(1)) as f64).sqrt()
    };
    Closeness {
        observations: fit.informed.1,
        degrees_of_freedom: fit.freedom(),
        iops_error: root(|r| r.iops_error),
        latency_error: root(|r| r.latency_error),
        excess: fit.excess(),
        misfit,
        condition: identifiability::condition(fit).0,
    }
}

/// Warnings about the fit as a whole.
fn fit_warnings(fit: &Closeness, figures: &[Fitted], runs: &[RunUsed]) -> Vec<CalibrationWarning> {
    let mut all = Vec::new();
    let mut add = |code: &'static str, text: String| all.push(CalibrationWarning { code, text });
    if fit.degrees_of_freedom < 1.0 && figures.iter().any(|of| !of.one_sided) {
        add(
            "no-freedom",
            "there are as many figures as observations, so the quality of the fit is unknown: measure more steps".to_owned(),
        );
    }
    if fit.iops_error.max(fit.latency_error) > FAR {
        add(
            "far-off",
            format!(
                "the fit is {:.0}% off on average: the model lacks something that these runs show; the intervals of costs are as wide as that",
                100.0 * fit.iops_error.max(fit.latency_error)
            ),
        );
    }
    let simulated: Vec<&str> =
        runs.iter().filter(|run| run.simulated).map(|run| run.name.as_str()).collect();
    if !simulated.is_empty() {
        add(
            "simulated",
            format!(
                "{} was simulated: the figures found are those of a model",
                simulated.join(", ")
            ),
        );
    }
    all
}

/// A warning about steps that are so far from the fit that they hardly count.
fn outlying(residuals: &[StepResidual], misfit: f64) -> Option<CalibrationWarning> {
    let far = |of: &&StepResidual| {
        let off = (1.0 + of.iops_error).ln().abs() / of.scatter[0].hypot(misfit);
        let slow = (1.0 + of.latency_error).ln().abs() / of.scatter[1].hypot(misfit);
        of.informs && off.max(slow) > OUTLYING
    };
    let all: Vec<String> = residuals
        .iter()
        .filter(far)
        .map(|of| format!("{} ({:.0} IOPS, fitted {:.0})", of.step, of.iops, of.iops_fitted))
        .collect();
    let named = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    let more = match all.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    (!all.is_empty()).then(|| CalibrationWarning {
        code: "outlying",
        text: format!(
            "far from the fit, so that it counts little; something may have disturbed it, or the model lacks what it shows: {named}{more}"
        ),
    })
}

/// Warnings about the measurements: the generator was the limit, or a step was not steady.
fn measurement_warnings(
    analysis: &Analysis,
    seen: &[UsableStep],
    cautions: &mut Vec<CalibrationWarning>,
) {
    let used = |index: u32| seen.iter().find(|seen| seen.step.index == index);
    let mut limited = Vec::new();
    let mut unsteady = Vec::new();
    for step in &analysis.steps {
        let Some(seen) = used(step.index) else { continue };
        if matches!(step.generator.limit, Limit::Limited | Limit::Suspect) {
            limited.push(format!("{} ({})", seen.label, step.generator.reasons.join("; ")));
        }
        if let Some(Steadiness::NotSteady(moved)) = &step.steady {
            unsteady.push(format!("{} ({})", seen.label, moved.text));
        }
    }
    let mut add = |code: &'static str, of: Vec<String>, text: &str| {
        if of.is_empty() {
            return;
        }
        let more = match of.len().saturating_sub(NAMED) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let named = of.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        cautions.push(CalibrationWarning { code, text: format!("{text}: {named}{more}") });
    };
    add(
        "generator-limited",
        limited,
        "the load generator may have been the limit, so the figures may be its own",
    );
    add("not-steady", unsteady, "the measurement was not steady");
}

fn run_used(run: &CalibrationRun, record: &Record) -> RunUsed {
    let fact = |key: &str| {
        let known = record.facts().iter().find(|fact| fact.key == key);
        known.map(|fact| fact.value.clone())
    };
    let simulated = record
        .facts()
        .iter()
        .any(|f| f.subject == "run" && (f.key == "simulated" || f.key == "estimated"));
    let machine = fact("host").map(|host| {
        let what = [fact("cpu-model"), fact("kernel").map(|k| format!("Linux {k}"))];
        let what: Vec<String> = what.into_iter().flatten().collect();
        match what.is_empty() {
            true => host,
            false => what.join(", "),
        }
    });
    RunUsed {
        name: run.name.clone(),
        title: record.head().title.clone(),
        producer: record.head().producer.name.clone(),
        wall_ns: record.head().wall_ns,
        machine: machine.filter(|_| !simulated),
        simulated,
        steps: run.seen.len(),
    }
}
