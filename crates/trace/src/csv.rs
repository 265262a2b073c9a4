//! Tables of I/Os, one a line, by a map of their columns.

use crate::error::shown;
use crate::io::{DEVICES_MANY, Devices};
use crate::lines::Lines;
use crate::map::{Column, CsvMap};
use crate::numbers::{decimal, integer};
use crate::order::Reorder;
use crate::{Place, Tally, TraceError, TraceIo, TraceReader};
use clock::Ns;
use std::io::Read;
use workload::Dir;

const DIRS: [Dir; 4] = [Dir::Read, Dir::Write, Dir::Trim, Dir::Flush];

/// The numbers of the columns, once names are found.
struct Columns {
    time: usize,
    kind: usize,
    offset: usize,
    size: usize,
    latency: Option<usize>,
    issuer: Option<usize>,
    device: Vec<usize>,
}

/// A table of I/Os.
pub(crate) struct CsvTrace<R> {
    lines: Lines<R>,
    map: CsvMap,
    columns: Option<Columns>,
    left: u32,
    heading: String,
    devices: Devices,
    order: Reorder,
    ended: bool,
    tally: Tally,
}

impl<R: Read> CsvTrace<R> {
    pub fn new(input: R, map: CsvMap) -> CsvTrace<R> {
        CsvTrace {
            lines: Lines::new(input),
            left: map.header,
            heading: String::new(),
            columns: None,
            devices: Devices::default(),
            order: Reorder::default(),
            ended: false,
            tally: Tally { notes: map.notes.clone(), ..Tally::default() },
            map,
        }
    }

    /// Reads one line into the window; whether there was one.
    fn read(&mut self) -> Result<bool, TraceError> {
        let Some(line) = self.lines.next()?.map(str::to_owned) else { return Ok(false) };
        let place = self.lines.place();
        if self.left > 0 {
            self.left -= 1;
            self.heading = line;
            return Ok(true);
        }
        if let Some(marks) = self.map.heading {
            // Each kind of record may have a heading of its own; the first that is looked for names the columns of all.
            let has = |mark: &&str| line.split(self.map.separator).any(|cell| named(cell) == *mark);
            if self.columns.is_none() {
                if marks.iter().all(has) {
                    self.heading = line;
                    self.columns = Some(self.resolve(place)?);
                }
                return Ok(true);
            }
            if has(&marks[1]) {
                return Ok(true);
            }
        }
        let comment = self.map.comment.as_ref().is_some_and(|mark| line.starts_with(mark.as_str()));
        if comment || line.trim().is_empty() {
            return Ok(true);
        }
        if self.columns.is_none() {
            self.columns = Some(self.resolve(place)?);
        }
        self.tally.records += 1;
        match self.record(&line, place)? {
            Some(io) => self.order.push(io),
            None => self.tally.other += 1,
        }
        Ok(true)
    }

    fn resolve(&self, place: Place) -> Result<Columns, TraceError> {
        let names: Vec<&str> = self.heading.split(self.map.separator).map(named).collect();
        let number = |column: &Column| match column {
            Column::Number(n) => Ok(*n),
            Column::Name(name) => {
                let same = |other: &&str| other.eq_ignore_ascii_case(name);
                names.iter().position(same).ok_or_else(|| {
                    TraceError::new(place, format!("the heading has no column `{}`", shown(name)))
                        .help(format!("its columns are {}", shown(&names.join(", "))))
                })
            }
        };
        let map = &self.map;
        Ok(Columns {
            time: number(&map.time)?,
            kind: number(&map.kind)?,
            offset: number(&map.offset)?,
            size: number(&map.size)?,
            latency: map.latency.as_ref().map(number).transpose()?,
            issuer: map.issuer.as_ref().map(number).transpose()?,
            device: map.device.iter().map(number).collect::<Result<_, _>>()?,
        })
    }

    fn record(&mut self, line: &str, place: Place) -> Result<Option<TraceIo>, TraceError> {
        let Some(columns) = &self.columns else { return Ok(None) };
        let cells: Vec<&str> = match self.map.separator {
            ' ' => line.split_ascii_whitespace().map(clean).collect(),
            other => line.split(other).map(clean).collect(),
        };
        let cell = |number: usize, what: &str| {
            cells.get(number).copied().ok_or_else(|| {
                let problem =
                    format!("no column {} ({what}): there are {}", number + 1, cells.len());
                TraceError::new(place, problem)
            })
        };
        let kind = cell(columns.kind, "kind")?;
        let is = |words: &Vec<String>| words.iter().any(|word| word.eq_ignore_ascii_case(kind));
        let Some(dir) = self.map.words.iter().position(is).map(|n| DIRS[n]) else {
            if self.map.skip_others {
                return Ok(None);
            }
            let problem = format!("unknown kind of I/O `{}`", shown(kind));
            return Err(TraceError::new(place, problem).help(
                "a map names its word under `[kind]`, or leaves others out: `others = \"skip\"`",
            ));
        };
        let bad = |what: &str, text: &str| {
            TraceError::new(place, format!("the {what} `{}` is no number", shown(text)))
        };
        let time = |number, what: &str, unit| {
            let text = cell(number, what)?;
            decimal(text, unit).map(Ns).ok_or_else(|| bad(what, text))
        };
        let bytes = |number, what: &str, unit: u64| {
            let text = cell(number, what)?;
            let bytes = integer(text).and_then(|n| n.checked_mul(unit));
            bytes.ok_or_else(|| bad(what, text))
        };
        let mut at = time(columns.time, "time", self.map.time_unit)?;
        let latency = match columns.latency {
            Some(number) => Some(time(number, "latency", self.map.latency_unit)?),
            None => None,
        };
        if let Some(latency) = latency.filter(|_| self.map.completion) {
            at = at.since(latency);
        }
        let flush = dir == Dir::Flush;
        let offset = bytes(columns.offset, "offset", self.map.offset_unit);
        let offset = if flush { offset.unwrap_or(0) } else { offset? };
        let size = bytes(columns.size, "size", self.map.size_unit);
        let size = if flush { 0 } else { size? };
        let len = u32::try_from(size).map_err(|_| {
            TraceError::new(place, format!("{size} bytes in one I/O"))
                .help("the unit of `size` may be bytes or sectors")
        })?;
        let issuer = columns.issuer.and_then(|n| integer(cells.get(n)?)).unwrap_or(0) as u32;
        let name: Vec<&str> =
            columns.device.iter().map(|n| cell(*n, "device")).collect::<Result<_, _>>()?;
        let device = self.devices.number(&name.join("."));
        let device = device.ok_or_else(|| TraceError::new(place, DEVICES_MANY))?;
        Ok(Some(TraceIo { at, dir, fua: false, device, offset, len, latency, issuer }))
    }
}

/// A cell of a heading, whose first one may begin with the mark of a comment.
fn named(cell: &str) -> &str {
    clean(cell.trim().trim_start_matches('#'))
}

/// A cell without blanks and quotes.
fn clean(cell: &str) -> &str {
    cell.trim().trim_matches('"').trim()
}

impl<R: Read> TraceReader for CsvTrace<R> {
    fn next(&mut self) -> Result<Option<TraceIo>, TraceError> {
        loop {
            if let Some(io) = self.order.pop(self.ended) {
                return Ok(Some(io));
            }
            if self.ended {
                return Ok(None);
            }
            self.ended = !self.read()?;
            if let Some(marks) = self.map.heading.filter(|_| self.ended && self.columns.is_none()) {
                let problem =
                    format!("no line names the columns `{}` and `{}`", marks[0], marks[1]);
                return Err(TraceError::new(self.lines.place(), problem));
            }
        }
    }

    fn devices(&self) -> &[String] {
        self.devices.names()
    }

    fn tally(&self) -> Tally {
        let (disordered, clamped) = (self.order.disordered, self.order.clamped);
        Tally { disordered, clamped, ..self.tally.clone() }
    }
}
