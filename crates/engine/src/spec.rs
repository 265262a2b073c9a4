//! A step as an engine is asked to carry it out: self-contained and serialisable, because it crosses to agents.

use crate::NetSpec;
use clock::Ns;
use record::SourceId;
use serde::{Deserialize, Serialize};
use workload::{Data, Demand};

/// One step for one agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepSpec {
    /// The step's number in the run.
    pub index: u32,
    /// The run's seed.
    pub seed: u64,
    /// Load before the measurement, at the longest.
    pub warmup: Ns,
    /// The measured time.
    pub measure: Ns,
    /// Load after the measurement.
    pub cooldown: Ns,
    /// What may be used, by the index that workers refer to.
    pub targets: Vec<TargetSpec>,
    /// Who issues.
    pub workers: Vec<WorkerSpec>,
    /// The network loads of this host, each with one receiver.
    #[serde(default)]
    pub nets: Vec<NetSpec>,
}

/// A target of a step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TargetSpec {
    /// Its name in the scenario.
    pub name: String,
    /// A path, or a URL with a scheme (`null:`).
    pub url: String,
    /// Create a file of this many bytes where there is none, and fill it; reuse it where Wirespeed made it before.
    pub create: Option<u64>,
    /// Size in bytes of a target that has none by itself (`null:`).
    pub size: Option<u64>,
    /// Through the page cache instead of O_DIRECT.
    pub buffered: bool,
    /// The token by which the user says that it may be written, where Wirespeed did not make it.
    pub write_token: Option<String>,
    /// Whether what it carries may be lost.
    pub overwrite: bool,
    /// The unit serial number under which Wirespeed made it for this run, so that it needs no token. It is drawn anew for
    /// each run and cannot be said in a scenario.
    pub made_as: Option<String>,
    /// What carries the I/O.
    pub queue: QueueKind,
    /// Completions are looked for instead of waited for; the device must have polled queues.
    pub polled: bool,
    /// The file in which verification keeps what each block must hold, for later runs.
    pub verify_state: Option<String>,
    /// Blocks need to hold only what that file says had been flushed, or something newer.
    pub verify_flushed: bool,
    /// What data that is written to it is like.
    pub data: Data,
    /// Whether it is filled before its first load.
    pub fill: Fill,
    /// What all steps of the run ask of it, so that it is filled and sampled once.
    pub demand: Demand,
}

/// What carries I/O to files and block devices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum QueueKind {
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

/// Whether a target that may be written is filled before its first load of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Fill {
    /// Where samples show that it needs it.
    #[default]
    Auto,
    /// Whatever it holds.
    Always,
    /// Never.
    Never,
    /// Written twice from its first to its last byte in blocks of 128 KiB, as the Solid State Storage Performance Test
    /// Specification of SNIA preconditions.
    SniaPts,
}

/// A worker of a step: one thread, one target set, one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerSpec {
    /// Its number in the record.
    pub source: SourceId,
    /// Its name, for messages and its thread.
    pub name: String,
    /// Its number within the step over all agents: the `worker` of its streams' keys.
    pub key: u32,
    /// Indices into [`StepSpec::targets`].
    pub targets: Vec<u16>,
    /// Its number among the workers that share these targets with the same workload, and how many they are.
    pub sharer: u32,
    /// How many they are.
    pub sharers: u32,
    /// What it issues.
    pub workload: workload::Spec,
    /// Whether its blocks carry what they can be checked by, and are checked.
    pub verify: bool,
}

impl TargetSpec {
    /// A target that is there and opened past the page cache, with nothing special about it.
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
            queue: QueueKind::Auto,
            polled: false,
            data: Data::default(),
            fill: Fill::Auto,
            demand: Demand::default(),
        }
    }
}

impl StepSpec {
    /// From the start of the load to its end.
    pub fn length(&self) -> Ns {
        self.warmup.plus(self.measure).plus(self.cooldown)
    }
}
