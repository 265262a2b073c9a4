//! The numbers of RFC 7143 that a PDU's fields may hold: opcodes, functions, reasons, events, statuses.
//!
//! A value that the RFC reserves has no variant, so that whoever reads one cannot forget to refuse it (RFC 7143, section 11:
//! reserved code values are a protocol error).

/// An enum of one-byte codes, with its way to the byte and back.
macro_rules! codes {
    (
        $(#[$about:meta])*
        pub enum $name:ident { $( $(#[$what:meta])* $variant:ident = $code:literal, )+ }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name { $( $(#[$what])* $variant = $code, )+ }

        impl $name {
            /// Every value that there is, in the order of the codes.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )+];

            /// The code on the wire.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// What a code on the wire means; nothing if it is reserved.
            pub const fn from_code(code: u8) -> Option<$name> {
                match code {
                    $( $code => Some($name::$variant), )+
                    _ => None,
                }
            }
        }
    };
}

codes! {
    /// What kind of PDU it is: the low six bits of its first byte (section 11.2.1.2).
    pub enum Opcode {
        /// A ping, or the answer to the target's ping.
        NopOut = 0x00,
        /// A SCSI command.
        ScsiCommand = 0x01,
        /// A task management function.
        TaskRequest = 0x02,
        /// A step of the login.
        LoginRequest = 0x03,
        /// Text, such as SendTargets.
        TextRequest = 0x04,
        /// Data of a write.
        DataOut = 0x05,
        /// The end of a connection or of the session.
        LogoutRequest = 0x06,
        /// A request to send something again.
        Snack = 0x10,
        /// A ping, or the answer to the initiator's ping.
        NopIn = 0x20,
        /// The end of a SCSI command.
        ScsiResponse = 0x21,
        /// The end of a task management function.
        TaskResponse = 0x22,
        /// A step of the login.
        LoginResponse = 0x23,
        /// Text, such as a list of targets.
        TextResponse = 0x24,
        /// Data of a read.
        DataIn = 0x25,
        /// The answer to a logout.
        LogoutResponse = 0x26,
        /// Ready to transfer: a request for data of a write.
        R2t = 0x31,
        /// An event that nobody asked for.
        AsyncMessage = 0x32,
        /// A PDU was refused.
        Reject = 0x3f,
    }
}

codes! {
    /// In which order a task may run (section 11.3.1, SAM-5).
    pub enum TaskAttribute {
        /// The initiator leaves it to the target.
        Untagged = 0,
        /// In any order.
        Simple = 1,
        /// After all that came before it, and before all that comes after it.
        Ordered = 2,
        /// Before everything that has not begun yet.
        HeadOfQueue = 3,
        /// Allowed while an auto contingent allegiance is established.
        Aca = 4,
    }
}

codes! {
    /// How the delivery of a SCSI command ended (section 11.4.3).
    pub enum ServiceResponse {
        /// The device server has answered; the status byte says how.
        Completed = 0x00,
        /// The target could not carry the command to the end; there is no status.
        TargetFailure = 0x01,
    }
}

codes! {
    /// How a task management function ended (section 11.6.1).
    pub enum TaskOutcome {
        /// It is done.
        Complete = 0x00,
        /// The referenced task is not there.
        NoTask = 0x01,
        /// The logical unit is not there.
        NoLun = 0x02,
        /// The task still belongs to a connection that lives.
        StillAllegiant = 0x03,
        /// Tasks cannot be moved to another connection.
        NoReassignment = 0x04,
        /// The target does not know this function.
        NotSupported = 0x05,
        /// The initiator may not ask for this.
        NotAuthorized = 0x06,
        /// RFC 7144: the function succeeded and its answer is yes.
        Succeeded = 0x07,
        /// It was refused for another reason.
        Rejected = 0xff,
    }
}

codes! {
    /// What an initiator wants to end (section 11.14.1).
    pub enum LogoutReason {
        /// The session with all its connections.
        CloseSession = 0,
        /// One connection and its tasks.
        CloseConnection = 1,
        /// One connection, whose tasks are to be reassigned.
        RemoveForRecovery = 2,
    }
}

codes! {
    /// How a logout ended (section 11.15.1).
    pub enum LogoutOutcome {
        /// The connection or session is closed.
        Closed = 0,
        /// The session has no such connection.
        NoConnection = 1,
        /// Recovery of connections is not supported: error recovery level below 2.
        NoRecovery = 2,
        /// Cleaning up failed.
        CleanupFailed = 3,
    }
}

codes! {
    /// What an initiator wants to be sent again (section 11.16.1).
    pub enum SnackType {
        /// Data-In or R2T PDUs.
        DataOrR2t = 0,
        /// Responses.
        Status = 1,
        /// Nothing: Data-In PDUs are acknowledged.
        DataAck = 2,
        /// Data-In PDUs, cut anew.
        Resegmented = 3,
    }
}

codes! {
    /// What a target tells unasked (section 11.9.1).
    pub enum AsyncEvent {
        /// Sense data about a logical unit.
        Scsi = 0,
        /// The target asks for a logout.
        RequestLogout = 1,
        /// The target will drop a connection.
        DropConnection = 2,
        /// The target will drop all connections of the session.
        DropSession = 3,
        /// The target asks for a negotiation of parameters.
        RequestNegotiation = 4,
        /// All tasks of a logical unit are being ended by another initiator.
        TasksTerminated = 5,
        /// Something that the vendor defined.
        Vendor = 255,
    }
}

codes! {
    /// Why a PDU was refused (section 11.17.1).
    pub enum RejectReason {
        /// Its data does not match its digest.
        DataDigestError = 0x02,
        /// What it asks for cannot be sent again.
        SnackReject = 0x03,
        /// It breaks a rule of the protocol.
        ProtocolError = 0x04,
        /// Its opcode or command is not supported.
        CommandNotSupported = 0x05,
        /// Too many immediate commands are under way.
        ImmediateCommandReject = 0x06,
        /// A task with this tag is under way.
        TaskInProgress = 0x07,
        /// It acknowledges data that was not sent.
        InvalidDataAck = 0x08,
        /// One of its fields has a value that it must not have.
        InvalidPduField = 0x09,
        /// There is no room for it at the moment.
        LongOperationReject = 0x0a,
        /// Only a logout is allowed now.
        WaitingForLogout = 0x0c,
    }
}

codes! {
    /// A stage of the login (section 11.12.3).
    pub enum Stage {
        /// Who is who.
        Security = 0,
        /// What both ends can do.
        Operational = 1,
        /// The login is over.
        FullFeature = 3,
    }
}

/// A task management function (section 11.5.1, and RFC 7144). One that nobody has defined is kept, because the answer to it
/// is a response (`TaskOutcome::NotSupported`) and not a protocol error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskFunction {
    /// Ends the referenced task.
    AbortTask,
    /// Ends all tasks of this nexus on a logical unit.
    AbortTaskSet,
    /// Ends an auto contingent allegiance.
    ClearAca,
    /// Ends all tasks of a logical unit.
    ClearTaskSet,
    /// Resets a logical unit.
    LogicalUnitReset,
    /// Resets all logical units.
    TargetWarmReset,
    /// Resets all logical units and drops all sessions.
    TargetColdReset,
    /// Moves a task to this connection.
    TaskReassign,
    /// RFC 7144: is the referenced task there?
    QueryTask,
    /// RFC 7144: is there any task of this nexus on a logical unit?
    QueryTaskSet,
    /// RFC 7144: ends all tasks of this nexus.
    NexusReset,
    /// RFC 7144: is there a unit attention or a deferred error?
    QueryAsyncEvent,
    /// A code that has no meaning; below 128.
    Other(u8),
}

impl TaskFunction {
    /// The code on the wire; seven bits.
    pub const fn code(self) -> u8 {
        match self {
            TaskFunction::AbortTask => 1,
            TaskFunction::AbortTaskSet => 2,
            TaskFunction::ClearAca => 3,
            TaskFunction::ClearTaskSet => 4,
            TaskFunction::LogicalUnitReset => 5,
            TaskFunction::TargetWarmReset => 6,
            TaskFunction::TargetColdReset => 7,
            TaskFunction::TaskReassign => 8,
            TaskFunction::QueryTask => 9,
            TaskFunction::QueryTaskSet => 10,
            TaskFunction::NexusReset => 11,
            TaskFunction::QueryAsyncEvent => 12,
            TaskFunction::Other(code) => code & 0x7f,
        }
    }

    /// What a code on the wire means; its highest bit is not looked at.
    pub const fn from_code(code: u8) -> TaskFunction {
        match code & 0x7f {
            1 => TaskFunction::AbortTask,
            2 => TaskFunction::AbortTaskSet,
            3 => TaskFunction::ClearAca,
            4 => TaskFunction::ClearTaskSet,
            5 => TaskFunction::LogicalUnitReset,
            6 => TaskFunction::TargetWarmReset,
            7 => TaskFunction::TargetColdReset,
            8 => TaskFunction::TaskReassign,
            9 => TaskFunction::QueryTask,
            10 => TaskFunction::QueryTaskSet,
            11 => TaskFunction::NexusReset,
            12 => TaskFunction::QueryAsyncEvent,
            other => TaskFunction::Other(other),
        }
    }
}

/// How a step of the login ended: class and detail (section 11.13.5). Kept as numbers, because an initiator has to go by the
/// class alone where it does not know the detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoginStatus {
    /// 0 success, 1 redirection, 2 the initiator's error, 3 the target's error.
    pub class: u8,
    /// What exactly, within its class.
    pub detail: u8,
}

impl LoginStatus {
    /// It goes on, or is over.
    pub const SUCCESS: LoginStatus = LoginStatus::new(0, 0);
    /// The target has moved for the time being; `TargetAddress` says where to.
    pub const MOVED_TEMPORARILY: LoginStatus = LoginStatus::new(1, 1);
    /// The target has moved for good; `TargetAddress` says where to.
    pub const MOVED_PERMANENTLY: LoginStatus = LoginStatus::new(1, 2);
    /// The initiator made a mistake that has no status of its own.
    pub const INITIATOR_ERROR: LoginStatus = LoginStatus::new(2, 0);
    /// The initiator could not prove who it is.
    pub const AUTHENTICATION_FAILURE: LoginStatus = LoginStatus::new(2, 1);
    /// The initiator may not use this target.
    pub const AUTHORIZATION_FAILURE: LoginStatus = LoginStatus::new(2, 2);
    /// There is no such target here.
    pub const NOT_FOUND: LoginStatus = LoginStatus::new(2, 3);
    /// The target is gone for good.
    pub const TARGET_REMOVED: LoginStatus = LoginStatus::new(2, 4);
    /// No version of the protocol suits both.
    pub const UNSUPPORTED_VERSION: LoginStatus = LoginStatus::new(2, 5);
    /// The session has as many connections as it may have.
    pub const TOO_MANY_CONNECTIONS: LoginStatus = LoginStatus::new(2, 6);
    /// A key that the login needs did not come.
    pub const MISSING_PARAMETER: LoginStatus = LoginStatus::new(2, 7);
    /// The session cannot take in a connection that enters here.
    pub const CANNOT_INCLUDE: LoginStatus = LoginStatus::new(2, 8);
    /// The target does not do this kind of session.
    pub const SESSION_TYPE_NOT_SUPPORTED: LoginStatus = LoginStatus::new(2, 9);
    /// The session that a connection was to join is not there.
    pub const NO_SESSION: LoginStatus = LoginStatus::new(2, 10);
    /// A request of this kind cannot stand here.
    pub const INVALID_DURING_LOGIN: LoginStatus = LoginStatus::new(2, 11);
    /// The target is broken.
    pub const TARGET_ERROR: LoginStatus = LoginStatus::new(3, 0);
    /// The target does not serve at the moment.
    pub const SERVICE_UNAVAILABLE: LoginStatus = LoginStatus::new(3, 1);
    /// The target has no room for another session, connection or command.
    pub const OUT_OF_RESOURCES: LoginStatus = LoginStatus::new(3, 2);

    /// Any class and detail.
    pub const fn new(class: u8, detail: u8) -> LoginStatus {
        LoginStatus { class, detail }
    }

    /// Whether the login goes on.
    pub const fn is_success(self) -> bool {
        self.class == 0
    }

    /// Whether to log in elsewhere.
    pub const fn is_redirection(self) -> bool {
        self.class == 1
    }
}

impl std::fmt::Display for LoginStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match (self.class, self.detail) {
            (0, _) => "success",
            (1, 1) => "the target has moved temporarily",
            (1, 2) => "the target has moved permanently",
            (1, _) => "the target has moved",
            (2, 1) => "authentication failed: check the user's name and the secret",
            (2, 2) => "this initiator may not use the target",
            (2, 3) => "there is no such target",
            (2, 4) => "the target has been removed",
            (2, 5) => "no version of iSCSI suits both ends",
            (2, 6) => "the session has too many connections",
            (2, 7) => "a key that the login needs is missing",
            (2, 8) => "the session cannot take in this connection",
            (2, 9) => "the target does not do this type of session",
            (2, 10) => "the session to join is not there",
            (2, 11) => "a request that a login must not hold",
            (2, _) => "the initiator made a mistake",
            (3, 1) => "the target does not serve at the moment",
            (3, 2) => "the target is out of resources",
            (3, _) => "the target has failed",
            _ => "a status of an unknown class",
        };
        write!(f, "{what} (status {:02x}{:02x})", self.class, self.detail)
    }
}
