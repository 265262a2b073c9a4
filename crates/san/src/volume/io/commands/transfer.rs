//! Commands that move blocks between an initiator and the volume, or compare them.

use super::{CHUNK, CommandContext, CommandOutcome, Data, sense};
use crate::volume::buffer::LARGEST;
use crate::volume::{MemorySpan, VolumeStore};
use iscsi::scsi::BlockRange;

impl CommandContext<'_> {
    /// READ: memory is sent from where it is, anything else is read into a buffer.
    pub(super) async fn read_out(&self, from: BlockRange) -> CommandOutcome<Data> {
        let bytes = self.bytes_of(from)?;
        let len = (bytes.end - bytes.start) as usize;
        if self.volume.ram().is_some() {
            return Ok(Data::Ram(MemorySpan {
                volume: self.volume.clone(),
                offset: bytes.start,
                len,
            }));
        }
        if len > LARGEST {
            return Err(sense::INVALID);
        }
        let mut buffer = self.hub.buffer(len).await;
        self.read(bytes.start, buffer.as_mut_ptr(), len).await?;
        Ok(Data::Buffer(buffer))
    }

    /// WRITE: the whole blocks that came.
    pub(super) async fn write_in(
        &self,
        to: BlockRange,
        durable: bool,
        data: &Data,
    ) -> CommandOutcome<()> {
        let bytes = self.writable(to)?;
        let len = self.came(data, bytes.end - bytes.start) as usize;
        let durable = self.durable(durable);
        match data.as_slice().filter(|slice| self.suits(slice.as_ptr())) {
            Some(slice) => {
                let end = bytes.start + len as u64;
                let _pass = self.hub.enter(self.volume, bytes.start..end, false).await;
                self.write(bytes.start, slice.as_ptr(), len, durable).await
            }
            None => {
                let mut scratch = self.hub.scratch().await;
                let _pass = self.hub.enter(self.volume, bytes.clone(), false).await;
                for done in (0..len).step_by(CHUNK) {
                    let part = CHUNK.min(len - done);
                    data.copy_to(done, &mut scratch[..part]);
                    self.write(bytes.start + done as u64, scratch.as_ptr(), part, durable).await?;
                }
                Ok(())
            }
        }
    }

    pub(super) async fn write_verify(
        &self,
        to: BlockRange,
        compare: bool,
        data: &Data,
    ) -> CommandOutcome<()> {
        self.write_in(to, true, data).await?;
        if compare { self.compare(to, false, data).await } else { self.verify(to).await }
    }

    /// VERIFY without data: the blocks can be read.
    pub(super) async fn verify(&self, what: BlockRange) -> CommandOutcome<()> {
        let bytes = self.bytes_of(what)?;
        if self.volume.ram().is_some() {
            return Ok(());
        }
        let mut scratch = self.hub.scratch().await;
        for at in bytes.clone().step_by(CHUNK) {
            self.go_on()?;
            let len = (bytes.end - at).min(CHUNK as u64) as usize;
            self.read(at, scratch.as_mut_ptr(), len).await?;
        }
        Ok(())
    }

    /// VERIFY with data: of all blocks, or of one for each of them.
    pub(super) async fn compare(
        &self,
        with: BlockRange,
        one: bool,
        data: &Data,
    ) -> CommandOutcome<()> {
        let bytes = self.bytes_of(with)?;
        let block = self.block() as usize;
        let sent = data.as_slice().ok_or(sense::INVALID)?;
        if one && sent.len() < block {
            return Err(sense::INVALID);
        }
        let len =
            if one { bytes.end - bytes.start } else { self.came(data, bytes.end - bytes.start) };
        let mut scratch = self.hub.scratch().await;
        let mut done = 0;
        while done < len {
            self.go_on()?;
            let part = (len - done).min(CHUNK as u64) as usize;
            self.read(bytes.start + done, scratch.as_mut_ptr(), part).await?;
            if one {
                for there in scratch[..part].chunks(block) {
                    same(&sent[..block], there, 0)?;
                }
            } else {
                same(&sent[done as usize..done as usize + part], &scratch[..part], done)?;
            }
            done += part as u64;
        }
        Ok(())
    }

    /// How much of what was wanted came, in whole blocks.
    pub(super) fn came(&self, data: &Data, wanted: u64) -> u64 {
        let there = (data.len() as u64).min(wanted);
        there - there % self.block()
    }

    /// Whether the store takes bytes from this address.
    pub(super) fn suits(&self, at: *const u8) -> bool {
        match &self.volume.kind {
            VolumeStore::Stored(store) if store.is_direct() => (at as usize).is_multiple_of(512),
            _ => true,
        }
    }
}

/// What was sent is what is there; otherwise the offset of the first byte that differs.
pub(super) fn same(sent: &[u8], there: &[u8], offset: u64) -> CommandOutcome<()> {
    if sent == there {
        return Ok(());
    }
    let differs = sent.iter().zip(there).take_while(|(a, b)| a == b).count();
    Err(sense::miscompare(offset + differs as u64))
}
