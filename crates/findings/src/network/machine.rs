//! The machine at one end of a network load: what it is, and what the load cost its processors.
//!
//! Two costs are kept apart. That of the process is Wirespeed's own: it leaves out what interrupts did for it. That of the
//! host has everything, also what other programs did.

use crate::counters::Integrals;
use record::{CounterId, Fact, SourceId};
use serde::Serialize;

/// What a host did, together how busy it was.
pub(crate) const HOST: [CounterId; 4] =
    [CounterId::HostUser, CounterId::HostSystem, CounterId::HostSoftirq, CounterId::HostIrq];

/// One end's machine over the measured time. What it did not count is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Machine {
    /// Its hop's name (`far/sender`).
    pub hop: String,
    /// The host's name.
    pub host: Option<String>,
    /// Its kernel.
    pub kernel: Option<String>,
    /// The interface that the load goes through.
    pub interface: Option<String>,
    /// The interface's MTU in bytes.
    pub mtu: Option<f64>,
    /// The interface's speed in bytes a second; `None` where it has none (loopback, veth).
    pub speed_bytes_per_s: Option<f64>,
    /// The interface's offloads by the kernel's names, on or off.
    pub offloads: Vec<(String, bool)>,
    /// Processors.
    pub processors: Option<f64>,
    /// CPU time of the process in user mode, in nanoseconds.
    pub process_user_ns: Option<f64>,
    /// CPU time of the process in the kernel, in nanoseconds.
    pub process_system_ns: Option<f64>,
    /// CPU time of the process by all processors' time, 0 to 1.
    pub process_share: Option<f64>,
    /// The threads that carry the load, the busiest first.
    pub threads: Vec<Thread>,
    /// Time of all processors in user mode, as a share, 0 to 1.
    pub host_user: Option<f64>,
    /// In the kernel.
    pub host_system: Option<f64>,
    /// In soft interrupts, where packets are worked on.
    pub host_softirq: Option<f64>,
    /// In hard interrupts.
    pub host_irq: Option<f64>,
    /// All four together: how busy the host was, 0 to 1.
    pub host_share: Option<f64>,
    /// CPU seconds of the process for a gigabyte (10⁹ bytes) received, both directions together.
    pub process_s_per_gb: Option<f64>,
    /// CPU seconds of the host for a gigabyte, with all that it did besides.
    pub host_s_per_gb: Option<f64>,
    /// Cycles of the process for a byte; only where the processor counts them.
    pub cycles_per_byte: Option<f64>,
    /// Interrupts a second.
    pub interrupts_per_s: Option<f64>,
    /// Packets that the host dropped because its backlog was full.
    pub softnet_drops: Option<f64>,
    /// How often it gave up working on packets because their time was over.
    pub softnet_squeezes: Option<f64>,
}

/// A thread of one end.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Thread {
    /// Its name.
    pub name: String,
    /// CPU time in nanoseconds.
    pub cpu_ns: f64,
    /// The same as a share of one processor's time, 0 to 1.
    pub share: f64,
}

/// Which end's machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MachineEnd {
    Sender,
    Receiver,
}

impl MachineEnd {
    pub fn word(self) -> &'static str {
        match self {
            MachineEnd::Sender => "sender",
            MachineEnd::Receiver => "receiver",
        }
    }
}

impl Machine {
    /// What a machine hop counted; `bytes` is what the pair received, both directions together.
    pub(super) fn of(
        (pair, side): (&str, MachineEnd),
        source: Option<SourceId>,
        counts: &Integrals,
        facts: &[Fact],
        bytes: f64,
    ) -> Machine {
        let fact = |what: &str| {
            let key = format!("{}-{what}", side.word());
            // A later fact replaces an earlier one.
            let found = facts.iter().rev().find(|f| f.subject == pair && f.key == key);
            found.map(|f| f.value.clone())
        };
        let amount = |id: CounterId| counts.amount(source?, id);
        let level = |id: CounterId| counts.mean(source?, id);
        let ns = counts.seconds() * 1e9;
        let processors = level(CounterId::Processors).filter(|n| *n >= 1.0);
        let of_all =
            |value: Option<f64>| Some(value? / (processors? * ns)).filter(|s| s.is_finite());
        let per_gb = |cpu_ns: Option<f64>| cpu_ns.filter(|_| bytes > 0.0).map(|c| c / bytes);
        let (user, system) = (amount(CounterId::CpuUser), amount(CounterId::CpuSystem));
        let process = user.zip(system).map(|(u, s)| u + s);
        let host = HOST.map(amount);
        let all = host.iter().copied().sum::<Option<f64>>();
        let of = source.and_then(|source| counts.source(source));
        let parts = |id| of.map(|of| of.parts(id)).into_iter().flatten();
        Machine {
            hop: format!("{pair}/{}", side.word()),
            host: fact("host"),
            kernel: fact("kernel"),
            interface: fact("interface"),
            mtu: level(CounterId::InterfaceMtu),
            speed_bytes_per_s: level(CounterId::InterfaceSpeed).filter(|speed| *speed > 0.0),
            offloads: parts(CounterId::Offload)
                .map(|(name, on, _)| (name.to_owned(), on > 0.5))
                .collect(),
            processors,
            process_user_ns: user,
            process_system_ns: system,
            process_share: of_all(process),
            threads: threads(parts(CounterId::ThreadCpu), ns),
            host_user: of_all(host[0]),
            host_system: of_all(host[1]),
            host_softirq: of_all(host[2]),
            host_irq: of_all(host[3]),
            host_share: of_all(all),
            process_s_per_gb: per_gb(process),
            host_s_per_gb: per_gb(all),
            cycles_per_byte: amount(CounterId::Cycles)
                .filter(|_| bytes > 0.0)
                .map(|cycles| cycles / bytes),
            interrupts_per_s: amount(CounterId::Interrupts).map(|n| n / counts.seconds()),
            softnet_drops: amount(CounterId::SoftnetDrops),
            softnet_squeezes: amount(CounterId::SoftnetSqueezes),
        }
    }

    /// The host's name, or its place where that is not known.
    pub fn title(&self) -> &str {
        self.host.as_deref().unwrap_or(&self.hop)
    }
}

fn threads<'a>(counted: impl Iterator<Item = (&'a str, f64, f64)>, ns: f64) -> Vec<Thread> {
    let thread = |(name, _, cpu_ns): (&str, f64, f64)| Thread {
        name: name.to_owned(),
        cpu_ns,
        share: if ns > 0.0 { cpu_ns / ns } else { 0.0 },
    };
    let mut threads: Vec<Thread> = counted.map(thread).collect();
    threads.sort_by(|a, b| b.cpu_ns.total_cmp(&a.cpu_ns));
    threads
}
