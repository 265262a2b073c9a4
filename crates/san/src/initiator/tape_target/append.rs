//! Blocks that are appended to a tape, several under way at once. They are begun in their order and executed in their order, but a
//! drive that does not execute one executes those behind it all the same: so nothing more is begun after a failure, all that
//! is under way is waited for, and what was not written in its place is sent again from there.

use crate::initiator::CommandError;
use crate::initiator::tape::{BlocksUnderWay, TapeClient, WRITES};
use std::collections::VecDeque;

/// Nothing more is begun while so many bytes are under way.
const BYTES: usize = 2 << 20;

/// The writes of a drive, the oldest first.
#[derive(Default)]
pub(super) struct Appending<'a>(VecDeque<Appended<'a>>);

struct Appended<'a> {
    block: &'a [u8],
    verify: bool,
    state: Sending,
}

enum Sending {
    Waits,
    UnderWay(usize),
    Ended(Result<bool, CommandError>),
}

impl<'a> Appending<'a> {
    /// Takes over what there is room for, at least one where nothing is left, and otherwise none beyond early warning. Whether
    /// there is anything to be written.
    pub fn take(
        &mut self,
        warned: bool,
        next: &mut dyn FnMut() -> Option<(&'a [u8], bool)>,
    ) -> bool {
        while self.0.is_empty() || (!warned && self.has_room()) {
            let Some((block, verify)) = next() else { break };
            self.0.push_back(Appended { block, verify, state: Sending::Waits });
        }
        !self.0.is_empty()
    }

    fn has_room(&self) -> bool {
        let bytes: usize = self.0.iter().map(|one| one.block.len()).sum();
        self.0.len() < WRITES && bytes < BYTES
    }

    /// Whether nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.0.iter().all(|one| matches!(one.state, Sending::Waits))
    }

    /// Begins what waits, unless something failed, and waits until something has ended.
    pub fn exchange(&mut self, client: &mut TapeClient) -> Result<(), CommandError> {
        let fails = self.0.iter().any(|one| matches!(one.state, Sending::Ended(Err(_))));
        for at in 0..self.0.len() {
            if fails || !matches!(self.0[at].state, Sending::Waits) {
                continue;
            }
            let under_way = self.blocks();
            let Some(slot) = under_way.iter().position(Option::is_none) else { break };
            if !client.begin_write(slot, self.0[at].block.len())? {
                break;
            }
            self.0[at].state = Sending::UnderWay(slot);
        }
        let blocks = self.blocks();
        let all = &mut self.0;
        client.writes_ended(&blocks, &mut |slot, end| {
            let of = |one: &&mut Appended| matches!(one.state, Sending::UnderWay(at) if at == slot);
            if let Some(one) = all.iter_mut().find(of) {
                one.state = Sending::Ended(end);
            }
        })
    }

    /// The blocks under way, by slot.
    fn blocks(&self) -> BlocksUnderWay<'a> {
        let mut blocks = [None; WRITES];
        for one in &self.0 {
            if let Sending::UnderWay(slot) = one.state {
                blocks[slot] = Some(one.block);
            }
        }
        blocks
    }

    /// Takes the oldest out, if it is written: the block, whether it is to be verified, and whether there is room behind it.
    pub fn written(&mut self) -> Option<(&'a [u8], bool, bool)> {
        let Sending::Ended(Ok(room)) = self.0.front()?.state else { return None };
        self.0.pop_front().map(|one| (one.block, one.verify, room))
    }

    /// Where the oldest has failed: waits for all that are under way, so that all are to be sent again. Why it failed, and
    /// whether a later one was written in its place.
    pub fn failure(
        &mut self,
        client: &mut TapeClient,
    ) -> Result<Option<(CommandError, bool)>, CommandError> {
        if !matches!(self.0.front().map(|one| &one.state), Some(Sending::Ended(Err(_)))) {
            return Ok(None);
        }
        while self.0.iter().any(|one| matches!(one.state, Sending::UnderWay(_))) {
            self.exchange(client)?;
        }
        let overtaken = self.0.iter().any(|one| matches!(one.state, Sending::Ended(Ok(_))));
        let first = self.forget();
        Ok(first.map(|error| (error, overtaken)))
    }

    /// Nothing is under way any more: all of them are to be sent again. How the oldest failed.
    pub fn forget(&mut self) -> Option<CommandError> {
        let mut first = None;
        for one in self.0.iter_mut().rev() {
            first = match std::mem::replace(&mut one.state, Sending::Waits) {
                Sending::Ended(Err(error)) => Some(error),
                _ => None,
            };
        }
        first
    }
}
