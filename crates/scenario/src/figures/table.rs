//! The table of figures, by kind of part.

use super::Dimension::{
    self, Bus, Count, Flag, Frequency, Iops, Link, PerByte, Rate, Share, Size, Time, Word,
};
use super::FigureDef;
use crate::model::PartKind;

/// Things of which a part has at most so many.
const MANY: Dimension = Count(1, 100_000);
/// Ports of a part.
const PORTS: Dimension = Count(1, 4096);
/// I/Os that a queue holds.
const QUEUE: Dimension = Count(1, 65_535);

/// Words between two frames: two must reach the receiver (FC-FS).
const FILL: Dimension = Count(2, 4096);

const fn figure(name: &'static str, dimension: Dimension, doc: &'static str) -> FigureDef {
    FigureDef { name, dimension, doc }
}

/// The figures that parts of a kind may have, in the order in which documents list them.
pub fn figures_of(kind: PartKind) -> &'static [FigureDef] {
    match kind {
        PartKind::Host => HOST,
        PartKind::Hypervisor => HYPERVISOR,
        PartKind::VirtualScsi => VIRTUAL_SCSI,
        PartKind::Hba => HBA,
        PartKind::Nic => NIC,
        PartKind::Switch => SWITCH,
        PartKind::Array => ARRAY,
        PartKind::Disk => DISK,
        PartKind::Tape => TAPE,
    }
}

const HOST: &[FigureDef] = &[
    figure("processors", Count(1, 4096), "Processors, or sockets."),
    figure("cores", Count(1, 65_535), "Cores over all processors."),
    figure("clock", Frequency, "Their clock."),
    figure("memory", Size, "Memory."),
    figure("bus", Bus, "The bus shared by all of its adapters, in each direction."),
    figure("cpu_per_message", Time, "CPU time of a system call that sends or receives a message."),
    figure("cpu_per_packet", Time, "CPU time per packet of a stream without offload."),
    figure("cpu_per_packet_offload", Time, "CPU time per packet of a stream with offload."),
    figure("cpu_per_byte", PerByte, "CPU time per byte of a stream, for copies."),
    figure("program_cpu_per_io", Time, "CPU time per I/O of a program, on one thread a worker."),
    figure("read_ahead", Size, "What its file system reads ahead of a sequential reader."),
    figure("file_cpu_per_io", Time, "CPU time per I/O of its file system, in a copy of files."),
    figure("file_cpu_per_byte", PerByte, "Additional CPU time per byte, for its file cache."),
];

const HYPERVISOR: &[FigureDef] = &[
    figure("cpu_per_io", Time, "CPU time per I/O on the host."),
    figure("cpu_per_byte", PerByte, "Additional CPU time per byte."),
    figure(
        "pass_time",
        Time,
        "CPU time of a pass of the initiator's and one of the target's thread on this machine, whatever they serve.",
    ),
    figure("wake_time", Time, "Time until a sleeping thread runs on an idle processor."),
    figure(
        "cross_time",
        Time,
        "What a pass of both ends takes longer where they wake each other on another processor that is busy.",
    ),
    figure("switch_time", Time, "Time in which a processor changes from one thread to another."),
    figure("halt_time", Time, "How long a processor is idle before it halts."),
    figure("halt_wake_time", Time, "What `wake_time` is longer by on a halted processor."),
    figure(
        "cpu_per_byte_apart",
        PerByte,
        "The same while the two ends of a session run on different processors.",
    ),
    figure("cache", Size, "Bytes in flight that the caches of a processor hold."),
    figure(
        "cpu_per_byte_uncached",
        PerByte,
        "What `cpu_per_byte` is longer by for bytes in flight that no cache holds.",
    ),
    figure("poll_time", Time, "How long an initiator's thread polls at most before it sleeps."),
    figure("target_share", Share, "The target's share of the costs of a pass and an I/O."),
    figure(
        "sender_share",
        Share,
        "The share of a byte's cost at the end that sends it: the target of a read, the initiator of a write.",
    ),
    figure("fitted_depth_max", Count(1, 65_535), "The greatest depth its figures were fitted to."),
    figure("fitted_block_min", Size, "The smallest block size its figures were fitted to."),
    figure("fitted_block_max", Size, "The largest block size its figures were fitted to."),
    figure("fitted_vms_max", Count(1, 65_535), "The most VMs its figures were fitted to."),
    figure("fitted_rate_max", Iops, "The highest rate of an open loop its figures were fitted to."),
    figure("io_cores", Count(1, 65_535), "Host cores that process I/O; default: all."),
    figure("lock_time", Time, "Time that a write holds the datastore lock."),
    figure("round_robin_ios", MANY, "I/Os over one path before switching to the next."),
    figure("software_iscsi_queue", QUEUE, "I/Os outstanding at its own iSCSI initiator."),
    figure("guests_share_cores", Flag, "Whether guests run on the cores that process I/O."),
];

const VIRTUAL_SCSI: &[FigureDef] = &[
    figure("adapter_queue", QUEUE, "I/Os outstanding at the adapter."),
    figure("disk_queue", QUEUE, "I/Os outstanding at one of its disks."),
    figure("cpu_per_io", Time, "CPU time per I/O in the guest."),
    figure("program_cpu_per_io", Time, "CPU time per I/O of a program, on one thread a worker."),
    figure("read_ahead", Size, "What the guest's file system reads ahead of a sequential reader."),
    figure(
        "host_cpu_per_io",
        Time,
        "CPU time per I/O on the host for this adapter, in addition to the hypervisor's.",
    ),
    figure("iops_max", Iops, "IOPS of one adapter (rings and interrupt)."),
    figure("coalesce_ios", MANY, "Maximum completions per interrupt."),
    figure("coalesce_time", Time, "Maximum delay of a completion for interrupt coalescing."),
];

const HBA: &[FigureDef] = &[
    figure("port_rate", Link, "The speed of a port."),
    figure("ports", PORTS, "Ports."),
    figure("iops_max", Iops, "IOPS of one port's chip."),
    figure("lun_queue", QUEUE, "I/Os outstanding at one LUN."),
    figure("throttle", QUEUE, "I/Os outstanding at one port (execution throttle)."),
    figure("read_rate", Rate, "Maximum read rate, if below the port's."),
    figure("write_rate", Rate, "Maximum write rate."),
    figure("duplex_rate", Rate, "Maximum combined read and write rate."),
    figure("bus", Bus, "Its bus, in each direction."),
    figure("latency", Time, "Latency added to every I/O."),
    figure("credits", Count(1, 65_535), "Buffer-to-buffer credits of a port."),
    figure(
        "fill_words",
        FILL,
        "Words of 4 bytes that its Fibre Channel ports leave between frames.",
    ),
];

const NIC: &[FigureDef] = &[
    figure("port_rate", Link, "The speed of a port."),
    figure("ports", PORTS, "Ports."),
    figure("mtu_max", Size, "The largest MTU."),
    figure("cpu_per_packet", Time, "CPU time per packet without offload."),
    figure("cpu_per_packet_offload", Time, "CPU time per packet with offload."),
    figure("cpu_per_byte", PerByte, "CPU time per byte."),
    figure("cpu_per_message", Time, "CPU time of a system call that sends or receives a message."),
    figure("coalesce_packets", MANY, "Maximum packets per interrupt."),
    figure("coalesce_time", Time, "Maximum delay of a packet for interrupt coalescing."),
    figure(
        "interrupt_cores",
        MANY,
        "Cores that handle the packets received; default: each thread's own.",
    ),
    figure("iops_max", Iops, "IOPS of one port's chip."),
    figure("lun_queue", QUEUE, "I/Os outstanding at one LUN."),
    figure("duplex_rate", Rate, "Maximum combined send and receive rate of a port."),
    figure("bus", Bus, "Its bus, in each direction."),
    figure("latency", Time, "Latency added to every I/O."),
];

const SWITCH: &[FigureDef] = &[
    figure("ports", PORTS, "Ports."),
    figure("port_rate", Link, "The speed of a port."),
    figure("stacking_ports", PORTS, "Inter-switch ports."),
    figure("stacking_rate", Link, "The speed of each of them."),
    figure("latency", Time, "Latency added to every frame."),
    figure(
        "fill_words",
        FILL,
        "Words of 4 bytes that its Fibre Channel ports leave between frames.",
    ),
];

/// What an array's volumes lie on, unless a volume says otherwise.
const MEDIA: &[&str] = &["ram", "ssd", "disk", "file"];

const ARRAY: &[FigureDef] = &[
    figure("controllers", PORTS, "Controllers; ports are assigned to them in turn."),
    figure("ports", PORTS, "Front-end ports."),
    figure("port_rate", Link, "The speed of a port."),
    figure("media", Word(MEDIA), "Media of its volumes."),
    figure("iops_max", Iops, "IOPS of the whole array."),
    figure("rate_max", Rate, "Maximum throughput, both directions combined."),
    figure("read_rate", Rate, "Maximum read rate."),
    figure("write_rate", Rate, "Maximum write rate."),
    figure("latency", Time, "Latency added to every I/O."),
    figure("controller_time_per_io", Time, "Controller core time per I/O."),
    figure("controller_cores", MANY, "Cores of a controller."),
    figure("cache", Size, "Cache size over all controllers."),
    figure(
        "cache_mirrored",
        Flag,
        "Whether written data is mirrored, taking twice its size in the cache.",
    ),
    figure("cache_hit_time", Time, "Latency of a cache hit."),
    figure("hit_share", Share, "Share of read hits, if the working set does not determine it."),
    figure("write_back", Flag, "Whether the cache is write-back."),
    figure("backend_ports", PORTS, "Back-end ports."),
    figure("backend_port_rate", Link, "The speed of each of them."),
    figure("engines", PORTS, "Engines, each with its own controllers."),
    figure(
        "session_time_per_io",
        Time,
        "CPU time per I/O of the thread that serves an iSCSI session.",
    ),
    figure("session_time_per_packet", Time, "Additional time of that thread per data packet."),
    figure("session_time_per_byte", PerByte, "Additional time of that thread per byte."),
    figure("transfer_ready_time", Time, "From the command of a write to its transfer ready."),
    figure(
        "fill_words",
        FILL,
        "Words of 4 bytes that its Fibre Channel ports leave between frames.",
    ),
];

const DISK: &[FigureDef] = &[
    figure("seek_mean", Time, "Mean seek time."),
    figure("rotation_half", Time, "Mean rotational latency (half a revolution)."),
    figure("rate_outer", Rate, "Sequential rate at the outer edge."),
    figure("rate_inner", Rate, "Sequential rate at the inner edge."),
    figure("size", Size, "Its size."),
    figure("queue", QUEUE, "Queue depth."),
    figure("reorder", Share, "Share of seek and rotation time saved by reordering a full queue."),
    figure("read_latency", Time, "Read latency of an SSD."),
    figure("write_latency", Time, "Write latency of an SSD."),
    figure("read_rate", Rate, "Sequential read rate of an SSD."),
    figure("write_rate", Rate, "Sequential write rate of an SSD."),
    figure("channels", MANY, "I/Os that an SSD serves in parallel."),
];

const TAPE: &[FigureDef] = &[
    figure("drives", MANY, "Drives."),
    figure("drive_rate", Rate, "Read or write rate of a drive."),
    figure("ports", PORTS, "Front-end ports."),
    figure("port_rate", Link, "The speed of a port."),
    figure("controllers", PORTS, "Controllers; ports are assigned to them in turn."),
    figure("rate_max", Rate, "Maximum throughput of the library, both directions combined."),
    figure("latency", Time, "Latency added to every I/O."),
    figure("transfer_ready_time", Time, "From the command of a write to its transfer ready."),
    figure(
        "fill_words",
        FILL,
        "Words of 4 bytes that its Fibre Channel ports leave between frames.",
    ),
];
