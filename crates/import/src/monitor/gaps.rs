//! Times that no file covers: nothing is assumed of them, so that they count neither for nor against anything.

use super::model::{Span, apart};
use super::places::Written;
use super::row::Row;
use std::collections::BTreeMap;

/// The times of a window in which no file has an interval of any load, but for what rounding leaves between two.
pub(super) fn gaps(places: &[Written<'_>], window: Span) -> Vec<Span> {
    let mut feeds: BTreeMap<usize, Vec<&Written<'_>>> = BTreeMap::new();
    for place in places.iter().filter(|place| place.load.is_some()) {
        feeds.entry(place.file).or_default().push(place);
    }
    let mut rows: Vec<Span> = feeds.values().flat_map(|places| known(places, window)).collect();
    rows.sort_unstable_by_key(|row| (row.from, row.to));
    let mut found = Vec::new();
    let mut before: Option<Span> = None;
    for row in &rows {
        match before {
            // Sorted by their beginnings, one may still end before the one that came before it.
            Some(last) if row.to <= last.to => continue,
            Some(last) if apart(last, *row) => found.push(Span { from: last.to, to: row.from }),
            Some(_) => {}
            None => found.push(Span { from: window.from, to: row.from }),
        }
        before = Some(*row);
    }
    let end = before.map_or(window.from, |last| last.to);
    found.push(Span { from: end, to: window.to });
    found.retain(|gap| gap.from < gap.to);
    found
}

/// The rows of a file that touch a window and in which any of its loads is known.
fn known<'a>(places: &'a [&Written<'_>], window: Span) -> impl Iterator<Item = Span> + 'a {
    let rows = places.first().map(|place| Row::within(place, window));
    let counts = |row: usize| places.iter().any(|place| Row::of(place, row).counts());
    rows.into_iter().flatten().filter(move |(row, _)| counts(*row)).map(|(_, span)| *span)
}

/// The longest part of a time line of which at least so many percent are known, by rows.
pub(super) fn longest(rows: &[Span], percent: u8) -> (usize, usize) {
    // Parts without a gap: rows, their times, and how much of the time before their ends is known.
    let mut parts: Vec<(usize, usize)> = Vec::new();
    for at in 0..rows.len() {
        match parts.last_mut().filter(|_| !apart(rows[at - 1], rows[at])) {
            Some(part) => part.1 = at + 1,
            None => parts.push((at, at + 1)),
        }
    }
    let lies = |part: &(usize, usize)| (rows[part.0].from, rows[part.1 - 1].to);
    let share = |time: i64| i128::from(percent) * i128::from(time);
    // From the beginning of one part to the end of another enough is known where the surplus does not fall.
    let (mut sum, mut surplus) = (0, Vec::new());
    for part in &parts {
        let (from, to) = lies(part);
        let before = sum - share(from);
        sum += 100 * i128::from(to - from);
        surplus.push((before, sum - share(to)));
    }
    let mut begins: Vec<usize> = Vec::new();
    for (at, (before, _)) in surplus.iter().enumerate() {
        if begins.last().is_none_or(|last| *before < surplus[*last].0) {
            begins.push(at);
        }
    }
    let mut best: Option<(i64, usize, usize)> = None;
    for (end, (_, after)) in surplus.iter().enumerate().rev() {
        while let Some(begin) =
            begins.last().copied().filter(|b| *b > end || surplus[*b].0 <= *after)
        {
            begins.pop();
            let length = lies(&parts[end]).1 - lies(&parts[begin]).0;
            // Of two of one length the earlier.
            if begin <= end && best.is_none_or(|(longest, ..)| length >= longest) {
                best = Some((length, parts[begin].0, parts[end].1));
            }
        }
    }
    best.map_or((0, 0), |(_, from, to)| (from, to))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(from: i64, to: i64) -> Span {
        Span { from, to }
    }

    /// Of all parts the longest that is known well enough, one by one.
    fn plainly(rows: &[Span], percent: i64) -> i64 {
        let mut best = 0;
        for from in 0..rows.len() {
            for to in from..rows.len() {
                let length = rows[to].to - rows[from].from;
                let gaps: i64 = (from..to)
                    .filter(|at| apart(rows[*at], rows[at + 1]))
                    .map(|at| rows[at + 1].from - rows[at].to)
                    .sum();
                if 100 * (length - gaps) >= percent * length {
                    best = best.max(length);
                }
            }
        }
        best
    }

    #[test]
    fn the_longest_part_is_that_of_all_parts() {
        let mut state = 1_u64;
        let mut dice = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        for round in 0..400 {
            let (mut rows, mut at) = (Vec::new(), 0);
            for _ in 0..1 + dice(40) {
                at += if dice(6) == 0 { 2 + dice(60) as i64 } else { 0 };
                rows.push(span(at, at + 10));
                at += 10;
            }
            for percent in [100, 95, 80, 50] {
                let (from, to) = longest(&rows, percent);
                let found = rows[to - 1].to - rows[from].from;
                let plain = plainly(&rows, i64::from(percent));
                assert_eq!(found, plain, "round {round}, {percent}%: {rows:?}");
            }
        }
        assert_eq!(longest(&[], 95), (0, 0));
    }
}
