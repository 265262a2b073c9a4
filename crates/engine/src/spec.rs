//! A step as an engine receives it: self-contained and serialisable, because it is sent to agents.

use crate::{EngineLoad, RunSecret};
use clock::Ns;
use record::{ScenarioText, SourceId};
use serde::{Deserialize, Serialize};
use workload::{IoDemand, Reduction};

/// One step for one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSpec {
    /// Number of the step in the run.
    pub index: u32,
    /// The run's seed.
    pub seed: u64,
    /// Load before the measurement, at most.
    pub warmup: Ns,
    /// The measured time.
    pub measure: Ns,
    /// Load after the measurement.
    pub cooldown: Ns,
    /// From the end of the measurement on intervals are cut at multiples of this as well; zero: they are not.
    #[serde(default)]
    pub slice: Ns,
    /// The targets, by the index that workers refer to.
    pub targets: Vec<TargetSpec>,
    /// The workers.
    pub workers: Vec<WorkerSpec>,
    /// The loads of this host that engines carry without workers.
    #[serde(default)]
    pub loads: Vec<EngineLoad>,
    /// Processes of this host that carry loads of others, to be counted while the step lasts.
    #[serde(default)]
    pub attended: Vec<AttendedProcess>,
    /// The hosts whose counters are sampled, where that is asked of an agent of another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted: Option<CountedHosts>,
    /// What happens to the emulated lab around the step, where this host holds one.
    #[serde(default)]
    pub lab: Option<LabStep>,
}

/// Hosts of a scenario that an agent stands for, whose own counters it samples.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CountedHosts {
    /// What the scenario says of them.
    pub scenario: ScenarioText,
    /// Their names.
    pub hosts: Vec<String>,
}

/// What happens to an emulated lab, or to guests, in a step.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabStep {
    /// What happens, in order of time.
    pub changes: Vec<LabChange>,
}

/// Something that happens to a part of an emulated lab, or to a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabChange {
    /// When, since the beginning of the measured time.
    pub at: Ns,
    /// The part, by its name in the scenario.
    pub part: String,
    /// What.
    pub event: LabEvent,
}

/// What happens to a part of an emulated lab, or to a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum LabEvent {
    /// Its cables carry nothing.
    Fail,
    /// It works again.
    Restore,
    /// Its cables have another speed, in the words of the scenario and before scaling.
    Slow(String),
    /// Its cables lose so many of a million packets.
    Lose(u32),
    /// One end of its cables takes packets up to so many bytes.
    Mismatch(u32),
    /// Its cables are up, and what is sent waits.
    Stall,
    /// It is a host, and its processes are killed.
    Kill,
    /// It is a guest, and moves to this host.
    Move(String),
}

/// A process that carries loads of others: a virtual machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttendedProcess {
    /// Whose it is.
    pub name: String,
    /// Its number.
    pub process: u32,
}

/// A target of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetSpec {
    /// Name in the scenario.
    pub name: String,
    /// A path, or a URL with a scheme (`null:`).
    pub url: String,
    /// Create and fill a file of this many bytes if there is none; reuse it if Wirespeed created it earlier.
    pub create: Option<u64>,
    /// Size in bytes for a target that has none of its own (`null:`).
    pub size: Option<u64>,
    /// Use the page cache instead of O_DIRECT.
    pub buffered: bool,
    /// The token by which the user permits writing to a target that Wirespeed did not create.
    pub write_token: Option<String>,
    /// Whether the target's content may be lost.
    pub overwrite: bool,
    /// The unit serial number with which Wirespeed created it for this run, so that it needs no token. It is drawn for
    /// each run and cannot be set in a scenario.
    pub made_as: Option<String>,
    /// What the user that the URL names proves itself with, where that was drawn for this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<RunSecret>,
    /// The I/O interface.
    pub queue: QueueKind,
    /// Poll for completions instead of waiting for interrupts; the device must have polled queues.
    pub polled: bool,
    /// The file in which verification keeps the expected content of each block for later runs.
    pub verify_state: Option<String>,
    /// Blocks must hold the content that this file lists as flushed, or newer content.
    pub verify_flushed: bool,
    /// Compressibility and duplicates of the data that is written.
    pub data: Reduction,
    /// Whether it is filled before its first load.
    pub fill: Fill,
    /// The combined demand of all steps of the run, so that it is filled and sampled once.
    pub demand: IoDemand,
}

/// The I/O interface to files and block devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueKind {
    /// io_uring if available, Linux AIO if the device makes io_uring slow, otherwise `pread` and `pwrite`.
    #[default]
    Auto,
    /// io_uring only.
    Uring,
    /// Linux AIO only.
    Aio,
    /// `pread` and `pwrite`, one at a time.
    Pread,
}

/// Whether a writable target is filled before its first load of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fill {
    /// If samples show that it is necessary.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
    /// Another agent of the run fills it.
    Elsewhere,
    /// Written twice in blocks of 128 KiB: the preconditioning of SNIA's Solid State Storage Performance Test
    /// Specification.
    SniaPts,
}

/// A worker of a step: one thread, one target set, one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerSpec {
    /// Source number in the record.
    pub source: SourceId,
    /// Name for messages and for the thread.
    pub name: String,
    /// Its number within the step over all agents: the `worker` of its streams' keys.
    pub key: u32,
    /// Indices into [`StepSpec::targets`].
    pub targets: Vec<u16>,
    /// Its number among the workers that share these targets with the same workload.
    pub sharer: u32,
    /// The number of these workers.
    pub sharers: u32,
    /// What it issues.
    pub workload: workload::Spec,
    /// Whether written blocks carry checksums, and reads are verified.
    pub verify: bool,
    /// Bytes that it reads, writes, trims and zeroes before it ends; it never ends without, unless its workload has passes.
    #[serde(default)]
    pub limit: Option<u64>,
    /// How its load changes after the measurement, in order of time.
    #[serde(default)]
    pub changes: Vec<LoadChange>,
    /// What it copies from the first of its two targets to the second; it then draws no operations of its workload.
    #[serde(default)]
    pub copy: Option<CopySpec>,
    /// The sources of workers of this step that must have ended before it begins; a copy has its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<SourceId>,
}

/// A copy, as one worker carries it out: each block is read into a buffer and written out of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CopySpec {
    /// Bytes of a block.
    pub block: u32,
    /// Buffers: blocks under way at once.
    pub depth: u32,
    /// Reads under way at once, at most.
    pub reads: u32,
    /// Blocks being written, and read back, at once, at most.
    pub writes: u32,
    /// Blocks after which it ends; it never ends without.
    pub blocks: Option<u64>,
    /// The sources of workers of this step that must have ended before it begins.
    pub after: Vec<SourceId>,
    /// Its number among the copies that share its source, and how many they are: each has a region of its own.
    pub from_share: (u32, u32),
    /// The same for its destination.
    pub to_share: (u32, u32),
    /// Each block is read back after it is written, and compared by its checksum.
    pub verify: bool,
    /// For how long a failed read or write is tried again; zero: the copy fails with it.
    pub retry: Ns,
}

/// A load from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadChange {
    /// When, since the end of the measurement.
    pub after: Ns,
    /// How it is from then on.
    pub to: Throttle,
}

/// By how much a load is lowered, without a restart of its streams. The default is: by nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Throttle {
    /// So many slots of a closed loop issue nothing; what they have outstanding is completed.
    pub idle_slots: u32,
    /// The pause of a closed loop is this much longer.
    pub more_think: Ns,
    /// Of so many arrivals of an open loop one is left out; zero: none is.
    pub skip_every: u32,
}

impl WorkerSpec {
    /// A worker that has its targets to itself and verifies nothing. Its key is the number of its source.
    pub fn new(id: u32, name: String, targets: Vec<u16>, workload: workload::Spec) -> WorkerSpec {
        WorkerSpec {
            source: SourceId(id),
            name,
            key: id,
            targets,
            sharer: 0,
            sharers: 1,
            workload,
            verify: false,
            limit: None,
            changes: Vec::new(),
            copy: None,
            after: Vec::new(),
        }
    }
}

impl TargetSpec {
    /// An existing target, opened with O_DIRECT, with default settings.
    pub fn new(name: impl Into<String>, url: impl Into<String>) -> TargetSpec {
        TargetSpec {
            name: name.into(),
            url: url.into(),
            create: None,
            size: None,
            buffered: false,
            verify_state: None,
            verify_flushed: false,
            write_token: None,
            overwrite: false,
            made_as: None,
            secret: None,
            queue: QueueKind::Auto,
            polled: false,
            data: Reduction::default(),
            fill: Fill::Auto,
            demand: IoDemand::default(),
        }
    }
}

impl StepSpec {
    /// From the start of the load to its end.
    pub fn length(&self) -> Ns {
        self.warmup.plus(self.measure).plus(self.cooldown)
    }
}
