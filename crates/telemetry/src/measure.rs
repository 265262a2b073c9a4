//! What a column of monitoring is: which quantity, of which operations, over which part of their way.

/// Which operations a measure is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Flow {
    /// Towards the guest.
    Read,
    /// Towards the device.
    Write,
    /// Operations of any kind; of bytes both directions together.
    Any,
}

/// Which part of an operation's way a latency covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Leg {
    /// All that the place sees.
    All,
    /// In the host's kernel, queue included (KAVG).
    Kernel,
    /// In the host's queue before the device (QAVG, a part of the kernel's).
    Queue,
    /// Behind the host's adapter (DAVG).
    Device,
}

/// What a column is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Operations a second.
    Ops(Flow),
    /// Bytes a second.
    Bytes(Flow),
    /// Mean time of an operation in nanoseconds.
    Time(Leg, Flow),
    /// Merges a second.
    Merges(Flow),
    /// Mean operations in flight.
    InFlight,
    /// Operations in flight at the end of the interval.
    InFlightEnd,
    /// Operations that wait for a slot at the end of the interval.
    QueuedEnd,
    /// Operations that may be in flight.
    Slots,
    /// Share of the time with at least one operation in flight, or in which a server was busy.
    Busy,
    /// Share of the time of all processors.
    Cpu,
    /// Number of processors.
    Processors,
    /// Speed of a port in bytes a second, each way.
    Speed,
    /// Failed operations or damaged frames a second.
    Errors,
    /// Frames or packets a second that were dropped.
    Discards,
    /// Share of the time with frames to send and no buffer credit.
    CreditWait,
    /// Commands a second that were aborted or reset.
    Aborts,
}
