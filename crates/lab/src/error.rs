//! Why a fabric could not be made, each with what to do.

use scenario::Diagnostics;
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// Why an emulated lab does not stand.
#[derive(Debug, Error)]
pub enum LabError {
    /// The lab is no graph.
    #[error("the lab cannot be built")]
    Scenario(#[from] Diagnostics),
    /// The plan cannot be carried out on any machine.
    #[error("{0}")]
    Plan(String),
    /// The kernel refuses namespaces.
    #[error(
        "an emulated lab needs network namespaces, which this user cannot make ({0}); run as root, or let users make them \
         (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)"
    )]
    Forbidden(String),
    /// A program is missing.
    #[error("an emulated lab needs `{0}`; install the package iproute2")]
    Missing(&'static str),
    /// `ip` or `tc` refused.
    #[error("{program} refused `{line}` for {node}: {problem}")]
    Refused {
        /// The program.
        program: &'static str,
        /// The line of its batch.
        line: String,
        /// The part of the lab.
        node: String,
        /// What it said.
        problem: String,
    },
    /// The guardian failed or died.
    #[error("the guardian of the lab failed: {0}")]
    Guardian(String),
    /// A file of ours.
    #[error("{}: {problem}", path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// What.
        problem: io::Error,
    },
    /// Another version of the same scenario stands.
    #[error("an older version of {0} stands; take it down first: wirespeed lab down {0}")]
    Other(String),
}
