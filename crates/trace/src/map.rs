//! What the columns of a table of I/Os mean: known tables, and maps of the user's own.

use crate::{Place, TraceError};
use toml::{Table, Value};

/// A column, by its number from 0 or by its name in the heading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Column {
    Number(usize),
    Name(String),
}

/// What the columns of a table mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsvMap {
    pub(crate) separator: char,
    /// Lines before the first record; the last of them has the names of columns.
    pub(crate) header: u32,
    /// Cells that the heading has, wherever it stands: what is before it is no record.
    pub(crate) heading: Option<[&'static str; 2]>,
    /// What begins a line that is no record.
    pub(crate) comment: Option<String>,
    pub(crate) time: Column,
    /// Nanoseconds of one unit of time.
    pub(crate) time_unit: u64,
    /// The time is that of the completion.
    pub(crate) completion: bool,
    pub(crate) kind: Column,
    pub(crate) offset: Column,
    /// Bytes of one unit of offset.
    pub(crate) offset_unit: u64,
    pub(crate) size: Column,
    pub(crate) size_unit: u64,
    pub(crate) latency: Option<Column>,
    pub(crate) latency_unit: u64,
    pub(crate) device: Vec<Column>,
    pub(crate) issuer: Option<Column>,
    /// The words of reads, writes, trims and flushes.
    pub(crate) words: [Vec<String>; 4],
    /// Records with other words are counted and left out.
    pub(crate) skip_others: bool,
    /// What has to be said of all such traces.
    pub(crate) notes: Vec<String>,
}

impl CsvMap {
    fn of(columns: [usize; 4], units: [u64; 3]) -> CsvMap {
        let [time, kind, offset, size] = columns.map(Column::Number);
        let [time_unit, offset_unit, size_unit] = units;
        CsvMap {
            separator: ',',
            header: 0,
            heading: None,
            comment: None,
            time,
            time_unit,
            completion: false,
            kind,
            offset,
            offset_unit,
            size,
            size_unit,
            latency: None,
            latency_unit: 1,
            device: Vec::new(),
            issuer: None,
            words: ["r read rd 0", "w write wr 1", "t trim discard unmap", "f flush sync"]
                .map(|words| words.split(' ').map(str::to_owned).collect()),
            skip_others: false,
            notes: Vec::new(),
        }
    }

    /// MSR Cambridge: `128166372016382155,hm,0,Read,1074696192,4096,113`; both times in units of 100 ns.
    pub(crate) fn msr() -> CsvMap {
        CsvMap {
            latency: Some(Column::Number(6)),
            latency_unit: 100,
            device: vec![Column::Number(1), Column::Number(2)],
            ..CsvMap::of([0, 3, 4, 5], [100, 1, 1])
        }
    }

    /// Alibaba's block traces: device, kind, offset, length, microseconds.
    pub(crate) fn alibaba() -> CsvMap {
        CsvMap {
            device: vec![Column::Number(0)],
            notes: vec!["Alibaba's traces hold no latencies".to_owned()],
            ..CsvMap::of([4, 1, 2, 3], [1000, 1, 1])
        }
    }

    /// Tencent's block traces: seconds, offset and size in sectors, kind, volume.
    pub(crate) fn tencent() -> CsvMap {
        CsvMap {
            device: vec![Column::Number(4)],
            notes: vec![
                "times are whole seconds: they tell rates, and nothing of queueing or bursts within a second"
                    .to_owned(),
                "Tencent's traces hold no latencies".to_owned(),
            ],
            ..CsvMap::of([0, 3, 1, 2], [1_000_000_000, 512, 512])
        }
    }

    /// Events of Windows as xperf dumps them: each kind has a heading, and those of disks are written when the I/O is done.
    pub(crate) fn xperf() -> CsvMap {
        let named = |name: &str| Column::Name(name.to_owned());
        let words = ["diskread", "diskwrite", "", ""];
        CsvMap {
            heading: Some(["DiskRead", "ByteOffset"]),
            time: named("TimeStamp"),
            completion: true,
            kind: Column::Number(0),
            offset: named("ByteOffset"),
            size: named("IOSize"),
            latency: Some(named("ElapsedTime")),
            latency_unit: 1000,
            device: vec![named("DiskNum")],
            issuer: Some(named("ThreadID")),
            words: words.map(|word| vec![word.to_owned()]),
            skip_others: true,
            notes: vec!["flushes are left out: xperf says of them no place".to_owned()],
            ..CsvMap::of([0; 4], [1000, 1, 1])
        }
    }

    /// hfplayer's traces: microseconds since the start, blocks of 512 bytes.
    pub(crate) fn hfplayer() -> CsvMap {
        let named = |name: &str| Column::Name(name.to_owned());
        let words = ["rd rd_in", "wr wr_in", "", ""];
        CsvMap {
            heading: Some(["ELAPSED_USECS.D", "NBLKS.I"]),
            time: named("ELAPSED_USECS.D"),
            kind: named("CMD.S"),
            offset: named("LBA.I"),
            size: named("NBLKS.I"),
            latency: Some(named("LATENCY_USECS.D")),
            latency_unit: 1000,
            device: vec![named("LUN_SSID.I")],
            words: words.map(|words| words.split(' ').map(str::to_owned).collect()),
            skip_others: true,
            ..CsvMap::of([0; 4], [1000, 512, 512])
        }
    }

    /// The text of vscsiStats' traces, whose heading begins with `#`.
    pub(crate) fn vscsi(latency: bool) -> CsvMap {
        let notes = match latency {
            true => Vec::new(),
            false => vec!["version 1 of vscsiStats' traces holds no latencies".to_owned()],
        };
        CsvMap {
            comment: Some("#".to_owned()),
            latency: latency.then_some(Column::Number(6)),
            latency_unit: 1000,
            skip_others: true,
            notes,
            ..CsvMap::of([5, 3, 4, 1], [1000, 512, 1])
        }
    }

    /// A map of the user's own, as `docs/traces.md` describes it.
    /// # Errors
    /// Where it is no TOML, or a key is missing, unknown or wrong.
    pub fn parse(text: &str) -> Result<CsvMap, TraceError> {
        let table: Table = text.parse().map_err(|e: toml::de::Error| {
            let upto = e.span().map_or(0, |span| span.start);
            let line = text.get(..upto).unwrap_or_default().matches('\n').count() + 1;
            TraceError::new(Place::Line(line as u64), e.message().to_owned())
        })?;
        known(&table, "", &["separator", "header", "comment", "column", "unit", "kind", "time"])?;
        let columns = section(&table, "column")?;
        let names = ["time", "kind", "offset", "size", "latency", "device", "issuer"];
        known(columns, "column.", &names)?;
        let needed = |key: &str| {
            let value = columns.get(key);
            value.ok_or_else(|| wrong(format!("`column.{key}` is missing"))).and_then(column)
        };
        let empty = Table::new();
        let units = optional(&table, "unit")?.unwrap_or(&empty);
        known(units, "unit.", &["time", "latency", "offset", "size"])?;
        let mut map = CsvMap::of(
            [0; 4],
            [time_unit(units, "time", 1)?, byte_unit(units, "offset")?, byte_unit(units, "size")?],
        );
        map.time = needed("time")?;
        map.kind = needed("kind")?;
        map.offset = needed("offset")?;
        map.size = needed("size")?;
        map.latency = columns.get("latency").map(column).transpose()?;
        map.latency_unit = time_unit(units, "latency", map.time_unit)?;
        map.issuer = columns.get("issuer").map(column).transpose()?;
        map.device = match columns.get("device") {
            None => Vec::new(),
            Some(Value::Array(all)) => all.iter().map(column).collect::<Result<_, _>>()?,
            Some(one) => vec![column(one)?],
        };
        if let Some(separator) = table.get("separator") {
            map.separator = match separator.as_str() {
                Some("tab") => '\t',
                Some("space") => ' ',
                Some(text) if text.chars().count() == 1 => text.chars().next().unwrap_or(','),
                _ => return Err(wrong("`separator` is one character, `tab` or `space`")),
            };
        }
        map.header = match table.get("header") {
            None => 0,
            Some(lines) => lines
                .as_integer()
                .and_then(|n| u32::try_from(n).ok())
                .ok_or_else(|| wrong("`header` is a number of lines"))?,
        };
        map.comment = table.get("comment").and_then(Value::as_str).map(str::to_owned);
        map.completion = match table.get("time").map(Value::as_str) {
            None | Some(Some("issue")) => false,
            Some(Some("completion")) => true,
            Some(_) => return Err(wrong("`time` is `issue` or `completion`")),
        };
        if map.completion && map.latency.is_none() {
            return Err(wrong("times of completions need a column `latency`"));
        }
        map.kinds(&table)?;
        let named = |column: &Column| matches!(column, Column::Name(_));
        let all = [&map.time, &map.kind, &map.offset, &map.size];
        if map.header == 0 && all.into_iter().chain(&map.latency).chain(&map.device).any(named) {
            return Err(wrong("columns are named, and there is no heading with names")
                .help("set `header = 1`, or number the columns from 1"));
        }
        Ok(map)
    }

    fn kinds(&mut self, table: &Table) -> Result<(), TraceError> {
        let Some(kinds) = optional(table, "kind")? else { return Ok(()) };
        known(kinds, "kind.", &["read", "write", "trim", "flush", "others"])?;
        for (place, key) in ["read", "write", "trim", "flush"].into_iter().enumerate() {
            let words = |value: &Value| match value {
                Value::Array(all) => all.iter().filter_map(word).collect(),
                one => word(one).into_iter().collect::<Vec<_>>(),
            };
            self.words[place] = kinds.get(key).map(words).unwrap_or_default();
        }
        self.skip_others = match kinds.get("others").map(Value::as_str) {
            None | Some(Some("error")) => false,
            Some(Some("skip")) => true,
            Some(_) => return Err(wrong("`kind.others` is `error` or `skip`")),
        };
        Ok(())
    }
}

fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.to_ascii_lowercase()),
        Value::Integer(n) => Some(n.to_string()),
        _ => None,
    }
}

fn wrong(problem: impl Into<String>) -> TraceError {
    TraceError::new(Place::Whole, problem)
}

fn known(table: &Table, path: &str, keys: &[&str]) -> Result<(), TraceError> {
    match table.keys().find(|key| !keys.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) => Err(wrong(format!("unknown key `{path}{key}`"))
            .help(format!("the keys are {}", keys.join(", ")))),
    }
}

fn optional<'a>(table: &'a Table, key: &str) -> Result<Option<&'a Table>, TraceError> {
    match table.get(key) {
        None => Ok(None),
        Some(Value::Table(table)) => Ok(Some(table)),
        Some(_) => Err(wrong(format!("`{key}` is a table, `[{key}]`"))),
    }
}

fn section<'a>(table: &'a Table, key: &str) -> Result<&'a Table, TraceError> {
    optional(table, key)?.ok_or_else(|| wrong(format!("`[{key}]` is missing")))
}

fn column(value: &Value) -> Result<Column, TraceError> {
    match value {
        Value::String(name) => Ok(Column::Name(name.clone())),
        Value::Integer(n) if (1..=4096).contains(n) => Ok(Column::Number(*n as usize - 1)),
        _ => Err(wrong("a column is a number from 1, or a name in the heading")),
    }
}

/// Nanoseconds.
fn time_unit(units: &Table, key: &str, default: u64) -> Result<u64, TraceError> {
    match units.get(key).map(Value::as_str) {
        None => Ok(default),
        Some(Some("ns")) => Ok(1),
        Some(Some("100ns" | "filetime")) => Ok(100),
        Some(Some("us")) => Ok(1000),
        Some(Some("ms")) => Ok(1_000_000),
        Some(Some("s")) => Ok(1_000_000_000),
        Some(_) => Err(wrong(format!("`unit.{key}` is ns, 100ns, us, ms or s"))),
    }
}

fn byte_unit(units: &Table, key: &str) -> Result<u64, TraceError> {
    match units.get(key) {
        None => Ok(1),
        Some(Value::Integer(n)) if *n > 0 => Ok(*n as u64),
        Some(Value::String(text)) if text == "bytes" => Ok(1),
        Some(Value::String(text)) if text == "sectors" => Ok(512),
        Some(_) => Err(wrong(format!("`unit.{key}` is bytes, sectors, or a number of bytes"))),
    }
}
