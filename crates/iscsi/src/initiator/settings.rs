//! Negotiated parameters and initial numbers of a connection, and how PDUs are encoded with them.

use super::control::QueuedPdu;
use super::{Out, Transfer};
use crate::digest;
use crate::login::Login;
use crate::params::Params;
use crate::pdu::{BHS_LEN, Bhs, ScsiCommand, pad};

/// Negotiated parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Longest data segment that the target accepts, in bytes.
    pub send_segment: u32,
    /// Longest data segment that this end accepts, in bytes.
    pub receive_segment: u32,
    /// FirstBurstLength in bytes.
    pub first_burst: u32,
    /// MaxBurstLength in bytes.
    pub max_burst: u32,
    /// InitialR2T: only immediate data is sent unsolicited.
    pub initial_r2t: bool,
    /// ImmediateData: a command may carry data.
    pub immediate_data: bool,
    /// MaxOutstandingR2T.
    pub max_outstanding_r2t: u16,
    /// Headers carry digests.
    pub header_digest: bool,
    /// Data segments carry digests.
    pub data_digest: bool,
}

/// The sequence numbers after the login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginNumbers {
    /// CmdSN of the next command.
    pub cmd_sn: u32,
    /// MaxCmdSN.
    pub max_cmd_sn: u32,
    /// The next StatSN.
    pub stat_sn: u32,
    /// The CID of the connection.
    pub cid: u16,
}

impl From<&Params> for Settings {
    fn from(params: &Params) -> Settings {
        Settings {
            send_segment: params.max_send,
            receive_segment: params.max_recv,
            first_burst: params.first_burst,
            max_burst: params.max_burst,
            initial_r2t: params.initial_r2t,
            immediate_data: params.immediate_data,
            max_outstanding_r2t: params.max_outstanding_r2t,
            header_digest: params.header_digest,
            data_digest: params.data_digest,
        }
    }
}

impl From<&Login> for LoginNumbers {
    fn from(login: &Login) -> LoginNumbers {
        let Login { cmd_sn, max_cmd_sn, stat_sn, cid, .. } = *login;
        LoginNumbers { cmd_sn, max_cmd_sn, stat_sn, cid }
    }
}

/// The unsolicited data of a command.
pub(super) struct UnsolicitedData {
    /// Immediate data in bytes.
    pub immediate: u32,
    /// Unsolicited Data-Out after the command, in bytes.
    pub unsolicited: u32,
}

impl Settings {
    pub(super) fn early(&self, transfer: Transfer) -> UnsolicitedData {
        let Transfer::Out(len) = transfer else {
            return UnsolicitedData { immediate: 0, unsolicited: 0 };
        };
        let early = len.min(self.first_burst);
        let immediate = if self.immediate_data { early.min(self.send_segment) } else { 0 };
        let unsolicited = if self.initial_r2t { 0 } else { early - immediate };
        UnsolicitedData { immediate, unsolicited }
    }

    #[inline]
    pub(super) fn put_header(&self, header: &Bhs, out: &mut Vec<Out>) {
        let mut bytes = [0; 52];
        bytes[..BHS_LEN].copy_from_slice(header);
        let len = if self.header_digest {
            bytes[BHS_LEN..].copy_from_slice(&digest::of(header));
            52
        } else {
            48
        };
        out.push(Out::Header { bytes, len });
    }

    pub(super) fn put_segment(&self, data: Out, len: u32, out: &mut Vec<Out>) {
        out.push(data);
        let pad = pad(len);
        if pad > 0 || self.data_digest {
            out.push(Out::Trailer { pad, digest: self.data_digest });
        }
    }

    pub(super) fn put_note(&self, note: QueuedPdu, exp_stat_sn: u32, out: &mut Vec<Out>) -> u32 {
        let QueuedPdu { mut header, data } = note;
        header[28..32].copy_from_slice(&exp_stat_sn.to_be_bytes());
        self.put_header(&header, out);
        let Some(data) = data else { return BHS_LEN as u32 };
        let len = data.len() as u32;
        self.put_segment(Out::Bytes(data), len, out);
        BHS_LEN as u32 + len
    }

    pub(super) fn put_command(
        &self,
        slot: u32,
        pdu: ScsiCommand,
        exp_stat_sn: u32,
        out: &mut Vec<Out>,
    ) -> u32 {
        let len = pdu.data_len;
        self.put_header(&ScsiCommand { exp_stat_sn, ..pdu }.encode(), out);
        if len > 0 {
            self.put_segment(Out::Data { slot, offset: 0, len }, len, out);
        }
        BHS_LEN as u32 + len
    }
}
