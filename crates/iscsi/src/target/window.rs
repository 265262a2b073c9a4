//! The command window (RFC 7143, section 4.2.2.1): ExpCmdSN, MaxCmdSN, and the numbers between them that count as
//! received although they never arrived.

/// The largest window.
pub(super) const MAX_WINDOW: u16 = 2048;

const WORDS: usize = MAX_WINDOW as usize / 64;

/// The position of a CmdSN relative to the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CmdSnPosition {
    /// It is the next.
    Due,
    /// Earlier ones are missing.
    Early,
    /// It is outside the window or a duplicate: it is ignored.
    Ignored,
}

/// The command window of a session. `open + used == size` at all times; `open` is what the initiator may still send.
pub(super) struct Window {
    expected: u32,
    open: u16,
    /// One bit a number, indexed modulo the largest window: it counts as received.
    plugged: Option<Box<[u64; WORDS]>>,
}

impl Window {
    pub(super) fn new(expected: u32, size: u16) -> Window {
        Window { expected, open: size.clamp(1, MAX_WINDOW), plugged: None }
    }

    /// ExpCmdSN.
    pub(super) fn expected(&self) -> u32 {
        self.expected
    }

    /// MaxCmdSN.
    pub(super) fn last(&self) -> u32 {
        self.expected.wrapping_add(u32::from(self.open)).wrapping_sub(1)
    }

    pub(super) fn place(&self, number: u32) -> CmdSnPosition {
        let ahead = number.wrapping_sub(self.expected);
        if ahead >= u32::from(self.open) || self.is_plugged(number) {
            CmdSnPosition::Ignored
        } else if ahead == 0 {
            CmdSnPosition::Due
        } else {
            CmdSnPosition::Early
        }
    }

    /// The due request has arrived. Unless [`Window::occupy`] follows, the window advances.
    pub(super) fn advance(&mut self) {
        self.expected = self.expected.wrapping_add(1);
        self.skip();
    }

    /// The request that has just arrived occupies room until [`Window::widen`].
    pub(super) fn occupy(&mut self) {
        self.open = self.open.saturating_sub(1);
    }

    /// A command that occupied room has ended.
    pub(super) fn widen(&mut self) {
        self.open += 1;
    }

    /// Numbers from `first` up to but excluding `end` that are in the window count as received.
    pub(super) fn plug(&mut self, first: u32, end: u32) {
        let begin = first.wrapping_sub(self.expected);
        let count = end.wrapping_sub(first);
        let open = u32::from(self.open);
        if begin >= open || count > open - begin {
            return;
        }
        let bits = self.plugged.get_or_insert_with(|| Box::new([0; WORDS]));
        for number in (0..count).map(|at| first.wrapping_add(at)) {
            let (word, bit) = bit_of(number);
            bits[word] |= bit;
        }
        self.skip();
    }

    /// Whether a number is in the window, received or not.
    pub(super) fn contains(&self, number: u32) -> bool {
        number.wrapping_sub(self.expected) < u32::from(self.open)
    }

    fn is_plugged(&self, number: u32) -> bool {
        let (word, bit) = bit_of(number);
        self.plugged.as_ref().is_some_and(|bits| bits[word] & bit != 0)
    }

    /// Skips numbers that count as received: at most as many as there are bits.
    fn skip(&mut self) {
        let Some(bits) = &mut self.plugged else { return };
        loop {
            let (word, bit) = bit_of(self.expected);
            if bits[word] & bit == 0 {
                return;
            }
            bits[word] &= !bit;
            self.expected = self.expected.wrapping_add(1);
        }
    }
}

fn bit_of(number: u32) -> (usize, u64) {
    let place = number as usize % usize::from(MAX_WINDOW);
    (place / 64, 1 << (place % 64))
}
