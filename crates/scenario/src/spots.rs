//! The positions of a scenario's items in its text, so that mistakes that are found after loading (from the topology,
//! or from the limits of a live run) are reported as `load` reports its mistakes.

use crate::diagnostics::{Diagnostics, Mistake, Origin, Sink, Span};
use crate::{Change, Plan, Scenario, Source};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Places of a scenario's text. Two are always equal: where something stands is no part of what it is.
#[derive(Clone, Default)]
pub struct Spots {
    inner: Arc<SpotTable>,
}

#[derive(Default)]
struct SpotTable {
    source: Source,
    places: BTreeMap<Spot, Span>,
}

/// Something that stands at a place of its own.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Spot {
    /// The definition of a name of the lab.
    Name(String),
    /// A disk of a VM or host, from 0.
    Disk(String, u32),
    /// An end of a link, by the link's number in the lab: its `from`, or else its `to`.
    End(u32, bool),
    /// The n-th hop of a path's `via`.
    Via(String, u32),
    /// The n-th incident of a plan, by the plan's number.
    Incident(u32, u32),
    /// A load of a plan, by the plan's number and its own.
    Load(u32, u32),
}

impl Spots {
    pub(crate) fn new(source: &Source, places: BTreeMap<Spot, Span>) -> Spots {
        Spots { inner: Arc::new(SpotTable { source: source.clone(), places }) }
    }

    /// Where something stands; the beginning of the file where that is not known.
    pub(crate) fn at(&self, spot: &Spot) -> Span {
        self.inner.places.get(spot).copied().unwrap_or(Span::new(Origin::File, 0..0))
    }

    /// Where a name of the lab is defined.
    pub(crate) fn name(&self, name: &str) -> Span {
        self.at(&Spot::Name(name.to_owned()))
    }

    /// The mistakes of a sink, in the text.
    pub(crate) fn finish(&self, sink: Sink) -> Diagnostics {
        sink.finish(&self.inner.source)
    }
}

/// What a mistake is about that was found after loading.
#[derive(Clone, Copy, Debug)]
pub enum About<'n> {
    /// The scenario as a whole.
    Whole,
    /// A name of the scenario.
    Name(&'n str),
    /// What happens to the lab in a plan.
    Incident(&'n Change),
}

impl Scenario {
    /// Mistakes found by the solver of its lab, each at the place of what it is about.
    pub fn mistaken<'n>(&self, told: impl IntoIterator<Item = (About<'n>, String)>) -> Diagnostics {
        let mut sink = Sink::default();
        for (about, message) in told {
            let at = match about {
                About::Whole => Span::new(Origin::File, 0..0),
                About::Name(name) => self.spots.name(name),
                About::Incident(change) => self.incident(change),
            };
            sink.push(|| Mistake::new(at, message));
        }
        self.spots.finish(sink)
    }

    /// Where the first plan has something happen.
    fn incident(&self, change: &Change) -> Span {
        let of = |(p, plan): (u32, &Plan)| {
            let n = plan.incidents.iter().position(|incident| incident.change == *change)?;
            Some(self.spots.at(&Spot::Incident(p, u32::try_from(n).ok()?)))
        };
        (0..).zip(&self.plans).find_map(of).unwrap_or(Span::new(Origin::File, 0..0))
    }
}

impl PartialEq for Spots {
    fn eq(&self, _: &Spots) -> bool {
        true
    }
}

impl fmt::Debug for Spots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Spots({})", self.inner.places.len())
    }
}
