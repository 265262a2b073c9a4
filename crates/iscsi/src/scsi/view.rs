//! The quick path: READ and WRITE without a lock. What a nexus may do is kept as a view with the number of the state that
//! it was taken from; while that number stands, a read or write needs nothing but the view.

use super::block;
use super::cdb::Cdb;
use super::table;
use super::{Geometry, Medium};

/// What a nexus may do to a unit, as of one generation of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// The generation that this was taken from. While [`super::Unit::generation`] yields the same, it holds.
    pub generation: u64,
    /// Blocks may be read, and nothing is pending that has to be reported first.
    pub reads: bool,
    /// Blocks may be written, and nothing is pending that has to be reported first.
    pub writes: bool,
    /// The volatile cache is off: every write is durable.
    pub write_through: bool,
    /// Sense data goes out in descriptor format (D_SENSE): the argument of [`super::Sense::encode`].
    pub descriptor_sense: bool,
    /// What other nexuses abort ends in TASK ABORTED instead of in silence (TAS).
    pub task_aborted: bool,
}

/// What a READ or WRITE means, if it is plainly allowed and well formed. `None`: ask [`super::Device::begin`], which
/// knows the other commands, and why one is refused. Allocates nothing.
pub fn quick(cdb: &Cdb, geometry: &Geometry, view: &View) -> Option<Medium> {
    let open = match cdb[0] {
        0x08 | 0x28 | 0xa8 | 0x88 => view.reads,
        0x0a | 0x2a | 0xaa | 0x8a => view.writes,
        _ => false,
    };
    if !open {
        return None;
    }
    let command = table::find(cdb).ok()?;
    command.fits(cdb, false).ok()?;
    block::transfer(cdb, geometry, view.write_through).ok()
}
