//! Follows a record while it grows: every look hands over what was committed since the last one, and nothing twice.
//!
//! A look is one short transaction over a connection of its own, as all reading is: who follows never keeps a run from
//! finishing its file, and asks nothing of the process that writes it.

use crate::reader::RecordFile;
use crate::schema::TYPED_SINCE;
use crate::{
    Counter, Event, Fact, Interval, RecordError, RunHead, Source, Status, StepHead, select,
};
use std::path::Path;

/// Reads a record on from where it stopped.
#[derive(Debug)]
pub struct Follower {
    file: RecordFile,
    head: RunHead,
    interval: u64,
    counter: u64,
    event: u64,
    /// What tells whether sources or steps changed.
    shape: [u64; 3],
}

/// What was committed since the last look.
#[derive(Clone, Debug, PartialEq)]
pub struct News {
    /// All sources and steps, where one was added or changed.
    pub shape: Option<(Vec<Source>, Vec<StepHead>)>,
    /// Provenance, with the shape.
    pub facts: Vec<Fact>,
    /// New intervals in the order in which they were written, with histograms of two digits.
    pub intervals: Vec<Interval>,
    /// New counters.
    pub counters: Vec<Counter>,
    /// New events.
    pub events: Vec<Event>,
    /// How the run ended; [`Status::Running`] also where it was killed.
    pub status: Status,
    /// Whether there are more intervals than were asked for: look again.
    pub more: bool,
}

impl Follower {
    /// Follows a record from its beginning.
    /// # Errors
    /// As [`Record::open`](crate::Record::open); and where the record is of a version that no program writes any more.
    pub fn open(path: &Path) -> Result<Follower, RecordError> {
        let file = RecordFile::open(path)?;
        let version = file.version;
        if version < TYPED_SINCE {
            return Err(RecordError::TooOld { path: path.to_path_buf(), found: version });
        }
        let head = file.query(|db| {
            db.execute_batch("BEGIN")?;
            select::check_tables(db, version)?;
            Ok(select::head(db, version, &select::facts(db)?)?.0)
        })?;
        Ok(Follower { file, head, interval: 0, counter: 0, event: 0, shape: [0; 3] })
    }

    /// How the run began.
    pub fn head(&self) -> &RunHead {
        &self.head
    }

    /// What was committed since the last look, with at most so many intervals.
    /// # Errors
    /// Where the file cannot be read or is damaged.
    pub fn look(&mut self, intervals_max: u32) -> Result<News, RecordError> {
        let version = self.file.version;
        let (from, shape_before) = ((self.interval, self.counter, self.event), self.shape);
        let (news, shape, [interval, counter, event]) = self.file.query(|db| {
            // One transaction: all of it is of one moment.
            db.execute_batch("BEGIN")?;
            let shape = select::shape(db)?;
            let changed = shape != shape_before;
            let (intervals, last) = select::intervals_after(db, version, from.0, intervals_max)?;
            let news = News {
                shape: match changed {
                    true => Some((select::sources(db, version)?, select::steps(db, version)?)),
                    false => None,
                },
                facts: if changed { select::facts(db)? } else { Vec::new() },
                more: intervals.len() as u64 >= u64::from(intervals_max),
                intervals,
                counters: select::counters_after(db, from.1)?,
                events: select::events_after(db, from.2)?,
                status: select::status(db)?,
            };
            let seen = [last, select::last_seq(db, "counter")?, select::last_seq(db, "event")?];
            Ok((news, shape, seen))
        })?;
        (self.shape, self.interval, self.counter, self.event) = (shape, interval, counter, event);
        Ok(news)
    }
}
