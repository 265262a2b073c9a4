//! Maps the completion of a command to the disposition of its I/O: done, or retried at once, later or on another path. Pure.

use super::client::{BUSY, CHECK_CONDITION, GOOD, RESERVATION_CONFLICT, TASK_SET_FULL};
use super::multipath::AccessState;
use disk::Io;
use iscsi::initiator::{CommandEnd, SenseData};

/// ABORTED COMMAND: the target could not go on, and did nothing.
const ABORTED_COMMAND: u8 = 0xb;

/// What becomes of an I/O.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Disposition {
    /// It has ended: bytes, or an error number.
    Over(Result<u32, i32>),
    /// It was not carried out because something happened at the target before: this additional sense code.
    Attention(u16),
    /// It was not carried out.
    Retry,
    /// The target has no time at present: its status.
    Later(u8),
    /// The port is in a state in which it moves no blocks.
    Passive(AccessState),
    /// It was aborted.
    Aborted,
}

/// What the end of a command means for its I/O.
pub(super) fn verdict(ending: CommandEnd, io: &Io) -> Disposition {
    let over = |errno| Disposition::Over(Err(errno));
    let len = io.len;
    match ending {
        // The data of a trim or of zeroes are not those of its range.
        CommandEnd::Status { status: GOOD, moved, .. } if moved == len || !io.dir.moves_data() => {
            Disposition::Over(Ok(len))
        }
        // Less than was asked for.
        CommandEnd::Status { status: GOOD, .. } => over(libc::EIO),
        CommandEnd::Status { status: CHECK_CONDITION, sense, .. } => {
            sense.map_or(over(libc::EIO), |sense| told(&sense))
        }
        CommandEnd::Status { status: status @ (BUSY | TASK_SET_FULL), .. } => {
            Disposition::Later(status)
        }
        CommandEnd::Status { status: RESERVATION_CONFLICT, .. } => over(libc::EBUSY),
        CommandEnd::Status { .. } | CommandEnd::TargetFailure => over(libc::EIO),
        CommandEnd::Rejected(_) => over(libc::EPROTO),
        CommandEnd::Aborted => Disposition::Aborted,
    }
}

/// What sense data means; its nearest error number where it means the end.
fn told(sense: &SenseData) -> Disposition {
    let errno = match (sense.key, sense.code) {
        (SenseData::UNIT_ATTENTION, code) => return Disposition::Attention(code),
        (ABORTED_COMMAND, _) => return Disposition::Retry,
        // Becoming ready.
        (SenseData::NOT_READY, 0x0401) => return Disposition::Later(CHECK_CONDITION),
        (SenseData::NOT_READY, 0x040a) => return Disposition::Passive(AccessState::Transitioning),
        (SenseData::NOT_READY, 0x040b) => return Disposition::Passive(AccessState::Standby),
        (SenseData::NOT_READY, 0x040c) => return Disposition::Passive(AccessState::Unavailable),
        (SenseData::NOT_READY, _) => libc::ENOMEDIUM,
        // Space allocation failed write protect.
        (SenseData::DATA_PROTECT, 0x2707) => libc::ENOSPC,
        (SenseData::DATA_PROTECT, _) => libc::EROFS,
        // Logical block address out of range.
        (0x5, 0x2100) => libc::EINVAL,
        (0x5, _) => libc::EREMOTEIO,
        _ => libc::EIO,
    };
    Disposition::Over(Err(errno))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iscsi::pdu::Residual;
    use workload::Dir;

    #[track_caller]
    fn check(status: u8, moved: u32, sense: Option<(u8, u16)>, wanted: Disposition) {
        let sense = sense.map(|(key, code)| SenseData { key, code, ..SenseData::default() });
        let ending = CommandEnd::Status { status, moved, residual: Residual::None, sense };
        let io = Io { slot: 0, dir: Dir::Read, target: 0, offset: 0, len: 512, fua: false };
        assert_eq!(verdict(ending, &io), wanted, "{ending:?}");
    }

    #[test]
    fn completions_map_to_dispositions() {
        let over = |errno| Disposition::Over(Err(errno));
        check(GOOD, 512, None, Disposition::Over(Ok(512)));
        check(GOOD, 511, None, over(libc::EIO));
        check(BUSY, 0, None, Disposition::Later(8));
        check(TASK_SET_FULL, 0, None, Disposition::Later(0x28));
        check(RESERVATION_CONFLICT, 0, None, over(libc::EBUSY));
        check(CHECK_CONDITION, 0, None, over(libc::EIO));
        check(CHECK_CONDITION, 0, Some((6, 0x2a06)), Disposition::Attention(0x2a06));
        check(CHECK_CONDITION, 0, Some((0xb, 0)), Disposition::Retry);
        check(CHECK_CONDITION, 0, Some((2, 0x0401)), Disposition::Later(2));
        check(CHECK_CONDITION, 0, Some((2, 0x040b)), Disposition::Passive(AccessState::Standby));
        check(CHECK_CONDITION, 0, Some((2, 0x3a00)), over(libc::ENOMEDIUM));
        check(CHECK_CONDITION, 0, Some((7, 0x2707)), over(libc::ENOSPC));
        check(CHECK_CONDITION, 0, Some((3, 0x1100)), over(libc::EIO));
        let io = Io { slot: 0, dir: Dir::Trim, target: 0, offset: 0, len: 512, fua: false };
        assert_eq!(verdict(CommandEnd::Aborted, &io), Disposition::Aborted);
        let residual = Residual::None;
        let ending = CommandEnd::Status { status: GOOD, moved: 24, residual, sense: None };
        assert_eq!(verdict(ending, &io), Disposition::Over(Ok(512)), "a list of 24 bytes");
    }
}
