//! Labs with planted figures, simulated into records whose scenarios state other figures.
#![allow(dead_code, reason = "each test binary uses a part")]

use calibrate::{CalibrateError, Calibrated, CalibrationRequest, calibrate};
use clock::Ns;
use record::{Record, RunHead, ScenarioText, Writer};
use scenario::{Scenario, Source};
use sim::simulate::simulate;
use std::path::Path;

/// A planted figure, and what the record's scenario states instead.
pub struct Planted {
    pub figure: &'static str,
    /// In the base unit.
    pub value: f64,
    /// The value as written.
    pub text: &'static str,
    /// The starting value of the fit.
    pub instead: &'static str,
}

const fn planted(
    figure: &'static str,
    value: f64,
    text: &'static str,
    instead: &'static str,
) -> Planted {
    Planted { figure, value, text, instead }
}

/// A lab and a plan. `{part}` in its text is the part with its figures.
pub struct Lab {
    pub part: &'static str,
    pub kind: &'static str,
    /// Figures that stay the same.
    pub given: &'static [(&'static str, &'static str)],
    pub planted: &'static [Planted],
    pub text: &'static str,
}

/// VMs of a server whose processors limit small and large blocks.
pub const SERVER: Lab = Lab {
    part: "ours",
    kind: "hypervisor",
    given: &[("io_cores", "2")],
    planted: &[
        planted("cpu_per_io", 20e-6, "20us", "5us"),
        planted("cpu_per_byte", 0.8e-9, "0.8 ns/B", "0.1 ns/B"),
    ],
    text: r#"
[[host]]
name = "server"
hypervisor = "ours"
[[array]]
name = "store"
embedded = { ports = [{ name = "p1" }] }
[[volume]]
name = "data{1..2}"
array = "store"
size = "64MiB"
[[vm]]
name = "vm{1..2}"
host = "server"
disks = [{ lun = "store/data{1..2}" }]
[workload.w]
random = 100
block = "4KiB"
[plan]
workload = "w"
on = "vm*"
warmup = "100ms"
measure = "1s"
sweep = { block = ["4KiB", "16KiB", "64KiB"], depth = [1, 12] }
"#,
};

/// A machine that carries both ends, whose threads serve their I/Os in passes.
pub const MACHINE: Lab = Lab {
    part: "box",
    kind: "hypervisor",
    given: &[("io_cores", "2")],
    planted: &[
        planted("wake_time", 25e-6, "25us", "10us"),
        planted("pass_time", 12e-6, "12us", "5us"),
        planted("cpu_per_io", 3e-6, "3us", "6us"),
        planted("cpu_per_byte", 0.2e-9, "0.2 ns/B", "0.1 ns/B"),
    ],
    text: r#"
[[host]]
name = "here"
hypervisor = "box"
[[array]]
name = "store"
part = "this-target"
embedded = { ports = [{ name = "p1" }] }
[[volume]]
name = "disk{1..2}"
array = "store"
size = "64MiB"
[[vm]]
name = "vm{1..2}"
host = "here"
scsi = ["this-initiator"]
disks = [{ lun = "store/disk{1..2}" }]
[workload.w]
random = 100
block = "8KiB"
[[plan]]
name = "one"
workload = "w"
on = "vm1"
warmup = "100ms"
measure = "1s"
sweep = { block = ["8KiB", "64KiB"], depth = [1, 8, 32] }
[[plan]]
name = "two"
workload = "w"
on = "vm*"
warmup = "100ms"
measure = "1s"
sweep = { block = ["8KiB", "64KiB"], depth = [1, 8, 32] }
"#,
};

/// A machine whose processors halt, with closed loops and with open ones of several rates.
pub const HALTING: Lab = Lab {
    part: "box",
    kind: "hypervisor",
    given: &[
        ("io_cores", "2"),
        ("pass_time", "20us"),
        ("cpu_per_io", "1us"),
        ("cpu_per_byte", "0.2 ns/B"),
    ],
    planted: &[
        planted("wake_time", 12e-6, "12us", "20us"),
        planted("halt_time", 60e-6, "60us", "100us"),
        planted("halt_wake_time", 20e-6, "20us", "15us"),
    ],
    text: r#"
[[host]]
name = "here"
hypervisor = "box"
[[array]]
name = "store"
part = "this-target"
embedded = { ports = [{ name = "p1" }] }
[[volume]]
name = "disk"
array = "store"
size = "64MiB"
[[vm]]
name = "vm"
host = "here"
scsi = ["this-initiator"]
disks = [{ lun = "store/disk" }]
[workload.closed]
random = 100
block = "8KiB"
[workload.slow]
random = 100
block = "8KiB"
rate = "2000 IOPS"
arrivals = "poisson"
limit = 64
[workload.some]
random = 100
block = "8KiB"
rate = "10000 IOPS"
arrivals = "poisson"
limit = 64
[workload.more]
random = 100
block = "8KiB"
rate = "40000 IOPS"
arrivals = "poisson"
limit = 64
[[plan]]
name = "closed"
workload = "closed"
on = "vm"
warmup = "100ms"
measure = "1s"
sweep = { depth = [1, 8, 32] }
[[plan]]
name = "slow"
workload = "slow"
on = "vm"
warmup = "100ms"
measure = "2s"
[[plan]]
name = "some"
workload = "some"
on = "vm"
warmup = "100ms"
measure = "1s"
[[plan]]
name = "more"
workload = "more"
on = "vm"
warmup = "100ms"
measure = "1s"
"#,
};

/// An adapter whose chip limits small blocks, between a host and a memory array.
pub const HBA: Lab = Lab {
    part: "card",
    kind: "hba",
    given: &[("port_rate", "8gfc"), ("lun_queue", "128")],
    planted: &[
        planted("latency", 40e-6, "40us", "5us"),
        planted("iops_max", 50e3, "50k IOPS", "300k IOPS"),
    ],
    text: r#"
[[host]]
name = "server"
adapters = [{ name = "hba", part = "card" }]
[[array]]
name = "store"
part = "ramsan-400"
[[vm]]
name = "vm1"
host = "server"
disks = [{ lun = "store/auto" }]
[workload.w]
random = 100
block = "4KiB"
[plan]
workload = "w"
on = "vm1"
warmup = "100ms"
measure = "1s"
sweep = { depth = [1, 2, 4, 8, 32] }
"#,
};

/// A virtual disk whose queue is shorter than the workload's depth.
pub const VIRTUAL: Lab = Lab {
    part: "scsi",
    kind: "virtual-scsi",
    given: &[("adapter_queue", "512")],
    planted: &[planted("disk_queue", 6.0, "6", "64"), planted("cpu_per_io", 12e-6, "12us", "3us")],
    text: r#"
[[host]]
name = "server"
[[array]]
name = "store"
embedded = { ports = [{ name = "p1" }] }
[[volume]]
name = "data"
array = "store"
size = "64MiB"
[[vm]]
name = "vm1"
host = "server"
vcpus = 8
scsi = ["scsi"]
disks = [{ lun = "store/data" }]
[workload.w]
random = 100
block = "4KiB"
[plan]
workload = "w"
on = "vm1"
warmup = "100ms"
measure = "1s"
sweep = { depth = [1, 2, 4, 8, 16, 32] }
"#,
};

/// An array with controllers and a delay.
pub const ARRAY: Lab = Lab {
    part: "box",
    kind: "array",
    given: &[("controllers", "1"), ("media", "ram")],
    planted: &[
        planted("latency", 120e-6, "120us", "20us"),
        planted("controller_time_per_io", 25e-6, "25us", "100us"),
    ],
    text: r#"
[[array]]
name = "store"
part = "box"
embedded = { ports = [{ name = "p1" }] }
[[volume]]
name = "data"
array = "store"
size = "64MiB"
[[vm]]
name = "vm1"
disks = [{ lun = "store/data" }]
[workload.w]
random = 100
block = "4KiB"
[plan]
workload = "w"
on = "vm1"
warmup = "100ms"
measure = "1s"
sweep = { depth = [1, 4, 8, 16] }
"#,
};

/// Six like VMs of one host.
pub const FARM: Lab = Lab {
    part: "ours",
    kind: "hypervisor",
    given: &[("io_cores", "2")],
    planted: &[planted("cpu_per_io", 30e-6, "30us", "8us")],
    text: r#"
[[host]]
name = "server"
hypervisor = "ours"
[[array]]
name = "store"
embedded = { ports = [{ name = "p1", rate = "400 MB/s" }] }
[[volume]]
name = "data{1..6}"
array = "store"
size = "64MiB"
[[vm]]
name = "vm{1..6}"
host = "server"
disks = [{ lun = "store/data{1..6}" }]
[workload.w]
random = 100
block = "4KiB"
[plan]
workload = "w"
on = "vm*"
warmup = "100ms"
measure = "1s"
sweep = { block = ["4KiB", "64KiB"], depth = [1, 2, 4] }
"#,
};

impl Lab {
    /// The scenario with the planted figures, or with those stated instead.
    pub fn scenario(&self, actual: bool) -> String {
        let figure = |name: &str, value: &str| {
            format!(
                "{{ name = \"{name}\", value = \"{value}\", source = \"a test\", kind = \"assumed\" }}"
            )
        };
        let given = self.given.iter().map(|(name, value)| figure(name, value));
        let planted = self.planted.iter().map(|of| {
            let value = if actual { of.text } else { of.instead };
            figure(of.figure, value)
        });
        let figures: Vec<String> = given.chain(planted).collect();
        let (part, kind) = (self.part, self.kind);
        format!(
            "[scenario]\ntitle = \"Planted\"\n[[part]]\nname = \"{part}\"\nkind = \"{kind}\"\nfigures = [{}]\n{}",
            figures.join(", "),
            self.text
        )
    }

    /// A record of it.
    pub fn record(&self, dir: &Path, seed: u64) -> Record {
        let path = dir.join(format!("{}-{seed}.wsr", self.part));
        record(&path, &self.scenario(true), &self.scenario(false), seed)
    }

    /// The figures fitted to a record of it: those named, or the planted ones.
    pub fn calibrate(&self, seed: u64, figures: &[&str]) -> Calibrated {
        let dir = tempfile::tempdir().expect("a place");
        let record = self.record(dir.path(), seed);
        let figures: Vec<&str> = match figures {
            [] => self.planted.iter().map(|of| of.figure).collect(),
            _ => figures.to_vec(),
        };
        fit(vec![record], &[self.part], &figures).unwrap_or_else(|error| panic!("{error}"))
    }
}

/// Fits figures of parts to records.
pub fn fit(
    records: Vec<Record>,
    parts: &[&str],
    figures: &[&str],
) -> Result<Calibrated, CalibrateError> {
    let own = |all: &[&str]| all.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    let order = CalibrationRequest { parts: own(parts), figures: own(figures), seed: 99 };
    let named = (1..).zip(records).map(|(n, record)| (format!("run{n}.wsr"), record));
    calibrate(&named.collect::<Vec<_>>(), &order)
}

pub fn scenario(text: &str) -> Scenario {
    let source = Source { name: "lab.toml".to_owned(), text: text.to_owned(), ..Source::default() };
    scenario::load(&source).unwrap_or_else(|mistakes| panic!("{mistakes}"))
}

/// The head of a record that contains the scenario `stated`.
pub fn head(scenario: &Scenario, stated: &str, seed: u64) -> RunHead {
    RunHead {
        title: scenario.head.title.clone(),
        producer: record::Producer::new(record::ProducerKind::Simulated, "a test"),
        scenario: ScenarioText {
            name: "lab.toml".to_owned(),
            text: stated.to_owned(),
            overrides: Vec::new(),
        },
        epoch: Ns::ZERO,
        wall_ns: 1_795_305_600_000_000_000,
        seed,
    }
}

/// Simulates the scenario `actual` into a record that contains the scenario `stated`.
pub fn record(path: &Path, actual: &str, stated: &str, seed: u64) -> Record {
    let scenario = scenario(actual);
    let topology = scenario.topology().unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let stages = scenario.stages();
    let head = head(&scenario, stated, seed);
    let writer = Writer::create(path, &head).expect("a record");
    let order = sim::simulate::Order {
        stages: &stages,
        seed,
        threads: 1,
        settle: false,
        named: &sim::simulate::Named::of(&scenario),
        compile: &|step| {
            sim::lab::compile(&scenario, &topology, step).map_err(|error| error.to_string())
        },
        stop: &campaign::Control::new(),
    };
    let outcome = simulate(&order, writer, &mut |_| {}).expect("it is written");
    assert_eq!(outcome.failure, None);
    Record::open(path).expect("it is whole")
}
