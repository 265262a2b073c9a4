//! Memory that outlives a guest: the host has it, and the guest sees it as a device of its own (`ivshmem`). What the guest stores
//! there stays when its machine loses its power, as far as it had got, and is there when the guest boots again.

use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::Path;
use std::sync::Arc;

/// How the device names itself on the PCI bus.
const DEVICE: [(&str, &str); 2] = [("vendor", "0x1af4"), ("device", "0x1110")];

/// Such memory, on the host. One QEMU has it at a time: a guest that moves takes along what is in it. Pages that the guest has never touched take none.
#[derive(Clone, Debug)]
pub struct KeptMemory {
    file: Arc<File>,
    bytes: u64,
}

impl KeptMemory {
    /// So many bytes, a power of two, all zero.
    /// # Errors
    /// The kernel gives none.
    pub fn new(bytes: u64) -> io::Result<KeptMemory> {
        let file = File::from(memfd_create("kept", MemfdFlags::CLOEXEC)?);
        file.set_len(bytes)?;
        Ok(KeptMemory { file: Arc::new(file), bytes })
    }

    /// Its size.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The path under which a child of this process opens it.
    pub(crate) fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd())
    }
}

/// Two are equal where they are the same memory.
impl PartialEq for KeptMemory {
    fn eq(&self, other: &KeptMemory) -> bool {
        Arc::ptr_eq(&self.file, &other.file)
    }
}

impl Eq for KeptMemory {}

/// In a guest: the file that is this memory where it is mapped, if the machine has such a device.
/// # Errors
/// The device cannot be switched on or opened.
pub fn of_this_machine() -> io::Result<Option<File>> {
    let Ok(devices) = fs::read_dir("/sys/bus/pci/devices") else { return Ok(None) };
    let says = |at: &Path, (file, wanted): (&str, &str)| {
        fs::read_to_string(at.join(file)).is_ok_and(|text| text.trim() == wanted)
    };
    let mut all = devices.flatten().map(|entry| entry.path());
    let Some(found) = all.find(|at| DEVICE.into_iter().all(|one| says(at, one))) else {
        return Ok(None);
    };
    fs::write(found.join("enable"), "1")?;
    // The third region is the memory itself.
    File::options().read(true).write(true).open(found.join("resource2")).map(Some)
}
