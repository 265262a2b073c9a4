//! EXTENDED COPY between volumes of this target, chunk by chunk.

use super::{CHUNK, CommandContext, CommandOutcome, sense};
use crate::volume::{Handle, Volume};
use iscsi::scsi::{BlockRange, CopySegment};
use std::ops::Range;

impl CommandContext<'_> {
    pub(super) async fn copy(&self, segments: &[CopySegment]) -> CommandOutcome<()> {
        let mut scratch = self.hub.scratch().await;
        for segment in segments {
            let from = CommandContext { hub: self.hub, volume: self.named(&segment.from)? };
            let to = CommandContext { hub: self.hub, volume: self.named(&segment.to)? };
            let (source, start) = from.places(&to, segment)?;
            let len = source.end - source.start;
            // Where a volume is copied into itself, what is still to be read must not be written first.
            let backwards =
                same(from.volume, to.volume) && source.start < start && start < source.end;
            for step in 0..len.div_ceil(CHUNK as u64) {
                self.go_on()?;
                let step = if backwards { len.div_ceil(CHUNK as u64) - 1 - step } else { step };
                let at = step * CHUNK as u64;
                let part = (len - at).min(CHUNK as u64) as usize;
                from.read(source.start + at, scratch.as_mut_ptr(), part).await?;
                let (at, end) = (start + at, start + at + part as u64);
                let _pass = self.hub.enter(to.volume, at..end, false).await;
                to.write(at, scratch.as_ptr(), part, false).await?;
            }
        }
        // Durable as a whole, each volume once.
        for (_, volume) in &self.hub.volumes {
            let at = CommandContext { hub: self.hub, volume };
            if segments.iter().any(|s| self.named(&s.to).is_ok_and(|to| same(to, volume))) {
                at.sync().await?;
            }
        }
        Ok(())
    }

    /// The bytes that are read of this volume, and the first that is written of the other.
    fn places(
        &self,
        to: &CommandContext<'_>,
        segment: &CopySegment,
    ) -> CommandOutcome<(Range<u64>, u64)> {
        let source = self.bytes_of(segment.source).map_err(|_| sense::THIRD_PARTY)?;
        let len = source.end - source.start;
        if !len.is_multiple_of(to.block()) {
            return Err(sense::THIRD_PARTY);
        }
        let target = BlockRange { lba: segment.lba, blocks: len / to.block() };
        match to.writable(target) {
            Ok(bytes) => Ok((source, bytes.start)),
            Err(ending) if ending == sense::PROTECTED => Err(ending),
            Err(_) => Err(sense::THIRD_PARTY),
        }
    }

    fn named(&self, designator: &[u8; 16]) -> CommandOutcome<&Handle> {
        let found = self.hub.volumes.iter().find(|(name, _)| name == designator);
        found.map(|(_, volume)| volume).ok_or(sense::UNREACHABLE)
    }
}

/// Whether two handles are of one volume.
fn same(one: &Volume, other: &Volume) -> bool {
    std::ptr::eq(one, other)
}
