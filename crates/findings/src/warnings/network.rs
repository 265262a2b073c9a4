//! Warnings about network loads: what is missing of them, what was lost, and what their figures cannot say.

use super::{Severity, WarningList, plural, share_text};
use crate::figures::StepFigures;
use crate::network::{Direction, LINK_TO, LOST_FROM, NetPair};
use units::count;

/// From this share of the measured time the clocks of both ends are too far apart for what was under way to be compared.
pub const CLOCK_FROM: f64 = 0.01;

/// Adds what there is to be careful about.
pub(super) fn warnings(list: &mut WarningList<'_>) {
    incomplete(list);
    failed(list);
    nothing(list);
    copied(list);
    lost(list);
    drops(list);
    wires(list);
    clocks(list);
    one_machine(list);
}

fn pairs(step: &StepFigures) -> impl Iterator<Item = &NetPair> {
    step.network.iter()
}

fn directions(step: &StepFigures) -> impl Iterator<Item = &Direction> {
    pairs(step).flat_map(|pair| &pair.directions)
}

fn incomplete(list: &mut WarningList<'_>) {
    let of = list.that(|s| pairs(s).any(|pair| !pair.complete));
    let missing: Vec<&String> =
        of.iter().flat_map(|s| pairs(s)).flat_map(|pair| &pair.missing).collect();
    let Some(first) = missing.first() else { return };
    let text = format!(
        "{} did not report the whole measured time at both ends {{in}}: {first}",
        plural(missing.len(), "stream")
    );
    let next = "look for an end that was lost or streams that broke; rates still divide by the step's whole time";
    list.add("streams-incomplete", Severity::Error, &of, &text, next);
}

fn failed(list: &mut WarningList<'_>) {
    let of = list.that(|s| directions(s).any(|d| d.sent.errors > 0));
    let sum = |amount: fn(&Direction) -> u64| -> u64 {
        of.iter().flat_map(|s| directions(s)).fold(0, |n, d| n.saturating_add(amount(d)))
    };
    let (errors, ops) = (sum(|d| d.sent.errors), sum(|d| d.sent.ops));
    let all = errors.saturating_add(ops);
    let text = format!(
        "{} of {} messages or transactions failed ({}) {{in}}; excluded from all figures",
        count(errors as f64),
        count(all as f64),
        share_text(errors as f64 / (all as f64).max(1.0))
    );
    let next = "see the events for the first reason of each stream";
    list.add("network-errors", Severity::Error, &of, &text, next);
}

fn nothing(list: &mut WarningList<'_>) {
    let of = list.that(|s| directions(s).any(|d| d.received.bytes == 0));
    let text = "streams received nothing in the measured time {in}";
    let next = "check the receiver, the route to it and what filters packets on the way";
    list.add("nothing-received", Severity::Error, &of, text, next);
}

/// Zero-copy sends that the kernel copied after all cost more than plain ones.
fn copied(list: &mut WarningList<'_>) {
    let share = |d: &Direction| {
        let (done, copied) = (d.zero_copy_done?, d.zero_copy_copied?);
        (done > 0.0 && copied > 0.0).then(|| copied / done)
    };
    let of = list.that(|s| directions(s).any(|d| share(d).is_some()));
    let worst = of.iter().flat_map(|s| directions(s)).filter_map(share).reduce(f64::max);
    let text = format!(
        "the kernel copied up to {} of the zero-copy sends after all {{in}}",
        share_text(worst.unwrap_or(0.0))
    );
    let next = "over loopback, and to adapters without scatter-gather, it always does; compare without `zero_copy`";
    list.add("zero-copy-copied", Severity::Warning, &of, &text, next);
}

fn lost(list: &mut WarningList<'_>) {
    let share = |d: &Direction| d.datagrams?.lost_share().filter(|share| *share >= LOST_FROM);
    let of = list.that(|s| directions(s).any(|d| share(d).is_some()));
    let worst = of.iter().flat_map(|s| directions(s)).filter_map(share).reduce(f64::max);
    let text = format!(
        "up to {} of the datagrams of a direction were lost {{in}}",
        share_text(worst.unwrap_or(0.0))
    );
    let next = "throughput counts what arrived; set `rate` below what the receiver takes, or enlarge its buffer";
    list.add("datagrams-lost", Severity::Warning, &of, &text, next);
}

fn drops(list: &mut WarningList<'_>) {
    let machines = |pair: &NetPair| {
        [&pair.sender, &pair.receiver].into_iter().filter_map(|m| m.softnet_drops).sum::<f64>()
    };
    let of = list.that(|s| pairs(s).any(|pair| machines(pair) > 0.0));
    let sum: f64 = of.iter().flat_map(|s| pairs(s)).map(machines).sum();
    let text = format!(
        "hosts dropped {} packets before any socket saw them {{in}}, because a backlog was full",
        count(sum)
    );
    let next =
        "raise net.core.netdev_max_backlog, or spread the work over more processors (RSS, RPS)";
    list.add("softnet-drops", Severity::Warning, &of, &text, next);
}

/// A wire that carried more than it can.
fn wires(list: &mut WarningList<'_>) {
    let over = |d: &Direction| d.wire.fill.filter(|fill| *fill > LINK_TO);
    let of = list.that(|s| directions(s).any(|d| over(d).is_some()));
    let worst = of.iter().flat_map(|s| directions(s)).filter_map(over).reduce(f64::max);
    let text = format!(
        "up to {} of the named wire's rate was carried {{in}}: it is not the wire between these hosts",
        share_text(worst.unwrap_or(0.0))
    );
    let next = "shares of the wire mean nothing then; give the receiver the `rate` of the wire that is there, or none";
    list.add("wire-exceeded", Severity::Warning, &of, &text, next);
}

fn clocks(list: &mut WarningList<'_>) {
    let apart = |s: &StepFigures| {
        let bound = pairs(s).filter_map(|pair| pair.clock_bound_ns).fold(0.0, f64::max);
        bound >= CLOCK_FROM * s.measured_ns as f64 && s.measured_ns > 0
    };
    let of = list.that(apart);
    let text = "the clocks of both ends are known to each other no better than a hundredth of the measured time {in}";
    let next = "measure longer; the rates of each end are valid, their difference is not";
    list.add("clocks-apart", Severity::Warning, &of, text, next);
}

fn one_machine(list: &mut WarningList<'_>) {
    let of = list.that(|s| pairs(s).any(|pair| pair.one_machine));
    let text = "both ends are on one machine {in}: its processors' figures are those of both ends";
    let next = "for the figures of a network, start the receiver on another machine";
    list.add("one-machine", Severity::Note, &of, text, next);
}
