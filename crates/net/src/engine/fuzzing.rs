//! What a fuzzer drives, and tests with it: figures of a receiver on their way into a record. No part of the product.

use super::figures::Scribe;
use crate::Spec;
use crate::asking::{About, Hear, Outcome};
use crate::figures::Figures;
use crate::report::{ClockOffset, SideReport};
use ::engine::NetSources;
use clock::Ns;
use record::SourceId;
use std::sync::mpsc;

/// Tells an interval of the receiver's.
pub(crate) fn tell_interval(spec: &Spec, figures: &Figures) {
    with_scribe(spec, |scribe| scribe.theirs(figures));
}

/// Tells what both ends came to.
pub(crate) fn tell_end(spec: &Spec, sender: &SideReport, receiver: &SideReport) {
    let about = About { receiver: (String::new(), String::new()), clock: ClockOffset::default() };
    let (sender, receiver) = (sender.clone(), receiver.clone());
    let outcome = Outcome { about, clock_after: ClockOffset::default(), sender, receiver };
    with_scribe(spec, |scribe| scribe.close(&outcome));
}

/// A record's place for every stream of a test, which nobody reads.
fn with_scribe(spec: &Spec, tell: impl FnOnce(&mut Scribe<'_>)) {
    let id = SourceId;
    let streams = (0..spec.up() + spec.down()).map(u32::from);
    let streams = streams.map(|n| (id(2 * n + 4), id(2 * n + 5))).collect();
    let sources =
        NetSources { hop: id(0), sender: id(1), receiver: id(2), streams, probe: Some(id(3)) };
    let (out, _) = mpsc::channel();
    tell(&mut Scribe::new((0, Ns::ZERO), spec, &sources, &out, 0));
}
