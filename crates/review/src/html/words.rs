//! A workload in words: what it issues, where, and when the next operation comes.

use super::embedded;
use scenario::{Backing, DiskWorkload, VmDisk};
use units::{Bytes, count, percent};
use workload::{Access, Arrivals, Process, Row, Skew, Transaction, WorkingSet, WorkloadKind};

/// Names that are listed before it is said how many more there are.
const NAMES_MAX: usize = 8;

/// A list of names, cut where it would fill the page.
pub(super) fn listed(names: &[String]) -> String {
    match names.len() {
        n if n > NAMES_MAX => {
            format!("{} and {} more", names[..NAMES_MAX].join(", "), n - NAMES_MAX)
        }
        _ => names.join(", "),
    }
}

/// What backs a disk of a VM.
pub(super) fn disk_of(disk: &VmDisk) -> String {
    match &disk.backing {
        Backing::Target(target) => target.clone(),
        Backing::Lun { array, volume } => {
            let volume = volume.as_deref().unwrap_or("auto");
            format!("{array}/{volume}{}", embedded::ways(disk))
        }
    }
}

/// A workload in words.
pub(super) fn workload(workload: &DiskWorkload) -> String {
    let spec = &workload.spec;
    if spec.trace.is_some() {
        return workload.to_string();
    }
    let what = match &spec.kind {
        WorkloadKind::Access(access) => accesses(access),
        WorkloadKind::Transaction(transaction) => transactions(transaction),
    };
    let part = match spec.working_set {
        None => String::new(),
        Some(WorkingSet::Bytes(bytes)) => format!("; the first {} of each target", Bytes(bytes)),
        Some(WorkingSet::Percent(share)) => {
            format!("; the first {} of each target", percent(share))
        }
    };
    let workers = match workload.workers {
        1 => "1 worker".to_owned(),
        n => format!("{n} workers"),
    };
    let verified = if workload.verify { "; every block is marked and verified" } else { "" };
    format!("{what}{part}; {workers} for each VM or target; {}{verified}", arrivals(&spec.arrivals))
}

fn accesses(access: &Access) -> String {
    let size = |row: &Row| match access.ladder {
        Some(l) => {
            let (from, to) = (Bytes(u64::from(l.from)), Bytes(u64::from(l.to)));
            format!("{from} to {to}, × {} after every {} operations,", l.factor, l.every)
        }
        None => Bytes(u64::from(row.size)).to_string(),
    };
    let rows: Vec<String> = access
        .rows
        .iter()
        .take(NAMES_MAX)
        .map(|row| {
            let share = if access.rows.len() > 1 {
                format!("{} of ", percent(row.share))
            } else {
                String::new()
            };
            format!("{share}{} {}", size(row), mixture(row))
        })
        .collect();
    let more = match access.rows.len().saturating_sub(NAMES_MAX) {
        0 => String::new(),
        n => format!(", and {n} more rows"),
    };
    let random = access.rows.iter().any(|row| row.random > 0.0);
    let skewed = if random { skew(access.skew) } else { String::new() };
    format!("{}{more}{skewed}", rows.join(", "))
}

/// `random reads`, `sequential, 67% reads and 33% writes, in bursts of 4`.
fn mixture(row: &Row) -> String {
    let place = match row.random {
        r if r >= 100.0 => "random".to_owned(),
        r if r <= 0.0 => "sequential".to_owned(),
        r => format!("{} random", percent(r)),
    };
    let dir = match row.read {
        r if r >= 100.0 => " reads".to_owned(),
        r if r <= 0.0 => " writes".to_owned(),
        r => format!(", {} reads and {} writes", percent(r), percent(100.0 - r)),
    };
    let burst = match (row.burst, row.delay) {
        (_, pause) if pause.0 == 0 => String::new(),
        (n, pause) => format!(", bursts of {n} with pauses of {}", units::duration(pause.into())),
    };
    format!("{place}{dir}{burst}")
}

fn transactions(t: &Transaction) -> String {
    format!(
        "transactions of {} index and {} table pages of {}, one after the other; {} of the table's are reads; the index is {} of the data{}",
        t.index_pages,
        t.table_pages,
        Bytes(u64::from(t.page)),
        percent(t.read),
        percent(t.index),
        skew(t.table_skew)
    )
}

fn skew(skew: Skew) -> String {
    match skew {
        Skew::Uniform => String::new(),
        Skew::Zipf(theta) => format!(", Zipf {theta}"),
        Skew::Pareto(h) => format!(", Pareto {h}"),
        Skew::HotSpot { accesses, blocks } => {
            format!(", {} of the accesses on {} of the blocks", percent(accesses), percent(blocks))
        }
    }
}

/// When operations are issued, beginning with the kind of loop.
pub(super) fn arrivals(arrivals: &Arrivals) -> String {
    let rate = |r: f64| format!("{} IOPS", count(r));
    match *arrivals {
        Arrivals::Closed { depth, think } if think.0 == 0 => {
            format!("closed loop, depth {depth} a worker")
        }
        Arrivals::Closed { depth, think } => {
            let think = units::duration(think.into());
            format!("closed loop, depth {depth} a worker, {think} think time")
        }
        Arrivals::Open { process, limit } => {
            let when = match process {
                Process::Bursts { high, low, burst, pause } => format!(
                    "bursts of {} for {} and {} for {}",
                    rate(high),
                    units::duration(burst.into()),
                    rate(low),
                    units::duration(pause.into())
                ),
                Process::Fixed { rate: r } => format!("fixed {}", rate(r)),
                Process::Poisson { rate: r } => format!("Poisson {}", rate(r)),
                Process::Ramp { from, to, .. } => {
                    format!("ramp from {} to {}", rate(from), rate(to))
                }
            };
            format!("open loop, {when} a worker, at most {limit} outstanding")
        }
    }
}
