//! A source of counters: which places it counts at, and what they have counted by now.
//!
//! A source may be slow, wrong or gone. It returns what it saw or why it saw nothing; [`crate::accrual`] makes sums of it and
//! [`crate::watch`] keeps it away from everything else.

use crate::watch::News;
use clock::Ns;
use hop::HopKind;
use record::CounterId;
use std::collections::BTreeSet;
use thiserror::Error;

/// Places of a source, at most.
pub const PLACES_MAX: usize = 4096;

/// A place where something is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// What it is; `None` for what serves only to know others by.
    pub kind: Option<HopKind>,
    /// The name that its source gives it: `eth1/3`, `host4`.
    pub name: String,
    /// What else it is known by, exactly: WWNs and MAC addresses in canonical form, an alias, a serial number.
    pub ids: BTreeSet<String>,
    /// The same of what is at the other end of its cable, as far as the device was told.
    pub beyond: BTreeSet<String>,
    /// What is worth knowing about it, by key.
    pub facts: Vec<(String, String)>,
}

impl Place {
    /// A place by its name.
    pub fn new(kind: HopKind, name: impl Into<String>) -> Place {
        Place { kind: Some(kind), name: name.into(), ..Place::default() }
    }

    /// The same with one more identity, in one spelling where it has several.
    pub fn known_as(mut self, id: &str) -> Place {
        let id = id.trim();
        if !id.is_empty() && id != self.name {
            self.ids.insert(telemetry::canonical(id).unwrap_or_else(|| id.to_owned()));
        }
        self
    }

    /// The same with one more fact, unless it says nothing.
    pub fn fact(mut self, key: &str, value: impl Into<String>) -> Place {
        let value = value.into();
        if !value.is_empty() {
            self.facts.push((key.to_owned(), value));
        }
        self
    }

    /// The same place as another table of its source describes it.
    pub(crate) fn merge(&mut self, other: Place) {
        self.ids.extend(other.ids);
        if other.name != self.name {
            self.ids.insert(other.name);
        }
        self.beyond.extend(other.beyond);
        for fact in other.facts {
            if self.facts.iter().all(|(key, _)| *key != fact.0) {
                self.facts.push(fact);
            }
        }
    }

    /// Whether this is one of its identities: its name, or what it is known by. Never a part of one.
    pub fn is(&self, id: &str) -> bool {
        let canonical = telemetry::canonical(id);
        self.name == id || self.ids.contains(canonical.as_deref().unwrap_or(id))
    }
}

/// What a place says of one counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Amount {
    /// A whole number that only grows and begins anew at two to the power of `bits`; 0 where its width is unknown. One is
    /// `unit` of the counter's own unit.
    Grows {
        /// The number.
        raw: u64,
        /// Its width.
        bits: u32,
        /// What one is.
        unit: f64,
    },
    /// A number that only grows, in the counter's unit.
    Total(f64),
    /// So much a second, in the counter's unit.
    Rate(f64),
    /// A level at this moment.
    Level(f64),
}

impl Amount {
    /// A counter of 64 bits.
    pub fn wide(raw: u64) -> Amount {
        Amount::Grows { raw, bits: 64, unit: 1.0 }
    }
}

/// What a source saw.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// When, on the monotonic clock.
    pub at: Ns,
    /// Of which life of the source it is: counters of two lives have nothing to do with each other.
    pub life: u64,
    /// Of each place what it said, in the order of [`Source::discover`]; empty where it said nothing.
    pub places: Vec<Vec<(CounterId, Amount)>>,
}

/// Why a source saw nothing.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum Trouble {
    /// It did not answer, or not in time.
    #[error("{0}")]
    Silent(String),
    /// What it answered means nothing.
    #[error("{0}")]
    Garbage(String),
    /// It has begun anew, so that its places must be found again.
    #[error("it has started again")]
    Restarted,
}

/// A source of counters. Both functions may take their time and may fail.
pub trait Source: Send {
    /// The places that it counts at, at most [`PLACES_MAX`].
    /// # Errors
    /// Where it cannot be asked.
    fn discover(&mut self) -> Result<Vec<Place>, Trouble>;

    /// What they have counted by now; `None` where nothing is new since the last look.
    /// # Errors
    /// Where it cannot be asked.
    fn look(&mut self) -> Result<Option<Look>, Trouble>;

    /// What else is to be said since the last time: contradictions within the source itself.
    fn news(&mut self) -> Vec<News> {
        Vec::new()
    }
}
