//! Login requests and responses (RFC 7143, sections 11.12 and 11.13).

use super::header::{CONTINUE, FINAL, be16, be32, begin, bit, put16, put32};
use super::{Bhs, Lengths, LoginStatus, Malformed, Opcode, Sequence, Stage};

/// The T bit, which requests or grants the transition to the next stage.
const TRANSIT: u8 = FINAL;

/// The initiator's part of a session identifier: with both names and the portal group it identifies a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Isid(pub [u8; 6]);

impl std::fmt::Display for Isid {
    /// In the RFC's format for port names: `0x` and twelve digits.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("0x")?;
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Continuation, the current stage, and the next stage if there is a transition.
type Flags = (bool, Stage, Option<Stage>);

fn flags(opcode: Opcode, byte: u8) -> Result<Flags, Malformed> {
    let (transit, goes_on) = (byte & TRANSIT != 0, byte & CONTINUE != 0);
    let stage = |code: u8, field| {
        Stage::from_code(code & 3).ok_or(Malformed::field(opcode, field, u32::from(code & 3)))
    };
    if transit && goes_on {
        return Err(Malformed::field(opcode, "T and C", u32::from(byte)));
    }
    let current = stage(byte >> 2, "CSG")?;
    let next = if transit { Some(stage(byte, "NSG")?) } else { None };
    if current == Stage::FullFeature {
        return Err(Malformed::field(opcode, "CSG", u32::from(current.code())));
    }
    match next {
        Some(next) if next <= current => {
            Err(Malformed::field(opcode, "NSG", u32::from(next.code())))
        }
        next => Ok((goes_on, current, next)),
    }
}

fn flag_byte(goes_on: bool, current: Stage, next: Option<Stage>) -> u8 {
    let next = next.map_or(0, |next| TRANSIT | next.code());
    bit(CONTINUE, goes_on) | current.code() << 2 | next
}

/// A step of the initiator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginRequest {
    /// The text continues in the next request; then there is no next stage.
    pub goes_on: bool,
    /// The stage of this request.
    pub stage: Stage,
    /// The stage that the initiator wants to move to (the T bit); later than `stage`.
    pub next: Option<Stage>,
    /// The highest version that the initiator supports; 0.
    pub version_max: u8,
    /// The lowest version that the initiator supports; 0.
    pub version_min: u8,
    /// The ISID.
    pub isid: Isid,
    /// The TSIH: 0 for a new session.
    pub tsih: u16,
    /// The initiator task tag, the same in all requests of a login.
    pub task_tag: u32,
    /// The CID of the connection.
    pub cid: u16,
    /// CmdSN of the first command, or of the next one in an existing session.
    pub cmd_sn: u32,
    /// ExpStatSN; meaningless in the first request.
    pub exp_stat_sn: u32,
    /// Bytes of text.
    pub data_len: u32,
}

impl LoginRequest {
    pub(super) const OPCODE: Opcode = Opcode::LoginRequest;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<LoginRequest, Malformed> {
        let (goes_on, stage, next) = flags(Self::OPCODE, bhs[1])?;
        Ok(LoginRequest {
            goes_on,
            stage,
            next,
            version_max: bhs[2],
            version_min: bhs[3],
            isid: Isid([bhs[8], bhs[9], bhs[10], bhs[11], bhs[12], bhs[13]]),
            tsih: be16(bhs, 14),
            task_tag: be32(bhs, 16),
            cid: be16(bhs, 20),
            cmd_sn: be32(bhs, 24),
            exp_stat_sn: be32(bhs, 28),
            data_len: Lengths::of(bhs).data,
        })
    }

    /// The header. A login is always immediate.
    pub fn encode(&self) -> Bhs {
        let flags = flag_byte(self.goes_on, self.stage, self.next);
        let mut bhs = begin(Self::OPCODE, true, flags, self.data_len);
        bhs[2] = self.version_max;
        bhs[3] = self.version_min;
        bhs[8..14].copy_from_slice(&self.isid.0);
        put16(&mut bhs, 14, self.tsih);
        put32(&mut bhs, 16, self.task_tag);
        put16(&mut bhs, 20, self.cid);
        put32(&mut bhs, 24, self.cmd_sn);
        put32(&mut bhs, 28, self.exp_stat_sn);
        bhs
    }
}

/// A step of the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoginResponse {
    /// The text continues in the next response; then there is no next stage.
    pub goes_on: bool,
    /// The stage of this response.
    pub stage: Stage,
    /// The stage that both ends move to now (the T bit).
    pub next: Option<Stage>,
    /// The highest version that the target supports; 0.
    pub version_max: u8,
    /// The active version; 0.
    pub version_active: u8,
    /// The ISID.
    pub isid: Isid,
    /// The TSIH; not 0 in the last response of a successful login.
    pub tsih: u16,
    /// The initiator task tag of the request.
    pub task_tag: u32,
    /// The usual numbers.
    pub sequence: Sequence,
    /// The status of the login.
    pub status: LoginStatus,
    /// Bytes of text.
    pub data_len: u32,
}

impl LoginResponse {
    pub(super) const OPCODE: Opcode = Opcode::LoginResponse;

    pub(super) fn parse(bhs: &Bhs, _ahs: &[u8]) -> Result<LoginResponse, Malformed> {
        let status = LoginStatus::new(bhs[36], bhs[37]);
        // Section 11.13: in a response that reports an error only the status is meaningful.
        let (goes_on, stage, next) = match flags(Self::OPCODE, bhs[1]) {
            Err(_) if !status.is_success() => (false, Stage::Security, None),
            flags => flags?,
        };
        Ok(LoginResponse {
            goes_on,
            stage,
            next,
            version_max: bhs[2],
            version_active: bhs[3],
            isid: Isid([bhs[8], bhs[9], bhs[10], bhs[11], bhs[12], bhs[13]]),
            tsih: be16(bhs, 14),
            task_tag: be32(bhs, 16),
            sequence: Sequence::parse(bhs),
            status,
            data_len: Lengths::of(bhs).data,
        })
    }

    /// The header.
    pub fn encode(&self) -> Bhs {
        let flags = flag_byte(self.goes_on, self.stage, self.next);
        let mut bhs = begin(Self::OPCODE, false, flags, self.data_len);
        bhs[2] = self.version_max;
        bhs[3] = self.version_active;
        bhs[8..14].copy_from_slice(&self.isid.0);
        put16(&mut bhs, 14, self.tsih);
        put32(&mut bhs, 16, self.task_tag);
        self.sequence.put(&mut bhs);
        bhs[36] = self.status.class;
        bhs[37] = self.status.detail;
        bhs
    }
}
