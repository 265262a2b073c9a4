//! Iometer's results file, in the layout of Iometer 1.1: a block for each step, with a row for everything together, each
//! manager (an agent), each worker, and each disk of a worker that has one.
//!
//! The columns are Iometer's, in its order and its units: milliseconds, MiB and MB. What a record does not hold stays
//! empty, which Iometer's readers know from its own rows. Iometer quotes nothing, so commas in names become semicolons.

use crate::ExportError;
use crate::civil::Civil;
use crate::csv::inert;
use crate::fio_options::whole_percents;
use crate::view::{MergedView, RecordView, StepView, WorkerView, per_second};
use clock::Ns;
use record::{Completed, Histogram, Loop, Record};
use scenario::Scenario;
use std::fmt::Write as _;
use workload::{Row, WorkloadKind};

/// The columns of Iometer 1.1, of which the latency bins are the last 21.
const COLUMNS: &str = "'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,\
IOps,Read IOps,Write IOps,MiBps (Binary),Read MiBps (Binary),Write MiBps (Binary),\
MBps (Decimal),Read MBps (Decimal),Write MBps (Decimal),Transactions per Second,Connections per Second,\
Average Response Time,Average Read Response Time,Average Write Response Time,Average Transaction Time,\
Average Connection Time,Maximum Response Time,Maximum Read Response Time,Maximum Write Response Time,\
Maximum Transaction Time,Maximum Connection Time,Errors,Read Errors,Write Errors,Bytes Read,Bytes Written,\
Read I/Os,Write I/Os,Connections,Transactions per Connection,Total Raw Read Response Time,\
Total Raw Write Response Time,Total Raw Transaction Time,Total Raw Connection Time,Maximum Raw Read Response Time,\
Maximum Raw Write Response Time,Maximum Raw Transaction Time,Maximum Raw Connection Time,Total Raw Run Time,\
Starting Sector,Maximum Size,Queue Depth,% CPU Utilization,% User Time,% Privileged Time,% DPC Time,% Interrupt Time,\
Processor Speed,Interrupts per Second,CPU Effectiveness,Packets/Second,Packet Errors,Segments Retransmitted/Second,\
0 to 50 uS,50 to 100 uS,100 to 200 uS,200 to 500 uS,0.5 to 1 mS,1 to 2 mS,2 to 5 mS,5 to 10 mS,10 to 15 mS,\
15 to 20 mS,20 to 30 mS,30 to 50 mS,50 to 100 mS,100 to 200 mS,200 to 500 mS,0.5 to 1 S,1 to 2 s,2 to 4.7 s,\
4.7 to 5 s,5 to 10 s, >= 10 s";

/// The upper edges of the latency bins, in microseconds; the last bin has none.
const EDGES_US: [u64; 20] = [
    50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000,
    200_000, 500_000, 1_000_000, 2_000_000, 4_700_000, 5_000_000, 10_000_000,
];

/// Columns between the known maxima and counts and the latency bins; only the queue depth among them is known:
/// raw times in ticks of a timer, sectors, and the whole machine's processor and network.
const RAW: usize = 11;
const AFTER_DEPTH: usize = 11;

/// A record in Iometer's layout, or one step of it (by number, from 0).
/// # Errors
/// Where the record cannot be read, or does not hold the step.
pub fn iometer(record: &Record, step: Option<u32>) -> Result<String, ExportError> {
    let view = RecordView::of(record);
    let head = record.head();
    let stamp = |at: Ns| Civil::of(head.wall_ns.saturating_add(at.0)).iometer();
    let mut text = String::new();
    let mut left_out = false;
    for head in view.heads(step)? {
        let mut totals = record.totals(head.index)?.into_iter();
        left_out |= totals.any(|total| total.others.iter().any(Option::is_some));
    }
    let lacking = if left_out { "; trims; zeroes and flushes are left out" } else { "" };
    let title = plain(&head.title) + lacking;
    let version = env!("CARGO_PKG_VERSION");
    line(&mut text, format_args!("'Test Type,Test Description\n0,{title}"));
    line(&mut text, format_args!("'Version\n1.1.0 (wirespeed {version})"));
    line(&mut text, format_args!("'Time Stamp\n{}", stamp(Ns::ZERO)));
    for head in view.heads(step)? {
        let step = view.step(head)?;
        specifications(&mut text, &step);
        line(&mut text, format_args!("'Results\n{COLUMNS}"));
        rows(&mut text, &view, &step);
        line(&mut text, format_args!("'Time Stamp\n{}", stamp(head.times.end)));
    }
    Ok(text)
}

fn line(text: &mut String, arguments: std::fmt::Arguments) {
    // A String takes every line.
    let _ = writeln!(text, "{arguments}");
}

/// A name on one line and in one field, which no spreadsheet runs. At the start of a line an apostrophe would be a heading.
fn plain(name: &str) -> String {
    let clean = |c| match c {
        ',' => ';',
        c if char::is_control(c) => ' ',
        c => c,
    };
    let name: String = name.chars().map(clean).collect();
    inert(&name, "_")
}

/// What a workload of a step is called: Iometer's specifications differ from step to step too.
fn specification(step: &StepView, workload: &str) -> String {
    let settings = step.head.settings.iter().map(|(key, value)| format!("; {key} {value}"));
    plain(&format!("{workload}{}", settings.collect::<String>()))
}

fn specifications(text: &mut String, step: &StepView) {
    line(text, format_args!("'Access specifications"));
    for workload in step.workloads() {
        line(text, format_args!("'Access specification name,default assignment"));
        line(text, format_args!("{},0", specification(step, workload)));
        line(text, format_args!("'size,% of size,% reads,% random,delay,burst,align,reply"));
        if let Some(load) = step.planned(workload) {
            access_lines(text, &load.workload.spec.kind);
        }
    }
    line(text, format_args!("'End access specifications"));
}

/// Iometer's own lines; a transaction's are those of its index and its table. To Iometer an alignment of 0 is the sector, so
/// that of the size is written out; shares are whole percents that make up 100.
fn access_lines(text: &mut String, kind: &WorkloadKind) {
    let rows: Vec<Row> = match kind {
        WorkloadKind::Access(access) => match access.ladder {
            None => access.rows.clone(),
            Some(ladder) => {
                let sizes: Vec<u32> = ladder.sizes().collect();
                let count = sizes.len() as f64;
                let at = |size: &u32| {
                    let (size, rows) = (*size, access.rows.iter());
                    rows.map(move |row| Row { size, share: row.share / count, ..*row })
                };
                sizes.iter().flat_map(at).collect()
            }
        },
        WorkloadKind::Transaction(t) => {
            let pages = f64::from(t.index_pages.saturating_add(t.table_pages).max(1));
            let page = |count: u32, read: f64| {
                let share = f64::from(count) * 100.0 / pages;
                Row { share, ..Row::new(t.page, read, 100.0) }
            };
            vec![page(t.index_pages, 100.0), page(t.table_pages, t.read)]
        }
    };
    // Iometer draws a row for a burst and not for an operation.
    let bursts: Vec<f64> = rows.iter().map(|row| row.share / f64::from(row.burst.max(1))).collect();
    let sum: f64 = bursts.iter().sum();
    let shares = whole_percents(&bursts.iter().map(|b| b / sum * 100.0).collect::<Vec<f64>>());
    for (row, share) in rows.iter().zip(shares) {
        let Row { size, read, random, burst, reply, .. } = row;
        let delay = row.delay.0 / 1_000_000;
        let align = if row.align == 0 { *size } else { row.align };
        line(
            text,
            format_args!("{size},{share},{read:.0},{random:.0},{delay},{burst},{align},{reply}"),
        );
    }
}

/// The rows of a step: everything, then each agent with its workers and their disks.
fn rows(text: &mut String, view: &RecordView, step: &StepView) {
    let mut agents: Vec<&str> = Vec::new();
    for worker in &step.workers {
        if !agents.contains(&worker.agent()) {
            agents.push(worker.agent());
        }
    }
    let all: Vec<&WorkerView> = step.workers.iter().collect();
    let count = agents.len().to_string();
    row(text, view, step, &all, ["ALL", "All", &count, &all.len().to_string()]);
    for agent in agents {
        let members: Vec<&WorkerView> =
            all.iter().filter(|w| w.agent() == agent).copied().collect();
        row(text, view, step, &members, ["MANAGER", agent, "", &members.len().to_string()]);
        for worker in members {
            row(text, view, step, &[worker], ["WORKER", worker.name(), "", ""]);
            if let [disk] = disks(view, worker.group())[..] {
                row(text, view, step, &[worker], ["DISK", disk, "", ""]);
            }
        }
    }
}

/// The targets behind a VM or target.
fn disks<'a>(view: &'a RecordView<'_>, group: &str) -> Vec<&'a str> {
    let Some(Scenario { lab, .. }) = &view.scenario else { return Vec::new() };
    if let Some(target) = lab.targets.iter().find(|t| t.name == group) {
        return vec![&target.name];
    }
    let vm = lab.vms.iter().find(|vm| vm.name == group);
    let backing = vm.into_iter().flat_map(|vm| &vm.disks).map(|disk| match &disk.backing {
        scenario::Backing::Target(name) => &name[..],
        scenario::Backing::Lun { array, .. } => &array[..],
    });
    backing.collect()
}

fn row(
    text: &mut String,
    view: &RecordView,
    step: &StepView,
    workers: &[&WorkerView],
    head: [&str; 4],
) {
    let [kind, name, managers, count] = head;
    let mut workloads: Vec<&str> = workers.iter().map(|w| &w.load.workload[..]).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let specification = match workloads[..] {
        [one] => specification(step, one),
        _ => String::new(),
    };
    let targets = match kind {
        "DISK" => String::new(),
        // As Iometer counts them: once for each worker.
        _ => workers.iter().map(|w| disks(view, w.group()).len()).sum::<usize>().to_string(),
    };
    let mut cells = vec![kind.to_owned(), plain(name), specification];
    cells.extend([managers.to_owned(), count.to_owned(), targets]);
    let merged = MergedView::of(workers.iter().copied());
    figures(&mut cells, &merged, step.span());
    cells.extend(vec![String::new(); RAW]);
    cells.push(depth(workers));
    cells.extend(vec![String::new(); AFTER_DEPTH]);
    cells.extend(bins(&merged.both().service));
    line(text, format_args!("{}", cells.join(",")));
}

/// From `IOps` to `Transactions per Connection`. To Iometer an I/O without a reply is a transaction.
fn figures(cells: &mut Vec<String>, merged: &MergedView, span: Ns) {
    let both = merged.both();
    let sides = [&both, &merged.read, &merged.write];
    let mut put = |figure: f64| cells.push(format!("{figure:.6}"));
    sides.iter().for_each(|t| put(per_second(t.ops as f64, span)));
    sides.iter().for_each(|t| put(per_second(t.bytes as f64 / 1_048_576.0, span)));
    sides.iter().for_each(|t| put(per_second(t.bytes as f64 / 1e6, span)));
    put(per_second(both.ops as f64, span));
    put(0.0);
    let mean = |t: &Completed| t.service_sum.0 as f64 / 1e6 / t.ops.max(1) as f64;
    sides.iter().for_each(|t| put(mean(t)));
    put(mean(&both));
    put(0.0);
    let max = |t: &Completed| t.service.max().map_or(0.0, |at| at.0 as f64 / 1e6);
    sides.iter().for_each(|t| put(max(t)));
    put(max(&both));
    put(0.0);
    let (read, write) = (&merged.read, &merged.write);
    let counts = [both.errors, read.errors, write.errors, read.bytes, write.bytes];
    cells.extend(counts.iter().chain(&[read.ops, write.ops, 0]).map(u64::to_string));
    // Iometer's own value where connections are not tested.
    cells.push("-1".to_owned());
}

/// Operations outstanding for each target, where all workers have the same: Iometer's "# of outstanding I/Os".
fn depth(workers: &[&WorkerView]) -> String {
    let mut depths: Vec<Option<u32>> = workers
        .iter()
        .map(|w| match w.load.arrivals {
            Loop::Closed { depth, .. } => Some(depth),
            Loop::Open { .. } | Loop::Observed => None,
        })
        .collect();
    depths.sort_unstable();
    depths.dedup();
    match depths[..] {
        [Some(depth)] => depth.to_string(),
        _ => String::new(),
    }
}

fn bins(histogram: &Histogram) -> Vec<String> {
    let mut bins = [0_u64; EDGES_US.len() + 1];
    for (at, count) in histogram.counts() {
        bins[EDGES_US.partition_point(|edge| edge * 1000 <= at.0)] += count;
    }
    bins.iter().map(u64::to_string).collect()
}
