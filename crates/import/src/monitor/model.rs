//! What a monitoring file says, as a table: rows are intervals of its own length, columns are measures of places.
//!
//! A cell without a number is absent (NaN), which is never zero. Values are rates, means and levels of their interval in base
//! units: operations and bytes a second, nanoseconds, shares from 0 to 1.

use super::ends::Transfer;
use super::error::ReadError;
use super::format::MonitorFormat;
use record::{HopKind, Level};
use std::collections::BTreeMap;
use std::ops::Range;
pub use telemetry::{Flow, Leg, Measure, canonical};

/// An interval in nanoseconds since the Unix epoch; its end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// Start.
    pub from: i64,
    /// End.
    pub to: i64,
}

/// The latest moment of any file, in seconds since the Unix epoch: the year 2200.
const LATEST: f64 = 7.26e9;
/// The longest time that any file can mean, in seconds: thirty years.
const LONGEST: f64 = 1e9;

/// Nanoseconds since the Unix epoch of so many seconds; `None` where no file can mean them.
pub fn moment_at(seconds: f64) -> Option<i64> {
    (-LONGEST..=LATEST).contains(&seconds).then_some((seconds * 1e9) as i64)
}

/// Nanoseconds of a time of so many seconds; `None` where no file can mean them.
pub fn length_of(seconds: f64) -> Option<i64> {
    (0.0..=LONGEST).contains(&seconds).then_some((seconds * 1e9) as i64)
}

impl Span {
    /// From a moment, for so many seconds; `None` where no file can mean them.
    pub fn lasting(from: i64, seconds: f64) -> Option<Span> {
        let to = from.checked_add(length_of(seconds)?)?;
        (to > from && to <= ((LATEST + LONGEST) * 1e9) as i64).then_some(Span { from, to })
    }

    /// Its length in seconds.
    pub fn seconds(self) -> f64 {
        (self.to - self.from) as f64 / 1e9
    }

    /// The part of it that lies in another.
    pub(super) fn within(self, other: Span) -> Span {
        Span { from: self.from.max(other.from), to: self.to.min(other.to) }
    }
}

/// A place where something was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// What it is.
    pub kind: HopKind,
    /// Its name within its host or device.
    pub name: String,
    /// The host, switch or array that it belongs to; empty where the file does not say.
    pub device: String,
    /// The VM whose traffic alone passes there, if any.
    pub guest: String,
    /// Identities that other files may name: WWPNs, `naa.…`, MAC addresses, serial numbers, in [canonical](canonical) form.
    pub ids: Vec<String>,
    /// Whether its operations are in those of other places of the file, as a partition's are in its disk's.
    pub within: bool,
}

impl Place {
    /// A place without identities.
    pub fn new(kind: HopKind, name: impl Into<String>, device: impl Into<String>) -> Place {
        let (name, device) = (name.into(), device.into());
        Place { kind, name, device, guest: String::new(), ids: Vec::new(), within: false }
    }

    /// The same with an identity, if the text is one.
    pub fn known_as(mut self, id: &str) -> Place {
        let id = canonical(id).filter(|id| !self.ids.contains(id));
        self.ids.extend(id);
        self
    }
}

/// Something to know about a file.
#[derive(Clone, Debug, PartialEq)]
pub struct FeedNote {
    /// How grave.
    pub level: Level,
    /// A stable hyphenated word.
    pub code: &'static str,
    /// A sentence.
    pub text: String,
}

/// A column of a [`Feed`].
#[derive(Clone, Debug)]
pub struct Column {
    /// Its place, by number.
    pub place: usize,
    /// What it is.
    pub measure: Measure,
    /// A value for each row, shorter where the last ones are absent.
    values: Vec<f32>,
}

impl Column {
    /// The value of a row.
    pub fn at(&self, row: usize) -> Option<f64> {
        self.values.get(row).map(|v| f64::from(*v)).filter(|v| v.is_finite())
    }

    fn set(&mut self, row: usize, value: f64) {
        if self.values.len() <= row {
            self.values.resize(row + 1, f32::NAN);
        }
        self.values[row] = if value >= 0.0 && value.is_finite() { value as f32 } else { f32::NAN };
    }
}

/// A monitoring file as a table.
#[derive(Debug)]
pub struct Feed {
    /// The file's name.
    pub name: String,
    /// What wrote it.
    pub format: MonitorFormat,
    /// The interval of every row, in order.
    pub rows: Vec<Span>,
    /// Where was counted.
    pub places: Vec<Place>,
    /// What was counted.
    pub columns: Vec<Column>,
    /// What is to be known of it.
    pub notes: Vec<FeedNote>,
    /// What was taken for granted: `(what, value and reason)`.
    pub assumed: Vec<(String, String)>,
    /// Names that one device has: `(one, other)`.
    pub aliases: Vec<(String, String)>,
    /// What the machines of devices are known by: device, kind of identity, identity.
    pub machines: Vec<(String, &'static str, String)>,
    /// Transfers of which it saw one end.
    pub transfers: Vec<Transfer>,
    /// Tests of a file of results, with their times: windows unless the user names others.
    pub tests: Vec<(String, Span)>,
    by_name: BTreeMap<(HopKind, String, String), usize>,
    by_measure: BTreeMap<(usize, Measure), usize>,
}

impl Feed {
    /// An empty table.
    pub fn new(name: &str, format: MonitorFormat) -> Feed {
        Feed {
            name: name.to_owned(),
            format,
            rows: Vec::new(),
            places: Vec::new(),
            columns: Vec::new(),
            notes: Vec::new(),
            assumed: Vec::new(),
            aliases: Vec::new(),
            machines: Vec::new(),
            transfers: Vec::new(),
            tests: Vec::new(),
            by_name: BTreeMap::new(),
            by_measure: BTreeMap::new(),
        }
    }

    /// The number of a place, which is added where it is new.
    pub fn place(&mut self, place: Place) -> usize {
        let key = (place.kind, place.device.clone(), place.name.clone());
        let places = &mut self.places;
        *self.by_name.entry(key).or_insert_with(|| {
            places.push(place);
            places.len() - 1
        })
    }

    /// Says that a device is known by another name too.
    pub fn alias(&mut self, one: &str, other: &str) {
        let pair = (one.to_owned(), other.to_owned());
        if one != other && !one.is_empty() && !other.is_empty() && !self.aliases.contains(&pair) {
            self.aliases.push(pair);
        }
    }

    /// Says what the machine of a device is known by.
    pub fn machine(&mut self, device: &str, kind: &'static str, id: &str) {
        let known = (device.to_owned(), kind, id.to_owned());
        if !id.is_empty() && !self.machines.contains(&known) {
            self.machines.push(known);
        }
    }

    /// Gives columns other measures.
    pub(super) fn remeasure(&mut self, other: impl Fn(usize, Measure) -> Measure) {
        for column in &mut self.columns {
            column.measure = other(column.place, column.measure);
        }
        let columns = self.columns.iter().enumerate();
        self.by_measure = columns.map(|(at, of)| ((of.place, of.measure), at)).collect();
    }

    /// Adds an identity to a place, in canonical form.
    pub fn identify(&mut self, place: usize, id: String) {
        let ids = &mut self.places[place].ids;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }

    /// The number of a column, which is added where it is new.
    pub fn column(&mut self, place: usize, measure: Measure) -> usize {
        let columns = &mut self.columns;
        *self.by_measure.entry((place, measure)).or_insert_with(|| {
            columns.push(Column { place, measure, values: Vec::new() });
            columns.len() - 1
        })
    }

    /// Sets a cell of a column. What is not finite, or negative, is absent.
    pub fn set(&mut self, column: usize, row: usize, value: f64) {
        self.columns[column].set(row, value);
    }

    /// Sets a cell by its meaning.
    pub fn put(&mut self, row: usize, place: usize, measure: Measure, value: f64) {
        let column = self.column(place, measure);
        self.set(column, row, value);
    }

    /// Takes back what was said of a measure of a place in some rows.
    pub(super) fn blank(&mut self, place: usize, measure: Measure, rows: Range<usize>) {
        if let Some(at) = self.by_measure.get(&(place, measure)) {
            let values = &mut self.columns[*at].values;
            let end = rows.end.min(values.len());
            values[rows.start.min(end)..end].fill(f32::NAN);
        }
    }

    /// Takes back what was said of a measure of a place.
    pub(super) fn forget(&mut self, place: usize, measure: Measure) {
        if let Some(at) = self.by_measure.get(&(place, measure)) {
            self.columns[*at].values.clear();
        }
    }

    /// The column of a measure of a place.
    pub fn find(&self, place: usize, measure: Measure) -> Option<&Column> {
        self.by_measure.get(&(place, measure)).map(|at| &self.columns[*at])
    }

    /// Whether some place counts operations of both directions together alone.
    pub fn is_divided(&self) -> bool {
        self.together(Measure::Ops)
    }

    /// The same of bytes.
    pub fn is_summed(&self) -> bool {
        self.together(Measure::Bytes)
    }

    fn together(&self, measure: fn(Flow) -> Measure) -> bool {
        let of = |place, flow| self.find(place, measure(flow)).is_some();
        (0..self.places.len())
            .any(|p| of(p, Flow::Any) && !of(p, Flow::Read) && !of(p, Flow::Write))
    }

    /// Adds a note.
    pub fn note(&mut self, level: Level, code: &'static str, text: impl Into<String>) {
        self.notes.push(FeedNote { level, code, text: text.into() });
    }

    /// The mean of a measure of a place over rows, by time; `None` where it is nowhere.
    pub fn mean(&self, place: usize, measure: Measure, rows: Range<usize>) -> Option<f64> {
        let column = self.find(place, measure)?;
        let seen = rows.filter_map(|row| Some((column.at(row)?, self.rows.get(row)?.seconds())));
        let (area, seconds) = seen.fold((0.0, 0.0), |(area, all), (v, s)| (area + v * s, all + s));
        (seconds > 0.0).then(|| area / seconds)
    }

    /// Writes down that what a list of a kind of places leaves out did nothing then, as iostat and sar mean it with `-z`. A
    /// list is named by its row, its kind and its host.
    pub(super) fn rest(&mut self, lists: &[(usize, HopKind, String)]) {
        let mut of_place: Vec<Vec<usize>> = vec![Vec::new(); self.places.len()];
        for (at, column) in self.columns.iter().enumerate() {
            of_place[column.place].push(at);
        }
        for (row, kind, host) in lists {
            for (place, columns) in self.places.iter().zip(&of_place) {
                let listed = |at: &usize| self.columns[*at].at(*row).is_some();
                if place.kind != *kind || place.device != *host || columns.iter().any(listed) {
                    continue;
                }
                for at in columns {
                    let column = &mut self.columns[*at];
                    if !matches!(column.measure, Measure::Time(..) | Measure::Speed) {
                        column.set(*row, 0.0);
                    }
                }
            }
        }
    }

    /// Gives the rows of all columns their intervals, and leaves out those without one.
    pub(super) fn keep_rows(&mut self, spans: &[Option<Span>]) {
        for column in &mut self.columns {
            let mut place = 0;
            column.values.retain(|_| {
                place += 1;
                spans.get(place - 1).is_some_and(Option::is_some)
            });
        }
        self.rows = spans.iter().flatten().copied().collect();
    }

    /// Ends the reading: something must have been counted.
    pub(super) fn finish(mut self) -> Result<Feed, ReadError> {
        if self.rows.is_empty() || self.columns.is_empty() {
            let iostat = matches!(self.format, MonitorFormat::Iostat | MonitorFormat::IostatJson);
            let mut text = match (self.rows.is_empty(), iostat) {
                (true, true) => {
                    "no interval is in it: the first report covers the time since the start and is left out, so that two are needed (`--keep-first` keeps it: with `iostat -y` it is not that one)"
                }
                (true, false) => "no interval is in it",
                (false, _) => "nothing in it is counted that explains anything",
            }
            .to_owned();
            // What was left out says why.
            let prefix = format!("{}: ", self.name);
            for note in self.notes.iter().filter(|note| note.level == Level::Warning) {
                text += "; ";
                text += note.text.strip_prefix(&prefix).unwrap_or(&note.text);
            }
            return Err(ReadError::new(1, 1, text));
        }
        let gaps = self.gaps();
        if gaps > 0 {
            let text = format!(
                "{}: {gaps} gap{} between intervals; nothing is assumed of the time within",
                self.name,
                if gaps == 1 { "" } else { "s" }
            );
            self.note(Level::Warning, "gap", text);
        }
        Ok(self)
    }

    /// Notes how often time went back, and how many intervals are of a time that was had before: of them nothing is used.
    pub(super) fn went_back<'a>(&mut self, times: u32, spans: impl Iterator<Item = &'a Span>) {
        if times == 0 {
            return;
        }
        let mut until = i64::MIN;
        let mut again = 0;
        for span in spans {
            again += u64::from(span.from < until);
            until = until.max(span.to);
        }
        let mut text =
            format!("{}: time goes back {times} times; these intervals are left out", self.name);
        if again > 0 {
            text += &format!(
                ", and so are {again} of times that the file has twice: its clock was set back, or its times need `--tz` with the zone's name"
            );
        }
        self.note(Level::Warning, "time-goes-back", text);
    }

    /// Moments between two rows that do not touch.
    fn gaps(&self) -> usize {
        self.rows.windows(2).filter(|pair| apart(pair[0], pair[1])).count()
    }
}

/// Whether more than a tenth of an interval lies between two.
pub fn apart(first: Span, second: Span) -> bool {
    let slack = (first.to - first.from).max(second.to - second.from) / 10;
    second.from - first.to > slack
}
