//! The program as the first process of a guest: it mounts what Linux offers, loads modules, and finds its ports and disks.

use clock::Ns;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use rustix::system::{RebootCommand, init_module, reboot};
use std::ffi::CStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// The variable that the kernel gives its first process from its command line: the guest's name.
pub const NAME: &str = "WIRESPEED_GUEST";
/// The file in the initramfs that says that this is a guest.
pub const MARK: &str = "/guest/name";
/// The directory of modules, and the file that lists them in order.
pub const MODULES: &str = "/guest/modules";
/// The order in which modules load, a name a line.
pub const ORDER: &str = "/guest/modules/order";

/// How long devices may take to appear.
const PATIENCE: Ns = Ns::secs(30);
/// How often to look.
const POLL: Ns = Ns::millis(5);

/// Why a guest did not come up.
#[derive(Debug, Error)]
pub enum InitError {
    /// A file system could not be mounted.
    #[error("{what} could not be mounted: {why}")]
    Mount {
        /// Which.
        what: &'static str,
        /// Why.
        why: io::Error,
    },
    /// A module did not load.
    #[error("the module {name} did not load: {why}")]
    Module {
        /// Which.
        name: String,
        /// Why.
        why: io::Error,
    },
    /// A device did not appear.
    #[error("{what} did not appear within 30 s; there is {found}")]
    Absent {
        /// Which.
        what: String,
        /// What is there.
        found: String,
    },
    /// A file could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The name of the guest whose first process this is; `None` in any other process.
pub fn name() -> Option<String> {
    let first = rustix::process::getpid().as_raw_nonzero().get() == 1;
    if !first || !Path::new(MARK).exists() {
        return None;
    }
    Some(std::env::var(NAME).unwrap_or_else(|_| "guest".to_owned()))
}

/// Mounts and loads all that the guest needs.
/// # Errors
/// A file system or a module is refused.
pub fn bring_up() -> Result<(), InitError> {
    let none = MountFlags::empty();
    let all: [(&CStr, &'static str, MountFlags); 4] = [
        (c"devtmpfs", "/dev", none),
        (c"proc", "/proc", none),
        (c"sysfs", "/sys", none),
        (c"tmpfs", "/tmp", MountFlags::NODEV | MountFlags::NOSUID),
    ];
    for (kind, what, flags) in all {
        match mount(kind, what, kind, flags, None::<&CStr>) {
            // Kernels mount /dev themselves where they are told to.
            Ok(()) | Err(Errno::BUSY) => {}
            Err(why) => return Err(InitError::Mount { what, why: why.into() }),
        }
    }
    for name in fs::read_to_string(ORDER)?.lines() {
        let content = fs::read(Path::new(MODULES).join(name))?;
        match init_module(&content, c"") {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(why) => return Err(InitError::Module { name: name.to_owned(), why: why.into() }),
        }
    }
    Ok(())
}

/// Opens a port to the host by its name.
/// # Errors
/// It does not appear, or cannot be opened.
pub fn port(name: &str) -> Result<File, InitError> {
    let found =
        wait_for(&format!("the port {name}"), Path::new("/sys/class/virtio-ports"), |at| {
            fs::read_to_string(at.join("name")).is_ok_and(|found| found.trim_end() == name)
        })?;
    let device = Path::new("/dev").join(found.file_name().unwrap_or_default());
    Ok(OpenOptions::new().read(true).write(true).open(device)?)
}

/// Waits for a network interface.
/// # Errors
/// It does not appear.
pub fn interface(name: &str) -> Result<(), InitError> {
    let is_it = |at: &Path| at.file_name().is_some_and(|found| found == name);
    wait_for(&format!("the interface {name}"), Path::new("/sys/class/net"), is_it).map(drop)
}

/// The block device that has a serial number.
/// # Errors
/// It does not appear.
pub fn disk(serial: &str) -> Result<PathBuf, InitError> {
    let found = wait_for(&format!("the disk {serial}"), Path::new("/sys/block"), |at| {
        serial_of(at).as_deref() == Some(serial)
    })?;
    Ok(Path::new("/dev").join(found.file_name().unwrap_or_default()))
}

/// The serial number of a block device, from its directory in `/sys/block`: SCSI and ATA disks publish their page 80h of
/// vital product data, others a text.
fn serial_of(at: &Path) -> Option<String> {
    if let Ok(page) = fs::read(at.join("device/vpd_pg80")) {
        let length = usize::from(u16::from_be_bytes([*page.get(2)?, *page.get(3)?]));
        let text = page.get(4..4 + length)?;
        return Some(String::from_utf8_lossy(text).trim().to_owned());
    }
    let text = ["serial", "device/serial"]
        .iter()
        .find_map(|file| fs::read_to_string(at.join(file)).ok())?;
    Some(text.trim().to_owned())
}

/// The entry of a directory of which `is_it` holds, as soon as there is one.
fn wait_for(
    what: &str,
    directory: &Path,
    is_it: impl Fn(&Path) -> bool,
) -> Result<PathBuf, InitError> {
    let deadline = clock::now().plus(PATIENCE);
    loop {
        let entries: Vec<PathBuf> = fs::read_dir(directory)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        if let Some(found) = entries.iter().find(|entry| is_it(entry)) {
            return Ok(found.clone());
        }
        if clock::now() >= deadline {
            let names = entries.iter().filter_map(|entry| entry.file_name()?.to_str());
            let found = names.collect::<Vec<_>>().join(", ");
            let found = if found.is_empty() { "nothing".to_owned() } else { found };
            return Err(InitError::Absent { what: what.to_owned(), found });
        }
        clock::sleep_until(clock::now().plus(POLL));
    }
}

/// Ends the guest. Returns only where the kernel refuses.
pub fn power_off() -> io::Error {
    // What the disks have not written yet.
    rustix::fs::sync();
    match reboot(RebootCommand::PowerOff) {
        Ok(()) => io::Error::other("the machine went on after it was switched off"),
        Err(why) => why.into(),
    }
}
