//! Files of other programs. Workloads are read into scenarios: fio's job files, Iometer's configuration files, vdbench's
//! parameter files, and diskspd's command lines and XML profiles. Monitoring and results are read into records: [`monitor`].
//!
//! Text in, text out: a reader makes typed settings of a file, or all of its mistakes; a mapping makes a `Draft` of
//! them, and a [`Note`] for each setting that says whether the scenario means the same. Nothing is opened here, and
//! variables of the environment are asked of the caller.

#![forbid(unsafe_code)]

mod detect;
mod diskspd;
mod draft;
mod fio;
mod iometer;
mod mistake;
pub mod monitor;
mod note;
mod text;
mod toml;
mod vdbench;

pub use note::{Note, Severity};
pub use text::BYTES_MAX;

use scenario::{Diagnostics, Source};
use std::fmt;

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A configuration file of Iometer (`.icf`).
    Iometer,
    /// A job file of fio.
    Fio,
    /// A parameter file of vdbench.
    Vdbench,
    /// Command lines of diskspd, or its XML profiles, which VMFleet uses too.
    Diskspd,
}

impl Format {
    /// All of them.
    pub const ALL: [Format; 4] = [Format::Iometer, Format::Fio, Format::Vdbench, Format::Diskspd];

    /// The word for it on the command line.
    pub fn word(self) -> &'static str {
        match self {
            Format::Iometer => "icf",
            Format::Fio => "fio",
            Format::Vdbench => "vdbench",
            Format::Diskspd => "diskspd",
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Iometer => "Iometer configuration",
            Format::Fio => "fio job file",
            Format::Vdbench => "vdbench parameter file",
            Format::Diskspd => "diskspd command lines or profile",
        })
    }
}

/// What a file of another program may refer to outside of itself.
pub struct Surroundings<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// Processors of the machine that would run it.
    pub processors: u64,
}

/// A file as a scenario.
#[derive(Clone, Debug)]
pub struct Imported {
    /// Whose file it was.
    pub format: Format,
    /// The scenario's text.
    pub scenario: String,
    /// What became of each setting, by line.
    pub notes: Vec<Note>,
}

/// Why a file did not become a scenario.
#[derive(Debug)]
pub enum ImportError {
    /// The file is no text, or nothing of a workload is in it.
    Unreadable(String),
    /// It may be of several programs: the caller has to say.
    Ambiguous(Vec<Format>),
    /// Mistakes, each with its place in the file.
    Mistakes(Diagnostics),
    /// The scenario that was made has mistakes of its own: what the file asks for is out of a scenario's bounds.
    Refused(Diagnostics),
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ImportError::Unreadable(why) => f.write_str(why),
            ImportError::Ambiguous(formats) => {
                let all: Vec<String> =
                    formats.iter().map(|one| format!("`--as {}`", one.word())).collect();
                write!(f, "it could be of several programs: say which by {}", all.join(" or "))
            }
            ImportError::Mistakes(mistakes) => mistakes.fmt(f),
            ImportError::Refused(mistakes) => {
                write!(f, "the file asks for what a scenario cannot say:\n{mistakes}")
            }
        }
    }
}

impl std::error::Error for ImportError {}

/// Reads a file of another program: of `format`, or of the one that its content shows.
/// # Errors
/// The file is no text, is of no known or of several possible programs, has mistakes, or asks for what no scenario can say.
pub fn import(
    name: &str,
    bytes: &[u8],
    format: Option<Format>,
    around: &Surroundings<'_>,
) -> Result<Imported, ImportError> {
    let text = text::decode(bytes).map_err(ImportError::Unreadable)?;
    let format = match format {
        Some(format) => format,
        None => match detect::formats(&text)[..] {
            [one] => one,
            [] => return Err(ImportError::Unreadable(UNKNOWN.to_owned())),
            ref several => return Err(ImportError::Ambiguous(several.to_vec())),
        },
    };
    let (draft, notes) = match format {
        Format::Fio => fio::read(name, &text, around),
        Format::Iometer => iometer::read(name, &text),
        Format::Diskspd => diskspd::read(name, &text),
        Format::Vdbench => vdbench::read(name, &text),
    }
    .map_err(ImportError::Mistakes)?;
    let scenario = draft.text();
    let source =
        Source { name: format!("scenario of {name}"), text: scenario.clone(), ..Source::default() };
    scenario::load(&source).map_err(ImportError::Refused)?;
    Ok(Imported { format, scenario, notes: notes.finish() })
}

const UNKNOWN: &str = "not a workload file that is known: neither an Iometer configuration, a fio job file, a vdbench \
     parameter file, nor diskspd command lines or a profile; if it is one of them, say which by `--as`";
