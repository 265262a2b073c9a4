//! The clocks of several files, aligned by traffic that two of them saw: a port that both counted, a LUN at its hosts and at its
//! array, or, without an identity, all that hosts ask for and all that an array serves.
//!
//! The first file's clock is kept. An offset is applied only where it is clear and more than its interval; what is applied, or why
//! nothing is, becomes a note of the file.

mod offset;

pub use offset::{Offset, Refusal, Series, offsets};

use super::join::Joined;
use super::model::{Feed, Flow, Measure, Span};
use super::places::LEVELS;
use super::topology::Topology;
use record::{HopKind, Level};
use std::collections::{BTreeMap, BTreeSet};

/// Without an identity in both files their traffic must be at least so alike.
const ALIKE: f64 = 0.8;
/// And neither may have more than so many times the traffic of the other.
const TIMES: f64 = 2.0;
/// Files that a file is compared with, at most.
const TRIED: usize = 6;
/// Time zones and daylight saving time differ by multiples of this many seconds.
const QUARTER: f64 = 900.0;

/// Aligns the clocks of files with that of the first, as far as their traffic tells.
pub fn align(feeds: &mut [Feed], topology: &Topology) {
    let mut aligned = vec![0];
    for at in 1..feeds.len() {
        let joined = Joined::of(feeds, topology);
        let mut refused: Option<(usize, Refusal)> = None;
        for with in aligned.iter().copied().take(TRIED).collect::<Vec<usize>>() {
            match clear(feeds, &joined, (with, at)) {
                Some(Ok((offsets, known))) => {
                    refused = None;
                    apply(feeds, (with, at), &offsets, known);
                    aligned.push(at);
                    break;
                }
                Some(Err(why)) => refused = refused.or(Some((with, why))),
                None => {}
            }
        }
        if let Some((with, why)) = refused {
            let text = format!(
                "the clocks of {} and {} are taken as they are: {}",
                feeds[with].name,
                feeds[at].name,
                reason(why)
            );
            feeds[at].note(Level::Info, "clock-unknown", text);
        }
    }
}

fn reason(why: Refusal) -> String {
    match why {
        Refusal::Short => "too few samples overlap to compare them".to_owned(),
        Refusal::Flat => "the traffic that both saw hardly changes".to_owned(),
        Refusal::Unrelated => "no shift makes the traffic of one like that of the other".to_owned(),
        Refusal::Ambiguous(a, b) => format!(
            "their traffic is as alike at an offset of {} as at one of {}",
            seconds(a),
            seconds(b)
        ),
        Refusal::Volumes(times) if times > 1.0 => {
            format!(
                "the second has {times:.1} times the traffic of the first, so that it is not the same"
            )
        }
        Refusal::Volumes(times) => format!(
            "the first has {:.1} times the traffic of the second, so that it is not the same",
            1.0 / times
        ),
    }
}

fn seconds(value: f64) -> String {
    match value.abs() {
        v if v < 9.95 => format!("{value:+.1} s"),
        _ => format!("{value:+.0} s"),
    }
}

/// The offsets of two files, and whether an identity tells that they saw the same; `None` where they have nothing to compare.
fn clear(
    feeds: &[Feed],
    joined: &Joined,
    (with, at): (usize, usize),
) -> Option<Result<(Vec<Offset>, bool), Refusal>> {
    let (mine, theirs) = shared(feeds, joined, (with, at));
    // What one program wrote of one place has one clock: a second file of it is of another time.
    if !mine.is_empty()
        && feeds[with].format == feeds[at].format
        && is_one(feeds, joined, (with, at))
    {
        return None;
    }
    let known = !mine.is_empty();
    let (mine, theirs) = match known {
        true => (mine, theirs),
        false => {
            let (a, b) = (outermost(&feeds[with])?, outermost(&feeds[at])?);
            // Two of one level are neighbours beside each other, not one behind the other.
            (a.0 != b.0).then_some((a.1, b.1))?
        }
    };
    let (one, other) = (series(&feeds[with], &mine)?, series(&feeds[at], &theirs)?);
    let found = offsets(&one.of, &other.of);
    Some(match found {
        Ok(all) if !known && all.iter().any(|of| of.correlation < ALIKE) => Err(Refusal::Unrelated),
        Ok(all) => match times(&one, &other, &all).filter(|_| !known) {
            Some(times) if !(1.0 / TIMES..=TIMES).contains(&times) => Err(Refusal::Volumes(times)),
            _ => Ok((all, known)),
        },
        Err(why) => Err(why),
    })
}

/// How many times the traffic of the first the second has, in the time that both know; `None` where one counts bytes and one
/// operations.
fn times(one: &Traffic, other: &Traffic, offsets: &[Offset]) -> Option<f64> {
    let offset = offsets.first()?.seconds;
    let lies = |of: &Series| Some((of.rows.first()?.0, of.rows.last()?.1));
    let (a, b) = (lies(&one.of)?, lies(&other.of)?);
    let both = (a.0.max(b.0 - offset), a.1.min(b.1 - offset));
    let mean = |of: &Series, shift: f64| {
        let inside = |row: &(f64, f64, f64)| {
            ((row.1 - shift).min(both.1) - (row.0 - shift).max(both.0)).max(0.0)
        };
        let time: f64 = of.rows.iter().map(inside).sum();
        of.rows.iter().map(|row| row.2 * inside(row)).sum::<f64>() / time
    };
    let times = mean(&other.of, offset) / mean(&one.of, 0.0);
    (one.bytes == other.bytes && times.is_finite()).then_some(times)
}

/// Places of two files through which the same traffic passes.
fn shared(
    feeds: &[Feed],
    joined: &Joined,
    (with, at): (usize, usize),
) -> (BTreeSet<usize>, BTreeSet<usize>) {
    let (mut mine, mut theirs) = (BTreeSet::new(), BTreeSet::new());
    let at_host = |kind: HopKind| matches!(kind, HopKind::LunQueue | HopKind::BlockDevice);
    let mut groups: BTreeMap<usize, usize> = BTreeMap::new();
    let mut ids: BTreeMap<(&str, bool), Vec<usize>> = BTreeMap::new();
    for (place, one) in feeds[with].places.iter().enumerate() {
        groups.insert(joined.place(with, place), place);
        for id in &one.ids {
            ids.entry((id, at_host(one.kind))).or_default().push(place);
        }
    }
    for (place, other) in feeds[at].places.iter().enumerate() {
        let same = groups.get(&joined.place(at, place)).copied();
        // A LUN's traffic at one host is not that at another.
        let through =
            other.ids.iter().filter_map(|id| ids.get(&(id.as_str(), !at_host(other.kind))));
        let all: Vec<usize> = same.into_iter().chain(through.flatten().copied()).collect();
        if !all.is_empty() {
            mine.extend(all);
            theirs.insert(place);
        }
    }
    (mine, theirs)
}

/// Whether two files share a place that each names alike.
fn is_one(feeds: &[Feed], joined: &Joined, (with, at): (usize, usize)) -> bool {
    let (one, other) = (&feeds[with].places, &feeds[at].places);
    let groups: BTreeMap<usize, usize> =
        (0..one.len()).map(|place| (joined.place(with, place), place)).collect();
    (0..other.len()).any(|b| {
        groups.get(&joined.place(at, b)).is_some_and(|a| {
            let (a, b) = (&one[*a], &other[b]);
            !a.device.is_empty() && a.name == b.name && a.device == b.device
        })
    })
}

/// The places of the outermost level of a file, with the number of the level.
fn outermost(feed: &Feed) -> Option<(usize, BTreeSet<usize>)> {
    LEVELS.iter().enumerate().find_map(|(level, kinds)| {
        let of = |place: &usize| {
            let place = &feed.places[*place];
            kinds.contains(&place.kind) && !place.within
        };
        let all: BTreeSet<usize> = (0..feed.places.len()).filter(of).collect();
        (!all.is_empty()).then_some((level, all))
    })
}

/// What goes through some places together.
struct Traffic {
    of: Series,
    /// Bytes a second, or operations where no bytes are counted.
    bytes: bool,
}

fn series(feed: &Feed, places: &BTreeSet<usize>) -> Option<Traffic> {
    let flows = [Flow::Read, Flow::Write, Flow::Any];
    let of = |measure: fn(Flow) -> Measure| -> Vec<(f64, f64, f64)> {
        let columns: Vec<_> = places
            .iter()
            .flat_map(|place| flows.map(|flow| feed.find(*place, measure(flow))))
            .flatten()
            .collect();
        let mut rows: Vec<(f64, f64, f64)> = Vec::new();
        for (at, row) in feed.rows.iter().enumerate() {
            let known: Vec<f64> = columns.iter().filter_map(|column| column.at(at)).collect();
            let (from, to) = (row.from as f64 / 1e9, row.to as f64 / 1e9);
            if !known.is_empty() && rows.last().is_none_or(|last| last.1 <= from + 1e-6) {
                rows.push((from, to, known.iter().sum()));
            }
        }
        rows
    };
    let rows = Some(of(Measure::Bytes)).filter(|rows| !rows.is_empty());
    let bytes = rows.is_some();
    let rows = rows.unwrap_or_else(|| of(Measure::Ops));
    (!rows.is_empty()).then_some(Traffic { of: Series { rows }, bytes })
}

/// Moves the rows of a file onto the clock of another, and says so.
fn apply(feeds: &mut [Feed], (with, at): (usize, usize), offsets: &[Offset], known: bool) {
    let is_zero = |of: &Offset| of.interval.0 <= 0.0 && of.interval.1 >= 0.0 && of.ppm == 0.0;
    let by = match known {
        true => "the traffic that both counted",
        false => "all traffic of both, which share no identity",
    };
    let one = |of: &Offset| {
        let drift = if of.ppm == 0.0 {
            String::new()
        } else {
            format!(", and gains {:.0} ± {:.0} parts of a million", of.ppm, of.ppm_error)
        };
        format!(
            "{} ({} to {}, correlation {:.2}){}{drift}",
            seconds(of.seconds),
            seconds(of.interval.0),
            seconds(of.interval.1),
            of.correlation,
            zone(of)
        )
    };
    let told: Vec<String> = offsets.iter().map(one).collect();
    let (reference, name) = (feeds[with].name.clone(), feeds[at].name.clone());
    if offsets.iter().all(is_zero) {
        let text = format!("the clocks of {reference} and {name} agree: {}; by {by}", told[0]);
        return feeds[at].note(Level::Info, "clock-agrees", text);
    }
    let text = format!(
        "the clock of {name} against that of {reference}: {}; by {by}; its times are moved onto that clock",
        told.join("; after it was set, ")
    );
    feeds[at].note(Level::Warning, "clock-offset", text.clone());
    feeds[at].assumed.push(("clock".to_owned(), text));
    // A row belongs to one setting of the clock. One that was set back shows times twice: what overlaps is left out.
    let mut last = i64::MIN;
    let moved = |row: &Span| {
        let shown = row.from as f64 / 1e9;
        let of = offsets.iter().rev().find(|of| of.from.is_none_or(|from| shown >= from))?;
        let back = |moment: i64| moment - (of.at(moment as f64 / 1e9) * 1e9).round() as i64;
        let span = Span { from: back(row.from), to: back(row.to) };
        let kept = (span.from >= last && span.to > span.from).then_some(span)?;
        last = kept.to;
        Some(kept)
    };
    let spans: Vec<Option<Span>> = feeds[at].rows.iter().map(moved).collect();
    feeds[at].keep_rows(&spans);
    for (_, test) in &mut feeds[at].tests {
        let middle = offsets.first().map_or(0.0, |of| of.seconds);
        let shift = (middle * 1e9).round() as i64;
        *test = Span { from: test.from - shift, to: test.to - shift };
    }
}

/// What an offset looks like, where it is a multiple of a quarter of an hour.
fn zone(of: &Offset) -> &'static str {
    let nearest = (of.seconds / QUARTER).round() * QUARTER;
    let is = nearest != 0.0 && (of.interval.0..=of.interval.1).contains(&nearest);
    if is { ", as of another time zone or daylight saving time" } else { "" }
}
