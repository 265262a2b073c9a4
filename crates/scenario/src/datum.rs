//! Values that have the right shape and unit, with their places: what decoding yields and building consumes.

use crate::diagnostics::{At, Span};
use crate::fields::TableDef;
use crate::model::LatencyPoint;
use std::time::Duration;
use units::{ByteRate, Bytes, Iops, LinkRate, Percent};

/// A decoded value.
#[derive(Clone, Debug)]
pub(crate) enum Datum {
    Text(String),
    Flag(bool),
    Count(u64),
    Number(f64),
    Size(Bytes),
    Time(Duration),
    Rate(ByteRate),
    Link(LinkRate),
    Iops(Iops),
    Percent(Percent),
    /// A share of a hop's wire.
    Wire(Percent),
    Word(&'static str),
    Point(LatencyPoint),
    List(Vec<At<Datum>>),
    Record(Record),
    Map(Vec<(At<String>, Record)>),
}

/// A decoded table. A key that was given with a wrong value is known to have been given, but has no datum.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub at: Span,
    pub def: &'static TableDef,
    pub fields: Vec<Slot>,
    /// Keys that were probably meant by unknown ones: they are not reported as missing too.
    pub meant: Vec<&'static str>,
}

/// A key of a decoded table.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    /// The key as written; `WORKLOAD.key` where the table takes that.
    pub key: At<String>,
    /// `None` when the value was wrong, which has been reported.
    pub value: Option<At<Datum>>,
}

/// Reads one kind of datum by key.
macro_rules! getter {
    ($name:ident, $variant:ident, $type:ty) => {
        pub fn $name(&self, key: &str) -> Option<At<$type>> {
            match &self.get(key)?.value {
                Datum::$variant(value) => Some(At::new(self.get(key)?.at, value.clone())),
                _ => None,
            }
        }
    };
}

impl Record {
    getter!(text, Text, String);
    getter!(flag, Flag, bool);
    getter!(count, Count, u64);
    getter!(number, Number, f64);
    getter!(size, Size, Bytes);
    getter!(time, Time, Duration);
    getter!(iops, Iops, Iops);
    getter!(link, Link, LinkRate);
    getter!(percent, Percent, Percent);
    getter!(word, Word, &'static str);
    getter!(point, Point, LatencyPoint);

    /// The value of a key, when it was given and right.
    pub fn get(&self, key: &str) -> Option<&At<Datum>> {
        self.slot(key)?.value.as_ref()
    }

    /// The key as it was given, rightly or wrongly.
    pub fn slot(&self, key: &str) -> Option<&Slot> {
        self.fields.iter().find(|s| s.key.value == key)
    }

    pub fn has(&self, key: &str) -> bool {
        self.slot(key).is_some()
    }

    /// Whether the key was given, or was probably meant by an unknown one.
    pub fn means(&self, key: &str) -> bool {
        self.has(key) || self.meant.contains(&key)
    }

    pub fn record(&self, key: &str) -> Option<&Record> {
        match &self.get(key)?.value {
            Datum::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Tables given as `[[key]]` or as an inline list; empty when there are none.
    pub fn records(&self, key: &str) -> Vec<&Record> {
        match self.get(key).map(|at| &at.value) {
            Some(Datum::List(items)) => items.iter().filter_map(At::record).collect(),
            Some(Datum::Record(record)) => vec![record],
            _ => Vec::new(),
        }
    }

    /// Tables by name.
    pub fn map(&self, key: &str) -> &[(At<String>, Record)] {
        match self.get(key).map(|at| &at.value) {
            Some(Datum::Map(entries)) => entries,
            _ => &[],
        }
    }

    /// One value or a list of them, as a list; empty when not given.
    pub fn items(&self, key: &str) -> Vec<&At<Datum>> {
        match self.get(key) {
            Some(At { value: Datum::List(items), .. }) => items.iter().collect(),
            Some(one) => vec![one],
            None => Vec::new(),
        }
    }

    /// One text or a list of them.
    pub fn texts(&self, key: &str) -> Vec<At<String>> {
        self.items(key)
            .into_iter()
            .filter_map(|item| match &item.value {
                Datum::Text(text) => Some(At::new(item.at, text.clone())),
                _ => None,
            })
            .collect()
    }
}

impl At<Datum> {
    fn record(&self) -> Option<&Record> {
        match &self.value {
            Datum::Record(record) => Some(record),
            _ => None,
        }
    }
}
