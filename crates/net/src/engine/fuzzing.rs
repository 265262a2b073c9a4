//! What a fuzzer drives, and tests with it: figures of a receiver on their way into a record. No part of the product.

use super::figures::FigureWriter;
use crate::TestSpec;
use crate::figures::EndFigures;
use crate::report::{ClockComparison, SideReport};
use crate::sender_test::{FigureSink, PeerInfo, TestOutcome};
use ::engine::NetSources;
use clock::Ns;
use record::SourceId;
use std::sync::mpsc;

/// Tells an interval of the receiver's.
pub(crate) fn tell_interval(spec: &TestSpec, figures: &EndFigures) {
    with_scribe(spec, |writer| writer.theirs(figures));
}

/// Tells what both ends came to.
pub(crate) fn tell_end(spec: &TestSpec, sender: &SideReport, receiver: &SideReport) {
    let about =
        PeerInfo { receiver: (String::new(), String::new()), clock: ClockComparison::default() };
    let (sender, receiver) = (sender.clone(), receiver.clone());
    let outcome = TestOutcome { about, clock_after: ClockComparison::default(), sender, receiver };
    with_scribe(spec, |writer| writer.close(&outcome));
}

/// A record's place for every stream of a test, which is not read.
fn with_scribe(spec: &TestSpec, tell: impl FnOnce(&mut FigureWriter<'_>)) {
    let id = SourceId;
    let streams = (0..spec.up() + spec.down()).map(u32::from);
    let streams = streams.map(|n| (id(2 * n + 4), id(2 * n + 5))).collect();
    let sources =
        NetSources { hop: id(0), sender: id(1), receiver: id(2), streams, probe: Some(id(3)) };
    let (out, _) = mpsc::channel();
    tell(&mut FigureWriter::new((0, Ns::ZERO), spec, &sources, &out, 0));
}
