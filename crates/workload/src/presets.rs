//! Named workloads: oblDisk, oblLoad, and the access specifications that Iometer made common.
//!
//! Every preset is a closed loop with one operation outstanding that reads the whole target and shares it; a scenario
//! can override this. `docs/workloads.md` repeats the table for users, and a test compares the two.

use crate::{Access, Arrivals, Durability, Regions, Row, Skew, Spec, Transaction, WorkloadKind};

/// A named workload.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The name, as scenarios use it.
    pub name: &'static str,
    /// Its source and assumptions, in one or two sentences.
    pub origin: &'static str,
    build: fn() -> Spec,
}

impl Preset {
    /// The workload.
    pub fn spec(&self) -> Spec {
        (self.build)()
    }
}

/// Looks up a preset by name.
pub fn preset(name: &str) -> Option<Preset> {
    PRESETS.iter().find(|preset| preset.name == name).copied()
}

const KIB: u32 = 1024;

/// Every preset.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "obldisk",
        origin: "openBench Labs' oblDisk: each process streams through a logical disk of its own. \
                 32 KiB is the block of their 2008 review.",
        build: obldisk,
    },
    Preset {
        name: "oblload",
        origin: "openBench Labs' oblLoad: daemons issue 8 KB transactions in a simulated database. \
                 The pages of a transaction, the share of the index and both skews are assumed; none was published.",
        build: oblload,
    },
    Preset {
        name: "iometer-default",
        origin: "The access specification that Iometer ships as its default: 2 KiB, 67% read, all random.",
        build: || access(vec![random(2 * KIB, 100.0, 67.0)]),
    },
    Preset {
        name: "4k-67-33",
        origin: "The 4 KiB form of Iometer's default, 67% read and 33% write, all random; common in reviews.",
        build: || access(vec![random(4 * KIB, 100.0, 67.0)]),
    },
    Preset {
        name: "database",
        origin: "The database pattern of Iometer reviews (StorageReview, Tom's Hardware): 8 KiB, 67% read, all random.",
        build: || access(vec![random(8 * KIB, 100.0, 67.0)]),
    },
    Preset {
        name: "file-server",
        origin: "Intel's file server pattern for Iometer: 512 B to 64 KiB, 80% read, all random.",
        build: || split(80.0, FILE_SERVER),
    },
    Preset {
        name: "web-server",
        origin: "Intel's web server pattern for Iometer: 512 B to 512 KiB, all read, all random.",
        build: || split(100.0, WEB_SERVER),
    },
    Preset {
        name: "workstation",
        origin: "The workstation pattern of the same reviews: 8 KiB, 80% read, 80% random.",
        build: || access(vec![Row::new(8 * KIB, 80.0, 80.0)]),
    },
    Preset {
        name: "streaming",
        origin: "Sequential reads of 64 KiB, the smallest block of the streaming pattern of the same reviews.",
        build: || access(vec![Row::new(64 * KIB, 100.0, 0.0)]),
    },
];

/// Sizes in bytes with their shares in percent.
const FILE_SERVER: &[(u32, f64)] = &[
    (512, 10.0),
    (KIB, 5.0),
    (2 * KIB, 5.0),
    (4 * KIB, 60.0),
    (8 * KIB, 2.0),
    (16 * KIB, 4.0),
    (32 * KIB, 4.0),
    (64 * KIB, 10.0),
];

const WEB_SERVER: &[(u32, f64)] = &[
    (512, 22.0),
    (KIB, 15.0),
    (2 * KIB, 8.0),
    (4 * KIB, 23.0),
    (8 * KIB, 15.0),
    (16 * KIB, 2.0),
    (32 * KIB, 6.0),
    (64 * KIB, 7.0),
    (128 * KIB, 1.0),
    (512 * KIB, 1.0),
];

fn random(size: u32, share: f64, read: f64) -> Row {
    Row { share, ..Row::new(size, read, 100.0) }
}

fn split(read: f64, sizes: &[(u32, f64)]) -> Spec {
    access(sizes.iter().map(|(size, share)| random(*size, *share, read)).collect())
}

fn access(rows: Vec<Row>) -> Spec {
    spec(WorkloadKind::Access(Access::new(rows)))
}

fn spec(kind: WorkloadKind) -> Spec {
    let arrivals = Arrivals::closed(1);
    Spec {
        kind,
        arrivals,
        working_set: None,
        regions: Regions::Shared,
        durability: Durability::default(),
        passes: 0,
        trace: None,
    }
}

fn obldisk() -> Spec {
    Spec { regions: Regions::Own, ..access(vec![Row::new(32 * KIB, 100.0, 0.0)]) }
}

fn oblload() -> Spec {
    spec(WorkloadKind::Transaction(Transaction {
        page: 8 * KIB,
        index: 5.0,
        index_pages: 3,
        table_pages: 2,
        index_skew: Skew::Zipf(0.99),
        table_skew: Skew::Pareto(0.2),
        read: 100.0,
    }))
}
