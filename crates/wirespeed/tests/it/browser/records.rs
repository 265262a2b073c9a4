//! Records written by hand, each with something that a page must bear, and their pages.

use crate::sketch::{Sketch, Work};
use findings::{analyse, evidence};
use record::{Level, Record, Status};
use scenario::Step;
use std::sync::OnceLock;

/// A page.
pub struct Made {
    pub name: &'static str,
    pub html: String,
    /// The word of its verdict.
    pub verdict: &'static str,
    /// Whether it has charts.
    pub charts: bool,
}

const HOSTILE: &str = "<script>window.hit = 1; alert(1)</script>";

const LAB: &str = r#"
target = [{ name = "disk", url = "null:", size = "1GiB" }]
vm = [{ name = "vm{1..2}", disks = [{ target = "disk" }] }]
workload.mix = { block = "8KiB", random = 100, read = 67 }
[scenario]
title = "How far do two virtual machines scale on one disk?"
source = "Somebody, 2007"
description = "Two machines read one disk with growing depth."
[plan]
workload = "mix"
on = "vm*"
measure = "8s"
"#;

const SWEEP: &str = "sweep = { depth = [1, 2, 4, 8, 16, 32, 64] }\n";

const JUDGED: &str = r#"
[[goal]]
step = { depth = 16 }
latency = { point = "p99", at_most = "5ms" }
[[goal]]
name = "the same for both"
balance = { over = "vm*", within = "25%" }
[[goal]]
errors = { at_most = 0 }
[[claim]]
step = { depth = 64 }
iops = ["9000 IOPS", "9200 IOPS"]
relation = "about"
kind = "held-out"
"#;

const OPEN: &str = r#"
[scenario]
title = "Is the offered load carried?"
[[target]]
name = "disk"
url = "null:"
size = "1GiB"
[workload.users]
block = "8KiB"
random = 100
rate = "1000 IOPS"
[plan]
workload = "users"
on = "disk"
measure = "8s"
"#;

/// A device that saturates: Gunther's law with a little contention.
fn saturating(step: &Step, _: &str) -> Work {
    let n = step
        .settings
        .iter()
        .find(|(k, _)| k == "depth")
        .map_or(1.0, |(_, v)| v.parse().unwrap_or(1.0));
    let ops = 900.0 * n / (1.0 + 0.15 * (n - 1.0) + 0.0005 * n * (n - 1.0));
    Work { ops: ops as u64, service_ns: n / ops * 1e9, read: 67, ..Work::default() }
}

/// All of them, made once.
pub fn records() -> &'static [Made] {
    static ALL: OnceLock<Vec<Made>> = OnceLock::new();
    ALL.get_or_init(all)
}

fn all() -> Vec<Made> {
    let sweep = format!("{LAB}{SWEEP}");
    let judged = format!("{sweep}{JUDGED}");
    let strict = format!(
        "{LAB}[[goal]]\niops = {{ at_least = \"1 IOPS\" }}\n[[goal]]\nerrors = {{ at_most = 0 }}\n"
    );
    let half = |_: &Step, group: &str| Work {
        seconds: if group == "vm2" { 3 } else { 8 },
        read: 67,
        ..Work::default()
    };
    let lost = "agent `b` was lost: it said nothing for 10 s. Its workers are missing from here on";
    let idle = |_: &Step, _: &str| Work { ops: 0, ..Work::default() };
    let failing = |_: &Step, _: &str| Work { errors: 125_000, ops: 1000, ..Work::default() };
    let late = |_: &Step, _: &str| Work { response: 1.5, late: 400, own: 0.6, ..Work::default() };
    let long = format!("{HOSTILE}{}", "长".repeat(3000));
    let broken = format!("{sweep}\n# {HOSTILE}\n\u{1b}[31m\u{202e} [[[");
    vec![
        made("sweep", "Goals met", true, facts(Sketch::of(&judged)), &saturating),
        made("one step", "Measured", true, Sketch::of(LAB), &|_, _| Work::default()),
        made("open loop", "Measured", true, Sketch::of(OPEN), &late),
        made(
            "incomplete",
            "Incomplete",
            true,
            Sketch::of(&judged).status(Status::Running).steps(3),
            &saturating,
        ),
        made(
            "lost agent",
            "Incomplete",
            true,
            Sketch::of(&strict).event(Level::Error, "agent-lost", lost),
            &half,
        ),
        made("no operation", "Not met", true, Sketch::of(&strict), &idle),
        made("a million errors", "Not met", true, Sketch::of(&strict), &failing),
        made(
            "no step",
            "Incomplete",
            false,
            Sketch::of(LAB).status(Status::Failed).steps(0),
            &saturating,
        ),
        made(
            "hostile words",
            "Undecided",
            true,
            Sketch::of(&sweep)
                .title(&long)
                .stored(&broken)
                .rename("vm2", HOSTILE)
                .fact(HOSTILE, "kernel", HOSTILE)
                .fact("disk", HOSTILE, &long)
                .hop(HOSTILE, &[(HOSTILE, 1e6)])
                .event(Level::Warning, HOSTILE, &long),
            &saturating,
        ),
    ]
}

/// Provenance as a run on a machine writes it.
fn facts(sketch: Sketch<'_>) -> Sketch<'_> {
    sketch
        .fact("run", "command", "wirespeed run lab.toml")
        .fact("local", "kernel", "6.12.1")
        .fact("local", "cpu-model", "Example CPU 3.0 GHz")
        .fact("disk", "model", "Example NVMe 1 TB")
        .fact(
            "disk",
            "sample",
            "0 unwritten, 0 zero, 0 repeated of 1000 blocks of 4096 B over 1073741824 B",
        )
}

fn made(
    name: &'static str,
    verdict: &'static str,
    charts: bool,
    sketch: Sketch<'_>,
    work: &dyn Fn(&Step, &str) -> Work,
) -> Made {
    let (_dir, record): (_, Record) = sketch.record(work);
    let analysis = analyse(&record).expect("the record is analysed");
    let evidence = evidence(&record, &analysis).expect("the record is read");
    let html = review::html(&analysis, &evidence, &record.head().scenario);
    Made { name, html, verdict, charts }
}

/// The page of a comparison: B does a tenth more of each step, and words of both records are hostile.
pub fn comparison() -> String {
    let plan = LAB.replace("[plan]\n", "[plan]\nrepeat = 3\n");
    let runs = [1.0, 1.1].map(|more| {
        let sketch = Sketch::of(&plan).title(HOSTILE).fact(HOSTILE, "speed", &more.to_string());
        sketch.record(move |_, _| Work { ops: (1000.0 * more) as u64, ..Work::default() })
    });
    let analyses = runs.each_ref().map(|(_, r)| analyse(r).expect("the record is analysed"));
    let both: Vec<_> = runs.iter().map(|(_, r)| r).zip(&analyses).collect();
    let names = vec![HOSTILE.to_owned(), "after.wsr".to_owned()];
    let options = findings::comparison::CompareOptions { names, ..Default::default() };
    review::comparison_html(&findings::compare(&both, &options).expect("it is compared"))
}
