//! A running target, or an array of a run, is asked and told over a local socket: what is said there, and who may say it.
//!
//! One request and one reply a connection, each one line of JSON. The socket lives in a directory that is its user's
//! alone (`place`), the target's end has a thread of its own and a deadline for every client (`server`), and figures
//! are read off counters each second whether somebody looks or not (`sampler`).

pub mod client;
pub mod place;
mod sampler;
pub mod server;

use serde::{Deserialize, Serialize};

/// The version of requests, replies and of the document.
pub const VERSION: u32 = 1;

/// The longest window of figures, in seconds.
pub const WINDOW_MAX: u64 = 5;

/// What is asked of a target.
#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum Request {
    /// Its name and its portals.
    Who,
    /// Everything, with figures of so many seconds.
    Status { window_s: u64 },
    /// Take a port down.
    StopPort { port: String },
    /// Bring a port back.
    StartPort { port: String },
    /// Make a LUN larger.
    Resize { lun: usize, bytes: u64 },
}

/// What it answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply {
    Who(Identity),
    Status(Box<Status>),
    Port(PortChange),
    Resized(SizeChange),
    /// It was asked something wrong: the message says what would have been right.
    Refused(String),
    /// It could not do it.
    Failed(String),
}

/// A running target by its names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    pub version: u32,
    pub iqn: String,
    pub pid: u32,
    /// Where it listens.
    pub portals: Vec<String>,
    /// Which array of a run it is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<ArrayNames>,
}

/// An array of a run by the names of its scenario.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArrayNames {
    pub name: String,
    /// Its ports as hops, in the order of the portals: `store.p1`.
    pub ports: Vec<String>,
}

/// What became of a port.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortChange {
    pub version: u32,
    pub iqn: String,
    pub port: String,
    pub state: PortState,
    /// Whether it was in another state before.
    pub changed: bool,
    /// Connections that were closed with it.
    pub dropped: u64,
}

/// What became of a LUN.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeChange {
    pub version: u32,
    pub iqn: String,
    pub lun: usize,
    pub volume: String,
    pub bytes: u64,
    /// Whether it had another size before.
    pub changed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PortState {
    Up,
    Stopped,
}

/// Everything that there is to know of a running target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub version: u32,
    pub iqn: String,
    pub pid: u32,
    /// Which array of a run it is, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub array: Option<String>,
    /// Seconds since its start.
    pub uptime_s: f64,
    /// Seconds that its figures are of; 0: it has just been started.
    pub window_s: f64,
    pub ports: Vec<Port>,
    pub luns: Vec<Lun>,
    pub sessions: Vec<Session>,
    /// Threads whose sessions are missing, because they did not answer.
    pub silent_threads: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Port {
    pub address: String,
    /// Its name in the scenario, where it is one of an array of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    pub group: u16,
    pub state: PortState,
    /// Its speed in each direction; `null`: as fast as it goes.
    pub bytes_per_s: Option<u64>,
    pub connections: u64,
    /// Commands under way.
    pub in_flight: u64,
    pub figures: Figures,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lun {
    pub lun: usize,
    pub volume: String,
    pub bytes: u64,
    pub block: u32,
    pub thin: bool,
    pub read_only: bool,
    pub serial: String,
    /// Bytes of memory or of the file system in use, where that is known.
    pub taken: Option<u64>,
    /// Commands that did not end well, since the start.
    pub failed: u64,
    /// The error of the first sync that failed.
    pub sync_failure: Option<String>,
    pub figures: Figures,
    pub reservation: Option<Reservation>,
    pub registrations: Vec<Registration>,
}

/// What went through a port or to a LUN, a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    pub reads_per_s: f64,
    pub writes_per_s: f64,
    pub read_bytes_per_s: f64,
    pub written_bytes_per_s: f64,
    pub read_latency: Option<Latency>,
    pub write_latency: Option<Latency>,
}

/// From the arrival of a command to its answer, at the target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    pub commands: u64,
    pub p50_ns: u64,
    pub p99_ns: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reservation {
    /// Such as `write exclusive`; `RESERVE` where it is one of SCSI-2.
    pub kind: String,
    /// The initiator port that made it.
    pub by: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Registration {
    pub initiator: String,
    pub group: u16,
    /// As `0x` and sixteen digits.
    pub key: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Session {
    pub initiator: String,
    pub isid: String,
    pub tsih: u16,
    pub discovery: bool,
    /// Seconds since its login.
    pub age_s: f64,
    /// When that was, in seconds since 1970.
    pub since_unix_s: f64,
    /// Commands under way.
    pub in_flight: usize,
    pub connections: Vec<Connection>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    pub cid: u16,
    /// The address of the portal that it came by.
    pub portal: String,
    pub from: String,
    pub header_digest: bool,
    pub data_digest: bool,
    pub received_bytes: u64,
    pub sent_bytes: u64,
}
