//! Which file each counter of a place is taken from: of a counter that two files have, from the first of them, so that nothing is
//! counted twice.

use super::model::Span;
use record::{CounterId, Fact, SourceId};
use std::collections::{BTreeMap, BTreeSet};

/// Until when each counter of a source is known, and `None` for the intervals of a load.
#[derive(Default)]
pub(super) struct Covered {
    until: BTreeMap<(SourceId, Option<CounterId>), i64>,
    by: BTreeMap<SourceId, BTreeMap<usize, BTreeSet<CounterId>>>,
}

impl Covered {
    /// Begins a step.
    pub fn again(&mut self) {
        self.until.clear();
    }

    /// Whether no other file counted this before, for the time of a row; from now on this one does.
    pub fn free(
        &mut self,
        (source, id): (SourceId, Option<CounterId>),
        span: Span,
        file: usize,
    ) -> bool {
        let until = self.until.entry((source, id)).or_insert(i64::MIN);
        let free = span.from >= *until;
        if free {
            *until = span.to;
        }
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
