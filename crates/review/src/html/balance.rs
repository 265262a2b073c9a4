//! The balance of VMs or targets that ran the same workloads, a row a step.

use super::grid::{Column, table};
use crate::number::{digits, percent};
use crate::text::clean;
use findings::{Analysis, Balance, Share, StepFigures};
use maud::{Markup, html};

struct BalanceRow<'a> {
    step: &'a StepFigures,
    balance: &'a Balance,
    /// Whether it is the step's first, which carries the address.
    first: bool,
}

pub(super) fn section(analysis: &Analysis) -> Markup {
    let rows: Vec<BalanceRow<'_>> = analysis.steps.iter().flat_map(of_step).collect();
    if rows.is_empty() {
        return html! {};
    }
    html! {
        section id="balance" aria-labelledby="balance-heading" {
            h2 id="balance-heading" { "Balance of VMs or targets that ran the same" }
            (table("Balance, in MB/s", &summary(), &rows, |r| {
                (r.first.then(|| format!("balance-{}", r.step.index)), "")
            }))
            details {
                summary { "Every VM or target" }
                (table("Throughput of every VM or target, in MB/s", &everybody(), &rows, |_| (None, "")))
            }
        }
    }
}

fn of_step(step: &StepFigures) -> impl Iterator<Item = BalanceRow<'_>> {
    step.balance.iter().enumerate().map(move |(i, balance)| BalanceRow {
        step,
        balance,
        first: i == 0,
    })
}

fn who<'a>() -> [Column<'a, BalanceRow<'a>>; 2] {
    let step =
        |r: &BalanceRow<'_>| html! { (u64::from(r.step.index) + 1) " · " (clean(&r.step.label())) };
    let workload = |r: &BalanceRow<'_>| html! { (clean(&r.balance.workloads.join(" + "))) };
    [Column::words("step", step), Column::words("workload", workload)]
}

fn summary<'a>() -> Vec<Column<'a, BalanceRow<'a>>> {
    let least = |r: &BalanceRow<'_>| r.balance.shares.iter().min_by(by_rate).cloned();
    let most = |r: &BalanceRow<'_>| r.balance.shares.iter().max_by(by_rate).cloned();
    let rate =
        |share: Option<Share>| share.map_or("–".to_owned(), |s| digits(s.bytes_per_s / 1e6));
    let name =
        |share: Option<Share>| html! { (share.map(|s| clean(&s.group)).unwrap_or_default()) };
    let mut columns: Vec<Column<'a, BalanceRow<'a>>> = who().into();
    columns.extend([
        Column::numbers("members", "", |r: &BalanceRow<'_>| r.balance.shares.len().to_string()),
        Column::numbers("mean", "MB/s", |r: &BalanceRow<'_>| {
            digits(r.balance.mean_bytes_per_s / 1e6)
        }),
        Column::numbers("least", "MB/s", move |r: &BalanceRow<'_>| rate(least(r))),
        Column::words("of", move |r: &BalanceRow<'_>| name(least(r))),
        Column::numbers("most", "MB/s", move |r: &BalanceRow<'_>| rate(most(r))),
        Column::words("of", move |r: &BalanceRow<'_>| name(most(r))),
        Column::numbers("spread", "%", |r: &BalanceRow<'_>| percent(r.balance.spread)),
        Column::numbers("furthest from the mean", "%", |r: &BalanceRow<'_>| {
            percent(r.balance.deviation)
        }),
        Column::numbers("Jain's index", "1/n to 1", |r: &BalanceRow<'_>| {
            format!("{:.4}", r.balance.jain)
        }),
    ]);
    columns
}

fn by_rate(a: &&Share, b: &&Share) -> std::cmp::Ordering {
    a.bytes_per_s.total_cmp(&b.bytes_per_s)
}

/// All members in one cell each step, which wraps where the page is narrow.
fn everybody<'a>() -> Vec<Column<'a, BalanceRow<'a>>> {
    let each = |r: &BalanceRow<'_>| {
        html! {
            @for share in &r.balance.shares {
                span.pair { (clean(&share.group)) " " b { (digits(share.bytes_per_s / 1e6)) } } " "
            }
        }
    };
    who().into_iter().chain([Column::words("MB/s", each)]).collect()
}
