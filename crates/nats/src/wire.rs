//! What goes over NATS, as bytes: subjects, calls with their replies, and the parts of messages. No sockets here.
//!
//! The messages of [`fleet::message`] travel unchanged, in parts that a server accepts, each with the number of its message
//! and a checksum. Around them are a few calls: who is there, engage, ping, release. Calls and announcements keep
//! their shape for ever, so that two releases can refuse each other by name.

use bytes::Bytes;
use clock::Ns;
use fleet::frame::{self, FrameError};
use record::Fact;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The version of what this module describes.
pub const CARRIER: u32 = 1;

/// Bytes of a message in one part: half of what a server accepts by default.
pub const PART_MAX: usize = 512 << 10;

/// Bytes before the payload of a part.
const HEADER: usize = 20;

/// The most parts of a message: as many as the longest message has.
const PARTS_MAX: usize = frame::FRAME_MAX.div_ceil(PART_MAX);

/// Where the agents of a group are reached. Names become tokens of subjects whatever letters they have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subjects {
    group: String,
}

impl Subjects {
    /// The subjects of a group.
    pub fn new(group: &str) -> Subjects {
        Subjects { group: token(group) }
    }

    /// Where all agents are asked who they are.
    pub fn who(&self) -> String {
        format!("wirespeed.{}.who", self.group)
    }

    /// Where one agent takes calls.
    pub fn agent(&self, name: &str) -> String {
        format!("wirespeed.{}.agent.{}", self.group, token(name))
    }

    /// Where an agent takes the parts of messages of a run.
    pub fn down(&self, name: &str, run: &str) -> String {
        format!("wirespeed.{}.down.{}.{}", self.group, token(name), token(run))
    }

    /// Where an agent takes those of all runs.
    pub fn downs(&self, name: &str) -> String {
        format!("wirespeed.{}.down.{}.*", self.group, token(name))
    }

    /// Where an agent takes the pieces of a program that was offered.
    pub fn update(&self, name: &str) -> String {
        format!("wirespeed.{}.update.{}", self.group, token(name))
    }

    /// Where an agent sends the parts of its messages.
    pub fn up(&self, name: &str, run: &str) -> String {
        format!("wirespeed.{}.up.{}.{}", self.group, token(run), token(name))
    }

    /// Where all agents of a run send.
    pub fn ups(&self, run: &str) -> String {
        format!("wirespeed.{}.up.{}.*", self.group, token(run))
    }

    /// The stream that keeps what they send.
    pub fn stream(&self, run: &str) -> String {
        format!("wirespeed_{}_{}", self.group.replace('%', "_"), token(run).replace('%', "_"))
    }
}

/// A name as a token of a subject: letters, digits, `-` and `_` stay, other bytes are escaped.
pub fn token(name: &str) -> String {
    let mut out = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' => out.push(byte as char),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// An agent's answer to the question who is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// Its [`CARRIER`].
    pub carrier: u32,
    /// Its [`fleet::message::PROTOCOL`].
    pub protocol: u32,
    /// Its release.
    pub release: String,
    /// Its name, unique in its group.
    pub name: String,
    /// Its group.
    pub group: String,
    /// Drawn as its process began.
    pub instance: u64,
    /// What its user calls it by.
    #[serde(default)]
    pub labels: Vec<(String, String)>,
    /// Facts of its machine.
    #[serde(default)]
    pub facts: Vec<Fact>,
    /// The title of the run that it is engaged in.
    #[serde(default)]
    pub busy: Option<String>,
    /// Its monotonic clock at this moment.
    pub now: Ns,
}

/// What a coordinator asks of one agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Be an agent of this run; again, where the coordinator comes back.
    Engage {
        /// The coordinator's [`CARRIER`].
        carrier: u32,
        /// The coordinator's [`fleet::message::PROTOCOL`].
        protocol: u32,
        /// Its group.
        group: String,
        /// The run.
        run: String,
        /// Its title, and where it is coordinated.
        title: String,
        /// The instance that was engaged, where the coordinator comes back.
        instance: Option<u64>,
    },
    /// The coordinator is there. It has these messages for good, and wants this one again.
    Ping {
        /// The run.
        run: String,
        /// All messages before this one are kept.
        next: u64,
        /// A message that came damaged.
        again: Option<u64>,
    },
    /// The run is over, or is to be over for this agent; `None` releases it from whatever it does.
    Release {
        /// The run.
        run: Option<String>,
    },
    /// A program is offered, whose pieces follow.
    Offer {
        /// Its digest: SHA-256 in hexadecimal.
        digest: String,
        /// Its bytes.
        size: u64,
    },
    /// All pieces have come: run the program that was offered from now on.
    Replace {
        /// Its digest.
        digest: String,
    },
}

/// An agent's answer to a call or to a part.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Reply {
    /// It is an agent of the run.
    Engaged {
        /// Its instance.
        instance: u64,
        /// The number of the coordinator's message that it waits for.
        next: u64,
    },
    /// It is not, and why.
    Refused(String),
    /// It goes on.
    Pong {
        /// Its instance.
        instance: u64,
        /// Messages that wait to be sent.
        waiting: u64,
    },
    /// Its part of the run is over.
    Over {
        /// Why.
        reason: String,
        /// It said no more than the messages before this one.
        last: u64,
    },
    /// The part has been taken.
    Received,
    /// The part came damaged, or cannot be taken yet: again, please.
    Again,
    /// It does not know the run.
    Unknown,
}

/// What is called or replied, as bytes.
/// # Errors
/// Where it cannot be encoded.
pub fn encode<M: Serialize>(message: &M) -> Result<Bytes, FrameError> {
    frame::encode(message).map(Bytes::from)
}

/// What bytes call or reply.
/// # Errors
/// Where they are nothing of ours.
pub fn decode<M: DeserializeOwned>(bytes: &[u8]) -> Result<M, FrameError> {
    frame::decode(bytes)
}

/// A part of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the message.
    pub number: u64,
    /// Which part, from 0.
    pub index: u32,
    /// How many there are.
    pub of: u32,
    /// Its bytes.
    pub bytes: Bytes,
}

/// A message in parts, as they are sent.
pub fn parts(number: u64, message: &Bytes) -> Vec<Bytes> {
    let count = message.len().div_ceil(PART_MAX).max(1);
    let part = |index: usize| {
        let from = index * PART_MAX;
        let bytes = &message[from..message.len().min(from + PART_MAX)];
        let mut out = Vec::with_capacity(HEADER + bytes.len());
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&(index as u32).to_be_bytes());
        out.extend_from_slice(&(count as u32).to_be_bytes());
        let sum = crc32c::crc32c_append(crc32c::crc32c(&out), bytes);
        out.extend_from_slice(&sum.to_be_bytes());
        out.extend_from_slice(bytes);
        Bytes::from(out)
    };
    (0..count).map(part).collect()
}

/// The part that these bytes are; `None` where they are damaged.
pub fn part(bytes: &Bytes) -> Option<Part> {
    let word = |at: usize| -> Option<u32> {
        Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
    };
    let number = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
    let (index, of, sum) = (word(8)?, word(12)?, word(16)?);
    let payload = bytes.slice(HEADER.min(bytes.len())..);
    let whole = crc32c::crc32c_append(crc32c::crc32c(&bytes[..16]), &payload) == sum;
    let sane = index < of && of as usize <= PARTS_MAX && payload.len() <= PART_MAX;
    (whole && sane).then_some(Part { number, index, of, bytes: payload })
}

/// Puts parts together: each message once and in order, however often and in whatever order its parts come.
#[derive(Debug, Default)]
pub struct Assembler {
    next: u64,
    held: BTreeMap<(u64, u32), Part>,
}

/// The most parts that wait for one that they overtook.
const HELD_MAX: usize = 4096;

/// What a part was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Taken {
    /// It had not come before.
    New,
    /// It had.
    Repeated,
    /// Too much waits for another: it is to come again.
    NoRoom,
}

impl Assembler {
    /// Waits for this message first.
    pub fn starting_at(next: u64) -> Assembler {
        Assembler { next, held: BTreeMap::new() }
    }

    /// The number of the message that it waits for.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Takes in a part; [`pop`](Assembler::pop) then yields what is whole.
    pub fn take(&mut self, part: Part) -> Taken {
        let key = (part.number, part.index);
        if part.number < self.next || self.held.contains_key(&key) {
            return Taken::Repeated;
        }
        if self.held.len() >= HELD_MAX && part.number > self.next {
            return Taken::NoRoom;
        }
        self.held.insert(key, part);
        Taken::New
    }

    /// The next message in order, if all its parts have come.
    pub fn pop(&mut self) -> Option<(u64, Vec<u8>)> {
        let number = self.next;
        let of = self.held.get(&(number, 0))?.of;
        let all = (0..of).map(|index| self.held.get(&(number, index)));
        let all: Vec<&Part> = all.collect::<Option<_>>()?;
        let message = all.iter().flat_map(|part| part.bytes.iter().copied()).collect();
        self.held.retain(|key, _| key.0 > number);
        self.next += 1;
        Some((number, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_any_letters_are_tokens() {
        let subjects = Subjects::new("lab 1");
        assert_eq!(subjects.agent("esx1.lab>*"), "wirespeed.lab%201.agent.esx1%2Elab%3E%2A");
        assert_eq!(subjects.stream("r.1"), "wirespeed_lab_201_r_2E1");
        assert_ne!(token("a.b"), token("a_b"));
    }

    #[test]
    fn parts_make_the_message_once_and_in_order() {
        let message = |byte: u8, len: usize| Bytes::from(vec![byte; len]);
        let (long, short) = (message(7, 2 * PART_MAX + 5), message(8, 0));
        let (long_parts, short_parts) = (parts(0, &long), parts(1, &short));
        assert_eq!((long_parts.len(), short_parts.len()), (3, 1));
        let mut assembler = Assembler::default();
        let mut take = |bytes: &Bytes| assembler.take(part(bytes).expect("a part"));
        for parts in [&short_parts[0], &long_parts[1], &long_parts[0]] {
            assert_eq!((take(parts), take(parts)), (Taken::New, Taken::Repeated));
        }
        assert_eq!(assembler.pop(), None);
        assert_eq!(assembler.take(part(&long_parts[2]).expect("a part")), Taken::New);
        assert_eq!(assembler.pop(), Some((0, long.to_vec())));
        assert_eq!(assembler.pop(), Some((1, Vec::new())));
        assert_eq!(assembler.pop(), None);
        assert_eq!(assembler.take(part(&long_parts[2]).expect("a part")), Taken::Repeated);
        assert_eq!(assembler.next(), 2);
    }

    #[test]
    fn every_damaged_byte_and_every_cut_is_noticed() {
        let whole = parts(3, &Bytes::from_static(b"intervals"))[0].to_vec();
        assert!(part(&Bytes::from(whole.clone())).is_some());
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                assert_eq!(part(&Bytes::from(damaged)), None, "byte {at}, bit {bit}");
            }
            assert_eq!(part(&Bytes::copy_from_slice(&whole[..at])), None, "cut at {at}");
        }
    }
}
