//! The memory of many workers: 64 at depth 32 stay under 100 MiB, program, record and review included.

use crate::prelude::*;
use crate::program::support::Bench;

/// The bar is for what the program takes beyond I/O buffers; those (8 MiB here) are not even deducted. Without optimisation
/// the program's own code alone takes a quarter more.
const BAR_MIB: u64 = if cfg!(debug_assertions) { 125 } else { 100 };

/// The most memory that a command ever had resident, in MiB, as the kernel keeps count; `None` where it does not.
#[track_caller]
fn peak_mib(args: &[&str]) -> Option<u64> {
    let bench = Bench::new("");
    let mut command = bench.command(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("a child");
    let path = format!("/proc/{}/status", child.id());
    let mut peak_kib = None;
    let status = loop {
        // The kernel's own maximum: what it says last is right, but for the last moments.
        let status = std::fs::read_to_string(&path).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|l| l.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok());
        peak_kib = kib.max(peak_kib);
        if let Some(status) = child.try_wait().expect("a child that can be waited for") {
            break status;
        }
        clock::sleep_until(clock::now().plus(Ns::millis(5)));
    };
    assert_eq!(status.code(), Some(0), "{args:?}");
    peak_kib.map(|kib| kib.div_ceil(1024))
}

#[track_caller]
fn check(load: &[&str]) {
    let many = ["disk", "null:", "--workers", "64", "--depth", "32", "--random", "100", "--quiet"];
    let short = ["--warmup", "1200ms", "--time", "2s"];
    match peak_mib(&[&many[..], &short, load].concat()) {
        Some(mib) => {
            println!("{load:?}: {mib} MiB");
            assert!(mib > 8, "{load:?}: {mib} MiB is less than the buffers take");
            assert!(mib < BAR_MIB, "{load:?}: {mib} MiB");
        }
        None => eprintln!("skipped: the kernel here does not tell how much memory a process had"),
    }
}

#[test]
fn closed_loops_of_many_workers_take_little_memory() {
    check(&["--read", "70"]);
}

#[test]
fn open_loops_of_many_workers_take_little_memory() {
    // Response time has histograms of its own; slow enough for two processors to keep up with.
    check(&["--read", "70", "--rate", "200 IOPS"]);
}
