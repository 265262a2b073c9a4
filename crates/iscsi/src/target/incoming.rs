//! The data of one write on its way in: immediate data, unsolicited Data-Out PDUs, and bursts that R2Ts asked for
//! (RFC 7143, sections 4.2.5.2, 11.7 and 11.8).
//!
//! This target always negotiates DataPDUInOrder=Yes and DataSequenceInOrder=Yes. So data comes in one growing run from
//! offset 0, and all that has to be kept is how far it has come, whatever the number of outstanding R2Ts.

use super::types::SessionParams;
use crate::pdu::DataOut;
use crate::scsi::{Ending, Sense, SenseKey};

/// The most R2Ts of one task that wait for their data, whatever was negotiated: a transfer tag numbers them with 8 bits.
pub(super) const MAX_OUTSTANDING: u32 = 64;

/// What the initiator did wrong with a task's data. The task ends with CHECK CONDITION once all data that is on its way has
/// come (RFC 7143, sections 7.8, 7.9 and 11.4.7.2); none of it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Unsolicited data where none was negotiated.
    Unsolicited,
    /// Other than the announced number of bytes.
    Amount,
    /// DataSN or buffer offset out of order, or damaged data.
    Service,
}

impl Fault {
    pub(super) fn ending(self) -> Ending {
        let code = match self {
            Fault::Unsolicited => 0x0c0c,
            Fault::Amount => 0x0c0d,
            Fault::Service => 0x4705,
        };
        Ending::check(Sense::new(SenseKey::AbortedCommand, code))
    }
}

/// A part of the data to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) number: u32,
    pub(super) offset: u32,
    pub(super) len: u32,
}

#[derive(Default)]
pub(super) struct Incoming {
    /// Bytes that the initiator expects to send.
    expected: u32,
    /// Bytes that the owner took, at most those; nothing yet.
    need: Option<u32>,
    /// Bytes that have come or are coming: all below this offset.
    arrived: u32,
    /// Unsolicited Data-Out PDUs are still to come, up to this offset.
    unsolicited: Option<u32>,
    /// A data segment is under way.
    segment: bool,
    /// The number of the next PDU of the current sequence.
    data_sn: u32,
    /// Bytes up to here have been asked for.
    asked: u32,
    /// Where the current burst ends.
    burst_end: u32,
    asks: u32,
    answered: u32,
    fault: Option<Fault>,
    told: bool,
}

impl Incoming {
    /// What a write announces: `immediate` bytes come with the command, and unsolicited PDUs after it unless `last`.
    pub(super) fn begin(
        expected: u32,
        immediate: u32,
        last: bool,
        params: &SessionParams,
    ) -> Incoming {
        let limit = params.first_burst.min(expected);
        let fault = if (immediate > 0 && !params.immediate_data) || (!last && params.initial_r2t) {
            Some(Fault::Unsolicited)
        } else if immediate > limit {
            Some(Fault::Amount)
        } else {
            None
        };
        Incoming {
            expected,
            arrived: immediate,
            unsolicited: (!last).then_some(limit),
            segment: immediate > 0,
            fault,
            ..Incoming::default()
        }
    }

    /// The owner wants `len` bytes; gets how many will come.
    pub(super) fn take(&mut self, len: u32) -> u32 {
        let need = len.min(self.expected);
        self.need = Some(need);
        need
    }

    pub(super) fn need(&self) -> Option<u32> {
        self.need
    }

    pub(super) fn fault(&self) -> Option<Fault> {
        self.fault
    }

    pub(super) fn asks(&self) -> u32 {
        self.asks
    }

    /// Data is still to come that the initiator has announced or been asked for.
    pub(super) fn is_open(&self) -> bool {
        self.segment || self.unsolicited.is_some() || self.asks != self.answered
    }

    /// Whether all that was taken is in place; says so once.
    pub(super) fn complete(&mut self) -> bool {
        let whole = self.need.is_some_and(|need| need <= self.arrived);
        let complete = whole && self.fault.is_none() && !self.told && !self.is_open();
        self.told |= complete;
        complete
    }

    /// A Data-Out that no R2T asked for. Whether its data is good.
    pub(super) fn unsolicited(&mut self, pdu: &DataOut, params: &SessionParams) -> bool {
        self.segment = pdu.data_len > 0;
        let Some(limit) = self.unsolicited else {
            self.surplus(Fault::Unsolicited);
            return false;
        };
        let good = self.accept(pdu, limit);
        let full = good && self.arrived == limit;
        if pdu.is_final || full {
            self.unsolicited = None;
            self.data_sn = 0;
            // Section 11.4.7.2: with more than a first burst expected, exactly a first burst must have come unsolicited.
            let short = self.expected > params.first_burst && self.arrived != params.first_burst;
            if !pdu.is_final || short {
                self.fail(Fault::Amount);
            }
        }
        good
    }

    /// A Data-Out for the R2T with this number (its low 8 bits). Whether its data is good.
    pub(super) fn solicited(&mut self, pdu: &DataOut, number: u8, max_burst: u32) -> bool {
        self.segment = pdu.data_len > 0;
        if self.fault.is_some() {
            // Only the ends of bursts matter now, in whatever order they come.
            let waits = pdu.is_final && self.asks != self.answered;
            self.answered = self.answered.wrapping_add(u32::from(waits));
            return false;
        }
        let ahead = u32::from(number.wrapping_sub(self.answered as u8));
        if ahead >= self.asks.wrapping_sub(self.answered) {
            self.surplus(Fault::Amount);
            return false;
        }
        if ahead > 0 {
            self.fail(Fault::Service);
        }
        let good = self.accept(pdu, self.burst_end);
        let full = good && self.arrived == self.burst_end;
        if full != pdu.is_final {
            self.fail(Fault::Amount);
        }
        if pdu.is_final || full {
            self.answered = self.answered.wrapping_add(1);
            self.data_sn = 0;
            self.burst_end = self.burst_after(self.burst_end, max_burst);
        }
        good
    }

    /// The data segment under way is over; `good` if it matched its digest.
    pub(super) fn segment_over(&mut self, good: bool) {
        self.segment = false;
        if !good {
            self.fail(Fault::Service);
        }
    }

    /// Whether there is something to ask for now.
    pub(super) fn wants_more(&self, max_outstanding: u16) -> bool {
        let outstanding = self.asks.wrapping_sub(self.answered);
        let begun = if self.asks == 0 { self.arrived } else { self.asked };
        self.fault.is_none()
            && self.unsolicited.is_none()
            && self.need.is_some_and(|need| begun < need)
            && outstanding < u32::from(max_outstanding.max(1)).min(MAX_OUTSTANDING)
    }

    /// The next part to ask for, if there is one now.
    pub(super) fn ask(&mut self, max_outstanding: u16, max_burst: u32) -> Option<Ask> {
        if !self.wants_more(max_outstanding) {
            return None;
        }
        if self.asks == 0 {
            self.asked = self.arrived;
            self.burst_end = self.burst_after(self.arrived, max_burst);
        }
        let offset = self.asked;
        self.asked = self.burst_after(offset, max_burst);
        let ask = Ask { number: self.asks, offset, len: self.asked - offset };
        self.asks = self.asks.wrapping_add(1);
        Some(ask)
    }

    /// Checks a PDU's number and place in the current sequence, and counts it.
    fn accept(&mut self, pdu: &DataOut, end: u32) -> bool {
        if pdu.data_sn != self.data_sn || pdu.offset != self.arrived {
            self.fail(Fault::Service);
        } else if pdu.data_len > end.saturating_sub(self.arrived) {
            self.fail(Fault::Amount);
        }
        self.data_sn = self.data_sn.wrapping_add(1);
        if self.fault.is_some() {
            return false;
        }
        self.arrived += pdu.data_len;
        true
    }

    /// Data that nobody waits for harms a task only as long as its data is not complete.
    fn surplus(&mut self, fault: Fault) {
        if !self.told {
            self.fail(fault);
        }
    }

    /// The first fault is the one that is told.
    fn fail(&mut self, fault: Fault) {
        self.fault.get_or_insert(fault);
    }

    fn burst_after(&self, offset: u32, max_burst: u32) -> u32 {
        offset.saturating_add(max_burst.max(1)).min(self.need.unwrap_or(0))
    }
}
