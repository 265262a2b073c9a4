//! `iostat -x` text, of any version of sysstat: columns by their names, `kB` and `MB` binary as iostat has them, with time
//! stamps of `-t` or without.
//!
//! The first report covers the time since the system started and is left out. Without `-t` the order of reports is known and
//! their length is not: it is asked for, or assumed and said.

use super::error::ReadError;
use super::format::MonitorFormat;
use super::lines::{Lines, is_command, is_prompt};
use super::model::{Feed, Flow, Leg, Measure, Place, Span};
use super::number::scaled;
use super::stamp::{Moments, Stamp, moments, stamp};
use super::{NAMES_MAX, Options, stacked};
use record::{HopKind, Level};
use std::collections::BTreeMap;
use std::io::BufRead;

const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;
const GIB: f64 = 1024.0 * MIB;
const MS: f64 = 1e6;
/// Disagreement of requests × size with the rate that rounding does not explain.
const IDENTITY: f64 = 0.05;
/// How long a report is where nothing says so.
const ASSUMED: i64 = 1_000_000_000;

/// What a column is, and by what its numbers are multiplied; `None` for one that is not used.
fn measure(name: &str) -> Option<(Measure, f64)> {
    use Flow::{Any, Read, Write};
    Some(match name {
        "r/s" => (Measure::Ops(Read), 1.0),
        "w/s" => (Measure::Ops(Write), 1.0),
        "tps" => (Measure::Ops(Any), 1.0),
        "rsec/s" | "Blk_read/s" => (Measure::Bytes(Read), 512.0),
        "wsec/s" | "Blk_wrtn/s" => (Measure::Bytes(Write), 512.0),
        "rkB/s" | "kB_read/s" => (Measure::Bytes(Read), KIB),
        "wkB/s" | "kB_wrtn/s" => (Measure::Bytes(Write), KIB),
        "rMB/s" | "MB_read/s" => (Measure::Bytes(Read), MIB),
        "wMB/s" | "MB_wrtn/s" => (Measure::Bytes(Write), MIB),
        "rGB/s" | "GB_read/s" => (Measure::Bytes(Read), GIB),
        "wGB/s" | "GB_wrtn/s" => (Measure::Bytes(Write), GIB),
        "kB/s" => (Measure::Bytes(Any), KIB),
        "MB/s" => (Measure::Bytes(Any), MIB),
        "GB/s" => (Measure::Bytes(Any), GIB),
        "rrqm/s" => (Measure::Merges(Read), 1.0),
        "wrqm/s" => (Measure::Merges(Write), 1.0),
        "r_await" => (Measure::Time(Leg::All, Read), MS),
        "w_await" => (Measure::Time(Leg::All, Write), MS),
        "await" => (Measure::Time(Leg::All, Any), MS),
        "avgqu-sz" | "aqu-sz" => (Measure::InFlight, 1.0),
        "%util" | "util" => (Measure::Busy, 0.01),
        _ => return None,
    })
}

/// Columns that are known and say nothing that others do not.
const UNUSED: &[&str] = &[
    "%rrqm",
    "%wrqm",
    "rareq-sz",
    "wareq-sz",
    "areq-sz",
    "avgrq-sz",
    "svctm",
    "d/s",
    "dkB/s",
    "dMB/s",
    "drqm/s",
    "%drqm",
    "d_await",
    "dareq-sz",
    "f/s",
    "f_await",
    "kB_dscd/s",
    "kB_read",
    "kB_wrtn",
    "kB_dscd",
    "MB_read",
    "MB_wrtn",
    "MB_dscd",
    "MB_dscd/s",
    "GB_read",
    "GB_wrtn",
    "GB_dscd",
    "GB_dscd/s",
    "dGB/s",
    "rqm/s",
    "kB_w+d/s",
    "kB_w+d",
    "MB_w+d/s",
    "MB_w+d",
    "GB_w+d/s",
    "GB_w+d",
    "Blk_read",
    "Blk_wrtn",
    "Blk_dscd/s",
    "Blk_dscd",
    "dsec/s",
];

/// A report: a row of the table before its time is known.
#[derive(Default)]
struct Report {
    stamp: Option<(Stamp, u64)>,
    cells: Vec<(usize, f64)>,
    /// The host whose devices it lists, once it does: with `-z` those that were idle are left out.
    lists: Option<String>,
    /// The first one of a run of iostat.
    first: bool,
}

struct Reader<'a> {
    feed: Feed,
    options: &'a Options,
    host: String,
    processors: f64,
    columns: Vec<String>,
    /// The name of a device whose numbers are on the next line.
    name: Option<String>,
    /// The headers of the report: `--pretty` has one for each direction.
    headers: Vec<Vec<String>>,
    /// Names of the columns of processors, while their values are awaited.
    cpu: Option<Vec<String>>,
    reports: Vec<Report>,
    stamp: Option<(Stamp, u64)>,
    open: bool,
    fresh: bool,
    failed_identities: usize,
    unknown: Vec<String>,
}

/// Reads a file.
pub(super) fn read(name: &str, from: impl BufRead, options: &Options) -> Result<Feed, ReadError> {
    let mut lines = Lines::new(from)?;
    let mut reader = Reader {
        feed: Feed::new(name, MonitorFormat::Iostat),
        options,
        host: String::new(),
        processors: 0.0,
        columns: Vec::new(),
        name: None,
        headers: Vec::new(),
        cpu: None,
        reports: Vec::new(),
        stamp: None,
        open: false,
        fresh: true,
        failed_identities: 0,
        unknown: Vec::new(),
    };
    let mut failed: Option<ReadError> = None;
    while let Some((number, line)) = lines.text()? {
        // A line that is cut off is the last one; any other is a mistake.
        if let Some(error) = failed.take() {
            if !line.trim().is_empty() {
                return Err(error);
            }
            failed = Some(error);
            continue;
        }
        failed = reader.line(number, &line).err();
    }
    if let Some(error) = failed {
        if reader.reports.len() < 2 {
            return Err(error);
        }
        // An empty line ends a report.
        let open = !reader.columns.is_empty() || reader.cpu.is_some() || reader.open;
        let lost = if open && reader.reports.pop().is_some() {
            ", and its last report is left out"
        } else {
            ""
        };
        let text = format!("{name}: {error}; the file ends there{lost}");
        reader.feed.note(Level::Warning, "cut-off", text);
    }
    reader.finish()
}

impl Reader<'_> {
    fn line(&mut self, number: u64, line: &str) -> Result<(), ReadError> {
        let words: Vec<&str> = line.split_whitespace().collect();
        if words.is_empty() || self.is_shell(line, &words) {
            self.columns.clear();
            return Ok(());
        }
        if let Some(names) = self.cpu.take() {
            return self.processors(number, &names, &words);
        }
        if words[0] == "avg-cpu:" {
            self.begin();
            self.cpu = Some(words[1..].iter().map(|w| (*w).to_owned()).collect());
            return Ok(());
        }
        if words.iter().any(|word| matches!(*word, "Device" | "Device:")) {
            let columns: Vec<String> =
                words.iter().map(|word| word.trim_end_matches(':').to_owned()).collect();
            let more = !self.headers.is_empty()
                && !self.headers.contains(&columns)
                && self.stamp.is_none()
                && !self.fresh;
            if !self.open && !more {
                self.begin();
            }
            self.open = false;
            self.headers.push(columns.clone());
            self.header(number, columns)?;
            if let Some(report) = self.reports.last_mut() {
                report.lists = Some(self.host.clone());
            }
            return Ok(());
        }
        if !self.columns.is_empty() {
            // A long name stands alone, and its numbers on the next line.
            if words.len() == 1 && self.columns.len() > 2 && !self.ends_with_name() {
                self.name = Some(words[0].to_owned());
                return Ok(());
            }
            if let Some(name) = self.name.take().filter(|_| line.starts_with(' ')) {
                let whole: Vec<&str> = [name.as_str()].into_iter().chain(words).collect();
                return self.device(number, line, &whole);
            }
            // Totals of groups (`-g`) are set in, and hold the devices below them once more.
            let set_in = match self.ends_with_name() {
                true => words.last().is_some_and(|name| line.ends_with(&format!("  {name}"))),
                false => line.starts_with(' '),
            };
            return if set_in { Ok(()) } else { self.device(number, line, &words) };
        }
        if let Some((kernel_line, host)) = banner(line) {
            self.processors = kernel_line;
            self.host = host;
            self.fresh = true;
            return Ok(());
        }
        if let Some(stamp) = stamp(line).filter(Stamp::is_dated) {
            self.stamp = Some((stamp, number));
            return Ok(());
        }
        if words[0].starts_with("Filesystem") || words.len() == 1 {
            return Ok(());
        }
        Err(ReadError::new(
            number,
            1,
            format!("neither a header, a time stamp nor a device of iostat: `{}`", short(line)),
        ))
    }

    /// Whether a line is a shell's: with the command before the first report, or a prompt behind the last.
    fn is_shell(&self, line: &str, words: &[&str]) -> bool {
        let first = self.columns.is_empty() && words.iter().take(3).any(|w| is_command(w));
        is_prompt(line) || first && words.iter().all(|word| !word.starts_with("Device"))
    }

    /// Begins a report.
    fn begin(&mut self) {
        let stamp = self.stamp.take();
        let first = std::mem::take(&mut self.fresh);
        self.reports.push(Report { stamp, first, ..Report::default() });
        self.headers.clear();
        self.open = true;
    }

    fn ends_with_name(&self) -> bool {
        self.columns.last().is_some_and(|name| name == "Device")
    }

    fn header(&mut self, number: u64, columns: Vec<String>) -> Result<(), ReadError> {
        self.columns = columns;
        let known = |name: &String| measure(name).is_some() || UNUSED.contains(&name.as_str());
        if !self.columns.iter().any(known) {
            return Err(ReadError::new(number, 1, "no column of this header is one of iostat's"));
        }
        for name in &self.columns {
            let known =
                name == "Device" || measure(name).is_some() || UNUSED.contains(&name.as_str());
            if !known && !self.unknown.contains(name) && self.unknown.len() < NAMES_MAX {
                self.unknown.push(name.clone());
            }
        }
        Ok(())
    }

    fn processors(
        &mut self,
        number: u64,
        names: &[String],
        words: &[&str],
    ) -> Result<(), ReadError> {
        let mut idle = 0.0;
        let mut seen = false;
        for (name, word) in names.iter().zip(words) {
            let value = scaled(word.trim_end_matches('%'), 1000.0)
                .ok_or_else(|| cell(number, word, "a percentage"))?;
            if matches!(name.as_str(), "%idle" | "%iowait") {
                idle += value;
                seen |= name == "%idle";
            }
        }
        if names.len() > words.len() {
            return Err(ReadError::new(
                number,
                1,
                format!("{} values for {} columns", words.len(), names.len()),
            ));
        }
        if seen {
            let place =
                self.feed.place(Place::new(HopKind::HostCpu, "host.cpu", self.host.clone()));
            let (cpu, count) = (
                self.feed.column(place, Measure::Cpu),
                self.feed.column(place, Measure::Processors),
            );
            let processors = self.processors;
            if let Some(report) = self.reports.last_mut() {
                report.cells.push((cpu, (1.0 - idle / 100.0).clamp(0.0, 1.0)));
                if processors > 0.0 {
                    report.cells.push((count, processors));
                }
            }
        }
        Ok(())
    }

    fn device(&mut self, number: u64, line: &str, words: &[&str]) -> Result<(), ReadError> {
        if words.len() != self.columns.len() {
            let column = line.chars().count() as u64 + 1;
            let text = format!(
                "{} values for {} columns ({})",
                words.len(),
                self.columns.len(),
                self.columns.join(" ")
            );
            return Err(ReadError::new(number, column, text));
        }
        let at = self.columns.iter().position(|name| name == "Device").unwrap_or(0);
        let device = words[at];
        let place = Place::new(HopKind::BlockDevice, device, self.host.clone());
        let place = self.feed.place(place);
        let mut sizes = Vec::new();
        for (name, word) in self.columns.clone().iter().zip(words) {
            let needed = measure(name);
            if needed.is_none() && !name.ends_with("areq-sz") {
                continue;
            }
            let value = scaled(word.trim_end_matches('%'), KIB).ok_or_else(|| {
                let column = line.find(word).map_or(1, |at| line[..at].chars().count() as u64 + 1);
                ReadError::new(number, column, format!("`{}` is no number ({name})", short(word)))
            })?;
            sizes.push((name.clone(), value));
            if let (Some((measure, factor)), Some(report)) = (needed, self.reports.last_mut()) {
                report.cells.push((self.feed.column(place, measure), value * factor));
            }
        }
        self.check(&sizes);
        Ok(())
    }

    /// Requests a second times their size is the rate.
    fn check(&mut self, cells: &[(String, f64)]) {
        let of = |name: &str| cells.iter().find(|(n, _)| n == name).map(|(_, v)| *v);
        for (ops, size, rate) in [("r/s", "rareq-sz", "r"), ("w/s", "wareq-sz", "w")] {
            let bytes = of(&format!("{rate}kB/s"))
                .or_else(|| of(&format!("{rate}MB/s")).map(|mb| mb * KIB));
            let (Some(ops), Some(size), Some(kib)) = (of(ops), of(size), bytes) else { continue };
            let product = ops * size;
            let rounding = 0.005 * (ops + size)
                + 0.006 * if of(&format!("{rate}kB/s")).is_some() { 1.0 } else { KIB };
            if (product - kib).abs() > IDENTITY * kib.max(product) + rounding {
                self.failed_identities += 1;
            }
        }
    }

    fn finish(mut self) -> Result<Feed, ReadError> {
        let mut reports: Vec<Report> = std::mem::take(&mut self.reports);
        reports.retain(|report| report.lists.is_some() || !report.cells.is_empty());
        self.unfinished(&mut reports);
        let spans = self.spans(&reports)?;
        let mut lists = Vec::new();
        for (report, span) in reports.iter().zip(spans) {
            let Some(span) = span else { continue };
            let row = self.feed.rows.len();
            self.feed.rows.push(span);
            report.cells.iter().for_each(|(column, value)| self.feed.set(*column, row, *value));
            lists.extend(report.lists.clone().map(|host| (row, HopKind::BlockDevice, host)));
        }
        self.feed.rest(&lists);
        stacked::settle(&mut self.feed, &BTreeMap::new());
        if self.failed_identities > 0 {
            let text = format!(
                "{}: requests a second times their size differ from the rate in {} cells by more than 5%; this version of iostat may be one that prints a wrong rate",
                self.feed.name, self.failed_identities
            );
            self.feed.note(Level::Warning, "identity-failed", text);
        }
        if !self.unknown.is_empty() {
            let text = format!(
                "{}: columns that are not used: {}",
                self.feed.name,
                self.unknown.join(", ")
            );
            self.feed.note(Level::Info, "columns-not-used", text);
        }
        self.feed.finish()
    }

    /// Leaves out the last report where no empty line ends its table and others have more devices: the text may be cut off
    /// between two lines.
    fn unfinished(&mut self, reports: &mut Vec<Report>) {
        let most = reports.iter().map(|report| report.cells.len()).max();
        let least = reports.last().map(|report| report.cells.len());
        if self.columns.is_empty() || least == most {
            return;
        }
        reports.pop();
        let text = format!(
            "{}: no empty line ends the last report, and others have more devices: it may be cut off and is left out",
            self.feed.name
        );
        self.feed.note(Level::Warning, "cut-off", text);
    }

    /// The interval of every report; `None` for the first one, and where time does not go on.
    fn spans(&mut self, reports: &[Report]) -> Result<Vec<Option<Span>>, ReadError> {
        let stamped = reports.iter().filter(|r| r.stamp.is_some()).count();
        if stamped < reports.len() || stamped == 0 {
            return Ok(self.unstamped(reports));
        }
        let (stamps, lines): (Vec<Stamp>, Vec<u64>) =
            reports.iter().filter_map(|r| r.stamp).unzip();
        let Moments { at, assumed } = moments(&stamps, &lines, &self.options.calendar)?;
        self.feed.assumed.extend(assumed);
        let mut spans = Vec::with_capacity(at.len());
        let mut length: Option<i64> = self.options.interval;
        let mut back = 0;
        for (place, report) in reports.iter().enumerate() {
            let before = place.checked_sub(1).map(|p| at[p]);
            let step = before.map(|before| at[place] - before).filter(|step| *step > 0);
            back += u32::from(before.is_some() && step.is_none());
            let span = match (report.first && !self.options.keep_first, step) {
                (true, _) | (_, None) => None,
                // A report covers iostat's own interval: a longer step is a gap.
                (false, Some(step)) => {
                    let shortest = length.map_or(step, |l| l.min(step));
                    length = Some(shortest.max(1));
                    let long = shortest + shortest / 2 + 1_000_000_000;
                    Some(Span {
                        from: at[place] - if step > long { shortest } else { step },
                        to: at[place],
                    })
                }
            };
            spans.push(span);
        }
        self.feed.went_back(back, spans.iter().flatten());
        Ok(spans)
    }

    fn unstamped(&mut self, reports: &[Report]) -> Vec<Option<Span>> {
        let length = self.options.interval.unwrap_or_else(|| {
            let why = "1 s; the file has no time stamps (`iostat -t` writes them), `--interval` gives the length".to_owned();
            self.feed.assumed.push(("interval".to_owned(), why));
            ASSUMED
        });
        let mut to = 0;
        let mut out = Vec::new();
        for report in reports {
            out.push((!report.first || self.options.keep_first).then(|| {
                to += length;
                Span { from: to - length, to }
            }));
        }
        out
    }
}

/// `Linux 6.1.0 (host)  10/24/2018  _x86_64_  (4 CPU)`: the processors and the host.
fn banner(line: &str) -> Option<(f64, String)> {
    let mut inner = line.split('(').skip(1).filter_map(|part| part.split(')').next());
    // Old versions do not name the host: `Linux 2.6.32  05/08/2012  _x86_64_  (2 CPU)`.
    let host = inner.next()?.trim();
    let host = if host.ends_with(" CPU") { "" } else { host };
    let starts = line.split_whitespace().next()?;
    let system = ["Linux", "SunOS", "AIX", "FreeBSD"].contains(&starts);
    let processors = line.rfind('(').and_then(|at| line[at + 1..].split_whitespace().next());
    let processors = processors.and_then(|n| n.parse().ok()).unwrap_or(0.0);
    system.then(|| (processors, host.to_owned()))
}

fn cell(line: u64, word: &str, what: &str) -> ReadError {
    ReadError::new(line, 1, format!("`{}` is not {what}", short(word)))
}

/// The beginning of a text, for messages.
pub(super) fn short(text: &str) -> String {
    let mut out: String = text.trim().chars().take(60).filter(|c| !c.is_control()).collect();
    if text.trim().chars().nth(60).is_some() {
        out.push('…');
    }
    out
}
