//! Workloads: their names, and those of disks: presets and keys to a settled spec.

use super::net_work::heading;
use super::{complain, count_u32, place, size_u32};
use crate::datum::{Datum, Decoded};
use crate::diagnostics::{At, Class, Mistake, Sink, Span};
use crate::directory::Directory;
use crate::load::{DiskWorkload, LIMIT_DEFAULT, LoadFamily, Workload};
use crate::model::Setting;
use crate::names;
use crate::nearest::suggestion;
use crate::tree::clip;
use clock::Ns;
use std::collections::BTreeMap;
use std::time::Duration;
use units::ByteRate;
use workload::{
    Access, Arrivals, Durability, Ladder, Process, Regions, Row, Skew, Spec, SpecError,
    Transaction, WorkingSet, WorkloadKind,
};

/// Every workload of the file, family by family.
pub(super) fn workloads(
    root: &Decoded,
    directory: &mut Directory,
    sink: &mut Sink,
) -> Vec<Workload> {
    let build = |(name, record): &(At<String>, Decoded)| {
        check_name(name, sink);
        Workload::build(name, record, directory, sink)
    };
    let mut all: Vec<Workload> = root.map("workload").iter().map(build).collect();
    all.sort_by_key(Workload::order);
    all
}

/// Reports a name that a workload cannot have.
fn check_name(name: &At<String>, sink: &mut Sink) {
    match names::check(&name.value) {
        Err(problem) => sink.push(|| Mistake::new(name.at, problem)),
        Ok(()) if names::has_range(&name.value) => {
            sink.push(|| Mistake::new(name.at, "a workload has one name, not a range"));
        }
        Ok(()) => {}
    }
}

pub(crate) fn disk_workload(name: &At<String>, record: &Decoded, sink: &mut Sink) -> DiskWorkload {
    let spec = base(record, sink);
    let workers = count_u32(record, "workers").unwrap_or(1);
    let verify = record.flag("verify").is_some_and(|at| at.value);
    let each_disk = record.word("disks").is_some_and(|at| at.value == "each");
    let mut workload = DiskWorkload { name: name.value.clone(), spec, workers, verify, each_disk };
    // Beside rows or a transaction these have been reported already.
    let own = !record.has("rows") && !record.has("transaction");
    for key in ["block", "read", "random"].into_iter().filter(|_| own) {
        if let Some(setting) = setting(record, key)
            && let Err(problem) = workload.apply(&setting)
        {
            complain(record, key, problem, sink);
        }
    }
    access_keys(record, &mut workload.spec, sink);
    if let Some(every) = count_u32(record, "flush_every") {
        workload.spec.durability.flush_every = every;
    }
    if let Some(fua) = percent(record, "fua") {
        workload.spec.durability.fua = fua;
    }
    if let Some(arrivals) = arrivals(record, workload.spec.arrivals, sink) {
        workload.spec.arrivals = arrivals;
    }
    if let Some(set) = record.get("working_set") {
        workload.spec.working_set = working_set(&set.value);
    }
    if let Some(regions) = record.word("regions") {
        workload.spec.regions = if regions.value == "own" { Regions::Own } else { Regions::Shared };
    }
    if verify {
        if workload.spec.regions == Regions::Shared && record.has("regions") {
            let problem = "verified workers need their own regions, so that each knows the expected contents of its \
                           blocks; write `own`, or remove it";
            complain(record, "regions", problem, sink);
        }
        workload.spec.regions = Regions::Own;
    }
    for problem in workload.spec.problems() {
        sink.push(|| unsound(&problem, record));
    }
    workload
}

/// What the other keys change: the preset, the rows, the transaction, or one row.
fn base(record: &Decoded, sink: &mut Sink) -> Spec {
    let preset = record.text("preset").and_then(|text| preset(&text, sink));
    let given = preset.is_some();
    let mut spec = preset.unwrap_or_else(|| Spec {
        kind: WorkloadKind::Access(Access {
            rows: rows(record),
            skew: Skew::Uniform,
            stride: None,
            ladder: None,
        }),
        arrivals: Arrivals::Closed { depth: 1, think: Ns::ZERO },
        working_set: None,
        regions: Regions::Shared,
        durability: Durability::default(),
        passes: 0,
        trace: None,
    });
    if let Some(table) = record.record("transaction") {
        spec.kind = match (spec.kind, given) {
            (WorkloadKind::Access(_), true) => {
                complain(record, "transaction", "the preset has no transactions", sink);
                return sound_default();
            }
            (WorkloadKind::Transaction(base), _) => {
                WorkloadKind::Transaction(transaction(table, base, sink))
            }
            (WorkloadKind::Access(_), false) => {
                WorkloadKind::Transaction(match preset_transaction() {
                    Some(base) => transaction(table, base, sink),
                    None => return sound_default(),
                })
            }
        };
    }
    if record.get("rows").is_some() && record.records("rows").is_empty() {
        complain(record, "rows", "there must be 1 to 100", sink);
    }
    let says_what = ["preset", "block", "rows", "transaction", "ladder"];
    if !says_what.iter().any(|key| record.has(key)) {
        sink.push(|| {
            Mistake::new(record.at, "the workload has no block size")
                .class(Class::Absence)
                .help("add `block = \"8KiB\"`, or a `preset`")
        });
    }
    spec
}

/// The base of a `transaction` table.
fn preset_transaction() -> Option<Transaction> {
    match workload::preset("oblload")?.spec().kind {
        WorkloadKind::Transaction(transaction) => Some(transaction),
        WorkloadKind::Access(_) => None,
    }
}

fn preset(text: &At<String>, sink: &mut Sink) -> Option<Spec> {
    let found = workload::preset(&text.value);
    if found.is_none() {
        sink.push(|| {
            let names = workload::PRESETS.iter().map(|p| p.name);
            let of_networks = "it belongs to network workloads: add `kind = \"net\"`";
            let help = match text.value.as_str() {
                "ntttcp" => Some(of_networks.to_owned()),
                _ => suggestion(&text.value, names),
            };
            Mistake::new(text.at, format!("no preset is named `{}`", clip(&text.value)))
                .maybe_help(help)
        });
        // The other keys are then judged against a harmless spec.
        return Some(sound_default());
    }
    found.map(|preset| preset.spec())
}

/// One row of 4 KiB: stands in where the real one is wrong.
fn sound_default() -> Spec {
    Spec {
        kind: WorkloadKind::Access(Access {
            rows: vec![one_row(4096)],
            skew: Skew::Uniform,
            stride: None,
            ladder: None,
        }),
        arrivals: Arrivals::Closed { depth: 1, think: Ns::ZERO },
        working_set: None,
        regions: Regions::Shared,
        durability: Durability::default(),
        passes: 0,
        trace: None,
    }
}

fn one_row(size: u32) -> Row {
    Row::new(size, 100.0, 0.0)
}

/// The rows of a `rows` list, or one row that the workload's own keys then fill.
fn rows(record: &Decoded) -> Vec<Row> {
    let rows = record.records("rows");
    if rows.is_empty() {
        return vec![one_row(4096)];
    }
    rows.into_iter()
        .map(|row| {
            let mut built = one_row(size_u32(row, "size").unwrap_or(4096));
            built.share = percent(row, "share").unwrap_or(100.0);
            built.read = percent(row, "read").unwrap_or(100.0);
            built.random = percent(row, "random").unwrap_or(0.0);
            row_keys(row, &mut built);
            built
        })
        .collect()
}

/// Keys that a row and a workload share.
fn row_keys(record: &Decoded, row: &mut Row) {
    if let Some(trim) = percent(record, "trim") {
        row.trim = trim;
    }
    if let Some(zeroes) = percent(record, "zeroes") {
        row.zeroes = zeroes;
    }
    if let Some(delay) = ns(record, "delay") {
        row.delay = delay;
    }
    if let Some(burst) = count_u32(record, "burst") {
        row.burst = burst;
    }
    if let Some(align) = size_u32(record, "align") {
        row.align = align;
    }
    if let Some(reply) = size_u32(record, "reply") {
        row.reply = reply;
    }
}

fn access_keys(record: &Decoded, spec: &mut Spec, sink: &mut Sink) {
    let access = match &mut spec.kind {
        WorkloadKind::Access(access) => access,
        WorkloadKind::Transaction(_) if record.has("transaction") => return,
        WorkloadKind::Transaction(_) => {
            let keys =
                ["trim", "zeroes", "align", "burst", "delay", "reply", "stride", "skew", "ladder"];
            for key in keys.into_iter().filter(|key| record.has(key)) {
                complain(record, key, "a transaction workload does not have it", sink);
            }
            return;
        }
    };
    access.rows.iter_mut().for_each(|row| row_keys(record, row));
    if let Some(skew) = skew(record, "skew", sink) {
        access.skew = skew;
    }
    if let Some(stride) = record.size("stride") {
        access.stride = Some(stride.value.0);
    }
    if let Some(table) = record.record("ladder") {
        access.ladder = ladder(table);
    }
}

fn ladder(table: &Decoded) -> Option<Ladder> {
    Some(Ladder {
        from: size_u32(table, "from")?,
        to: size_u32(table, "to")?,
        factor: count_u32(table, "factor").unwrap_or(2),
        every: count_u32(table, "every")?,
    })
}

fn transaction(table: &Decoded, base: Transaction, sink: &mut Sink) -> Transaction {
    Transaction {
        page: size_u32(table, "page").unwrap_or(base.page),
        index: percent(table, "index").unwrap_or(base.index),
        index_pages: count_u32(table, "index_pages").unwrap_or(base.index_pages),
        table_pages: count_u32(table, "table_pages").unwrap_or(base.table_pages),
        index_skew: skew(table, "index_skew", sink).unwrap_or(base.index_skew),
        table_skew: skew(table, "table_skew", sink).unwrap_or(base.table_skew),
        read: percent(table, "read").unwrap_or(base.read),
    }
}

fn skew(record: &Decoded, key: &str, sink: &mut Sink) -> Option<Skew> {
    let table = match &record.get(key)?.value {
        Datum::Record(table) => table,
        _ => return Some(Skew::Uniform),
    };
    if let Some(theta) = table.number("zipf") {
        return Some(Skew::Zipf(theta.value));
    }
    if let Some(h) = table.number("pareto") {
        return Some(Skew::Pareto(h.value));
    }
    let blocks = percent(table, "hot")?;
    if !table.has("accesses") {
        sink.push(|| {
            Mistake::new(table.at, "`hot` needs `accesses`")
                .class(Class::Absence)
                .help("write `{ hot = \"20%\", accesses = \"80%\" }`")
        });
    }
    Some(Skew::HotSpot { accesses: percent(table, "accesses")?, blocks })
}

/// When operations are issued; `None` when no key sets it.
fn arrivals(record: &Decoded, base: Arrivals, sink: &mut Sink) -> Option<Arrivals> {
    let limit = count_u32(record, "limit").unwrap_or(LIMIT_DEFAULT);
    if let Some(table) = record.record("ramp") {
        let (from, to) = (table.iops("from")?.value.0, table.iops("to")?.value.0);
        return Some(Arrivals::Open {
            process: Process::Ramp { from, to, over: ns(table, "over")? },
            limit,
        });
    }
    if let Some(table) = record.record("bursts") {
        let process = Process::Bursts {
            high: table.iops("high")?.value.0,
            low: table.iops("low").map_or(0.0, |low| low.value.0),
            burst: ns(table, "burst")?,
            pause: ns(table, "pause")?,
        };
        return Some(Arrivals::Open { process, limit });
    }
    if let Some(rate) = record.iops("rate") {
        let rate = rate.value.0;
        let poisson = record.word("arrivals").is_some_and(|word| word.value == "poisson");
        let process = if poisson { Process::Poisson { rate } } else { Process::Fixed { rate } };
        return Some(Arrivals::Open { process, limit });
    }
    if !record.has("rate") && !record.has("ramp") && !record.has("bursts") {
        for key in ["arrivals", "limit"].into_iter().filter(|key| record.has(key)) {
            complain(record, key, "it needs a `rate`: without it the loop is closed", sink);
        }
    }
    match base {
        Arrivals::Closed { depth, think } => Some(Arrivals::Closed {
            depth: count_u32(record, "depth").unwrap_or(depth),
            think: ns(record, "think").unwrap_or(think),
        }),
        Arrivals::Open { .. } => None,
    }
}

fn percent(record: &Decoded, key: &str) -> Option<f64> {
    record.percent(key).map(|at| at.value.0)
}

fn ns(record: &Decoded, key: &str) -> Option<Ns> {
    record.time(key).map(|at| to_ns(at.value))
}

/// Durations of scenarios are below 292 years, which is what 64 bits hold.
fn to_ns(time: Duration) -> Ns {
    Ns(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX))
}

fn working_set(datum: &Datum) -> Option<WorkingSet> {
    match datum {
        Datum::Size(size) => Some(WorkingSet::Bytes(size.0)),
        Datum::Percent(share) => Some(WorkingSet::Percent(share.0)),
        _ => None,
    }
}

/// The setting that a key of a workload, a sweep or a `step` states.
pub(super) fn setting_of(key: &str, datum: &Datum) -> Option<Setting> {
    match (key, datum) {
        ("block", Datum::Size(size)) => Some(Setting::Block(*size)),
        ("depth", Datum::Count(n)) => u32::try_from(*n).ok().map(Setting::Depth),
        ("workers", Datum::Count(n)) => u32::try_from(*n).ok().map(Setting::Workers),
        ("members", Datum::Count(n)) => u32::try_from(*n).ok().map(Setting::Members),
        ("read", Datum::Percent(share)) => Some(Setting::Read(*share)),
        ("random", Datum::Percent(share)) => Some(Setting::Random(*share)),
        ("rate", Datum::Iops(rate)) => Some(Setting::Rate(*rate)),
        ("port", Datum::Link(rate)) => Some(Setting::Port(*rate)),
        ("working_set", set) => working_set(set).map(Setting::WorkingSet),
        ("message", Datum::Size(size)) => Some(Setting::Message(*size)),
        ("batch", Datum::Count(n)) => u32::try_from(*n).ok().map(Setting::Batch),
        ("streams", Datum::Count(n)) => u16::try_from(*n).ok().map(Setting::Streams),
        ("direction", Datum::Word(word)) => Some(Setting::Direction(heading(word))),
        ("rate", Datum::Rate(rate)) => Some(Setting::StreamRate(ByteRate(rate.0.round()))),
        ("mtu", Datum::Count(n)) => u32::try_from(*n).ok().map(Setting::Mtu),
        ("offload", Datum::Word(word)) => Some(Setting::Offload(*word == "on")),
        _ => None,
    }
}

fn setting(record: &Decoded, key: &str) -> Option<Setting> {
    setting_of(key, &record.get(key)?.value)
}

/// A problem of a settled spec, at the key that it names.
fn unsound(problem: &SpecError, record: &Decoded) -> Mistake {
    let SpecError::Invalid { field, problem } = problem else {
        return Mistake::new(record.at, problem.to_string());
    };
    Mistake::new(blamed(record, field), format!("{field}: {problem}"))
}

/// The position of a spec's field in the scenario: `ladder.from`, or a key of a nested table.
fn blamed(record: &Decoded, field: &str) -> Span {
    let key = match field {
        "size" => "block",
        "share" => "rows",
        other => other,
    };
    if let Some((outer, inner)) = key.split_once('.') {
        return record.record(outer).map_or(record.at, |table| place(table, inner));
    }
    if record.may_say(key) {
        return place(record, key);
    }
    let nested = ["transaction", "ramp", "bursts", "rows", "preset"];
    let holder = nested.into_iter().find(|outer| record.has(outer));
    match holder {
        Some(outer) => match record.record(outer).filter(|table| table.may_say(key)) {
            Some(table) => place(table, key),
            None => place(record, outer),
        },
        None => record.at,
    }
}

/// The workload of that name, or a mistake with the nearest.
pub(super) fn find<'w>(
    text: &At<String>,
    known: &BTreeMap<&str, &'w Workload>,
    sink: &mut Sink,
) -> Option<&'w Workload> {
    let name = text.value.as_str();
    let found = known.get(name).copied();
    if found.is_none() {
        sink.push(|| {
            let help = match workload::preset(name) {
                Some(_) => Some(format!(
                    "to use the preset, add `[workload.{name}]` with `preset = \"{name}\"`"
                )),
                None if known.is_empty() => {
                    Some("the scenario has no [workload.NAME] at all".to_owned())
                }
                None => suggestion(name, known.keys().copied()),
            };
            Mistake::new(text.at, format!("no workload is named `{}`", clip(name)))
                .class(Class::Absence)
                .maybe_help(help)
        });
    }
    found
}
