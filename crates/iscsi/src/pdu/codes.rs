//! The codes of PDU fields in RFC 7143: opcodes, functions, reasons, events, statuses.
//!
//! A reserved value has no variant, so every reader must refuse it (RFC 7143, section 11: a protocol error).

/// An enum of one-byte codes, with conversions in both directions.
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
            /// All values, in order of their codes.
            pub const ALL: &'static [$name] = &[$( $name::$variant, )+];

            /// The code on the wire.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// Decodes a wire code; `None` if it is reserved.
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
    /// The PDU type: the low six bits of the first byte (section 11.2.1.2).
    pub enum Opcode {
        /// NOP-Out: a ping, or the answer to the target's ping.
        NopOut = 0x00,
        /// A SCSI command.
        ScsiCommand = 0x01,
        /// A task management function.
        TaskRequest = 0x02,
        /// A login request.
        LoginRequest = 0x03,
        /// A text request, such as SendTargets.
        TextRequest = 0x04,
        /// Data of a write.
        DataOut = 0x05,
        /// A logout request.
        LogoutRequest = 0x06,
        /// SNACK: a retransmission request or an acknowledgement.
        Snack = 0x10,
        /// NOP-In: a ping, or the answer to the initiator's ping.
        NopIn = 0x20,
        /// A SCSI response.
        ScsiResponse = 0x21,
        /// A task management response.
        TaskResponse = 0x22,
        /// A login response.
        LoginResponse = 0x23,
        /// A text response, such as a list of targets.
        TextResponse = 0x24,
        /// Data of a read.
        DataIn = 0x25,
        /// A logout response.
        LogoutResponse = 0x26,
        /// Ready to transfer: a request for data of a write.
        R2t = 0x31,
        /// An asynchronous message.
        AsyncMessage = 0x32,
        /// A rejected PDU.
        Reject = 0x3f,
    }
}

codes! {
    /// The task attribute (section 11.3.1, SAM-5).
    pub enum TaskAttribute {
        /// Untagged: the target chooses.
        Untagged = 0,
        /// Simple: in any order.
        Simple = 1,
        /// Ordered: after all earlier and before all later tasks.
        Ordered = 2,
        /// Head of queue: before all tasks that have not started.
        HeadOfQueue = 3,
        /// ACA: allowed during an auto contingent allegiance.
        Aca = 4,
    }
}

codes! {
    /// The delivery result of a SCSI command (section 11.4.3).
    pub enum ServiceResponse {
        /// The command completed at the target; the status byte has its result.
        Completed = 0x00,
        /// Target failure: the command did not complete, and there is no status.
        TargetFailure = 0x01,
    }
}

codes! {
    /// The result of a task management function (section 11.6.1).
    pub enum TaskOutcome {
        /// Function complete.
        Complete = 0x00,
        /// The referenced task does not exist.
        NoTask = 0x01,
        /// The logical unit does not exist.
        NoLun = 0x02,
        /// The task still belongs to an active connection.
        StillAllegiant = 0x03,
        /// Task reassignment is not supported.
        NoReassignment = 0x04,
        /// The function is not supported.
        NotSupported = 0x05,
        /// The initiator is not authorized.
        NotAuthorized = 0x06,
        /// RFC 7144: function succeeded; the answer is yes.
        Succeeded = 0x07,
        /// Function rejected.
        Rejected = 0xff,
    }
}

codes! {
    /// What a logout ends (section 11.14.1).
    pub enum LogoutReason {
        /// The session with all its connections.
        CloseSession = 0,
        /// One connection and its tasks.
        CloseConnection = 1,
        /// One connection, whose tasks will be reassigned.
        RemoveForRecovery = 2,
    }
}

codes! {
    /// The result of a logout (section 11.15.1).
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
    /// The type of a SNACK (section 11.16.1).
    pub enum SnackType {
        /// Data-In or R2T PDUs.
        DataOrR2t = 0,
        /// Responses.
        Status = 1,
        /// An acknowledgement of Data-In PDUs.
        DataAck = 2,
        /// Data-In PDUs with a new segmentation.
        Resegmented = 3,
    }
}

codes! {
    /// The event of an asynchronous message (section 11.9.1).
    pub enum AsyncEvent {
        /// Sense data about a logical unit.
        Scsi = 0,
        /// The target requests a logout.
        RequestLogout = 1,
        /// The target will drop a connection.
        DropConnection = 2,
        /// The target will drop all connections of the session.
        DropSession = 3,
        /// The target requests a negotiation of parameters.
        RequestNegotiation = 4,
        /// Another initiator ends all tasks of a logical unit.
        TasksTerminated = 5,
        /// A vendor-specific event.
        Vendor = 255,
    }
}

codes! {
    /// The reason of a Reject (section 11.17.1).
    pub enum RejectReason {
        /// Data digest error.
        DataDigestError = 0x02,
        /// SNACK reject: the PDU cannot be retransmitted.
        SnackReject = 0x03,
        /// Protocol error.
        ProtocolError = 0x04,
        /// Command not supported.
        CommandNotSupported = 0x05,
        /// Too many immediate commands.
        ImmediateCommandReject = 0x06,
        /// A task with this tag is in progress.
        TaskInProgress = 0x07,
        /// Invalid data acknowledgement.
        InvalidDataAck = 0x08,
        /// Invalid PDU field.
        InvalidPduField = 0x09,
        /// Out of resources.
        LongOperationReject = 0x0a,
        /// Only a logout is allowed now.
        WaitingForLogout = 0x0c,
    }
}

codes! {
    /// A login stage (section 11.12.3).
    pub enum Stage {
        /// Security negotiation.
        Security = 0,
        /// Operational negotiation.
        Operational = 1,
        /// Full-feature phase.
        FullFeature = 3,
    }
}

/// A task management function (section 11.5.1, and RFC 7144). Undefined codes are kept, because they are answered by
/// `TaskOutcome::NotSupported` and are no protocol error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TaskFunction {
    /// ABORT TASK.
    AbortTask,
    /// ABORT TASK SET: all tasks of this nexus on a logical unit.
    AbortTaskSet,
    /// CLEAR ACA.
    ClearAca,
    /// CLEAR TASK SET: all tasks of a logical unit.
    ClearTaskSet,
    /// LOGICAL UNIT RESET.
    LogicalUnitReset,
    /// TARGET WARM RESET: resets all logical units.
    TargetWarmReset,
    /// TARGET COLD RESET: resets all logical units and drops all sessions.
    TargetColdReset,
    /// TASK REASSIGN: moves a task to this connection.
    TaskReassign,
    /// QUERY TASK (RFC 7144): does the referenced task exist?
    QueryTask,
    /// QUERY TASK SET (RFC 7144): is there any task of this nexus on a logical unit?
    QueryTaskSet,
    /// I_T NEXUS RESET (RFC 7144): ends all tasks of this nexus.
    NexusReset,
    /// QUERY ASYNCHRONOUS EVENT (RFC 7144): is there a unit attention or a deferred error?
    QueryAsyncEvent,
    /// An undefined code, below 128.
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

    /// Decodes a wire code; the highest bit is ignored.
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

/// The status of a login response: class and detail (section 11.13.5). Kept as numbers, because an initiator must
/// handle unknown details by their class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoginStatus {
    /// 0 success, 1 redirection, 2 the initiator's error, 3 the target's error.
    pub class: u8,
    /// The detail within the class.
    pub detail: u8,
}

impl LoginStatus {
    /// Success: the login continues or is complete.
    pub const SUCCESS: LoginStatus = LoginStatus::new(0, 0);
    /// The target has moved temporarily; `TargetAddress` has the new address.
    pub const MOVED_TEMPORARILY: LoginStatus = LoginStatus::new(1, 1);
    /// The target has moved permanently; `TargetAddress` has the new address.
    pub const MOVED_PERMANENTLY: LoginStatus = LoginStatus::new(1, 2);
    /// Initiator error without a more specific status.
    pub const INITIATOR_ERROR: LoginStatus = LoginStatus::new(2, 0);
    /// Authentication failure.
    pub const AUTHENTICATION_FAILURE: LoginStatus = LoginStatus::new(2, 1);
    /// Authorization failure: the initiator may not use this target.
    pub const AUTHORIZATION_FAILURE: LoginStatus = LoginStatus::new(2, 2);
    /// Target not found.
    pub const NOT_FOUND: LoginStatus = LoginStatus::new(2, 3);
    /// Target removed.
    pub const TARGET_REMOVED: LoginStatus = LoginStatus::new(2, 4);
    /// Unsupported version.
    pub const UNSUPPORTED_VERSION: LoginStatus = LoginStatus::new(2, 5);
    /// Too many connections in the session.
    pub const TOO_MANY_CONNECTIONS: LoginStatus = LoginStatus::new(2, 6);
    /// Missing parameter.
    pub const MISSING_PARAMETER: LoginStatus = LoginStatus::new(2, 7);
    /// The session cannot include a connection through this portal.
    pub const CANNOT_INCLUDE: LoginStatus = LoginStatus::new(2, 8);
    /// The session type is not supported.
    pub const SESSION_TYPE_NOT_SUPPORTED: LoginStatus = LoginStatus::new(2, 9);
    /// The session does not exist.
    pub const NO_SESSION: LoginStatus = LoginStatus::new(2, 10);
    /// Invalid request during login.
    pub const INVALID_DURING_LOGIN: LoginStatus = LoginStatus::new(2, 11);
    /// Target error.
    pub const TARGET_ERROR: LoginStatus = LoginStatus::new(3, 0);
    /// Service unavailable.
    pub const SERVICE_UNAVAILABLE: LoginStatus = LoginStatus::new(3, 1);
    /// Out of resources for another session, connection or command.
    pub const OUT_OF_RESOURCES: LoginStatus = LoginStatus::new(3, 2);

    /// Any class and detail.
    pub const fn new(class: u8, detail: u8) -> LoginStatus {
        LoginStatus { class, detail }
    }

    /// Whether the login may continue.
    pub const fn is_success(self) -> bool {
        self.class == 0
    }

    /// Whether to log in to another address.
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
            (2, 7) => "a mandatory login key is missing",
            (2, 8) => "the session cannot include this connection",
            (2, 9) => "the target does not support this session type",
            (2, 10) => "the session to join does not exist",
            (2, 11) => "an invalid request during login",
            (2, _) => "the target reported an initiator error",
            (3, 1) => "the target's service is unavailable",
            (3, 2) => "the target is out of resources",
            (3, _) => "the target has failed",
            _ => "unknown status class",
        };
        write!(f, "{what} (status {:02x}{:02x})", self.class, self.detail)
    }
}
