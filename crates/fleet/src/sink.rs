//! Where a coordinator writes agents' reports: a record, and in tests a list.

use record::{Counter, Event, Fact, Interval, Proof, Source, Status, StepHead, StepTimes, Writer};

/// A write error of a sink; its text names the file.
pub type SinkError = Box<dyn std::error::Error + Send + Sync>;

/// Something that keeps a run. Calls come in the record's order: source before reports, step before intervals.
pub trait RecordSink {
    /// Provenance.
    /// # Errors
    /// Where the record takes nothing more.
    fn facts(&mut self, facts: &[Fact]) -> Result<(), SinkError>;
    /// A source that will report.
    /// # Errors
    /// Where the record takes nothing more.
    fn source(&mut self, source: &Source) -> Result<(), SinkError>;
    /// A step whose load is about to start.
    /// # Errors
    /// Where the record takes nothing more.
    fn step(&mut self, head: &StepHead) -> Result<(), SinkError>;
    /// The step's measurement begins at another time than was announced.
    /// # Errors
    /// Where the record takes nothing more.
    fn step_times(&mut self, index: u32, times: &StepTimes) -> Result<(), SinkError>;
    /// The rounds that follow the measured time of a step.
    /// # Errors
    /// Where the record takes nothing more.
    fn proof(&mut self, index: u32, proof: &Proof) -> Result<(), SinkError>;
    /// What a source did.
    /// # Errors
    /// Where the record takes nothing more.
    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError>;
    /// What a hop counted.
    /// # Errors
    /// Where the record takes nothing more.
    fn counter(&mut self, counter: &Counter) -> Result<(), SinkError>;
    /// Something that happened.
    /// # Errors
    /// Where the record takes nothing more.
    fn event(&mut self, event: &Event) -> Result<(), SinkError>;
    /// A step that ran to its end.
    /// # Errors
    /// Where the record takes nothing more.
    fn step_done(&mut self, index: u32) -> Result<(), SinkError>;
    /// Everything so far outlives this process.
    /// # Errors
    /// Where the record takes nothing more.
    fn commit(&mut self) -> Result<(), SinkError>;
    /// The run is over.
    /// # Errors
    /// Where the record takes nothing more.
    fn finish(self, status: Status) -> Result<(), SinkError>;
}

/// One entry of a record, to be written in its turn.
#[derive(Clone, Debug, PartialEq)]
pub enum RecordEntry {
    /// Provenance.
    Facts(Vec<Fact>),
    /// A source that will report.
    Source(Source),
    /// A step whose load is about to start.
    Step(Box<StepHead>),
    /// The step's measurement begins at another time than was announced.
    StepTimes(u32, StepTimes),
    /// The rounds that follow its measured time.
    Proof(u32, Proof),
    /// What sources did.
    Intervals(Vec<Interval>),
    /// What hops counted.
    Counters(Vec<Counter>),
    /// Something that happened.
    Event(Event),
    /// A step that ran to its end.
    StepDone(u32),
    /// Everything so far is to outlive this process.
    Commit,
}

impl RecordEntry {
    /// Writes the entry.
    /// # Errors
    /// Where the record cannot be written.
    pub fn write(&self, sink: &mut impl RecordSink) -> Result<(), SinkError> {
        match self {
            RecordEntry::Facts(facts) => sink.facts(facts),
            RecordEntry::Source(source) => sink.source(source),
            RecordEntry::Step(head) => sink.step(head),
            RecordEntry::StepTimes(index, times) => sink.step_times(*index, times),
            RecordEntry::Proof(index, proof) => sink.proof(*index, proof),
            RecordEntry::Intervals(list) => list.iter().try_for_each(|one| sink.interval(one)),
            RecordEntry::Counters(list) => list.iter().try_for_each(|one| sink.counter(one)),
            RecordEntry::Event(event) => sink.event(event),
            RecordEntry::StepDone(index) => sink.step_done(*index),
            RecordEntry::Commit => sink.commit(),
        }
    }
}

impl RecordSink for Writer {
    fn facts(&mut self, facts: &[Fact]) -> Result<(), SinkError> {
        Ok(Writer::facts(self, facts)?)
    }

    fn source(&mut self, source: &Source) -> Result<(), SinkError> {
        Ok(Writer::source(self, source)?)
    }

    fn step(&mut self, head: &StepHead) -> Result<(), SinkError> {
        Ok(Writer::step(self, head)?)
    }

    fn step_times(&mut self, index: u32, times: &StepTimes) -> Result<(), SinkError> {
        Ok(Writer::step_times(self, index, times)?)
    }

    fn proof(&mut self, index: u32, proof: &Proof) -> Result<(), SinkError> {
        Ok(Writer::proof(self, index, proof)?)
    }

    fn interval(&mut self, interval: &Interval) -> Result<(), SinkError> {
        Ok(Writer::interval(self, interval)?)
    }

    fn counter(&mut self, counter: &Counter) -> Result<(), SinkError> {
        Ok(Writer::counter(self, counter)?)
    }

    fn event(&mut self, event: &Event) -> Result<(), SinkError> {
        Ok(Writer::event(self, event)?)
    }

    fn step_done(&mut self, index: u32) -> Result<(), SinkError> {
        Ok(Writer::step_done(self, index)?)
    }

    fn commit(&mut self) -> Result<(), SinkError> {
        Ok(Writer::commit(self)?)
    }

    fn finish(self, status: Status) -> Result<(), SinkError> {
        Ok(Writer::finish(self, status)?)
    }
}
