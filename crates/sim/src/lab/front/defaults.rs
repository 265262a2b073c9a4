//! Defaults for figures between the guest and the array's port that no part gives, with reasons. Each becomes an
//! assumption of the plant where it is used.

use crate::lab::draft::Draft;

/// A default for a figure.
pub struct FigureDefault<T> {
    figure: &'static str,
    value: T,
    shown: &'static str,
    reason: &'static str,
}

impl<T: Copy> FigureDefault<T> {
    const fn new(
        figure: &'static str,
        value: T,
        shown: &'static str,
        reason: &'static str,
    ) -> FigureDefault<T> {
        FigureDefault { figure, value, shown, reason }
    }

    /// The figure, its value with unit, and the reason.
    pub fn assumption(&self) -> (&'static str, &'static str, &'static str) {
        (self.figure, self.shown, self.reason)
    }

    /// The given value, or else this one, recorded as an assumption about `subject`.
    pub fn unless(&self, given: Option<T>, subject: &str, draft: &mut Draft) -> T {
        given.unwrap_or_else(|| {
            draft.assume(subject, self.figure, self.shown, self.reason);
            self.value
        })
    }
}

/// The reason where a limit is not given.
pub const UNLIMITED: &str =
    "not given; assumed not to limit, so the result is an upper bound in this respect";

/// Records that a missing limit does not limit.
pub fn unlimited(figure: &str, subject: &str, draft: &mut Draft) {
    draft.assume(subject, figure, "no limit", UNLIMITED);
}

/// Virtual processors of a VM.
pub const VCPUS: FigureDefault<u32> =
    FigureDefault::new("vcpus", 1, "1", "not given; a VM has at least one virtual processor");

/// Cores of a host that handle I/O.
pub const CORES: FigureDefault<u32> =
    FigureDefault::new("cores", 4, "4", "not given; the smallest server sold for this purpose");

/// Guest CPU seconds per I/O: system call, file system, SCSI layer, interrupt.
pub const GUEST_IO: FigureDefault<f64> = FigureDefault::new(
    "cpu_per_io",
    5e-6,
    "5 us",
    "not given; about 15,000 cycles of a 3 GHz core for the guest's own storage stack",
);

/// Host CPU seconds per I/O under a hypervisor.
pub const HYPERVISOR_IO: FigureDefault<f64> = FigureDefault::new(
    "cpu_per_io",
    10e-6,
    "10 us",
    "not given; about 30,000 cycles of a 3 GHz core for emulation, file system, scheduling and the driver",
);

/// Host CPU seconds per I/O without a hypervisor.
pub const HOST_IO: FigureDefault<f64> = FigureDefault::new(
    "cpu_per_io",
    5e-6,
    "5 us",
    "not given; about 15,000 cycles of a 3 GHz core for an operating system's storage stack",
);

/// Host CPU seconds per byte.
pub const HOST_BYTE: FigureDefault<f64> = FigureDefault::new(
    "cpu_per_byte",
    0.0,
    "0 s",
    "not given; adapters transfer data to the guest's memory by DMA",
);

/// Seconds that an I/O holds the lock of its datastore.
pub const LOCK: FigureDefault<f64> = FigureDefault::new(
    "lock_time",
    0.0,
    "0 s",
    "not given; only growing a file takes a lock on the disk, not reading and writing allocated blocks",
);

/// Outstanding I/Os of a virtual SCSI adapter.
pub const ADAPTER_QUEUE: FigureDefault<u32> = FigureDefault::new(
    "adapter_queue",
    128,
    "128",
    "not given; that of LSI Logic SAS, the default adapter of hypervisors",
);

/// Outstanding I/Os of one of its disks.
pub const DISK_QUEUE: FigureDefault<u32> = FigureDefault::new(
    "disk_queue",
    32,
    "32",
    "not given; that of LSI Logic SAS, the default adapter of hypervisors",
);

/// How long the first of several coalesced completions waits, in seconds, where only their number is given.
pub const COALESCE: FigureDefault<f64> = FigureDefault::new(
    "coalesce_time",
    50e-6,
    "50 us",
    "not given; small beside the time of a disk, as drivers choose it",
);

/// Outstanding I/Os of an adapter's driver per LUN.
pub const LUN_QUEUE: FigureDefault<u32> =
    FigureDefault::new("lun_queue", 32, "32", "not given; the usual default of HBA drivers");

/// Outstanding I/Os of a software initiator per LUN.
pub const SOFTWARE_QUEUE: FigureDefault<u32> = FigureDefault::new(
    "software_iscsi_queue",
    128,
    "128",
    "not given; the usual default of software initiators",
);

/// Host CPU seconds per packet, with offload.
pub const PACKET_OFFLOAD: FigureDefault<f64> = FigureDefault::new(
    "cpu_per_packet_offload",
    0.25e-6,
    "250 ns",
    "not given; the adapter segments and reassembles, so that headers are handled in batches",
);

/// Host CPU seconds per packet, without offload.
pub const PACKET: FigureDefault<f64> = FigureDefault::new(
    "cpu_per_packet",
    1e-6,
    "1 us",
    "not given; about 3,000 cycles of a 3 GHz core for TCP/IP and the driver",
);

/// Host CPU seconds per byte of iSCSI over TCP.
pub const TCP_BYTE: FigureDefault<f64> = FigureDefault::new(
    "cpu_per_byte",
    0.2e-9,
    "0.2 ns",
    "not given; one copy in memory, at 5 GB/s",
);

/// CPU seconds of a system call that sends or receives a message.
pub const MESSAGE: FigureDefault<f64> = FigureDefault::new(
    "cpu_per_message",
    2e-6,
    "2 us",
    "not given; about 6,000 cycles of a 3 GHz core for a system call, the socket's lock and its share of waking a thread",
);

/// CPU seconds of a file system per I/O.
pub const FILE_IO: FigureDefault<f64> = FigureDefault::new(
    "file_cpu_per_io",
    20e-6,
    "20 us",
    "not given; about 60,000 cycles of a 3 GHz core for extents, pages of the file cache and the journal's share",
);

/// CPU seconds of a file system per byte.
pub const FILE_BYTE: FigureDefault<f64> = FigureDefault::new(
    "file_cpu_per_byte",
    0.4e-9,
    "0.4 ns",
    "not given; one copy between the file cache and the program, at 2.5 GB/s",
);

/// Bytes of a stream in flight.
pub const WINDOW: FigureDefault<u32> = FigureDefault::new(
    "window",
    512 << 10,
    "512 KiB",
    "not given; kernels let it grow until it no longer limits: eight times what 10 Gb/s carry in 50 us",
);

/// Seconds through a switch.
pub const SWITCH: FigureDefault<f64> = FigureDefault::new(
    "latency",
    0.7e-6,
    "700 ns",
    "not given; typical data-sheet latency of cut-through switches",
);

/// Buffer credits of a Fibre Channel link.
pub const CREDITS: FigureDefault<u32> = FigureDefault::new(
    "credits",
    8,
    "8",
    "not given; the usual credits of a short-reach switch port",
);

/// Seconds without a response before a path is given up.
pub const PATH_TIMEOUT: FigureDefault<f64> = FigureDefault::new(
    "path_timeout",
    10.0,
    "10 s",
    "not given; as in the initiator of a live run",
);

/// Seconds for which an I/O waits while no path is up.
pub const NO_PATH_RETRY: FigureDefault<f64> = FigureDefault::new(
    "no_path_retry",
    30.0,
    "30 s",
    "not given; as in the initiator of a live run with several paths",
);
