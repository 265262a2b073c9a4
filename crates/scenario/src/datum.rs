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
    Record(Decoded),
    Map(Vec<(At<String>, Decoded)>),
}

/// A decoded table. A key that was given with a wrong value is known to have been given, but has no datum.
#[derive(Clone, Debug)]
pub(crate) struct Decoded {
    pub at: Span,
    pub def: &'static TableDef,
    pub fields: Vec<DatumKey>,
    /// Keys that were probably meant by unknown ones: they are not reported as missing too.
    pub meant: Vec<&'static str>,
}

/// A key of a decoded table.
#[derive(Clone, Debug)]
pub(crate) struct DatumKey {
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

impl Decoded {
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

    /// The key as it was given, rightly or wrongly. Every getter asks here, so that a key that the table does not have is
    /// caught as a mistake of this program, instead of reading as absent.
    pub fn slot(&self, key: &str) -> Option<&DatumKey> {
        debug_assert!(self.may_have(key), "{} has no key `{key}`", self.def.title);
        self.fields.iter().find(|s| s.key.value == key)
    }

    /// Whether its table has such a key, given or not: `WORKLOAD.key` as well where it takes that.
    fn may_have(&self, key: &str) -> bool {
        let bare = key.rsplit_once('.').filter(|_| self.def.prefixed).map_or(key, |(_, bare)| bare);
        self.def.field(bare).is_some()
    }

    pub fn has(&self, key: &str) -> bool {
        self.slot(key).is_some()
    }

    /// Whether a key was given that only some of the tables have which the caller is handed.
    pub fn may_say(&self, key: &str) -> bool {
        self.may_have(key) && self.has(key)
    }

    /// Whether the key was given, or was probably meant by an unknown one.
    pub fn means(&self, key: &str) -> bool {
        self.has(key) || self.meant.contains(&key)
    }

    pub fn record(&self, key: &str) -> Option<&Decoded> {
        match &self.get(key)?.value {
            Datum::Record(record) => Some(record),
            _ => None,
        }
    }

    /// Tables given as `[[key]]` or as an inline list; empty when there are none.
    pub fn records(&self, key: &str) -> Vec<&Decoded> {
        match self.get(key).map(|at| &at.value) {
            Some(Datum::List(items)) => items.iter().filter_map(At::record).collect(),
            Some(Datum::Record(record)) => vec![record],
            _ => Vec::new(),
        }
    }

    /// Tables by name.
    pub fn map(&self, key: &str) -> &[(At<String>, Decoded)] {
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
    fn record(&self) -> Option<&Decoded> {
        match &self.value {
            Datum::Record(record) => Some(record),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::decode;
    use crate::diagnostics::{Origin, Sink, Span};
    use crate::fields::ROOT;
    use crate::tree;

    /// The scenario of a text without mistakes, as data.
    fn root(text: &str) -> super::Decoded {
        let mut sink = Sink::default();
        let tree = tree::parse(text, &mut sink);
        let at = Span::new(Origin::File, 0..0);
        let root = decode::record(&tree, at, &ROOT, ROOT.title, &mut sink);
        assert!(sink.is_empty());
        root
    }

    const TEXT: &str = "[scenario]\ntitle = \"t\"\n[plan]\nworkload = \"w\"\non = \"v\"\nmeasure = \"1s\"\nsweep = { \"w.depth\" = [1] }\n";

    #[test]
    fn keys_of_the_table_are_read() {
        let root = root(TEXT);
        let plan = root.record("plan").expect("a plan");
        assert!(plan.time("measure").is_some() && plan.time("warmup").is_none());
        let sweep = plan.record("sweep").expect("a sweep");
        assert!(sweep.has("w.depth") && !sweep.has("v.depth") && !sweep.has("depth"));
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "[plan] has no key `mesure`")]
    fn a_mistyped_key_is_caught() {
        let root = root(TEXT);
        root.record("plan").expect("a plan").time("mesure");
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "has no key `w.dept`")]
    fn a_mistyped_key_of_a_workload_is_caught() {
        let root = root(TEXT);
        let sweep = root.record("plan").and_then(|plan| plan.record("sweep"));
        sweep.expect("a sweep").has("w.dept");
    }
}
