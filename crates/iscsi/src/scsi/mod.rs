//! The SCSI device server of a block device (SPC-4, SBC-3). It decides but never touches a medium: it returns reads
//! and writes as a [`Medium`] request, which the owner of the volume executes.
//!
//! Commands enter by [`Device::begin`] and, if they have parameters, continue with [`Device::parameters`]. READ and
//! WRITE need neither a lock nor the table of nexuses: [`quick`] decides them from a [`View`].

mod access;
mod action;
mod attention;
mod block;
mod care;
mod cdb;
mod classic;
mod copy;
mod describe;
mod description;
mod device;
mod inquiry;
mod kept;
mod mode;
mod nexus;
mod opcodes;
mod persist;
mod ports;
mod report;
mod reservation;
mod sanitize;
mod sense;
mod state;
mod table;
mod unit;
mod view;

pub use action::{Action, CopySegment, Ending, Extent, Medium, Status};
pub use attention::Attention;
pub use cdb::Cdb;
pub use description::{Description, Geometry, LARGEST_TRANSFER};
pub use device::{Device, MOST_UNITS};
pub use kept::KeptError;
pub use nexus::Nexus;
pub use ports::PortState;
pub use sense::{Sense, SenseKey};
pub use unit::Unit;
pub use view::{View, quick};
