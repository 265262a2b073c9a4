//! Commands that read, decide and write atomically (SBC-3, 5.2 COMPARE AND WRITE and 5.13 ORWRITE). They hold their range
//! exclusively: other writers wait at the gate.

use super::transfer::same;
use super::{CHUNK, CommandContext, CommandOutcome, Data, sense};
use iscsi::scsi::BlockRange;

impl CommandContext<'_> {
    pub(super) async fn compare_and_write(
        &self,
        at: BlockRange,
        durable: bool,
        data: &Data,
    ) -> CommandOutcome<()> {
        let bytes = self.writable(at)?;
        let len = (bytes.end - bytes.start) as usize;
        let sent = data.as_slice().ok_or(sense::INVALID)?;
        let (expected, new) = sent.split_at_checked(len).ok_or(sense::INVALID)?;
        let new = new.get(..len).ok_or(sense::INVALID)?;
        let mut scratch = self.hub.scratch().await;
        let _pass = self.hub.enter(self.volume, bytes.clone(), true).await;
        for done in (0..len).step_by(CHUNK) {
            let part = CHUNK.min(len - done);
            self.read(bytes.start + done as u64, scratch.as_mut_ptr(), part).await?;
            same(&expected[done..done + part], &scratch[..part], done as u64)?;
        }
        let durable = self.durable(durable);
        if self.suits(new.as_ptr()) {
            return self.write(bytes.start, new.as_ptr(), len, durable).await;
        }
        for done in (0..len).step_by(CHUNK) {
            let part = CHUNK.min(len - done);
            scratch[..part].copy_from_slice(&new[done..done + part]);
            self.write(bytes.start + done as u64, scratch.as_ptr(), part, durable).await?;
        }
        Ok(())
    }

    pub(super) async fn or(
        &self,
        at: BlockRange,
        durable: bool,
        data: &Data,
    ) -> CommandOutcome<()> {
        let bytes = self.writable(at)?;
        let sent = data.as_slice().ok_or(sense::INVALID)?;
        let len = self.came(data, bytes.end - bytes.start) as usize;
        let durable = self.durable(durable);
        let mut scratch = self.hub.scratch().await;
        let _pass = self.hub.enter(self.volume, bytes.clone(), true).await;
        for done in (0..len).step_by(CHUNK) {
            let part = CHUNK.min(len - done);
            let place = bytes.start + done as u64;
            self.read(place, scratch.as_mut_ptr(), part).await?;
            for (there, sent) in scratch[..part].iter_mut().zip(&sent[done..done + part]) {
                *there |= sent;
            }
            self.write(place, scratch.as_ptr(), part, durable).await?;
        }
        Ok(())
    }
}
