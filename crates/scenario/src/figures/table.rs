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
    figure("cores", Count(1, 65_535), "Cores of all of its processors together."),
    figure("clock", Frequency, "Their clock."),
    figure("memory", Size, "Memory."),
    figure("bus", Bus, "The bus that all of its adapters share, in each direction."),
    figure(
        "cpu_per_message",
        Time,
        "Processor time of a system call that sends or receives a message.",
    ),
    figure(
        "cpu_per_packet",
        Time,
        "Processor time that a packet of a stream takes without offload.",
    ),
    figure(
        "cpu_per_packet_offload",
        Time,
        "Processor time that a packet of a stream takes with offload.",
    ),
    figure("cpu_per_byte", PerByte, "Processor time that a byte of a stream takes: its copies."),
];

const HYPERVISOR: &[FigureDef] = &[
    figure("cpu_per_io", Time, "Processor time that an I/O takes on the host."),
    figure("cpu_per_byte", PerByte, "Processor time that a byte takes besides."),
    figure(
        "io_cores",
        Count(1, 65_535),
        "Cores of the host that carry I/O; all of them unless given.",
    ),
    figure("lock_time", Time, "How long a write holds the lock of a datastore."),
    figure("round_robin_ios", MANY, "I/Os over one path before it is the next one's turn."),
    figure("software_iscsi_queue", QUEUE, "I/Os that its own iSCSI initiator has outstanding."),
];

const VIRTUAL_SCSI: &[FigureDef] = &[
    figure("adapter_queue", QUEUE, "I/Os outstanding at the adapter."),
    figure("disk_queue", QUEUE, "I/Os outstanding at one of its disks."),
    figure("cpu_per_io", Time, "Processor time that an I/O takes in the guest."),
    figure(
        "host_cpu_per_io",
        Time,
        "Processor time that an I/O takes on the host for this adapter, beside the hypervisor's own.",
    ),
    figure("iops_max", Iops, "I/Os a second of one adapter: of its rings and its interrupt."),
    figure("coalesce_ios", MANY, "Completions that one interrupt tells, at most."),
    figure("coalesce_time", Time, "How long a completion waits for others, at most."),
];

const HBA: &[FigureDef] = &[
    figure("port_rate", Link, "The speed of a port."),
    figure("ports", PORTS, "Ports."),
    figure("iops_max", Iops, "I/Os a second of one port's chip."),
    figure("lun_queue", QUEUE, "I/Os outstanding at one LUN."),
    figure("throttle", QUEUE, "I/Os outstanding at one port (execution throttle)."),
    figure("read_rate", Rate, "What the adapter reads at most, where the port does not say it."),
    figure("write_rate", Rate, "What the adapter writes at most."),
    figure("duplex_rate", Rate, "What it reads and writes together at most."),
    figure("bus", Bus, "The bus that it sits on, in each direction."),
    figure("latency", Time, "What it adds to every I/O."),
    figure("credits", Count(1, 65_535), "Buffer-to-buffer credits of a port."),
];

const NIC: &[FigureDef] = &[
    figure("port_rate", Link, "The speed of a port."),
    figure("ports", PORTS, "Ports."),
    figure("mtu_max", Size, "The largest MTU."),
    figure("cpu_per_packet", Time, "Processor time that a packet takes without offload."),
    figure("cpu_per_packet_offload", Time, "Processor time that a packet takes with offload."),
    figure("cpu_per_byte", PerByte, "Processor time that a byte takes."),
    figure(
        "cpu_per_message",
        Time,
        "Processor time of a system call that sends or receives a message.",
    ),
    figure("coalesce_packets", MANY, "Packets that one interrupt tells, at most."),
    figure(
        "coalesce_time",
        Time,
        "How long a packet waits for others before an interrupt, at most.",
    ),
    figure("iops_max", Iops, "I/Os a second of one port's chip."),
    figure("lun_queue", QUEUE, "I/Os outstanding at one LUN."),
    figure("duplex_rate", Rate, "What a port sends and receives together at most."),
    figure("bus", Bus, "The bus that it sits on, in each direction."),
    figure("latency", Time, "What it adds to every I/O."),
];

const SWITCH: &[FigureDef] = &[
    figure("ports", PORTS, "Ports."),
    figure("port_rate", Link, "The speed of a port."),
    figure("stacking_ports", PORTS, "Ports that join it to other switches."),
    figure("stacking_rate", Link, "The speed of one of these."),
    figure("latency", Time, "What it adds to every frame."),
];

/// What an array's volumes lie on, unless a volume says otherwise.
const MEDIA: &[&str] = &["ram", "ssd", "disk", "file"];

const ARRAY: &[FigureDef] = &[
    figure("controllers", PORTS, "Controllers; its ports are dealt to them in order."),
    figure("ports", PORTS, "Ports towards the hosts."),
    figure("port_rate", Link, "The speed of a port."),
    figure("media", Word(MEDIA), "What its volumes lie on."),
    figure("iops_max", Iops, "I/Os a second of the whole array."),
    figure("rate_max", Rate, "What it carries at most, both directions together."),
    figure("read_rate", Rate, "What it reads at most."),
    figure("write_rate", Rate, "What it writes at most."),
    figure("latency", Time, "What it adds to every I/O."),
    figure("controller_time_per_io", Time, "Time of a controller's core that an I/O takes."),
    figure("controller_cores", MANY, "Cores of a controller."),
    figure("cache", Size, "Its cache, all controllers together."),
    figure("cache_mirrored", Flag, "Whether what is written takes twice its size in the cache."),
    figure("cache_hit_time", Time, "How long a hit takes."),
    figure(
        "hit_share",
        Share,
        "Reads that the cache answers, where the working set does not tell.",
    ),
    figure("write_back", Flag, "Whether a write is acknowledged when it is in the cache."),
    figure("backend_ports", PORTS, "Ports towards the disks."),
    figure("backend_port_rate", Link, "The speed of one of these."),
    figure("engines", PORTS, "Engines, each with controllers of its own."),
    figure(
        "session_time_per_io",
        Time,
        "Time of the one thread that serves an iSCSI session that an I/O takes.",
    ),
    figure("session_time_per_packet", Time, "What a packet of its data takes of it besides."),
    figure("session_time_per_byte", PerByte, "What a byte takes of it besides."),
];

const DISK: &[FigureDef] = &[
    figure("seek_mean", Time, "The mean time of a seek."),
    figure("rotation_half", Time, "Half a turn."),
    figure("rate_outer", Rate, "Sequential, at the outer edge."),
    figure("rate_inner", Rate, "Sequential, at the inner edge."),
    figure("size", Size, "Its size."),
    figure("queue", QUEUE, "I/Os that it holds."),
    figure("reorder", Share, "Seek and rotation that a full queue saves by its order."),
    figure("read_latency", Time, "A read, of an SSD."),
    figure("write_latency", Time, "A write, of an SSD."),
    figure("read_rate", Rate, "Sequential reads, of an SSD."),
    figure("write_rate", Rate, "Sequential writes, of an SSD."),
    figure("channels", MANY, "I/Os that an SSD serves at once."),
];

const TAPE: &[FigureDef] = &[
    figure("drives", MANY, "Drives."),
    figure("drive_rate", Rate, "What a drive reads or writes."),
    figure("ports", PORTS, "Ports towards the hosts."),
    figure("port_rate", Link, "The speed of a port."),
    figure("controllers", PORTS, "Controllers; its ports are dealt to them in order."),
    figure("rate_max", Rate, "What the whole library carries, both directions together."),
    figure("latency", Time, "What it adds to every I/O."),
];
