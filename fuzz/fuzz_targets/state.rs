//! Any bytes as a verification state: it is taken or refused with a reason, and never makes a step fail otherwise.

#![no_main]

use clock::Ns;
use disk::DiskEngine;
use engine::{Engine, EngineError, Pinning, StepSpec, Stop, TargetSpec, WorkerSpec};
use libfuzzer_sys::fuzz_target;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{LazyLock, mpsc};
use workload::{Arrivals, IoDemand, Regions, Row, Spec};

/// Of the target, and where the state of so many blocks has its parts: header, live words, table.
const SIZE: u64 = 64 << 10;
const PARTS: [(u64, usize); 3] = [(0, 512), (64 << 10, 512), (128 << 10, 1024)];

static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = std::env::temp_dir().join(format!("wirespeed-fuzz-state-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a directory for temporary files");
    folder
});

fuzz_target!(|bytes: &[u8]| {
    let state = FOLDER.join("state");
    let file = File::create(&state).expect("a file");
    let mut rest = bytes;
    for (at, length) in PARTS {
        file.set_len(at + length as u64).expect("a sparse file");
        let part;
        (part, rest) = rest.split_at(rest.len().min(length));
        file.write_all_at(part, at).expect("room for a part");
    }
    drop(file);
    let (out, _events) = mpsc::channel();
    match DiskEngine::new(Pinning::Never).prepare(&step(), &out, &Stop::default()) {
        Ok(prepared) => drop(prepared),
        Err(EngineError::Target { problem, .. }) => {
            assert!(problem.contains("verification state"), "{problem}");
        }
        Err(other) => panic!("{other}"),
    }
});

/// One worker that would read a target that Wirespeed made, verified by the state.
fn step() -> StepSpec {
    let text = |name: &str| FOLDER.join(name).to_str().expect("a path in UTF-8").to_owned();
    let arrivals = Arrivals::closed(1);
    let workload = Spec::access(vec![Row::new(4096, 100.0, 100.0)], arrivals, Regions::Own);
    StepSpec {
        index: 0,
        seed: 1,
        warmup: Ns::ZERO,
        measure: Ns::millis(1),
        cooldown: Ns::ZERO,
        slice: Ns::ZERO,
        targets: vec![TargetSpec {
            create: Some(SIZE),
            buffered: true,
            verify_state: Some(text("state")),
            demand: IoDemand::of(&workload),
            ..TargetSpec::new("data", text("data"))
        }],
        workers: vec![WorkerSpec {
            verify: true,
            ..WorkerSpec::new(0, "data".to_owned(), vec![0], workload)
        }],
        attended: Vec::new(),
        counted: None,
        lab: None,
        loads: Vec::new(),
    }
}
