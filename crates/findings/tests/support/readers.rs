//! Runs of which a reader has only the page: what answers the title, what limits, and what to be careful about.

use super::{Sketch, Work};
use clock::Ns;
use record::{Level, Record};
use scenario::Step;
use tempfile::TempDir;

const DEMO: &str = include_str!("../../../../scenarios/demo.toml");
const LAB2: &str = include_str!("../../../../scenarios/lab2-esx-8gb.toml");
const LAB3: &str = include_str!("../../../../scenarios/lab3-backup.toml");
const LAB5: &str = include_str!("../../../../scenarios/lab5-iscsi.toml");
const LAB4: &str = include_str!("../../../../scenarios/lab4-million-iops.toml");
const SAN: &str = include_str!("../../../../scenarios/san.toml");

/// A run, and the words by which a reader finds what is asked.
pub struct Reader {
    /// What it is.
    pub name: &'static str,
    /// Its record, which is there as long as its directory.
    pub record: (TempDir, Record),
    /// What the title asks.
    pub answer: &'static str,
    /// What limits, or how long it took where it failed over.
    pub limit: &'static str,
    /// What to be careful about.
    pub caution: &'static str,
}

fn block(step: &Step) -> u64 {
    let value = step.settings.iter().find(|(key, _)| key == "block");
    let bytes = |value: &str| {
        let (figure, unit) = value.strip_suffix("KiB").map_or((value, 1), |kib| (kib, 1024));
        figure.trim_end_matches('B').parse::<u64>().expect("a size") * unit
    };
    value.map_or(32_768, |(_, value)| bytes(value))
}

/// So many workers share a rate, and none does more than so many operations a second.
fn shared(rate: f64, workers: f64, block: u64, most: f64) -> Work {
    let ops = (rate / workers / block as f64).min(most);
    Work { ops: ops as u64, block, service_ns: 4.0 / ops * 1e9, ..Work::default() }
}

/// The demo.
pub fn the_demo() -> Reader {
    let rate = |step: &Step| match step.settings.iter().any(|(_, value)| value == "4gfc") {
        true => 413.2e6,
        false => 826.5e6,
    };
    let sketch =
        Sketch::of(DEMO).passed("store.p1", 1.0).busy("host.cpu", |step| match block(step) {
            0..=2048 => 0.995,
            _ => 0.3,
        });
    let record = sketch
        .event(Level::Warning, "over-subscribed", "8 workers share 2 processors")
        .record(|step, _| {
            let block = if step.plan == "ladder" { block(step) } else { 131_072 };
            shared(rate(step), 8.0, block, 12_000.0)
        });
    Reader {
        name: "the demo",
        record,
        answer: "8Gb carries 826 MB/s, 4Gb 413 MB/s: 2.00 ×",
        limit: "ladder limited by",
        caution: "8 workers share 2 processors",
    }
}

/// Lab 2.
pub fn lab_2() -> Reader {
    let sketch = Sketch::of(LAB2)
        .fact("run", "simulated", "yes")
        .fact("esx.hba8", "assumed/duplex_rate", "a reason")
        .busy("esx.hba8:0", |step| if block(step) > 8192 { 0.999 } else { 0.5 })
        .event_at(Ns::secs(1), "none", "nothing");
    let record = sketch.record(|step, group| {
        let old = group.starts_with("old") || step.plan.ends_with("old");
        let workers: usize = step.loads.iter().map(|load| load.on.len()).sum();
        shared(if old { 412e6 } else { 825e6 }, workers as f64, block(step), 7500.0)
    });
    Reader {
        name: "lab 2",
        record,
        answer: "8Gb carries 8",
        limit: "limited by",
        caution: "Simulated, not measured",
    }
}

/// Lab 3.
pub fn lab_3() -> Reader {
    let sketch = Sketch::of(LAB3)
        .fact("run", "simulated", "yes")
        .busy("brocade.hba", |step| if step.plan == "duplex-brocade" { 0.999 } else { 0.0 });
    let record = sketch.record(|_, group| {
        let (host, _) = group.split_once('.').unwrap_or((group, ""));
        let rate = match host {
            "brocade" => 1657e6,
            "qlogic" => 1363e6,
            _ => 1281e6,
        };
        shared(rate, 8.0, 262_144, f64::MAX)
    });
    Reader {
        name: "lab 3",
        record,
        answer: "Brocade 815 carries 1657 MB/s, QLogic QLE2560 1361 MB/s, Emulex LPe12000 1279 MB/s",
        limit: "duplex-brocade limited by",
        caution: "Simulated, not measured",
    }
}

/// Lab 5.
pub fn lab_5() -> Reader {
    let sketch =
        Sketch::of(LAB5).fact("run", "simulated", "yes").busy("starwind.controller0", |_| 0.999);
    let record = sketch.record(|step, _| {
        let rate = if step.plan == "vm-both" { 656e6 } else { 473e6 };
        let workers: usize = step.loads.iter().map(|load| load.on.len()).sum();
        shared(rate, workers as f64, block(step), f64::MAX)
    });
    Reader {
        name: "lab 5",
        record,
        answer: "vm-both carries the most, 656 MB/s",
        limit: "limited by",
        caution: "Simulated, not measured",
    }
}

/// Lab 4.
pub fn lab_4() -> Reader {
    let members = |step: &Step| {
        let value = step.settings.iter().find(|(key, _)| key == "members");
        value.map_or(6.0, |(_, value)| value.parse::<f64>().unwrap())
    };
    // Intervals of a sketch are whole seconds.
    let text = LAB4.replace("\"500ms\"", "\"1s\"");
    let sketch = Sketch::of(&text)
        .fact("run", "simulated", "yes")
        .busy("fabric:0", move |step| if members(step) > 5.0 { 0.999 } else { 0.9 });
    let record = sketch.record(move |step, _| {
        // A hundredth of 225,000 operations a second of each VM, and of 1.2 million in all.
        let all = (2250.0 * members(step)).min(12_030.0);
        Work {
            ops: (all / members(step)) as u64,
            service_ns: 1e6,
            testifies: false,
            ..Work::default()
        }
    });
    Reader {
        name: "lab 4",
        record,
        answer: "the 6th adds",
        limit: "limited by",
        caution: "Simulated, not measured",
    }
}

/// A failed over run.
pub fn a_failed_over_run() -> Reader {
    let sketch = Sketch::of(SAN)
        .passed("store.p1", 0.5)
        .passed("store.p2", 0.5)
        .fact("store.p1", "portal", "127.0.0.1:35867")
        .event_at(Ns::secs(6), "fault-kill", "store.p1 was killed")
        .event_at(Ns::millis(6100), "path-lost", "127.0.0.1:35867: lost (closed)")
        .event_at(Ns::secs(11), "fault-revive", "store.p1 was revived")
        .event_at(Ns::secs(16), "fault-slow", "store.p2 speed changed")
        .each_second(|_, _, second| match second {
            0..5 | 10..15 => Work { ops: 1500, block: 65_536, ..Work::default() },
            5..10 => Work { ops: 750, block: 65_536, service_ns: 3e6, ..Work::default() },
            _ => Work { ops: 300, block: 65_536, ..Work::default() },
        });
    let record = sketch.record(|_, _| Work::default());
    Reader {
        name: "a failed over run",
        record,
        answer: "store.p1 was killed at 5 s, until 10 s",
        limit: "Time to fail over",
        caution: "Closed loop",
    }
}

/// All of them.
pub fn all() -> [Reader; 6] {
    [the_demo(), lab_2(), lab_3(), lab_5(), lab_4(), a_failed_over_run()]
}
