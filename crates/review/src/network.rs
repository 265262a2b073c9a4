//! Network loads in sentences and in the terminal's tables: throughput each way, its share of the wire with the
//! arithmetic, what limited it, CPU cost at both ends, and comparisons of steps.

use crate::number::{digits, latency, percent};
use crate::paint::{Ink, ReviewPage};
use crate::sentence::{Section, Sentence, Tone};
use crate::steps::settings_of;
use crate::table::{self, TableColumn};
use crate::text::clean;
use findings::network::{
    Across, Direction, Estimate, FrameGain, Machine, NetLimit, NetPair, OffloadCost, Repeated, Way,
};
use findings::{Analysis, StepFigures};
use scenario::Plan;
use units::count;

/// Largest spread over the streams of a direction that counts as even, as a share of the mean.
const EVEN: f64 = 0.05;

/// One direction of one pair in one step.
#[derive(Clone, Copy)]
pub(crate) struct WayRow<'a> {
    pub step: &'a StepFigures,
    pub pair: &'a NetPair,
    pub direction: &'a Direction,
    /// Whether it is the step's first row, which has the step's anchor.
    pub first: bool,
}

impl<'a> WayRow<'a> {
    /// The machine that the data comes from, and the one that it goes to.
    pub fn ends(&self) -> (&'a Machine, &'a Machine) {
        self.pair.ends(self.direction.way)
    }
}

/// The directions of some steps, in their order.
pub(crate) fn rows<'a>(steps: impl IntoIterator<Item = &'a StepFigures>) -> Vec<WayRow<'a>> {
    let of_step = |step: &'a StepFigures| {
        let pairs = step.network.iter();
        let all = pairs.flat_map(|pair| pair.directions.iter().map(move |d| (pair, d)));
        all.enumerate().map(move |(i, (pair, direction))| WayRow {
            step,
            pair,
            direction,
            first: i == 0,
        })
    };
    steps.into_iter().flat_map(of_step).collect()
}

/// `to far`, `from far`.
pub(crate) fn direction_label(pair: &NetPair, way: Way) -> String {
    let word = if way == Way::Up { "to" } else { "from" };
    format!("{word} {}", clean(&pair.name))
}

/// A rate in a sentence.
pub(crate) fn rate(bytes_per_s: f64) -> String {
    format!("{} MB/s", digits(bytes_per_s / 1e6))
}

/// Findings about network loads.
pub(crate) fn sentences(analysis: &Analysis) -> Vec<Sentence> {
    let all = rows(&analysis.steps);
    let mut sentences = Vec::new();
    let mut first = most(&all, analysis.steps.len());
    let rest = first.split_off(first.len().min(2));
    sentences.extend(first);
    sentences.extend(across(&analysis.network, &all));
    sentences.extend(rest);
    sentences.extend(balance(&all));
    sentences.extend(under_load(&analysis.steps));
    sentences
}

/// The direction that carried most, with the wire's arithmetic, what limited it, and its cost.
fn most(all: &[WayRow<'_>], steps: usize) -> Vec<Sentence> {
    // Reversed, so that the first of equals is named.
    let carried = |row: &&WayRow<'_>| row.direction.received.bytes > 0;
    let by_rate = |a: &&WayRow<'_>, b: &&WayRow<'_>| {
        a.direction.received.bytes_per_s.total_cmp(&b.direction.received.bytes_per_s)
    };
    let Some(best) = all.iter().rev().filter(carried).max_by(by_rate) else { return Vec::new() };
    let WayRow { step, pair, direction, .. } = best;
    let at = if steps > 1 { format!(" at {}", clean(&step.label())) } else { String::new() };
    let lead = if all.len() > 1 { "Peak throughput: " } else { "Throughput: " };
    let text = format!(
        "{lead}{} {}{at} in {} {}, {} {} a second.",
        rate(direction.received.bytes_per_s),
        direction_label(pair, direction.way),
        direction.streams.len(),
        if direction.streams.len() == 1 { "stream" } else { "streams" },
        count(direction.messages_per_s().round()),
        direction.carries.noun(),
    );
    let place = Section::Network(step.index);
    let sentence = |tone: Tone, text: String| Sentence::new(tone, text, place);
    let tone = match direction.limit.by {
        NetLimit::Unknown => Tone::Caution,
        NetLimit::Link | NetLimit::Rate => Tone::Good,
        _ => Tone::Plain,
    };
    let mut sentences = vec![sentence(Tone::Plain, text)];
    sentences.push(sentence(tone, format!("{}.", capital(&clean(&direction.limit.text)))));
    if !direction.carries.is_transactions() {
        sentences.push(sentence(Tone::Plain, format!("Wire: {}.", clean(&direction.wire.text))));
    }
    sentences.extend(cost(best).map(|text| sentence(Tone::Plain, text)));
    sentences
}

/// CPU cost of a direction at both hosts.
fn cost(row: &WayRow<'_>) -> Option<String> {
    let cpu = |machine: &Machine| {
        let share = machine.host_share.map(|share| format!("{}% of its CPUs", percent(share)));
        let each = machine.process_s_per_gb.map(|s| format!("{} CPU s a GB", digits(s)));
        let parts: Vec<String> = share.into_iter().chain(each).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    };
    let (sending, receiving) = row.ends();
    let (sent, received) = (cpu(sending), cpu(receiving));
    if sent.is_none() && received.is_none() {
        return None;
    }
    let none = || "not counted".to_owned();
    let one = match row.pair.one_machine {
        true => " Both ends are on one machine, and its CPU figures cover both.",
        false => "",
    };
    Some(format!(
        "Cost: the sending end {}; the receiving end {}.{one}",
        sent.unwrap_or_else(none),
        received.unwrap_or_else(none)
    ))
}

/// The least even direction.
fn balance(all: &[WayRow<'_>]) -> Option<Sentence> {
    let with = all.iter().filter_map(|row| Some((row, row.direction.balance.as_ref()?)));
    let (row, worst) = with.max_by(|a, b| a.1.spread.total_cmp(&b.1.spread))?;
    let at = match all.len() {
        1 => String::new(),
        _ => format!(
            " {} in the least even step ({})",
            direction_label(row.pair, row.direction.way),
            clean(&row.step.label())
        ),
    };
    let text = format!(
        "Balance over {} streams: spread {}% of the mean, Jain's index {:.4}{at}.",
        worst.shares.len(),
        percent(worst.spread),
        worst.jain
    );
    let tone = if worst.spread <= EVEN { Tone::Good } else { Tone::Plain };
    Some(Sentence::new(tone, text, Section::Network(row.step.index)))
}

/// The probe's worst latency.
fn under_load(steps: &[StepFigures]) -> Option<Sentence> {
    let probes = steps.iter().flat_map(|s| s.network.iter().map(move |p| (s, p)));
    let probes = probes.filter_map(|(step, pair)| Some((step, pair, pair.probe.as_ref()?)));
    let (step, pair, probe) = probes.max_by_key(|(_, _, probe)| probe.p99_ns)?;
    let at = if steps.len() > 1 { format!(" at {}", clean(&step.label())) } else { String::new() };
    let text = format!(
        "Latency under load to {}{at}: p50 {}, p99 {}, largest {} of {} probes.",
        clean(&pair.name),
        latency(probe.p50_ns as f64),
        latency(probe.p99_ns as f64),
        latency(probe.max_ns as f64),
        count(probe.count as f64)
    );
    Some(Sentence::new(Tone::Plain, text, Section::Network(step.index)))
}

/// Comparisons of steps: the largest difference of each kind, and how many more there are.
fn across(across: &Across, all: &[WayRow<'_>]) -> Vec<Sentence> {
    let place = all.first().map(|row| Section::Network(row.step.index));
    let by = |ratio: f64| if ratio > 0.0 { ratio.max(1.0 / ratio) } else { f64::INFINITY };
    let jumbo = across.jumbo.iter().rev().max_by(|a, b| by(a.ratio).total_cmp(&by(b.ratio)));
    let offload = across.offload.iter().rev().max_by(|a, b| by(a.ratio).total_cmp(&by(b.ratio)));
    let most = |r: &Repeated| r.bytes_per_s.mean;
    let repeated = across.repeated.iter().rev().max_by(|a, b| most(a).total_cmp(&most(b)));
    let more = |n: usize| match n.saturating_sub(1) {
        0 => ".".to_owned(),
        n => format!("; {n} more in the tables."),
    };
    let sentences = [
        jumbo.map(|gain| frame_gain(gain) + &more(across.jumbo.len())),
        offload.map(|cost| offload_cost(cost) + &more(across.offload.len())),
        repeated.map(|repeated| repetitions(repeated) + &more(across.repeated.len())),
    ];
    sentences.into_iter().flatten().map(|text| Sentence::new(Tone::Plain, text, place)).collect()
}

/// A sentence that begins with a capital.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string()).unwrap_or_default();
    first + letters.as_str()
}

/// Where a comparison was made, as the end of a sentence.
pub(crate) fn place(place: &findings::network::DirectionKey) -> String {
    let word = if place.way == Way::Up { "to" } else { "from" };
    let at: Vec<String> =
        place.at.iter().map(|(k, v)| format!("{} {}", clean(k), clean(v))).collect();
    let at = if at.is_empty() { String::new() } else { format!(" at {}", at.join(", ")) };
    format!("{word} {}{at}", clean(&place.pair))
}

/// `+4.4%`, `−12%`.
pub(crate) fn change(ratio: f64) -> String {
    let change = (ratio - 1.0) * 100.0;
    let size = change.abs();
    let number = if size < 9.95 { format!("{size:.1}") } else { format!("{size:.0}") };
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{number}%")
}

/// A mean with its interval, in a unit; the range of the runs where they are too few for an interval.
pub(crate) fn estimate(value: &Estimate, unit: f64) -> String {
    match value.half_width.filter(|half| half.is_finite()) {
        Some(half) => format!("{} ± {}", digits(value.mean / unit), digits(half / unit)),
        None if value.runs > 1 => {
            let [least, most] = value.range.map(|end| digits(end / unit));
            format!("{least} to {most}")
        }
        None => digits(value.mean / unit),
    }
}

fn frame_gain(gain: &FrameGain) -> String {
    let framing = gain
        .framing_ratio
        .map(|ratio| format!("; the frames alone would bring {}", change(ratio)))
        .unwrap_or_default();
    let cpu = gain.smaller_receiver_s_per_gb.zip(gain.larger_receiver_s_per_gb);
    let cpu = cpu.map(|(less, more)| {
        format!("; the receiving end needs {} instead of {} CPU s a GB", digits(more), digits(less))
    });
    format!(
        "Frames: MTU {} carries {} {} over MTU {} ({} instead of {} MB/s){framing}{}",
        clean(&gain.larger),
        change(gain.ratio),
        place(&gain.place),
        clean(&gain.smaller),
        estimate(&gain.larger_bytes_per_s, 1e6),
        estimate(&gain.smaller_bytes_per_s, 1e6),
        cpu.unwrap_or_default()
    )
}

fn offload_cost(cost: &OffloadCost) -> String {
    let cpu = |who: &str, with: Option<f64>, without: Option<f64>| {
        let (with, without) = with.zip(without)?;
        Some(format!(
            "; the {who}'s host needs {} instead of {} CPU s a GB",
            digits(without),
            digits(with)
        ))
    };
    let sender = cpu("sender", cost.with_sender_s_per_gb, cost.without_sender_s_per_gb);
    let receiver = cpu("receiver", cost.with_receiver_s_per_gb, cost.without_receiver_s_per_gb);
    format!(
        "Offload: without it {} {} ({} instead of {} MB/s){}{}",
        change(cost.ratio),
        place(&cost.place),
        estimate(&cost.without_bytes_per_s, 1e6),
        estimate(&cost.with_bytes_per_s, 1e6),
        sender.unwrap_or_default(),
        receiver.unwrap_or_default()
    )
}

fn repetitions(repeated: &Repeated) -> String {
    format!(
        "Repeated: {} MB/s {} over {} runs (mean with its 95% interval)",
        estimate(&repeated.bytes_per_s, 1e6),
        place(&repeated.place),
        repeated.bytes_per_s.runs
    )
}

/// The tables of the terminal, one for each plan.
pub(crate) fn write(page: &mut ReviewPage, analysis: &Analysis) {
    for steps in analysis.steps.chunk_by(|a, b| a.plan == b.plan) {
        let rows = rows(steps);
        if rows.is_empty() {
            continue;
        }
        let name = clean(&steps[0].plan);
        let heading = match steps[0].plan == Plan::UNNAMED {
            true => "Network".to_owned(),
            false => format!("Network, {name}"),
        };
        page.heading(&heading);
        let says =
            "throughput is measured at the receiver; s/GB: CPU seconds of the process per gigabyte";
        page.hanging("  ", Ink::Plain, says, Ink::Dim);
        table::write(page, columns(steps, &rows));
    }
}

fn columns(steps: &[StepFigures], rows: &[WayRow<'_>]) -> Vec<TableColumn> {
    let some = |of: &dyn Fn(&WayRow<'_>) -> Option<f64>| rows.iter().any(|row| of(row).is_some());
    let numbers = |name: &str, unit: &str, of: &dyn Fn(&WayRow<'_>) -> Option<String>| {
        TableColumn::numbers(name, unit)
            .fill(rows.iter().map(|r| of(r).unwrap_or_else(|| "-".to_owned())))
    };
    let shown: Vec<&StepFigures> = rows.iter().map(|r| r.step).collect();
    let mut columns = if steps.len() > 1 { settings_of(&shown) } else { Vec::new() };
    columns.push(
        TableColumn::names("way")
            .fill(rows.iter().map(|r| direction_label(r.pair, r.direction.way))),
    );
    columns.push(numbers("streams", "", &|r| Some(r.direction.streams.len().to_string())).rank(8));
    columns.push(
        numbers("sent", "MB/s", &|r| Some(digits(r.direction.sent.bytes_per_s / 1e6))).rank(4),
    );
    columns.push(numbers("received", "MB/s", &|r| {
        Some(digits(r.direction.received.bytes_per_s / 1e6))
    }));
    columns.push(numbers("of wire", "%", &|r| r.direction.wire.share.map(percent)));
    columns
        .push(numbers("messages", "1/s", &|r| Some(digits(r.direction.messages_per_s()))).rank(5));
    columns.push(numbers("packets", "1/s", &|r| r.direction.packets_per_s.map(digits)).rank(3));
    if some(&|r| r.direction.retransmitted_share) {
        columns
            .push(numbers("again", "%", &|r| r.direction.retransmitted_share.map(percent)).rank(6));
    }
    if rows.iter().any(|r| r.direction.datagrams.is_some()) {
        let lost = |r: &WayRow<'_>| r.direction.datagrams?.lost_share().map(percent);
        columns.push(numbers("lost", "%", &lost));
    }
    columns.extend(times(rows));
    columns.push(numbers("send s/GB", "", &|r| r.ends().0.process_s_per_gb.map(digits)).rank(2));
    columns.push(numbers("recv s/GB", "", &|r| r.ends().1.process_s_per_gb.map(digits)).rank(2));
    if some(&|r| r.direction.balance.as_ref().map(|b| b.spread)) {
        let spread = |r: &WayRow<'_>| r.direction.balance.as_ref().map(|b| percent(b.spread));
        columns.push(numbers("spread", "%", &spread).rank(7));
    }
    let limit = rows.iter().map(|r| r.direction.limit.by.word().to_owned());
    columns.push(TableColumn::names("limit").fill(limit));
    columns
}

/// Latencies of transactions, and of the probe where there is one.
fn times(rows: &[WayRow<'_>]) -> Vec<TableColumn> {
    let of = |r: &WayRow<'_>| r.direction.transactions.or(r.pair.probe);
    if !rows.iter().any(|r| of(r).is_some()) {
        return Vec::new();
    }
    let unit = crate::number::TimeUnit::of(rows.iter().filter_map(of).map(|l| l.p50_ns).collect());
    let column = |name: &str, point: fn(&findings::Latency) -> u64| {
        let cell = |r: &WayRow<'_>| of(r).map_or("-".to_owned(), |l| unit.show(point(&l)));
        TableColumn::numbers(name, unit.name).fill(rows.iter().map(cell))
    };
    vec![
        column("p50", |l| l.p50_ns),
        column("p99", |l| l.p99_ns),
        column("max", |l| l.max_ns).rank(6),
    ]
}
