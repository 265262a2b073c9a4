//! What a guest consists of, and how QEMU is told.

use crate::accelerator::Accelerator;
use crate::kept::KeptMemory;
use crate::kernel::Kernel;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// The storage adapter of a guest: the device that QEMU emulates and the kernel has a driver for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Adapter {
    /// VMware's paravirtual SCSI adapter.
    Pvscsi,
    /// LSI 53C895A, a parallel SCSI adapter, of the family that ESX calls LSI Logic.
    Lsi53c895a,
    /// LSI SAS 1068, which ESX calls LSI Logic SAS.
    Mptsas1068,
    /// LSI MegaRAID SAS.
    Megasas,
    /// The paravirtual SCSI adapter of virtio.
    VirtioScsi,
    /// An NVMe controller a disk.
    Nvme,
    /// A SATA controller.
    Ahci,
}

impl Adapter {
    /// All of them.
    pub const ALL: [Adapter; 7] = [
        Adapter::Pvscsi,
        Adapter::Lsi53c895a,
        Adapter::Mptsas1068,
        Adapter::Megasas,
        Adapter::VirtioScsi,
        Adapter::Nvme,
        Adapter::Ahci,
    ];

    /// Its name, as QEMU spells the device.
    pub fn name(self) -> &'static str {
        match self {
            Adapter::Pvscsi => "pvscsi",
            Adapter::Lsi53c895a => "lsi53c895a",
            Adapter::Mptsas1068 => "mptsas1068",
            Adapter::Megasas => "megasas",
            Adapter::VirtioScsi => "virtio-scsi",
            Adapter::Nvme => "nvme",
            Adapter::Ahci => "ahci",
        }
    }

    /// The adapter of a name.
    pub fn of(name: &str) -> Option<Adapter> {
        Adapter::ALL.into_iter().find(|adapter| adapter.name() == name)
    }

    /// The kernel's modules for it and its disks.
    pub fn modules(self) -> &'static [&'static str] {
        match self {
            Adapter::Pvscsi => &["vmw_pvscsi", "sd_mod"],
            Adapter::Lsi53c895a => &["sym53c8xx", "sd_mod"],
            Adapter::Mptsas1068 => &["mptsas", "sd_mod"],
            Adapter::Megasas => &["megaraid_sas", "sd_mod"],
            Adapter::VirtioScsi => &["virtio_pci", "virtio_scsi", "sd_mod"],
            Adapter::Nvme => &["nvme"],
            Adapter::Ahci => &["ahci", "sd_mod"],
        }
    }

    /// Whether its disks may be read-only: an ATA disk has no such state.
    pub fn may_be_read_only(self) -> bool {
        self != Adapter::Ahci
    }

    /// Disks that one such device carries at most.
    pub fn disks_max(self) -> usize {
        match self {
            Adapter::Lsi53c895a => 7,
            Adapter::Mptsas1068 => 8,
            Adapter::Ahci => 6,
            Adapter::Nvme | Adapter::Pvscsi | Adapter::Megasas => 15,
            Adapter::VirtioScsi => 255,
        }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a disk's blocks lie on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A file or block device of the host, opened directly where its file system can.
    File {
        /// The file.
        path: PathBuf,
        /// Bypass the host's page cache.
        direct: bool,
    },
    /// A LUN, reached by QEMU's own initiator.
    Iscsi {
        /// `HOST:PORT`.
        portal: String,
        /// The target's name.
        target: String,
        /// The LUN.
        lun: u32,
        /// As whom.
        initiator: String,
    },
    /// Nothing: reads give zeroes, writes vanish.
    Null {
        /// Bytes.
        size: u64,
    },
}

/// A disk of a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drive {
    /// How the guest reaches it.
    pub adapter: Adapter,
    /// Which adapter of the machine: disks with the same number share one, as far as it has room.
    pub controller: u32,
    /// By which the guest finds it: unique, at most [`SERIAL_MAX`] letters and digits.
    pub serial: String,
    /// Its blocks.
    pub backing: Backing,
    /// It cannot be written.
    pub read_only: bool,
}

/// How the names of the block nodes of disks begin; their numbers follow.
pub(crate) const DISK_NODE: &str = "disk";

/// The longest serial number that every adapter carries.
pub const SERIAL_MAX: usize = 20;

/// A guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// Its name, for process lists.
    pub name: String,
    /// Bytes of memory.
    pub memory: u64,
    /// Virtual processors.
    pub vcpus: u32,
    /// How they run.
    pub accelerator: Accelerator,
    /// Its disks, each behind an adapter; those of one controller share as few adapters as can be.
    pub drives: Vec<Drive>,
    /// Ports between guest and host: their names in the guest.
    pub ports: Vec<String>,
    /// Its network interface, if it has one.
    pub network: Option<Network>,
    /// Memory that outlives it, if it has any.
    pub kept: Option<KeptMemory>,
}

/// The network of a guest: the host's loopback, in user space and without privileges.
///
/// It is 127.0.0.0/8, with the host at 127.0.0.1 and the guest at [`Network::GUEST`], so that an address that a server on the
/// host's loopback gives (an iSCSI target's portals, for one) holds in the guest too. Nothing else can be reached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// TCP ports of the host's loopback that lead to ports of the guest.
    pub forwards: Vec<(u16, u16)>,
}

impl Network {
    /// The guest's address. Its interface needs `route_localnet`, and its own loopback interface must be down.
    pub const GUEST: &str = "127.0.0.15";
    /// The modules that it needs.
    pub const MODULES: [&str; 2] = ["virtio_pci", "virtio_net"];

    /// QEMU's argument of its back end.
    fn argument(&self) -> String {
        let mut line = "user,id=net,net=127.0.0.0/8,host=127.0.0.1,ipv6=off".to_owned();
        for (host, guest) in &self.forwards {
            line.push_str(&format!(",hostfwd=tcp:127.0.0.1:{host}-{}:{guest}", Network::GUEST));
        }
        line
    }
}

/// Where QEMU finds what it connects to, and what it boots.
pub(crate) struct Wiring<'a> {
    pub kernel: &'a Kernel,
    pub initramfs: &'a Path,
    /// The control channel and the ports: names of abstract sockets.
    pub qmp: &'a str,
    pub ports: &'a [String],
}

impl Machine {
    /// The modules that it needs.
    pub fn modules(&self) -> Vec<&'static str> {
        let mut all = vec!["virtio_pci", "virtio_console"];
        all.extend(self.drives.iter().flat_map(|drive| drive.adapter.modules()));
        all.extend(self.network.iter().flat_map(|_| Network::MODULES));
        all
    }

    /// QEMU's arguments.
    pub(crate) fn arguments(&self, wiring: &Wiring) -> Vec<OsString> {
        let mut out: Vec<OsString> = Vec::new();
        let mut add = |option: &str, value: String| {
            out.push(option.into());
            out.push(value.into());
        };
        let (accelerator, processor) = match self.accelerator {
            Accelerator::Kvm => ("kvm", "host"),
            // Room for translated code: the default is a quarter of the machine's memory.
            Accelerator::Tcg => ("tcg,thread=multi,tb-size=32", "max"),
        };
        add("-name", format!("{},debug-threads=on", self.name.replace(',', " ")));
        add("-machine", "pc,usb=off,vmport=off,graphics=off".to_owned());
        add("-accel", accelerator.to_owned());
        add("-cpu", processor.to_owned());
        add("-m", format!("{}k", self.memory >> 10));
        add("-smp", self.vcpus.to_string());
        add("-display", "none".to_owned());
        add("-kernel", path(&wiring.kernel.image));
        add("-initrd", path(wiring.initramfs));
        // A panic ends the machine at once; the processor's random numbers spare it the wait for others.
        let command_line = "console=ttyS0 quiet panic=-1 no_timer_check random.trust_cpu=on rootfstype=ramfs rdinit=/init";
        let name = self.name.replace('"', "'");
        add("-append", format!("{command_line} \"{}={name}\"", crate::init::NAME));
        add("-chardev", "file,id=console,path=/dev/fd/2".to_owned());
        add("-serial", "chardev:console".to_owned());
        add("-chardev", socket("qmp", wiring.qmp));
        add("-mon", "chardev=qmp,mode=control".to_owned());
        add("-device", "virtio-serial-pci".to_owned());
        for (number, (name, address)) in self.ports.iter().zip(wiring.ports).enumerate() {
            add("-chardev", socket(&format!("port{number}"), address));
            add("-device", format!("virtserialport,chardev=port{number},name={name}"));
        }
        if let Some(network) = &self.network {
            add("-netdev", network.argument());
            // It boots from no network: no ROM for that.
            add("-device", "virtio-net-pci,netdev=net,romfile=".to_owned());
        }
        if let Some(kept) = &self.kept {
            let (path, bytes) = (kept.path(), kept.bytes());
            let object =
                format!("memory-backend-file,id=kept,share=on,size={bytes},mem-path={path}");
            add("-object", object);
            // `master`: it goes with the guest where that moves.
            add("-device", "ivshmem-plain,memdev=kept,master=on".to_owned());
        }
        self.storage(&mut add);
        out.extend(["-nodefaults", "-no-user-config", "-no-reboot"].map(OsString::from));
        out
    }

    /// Adapters and disks.
    fn storage(&self, add: &mut dyn FnMut(&str, String)) {
        let mut of_kind: BTreeMap<(Adapter, u32), usize> = BTreeMap::new();
        for (number, drive) in self.drives.iter().enumerate() {
            let (kind, controller) = (drive.adapter, drive.controller);
            let earlier = of_kind.entry((kind, controller)).or_default();
            let (adapter, slot) = (*earlier / kind.disks_max(), *earlier % kind.disks_max());
            *earlier += 1;
            let (adapter, device) = match kind {
                Adapter::VirtioScsi => (format!("virtio{controller}-{adapter}"), "virtio-scsi-pci"),
                _ => (format!("{kind}{controller}-{adapter}"), kind.name()),
            };
            if slot == 0 && kind != Adapter::Nvme {
                add("-device", format!("{device},id={adapter}"));
            }
            add("-blockdev", drive.block(number).to_string());
            let disk = format!("drive=disk{number},serial={}", drive.serial);
            let attached = match kind {
                Adapter::Nvme => format!("nvme,{disk}"),
                Adapter::Ahci => format!("ide-hd,bus={adapter}.{slot},{disk}"),
                _ => {
                    let wwn = drive.wwn();
                    format!("scsi-hd,bus={adapter}.0,scsi-id={slot},{disk},wwn={wwn:#x}")
                }
            };
            add("-device", attached);
        }
    }
}

impl Drive {
    /// A name of the disk in the fabric: without one the SAS adapter's driver takes no notice of it. Locally assigned (NAA 3),
    /// from the serial number by FNV-1a.
    fn wwn(&self) -> u64 {
        let hash = self.serial.bytes().fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        3 << 60 | hash >> 4
    }

    /// The block node of the disk of this number.
    fn block(&self, number: usize) -> Value {
        let (below, direct) = match &self.backing {
            Backing::File { path: file, direct } => {
                let device = file.metadata().is_ok_and(|found| {
                    std::os::unix::fs::FileTypeExt::is_block_device(&found.file_type())
                });
                let driver = if device { "host_device" } else { "file" };
                // Who may write it is the host's guard to say, which holds its own locks.
                let file = json!({
                    "driver": driver, "filename": path(file), "aio": "threads", "locking": "off",
                });
                (file, *direct)
            }
            Backing::Iscsi { portal, target, lun, initiator } => (
                json!({
                    "driver": "iscsi", "transport": "tcp", "portal": portal, "target": target,
                    "lun": lun, "initiator-name": initiator,
                }),
                true,
            ),
            Backing::Null { size } => {
                (json!({ "driver": "null-co", "size": size, "read-zeroes": true }), false)
            }
        };
        json!({
            "driver": "raw", "node-name": format!("{DISK_NODE}{number}"), "read-only": self.read_only,
            "cache": { "direct": direct }, "discard": "unmap", "file": below,
        })
    }
}

/// A path as QEMU takes it whole: as an argument of its own, or in JSON.
fn path(path: &Path) -> String {
    path.display().to_string()
}

/// A character device that connects to an abstract socket.
fn socket(id: &str, name: &str) -> String {
    format!("socket,id={id},path={name},abstract=on,server=off")
}
