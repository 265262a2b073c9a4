//! Monitoring and results of other programs, read into tables of typed measures, and tables written as a record.
//!
//! A reader takes any bytes and yields a [`Feed`]: which places were counted, in which intervals, by which measures. What is
//! missing stays so, but for devices that a program leaves out since they were idle. [`record`](write) puts the feeds of
//! several files on one time line and writes them as hops and loads of a record, with windows as steps.

mod book;
mod clocks;
mod collect;
mod counters;
mod covered;
mod derive;
mod digest;
mod ends;
mod error;
mod esxtop;
mod format;
mod gaps;
mod hosts;
mod iostat;
mod join;
mod json;
mod lines;
mod mapped;
mod model;
mod number;
mod packed;
mod pdh;
mod perfmon;
mod places;
mod proc;
mod prometheus;
mod results;
mod row;
mod sadf;
mod snmp;
mod stacked;
mod stamp;
mod switch;
mod sysstat;
mod topology;
mod window;
mod write;
mod xml;

pub use clocks::{Offset, Refusal, Series, align, offsets};
pub use collect::{COLLECTIONS, Collection};
pub use digest::Digested;
pub use ends::Transfer;
pub use error::ReadError;
pub use format::{Detected, HEAD, MonitorFormat, detect};
pub use hosts::settle;
/// A time zone by its name of the IANA database, such as `Europe/Berlin`.
pub use jiff::tz::TimeZone;
pub use mapped::Map;
pub use model::{Feed, FeedNote, Flow, Leg, Measure, Place, Span, canonical};
pub use packed::{Plain, plain};
pub use stamp::{Calendar, DateOrder, moment};
pub use topology::{KnownHop, Topology, topology};
pub use window::{NamedWindow, Window};
pub use write::{Explained, Order, WriteError, write};

use std::io::BufRead;

/// Names that a message lists at most.
const NAMES_MAX: usize = 20;

/// What the user says of a file that it does not say itself.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Order of dates, and the time zone of times that have none.
    pub calendar: Calendar,
    /// Length of an interval in nanoseconds, for files without time stamps.
    pub interval: Option<i64>,
    /// Whether the first report is kept: iostat's `-y` leaves out the one since boot itself.
    pub keep_first: bool,
    /// Maps of CSV that the user names; those that come with the program are known besides.
    pub maps: Vec<Map>,
}

/// Reads a file of a format.
/// # Errors
/// Where the file is not of that format; with line and column.
pub fn read(
    name: &str,
    format: MonitorFormat,
    from: impl BufRead,
    options: &Options,
) -> Result<Feed, ReadError> {
    match format {
        MonitorFormat::Iostat => iostat::read(name, from, options),
        MonitorFormat::IostatJson => sysstat::iostat(name, from, options),
        MonitorFormat::SadfJson => sysstat::sadf_json(name, from, options),
        MonitorFormat::SadfXml => sysstat::sadf_xml(name, from, options),
        MonitorFormat::Pdh => pdh::read(name, from, options),
        MonitorFormat::FioJson => results::fio::read(name, from),
        MonitorFormat::Iperf3 => results::iperf3::read(name, from),
        MonitorFormat::Iometer => results::iometer::read(name, from, options),
        MonitorFormat::Vdbench => results::vdbench::read(name, from, options),
        MonitorFormat::DiskspdXml => results::windows::diskspd(name, from, options),
        MonitorFormat::NtttcpXml => results::windows::ntttcp(name, from),
        MonitorFormat::Hcibench => results::hcibench::read(name, from),
        MonitorFormat::Mapped => mapped::read(name, from, options),
        MonitorFormat::Brocade => switch::brocade(name, from, options),
        MonitorFormat::Mds => switch::mds(name, from, options),
        MonitorFormat::SnmpWalk => snmp::read(name, from, options),
        MonitorFormat::Proc => proc::read(name, from, options),
        MonitorFormat::Prometheus => prometheus::read(name, from, options),
    }
}
