//! The SCSI device server of a block device (SPC-4, SBC-3). It decides but never touches a medium: it returns reads
//! and writes as a [`Medium`] request, which the owner of the volume executes.
//!
//! Commands enter by [`Device::begin`] and, if they have parameters, continue with [`Device::parameters`]. READ and
//! WRITE need neither a lock nor the table of nexuses: [`quick`] decides them from a [`NexusView`].

mod access;
mod action;
mod block;
mod cdb;
mod command_table;
mod copy;
mod description;
mod device;
mod inquiry;
mod luns;
mod maintenance;
mod mode;
mod nexus;
mod nexus_view;
mod passed;
mod persistent_reserve;
mod port_groups;
mod readiness;
mod reservation;
mod reservation_status;
mod reserve_release;
mod sanitize;
mod sense;
mod state;
mod stored_reservations;
mod supported_commands;
mod unit;
mod unit_attention;

pub use action::{Action, BlockRange, CopySegment, Ending, Medium, ScsiStatus};
pub use cdb::CdbBytes;
pub use description::{Geometry, LARGEST_TRANSFER, UnitDescription};
pub use device::{Device, MOST_UNITS};
pub use nexus::Nexus;
pub use nexus_view::{NexusView, quick};
pub use passed::{CommandSpec, PassAccess, PassedCommand};
pub use port_groups::PortState;
pub use reservation_status::ReservationStatus;
pub use sense::{Sense, SenseKey};
pub use stored_reservations::StoredReservationsError;
pub use unit::LogicalUnit;
pub use unit_attention::UnitAttention;
