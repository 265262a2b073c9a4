//! The PDUs of RFC 7143, section 11, as typed values: parsed from a header and written into one, in both directions.
//!
//! Only headers are here. A data segment never passes through: a header says how long it is (`data_len`), and whoever owns
//! the bytes moves them. As the RFC demands, reserved bits are ignored when read and zero when written, and reserved values
//! of defined fields are refused. No bytes make a parser panic, and none allocates but for a CDB of more than 16 bytes.

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

/// Why a header is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// The opcode is not defined, or belongs to the other direction.
    #[error("opcode {0:#04x} is not defined in this direction")]
    Opcode(u8),
    /// A field has a value that is reserved or that contradicts another field.
    #[error("{opcode:?}: {field} must not be {value:#x} here")]
    Field {
        /// The kind of the PDU.
        opcode: Opcode,
        /// The field by its name in RFC 7143.
        field: &'static str,
        /// What it holds.
        value: u32,
    },
    /// Additional header segments are cut off, of an unknown type, repeated, or where none may stand.
    #[error("{opcode:?}: its additional header segments are wrong: {what}")]
    Ahs {
        /// The kind of the PDU.
        opcode: Opcode,
        /// What is wrong.
        what: &'static str,
    },
}

impl Malformed {
    /// With which reason a target refuses such a PDU.
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

/// Refuses a data segment where none may be.
fn no_data(opcode: Opcode, bhs: &Bhs) -> Result<(), Malformed> {
    match Lengths::of(bhs).data {
        0 => Ok(()),
        len => Err(Malformed::field(opcode, "DataSegmentLength", len)),
    }
}

/// One direction's PDUs as an enum, with the way from and to a header.
macro_rules! direction {
    ($(#[$about:meta])* pub enum $name:ident { $( $(#[$what:meta])* $variant:ident($type:ty), )+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[$what])* $variant($type), )+ }

        impl $name {
            /// Understands a header. `ahs` is what follows it, without its digest.
            ///
            /// # Errors
            /// [`Malformed`] says which field is wrong.
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

            /// The header that says this. A SCSI command's additional header segments are written by
            /// [`ScsiCommand::put_ahs`].
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
    /// What an initiator sends.
    pub enum Request {
        /// A ping, or the answer to one.
        NopOut(NopOut),
        /// A SCSI command.
        Command(ScsiCommand),
        /// A task management function.
        Task(TaskRequest),
        /// A step of the login.
        Login(LoginRequest),
        /// Text.
        Text(TextRequest),
        /// Data of a write.
        DataOut(DataOut),
        /// The end of a connection or of the session.
        Logout(LogoutRequest),
        /// A request to send something again.
        Snack(Snack),
    }
}

direction! {
    /// What a target sends.
    pub enum Response {
        /// A ping, or the answer to one.
        NopIn(NopIn),
        /// The end of a SCSI command.
        Command(ScsiResponse),
        /// The end of a task management function.
        Task(TaskResponse),
        /// A step of the login.
        Login(LoginResponse),
        /// Text.
        Text(TextResponse),
        /// Data of a read.
        DataIn(DataIn),
        /// The answer to a logout.
        Logout(LogoutResponse),
        /// A request for data of a write.
        R2t(R2t),
        /// An event.
        Async(AsyncMessage),
        /// A PDU was refused.
        Reject(Reject),
    }
}
