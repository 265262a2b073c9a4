//! What the end of a command means for its I/O: it is over, or its command is sent again, at once or later. Pure.

use super::client::{BUSY, CHECK_CONDITION, GOOD, RESERVATION_CONFLICT, TASK_SET_FULL};
use iscsi::initiator::{Ending, SenseData};

/// What becomes of an I/O.
pub(super) enum Verdict {
    Over(Result<u32, i32>),
    Again,
    Later,
}

/// What the end of a command means for an I/O of `len` bytes.
pub(super) fn verdict(ending: Ending, len: u32) -> Verdict {
    let over = |errno| Verdict::Over(Err(errno));
    match ending {
        Ending::Status { status: GOOD, moved, .. } if moved == len => Verdict::Over(Ok(len)),
        // Less than was asked for.
        Ending::Status { status: GOOD, .. } => over(libc::EIO),
        Ending::Status { status: CHECK_CONDITION, sense, .. } => {
            sense.map_or(over(libc::EIO), |sense| told(&sense))
        }
        Ending::Status { status: BUSY | TASK_SET_FULL, .. } => Verdict::Later,
        Ending::Status { status: RESERVATION_CONFLICT, .. } => over(libc::EBUSY),
        Ending::Status { .. } | Ending::TargetFailure => over(libc::EIO),
        Ending::Rejected(_) => over(libc::EPROTO),
        Ending::Aborted => over(libc::ECANCELED),
    }
}

/// The nearest error number of sense data.
fn told(sense: &SenseData) -> Verdict {
    let errno = match (sense.key, sense.code) {
        (SenseData::UNIT_ATTENTION, _) | (0xb, _) => return Verdict::Again,
        // Becoming ready.
        (0x2, 0x0401) => return Verdict::Later,
        (0x2, _) => libc::ENOMEDIUM,
        // Space allocation failed write protect.
        (SenseData::DATA_PROTECT, 0x2707) => libc::ENOSPC,
        (SenseData::DATA_PROTECT, _) => libc::EROFS,
        // Logical block address out of range.
        (0x5, 0x2100) => libc::EINVAL,
        (0x5, _) => libc::EREMOTEIO,
        _ => libc::EIO,
    };
    Verdict::Over(Err(errno))
}
