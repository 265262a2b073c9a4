//! Message sequencing: each end numbers what it sends, and accepts what arrives once and in order.
//!
//! A carrier may duplicate, delay, reorder or lose messages. Duplicates are ignored and counted; a message that overtook
//! another waits for it. One that does not arrive in time leaves a gap, which the owner reports, so losses are never silent.
//! This module has no clock; times are arguments.

use clock::Ns;
use serde::de::value::{MapAccessDeserializer, StrDeserializer};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeTuple;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::marker::PhantomData;

/// The most messages that wait for one that they overtook.
pub const HELD_MAX: usize = 1024;

/// A message with its number among those of its sender, from 0.
///
/// Number 0, which is `Hello` in every conversation that begins well, is written as the bare message, as versions before
/// numbering wrote it, so that two versions can read each other's `Hello`. Others are a pair of number and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbered<M> {
    /// Which one.
    pub number: u64,
    /// What it says.
    pub message: M,
}

/// Numbers what one end sends.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numberer {
    next: u64,
}

impl Numberer {
    /// The message with the next number.
    pub fn number<M>(&mut self, message: M) -> Numbered<M> {
        let number = self.next;
        self.next += 1;
        Numbered { number, message }
    }
}

/// Puts what one end receives into the order in which it was sent.
#[derive(Debug)]
pub struct Reorderer<M> {
    /// The number that is due.
    next: u64,
    held: BTreeMap<u64, M>,
    due: VecDeque<M>,
    /// Since when the message that is due has been missing.
    missing: Option<Ns>,
    repeated: u64,
}

impl<M> Default for Reorderer<M> {
    fn default() -> Reorderer<M> {
        let (held, due) = (BTreeMap::new(), VecDeque::new());
        Reorderer { next: 0, held, due, missing: None, repeated: 0 }
    }
}

impl<M> Reorderer<M> {
    /// Takes in what has arrived. [`pop`](Reorderer::pop) then yields what is due.
    pub fn take(&mut self, now: Ns, Numbered { number, message }: Numbered<M>) {
        if number < self.next || self.held.contains_key(&number) {
            self.repeated += 1;
            return;
        }
        self.held.insert(number, message);
        let before = self.next;
        while let Some(message) = self.held.remove(&self.next) {
            self.due.push_back(message);
            self.next += 1;
        }
        if self.held.is_empty() {
            self.missing = None;
        } else if self.next > before {
            // Another one is missing now, and may take its time as well.
            self.missing = Some(now);
        } else {
            self.missing.get_or_insert(now);
        }
    }

    /// The next message in order, if it has arrived.
    pub fn pop(&mut self) -> Option<M> {
        self.due.pop_front()
    }

    /// When a gap is held for a loss: `patience` after it was noticed, or at once where too much waits for it.
    pub fn lost_at(&self, patience: Ns) -> Option<Ns> {
        let since = self.missing?;
        Some(if self.held.len() > HELD_MAX { since } else { since.plus(patience) })
    }

    /// The gap in words; ends the conversation, since what a message said cannot be guessed.
    pub fn gap(&self) -> String {
        let (number, later) = (self.next, self.held.len());
        format!("message {number} was lost; {later} later messages were discarded")
    }

    /// How many messages were ignored because they had arrived before, since the last time.
    pub fn take_repeated(&mut self) -> u64 {
        std::mem::take(&mut self.repeated)
    }
}

impl<M: Serialize> Serialize for Numbered<M> {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        if self.number == 0 {
            return self.message.serialize(s);
        }
        let mut pair = s.serialize_tuple(2)?;
        pair.serialize_element(&self.number)?;
        pair.serialize_element(&self.message)?;
        pair.end()
    }
}

impl<'de, M: Deserialize<'de>> Deserialize<'de> for Numbered<M> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Numbered<M>, D::Error> {
        d.deserialize_any(Either(PhantomData))
    }
}

/// Reads both forms of a [`Numbered`] message.
struct Either<M>(PhantomData<M>);

impl<'de, M: Deserialize<'de>> Visitor<'de> for Either<M> {
    type Value = Numbered<M>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a message, or a pair of its number and itself")
    }

    fn visit_str<E: serde::de::Error>(self, name: &str) -> Result<Numbered<M>, E> {
        let message = M::deserialize(StrDeserializer::new(name))?;
        Ok(Numbered { number: 0, message })
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Numbered<M>, A::Error> {
        let message = M::deserialize(MapAccessDeserializer::new(map))?;
        Ok(Numbered { number: 0, message })
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut pair: A) -> Result<Numbered<M>, A::Error> {
        let number = pair.next_element()?.ok_or_else(|| A::Error::invalid_length(0, &self))?;
        if number == 0 {
            return Err(A::Error::custom("the first message is written without its number"));
        }
        let message = pair.next_element()?.ok_or_else(|| A::Error::invalid_length(1, &self))?;
        Ok(Numbered { number, message })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Takes in these numbers, one a millisecond; what comes out, how many were repeated, and since when one is missing.
    #[track_caller]
    fn check(numbers: &[u64], out: &[u64], repeated: u64, missing: Option<u64>) {
        let mut incoming = Reorderer::default();
        let mut yielded = Vec::new();
        for (ms, &number) in (0..).zip(numbers) {
            incoming.take(Ns::millis(ms), Numbered { number, message: number });
            yielded.extend(std::iter::from_fn(|| incoming.pop()));
        }
        let since = incoming.lost_at(Ns::ZERO).map(|at| at.0 / 1_000_000);
        assert_eq!((&yielded[..], incoming.take_repeated(), since), (out, repeated, missing));
    }

    #[test]
    fn messages_are_taken_once_and_in_order() {
        check(&[0, 1, 2], &[0, 1, 2], 0, None);
        check(&[2, 1, 0], &[0, 1, 2], 0, None);
        check(&[0, 0, 1, 0, 1], &[0, 1], 3, None);
        check(&[0, 2, 2, 3], &[0], 1, Some(1));
        check(&[2, 0, 4, 1], &[0, 1, 2], 0, Some(3));
        check(&[], &[], 0, None);
    }

    #[test]
    fn a_gap_before_too_many_messages_is_a_loss_at_once() {
        let mut incoming = Reorderer::default();
        for number in 1..=HELD_MAX as u64 {
            incoming.take(Ns::ZERO, Numbered { number, message: () });
        }
        assert_eq!(incoming.lost_at(Ns::secs(5)), Some(Ns::secs(5)));
        incoming.take(Ns::secs(1), Numbered { number: 5000, message: () });
        assert_eq!(incoming.lost_at(Ns::secs(5)), Some(Ns::ZERO));
    }
}
