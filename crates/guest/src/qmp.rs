//! QEMU's control channel: commands and events as lines of JSON (the QEMU Machine Protocol).

use clock::Ns;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, IoSlice, Write};
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;
use thiserror::Error;

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Bytes of one line, and events kept, at most.
const LINE_MAX: u64 = 1 << 20;
const EVENTS_MAX: usize = 1024;

/// Why a command failed.
#[derive(Debug, Error)]
pub enum QmpError {
    /// QEMU has ended, or does not answer.
    #[error("QEMU does not answer: {0}")]
    Io(#[from] io::Error),
    /// What it said is not of this protocol.
    #[error("QEMU said what is no message of its protocol: {0}")]
    Garbage(String),
    /// It refused.
    #[error("QEMU refused `{command}`: {why}")]
    Refused {
        /// The command.
        command: String,
        /// Its reason.
        why: String,
    },
}

/// Something that happened to a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct QmpEvent {
    /// Its name, such as `SHUTDOWN`, `GUEST_PANICKED`, `STOP`.
    pub name: String,
    /// What else is known.
    pub data: Value,
    /// When it was heard.
    pub at: Ns,
}

/// What a disk of a machine has done since its QEMU began, as QEMU counts at what is behind it. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockCounts {
    /// Reads that completed, and writes.
    pub ops: [u64; 2],
    /// Their bytes.
    pub bytes: [u64; 2],
    /// Their times, summed.
    pub time: [u64; 2],
    /// Those of either kind that failed.
    pub failed: u64,
}

/// The client of one QEMU.
pub struct Qmp {
    reader: BufReader<UnixStream>,
    writer: UnixStream,
    events: VecDeque<QmpEvent>,
    number: u64,
}

/// The counts of one disk, which is told by the name of its node.
fn counts_of_disk(one: &Value) -> Option<(usize, BlockCounts)> {
    let node = one.get("node-name")?.as_str()?;
    let number = node.strip_prefix(crate::machine::DISK_NODE)?.parse().ok()?;
    let stats = one.get("stats")?;
    let of = |key: &str| stats.get(key)?.as_u64();
    let counts = BlockCounts {
        ops: [of("rd_operations")?, of("wr_operations")?],
        bytes: [of("rd_bytes")?, of("wr_bytes")?],
        time: [of("rd_total_time_ns")?, of("wr_total_time_ns")?],
        failed: of("failed_rd_operations")? + of("failed_wr_operations")?,
    };
    Some((number, counts))
}

impl Qmp {
    /// Greets QEMU at the other end of a socket.
    /// # Errors
    /// It does not answer as it should.
    pub fn open(socket: UnixStream) -> Result<Qmp, QmpError> {
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        let writer = socket.try_clone()?;
        let mut qmp =
            Qmp { reader: BufReader::new(socket), writer, events: VecDeque::new(), number: 0 };
        let greeting = qmp.line()?;
        if greeting.get("QMP").is_none() {
            return Err(QmpError::Garbage(greeting.to_string()));
        }
        qmp.execute("qmp_capabilities", Value::Null)?;
        Ok(qmp)
    }

    /// Carries out a command and returns its answer.
    /// # Errors
    /// QEMU refuses it, or is gone.
    pub fn execute(&mut self, command: &str, arguments: Value) -> Result<Value, QmpError> {
        let message = self.message(command, arguments);
        self.writer.write_all(message.as_bytes())?;
        self.answer(command)
    }

    /// Hands QEMU an open file, under a name for later commands.
    /// # Errors
    /// QEMU refuses it, or is gone.
    pub fn hand(&mut self, name: &str, file: BorrowedFd<'_>) -> Result<(), QmpError> {
        let message = self.message("getfd", json!({ "fdname": name }));
        let files = [file];
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut along = SendAncillaryBuffer::new(&mut space);
        along.push(SendAncillaryMessage::ScmRights(&files));
        let (first, rest) = message.as_bytes().split_at(1);
        sendmsg(&self.writer, &[IoSlice::new(first)], &mut along, SendFlags::empty())
            .map_err(io::Error::from)?;
        self.writer.write_all(rest)?;
        self.answer("getfd").map(drop)
    }

    fn message(&mut self, command: &str, arguments: Value) -> String {
        self.number += 1;
        let mut message = json!({ "execute": command, "id": self.number });
        if !arguments.is_null() {
            message["arguments"] = arguments;
        }
        format!("{message}\n")
    }

    fn answer(&mut self, command: &str) -> Result<Value, QmpError> {
        loop {
            let mut answer = self.line()?;
            if answer.get("event").is_some() {
                self.keep(answer);
                continue;
            }
            if answer.get("id").and_then(Value::as_u64) != Some(self.number) {
                // The answer to a command that was given up.
                continue;
            }
            if let Some(error) = answer.get("error") {
                let why = error.get("desc").and_then(Value::as_str).unwrap_or("no reason given");
                let (command, why) = (command.to_owned(), why.to_owned());
                return Err(QmpError::Refused { command, why });
            }
            return Ok(answer["return"].take());
        }
    }

    /// What has happened since the last call.
    /// # Errors
    /// QEMU is gone.
    pub fn events(&mut self) -> Result<Vec<QmpEvent>, QmpError> {
        // A command without effect: events that came before its answer are read with it.
        self.execute("query-status", Value::Null)?;
        Ok(self.events.drain(..).collect())
    }

    /// What the disks of the machine have done, by their positions among them.
    /// # Errors
    /// QEMU refuses it, or is gone.
    pub fn block_counts(&mut self) -> Result<Vec<(usize, BlockCounts)>, QmpError> {
        let all = self.execute("query-blockstats", Value::Null)?;
        let all = all.as_array().map(Vec::as_slice).unwrap_or_default();
        Ok(all.iter().filter_map(counts_of_disk).collect())
    }

    fn keep(&mut self, mut event: Value) {
        let name = event["event"].as_str().unwrap_or_default().to_owned();
        if self.events.len() == EVENTS_MAX {
            self.events.pop_front();
        }
        self.events.push_back(QmpEvent { name, data: event["data"].take(), at: clock::now() });
    }

    fn line(&mut self) -> Result<Value, QmpError> {
        let mut line = String::new();
        let count = io::Read::take(&mut self.reader, LINE_MAX).read_line(&mut line)?;
        if count == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
        }
        serde_json::from_str(&line).map_err(|_| QmpError::Garbage(line.trim_end().to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_disk_did_is_read_and_what_lacks_a_figure_is_not() {
        let stats = json!({
            "rd_operations": 3, "wr_operations": 4, "rd_bytes": 1536, "wr_bytes": 2048,
            "rd_total_time_ns": 7000, "wr_total_time_ns": 9000,
            "failed_rd_operations": 1, "failed_wr_operations": 0, "flush_operations": 2,
        });
        let counts =
            BlockCounts { ops: [3, 4], bytes: [1536, 2048], time: [7000, 9000], failed: 1 };
        let of = |node: &str, stats: &Value| {
            counts_of_disk(&json!({ "device": "", "node-name": node, "stats": stats }))
        };
        assert_eq!(of("disk2", &stats), Some((2, counts)));
        assert_eq!(of("floppy0", &stats), None);
        let mut less = stats.clone();
        less.as_object_mut().expect("an object").remove("wr_bytes");
        assert_eq!(of("disk2", &less), None);
    }
}
