//! What is taken for figures between the guest and the array's port that no part gives, and why. Each becomes an assumption
//! of the plant where it is used.

use crate::lab::draft::Draft;

/// A value for a figure that nobody gave.
pub struct Assumed<T> {
    figure: &'static str,
    value: T,
    shown: &'static str,
    reason: &'static str,
}

impl<T: Copy> Assumed<T> {
    const fn new(
        figure: &'static str,
        value: T,
        shown: &'static str,
        reason: &'static str,
    ) -> Assumed<T> {
        Assumed { figure, value, shown, reason }
    }

    /// The figure, its value with its unit, and the reason.
    pub fn told(&self) -> (&'static str, &'static str, &'static str) {
        (self.figure, self.shown, self.reason)
    }

    /// What is given, or else this, entered as an assumption about `subject`.
    pub fn unless(&self, given: Option<T>, subject: &str, draft: &mut Draft) -> T {
        given.unwrap_or_else(|| {
            draft.assume(subject, self.figure, self.shown, self.reason);
            self.value
        })
    }
}

/// Why a limit that nobody gave is none.
pub const UNLIMITED: &str =
    "not given; taken not to limit, so the answer is an upper bound in this respect";

/// Enters that something which is not known does not limit.
pub fn unlimited(figure: &str, subject: &str, draft: &mut Draft) {
    draft.assume(subject, figure, "no limit", UNLIMITED);
}

/// Virtual processors of a VM.
pub const VCPUS: Assumed<u32> =
    Assumed::new("vcpus", 1, "1", "not given; a VM has at least one virtual processor");

/// Cores of a host that carry I/O.
pub const CORES: Assumed<u32> =
    Assumed::new("cores", 4, "4", "not given; the smallest server that is sold for this");

/// Seconds of a guest's processor an I/O: system call, file system, SCSI layer, interrupt.
pub const GUEST_IO: Assumed<f64> = Assumed::new(
    "cpu_per_io",
    5e-6,
    "5 us",
    "not given; about 15,000 cycles of a 3 GHz core for the guest's own storage stack",
);

/// Seconds of a host's processor an I/O where a hypervisor stands between.
pub const HYPERVISOR_IO: Assumed<f64> = Assumed::new(
    "cpu_per_io",
    10e-6,
    "10 us",
    "not given; about 30,000 cycles of a 3 GHz core for emulation, file system, scheduling and the driver",
);

/// Seconds of a host's processor an I/O without one.
pub const HOST_IO: Assumed<f64> = Assumed::new(
    "cpu_per_io",
    5e-6,
    "5 us",
    "not given; about 15,000 cycles of a 3 GHz core for an operating system's storage stack",
);

/// Seconds of a host's processor a byte.
pub const HOST_BYTE: Assumed<f64> = Assumed::new(
    "cpu_per_byte",
    0.0,
    "0 s",
    "not given; adapters move data to the guest's memory by themselves (DMA)",
);

/// Seconds that an I/O holds the lock of its datastore.
pub const LOCK: Assumed<f64> = Assumed::new(
    "lock_time",
    0.0,
    "0 s",
    "not given; reading and writing allocated blocks takes no lock on the disk, only growing a file does",
);

/// I/Os that a virtual SCSI adapter and a virtual disk hold at once.
pub const ADAPTER_QUEUE: Assumed<u32> = Assumed::new(
    "adapter_queue",
    128,
    "128",
    "not given; that of LSI Logic SAS, which hypervisors present unless told otherwise",
);

/// The same of one of its disks.
pub const DISK_QUEUE: Assumed<u32> = Assumed::new(
    "disk_queue",
    32,
    "32",
    "not given; that of LSI Logic SAS, which hypervisors present unless told otherwise",
);

/// Seconds that the first of some completions waits for the others, where only their number is given.
pub const COALESCE: Assumed<f64> = Assumed::new(
    "coalesce_time",
    50e-6,
    "50 us",
    "not given; small beside what a disk takes, as drivers choose it",
);

/// I/Os that an adapter's driver holds at once for a LUN.
pub const LUN_QUEUE: Assumed<u32> =
    Assumed::new("lun_queue", 32, "32", "not given; what drivers of HBAs usually set");

/// The same of an initiator in software.
pub const SOFTWARE_QUEUE: Assumed<u32> = Assumed::new(
    "software_iscsi_queue",
    128,
    "128",
    "not given; what initiators in software usually set",
);

/// Seconds of a host's processor a packet, with and without the adapter's help.
pub const PACKET_OFFLOAD: Assumed<f64> = Assumed::new(
    "cpu_per_packet_offload",
    0.25e-6,
    "250 ns",
    "not given; segments are cut and joined by the adapter, so that headers are handled many at a time",
);

/// The same without.
pub const PACKET: Assumed<f64> = Assumed::new(
    "cpu_per_packet",
    1e-6,
    "1 us",
    "not given; about 3,000 cycles of a 3 GHz core for TCP/IP and the driver",
);

/// Seconds of a host's processor a byte of iSCSI over TCP.
pub const TCP_BYTE: Assumed<f64> =
    Assumed::new("cpu_per_byte", 0.2e-9, "0.2 ns", "not given; one copy in memory, at 5 GB/s");

/// Seconds of a processor for a system call that sends or receives a message.
pub const MESSAGE: Assumed<f64> = Assumed::new(
    "cpu_per_message",
    2e-6,
    "2 us",
    "not given; about 6,000 cycles of a 3 GHz core for a system call, the socket's lock and its share of waking a thread",
);

/// Bytes of a stream on their way at once.
pub const WINDOW: Assumed<u32> = Assumed::new(
    "window",
    512 << 10,
    "512 KiB",
    "not given; kernels let it grow until it does not limit: eight times what 10 Gb/s carry in 50 us",
);

/// Seconds through a switch.
pub const SWITCH: Assumed<f64> = Assumed::new(
    "latency",
    0.7e-6,
    "700 ns",
    "not given; what makers of switches that forward before a frame has ended publish",
);

/// Buffers that the ends of a Fibre Channel link have for each other.
pub const CREDITS: Assumed<u32> =
    Assumed::new("credits", 8, "8", "not given; what switches give a port of short reach");

/// Seconds for which a path is silent before it is given up.
pub const PATH_TIMEOUT: Assumed<f64> =
    Assumed::new("path_timeout", 10.0, "10 s", "not given; as the initiator of a live run has it");

/// Seconds for which an I/O waits while no path lives.
pub const NO_PATH_RETRY: Assumed<f64> = Assumed::new(
    "no_path_retry",
    30.0,
    "30 s",
    "not given; as the initiator of a live run has it with several paths",
);
