//! The PDUs of RFC 7143, section 11, as typed values, parsed from headers and encoded into them, in both directions.
//!
//! Data segments are not handled here: a header has their length (`data_len`), and the owner of the bytes moves them.
//! As the RFC requires, reserved bits are ignored when read and zero when written, and reserved values of defined
//! fields are refused. Parsers never panic, and only a CDB of more than 16 bytes allocates.

mod codes;
mod command;
mod data;
mod header;
mod login;
mod manage;
mod notice;
mod text;

pub use codes::{
    AsyncEvent, LoginStatus, LogoutOutcome, LogoutReason, Opcode, RejectReason, ServiceResponse,
    SnackType, Stage, TaskAttribute, TaskFunction, TaskOutcome,
};
pub use command::{Cdb, MAX_CDB, Residual, ScsiCommand, ScsiResponse, sense_segment};
pub use data::{DataIn, DataInStatus, DataOut, R2t, Snack};
pub use header::{
    BHS_LEN, Bhs, Lengths, Lun, MAX_AHS, MAX_DATA, RESERVED_TAG, Sequence, opcode, pad, precedes,
    task_tag,
};
pub use login::{Isid, LoginRequest, LoginResponse};
pub use manage::{LogoutRequest, LogoutResponse, TaskRequest, TaskResponse};
pub use notice::{AsyncMessage, NopIn, NopOut, Reject};
pub use text::{TextRequest, TextResponse};

/// Why a header is invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The opcode is undefined, or belongs to the other direction.
    #[error("opcode {0:#04x} is not defined in this direction")]
    Opcode(u8),
    /// A field has a reserved value, or one that contradicts another field.
    #[error("{opcode:?}: {field} must not be {value:#x} here")]
    Field {
        /// The PDU type.
        opcode: Opcode,
        /// The field's name in RFC 7143.
        field: &'static str,
        /// Its value.
        value: u32,
    },
    /// Additional header segments are truncated, of an unknown type, repeated, or not allowed.
    #[error("{opcode:?}: its additional header segments are wrong: {what}")]
    Ahs {
        /// The PDU type.
        opcode: Opcode,
        /// The error.
        what: &'static str,
    },
}

impl Malformed {
    /// The reason of the Reject for such a PDU.
    pub fn reject_reason(&self) -> RejectReason {
        match self {
            Malformed::Opcode(_) => RejectReason::CommandNotSupported,
            Malformed::Field { .. } => RejectReason::InvalidPduField,
            Malformed::Ahs { .. } => RejectReason::ProtocolError,
        }
    }

    const fn field(opcode: Opcode, field: &'static str, value: u32) -> Malformed {
        Malformed::Field { opcode, field, value }
    }
}

/// Refuses a data segment where none is allowed.
fn no_data(opcode: Opcode, bhs: &Bhs) -> Result<(), Malformed> {
    match Lengths::of(bhs).data {
        0 => Ok(()),
        len => Err(Malformed::field(opcode, "DataSegmentLength", len)),
    }
}

/// The PDUs of one direction as an enum, with conversions from and to a header.
macro_rules! direction {
    ($(#[$about:meta])* pub enum $name:ident { $( $(#[$what:meta])* $variant:ident($type:ty), )+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[$what])* $variant($type), )+ }

        impl $name {
            /// Parses a header. `ahs` holds its additional segments, without digest.
            /// # Errors
            /// [`Malformed`] names the invalid field.
            pub fn parse(bhs: &Bhs, ahs: &[u8]) -> Result<$name, Malformed> {
                let opcode = opcode(bhs)?;
                if ahs.len() != Lengths::of(bhs).ahs {
                    return Err(Malformed::Ahs { opcode, what: "not as long as TotalAHSLength says" });
                }
                if !ahs.is_empty() && opcode != Opcode::ScsiCommand {
                    return Err(Malformed::Ahs { opcode, what: "only a SCSI command has any" });
                }
                match opcode {
                    $( <$type>::OPCODE => <$type>::parse(bhs, ahs).map($name::$variant), )+
                    other => Err(Malformed::Opcode(other.code())),
                }
            }

            /// Encodes the header. [`ScsiCommand::put_ahs`] writes a SCSI command's additional header segments.
            pub fn encode(&self) -> Bhs {
                match self { $( $name::$variant(pdu) => pdu.encode(), )+ }
            }
        }
        $( impl From<$type> for $name {
            fn from(pdu: $type) -> $name {
                $name::$variant(pdu)
            }
        } )+
    };
}

direction! {
    /// PDUs of an initiator.
    pub enum Request {
        /// A ping, or the answer to one.
        NopOut(NopOut),
        /// A SCSI command.
        Command(ScsiCommand),
        /// A task management function.
        Task(TaskRequest),
        /// A login request.
        Login(LoginRequest),
        /// A text request.
        Text(TextRequest),
        /// Data of a write.
        DataOut(DataOut),
        /// A logout request.
        Logout(LogoutRequest),
        /// A retransmission request or an acknowledgement.
        Snack(Snack),
    }
}

direction! {
    /// PDUs of a target.
    pub enum Response {
        /// A ping, or the answer to one.
        NopIn(NopIn),
        /// A SCSI response.
        Command(ScsiResponse),
        /// A task management response.
        Task(TaskResponse),
        /// A login response.
        Login(LoginResponse),
        /// A text response.
        Text(TextResponse),
        /// Data of a read.
        DataIn(DataIn),
        /// A logout response.
        Logout(LogoutResponse),
        /// A request for data of a write.
        R2t(R2t),
        /// An asynchronous message.
        Async(AsyncMessage),
        /// A rejected PDU.
        Reject(Reject),
    }
}
