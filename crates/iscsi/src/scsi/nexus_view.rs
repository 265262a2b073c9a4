//! The fast path: READ and WRITE without a lock. What a nexus may do is cached as a view with the generation of the
//! state; while the generation is unchanged, a read or write needs only the view.

use super::block;
use super::cdb::CdbBytes;
use super::command_table;
use super::{Geometry, Medium};

/// What a nexus may do to a unit in one generation of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NexusView {
    /// The generation of the view. It is valid while [`super::LogicalUnit::generation`] returns the same.
    pub generation: u64,
    /// Reads are allowed, and nothing is pending that must be reported first.
    pub reads: bool,
    /// Writes are allowed, and nothing is pending that must be reported first.
    pub writes: bool,
    /// The volatile cache is off: every write is durable.
    pub write_through: bool,
    /// Sense data uses descriptor format (D_SENSE): the argument of [`super::Sense::encode`].
    pub descriptor_sense: bool,
    /// Commands aborted by other nexuses end in TASK ABORTED instead of without a response (TAS).
    pub task_aborted: bool,
}

/// Decodes a READ or WRITE that is allowed and well formed. `None`: call [`super::Device::begin`], which handles all
/// other commands and errors. Allocates nothing.
pub fn quick(cdb: &CdbBytes, geometry: &Geometry, view: &NexusView) -> Option<Medium> {
    let open = match cdb[0] {
        0x08 | 0x28 | 0xa8 | 0x88 => view.reads,
        0x0a | 0x2a | 0xaa | 0x8a => view.writes,
        _ => false,
    };
    if !open {
        return None;
    }
    let command = command_table::find(cdb).ok()?;
    command.fits(cdb, false).ok()?;
    block::transfer(cdb, geometry, view.write_through).ok()
}
