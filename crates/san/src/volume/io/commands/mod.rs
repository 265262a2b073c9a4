//! The implementation of each command. Memory and stores are used through the same four functions (`read`, `write`, `zero`,
//! `sync`), so that every command exists once.

mod alone;
mod copy;
mod fill;
mod pass;
mod sense;
mod status;
mod transfer;

use super::hub::{CHUNK, Hub, StoreOp};
use super::{FinishedCommand, VolumeJob};
use crate::volume::data::ZEROS;
use crate::volume::slots::{VolumeSlot, count};
use crate::volume::{Data, Handle, MemorySpan, VolumeStore};
use iscsi::scsi::{BlockRange, Ending, Medium};
use rustix::io::Errno;
use sense::{During, ending};
use std::ops::Range;
use std::rc::Rc;
use std::sync::atomic::Ordering;

/// READ(6) and WRITE(6) of a tape.
const READ_6: u8 = 0x08;
const WRITE_6: u8 = 0x0a;

/// A command that did not do what it says.
type CommandOutcome<T> = Result<T, Ending>;

/// Does a command that needs nothing but memory, here and now.
pub(super) fn at_once(hub: &Hub, job: VolumeJob) -> Result<FinishedCommand, VolumeJob> {
    let Some(ram) = job.volume.ram() else { return Err(job) };
    match &job.medium {
        Medium::Read(extent) => {
            let Ok(bytes) = bytes_of(&job.volume, *extent) else { return Err(job) };
            let len = (bytes.end - bytes.start) as usize;
            let slot = &job.volume.slots[&hub.place];
            count(&slot.reads, 1);
            count(&slot.bytes_read, len as u64);
            let data = Data::Ram(MemorySpan { volume: job.volume, offset: bytes.start, len });
            Ok(FinishedCommand { token: job.token, ending: Ending::GOOD, data })
        }
        Medium::Write { to, .. } => {
            let bytes = bytes_of(&job.volume, *to).ok();
            let (Some(bytes), Some(data)) = (bytes, job.data.as_slice()) else { return Err(job) };
            let volume = &job.volume;
            if data.len() as u64 != bytes.end - bytes.start
                || !volume.gate.try_enter(&volume.slots, &hub.place)
            {
                return Err(job);
            }
            let result = ram.write(bytes.start, data.as_ptr(), data.len());
            volume.gate.leave(&volume.slots, &hub.place, crate::volume::gate::EntryMode::Open);
            let slot = &volume.slots[&hub.place];
            count(&slot.writes, 1);
            count(&slot.bytes_written, data.len() as u64);
            let ending =
                result.map_or_else(|e| ending(e, During::Write, to.lba), |()| Ending::GOOD);
            count(&slot.failed, u64::from(ending != Ending::GOOD));
            Ok(FinishedCommand { token: job.token, ending, data: job.data })
        }
        _ => Err(job),
    }
}

/// Does a command, whatever it waits for.
pub(super) async fn run(hub: Rc<Hub>, job: VolumeJob) -> FinishedCommand {
    let VolumeJob { token, volume, medium, data } = job;
    let slot = &volume.slots[&hub.place];
    count(&slot.started, 1);
    let at = CommandContext { hub: &hub, volume: &volume };
    let (ending, data) = at.carry_out(&medium, data).await;
    at.count(slot, &medium, ending, data.len() as u64);
    FinishedCommand { token, ending, data }
}

/// A command at work: where, and with whose means.
struct CommandContext<'a> {
    hub: &'a Hub,
    volume: &'a Handle,
}

impl CommandContext<'_> {
    /// The data of the answer is what was read, or the memory of what was sent.
    async fn carry_out(&self, medium: &Medium, data: Data) -> (Ending, Data) {
        let moved = match medium {
            Medium::Read(extent) => return answer(self.read_out(*extent).await),
            Medium::Pass(command) => return self.pass(command, data).await,
            Medium::LbaStatus { lba, len } => return answer(self.lba_status(*lba, *len)),
            Medium::Write { to, durable } => self.write_in(*to, *durable, &data).await,
            Medium::WriteVerify { to, compare } => self.write_verify(*to, *compare, &data).await,
            Medium::Verify(extent) => self.verify(*extent).await,
            Medium::Compare { with, one } => self.compare(*with, *one, &data).await,
            Medium::CompareAndWrite { at, durable } => {
                self.compare_and_write(*at, *durable, &data).await
            }
            Medium::Or { at, durable } => self.or(*at, *durable, &data).await,
            Medium::Same { to, zero, unmap, durable } => {
                let sent = (!zero).then(|| data.as_slice().unwrap_or_default());
                self.same(*to, sent, *unmap, *durable).await
            }
            Medium::Unmap(extents) => self.unmap(extents).await,
            Medium::Sync(_) => self.sync().await,
            Medium::Prefetch(extent) => self.bytes_of(*extent).map(|_| ()),
            Medium::Copy(segments) => self.copy(segments).await,
            Medium::Sanitize { pattern } => self.sanitize(pattern).await,
        };
        (moved.err().unwrap_or(Ending::GOOD), data)
    }

    fn count(&self, slot: &VolumeSlot, medium: &Medium, ending: Ending, moved: u64) {
        match medium {
            Medium::Pass(command) if command.cdb[0] == READ_6 => {
                count(&slot.reads, 1);
                count(&slot.bytes_read, moved);
            }
            Medium::Pass(command) if command.cdb[0] == WRITE_6 => {
                count(&slot.writes, 1);
                count(&slot.bytes_written, moved);
            }
            Medium::Read(_) => {
                count(&slot.reads, 1);
                count(&slot.bytes_read, moved);
            }
            Medium::Write { .. } | Medium::WriteVerify { .. } => {
                count(&slot.writes, 1);
                count(&slot.bytes_written, moved);
            }
            _ => count(&slot.others, 1),
        }
        count(&slot.failed, u64::from(ending != Ending::GOOD));
        slot.ended.fetch_add(1, Ordering::Release);
    }

    fn block(&self) -> u64 {
        u64::from(self.volume.attributes.block)
    }

    fn bytes_of(&self, extent: BlockRange) -> CommandOutcome<Range<u64>> {
        bytes_of(self.volume, extent)
    }

    /// The bytes of an extent that is to be written.
    fn writable(&self, extent: BlockRange) -> CommandOutcome<Range<u64>> {
        if self.volume.attributes.read_only {
            return Err(sense::PROTECTED);
        }
        if self.volume.is_gone() {
            return Err(self.ending(Errno::IO, During::Write, extent.lba * self.block()));
        }
        self.bytes_of(extent)
    }

    /// Whether what is written must be on the backing store before the command ends.
    fn durable(&self, asked: bool) -> bool {
        asked || !self.volume.attributes.write_back
    }

    fn go_on(&self) -> CommandOutcome<()> {
        if self.hub.is_abandoned() { Err(sense::ABANDONED) } else { Ok(()) }
    }

    /// Reads bytes to an address that has room for them.
    async fn read(&self, at: u64, to: *mut u8, len: usize) -> CommandOutcome<()> {
        let store = match &self.volume.kind {
            VolumeStore::Ram(ram) => {
                ram.read(at, to, len);
                self.hub.spend(len).await;
                return Ok(());
            }
            VolumeStore::Stored(store) => store,
        };
        let mut done = 0;
        while done < len {
            let place = at + done as u64;
            let op = StoreOp::Read { at: place, to: to.wrapping_add(done), len: len - done };
            match self.hub.perform(store, op).await {
                // The store is shorter than it was: these blocks are gone.
                Ok(0) => return Err(self.ending(Errno::IO, During::Read, place)),
                Ok(n) => done += n,
                Err(Errno::INTR | Errno::AGAIN) => self.go_on()?,
                Err(e) => return Err(self.ending(e, During::Read, place)),
            }
        }
        Ok(())
    }

    /// Writes bytes from an address. The caller is inside the gate.
    async fn write(
        &self,
        at: u64,
        from: *const u8,
        len: usize,
        durable: bool,
    ) -> CommandOutcome<()> {
        let store = match &self.volume.kind {
            VolumeStore::Ram(ram) => {
                ram.write(at, from, len).map_err(|e| self.ending(e, During::Write, at))?;
                self.hub.spend(len).await;
                return Ok(());
            }
            VolumeStore::Stored(store) => store,
        };
        // Through the page cache, the first sync reports errors of write-back: that is left to `sync` alone.
        let at_once = durable && store.is_direct();
        if durable {
            self.still_durable()?;
        }
        let mut done = 0;
        while done < len {
            let place = at + done as u64;
            let from = from.wrapping_add(done);
            let op = StoreOp::Write { at: place, from, len: len - done, durable: at_once };
            match self.hub.perform(store, op).await {
                Ok(0) => return Err(self.ending(Errno::IO, During::Write, place)),
                Ok(n) => done += n,
                Err(Errno::INTR | Errno::AGAIN) => self.go_on()?,
                Err(e) => {
                    // What a device could not flush is not this write's alone; a lack of space is.
                    if at_once && !matches!(e, Errno::NOSPC | Errno::DQUOT) {
                        self.lost(e);
                    }
                    return Err(self.ending(e, During::Write, place));
                }
            }
        }
        match (durable, at_once) {
            (true, true) => {
                self.volume.look().map_err(|_| self.ending(Errno::IO, During::Write, at))
            }
            (true, false) => self.sync().await,
            (false, _) => Ok(()),
        }
    }

    /// What was written before is on the backing store. Once this has failed it never succeeds again: the kernel has
    /// dropped what it could not write, and tells so only once.
    async fn sync(&self) -> CommandOutcome<()> {
        let VolumeStore::Stored(store) = &self.volume.kind else { return Ok(()) };
        if self.volume.attributes.read_only {
            return Ok(());
        }
        while let Some(lead) = self.hub.lead(self.volume).await {
            self.still_durable()?;
            match self.hub.perform(store, StoreOp::Sync).await {
                Ok(_) => {
                    // Where it is gone `still_durable` says so.
                    let _ = self.volume.look();
                    lead.end();
                    break;
                }
                Err(Errno::INTR | Errno::AGAIN) => self.go_on()?,
                Err(e) => {
                    self.lost(e);
                    lead.end();
                    break;
                }
            }
        }
        self.still_durable()
    }

    fn still_durable(&self) -> CommandOutcome<()> {
        match self.volume.failed.load(Ordering::Acquire) {
            0 => Ok(()),
            e => Err(self.ending(Errno::from_raw_os_error(e), During::Sync, 0)),
        }
    }

    fn lost(&self, e: Errno) {
        let failed = &self.volume.failed;
        // The first one stays.
        let _ = failed.compare_exchange(0, e.raw_os_error(), Ordering::AcqRel, Ordering::Acquire);
    }

    fn ending(&self, e: Errno, during: During, at: u64) -> Ending {
        ending(e, during, at / self.block())
    }
}

fn answer(result: CommandOutcome<Data>) -> (Ending, Data) {
    match result {
        Ok(data) => (Ending::GOOD, data),
        Err(ending) => (ending, Data::None),
    }
}

/// The bytes of an extent, if it lies within the volume.
fn bytes_of(volume: &Handle, extent: BlockRange) -> CommandOutcome<Range<u64>> {
    let block = u64::from(volume.attributes.block);
    match extent.lba.checked_add(extent.blocks) {
        Some(end) if end <= volume.blocks() => Ok(extent.lba * block..end * block),
        _ => Err(sense::OUT_OF_RANGE),
    }
}
