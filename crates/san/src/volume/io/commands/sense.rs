//! Maps errors of the backing store to sense data (SPC-4, 4.5 and annex D; SBC-3, 4.7 for thin provisioning).

use iscsi::scsi::{Ending, Sense, SenseKey};
use rustix::io::Errno;

/// What failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum During {
    Read,
    Write,
    /// A sync, which is about no block in particular.
    Sync,
}

/// The ending for an error at a block.
pub(super) fn ending(error: Errno, during: During, lba: u64) -> Ending {
    let (key, code) = match (error, during) {
        // SPACE ALLOCATION FAILED WRITE PROTECT.
        (Errno::NOSPC | Errno::DQUOT | Errno::NOMEM, During::Write | During::Sync) => {
            (SenseKey::DataProtect, 0x2707)
        }
        // WRITE PROTECTED.
        (Errno::ROFS | Errno::PERM | Errno::ACCESS, During::Write) => {
            (SenseKey::DataProtect, 0x2700)
        }
        // INTERNAL TARGET FAILURE: what is behind the volume is gone or does not do what it must.
        (Errno::NODEV | Errno::NXIO | Errno::BADF | Errno::INVAL | Errno::OPNOTSUPP, _) => {
            (SenseKey::HardwareError, 0x4400)
        }
        // UNRECOVERED READ ERROR, WRITE ERROR.
        (_, During::Read) => (SenseKey::MediumError, 0x1100),
        (_, During::Write | During::Sync) => (SenseKey::MediumError, 0x0c00),
    };
    let sense = Sense::new(key, code);
    Ending::check(if during == During::Sync { sense } else { sense.with_information(lba) })
}

/// LOGICAL BLOCK ADDRESS OUT OF RANGE.
pub(super) const OUT_OF_RANGE: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2100));

/// INVALID FIELD IN CDB.
pub(super) const INVALID: Ending = Ending::check(Sense::new(SenseKey::IllegalRequest, 0x2400));

/// WRITE PROTECTED.
pub(super) const PROTECTED: Ending = Ending::check(Sense::new(SenseKey::DataProtect, 0x2700));

/// COMMAND ABORTED: who sent it does not wait any more.
pub(super) const ABANDONED: Ending = Ending::check(Sense::new(SenseKey::AbortedCommand, 0x0000));

/// MISCOMPARE DURING VERIFY OPERATION, at an offset of what the initiator sent.
pub(super) fn miscompare(offset: u64) -> Ending {
    Ending::check(Sense::new(SenseKey::Miscompare, 0x1d00).with_information(offset))
}

/// COPY TARGET DEVICE NOT REACHABLE.
pub(super) const UNREACHABLE: Ending = Ending::check(Sense::new(SenseKey::CopyAborted, 0x0d02));

/// THIRD PARTY DEVICE FAILURE.
pub(super) const THIRD_PARTY: Ending = Ending::check(Sense::new(SenseKey::CopyAborted, 0x0d01));
