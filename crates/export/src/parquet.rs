//! The rows of CSV as a table of Apache Parquet, for notebooks: the same columns, with types, and read in a fraction of the time.
//!
//! Written after the format's own description, <https://parquet.apache.org/docs/file-format/>, in its plainest form: every
//! column may be empty, values are plain, pages are packed by gzip, and there is one page a column in each group of rows. A
//! group is written when it is full, so that a record of any length takes the memory of one.

use crate::csv::{self, CsvError};
use findings::Analysis;
use flate2::Compression;
use flate2::write::GzEncoder;
use record::Record;
use std::io::Write;

/// Rows of a group.
const GROUP: usize = 1 << 16;
const MAGIC: &[u8] = b"PAR1";

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Truth,
    Whole,
    Number,
    Text,
}

impl Kind {
    /// What the column of this name holds; its unit ends the name.
    fn of(name: &str) -> Kind {
        const TEXTS: [&str; 10] = [
            "plan", "worker", "group", "agent", "phase", "loop", "pair", "workload", "way",
            "stream",
        ];
        const WHOLES: [&str; 7] =
            ["step", "repetition", "depth", "ops", "errors", "sent_bytes", "received_bytes"];
        let counts = |name: &str| name.ends_with("_ops") || name.ends_with("_errors");
        match name {
            "complete" => Kind::Truth,
            _ if TEXTS.contains(&name) || name.starts_with("setting_") => Kind::Text,
            _ if WHOLES.contains(&name) || counts(name) => Kind::Whole,
            _ => Kind::Number,
        }
    }

    /// The format's number of the type.
    fn physical(self) -> i64 {
        match self {
            Kind::Truth => 0,
            Kind::Whole => 2,
            Kind::Number => 5,
            Kind::Text => 6,
        }
    }
}

/// A column of the group that is being filled.
struct Column {
    name: String,
    kind: Kind,
    /// Which rows have a value.
    there: Vec<bool>,
    /// The values, plain; of truths one a byte until the page is made.
    plain: Vec<u8>,
}

/// Where a page stands.
struct Page {
    at: i64,
    rows: i64,
    bare: i64,
    packed: i64,
}

/// Takes rows of cells as text, as CSV has them, and writes groups.
pub(crate) struct Table<'a> {
    out: &'a mut dyn Write,
    at: i64,
    columns: Vec<Column>,
    groups: Vec<Vec<Page>>,
}

impl<'a> Table<'a> {
    pub fn begin(names: &[String], out: &'a mut dyn Write) -> Result<Table<'a>, CsvError> {
        let column = |name: &String| Column {
            name: name.clone(),
            kind: Kind::of(name),
            there: Vec::new(),
            plain: Vec::new(),
        };
        out.write_all(MAGIC)?;
        let columns = names.iter().map(column).collect();
        Ok(Table { out, at: MAGIC.len() as i64, columns, groups: Vec::new() })
    }

    pub fn row(&mut self, cells: &[String]) -> Result<(), CsvError> {
        for (column, cell) in self.columns.iter_mut().zip(cells) {
            column.push(cell);
        }
        match self.columns.first().is_some_and(|column| column.there.len() >= GROUP) {
            true => self.group(),
            false => Ok(()),
        }
    }

    /// Writes what has been gathered.
    fn group(&mut self) -> Result<(), CsvError> {
        let mut pages = Vec::with_capacity(self.columns.len());
        for column in &mut self.columns {
            let rows = column.there.len() as i64;
            let bare = column.page();
            let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
            packer.write_all(&bare)?;
            let packed = packer.finish()?;
            let mut page = page_header(rows, bare.len(), packed.len());
            let head = page.len() as i64;
            page.extend(packed);
            self.out.write_all(&page)?;
            let (bare, packed) = (head + bare.len() as i64, page.len() as i64);
            pages.push(Page { at: self.at, rows, bare, packed });
            self.at += packed;
        }
        self.groups.push(pages);
        Ok(())
    }

    /// Writes the rest, and what describes it all.
    pub fn end(mut self) -> Result<(), CsvError> {
        if self.columns.first().is_some_and(|column| !column.there.is_empty()) {
            self.group()?;
        }
        let foot = self.foot();
        self.out.write_all(&foot)?;
        let length = u32::try_from(foot.len()).unwrap_or(u32::MAX);
        self.out.write_all(&length.to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        Ok(())
    }

    /// The format's `FileMetaData`.
    fn foot(&self) -> Vec<u8> {
        let rows = |pages: &Vec<Page>| pages.first().map_or(0, |page| page.rows);
        let mut foot = Compact::default();
        foot.i32(1, 2);
        foot.list(2, Compact::STRUCT, self.columns.len() + 1);
        foot.element(|root| {
            root.text(4, "wirespeed");
            root.i32(5, self.columns.len() as i64);
        });
        for column in &self.columns {
            foot.element(|element| {
                element.i32(1, column.kind.physical());
                element.i32(3, 1); // It may be empty.
                element.text(4, &column.name);
                if column.kind == Kind::Text {
                    element.i32(6, 0); // UTF-8, for older readers; and for newer ones.
                    element.nested(10, |kind| kind.nested(1, |_| {}));
                }
            });
        }
        foot.i64(3, self.groups.iter().map(rows).sum());
        foot.list(4, Compact::STRUCT, self.groups.len());
        for pages in &self.groups {
            foot.element(|group| {
                group.list(1, Compact::STRUCT, pages.len());
                for (column, page) in self.columns.iter().zip(pages) {
                    group.element(|chunk| {
                        chunk.i64(2, page.at);
                        chunk.nested(3, |meta| described(meta, column, page));
                    });
                }
                group.i64(2, pages.iter().map(|page| page.bare).sum());
                group.i64(3, rows(pages));
            });
        }
        foot.text(6, concat!("wirespeed version ", env!("CARGO_PKG_VERSION")));
        foot.stop();
        foot.bytes
    }
}

/// The format's `ColumnMetaData`.
fn described(meta: &mut Compact, column: &Column, page: &Page) {
    meta.i32(1, column.kind.physical());
    meta.list(2, Compact::I32, 2);
    meta.zigzag(0); // Plain values,
    meta.zigzag(3); // and run lengths of which there are.
    meta.list(3, Compact::BINARY, 1);
    meta.string(&column.name);
    meta.i32(4, 2); // gzip
    meta.i64(5, page.rows);
    meta.i64(6, page.bare);
    meta.i64(7, page.packed);
    meta.i64(9, page.at);
}

fn page_header(rows: i64, bare: usize, packed: usize) -> Vec<u8> {
    let mut head = Compact::default();
    head.i32(1, 0);
    head.i32(2, bare as i64);
    head.i32(3, packed as i64);
    head.nested(5, |data| {
        data.i32(1, rows);
        data.i32(2, 0);
        data.i32(3, 3);
        data.i32(4, 3);
    });
    head.stop();
    head.bytes
}

impl Column {
    fn push(&mut self, cell: &str) {
        let before = self.plain.len();
        match self.kind {
            _ if cell.is_empty() => {}
            Kind::Truth => self.plain.push(u8::from(cell == "true")),
            Kind::Whole => {
                if let Ok(whole) = cell.parse::<i64>() {
                    self.plain.extend(whole.to_le_bytes());
                }
            }
            Kind::Number => {
                if let Ok(number) = cell.parse::<f64>() {
                    self.plain.extend(number.to_le_bytes());
                }
            }
            Kind::Text => {
                let length = u32::try_from(cell.len()).unwrap_or(u32::MAX);
                self.plain.extend(length.to_le_bytes());
                self.plain.extend(cell.as_bytes());
            }
        }
        self.there.push(self.plain.len() > before);
    }

    /// The page of what was gathered, which is gone then: which rows have a value, as run lengths, and the values.
    fn page(&mut self) -> Vec<u8> {
        let mut runs = Vec::new();
        for run in self.there.chunk_by(|a, b| a == b) {
            varint(&mut runs, (run.len() as u64) << 1);
            runs.push(u8::from(run[0]));
        }
        let mut page = u32::try_from(runs.len()).unwrap_or(u32::MAX).to_le_bytes().to_vec();
        page.extend(runs);
        if self.kind == Kind::Truth {
            let packed = |eight: &[u8]| {
                eight.iter().enumerate().fold(0, |byte, (bit, truth)| byte | truth << bit)
            };
            page.extend(self.plain.chunks(8).map(packed));
        } else {
            page.append(&mut self.plain);
        }
        self.plain.clear();
        self.there.clear();
        page
    }
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Thrift's compact protocol, as far as it is needed:
/// <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.
#[derive(Default)]
struct Compact {
    bytes: Vec<u8>,
    /// The number of the field before, of this struct.
    before: u8,
}

impl Compact {
    const I32: u8 = 5;
    const I64: u8 = 6;
    const BINARY: u8 = 8;
    const LIST: u8 = 9;
    const STRUCT: u8 = 12;

    /// Fields come in order, and none is 16 or more behind the one before.
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.before) << 4 | kind);
        self.before = number;
    }

    fn zigzag(&mut self, value: i64) {
        varint(&mut self.bytes, (value << 1 ^ value >> 63) as u64);
    }

    fn i32(&mut self, number: u8, value: i64) {
        self.field(number, Compact::I32);
        self.zigzag(value);
    }

    fn i64(&mut self, number: u8, value: i64) {
        self.field(number, Compact::I64);
        self.zigzag(value);
    }

    fn string(&mut self, text: &str) {
        varint(&mut self.bytes, text.len() as u64);
        self.bytes.extend(text.as_bytes());
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, Compact::BINARY);
        self.string(text);
    }

    fn list(&mut self, number: u8, kind: u8, count: usize) {
        self.field(number, Compact::LIST);
        if count < 15 {
            self.bytes.push((count as u8) << 4 | kind);
        } else {
            self.bytes.push(0xF0 | kind);
            varint(&mut self.bytes, count as u64);
        }
    }

    /// A struct in a list.
    fn element(&mut self, fill: impl FnOnce(&mut Compact)) {
        let outer = std::mem::take(&mut self.before);
        fill(self);
        self.stop();
        self.before = outer;
    }

    /// A struct in a field.
    fn nested(&mut self, number: u8, fill: impl FnOnce(&mut Compact)) {
        self.field(number, Compact::STRUCT);
        self.element(fill);
    }

    fn stop(&mut self) {
        self.bytes.push(0);
    }
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Row {
    /// A step.
    Step,
    /// An interval of a worker or of an end of a stream.
    Interval,
    /// A stream of a network load.
    Stream,
}

/// Writes the rows of all steps, or of one (by number, from 0), as a table.
/// # Errors
/// Where the record cannot be read, does not hold the step, or `out` fails.
pub fn parquet(
    record: &Record,
    analysis: &Analysis,
    rows: Row,
    only: Option<u32>,
    out: &mut dyn Write,
) -> Result<(), CsvError> {
    let held = match rows {
        Row::Interval => {
            let mut table = Table::begin(&csv::interval_header(), out)?;
            csv::each_interval(record, only, &mut |row| table.row(row))?;
            return table.end();
        }
        Row::Step => csv::step_rows(analysis, only),
        Row::Stream => csv::stream_rows(analysis, only),
    };
    let (names, rows) = held?;
    let mut table = Table::begin(&names, out)?;
    rows.iter().try_for_each(|row| table.row(row))?;
    table.end()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_of_what_its_name_says() {
        for (name, kind) in [
            ("step", Kind::Whole),
            ("read_ops", Kind::Whole),
            ("errors", Kind::Whole),
            ("iops", Kind::Number),
            ("read_iops", Kind::Number),
            ("offered_iops", Kind::Number),
            ("from_s", Kind::Number),
            ("worker", Kind::Text),
            ("setting_block", Kind::Text),
            ("complete", Kind::Truth),
        ] {
            assert_eq!(Kind::of(name), kind, "{name}");
        }
    }

    #[test]
    fn a_page_says_which_rows_are_empty() {
        let mut column = Column {
            name: "x_ops".to_owned(),
            kind: Kind::Whole,
            there: Vec::new(),
            plain: Vec::new(),
        };
        ["1", "", "", "-2"].iter().for_each(|cell| column.push(cell));
        let mut expected = vec![6, 0, 0, 0, 2, 1, 4, 0, 2, 1];
        expected.extend(1_i64.to_le_bytes());
        expected.extend((-2_i64).to_le_bytes());
        assert_eq!(column.page(), expected);
    }
}
