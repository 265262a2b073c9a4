//! The checked scenario. Names are unique and references resolved by name when one of these exists; ranges such as
//! `vm{1..8}` have been expanded and patterns such as `vm*` replaced by the names that they match.

use crate::agents::AgentChoice;
use crate::catalog::Used;
use crate::{
    Assumed, CacheMode, Claim, CounterSource, Embedded, Fault, Incident, Load, Medium, Patience,
    Policy, Project, Prove, Raid, Receiver, Search, Spots, Steady, SwitchAfter, Team, VmNic,
    Workload,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use units::{ByteRate, Bytes, Iops, LinkRate, Percent};
use workload::{Heading, NetFrames, WorkingSet};

/// One scenario file.
#[derive(Clone, Debug, PartialEq)]
pub struct Scenario {
    /// The title, and where the experiment comes from.
    pub head: ScenarioHead,
    /// The lab.
    pub lab: Lab,
    /// What is issued, copied and carried: family by family, each in order of definition. No workload has the name of another.
    pub workloads: Vec<Workload>,
    /// In which order, how long.
    pub plans: Vec<Plan>,
    /// What must hold.
    pub goals: Vec<Goal>,
    /// What was published.
    pub claims: Vec<Claim>,
    /// Applications to be projected on what was measured.
    pub projects: Vec<Project>,
    /// Where settings come from that the experiment's source does not publish.
    pub assumed: Vec<Assumed>,
    /// What it uses of the catalogs of the user.
    pub catalogs: Vec<Used>,
    /// Where all of this stands in the text, for mistakes that are found later.
    pub spots: Spots,
}

impl Scenario {
    /// Every workload that replays a trace, where it is described and where a plan runs it.
    pub fn traces_mut(&mut self) -> impl Iterator<Item = &mut crate::DiskWorkload> {
        let planned = self.plans.iter_mut().flat_map(|plan| &mut plan.loads);
        let all = self.workloads.iter_mut().chain(planned.map(|load| &mut load.workload));
        all.filter_map(Workload::disk_mut).filter(|workload| workload.spec.trace.is_some())
    }
}

/// `[scenario]`.
#[derive(Clone, Debug, PartialEq)]
pub struct ScenarioHead {
    /// The question, in one line.
    pub title: String,
    /// Who published the experiment, where and when.
    pub source: Option<String>,
    /// Anything a reader should know.
    pub description: Option<String>,
    /// Seed of every random stream; 1 unless given.
    pub seed: u64,
}

/// The lab.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lab {
    /// Targets named directly: files, devices, `null:`.
    pub targets: Vec<Target>,
    /// The far ends of network loads.
    pub receivers: Vec<Receiver>,
    /// Physical hosts.
    pub hosts: Vec<Host>,
    /// Virtual machines.
    pub vms: Vec<Vm>,
    /// Switches.
    pub switches: Vec<Switch>,
    /// Arrays, servers that export volumes, tape libraries.
    pub arrays: Vec<Array>,
    /// Volumes on arrays.
    pub volumes: Vec<Volume>,
    /// Cables.
    pub links: Vec<Link>,
    /// Network adapters that act as one.
    pub teams: Vec<Team>,
    /// Zones: who may talk to whom.
    pub zones: Vec<Zone>,
    /// Explicit paths from a host or VM to a volume.
    pub paths: Vec<Path>,
    /// Where counters of its devices come from.
    pub counters: Vec<CounterSource>,
    /// Parts that this scenario has besides the embedded catalog's: of this file, and of users' catalogs.
    pub parts: Vec<Part>,
}

/// `[[target]]`: something that I/O can be issued to on the machine that runs the scenario.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// Its name in the scenario.
    pub name: String,
    /// A path (file or block device), `null:`, later `iscsi://…`.
    pub url: String,
    /// Size of the file that Wirespeed creates when there is none, and reuses when it made it.
    pub create: Option<Bytes>,
    /// Size of a `null:` target, which has none by itself.
    pub size: Option<Bytes>,
    /// Through the page cache instead of O_DIRECT.
    pub buffered: bool,
    /// The token by which the user says that it may be written, where Wirespeed did not make it.
    pub write_token: Option<String>,
    /// Whether what it carries may be lost.
    pub overwrite: bool,
    /// What carries its I/O.
    pub queue: QueueEngine,
    /// Completions are looked for instead of waited for.
    pub polled: bool,
    /// What data that is written to it is like.
    pub data: workload::Reduction,
    /// Whether it is filled before its first load.
    pub fill: Fill,
    /// The file in which verification keeps what each block must hold.
    pub verify_state: Option<String>,
    /// Blocks need to hold only what had been flushed, or something newer.
    pub verify_flushed: bool,
    /// Its model in the catalog, for the simulator.
    pub part: Option<String>,
}

/// Whether a target that may be written is filled before its first load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fill {
    /// Where samples show that it needs it.
    #[default]
    Auto,
    /// Whatever it holds.
    Always,
    /// Never.
    Never,
}

/// What carries I/O to files and block devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueEngine {
    /// io_uring where it may be used, Linux AIO where the device makes io_uring slow, otherwise `pread` and `pwrite`.
    #[default]
    Auto,
    /// io_uring or nothing.
    Uring,
    /// Linux AIO or nothing.
    Aio,
    /// `pread` and `pwrite`, one at a time.
    Pread,
}

/// `[[host]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its model in the catalog.
    pub part: Option<String>,
    /// The hypervisor's model in the catalog.
    pub hypervisor: Option<String>,
    /// Its adapters.
    pub adapters: Vec<Adapter>,
    /// Disks that it uses itself, with no VM between. Only the simulator loads them.
    pub disks: Vec<VmDisk>,
    /// In a live run it is a network namespace of this machine.
    pub emulate: bool,
    /// Processors whose time its VMs may use together, where it is emulated.
    pub cpus: Option<f64>,
    /// The agents that carry its VMs in a run on several machines.
    pub agents: Option<AgentChoice>,
}

/// An adapter of a host: an HBA or a NIC. Its full name is `HOST.NAME`; NAME alone suffices where it is unique.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Adapter {
    /// Its name within the host.
    pub name: String,
    /// Its model in the catalog.
    pub part: Option<String>,
    /// Ports, when the scenario says so.
    pub ports: Option<u32>,
    /// It carries virtual ports of VMs (NPIV).
    pub npiv: bool,
}

/// `[[vm]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Vm {
    /// Its name.
    pub name: String,
    /// The host it runs on.
    pub host: Option<String>,
    /// The agents that may carry it in a run on several machines; any where it is `None`.
    pub agents: Option<AgentChoice>,
    /// What it is in a live run; workers of this machine where it is `None`.
    pub machine: Option<MachineKind>,
    /// Virtual processors.
    pub vcpus: Option<u32>,
    /// Memory.
    pub memory: Option<Bytes>,
    /// Its virtual SCSI adapters, by model in the catalog.
    pub scsi: Vec<String>,
    /// Its disks.
    pub disks: Vec<VmDisk>,
    /// Its nics.
    pub nics: Vec<VmNic>,
    /// It has a virtual port, with a WWPN of its own, at every adapter that its disks leave through and that carries some.
    pub npiv: bool,
    /// The WWPN of that port, by which its host counts it.
    pub wwpn: Option<String>,
    /// Processors whose time it may use, where its host is emulated.
    pub cpus: Option<f64>,
    /// The hosts that plans move it to.
    pub destinations: Vec<String>,
}

/// A virtual machine of a live run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineKind {
    /// A guest of QEMU.
    Qemu,
}

/// The virtual storage adapters that a guest of QEMU can have: parts of the catalog under QEMU's names.
pub const QEMU_ADAPTERS: [&str; 7] =
    ["pvscsi", "lsi53c895a", "mptsas1068", "megasas", "virtio-scsi", "nvme", "ahci"];

impl Vm {
    /// Memory that a guest of QEMU has where the scenario says nothing, in bytes.
    pub const GUEST_MEMORY: u64 = 144 << 20;
    /// The least that the kernel, its modules and the program need.
    pub const GUEST_MEMORY_MIN: u64 = 96 << 20;
    /// The virtual adapter of a guest's disk where the scenario names none.
    pub const GUEST_ADAPTER: &str = "virtio-scsi";
}

/// A disk of a VM or of a host: a live target, or a volume of the lab.
#[derive(Clone, Debug, PartialEq)]
pub struct VmDisk {
    /// What backs it.
    pub backing: Backing,
    /// How the hypervisor presents it.
    pub map: Option<DiskMap>,
    /// The adapter (`HOST.ADAPTER`) or the team (`HOST.TEAM`) its I/O leaves through.
    pub adapter: Option<String>,
    /// The virtual SCSI adapter, an index into [`Vm::scsi`].
    pub controller: Option<u32>,
    /// Its size, when smaller than the backing.
    pub size: Option<Bytes>,
    /// The ports of the embedded array that it is reached through, by their names within it, in order; all of them when the
    /// scenario names none. Empty where the backing is not on an embedded array.
    pub ports: Vec<String>,
    /// How these ports are used; `None` where the backing is not on an embedded array.
    pub policy: Option<Policy>,
    /// The kernel of the guest that has it reaches its LUN, in place of QEMU.
    pub by_kernel: bool,
    /// How long its initiator has patience with these ports.
    pub patience: Patience,
    /// I/Os that its queue holds; what the virtual adapter's model says when not given, or the LUN queue's of a host's disk.
    pub queue: Option<u32>,
}

/// What backs a VM's disk.
#[derive(Clone, Debug, PartialEq)]
pub enum Backing {
    /// A `[[target]]` by name: I/O can be issued.
    Target(String),
    /// `ARRAY/VOLUME`: the named volume, or `auto` for one that the array provides for this disk.
    Lun {
        /// The array.
        array: String,
        /// The volume's name, or `None` for `auto`.
        volume: Option<String>,
    },
}

/// How a hypervisor presents a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DiskMap {
    /// Raw device mapping.
    Rdm,
    /// A file in a VMFS datastore.
    Vmfs,
    /// A file in another file system.
    File,
    /// A partition.
    Partition,
    /// The device itself, passed through.
    Passthrough,
}

/// `[[switch]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Switch {
    /// Its name.
    pub name: String,
    /// Its model in the catalog.
    pub part: Option<String>,
    /// In a live run it is a bridge in a network namespace of its own.
    pub emulate: bool,
}

/// `[[array]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Array {
    /// Its name.
    pub name: String,
    /// Its model in the catalog.
    pub part: Option<String>,
    /// Controllers, when the scenario differs from the part.
    pub controllers: Option<u32>,
    /// Front-end ports in use, when the scenario differs from the part.
    pub ports: Option<u32>,
    /// The array's local counterpart on the machine that runs the scenario, if there is one.
    pub embedded: Option<Embedded>,
    /// Its counterpart stands in a network namespace of its own, at the ends of the lab's links.
    pub emulate: bool,
    /// Its cache, when the scenario differs from the part.
    pub cache: Option<Bytes>,
    /// Reads that its cache answers, when the scenario differs from the part.
    pub hit_share: Option<Percent>,
    /// What its volumes lie on, unless they say otherwise.
    pub media: Option<Medium>,
}

/// `[[volume]]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// The array it lies on.
    pub array: String,
    /// Its size; always given on an embedded array.
    pub size: Option<Bytes>,
    /// Bytes of a logical block, 512 or 4096, on an embedded array: 512 unless given.
    pub block: Option<u32>,
    /// Memory is taken as it is written, and given back by UNMAP, on an embedded array: `false` unless given.
    pub thin: bool,
    /// Bytes a second that it carries at most, both directions together, on an embedded array.
    pub rate: Option<ByteRate>,
    /// I/Os a second that it carries at most, on an embedded array.
    pub iops: Option<Iops>,
    /// How long each of its I/Os is held up, on an embedded array.
    pub latency: Duration,
    /// Its RAID level.
    pub raid: Option<Raid>,
    /// Disks behind it, those of all of its LUNs together.
    pub disks: Option<u32>,
    /// LUNs that it is striped over, each a RAID group of its own (a meta-LUN); one unless given.
    pub luns: Option<u32>,
    /// What it lies on, when the scenario differs from the array's.
    pub media: Option<Medium>,
    /// What the array's cache does for it.
    pub cache: Option<CacheMode>,
    /// Reads that the array's cache answers, when the scenario differs from the array's.
    pub hit_share: Option<Percent>,
    /// Who may see it: initiators by name (LUN masking); empty = everybody.
    pub mask: Vec<String>,
    /// The one port of its array that it is mapped to; `None` = all of them.
    pub port: Option<u32>,
}

/// `[[link]]`: a cable between two ports.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// One end: a host's adapter, a switch or an array, with an optional `:PORT`.
    pub from: Endpoint,
    /// The other end.
    pub to: Endpoint,
    /// Its rate.
    pub rate: Option<LinkRate>,
    /// Its length in metres.
    pub length_m: Option<f64>,
    /// Its MTU in bytes (Ethernet).
    pub mtu: Option<u32>,
    /// Frames that each end may have under way to the other (Fibre Channel's buffer-to-buffer credits).
    pub credits: Option<u32>,
    /// The VLAN of an access port; between switches, those that the cable carries. In order, each once; none where none is said.
    pub vlans: Vec<u16>,
}

/// One end of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// `HOST.ADAPTER`, a switch or an array.
    pub device: String,
    /// The port, counted from 0.
    pub port: Option<u32>,
}

/// `[[zone]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Zone {
    /// Its name.
    pub name: String,
    /// Adapters and arrays, each with an optional `:PORT`, and VMs (by their virtual WWPN).
    pub members: Vec<String>,
}

/// `[[path]]`: an explicit way from a VM or a host to a volume, where the lab's links leave a choice.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Its name.
    pub name: String,
    /// The VM or host.
    pub from: String,
    /// The array, or `ARRAY/VOLUME`.
    pub to: String,
    /// The hops between, in order.
    pub via: Vec<String>,
    /// The multipath policy it belongs to (`fixed`, `round-robin`, `least-queue`, `active-passive`).
    pub policy: Option<String>,
    /// How much goes over a path before it is the next one's turn, when the scenario says so.
    pub switch_after: Option<SwitchAfter>,
}

/// `[[part]]` or an entry of the catalog: a model of hardware.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name that scenarios use (`qle2560`).
    pub name: String,
    /// What it is.
    pub kind: PartKind,
    /// The maker's full name for it.
    pub model: Option<String>,
    /// The part that it is like, but for its own figures.
    pub like: Option<String>,
    /// Its figures, those of the part that it is like among them.
    pub figures: Vec<Figure>,
}

/// What a part is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartKind {
    /// A server.
    Host,
    /// A hypervisor.
    Hypervisor,
    /// A virtual SCSI adapter.
    VirtualScsi,
    /// A Fibre Channel host bus adapter.
    Hba,
    /// A network adapter.
    Nic,
    /// A switch.
    Switch,
    /// An array or a storage server.
    Array,
    /// A disk or an SSD.
    Disk,
    /// A tape drive or library.
    Tape,
}

/// A figure of a part, with its unit, source and kind.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it measures (`iops_max`, `ports`, `rate`).
    pub name: String,
    /// The value as written, unit included.
    pub value: String,
    /// Where it comes from.
    pub source: String,
    /// How far it can be trusted.
    pub kind: FigureKind,
    /// The claim that it was fitted on, where it is calibrated: `lab2-esx-8gb: one VM reads`.
    pub claim: Option<String>,
    /// What the value lies between, as written: `9.1 us to 10.3 us`.
    pub interval: Option<String>,
}

/// How a figure came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FigureKind {
    /// From a data sheet, or from a published description of the product.
    DataSheet,
    /// From a named document, such as a vendor's guide that gives a default.
    Published,
    /// Derived from a standard.
    Standard,
    /// Assumed, with the reason in the source.
    Assumed,
    /// Fitted, on a named claim or on a run that the source names.
    Calibrated,
}

/// `[plan]` or `[[plan]]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Its name; `plan` when there is one without a name.
    pub name: String,
    /// What runs at the same time, in the same phases: family by family, each in the order of the file; there may be none.
    pub loads: Vec<Load>,
    /// What every step sets at the interfaces that its receivers name to be adjusted, where no axis says otherwise.
    pub frames: NetFrames,
    /// Load that is not measured; with `steady`, the least of it.
    pub warmup: Duration,
    /// When the measurement begins, if not just after the warm-up.
    pub steady: Option<Steady>,
    /// Load that is measured.
    pub measure: Duration,
    /// Load after the measurement, so that workers do not measure each other's absence.
    pub cooldown: Duration,
    /// The axes of the sweep, in order; the first varies slowest. Empty = one step.
    pub sweep: Vec<Axis>,
    /// A load that is looked for, once for each combination of the sweep.
    pub search: Option<Search>,
    /// How often the whole sweep is run; 1 unless given.
    pub repeat: u32,
    /// Targets are preconditioned as SNIA PTS does before the first step.
    pub precondition: bool,
    /// What happens at ports of embedded arrays in each step, in the order of its moments.
    pub faults: Vec<Fault>,
    /// What happens in a simulated lab in each step, in the order of its moments.
    pub incidents: Vec<Incident>,
    /// The rounds after the measured time of each step, in which one hop at a time is slower.
    pub prove: Option<Prove>,
    /// The time that its job may take.
    pub window: Option<Duration>,
}

/// One axis of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The setting: `block`, `depth`, `workers`, `read`, `random`, `rate`, of network loads `message`, `batch`, `streams`,
    /// `direction`, of any load `members`, or `WORKLOAD.setting` where loads differ; or `port`, `mtu` or `offload` of
    /// none.
    pub key: String,
    /// Its values, in order; no two are equal.
    pub values: Vec<Setting>,
}

/// One value of an axis: what it sets in a workload, at the embedded arrays or at interfaces. Shown exactly (`8KiB`, `32`,
/// `67%`, `5000 IOPS`, `4gfc`, `both`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Setting {
    /// Size of every operation.
    Block(Bytes),
    /// Operations outstanding per worker.
    Depth(u32),
    /// Workers for each VM or target.
    Workers(u32),
    /// How many of those that a load is on run it: the first so many.
    Members(u32),
    /// Reads among the operations.
    Read(Percent),
    /// Random addresses among the operations.
    Random(Percent),
    /// Operations a second per worker.
    Rate(Iops),
    /// What is touched of each target.
    WorkingSet(WorkingSet),
    /// Speed of every port of every embedded array, before it is scaled.
    Port(LinkRate),
    /// Bytes of a message of a network load.
    Message(Bytes),
    /// Messages of one submission of a network load.
    Batch(u32),
    /// Streams of each direction in use of a network load.
    Streams(u16),
    /// Which way the streams of a network load go.
    Direction(Heading),
    /// Bytes a second of each stream of a network load.
    StreamRate(ByteRate),
    /// The MTU in bytes of the interfaces that receivers name to be adjusted.
    Mtu(u32),
    /// Their segmentation, receive and checksum offloads, on or off.
    Offload(bool),
}

/// One point of a plan with everything settled: what [`Scenario::steps`] yields.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// Its number in the run, from 0.
    pub index: u32,
    /// The plan it belongs to.
    pub plan: String,
    /// What the sweep settled, in the order of its axes.
    pub settings: Vec<(String, String)>,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// Phases; with `steady`, the least.
    pub warmup: Duration,
    /// When the measurement begins, if not just after the warm-up.
    pub steady: Option<Steady>,
    /// Phases.
    pub measure: Duration,
    /// Phases.
    pub cooldown: Duration,
    /// Targets are preconditioned as SNIA PTS does before its load: the first step of a plan that asks for it.
    pub precondition: bool,
    /// What runs at the same time, with the sweep's settings applied; there may be none.
    pub loads: Vec<Load>,
    /// Settings of the interfaces that its receivers name, for the time of the step. Others stay as they are.
    pub frames: NetFrames,
    /// Speed of every port of every embedded array in this step, before it is scaled; each port's own when `None`.
    pub port: Option<LinkRate>,
    /// What happens at ports of embedded arrays, in the order of its moments. A step begins with every port alive,
    /// ready and at its speed, whatever happened in the previous one.
    pub faults: Vec<Fault>,
    /// Incidents in a simulated lab, by moment. A step begins with everything whole and every VM in its place.
    pub incidents: Vec<Incident>,
    /// The rounds after its measured time, in which one hop at a time is slower. Only live runs have them.
    pub prove: Option<Prove>,
    /// The time that its job may take.
    pub window: Option<Duration>,
}

/// `[[goal]]`: what must hold, in every step that it selects.
#[derive(Clone, Debug, PartialEq)]
pub struct Goal {
    /// As it is shown: made from the goal's own words unless `name` is given.
    pub name: String,
    /// Which steps: settings that must be equal; empty = all. A key `plan` selects a plan.
    pub step: Vec<(String, String)>,
    /// Where: the whole step, some VMs or targets, or a hop.
    pub scope: Scope,
    /// What must hold.
    pub test: GoalTest,
}

/// The subject of a goal or claim.
#[derive(Clone, Debug, PartialEq)]
pub enum Scope {
    /// The sum over all workers.
    Total,
    /// Workers of these VMs or targets, summed.
    Over(Vec<String>),
    /// Each of these VMs or targets by itself.
    Each(Vec<String>),
    /// A hop of the lab, by its counters. Of a network load: a pair of a member and its receiver (`far`, `vm1.far`), where
    /// `write` is what went to the receiver and `read` what came from it, both as received, and operations are messages,
    /// datagrams or transactions; one of its two machines (`far/sender`, `far/receiver`), which have [`Metric::Cpu`] and
    /// nothing else; or its probe (`far/probe`), which has latency, operations and errors.
    Hop(String),
    /// The streams of a hop of a network load (`far`), each by itself, by the rate at which it was received. Only for
    /// balance: a stream is held against the mean of those that go its way.
    Streams(String),
}

/// What must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum GoalTest {
    /// A metric against a bound.
    Metric {
        /// What.
        metric: Metric,
        /// On which side.
        bound: Bound,
        /// Of which value.
        value: Value,
    },
    /// Every member's share lies within this many percent of the mean.
    Balance {
        /// Percent.
        within: f64,
    },
    /// A metric is so many times what it is in another step.
    Ratio {
        /// What: a rate, operations a second, or the share of a machine's processors.
        metric: Metric,
        /// What differs in the other step; whatever else was settled is the same.
        to: Vec<(String, String)>,
        /// How many times as much.
        is: f64,
        /// How far from that, in percent of it.
        within: f64,
    },
}

/// A side of a bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// `at_least`.
    AtLeast,
    /// `at_most`.
    AtMost,
}

/// Something that can be read off a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Metric {
    /// Bytes a second read.
    ReadRate,
    /// Bytes a second written.
    WriteRate,
    /// Bytes a second, both.
    TotalRate,
    /// Operations a second, both directions.
    Iops,
    /// A latency.
    Latency {
        /// Which point of the distribution.
        point: LatencyPoint,
        /// Response time (from due) instead of service time (from submission).
        response: bool,
    },
    /// Failed operations.
    Errors,
    /// Share of a machine's processors that were busy over the measured time, in percent of all of them: user, system
    /// and interrupts of the whole host, whatever caused them.
    Cpu,
    /// How far the member that is furthest from the mean is from it, in percent of it: what a goal of balance bounds. Only
    /// claims have it as a metric, with [`Scope::Over`] or [`Scope::Streams`].
    Imbalance,
}

/// A point of a latency distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LatencyPoint {
    /// The arithmetic mean.
    Mean,
    /// A percentile, 0 to 100.
    Percentile(f64),
    /// The largest.
    Max,
}

/// A value with its dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// Bytes a second.
    Rate(ByteRate),
    /// Percent of the hop's wire (payload) rate.
    PercentOfWire(f64),
    /// Operations a second.
    Iops(f64),
    /// A duration.
    Time(Duration),
    /// A count.
    Count(u64),
    /// Percent of something that the metric says: of a machine's processors, or of a mean.
    Percent(f64),
    /// So many times what the step does that it is held against.
    Times(f64),
}
