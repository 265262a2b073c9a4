//! Tables with a two-line heading (name and unit) that fit a page: where room is short, less important columns go first,
//! then the widest column of names is cut.

use crate::paint::{Ink, ReviewPage};
use crate::sentence::AnswerTable;
use crate::text::{Align, pad, width};

/// Blanks between columns.
const GAP: usize = 2;
/// Columns before a table.
const INDENT: usize = 2;
/// Columns before a table below a sentence.
const ANSWERS_INDENT: usize = 6;
/// A column of names is cut to this before a column is dropped.
const NAME_LONG: usize = 24;
/// A column of names is not cut below this while anything else can be cut.
const NAME_MIN: usize = 6;
/// Headings of numbers are cut to this where they are wider than their numbers.
const HEADING_MAX: usize = 9;

pub(crate) struct TableColumn {
    name: String,
    unit: String,
    align: Align,
    /// Columns with a lower number go first where room is short; `None` = never.
    rank: Option<u8>,
    /// Whether the next column goes with this one: one says little without the other.
    with_next: bool,
    cells: Vec<(Ink, String)>,
}

impl TableColumn {
    /// A column of names, cut where room is short.
    pub fn names(name: &str) -> TableColumn {
        TableColumn::new(name, "", Align::Left, None)
    }

    /// A column of numbers.
    pub fn numbers(name: &str, unit: &str) -> TableColumn {
        TableColumn::new(name, unit, Align::Right, None)
    }

    fn new(name: &str, unit: &str, align: Align, rank: Option<u8>) -> TableColumn {
        let (name, unit) = (name.to_owned(), unit.to_owned());
        TableColumn { name, unit, align, rank, with_next: false, cells: Vec::new() }
    }

    /// Lets the column go where room is short, the lower the earlier.
    pub fn rank(mut self, rank: u8) -> TableColumn {
        self.rank = Some(rank);
        self
    }

    /// Lets the next column, of the same rank, go together with this one.
    pub fn with_next(mut self) -> TableColumn {
        self.with_next = true;
        self
    }

    /// The cells, in the order of the rows.
    pub fn fill(mut self, cells: impl IntoIterator<Item = String>) -> TableColumn {
        self.cells = cells.into_iter().map(|text| (Ink::Plain, text)).collect();
        self
    }

    /// The cells with their inks.
    pub fn fill_inked(mut self, cells: impl IntoIterator<Item = (Ink, String)>) -> TableColumn {
        self.cells = cells.into_iter().collect();
        self
    }

    fn width(&self) -> usize {
        self.cells_width().max(width(&self.name)).max(width(&self.unit))
    }

    fn cells_width(&self) -> usize {
        self.cells.iter().map(|(_, text)| width(text)).max().unwrap_or(0)
    }

    /// What the column keeps when names are cut to `name` columns: numbers stay whole.
    fn least(&self, name: usize) -> usize {
        match self.align {
            Align::Left => name,
            Align::Right => self.cells_width().max(name.min(HEADING_MAX)),
        }
    }
}

/// A small table below a sentence, which is a bullet.
pub(crate) fn write_answers(page: &mut ReviewPage, table: &AnswerTable) {
    let column = |(i, (name, align)): (usize, &(&'static str, Align))| {
        let cells = table.rows.iter().filter_map(|row| row.get(i).cloned());
        TableColumn::new(name, "", *align, None).fill(cells)
    };
    write_at(page, ANSWERS_INDENT, table.columns.iter().enumerate().map(column).collect());
}

pub(crate) fn write(page: &mut ReviewPage, columns: Vec<TableColumn>) {
    write_at(page, INDENT, columns);
}

fn write_at(page: &mut ReviewPage, indent: usize, mut columns: Vec<TableColumn>) {
    columns.retain(|c| !c.cells.is_empty());
    let widths = layout(&mut columns, page.width().saturating_sub(indent));
    for heading in [|c: &TableColumn| c.name.clone(), |c: &TableColumn| c.unit.clone()] {
        let texts = columns.iter().map(|c| (Ink::Dim, heading(c)));
        if columns.iter().any(|c| !heading(c).is_empty()) {
            row(page, indent, texts, &columns, &widths);
        }
    }
    let rows = columns.iter().map(|c| c.cells.len()).max().unwrap_or(0);
    for i in 0..rows {
        let texts =
            columns.iter().map(|c| c.cells.get(i).cloned().unwrap_or((Ink::Plain, String::new())));
        row(page, indent, texts, &columns, &widths);
    }
}

fn row(
    page: &mut ReviewPage,
    indent: usize,
    cells: impl Iterator<Item = (Ink, String)>,
    columns: &[TableColumn],
    widths: &[usize],
) {
    let mut line = " ".repeat(indent);
    for (i, (ink, text)) in cells.enumerate() {
        if i > 0 {
            line.push_str(&" ".repeat(GAP));
        }
        let padded = pad(&text, widths[i], columns[i].align);
        // Blanks at the end of a line are not coloured, so that they can be trimmed.
        let last = i + 1 == columns.len() && columns[i].align == Align::Left;
        line.push_str(&page.ink(ink, if last { padded.trim_end() } else { &padded }));
    }
    page.line(&line);
}

/// The widths of the columns that found room. Long names and headings are cut before columns are dropped, but stay
/// distinct; numbers are cut only where nothing else is left.
fn layout(columns: &mut Vec<TableColumn>, room: usize) -> Vec<usize> {
    loop {
        let mut widths: Vec<usize> = columns.iter().map(TableColumn::width).collect();
        if shrink(&mut widths, columns, room, |c| c.least(NAME_LONG)) {
            return widths;
        }
        let droppable = columns.iter().enumerate().filter_map(|(i, c)| Some((c.rank?, i))).min();
        match droppable {
            Some((_, i)) => {
                let last = (i + usize::from(columns[i].with_next)).min(columns.len() - 1);
                columns.drain(i..=last);
            }
            None => {
                let _fits = shrink(&mut widths, columns, room, |c| c.least(NAME_MIN))
                    || shrink(&mut widths, columns, room, |_| 1);
                return widths;
            }
        }
    }
}

/// Cuts the widest column, over and over, but none below its least width. Whether they fit then.
fn shrink(
    widths: &mut [usize],
    columns: &[TableColumn],
    room: usize,
    least: impl Fn(&TableColumn) -> usize,
) -> bool {
    let gaps = GAP * widths.len().saturating_sub(1);
    while widths.iter().sum::<usize>() + gaps > room {
        let cuttable = columns.iter().enumerate().filter(|(i, c)| widths[*i] > least(c));
        let Some((widest, _)) = cuttable.max_by_key(|(i, _)| widths[*i]) else { return false };
        widths[widest] -= 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(room: usize, expected: &[&str]) {
        let numbers = |name: &str| TableColumn::numbers(name, "us").fill(["1234".to_owned()]);
        let mut columns = vec![
            numbers("IOPS"),
            numbers("p99.9").rank(5),
            numbers("read p99").rank(4).with_next(),
            numbers("write p99").rank(4),
        ];
        layout(&mut columns, room);
        let names: Vec<&str> = columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(names, expected, "{room} columns");
    }

    #[test]
    fn what_belongs_together_goes_together() {
        check(40, &["IOPS", "p99.9", "read p99", "write p99"]);
        for room in 12..28 {
            check(room, &["IOPS", "p99.9"]);
        }
        check(5, &["IOPS"]);
    }
}
