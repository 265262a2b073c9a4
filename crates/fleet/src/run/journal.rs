//! What a coordinator has decided on, in the order in which it happened: enough to be it again after its death.
//!
//! The conversation is a state machine, and so is the campaign above it: the same inputs at the same moments lead to the
//! same record. A journal holds these inputs. A coordinator that comes back goes through them, which writes the record anew
//! from its beginning, and goes on where the journal ends. **Invariant:** an input is in the journal before it has any
//! effect, and a message is in it before the carrier is told that it may forget it ([`crate::carrier::Outbox::kept`]), so that
//! nothing is lost or counted twice.
//!
//! An entry is a frame. What a dying process had half written at the end is cut off.

use crate::conversation::Input;
use crate::frame::{self, FrameError};
use crate::message::FromAgent;
use crate::sequence::Numbered;
use clock::Ns;
use record::{Fact, RunHead};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Seek, SeekFrom};
use std::path::Path;

/// How a journal begins: whose run it is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalHead {
    /// The version of messages that the journal holds.
    pub version: u32,
    /// The run at the carrier.
    pub run: String,
    /// The boot in which its moments were read; in another they mean nothing.
    pub boot: String,
    /// Where and in which group its agents are reached.
    pub place: Vec<String>,
    /// Its agents, in their order, and the instance of each.
    pub agents: Vec<(String, u64)>,
    /// The groups of workers that each carries, by name.
    pub bound: Vec<(String, usize)>,
    /// How long an agent may say nothing.
    pub silence: Ns,
    /// What the record knows beforehand.
    pub facts: Vec<Fact>,
    /// The record's first lines.
    pub head: RunHead,
}

#[derive(Deserialize)]
enum Entry {
    /// The time was read.
    Moment(Ns),
    /// It was noticed between two steps that the user wants an end.
    Stopped,
    Message(Ns, usize, Numbered<FromAgent>),
    Lost(Ns, usize, String),
    Undelivered(Ns, usize, String),
    Left(Ns, usize, Option<String>),
    Resumed(Ns),
    Stop(Ns),
    Timer(Ns),
}

/// An entry as it is written: of the same form as [`Entry`], but what it tells of stays where it is.
#[derive(Serialize)]
#[serde(rename = "Entry")]
enum Kept<'a> {
    Moment(Ns),
    Stopped,
    Message(Ns, usize, &'a Numbered<FromAgent>),
    Lost(Ns, usize, &'a str),
    Undelivered(Ns, usize, &'a str),
    Left(Ns, usize, Option<&'a str>),
    Resumed(Ns),
    Stop(Ns),
    Timer(Ns),
}

/// The journal of a run, or none.
#[derive(Default)]
pub struct Journal {
    file: Option<File>,
    scratch: Vec<u8>,
    /// What is still to be gone through.
    past: Option<BufReader<File>>,
    /// The first entry that has not been gone through.
    ahead: Option<Entry>,
    /// The end of the last entry that was read whole.
    good: u64,
    /// It has just come to the end of what was.
    turned: bool,
}

impl Journal {
    /// A run that is not resumed after a death of its coordinator.
    pub fn none() -> Journal {
        Journal::default()
    }

    /// Begins the journal of a new run.
    /// # Errors
    /// Where the file cannot be made; one that exists is not replaced.
    pub fn create(path: &Path, head: &JournalHead) -> Result<Journal, FrameError> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let mut scratch = Vec::new();
        frame::write(&mut file, head, &mut scratch)?;
        Ok(Journal { file: Some(file), scratch, ..Journal::default() })
    }

    /// Opens the journal of a run whose coordinator died; it is gone through as the run is begun again.
    /// # Errors
    /// Where it cannot be read, or is no journal.
    pub fn open(path: &Path) -> Result<(JournalHead, Journal), FrameError> {
        let file = OpenOptions::new().read(true).write(true).open(path)?;
        let mut past = BufReader::new(file.try_clone()?);
        let head = frame::read(&mut past)?
            .ok_or_else(|| FrameError::Garbage("the journal is empty".to_owned()))?;
        let good = past.stream_position()?;
        let (file, past) = (Some(file), Some(past));
        let mut journal = Journal { file, past, good, ..Journal::default() };
        journal.advance()?;
        Ok((head, journal))
    }

    /// How many messages of each agent a journal holds, from the first on without a gap: what a carrier need not bring again.
    /// # Errors
    /// Where it cannot be read.
    pub fn heard(path: &Path) -> Result<BTreeMap<usize, u64>, FrameError> {
        let mut file = BufReader::new(File::open(path)?);
        let _: Option<JournalHead> = frame::read(&mut file)?;
        let mut numbers: BTreeMap<usize, std::collections::BTreeSet<u64>> = BTreeMap::new();
        while let Ok(Some(entry)) = frame::read::<Entry>(&mut file) {
            if let Entry::Message(_, agent, message) = entry {
                numbers.entry(agent).or_default().insert(message.number);
            }
        }
        let whole = |heard: &std::collections::BTreeSet<u64>| {
            (0..).zip(heard).take_while(|(due, number)| due == *number).count() as u64
        };
        Ok(numbers.iter().map(|(agent, heard)| (*agent, whole(heard))).collect())
    }

    /// Whether the past is being gone through.
    pub(crate) fn replays(&self) -> bool {
        self.ahead.is_some()
    }

    /// Whether the past has come to its end since the last time.
    pub(crate) fn take_turn(&mut self) -> bool {
        std::mem::take(&mut self.turned)
    }

    /// What time it is, or was.
    pub(crate) fn moment(&mut self) -> io::Result<Ns> {
        if let Some(Entry::Moment(at)) = self.ahead {
            self.advance().map_err(io_error)?;
            return Ok(at);
        }
        self.agree()?;
        let now = clock::now();
        self.write(&Kept::Moment(now))?;
        Ok(now)
    }

    /// Whether the user wants the run to end, or wanted it then.
    pub(crate) fn stopped(&mut self, now: bool) -> bool {
        if self.ahead.is_some() {
            let then = matches!(self.ahead, Some(Entry::Stopped));
            return then && self.advance().is_ok();
        }
        if now && self.write(&Kept::Stopped).is_err() {
            // The next input meets the same error, and ends the run with it.
        }
        now
    }

    /// The next input of the past.
    pub(crate) fn past(&mut self) -> io::Result<Option<(Ns, Input)>> {
        let Some(entry) = self.ahead.take() else { return Ok(None) };
        let input = match entry {
            Entry::Message(at, agent, message) => (at, Input::Message { agent, message }),
            Entry::Lost(at, agent, problem) => (at, Input::Lost { agent, problem }),
            Entry::Undelivered(at, agent, problem) => (at, Input::Undelivered { agent, problem }),
            Entry::Left(at, agent, last_output) => (at, Input::Left { agent, last_output }),
            Entry::Resumed(at) => (at, Input::Resumed),
            Entry::Stop(at) => (at, Input::Stop),
            Entry::Timer(at) => (at, Input::Timer),
            other @ (Entry::Moment(_) | Entry::Stopped) => {
                self.ahead = Some(other);
                self.agree()?;
                return Ok(None);
            }
        };
        self.advance().map_err(io_error)?;
        Ok(Some(input))
    }

    /// Keeps an input that is about to be handled.
    pub(crate) fn keep(&mut self, at: Ns, input: &Input) -> io::Result<()> {
        if self.file.is_none() {
            return Ok(());
        }
        let entry = match input {
            Input::Message { agent, message } => Kept::Message(at, *agent, message),
            Input::Lost { agent, problem } => Kept::Lost(at, *agent, problem),
            Input::Undelivered { agent, problem } => Kept::Undelivered(at, *agent, problem),
            Input::Left { agent, last_output } => Kept::Left(at, *agent, last_output.as_deref()),
            Input::Resumed => Kept::Resumed(at),
            Input::Stop => Kept::Stop(at),
            Input::Timer => Kept::Timer(at),
            // Guests, whose bodies have news, end with their coordinator: such a run has no journal.
            Input::Noted { .. } | Input::Away { .. } | Input::Back { .. } => return Ok(()),
        };
        self.write(&entry)
    }

    /// Reads the next entry of the past; at its end cuts off what is not whole.
    fn advance(&mut self) -> Result<(), FrameError> {
        self.ahead = None;
        let Some(past) = &mut self.past else { return Ok(()) };
        match frame::read(past) {
            Ok(Some(entry)) => {
                self.good = past.stream_position()?;
                self.ahead = Some(entry);
                return Ok(());
            }
            Ok(None) | Err(FrameError::Truncated { .. }) => {}
            Err(error) => return Err(error),
        }
        self.past = None;
        self.turned = true;
        if let Some(file) = &mut self.file {
            file.set_len(self.good)?;
            file.seek(SeekFrom::Start(self.good))?;
        }
        Ok(())
    }

    /// The past agrees with what is asked for: nothing else is ahead.
    fn agree(&self) -> io::Result<()> {
        match self.ahead {
            None => Ok(()),
            Some(_) => Err(io::Error::other(
                "the journal is of another run, or of another release of wirespeed",
            )),
        }
    }

    fn write(&mut self, entry: &Kept<'_>) -> io::Result<()> {
        match &mut self.file {
            Some(file) => frame::write(file, entry, &mut self.scratch).map_err(io_error),
            None => Ok(()),
        }
    }
}

fn io_error(error: FrameError) -> io::Error {
    match error {
        FrameError::Io(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_gone_through_as_it_was() {
        let message = || Numbered { number: 3, message: FromAgent::Finished { step: 1 } };
        let inputs = || {
            [
                Input::Message { agent: 2, message: message() },
                Input::Lost { agent: 0, problem: "cut".to_owned() },
                Input::Undelivered { agent: 1, problem: "full".to_owned() },
                Input::Left { agent: 0, last_output: Some("words".to_owned()) },
                Input::Left { agent: 1, last_output: None },
                Input::Resumed,
                Input::Stop,
                Input::Timer,
            ]
        };
        let file = tempfile::tempfile().expect("a file");
        let own = file.try_clone().expect("a descriptor");
        let mut journal = Journal { file: Some(own), ..Journal::default() };
        for (at, input) in inputs().iter().enumerate() {
            journal.keep(Ns(at as u64), input).expect("written");
        }
        let mut file = file;
        file.rewind().expect("at its beginning");
        let past = Some(BufReader::new(file));
        let mut journal = Journal { past, ..Journal::default() };
        journal.advance().expect("readable");
        for (at, input) in inputs().iter().enumerate() {
            let (then, found) = journal.past().expect("readable").expect("one more");
            let same = match (&found, input) {
                (
                    Input::Message { agent: a, message: one },
                    Input::Message { agent: b, message: other },
                ) => (a, one) == (b, other),
                (Input::Lost { agent: a, problem: c }, Input::Lost { agent: b, problem: d })
                | (
                    Input::Undelivered { agent: a, problem: c },
                    Input::Undelivered { agent: b, problem: d },
                ) => (a, c) == (b, d),
                (
                    Input::Left { agent: a, last_output: c },
                    Input::Left { agent: b, last_output: d },
                ) => (a, c) == (b, d),
                (Input::Resumed, Input::Resumed)
                | (Input::Stop, Input::Stop)
                | (Input::Timer, Input::Timer) => true,
                _ => false,
            };
            assert!(same && then == Ns(at as u64), "input {at} at {then:?}");
        }
        assert!(!journal.replays());
    }
}
