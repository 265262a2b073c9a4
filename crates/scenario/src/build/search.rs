//! The key `search` of a plan: a word, or a table; what is searched, between which loads, and what must hold.

use super::members::{most_members, too_many};
use super::{complain, count_u32, text_of};
use crate::datum::{Datum, Decoded};
use crate::diagnostics::{At, Class, Mistake, Sink};
use crate::load::{DiskLoad, Load};
use crate::model::{Metric, Plan};
use crate::nearest::suggestion;
use crate::search::{Aim, Limit, Over, Search, SearchRange};
use crate::tree::clip;
use workload::Arrivals;

/// The most of each setting, as its own key allows it.
const COUNT_MAX: u64 = 4096;
const BLOCK_MAX: u64 = 64 << 20;

/// The search of a plan that is otherwise built; `None` where it has none, or it is wrong.
pub(super) fn search(record: &Decoded, plan: &Plan, sink: &mut Sink) -> Option<Search> {
    let given = record.get("search")?;
    let table = match &given.value {
        Datum::Record(table) => Some(table),
        _ => None,
    };
    // Values that are wrong in themselves have been reported; the defaults keep the rest meaningful.
    let aim = table.map_or(Some(Aim::Knee), |table| aim(table, sink));
    let (key, over) = match table.and_then(|table| table.text("over")) {
        Some(text) => named(&text, plan, sink)?,
        None => usual(given, plan, sink)?,
    };
    let range = match table {
        Some(table) => range(table, usual_range(&key, over, plan), sink)?,
        None => SearchRange::usual(over),
    };
    let aim = aim?;
    let within = match aim {
        Aim::Knee => Search::WITHIN_KNEE,
        Aim::Most { .. } => Search::WITHIN_LIMIT,
    };
    let count = |key| table.and_then(|table| count_u32(table, key));
    let search = Search {
        key,
        range,
        aim,
        repeats: count("repeats").unwrap_or(Search::REPEATS),
        within: table.and_then(|table| table.percent("within")).map_or(within, |at| at.value),
        steps: count("steps").unwrap_or(Search::STEPS),
    };
    check(&search, given, plan, sink).then_some(search)
}

fn aim(table: &Decoded, sink: &mut Sink) -> Option<Aim> {
    let metric = match table.word("most").map(|at| at.value) {
        Some("read") => Metric::ReadRate,
        Some("write") => Metric::WriteRate,
        Some("total") => Metric::TotalRate,
        Some(_) => Metric::Iops,
        None if table.has("most") => return None,
        None if table.has("while") => {
            let problem = "it needs `most`, the metric to maximize";
            complain(table, "while", problem, sink);
            return None;
        }
        None => return Some(Aim::Knee),
    };
    if !table.has("while") {
        let problem = "it needs `while`, such as `while = \"p99 <= 5 ms\"`; without a limit, search for the knee";
        complain(table, "most", problem, sink);
        return None;
    }
    let mut limits = Vec::new();
    for text in table.items("while").into_iter().filter_map(text_of) {
        match Limit::parse(&text.value) {
            Ok(limit) => limits.push(limit),
            Err(problem) => sink.push(|| Mistake::new(text.at, format!("while: {problem}"))),
        }
    }
    (!limits.is_empty()).then_some(Aim::Most { metric, limits })
}

/// The load that the plan names.
fn named(text: &At<String>, plan: &Plan, sink: &mut Sink) -> Option<(String, Over)> {
    const ALL: [Over; 5] = [Over::Depth, Over::Workers, Over::Members, Over::Rate, Over::Block];
    let (workload, setting) = match text.value.rsplit_once('.') {
        Some((workload, setting)) => (Some(workload), setting),
        None => (None, text.value.as_str()),
    };
    let searched = |load: &&Load| load.workload.family().is_searched();
    if let Some(workload) =
        workload.filter(|w| !plan.loads.iter().filter(searched).any(|l| l.workload.name() == *w))
    {
        let of_network = plan.net_loads().any(|net| net.workload.name == workload);
        sink.push(|| {
            let names = plan.loads.iter().filter(searched).map(|load| load.workload.name());
            let workload = clip(workload);
            let message = match of_network {
                true => format!(
                    "over: `{workload}` is a network workload; only loads of disk workloads can be \
                                 searched"
                ),
                false => format!("no load of this plan runs `{workload}`"),
            };
            Mistake::new(text.at, message).maybe_help(suggestion(&workload, names))
        });
        return None;
    }
    let over = ALL.into_iter().find(|over| over.to_string() == setting);
    if over.is_none() {
        sink.push(|| {
            let words = ALL.map(|over| over.to_string());
            let message = format!("over: `{}` cannot be searched", clip(setting));
            Mistake::new(text.at, message)
                .maybe_help(suggestion(setting, words.iter().map(String::as_str)))
        });
    }
    Some((text.value.clone(), over?))
}

/// The load that is obvious: the depth of closed loops, the rate of open ones.
fn usual(given: &At<Datum>, plan: &Plan, sink: &mut Sink) -> Option<(String, Over)> {
    let is_open = |load: DiskLoad<'_>| matches!(load.workload.spec.arrivals, Arrivals::Open { .. });
    let open: Vec<bool> = plan.disk_loads().map(is_open).collect();
    // A sweep over rates makes every loop an open one.
    let swept = plan.sweep.iter().any(|axis| axis.key.ends_with("rate"));
    match (open.contains(&true), open.contains(&false)) {
        (true, true) => {
            sink.push(|| {
                Mistake::new(
                    given.at,
                    "the plan has closed and open loops: name the load to search",
                )
                .class(Class::Absence)
                .help("add `over = \"WORKLOAD.depth\"` or `over = \"WORKLOAD.rate\"`")
            });
            None
        }
        (true, false) => Some(("rate".to_owned(), Over::Rate)),
        _ if swept => Some(("rate".to_owned(), Over::Rate)),
        _ => Some(("depth".to_owned(), Over::Depth)),
    }
}

/// Between which loads, unless the plan says otherwise. Members end with those that there are.
fn usual_range(key: &str, over: Over, plan: &Plan) -> SearchRange {
    let usual = SearchRange::usual(over);
    match most_members(key, plan) {
        Some((most, _)) if over == Over::Members => SearchRange { to: most as f64, ..usual },
        _ => usual,
    }
}

fn range(table: &Decoded, usual: SearchRange, sink: &mut Sink) -> Option<SearchRange> {
    let over = usual.over;
    let from = bound(table, "from", over, usual.from, sink)?;
    let to = bound(table, "to", over, usual.to, sink)?;
    let range = SearchRange { over, from, to };
    let key = if table.has("to") { "to" } else { "from" };
    if from >= to {
        let problem = format!(
            "the search ends at {}, below its start at {}; give both `from` and `to`",
            range.show(to),
            range.show(from)
        );
        complain(table, key, problem, sink);
        return None;
    }
    let doublings = (to / from).log2();
    if over == Over::Block && (doublings - doublings.round()).abs() > 1e-9 {
        let problem = "block sizes double, so `to` must be `from` times 2, 4, 8, …";
        complain(table, key, problem, sink);
        return None;
    }
    Some(range)
}

/// An end of the range, in the unit of what is searched.
fn bound(table: &Decoded, key: &str, over: Over, usual: f64, sink: &mut Sink) -> Option<f64> {
    if !table.has(key) {
        return Some(usual);
    }
    let wanted = match (over, &table.get(key)?.value) {
        (Over::Depth | Over::Workers | Over::Members, Datum::Count(n))
            if (1..=COUNT_MAX).contains(n) =>
        {
            return Some(*n as f64);
        }
        (Over::Rate, Datum::Count(n)) if *n > 0 => return Some(*n as f64),
        (Over::Rate, Datum::Iops(rate)) if rate.0 > 0.0 && rate.0.is_finite() => {
            return Some(rate.0);
        }
        (Over::Block, Datum::Size(size)) if (1..=BLOCK_MAX).contains(&size.0) => {
            return Some(size.0 as f64);
        }
        (Over::Depth | Over::Workers | Over::Members, _) => {
            format!("a whole number from 1 to {COUNT_MAX}")
        }
        (Over::Rate, _) => "a rate such as `5000 IOPS`".to_owned(),
        (Over::Block, _) => "a size such as `8KiB`, at most 64MiB".to_owned(),
    };
    complain(table, key, format!("the search is over `{over}`: expected {wanted}"), sink);
    None
}

/// Whether every load of the range is one that the workloads can have.
fn check(search: &Search, given: &At<Datum>, plan: &Plan, sink: &mut Sink) -> bool {
    let bare = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let swept = plan.sweep.iter().find(|axis| bare(&axis.key) == bare(&search.key));
    if let Some(axis) = swept {
        let message = format!("search: the sweep already sets `{}`", axis.key);
        sink.push(|| Mistake::new(given.at, message));
        return false;
    }
    if search.range.over == Over::Members
        && let Some(problem) = too_many(&search.key, search.range.to, plan)
    {
        sink.push(|| Mistake::new(given.at, format!("search over {}: {problem}", search.key)));
        return false;
    }
    for load in plan.loads.iter().filter(|load| load.workload.family().is_searched()) {
        for tried in [search.range.from, search.range.to] {
            let setting = search.setting(tried);
            if let Some((key, problem)) = load.workload.problems(&[(&search.key, &setting)]).pop() {
                let name = load.workload.name();
                let message = format!("search over {key}: {problem} (workload `{name}`)");
                sink.push(|| Mistake::new(given.at, message));
                return false;
            }
        }
    }
    true
}
