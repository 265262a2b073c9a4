//! Which file each counter of a place is taken from: of a counter that two files have, from the first of them, so that nothing is
//! counted twice.

use super::model::Span;
use record::{CounterId, Fact, SourceId};
use std::collections::{BTreeMap, BTreeSet};

/// When each counter of a source is known, and `None` for the intervals of a load.
#[derive(Default)]
pub(super) struct Covered {
    known: BTreeMap<(SourceId, Option<CounterId>), Known>,
    by: BTreeMap<SourceId, BTreeMap<usize, BTreeSet<CounterId>>>,
}

/// The time up to an end, without the holes in it, which are in order.
struct Known {
    until: i64,
    holes: Vec<(i64, i64)>,
}

impl Known {
    /// Adds a time, if nothing in it is known.
    fn add(&mut self, span: Span) -> bool {
        if span.from >= self.until {
            if span.from > self.until {
                self.holes.push((self.until, span.from));
            }
            self.until = span.to;
            return true;
        }
        let at = self.holes.partition_point(|(_, to)| *to <= span.from);
        let Some(&(from, to)) = self.holes.get(at) else { return false };
        let within = from <= span.from && span.to <= to;
        if within {
            self.holes.remove(at);
            for (from, to) in [(span.to, to), (from, span.from)] {
                if from < to {
                    self.holes.insert(at, (from, to));
                }
            }
        }
        within
    }
}

impl Covered {
    /// Begins a step.
    pub fn again(&mut self) {
        self.known.clear();
    }

    /// Whether no other file counted this before, for the time of a row; from now on this one does.
    pub fn free(
        &mut self,
        (source, id): (SourceId, Option<CounterId>),
        span: Span,
        file: usize,
    ) -> bool {
        let nothing = Known { until: i64::MIN, holes: Vec::new() };
        let free = self.known.entry((source, id)).or_insert(nothing).add(span);
        if let (true, Some(id)) = (free, id) {
            self.by.entry(source).or_default().entry(file).or_default().insert(id);
        }
        free
    }

    /// Of places that several files count, which counters are of which file.
    pub fn facts(&self, files: &[&str], names: &BTreeMap<SourceId, String>) -> Vec<Fact> {
        let mut out = Vec::new();
        for (source, by) in self.by.iter().filter(|(_, by)| by.len() > 1) {
            let Some(subject) = names.get(source) else { continue };
            for (file, ids) in by {
                let ids: Vec<&str> = ids.iter().map(|id| id.name()).collect();
                let key =
                    format!("counters-from/{}", files.get(*file).copied().unwrap_or_default());
                out.push(Fact { subject: subject.clone(), key, value: ids.join(", ") });
            }
        }
        out
    }
}
