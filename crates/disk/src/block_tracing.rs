//! The kernel's own trace of a block device as blktrace(8) asks for it: by commands to the device. What it records is read from
//! files of debugfs.

use rustix::fd::AsRawFd;
use std::fs::File;
use std::io::{Error, Result};
use std::path::Path;

/// `_IOWR(0x12, 115, struct blk_user_trace_setup)`, and what follows it.
const SETUP: libc::c_ulong = 0xc048_1273;
const START: libc::c_ulong = 0x1274;
const STOP: libc::c_ulong = 0x1275;
const TEARDOWN: libc::c_ulong = 0x1276;

/// The kernel's `struct blk_user_trace_setup`.
#[repr(C)]
struct Setup {
    name: [u8; 32],
    act_mask: u16,
    buf_size: u32,
    buf_nr: u32,
    start_lba: u64,
    end_lba: u64,
    pid: u32,
}

const _: () = assert!(size_of::<Setup>() == 0x48);

/// Which events are recorded: reads and writes that are queued, merged, split, issued, given back or completed.
const EVENTS: u16 = 1 | 1 << 1 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7;

/// A trace of a block device, which ends when this is dropped. One device has one trace at a time.
pub struct BlockTracing {
    device: File,
    name: String,
}

impl BlockTracing {
    /// Makes the kernel's buffers: so many of so many bytes for each processor. Nothing is recorded before [`start`].
    ///
    /// [`start`]: BlockTracing::start
    /// # Errors
    /// What the kernel says: `EBUSY` where the device is traced already, `ENOTTY` where it cannot trace, `EPERM` to those who
    /// may not.
    pub fn prepare(device: &Path, bytes: u32, buffers: u32) -> Result<BlockTracing> {
        let device = File::open(device)?;
        let mut setup = Setup {
            name: [0; 32],
            act_mask: EVENTS,
            buf_size: bytes,
            buf_nr: buffers,
            start_lba: 0,
            end_lba: u64::MAX,
            pid: 0,
        };
        // SAFETY: the kernel reads and writes one such structure there, of which the number of the command has the size.
        let done = unsafe { libc::ioctl(device.as_raw_fd(), SETUP as _, &raw mut setup) };
        if done < 0 {
            return Err(Error::last_os_error());
        }
        let name = setup.name.iter().copied().take_while(|byte| *byte != 0).collect::<Vec<_>>();
        Ok(BlockTracing { device, name: String::from_utf8_lossy(&name).into_owned() })
    }

    /// The folder of this trace, in `block` of debugfs.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Records from now on.
    /// # Errors
    /// What the kernel says.
    pub fn start(&self) -> Result<()> {
        self.command(START)
    }

    /// Records no more; what was recorded remains to be read.
    /// # Errors
    /// What the kernel says.
    pub fn stop(&self) -> Result<()> {
        self.command(STOP)
    }

    fn command(&self, command: libc::c_ulong) -> Result<()> {
        // SAFETY: these commands have no argument.
        let done = unsafe { libc::ioctl(self.device.as_raw_fd(), command as _, 0) };
        if done < 0 { Err(Error::last_os_error()) } else { Ok(()) }
    }
}

impl Drop for BlockTracing {
    fn drop(&mut self) {
        let _ = self.command(STOP);
        let _ = self.command(TEARDOWN);
    }
}
