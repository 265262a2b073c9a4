//! What verification found: how many blocks were compared with what they must hold, and how many were wrong, by kind.

use record::{Counter, CounterId, Event};
use serde::Serialize;

/// The kinds of fault, as the record's counters and events name them after `verify-`, the gravest first.
const KINDS: [&str; 6] = ["lost", "stale", "torn", "misplaced", "corrupt", "foreign"];

/// What verification found in all steps of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verification {
    /// Blocks that were compared with what they must hold; a block counts each time.
    pub checked: u64,
    /// Blocks read without a known expected content.
    pub unknown: u64,
    /// Blocks that were written.
    pub written: u64,
    /// Blocks that were wrong.
    pub wrong: u64,
    /// The same by kind, without kinds that did not occur.
    pub faults: Vec<Faults>,
    /// How much of the targets is known, at the end of the last step that says so.
    pub coverage: Option<Coverage>,
}

/// Faults of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Faults {
    /// `lost`, `stale`, `torn`, `misplaced`, `corrupt` or `foreign`.
    pub kind: &'static str,
    /// Blocks.
    pub blocks: u64,
}

/// How much of the verified targets is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// Blocks that they have.
    pub blocks: u64,
    /// Blocks of which it is known what they must hold.
    pub known: u64,
    /// Blocks of which that has been read back.
    pub seen: u64,
}

impl Verification {
    /// Takes in the counters of a step.
    pub(crate) fn see(this: &mut Option<Verification>, counters: &[(String, Counter)]) {
        let mut of_step = Verification::default();
        let mut coverage: Option<Coverage> = None;
        let mut any = false;
        for (_, counter) in counters {
            // Counts of blocks, which no finite value exceeds.
            let value = counter.value as u64;
            let sum = |total: &mut u64| *total = total.saturating_add(value);
            match counter.kind.id() {
                Some(CounterId::VerifyChecked) => sum(&mut of_step.checked),
                Some(CounterId::VerifyUnknown) => sum(&mut of_step.unknown),
                Some(CounterId::VerifyWritten) => sum(&mut of_step.written),
                Some(CounterId::VerifyBlocks) => sum(&mut coverage.get_or_insert_default().blocks),
                Some(CounterId::VerifyBlocksKnown) => {
                    sum(&mut coverage.get_or_insert_default().known);
                }
                Some(CounterId::VerifyBlocksSeen) => {
                    sum(&mut coverage.get_or_insert_default().seen);
                }
                Some(CounterId::VerifyLost) => of_step.add("lost", value),
                Some(CounterId::VerifyStale) => of_step.add("stale", value),
                Some(CounterId::VerifyTorn) => of_step.add("torn", value),
                Some(CounterId::VerifyMisplaced) => of_step.add("misplaced", value),
                Some(CounterId::VerifyCorrupt) => of_step.add("corrupt", value),
                Some(CounterId::VerifyForeign) => of_step.add("foreign", value),
                _ => continue,
            }
            any = true;
        }
        if any {
            let all = this.get_or_insert_default();
            all.checked = all.checked.saturating_add(of_step.checked);
            all.unknown = all.unknown.saturating_add(of_step.unknown);
            all.written = all.written.saturating_add(of_step.written);
            of_step.faults.iter().for_each(|f| all.add(f.kind, f.blocks));
            all.coverage = coverage.or(all.coverage);
        }
    }

    /// Adds faults that events reported and counters did not: a step may be cut off before its counters arrive.
    pub(crate) fn add_events(this: &mut Option<Verification>, events: &[Event]) {
        for kind in KINDS {
            let is = |e: &&Event| e.code.strip_prefix("verify-") == Some(kind);
            let reported = events.iter().filter(is).count() as u64;
            let counted = this.as_ref().map_or(0, |all| all.of(kind));
            if reported > counted {
                this.get_or_insert_default().add(kind, reported - counted);
            }
        }
    }

    fn of(&self, kind: &str) -> u64 {
        self.faults.iter().find(|f| f.kind == kind).map_or(0, |f| f.blocks)
    }

    fn add(&mut self, kind: &str, blocks: u64) {
        let Some(kind) = KINDS.into_iter().find(|k| *k == kind).filter(|_| blocks > 0) else {
            return;
        };
        self.wrong = self.wrong.saturating_add(blocks);
        match self.faults.iter_mut().find(|f| f.kind == kind) {
            Some(faults) => faults.blocks = faults.blocks.saturating_add(blocks),
            None => self.faults.push(Faults { kind, blocks }),
        }
        let rank = |f: &Faults| KINDS.iter().position(|k| *k == f.kind);
        self.faults.sort_by_key(rank);
    }
}
