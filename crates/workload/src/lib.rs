//! What the virtual machines do: access specifications, and the seeded, pure streams of operations drawn from them.
//!
//! A [`Spec`] says what kind of I/O is wanted (Iometer's access specification, address patterns, skew, arrivals, or
//! the transaction model). A [`Stream`] turns a spec into operations for one issuing slot. Live engines and the
//! simulator call exactly the same streams. No device and no clock is known here: time comes in as an argument.

mod spec;
mod stream;

pub use spec::*;
pub use stream::{Extent, Key, Next, Op, Place, Stream};
