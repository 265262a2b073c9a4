//! How the program ends: five exit codes that other programs may rely on, and failures with their texts.

use crate::mistakes;
use crate::out;
use std::fmt::Display;
use std::path::Path;
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
            Failure::Other(_, message) => {
                let proc = Path::new("/proc/self").exists();
                let hint = surroundings(message, proc).map(|hint| format!("; {hint}"));
                out::note(format_args!("wirespeed: {message}{}", hint.unwrap_or_default()));
            }
        }
    }
}

/// What the surroundings of this process have to do with a failure: the limits that it was given, or a `/proc` that is missing.
fn surroundings(message: &str, proc: bool) -> Option<&'static str> {
    let says = |text: &str| message.contains(text);
    match () {
        () if says("os error 24") || says("unable to open database file") => {
            Some("if it is the limit of open files (RLIMIT_NOFILE): raise `ulimit -n`")
        }
        // Signals have a thread of their own.
        () if says("os error 11)") || says("cannot catch signals") => {
            Some("if it is the limit of threads (RLIMIT_NPROC, pids.max): raise `ulimit -u`")
        }
        () if says("os error 2)") && !proc => Some("/proc is not mounted, and is needed"),
        () => None,
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

#[cfg(test)]
mod tests {
    use super::surroundings;

    #[test]
    fn a_limit_or_a_missing_place_is_named() {
        let hints = |message: &str| {
            [true, false].map(|proc| surroundings(message, proc).map(|hint| hint.contains("/proc")))
        };
        assert_eq!(
            hints("t cannot be opened (Too many open files (os error 24))"),
            [Some(false); 2]
        );
        assert_eq!(hints("an agent: Resource unavailable (os error 11)"), [Some(false); 2]);
        assert_eq!(hints("t cannot be opened (No such file (os error 2))"), [None, Some(true)]);
        assert_eq!(hints("connection refused (os error 111)"), [None; 2]);
    }
}
