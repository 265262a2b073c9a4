//! What is known of one block, in 32 bits: which generation was issued last, which older ones it may still hold, and
//! whether the newest has been read back.
//!
//! ```text
//! bit 31      open: it may hold anything, because its old content is unknown
//! bits 31, 30 zeroed: it must read as zeroes, because its newest generation was a write of zeroes
//! bit 30      seen: its newest generation has been read since it was written
//! bit 29      accused: what it holds instead has been reported
//! bits 25-28  doubt: so many generations before the newest are as good as the newest
//! bits 0-24   the newest generation that was issued; 0 = none
//! ```
//!
//! A write is *issued* before it is submitted and *settled* when it has succeeded. In between, and for ever if it
//! failed or its end was never reported, the block is in doubt: it may hold the old content or the written one.
//! Nothing else is needed for a crash: a word that is read after one says the truth, whenever it came.

/// Generations run from 1 to this and begin again at 1: nothing that old is ever compared.
pub(crate) const GENERATION_MAX: u32 = (1 << 25) - 1;

/// Generations in doubt that can be distinguished.
pub(crate) const DOUBT_MAX: u32 = 15;
const DOUBT_SHIFT: u32 = 25;
const ACCUSED: u32 = 1 << 29;
const SEEN: u32 = 1 << 30;
const OPEN: u32 = 1 << 31;

/// What is known of one block.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct BlockWord(pub u32);

/// How a generation that was found relates to those that a block may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Age {
    /// It is one of them.
    Fits,
    /// It is this many generations older than the oldest of them.
    Older(u32),
    /// It was never issued for this block.
    Unissued,
}

impl BlockWord {
    /// Nothing was ever issued for this block.
    pub fn is_unwritten(self) -> bool {
        self.newest() == 0
    }

    /// The newest generation that was issued; 0 where none was.
    pub fn newest(self) -> u32 {
        self.0 & GENERATION_MAX
    }

    /// The oldest generation that the block may hold.
    pub fn oldest(self) -> u32 {
        back(self.newest(), self.doubt())
    }

    /// It may hold anything.
    pub fn is_open(self) -> bool {
        self.is_unwritten() || self.0 & OPEN != 0
    }

    /// The newest generation has been read since it was written.
    pub fn is_seen(self) -> bool {
        self.0 & (SEEN | OPEN) == SEEN
    }

    /// It must read as zeroes.
    pub fn is_zeroed(self) -> bool {
        self.0 & (SEEN | OPEN) == SEEN | OPEN
    }

    /// It is known what it must hold.
    pub fn is_known(self) -> bool {
        !self.is_open() || self.is_zeroed()
    }

    /// Zeroes, or a trim, are about to be submitted for it: a generation without content. Until they have succeeded it may
    /// hold anything.
    pub fn emptied(self) -> BlockWord {
        BlockWord::of(self.issued().newest(), 0, true)
    }

    /// The zeroes that were submitted are there.
    pub fn zeroed(self) -> BlockWord {
        BlockWord(BlockWord::of(self.newest(), 0, true).0 | SEEN)
    }

    /// A write of the next generation is about to be submitted.
    pub fn issued(self) -> BlockWord {
        if self.is_unwritten() {
            return BlockWord::of(1, 0, true);
        }
        let next = if self.newest() == GENERATION_MAX { 1 } else { self.newest() + 1 };
        match self.doubt() {
            // Too many failures in a row to remember what may be there.
            DOUBT_MAX => BlockWord::of(next, DOUBT_MAX, true),
            doubt => BlockWord::of(next, doubt + 1, self.is_open()),
        }
    }

    /// The newest generation was not submitted after all.
    pub fn withdrawn(self) -> BlockWord {
        match (self.newest(), self.doubt()) {
            (0, _) | (1, 0) => BlockWord::default(),
            (_, 0) => self,
            (newest, doubt) => BlockWord::of(back(newest, 1), doubt - 1, self.is_open()),
        }
    }

    /// The write of the newest generation has succeeded.
    pub fn settled(self) -> BlockWord {
        BlockWord::of(self.newest(), 0, false)
    }

    /// The block was overwritten: it may hold anything, and generations continue.
    pub fn forgotten(self) -> BlockWord {
        if self.is_unwritten() { self } else { BlockWord::of(self.newest(), 0, true) }
    }

    /// What the block holds instead of what it must has been reported: once is enough.
    pub fn is_accused(self) -> bool {
        self.0 & ACCUSED != 0
    }

    /// The newest generation has been read.
    pub fn seen(self) -> BlockWord {
        BlockWord((self.0 | SEEN) & !ACCUSED)
    }

    /// Something else has been read, and is reported.
    pub fn accused(self) -> BlockWord {
        BlockWord(self.0 | ACCUSED)
    }

    /// Nothing has been read yet: where a new run begins.
    pub fn unread(self) -> BlockWord {
        match self.is_zeroed() {
            true => BlockWord(self.0 & !ACCUSED),
            false => BlockWord(self.0 & !(SEEN | ACCUSED)),
        }
    }

    /// How a generation that was found here relates to what may be here.
    pub fn age(self, found: u32) -> Age {
        if self.is_unwritten() || found == 0 || found > GENERATION_MAX {
            return Age::Unissued;
        }
        match distance(found, self.newest()) {
            steps if steps <= self.doubt() => Age::Fits,
            steps if steps < GENERATION_MAX / 2 => Age::Older(steps - self.doubt()),
            _ => Age::Unissued,
        }
    }

    /// The same where only the oldest is known for certain, as after a power cut: whatever is not older fits.
    pub fn age_at_least(self, found: u32) -> Age {
        if found == 0 || found > GENERATION_MAX {
            return Age::Unissued;
        }
        match distance(found, self.oldest()) {
            0 => Age::Fits,
            steps if steps < GENERATION_MAX / 2 && !self.is_open() => Age::Older(steps),
            _ => Age::Fits,
        }
    }

    fn doubt(self) -> u32 {
        self.0 >> DOUBT_SHIFT & DOUBT_MAX
    }

    fn of(newest: u32, doubt: u32, open: bool) -> BlockWord {
        BlockWord(newest | doubt << DOUBT_SHIFT | if open { OPEN } else { 0 })
    }
}

/// `steps` generations before `generation`.
pub(crate) fn back(generation: u32, steps: u32) -> u32 {
    if generation > steps {
        generation - steps
    } else if generation == 0 {
        0
    } else {
        generation + GENERATION_MAX - steps
    }
}

/// Writes that lead from one generation to another.
fn distance(from: u32, to: u32) -> u32 {
    if to >= from { to - from } else { to + GENERATION_MAX - from }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A block's exact history: what it may hold, newest last; 0 is its content before the run.
    #[derive(Default)]
    struct ExactBlock {
        may_hold: Vec<u32>,
        newest: u32,
    }

    #[derive(Clone, Copy, Debug)]
    enum HistoryEvent {
        Success,
        Failure,
        Withdrawal,
    }

    fn events() -> impl Strategy<Value = Vec<HistoryEvent>> {
        let event = prop_oneof![
            Just(HistoryEvent::Success),
            Just(HistoryEvent::Failure),
            Just(HistoryEvent::Withdrawal)
        ];
        prop::collection::vec(event, 0..120)
    }

    proptest! {
        #[test]
        fn a_word_accepts_exactly_what_a_block_may_hold(events in events()) {
            let mut word = BlockWord::default();
            let mut model = ExactBlock { may_hold: vec![0], newest: 0 };
            for event in events {
                let before = word;
                word = word.issued();
                match event {
                    HistoryEvent::Withdrawal => {
                        // Exact, but where doubt was forgotten.
                        if before.doubt() < DOUBT_MAX {
                            prop_assert_eq!(word.withdrawn(), before.unread());
                        }
                        word = before;
                        continue;
                    }
                    HistoryEvent::Success => {
                        word = word.settled();
                        model.may_hold.clear();
                    }
                    HistoryEvent::Failure => {}
                }
                model.newest += 1;
                model.may_hold.push(model.newest);
                prop_assert_eq!(word.newest(), model.newest);
                for generation in 1..=model.newest + 3 {
                    let fits = word.age(generation) == Age::Fits;
                    if model.may_hold.contains(&generation) && !word.is_open() {
                        prop_assert!(fits, "{generation} in {:?}", model.may_hold);
                    }
                    if !model.may_hold.contains(&generation) {
                        prop_assert!(!fits, "{generation} not in {:?}", model.may_hold);
                    }
                }
                if model.may_hold.contains(&0) {
                    prop_assert!(word.is_open());
                }
            }
        }
    }

    #[test]
    fn a_first_write_may_be_over_anything_until_it_succeeds() {
        let first = BlockWord::default().issued();
        assert!(first.is_open() && !first.is_unwritten());
        assert!(!first.settled().is_open());
        assert_eq!(first.withdrawn(), BlockWord::default());
    }

    #[test]
    fn generations_begin_again() {
        let last = BlockWord::of(GENERATION_MAX, 0, false);
        let next = last.issued();
        assert_eq!((next.newest(), next.oldest()), (1, GENERATION_MAX));
        assert_eq!(next.age(GENERATION_MAX), Age::Fits);
        assert_eq!(next.settled().age(GENERATION_MAX), Age::Older(1));
        assert_eq!(next.settled().age(2), Age::Unissued);
        assert_eq!(next.withdrawn(), last);
        assert_eq!(next.age(0), Age::Unissued);
        assert_eq!(next.age(u32::MAX), Age::Unissued);
    }

    #[test]
    fn after_a_power_cut_nothing_older_than_what_was_flushed_fits() {
        let flushed = BlockWord::of(7, 0, false);
        for (found, age) in
            [(6, Age::Older(1)), (7, Age::Fits), (900, Age::Fits), (0, Age::Unissued)]
        {
            assert_eq!(flushed.age_at_least(found), age);
        }
        let doubtful = BlockWord::of(7, 2, false);
        assert_eq!(
            (doubtful.age_at_least(5), doubtful.age_at_least(4)),
            (Age::Fits, Age::Older(1))
        );
        assert_eq!(BlockWord::default().age_at_least(3), Age::Fits);
    }

    #[test]
    fn what_was_overwritten_may_be_anything_and_its_generations_go_on() {
        let known = BlockWord::default().issued().settled().issued().settled().seen();
        let forgotten = known.forgotten();
        assert!(forgotten.is_open() && !forgotten.is_seen() && !forgotten.is_unwritten());
        assert_eq!(forgotten.issued().settled(), BlockWord::of(3, 0, false));
        assert_eq!(BlockWord::default().forgotten(), BlockWord::default());
    }

    #[test]
    fn what_was_zeroed_reads_as_zeroes_until_it_is_written() {
        let known = BlockWord::default().issued().settled().issued().settled().seen();
        let emptied = known.emptied();
        assert!(emptied.is_open() && !emptied.is_known() && emptied.newest() == 3);
        let zeroed = emptied.zeroed();
        assert!(zeroed.is_zeroed() && zeroed.is_known() && zeroed.is_open() && !zeroed.is_seen());
        assert_eq!(zeroed.accused().unread(), zeroed, "a new run knows it too");
        assert_eq!((zeroed.age(2), zeroed.age(1)), (Age::Older(1), Age::Older(2)));
        let again = zeroed.issued();
        assert!(!again.is_known() && !again.is_zeroed(), "it may hold zeroes or what was written");
        assert_eq!(again.settled(), BlockWord::of(4, 0, false));
        assert!(BlockWord::default().emptied().zeroed().is_zeroed());
        assert!(!BlockWord::default().is_zeroed() && !known.is_zeroed() && known.is_known());
    }

    #[test]
    fn what_was_seen_is_forgotten_with_the_next_write() {
        let seen = BlockWord::default().issued().settled().seen();
        assert!(seen.is_seen() && !seen.unread().is_seen());
        assert!(!seen.issued().is_seen());
        let accused = seen.accused();
        assert!(accused.is_accused() && accused.is_seen() && !accused.seen().is_accused());
        assert!(!accused.issued().is_accused() && !accused.unread().is_accused());
        assert!(BlockWord::default().accused().is_unwritten());
        assert_eq!(BlockWord::default().accused().issued(), BlockWord::default().issued());
        assert_eq!((seen.newest(), seen.oldest()), (1, 1));
    }
}
