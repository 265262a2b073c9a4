//! Asks an opened block device through the kernel's pass-through for SCSI commands (`SG_IO`). It sends PERSISTENT RESERVE
//! IN and nothing else; that command changes nothing.

use super::{ALLOCATION, ReservationQuerier, ReserveInAction};
use rustix::fd::{AsFd, AsRawFd, BorrowedFd};
use std::io;
use std::ptr;

/// A device to ask. For a partition that is the whole disk: the kernel passes nothing through for a part of one.
pub(crate) struct Scsi<'a>(BorrowedFd<'a>);

impl<'a> Scsi<'a> {
    pub fn new(device: &'a impl AsFd) -> Scsi<'a> {
        Scsi(device.as_fd())
    }

    /// Sends the command once.
    fn send(
        &self,
        action: ReserveInAction,
        data: &mut [u8; ALLOCATION as usize],
    ) -> io::Result<SgResult> {
        let mut command = action.command();
        let mut sense = [0_u8; SENSE];
        let mut header = SgIoHeader {
            interface: i32::from(b'S'),
            direction: FROM_DEVICE,
            command_len: command.len() as u8,
            sense_len: SENSE as u8,
            vectors: 0,
            data_len: ALLOCATION.into(),
            data: data.as_mut_ptr(),
            command: command.as_mut_ptr(),
            sense: sense.as_mut_ptr(),
            timeout_ms: 10_000,
            flags: 0,
            pack: 0,
            user: ptr::null_mut(),
            status: 0,
            masked_status: 0,
            message_status: 0,
            sense_written: 0,
            host_status: 0,
            driver_status: 0,
            residual: 0,
            duration_ms: 0,
            info: 0,
        };
        // SAFETY: the header is laid out as the kernel's `sg_io_hdr`; its pointers lead to a command, a sense buffer
        // and a data buffer of the given lengths, which outlive the call and are not used elsewhere meanwhile.
        let done = unsafe { libc::ioctl(self.0.as_raw_fd(), SG_IO as _, &raw mut header) };
        if done < 0 {
            return Err(io::Error::last_os_error());
        }
        let missing = usize::try_from(header.residual).unwrap_or(0);
        Ok(SgResult {
            status: header.status,
            host: header.host_status,
            sense: sense[..SENSE.min(header.sense_written.into())].to_vec(),
            len: data.len().saturating_sub(missing),
        })
    }
}

impl ReservationQuerier for Scsi<'_> {
    fn persistent_reserve_in(&self, action: ReserveInAction) -> io::Result<Option<Vec<u8>>> {
        let mut data = [0; ALLOCATION as usize];
        let mut tries = TRIES;
        loop {
            let outcome = match self.send(action, &mut data) {
                Ok(outcome) => outcome,
                Err(e) if knows_no_scsi(&e) => return Ok(None),
                Err(e) => return Err(unasked(e)),
            };
            tries -= 1;
            match judge(&outcome) {
                ScsiOutcome::Answered => return Ok(Some(data[..outcome.len].to_vec())),
                ScsiOutcome::Unknown => return Ok(None),
                ScsiOutcome::Attention if tries > 0 => {}
                ScsiOutcome::Attention | ScsiOutcome::Failed => return Err(failed(&outcome)),
            }
        }
    }
}

/// A device that was reset, or whose registrations changed, says so once to each host before it answers.
const TRIES: u32 = 4;

/// Bytes of sense data.
const SENSE: usize = 64;

const SG_IO: u32 = 0x2285;
const FROM_DEVICE: i32 = -3;

/// The kernel's `sg_io_hdr`.
#[repr(C)]
struct SgIoHeader {
    interface: i32,
    direction: i32,
    command_len: u8,
    sense_len: u8,
    vectors: u16,
    data_len: u32,
    data: *mut u8,
    command: *mut u8,
    sense: *mut u8,
    timeout_ms: u32,
    flags: u32,
    pack: i32,
    user: *mut libc::c_void,
    status: u8,
    masked_status: u8,
    message_status: u8,
    sense_written: u8,
    host_status: u16,
    driver_status: u16,
    residual: i32,
    duration_ms: u32,
    info: u32,
}

/// What became of a command that was sent.
#[derive(Debug, Default)]
struct SgResult {
    /// Of the device.
    status: u8,
    /// Of the adapter.
    host: u16,
    sense: Vec<u8>,
    /// Bytes of data.
    len: usize,
}

/// What that means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScsiOutcome {
    Answered,
    /// The device does not know the command.
    Unknown,
    /// It is to be sent again.
    Attention,
    Failed,
}

const CHECK_CONDITION: u8 = 0x02;
const ILLEGAL_REQUEST: u8 = 0x5;
const UNIT_ATTENTION: u8 = 0x6;

fn judge(outcome: &SgResult) -> ScsiOutcome {
    match (outcome.host, outcome.status, sense_key(&outcome.sense)) {
        (0, 0, _) => ScsiOutcome::Answered,
        (0, CHECK_CONDITION, Some(ILLEGAL_REQUEST)) => ScsiOutcome::Unknown,
        (0, CHECK_CONDITION, Some(UNIT_ATTENTION)) => ScsiOutcome::Attention,
        _ => ScsiOutcome::Failed,
    }
}

/// The key in sense data of fixed or descriptor format.
fn sense_key(sense: &[u8]) -> Option<u8> {
    let at = match sense.first()? & 0x7f {
        0x70 | 0x71 => 2,
        0x72 | 0x73 => 1,
        _ => return None,
    };
    sense.get(at).map(|byte| byte & 0xf)
}

/// What the kernel says of a device that takes no SCSI commands.
fn knows_no_scsi(e: &io::Error) -> bool {
    matches!(e.raw_os_error(), Some(libc::ENOTTY | libc::EINVAL | libc::EOPNOTSUPP))
}

fn unasked(e: io::Error) -> io::Error {
    let hint = match e.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => "; asking takes root or CAP_SYS_RAWIO",
        _ => "",
    };
    io::Error::new(e.kind(), format!("its persistent reservations cannot be read: {e}{hint}"))
}

fn failed(outcome: &SgResult) -> io::Error {
    let why = match (outcome.host, outcome.status, sense_key(&outcome.sense)) {
        (0, CHECK_CONDITION, Some(key)) => format!("sense key {key:#x}"),
        // Only a reservation of the older kind, made with RESERVE(6), keeps this command away.
        (0, 0x18, _) => "reservation conflict; another host holds it with RESERVE".to_owned(),
        (0, status, _) => format!("status {status:#04x}"),
        (host, ..) => format!("the host adapter reports {host:#x}"),
    };
    io::Error::other(format!("it does not report its persistent reservations: {why}"))
}

#[cfg(test)]
mod tests {
    use super::super::foreign;
    use super::*;
    use std::fs::File;

    #[track_caller]
    fn check(host: u16, status: u8, sense: &[u8], wanted: ScsiOutcome) {
        let outcome = SgResult { status, host, sense: sense.to_vec(), len: 0 };
        assert_eq!(judge(&outcome), wanted, "{outcome:?}");
    }

    #[test]
    fn outcomes() {
        let fixed = |key| [0x70, 0, key, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0];
        let descriptor = |key| [0x72, key, 0x20, 0, 0, 0, 0, 0];
        check(0, 0, &[], ScsiOutcome::Answered);
        for key in 0..16 {
            let wanted = match key {
                5 => ScsiOutcome::Unknown,
                6 => ScsiOutcome::Attention,
                _ => ScsiOutcome::Failed,
            };
            check(0, 2, &fixed(key), wanted);
            check(0, 2, &fixed(key | 0xe0), wanted);
            check(0, 2, &descriptor(key), wanted);
            check(0, 8, &fixed(key), ScsiOutcome::Failed);
            check(1, 2, &fixed(key), ScsiOutcome::Failed);
        }
        for sense in [&[][..], &[0x70, 0], &[0x72], &[0x7f, 5, 5], &[0, 5, 5]] {
            check(0, 2, sense, ScsiOutcome::Failed);
        }
        check(0, 0x18, &[], ScsiOutcome::Failed);
        check(7, 0, &[], ScsiOutcome::Failed);
    }

    #[test]
    fn failures_name_themselves() {
        for (host, status, sense, wanted) in [
            (0, 2, &[0x72, 4][..], "sense key 0x4"),
            (0, 0x18, &[], "reservation conflict; another host holds it with RESERVE"),
            (0, 8, &[], "status 0x08"),
            (0, 2, &[], "status 0x02"),
            (3, 0, &[], "the host adapter reports 0x3"),
        ] {
            let told =
                failed(&SgResult { status, host, sense: sense.to_vec(), len: 0 }).to_string();
            assert_eq!(told, format!("it does not report its persistent reservations: {wanted}"));
        }
        let told = unasked(io::Error::from_raw_os_error(libc::EPERM)).to_string();
        assert!(told.ends_with("; asking takes root or CAP_SYS_RAWIO"), "{told}");
        let told = unasked(io::Error::from_raw_os_error(libc::EIO)).to_string();
        assert!(!told.contains("root"), "{told}");
    }

    #[test]
    fn what_takes_no_scsi_commands_carries_no_reservation() {
        for errno in [libc::ENOTTY, libc::EINVAL, libc::EOPNOTSUPP] {
            assert!(knows_no_scsi(&io::Error::from_raw_os_error(errno)));
        }
        for errno in [libc::EPERM, libc::EACCES, libc::EIO, libc::ENODEV, libc::ENOMEM, libc::EBADF]
        {
            assert!(!knows_no_scsi(&io::Error::from_raw_os_error(errno)));
        }
        let file = tempfile::tempfile().expect("a file");
        assert_eq!(foreign(&Scsi::new(&file)).expect("the kernel says what it is"), None);
        let null = File::open("/dev/null").expect("there is one");
        assert_eq!(foreign(&Scsi::new(&null)).expect("the kernel says what it is"), None);
    }

    #[test]
    fn the_header_has_the_layout_of_the_kernel() {
        // On machines with addresses of 64 bits, which the alignment of the pointers decides.
        if cfg!(target_pointer_width = "64") {
            assert_eq!(size_of::<SgIoHeader>(), 88);
            let offsets = [
                std::mem::offset_of!(SgIoHeader, data),
                std::mem::offset_of!(SgIoHeader, user),
                std::mem::offset_of!(SgIoHeader, status),
                std::mem::offset_of!(SgIoHeader, residual),
            ];
            assert_eq!(offsets, [16, 56, 64, 72]);
        }
    }
}
