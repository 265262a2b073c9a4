//! Targets whose reads memory answers although no counter of a device shows it: files of a file system in memory, and
//! files in the page cache on devices that do not count. Where a device counts, `served` has the evidence.

use crate::figures::StepFigures;
use crate::warnings::{Severity, Warning};
use record::Fact;
use units::{binary_bytes, percent};

/// File systems that keep their files in memory.
const IN_MEMORY: [&str; 4] = ["tmpfs", "ramfs", "devtmpfs", "hugetlbfs"];

/// Share of a target in the page cache from which its figures are doubted aloud.
const DOUBTED_FROM: f64 = 0.1;

/// One warning a target that memory answers for.
pub(crate) fn warnings(facts: &[Fact], steps: &[StepFigures]) -> Vec<Warning> {
    let of = |subject: &str, key: &str| {
        facts.iter().find(|f| f.subject == subject && f.key == key).map(|f| f.value.as_str())
    };
    let opened = facts.iter().filter(|fact| fact.key == "cache");
    opened
        .filter_map(|fact| {
            let target = fact.subject.as_str();
            let of_steps = unknown(steps, target);
            // Old records name the file system of a device's node.
            let device = of(target, "kind") == Some("a block device");
            in_memory(target, of(target, "file-system").filter(|_| !device), steps)
                .or_else(|| in_page_cache(target, of(target, "page-cache")?, of_steps))
        })
        .collect()
}

/// Steps that used a target of which no device counted what reached it.
fn unknown(steps: &[StepFigures], target: &str) -> Vec<u32> {
    let of = |step: &&StepFigures| {
        step.total.both.ops > 0
            && step.served.iter().any(|served| {
                served.unknown.is_some() && served.targets.iter().any(|name| name == target)
            })
    };
    steps.iter().filter(of).map(|step| step.index).collect()
}

fn in_memory(target: &str, kind: Option<&str>, steps: &[StepFigures]) -> Option<Warning> {
    let kind = kind.filter(|kind| IN_MEMORY.contains(kind))?;
    let uses = |step: &&StepFigures| {
        step.served.iter().any(|served| served.targets.iter().any(|name| name == target))
    };
    let steps: Vec<u32> = steps.iter().filter(uses).map(|step| step.index).collect();
    warning(
        "memory-target",
        format!(
            "{target} is a file in memory ({kind}), whether it is opened for direct I/O or not: its figures are memory's, not a \
             device's"
        ),
        "name a file on a disk, or a device",
        steps,
    )
}

fn in_page_cache(target: &str, cached: &str, steps: Vec<u32>) -> Option<Warning> {
    let (resident, size) = cached.split_once(" of ")?;
    let (resident, size): (u64, u64) = (resident.parse().ok()?, size.parse().ok()?);
    let share = resident as f64 / size.max(1) as f64;
    if share < DOUBTED_FROM {
        return None;
    }
    warning(
        "cached-reads",
        format!(
            "{} of the {} of {target} ({}) were in the page cache when its first step began, and no device counts what \
             reaches it: reads of that part were answered from memory",
            binary_bytes(resident),
            binary_bytes(size),
            percent((share * 1000.0).round() / 10.0)
        ),
        "leave `buffered` out, or read more than memory holds",
        steps,
    )
}

/// A warning about steps, unless there are none.
fn warning(code: &str, text: String, next: &str, steps: Vec<u32>) -> Option<Warning> {
    let (code, next) = (code.to_owned(), next.to_owned());
    (!steps.is_empty()).then_some(Warning { code, severity: Severity::Warning, text, next, steps })
}
