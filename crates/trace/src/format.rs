//! Whose trace a file is, by its content, and the reader for it.

use crate::blkparse::{self, Blkparse};
use crate::blktrace::{self, Blktrace};
use crate::csv::CsvTrace;
use crate::fio::FioLog;
use crate::map::CsvMap;
use crate::own::OwnReader;
use crate::vscsi::{self, Vscsi};
use crate::{Layer, Place, Tally, TraceError, TraceIo, TraceReader, form};
use clock::Ns;
use std::fmt;
use std::io::Read;

/// Whose trace it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceFormat {
    /// Wirespeed's own form.
    Own,
    /// fio's I/O logs, version 2 or 3.
    Fio,
    /// blktrace's binary files.
    Blktrace,
    /// The text of blkparse.
    Blkparse,
    /// vscsiStats' traces, binary or as text.
    Vscsi,
    /// MSR Cambridge.
    Msr,
    /// Alibaba's block traces.
    Alibaba,
    /// Tencent's block traces.
    Tencent,
    /// Events of Windows, dumped by xperf.
    Xperf,
    /// hfplayer's traces.
    Hfplayer,
    /// A table with a map of its columns.
    Csv,
}

impl TraceFormat {
    /// All of them.
    pub const ALL: [TraceFormat; 11] = [
        TraceFormat::Own,
        TraceFormat::Fio,
        TraceFormat::Blktrace,
        TraceFormat::Blkparse,
        TraceFormat::Vscsi,
        TraceFormat::Msr,
        TraceFormat::Alibaba,
        TraceFormat::Tencent,
        TraceFormat::Xperf,
        TraceFormat::Hfplayer,
        TraceFormat::Csv,
    ];

    /// The word for it on the command line.
    pub fn word(self) -> &'static str {
        match self {
            TraceFormat::Own => "trace",
            TraceFormat::Fio => "iolog",
            TraceFormat::Blktrace => "blktrace",
            TraceFormat::Blkparse => "blkparse",
            TraceFormat::Vscsi => "vscsi",
            TraceFormat::Msr => "msr",
            TraceFormat::Alibaba => "alibaba",
            TraceFormat::Tencent => "tencent",
            TraceFormat::Xperf => "xperf",
            TraceFormat::Hfplayer => "hfplayer",
            TraceFormat::Csv => "csv",
        }
    }
}

impl fmt::Display for TraceFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            TraceFormat::Own => "trace of Wirespeed",
            TraceFormat::Fio => "I/O log of fio",
            TraceFormat::Blktrace => "blktrace",
            TraceFormat::Blkparse => "text of blkparse",
            TraceFormat::Vscsi => "trace of vscsiStats",
            TraceFormat::Msr => "MSR Cambridge trace",
            TraceFormat::Alibaba => "Alibaba block trace",
            TraceFormat::Tencent => "Tencent block trace",
            TraceFormat::Xperf => "dump of xperf",
            TraceFormat::Hfplayer => "trace of hfplayer",
            TraceFormat::Csv => "table of I/Os",
        })
    }
}

/// How a trace is read, beside its format.
#[derive(Clone, Debug, Default)]
pub struct TraceOptions {
    /// Where I/Os of the block layer count as issued.
    pub layer: Layer,
    /// What the columns of a table mean.
    pub map: Option<CsvMap>,
}

/// Whose trace begins so; `None` where it is none that is known.
pub fn detect(head: &[u8]) -> Option<TraceFormat> {
    if head.starts_with(form::MAGIC) {
        return Some(TraceFormat::Own);
    }
    if blktrace::begins(head) {
        return Some(TraceFormat::Blktrace);
    }
    let whole = head.iter().rposition(|b| *b == b'\n').map_or(head, |end| &head[..end]);
    let text = String::from_utf8_lossy(whole);
    let text = text.trim_start_matches('\u{feff}');
    let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    if first.starts_with("fio version ") && first.contains("iolog") {
        return Some(TraceFormat::Fio);
    }
    if first.to_ascii_lowercase().starts_with("#vscsi cmd trace") {
        return Some(TraceFormat::Vscsi);
    }
    if first.trim() == "BeginHeader" {
        return Some(TraceFormat::Xperf);
    }
    if first.starts_with('#') && first.contains("ELAPSED_USECS.D,") {
        return Some(TraceFormat::Hfplayer);
    }
    if blkparse::is_event(first) {
        return Some(TraceFormat::Blkparse);
    }
    // A heading is no record.
    text.lines()
        .take(2)
        .find_map(table)
        .or_else(|| vscsi::version(head).map(|_| TraceFormat::Vscsi))
}

/// The published table whose record a line is.
fn table(line: &str) -> Option<TraceFormat> {
    let cells: Vec<&str> = line.split(',').map(str::trim).collect();
    let number = |n: usize| cells.get(n).is_some_and(|c| c.parse::<u64>().is_ok());
    let one_of = |n: usize, words: &[&str]| {
        cells.get(n).is_some_and(|cell| words.iter().any(|word| cell.eq_ignore_ascii_case(word)))
    };
    match cells.len() {
        7 if number(0) && number(4) && number(5) && one_of(3, &["read", "write"]) => {
            Some(TraceFormat::Msr)
        }
        5 if one_of(1, &["r", "w"]) && number(2) && number(3) && number(4) => {
            Some(TraceFormat::Alibaba)
        }
        5 if (0..5).all(number) && one_of(3, &["0", "1"]) && cells[0].len() == 10 => {
            Some(TraceFormat::Tencent)
        }
        _ => None,
    }
}

/// The reader of a trace: of one input, or of blktrace's files of all CPUs. `head` is how the first begins. The first I/O is
/// at time 0.
/// # Errors
/// Where the input is not of that format.
pub fn open<'a, R: Read + 'a>(
    inputs: Vec<R>,
    head: &[u8],
    format: TraceFormat,
    options: &TraceOptions,
) -> Result<Box<dyn TraceReader + 'a>, TraceError> {
    if format == TraceFormat::Blktrace {
        return Ok(Shifted::new(Blktrace::new(inputs, options.layer)));
    }
    let whole = |problem: &str| TraceError::new(Place::Whole, problem);
    let mut inputs = inputs.into_iter();
    let input = inputs.next().ok_or_else(|| whole("nothing to read"))?;
    if inputs.next().is_some() {
        return Err(whole("only blktrace has several files for one trace"));
    }
    Ok(match format {
        TraceFormat::Own => Box::new(OwnReader::new(input)?),
        TraceFormat::Fio => Shifted::new(FioLog::new(input)?),
        TraceFormat::Blkparse => Shifted::new(Blkparse::new(input, options.layer)),
        TraceFormat::Vscsi if head.starts_with(b"#") || head.starts_with(b"\xef\xbb\xbf#") => {
            let text = String::from_utf8_lossy(head);
            let latency = text.lines().take(4).any(|line| {
                let line = line.to_ascii_lowercase();
                line.contains("version 2") || line.contains("response") || line.contains("latency")
            });
            Shifted::new(CsvTrace::new(input, CsvMap::vscsi(latency)))
        }
        TraceFormat::Vscsi => {
            let version = vscsi::version(head).ok_or_else(|| {
                whole("neither version 1 nor version 2 of vscsiStats' records")
                    .help("their version is the high byte of `ver`")
            })?;
            Shifted::new(Vscsi::new(input, version))
        }
        TraceFormat::Msr => table_reader(input, head, CsvMap::msr()),
        TraceFormat::Alibaba => table_reader(input, head, CsvMap::alibaba()),
        TraceFormat::Tencent => table_reader(input, head, CsvMap::tencent()),
        TraceFormat::Xperf => Shifted::new(CsvTrace::new(input, CsvMap::xperf())),
        TraceFormat::Hfplayer => Shifted::new(CsvTrace::new(input, CsvMap::hfplayer())),
        TraceFormat::Csv | TraceFormat::Blktrace => {
            let map = options.map.clone().ok_or_else(|| {
                whole("what the columns mean is not known").help("say it by `--map MAP.toml`")
            })?;
            Shifted::new(CsvTrace::new(input, map))
        }
    })
}

/// A published table, whose first line may be a heading.
fn table_reader<'a, R: Read + 'a>(
    input: R,
    head: &[u8],
    mut map: CsvMap,
) -> Box<dyn TraceReader + 'a> {
    let text = String::from_utf8_lossy(head);
    let heading = |line: &str| line.split(',').all(|cell| cell.trim().parse::<u64>().is_err());
    map.header = u32::from(text.lines().next().is_some_and(heading));
    Shifted::new(CsvTrace::new(input, map))
}

/// A trace whose first I/O is at time 0.
struct Shifted<R> {
    reader: R,
    first: Option<Ns>,
}

impl<'a, R: TraceReader + 'a> Shifted<R> {
    #[expect(clippy::new_ret_no_self, reason = "readers are used as what they have in common")]
    fn new(reader: R) -> Box<dyn TraceReader + 'a> {
        Box::new(Shifted { reader, first: None })
    }
}

impl<R: TraceReader> TraceReader for Shifted<R> {
    fn next(&mut self) -> Result<Option<TraceIo>, TraceError> {
        let Some(mut io) = self.reader.next()? else { return Ok(None) };
        let first = *self.first.get_or_insert(io.at);
        io.at = io.at.since(first);
        Ok(Some(io))
    }

    fn devices(&self) -> &[String] {
        self.reader.devices()
    }

    fn tally(&self) -> Tally {
        self.reader.tally()
    }
}
