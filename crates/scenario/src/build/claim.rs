//! Claims: their subjects must exist, the steps that they select must be run, and their content must be consistent.

use super::verdict::{
    VerdictBuilder, held_against, means, metric, of_word, selected, value, whose,
};
use super::{complain, place, text_of};
use crate::claim::{Claim, ClaimKind, Form, Relation, Shape, ShapePoint};
use crate::datum::Decoded;
use crate::diagnostics::{At, Class, Mistake};
use crate::model::*;
use crate::nearest::{join, suggestion};
use crate::tree::clip;
use std::collections::BTreeMap;
use workload::WorkingSet;

/// Keys of claims that state a metric.
const METRICS: &[&str] = &["read", "write", "total", "iops", "latency", "cpu"];

/// How far a point may be from a line, in percent, where a shape does not say: as far as "about" goes at most.
const NEAR_A_LINE: f64 = 5.0;

pub(super) fn hops_of(record: &Decoded) -> Vec<At<String>> {
    let points = record.record("shape").map(|shape| shape.records("points")).unwrap_or_default();
    let points = points.into_iter().filter_map(|point| point.text("hop"));
    let other = record.record("ratio").and_then(|ratio| ratio.text("to_hop"));
    record.text("hop").into_iter().chain(other).chain(points).collect()
}

/// What a claim says, and where its figures are in the text; a shape has none.
struct Claimed<'r> {
    key: &'static str,
    metric: Metric,
    to: Vec<(String, String)>,
    to_hop: Option<String>,
    shape: Option<Shape>,
    holder: &'r Decoded,
    figures: &'static str,
}

impl<'r> Claimed<'r> {
    fn plain(
        key: &'static str,
        metric: Metric,
        holder: &'r Decoded,
        figures: &'static str,
    ) -> Claimed<'r> {
        Claimed { key, metric, to: Vec::new(), to_hop: None, shape: None, holder, figures }
    }
}

impl VerdictBuilder<'_> {
    /// All claims of the file, in their order.
    pub(super) fn claims(&mut self, records: &[&Decoded]) -> Vec<Claim> {
        let all: Vec<(&Decoded, Option<Claim>)> =
            records.iter().map(|record| (*record, self.claim(record))).collect();
        self.check_names(&all);
        all.into_iter().filter_map(|(_, claim)| claim).collect()
    }

    fn claim(&mut self, record: &Decoded) -> Option<Claim> {
        let step = self.selection(record, "step");
        let scope = match record.record("balance") {
            Some(balance) => self.balanced(balance)?,
            None => self.scope(record)?,
        };
        let said = self.claimed(record, &step)?;
        let Claimed { key, metric, holder, figures, .. } = said;
        if metric != Metric::Imbalance {
            self.check_metric(record, key, &scope, metric);
        }
        let items = if said.shape.is_some() { Vec::new() } else { holder.items(figures) };
        for item in &items {
            self.check_wire(record, holder, figures, &item.value);
        }
        let readings: Vec<Value> = items.iter().filter_map(|item| value(&item.value)).collect();
        let is_data = matches!(metric, Metric::ReadRate | Metric::WriteRate | Metric::TotalRate);
        let frames = if is_data { self.frames(record, &readings) } else { None };
        // "Within 0.3%" is a bound and not a figure.
        let usual = if metric == Metric::Imbalance { Relation::UpTo } else { Relation::Equal };
        let relation = record.word("relation").map_or(usual, |at| relation(at.value));
        let kind = record.word("kind").map(|at| claim_kind(at.value))?;
        let text = |key| record.text(key).map(|at| at.value);
        let name =
            text("name").unwrap_or_else(|| claim_name(record, &said, relation, &readings, &step));
        let Claimed { to, to_hop, shape, .. } = said;
        (!readings.is_empty() || shape.is_some()).then(|| Claim {
            name,
            step,
            scope,
            metric,
            to,
            to_hop,
            shape,
            relation,
            readings,
            frames,
            kind,
            twin_of: text("twin_of"),
            note: text("note"),
            source: text("source"),
        })
    }

    /// The metric of a claim, with the key that states it; the other side, where it is a ratio; its shape, where it is
    /// one; and where its figures are in the text.
    fn claimed<'r>(
        &mut self,
        record: &'r Decoded,
        step: &[(String, String)],
    ) -> Option<Claimed<'r>> {
        if let Some(ratio) = record.record("ratio") {
            return self.claimed_ratio(record, ratio);
        }
        if let Some(holder) = record.record("shape") {
            let shape = Some(self.shape(holder, step)?);
            let plain = Claimed::plain("shape", of_word(holder), holder, "");
            return Some(Claimed { shape, ..plain });
        }
        if let Some(holder) = record.record("balance") {
            return Some(Claimed::plain("balance", Metric::Imbalance, holder, "within"));
        }
        let (key, metric) = metric(record, METRICS)?;
        Some(match record.record(key) {
            Some(holder) => Claimed::plain(key, metric, holder, "value"),
            None => Claimed::plain(key, metric, record, key),
        })
    }

    fn claimed_ratio<'r>(&mut self, record: &Decoded, ratio: &'r Decoded) -> Option<Claimed<'r>> {
        let (metric, to) = self.against(ratio);
        let to_hop = self.hop(ratio, "to_hop");
        if ratio.has("to_hop") && to_hop.is_none() {
            return None;
        }
        if record.has("each") && to_hop.is_some() {
            complain(
                ratio,
                "to_hop",
                "separate members cannot be compared with one hop",
                self.sink,
            );
        }
        if !ratio.has("to") && !ratio.has("to_hop") {
            self.sink.push(|| {
                Mistake::new(ratio.at, "ratio: it needs `to` or `to_hop`")
                    .class(Class::Absence)
                    .help("add the reference step, as in `to = { plan = \"four\" }`")
            });
        }
        let known = !to.is_empty() || (to_hop.is_some() && !ratio.has("to"));
        known.then_some(Claimed { to, to_hop, ..Claimed::plain("ratio", metric, ratio, "is") })
    }

    /// The reading that the physics of frames supports, which must be one of the readings.
    fn frames(&mut self, record: &Decoded, readings: &[Value]) -> Option<Value> {
        let frames = value(&record.get("frames")?.value)?;
        if !readings.is_empty() && !readings.contains(&frames) {
            let readings: Vec<String> = readings.iter().map(|r| format!("`{r}`")).collect();
            let problem = format!(
                "`{frames}` is not one of the readings, which are {}",
                join(&readings, "and")
            );
            complain(record, "frames", problem, self.sink);
            return None;
        }
        Some(frames)
    }

    /// The stated form of a curve.
    fn shape(&mut self, table: &Decoded, step: &[(String, String)]) -> Option<Shape> {
        let along = table.text("along");
        let mut points = match &along {
            Some(axis) => self.along(axis, step)?,
            None => self.points(table, step)?,
        };
        let key = if along.is_some() { "along" } else { "points" };
        points.sort_by(|a, b| a.at.total_cmp(&b.at));
        if points.len() < 2 {
            if table.has(key) {
                complain(table, key, "a shape needs at least two steps", self.sink);
            }
            return None;
        }
        if let Some(two) = points.windows(2).find(|two| two[0].at == two[1].at) {
            let problem = format!("two points are at {}", two[0].label);
            complain(table, key, problem, self.sink);
            return None;
        }
        let is = match table.word("is")?.value {
            "linear" => Form::Linear,
            "constant" => Form::Constant,
            "rising" => Form::Rising,
            _ => Form::Falling,
        };
        if is == Form::Linear && points[0].at <= 0.0 {
            let problem =
                "`linear` cannot use a position of 0; remove that point, or write `rising`";
            complain(table, key, problem, self.sink);
            return None;
        }
        let usual = if matches!(is, Form::Linear | Form::Constant) { NEAR_A_LINE } else { 0.0 };
        let within = table.percent("within").map_or(usual, |at| at.value.0);
        Some(Shape { along: along.map(|at| at.value), points, is, within })
    }

    /// The values of an axis of the plans that a claim selects, as points.
    fn along(&mut self, axis: &At<String>, step: &[(String, String)]) -> Option<Vec<ShapePoint>> {
        let plan = step.iter().find(|(key, _)| key == "plan").map(|(_, name)| name);
        let plans: Vec<&Plan> =
            self.plans.iter().filter(|p| plan.is_none_or(|name| p.name == *name)).collect();
        let axes = || plans.iter().flat_map(|plan| &plan.sweep);
        let mut points: Vec<(ShapePoint, AxisDimension)> = Vec::new();
        for Axis { key, values } in axes().filter(|a| means(&axis.value, &a.key)) {
            for value in values {
                let Some((at, dimension)) = amount(value) else {
                    let problem = format!("{value} of `{key}` is neither a size nor a number");
                    self.mistake(axis, problem, Class::Value, None);
                    return None;
                };
                let (label, step) = (value.to_string(), vec![(key.clone(), value.to_string())]);
                let point = ShapePoint { at, label, step, hop: None };
                if !points.iter().any(|(known, _)| known.at == at) {
                    points.push((point, dimension));
                }
            }
        }
        if points.is_empty() {
            let keys = axes().map(|axis| axis.key.as_str());
            let problem = format!("no plan that it selects sweeps `{}`", clip(&axis.value));
            let help = suggestion(&axis.value, keys);
            self.mistake(axis, problem, Class::Absence, help);
            return None;
        }
        if points.windows(2).any(|two| two[0].1 != two[1].1) {
            let problem = format!("the values of `{}` are not of one kind", clip(&axis.value));
            self.mistake(axis, problem, Class::Value, None);
            return None;
        }
        Some(points.into_iter().map(|(point, _)| point).collect())
    }

    fn mistake(&mut self, at: &At<String>, problem: String, class: Class, help: Option<String>) {
        self.sink.push(|| {
            Mistake::new(at.at, format!("along: {problem}")).class(class).maybe_help(help)
        });
    }

    fn points(&mut self, table: &Decoded, step: &[(String, String)]) -> Option<Vec<ShapePoint>> {
        let records = table.records("points");
        let points: Vec<Option<ShapePoint>> =
            records.iter().map(|record| self.point(record, step)).collect();
        points.into_iter().collect()
    }

    fn point(&mut self, record: &Decoded, of: &[(String, String)]) -> Option<ShapePoint> {
        let hop = self.hop(record, "hop");
        if record.has("hop") && hop.is_none() {
            return None;
        }
        let at = record.number("at")?.value;
        let mut step = Vec::new();
        if let Some(plan) = record.get("plan").and_then(text_of) {
            if !self.plans.iter().any(|known| known.name == plan.value) {
                self.sink.push(|| {
                    let names = self.plans.iter().map(|plan| plan.name.as_str());
                    let message = format!("no plan is named `{}`", clip(&plan.value));
                    let help = suggestion(&plan.value, names);
                    Mistake::new(plan.at, message).class(Class::Absence).maybe_help(help)
                });
                return None;
            }
            step.push(("plan".to_owned(), plan.value));
        }
        step.extend(self.selection(record, "step"));
        if step.is_empty() && hop.is_none() {
            let problem = "it has no differing setting, such as `plan = \"two\"`";
            complain(record, "at", problem, self.sink);
            return None;
        }
        if let Some((key, _)) = step.iter().find(|(key, _)| of.iter().any(|(k, _)| k == key)) {
            let problem = format!("the claim's own `step` sets `{key}` for all points");
            complain(record, if key == "plan" { "plan" } else { "step" }, problem, self.sink);
            return None;
        }
        Some(ShapePoint { at, label: at.to_string(), step, hop })
    }

    /// Names are unique, and twins exist and lead to a claim that is no twin itself.
    fn check_names(&mut self, all: &[(&Decoded, Option<Claim>)]) {
        let name = |record: &Decoded, claim: &Option<Claim>| match claim {
            Some(claim) => Some(claim.name.clone()),
            None => record.text("name").map(|at| at.value),
        };
        let mut first: BTreeMap<String, &Decoded> = BTreeMap::new();
        for (record, claim) in all {
            let Some(name) = name(record, claim) else { continue };
            let Some(other) = first.get(&name) else {
                first.insert(name, record);
                continue;
            };
            let (at, other) = (place(record, "name"), place(other, "name"));
            self.sink.push(|| {
                Mistake::new(at, format!("two claims are named `{}`", clip(&name)))
                    .label("the second")
                    .related(other, "the first is here")
                    .help("give each its own `name`, which the verdict shows")
            });
        }
        let twins: BTreeMap<&str, String> = first
            .iter()
            .filter_map(|(name, record)| Some((name.as_str(), record.text("twin_of")?.value)))
            .collect();
        for (record, claim) in all {
            let (Some(twin), Some(name)) = (record.text("twin_of"), name(record, claim)) else {
                continue;
            };
            if !first.contains_key(&twin.value) {
                self.sink.push(|| {
                    let message = format!("no claim is named `{}`", clip(&twin.value));
                    let help = suggestion(&twin.value, first.keys().map(String::as_str));
                    Mistake::new(twin.at, message).class(Class::Absence).maybe_help(help)
                });
            } else if is_in_circle(&name, &twins) {
                let problem = match twin.value == name {
                    true => "a claim cannot be its own twin",
                    false => {
                        "these claims are twins of each other in a circle; remove one `twin_of`"
                    }
                };
                complain(record, "twin_of", problem, self.sink);
            }
        }
    }
}

/// Whether the twins of a claim form a circle.
fn is_in_circle(name: &str, twins: &BTreeMap<&str, String>) -> bool {
    let mut next = twins.get(name);
    for _ in 0..twins.len() {
        match next {
            Some(twin) if twin == name => return true,
            Some(twin) => next = twins.get(twin.as_str()),
            None => return false,
        }
    }
    false
}

/// The unit of a value of an axis: values of one axis are compared with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AxisDimension {
    Number,
    Bytes,
    Percent,
    Rate,
}

/// A setting as a number, where it is one.
fn amount(setting: &Setting) -> Option<(f64, AxisDimension)> {
    Some(match setting {
        Setting::Block(size) | Setting::Message(size) => (size.0 as f64, AxisDimension::Bytes),
        Setting::Depth(n)
        | Setting::Workers(n)
        | Setting::Members(n)
        | Setting::Batch(n)
        | Setting::Mtu(n) => (f64::from(*n), AxisDimension::Number),
        Setting::Streams(n) => (f64::from(*n), AxisDimension::Number),
        Setting::Read(share) | Setting::Random(share) => (share.0, AxisDimension::Percent),
        Setting::Rate(rate) => (rate.0, AxisDimension::Number),
        Setting::StreamRate(rate) => (rate.0, AxisDimension::Rate),
        Setting::WorkingSet(WorkingSet::Bytes(bytes)) => (*bytes as f64, AxisDimension::Bytes),
        Setting::WorkingSet(WorkingSet::Percent(share)) => (*share, AxisDimension::Percent),
        Setting::Port(rate) => (rate.payload().0, AxisDimension::Rate),
        Setting::Direction(_) | Setting::Offload(_) => return None,
    })
}

fn relation(word: &str) -> Relation {
    match word {
        "about" => Relation::About,
        "over" => Relation::Over,
        "just over" => Relation::JustOver,
        "up to" => Relation::UpTo,
        _ => Relation::Equal,
    }
}

fn claim_kind(word: &str) -> ClaimKind {
    match word {
        "calibration" => ClaimKind::Calibration,
        "held-out" => ClaimKind::HeldOut,
        "inferred" => ClaimKind::Inferred,
        _ => ClaimKind::Context,
    }
}

/// `read of hba 800 MB/s, block=32KiB`: the default name of a claim.
fn claim_name(
    record: &Decoded,
    said: &Claimed<'_>,
    relation: Relation,
    readings: &[Value],
    step: &[(String, String)],
) -> String {
    let whose = record.record("balance").map_or_else(|| whose(record), whose);
    let metric = said.metric;
    if let Some(shape) = &said.shape {
        let over = match &shape.along {
            Some(axis) => format!(" along {}", clip(axis)),
            None => format!(
                " from {} to {}",
                shape.points[0].label,
                shape.points[shape.points.len() - 1].label
            ),
        };
        return format!("{metric}{whose} {}{over}{}", shape.is, selected(step));
    }
    let what = format!("{metric}{whose} {}", qualified(relation, readings));
    let hop = said.to_hop.as_ref().map_or_else(String::new, |hop| format!(" that of {hop}"));
    let to = match hop.is_empty() {
        true => held_against(&said.to),
        false => held_against(&said.to).replacen(" that", "", 1),
    };
    format!("{what}{hop}{to}{}", selected(step))
}

/// `about 1.9 ×`, `800 MB/s or 839 MB/s`.
fn qualified(relation: Relation, readings: &[Value]) -> String {
    let qualifier = match relation {
        Relation::Equal => "",
        Relation::About => "about ",
        Relation::Over => "over ",
        Relation::JustOver => "just over ",
        Relation::UpTo => "up to ",
    };
    let readings: Vec<String> = readings.iter().map(Value::to_string).collect();
    format!("{qualifier}{}", join(&readings, "or"))
}
