//! Conversion between columns of a row and our types: the order of the values, and the checks of what is read.
//!
//! SQLite's integers are signed. A quantity above 2^63 - 1 (292 years in nanoseconds, 9 EB) is stored as 2^63 - 1; no
//! measurement reaches it. Negative values are rejected.

use crate::histogram::Encoder;
use crate::schema::StoredWord;
use crate::{Completed, Histogram, OtherTallies, Testimony};
use clock::Ns;
use rusqlite::Row;
use rusqlite::types::{Value, ValueRef};
use workload::Dir;

/// Why a row cannot be read.
#[derive(Debug)]
pub(crate) enum RowError {
    /// SQLite's reason.
    Sql(rusqlite::Error),
    /// The row holds an invalid value.
    Bad(String),
}

impl From<rusqlite::Error> for RowError {
    fn from(e: rusqlite::Error) -> RowError {
        RowError::Sql(e)
    }
}

/// A quantity as a signed SQLite integer.
pub(crate) fn int(quantity: u64) -> Value {
    Value::Integer(i64::try_from(quantity).unwrap_or(i64::MAX))
}

/// Text as a SQLite value.
pub(crate) fn text(text: &str) -> Value {
    Value::Text(text.to_string())
}

/// Optional text; NULL if absent.
pub(crate) fn opt_text(text: Option<&str>) -> Value {
    text.map_or(Value::Null, self::text)
}

/// Read, write, testimony.
pub(crate) type OwnFigures = (Option<Completed>, Option<Completed>, Option<Testimony>);

/// The figures of an interval or a total, in the order of [`crate::schema::FIGURES`].
pub(crate) struct ColumnFigures<'a> {
    pub(crate) read: Option<&'a Completed>,
    pub(crate) write: Option<&'a Completed>,
    pub(crate) testimony: Option<&'a Testimony>,
}

impl ColumnFigures<'_> {
    /// Appends the figures to a row's values; histograms as they are, or with two digits where `coarse`.
    pub(crate) fn push(&self, row: &mut Vec<Value>, encoder: &mut Encoder, coarse: bool) {
        push_tally(row, self.read);
        push_tally(row, self.write);
        push_testimony(row, self.testimony);
        for tally in [self.read, self.write] {
            row.push(service(tally, encoder, coarse));
            row.push(response(tally, encoder, coarse));
        }
    }
}

/// The figures of operations without data, those that there are, in the order of [`crate::schema::OTHER_FIGURES`].
pub(crate) fn other_rows(
    others: &OtherTallies,
    encoder: &mut Encoder,
    coarse: bool,
) -> Vec<Vec<Value>> {
    let named = Dir::WITHOUT_DATA.into_iter().zip(others);
    let present = named.filter_map(|(dir, tally)| Some((dir, tally.as_ref()?)));
    let row = |(dir, tally): (Dir, &Completed)| {
        let mut row = vec![text(dir.word())];
        push_tally(&mut row, Some(tally));
        row.push(service(Some(tally), encoder, coarse));
        row.push(response(Some(tally), encoder, coarse));
        row
    };
    present.map(row).collect()
}

fn push_tally(row: &mut Vec<Value>, tally: Option<&Completed>) {
    match tally {
        Some(t) => row.extend([t.ops, t.bytes, t.errors, t.service_sum.0].map(int)),
        None => row.extend([const { Value::Null }; 4]),
    }
}

fn push_testimony(row: &mut Vec<Value>, testimony: Option<&Testimony>) {
    let Some(t) = testimony else {
        row.extend([const { Value::Null }; 9]);
        return;
    };
    row.extend([t.cpu_user.0, t.cpu_system.0, t.own.0, t.in_flight.0, t.late].map(int));
    row.extend([t.late_max.0, t.overruns.into(), t.open.into(), t.open_age_max.0].map(int));
}

/// NULL if nothing was counted.
fn service(tally: Option<&Completed>, encoder: &mut Encoder, coarse: bool) -> Value {
    match tally {
        Some(t) if t.service.count() > 0 => Value::Blob(encode(&t.service, encoder, coarse)),
        _ => Value::Null,
    }
}

/// NULL if response time was not kept separately; zero bytes if it was and nothing was counted.
fn response(tally: Option<&Completed>, encoder: &mut Encoder, coarse: bool) -> Value {
    match tally.and_then(|t| t.response.as_ref()) {
        Some(h) if h.count() > 0 => Value::Blob(encode(h, encoder, coarse)),
        Some(_) => Value::Blob(Vec::new()),
        None => Value::Null,
    }
}

fn encode(histogram: &Histogram, encoder: &mut Encoder, coarse: bool) -> Vec<u8> {
    if coarse && histogram.digits() > 2 {
        encoder.encode(&histogram.to_two_digits())
    } else {
        encoder.encode(histogram)
    }
}

/// Reads a row from left to right.
pub(crate) struct Cells<'a> {
    row: &'a Row<'a>,
    next: usize,
}

impl<'a> Cells<'a> {
    pub(crate) fn new(row: &'a Row<'a>) -> Cells<'a> {
        Cells { row, next: 0 }
    }

    fn value(&mut self) -> Result<ValueRef<'a>, RowError> {
        let value = self.row.get_ref(self.next)?;
        self.next += 1;
        Ok(value)
    }

    /// An error naming the last column read.
    fn bad<T>(&self, what: &str) -> Result<T, RowError> {
        let column = self.row.as_ref().column_name(self.next - 1).unwrap_or("?");
        Err(RowError::Bad(format!("column {column} {what}")))
    }

    pub(crate) fn opt_u64(&mut self) -> Result<Option<u64>, RowError> {
        match self.value()? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(i) => match u64::try_from(i) {
                Ok(u) => Ok(Some(u)),
                Err(_) => self.bad("is negative"),
            },
            _ => self.bad("is not an integer"),
        }
    }

    pub(crate) fn u64(&mut self) -> Result<u64, RowError> {
        match self.opt_u64()? {
            Some(u) => Ok(u),
            None => self.bad("is missing"),
        }
    }

    pub(crate) fn opt_u32(&mut self) -> Result<Option<u32>, RowError> {
        match self.opt_u64()?.map(u32::try_from) {
            None => Ok(None),
            Some(Ok(u)) => Ok(Some(u)),
            Some(Err(_)) => self.bad("is too large"),
        }
    }

    pub(crate) fn u32(&mut self) -> Result<u32, RowError> {
        match self.opt_u32()? {
            Some(u) => Ok(u),
            None => self.bad("is missing"),
        }
    }

    pub(crate) fn ns(&mut self) -> Result<Ns, RowError> {
        self.u64().map(Ns)
    }

    pub(crate) fn flag(&mut self) -> Result<bool, RowError> {
        match self.u64()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => self.bad("is neither 0 nor 1"),
        }
    }

    /// A real number; NULL is how SQLite stores NaN.
    pub(crate) fn real(&mut self) -> Result<f64, RowError> {
        match self.value()? {
            ValueRef::Null => Ok(f64::NAN),
            ValueRef::Real(r) => Ok(r),
            ValueRef::Integer(i) => Ok(i as f64),
            _ => self.bad("is not a number"),
        }
    }

    pub(crate) fn opt_text(&mut self) -> Result<Option<String>, RowError> {
        match self.value()? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(s) => Ok(Some(s.to_string())),
                Err(_) => self.bad("is not UTF-8"),
            },
            _ => self.bad("is not text"),
        }
    }

    pub(crate) fn str(&mut self) -> Result<&'a str, RowError> {
        match self.value()? {
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(s) => Ok(s),
                Err(_) => self.bad("is not UTF-8"),
            },
            _ => self.bad("is not text"),
        }
    }

    pub(crate) fn text(&mut self) -> Result<String, RowError> {
        self.str().map(str::to_string)
    }

    pub(crate) fn word<W: StoredWord>(&mut self) -> Result<W, RowError> {
        let word = self.str()?;
        match W::of(word) {
            Some(value) => Ok(value),
            None => self.bad(&format!("holds the unknown word {word:?}")),
        }
    }

    /// The figures, in the order of [`crate::schema::FIGURES`]; an empty histogram is taken from `empty`.
    pub(crate) fn figures(&mut self, empty: fn() -> Histogram) -> Result<OwnFigures, RowError> {
        let read = self.tally(empty)?;
        let write = self.tally(empty)?;
        let testimony = self.testimony()?;
        let read = self.histograms(read, empty)?;
        let write = self.histograms(write, empty)?;
        Ok((read, write, testimony))
    }

    /// A tally still without its histograms.
    fn tally(&mut self, empty: fn() -> Histogram) -> Result<Option<Completed>, RowError> {
        let Some(ops) = self.opt_u64()? else {
            self.next += 3;
            return Ok(None);
        };
        let (bytes, errors, service_sum) = (self.u64()?, self.u64()?, self.ns()?);
        Ok(Some(Completed { ops, bytes, errors, service_sum, service: empty(), response: None }))
    }

    fn histograms(
        &mut self,
        tally: Option<Completed>,
        empty: fn() -> Histogram,
    ) -> Result<Option<Completed>, RowError> {
        let service = self.histogram(empty)?;
        let response = self.histogram(empty)?;
        Ok(tally.map(|t| Completed { service: service.unwrap_or(t.service), response, ..t }))
    }

    fn histogram(&mut self, empty: fn() -> Histogram) -> Result<Option<Histogram>, RowError> {
        match self.value()? {
            ValueRef::Null => Ok(None),
            ValueRef::Blob([]) => Ok(Some(empty())),
            ValueRef::Blob(bytes) => match Histogram::from_bytes(bytes) {
                Ok(h) => Ok(Some(h)),
                Err(e) => self.bad(&format!("is no histogram: {e}")),
            },
            _ => self.bad("is not a blob"),
        }
    }

    /// The figures of an operation without data, in the order of [`crate::schema::OTHER_FIGURES`].
    pub(crate) fn other(
        &mut self,
        empty: fn() -> Histogram,
    ) -> Result<(usize, Completed), RowError> {
        let place = self.word::<Dir>()?.without_data();
        let Some(tally) = self.tally(empty)? else { return self.bad("is missing") };
        let Some(tally) = self.histograms(Some(tally), empty)? else {
            return self.bad("is missing");
        };
        match place {
            Some(place) => Ok((place, tally)),
            None => self.bad("names an operation with data"),
        }
    }

    fn testimony(&mut self) -> Result<Option<Testimony>, RowError> {
        let Some(cpu_user) = self.opt_u64()? else {
            self.next += 8;
            return Ok(None);
        };
        Ok(Some(Testimony {
            cpu_user: Ns(cpu_user),
            cpu_system: self.ns()?,
            own: self.ns()?,
            in_flight: self.ns()?,
            late: self.u64()?,
            late_max: self.ns()?,
            overruns: self.u32()?,
            open: self.u32()?,
            open_age_max: self.ns()?,
        }))
    }
}
