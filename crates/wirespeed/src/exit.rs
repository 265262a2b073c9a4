//! How the program ends: five exit codes that other programs may rely on, and failures with their texts.

use crate::mistakes;
use crate::out;
use std::fmt::Display;
use std::process::ExitCode;

/// What an exit code says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done, and all goals met.
    Met,
    /// 1: a goal failed or is undecided, or verification found wrong data.
    GoalsNotMet,
    /// 2: a usage or scenario error; nothing was run.
    Usage,
    /// 3: the run could not be completed.
    Incomplete,
    /// 4: refused by the write guard; nothing was changed.
    Refused,
}

/// Why a command could not do its work.
#[derive(Debug)]
pub enum Failure {
    /// Mistakes in a scenario, each with its place.
    Scenario(scenario::Diagnostics),
    /// Anything else, with the exit code that it means.
    Other(Exit, String),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Met => 0,
            Exit::GoalsNotMet => 1,
            Exit::Usage => 2,
            Exit::Incomplete => 3,
            Exit::Refused => 4,
        })
    }
}

impl Failure {
    /// A usage error: the message says what would have been right.
    pub fn usage(message: impl Display) -> Failure {
        Failure::Other(Exit::Usage, message.to_string())
    }

    /// The run, or the reading of one, could not be completed.
    pub fn incomplete(message: impl Display) -> Failure {
        Failure::Other(Exit::Incomplete, message.to_string())
    }

    /// The exit code that this failure means.
    pub fn exit(&self) -> Exit {
        match self {
            Failure::Scenario(_) => Exit::Usage,
            Failure::Other(exit, _) => *exit,
        }
    }

    /// Prints the failure to stderr.
    pub fn print(&self) {
        match self {
            Failure::Scenario(diagnostics) => mistakes::print(diagnostics),
            Failure::Other(_, message) => out::note(format_args!("wirespeed: {message}")),
        }
    }
}

impl From<scenario::Diagnostics> for Failure {
    fn from(diagnostics: scenario::Diagnostics) -> Failure {
        Failure::Scenario(diagnostics)
    }
}

impl From<record::RecordError> for Failure {
    fn from(error: record::RecordError) -> Failure {
        Failure::incomplete(error)
    }
}
