//! The parameters of a scenario: every figure that affects what its lab carries and that no data sheet, standard or
//! published document gives.
//!
//! They come from three places. Figures of parts state where they come from. Figures that no part gives are assumed by
//! the solver, which its plant lists; such a figure is varied by giving it to the part. And settings of the scenario:
//! an experiment publishes what was varied and measured, but hardly ever how many I/Os were outstanding, so those
//! settings ([`UNPUBLISHED`]) are parameters unless the scenario says where they come from (`[[assume]]`).

use crate::built::Built;
use crate::stand_in;
use crate::vary::varied;
use scenario::{FigureKind, Lab, Scenario, Source, figures_of};
use serde::Serialize;
use sim::plant::{Assumption, Plant};
use std::collections::{BTreeMap, BTreeSet};

/// Paths of settings that sources do not publish.
pub const UNPUBLISHED: &[&str] = &[
    "workload.*.depth",
    "workload.*.workers",
    "array.*.hit_share",
    "volume.*.hit_share",
    "vm.*.disks.*.queue",
    "host.*.disks.*.queue",
    "link.*.credits",
];

/// A figure without a published source.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Its path as `--set` takes it, or a description where it has none.
    pub name: String,
    /// Its value as written.
    pub value: String,
    /// Where it comes from.
    pub kind: ParameterOrigin,
    /// Its source, or why it has this value.
    pub source: String,
    /// What it plausibly lies between, as written; by its kind where that is not given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<String>,
    /// The claim that it was fitted on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<String>,
    /// Paths to set, with their values, in order to vary it; empty where it cannot be varied.
    #[serde(skip)]
    pub settings: Vec<(String, String)>,
}

/// Where a parameter comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterOrigin {
    /// Assumed by a part or the scenario, with a reason.
    Assumed,
    /// Assumed by the solver, since nothing gives it.
    Default,
    /// Set by the scenario without a reason.
    Unexplained,
    /// Fitted.
    Calibrated,
}

impl Parameter {
    /// Its settings at the lower and the upper end of its plausible range; fewer where an end is no valid value of its
    /// own. A fitted value has none.
    pub fn ends(&self) -> Vec<(String, Vec<(String, String)>)> {
        if self.kind == ParameterOrigin::Calibrated || self.settings.is_empty() {
            return Vec::new();
        }
        if let Some((low, high)) = self.interval.as_deref().and_then(scenario::interval_ends) {
            let all = |end: &str| {
                let each = |(path, _): &(String, String)| (path.clone(), end.to_owned());
                (end.to_owned(), self.settings.iter().map(each).collect())
            };
            return vec![all(low), all(high)];
        }
        let by = |by: f64| {
            let each =
                |(path, value): &(String, String)| Some((path.clone(), least_or(value, by)?));
            let settings = self.settings.iter().map(each).collect::<Option<Vec<_>>>()?;
            Some((settings.first()?.1.clone(), settings))
        };
        let factor = plausible_factor(&self.settings[0].0);
        [1.0 / factor, factor].into_iter().filter_map(by).collect()
    }

    /// Whether it is a number that can be varied.
    pub fn can_vary(&self) -> bool {
        self.settings.iter().all(|(_, value)| varied(value, 1.1).is_some())
            && !self.settings.is_empty()
    }
}

impl ParameterOrigin {
    /// The word that is shown.
    pub fn word(self) -> &'static str {
        match self {
            ParameterOrigin::Assumed => "assumed",
            ParameterOrigin::Default => "default",
            ParameterOrigin::Unexplained => "unexplained",
            ParameterOrigin::Calibrated => "calibrated",
        }
    }
}

/// By how much a parameter without a stated range plausibly differs, by what it is: queues and depths, of which sources
/// say least, by four; limits of rates and shares of hits by a tenth; times and all else by two.
fn plausible_factor(path: &str) -> f64 {
    let key = path.rsplit('.').next().unwrap_or(path);
    match key {
        "depth" | "workers" | "queue" | "credits" | "throttle" => 4.0,
        key if key.ends_with("_queue") => 4.0,
        key if key.ends_with("_rate") || key.ends_with("_max") || key.ends_with("_share") => 1.1,
        _ => 2.0,
    }
}

/// A value times `by`, whole numbers at least 1; `None` where it would stay as it is, or is no number.
fn least_or(value: &str, by: f64) -> Option<String> {
    match varied(value, by) {
        Some((text, _)) => Some(text),
        None => (by < 1.0 && value.trim().parse::<u64>().is_ok_and(|n| n > 1)).then(|| "1".into()),
    }
}

/// All distinct parameters of a scenario whose steps have these plants: of parts, then solver defaults, then settings.
pub fn parameters(source: &Source, built: &Built, plants: &[Plant]) -> Vec<Parameter> {
    let mut all = of_parts(&built.scenario, plants);
    all.extend(defaults(source, &built.scenario, plants));
    all.extend(settings(source, &built.scenario));
    let mut seen = BTreeSet::new();
    all.retain(|parameter| seen.insert(parameter.name.clone()));
    all
}

/// Assumed or calibrated figures of the parts that the lab names.
fn of_parts(scenario: &Scenario, plants: &[Plant]) -> Vec<Parameter> {
    let mut names: BTreeSet<&str> = named(&scenario.lab).into_iter().collect();
    let hops = plants.iter().flat_map(|plant| &plant.hops);
    names.extend(hops.filter_map(|hop| hop.part.as_deref()));
    let parts = names.into_iter().filter_map(|name| scenario.lab.part(name));
    let figures = parts.flat_map(|part| part.figures.iter().map(move |figure| (part, figure)));
    let of = |(part, figure): (&scenario::Part, &scenario::Figure)| {
        let name = format!("part.{}.{}", part.name, figure.name);
        Some(Parameter {
            settings: vec![(name.clone(), figure.value.clone())],
            name,
            value: figure.value.clone(),
            kind: origin(figure.kind)?,
            source: figure.source.clone(),
            interval: figure.interval.clone(),
            claim: figure.claim.clone(),
        })
    };
    figures.filter_map(of).collect()
}

/// The origin of a figure of this kind; `None` where it has a source.
fn origin(kind: FigureKind) -> Option<ParameterOrigin> {
    match kind {
        FigureKind::Assumed => Some(ParameterOrigin::Assumed),
        FigureKind::Calibrated => Some(ParameterOrigin::Calibrated),
        FigureKind::DataSheet | FigureKind::Published | FigureKind::Standard => None,
    }
}

/// The parts that a lab names.
pub fn named(lab: &Lab) -> Vec<&str> {
    let hosts = lab.hosts.iter().flat_map(|host| {
        let adapters = host.adapters.iter().map(|adapter| &adapter.part);
        [&host.part, &host.hypervisor].into_iter().chain(adapters)
    });
    let arrays = lab.arrays.iter().map(|array| &array.part);
    let switches = lab.switches.iter().map(|switch| &switch.part);
    let targets = lab.targets.iter().map(|target| &target.part);
    let optional = hosts.chain(arrays).chain(switches).chain(targets).flatten();
    let scsi = lab.vms.iter().flat_map(|vm| &vm.scsi);
    optional.chain(scsi).map(String::as_str).collect()
}

/// Solver defaults: under the part that could give them, or else for all hops and devices they apply to.
fn defaults(source: &Source, scenario: &Scenario, plants: &[Plant]) -> Vec<Parameter> {
    let mut of_parts: BTreeMap<String, Parameter> = BTreeMap::new();
    let mut others: BTreeMap<SolverDefault, BTreeSet<&str>> = BTreeMap::new();
    for plant in plants {
        for assumption in &plant.assumptions {
            let Assumption { subject, figure, value, reason } = assumption;
            let part = part_of(scenario, plant, assumption);
            let stands = part == Some(stand_in::NAME);
            let Some(part) = part.filter(|_| !stands) else {
                let assumed = SolverDefault { figure, value, reason, stands };
                others.entry(assumed).or_default().insert(subject);
                continue;
            };
            let name = format!("part.{part}.{figure}");
            let settings = vec![(name.clone(), value.clone())];
            let parameter = of_parts.entry(name.clone());
            parameter.or_insert_with(|| default(name, value, reason, settings));
        }
    }
    let others = others.into_iter().map(|(of, subjects)| {
        let SolverDefault { figure, value, reason, stands } = of;
        let settings = match stands {
            true => vec![(format!("part.{}.{figure}", stand_in::NAME), value.to_owned())],
            false => of_vms(source, figure, value),
        };
        default(together(figure, &subjects), value, reason, settings)
    });
    let others: Vec<Parameter> = others.collect();
    of_parts.into_values().chain(others).collect()
}

/// A solver default and the hops and devices it applies to.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct SolverDefault<'a> {
    figure: &'a str,
    value: &'a str,
    reason: &'a str,
    /// A part that is not given could have the figure, and a stand-in part exists.
    stands: bool,
}

fn default(name: String, value: &str, reason: &str, settings: Vec<(String, String)>) -> Parameter {
    let (value, source) = (value.to_owned(), reason.to_owned());
    let kind = ParameterOrigin::Default;
    Parameter { name, value, kind, source, interval: None, claim: None, settings }
}

/// The name of a default that applies to several hops or devices.
fn together(figure: &str, subjects: &BTreeSet<&str>) -> String {
    let first = subjects.first().copied().unwrap_or_default();
    match subjects.len() {
        0 | 1 => format!("{figure} of {first}"),
        n => format!("{figure} of {first} and {} more", n - 1),
    }
}

/// The settings that give VMs without this figure the assumed value; empty where VMs have no such key.
fn of_vms(source: &Source, figure: &str, value: &str) -> Vec<(String, String)> {
    if figure != "vcpus" {
        return Vec::new();
    }
    let vms = |key: &str| {
        let found = scenario::settings(source, &format!("vm.*.{key}")).into_iter();
        let path = |of: scenario::AssumedSetting| of.path.strip_suffix(key).map(str::to_owned);
        found.filter_map(path).collect::<BTreeSet<String>>()
    };
    let (all, given) = (vms("name"), vms(figure));
    all.difference(&given).map(|vm| (format!("{vm}{figure}"), value.to_owned())).collect()
}

/// The part that could give an assumed figure.
fn part_of<'a>(scenario: &'a Scenario, plant: &'a Plant, of: &Assumption) -> Option<&'a str> {
    let lab = &scenario.lab;
    let hop = plant.hops.iter().find(|hop| hop.name == of.subject);
    let device = hop.map_or(of.subject.as_str(), |hop| hop.device.as_str());
    let array = device.split('/').next().unwrap_or(device);
    let of_hop = hop.and_then(|hop| hop.part.as_deref());
    let of_host = lab.hosts.iter().find(|host| host.name == device);
    let of_host = of_host.map(|host| [&host.part, &host.hypervisor]).into_iter().flatten();
    let of_vm = lab.vms.iter().find(|vm| vm.name == device);
    let of_array = lab.arrays.iter().find(|found| found.name == array).map(|array| &array.part);
    let of_switch = lab.switches.iter().find(|switch| switch.name == device);
    let named = of_host.chain(of_array).chain(of_switch.map(|switch| &switch.part)).flatten();
    let scsi = of_vm.iter().flat_map(|vm| &vm.scsi);
    let known = of_hop.into_iter().chain(named.chain(scsi).map(String::as_str));
    let takes = |name: &&str| {
        let kind = lab.part(name).map(|part| part.kind);
        kind.is_some_and(|kind| figures_of(kind).iter().any(|def| def.name == of.figure))
    };
    known.into_iter().find(takes)
}

/// Settings that the experiment's source does not publish.
fn settings(source: &Source, scenario: &Scenario) -> Vec<Parameter> {
    let mut all: Vec<Parameter> = Vec::new();
    let explained = scenario.assumed.iter().flat_map(|assumed| &assumed.settings);
    let mut taken: BTreeSet<&str> = explained.map(|setting| setting.path.as_str()).collect();
    for assumed in &scenario.assumed {
        let Some(kind) = origin(assumed.kind) else { continue };
        let mut values: Vec<&str> = Vec::new();
        for setting in &assumed.settings {
            if !values.contains(&setting.value.as_str()) {
                values.push(&setting.value);
            }
        }
        all.push(Parameter {
            name: assumed.name.clone(),
            value: values.join(", "),
            kind,
            source: assumed.source.clone(),
            interval: assumed.interval.clone(),
            claim: assumed.claim.clone(),
            settings: pairs(&assumed.settings),
        });
    }
    let found: Vec<_> =
        UNPUBLISHED.iter().flat_map(|path| scenario::settings(source, path)).collect();
    for setting in &found {
        if taken.insert(&setting.path) {
            all.push(Parameter {
                name: setting.path.clone(),
                value: setting.value.clone(),
                kind: ParameterOrigin::Unexplained,
                source: "the scenario does not say".to_owned(),
                interval: None,
                claim: None,
                settings: vec![(setting.path.clone(), setting.value.clone())],
            });
        }
    }
    all
}

fn pairs(settings: &[scenario::AssumedSetting]) -> Vec<(String, String)> {
    settings.iter().map(|setting| (setting.path.clone(), setting.value.clone())).collect()
}
