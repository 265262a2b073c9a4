//! What a block device answers to a SCSI command (SPC-4, SBC-3). It decides; it never touches a medium: what has to be read
//! or written is told as a [`Medium`], and somebody who has a volume carries it out.

mod action;
mod sense;

pub use action::{Action, CopySegment, Ending, Extent, Medium, Status};
pub use sense::{Sense, SenseKey};
