//! A comparison for a terminal.

use super::words::{self, MetricRow};
use crate::paint::{Ink, ReviewPage, Style};
use crate::table::{self, TableColumn};
use crate::text::fit;
use findings::Comparison;
use findings::comparison::{Against, StepPair};

/// Facts that are listed; the records hold all.
const DIFFERING_MAX: usize = 24;
/// Steps without a partner that are listed.
const UNPAIRED_MAX: usize = 12;

/// A comparison for a terminal. No line is longer than the style's width (at least 60, at most 100).
pub fn text(comparison: &Comparison, style: Style) -> String {
    let mut page = ReviewPage::new(style);
    for against in &comparison.against {
        page.gap();
        let verdict = words::verdict(comparison, against);
        let ink = Ink::of(verdict.tone);
        page.hanging(&format!("{} ", verdict.tone.mark()), ink, &verdict.text, ink);
        for caution in words::cautions(against) {
            page.sentence("", &caution, Ink::of(caution.tone));
            if !caution.next.is_empty() {
                page.hanging("  → ", Ink::Accent, &caution.next, Ink::Dim);
            }
        }
        page.gap();
        for text in words::parties(comparison, against) {
            page.hanging("  ", Ink::Plain, &text, Ink::Dim);
        }
        for step in &against.steps {
            write_step(&mut page, comparison, against, step);
        }
        write_rest(&mut page, against);
        let how = words::how_to_read(comparison, against);
        if !how.is_empty() {
            page.gap();
            page.hanging("", Ink::Dim, &how, Ink::Dim);
        }
    }
    page.finish()
}

fn write_step(page: &mut ReviewPage, comparison: &Comparison, against: &Against, step: &StepPair) {
    page.heading(&words::step_name(step));
    for reason in words::reasons(step) {
        page.hanging("  ", Ink::Plain, &reason, Ink::Caution);
    }
    let lines: Vec<MetricRow> = step.metrics.iter().map(MetricRow::of).collect();
    if lines.is_empty() {
        return;
    }
    let [metric, a, b, change, interval, verdict, seen, needs] =
        words::headings(comparison, against.run);
    let numbers = |name: &str, of: fn(&MetricRow) -> &String| {
        TableColumn::numbers(name, "").fill(lines.iter().map(|l| of(l).clone()))
    };
    let opinions = lines.iter().map(|l| (Ink::of(l.tone), l.opinion.clone()));
    let columns = vec![
        TableColumn::names(&metric).fill(lines.iter().map(|l| l.metric.clone())),
        numbers(&a, |l| &l.baseline),
        numbers(&b, |l| &l.other),
        numbers(&change, |l| &l.difference),
        numbers(&interval, |l| &l.interval),
        TableColumn::names(&verdict).fill_inked(opinions),
        numbers(&seen, |l| &l.detectable).rank(2),
        numbers(&needs, |l| &l.needed).rank(1),
    ];
    table::write(page, columns);
    for limit in words::limits(step, against.run) {
        page.hanging("  ", Ink::Plain, &limit, Ink::Plain);
    }
    write_places(page, against, step);
}

/// How full the places of an observed load were on both sides.
fn write_places(page: &mut ReviewPage, against: &Against, step: &StepPair) {
    if step.places.is_empty() {
        return;
    }
    let rows: Vec<[String; 4]> = step.places.iter().map(words::place).collect();
    let heads = words::place_headings(against.run);
    let column = |at: usize| rows.iter().map(move |row| row[at].clone());
    let numbers = |at: usize| TableColumn::numbers(&heads[at], "").fill(column(at));
    let columns =
        vec![TableColumn::names(&heads[0]).fill(column(0)), numbers(1), numbers(2), numbers(3)];
    table::write(page, columns);
}

/// Steps without a partner, and differences in the setup.
fn write_rest(page: &mut ReviewPage, against: &Against) {
    if !against.unpaired.is_empty() {
        page.heading("Steps without partner");
        for unpaired in against.unpaired.iter().take(UNPAIRED_MAX) {
            page.hanging("  • ", Ink::Caution, &words::unpaired(unpaired), Ink::Plain);
        }
        more(page, against.unpaired.len(), UNPAIRED_MAX);
    }
    if !against.differing.is_empty() {
        page.heading("Differences in the setup");
        let room = page.width().saturating_sub(4) / 2;
        for differing in against.differing.iter().take(DIFFERING_MAX) {
            let [what, a, b] = words::differing(differing);
            let text = format!("{}: {} → {}", fit(&what, room), fit(&a, room), fit(&b, room));
            page.hanging("  • ", Ink::Dim, &text, Ink::Plain);
        }
        more(page, against.differing.len(), DIFFERING_MAX);
    }
}

fn more(page: &mut ReviewPage, all: usize, shown: usize) {
    if all > shown {
        let text = format!("and {} more; --format json has all", all - shown);
        page.hanging("    ", Ink::Dim, &text, Ink::Dim);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comparison_of_nothing_is_an_empty_page() {
        let nothing = Comparison {
            version: 1,
            confidence: 0.95,
            alpha: 0.05,
            power: 0.8,
            sought: 0.03,
            runs: vec![],
            against: vec![],
        };
        assert_eq!(text(&nothing, Style { color: false, width: 80 }), "");
    }
}
