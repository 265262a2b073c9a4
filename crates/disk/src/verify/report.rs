//! Verification reports to the control plane: the first faults of each worker as text, and all of them as counts.

use super::block::BlockHeader;
use super::examiner::{DETAILS_MAX, ExaminerCounts};
use super::fault::{BlockContent, FaultKind, VerifyFault};
use super::state::TargetState;
use super::word::BlockWord;
use clock::Ns;
use engine::{EventNote, Reports};
use record::{CounterId, Level};
use rtrb::Consumer;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

/// What one worker reports for more than itself.
#[derive(Default)]
pub(crate) struct FaultLead {
    /// States whose counts of blocks written and read back this worker reports.
    pub states: Vec<Arc<TargetState>>,
    /// What was counted before the load, in the pass over a kept state.
    pub pass: Vec<Arc<ExaminerCounts>>,
}

/// The control plane's end of a verifier.
pub(crate) struct FaultReports {
    pub states: Box<[Arc<TargetState>]>,
    pub counts: Arc<ExaminerCounts>,
    pub faults: Consumer<VerifyFault>,
    pub lead: FaultLead,
    /// Names of the workers of this run, by number.
    pub writers: Arc<BTreeMap<u32, String>>,
    /// The limit of described faults is reached; the others are only counted.
    pub told: usize,
}

impl Reports for FaultReports {
    fn news(&mut self, say: &mut dyn FnMut(Ns, EventNote)) {
        while let Ok(fault) = self.faults.pop() {
            if self.told < DETAILS_MAX
                && let Some(state) = self.states.get(usize::from(fault.target))
            {
                self.told += 1;
                say(fault.at, note(&fault, state, &self.writers));
            }
        }
    }

    fn counts(&mut self) -> Vec<(CounterId, u64)> {
        let sources = || self.lead.pass.iter().chain([&self.counts]);
        let sum =
            |of: &dyn Fn(&ExaminerCounts) -> u64| sources().map(|counts| of(counts)).sum::<u64>();
        let mut counts = vec![
            (CounterId::VerifyChecked, sum(&ExaminerCounts::checked)),
            (CounterId::VerifyUnknown, sum(&ExaminerCounts::unknown)),
            (CounterId::VerifyWritten, sum(&ExaminerCounts::written)),
        ];
        let faults = FaultKind::ALL
            .map(|kind| (kind.counter(), sum(&|counts: &ExaminerCounts| counts.of(kind))));
        counts.extend(faults.into_iter().filter(|(_, count)| *count > 0));
        if !self.lead.states.is_empty() {
            let words = || self.lead.states.iter().flat_map(|state| state.ledger.words());
            let count = |is: fn(&BlockWord) -> bool| words().filter(is).count() as u64;
            counts.push((
                CounterId::VerifyBlocks,
                self.lead.states.iter().map(|s| s.ledger.len()).sum(),
            ));
            counts.push((CounterId::VerifyBlocksKnown, count(|word| word.is_known())));
            counts.push((CounterId::VerifyBlocksSeen, count(|word| word.is_seen())));
        }
        counts
    }
}

impl FaultKind {
    /// Its counter in the record.
    pub fn counter(self) -> CounterId {
        match self {
            FaultKind::Lost => CounterId::VerifyLost,
            FaultKind::Stale => CounterId::VerifyStale,
            FaultKind::Torn => CounterId::VerifyTorn,
            FaultKind::Misplaced => CounterId::VerifyMisplaced,
            FaultKind::Corrupt => CounterId::VerifyCorrupt,
            FaultKind::Foreign => CounterId::VerifyForeign,
        }
    }
}

/// A fault in words: where, what was expected, what was found, who wrote that and when.
pub(crate) fn note(
    fault: &VerifyFault,
    state: &TargetState,
    writers: &BTreeMap<u32, String>,
) -> EventNote {
    let VerifyFault { offset, kind, expected, found, stored_sum, sum, .. } = *fault;
    let mut text = format!(
        "{} at byte {offset} (block {}): {}; expected {}, found ",
        state.label,
        state.block_at(offset),
        verdict(kind),
        generations(expected, state.at_least),
    );
    // Writing to a String cannot fail.
    let _ = match found {
        BlockContent::Whole(header) => {
            let _ = write!(text, "{}", whole(&header, fault, state));
            let _ = write!(text, ", {}", author(&header, state, writers));
            write!(text, " (checksum {sum:#010x}, right)")
        }
        BlockContent::Parts { at, head, tail } => write!(
            text,
            "{} up to byte {at} of the block and {} from there on{}",
            part(head),
            part(tail),
            sums(stored_sum, sum)
        ),
        BlockContent::Flipped { generation, bits, byte } => write!(
            text,
            "generation {generation} with {bits} flipped bit{}, the first in byte {byte} of the block{}",
            if bits == 1 { "" } else { "s" },
            sums(stored_sum, sum)
        ),
        BlockContent::Damaged { generation, from, to } => write!(
            text,
            "generation {generation} with something else in bytes {from} to {} of the block{}",
            to.saturating_sub(1),
            sums(stored_sum, sum)
        ),
        BlockContent::Header { generation } => write!(
            text,
            "the content of generation {generation} under a damaged header{}",
            sums(stored_sum, sum)
        ),
        BlockContent::Zeros => write!(text, "zeros"),
        BlockContent::Unrecognized => write!(text, "data that verification did not write"),
    };
    EventNote { level: Level::Error, code: kind.counter().name(), text }
}

fn verdict(kind: FaultKind) -> &'static str {
    match kind {
        FaultKind::Lost => "a lost write",
        FaultKind::Stale => "stale data",
        FaultKind::Torn => "a torn write",
        FaultKind::Misplaced => "a misplaced block",
        FaultKind::Corrupt => "corrupt data",
        FaultKind::Foreign => "foreign data",
    }
}

fn generations(word: BlockWord, at_least: bool) -> String {
    let (oldest, newest) = (word.oldest(), word.newest());
    match () {
        () if word.is_unwritten() => "nothing of this run".to_owned(),
        () if word.is_zeroed() => "zeroes".to_owned(),
        () if at_least => format!("generation {oldest} or newer"),
        () if oldest == newest && word.is_seen() => {
            format!("generation {newest}, which had been read before")
        }
        () if oldest == newest => format!("generation {newest}"),
        () => format!("one of the generations {oldest} to {newest}"),
    }
}

fn part(generation: Option<u32>) -> String {
    generation.map_or("something else".to_owned(), |g| format!("generation {g}"))
}

fn sums(stored: u32, sum: u32) -> String {
    format!(" (checksum {stored:#010x}, should be {sum:#010x})")
}

fn whole(header: &BlockHeader, fault: &VerifyFault, state: &TargetState) -> String {
    let generation = header.generation;
    match () {
        () if header.id != state.id && fault.kind == FaultKind::Misplaced => {
            format!("generation {generation} of byte {} of another target", header.offset)
        }
        () if header.id != state.id => {
            format!("generation {generation} of byte {} from another run", header.offset)
        }
        () if header.offset != fault.offset => {
            format!("generation {generation} of byte {}", header.offset)
        }
        () => format!("generation {generation}"),
    }
}

/// Who wrote it, and when.
fn author(header: &BlockHeader, state: &TargetState, writers: &BTreeMap<u32, String>) -> String {
    let BlockHeader { worker, step, written, .. } = *header;
    let name = Some(()).filter(|()| written >= state.since).and_then(|()| writers.get(&worker));
    let who = name.map_or_else(|| format!("worker {worker}"), Clone::clone);
    format!("written by {who} in step {} at {}", u64::from(step) + 1, utc(written))
}

/// Nanoseconds since the Unix epoch as date and time, to the microsecond. The calendar is that of Howard Hinnant's
/// "chrono-compatible low-level date algorithms".
fn utc(ns: u64) -> String {
    let (seconds, micros) = (ns / 1_000_000_000, ns % 1_000_000_000 / 1000);
    let (days, time) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let march = (5 * of_year + 2) / 153;
    let date = of_year - (153 * march + 2) / 5 + 1;
    let month = if march < 10 { march + 3 } else { march - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (time / 3600, time / 60 % 60, time % 60);
    format!("{year:04}-{month:02}-{date:02} {hour:02}:{minute:02}:{second:02}.{micros:06} UTC")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_dates() {
        for (seconds, text) in [
            (0, "1970-01-01 00:00:00.000000 UTC"),
            (951_782_399, "2000-02-28 23:59:59.000000 UTC"),
            (951_782_400, "2000-02-29 00:00:00.000000 UTC"),
            (4_107_542_400, "2100-03-01 00:00:00.000000 UTC"),
            (1_767_225_599, "2025-12-31 23:59:59.000000 UTC"),
        ] {
            assert_eq!(utc(seconds * 1_000_000_000), text);
        }
        assert_eq!(utc(1_234_567), "1970-01-01 00:00:00.001234 UTC");
        assert!(utc(u64::MAX).starts_with("2554-07-21"));
    }
}
