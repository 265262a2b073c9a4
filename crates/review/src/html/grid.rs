//! Tables: columns with a name, a unit and a way to fill them from a row; the first column names its row. A table that
//! is wider than the page scrolls in its own box.

use maud::{Markup, html};

/// A column over rows of `R`.
pub(super) struct Column<'a, R> {
    name: String,
    unit: String,
    /// A heading above neighbours that share it; empty = none.
    group: String,
    number: bool,
    cell: Box<dyn Fn(&R) -> Markup + 'a>,
}

impl<'a, R> Column<'a, R> {
    /// A column of words, which stand left and may wrap.
    pub fn words(name: &str, cell: impl Fn(&R) -> Markup + 'a) -> Self {
        Column {
            name: name.to_owned(),
            unit: String::new(),
            group: String::new(),
            number: false,
            cell: Box::new(cell),
        }
    }

    /// A column of numbers in a unit, which stand right.
    pub fn numbers(name: &str, unit: &str, cell: impl Fn(&R) -> String + 'a) -> Self {
        let cell = move |row: &R| html! { (cell(row)) };
        Column { unit: unit.to_owned(), number: true, ..Column::words(name, cell) }
    }

    /// A column of numbers, some of which are marked.
    pub fn marked(name: &str, unit: &str, cell: impl Fn(&R) -> Markup + 'a) -> Self {
        Column { unit: unit.to_owned(), number: true, ..Column::words(name, cell) }
    }

    /// The same under a heading that neighbours share.
    pub fn under(mut self, group: &str) -> Self {
        self.group = group.to_owned();
        self
    }
}

/// A table. `row` gives the address and the class of a row.
pub(super) fn table<R>(
    caption: &str,
    columns: &[Column<'_, R>],
    rows: &[R],
    row: impl Fn(&R) -> (Option<String>, &'static str),
) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                thead {
                    @if columns.iter().any(|c| !c.group.is_empty()) { (groups(columns)) }
                    tr {
                        @for column in columns {
                            th.number[column.number] scope="col" {
                                (column.name)
                                @if !column.unit.is_empty() { " " span.unit { (column.unit) } }
                            }
                        }
                    }
                }
                tbody {
                    @for r in rows {
                        @let (id, class) = row(r);
                        tr id=[id] class=[(!class.is_empty()).then_some(class)] {
                            @for (i, column) in columns.iter().enumerate() {
                                @if i == 0 {
                                    th.number[column.number] scope="row" { ((column.cell)(r)) }
                                } @else {
                                    td.number[column.number] { ((column.cell)(r)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// The row of headings that neighbours share.
fn groups<R>(columns: &[Column<'_, R>]) -> Markup {
    html! {
        tr.groups {
            @for chunk in columns.chunk_by(|a, b| a.group == b.group) {
                @if chunk[0].group.is_empty() {
                    td colspan=(chunk.len()) {}
                } @else {
                    th scope="colgroup" colspan=(chunk.len()) { (chunk[0].group) }
                }
            }
        }
    }
}
