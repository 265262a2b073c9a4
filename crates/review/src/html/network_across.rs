//! What steps of network loads show beside each other: larger frames, missing offloads, repetitions.

use super::grid::{Column, table};
use super::network::or_dash;
use crate::network::{change, estimate, place};
use crate::number::digits;
use crate::text::clean;
use findings::network::{Across, Estimate, FrameGain, OffloadCost, Repeated};
use maud::{Markup, html};

/// What steps show beside each other.
pub(super) fn tables(across: &Across) -> Markup {
    html! {
        @if !across.jumbo.is_empty() {
            (table("What larger frames bring", &jumbo(), &refs(&across.jumbo), |_| (None, "")))
        }
        @if !across.offload.is_empty() {
            (table("What going without offloads costs", &offload(), &refs(&across.offload), |_| (None, "")))
        }
        @if !across.repeated.is_empty() {
            (table("Repetitions: means with their 95% intervals (Student)", &repeated(), &refs(&across.repeated),
                |_| (None, "")))
        }
    }
}

fn refs<T>(all: &[T]) -> Vec<&T> {
    all.iter().collect()
}

fn some(value: Option<f64>) -> String {
    or_dash(value.map(digits))
}

fn jumbo<'a>() -> Vec<Column<'a, &'a FrameGain>> {
    let cpu = "CPU of the processes, s/GB";
    vec![
        Column::words("where", |g: &&FrameGain| html! { (place(&g.place)) }),
        Column::words(
            "MTU",
            |g: &&FrameGain| html! { (clean(&g.smaller)) " → " (clean(&g.larger)) },
        ),
        Column::numbers("smaller", "MB/s", |g: &&FrameGain| estimate(&g.smaller_bytes_per_s, 1e6)),
        Column::numbers("larger", "MB/s", |g: &&FrameGain| estimate(&g.larger_bytes_per_s, 1e6)),
        Column::numbers("gain", "", |g: &&FrameGain| change(g.ratio)),
        Column::numbers("of the frames alone", "", |g: &&FrameGain| {
            or_dash(g.framing_ratio.map(change))
        }),
        Column::numbers("sender, smaller", "", |g: &&FrameGain| some(g.smaller_sender_s_per_gb))
            .under(cpu),
        Column::numbers("larger", "", |g: &&FrameGain| some(g.larger_sender_s_per_gb)).under(cpu),
        Column::numbers("receiver, smaller", "", |g: &&FrameGain| {
            some(g.smaller_receiver_s_per_gb)
        })
        .under(cpu),
        Column::numbers("larger", "", |g: &&FrameGain| some(g.larger_receiver_s_per_gb)).under(cpu),
    ]
}

fn offload<'a>() -> Vec<Column<'a, &'a OffloadCost>> {
    let cpu = "CPU of the hosts, s/GB";
    vec![
        Column::words("where", |c: &&OffloadCost| html! { (place(&c.place)) }),
        Column::numbers("with", "MB/s", |c: &&OffloadCost| estimate(&c.with_bytes_per_s, 1e6)),
        Column::numbers("without", "MB/s", |c: &&OffloadCost| {
            estimate(&c.without_bytes_per_s, 1e6)
        }),
        Column::numbers("change", "", |c: &&OffloadCost| change(c.ratio)),
        Column::numbers("sender, with", "", |c: &&OffloadCost| some(c.with_sender_s_per_gb))
            .under(cpu),
        Column::numbers("without", "", |c: &&OffloadCost| some(c.without_sender_s_per_gb))
            .under(cpu),
        Column::numbers("receiver, with", "", |c: &&OffloadCost| some(c.with_receiver_s_per_gb))
            .under(cpu),
        Column::numbers("without", "", |c: &&OffloadCost| some(c.without_receiver_s_per_gb))
            .under(cpu),
    ]
}

fn repeated<'a>() -> Vec<Column<'a, &'a Repeated>> {
    let cost = |value: &Option<Estimate>| or_dash(value.as_ref().map(|e| estimate(e, 1.0)));
    vec![
        Column::words("where", |r: &&Repeated| html! { (place(&r.place)) }),
        Column::numbers("runs", "", |r: &&Repeated| r.bytes_per_s.runs.to_string()),
        Column::numbers("received", "MB/s", |r: &&Repeated| estimate(&r.bytes_per_s, 1e6)),
        Column::numbers("messages", "1/s", |r: &&Repeated| estimate(&r.messages_per_s, 1.0)),
        Column::numbers("sender", "CPU s/GB", move |r: &&Repeated| cost(&r.sender_s_per_gb)),
        Column::numbers("receiver", "CPU s/GB", move |r: &&Repeated| cost(&r.receiver_s_per_gb)),
    ]
}
