//! The data of one read: split by MaxRecvDataSegmentLength and MaxBurstLength (RFC 7143, section 11.7).

/// The content of one Data-In PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DataInPart {
    pub(super) number: u32,
    pub(super) offset: u32,
    pub(super) len: u32,
    /// It ends a burst.
    pub(super) last: bool,
}

#[derive(Default)]
pub(super) struct ReadData {
    len: u32,
    sent: u32,
    pdus: u32,
    burst: u32,
}

impl ReadData {
    pub(super) fn new(len: u32) -> ReadData {
        ReadData { len, ..ReadData::default() }
    }

    pub(super) fn is_over(&self) -> bool {
        self.sent == self.len
    }

    /// Number of PDUs so far.
    pub(super) fn pdus(&self) -> u32 {
        self.pdus
    }

    /// The next PDU, of at most `max_segment` bytes, in bursts of at most `max_burst`.
    pub(super) fn cut(&mut self, max_segment: u32, max_burst: u32) -> Option<DataInPart> {
        if self.is_over() {
            return None;
        }
        let (max_segment, max_burst) = (max_segment.max(1), max_burst.max(1));
        let len = (self.len - self.sent).min(max_segment).min(max_burst - self.burst);
        let cut = DataInPart {
            number: self.pdus,
            offset: self.sent,
            len,
            last: self.burst + len == max_burst || self.sent + len == self.len,
        };
        self.sent += len;
        self.pdus = self.pdus.wrapping_add(1);
        self.burst = if cut.last { 0 } else { self.burst + len };
        Some(cut)
    }
}
