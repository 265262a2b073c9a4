//! Commands that write one pattern to many blocks: WRITE SAME, UNMAP, SANITIZE. They run in slices, so that they hold neither
//! the thread nor a gate for long.

use super::sense::During;
use super::{CHUNK, CommandContext, CommandOutcome, StoreOp, ZEROS, sense};
use crate::volume::VolumeStore;
use crate::volume::ram::Ram;
use clock::Ns;
use iscsi::scsi::BlockRange;
use rustix::io::Errno;
use std::ops::Range;
use std::sync::atomic::Ordering;

/// Pages of memory freed in one slice.
const PAGES: u64 = 2048;

/// Bytes that a store makes zero in one operation: what it takes is not ours, but an end to it is wanted.
const STRIDE: u64 = 256 << 20;

/// Parts that SANITIZE does one after the other, no faster than it is meant to be.
const STEPS: u128 = 64;

impl CommandContext<'_> {
    /// WRITE SAME of the block that was sent, or of zeros where none is, or where the space is given back.
    pub(super) async fn same(
        &self,
        to: BlockRange,
        sent: Option<&[u8]>,
        unmap: bool,
        durable: bool,
    ) -> CommandOutcome<()> {
        let bytes = self.writable(to)?;
        let block = self.block() as usize;
        let pattern = match sent {
            None => &[],
            Some(sent) => sent.get(..block).ok_or(sense::INVALID)?,
        };
        let release = unmap && self.volume.attributes.thin;
        if !release && pattern.iter().any(|byte| *byte != 0) {
            self.repeat(bytes, pattern).await?;
        } else {
            self.zero(bytes, release).await?;
        }
        self.settle(durable).await
    }

    pub(super) async fn unmap(&self, extents: &[BlockRange]) -> CommandOutcome<()> {
        for extent in extents {
            let bytes = self.writable(*extent)?;
            self.zero(bytes, self.volume.attributes.thin).await?;
        }
        self.settle(false).await
    }

    pub(super) async fn sanitize(&self, pattern: &[u8]) -> CommandOutcome<()> {
        let blocks = self.volume.blocks();
        // Each block begins with the pattern's first byte.
        let block: Vec<u8> = pattern.iter().copied().cycle().take(self.block() as usize).collect();
        let begun = clock::now();
        for step in 0..STEPS {
            let at = |step| (u128::from(blocks) * step / STEPS) as u64;
            let (lba, end) = (at(step), at(step + 1));
            let bytes = self.writable(BlockRange { lba, blocks: end - lba })?;
            if pattern.iter().all(|byte| *byte == 0) {
                self.zero(bytes, self.volume.attributes.thin).await?;
            } else {
                self.repeat(bytes, &block).await?;
            }
            let due = u128::from(self.hub.sanitize.0) * (step + 1) / STEPS;
            self.hub.until(begun.plus(Ns(due as u64))).await;
        }
        self.sync().await
    }

    /// Without a cache, what a command did is there when it ends.
    async fn settle(&self, durable: bool) -> CommandOutcome<()> {
        if self.durable(durable) { self.sync().await } else { Ok(()) }
    }

    /// Writes one block all over a range.
    async fn repeat(&self, bytes: Range<u64>, block: &[u8]) -> CommandOutcome<()> {
        let mut scratch = self.hub.scratch().await;
        for place in scratch.chunks_exact_mut(block.len()) {
            place.copy_from_slice(block);
        }
        for at in bytes.clone().step_by(CHUNK) {
            self.go_on()?;
            let end = bytes.end.min(at + CHUNK as u64);
            let _pass = self.hub.enter(self.volume, at..end, false).await;
            self.write(at, scratch.as_ptr(), (end - at) as usize, false).await?;
        }
        Ok(())
    }

    /// Makes a range read as zeros, and gives its space back where that is asked for and can be done.
    async fn zero(&self, bytes: Range<u64>, release: bool) -> CommandOutcome<()> {
        match &self.volume.kind {
            VolumeStore::Ram(ram) if release => self.release_memory(ram, bytes).await,
            VolumeStore::Ram(ram) => self.zero_memory(ram, bytes).await,
            VolumeStore::Stored(_) => self.zero_stored(bytes, release).await,
        }
    }

    async fn release_memory(&self, ram: &Ram, bytes: Range<u64>) -> CommandOutcome<()> {
        let mut at = bytes.start;
        while at < bytes.end {
            self.go_on()?;
            let len = ram.slice(at, bytes.end - at, PAGES);
            let pass = self.hub.enter(self.volume, at..at + len, true).await;
            ram.release(at, len).map_err(|e| self.ending(e, During::Write, at))?;
            drop(pass);
            self.hub.spend(len as usize).await;
            at += len;
        }
        Ok(())
    }

    async fn zero_memory(&self, ram: &Ram, bytes: Range<u64>) -> CommandOutcome<()> {
        for at in bytes.clone().step_by(CHUNK) {
            self.go_on()?;
            let end = bytes.end.min(at + CHUNK as u64);
            let pass = self.hub.enter(self.volume, at..end, false).await;
            let len = (end - at) as usize;
            ram.zero(at, len).map_err(|e| self.ending(e, During::Write, at))?;
            drop(pass);
            self.hub.spend(len).await;
        }
        Ok(())
    }

    async fn zero_stored(&self, bytes: Range<u64>, release: bool) -> CommandOutcome<()> {
        let mut at = bytes.start;
        while at < bytes.end {
            self.go_on()?;
            let end = bytes.end.min(at + STRIDE);
            let _pass = self.hub.enter(self.volume, at..end, false).await;
            let done = (release && self.made_zero(at, end, true).await?)
                // On a thin volume blocks that are written are there; the store's own zeros may not be.
                || (!self.volume.attributes.thin && self.made_zero(at, end, false).await?);
            if !done {
                self.write_zeros(at, end).await?;
            }
            at = end;
        }
        Ok(())
    }

    /// Has the store make zeros; whether it can.
    async fn made_zero(&self, at: u64, end: u64, release: bool) -> CommandOutcome<bool> {
        let cannot = &self.volume.cannot[usize::from(release)];
        let VolumeStore::Stored(store) = &self.volume.kind else { return Ok(false) };
        while !cannot.load(Ordering::Relaxed) {
            match self.hub.perform(store, StoreOp::Zero { at, len: end - at, release }).await {
                Ok(_) => return Ok(true),
                Err(Errno::INTR | Errno::AGAIN) => self.go_on()?,
                Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::NODEV) => {
                    cannot.store(true, Ordering::Relaxed)
                }
                Err(e) => return Err(self.ending(e, During::Write, at)),
            }
        }
        Ok(false)
    }

    async fn write_zeros(&self, at: u64, end: u64) -> CommandOutcome<()> {
        for at in (at..end).step_by(ZEROS.len()) {
            self.go_on()?;
            let len = (end - at).min(ZEROS.len() as u64) as usize;
            self.write(at, ZEROS.as_ptr(), len, false).await?;
        }
        Ok(())
    }
}
