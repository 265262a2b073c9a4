//! What `disk` promises, tested from outside.

/// Names that most modules use.
mod prelude {
    pub use clock::{Ns, Rng};
    pub use disk::{DiskEngine, inspect};
    pub use engine::{Engine, EngineError, Fill, Pinning, StepSpec, Stop, TargetSpec};
    pub use std::collections::HashSet;
    pub use std::fs::File;
    pub use std::os::unix::fs::FileExt;
    pub use std::path::{Path, PathBuf};
    pub use std::process::Command;
    pub use std::sync::{Arc, Mutex, mpsc};
    pub use tempfile::TempDir;
    pub use workload::{Dir, Reduction};
}

mod bare;
mod common;
mod content;
mod file_queues;
mod filling;
mod guard;
mod guard_devices;
mod limits;
mod odd_places;
mod queues;
mod remote;
mod replay;
mod runs;
mod verify;
mod without_data;
