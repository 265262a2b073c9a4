//! What was negotiated for a connection, where its login left the numbers, and how PDUs are put together by it.

use super::control::Note;
use super::{Out, Transfer};
use crate::digest;
use crate::login::Login;
use crate::params::Params;
use crate::pdu::{BHS_LEN, Bhs, ScsiCommand, pad};

/// What was negotiated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The longest data segment that the target takes, in bytes.
    pub send_segment: u32,
    /// The longest data segment that this end has declared to take, in bytes.
    pub receive_segment: u32,
    /// FirstBurstLength in bytes.
    pub first_burst: u32,
    /// MaxBurstLength in bytes.
    pub max_burst: u32,
    /// Nothing but immediate data is sent unasked.
    pub initial_r2t: bool,
    /// Data goes with its command.
    pub immediate_data: bool,
    /// MaxOutstandingR2T.
    pub max_outstanding_r2t: u16,
    /// Headers carry digests.
    pub header_digest: bool,
    /// Data segments carry digests.
    pub data_digest: bool,
}

/// Where the login left the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The number of the next command.
    pub cmd_sn: u32,
    /// The last command that the target takes.
    pub max_cmd_sn: u32,
    /// The number of the next status.
    pub stat_sn: u32,
    /// The connection's number within the session.
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

impl From<&Login> for Start {
    fn from(login: &Login) -> Start {
        let Login { cmd_sn, max_cmd_sn, stat_sn, cid, .. } = *login;
        Start { cmd_sn, max_cmd_sn, stat_sn, cid }
    }
}

/// Data of a command that goes unasked.
pub(super) struct Early {
    /// With the command itself.
    pub immediate: u32,
    /// After it.
    pub unsolicited: u32,
}

impl Settings {
    pub(super) fn early(&self, transfer: Transfer) -> Early {
        let Transfer::Out(len) = transfer else { return Early { immediate: 0, unsolicited: 0 } };
        let early = len.min(self.first_burst);
        let immediate = if self.immediate_data { early.min(self.send_segment) } else { 0 };
        let unsolicited = if self.initial_r2t { 0 } else { early - immediate };
        Early { immediate, unsolicited }
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

    pub(super) fn put_note(&self, note: Note, exp_stat_sn: u32, out: &mut Vec<Out>) -> u32 {
        let Note { mut header, data } = note;
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
