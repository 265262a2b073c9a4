//! Negotiation at login: the operational keys of RFC 7143, section 13, and of RFC 7144, each by its rule.
//!
//! [`DesiredParams`] are the settings of one end, a [`Negotiation`] makes offers and answers from them, and [`Params`] are
//! the result. Names and CHAP are not part of it. A rule is a line of the table in `rules.rs`; only FirstBurstLength
//! and MaxBurstLength, which depend on each other, have code of their own.

mod full_feature;
mod negotiation;
mod rules;

pub use full_feature::{FullFeatureKey, NOT_UNDERSTOOD, REJECT, full_feature_key};
pub(crate) use negotiation::is_operational;
pub use negotiation::{Negotiation, NegotiationError};

use rules::{KEYS, KeyId, Values};

/// The purpose of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum SessionType {
    /// To list targets.
    Discovery,
    /// For SCSI commands.
    #[default]
    Normal,
}

/// The negotiating end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Negotiator {
    /// The initiator, which makes the offers.
    Initiator,
    /// The target, which answers and offers only what it requires.
    Target,
}

/// Whether one end wants CRC32C.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Digest {
    /// Never.
    Never,
    /// Only if the other end wants it.
    #[default]
    Allowed,
    /// If the other end supports it.
    Preferred,
    /// Required: otherwise the login fails.
    Required,
}

/// The settings that one end wants. Numbers outside a key's range are clamped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DesiredParams {
    /// HeaderDigest.
    pub header_digest: Digest,
    /// DataDigest.
    pub data_digest: Digest,
    /// MaxConnections that this end accepts.
    pub max_connections: u16,
    /// InitialR2T: this end insists that all data is solicited.
    pub initial_r2t: bool,
    /// ImmediateData: this end accepts data within commands.
    pub immediate_data: bool,
    /// MaxRecvDataSegmentLength: longest data segment that this end accepts, in bytes.
    pub max_recv: u32,
    /// MaxBurstLength: most data of one sequence, in bytes.
    pub max_burst: u32,
    /// FirstBurstLength: most unsolicited data of one command, in bytes.
    pub first_burst: u32,
    /// DefaultTime2Wait, in seconds.
    pub time2wait: u16,
    /// DefaultTime2Retain, in seconds.
    pub time2retain: u16,
    /// MaxOutstandingR2T: most open R2Ts of one task.
    pub max_outstanding_r2t: u16,
}

impl Default for DesiredParams {
    /// Suits a target and an initiator with ample memory: long data segments, unsolicited data, no recovery.
    fn default() -> DesiredParams {
        DesiredParams {
            header_digest: Digest::Allowed,
            data_digest: Digest::Allowed,
            max_connections: 1,
            initial_r2t: false,
            immediate_data: true,
            max_recv: 256 << 10,
            max_burst: 1 << 20,
            first_burst: 256 << 10,
            time2wait: 2,
            time2retain: 0,
            max_outstanding_r2t: 16,
        }
    }
}

/// The negotiated parameters. Digests and data segment lengths belong to the connection. The rest belongs to the
/// session, was negotiated with its leading connection, and is meaningless in the result of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Params {
    /// SessionType.
    pub session: SessionType,
    /// HeaderDigest is CRC32C.
    pub header_digest: bool,
    /// DataDigest is CRC32C.
    pub data_digest: bool,
    /// MaxRecvDataSegmentLength that this end declared: longest incoming data segment, in bytes.
    pub max_recv: u32,
    /// MaxRecvDataSegmentLength that the other end declared: longest outgoing data segment, in bytes.
    pub max_send: u32,
    /// MaxConnections.
    pub max_connections: u16,
    /// InitialR2T: no unsolicited Data-Out PDUs.
    pub initial_r2t: bool,
    /// ImmediateData: a command may carry data.
    pub immediate_data: bool,
    /// MaxBurstLength: most data of one sequence, in bytes.
    pub max_burst: u32,
    /// FirstBurstLength: most unsolicited data of one command, in bytes; never more than `max_burst`.
    pub first_burst: u32,
    /// DefaultTime2Wait, in seconds.
    pub time2wait: u16,
    /// DefaultTime2Retain, in seconds.
    pub time2retain: u16,
    /// MaxOutstandingR2T: most open R2Ts of one task.
    pub max_outstanding_r2t: u16,
    /// DataPDUInOrder: the data PDUs of a sequence come in order of their offsets.
    pub data_pdu_in_order: bool,
    /// DataSequenceInOrder: sequences come in order of their offsets.
    pub data_sequence_in_order: bool,
    /// ErrorRecoveryLevel.
    pub error_recovery_level: u8,
    /// iSCSIProtocolLevel (RFC 7144).
    pub protocol_level: u8,
}

impl Params {
    /// The values without negotiation.
    pub fn defaults(session: SessionType) -> Params {
        let values = Values::defaults();
        Params::new(session, &values, values.get(KeyId::MaxRecvDataSegmentLength))
    }

    /// `values` hold what the other end declared; `max_recv` is what this end declared.
    fn new(session: SessionType, values: &Values, max_recv: u32) -> Params {
        let number = |key| values.get(key);
        let yes = |key| values.get(key) != 0;
        // The ranges in the table make these fit.
        let short = |key| u16::try_from(values.get(key)).unwrap_or(u16::MAX);
        let byte = |key| u8::try_from(values.get(key)).unwrap_or(u8::MAX);
        let max_burst = number(KeyId::MaxBurstLength);
        Params {
            session,
            header_digest: yes(KeyId::HeaderDigest),
            data_digest: yes(KeyId::DataDigest),
            max_recv,
            max_send: number(KeyId::MaxRecvDataSegmentLength),
            max_connections: short(KeyId::MaxConnections),
            initial_r2t: yes(KeyId::InitialR2T),
            immediate_data: yes(KeyId::ImmediateData),
            max_burst,
            first_burst: number(KeyId::FirstBurstLength).min(max_burst),
            time2wait: short(KeyId::DefaultTime2Wait),
            time2retain: short(KeyId::DefaultTime2Retain),
            max_outstanding_r2t: short(KeyId::MaxOutstandingR2T),
            data_pdu_in_order: yes(KeyId::DataPDUInOrder),
            data_sequence_in_order: yes(KeyId::DataSequenceInOrder),
            error_recovery_level: byte(KeyId::ErrorRecoveryLevel),
            protocol_level: byte(KeyId::ISCSIProtocolLevel),
        }
    }
}

impl DesiredParams {
    /// The value that this end offers or declares, within the range of the key.
    fn value(&self, key: KeyId) -> u32 {
        let value = match key {
            KeyId::HeaderDigest => self.header_digest as u32,
            KeyId::DataDigest => self.data_digest as u32,
            KeyId::MaxConnections => u32::from(self.max_connections),
            KeyId::InitialR2T => u32::from(self.initial_r2t),
            KeyId::ImmediateData => u32::from(self.immediate_data),
            KeyId::MaxRecvDataSegmentLength => self.max_recv,
            KeyId::MaxBurstLength => self.max_burst,
            KeyId::FirstBurstLength => self.first_burst.min(self.max_burst),
            KeyId::DefaultTime2Wait => u32::from(self.time2wait),
            KeyId::DefaultTime2Retain => u32::from(self.time2retain),
            KeyId::MaxOutstandingR2T => u32::from(self.max_outstanding_r2t),
            // Order costs nothing here, and neither end recovers.
            KeyId::DataPDUInOrder | KeyId::DataSequenceInOrder => 1,
            KeyId::ErrorRecoveryLevel | KeyId::TaskReporting => 0,
            KeyId::ISCSIProtocolLevel => 1,
        };
        KEYS[key as usize].clamp(value)
    }

    /// The digests that this end accepts, best first.
    fn digests(&self, key: KeyId) -> &'static [u32] {
        let wish = if key == KeyId::HeaderDigest { self.header_digest } else { self.data_digest };
        match wish {
            Digest::Never => &[rules::NONE],
            Digest::Allowed => &[rules::NONE, rules::CRC32C],
            Digest::Preferred => &[rules::CRC32C, rules::NONE],
            Digest::Required => &[rules::CRC32C],
        }
    }
}
