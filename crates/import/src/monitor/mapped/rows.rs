//! Lines as rows: one for each moment of any place, and figures that hold from a place's moment before.

use super::super::Options;
use super::super::error::ReadError;
use super::super::model::{Feed, Measure, Span};
use super::super::stamp::{Calendar, Stamp, moments_by};
use super::{Header, Line};
use record::Level;
use std::collections::{BTreeMap, BTreeSet};

/// So many steps alike in a row are the interval of that part of a file.
const IN_A_ROW: usize = 5;
/// Objects of one poll are asked within this part of the time to the next.
const POLL: i64 = 4;

/// Puts lines into rows: one for each moment.
pub(super) fn fill(
    feed: &mut Feed,
    header: &Header<'_>,
    lines: Vec<Line>,
    options: &Options,
) -> Result<(), ReadError> {
    let (stamps, numbers): (Vec<Stamp>, Vec<u64>) =
        lines.iter().map(|l| (l.stamp, l.number)).unzip();
    let zone = header.map.zone.clone().or(options.calendar.zone.clone());
    let order = options.calendar.order.or(header.map.dates);
    let places: Vec<usize> = lines.iter().map(|line| line.place).collect();
    let found = moments_by(&places, &stamps, &numbers, &Calendar { zone, order })?;
    feed.assumed.extend(found.assumed);
    let polls = polls(&places, &found.at);
    let mut times: Vec<i64> = polls.values().copied().collect();
    times.sort_unstable();
    times.dedup();
    let given = options.interval.or(header.map.interval);
    let Some(begins) = begins(&times, given) else {
        return Err(ReadError::new(1, 1, "one moment alone has no length: `--interval` gives it"));
    };
    let grows = header.columns.iter().any(|(_, column, _)| column.grows);
    let row = |poll: &i64| times.binary_search(poll).unwrap_or_default();
    let rows: BTreeMap<i64, usize> = polls.iter().map(|(time, poll)| (*time, row(poll))).collect();
    let spans: Vec<Option<Span>> = (0..times.len())
        .map(|row| (!grows || row > 0).then_some(Span { from: begins[row], to: times[row] }))
        .collect();
    values(feed, header, &lines, &found.at, &rows);
    feed.keep_rows(&spans);
    Ok(())
}

/// When the interval of each moment begins: at the moment before, unless samples are missing between them. An export may be
/// coarser in one part than in another: what comes so several times in a row is no gap. `None` where nothing tells a length.
fn begins(times: &[i64], given: Option<i64>) -> Option<Vec<i64>> {
    let steps: Vec<i64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let mut sorted = steps.clone();
    sorted.sort_unstable();
    let length = given.or(sorted.get(sorted.len() / 2).copied())?;
    let alike = |pair: &[i64]| (pair[1] - pair[0]).abs() <= pair[0].min(pair[1]) / 10;
    let mut in_a_row = vec![false; steps.len()];
    let mut run = 0;
    for at in 1..=steps.len() {
        if at == steps.len() || !alike(&steps[at - 1..=at]) {
            in_a_row[run..at].fill(at - run >= IN_A_ROW && given.is_none());
            run = at;
        }
    }
    let mut out = vec![times.first()? - length];
    for (step, (in_a_row, time)) in steps.iter().zip(in_a_row.iter().zip(&times[1..])) {
        let missing = *step > length.saturating_add(length / 2) && !in_a_row;
        out.push(time - if missing { length } else { *step });
    }
    Some(out)
}

/// The moment of the poll that each time is of: products ask their objects one after the other, a second or some apart.
fn polls(places: &[usize], at: &[i64]) -> BTreeMap<i64, i64> {
    let mut seen: Vec<(i64, usize)> = at.iter().copied().zip(places.iter().copied()).collect();
    seen.sort_unstable();
    let mut last: BTreeMap<usize, i64> = BTreeMap::new();
    let mut period = i64::MAX;
    for (time, place) in &seen {
        let before = last.insert(*place, *time).filter(|before| before < time);
        period = before.map_or(period, |before| period.min(time - before));
    }
    let mut out = BTreeMap::new();
    let mut poll: Option<(i64, BTreeSet<usize>)> = None;
    for (time, place) in seen {
        let began = match &mut poll {
            Some((began, others))
                if time == *began || time - *began < period / POLL && !others.contains(&place) =>
            {
                others.insert(place);
                *began
            }
            _ => {
                // Whatever was at this moment has its poll already.
                let began = out.get(&time).copied().unwrap_or(time);
                poll = Some((began, BTreeSet::from([place])));
                began
            }
        };
        out.entry(time).or_insert(began);
    }
    out
}

/// The moments of a place's lines, and how far they usually lie apart.
struct OwnTimes {
    at: Vec<i64>,
    usual: i64,
}

impl OwnTimes {
    /// Of each place.
    fn of(lines: &[Line], at: &[i64]) -> BTreeMap<usize, OwnTimes> {
        let mut all: BTreeMap<usize, Vec<i64>> = BTreeMap::new();
        for (line, time) in lines.iter().zip(at) {
            all.entry(line.place).or_default().push(*time);
        }
        let own = |mut at: Vec<i64>| {
            at.sort_unstable();
            at.dedup();
            let mut steps: Vec<i64> = at.windows(2).map(|pair| pair[1] - pair[0]).collect();
            steps.sort_unstable();
            OwnTimes { usual: steps.get(steps.len() / 2).copied().unwrap_or(0), at }
        };
        all.into_iter().map(|(place, at)| (place, own(at))).collect()
    }

    /// From when on a figure of this moment holds: from the one before, unless samples are missing between them.
    fn since(&self, time: i64) -> i64 {
        let before = self.at.partition_point(|at| *at < time).checked_sub(1);
        let before = before.map_or(i64::MIN, |at| self.at[at]);
        if time.saturating_sub(before) <= self.usual.saturating_add(self.usual / 2) {
            before
        } else {
            time - self.usual
        }
    }
}

/// Puts a figure into the rows from after a moment to its own: other places may have moments in between.
fn put(
    feed: &mut Feed,
    (since, time): (i64, i64),
    rows: &BTreeMap<i64, usize>,
    figure: (usize, Measure, f64),
) {
    let (place, measure, value) = figure;
    let own = rows[&time];
    feed.put(own, place, measure, value);
    let before = rows.range(since.saturating_add(1)..time.max(since.saturating_add(1)));
    for row in before.map(|(_, row)| *row).filter(|row| *row < own) {
        feed.put(row, place, measure, value);
    }
}

/// Puts the values of lines into their rows; of counters their differences.
fn values(
    feed: &mut Feed,
    header: &Header<'_>,
    lines: &[Line],
    at: &[i64],
    rows: &BTreeMap<i64, usize>,
) {
    let mut last: BTreeMap<(usize, usize), (f64, Option<f64>, i64)> = BTreeMap::new();
    let mut order: Vec<usize> = (0..lines.len()).collect();
    order.sort_by_key(|nth| at[*nth]);
    let (mut resets, mut twice) = (0, 0);
    let mut seen = BTreeSet::new();
    let own = OwnTimes::of(lines, at);
    for nth in order {
        let (line, time) = (&lines[nth], at[nth]);
        let row = rows[&time];
        let begins = own[&line.place].since(time);
        for ((nth, (_, column, _)), value) in header.columns.iter().enumerate().zip(&line.values) {
            let Some((value, over)) = *value else { continue };
            twice += u32::from(!seen.insert((row, line.place, nth)));
            if !column.grows {
                let figure = (line.place, column.measure, value * column.factor);
                put(feed, (begins, time), rows, figure);
                continue;
            }
            let Some((before, over_before, since)) =
                last.insert((line.place, nth), (value, over, time))
            else {
                continue;
            };
            let seconds = (time - since) as f64 / 1e9;
            // A decrease is a reset, a wrap or a partial sum: nothing is known of the interval.
            if value < before || over.zip(over_before).is_some_and(|(now, then)| now < then) {
                resets += 1;
                continue;
            }
            let per = match (&column.over, over.zip(over_before)) {
                (Some(_), Some((now, then))) if now > then => (value - before) / (now - then),
                (Some(_), _) => continue,
                (None, _) => (value - before) / seconds,
            };
            put(feed, (since, time), rows, (line.place, column.measure, per * column.factor));
        }
    }
    if twice > 0 {
        let text = format!(
            "{}: {twice} figures are of a place and a time that another line has too: the last counts; a column may tell them apart (`device-column`)",
            feed.name
        );
        feed.note(Level::Warning, "twice", text);
    }
    if resets > 0 {
        let text = format!(
            "{}: counters decreased {resets} times: a reset, a wrap or a sum of parts; these intervals are absent",
            feed.name
        );
        feed.note(Level::Warning, "counter-reset", text);
    }
}
