//! The incoming data of one write: immediate data, unsolicited Data-Out PDUs, and bursts solicited by R2Ts (RFC 7143,
//! sections 4.2.5.2, 11.7 and 11.8).
//!
//! This target always negotiates DataPDUInOrder=Yes and DataSequenceInOrder=Yes. So data arrives contiguously from
//! offset 0, and its end offset is the only state needed, with any number of outstanding R2Ts.

use super::types::SessionParams;
use crate::pdu::DataOut;
use crate::scsi::{Ending, Sense, SenseKey};

/// Most outstanding R2Ts of one task, whatever was negotiated: a transfer tag numbers them with 8 bits.
pub(super) const MAX_OUTSTANDING: u32 = 64;

/// An initiator's error in a task's data. The task ends with CHECK CONDITION once all data in transit has arrived
/// (RFC 7143, sections 7.8, 7.9 and 11.4.7.2); none of it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DataFault {
    /// Unsolicited data where none was negotiated.
    Unsolicited,
    /// A number of bytes other than announced.
    Amount,
    /// DataSN or buffer offset out of order, or a digest error.
    Service,
}

impl DataFault {
    pub(super) fn ending(self) -> Ending {
        let code = match self {
            DataFault::Unsolicited => 0x0c0c,
            DataFault::Amount => 0x0c0d,
            DataFault::Service => 0x4705,
        };
        Ending::check(Sense::new(SenseKey::AbortedCommand, code))
    }
}

/// A range of the data to request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SolicitedRange {
    pub(super) number: u32,
    pub(super) offset: u32,
    pub(super) len: u32,
}

#[derive(Default)]
pub(super) struct WriteData {
    /// Bytes that the initiator expects to send.
    expected: u32,
    /// Bytes that the owner accepted, at most those; `None` until it has.
    need: Option<u32>,
    /// End offset of the data that has arrived or is arriving.
    arrived: u32,
    /// Unsolicited Data-Out PDUs are still expected, up to this offset.
    unsolicited: Option<u32>,
    /// A data segment is being received.
    segment: bool,
    /// The DataSN of the next PDU in the current sequence.
    data_sn: u32,
    /// End offset of the data that has been requested.
    asked: u32,
    /// End offset of the current burst.
    burst_end: u32,
    asks: u32,
    answered: u32,
    fault: Option<DataFault>,
    told: bool,
}

impl WriteData {
    /// Starts a write: `immediate` bytes come with the command, followed by unsolicited PDUs unless `last`.
    pub(super) fn begin(
        expected: u32,
        immediate: u32,
        last: bool,
        params: &SessionParams,
    ) -> WriteData {
        let limit = params.first_burst.min(expected);
        let fault = if (immediate > 0 && !params.immediate_data) || (!last && params.initial_r2t) {
            Some(DataFault::Unsolicited)
        } else if immediate > limit {
            Some(DataFault::Amount)
        } else {
            None
        };
        WriteData {
            expected,
            arrived: immediate,
            unsolicited: (!last).then_some(limit),
            segment: immediate > 0,
            fault,
            ..WriteData::default()
        }
    }

    /// The owner wants `len` bytes; returns how many will arrive.
    pub(super) fn take(&mut self, len: u32) -> u32 {
        let need = len.min(self.expected);
        self.need = Some(need);
        need
    }

    pub(super) fn need(&self) -> Option<u32> {
        self.need
    }

    pub(super) fn fault(&self) -> Option<DataFault> {
        self.fault
    }

    pub(super) fn asks(&self) -> u32 {
        self.asks
    }

    /// Whether announced or requested data has yet to arrive.
    pub(super) fn is_open(&self) -> bool {
        self.segment || self.unsolicited.is_some() || self.asks != self.answered
    }

    /// Whether all accepted data is in place; returns `true` only once.
    pub(super) fn complete(&mut self) -> bool {
        let whole = self.need.is_some_and(|need| need <= self.arrived);
        let complete = whole && self.fault.is_none() && !self.told && !self.is_open();
        self.told |= complete;
        complete
    }

    /// Processes an unsolicited Data-Out. Returns whether its data is valid.
    pub(super) fn unsolicited(&mut self, pdu: &DataOut, params: &SessionParams) -> bool {
        self.segment = pdu.data_len > 0;
        let Some(limit) = self.unsolicited else {
            self.surplus(DataFault::Unsolicited);
            return false;
        };
        let good = self.accept(pdu, limit);
        let full = good && self.arrived == limit;
        if pdu.is_final || full {
            self.unsolicited = None;
            self.data_sn = 0;
            // Section 11.4.7.2: if more than a first burst is expected, exactly a first burst must be unsolicited.
            let short = self.expected > params.first_burst && self.arrived != params.first_burst;
            if !pdu.is_final || short {
                self.fail(DataFault::Amount);
            }
        }
        good
    }

    /// Processes a Data-Out for the R2T with this number (its low 8 bits). Returns whether its data is valid.
    pub(super) fn solicited(&mut self, pdu: &DataOut, number: u8, max_burst: u32) -> bool {
        self.segment = pdu.data_len > 0;
        if self.fault.is_some() {
            // Only the ends of bursts matter now, in any order.
            let waits = pdu.is_final && self.asks != self.answered;
            self.answered = self.answered.wrapping_add(u32::from(waits));
            return false;
        }
        let ahead = u32::from(number.wrapping_sub(self.answered as u8));
        if ahead >= self.asks.wrapping_sub(self.answered) {
            self.surplus(DataFault::Amount);
            return false;
        }
        if ahead > 0 {
            self.fail(DataFault::Service);
        }
        let good = self.accept(pdu, self.burst_end);
        let full = good && self.arrived == self.burst_end;
        if full != pdu.is_final {
            self.fail(DataFault::Amount);
        }
        if pdu.is_final || full {
            self.answered = self.answered.wrapping_add(1);
            self.data_sn = 0;
            self.burst_end = self.burst_after(self.burst_end, max_burst);
        }
        good
    }

    /// The current data segment has ended; `good` if its digest matched.
    pub(super) fn segment_over(&mut self, good: bool) {
        self.segment = false;
        if !good {
            self.fail(DataFault::Service);
        }
    }

    /// Whether there is a range to request now.
    pub(super) fn wants_more(&self, max_outstanding: u16) -> bool {
        let outstanding = self.asks.wrapping_sub(self.answered);
        let begun = if self.asks == 0 { self.arrived } else { self.asked };
        self.fault.is_none()
            && self.unsolicited.is_none()
            && self.need.is_some_and(|need| begun < need)
            && outstanding < u32::from(max_outstanding.max(1)).min(MAX_OUTSTANDING)
    }

    /// The next range to request, if any.
    pub(super) fn ask(&mut self, max_outstanding: u16, max_burst: u32) -> Option<SolicitedRange> {
        if !self.wants_more(max_outstanding) {
            return None;
        }
        if self.asks == 0 {
            self.asked = self.arrived;
            self.burst_end = self.burst_after(self.arrived, max_burst);
        }
        let offset = self.asked;
        self.asked = self.burst_after(offset, max_burst);
        let ask = SolicitedRange { number: self.asks, offset, len: self.asked - offset };
        self.asks = self.asks.wrapping_add(1);
        Some(ask)
    }

    /// Checks a PDU's number and offset in the current sequence, and counts it.
    fn accept(&mut self, pdu: &DataOut, end: u32) -> bool {
        if pdu.data_sn != self.data_sn || pdu.offset != self.arrived {
            self.fail(DataFault::Service);
        } else if pdu.data_len > end.saturating_sub(self.arrived) {
            self.fail(DataFault::Amount);
        }
        self.data_sn = self.data_sn.wrapping_add(1);
        if self.fault.is_some() {
            return false;
        }
        self.arrived += pdu.data_len;
        true
    }

    /// Unexpected data is a fault only while the task's data is incomplete.
    fn surplus(&mut self, fault: DataFault) {
        if !self.told {
            self.fail(fault);
        }
    }

    /// The first fault is the one reported.
    fn fail(&mut self, fault: DataFault) {
        self.fault.get_or_insert(fault);
    }

    fn burst_after(&self, offset: u32, max_burst: u32) -> u32 {
        offset.saturating_add(max_burst.max(1)).min(self.need.unwrap_or(0))
    }
}
